/* cvt.rs (sm_100a, sm_103a) and .satfinite of the 16-bit types against tables of all values of a type: the two values next to a number, and
 * which of them the manual's rule selects, in double. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "emu_run.h"

enum { N = 4096, WORDS = 5 };
struct type {
    const char *word;
    int exponent, mantissa, sources, random; /* bits, elements, random bits of each */
    int numbers;                             /* codes of finite magnitudes; the next one is what a number too large becomes */
    uint32_t nan;
};
static const struct type types[] = {{"f16x2", 5, 10, 2, 13, 0x7c00, 0x7fff},
                                    {"bf16x2", 8, 7, 2, 16, 0x7f80, 0x7fff},
                                    {"e4m3x4", 4, 3, 4, 16, 0x7f, 0x7f},
                                    {"e5m2x4", 5, 2, 4, 16, 0x7c, 0x7f},
                                    {"e2m3x4", 2, 3, 4, 16, 0x20, 0x1f},
                                    {"e3m2x4", 3, 2, 4, 16, 0x20, 0x1f},
                                    {"e2m1x4", 2, 1, 4, 16, 8, 7}};

/* The magnitude of a code; one past the last is where the next binade would begin. */
static double value(const struct type *t, int code)
{
    int bias = (1 << (t->exponent - 1)) - 1, e = code >> t->mantissa;
    double m = (code & ((1 << t->mantissa) - 1)) / (double)(1 << t->mantissa);
    return e ? ldexp(1 + m, e - bias) : ldexp(m, 1 - bias);
}

/* finite, relu: modifiers; random in [0, 1) */
static uint32_t rounded(const struct type *t, float x, double random, bool finite, bool relu)
{
    uint32_t sign = t->word[0] == 'e' && t->numbers <= 0x20 ? (uint32_t)t->numbers : t->sources == 4 ? 0x80 : 0x8000;
    if (x != x)
        return t->nan;
    if (relu && x <= 0) /* -0 becomes 0, as cvt.rn.relu leaves it on an H200 */
        return 0;
    sign = signbit(x) ? sign : 0;
    double m = fabs((double)x);
    if (m >= value(t, t->numbers - 1))
        m = finite ? value(t, t->numbers - 1) : fmin(m, value(t, t->numbers));
    int low = 0, high = t->numbers + 1; /* value(low) <= m < value(high) */
    while (high - low > 1)
        *(value(t, (low + high) / 2) <= m ? &low : &high) = (low + high) / 2;
    if (low < t->numbers && (m - value(t, low)) / (value(t, low + 1) - value(t, low)) + random >= 1)
        low++;
    return sign | (uint32_t)low;
}

static uint64_t state = 88172645463325252ull;
static uint32_t any(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state >> 16);
}

/* Any bits, numbers near one, numbers of small types, the awkward ones. */
static void fill(uint32_t in[N][WORDS])
{
    static const uint32_t awkward[] = {0,          0x80000000, 1,          0x7f7fffff, 0x7f800000, 0xff800000, 0x7fc00000,
                                       0x477fe000, 0x477fffff, 0x47800000, 0x43e00000, 0x43dfffff, 0x47600000, 0x387fc001,
                                       0x33000000, 0x007fffff, 0xbf800000, 0x40f80000, 0x41e00001, 0x3a800000};
    for (int i = 0; i < N; i++)
        for (int k = 0; k < WORDS; k++) {
            uint32_t r = any(), near = (r & 0x80ffffff) | (uint32_t)(100 + any() % 50) << 23;
            in[i][k] = k == WORDS - 1 ? (i % 5 ? r : i % 2 ? 0 : 0xffffffff) : i % 4 == 0 ? awkward[r % 20] : i % 4 == 1 ? r : near;
        }
}

