/* device/cuda, between its files: the driver's functions, and what a device holds. */
#pragma once

#include "base/library.h"
#include "device/cuda/cuda.h"
#include <cuda.h>

/* cuda.h renames many of these to their newest version (cuMemAlloc to cuMemAlloc_v2): fields and symbols follow the renamed names. */
#define CUDA_FUNCTIONS(X) \
    X(cuInit) \
    X(cuDriverGetVersion) \
    X(cuGetErrorName) \
    X(cuGetErrorString) \
    X(cuDeviceGet) \
    X(cuDeviceGetCount) \
    X(cuDeviceGetName) \
    X(cuDeviceGetAttribute) \
    X(cuDeviceGetUuid) \
    X(cuDeviceGetPCIBusId) \
    X(cuDevicePrimaryCtxRetain) \
    X(cuDevicePrimaryCtxRelease) \
    X(cuCtxSetCurrent) \
    X(cuCtxResetPersistingL2Cache) \
    X(cuStreamCreate) \
    X(cuStreamDestroy) \
    X(cuStreamSynchronize) \
    X(cuStreamWaitEvent) \
    X(cuMemGetInfo) \
    X(cuMemHostAlloc) \
    X(cuMemFreeHost) \
    X(cuMemGetAllocationGranularity) \
    X(cuMemAddressReserve) \
    X(cuMemAddressFree) \
    X(cuMemCreate) \
    X(cuMemRelease) \
    X(cuMemMap) \
    X(cuMemUnmap) \
    X(cuMemSetAccess) \
    X(cuMemAlloc) \
    X(cuMemFree) \
    X(cuMemcpyHtoDAsync) \
    X(cuMemcpyDtoHAsync) \
    X(cuMemcpyDtoDAsync) \
    X(cuMemsetD32Async) \
    X(cuMemsetD8Async) \
    X(cuModuleLoadDataEx) \
    X(cuModuleUnload) \
    X(cuModuleGetFunction) \
    X(cuModuleGetGlobal) \
    X(cuFuncGetAttribute) \
    X(cuFuncSetAttribute) \
    X(cuFuncLoad) \
    X(cuFuncGetParamInfo) \
    X(cuLaunchKernelEx) \
    X(cuOccupancyMaxActiveClusters) \
    X(cuTensorMapEncodeTiled) \
    X(cuEventCreate) \
    X(cuEventDestroy) \
    X(cuEventRecord) \
    X(cuEventElapsedTime) \
    X(cuStreamBeginCapture) \
    X(cuStreamEndCapture) \
    X(cuGraphInstantiate) \
    X(cuGraphUpload) \
    X(cuGraphLaunch) \
    X(cuGraphExecDestroy) \
    X(cuGraphGetNodes) \
    X(cuGraphNodeGetType) \
    X(cuGraphMemsetNodeGetParams) \
    X(cuGraphDestroy)

struct cuda_api {
    struct library library;
#define CUDA_FIELD(name) __typeof__(name) *name;
    CUDA_FUNCTIONS(CUDA_FIELD)
#undef CUDA_FIELD
};
/* Loads the driver's library once a process and calls cuInit. If there is no driver, no GPU, or the driver is too old, returns NULL with an
 * environment error. */
const struct cuda_api *cuda_api(struct error *err);

struct cuda_allocation {
    CUdeviceptr base;
    uint64_t address; /* base, rounded up to 512 */
    size_t bytes;
};
/* The kernel that overwrites frames of local memory of `bytes` a thread. */
struct cuda_frames {
    size_t bytes;
    CUmodule module;
    CUfunction function;
};
/* The kernels that overwrite what threads leave behind (threads.c). */
struct cuda_threads {
    CUmodule module;
    CUfunction places;
    struct cuda_frames *frames; /* one for each size so far: graphs may hold any of them */
    int frame_count;
    CUdeviceptr sink;
    size_t ran, caught; /* largest frame launched since the last wipe; largest one ever captured in a graph */
    uint32_t round;
};
/* A buffer of 2x L2, and the two kernels that write and read it. */
struct cuda_flush {
    CUmodule module;
    CUfunction write, read;
    CUdeviceptr buffer;
    size_t bytes;
    uint32_t round;
};
/* The kernel that stores time and cycles into DEVICE_STAMPS places in host memory; and the stream-blocking kernel with the two words
 * through which it and the host communicate (clock.c). */
