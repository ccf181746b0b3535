/* emu takes and refuses what ptxas takes and refuses (tests/emu/ptxas.txt); and values of forms that compilers seldom write. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "base/file.h"
#include "emu_run.h"

static const char body[] =
    ".version 9.4\n.target %s\n.address_size 64\n.shared .align 128 .b8 s[4096];\n.shared .align 8 .b64 mb[4];\n"
    ".visible .entry k(.param .u64 y)\n{\n"
    ".reg .pred %%p<16>; .reg .b16 %%h<16>; .reg .b32 %%r<64>; .reg .b64 %%rd<32>; .reg .f32 %%f<32>; .reg .f64 %%d<8>; .reg .b128 "
    "%%q<4>;\n"
    ".reg .b8 %%b<4>; .reg .b32 %%t<16>; .reg .u32 %%u<8>; .reg .s64 %%sd<4>;\nld.param.u64 %%rd1, [y]; mov.u32 %%r1, 0;\n%s\nret;\n}\n";

static void as_ptxas(void **state)
{
    struct error err = {0};
    SCOPED char *text = file_read("tests/emu/ptxas.txt", 1 << 20, NULL, &err);
    assert_non_null(text);
    int lines = 0, wrong = 0;
    char *rest = NULL;
    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        if (*line == '#')
            continue;
        char *target = line + 2, *instruction = strchr(target, ' ');
        assert_non_null(instruction);
        *instruction++ = '\0';
        SCOPED char *ptx = text_format(body, target, instruction);
        err = (struct error){0};
        bool taken = emu_test_takes("GH100", ptx, &err);
        if (taken != (*line == '+')) {
            print_error("%s %s: %s\n", target, instruction, taken ? "emu takes it" : err.text);
            wrong++;
        }
        lines++;
    }
    assert_true(lines > 500);
    assert_int_equal(wrong, 0);
}

/* Runs the instructions for one warp; y begins with `count` words that must be `want`. `before` stands before the entry. */
static void gives(const char *target, const char *before, const char *text, const uint32_t *want, int count)
{
    uint32_t got[64] = {0};
    SCOPED char *whole = text_format(body, target, text);
    SCOPED_TEXT ptx = {0};
    char *entry = strstr(whole, ".visible");
    text_add_bytes(&ptx, whole, (size_t)(entry - whole));
    text_addf(&ptx, "%s\n%s", before, entry);
    struct emu_test t;
    emu_test_chip(&t, "GH100", text, text_get(&ptx), "k");
    uint64_t y = emu_test_buffer(&t, "y", got, sizeof got);
    emu_test_pointer(&t, y);
    emu_test_finish(&t, y, got, sizeof got);
    for (int i = 0; i < count; i++)
        if (got[i] != want[i])
            fail_msg("%s: word %d is 0x%x, want 0x%x", text, i, got[i], want[i]);
}
#define GIVES(target, before, text, ...) \
    gives(target, before, text, (const uint32_t[]){__VA_ARGS__}, (int)(sizeof((uint32_t[]){__VA_ARGS__}) / 4))

