/* Checks and times the surviving rows of one case, including the baseline, in one process: interleaved, with an A/A control of the
 * baseline, and checked again at the end. */
#include "base/text.h"
#include "measure/time/sample.h"
#include "base/stats/estimate.h"
#include "op/file/ops.h"
#include "measure/time/group.h"
#include <math.h>
#include <string.h>

#define WARMUP_ROUNDS 8
#define STEP_ROUNDS 15
#define SHORT_NS 20e3 /* below this the launch is a large part of the time between events, so the row is also timed in a graph */
#define GRAPH_ROUNDS 60
#define GRAPH_BUDGET_S 0.5

/* The first `rounds` of them; NULL if none is known. */
static double *known(const double *values, int rounds)
{
    bool any = ANY_OF(r, rounds, isfinite(values[r]));
    return any ? memcpy(xcalloc((size_t)rounds, sizeof *values), values, (size_t)rounds * sizeof *values) : NULL;
}

/* Stores the buffers, the clock and the board's state of each round. */
static void put_conditions(struct row_time *t, const struct sample_candidate *e, const struct sample_plan *plan,
                           const struct sample_result *result)
{
    t->clock_hz = known(e->clock_hz, t->rounds);
    t->power_w = known(result->power_w, t->rounds);
    t->throttle = known(result->throttle, t->rounds);
    t->took_s = result->seconds;
    t->retaken = t->clock_hz ? e->retaken : -1;
    t->kept_low = t->clock_hz ? e->kept_low : -1;
    if (plan->sustained)
        return;
    t->places = xcalloc((size_t)t->rounds, sizeof *t->places);
    for (int r = 0; r < t->rounds; r++)
        t->places[r] = result->places[r];
}

/* Finds the baseline of the ratios: the fastest of the library's rows, so that the ratios are relative to the strongest one. */
static int base_of(const struct timing_group *b, const struct sample_candidate *candidates, int rounds)
{
    int best = -1;
    double best_ns = INFINITY;
    for (int i = 0; i < b->count; i++) {
        const struct plan_row *p = &b->timing->job->plan.rows[b->index[i]];
        bool library = plan_pinned(&b->timing->job->plan, b->index[i]) || (p->kind == PLAN_CHAIN && p->chain->pick == CHAIN_LIBRARY);
        struct estimate e = estimate_median(candidates[i].samples_ns, rounds_taken(&candidates[i], rounds));
        if (library && !candidates[i].out && e.median < best_ns) {
            best_ns = e.median;
            best = i;
        }
    }
    return best;
}

/* Stores a chain's time of layout changes and the sum of its step times, which were taken with events between steps. */
static void put_chain(struct row *row, const struct program *p, const struct sample_candidate *e)
{
    double layout = 0, plan = 0, all = 0; /* plan: of layout changes that are links of their own and belong to no layer */
    int steps = 0;
    if (!p->work.chain || !e->step_ns || row_metric(row, -1, "chain.steps_ns"))
        return;
    for (int s = 0; s < p->step_count; s++) {
        if (!e->step_ns[s])
            continue;
        double ns = estimate_median(e->step_ns[s], e->step_rounds).median;
        const struct op *of = p->steps[s].kind == STEP_KERNEL ? op_of_variant(p->units[p->steps[s].unit].label) : NULL;
        bool changes = of && of->task == TASK_LAYOUT;
        layout += changes ? ns : 0;
        plan += p->work.chain->links[p->steps[s].link].layer < 0 ? ns : 0;
        all += ns;
        steps++;
    }
    row_add_metric(row, -1, 0, "chain.steps", "", "model", steps);
    row_add_metric(row, -1, 0, "chain.steps_ns", "ns", "model", all);
    row_add_metric(row, -1, 0, "chain.layout_ns", "ns", "model", layout);
    row_add_metric(row, -1, 0, "chain.plan_layout_ns", "ns", "model", plan);
}

#define KEPT_LOW_TOLD 0.1 /* of the rounds: above this share the median may not represent the clock of an idle GPU */

/* The widest relative half-width among the shown intervals of rows that sampling waits for: of the ratios, or, if there is one row, of
 * its time. */
