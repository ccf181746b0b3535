/* A libcuda.so.1 with two H200 that runs no kernel: tests/cli/gpus-driver builds it, so that a run can open GPUs on a machine without one.
 * Functions that it does not implement return "not supported". FAKE_CUDA_KILL: a file; the process that does not find it makes it and kills
 * its parent.
 */
#include <cuda.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DONE(name, parameters, work) \
    CUresult name parameters \
    { \
        work; \
        return CUDA_SUCCESS; \
    }

static int attribute(CUdevice_attribute which)
{
    switch (which) {
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR: return 9;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT: return 132;
    case CU_DEVICE_ATTRIBUTE_WARP_SIZE: return 32;
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK: return 1024;
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR: return 2048;
    case CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK: return 65536;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK: return 49152;
    default: return 0;
    }
}

static void kill_once(void)
{
    const char *path = getenv("FAKE_CUDA_KILL");
    if (path && open(path, O_CREAT | O_EXCL, 0600) >= 0)
        kill(getppid(), SIGKILL);
}

DONE(cuInit, (unsigned flags), kill_once())
DONE(cuDriverGetVersion, (int *version), *version = 13000)
DONE(cuGetErrorName, (CUresult code, const char **name), *name = "FAKE")
DONE(cuGetErrorString, (CUresult code, const char **text), *text = "this driver runs nothing")
DONE(cuDeviceGet, (CUdevice * device, int number), *device = number)
DONE(cuDeviceGetCount, (int *count), *count = 2)
DONE(cuDeviceGetName, (char *name, int bytes, CUdevice device), snprintf(name, (size_t)bytes, "NVIDIA H200"))
DONE(cuDeviceGetAttribute, (int *value, CUdevice_attribute which, CUdevice device), *value = attribute(which))
DONE(cuDeviceGetUuid, (CUuuid * uuid, CUdevice device), memset(uuid, device + 1, sizeof *uuid))
DONE(cuDeviceGetPCIBusId, (char *id, int bytes, CUdevice device), snprintf(id, (size_t)bytes, "0000:%02x:00.0", (unsigned)device))
DONE(cuDevicePrimaryCtxRetain, (CUcontext * context, CUdevice device), *context = (CUcontext)1)
DONE(cuDevicePrimaryCtxRelease, (CUdevice device), )
DONE(cuCtxSetCurrent, (CUcontext context), )
DONE(cuStreamCreate, (CUstream * stream, unsigned flags), *stream = (CUstream)1)
DONE(cuStreamDestroy, (CUstream stream), )
DONE(cuStreamSynchronize, (CUstream stream), )
DONE(cuMemGetInfo, (size_t * spare, size_t *all), *spare = *all = (size_t)1 << 37)
/* NVRTC asks for it once it has found cuInit, and follows a null pointer where it is missing. */
CUresult cuGetExportTable(const void **table, const CUuuid *which)
{
    (void)table;
    (void)which;
    return CUDA_ERROR_NOT_SUPPORTED;
}
