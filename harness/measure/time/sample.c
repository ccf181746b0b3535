#include "measure/time/sample_private.h"
#include "base/order.h"
#include "base/clock.h"
#include "base/text.h"
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WARMUP_S 1.0
#define WARMUP_TAIL 2
#define STEPS_S 0.06           /* limit per row, after its third round */
#define ROUNDS_LEAST 10        /* if the budget ends before rounds_min: enough for an interval, and a note says so */
#define TAIL_TIMES 10.0        /* a row this many times slower than the fastest row is in the tail */
#define TAIL_ROUNDS 10         /* the tail takes part only in this many first rounds, */
#define TAIL_ROUNDS_LEAST 6    /* or this many, if its time is up or its interval is narrow: fewer give no interval */
#define RETAKES 2              /* of a sample that began at a low clock */
#define RETAKE_REST_NS 1000000 /* before the first; */
#define RETAKE_LAST_NS 5000000 /* before the last */
#define CLOCK_LOW 0.99         /* of the clock of an idle GPU */

static void field_close(struct sample_group *f)
{
    for (int i = 0; i < f->count; i++) {
        timer_close(&f->timers[i]);
        if (f->graphs[i])
            f->dev->ops->graph_free(f->dev, f->graphs[i]);
        if (f->rests[i])
            f->dev->ops->graph_free(f->dev, f->rests[i]);
    }
    FREE_ALL(f->timers, f->graphs, f->rests, f->ns, f->host_ns, f->hz, f->order, f->ahead, f->unseen);
}

/* Close it even if opening fails. */
static bool field_open(struct sample_group *f, struct device *dev, struct sample_candidate *candidates, int count,
                       const struct sample_plan *plan, const struct sample_watch *watch, struct error *err)
{
    size_t n = (size_t)count;
    *f = (struct sample_group){.dev = dev,
                               .plan = plan,
                               .watch = watch,
                               .sets = plan->sets > 0 ? plan->sets : 1,
                               .replicas = plan->replicas > 0 ? plan->replicas : 1,
                               .candidates = candidates,
                               .count = count,
                               .timers = xcalloc(n, sizeof *f->timers),
                               .graphs = xcalloc(n, sizeof *f->graphs),
                               .rests = xcalloc(n, sizeof *f->rests),
                               .ns = xcalloc(n, sizeof *f->ns),
                               .host_ns = xcalloc(n, sizeof *f->host_ns),
                               .hz = xcalloc(n, sizeof *f->hz),
                               .order = xcalloc(n, sizeof *f->order),
                               .ahead = xcalloc(n, sizeof *f->ahead),
                               .unseen = xcalloc(n, sizeof *f->unseen)};
    for (int i = 0; i < count; i++)
        f->ahead[i] = -1;
    return ALL_OF(i, count, timer_open(&f->timers[i], dev, err));
}

/* True if the sample began at a lower clock than that of an idle GPU. False if unknown. */
static bool clock_low(struct sample_group *f, double hz)
{
    if (hz > f->rested_hz)
        f->rested_hz = hz;
    return hz < CLOCK_LOW * f->rested_hz;
}

static bool stamp(struct device *dev, int slot, struct error *err)
{
    return !dev->ops->stamp || dev->ops->stamp(dev, slot, err);
}

static bool hold_row(struct sample_group *f, int i, struct error *err)
{
    return f->candidates[i].unheld >= SAMPLE_UNHELD_MOST || sample_hold(f->dev, err);
}

/* Call after a sync. Counts samples that began before everything was queued; a few may be due to the machine. */
static void was_held(struct sample_group *f, int i)
{
    struct sample_candidate *e = &f->candidates[i];
    if (f->dev->ops->unblocked && e->unheld < SAMPLE_UNHELD_MOST && !f->dev->ops->unblocked(f->dev))
        e->unheld++;
}

/* Queues everything before the first event of an isolated sample, so that no data of an earlier launch remain. The flush precedes a
 * warming run as well: it separates the two clock stamps far enough to compute the clock. */
static bool before(struct sample_group *f, int i, struct error *err)
{
    struct device *dev = f->dev;
    struct rig *rig = f->candidates[i].rig;
    if (!rig_capture(rig, err) || !slot_steer(f, i, err) || !rig_prepare(rig, NULL, err) || !sample_rest(dev, f->plan->spacing_ns, err) ||
        !stamp(dev, 0, err) || !dev->ops->flush(dev, err) || !stamp(dev, 1, err) ||
        (f->plan->warm && !(slot_run(f, i, false, err) && rig_poison_all(rig, err) && rig_prepare(rig, NULL, err))))
        return false;
    if (!hold_row(f, i, err))
        return false;
    slot_met(f, i);
    return true;
}

