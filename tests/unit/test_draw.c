/* kernels/reference/draw: where the special values of a line lie. */
#include "works.h"
#include "kernels/reference/draw.h"
#include "op/file/ops.h"
#include "op/reference/generate.h"
#include "op/tensor.h"

#define LENGTH 333
#define SEEDS 200

/* The class of columns that a kernel leaves out: its first 32, its last 13, the middle, every odd one, the first, the last. */
static bool left_out(int class, int64_t at)
{
    switch (class) {
    case 0: return at < 32;
    case 1: return at >= LENGTH / 32 * 32;
    case 2: return at >= LENGTH / 4 && at < LENGTH * 3 / 4;
    case 3: return at % 2 == 1;
    case 4: return at == 0;
    case 5: return at == LENGTH - 1;
    default: return at > 32;
    }
}

static struct work rows_of(const char *op, int64_t rows, uint64_t seed)
{
    struct work w = {.op = op_find(op), .dtype = DTYPE_F32, .layout = LAYOUT_LINEAR, .seed = seed};
    w.value[0] = rows, w.value[1] = LENGTH, w.value[2] = !strcmp(op, "reduce");
    finish(&w);
    return w;
}

static float *values(const struct work *w, enum data_part part)
{
    struct tensor list[OP_MAX_TENSORS];
    w->op->tensors(w, list);
    float *x = xmalloc(tensor_elements(&list[0]) * sizeof *x);
    generate_tensor(w, &list[0], part, x);
    return x;
}

/* The largest value with and without the columns of the class. */
static bool shows(const float *x, int class)
{
    float all = -INFINITY, some = -INFINITY;
    for (int64_t i = 0; i < LENGTH; i++) {
        all = fmaxf(all, x[i]);
        some = left_out(class, i) ? some : fmaxf(some, x[i]);
    }
    return some < all;
}

/* Of 16 rows some has its largest value in each class of columns, for every seed. */
static void every_class_has_the_largest(void **state)
{
    for (int class = 0; class < 7; class ++)
        for (uint64_t seed = 0, missed = 0; seed < SEEDS; seed++) {
            struct work w = rows_of("reduce", 16, seed);
            bool seen = false;
            for (int part = 0; part < 2; part++) {
                float *x = values(&w, (enum data_part)part);
                for (int64_t row = 0; row < 16; row++)
                    seen |= shows(x + row * LENGTH, class);
                free(x);
            }
            missed += !seen;
            if (missed > (class > 3 ? SEEDS / 2 : class ? 0 : SEEDS / 10)) /* one column is met by chance */
                fail_msg("class %d: %d of %d seeds never have their largest value there", class, (int)missed, (int)seed + 1);
        }
}

/* A softmax that overlooks a class overflows in one row or more of 16. */
static void every_class_has_the_higher(void **state)
{
    for (int class = 0; class < 7; class ++)
        for (uint64_t seed = 0, missed = 0; seed < SEEDS; seed++) {
            struct work w = rows_of("softmax", 16, seed);
            bool seen = false;
            for (int part = 0; part < 2; part++) {
                float *x = values(&w, (enum data_part)part);
                for (int64_t row = 0; row < 16; row++) {
                    float all = -INFINITY, some = -INFINITY;
                    for (int64_t i = 0; i < LENGTH; i++) {
                        all = fmaxf(all, x[row * LENGTH + i]);
                        some = left_out(class, i) ? some : fmaxf(some, x[row * LENGTH + i]);
                    }
                    seen |= all - some > 100;
                }
                free(x);
            }
            missed += !seen;
            if (missed > (class > 3 && class < 6 ? SEEDS / 2 : class ? 0 : SEEDS / 10))
                fail_msg("class %d: %d of %d seeds never overflow there", class, (int)missed, (int)seed + 1);
        }
}

/* Of 88 rows and more, some has its largest value alone in each lane of a warp behind the first 32 columns; and all values of some are far
 * lower. */
static void every_lane_is_higher(void **state)
{
    for (uint64_t seed = 0; seed < SEEDS / 8; seed++)
        for (int op = 0; op < 2; op++) {
            struct work w = rows_of(op ? "softmax" : "reduce", 96, seed);
            float *x = values(&w, DATA_PART_PRECISION);
            bool lanes[32] = {false}, low = false;
            for (int64_t row = 0; row < 96; row++) {
                int64_t at = 0;
                for (int64_t i = 1; i < LENGTH; i++)
                    at = x[row * LENGTH + i] > x[row * LENGTH + at] ? i : at;
                float most = x[row * LENGTH + at], second = -INFINITY;
                for (int64_t i = 0; i < LENGTH; i++)
                    second = i != at ? fmaxf(second, x[row * LENGTH + i]) : second;
                lanes[at % 32] |= at >= 32 && most - second > (op ? 100 : 0);
                low |= most < -10000;
            }
            for (int lane = 0; lane < 32; lane++)
                if (!lanes[lane])
                    fail_msg("seed %d: lane %d of %s never has the largest value", (int)seed, lane, w.op->name);
            assert_true(low == (op == 1));
            free(x);
        }
}

/* One row: in one of the two parts a place alone is higher, in the other its sum has many terms. */
static void one_row_has_both(void **state)
{
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct work w = rows_of("softmax", 1, seed);
        int alone = 0;
        for (int part = 0; part < 2; part++) {
            float *x = values(&w, (enum data_part)part), most = -INFINITY, count = 0;
            for (int64_t i = 0; i < LENGTH; i++)
                most = fmaxf(most, x[i]);
            for (int64_t i = 0; i < LENGTH; i++)
                count += x[i] > most - 100;
            alone += count == 1;
            free(x);
        }
        assert_int_equal(alone, 1);
    }
}

/* Values of every size: up to the largest of the type, and down to its least, with the op's result still finite. */
static void every_size_is_that(void **state)
{
    for (enum dtype t = DTYPE_F32; t <= DTYPE_BF16; t++) {
        struct work w = {.op = op_find("transpose"), .dtype = t, .layout = LAYOUT_LINEAR, .seed = 3, .every_size = SIZES_ALL};
        w.value[0] = 400, w.value[1] = LENGTH;
        finish(&w);
        float *x = values(&w, DATA_PART_PRECISION), most = 0, least = INFINITY;
        for (int64_t i = 0; i < 400 * LENGTH; i++) {
            assert_true(isfinite(x[i]));
            most = fmaxf(most, fabsf(x[i]));
            least = x[i] != 0 ? fminf(least, fabsf(x[i])) : least;
        }
        assert_true(most > (t == DTYPE_F16 ? 16384 : 0x1p126f));
        assert_true(least < (t == DTYPE_F16 ? 0x1p-20f : 0x1p-130f));
        free(x);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_class_has_the_largest), cmocka_unit_test(every_class_has_the_higher),
        cmocka_unit_test(every_lane_is_higher),        cmocka_unit_test(one_row_has_both),
        cmocka_unit_test(every_size_is_that),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
