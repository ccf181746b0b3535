#include "measure/time/race.h"
#include "base/text.h"
#include "base/stats/estimate.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS_OF_A_TIE 30 /* after this many rounds, the remaining candidates count as equally fast */

struct race_group {
    const struct race_plan *plan;
    const struct race_ops *ops;
    struct race_candidate *candidates;
    int count, pinned;
    int *who, in;      /* candidates that are still in */
    double *pinned_ns; /* [pinned][rounds_max] */
    double deadline_s; /* of this group */
    int rounds;
    bool last, known;
};

void race_candidate_free(struct race_candidate *r)
{
    free(r->samples_ns);
    free(r->base_ns);
    *r = (struct race_candidate){0};
}

/* Returns the remaining candidate with the smallest median; -1: none. */
static int leader(const struct race_group *h, struct estimate *of)
{
    int best = -1;
    for (int i = 0; i < h->in; i++) {
        struct estimate e = estimate_median(h->candidates[h->who[i]].samples_ns, h->rounds);
        if (best < 0 || e.median < of->median) {
            best = h->who[i];
            *of = e;
        }
    }
    return best;
}

static bool drop(struct race_group *h, int at, int beaten_by, struct error *err)
{
    int out = h->who[at];
    h->candidates[out].out = true;
    h->candidates[out].beaten_by = beaten_by;
    memmove(h->who + at, h->who + at + 1, sizeof *h->who * (size_t)(h->in - at - 1));
    h->in--;
    return h->ops->leave(h->ops->context, out, err);
}

/* Drops every candidate whose interval lies above `times` the best one's. */
static bool look(struct race_group *h, double times, struct error *err)
{
    struct estimate best = {0};
    int first = leader(h, &best);
    for (int i = h->in - 1; i >= 0; i--) {
        struct estimate e = estimate_median(h->candidates[h->who[i]].samples_ns, h->rounds);
        if (h->who[i] != first && e.low > times * best.high && !drop(h, i, first, err))
            return false;
    }
    h->known = first >= 0 && estimate_half_width(&best) <= h->plan->half_width;
    return true;
}

static bool one_round(struct race_group *h, double *pinned_now, double *now, struct error *err)
{
    if (!h->ops->round(h->ops->context, h->who, h->in, h->rounds, pinned_now, now, err))
        return false;
    for (int p = 0; p < h->pinned; p++)
        h->pinned_ns[(size_t)p * (size_t)h->plan->rounds_max + (size_t)h->rounds] = pinned_now[p];
    for (int i = 0; i < h->in; i++) {
        struct race_candidate *r = &h->candidates[h->who[i]];
        r->samples_ns[h->rounds] = now[i];
        r->rounds = h->rounds + 1;
    }
    h->rounds++;
    return true;
}

/* True if the group is finished. A group before the last ends when its budget is spent or at most half of the places are taken: later
 * groups can separate the rest. */
static bool over(const struct race_group *h, double now_s)
{
    if (h->rounds >= h->plan->rounds_max || now_s > h->deadline_s || h->in == 0)
        return true;
    if (h->last)
        return h->known && (h->in == 1 || h->rounds >= ROUNDS_OF_A_TIE);
    return h->in <= (h->plan->at_once + 1) / 2;
}

static void keep_base(struct race_group *h, const int *entered, int count)
{
    double best_ns = INFINITY;
    const double *base = NULL;
    for (int p = 0; p < h->pinned; p++) {
        const double *ns = h->pinned_ns + (size_t)p * (size_t)h->plan->rounds_max;
        struct estimate e = estimate_median(ns, h->rounds);
        if (e.median < best_ns) {
            best_ns = e.median;
            base = ns;
        }
    }
    for (int i = 0; i < count && base; i++) {
        struct race_candidate *r = &h->candidates[entered[i]];
        free(r->base_ns);
        r->base_ns = xcalloc((size_t)r->rounds, sizeof *r->base_ns);
        memcpy(r->base_ns, base, sizeof *base * (size_t)r->rounds);
    }
}

