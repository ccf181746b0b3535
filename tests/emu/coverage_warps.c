/* Results of coverage/warps.cu and coverage/tensors.cu. */
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

static bool reduce(const struct coverage_run *r)
{
    double sum = 0;
    for (int i = 0; i < 3000; i++)
        sum += (double)F(0)[i];
    return coverage_near(GOT_F(1)[0], sum, 1e-4);
}
static bool scan(const struct coverage_run *r)
{
    for (int b = 0; b < 2; b++)
        for (int i = 0, sum = 0; i < 256; i++) {
            sum += I(0)[b * 256 + i];
            if (GOT_I(1)[b * 256 + i] != sum)
                return false;
        }
    return true;
}
static bool softmax(const struct coverage_run *r)
{
    for (int row = 0; row < 8; row++) {
        double most = -1e30, sum = 0;
        for (int c = 0; c < 100; c++)
            most = fmax(most, (double)F(0)[row * 100 + c]);
        for (int c = 0; c < 100; c++)
            sum += exp((double)F(0)[row * 100 + c] - most);
        for (int c = 0; c < 100; c++)
            if (!coverage_near(GOT_F(1)[row * 100 + c], exp((double)F(0)[row * 100 + c] - most) / sum, 1e-5))
                return false;
    }
    return true;
}
static bool layernorm(const struct coverage_run *r)
{
    for (int row = 0; row < 4; row++) {
        double sum = 0, squares = 0;
        for (int c = 0; c < 200; c++) {
            double v = (double)F(0)[row * 200 + c];
            sum += v, squares += v * v;
        }
        double mean = sum / 200, inverse = 1 / sqrt(squares / 200 - mean * mean + 1e-5);
        for (int c = 0; c < 200; c++)
            if (!coverage_near(GOT_F(2)[row * 200 + c], ((double)F(0)[row * 200 + c] - mean) * inverse * (double)F(1)[c], 1e-4))
                return false;
    }
    return true;
}
static int by_int(const void *a, const void *b)
{
    return (*(const int *)a > *(const int *)b) - (*(const int *)a < *(const int *)b);
}
static bool compact(const struct coverage_run *r)
{
    int want[500], got[500], n = 0;
    for (int i = 0; i < 500; i++)
        if (I(0)[i] & 1)
            want[n++] = I(0)[i];
    if (GOT_I(2)[0] != n)
        return false;
    memcpy(got, GOT_I(1), (size_t)n * 4);
    qsort(want, (size_t)n, 4, by_int);
    qsort(got, (size_t)n, 4, by_int);
    return !memcmp(want, got, (size_t)n * 4);
}
static bool tiles(const struct coverage_run *r)
{
    for (int i = 0; i < 256; i++) {
        const int *in = I(0);
        int warp = i / 32 * 32, eight = i / 8 * 8, sum = 0, most = 0, before = 0, odd = 0, rank = 0, same = 0;
        for (int k = warp; k < warp + 32; k++) {
            sum += in[k];
            odd += in[k] & 1;
            rank += (in[k] & 1) && k < i;
            same += (in[k] & 3) == (in[i] & 3);
        }
        for (int k = eight; k < eight + 8; k++) {
            most = in[k] > most ? in[k] : most;
            before += k < i ? in[k] : 0;
        }
        int want = sum + 3 * most + 7 * before + 11 * (in[i] & 1 ? odd * 100 + rank : 0) + 13 * (i % 32 / 8) + 17 * same;
        if (GOT_I(1)[i] != want)
            return false;
    }
    return true;
}
static bool jacobi(const struct coverage_run *r)
{
    float a[300], b[300];
    memcpy(a, F(0), sizeof a);
    for (int round = 0; round < 4; round++) {
        for (int i = 0; i < 300; i++)
            b[i] = i == 0 || i == 299 ? a[i] : 0.5f * (a[i - 1] + a[i + 1]);
        memcpy(a, b, sizeof a);
    }
    return !memcmp(a, GOT_F(0), sizeof a);
}
static bool lock(const struct coverage_run *r)
{
    int t[64];
    memcpy(t, GOT_I(1), sizeof t);
    qsort(t, 64, 4, by_int);
    for (int i = 0; i < 64; i++)
        if (t[i] != i)
            return false;
    return GOT_I(0)[0] == 64;
}
static bool shapes(const struct coverage_run *r)
{
    ALL(64, coverage_near(GOT_F(1)[i], (i & 1 ? 1 : 3) * (double)F(0)[i] * (double)F(0)[i], 1e-6))
}
static bool pointers(const struct coverage_run *r)
{
    ALL(64, coverage_near(GOT_F(1)[i],
                          i % 3 == 0   ? 2 * (double)F(0)[i]
                          : i % 3 == 1 ? (double)F(0)[i] * (double)F(0)[i]
                                       : (double)F(0)[i] - 1,
                          1e-6))
}
static int ackermann(int m, int n)
{
    return m == 0 ? n + 1 : n == 0 ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1));
}
static bool recursion(const struct coverage_run *r)
{
    ALL(64, GOT_I(0)[i] == ackermann(i % 3, i % 5))
}
static int machine_of(int v, int t)
{
    int turns = 0;
    for (int i = 0; i < 50; i++) {
        bool skip = false;
        switch ((v + i) % 9) {
        case 0: v += 5; break;
        case 1: v = v * 3 & 0xffff; break;
        case 2: v -= i; break;
        case 3: v ^= t; break;
        case 4:
            skip = v & 8;
            v += !skip;
            break;
        case 5: v = v << 1 & 0x7fff; break;
        case 6: v = (~v & 0xfff) + 7; break;
        case 7: v += 7; break;
        default:
            if (v > 60000)
                return v * 100 + turns;
            v += 2;
        }
        turns += !skip;
    }
    return v * 100 + turns;
}
static bool machine(const struct coverage_run *r)
{
    ALL(64, GOT_I(1)[i] == machine_of(I(0)[i], i))
}
static bool structures(const struct coverage_run *r)
{
    ALL(64, GOT_I(0)[i] == i * (i % 40) + 1000 + (i * 7) % 40)
}
static bool halves(const struct coverage_run *r)
{
    const uint16_t *x = r->before[0], *y = r->before[1], *got = r->after[1];
    ALL(200, got[i] == f16_from_f64(0.5 * (double)f16_to_f32(x[i]) + fmax((double)f16_to_f32(y[i]), 0)))
}
static float rounded(double v)
{
    return bf16_to_f32(bf16_from_f32((float)v));
}
static bool brains(const struct coverage_run *r)
{
    for (int i = 0; i < 100; i++) {
        float x = bf16_to_f32(((const uint16_t *)r->before[0])[i]);
        if (GOT_F(1)[i] != rounded((double)x * (double)x) + rounded(3.14159) + rounded((double)x + 1))
            return false;
    }
    return true;
}
static bool moving(const struct coverage_run *r)
{
    for (int t = 0; t < 32; t++) {
        float ring[8] = {0}, sum = 0;
        for (int i = 0; i < 40; i++) {
            int slot = (i * 5 + t) & 7;
            sum += F(0)[t * 40 + i] - ring[slot];
            ring[slot] = F(0)[t * 40 + i];
            if (GOT_F(1)[t * 40 + i] != sum)
                return false;
        }
    }
    return true;
}
static bool packed(const struct coverage_run *r)
{
    for (int i = 0; i < 64; i++) {
        uint32_t x = U(0)[i], y = U(1)[i], add = 0, sub = 0, diff = 0, most = 0, sad = 0, mean = 0, more = 0;
        for (int k = 0; k < 32; k += 8) {
            uint32_t a = x >> k & 0xff, b = y >> k & 0xff;
            add |= ((a + b) & 0xff) << k;
            diff |= (a > b ? a - b : b - a) << k;
            sad += a > b ? a - b : b - a;
            mean |= ((a + b + 1) >> 1) << k;
        }
        for (int k = 0; k < 32; k += 16) {
            uint32_t a = x >> k & 0xffff, b = y >> k & 0xffff;
            sub |= (a > b ? a - b : 0) << k;
            most |= ((int16_t)a > (int16_t)b ? a : b) << k;
            more |= (a > b ? 0xffffu : 0) << k;
        }
        if (GOT_U(2)[i] != (add ^ sub ^ diff ^ most ^ sad ^ mean ^ more))
            return false;
    }
    return true;
}
static bool lists(const struct coverage_run *r)
{
    for (int i = 0; i < 96; i++) {
        int sum = 0;
        for (int k = 0; k <= i % 48 % 5; k++)
            sum += 2 * (k + 1) * (I(0)[i % 48] + k);
        if (GOT_I(1)[i] != sum)
            return false;
    }
    return true;
}
const struct coverage_test coverage_warps[] = {
    {"warps", "reduce", 0, {3, 1, 1}, {128, 1, 1}, 0, false, "f3000 z1 #3000", NULL, reduce},
    {"warps", "scan", 0, {2, 1, 1}, {256, 1, 1}, 0, false, "i512 n512", NULL, scan},
    {"warps", "softmax", 0, {2, 1, 1}, {128, 1, 1}, 0, false, "f800 n800 #100", NULL, softmax},
    {"warps", "layernorm", 0, {4, 1, 1}, {128, 1, 1}, 0, false, "f800 f200 n800 #200", NULL, layernorm},
    {"warps", "compact", 0, {4, 1, 1}, {128, 1, 1}, 0, false, "i500 n500 z1 #500", NULL, compact},
    {"warps", "tiles", 0, {2, 1, 1}, {128, 1, 1}, 0, false, "i256 n256", NULL, tiles},
    {"warps", "jacobi", 0, {3, 1, 1}, {64, 1, 1}, 0, true, "f300 n300 #300 #4", NULL, jacobi},
    {"warps", "lock", 0, {1, 1, 1}, {64, 1, 1}, 0, false, "z1 n64", NULL, lock},
    {"warps", "shapes", 0, {1, 1, 1}, {64, 1, 1}, 0, false, "f64 n64", NULL, shapes},
    {"warps", "pointers", 0, {1, 1, 1}, {64, 1, 1}, 0, false, "f64 n64", NULL, pointers},
    {"warps", "recursion", 0, {1, 1, 1}, {64, 1, 1}, 0, false, "n64", NULL, recursion},
    {"warps", "machine", 0, {1, 1, 1}, {64, 1, 1}, 0, false, "i64 n64 #50", NULL, machine},
    {"warps", "structures", 0, {1, 1, 1}, {64, 1, 1}, 0, false, "S40 n64", NULL, structures},
    {"warps", "halves", 0, {1, 1, 1}, {128, 1, 1}, 0, false, "h200 h200 #100", NULL, halves},
    {"warps", "brains", 0, {1, 1, 1}, {128, 1, 1}, 0, false, "b100 n100 #100", NULL, brains},
    {"warps", "moving", 0, {1, 1, 1}, {32, 1, 1}, 0, false, "f1280 n1280 #40", NULL, moving},
    {"warps", "lists", 0, {2, 1, 1}, {48, 1, 1}, 0, false, "i48 n96", NULL, lists},
    {"warps", "packed", 0, {1, 1, 1}, {64, 1, 1}, 0, false, "x64 x64 n64", NULL, packed},
    {NULL, NULL, 0, {0}, {0}, 0, false, NULL, NULL, NULL},
};

