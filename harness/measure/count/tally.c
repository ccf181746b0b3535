#include "measure/count/tally.h"
#include "base/clock.h"
#include "base/spec.h"
#include "base/text.h"
#include "counter/combine.h"
#include "counter/set.h"
#include "device/cuda/cuda.h"
#include "measure/count/count.h"
#include "measure/count/source.h"
#include "store/family.h"
#include "measure/count/code.h"
#include "op/reference/data.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define OPEN_LIMIT_S 60.0
#define LOAD_LIMIT_S 120.0

struct tally {
    struct counters *c;
    const struct count_request *asked; /* by row */
    int count;
    int *index; /* plan row of each */
    struct build *builds;
    struct counted *items;
    struct row **rows;      /* the rows to report */
    struct code_list *code; /* by row, until all of its instructions are sampled and counted */
    struct op_data data[2]; /* of the case that was entered last, as timed: without and with DATA_FULL */
    int data_case;
    struct cupti_pc *pc; /* while rows are sampled */
    int begin, end;      /* of the rows that are on the device */
    bool has_data[2], warm;
    int first; /* of the items that are being counted */
    int blame;
};

static void stage(struct tally *t, int i, const char *name, double limit_s)
{
    t->blame = i < 0 ? -1 : t->index[i];
    job_stage(t->c->job, t->blame, name, limit_s);
}

static void announce(void *context, int item)
{
    struct tally *t = context;
    stage(t, t->first + item, "count", t->c->job->time_limit_s * 2 + 30);
}

static bool count_has(void *context, const char *metric)
{
    return cupti_has(context, metric);
}

/* Opens the counters for the first case; later cases find them open. */
static bool open_counters(struct counters *counters, struct error *err)
{
    void *context, *stream;
    const struct job *job = counters->job;
    if (counters->cupti)
        return true;
    if (!cuda_native(job->dev, &context, &stream, err) ||
        !cupti_session_open(context, atoi(spec_option(job->dev->spec)), &counters->cupti, err))
        return false;
    cupti_session_rest(counters->cupti); /* only tests that it opens; the rows are traced before they are counted */
    struct cupti_chip *chip = cupti_session_chip(counters->cupti);
    const struct counter_choice *c = &job->plan.counters;
    struct counter_chip asked = {cupti_name(chip), count_has, chip};
    struct cupti_metric ignored;
    if (!ALL_OF(i, c->metric_count, cupti_describe(chip, c->metrics[i], &ignored, err)))
        return false;
    /* The user's metrics first, then the weights that rows of several kernels need. */
    const char **extra = xcalloc((size_t)c->metric_count + 2, sizeof *extra);
    memcpy(extra, c->metrics, (size_t)c->metric_count * sizeof *extra);
    extra[c->metric_count] = counter_weight_time;
    extra[c->metric_count + 1] = counter_weight_active;
    bool ok = counter_set_make(c->groups, c->count, extra, c->metric_count + 2, &asked, &counters->set, err);
    free(extra);
    return ok;
}

bool counters_check(struct counters *c, bool opens, struct error *err)
{
    const char *const *chips;
    size_t count;
    bool ok = opens ? open_counters(c, err) : cupti_chips(&chips, &count, err);
    counter_set_free(&c->set);
    cupti_session_close(c->cupti);
    c->cupti = NULL;
    return ok;
}

void counters_close(struct counters *c)
{
    counter_set_free(&c->set);
    cupti_sass_close(c->sass);
    cupti_session_close(c->cupti);
}

/* lost: the device's memory is gone. */
static void drop_data(struct tally *t, bool lost)
{
    for (int i = 0; i < 2; i++)
        if (t->has_data[i]) {
            if (!lost)
                card_data_free(t->data[i].card);
            op_data_free(&t->data[i]);
            t->has_data[i] = false;
        }
}

