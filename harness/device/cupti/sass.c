#include "device/cupti/sass.h"
#include "base/text.h"
#include "device/cupti/cupti.h"
#include "device/cupti/error.h"
#include <cupti_profiler_target.h>
#include <cupti_sass_metrics.h>
#include <cupti_target.h>
#include <stdio.h>
#include <stdlib.h>

#define CALLS(X) \
    X(init, cuptiProfilerInitialize) \
    X(chip_name, cuptiDeviceGetChipName) \
    X(properties, cuptiSassMetricsGetProperties) \
    X(set_config, cuptiSassMetricsSetConfig) \
    X(unset_config, cuptiSassMetricsUnsetConfig) \
    X(enable, cuptiSassMetricsEnable) \
    X(disable, cuptiSassMetricsDisable) \
    X(data_size, cuptiSassMetricsGetDataProperties) \
    X(flush, cuptiSassMetricsFlushData)
#define LOOK_UP(field, function) {#function, &sass->api.field},

struct cupti_sass {
    struct {
        CALLS(CUPTI_FIELD)
    } api;
    CUcontext context;
    uint32_t device;
    bool configured;
    CUpti_SassMetrics_Config configs[CUPTI_SASS_METRICS_MAX];
    int metrics[CUPTI_SASS_METRICS_MAX]; /* of each config: the index that the caller knows it by */
    size_t count;
};

/* The numbers by which CUPTI knows the metrics; those it does not know are left out. */
static bool find_metrics(struct cupti_sass *sass, const char *chip, const char *const *metrics, int count, struct error *err)
{
    for (int i = 0; i < count && sass->count < CUPTI_SASS_METRICS_MAX; i++) {
        CUpti_SassMetrics_GetProperties_Params p = {
            .structSize = CUpti_SassMetrics_GetProperties_Params_STRUCT_SIZE, .pChipName = chip, .pMetricName = metrics[i]};
        if (sass->api.properties(&p))
            continue;
        sass->metrics[sass->count] = i;
        sass->configs[sass->count++] = (CUpti_SassMetrics_Config){p.metric.metricId, CUPTI_SASS_METRICS_OUTPUT_GRANULARITY_GPU};
    }
    return sass->count || error_set(err, ERROR_ENVIRONMENT, "CUPTI has none of the SASS metrics for %s", chip);
}

static bool cupti_sass_set_up(struct cupti_sass *sass, const char *const *metrics, int count, struct error *err)
{
    const struct cupti_function functions[] = {CALLS(LOOK_UP)};
    CUpti_Profiler_Initialize_Params init = {.structSize = CUpti_Profiler_Initialize_Params_STRUCT_SIZE};
    CUpti_Device_GetChipName_Params chip = {.structSize = CUpti_Device_GetChipName_Params_STRUCT_SIZE, .deviceIndex = sass->device};
    if (!cupti_functions(functions, sizeof functions / sizeof *functions, err))
        return false;
    if (!cupti_ok(sass->api.init(&init), "cuptiProfilerInitialize", err))
        return false;
    if (!cupti_ok(sass->api.chip_name(&chip), "cuptiDeviceGetChipName", err))
        return false;
    if (!find_metrics(sass, chip.pChipName, metrics, count, err))
        return false;
    CUpti_SassMetricsSetConfig_Params config = {.structSize = CUpti_SassMetricsSetConfig_Params_STRUCT_SIZE,
                                                .numOfMetricConfig = sass->count,
                                                .pConfigs = sass->configs,
                                                .deviceIndex = sass->device};
    int code = sass->api.set_config(&config);
    sass->configured = !code;
    return cupti_ok(code, "cuptiSassMetricsSetConfig", err);
}

bool cupti_sass_open(void *context, int device, const char *const *metrics, int count, struct cupti_sass **out, struct error *err)
{
    struct cupti_sass *sass = xcalloc(1, sizeof *sass);
    sass->context = context;
    sass->device = (uint32_t)device;
    bool ok = cupti_sass_set_up(sass, metrics, count, err);
    if (!ok) {
        cupti_sass_close(sass);
        sass = NULL;
    }
    *out = sass;
    return ok;
}

