#include "session/sequence.h"
#include "base/file.h"
#include "base/text.h"
#include "base/version.h"
#include "measure/statistics.h"
#include "session/plan_private.h"
#include "session/sequence_private.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void describe(const struct runner *r, struct row *row)
{
    struct text t = {0};
    const struct sequence_layer *first = &r->source->layers[0];
    const struct scenario_sequence *q = r->source->q;
    text_addf(&t, "%d layers, %d frames, truncate %s %g, threshold %g; first ", r->source->count, q->frames, truncate_names[q->truncate], q->truncate_above, q->threshold);
    work_describe(&first->work, &t);
    row->work = text_take(&t);
    row->flop = row->bytes = 0;
    for (int i = 0; i < r->source->count; i++) {
        row->flop += work_flop(&r->source->layers[i].work);
        row->bytes += work_bytes(&r->source->layers[i].work);
    }
    row_set(&row->op, "sequence");
    row_set(&row->dtype, dtype_name(first->work.dtype));
    row_set(&row->math, math_name(first->work.math));
    row_set(&row->layout, layout_name(first->work.layout));
}

static void add_times(const struct runner *r, struct row *row, const struct row_time *zero)
{
    int count = r->source->q->frames - 1;
    struct estimate e = estimate_median(r->frame_ns + 1, count);
    struct row_time *t = row_add_time(row);
    snprintf(t->cache, sizeof t->cache, "warm");
    snprintf(t->load, sizeof t->load, "isolated");
    t->median_ns = e.median, t->low_ns = e.low, t->high_ns = e.high, t->p05_ns = e.p05, t->p95_ns = e.p95;
    t->rounds = count;
    t->samples_ns = xmalloc((size_t)count * sizeof *t->samples_ns);
    memcpy(t->samples_ns, r->frame_ns + 1, (size_t)count * sizeof *t->samples_ns);
    if (zero) { /* other frames' times, not pairs: the far ends of both intervals */
        t->ratio = zero->median_ns / t->median_ns;
        t->ratio_low = zero->low_ns / t->high_ns;
        t->ratio_high = zero->high_ns / t->low_ns;
    }
    row_add_metric(row, -1, 0, "sequence.frame0_ns", "ns", "measured", r->frame_ns[0]);
}

static void add_results(const struct runner *r, struct row *row)
{
    const struct scenario_sequence *q = r->source->q;
    int after = q->frames - 1;
    row->check = text_format("error %.2g of rms (bound %g) over %d frames", r->error.largest, q->bound, q->frames);
    row->error_over_bound = q->bound > 0 ? r->error.largest / q->bound : NAN;
    row->state_bytes = r->state_bytes;
    row_add_metric(row, -1, 0, "sequence.error_largest", "rms", "measured", r->error.largest);
    row_add_metric(row, -1, 0, "sequence.error_rms", "rms", "measured", r->error.rms);
    for (int i = 0; r->sparse && i < r->count; i++) {
        char name[80];
        snprintf(name, sizeof name, "sequence.density_layer%d", i + 1);
        row_add_metric(row, -1, 0, name, "share", "measured", r->stages[i].share / after);
    }
    if (r->sparse)
        row->density_in = r->stages[0].share / after;
    if (r->error.finite && r->error.largest <= q->bound) {
        row->status = ROW_OK;
        return;
    }
    row->status = ROW_WRONG;
    row->reason = r->error.finite ? text_format("frame %d is wrong by %.3g of the dense result's root mean square, %g is allowed", r->error.frame, r->error.largest, q->bound)
                                  : xstrdup("the result is not finite");
}

/* "state 2.12 MB; inputs changed 5 % -> 8 % -> 12 %; conv2d/sparse_naive on head". NULL: nothing to say. */
static char *note_of(const struct runner *r, const struct row *row)
{
    struct text t = {0};
    bool told = r->sparse && row->check;
    if (told)
        text_addf(&t, "state %.3g MB; inputs changed", (double)r->state_bytes / 1e6);
    for (int i = 0; told && i < r->count; i++)
        text_addf(&t, "%s %.2g %%", i ? " ->" : "", 100 * r->stages[i].share / (r->source->q->frames - 1));
    if (r->others.len)
        text_addf(&t, "%s%s", t.len ? "; " : "", text_get(&r->others));
    return t.len ? text_take(&t) : NULL;
}

