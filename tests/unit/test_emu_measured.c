/* Single PTX operations against results of an H200 (driver 580, ptxas 13.0 at -O3 and at -O0, 2026-11-30), for cases in which emu once
 * differed. For conversions to .sat of a float, .relu of -0 and .ftz the PTX manual agrees with the H200. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "emu_run.h"

/* d, a, b, c are registers of so many bits, or of 32 where it says 0. */
struct measured {
    const char *text;
    int d, a, b, c;
    uint64_t given[3], want;
};

static const struct measured cases[] = {
    /* a 16-bit result is a 16-bit register; the selector may be a float */
    {"slct.b16.s32 %d, %a, %b, %c", 16, 16, 16, 32, {0xfff8, 0x3b47, 0x7fff}, 0xfff8},
    {"slct.b16.s32 %d, %a, %b, %c", 16, 16, 16, 32, {7, 15, 0x80000000}, 15},
    {"slct.u16.f32 %d, %a, %b, %c", 16, 16, 16, 32, {7, 15, 0x80000000}, 7},
    {"slct.f64.f32 %d, %a, %b, %c", 64, 64, 64, 32, {7, 15, 0x7fc00000}, 15},
    /* .sat of a float result */
    {"cvt.rn.sat.f32.u8 %d, %a", 32, 16, 0, 0, {3}, 0x3f800000},
    {"cvt.rn.sat.f32.s32 %d, %a", 32, 32, 0, 0, {0xfffffffe}, 0},
    {"cvt.rn.sat.f16.s64 %d, %a", 16, 64, 0, 0, {0x3f}, 0x3c00},
    {"cvt.rn.sat.f16.s64 %d, %a", 16, 64, 0, 0, {1ull << 63}, 0},
    {"cvt.rn.sat.f64.u64 %d, %a", 64, 64, 0, 0, {9}, 0x3ff0000000000000},
    /* .relu leaves no -0 */
    {"cvt.rn.relu.f16.f32 %d, %a", 16, 32, 0, 0, {0x80000000}, 0},
    {"cvt.rz.relu.f16x2.f32 %d, %a, %b", 32, 32, 32, 0, {0x4564eee4, 0x80000000}, 0x6b270000},
    {"cvt.rn.satfinite.relu.e4m3x2.f32 %d, %a, %b", 16, 32, 32, 0, {0x4564eee4, 0x80000000}, 0x7e00},
    {"fma.rn.relu.f16x2 %d, %a, %b, %c", 32, 32, 32, 32, {0x800001f4, 0x19a8df1c, 0x80003719}, 0x36e1},
    /* one rounding from 64 bits to bf16 */
    {"cvt.rz.bf16.u64 %d, %a", 16, 64, 0, 0, {0xfffffffffffffffd}, 0x5f7f},
    {"cvt.rp.bf16.u64 %d, %a", 16, 64, 0, 0, {0x8000000000000001}, 0x5f01},
    {"cvt.rm.bf16.s64 %d, %a", 16, 64, 0, 0, {0x7fffffffffffffff}, 0x5eff},
    {"cvt.rp.bf16.s64 %d, %a", 16, 64, 0, 0, {0x8000000000000001}, 0xdeff},
    /* zeros are normal numbers */
    {"testp.normal.f32 %p, %a; selp.b32 %d, 1, 0, %p", 32, 32, 0, 0, {0x80000000}, 1},
    {"testp.normal.f64 %p, %a; selp.b32 %d, 1, 0, %p", 32, 64, 0, 0, {0}, 1},
    {"testp.normal.f32 %p, %a; selp.b32 %d, 1, 0, %p", 32, 32, 0, 0, {0x7fffff}, 0},
    /* .ftz of the sign's instructions, and of a result after its rounding */
    {"abs.ftz.f16 %d, %a", 16, 16, 0, 0, {0x8392}, 0},
    {"neg.ftz.f16x2 %d, %a", 32, 32, 0, 0, {0x59890380}, 0xd9898000},
    {"cvt.rn.ftz.f32.f64 %d, %a", 32, 64, 0, 0, {0x380fffffffffffff}, 0x800000},
    {"cvt.rn.ftz.f32.f64 %d, %a", 32, 64, 0, 0, {0x3800000000000000}, 0},
    /* PTX leaves a remainder by 0 open */
    {"rem.u16 %d, %a, %b", 16, 16, 16, 0, {7, 0}, 0xffff},
    {"rem.s32 %d, %a, %b", 32, 32, 32, 0, {0xd658ced1, 0}, 0xffffffff},
    {"rem.u64 %d, %a, %b", 64, 64, 64, 0, {0x40, 0}, ~0ull},
};

static char *kernel_of(const struct measured *m)
{
    struct text t = {0};
    text_add(&t, ".version 9.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 given, .param .u64 out)\n{\n"
                 ".reg .b64 %x, %y;\n.reg .pred %p;\n");
    text_addf(&t, ".reg .b%d %%d;\n.reg .b%d %%a;\n.reg .b%d %%b;\n.reg .b%d %%c;\n", m->d, m->a, m->b ? m->b : 32, m->c ? m->c : 32);
    text_add(&t, "ld.param.u64 %x, [given];\nld.param.u64 %y, [out];\n");
    text_addf(&t, "ld.global.b%d %%a, [%%x];\nld.global.b%d %%b, [%%x+8];\nld.global.b%d %%c, [%%x+16];\n", m->a, m->b ? m->b : 32,
              m->c ? m->c : 32);
    text_addf(&t, "%s;\nst.global.b%d [%%y], %%d;\nret;\n}\n", m->text, m->d);
    return text_take(&t);
}

static void run_case(const struct measured *m)
{
    char *ptx = kernel_of(m);
    struct emu_test t;
    uint64_t got = 0, out;
    emu_test_text(&t, m->text, ptx, "k");
    free(ptx);
    emu_test_pointer(&t, emu_test_buffer(&t, "given", (void *)m->given, sizeof m->given));
    emu_test_pointer(&t, out = emu_test_buffer(&t, "out", &got, sizeof got));
    emu_test_run(&t);
    emu_test_read(&t, out, &got, sizeof got);
    if (got != m->want)
        print_error("%s: %llx, want %llx\n", m->text, (unsigned long long)got, (unsigned long long)m->want);
    emu_test_close(&t);
    assert_int_equal(got, m->want);
}

static void test_all(void **state)
{
    static const char *const sets[] = {"portable", "v3", "v4", "jit"};
    for (size_t s = 0; s < sizeof sets / sizeof *sets; s++) {
        setenv("BENCH_EMU_ISA", sets[s], 1);
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
            run_case(&cases[i]);
    }
    unsetenv("BENCH_EMU_ISA");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_all)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
