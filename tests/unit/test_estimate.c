/* base/stats/estimate: ranks of the median's interval from published tables of the binomial, coverage by simulation, and the odd cases. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "noise.h"
#include "base/stats/dependence.h"
#include "base/stats/estimate.h"
#include "base/stats/quantile.h"
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

static void within(double got, double want, double slack)
{
    if (!(fabs(got - want) <= slack))
        fail_msg("%.12g, want %.12g", got, want);
}

/* Samples 1 .. n without dependence: the interval is [rank, n + 1 - rank]. Adjacent samples lie on opposite sides of the median, so slow
 * waves and serial correlation are below those of chance. Ranks: table of 95 % confidence intervals for the median (Geigy; Hahn and Meeker,
 * A.9b; Campbell and Gardner, BMJ 296:1454). */
static void test_ranks(void **state)
{
    const struct {
        int n, rank;
    } table[] = {{6, 1},  {8, 1},   {9, 2},   {10, 2},  {12, 3},  {15, 4},  {20, 6},
                 {25, 8}, {30, 10}, {40, 14}, {50, 18}, {60, 22}, {80, 31}, {100, 40}};
    double x[1000];
    for (size_t t = 0; t < sizeof table / sizeof *table; t++) {
        int n = table[t].n;
        for (int i = 0; i < n; i++)
            x[i] = i & 1 ? n - i / 2 : i / 2 + 1;
        struct estimate e = estimate_median(x, n);
        if (e.low != table[t].rank || e.high != n + 1 - table[t].rank)
            fail_msg("n %d: [%g, %g], want rank %d", n, e.low, e.high, table[t].rank);
        within(e.median, (n + 1) / 2.0, 1e-12);
        assert_int_equal(e.count, n);
    }
}

static void test_small(void **state)
{
    const double x[] = {5, 1, 4, 2, 3};
    struct estimate e = estimate_median(x, 5);
    assert_true(e.median == 3 && e.low == 1 && e.high == 5 && e.count == 5);
    within(e.p05, 1.2, 1e-12); /* NumPy: percentile([1..5], 5) */
    within(e.p95, 4.8, 1e-12);
    e = estimate_median(x, 1);
    assert_true(e.median == 5 && e.low == 5 && e.high == 5);
    assert_true(isinf(estimate_half_width(&e))); /* one sample says nothing of its width */
    e = estimate_median(x, 2);                   /* 5 and 1: two do */
    within(estimate_half_width(&e), 2.0 / 3, 1e-12);
    e = estimate_median(x, 0);
    assert_true(e.count == 0 && isnan(e.median) && isnan(e.low) && isinf(estimate_half_width(&e)));
    e = estimate_median(NULL, 0);
    assert_int_equal(e.count, 0);
    const double holes[] = {1, NAN, 3, INFINITY, 2};
    e = estimate_median(holes, 5);
    assert_true(e.count == 3 && e.median == 2 && e.high == 3);
    const double same[] = {7, 7, 7, 7, 7, 7, 7, 7};
    e = estimate_median(same, 8);
    assert_true(estimate_half_width(&e) == 0);
}

static void test_ratio(void **state)
{
    double a[40], b[40];
    for (int i = 0; i < 40; i++) { /* both drift by a factor of four; their ratio does not */
        double drift = 1 + 0.1 * i;
        b[i] = 100 * drift;
        a[i] = 110 * drift * (i % 2 ? 1.001 : 0.999);
    }
    struct estimate e = estimate_ratio_grouped(a, b, NULL, 40, 1);
    within(e.median, 1.1, 0.0012);
    assert_true(e.low >= 1.0988 && e.high <= 1.1012 && e.count == 40);
    within(estimate_half_width(&e), (e.high - e.low) / 2 / e.median, 1e-15);
    b[0] = 0;
    assert_int_equal(estimate_ratio_grouped(a, b, NULL, 40, 1).count, 39);
}

static uint64_t random_state = 88172645463325252u;
static double uniform(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (double)(random_state >> 11) * 0x1p-53;
}

