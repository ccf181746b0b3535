#include "measure/trust/verifier.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/text.h"
#include "measure/trust/failure.h"
#include "measure/count/code.h"
#include "measure/trust/code_check.h"
#include "measure/rig/compile_facts.h"
#include "measure/trust/input_guard.h"
#include "measure/trust/unread.h"
#include "store/family.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define COMPILE_LIMIT_S 180.0
#define LOAD_LIMIT_S 60.0

struct trial {
    struct verifier *v;
    struct device *dev;
    const struct program *program;
    struct rig *rig;
    const struct build *build;
    struct row *row;
    int index, step;
    bool counted; /* already: of the whole layer */
    double executed;
    char *dump_dir;
    const char *rounds; /* the type to which the store rounds, if that is most of the largest error's tolerance; NULL: it is not */
};

/* True: the failure is the row's. */
static bool blame_row(struct trial *t, const struct error *why, enum row_status otherwise)
{
    failure_blame(t->dev, t->row, why, otherwise);
    return true;
}

static void count_metric(void *context, const struct device_counter *c, int line, double value)
{
    struct trial *t = context;
    if (value != 0 || line == 0)
        row_add_member(t->row, c->warp ? FAMILY_WARP : FAMILY_EMU, t->step, line, c->word, c->unit, "emu", value);
}

/* Copies and host functions run no instruction on emu, so their counts are unknown, not 0. */
static bool count_step(void *context, int step, struct error *err)
{
    struct trial *t = context;
    struct device *dev = t->dev;
    t->step = step;
    if (code_instructions(dev) > 0 && program_same_steps(t->program, plan_program(&t->v->job->plan, t->index))) {
        dev->ops->counters(dev, count_metric, t);
        unequal_count(dev, &t->program->steps[step], t->row, step);
        if (t->program->steps[step].kind == STEP_KERNEL)
            code_of_emu(dev, &t->build->images[t->program->steps[step].unit], t->row, step);
    }
    const struct device_report *reports; /* kept for failure_take_reports */
    if (!dev->ops->reports(dev, &reports))
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
        int k = count;
        while (k < row->metric_count && strcmp(row->metrics[k].name, m.name))
            k++;
        m.step = -1;
        if (k < row->metric_count)
            row->metrics[k].value += m.value;
        else
            *row_add_metric(row, -1, 0, "", "", "", 0) = m;
    }
}

static bool run_once(struct trial *t, bool counted, struct error *err)
{
    struct device *dev = t->dev;
    job_stage(t->v->job, t->index, "run", t->v->job->time_limit_s + 5);
    if (!counted || !dev->ops->counters)
        return rig_run(t->rig, err) && dev->ops->sync(dev, err);
    dev->ops->clear(dev);
    return rig_run_stepwise(t->rig, count_step, t, err) && dev->ops->sync(dev, err);
}

#define LOOSE_SHARE 0.0625 /* of the elements: with a smaller share, these are only values that happen to be near 0 */

/* Adds a note if the magnitudes of a result differ so much that the tolerance would accept great errors of many elements. */
static void say_loose(struct trial *t, const struct op_data *data)
{
    for (int i = 0; i < t->program->tensor_count && !data->elsewhere; i++) {
        const struct tensor_role *role = t->program->tensors[i].role;
        double loose = data->at[role->slot].loose;
        if (t->program->tensors[i].written && loose >= LOOSE_SHARE)
            row_add_note(t->row,
                         "the tolerance says little of %.0f %% of %s: %s would pass there, beside larger values; give the reference a "
                         "magnitude (docs/OP.md, Tolerance)",
                         loose * 100, role->name, data->at[role->slot].guessed ? "an error of 1 %" : "0");
    }
}

