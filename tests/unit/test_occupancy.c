/* device/chip/occupancy: cases worked out by hand from the rules of the occupancy calculator (per warp, registers x 32 rounded up to 256; a
 * quarter of 65,536 per scheduler; shared memory rounded to 128 bytes plus 1,024 of the system's; block and warp slots), and some cases
 * from cubins. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "device/chip/occupancy.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

static struct occupancy of(const char *chip, int threads, int registers, size_t smem)
{
    struct occupancy_query q = {.block_threads = threads, .registers = registers, .dynamic_smem = smem, .carveout = -1};
    struct occupancy o = occupancy_of(chip_find(chip), &q);
    assert_int_equal(occupancy_warps(chip_find(chip), &q), o.warps_per_sm);
    return o;
}

static void test_by_hand(void **state)
{
    const struct {
        const char *chip;
        int threads, registers;
        size_t smem;
        int blocks;
        enum occupancy_limit limit;
    } table[] = {
        {"sm_75", 256, 32, 0, 4, LIMIT_WARPS},        /* 32 warps */
        {"sm_75", 256, 96, 0, 2, LIMIT_REGISTERS},    /* 16,384 / 3,072 = 5 warps a scheduler, 20 in all */
        {"sm_75", 128, 32, 33 * 1024, 1, LIMIT_SMEM}, /* of 64 KiB */
        {"sm_75", 32, 32, 0, 16, LIMIT_BLOCKS},
        {"sm_80", 256, 40, 0, 6, LIMIT_REGISTERS},    /* 16,384 / 1,280 = 12 a scheduler, 48 in all */
        {"sm_80", 256, 32, 20 * 1024, 7, LIMIT_SMEM}, /* 164 KiB / 21 KiB */
        {"sm_80", 256, 32, 0, 8, LIMIT_WARPS},
        {"sm_86", 256, 32, 0, 6, LIMIT_WARPS},        /* 48 warps */
        {"sm_86", 1024, 32, 0, 1, LIMIT_WARPS},       /* 32 of 48 */
        {"sm_86", 256, 32, 48 * 1024, 2, LIMIT_SMEM}, /* 100 / 49 */
        {"sm_86", 64, 16, 0, 16, LIMIT_BLOCKS},
        {"sm_89", 32, 16, 0, 24, LIMIT_BLOCKS},
        {"sm_89", 256, 128, 0, 2, LIMIT_REGISTERS},
        {"sm_90", 256, 168, 198 * 1024, 1, LIMIT_REGISTERS}, /* cudnn engine 62; ties go to the earlier word */
        {"sm_90", 256, 80, 43 * 1024, 3, LIMIT_REGISTERS},   /* tile_list: 38 % */
        {"sm_90", 256, 105, 48 * 1024, 2, LIMIT_REGISTERS},  /* halo_regs TH8 TW16: 25 % */
        {"sm_90", 1024, 64, 77 * 1024, 1, LIMIT_REGISTERS},  /* halo_regs TH16 TW32: 50 % */
        {"sm_90", 256, 32, 100 * 1024, 2, LIMIT_SMEM},
        {"sm_90", 1024, 32, 0, 2, LIMIT_WARPS},
        {"sm_90", 256, 24, 227 * 1024, 1, LIMIT_SMEM},
        {"sm_100", 128, 255, 0, 2, LIMIT_REGISTERS},    /* 16,384 / 8,192 = 2 a scheduler */
        {"sm_100", 256, 32, 113 * 1024, 2, LIMIT_SMEM}, /* 2 x 114 = 228 KiB, exactly */
        {"sm_87", 256, 32, 20 * 1024, 6, LIMIT_WARPS},  /* 48 warps, 164 KiB */
        {"sm_87", 32, 16, 0, 16, LIMIT_BLOCKS},
        {"sm_103", 256, 32, 113 * 1024, 2, LIMIT_SMEM},
        {"sm_110", 256, 32, 113 * 1024, 2, LIMIT_SMEM},
        {"sm_110", 32, 16, 0, 24, LIMIT_BLOCKS},
        {"sm_121", 256, 32, 0, 6, LIMIT_WARPS},
        {"sm_120", 256, 32, 0, 6, LIMIT_WARPS},
        {"sm_120", 32, 16, 0, 24, LIMIT_BLOCKS},
        {"sm_120", 256, 32, 99 * 1024, 1, LIMIT_SMEM},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct occupancy o = of(table[i].chip, table[i].threads, table[i].registers, table[i].smem);
        if (o.blocks_per_sm != table[i].blocks || o.limit != table[i].limit)
            fail_msg("case %zu: %d blocks by %s", i, o.blocks_per_sm, occupancy_limit_name(o.limit));
        assert_true(o.possible && o.warps_per_sm == o.blocks_per_sm * table[i].threads / 32);
        assert_true(fabs(o.share - (double)o.warps_per_sm / chip_find(table[i].chip)->warps_per_sm) < 1e-12);
        assert_true(o.share < 1 || !o.lift[0]);
    }
    assert_true(fabs(of("sm_90", 256, 80, 0).share - 0.375) < 1e-12);
    assert_true(of("sm_90", 33, 16, 0).warps_per_sm == 64 &&
                of("sm_90", 33, 16, 0).blocks_per_sm == 32); /* two warps, the second of one thread */
    assert_true(of("sm_90", 1, 16, 0).possible && of("sm_90", 1, 16, 0).warps_per_sm == 32);
    assert_int_equal(of("sm_90", 256, 32, 100 * 1024).smem_per_block, 101 * 1024);
    assert_int_equal(of("sm_75", 256, 32, 1000).smem_per_block, 1024);
    assert_string_equal(occupancy_limit_name(LIMIT_REGISTERS), "regs");
    assert_string_equal(occupancy_limit_name(LIMIT_COUNT), "none");
    assert_string_equal(occupancy_limit_name((enum occupancy_limit) - 1), "none");
}

