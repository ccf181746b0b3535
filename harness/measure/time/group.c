#include "measure/time/group.h"
#include "base/text.h"
#include "measure/trust/code_check.h"
#include <math.h>
#include <stdlib.h>

#define PLAN_ROUNDS 11
#define PREPARE_ROUNDS 7
#define LOAD_LIMIT_S 120.0

void timing_open(struct timing_group *b, struct timing_context *timing, const int *rows, int row_count)
{
    size_t count = (size_t)row_count;
    *b = (struct timing_group){.timing = timing, .count = row_count, .blame = -1};
    b->index = xcalloc(count, sizeof *b->index);
    b->rows = xcalloc(count, sizeof *b->rows);
    b->builds = xcalloc(count, sizeof *b->builds);
    b->rigs = xcalloc(count, sizeof *b->rigs);
    b->looks = xcalloc(count, sizeof *b->looks);
    for (size_t i = 0; i < count; i++) {
        b->index[i] = rows[i];
        b->rows[i] = row_new();
        b->rows[i]->status = plan_program(&timing->job->plan, b->index[i])->checked ? ROW_OK : ROW_FOIL;
    }
    board_begin(&timing->board, timing->job->dev);
}

void timing_close(struct timing_group *b, bool ok)
{
    const struct job *job = b->timing->job;
    const struct others *others = &b->timing->board.others;
    if (ok) /* modules and buffers are given back: no part of the last check */
        job_stage(job, b->blame, "load", LOAD_LIMIT_S);
    if (ok)
        board_look(&b->timing->board);
    for (int i = 0; i < b->count; i++) {
        if (b->rows[i]->time_count)
            row_set(&b->rows[i]->others, others->count ? text_get(&others->said) : NULL);
        if (ok)
            job_row(job, b->index[i], b->rows[i]);
        if (ok)
            rig_close(b->rigs[i]); /* otherwise the context may be lost, and this process ends */
        build_free(&b->builds[i]);
        row_free(b->rows[i]);
    }
    buffer_pool_close(b->pool, !ok);
    FREE_ALL(b->index, b->rows, b->builds, b->rigs, b->looks);
}

void timing_announce(void *context, int candidate)
{
    struct timing_group *b = context;
    if (candidate == b->count) /* the A/A control is the baseline again */
        candidate = 0;
    b->blame = candidate < 0 ? -1 : b->index[candidate];
    job_stage(b->timing->job, b->blame, "time",
              candidate < 0 ? b->timing->job->plan.time.budget_s * 4 + 120 : b->timing->job->time_limit_s + 30);
}

/* Adds the chosen plan; appends if the row is a chain, each layer of which has a choice of its own. */
static void record_plans(struct timing_group *b, int i, int step, const double *medians)
{
    struct rig *rig = b->rigs[i];
    struct row *row = b->rows[i];
    const struct program *p = rig_program(rig);
    const struct cudnn_plan_facts *best = rig_plan_facts(rig, step, rig_plan_used(rig, step));
    const struct work *work = program_step_work(p, &p->steps[step]);
    const char *layer = p->work.chain ? p->work.chain->links[p->steps[step].link].name : NULL;
    /* for f32 data the mode matters more than the engine: cuDNN computes in tf32 by default */
    const char *mode = work->dtype != DTYPE_F32  ? ""
                       : work->math == MATH_TF32 ? ", tf32 (cuDNN's default)"
                                                 : ", strict f32 (cuDNN's default is tf32)";
    const char *raced = rig_plan_raced(rig, step);
    SCOPED char *plan = cudnn_plan_text(best);
    char *engine = text_format("%s%s%s%s%s best of %d%s%s%s", row->engine ? row->engine : "", row->engine ? "; " : "", layer ? layer : "",
                               layer ? ": " : "", plan, rig_plan_among(rig, step), raced[0] ? ", plan remembered from " : "", raced, mode);
    row_set(&row->engine, engine);
    if (!layer) {
        row->engine_number = best->engine;
        row->engine_heuristic[0] = best->mode;
        row->engine_rank = best->rank;
    }
    free(engine);
    if ((int64_t)best->workspace_bytes > row->workspace_bytes)
        row->workspace_bytes = (int64_t)best->workspace_bytes;
    for (int k = 0; k < rig_plan_count(rig, step); k++) {
        const struct cudnn_plan_facts *f = rig_plan_facts(rig, step, k);
        if (!isfinite(medians[k]))
            continue;
        struct row_plan *tried = row_add_plan(row);
        tried->step = layer ? step : -1;
        tried->engine = f->engine;
        tried->heuristic[0] = f->mode;
        tried->rank = f->rank;
        tried->median_ns = medians[k];
    }
}

