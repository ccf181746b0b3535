/* op/pool, op/changes and the mask of op/bilinear: the test changes the input and sees which outputs change, then compares these with the
 * masks and with the ops that pass changes. */
#include "works.h"
#include "op/shape.h"
#include "op/reference/data.h"
#include "op/mask/mask.h"
#include "op/mask/min_work.h"
#include <math.h>

static struct work pool(const char *op, int64_t kernel, int64_t stride, int64_t pad)
{
    struct work w = simple_work(op, 3, 9, 11);
    w.n = 2, w.dtype = DTYPE_F32, w.r = kernel, w.s = kernel, w.stride = stride, w.pad = pad;
    return w;
}

static void reference_again(const struct work *w, struct op_data *d)
{
    struct error err = {0};
    free(d->at[SLOT_OUTPUT].reference);
    free(d->at[SLOT_OUTPUT].bound);
    free(d->mask_out);
    d->mask_out = NULL;
    if (!op_data_reference(w, d, &err))
        fail_msg("%s", err.text);
}

/* The outputs that differ when pixel `at` of image 0 gets other values are those whose mask the pixel sets. */
static void check_reach(struct work w)
{
    finish(&w);
    struct op_data d;
    make_data(&w, DATA_PART_PRECISION, &d);
    size_t inputs = (size_t)(w.n * w.h * w.w), outputs = (size_t)(w.n * w.p * w.q), plane = (size_t)(w.h * w.w);
    float *in = calloc(inputs, sizeof *in), *out = calloc(outputs, sizeof *out);
    float *kept = malloc(inputs * (size_t)w.c * sizeof *kept);
    memcpy(kept, d.at[SLOT_INPUT].value, inputs * (size_t)w.c * sizeof *kept);
    double *before = malloc(d.at[SLOT_OUTPUT].elements * sizeof *before);
    memcpy(before, d.at[SLOT_OUTPUT].reference, d.at[SLOT_OUTPUT].elements * sizeof *before);
    for (size_t at = 0; at < plane; at++) {
        for (int64_t c = 0; c < w.c; c++)
            d.at[SLOT_INPUT].value[(size_t)c * plane + at] += 1000;
        reference_again(&w, &d);
        memset(in, 0, inputs * sizeof *in);
        in[at] = 1;
        mask_dilate(&w, in, out);
        for (size_t i = 0; i < outputs; i++) {
            size_t n = i / (size_t)(w.p * w.q), element = n * (size_t)(w.k * w.p * w.q) + i % (size_t)(w.p * w.q); /* channel 0 */
            if ((out[i] != 0) != (d.at[SLOT_OUTPUT].reference[element] != before[element]))
                fail_msg("%s: input %zu, output %zu: marked %g, was %g, is %g", w.op->name, at, i, out[i], before[element],
                         d.at[SLOT_OUTPUT].reference[element]);
        }
        memcpy(d.at[SLOT_INPUT].value, kept, inputs * (size_t)w.c * sizeof *kept);
    }
    free(kept);
    free(before);
    free(in);
    free(out);
    op_data_free(&d);
}

static void test_reach(void **state)
{
    struct work w = simple_work("upsample_bilinear", 2, 5, 7);
    w.block = 2, w.dtype = DTYPE_F32, w.n = 2;
    check_reach(w);
    w.block = 4;
    check_reach(w);
    check_reach(pool("pool_average", 3, 2, 1));
    check_reach(pool("pool_average", 2, 2, 0));
    check_reach(pool("pool_average", 3, 1, 2));
}

