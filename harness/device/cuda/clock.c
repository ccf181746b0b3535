/* The clock of the SMs, as the stream sees it: one thread notes time and cycles; two notes on one SM are a frequency. */
#include "device/cuda/private.h"
#include <math.h>

struct cuda_note {
    uint64_t ns, cycles, sm;
};

/* globaltimer may tick in microseconds: the note is taken where it ticks. Stored in memory of the host, which the driver makes visible at
 * the next synchronisation. */
static const char stamp_ptx[] = ".version 7.0\n.target sm_75\n.address_size 64\n"
                                ".visible .entry stamp(.param .u64 to)\n{\n"
                                ".reg .pred %p<2>; .reg .b32 %r<2>; .reg .b64 %d<8>;\n"
                                "ld.param.u64 %d0, [to]; cvta.to.global.u64 %d0, %d0;\n"
                                "mov.u64 %d1, %globaltimer;\n"
                                "again: mov.u64 %d2, %globaltimer; setp.eq.u64 %p0, %d1, %d2; @%p0 bra again;\n"
                                "mov.u64 %d3, %clock64; mov.u32 %r0, %smid; cvt.u64.u32 %d4, %r0;\n"
                                "st.global.u64 [%d0], %d2; st.global.u64 [%d0+8], %d3; st.global.u64 [%d0+16], %d4;\n"
                                "ret;\n}\n";

static bool clock_open(struct cuda_state *s, struct error *err)
{
    struct cuda_clock *c = &s->clock;
    void *notes = NULL;
    bool ok = cuda_check(s, s->api->cuModuleLoadDataEx(&c->module, stamp_ptx, 0, NULL, NULL), "loading the clock's kernel", err) &&
              cuda_check(s, s->api->cuModuleGetFunction(&c->stamp, c->module, "stamp"), "loading the clock's kernel", err) &&
              cuda_check(s, s->api->cuFuncLoad(c->stamp), "loading the clock's kernel", err) &&
              cuda_check(s, s->api->cuMemHostAlloc(&notes, DEVICE_STAMPS * sizeof(struct cuda_note), CU_MEMHOSTALLOC_DEVICEMAP),
                         "the clock's notes", err);
    c->notes = notes;
    return ok;
}

void cuda_clock_close(struct cuda_state *s)
{
    if (s->clock.notes)
        s->api->cuMemFreeHost(s->clock.notes);
    if (s->clock.module)
        s->api->cuModuleUnload(s->clock.module);
}

bool cuda_stamp(struct device *dev, int slot, struct error *err)
{
    struct cuda_state *s = cuda_state(dev);
    if (!s->clock.notes && !clock_open(s, err))
        return false;
    struct cuda_note *to = (struct cuda_note *)s->clock.notes + slot;
    void *params[] = {&to};
    CUlaunchConfig config = {
        .gridDimX = 1, .gridDimY = 1, .gridDimZ = 1, .blockDimX = 1, .blockDimY = 1, .blockDimZ = 1, .hStream = s->stream};
    return cuda_check(s, cuda_start(s, &config, s->clock.stamp, params), "noting the clock", err);
}

double cuda_stamped_hz(struct device *dev, int from, int to)
{
    const volatile struct cuda_note *notes = cuda_state(dev)->clock.notes;
    if (!notes)
        return NAN;
    double ns = (double)notes[to].ns - (double)notes[from].ns, cycles = (double)notes[to].cycles - (double)notes[from].cycles;
    return notes[from].sm == notes[to].sm && ns > 0 && cycles > 0 ? cycles / ns * 1e9 : NAN;
}