static void seldom_written(void **state)
{
    /* set: all ones or 1.0 of the width of the result, and a predicate that joins */
    GIVES("sm_90a", "",
          "mov.f32 %f1, 0f3f800000; mov.f32 %f2, 0f40000000; mov.b16 %h1, 0x3c00; mov.b16 %h2, 0x4000; setp.eq.u32 %p1, 1, 1;"
          "set.lt.u32.f16 %r1, %h1, %h2; set.lt.s32.f32 %r2, %f1, %f2; set.gt.and.f32.f32 %f3, %f2, %f1, %p1;"
          "set.gt.and.u32.f32 %r4, %f2, %f1, !%p1; set.lt.or.f16.f16 %h3, %h2, %h1, %p1; cvt.u32.u16 %r5, %h3;"
          "st.global.v4.u32 [%rd1], {%r1, %r2, %r4, %r5}; st.global.f32 [%rd1+16], %f3;",
          0xffffffff, 0xffffffff, 0, 0x3c00, 0x3f800000);
    GIVES("sm_90a", "",
          "mov.u32 %r1, 0xf0; mov.u32 %r2, 0x3c; mov.u32 %r3, 0xff; setp.eq.u32 %p1, 1, 1;"
          "lop3.and.b32 %r4|%p2, %r1, %r2, %r3, 0x80, %p1; lop3.or.b32 _|%p3, %r1, 0, %r3, 0x80, !%p1;"
          "lop3.and.b32 %r1|%p4, %r1, 15, %r3, 0x80, %p1; selp.u32 %r5, 1, 0, %p2; selp.u32 %r6, 1, 0, %p3; selp.u32 %r7, 1, 0, %p4;"
          "st.global.v4.u32 [%rd1], {%r4, %r5, %r6, %r7}; st.global.u32 [%rd1+16], %r1;",
          0x30, 1, 0, 0, 0);
    GIVES("sm_90a", "",
          "mov.b16 %h1, 0x8000; mov.b16 %h2, 0x7fff; mov.b16 %h3, 5; mad.hi.s16 %h4, %h1, %h2, %h3; mad.hi.u16 %h5, %h1, %h2, %h3;"
          "mov.u32 %r1, 0x7fffffff; mad.hi.sat.s32 %r2, %r1, %r1, %r1; mov.u32 %r3, 0x80000000; mad.hi.sat.s32 %r4, %r3, %r1, %r3;"
          "cvt.u32.u16 %r5, %h4; cvt.u32.u16 %r6, %h5; st.global.v4.u32 [%rd1], {%r2, %r4, %r5, %r6};",
          0x7fffffff, 0x80000000, 0xc005, 0x4004);
    /* the least or greatest magnitude, with the sign of the product */
    GIVES("sm_90a", "",
          "mov.b32 %r1, 0x3c00c500; mov.b32 %r2, 0xc0003800; min.xorsign.abs.f16x2 %r3, %r1, %r2; max.NaN.xorsign.abs.f16x2 %r4, %r1, %r2;"
          "mov.b32 {%h1,%h2}, %r1; mov.b32 {%h3,%h4}, %r2; max.xorsign.abs.f16 %h5, %h1, %h3; min.xorsign.abs.bf16 %h6, %h2, %h2;"
          "cvt.u32.u16 %r5, %h5; cvt.u32.u16 %r6, %h6; st.global.v4.u32 [%rd1], {%r3,%r4,%r5,%r6};",
          0xbc00b800, 0xc000c500, 0xc500, 0x3c00);
    /* CCCL's cuda::ptx::cp_async_mbarrier_arrive_noinc: a barrier in shared memory in 32 bits, without the state space */
    GIVES("sm_90a", ".global .align 4 .b32 from[2] = {11, 22};",
          "mov.u64 %rd2, from; mov.u32 %r2, mb; mov.u32 %r3, s; mov.u32 %r4, %tid.x; shl.b32 %r5, %r4, 3; add.u32 %r5, %r5, %r3;"
          "setp.eq.u32 %p1, %r4, 0; @%p1 mbarrier.init.shared.b64 [mb], 32; bar.sync 0; cp.async.ca.shared.global [%r5], [%rd2], 8, 4;"
          "cp.async.mbarrier.arrive.noinc.b64 [%r2]; W: mbarrier.try_wait.parity.shared.b64 %p2, [mb], 0; @!%p2 bra W;"
          "ld.shared.v2.u32 {%r6, %r7}, [%r5]; @%p1 st.global.v2.u32 [%rd1], {%r6, %r7};",
          11, 0);
    /* 1 + 2^-24 rounded towards zero, up; 1 - 2^-24 */
    GIVES("sm_100a", "",
          "mov.b64 %rd2, {0f3f800000, 0fbf800000}; mov.b64 %rd3, {0f33800000, 0fb3800000}; add.rz.f32x2 %rd4, %rd2, %rd3;"
          "add.rp.f32x2 %rd5, %rd2, %rd3; sub.rm.f32x2 %rd6, %rd2, %rd3; fma.rp.f32x2 %rd7, %rd2, %rd2, %rd3;"
          "st.global.v2.b64 [%rd1], {%rd4,%rd5}; st.global.v2.b64 [%rd1+16], {%rd6,%rd7};",
          0x3f800000, 0xbf800000, 0x3f800001, 0xbf800000, 0x3f7fffff, 0xbf7fffff, 0x3f800001, 0x3f7fffff);
}

