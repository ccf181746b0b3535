/* base/scales: a gap of many powers of two separates scales, a few tiny values do not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "base/scales.h"
#include <math.h>
#include <stdlib.h>

static struct scales of(const double *values, size_t count)
{
    struct scale_counts *counts = calloc(1, sizeof *counts);
    scale_count(counts, values, count);
    struct scales s = scales_of(counts);
    free(counts);
    return s;
}

static void test_one_scale(void **state)
{
    double v[256];
    (void)state;
    for (int i = 0; i < 256; i++)
        v[i] = i % 2 ? 0.5 + i : -1.0 / (1 + i);
    assert_int_equal(of(v, 256).count, 1);
    v[3] = 1e-30; /* what cancelled */
    v[4] = 0;
    v[5] = INFINITY;
    v[6] = NAN;
    assert_int_equal(of(v, 256).count, 1);
    for (int i = 0; i < 256; i++)
        v[i] = ldexp(1, i % 16 * SCALE_GAP_OF_MANY);
    assert_int_equal(of(v, 256).count, 1);
    for (int i = 0; i < 256; i++)
        v[i] = i < 31 ? 1 : ldexp(1, SCALE_GAP);
    assert_int_equal(of(v, 256).count, 1);
    for (int i = 0; i < 16; i++)
        v[i] = i < 7 ? 1 : 250;
    assert_int_equal(of(v, 16).count, 1);
    assert_int_equal(of(v, 0).count, 1);
}

/* Lines of softmax: logarithms of their sums, beside lines that were masked. */
static void test_scales_of_many(void **state)
{
    double v[40];
    (void)state;
    for (int i = 0; i < 40; i++)
        v[i] = i % 4 ? 5 + i % 7 : -60000 - i;
    struct scales s = of(v, 40);
    assert_int_equal(s.count, 2);
    assert_int_equal(scale_of(&s, 11), 0);
    assert_int_equal(scale_of(&s, -60000), 1);
    for (int i = 0; i < 40; i++)
        v[i] = i % 5 ? ldexp(1, SCALE_GAP_OF_MANY + 1) : 1;
    assert_int_equal(of(v, 40).count, 2);
}

static void test_scales(void **state)
{
    double v[96], usual[SCALES_MOST];
    (void)state;
    for (int i = 0; i < 96; i++)
        v[i] = i % 3 == 0 ? -1e9 : i % 3 == 1 ? 3e38 : 0.25 + i;
    struct scales s = of(v, 96);
    assert_int_equal(s.count, 3);
    assert_int_equal(scale_of(&s, 0), 0);
    assert_int_equal(scale_of(&s, -95), 0);
    assert_int_equal(scale_of(&s, -1e9), 1);
    assert_int_equal(scale_of(&s, 3e38), 2);
    assert_int_equal(scale_of(&s, NAN), 2);
    scales_usual(&s, v, 96, usual);
    assert_true(usual[0] > 40 && usual[0] < 70);
    assert_true(fabs(usual[1] / (1e9 * sqrt(0.5)) - 1) < 1e-9);
    assert_true(fabs(usual[2] / (3e38 * sqrt(1 / 3.0)) - 1) < 1e-9);
    v[1] = INFINITY; /* no part of a mean */
    scales_usual(&s, v, 96, usual);
    assert_true(isfinite(usual[2]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_one_scale), cmocka_unit_test(test_scales_of_many),
                                       cmocka_unit_test(test_scales)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
