#include "measure/count/source.h"
#include "base/clock.h"
#include "base/text.h"
#include "device/compile/compile.h"
#include "device/compile/cubin.h"
#include "device/cuda/cuda.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SAMPLES_ENOUGH 1e5
#define SECONDS_MOST 2.0
#define PERIOD_LEAST 8    /* shorter ones lose samples on an H200 */
#define DROPPED_MOST 0.01 /* share of the samples */
#define SCHEDULERS_PER_SM 4

static void source_add(struct source_values *v, int step, int line, const char *name, const char *unit, double value)
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
    *s = (struct source_value){.step = step, .line = line, .unit = unit, .value = value};
    snprintf(s->name, sizeof s->name, "%s", name);
}

/* Finds the instruction at an offset of a step's kernel, and adds it if new; NULL: no instruction begins there, or the offset is outside
 * that code. */
static struct source_code *code_at(struct source_values *v, int step, const struct cubin_lines *lines, uint64_t offset)
{
    int low = 0, high = v->code_count;
    while (low < high) {
        int middle = (low + high) / 2;
        const struct source_code *c = &v->code[middle];
        if (c->step < step || (c->step == step && c->offset < offset))
            low = middle + 1;
        else
            high = middle;
    }
    if (low < v->code_count && v->code[low].step == step && v->code[low].offset == offset)
        return &v->code[low];
    struct source_code made = {.step = step, .offset = offset};
    if (!cubin_lines_instruction(lines, offset, made.words, made.inlined, sizeof made.inlined))
        return NULL;
    made.line = cubin_lines_at(lines, offset);
    if (v->code_count == v->code_room) {
        v->code_room = v->code_room ? 2 * v->code_room : 256;
        v->code = xrealloc(v->code, (size_t)v->code_room * sizeof *v->code);
    }
    memmove(v->code + low + 1, v->code + low, (size_t)(v->code_count++ - low) * sizeof *v->code);
    v->code[low] = made;
    return &v->code[low];
}

static void add_wait(struct source_code *c, const char *reason, double samples)
{
    int i = 0;
    c->samples += samples;
    while (i < c->wait_count && strcmp(c->waits[i].reason, reason))
        i++;
    if (i == SOURCE_WAITS)
        return;
    if (i == c->wait_count)
        snprintf(c->waits[c->wait_count++].reason, sizeof c->waits->reason, "%s", reason);
    c->waits[i].samples += samples;
}

/* The line table of the step's kernel; NULL for steps of a library, and without a table. */
static char *entry_of(const struct source_job *job, int step)
{
    const struct step *s = &rig_program(job->rig)->steps[step];
    return compile_entry(s->kind == STEP_KERNEL ? job->images[s->unit].log : NULL, s->name);
}

static struct cubin_lines *lines_of(const struct source_job *job, int step)
{
    const struct program *p = rig_program(job->rig);
    const struct step *s = &p->steps[step];
    const struct device_image *image = s->kind == STEP_KERNEL ? &job->images[s->unit] : NULL;
    SCOPED char *entry = entry_of(job, step);
    return image && image->cubin && p->units[s->unit].path
               ? cubin_lines_open(image->cubin, image->cubin_bytes, entry, p->units[s->unit].path)
               : NULL;
}

/* Runs one step by itself; the steps before it have run. */
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

/* One way to sample or count a step. */
struct look {
    struct cupti_pc *pc; /* NULL: instructions are counted */
    int period;
    struct cupti_sass *sass;
};

static bool sample_step(const struct source_job *job, struct cupti_pc *pc, int period, int step, struct source_values *out,
                        struct error *err)
{
    struct alone alone = {job->dev, job->rig, step};
    struct cupti_samples samples;
    if (!cupti_pc_run(pc, period, run_alone, &alone, &samples, err))
        return false;
    struct cubin_lines *lines = lines_of(job, step);
    SCOPED char *kernel = entry_of(job, step);
    for (int i = 0; i < samples.count; i++) {
        const struct cupti_pc_sample *s = &samples.items[i];
        struct source_code *code = strcmp(s->function, kernel) ? NULL : code_at(out, step, lines, s->offset);
        if (code)
            add_wait(code, s->reason, (double)s->samples);
        source_add(out, step, code ? code->line : 0, s->reason, "samples", (double)s->samples);
    }
    out->samples += (double)samples.total;
    out->dropped += (double)samples.dropped;
    cubin_lines_close(lines);
    cupti_samples_free(&samples);
    return true;
}

