/* op/tensor, op/convert: layouts against index formulas written out here; conversions against base/dtype for every bit pattern. */
#include "works.h"
#include "op/shape.h"
#include "op/convert.h"

static const enum layout four_dims[] = {LAYOUT_NCHW, LAYOUT_NHWC, LAYOUT_KCRS, LAYOUT_KRSC, LAYOUT_RSCK, LAYOUT_CRSK};

static size_t index_by_hand(enum layout l, const int64_t d[4], int64_t a, int64_t b, int64_t c, int64_t e)
{
    switch (l) {
    case LAYOUT_NCHW:
    case LAYOUT_KCRS: return (size_t)(((a * d[1] + b) * d[2] + c) * d[3] + e);
    case LAYOUT_NHWC:
    case LAYOUT_KRSC: return (size_t)(((a * d[2] + c) * d[3] + e) * d[1] + b);
    case LAYOUT_RSCK: return (size_t)(((c * d[3] + e) * d[1] + b) * d[0] + a);
    case LAYOUT_CRSK: return (size_t)(((b * d[2] + c) * d[3] + e) * d[0] + a);
    default: fail(); return 0;
    }
}

static void test_layouts(void **state)
{
    const int64_t d[4] = {3, 5, 4, 7};
    float logical[3 * 5 * 4 * 7], back[3 * 5 * 4 * 7];
    for (size_t l = 0; l < sizeof four_dims / sizeof *four_dims; l++)
        for (int half = 0; half < 2; half++) {
            struct tensor t = {.dtype = half ? DTYPE_F16 : DTYPE_F32, .layout = four_dims[l], .rank = 4, .dim = {3, 5, 4, 7}};
            unsigned char storage[sizeof logical];
            assert_int_equal(tensor_elements(&t), 420);
            assert_int_equal(tensor_bytes(&t), half ? 840 : 1680);
            for (int i = 0; i < 420; i++)
                logical[i] = (float)(i + 1);
            tensor_pack(&t, logical, storage);
            for (int64_t a = 0; a < 3; a++)
                for (int64_t b = 0; b < 5; b++)
                    for (int64_t c = 0; c < 4; c++)
                        for (int64_t e = 0; e < 7; e++) {
                            size_t at = index_by_hand(four_dims[l], d, a, b, c, e);
                            assert_int_equal(tensor_index(&t, (size_t)(((a * 5 + b) * 4 + c) * 7 + e)), at);
                            assert_true(dtype_get(t.dtype, storage, at) == logical[((a * 5 + b) * 4 + c) * 7 + e]);
                        }
            memset(back, 0, sizeof back);
            tensor_unpack(&t, storage, back);
            assert_memory_equal(back, logical, sizeof back);
            float row[7];
            tensor_row(&t, storage, 2, 3, 1, row);
            assert_true(dtype_get(t.dtype, row, 6) == logical[((2 * 5 + 3) * 4 + 1) * 7 + 6]);
        }
}

static void test_threads_agree(void **state)
{
    struct tensor t = {.dtype = DTYPE_F16, .layout = LAYOUT_NHWC, .rank = 4, .dim = {2, 33, 71, 53}};
    size_t n = tensor_elements(&t);
    float *logical = malloc(n * sizeof *logical);
    uint16_t *one = malloc(n * 2), *four = malloc(n * 2);
    for (size_t i = 0; i < n; i++)
        logical[i] = (float)sin((double)i);
    setenv("BENCH_THREADS", "1", 1);
    tensor_pack(&t, logical, one);
    setenv("BENCH_THREADS", "4", 1);
    tensor_pack(&t, logical, four);
    unsetenv("BENCH_THREADS");
    assert_memory_equal(one, four, n * 2);
    assert_int_equal(one[tensor_index(&t, n - 1)], f16_from_f32(logical[n - 1]));
    free(logical);
    free(one);
    free(four);
}

