/* measure/verify/verify: kernels that are wrong in one way each must be found and named, and right ones must pass.
 */
#include "verify_bench.h"
#include "base/file.h"
#include "op/reference/bound.h"
#include "op/file/ops.h"
#include "op/reach.h"
#include <stdio.h>
#include <unistd.h>

static void test_right(void **state)
{
    static const enum dtype types[] = {DTYPE_F32, DTYPE_F16, DTYPE_BF16};
    for (int t = 0; t < 3; t++)
        for (int l = 0; l < 2; l++)
            for (int part = 0; part < 2; part++) {
                struct work w = small(types[t], l ? LAYOUT_NCHW : LAYOUT_NHWC);
                add_item(&w, EPILOGUE_BIAS), add_item(&w, EPILOGUE_LEAKY_RELU);
                struct bench *b = start(w, (enum data_part)part);
                passes(b);
                assert_true(b->v.error_over_bound < 1);
                stop(b);
            }
    struct bench *b = start(small(DTYPE_F16, LAYOUT_NHWC), DATA_PART_EXACT);
    for (int64_t i = 0; i < 40; i++)
        if (get(b, 0, 3, 5, i) == 0)
            put(b, 0, 3, 5, i, -0.0); /* a zero of either sign is a zero */
    passes(b);
    assert_string_equal(b->v.text, "exact");
    stop(b);
}

/* Behind a relu or a clip no tolerance makes a value right that is beyond its range. */
static void test_activations_have_ranges(void **state)
{
    static const enum epilogue_kind kinds[] = {EPILOGUE_RELU, EPILOGUE_CLIP};
    for (int k = 0; k < 2; k++) {
        struct work w = small(DTYPE_F32, LAYOUT_NCHW);
        add_item(&w, kinds[k]);
        w.epilogue[0].alpha = -0.25, w.epilogue[0].most = 0.5;
        struct bench *b = start(w, DATA_PART_PRECISION);
        const struct op_values *want = &b->d.at[SLOT_OUTPUT];
        double least = k ? -0.25 : 0, most = k ? 0.5 : INFINITY;
        int below = 0, above = 0;
        for (int64_t x = 0; x < 40; x++) {
            size_t i = (size_t)(((1 * 16 + 3) * 24 + 5) * 40 + x);
            double half = 0.5 * want->bound[i], y = want->reference[i], was = get(b, 1, 3, 5, x);
            if (y != least && y != most)
                continue;
            below += y == least, above += y == most;
            put(b, 1, 3, 5, x, y == least ? y + half : y - half); /* not beyond it */
            passes(b);
            put(b, 1, 3, 5, x, y == least ? y - half : y + half);
            fails(b, 1, "that one alone");
            assert_non_null(strstr(b->v.text, y == least ? "less than its activation can leave" : "more than its activation can leave"));
            put(b, 1, 3, 5, x, was);
        }
        assert_true(below > 3 && (!k || above > 3));
        stop(b);
    }
}