/* Video instructions of the manual's examples' kind, worked out by hand: parts, merges, saturation, negated products. */
static void video(void **state)
{
    GIVES("sm_90a", "",
          "mov.b32 %r1, 0xf700; mov.b32 %r2, 0x50000; mov.b32 %r3, 0x11223344; vadd.s32.s32.s32 %r4, %r1.b1, %r2.h1;" /* -9 + 5 */
          "mov.b32 %r1, 200; vadd.u32.u32.u32.sat %r5.b2, %r1, 100, %r3; vsub.s32.u32.u32.min %r6, 3, 5, 1;"
          "vset.s32.u32.lt.add %r7, -1, 1, 41; vmin.s32.s32.s32 %r8.h1, %r4, 0, %r3; vabsdiff.u32.s32.s32.max %r9, %r4, 2, 5;"
          "st.global.v4.u32 [%rd1], {%r4, %r5, %r6, %r7}; st.global.v2.u32 [%rd1+16], {%r8, %r9};",
          0xfffffffc, 0x11ff3344, 0xfffffffe, 42, 0xfffc3344, 6);
    GIVES("sm_90a", "",
          "mov.b32 %r1, 0xfd; mov.b32 %r2, 100; mov.b32 %r3, 84; vmad.s32.s32.s32.shr7 %r4, %r1.b0, %r2, -%r3;" /* (-300 - 84) / 128 */
          "vmad.u32.u32.u32.po %r5, 3, 4, 5; mov.b32 %r6, 0x7fffffff; vmad.u32.u32.u32.sat %r6, -%r6, %r6, %r3;"
          "vmad.u32.u32.u32 %r7, -%r2, -%r2, 1; vshr.s32.s32.u32.clamp %r8.b1, %r1.b0, 1, 0;" /* the two signs cancel */
          "st.global.v4.u32 [%rd1], {%r4, %r5, %r6, %r7}; st.global.u32 [%rd1+16], %r8;",
          0xfffffffd, 18, 0x80000000, 10001, 0xfe00);
    GIVES("sm_90a", "",
          "mov.b32 %r1, 0x00020001; mov.b32 %r2, 0x00400030; mov.b32 %r3, 0x77777777; vadd2.u32.u32.u32 %r4.h1, %r1.h01, %r2.h32, %r3;"
          "mov.b32 %r1, 0x01020304; mov.b32 %r2, 0x01010505; vset4.u32.u32.ge.add %r5, %r1, %r2, %r3; vset4.u32.u32.ge %r6, %r1, %r2, %r3;"
          "vsub4.s32.u32.u32 %r7.b20, %r1.b7654, %r2.b0123, %r3; vset2.u32.u32.lt %r8.h0, %r1, %r2, %r3;"
          "st.global.v4.u32 [%rd1], {%r4, %r5, %r6, %r7}; st.global.u32 [%rd1+16], %r8;",
          0x00417777, 0x77777779, 0x01010000, 0x77fe7704, 0x77770001);
}

