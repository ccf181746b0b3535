/* Forms that PTX written by hand or by other compilers than nvcc has: each against what C or the manual says its value is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "emu_run.h"
#include "device/ptx/ptx.h"

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

/* The C compiler's value where C agrees with PTX, else the manual's: 64 bits, signed unless an operand is unsigned, % of unsigned numbers.
 * ptxas 13.0 computes the same values for initialisers of variables. */
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
    uint64_t got[2 * CONSTANTS + 5], in[32] = {0};
    text_add(&ptx, PTX_HEAD ".const .b64 table[2 * 2] = {1 + 1, -(3), (4 | 1) << 2, ~7};\n.const .u64 where = table + 2 * 8;\n"
                            ".global .u64 there[2] = {generic(table + 8), generic(table)+8 * 2};\n" /* as NVRTC 13.0 writes `table + 2` */
                            ".visible .entry k(.param .u64 in, .param .u64 out)\n{\n.reg .b64 %x<4>;\nld.param.u64 %x1, [out + 0 * 8];\n");
    for (int i = 0; i < CONSTANTS; i++)
        text_addf(&ptx, "mov.b64 %%x2, %s;\nst.global.b64 [%%x1 + 2 * %d * (1 << 2)], %%x2;\nst.global.b64 [%%x1 + %d * 8 + 8*%d], (%s);\n",
                  constants[i].text, i, i, CONSTANTS, constants[i].text);
    text_addf(&ptx,
              "ld.const.b64 %%x2, [table + 8 * 3];\nst.global.b64 [%%x1 + %d * 16 + 0], %%x2;\nld.const.b64 %%x2, [table + 16 - 8];\n"
              "st.global.b64 [%%x1 + %d * 16 + 8], %%x2;\nld.const.u64 %%x3, [where];\nld.const.b64 %%x2, [%%x3];\n"
              "st.global.b64 [%%x1 + (%d + 1) * 16], %%x2;\nld.const.b64 %%x2, [table];\nst.global.b64 [%%x1 + %d * 16 + 24], %%x2;\n"
              "ld.global.u64 %%x3, [there + 8];\nld.b64 %%x2, [%%x3];\nst.global.b64 [%%x1 + %d * 16 + 32], %%x2;\nret;\n}\n",
              CONSTANTS, CONSTANTS, CONSTANTS, CONSTANTS, CONSTANTS);
    run_lanes(text_get(&ptx), in, got, sizeof got);
    for (int i = 0; i < 2 * CONSTANTS; i++)
        if (got[i] != constants[i % CONSTANTS].value)
            fail_msg("%s is %lld", constants[i % CONSTANTS].text, (long long)got[i]);
    assert_true(got[2 * CONSTANTS] == ~7ull && got[2 * CONSTANTS + 1] == (uint64_t)-3);
    assert_true(got[2 * CONSTANTS + 2] == 20 && got[2 * CONSTANTS + 3] == 2 && got[2 * CONSTANTS + 4] == 20);
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

/* What the functions of `registers` compute. */
static uint64_t sum_down(uint64_t n)
{
    return n ? n + sum_down(n - 1) : 0;
}

/* Parameters and results in registers: two results, constants, a guarded call, recursion, a body without a return at its end, a guarded
 * return; registers where the function has .param. */
