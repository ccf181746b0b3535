#include "device/cupti/pc.h"
#include "base/text.h"
#include "device/cupti/cupti.h"
#include "device/cupti/error.h"
#include <cupti_pcsampling.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PCS_MAX 4096 /* of one reading; what is more comes with the next */
#define READINGS_MAX 1000
#define HARDWARE_BYTES ((size_t)64 << 20) /* CUPTI's own choice, 512 MiB, takes 0.2 s longer to make */
#define REASON_PREFIX "smsp__pcsamp_warps_issue_stalled_"

#define CALLS(X) \
    X(enable, cuptiPCSamplingEnable) \
    X(disable, cuptiPCSamplingDisable) \
    X(configure, cuptiPCSamplingSetConfigurationAttribute) \
    X(start, cuptiPCSamplingStart) \
    X(stop, cuptiPCSamplingStop) \
    X(get, cuptiPCSamplingGetData) \
    X(reason_count, cuptiPCSamplingGetNumStallReasons) \
    X(reasons, cuptiPCSamplingGetStallReasons)
#define LOOK_UP(field, function) {#function, &pc->api.field},

struct cupti_pc {
    struct {
        CALLS(CUPTI_FIELD)
    } api;
    CUcontext context;
    bool enabled;
    int period; /* that was set; 0: none */
    size_t reason_count;
    uint32_t *indices;
    char **reasons;
    CUpti_PCSamplingData buffer; /* CUPTI fills it: at a stop, and when it is asked */
    CUpti_PCSamplingStallReason *stalls;
};

static bool cupti_pc_load(struct cupti_pc *pc, struct error *err)
{
    const struct cupti_function functions[] = {CALLS(LOOK_UP)};
    return cupti_functions(functions, sizeof functions / sizeof *functions, err);
}

static bool get_reasons(struct cupti_pc *pc, struct error *err)
{
    size_t count = 0;
    CUpti_PCSamplingGetNumStallReasonsParams n = {
        .size = CUpti_PCSamplingGetNumStallReasonsParamsSize, .ctx = pc->context, .numStallReasons = &count};
    if (!cupti_ok(pc->api.reason_count(&n), "cuptiPCSamplingGetNumStallReasons", err))
        return false;
    pc->indices = xcalloc(count + 1, sizeof *pc->indices);
    pc->reasons = xcalloc(count + 1, sizeof *pc->reasons);
    for (; pc->reason_count < count; pc->reason_count++)
        pc->reasons[pc->reason_count] = xcalloc(CUPTI_STALL_REASON_STRING_SIZE, 1);
    CUpti_PCSamplingGetStallReasonsParams r = {.size = CUpti_PCSamplingGetStallReasonsParamsSize,
                                               .ctx = pc->context,
                                               .numStallReasons = count,
                                               .stallReasonIndex = pc->indices,
                                               .stallReasons = pc->reasons};
    return cupti_ok(pc->api.reasons(&r), "cuptiPCSamplingGetStallReasons", err);
}

static void make_buffer(struct cupti_pc *pc)
{
    pc->stalls = xcalloc(PCS_MAX * (pc->reason_count + 1), sizeof *pc->stalls);
    pc->buffer = (CUpti_PCSamplingData){.size = sizeof pc->buffer, .collectNumPcs = PCS_MAX};
    pc->buffer.pPcData = xcalloc(PCS_MAX, sizeof *pc->buffer.pPcData);
    for (size_t i = 0; i < PCS_MAX; i++) {
        pc->buffer.pPcData[i].size = sizeof *pc->buffer.pPcData;
        pc->buffer.pPcData[i].stallReason = pc->stalls + i * (pc->reason_count + 1);
    }
}

static bool configure(struct cupti_pc *pc, CUpti_PCSamplingConfigurationInfo *infos, size_t count, struct error *err)
{
    CUpti_PCSamplingConfigurationInfoParams p = {.size = CUpti_PCSamplingConfigurationInfoParamsSize,
                                                 .ctx = pc->context,
                                                 .numAttributes = count,
                                                 .pPCSamplingConfigurationInfo = infos};
    return cupti_ok(pc->api.configure(&p), "cuptiPCSamplingSetConfigurationAttribute", err);
}

static bool cupti_pc_set_up(struct cupti_pc *pc, struct error *err)
{
    CUpti_PCSamplingEnableParams e = {.size = CUpti_PCSamplingEnableParamsSize, .ctx = pc->context};
    if (!cupti_pc_load(pc, err))
        return false;
    if (!cupti_ok(pc->api.enable(&e), "cuptiPCSamplingEnable", err))
        return false;
    pc->enabled = true;
    if (!get_reasons(pc, err))
        return false;
    make_buffer(pc);
    CUpti_PCSamplingConfigurationInfo infos[] = {
        {.attributeType = CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_COLLECTION_MODE,
         .attributeData.collectionModeData.collectionMode = CUPTI_PC_SAMPLING_COLLECTION_MODE_CONTINUOUS},
        {.attributeType = CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_STALL_REASON,
         .attributeData.stallReasonData = {.stallReasonCount = pc->reason_count, .pStallReasonIndex = pc->indices}},
        {.attributeType = CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_ENABLE_START_STOP_CONTROL,
         .attributeData.enableStartStopControlData.enableStartStopControl = 1},
        {.attributeType = CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_OUTPUT_DATA_FORMAT,
         .attributeData.outputDataFormatData.outputDataFormat = CUPTI_PC_SAMPLING_OUTPUT_DATA_FORMAT_PARSED},
        {.attributeType = CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_HARDWARE_BUFFER_SIZE,
         .attributeData.hardwareBufferSizeData.hardwareBufferSize = HARDWARE_BYTES},
        {.attributeType = CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_DATA_BUFFER,
         .attributeData.samplingDataBufferData.samplingDataBuffer = &pc->buffer},
    };
    return configure(pc, infos, sizeof infos / sizeof *infos, err);
}