/* Of 4,000 samples of a very skewed distribution, at least 95 % of the intervals must contain its median, log 2. For other distributions,
 * and widths, see test_coverage.c. */
static void test_coverage(void **state)
{
    const int sizes[] = {10, 30, 100};
    for (int s = 0; s < 3; s++) {
        int held = 0;
        for (int trial = 0; trial < 4000; trial++) {
            double x[100];
            for (int i = 0; i < sizes[s]; i++)
                x[i] = -log(1 - uniform());
            struct estimate e = estimate_median(x, sizes[s]);
            held += e.low <= log(2) && log(2) <= e.high;
        }
        if (held < 3800)
            fail_msg("n %d: %d of 4000", sizes[s], held);
    }
}

/* Four rounds on each of several placements, 1, 2, ... n us apart: within a placement nothing is unsure. */
static void placed(int placements, double *samples, int *placement)
{
    for (int i = 0; i < 4 * placements; i++) {
        placement[i] = 7 * (i % placements);
        samples[i] = 100 + i % placements;
    }
}

/* Few placements: the interval spans them. From four on: mean +- t sd / sqrt(n) of 100 .. 103, with t(3) = 3.182446 (any table of Student's
 * distribution), sd = 1.290994. */
static void test_placements(void **state)
{
    double x[64];
    int where[64];
    placed(3, x, where);
    struct estimate e = estimate_median_grouped(x, where, 12, 1);
    assert_true(e.low <= 100 && e.high >= 102);
    placed(4, x, where);
    e = estimate_median_grouped(x, where, 16, 1);
    within(e.low, 101.5 - 3.182446 * 1.290994 / 2, 1e-4);
    within(e.high, 101.5 + 3.182446 * 1.290994 / 2, 1e-4);
    e = estimate_median_grouped(x, where, 16, 5); /* t(3) of 1 % on both sides: 5.840909 */
    within(e.low, 101.5 - 5.840909 * 1.290994 / 2, 1e-4);
    for (int i = 0; i < 16; i++)
        x[i] = i & 1 ? 102 : 101; /* every placement the same: nothing is added */
    struct estimate plain = estimate_median(x, 16);
    for (int i = 0; i < 16; i++)
        where[i] = i / 2 % 4;
    e = estimate_median_grouped(x, where, 16, 1);
    assert_true(e.low == plain.low && e.high == plain.high);
}

/* A share that is hardly above 1 does not make the interval narrower than order statistics do: of 100 samples the 40th and the 61st. */
static void test_hardly_dependent(void **state)
{
    double x[100], sorted[100];
    int seen = 0;
    for (int trial = 0; trial < 3000 && seen < 3; trial++) {
        for (int i = 0; i < 100; i++)
            sorted[i] = x[i] = uniform();
        double share = dependence_share(x, 100, 8, 0.05);
        if (!(share > 1 && share < 1.03))
            continue;
        seen++;
        quantile_median(sorted, 100);
        struct estimate e = estimate_median(x, 100);
        assert_true(e.low == sorted[39] && e.high == sorted[60]);
    }
    assert_int_equal(seen, 3);
}

/* A series with serial correlation: the ends are as many ranks from the median as its spectrum asks for (four cosines below 60 samples,
 * five below 100, eight from there on), and never closer than those of order statistics alone. */
static void test_dependent_ranks(void **state)
{
    static const struct {
        int n, cosines, not ;
    } looks[] = {{59, 4, 5}, {60, 5, 4}, {99, 5, 8}, {100, 8, 5}};
    double x[100], sorted[100], shares[2];
    int seen[4] = {0};
    for (int trial = 0; trial < 1600; trial++) {
        int n = looks[trial % 4].n, left[2];
        for (int i = 0; i < n; i++)
            sorted[i] = x[i] = (i ? 0.5 * x[i - 1] : 0) + uniform();
        for (int k = 0; k < 2; k++) {
            shares[k] = dependence_share(x, n, k ? looks[trial % 4].not : looks[trial % 4].cosines, 0.05);
            left[k] = (int)floor(n / 2. - quantile_student(0.05, QUANTILE_NORMAL) * sqrt(n * shares[k]) / 2);
        }
        if (left[0] == left[1] || left[0] < 0 || left[1] < 0 || !(fmin(shares[0], shares[1]) > 1.1))
            continue;
        seen[trial % 4]++;
        quantile_median(sorted, n);
        struct estimate e = estimate_median(x, n);
        assert_true(e.low == sorted[left[0]] && e.high == sorted[n - 1 - left[0]]);
    }
    for (int i = 0; i < 4; i++)
        assert_true(seen[i] > 5);
}