/* max(stored + change) - max(stored) is what pool_max itself makes of both. */
static void test_max_change(void **state)
{
    struct work w = pool("pool_max_change", 3, 2, 1), dense = pool("pool_max", 3, 2, 1);
    w.mask = (struct mask){.pattern = MASK_IID, .density = 0.3, .seed = 5};
    finish(&w);
    finish(&dense);
    struct op_data d, old, now;
    make_data(&w, DATA_PART_EXACT, &d);
    make_data(&dense, DATA_PART_EXACT, &old);
    make_data(&dense, DATA_PART_EXACT, &now);
    for (int64_t i = 0; i < w.n * w.c * w.h * w.w; i++) {
        old.at[SLOT_INPUT].value[i] = d.at[SLOT_STORED].value[i];
        now.at[SLOT_INPUT].value[i] = d.at[SLOT_STORED].value[i] + d.at[SLOT_INPUT].value[i];
    }
    reference_again(&dense, &old);
    reference_again(&dense, &now);
    size_t moved = 0, plane = (size_t)(w.p * w.q);
    for (size_t i = 0; i < d.at[SLOT_OUTPUT].elements; i++) {
        bool active = d.mask_out[i / (plane * (size_t)w.k) * plane + i % plane] != 0;
        assert_true(active || now.at[SLOT_OUTPUT].reference[i] == old.at[SLOT_OUTPUT].reference[i]);
        assert_true(d.at[SLOT_OUTPUT].reference[i] == now.at[SLOT_OUTPUT].reference[i] - old.at[SLOT_OUTPUT].reference[i]);
        moved += d.at[SLOT_OUTPUT].reference[i] != 0;
    }
    assert_true(moved > 20);
    op_data_free(&d);
    op_data_free(&old);
    op_data_free(&now);
}

/* A mean of exact data is a whole number, for windows that are no power of two as well. */
static void test_average_exact(void **state)
{
    struct work w = pool("pool_average", 3, 1, 1);
    struct op_data d;
    w.dtype = DTYPE_F16;
    finish(&w);
    make_data(&w, DATA_PART_EXACT, &d);
    for (size_t i = 0; i < d.at[SLOT_OUTPUT].elements; i++)
        assert_true(d.at[SLOT_OUTPUT].reference[i] == floor(d.at[SLOT_OUTPUT].reference[i]) &&
                    fabs(d.at[SLOT_OUTPUT].reference[i]) <= 2048);
    op_data_free(&d);
}

/* Passed on is what is clearly above the threshold, held back what is clearly below; nothing lies between. */
static void test_truncate(void **state)
{
    for (int norm = 0; norm < TRUNCATE_COUNT; norm++) {
        struct work w = simple_work("truncate", 5, 40, 50);
        w.dtype = DTYPE_F32, w.norm = norm, w.above = norm == TRUNCATE_L2 ? 1.8 : 0.9, w.slope = 0.1;
        w.mask = (struct mask){.pattern = MASK_IID, .density = 0.5, .seed = 3};
        finish(&w);
        struct op_data d;
        make_data(&w, DATA_PART_PRECISION, &d);
        int passed = 0, held = 0;
        for (int64_t i = 0; i < w.h * w.w; i++) {
            double max = 0, squares = 0;
            for (int64_t c = 0; c < w.c; c++) {
                double stored = d.at[SLOT_STORED].value[c * w.h * w.w + i], now = stored + d.at[SLOT_INPUT].value[c * w.h * w.w + i];
                double change = (now < 0 ? 0.1 * now : now) - (stored < 0 ? 0.1 * stored : stored);
                max = fmax(max, fabs(change));
                squares += change * change;
            }
            double size = norm == TRUNCATE_MAX ? max : norm == TRUNCATE_L2 ? sqrt(squares) : sqrt(squares / (double)w.c);
            assert_true(d.mask_out[i] != 0 ? size > 1.0005 * w.above : size < 0.9995 * w.above);
            passed += d.mask_out[i] != 0;
            held += d.at[SLOT_MASK_IN].value[i] != 0 && d.mask_out[i] == 0;
        }
        assert_true(passed > 100 && held > 100);
        op_data_free(&d);
    }
}

