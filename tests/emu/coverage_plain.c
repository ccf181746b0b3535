/* Results of coverage/plain.cu. */
#include "coverage.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define F(k) ((const float *)r->before[k])
#define I(k) ((const int *)r->before[k])
#define U(k) ((const unsigned *)r->before[k])
#define GOT_F(k) ((const float *)r->after[k])
#define GOT_I(k) ((const int *)r->after[k])
#define GOT_U(k) ((const unsigned *)r->after[k])
#define ALL(n, ...) \
    for (int i = 0; i < (n); i++) \
        if (!(__VA_ARGS__)) \
            return false; \
    return true;

bool coverage_near(double got, double want, double relative)
{
    return fabs(got - want) <= relative * (1 + fabs(want));
}

static bool saxpy(const struct coverage_run *r)
{
    ALL(1000, coverage_near(GOT_F(1)[i], 2.5 * (double)F(0)[i] + (double)F(1)[i], 1e-6))
}
static bool transpose(const struct coverage_run *r)
{
    for (int y = 0; y < 45; y++)
        for (int x = 0; x < 70; x++)
            if (GOT_F(1)[x * 45 + y] != F(0)[y * 70 + x])
                return false;
    return true;
}
static bool matmul(const struct coverage_run *r)
{
    for (int y = 0; y < 40; y++)
        for (int x = 0; x < 40; x++) {
            double sum = 0;
            for (int k = 0; k < 40; k++)
                sum += (double)F(0)[y * 40 + k] * (double)F(1)[k * 40 + x];
            if (!coverage_near(GOT_F(2)[y * 40 + x], sum, 1e-5))
                return false;
        }
    return true;
}
static bool convolve(const struct coverage_run *r)
{
    static const double taps[5] = {0.25, -0.5, 1, 0.5, 2};
    for (int i = 0; i < 300; i++) {
        double sum = 0;
        for (int k = 0; k < 5; k++)
            sum += i + k >= 2 && i + k < 302 ? taps[k] * (double)F(0)[i + k - 2] : 0;
        if (!coverage_near(GOT_F(1)[i], sum, 1e-6))
            return false;
    }
    return true;
}
static bool stencil(const struct coverage_run *r)
{
    for (int z = 1; z < 9; z++)
        for (int y = 1; y < 11; y++)
            for (int x = 1; x < 37; x++) {
                int at = (z * 12 + y) * 38 + x;
                double want = 0.5 * (double)F(0)[at];
                const int near[] = {1, -1, 38, -38, 456, -456};
                for (int k = 0; k < 6; k++)
                    want += 0.1 * (double)F(0)[at + near[k]];
                if (!coverage_near(GOT_F(1)[at], want, 1e-5))
                    return false;
            }
    return true;
}
static bool nbody(const struct coverage_run *r)
{
    for (int i = 0; i < 128; i++) {
        double f[3] = {0};
        for (int j = 0; j < 128; j++) {
            double d[3], square = 0.01;
            for (int k = 0; k < 3; k++) {
                d[k] = (double)F(0)[4 * j + k] - (double)F(0)[4 * i + k];
                square += d[k] * d[k];
            }
            for (int k = 0; k < 3; k++)
                f[k] += d[k] * (double)F(0)[4 * j + 3] / (square * sqrt(square));
        }
        for (int k = 0; k < 3; k++)
            if (!coverage_near(GOT_F(1)[4 * i + k], f[k], 2e-4))
                return false;
    }
    return true;
}
static bool mandelbrot(const struct coverage_run *r)
{
    for (int py = 0; py < 30; py++)
        for (int px = 0; px < 50; px++) {
            double cx = -2.0 + 3.0 * px / 50, cy = -1.0 + 2.0 * py / 30, x = 0, y = 0;
            int n = 0;
            for (; n < 60 && x * x + y * y < 4; n++) {
                double t = x * x - y * y + cx;
                y = 2 * x * y + cy;
                x = t;
            }
            if (abs(GOT_I(0)[py * 50 + px] - n) > (n > 30)) /* chaos doubles the last bit's difference 30 times */
                return false;
        }
    return true;
}
static bool histogram(const struct coverage_run *r)
{
    unsigned bins[64] = {0};
    for (int i = 0; i < 5000; i++)
        bins[((const uint8_t *)r->before[0])[i] & 63]++;
    ALL(64, GOT_U(1)[i] == bins[i])
}
static bool last_block_sum(const struct coverage_run *r)
{
    double sum = 0;
    for (int i = 0; i < 1000; i++)
        sum += (double)F(0)[i];
    return coverage_near(GOT_F(2)[0], sum, 1e-4);
}
static bool rows_prepare(struct coverage_run *r)
{
    int *start = r->before[0], *column = r->before[1];
    for (int i = 0; i <= 200; i++)
        start[i] = 5 * i;
    for (int i = 0; i < 1000; i++)
        column[i] = (i * 37) % 100;
    return true;
}
static bool sparse_rows(const struct coverage_run *r)
{
    for (int i = 0; i < 200; i++) {
        double sum = 0;
        for (int k = I(0)[i]; k < I(0)[i + 1]; k++)
            sum += (double)F(2)[k] * (double)F(3)[I(1)[k]];
        if (!coverage_near(GOT_F(4)[i], sum, 1e-5))
            return false;
    }
    return true;
}
static bool floyd(const struct coverage_run *r)
{
    for (int i = 0; i < 30; i++)
        for (int j = 0; j < 30; j++) {
            int direct = I(0)[i * 30 + j], over = I(0)[i * 30 + 7] + I(0)[7 * 30 + j];
            if (GOT_I(0)[i * 30 + j] != (over < direct ? over : direct))
                return false;
        }
    return true;
}
static bool life(const struct coverage_run *r)
{
    const uint8_t *in = r->before[0];
    for (int y = 0; y < 20; y++)
        for (int x = 0; x < 33; x++) {
            int n = 0;
            for (int k = 0; k < 9; k++)
                n += k != 4 && (in[(y + k / 3 + 19) % 20 * 33 + (x + k % 3 + 32) % 33] & 1);
            if (((const uint8_t *)r->after[1])[y * 33 + x] != (n == 3 || (n == 2 && (in[y * 33 + x] & 1))))
                return false;
        }
    return true;
}
static bool blelloch(const struct coverage_run *r)
{
    for (int b = 0; b < 2; b++)
        for (int i = 0, sum = 0; i < 512; sum += I(0)[b * 512 + i++])
            if (GOT_I(1)[b * 512 + i] != sum)
                return false;
    return true;
}
static int by_int(const void *a, const void *b)
{
    return (*(const int *)a > *(const int *)b) - (*(const int *)a < *(const int *)b);
}
static bool bitonic(const struct coverage_run *r)
{
    int t[512];
    memcpy(t, I(0), sizeof t);
    qsort(t, 256, 4, by_int);
    qsort(t + 256, 256, 4, by_int);
    return !memcmp(t, GOT_I(0), sizeof t);
}
static double normal(double x)
{
    return 0.5 * erfc(-x * sqrt(0.5));
}
static bool black_scholes(const struct coverage_run *r)
{
    for (int i = 0; i < 300; i++) {
        double s = 20 + 10 * (double)F(0)[i], x = 20 + 10 * (double)F(1)[i], root = 0.3 * sqrt(0.5),
               d1 = (log(s / x) + (0.02 + 0.045) * 0.5) / root;
        if (!coverage_near(GOT_F(2)[i], s * normal(d1) - x * exp(-0.01) * normal(d1 - root), 1e-5))
            return false;
    }
    return true;
}
static bool gray(const struct coverage_run *r)
{
    const uint8_t *p = r->before[0];
    ALL(500, ((const uint8_t *)r->after[1])[i] == (uint8_t)((p[3 * i] * 77 + p[3 * i + 1] * 150 + p[3 * i + 2] * 29) >> 8))
}
static bool lcg(const struct coverage_run *r)
{
    unsigned hits = 0;
    for (int i = 0; i < 256; i++) {
        uint64_t s = ((const uint64_t *)r->before[0])[i];
        for (int k = 0; k < 20; k++) {
            s = s * 6364136223846793005ull + 1442695040888963407ull;
            uint64_t x = s >> 33 & 0xffff, y = s >> 49 & 0x7fff;
            hits += x * x + y * y < 1ull << 31;
        }
        if (((const uint64_t *)r->after[0])[i] != s)
            return false;
    }
    return GOT_U(1)[0] == hits;
}
static bool crc(const struct coverage_run *r)
{
    for (int i = 0; i < 128; i++) {
        unsigned c = ~0u;
        for (int b = 0; b < 128; b++)
            c = c >> 1 ^ ((c ^ (U(0)[4 * i + b / 32] >> b % 32)) & 1 ? 0xedb88320u : 0);
        if (GOT_U(1)[i] != ~c)
            return false;
    }
    return true;
}
static bool sort_first(struct coverage_run *r)
{
    qsort(r->before[0], (size_t)r->count[0], 4, by_int);
    return true;
}
static bool search(const struct coverage_run *r)
{
    for (int i = 0; i < 64; i++) {
        int n = 0;
        while (n < 500 && I(0)[n] < I(1)[i])
            n++;
        if (GOT_I(2)[i] != n)
            return false;
    }
    return true;
}
static uint32_t reversed(uint32_t v)
{
    uint32_t out = 0;
    for (int i = 0; i < 32; i++)
        out |= (v >> i & 1) << (31 - i);
    return out;
}
static bool bits(const struct coverage_run *r)
{
    for (int i = 0; i < 64; i++) {
        uint32_t x = U(0)[i], y = U(1)[i], dot = 9;
        uint64_t both = (uint64_t)y << 32 | x;
        static const int pick[] = {5, 3, 1, 6};
        uint32_t permuted = 0;
        for (int k = 0; k < 4; k++) {
            permuted |= (uint32_t)(both >> 8 * pick[k] & 0xff) << 8 * k;
            dot += (x >> 8 * k & 0xff) * (y >> 8 * k & 0xff);
        }
        uint32_t want = (uint32_t)__builtin_popcount(x) + (y ? (uint32_t)__builtin_clz(y) : 32) * 3 + (uint32_t)__builtin_ffs((int)x) * 5 +
                        reversed(y) + permuted + (uint32_t)((uint64_t)x * y >> 32) + (uint32_t)(both << 7 >> 32) + x / (y | 1) +
                        x % (y | 1) + dot;
        if (GOT_U(2)[i] != want)
            return false;
    }
    return true;
}
static bool chars(const struct coverage_run *r)
{
    const int8_t *a = r->before[0];
    const uint8_t *b = r->before[1];
    const int16_t *c = r->before[2];
    const uint16_t *d = r->before[3];
    const int64_t *e = r->before[4];
    for (int i = 0; i < 64; i++) {
        int8_t x = (int8_t)(a[i] * b[i] + c[i]);
        if (((const int8_t *)r->after[0])[i] != x ||
            ((const int16_t *)r->after[2])[i] != (int16_t)(c[i] / ((d[i] & 7) + 1) - (b[i] >> (d[i] & 3))) ||
            ((const int64_t *)r->after[4])[i] != (int64_t)((uint64_t)(int64_t)x << (d[i] & 15)) / 7 + e[i] % 1000003 - (e[i] >> 3))
            return false;
    }
    return true;
}
static bool doubles(const struct coverage_run *r)
{
    const double *x = r->before[0];
    ALL(200, coverage_near(((const double *)r->after[1])[i],
                           sqrt(fabs(x[i])) / 3 + fma(x[i], x[i], -1.0) + exp(x[i]) * sin(x[i]) + pow(fabs(x[i]) + 1, 1.5) +
                               floor(4 * x[i]) + (x[i] > 0 ? log1p(x[i]) : cbrt(x[i])),
                           1e-13))
}
static bool floats(const struct coverage_run *r)
{
    for (int i = 0; i < 200; i++) {
        float f = F(0)[i];
        double x = (double)f;
        double want = sin(x) + cos((double)(10 * f)) + tan(x) + exp(x) + log((double)(1.5f + f)) + tanh(x) + erf(x) +
                      pow((double)(2 + f), (double)1.3f) + atan2(x, (double)0.7f) + fmod((double)(9 * f), (double)0.37f) +
                      rint((double)(5 * f)) + trunc((double)(7 * f)) + cbrt(x) + exp2(x) + log1p(0.5 * x) + asin(x) + hypot(x, 2) +
                      fmax(x, (double)0.1f) + copysign(3, x) + 1 / (x + 2);
        if (!coverage_near(GOT_F(1)[i], want, 2e-6))
            return false;
    }
    return true;
}

