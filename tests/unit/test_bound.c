/* op/bound against kernels that are simulated here: the right algorithm stays well within the bound; a less precise type or a missing part
 * exceeds it. Tensor cores truncate sums: the simulation adds 16 products exactly, then truncates to 24 bits. */
#include "works.h"
#include "op/reference/bound.h"
#include "op/chain/chain.h"
#include "op/file/ops.h"
#include <stdint.h>

#define N_MAX 9216
static uint64_t state_of_random = 88172645463325252ull;
static float x[N_MAX], w[N_MAX];
static double exact, magnitudes;

static double uniform(void)
{
    state_of_random ^= state_of_random << 13;
    state_of_random ^= state_of_random >> 7;
    state_of_random ^= state_of_random << 17;
    return (double)(state_of_random >> 11) * 0x1p-53;
}

static float normal(void)
{
    double u = uniform() + 1e-18, v = uniform();
    return (float)(sqrt(-2 * log(u)) * cos(6.283185307179586 * v));
}

/* To so many significant bits, to nearest. */
static float bits(float v, int count)
{
    uint32_t word;
    memcpy(&word, &v, 4);
    word = (word + (1u << (23 - count))) & ~((1u << (24 - count)) - 1);
    memcpy(&v, &word, 4);
    return v;
}

static float half(float v)
{
    return f16_to_f32(f16_from_f32(v));
}

static void draw(int n)
{
    exact = magnitudes = 0;
    for (int i = 0; i < n; i++) {
        x[i] = normal();
        w[i] = normal() / sqrtf((float)n);
        exact += (double)x[i] * w[i];
        magnitudes += fabs((double)x[i] * w[i]);
    }
}

static float cut(double sum)
{
    float f = (float)sum;
    return fabs((double)f) > fabs(sum) ? nextafterf(f, 0) : f;
}

/* Operands of `count` bits, rounded sums. */
static double simple(int n, int count)
{
    float sum = 0;
    for (int i = 0; i < n; i++)
        sum = fmaf(count < 24 ? bits(x[i], count) : x[i], count < 24 ? bits(w[i], count) : w[i], sum);
    return sum;
}

static float to_nearest(float v)
{
    return bits(v, 11);
}

/* To 11 bits, cut off, as a mask does it. */
static float masked(float v)
{
    uint32_t word;
    memcpy(&word, &v, 4);
    word &= 0xffffe000;
    memcpy(&v, &word, 4);
    return v;
}

/* So many of the products of two parts of 11 bits: hi hi + hi lo + lo hi. */
static double products(int n, int count, float (*hi)(float), float (*lo)(float))
{
    float sum = 0;
    for (int i = 0; i < n; i += 16)
        for (int part = 0; part < count; part++) {
            double piece = 0;
            for (int k = i; k < i + 16 && k < n; k++) {
                float a = hi(x[k]), b = hi(w[k]);
                piece += part == 0 ? (double)a * b : part == 1 ? (double)a * lo(w[k] - b) : (double)lo(x[k] - a) * b;
            }
            sum = cut(sum + piece);
        }
    return sum;
}

/* ... of which the last `dropped` are left out. */
static double split(int n, int dropped)
{
    return products(n, 3 - dropped, to_nearest, to_nearest);
}

/* f16 sums of f16 operands of `count` bits, rounded after every `step` products. */
static double sums16(int n, int count, int step)
{
    float sum = 0;
    for (int i = 0; i < n; i += step) {
        double piece = 0;
        for (int k = i; k < i + step && k < n; k++)
            piece += (double)bits(half(x[k]), count) * bits(half(w[k]), count);
        sum = f16_to_f32(f16_from_f64((double)sum + piece));
    }
    return sum;
}

static struct work of_terms(int n, enum math math)
{
    struct work w_ = conv_work(n / 9, 8, 32, 32, 3);
    w_.math = math;
    return w_;
}