/* Each tensor counts where its own mask is set. */
static void test_two_masks(void **state)
{
    struct work w = simple_work("concat", 3, 20, 30);
    w.k = 8, w.n = 2;
    w.mask = (struct mask){.pattern = MASK_IID, .density = 0.2, .seed = 3};
    finish(&w);
    struct op_data d;
    make_data(&w, DATA_PART_PRECISION, &d);
    size_t plane = 600, both = 0, one = 0;
    for (size_t i = 0; i < 2 * plane; i++) {
        bool first = d.at[SLOT_MASK_IN].value[i] != 0, second = d.at[SLOT_MASK_SECOND].value[i] != 0;
        assert_true((d.mask_out[i] != 0) == (first || second));
        both += first && second;
        one += first != second;
        for (size_t k = 0; k < 8; k++) {
            double want = k < 3    ? first ? d.at[SLOT_INPUT].value[(i / plane * 3 + k) * plane + i % plane] : 0
                          : second ? d.at[SLOT_SECOND].value[(i / plane * 5 + k - 3) * plane + i % plane]
                                   : 0;
            assert_true(d.at[SLOT_OUTPUT].reference[(i / plane * 8 + k) * plane + i % plane] == want);
        }
    }
    assert_true(both > 10 && one > 100);
    struct useful u;
    struct error err = {0};
    assert_true(work_useful(&w, &u, &err));
    assert_true(u.output_share == (double)(both + one) / (2 * (double)plane));
    op_data_free(&d);
}

/* Submanifold: an output is the sum over its marked neighbours where its own place is marked; elsewhere there is none. */
static void test_submanifold(void **state)
{
    (void)state;
    struct work w = conv_work(3, 2, 7, 9, 3);
    w.n = 2, w.dtype = DTYPE_F32, w.math = MATH_F32, w.layout = LAYOUT_NCHW, w.epilogue_count = 0;
    w.mask = (struct mask){.pattern = MASK_IID, .density = 0.4, .seed = 5, .marks_both = true};
    finish(&w);
    struct op_data d;
    make_data(&w, DATA_PART_PRECISION, &d);
    const float *mask = d.at[SLOT_MASK_IN].value, *in = d.at[SLOT_INPUT].value, *filter = d.at[SLOT_FILTER].value;
    int64_t pairs = 0, plane = w.h * w.w;
    for (int64_t i = 0; i < w.n * plane; i++) {
        int64_t n = i / plane, y = i % plane / w.w, x = i % w.w;
        assert_true(d.mask_out[i] == mask[i]);
        for (int64_t k = 0; k < w.k && mask[i] != 0; k++) {
            double sum = 0;
            for (int64_t tap = 0; tap < 9; tap++) {
                int64_t v = y + tap / 3 - 1, u = x + tap % 3 - 1;
                bool there = v >= 0 && v < w.h && u >= 0 && u < w.w && mask[n * plane + v * w.w + u] != 0;
                pairs += there && k == 0;
                for (int64_t c = 0; c < w.c && there; c++)
                    sum += (double)in[((n * w.c + c) * w.h + v) * w.w + u] * (double)filter[(k * w.c + c) * 9 + tap];
            }
            assert_true(fabs(d.at[SLOT_OUTPUT].reference[(n * w.k + k) * plane + i % plane] - sum) <= 1e-12);
        }
    }
    struct min_work least;
    min_work_of(&w, mask, d.mask_out, &least);
    assert_true(least.direct == 2.0 * (double)(w.c * w.k * pairs));
    op_data_free(&d);
    w.stride = 2;
    refused(w, "marks: both needs as many outputs as inputs");
}

static void test_refused(void **state)
{
    struct work w = simple_work("concat", 3, 4, 4);
    w.k = 3;
    refused(w, "k is all channels of both tensors (k = 3, c = 3)");
    refused(pool("pool_max", 3, 1, 3), "pad is not smaller than the window and an output would see nothing (max(pad_top, pad_bottom) = 3, "
                                       "pad_top = 3, pad_bottom = 3, dilation_y = 1, r = 3)");
    refused(pool("pool_max", 12, 1, 0), "larger than the padded input");
    w = pool("pool_max", 3, 1, 1);
    w.mask = (struct mask){.pattern = MASK_FULL, .density = 1};
    refused(w, "takes no mask");
    w = simple_work("truncate", 3, 4, 4);
    w.above = -1;
    refused(w, "above = -1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_reach),         cmocka_unit_test(test_max_change),
                                       cmocka_unit_test(test_average_exact), cmocka_unit_test(test_truncate),
                                       cmocka_unit_test(test_two_masks),     cmocka_unit_test(test_submanifold),
                                       cmocka_unit_test(test_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
