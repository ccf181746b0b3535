#include "measure/sample.h"
#include "base/order.h"
#include "base/clock.h"
#include "base/text.h"
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SUSTAINED_NS 10e6 /* a sustained sample lasts about this long */
#define WARMUP_S 1.0
#define STEPS_S 1.0
#define ROUNDS_LEAST 10 /* of a case whose budget is spent before rounds_min: enough for an interval, and the note says so */
#define SUSTAINED_MIN 10
#define SUSTAINED_MAX 50

struct timer {
    struct device *dev;
    struct device_event *from, *to;
};
/* Everyone who takes part in a measurement, and what belongs to each: all arrays are by entrant. */
struct field {
    struct device *dev;
    const struct sample_plan *plan;
    struct entrant *entrants;
    int count;
    struct timer *timers;
    struct device_graph **graphs; /* sustained */
    double *ns, *host_ns;         /* of the last round */
    int *order;                   /* ... and who ran when */
};

static void timer_close(struct timer *t)
{
    if (t->from)
        t->dev->ops->event_free(t->dev, t->from);
    if (t->to)
        t->dev->ops->event_free(t->dev, t->to);
    *t = (struct timer){0};
}

static bool timer_open(struct timer *t, struct device *dev, struct error *err)
{
    *t = (struct timer){.dev = dev};
    return dev->ops->event(dev, &t->from, err) && dev->ops->event(dev, &t->to, err);
}

static void field_close(struct field *f)
{
    for (int i = 0; i < f->count; i++) {
        timer_close(&f->timers[i]);
        if (f->graphs[i])
            f->dev->ops->graph_free(f->dev, f->graphs[i]);
    }
    free(f->timers);
    free(f->graphs);
    free(f->ns);
    free(f->host_ns);
    free(f->order);
}

/* To be closed also when it fails. */
static bool field_open(struct field *f, struct device *dev, struct entrant *entrants, int count, const struct sample_plan *plan,
                       struct error *err)
{
    size_t n = (size_t)count;
    *f = (struct field){.dev = dev,
                        .plan = plan,
                        .entrants = entrants,
                        .count = count,
                        .timers = xcalloc(n, sizeof *f->timers),
                        .graphs = xcalloc(n, sizeof *f->graphs),
                        .ns = xcalloc(n, sizeof *f->ns),
                        .host_ns = xcalloc(n, sizeof *f->host_ns),
                        .order = xcalloc(n, sizeof *f->order)};
    for (int i = 0; i < count; i++)
        if (!timer_open(&f->timers[i], dev, err))
            return false;
    return true;
}

static bool before(struct device *dev, struct rig *rig, const struct sample_plan *plan, struct error *err)
{
    return plan->warm ? rig_run(rig, err) : dev->ops->flush(dev, err);
}

/* Queues one sample; nothing is waited for. */
static bool queue(struct field *f, int i, struct error *err)
{
    const struct device_ops *ops = f->dev->ops;
    struct rig *rig = f->entrants[i].rig;
    struct timer *t = &f->timers[i];
    if (f->graphs[i])
        return ops->record(f->dev, t->from, err) && ops->graph_launch(f->dev, f->graphs[i], err) && ops->record(f->dev, t->to, err);
    if (f->plan->spacing_ns) {
        if (!ops->sync(f->dev, err))
            return false;
        nanosleep(&(struct timespec){.tv_nsec = f->plan->spacing_ns}, NULL);
    }
    if (!before(f->dev, rig, f->plan, err) || !ops->record(f->dev, t->from, err))
        return false;
    double start = clock_s();
    if (!rig_run(rig, err))
        return false;
    f->host_ns[i] = (clock_s() - start) * 1e9;
    return ops->record(f->dev, t->to, err);
}

static bool build_graph(struct device *dev, struct entrant *e, struct timer *t, struct device_graph **graph, struct error *err)
{
    const struct device_ops *ops = dev->ops;
    double ns;
    if (!rig_run(e->rig, err) || !ops->record(dev, t->from, err) || !rig_run(e->rig, err) || !ops->record(dev, t->to, err) ||
        !ops->sync(dev, err) || !ops->elapsed(dev, t->from, t->to, &ns, err))
        return false;
    double wanted = ns > 0 ? SUSTAINED_NS / ns : SUSTAINED_MAX;
    e->batch = wanted < SUSTAINED_MIN ? SUSTAINED_MIN : wanted > SUSTAINED_MAX ? SUSTAINED_MAX : (int)wanted;
    if (!ops->graph_begin(dev, err))
        return false;
    bool ok = true;
    for (int i = 0; i < e->batch && ok; i++)
        ok = rig_run_stepwise(e->rig, NULL, NULL, err);
    struct error end = {0};
    if (!ops->graph_end(dev, graph, &end)) {
        if (ok && err)
            *err = end;
        return false;
    }
    return ok;
}

