/* measure/verify/verify: how far off an element may be, by IEEE 754 and the bounds of op/bound. */
#include "measure/trust/failure.h"
#include "verify_bench.h"
#include "op/reference/bound.h"

/* The store rounds once: beyond the bound of the sum an element may be off by half a unit in its last place and no more. f16 has 11 bits,
 * bf16 8; values near 1.5 have units of 2^-10 and 2^-7. */
static void test_one_rounding(void **state)
{
    const struct {
        enum dtype type;
        double half_unit;
    } types[] = {{DTYPE_F16, 0x1p-11}, {DTYPE_BF16, 0x1p-8}};
    for (int t = 0; t < 2; t++) {
        struct bench *b = start(small(types[t].type, LAYOUT_NCHW), DATA_PART_PRECISION);
        size_t i = ((1 * 16 + 3) * 24 + 5) * 40 + 7;
        double *want = (double *)b->d.at[SLOT_OUTPUT].reference, bound = b->d.at[SLOT_OUTPUT].bound[i], unit = 2 * types[t].half_unit;
        double margin = bound * (1 + types[t].half_unit); /* the sum's part, itself rounded */
        assert_true(margin < 0.3 * unit);
        want[i] = 1.5 + 0.45 * unit; /* stored as 1.5: within half a unit */
        put(b, 1, 3, 5, 7, 1.5);
        passes(b);
        want[i] = 1.5 + types[t].half_unit * 1.6 + margin;
        fails(b, 1, "that one alone");
        stop(b);
    }
}

/* The tolerance is the bound, half a unit of the stored value, and half of the smallest number of the type: 2^-24 in f16, 2^-149 in f32
 * (IEEE 754) and 2^-133 in bf16. A library's result may have been rounded twice. */
static void test_smallest_number(void **state)
{
    struct verify_look look = {.factor = 3, .roundings = 1};
    look.t.dtype = DTYPE_F16;
    assert_true(fabs(verify_tolerance_of(&look, 0, 1e-20, 0) / 0x1p-25 - 1) < 1e-9);
    assert_true(fabs(verify_tolerance_of(&look, 2, 0.01, 0.02) - (0.05 + 0x1p-11 * 2.05 + 0x1p-25)) < 1e-12);
    assert_true(verify_tolerance_of(&look, 2, 0, 0) == 0);
    look.roundings = bound_roundings("library");
    assert_true(fabs(verify_tolerance_of(&look, 2, 0.01, 0.02) - (0.05 + 0x1p-10 * 2.05 + 0x1p-24)) < 1e-12);
    assert_true(verify_tolerance_of(&look, 2, 0, 0) == 0);
    assert_true(bound_roundings("direct") == 1 && bound_roundings(NULL) == 1);
    look.roundings = 1;
    look.t.dtype = DTYPE_F32;
    assert_true(fabs(verify_tolerance_of(&look, 0, 1e-60, 0) / 0x1p-150 - 1) < 1e-9);
    look.t.dtype = DTYPE_BF16;
    assert_true(fabs(verify_tolerance_of(&look, 0, 1e-60, 0) / 0x1p-134 - 1) < 1e-9);
}

/* A whole number is stored as the nearest one: 41.49 becomes 41; 41.4999999, which the kernel's own f32 may have had above the middle,
 * either 41 or 42. A reference that rounds by itself must be met exactly. */
static void test_whole_numbers(void **state)
{
    struct verify_look look = {.factor = 1, .roundings = 1};
    const enum dtype types[] = {DTYPE_I8, DTYPE_U8, DTYPE_U16, DTYPE_I32, DTYPE_U32};
    for (int i = 0; i < 5; i++) {
        look.t.dtype = types[i];
        assert_true(verify_tolerance_of(&look, 41.49, 1e-5, 0) < 0.51 && verify_tolerance_of(&look, 41.49, 1e-5, 0) > 0.49);
        assert_true(fabs(42 - 41.4999999) <= verify_tolerance_of(&look, 41.4999999, 1e-5, 0));
        assert_true(fabs(41 - 41.4999999) <= verify_tolerance_of(&look, 41.4999999, 1e-5, 0));
        assert_true(verify_tolerance_of(&look, 41, 1e-5, 0) == 1e-5);
        assert_true(verify_tolerance_of(&look, 41, 0, 0) == 0);
    }
}