static void lifts(struct occupancy o, const char *words)
{
    if (strcmp(o.lift, words))
        fail_msg("'%s', want '%s'", o.lift, words);
}

static void test_lift(void **state)
{
    lifts(of("sm_90", 256, 105, 48 * 1024), "25 fewer registers (80) give 3 blocks per SM");
    lifts(of("sm_90", 1024, 64, 77 * 1024), "32 fewer registers (32) give 2 blocks per SM");
    lifts(of("sm_90", 256, 32, 100 * 1024), "25600 fewer bytes of shared memory (76800) give 3 blocks per SM");
    lifts(of("sm_90", 256, 168, 198 * 1024),
          "40 fewer registers (128) and 87040 fewer bytes of shared memory (115712) give 2 blocks per SM");
    lifts(of("sm_90", 256, 80, 100 * 1024), "25600 fewer bytes of shared memory (76800) give 3 blocks per SM"); /* registers do already */
    lifts(of("sm_90", 32, 16, 0), "blocks of 64 threads give 64 warps per SM");
    lifts(of("sm_86", 1024, 32, 0), "blocks of 768 threads give 48 warps per SM");
    lifts(of("sm_75", 992, 32, 0), "blocks of 1024 threads give 32 warps per SM"); /* the largest there are */
    lifts(of("sm_86", 1024, 32, 512), "blocks whose warps divide 48");
    lifts(of("sm_90", 32, 16, 512), "larger blocks: at most 32 fit on an SM");
    lifts(of("sm_90", 256, 32, 0), "");
    lifts(of("sm_90", 1024, 128, 0), "64 fewer registers (64) let a block fit");
    lifts(of("sm_90", 256, 32, 228 * 1024), "1024 fewer bytes of shared memory (232448) let a block fit");
}

/* What the sentence promises comes true, and one register or byte less does not do. */
static void test_lift_is_true(void **state)
{
    const char *chips[] = {"sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120"};
    int checked = 0;
    for (size_t c = 0; c < sizeof chips / sizeof *chips; c++)
        for (int threads = 64; threads <= 1024; threads *= 2)
            for (int registers = 24; registers <= 250; registers += 13)
                for (size_t smem = 0; smem <= 48 * 1024; smem += 9000) {
                    struct occupancy o = of(chips[c], threads, registers, smem);
                    int fewer, left, blocks;
                    if (sscanf(o.lift, "%d fewer registers (%d) give %d blocks per SM", &fewer, &left, &blocks) != 3)
                        continue;
                    checked++;
                    assert_int_equal(left + fewer, registers);
                    assert_int_equal(of(chips[c], threads, left, smem).blocks_per_sm, blocks);
                    assert_true(blocks > o.blocks_per_sm);
                    assert_true(of(chips[c], threads, left + 1, smem).blocks_per_sm < blocks);
                }
    assert_true(checked > 300);
}