static void test_precision_tolerance(void **state)
{
    struct bench *b = start(small(DTYPE_F32, LAYOUT_NCHW), DATA_PART_PRECISION);
    size_t i = ((1 * 16 + 3) * 24 + 5) * 40 + 7;
    put(b, 1, 3, 5, 7, b->d.at[SLOT_OUTPUT].reference[i] + 0.9 * b->d.at[SLOT_OUTPUT].bound[i]);
    passes(b);
    assert_true(b->v.error_over_bound > 0.8 && b->v.error_over_bound <= 0.95);
    put(b, 1, 3, 5, 7, b->d.at[SLOT_OUTPUT].reference[i] + 1.3 * b->d.at[SLOT_OUTPUT].bound[i]);
    fails(b, 1, "that one alone");
    assert_true(b->v.worst_at[0] == 1 && b->v.worst_at[1] == 3 && b->v.worst_at[2] == 5 && b->v.worst_at[3] == 7);
    assert_non_null(strstr(b->v.text, "output(1,3,5,7)"));
    assert_non_null(strstr(b->v.text, "1 of 30,720 elements"));
    char allowed[32];
    snprintf(allowed, sizeof allowed, " ±%.2g; ",
             verify_tolerance_of(&(struct verify_look){.factor = 1, .t = b->o}, b->v.worst_want, b->d.at[SLOT_OUTPUT].bound[i], 0));
    assert_non_null(strstr(b->v.text, allowed));
    assert_true(b->v.worst_error / b->v.worst_bound == b->v.error_over_bound && b->v.error_over_bound > 1);
    assert_true(b->v.unwritten == 0 && !strstr(b->v.text, "not written")); /* a value is no poison */
    poison(b, 1, 3, 5, 7);
    fails(b, 1, "that one alone");
    assert_true(b->v.unwritten == 1 && strstr(b->v.text, "was not written"));
    put(b, 1, 3, 5, 7, b->d.at[SLOT_OUTPUT].reference[i] + 1.3 * b->d.at[SLOT_OUTPUT].bound[i]);
    free(b->p.algorithm);
    b->p.algorithm = strdup("winograd");
    passes(b);
    put(b, 1, 3, 5, 7, b->d.at[SLOT_OUTPUT].reference[i] + 1.1 * bound_factor("winograd", &b->p.work) * b->d.at[SLOT_OUTPUT].bound[i]);
    fails(b, 1, "");
    assert_true(bound_factor("direct", &b->p.work) == 1 && bound_factor("winograd", &b->p.work) > 16); /* f32 rounds: room for the tile */
    stop(b);
    struct work cut = {.op = op_find("conv2d"), .math = MATH_TF32, .dtype = DTYPE_F32, .c = 8, .r = 3, .s = 3};
    assert_true(bound_factor("direct", &cut) == 1 && bound_factor("winograd", &cut) == 16 && bound_factor("my words", &cut) == 1);
    /* 64 channels and 3x3 in f16: 578 roundings of 2^-24 each, twice, against 6 / 24 of 2^-11 */
    struct work deep = {.op = op_find("upsample_conv2d"), .block = 2, .math = MATH_F16_ACC32, .dtype = DTYPE_F16, .c = 64, .r = 3, .s = 3};
    double most = 2 * 6 * sqrt(578) * 0x1p-24, factor = bound_factor("collapsed", &deep);
    assert_true(fabs(factor - (1 + 0x1p-11 * 0.25 * (1 - most) / most)) < 1e-9 && factor > 8 && factor < 9);
}

/* Each case breaks a fresh copy in one way. */
static void test_places(void **state)
{
    for (int l = 0; l < 2; l++) {
        struct bench *b = start(small(DTYPE_F16, l ? LAYOUT_NCHW : LAYOUT_NHWC), DATA_PART_EXACT);
        size_t bytes = tensor_bytes(&b->o);
        char *good = malloc(bytes);
        memcpy(good, b->storage, bytes);
#define EVERY(condition, action) \
    memcpy(b->storage, good, bytes); \
    for (int64_t n = 0; n < 2; n++) \
        for (int64_t c = 0; c < 16; c++) \
            for (int64_t y = 0; y < 24; y++) \
                for (int64_t x = 0; x < 40; x++) \
                    if (condition) \
                        action;
        EVERY(x == 39, poison(b, n, c, y, x));
        fails(b, 2 * 16 * 24, "all in column 39: never written");
        assert_true(b->v.unwritten == b->v.wrong && b->v.nan == 0);
        assert_non_null(strstr(b->v.text, "was not written"));
        EVERY(y == 23, put(b, n, c, y, x, get(b, n, c, y, x) + 1));
        fails(b, 2 * 16 * 40, "all in row 23");
        assert_true(b->v.worst_at[0] == 0 && b->v.worst_at[1] == 0 && b->v.worst_at[2] == 23 &&
                    b->v.worst_at[3] == 0); /* the first of equals */
        assert_true(b->v.worst_error == 1);
        EVERY(c == 5, put(b, n, c, y, x, NAN));
        fails(b, 2 * 24 * 40, "all in channel 5: NaN");
        assert_true(b->v.nan == b->v.wrong && b->v.unwritten == 0);
        EVERY(n == 1, put(b, n, c, y, x, 5000));
        fails(b, 16 * 24 * 40, "all in image 1");
        EVERY(y == 0 || x == 0 || y == 23 || x == 39, put(b, n, c, y, x, 3000));
        fails(b, 2 * 16 * (2 * 40 + 2 * 22), "all in the border of 1 pixel");
        EVERY(x % 8 == 3, put(b, n, c, y, x, 3000));
        fails(b, 2 * 16 * 24 * 5, "all in every 8th column from 3");
        EVERY(x % 8 >= 6, put(b, n, c, y, x, 3000));
        fails(b, 2 * 16 * 24 * 10, "columns 6 to 7 of every 8");
        EVERY(x % 8 == 0 || x % 8 == 7, put(b, n, c, y, x, 3000)); /* not "7 to 0" */
        fails(b, 2 * 16 * 24 * 10, "columns 0, 7 of every 8");
        EVERY(x % 8 == 1 || x % 8 == 5, put(b, n, c, y, x, 3000));
        fails(b, 2 * 16 * 24 * 10, "every 4th column from 1");
        EVERY(x % 8 == 1 || x % 8 == 4, put(b, n, c, y, x, 3000));
        fails(b, 2 * 16 * 24 * 10, "columns 1, 4 of every 8");
        EVERY(x == 1 || x == 21, put(b, n, c, y, x, 3000)); /* twice is no period */
        fails(b, 2 * 16 * 24 * 2, "columns 1, 21");
        EVERY(y >= 20 && x >= 32, put(b, n, c, y, x, 3000));
        fails(b, 2 * 16 * 4 * 8, "rows 20 to 23, columns 32 to 39");
        EVERY(true, put(b, n, c, y, x, 3000));
        fails(b, 2 * 16 * 24 * 40, "every element");
        EVERY((n * 7 + c * 11 + y * 13 + x * 17) % 101 == 0, put(b, n, c, y, x, 3000 + y));
        look(b);
        assert_string_equal(b->v.pattern, "scattered over all rows, columns and channels");
        free(good);
        stop(b);
    }
}