/* Tables of Student's and the normal distribution, both tails together. */
static void test_student(void **state)
{
    within(quantile_student(0.05, 1), 12.7062, 1e-4);
    within(quantile_student(0.05, 2), 4.30265, 1e-5);
    within(quantile_student(0.05, 9), 2.26216, 1e-5);
    within(quantile_student(0.01, 8), 3.35539, 1e-5);
    within(quantile_student(0.001, 30), 3.64596, 1e-5);
    within(quantile_student(0.05, QUANTILE_NORMAL), 1.959964, 1e-6);
}

/* A family's interval is that of a smaller level: of 100 the ranks for 1 % are 37 and 64 (the same tables). */
static void test_family(void **state)
{
    double x[100];
    for (int i = 0; i < 100; i++)
        x[i] = i & 1 ? 100 - i / 2 : i / 2 + 1;
    struct estimate e = estimate_median_grouped(x, NULL, 100, 5);
    assert_true(e.low == 37 && e.high == 64);
}

/* A series with strong serial correlation holds less information than its number of rounds. If its halves differ by 1 %, the interval
 * contains both; if it rises up to its last round, the interval exceeds the range of the samples. */
static void test_dependence(void **state)
{
    double x[40];
    for (int i = 0; i < 40; i++)
        x[i] = (i < 20 ? 100 : 101) + 0.01 * (i % 7);
    struct estimate e = estimate_median(x, 40);
    assert_true(e.low < 100.1 && e.high > 101);
    for (int i = 0; i < 12; i++)
        x[i] = 100 + i;
    e = estimate_median(x, 12);
    assert_true(e.low < 100 && e.high > 111 && e.low > 0);
    double up = log(e.high / e.median) / log(111 / e.median), down = log(e.low / e.median) / log(100 / e.median);
    assert_true(up > 1.1 && fabs(up - down) < 1e-9); /* as far up as down, by the same number of times */
}

/* Of a centred score: the mean square of its projections on the cosines, over its variance; and (1 + rho) / (1 - rho). */
static double shares(const double *score, int n, int cosines, double *regression)
{
    double variance = 0, sum = 0, next = 0;
    for (int i = 0; i < n; i++)
        variance += score[i] * score[i] / n;
    for (int k = 1; k <= cosines; k++) {
        double along = 0;
        for (int i = 0; i < n; i++)
            along += score[i] * sqrt(2.0 / n) * cos(M_PI * k * (i + 0.5) / n);
        sum += along * along / cosines;
    }
    for (int i = 1; i < n; i++)
        next += score[i] * score[i - 1] / n;
    double rho = next / variance, corrected = fmin(0.97, rho + (1 + 3 * rho) / (n - 3)); /* nobody knows it better */
    *regression = (1 + corrected) / (1 - corrected);
    return sum / variance;
}

