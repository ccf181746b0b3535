#include "device/cupti/range.h"
#include "base/text.h"
#include "device/cupti/error.h"
#include <cupti_range_profiler.h>
#include <cupti_target.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The functions, by CUPTI's own types, and the parameter block of each. */
#define CALLS(X) \
    X(init, cuptiProfilerInitialize) \
    X(deinit, cuptiProfilerDeInitialize) \
    X(supported, cuptiProfilerDeviceSupported) \
    X(chip_name, cuptiDeviceGetChipName) \
    X(availability, cuptiProfilerGetCounterAvailability) \
    X(enable, cuptiRangeProfilerEnable) \
    X(disable, cuptiRangeProfilerDisable) \
    X(data_size, cuptiRangeProfilerGetCounterDataSize) \
    X(data_init, cuptiRangeProfilerCounterDataImageInitialize) \
    X(set_config, cuptiRangeProfilerSetConfig) \
    X(start, cuptiRangeProfilerStart) \
    X(stop, cuptiRangeProfilerStop) \
    X(decode, cuptiRangeProfilerDecodeData) \
    X(data_info, cuptiRangeProfilerGetCounterDataInfo) \
    X(range_info, cuptiRangeProfilerCounterDataGetRangeInfo)
#define LOOK_UP(field, function) {#function, &api->field},

struct api {
    CALLS(CUPTI_FIELD)
};

struct cupti_session {
    struct api api;
    CUcontext context;
    char *chip_name;
    uint8_t *availability;
    struct cupti_chip *chip;
    CUpti_RangeProfiler_Object *profiler;
    bool initialized;
    /* The profiler's current configuration. CUPTI 13.0 keeps the first config image of an enabled profiler by its address: after a change
     * it reads freed memory at the next start (seen on an H200: a crash in BeginPass, or error 999). So one configuration lasts as long as
     * the profiler is enabled; for other metrics it is disabled and enabled again. */
    struct cupti_plan plan;
    char **metrics;
    size_t metric_count;
    uint8_t *image; /* that CUPTI decodes into, for image_ranges */
    size_t image_bytes;
    int image_ranges;
    int pass; /* that runs */
};

/* A parameter block: zero but for its size. */
#define PARAMS(type, name) type##_Params name = {.structSize = type##_Params_STRUCT_SIZE}

static bool cupti_range_load(struct api *api, struct error *err)
{
    const struct cupti_function functions[] = {CALLS(LOOK_UP)};
    return cupti_functions(functions, sizeof functions / sizeof *functions, err);
}

/* What the device itself says: a sentence for the part that is not supported, as CUPTI's own result code for it. */
static bool check_support(struct cupti_session *s, int device, struct error *err)
{
    PARAMS(CUpti_Profiler_DeviceSupported, p);
    p.cuDevice = device;
    p.api = CUPTI_PROFILER_RANGE_PROFILING;
    if (!cupti_ok(s->api.supported(&p), "cuptiProfilerDeviceSupported", err))
        return false;
    if (p.isSupported == CUPTI_PROFILER_CONFIGURATION_SUPPORTED)
        return true;
    const struct {
        CUpti_Profiler_Support_Level level;
        int unsupported, disabled;
    } parts[] = {
        {p.confidentialCompute, CUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED, CUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED},
        {p.vGpu, CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED, CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES},
        {p.sli, CUPTI_ERROR_SLI_DEVICE_NOT_SUPPORTED, CUPTI_ERROR_SLI_DEVICE_NOT_SUPPORTED},
        {p.cmp, CUPTI_ERROR_CMP_DEVICE_NOT_SUPPORTED, CUPTI_ERROR_CMP_DEVICE_NOT_SUPPORTED},
        {p.wsl, CUPTI_ERROR_WSL_DEVICE_NOT_SUPPORTED, CUPTI_ERROR_WSL_DEVICE_NOT_SUPPORTED},
        {p.architecture, CUPTI_ERROR_INVALID_DEVICE, CUPTI_ERROR_INVALID_DEVICE},
    };
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (parts[i].level == CUPTI_PROFILER_CONFIGURATION_UNSUPPORTED || parts[i].level == CUPTI_PROFILER_CONFIGURATION_DISABLED)
            return cupti_ok(parts[i].level == CUPTI_PROFILER_CONFIGURATION_DISABLED ? parts[i].disabled : parts[i].unsupported,
                            "cuptiProfilerDeviceSupported", err);
    return cupti_ok(CUPTI_ERROR_NOT_SUPPORTED, "cuptiProfilerDeviceSupported", err);
}

