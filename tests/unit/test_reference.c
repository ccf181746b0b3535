/* op/reference/data: references against loops written from the definitions, data against their specification, bounds against simulated
 * kernels, right and wrong. */
#include "works.h"
#include "op/shape.h"
#include "op/reference/bound.h"
#include "op/convert.h"
#include "op/reference/data.h"
#include <time.h>

/* y[n][k][p][q] from the definition of cross-correlation; `round` is applied to every operand (NULL: none). */
static double conv_at(const struct work *w, const struct op_data *d, int64_t n, int64_t k, int64_t p, int64_t q, double *magnitude)
{
    int64_t cg = w->c / w->groups, kg = w->k / w->groups;
    double sum = 0;
    *magnitude = 0;
    for (int64_t c = 0; c < cg; c++)
        for (int64_t r = 0; r < w->r; r++)
            for (int64_t s = 0; s < w->s; s++) {
                int64_t y = p * w->stride + r * w->dilation - w->pad, x = q * w->stride + s * w->dilation - w->pad;
                if (y < 0 || x < 0 || y >= w->h || x >= w->w)
                    continue;
                double a = d->at[SLOT_INPUT].value[((n * w->c + k / kg * cg + c) * w->h + y) * w->w + x];
                double b = d->at[SLOT_FILTER].value[((k * cg + c) * w->r + r) * w->s + s];
                sum += a * b;
                *magnitude += fabs(a * b);
            }
    return sum;
}

static void check_conv(struct work w)
{
    finish(&w);
    for (int part = 0; part < 2; part++) {
        struct op_data d;
        make_data(&w, (enum data_part)part, &d);
        assert_true(d.exact == (part == DATA_PART_EXACT) && !d.at[SLOT_OUTPUT].bound == d.exact);
        assert_int_equal(d.at[SLOT_OUTPUT].elements, (size_t)(w.n * w.k * w.p * w.q));
        for (int64_t i = 0; i < w.n * w.k * w.p * w.q; i++) {
            double magnitude, want = conv_at(&w, &d, i / (w.k * w.p * w.q), i / (w.p * w.q) % w.k, i / w.q % w.p, i % w.q, &magnitude);
            if (!(fabs(d.at[SLOT_OUTPUT].reference[i] - want) <= (d.exact ? 0 : 1e-13 * magnitude)))
                fail_msg("part %d element %ld: %.17g, want %.17g", part, (long)i, d.at[SLOT_OUTPUT].reference[i], want);
            if (!d.exact)
                assert_true(d.at[SLOT_OUTPUT].bound[i] >= 0x1p-24 * magnitude && d.at[SLOT_OUTPUT].bound[i] <= 0.5 * magnitude + 1e-30);
        }
        op_data_free(&d);
    }
}

static void test_conv2d(void **state)
{
    struct work w = conv_work(5, 7, 9, 13, 3);
    w.n = 2;
    check_conv(w);
    w = conv_work(6, 10, 12, 11, 3), w.stride = 2, w.groups = 2, w.dtype = DTYPE_F32;
    check_conv(w);
    w = conv_work(4, 3, 14, 10, 3), w.dilation = 2, w.pad = 2, w.s = 5, w.layout = LAYOUT_NCHW;
    check_conv(w);
    w = conv_work(8, 8, 7, 6, 3), w.groups = 8, w.pad = 2, w.dtype = DTYPE_BF16;
    check_conv(w);
    w = conv_work(1, 1, 20, 30, 11), w.stride = 3, w.pad = 0, w.dtype = DTYPE_F32, w.math = MATH_TF32;
    check_conv(w);
}

/* Two rows of much work: eight threads share the output channels of each, of two blocks of columns and of both groups. */
static void test_few_rows(void **state)
{
    const char *before = getenv("BENCH_THREADS");
    char *kept = before ? xstrdup(before) : NULL;
    setenv("BENCH_THREADS", "8", 1);
    struct work w = conv_work(256, 501, 3, 12, 3);
    w.n = 2, w.pad = 0, w.dtype = DTYPE_F32;
    check_conv(w);
    w.c = 512, w.k = 510, w.groups = 2, w.n = 1;
    check_conv(w);
    w = conv_work(512, 510, 3, 10, 3), w.pad = 0; /* one block of columns: each thread packs its filters where it packed the last */
    check_conv(w);
    if (kept)
        setenv("BENCH_THREADS", kept, 1);
    else
        unsetenv("BENCH_THREADS");
    free(kept);
}