static double widest_of(const struct timing_group *b, const struct sample_candidate *candidates, enum time_mode mode)
{
    double widest = 0, own = 0;
    for (int i = 0; i < b->count; i++) {
        const struct row_time *t = candidates[i].tail || candidates[i].out ? NULL : row_time(b->rows[i], mode);
        if (t && t->ratio > 0)
            widest = fmax(widest, (t->ratio_high - t->ratio_low) / 2 / t->ratio);
        if (t)
            own = fmax(own, (t->high_ns - t->low_ns) / 2 / t->median_ns);
    }
    return b->count > 1 ? widest : own;
}

/* Notes about how the rounds went. */
static void put_rounds_note(struct row *row, const struct sample_candidate *e, const struct sample_plan *plan,
                            const struct sample_result *result, int rounds, bool wide)
{
    bool few = result->rounds < plan->rounds_min && result->rounds < plan->rounds_max;
    if (e->tail)
        row_add_note(row, "timed in %d of %d rounds: over 10 times slower than the fastest during warm-up", rounds, result->rounds);
    else if (!result->converged && !wide && few)
        row_add_note(row, "the time budget ended after %d rounds", result->rounds);
    else if (!result->converged && wide)
        row_add_note(row, "%s %d rounds: an interval is still wider than %.2g %%",
                     result->rounds == plan->rounds_max ? "all of its" : "the time budget ended after", result->rounds,
                     plan->half_width * 100);
    if (e->unheld >= SAMPLE_UNHELD_MOST)
        row_add_note(row, "its calls wait for the GPU, so its times include host time");
    if (e->kept_low > KEPT_LOW_TOLD * rounds)
        row_add_note(row, "%d of %d samples started at a lower clock than that of an idle GPU", e->kept_low, rounds);
}

static void report(struct timing_group *b, const struct sample_candidate *candidates, const struct sample_plan *plan,
                   const struct sample_result *result)
{
    enum time_mode mode = plan->sustained ? plan->warm ? MODE_SUSTAINED : MODE_COLD_SUSTAINED : plan->warm ? MODE_WARM : MODE_COLD;
    int base = base_of(b, candidates, result->rounds);
    double noise = NAN;
    if (candidates[b->count].samples_ns && !candidates[0].out) { /* the first candidate's A/A control ran too */
        struct estimate aa = estimate_ratio_grouped(candidates[0].samples_ns, candidates[b->count].samples_ns, result->places,
                                                    rounds_taken(&candidates[b->count], result->rounds), 1);
        noise = fmax(fabs(aa.low - 1), fabs(aa.high - 1));
    }
    for (int i = 0; i < b->count; i++) {
        const struct program *p = rig_program(b->rigs[i]);
        const struct sample_candidate *e = &candidates[i];
        struct row *row = b->rows[i];
        const struct estimate_rounds taken_part = estimate_rounds_of(e, base >= 0 ? &candidates[base] : NULL, result, b->count - 1);
        int rounds = taken_part.count;
        if (e->out || !rounds)
            continue;
        put_conditions(estimates_add(row, -1, mode, &taken_part), e, plan, result);
        estimates_clock(row, e, rounds);
        if (isnan(row->noise))
            row->noise = noise;
        if (isnan(row->host_call_ns))
            row->host_call_ns = e->host_ns;
        for (int s = 0; e->step_ns && s < p->step_count; s++)
            if (e->step_ns[s])
                estimates_add(row, s, mode, &(struct estimate_rounds){.ns = e->step_ns[s], .count = e->step_rounds});
        put_chain(row, p, e);
    }
    bool wide = widest_of(b, candidates, mode) > plan->half_width; /* the shown intervals may be narrow enough even if sampling did not
                                                                      converge: it tests seldom, and for a larger family */
    for (int i = 0; i < b->count; i++) {
        int rounds = rounds_taken(&candidates[i], result->rounds);
        if (!candidates[i].out && rounds)
            put_rounds_note(b->rows[i], &candidates[i], plan, result, rounds, wide);
    }
}

static void sense(void *context, double *power_w, double *throttle)
{
    struct timing_group *b = context;
    board_sense(&b->timing->board, power_w, throttle);
}

