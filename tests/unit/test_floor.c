/* model/floor: the times of kernels.md section 1, at the rates that table states: 989 (tensor) and 67 (FFMA) TFLOP/s from the data sheet,
 * and 790, 400, 60 TFLOP/s and 4.3 TB/s measured. */
#include "works.h"
#include "model/floor.h"

static void near(double got, double want, double half_of_last_digit)
{
    if (!(fabs(got - want) <= half_of_last_digit))
        fail_msg("%.9g, want %.9g", got, want);
}

/* Measured ceilings as a roof: every row of the table. */
static void test_table_of_floors(void **state)
{
    const struct ceilings measured = {.copy_bytes_s = 4.3e12,
                                      .flop_s = {[MATH_F16_ACC32] = 790e12, [MATH_TF32] = 400e12, [MATH_F32] = 60e12}};
    const struct {
        int64_t c, k, h, w;
        double f16_tensor, f16_memory, tf32_tensor, tf32_memory, f32, tolerance;
    } table[] = {
        /* us */
        {64, 64, 720, 1280, 86.0, 54.9, 170, 110, 1133, 0.5},    {3, 64, 720, 1280, 4.0, 28.7, 8, 57, 53, 0.5},
        {64, 128, 720, 1280, 172, 82, 340, 165, 2265, 0.5},      {32, 64, 1440, 2560, 172, 165, 340, 329, 2265, 0.6},
        {16, 3, 2880, 5120, 16, 130, 32, 261, 212, 0.6},         {64, 256, 720, 1280, 344, 137, 680, 274, 4530, 0.8},
        {64, 3, 1440, 2560, 16, 115, 32, 230, 212, 0.5},         {256, 256, 339, 510, 258, 41, 510, 83, 3399, 0.8},
        {256, 1024, 339, 510, 1033, 104, 2040, 208, 13597, 1.0}, {64, 64, 339, 510, 16.1, 10.3, 31.9, 20.6, 212, 0.5},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct work w = conv_work(table[i].c, table[i].k, table[i].h, table[i].w, 3);
        finish(&w);
        struct floor f = roof_of(&measured, work_flop(&w), work_bytes(&w), MATH_F16_ACC32, 0);
        near(f.compute_ns / 1e3, table[i].f16_tensor, table[i].tolerance);
        near(f.memory_ns / 1e3, table[i].f16_memory, 0.6);
        near(f.ns, fmax(f.compute_ns, f.memory_ns), 0);
        assert_int_equal(f.by, f.compute_ns > f.memory_ns ? FLOOR_COMPUTE : FLOOR_MEMORY);
        w.dtype = DTYPE_F32, w.math = MATH_TF32;
        finish(&w);
        f = roof_of(&measured, work_flop(&w), work_bytes(&w), MATH_TF32, 0);
        near(f.compute_ns / 1e3, table[i].tf32_tensor, 1);
        near(f.memory_ns / 1e3, table[i].tf32_memory, 1);
        near(roof_of(&measured, work_flop(&w), work_bytes(&w), MATH_F32, 0).compute_ns / 1e3, table[i].f32, 1);
    }
}

/* Data-sheet times: at 1.83 GHz the tensor rate is the sheet's 989 TFLOP/s; the floor takes the maximum clock, which nothing exceeds. */
static void test_datasheet(void **state)
{
    struct chip sheet = *chip_find("H200");
    struct work w = conv_work(64, 64, 720, 1280, 3);
    finish(&w);
    struct floor at_maximum = floor_of(&sheet, work_flop(&w), work_bytes(&w), MATH_F16_ACC32, 0);
    near(at_maximum.compute_ns / 1e3, 68.7 * 1.83 / 1.98, 0.05);
    near(at_maximum.memory_ns / 1e3, 236.0 / 4.8, 0.05);
    near(floor_of(&sheet, work_flop(&w), work_bytes(&w), MATH_F32, 0).compute_ns / 1e3, 1014, 3);
    sheet.clock_max_hz = 1.83e9;
    const struct {
        int64_t c, k, h, w;
        double us;
    } table[] = {{64, 64, 720, 1280, 68.7},
                 {64, 128, 720, 1280, 137},
                 {32, 64, 1440, 2560, 137},
                 {256, 256, 339, 510, 206},
                 {256, 1024, 339, 510, 825}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        w = conv_work(table[i].c, table[i].k, table[i].h, table[i].w, 3);
        finish(&w);
        near(floor_of(&sheet, work_flop(&w), work_bytes(&w), MATH_F16_ACC32, 0).compute_ns / 1e3, table[i].us, 0.5);
    }
}