/* From the definition, with five indices; and the mask from what a tap reaches. */
static void test_conv3d(void **state)
{
    struct work w = simple_work("conv3d", 3, 0, 7);
    w.n = 2, w.k = 4, w.d = 5, w.plane = 6, w.t = 3, w.r = 2, w.s = 3, w.stride = 2, w.pad = 1, w.dilation = 1, w.dtype = DTYPE_F32;
    w.mask = (struct mask){.pattern = MASK_IID, .density = 0.05, .seed = 3};
    finish(&w);
    assert_true(w.o == 3 && w.plane_out == 4 && w.q == 4 && w.h == 30 && w.p == 12);
    struct op_data d;
    make_data(&w, DATA_PART_EXACT, &d);
    int active = 0;
    for (int64_t i = 0; i < w.n * w.k * w.o * w.plane_out * w.q; i++) {
        int64_t q = i % w.q, p = i / w.q % w.plane_out, o = i / w.q / w.plane_out % w.o, k = i / w.q / w.plane_out / w.o % w.k,
                n = i / w.q / w.plane_out / w.o / w.k;
        double sum = 0;
        bool marked = false;
        for (int64_t tap = 0; tap < w.c * w.t * w.r * w.s; tap++) {
            int64_t s = tap % w.s, r = tap / w.s % w.r, t = tap / w.s / w.r % w.t, c = tap / w.s / w.r / w.t;
            int64_t z = o * 2 - 1 + t, y = p * 2 - 1 + r, x = q * 2 - 1 + s;
            if (z < 0 || z >= w.d || y < 0 || y >= w.plane || x < 0 || x >= w.w)
                continue;
            sum += (double)d.at[SLOT_INPUT].value[(((n * w.c + c) * w.d + z) * w.plane + y) * w.w + x] *
                   d.at[SLOT_FILTER].value[(((k * w.c + c) * w.t + t) * w.r + r) * w.s + s];
            marked |= d.at[SLOT_MASK_IN].value[((n * w.d + z) * w.plane + y) * w.w + x] != 0;
        }
        assert_true(d.at[SLOT_OUTPUT].reference[i] == sum);
        assert_true((d.mask_out[((n * w.o + o) * w.plane_out + p) * w.q + q] != 0) == marked);
        active += marked;
    }
    assert_true(active > 40 && work_flop(&w) == 2.0 * 2 * 4 * 3 * 4 * 4 * 3 * 18);
    op_data_free(&d);
}

static void test_conv_transpose2d(void **state)
{
    struct work w = simple_work("conv_transpose2d", 6, 5, 7);
    w.k = 4, w.r = 4, w.s = 3, w.stride = 2, w.pad = 1, w.dilation = 1, w.groups = 2, w.n = 2, w.output_pad = 1;
    finish(&w);
    struct op_data d;
    make_data(&w, DATA_PART_PRECISION, &d);
    double *y = calloc(d.at[SLOT_OUTPUT].elements, sizeof *y); /* scatter, where the reference gathers */
    for (int64_t n = 0; n < w.n; n++)
        for (int64_t k = 0; k < 4; k++)
            for (int64_t c = 0; c < 3; c++)
                for (int64_t i = 0; i < 5; i++)
                    for (int64_t j = 0; j < 7; j++)
                        for (int64_t r = 0; r < 4; r++)
                            for (int64_t s = 0; s < 3; s++) {
                                int64_t p = i * 2 - 1 + r, q = j * 2 - 1 + s;
                                if (p >= 0 && q >= 0 && p < w.p && q < w.q)
                                    y[((n * 4 + k) * w.p + p) * w.q + q] +=
                                        (double)d.at[SLOT_INPUT].value[((n * 6 + k / 2 * 3 + c) * 5 + i) * 7 + j] *
                                        (double)d.at[SLOT_FILTER].value[((k * 3 + c) * 4 + r) * 3 + s];
                            }
    for (size_t i = 0; i < d.at[SLOT_OUTPUT].elements; i++)
        assert_true(fabs(d.at[SLOT_OUTPUT].reference[i] - y[i]) <= 1e-12);
    free(y);
    op_data_free(&d);
}

