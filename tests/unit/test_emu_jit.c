/* Sequences of random operations: compiled code (BENCH_EMU_ISA=jit) has the bits and counts of the handlers (v4). Warps are full, half and
 * partly active; there are more registers than the processor has, operands that are often NaN, loads that repeat their address pattern, and
 * branches between. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "base/text.h"
#include "emu/device/emu.h"
#include "emu_run.h"

enum { THREADS = 112, WORDS = 24, PROGRAMS = 60 };

/* %r, %f: 32 bits, %d: 64, %h: 16, %p: predicates; @: the next random register of the same kind; # a multiple of 16 below the size of a row
 * of `in`. %a0: the lane's row of `in`; %c0: a word of each lane, consecutive; %c1: in two parts; %u0: `in`; %s0, %s1, %s2: the same with
 * 32 bytes a lane in shared memory */
static const char *const forms[] = {
    "add.s32 %r@, %r@, %r@",
    "sub.s32 %r@, %r@, 77",
    "mul.lo.s32 %r@, %r@, %r@",
    "mad.lo.s32 %r@, %r@, %r@, %r@",
    "mul.hi.s32 %r@, %r@, %r@",
    "mul.hi.u32 %r@, %r@, %r@",
    "and.b32 %r@, %r@, %r@",
    "or.b32 %r@, %r@, %r@",
    "xor.b32 %r@, %r@, %r@",
    "shl.b32 %r@, %r@, %r@",
    "shr.u32 %r@, %r@, 3",
    "shr.s32 %r@, %r@, %r@",
    "min.s32 %r@, %r@, %r@",
    "max.u32 %r@, %r@, %r@",
    "lop3.b32 %r@, %r@, %r@, %r@, 0x6a",
    "neg.s32 %r@, %r@",
    "abs.s32 %r@, %r@",
    "mov.b32 %r@, %r@",
    "mov.b32 %f@, %r@",
    "mov.b32 %r@, %f@",
    "selp.b32 %r@, %r@, %r@, %p@",
    "add.s64 %d@, %d@, %d@",
    "sub.s64 %d@, %d@, %d@",
    "mul.lo.s64 %d@, %d@, %d@",
    "mad.lo.s64 %d@, %d@, %d@, %d@",
    "and.b64 %d@, %d@, %d@",
    "shl.b64 %d@, %d@, %r@",
    "shr.u64 %d@, %d@, %r@",
    "shr.s64 %d@, %d@, 9",
    "selp.b64 %d@, %d@, %d@, %p@",
    "mov.b64 %d@, %d@",
    "cvt.s64.s32 %d@, %r@",
    "cvt.u64.u32 %d@, %r@",
    "cvt.u32.u64 %r@, %d@",
    "mul.wide.s32 %d@, %r@, %r@",
    "mul.wide.u32 %d@, %r@, 40",
    "mad.wide.s32 %d@, %r@, %r@, %d@",
    "mad.wide.u32 %d@, %r@, %r@, %d@",
    "add.f32 %f@, %f@, %f@",
    "sub.f32 %f@, %f@, %f@",
    "mul.f32 %f@, %f@, %f@",
    "fma.rn.f32 %f@, %f@, %f@, %f@",
    "fma.rn.f32 %f@, %f@, %f@, %f@",
    "add.f32 %f0, %f@, %f@; mov.b32 %r@, %f0; mov.b32 %f0, %r@", /* the result is read, then gone */
    "mul.f32 %f1, %f@, %f@; mov.b32 %r@, %f1; fma.rn.f32 %f1, %f@, %f@, %f@",
    "neg.f32 %f@, %f@",
    "abs.f32 %f@, %f@",
    "cvt.rn.f32.s32 %f@, %r@",
    "cvt.rn.f32.u32 %f@, %r@",
    "cvt.rn.f16.f32 %h@, %f@",
    "cvt.f32.f16 %f@, %h@",
    "cvt.rn.f16x2.f32 %r@, %f@, %f@",
    "cvt.u32.u16 %r@, %h@",
    "cvt.s32.s16 %r@, %h@",
    "cvt.u16.u32 %h@, %r@",
    "mov.b16 %h@, %h@",
    "selp.b16 %h@, %h@, %h@, %p@",
    "setp.lt.s32 %p@, %r@, %r@",
    "setp.ge.u32 %p@, %r@, %r@",
    "setp.ne.and.s32 %p@, %r@, %r@, %p@",
    "setp.eq.or.u32 %p@, %r@, %r@, !%p@",
    "setp.lt.f32 %p@, %f@, %f@",
    "setp.neu.f32 %p@, %f@, %f@",
    "setp.gtu.xor.f32 %p@, %f@, %f@, %p@",
    "setp.num.f32 %p@, %f@, %f@",
    "and.pred %p@, %p@, %p@",
    "or.pred %p@, %p@, %p@",
    "xor.pred %p@, %p@, %p@",
    "not.pred %p@, %p@",
    "ld.global.b32 %r@, [%a0+#]",
    "ld.global.b32 %f@, [%c0+#]",
    "ld.global.nc.b32 %r@, [%u0+#]",
    "ld.global.b32 %r@, [%c1+#]",
    "ld.global.b16 %h@, [%c1+#]",
    "ld.global.b16 %h@, [%a0+#]",
    "ld.global.b16 %h@, [%a0+6]",
    "ld.global.b16 %h@, [%u0+#]",
    "ld.global.v4.b32 {%r0, %r1, %r2, %r3}, [%u0+#]",
    "ld.global.v4.f32 {%f5, %f1, %f0, %f2}, [%a0+#]",
    "ld.global.v2.b32 {%r4, %r2}, [%u0+#]",
    "ld.shared.b32 %r@, [%s0+4]",
    "ld.shared.b32 %r@, [%s1+#]",
    "ld.shared.b32 %f@, [%s2+#]",
    "ld.shared.b16 %h@, [%s2+#]",
    "ld.shared.b16 %h@, [%s0+14]",
    "ld.shared.v4.b32 {%r5, %r1, %r2, %r4}, [%s0+16]",
    "ld.shared.v4.b32 {%r0, %r1, %r4, %r2}, [%s1+#]",
    "add.u64 %u0, %u0, 0; ld.global.b32 %r@, [%u0+#]",
    "add.u64 %x0, %c0, 0; ld.global.b32 %y0, [%x0+#]; add.s32 %r@, %y0, %r@", /* addresses and values that are needed once */
    "add.u64 %x0, %a0, 8; ld.global.b32 %r@, [%x0+#]; add.s64 %x0, %d@, %d@; mov.b64 %d@, %x0",
    "add.u32 %y0, %s2, 0; ld.shared.b32 %y0, [%y0+#]; add.s32 %r@, %y0, %y0",
    "mul.f32 %z0, %f@, %f@; fma.rn.f32 %z1, %z0, %f@, %f@; fma.rn.f32 %z0, %f@, %f@, %z1; fma.rn.f32 %f@, %f@, %z0, %f@",
};

