/* New in PTX ISA 9.2 to 9.5, as tileiras and libcu++ of CUDA 13.3 to 13.5 write it: directives around the code, and instructions. ptxas
 * 13.5 accepts each of them for sm_90. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "emu_run.h"
#include "device/ptx/query.h"

static const char directives[] =
    ".version 9.5\n.target sm_90\n.address_size 64\n.file 1 \"a.py\"\n.file 2 \"ir\"\n"
    ".nv_intermediate_source_section {\n  .code_block {\n    .ir_name: \"tile ir\"\n    .sourceFileName: 2\n    .source_begin\n"
    "it's } } \"text of { any kind\n.source_end\n  }\n  .code_block { .ir_name: \"b\" .sourceFileName: 2\n.source_begin\n.source_end }\n}\n"
    ".visible .entry k(.param .u64 out, .hidden .param .align 64 .b8 map[128],\n    .hidden .param.u32 n)\n"
    ".reqntid 32\n.language 7, 8\n.minperctamemory 1024\n{\n.reg .b64 o;\n.reg .b32 r;\nld.param.u64 o, [out];\n.loc 1 3 0\n"
    ".loc_intermediate 2 1 2\nld.param.u32 r, [n];\nst.global.b32 [o], r;\nret;\n}\n"
    ".nv_intermediate_source_section { }\n.visible .entry behind(.param .u32 a) { ret; }\n";

static void directives_around_the_code(void **state)
{
    struct emu_test t;
    struct param params[4];
    size_t bytes;
    struct error err = {0};
    uint32_t got;
    assert_int_equal(ptx_signature(directives, "k", params, 4, &bytes, &err), 3);
    assert_int_equal(bytes, 196);
    assert_true(params[1].kind == PARAM_BYTES && params[1].bytes == 128 && params[1].align == 64 && params[2].offset == 192);
    assert_int_equal(ptx_signature(directives, "behind", params, 4, &bytes, &err), 1);
    assert_int_equal(ptx_block(directives, "k"), 32);
    emu_test_text(&t, "directives", directives, "k");
    uint64_t out = emu_test_buffer(&t, "out", NULL, 4);
    emu_test_pointer(&t, out);
    t.used = 192;
    emu_test_int(&t, 77);
    emu_test_run(&t);
    emu_test_read(&t, out, &got, 4);
    assert_int_equal(got, 77);
    assert_int_equal(emu_test_reports(&t), 0);
    assert_true(emu_test_counter(&t, "emu.warp_instructions", 3) == 3); /* of the line of .loc, not of .loc_intermediate */
    emu_test_close(&t);
    struct error none = {0};
    SCOPED char *cut = text_format("%.*s", (int)(strstr(directives, "any kind") - directives), directives);
    assert_null(ptx_parse("cut", cut, strlen(cut), &none));
    assert_non_null(strstr(none.text, ".source_end"));
}

/* `got` as the lane 0 stored it: 16 words of `out`. */
static void run_text(const char *text, uint32_t got[16], const char *report)
{
    struct emu_test t;
    uint32_t in[64];
    SCOPED char *ptx =
        text_format(PTX_HEAD ".visible .entry k(.param .u64 out, .param .u64 in)\n{\n.reg .b32 r<20>, s, bar, size;\n"
                             ".reg .b64 o, i, d;\n.reg .pred p<4>;\n.shared .align 128 .b8 sm[256];\n.shared .align 8 .b64 mb;\n"
                             "ld.param.u64 o, [out];\nld.param.u64 i, [in];\nmov.u32 s, sm;\nmov.u32 bar, mb;\n%s\nret;\n}\n",
                    text);
    for (uint32_t i = 0; i < 64; i++)
        in[i] = 1000 + i;
    emu_test_text(&t, "newest", ptx, "k");
    uint64_t out = emu_test_buffer(&t, "out", NULL, 64);
    emu_test_pointer(&t, out);
    emu_test_pointer(&t, emu_test_buffer(&t, "in", in, sizeof in));
    t.launch.block[0] = 1;
    t.launch.smem = 512;
    bool ran = emu_test_launch(&t); /* a copy that is refused never comes */
    assert_true(ran || report);
    emu_test_read(&t, out, got, 64);
    int reports = emu_test_reports(&t);
    if (report ? !emu_test_report(&t, report) : reports != 0)
        fail_msg("%s: %d reports", text, reports);
    emu_test_close(&t);
}

