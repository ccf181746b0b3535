/* op/reference/generate: infinities in the data of an op whose file allows them. */
#include "works.h"
#include "op/file/ops.h"
#include "op/reference/data.h"
#include "op/reference/generate.h"
#include <math.h>
#include <string.h>

static int set_up(void **state)
{
    static const char *const files[] = {"tests/cli/specials/most.yaml", "tests/cli/every-place/ops", "tests/cli/long-sums/ops", NULL};
    struct error err = {0};
    if (!op_load(files, &err))
        fail_msg("%s", err.text);
    return 0;
}

static void make_inputs(struct work *w, struct op_data *d)
{
    struct error err = {0};
    if (!work_finish(w, &err) || !op_data_inputs(w, DATA_PART_PRECISION, d, &err))
        fail_msg("%s", err.text);
}

/* The largest of each of so many rows. */
static struct work most_of(int rows, int cols, uint64_t seed)
{
    return (struct work){.op = op_find("most"), .dtype = DTYPE_F32, .layout = LAYOUT_LINEAR, .seed = seed, .value = {rows, cols}};
}

/* Of a few rows, too, one has nothing but -inf and one nothing but inf: there a largest element that begins at a number is wrong. */
static void a_row_of_each_infinity(void **state)
{
    for (int rows = 4; rows < 12; rows++)
        for (uint64_t seed = 1; seed <= 20; seed++) {
            struct work w = most_of(rows, 9, seed);
            struct op_data d;
            int least = 0, most = 0;
            w.specials = true;
            make_inputs(&w, &d);
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
    int infinite = 0;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        struct work w = most_of(1, 9, seed);
        struct op_data d;
        int high = 0;
        w.specials = true;
        make_inputs(&w, &d);
        for (int i = 0; i < 9; i++)
            high += isinf(op_data_of(w.op, &d, "input")->value[i]) != 0;
        infinite += high == 9;
        op_data_free(&d);
    }
    assert_in_range(infinite, 1, 15);
}

/* For an op that selects, a sweep over its lines puts the maximum, and the minimum, at every position; if there are fewer lines, at both
 * ends and at equal distances. The sweep's parts repeat no position. */
static void a_sweep_reaches_every_place(void **state)
{
    for (int cols = 2; cols < 200; cols += 33)
        for (int lines = 3; lines < 500; lines += 70) {
            int high[200] = {0}, low[200] = {0}, apart = 3 * lines < cols ? (cols + 3 * lines - 5) / (3 * lines - 4) : 1;
            for (int part = 0; part < 3; part++) {
                struct work w = most_of(lines, cols, 5);
                struct op_data d;
                struct generate_selection of;
                w.sweep.first = part * lines, w.sweep.of = w.sweep.each = 3 * lines;
                make_inputs(&w, &d);
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
                assert_true(here > 0 && below > 0 && (3 * lines > cols || high[i] < 3));
            }
        }
}

/* Lines along two groups of axes, for each kind of type. If the result is an index, lines of every third turn have their maximum twice. */
static void lines_need_not_be_consecutive(void **state)
{
    enum { N = 3, C = 192, P = 7, LENGTH = N * P };
    static const enum dtype types[] = {DTYPE_F32, DTYPE_I8, DTYPE_E4M3};
    for (size_t type = 0; type < sizeof types / sizeof *types; type++) {
        struct work w = {.op = op_find("places"), .dtype = types[type], .layout = LAYOUT_LINEAR, .seed = 7, .value = {N, C, P}};
        struct op_data d;
        struct generate_selection of;
        int decided[LENGTH] = {0}, twice[LENGTH] = {0};
        w.sweep.of = C, w.sweep.each = C / 3;
        make_inputs(&w, &d);
        assert_true(generate_selects(&w, &of) && of.count == C && of.length == LENGTH);
        assert_int_equal(of.kind, types[type] == DTYPE_I8 ? SWEEP_TIES | SWEEP_WHOLE : SWEEP_TIES);
        const float *value = op_data_of(w.op, &d, "input")->value;
        for (int c = 0; c < C; c++) {
            float most = 0;
            int equal = 0;
            for (int i = 0; i < LENGTH; i++)
                most = fmaxf(most, fabsf(value[(i / P * C + c) * P + i % P]));
            for (int i = 0; i < LENGTH; i++)
                if (fabsf(value[(i / P * C + c) * P + i % P]) == most)
                    equal++, (c / (C / 3 * 2) ? twice : decided)[i]++;
            assert_in_range(equal, 1, 1 + c / (C / 3 * 2));
        }
        for (int i = 0; i < LENGTH; i++)
            assert_true(decided[i] > 1 && twice[i] > 0);
        op_data_free(&d);
    }
}

