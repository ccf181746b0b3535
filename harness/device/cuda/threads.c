/* Overwrites what the threads of a launch leave on the SMs and the next launch could read: registers, shared memory, and local memory,
 * which belongs to a place on an SM and not to a thread. A kernel could keep results there. It also replaces the cached instructions: a
 * launch that finds its own in the cache is faster, as a library's row was among few rows (docs/notes/2026-11-isolation.md). */
#include "base/text.h"
#include "device/cuda/private.h"
#include <stdlib.h>

#define WARP_THREADS 1024 /* of a block: with REGISTERS each it has all registers of an SM */
#define VALUES 56         /* of 64 registers; the others hold addresses while these are alive */
#define STRANGER 9216     /* instructions of 16 bytes: 144 KiB, more than an SM of cc 9.0 keeps (128) */
#define FRAME_STEP 64     /* a smaller frame the compiler keeps in registers */

#define HEAD ".version 7.0\n.target sm_75\n.address_size 64\n"
#define PARAMETERS "(.param .u64 sink, .param .u32 count, .param .u32 value, .param .u32 strange)\n.maxntid 1024, 1, 1\n"

/* A block takes all shared memory and all registers of an SM, so each block has an SM of its own; a second round of blocks reaches the SMs
 * that the first missed. All values are live at once, because none is used before the last is loaded. */
static void add_places(struct text *t)
{
    text_add(t, ".extern .shared .align 16 .b8 room[];\n.visible .entry wipe_places" PARAMETERS "{\n"
                ".reg .pred %p<2>; .reg .b32 %r<8>, %v<56>; .reg .b64 %d<2>;\n"
                "ld.param.u32 %r0, [value]; ld.param.u32 %r1, [count]; mov.u32 %r2, %tid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, room;\n"
                "again: setp.ge.u32 %p0, %r2, %r1; @%p0 bra written;\n"
                "shl.b32 %r5, %r2, 4; add.u32 %r5, %r4, %r5; st.volatile.shared.v4.u32 [%r5], {%r0, %r0, %r0, %r0};\n"
                "add.u32 %r2, %r2, %r3; bra again;\nwritten: bar.sync 0;\n");
    for (int i = 0; i < VALUES; i += 4)
        text_addf(t, "ld.volatile.shared.v4.u32 {%%v%d, %%v%d, %%v%d, %%v%d}, [%%r4];\n", i, i + 1, i + 2, i + 3);
    text_add(t, "ld.volatile.shared.u32 %r6, [%r4]; mov.u32 %r7, %r6;\n");
    for (int i = 0; i < VALUES; i++)
        text_addf(t, "mad.lo.u32 %%r7, %%r7, %%v%d, %%r6;\n", i);
    /* Code that one warp of each SM executes once, so that it replaces a row's code in the instruction caches. */
    text_add(t, "ld.param.u32 %r2, [strange]; setp.eq.u32 %p0, %r2, 0; @%p0 bra looked;\n"
                "mov.u32 %r2, %tid.x; setp.ge.u32 %p0, %r2, 32; @%p0 bra looked;\n"
                "mov.u32 %r2, %ctaid.x; mov.u32 %r3, %nctaid.x; shr.u32 %r3, %r3, 1; setp.ge.u32 %p0, %r2, %r3; @%p0 bra looked;\n"
                "add.u32 %r2, %r7, 1; add.u32 %r3, %r7, 2; add.u32 %r4, %r7, 3; setp.eq.u32 %p1, %r0, 0;\n");
    for (int i = 0; i < STRANGER; i += 4)
        text_addf(t,
                  "mad.lo.u32 %%r7, %%r7, %%r0, %%r6; mad.lo.u32 %%r2, %%r2, %%r0, %%r6; mad.lo.u32 %%r3, %%r3, %%r0, %%r6; mad.lo.u32 "
                  "%%r4, %%r4, %%r0, %%r6;\n%s",
                  i % 1024 ? "" : "@%p1 bra looked;\n"); /* in one block without a branch the driver compiles it three times as long */
    text_add(t, "xor.b32 %r7, %r7, %r2; xor.b32 %r7, %r7, %r3; xor.b32 %r7, %r7, %r4;\nlooked:\n");
    text_add(t,
             "setp.ne.u32 %p1, %r7, %r1; @%p1 bra out; ld.param.u64 %d0, [sink]; cvta.to.global.u64 %d0, %d0; st.global.u32 [%d0], %r7;\n"
             "out: ret;\n}\n");
}

/* `count` is the element that is read again, so that none is written in vain. */
static void add_frames(struct text *t, size_t bytes)
{
    text_addf(t,
              ".visible .entry wipe_frames" PARAMETERS "{\n"
              ".local .align 16 .b8 frame[%zu];\n.reg .pred %%p<2>; .reg .b32 %%r<8>; .reg .b64 %%d<2>;\n"
              "ld.param.u32 %%r0, [value]; ld.param.u32 %%r1, [count]; mov.u32 %%r2, frame; mov.u32 %%r3, 0;\n"
              "again: add.u32 %%r4, %%r2, %%r3; st.local.v4.u32 [%%r4], {%%r0, %%r0, %%r0, %%r0};\n"
              "add.u32 %%r3, %%r3, 16; setp.lt.u32 %%p0, %%r3, %zu; @%%p0 bra again;\n"
              "add.u32 %%r4, %%r2, %%r1; ld.local.u32 %%r5, [%%r4]; setp.eq.u32 %%p1, %%r5, %%r0; @%%p1 bra out;\n"
              "ld.param.u64 %%d0, [sink]; cvta.to.global.u64 %%d0, %%d0; st.global.u32 [%%d0], %%r5;\nout: ret;\n}\n",
              bytes, bytes);
}