/* An output of one element is an output. */
static void test_one_element(void **state)
{
    struct bench *b = start(conv_work(1, 1, 1, 1, 1), DATA_PART_EXACT);
    passes(b); /* as many as the reference has */
    put(b, 0, 0, 0, 0, get(b, 0, 0, 0, 0) + 1);
    fails(b, 1, "");
    stop(b);
}

/* Values that belong somewhere else. */
static void test_whose_values(void **state)
{
    for (int part = 0; part < 2; part++) {
        struct bench *b = start(small(DTYPE_F16, LAYOUT_NHWC), (enum data_part)part);
        size_t bytes = tensor_bytes(&b->o);
        char *good = malloc(bytes);
        memcpy(good, b->storage, bytes);
        for (int64_t i = 0; i < 2 * 24 * 40; i++) {
            double a = get(b, i / 960, 3, i / 40 % 24, i % 40), e = get(b, i / 960, 5, i / 40 % 24, i % 40);
            put(b, i / 960, 3, i / 40 % 24, i % 40, e);
            put(b, i / 960, 5, i / 40 % 24, i % 40, a);
        }
        look(b);
        assert_false(b->v.ok);
        assert_non_null(strstr(b->v.pattern, "channels 3, 5: channels 3 and 5 swapped"));
        struct bench *other = start(small(DTYPE_F16, LAYOUT_NCHW), (enum data_part)part); /* the right values in the wrong layout */
        memcpy(b->storage, other->storage, bytes);
        look(b);
        assert_non_null(strstr(b->v.pattern, "stored as NCHW, not NHWC"));
        memcpy(other->storage, good, bytes);
        look(other);
        assert_non_null(strstr(other->v.pattern, "stored as NHWC, not NCHW"));
        stop(other);
        for (int64_t c = 0; c < 16; c++) /* one pixel too far to the right */
            for (int64_t i = 0; i < 2 * 24 * 40; i++)
                if (i % 40)
                    dtype_set(DTYPE_F16, b->storage, at_index(b, i / 960, c, i / 40 % 24, i % 40),
                              dtype_get(DTYPE_F16, good, at_index(b, i / 960, c, i / 40 % 24, i % 40 - 1)));
        look(b);
        assert_non_null(strstr(b->v.pattern, "shifted by 0 rows, 1 columns"));
        for (int by = -2; by <= 2; by += 4) { /* two to the left, two to the right */
            memcpy(b->storage, good, bytes);
            for (int64_t c = 0; c < 16; c++)
                for (int64_t i = 0; i < 2 * 24 * 40; i++)
                    if (i % 40 - by >= 0 && i % 40 - by < 40)
                        dtype_set(DTYPE_F16, b->storage, at_index(b, i / 960, c, i / 40 % 24, i % 40),
                                  dtype_get(DTYPE_F16, good, at_index(b, i / 960, c, i / 40 % 24, i % 40 - by)));
            look(b);
            assert_non_null(strstr(b->v.pattern, by < 0 ? "shifted by 0 rows, -2 columns" : "shifted by 0 rows, 2 columns"));
        }
        for (int64_t i = 0; i < 2 * 24 * 40; i++) /* nine channels, each of which holds another: one too many to name */
            for (int64_t c = 0; c < 9; c++)
                dtype_set(DTYPE_F16, b->storage, at_index(b, i / 960, c, i / 40 % 24, i % 40),
                          dtype_get(DTYPE_F16, good, at_index(b, i / 960, (c + 3) % 9, i / 40 % 24, i % 40)));
        look(b);
        assert_true(!b->v.ok && !strstr(b->v.pattern, "holds channel"));
        memset(b->storage, 0, bytes);
        look(b);
        assert_non_null(strstr(b->v.pattern, ": zero"));
        free(good);
        stop(b);
    }
    struct work w = conv_work(8, 8, 20, 20, 3);
    w.n = 2;
    struct bench *b = start(w, DATA_PART_PRECISION), *copy = start(w, DATA_PART_PRECISION);
    for (int64_t i = 0; i < 2 * 8 * 400; i++)
        put(b, i / 3200, i / 400 % 8, i / 20 % 20, i % 20, get(copy, i / 3200, i / 400 % 8, i % 20, i / 20 % 20));
    look(b);
    assert_non_null(strstr(b->v.pattern, "rows and columns transposed"));
    memcpy(b->storage, copy->storage, tensor_bytes(&b->o));
    for (int64_t i = 0; i < 2 * 400; i++) { /* 5 in place of 3, and 7 in place of 5: nothing is swapped */
        put(b, i / 400, 3, i / 20 % 20, i % 20, get(copy, i / 400, 5, i / 20 % 20, i % 20));
        put(b, i / 400, 5, i / 20 % 20, i % 20, get(copy, i / 400, 7, i / 20 % 20, i % 20));
    }
    look(b);
    assert_non_null(strstr(b->v.pattern, ": channel 3 holds channel 5, channel 5 holds channel 7"));
    stop(b), stop(copy);
    for (int mode = D2S_DCR; mode <= D2S_CRD; mode++) {
        struct work right = simple_work("depth_to_space", 16, 8, 12), wrong;
        right.block = 2, right.mode = (enum d2s_mode)mode;
        wrong = right;
        wrong.mode = mode == D2S_DCR ? D2S_CRD : D2S_DCR;
        b = start(right, DATA_PART_EXACT), copy = start(wrong, DATA_PART_EXACT);
        memcpy(b->storage, copy->storage, tensor_bytes(&b->o));
        look(b);
        assert_false(b->v.ok);
        assert_non_null(strstr(b->v.pattern, mode == D2S_DCR ? "in the order of CRD, not DCR" : "in the order of DCR, not CRD"));
        stop(b), stop(copy);
    }
}

