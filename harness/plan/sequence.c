/* Which rows the sequences of a scenario come to, and what is known of each before it runs. */
#include "base/text.h"
#include "plan/sequence.h"
#include "plan/private.h"
#include <stdlib.h>
#include <string.h>

static void add_points(struct sequence_jobs *jobs, struct variant_point *points, int count)
{
    jobs->points = xrealloc(jobs->points, (size_t)(jobs->list_count + 1) * sizeof *jobs->points);
    jobs->point_counts = xrealloc(jobs->point_counts, (size_t)(jobs->list_count + 1) * sizeof *jobs->point_counts);
    jobs->points[jobs->list_count] = points;
    jobs->point_counts[jobs->list_count++] = count;
    jobs->items = xrealloc(jobs->items, (size_t)(jobs->count + count) * sizeof *jobs->items);
}

/* One kind of variants, sparse or dense, on one sequence. */
static bool add_kind(const struct plan *plan, const char *only, int sequence, bool sparse, int *row_index, struct sequence_jobs *jobs,
                     struct error *err)
{
    const struct scenario *sc = plan->scenario;
    for (int i = 0; i < sc->variant_count; i++) {
        const struct variant *v = plan_resolve(&plan->variants, sc->variants[i].name, op_find("conv2d"));
        struct variant_point *points;
        if (!v || variant_reads_mask(v) != sparse || (only && !plan_listed(only, v->name)))
            continue;
        int count = variant_points(v, sc->variants[i].params, &points, err);
        if (count < 0)
            return false;
        add_points(jobs, points, count);
        for (int k = 0; k < count; k++)
            jobs->items[jobs->count++] = (struct sequence_job){&sc->sequences[sequence], sequence, (*row_index)++, v, &points[k], sparse};
    }
    return true;
}

bool sequence_jobs_make(const struct plan *plan, const char *only, struct sequence_jobs *out, struct error *err)
{
    const struct scenario *sc = plan->scenario;
    *out = (struct sequence_jobs){0};
    for (int i = 0; i < sc->sequence_count; i++) {
        int row_index = 0;
        for (int sparse = 0; sparse < 2; sparse++)
            if (!add_kind(plan, only, i, sparse, &row_index, out, err))
                return false;
    }
    return true;
}

void sequence_jobs_free(struct sequence_jobs *jobs)
{
    for (int i = 0; i < jobs->list_count; i++)
        variant_points_free(jobs->points[i], jobs->point_counts[i]);
    free(jobs->points);
    free(jobs->point_counts);
    free(jobs->items);
    *jobs = (struct sequence_jobs){0};
}

bool sequence_works(const struct scenario *s, const struct scenario_sequence *q, const char *device_kind, struct work *out,
                    struct error *err)
{
    for (int i = 0; i < q->layer_count; i++) {
        bool cropped;
        out[i] = q->layers[i]->work;
        out[i].seed += (uint64_t)i * 7919; /* weights of its own */
        if (i) {
            out[i].h = out[i - 1].p;
            out[i].w = out[i - 1].q;
        }
        int with = q->with[i];
        if (with >= 0 && (out[i].h != out[with].p || out[i].w != out[with].q)) {
            error_set(err, ERROR_USAGE, "images of %lld x %lld and of %lld x %lld pixels", (long long)out[i].w, (long long)out[i].h,
                      (long long)out[with].q, (long long)out[with].p);
            return error_where(err, "sequence %s, layer %s with %s", q->name, q->layers[i]->name, q->layers[with]->name);
        }
        if (!(i ? work_finish(&out[i], err) : scenario_crop(s, device_kind, &out[i], &cropped, err)))
            return error_where(err, "sequence %s, layer %s", q->name, q->layers[i]->name);
    }
    return true;
}

static bool describe(const struct plan *plan, const struct scenario_sequence *q, const char *device, struct row *row, struct error *err)
{
    struct text t = {0};
    struct work *works = xcalloc((size_t)q->layer_count, sizeof *works);
    bool ok = sequence_works(plan->scenario, q, strncmp(device, "cuda", 4) ? "emu" : "cuda", works, err);
    text_addf(&t, "%d layers, %d frames, truncate %s %g, threshold %g; first ", q->layer_count, q->frames, truncate_names[q->truncate],
              q->truncate_above, q->threshold);
    row->flop = row->bytes = 0;
    for (int i = 0; ok && i < q->layer_count; i++) {
        row->flop += work_flop(&works[i]);
        row->bytes += work_bytes(&works[i]);
    }
    if (ok)
        work_describe(&works[0], &t);
    row->work = text_take(&t);
    row_set(&row->op, "sequence");
    row_set(&row->dtype, dtype_name(works[0].dtype));
    row_set(&row->math, math_name(works[0].math));
    row_set(&row->layout, layout_name(works[0].layout));
    free(works);
    return ok;
}

struct row *sequence_row_new(const struct plan *plan, const struct sequence_job *job, const char *device, struct error *err)
{
    struct row *row = row_new();
    const char *scenario = plan->scenario->name, *label = job->point->label;
    row->case_id = text_format("%s/%s", scenario, job->q->name);
    row->id = text_format(*label ? "%s/%s[%s]" : "%s/%s", row->case_id, job->variant->name, label);
    row_set(&row->scenario, scenario);
    row_set(&row->layer, job->q->name);
    row_set(&row->variant, job->variant->name);
    row_set(&row->params, label);
    row_set(&row->device, device);
    row_set(&row->what, job->variant->what);
    row_set(&row->algorithm, job->variant->algorithm);
    row_set(&row->arch, plan->chip.arch);
    row->case_index = job->sequence;
    row->row_index = job->row_index;
    if (describe(plan, job->q, device, row, err))
        return row;
    row_free(row);
    return NULL;
}
