/* One row alone: compiled, run on exact and on full-mantissa data, checked, its output, guard zones and inputs looked at. What it kills is
 * its own. */
#include "base/clock.h"
#include "base/file.h"
#include "base/text.h"
#include "run/message/wire.h"
#include "op/op_file.h"
#include "op/reference/data.h"
#include "store/family.h"
#include "run/child/private.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define COMPILE_LIMIT_S 180.0
#define GUESSED_MOST 1e4   /* bounds: more is no matter of cancelling */
#define NO_TERMS_MOST 1e-3 /* of the value: more is no matter of rounding */
#define ODD_SHARE 1e-2     /* of the elements: more are no matter of rounding to a whole number */
#define LOAD_LIMIT_S 60.0

struct trial {
    struct worker *w;
    const struct program *program;
    struct rig *rig;
    const struct build *build;
    struct row *row;
    int index, step;
    char *dump_dir;
};

static bool blame_row(struct trial *t, const struct error *why, enum row_status otherwise)
{
    return worker_blame(t->w, t->row, why, otherwise);
}

static void count_metric(void *context, const struct device_counter *c, int line, double value)
{
    struct trial *t = context;
    if (value != 0 || line == 0)
        row_add_member(t->row, c->warp ? FAMILY_WARP : FAMILY_EMU, t->step, line, c->word, c->unit, "emu", value);
}

static void take_instructions(void *context, const struct device_counter *c, int line, double value)
{
    if (!line && !strcmp(c->name, "emu.warp_instructions"))
        *(double *)context += value;
}

double worker_instructions(struct device *dev)
{
    double instructions = 0;
    dev->ops->counters(dev, take_instructions, &instructions);
    return instructions;
}

/* A copy and a host function run no instruction of emu's: their counts are unknown, not 0. */
static bool count_step(void *context, int step, struct error *err)
{
    struct trial *t = context;
    struct device *dev = t->w->dev;
    (void)err;
    t->step = step;
    if (worker_instructions(dev) > 0) {
        dev->ops->counters(dev, count_metric, t);
        if (t->program->steps[step].kind == STEP_KERNEL)
            worker_code_of_emu(dev, &t->build->images[t->program->steps[step].unit], t->row, step);
    }
    const struct device_report *reports;
    if (dev->ops->reports(dev, &reports) > 0)
        return true; /* keep the reports for take_reports */
    dev->ops->clear(dev);
    return true;
}

/* Sums of the steps' counters, for the row. */
static void sum_steps(struct row *row)
{
    int count = row->metric_count;
    for (int i = 0; i < count; i++) {
        struct row_metric m = row->metrics[i]; /* a copy: adding moves the array */
        if (strcmp(m.source, "emu") || m.line || m.step < 0)
            continue;
        bool seen = false;
        for (int k = count; k < row->metric_count && !seen; k++)
            if (!strcmp(row->metrics[k].name, m.name)) {
                row->metrics[k].value += m.value;
                seen = true;
            }
        if (!seen) {
            m.step = -1;
            *row_add_metric(row, -1, 0, "", "", "", 0) = m;
        }
    }
}

static bool run_once(struct trial *t, bool counted, struct error *err)
{
    struct device *dev = t->w->dev;
    worker_stage(t->w, t->index, "run", t->w->time_limit_s + 5);
    if (!counted || !dev->ops->counters)
        return rig_run(t->rig, err) && dev->ops->sync(dev, err);
    dev->ops->clear(dev);
    return rig_run_stepwise(t->rig, count_step, t, err) && dev->ops->sync(dev, err);
}

/* A few whole numbers, each beside the one that the reference rounded to. */
static bool is_off_by_rounding(const struct program *p, const struct verdict *v)
{
    bool whole = false;
    for (int i = 0; i < p->tensor_count; i++)
        whole |= p->tensors[i].role->slot == v->slot && dtype_is_whole(p->tensors[i].dtype);
    return whole && v->worst_bound > 0 && fabs(v->worst_got - v->worst_want) == 1 && (double)v->wrong <= (double)v->elements * ODD_SHARE;
}

