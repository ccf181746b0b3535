/* device/chip/predict: every shipped model can be read; a launch follows the formula of docs/MODEL.md, worked out by hand; a launch unlike
 * the measured rows gets no prediction. */
#include "device/chip/predict.h"
#include "base/dtype.h"
#include "base/file.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static struct chip_model *shipped(void)
{
    struct error err = {0};
    struct chip_model *m = chip_model_load("GH100", &err);
    if (!m)
        fail_msg("%s", err.text);
    return m;
}

/* A model whose units reach their peaks, so that times can be worked out by hand. */
static struct chip_model ideal(void)
{
    struct chip_model m = {.chip = "GH100"};
    const double one[] = {PREDICT_issue_share, PREDICT_tensor_group_share, PREDICT_tensor_warp_share, PREDICT_l1_share,
                          PREDICT_dram_share,  PREDICT_machine_per_ptx,    PREDICT_path_norm};
    for (size_t i = 0; i < sizeof one / sizeof *one; i++)
        m.constant[(int)one[i]] = 1;
    m.constant[PREDICT_clock_hz] = 2e9;
    m.constant[PREDICT_l2_bytes_s] = 5e12;
    m.constant[PREDICT_l2_full_bytes_s] = 5e12;
    m.constant[PREDICT_norm] = 50; /* nearly the largest unit alone */
    for (int i = 0; i < UNIT_COUNT; i++)
        m.low[i] = 0.8, m.high[i] = 1.5;
    return m;
}

static void near(double got, double want)
{
    if (!(fabs(got / want - 1) < 0.02))
        fail_msg("%g, want %g", got, want);
}

static void a_shipped_model_reads(void **state)
{
    struct error err = {0};
    struct chip_model *m = shipped();
    for (int i = 0; i < PREDICT_CONSTANT_COUNT; i++)
        assert_true(m->constant[i] >= 0 && isfinite(m->constant[i]));
    assert_true(m->rows >= 100 && m->median > 0 && m->median < m->p90);
    char all[96];
    snprintf(all, sizeof all, "| **all** | %d | %.1f %% | %.1f %% |", m->rows, 100 * m->median, 100 * m->p90);
    char *doc = file_read("docs/MODEL.md", 1 << 20, NULL, &err);
    if (!doc || !strstr(doc, all))
        fail_msg("docs/MODEL.md does not say '%s' %s", all, err.text);
    free(doc);
    for (int i = 0; i < UNIT_COUNT; i++)
        assert_true(m->low[i] > 0 && m->low[i] < m->high[i]);
    free(m);
    assert_null(chip_model_load("NO100", &err));
}

