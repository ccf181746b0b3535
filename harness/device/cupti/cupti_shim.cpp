/* The one C++ file: calls CUPTI's host API through addresses that cupti.c found. No C++ library is used, so none is needed at run time. */
#include "device/cupti/shim.h"
#include <cupti_profiler_host.h>

/* A parameter block of CUPTI: zero but for its size, which says how much of it this caller knows. */
#define PARAMS(type, name) \
    CUpti_Profiler_Host_##type##_Params name = {}; \
    name.structSize = CUpti_Profiler_Host_##type##_Params_STRUCT_SIZE
#define CALL(shim, index, function, params) (reinterpret_cast<decltype(&function)>((shim)->call[index])(&(params)))

const char *const cupti_shim_names[CUPTI_SHIM_CALLS] = {
    "cuptiProfilerHostInitialize",       "cuptiProfilerHostDeinitialize",        "cuptiProfilerHostGetSupportedChips",
    "cuptiProfilerHostGetBaseMetrics",   "cuptiProfilerHostGetSubMetrics",       "cuptiProfilerHostGetMetricProperties",
    "cuptiProfilerHostConfigAddMetrics", "cuptiProfilerHostGetConfigImageSize",  "cuptiProfilerHostGetConfigImage",
    "cuptiProfilerHostGetNumOfPasses",   "cuptiProfilerHostEvaluateToGpuValues",
};

static CUpti_Profiler_Host_Object *object(struct cupti_shim_host *host)
{
    return reinterpret_cast<CUpti_Profiler_Host_Object *>(host);
}

int cupti_shim_initialize(const struct cupti_shim *shim, const char *chip, const uint8_t *availability, struct cupti_shim_host **host)
{
    PARAMS(Initialize, p);
    p.profilerType = CUPTI_PROFILER_TYPE_RANGE_PROFILER;
    p.pChipName = chip;
    p.pCounterAvailabilityImage = availability;
    int code = CALL(shim, CUPTI_SHIM_INITIALIZE, cuptiProfilerHostInitialize, p);
    *host = code ? nullptr : reinterpret_cast<struct cupti_shim_host *>(p.pHostObject);
    return code;
}

int cupti_shim_deinitialize(const struct cupti_shim *shim, struct cupti_shim_host *host)
{
    PARAMS(Deinitialize, p);
    p.pHostObject = object(host);
    return CALL(shim, CUPTI_SHIM_DEINITIALIZE, cuptiProfilerHostDeinitialize, p);
}

int cupti_shim_chips(const struct cupti_shim *shim, const char *const **names, size_t *count)
{
    PARAMS(GetSupportedChips, p);
    int code = CALL(shim, CUPTI_SHIM_CHIPS, cuptiProfilerHostGetSupportedChips, p);
    *names = code ? nullptr : p.ppChipNames;
    *count = code ? 0 : p.numChips;
    return code;
}

int cupti_shim_base_metrics(const struct cupti_shim *shim, struct cupti_shim_host *host, enum cupti_shim_kind kind,
                            const char *const **names, size_t *count)
{
    PARAMS(GetBaseMetrics, p);
    p.pHostObject = object(host);
    p.metricType = static_cast<CUpti_MetricType>(kind);
    int code = CALL(shim, CUPTI_SHIM_BASE_METRICS, cuptiProfilerHostGetBaseMetrics, p);
    *names = code ? nullptr : p.ppMetricNames;
    *count = code ? 0 : p.numMetrics;
    return code;
}

int cupti_shim_sub_metrics(const struct cupti_shim *shim, struct cupti_shim_host *host, enum cupti_shim_kind kind, const char *metric,
                           const char *const **names, size_t *count)
{
    PARAMS(GetSubMetrics, p);
    p.pHostObject = object(host);
    p.metricType = static_cast<CUpti_MetricType>(kind);
    p.pMetricName = metric;
    int code = CALL(shim, CUPTI_SHIM_SUB_METRICS, cuptiProfilerHostGetSubMetrics, p);
    *names = code ? nullptr : p.ppSubMetrics;
    *count = code ? 0 : p.numOfSubmetrics;
    return code;
}

int cupti_shim_properties(const struct cupti_shim *shim, struct cupti_shim_host *host, const char *metric, enum cupti_shim_kind *kind,
                          const char **about, const char **unit)
{
    PARAMS(GetMetricProperties, p);
    p.pHostObject = object(host);
    p.pMetricName = metric;
    int code = CALL(shim, CUPTI_SHIM_PROPERTIES, cuptiProfilerHostGetMetricProperties, p);
    *kind = static_cast<enum cupti_shim_kind>(p.metricType);
    *about = p.pDescription ? p.pDescription : "";
    *unit = p.pDimUnit ? p.pDimUnit : "";
    return code;
}

int cupti_shim_add_metrics(const struct cupti_shim *shim, struct cupti_shim_host *host, const char *const *metrics, size_t count)
{
    PARAMS(ConfigAddMetrics, p);
    p.pHostObject = object(host);
    p.ppMetricNames = const_cast<const char **>(metrics);
    p.numMetrics = count;
    return CALL(shim, CUPTI_SHIM_ADD_METRICS, cuptiProfilerHostConfigAddMetrics, p);
}

int cupti_shim_config_size(const struct cupti_shim *shim, struct cupti_shim_host *host, size_t *bytes)
{
    PARAMS(GetConfigImageSize, p);
    p.pHostObject = object(host);
    int code = CALL(shim, CUPTI_SHIM_CONFIG_SIZE, cuptiProfilerHostGetConfigImageSize, p);
    *bytes = code ? 0 : p.configImageSize;
    return code;
}

int cupti_shim_config(const struct cupti_shim *shim, struct cupti_shim_host *host, uint8_t *config, size_t bytes)
{
    PARAMS(GetConfigImage, p);
    p.pHostObject = object(host);
    p.pConfigImage = config;
    p.configImageSize = bytes;
    return CALL(shim, CUPTI_SHIM_CONFIG, cuptiProfilerHostGetConfigImage, p);
}

int cupti_shim_passes(const struct cupti_shim *shim, const uint8_t *config, size_t bytes, size_t *passes)
{
    PARAMS(GetNumOfPasses, p);
    p.pConfigImage = const_cast<uint8_t *>(config);
    p.configImageSize = bytes;
    int code = CALL(shim, CUPTI_SHIM_PASSES, cuptiProfilerHostGetNumOfPasses, p);
    *passes = code ? 0 : p.numOfPasses;
    return code;
}

int cupti_shim_evaluate(const struct cupti_shim *shim, struct cupti_shim_host *host, const uint8_t *data, size_t bytes, size_t range,
                        const char *const *metrics, size_t count, double *values)
{
    PARAMS(EvaluateToGpuValues, p);
    p.pHostObject = object(host);
    p.pCounterDataImage = data;
    p.counterDataImageSize = bytes;
    p.rangeIndex = range;
    p.ppMetricNames = const_cast<const char **>(metrics);
    p.numMetrics = count;
    p.pMetricValues = values;
    return CALL(shim, CUPTI_SHIM_EVALUATE, cuptiProfilerHostEvaluateToGpuValues, p);
}
