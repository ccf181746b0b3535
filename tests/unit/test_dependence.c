/* statistics/dependence against its definition, written out plainly: ranks by counting, a loop for each cosine, Student's quantiles from
 * tables. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/stats/dependence.h"
#include "noise.h"
#include <math.h>

#define MOST 120

/* 97.5 % quantiles of Student's distribution, by degrees of freedom (any table; scipy.stats.t.ppf), and of the normal one. */
static const struct {
    int freedom;
    double t;
} tables[] = {{3, 3.182446305284263}, {4, 2.7764451051977987}, {5, 2.5705818366147395}, {8, 2.306004135204166}};
#define NORMAL 1.959963984540054

static double median_of(const double *x, int n)
{
    double below = -INFINITY, above = INFINITY; /* the middle ones, by counting */
    for (int i = 0; i < n; i++) {
        int less = 0, no_more = 0;
        for (int k = 0; k < n; k++) {
            less += x[k] < x[i];
            no_more += x[k] <= x[i];
        }
        if (less <= (n - 1) / 2 && no_more > (n - 1) / 2)
            below = x[i];
        if (less <= n / 2 && no_more > n / 2)
            above = x[i];
    }
    return (below + above) / 2;
}

static double less_mean(double *x, int n)
{
    double mean = 0, variance = 0;
    for (int i = 0; i < n; i++)
        mean += x[i];
    mean /= n;
    for (int i = 0; i < n; i++) {
        x[i] -= mean;
        variance += x[i] * x[i];
    }
    return variance / n;
}

static double of_cosines(const double *x, double variance, int n, int cosines)
{
    double sum = 0;
    for (int k = 1; k <= cosines; k++) {
        double along = 0;
        for (int i = 0; i < n; i++)
            along += x[i] * sqrt(2. / n) * cos(M_PI * k * (i + 0.5) / n);
        sum += along * along;
    }
    return sum / cosines / variance;
}

static double share_of(const double *x, int n, int cosines)
{
    double rank[MOST], side[MOST], median = median_of(x, n), t = 0, product = 0;
    for (int i = 0; i < n; i++) {
        int less = 0, same = 0;
        for (int k = 0; k < n; k++) {
            less += x[k] < x[i];
            same += x[k] == x[i];
        }
        rank[i] = less + same / 2.;
        side[i] = x[i] > median ? 1 : x[i] < median ? -1 : 0;
    }
    double of_rank = less_mean(rank, n), of_side = less_mean(side, n);
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        if (tables[i].freedom == cosines)
            t = tables[i].t;
    assert_true(t > 0);
    double slow = fmax(of_cosines(rank, of_rank, n, cosines), of_cosines(side, of_side, n, cosines)) * (t / NORMAL) * (t / NORMAL);
    for (int i = 1; i < n; i++)
        product += rank[i] * rank[i - 1];
    double plain = product / of_rank / n, rho = fmin((plain + 1. / n) / (1 - 3. / n), 0.97); /* r = rho - (1 + 3 rho) / n */
    return fmax(1, fmax(slow, (1 + rho) / (1 - rho)));
}

/* Independent samples, equal ones, an autoregression, a drift, and two states that stick. */
static void it_is_as_defined(void **state)
{
    static const struct {
        int n, cosines;
    } sizes[] = {{10, 4}, {10, 5}, {11, 4}, {24, 4}, {59, 4}, {60, 5}, {99, 5}, {120, 8}};
    for (int kind = 0; kind < 5; kind++)
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
            double x[MOST], before = 0;
            noise_state = 77 + kind;
            for (int i = 0; i < sizes[s].n; i++) {
                double new = noise_normal();
                before = kind == 2 ? 0.8 * before + new : kind == 4 && noise_uniform() < 0.1 ? 1 - before : before;
                x[i] = kind == 0 ? new : kind == 1 ? floor(2 * new) : kind == 3 ? new + 0.05 * i : before + (kind == 4 ? 0.1 * new : 0);
            }
            double is = dependence_share(x, sizes[s].n, sizes[s].cosines, 0.05), should = share_of(x, sizes[s].n, sizes[s].cosines);
            if (!(fabs(is - should) < 1e-9 * should))
                fail_msg("kind %d, %d samples, %d cosines: %.12g, want %.12g", kind, sizes[s].n, sizes[s].cosines, is, should);
        }
}

/* Nobody could tell of nine; what only rises shows it in ten, in which no more than half as many cosines are looked at. */
static void of_few_nobody_can_tell(void **state)
{
    double x[10], level[10];
    for (int i = 0; i < 10; i++) {
        x[i] = i;
        level[i] = 3;
    }
    assert_true(dependence_share(x, 9, 4, 0.05) == 1);
    assert_true(dependence_share(x, 10, 4, 0.05) > 10);
    int told = 0; /* by how many cosines are looked at */
    for (int seed = 0; seed < 50; seed++) {
        noise_state = (uint64_t)seed;
        for (int i = 0; i < 10; i++)
            x[i] = noise_normal() + (i & 1 ? 1 : 0);
        double five = dependence_share(x, 10, 5, 0.05);
        assert_true(dependence_share(x, 10, 8, 0.05) == five);
        told += dependence_share(x, 10, 4, 0.05) != five && dependence_share(x, 10, 3, 0.05) != five;
    }
    assert_true(told > 10);
    assert_true(dependence_share(level, 10, 4, 0.05) >= 1 && isfinite(dependence_share(level, 10, 4, 0.05)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(it_is_as_defined), cmocka_unit_test(of_few_nobody_can_tell)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