static void each_unit_by_hand(void **state)
{
    const struct chip *h200 = chip_find("H200");
    struct chip_model m = ideal();
    struct prediction p;
    /* 132 x 4 schedulers, 1.32e9 instructions, 2 GHz: 1.25 ms */
    struct predict_counts c = {.blocks = 1320, .warps_per_block = 8, .blocks_per_sm = 8, .registers = 32, .instructions = 1.32e9};
    predict_launch(&m, h200, &c, &p);
    near(p.ns, 1.25e6);
    assert_int_equal(p.limit, UNIT_ISSUE);
    near(p.busy[UNIT_ISSUE], 1);
    near(p.low_ns, 1e6);
    near(p.high_ns, 1.875e6);
    m.constant[PREDICT_machine_per_branch] = 2; /* a quarter of them are branches: half as many more */
    c.branches = 1.32e9 / 4;
    predict_launch(&m, h200, &c, &p);
    near(p.ns, 1.875e6);
    m.constant[PREDICT_machine_per_branch] = 0;
    c.machine_more = 1.32e9; /* divisions that become twice as many as all */
    predict_launch(&m, h200, &c, &p);
    near(p.ns, 2.5e6);
    c.machine_more = 0;
    c.blocks = 133; /* one SM has two blocks, the others wait for it */
    predict_launch(&m, h200, &c, &p);
    near(p.ns, 1.25e6 * 2 * 132 / 133);
    near(p.sm_busy, 133.0 / 264);
    m.constant[PREDICT_no_warp_ns] = p.ns / 2; /* half of its time: no SM is busy meanwhile */
    predict_launch(&m, h200, &c, &p);
    near(p.sm_busy, 133.0 / 264 / 2);
    m.constant[PREDICT_no_warp_ns] = 0;
    c = (struct predict_counts){
        .blocks = 1320, .warps_per_block = 8, .blocks_per_sm = 8, .registers = 32, .instructions = 1000, .read_bytes = 4.8e9};
    predict_launch(&m, h200, &c, &p); /* 4.8 TB/s */
    near(p.ns, 1e6);
    assert_int_equal(p.limit, UNIT_DRAM);
    m.constant[PREDICT_l2_keeps_bytes] = 1.8e9; /* of 4.8e9 bytes written, 3e9 reach DRAM before the end of 1 ms + 1 ms */
    c.written_bytes = 4.8e9;
    predict_launch(&m, h200, &c, &p);
    near(p.ns, 2e6);
    near(p.busy[UNIT_DRAM], 7.8 / 9.6);
    c.written_bytes = 1e9; /* none */
    predict_launch(&m, h200, &c, &p);
    near(p.busy[UNIT_DRAM], 4.8 / 5.8);
    c.written_bytes = 0;
    c.tensor_macs = 132.0 * 2048 * 2e9 * 0.002; /* 4,096 FLOP an SM and cycle: 2 ms */
    c.math = MATH_F16_ACC32;
    predict_launch(&m, h200, &c, &p);
    near(p.ns, 2e6);
    assert_int_equal(p.limit, UNIT_TENSOR);
    near(p.busy[UNIT_DRAM], 0.5);
    c.math = MATH_F32; /* as products of f16 parts */
    predict_launch(&m, h200, &c, &p);
    near(p.ns, 2e6);
    c.math = MATH_I8_ACC32;
    predict_launch(&m, h200, &c, &p);
    near(p.ns, 1e6);
    c.math = MATH_F16_ACC32;
    c.shared_wavefronts = 132 * 2e9 * 0.003;
    c.waves = 132 * 2e9 * 0.001;
    predict_launch(&m, h200, &c, &p); /* a wavefront an SM and cycle: 4 ms, of which shared memory has 3 */
    near(p.ns, 4e6);
    near(p.shared_busy, 0.75);
    c.sectors_async = 5e12 * 0.008 / 32;
    predict_launch(&m, h200, &c, &p);
    near(p.ns, 8e6);
    assert_int_equal(p.limit, UNIT_L2);
}

/* A block takes 1,000 cycles if all comes from L1, 3,000 if what its warps read first comes from L2, and 9,000 from DRAM. Each byte is read
 * by one warp; or by four, of which two wait for DRAM (a power of a half); or the launch before wrote all of it. */
static void the_path_of_a_block(void **state)
{
    const struct chip *h200 = chip_find("H200");
    struct chip_model m = ideal();
    struct prediction p;
    m.constant[PREDICT_far_power] = 0.5;
    m.constant[PREDICT_path_norm] = 2;
    struct predict_counts c = {.blocks = 264, .warps_per_block = 1, .blocks_per_sm = 1, .registers = 32, .instructions = 132};
    c.requests_ld = c.first_sectors = c.sectors_ld = 132 * 10;
    c.path_l1 = 264 * 1000;
    c.path_l2 = 264 * 3000;
    c.path_dram = 264 * 9000;
    c.read_bytes = 32 * c.first_sectors;
    predict_launch(&m, h200, &c, &p);
    near(p.unit_ns[UNIT_LATENCY], 2 * 9000 / 2.0);        /* two rounds; 2 GHz */
    near(p.waits, 1 - (1000 - 41 * 2000 / 239.0) / 9000); /* each of 2000 / 239 waits takes 41 cycles from L1, 280 from L2 */
    c.read_bytes /= 4;
    predict_launch(&m, h200, &c, &p);
    near(p.unit_ns[UNIT_LATENCY], 2 * (3000 + 6000 / 2.0) / 2);
    m.constant[PREDICT_cycles_per_load] = 1600; /* times five: a warp among many, beside its path */
    predict_launch(&m, h200, &c, &p);
    near(p.unit_ns[UNIT_LATENCY], 2 * 10000 / 2.0);
    m.constant[PREDICT_cycles_per_load] = 0;
    c.kept_bytes = c.read_bytes;
    predict_launch(&m, h200, &c, &p);
    near(p.unit_ns[UNIT_LATENCY], 2 * 3000 / 2.0);
    c.kept_bytes = c.sectors_ld = c.requests_ld = c.first_sectors = 0; /* copies only */
    c.sectors_async = 2000;
    c.read_bytes = 16000;
    predict_launch(&m, h200, &c, &p);
    near(p.unit_ns[UNIT_LATENCY], 2 * (3000 + 6000 / 2.0) / 2);
}