static bool run_group(struct race_group *h, struct error *err)
{
    int next_look = RACE_FIRST_LOOK, entered_count = h->in;
    SCOPED int *entered = xcalloc((size_t)h->in + 1, sizeof *entered);
    SCOPED double *now = xcalloc((size_t)h->in + 1, sizeof *now), *pinned_now = xcalloc((size_t)h->pinned + 1, sizeof *pinned_now);
    memcpy(entered, h->who, sizeof *entered * (size_t)h->in);
    h->rounds = 0;
    h->known = false;
    while (h->rounds < RACE_FIRST_LOOK || !over(h, h->ops->clock_s(h->ops->context))) {
        if (!one_round(h, pinned_now, now, err))
            return false;
        if (h->rounds == RACE_HOPELESS_LOOK && !look(h, RACE_HOPELESS, err))
            return false;
        if (h->rounds < next_look)
            continue;
        next_look = h->rounds + (h->rounds + 1) / 2;
        if (!look(h, 1, err))
            return false;
    }
    if (!look(h, 1, err))
        return false;
    keep_base(h, entered, entered_count);
    return true;
}

/* Makes room for the next group if too many candidates remain: drops the slower half by median. */
static bool make_room(struct race_group *h, struct error *err)
{
    while (h->in > h->plan->at_once / 2) {
        struct estimate best = {0};
        int first = leader(h, &best), worst = 0;
        double worst_ns = -INFINITY;
        for (int i = 0; i < h->in; i++) {
            double m = estimate_median(h->candidates[h->who[i]].samples_ns, h->rounds).median;
            if (h->who[i] != first && m >= worst_ns) {
                worst = i;
                worst_ns = m;
            }
        }
        if (h->in < 2 || !drop(h, worst, first, err))
            return h->in < 2;
    }
    return true;
}

static bool race_fill(struct race_group *h, int *next, struct error *err)
{
    while (h->in < h->plan->at_once && *next < h->count) {
        int candidate = (*next)++;
        struct error none = {0};
        if (h->ops->enter(h->ops->context, candidate, &none)) {
            h->who[h->in++] = candidate;
        } else if (none.kind != ERROR_NONE) {
            if (err)
                *err = none;
            return false;
        }
    }
    for (int i = 0; i < h->in; i++) { /* a new group, new samples */
        struct race_candidate *r = &h->candidates[h->who[i]];
        free(r->samples_ns);
        r->samples_ns = xcalloc((size_t)h->plan->rounds_max, sizeof *r->samples_ns);
    }
    return true;
}

bool race_run(const struct race_plan *plan, const struct race_ops *ops, struct race_candidate *candidates, int count, int pinned,
              struct race_result *result, struct error *err)
{
    struct race_group h = {.plan = plan, .ops = ops, .candidates = candidates, .count = count, .pinned = pinned};
    int next = 0;
    bool ok = false;
    *result = (struct race_result){.best = -1};
    for (int i = 0; i < count; i++)
        candidates[i] = (struct race_candidate){.beaten_by = -1};
    if (plan->at_once < 2 || plan->rounds_max < RACE_FIRST_LOOK)
        return error_set(err, ERROR_INTERNAL, "a comparison needs space for two rows and %d rounds", RACE_FIRST_LOOK);
    h.who = xcalloc((size_t)plan->at_once, sizeof *h.who);
    h.pinned_ns = xcalloc((size_t)(pinned + 1) * (size_t)plan->rounds_max, sizeof *h.pinned_ns);
    double start = ops->clock_s(ops->context);
    do {
        if (next && !make_room(&h, err))
            goto done;
        if (!race_fill(&h, &next, err))
            goto done;
        h.last = next >= count;
        /* A group may use the budget up to its share of the candidates; the last group may use the rest. */
        h.deadline_s = start + plan->budget_s * (h.last ? 1.0 : 0.75 * next / count);
        if (h.in > 0 && !run_group(&h, err))
            goto done;
        result->groups++;
        result->rounds += h.rounds;
    } while (next < count);
    struct estimate best = {0};
    result->best = h.in > 0 ? leader(&h, &best) : -1;
    result->still_in = h.in;
    result->known = h.known;
    while (h.in > 0)
        if (!ops->leave(ops->context, h.who[--h.in], err))
            goto done;
    ok = true;
done:
    free(h.who);
    free(h.pinned_ns);
    return ok;
}