/* depth_to_space as reshape, transpose, reshape: DCR (n,r,r,C',h,w) -> 0,3,4,1,5,2; CRD (n,C',r,r,h,w) ->
 * 0,1,4,2,5,3. */
static void test_depth_to_space(void **state)
{
    for (int mode = D2S_DCR; mode <= D2S_CRD; mode++)
        for (int64_t b = 2; b <= 4; b++) {
            int64_t C = 3, h = 5, ww = 4;
            struct work w = simple_work("depth_to_space", C * b * b, h, ww);
            w.block = b, w.mode = (enum d2s_mode)mode, w.n = 2;
            finish(&w);
            assert_int_equal(w.k, C);
            struct op_data d;
            make_data(&w, DATA_PART_EXACT, &d);
            for (int64_t n = 0; n < 2; n++)
                for (int64_t c = 0; c < C; c++)
                    for (int64_t y = 0; y < h; y++)
                        for (int64_t dy = 0; dy < b; dy++)
                            for (int64_t x = 0; x < ww; x++)
                                for (int64_t dx = 0; dx < b; dx++) {
                                    int64_t deep = mode == D2S_DCR ? (dy * b + dx) * C + c : (c * b + dy) * b + dx;
                                    double want = d.at[SLOT_INPUT].value[((n * w.c + deep) * h + y) * ww + x];
                                    assert_true(d.at[SLOT_OUTPUT].reference[((n * C + c) * h * b + y * b + dy) * ww * b + x * b + dx] ==
                                                want);
                                }
            op_data_free(&d);
        }
}

static void test_upsample_and_layout(void **state)
{
    struct work w = simple_work("upsample", 3, 4, 5);
    w.block = 3;
    finish(&w);
    struct op_data d;
    make_data(&w, DATA_PART_PRECISION, &d);
    for (int64_t c = 0; c < 3; c++)
        for (int64_t y = 0; y < 12; y++)
            for (int64_t x = 0; x < 15; x++) {
                assert_true(d.at[SLOT_OUTPUT].reference[(c * 12 + y) * 15 + x] == d.at[SLOT_INPUT].value[(c * 4 + y / 3) * 5 + x / 3]);
                assert_true(d.at[SLOT_OUTPUT].bound[(c * 12 + y) * 15 + x] == 0); /* copies are exact with any data */
            }
    op_data_free(&d);
    w = simple_work("layout", 3, 4, 5), w.to = LAYOUT_NCHW;
    finish(&w);
    make_data(&w, DATA_PART_EXACT, &d);
    for (int64_t i = 0; i < 60; i++)
        assert_true(d.at[SLOT_OUTPUT].reference[i] == d.at[SLOT_INPUT].value[i]);
    op_data_free(&d);
}

/* By hand: the edge repeats, a pixel and its neighbours weigh 3 to 1. */
static void test_bilinear(void **state)
{
    struct work w = simple_work("upsample_bilinear", 2, 3, 2);
    w.block = 2;
    finish(&w);
    assert_int_equal(w.p, 6);
    assert_int_equal(w.q, 4);
    for (int part = 0; part < 2; part++) {
        struct op_data d;
        make_data(&w, part ? DATA_PART_PRECISION : DATA_PART_EXACT, &d);
        const float *x = d.at[SLOT_INPUT].value + 6; /* channel 1: rows of two */
        const double *y = d.at[SLOT_OUTPUT].reference + 24;
        assert_true(y[0] == x[0] && y[3] == x[1] && y[20] == x[4] && y[23] == x[5]);
        assert_true(fabs(y[1] - (0.75 * x[0] + 0.25 * x[1])) < 1e-12);
        assert_true(fabs(y[2 * 4 + 2] - (0.75 * (0.25 * x[2] + 0.75 * x[3]) + 0.25 * (0.25 * x[0] + 0.75 * x[1]))) < 1e-12);
        assert_true(!d.at[SLOT_OUTPUT].bound || (d.at[SLOT_OUTPUT].bound[24 + 9] > 0 && d.at[SLOT_OUTPUT].bound[24 + 9] < 1e-4));
        op_data_free(&d);
    }
    w.block = 3;
    struct error err = {0};
    assert_false(work_finish(&w, &err));
    assert_non_null(strstr(err.text, "block is 2, 4, 8 or 16 (block = 3"));
}