/* The largest error as a share of what is allowed, of so many outputs. */
static double largest(int n, int outputs, enum math math, const char *algorithm, double (*kernel)(int n, int how), int how)
{
    struct work work = of_terms(n, math);
    double most = 0, factor = bound_factor(algorithm, &work);
    for (int i = 0; i < outputs; i++) {
        draw(n);
        if (math == MATH_F16_ACC16) { /* what the kernel is given is f16 already */
            exact = magnitudes = 0;
            for (int k = 0; k < n; k++) {
                exact += (double)half(x[k]) * half(w[k]);
                magnitudes += fabs((double)half(x[k]) * half(w[k]));
            }
        }
        most = fmax(most, fabs(kernel(n, how) - exact) / (factor * bound_sum(math, n, n, exact, magnitudes)));
    }
    return most;
}

static double sums_in_turn(int n, int count)
{
    return sums16(n, count, 1);
}
static double sums_of_16(int n, int count)
{
    return sums16(n, count, 16);
}

static const int terms[] = {9, 36, 576, 2304};
static const int outputs[] = {20000, 8000, 1000, 300};
#define EACH (sizeof terms / sizeof *terms)

static void right(const char *what, enum math math, const char *algorithm, double (*kernel)(int n, int how), int how)
{
    for (size_t i = 0; i < EACH; i++) {
        double share = largest(terms[i], outputs[i], math, algorithm, kernel, how);
        if (!(share < 0.6))
            fail_msg("%s of %d terms uses %.3g of what is allowed", what, terms[i], share);
    }
}

static void wrong(const char *what, size_t until, enum math math, const char *algorithm, double (*kernel)(int n, int how), int how)
{
    for (size_t i = 0; i < until; i++) {
        double share = largest(terms[i], outputs[i], math, algorithm, kernel, how);
        if (!(share > 1.2))
            fail_msg("%s of %d terms uses %.3g of what is allowed", what, terms[i], share);
    }
}

static void test_strict_f32(void **state)
{
    right("a direct sum", MATH_F32, "direct", simple, 24);
    wrong("a sum of TF32", EACH, MATH_F32, "direct", simple, 11);
    wrong("a sum of two bf16 parts", 3, MATH_F32, "direct", simple, 16);
    wrong("a sum of TF32 that calls itself winograd", EACH, MATH_F32, "winograd", simple, 11);
    wrong("a sum of TF32 that calls itself library", EACH, MATH_F32, "library", simple, 11);
    wrong("a sum of TF32 that calls itself fft", EACH, MATH_F32, "fft", simple, 11);
}

/* Parts that are cut off are allowed for, however few terms there are, and the small ones may be rounded; a dropped product is not. */
static void test_split_few(void **state)
{
    static const int few[] = {1, 2, 3, 4, 9, 36, 576};
    for (size_t i = 0; i < sizeof few / sizeof *few; i++) {
        struct work work = conv_work(few[i], 8, 32, 32, 1);
        work.math = MATH_F32;
        double most[3] = {0}, factor = bound_factor("split3", &work);
        for (int o = 0; o < (few[i] > 100 ? 2000 : 20000); o++) {
            draw(few[i]);
            double may = factor * bound_sum(MATH_F32, few[i], few[i], exact, magnitudes);
            most[0] = fmax(most[0], fabs(products(few[i], 3, masked, masked) - exact) / may);
            most[1] = fmax(most[1], fabs(products(few[i], 3, masked, to_nearest) - exact) / may);
            most[2] = fmax(most[2], fabs(split(few[i], 1) - exact) / may);
        }
        if (!(most[0] < 0.9) || !(most[1] < 0.9) || !(most[2] > 1.2))
            fail_msg("%d terms: parts cut off use %.3g of what is allowed, small ones rounded %.3g, a dropped one %.3g", few[i], most[0],
                     most[1], most[2]);
    }
}

static void test_split(void **state)
{
    right("three products of two parts", MATH_F32, "split3", split, 0);
    wrong("two products", EACH, MATH_F32, "split3", split, 1);
    wrong("one product", EACH, MATH_F32, "split3", split, 2);
}

static void test_sums_of_16_bits(void **state)
{
    right("f16 sums", MATH_F16_ACC16, "direct", sums_in_turn, 11);
    right("f16 sums on tensor cores", MATH_F16_ACC16, "implicit_gemm", sums_of_16, 11);
    wrong("fp8 operands (e4m3), sums in turn", 3, MATH_F16_ACC16, "direct", sums_in_turn, 4);
    wrong("fp8 operands (e4m3) on tensor cores", 3, MATH_F16_ACC16, "implicit_gemm", sums_of_16, 4);
    wrong("fp8 operands (e5m2) on tensor cores", 3, MATH_F16_ACC16, "implicit_gemm", sums_of_16, 3);
}

