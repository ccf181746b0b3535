/* The streams of a device: launches, waiting for them, and the count of launches that gives each one its slot. */
#include "device/cuda/private.h"

#define FILL_LAUNCHES 8192 /* bytes: larger fills run as a kernel; up to 4096 bytes they do not; sizes in between are untested */

/* Measured on an H200 with driver 580 (tests/gpu/turns.c, reports/gallery/turns-h200.txt). Launch slots are taken by kernels on the stream,
 * and by fills and copies that the driver runs as kernels; not by small fills, copies between host and device, launches in a graph or on
 * another stream. */
bool cuda_fill_has_slot(size_t bytes)
{
    return bytes >= FILL_LAUNCHES;
}

int cuda_launch_slot(struct device *dev)
{
    return (int)(cuda_state(dev)->launches % DEVICE_LAUNCH_SLOTS);
}

void cuda_slots_used(struct device *dev, int launches)
{
    struct cuda_state *s = cuda_state(dev);
    s->launches += s->capturing ? 0 : (unsigned)launches;
}

CUresult cuda_start(struct cuda_state *s, const CUlaunchConfig *config, CUfunction function, void **params)
{
    s->launches += !s->capturing && !s->main;
    return s->api->cuLaunchKernelEx(config, function, params, NULL);
}

bool cuda_sync(struct device *dev, struct error *err)
{
    struct cuda_state *s = cuda_state(dev);
    return cuda_check(s, s->api->cuStreamSynchronize(s->stream), "waiting for the GPU", err);
}

static bool open_side(struct cuda_state *s, struct cuda_side *side, struct error *err)
{
    return (side == s->sides || side->stream ||
            cuda_check(s, s->api->cuStreamCreate(&side->stream, CU_STREAM_NON_BLOCKING), "making a stream", err)) &&
           (side->event || cuda_check(s, s->api->cuEventCreate(&side->event, CU_EVENT_DISABLE_TIMING), "making an event", err));
}

/* The main stream waits for every side stream that was used. */
static bool join_sides(struct cuda_state *s, struct error *err)
{
    bool ok = true;
    if (!s->main)
        return true;
    for (int i = 1; i <= DEVICE_STREAMS; i++)
        if (s->sides[i].used) {
            ok = ok && cuda_check(s, s->api->cuEventRecord(s->sides[i].event, s->sides[i].stream), "recording an event", err) &&
                 cuda_check(s, s->api->cuStreamWaitEvent(s->main, s->sides[i].event, 0), "joining a stream", err);
            s->sides[i].used = false;
        }
    s->stream = s->main;
    s->main = NULL;
    return ok;
}

bool cuda_side_stream(struct device *dev, int index, struct error *err)
{
    struct cuda_state *s = cuda_state(dev);
    struct cuda_side *side = &s->sides[index], *fork = &s->sides[0];
    if (index < 0 || index > DEVICE_STREAMS)
        return error_set(err, ERROR_INTERNAL, "stream %d: there are %d", index, DEVICE_STREAMS);
    if (!index)
        return join_sides(s, err);
    if (!s->main) {
        if (!open_side(s, fork, err) || !cuda_check(s, s->api->cuEventRecord(fork->event, s->stream), "recording an event", err))
            return false;
        s->main = s->stream;
    }
    if (!side->used &&
        (!open_side(s, side, err) || !cuda_check(s, s->api->cuStreamWaitEvent(side->stream, fork->event, 0), "forking a stream", err)))
        return false;
    side->used = true;
    s->stream = side->stream;
    return true;
}

void cuda_streams_close(struct cuda_state *s)
{
    s->stream = s->main ? s->main : s->stream;
    for (int i = 0; i <= DEVICE_STREAMS; i++) {
        if (s->sides[i].stream)
            s->api->cuStreamDestroy(s->sides[i].stream);
        if (s->sides[i].event)
            s->api->cuEventDestroy(s->sides[i].event);
    }
}
