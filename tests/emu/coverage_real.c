/* Results of coverage/real.cu. */
#include "coverage.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define F(k) ((const float *)r->before[k])
#define I(k) ((const int *)r->before[k])
#define GOT_F(k) ((const float *)r->after[k])
#define GOT_I(k) ((const int *)r->after[k])
#define GOT_U(k) ((const unsigned *)r->after[k])

static double half_at(const void *v, int i)
{
    return (double)f16_to_f32(((const uint16_t *)v)[i]);
}
static double bf16_at(const void *v, int i)
{
    return (double)bf16_to_f32(((const uint16_t *)v)[i]);
}

static bool gemm_stages(const struct coverage_run *r)
{
    for (int y = 0; y < 70; y++)
        for (int x = 0; x < 90; x++) {
            double sum = 0;
            for (int k = 0; k < 104; k++)
                sum += half_at(r->before[0], y * 104 + k) * half_at(r->before[1], x * 104 + k);
            if (!coverage_near(GOT_F(2)[y * 90 + x], sum, 1e-5))
                return false;
        }
    return true;
}

static bool rms_norm(const struct coverage_run *r)
{
    for (int row = 0; row < 3; row++) {
        double squares = 0;
        for (int c = 0; c < 1000; c++)
            squares += bf16_at(r->before[0], row * 1000 + c) * bf16_at(r->before[0], row * 1000 + c);
        for (int c = 0; c < 1000; c++) {
            double want = bf16_at(r->before[0], row * 1000 + c) / sqrt(squares / 1000 + 1e-5) * bf16_at(r->before[1], c);
            if (!coverage_near(bf16_at(r->after[2], row * 1000 + c), want, 5e-3))
                return false;
        }
    }
    return true;
}

static bool attention(const struct coverage_run *r)
{
    for (int row = 0; row < 100; row++) {
        double p[100], most = -1e30, sum = 0;
        for (int k = 0; k <= row; k++) {
            p[k] = 0;
            for (int c = 0; c < 64; c++)
                p[k] += half_at(r->before[0], row * 64 + c) * half_at(r->before[1], k * 64 + c);
            p[k] *= 0.125;
            most = fmax(most, p[k]);
        }
        for (int k = 0; k <= row; k++)
            sum += p[k] = exp(p[k] - most);
        for (int c = 0; c < 64; c++) {
            double want = 0;
            for (int k = 0; k <= row; k++)
                want += p[k] / sum * half_at(r->before[2], k * 64 + c);
            if (!coverage_near(half_at(r->after[3], row * 64 + c), want, 2e-3))
                return false;
        }
    }
    return true;
}

/* 6 rows of 40 blocks; scales that are no NaN, and each block's sum of values times its scale beside the scale. */
static void put_half(uint8_t *to, double v)
{
    uint16_t h = f16_from_f64(v);
    memcpy(to, &h, 2);
}
static double get_half(const uint8_t *from)
{
    uint16_t h;
    memcpy(&h, from, 2);
    return (double)f16_to_f32(h);
}
static bool prepare_rows(struct coverage_run *r)
{
    uint8_t *w = r->before[0], *x = r->before[1];
    for (int b = 0; b < 240; b++)
        put_half(w + 18 * b, 0.01 + b % 7 * 0.003);
    for (int b = 0; b < 40; b++) {
        int sum = 0;
        for (int i = 0; i < 32; i++)
            sum += (int8_t)(x[36 * b + 4 + i] = (uint8_t)(x[36 * b + 4 + i] % 64));
        put_half(x + 36 * b, 0.0625);
        put_half(x + 36 * b + 2, 0.0625 * sum);
    }
    return true;
}
static bool quantised_rows(const struct coverage_run *r)
{
    const uint8_t *w = r->before[0], *x = r->before[1];
    for (int row = 0; row < 6; row++) {
        double sum = 0;
        for (int b = 0; b < 40; b++) {
            const uint8_t *u = w + 18 * (row * 40 + b), *v = x + 36 * b;
            for (int i = 0; i < 16; i++)
                sum += get_half(u) * get_half(v) * (((u[2 + i] & 15) - 8) * (int8_t)v[4 + i] + ((u[2 + i] >> 4) - 8) * (int8_t)v[20 + i]);
        }
        if (!coverage_near(GOT_F(2)[row], sum, 2e-3))
            return false;
    }
    return true;
}

static bool column_sums(const struct coverage_run *r)
{
    for (int c = 0; c < 256; c++) {
        double sum = 0;
        for (int row = 0; row < 21; row++)
            sum += (double)F(0)[row * 256 + c];
        if (!coverage_near(GOT_F(1)[c], sum, 1e-5))
            return false;
    }
    return true;
}