static void layouts_of_mbarriers(void **state)
{
    uint32_t got[16];
    for (int v = 0; v < 2; v++) {
        SCOPED char *text =
            text_format("mbarrier.init.layout::v%d.shared::cta.b64 [bar], 1;\nmbarrier.check_layout.layout::v0.shared::cta.b64 p0, [bar];\n"
                        "mbarrier.check_layout.layout::v1.shared::cta.b64 p1, [mb];\nselp.u32 r0, 1, 0, p0;\nselp.u32 r1, 1, 0, p1;\n"
                        "mbarrier.arrive.expect_tx.shared::cta.b64 d, [bar], 128;\nfence.proxy.async.shared::cta;\n"
                        "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [s], [i], 128, [bar];\n"
                        "W:\nmbarrier.try_wait.parity.shared::cta.b64 p2, [bar], 0;\n@!p2 bra W;\nld.shared.u32 r2, [s+124];\n"
                        "mbarrier.check_layout.layout::v1.shared::cta.b64 p1, [bar];\nselp.u32 r3, 1, 0, p1;\n"
                        "st.global.v4.u32 [o], {r0, r1, r2, r3};",
                        v);
        run_text(text, got, NULL);
        assert_true(got[0] == (v == 0) && got[1] == (v == 1) && got[2] == 1031 && got[3] == (v == 1));
    }
    run_text("mbarrier.init.shared::cta.b64 [bar], 1;\nmbarrier.check_layout.layout::v0.b64 p0, [d];\n", got, "out_of_bounds");
}

/* A copy of 64 bytes, of which 8 at the begin and 12 at the end may lie anywhere. */
static void bytes_out_of_bounds(void **state)
{
    static const char load[] =
        "mbarrier.init.shared::cta.b64 [bar], 1;\nfence.proxy.async.shared::cta;\nmbarrier.arrive.expect_tx.shared::cta.b64 d, [bar], 64;\n"
        "%s\ncp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes.ignore_oob [s], [i], 64, %s, [bar];\n"
        "W:\nmbarrier.try_wait.parity.shared::cta.b64 p2, [bar], 0;\n@!p2 bra W;\n%s\n";
    static const char inner[] = "ld.shared.v2.u32 {r0, r1}, [s+8];\nld.shared.u32 r2, [s+48];\nst.global.v2.u32 [o], {r0, r1};\n"
                                "st.global.u32 [o+8], r2;";
    uint32_t got[16];
    SCOPED char *text = text_format(load, "", "8, 12", inner);
    run_text(text, got, NULL);
    assert_true(got[0] == 1002 && got[1] == 1003 && got[2] == 1012);
    SCOPED char *at_the_end =
        text_format(load, "add.s64 i, i, 208;\nmov.u32 size, 15;", "size, size", "ld.shared.u32 r0, [s+16];\nst.global.u32 [o], r0;");
    run_text(at_the_end, got, "out_of_bounds"); /* 48 bytes are left, 49 are read */
    SCOPED char *inside =
        text_format(load, "add.s64 i, i, 192;\nmov.u32 size, 15;", "0, size", "ld.shared.u32 r0, [s+44];\nst.global.u32 [o], r0;");
    run_text(inside, got, NULL);
    assert_int_equal(got[0], 1059);
    SCOPED char *ignored = text_format(load, "", "8, 12", "ld.shared.u32 r0, [s+4];\nst.global.u32 [o], r0;");
    run_text(ignored, got, "uninitialised");
    SCOPED char *too_many = text_format(load, "", "16, 0", "");
    run_text(too_many, got, "out_of_bounds");
}