static void test_sides(void **state)
{
    const struct chip *h200 = chip_find("H200"), *turing = chip_find("T4");
    struct floor f = floor_of(h200, 1e6, 1e3, MATH_F16_ACC32, 0);
    assert_true(f.by == FLOOR_LAUNCH && f.ns == f.launch_ns && f.ns >= 500 && f.ns <= 2000);
    assert_string_equal(floor_by_name(f.by), "launch");
    f = floor_of(h200, 1.5e-6 * chip_flop_s(h200, MATH_F16_ACC32), 1e3, MATH_F16_ACC32, 0); /* a little above */
    assert_true(f.by == FLOOR_COMPUTE && fabs(f.ns - 1500) < 1e-6);
    f = floor_of(h200, 0, 472e6, MATH_NONE, 0); /* data movement */
    assert_true(f.by == FLOOR_MEMORY && f.compute_ns == 0);
    near(f.ns / 1e3, 472 / 4.8, 0.1);
    f = floor_of(h200, 1e9, 40e6, MATH_F32, 1); /* fits in L2, whose rate nobody publishes */
    assert_true(f.memory_ns == 0 && f.by == FLOOR_COMPUTE);
    f = floor_of(h200, 1e9, 80e6, MATH_F32, 1); /* does not fit */
    near(f.memory_ns / 1e3, 80 / 4.8, 0.01);
    f = floor_of(turing, 1e12, 1e6, MATH_TF32, 0); /* no such pipe: f32 */
    near(f.compute_ns, floor_of(turing, 1e12, 1e6, MATH_F32, 0).compute_ns, 0);
    struct chip unknown = *h200;
    unknown.dram_bytes_s = 0;
    f = floor_of(&unknown, 1e9, 1e9, MATH_F32, 0);
    assert_true(f.by == FLOOR_UNKNOWN && f.ns == 0);
    struct ceilings nothing = {0};
    assert_true(roof_of(&nothing, 1e9, 1e9, MATH_F32, 0).by == FLOOR_UNKNOWN);
}

static void test_measured(void **state)
{
    struct roofs r = {.measured = "2026-11-21T22:00:00Z", .count = 6};
    const struct roof items[] = {{"copy", "B/s", "", 4.25e12},        {"l2", "B/s", "", 6e12},    {"f32", "FLOP/s", "", 60e12},
                                 {"f16_acc32", "FLOP/s", "", 790e12}, {"launch", "ns", "", 2200}, {"graph_node", "ns", "", 900}};
    for (int i = 0; i < r.count; i++)
        r.items[i] = items[i];
    struct ceilings c = ceilings_of(&r);
    assert_string_equal(c.date, "2026-11-21T22:00:00Z");
    struct floor f = roof_of(&c, 79e9, 1e6, MATH_F16_ACC32, 0);
    assert_true(f.by == FLOOR_COMPUTE);
    near(f.ns, 100e3, 1);
    f = roof_of(&c, 1e9, 425e6, MATH_F16_ACC32, 0);
    assert_true(f.by == FLOOR_MEMORY);
    near(f.ns, 100e3, 1);
    near(roof_of(&c, 1e9, 30e6, MATH_F32, 1).memory_ns, 5e3, 1); /* warm: from L2 */
    f = roof_of(&c, 1e3, 1e3, MATH_F32, 0);
    assert_true(f.by == FLOOR_LAUNCH && f.ns == 2200);
    assert_true(roof_of(&c, 1e9, 1e6, MATH_TF32, 0).by == FLOOR_UNKNOWN); /* that pipe was not measured */
    assert_true(roof_of(&c, 0, 425e6, MATH_NONE, 0).by == FLOOR_MEMORY);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_table_of_floors), cmocka_unit_test(test_datasheet),
                                       cmocka_unit_test(test_sides), cmocka_unit_test(test_measured)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