const struct coverage_test coverage_plain[] = {
    {"plain", "saxpy", 0, {3, 1, 1}, {128, 1, 1}, 0, false, "f1000 f1000 #1000 %2.5", NULL, saxpy},
    {"plain", "transpose", 0, {3, 2, 1}, {32, 8, 1}, 0, false, "f3150 n3150 #70 #45", NULL, transpose},
    {"plain", "matmul", 0, {3, 3, 1}, {16, 16, 1}, 0, false, "f1600 f1600 n1600 #40", NULL, matmul},
    {"plain", "convolve", 0, {3, 1, 1}, {128, 1, 1}, 0, false, "f300 n300 #300", NULL, convolve},
    {"plain", "stencil", 0, {2, 2, 1}, {32, 8, 1}, 0, false, "f4560 z4560 #38 #12 #10", NULL, stencil},
    {"plain", "nbody", 0, {2, 1, 1}, {64, 1, 1}, 1024, false, "f512 n512 #128", NULL, nbody},
    {"plain", "mandelbrot", 0, {4, 4, 1}, {16, 8, 1}, 0, false, "n1500 #50 #30 #60", NULL, mandelbrot},
    {"plain", "histogram", 0, {4, 1, 1}, {128, 1, 1}, 0, false, "u5000 z64 #5000", NULL, histogram},
    {"plain", "last_block_sum", 0, {8, 1, 1}, {128, 1, 1}, 0, false, "f1000 n8 n1 #1000", NULL, last_block_sum},
    {"plain", "sparse_rows", 0, {2, 1, 1}, {128, 1, 1}, 0, false, "i201 i1000 f1000 f100 n200 #200", rows_prepare, sparse_rows},
    {"plain", "floyd", 0, {2, 4, 1}, {16, 8, 1}, 0, false, "i900 #30 #7", NULL, floyd},
    {"plain", "life", 0, {3, 3, 1}, {16, 8, 1}, 0, false, "u660 u660 #33 #20", NULL, life},
    {"plain", "blelloch", 0, {2, 1, 1}, {256, 1, 1}, 0, false, "i1024 n1024", NULL, blelloch},
    {"plain", "bitonic", 0, {2, 1, 1}, {256, 1, 1}, 0, false, "i512", NULL, bitonic},
    {"plain", "black_scholes", 0, {3, 1, 1}, {128, 1, 1}, 0, false, "f300 f300 n300 #300", NULL, black_scholes},
    {"plain", "gray", 0, {2, 1, 1}, {256, 1, 1}, 0, false, "u1500 u500 #500", NULL, gray},
    {"plain", "lcg", 0, {2, 1, 1}, {128, 1, 1}, 0, false, "q256 z1 #20", NULL, lcg},
    {"plain", "crc", 0, {2, 1, 1}, {64, 1, 1}, 0, false, "i512 n128", NULL, crc},
    {"plain", "search", 0, {2, 1, 1}, {32, 1, 1}, 0, false, "i500 i64 n64 #500", sort_first, search},
    {"plain", "bits", 0, {1, 1, 1}, {64, 1, 1}, 0, false, "i64 i64 n64", NULL, bits},
    {"plain", "chars", 0, {1, 1, 1}, {64, 1, 1}, 0, false, "u64 u64 s64 s64 q64", NULL, chars},
    {"plain", "doubles", 0, {2, 1, 1}, {128, 1, 1}, 0, false, "d200 d200 #200", NULL, doubles},
    {"plain", "floats", 0, {2, 1, 1}, {128, 1, 1}, 0, false, "f200 n200 #200", NULL, floats},
    {NULL, NULL, 0, {0}, {0}, 0, false, NULL, NULL, NULL},
};