/* Inputs like those of the timed rows: rigs have copies of them. */
static bool get_data(struct tally *t, int i, struct op_data **data, struct error *err)
{
    enum data_part part = job_timed_part(t->c->job, t->index[i]);
    int slot = part & DATA_FULL ? 1 : 0, in_case = t->c->job->plan.rows[t->index[i]].case_index;
    if (t->data_case != in_case)
        drop_data(t, false);
    t->data_case = in_case;
    if (!t->has_data[slot]) {
        const struct work *work = &t->c->job->plan.cases[in_case].work;
        struct card *card = data_card(t->c->data);
        stage(t, -1, "data", DATA_LIMIT_S);
        if (!(card ? card_data_inputs(card, work, part, &t->data[slot], err) : op_data_inputs(work, part, &t->data[slot], err)))
            return false;
        t->has_data[slot] = true;
    }
    *data = &t->data[slot];
    return true;
}

/* A library may allocate or choose in its first run. The first run of a kernel is the traced one. */
static bool first_run(struct rig *rig, struct device *dev, bool sampled, struct error *err)
{
    const struct program *p = rig_program(rig);
    bool wanted = sampled;
    for (int i = 0; i < p->step_count; i++)
        wanted |= p->steps[i].kind == STEP_CUDNN || p->steps[i].kind == STEP_CALL;
    return !wanted || (rig_run(rig, err) && dev->ops->sync(dev, err));
}

static bool enter(struct tally *t, int i, struct error *err)
{
    const struct job *job = t->c->job;
    const struct count_request *asked = &t->asked[i];
    const struct program *program = plan_program(&job->plan, t->index[i]);
    struct op_data *data;
    double ns;
    if (!get_data(t, i, &data, err))
        return false;
    stage(t, i, "load", LOAD_LIMIT_S);
    struct rig **rig = &t->items[i].rig;
    t->items[i].name = plan_id(&job->plan, t->index[i]);
    return build_make(job, program, &t->builds[i], err) &&
           vendor_open_rig(t->c->library, job->dev, program, t->builds[i].images, false, asked->has_plan ? &asked->plan : NULL, rig, err) &&
           rig_feed(*rig, data, err) && rig_prepare(*rig, &ns, err) && first_run(*rig, job->dev, t->pc != NULL, err);
}

/* Traces the kernels of one run, for reports and to separate the counted kernels. */
static bool trace(struct tally *t, int i, struct error *err)
{
    struct counted *item = &t->items[i];
    struct row *row = t->rows[i];
    stage(t, i, "trace", LOAD_LIMIT_S);
    if (!count_trace(t->c->job->dev, item, t->warm, err))
        return false;
    row->launched = 0;
    for (int step = 0; step < rig_program(item->rig)->step_count; step++) {
        int first, count = count_launches(item, step, &first);
        if (count < 0 || first + count > item->trace.kernel_count)
            return error_set(err, ERROR_INTERNAL, "%s launched %d kernels, fewer than it has steps", item->name, item->trace.kernel_count);
        for (int k = first; k < first + count; k++, row->launched++) {
            const struct cupti_kernel *one = &item->trace.kernels[k];
            struct row_launch *l = row_add_launch(row);
            row_set(&l->name, one->name);
            l->step = step;
            l->ns = (double)(one->end_ns - one->start_ns);
            l->gap_ns = k > 0 ? (double)(int64_t)(one->start_ns - one[-1].end_ns) : NAN;
            l->registers = one->registers;
            l->static_smem = one->static_smem;
            l->dynamic_smem = one->dynamic_smem;
            for (int d = 0; d < 3; d++) {
                l->grid[d] = one->grid[d];
                l->block[d] = one->block[d];
            }
        }
    }
    return true;
}

static void put_lines(struct tally *t, int i, enum metric_family family, struct source_values *values)
{
    struct row *row = t->rows[i];
    code_of_gpu(&t->code[i], values);
    for (int k = 0; k < values->count; k++) {
        const struct source_value *v = &values->items[k];
        row_add_member(row, family, v->step, v->line, v->name, v->unit, "cupti", v->value);
    }
    source_values_free(values);
}