struct cuda_clock {
    CUmodule module;
    CUfunction stamp, block;
    void *notes;
    uint32_t *words, blocks; /* words[0]: number of the last unblock, by the host; words[1]: of the last block that saw it, by the GPU.
                                blocks: how many were queued */
};
struct cuda_guarded {
    CUdeviceptr address;
    CUmemGenericAllocationHandle memory;
    size_t bytes;
    bool mapped;
};
/* A stream beside the main one, and the event that the main one waits for. */
struct cuda_side {
    CUstream stream;
    CUevent event;
    bool used; /* since the main stream was left */
};
struct cuda_state {
    const struct cuda_api *api;
    CUdevice device;
    CUcontext context;
    CUstream stream;                            /* where launches go: the main stream, or a side stream */
    CUstream main;                              /* the main stream while side streams are in use; NULL */
    struct cuda_side sides[DEVICE_STREAMS + 1]; /* by index; 0: only the event that they wait for */
    bool lost;                                  /* a sticky error occurred */
    struct cuda_allocation *allocations;
    int allocation_count;
    struct cuda_guarded *guarded;
    int guarded_count;
    struct cuda_clock clock;
    struct cuda_threads threads;
    bool capturing;
    unsigned launches; /* launches on the stream so far that take a launch slot (stream.c) */
    struct cuda_flush flush;
};
static inline struct cuda_state *cuda_state(const struct device *dev)
{
    return dev->private_data;
}
/* True for success; else sets err: "WHAT: CUDA_ERROR_...: meaning", ERROR_WRONG and dev lost when the context is dead. */
bool cuda_check(struct cuda_state *s, CUresult r, const char *what, struct error *err);

/* The hooks, by file: memory.c */
bool cuda_alloc(struct device *dev, const char *label, size_t bytes, uint64_t *address, struct error *err);
void cuda_release(struct device *dev, uint64_t address);
size_t cuda_spare(struct device *dev);
bool cuda_write(struct device *dev, uint64_t address, const void *from, size_t bytes, struct error *err);
bool cuda_read(struct device *dev, uint64_t address, void *to, size_t bytes, struct error *err);
bool cuda_fill(struct device *dev, uint64_t address, uint32_t pattern, size_t bytes, struct error *err);
bool cuda_copy(struct device *dev, uint64_t to, uint64_t from, size_t bytes, struct error *err);
bool cuda_flush(struct device *dev, struct error *err);
void cuda_memory_close(struct cuda_state *s);
/* stream.c. cuda_start: all launches go through it, so that they are counted. */
CUresult cuda_start(struct cuda_state *s, const CUlaunchConfig *config, CUfunction function, void **params);
bool cuda_sync(struct device *dev, struct error *err);
bool cuda_side_stream(struct device *dev, int index, struct error *err);
void cuda_streams_close(struct cuda_state *s);
bool cuda_fill_has_slot(size_t bytes);
int cuda_launch_slot(struct device *dev);
void cuda_slots_used(struct device *dev, int launches);
/* threads.c */
bool cuda_wipe_threads(struct device *dev, struct error *err);
void cuda_threads_ran(struct cuda_state *s, size_t frame_bytes);
void cuda_threads_close(struct cuda_state *s);
/* PTX, malloc'd, of the kernel that overwrites registers and shared memory (frame_bytes 0) or frames of local memory. */
char *cuda_threads_ptx(size_t frame_bytes);
extern const char cuda_flush_ptx[];
/* code.c */
bool cuda_load(struct device *dev, const struct device_image *image, struct device_module **module, struct error *err);
void cuda_unload(struct device *dev, struct device_module *module);
bool cuda_function(struct device *dev, struct device_module *module, const char *name, struct device_function **function,
                   struct error *err);
int cuda_signature(struct device *dev, const struct device_function *function, const struct param **params, size_t *param_bytes);
bool cuda_symbol(struct device *dev, struct device_module *module, const char *name, uint64_t *address, size_t *bytes, struct error *err);
bool cuda_tensor_map(struct device *dev, const struct device_tensor_map *map, void *out128, struct error *err);
int cuda_frame_bytes(struct device *dev, const struct device_function *function);
bool cuda_launch(struct device *dev, struct device_function *function, const struct device_launch *launch, struct error *err);
bool cuda_clusters(struct device *dev, struct device_function *function, const struct device_launch *launch, int *count, struct error *err);
/* time.c */
bool cuda_event(struct device *dev, struct device_event **event, struct error *err);
void cuda_event_free(struct device *dev, struct device_event *event);
bool cuda_record(struct device *dev, struct device_event *event, struct error *err);
bool cuda_elapsed(struct device *dev, struct device_event *from, struct device_event *to, double *ns, struct error *err);
bool cuda_graph_begin(struct device *dev, struct error *err);
bool cuda_graph_end(struct device *dev, struct device_graph **graph, struct error *err);
bool cuda_graph_launch(struct device *dev, struct device_graph *graph, struct error *err);
int cuda_graph_launches(struct device *dev, const struct device_graph *graph);
void cuda_graph_free(struct device *dev, struct device_graph *graph);
/* clock.c */
bool cuda_stamp(struct device *dev, int slot, struct error *err);
double cuda_stamped_hz(struct device *dev, int from, int to);
bool cuda_block(struct device *dev, struct error *err);
void cuda_unblock(struct device *dev);
bool cuda_unblocked(struct device *dev);
void cuda_clock_close(struct cuda_state *s);
/* guarded.c */
bool cuda_alloc_guarded(struct device *dev, const char *label, size_t bytes, uint64_t *address, struct error *err);
bool cuda_reach(struct device *dev, uint64_t address, bool within, struct error *err);
bool cuda_release_guarded(struct cuda_state *s, uint64_t address);
void cuda_guarded_close(struct cuda_state *s);
/* chip.c: limits from the driver's attributes, rates from base/chip's table. */
void cuda_chip(struct device *dev);
