/* How many copies a warp sends if it issues a bulk copy in all its lanes. If it stores to global memory with the same operands in each
 * lane: one (on an H200 this takes as long as a copy of one lane, and ptxas makes one uniform instruction of it). Otherwise one a lane. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "emu_run.h"
#include "base/dtype.h"
#include "emu/run/tensormap.h"

#define BODY \
    ".visible .entry k(.param .u64 out, .param .align 64 .b8 map[128])\n{\n.shared .align 128 .b8 s[4096];\n.shared .align 8 .b64 bar;\n" \
    ".reg .b32 lane, at, here, zero, half;\n.reg .b64 o, there, wide, m;\n.reg .pred p;\nld.param.u64 o, [out];\nmov.b64 m, map;\n" \
    "cvta.param.u64 m, m;\nmov.u32 lane, %%tid.x;\nmov.u32 zero, 0;\nshl.b32 at, lane, 7;\nmov.u32 here, s;\nadd.u32 here, here, at;\n" \
    "and.b32 half, lane, 16;\nshl.b32 half, half, 3;\ncvt.u64.u32 wide, at;\nadd.u64 there, o, wide;\n" \
    "st.shared.b32 [here], lane;\nmad.lo.u32 at, lane, 4, zero;\nmov.u32 here, s;\nadd.u32 here, here, at;\nst.shared.b32 [here], lane;\n" \
    "fence.proxy.async.shared::cta;\nbar.warp.sync -1;\n%s\ncp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;\nret;\n}\n"
#define STORE "cp.async.bulk.global.shared::cta.bulk_group "
#define TENSOR "cp.async.bulk.tensor.1d.global.shared::cta.tile.bulk_group "

static const struct {
    const char *text, *report;
    int copies;
    unsigned sent; /* words of `out` that must be lane numbers */
} rows[] = {
    {STORE "[o], [s], 128;", NULL, 1, 32},
    {STORE "[o], [s], 16;", NULL, 1, 4},
    {"setp.lt.u32 p, lane, 7;\n@p " STORE "[o], [s], 128;", NULL, 1, 32},
    {"setp.eq.u32 p, lane, 7;\n@p " STORE "[o], [s], 128;", NULL, 1, 32},
    {TENSOR "[m, {zero}], [s];", NULL, 1, 32},
    {STORE "[o], [s], 128;\n" STORE "[o+128], [s], 128;", NULL, 2, 32},
    {"cvt.u64.u32 wide, half;\nadd.u64 there, o, wide;\n" STORE "[there], [s], 128;", "race", 32, 0}, /* two places, lane by lane */
    {TENSOR "[m, {lane}], [s];", "race", 32, 0},
    {"cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [o], [s], 128;", NULL, 32, 0},
    {"cp.reduce.async.bulk.tensor.1d.global.shared::cta.add.tile.bulk_group [m, {zero}], [s];", NULL, 32, 0},
    {STORE "[o], [s], 128;\ncp.async.bulk.commit_group;\nst.shared.b32 [s], zero;", "async_wait", 1, 0},
    {STORE "[o], [s], 128;\ncp.async.bulk.commit_group;\nsetp.eq.u32 p, lane, 9;\n@p cp.async.bulk.wait_group 0;\nbar.warp.sync -1;\n"
           "mov.u32 zero, lane;\nst.shared.b32 [here], zero;",
     NULL, 1, 32},
};

static void copies_of_a_warp(void **state)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct emu_test t;
        uint32_t zeros[128] = {0}, got[128];
        SCOPED char *ptx = text_format(PTX_HEAD BODY, rows[i].text);
        emu_test_text(&t, "bulk", ptx, "k");
        uint64_t out = emu_test_buffer(&t, "out", zeros, sizeof zeros);
        emu_test_pointer(&t, out);
        struct device_tensor_map map = {.address = out, .element_bytes = 4, .element_kind = DTYPE_I32, .rank = 1};
        map.dim[0] = 64;
        map.box[0] = 32;
        map.element_stride[0] = 1;
        assert_true(tensormap_encode(&map, t.params + 64, &t.err));
        emu_test_run(&t);
        emu_test_read(&t, out, got, sizeof got);
        int reports = emu_test_reports(&t);
        if (emu_test_counter(&t, "emu.async_copies", 0) != rows[i].copies)
            fail_msg("%s: %g copies", rows[i].text, emu_test_counter(&t, "emu.async_copies", 0));
        if (rows[i].report ? !emu_test_report(&t, rows[i].report) : reports != 0)
            fail_msg("%s: %d reports", rows[i].text, reports);
        for (unsigned k = 0; k < rows[i].sent; k++)
            assert_int_equal(got[k], k);
        emu_test_close(&t);
    }
}

/* An H200 puts rows that are narrower than the swizzle as far apart as the swizzle is wide; emu would put them side by side. */
static void rows_narrower_than_the_swizzle(void **state)
{
    uint8_t made[128];
    for (int wide = 0; wide < 2; wide++)
        for (uint32_t lines = 1; lines < 3; lines++) {
            struct error err = {0};
            struct device_tensor_map map = {.address = 4096, .element_bytes = 2, .element_kind = DTYPE_F16, .rank = 2, .swizzle = 128};
            map.dim[0] = map.dim[1] = 64;
            map.stride_bytes[1] = 128;
            map.box[0] = wide ? 64 : 32;
            map.box[1] = lines;
            map.element_stride[0] = map.element_stride[1] = 1;
            assert_int_equal(tensormap_encode(&map, made, &err), wide || lines == 1);
            if (!wide && lines > 1)
                assert_non_null(strstr(err.text, "128 bytes apart"));
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(copies_of_a_warp), cmocka_unit_test(rows_narrower_than_the_swizzle)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
