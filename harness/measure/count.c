#include "measure/count.h"
#include "base/hash.h"
#include <stdio.h>
#include <string.h>

#define TAIL_BYTES 16 /* kept free for #STEP */

static int run_steps(const struct counted *item)
{
    const struct program *p = rig_program(item->rig);
    int steps = 0;
    for (int i = 0; i < p->step_count; i++)
        steps += !p->steps[i].prepare;
    return steps;
}

int count_ranges(const struct counted *item)
{
    int steps = run_steps(item);
    return steps > 1 ? steps + 1 : 1;
}

/* A name longer than CUPTI takes is cut, and stays unique by a piece of its hash. */
static void range_name(const struct counted *item, int step, char out[CUPTI_RANGE_NAME_MAX + 1])
{
    size_t most = CUPTI_RANGE_NAME_MAX - TAIL_BYTES, length = strlen(item->name);
    char hash[HASH_TEXT];
    if (length > most) {
        hash_bytes(item->name, length, hash);
        snprintf(out, most + 1, "%.*s~%.12s", (int)most - 13, item->name, hash);
    } else {
        memcpy(out, item->name, length + 1);
    }
    if (step >= 0)
        snprintf(out + strlen(out), TAIL_BYTES, "#%d", step);
}

static bool begin_range(const struct count_job *job, const struct counted *item, int step, struct error *err)
{
    char name[CUPTI_RANGE_NAME_MAX + 1];
    range_name(item, step, name);
    if (job->dev->ops->range_push)
        job->dev->ops->range_push(job->dev, name);
    return cupti_range_push(job->session, name, err);
}

static bool end_range(const struct count_job *job, struct error *err)
{
    bool ok = job->dev->ops->sync(job->dev, err);
    ok = cupti_range_pop(job->session, ok ? err : NULL) && ok;
    if (job->dev->ops->range_pop)
        job->dev->ops->range_pop(job->dev);
    return ok;
}

/* The state that the time beside the counts began in. */
static bool same_state(const struct count_job *job, const struct counted *item, struct error *err)
{
    const struct device_ops *ops = job->dev->ops;
    return rig_poison(item->rig, err) && (job->warm ? rig_run(item->rig, err) : ops->flush(job->dev, err)) && ops->sync(job->dev, err);
}

struct stepping {
    const struct count_job *job;
    const struct counted *item;
    int left;
};

static int step_after(const struct program *p, int step)
{
    do
        step++;
    while (step < p->step_count && p->steps[step].prepare);
    return step;
}

static bool next_step(void *context, int step, struct error *err)
{
    struct stepping *s = context;
    return end_range(s->job, err) && (!--s->left || begin_range(s->job, s->item, step_after(rig_program(s->item->rig), step), err));
}

static bool count_item(const struct count_job *job, const struct counted *item, struct error *err)
{
    if (!same_state(job, item, err) || !begin_range(job, item, -1, err))
        return false;
    bool ran = rig_run(item->rig, err), ended = end_range(job, ran ? err : NULL);
    struct stepping s = {job, item, run_steps(item)};
    if (!ran || !ended || s.left < 2)
        return ran && ended;
    return same_state(job, item, err) && begin_range(job, item, step_after(rig_program(item->rig), -1), err) &&
           rig_run_stepwise(item->rig, next_step, &s, err);
}

static bool pass(void *context, struct cupti_session *session, int index, struct error *err)
{
    const struct count_job *job = context;
    (void)session;
    (void)index;
    for (int i = 0; i < job->count; i++) {
        if (job->announce)
            job->announce(job->context, i);
        if (!count_item(job, &job->items[i], err))
            return error_where(err, "%s", job->items[i].name);
    }
    return true;
}

bool count_run(const struct count_job *job, struct cupti_counts *counts, struct error *err)
{
    int ranges = 0;
    for (int i = 0; i < job->count; i++)
        ranges += count_ranges(&job->items[i]);
    struct cupti_job asked = {.metrics = job->metrics, .metric_count = job->metric_count, .range_max = ranges, .pass = pass, .context = (void *)job};
    return cupti_count(job->session, &asked, counts, err);
}

const double *count_of(const struct cupti_counts *counts, const struct counted *item, int step)
{
    char name[CUPTI_RANGE_NAME_MAX + 1];
    range_name(item, step, name);
    return cupti_counts_of(counts, name);
}