/* Which counters this device, at this moment, lets us have. */
static bool get_availability(struct cupti_session *s, struct error *err)
{
    PARAMS(CUpti_Profiler_GetCounterAvailability, p);
    p.ctx = s->context;
    int code = s->api.availability(&p);
    if (!code) {
        s->availability = xcalloc(p.counterAvailabilityImageSize + 1, 1);
        p.pCounterAvailabilityImage = s->availability;
        code = s->api.availability(&p);
    }
    return cupti_ok(code, "cuptiProfilerGetCounterAvailability", err);
}

static bool enable(struct cupti_session *s, struct error *err)
{
    PARAMS(CUpti_RangeProfiler_Enable, p);
    p.ctx = s->context;
    if (!cupti_ok(s->api.enable(&p), "cuptiRangeProfilerEnable", err))
        return false;
    s->profiler = p.pRangeProfilerObject;
    return true;
}

/* Leaves the profiler disabled and without a configuration. */
static bool disable(struct cupti_session *s, struct error *err)
{
    PARAMS(CUpti_RangeProfiler_Disable, p);
    p.pRangeProfilerObject = s->profiler;
    int code = s->profiler ? s->api.disable(&p) : 0;
    s->profiler = NULL;
    cupti_plan_free(&s->plan);
    pointers_free(s->metrics, s->metric_count);
    free(s->image);
    s->metrics = NULL;
    s->image = NULL;
    s->metric_count = s->image_bytes = 0;
    s->image_ranges = 0;
    return cupti_ok(code, "cuptiRangeProfilerDisable", err);
}

static bool open_session(struct cupti_session *s, int device, struct error *err)
{
    PARAMS(CUpti_Profiler_Initialize, init);
    PARAMS(CUpti_Device_GetChipName, chip);
    if (!cupti_range_load(&s->api, err))
        return false;
    if (!cupti_ok(s->api.init(&init), "cuptiProfilerInitialize", err))
        return false;
    s->initialized = true;
    if (!check_support(s, device, err))
        return false;
    chip.deviceIndex = (size_t)device;
    if (!cupti_ok(s->api.chip_name(&chip), "cuptiDeviceGetChipName", err))
        return false;
    s->chip_name = xstrdup(chip.pChipName);
    return get_availability(s, err) && cupti_open(s->chip_name, s->availability, &s->chip, err) && enable(s, err);
}

bool cupti_session_open(void *context, int device, struct cupti_session **session_out, struct error *err)
{
    struct cupti_session *s = xcalloc(1, sizeof *s);
    *session_out = NULL;
    s->context = context;
    if (!open_session(s, device, err)) {
        cupti_session_close(s);
        return false;
    }
    *session_out = s;
    return true;
}

void cupti_session_close(struct cupti_session *session)
{
    if (!session)
        return;
    PARAMS(CUpti_Profiler_DeInitialize, deinit);
    disable(session, NULL);
    cupti_close(session->chip);
    if (session->initialized)
        session->api.deinit(&deinit);
    FREE_ALL(session->availability, session->chip_name, session);
}

void cupti_session_rest(struct cupti_session *session)
{
    if (session)
        disable(session, NULL);
}

struct cupti_chip *cupti_session_chip(struct cupti_session *session)
{
    return session->chip;
}

static bool same_metrics(const struct cupti_session *s, const struct cupti_job *job)
{
    bool same = s->metric_count == job->metric_count && s->image_ranges >= job->range_max;
    return same && ALL_OF(i, job->metric_count, !strcmp(s->metrics[i], job->metrics[i]));
}