static struct source_job source_job(struct tally *t, int i)
{
    return (struct source_job){
        .dev = t->c->job->dev, .rig = t->items[i].rig, .images = t->builds[i].images, .warm = t->warm, .time_ns = t->asked[i].time_ns};
}

/* Samples the stalls of the row's warps by source line. */
static bool sample(struct tally *t, int i, struct error *err)
{
    struct source_job job = source_job(t, i);
    struct source_values values;
    stage(t, i, "sample", LOAD_LIMIT_S);
    if (!source_sample(&job, t->pc, &values, err))
        return false;
    row_add_member(t->rows[i], FAMILY_HARDWARE, -1, 0, "samples", "samples", "cupti", values.samples);
    if (values.dropped > 0)
        row_add_member(t->rows[i], FAMILY_HARDWARE, -1, 0, "samples_dropped", "samples", "cupti", values.dropped);
    put_lines(t, i, FAMILY_SAMPLES, &values);
    return true;
}

/* Counts how often the lines of all rows ran, after sampling. */
static bool count_lines(struct tally *t, struct error *err)
{
    struct counters *c = t->c;
    const struct job *job = c->job;
    void *context, *stream;
    stage(t, -1, PHASE_STAGE_COUNTERS, OPEN_LIMIT_S);
    if (!c->sass && (!cuda_native(job->dev, &context, &stream, err) ||
                     !cupti_sass_open(context, atoi(spec_option(job->dev->spec)), source_metrics, source_metric_count, &c->sass, err)))
        return false;
    for (int i = t->begin; i < t->end; i++) {
        struct source_job lines = source_job(t, i);
        struct source_values values;
        stage(t, i, "count lines", LOAD_LIMIT_S);
        if (!source_count(&lines, c->sass, &values, err))
            return false;
        put_lines(t, i, FAMILY_LINE, &values);
        code_keep_list(t->rows[i], &t->code[i]);
    }
    return true;
}

static double fact(void *context, const char *name)
{
    const struct count_facts *facts = context;
    for (int i = 0; facts && i < facts->count; i++)
        if (!strcmp(facts->items[i].name, name))
            return facts->items[i].value;
    return NAN;
}

/* Where to store the values of one range. */
struct sheet {
    struct row *row;
    int step;
};

static void put_value(void *context, const struct counter_value *value, double number)
{
    struct sheet *s = context;
    row_add_member(s->row, value->state ? FAMILY_STALL : FAMILY_HARDWARE, s->step, 0, value->state ? value->state : value->name,
                   value->unit, "cupti", number);
}

static void count_take(struct tally *t, int i, int step, const double *measured, const struct count_facts *facts)
{
    struct counters *c = t->c;
    const struct job *job = c->job;
    struct counter_known known = {.fact = fact, .context = (void *)facts};
    struct sheet s = {.row = t->rows[i], .step = step};
    counter_set_each(&c->set, measured, &known, put_value, &s);
    for (int m = 0; m < job->plan.counters.metric_count; m++) { /* the set has them first */
        struct cupti_metric about;
        bool described = cupti_describe(cupti_session_chip(c->cupti), c->set.metrics[m], &about, NULL);
        if (isfinite(measured[m]))
            row_add_metric(t->rows[i], step, 0, c->set.metrics[m], described ? about.unit : "", "cupti", measured[m]);
    }
}

static bool is_slow(const struct tally *t, int i)
{
    return t->c->job->plan.counters.unasked && t->asked[i].slow;
}

