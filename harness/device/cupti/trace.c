#include "device/cupti/trace.h"
#include "base/order.h"
#include "base/text.h"
#include "device/cupti/cupti.h"
#include "device/cupti/error.h"
#include <cupti.h>
#include <pthread.h>
#include <stdlib.h>

#define BUFFER_BYTES (1u << 20)

#define CALLS(X) \
    X(callbacks, cuptiActivityRegisterCallbacks) \
    X(enable, cuptiActivityEnable) \
    X(disable, cuptiActivityDisable) \
    X(flush, cuptiActivityFlushAll) \
    X(next, cuptiActivityGetNextRecord) \
    X(dropped, cuptiActivityGetNumDroppedRecords)
#define LOOK_UP(field, function) {#function, &api->field},

/* CUPTI hands buffers to callbacks that take no context: what is traced at the moment has to be found from there. */
static struct trace_now {
    struct api {
        CALLS(CUPTI_FIELD)
    } api;
    bool registered;
    bool enabled;
    struct cupti_trace *into; /* NULL: nothing is traced, records are passed over */
    size_t dropped;
} now;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* CUPTI may return buffers from a thread of its own */

static void CUPTIAPI give_buffer(uint8_t **buffer, size_t *bytes, size_t *records)
{
    *buffer = aligned_alloc(8, BUFFER_BYTES);
    *bytes = *buffer ? BUFFER_BYTES : 0;
    *records = 0; /* as many as fit */
}

static void take_kernel(struct cupti_trace *t, const CUpti_ActivityKernel10 *k)
{
    *APPEND(t->kernels, t->kernel_count) = (struct cupti_kernel){.name = xstrdup(k->name ? k->name : ""),
                                                                 .start_ns = k->start,
                                                                 .end_ns = k->end,
                                                                 .registers = k->registersPerThread,
                                                                 .static_smem = k->staticSharedMemory,
                                                                 .dynamic_smem = k->dynamicSharedMemory,
                                                                 .grid = {k->gridX, k->gridY, k->gridZ},
                                                                 .block = {k->blockX, k->blockY, k->blockZ}};
}

static void CUPTIAPI take_buffer(CUcontext context, uint32_t stream, uint8_t *buffer, size_t bytes, size_t valid)
{
    CUpti_Activity *record = NULL;
    size_t dropped = 0;
    pthread_mutex_lock(&lock);
    while (now.api.next(buffer, valid, &record) == CUPTI_SUCCESS) {
        if (!now.into)
            continue;
        if (record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL || record->kind == CUPTI_ACTIVITY_KIND_KERNEL)
            take_kernel(now.into, (const CUpti_ActivityKernel10 *)record);
    }
    if (now.api.dropped(context, stream, &dropped) == CUPTI_SUCCESS)
        now.dropped += dropped;
    pthread_mutex_unlock(&lock);
    free(buffer);
}

static bool cupti_trace_set_up(struct error *err)
{
    struct api *api = &now.api;
    const struct cupti_function functions[] = {CALLS(LOOK_UP)};
    if (now.registered)
        return true;
    if (!cupti_functions(functions, sizeof functions / sizeof *functions, err))
        return false;
    if (!cupti_ok(api->callbacks(give_buffer, take_buffer), "cuptiActivityRegisterCallbacks", err))
        return false;
    now.registered = true;
    return true;
}

static void point_at(struct cupti_trace *trace)
{
    pthread_mutex_lock(&lock);
    now.into = trace;
    now.dropped = 0;
    pthread_mutex_unlock(&lock);
}

ORDER(by_start, struct cupti_kernel, ORDER_UP(start_ns))

static bool enable(struct error *err)
{
    int code = now.enabled ? 0 : now.api.enable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
    now.enabled = !code;
    return cupti_ok(code, "cuptiActivityEnable", err);
}

bool cupti_trace_begin(struct error *err)
{
    return cupti_trace_set_up(err) && enable(err);
}

void cupti_trace_end(void)
{
    if (now.enabled)
        now.api.disable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
    now.enabled = false;
}

static bool record(bool (*run)(void *context, struct error *err), void *context, struct error *err)
{
    if (!enable(err) || !run(context, err))
        return false;
    return cupti_ok(now.api.flush(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED), "cuptiActivityFlushAll", err);
}

bool cupti_trace_run(bool (*run)(void *context, struct error *err), void *context, struct cupti_trace *trace, struct error *err)
{
    bool begun = now.enabled;
    *trace = (struct cupti_trace){0};
    if (!cupti_trace_set_up(err))
        return false;
    now.api.flush(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED); /* what others left goes nowhere */
    point_at(trace);
    bool ok = record(run, context, err);
    if (!begun)
        cupti_trace_end();
    size_t dropped = now.dropped;
    point_at(NULL);
    if (ok && dropped)
        ok = error_set(err, ERROR_ENVIRONMENT, "CUPTI dropped %zu activity records: the list of kernels is incomplete", dropped);
    if (!ok)
        cupti_trace_free(trace);
    else if (trace->kernel_count)
        qsort(trace->kernels, (size_t)trace->kernel_count, sizeof *trace->kernels, by_start);
    return ok;
}

void cupti_trace_free(struct cupti_trace *trace)
{
    for (int i = 0; i < trace->kernel_count; i++)
        free(trace->kernels[i].name);
    free(trace->kernels);
    *trace = (struct cupti_trace){0};
}
