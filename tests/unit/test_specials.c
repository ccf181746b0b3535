/* op/reference/generate: infinities in the data of an op whose file allows them. */
#include "works.h"
#include "op/file/ops.h"
#include "op/reference/data.h"
#include "op/reference/generate.h"
#include <math.h>

static int set_up(void **state)
{
    static const char *const files[] = {"tests/cli/specials/most.yaml", NULL};
    struct error err = {0};
    if (!op_load(files, &err))
        fail_msg("%s", err.text);
    return 0;
}

/* The largest of each of so many rows. */
static struct work most_of(int rows, int cols, uint64_t seed)
{
    return (struct work){.op = op_find("most"), .dtype = DTYPE_F32, .layout = LAYOUT_LINEAR, .seed = seed, .value = {rows, cols}};
}

/* Of a few rows, too, one has nothing but -inf and one nothing but inf: there a largest element that begins at a number is wrong. */
static void a_row_of_each_infinity(void **state)
{
    struct error err = {0};
    for (int rows = 4; rows < 12; rows++)
        for (uint64_t seed = 1; seed <= 20; seed++) {
            struct work w = most_of(rows, 9, seed);
            struct op_data d;
            int least = 0, most = 0;
            w.specials = true;
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

/* A line alone is rarely nothing but an infinity: then nothing else of it would be looked at. */
static void a_line_alone_is_mixed(void **state)
{
    struct error err = {0};
    int infinite = 0;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        struct work w = most_of(1, 9, seed);
        struct op_data d;
        int high = 0;
        w.specials = true;
        assert_true(work_finish(&w, &err) && op_data_inputs(&w, DATA_PART_PRECISION, &d, &err));
        for (int i = 0; i < 9; i++)
            high += isinf(op_data_of(w.op, &d, "input")->value[i]) != 0;
        infinite += high == 9;
        op_data_free(&d);
    }
    assert_in_range(infinite, 1, 15);
}

/* A sweep over lines of an op that selects puts the largest value, and the least, at every place of them; if there are fewer lines, at
 * places equally far apart. Its parts do not repeat one. */
static void a_sweep_reaches_every_place(void **state)
{
    struct error err = {0};
    for (int cols = 2; cols < 200; cols += 33)
        for (int lines = 3; lines < 500; lines += 70) {
            int high[200] = {0}, low[200] = {0}, apart = (cols + 3 * lines - 1) / (3 * lines);
            for (int part = 0; part < 3; part++) {
                struct work w = most_of(lines, cols, 5);
                struct op_data d;
                struct generate_lines of;
                w.sweep.first = part * lines, w.sweep.of = 3 * lines;
                if (!work_finish(&w, &err) || !op_data_inputs(&w, DATA_PART_PRECISION, &d, &err))
                    fail_msg("%s", err.text);
                assert_true(generate_selects(&w, &of) && of.count == lines && of.length == cols);
                const float *value = op_data_of(w.op, &d, "input")->value;
                for (int row = 0; row < lines; row++) {
                    int most = 0, least = 0, equal = 0;
                    for (int i = 0; i < cols; i++) {
                        const float *v = value + row * cols;
                        most = v[i] > v[most] ? i : most;
                        least = v[i] < v[least] ? i : least;
                    }
                    for (int i = 0; i < cols; i++)
                        equal += fabsf(value[row * cols + i]) >= value[row * cols + most];
                    assert_int_equal(equal, 1);
                    high[most]++, low[least]++;
                }
                op_data_free(&d);
            }
            for (int i = 0; i < cols; i++) {
                int here = 0, below = 0;
                for (int k = 0; k < apart; k++)
                    here += high[(i + k) % cols], below += low[(i + k) % cols];
                assert_true(here > 0 && below > 0 && (3 * lines > cols || high[i] < 2));
            }
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_row_of_each_infinity), cmocka_unit_test(a_line_alone_is_mixed),
                                       cmocka_unit_test(a_sweep_reaches_every_place)};
    return cmocka_run_group_tests(tests, set_up, NULL);
}
