/* device/chip/chip: every board's table entry against its maker's headline rates, and the ways to name a chip. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "device/chip/chip.h"
#include "base/dtype.h"
#include <math.h>
#include <string.h>

static void within(double got, double want, double share)
{
    if (!(fabs(got / want - 1) <= share))
        fail_msg("%g, want %g", got, want);
}

/* Rates as the data sheets print them (TFLOP/s, dense); `clock` is the one they are quoted at, where it is not the maximum. */
static void test_headline_rates(void **state)
{
    const struct {
        const char *board;
        double f32, f16, tf32, i8, f64, clock;
    } sheet[] = {
        {"RTX 2080 Ti", 13.4, 107.6, 0, 215.2, 0, 0},
        {"T4", 8.1, 65, 0, 130, 0, 0},
        {"A100", 19.5, 312, 156, 624, 9.7, 0},
        {"RTX A6000", 38.7, 154.8, 77.4, 309.7, 0, 0},
        {"RTX 3090", 35.6, 142, 71, 284, 0, 0},
        {"L40S", 91.6, 366, 183, 733, 0, 0},
        {"RTX 4090", 82.6, 330.3, 165, 660.6, 1.3, 0},
        {"H200", 66.9, 989.4, 494.7, 1979, 33.5, 1.83e9},
        {"H100", 66.9, 989.4, 494.7, 1979, 33.5, 1.83e9},
        {"B200", 75, 2250, 1100, 4500, 37, 1.85e9},
        {"RTX 5090", 104.8, 419, 209.5, 838, 1.64, 0},
        {"Jetson AGX Orin", 5.3, 42.5, -1, 85, 0, 0},
        {"B300", 75, 2250, 1100, 140, 0, 1.85e9}, /* 0.15 P at the clock without tensor load; fp64 1.25 at a clock nobody names */
        {"Jetson T5000", 8.064, 258, -1, 517, 0, 0},
        {"DGX Spark", 31, 124, -1, 248, 0, 0},
    };
    for (size_t i = 0; i < sizeof sheet / sizeof *sheet; i++) {
        const struct chip *c = chip_find(sheet[i].board);
        assert_non_null(c);
        double tensor_clock = sheet[i].clock > 0 ? sheet[i].clock : c->clock_max_hz;
        within(chip_flop_s(c, MATH_F32) / 1e12, sheet[i].f32, 0.015);
        within(c->flop_f16_tensor * c->sm_count * tensor_clock / 1e12, sheet[i].f16, 0.01);
        within(c->flop_i8_tensor * c->sm_count * tensor_clock / 1e12, sheet[i].i8, 0.01);
        if (sheet[i].tf32 > 0)
            within(c->flop_tf32_tensor * c->sm_count * tensor_clock / 1e12, sheet[i].tf32, 0.02);
        else if (sheet[i].tf32 == 0) /* below 0: no sheet says */
            assert_true(chip_flop_s(c, MATH_TF32) == 0 && chip_flop_s(c, MATH_BF16_ACC32) == 0);
        if (sheet[i].f64 > 0)
            within(c->flop_f64 * c->sm_count * c->clock_max_hz / 1e12, sheet[i].f64, 0.03);
        assert_true(c->clock_max_hz >= tensor_clock); /* nothing beats the maximum */
        assert_true(c->dram_bytes_s > 2e11 && c->dram_bytes_s < 1e13 && c->l2_bytes > (3u << 20));
    }
    assert_true(chip_flop_s(chip_find("H200"), MATH_NONE) == 0);
    within(chip_flop_s(chip_find("H200"), MATH_F16_ACC32) / 1e12, 132 * 4096 * 1.98e9 / 1e12, 1e-9);
}

static void is(const char *name, const char *chip, const char *board)
{
    const struct chip *c = chip_find(name);
    if (!chip)
        assert_null(c);
    else if (!c || strcmp(c->name, chip) || strcmp(c->board, board))
        fail_msg("'%s' is %s %s, want %s %s", name, c ? c->name : "nothing", c ? c->board : "", chip, board);
}

static void test_find(void **state)
{
    is("GH100", "GH100", "H200 SXM"), is("gh100", "GH100", "H200 SXM"), is("sm_90", "GH100", "H200 SXM"), is("sm_90a", "GH100", "H200 SXM"),
        is("90", "GH100", "H200 SXM");
    is("H200", "GH100", "H200 SXM"), is("H200 SXM", "GH100", "H200 SXM"), is("NVIDIA H200", "GH100", "H200 SXM"),
        is("h100", "GH100", "H100 SXM");
    is("NVIDIA H100 80GB HBM3", "GH100", "H100 SXM"), is("NVIDIA A100-SXM4-80GB", "GA100", "A100 SXM"), is("Tesla T4", "TU104", "T4"),
        is("sm_75", "TU102", "RTX 2080 Ti");
    is("NVIDIA GeForce RTX 4090", "AD102", "RTX 4090"), is("sm_120", "GB202", "RTX 5090"), is("sm_100a", "GB100", "B200 SXM"),
        is("AD102", "AD102", "L40S");
    is("sm_87", "GA10B", "Jetson AGX Orin"), is("sm_103a", "GB103", "B300 SXM"), is("sm_110", "GB10B", "Jetson T5000"),
        is("sm_121", "GB10", "DGX Spark"), is("GB10", "GB10", "DGX Spark");
    is("NVIDIA H100 PCIe", NULL, NULL), is("NVIDIA GeForce RTX 4090 Laptop GPU", NULL, NULL),
        is("RTX 40900", NULL, NULL); /* other products */
    is("sm_88", "sm_88", "unknown product"), is("sm_107a", "sm_107", "unknown product");
    assert_true(chip_find("sm_107")->smem_per_block_optin == 334848 && chip_flop_s(chip_find("sm_107"), MATH_F32) == 0);
    is("", NULL, NULL), is(NULL, NULL, NULL), is("sm_", NULL, NULL), is("sm_900", NULL, NULL), is("sm_9x", NULL, NULL), is("0", NULL, NULL),
        is("GH101", NULL, NULL);
    is("99999999999999999999", NULL, NULL);
}

static void test_table(void **state)
{
    int count;
    const struct chip *table = chip_table(&count);
    const char *const *names = chip_names();
    for (int i = 0; i < count; i++) {
        const struct chip *c = &table[i];
        bool named = false;
        for (int n = 0; names[n]; n++)
            named |= !strcmp(names[n], c->name);
        assert_true(named && chip_find(c->arch) && chip_find(c->arch)->cc == c->cc);
        assert_int_equal(c->threads_per_sm, c->warps_per_sm * 32);
        assert_true(c->smem_per_block_optin + c->smem_reserved <= c->smem_per_sm && c->smem_per_block == 49152);
        assert_true(c->registers_per_sm == 65536 && c->registers_per_thread == 255 && c->smem_banks == 32 && c->warp_size == 32);
        assert_int_equal(c->arch[strlen(c->arch) - 1] == 'a', c->cc >= 90);
    }
    for (int n = 0; names[n]; n++)
        for (int m = 0; m < n; m++)
            assert_string_not_equal(names[n], names[m]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_headline_rates), cmocka_unit_test(test_find), cmocka_unit_test(test_table)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
