#include "device/cuda/cuda.h"
#include "base/text.h"
#include "device/cuda/private.h"
#include "device/cuda/nvml.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool find_device(const struct cuda_api *api, const char *spec, CUdevice *device, int *index, struct error *err)
{
    long long wanted = 0;
    int count = 0;
    if (*spec && (!text_to_int(spec, &wanted) || wanted < 0 || wanted > 1000)) {
        error_set(err, ERROR_USAGE, "'%s' is not a GPU number", spec);
        return error_hint(err, "cuda:0 is the first");
    }
    if (api->cuDeviceGetCount(&count) != CUDA_SUCCESS || count == 0)
        return error_set(err, ERROR_ENVIRONMENT, "the NVIDIA driver is installed, but shows no GPU (CUDA_VISIBLE_DEVICES?)");
    if (wanted >= count)
        return error_set(err, ERROR_ENVIRONMENT, "there is no GPU %lld: this machine has %d, counted from 0", wanted, count);
    *index = (int)wanted;
    return api->cuDeviceGet(device, (int)wanted) == CUDA_SUCCESS || error_set(err, ERROR_ENVIRONMENT, "GPU %lld does not answer", wanted);
}

/* "580.159.04", from the kernel module's file; from NVML where that is hidden. */
static void driver_version(char *out, size_t bytes)
{
    char line[256] = "";
    FILE *f = fopen("/proc/driver/nvidia/version", "r");
    out[0] = 0;
    if (f && fgets(line, sizeof line, f))
        for (char *word, *rest = line; !out[0] && (word = strsep(&rest, " \t\n"));)
            if (word[0] >= '0' && word[0] <= '9' && strchr(word, '.') && strspn(word, "0123456789.") == strlen(word))
                snprintf(out, bytes, "%s", word);
    if (f)
        fclose(f);
    if (!out[0] && !nvml_driver(out, (int)bytes))
        out[0] = 0;
}

static bool write_uuid(const struct cuda_api *api, CUdevice device, char *out, size_t bytes)
{
    CUuuid id;
    if (api->cuDeviceGetUuid(&id, device) != CUDA_SUCCESS)
        return false;
    const unsigned char *b = (const unsigned char *)id.bytes;
    snprintf(out, bytes, "GPU-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", b[0], b[1], b[2], b[3], b[4], b[5],
             b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13], b[14], b[15]);
    return true;
}

static void cuda_describe(struct device *dev, struct cuda_state *s, int index)
{
    int cuda = 0;
    char driver[32];
    snprintf(dev->spec, sizeof dev->spec, "cuda:%d", index);
    write_uuid(s->api, s->device, dev->uuid, sizeof dev->uuid);
    s->api->cuDriverGetVersion(&cuda);
    driver_version(driver, sizeof driver);
    snprintf(dev->driver, sizeof dev->driver, "%s%sCUDA %d.%d", driver, driver[0] ? ", " : "", cuda / 1000, cuda % 1000 / 10);
    snprintf(dev->about, sizeof dev->about, "%s · driver %s · %d SMs", dev->chip.name, driver[0] ? driver : dev->driver,
             dev->chip.sm_count);
}

static void cuda_close(struct device *dev)
{
    struct cuda_state *s = cuda_state(dev);
    if (!s)
        return;
    if (s->context) {
        if (!s->lost)
            s->api->cuStreamSynchronize(s->stream);
        cuda_guarded_close(s);
        cuda_clock_close(s);
        cuda_threads_close(s);
        cuda_memory_close(s);
        cuda_streams_close(s);
        if (s->stream)
            s->api->cuStreamDestroy(s->stream);
        s->api->cuDevicePrimaryCtxRelease(s->device);
    }
    free(s->allocations);
    free(s);
    dev->private_data = NULL;
}

