/* Chooses the plan of a library step by timing all plans. */
#include "measure/time/sample_private.h"
#include "op/reference/generate.h"
#include <math.h>
#include <stdlib.h>

#define PLAN_HOPELESS 50.0
#define TURNS_STREAM 0x7a3

/* A plan leaves the comparison if, after `rounds` rounds, its shortest time is `behind` times the fastest plan's. A faster plan could
 * leave only if every one of its rounds was disturbed that much. The limits tighten with each round. */
static const struct {
    int rounds;
    double behind;
} plan_limits[] = {{1, 4.0}, {2, 1.5}, {3, 1.2}, {5, 1.08}, {7, 1.04}};

struct plan_race {
    struct device *dev;
    struct rig *rig;
    struct timer timer;
    int step, count, rounds; /* count: number of plans; rounds: the most per plan */
    double *ns;              /* [plan * rounds + round] */
    int *taken;              /* rounds, by plan; -1: the library refuses it */
};

/* Runs each plan once, so that it allocates what it needs. Skips plans that the library refuses at execution, and engines known to be
 * hopeless. */
static void first_of_each(struct plan_race *r)
{
    for (int i = 0; i < r->count; i++) {
        struct error ignored = {0};
        r->taken[i] = -1;
        if (r->count > 1 && rig_plan_hopeless(r->rig, r->step, i))
            continue;
        rig_plan_use(r->rig, r->step, i);
        phase_part(r->dev->clock, "first runs");
        r->taken[i] = rig_run_step(r->rig, r->step, &ignored) && r->dev->ops->sync(r->dev, &ignored) ? 0 : -1;
        phase_pop(r->dev->clock);
    }
}

/* bench does not know how many launches a plan makes, so it draws the launch slot at random: no plan always gets the two slow slots
 * (sample_slot.c). */
static bool draw_turn(const struct plan_race *r, int i, struct error *err)
{
    const struct device_ops *ops = r->dev->ops;
    int pads = ops->stamp ? (int)(random_bits(TURNS_STREAM, (uint64_t)i, (uint64_t)r->taken[i]) % DEVICE_LAUNCH_SLOTS) : 0;
    return ALL_OF(k, pads, ops->stamp(r->dev, 0, err));
}

static bool time_plan(struct plan_race *r, int i, struct error *err)
{
    const struct device_ops *ops = r->dev->ops;
    rig_plan_use(r->rig, r->step, i);
    phase_push(r->dev->clock, PHASE_MEASURING); /* counts as measuring, as any timed launch does */
    phase_part(r->dev->clock, "library plans");
    bool ok = draw_turn(r, i, err) && sample_rest(r->dev, SAMPLE_SPACING_NS, err) && ops->flush(r->dev, err) && sample_hold(r->dev, err) &&
              ops->record(r->dev, r->timer.from, err) && rig_run_step(r->rig, r->step, err) && ops->record(r->dev, r->timer.to, err);
    sample_let_go(r->dev);
    ok = ok && ops->sync(r->dev, err) && ops->elapsed(r->dev, r->timer.from, r->timer.to, &r->ns[i * r->rounds + r->taken[i]++], err);
    phase_pop(r->dev->clock);
    phase_pop(r->dev->clock);
    return ok;
}

/* The shortest time of a plan: a single disturbed round cannot eliminate it. */
static double plan_least(const struct plan_race *r, int i)
{
    double least = INFINITY;
    for (int k = 0; k < r->taken[i]; k++)
        least = fmin(least, r->ns[i * r->rounds + k]);
    return least;
}

static double plan_median(const struct plan_race *r, int i)
{
    return r->taken[i] > 0 ? sample_median(r->ns + (size_t)i * (size_t)r->rounds, r->taken[i]) : NAN;
}

/* -1: none ran. */
static int fastest_plan(const struct plan_race *r)
{
    int best = -1;
    for (int i = 0; i < r->count; i++)
        if (plan_median(r, i) < (best < 0 ? INFINITY : plan_median(r, best)))
            best = i;
    return best;
}

/* The largest allowed multiple of the fastest plan's shortest time after `rounds` rounds; 0: no plan leaves now. */
static double behind_after(int rounds)
{
    for (size_t i = 0; i < sizeof plan_limits / sizeof *plan_limits; i++)
        if (plan_limits[i].rounds == rounds)
            return plan_limits[i].behind;
    return 0;
}

static bool race_plans(struct plan_race *r, struct error *err)
{
    double limit = INFINITY;
    for (int round = 0; round < r->rounds; round++) {
        double behind = behind_after(round);
        for (int i = 0; behind > 0 && i < r->count; i++)
            limit = fmin(limit, behind * plan_least(r, i));
        for (int k = 0; k < r->count; k++) {
            int i = round & 1 ? r->count - 1 - k : k;
            if (r->taken[i] == round && (!round || plan_least(r, i) <= limit) && !time_plan(r, i, err))
                return false;
        }
    }
    return true;
}

/* Marks an engine if all its plans are very slow: no convolution of at least this size tries it again. */
static void note_hopeless(const struct plan_race *r)
{
    double fastest = INFINITY;
    for (int i = 0; i < r->count; i++)
        fastest = fmin(fastest, plan_least(r, i));
    for (int i = 0; i < r->count; i++) {
        int engine = rig_plan_facts(r->rig, r->step, i)->engine;
        double least = INFINITY;
        for (int k = 0; k < r->count; k++)
            if (rig_plan_facts(r->rig, r->step, k)->engine == engine)
                least = r->taken[k] > 0 ? fmin(least, plan_least(r, k)) : 0;
        if (r->taken[i] > 0 && least > PLAN_HOPELESS * fastest)
            rig_plan_is_hopeless(r->rig, r->step, i);
    }
}

bool sample_plans(struct device *dev, struct rig *rig, int step, int round_count, double *medians_ns, struct error *err)
{
    struct plan_race r = {.dev = dev, .rig = rig, .step = step, .count = rig_plan_count(rig, step), .rounds = round_count};
    r.ns = xcalloc((size_t)r.count * (size_t)round_count, sizeof *r.ns);
    r.taken = xcalloc((size_t)r.count, sizeof *r.taken);
    bool ok = timer_open(&r.timer, dev, err);
    if (ok)
        first_of_each(&r);
    bool alone = r.count == 1; /* there is no other plan to compare with, e.g. because the plan was remembered */
    ok = ok && (alone || race_plans(&r, err));
    if (ok && !alone)
        note_hopeless(&r);
    int best = !ok ? -1 : alone ? r.taken[0] : fastest_plan(&r);
    for (int i = 0; ok && medians_ns && i < r.count; i++)
        medians_ns[i] = plan_median(&r, i);
    if (best >= 0)
        rig_plan_use(rig, step, best);
    else if (ok)
        ok = error_set(err, ERROR_ENVIRONMENT, "none of cuDNN's %d plans runs", r.count);
    timer_close(&r.timer);
    free(r.ns);
    free(r.taken);
    return ok;
}