/* F(4x4, 3x3) with the matrices of Lavin and Gray, all in f32: what a Winograd kernel of a library does. One tile, `c` channels. */
static void winograd_tile(int c, double *most, const struct work *work)
{
    static const float bt[6][6] = {{4, 0, -5, 0, 1, 0},  {0, -4, -4, 1, 1, 0}, {0, 4, -4, -1, 1, 0},
                                   {0, -2, -1, 2, 1, 0}, {0, 2, -1, -2, 1, 0}, {0, 4, 0, -5, 0, 1}};
    static const float g[6][3] = {{0.25f, 0, 0},
                                  {-1 / 6.0f, -1 / 6.0f, -1 / 6.0f},
                                  {-1 / 6.0f, 1 / 6.0f, -1 / 6.0f},
                                  {1 / 24.0f, 1 / 12.0f, 1 / 6.0f},
                                  {1 / 24.0f, -1 / 12.0f, 1 / 6.0f},
                                  {0, 0, 1}};
    static const float at[4][6] = {{1, 1, 1, 1, 1, 0}, {0, 1, -1, 2, -2, 0}, {0, 1, 1, 4, 4, 0}, {0, 1, -1, 8, -8, 1}};
    float sums[6][6] = {{0}};
    double y[4][4] = {{0}}, a[4][4] = {{0}};
    for (int ch = 0; ch < c; ch++) {
        float in[6][6], f[3][3], t[6][6] = {{0}}, u[6][6] = {{0}}, gf[6][3] = {{0}};
        for (int i = 0; i < 36; i++)
            in[i / 6][i % 6] = normal();
        for (int i = 0; i < 9; i++)
            f[i / 3][i % 3] = normal() / sqrtf(9.0f * (float)c);
        for (int i = 0; i < 4; i++)
            for (int j = 0; j < 4; j++)
                for (int r = 0; r < 9; r++) {
                    double p = (double)in[i + r / 3][j + r % 3] * f[r / 3][r % 3];
                    y[i][j] += p;
                    a[i][j] += fabs(p);
                }
        for (int i = 0; i < 6; i++)
            for (int j = 0; j < 6; j++)
                for (int k = 0; k < 6; k++)
                    t[i][j] += bt[i][k] * in[k][j];
        for (int i = 0; i < 6; i++)
            for (int j = 0; j < 3; j++)
                for (int k = 0; k < 3; k++)
                    gf[i][j] += g[i][k] * f[k][j];
        for (int i = 0; i < 6; i++)
            for (int j = 0; j < 6; j++) {
                float v = 0;
                for (int k = 0; k < 6; k++)
                    v += t[i][k] * bt[j][k];
                for (int k = 0; k < 3; k++)
                    u[i][j] += gf[i][k] * g[j][k];
                sums[i][j] = fmaf(v, u[i][j], sums[i][j]);
            }
    }
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) {
            float out = 0;
            for (int k = 0; k < 6; k++) {
                float row = 0;
                for (int l = 0; l < 6; l++)
                    row += sums[k][l] * at[j][l];
                out += at[i][k] * row;
            }
            *most = fmax(*most,
                         fabs(out - y[i][j]) / (bound_factor("winograd", work) * bound_sum(MATH_F32, 9.0 * c, 9.0 * c, y[i][j], a[i][j])));
        }
}

static void test_winograd(void **state)
{
    static const int channels[] = {1, 4, 64, 256};
    for (size_t i = 0; i < 4; i++) {
        struct work work = of_terms(9 * channels[i], MATH_F32);
        double most = 0;
        for (int tile = 0; tile < 12000 / channels[i]; tile++)
            winograd_tile(channels[i], &most, &work);
        if (!(most < 0.6))
            fail_msg("F(4x4, 3x3) of %d channels uses %.3g of what is allowed", channels[i], most);
    }
}

/* Draws which pixels of a tile are active: all without a mask, else a tenth. */
static void draw_active(bool *on, int count, const struct work *work)
{
    for (int i = 0; i < count; i++)
        on[i] = work->mask.pattern == MASK_NONE || normal() > 1.2816f;
}

