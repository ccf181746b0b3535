#include "base/stats/decision.h"
#include "base/order.h"
#include "base/text.h"
#include "base/stats/dependence.h"
#include "base/stats/estimate.h"
#include "base/stats/quantile.h"
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define PRIOR_ROUNDS 60 /* the number of rounds at which the evidence is strongest */
#define PRIOR_ALPHA 0.01
#define PULLED_IN 3 /* robust standard deviations from the median */
#define LEVEL 0.05  /* at which not knowing the dependence is allowed for */
#define COSINES_LEAST 6
#define ROUNDS_A_COSINE 8
/* With fewer rounds than 15 independent ones, spread and dependence are uncertain: evidence must be stronger by this factor. */
#define EARLY_ROUNDS 15
#define EARLY 100

struct ratios {
    double *log_ratio;
    int *placement;
    int count;
    double mean, share, spread; /* share: of dependence; spread: the standard deviation of independent rounds with the same uncertainty */
    double least_placed, most_placed; /* means of few placements; of one or many the mean */
};

/* Winsorises: moves outliers, which a shared machine causes, to the extremes of a normal distribution. */
static void pull_in(double *value, int count)
{
    SCOPED double *copy = xcalloc((size_t)count, sizeof *copy);
    memcpy(copy, value, (size_t)count * sizeof *copy);
    double median = quantile_median(copy, count);
    for (int i = 0; i < count; i++)
        copy[i] = fabs(value[i] - median);
    double most = PULLED_IN * 1.4826 * quantile_median(copy, count);
    for (int i = 0; i < count && most > 0; i++)
        value[i] = fmax(median - most, fmin(median + most, value[i]));
}

/* Degrees of freedom of a weighted sum of two mean squares, a and 1 - a (Satterthwaite, Biometrics Bulletin 2, 1946); a whole number, at
 * least 1. */
static int freedom_of(double a, double between, double within, int groups, int rounds)
{
    double sum = a * between + (1 - a) * within, first = a * between, second = (1 - a) * within;
    double freedom = sum * sum / (first * first / (groups - 1) + (rounds > groups ? second * second / (rounds - groups) : 0));
    return freedom > 1 ? (int)fmin(freedom, QUANTILE_NORMAL) : 1;
}

/* The factor by which the spread between placements increases the variance: an analysis of variance in which each placement is weighted
 * by its number of rounds; with few placements, their extremes. */
static double placement_share(struct ratios *r, double variance)
{
    SCOPED bool *done = xcalloc((size_t)r->count, sizeof *done);
    double square = 0, counts = 0;
    int groups = 0;
    for (int i = 0; i < r->count; i++) {
        double sum = 0;
        int count = 0;
        for (int k = i; k < r->count && !done[i]; k++)
            if (r->placement[k] == r->placement[i]) {
                sum += r->log_ratio[k];
                count++;
                done[k] = k > i;
            }
        if (!count)
            continue;
        double mean = sum / count;
        r->least_placed = groups ? fmin(r->least_placed, mean) : mean;
        r->most_placed = groups ? fmax(r->most_placed, mean) : mean;
        square += count * (mean - r->mean) * (mean - r->mean);
        counts += (double)count * count;
        groups++;
    }
    if (groups < PLACEMENTS_DRAWN)
        return 1;
    r->least_placed = r->most_placed = r->mean;
    double between = square / (groups - 1),
           within = r->count > groups ? (variance * (r->count - 1) - square) / (r->count - groups) : variance;
    double in_mean = counts / r->count, in_between = (r->count - in_mean) / (groups - 1), a = in_mean / in_between;
    if (between < within) /* by chance: no spread between placements is visible, and none may be negative */
        between = within;
    double asked = a * between + (1 - a) * within;
    return asked / variance *
           pow(quantile_student(LEVEL, freedom_of(a, between, within, groups, r->count)) / quantile_student(LEVEL, QUANTILE_NORMAL), 2);
}

static void summarise(struct ratios *r)
{
    int cosines = r->count / ROUNDS_A_COSINE > COSINES_LEAST ? r->count / ROUNDS_A_COSINE : COSINES_LEAST;
    double variance = 0;
    r->share = dependence_share(r->log_ratio, r->count, cosines, LEVEL);
    pull_in(r->log_ratio, r->count);
    for (int i = 0; i < r->count; i++)
        r->mean += r->log_ratio[i] / r->count;
    for (int i = 0; i < r->count; i++)
        variance += (r->log_ratio[i] - r->mean) * (r->log_ratio[i] - r->mean) / (r->count - 1);
    r->least_placed = r->most_placed = r->mean;
    if (r->placement && variance > 0)
        r->share = fmax(r->share, placement_share(r, variance));
    r->spread = sqrt(variance * r->share);
}