static void special_registers(void **state)
{
    uint32_t got[16];
    run_text("mov.u32 r0, %aggr_smem_size;\nmov.u32 r1, %total_smem_size;\nmov.u32 r2, %reserved_smem_offset_begin;\n"
             "mov.u32 r3, %reserved_smem_offset_end;\nmov.u32 r4, %reserved_smem_offset_cap;\nmov.u64 d, %current_graph_exec;\n"
             "st.global.v4.u32 [o], {r0, r1, r2, r3};\nst.global.u32 [o+16], r4;\nst.global.u64 [o+24], d;\n"
             "cp.async.bulk.commit_group;\ncp.async.bulk.wait_group.sync_restrict::proxy::async 0;",
             got, NULL);
    assert_int_equal(got[0], got[1] + got[4]);
    assert_true(got[2] == 0 && got[3] == 1024 && got[4] == 1024 && got[6] == 0 && got[7] == 0);
}

/* One warp, whose lanes hold bytes 8 to 8 + 7 of `sm` each, and store r0 to r3 in `out` behind the text. */
static void run_warp(const char *target, const char *text, uint32_t out[128], const uint8_t bytes[256])
{
    struct emu_test t;
    SCOPED char *ptx =
        text_format(".version 9.5\n.target %s\n.address_size 64\n.visible .entry k(.param .u64 out, .param .u64 in)\n{\n"
                    ".reg .b32 r<20>, s, a, tid; .reg .b64 o, i, d<4>; .reg .pred p<4>;\n.shared .align 128 .b8 sm[512];\n"
                    "ld.param.u64 o, [out]; ld.param.u64 i, [in]; mov.u32 tid, %%tid.x; mov.u32 s, sm;\n"
                    "mul.wide.u32 d0, tid, 16; add.u64 o, o, d0; mul.wide.u32 d0, tid, 8; add.u64 i, i, d0;\n"
                    "ld.global.b64 d1, [i]; cvt.u32.u64 a, d0; add.u32 a, a, s; st.shared.b64 [a], d1; bar.warp.sync -1;\n"
                    "mov.b32 r0, 0; mov.b32 r1, 0; mov.b32 r2, 0; mov.b32 r3, 0;\n%s\nst.global.v4.b32 [o], {r0, r1, r2, r3};\nret;\n}\n",
                    target, text);
    emu_test_chip(&t, !strcmp(target, "sm_103a") ? "sm_103" : "GB100", text, ptx, "k");
    uint64_t to = emu_test_buffer(&t, "out", NULL, 512);
    emu_test_pointer(&t, to);
    emu_test_pointer(&t, emu_test_buffer(&t, "in", bytes, 256));
    emu_test_finish(&t, to, out, 512);
}

/* ldmatrix.m16n16 transposes 16 x 16 bytes: lane L gets four bytes of column L / 4, and four of column L / 4 + 8 (others read the same on
 * sm_120). stmatrix.m16n8 takes a lane's part of a product of 16 x 8, two adjacent values of a row and of the row 8 below, and stores its
 * columns.
 */
