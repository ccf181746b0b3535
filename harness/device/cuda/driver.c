/* The driver's library: loads it, and turns its error codes into errors of ours. */
#include "device/cuda/private.h"
#include <pthread.h>

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
        error_set(err, ERROR_ENVIRONMENT, "the NVIDIA driver supports CUDA %d.%d; bench uses CUDA 13, which needs driver 580 or newer",
                  version / 1000, version % 1000 / 10);
        return error_hint(err, "update the driver, or use the embedded device: --device emu");
    }
    CUDA_FUNCTIONS(LOAD)
#undef LOAD
    if (!ok)
        return error_set(err, ERROR_ENVIRONMENT, "%s lacks functions of CUDA 13: is it the NVIDIA driver?", api->library.path);
    CUresult r = api->cuInit(0);
    if (r == CUDA_SUCCESS)
        return true;
    const char *name = NULL, *meaning = NULL;
    api->cuGetErrorName(r, &name);
    api->cuGetErrorString(r, &meaning);
    error_set(err, ERROR_ENVIRONMENT, "the NVIDIA driver (%s) does not start: error %d%s%s%s%s", api->library.path, (int)r,
              name && *name ? " " : "", name ? name : "", meaning && *meaning ? ": " : "", meaning ? meaning : "");
    return error_hint(err, "bench doctor shows details; --device emu needs no GPU");
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
    case CUDA_ERROR_ILLEGAL_ADDRESS: return "a kernel read or wrote memory outside all buffers";
    case CUDA_ERROR_MISALIGNED_ADDRESS: return "a kernel used an address that is not aligned to the size of its access";
    case CUDA_ERROR_INVALID_ADDRESS_SPACE: return "a kernel used an address of the wrong memory space";
    case CUDA_ERROR_INVALID_PC: return "a kernel jumped outside its code";
    case CUDA_ERROR_ILLEGAL_INSTRUCTION: return "a kernel ran an illegal instruction (__trap, or a bug of the compiler)";
    case CUDA_ERROR_HARDWARE_STACK_ERROR: return "a kernel overran its stack";
    case CUDA_ERROR_LAUNCH_FAILED: return "a kernel failed while it ran (__trap, or an access outside of shared memory)";
    case CUDA_ERROR_LAUNCH_TIMEOUT: return "a kernel ran longer than this GPU's display allows";
    case CUDA_ERROR_ASSERT: return "an assert in a kernel failed";
    case CUDA_ERROR_TENSOR_MEMORY_LEAK: return "a kernel ended without releasing its tensor memory";
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