char *cuda_threads_ptx(size_t frame_bytes)
{
    struct text t = {0};
    text_add(&t, HEAD);
    if (frame_bytes)
        add_frames(&t, frame_bytes);
    else
        add_places(&t);
    return text_take(&t);
}

static bool load(struct cuda_state *s, size_t frame_bytes, CUmodule *module, CUfunction *function, struct error *err)
{
    static const char what[] = "loading what wipes threads";
    SCOPED char *ptx = cuda_threads_ptx(frame_bytes);
    bool ok = cuda_check(s, s->api->cuModuleLoadDataEx(module, ptx, 0, NULL, NULL), what, err) &&
              cuda_check(s, s->api->cuModuleGetFunction(function, *module, frame_bytes ? "wipe_frames" : "wipe_places"), what, err) &&
              cuda_check(s, s->api->cuFuncLoad(*function), what, err);
    return ok;
}

static bool threads_open(struct cuda_state *s, const struct chip *chip, struct error *err)
{
    struct cuda_threads *t = &s->threads;
    return load(s, 0, &t->module, &t->places, err) &&
           cuda_check(
               s, s->api->cuFuncSetAttribute(t->places, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, (int)chip->smem_per_block_optin),
               "loading what wipes threads", err) &&
           cuda_check(s, s->api->cuMemAlloc(&t->sink, 64), "where what wipes threads would write", err);
}

static const struct cuda_frames *frames_open(struct cuda_state *s, size_t bytes, struct error *err)
{
    struct cuda_threads *t = &s->threads;
    struct cuda_frames made = {.bytes = (bytes + FRAME_STEP - 1) / FRAME_STEP * FRAME_STEP};
    for (int i = 0; i < t->frame_count; i++)
        if (t->frames[i].bytes == made.bytes)
            return &t->frames[i];
    if (!load(s, made.bytes, &made.module, &made.function, err))
        return NULL;
    *APPEND(t->frames, t->frame_count) = made;
    return &t->frames[t->frame_count - 1];
}

static bool wipe(struct cuda_state *s, CUfunction function, unsigned blocks, unsigned threads, size_t shared, uint32_t count,
                 struct error *err)
{
    struct cuda_threads *t = &s->threads;
    uint32_t value = ++t->round * 2246822519u, strange = !s->capturing; /* back to back, a row's code stays where it is */
    void *params[] = {&t->sink, &count, &value, &strange};
    CUlaunchConfig config = {.gridDimX = blocks,
                             .gridDimY = 1,
                             .gridDimZ = 1,
                             .blockDimX = threads,
                             .blockDimY = 1,
                             .blockDimZ = 1,
                             .sharedMemBytes = (unsigned)shared,
                             .hStream = s->stream};
    return cuda_check(s, cuda_start(s, &config, function, params), "wiping what threads left", err);
}

/* Twice as many blocks as fit at once, so that every warp slot is used. */
bool cuda_wipe_threads(struct device *dev, struct error *err)
{
    struct cuda_state *s = cuda_state(dev);
    struct cuda_threads *t = &s->threads;
    const struct chip *chip = &dev->chip;
    const struct cuda_frames *frames = NULL;
    size_t shared = chip->smem_per_block_optin / 16 * 16;
    unsigned sms = chip->sm_count > 0 ? (unsigned)chip->sm_count : 256;
    unsigned threads =
        chip->threads_per_sm % WARP_THREADS ? WARP_THREADS / 2 : WARP_THREADS; /* 1536 is not a multiple of the largest block */
    unsigned held = (unsigned)chip->threads_per_sm / threads;
    if (!t->sink && !threads_open(s, chip, err))
        return false;
    if (t->ran && (!(frames = frames_open(s, t->ran, err)) ||
                   !wipe(s, frames->function, 2 * sms * (held ? held : 1), threads, 0, 4 * (t->round % 4), err)))
        return false;
    if (!s->capturing)
        t->ran = 0;
    return wipe(s, t->places, 2 * sms, WARP_THREADS, shared, (uint32_t)(shared / 16), err);
}

void cuda_threads_ran(struct cuda_state *s, size_t frame_bytes)
{
    struct cuda_threads *t = &s->threads;
    t->ran = frame_bytes > t->ran ? frame_bytes : t->ran;
    if (s->capturing && frame_bytes > t->caught)
        t->caught = frame_bytes;
}

void cuda_threads_close(struct cuda_state *s)
{
    struct cuda_threads *t = &s->threads;
    if (t->sink)
        s->api->cuMemFree(t->sink);
    for (int i = 0; i < t->frame_count; i++)
        s->api->cuModuleUnload(t->frames[i].module);
    free(t->frames);
    if (t->module)
        s->api->cuModuleUnload(t->module);
    *t = (struct cuda_threads){0};
}
