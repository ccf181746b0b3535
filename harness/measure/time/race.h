/* measure/time/race: finds the fastest of many candidates in no more rounds than the noise requires. It knows no device: the caller
 * takes the times.
 *
 * The method is successive halving with confidence intervals. A round visits the pinned candidates (the baseline, with which everything
 * is compared) and all remaining candidates, interleaved. After RACE_FIRST_LOOK rounds, and whenever the number of rounds has grown by
 * half, a candidate leaves if the 95 % interval of its median lies above that of the best. A difference within the noise eliminates no
 * candidate.
 *
 * If not all candidates fit on the device at once, they enter in groups, and those that remain at the end of a group meet the next
 * group. If they still take more than half of the places, the slower ones by median leave: the only ones that leave without evidence.
 * Samples of different groups are never compared. The last group continues until the best is known to `half_width` and is alone or has
 * 30 rounds, or until the budget is spent. */
#pragma once

#include "base/error.h"
#include <stdbool.h>

#define RACE_FIRST_LOOK 6    /* the fewest samples whose minimum and maximum are a 95 % interval of the median */
#define RACE_HOPELESS_LOOK 2 /* after this few rounds, a candidate leaves only if it is hopeless: */
#define RACE_HOPELESS 3.0    /* its shortest sample is this many times the longest of the best; slow candidates take most of the time */

struct race_candidate {
    double *samples_ns; /* of its last group; round i was taken together with round i of base_ns */
    double *base_ns;    /* samples of the fastest pinned candidate in the same rounds; NULL: none is pinned */
    int rounds;
    bool out;      /* left before the end */
    int beaten_by; /* index of the candidate that was best then; -1 */
};
struct race_plan {
    int at_once;       /* candidates on the device at once, at least 2 */
    int rounds_max;    /* of one group */
    double half_width; /* of the best median, relative: the required precision */
    double budget_s;   /* of the whole race; every group gets its RACE_FIRST_LOOK rounds regardless */
};
struct race_ops {
    void *context;
    /* Prepares a candidate on the device; false with err->kind ERROR_NONE: it cannot run and is left out. */
    bool (*enter)(void *context, int candidate, struct error *err);
    bool (*leave)(void *context, int candidate, struct error *err);
    /* Writes one time of each pinned candidate to pinned_ns, and of each of who[0..count) to ns. */
    bool (*round)(void *context, const int *who, int count, int round, double *pinned_ns, double *ns, struct error *err);
    double (*clock_s)(void *context);
};
struct race_result {
    int best;           /* a candidate; -1: none could run */
    int still_in;       /* at the end, the best among them */
    bool known;         /* the best is known to half_width; else rounds or budget ran out */
    int groups, rounds; /* rounds of all groups */
};
/* candidates: an array of `count`, which the call fills; free each with race_candidate_free. */
bool race_run(const struct race_plan *plan, const struct race_ops *ops, struct race_candidate *candidates, int count, int pinned,
              struct race_result *result, struct error *err);
void race_candidate_free(struct race_candidate *candidate);