static bool cuda_open(struct device *dev, const char *spec, struct error *err)
{
    int index = 0;
    const struct cuda_api *api = cuda_api(err);
    if (!api)
        return false;
    struct cuda_state *s = xcalloc(1, sizeof *s);
    dev->private_data = s;
    s->api = api;
    bool ok = find_device(api, spec, &s->device, &index, err) &&
              cuda_check(s, api->cuDevicePrimaryCtxRetain(&s->context, s->device), "opening the GPU", err) &&
              cuda_check(s, api->cuCtxSetCurrent(s->context), "opening the GPU", err) &&
              cuda_check(s, api->cuStreamCreate(&s->stream, CU_STREAM_NON_BLOCKING), "making a stream", err);
    if (!ok) {
        cuda_close(dev);
        return false;
    }
    cuda_chip(dev);
    cuda_describe(dev, s, index);
    return true;
}

bool cuda_native(struct device *dev, void **context, void **stream, struct error *err)
{
    if (dev->ops != &cuda_device)
        return error_set(err, ERROR_USAGE, "device %s is not a GPU", dev->spec);
    *context = cuda_state(dev)->context;
    *stream = cuda_state(dev)->stream;
    return true;
}

bool cuda_enter(struct device *dev, struct error *err)
{
    struct cuda_state *s = cuda_state(dev);
    return cuda_check(s, s->api->cuCtxSetCurrent(s->context), "entering a thread", err);
}

bool device_cuda_present(char *why, size_t why_bytes)
{
    struct error err = {0};
    CUdevice device;
    int index;
    const struct cuda_api *api = cuda_api(&err);
    bool found = api && find_device(api, "", &device, &index, &err);
    if (why_bytes)
        snprintf(why, why_bytes, "%s", found ? "" : err.text);
    return found;
}

bool device_cuda_uuid(const char *spec, char *uuid, size_t bytes, struct error *err)
{
    CUdevice device;
    int index;
    const struct cuda_api *api = cuda_api(err);
    return api && find_device(api, spec, &device, &index, err) &&
           (write_uuid(api, device, uuid, bytes) || error_set(err, ERROR_ENVIRONMENT, "GPU %d has no UUID", index));
}

int device_cuda_list(struct cuda_gpu **gpus, struct error *err)
{
    CUdevice device;
    int index, count = 0;
    const struct cuda_api *api = cuda_api(err);
    *gpus = NULL;
    if (!api || !find_device(api, "", &device, &index, err))
        return -1;
    for (api->cuDeviceGetCount(&index); count < index && api->cuDeviceGet(&device, count) == CUDA_SUCCESS;) {
        struct cuda_gpu *one = APPEND(*gpus, count);
        *one = (struct cuda_gpu){{0}, {0}};
        write_uuid(api, device, one->uuid, sizeof one->uuid);
        if (api->cuDeviceGetPCIBusId(one->pci, sizeof one->pci, device) != CUDA_SUCCESS)
            one->pci[0] = 0;
    }
    return count;
}

const struct device_ops cuda_device = {
    .name = "cuda",
    .version = DEVICE_OPS_VERSION,
    .keeps_time = true,
    .open = cuda_open,
    .close = cuda_close,
    .alloc = cuda_alloc,
    .release = cuda_release,
    .alloc_guarded = cuda_alloc_guarded,
    .reach = cuda_reach,
    .spare = cuda_spare,
    .write = cuda_write,
    .read = cuda_read,
    .fill = cuda_fill,
    .copy = cuda_copy,
    .load = cuda_load,
    .unload = cuda_unload,
    .function = cuda_function,
    .signature = cuda_signature,
    .symbol = cuda_symbol,
    .tensor_map = cuda_tensor_map,
    .launch = cuda_launch,
    .clusters = cuda_clusters,
    .sync = cuda_sync,
    .event = cuda_event,
    .event_free = cuda_event_free,
    .record = cuda_record,
    .elapsed = cuda_elapsed,
    .flush = cuda_flush,
    .wipe_threads = cuda_wipe_threads,
    .frame_bytes = cuda_frame_bytes,
    .stamp = cuda_stamp,
    .stamped_hz = cuda_stamped_hz,
    .block = cuda_block,
    .unblock = cuda_unblock,
    .unblocked = cuda_unblocked,
    .stream = cuda_side_stream,
    .graph_begin = cuda_graph_begin,
    .graph_end = cuda_graph_end,
    .graph_launch = cuda_graph_launch,
    .launch_slot = cuda_launch_slot,
    .slots_used = cuda_slots_used,
    .graph_launches = cuda_graph_launches,
    .graph_free = cuda_graph_free,
};