/* rho squared of the prior: as narrow as serves PRIOR_ROUNDS best. */
static double prior(void)
{
    double twice = -2 * log(PRIOR_ALPHA);
    return (twice + log(twice + 1)) / PRIOR_ROUNDS;
}

/* The probability, over all looks, of evidence this strong for a value above `bound` if the true value is at most `bound` (an upper
 * limit). */
static double chance(const struct ratios *r, double bound, int sign)
{
    double above = sign * (r->mean - bound) * r->count, scale = 1 + r->count * prior();
    if (!(above > 0))
        return 1;
    if (!(r->spread > 0))
        return 0;
    double early = r->count < EARLY_ROUNDS * r->share ? EARLY : 1;
    double z = above / r->spread * sqrt(prior() / scale);
    double log_evidence = log(2) - 0.5 * log(scale) + z * z / 2 + log(0.5 * erfc(-z / sqrt(2)));
    return fmin(1, early * exp(-log_evidence));
}

/* Half the width of an interval that contains the mean at every look (both sides). */
static double reach(const struct ratios *r, double alpha)
{
    double n = r->count, scale = n * prior() + 1;
    return r->spread * sqrt(2 * scale / (n * n * prior()) * log(sqrt(scale) / alpha));
}

static enum decision_verdict verdict_of(const struct decision *d, double alpha)
{
    return d->p_slower <= alpha   ? VERDICT_SLOWER
           : d->p_faster <= alpha ? VERDICT_FASTER
           : d->p_same <= alpha   ? VERDICT_SAME
                                  : VERDICT_UNDECIDED;
}

struct decision decision_make(const double *base, const double *head, const int *placement, int rounds, double margin, double alpha)
{
    struct decision d = {.change = NAN, .low = NAN, .high = NAN, .spread = NAN, .p_same = 1, .p_slower = 1, .p_faster = 1};
    size_t room = rounds > 0 ? (size_t)rounds : 1;
    struct ratios r = {.log_ratio = xcalloc(room, sizeof *r.log_ratio), .placement = placement ? xcalloc(room, sizeof *r.placement) : NULL};
    double limit = log1p(margin);
    for (int i = 0; i < rounds; i++) {
        double ratio = log(head[i] / base[i]);
        if (!isfinite(ratio))
            continue;
        if (placement)
            r.placement[r.count] = placement[i];
        r.log_ratio[r.count++] = ratio;
    }
    d.rounds = r.count;
    if (r.count >= DECISION_ROUNDS_LEAST) {
        summarise(&r);
        double half = reach(&r, alpha);
        d.spread = r.spread;
        d.change = expm1(r.mean);
        d.low = expm1(r.mean - half);
        d.high = expm1(r.mean + half);
        d.p_slower = r.least_placed > limit ? chance(&r, limit, 1) : 1;
        d.p_faster = r.most_placed < -limit ? chance(&r, -limit, -1) : 1;
        d.p_same = r.most_placed < limit && r.least_placed > -limit ? fmax(chance(&r, limit, -1), chance(&r, -limit, 1)) : 1;
        d.verdict = verdict_of(&d, alpha);
    }
    free(r.log_ratio);
    free(r.placement);
    return d;
}

#define MISSED_Z 1.2815515655446004 /* one in ten is further below its mean */

double decision_smallest(double spread, double rounds, double alpha)
{
    struct ratios r = {.count = (int)fmin(rounds, 1e9), .share = 1, .spread = spread};
    double low = 0, high = 8;
    for (int i = 0; i < 60; i++) {
        double middle = (low + high) / 2;
        r.mean = middle - MISSED_Z * spread / sqrt(r.count);
        *(chance(&r, 0, 1) <= alpha ? &high : &low) = middle;
    }
    return expm1(high);
}

/* ---- families ---- */

ORDER_POINTERS(by_value, double, (*x > *y) - (*x < *y))

/* Holm's adjustment of each p-value. */
static void adjust(double **chances, int count)
{
    double so_far = 0;
    qsort(chances, (size_t)count, sizeof *chances, by_value);
    for (int i = 0; i < count; i++) {
        so_far = fmax(so_far, fmin(1, (count - i) * *chances[i]));
        *chances[i] = so_far;
    }
}

void decision_family(struct decision *decisions, int count, double alpha)
{
    SCOPED double **chances = xcalloc(count > 0 ? (size_t)count : 1, sizeof *chances);
    for (int claim = 0; claim < 3; claim++) {
        for (int i = 0; i < count; i++)
            chances[i] = claim == 0 ? &decisions[i].p_slower : claim == 1 ? &decisions[i].p_faster : &decisions[i].p_same;
        adjust(chances, count);
    }
    for (int i = 0; i < count; i++)
        decisions[i].verdict = verdict_of(&decisions[i], alpha);
}