static void waves_count_where_latency_decides(void **state)
{
    const struct chip *h200 = chip_find("H200");
    struct chip_model m = ideal();
    struct prediction one, two, clustered;
    m.constant[PREDICT_cycles_per_instruction] = 4;
    struct predict_counts c = {.blocks = 132, .warps_per_block = 1, .blocks_per_sm = 1, .registers = 32, .instructions = 132e3};
    predict_launch(&m, h200, &c, &one);
    near(one.ns, 2000); /* 1,000 instructions of 4 cycles */
    assert_int_equal(one.limit, UNIT_LATENCY);
    c.blocks = 264;
    c.instructions *= 2;
    predict_launch(&m, h200, &c, &two);
    near(two.ns, 4000);
    c.blocks = 120;
    c.instructions = 120e3;
    c.resident = 15 * 8; /* clusters of 8: 15 fit, and so one wave */
    predict_launch(&m, h200, &c, &clustered);
    near(clustered.ns, 2000);
    c.blocks = 128; /* 16 x 8 blocks are fewer than SMs, and still two waves */
    predict_launch(&m, h200, &c, &clustered);
    near(clustered.ns, 2 * 120.0 / 128 * 2000);
}

/* 1,320 blocks, some with ten times the work of others: an SM works three times as long as the average; one place runs 2 blocks in
 * sequence, with the work of 20 mean ones. */
static void unequal_blocks(void **state)
{
    const struct chip *h200 = chip_find("H200");
    struct chip_model m = ideal();
    struct prediction p;
    m.constant[PREDICT_cycles_per_block] = 1000;
    m.constant[PREDICT_cycles_per_instruction] = 2;
    struct predict_counts c = {.blocks = 1320, .warps_per_block = 8, .blocks_per_sm = 8, .registers = 32, .instructions = 1.32e9};
    c.unequal_sm = 3 * 1.32e9 / 132;
    c.unequal_place = 20 * 1e6;
    c.unequal_blocks = 2;
    predict_launch(&m, h200, &c, &p);
    near(p.unit_ns[UNIT_ISSUE], 3 * 1.25e6);
    near(p.unit_ns[UNIT_LATENCY], (2 * 1000 + 2 * 20 * 1e6 / 8) / 2);
    near(p.sm_busy, 1 / 3.0);
    m.constant[PREDICT_cycles_per_instruction] = 0; /* the path decides: 3,000 of its 4,000 cycles are those of every block */
    m.constant[PREDICT_issue_share] = 1e3;
    m.constant[PREDICT_far_power] = m.constant[PREDICT_path_norm] = 1;
    c.path_l1 = c.path_l2 = c.path_dram = 1320 * 4000.0;
    c.path_fixed = 1320 * 3000.0;
    c.unequal_busy = 0.8;
    predict_launch(&m, h200, &c, &p);
    near(p.unit_ns[UNIT_LATENCY], (2 * 1000 + 2 * 3000 + 20 * 1000) / 2.0);
    near(p.sm_busy, 0.8);
}

/* A quarter of what it reads was written by the launch before: it comes from L2, for its loads and for DRAM's traffic. */
static void bytes_that_l2_holds(void **state)
{
    const struct chip *h200 = chip_find("H200");
    struct chip_model m = ideal();
    struct prediction p;
    m.constant[PREDICT_far_power] = 1;
    struct predict_counts c = {.blocks = 132, .warps_per_block = 1, .blocks_per_sm = 1, .registers = 32, .instructions = 132};
    c.path_l2 = 132 * 2000;
    c.path_dram = 132 * 8000;
    c.requests_ld = c.sectors_ld = c.first_sectors = 4.8e9 / 32;
    c.read_bytes = 4.8e9;
    c.kept_bytes = 1.2e9;
    predict_launch(&m, h200, &c, &p);
    near(p.unit_ns[UNIT_LATENCY], (3 * 8000 + 2000) / 4.0 / 2);
    near(p.unit_ns[UNIT_DRAM], 0.75e6);
}

/* An H200's empty kernels: 2.8 us for a block; a block more costs 0.6 ns, whether it finds a place at once or not. */
static void launch_of_blocks(void **state)
{
    const struct chip *h200 = chip_find("H200");
    struct chip_model m = ideal();
    struct prediction p;
    m.constant[PREDICT_start_ns] = 2800;
    m.constant[PREDICT_block_ns] = 0.6;
    m.constant[PREDICT_warp_ns] = 0.03;
    m.constant[PREDICT_cycles_per_block] = 200;
    struct predict_counts c = {.blocks = 10000, .warps_per_block = 8, .blocks_per_sm = 8, .registers = 32, .instructions = 1};
    predict_launch(&m, h200, &c, &p);
    near(p.ns, 2800 + 6000);
    c.warps_per_block = 32; /* 0.03 ns a warp */
    predict_launch(&m, h200, &c, &p);
    near(p.ns, 2800 + 9600);
    c.blocks = 132; /* the last one starts after 0.13 us, and then takes 0.1 us */
    predict_launch(&m, h200, &c, &p);
    near(p.ns, 2800 + 132 * 0.96 + 100);
    m.constant[PREDICT_outside_ns] = 1000; /* of which counters see none */
    m.constant[PREDICT_no_warp_ns] = 1000;
    predict_launch(&m, h200, &c, &p);
    near(p.sm_busy, 1 - 1000 / (1800 + 132 * 0.96 + 100));
}