const char *worker_near_why(const struct program *p, const struct op_data *data, const struct verdict *v)
{
    const struct work *work = &p->work;
    const struct op_file *file = work->op->file ? work->op->file : work->op->image;
    double off = fabs(v->worst_got - v->worst_want);
    bool near = off > 0 && off <= NO_TERMS_MOST * fabs(v->worst_want), bounded = file && file->tolerance > 0;
    double want = fabs(v->worst_want);
    if (file && near && data->exact && op_is_exact(work->op) && (want > dtype_exact_integer(DTYPE_F32) || (double)(float)want != want))
        return "; of small whole numbers the op makes what f32 rounds, so that a right kernel need not have the same bits: `exact: no` "
               "says so (docs/OP.md)";
    if (file && !work->op->has_filter && work_terms(work) == 1 && !bounded && near)
        return "; the op says that a result is made of 1 number: where more are added up, `terms` is how many (docs/OP.md)";
    if (data->at[v->slot].guessed && off <= GUESSED_MOST * v->worst_bound)
        return "; the reference gives no magnitude, without which a right kernel whose sums cancel may be this far off "
               "(docs/OP.md, Tolerance)";
    if (file && !file->stages && is_off_by_rounding(p, v))
        return "; the reference rounds: left as it is, either neighbour of a value near the middle would be right "
               "(docs/OP.md, Tolerance)";
    if (file && !file->stages && work_terms(work) == 0 && !bounded && near)
        return "; the op says no `terms`, so that values must come out bit for bit: where they are computed it is 1 or more (docs/OP.md)";
    return "";
}

/* After a run: true when the row is still right. */
static bool judge(struct trial *t, const struct op_data *data, const char *when, double *over, struct error *err, bool *failed)
{
    struct verdict v;
    struct text unsafe = {0};
    *failed = false;
    worker_stage(t->w, t->index, "verify", DATA_LIMIT_S);
    worker_take_reports(t->w, t->row);
    if (t->row->status == ROW_PLANNED) {
        if (!rig_check(t->rig, data, &v, &unsafe, t->dump_dir, err)) {
            *failed = true;
        } else if (!v.ok) {
            t->row->status = ROW_WRONG;
            char *reason = text_format("%s%s%s%s%s", v.text, *when ? " " : "", when, worker_near_why(t->program, data, &v),
                                       unsafe.len ? "; it also " : "");
            char *whole = text_format("%s%s", reason, text_get(&unsafe));
            row_set(&t->row->reason, whole);
            free(whole);
            free(reason);
            if (t->dump_dir)
                row_set(&t->row->dump, t->dump_dir);
        } else if (unsafe.len) {
            t->row->status = ROW_UNSAFE;
            row_set(&t->row->reason, text_get(&unsafe));
        } else if (!rig_state_check(t->rig, &unsafe, err)) {
            *failed = true;
        } else if (unsafe.len) {
            t->row->status = ROW_STATEFUL;
            row_set(&t->row->reason, text_get(&unsafe));
        }
        row_add_note(t->row, "%s", v.note);
        if (over && v.error_over_bound >= 0)
            *over = v.error_over_bound;
    }
    text_free(&unsafe);
    return !*failed && t->row->status == ROW_PLANNED;
}

/* What a launch finds of the launch before it. */
enum trial_left { LEFT_NOTHING, LEFT_SCRATCH, LEFT_ALL };

/* Brings the data of a part, prepares and runs; *prepare_ns, *first_ns: host times. */
static bool launch(struct trial *t, struct op_data *data, enum trial_left left, bool counted, double *prepare_ns, double *first_ns,
                   struct error *err)
{
    struct device *dev = t->w->dev;
    worker_stage(t->w, t->index, "load", LOAD_LIMIT_S);
    if (dev->ops->clear)
        dev->ops->clear(dev);
    if (!(left == LEFT_NOTHING ? rig_feed(t->rig, data, err) : rig_refeed(t->rig, data, err)) ||
        (left == LEFT_SCRATCH && !rig_poison(t->rig, err)))
        return false;
    worker_stage(t->w, t->index, "run", t->w->time_limit_s + 5);
    if (!rig_prepare(t->rig, prepare_ns, err) || !rig_state_keep(t->rig, err))
        return false;
    double start = clock_s();
    bool ok = run_once(t, counted, err);
    *first_ns = (clock_s() - start) * 1e9;
    return ok;
}

