/* measure/verify/verify_errors: correct sums, simulated in several orders from a new seed in each run, always pass; lost bits of all
 * elements, of one column or of one channel are found, and so is a bias below the rounding of a 16-bit type. */
#include "verify_bench.h"
#include "base/expr.h"
#include "op/op_file.h"
#include <stdint.h>
#include <time.h>
#include <unistd.h>

#define TERMS 400
static uint64_t state;

static uint64_t draw_seed(void)
{
    state = getenv("ERRORS_SEED") ? strtoull(getenv("ERRORS_SEED"), NULL, 10) : ((uint64_t)time(NULL) * 1000003 + (uint64_t)getpid()) | 1;
    return state;
}

static double uniform(void)
{
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return (double)(state >> 11) * 0x1p-53;
}

static float normal(void)
{
    return (float)(sqrt(-2 * log(uniform() + 1e-18)) * cos(6.283185307179586 * uniform()));
}

static float to_bits(float v, int lost)
{
    uint32_t word;
    memcpy(&word, &v, sizeof word);
    word = lost ? (word + (1u << (lost - 1))) & ~((1u << lost) - 1) : word;
    memcpy(&v, &word, sizeof v);
    return v;
}

static float pairwise(const float *v, int n)
{
    return n == 1 ? *v : pairwise(v, n / 2) + pairwise(v + n / 2, n - n / 2);
}

/* Orders of summation. */
enum order { SERIAL, BACKWARDS, LANES, SPLIT_K, PAIRWISE, KAHAN, FUSED, ORDERS };

static float sum_of(enum order order, const float *x, const float *w, int n, int lost)
{
    float v[TERMS], sum = 0, lane[32] = {0}, lost_of_sum = 0;
    for (int i = 0; i < n; i++)
        v[i] = to_bits(x[i], lost) * w[i];
    for (int i = 0; i < n; i++)
        switch (order) {
        case SERIAL: sum += v[i]; break;
        case BACKWARDS: sum += v[n - 1 - i]; break;
        case LANES: lane[i % 32] += v[i]; break;
        case SPLIT_K: lane[i * 4 / n] += v[i]; break;
        case FUSED: sum = fmaf(to_bits(x[i], lost), w[i], sum); break;
        case KAHAN: {
            volatile float y = v[i] - lost_of_sum, next = sum + y, back = next - sum;
            lost_of_sum = back - y;
            sum = next;
            break;
        }
        default: break;
        }
    return order == PAIRWISE ? pairwise(v, n) : order == LANES || order == SPLIT_K ? pairwise(lane, 32) : sum;
}

/* The error of a random sum of n products, as a share of the sum's bound, 12 u A. */
static double share_of_bound(enum order order, int n, int lost)
{
    static float x[TERMS], w[TERMS];
    double exact = 0, magnitudes = 0;
    for (int i = 0; i < n; i++) {
        x[i] = normal(), w[i] = normal();
        exact += (double)x[i] * w[i];
        magnitudes += fabs((double)x[i] * w[i]);
    }
    return ((double)sum_of(order, x, w, n, lost) - exact) / (fmin(n + 2, 12) * 0x1p-24 * magnitudes);
}

/* Gives every element, of column `column` or channel `channel` only (-1: all), the error of such a sum. */
static void put_errors(struct bench *b, enum order order, int n, int lost, int64_t column, int64_t channel)
{
    const struct op_values *v = &b->d.at[SLOT_OUTPUT];
    for (size_t i = 0; i < v->elements; i++) {
        bool off = (column < 0 || (int64_t)(i % (size_t)b->o.dim[3]) == column) &&
                   (channel < 0 || (int64_t)(i / (size_t)(b->o.dim[2] * b->o.dim[3])) % b->o.dim[1] == channel);
        double got = v->reference[i] + fmax(-0.9, fmin(0.9, share_of_bound(order, n, off ? lost : 0))) * (double)v->bound[i];
        dtype_set(b->o.dtype, b->storage, tensor_index(&b->o, i), got);
    }
}

static void test_honest_sums_pass(void **state_)
{
    static const int lengths[] = {9, 27, 100, TERMS};
    struct bench *b = start(small(DTYPE_F32, LAYOUT_NHWC), DATA_PART_PRECISION);
    uint64_t seed = draw_seed();
    for (enum order order = SERIAL; order < ORDERS; order++) {
        put_errors(b, order, lengths[(order + seed) % 4], 0, -1, -1);
        look(b);
        if (!b->v.ok)
            fail_msg("seed %llu, order %d: %s", (unsigned long long)seed, (int)order, b->v.text);
    }
    stop(b);
}