/* A new configuration on a profiler that has none. */
static bool plan_metrics(struct cupti_session *s, const struct cupti_job *job, struct error *err)
{
    PARAMS(CUpti_RangeProfiler_GetCounterDataSize, size);
    if (!cupti_plan(s->chip, job->metrics, job->metric_count, &s->plan, err))
        return false;
    s->metrics = xcalloc(job->metric_count, sizeof *s->metrics);
    for (; s->metric_count < job->metric_count; s->metric_count++)
        s->metrics[s->metric_count] = xstrdup(job->metrics[s->metric_count]);
    size.pRangeProfilerObject = s->profiler;
    size.pMetricNames = (const char **)(uintptr_t)s->metrics;
    size.numMetrics = s->metric_count;
    size.maxNumOfRanges = (size_t)job->range_max; /* the first start takes 1 ms for each */
    size.maxNumRangeTreeNodes = (uint32_t)job->range_max;
    if (!cupti_ok(s->api.data_size(&size), "cuptiRangeProfilerGetCounterDataSize", err))
        return false;
    s->image_bytes = size.counterDataSize;
    s->image = xcalloc(size.counterDataSize + 1, 1);
    s->image_ranges = job->range_max;
    return true;
}

static bool configure(struct cupti_session *s, const struct cupti_job *job, struct error *err)
{
    PARAMS(CUpti_RangeProfiler_CounterDataImage_Initialize, init);
    PARAMS(CUpti_RangeProfiler_SetConfig, config);
    if (!same_metrics(s, job)) {
        if ((s->metric_count || !s->profiler) && (!disable(s, err) || !enable(s, err)))
            return false;
        if (!plan_metrics(s, job, err)) {
            cupti_plan_free(&s->plan);
            return false;
        }
    }
    init.pRangeProfilerObject = config.pRangeProfilerObject = s->profiler;
    init.counterDataSize = config.counterDataImageSize = s->image_bytes;
    init.pCounterData = config.pCounterDataImage = s->image;
    if (!cupti_ok(s->api.data_init(&init), "cuptiRangeProfilerCounterDataImageInitialize", err))
        return false;
    config.pConfig = s->plan.config;
    config.configSize = s->plan.config_bytes;
    config.range = CUPTI_AutoRange;
    config.replayMode = CUPTI_UserReplay;
    config.maxRangesPerPass = (size_t)s->image_ranges;
    config.numNestingLevels = config.minNestingLevel = config.targetNestingLevel = 1;
    return cupti_ok(s->api.set_config(&config), "cuptiRangeProfilerSetConfig", err);
}

/* One pass. Whatever happens in it, CUPTI is left stopped. */
static bool run_pass(struct cupti_session *s, const struct cupti_job *job, bool *done, struct error *err)
{
    PARAMS(CUpti_RangeProfiler_Start, start);
    PARAMS(CUpti_RangeProfiler_Stop, stop);
    start.pRangeProfilerObject = stop.pRangeProfilerObject = s->profiler;
    if (job->before && !job->before(job->context, s->pass, err))
        return false;
    if (!cupti_ok(s->api.start(&start), "cuptiRangeProfilerStart", err))
        return false;
    bool ok = job->pass(job->context, s->pass, err);
    int code = s->api.stop(&stop);
    if (ok && code)
        return cupti_ok(code, "cuptiRangeProfilerStop", err);
    *done = stop.isAllPassSubmitted != 0;
    return ok;
}

/* The number that CUPTI calls a decoded range by: it numbers kernels on through all counts of a session. */
static bool range_number(struct cupti_session *s, size_t index, long long *number, struct error *err)
{
    PARAMS(CUpti_RangeProfiler_CounterData_GetRangeInfo, info);
    info.pCounterDataImage = s->image;
    info.counterDataImageSize = s->image_bytes;
    info.rangeIndex = index;
    info.rangeDelimiter = "\n"; /* between nested ranges: none here */
    if (!cupti_ok(s->api.range_info(&info), "cuptiRangeProfilerCounterDataGetRangeInfo", err))
        return false;
    return (info.rangeName && text_to_int(info.rangeName, number)) ||
           error_set(err, ERROR_ENVIRONMENT, "CUPTI names the range of a kernel '%.80s', which is not a number",
                     info.rangeName ? info.rangeName : "");
}