/* Times the given subset of the group. Rows already found wrong are skipped. `control`: row 0 runs twice, as A/A control. */
static bool time_rows(struct timing_group *b, struct sample_plan *plan, bool control, struct error *err)
{
    const struct job *job = b->timing->job;
    const struct sample_watch watch = {b, timing_announce, timing_recheck, sense};
    SCOPED_BY(sample_result_free) struct sample_result result = {0};
    int count = b->count + control;
    SCOPED struct sample_candidate *candidates = xcalloc((size_t)b->count + 1, sizeof *candidates);
    board_restart(&b->timing->board);
    plan->spacing_ns = plan->sustained ? 0 : SAMPLE_SPACING_NS;
    plan->sets = b->pool ? buffer_pool_sets(b->pool) : 1;
    plan->replicas = b->pool ? buffer_pool_replicas(b->pool) : 1;
    plan->seed = job_seed(job);
    for (int i = 0; i < count; i++)
        candidates[i] = (struct sample_candidate){.rig = b->rigs[i < b->count ? i : 0], .control = i == b->count};
    bool ok = sample_run(job->dev, candidates, count, plan, &watch, &result, err);
    result.converged |= !control; /* no warning for a time that the user did not request */
    if (ok)
        report(b, candidates, plan, &result);
    for (int i = 0; i < b->count; i++)
        b->looks[i] = plan->sustained ? LOOKS_FEW : LOOKS_EACH; /* a graph sums only the last of its launches */
    for (int i = 0; i < count; i++)
        sample_candidate_free(&candidates[i], rig_program(candidates[i].rig)->step_count);
    return ok;
}

/* Returns a view of the group with the rows for which `wanted` is true. Borrows everything. */
static struct timing_group bout_part(const struct timing_group *b, bool (*wanted)(const struct timing_group *b, int i))
{
    struct timing_group part = *b;
    part.index = xcalloc((size_t)b->count, sizeof *part.index);
    part.rows = xcalloc((size_t)b->count, sizeof *part.rows);
    part.rigs = xcalloc((size_t)b->count, sizeof *part.rigs);
    part.looks = xcalloc((size_t)b->count, sizeof *part.looks);
    part.count = 0;
    for (int i = 0; i < b->count; i++)
        if (timing_is_sound(b, i) && wanted(b, i)) {
            part.index[part.count] = b->index[i];
            part.rows[part.count] = b->rows[i];
            part.rigs[part.count++] = b->rigs[i];
        }
    return part;
}

static void bout_part_free(struct timing_group *part)
{
    FREE_ALL(part->index, part->rows, part->rigs, part->looks);
}

static bool any_row(const struct timing_group *b, int i)
{
    return true;
}

static bool is_short(const struct timing_group *b, int i)
{
    const struct row_time *t = row_time(b->rows[i], MODE_COLD);
    return t && t->median_ns < SHORT_NS && b->timing->job->plan.rows[b->index[i]].kind != PLAN_CHAIN;
}

static bool time_part(struct timing_group *b, bool (*wanted)(const struct timing_group *b, int i), struct sample_plan *plan, bool control,
                      struct error *err)
{
    SCOPED_BY(bout_part_free) struct timing_group part = bout_part(b, wanted);
    bool ok = !part.count || time_rows(&part, plan, control, err);
    b->blame = part.blame;
    for (int i = 0, k = 0; i < part.count; i++) {
        while (b->rigs[k] != part.rigs[i])
            k++;
        b->looks[k] = b->looks[k] == LOOKS_FEW ? LOOKS_FEW : part.looks[i];
    }
    return ok;
}

static bool time_mode(struct timing_group *b, bool warm, bool sustained, struct error *err)
{
    const struct timing_plan *t = &b->timing->job->plan.time;
    int modes = (t->load[LOAD_ISOLATED] ? t->cache[CACHE_COLD] + t->cache[CACHE_WARM] : 0) + t->load[LOAD_SUSTAINED];
    struct sample_plan plan = {.warm = warm,
                               .sustained = sustained,
                               .rounds_min = sustained ? 10 : t->rounds_min,
                               .rounds_max = t->rounds_max,
                               .half_width = t->half_width,
                               .budget_s = t->budget_s / modes,
                               .warmup_rounds = sustained ? 1 : WARMUP_ROUNDS,
                               .step_rounds = STEP_ROUNDS};
    return time_part(b, any_row, &plan, true, err);
}