/* What dependence says of waves and of a drift, against its definition worked out here. */
static void test_share(void **state)
{
    enum { N = 40 };
    for (int kind = 0; kind < 3; kind++) {
        double x[N], side[N], rank[N], of_side, of_rank, ignored, mean = 0, of_sides = 0;
        for (int i = 0; i < N; i++)
            x[i] = kind == 0   ? 100 + cos(M_PI * 4 * (i + 0.5) / N) + 1e-6 * i
                   : kind == 1 ? 100 + 0.37 * ((i * 13) % 11) + 0.2 * (i / 4)
                               : 100 + 0.01 * (i % 2) + 1e-5 * ((i * 7) % N);
        for (int i = 0; i < N; i++) {
            int less = 0;
            for (int k = 0; k < N; k++)
                less += x[k] < x[i];
            rank[i] = less + 0.5;
            side[i] = less >= N / 2 ? 1 : -1;
            mean += rank[i] / N;
            of_sides += side[i] / N;
        }
        for (int i = 0; i < N; i++) {
            rank[i] -= mean;
            side[i] -= of_sides;
        }
        of_side = shares(side, N, 4, &ignored);
        of_rank = shares(rank, N, 4, &ignored);
        double slow = fmax(of_side, of_rank) * pow(quantile_student(0.05, 4) / quantile_student(0.05, QUANTILE_NORMAL), 2);
        within(dependence_share(x, N, 4, 0.05), fmax(1, fmax(slow, ignored)), 1e-6);
    }
}

/* P(B <= 39) of 100 tosses is 1.76 %, P(B <= 38) 1.05 %, P(B <= 37) 0.60 % (binomial tables): a two-sided interval of 95 % leaves out 39 on
 * each side, one of 97.5 % (two rows) 38, and one of 98.75 % (four rows) 37. */
static void families_are_wider(void **state)
{
    double v[100];
    static const int families[][2] = {{0, 40}, {1, 40}, {2, 39}, {4, 38}};
    for (int f = 0; f < 4; f++) {
        for (int i = 0; i < 100; i++) /* small and large in turns: they do not depend */
            v[i] = i & 1 ? 100 - i / 2 : 1 + i / 2;
        struct estimate e = estimate_median_grouped(v, NULL, 100, families[f][0]);
        if (e.low != families[f][1] || e.high != 101 - families[f][1])
            fail_msg("a family of %d: %g to %g", families[f][0], e.low, e.high);
    }
}

/* A kernel of T ns between two readings of a clock with steps of 32 ns: its samples are at most two multiples of 32, and their order
 * statistics one of these, whatever T is. Widened by half a step on either side, the interval contains T. */
static void a_clock_counts_in_steps(void **state)
{
    int held = 0, held_without = 0, runs = 0;
    noise_state = 5;
    for (int run = 0; run < 640; run++) {
        double x[100], truth = 8128 + run % 32;
        for (int i = 0; i < 100; i++) {
            double from = 32 * noise_uniform(), to = from + truth + 2 * noise_normal();
            x[i] = (floor(to / 32) - floor(from / 32)) * 32 + 1e-4 * noise_normal();
        }
        struct estimate e = estimate_median(x, 100), wide = e;
        estimate_span_step(&wide, x, 100, 1);
        held_without += e.low <= truth && truth <= e.high;
        held += wide.low <= truth + 1e-3 && truth - 1e-3 <= wide.high;
        assert_true(wide.low <= e.low && wide.high >= e.high && wide.high - wide.low <= 65);
        runs++;
    }
    if (held < 0.95 * runs || held_without > 0.6 * runs)
        fail_msg("%d of %d hold the truth, %d without the step", held, runs, held_without);
    double same[10] = {5, 5, 5, 5, 5, 5, 5, 5, 5, 5};
    struct estimate e = estimate_median(same, 10); /* nobody knows the step */
    estimate_span_step(&e, same, 10, 1);
    assert_true(e.low == 5 && e.high == 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(families_are_wider),
                                       cmocka_unit_test(test_dependent_ranks),
                                       cmocka_unit_test(test_hardly_dependent),
                                       cmocka_unit_test(test_student),
                                       cmocka_unit_test(test_placements),
                                       cmocka_unit_test(test_family),
                                       cmocka_unit_test(test_dependence),
                                       cmocka_unit_test(test_share),
                                       cmocka_unit_test(test_ranks),
                                       cmocka_unit_test(test_small),
                                       cmocka_unit_test(test_ratio),
                                       cmocka_unit_test(test_coverage),
                                       cmocka_unit_test(a_clock_counts_in_steps)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