/* What the files of ops say of their lines; sums, means of values that are near each other, and what only moves values have none. */
static void ops_that_select(void **state)
{
    static const struct {
        const char *op;
        int64_t values[6], count, length;
    } ops[] = {{"softmax", {9, 300}, 9, 300}, {"softmax_channels", {2, 30, 4, 5, 0}, 40, 30},
               {"reduce", {7, 90, 1}, 7, 90}, {"reduce", {7, 90, 0}, 0, 0},
               {"rmsnorm", {7, 90}, 0, 0},    {"transpose", {40, 33}, 0, 0},
               {"gemm", {20, 30, 40}, 0, 0},  {"matmul", {20, 30, 40, 1, 1}, 0, 0}};
    struct error err = {0};
    struct work image = {
        .op = op_find("brightest"), .dtype = DTYPE_F16, .layout = LAYOUT_NHWC, .n = 2, .c = 5, .h = 7, .w = 9, .k = 5, .seed = 7};
    struct generate_selection channels;
    if (!work_finish(&image, &err))
        fail_msg("%s", err.text);
    assert_true(generate_selects(&image, &channels) && channels.count == 10 && channels.length == 63);
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        struct work w = {.op = op_find(ops[i].op), .dtype = DTYPE_F32, .layout = LAYOUT_LINEAR, .seed = 7};
        struct generate_selection of = {0};
        w.layout = w.op->layouts >> LAYOUT_LINEAR & 1 ? LAYOUT_LINEAR : LAYOUT_NHWC;
        memcpy(w.value, ops[i].values, sizeof ops[i].values);
        if (!work_finish(&w, &err))
            fail_msg("%s: %s", ops[i].op, err.text);
        assert_int_equal(generate_selects(&w, &of), ops[i].count > 0);
        if (ops[i].count)
            assert_true(of.count == ops[i].count && of.length == ops[i].length && of.kind == SWEEP_LARGEST);
    }
}

/* Each position decides in lines of every remainder: by 2 within two turns, by 4 within four and by 32 within 32. So a kernel that
 * overlooks a position in every second line, or in one lane of each warp, is found. Every third turn has ties, if there are any. With whole
 * numbers, a value other than 0 decides alone in half of the turns (with ties a third), and a 0 in the others. */
static void turns_meet_other_lines(void **state)
{
    for (int64_t length = 20; length < 66; length += 5)
        for (int kind = 0; kind < 4; kind++) {
            bool ties = kind & SWEEP_TIES, whole = kind & SWEEP_WHOLE;
            const int64_t each = draw_sweep_turn(length), period = ties ? 3 : whole ? 2 : 1, turns = 32 * (ties && !whole ? 2 : period);
            struct draw_sweep s = {{1, length, turns * each, 1}, length - 3, 0, turns * each, each, kind, {2, 0}, {whole ? 0 : -1, 0}, 2};
            uint32_t rests[2][66] = {0};
            int64_t met[2] = {0};
            for (int64_t turn = 0; turn < turns; turn++) {
                bool zeros = whole && turn % period == 1, tie = ties && turn % 3 == 2;
                for (int64_t line = turn * each; line < (turn + 1) * each; line++) {
                    int count[3] = {0}, at[3] = {0};
                    for (int64_t i = 0; i < length; i++) {
                        int v = (int)draw_in_sweep(&s, 9, line * length + i, 1);
                        v = v < 0 ? 0 : v;
                        count[v]++, at[v] = (int)i;
                    }
                    assert_in_range(count[2], 1, 1 + tie);
                    assert_int_equal(count[1] == 0, zeros);
                    if (!zeros && !tie)
                        assert_int_equal(count[0], 1);
                    if (whole && !zeros && count[0]) /* no place if another value of a tie is there */
                        rests[0][at[0]] |= UINT32_C(1) << line % 32;
                    if (!tie && (!whole || zeros))
                        rests[1][at[2]] |= UINT32_C(1) << line % 32;
                }
                met[0] += whole && !zeros && !tie;
                met[1] += !tie && (!whole || zeros);
                for (int64_t which = 0; which < 2; which++)
                    for (int64_t rest = 2; rest <= 32 && rest <= met[which]; rest *= 2)
                        for (int64_t i = 0; i < length; i++)
                            for (int64_t k = 0; k < rest; k++) {
                                uint32_t of = 0;
                                for (int64_t m = k; m < 32; m += rest)
                                    of |= rests[which][i] >> m & 1;
                                assert_true(of);
                            }
            }
        }
}

/* If there are fewer lines than positions, both ends of a line decide, in both kinds of lines of 0 and 1. If there is one turn, every
 * position decides in one of both kinds. */
