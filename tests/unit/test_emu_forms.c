/* Forms that PTX written by hand or by other compilers than nvcc has: each against what C or the manual says its value is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "emu_run.h"
#include "emu/ptx.h"

/* Launches 32 threads of `k(in, out)`: in[lane] as given, 8 bytes of `out` a lane. */
static void run_lanes(const char *ptx, const uint64_t in[32], uint64_t *got, size_t bytes)
{
    struct emu_test t;
    emu_test_text(&t, "forms", ptx, "k");
    emu_test_pointer(&t, emu_test_buffer(&t, "in", in, 32 * sizeof *in));
    uint64_t out = emu_test_buffer(&t, "out", NULL, bytes);
    emu_test_pointer(&t, out);
    emu_test_run(&t);
    emu_test_read(&t, out, got, bytes);
    assert_int_equal(emu_test_reports(&t), 0);
    emu_test_close(&t);
}

static bool parses(const char *ptx)
{
    struct error err = {0};
    struct ptx_module *m = ptx_parse("forms", ptx, strlen(ptx), &err);
    ptx_free(m);
    return m;
}

/* The C compiler's value where C means the same, else that of the manual: 64 bits, signed unless an operand is unsigned, % of unsigned
 * numbers. ptxas 13.0 gives each of them as the initial value of a variable, too. */
#define BOTH(e) \
    { \
#e, (uint64_t)(e) \
    }
static const struct {
    const char *text;
    uint64_t value;
} constants[] = {BOTH(1 + 2 * 3),
                 BOTH((1 + 2) * 3),
                 BOTH(10 - 4 - 3),
                 BOTH(-7 / 2),
                 {"-7 % 3", (0 - 7ull) % 3},
                 BOTH(7 % 3),
                 BOTH(-16 >> 2),
                 {"1 << 3 + 1", 16},
                 {"12 & 10 | 1 ^ 7", 14},
                 {"3 < 4 == 1", 1},
                 BOTH(-1 < 0 && 2 >= 2),
                 BOTH(0 || 1 != 1),
                 BOTH(5 > 4 ? 11 : 22),
                 BOTH(0   ? 1
                      : 0 ? 2
                          : 3),
                 BOTH(!5 + 2),
                 BOTH(- -4),
                 BOTH(-(3 + 4)),
                 BOTH(+9),
                 BOTH(0x10 + 010),
                 {"1 << 40", 1ull << 40},
                 {"~0", UINT64_MAX},
                 {"~0 / 2", INT64_MAX},
                 {"7U - 8U < 0", 0},
                 {"-1 > 0U", 1},
                 {"(.u64)-1 >> 60", 15},
                 {"(.s64) ~0 >> 60", UINT64_MAX},
                 {"WARP_SZ * 2 - 1", 63},
                 {"1 << 64", 1}};
#define CONSTANTS ((int)(sizeof constants / sizeof *constants))