bool timing_plans(struct timing_group *b, int i, struct error *err)
{
    struct rig *rig = b->rigs[i];
    bool ok = true;
    for (int nth = 0, step; ok && (step = rig_library_step(rig, nth)) >= 0; nth++) {
        SCOPED double *medians = xcalloc((size_t)rig_plan_count(rig, step), sizeof *medians);
        job_stage(b->timing->job, b->blame, "plans", LOAD_LIMIT_S);
        ok = sample_plans(b->timing->job->dev, rig, step, PLAN_ROUNDS, medians, err);
        if (ok) {
            rig_plan_keep(rig, step);
            record_plans(b, i, step, medians);
        }
    }
    return ok && rig_plan_settle(rig, err);
}

static bool prepare(struct timing_group *b, int i, int set, struct error *err)
{
    const struct job *job = b->timing->job;
    double ns;
    job_stage(job, b->blame, "run", job->time_limit_s + 5);
    if (!rig_prepare(b->rigs[i], &ns, err))
        return false;
    if (set)
        return true;
    if (!isnan(ns) && !sample_prepare(job->dev, b->rigs[i], PREPARE_ROUNDS, &b->rows[i]->prepare_ns, err))
        return false;
    return rig_library_step(b->rigs[i], 0) < 0 || timing_plans(b, i, err);
}

const char *timing_first_on(int set)
{
    return set ? "(in the measuring process, on other inputs)" : "(in the measuring process, before timing)";
}

bool timing_check(struct timing_group *b, int i, const struct op_data *data, const char *when, struct error *err)
{
    struct verdict v;
    SCOPED_TEXT unsafe = {0};
    b->blame = b->index[i];
    job_stage(b->timing->job, b->blame, "verify", DATA_LIMIT_S);
    bool ok = rig_check(b->rigs[i], data, &v, &unsafe, NULL, err);
    if (ok && (!v.ok || unsafe.len)) {
        SCOPED char *reason =
            text_format("%s%s%s %s", v.ok ? "" : v.text, !v.ok && unsafe.len ? "; it also " : "", text_get(&unsafe), when);
        b->rows[i]->status = v.ok ? ROW_UNSAFE : ROW_WRONG;
        row_set(&b->rows[i]->reason, reason);
    } else if (ok && (ok = rig_state_check(b->rigs[i], &unsafe, err)) && unsafe.len) {
        text_addf(&unsafe, " %s", when);
        b->rows[i]->status = ROW_STATEFUL;
        row_set(&b->rows[i]->reason, text_get(&unsafe));
    }
    return ok;
}

bool timing_data(struct timing_group *b, int i, int set, struct op_data **data, struct error *err)
{
    job_stage(b->timing->job, -1, "data", DATA_LIMIT_S);
    return data_get(b->timing->data, b->index[i], job_timed_part(b->timing->job, b->index[i]), set, data, err);
}

bool timing_is_sound(const struct timing_group *b, int i)
{
    return b->rows[i]->status == ROW_OK || b->rows[i]->status == ROW_FOIL;
}

bool timing_try(struct timing_group *b, int i, int set, const struct op_data *data, struct error *err)
{
    struct rig *rig = b->rigs[i];
    return prepare(b, i, set, err) && rig_poison(rig, err) && rig_run(rig, err) && timing_check(b, i, data, timing_first_on(set), err) &&
           rig_checksum_accept(rig, err) && rig_poison_all(rig, err);
}

/* Sampling checks its first launch on this set (timing_recheck), so none is needed before. */
static bool await(struct timing_group *b, int i, int set, struct error *err)
{
    return (set || (prepare(b, i, set, err) && rig_poison_all(b->rigs[i], err))) && rig_checksum_await(b->rigs[i], err);
}

bool timing_enter(struct timing_group *b, int i, struct error *err)
{
    const struct job *job = b->timing->job;
    struct program *p = plan_program(&job->plan, b->index[i]);
    struct op_data *data;
    b->blame = b->index[i];
    job_stage(job, b->blame, "load", LOAD_LIMIT_S);
    if ((!b->builds[i].count && !build_kept(b->timing->builds, b->index[i], &b->builds[i]) && !build_make(job, p, &b->builds[i], err)) ||
        !rig_open_in(b->pool, job_timed_part(job, b->index[i]), job->dev, b->timing->library->cudnn, p, b->builds[i].images, false,
                     &b->rigs[i], err))
        return false;
    code_take_rounds(&job->plan.rows[b->index[i]], p, b->builds[i].images);
    rig_set_name(b->rigs[i], plan_id(&job->plan, b->index[i]));
    for (int set = 0; set < (b->pool ? buffer_pool_sets(b->pool) : 1); set++) {
        rig_select(b->rigs[i], set, 0);
        if (!timing_data(b, i, set, &data, err))
            return false;
        if (!rig_feed(b->rigs[i], data, err)) /* feeds rows that are already wrong as well, because others share the first row's inputs */
            return false;
        if (!set)
            first_launch_expect(b->timing->first, b->index[i], b->rigs[i]);
        if (timing_is_sound(b, i) && !(b->warms ? await(b, i, set, err) : timing_try(b, i, set, data, err)))
            return false;
        if (!set && !b->warms)
            first_launch_compare(b->timing->first, b->index[i], b->rigs[i], b->rows[i]);
    }
    return true;
}