static uint64_t state;
static uint32_t draw(uint32_t below)
{
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return (uint32_t)(state >> 33) % below;
}

static void put_form(struct text *t, const char *form, uint32_t registers)
{
    text_add(t, "    ");
    for (; *form; form++)
        if (*form == '@')
            text_addf(t, "%u", draw(form[-1] == 'p' ? 6 : registers));
        else if (*form == '#')
            text_addf(t, "%u", 16 * draw(8 * WORDS / 16));
        else
            text_addf(t, "%c", *form);
    text_add(t, ";\n");
}

/* Loads every register from row %tid of `in`, runs the operations three times, and stores every register to `out`. */
static char *program(uint32_t registers, uint32_t operations, bool parted, bool racy)
{
    struct text t = {0};
    text_add(&t, ".version 8.3\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 in, .param .u64 out)\n{\n"
                 "    .reg .b32 %r<40>;\n    .reg .f32 %f<40>;\n    .reg .b64 %d<40>;\n    .reg .b16 %h<40>;\n    .reg .pred %p<9>;\n"
                 "    .reg .b64 %a<3>, %c<2>, %u0, %x0;\n    .reg .b32 %y0;\n    .reg .f32 %z<2>;\n"
                 "    .reg .b32 %t<3>, %s<3>;\n    .shared .align 16 .b8 rows[3584];\n    ld.param.u64 %a0, [in];\n"
                 "    ld.param.u64 %a1, [out];\n    mov.u32 %t0, %tid.x;\n    mov.u64 %u0, %a0;\n    mad.wide.u32 %c0, %t0, 4, %a0;\n"
                 "    mov.u32 %s1, rows;\n    mad.lo.u32 %s0, %t0, 32, %s1;\n    mad.lo.u32 %s2, %t0, 4, %s1;\n    mov.u32 %t2, 0;\n"
                 "    setp.ge.u32 %p7, %t0, 42;\n    selp.b64 %c1, 512, 0, %p7;\n    add.s64 %c1, %c1, %c0;\n");
    text_addf(&t, "    mad.wide.u32 %%a0, %%t0, %d, %%a0;\n    mad.wide.u32 %%a1, %%t0, %d, %%a1;\n", 8 * WORDS, 8 * 40 * 4);
    for (uint32_t i = 0; i < registers; i++)
        text_addf(&t,
                  "    ld.global.b32 %%r%u, [%%a0+%u];\n    ld.global.f32 %%f%u, [%%a0+%u];\n    ld.global.b64 %%d%u, [%%a0+%u];\n"
                  "    ld.global.b16 %%h%u, [%%a0+%u];\n",
                  i, 8 * (i % WORDS), i, 8 * ((i + 5) % WORDS), i, 8 * ((i + 9) % WORDS), i, 8 * ((i + 2) % WORDS));
    for (uint32_t i = 0; i < 8; i++)
        text_addf(&t, "    st.shared.b32 [%%s0+%u], %%r%u;\n", 4 * i, i % registers);
    text_add(&t, "    bar.sync 0;\n");
    for (int i = 0; i < 6; i++)
        text_addf(&t, "    setp.gt.s32 %%p%d, %%r%d, %%r%d;\n", i, i % (int)registers, (i + 1) % (int)registers);
    if (parted)
        text_add(&t, "    and.b32 %t1, %t0, 5;\n    setp.eq.s32 %p7, %t1, 1;\n    @%p7 bra DONE;\n");
    text_add(&t, "AGAIN:\n");
    if (racy) /* in the third turn a warp writes what others read since the barrier, or will read */
        text_addf(&t,
                  "    and.b32 %%t1, %%t0, 96;\n    add.s32 %%t1, %%t1, %%t2;\n    setp.eq.s32 %%p7, %%t1, %d;\n"
                  "    and.b32 %%t1, %%t0, 31;\n    mad.lo.u32 %%t1, %%t1, 4, %%s1;\n    @%%p7 st.shared.b32 [%%t1], %%t0;\n",
                  draw(2) ? 34 : 66);
    for (uint32_t i = 0; i < operations; i++) {
        if (i % 40 == 39)
            text_addf(&t, "    @%s%%p%u bra L%u;\n", draw(2) ? "!" : "", draw(6), i);
        put_form(&t, forms[draw(sizeof forms / sizeof *forms)], registers);
        if (i % 40 == 39)
            text_addf(&t, "L%u:\n", i);
    }
    if (racy)
        text_add(&t, "    bar.sync 0;\n");
    text_add(&t, "    add.s32 %t2, %t2, 1;\n    setp.lt.s32 %p8, %t2, 3;\n    @%p8 bra AGAIN;\nDONE:\n");
    for (uint32_t i = 0; i < registers; i++)
        text_addf(&t,
                  "    st.global.b32 [%%a1+%u], %%r%u;\n    st.global.f32 [%%a1+%u], %%f%u;\n    st.global.b64 [%%a1+%u], %%d%u;\n"
                  "    st.global.b16 [%%a1+%u], %%h%u;\n",
                  32 * i, i, 32 * i + 8, i, 32 * i + 16, i, 32 * i + 24, i);
    for (int i = 0; i < 6; i++)
        text_addf(&t, "    selp.b32 %%r0, 1, 0, %%p%d;\n    st.global.b32 [%%a1+%d], %%r0;\n", i, 32 * i + 28);
    text_add(&t, "    ret;\n}\n");
    return t.data;
}

