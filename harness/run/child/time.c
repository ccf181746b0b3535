/* The survivors of one case, the baseline among them, in one process: checked, timed interleaved with an A/A twin of the baseline, checked
 * again. */
#include "base/text.h"
#include "measure/sample.h"
#include "op/chain/chain.h"
#include "op/file/ops.h"
#include "run/child/bout.h"
#include "run/message/wire.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WARMUP_ROUNDS 8
#define STEP_ROUNDS 15
#define PLAN_ROUNDS 11
#define PREPARE_ROUNDS 7
#define SHORT_NS 20e3 /* below this a launch is a good part of what an event sees: the row is timed in a graph too */
#define GRAPH_ROUNDS 60
#define GRAPH_BUDGET_S 0.5
#define LOAD_LIMIT_S 120.0

void bout_announce(void *context, int entrant)
{
    struct bout *b = context;
    if (entrant == b->count) /* the A/A twin is the baseline again */
        entrant = 0;
    b->blame = entrant < 0 ? -1 : b->index[entrant];
    worker_stage(b->w, b->blame, "time", entrant < 0 ? b->w->plan.time.budget_s * 4 + 120 : b->w->time_limit_s + 30);
}

/* Appended for a chain, whose layers each have a choice of their own. */
static void record_plans(struct bout *b, int i, int step, const double *medians)
{
    struct rig *rig = b->rigs[i];
    struct row *row = b->rows[i];
    const struct program *p = rig_program(rig);
    const struct cudnn_plan_facts *best = rig_plan_facts(rig, step, rig_plan_used(rig, step));
    const struct work *work = program_step_work(p, &p->steps[step]);
    const char *layer = p->work.chain ? p->work.chain->links[p->steps[step].link].name : NULL;
    /* on f32 data the mode decides more than the engine: cuDNN left alone computes in tf32 */
    const char *mode = work->dtype != DTYPE_F32  ? ""
                       : work->math == MATH_TF32 ? ", tf32 as by cuDNN's default"
                                                 : ", strict f32 (cuDNN's default is tf32)";
    const char *raced = rig_plan_raced(rig, step);
    char *plan = cudnn_plan_said(best);
    char *engine = text_format("%s%s%s%s%s best of %d%s%s%s", row->engine ? row->engine : "", row->engine ? "; " : "", layer ? layer : "",
                               layer ? ": " : "", plan, rig_plan_among(rig, step), raced[0] ? ", plan remembered from " : "", raced, mode);
    row_set(&row->engine, engine);
    if (!layer) {
        row->engine_number = best->engine;
        row->engine_heuristic[0] = best->mode;
        row->engine_rank = best->rank;
    }
    free(engine);
    free(plan);
    if ((int64_t)best->workspace_bytes > row->workspace_bytes)
        row->workspace_bytes = (int64_t)best->workspace_bytes;
    for (int k = 0; k < rig_plan_count(rig, step); k++) {
        const struct cudnn_plan_facts *f = rig_plan_facts(rig, step, k);
        if (!isfinite(medians[k]))
            continue;
        struct row_plan *tried = row_add_plan(row);
        tried->step = layer ? step : -1;
        tried->engine = f->engine;
        tried->heuristic[0] = f->mode;
        tried->rank = f->rank;
        tried->median_ns = medians[k];
    }
}

bool bout_plans(struct bout *b, int i, struct error *err)
{
    struct rig *rig = b->rigs[i];
    bool ok = true;
    for (int nth = 0, step; ok && (step = rig_library_step(rig, nth)) >= 0; nth++) {
        double *medians = xcalloc((size_t)rig_plan_count(rig, step), sizeof *medians);
        worker_stage(b->w, b->blame, "plans", LOAD_LIMIT_S);
        ok = sample_plans(b->w->dev, rig, step, PLAN_ROUNDS, medians, err);
        if (ok) {
            rig_plan_keep(rig, step);
            record_plans(b, i, step, medians);
        }
        free(medians);
    }
    return ok && rig_plan_settle(rig, err);
}

bool bout_prepare(struct bout *b, int i, int set, struct error *err)
{
    struct worker *w = b->w;
    double ns;
    worker_stage(w, b->blame, "run", w->time_limit_s + 5);
    if (!rig_prepare(b->rigs[i], &ns, err))
        return false;
    if (set)
        return true;
    if (!isnan(ns) && !sample_prepare(w->dev, b->rigs[i], PREPARE_ROUNDS, &b->rows[i]->prepare_ns, err))
        return false;
    return rig_library_step(b->rigs[i], 0) < 0 || bout_plans(b, i, err);
}