static const struct {
    const char *name, *unit;
} counted[] = {{"instructions", ""},         {"lanes", ""},      {"sectors", "sectors"},
               {"sectors_ideal", "sectors"}, {"wavefronts", ""}, {"wavefronts_ideal", ""},
               {"local_sectors", "sectors"}};
/* In the same order. */
const char *const source_metrics[] = {"smsp__sass_inst_executed",
                                      "smsp__sass_thread_inst_executed_pred_on",
                                      "smsp__sass_sectors_mem_global",
                                      "smsp__sass_sectors_mem_global_ideal",
                                      "smsp__sass_l1tex_pipe_lsu_wavefronts_mem_shared",
                                      "smsp__sass_l1tex_pipe_lsu_wavefronts_mem_shared_ideal",
                                      "smsp__sass_sectors_mem_local"};
const int source_metric_count = sizeof source_metrics / sizeof *source_metrics;
_Static_assert(sizeof source_metrics / sizeof *source_metrics == sizeof counted / sizeof *counted, "each metric has a name");

static bool count_step(const struct source_job *job, struct cupti_sass *sass, int step, struct source_values *out, struct error *err)
{
    struct alone alone = {job->dev, job->rig, step};
    struct cupti_sass_counts counts;
    if (!cupti_sass_run(sass, run_alone, &alone, &counts, err))
        return false;
    struct cubin_lines *lines = lines_of(job, step);
    SCOPED char *kernel = entry_of(job, step);
    for (int i = 0; i < counts.count; i++) {
        const struct cupti_sass_count *c = &counts.items[i];
        struct source_code *code = strcmp(c->function, kernel) ? NULL : code_at(out, step, lines, c->offset);
        if (code) {
            code->counts = code->counts ? code->counts : xcalloc((size_t)source_metric_count, sizeof *code->counts);
            code->counts[c->metric] += (double)c->value;
        }
        source_add(out, step, code ? code->line : 0, counted[c->metric].name, counted[c->metric].unit, (double)c->value);
    }
    cubin_lines_close(lines);
    cupti_sass_counts_free(&counts);
    return true;
}

/* Samples or counts all steps once. */
static bool look_at_row(const struct source_job *job, const struct look *look, struct source_values *out, struct error *err)
{
    const struct program *p = rig_program(job->rig);
    bool ok = rig_poison_all(job->rig, err) && rig_prepare(job->rig, NULL, err) &&
              (job->warm ? rig_run_stepwise(job->rig, NULL, NULL, err) : cuda_flush_uncounted(job->dev, err)) &&
              job->dev->ops->sync(job->dev, err);
    for (int i = 0; ok && i < p->step_count; i++)
        if (!p->steps[i].prepare)
            ok = !launches(&p->steps[i]) ? rig_run_step(job->rig, i, err)
                 : look->pc              ? sample_step(job, look->pc, look->period, i, out, err)
                                         : count_step(job, look->sass, i, out, err);
    return ok;
}

bool source_count(const struct source_job *job, struct cupti_sass *sass, struct source_values *out, struct error *err)
{
    *out = (struct source_values){0};
    bool ok = look_at_row(job, &(struct look){.sass = sass}, out, err);
    if (!ok)
        source_values_free(out);
    return ok;
}

/* Takes half of the wanted samples in one run. */
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
    double began = clock_s();
    int period = first_period(job);
    *out = (struct source_values){0};
    do {
        if (!look_at_row(job, &(struct look){.pc = pc, .period = period}, out, err)) {
            source_values_free(out);
            return false;
        }
        if (out->dropped > DROPPED_MOST * out->samples && period < CUPTI_PC_PERIOD_MAX) {
            source_values_free(out); /* the hardware loses samples unevenly, so try again with fewer */
            period++;
        }
    } while (out->samples < SAMPLES_ENOUGH && clock_s() - began < SECONDS_MOST);
    return true;
}

void source_values_free(struct source_values *values)
{
    for (int i = 0; i < values->code_count; i++)
        free(values->code[i].counts);
    free(values->code);
    free(values->items);
    *values = (struct source_values){0};
}