/* Queues an isolated sample, waits for it, checks its outputs and poisons them. */
static bool isolated(struct sample_group *f, int i, bool *low, struct error *err)
{
    const struct device_ops *ops = f->dev->ops;
    struct sample_candidate *e = &f->candidates[i];
    struct timer *t = &f->timers[i];
    enum rig_left left;
    if (!before(f, i, err) || !ops->record(f->dev, t->from, err))
        return false;
    double start = clock_s();
    if (!slot_run(f, i, true, err))
        return false;
    f->host_ns[i] = (clock_s() - start) * 1e9;
    if (!ops->record(f->dev, t->to, err))
        return false;
    sample_let_go(f->dev);
    if (!rig_finish(e->rig, err) || !rig_checksum(e->rig, err) || !ops->sync(f->dev, err) ||
        !ops->elapsed(f->dev, t->from, t->to, &f->ns[i], err) || !rig_checksum_matches(e->rig, &left, err) ||
        !sample_recheck(f, i, f->set, left, err))
        return false;
    was_held(f, i);
    f->hz[i] = ops->stamped_hz ? ops->stamped_hz(f->dev, 0, 1) : NAN;
    *low = clock_low(f, f->hz[i]);
    return rig_poison_all(e->rig, err);
}

static bool take_isolated(struct sample_group *f, int i, struct error *err)
{
    bool low = true;
    rig_select(f->candidates[i].rig, f->set, f->replica);
    if (f->candidates[i].control && !rig_program(f->candidates[i].rig)->graph) /* a captured graph has only one copy */
        rig_use_code(f->candidates[i].rig, f->set * f->replicas + f->replica + 1);
    if (f->watch && rig_checksum_awaits(f->candidates[i].rig)) /* announced until it is checked: its own launch is responsible for a
                                                                  crash of the process */
        f->watch->announce(f->watch->context, i);
    for (int tries = 0; low && tries <= (f->warming ? 0 : RETAKES); tries++) { /* samples of the warm-up are not kept */
        if (tries && f->ns[i] > RETAKE_REST_NS)                                /* the GPU does not recover in less time than the row took */
            tries = RETAKES;
        if (tries && !sample_rest(f->dev, tries < RETAKES ? RETAKE_REST_NS : RETAKE_LAST_NS, err))
            return false;
        f->candidates[i].retaken += tries > 0;
        if (!isolated(f, i, &low, err))
            return false;
    }
    f->candidates[i].kept_low += low;
    return true;
}

/* True if all ratios to the first candidate are known precisely enough. Ignores the tail and candidates that are out. */
static bool settled(const struct sample_group *f, const int *places, int rounds)
{
    const struct sample_candidate *e = f->candidates;
    double half_width = f->plan->half_width;
    int first = -1, others = 0;
    for (int i = 0; i < f->count; i++) {
        if (e[i].tail || e[i].out)
            continue;
        if (first < 0) {
            first = i;
            continue;
        }
        struct estimate ratio = estimate_ratio_grouped(e[first].samples_ns, e[i].samples_ns, places, rounds, f->count - 1);
        if (!(estimate_half_width(&ratio) <= half_width))
            return false;
        others++;
    }
    if (first < 0 || others)
        return true;
    struct estimate own = estimate_median_grouped(e[first].samples_ns, places, rounds, 1);
    return estimate_half_width(&own) <= half_width;
}

/* A random order for each even round, and its reverse for the next odd round. */
static void order_of(uint64_t seed, int round, int count, int *order)
{
    uint64_t state = UINT64_C(0x9e3779b97f4a7c15) * (uint64_t)(round / 2 + 1) + seed;
    for (int i = 0; i < count; i++)
        order[i] = i;
    for (int i = count - 1; i > 0; i--) {
        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        int k = (int)((state >> 33) % (uint64_t)(i + 1)), swap = order[i];
        order[i] = order[k];
        order[k] = swap;
    }
    for (int i = 0; round & 1 && i < count / 2; i++) {
        int swap = order[i];
        order[i] = order[count - 1 - i];
        order[count - 1 - i] = swap;
    }
}