static void parameters_in_registers(void **state)
{
    static const char
        functions[] =
            ".func (.reg.u64 add, .reg.u32 mult) add_mult (.reg.u32 x, .reg.u32 y);\n"
            ".func (.reg .b64 s) down (.reg .b64 n)\n{\n.reg .pred p;\n.reg .b64 m;\nmov.b64 s, 0;\nsetp.eq.u64 p, n, 0;\n@p ret;\n"
            "sub.u64 m, n, 1;\ncall (m), down, (m);\nadd.u64 s, m, n;\nret;\n}\n"
            ".func (.reg .f32 r) scaled (.reg .f32 a, .param .b32 b, .reg .u16 c)\n{\n.reg .f32 f;\nld.param.f32 f, [b];\nfma.rn.f32 r, a, "
            "f, 0f3F800000;\n"
            "cvt.rn.f32.u16 f, c;\nadd.f32 r, r, f;\n}\n",
        kernel[] = KERNEL
        ".reg .b32 a, b, c; .reg .b64 s, n; .reg .pred p; .reg .f32 f; .reg .b16 h;\nmov.b64 {a, b}, v;\ncall (s, c), add_mult, (a, b);\n"
        "st.global.b64 [o], s;\nst.global.b32 [o+256], c;\nand.b32 c, a, 1;\nsetp.ne.b32 p, c, 0;\nmov.b32 c, 77;\n"
        "@p call (_, c), add_mult, (a, 1000003);\nst.global.b32 [o+260], c;\ncvt.u64.u32 n, lane;\ncall.uni (n), down, (n);\n"
        "st.global.b64 [o+512], n;\ncvt.rn.f32.u32 f, lane;\nmov.b16 h, 40000;\ncall (f), scaled, (f, 0.5, h);\nst.global.f32 [o+768], f;\n"
        "call (f), scaled, (f, f, 7);\nst.global.f32 [o+772], f;\nret;\n}\n"
        ".func (.reg.u64 add, .reg.u32 mul) add_mult (\n.reg.u32 x,\n.reg.u32 y\n)\n{\n.reg .u32 t;\nadd.u32 t, x, y;\ncvt.u64.u32 add, "
        "t;\n"
        "mul.lo.u32 mul, x, y;\nret;\n}\n";
    struct text ptx = {0};
    uint64_t in[32], got[128];
    text_addf(&ptx, "%s%s%s", PTX_HEAD, functions, kernel);
    for (int i = 0; i < 32; i++)
        in[i] = 0x9e3779b97f4a7c15ull * (uint64_t)(i + 1);
    run_lanes(text_get(&ptx), in, got, sizeof got);
    for (uint32_t i = 0; i < 32; i++) {
        uint32_t a = (uint32_t)in[i], b = (uint32_t)(in[i] >> 32);
        float f[2], once = (float)i * 0.5f + 1.0f + 40000.0f, twice = once * once + 1.0f + 7.0f;
        assert_true(got[i] == (uint32_t)(a + b));
        assert_int_equal((uint32_t)got[32 + i], a * b);
        assert_int_equal((uint32_t)(got[32 + i] >> 32), a & 1 ? a * 1000003u : 77u);
        assert_true(got[64 + i] == sum_down(i));
        memcpy(f, &got[96 + i], 8);
        assert_true(f[0] == once);
        assert_true(f[1] > twice * (1 - 1e-6f) && f[1] < twice * (1 + 1e-6f));
    }
    text_free(&ptx);
    static const char *const wrong[] = {"call (a), add_mult, (a, a);", "call (s, a), add_mult, (s, a);", "call (a), b, (5);"};
    for (int i = 0; i < 3; i++) {
        ptx = (struct text){0};
        text_addf(&ptx, "%s%s.entry k() {\n.reg .b32 a; .reg .b64 b, s;\n%s\nret;\n}\n", PTX_HEAD, functions, wrong[i]);
        assert_false(parses(text_get(&ptx)));
        text_free(&ptx);
    }
    assert_false(parses(PTX_HEAD ".entry k(.reg .b32 a) { ret; }"));
}