/* True if a network of the scenario runs as a graph: its time is compared with the sum of its layers' times, which must be launched
 * alike. */
static bool graph_asked(const struct scenario *s)
{
    return ANY_OF(i, s->network_count, s->networks[i].graph);
}

/* Times the short rows of a case back to back in a graph of 50, so that launch overhead does not hide the kernel's time. Skips long
 * rows. */
static bool time_short(struct timing_group *b, struct error *err)
{
    struct sample_plan plan = {.warm = true,
                               .sustained = true,
                               .rounds_min = 10,
                               .rounds_max = GRAPH_ROUNDS,
                               .half_width = b->timing->job->plan.time.half_width,
                               .budget_s = GRAPH_BUDGET_S,
                               .warmup_rounds = 1};
    return time_part(b, is_short, &plan, false, err);
}

static bool all_modes(struct timing_group *b, struct error *err)
{
    const struct timing_plan *t = &b->timing->job->plan.time;
    if (ANY_OF(warm, 2, t->load[LOAD_ISOLATED] && t->cache[warm ? CACHE_WARM : CACHE_COLD] && !time_mode(b, warm, false, err)))
        return false;
    if (t->load[LOAD_SUSTAINED])
        return time_mode(b, true, true, err);
    return !graph_asked(b->timing->job->plan.scenario) || time_short(b, err);
}

/* No ratio to a row that failed stays. */
static void drop_ratios(struct timing_group *b, enum time_mode mode)
{
    for (int i = 0; i < b->count; i++)
        for (int k = 0; k < b->rows[i]->time_count; k++) {
            struct row_time *t = &b->rows[i]->times[k];
            if (row_time_mode(t) == mode)
                t->ratio = t->ratio_low = t->ratio_high = NAN;
        }
}

/* A row that fails a check after it was timed has no time: another kernel than the right one may have been timed. */
static void drop_failed(struct timing_group *b)
{
    for (int i = 0; i < b->count; i++) {
        struct row *row = b->rows[i];
        if (timing_is_sound(b, i))
            continue;
        for (int k = 0; k < row->time_count; k++)
            if (row->times[k].step < 0 && row->times[k].ratio == 1 && row->times[k].ratio_low == 1 && row->times[k].ratio_high == 1)
                drop_ratios(b, row_time_mode(&row->times[k]));
        row_drop_times(row);
    }
}

static bool time_group(struct timing_group *b, const struct timing_request *request, struct error *err)
{
    const struct job *job = b->timing->job;
    b->pool = buffer_pool_open(job->dev, data_card(b->timing->data), data_sets(b->timing->data, b->index[0]), POOL_REPLICAS);
    b->warms = buffer_pool_check(b->pool) && job->plan.time.load[LOAD_ISOLATED];
    if (!ALL_OF(i, b->count, timing_enter(b, i, err)))
        return false;
    b->blame = -1;
    if (request->next)
        prefetch_begin(b->timing->prefetch, request->next, request->next_count, request->due);
    if (!all_modes(b, err))
        return false;
    prefetch_enough(b->timing->prefetch); /* or the next command waits for the piece at hand */
    board_report(&b->timing->board, b->rows, b->count);
    bool ok = ALL_OF(i, b->count, !timing_is_sound(b, i) || timing_check_again(b, i, err));
    drop_failed(b);
    return ok;
}

bool timing_run(struct timing_context *timing, const struct timing_request *request, int *blame, struct error *err)
{
    struct timing_group b;
    timing_open(&b, timing, request->rows, request->count);
    bool ok = request->pairs                                             ? timing_pairs(&b, request->pairs, err)
              : timing->job->plan.rows[b.index[0]].kind == PLAN_SEQUENCE ? timing_sequence(&b, err)
                                                                         : time_group(&b, request, err);
    *blame = b.blame;
    timing_close(&b, ok);
    return ok;
}