/* Conversions of PTX ISA 9.1 and 9.2 with two scales, packed small integers, and set to halves. */
static void conversions(void **state)
{
    GIVES("sm_100a", "",
          "mov.b16 %h1, 0x40c0; mov.b16 %h2, 0x8085; cvt.rn.bf16x2.s2f6x2 %r1, %h1; cvt.rn.scaled::n2::ue8m0.bf16x2.s2f6x2 %r2, %h1, %h2;"
          "mov.b16 %h3, 0x807f; mov.f32 %f1, 0f3fc00000; mov.f32 %f2, 0f40400000; mov.f32 %f3, 0f7fc00000; mov.b16 %h5, 0x387e; mov.b16 "
          "%h6, 0x7e80;"
          "cvt.rn.satfinite.scaled::n2::ue8m0.s2f6x2.f32 %h4, %f1, %f2, %h3; cvt.u32.u16 %r3, %h4;"
          "cvt.rn.satfinite.relu.s2f6x2.f32 %h4, %f3, %f1; cvt.u32.u16 %r4, %h4; mov.b32 %r5, 0xbf803f80;"
          "cvt.rn.satfinite.scaled::n2::ue8m0.s2f6x2.bf16x2 %h4, %r5, %h3; cvt.u32.u16 %r5, %h4;"
          "cvt.rn.satfinite.scaled::n2::ue8m0.bf16x2.e4m3x2 %r6, %h5, %h6;" /* 448 of the lower 8 bits, times 2 */
          "st.global.v4.u32 [%rd1], {%r1, %r2, %r3, %r4}; st.global.v2.u32 [%rd1+16], {%r5, %r6};",
          0x3f80bf80, 0x4000c280, 0x307f, 0x7f60, 0xe040, 0x3f004460);
    GIVES("sm_90a", "",
          "mov.u32 %r1, 20; mov.u32 %r2, -3; mov.u32 %r3, 0x123; cvt.pack.sat.u4.s32.b32 %r4, %r1, %r2, %r3; cvt.pack.sat.s2.s32.b32 %r5, "
          "%r2, 1, 1;"
          "setp.eq.u32 %p1, 0, 0; mov.b16 %h1, 0; set.lt.f16.u32 %h1, %r3, %r2; cvt.u32.u16 %r6, %h1; set.gt.bf16.s32 %h1, %r1, %r2;"
          "cvt.u32.u16 %r7, %h1; mov.b32 %r8, 0x3c004000; mov.b32 %r9, 0x3c003c00; set.eq.and.f16x2.f16x2 %r10, %r8, %r9, %p1;"
          "set.eq.and.f16x2.f16x2 %r11, %r8, %r9, !%p1; isspacep.global %p2, %r1; istypep.texref %p3, %rd1; selp.u32 %r12, 1, 0, %p2;"
          "selp.u32 %r13, 1, 0, %p3; alloca.u32 %r14, 16; st.local.u32 [%r14+4], %r3; ld.local.u32 %r15, [%r14+4];"
          "st.global.v4.u32 [%rd1], {%r4, %r5, %r6, %r7}; st.global.v4.u32 [%rd1+16], {%r10, %r11, %r12, %r13}; st.global.u32 [%rd1+32], "
          "%r15;",
          0x123f0, 0x19, 0x3c00, 0x3f80, 0x3c000000, 0, 1, 0, 0x123);
    GIVES("sm_100a", "",
          "mov.u32 %r2, %tid.x; setp.eq.u32 %p1, %r2, 0; @%p1 st.async.release.gpu.global.u32 [%rd1], 7; @%p1 "
          "red.async.release.gpu.add.u32 [%rd1], 5;",
          12);
}

/* A call by address: constants have the types of its prototype. */
static void prototypes(void **state)
{
    GIVES("sm_90a",
          ".func (.reg .b32 r) h1(.reg .b32 a, .reg .f32 b) { mov.u32 r, 0; ret; }\n"
          ".func (.reg .b32 r) h2(.reg .b32 a, .reg .f32 b) { .reg .b32 t; cvt.rzi.u32.f32 t, b; mad.lo.u32 r, a, 2, t; ret; }\n"
          ".global .align 8 .u64 tbl[2] = {h1, h2};",
          "mov.u64 %rd2, tbl; ld.global.u64 %rd3, [%rd2+8]; P: .callprototype (.reg .b32 _) _ (.reg .b32 _, .reg .f32 _);"
          "call (%r1), %rd3, (21, 3.5), P; st.global.u32 [%rd1], %r1;",
          45);
}