/* Registers of vectors: whole, by element, in ranges, swapped, packed, as parameters; vectors of eight. */
static void vector_registers(void **state)
{
    static const char ptx[] = PTX_HEAD
        ".func (.reg .v2 .u32 output) impl (.reg .v2.u32 input)\n{\n.reg .u32 t;\nadd.u32 t, input.x, input.y;\nmov.u32 output.r, t;\n"
        "mul.lo.u32 output.g, t, input.x;\nret;\n}\n" KERNEL
        ".reg .v2 .u32 d, %q<3>;\n.reg.v4.u16 w, u;\n.reg .u16 e<8>;\n.reg .b64 packed;\n"
        "ld.global.v2.u32 d, [i];\ncall (%q2), impl, (d);\nst.global.v2.u32 [o], %q2;\n"
        "mov.v2.u32 d, {d.y, d.x};\nmov.b64 packed, d;\nst.global.b64 [o+256], packed;\n"
        "ld.global.v4.u16 w, [i];\nmov.v4.u16 {u.x, u.y, u.z, u.w}, w;\nmov.u16 u.w, 99;\nmov.v4.b16 u, {u.w, u.z, u.y, 7};\n"
        "st.global.v4.u16 [o+512], u;\nmov.v8.b16 {e0, e1, e2, e3, e4, e5, e6, e7}, {w.x, w.y, w.z, w.w, u.r, u.g, u.b, u.a};\n"
        "mov.v8.b16 {e1, e0, _, e2, e5, e4, e7, e6}, {e0, e1, e2, e3, e4, e5, e6, e7};\nst.global.v4.b16 [o+768], {e0, e1, e2, e3};\n"
        "st.global.v4.b16 [o+1024], {e4, e5, e6, e7};\nret;\n}\n";
    uint64_t in[32], got[160];
    for (int i = 0; i < 32; i++)
        in[i] = 0x9e3779b97f4a7c15ull * (uint64_t)(i + 3);
    run_lanes(ptx, in, got, sizeof got);
    for (int i = 0; i < 32; i++) {
        uint32_t x = (uint32_t)in[i], y = (uint32_t)(in[i] >> 32);
        uint16_t w[4], u[4] = {99}, want[8];
        memcpy(w, &in[i], 8);
        assert_true(got[i] == ((uint64_t)((x + y) * x) << 32 | (x + y)));
        assert_true(got[32 + i] == ((uint64_t)x << 32 | y));
        u[1] = w[2], u[2] = w[1], u[3] = 7;
        assert_memory_equal(&got[64 + i], u, 8);
        want[0] = w[1], want[1] = w[0], want[2] = w[3], want[3] = w[3];
        want[4] = u[1], want[5] = u[0], want[6] = u[3], want[7] = u[2];
        assert_memory_equal(&got[96 + i], want, 8);
        assert_memory_equal(&got[128 + i], want + 4, 8);
    }
}

/* After a subtraction CC.CF is the carry, which is set if there was no borrow: addc after sub.cc and subc after add.cc show it. PTX's
 * manual calls it borrow-out; 32 of these 48 results of an H200 contradict that. */
static void carry_is_no_borrow(void **state)
{
    static const char *const ptx = PTX_HEAD
        ".visible .entry k(.param .u64 in, .param .u64 out) {\n.reg .b64 i, o, t;\n.reg .b32 l, a, b, c, d, x, v, w, r<6>;\n"
        "ld.param.u64 i, [in];\nld.param.u64 o, [out];\nmov.u32 l, %tid.x;\nmul.wide.u32 t, l, 16;\nadd.s64 i, i, t;\n"
        "mul.wide.u32 t, l, 24;\nadd.s64 o, o, t;\nld.global.v4.u32 {a, b, c, d}, [i];\n"
        "sub.cc.u32 x, a, b;\naddc.u32 r0, c, d;\nsub.cc.u32 x, a, b;\nsubc.u32 r1, c, d;\nadd.cc.u32 x, a, b;\nsubc.u32 r2, c, d;\n"
        "add.cc.u32 x, a, b;\naddc.u32 r3, c, d;\nsub.cc.u32 x, a, b;\nsubc.cc.u32 v, c, d;\naddc.u32 r4, 0, 0;\n"
        "sub.cc.u32 x, a, b;\naddc.cc.u32 w, c, d;\nsubc.u32 r5, 0, 0;\n"
        "st.global.v2.u32 [o], {r0, r1};\nst.global.v2.u32 [o+8], {r2, r3};\nst.global.v2.u32 [o+16], {r4, r5};\nret;\n}\n";
    static const uint32_t rows[8][4] = {{5, 3, 0, 0},   {3, 5, 0, 0},   {0, 0, 0, 0},       {0, 1, 0, 0},
                                        {~0u, 1, 7, 9}, {1, ~0u, 9, 7}, {0, ~0u, ~0u, ~0u}, {1u << 31, 1u << 31, 1, 1}};
    uint64_t in[64], got[96];
    for (int i = 0; i < 32; i++)
        memcpy(in + 2 * i, rows[i % 8], 16);
    struct emu_test t;
    emu_test_text(&t, "carry", ptx, "k");
    emu_test_pointer(&t, emu_test_buffer(&t, "in", in, sizeof in));
    uint64_t out = emu_test_buffer(&t, "out", NULL, sizeof got);
    emu_test_pointer(&t, out);
    emu_test_run(&t);
    emu_test_read(&t, out, got, sizeof got);
    emu_test_close(&t);
    for (int i = 0; i < 32; i++) {
        uint32_t a = rows[i % 8][0], b = rows[i % 8][1], c = rows[i % 8][2], d = rows[i % 8][3], r[6];
        uint32_t sub = a >= b, add = (uint64_t)a + b > UINT32_MAX;
        memcpy(r, (const char *)got + 24 * i, sizeof r);
        assert_int_equal(r[0], (uint32_t)(c + d + sub));
        assert_int_equal(r[1], (uint32_t)(c - d - !sub));
        assert_int_equal(r[2], (uint32_t)(c - d - !add));
        assert_int_equal(r[3], (uint32_t)(c + d + add));
        assert_int_equal(r[4], (uint64_t)c >= (uint64_t)d + !sub);
        assert_int_equal(r[5], (uint32_t)(0u - !((uint64_t)c + d + sub > UINT32_MAX)));
    }
}