/* `text` of registers a, b, e, f (f32), r (b32) to d (b32), h (b16) for N threads. */
static void run(const char *text, bool half, uint32_t in[N][WORDS], uint32_t out[N])
{
    struct emu_test t;
    SCOPED char *ptx = text_format(
        ".version 9.0\n.target sm_100a\n.address_size 64\n.visible .entry k(.param .u64 out, .param .u64 in)\n{\n.reg .b64 o, i, x;\n"
        ".reg .b32 n, d, r;\n.reg .f32 a, b, e, f;\n.reg .b16 h;\nld.param.u64 o, [out];\nld.param.u64 i, [in];\nmov.u32 n, %%ctaid.x;\n"
        "mov.u32 r, %%tid.x;\nmad.lo.u32 n, n, 256, r;\nmul.wide.u32 x, n, 20;\nadd.u64 i, i, x;\nmul.wide.u32 x, n, 4;\nadd.u64 o, o, x;\n"
        "ld.global.f32 a, [i];\nld.global.f32 b, [i+4];\nld.global.f32 e, [i+8];\nld.global.f32 f, [i+12];\nld.global.u32 r, [i+16];\n"
        "%s\n%sst.global.b32 [o], d;\nret;\n}\n",
        text, half ? "cvt.u32.u16 d, h;\n" : "");
    emu_test_chip(&t, "GB100", text, ptx, "k");
    uint64_t at = emu_test_buffer(&t, "out", out, N * sizeof *out);
    emu_test_pointer(&t, at);
    emu_test_pointer(&t, emu_test_buffer(&t, "in", in, N * sizeof *in));
    t.launch.block[0] = 256;
    t.launch.grid[0] = N / 256;
    emu_test_run(&t);
    assert_int_equal(emu_test_reports(&t), 0);
    emu_test_read(&t, at, out, N * sizeof *out);
    emu_test_close(&t);
}

/* The random bits of an element, from the top one on, as a fraction. */
static double random_of(const struct type *t, uint32_t all, int k)
{
    uint32_t v = k < t->sources / 2 ? all >> 16 : all & 0xffff;
    if (t->numbers == 8) /* of 4 bits: the upper or the lower byte of both halves */
        v = k < 2 ? (all >> 24) << 8 | (all >> 8 & 0xff) : (all >> 16 & 0xff) << 8 | (all & 0xff);
    double sum = 0;
    if (t->sources == 4 && k % 2 == 0) { /* backwards */
        for (int bit = 0; bit < 16; bit++)
            sum += (v >> bit & 1) * ldexp(1, -1 - bit);
        return sum;
    }
    return (v & ((1u << t->random) - 1)) / (double)(1u << t->random);
}

static void random_rounding(void **s)
{
    static uint32_t in[N][WORDS], out[N];
    fill(in);
    for (size_t k = 0; k < sizeof types / sizeof *types; k++)
        for (int mode = 0; mode < 4; mode++) {
            const struct type *t = &types[k];
            bool finite = mode & 1, relu = mode & 2;
            if (t->sources == 4 && !finite)
                continue;
            SCOPED char *text = text_format("cvt.rs%s%s.%s.f32 d, %s, r;", relu ? ".relu" : "", finite ? ".satfinite" : "", t->word,
                                            t->sources == 2 ? "a, b" : "{a, b, e, f}");
            bool four = t->numbers == 8;
            if (four)
                memcpy(strstr(text, " d,"), " h,", 3);
            run(text, four, in, out);
            int up = 0;
            for (int i = 0; i < N; i++)
                for (int e = 0; e < t->sources; e++) {
                    float x;
                    memcpy(&x, &in[i][e], 4);
                    int bits = four ? 4 : 32 / t->sources;
                    uint32_t got = out[i] >> bits * (t->sources - 1 - e) & ((1u << bits) - 1), zero = rounded(t, x, 0, finite, relu),
                             want = rounded(t, x, random_of(t, in[i][WORDS - 1], e), finite, relu);
                    up += want != zero;
                    if (got != want)
                        fail_msg("%s: %a, random %08x, element %d: %x, want %x", text, (double)x, in[i][WORDS - 1], e, got, want);
                }
            assert_true(up > N / (four ? 32 : 8));
        }
}