static void matrices_of_bytes(void **state)
{
    uint8_t in[256];
    uint32_t out[128];
    for (int i = 0; i < 256; i++)
        in[i] = (uint8_t)(i * 37 + 11);
    run_warp("sm_100a", "and.b32 a, tid, 15; mad.lo.u32 a, a, 16, s; ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8 {r0, r1}, [a];", out,
             in);
    for (int lane = 0; lane < 32; lane++)
        for (int k = 0; k < 4; k++)
            for (int half = 0; half < 2; half++)
                assert_int_equal(out[4 * lane + half] >> 8 * k & 255, in[16 * (lane % 4 * 4 + k) + lane / 4 + 8 * half]);
    run_warp("sm_100a",
             "and.b32 a, tid, 15; mad.lo.u32 a, a, 16, s; ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8x16.b4x16_p64 {r0, r1}, [a];", out,
             in);
    for (int lane = 0; lane < 32; lane++)
        for (int k = 0; k < 4; k++) {
            int at = lane / 4;
            assert_int_equal(out[4 * lane] >> 8 * k & 255, in[16 * (lane % 4 * 4 + k) + at / 2] >> 4 * (at % 2) & 15);
        }
    run_warp("sm_100a",
             "ld.shared.v2.b32 {r4, r5}, [a]; and.b32 a, tid, 15; mad.lo.u32 a, a, 16, s; add.u32 a, a, 256;\n"
             "stmatrix.sync.aligned.m16n8.x2.trans.shared.b8 [a], {r4, r5}; bar.warp.sync -1; ld.shared.v4.b32 {r0, r1, r2, r3}, [a];",
             out, in);
    for (int row = 0; row < 16; row++)
        for (int c = 0; c < 16; c++) {
            int r = row % 8, lane = c % 8 * 4 + r / 2;
            assert_int_equal(out[4 * row + c / 4] >> 8 * (c % 4) & 255, in[8 * lane + 4 * (row / 8) + r % 2 + c / 8 * 2]);
        }
}

static void seldom_instructions(void **state)
{
    uint8_t in[256];
    uint32_t out[128];
    for (int i = 0; i < 256; i++)
        in[i] = (uint8_t)(i * 37 + 11);
    run_warp(
        "sm_100a",
        "setp.eq.u32 p0, tid, 3; mov.u32 r5, 16; @p0 st.bulk.weak.shared::cta [s], 24, 0; @p0 st.bulk.weak.shared::cta [s+248], 8, 0;\n"
        "bar.warp.sync -1; ld.shared.v2.b32 {r0, r1}, [a];",
        out, in);
    for (int lane = 0; lane < 32; lane++)
        for (int k = 0; k < 8; k++)
            assert_int_equal(out[4 * lane + k / 4] >> 8 * (k % 4) & 255, lane < 3 || lane == 31 ? 0 : in[8 * lane + k]);
    run_warp("sm_100a",
             "mov.b64 d2, 0x8000000000000003; cvt.u64.u32 d3, tid; clmad.lo.u64 d0, d2, d3, 5; clmad.hi.u64 d1, d2, d3, 0;\n"
             "mov.b64 {r0, r1}, d0; mov.b64 {r2, r3}, d1;",
             out, in);
    for (uint32_t n = 0; n < 32; n++) { /* x * (2^63 + x + 1) without carries */
        assert_int_equal(out[4 * n], (n ^ n << 1) ^ 5);
        assert_int_equal(out[4 * n + 1], n << 31);
        assert_int_equal(out[4 * n + 2], n >> 1);
    }
    static const struct {
        const char *how, *values;
        uint32_t want;
    } reductions[] = {{"max.u32", "1, 0xffffffff", 0xffffffff},
                      {"max.s32", "1, 0xffffffff", 1},
                      {"min.s32", "1, 0xffffffff", 0xffffffff},
                      {"min.f32", "0x3f800000, 0xc0000000", 0xc0000000},
                      {"min.abs.f32", "0x3f800000, 0xc0000000", 0x3f800000},
                      {"max.f32", "0x7fc00000, 0xc0000000", 0xc0000000},
                      {"max.NaN.f32", "0x7fc00000, 0xc0000000", 0x7fffffff},
                      {"min.f32", "0, 0x80000000", 0x80000000}};
    for (size_t i = 0; i < sizeof reductions / sizeof *reductions; i++) {
        SCOPED char *text = text_format("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [s], 32; ld.shared.b32 a, [s];\n"
                                        "mov.b32 r4, %.*s; mov.b32 r5,%s; tcgen05.st.sync.aligned.32x32b.x2.b32 [a], {r4, r5};\n"
                                        "tcgen05.wait::st.sync.aligned; tcgen05.ld.red.sync.aligned.32x32b.x2.%s {r1, r2}, r0, [a];\n"
                                        "tcgen05.wait::ld.sync.aligned; tcgen05.dealloc.cta_group::1.sync.aligned.b32 a, 32;",
                                        (int)strcspn(reductions[i].values, ","), reductions[i].values,
                                        strchr(reductions[i].values, ',') + 1, reductions[i].how);
        run_warp("sm_103a", text, out, in);
        for (int lane = 0; lane < 32; lane++)
            if (out[4 * lane] != reductions[i].want)
                fail_msg("%s of %s: 0x%x", reductions[i].how, reductions[i].values, out[4 * lane]);
    }
}