static void few_lines_meet_both_ends(void **state)
{
    for (int64_t length = 50; length < 900; length += 77)
        for (int64_t each = 7; each < 2 * length; each = each == 7 ? draw_sweep_turn(length) : 2 * length)
            for (int whole = 0; whole < 2; whole++) {
                struct draw_sweep s = {{1, length, each, 1}, length / 3, 0, each, each, whole * SWEEP_ONES, {2, 0}, {whole ? 0 : -1, 0}, 2};
                bool most[900] = {0}, least[900] = {0}, alone[900] = {0};
                for (int64_t line = 0; line < each; line++) {
                    int64_t zeros = 0, high = 0, low = 0;
                    for (int64_t i = 0; i < length; i++) {
                        float v = draw_in_sweep(&s, 9, line * length + i, 1);
                        zeros += v == 0;
                        high = v == 2 ? i : high;
                        low = v == s.dip[0] ? i : low;
                    }
                    most[high] = true;
                    *(zeros > 1 ? &alone[high] : &least[low]) = true;
                }
                for (int64_t i = 0; i<length; i += each> length ? 1 : length - 1)
                    assert_true(most[i] && (each > length && whole ? alone[i] || least[(i + length / 2) % length] : least[i]));
                assert_true(!whole || each > length || (alone[0] && alone[length - 1]));
            }
}

/* Where exponentials are summed the deciding value is so far above the others that one of the difference overflows. */
static void a_sweep_of_sums_overflows(void **state)
{
    enum { ROWS = 50, COLS = 50 };
    struct work w = {.op = op_find("softmax"), .dtype = DTYPE_F16, .layout = LAYOUT_LINEAR, .seed = 3, .value = {ROWS, COLS}};
    struct op_data d;
    int decided[COLS] = {0};
    w.sweep.of = w.sweep.each = ROWS;
    make_inputs(&w, &d);
    const float *value = op_data_of(w.op, &d, "input")->value;
    for (int row = 0; row < ROWS; row++)
        for (int i = 0; i < COLS; i++) {
            decided[i] += value[row * COLS + i] > 200;
            assert_true(value[row * COLS + i] <= 235 && (value[row * COLS + i] > 200 || value[row * COLS + i] <= 5));
        }
    for (int i = 0; i < COLS; i++)
        assert_int_equal(decided[i], 1);
    op_data_free(&d);
}

/* Few values of each line: together as many in the two halves, none twice, at equal places in all inputs that are summed in pairs. */
static void few_values_of_a_sum(void **state)
{
    enum { ROWS = 7, COLS = 1003 };
    for (uint64_t seed = 1; seed < 9; seed++) {
        struct op_data d[3];
        const float *x[3];
        int count[3][ROWS] = {{0}};
        for (int i = 0; i < 3; i++) {
            struct work w = {.op = op_find("products"), .dtype = DTYPE_F32, .layout = LAYOUT_LINEAR, .seed = seed, .value = {ROWS, COLS}};
            struct generate_selection of;
            w.few = FEW_ALL + (enum few)i;
            make_inputs(&w, &d[i]);
            assert_true(generate_selects(&w, &of) && of.count == ROWS && of.length == COLS);
            const float *y = op_data_of(w.op, &d[i], "other")->value;
            x[i] = op_data_of(w.op, &d[i], "input")->value;
            for (int k = 0; k < ROWS * COLS; k++) {
                uint32_t bits;
                memcpy(&bits, &x[i][k], sizeof bits);
                assert_true((x[i][k] != 0) == (y[k] != 0));
                assert_true(x[i][k] == 0 || ((bits & 0xffff) == 0x5555 && fabsf(x[i][k]) >= 1 && fabsf(x[i][k]) < 2));
                count[i][k / COLS] += x[i][k] != 0;
            }
        }
        for (int k = 0; k < ROWS * COLS; k++)
            assert_true(x[0][k] == x[1][k] + x[2][k]);
        for (int row = 0; row < ROWS; row++)
            assert_true(count[0][row] >= 5 && count[0][row] <= 8 && count[0][row] == count[1][row] + count[2][row] && count[2][row] > 1);
        for (int i = 0; i < 3; i++)
            op_data_free(&d[i]);
        struct work ones = {
            .op = op_find("products"), .dtype = DTYPE_F32, .layout = LAYOUT_LINEAR, .seed = seed, .few = FEW_ONES, .value = {ROWS, COLS}};
        make_inputs(&ones, &d[0]);
        for (int k = 0; k < ROWS * COLS; k++)
            assert_true(fabsf(op_data_of(ones.op, &d[0], "input")->value[k]) == 1 &&
                        fabsf(op_data_of(ones.op, &d[0], "other")->value[k]) == 2);
        op_data_free(&d[0]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_row_of_each_infinity),
                                       cmocka_unit_test(a_line_alone_is_mixed),
                                       cmocka_unit_test(a_sweep_reaches_every_place),
                                       cmocka_unit_test(few_lines_meet_both_ends),
                                       cmocka_unit_test(lines_need_not_be_consecutive),
                                       cmocka_unit_test(ops_that_select),
                                       cmocka_unit_test(turns_meet_other_lines),
                                       cmocka_unit_test(a_sweep_of_sums_overflows),
                                       cmocka_unit_test(few_values_of_a_sum)};
    return cmocka_run_group_tests(tests, set_up, NULL);
}