/* What lies at `x` of a line of `size` pixels, by one product: a + s (b - a). */
static float lerp(const float *line, int64_t step, int64_t size, float x)
{
    float low = floorf(x), s = x - low;
    int64_t a = low < 0 ? 0 : (int64_t)low, b = (int64_t)low + 1 < size ? (int64_t)low + 1 : size - 1;
    return line[a * step] + s * (line[b * step] - line[a * step]);
}

/* Of f32 both ways to write it are right, and weights of 16 bits are not. */
static void test_bilinear_by_one_product(void **state)
{
    struct work w = simple_work("upsample_bilinear", 40, 30, 30);
    w.dtype = DTYPE_F32, w.block = 16;
    finish(&w);
    struct op_data d;
    make_data(&w, DATA_PART_PRECISION, &d);
    int64_t coarse = 0;
    for (int64_t i = 0; i < 40 * 480 * 480; i++) {
        float y = ((float)(i / 480 % 480) + 0.5f) / 16 - 0.5f, x = ((float)(i % 480) + 0.5f) / 16 - 0.5f, rows[30];
        const float *image = d.at[SLOT_INPUT].value + i / (480 * 480) * 900;
        for (int64_t r = 0; r < 30; r++)
            rows[r] = r >= (int64_t)floorf(y) - 1 && r <= (int64_t)floorf(y) + 2 ? lerp(image + r * 30, 1, 30, x) : 0;
        double bound = d.at[SLOT_OUTPUT].bound[i], want = d.at[SLOT_OUTPUT].reference[i], got = lerp(rows, 1, 30, y);
        if (!(fabs(got - want) <= bound + 0x1p-24 * fabs(want)))
            fail_msg("element %ld: %.9g, want %.9g +-%.3g", (long)i, got, want, bound);
        coarse += fabs(got * (1 + 0x1p-12) - want) > bound + 0x1p-24 * fabs(want);
    }
    assert_true(coarse > 40 * 480 * 480 / 2);
    op_data_free(&d);
}

/* Weights that are multiples of 1/1024 do not fit bf16: they are drawn all the same. A kernel that stores before it adds the bias, and so
 * rounds twice, is right.
 */
static void test_weights_finer_than_the_type(void **state)
{
    struct work w = simple_work("upsample_bilinear", 8, 6, 7);
    w.dtype = DTYPE_BF16, w.block = 16;
    add_item(&w, EPILOGUE_BIAS);
    finish(&w);
    struct op_data d;
    make_data(&w, DATA_PART_EXACT, &d);
    const float *bound = d.at[SLOT_OUTPUT].bound;
    const double *want = d.at[SLOT_OUTPUT].reference;
    assert_non_null(bound);
    int64_t twice = 0, without = 0, plane = w.p * w.q;
    for (int64_t i = 0; i < 8 * plane; i++) {
        float bias = d.at[SLOT_BIAS].value[i / plane], stored = (float)(want[i] - (double)bias), once = (float)want[i], got;
        double allowed = (double)bound[i] + 0x1p-8 * (fabs(want[i]) + fabs((double)stored));
        assert_true(bias != 0);
        convert_round(DTYPE_BF16, &stored, 1);
        got = stored + bias;
        convert_round(DTYPE_BF16, &got, 1);
        convert_round(DTYPE_BF16, &once, 1);
        twice += got != once;
        without += fabs((double)stored - want[i]) > allowed;
        if (!(fabs((double)got - want[i]) <= allowed))
            fail_msg("element %ld: %g, want %g +-%g", (long)i, (double)got, want[i], allowed);
    }
    assert_true(twice > 0);
    assert_int_equal(without, 8 * plane);
    op_data_free(&d);
}

