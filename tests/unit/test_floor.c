/* device/chip/floor: times worked out by hand from the layers, at these rates: 989 (tensor) and 67 (FFMA) TFLOP/s from the data
 * sheet, and 790, 400, 60 TFLOP/s and 4.3 TB/s measured. */
#include "works.h"
#include "device/chip/floor.h"
#include "op/chain/chain.h"
#include "op/mask/min_work.h"
#include "op/mask/mask.h"
#include "op/file/ops.h"

static struct need all_of(const struct work *w)
{
    struct min_work l;
    min_work_of(w, NULL, NULL, &l);
    return (struct need){work_flop(w), l.read_bytes, l.write_bytes};
}

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
    struct need need = all_of(&w);
    struct floor at_maximum = floor_of(&sheet, &need, MATH_F16_ACC32, false);
    near(at_maximum.compute_ns / 1e3, 68.7 * 1.83 / 1.98, 0.05);
    near(need.read_bytes + need.write_bytes, 236.0e6, 0.1e6);
    near(at_maximum.memory_ns / 1e3, (236.0 - 62.9) / 4.8, 0.05); /* 60 MiB of the output may be in the L2 still */
    near(floor_of(&sheet, &need, MATH_F32, false).compute_ns / 1e3, 1014, 3);
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
        need = all_of(&w);
        near(floor_of(&sheet, &need, MATH_F16_ACC32, false).compute_ns / 1e3, table[i].us, 0.5);
    }
}

static struct floor floor_at(const struct chip *chip, double flop, double read, double written, int math, bool warm)
{
    return floor_of(chip, &(struct need){flop, read, written}, math, warm);
}

static void test_sides(void **state)
{
    const struct chip *h200 = chip_find("H200"), *turing = chip_find("T4");
    struct floor f = floor_at(h200, 1e6, 1e3, 0, MATH_F16_ACC32, false);
    assert_true(f.by == FLOOR_COMPUTE && f.ns < 2 && f.launch_ns == 0); /* no data sheet says what a launch costs */
    f = floor_launched(f, 671);                                         /* reports/networks: a node of a graph on an H200 */
    assert_true(f.by == FLOOR_LAUNCH && f.ns == 671);
    assert_string_equal(floor_by_name(f.by), "launch");
    f = floor_at(h200, 1.5e-6 * chip_flop_s(h200, MATH_F16_ACC32), 1e3, 0, MATH_F16_ACC32, false);
    assert_true(f.by == FLOOR_COMPUTE && fabs(f.ns - 1500) < 1e-6);
    assert_true(floor_launched(f, 671).ns == f.ns && floor_launched(f, 0).ns == f.ns);
    f = floor_at(h200, 0, 236e6, 236e6, MATH_NONE, false); /* data movement: what fits the L2 need not be written yet */
    assert_true(f.by == FLOOR_MEMORY && f.compute_ns == 0);
    near(f.ns / 1e3, (472 - 62.91456) / 4.8, 0.01);
    near(floor_at(h200, 0, 100e6, 40e6, MATH_NONE, false).ns / 1e3, 100 / 4.8, 0.01);
    f = floor_at(h200, 1e9, 40e6, 40e6, MATH_F32, true); /* may all be there */
    assert_true(f.memory_ns == 0 && f.by == FLOOR_COMPUTE);
    near(floor_at(h200, 1e9, 80e6, 80e6, MATH_F32, true).memory_ns / 1e3, 2 * (80 - 62.91456) / 4.8, 0.01);
    f = floor_at(turing, 1e12, 1e6, 0, MATH_TF32, false); /* no such pipe: f32 */
    near(f.compute_ns, floor_at(turing, 1e12, 1e6, 0, MATH_F32, false).compute_ns, 0);
    struct chip plain = *h200; /* with neither tensor cores nor half precision: f32 */
    plain.flop_f16_tensor = plain.flop_f16_simt = 0;
    near(floor_at(&plain, 1e12, 1e6, 0, MATH_F16_ACC32, false).compute_ns, floor_at(h200, 1e12, 1e6, 0, MATH_F32, false).compute_ns, 0);
    struct chip unknown = *h200;
    unknown.l2_bytes = 0; /* then no write is held against a kernel */
    near(floor_at(&unknown, 0, 48e6, 480e6, MATH_NONE, false).ns, 10e3, 1e-6);
    assert_true(floor_at(&unknown, 1e9, 48e6, 480e6, MATH_F32, true).memory_ns == 0); /* nor, in warm, a read */
    f = floor_at(h200, 0, 40e6, 40e6, MATH_NONE, true); /* all in the L2, and no arithmetic: nothing bounds it that has a name */
    assert_true(f.by == FLOOR_UNKNOWN && f.ns == 0 && floor_launched(f, 671).ns == 0);
    assert_string_equal(floor_by_name(f.by), "unknown");
    for (int beyond = -1; beyond <= 1; beyond += 2)
        assert_string_equal(floor_by_name((enum floor_by)(beyond < 0 ? -1 : FLOOR_LAUNCH + 1)), "unknown");
    unknown.dram_bytes_s = 0;
    f = floor_at(&unknown, 1e9, 1e9, 0, MATH_F32, false);
    assert_true(f.by == FLOOR_UNKNOWN && f.ns == 0 && floor_launched(f, 671).ns == 0);
    struct chip slow = *h200; /* whose arithmetic nobody knows: what is moved is known all the same, where nothing is computed */
    slow.clock_max_hz = 0;
    assert_true(floor_at(&slow, 0, 100e6, 0, MATH_F32, false).by == FLOOR_MEMORY);
    assert_true(floor_at(&slow, 1e9, 100e6, 0, MATH_NONE, false).by == FLOOR_MEMORY);
    assert_true(floor_at(&slow, 1e9, 100e6, 0, MATH_F32, false).by == FLOOR_UNKNOWN);
    for (int math = MATH_NONE; math <= MATH_F32; math += MATH_F32 - MATH_NONE)
        for (int flop = 0; flop < 2; flop++)
            assert_true((floor_least(&slow, &(struct need){flop, 100e6, 0}, math, false).by == FLOOR_MEMORY) ==
                        (!flop || math == MATH_NONE));
    struct ceilings nothing = {0}, moves = {.copy_bytes_s = 1e12}; /* what computes nothing needs no rate */
    assert_true(roof_of(&moves, 0, 1e9, MATH_F32, 0).by == FLOOR_MEMORY && roof_of(&moves, 1e9, 1e9, MATH_F32, 0).by == FLOOR_UNKNOWN);
    assert_true(roof_of(&nothing, 1e9, 1e9, MATH_F32, 0).by == FLOOR_UNKNOWN);
}

