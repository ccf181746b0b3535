/* Buffers, and the flush that makes a cold sample cold. */
#include "base/text.h"
#include "device/cuda/private.h"
#include <stdlib.h>
#include <string.h>

#define ALIGNMENT 512

bool cuda_alloc(struct device *dev, const char *label, size_t bytes, uint64_t *address, struct error *err)
{
    struct cuda_state *s = cuda_state(dev);
    CUdeviceptr base = 0;
    size_t wanted = bytes ? bytes : 1;
    CUresult r = s->api->cuMemAlloc(&base, wanted);
    if (r == CUDA_SUCCESS && base % ALIGNMENT) { /* promised are 256 only */
        s->api->cuMemFree(base);
        r = s->api->cuMemAlloc(&base, wanted + ALIGNMENT);
    }
    if (r != CUDA_SUCCESS) {
        size_t free_bytes = 0, total = 0;
        cuda_check(s, r, label, err);
        if (r == CUDA_ERROR_OUT_OF_MEMORY && s->api->cuMemGetInfo(&free_bytes, &total) == CUDA_SUCCESS)
            error_set(err, ERROR_ENVIRONMENT, "%s needs %.1f MB of GPU memory; %.1f of %.1f MB are free", label, (double)bytes / 1e6,
                      (double)free_bytes / 1e6, (double)total / 1e6);
        return false;
    }
    *address = (base + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    *APPEND(s->allocations, s->allocation_count) = (struct cuda_allocation){base, *address, bytes};
    return true;
}

void cuda_release(struct device *dev, uint64_t address)
{
    struct cuda_state *s = cuda_state(dev);
    for (int i = 0; i < s->allocation_count; i++)
        if (s->allocations[i].address == address) {
            s->api->cuMemFree(s->allocations[i].base);
            s->allocations[i] = s->allocations[--s->allocation_count];
            return;
        }
    cuda_release_apart(s, address);
}

void cuda_memory_close(struct cuda_state *s)
{
    cuda_apart_close(s);
    cuda_clock_close(s);
    for (int i = 0; i < s->allocation_count; i++)
        s->api->cuMemFree(s->allocations[i].base);
    if (s->flush.buffer)
        s->api->cuMemFree(s->flush.buffer);
    if (s->flush.module)
        s->api->cuModuleUnload(s->flush.module);
    if (s->aside_context) { /* with all that is in it */
        __typeof__(&cuCtxDestroy) destroy =
            (__typeof__(&cuCtxDestroy))library_symbol((struct library *)&s->api->library, "cuCtxDestroy_v2", NULL);
        if (destroy)
            destroy(s->aside_context);
        s->api->cuCtxSetCurrent(s->context);
    }
}

bool cuda_write(struct device *dev, uint64_t address, const void *from, size_t bytes, struct error *err)
{
    struct cuda_state *s = cuda_state(dev);
    return bytes == 0 || (cuda_check(s, s->api->cuMemcpyHtoDAsync(address, from, bytes, s->stream), "writing to the GPU", err) &&
                          cuda_check(s, s->api->cuStreamSynchronize(s->stream), "writing to the GPU", err));
}

bool cuda_read(struct device *dev, uint64_t address, void *to, size_t bytes, struct error *err)
{
    struct cuda_state *s = cuda_state(dev);
    return bytes == 0 || (cuda_check(s, s->api->cuMemcpyDtoHAsync(to, address, bytes, s->stream), "reading from the GPU", err) &&
                          cuda_check(s, s->api->cuStreamSynchronize(s->stream), "reading from the GPU", err));
}

bool cuda_fill(struct device *dev, uint64_t address, uint32_t pattern, size_t bytes, struct error *err)
{
    struct cuda_state *s = cuda_state(dev);
    size_t words = address % 4 ? 0 : bytes / 4;
    if (words && !cuda_check(s, s->api->cuMemsetD32Async(address, pattern, words, s->stream), "filling GPU memory", err))
        return false;
    if (bytes - words * 4 > 4096)
        return error_set(err, ERROR_INTERNAL, "filling GPU memory at an address that is no multiple of 4");
    for (size_t i = words * 4; i < bytes; i++) /* the last one to three bytes */
        if (!cuda_check(s, s->api->cuMemsetD8Async(address + i, (unsigned char)(pattern >> 8 * (i % 4)), 1, s->stream),
                        "filling GPU memory", err))
            return false;
    return true;
}

bool cuda_copy(struct device *dev, uint64_t to, uint64_t from, size_t bytes, struct error *err)
{
    struct cuda_state *s = cuda_state(dev);
    return bytes == 0 || cuda_check(s, s->api->cuMemcpyDtoDAsync(to, from, bytes, s->stream), "copying on the GPU", err);
}

/* Two kernels walk the buffer in 16-byte steps, one step a thread and iteration. The reader keeps a sum and stores it (into
 * the flush buffer) only if it happens to equal an argument, so that no load can be left out (tests/unit/test_cuda.c looks for them in the
 * SASS). PTX, so that a machine without the compiler can flush. */
const char cuda_flush_ptx[] =
    ".version 7.0\n.target sm_75\n.address_size 64\n"
    ".visible .entry flush_write(.param .u64 buffer, .param .u64 count, .param .u32 value)\n{\n"
    ".reg .pred %p<2>; .reg .b32 %r<8>; .reg .b64 %d<8>;\n"
    "ld.param.u64 %d0, [buffer]; ld.param.u64 %d1, [count]; ld.param.u32 %r0, [value];\n"
    "cvta.to.global.u64 %d0, %d0;\n"
    "mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x; mov.u32 %r4, %nctaid.x;\n"
    "mul.wide.u32 %d2, %r1, %r2; cvt.u64.u32 %d3, %r3; add.u64 %d2, %d2, %d3; mul.wide.u32 %d4, %r4, %r2;\n"
    "again: setp.ge.u64 %p0, %d2, %d1; @%p0 bra done;\n"
    "shl.b64 %d5, %d2, 4; add.u64 %d5, %d0, %d5; st.global.v4.u32 [%d5], {%r0, %r3, %r0, %r1};\n"
    "add.u64 %d2, %d2, %d4; bra again;\n"
    "done: ret;\n}\n"
    ".visible .entry flush_read(.param .u64 buffer, .param .u64 count, .param .u32 value)\n{\n"
    ".reg .pred %p<2>; .reg .b32 %r<16>; .reg .b64 %d<8>;\n"
    "ld.param.u64 %d0, [buffer]; ld.param.u64 %d1, [count]; ld.param.u32 %r9, [value];\n"
    "cvta.to.global.u64 %d0, %d0; mov.u32 %r0, 0;\n"
    "mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x; mov.u32 %r4, %nctaid.x;\n"
    "mul.wide.u32 %d2, %r1, %r2; cvt.u64.u32 %d3, %r3; add.u64 %d2, %d2, %d3; mul.wide.u32 %d4, %r4, %r2;\n"
    "again: setp.ge.u64 %p0, %d2, %d1; @%p0 bra done;\n"
    "shl.b64 %d5, %d2, 4; add.u64 %d5, %d0, %d5; ld.global.cg.v4.u32 {%r5, %r6, %r7, %r8}, [%d5];\n"
    "xor.b32 %r5, %r5, %r6; xor.b32 %r7, %r7, %r8; xor.b32 %r5, %r5, %r7; add.u32 %r0, %r0, %r5;\n"
    "add.u64 %d2, %d2, %d4; bra again;\n"
    "done: setp.ne.u32 %p1, %r0, %r9; @%p1 bra out; st.global.u32 [%d0], %r0;\n"
    "out: ret;\n}\n"
    ".extern .shared .align 16 .b8 room[];\n"
    ".visible .entry flush_shared(.param .u64 buffer, .param .u64 count, .param .u32 value)\n{\n"
    ".reg .pred %p<1>; .reg .b32 %r<6>;\n"
    "ld.param.u32 %r0, [value]; ld.param.u32 %r1, [count]; mov.u32 %r2, %tid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, room;\n"
    "again: setp.ge.u32 %p0, %r2, %r1; @%p0 bra done;\n"
    "shl.b32 %r5, %r2, 4; add.u32 %r5, %r4, %r5; st.volatile.shared.v4.u32 [%r5], {%r0, %r0, %r0, %r0};\n"
    "add.u32 %r2, %r2, %r3; bra again;\n"
    "done: ret;\n}\n";

/* What kernels left in shared memory, where nothing else clears it: a kernel could keep results there from launch to launch. A block takes
 * all that an SM gives one, so that each block has an SM of its own; the second round of blocks meets those that the first left out. */
static bool flush_shared(struct cuda_state *s, const struct chip *chip, const struct cuda_flush *f, CUstream stream, struct error *err)
{
    uint64_t count = chip->smem_per_block_optin / 16;
    uint32_t value = f->round * 2246822519u;
    void *params[] = {(void *)(uintptr_t)&f->buffer, &count, &value};
    CUlaunchConfig config = {.gridDimX = (unsigned)(2 * chip->sm_count),
                             .gridDimY = 1,
                             .gridDimZ = 1,
                             .blockDimX = 1024,
                             .blockDimY = 1,
                             .blockDimZ = 1,
                             .sharedMemBytes = (unsigned)(16 * count),
                             .hStream = stream};
    return !count || chip->sm_count <= 0 ||
           cuda_check(s, s->api->cuLaunchKernelEx(&config, f->shared, params, NULL), "clearing shared memory", err);
}

static bool flush_open(struct cuda_state *s, const struct chip *chip, struct cuda_flush *f, struct error *err)
{
    if (chip->l2_bytes == 0)
        return error_set(err, ERROR_ENVIRONMENT, "the driver does not say how large the L2 cache is: a cold time cannot be taken");
    f->bytes = (2 * chip->l2_bytes + 65535) / 65536 * 65536;
    return cuda_check(s, s->api->cuModuleLoadDataEx(&f->module, cuda_flush_ptx, 0, NULL, NULL), "loading the flush kernels", err) &&
           cuda_check(s, s->api->cuModuleGetFunction(&f->write, f->module, "flush_write"), "loading the flush kernels", err) &&
           cuda_check(s, s->api->cuModuleGetFunction(&f->read, f->module, "flush_read"), "loading the flush kernels", err) &&
           cuda_check(s, s->api->cuModuleGetFunction(&f->shared, f->module, "flush_shared"), "loading the flush kernels", err) &&
           cuda_check(
               s, s->api->cuFuncSetAttribute(f->shared, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, (int)chip->smem_per_block_optin),
               "loading the flush kernels", err) &&
           cuda_check(s, s->api->cuFuncLoad(f->shared), "loading the flush kernels", err) &&
           cuda_check(s, s->api->cuFuncLoad(f->write), "loading the flush kernels", err) &&
           cuda_check(s, s->api->cuFuncLoad(f->read), "loading the flush kernels", err) &&
           cuda_check(s, s->api->cuMemAlloc(&f->buffer, f->bytes), "the flush buffer", err);
}

static bool flush_run(struct cuda_state *s, const struct chip *chip, struct cuda_flush *f, CUstream stream, struct error *err)
{
    uint64_t count = f->bytes / 16;
    uint32_t value = ++f->round * 2654435761u;
    void *params[] = {&f->buffer, &count, &value};
    CUlaunchConfig config = {.gridDimX = (unsigned)(chip->sm_count > 0 ? 8 * chip->sm_count : 256),
                             .gridDimY = 1,
                             .gridDimZ = 1,
                             .blockDimX = 256,
                             .blockDimY = 1,
                             .blockDimZ = 1,
                             .hStream = stream};
    return flush_shared(s, chip, f, stream, err) &&
           cuda_check(s, s->api->cuLaunchKernelEx(&config, f->write, params, NULL), "flushing L2", err) &&
           cuda_check(s, s->api->cuLaunchKernelEx(&config, f->read, params, NULL), "flushing L2", err);
}

/* Writing alone would leave dirty lines whose way to memory falls into the sample; reading the same buffer back leaves clean ones. On an
 * H200 this takes 74 us of GPU and 8 us of host time, and waits for nothing: the host queues the sample meanwhile (tests/gpu/probe). */
bool cuda_flush(struct device *dev, struct error *err)
{
    struct cuda_state *s = cuda_state(dev);
    if (!s->flush.buffer && !flush_open(s, &dev->chip, &s->flush, err))
        return false;
    return cuda_check(s, s->api->cuCtxResetPersistingL2Cache(), "resetting persisting lines of L2", err) &&
           flush_run(s, &dev->chip, &s->flush, s->stream, err);
}

/* The context is made current for its own calls only. */
static bool aside_open(struct device *dev, struct error *err)
{
    struct cuda_state *s = cuda_state(dev);
    __typeof__(&cuCtxCreate) create = (__typeof__(&cuCtxCreate))library_symbol((struct library *)&s->api->library, "cuCtxCreate_v4", err);
    CUctxCreateParams none = {0};
    return create && cuda_check(s, create(&s->aside_context, &none, 0, s->device), "opening a second context", err) &&
           cuda_check(s, s->api->cuStreamCreate(&s->aside_stream, CU_STREAM_NON_BLOCKING), "making a stream", err) &&
           flush_open(s, &dev->chip, &s->aside, err);
}

bool cuda_flush_aside(struct device *dev, struct error *err)
{
    struct cuda_state *s = cuda_state(dev);
    bool ok = s->aside.buffer || aside_open(dev, err);
    ok = ok && cuda_check(s, s->api->cuCtxSetCurrent(s->aside_context), "going to the second context", err) &&
         flush_run(s, &dev->chip, &s->aside, s->aside_stream, err) &&
         cuda_check(s, s->api->cuStreamSynchronize(s->aside_stream), "flushing L2", err);
    return cuda_check(s, s->api->cuCtxSetCurrent(s->context), "coming back to the first context", ok ? err : NULL) && ok;
}