/* How many of the places that fit hold a block: of 1.25 waves in two rounds; of blocks that end before the chip has launched more. */
static void places_that_stay_empty(void **state)
{
    const struct chip *h200 = chip_find("H200");
    struct chip_model m = ideal();
    struct prediction p;
    m.constant[PREDICT_cycles_per_block] = 2000;
    struct predict_counts c = {.blocks = 132 * 10, .warps_per_block = 8, .blocks_per_sm = 8, .registers = 32, .instructions = 1};
    predict_launch(&m, h200, &c, &p);
    near(p.resident, 1.25 / 2);
    c.blocks = 66; /* half of the SMs have one block each */
    predict_launch(&m, h200, &c, &p);
    near(p.resident, 1.0 / 8);
    near(p.sm_busy, 0.5);
    c.blocks = 132 * 8 * 10; /* 10 us and a half, launched in 21 us */
    m.constant[PREDICT_block_ns] = 2 * 10500 / c.blocks;
    predict_launch(&m, h200, &c, &p);
    near(p.resident, 10 / 10.5 / 2);
}

/* Sectors that a store fills in parts take L2 longer: 4.8 ps each, and 10 ps for the part. */
static void sectors_in_parts(void **state)
{
    const struct chip *h200 = chip_find("H200");
    struct chip_model m = ideal();
    struct prediction p;
    m.constant[PREDICT_part_sector_ps] = 10;
    m.constant[PREDICT_l2_bytes_s] = 32 / 4.8e-12;
    struct predict_counts c = {.blocks = 132, .warps_per_block = 1, .blocks_per_sm = 1, .registers = 32, .instructions = 1};
    c.sectors_st = 1e9;
    c.sectors_st_part = 5e8;
    predict_launch(&m, h200, &c, &p);
    near(p.unit_ns[UNIT_L2], 4.8e6 + 5e6);
    m.constant[PREDICT_l2_full_bytes_s] = m.constant[PREDICT_l2_bytes_s];
    predict_launch(&m, h200, &c, &p);
    near(p.busy[UNIT_L2] * p.ns, 4.8e6); /* the counter of L2's sectors does not see what a part costs */
}

static void what_the_model_has_not_seen_is_refused(void **state)
{
    const struct chip *h200 = chip_find("H200");
    struct chip_model m = ideal();
    struct prediction p;
    struct predict_counts c = {.blocks = 132, .warps_per_block = 1, .blocks_per_sm = 1, .registers = 32, .instructions = 1000};
    m.seen[PREDICT_KIND_f64] = 0.02;
    c.kind[PREDICT_KIND_f64] = 20;
    predict_launch(&m, h200, &c, &p);
    assert_true(p.ns > 0);
    c.kind[PREDICT_KIND_f64] = 300;
    predict_launch(&m, h200, &c, &p);
    assert_true(isnan(p.ns));
    assert_non_null(strstr(p.why, "30 % of its instructions are 'f64', of which the rows behind the model have at most 2 %"));
    c.kind[PREDICT_KIND_f64] = 20;
    c.takes = true; /* 11.8 and 13.2 us were predicted for such kernels, 87 and 160 measured */
    predict_launch(&m, h200, &c, &p);
    assert_true(isnan(p.ns) && strstr(p.why, "take work from a counter"));
    c.takes = false;
    c.blocks_per_sm = 0;
    predict_launch(&m, h200, &c, &p);
    assert_true(isnan(p.ns) && p.why[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_shipped_model_reads), cmocka_unit_test(each_unit_by_hand),
        cmocka_unit_test(the_path_of_a_block),   cmocka_unit_test(waves_count_where_latency_decides),
        cmocka_unit_test(unequal_blocks),        cmocka_unit_test(bytes_that_l2_holds),
        cmocka_unit_test(launch_of_blocks),      cmocka_unit_test(places_that_stay_empty),
        cmocka_unit_test(sectors_in_parts),      cmocka_unit_test(what_the_model_has_not_seen_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
