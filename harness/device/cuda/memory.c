/* Buffers, and the L2 flush before a cold sample. */
#include "base/text.h"
#include "device/cuda/private.h"

#define ALIGNMENT 512
#define UNCOUNTED_PARTS 32

bool cuda_alloc(struct device *dev, const char *label, size_t bytes, uint64_t *address, struct error *err)
{
    struct cuda_state *s = cuda_state(dev);
    CUdeviceptr base = 0;
    size_t wanted = bytes ? bytes : 1;
    CUresult r = s->api->cuMemAlloc(&base, wanted);
    if (r == CUDA_SUCCESS && base % ALIGNMENT) { /* the driver guarantees 256 only */
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

size_t cuda_spare(struct device *dev)
{
    size_t free_bytes = 0, total = 0;
    struct cuda_state *s = cuda_state(dev);
    return s->api->cuMemGetInfo(&free_bytes, &total) == CUDA_SUCCESS ? free_bytes : 0;
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
    cuda_release_guarded(s, address);
}

void cuda_memory_close(struct cuda_state *s)
{
    for (int i = 0; i < s->allocation_count; i++)
        s->api->cuMemFree(s->allocations[i].base);
    if (s->flush.buffer)
        s->api->cuMemFree(s->flush.buffer);
    if (s->flush.module)
        s->api->cuModuleUnload(s->flush.module);
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
    cuda_slots_used(dev, cuda_fill_has_slot(words * 4));
    if (words && !cuda_check(s, s->api->cuMemsetD32Async(address, pattern, words, s->stream), "filling GPU memory", err))
        return false;
    if (bytes - words * 4 > 4096)
        return error_set(err, ERROR_INTERNAL, "filling GPU memory at an address that is not a multiple of 4");
    for (size_t i = words * 4; i < bytes; i++) /* the last one to three bytes */
        if (!cuda_check(s, s->api->cuMemsetD8Async(address + i, (unsigned char)(pattern >> 8 * (i % 4)), 1, s->stream),
                        "filling GPU memory", err))
            return false;
    return true;
}

bool cuda_copy(struct device *dev, uint64_t to, uint64_t from, size_t bytes, struct error *err)
{
    struct cuda_state *s = cuda_state(dev);
    cuda_slots_used(dev, bytes > 0);
    return bytes == 0 || cuda_check(s, s->api->cuMemcpyDtoDAsync(to, from, bytes, s->stream), "copying on the GPU", err);
}

/* Two kernels walk the buffer in steps of 16 bytes, one step a thread and iteration. The reader sums and stores the sum into the buffer
 * only if it equals an argument, so that no load can be optimised away (tests/unit/test_device_table.c looks for the loads in the SASS).
 * They are PTX so that a machine without the compiler can flush. */
const char cuda_flush_ptx[] = ".version 7.0\n.target sm_75\n.address_size 64\n"
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
                              "out: ret;\n}\n";

static bool flush_open(struct cuda_state *s, const struct chip *chip, struct cuda_flush *f, struct error *err)
{
    if (chip->l2_bytes == 0)
        return error_set(err, ERROR_ENVIRONMENT, "the driver does not report the size of the L2 cache, so cold times cannot be measured");
    f->bytes = (2 * chip->l2_bytes + 65535) / 65536 * 65536;
    return cuda_check(s, s->api->cuModuleLoadDataEx(&f->module, cuda_flush_ptx, 0, NULL, NULL), "loading the flush kernels", err) &&
           cuda_check(s, s->api->cuModuleGetFunction(&f->write, f->module, "flush_write"), "loading the flush kernels", err) &&
           cuda_check(s, s->api->cuModuleGetFunction(&f->read, f->module, "flush_read"), "loading the flush kernels", err) &&
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
    return cuda_check(s, cuda_start(s, &config, f->write, params), "flushing L2", err) &&
           cuda_check(s, cuda_start(s, &config, f->read, params), "flushing L2", err);
}

/* Writing alone would leave dirty lines whose write-back falls into the sample; reading the buffer back leaves clean ones. On an H200 this
 * takes 74 us on the GPU and 8 us on the host, and waits for nothing (tests/gpu/PROBE.md): the host queues the sample meanwhile, and
 * cuda_block waits for the rest. */
bool cuda_flush(struct device *dev, struct error *err)
{
    struct cuda_state *s = cuda_state(dev);
    if (!s->flush.buffer && !flush_open(s, &dev->chip, &s->flush, err))
        return false;
    return cuda_check(s, s->api->cuCtxResetPersistingL2Cache(), "resetting persisting lines of L2", err) &&
           flush_run(s, &dev->chip, &s->flush, s->stream, err);
}

/* The last copy leaves 1/32 of the buffer dirty; its source, which fills most of the cache, is clean. */
bool cuda_flush_uncounted(struct device *dev, struct error *err)
{
    struct cuda_state *s = cuda_state(dev);
    struct cuda_flush *f = &s->flush;
    if (!f->buffer && !flush_open(s, &dev->chip, f, err))
        return false;
    size_t part = f->bytes / UNCOUNTED_PARTS;
    bool ok = cuda_check(s, s->api->cuMemsetD32Async(f->buffer, ++f->round, f->bytes / 4, s->stream), "flushing L2", err);
    for (size_t i = 1; ok && i < UNCOUNTED_PARTS; i++)
        ok = cuda_check(s, s->api->cuMemcpyDtoDAsync(f->buffer, f->buffer + i * part, part, s->stream), "flushing L2", err);
    return ok && cuda_check(s, s->api->cuStreamSynchronize(s->stream), "flushing L2", err);
}