/* The two steps one after the other: a large image, and the convolution of it. */
static void test_upsample_conv(void **state)
{
    struct work w = simple_work("upsample_conv2d", 3, 4, 5), large = conv_work(3, 2, 12, 15, 3);
    w.block = 3, w.k = 2, w.r = 2, w.s = 3, w.pad = 1;
    large.r = 2, large.pad = 1, large.n = 1, large.dtype = w.dtype;
    finish(&w);
    finish(&large);
    assert_true(fabs(work_collapsed_share(&w) - 4 / 3.0 * (5 / 3.0) / 6) < 1e-12 && work_collapsed_share(&large) == 1);
    assert_int_equal(w.p, 13);
    assert_int_equal(w.q, 15);
    struct op_data d, l = {0};
    make_data(&w, DATA_PART_PRECISION, &d);
    float *pixels = malloc(3 * 12 * 15 * sizeof *pixels);
    for (int64_t i = 0; i < 3 * 12 * 15; i++)
        pixels[i] = d.at[SLOT_INPUT].value[(i / 180 * 4 + i / 15 % 12 / 3) * 5 + i % 15 / 3];
    l.at[SLOT_INPUT].value = pixels;
    l.at[SLOT_FILTER].value = d.at[SLOT_FILTER].value;
    for (int64_t k = 0; k < 2; k++)
        for (int64_t p = 0; p < 13; p++)
            for (int64_t q = 0; q < 15; q++) {
                double magnitude, want = conv_at(&large, &l, 0, k, p, q, &magnitude);
                assert_true(fabs(d.at[SLOT_OUTPUT].reference[(k * 13 + p) * 15 + q] - want) <= 1e-12 * magnitude);
            }
    free(pixels);
    op_data_free(&d);
    w.r = 20;
    struct error err = {0};
    assert_false(work_finish(&w, &err));
    assert_non_null(strstr(err.text, "larger than the padded, upsampled input (r = 20"));
}

/* conv -> bias -> leaky_relu -> depth_to_space(CRD) -> residual, and pointwise with the same, by hand. */
static void test_epilogue(void **state)
{
    for (int part = 0; part < 2; part++) {
        struct work w = conv_work(4, 8, 6, 7, 3);
        w.dtype = DTYPE_F32, w.n = 2;
        add_item(&w, EPILOGUE_BIAS), add_item(&w, EPILOGUE_LEAKY_RELU), add_item(&w, EPILOGUE_DEPTH_TO_SPACE),
            add_item(&w, EPILOGUE_LAYOUT), add_item(&w, EPILOGUE_RESIDUAL);
        finish(&w);
        struct op_data d;
        make_data(&w, (enum data_part)part, &d);
        bool some_bound = false, some_exact = false;
        for (int64_t n = 0; n < 2; n++)
            for (int64_t k = 0; k < 8; k++)
                for (int64_t i = 0; i < 42; i++) {
                    double magnitude, v = conv_at(&w, &d, n, k, i / 7, i % 7, &magnitude) + d.at[SLOT_BIAS].value[k];
                    bool negative = v < 0;
                    v = negative ? v * 0.1 : v;
                    size_t at = (size_t)(((n * 2 + k / 4) * 12 + i / 7 * 2 + k % 4 / 2) * 14 + i % 7 * 2 + k % 2);
                    v += d.at[SLOT_RESIDUAL].value[at];
                    assert_true(fabs(d.at[SLOT_OUTPUT].reference[at] - v) <= 1e-12 * (magnitude + 1000));
                    some_bound |= d.at[SLOT_OUTPUT].bound[at] > 0;
                    some_exact |= d.at[SLOT_OUTPUT].bound[at] == 0;
                    if (part == DATA_PART_EXACT) /* only what went through the slope is inexact */
                        assert_true((d.at[SLOT_OUTPUT].bound[at] > 0) == negative);
                }
        assert_true(some_bound && some_exact == (part == DATA_PART_EXACT));
        op_data_free(&d);
    }
}

static double scale_of(const struct op_data *d, enum shape_slot slot, size_t count)
{
    double most = 0;
    for (size_t i = 0; i < count; i++)
        most = fmax(most, fabs(d->at[slot].value[i]));
    return most;
}

/* The sum over any subset of an output's products, with bias and residual, stays an integer that dtype and accumulator hold; every tap and
 * channel changes the result. */
