#include "measure/trust/interpreted.h"
#include "base/spec.h"

#define LIMIT_S 5.0 /* of one launch */

bool interpreted_due(const struct job *job, int index)
{
    const struct plan_row *p = &job->plan.rows[index];
    return spec_is_timed(job->options.device) && !job->options.tune && !p->side && p->variant && p->variant->given != GIVEN_INSTALLED &&
           plan_program(&job->plan, index)->feasible && nearby_has_code(job, index);
}

static bool is_open(struct interpreted *x, const struct job *job)
{
    if (x->job.dev || x->lacks.kind != ERROR_NONE)
        return x->job.dev != NULL;
    x->job = *job;
    x->job.dev = NULL;
    if (!job_open_emu(job, &x->job.dev, &x->lacks))
        return false;
    x->job.options.device = SPEC_COUNTS;
    x->job.time_limit_s = LIMIT_S;
    data_open(&x->data, &x->job);
    nearby_open(&x->shapes, &x->job, &x->data, &x->library);
    return true;
}

static bool has_ptx(const struct build *build)
{
    return ALL_OF(i, build->count, !build->images[i].cubin || build->images[i].ptx);
}

struct row *interpreted_run(struct interpreted *x, const struct job *job, int index, const struct build *build)
{
    struct row *found = row_new();
    struct error err = {0};
    found->status = ROW_OK;
    if (!has_ptx(build))
        error_set(&err, ERROR_ENVIRONMENT, "it brings no PTX");
    else if (!is_open(x, job))
        err = x->lacks;
    else if (nearby_interpret(&x->shapes, index, build, found, &err) && found->status != ROW_OK && found->status != ROW_UNSAFE &&
             found->status != ROW_WRONG)
        error_set(&err, ERROR_ENVIRONMENT, "%s", found->reason ? found->reason : "");
    if (err.kind != ERROR_NONE) {
        found->status = ROW_OK;
        row_set(&found->reason, NULL);
        row_add_note(found, "races, unset memory and bounds were not checked, as emu could not run its PTX: %s", err.text);
    }
    return found;
}

static void lay_over(const struct row *found, struct row *row)
{
    const struct row_metric *shapes = row_metric(found, -1, "verify.interpreted");
    if (shapes)
        *row_add_metric(row, -1, 0, "", "", "", 0) = *shapes;
    for (int i = 0; i < found->note_count; i++)
        row_add_note(row, "%s", found->notes[i].text);
    if (found->status == ROW_OK)
        return;
    row->status = found->status;
    row_set(&row->reason, found->reason);
    row_set(&row->reason_file, found->reason_file);
    row->reason_line = found->reason_line;
}

void interpreted_verify(struct interpreted *x, const struct job *job, int index, const struct build *build, struct row *row)
{
    if (row->status != ROW_OK || !interpreted_due(job, index))
        return;
    struct row *own = x->ahead ? NULL : interpreted_run(x, job, index, build);
    lay_over(own ? own : x->ahead, row);
    row_free(own);
}

void interpreted_close(struct interpreted *x)
{
    if (x->job.dev) {
        nearby_drop(&x->shapes);
        data_forget(&x->data);
        device_close(x->job.dev);
    }
    *x = (struct interpreted){0};
}
