/* The survivors of one case, row 0 among them, in one process: checked, timed interleaved with an A/A twin of row 0, checked again. */
#include "base/text.h"
#include "device/cuda/nvml.h"
#include "measure/sample.h"
#include "op/chain.h"
#include "worker/bout.h"
#include "message/wire.h"
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
#define DATA_LIMIT_S 600.0

static void announce(void *context, int entrant)
{
    struct bout *b = context;
    if (entrant == b->count) /* the A/A twin is row 0 again */
        entrant = 0;
    b->blame = entrant < 0 ? -1 : b->index[entrant];
    worker_stage(b->w, b->blame, "time", entrant < 0 ? b->w->plan.time.budget_s * 4 + 120 : b->w->time_limit_s + 30);
}

bool bout_check(struct bout *b, int i, const struct op_data *data, const char *when, struct error *err)
{
    struct verdict v;
    struct text unsafe = {0};
    b->blame = b->index[i];
    worker_stage(b->w, b->blame, "verify", DATA_LIMIT_S);
    bool ok = rig_check(b->rigs[i], data, &v, &unsafe, NULL, err);
    if (ok && (!v.ok || unsafe.len)) {
        char *reason = text_format("%s%s%s %s", v.ok ? "" : v.text, !v.ok && unsafe.len ? "; it also " : "", text_get(&unsafe), when);
        b->rows[i]->status = v.ok ? ROW_UNSAFE : ROW_WRONG;
        row_set(&b->rows[i]->reason, reason);
        free(reason);
    }
    text_free(&unsafe);
    return ok;
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
    char *plan = cudnn_plan_said(best);
    char *engine = text_format("%s%s%s%s%s best of %d%s", row->engine ? row->engine : "", row->engine ? "; " : "", layer ? layer : "",
                               layer ? ": " : "", plan, rig_plan_among(rig, step), mode);
    row_set(&row->engine, engine);
    row->engine_number = layer ? -1 : best->engine;
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

bool bout_enter(struct bout *b, int i, struct error *err)
{
    struct worker *w = b->w;
    const struct program *p = &w->plan.rows[b->index[i]].program;
    struct op_data *data;
    double ns;
    worker_stage(w, -1, "data", DATA_LIMIT_S);
    if (!worker_data(w, b->index[i], worker_timed_part(w, b->index[i]), &data, err))
        return false;
    b->blame = b->index[i];
    worker_stage(w, b->blame, "load", LOAD_LIMIT_S);
    if (!build_make(w, p, &b->builds[i], err) || !rig_open(w->dev, w->library, p, b->builds[i].images, false, &b->rigs[i], err) ||
        !rig_feed(b->rigs[i], data, err))
        return false;
    worker_stage(w, b->blame, "run", w->time_limit_s + 5);
    if (!rig_prepare(b->rigs[i], &ns, err))
        return false;
    if (!isnan(ns) && !sample_prepare(w->dev, b->rigs[i], PREPARE_ROUNDS, &b->rows[i]->prepare_ns, err))
        return false;
    if (rig_library_step(b->rigs[i], 0) >= 0 && !bout_plans(b, i, err))
        return false;
    return rig_poison(b->rigs[i], err) && rig_run(b->rigs[i], err) &&
           bout_check(b, i, data, "(in the measuring process, before timing)", err);
}

void bout_time(struct row *row, int step, const char *cache, const char *load, const double *ns, const double *base, int rounds, int family)
{
    struct row_time *t = row_add_time(row);
    struct estimate e = estimate_median(ns, rounds);
    t->step = step;
    snprintf(t->cache, sizeof t->cache, "%s", cache);
    snprintf(t->load, sizeof t->load, "%s", load);
    t->median_ns = e.median;
    t->low_ns = e.low;
    t->high_ns = e.high;
    t->p05_ns = e.p05;
    t->p95_ns = e.p95;
    t->rounds = rounds;
    t->samples_ns = xcalloc((size_t)rounds, sizeof *t->samples_ns);
    memcpy(t->samples_ns, ns, (size_t)rounds * sizeof *ns);
    if (base) {
        struct estimate r = estimate_ratio_grouped(base, ns, NULL, rounds, family);
        t->ratio = r.median;
        t->ratio_low = r.low;
        t->ratio_high = r.high;
    }
}

/* What the ratios are to, row 0: the fastest of the library's rows, so that the denominator is never a weak one. */
static int base_of(const struct bout *b, const struct entrant *entrants, int rounds)
{
    int best = -1;
    double best_ns = INFINITY;
    for (int i = 0; i < b->count; i++) {
        const struct plan_row *p = &b->w->plan.rows[b->index[i]];
        bool library = plan_pinned(&b->w->plan, b->index[i]) || (p->kind == PLAN_CHAIN && p->chain->pick == CHAIN_LIBRARY);
        struct estimate e = estimate_median(entrants[i].samples_ns, rounds);
        if (library && e.median < best_ns) {
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

static void report(struct bout *b, const struct entrant *entrants, const struct sample_plan *plan, const struct sample_result *result)
{
    const char *cache = plan->warm || plan->sustained ? "warm" : "cold", *load = plan->sustained ? "sustained" : "isolated";
    int base = base_of(b, entrants, result->rounds);
    double noise = NAN;
    if (entrants[b->count].samples_ns) { /* the first one's twin ran too */
        struct estimate aa = estimate_ratio(entrants[0].samples_ns, entrants[b->count].samples_ns, result->rounds);
        noise = fmax(fabs(aa.low - 1), fabs(aa.high - 1));
    }
    for (int i = 0; i < b->count; i++) {
        const struct program *p = rig_program(b->rigs[i]);
        struct row *row = b->rows[i];
        bout_time(row, -1, cache, load, entrants[i].samples_ns, base >= 0 ? entrants[base].samples_ns : NULL, result->rounds, b->count - 1);
        if (isnan(row->noise))
            row->noise = noise;
        if (isnan(row->host_call_ns))
            row->host_call_ns = entrants[i].host_ns;
        for (int s = 0; entrants[i].step_ns && s < p->step_count; s++)
            if (entrants[i].step_ns[s])
                bout_time(row, s, cache, load, entrants[i].step_ns[s], NULL, entrants[i].step_rounds, 1);
        put_chain(row, p, &entrants[i]);
        if (!result->converged) {
            char *note = text_format("%s%sstopped at %d rounds before every ratio was known to %.2g %%", row->note ? row->note : "",
                                     row->note ? "; " : "", result->rounds, plan->half_width * 100);
            row_set(&row->note, note);
            free(note);
        }
    }
}

static bool time_mode(struct bout *b, bool warm, bool sustained, struct error *err)
{
    struct worker *w = b->w;
    const struct timing_plan *t = &w->plan.time;
    int modes = (t->load[LOAD_ISOLATED] ? t->cache[CACHE_COLD] + t->cache[CACHE_WARM] : 0) + t->load[LOAD_SUSTAINED];
    struct sample_plan plan = {.warm = warm,
                               .sustained = sustained,
                               .rounds_min = sustained ? 10 : t->rounds_min,
                               .rounds_max = t->rounds_max,
                               .half_width = t->half_width,
                               .budget_s = t->budget_s / modes,
                               .warmup_rounds = sustained ? 1 : WARMUP_ROUNDS,
                               .spacing_ns = SAMPLE_SPACING_NS,
                               .step_rounds = STEP_ROUNDS};
    struct sample_result result;
    struct entrant *entrants = xcalloc((size_t)b->count + 1, sizeof *entrants);
    for (int i = 0; i <= b->count; i++)
        entrants[i].rig = b->rigs[i < b->count ? i : 0];
    bool ok = sample_run(w->dev, entrants, b->count + 1, &plan, announce, b, &result, err);
    if (ok)
        report(b, entrants, &plan, &result);
    for (int i = 0; i <= b->count; i++)
        entrant_free(&entrants[i], rig_program(entrants[i].rig)->step_count);
    free(entrants);
    return ok;
}

/* The short rows of a case, back to back in a graph of 50: what a launch costs does not hide what the kernel does. A mode of its own beside
 * those that were asked for; long rows take no part. */
static bool time_short(struct bout *b, struct error *err)
{
    struct bout brief = *b;
    struct sample_plan plan = {.warm = true,
                               .sustained = true,
                               .rounds_min = 10,
                               .rounds_max = GRAPH_ROUNDS,
                               .half_width = b->w->plan.time.half_width,
                               .budget_s = GRAPH_BUDGET_S,
                               .warmup_rounds = 1};
    struct sample_result result;
    struct entrant *entrants = xcalloc((size_t)b->count + 1, sizeof *entrants);
    brief.index = xcalloc((size_t)b->count, sizeof *brief.index);
    brief.rows = xcalloc((size_t)b->count, sizeof *brief.rows);
    brief.rigs = xcalloc((size_t)b->count, sizeof *brief.rigs);
    brief.count = 0;
    for (int i = 0; i < b->count; i++) {
        const struct row_time *t = row_time(b->rows[i], "cold", "isolated");
        if (!t || t->median_ns >= SHORT_NS || b->w->plan.rows[b->index[i]].kind == PLAN_CHAIN)
            continue;
        brief.index[brief.count] = b->index[i];
        brief.rows[brief.count] = b->rows[i];
        entrants[brief.count].rig = brief.rigs[brief.count] = b->rigs[i];
        brief.count++;
    }
    bool ok = !brief.count || sample_run(b->w->dev, entrants, brief.count, &plan, announce, &brief, &result, err);
    result.converged = true; /* of a time that nobody asked for, no warning */
    if (ok && brief.count)
        report(&brief, entrants, &plan, &result);
    b->blame = brief.blame;
    for (int i = 0; i < brief.count; i++)
        entrant_free(&entrants[i], rig_program(entrants[i].rig)->step_count);
    free(entrants);
    free(brief.index);
    free(brief.rows);
    free(brief.rigs);
    return ok;
}

static bool all_modes(struct bout *b, struct error *err)
{
    const struct timing_plan *t = &b->w->plan.time;
    for (int warm = 0; warm < 2; warm++)
        if (t->load[LOAD_ISOLATED] && t->cache[warm ? CACHE_WARM : CACHE_COLD] && !time_mode(b, warm, false, err))
            return false;
    return t->load[LOAD_SUSTAINED] ? time_mode(b, true, true, err) : time_short(b, err);
}

void bout_environment(struct worker *w, const char *name)
{
    struct nvml_sample s;
    struct error ignored = {0};
    static bool tried, open;
    if (!tried)
        open = nvml_open(&ignored);
    tried = true;
    if (!open || !nvml_read(w->dev->uuid, &s))
        return;
    char throttle[128] = "";
    nvml_throttle_text(s.throttle, throttle, sizeof throttle);
    json_t *o = json_object();
    if (s.sm_clock_hz >= 0)
        json_object_set_new(o, "sm_clock_hz", json_real(s.sm_clock_hz));
    if (s.memory_clock_hz >= 0)
        json_object_set_new(o, "memory_clock_hz", json_real(s.memory_clock_hz));
    if (s.power_w >= 0)
        json_object_set_new(o, "power_w", json_real(s.power_w));
    if (s.temperature_c >= 0)
        json_object_set_new(o, "temperature_c", json_real(s.temperature_c));
    if (s.throttle >= 0)
        json_object_set_new(o, "throttle", json_string(throttle));
    w->emit(w->context, json_pack("{s:s,s:s,s:o}", "event", "environment", "name", name, "value", o));
}

/* The clock that the rows of the bout were left with: they were timed in turns, so it is one for all. */
static void put_clock(struct bout *b)
{
    struct nvml_sample s;
    if (!nvml_read(b->w->dev->uuid, &s) || s.sm_clock_hz <= 0)
        return;
    for (int i = 0; i < b->count; i++)
        b->rows[i]->sm_clock_mhz = s.sm_clock_hz / 1e6;
}

static bool bout(struct bout *b, struct error *err)
{
    struct worker *w = b->w;
    struct op_data *data;
    const char *case_id = w->plan.cases[w->plan.rows[b->index[0]].case_index].id;
    for (int i = 0; i < b->count; i++)
        if (!bout_enter(b, i, err))
            return false;
    b->blame = -1;
    if (!all_modes(b, err))
        return false;
    bout_environment(w, case_id);
    put_clock(b);
    for (int i = 0; i < b->count; i++) {
        b->blame = b->index[i];
        if (!worker_data(w, b->index[i], worker_timed_part(w, b->index[i]), &data, err) || !rig_poison(b->rigs[i], err) ||
            !rig_run(b->rigs[i], err) || !bout_check(b, i, data, "(after the timed loop)", err))
            return false;
    }
    b->blame = -1;
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
    for (size_t i = 0; i < count; i++) {
        b->index[i] = (int)json_integer_value(json_array_get(rows, i));
        b->rows[i] = row_new();
        b->rows[i]->status = w->plan.rows[b->index[i]].program.checked ? ROW_OK : ROW_FOIL;
    }
}

void bout_close(struct bout *b, bool ok)
{
    struct worker *w = b->w;
    for (int i = 0; i < b->count; i++) {
        if (ok)
            w->emit(w->context, json_pack("{s:s,s:i,s:o}", "event", "row", "row", b->index[i], "fields", wire_row(b->rows[i])));
        if (ok)
            rig_close(b->rigs[i]); /* else the context may be lost, and this process ends */
        build_free(&b->builds[i]);
        row_free(b->rows[i]);
    }
    free(b->index);
    free(b->rows);
    free(b->builds);
    free(b->rigs);
}

bool worker_measure(struct worker *w, const json_t *rows, int *blame, struct error *err)
{
    struct bout b;
    bout_open(&b, w, rows);
    bool ok = w->plan.rows[b.index[0]].kind == PLAN_SEQUENCE ? bout_sequence(&b, err) : bout(&b, err);
    *blame = b.blame;
    bout_close(&b, ok);
    return ok;
}