static void check_exact(struct work w, double limit, bool covers)
{
    add_item(&w, EPILOGUE_BIAS), add_item(&w, EPILOGUE_RESIDUAL);
    finish(&w);
    struct op_data d;
    struct error err = {0};
    assert_true(op_data_inputs(&w, DATA_PART_EXACT, &d, &err));
    size_t terms = (size_t)(w.c / w.groups * w.r * w.s), inputs = (size_t)(w.n * w.c * w.h * w.w);
    double x = scale_of(&d, SLOT_INPUT, inputs), b = scale_of(&d, SLOT_BIAS, (size_t)w.k),
           r = scale_of(&d, SLOT_RESIDUAL, (size_t)(w.n * w.k * w.p * w.q));
    unsigned char *used = calloc(terms, 1);
    for (size_t k = 0; k < (size_t)w.k; k++) {
        double sum = 0;
        for (size_t t = 0; t < terms; t++) {
            double v = d.at[SLOT_FILTER].value[k * terms + t];
            assert_true(v == floor(v));
            sum += fabs(v);
            used[t] |= v != 0;
        }
        assert_true(sum * x + b + r <= limit);
        assert_true(sum * x >= limit / 8 || sum * x >= 100 * 9); /* and is not needlessly small */
    }
    for (size_t t = 0; covers && t < terms; t++)
        assert_true(used[t]);
    for (size_t i = 0; i < inputs; i++)
        assert_true(d.at[SLOT_INPUT].value[i] != 0 && d.at[SLOT_INPUT].value[i] == floorf(d.at[SLOT_INPUT].value[i]));
    assert_true(b >= 1 && r >= 1);
    free(used);
    op_data_free(&d);
}

static void test_exact_data(void **state)
{
    struct work w = conv_work(64, 64, 12, 12, 3);
    check_exact(w, 2048, true);
    w.math = MATH_F16_ACC16;
    check_exact(w, 2048, true);
    w.math = MATH_NONE, w.dtype = DTYPE_BF16;
    check_exact(w, 256, true);
    w.dtype = DTYPE_F32;
    check_exact(w, 16777216, true);
    w = conv_work(512, 64, 6, 6, 3); /* 4,608 terms do not fit in f16: a part of the taps each, all of them together */
    check_exact(w, 2048, true);
    w = conv_work(512, 1, 6, 6, 3);
    check_exact(w, 2048, false);
    w = conv_work(1, 1, 20, 20, 3);
    check_exact(w, 2048, true);
    w = conv_work(32, 32, 9, 9, 3), w.groups = 32;
    check_exact(w, 2048, true);
}

/* The same values for every number of threads; another seed, other values; the moments of the normal distribution. */
static void test_generator(void **state)
{
    struct work w = conv_work(16, 16, 64, 64, 3);
    w.dtype = DTYPE_F32;
    finish(&w);
    struct op_data one, four, other;
    setenv("BENCH_THREADS", "1", 1);
    make_data(&w, DATA_PART_PRECISION, &one);
    setenv("BENCH_THREADS", "4", 1);
    make_data(&w, DATA_PART_PRECISION, &four);
    unsetenv("BENCH_THREADS");
    size_t n = 16 * 64 * 64;
    assert_memory_equal(one.at[SLOT_INPUT].value, four.at[SLOT_INPUT].value, n * sizeof(float));
    assert_memory_equal(one.at[SLOT_OUTPUT].reference, four.at[SLOT_OUTPUT].reference, n * sizeof(double));
    assert_memory_equal(one.at[SLOT_OUTPUT].bound, four.at[SLOT_OUTPUT].bound, n * sizeof(float));
    w.seed = 2;
    make_data(&w, DATA_PART_PRECISION, &other);
    double sum = 0, squares = 0, fourth = 0, common = 0, full = 0, y2 = 0;
    for (size_t i = 0; i < n; i++) {
        double v = one.at[SLOT_INPUT].value[i], bits;
        sum += v, squares += v * v, fourth += v * v * v * v, common += v * other.at[SLOT_INPUT].value[i],
            y2 += one.at[SLOT_OUTPUT].reference[i] * one.at[SLOT_OUTPUT].reference[i];
        full += modf(ldexp(fabs(v), 23 - ilogb(v) - 1), &bits) != 0; /* the last of 24 bits is used */
    }
    double m = (double)n;
    assert_true(fabs(sum / m) < 4 / sqrt(m) && fabs(squares / m - 1) < 4 * sqrt(2 / m) && fabs(common / m) < 4 / sqrt(m));
    assert_true(fourth / m > 2.7 && fourth / m < 3.1); /* 3 for the normal, 2.9 for a sum of twelve */
    assert_true(full / m > 0.45 && full / m < 0.55);
    assert_true(y2 / m > 0.8 && y2 / m < 1.1); /* filters are scaled to keep the variance */
    op_data_free(&one), op_data_free(&four), op_data_free(&other);
    w.data = DATA_RELU;
    make_data(&w, DATA_PART_PRECISION, &one);
    size_t zeros = 0;
    for (size_t i = 0; i < n; i++) {
        assert_true(one.at[SLOT_INPUT].value[i] >= 0);
        zeros += one.at[SLOT_INPUT].value[i] == 0;
    }
    assert_true(zeros > n * 0.48 && zeros < n * 0.52);
    op_data_free(&one);
}