/* Emu's safety reports of a run. */
static void take_reports(struct worker *w, struct row *row)
{
    const struct device_report *reports;
    int count = w->dev->ops->reports ? w->dev->ops->reports(w->dev, &reports) : 0;
    if (count > 0 && row->status != ROW_BROKEN) {
        row->status = ROW_UNSAFE;
        free(row->reason);
        row->reason = text_format("%s: %s", reports[0].kind, reports[0].text);
    }
}

struct sequences {
    const struct session_options *o;
    struct worker w;
    struct variant_set set;
    struct store *store;
    struct run run;
    struct row **rows; /* of the sequence in hand */
    int count, case_index, written;
};

static bool run_point(struct sequences *s, struct sequence_source *source, const struct variant_point *point, bool sparse, struct error *err)
{
    struct runner r = {.w = &s->w, .source = source, .point = point, .sparse = sparse};
    struct row *row = row_new();
    char *why = NULL;
    struct error own = {0};
    s->rows = xrealloc(s->rows, (size_t)(s->count + 1) * sizeof(struct row *));
    s->rows[s->count] = row;
    row->case_id = text_format("%s/%s", s->run.scenario, source->q->name);
    row->id = *point->label ? text_format("%s/%s[%s]", row->case_id, point->variant->name, point->label) : text_format("%s/%s", row->case_id, point->variant->name);
    row_set(&row->scenario, s->run.scenario);
    row_set(&row->layer, source->q->name);
    row_set(&row->variant, point->variant->name);
    row_set(&row->params, point->label);
    row_set(&row->device, s->w.dev->spec);
    row_set(&row->what, point->variant->what);
    row_set(&row->algorithm, point->variant->algorithm);
    row_set(&row->arch, s->w.plan.chip.arch);
    row->case_index = s->case_index;
    row->row_index = s->count++;
    describe(&r, row);
    if (s->w.dev->ops->clear)
        s->w.dev->ops->clear(s->w.dev);
    bool bound = runner_bind(&r, &s->set, &why, &own);
    if (bound && !why && runner_open(&r, &own) && runner_frames(&r, &own)) {
        add_results(&r, row);
        if (s->w.dev->ops->keeps_time)
            add_times(&r, row, s->count > 1 ? row_time(s->rows[0], "warm", "isolated") : NULL);
    } else {
        row->status = why ? ROW_INFEASIBLE : own.kind == ERROR_ENVIRONMENT ? ROW_SKIPPED : own.kind == ERROR_WRONG ? ROW_WRONG : ROW_BROKEN;
        row->reason = why ? why : xstrdup(own.text);
    }
    if (source->failed) {
        *err = own;
        runner_close(&r);
        return false;
    }
    row->note = note_of(&r, row);
    take_reports(&s->w, row);
    runner_close(&r);
    s->written++;
    return store_put(s->store, s->run.id, row, err);
}

/* Dense variants first, so that row 0 is one of them. */
static bool run_sequence(struct sequences *s, const struct scenario_sequence *q, struct error *err)
{
    struct sequence_source source;
    const struct scenario *sc = s->w.plan.scenario;
    const struct op *op = op_find("conv2d");
    if (!source_open(sc, q, s->w.dev->ops->name, &source, err))
        return false;
    bool ok = true;
    for (int sparse = 0; sparse < 2; sparse++)
        for (int i = 0; ok && i < sc->variant_count; i++) {
            const struct variant *v = plan_resolve(&s->set, sc->variants[i].name, op);
            struct variant_point *points;
            bool own = v && variant_reads_mask(v) == sparse && (!s->w.options.filter.only || plan_listed(s->w.options.filter.only, v->name));
            int count = own ? variant_points(v, sc->variants[i].params, &points, err) : 0;
            ok = count >= 0;
            for (int k = 0; ok && k < count; k++)
                ok = run_point(s, &source, &points[k], sparse, err);
            if (count > 0)
                variant_points_free(points, count);
        }
    source_close(&source);
    return ok;
}

/* No name is misspelt, and --only leaves something. */
static bool something_left(const struct sequences *s, struct error *err)
{
    const struct scenario *sc = s->w.plan.scenario;
    const char *only = s->w.options.filter.only;
    if (!plan_entries_exist(sc, &s->set, NULL, err))
        return false;
    for (int i = 0; i < sc->variant_count; i++) {
        const struct variant *v = plan_resolve(&s->set, sc->variants[i].name, op_find("conv2d"));
        if (v && (!only || plan_listed(only, v->name)))
            return true;
    }
    return only ? error_set(err, ERROR_USAGE, "--only %s selects no variant of op conv2d of this scenario", only)
                : error_set(err, ERROR_USAGE, "%s: none of its variants is of op conv2d", sc->path);
}

