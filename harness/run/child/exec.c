/* Runs one row alone in the caller's process, so that ncu, nsys, cuda-gdb and compute-sanitizer see nothing else. */
#include "base/text.h"
#include "device/cuda/cuda.h"
#include "plan/rows/choose.h"
#include "plan/scenario/scenario.h"
#include "run/child/devices.h"
#include "run/child/serve.h"
#include "run/child/worker.h"
#include <stdio.h>

static void drop(void *context, json_t *event)
{
    json_decref(event);
}

/* False, with the reason and the layer: a step needs the library, which is not available. */
static bool has_library(const struct worker *w, int index, struct error *err)
{
    const struct program *p = plan_program(&w->job.plan, index);
    const char *id = plan_id(&w->job.plan, index), *why = w->job.dev->ops->keeps_time ? w->library.error : "cuDNN needs a GPU";
    for (int i = 0; i < p->step_count && !w->library.cudnn; i++)
        if (p->steps[i].kind == STEP_CUDNN)
            return p->work.chain ? error_set(err, ERROR_ENVIRONMENT, "%s cannot run on %s: layer '%s' uses cuDNN: %s", id,
                                             w->job.dev->ops->name, p->work.chain->links[p->steps[i].link].name, why)
                                 : error_set(err, ERROR_ENVIRONMENT, "%s cannot run on %s: %s", id, w->job.dev->ops->name, why);
    return true;
}

/* Runs all frames, `repeat` times. */
static bool run_frames(struct worker *w, int index, int repeat, struct text *says, struct error *err)
{
    const struct plan_row *p = &w->job.plan.rows[index];
    SCOPED_BY(build_free) struct build build = {0};
    bool ok = build_make(&w->job, p->program, &build, err);
    for (int i = 0; ok && i < repeat; i++) {
        struct rig *rig = NULL;
        SCOPED_BY(row_leave) struct row *row = row_new();
        ok = sequence_verify(&w->sequence, index, &build, row, &rig, err) &&
             (row->status == ROW_OK || error_set(err, ERROR_WRONG, "%s: %s", plan_id(&w->job.plan, index), row->reason));
        if (ok && i == repeat - 1)
            text_addf(says, "right, %s", row->check);
        rig_close(rig);
    }
    return ok;
}

static bool run_alone(struct worker *w, int index, int repeat, const struct library_plan *which, const char *save, struct text *says,
                      struct error *err)
{
    const struct program *program = plan_verified_program(&w->job.plan, index); /* the data are of that work */
    SCOPED_BY(build_free) struct build build = {0};
    struct rig *rig = NULL;
    struct op_data *data;
    struct verdict v;
    SCOPED_TEXT unsafe = {0};
    double ns;
    bool ok = false;
    job_stage(&w->job, index, "load", 0);
    if (!build_make(&w->job, program, &build, err) || !data_get(&w->data, index, job_timed_part(&w->job, index), 0, &data, err) ||
        !vendor_open_rig(&w->library, w->job.dev, program, build.images, true, which, &rig, err) || !rig_feed(rig, data, err) ||
        !rig_prepare(rig, &ns, err))
        goto done;
    job_stage(&w->job, index, "run", 0);
    for (int i = 0; i < repeat; i++) { /* each run starts cold, as a timed one does; a profiler that does not flush caches then sees what
                                          bench counts */
        if (!rig_give_contents(rig, err) || (w->job.dev->ops->keeps_time && !cuda_flush_uncounted(w->job.dev, err)))
            goto done;
        phase_open(&w->job.clock, "launches"); /* the range for a profiler: excludes kernels that make data or check results */
        bool ran = rig_run(rig, err);
        phase_pop(&w->job.clock);
        if (!ran)
            goto done;
    }
    job_stage(&w->job, index, "verify", 0);
    if ((save && !rig_save(rig, save, err)) || !rig_check(rig, data, &v, &unsafe, NULL, err))
        goto done;
    text_addf(says, "%s%s%s%s", v.ok ? program->checked ? "right" : "ran (nothing to check)" : v.text,
              plan_part(&w->job.plan, index) ? ", on the part of the layer that emu verifies" : "", unsafe.len ? "; it " : "",
              text_get(&unsafe));
    if (!v.ok || unsafe.len) {
        error_set(err, ERROR_WRONG, "%s: %s%s", plan_id(&w->job.plan, index), v.ok ? "" : v.text, text_get(&unsafe));
        goto done;
    }
    ok = true;
done:
    rig_close(rig);
    return ok;
}

/* Opens the device that a run of the scenario takes. */
static bool open_device(const struct plan_options *o, struct device **dev, struct error *err)
{
    struct scenario *s = scenario_load(o->scenario_path, err);
    if (!s)
        return false;
    SCOPED char *emu = scenario_emu(s, o->device);
    scenario_free(s);
    return device_open(device_choose(o->device, emu, NULL, 0), dev, err);
}

/* False, with the reason. */
static bool is_feasible(const struct plan *plan, int index, struct error *err)
{
    const struct program *whole = plan_program(plan, index), *part = plan_part(plan, index);
    const struct plan_row *row = &plan->rows[index];
    if (!whole->feasible) /* nor is a broken one */
        return error_set(err, ERROR_USAGE, "%s cannot run: %s", plan_id(plan, index), row->broken ? row->broken->text : whole->reason);
    return !part || part->feasible ||
           error_set(err, ERROR_USAGE, "%s cannot run on the part of the layer that emu verifies: %s", plan_id(plan, index),
                     part->reason ? part->reason : "");
}

bool worker_alone(const struct plan_options *options, const char *row_id, int repeat, const struct library_plan *which, const char *save,
                  struct alone *told, struct error *err)
{
    struct worker w;
    struct error own = {0};
    bool ok = false;
    int index;
    worker_init(&w, drop, NULL);
    w.job.options = *options;
    if (!open_device(options, &w.job.dev, err))
        goto done;
    text_add(&told->device, w.job.dev->spec);
    if (w.job.dev->ops->keeps_time && !cudnn_open(w.job.dev, &w.library.cudnn, &own)) { /* only a cuDNN row needs it, and reports its
                                                                                           absence */
        w.library.cudnn = NULL;
        snprintf(w.library.error, sizeof w.library.error, "%.500s", own.text);
    }
    w.planned = plan_make(options, w.job.dev->ops->name, &w.job.dev->chip, &w.job.plan, err);
    if (!w.planned || (index = plan_find(&w.job.plan, row_id, err)) < 0)
        goto done;
    text_add(&told->id, plan_id(&w.job.plan, index));
    if (w.job.plan.rows[index].kind == PLAN_CHAIN && !choose_unseen(&w.job.plan, index, err))
        goto done;
    if (!is_feasible(&w.job.plan, index, err))
        goto done;
    worker_ready(&w);
    ok = has_library(&w, index, err) &&
         (w.job.plan.rows[index].kind == PLAN_SEQUENCE ? run_frames(&w, index, repeat, &told->says, err)
                                                       : run_alone(&w, index, repeat, which, save, &told->says, err));
done:
    w.job.options = (struct plan_options){0}; /* the caller's */
    worker_close(&w);
    return ok;
}