/* F(2x2, 3x3) whose transformed inputs and filter are rounded to `count` bits, each addition of inputs too; sums are exact. One tile. */
static void halved_tile(int c, int count, double *most, const struct work *work)
{
    static const int bt[4][4] = {{1, 0, -1, 0}, {0, 1, 1, 0}, {0, -1, 1, 0}, {0, 1, 0, -1}}, at[2][4] = {{1, 1, 1, 0}, {0, 1, -1, -1}};
    static const float g[4][3] = {{1, 0, 0}, {0.5f, 0.5f, 0.5f}, {0.5f, -0.5f, 0.5f}, {0, 0, 1}};
    double sums[4][4] = {{0}}, y[2][2] = {{0}}, a[2][2] = {{0}};
    bool on[16];
    draw_active(on, 16, work);
    for (int ch = 0; ch < c; ch++) {
        float in[4][4], f[3][3], across[4][4];
        for (int i = 0; i < 16; i++)
            in[i / 4][i % 4] = on[i] ? half(normal()) : 0;
        for (int i = 0; i < 9; i++)
            f[i / 3][i % 3] = half(normal() / sqrtf(9.0f * (float)c));
        for (int i = 0; i < 36; i++) {
            int p = i / 18, q = i / 9 % 2, r = i / 3 % 3, s = i % 3;
            double product = (double)in[p + r][q + s] * f[r][s];
            y[p][q] += product;
            a[p][q] += fabs(product);
        }
        for (int i = 0; i < 16; i++) {
            float v = 0;
            for (int k = 0; k < 4; k++)
                v += in[i / 4][k] * (float)bt[i % 4][k];
            across[i / 4][i % 4] = bits(v, count);
        }
        for (int i = 0; i < 16; i++) {
            float v = 0, u = 0;
            for (int k = 0; k < 4; k++)
                v += across[k][i % 4] * (float)bt[i / 4][k];
            for (int k = 0; k < 9; k++)
                u += g[i / 4][k / 3] * f[k / 3][k % 3] * g[i % 4][k % 3];
            sums[i / 4][i % 4] += (double)bits(v, count) * bits(u, count);
        }
    }
    for (int p = 0; p < 2; p++)
        for (int q = 0; q < 2; q++) {
            double out = 0;
            for (int i = 0; i < 16; i++)
                out += at[p][i / 4] * sums[i / 4][i % 4] * at[q][i % 4];
            if (a[p][q] > 0) /* an active output */
                *most = fmax(*most, fabs(out - y[p][q]) /
                                        (bound_factor("winograd", work) * bound_sum(MATH_F16_ACC32, 9.0 * c, 9.0 * c, y[p][q], a[p][q])));
        }
}

/* d times factor + other, rounded once to `count` bits. */
static float multiplied(float d, float factor, float other, int count)
{
    return bits((float)((double)d * factor + other), count);
}

/* F(4, 3) along rows at the points 0, +-3/4, +-3/2 and infinity, as conv2d/winograd_row computes it. Each sum of inputs and each
 * transformed weight is rounded to `count` bits; sums are exact. Four outputs, `c` channels, three rows. */