/* Is the interval of so many rounds as narrow as asked for, or was it before? */
static bool is_narrow(const struct sample_group *f, const struct sample_candidate *e, int rounds)
{
    struct estimate own = estimate_median(e->samples_ns, rounds);
    return f->plan->half_width > 0 && (isnan(e->samples_ns[rounds - 1]) || estimate_half_width(&own) <= f->plan->half_width);
}

static bool takes_part(const struct sample_group *f, int i, int round)
{
    const struct sample_candidate *e = &f->candidates[i];
    if (!e->tail || e->out)
        return !e->out;
    if (f->warming)
        return round < WARMUP_TAIL;
    return round < TAIL_ROUNDS_LEAST || (round < TAIL_ROUNDS && f->tail_s < f->plan->budget_s && !is_narrow(f, e, round));
}

/* Takes the device time of each candidate that takes part, into f->ns; NAN for the others. */
static bool visit_all(struct sample_group *f, int round, struct error *err)
{
    order_of(f->plan->seed, round, f->count, f->order);
    f->set = f->warming ? (round + 1) % f->sets : sample_draw(f, f->sets); /* the warm-up visits all sets, first those on which nothing
                                                                              has run yet */
    f->replica = f->warming ? round / f->sets % f->replicas : sample_draw(f, f->replicas);
    f->turn = round % DEVICE_LAUNCH_SLOTS;
    for (int k = 0; k < f->count; k++) {
        int i = f->order[k];
        double start = clock_s();
        f->ns[i] = f->hz[i] = NAN;
        if (!takes_part(f, i, round))
            continue;
        const char *name = rig_name(f->candidates[i].rig);
        int depth = phase_depth(f->dev->clock);
        phase_open(f->dev->clock, name ? name : "");
        bool taken = f->plan->sustained ? sustained_take(f, i, err) : take_isolated(f, i, err);
        phase_unwind(f->dev->clock, depth); /* also closes phases that the check of a sample left open */
        if (!taken)
            return false;
        if (f->candidates[i].tail)
            f->tail_s += clock_s() - start;
    }
    return true;
}

static bool one_round(struct sample_group *f, int round, struct error *err)
{
    char name[32];
    snprintf(name, sizeof name, "round %d", round);
    phase_open(f->dev->clock, name);
    bool ok = visit_all(f, round, err);
    phase_pop(f->dev->clock);
    return ok;
}

bool sample_round(struct device *dev, struct rig *const *rigs, int count, int round, double *ns, struct error *err)
{
    const struct sample_plan plan = {.spacing_ns = SAMPLE_SPACING_NS};
    struct sample_group f;
    SCOPED struct sample_candidate *candidates = xcalloc((size_t)count, sizeof *candidates);
    for (int i = 0; i < count; i++)
        candidates[i].rig = rigs[i];
    bool ok = field_open(&f, dev, candidates, count, &plan, NULL, err) && one_round(&f, round, err);
    if (ok)
        memcpy(ns, f.ns, (size_t)count * sizeof *ns);
    field_close(&f);
    return ok;
}

/* Checks the outputs of the launch that was queued last, on the first input set. */
static bool check_launch(struct sample_group *f, int i, struct error *err)
{
    struct rig *rig = f->candidates[i].rig;
    enum rig_left left;
    return rig_checksum(rig, err) && f->dev->ops->sync(f->dev, err) && rig_checksum_matches(rig, &left, err) &&
           sample_recheck(f, i, 0, left, err);
}

/* Runs each alone, so that a crash can be attributed, and checks the output if no launch on these inputs was. */
static bool first_runs(struct sample_group *f, struct error *err)
{
    const struct sample_watch *watch = f->watch;
    f->slots_known = true;
    for (int i = 0; i < f->count; i++) {
        struct rig *rig = f->candidates[i].rig;
        watch->announce(watch->context, i);
        f->candidates[i].batch = 1;
        rig_select(rig, 0, 0);
        if (!rig_prepare(rig, NULL, err) || !rig_run(rig, err) || !f->dev->ops->sync(f->dev, err) ||
            (rig_checksum_awaits(rig) && !check_launch(f, i, err)))
            return false;
        watch->announce(watch->context, i); /* the check has announced nobody */
        if (!f->candidates[i].out && !(f->plan->sustained ? sustained_build(f, i, err) : slot_learn(f, i, err)))
            return false;
        for (int replica = 0; replica < f->replicas; replica++) {
            rig_select(rig, 0, replica);
            if (!rig_poison_all(rig, err))
                return false;
        }
    }
    watch->announce(watch->context, -1);
    return true;
}

