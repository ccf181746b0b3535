#include "measure/count/count.h"
#include "base/text.h"
#include "counter/combine.h"
#include "device/cuda/cuda.h"
#include <stdlib.h>
#include <string.h>

static bool run_once(struct device *dev, struct rig *rig, struct error *err)
{
    return rig_run_stepwise(rig, NULL, NULL, err) && dev->ops->sync(dev, err);
}

/* Removes everything that the previous run left. */
static bool renew(struct rig *rig, struct error *err)
{
    return rig_poison_all(rig, err) && rig_prepare(rig, NULL, err);
}

/* The cache state that the row's timed launches began in. */
static bool same_state(struct device *dev, const struct counted *item, bool warm, struct error *err)
{
    return warm ? run_once(dev, item->rig, err) : cuda_flush_uncounted(dev, err);
}

struct tracing {
    struct device *dev;
    struct rig *rig;
};

static bool traced_run(void *context, struct error *err)
{
    struct tracing *t = context;
    return run_once(t->dev, t->rig, err);
}

bool count_trace(struct device *dev, struct counted *item, bool warm, struct error *err)
{
    struct tracing t = {dev, item->rig};
    return renew(item->rig, err) && dev->ops->sync(dev, err) && same_state(dev, item, warm, err) &&
           cupti_trace_run(traced_run, &t, &item->trace, err);
}

/* A kernel step launches one kernel and makes no fills or copies; other kernels come from the library. */
int count_launches(const struct counted *item, int step, int *first)
{
    const struct program *p = rig_program(item->rig);
    int own = 0, at = 0, count = 0;
    for (int i = 0; i < p->step_count; i++)
        own += !p->steps[i].prepare && p->steps[i].kind == STEP_KERNEL;
    for (int i = 0; i <= step; i++) {
        const struct step *s = &p->steps[i];
        at += count;
        count = s->prepare ? 0 : s->kind == STEP_KERNEL ? 1 : s->kind == STEP_CUDNN ? item->trace.kernel_count - own : 0;
    }
    if (first)
        *first = at;
    return count;
}

int count_ranges(const struct counted *item, bool warm)
{
    return item->trace.kernel_count * (warm ? 2 : 1);
}

/* The items of a job that one call counts. */
struct part {
    const struct count_job *job;
    int first, end;
};

static bool renew_all(void *context, int pass, struct error *err)
{
    const struct part *part = context;
    const struct count_job *job = part->job;
    bool ok = true;
    phase_part(job->dev->clock, "renew");
    for (int i = part->first; ok && i < part->end; i++)
        if (job->items[i].trace.kernel_count && !renew(job->items[i].rig, err))
            ok = error_where(err, "%s", job->items[i].name);
    ok = ok && job->dev->ops->sync(job->dev, err);
    phase_pop(job->dev->clock);
    return ok;
}

static bool pass(void *context, int index, struct error *err)
{
    const struct part *part = context;
    const struct count_job *job = part->job;
    struct device *dev = job->dev;
    bool ok = true;
    for (int i = part->first; ok && i < part->end; i++) {
        const struct counted *item = &job->items[i];
        if (!item->trace.kernel_count)
            continue;
        if (job->announce)
            job->announce(job->context, i);
        int depth = phase_depth(dev->clock);
        phase_part(dev->clock, "flush");
        ok = same_state(dev, item, job->warm, err);
        phase_pop(dev->clock);
        phase_part(dev->clock, "counted launches");
        phase_open(dev->clock, item->name);
        ok = ok && run_once(dev, item->rig, err);
        phase_unwind(dev->clock, depth);
        if (!ok)
            error_where(err, "%s", item->name);
    }
    return ok;
}

static size_t count_find(const struct count_job *job, const char *metric)
{
    for (size_t m = 0; m < job->metric_count; m++)
        if (!strcmp(job->metrics[m], metric))
            return m;
    return job->metric_count;
}