static bool part_data(struct trial *t, enum data_part part, struct op_data **data, struct error *err)
{
    worker_stage(t->w, t->index, "data", DATA_LIMIT_S);
    return worker_data(t->w, t->index, worker_verified_part(t->w, t->index, part), data, err);
}

/* On small whole numbers; counted on emu. A row that is not exact by its own word is run on them all the same: what it leaves lies there
 * when the next part begins. */
static bool run_exact(struct trial *t, bool judged, struct error *err)
{
    struct op_data *data;
    bool failed = false;
    double prepare = NAN, first;
    if (!part_data(t, DATA_PART_EXACT, &data, err))
        return false;
    if (!launch(t, data, LEFT_NOTHING, true, &prepare, &first, err))
        return blame_row(t, err, ROW_CRASHED);
    if (t->w->dev->ops->keeps_time) {
        t->row->first_call_ns = first;
        t->row->prepare_ns = prepare;
    }
    if (judged)
        return judge(t, data, op_is_exact(t->program->work.op) ? "(exact data)" : "", NULL, err, &failed) || !failed ||
               blame_row(t, err, ROW_CRASHED);
    worker_take_reports(t->w, t->row);
    return true;
}

/* It was wrong on what another launch had left. A row that is right on nothing is named for what it makes of the rest. */
static bool explain_left(struct trial *t, struct op_data *data, struct error *err)
{
    struct op_data *exact;
    bool failed = false, ok = false;
    double prepare, first;
    char *said = xstrdup(t->row->reason);
    t->row->status = ROW_PLANNED;
    if (!launch(t, data, LEFT_NOTHING, false, &prepare, &first, err))
        goto done;
    if (!judge(t, data, "", NULL, err, &failed)) { /* wrong on nothing too */
        ok = !failed;
        goto done;
    }
    if (!part_data(t, DATA_PART_EXACT, &exact, err) || !launch(t, exact, LEFT_NOTHING, false, &prepare, &first, err) ||
        !launch(t, data, LEFT_SCRATCH, false, &prepare, &first, err))
        goto done;
    bool looks = judge(t, data, "", NULL, err, &failed);
    if (failed)
        goto done;
    char *reason = text_format("%s: right where nothing is left of the launch before it, else %s",
                               looks ? "looks at what its output holds before it writes" : "keeps results in its scratch", said);
    t->row->status = ROW_WRONG;
    row_set(&t->row->reason, reason);
    free(reason);
    ok = true;
done:
    free(said);
    return ok || blame_row(t, err, ROW_CRASHED);
}

/* Is the launch over nothing made where the row is timed (bout_enter), of the same code on the same data? A library has another plan there.
 */
static bool is_launched_there(const struct trial *t, uint64_t sum)
{
    struct worker *w = t->w;
    if (!w->timed_next || !w->card || rig_library_step(t->rig, 0) >= 0 ||
        worker_verified_part(w, t->index, DATA_PART_PRECISION) != worker_timed_part(w, t->index))
        return false;
    w->left = w->left ? w->left : xcalloc((size_t)w->plan.row_count, sizeof *w->left);
    w->left[t->index] = (struct left){true, sum};
    return true;
}

void worker_same_bits(const struct worker *w, int index, const struct rig *rig, struct row *row)
{
    const struct left *left = w->left ? &w->left[index] : NULL;
    if (left && left->known && row->status == ROW_OK)
        row_add_metric(row, -1, 0, "verify.same_bits", "", "verify", rig_output_sum(rig) == left->sum);
}

/* With its blocks in another order than that of their numbers. What waits for a block of a lower number does not end then: that is no
 * fault, as GPUs begin blocks so. */
static bool run_reordered(struct trial *t, const struct op_data *data, struct error *err)
{
    const struct device_ops *ops = t->w->dev->ops;
    const struct device_report *reports;
    bool failed = false, waits = false;
    bool ready = rig_wipe(t->rig, err) && rig_prepare(t->rig, NULL, err) && rig_state_keep(t->rig, err);
    ops->reorder(t->w->dev, 1);
    bool ran = ready && run_once(t, false, err);
    ops->reorder(t->w->dev, 0);
    for (int i = ops->reports(t->w->dev, &reports) - 1; i >= 0; i--)
        waits |= !strcmp(reports[i].kind, "time_limit") || !strcmp(reports[i].kind, "deadlock");
    if (!waits && (!ran || (!judge(t, data, "", NULL, err, &failed) && failed)))
        return ready && blame_row(t, err, ROW_CRASHED);
    if (waits)
        ops->clear(t->w->dev);
    if (t->row->status != ROW_PLANNED) {
        char *reason = text_format("right with its blocks in the order of their numbers, but not in another: %s", t->row->reason);
        row_set(&t->row->reason, reason);
        free(reason);
    }
    return true;
}

