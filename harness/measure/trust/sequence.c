#include "measure/trust/sequence.h"
#include "base/hash.h"
#include "base/text.h"
#include "measure/trust/failure.h"
#include "op/mask/mask.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define OUTPUT_BITS 48 /* a double has 53 */

static bool hold(struct sequence *q, int row, struct error *err)
{
    if (source_is_of(&q->source, q->job->plan.rows[row].sequence))
        return true;
    sequence_close(q);
    job_stage(q->job, row, "weights", SEQUENCE_HOST_LIMIT_S);
    return source_open(q->job->plan.rows[row].sequence, &q->source, err);
}

void sequence_init(struct sequence *q, struct job *job, const struct vendor_library *library)
{
    *q = (struct sequence){.job = job, .library = library};
}

void sequence_close(struct sequence *q)
{
    if (q->source.q)
        source_close(&q->source);
}

bool sequence_begin(struct frames_run *r, struct sequence *q, int index, struct row *row, struct error *err)
{
    *r = (struct frames_run){.q = q, .index = index, .p = &q->job->plan.rows[index], .row = row, .source = &q->source};
    return hold(q, index, err);
}

/* ---- frames ---- */

static bool take_frame(struct frames_run *r, int frame, struct error *err)
{
    job_stage(r->q->job, r->index, "pixels", SEQUENCE_HOST_LIMIT_S);
    r->nobodys = !source_take(r->source, frame, err);
    return !r->nobodys;
}

bool sequence_open_rig(struct frames_run *r, const struct device_image *images, struct error *err)
{
    struct op_data data = {.links = r->source->data, .link_count = r->source->layers->count};
    if (!take_frame(r, 0, err) || !rig_open(r->q->job->dev, r->q->library->cudnn, r->p->program, images, false, &r->rig, err))
        return false;
    op_data_of(r->p->program->work.op, &data, "input")->value = r->source->now;
    rig_time_limit(r->rig, r->q->job->time_limit_s);
    return rig_feed(r->rig, &data, err) && rig_prepare(r->rig, NULL, err);
}

static bool upload(struct frames_run *r, struct error *err)
{
    const struct program *p = r->p->program;
    struct buffer_ref frame = {.kind = BUFFER_TENSOR, .index = program_tensor(p, "input")};
    const struct tensor *t = &p->tensors[frame.index];
    uint32_t first = r->source->frame == 0;
    const struct device_ops *ops = r->q->job->dev->ops;
    return ops->write(r->q->job->dev, rig_address(r->rig, frame), source_stored(r->source, t, r->p->sequence->sparse), tensor_bytes(t),
                      err) &&
           (!r->p->sequence->sparse ||
            ops->write(r->q->job->dev, rig_address(r->rig, r->p->sequence->changed.first), &first, sizeof first, err));
}

/* ns: device time between two events, for everything that a frame needs; NULL: not timed. */
bool sequence_run_frame(struct frames_run *r, int frame, double *ns, struct error *err)
{
    struct device *dev = r->q->job->dev;
    struct device_event *from = NULL, *to = NULL;
    char stage[32];
    if (!take_frame(r, frame, err) || !upload(r, err))
        return false;
    snprintf(stage, sizeof stage, "frame %d/%d", frame + 1, r->source->q->frames);
    job_stage(r->q->job, r->index, stage, r->p->program->step_count * r->q->job->time_limit_s + 5);
    if (!ns)
        return rig_run(r->rig, err) && dev->ops->sync(dev, err);
    phase_push(dev->clock, PHASE_MEASURING);
    bool ok = dev->ops->event(dev, &from, err) && dev->ops->event(dev, &to, err) && dev->ops->record(dev, from, err) &&
              rig_run(r->rig, err) && dev->ops->record(dev, to, err) && dev->ops->sync(dev, err) &&
              dev->ops->elapsed(dev, from, to, ns, err);
    phase_pop(dev->clock);
    if (from)
        dev->ops->event_free(dev, from);
    if (to)
        dev->ops->event_free(dev, to);
    return ok;
}

/* ---- looking ---- */

static bool read_back(struct frames_run *r, struct buffer_ref from, void *to, size_t bytes, struct error *err)
{
    return r->q->job->dev->ops->read(r->q->job->dev, rig_address(r->rig, from), to, bytes, err);
}