/* Errors that each are within the tolerance, nearly always: a few elements beyond it do not matter to this test. */
static void is_odd(struct bench *b, const char *pattern)
{
    look(b);
    if (b->v.ok)
        fail_msg("%s: nothing is said of type %s, %s", b->v.text, dtype_name(b->o.dtype), pattern);
    if (!strstr(b->v.text, "; within the tolerance, but") || !strstr(b->v.text, pattern))
        fail_msg("'%s' lacks '%s'", b->v.text, pattern);
}

static void test_lost_bits_are_told(void **state_)
{
    struct bench *b = start(small(DTYPE_F32, LAYOUT_NCHW), DATA_PART_PRECISION);
    draw_seed();
    put_errors(b, LANES, TERMS, 7, -1, -1);
    is_odd(b, "scattered");
    put_errors(b, LANES, TERMS, 7, 7, -1);
    is_odd(b, "all in column 7;");
    put_errors(b, LANES, TERMS, 7, -1, 5);
    is_odd(b, "all in channel 5;");
    free((char *)b->p.algorithm), b->p.algorithm = strdup("winograd"); /* transforms may */
    passes(b);
    stop(b);
}

/* An op of a file without `error_rms`: an exact sum has the errors of a serial one at most. */
static void test_sums_of_files_are_looked_at(void **state_)
{
    struct bench *b = start(small(DTYPE_F32, LAYOUT_NCHW), DATA_PART_PRECISION);
    struct node terms = {.kind = NODE_SCALAR, .text = "400"};
    struct op_file f = {.op = *b->p.work.op, .exact = true, .terms = expr_parse(&terms, NULL)};
    f.op.file = &f;
    b->p.work.op = &f.op;
    draw_seed();
    put_errors(b, LANES, TERMS, 7, -1, -1);
    is_odd(b, "scattered");
    struct tensor *filter = &b->p.tensors[program_tensor(&b->p, "filter")], *input = &b->p.tensors[program_tensor(&b->p, "input")];
    const struct tensor_role *role = filter->role;
    struct tensor_role chosen = *role;
    chosen.values = VALUES_INDICES;
    filter->role = &chosen;
    passes(b); /* fewer elements than results, chosen again and again */
    input->dim[1] *= 1000;
    is_odd(b, "scattered"); /* each result has terms of its own */
    input->dim[1] /= 1000;
    filter->role = role;
    b->d.at[SLOT_OUTPUT].guessed = true; /* the bound is none */
    passes(b);
    b->d.at[SLOT_OUTPUT].guessed = false;
    f.tolerance = 1e-5;
    passes(b);
    f.tolerance = 0, f.exact = false; /* roots and powers have errors of their own */
    passes(b);
    expr_free(f.terms);
    stop(b);
}

/* A library may round twice; in exact data there is nothing to estimate. */
static void test_bias_below_a_rounding_is_told(void **state_)
{
    for (enum dtype t = DTYPE_F32; t <= DTYPE_BF16; t++) {
        if (t != DTYPE_F16 && t != DTYPE_BF16)
            continue;
        struct bench *b = start(small(t, LAYOUT_NCHW), DATA_PART_PRECISION);
        const struct op_values *v = &b->d.at[SLOT_OUTPUT];
        struct verify_look l;
        verify_begin(&l, &b->p, program_tensor(&b->p, "output"), &b->d, b->storage);
        passes(b);
        for (int some = 0; some < 2; some++) {
            for (size_t i = 0; i < v->elements; i++) {
                bool off = !some || i % (size_t)b->o.dim[3] == 9;
                double got = v->reference[i] * (off ? t == DTYPE_F16 ? 1.0003 : 1.002 : 1);
                dtype_set(t, b->storage, tensor_index(&b->o, i), got);
                if (!verify_right(&l, i, verify_rounded(t, got))) /* each is within the tolerance */
                    dtype_set(t, b->storage, tensor_index(&b->o, i), v->reference[i]);
            }
            is_odd(b, dtype_name(t));
            if (some && !strstr(b->v.text, "all in column 9;"))
                fail_msg("%s", b->v.text);
        }
        free((char *)b->p.algorithm), b->p.algorithm = strdup("library");
        passes(b);
        stop(b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_honest_sums_pass), cmocka_unit_test(test_lost_bits_are_told),
                                       cmocka_unit_test(test_sums_of_files_are_looked_at),
                                       cmocka_unit_test(test_bias_below_a_rounding_is_told)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