/* Are all ratios to entrant 0 known well enough, together? */
static bool settled(const struct entrant *entrants, int count, int rounds, double half_width)
{
    for (int i = 1; i < count; i++) {
        struct estimate e = estimate_ratio_grouped(entrants[0].samples_ns, entrants[i].samples_ns, NULL, rounds, count - 1);
        if (!(estimate_half_width(&e) <= half_width))
            return false;
    }
    struct estimate own = estimate_median(entrants[0].samples_ns, rounds);
    return count > 1 || estimate_half_width(&own) <= half_width;
}

/* A random order for each even round, the reverse of it for the odd one that follows. */
static void order_of(int round, int count, int *order)
{
    uint64_t state = UINT64_C(0x9e3779b97f4a7c15) * (uint64_t)(round / 2 + 1);
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

/* Everyone's device time into f->ns. */
static bool one_round(struct field *f, int round, struct error *err)
{
    order_of(round, f->count, f->order);
    if (!f->plan->sustained && (!before(f->dev, f->entrants[0].rig, f->plan, err) || !rig_run(f->entrants[0].rig, err)))
        return false;
    for (int k = 0; k < f->count; k++)
        if (!queue(f, f->order[k], err))
            return false;
    if (!f->dev->ops->sync(f->dev, err))
        return false;
    for (int i = 0; i < f->count; i++)
        if (!f->dev->ops->elapsed(f->dev, f->timers[i].from, f->timers[i].to, &f->ns[i], err))
            return false;
    return true;
}

bool sample_round(struct device *dev, struct rig *const *rigs, int count, int round, double *ns, struct error *err)
{
    const struct sample_plan plan = {.spacing_ns = SAMPLE_SPACING_NS};
    struct field f;
    struct entrant *entrants = xcalloc((size_t)count, sizeof *entrants);
    for (int i = 0; i < count; i++)
        entrants[i].rig = rigs[i];
    bool ok = field_open(&f, dev, entrants, count, &plan, err) && one_round(&f, round, err);
    if (ok)
        memcpy(ns, f.ns, (size_t)count * sizeof *ns);
    field_close(&f);
    free(entrants);
    return ok;
}

static bool first_runs(struct field *f, sample_announce *announce, void *context, struct error *err)
{
    for (int i = 0; i < f->count; i++) {
        announce(context, i);
        f->entrants[i].batch = 1;
        if (!rig_run(f->entrants[i].rig, err) || !f->dev->ops->sync(f->dev, err))
            return false;
        if (f->plan->sustained && !build_graph(f->dev, &f->entrants[i], &f->timers[i], &f->graphs[i], err))
            return false;
    }
    announce(context, -1);
    return true;
}

static double median(double *values, int count)
{
    qsort(values, (size_t)count, sizeof *values, order_doubles);
    return count ? (count & 1 ? values[count / 2] : 0.5 * (values[count / 2 - 1] + values[count / 2])) : NAN;
}

bool sample_prepare(struct device *dev, struct rig *rig, int round_count, double *median_ns, struct error *err)
{
    struct timer t = {0};
    double *ns = xcalloc((size_t)round_count, sizeof *ns);
    bool ok = timer_open(&t, dev, err);
    for (int r = 0; r < round_count && ok; r++)
        ok = dev->ops->flush(dev, err) && dev->ops->record(dev, t.from, err) && rig_prepare(rig, NULL, err) &&
             dev->ops->record(dev, t.to, err) && dev->ops->sync(dev, err) && dev->ops->elapsed(dev, t.from, t.to, &ns[r], err);
    if (ok)
        *median_ns = median(ns, round_count);
    timer_close(&t);
    free(ns);
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
    (void)step;
    return s->dev->ops->record(s->dev, s->events[++s->used], err);
}

/* A pass of its own: events between the steps would lengthen the row they belong to. */
static bool step_pass(struct device *dev, struct entrant *e, const struct sample_plan *plan, struct error *err)
{
    const struct program *p = rig_program(e->rig);
    int steps = 0;
    for (int i = 0; i < p->step_count; i++)
        steps += !p->steps[i].prepare;
    if (steps < 2 || plan->step_rounds <= 0 || plan->sustained)
        return true;
    bool ok = false;
    struct step_events s = {.dev = dev, .events = xcalloc((size_t)steps + 1, sizeof *s.events)};
    e->step_ns = xcalloc((size_t)p->step_count, sizeof *e->step_ns);
    for (int i = 0; i <= steps; i++)
        if (!dev->ops->event(dev, &s.events[i], err))
            goto done;
    for (int i = 0; i < p->step_count; i++)
        e->step_ns[i] = p->steps[i].prepare ? NULL : xcalloc((size_t)plan->step_rounds, sizeof(double));
    double start = clock_s();
    for (int r = 0; r < plan->step_rounds; r++) {
        if (r >= 3 && clock_s() - start > STEPS_S)
            break;
        e->step_rounds = r + 1;
        s.used = 0;
        if (!before(dev, e->rig, plan, err) || !dev->ops->record(dev, s.events[0], err) || !rig_run_stepwise(e->rig, mark_step, &s, err) ||
            !dev->ops->sync(dev, err))
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

/* Rounds until the ratios are known well enough, there are enough of them, or the budget is spent. */
static bool rounds(struct field *f, struct sample_result *result, struct error *err)
{
    const struct sample_plan *plan = f->plan;
    struct entrant *entrants = f->entrants;
    size_t most = (size_t)plan->rounds_max;
    double *hosts = xcalloc((size_t)f->count * most, sizeof *hosts), start = clock_s();
    int least = plan->rounds_min < ROUNDS_LEAST ? plan->rounds_min : ROUNDS_LEAST;
    bool ok = true;
    for (int r = -plan->warmup_rounds; ok && r < plan->rounds_max; r++) {
        if (r < 0 && clock_s() - start > WARMUP_S) { /* the slow ones have warmed the chip long enough */
            start = clock_s();
            r = 0;
        }
        ok = one_round(f, r < 0 ? r + plan->warmup_rounds : r, err);
        if (!ok || r < 0)
            continue;
        for (int i = 0; i < f->count; i++) {
            entrants[i].samples_ns[r] = f->ns[i] / entrants[i].batch;
            hosts[(size_t)i * most + (size_t)r] = f->host_ns[i];
        }
        result->rounds = r + 1;
        if (result->rounds >= plan->rounds_min && result->rounds % 5 == 0)
            result->converged = settled(entrants, f->count, result->rounds, plan->half_width);
        if (result->converged || (result->rounds >= least && clock_s() - start > plan->budget_s))
            break;
    }
    for (int i = 0; ok && i < f->count; i++)
        entrants[i].host_ns = plan->sustained ? NAN : median(hosts + (size_t)i * most, result->rounds);
    result->seconds = clock_s() - start;
    free(hosts);
    return ok;
}

bool sample_run(struct device *dev, struct entrant *entrants, int count, const struct sample_plan *plan, sample_announce *announce,
                void *context, struct sample_result *result, struct error *err)
{
    struct field f;
    *result = (struct sample_result){0};
    if (!dev->ops->keeps_time)
        return error_set(err, ERROR_INTERNAL, "%s keeps no time", dev->spec);
    for (int i = 0; i < count; i++)
        entrants[i].samples_ns = xcalloc((size_t)plan->rounds_max, sizeof(double));
    bool ok = field_open(&f, dev, entrants, count, plan, err) && first_runs(&f, announce, context, err) && rounds(&f, result, err);
    for (int i = 0; ok && i < count; i++)
        ok = step_pass(dev, &entrants[i], plan, err);
    field_close(&f);
    return ok;
}

void entrant_free(struct entrant *e, int step_count)
{
    free(e->samples_ns);
    for (int i = 0; e->step_ns && i < step_count; i++)
        free(e->step_ns[i]);
    free(e->step_ns);
    e->samples_ns = NULL;
    e->step_ns = NULL;
}

bool sample_plans(struct device *dev, struct rig *rig, int step, int round_count, double *medians_ns, struct error *err)
{
    int plans = rig_plan_count(rig, step), best = -1;
    double best_ns = INFINITY;
    bool ok = false;
    struct timer t = {0};
    double *ns = xcalloc((size_t)plans * (size_t)round_count, sizeof *ns);
    bool *usable = xcalloc((size_t)plans, sizeof *usable);
    if (!timer_open(&t, dev, err))
        goto done;
    for (int i = 0; i < plans; i++) { /* a plan that the library refuses at execution is passed over */
        rig_plan_use(rig, step, i);
        usable[i] = rig_run_step(rig, step, err) && dev->ops->sync(dev, err);
    }
    for (int r = 0; r < round_count; r++)
        for (int k = 0; k < plans; k++) {
            int i = r & 1 ? plans - 1 - k : k;
            if (!usable[i])
                continue;
            rig_plan_use(rig, step, i);
            if (!dev->ops->flush(dev, err) || !dev->ops->record(dev, t.from, err) || !rig_run_step(rig, step, err) ||
                !dev->ops->record(dev, t.to, err) || !dev->ops->sync(dev, err) ||
                !dev->ops->elapsed(dev, t.from, t.to, &ns[(size_t)i * (size_t)round_count + (size_t)r], err))
                goto done;
        }
    for (int i = 0; i < plans; i++) {
        double m = usable[i] ? median(ns + (size_t)i * (size_t)round_count, round_count) : NAN;
        if (medians_ns)
            medians_ns[i] = m;
        if (m < best_ns) {
            best_ns = m;
            best = i;
        }
    }
    if (best < 0) {
        error_set(err, ERROR_ENVIRONMENT, "none of cuDNN's %d plans runs", plans);
        goto done;
    }
    rig_plan_use(rig, step, best);
    ok = true;
done:
    timer_close(&t);
    free(ns);
    free(usable);
    return ok;
}