/* Reads a link's mask from the device. NULL on error; the caller frees. */
static float *read_marks(struct frames_run *r, struct buffer_ref from, const struct tensor *t, struct error *err)
{
    unsigned char *bits = xmalloc(tensor_bytes(t));
    float *marks = xmalloc(tensor_elements(t) * sizeof *marks);
    bool ok = read_back(r, from, bits, tensor_bytes(t), err);
    if (ok)
        tensor_unpack(t, bits, marks);
    free(bits);
    if (!ok)
        free(marks);
    return ok ? marks : NULL;
}

/* Checks bit for bit that a layer's output mask is what its input masks imply; if not, the row is wrong. */
static bool judge_mask(struct frames_run *r, int i, const float *marks, struct error *err)
{
    const struct changed_link *at = &r->p->sequence->changed.links[i];
    const struct work *w = &r->p->program->work.chain->links[i].work;
    struct tensor in = {0}, out = {0};
    work_tensor(w, "mask_in", &in);
    work_tensor(w, "mask_out", &out);
    const struct program mask = {.tensors = &out, .tensor_count = 1};
    size_t count = tensor_elements(&out);
    struct op_data d = {0};
    double *want = d.at[out.role->slot].reference = xmalloc(count * sizeof *want);
    float *active = xmalloc(count * sizeof *active);
    struct verdict v = {.ok = true};
    unsigned char *left = xmalloc(tensor_bytes(&out));
    float *second = at->second.kind != BUFFER_NONE ? read_marks(r, at->second, &in, err) : NULL;
    mask_dilate(w, marks, active);
    for (size_t k = 0; k < count; k++)
        want[k] = active[k] != 0 || (second && second[k] != 0);
    bool ok = (second || at->second.kind == BUFFER_NONE) && read_back(r, at->left, left, tensor_bytes(&out), err);
    if (ok)
        verify_tensor(&mask, 0, &d, left, &v);
    if (ok && !v.ok) {
        r->row->status = ROW_WRONG;
        r->row->reason = text_format("frame %d, layer %d: %s", r->source->frame, i + 1, v.text);
    }
    FREE_ALL(left, second, active, want);
    return ok;
}

/* Adds the share of marked inputs of every layer; in checked frames, also compares the layers' masks. */
static bool look_at_masks(struct frames_run *r, struct error *err)
{
    bool ok = true;
    for (int i = 0; ok && r->row->status == ROW_PLANNED && i < r->source->layers->count; i++) {
        struct tensor t = {0};
        work_tensor(&r->p->program->work.chain->links[i].work, "mask_in", &t);
        float *marks = read_marks(r, r->p->sequence->changed.links[i].marks, &t, err);
        if (!marks)
            return false;
        r->shares[i] += r->source->frame ? mask_density(marks, tensor_elements(&t)) : 0;
        ok = !source_judged(r->source, r->source->frame) || judge_mask(r, i, marks, err);
        free(marks);
    }
    return ok;
}

static bool judge(struct frames_run *r, struct error *err)
{
    const struct program *p = r->p->program;
    const struct chain *layers = r->source->layers;
    struct buffer_ref output = {.kind = BUFFER_TENSOR, .index = program_tensor(p, "output")};
    const struct tensor *t = &p->tensors[output.index];
    float slope = (float)work_slope(&layers->links[layers->count - 1].work);
    unsigned char *stored = xmalloc(tensor_bytes(t));
    float *got = xmalloc(tensor_elements(t) * sizeof *got);
    job_stage(r->q->job, r->index, "verify", SEQUENCE_HOST_LIMIT_S);
    bool ok = read_back(r, output, stored, tensor_bytes(t), err);
    if (ok) {
        r->outputs = hash_sum(r->outputs, stored, tensor_bytes(t));
        tensor_unpack(t, stored, got);
        ok = source_judge(r->source, got, r->p->sequence->sparse ? slope : 1, &r->error, err);
    }
    free(stored);
    free(got);
    return ok;
}

