#include "device/cuda/cuda.h"
#include "base/text.h"
#include "device/cuda/private.h"
#include "device/cuda/nvml.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STRING_OF(x) #x
#define STRING(x) STRING_OF(x)
/* NVRTC 13 writes cubins that an older driver cannot load. */
#define DRIVER_CUDA_LEAST 13000

static bool load_api(struct cuda_api *api, struct error *err)
{
    static const char *const sonames[] = {"libcuda.so.1", NULL};
    if (!library_open(&api->library, sonames, err)) {
        error_set(err, ERROR_ENVIRONMENT, "no NVIDIA driver on this machine (libcuda.so.1 was not found)");
        return error_hint(err, "use the embedded device: --device emu");
    }
    bool ok = true;
#define LOAD(name) ok = ok && (api->name = (__typeof__(api->name))library_symbol(&api->library, STRING(name), NULL));
    LOAD(cuInit)
    LOAD(cuDriverGetVersion)
    LOAD(cuGetErrorName)
    LOAD(cuGetErrorString)
    int version = 0;
    if (ok && api->cuDriverGetVersion(&version) == CUDA_SUCCESS && version < DRIVER_CUDA_LEAST) {
        error_set(err, ERROR_ENVIRONMENT,
                  "the NVIDIA driver here is for CUDA %d.%d; bench's compiler is CUDA 13, which needs driver 580 or newer", version / 1000,
                  version % 1000 / 10);
        return error_hint(err, "update the driver, or use the embedded device: --device emu");
    }
    CUDA_FUNCTIONS(LOAD)
#undef LOAD
    if (!ok)
        return error_set(err, ERROR_ENVIRONMENT, "%s lacks functions of CUDA 13: is it a driver?", api->library.path);
    CUresult r = api->cuInit(0);
    if (r == CUDA_SUCCESS)
        return true;
    const char *name = NULL, *meaning = NULL;
    api->cuGetErrorName(r, &name);
    api->cuGetErrorString(r, &meaning);
    error_set(err, ERROR_ENVIRONMENT, "the NVIDIA driver (%s) does not start: error %d%s%s%s%s", api->library.path, (int)r,
              name && *name ? " " : "", name ? name : "", meaning && *meaning ? ": " : "", meaning ? meaning : "");
    return error_hint(err, "bench doctor says more; --device emu needs no GPU");
}

const struct cuda_api *cuda_api(struct error *err)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static struct cuda_api api;
    static bool loaded;
    pthread_mutex_lock(&lock);
    if (!loaded) {
        loaded = load_api(&api, err);
        if (!loaded)
            library_close(&api.library);
    }
    pthread_mutex_unlock(&lock);
    return loaded ? &api : NULL;
}

/* Errors after which the context answers nothing but errors, with what they mean for a kernel's author. */
static const char *sticky_meaning(CUresult r)
{
    switch (r) {
    case CUDA_ERROR_ILLEGAL_ADDRESS: return "a kernel read or wrote memory that no buffer owns";
    case CUDA_ERROR_MISALIGNED_ADDRESS: return "a kernel used an address that is not aligned to the size of its access";
    case CUDA_ERROR_INVALID_ADDRESS_SPACE: return "a kernel used an address of the wrong memory space";
    case CUDA_ERROR_INVALID_PC: return "a kernel jumped outside of its code";
    case CUDA_ERROR_ILLEGAL_INSTRUCTION: return "a kernel ran an illegal instruction (__trap, or a bug of the compiler)";
    case CUDA_ERROR_HARDWARE_STACK_ERROR: return "a kernel overran its stack";
    case CUDA_ERROR_LAUNCH_FAILED: return "a kernel failed while it ran (__trap, or an access outside of shared memory)";
    case CUDA_ERROR_LAUNCH_TIMEOUT: return "a kernel ran longer than this GPU's display allows";
    case CUDA_ERROR_ASSERT: return "an assert in a kernel failed";
    case CUDA_ERROR_TENSOR_MEMORY_LEAK: return "a kernel ended without giving its tensor memory back";
    case CUDA_ERROR_CONTEXT_IS_DESTROYED: return "the context is gone";
    case CUDA_ERROR_CONTAINED: return "an error of the hardware ended the context";
    case CUDA_ERROR_ECC_UNCORRECTABLE: return "the GPU's memory reported an uncorrectable error: not the kernel's fault";
    case CUDA_ERROR_EXTERNAL_DEVICE: return "another device of the system failed";
    default: return NULL;
    }
}

bool cuda_check(struct cuda_state *s, CUresult r, const char *what, struct error *err)
{
    if (r == CUDA_SUCCESS)
        return true;
    const char *name = "an unknown error", *meaning = sticky_meaning(r);
    s->api->cuGetErrorName(r, &name);
    if (meaning) {
        s->lost = true;
        bool hardware = r == CUDA_ERROR_ECC_UNCORRECTABLE || r == CUDA_ERROR_CONTAINED || r == CUDA_ERROR_EXTERNAL_DEVICE;
        return error_set(err, hardware ? ERROR_ENVIRONMENT : ERROR_WRONG, "%s: %s: %s", what, name, meaning);
    }
    s->api->cuGetErrorString(r, &meaning);
    return error_set(err, r == CUDA_ERROR_OUT_OF_MEMORY ? ERROR_ENVIRONMENT : ERROR_INTERNAL, "%s: %s: %s", what, name,
                     meaning ? meaning : "no description");
}

static bool find_device(const struct cuda_api *api, const char *spec, CUdevice *device, int *index, struct error *err)
{
    long long wanted = 0;
    int count = 0;
    if (*spec && (!text_to_int(spec, &wanted) || wanted < 0 || wanted > 1000)) {
        error_set(err, ERROR_USAGE, "'%s' is no GPU number", spec);
        return error_hint(err, "cuda:0 is the first");
    }
    if (api->cuDeviceGetCount(&count) != CUDA_SUCCESS || count == 0)
        return error_set(err, ERROR_ENVIRONMENT, "the NVIDIA driver is there, but it shows no GPU (CUDA_VISIBLE_DEVICES?)");
    if (wanted >= count)
        return error_set(err, ERROR_ENVIRONMENT, "there is no GPU %lld: this machine has %d, counted from 0", wanted, count);
    *index = (int)wanted;
    return api->cuDeviceGet(device, (int)wanted) == CUDA_SUCCESS || error_set(err, ERROR_ENVIRONMENT, "GPU %lld does not answer", wanted);
}

/* "580.159.04" from the kernel module's own file; NVML where that is hidden. */
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
        cuda_memory_close(s);
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

const struct device_ops cuda_device = {
    .name = "cuda",
    .version = DEVICE_OPS_VERSION,
    .keeps_time = true,
    .open = cuda_open,
    .close = cuda_close,
    .alloc = cuda_alloc,
    .release = cuda_release,
    .alloc_apart = cuda_alloc_apart,
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
    .hold = cuda_hold,
    .let_go = cuda_let_go,
    .held = cuda_held,
    .graph_begin = cuda_graph_begin,
    .graph_end = cuda_graph_end,
    .graph_launch = cuda_graph_launch,
    .turn = cuda_turn,
    .turned = cuda_turned,
    .graph_launches = cuda_graph_launches,
    .graph_free = cuda_graph_free,
};