/* Initial values: a length that the list gives, nested lists (which ptxas packs), bytes of an address. */
static void initial_values(void **state)
{
    GIVES("sm_90a",
          ".const .f32 z[] = {1.0, 2.0, 3.5};\n.global .align 2 .u16 u[][2] = {{1}, {2, 3}, {4}};\n.global .align 4 .u32 after = 77;",
          "ld.const.u32 %r1, [z+8]; ld.global.u16 %r2, [u+6]; ld.global.u16 %r3, [u+10]; ld.global.u32 %r4, [after];"
          "st.global.v4.u32 [%rd1], {%r1, %r2, %r3, %r4};",
          0x40600000, 4, 0, 77);
    GIVES("sm_90a",
          ".global .align 4 .u32 x0 = 3;\n.global .align 8 .u64 q = x0;\n.global .align 1 .u8 b0[] = {0xff(x0), 0xff00(generic(x0)), "
          "0xff0000(x0+65536), 9};",
          "ld.global.u8 %r1, [b0]; ld.global.u8 %r2, [b0+1]; ld.global.u8 %r3, [b0+2]; ld.global.u8 %r4, [b0+3]; ld.global.u64 %rd2, [q];"
          "shl.b32 %r2, %r2, 8; or.b32 %r1, %r1, %r2; cvt.u32.u64 %r5, %rd2; and.b32 %r6, %r5, 65535; sub.u32 %r1, %r1, %r6;"
          "shr.u32 %r5, %r5, 16; sub.u32 %r3, %r3, %r5; and.b32 %r3, %r3, 255; st.global.v4.u32 [%rd1], {%r1, %r3, %r4, 0};",
          0, 1, 9, 0);
}