/* Adds "state 2.12 MB; inputs changed 5 % -> 8 % -> 12 %" as a note and the same values as metrics. */
static void add_state(struct frames_run *r)
{
    int64_t bytes = r->p->sequence->changed.state_bytes;
    int after = r->source->q->frames - 1;
    struct text t = {0};
    r->row->state_bytes = bytes;
    text_addf(&t, bytes < 100000000 ? "state %.3g MB; inputs changed" : "state %.0f MB; inputs changed", (double)bytes / 1e6);
    for (int i = 0; i < r->source->layers->count; i++) {
        char name[80];
        snprintf(name, sizeof name, "sequence.density_layer%d", i + 1);
        row_add_metric(r->row, -1, 0, name, "share", "measured", r->shares[i] / after);
        text_addf(&t, "%s %.3g %%", i ? " ->" : "", 100 * r->shares[i] / after);
    }
    row_add_note(r->row, "%s", text_get(&t));
    text_free(&t);
}

/* On a device without times: how much of the sequence ran. */
static void add_ran(struct frames_run *r)
{
    const struct scenario_sequence *q = r->p->sequence->of;
    const struct work *ran = &r->source->layers->links[0].work, *whole = &q->layers[0]->work;
    SCOPED char *part = ran->h != whole->h || ran->w != whole->w
                            ? text_format(" of a part of %lldx%lld", (long long)ran->h, (long long)ran->w)
                            : xstrdup("");
    SCOPED char *all = text_format("%d frames%s", q->frames, part);
    row_set(&r->row->ran, all);
}

static void add_results(struct frames_run *r)
{
    const struct scenario_sequence *q = r->p->sequence->of;
    const struct sequence_error *e = &r->error;
    struct row *row = r->row;
    if (!r->q->job->dev->ops->keeps_time)
        add_ran(r);
    row->check = text_format("error %.2g of rms (bound %g) over %d frames", e->largest, q->bound, q->frames);
    row->error_over_bound = q->bound > 0 ? e->largest / q->bound : NAN;
    row_add_metric(row, -1, 0, "sequence.error_largest", "rms", "measured", e->largest);
    row_add_metric(row, -1, 0, "sequence.error_rms", "rms", "measured", e->rms);
    row_add_metric(row, -1, 0, "sequence.output_bits", "", "verify", (double)(r->outputs >> (64 - OUTPUT_BITS)));
    if (r->p->sequence->sparse)
        add_state(r);
    else
        row->state_bytes = 0;
    row->status = e->finite && e->largest <= q->bound ? ROW_OK : ROW_WRONG;
    if (row->status == ROW_WRONG)
        row->reason = e->finite ? text_format("the error of frame %d is %.3g of the root mean square of the dense result; %g is allowed",
                                              e->frame, e->largest, q->bound)
                                : xstrdup("the result is not finite");
}

static bool look_at_guards(struct frames_run *r, struct error *err)
{
    struct text unsafe = {0};
    bool ok = rig_check_memory(r->rig, &unsafe, err);
    if (ok && unsafe.len) {
        r->row->status = ROW_UNSAFE;
        r->row->reason = text_take(&unsafe);
    }
    text_free(&unsafe);
    return ok;
}

/* Runs all frames from the first on and fills the row. False on an error. */
static bool look_at_frames(struct frames_run *r, const struct device_image *images, struct error *err)
{
    if (!sequence_open_rig(r, images, err))
        return false;
    for (int n = 0; n < r->source->q->frames; n++) {
        if (!sequence_run_frame(r, n, NULL, err) || (r->p->sequence->sparse && !look_at_masks(r, err)))
            return false;
        if (r->row->status != ROW_PLANNED)
            return true;
        if (source_judged(r->source, n) && !judge(r, err))
            return false;
    }
    add_results(r);
    return r->row->status != ROW_OK || look_at_guards(r, err);
}

bool sequence_verify(struct sequence *q, int index, const struct build *build, struct row *row, struct rig **rig, struct error *err)
{
    struct frames_run r;
    struct device *dev = q->job->dev;
    if (!sequence_begin(&r, q, index, row, err))
        return false;
    r.outputs = UINT64_C(0xcbf29ce484222325); /* where FNV-1a begins */
    r.shares = xcalloc((size_t)r.source->layers->count, sizeof *r.shares);
    if (dev->ops->clear)
        dev->ops->clear(dev);
    bool ok = look_at_frames(&r, build->images, err);
    if (!ok && !r.nobodys) {
        failure_blame(dev, row, err, r.rig ? ROW_CRASHED : ROW_BROKEN);
        ok = true;
    }
    if (ok && row->status != ROW_CRASHED)
        failure_take_reports(dev, row);
    free(r.shares);
    *rig = r.rig;
    return ok;
}