/* Elements that are off by anything, or NaN, or not written, wherever they are: the verdict is what is counted here one by one. */
static void test_any_errors(void **state)
{
    static const enum dtype types[] = {DTYPE_F32, DTYPE_F16, DTYPE_BF16};
    for (int kind = 0; kind < 60; kind++) {
        struct bench *b =
            start(small(types[kind % 3], kind & 1 ? LAYOUT_NCHW : LAYOUT_NHWC), kind & 2 ? DATA_PART_EXACT : DATA_PART_PRECISION);
        const struct op_values *want = &b->d.at[SLOT_OUTPUT];
        int64_t wrong = 0, nan = 0, unwritten = 0, worst = -1, count = 1 + kind % 7 * 5;
        double worst_ratio = -1, u = dtype_unit_roundoff(b->o.dtype),
               least = ldexp(1, b->o.dtype == DTYPE_F16    ? -25
                                : b->o.dtype == DTYPE_BF16 ? -134
                                                           : -150);
        for (int64_t i = 0, at = 17 * kind; i < count; i++, at = (at + 1009) % (int64_t)want->elements) {
            int64_t n = at / (16 * 24 * 40), c = at / (24 * 40) % 16, y = at / 40 % 24, x = at % 40;
            double tolerance = want->bound ? want->bound[at] : 0;
            tolerance = tolerance > 0 ? tolerance + u * (fabs(want->reference[at]) + tolerance) + least : 0;
            if (i % 5 == 4)
                poison(b, n, c, y, x);
            else
                put(b, n, c, y, x, i % 5 == 3 ? NAN : want->reference[at] + (i % 5 + 0.5) * (tolerance > 0 ? tolerance : 1));
        }
        for (int64_t at = 0; at < (int64_t)want->elements; at++) {
            int64_t n = at / (16 * 24 * 40), c = at / (24 * 40) % 16, y = at / 40 % 24, x = at % 40;
            double got = get(b, n, c, y, x), tolerance = want->bound ? want->bound[at] : 0, exact = want->reference[at];
            tolerance = tolerance > 0 ? tolerance + u * (fabs(exact) + tolerance) + least : 0;
            double error = fabs(got - exact), ratio = isnan(error)    ? INFINITY
                                                      : tolerance > 0 ? error / tolerance
                                                      : error > 0     ? INFINITY
                                                                      : 0;
            uint32_t bits = 0, mark = VERIFY_POISON;
            memcpy(&bits, b->storage + at_index(b, n, c, y, x) * dtype_bytes(b->o.dtype), dtype_bytes(b->o.dtype));
            bool is_poison = !memcmp(&bits, &mark, dtype_bytes(b->o.dtype));
            wrong += !(ratio <= 1);
            unwritten += is_poison;
            nan += isnan(got) && !is_poison;
            if (ratio > worst_ratio)
                worst = at, worst_ratio = ratio;
        }
        look(b);
        if (b->v.ok != !wrong || b->v.wrong != wrong || b->v.nan != nan || b->v.unwritten != unwritten ||
            b->v.elements != (int64_t)want->elements)
            fail_msg("kind %d: %ld wrong, %ld NaN, %ld not written; want %ld, %ld, %ld", kind, (long)b->v.wrong, (long)b->v.nan,
                     (long)b->v.unwritten, (long)wrong, (long)nan, (long)unwritten);
        if (isfinite(worst_ratio)) {
            assert_true(fabs(b->v.error_over_bound - worst_ratio) <= 1e-6 * worst_ratio);
            assert_int_equal(((b->v.worst_at[0] * 16 + b->v.worst_at[1]) * 24 + b->v.worst_at[2]) * 40 + b->v.worst_at[3], worst);
            assert_true(b->v.worst_want == want->reference[worst] && fabs(b->v.worst_got - b->v.worst_want) == b->v.worst_error);
        } else {
            assert_true(isinf(b->v.error_over_bound));
        }
        stop(b);
    }
}