void cupti_sass_close(struct cupti_sass *sass)
{
    if (!sass)
        return;
    CUpti_SassMetricsUnsetConfig_Params p = {.structSize = CUpti_SassMetricsUnsetConfig_Params_STRUCT_SIZE, .deviceIndex = sass->device};
    if (sass->configured)
        sass->api.unset_config(&p);
    free(sass);
}

static int metric_of(const struct cupti_sass *sass, uint64_t id)
{
    for (size_t i = 0; i < sass->count; i++)
        if (sass->configs[i].metricId == id)
            return sass->metrics[i];
    return -1;
}

/* Reads the records: one for each executed instruction and metric that counts there. Each record is of the whole GPU. */
static bool cupti_sass_take(struct cupti_sass *sass, struct cupti_sass_counts *out, struct error *err)
{
    CUpti_SassMetricsGetDataProperties_Params size = {.structSize = CUpti_SassMetricsGetDataProperties_Params_STRUCT_SIZE,
                                                      .ctx = sass->context};
    if (!cupti_ok(sass->api.data_size(&size), "cuptiSassMetricsGetDataProperties", err))
        return false;
    size_t n = size.numOfPatchedInstructionRecords, each = size.numOfInstances;
    if (!n || !each)
        return true;
    CUpti_SassMetrics_Data *data = xcalloc(n, sizeof *data);
    CUpti_SassMetrics_InstanceValue *values = xcalloc(n * each, sizeof *values);
    for (size_t i = 0; i < n; i++) {
        data[i].structSize = sizeof *data;
        data[i].pInstanceValues = values + i * each;
    }
    CUpti_SassMetricsFlushData_Params flush = {.structSize = CUpti_SassMetricsFlushData_Params_STRUCT_SIZE,
                                               .ctx = sass->context,
                                               .numOfPatchedInstructionRecords = n,
                                               .numOfInstances = each,
                                               .pMetricsData = data};
    int code = sass->api.flush(&flush);
    out->items = code ? NULL : xcalloc(n * each, sizeof *out->items);
    for (size_t i = 0; !code && i < n * each; i++) {
        int metric = metric_of(sass, values[i].metricId);
        struct cupti_sass_count *one = &out->items[out->count];
        *one = (struct cupti_sass_count){.offset = data[i / each].pcOffset, .metric = metric, .value = values[i].value};
        snprintf(one->function, sizeof one->function, "%s", data[i / each].functionName ? data[i / each].functionName : "");
        out->count += metric >= 0;
    }
    free(values);
    free(data);
    return cupti_ok(code, "cuptiSassMetricsFlushData", err);
}

bool cupti_sass_run(struct cupti_sass *sass, bool (*run)(void *context, struct error *err), void *context, struct cupti_sass_counts *out,
                    struct error *err)
{
    CUpti_SassMetricsEnable_Params enable = {
        .structSize = CUpti_SassMetricsEnable_Params_STRUCT_SIZE, .ctx = sass->context, .enableLazyPatching = 1};
    CUpti_SassMetricsDisable_Params disable = {.structSize = CUpti_SassMetricsDisable_Params_STRUCT_SIZE, .ctx = sass->context};
    *out = (struct cupti_sass_counts){0};
    if (!cupti_ok(sass->api.enable(&enable), "cuptiSassMetricsEnable", err))
        return false;
    bool ok = run(context, err) && cupti_sass_take(sass, out, err);
    int code = sass->api.disable(&disable);
    if (ok && code)
        ok = cupti_ok(code, "cuptiSassMetricsDisable", err);
    if (ok && disable.numOfDroppedRecords)
        ok = error_set(err, ERROR_ENVIRONMENT, "CUPTI dropped %zu of its records of instructions: the counts are not used",
                       disable.numOfDroppedRecords);
    if (!ok)
        cupti_sass_counts_free(out);
    return ok;
}

void cupti_sass_counts_free(struct cupti_sass_counts *counts)
{
    free(counts->items);
    *counts = (struct cupti_sass_counts){0};
}