static void put_count(void *context, const struct device_counter *counter, int line, double value)
{
    text_addf(context, "%s of line %d: %.17g\n", counter->name, line, value);
}

/* Returns the counts and the findings, one a line. */
static char *run(const char *isa, const char *ptx, const void *in, size_t in_bytes, uint8_t *out, size_t out_bytes)
{
    struct text counts = {0};
    struct emu_test t;
    setenv("BENCH_EMU_ISA", isa, 1);
    emu_test_text(&t, "random", ptx, "k");
    uint64_t to;
    memset(out, 0x11, out_bytes);
    emu_test_pointer(&t, emu_test_buffer(&t, "in", in, in_bytes));
    emu_test_pointer(&t, to = emu_test_buffer(&t, "out", out, out_bytes));
    t.launch.block[0] = THREADS;
    emu_test_run(&t);
    emu_test_read(&t, to, out, out_bytes);
    emu_device.counters(&t.dev, put_count, &counts);
    const struct device_report *reports;
    for (int i = 0, count = emu_device.reports(&t.dev, &reports); i < count; i++)
        text_addf(&counts, "%s: %s (%llu)\n", reports[i].kind, reports[i].text, (unsigned long long)reports[i].count);
    emu_test_close(&t);
    unsetenv("BENCH_EMU_ISA");
    return counts.data;
}