/* The high half of mad24, sad of 16 bits, a function by its alias, and memory that is loaded before it is known whether it is wanted. */
static void rare_instructions(void **state)
{
    static const char ptx[] = PTX_HEAD
        ".func (.param .b32 r) twice (.param .b32 a)\n{\n.reg .b32 x;\nld.param.b32 x, [a];\nadd.u32 x, x, x;\nst.param.b32 [r], "
        "x;\nret;\n}\n"
        ".func (.param .b32 r) doubled (.param .b32 a);\n.alias doubled, twice;\n" KERNEL
        ".reg .b32 a, b, r<5>; .reg .b16 h, g; .reg .pred p; .local .align 4 .b8 l[4];\n"
        "mov.b64 {a, b}, v;\nmad24.hi.u32 r0, a, b, a;\nmad24.hi.s32 r1, a, b, a;\nmad24.hi.sat.s32 r2, a, b, 0x7fff0000;\n"
        "cvt.u16.u32 h, a;\nsad.s16 g, h, 7, 100;\ncvt.u32.u16 r3, g;\nsad.u16 g, h, 7, 100;\nmov.b32 r3, {g, g};\nsad.s16 g, h, 7, 100;\n"
        "mov.b32 r4, {g, h};\ncall.uni (a), doubled, (b);\nsetp.lt.u32 p, lane, 16;\n@p st.local.b32 [l], lane;\nld.local.b32 b, [l];\n"
        "selp.b32 b, b, 77, p;\nst.global.b32 [o], r0;\nst.global.b32 [o+4], r1;\nst.global.b32 [o+256], r2;\nst.global.b32 [o+260], r3;\n"
        "st.global.b32 [o+512], r4;\nst.global.b32 [o+516], a;\nst.global.b32 [o+768], b;\nret;\n}\n";
    uint64_t in[32], got[128];
    for (int i = 0; i < 32; i++)
        in[i] = 0x9e3779b97f4a7c15ull * (uint64_t)(i + 3);
    run_lanes(ptx, in, got, sizeof got);
    for (int i = 0; i < 32; i++) {
        uint32_t a = (uint32_t)in[i], b = (uint32_t)(in[i] >> 32);
        int64_t high = ((int64_t)((int32_t)(a << 8) >> 8) * ((int32_t)(b << 8) >> 8)) >> 16, cut = high + 0x7fff0000;
        int h = (int16_t)a, u = (uint16_t)a;
        assert_int_equal((uint32_t)got[i], (uint32_t)(((uint64_t)(a & 0xffffff) * (b & 0xffffff) >> 16) + a));
        assert_int_equal((uint32_t)(got[i] >> 32), (uint32_t)(high + (int32_t)a));
        assert_int_equal((uint32_t)got[32 + i], (uint32_t)(cut > INT32_MAX ? INT32_MAX : cut));
        assert_int_equal((uint16_t)(got[32 + i] >> 32), (uint16_t)(abs(u - 7) + 100));
        assert_int_equal((uint16_t)got[64 + i], (uint16_t)(abs(h - 7) + 100));
        assert_int_equal((uint32_t)(got[64 + i] >> 32), (uint32_t)(b + b));
        assert_int_equal((uint32_t)got[96 + i], i < 16 ? i : 77);
    }
    assert_false(parses(PTX_HEAD ".func f ();\n.alias f, g;\n"));
    assert_false(parses(PTX_HEAD ".func f ();\n.func g ();\n.alias f, g;\n"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(carry_is_no_borrow),   cmocka_unit_test(constant_expressions),
                                       cmocka_unit_test(forward_declarations), cmocka_unit_test(parameters_in_registers),
                                       cmocka_unit_test(vector_registers),     cmocka_unit_test(rare_instructions)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