static void begin_run(struct sequences *s)
{
    const struct scenario *sc = s->w.plan.scenario;
    size_t bytes;
    time_t now = time(NULL);
    struct run *r = &s->run;
    strftime(r->started, sizeof r->started, "%Y-%m-%dT%H:%M:%SZ", gmtime(&now));
    r->scenario = xstrdup(sc->name);
    r->scenario_path = xstrdup(sc->path);
    r->scenario_hash = xstrdup(sc->hash);
    r->scenario_text = file_read(sc->path, NODE_MAX_BYTES, &bytes, NULL);
    r->argv = xstrdup(s->o->argv ? s->o->argv : "");
    r->commit = xstrdup(bench_version());
    r->device = xstrdup(s->w.dev->spec);
    r->device_about = xstrdup(s->w.dev->about);
    r->uuid = xstrdup(s->w.dev->uuid);
    r->driver = xstrdup(s->w.dev->driver);
    char version[96] = "";
    if (compile_version(s->o->plan.compiler, version, sizeof version, &(struct error){0}))
        r->compiler = xstrdup(version);
}

static bool open_all(struct sequences *s, struct error *err)
{
    const struct session_options *o = s->o;
    struct worker *w = &s->w;
    w->plan.scenario = scenario_load(o->plan.scenario_path, err);
    if (!w->plan.scenario)
        return false;
    if (!w->plan.scenario->sequence_count)
        return error_set(err, ERROR_USAGE, "%s has no sequence", o->plan.scenario_path) ||
               error_hint(err, "sequences: {street: {of: [body], frames: 8, changes: {pattern: box, density: 0.05}, bound: 0.05}}");
    char why[256];
    const char *chip = scenario_chip(w->plan.scenario, "emu"), *spec = o->plan.device;
    char *emu = text_format("emu%s%s", chip ? ":" : "", chip ? chip : "");
    if (!spec || !strcmp(spec, "emu"))
        spec = !spec && device_cuda_present(why, sizeof why) ? "cuda:0" : emu;
    bool ok = device_open(spec, &w->dev, err) && variant_set_load(o->plan.variant_dirs, &s->set, err);
    free(emu);
    if (!ok)
        return false;
    w->plan.chip = w->dev->chip;
    w->options = o->plan;
    if (!something_left(s, err))
        return false;
    w->time_limit_s = o->time_limit_s > 0 ? o->time_limit_s : w->dev->ops->keeps_time ? 10 : 60;
    struct error ignored = {0};
    if (w->dev->ops->keeps_time && !cudnn_open(w->dev, &w->library, &ignored))
        w->library = NULL; /* a cuDNN row says so */
    char *dir = file_dir(o->database);
    ok = file_make_dirs(dir, err) && store_open(o->database, false, &s->store, err);
    free(dir);
    begin_run(s);
    return ok && store_run_begin(s->store, &s->run, err);
}

bool session_sequences(const struct session_options *o, const struct sequence_sink *sink, struct session_result *result, struct error *err)
{
    struct sequences s = {.o = o};
    struct timespec from, to;
    clock_gettime(CLOCK_MONOTONIC, &from);
    bool ok = open_all(&s, err);
    for (int i = 0; ok && i < s.w.plan.scenario->sequence_count; i++) {
        s.case_index = i;
        ok = run_sequence(&s, &s.w.plan.scenario->sequences[i], err);
        if (ok && sink->done)
            sink->done(sink->context, &s.run, s.rows, s.count);
        rows_free(s.rows, s.count);
        s.rows = NULL;
        s.count = 0;
    }
    ok = ok && store_run_end(s.store, s.run.id, err);
    clock_gettime(CLOCK_MONOTONIC, &to);
    *result = (struct session_result){.run_id = s.run.id, .rows = s.written,
                                      .seconds = (double)(to.tv_sec - from.tv_sec) + (double)(to.tv_nsec - from.tv_nsec) / 1e9};
    if (s.store)
        store_close(s.store);
    if (s.w.library)
        cudnn_close(s.w.library);
    if (s.w.dev)
        device_close(s.w.dev);
    variant_set_free(&s.set);
    if (s.w.plan.scenario)
        scenario_free(s.w.plan.scenario);
    run_clear(&s.run);
    return ok;
}