/* On data of full precision, twice: on what the launch before left, of other inputs; and on nothing, where it must be right again. Of most
 * rows that are timed next the second launch is the first that is made there. */
static bool run_precision(struct trial *t, double *over, struct error *err)
{
    struct op_data *data;
    bool failed;
    double ignored;
    if (!part_data(t, DATA_PART_PRECISION, &data, err))
        return false;
    /* where values decide what is active, pixels that were active hold what nobody has to write now */
    enum trial_left left = t->program->work.op->settle ? LEFT_SCRATCH : LEFT_ALL;
    if (!launch(t, data, left, false, &ignored, &ignored, err))
        return blame_row(t, err, ROW_CRASHED);
    if (!judge(t, data, "", over, err, &failed))
        return failed ? blame_row(t, err, ROW_CRASHED) : t->row->status != ROW_WRONG || explain_left(t, data, err);
    uint64_t first = rig_output_sum(t->rig);
    if (is_launched_there(t, first))
        return true;
    if (!rig_wipe(t->rig, err) || !rig_prepare(t->rig, NULL, err) || !rig_state_keep(t->rig, err))
        return false;
    if (t->w->dev->ops->reorder)
        t->w->dev->ops->reorder(t->w->dev, 0);
    if (!run_once(t, false, err))
        return blame_row(t, err, ROW_CRASHED);
    bool right = judge(t, data, "on its second launch (the first was right)", over, err, &failed);
    if (right && t->program->checked)
        row_add_metric(t->row, -1, 0, "verify.same_bits", "", "verify", rig_output_sum(t->rig) == first);
    if (right && t->w->dev->ops->reorder && t->w->dev->ops->reorder(t->w->dev, 0))
        return run_reordered(t, data, err);
    return right || !failed || blame_row(t, err, ROW_CRASHED);
}

/* What only the device knows of its launches. */
static void ask_device(struct trial *t)
{
    for (int i = 0; i < t->program->step_count; i++) {
        int clusters = rig_clusters(t->rig, i);
        if (clusters > 0)
            row_add_metric(t->row, i, 0, "driver.clusters", "clusters", "driver", clusters);
    }
}

static void read_columns(struct trial *t)
{
    for (int i = 0; i < t->program->column_count; i++) {
        const struct program_column *c = &t->program->columns[i];
        double value;
        struct error ignored = {0};
        if (rig_read(t->rig, c->buffer, c->element, &value, &ignored))
            row_add_metric(t->row, -1, 0, c->name, "", "variant", value);
    }
}

/* A variant that counts its own active tiles must have counted as many as the CPU, which has done so when the run was planned. */
static bool tiles_agree(struct trial *t, struct error *err)
{
    const struct row_metric *own = row_metric(t->row, -1, "tiles_active");
    const json_t *known = t->w->tiles;
    struct tile_stats stats = {.tiles = json_integer_value(json_array_get(known, 0)),
                               .active = json_integer_value(json_array_get(known, 1))};
    if (!own || t->program->tile.h < 1)
        return true;
    if (!known && !plan_tiles(&t->w->plan, t->index, &stats, err))
        return false;
    if (own->value == (double)stats.active)
        return true;
    char *reason =
        text_format("its column tiles_active is %.15g, but %lld of %lld tiles of %lldx%lld have an active output", own->value,
                    (long long)stats.active, (long long)stats.tiles, (long long)t->program->tile.h, (long long)t->program->tile.w);
    t->row->status = ROW_WRONG;
    row_set(&t->row->reason, reason);
    free(reason);
    return true;
}