/* A map that lies in global memory and is changed there: a fence stands between the change and the copy by it. */
static void map_in_global_memory(void **state)
{
    for (int fenced = 0; fenced < 2; fenced++) {
        struct emu_test t;
        const struct device_report *reports;
        uint32_t in[64], out[32] = {0}, map[32] = {0};
        for (uint32_t i = 0; i < 64; i++)
            in[i] = 1000 + i;
        SCOPED char *ptx = text_format(
            ".version 9.4\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 out, .param .u64 in, .param .u64 map)\n{\n"
            ".reg .b32 r<4>, b, m; .reg .b64 o, i, t, d; .reg .pred p, q;\n.shared .align 128 .b8 box[128]; .shared .align 8 .b64 bar;\n"
            "ld.param.u64 o, [out]; ld.param.u64 i, [in]; ld.param.u64 t, [map]; mov.u32 r0, %%tid.x; setp.eq.u32 p, r0, 0;\n"
            "mov.u32 b, box; mov.u32 m, bar; @!p bra $wait;\n"
            "tensormap.replace.tile.global_address.global.b1024.b64 [t], i; tensormap.replace.tile.rank.global.b1024.b32 [t], 0;\n"
            "tensormap.replace.tile.box_dim.global.b1024.b32 [t], 0, 32; tensormap.replace.tile.global_dim.global.b1024.b32 [t], 0, 40;\n"
            "tensormap.replace.tile.element_stride.global.b1024.b32 [t], 0, 1; tensormap.replace.tile.elemtype.global.b1024.b32 [t], 2;\n"
            "%s\nmbarrier.init.shared::cta.b64 [m], 1; fence.mbarrier_init.release.cluster;\n"
            "mbarrier.arrive.expect_tx.shared::cta.b64 _, [m], 128; mov.u32 r1, 16;\n"
            "cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [b], [t, {r1}], [m];\n"
            "$wait: bar.sync 0;\n$again: mbarrier.try_wait.parity.shared::cta.b64 q, [m], 0; @!q bra $again;\n"
            "mad.lo.u32 b, r0, 4, b; ld.shared.u32 r2, [b]; mul.wide.u32 d, r0, 4; add.u64 o, o, d; st.global.u32 [o], r2; ret;\n}\n",
            fenced ? "fence.proxy.tensormap::generic.release.gpu; fence.proxy.tensormap::generic.acquire.gpu [t], 128;" : "");
        emu_test_text(&t, "map", ptx, "k");
        uint64_t to = emu_test_buffer(&t, "out", out, sizeof out);
        emu_test_pointer(&t, to);
        emu_test_pointer(&t, emu_test_buffer(&t, "in", in, sizeof in));
        emu_test_pointer(&t, emu_test_buffer(&t, "map", map, sizeof map));
        (void)emu_test_launch(&t);
        int count = emu_device.reports(&t.dev, &reports);
        assert_int_equal(count, !fenced);
        assert_string_equal(fenced ? "" : reports[0].kind, fenced ? "" : "proxy_fence");
        emu_test_read(&t, to, out, sizeof out);
        for (uint32_t i = 0; i < 32; i++)
            assert_int_equal(out[i], 16 + i < 40 ? 1016 + i : 0);
        emu_test_close(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(directives_around_the_code), cmocka_unit_test(layouts_of_mbarriers),
                                       cmocka_unit_test(bytes_out_of_bounds),        cmocka_unit_test(special_registers),
                                       cmocka_unit_test(matrices_of_bytes),          cmocka_unit_test(seldom_instructions),
                                       cmocka_unit_test(map_in_global_memory)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