/* The same of bytes, static and dynamic ones. */
static void test_bytes_are_the_most(void **state)
{
    int checked = 0;
    for (size_t smem = 40 * 1024; smem <= 99 * 1024; smem += 777) {
        struct occupancy o = of("sm_90", 256, 32, smem);
        int blocks;
        long fewer, left;
        if (sscanf(o.lift, "%ld fewer bytes of shared memory (%ld) give %d blocks per SM", &fewer, &left, &blocks) != 3)
            continue;
        checked++;
        assert_true(left + fewer == (long)smem);
        assert_int_equal(of("sm_90", 256, 32, (size_t)left).blocks_per_sm, blocks);
        assert_true(of("sm_90", 256, 32, (size_t)left + 1).blocks_per_sm < blocks);
    }
    assert_true(checked > 50);
    struct occupancy_query both = {
        .block_threads = 256, .registers = 32, .static_smem = 20 * 1024, .dynamic_smem = 80 * 1024, .carveout = -1};
    lifts(occupancy_of(chip_find("sm_90"), &both),
          "25600 fewer bytes of shared memory (76800) give 3 blocks per SM"); /* of the two together */
    struct occupancy_query q = {.block_threads = 32, .registers = 16, .dynamic_smem = 512, .static_smem = 512, .carveout = -1};
    lifts(occupancy_of(chip_find("sm_90"), &q), "larger blocks: at most 32 fit on an SM");
}

static void test_impossible(void **state)
{
    assert_true(!of("sm_90", 2048, 32, 1024).possible && !of("sm_90", 2048, 32, 1024).lift[0]); /* of a block that no chip takes */
    struct occupancy o = of("sm_90", 1024, 128, 0);
    assert_true(!o.possible && o.blocks_per_sm == 0 && o.limit == LIMIT_REGISTERS);
    assert_true(isnan(occupancy_waves(chip_find("sm_90"), &o, 100)));
    o = of("sm_90", 256, 32, 228 * 1024);
    assert_true(!o.possible && o.limit == LIMIT_SMEM);
    o = of("sm_90", 2048, 32, 0);
    assert_true(!o.possible && o.limit == LIMIT_WARPS);
    o = of("sm_90", 0, 32, 0);
    assert_true(!o.possible && o.limit == LIMIT_NONE);
    o = of("sm_90", 256, 32, (size_t)1 << 40);
    assert_true(!o.possible);
    o = of("sm_90", 256, -1, 0);
    assert_true(!o.possible);
    for (int power = 31; power < 41; power += 3) { /* more than an int holds is more than a chip has, whoever declares it */
        struct occupancy_query large = {.block_threads = 256, .registers = 32, .static_smem = (size_t)1 << power, .carveout = -1};
        assert_true(!occupancy_of(chip_find("sm_90"), &large).possible);
    }
    struct chip unknown = *chip_find("sm_90");
    unknown.cc = 999;
    struct occupancy_query q = {.block_threads = 256, .registers = 32, .carveout = -1};
    assert_true(!occupancy_of(&unknown, &q).possible && !occupancy_warps(&unknown, &q));
}

static void test_carveout_and_waves(void **state)
{
    struct occupancy_query q = {.block_threads = 128, .registers = 32, .dynamic_smem = 10 * 1024, .carveout = 100};
    const struct chip *h = chip_find("sm_90");
    assert_int_equal(occupancy_of(h, &q).blocks_per_sm, 16); /* warps: 20 would fit in 228 KiB */
    q.carveout = 14;                                         /* 32 KiB: two blocks of 11 KiB */
    assert_int_equal(occupancy_of(h, &q).blocks_per_sm, 2);
    q.carveout = 0; /* as little as a block of 11 KiB needs: 16 */
    assert_int_equal(occupancy_of(h, &q).blocks_per_sm, 1);
    struct occupancy o = of("sm_90", 256, 80, 0);
    assert_true(fabs(occupancy_waves(h, &o, 132 * 3 * 2.5) - 2.5) < 1e-12);
}