/* Kernels that compute something slightly else must differ on the exact data: every tap, every channel. */
static void test_exact_data_notices(void **state)
{
    struct work shapes[] = {conv_work(64, 4, 12, 12, 3), conv_work(1, 1, 20, 30, 3), conv_work(512, 64, 5, 5, 3),
                            conv_work(16, 16, 8, 8, 1)};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        struct bench *b = start(shapes[i], DATA_PART_EXACT);
        int64_t taps = b->w.r * b->w.s, terms = b->w.c * taps;
        struct op_data changed = b->d;
        changed.reach[AXIS_ROWS] = op_reach(&b->w, AXIS_ROWS);
        changed.reach[AXIS_COLUMNS] = op_reach(&b->w, AXIS_COLUMNS);
        double *row = malloc((size_t)(b->w.k * b->w.q) * sizeof *row);
        changed.at[SLOT_FILTER].value = malloc((size_t)(terms * b->w.k) * sizeof(float));
        for (int64_t drop = 0; drop<terms; drop += terms> 100 ? 37 : 1) { /* one (c, r, s) is left out */
            memcpy(changed.at[SLOT_FILTER].value, b->d.at[SLOT_FILTER].value, (size_t)(terms * b->w.k) * sizeof(float));
            for (int64_t k = 0; k < b->w.k; k++)
                changed.at[SLOT_FILTER].value[k * terms + drop] = 0;
            b->w.op->reference_row(&b->w, &changed, 0, b->w.p / 2, row, NULL);
            for (int64_t k = 0; k < b->w.k; k++)
                for (int64_t q = 0; q < b->w.q; q++)
                    put(b, 0, k, b->w.p / 2, q, row[k * b->w.q + q]);
            look(b);
            if (b->v.ok)
                fail_msg("shape %zu: term %ld of %ld can be left out", i, (long)drop, (long)terms);
        }
        op_reach_free(&changed.reach[AXIS_ROWS]);
        op_reach_free(&changed.reach[AXIS_COLUMNS]);
        free(changed.at[SLOT_FILTER].value);
        free(row);
        stop(b);
    }
}

