/* kernels/reference/draw: where the special values of a line lie. */
#include "works.h"
#include "kernels/reference/draw.h"
#include "op/convert.h"
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

/* If there are 88 rows or more, then for each lane some row has its maximum in this lane only, behind the first 32 columns; some rows have
 * only far lower values; and in some the maximum exceeds the others by so little that a result of its size hides no error in them. */
static void every_lane_is_higher(void **state)
{
    for (uint64_t seed = 0; seed < SEEDS / 8; seed++)
        for (int op = 0; op < 2; op++) {
            struct work w = rows_of(op ? "softmax" : "reduce", 96, seed);
            float *x = values(&w, DATA_PART_PRECISION);
            bool lanes[32] = {false}, low = false, little = !op;
            for (int64_t row = 0; row < 96; row++) {
                int64_t at = 0;
                for (int64_t i = 1; i < LENGTH; i++)
                    at = x[row * LENGTH + i] > x[row * LENGTH + at] ? i : at;
                float most = x[row * LENGTH + at], second = -INFINITY;
                for (int64_t i = 0; i < LENGTH; i++)
                    second = i != at ? fmaxf(second, x[row * LENGTH + i]) : second;
                lanes[at % 32] |= at >= 32 && most - second > (op ? 100 : 0);
                little |= most - second > 15 && most - second < 40;
                low |= most < -10000;
            }
            for (int lane = 0; lane < 32; lane++)
                if (!lanes[lane])
                    fail_msg("seed %d: lane %d of %s never has the largest value", (int)seed, lane, w.op->name);
            assert_true(little && low == (op == 1));
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
                count += x[i] > most - 15;
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

/* One value of a recipe, by draw.h's functions of one index, as a device computes it (data.cu). */
static float one_value(const struct generate_recipe *r, int64_t i)
{
    float v = 0;
    double normal = draw_normal(r->key, (uint64_t)i);
    switch (r->draw) {
    case DRAW_EXACT: v = draw_exact(r->key, i, r->magnitude, r->unit, r->terms, r->nonzero, r->step); break;
    case DRAW_NORMAL: v = (float)(r->rectify && normal < 0 ? 0 : normal * r->scale + r->mean); break;
    case DRAW_BITS: v = (float)(draw_bits(r->key, (uint64_t)i) >> (64 - r->bits)); break;
    case DRAW_UNIFORM: v = (float)draw_real(r->key, r->turn, i, r->low, r->range, r->higher, r->level, r->length); break;
    case DRAW_ONES: v = draw_one(r->key, i, r->ones); break;
    }
    if (r->draw != DRAW_EXACT && r->draw != DRAW_BITS)
        convert_round(r->round_to, &v, 1);
    if (r->lines.low) {
        struct draw_at at = draw_line_at(&r->lines, i);
        struct draw_line l = draw_compared(r->key, r->turn, at.line, draw_line_length(&r->lines));
        v = draw_in_line(&l, at.place, v, generate_most(r), generate_draws_of(r));
        convert_round(r->round_to, &v, 1);
    }
    return v;
}

/* generate_some makes whole stretches at once: they have the same bits, wherever a stretch begins. */
static void many_are_as_one(void **state)
{
    const struct generate_recipe recipes[] = {
        {.draw = DRAW_EXACT, .exact = true, .magnitude = 1, .unit = 1},
        {.draw = DRAW_EXACT, .exact = true, .magnitude = 7, .unit = 9, .lines = {1, 5, 1, 1}},
        {.draw = DRAW_EXACT, .exact = true, .magnitude = 7, .unit = 1, .lines = {3, 5, 2, 7}},
        {.draw = DRAW_EXACT, .exact = true, .magnitude = 1000, .unit = 1, .terms = 72, .nonzero = 50, .step = 45},
        {.draw = DRAW_EXACT, .exact = true, .magnitude = 3, .unit = 1, .terms = 4096, .nonzero = 1, .step = 2531},
        {.draw = DRAW_EXACT, .exact = true, .magnitude = 2147483647, .unit = 1, .lines = {1, 1, 1, 1}},
        {.draw = DRAW_EXACT, .exact = true, .magnitude = INT64_C(1) << 52, .unit = 2},
        {.draw = DRAW_NORMAL, .scale = 0.3, .mean = 2, .round_to = DTYPE_F16},
        {.draw = DRAW_NORMAL, .scale = 1, .rectify = true, .round_to = DTYPE_BF16, .lines = {1, 333, 1, 1}},
        {.draw = DRAW_BITS, .bits = 8},
        {.draw = DRAW_BITS, .bits = 16, .round_to = DTYPE_U16, .lines = {1, 70, 1, 1}},
        {.draw = DRAW_BITS, .bits = 3, .round_to = DTYPE_U32, .lines = {3, 5, 2, 7}},
        {.draw = DRAW_UNIFORM, .low = -0.125, .range = 0.5, .length = 11, .round_to = DTYPE_F32},
        {.draw = DRAW_UNIFORM, .low = -3, .range = 6, .higher = 90, .level = -20000, .length = 333, .round_to = DTYPE_BF16},
        {.draw = DRAW_UNIFORM, .low = 0, .range = 1, .higher = 5, .level = 9, .length = 2, .round_to = DTYPE_F32},
        {.draw = DRAW_ONES, .ones = 0.3},
        {.draw = DRAW_ONES, .ones = 0.5, .round_to = DTYPE_BOOL, .lines = {1, 40, 1, 1}},
    };
    static const int64_t firsts[] = {0, 1, 71, 8192, 332 * 1000, INT64_C(3221225400)};
    float many[1000];
    for (size_t k = 0; k < sizeof recipes / sizeof *recipes; k++)
        for (uint64_t seed = 0; seed < 8; seed++)
            for (size_t f = 0; f < sizeof firsts / sizeof *firsts; f++) {
                struct generate_recipe r = recipes[k];
                r.key = random_bits(seed, k, 0);
                r.turn = (int)seed;
                r.round_to = r.round_to ? r.round_to : DTYPE_F32;
                size_t count = 1000 - (size_t)(seed * 100 + f);
                generate_some(&r, (size_t)firsts[f], count, many);
                for (size_t i = 0; i < count; i++) {
                    float one = one_value(&r, firsts[f] + (int64_t)i);
                    if (memcmp(&one, &many[i], sizeof one))
                        fail_msg("recipe %zu, seed %d, value %lld: %.9g and %.9g", k, (int)seed, (long long)firsts[f] + (long long)i,
                                 (double)one, (double)many[i]);
                }
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_class_has_the_largest), cmocka_unit_test(every_class_has_the_higher),
        cmocka_unit_test(every_lane_is_higher),        cmocka_unit_test(one_row_has_both),
        cmocka_unit_test(every_size_is_that),          cmocka_unit_test(many_are_as_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