/* The place of each decoded range among those of a pass: its number less the lowest. */
static bool find_places(struct cupti_session *s, int count, long long *places, struct error *err)
{
    long long first = 0;
    for (int i = 0; i < count; i++) {
        if (!range_number(s, (size_t)i, &places[i], err))
            return false;
        first = !i || places[i] < first ? places[i] : first;
    }
    for (int i = 0; i < count; i++)
        places[i] -= first;
    return true;
}

/* One decoded range into its place. */
static bool take_range(struct cupti_session *s, const struct cupti_job *job, size_t index, long long place, struct cupti_counts *counts,
                       bool *taken, struct error *err)
{
    if (place >= counts->range_count || taken[place])
        return error_set(err, ERROR_ENVIRONMENT, "CUPTI returns the range of place %lld %s", place,
                         place < counts->range_count ? "twice" : "out of order");
    taken[place] = true;
    return cupti_evaluate(&s->plan, s->image, s->image_bytes, index, job->metrics, job->metric_count,
                          counts->values + (size_t)place * job->metric_count, err);
}

static bool decode(struct cupti_session *s, size_t *total, struct error *err)
{
    PARAMS(CUpti_RangeProfiler_DecodeData, decode);
    PARAMS(CUpti_RangeProfiler_GetCounterDataInfo, info);
    decode.pRangeProfilerObject = s->profiler;
    if (!cupti_ok(s->api.decode(&decode), "cuptiRangeProfilerDecodeData", err))
        return false;
    info.pCounterDataImage = s->image;
    info.counterDataImageSize = s->image_bytes;
    if (!cupti_ok(s->api.data_info(&info), "cuptiRangeProfilerGetCounterDataInfo", err))
        return false;
    *total = info.numTotalRanges;
    if (!decode.numOfRangeDropped && *total && *total <= (size_t)s->image_ranges)
        return true;
    error_set(err, ERROR_ENVIRONMENT, "CUPTI dropped %zu kernels and returned %zu: the counts are not used", decode.numOfRangeDropped,
              *total);
    error_hint(err, "count fewer rows at once (--only, --layer) or fewer groups");
    return false;
}

static bool read_counts(struct cupti_session *s, const struct cupti_job *job, struct cupti_counts *counts, struct error *err)
{
    size_t total = 0;
    if (!decode(s, &total, err))
        return false;
    size_t cells = total * job->metric_count;
    counts->range_count = (int)total;
    counts->metric_count = job->metric_count;
    counts->passes = s->pass;
    counts->values = xcalloc(cells, sizeof *counts->values);
    for (size_t i = 0; i < cells; i++)
        counts->values[i] = NAN;
    SCOPED bool *taken = xcalloc(total, sizeof *taken);
    long long *places = xcalloc(total, sizeof *places);
    bool ok = find_places(s, counts->range_count, places, err);
    ok = ok && ALL_OF(i, total, take_range(s, job, i, places[i], counts, taken, err));
    free(places);
    return ok;
}

static bool run_passes(struct cupti_session *s, const struct cupti_job *job, struct error *err)
{
    bool done = false;
    for (s->pass = 0; !done; s->pass++) {
        if ((size_t)s->pass >= s->plan.passes * 2 + 2)
            return error_set(err, ERROR_ENVIRONMENT, "CUPTI planned %zu passes and needs more after %d", s->plan.passes, s->pass);
        if (!run_pass(s, job, &done, err))
            return error_where(err, "counting pass %d of %zu", s->pass + 1, s->plan.passes);
    }
    return true;
}

bool cupti_count(struct cupti_session *session, const struct cupti_job *job, struct cupti_counts *counts, struct error *err)
{
    struct cupti_session *s = session;
    *counts = (struct cupti_counts){0};
    if (job->range_max < 1 || job->range_max > CUPTI_RANGES_MAX)
        return error_set(err, ERROR_INTERNAL, "%d ranges at once: 1 to %d are possible", job->range_max, CUPTI_RANGES_MAX);
    bool ok = configure(s, job, err) && run_passes(s, job, err) && read_counts(s, job, counts, err);
    if (!ok) {
        cupti_counts_free(counts);
        disable(s, NULL); /* the next count begins with a profiler that nothing happened to */
    }
    return ok;
}

void cupti_counts_free(struct cupti_counts *counts)
{
    free(counts->values);
    *counts = (struct cupti_counts){0};
}
