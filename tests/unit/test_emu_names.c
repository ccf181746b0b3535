/* What a name in PTX means: registers, alone and in ranges, across scopes; addresses of parameters and constants in 32 bits. The expected
 * values and errors are those of ptxas 13.5 (its SASS shows what it stores). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "emu_run.h"
#include "device/ptx/ptx.h"

static uint32_t stored(const char *ptx)
{
    struct emu_test t;
    uint32_t got = 0;
    emu_test_text(&t, "names", ptx, "k");
    uint64_t out = emu_test_buffer(&t, "out", NULL, 4);
    emu_test_pointer(&t, out);
    static const uint32_t rest[4] = {100, 101, 102, 103};
    if (t.param_bytes > 8)
        for (int i = 0; i < 4; i++)
            emu_test_argument(&t, &rest[i], 4);
    t.launch.block[0] = 1;
    emu_test_run(&t);
    emu_test_read(&t, out, &got, 4);
    assert_int_equal(emu_test_reports(&t), 0);
    emu_test_close(&t);
    return got;
}

#define STORE "st.global.u32 [o], r;\nret;\n}\n"
#define KERNEL ".visible .entry k(.param .u64 out)\n{\n.reg .b32 r;\n.reg .b64 o;\nld.param.u64 o, [out];\n"

static void names_of_registers(void **state)
{
    static const struct {
        const char *text;
        uint32_t value;
    } rows[] = {
        {"{ .reg .b32 a; .reg .b16 a<2>; mov.b32 a, 458757; mov.b32 {a0, a1}, a; cvt.u32.u16 r, a1; }", 7},
        {"{ .reg .b32 a<2>; .reg .b32 a; mov.b32 a, 5; mov.b32 a0, 9; mov.b32 r, a; }", 5},
        {".reg .b32 a; mov.b32 a, 5; { .reg .b32 a<2>; mov.b32 a0, 9; mov.b32 a1, 8; mov.b32 r, a; }", 5},
        {".reg .b32 a1; mov.b32 a1, 5; { .reg .b32 a<2>; mov.b32 a1, 8; } mov.b32 r, a1;", 5},
        {".reg .b32 a1; mov.b32 a1, 5; { .reg .b32 a<2>; mov.b32 a1, 8; mov.b32 r, a1; }", 8},
        {".reg .b32 a1; mov.b32 a1, 5; { mov.b32 r, a1; .reg .b32 a<2>; mov.b32 a1, 8; }", 5},
        {".reg .b32 a<4>; mov.b32 a1, 5; { .reg .b32 a1; mov.b32 a1, 9; } mov.b32 r, a1;", 5},
        {".reg .b32 a<4>; mov.b32 a3, 5; { .reg .b32 a<2>; mov.b32 a1, 8; mov.b32 r, a3; }", 5}, /* too short to hide it */
        {".reg .b32 a<3>; mov.b32 a1, 2; { .reg .b32 a1; mov.b32 a1, 4; { .reg .b32 a<2>; mov.b32 a1, 3; } mov.b32 r, a1; }", 4},
        {".reg .b32 a<4>; mov.b32 a1, 5; { .shared .b32 a1; st.shared.b32 [a1], 9; } mov.b32 r, a1;", 5},
        {".reg .b32 a<4>; .shared .b32 a; mov.b32 a1, 5; st.shared.b32 [a], a1; ld.shared.b32 r, [a];", 5},
        {".reg .b32 a<12>; mov.b32 a1, 6; mov.b32 a01, 5; mov.b32 r, a1;", 5},
        {".reg .b32 a1<12>, a<20>; mov.b32 a12, 5; mov.b32 r, a12;", 5},
        {".reg .v2 .b32 a<2>; .reg .b32 a; mov.b32 a1.x, 5; mov.b32 a, a1.x; mov.b32 r, a;", 5},
        {".reg .b32 a1; mov.b32 a1, 4; { .reg .v2 .b32 a<2>; mov.b32 a1.x, 5; } mov.b32 r, a1;", 4},
        {".reg .pred p1; setp.eq.u32 p1, 0, 0; mov.b32 r, 3; { .reg .pred p<3>; setp.ne.u32 p1, 0, 0; @p1 mov.b32 r, 4; } @p1 add.u32 r, "
         "r, 1;",
         4},
    };
    static const char *const wrong[] = {
        ".reg .b32 a1; .reg .b32 a<2>; mov.b32 a1, 5;",
        ".reg .b32 a<2>; .reg .b32 a1; mov.b32 a1, 5;",
        ".reg .b32 a; .reg .b64 a;",
        ".reg .b32 a<2>; .reg .b32 a<3>;",
        ".reg .b32 a; .shared .b32 a;",
        ".reg .b32 a<4>; mov.b32 a4, 5;",
        "{ .reg .b32 a<4>; } mov.b32 a1, 5;",
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        SCOPED char *ptx = text_format(PTX_HEAD KERNEL "%s\n" STORE, rows[i].text);
        uint32_t got = stored(ptx);
        if (got != rows[i].value)
            fail_msg("%s: %u", rows[i].text, got);
    }
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        SCOPED char *ptx = text_format(PTX_HEAD KERNEL "%s\n" STORE, wrong[i]);
        struct error err = {0};
        if (emu_test_takes("GH100", ptx, &err))
            fail_msg("%s is taken", wrong[i]);
    }
}