static void same_bits(void **unused)
{
    static const uint64_t odd[] = {
        0, 1, 31, 63, 64, 0x7f800000, 0xff800001, 0x7fc00000, 0x80000000, 0x3f8000003f800000, 0xffffffffffffffff, 0x7c007e01};
    static uint64_t in[THREADS * WORDS];
    static uint8_t jit[THREADS * 8 * 40 * 4], handlers[sizeof jit];
    if (strcmp(emu_isa_name(), "jit")) {
        print_message("no AVX-512 here: nothing is compiled\n");
        skip();
    }
    state = 20261129;
    for (int n = 0; n < PROGRAMS; n++) {
        for (size_t i = 0; i < sizeof in / sizeof *in; i++) {
            uint64_t v = (uint64_t)draw(1u << 31) << 33 ^ (uint64_t)draw(1u << 31) << 12 ^ draw(4096);
            in[i] = draw(4) ? n % 3 ? v & 0x3fffffff3fffffff : v : odd[draw(sizeof odd / sizeof *odd)]; /* sometimes few NaN */
        }
        SCOPED char *ptx = program(n % 2 ? 6 : 36, 20 + draw(300), n % 4 >= 2, n % 4 == 1);
        SCOPED char *of_handlers = run("v4", ptx, in, sizeof in, handlers, sizeof handlers);
        SCOPED char *of_jit = run("jit", ptx, in, sizeof in, jit, sizeof jit);
        if (strcmp(of_jit, of_handlers) != 0)
            fail_msg("program %d: counts differ:\n%s\nwith handlers\n%s\n%s", n, of_jit, of_handlers, ptx);
        for (size_t i = 0; i < sizeof jit; i++)
            if (jit[i] != handlers[i])
                fail_msg("program %d: byte %zu of thread %zu differs: %02x, with handlers %02x\n%s", n, i % (8 * 40 * 4), i / (8 * 40 * 4),
                         jit[i], handlers[i], ptx);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(same_bits)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