static void report(struct tally *t, int i, const double *row, double *const *steps, int passes, double seconds)
{
    const struct count_request *asked = &t->asked[i];
    count_take(t, i, -1, row, &asked->facts);
    for (int k = 0; steps && k < rig_program(t->items[i].rig)->step_count; k++)
        if (steps[k])
            count_take(t, i, k, steps[k], k < asked->step_count ? &asked->steps[k] : NULL);
    row_add_member(t->rows[i], FAMILY_HARDWARE, -1, 0, "passes", "", "cupti", passes);
    row_add_member(t->rows[i], FAMILY_HARDWARE, -1, 0, "cost_s", "s", "cupti", seconds);
    row_add_member(t->rows[i], FAMILY_HARDWARE, -1, 0, "kernels", "", "cupti", t->items[i].trace.kernel_count);
}

/* Writes the values of the metrics `which` to their places in the whole set. */
static double *spread(const struct counter_set *set, const int *which, int count, const double *values)
{
    double *all = xcalloc((size_t)set->count, sizeof *all);
    for (int m = 0; m < set->count; m++)
        all[m] = NAN;
    for (int m = 0; m < count; m++)
        all[which[m]] = values[m];
    return all;
}

static bool count_rows(struct tally *t, int first, int last, const int *which, int count, struct error *err)
{
    struct counters *c = t->c;
    const char **metrics = xcalloc((size_t)count + 1, sizeof *metrics);
    for (int m = 0; m < count; m++)
        metrics[m] = c->set.metrics[which[m]];
    struct count_job job = {.dev = c->job->dev,
                            .session = c->cupti,
                            .items = t->items + first,
                            .count = last - first,
                            .announce = announce,
                            .context = t,
                            .warm = t->warm,
                            .metrics = metrics,
                            .metric_count = (size_t)count};
    struct count_result result;
    double began = clock_s();
    t->first = first;
    bool ok = count_run(&job, &result, err);
    int counted = 0;
    for (int i = first; i < last; i++)
        counted += t->items[i].trace.kernel_count > 0;
    double seconds = (clock_s() - began) / counted;
    for (int i = first; ok && i < last; i++) {
        if (!t->items[i].trace.kernel_count)
            continue;
        if (result.why[i - first]) {
            row_set(&t->rows[i]->uncounted, result.why[i - first]);
            continue;
        }
        double **steps = result.steps[i - first], *row = spread(&c->set, which, count, result.rows[i - first]);
        for (int k = 0; steps && k < rig_program(t->items[i].rig)->step_count; k++) {
            double *own = steps[k];
            steps[k] = own ? spread(&c->set, which, count, own) : NULL;
            free(own);
        }
        report(t, i, row, steps, result.passes, seconds);
        free(row);
    }
    if (ok)
        count_free(&result, t->items + first);
    free(metrics);
    return ok;
}

/* Counts as many rows at once as CUPTI has ranges for, all slow or none; passes over rows that launch no kernel. */
static bool count_some(struct tally *t, int first, int *next, struct error *err)
{
    struct counters *c = t->c;
    int ranges = 0, last = first;
    bool slow = is_slow(t, first);
    for (; last < t->end && is_slow(t, last) == slow && ranges + count_ranges(&t->items[last], t->warm) <= CUPTI_RANGES_MAX; last++) {
        ranges += count_ranges(&t->items[last], t->warm);
        if (!t->items[last].trace.kernel_count)
            row_set(&t->rows[last]->uncounted, "it launches no kernel, only copies");
    }
    *next = last > first ? last : first + 1;
    if (last == first)
        row_set(&t->rows[first]->uncounted, "it launches more kernels than CUPTI can distinguish");
    if (!ranges)
        return true;
    int *which = xcalloc((size_t)c->set.count, sizeof *which), count = slow ? counter_set_slow(&c->set, which) : c->set.count;
    for (int m = 0; !slow && m < count; m++)
        which[m] = m;
    bool ok = count_rows(t, first, last, which, count, err);
    free(which);
    return ok;
}

static void leave(struct tally *t, int i, bool lost)
{
    if (!lost)
        rig_close(t->items[i].rig);
    t->items[i].rig = NULL;
    cupti_trace_free(&t->items[i].trace);
    build_free(&t->builds[i]);
}