static void row_tile(int c, int count, double *most, const struct work *work)
{
    static const double point[5] = {0, 0.75, -0.75, 1.5, -1.5};
    double sums[6] = {0}, y[4] = {0}, a[4] = {0};
    bool on[18];
    draw_active(on, 18, work);
    for (int ch = 0; ch < 3 * c; ch++) {
        float d[6], f[3], v[6];
        for (int i = 0; i < 6; i++)
            d[i] = on[ch / c * 6 + i] ? half(normal()) : 0;
        for (int i = 0; i < 3; i++)
            f[i] = half(normal() / sqrtf(9.0f * (float)c));
        for (int i = 0; i < 12; i++) {
            y[i / 3] += (double)d[i / 3 + i % 3] * f[i % 3];
            a[i / 3] += fabs((double)d[i / 3 + i % 3] * f[i % 3]);
        }
        for (int i = 0; i < 2; i++) {
            v[5 * i] = multiplied(d[i], 1.265625f, multiplied(d[2 + i], -2.8125f, d[4 + i], count), count);
            float other = i ? -0.5625f : -2.25f, even = multiplied(d[2], other, d[4], count), odd = multiplied(d[1], other, d[3], count);
            for (int sign = 0; sign < 2; sign++)
                v[1 + 2 * i + sign] = multiplied(odd, (float)point[1 + 2 * i + sign], even, count);
        }
        for (int i = 0; i < 5; i++) {
            double from_others = 1;
            for (int j = 0; j < 5; j++)
                from_others *= j == i ? 1 : point[i] - point[j];
            sums[i] += (double)v[i] * bits((float)((f[0] + point[i] * (f[1] + point[i] * f[2])) / from_others), count);
        }
        sums[5] += (double)v[5] * f[2];
    }
    for (int q = 0; q < 4; q++) {
        double out = q == 3 ? sums[5] : 0;
        for (int i = 0; i < 5; i++)
            out += pow(point[i], q) * sums[i];
        if (a[q] > 0)
            *most =
                fmax(*most, fabs(out - y[q]) / (bound_factor("winograd", work) * bound_sum(MATH_F16_ACC32, 9.0 * c, 9.0 * c, y[q], a[q])));
    }
}

/* Operands of 11 bits are what the bound is for; of 8 bits (bf16 in place of f16) they are told apart at any number of channels. */
static void test_winograd_of_halves(void **state)
{
    static const int channels[] = {8, 16, 64, 256};
    for (size_t n = 0; n < 8; n++) {
        const size_t i = n / 2;
        struct work work = of_terms(9 * channels[i], MATH_F16_ACC32);
        double most[2] = {0}, lesser[2] = {0};
        work.dtype = DTYPE_F16;
        work.mask.pattern = n % 2 ? MASK_IID : MASK_NONE;
        for (int tile = 0; tile < 100000 / channels[i]; tile++) {
            halved_tile(channels[i], 11, most, &work);
            halved_tile(channels[i], 8, lesser, &work);
            row_tile(channels[i], 11, most + 1, &work);
            row_tile(channels[i], 8, lesser + 1, &work);
        }
        for (int row = 0; row < 2; row++)
            if (!(most[row] < 0.8 && lesser[row] > 1.2))
                fail_msg("F(%s) of %d channels%s uses %.3g of what is allowed, of 8 bits %.3g", row ? "4, 3" : "2x2, 3x3", channels[i],
                         n % 2 ? " behind a mask" : "", most[row], lesser[row]);
    }
}

/* A sum that begins with its bias rounds at the bias's size from the first term on: that is allowed for, lesser operands are not. */
static void test_begun(void **state)
{
    for (int kind = 0; kind < 2; kind++)
        for (size_t i = 0; i < EACH; i++) {
            double n = terms[i], most = 0, without = 0, u = 0x1p-24;
            for (int o = 0; o < 3 * outputs[i]; o++) {
                float bias = normal(), sum = bias;
                draw(terms[i]);
                for (int k = 0; k < terms[i]; k++)
                    sum = fmaf(kind ? bits(x[k], 11) : x[k], kind ? bits(w[k], 11) : w[k], sum);
                double y = exact + (double)bias, plain = bound_sum(MATH_F32, n, n, exact, magnitudes) + u * (fabs(exact) + fabs(y));
                most = fmax(most, fabs((double)sum - y) / (plain + bound_begun(MATH_F32, n) * fabs((double)bias)));
                without = fmax(without, fabs((double)sum - y) / plain);
            }
            if (kind ? !(most > 1.2) : !(most < 0.9))
                fail_msg("%g terms and a bias, %s: %.3g of what is allowed, %.3g without the bias", n, kind ? "of 11 bits" : "right", most,
                         without);
        }
    assert_true(bound_begun(MATH_F16_ACC32, 576) == 0 && bound_begun(MATH_TF32, 576) == 0 && bound_begun(MATH_I8_ACC32, 576) == 0);
    assert_true(bound_begun(MATH_F16_ACC16, 574) == 3 * 24 * 0x1p-11 && bound_begun(MATH_F32, 574) == 3 * 24 * 0x1p-24);
    assert_true(bound_begun(MATH_F32, 1) == 3 * 0x1p-24); /* the worst case is less there */
}

