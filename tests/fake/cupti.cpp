// A libcupti that counts nothing: it plays the host API and the range profiler as far as bench uses them, and fails on request.
//
// FAKE_CUPTI="cuptiRangeProfilerEnable=35,cuptiX=7"  result codes of functions
// FAKE_CUPTI_SUPPORT="vGpu"                          the part that cuptiProfilerDeviceSupported says is not supported
// FAKE_CUPTI_DISABLED="vGpu"                         ... is disabled
// FAKE_CUPTI_DROP=n                                  the last n ranges are dropped
// FAKE_CUPTI_ENDLESS=1                               the passes never end
// fake_cupti_launch() is a kernel: a range of its own.
// Traced, it leaves a record as well, the last launch first; FAKE_CUPTI_RECORDS_LOST=n records are dropped.
// Sampled, a launch is 3 PCs of the function "kernel": PC 16 * i with 5 + i samples of reason a, as many of a_not_issued, and 1 of b.
// FAKE_CUPTI_SAMPLES_LOST=n are dropped.
// Counted by SASS metrics (fake_sass_a, fake_sass_b), a launch is 10 for PC 0 and metric a, 20 for PC 0 and b, 30 for PC 16 and a, and 1
// for a metric nobody asked for;
// FAKE_CUPTI_SASS_LOST=n records are dropped. As with CUPTI 13.0, metrics are set once in a process, and without PC sampling before only
// the first run counts.
// FAKE_CUPTI_RENAME=1                                ranges come back under a name that nobody pushed
// The chip FAKE1 has fake__a ... fake__h with the roll-up .sum; two metrics fit a pass. Range i (from 0) of metric x (a = 0) has the value
// 1000 * (i + 1) + x, and is not a number for metric h.
#include <cupti_activity.h>
#include <cupti_pcsampling.h>
#include <cupti_profiler_host.h>
#include <cupti_range_profiler.h>
#include <cupti_sass_metrics.h>
#include <cupti_target.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RANGES = 64, NAME = 64 };
static struct {
    bool initialized, enabled, configured, running;
    size_t passes, passes_done, range_max, pushed;
    char names[RANGES][NAME];
    uint8_t *image;
    const uint8_t *config; /* the first since the profiler was enabled: CUPTI 13.0 goes on reading it there */
    size_t config_metrics;
    CUpti_ProfilerRange config_range;
    bool stale;
    bool sampling_enabled, sampling, sampled_ever;
    bool sass_set, sass_spent, sass_enabled;
    size_t sass_launches, sass_runs;
    size_t sampled; /* PCs that wait */
    CUpti_PCSamplingData *samples;
    bool traced;
    size_t launches; /* that were traced and not flushed */
    CUpti_BuffersCallbackRequestFunc give;
    CUpti_BuffersCallbackCompleteFunc take;
    size_t numbered; /* kernels of all counts so far: their ranges are named by it */
} fake;
struct image_head {
    uint32_t magic, ranges;
    char names[RANGES][NAME];
    uint32_t place[RANGES];
};
enum : uint32_t { MAGIC = 0xfa4ec0de };
static struct CUpti_Profiler_Host_Object *host_of(size_t *counter) { return (struct CUpti_Profiler_Host_Object *)counter; }
static size_t *metrics_of(struct CUpti_Profiler_Host_Object *host) { return (size_t *)host; }

static long number(const char *name)
{
    const char *s = getenv(name);
    return s ? atol(s) : 0;
}