/* Combines the metrics of `launches` kernels, which are consecutive in `values`. */
static double *combine(const struct count_job *job, const double *values, int launches)
{
    size_t n = job->metric_count, time = count_find(job, counter_weight_time), active = count_find(job, counter_weight_active);
    double *out = xcalloc(n, sizeof *out), *absent = xcalloc((size_t)launches * n, sizeof *absent); /* weights of 0 give no mean */
    for (size_t m = 0; m < n; m++)
        out[m] = counter_combine(job->metrics[m], values + m, time < n ? values + time : absent, active < n ? values + active : absent,
                                 (int)n, launches);
    free(absent);
    return out;
}

static void sort_out(const struct part *part, const struct cupti_counts *counts, struct count_result *r)
{
    const struct count_job *job = part->job;
    size_t n = job->metric_count;
    const double *at = counts->values;
    for (int i = part->first; i < part->end; i++) {
        const struct counted *item = &job->items[i];
        const struct program *p = rig_program(item->rig);
        int steps = 0, kernel;
        if (!item->trace.kernel_count)
            continue;
        at += (size_t)(count_ranges(item, job->warm) - item->trace.kernel_count) * n; /* warm: skips the uncounted run before it */
        r->rows[i] = combine(job, at, item->trace.kernel_count);
        for (int k = 0; k < p->step_count; k++)
            steps += !p->steps[k].prepare;
        double **own = r->steps[i] = steps > 1 ? xcalloc((size_t)p->step_count, sizeof *own) : NULL;
        for (int k = 0; own && k < p->step_count; k++) {
            int launches = count_launches(item, k, &kernel);
            own[k] = launches > 0 ? combine(job, at + (size_t)kernel * n, launches) : NULL;
        }
        at += (size_t)item->trace.kernel_count * n;
    }
}

static bool count_part(const struct part *part, struct count_result *result, struct error *err)
{
    const struct count_job *job = part->job;
    struct cupti_counts counts;
    int ranges = 0;
    for (int i = part->first; i < part->end; i++)
        ranges += count_ranges(&job->items[i], job->warm);
    struct cupti_job asked = {.metrics = job->metrics,
                              .metric_count = job->metric_count,
                              .range_max = ranges,
                              .pass = pass,
                              .before = renew_all,
                              .context = (void *)part};
    if (!cupti_count(job->session, &asked, &counts, err))
        return false;
    bool ok =
        counts.range_count == ranges ||
        error_set(err, ERROR_ENVIRONMENT, "CUPTI counted %d kernels but traced %d: the counts are not used", counts.range_count, ranges);
    if (ok) {
        result->passes = counts.passes;
        sort_out(part, &counts, result);
    }
    cupti_counts_free(&counts);
    return ok;
}

/* False if CUPTI cannot count any of them by itself either. */
static bool count_each(const struct count_job *job, struct count_result *result)
{
    bool any = false;
    for (int i = 0; i < job->count; i++) {
        struct error why = {0};
        if (!job->items[i].trace.kernel_count)
            continue;
        bool ok = count_part(&(struct part){job, i, i + 1}, result, &why);
        any |= ok;
        if (!ok)
            result->why[i] = xstrdup(why.text);
    }
    return any;
}

bool count_run(const struct count_job *job, struct count_result *result, struct error *err)
{
    struct error why = {0};
    size_t n = (size_t)job->count;
    *result = (struct count_result){.count = job->count, .metric_count = job->metric_count};
    result->rows = xcalloc(n, sizeof *result->rows);
    result->steps = xcalloc(n, sizeof *result->steps);
    result->why = xcalloc(n, sizeof *result->why);
    const struct part all = {job, 0, job->count};
    if (count_part(&all, result, &why) || (why.kind == ERROR_ENVIRONMENT && job->count > 1 && count_each(job, result)))
        return true;
    count_free(result, job->items);
    if (err)
        *err = why;
    return false;
}

void count_free(struct count_result *result, const struct counted *items)
{
    for (int i = 0; i < result->count; i++) {
        for (int k = 0; result->steps[i] && k < rig_program(items[i].rig)->step_count; k++)
            free(result->steps[i][k]);
        FREE_ALL(result->steps[i], result->rows[i], result->why[i]);
    }
    FREE_ALL(result->rows, result->steps, result->why);
    *result = (struct count_result){0};
}
