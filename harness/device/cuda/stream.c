/* The one stream of a device: launches on it, waiting for it, and the count of launches that gives each one its slot. */
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
    s->launches += !s->capturing;
    return s->api->cuLaunchKernelEx(config, function, params, NULL);
}

bool cuda_sync(struct device *dev, struct error *err)
{
    struct cuda_state *s = cuda_state(dev);
    return cuda_check(s, s->api->cuStreamSynchronize(s->stream), "waiting for the GPU", err);
}