static int asked(const char *function)
{
    char key[80];
    const char *s = getenv("FAKE_CUPTI"), *at;
    snprintf(key, sizeof key, "%s=", function);
    return s && (at = strstr(s, key)) ? atoi(at + strlen(key)) : 0;
}
#define MAY_FAIL(params, type)                                   \
    do {                                                         \
        int code_ = asked(__func__);                             \
        if (code_)                                               \
            return (CUptiResult)code_;                           \
        if (!(params) || (params)->structSize != type##_STRUCT_SIZE) \
            return CUPTI_ERROR_INVALID_PARAMETER;                \
    } while (0)
#define WANT(condition)                           \
    do {                                          \
        if (!(condition))                         \
            return CUPTI_ERROR_INVALID_OPERATION; \
    } while (0)

static const char *const chips[] = {"FAKE1"}, *bases[] = {"fake__a", "fake__b", "fake__c", "fake__d", "fake__e", "fake__f", "fake__g", "fake__h"};
static const char *rollups[] = {".sum"};
static bool is_metric(const char *m)
{
    return !strncmp(m, "fake__", 6) && m[6] >= 'a' && m[6] <= 'h' && (!m[7] || !strcmp(m + 7, ".sum"));
}

extern "C" {
// A kernel of the counted context.
__attribute__((visibility("default"))) void fake_cupti_launch(void)
{
    if (fake.running && fake.pushed < RANGES)
        snprintf(fake.names[fake.pushed], NAME, "%zu", fake.numbered + fake.pushed), fake.pushed++;
    fake.launches += fake.traced;
    fake.sampled += fake.sampling ? 3 : 0;
    fake.sass_launches += fake.sass_enabled && (fake.sampled_ever || fake.sass_runs == 1);
}

#define API __attribute__((visibility("default"))) CUptiResult

API cuptiProfilerHostInitialize(CUpti_Profiler_Host_Initialize_Params *p)
{
    MAY_FAIL(p, CUpti_Profiler_Host_Initialize_Params);
    if (strcmp(p->pChipName, "FAKE1"))
        return CUPTI_ERROR_INVALID_CHIP_NAME;
    p->pHostObject = host_of((size_t *)calloc(1, sizeof(size_t)));
    return CUPTI_SUCCESS;
}
API cuptiProfilerHostDeinitialize(CUpti_Profiler_Host_Deinitialize_Params *p)
{
    if (asked(__func__))
        free(metrics_of(p->pHostObject)); /* fails, but leaves nothing behind */
    MAY_FAIL(p, CUpti_Profiler_Host_Deinitialize_Params);
    free(metrics_of(p->pHostObject));
    return CUPTI_SUCCESS;
}
API cuptiProfilerHostGetSupportedChips(CUpti_Profiler_Host_GetSupportedChips_Params *p)
{
    MAY_FAIL(p, CUpti_Profiler_Host_GetSupportedChips_Params);
    p->ppChipNames = chips;
    p->numChips = 1;
    return CUPTI_SUCCESS;
}
API cuptiProfilerHostGetBaseMetrics(CUpti_Profiler_Host_GetBaseMetrics_Params *p)
{
    MAY_FAIL(p, CUpti_Profiler_Host_GetBaseMetrics_Params);
    p->ppMetricNames = bases;
    p->numMetrics = p->metricType == CUPTI_METRIC_TYPE_COUNTER ? 8 : 0;
    return CUPTI_SUCCESS;
}
API cuptiProfilerHostGetSubMetrics(CUpti_Profiler_Host_GetSubMetrics_Params *p)
{
    MAY_FAIL(p, CUpti_Profiler_Host_GetSubMetrics_Params);
    p->ppSubMetrics = rollups;
    p->numOfSubmetrics = 1;
    return is_metric(p->pMetricName) ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_METRIC_NAME;
}
API cuptiProfilerHostGetMetricProperties(CUpti_Profiler_Host_GetMetricProperties_Params *p)
{
    MAY_FAIL(p, CUpti_Profiler_Host_GetMetricProperties_Params);
    p->metricType = CUPTI_METRIC_TYPE_COUNTER;
    p->pDescription = p->pDimUnit = "";
    return is_metric(p->pMetricName) ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_METRIC_NAME;
}
API cuptiProfilerHostConfigAddMetrics(CUpti_Profiler_Host_ConfigAddMetrics_Params *p)
{
    MAY_FAIL(p, CUpti_Profiler_Host_ConfigAddMetrics_Params);
    for (size_t i = 0; i < p->numMetrics; i++)
        if (!is_metric(p->ppMetricNames[i]))
            return CUPTI_ERROR_INVALID_PARAMETER;
    *metrics_of(p->pHostObject) += p->numMetrics;
    return CUPTI_SUCCESS;
}
API cuptiProfilerHostGetConfigImageSize(CUpti_Profiler_Host_GetConfigImageSize_Params *p)
{
    MAY_FAIL(p, CUpti_Profiler_Host_GetConfigImageSize_Params);
    p->configImageSize = sizeof(size_t);
    return CUPTI_SUCCESS;
}
API cuptiProfilerHostGetConfigImage(CUpti_Profiler_Host_GetConfigImage_Params *p)
{
    MAY_FAIL(p, CUpti_Profiler_Host_GetConfigImage_Params);
    memcpy(p->pConfigImage, metrics_of(p->pHostObject), sizeof(size_t));
    return CUPTI_SUCCESS;
}
API cuptiProfilerHostGetNumOfPasses(CUpti_Profiler_Host_GetNumOfPasses_Params *p)
{
    MAY_FAIL(p, CUpti_Profiler_Host_GetNumOfPasses_Params);
    size_t metrics;
    memcpy(&metrics, p->pConfigImage, sizeof metrics);
    p->numOfPasses = (metrics + 1) / 2;
    return CUPTI_SUCCESS;
}
API cuptiProfilerHostEvaluateToGpuValues(CUpti_Profiler_Host_EvaluateToGpuValues_Params *p)
{
    MAY_FAIL(p, CUpti_Profiler_Host_EvaluateToGpuValues_Params);
    const struct image_head *head = (const struct image_head *)p->pCounterDataImage;
    if (head->magic != MAGIC || p->rangeIndex >= head->ranges || *metrics_of(p->pHostObject) != p->numMetrics)
        return CUPTI_ERROR_INVALID_PARAMETER;
    for (size_t i = 0; i < p->numMetrics; i++) {
        int x = p->ppMetricNames[i][6] - 'a';
        p->pMetricValues[i] = x == 7 ? NAN : 1000.0 * (head->place[p->rangeIndex] + 1) + x;
    }
    return CUPTI_SUCCESS;
}

API cuptiProfilerInitialize(CUpti_Profiler_Initialize_Params *p)
{
    MAY_FAIL(p, CUpti_Profiler_Initialize_Params);
    fake.initialized = true;
    return CUPTI_SUCCESS;
}
API cuptiProfilerDeInitialize(CUpti_Profiler_DeInitialize_Params *p)
{
    if (asked(__func__))
        fake.initialized = false; /* fails, but is not stuck */
    MAY_FAIL(p, CUpti_Profiler_DeInitialize_Params);
    WANT(fake.initialized && !fake.enabled);
    fake.initialized = false;
    return CUPTI_SUCCESS;
}
API cuptiProfilerDeviceSupported(CUpti_Profiler_DeviceSupported_Params *p)
{
    MAY_FAIL(p, CUpti_Profiler_DeviceSupported_Params);
    const char *bad = getenv("FAKE_CUPTI_SUPPORT"), *disabled = getenv("FAKE_CUPTI_DISABLED"), *part = bad && *bad ? bad : disabled && *disabled ? disabled : "";
    CUpti_Profiler_Support_Level yes = CUPTI_PROFILER_CONFIGURATION_SUPPORTED,
                                 no = bad && *bad ? CUPTI_PROFILER_CONFIGURATION_UNSUPPORTED : CUPTI_PROFILER_CONFIGURATION_DISABLED;
    p->architecture = strcmp(part, "architecture") ? yes : no;
    p->sli = strcmp(part, "sli") ? yes : no;
    p->vGpu = strcmp(part, "vGpu") ? yes : no;
    p->confidentialCompute = strcmp(part, "confidentialCompute") ? yes : no;
    p->cmp = strcmp(part, "cmp") ? yes : no;
    p->wsl = strcmp(part, "wsl") ? yes : no;
    p->isSupported = *part ? CUPTI_PROFILER_CONFIGURATION_UNSUPPORTED : yes;
    return CUPTI_SUCCESS;
}
API cuptiDeviceGetChipName(CUpti_Device_GetChipName_Params *p)
{
    MAY_FAIL(p, CUpti_Device_GetChipName_Params);
    p->pChipName = "FAKE1";
    return CUPTI_SUCCESS;
}
API cuptiProfilerGetCounterAvailability(CUpti_Profiler_GetCounterAvailability_Params *p)
{
    MAY_FAIL(p, CUpti_Profiler_GetCounterAvailability_Params);
    WANT(fake.initialized && !fake.enabled);
    if (p->pCounterAvailabilityImage)
        memset(p->pCounterAvailabilityImage, 1, p->counterAvailabilityImageSize);
    else
        p->counterAvailabilityImageSize = 32;
    return CUPTI_SUCCESS;
}
API cuptiRangeProfilerEnable(CUpti_RangeProfiler_Enable_Params *p)
{
    MAY_FAIL(p, CUpti_RangeProfiler_Enable_Params);
    WANT(fake.initialized && !fake.enabled && !fake.sampling_enabled);
    fake.enabled = true;
    fake.config = NULL;
    fake.stale = false;
    p->pRangeProfilerObject = (CUpti_RangeProfiler_Object *)&fake;
    return CUPTI_SUCCESS;
}
API cuptiRangeProfilerDisable(CUpti_RangeProfiler_Disable_Params *p)
{
    if (asked(__func__))
        fake.enabled = fake.configured = false; /* fails, but is not stuck */
    MAY_FAIL(p, CUpti_RangeProfiler_Disable_Params);
    WANT(fake.enabled && !fake.running);
    fake.enabled = fake.configured = false;
    return CUPTI_SUCCESS;
}
API cuptiRangeProfilerGetCounterDataSize(CUpti_RangeProfiler_GetCounterDataSize_Params *p)
{
    MAY_FAIL(p, CUpti_RangeProfiler_GetCounterDataSize_Params);
    WANT(fake.enabled && p->maxNumRangeTreeNodes >= p->maxNumOfRanges);
    p->counterDataSize = sizeof(struct image_head);
    return CUPTI_SUCCESS;
}
API cuptiRangeProfilerCounterDataImageInitialize(CUpti_RangeProfiler_CounterDataImage_Initialize_Params *p)
{
    MAY_FAIL(p, CUpti_RangeProfiler_CounterDataImage_Initialize_Params);
    ((struct image_head *)p->pCounterData)->magic = MAGIC;
    ((struct image_head *)p->pCounterData)->ranges = 0;
    return CUPTI_SUCCESS;
}
API cuptiRangeProfilerSetConfig(CUpti_RangeProfiler_SetConfig_Params *p)
{
    MAY_FAIL(p, CUpti_RangeProfiler_SetConfig_Params);
    WANT(fake.enabled && !fake.running && p->replayMode == CUPTI_UserReplay && p->numNestingLevels == 1 &&
         p->targetNestingLevel == 1 && p->passIndex == 0 && ((struct image_head *)p->pCounterDataImage)->magic == MAGIC);
    size_t metrics;
    memcpy(&metrics, p->pConfig, sizeof metrics);
    if (!fake.config) {
        fake.config = p->pConfig;
        fake.config_metrics = metrics;
        fake.config_range = p->range;
    }
    fake.stale = fake.stale || fake.config != p->pConfig || fake.config_metrics != metrics || fake.config_range != p->range;
    fake.passes = (metrics + 1) / 2;
    fake.passes_done = fake.pushed = 0;
    WANT(p->range == CUPTI_AutoRange);
    fake.range_max = p->maxRangesPerPass;
    fake.image = p->pCounterDataImage;
    fake.configured = true;
    return CUPTI_SUCCESS;
}
API cuptiRangeProfilerStart(CUpti_RangeProfiler_Start_Params *p)
{
    MAY_FAIL(p, CUpti_RangeProfiler_Start_Params);
    WANT(fake.configured && !fake.running);
    if (fake.stale)
        return CUPTI_ERROR_UNKNOWN;
    fake.running = true;
    fake.pushed = 0;
    return CUPTI_SUCCESS;
}
API cuptiRangeProfilerStop(CUpti_RangeProfiler_Stop_Params *p)
{
    if (asked(__func__))
        fake.running = false; /* fails, but is not stuck */
    MAY_FAIL(p, CUpti_RangeProfiler_Stop_Params);
    WANT(fake.running);
    fake.running = false;
    fake.passes_done++;
    p->isAllPassSubmitted = fake.passes_done >= fake.passes && !number("FAKE_CUPTI_ENDLESS");
    return CUPTI_SUCCESS;
}
API cuptiRangeProfilerDecodeData(CUpti_RangeProfiler_DecodeData_Params *p)
{
    MAY_FAIL(p, CUpti_RangeProfiler_DecodeData_Params);
    WANT(fake.configured && !fake.running && fake.passes_done >= fake.passes);
    struct image_head *head = (struct image_head *)fake.image;
    p->numOfRangeDropped = (size_t)number("FAKE_CUPTI_DROP");
    head->ranges = (uint32_t)(fake.pushed - p->numOfRangeDropped);
    fake.numbered += fake.pushed;
    for (uint32_t i = 0; i < head->ranges; i++) { /* last first: the order is CUPTI's own affair */
        head->place[i] = head->ranges - 1 - i;
        snprintf(head->names[i], NAME, "%s%s", number("FAKE_CUPTI_RENAME") ? "other " : "", fake.names[head->place[i]]);
    }
    return CUPTI_SUCCESS;
}
API cuptiRangeProfilerGetCounterDataInfo(CUpti_RangeProfiler_GetCounterDataInfo_Params *p)
{
    MAY_FAIL(p, CUpti_RangeProfiler_GetCounterDataInfo_Params);
    p->numTotalRanges = ((const struct image_head *)p->pCounterDataImage)->ranges;
    return CUPTI_SUCCESS;
}
API cuptiRangeProfilerCounterDataGetRangeInfo(CUpti_RangeProfiler_CounterData_GetRangeInfo_Params *p)
{
    MAY_FAIL(p, CUpti_RangeProfiler_CounterData_GetRangeInfo_Params);
    p->rangeName = ((const struct image_head *)p->pCounterDataImage)->names[p->rangeIndex];
    return CUPTI_SUCCESS;
}

// ---- activity records

#define MAY_FAIL_PLAINLY                  \
    do {                                  \
        int code_ = asked(__func__);      \
        if (code_)                        \
            return (CUptiResult)code_;    \
    } while (0)

API cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc give, CUpti_BuffersCallbackCompleteFunc take)
{
    MAY_FAIL_PLAINLY;
    fake.give = give;
    fake.take = take;
    return CUPTI_SUCCESS;
}
API cuptiActivityEnable(CUpti_ActivityKind kind)
{
    MAY_FAIL_PLAINLY;
    WANT(fake.give);
    fake.traced = fake.traced || kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
    return CUPTI_SUCCESS;
}
API cuptiActivityDisable(CUpti_ActivityKind kind)
{
    if (kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)
        fake.traced = false;
    MAY_FAIL_PLAINLY;
    return CUPTI_SUCCESS;
}
API cuptiActivityFlushAll(uint32_t flag)
{
    uint8_t *buffer = NULL;
    size_t bytes = 0, records = 0;
    if (asked(__func__))
        fake.launches = 0; /* fails, and what was traced is gone */
    MAY_FAIL_PLAINLY;
    if (!fake.launches || flag != CUPTI_ACTIVITY_FLAG_FLUSH_FORCED)
        return CUPTI_SUCCESS;
    fake.give(&buffer, &bytes, &records);
    size_t count = fake.launches, size = sizeof(CUpti_ActivityKernel10);
    for (size_t i = 0; i < count && (i + 1) * size <= bytes; i++) {
        CUpti_ActivityKernel10 k = {};
        size_t n = count - 1 - i;
        k.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
        k.name = n & 1 ? "odd" : "even";
        k.start = 1000 * n + 100;
        k.end = k.start + 10 * (n + 1);
        k.registersPerThread = (uint16_t)(32 + n);
        k.staticSharedMemory = 16;
        k.dynamicSharedMemory = (int32_t)(1024 * n);
        k.gridX = (int32_t)(n + 1), k.gridY = 2, k.gridZ = 1, k.blockX = 128, k.blockY = k.blockZ = 1;
        memcpy(buffer + i * size, &k, size);
    }
    fake.launches = 0;
    fake.take(NULL, 0, buffer, bytes, count * size);
    return CUPTI_SUCCESS;
}
API cuptiActivityGetNextRecord(uint8_t *buffer, size_t bytes, CUpti_Activity **record)
{
    MAY_FAIL_PLAINLY;
    uint8_t *next = *record ? (uint8_t *)*record + sizeof(CUpti_ActivityKernel10) : buffer;
    if (next + sizeof(CUpti_ActivityKernel10) > buffer + bytes)
        return CUPTI_ERROR_MAX_LIMIT_REACHED;
    *record = (CUpti_Activity *)next;
    return CUPTI_SUCCESS;
}
API cuptiActivityGetNumDroppedRecords(CUcontext context, uint32_t stream, size_t *dropped)
{
    MAY_FAIL_PLAINLY;
    (void)context, (void)stream;
    *dropped = (size_t)number("FAKE_CUPTI_RECORDS_LOST");
    return CUPTI_SUCCESS;
}

// ---- PC sampling

static const char *const stall_names[] = {"smsp__pcsamp_warps_issue_stalled_a", "smsp__pcsamp_warps_issue_stalled_a_not_issued", "smsp__pcsamp_warps_issue_stalled_b"};

// As many PCs as the buffer takes; the rest remains.
static void give_samples(CUpti_PCSamplingData *d)
{
    size_t n = fake.sampled < 2 ? fake.sampled : 2; /* little at a time */
    for (size_t i = 0; i < n; i++) {
        CUpti_PCSamplingPCData *pc = &d->pPcData[i];
        size_t k = (3 - fake.sampled % 3) % 3;
        pc->pcOffset = 16 * k;
        pc->functionName = (char *)"kernel";
        pc->stallReasonCount = 3;
        for (uint32_t r = 0; r < 3; r++) {
            pc->stallReason[r].pcSamplingStallReasonIndex = 7 + r;
            pc->stallReason[r].samples = r < 2 ? (uint32_t)(5 + k) : 1;
        }
        fake.sampled--;
    }
    d->totalNumPcs = n;
    d->remainingNumPcs = fake.sampled;
    d->droppedSamples = (uint64_t)number("FAKE_CUPTI_SAMPLES_LOST");
}

API cuptiPCSamplingEnable(CUpti_PCSamplingEnableParams *p)
{
    MAY_FAIL_PLAINLY;
    WANT(p->size == CUpti_PCSamplingEnableParamsSize && !fake.sampling_enabled && !fake.enabled);
    fake.sampling_enabled = fake.sampled_ever = true;
    fake.sampled = 0;
    return CUPTI_SUCCESS;
}
API cuptiPCSamplingDisable(CUpti_PCSamplingDisableParams *p)
{
    (void)p;
    fake.sampling_enabled = fake.sampling = false;
    MAY_FAIL_PLAINLY;
    return CUPTI_SUCCESS;
}
API cuptiPCSamplingGetNumStallReasons(CUpti_PCSamplingGetNumStallReasonsParams *p)
{
    MAY_FAIL_PLAINLY;
    WANT(fake.sampling_enabled);
    *p->numStallReasons = 3;
    return CUPTI_SUCCESS;
}
API cuptiPCSamplingGetStallReasons(CUpti_PCSamplingGetStallReasonsParams *p)
{
    MAY_FAIL_PLAINLY;
    for (uint32_t i = 0; i < 3; i++) {
        p->stallReasonIndex[i] = 7 + i;
        snprintf(p->stallReasons[i], CUPTI_STALL_REASON_STRING_SIZE, "%s", stall_names[i]);
    }
    return CUPTI_SUCCESS;
}
API cuptiPCSamplingSetConfigurationAttribute(CUpti_PCSamplingConfigurationInfoParams *p)
{
    MAY_FAIL_PLAINLY;
    for (size_t i = 0; i < p->numAttributes; i++) {
        CUpti_PCSamplingConfigurationInfo *a = &p->pPCSamplingConfigurationInfo[i];
        if (a->attributeType == CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_DATA_BUFFER)
            fake.samples = (CUpti_PCSamplingData *)a->attributeData.samplingDataBufferData.samplingDataBuffer;
        if (a->attributeType == CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_PERIOD && a->attributeData.samplingPeriodData.samplingPeriod < 5)
            return CUPTI_ERROR_INVALID_PARAMETER;
    }
    return CUPTI_SUCCESS;
}
API cuptiPCSamplingStart(CUpti_PCSamplingStartParams *p)
{
    (void)p;
    MAY_FAIL_PLAINLY;
    WANT(fake.sampling_enabled && !fake.sampling && fake.samples);
    fake.sampling = true;
    return CUPTI_SUCCESS;
}
API cuptiPCSamplingStop(CUpti_PCSamplingStopParams *p)
{
    (void)p;
    if (asked(__func__))
        fake.sampling = false, fake.sampled = 0; /* fails, and what was sampled is gone */
    MAY_FAIL_PLAINLY;
    WANT(fake.sampling);
    fake.sampling = false;
    give_samples(fake.samples);
    return CUPTI_SUCCESS;
}
API cuptiPCSamplingGetData(CUpti_PCSamplingGetDataParams *p)
{
    if (asked(__func__))
        fake.sampled = 0;
    MAY_FAIL_PLAINLY;
    give_samples((CUpti_PCSamplingData *)p->pcSamplingData);
    return CUPTI_SUCCESS;
}

// ---- SASS metrics

static const struct {
    uint64_t metric;
    uint32_t pc;
    uint64_t value;
} sass_records[] = {{501, 0, 10}, {502, 0, 20}, {501, 16, 30}, {999, 16, 1}};

API cuptiSassMetricsGetProperties(CUpti_SassMetrics_GetProperties_Params *p)
{
    MAY_FAIL(p, CUpti_SassMetrics_GetProperties_Params);
    if (strcmp(p->pChipName, "FAKE1") || strncmp(p->pMetricName, "fake_sass_", 10))
        return CUPTI_ERROR_INVALID_PARAMETER;
    p->metric.metricId = 501 + (uint64_t)(p->pMetricName[10] - 'a');
    return CUPTI_SUCCESS;
}
API cuptiSassMetricsSetConfig(CUpti_SassMetricsSetConfig_Params *p)
{
    MAY_FAIL(p, CUpti_SassMetricsSetConfig_Params);
    WANT(fake.initialized && !fake.sass_set && p->numOfMetricConfig > 0);
    if (fake.sass_spent)
        return CUPTI_ERROR_OUT_OF_MEMORY;
    fake.sass_set = fake.sass_spent = true;
    return CUPTI_SUCCESS;
}
API cuptiSassMetricsUnsetConfig(CUpti_SassMetricsUnsetConfig_Params *p)
{
    MAY_FAIL(p, CUpti_SassMetricsUnsetConfig_Params);
    WANT(fake.sass_set && !fake.sass_enabled);
    fake.sass_set = false;
    return CUPTI_SUCCESS;
}
API cuptiSassMetricsEnable(CUpti_SassMetricsEnable_Params *p)
{
    MAY_FAIL(p, CUpti_SassMetricsEnable_Params);
    WANT(fake.sass_set && !fake.sass_enabled && !fake.enabled && !fake.sampling_enabled);
    fake.sass_enabled = true;
    fake.sass_launches = 0;
    fake.sass_runs++;
    return CUPTI_SUCCESS;
}
API cuptiSassMetricsDisable(CUpti_SassMetricsDisable_Params *p)
{
    bool was = fake.sass_enabled;
    fake.sass_enabled = false;
    MAY_FAIL(p, CUpti_SassMetricsDisable_Params);
    WANT(was);
    p->numOfDroppedRecords = (size_t)number("FAKE_CUPTI_SASS_LOST");
    return CUPTI_SUCCESS;
}
API cuptiSassMetricsGetDataProperties(CUpti_SassMetricsGetDataProperties_Params *p)
{
    MAY_FAIL(p, CUpti_SassMetricsGetDataProperties_Params);
    WANT(fake.sass_enabled);
    p->numOfPatchedInstructionRecords = fake.sass_launches ? sizeof sass_records / sizeof *sass_records : 0;
    p->numOfInstances = fake.sass_launches ? 1 : 0;
    return CUPTI_SUCCESS;
}
API cuptiSassMetricsFlushData(CUpti_SassMetricsFlushData_Params *p)
{
    MAY_FAIL(p, CUpti_SassMetricsFlushData_Params);
    WANT(fake.sass_enabled && fake.sass_launches);
    for (size_t i = 0; i < p->numOfPatchedInstructionRecords; i++) {
        p->pMetricsData[i].functionName = "kernel";
        p->pMetricsData[i].pcOffset = sass_records[i].pc;
        *p->pMetricsData[i].pInstanceValues = {sass_records[i].metric, sass_records[i].value * fake.sass_launches};
    }
    return CUPTI_SUCCESS;
}
}