/* After a run: true when the row is still right. */
static bool judge(struct trial *t, const struct op_data *data, const char *when, double *over, struct error *err, bool *failed)
{
    struct verdict v;
    struct text unsafe = {0};
    *failed = false;
    job_stage(t->v->job, t->index, "verify", DATA_LIMIT_S);
    failure_take_reports(t->dev, t->row);
    if (t->row->status == ROW_PLANNED) {
        if (!rig_check(t->rig, data, &v, &unsafe, t->dump_dir, err)) {
            *failed = true;
        } else if (!v.ok) {
            t->row->status = ROW_WRONG;
            char *reason = text_format("%s%s%s%s%s", v.text, *when ? " " : "", when, failure_hint(t->program, data, &v),
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
        say_loose(t, data);
        if (over && v.error_over_bound >= 0) {
            *over = v.error_over_bound;
            t->rounds = verify_stored_as(t->program, &v);
        }
    }
    text_free(&unsafe);
    return !*failed && t->row->status == ROW_PLANNED;
}

/* Which leftovers of the previous launch a launch finds. */
enum trial_left { LEFT_NOTHING, LEFT_SCRATCH, LEFT_ALL };

/* Feeds the data of a part, prepares and runs; *prepare_ns, *first_ns: host times. */
static bool launch(struct trial *t, struct op_data *data, enum trial_left left, bool counted, double *prepare_ns, double *first_ns,
                   struct error *err)
{
    struct device *dev = t->dev;
    job_stage(t->v->job, t->index, "load", LOAD_LIMIT_S);
    if (dev->ops->clear)
        dev->ops->clear(dev);
    if (!(left == LEFT_NOTHING ? rig_feed(t->rig, data, err) : rig_refeed(t->rig, data, err)) ||
        (left == LEFT_SCRATCH && !rig_poison(t->rig, err)))
        return false;
    job_stage(t->v->job, t->index, "run", t->v->job->time_limit_s + 5);
    if (!rig_prepare(t->rig, prepare_ns, err) || !rig_state_keep(t->rig, err))
        return false;
    double start = clock_s();
    bool ok = run_once(t, counted, err);
    layer_counts_compare(t->dev, ok && t->counted && !t->program->work.op->file ? t->row : NULL, &t->executed);
    *first_ns = (clock_s() - start) * 1e9;
    return ok;
}

static bool part_data(struct trial *t, enum data_part part, struct op_data **data, struct error *err)
{
    job_stage(t->v->job, t->index, "data", DATA_LIMIT_S);
    return data_get(t->v->data, t->index, job_verified_part(t->v->job, t->index, part), 0, data, err);
}

/* Runs on small integers, where results are exact. A row that does not claim exactness runs too, so that its leftovers are present when
 * the next part begins. */
static bool run_exact(struct trial *t, bool judged, struct error *err)
{
    struct op_data *data;
    bool failed = false;
    double prepare = NAN, first;
    if (!part_data(t, DATA_PART_EXACT, &data, err))
        return false;
    if (!launch(t, data, LEFT_NOTHING, !t->counted && layer_counts_part(&t->program->work) == DATA_PART_EXACT, &prepare, &first, err))
        return blame_row(t, err, ROW_CRASHED);
    if (t->dev->ops->keeps_time) {
        t->row->first_call_ns = first;
        t->row->prepare_ns = prepare;
        t->row->alloc_ns = rig_alloc_ns(t->rig);
    }
    if (judged)
        return judge(t, data, work_is_exact(&t->program->work) ? "(exact data)" : "", NULL, err, &failed) || !failed ||
               blame_row(t, err, ROW_CRASHED);
    failure_take_reports(t->dev, t->row);
    return true;
}

/* Explains a row that was wrong with the leftovers of another launch. If it is right without them, the reason says which leftovers it
 * used. */
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
    char *reason = text_format("%s: right without leftovers of the previous launch, otherwise %s",
                               looks ? "reads its output before it writes it" : "keeps results in its scratch", said);
    t->row->status = ROW_WRONG;
    row_set(&t->row->reason, reason);
    free(reason);
    ok = true;
done:
    free(said);
    return ok || blame_row(t, err, ROW_CRASHED);
}

/* True if the launch without leftovers happens where the row is timed (group_enter), with the same code on the same data. Not for
 * library rows, which may use another plan there. */
static bool is_launched_there(const struct trial *t, uint64_t sum)
{
    const struct verifier *v = t->v;
    if (!v->timed_next || !v->data->card || rig_library_step(t->rig, 0) >= 0 ||
        job_verified_part(v->job, t->index, DATA_PART_PRECISION) != job_timed_part(v->job, t->index))
        return false;
    v->first->left = v->first->left ? v->first->left : xcalloc((size_t)v->job->plan.row_count, sizeof *v->first->left);
    v->first->left[t->index] = (struct left_sum){true, sum};
    return true;
}

/* Runs the blocks in an order other than by number. A block that waits for one with a lower number may then never finish; that is not a
 * fault, because GPUs start blocks in the order of their numbers. */
static bool run_reordered(struct trial *t, const struct op_data *data, struct error *err)
{
    const struct device_ops *ops = t->dev->ops;
    const struct device_report *reports;
    bool failed = false, waits = false;
    bool ready = rig_poison_all(t->rig, err) && rig_prepare(t->rig, NULL, err) && rig_state_keep(t->rig, err);
    ops->reorder(t->dev, 1);
    bool ran = ready && run_once(t, false, err);
    ops->reorder(t->dev, 0);
    for (int i = ops->reports(t->dev, &reports) - 1; i >= 0; i--)
        waits |= !strcmp(reports[i].kind, "time_limit") || !strcmp(reports[i].kind, "deadlock");
    if (!waits && (!ran || (!judge(t, data, "", NULL, err, &failed) && failed)))
        return ready && blame_row(t, err, ROW_CRASHED);
    if (waits)
        ops->clear(t->dev);
    if (t->row->status != ROW_PLANNED) {
        SCOPED char *reason =
            text_format("right if the blocks run in the order of their numbers, but not in another order: %s", t->row->reason);
        row_set(&t->row->reason, reason);
    }
    return true;
}

static bool read_columns(struct trial *t)
{
    for (const struct program_column *c = t->program->columns; c < t->program->columns + t->program->column_count; c++) {
        struct error ignored = {0};
        double value;
        if (rig_read(t->rig, c->buffer, c->element, &value, &ignored))
            row_add_metric(t->row, -1, 0, c->name, "", "variant", value);
    }
    return true;
}

/* Runs on full-precision data twice: on the leftovers of the previous launch with other inputs, then without them; if the row is timed
 * next, its first launch there usually replaces the second. Both must be right. Not in a race for a rule: the run verifies the winner. */
static bool run_precision(struct trial *t, double *over, struct error *err)
{
    struct op_data *data;
    bool failed;
    double ignored;
    if (t->v->job->options.choose || !part_data(t, DATA_PART_PRECISION, &data, err))
        return t->v->job->options.choose;
    /* if values decide which pixels are active, formerly active pixels hold data that no kernel has to overwrite */
    enum trial_left left = t->program->work.op->settle ? LEFT_SCRATCH : LEFT_ALL;
    if (!launch(t, data, left, !t->counted && layer_counts_part(&t->program->work) == DATA_PART_PRECISION, &ignored, &ignored, err))
        return blame_row(t, err, ROW_CRASHED);
    if (!judge(t, data, "", over, err, &failed))
        return failed ? blame_row(t, err, ROW_CRASHED) : t->row->status != ROW_WRONG || explain_left(t, data, err);
    uint64_t first = rig_output_sum(t->rig);
    if (is_launched_there(t, first))
        return true;
    rig_watch(t->rig, true);
    job_stage(t->v->job, t->index, "again", LOAD_LIMIT_S);
    if (!rig_poison_all(t->rig, err) || !rig_prepare(t->rig, NULL, err) || !rig_state_keep(t->rig, err))
        return false;
    if (t->dev->ops->reorder)
        t->dev->ops->reorder(t->dev, 0);
    if (!run_once(t, false, err))
        return blame_row(t, err, ROW_CRASHED);
    rig_watch(t->rig, false);
    bool right = judge(t, data, "in its second launch (the first was right)", over, err, &failed) &&
                 unread_check(t->v->job, t->index, t->rig, data, t->row);
    if (right && t->program->checked)
        row_add_metric(t->row, -1, 0, "verify.same_bits", "", "verify", rig_output_sum(t->rig) == first);
    if (right && read_columns(t) && t->dev->ops->reorder && t->dev->ops->reorder(t->dev, 0)) /* in another order it may not finish */
        return run_reordered(t, data, err);
    return right || !failed || blame_row(t, err, ROW_CRASHED);
}

/* Stores facts of the launch that only the device knows. */
static void ask_device(struct trial *t)
{
    for (int i = 0; i < t->program->step_count; i++) {
        int clusters = rig_clusters(t->rig, i);
        if (clusters > 0)
            row_add_metric(t->row, i, 0, "driver.clusters", "clusters", "driver", clusters);
    }
}

/* A variant that counts its own active tiles must agree with the count that the CPU made during planning. */
static bool tiles_agree(struct trial *t, struct error *err)
{
    const struct row_metric *own = row_metric(t->row, -1, "tiles_active");
    const struct plan *plan = &t->v->job->plan;
    bool whole = !plan->rows[t->index].part;
    struct tile_stats stats = whole && t->v->tiles ? *t->v->tiles : (struct tile_stats){0};
    if (!own || t->program->tile.h < 1)
        return true;
    if (whole ? !t->v->tiles && !plan_tiles(plan, t->index, &stats, err)
              : !tile_stats_draw(&t->program->work, &t->program->tile, &stats, err))
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

/* The rig's inputs are not used after this. */
static bool prepares_blindly(struct trial *t, struct error *err)
{
    bool depends;
    job_stage(t->v->job, t->index, "prepare", LOAD_LIMIT_S);
    if (!rig_prepare_depends(t->rig, &depends, err))
        return blame_row(t, err, ROW_CRASHED);
    if (depends) {
        t->row->status = ROW_UNSAFE;
        row_set(&t->row->reason, "its prepared data depends on the inputs, which prepare must not read: it finds them in memory");
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
        if (t->rounds && over > 0.5) /* the store's own rounding, which every kernel has */
            text_addf(&text, " (%s rounding)", t->rounds);
        t->row->error_over_bound = over;
    }
    row_set(&t->row->check, text_get(&text));
    text_free(&text);
}

static bool try_row(struct trial *t, struct build *build, struct error *err)
{
    const struct program *p = t->program;
    struct verifier *v = t->v;
    double over = NAN;
    bool exact = p->exact && p->checked;
    if (!p->feasible) { /* for a chain, known only now */
        t->row->status = ROW_INFEASIBLE;
        row_set(&t->row->reason, p->reason);
        row_set(&t->row->clause, p->clause);
        return true;
    }
    for (int i = 0; i < p->step_count; i++)
        if (p->steps[i].kind == STEP_CUDNN && !v->library->cudnn) {
            t->row->status = ROW_SKIPPED;
            row_set(&t->row->reason, t->dev->ops->keeps_time ? v->library->error : "not on emu: cuDNN needs a GPU");
            return true;
        }
    t->build = build;
    job_stage(v->job, t->index, "load", LOAD_LIMIT_S);
    build_scan(build);
    struct text how = {0};
    if (rig_may_remember(build->images, build->count, &how)) {
        t->row->status = ROW_STATEFUL;
        row_set(&t->row->reason, text_get(&how));
        text_free(&how);
        return true;
    }
    if (v->job->plan.rows[t->index].kind == PLAN_SEQUENCE)
        return sequence_verify(v->sequence, t->index, build, t->row, &t->rig, err);
    if (!degenerate_check_file(v->degenerate, v->data, v->timed_next, t->index, t->row, err))
        return false;
    if (t->row->status != ROW_PLANNED)
        return true;
    if (!rig_open(t->dev, v->library->cudnn, p, build->images, true, &t->rig, err))
        return blame_row(t, err, ROW_BROKEN);
    rig_time_limit(t->rig, v->job->time_limit_s);
    if (rig_library_step(t->rig, 0) >= 0) {
        const struct cudnn_plan_facts *first = rig_plan_facts(t->rig, rig_library_step(t->rig, 0), 0);
        row_set(&t->row->engine, first->text);
        t->row->engine_number = first->engine;
        exact = exact && cudnn_plan_sums(first);
    }
    if (!run_exact(t, exact || !p->checked, err) || (t->row->status == ROW_PLANNED && p->checked && !run_precision(t, &over, err)))
        return false;
    if (t->row->status != ROW_PLANNED)
        return true;
    if ((!p->checked && !read_columns(t)) || !prepares_blindly(t, err) || t->row->status != ROW_PLANNED)
        return t->row->status != ROW_PLANNED;
    ask_device(t);
    if (!tiles_agree(t, err) || t->row->status != ROW_PLANNED)
        return t->row->status != ROW_PLANNED;
    sum_steps(t->row);
    t->row->status = p->checked ? ROW_OK : ROW_FOIL;
    bool sums = p->work.op->has_math || work_terms(&p->work) > 0, same = work_is_exact(&p->work);
    if (p->checked)
        describe_check(t, exact && same, sums || !same ? over : NAN);
    return true;
}

/* Compiles the units and stores the compiler's facts and the hash that distinguishes two builds. False: there is no compiler, which is
 * not the row's fault. */
static bool compile_row(struct trial *t, struct build *build, struct error *err)
{
    const struct job *job = t->v->job;
    const struct plan_row *p = &job->plan.rows[t->index];
    const struct program *program = plan_program(&job->plan, t->index);
    t->row->cropped = job->plan.cases[p->case_index].cropped;
    if ((!build_kept(t->v->builds, t->index, build) && !build_make(job, program, build, err)) ||
        !build_facts(build, program, &job->plan.chip, t->row, err)) {
        if (err->kind == ERROR_ENVIRONMENT || err->kind == ERROR_MACHINE)
            return false;
        t->row->status = ROW_BROKEN;
        row_set_reason(t->row, err);
        return true;
    }
    for (int i = 0; i < build->count && !t->row->compiler; i++)
        if (build->units[i].compiler[0])
            row_set(&t->row->compiler, build->units[i].compiler);
    if (p->kind != PLAN_SEQUENCE) /* a sequence's frames use more than one program */
        build_launch_hash(build, program, &job->plan.cases[p->case_index].work, t->row);
    return true;
}

static struct trial trial_of(struct verifier *v, int index, struct row *row)
{
    return (struct trial){.v = v, .dev = v->job->dev, .program = plan_verified_program(&v->job->plan, index), .row = row, .index = index};
}

bool verifier_identify(struct verifier *v, int index, struct row *row, struct error *err)
{
    struct trial t = trial_of(v, index, row);
    struct build build = {0};
    job_stage(v->job, index, "compile", COMPILE_LIMIT_S);
    bool ok = compile_row(&t, &build, err);
    build_free(&build);
    return ok;
}

/* Checks whether the row wrote to values that later rows use as inputs. */
static bool look_at_values(struct trial *t, struct error *err)
{
    bool touched = false;
    if (!guard_case(t->v->data, t->v->job->plan.rows[t->index].case_index, &touched, err) ||
        !nearby_guard(t->v->neighbours, &touched, err)) /* of any nearby shape: otherwise the next row that runs there would be blamed */
        return false;
    if (touched)
        guard_blame(t->row);
    return true;
}

/* Counts the whole layer, then verifies the row on a part of it. */
static bool try_part(struct trial *t, struct build *build, struct error *err)
{
    struct verifier *v = t->v;
    struct program *part = plan_part(&v->job->plan, t->index), *whole = plan_program(&v->job->plan, t->index);
    struct build own = {0};
    bool same = part->unit_count == whole->unit_count;
    same = same && ALL_OF(i, part->unit_count, unit_same(&part->units[i], &whole->units[i]));
    if (!part->feasible) {
        t->row->status = ROW_SKIPPED;
        SCOPED char *reason = text_format("not for the part of the layer that emu verifies: %s", part->reason ? part->reason : "");
        row_set(&t->row->reason, reason);
        return true;
    }
    if (!layer_counts(v->job, &v->counter, &v->counted, t->index, build, t->row, &t->counted, &t->executed, err))
        return false;
    if (t->row->status != ROW_PLANNED)
        return true;
    if (!same && !build_make_values(v->job, part, &own, err)) {
        bool rows = err->kind != ERROR_ENVIRONMENT && err->kind != ERROR_MACHINE;
        t->row->status = rows ? ROW_BROKEN : t->row->status;
        if (rows)
            row_set_reason(t->row, err);
        return rows;
    }
    code_take_rounds(&v->job->plan.rows[t->index], part, same ? build->images : own.images);
    bool ok = try_row(t, same ? build : &own, err);
    layer_counts_blame(&v->counted, t->row);
    build_free(&own);
    return ok;
}

void verifier_close(struct verifier *v)
{
    interpreted_close(&v->interpreted);
    device_close(v->counter);
    v->counter = NULL;
    layer_counts_free(&v->counted);
}

static bool verify_compiled(struct trial *t, struct build *build, struct error *err)
{
    struct verifier *v = t->v;
    struct plan_row *p = &v->job->plan.rows[t->index];
    struct program *program = plan_program(&v->job->plan, t->index);
    code_check_factors(program, build, t->row);
    code_take_rounds(p, program, build->images);
    code_check_waits(program, build, t->row);
    struct error memory = {0};
    if (t->row->status == ROW_PLANNED && !data_fits(v->data, t->index, &memory)) {
        t->row->status = ROW_SKIPPED;
        row_set_reason(t->row, &memory);
    }
    bool tried = t->row->status == ROW_PLANNED && !(v->job->options.tune && tried_refuse(v->tried, v->job, t->index, t->row));
    return (!tried || (p->part ? try_part(t, build, err) : try_row(t, build, err))) &&
           (t->row->status != ROW_OK || nearby_run(v->neighbours, t->index, build, t->row, err)) &&
           (t->row->status == ROW_CRASHED || t->row->status == ROW_HUNG || look_at_values(t, err));
}

/* The device answers nothing but errors, also where bench makes data, because a kernel failed: the row that ran last is to blame. */
static bool lose(const struct verifier *v, bool ok, struct row *row, const struct error *said)
{
    struct error why = {0};
    if (!v->job->dev->ops->keeps_time || row->status == ROW_CRASHED || v->job->dev->ops->sync(v->job->dev, &why) || why.kind != ERROR_WRONG)
        return ok;
    if (!ok || row->status != ROW_BROKEN)
        row_set_reason(row, ok ? &why : said);
    row->status = ROW_CRASHED;
    return true;
}

bool verifier_run(struct verifier *v, int index, struct row *row, struct error *err)
{
    struct trial t = trial_of(v, index, row);
    struct build build = {0};
    if (v->dump_dir) {
        char name[HASH_TEXT];
        const char *id = plan_id(&v->job->plan, index);
        hash_bytes(id, strlen(id), name);
        name[12] = 0;
        t.dump_dir = file_join(v->dump_dir, name);
    }
    job_stage(v->job, index, "compile", COMPILE_LIMIT_S);
    if (t.dev->ops->clear) /* discards reports about other rows */
        t.dev->ops->clear(t.dev);
    bool ok = degenerate_check(v->degenerate, v->job, index, row, err) && (row->status == ROW_BROKEN || compile_row(&t, &build, err)) &&
              (row->status != ROW_PLANNED || verify_compiled(&t, &build, err));
    if (ok)
        interpreted_verify(&v->interpreted, v->job, index, &build, row);
    if (ok && (row->status == ROW_OK || row->status == ROW_FOIL))
        build_keep(v->builds, v->job, index, &build);
    if (ok) /* a failure is of the stage in which it came: the parent asks whether that was the data */
        job_stage(v->job, index, "load", LOAD_LIMIT_S);
    ok = lose(v, ok, row, err);
    if (!ok || !verifier_lost(v, row)) /* otherwise closing would only fail again */
        rig_close(t.rig);
    build_free(&build);
    free(t.dump_dir);
    return ok;
}

bool verifier_lost(const struct verifier *v, const struct row *row)
{
    return row->status == ROW_CRASHED && v->job->dev->ops->keeps_time;
}