static void test_bits(void **state)
{
    struct tensor t = {.role = &shape_roles[SLOT_MASK_IN], .dtype = DTYPE_U32, .layout = LAYOUT_BITS, .rank = 4, .dim = {2, 1, 3, 37}};
    float mask[2 * 3 * 37] = {0}, back[2 * 3 * 37];
    uint32_t words[2 * 3 * 2];
    assert_int_equal(tensor_bytes(&t), 2 * 3 * 2 * 4);
    mask[0] = 1;           /* image 0, row 0, x 0 */
    mask[37 + 31] = 0.5f;  /* row 1, x 31: any value that is not zero */
    mask[37 + 32] = 1;     /* x 32: the next word */
    mask[5 * 37 + 36] = 1; /* image 1, row 2, x 36 */
    memset(words, 0xee, sizeof words);
    tensor_pack(&t, mask, words);
    const uint32_t want[12] = {1, 0, 0x80000000u, 1, 0, 0, 0, 0, 0, 0, 0, 1u << 4};
    assert_memory_equal(words, want, sizeof want);
    tensor_unpack(&t, words, back);
    mask[37 + 31] = 1;
    assert_memory_equal(back, mask, sizeof back);
}

static void test_coordinates(void **state)
{
    struct tensor t = {.layout = LAYOUT_NHWC, .rank = 4, .dim = {2, 3, 5, 7}};
    int64_t at[TENSOR_MAX_RANK];
    tensor_coordinates(&t, ((1 * 3 + 2) * 5 + 4) * 7 + 6, at);
    assert_true(at[0] == 1 && at[1] == 2 && at[2] == 4 && at[3] == 6);
    tensor_coordinates(&t, 8, at);
    assert_true(at[0] == 0 && at[1] == 0 && at[2] == 1 && at[3] == 1);
}

/* The fast conversions give what base/dtype gives: all 65,536 halves, and floats at, beside and between them. */
static void test_conversions(void **state)
{
    static uint16_t halves[65536];
    static float floats[65536];
    for (int i = 0; i < 65536; i++)
        halves[i] = (uint16_t)i;
    convert_to_float(DTYPE_F16, halves, floats, 65536);
    for (int i = 0; i < 65536; i++) {
        float want = f16_to_f32((uint16_t)i);
        if (!(floats[i] == want && signbit(floats[i]) == signbit(want)) && !(isnan(want) && isnan(floats[i])))
            fail_msg("half 0x%04x -> %g, want %g", i, (double)floats[i], (double)want);
    }
    static float probes[65536 * 5];
    size_t count = 0;
    for (int i = 0; i < 65536; i++) {
        float v = f16_to_f32((uint16_t)i), next = f16_to_f32((uint16_t)(i + 1));
        if (isnan(v) || isnan(next))
            continue;
        float tie = (float)(((double)v + (double)next) / 2);
        probes[count++] = v;
        probes[count++] = tie;
        probes[count++] = nextafterf(tie, INFINITY);
        probes[count++] = nextafterf(tie, -INFINITY);
    }
    probes[count++] = NAN, probes[count++] = 65520, probes[count++] = nextafterf(65520, 0), probes[count++] = -1e30f,
    probes[count++] = 1e-30f, probes[count++] = -0.0f;
    static uint16_t got[65536 * 5];
    convert_from_float(DTYPE_F16, probes, got, count);
    for (size_t i = 0; i < count; i++) {
        uint16_t want = f16_from_f32(probes[i]);
        if (got[i] != want && !isnan(probes[i]))
            fail_msg("%a -> 0x%04x, want 0x%04x", (double)probes[i], got[i], want);
        if (isnan(probes[i]))
            assert_true((got[i] & 0x7c00) == 0x7c00 && (got[i] & 0x3ff));
    }
    float round[] = {1 + 0x1p-12f, 1 + 0x1p-11f, 1 + 0x1.8p-10f, 3};
    convert_round(DTYPE_F16, round, 4);
    assert_true(round[0] == 1 && round[1] == 1 && round[2] == 1 + 0x1p-9f && round[3] == 3);
    float brain[] = {1 + 0x1p-9f, 1 + 0x1p-8f, 1 + 0x1.8p-8f};
    convert_round(DTYPE_BF16, brain, 3);
    assert_true(brain[0] == 1 && brain[1] == 1 && brain[2] == 1 + 0x1p-7f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_layouts), cmocka_unit_test(test_threads_agree), cmocka_unit_test(test_bits),
                                       cmocka_unit_test(test_coordinates), cmocka_unit_test(test_conversions)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