/* A strict f32 product is also three f16 ones on tensor cores (989.4 / 3 TFLOP/s is more than 66.9), a TF32 one also an f16 one. */
static void test_other_pipes(void **state)
{
    const struct chip *h200 = chip_find("H200");
    const struct need need = {1e12, 1e3, 1e3};
    double f16 = chip_flop_s(h200, MATH_F16_ACC32);
    near(floor_least(h200, &need, MATH_F32, false).ns, 3e12 / f16 * 1e9, 1);
    near(floor_least(h200, &need, MATH_TF32, false).ns, 1e12 / f16 * 1e9, 1);
    near(floor_least(h200, &need, MATH_F16_ACC32, false).ns, 1e12 / f16 * 1e9, 1);
    near(floor_least(h200, &need, MATH_BF16_ACC32, false).ns, floor_of(h200, &need, MATH_BF16_ACC32, false).ns, 0);
}

/* Products by algorithm, an image of 64x64, one channel in and out. Published: F(2x2, 3x3) needs 16 products for 4 outputs, F(4x4, 3x3) 36
 * for 16 (Lavin and Gray 2015, sections 4.1 and 4.2: 2.25 and 4 times fewer than 36 and 144). */
static void test_products(void **state)
{
    struct min_work l;
    struct work w = conv_work(1, 1, 64, 64, 3);
    finish(&w);
    min_work_of(&w, NULL, NULL, &l);
    near(l.direct, 2 * 190 * 190, 0); /* 64 * 3 - 2 taps along each axis: two are padding */
    near(l.collapsed, l.direct, 0);
    near(l.winograd, 2 * 85 * 85, 1e-6); /* 62 outputs of (6 + 3 - 1) / 6, two of (6 + 2 - 1) / 6 */
    near(l.fft, 2 * 1.5 * 4096, 1e-6);
    double f23 = 2 * 16.0 / 4 * 4096, f43 = 2 * 36.0 / 16 * 4096;
    assert_true(l.direct / f23 < 2.25 && l.direct / f23 > 2.2 && l.direct / f43 < 4 && l.direct / f43 > 3.9);
    assert_true(l.winograd < f43 && f43 < f23); /* below what is published, not above */
    near(min_work_flop(&l, "direct"), l.direct, 0);
    near(min_work_flop(&l, "winograd"), l.winograd, 0);
    near(min_work_flop(&l, "library"), l.fft, 0);
    w = conv_work(1, 1, 64, 64, 1); /* nothing is fewer than one product */
    finish(&w);
    min_work_of(&w, NULL, NULL, &l);
    assert_true(l.direct == 2 * 4096 && l.winograd == l.direct && l.fft == l.direct);
    w = conv_work(2, 3, 8, 8, 1); /* a border that reads padding alone needs no product at all */
    w.pad = 2;
    finish(&w);
    min_work_of(&w, NULL, NULL, &l);
    assert_true(w.p == 12 && l.direct == 2.0 * 2 * 3 * 64 && l.winograd == l.direct && l.fft == l.direct);
    w = conv_work(8, 16, 64, 64, 1); /* groups: each output meets its group's inputs only, 2 of 8 */
    w.groups = 4;
    finish(&w);
    min_work_of(&w, NULL, NULL, &l);
    assert_true(l.direct == 2.0 * 16 * 2 * 4096 && l.winograd == l.direct && l.fft == l.direct);
    w = conv_work(1, 1, 64, 64, 9); /* a large filter: 81 direct, (14 / 6)^2, 1.5 */
    finish(&w);
    min_work_of(&w, NULL, NULL, &l);
    assert_true(l.direct > 40 * l.fft && l.fft == 2 * 1.5 * 4096 && l.winograd < 2 * 5.45 * 4096 && l.winograd > 2 * 5.2 * 4096);
}