static void test_masks(void **state)
{
    struct work w = conv_work(8, 16, 24, 40, 3);
    w.mask = (struct mask){.pattern = MASK_BOX, .density = 0.2, .seed = 3};
    add_item(&w, EPILOGUE_BIAS), add_item(&w, EPILOGUE_DEPTH_TO_SPACE);
    struct bench *b = start(w, DATA_PART_EXACT);
    int64_t inactive = 0, ax = -1, ay = -1;
    for (int64_t y = 0; y < 24; y++)
        for (int64_t x = 0; x < 40; x++)
            if (b->d.mask_out[y * 40 + x] == 0)
                inactive++;
            else
                ax = x, ay = y;
    assert_true(inactive > 500 && inactive < 900);
    b->p.uses_mask = true;
    b->p.inactive = INACTIVE_BIAS; /* the reference there is the epilogue of zero */
    passes(b);
    b->p.inactive = INACTIVE_UNTOUCHED;
    fails(b, inactive * 16, "inactive pixels"); /* it wrote them all */
    assert_int_equal(b->v.touched_inactive, inactive * 16);
    for (int64_t c = 0; c < 4; c++)
        for (int64_t y = 0; y < 48; y++)
            for (int64_t x = 0; x < 80; x++)
                if (b->d.mask_out[y / 2 * 40 + x / 2] == 0)
                    poison(b, 0, c, y, x);
    passes(b);
    b->p.inactive = INACTIVE_ZERO;
    fails(b, inactive * 16, "never written");
    b->p.inactive = INACTIVE_UNTOUCHED;
    put(b, 0, 2, 2 * ay, 2 * ax, 3000);
    fails(b, 1, "that one alone");
    b->p.uses_mask = false; /* a dense kernel is compared at active outputs only */
    look(b);
    assert_true(b->v.wrong == 1 && b->v.elements == (960 - inactive) * 16);
    stop(b);
    w.mask.pattern = MASK_EMPTY;
    b = start(w, DATA_PART_EXACT);
    look(b);
    assert_true(b->v.ok && b->v.elements == 0 && strstr(b->v.text, "nothing to compare"));
    stop(b);
}

/* Of several images each has its own mask; places that it does not mark are not compared. */
static void test_places_of_masks(void **state)
{
    struct work w = small(DTYPE_F32, LAYOUT_NCHW);
    w.mask = (struct mask){.pattern = MASK_IID, .density = 0.02, .seed = 5};
    struct bench *b = start(w, DATA_PART_EXACT);
    enum { PLANE = 24 * 40, ALL = 2 * 16 * PLANE };
    struct verify_place *places = calloc(ALL, sizeof *places);
    int64_t active = 0, last[2] = {-1, -1}; /* a place of the second image that is not marked, and one that is */
    for (size_t i = 0; i < ALL; i++) {
        bool marked = b->d.mask_out[i / (16 * PLANE) * PLANE + i % PLANE] != 0;
        places[i] = (struct verify_place){i, b->d.at[SLOT_OUTPUT].reference[i]};
        active += marked;
        last[marked] = (int64_t)i;
    }
    assert_true(active > 0 && active < ALL && last[0] > ALL / 2 && last[1] > ALL / 2);
    for (int wrong = 0; wrong < 2; wrong++) {
        places[last[wrong]].got += 3000;
        verify_places(&b->p, program_tensor(&b->p, "output"), &b->d, places, ALL, &b->v);
        assert_true(b->v.elements == active && b->v.wrong == wrong && b->v.ok == !wrong);
    }
    free(places);
    stop(b);
}

