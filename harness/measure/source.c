#include "measure/source.h"
#include "base/text.h"
#include "device/cubin.h"
#include "device/cuda.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SAMPLES_ENOUGH 1e5
#define SECONDS_MOST 2.0
#define PERIOD_LEAST 8        /* shorter ones lose samples on an H200 */
#define DROPPED_MOST 0.01     /* share of the samples */
#define SCHEDULERS_PER_SM 4

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void add(struct source_values *v, int step, int line, const char *name, double value)
{
    for (int i = 0; i < v->count; i++) {
        struct source_value *s = &v->items[i];
        if (s->step == step && s->line == line && !strcmp(s->name, name)) {
            s->value += value;
            return;
        }
    }
    v->items = xrealloc(v->items, (size_t)(v->count + 1) * sizeof *v->items);
    struct source_value *s = &v->items[v->count++];
    *s = (struct source_value){.step = step, .line = line, .value = value};
    snprintf(s->name, sizeof s->name, "%s", name);
}

/* The line table of the step's kernel; NULL for steps of a library, and where there is none. */
static struct cubin_lines *lines_of(const struct source_job *job, int step)
{
    const struct program *p = rig_program(job->rig);
    const struct step *s = &p->steps[step];
    const struct device_image *image = s->kind == STEP_KERNEL ? &job->images[s->unit] : NULL;
    return image && image->cubin && p->units[s->unit].path ? cubin_lines_open(image->cubin, image->cubin_bytes, s->name, p->units[s->unit].path) : NULL;
}

/* One step on its own; the steps before it have run. */
struct alone {
    struct device *dev;
    struct rig *rig;
    int step;
};

static bool run_alone(void *context, struct error *err)
{
    const struct alone *a = context;
    return rig_run_step(a->rig, a->step, err) && a->dev->ops->sync(a->dev, err);
}

static bool launches(const struct step *s)
{
    return !s->prepare && (s->kind == STEP_KERNEL || s->kind == STEP_CUDNN || s->kind == STEP_CALL);
}

static bool sample_step(const struct source_job *job, struct cupti_pc *pc, int period, int step, struct source_values *out, struct error *err)
{
    struct alone alone = {job->dev, job->rig, step};
    struct cupti_samples samples;
    if (!cupti_pc_run(pc, period, run_alone, &alone, &samples, err))
        return false;
    struct cubin_lines *lines = lines_of(job, step);
    const char *kernel = rig_program(job->rig)->steps[step].name;
    for (int i = 0; i < samples.count; i++) {
        const struct cupti_pc_sample *s = &samples.items[i];
        char name[sizeof out->items->name];
        snprintf(name, sizeof name, "samples_%s", s->reason);
        add(out, step, strcmp(s->function, kernel) ? 0 : cubin_lines_at(lines, s->offset), name, (double)s->samples);
    }
    out->samples += (double)samples.total;
    out->dropped += (double)samples.dropped;
    cubin_lines_close(lines);
    cupti_samples_free(&samples);
    return true;
}

/* All steps once, each sampled. */
static bool sample_row(const struct source_job *job, struct cupti_pc *pc, int period, struct source_values *out, struct error *err)
{
    const struct program *p = rig_program(job->rig);
    bool ok = rig_poison(job->rig, err) && (job->warm ? rig_run(job->rig, err) : cuda_flush_aside(job->dev, err)) && job->dev->ops->sync(job->dev, err);
    for (int i = 0; ok && i < p->step_count; i++)
        if (!p->steps[i].prepare)
            ok = launches(&p->steps[i]) ? sample_step(job, pc, period, i, out, err) : rig_run_step(job->rig, i, err);
    return ok;
}

/* Half of what is wanted, in one run. */
static int first_period(const struct source_job *job)
{
    const struct chip *chip = &job->dev->chip;
    double cycles = (isfinite(job->time_ns) ? job->time_ns : 1e6) * 1e-9 * chip->clock_max_hz * SCHEDULERS_PER_SM * chip->sm_count;
    int period = PERIOD_LEAST;
    while (period < CUPTI_PC_PERIOD_MAX && ldexp(cycles, -period) > 2 * SAMPLES_ENOUGH)
        period++;
    return period;
}

bool source_sample(const struct source_job *job, struct cupti_pc *pc, struct source_values *out, struct error *err)
{
    double began = now_s();
    int period = first_period(job);
    *out = (struct source_values){0};
    do {
        if (!sample_row(job, pc, period, out, err)) {
            source_values_free(out);
            return false;
        }
        if (out->dropped > DROPPED_MOST * out->samples && period < CUPTI_PC_PERIOD_MAX) {
            source_values_free(out); /* what is lost is not lost evenly: again, with fewer */
            period++;
        }
    } while (out->samples < SAMPLES_ENOUGH && now_s() - began < SECONDS_MOST);
    return true;
}

void source_values_free(struct source_values *values)
{
    free(values->items);
    *values = (struct source_values){0};
}