/* A kernel that rounds operands by `operand`, adds in order in the type of `accumulate`, and stores once in the dtype: the share of its
 * elements beyond the bound. */
static double share_outside(struct work w, float (*operand)(float), enum dtype accumulate)
{
    finish(&w);
    struct op_data d;
    make_data(&w, DATA_PART_PRECISION, &d);
    size_t outside = 0, count = d.at[SLOT_OUTPUT].elements;
    for (size_t i = 0; i < count; i++) {
        int64_t k = (int64_t)i / (w.p * w.q), p = (int64_t)i / w.q % w.p, q = (int64_t)i % w.q;
        float sum = 0;
        for (int64_t t = 0; t < w.c * w.r * w.s; t++) {
            int64_t c = t / (w.r * w.s), y = p + t / w.s % w.r - w.pad, x = q + t % w.s - w.pad;
            if (y < 0 || x < 0 || y >= w.h || x >= w.w)
                continue;
            float a = operand(d.at[SLOT_INPUT].value[(c * w.h + y) * w.w + x]),
                  b = operand(d.at[SLOT_FILTER].value[k * w.c * w.r * w.s + t]);
            sum = accumulate == DTYPE_F16 ? f16_to_f32(f16_from_f32(sum + f16_to_f32(f16_from_f32(a * b)))) : fmaf(a, b, sum);
        }
        double stored = w.dtype == DTYPE_F16    ? f16_to_f32(f16_from_f32(sum))
                        : w.dtype == DTYPE_BF16 ? bf16_to_f32(bf16_from_f32(sum))
                                                : sum;
        double slack = dtype_unit_roundoff(w.dtype) * (fabs(d.at[SLOT_OUTPUT].reference[i]) + d.at[SLOT_OUTPUT].bound[i]) +
                       0x1p-25 * (w.dtype == DTYPE_F16);
        outside += !(fabs(stored - d.at[SLOT_OUTPUT].reference[i]) <= d.at[SLOT_OUTPUT].bound[i] + slack);
    }
    op_data_free(&d);
    return (double)outside / (double)count;
}

static float as_is(float x)
{
    return x;
}
static float truncated_tf32(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, 4);
    bits &= ~UINT32_C(0x1fff);
    memcpy(&x, &bits, 4);
    return x;
}
static float as_bf16(float x)
{
    return bf16_to_f32(bf16_from_f32(x));
}

/* Rounds to nearest, ties away from zero, as cvt.rna.tf32.f32. */
static float rounded_tf32(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    bits = (bits + 0x1000) & ~UINT32_C(0x1fff);
    memcpy(&x, &bits, sizeof x);
    return x;
}

