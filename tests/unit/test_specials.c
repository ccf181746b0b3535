/* op/reference/generate: infinities in the data of an op whose file allows them. */
#include "works.h"
#include "op/file/ops.h"
#include "op/reference/data.h"
#include <math.h>

/* Of a few rows, too, one has nothing but -inf and one nothing but inf: there a largest element that begins at a number is wrong. */
static void a_row_of_each_infinity(void **state)
{
    static const char *const files[] = {"tests/cli/specials/most.yaml", NULL};
    struct error err = {0};
    if (!op_load(files, &err))
        fail_msg("%s", err.text);
    for (int rows = 4; rows < 12; rows++)
        for (uint64_t seed = 1; seed <= 20; seed++) {
            struct work w = {.op = op_find("most"), .dtype = DTYPE_F32, .layout = LAYOUT_LINEAR, .seed = seed, .specials = true};
            struct op_data d;
            int least = 0, most = 0;
            memcpy(w.value, (const int64_t[]){rows, 9}, 2 * sizeof(int64_t));
            assert_true(work_finish(&w, &err) && op_data_inputs(&w, DATA_PART_PRECISION, &d, &err));
            const float *value = op_data_of(w.op, &d, "input")->value;
            for (int row = 0; row < rows; row++) {
                int low = 0, high = 0;
                for (int i = 0; i < 9; i++) {
                    low += value[9 * row + i] == -INFINITY;
                    high += value[9 * row + i] == INFINITY;
                }
                least += low == 9, most += high == 9;
            }
            assert_true(least > 0 && most > 0);
            op_data_free(&d);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_row_of_each_infinity)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