static bool cluster_totals(const struct coverage_run *r)
{
    for (int group = 0; group < 2; group++) {
        int whole = 0;
        for (int rank = 0; rank < 4; rank++) {
            int most = 0, least = 1000, sum = 0;
            for (int i = 0; i < 32; i++) {
                int v = I(0)[(group * 4 + rank) * 32 + i];
                most = v > most ? v : most;
                least = v < least ? v : least;
                sum += v;
            }
            const int *got = GOT_I(1) + group * 17 + rank * 4;
            whole += sum;
            if (got[0] != most || got[1] != least || got[2] != sum || got[3] != rank)
                return false;
        }
        if (GOT_I(1)[group * 17 + 16] != whole)
            return false;
    }
    return true;
}

static bool boxes_added(const struct coverage_run *r)
{
    for (int y = 0; y < 14; y++)
        for (int x = 0; x < 60; x++)
            if (GOT_F(0)[y * 60 + x] != F(0)[y * 60 + x] + (float)(y % 8 * 32 + x % 32))
                return false;
    return true;
}
static bool half_most(const struct coverage_run *r)
{
    for (int k = 0; k < 4; k++) {
        double most = 0; /* what was there */
        for (int i = 0; i < 32; i++)
            most = fmax(most, half_at(r->before[0], 4 * i + k));
        if (half_at(r->after[1], k) != most)
            return false;
    }
    return true;
}

static bool narrowed(const struct coverage_run *r)
{
    for (int t = 0; t < 32; t++) {
        const int *v = I(0) + 4 * t;
        unsigned bytes = 0, mask = 0xf0f0a5u ^ (unsigned)t, nth = ~0u;
        for (int i = 0; i < 4; i++) {
            int x = v[i] * 9 - 400;
            bytes |= ((unsigned)(x > 127 ? 127 : x < -128 ? -128 : x) & 255) << (8 * i);
        }
        for (int at = 3, left = 2; at < 32 && nth == ~0u; at++)
            if (mask >> at & 1 && --left == 0)
                nth = (unsigned)at;
        int low = v[1] & 31, extended = low >= 16 ? low - 32 : low; /* 37 is 5 bits */
        const unsigned *got = GOT_U(1) + 4 * t;
        if (got[0] != bytes || got[1] != nth || got[2] != (unsigned)(v[0] * -7 + 5) || got[3] != (unsigned)extended)
            return false;
    }
    return true;
}

static int by_value(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}
static bool own_array(const struct coverage_run *r)
{
    for (int t = 0; t < 64; t++) {
        int n = 1 + I(0)[t] % 50, a[50];
        for (int i = 0; i < n; i++)
            a[i] = I(0)[(t + i) % 64];
        qsort(a, (size_t)n, sizeof *a, by_value);
        if (GOT_I(1)[t] != a[n / 2])
            return false;
    }
    return true;
}

const struct coverage_test coverage_real[] = {
    {"real", "gemm_stages", 80, {2, 2, 1}, {128, 1, 1}, 3 * 2 * 64 * 32 * 2, false, "h7280 h9360 n6300 #70 #90 #104", NULL, gemm_stages},
    {"real", "rms_norm", 80, {3, 1, 1}, {128, 1, 1}, 0, false, "b3000 b1000 b3000 #1000 %0.00001", NULL, rms_norm},
    {"real",
     "attention",
     80,
     {2, 1, 1},
     {128, 1, 1},
     64 * 128 + 4 * 32 * 128,
     false,
     "h6400 h6400 h6400 h6400 #100 %0.125",
     NULL,
     attention},
    {"real", "quantised_rows", 0, {3, 1, 1}, {32, 2, 1}, 0, false, "u4320 u1440 n6 #40", prepare_rows, quantised_rows},
    {"real", "column_sums", 90, {3, 1, 1}, {288, 1, 1}, 0, false, "f5376 z256 z1 #21", NULL, column_sums},
    {"real", "cluster_totals", 90, {8, 1, 1}, {32, 1, 1}, 0, false, "i256 n34", NULL, cluster_totals},
    {"real", "boxes_added", 90, {2, 2, 1}, {256, 1, 1}, 0, false, "m60x14", NULL, boxes_added},
    {"real", "half_most", 90, {1, 1, 1}, {32, 1, 1}, 0, false, "h128 z2", NULL, half_most},
    {"real", "narrowed", 0, {1, 1, 1}, {32, 1, 1}, 0, false, "i128 n128", NULL, narrowed},
    {"real", "own_array", 0, {1, 1, 1}, {64, 1, 1}, 0, false, "i64 n64 #50", NULL, own_array},
    {NULL, NULL, 0, {0}, {0}, 0, false, NULL, NULL, NULL},
};