static void test_bounds_accept_and_refuse(void **state)
{
    assert_true(rounded_tf32(1 + 0x1p-11f) == 1 + 0x1p-10f);
    struct work f16 = conv_work(64, 8, 24, 24, 3), f32 = f16, deep = conv_work(256, 4, 16, 16, 3), acc16 = f16, tf32 = f16,
                small = conv_work(3, 16, 24, 24, 3);
    f32.dtype = deep.dtype = tf32.dtype = DTYPE_F32;
    acc16.math = MATH_F16_ACC16;
    tf32.math = MATH_TF32;
    assert_true(share_outside(f16, as_is, DTYPE_F32) == 0);
    assert_true(share_outside(f32, as_is, DTYPE_F32) == 0);
    assert_true(share_outside(deep, as_is, DTYPE_F32) == 0);
    assert_true(share_outside(small, as_is, DTYPE_F32) == 0);
    assert_true(share_outside(acc16, as_is, DTYPE_F16) == 0);
    assert_true(share_outside(tf32, rounded_tf32, DTYPE_F32) == 0);
    assert_true(share_outside(tf32, truncated_tf32, DTYPE_F32) == 0);
    /* of a mask's outputs most have few products that are not zero, and less of their errors cancels */
    struct work sparse = conv_work(20, 32, 48, 48, 5);
    sparse.dtype = DTYPE_F32, sparse.math = MATH_TF32;
    sparse.mask.pattern = MASK_IID, sparse.mask.density = 0.01;
    assert_true(share_outside(sparse, rounded_tf32, DTYPE_F32) == 0);
    assert_true(share_outside(sparse, truncated_tf32, DTYPE_F32) == 0);
    assert_true(share_outside(sparse, as_bf16, DTYPE_F32) > 0.001);
    /* a lesser type than the math mode says */
    assert_true(share_outside(f16, as_is, DTYPE_F16) > 0.01);
    assert_true(share_outside(f32, rounded_tf32, DTYPE_F32) > 0.01);
    assert_true(share_outside(deep, rounded_tf32, DTYPE_F32) > 0.01);
    assert_true(share_outside(small, as_is, DTYPE_F16) > 0.001);
    assert_true(share_outside(tf32, as_bf16, DTYPE_F32) > 0.001);
}

/* The formula that op/reference/bound.h states, at both ends. */
static void test_bound_formula(void **state)
{
    const double u = 0x1p-24;
    assert_true(fabs(bound_sum(MATH_F32, 9, 9, 0, 1) / (11 * u) - 1) < 1e-5); /* few terms: the worst case, n + 2 */
    assert_true(fabs(bound_sum(MATH_F32, 574, 574, 0, 1) / (12 * u) - 1) < 1e-4);
    assert_true(fabs(bound_sum(MATH_F16_ACC32, 574, 574, 5, 3) / (3 * 2 * 6 * 24 * u) - 1) < 1e-4); /* tensor cores cut off */
    double gu = 12 * 0x1p-11;
    assert_true(fabs(bound_sum(MATH_F16_ACC16, 574, 574, 0, 1) / (gu / (1 - gu)) - 1) < 1e-9);
    assert_true(isfinite(bound_sum(MATH_F16_ACC16, 1e6, 1e6, 0, 1)));
    assert_true(fabs(bound_sum(MATH_TF32, 574, 574, 2, 1) - (2 * 6 * 24 * u + 0x1p-10 * (4 + 6 / sqrt(574)))) < 1e-7);
    assert_true(fabs(bound_sum(MATH_TF32, 574, 64, 2, 1) - (2 * 6 * 24 * u + 0x1p-10 * (4 + 6 / sqrt(64)))) < 1e-7);
}

static void test_speed(void **state)
{
    struct work w = conv_work(64, 64, 48, 48, 3);
    finish(&w);
    struct op_data d;
    struct timespec a, b;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &a); /* which a busy machine does not change */
    make_data(&w, DATA_PART_PRECISION, &d);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &b);
    double ms = (double)(b.tv_sec - a.tv_sec) * 1e3 + (double)(b.tv_nsec - a.tv_nsec) / 1e6;
    print_message("64->64 3x3 48x48 with bounds: %.1f ms\n", ms);
    assert_true(ms < 2000); /* some 20 ms; the slack is for sanitizers */
    op_data_free(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_conv2d),
                                       cmocka_unit_test(test_few_rows),
                                       cmocka_unit_test(test_conv3d),
                                       cmocka_unit_test(test_conv_transpose2d),
                                       cmocka_unit_test(test_depth_to_space),
                                       cmocka_unit_test(test_upsample_and_layout),
                                       cmocka_unit_test(test_bilinear),
                                       cmocka_unit_test(test_bilinear_by_one_product),
                                       cmocka_unit_test(test_weights_finer_than_the_type),
                                       cmocka_unit_test(test_upsample_conv),
                                       cmocka_unit_test(test_epilogue),
                                       cmocka_unit_test(test_exact_data),
                                       cmocka_unit_test(test_generator),
                                       cmocka_unit_test(test_bounds_accept_and_refuse),
                                       cmocka_unit_test(test_bound_formula),
                                       cmocka_unit_test(test_speed)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