/* Each limiter's own limit, against the columns that NVIDIA's occupancy calculator (the spreadsheet of CUDA 11, "limited by ...") and
 * Nsight Compute's launch__occupancy_limit_* give for these inputs. Registers: floor(floor(65,536 / 4 / (registers x 32 rounded up to 256))
 * x 4 / warps of a block); warps: warps of an SM / warps of a block; shared: bytes of an SM / (bytes + 1,024 from cc 8.0, rounded up to
 * 128). */
static void test_each_limit(void **state)
{
    const struct {
        const char *chip;
        int threads, registers;
        size_t smem;
        int warps, blocks, by_registers, by_smem;
    } table[] = {
        {"sm_75", 256, 48, 8 * 1024, 4, 16, 5, 8},    /* 1,536 a warp: 10 x 4 / 8; 64 / 8 */
        {"sm_80", 128, 72, 16 * 1024, 16, 32, 7, 9},  /* 2,304: 7 x 4 / 4; 164 / 17 */
        {"sm_80", 256, 255, 0, 8, 32, 1, 164},        /* 8,192: 2 x 4 / 8; the 1,024 bytes of the system alone: 164 / 1 */
        {"sm_86", 192, 40, 10000, 8, 16, 8, 9},       /* 1,280: 12 x 4 / 6; 102,400 / 11,136 */
        {"sm_89", 512, 64, 49152, 3, 24, 2, 2},       /* 2,048: 8 x 4 / 16; 102,400 / 50,176 */
        {"sm_90", 384, 168, 197 * 1024, 5, 32, 1, 1}, /* the shape of a warp-specialised GEMM: 5,376: 3 x 4 / 12; 228 / 198 */
        {"sm_90", 128, 64, 24 * 1024, 16, 32, 8, 9},  /* 2,048: 8 x 4 / 4; 228 / 25 */
        {"sm_100", 96, 33, 3000, 21, 32, 16, 57},     /* 1,280: 12 x 4 / 3; 64 / 3; 233,472 / 4,096 */
        {"sm_120", 256, 96, 30 * 1024, 6, 24, 2, 3},  /* 3,072: 5 x 4 / 8; 100 / 31 */
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct occupancy o = of(table[i].chip, table[i].threads, table[i].registers, table[i].smem);
        int warps = o.blocks_by[LIMIT_WARPS], blocks = o.blocks_by[LIMIT_BLOCKS], registers = o.blocks_by[LIMIT_REGISTERS],
            smem = o.blocks_by[LIMIT_SMEM];
        if (warps != table[i].warps || blocks != table[i].blocks || registers != table[i].by_registers || smem != table[i].by_smem)
            fail_msg("case %zu: warps %d, blocks %d, registers %d, shared memory %d", i, warps, blocks, registers, smem);
    }
}

static const char *need(const char *chip, int threads, int registers, size_t smem, enum occupancy_limit limit, int blocks)
{
    static char out[160];
    struct occupancy_query q = {.block_threads = threads, .registers = registers, .dynamic_smem = smem, .carveout = -1};
    occupancy_need(chip_find(chip), &q, limit, blocks, out, sizeof out);
    return out;
}