/* Without a bound, too: 41.49 is 41, of 41.5 either neighbour is right, and what the type cannot hold is never met. */
static void test_whole_numbers_exactly(void **state)
{
    const struct {
        enum dtype type;
        double want, got;
        bool right;
    } cases[] = {{DTYPE_I8, 41.49, 41, true},  {DTYPE_I8, 41.49, 42, false}, {DTYPE_I8, 41.51, 41, false},  {DTYPE_I8, 41.51, 42, true},
                 {DTYPE_I8, 41.5, 41, true},   {DTYPE_I8, 41.5, 42, true},   {DTYPE_I8, 41.5, 43, false},   {DTYPE_I8, -41.7, -41, false},
                 {DTYPE_I8, -41.7, -42, true}, {DTYPE_I8, -128, -128, true}, {DTYPE_I8, -128, -127, false}, {DTYPE_U8, 300, 44, false},
                 {DTYPE_U8, 300, 255, false},  {DTYPE_U8, 254.8, 255, true}, {DTYPE_U8, 254.8, 254, false}, {DTYPE_I32, 0.7, 0, false},
                 {DTYPE_U32, 2.75, 3, true},   {DTYPE_U16, 2.75, 2, false},  {DTYPE_U16, NAN, 0, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct op_data data = {0};
        double reference = cases[i].want;
        struct verify_look look = {.factor = 1, .roundings = 1, .want = &data.at[SLOT_OUTPUT]};
        look.t.dtype = cases[i].type;
        data.at[SLOT_OUTPUT].reference = &reference;
        if (verify_right(&look, 0, cases[i].got) != cases[i].right)
            fail_msg("%g of %s: %g", cases[i].want, dtype_name(cases[i].type), cases[i].got);
    }
}

/* Each channel has a value before its activation that is some bounds from 0: less for its sign, more for another error. */
static void test_sums_near_zero(void **state)
{
    for (enum dtype t = DTYPE_F32; t <= DTYPE_F16; t++) {
        struct error err = {0};
        struct op_data data = {0};
        struct work w = small(t, LAYOUT_NHWC), bare;
        add_item(&w, EPILOGUE_BIAS), add_item(&w, EPILOGUE_RELU);
        finish(&w);
        bare = w;
        bare.epilogue_count = 1;
        assert_true(op_data_inputs(&w, DATA_PART_PRECISION, &data, &err) && op_data_near_zero(&w, &data, &err) &&
                    op_data_reference(&bare, &data, &err));
        const struct op_values *sums = &data.at[SLOT_OUTPUT];
        size_t plane = (size_t)(w.p * w.q);
        int64_t missed = 0;
        for (int64_t k = 0; k < w.k; k++) {
            int near = 0;
            for (size_t i = 0; i < (size_t)w.n * plane; i++) {
                size_t at = (i / plane * (size_t)w.k + (size_t)k) * plane + i % plane;
                double off = sums->reference[at] / (double)sums->bound[at];
                near += k % 3 == 0 ? off < 0 && off > -1 : k % 3 == 1 ? off > 1 && off < 4 : off < -1 && off > -4;
            }
            missed += !near;
        }
        if (missed > (t == DTYPE_F32 ? 0 : w.k / 4)) /* a bias of 16 bits meets it by chance */
            fail_msg("%s: %d of %d channels have no such value", dtype_name(t), (int)missed, (int)w.k);
        op_data_free(&data);
    }
}

/* If an op's reference gives no magnitude, its bounds are a guess: on nearby shapes 1,024 times as much passes, no more, and not on the
 * requested shape. */
static void test_guessed_elsewhere(void **state)
{
    for (int guessed = 0; guessed < 2; guessed++)
        for (int elsewhere = 0; elsewhere < 2; elsewhere++) {
            struct bench *b = start(small(DTYPE_F32, LAYOUT_NCHW), DATA_PART_PRECISION);
            struct op_values *want = &b->d.at[SLOT_OUTPUT];
            want->guessed = guessed;
            b->d.elsewhere = elsewhere;
            size_t i = ((1 * 16 + 3) * 24 + 5) * 40 + 7;
            put(b, 1, 3, 5, 7, want->reference[i] + 800 * (double)want->bound[i]);
            if (guessed && elsewhere)
                passes(b);
            else
                fails(b, 1, "that one alone");
            put(b, 1, 3, 5, 7, want->reference[i] + 1200 * (double)want->bound[i]);
            fails(b, 1, "that one alone");
            stop(b);
        }
}

/* A missing magnitude explains an error of many bounds in a few elements, but not in half of them. */
static void test_guessed_is_no_excuse(void **state)
{
    struct program program = {.work = {.op = op_find("softmax")}};
    struct op_data data = {0};
    struct verdict v = {.slot = SLOT_OUTPUT, .elements = 1000, .worst_want = 1, .worst_got = 1.01, .worst_bound = 1e-4, .wrong = 3};
    data.at[SLOT_OUTPUT].guessed = true;
    assert_non_null(strstr(failure_hint(&program, &data, &v), "gives no magnitude"));
    v.wrong = 980;
    assert_string_equal(failure_hint(&program, &data, &v), "");
    v.worst_got = 1.003;
    assert_non_null(strstr(failure_hint(&program, &data, &v), "gives no magnitude"));
}

/* A whole number that f16 has not is stored as the nearest one that it has (2,049 lies between two, the even one is 2,048), exactly so. */
static void test_exact_is_of_the_type(void **state)
{
    struct bench *b = start(small(DTYPE_F16, LAYOUT_NCHW), DATA_PART_EXACT);
    size_t i = ((1 * 16 + 3) * 24 + 5) * 40 + 7;
    ((double *)b->d.at[SLOT_OUTPUT].reference)[i] = 2049;
    put(b, 1, 3, 5, 7, 2048);
    passes(b);
    put(b, 1, 3, 5, 7, 2050);
    fails(b, 1, "that one alone");
    stop(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_sums_near_zero),        cmocka_unit_test(test_one_rounding),
                                       cmocka_unit_test(test_smallest_number),       cmocka_unit_test(test_whole_numbers),
                                       cmocka_unit_test(test_whole_numbers_exactly), cmocka_unit_test(test_guessed_elsewhere),
                                       cmocka_unit_test(test_exact_is_of_the_type),  cmocka_unit_test(test_guessed_is_no_excuse)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