/* Halfway numbers by hand: 1.0625 lies between 0x38 and 0x39 of e4m3; the highest random bit decides, for a and e it is the last. */
static void bits_by_hand(void **s)
{
    static uint32_t in[N][WORDS], out[N];
    static const uint32_t random[] = {0x00018000, 0x80000001, 0, 0xffffffff}, e4m3[] = {0x39383839, 0x38393938, 0x38383838, 0x39393939};
    for (int i = 0; i < N; i++) {
        for (int k = 0; k < 4; k++)
            in[i][k] = 0x3f880000;
        in[i][4] = random[i % 4];
    }
    run("cvt.rs.satfinite.e4m3x4.f32 d, {a, b, e, f}, r;", false, in, out);
    for (int i = 0; i < N; i++)
        assert_int_equal(out[i], e4m3[i % 4]);
    /* 1.25 is halfway between 2 and 3 of e2m1. The highest random bit of f is bit 23, of e bit 0, of b bit 31, of a bit 8. */
    static const uint32_t one_bit[] = {1u << 23, 1, 1u << 31, 1u << 8}, e2m1[] = {0x2223, 0x2232, 0x2322, 0x3222};
    for (int i = 0; i < N; i++) {
        for (int k = 0; k < 4; k++)
            in[i][k] = 0x3fa00000;
        in[i][4] = one_bit[i % 4];
    }
    run("cvt.rs.satfinite.e2m1x4.f32 h, {a, b, e, f}, r;", true, in, out);
    for (int i = 0; i < N; i++)
        assert_int_equal(out[i], e2m1[i % 4]);
    for (int i = 0; i < N; i++)
        for (int k = 0; k < 4; k++)
            in[i][k] = 0x3f880000;
    /* 1 + 2^-11 + 2^-12 is three quarters of a step of f16 above 1: random bits of 2,048 of 8,192 suffice; bits 13 to 15 and 29 to 31 have
     * no effect
     */
    for (int i = 0; i < N; i++)
        in[i][0] = in[i][1] = 0x3f800000 + 0x1800, in[i][4] = i % 2 ? 0xe000e800 | 2047u << 16 : 0x08000000 | 0xe7ff;
    run("cvt.rs.f16x2.f32 d, a, b, r;", false, in, out);
    for (int i = 0; i < N; i++)
        assert_int_equal(out[i], i % 2 ? 0x3c003c01 : 0x3c013c00);
}

/* .rn.satfinite: the nearest, but no infinity. */
static void no_infinity(void **s)
{
    static const struct {
        const char *text;
        int type, sources;
    } all[] = {{"cvt.rn.satfinite.f16x2.f32 d, a, b;", 0, 2},
               {"cvt.rn.satfinite.bf16x2.f32 d, a, b;", 1, 2},
               {"cvt.rn.satfinite.f16.f32 h, a;", 0, 1},
               {"cvt.rn.satfinite.bf16.f32 h, a;", 1, 1}};
    static uint32_t in[N][WORDS], out[N];
    fill(in);
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
        const struct type *t = &types[all[k].type];
        run(all[k].text, all[k].sources == 1, in, out);
        for (int i = 0; i < N; i++)
            for (int e = 0; e < all[k].sources; e++) {
                float x;
                memcpy(&x, &in[i][e], 4);
                uint32_t got = out[i] >> 16 * (all[k].sources - 1 - e) & 0xffff, down = rounded(t, x, 0, true, false);
                double m = fabs((double)x), below = value(t, (int)(down & 0x7fff)), above = value(t, (int)(down & 0x7fff) + 1);
                bool up =
                    x == x && (int)(down & 0x7fff) + 1 < t->numbers && (m - below > above - m || (m - below == above - m && (down & 1)));
                if (got != down + up)
                    fail_msg("%s: %a: %x, want %x", all[k].text, (double)x, got, down + up);
            }
    }
    run("cvt.rna.satfinite.tf32.f32 d, a;", false, in, out);
    for (int i = 0; i < N; i++)
        if ((in[i][0] & 0x7fffffff) <= 0x7f800000 && (in[i][0] & 0x7fffffff) >= 0x7f7fe000)
            assert_int_equal(out[i], (in[i][0] & 0x80000000) | 0x7f7fe000);
}

/* What ptxas 13.4 refuses, and what emu does not know. */
static void refused(void **s)
{
    static const char *const texts[] = {
        "cvt.rs.e4m3x4.f32 d, {a, b, e, f}, r;",  "cvt.rs.f16x2.f32 d, a, b, 5;",     "cvt.rs.f16.f32 h, a, r;",
        "cvt.rs.ftz.f16x2.f32 d, a, b, r;",       "cvt.rs.sat.f16x2.f32 d, a, b, r;", "cvt.rs.f16x2.f32 d, {a, b}, r;",
        "cvt.rs.rn.f16x2.f32 d, a, b, r;",        "cvt.rs.f16x2.f32 d, a, b;",        "cvt.rs.e2m1x4.f32 h, {a, b, e, f}, r;",
        "cvt.rs.satfinite.e2m1x4.f32 h, a, b, r;"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        SCOPED char *ptx =
            text_format(".version 9.0\n.target sm_100a\n.address_size 64\n.visible .entry k()\n{\n.reg .b32 d, r;\n.reg .f32 a, b, e, f;\n"
                        ".reg .b16 h;\n%s\nret;\n}\n",
                        texts[i]);
        struct error err = {0};
        if (emu_test_takes("GB100", ptx, &err))
            fail_msg("%s runs", texts[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_rounding), cmocka_unit_test(bits_by_hand), cmocka_unit_test(no_infinity),
                                       cmocka_unit_test(refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