static void test_mask_out(void **state)
{
    struct work w = conv_work(8, 8, 24, 40, 3);
    w.n = 2;
    w.mask = (struct mask){.pattern = MASK_BLOBS, .density = 0.2, .radius = 4, .seed = 3};
    struct bench *b = start(w, DATA_PART_EXACT);
    int mask = program_tensor(&b->p, "mask_out");
    const struct tensor *t = &b->p.tensors[mask];
    uint32_t *bits = malloc(tensor_bytes(t));
    tensor_pack(t, b->d.mask_out, bits);
    verify_tensor(&b->p, mask, &b->d, bits, &b->v);
    assert_true(b->v.ok && b->v.elements == 2 * 960);
    bits[1] |= 0xffffff00; /* the bits of row 0 behind its last column, which a next layer would count */
    verify_tensor(&b->p, mask, &b->d, bits, &b->v);
    assert_true(!b->v.ok && b->v.wrong == 24 && b->v.worst_at[2] == 0 && b->v.worst_at[3] == 40 &&
                strstr(b->v.text, "past the last column"));
    b->p.any_padding = true; /* then those say nothing, the first of them neither */
    verify_tensor(&b->p, mask, &b->d, bits, &b->v);
    assert_true(b->v.ok);
    bits[1] ^= 1u << 7; /* column 39 does */
    verify_tensor(&b->p, mask, &b->d, bits, &b->v);
    assert_true(!b->v.ok && b->v.wrong == 1 && b->v.worst_at[3] == 39);
    bits[1] ^= 1u << 7;
    b->p.any_padding = false;
    bits[1] &= 0xff;
    bits[7 * 2] ^= 1u << 9;
    verify_tensor(&b->p, mask, &b->d, bits, &b->v);
    assert_true(!b->v.ok && b->v.wrong == 1 && b->v.worst_at[2] == 7 && b->v.worst_at[3] == 9);
    bits[7 * 2] ^= 1u << 9;
    for (int row = 1, other = 0; row < 24 && !other; row++) /* the words of another row */
        if ((other = memcmp(bits, &bits[row * 2], 8) != 0)) {
            uint32_t own[2] = {bits[row * 2], bits[row * 2 + 1]};
            memcpy(&bits[row * 2], bits, sizeof own);
            verify_tensor(&b->p, mask, &b->d, bits, &b->v);
            assert_true(!b->v.ok && b->v.worst_at[2] == row);
            memcpy(&bits[row * 2], own, sizeof own);
        } else {
            assert_true(row < 23);
        }
    int first = 0, held = 0; /* a word that is all 0, where 32 columns of which some are active were wanted */
    while (!bits[first])
        first += 2;
    for (int x = 0; x < 32; x++)
        held += bits[first] >> x & 1;
    uint32_t word = bits[first];
    bits[first] = 0;
    verify_tensor(&b->p, mask, &b->d, bits, &b->v);
    assert_true(!b->v.ok && b->v.wrong == held && b->v.worst_at[2] == first / 2 % 24 && b->v.worst_want == 1);
    bits[first] = word;
    bits[(24 + 5) * 2] ^= 1u << 9; /* the second image's */
    verify_tensor(&b->p, mask, &b->d, bits, &b->v);
    assert_true(!b->v.ok && b->v.wrong == 1 && b->v.worst_at[0] == 1 && b->v.worst_at[2] == 5);
    free(bits);
    stop(b);
}

/* A mask of one pixel is a mask. */
static void test_mask_out_of_one_pixel(void **state)
{
    struct work w = conv_work(8, 8, 1, 1, 1);
    w.mask = (struct mask){.pattern = MASK_FULL};
    struct bench *b = start(w, DATA_PART_EXACT);
    int mask = program_tensor(&b->p, "mask_out");
    uint32_t bits = 1;
    assert_int_equal(tensor_bytes(&b->p.tensors[mask]), sizeof bits);
    verify_tensor(&b->p, mask, &b->d, &bits, &b->v);
    assert_true(b->v.ok && b->v.elements == 1);
    bits = 0;
    verify_tensor(&b->p, mask, &b->d, &bits, &b->v);
    assert_true(!b->v.ok && b->v.wrong == 1);
    stop(b);
}

/* A head that does not say may leave whole bytes behind the last column unwritten, and no bit before it. */
static void test_mask_out_unwritten(void **state)
{
    for (int64_t width = 13; width <= 16; width += 3) {
        struct work w = conv_work(8, 8, 3, width, 3);
        uint32_t bits[3];
        w.mask = (struct mask){.pattern = MASK_BLOBS, .density = 0.5, .radius = 1, .seed = 3};
        struct bench *b = start(w, DATA_PART_EXACT);
        int mask = program_tensor(&b->p, "mask_out");
        assert_int_equal(tensor_bytes(&b->p.tensors[mask]), sizeof bits);
        b->p.finds_padding = true;
        tensor_pack(&b->p.tensors[mask], b->d.mask_out, bits);
        bits[0] = (bits[0] & 0xffff) | (VERIFY_POISON & 0xffff0000);
        verify_tensor(&b->p, mask, &b->d, bits, &b->v);
        assert_true(b->v.ok && strstr(b->v.note, "after the last column are not written"));
        bits[0] = VERIFY_POISON;
        verify_tensor(&b->p, mask, &b->d, bits, &b->v);
        assert_true(!b->v.ok && b->v.worst_at[2] == 0 && b->v.worst_at[3] < width);
        b->p.finds_padding = false; /* all that differs: pixels, and what is none */
        tensor_pack(&b->p.tensors[mask], b->d.mask_out, bits);
        for (int row = 0; row < 3; row++)
            bits[row] = ~bits[row];
        verify_tensor(&b->p, mask, &b->d, bits, &b->v);
        char want[80];
        snprintf(want, sizeof want, "; %d of %d pixels and %d bits after the last column", (int)(3 * width), (int)(3 * width),
                 (int)(3 * (32 - width)));
        if (b->v.ok || !strstr(b->v.text, want))
            fail_msg("%s", b->v.text);
        stop(b);
    }
    struct work w = conv_work(8, 8, 5, 32, 3); /* rows of one word each, the second row's wrong */
    w.mask = (struct mask){.pattern = MASK_BLOBS, .density = 0.5, .radius = 1, .seed = 3};
    struct bench *b = start(w, DATA_PART_EXACT);
    int mask = program_tensor(&b->p, "mask_out");
    uint32_t bits[5];
    assert_int_equal(tensor_bytes(&b->p.tensors[mask]), sizeof bits);
    tensor_pack(&b->p.tensors[mask], b->d.mask_out, bits);
    verify_tensor(&b->p, mask, &b->d, bits, &b->v);
    assert_true(b->v.ok);
    bits[1] ^= 1u << 31;
    verify_tensor(&b->p, mask, &b->d, bits, &b->v);
    assert_true(!b->v.ok && b->v.wrong == 1 && b->v.worst_at[2] == 1 && b->v.worst_at[3] == 31);
    stop(b);
}