static void test_operands(void **state)
{
    const unsigned lesser = FACTOR_F16 | FACTOR_BF16 | FACTOR_TF32;
    static const char *const plain[] = {"direct", "implicit_gemm", "winograd", "fft", "library", "collapsed", "my words"};
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        assert_false(bound_factors(MATH_F32, plain[i]) & lesser);
    assert_int_equal(bound_factors(MATH_F32, "split3") & lesser, lesser);
    assert_false(bound_factors(MATH_TF32, "direct") & FACTOR_BF16);
    assert_true(bound_factors(MATH_TF32, "direct") & FACTOR_TF32);
    assert_int_equal(bound_factors(MATH_TF32, "split3"), bound_factors(MATH_TF32, "direct")); /* the word opens f32 alone */
    assert_false(bound_factors(MATH_F16_ACC32, "direct") & (FACTOR_BF16 | FACTOR_SUM_F16));
    assert_true(bound_factors(MATH_F16_ACC16, "direct") & FACTOR_SUM_F16);
    for (enum math m = MATH_F32; m < MATH_COUNT; m++)
        assert_false(bound_factors(m, "split3") & (FACTOR_F8 | FACTOR_BITS));
}

/* What an algorithm is given beyond a plain sum, at 576 terms; an op without groups has one, and one without channels, too. */
static void slack_of_algorithms(void **state)
{
    struct work conv = of_terms(576, MATH_F32), none = conv;
    none.groups = 0;
    assert_true(bound_factor("split3", &conv) > 1.5 && bound_factor("split3", &conv) < 8);
    assert_true(bound_factor("winograd", &conv) > bound_factor("split3", &conv));
    assert_true(bound_factor("winograd", &none) == bound_factor("winograd", &conv));
    struct work single = of_terms(9, MATH_F32), without = single;
    without.c = 0;
    assert_true(bound_factor("split3", &without) == bound_factor("split3", &single));
    assert_true(bound_factor("direct", &conv) == 1 && bound_factor("no such word", &conv) == 1);
    /* a word alone is given nothing: of taps that share no pixel none are added up, and a single tap is not transformed */
    struct work one = conv_work(64, 8, 32, 32, 1);
    one.math = MATH_F16_ACC32;
    assert_true(bound_factor("collapsed", &conv) == 1 && bound_factor("collapsed", &one) == 1);
    assert_true(bound_factor("winograd", &one) == 1 && bound_factor("fft", &one) == 1 && bound_factor("library", &one) == 16);
    one.s = 2; /* two are */
    assert_int_equal(bound_factor("fft", &one), 16);
    assert_true(bound_factor("winograd", &one) > 4);
}

static void near(double is, double should, const char *what, double n)
{
    if (!(fabs(is - should) <= 1e-12 * fabs(should)))
        fail_msg("%s, %g terms: %.15g, want %.15g", what, n, is, should);
}