static void constant_expressions(void **state)
{
    struct text ptx = {0};
    uint64_t got[2 * CONSTANTS + 4], in[32] = {0};
    text_add(&ptx, PTX_HEAD ".const .b64 table[2 * 2] = {1 + 1, -(3), (4 | 1) << 2, ~7};\n.const .u64 where = table + 2 * 8;\n"
                            ".visible .entry k(.param .u64 in, .param .u64 out)\n{\n.reg .b64 %x<4>;\nld.param.u64 %x1, [out + 0 * 8];\n");
    for (int i = 0; i < CONSTANTS; i++)
        text_addf(&ptx,
                  "mov.b64 %%x2, %s;\nst.global.b64 [%%x1 + 2 * %d * (1 << 2)], %%x2;\nst.global.b64 [%%x1 - -%d * 8 + 8*%d], (%s);\n",
                  constants[i].text, i, i, CONSTANTS, constants[i].text);
    text_addf(
        &ptx,
        "ld.const.b64 %%x2, [table + 8 * 3];\nst.global.b64 [%%x1 + %d * 16 + 0], %%x2;\nld.const.b64 %%x2, [table + 16 - 8];\n"
        "st.global.b64 [%%x1 + %d * 16 + 8], %%x2;\nld.const.u64 %%x3, [where];\nld.const.b64 %%x2, [%%x3];\n"
        "st.global.b64 [%%x1 + (%d + 1) * 16], %%x2;\nld.const.b64 %%x2, [table];\nst.global.b64 [%%x1 + %d * 16 + 24], %%x2;\nret;\n}\n",
        CONSTANTS, CONSTANTS, CONSTANTS, CONSTANTS);
    run_lanes(text_get(&ptx), in, got, sizeof got);
    for (int i = 0; i < 2 * CONSTANTS; i++)
        if (got[i] != constants[i % CONSTANTS].value)
            fail_msg("%s is %lld", constants[i % CONSTANTS].text, (long long)got[i]);
    assert_true(got[2 * CONSTANTS] == ~7ull && got[2 * CONSTANTS + 1] == (uint64_t)-3);
    assert_true(got[2 * CONSTANTS + 2] == 20 && got[2 * CONSTANTS + 3] == 2);
    text_free(&ptx);
    for (int i = 0; i < 4; i++) {
        static const char *const wrong[] = {"1 / 0", "(1 + 2", "1 +", "5 % (2 - 2)"};
        ptx = (struct text){0};
        text_addf(&ptx, PTX_HEAD ".entry k() { .reg .b64 a; mov.b64 a, %s; ret; }", wrong[i]);
        assert_false(parses(text_get(&ptx)));
        text_free(&ptx);
    }
    for (int i = 0; i < 100000; i++)
        text_add(&ptx, i ? "(-" : PTX_HEAD ".const .b64 a = ");
    assert_false(parses(text_get(&ptx)));
    text_free(&ptx);
}

#define KERNEL \
    ".visible .entry k(.param .u64 in, .param .u64 out)\n{\n.reg .b64 i, o, at, v;\n.reg .b32 lane;\nmov.u32 lane, %tid.x;\n" \
    "mul.wide.u32 at, lane, 8;\nld.param.u64 i, [in];\nld.param.u64 o, [out];\nadd.s64 i, i, at;\nadd.s64 o, o, at;\n" \
    "ld.global.b64 v, [i];\n"

/* A function that is declared before it is defined: with a semicolon as the manual wants it, without one as nvopencc wrote it. */
static void forward_declarations(void **state)
{
    static const char call[] =
        KERNEL "{\n.param.b64 a;\n.param .b64 r;\nst.param.b64 [a], v;\ncall.uni (r), triple, (a);\nld.param.b64 v, [r];\n}\n"
               "st.global.b64 [o], v;\nret;\n}\n",
                      body[] = ".func (.param.b64 r) triple(.param.b64 a)\n{\n.reg .b64 x;\nld.param.b64 x, [a];\nmul.lo.u64 x, x, 3;\n"
                               "st.param.b64 [r], x;\nret;\n}\n";
    for (int k = 0; k < 3; k++) {
        struct text ptx = {0};
        uint64_t in[32], got[32];
        text_addf(&ptx, "%s%s%s%s", PTX_HEAD,
                  k == 2 ? ""
                  : k    ? ".func (.param .b64 r) triple (.param .b64 a)\n"
                         : ".func (.param.b64 r) triple (.param.b64 a);\n",
                  k == 2 ? body : call, k == 2 ? call : body);
        for (int i = 0; i < 32; i++)
            in[i] = 0x123456789abull * (uint64_t)i + 1;
        run_lanes(text_get(&ptx), in, got, sizeof got);
        for (int i = 0; i < 32; i++)
            assert_true(got[i] == in[i] * 3);
        text_free(&ptx);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(constant_expressions), cmocka_unit_test(forward_declarations)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