/* The verdict is the same for every number of threads, also when several elements are equally wrong. */
static void test_threads(void **state)
{
    struct bench *b = start(conv_work(8, 32, 64, 64, 3), DATA_PART_PRECISION);
    for (int64_t i = 0; i < 64; i++)
        put(b, 0, i % 32, (i * 37) % 64, (i * 11) % 64, 1000);
    setenv("BENCH_THREADS", "1", 1);
    look(b);
    struct verdict one = b->v;
    setenv("BENCH_THREADS", "5", 1);
    look(b);
    unsetenv("BENCH_THREADS");
    assert_memory_equal(&one, &b->v, sizeof one);
    assert_int_equal(one.wrong, 64);
    stop(b);
}

static void test_dump(void **state)
{
    char dir[] = "/tmp/bench_verify_XXXXXX";
    assert_non_null(mkdtemp(dir));
    struct bench *b = start(small(DTYPE_F16, LAYOUT_NHWC), DATA_PART_EXACT);
    struct error err = {0};
    put(b, 1, 4, 5, 6, 3000);
    assert_true(verify_dump(&b->p, program_tensor(&b->p, "output"), &b->d, b->storage, dir, &err));
    char *path = file_join(dir, "output.npy");
    size_t bytes;
    char *npy = file_read(path, 1 << 24, &bytes, &err);
    assert_non_null(npy);
    assert_memory_equal(npy, "\x93NUMPY\1\0", 8);
    size_t header = 10 + (unsigned char)npy[8] + 256 * (unsigned char)npy[9];
    assert_true(header % 64 == 0 && npy[header - 1] == '\n' && strstr(npy + 10, "'shape': (2, 16, 24, 40)") &&
                bytes == header + 2 * 16 * 24 * 40 * 4);
    float v;
    memcpy(&v, npy + header + 4 * (((1 * 16 + 4) * 24 + 5) * 40 + 6), 4);
    assert_true(v == 3000);
    free(npy);
    unlink(path);
    free(path);
    path = file_join(dir, "error_1.pgm");
    char *pgm = file_read(path, 1 << 24, &bytes, &err);
    assert_non_null(pgm);
    assert_memory_equal(pgm, "P5\n40 24\n255\n", 13);
    for (int i = 0; i < 24 * 40; i++)
        assert_true(((unsigned char)pgm[13 + i] > 0) == (i == 5 * 40 + 6));
    free(pgm);
    unlink(path);
    free(path);
    static const char *const rest[] = {"error.pgm", "reference.npy"};
    for (int i = 0; i < 2; i++) {
        path = file_join(dir, rest[i]);
        assert_int_equal(unlink(path), 0);
        free(path);
    }
    rmdir(dir);
    assert_false(verify_dump(&b->p, program_tensor(&b->p, "output"), &b->d, b->storage, "/proc/no/such", &err));
    stop(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_right),
                                       cmocka_unit_test(test_activations_have_ranges),
                                       cmocka_unit_test(test_precision_tolerance),
                                       cmocka_unit_test(test_places),
                                       cmocka_unit_test(test_one_element),
                                       cmocka_unit_test(test_whose_values),
                                       cmocka_unit_test(test_any_errors),
                                       cmocka_unit_test(test_exact_data_notices),
                                       cmocka_unit_test(test_masks),
                                       cmocka_unit_test(test_places_of_masks),
                                       cmocka_unit_test(test_mask_out),
                                       cmocka_unit_test(test_mask_out_of_one_pixel),
                                       cmocka_unit_test(test_mask_out_unwritten),
                                       cmocka_unit_test(test_threads),
                                       cmocka_unit_test(test_dump)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