/* The last use of the rig's inputs. */
static bool prepares_blindly(struct trial *t, struct error *err)
{
    bool depends;
    worker_stage(t->w, t->index, "prepare", LOAD_LIMIT_S);
    if (!rig_prepare_depends(t->rig, &depends, err))
        return blame_row(t, err, ROW_CRASHED);
    if (depends) {
        t->row->status = ROW_UNSAFE;
        row_set(&t->row->reason, "what it prepares depends on inputs, which prepare is not given: it finds them in memory");
    }
    return true;
}

static void describe_check(struct trial *t, bool exact, double over)
{
    struct text text = {0};
    if (exact)
        text_add(&text, "exact");
    if (isfinite(over)) {
        text_addf(&text, "%s%.2g tol", exact ? " + " : "", over);
        t->row->error_over_bound = over;
    }
    row_set(&t->row->check, text_get(&text));
    text_free(&text);
}

static bool try_row(struct trial *t, struct build *build, struct error *err)
{
    const struct program *p = t->program;
    struct worker *w = t->w;
    double over = NAN;
    bool exact = p->exact && p->checked;
    if (!p->feasible) { /* a chain's, known only now */
        t->row->status = ROW_INFEASIBLE;
        row_set(&t->row->reason, p->reason);
        row_set(&t->row->clause, p->clause);
        return true;
    }
    for (int i = 0; i < p->step_count; i++)
        if (p->steps[i].kind == STEP_CUDNN && !w->library) {
            t->row->status = ROW_SKIPPED;
            row_set(&t->row->reason, w->dev->ops->keeps_time ? w->library_error : "not on emu: cuDNN needs a GPU");
            return true;
        }
    t->build = build;
    worker_stage(w, t->index, "load", LOAD_LIMIT_S);
    build_look(build);
    struct text how = {0};
    if (rig_may_remember(build->images, build->count, &how)) {
        t->row->status = ROW_STATEFUL;
        row_set(&t->row->reason, text_get(&how));
        text_free(&how);
        return true;
    }
    if (w->plan.rows[t->index].kind == PLAN_SEQUENCE)
        return worker_sequence_verify(w, t->index, build, t->row, &t->rig, err);
    if (!worker_file_task(w, t->index, t->row, err))
        return false;
    if (t->row->status != ROW_PLANNED)
        return true;
    if (!rig_open(w->dev, w->library, p, build->images, true, &t->rig, err))
        return blame_row(t, err, ROW_BROKEN);
    rig_time_limit(t->rig, w->time_limit_s);
    if (rig_library_step(t->rig, 0) >= 0) {
        const struct cudnn_plan_facts *first = rig_plan_facts(t->rig, rig_library_step(t->rig, 0), 0);
        row_set(&t->row->engine, first->text);
        t->row->engine_number = first->engine;
    }
    if (!run_exact(t, exact || !p->checked, err) || (t->row->status == ROW_PLANNED && p->checked && !run_precision(t, &over, err)))
        return false;
    if (t->row->status != ROW_PLANNED)
        return true;
    read_columns(t);
    if (!prepares_blindly(t, err) || t->row->status != ROW_PLANNED)
        return t->row->status != ROW_PLANNED;
    ask_device(t);
    if (!tiles_agree(t, err) || t->row->status != ROW_PLANNED)
        return t->row->status != ROW_PLANNED;
    sum_steps(t->row);
    t->row->status = p->checked ? ROW_OK : ROW_FOIL;
    const struct work *work = &w->plan.cases[w->plan.rows[t->index].case_index].work;
    if (p->checked)
        describe_check(t, exact && op_is_exact(work->op),
                       work->op->has_math || work_terms(work) > 0 || !op_is_exact(work->op) ? over : NAN);
    return true;
}

/* A case whose work lets any kernel pass is no task: its rows are refused, whatever they do. Looked at once a case. */
static bool refuse_degenerate(struct trial *t, struct error *err)
{
    struct worker *w = t->w;
    const struct plan_row *p = &w->plan.rows[t->index];
    if (p->kind != PLAN_LAYER || w->plan.cases[p->case_index].work.op->file) /* of a file: worker_file_task, with its data */
        return true;
    if (w->task_case != p->case_index && !op_degenerate(&w->plan.cases[p->case_index].work, &w->no_task, err))
        return false;
    w->task_case = p->case_index;
    if (!w->no_task)
        return true;
    char *reason = text_format("the work is no task: %s", w->no_task);
    t->row->status = ROW_BROKEN;
    row_set(&t->row->reason, reason);
    free(reason);
    return true;
}