bool bout_enter(struct bout *b, int i, struct error *err)
{
    struct worker *w = b->w;
    const struct program *p = &w->plan.rows[b->index[i]].program;
    struct op_data *data;
    b->blame = b->index[i];
    worker_stage(w, b->blame, "load", LOAD_LIMIT_S);
    if ((!b->builds[i].count && !build_kept(w, b->index[i], &b->builds[i]) && !build_make(w, p, &b->builds[i], err)) ||
        !rig_open_in(b->room, worker_timed_part(w, b->index[i]), w->dev, w->library, p, b->builds[i].images, false, &b->rigs[i], err))
        return false;
    rig_set_name(b->rigs[i], w->plan.rows[b->index[i]].id);
    for (int set = 0; set < (b->room ? room_sets(b->room) : 1); set++) {
        rig_sit(b->rigs[i], set, 0);
        if (!bout_data(b, i, set, &data, err))
            return false;
        if (!rig_feed(b->rigs[i], data, err)) /* even of who is wrong already: the others find what the first one fed */
            return false;
        if (bout_is_sound(b, i) && !(set && b->warms ? rig_expect(b->rigs[i], err) : bout_try(b, i, set, data, err)))
            return false;
        if (!set)
            worker_same_bits(w, b->index[i], b->rigs[i], b->rows[i]);
    }
    return true;
}

#define CLOCK_STEP_LEAST_NS 1.0 /* what the floats of the driver's milliseconds leave of equal times lies below */

struct row_time *bout_time(struct row *row, int step, const char *cache, const char *load, const struct bout_rounds *rounds)
{
    struct row_time *t = row_add_time(row);
    struct estimate e = estimate_median_grouped(rounds->ns, rounds->places, rounds->count, 1);
    estimate_span_step(&e, rounds->ns, rounds->count, CLOCK_STEP_LEAST_NS);
    t->step = step;
    snprintf(t->cache, sizeof t->cache, "%s", cache);
    snprintf(t->load, sizeof t->load, "%s", load);
    t->median_ns = e.median;
    t->low_ns = e.low;
    t->high_ns = e.high;
    t->p05_ns = e.p05;
    t->p95_ns = e.p95;
    t->rounds = rounds->count;
    t->samples_ns = xcalloc((size_t)rounds->count, sizeof *t->samples_ns);
    memcpy(t->samples_ns, rounds->ns, (size_t)rounds->count * sizeof *t->samples_ns);
    if (rounds->base) {
        int paired = rounds->paired ? rounds->paired : rounds->count;
        struct estimate r = estimate_ratio_grouped(rounds->base, rounds->ns, rounds->places, paired, rounds->family);
        t->ratio = r.median;
        t->ratio_low = r.low;
        t->ratio_high = r.high;
    }
    return t;
}

/* The first `rounds` of them; NULL when none is known. */
static double *known(const double *values, int rounds)
{
    bool any = false;
    for (int r = 0; r < rounds; r++)
        any = any || isfinite(values[r]);
    return any ? memcpy(xcalloc((size_t)rounds, sizeof *values), values, (size_t)rounds * sizeof *values) : NULL;
}

/* Where each round was taken, at what clock, and in what state the board was. */
static void put_conditions(struct row_time *t, const struct entrant *e, const struct sample_plan *plan, const struct sample_result *result)
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

/* The rounds that an entrant took part in are the first ones. */
static int taken(const struct entrant *e, int rounds)
{
    int count = 0;
    while (count < rounds && isfinite(e->samples_ns[count]))
        count++;
    return count;
}

struct bout_rounds bout_rounds_of(const struct entrant *e, const struct entrant *base, const struct sample_result *result, int family)
{
    int rounds = taken(e, result->rounds), paired = base ? taken(base, rounds) : 0;
    return (struct bout_rounds){e->samples_ns, paired ? base->samples_ns : NULL, result->places, rounds, family, paired};
}