/* ---- tensors.cu ---- */
static double half_at(const struct coverage_run *r, int k, int i)
{
    return (double)f16_to_f32(((const uint16_t *)r->before[k])[i]);
}
static bool wmma_product(const struct coverage_run *r)
{
    for (int y = 0; y < 48; y++)
        for (int x = 0; x < 48; x++) {
            double sum = 0;
            for (int k = 0; k < 48; k++)
                sum += half_at(r, 0, y * 48 + k) * half_at(r, 1, x * 48 + k);
            if (!coverage_near(GOT_F(2)[y * 48 + x], 2 * sum, 1e-5))
                return false;
        }
    return true;
}
static bool bytes_product(const struct coverage_run *r, int n, int k, int start)
{
    const int8_t *a = r->before[0], *b = r->before[1];
    for (int y = 0; y < 16; y++)
        for (int x = 0; x < n; x++) {
            int sum = start;
            for (int i = 0; i < k; i++)
                sum += a[y * k + i] * b[x * k + i];
            if (GOT_I(2)[y * n + x] != sum)
                return false;
        }
    return true;
}
static bool wmma_bytes(const struct coverage_run *r)
{
    return bytes_product(r, 16, 16, 1);
}
static bool mma_bytes(const struct coverage_run *r)
{
    return bytes_product(r, 8, 32, 0);
}
static double tf32(float v)
{
    uint32_t u;
    memcpy(&u, &v, 4);
    u &= 0xffffe000u;
    memcpy(&v, &u, 4);
    return (double)v;
}
static bool mma_tf32(const struct coverage_run *r)
{
    for (int y = 0; y < 16; y++)
        for (int x = 0; x < 8; x++) {
            double sum = 0;
            for (int k = 0; k < 8; k++)
                sum += tf32(F(0)[y * 8 + k]) * tf32(F(1)[x * 8 + k]);
            if (!coverage_near(GOT_F(2)[y * 8 + x], sum, 1e-6))
                return false;
        }
    return true;
}
static bool loaded(const struct coverage_run *r)
{
    for (int y = 0; y < 16; y++)
        for (int x = 0; x < 8; x++) {
            double sum = 0;
            for (int k = 0; k < 16; k++)
                sum += half_at(r, 0, y * 16 + k) * half_at(r, 1, k * 8 + x);
            if (!coverage_near(GOT_F(2)[y * 8 + x], sum, 1e-6))
                return false;
        }
    return true;
}
static bool cub_sort(const struct coverage_run *r)
{
    int t[512];
    memcpy(t, I(0), sizeof t);
    qsort(t, 512, 4, by_int);
    return !memcmp(t, GOT_I(1), sizeof t);
}
static bool cub_scan(const struct coverage_run *r)
{
    int sum = 0;
    for (int i = 0; i < 256; i++)
        if (GOT_I(1)[i] != (sum += I(0)[i]))
            return false;
    return GOT_I(1)[256] == sum;
}
static bool arrive_wait(const struct coverage_run *r)
{
    ALL(256, GOT_I(1)[i] == I(0)[i / 128 * 128 + 127 - i % 128])
}
static bool staged(const struct coverage_run *r)
{
    ALL(640, GOT_F(1)[i] == 2 * F(0)[i / 128 * 128 + 127 - i % 128])
}
static bool reduced(const struct coverage_run *r)
{
    unsigned sum = 0, most = 0, parity = 0;
    int least = INT32_MAX;
    for (int i = 0; i < 32; i++) {
        unsigned v = U(0)[i];
        sum += v, parity ^= v;
        most = v > most ? v : most;
        least = (int)v < least ? (int)v : least;
    }
    ALL(32, GOT_U(1)[i] == sum + 3 * most + 5 * (unsigned)least + 7 * parity)
}
static bool bulk(const struct coverage_run *r)
{
    ALL(512, GOT_I(1)[i] == 3 * I(0)[i] + 1)
}
static bool boxes(const struct coverage_run *r)
{
    for (int i = 0; i < 4 * 256; i++) {
        int block = i / 256, x = block % 2 * 32 + i % 32, y = block / 2 * 8 + i % 256 / 32;
        if (GOT_F(1)[i] != (x < 60 && y < 14 ? F(0)[y * 60 + x] : 0))
            return false;
    }
    return true;
}
static bool neighbours(const struct coverage_run *r)
{
    ALL(256, GOT_I(0)[i] == (i / 128 * 4 + (i / 32 + 1) % 4) * 32 + 31 - i % 32)
}
static int sent_value(int i)
{
    int block = i / 160, from = block / 4 * 4 + (block + 3) % 4, at = i % 160;
    return at < 32 ? from * 32 + at : (from * 32 + (at - 32) / 4) * 10 + at % 4;
}
static bool sent(const struct coverage_run *r)
{
    ALL(1280, GOT_I(0)[i] == sent_value(i))
}