static void test_need(void **state)
{
    assert_string_equal(need("sm_90", 256, 69, 0, LIMIT_REGISTERS, 4),
                        "5 fewer registers (64)"); /* 8 warps x 4 blocks = 8 a scheduler: 2,048 each */
    assert_string_equal(need("sm_90", 256, 64, 0, LIMIT_REGISTERS, 4), "");
    assert_string_equal(need("sm_90", 256, 64, 0, LIMIT_REGISTERS, 5), "16 fewer registers (48)");
    assert_string_equal(need("sm_90", 256, 64, 0, LIMIT_SMEM, 5), "");
    assert_string_equal(need("sm_90", 256, 32, 100 * 1024, LIMIT_SMEM, 3), "25600 fewer bytes of shared memory (76800)");
    assert_string_equal(need("sm_90", 256, 32, 240 * 1024, LIMIT_SMEM, 1), "13312 fewer bytes of shared memory (232448)"); /* 227 KiB */
    assert_string_equal(need("sm_90", 32, 16, 100, LIMIT_SMEM, 228), "100 fewer bytes of shared memory (0)"); /* 228 KiB, 1 the system's */
    assert_string_equal(need("sm_90", 32, 16, 100, LIMIT_SMEM, 229), "");
    assert_string_equal(need("sm_86", 1024, 32, 0, LIMIT_WARPS, 2), "blocks of at most 768 threads");
    assert_string_equal(need("sm_90", 256, 32, 0, LIMIT_WARPS, 33), "blocks of at most 32 threads"); /* a warp each, of 64 */
    assert_string_equal(need("sm_90", 256, 32, 0, LIMIT_WARPS, 65), "");
    assert_string_equal(need("sm_90", 256, 32, 0, LIMIT_BLOCKS, 33), "");    /* nothing gives more block slots */
    assert_string_equal(need("sm_90", 1024, 64, 0, LIMIT_REGISTERS, 9), ""); /* nine blocks of 32 warps never fit */
    struct occupancy_query q = {.block_threads = 256, .registers = 200, .carveout = -1};
    const int most[] = {255, 128, 80, 64, 48, 40, 32, 32};
    for (int blocks = 1; blocks <= 8; blocks++) /* what ptxas itself allows under __launch_bounds__(256, blocks) on sm_90 */
        assert_int_equal(occupancy_registers(chip_find("sm_90"), &q, blocks), most[blocks - 1]);
    assert_int_equal(occupancy_registers(chip_find("sm_90"), &q, 100), 0); /* with no number of them */
}

static void test_tail_and_clusters(void **state)
{
    struct occupancy_tail t;
    assert_true(occupancy_tail(2.25, &t) && t.rounds == 3 && fabs(t.last - 0.25) < 1e-12 && fabs(t.idle - 0.25) < 1e-12);
    assert_true(occupancy_tail(3, &t) && t.rounds == 3 && t.last == 1 && t.idle == 0);
    assert_true(occupancy_tail(0.86, &t) && t.rounds == 1 && fabs(t.last - 0.86) < 1e-12 && fabs(t.idle - 0.14) < 1e-12);
    assert_false(occupancy_tail(1e9, &t) || occupancy_tail(1.5e9, &t)); /* more blocks than a grid has */
    assert_false(occupancy_tail(0, &t) || occupancy_tail(NAN, &t) || occupancy_tail(-1, &t) || occupancy_tail(INFINITY, &t));
    struct occupancy o = of("sm_90", 384, 168, 197 * 1024);
    assert_int_equal(occupancy_clusters(chip_find("sm_90"), &o, 2), 66);
    assert_int_equal(occupancy_clusters(chip_find("sm_90"), &o, 1), 132);
    assert_int_equal(occupancy_clusters(chip_find("sm_90"), &o, 0), 0);
    static const int on_h200s[][2] = {{3, 39}, {4, 30}, {5, 17}, {6, 17}, {12, 7}, {16, 7}}; /* the driver's, for blocks that fill an SM */
    for (size_t i = 0; i < sizeof on_h200s / sizeof *on_h200s; i++)
        assert_int_equal(occupancy_clusters(chip_find("sm_90"), &o, on_h200s[i][0]), on_h200s[i][1]);
    assert_int_equal(occupancy_clusters(chip_find("sm_90"), &o, 8), 15);
    o.possible = false;
    assert_int_equal(occupancy_clusters(chip_find("sm_90"), &o, 2), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_each_limit),
                                       cmocka_unit_test(test_need),
                                       cmocka_unit_test(test_tail_and_clusters),
                                       cmocka_unit_test(test_by_hand),
                                       cmocka_unit_test(test_lift),
                                       cmocka_unit_test(test_lift_is_true),
                                       cmocka_unit_test(test_bytes_are_the_most),
                                       cmocka_unit_test(test_impossible),
                                       cmocka_unit_test(test_carveout_and_waves)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