/* Enters rows from `begin` on while they fit on the device together. The first row that does not fit starts the next part; if it does
 * not fit alone, that is an error. */
static bool enter_some(struct tally *t, struct error *err)
{
    for (t->end = t->begin; t->end < t->count; t->end++) {
        if (enter(t, t->end, err) && (!t->pc || sample(t, t->end, err)))
            continue;
        if (t->end == t->begin || t->pc || err->kind != ERROR_ENVIRONMENT)
            return false;
        error_clear(err);
        leave(t, t->end, false);
        return true;
    }
    return true;
}

/* Those that were entered. */
static bool tally_some(struct tally *t, struct error *err)
{
    struct counters *c = t->c;
    const struct job *job = c->job;
    cupti_pc_close(t->pc);
    t->pc = NULL;
    if (job->options.counters.source && !count_lines(t, err))
        return error_where(err, "--source");
    stage(t, -1, PHASE_STAGE_COUNTERS, OPEN_LIMIT_S);
    if (!open_counters(c, err))
        return false;
    stage(t, -1, "trace", LOAD_LIMIT_S);
    bool ok = cupti_trace_begin(err);
    for (int i = t->begin; ok && i < t->end; i++)
        ok = trace(t, i, err);
    cupti_trace_end();
    for (int i = t->begin; ok && i < t->end;)
        ok = count_some(t, i, &i, err);
    if (!ok)
        return false;
    stage(t, -1, "count", LOAD_LIMIT_S);
    cupti_session_rest(c->cupti);
    return true;
}

static bool tally(struct tally *t, struct error *err)
{
    struct counters *c = t->c;
    const struct job *job = c->job;
    while (t->begin < t->count) {
        stage(t, -1, PHASE_STAGE_COUNTERS, OPEN_LIMIT_S);
        if (job->options.counters.source) { /* the range profiler must rest meanwhile: the two exclude each other */
            void *context, *stream;
            if (!cuda_native(job->dev, &context, &stream, err) || !cupti_pc_open(context, &t->pc, err))
                return error_where(err, "--source");
        } else if (!open_counters(c, err)) {
            return false;
        }
        if (!enter_some(t, err) || !tally_some(t, err))
            return false;
        for (int i = t->begin; i < t->end; i++)
            leave(t, i, false);
        t->begin = t->end;
    }
    return true;
}

bool counters_run(struct counters *c, const struct count_request *asked, int row_count, bool warm, int *blame, struct error *err)
{
    size_t count = (size_t)row_count;
    const struct job *job = c->job;
    struct tally t = {.c = c, .asked = asked, .count = row_count, .blame = -1, .data_case = -1, .warm = warm};
    t.index = xcalloc(count, sizeof *t.index);
    t.rows = xcalloc(count, sizeof *t.rows);
    t.builds = xcalloc(count, sizeof *t.builds);
    t.items = xcalloc(count, sizeof *t.items);
    t.code = xcalloc(count, sizeof *t.code);
    for (size_t i = 0; i < count; i++) {
        t.index[i] = asked[i].row;
        t.rows[i] = row_new();
        t.rows[i]->status = plan_program(&job->plan, t.index[i])->checked ? ROW_OK : ROW_FOIL;
    }
    bool ok = count > 0 && tally(&t, err);
    *blame = t.blame;
    cupti_pc_close(t.pc);
    for (size_t i = 0; i < count; i++) {
        if (ok)
            job_row(job, t.index[i], t.rows[i]);
        leave(&t, (int)i, !ok);                /* the context may be lost, and this process ends */
        code_keep_list(t.rows[i], &t.code[i]); /* does nothing unless counting failed in between */
        row_free(t.rows[i]);
    }
    drop_data(&t, !ok);
    FREE_ALL(t.index, t.rows, t.builds, t.items, t.code);
    return ok;
}