static void test_products_of_strides(void **state)
{
    struct min_work l;
    struct work w = conv_work(8, 16, 64, 64, 3);
    w.stride = 2;
    finish(&w);
    min_work_of(&w, NULL, NULL, &l);
    near(l.direct, 2.0 * 8 * 16 * 95 * 95, 0);                                     /* 32 * 3 - 1 */
    near(l.winograd, 2.0 * 8 * 16 * pow(31 * (7 / 6.0 + 1) + 2, 2), 1e-3);         /* odd inputs: F(6, 2); even ones: one product */
    near(l.fft, fmin(2.0 * 8 * 16 * 1.5 * 64 * 64, 2.0 * 8 * 16 * 95 * 95), 1e-3); /* two classes along each axis */
    w = conv_work(8, 16, 64, 64, 3);                                               /* all taps lie on inputs of one class */
    w.stride = w.dilation = w.pad = 2;
    finish(&w);
    min_work_of(&w, NULL, NULL, &l);
    near(l.fft, 2.0 * 8 * 16 * 1.5 * 32 * 32, 1e-3);
    w = conv_work(8, 16, 64, 64, 1);
    w.stride = 2;
    finish(&w);
    min_work_of(&w, NULL, NULL, &l);
    near(l.read_bytes, 2 * (8 * 32 * 32 + 8 * 16), 0); /* a quarter of the input is all that any kernel needs */
    near(l.write_bytes, 2 * 16 * 32 * 32, 0);
    w = (struct work){.op = op_find("conv_transpose2d"),
                      .n = 1,
                      .c = 2,
                      .h = 32,
                      .w = 32,
                      .k = 3,
                      .r = 4,
                      .s = 4,
                      .stride = 2,
                      .pad = 1,
                      .dilation = 1,
                      .groups = 1,
                      .dtype = DTYPE_F16,
                      .layout = LAYOUT_NHWC,
                      .seed = 1};
    finish(&w);
    min_work_of(&w, NULL, NULL, &l);
    near(l.direct, 2.0 * 2 * 3 * 126 * 126, 0); /* of 4 taps an output meets 2, at both ends one */
    w = (struct work){.op = op_find("upsample_conv2d"),
                      .n = 1,
                      .c = 2,
                      .h = 32,
                      .w = 32,
                      .k = 3,
                      .r = 3,
                      .s = 3,
                      .block = 2,
                      .pad = 1,
                      .dtype = DTYPE_F16,
                      .layout = LAYOUT_NHWC,
                      .seed = 1};
    finish(&w);
    min_work_of(&w, NULL, NULL, &l);
    near(l.direct, 2.0 * 2 * 3 * 190 * 190, 0);
    near(l.collapsed, 2.0 * 2 * 3 * 126 * 126, 0); /* three neighbours lie on two pixels, at both ends on one */
    near(min_work_flop(&l, "collapsed"), l.collapsed, 0);
}