/* What the ratios are to, the baseline: the fastest of the library's rows, so that the denominator is never a weak one. */
static int base_of(const struct bout *b, const struct entrant *entrants, int rounds)
{
    int best = -1;
    double best_ns = INFINITY;
    for (int i = 0; i < b->count; i++) {
        const struct plan_row *p = &b->w->plan.rows[b->index[i]];
        bool library = plan_pinned(&b->w->plan, b->index[i]) || (p->kind == PLAN_CHAIN && p->chain->pick == CHAIN_LIBRARY);
        struct estimate e = estimate_median(entrants[i].samples_ns, taken(&entrants[i], rounds));
        if (library && !entrants[i].out && e.median < best_ns) {
            best_ns = e.median;
            best = i;
        }
    }
    return best;
}

/* What of a chain is layout change, and what its steps come to with an event between each two. */
static void put_chain(struct row *row, const struct program *p, const struct entrant *e)
{
    double layout = 0, plan = 0, all = 0; /* plan: in links of their own, which no layer's row has */
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

void bout_clock(struct row *row, const struct entrant *e, int rounds)
{
    double *hz = xcalloc((size_t)rounds + 1, sizeof *hz);
    int known = 0;
    for (int r = 0; r < rounds; r++)
        if (isfinite(e->clock_hz[r]))
            hz[known++] = e->clock_hz[r];
    if (known && isnan(row->sm_clock_mhz))
        row->sm_clock_mhz = estimate_median(hz, known).median / 1e6;
    free(hz);
}

#define KEPT_LOW_TOLD 0.1 /* of the rounds: their median is no longer a rested card's for sure */

/* The widest interval that is shown of who is waited for: of the ratios, and of a row alone its own; half of it, of the middle. */
static double widest_of(const struct bout *b, const struct entrant *entrants, const char *cache, const char *load)
{
    double widest = 0, own = 0;
    for (int i = 0; i < b->count; i++) {
        const struct row_time *t = entrants[i].tail || entrants[i].out ? NULL : row_time(b->rows[i], cache, load);
        if (t && t->ratio > 0)
            widest = fmax(widest, (t->ratio_high - t->ratio_low) / 2 / t->ratio);
        if (t)
            own = fmax(own, (t->high_ns - t->low_ns) / 2 / t->median_ns);
    }
    return b->count > 1 ? widest : own;
}

/* What a reader must know of how the rounds went. */
static void put_rounds_note(struct row *row, const struct entrant *e, const struct sample_plan *plan, const struct sample_result *result,
                            int rounds, bool wide)
{
    bool few = result->rounds < plan->rounds_min && result->rounds < plan->rounds_max;
    if (e->tail)
        row_add_note(row, "took part in %d of %d rounds: over 10 times slower than the fastest when warming up", rounds, result->rounds);
    else if (!result->converged && !wide && few)
        row_add_note(row, "its budget ended at %d rounds", result->rounds);
    else if (!result->converged && wide)
        row_add_note(row, "%s %d rounds: an interval is still wider than %.2g %%",
                     result->rounds == plan->rounds_max ? "took all of its" : "its budget ended at", result->rounds,
                     plan->half_width * 100);
    if (e->unheld >= SAMPLE_UNHELD_MOST)
        row_add_note(row, "its calls wait for the GPU: what the host needs in them is in its times");
    if (e->kept_low > KEPT_LOW_TOLD * rounds)
        row_add_note(row, "%d of %d samples began at a lower clock than a rested card's", e->kept_low, rounds);
}

static void report(struct bout *b, const struct entrant *entrants, const struct sample_plan *plan, const struct sample_result *result)
{
    const char *cache = plan->warm ? "warm" : "cold", *load = plan->sustained ? "sustained" : "isolated";
    int base = base_of(b, entrants, result->rounds);
    double noise = NAN;
    if (entrants[b->count].samples_ns && !entrants[0].out) { /* the first one's twin ran too */
        struct estimate aa = estimate_ratio_grouped(entrants[0].samples_ns, entrants[b->count].samples_ns, result->places,
                                                    taken(&entrants[b->count], result->rounds), 1);
        noise = fmax(fabs(aa.low - 1), fabs(aa.high - 1));
    }
    for (int i = 0; i < b->count; i++) {
        const struct program *p = rig_program(b->rigs[i]);
        const struct entrant *e = &entrants[i];
        struct row *row = b->rows[i];
        const struct bout_rounds taken_part = bout_rounds_of(e, base >= 0 ? &entrants[base] : NULL, result, b->count - 1);
        int rounds = taken_part.count;
        if (e->out || !rounds)
            continue;
        put_conditions(bout_time(row, -1, cache, load, &taken_part), e, plan, result);
        bout_clock(row, e, rounds);
        if (isnan(row->noise))
            row->noise = noise;
        if (isnan(row->host_call_ns))
            row->host_call_ns = e->host_ns;
        for (int s = 0; e->step_ns && s < p->step_count; s++)
            if (e->step_ns[s])
                bout_time(row, s, cache, load, &(struct bout_rounds){.ns = e->step_ns[s], .count = e->step_rounds});
        put_chain(row, p, e);
    }
    bool wide = widest_of(b, entrants, cache, load) > plan->half_width; /* between two looks, or in a larger family, it may have been */
    for (int i = 0; i < b->count; i++) {
        int rounds = taken(&entrants[i], result->rounds);
        if (!entrants[i].out && rounds)
            put_rounds_note(b->rows[i], &entrants[i], plan, result, rounds, wide);
    }
}

/* Times these rows, which need not be all of the bout: rows that are wrong take no part, and twin: the first one does twice. */
static bool time_rows(struct bout *b, struct sample_plan *plan, bool twin, struct error *err)
{
    struct worker *w = b->w;
    const struct sample_watch watch = {b, bout_announce, bout_doubt, bout_sense};
    struct sample_result result = {0};
    int count = b->count + twin;
    struct entrant *entrants = xcalloc((size_t)b->count + 1, sizeof *entrants);
    plan->spacing_ns = plan->sustained ? 0 : SAMPLE_SPACING_NS;
    plan->sets = b->room ? room_sets(b->room) : 1;
    plan->seats = b->room ? room_seats(b->room) : 1;
    plan->seed = worker_secret(w);
    for (int i = 0; i < count; i++)
        entrants[i] = (struct entrant){.rig = b->rigs[i < b->count ? i : 0], .twin = i == b->count};
    bool ok = sample_run(w->dev, entrants, count, plan, &watch, &result, err);
    result.converged |= !twin; /* of a time that nobody asked for, no warning */
    if (ok)
        report(b, entrants, plan, &result);
    for (int i = 0; i < b->count; i++)
        b->pace[i] = entrants[i].tail && !entrants[i].step_ns ? PACE_TAIL : PACE_FAST; /* no step's launch was summed up */
    for (int i = 0; i < count; i++)
        entrant_free(&entrants[i], rig_program(entrants[i].rig)->step_count);
    free(entrants);
    sample_result_free(&result);
    return ok;
}

/* The rows of the bout for which `wanted` holds, as a bout that borrows all it has. */
static struct bout bout_part(const struct bout *b, bool (*wanted)(const struct bout *b, int i))
{
    struct bout part = *b;
    part.index = xcalloc((size_t)b->count, sizeof *part.index);
    part.rows = xcalloc((size_t)b->count, sizeof *part.rows);
    part.rigs = xcalloc((size_t)b->count, sizeof *part.rigs);
    part.pace = xcalloc((size_t)b->count, sizeof *part.pace);
    part.count = 0;
    for (int i = 0; i < b->count; i++)
        if (bout_is_sound(b, i) && wanted(b, i)) {
            part.index[part.count] = b->index[i];
            part.rows[part.count] = b->rows[i];
            part.rigs[part.count++] = b->rigs[i];
        }
    return part;
}

static void bout_part_free(struct bout *part)
{
    free(part->index);
    free(part->rows);
    free(part->rigs);
    free(part->pace);
}

static bool any_row(const struct bout *b, int i)
{
    (void)b, (void)i;
    return true;
}

static bool is_short(const struct bout *b, int i)
{
    const struct row_time *t = row_time(b->rows[i], "cold", "isolated");
    return t && t->median_ns < SHORT_NS && b->w->plan.rows[b->index[i]].kind != PLAN_CHAIN;
}

static bool time_part(struct bout *b, bool (*wanted)(const struct bout *b, int i), struct sample_plan *plan, bool twin, struct error *err)
{
    struct bout part = bout_part(b, wanted);
    bool ok = !part.count || time_rows(&part, plan, twin, err);
    b->blame = part.blame;
    for (int i = 0, k = 0; i < part.count; i++) {
        while (b->rigs[k] != part.rigs[i])
            k++;
        b->pace[k] = b->pace[k] == PACE_FAST ? PACE_FAST : part.pace[i];
    }
    bout_part_free(&part);
    return ok;
}

static bool time_mode(struct bout *b, bool warm, bool sustained, struct error *err)
{
    const struct timing_plan *t = &b->w->plan.time;
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

/* Does a network of the scenario run as a graph? Its time is compared with the sum of its layers', launched alike. */
static bool graph_asked(const struct scenario *s)
{
    bool asked = false;
    for (int i = 0; i < s->network_count; i++)
        asked |= s->networks[i].graph;
    return asked;
}

/* The short rows of a case, back to back in a graph of 50: what a launch costs does not hide what the kernel does. Long rows take no part.
 */
static bool time_short(struct bout *b, struct error *err)
{
    struct sample_plan plan = {.warm = true,
                               .sustained = true,
                               .rounds_min = 10,
                               .rounds_max = GRAPH_ROUNDS,
                               .half_width = b->w->plan.time.half_width,
                               .budget_s = GRAPH_BUDGET_S,
                               .warmup_rounds = 1};
    return time_part(b, is_short, &plan, false, err);
}

static bool all_modes(struct bout *b, struct error *err)
{
    const struct timing_plan *t = &b->w->plan.time;
    for (int warm = 0; warm < 2; warm++)
        if (t->load[LOAD_ISOLATED] && t->cache[warm ? CACHE_WARM : CACHE_COLD] && !time_mode(b, warm, false, err))
            return false;
    if (t->load[LOAD_SUSTAINED])
        return time_mode(b, true, true, err);
    return !graph_asked(b->w->plan.scenario) || time_short(b, err);
}

static bool bout(struct bout *b, struct error *err)
{
    struct worker *w = b->w;
    b->room = room_open(w->dev, worker_card(w), ROOM_SETS, ROOM_SEATS);
    b->warms = room_card(b->room) && w->plan.time.load[LOAD_ISOLATED];
    for (int i = 0; i < b->count; i++)
        if (!bout_enter(b, i, err))
            return false;
    b->blame = -1;
    if (w->next)
        worker_ahead_begin(w, w->next);
    if (!all_modes(b, err))
        return false;
    bout_board(b);
    for (int i = 0; i < b->count; i++)
        if (bout_is_sound(b, i) && !bout_check_again(b, i, err))
            return false;
    return true;
}

void bout_open(struct bout *b, struct worker *w, const json_t *rows)
{
    size_t count = json_array_size(rows);
    *b = (struct bout){.w = w, .count = (int)count, .blame = -1};
    b->index = xcalloc(count, sizeof *b->index);
    b->rows = xcalloc(count, sizeof *b->rows);
    b->builds = xcalloc(count, sizeof *b->builds);
    b->rigs = xcalloc(count, sizeof *b->rigs);
    b->pace = xcalloc(count, sizeof *b->pace);
    for (size_t i = 0; i < count; i++) {
        b->index[i] = (int)json_integer_value(json_array_get(rows, i));
        b->rows[i] = row_new();
        b->rows[i]->status = w->plan.rows[b->index[i]].program.checked ? ROW_OK : ROW_FOIL;
    }
    worker_others_free(&w->others);
    worker_look_around(w);
}

void bout_close(struct bout *b, bool ok)
{
    struct worker *w = b->w;
    if (ok)
        worker_look_around(w);
    for (int i = 0; i < b->count; i++) {
        if (b->rows[i]->time_count)
            row_set(&b->rows[i]->others, w->others.count ? text_get(&w->others.said) : NULL);
        if (ok)
            w->emit(w->context, event_new(EVENT_ROW, "{s:i,s:o}", "row", b->index[i], "fields", wire_row(b->rows[i])));
        if (ok)
            rig_close(b->rigs[i]); /* else the context may be lost, and this process ends */
        build_free(&b->builds[i]);
        row_free(b->rows[i]);
    }
    room_close(b->room, !ok);
    free(b->index);
    free(b->rows);
    free(b->builds);
    free(b->rigs);
    free(b->pace);
}

bool worker_measure(struct worker *w, const json_t *rows, const json_t *gate, int *blame, struct error *err)
{
    struct bout b;
    bout_open(&b, w, rows);
    bool ok = gate ? bout_pairs(&b, gate, err) : w->plan.rows[b.index[0]].kind == PLAN_SEQUENCE ? bout_sequence(&b, err) : bout(&b, err);
    *blame = b.blame;
    bout_close(&b, ok);
    return ok;
}
