/* measure/time/race: which of many is the fastest, in no more rounds than the noise asks for. Knows no device: whoever calls it takes the
 * times.
 *
 * Successive halving with confidence. A round visits the pinned candidates (the baseline, which everything is compared with) and all
 * candidates that are still in, interleaved. After RACE_FIRST_LOOK rounds, and each time their number has grown by half, a candidate leaves
 * whose 95 % interval of the median lies above that of the best. Nobody leaves for being slower by a little: what the noise cannot tell
 * apart stays in.
 *
 * Not everybody fits on the device at once: candidates enter in groups, and who is still in at the end of a group meets the next group
 * (where more than half of the room is still taken then, the slower ones by median give way: the only ones that leave without proof).
 * Samples of different groups are never compared. The last group goes on until the best is known to `half_width` and stands alone or had 30
 * rounds, or until the budget is spent. */
#ifndef BENCH_MEASURE_TIME_RACE_H
#define BENCH_MEASURE_TIME_RACE_H

#include "base/error.h"
#include <stdbool.h>

#define RACE_FIRST_LOOK 6    /* the fewest samples whose smallest and largest are a 95 % interval of the median */
#define RACE_HOPELESS_LOOK 2 /* after so few, only whoever never came near leaves: */
#define RACE_HOPELESS 3.0    /* each of its samples is so many times the best's longest. Slow candidates are what a race's time goes into */

struct race_candidate {
    double *samples_ns; /* of the last group it was in; round i of it is round i of the pinned ones in base_ns */
    double *base_ns;    /* the fastest pinned candidate in the same rounds; NULL: none is pinned */
    int rounds;
    bool out;      /* left before the end */
    int beaten_by; /* index of the candidate that was best then; -1 */
};
struct race_plan {
    int at_once;       /* candidates on the device at once, at least 2 */
    int rounds_max;    /* of one group */
    double half_width; /* of the best's median, relative: known well enough */
    double budget_s;   /* of the whole race; every group gets its RACE_FIRST_LOOK rounds whatever this says */
};
struct race_ops {
    void *context;
    /* Sets a candidate up on the device; false with err->kind ERROR_NONE: it cannot run, and is left out. */
    bool (*enter)(void *context, int candidate, struct error *err);
    bool (*leave)(void *context, int candidate, struct error *err);
    /* One time for each pinned candidate into pinned_ns and for each of who[0..count) into ns. */
    bool (*round)(void *context, const int *who, int count, int round, double *pinned_ns, double *ns, struct error *err);
    double (*clock_s)(void *context);
};
struct race_result {
    int best;           /* candidate; -1: nobody could run */
    int still_in;       /* at the end, the best among them */
    bool known;         /* the best to half_width; else rounds or budget ran out */
    int groups, rounds; /* rounds of all groups */
};
/* candidates: `count` of them, filled; free each with race_candidate_free. */
bool race_run(const struct race_plan *plan, const struct race_ops *ops, struct race_candidate *candidates, int count, int pinned,
              struct race_result *result, struct error *err);
void race_candidate_free(struct race_candidate *candidate);

#endif