/* As Triton 3.9 and clang's short pointers write them: an address of a parameter or a constant in a register of 32 bits, alone, widened,
 * and made generic. */
static void short_addresses(void **state)
{
    static const char *const loads[] = {
        "mov.b32 s, q; cvt.u64.u32 g, s; cvta.param.u64 g, g; ld.u32 r, [g+4];",
        "mov.b32 s, q; cvt.u64.u32 g, s; add.s64 g, g, 4; cvta.param.u64 g, g; ld.u32 r, [g];",
        "mov.b64 g, q; cvta.param.u64 g, g; ld.u32 r, [g+4];",
        "mov.b32 s, q; cvt.u64.u32 g, s; ld.param.u32 r, [g+4];",
        "mov.b64 g, q; ld.param.u32 r, [g+4];",
        "mov.b32 s, q; ld.param.b32 r, [s+4];",
        "mov.u32 s, q+8; add.u32 s, s, 4; ld.param.b32 r, [s+-8];",
        "mov.b32 s, c; cvt.u64.u32 g, s; cvta.const.u64 g, g; ld.u32 r, [g+4];",
        "mov.b64 g, c+8; cvta.const.u64 g, g; ld.u32 r, [g+-4];",
        "mov.b32 s, c; cvt.u64.u32 g, s; ld.const.u32 r, [g+4];",
        "mov.b64 g, c; ld.const.u32 r, [g+4];",
        "mov.b32 s, c+8; ld.const.b32 r, [s+-4];",
        "mov.b32 s, c; setp.eq.u32 p, s, s; @p ld.const.v2.b32 {s, r}, [s];",
        "mov.b32 s, c; setp.ne.u32 p, s, s; mov.b32 r, 101; @p ld.const.b32 r, [s];",
        "mov.b32 s, b; mov.b32 h, c; sub.s32 s, s, h; add.u32 h, h, s; ld.const.b32 r, [h];",
        "mov.b32 s, c; cvt.u64.u32 g, s; cvta.const.u64 g, g; isspacep.const p, g; selp.u32 r, 101, 0, p;",
        "mov.b64 g, m; cvta.global.u64 g, g; isspacep.const p, g; selp.u32 r, 0, 101, p;",
    };
    for (size_t i = 0; i < sizeof loads / sizeof *loads; i++) {
        SCOPED char *ptx = text_format(PTX_HEAD ".const .align 4 .u32 a[3], c[3] = {100, 101, 102};\n.global .align 4 .u32 m[70000];\n"
                                                ".const .align 4 .u32 b[2] = {101, 7};\n"
                                                ".visible .entry k(.param .u64 out, .param .align 8 .b8 q[16])\n{\n.reg .b32 r, s, h;\n"
                                                ".reg .b64 o, g;\n.reg .pred p;\nld.param.u64 o, [out];\n%s\n" STORE,
                                       loads[i]);
        uint32_t got = stored(ptx);
        if (got != 101)
            fail_msg("%s: %u", loads[i], got);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(names_of_registers), cmocka_unit_test(short_addresses)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
