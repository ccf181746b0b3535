/* report/view/calibration: pairs of rows made by hand, and the table's result for each: constant, not constant, counted by one only, never
 * counted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "store/family.h"
#include "counter/pairs.h"
#include "fixture_rows.h"
#include "report/view/calibration.h"
#include "report/view/counter_list.h"
#include "report/source/listing.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct row *row(const char *id, enum row_status status)
{
    struct row *r = row_new();
    row_set(&r->id, id);
    r->status = status;
    return r;
}

static void has(const struct text *t, const char *part)
{
    if (!strstr(text_get(t), part))
        fail_msg("no '%s' in\n%s", part, text_get(t));
}

static void test_table(void **state)
{
    static const char *const ids[] = {"s/a/one", "s/a/two", "s/a/wrong", "s/a/only_cuda"};
    struct row *emu[3], *cuda[4];
    struct run e = {.id = 1}, c = {.id = 2};
    struct text t = {0};
    struct error err = {0};
    e.device = xstrdup("emu:GH100");
    c.device_about = xstrdup("NVIDIA X");
    for (int i = 0; i < 4; i++) {
        cuda[i] = row(ids[i], ROW_OK);
        row_add_metric(cuda[i], -1, 0, "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum", "", "cupti", 100 * (i + 1));
        row_add_metric(cuda[i], -1, 0, "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum", "", "cupti", 10);
        row_add_metric(cuda[i], -1, 0, "smsp__inst_executed_op_local_ld.sum", "", "cupti", 0);
        row_add_metric(cuda[i], -1, 0, "smsp__inst_executed.sum", "", "cupti", 50);
    }
    for (int i = 0; i < 3; i++) {
        emu[i] = row(ids[i], i == 2 ? ROW_WRONG : ROW_OK);
        row_add_member(emu[i], FAMILY_EMU, -1, 0, "global_sectors_st", "", "emu", 100 * (i + 1)); /* always the same */
        row_add_member(emu[i], FAMILY_EMU, -1, 0, "global_requests_st", "", "emu", i ? 20 : 10);  /* 1 and 2 */
        row_add_member(emu[i], FAMILY_WARP, -1, 0, "load_local", "", "emu", i); /* the second row counts, the hardware does not */
        row_add_member(emu[i], FAMILY_WARP, -1, 0, "instructions", "", "emu", 100);
    }
    assert_true(report_calibration(&t, &e, emu, 3, &c, cuda, 4, &err));
    has(&t, "2 rows are verified in both");
    has(&t, "| emu.global_sectors_st | l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum | 2 | 0 | 0 | 1 | 1 | 1 | yes | gated |");
    has(&t, "| emu.global_requests_st | l1tex__t_requests_pipe_lsu_mem_global_op_st.sum | 2 | 0 | 0 | 1 | 2 | 2 | no | **gated, but should "
            "not be** |");
    has(&t, "| emu.warp_load_local | smsp__inst_executed_op_local_ld.sum | 0 | 1 | 1 |  |  |  | no | **gated, but should not be** |");
    has(&t, "| emu.warp_instructions | smsp__inst_executed.sum | 2 | 0 | 0 | 2 | 2 | 2 | yes | reported |");
    has(&t, "| s/a/two | emu.global_sectors_st | 200 | 200 | 1 |");
    has(&t, "| s/a/two | emu.warp_load_local | 1 | 0 | |");
    assert_null(strstr(text_get(&t), "s/a/wrong"));
    text_free(&t);
    assert_false(report_calibration(&t, &e, emu, 3, &c, cuda + 3, 1, &err));
    assert_int_equal(err.kind, ERROR_USAGE);
    assert_non_null(strstr(err.hint, "--pair-metrics"));
    text_free(&t);
    for (int i = 0; i < 4; i++)
        row_free(cuda[i]);
    for (int i = 0; i < 3; i++)
        row_free(emu[i]);
    run_clear(&e);
    run_clear(&c);
}

/* What docs/reference/columns.md prints: every pair has a metric, and a reason if it is not gated. */
static void test_pairs(void **state)
{
    for (const struct counter_pair *p = counter_pairs; p->emu; p++) {
        assert_true(!strncmp(p->emu, "emu.", 4) && p->terms[0].metric && p->terms[0].factor != 0);
        assert_int_equal(p->gated, !p->why[0]);
    }
}