double sample_median(double *values, int count)
{
    qsort(values, (size_t)count, sizeof *values, order_doubles);
    return count ? (count & 1 ? values[count / 2] : 0.5 * (values[count / 2 - 1] + values[count / 2])) : NAN;
}

bool sample_prepare(struct device *dev, struct rig *rig, int round_count, double *median_ns, struct error *err)
{
    struct timer t = {0};
    SCOPED double *ns = xcalloc((size_t)round_count, sizeof *ns);
    bool ok = timer_open(&t, dev, err);
    for (int r = 0; r < round_count && ok; r++) {
        ok = dev->ops->flush(dev, err) && sample_hold(dev, err) && dev->ops->record(dev, t.from, err) && rig_prepare(rig, NULL, err) &&
             dev->ops->record(dev, t.to, err);
        sample_let_go(dev);
        ok = ok && dev->ops->sync(dev, err) && dev->ops->elapsed(dev, t.from, t.to, &ns[r], err);
    }
    if (ok)
        *median_ns = sample_median(ns, round_count);
    timer_close(&t);
    return ok;
}

struct step_events {
    struct device *dev;
    struct device_event **events;
    int used;
};

static bool mark_step(void *context, int step, struct error *err)
{
    struct step_events *s = context;
    return s->dev->ops->record(s->dev, s->events[++s->used], err);
}

/* A separate pass, because events between the steps would lengthen the row they belong to. */
static bool step_pass(struct sample_group *f, int candidate, struct error *err)
{
    struct device *dev = f->dev;
    struct sample_candidate *e = &f->candidates[candidate];
    const struct sample_plan *plan = f->plan;
    const struct program *p = rig_program(e->rig);
    int steps = 0;
    for (int i = 0; i < p->step_count; i++)
        steps += !p->steps[i].prepare;
    if (steps < 2 || plan->step_rounds <= 0 || plan->sustained || e->out)
        return true;
    bool ok = false;
    rig_select(e->rig, 0, 0);
    struct step_events s = {.dev = dev, .events = xcalloc((size_t)steps + 1, sizeof *s.events)};
    e->step_ns = xcalloc((size_t)p->step_count, sizeof *e->step_ns);
    for (int i = 0; i <= steps; i++)
        if (!dev->ops->event(dev, &s.events[i], err))
            goto done;
    for (int i = 0; i < p->step_count; i++)
        e->step_ns[i] = p->steps[i].prepare ? NULL : xcalloc((size_t)plan->step_rounds, sizeof(double));
    double start = clock_s();
    for (int r = 0; r < plan->step_rounds && !e->out; r++) {
        if (r >= 3 && clock_s() - start > STEPS_S)
            break;
        e->step_rounds = r + 1;
        s.used = 0;
        if (!before(f, candidate, err) || !dev->ops->record(dev, s.events[0], err) || !rig_run_stepwise(e->rig, mark_step, &s, err))
            goto done;
        sample_let_go(dev);
        if (!check_launch(f, candidate, err) || !rig_poison_all(e->rig, err))
            goto done;
        for (int i = 0, k = 0; i < p->step_count; i++)
            if (!p->steps[i].prepare) {
                if (!dev->ops->elapsed(dev, s.events[k], s.events[k + 1], &e->step_ns[i][r], err))
                    goto done;
                k++;
            }
    }
    ok = true;
done:
    for (int i = 0; i <= steps; i++)
        if (s.events[i])
            dev->ops->event_free(dev, s.events[i]);
    free(s.events);
    return ok;
}

/* Moves rows to the tail that are so slow that they would use up the others' rounds: by their last warm-up round. */
static void find_tail(struct sample_group *f)
{
    double fastest = INFINITY;
    for (int i = 0; i < f->count; i++)
        fastest = fmin(fastest, f->ns[i] / f->candidates[i].batch);
    for (int i = 0; i < f->count; i++)
        if (isfinite(f->ns[i]) && !f->plan->enough)
            f->candidates[i].tail = f->ns[i] / f->candidates[i].batch > TAIL_TIMES * fastest;
}