/* Of a mask only the products of marked inputs with the outputs that they reach. */
static void test_products_of_masks(void **state)
{
    struct min_work l;
    static float in[64 * 64], active[64 * 64];
    struct work w = conv_work(16, 32, 64, 64, 3);
    w.mask = (struct mask){.pattern = MASK_IID, .density = 0.1};
    finish(&w);
    in[0] = in[20 * 64 + 20] = 1; /* a corner reaches 4 outputs, the other 9 */
    mask_dilate(&w, in, active);
    min_work_of(&w, in, active, &l);
    near(l.direct, 2.0 * 16 * 32 * 13, 0);
    near(l.fft, l.direct, 0); /* a transform of 13 outputs would need 1.5 each */
    near(l.read_bytes, 2 * (2 * 16 + 16 * 32 * 9) + 64 * 64 / 8, 0);
    near(l.write_bytes, 2 * 13 * 32 + 64 * 64 / 8, 0);
    w.mask.marks_output = true;
    for (int i = 0; i < 64 * 64; i++)
        in[i] = active[i] = 0;
    active[0] = active[20 * 64 + 20] = 1;
    for (int i = 0; i < 9; i++)
        in[(i / 3) * 64 + i % 3] = i / 3 < 2 && i % 3 < 2, in[(19 + i / 3) * 64 + 19 + i % 3] = 1;
    min_work_of(&w, in, active, &l);
    near(l.direct, 2.0 * 16 * 32 * 13, 0);
    near(l.fft, 2.0 * 16 * 32 * 3, 1e-9);
    w.mask.marks_output = false;
    w.mask.marks_both = true; /* a marked corner and a marked pixel; of their outputs one and two are wanted, and one that reads neither */
    for (int i = 0; i < 64 * 64; i++)
        in[i] = active[i] = 0;
    in[0] = in[20 * 64 + 20] = active[0] = active[20 * 64 + 21] = active[21 * 64 + 19] = active[40 * 64] = 1;
    min_work_of(&w, in, active, &l);
    near(l.direct, 2.0 * 16 * 32 * 3, 0);
    near(l.collapsed, l.direct, 0);
}

/* Of a network run whole its input is read once, its weights, and its last output is written; the products are those of its layers. */
static void test_least_of_a_chain(void **state)
{
    struct error err = {0};
    struct chain_link links[2] = {{.work = conv_work(3, 4, 5, 7, 3), .name = "a", .input = CHAIN_INPUT, .residual = CHAIN_NONE},
                                  {.work = conv_work(4, 2, 5, 7, 3), .name = "b", .input = 0, .residual = CHAIN_NONE}};
    struct min_work l, one, two;
    struct work w;
    for (int i = 0; i < 2; i++)
        finish(&links[i].work);
    struct chain chain = {links, 2};
    if (!chain_work(&chain, &w, &err))
        fail_msg("%s", err.text);
    min_work_of(&w, NULL, NULL, &l);
    min_work_of(&links[0].work, NULL, NULL, &one);
    min_work_of(&links[1].work, NULL, NULL, &two);
    near(l.direct, one.direct + two.direct, 0);
    near(l.winograd, one.winograd + two.winograd, 0);
    near(l.read_bytes, 2 * 3 * 35 + 256 + 192, 0); /* filters of 216 and 144 bytes begin at multiples of 64 */
    near(l.write_bytes, 2 * 2 * 35, 0);
}

static void test_measured(void **state)
{
    struct ceiling_list r = {.measured = "2026-11-21T22:00:00Z", .count = 6};
    const struct ceiling items[] = {{"copy", "B/s", "", 4.25e12},        {"l2", "B/s", "", 6e12},    {"f32", "FLOP/s", "", 60e12},
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
    assert_true(c.graph_node_ns == 900);
    assert_true(roof_of(&c, 1e9, 1e6, MATH_TF32, 0).by == FLOOR_UNKNOWN); /* that pipe was not measured */
    assert_true(roof_of(&c, 0, 425e6, MATH_NONE, 0).by == FLOOR_MEMORY);
    near(roof_of(&c, 1e9, 425e6, MATH_NONE, 0).ns, 100e3, 1);              /* of arithmetic that has no rate nothing is asked */
    assert_true(roof_of(&c, 1e9, 1e9, MATH_COUNT, 0).by == FLOOR_UNKNOWN); /* no pipe at all */
    c.l2_bytes_s = 0;                                                      /* not measured: no launch is warmer than a copy */
    near(roof_of(&c, 1e9, 425e6, MATH_F32, 1).memory_ns, 100e3, 1);
    assert_string_equal(floor_by_name(FLOOR_COMPUTE), "compute");
    assert_string_equal(floor_by_name((enum floor_by)99), "unknown"); /* a database may say anything */
    assert_string_equal(floor_by_name((enum floor_by) - 1), "unknown");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table_of_floors), cmocka_unit_test(test_datasheet),           cmocka_unit_test(test_sides),
        cmocka_unit_test(test_measured),        cmocka_unit_test(test_least_of_a_chain),    cmocka_unit_test(test_other_pipes),
        cmocka_unit_test(test_products),        cmocka_unit_test(test_products_of_strides), cmocka_unit_test(test_products_of_masks)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