static void test_row(void **state)
{
    struct row *r = row("s/a/one", ROW_OK);
    struct text t = {0};
    row_add_step(r);
    row_add_step(r);
    row_set(&r->steps[1].name, "second");
    row_add_member(r, FAMILY_HARDWARE, -1, 0, "blocks", "blocks", "cupti", 12345);
    row_add_member(r, FAMILY_HARDWARE, 1, 0, "dram_throughput", "%", "cupti", 41.25);
    row_add_member(r, FAMILY_EMU, -1, 0, "barriers", "", "emu", 7);
    fixture_launch(
        r, "k0",
        (struct row_launch){
            .ns = 1500, .gap_ns = NAN, .registers = 40, .static_smem = 16, .dynamic_smem = 1024, .grid = {4, 2, 1}, .block = {128, 1, 1}});
    fixture_launch(r, "k1",
                   (struct row_launch){.step = 1, .ns = 2500, .gap_ns = 800, .registers = 32, .grid = {1, 1, 1}, .block = {32, 1, 1}});
    report_kernels(&t, r);
    listing_counters(&t, r, NULL);
    has(&t, "  0          1.50             40     1040  4x2x1            128x1x1      k0\n");
    has(&t, "  1          2.50    0.800    32        0  1x1x1            32x1x1       k1\n");
    has(&t, "fills the GPU\n  hw.blocks                             12,345 blocks    blocks launched\n");
    has(&t, "step second\ncore: ");
    has(&t, "  hw.dram_throughput                      41.2 %         share of the peak DRAM throughput\n");
    assert_null(strstr(text_get(&t), "emu."));
    text_free(&t);
    r->metric_count = 0;
    snprintf(r->steps[1].file, sizeof r->steps[1].file, "kernels/variants/conv2d/k.cu");
    row_add_member(r, FAMILY_SAMPLES, 1, 40, "wait", "samples", "cupti", 10);
    row_add_member(r, FAMILY_SAMPLES, 1, 40, "barrier", "samples", "cupti", 50);
    row_add_member(r, FAMILY_SAMPLES, 1, 0, "wait", "samples", "cupti", 20);
    row_add_member(r, FAMILY_SAMPLES, 1, 41, "long_scoreboard", "samples", "cupti", 120);
    row_add_member(r, FAMILY_HARDWARE, -1, 0, "samples", "samples", "cupti", 200);
    report_samples(&t, r);
    has(&t, "share of 200 samples");
    has(&t, "\n     60 %  k.cu:41                              long_scoreboard 100 %\n     30 %  k.cu:40                              "
            "barrier 83 %, wait 17 %\n     10 %  second, no line ");
    row_add_member(r, FAMILY_LINE, 1, 40, "instructions", "", "cupti", 3000);
    row_add_member(r, FAMILY_LINE, 1, 40, "lanes", "", "cupti", 48000);
    row_add_member(r, FAMILY_LINE, 1, 40, "sectors", "", "cupti", 64000);
    row_add_member(r, FAMILY_LINE, 1, 40, "sectors_ideal", "", "cupti", 16000);
    row_add_member(r, FAMILY_LINE, 1, 41, "instructions", "", "cupti", 1000);
    row_add_member(r, FAMILY_LINE, 1, 41, "lanes", "", "cupti", 32000);
    row_add_member(r, FAMILY_LINE, 1, 41, "wavefronts", "", "cupti", 1000);
    row_add_member(r, FAMILY_LINE, 1, 41, "wavefronts_ideal", "", "cupti", 1000);
    row_add_member(r, FAMILY_LINE, 1, 42, "local_sectors", "", "cupti", 9);
    text_free(&t);
    report_samples(&t, r);
    has(&t, "long_scoreboard 100 %; ran 1,000 (25 %)\n");
    has(&t, "barrier 83 %, wait 17 %; ran 3,000 (75 %), 16.0 of 32 lanes, 4.00x the sectors\n");
    text_free(&t);
    listing_counters(&t, r, NULL); /* lines are no counters of the row */
    assert_null(strstr(text_get(&t), "executed"));
    text_free(&t);
    r->metric_count = 0;
    row_set(&r->uncounted, "refused");
    listing_counters(&t, r, NULL);
    assert_string_equal(text_get(&t), "counters  none: refused\n");
    text_free(&t);
    row_free(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_table), cmocka_unit_test(test_pairs), cmocka_unit_test(test_row)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