static bool warm_up(struct sample_group *f, struct error *err)
{
    double start = clock_s();
    f->warming = true;
    for (int r = 0; r < f->plan->warmup_rounds; r++) {
        if (!one_round(f, r, err))
            return false;
        find_tail(f);
        if (clock_s() - start > WARMUP_S) /* the slow ones have warmed the chip long enough */
            break;
    }
    f->warming = false;
    f->tail_s = 0;
    for (int i = 0; i < f->count; i++)
        f->candidates[i].retaken = f->candidates[i].kept_low = 0;
    return true;
}

static void keep(struct sample_group *f, int round, double *hosts, struct sample_result *result)
{
    for (int i = 0; i < f->count; i++) {
        struct sample_candidate *e = &f->candidates[i];
        e->samples_ns[round] = f->ns[i] / e->batch;
        e->clock_hz[round] = f->hz[i];
        hosts[(size_t)i * (size_t)f->plan->rounds_max + (size_t)round] = f->host_ns[i];
    }
    result->power_w[round] = result->throttle[round] = NAN;
    if (f->watch->sense)
        f->watch->sense(f->watch->context, &result->power_w[round], &result->throttle[round]);
    result->places[round] = f->plan->sustained ? 0 : f->set * f->replicas + f->replica;
    result->rounds = round + 1;
}

/* Takes rounds until the ratios are known precisely enough, there are enough rounds, or the budget is spent. */
static bool rounds(struct sample_group *f, struct sample_result *result, struct error *err)
{
    const struct sample_plan *plan = f->plan;
    size_t most = (size_t)plan->rounds_max;
    double *hosts = xcalloc((size_t)f->count * most, sizeof *hosts), start;
    int least = plan->rounds_min < ROUNDS_LEAST ? plan->rounds_min : ROUNDS_LEAST;
    phase_part(f->dev->clock, "warm-up");
    bool ok = warm_up(f, err);
    phase_pop(f->dev->clock);
    start = clock_s();
    phase_part(f->dev->clock, "rounds");
    for (int r = 0; ok && r < plan->rounds_max; r++) {
        ok = one_round(f, r, err);
        if (!ok)
            break;
        keep(f, r, hosts, result);
        result->converged =
            plan->enough ? plan->enough(plan->context, f->candidates, result->rounds)
                         : result->rounds >= plan->rounds_min && result->rounds % 5 == 0 && settled(f, result->places, result->rounds);
        if (result->converged || (result->rounds >= least && clock_s() - start - f->tail_s > plan->budget_s))
            break;
    }
    for (int i = 0; ok && i < f->count; i++)
        f->candidates[i].host_ns = plan->sustained ? NAN : sample_median(hosts + (size_t)i * most, result->rounds);
    phase_pop(f->dev->clock);
    result->seconds = clock_s() - start;
    free(hosts);
    return ok;
}

bool sample_run(struct device *dev, struct sample_candidate *candidates, int count, const struct sample_plan *plan,
                const struct sample_watch *watch, struct sample_result *result, struct error *err)
{
    struct sample_group f;
    *result = (struct sample_result){0};
    if (!dev->ops->keeps_time)
        return error_set(err, ERROR_INTERNAL, "%s measures no time", dev->spec);
    result->places = xcalloc((size_t)plan->rounds_max, sizeof *result->places);
    result->power_w = xcalloc((size_t)plan->rounds_max, sizeof *result->power_w);
    result->throttle = xcalloc((size_t)plan->rounds_max, sizeof *result->throttle);
    for (int i = 0; i < count; i++) {
        candidates[i].samples_ns = xcalloc((size_t)plan->rounds_max, sizeof(double));
        candidates[i].clock_hz = xcalloc((size_t)plan->rounds_max, sizeof(double));
    }
    bool ok = field_open(&f, dev, candidates, count, plan, watch, err) && first_runs(&f, err) && rounds(&f, result, err);
    phase_part(dev->clock, "steps");
    ok = ok && ALL_OF(i, count, step_pass(&f, i, err));
    phase_pop(dev->clock);
    field_close(&f);
    return ok;
}

void sample_result_free(struct sample_result *result)
{
    FREE_ALL(result->places, result->power_w, result->throttle);
    result->places = NULL;
    result->power_w = result->throttle = NULL;
}

void sample_candidate_free(struct sample_candidate *e, int step_count)
{
    free(e->samples_ns);
    free(e->clock_hz);
    pointers_free(e->step_ns, step_count);
    e->samples_ns = e->clock_hz = NULL;
    e->step_ns = NULL;
}
