/* The worker's side of a sequence: one variant over all frames, and the row that comes of it. */
#include "base/text.h"
#include "device/cuda/cuda.h"
#include "measure/statistics.h"
#include "worker/sequence_private.h"
#include "message/wire.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OUTPUT_BITS 48 /* a double has 53 */

/* Frames and references are the same for every row of a sequence, so they are kept from one to the next. */
struct sequence_hold {
    struct sequence_jobs jobs;
    struct sequence_source source;
    int open; /* the sequence of `source`; -1: none */
};

static void add_times(const struct runner *r, struct row *row)
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
    row_add_metric(row, -1, 0, "sequence.frame0_ns", "ns", "measured", r->frame_ns[0]);
}

/* As many bits of the hash as a stored number holds. */
static void add_output_bits(struct runner *r, struct row *row)
{
    char hex[HASH_TEXT];
    hash_end(r->outputs, hex);
    r->outputs = NULL;
    hex[OUTPUT_BITS / 4] = 0;
    row_add_metric(row, -1, 0, "sequence.output_bits", "", "verify", (double)strtoull(hex, NULL, 16));
}

static void add_results(struct runner *r, struct row *row)
{
    const struct scenario_sequence *q = r->source->q;
    int after = q->frames - 1;
    row->check = text_format("error %.2g of rms (bound %g) over %d frames", r->error.largest, q->bound, q->frames);
    row->error_over_bound = q->bound > 0 ? r->error.largest / q->bound : NAN;
    row->state_bytes = r->state_bytes;
    row_add_metric(row, -1, 0, "sequence.error_largest", "rms", "measured", r->error.largest);
    row_add_metric(row, -1, 0, "sequence.error_rms", "rms", "measured", r->error.rms);
    add_output_bits(r, row);
    for (int i = 0; r->sparse && i < r->count; i++) {
        char name[80];
        snprintf(name, sizeof name, "sequence.density_layer%d", i + 1);
        row_add_metric(row, -1, 0, name, "share", "measured", r->stages[i].share / after);
    }
    if (r->error.finite && r->error.largest <= q->bound) {
        row->status = ROW_OK;
        return;
    }
    row->status = ROW_WRONG;
    row->reason = r->error.finite ? text_format("frame %d is wrong by %.3g of the dense result's root mean square, %g is allowed",
                                                r->error.frame, r->error.largest, q->bound)
                                  : xstrdup("the result is not finite");
}

/* "state 2.12 MB; inputs changed 5 % -> 8 % -> 12 %; conv2d/sparse_naive on head". NULL: nothing to say. */
static char *note_of(const struct runner *r, const struct row *row)
{
    struct text t = {0};
    bool told = r->sparse && row->check;
    if (told)
        text_addf(&t, r->state_bytes < 100000000 ? "state %.3g MB; inputs changed" : "state %.0f MB; inputs changed",
                  (double)r->state_bytes / 1e6);
    for (int i = 0; told && i < r->count; i++)
        text_addf(&t, "%s %.3g %%", i ? " ->" : "", 100 * r->stages[i].share / (r->source->q->frames - 1));
    if (r->others.len)
        text_addf(&t, "%s%s", t.len ? "; " : "", text_get(&r->others));
    return t.len ? text_take(&t) : NULL;
}

static enum row_status failed_as(const struct worker *w, const struct error *own)
{
    if (w->dev->ops->keeps_time && cuda_is_lost(w->dev))
        return ROW_CRASHED;
    return own->kind == ERROR_ENVIRONMENT ? ROW_SKIPPED : own->kind == ERROR_WRONG ? ROW_WRONG : ROW_BROKEN;
}

/* False when no frame can be had, which is nobody's row. */
static bool run_job(struct worker *w, const struct sequence_job *job, int index, struct row *row, double *density, struct error *err)
{
    struct sequence_source *source = &w->sequence->source;
    struct runner r = {.w = w,
                       .plan = &w->plan,
                       .library = w->library != NULL,
                       .row = index,
                       .source = source,
                       .point = job->point,
                       .sparse = job->sparse};
    struct error own = {0};
    char *why = NULL;
    if (w->dev->ops->clear)
        w->dev->ops->clear(w->dev);
    bool bound = runner_bind(&r, &why, &own);
    if (bound && !why && runner_open(&r, &own) && runner_frames(&r, &own)) {
        add_results(&r, row);
        *density = r.sparse ? r.stages[0].share / (source->q->frames - 1) : -1;
        if (w->dev->ops->keeps_time)
            add_times(&r, row);
    } else {
        row->status = why ? r.unavailable ? ROW_SKIPPED : ROW_INFEASIBLE : failed_as(w, &own);
        row->reason = why ? why : xstrdup(own.text);
    }
    row->note = note_of(&r, row);
    if (row->status != ROW_BROKEN && row->status != ROW_INFEASIBLE)
        worker_take_reports(w, row);
    w->lost = row->status == ROW_CRASHED && w->dev->ops->keeps_time;
    if (!w->lost) /* else closing would only fail again */
        runner_close(&r);
    if (source->failed && err)
        *err = own;
    return !source->failed;
}

static bool hold(struct worker *w, int index, struct error *err)
{
    struct sequence_hold *h = w->sequence;
    if (!h) {
        h = w->sequence = xcalloc(1, sizeof *h);
        h->open = -1;
        if (!sequence_jobs_make(&w->plan, w->options.filter.only, &h->jobs, err))
            return false;
    }
    if (index < 0 || index >= h->jobs.count)
        return error_set(err, ERROR_INTERNAL, "sequence row %d of %d", index, h->jobs.count);
    int wanted = h->jobs.items[index].sequence;
    if (h->open == wanted)
        return true;
    if (h->open >= 0)
        source_close(&h->source);
    h->open = -1;
    if (!source_open(w->plan.scenario, h->jobs.items[index].q, w->dev->ops->name, &h->source, err))
        return false;
    h->open = wanted;
    return true;
}

bool worker_sequence(struct worker *w, int index, struct error *err)
{
    double density = -1;
    worker_stage(w, index, "weights", SEQUENCE_HOST_LIMIT_S);
    if (!hold(w, index, err))
        return false;
    struct row *row = row_new();
    bool ok = run_job(w, &w->sequence->jobs.items[index], index, row, &density, err);
    if (ok)
        w->emit(w->context, json_pack("{s:s,s:i,s:f,s:o}", "event", "row", "row", index, "density", density, "fields", wire_row(row)));
    row_free(row);
    return ok;
}

void worker_sequence_close(struct worker *w)
{
    struct sequence_hold *h = w->sequence;
    if (!h)
        return;
    if (h->open >= 0)
        source_close(&h->source);
    sequence_jobs_free(&h->jobs);
    free(h);
    w->sequence = NULL;
}
