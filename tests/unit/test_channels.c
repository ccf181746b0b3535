/* Ops whose second tensor or window is that of a whole image: mul_channels, pool_global. */
#include "works.h"
#include "op/shape.h"
#include "op/reference/data.h"

static void factors_of_channels(void **state)
{
    struct work w = simple_work("mul_channels", 5, 4, 3);
    struct op_data d;
    struct tensor t;
    w.n = 2;
    finish(&w);
    assert_true(work_tensor(&w, "second", &t) && tensor_elements(&t) == 10 && work_bytes(&w) == 2.0 * (2 * 120 + 10));
    for (int part = 0; part < 2; part++) {
        make_data(&w, (enum data_part)part, &d);
        for (int64_t i = 0; i < 120; i++)
            assert_true(d.at[SLOT_OUTPUT].reference[i] == (double)d.at[SLOT_INPUT].value[i] * (double)d.at[SLOT_SECOND].value[i / 12]);
        op_data_free(&d);
    }
}

static void means_of_images(void **state)
{
    struct work w = simple_work("pool_global", 5, 37, 41);
    struct op_data d;
    w.n = 2;
    finish(&w);
    assert_true(w.p == 1 && w.q == 1 && w.k == 5);
    make_data(&w, DATA_PART_PRECISION, &d);
    for (int64_t c = 0; c < 10; c++) {
        double sum = 0;
        for (int64_t i = 0; i < 37 * 41; i++)
            sum += (double)d.at[SLOT_INPUT].value[c * 37 * 41 + i];
        assert_true(fabs(d.at[SLOT_OUTPUT].reference[c] - sum / (37 * 41)) < 1e-13 && d.at[SLOT_OUTPUT].bound[c] > 0);
    }
    op_data_free(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(factors_of_channels), cmocka_unit_test(means_of_images)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
