/* The SM clock (one thread stores time and cycles; two notes from one SM give a frequency), and the stream-blocking kernel of device.h. */
#include "device/cuda/private.h"
#include <math.h>
#include <string.h>

struct cuda_note {
    uint64_t ns, cycles, sm;
};
#define NOTES_BYTES (DEVICE_STAMPS * sizeof(struct cuda_note))

/* globaltimer may tick in microseconds: the kernel waits for a tick. It stores into host memory, which the driver makes visible at the next
 * synchronisation. */
static const char clock_ptx[] = ".version 7.0\n.target sm_75\n.address_size 64\n"
                                ".visible .entry stamp(.param .u64 to)\n{\n"
                                ".reg .pred %p<2>; .reg .b32 %r<2>; .reg .b64 %d<8>;\n"
                                "ld.param.u64 %d0, [to]; cvta.to.global.u64 %d0, %d0;\n"
                                "mov.u64 %d1, %globaltimer;\n"
                                "again: mov.u64 %d2, %globaltimer; setp.eq.u64 %p0, %d1, %d2; @%p0 bra again;\n"
                                "mov.u64 %d3, %clock64; mov.u32 %r0, %smid; cvt.u64.u32 %d4, %r0;\n"
                                "st.global.u64 [%d0], %d2; st.global.u64 [%d0+8], %d3; st.global.u64 [%d0+16], %d4;\n"
                                "ret;\n}\n"
                                ".visible .entry block(.param .u64 words, .param .u32 nth, .param .u64 most)\n{\n"
                                ".reg .pred %p<2>; .reg .b32 %r<2>; .reg .b64 %d<5>;\n"
                                "ld.param.u64 %d0, [words]; cvta.to.global.u64 %d0, %d0; ld.param.u32 %r0, [nth];\n"
                                "ld.param.u64 %d1, [most]; mov.u64 %d2, %globaltimer;\n"
                                "again: ld.volatile.global.u32 %r1, [%d0]; setp.eq.u32 %p0, %r1, %r0; @%p0 bra seen;\n"
                                "mov.u64 %d3, %globaltimer; sub.u64 %d4, %d3, %d2; setp.lt.u64 %p1, %d4, %d1; @%p1 bra again;\n"
                                "ret;\n"
                                "seen: st.global.u32 [%d0+4], %r0; ret;\n}\n";

static bool clock_open(struct cuda_state *s, struct error *err)
{
    struct cuda_clock *c = &s->clock;
    void *notes = NULL;
    bool ok = cuda_check(s, s->api->cuModuleLoadDataEx(&c->module, clock_ptx, 0, NULL, NULL), "loading the clock's kernel", err) &&
              cuda_check(s, s->api->cuModuleGetFunction(&c->stamp, c->module, "stamp"), "loading the clock's kernel", err) &&
              cuda_check(s, s->api->cuModuleGetFunction(&c->block, c->module, "block"), "loading the kernel that holds", err) &&
              cuda_check(s, s->api->cuFuncLoad(c->stamp), "loading the clock's kernel", err) &&
              cuda_check(s, s->api->cuFuncLoad(c->block), "loading the kernel that holds", err) &&
              cuda_check(s, s->api->cuMemHostAlloc(&notes, NOTES_BYTES + 2 * sizeof *c->words, CU_MEMHOSTALLOC_DEVICEMAP),
                         "the clock's notes", err);
    c->notes = notes;
    if (ok)
        memset(c->words = (uint32_t *)((char *)notes + NOTES_BYTES), 0, 2 * sizeof *c->words);
    return ok;
}

void cuda_clock_close(struct cuda_state *s)
{
    if (s->clock.notes)
        s->api->cuMemFreeHost(s->clock.notes);
    if (s->clock.module)
        s->api->cuModuleUnload(s->clock.module);
}

static bool one_thread(struct cuda_state *s, CUfunction kernel, void **params, const char *doing, struct error *err)
{
    CUlaunchConfig config = {
        .gridDimX = 1, .gridDimY = 1, .gridDimZ = 1, .blockDimX = 1, .blockDimY = 1, .blockDimZ = 1, .hStream = s->stream};
    return cuda_check(s, cuda_start(s, &config, kernel, params), doing, err);
}

bool cuda_stamp(struct device *dev, int slot, struct error *err)
{
    struct cuda_state *s = cuda_state(dev);
    if (!s->clock.notes && !clock_open(s, err))
        return false;
    struct cuda_note *to = (struct cuda_note *)s->clock.notes + slot;
    return one_thread(s, s->clock.stamp, (void *[]){&to}, "noting the clock", err);
}

double cuda_stamped_hz(struct device *dev, int from, int to)
{
    const volatile struct cuda_note *notes = cuda_state(dev)->clock.notes;
    if (!notes)
        return NAN;
    double ns = (double)notes[to].ns - (double)notes[from].ns, cycles = (double)notes[to].cycles - (double)notes[from].cycles;
    return notes[from].sm == notes[to].sm && ns > 0 && cycles > 0 ? cycles / ns * 1e9 : NAN;
}

bool cuda_block(struct device *dev, struct error *err)
{
    struct cuda_state *s = cuda_state(dev);
    uint64_t most_ns = DEVICE_BLOCK_NS;
    if (!s->clock.notes && !clock_open(s, err))
        return false;
    s->clock.blocks++;
    return one_thread(s, s->clock.block, (void *[]){&s->clock.words, &s->clock.blocks, &most_ns}, "holding the stream", err);
}

void cuda_unblock(struct device *dev)
{
    struct cuda_clock *c = &cuda_state(dev)->clock;
    if (c->words)
        __atomic_store_n(&c->words[0], c->blocks, __ATOMIC_RELEASE);
}

bool cuda_unblocked(struct device *dev)
{
    const struct cuda_clock *c = &cuda_state(dev)->clock;
    return c->words && __atomic_load_n(&c->words[1], __ATOMIC_ACQUIRE) == c->blocks;
}