/* All lanes of two warps load y[0], and the first thread stores there: a race, unless no other lane uses what it loaded. */
static void dropped_loads(void **state)
{
    static const struct {
        const char *use;
        bool race;
    } cases[] = {
        {"add.u32 %r3, %r2, 1; @%p1 st.global.u32 [%rd1], %r3;", false},
        {"shl.b32 %r3, %r2, 1; add.u32 %r4, %r3, %r2; @%p1 st.global.u32 [%rd1], %r4;", false},
        {"add.u32 %r3, %r2, 1; st.global.u32 [%rd2+8], %r3; @%p1 st.global.u32 [%rd1], %r3;", true},
        {"add.u32 %r3, %r2, 1; @%p1 st.global.u32 [%rd1], %r3; @!%p1 st.global.u32 [%rd2+8], %r2;", true},
        {"@%p1 st.global.u32 [%rd1], 5; setp.ne.u32 %p2, %r2, 7; @%p2 st.global.u32 [%rd2+8], %r1;", true},
        {"setp.lt.u32 %p1, %r1, 2; add.u32 %r3, %r2, 9; @%p1 st.global.u32 [%rd2], %r3;", true},
        {"@%p1 st.global.u32 [%rd1], 5; cp.async.bulk.prefetch.tensor.1d.L2.global [%rd1, {%r2}];", true},
        {"@%p1 st.global.u32 [%rd1], 5; add.u32 %r3, %r2, 1; shfl.sync.idx.b32 %r4, %r3, 0, 31, -1; @%p1 st.global.u32 [%rd1+4], %r4;",
         true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        SCOPED char *text = text_format("mov.u32 %%r1, %%tid.x; setp.eq.u32 %%p1, %%r1, 0; mul.wide.u32 %%rd2, %%r1, 4; "
                                        "add.u64 %%rd2, %%rd2, %%rd1; ld.global.u32 %%r2, [%%rd1]; %s",
                                        cases[i].use);
        SCOPED char *ptx = text_format(body, "sm_90a", text);
        uint32_t data[80] = {0};
        struct emu_test t;
        emu_test_chip(&t, "GH100", "dropped", ptx, "k");
        t.launch.block[0] = 64;
        emu_test_pointer(&t, emu_test_buffer(&t, "y", data, sizeof data));
        emu_test_run(&t);
        if ((emu_test_report(&t, "race") != NULL) != cases[i].race)
            fail_msg("%s: %s", cases[i].use, cases[i].race ? "a race is missing" : "no race");
        emu_test_close(&t);
    }
}

/* Rows of one stmatrix at one address: no race if they are alike, one if they differ. */
static void rows_at_one_address(void **state)
{
    static const char rows[] =
        "mov.u32 %%r2, %%tid.x; and.b32 %%r3, %%r2, %s; mov.u32 %%r4, s; stmatrix.sync.aligned.m8n8.x1.shared.b16 [%%r4], {%%r3};"
        "bar.sync 0; ld.shared.u32 %%r5, [s+4]; st.global.u32 [%%rd1], %%r5;";
    for (int alike = 0; alike < 2; alike++) {
        SCOPED char *text = text_format(rows, alike ? "3" : "31");
        SCOPED char *ptx = text_format(body, "sm_90a", text);
        struct emu_test t;
        emu_test_chip(&t, "GH100", "rows", ptx, "k");
        uint64_t y = emu_test_buffer(&t, "y", NULL, 256);
        emu_test_pointer(&t, y);
        emu_test_run(&t);
        assert_int_equal(emu_test_report(&t, "race") != NULL, !alike);
        emu_test_close(&t);
    }
}

/* Lanes of tensor memory that nothing wrote are reported, and the others are read. */
static void written_lanes(void **state)
{
    SCOPED char *ptx =
        text_format(body, "sm_100a",
                    "mov.u32 %r9, %tid.x; tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [s], 32; ld.shared.u32 %r2, [s];"
                    "tcgen05.st.sync.aligned.16x64b.x1.b32 [%r2], {%r9}; tcgen05.wait::st.sync.aligned;"
                    "tcgen05.ld.sync.aligned.32x32b.x2.b32 {%r3, %r4}, [%r2]; tcgen05.wait::ld.sync.aligned;"
                    "tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r2, 32; setp.lt.u32 %p1, %r9, 16;"
                    "mad.wide.u32 %rd2, %r9, 8, %rd1; @%p1 st.global.v2.u32 [%rd2], {%r3, %r4};");
    struct emu_test t;
    uint32_t got[32] = {0};
    emu_test_chip(&t, "GH100", "lanes", ptx, "k");
    uint64_t y = emu_test_buffer(&t, "y", got, sizeof got);
    emu_test_pointer(&t, y);
    emu_test_run(&t);
    assert_non_null(emu_test_report(&t, "uninitialised"));
    emu_test_read(&t, y, got, sizeof got);
    for (uint32_t row = 0; row < 16; row++)
        assert_int_equal(got[2 * row + 1], 4 * (row % 8) + row / 8 * 2 + 1);
    emu_test_close(&t);
}

/* cuda_fp4.hpp packs two bytes by mov; %tid whole has three coordinates and a zero. */
static void moved_parts(void **state)
{
    GIVES("sm_100a", "",
          "mov.b32 %r1, 0x04030201; mov.b32 {%b0,%b1,%b2,%b3}, %r1; mov.b16 %h1, {%b2,%b1}; mov.b16 {%b1,%b3}, %h1;"
          "mov.b32 %r2, {%b3,%b1,%b0,%b0}; cvt.u32.u16 %r3, %h1; mov.b16 %h2, {%b0,0}; cvt.u32.u16 %r4, %h2;"
          "st.global.v4.u32 [%rd1], {%r1, %r2, %r3, %r4};",
          0x04030201, 0x01010302, 0x0203, 0x0001);
    GIVES("sm_90a", "",
          "mov.v4.u32 {%r1,%r2,%r3,%r4}, %tid; mov.v4.u32 {%r5,%r6,%r7,%r8}, %ntid; add.u32 %r9, %r1, 100; setp.eq.u32 %p1, %r1, 31;"
          "@%p1 st.global.v4.u32 [%rd1], {%r9, %r2, %r3, %r4}; @%p1 st.global.v4.u32 [%rd1+16], {%r5, %r6, %r7, %r8};",
          131, 0, 0, 0, 32, 1, 1, 0);
}

/* A call gives a function as many arguments and results as it declares. */
static void calls_fit(void **state)
{
    static const char *const calls[] = {"call (%r1), two, (%r2, %r3);", "call (%r1), two, (%r2);", "call (%r1), two, (%r2, %r3, %r4);",
                                        "call two, (%r2, %r3);"};
    for (int i = 0; i < 4; i++) {
        struct error err = {0};
        SCOPED char *ptx = text_format(".version 8.0\n.target sm_80\n.address_size 64\n.func (.reg .b32 r) two (.reg .b32 a, .reg .b32 b) "
                                       "{ add.u32 r, a, b; ret; }\n.visible .entry k() { .reg .b32 %%r<5>; %s ret; }\n",
                                       calls[i]);
        assert_int_equal(emu_test_takes("GH100", ptx, &err), i == 0);
        assert_true(i == 0 || strstr(err.text, "'two' has parameters: 2, results: 1"));
    }
}

/* A PTX version that is older than its target. */
static void version_of_target(void **state)
{
    struct error err = {0};
    assert_false(emu_test_takes("GH100", ".version 7.8\n.target sm_90a\n.address_size 64\n.visible .entry k() { ret; }\n", &err));
    assert_non_null(strstr(err.text, "PTX 7.8 does not have the target sm_90a, which is of 8.0 and later"));
    assert_true(emu_test_takes("GH100", ".version 7.8\n.target sm_90\n.address_size 64\n.visible .entry k() { ret; }\n", &err));
}

/* An instruction that is younger than the file's version, as ptxas 13.5 says of each at the version before and at the first. */
static void version_of_instruction(void **state)
{
    static const struct {
        const char *before, *first, *target, *text;
    } cases[] = {
        {"7.8", "8.0", "sm_90", "elect.sync %r1|%p1, -1;"},
        {"7.8", "8.0", "sm_90", "cp.async.bulk.commit_group;"},
        {"7.5", "7.6", "sm_75", "szext.wrap.s32 %r1, %r2, %r3;"},
        {"6.5", "7.0", "sm_75", "tanh.approx.f32 %f1, %f2;"},
        {"8.2", "8.3", "sm_75", "mov.b128 %q1, {%rd2, %rd3};"},
        {"7.7", "7.8", "sm_75", "movmatrix.sync.aligned.m8n8.trans.b16 %r1, %r2;"},
        {"7.3", "7.4", "sm_80", "createpolicy.fractional.L2::evict_last.b64 %rd2;"},
        {"8.2", "8.3", "sm_75", "isspacep.param::entry %p1, %rd1;"},
        {"7.8", "8.0", "sm_90", "barrier.cluster.arrive.release.aligned;"},
        {"7.7", "7.8", "sm_75", "ld.shared::cta.u32 %r1, [s];"},
        {"8.0", "8.1", "sm_90", "red.global.add.v2.f32 [%rd1], {%f1,%f2};"},
        {"8.3", "8.4", "sm_90",
         "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 {%f1,%f2,%f3,%f4}, {%r3,%r4,%r5,%r6}, {%r7,%r8}, {%f1,%f2,%f3,%f4};"},
        {"9.1", "9.3", "sm_80", "clmad.lo.u64 %rd1, %rd2, %rd3, %rd4;"},
    };
    for (size_t i = 0; i < 2 * sizeof cases / sizeof *cases; i++) {
        struct error err = {0};
        SCOPED char *ptx =
            text_format(".version %s\n.target %s\n.address_size 64\n.shared .align 128 .b8 s[64];\n.visible .entry k(.param .u64 "
                        "y)\n{\n.reg .pred %%p<2>; .reg .b32 %%r<9>; .reg .b64 %%rd<5>; .reg .f32 %%f<5>; %s\n%s\nret;\n}\n",
                        i % 2 ? cases[i / 2].first : cases[i / 2].before, cases[i / 2].target,
                        strstr(cases[i / 2].text, "%q") ? ".reg .b128 %q<2>;" : "", cases[i / 2].text);
        bool taken = emu_test_takes("GH100", ptx, &err);
        if (taken != (i % 2 == 1))
            fail_msg("%s %s: %s", i % 2 ? cases[i / 2].first : cases[i / 2].before, cases[i / 2].text, taken ? "emu takes it" : err.text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(as_ptxas),
                                       cmocka_unit_test(seldom_written),
                                       cmocka_unit_test(video),
                                       cmocka_unit_test(conversions),
                                       cmocka_unit_test(prototypes),
                                       cmocka_unit_test(initial_values),
                                       cmocka_unit_test(dropped_loads),
                                       cmocka_unit_test(rows_at_one_address),
                                       cmocka_unit_test(written_lanes),
                                       cmocka_unit_test(version_of_target),
                                       cmocka_unit_test(moved_parts),
                                       cmocka_unit_test(calls_fit),
                                       cmocka_unit_test(version_of_instruction)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