/* Its units, what the compiler says of them, and what of it tells two builds apart. False: no compiler at all, which is nobody's row. */
static bool compile_row(struct trial *t, struct build *build, struct error *err)
{
    const struct worker *w = t->w;
    const struct plan_row *p = &w->plan.rows[t->index];
    t->row->cropped = w->plan.cases[p->case_index].cropped;
    if ((!build_kept(t->w, t->index, build) && !build_make(w, &p->program, build, err)) ||
        !build_facts(build, &p->program, &w->plan.chip, t->row, err)) {
        if (err->kind == ERROR_ENVIRONMENT || err->kind == ERROR_MACHINE)
            return false;
        t->row->status = ROW_BROKEN;
        row_set_reason(t->row, err);
        return true;
    }
    for (int i = 0; i < build->count && !t->row->compiler; i++)
        if (build->units[i].compiler[0])
            row_set(&t->row->compiler, build->units[i].compiler);
    if (p->kind != PLAN_SEQUENCE) /* whose frames are more than one program */
        build_launch_hash(build, &p->program, &w->plan.cases[p->case_index].work, t->row);
    return true;
}

bool worker_identify(struct worker *w, int index, struct error *err)
{
    struct trial t = {.w = w, .program = &w->plan.rows[index].program, .row = row_new(), .index = index};
    struct build build = {0};
    worker_stage(w, index, "compile", COMPILE_LIMIT_S);
    bool ok = compile_row(&t, &build, err);
    if (ok && t.row->status == ROW_PLANNED) /* else it is told when it is verified */
        w->emit(w->context, event_new(EVENT_ROW, "{s:i,s:{s:s}}", "row", index, "fields", "launch_hash", t.row->launch_hash));
    build_free(&build);
    row_free(t.row);
    return ok;
}

bool worker_verify(struct worker *w, int index, struct error *err)
{
    const struct plan_row *p = &w->plan.rows[index];
    struct trial t = {.w = w, .program = &p->program, .row = row_new(), .index = index};
    struct build build = {0};
    bool ok = false;
    if (worker_recall(w, index)) {
        row_free(t.row);
        return true;
    }
    if (w->dump_dir) {
        char name[HASH_TEXT];
        hash_bytes(p->id, strlen(p->id), name);
        name[12] = 0;
        t.dump_dir = file_join(w->dump_dir, name);
    }
    worker_stage(w, index, "compile", COMPILE_LIMIT_S);
    if (w->dev->ops->clear) /* what was found of another row is not this one's */
        w->dev->ops->clear(w->dev);
    if (!refuse_degenerate(&t, err))
        goto done;
    if (t.row->status == ROW_BROKEN) {
        /* nothing is tried */
    } else if (!compile_row(&t, &build, err)) {
        goto done;
    } else if (t.row->status == ROW_PLANNED) {
        worker_fits_math(w, index, &build, t.row);
        w->plan.rows[index].program.rounds = p->kind == PLAN_LAYER && worker_sums_round(&p->program, build.images);
        worker_waits(w, index, &build, t.row);
        if (t.row->status == ROW_PLANNED && !(w->options.tune && worker_refuses(w, index, t.row)) && !try_row(&t, &build, err))
            goto done;
        if (t.row->status == ROW_OK && !worker_neighbours(w, index, &build, t.row, err))
            goto done;
        if (t.row->status != ROW_CRASHED && t.row->status != ROW_HUNG && !worker_own_look(w, index, t.row, err))
            goto done;
    }
    worker_remember(w, index, t.row);
    if (t.row->status == ROW_OK || t.row->status == ROW_FOIL)
        build_keep(w, index, &build);
    w->emit(w->context, event_new(EVENT_ROW, "{s:i,s:o}", "row", index, "fields", wire_row(t.row)));
    w->lost = t.row->status == ROW_CRASHED && w->dev->ops->keeps_time;
    ok = true;
done:
    if (!w->lost) /* else closing would only fail again */
        rig_close(t.rig);
    build_free(&build);
    row_free(t.row);
    free(t.dump_dir);
    return ok;
}