const struct coverage_test coverage_tensors[] = {
    {"tensors", "wmma_product", 0, {3, 3, 1}, {32, 1, 1}, 0, false, "h2304 h2304 n2304 #48", NULL, wmma_product},
    {"tensors", "wmma_bytes", 0, {1, 1, 1}, {32, 1, 1}, 0, false, "u256 u256 n256", NULL, wmma_bytes},
    {"tensors", "cub_sort", 0, {1, 1, 1}, {128, 1, 1}, 0, false, "i512 n512", NULL, cub_sort},
    {"tensors", "cub_scan", 0, {1, 1, 1}, {128, 1, 1}, 0, false, "i256 n257", NULL, cub_scan},
    {"tensors", "arrive_wait", 0, {2, 1, 1}, {128, 1, 1}, 0, false, "i256 n256", NULL, arrive_wait},
    {"tensors", "staged", 80, {1, 1, 1}, {128, 1, 1}, 0, false, "f640 n640 #5", NULL, staged},
    {"tensors", "mma_bytes", 80, {1, 1, 1}, {32, 1, 1}, 0, false, "u512 u256 n128", NULL, mma_bytes},
    {"tensors", "mma_tf32", 80, {1, 1, 1}, {32, 1, 1}, 0, false, "f128 f64 n128", NULL, mma_tf32},
    {"tensors", "loaded", 80, {1, 1, 1}, {32, 1, 1}, 0, false, "h256 h128 n128", NULL, loaded},
    {"tensors", "reduced", 80, {1, 1, 1}, {32, 1, 1}, 0, false, "x32 n32", NULL, reduced},
    {"tensors", "bulk", 90, {2, 1, 1}, {64, 1, 1}, 0, false, "i512 n512", NULL, bulk},
    {"tensors", "boxes", 90, {2, 2, 1}, {256, 1, 1}, 0, false, "m60x14 n1024", NULL, boxes},
    {"tensors", "sent", 90, {8, 1, 1}, {32, 1, 1}, 0, false, "n1280", NULL, sent},
    {"tensors", "neighbours", 90, {8, 1, 1}, {32, 1, 1}, 0, false, "n256", NULL, neighbours},
    {NULL, NULL, 0, {0}, {0}, 0, false, NULL, NULL, NULL},
};
