/* What PTX ISA 9.2 to 9.5 brought, as tileiras and libcu++ of CUDA 13.3 to 13.5 write it: directives around the code, and instructions.
 * ptxas 13.5 takes each of them for sm_90. */
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

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(directives_around_the_code), cmocka_unit_test(layouts_of_mbarriers),
                                       cmocka_unit_test(bytes_out_of_bounds), cmocka_unit_test(special_registers)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