bool cupti_pc_open(void *context, struct cupti_pc **out, struct error *err)
{
    struct cupti_pc *pc = xcalloc(1, sizeof *pc);
    pc->context = context;
    bool ok = cupti_pc_set_up(pc, err);
    if (!ok) {
        cupti_pc_close(pc);
        pc = NULL;
    }
    *out = pc;
    return ok;
}

void cupti_pc_close(struct cupti_pc *pc)
{
    if (!pc)
        return;
    CUpti_PCSamplingDisableParams d = {.size = CUpti_PCSamplingDisableParamsSize, .ctx = pc->context};
    if (pc->enabled)
        pc->api.disable(&d);
    pointers_free(pc->reasons, pc->reason_count);
    FREE_ALL(pc->indices, pc->buffer.pPcData, pc->stalls, pc);
}

/* "long_scoreboard"; NULL for those that only repeat part of another ("..._not_issued") and for totals that CUPTI lists among them. */
static const char *reason_of(const struct cupti_pc *pc, uint32_t index)
{
    static const char again[] = "_not_issued";
    for (size_t i = 0; i < pc->reason_count; i++)
        if (pc->indices[i] == index) {
            const char *name = pc->reasons[i];
            size_t n = strlen(name), m = sizeof again - 1;
            if (n > m && !strcmp(name + n - m, again))
                return NULL;
            return strncmp(name, REASON_PREFIX, sizeof REASON_PREFIX - 1) ? NULL : name + sizeof REASON_PREFIX - 1;
        }
    return NULL;
}

/* What the buffer holds; it is empty afterwards. */
static void cupti_pc_take(struct cupti_pc *pc, struct cupti_samples *out)
{
    out->dropped += pc->buffer.droppedSamples;
    for (size_t i = 0; i < pc->buffer.totalNumPcs && i < PCS_MAX; i++) {
        CUpti_PCSamplingPCData *at = &pc->buffer.pPcData[i];
        struct cupti_pc_sample one = {.offset = at->pcOffset};
        snprintf(one.function, sizeof one.function, "%s", at->functionName ? at->functionName : "");
        for (size_t k = 0; k < at->stallReasonCount && k < pc->reason_count; k++) {
            one.reason = reason_of(pc, at->stallReason[k].pcSamplingStallReasonIndex);
            one.samples = at->stallReason[k].samples;
            if (!one.reason || !one.samples)
                continue;
            if (!(out->count & (out->count - 1))) /* a power of two: full */
                out->items = xrealloc(out->items, (size_t)(out->count ? 2 * out->count : 1) * sizeof *out->items);
            out->items[out->count++] = one;
            out->total += one.samples;
        }
        at->functionName =
            NULL; /* records share their names, and CUPTI says not when the last of them is gone: they are left to the process */
    }
    pc->buffer.totalNumPcs = 0;
    pc->buffer.droppedSamples = 0;
}

static bool read_rest(struct cupti_pc *pc, struct cupti_samples *out, struct error *err)
{
    cupti_pc_take(pc, out);
    for (int i = 0; i < READINGS_MAX && pc->buffer.remainingNumPcs; i++) {
        CUpti_PCSamplingGetDataParams g = {.size = CUpti_PCSamplingGetDataParamsSize, .ctx = pc->context, .pcSamplingData = &pc->buffer};
        if (!cupti_ok(pc->api.get(&g), "cuptiPCSamplingGetData", err))
            return false;
        cupti_pc_take(pc, out);
    }
    return true;
}

bool cupti_pc_run(struct cupti_pc *pc, int period, bool (*run)(void *context, struct error *err), void *context, struct cupti_samples *out,
                  struct error *err)
{
    CUpti_PCSamplingStartParams start = {.size = CUpti_PCSamplingStartParamsSize, .ctx = pc->context};
    CUpti_PCSamplingStopParams stop = {.size = CUpti_PCSamplingStopParamsSize, .ctx = pc->context};
    CUpti_PCSamplingConfigurationInfo info = {.attributeType = CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_PERIOD,
                                              .attributeData.samplingPeriodData.samplingPeriod = (uint32_t)period};
    *out = (struct cupti_samples){0};
    if (period != pc->period && !configure(pc, &info, 1, err))
        return false;
    pc->period = period;
    if (!cupti_ok(pc->api.start(&start), "cuptiPCSamplingStart", err))
        return false;
    bool ok = run(context, err);
    int code = pc->api.stop(&stop);
    if (ok && code)
        ok = cupti_ok(code, "cuptiPCSamplingStop", err);
    ok = ok && read_rest(pc, out, err);
    if (!ok)
        cupti_samples_free(out);
    return ok;
}

void cupti_samples_free(struct cupti_samples *samples)
{
    free(samples->items);
    *samples = (struct cupti_samples){0};
}