/* What op/reference/bound.h and docs/HEAD.md say in words. */
static void the_bounds_as_they_are_promised(void **state)
{
    static const double counts[] = {1, 2, 9, 10, 11, 33, 34, 35, 576, 9216, 1e6};
    static const enum math modes[] = {MATH_F32, MATH_F16_ACC16, MATH_TF32, MATH_F16_ACC32, MATH_BF16_ACC32};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        for (size_t m = 0; m < 5; m++) {
            double n = counts[i], u = modes[m] == MATH_F16_ACC16 ? 1. / 2048 : 1. / 16777216, worst = n + 2, likely = 6 * sqrt(n + 2);
            bool cuts = m >= 2;
            double g = cuts ? 2 * (worst < likely ? worst : likely) : worst < 12 ? worst : 12, share = g * u / (1 - g * u);
            double one_sign = (worst < likely ? worst : likely) * u, tf32 = 6 / sqrt(n) < 2 ? 6 / sqrt(n) : 2;
            near(bound_share(modes[m], n), share, "share", n);
            near(bound_one_sign(modes[m], n) * share, one_sign > share ? one_sign : share, "one sign", n);
            near((bound_rounded_filter(modes[m], n, 0.01) - 1) * share, 0.01 * (6 / sqrt(n) < 1 ? 6 / sqrt(n) : 1), "a rounded filter", n);
            near(bound_sum(modes[m], 2 * n, n, -3, 7), 7 * bound_share(modes[m], 2 * n) + (m == 2 ? (6 + 7 * tf32) / 1024 : 0), "sum", n);
        }
    near(bound_sum(MATH_I8_ACC32, 100, 100, -5, 1000), 5. / 8388608, "whole numbers", 100);
    for (int c = 1; c < 100; c += 11)
        for (int groups = 1; groups < 3; groups++) {
            struct work w_ = conv_work(c * groups, 8, 32, 32, 3);
            double n = 9 * c;
            w_.groups = groups;
            w_.math = MATH_F32;
            near((bound_factor("split3", &w_) - 1) * (n < 10 ? n + 2 : 12), 2 * sqrt(n + 2) + 48 * (n < 36 ? 1 : 6 / sqrt(n)), "split3", n);
            near(bound_factor("winograd", &w_), 16 * (1 + 6 / sqrt(n)) * (n < 10 ? 12 / (n + 2) : 1), "winograd", n);
            w_.math = MATH_F16_ACC16;
            near(bound_factor("fft", &w_), 16 * (1 + 6 / sqrt(n)) * (n < 10 ? 12 / (n + 2) : 1), "fft of f16 sums", n);
            w_.math = MATH_F16_ACC32;
            near(bound_factor("library", &w_), 16, "library", n);
            near(bound_factor("split3", &w_), 1, "split3 of f16", n);
            double g = n < 10 ? n + 2 : 12, cuts = 2 * (n < 34 ? n + 2 : 6 * sqrt(n + 2)), u = 1. / 16777216;
            double rounded = g * u / (1 - g * u) / (cuts * u / (1 - cuts * u));
            near(bound_factor_rounded("direct", &w_), rounded, "f16_acc32 without tensor cores", n);
            near(bound_factor_rounded("split3", &w_), rounded, "f16_acc32 that says split3", n);
            near(bound_factor_rounded("fft", &w_), 16, "a transform", n);
            w_.dtype = DTYPE_F16;
            near(bound_factor("winograd", &w_), 4 * (1 + (n < 36 ? 1 : 6 / sqrt(n)) / 2048 / (cuts * u / (1 - cuts * u))), "halves", n);
            w_.math = MATH_BF16_ACC32;
            near(bound_factor_rounded("direct", &w_), rounded, "bf16_acc32 without tensor cores", n);
            w_.epilogue_count = 1; /* whose roundings lie in the bound, too */
            near(bound_factor_rounded("direct", &w_), 1, "with an epilogue", n);
            w_.epilogue_count = 0;
            for (int m = 0; m < 3; m++) {
                w_.math = (enum math[]){MATH_F32, MATH_TF32, MATH_F16_ACC16}[m];
                near(bound_factor_rounded("direct", &w_), 1, "another mode", n);
            }
        }
}

/* A network is given what that of its layers is given that is given most, whichever it is. */
static void a_network_has_its_widest_slack(void **state)
{
    struct chain_link links[3];
    struct chain chain = {.links = links, .count = 3};
    struct work w_ = {.op = op_find("chain"), .chain = &chain};
    for (int most = 0; most < 3; most++) {
        memset(links, 0, sizeof links);
        for (int i = 0; i < 3; i++)
            links[i].work = of_terms(i == most ? 9 : 576, MATH_F32);
        assert_true(bound_factor("direct", &w_) == 1 && bound_factor(NULL, &w_) == 1);
        near(bound_factor("winograd", &w_), bound_factor("winograd", &links[most].work), "network", most);
        assert_true(bound_factor("winograd", &w_) > bound_factor("winograd", &links[(most + 1) % 3].work));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_bounds_as_they_are_promised),
                                       cmocka_unit_test(a_network_has_its_widest_slack),
                                       cmocka_unit_test(slack_of_algorithms),
                                       cmocka_unit_test(test_strict_f32),
                                       cmocka_unit_test(test_split),
                                       cmocka_unit_test(test_sums_of_16_bits),
                                       cmocka_unit_test(test_winograd),
                                       cmocka_unit_test(test_winograd_of_halves),
                                       cmocka_unit_test(test_begun),
                                       cmocka_unit_test(test_split_few),
                                       cmocka_unit_test(test_operands)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
