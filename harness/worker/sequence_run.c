/* One variant on one sequence: bound to the layers, set up, run frame by frame, looked at. */
#include "base/file.h"
#include "base/text.h"
#include "measure/sample.h"
#include "plan/private.h"
#include "worker/sequence_private.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PLAN_ROUNDS 11
#define OPEN_LIMIT_S 180.0 /* kernels compiled, prepared, the library's plans tried */

/* ---- binding ---- */

/* Why a bound program cannot stand in the sequence; NULL: it can. */
static char *unfit(struct runner *r, const struct stage *s)
{
    const struct program *p = &s->program;
    if (!p->feasible)
        return xstrdup(p->reason);
    for (int i = 0; i < p->step_count; i++)
        if (p->steps[i].kind == STEP_CUDNN && !r->library) {
            r->unavailable = true;
            return xstrdup("cuDNN is not available here");
        }
    if (r->sparse && program_tensor(p, ROLE_MASK_OUT) < 0)
        return xstrdup("it writes no mask_out, which the next layer needs");
    if (p->tensors[program_tensor(p, ROLE_INPUT)].layout != s->work.layout ||
        p->tensors[program_tensor(p, ROLE_OUTPUT)].layout != s->work.layout)
        return xstrdup("it works in another layout than the sequence");
    return NULL;
}

/* Another variant of the same kind for a layer that the row's own cannot do: the first of the scenario that can. */
static bool bind_other(struct runner *r, struct stage *s, const char *layer, bool *found, struct error *err)
{
    const struct scenario *sc = r->plan->scenario;
    const struct variant_set *set = &r->plan->variants;
    *found = false;
    for (int i = 0; i < sc->variant_count && !*found; i++) {
        const struct variant *v = plan_resolve(set, sc->variants[i].name, s->work.op);
        struct variant_point *points;
        if (!v || v == r->point->variant || variant_reads_mask(v) != r->sparse)
            continue;
        program_free(&s->program);
        if (variant_points(v, NULL, &points, err) < 1 || !variant_bind(set, &points[0], &s->work, &r->plan->chip, &s->program, err))
            return false;
        char *why = unfit(r, s);
        *found = !why;
        free(why);
        if (*found)
            text_addf(&r->others, "%s%s on %s", r->others.len ? ", " : "", v->name, layer);
        r->kept = xrealloc(r->kept, (size_t)(r->kept_count + 1) * sizeof *r->kept);
        r->kept[r->kept_count++] = points; /* the program refers to it */
    }
    return true;
}

/* The layer without what is behind it, and as the op that takes changes. */
static void pass_changes_through(struct work *w)
{
    w->epilogue_count = 0;
    w->mask = (struct mask){.pattern = MASK_FULL, .density = 1};
    w->op = op_of_changes(w->op);
}

bool runner_bind(struct runner *r, char **why, struct error *err)
{
    int own = 0;
    char *first = NULL;
    r->stages = xcalloc((size_t)r->source->count, sizeof *r->stages);
    for (int i = 0; i < r->source->count && !*why; i++) {
        struct stage *s = &r->stages[i];
        const char *layer = r->source->q->layers[i]->name;
        s->work = r->source->layers[i].work;
        if (r->sparse)
            pass_changes_through(&s->work);
        bool mine = s->work.op == r->point->variant->op;
        if (!work_finish(&s->work, err) ||
            (mine && !variant_bind(&r->plan->variants, r->point, &s->work, &r->plan->chip, &s->program, err)))
            break;
        r->count++;
        char *reason =
            mine ? unfit(r, s)
                 : text_format("no %s variant of op %s is listed that can do it", r->sparse ? "sparse" : "dense", s->work.op->name);
        bool found = !reason;
        own += found;
        if (!found && !bind_other(r, s, layer, &found, err)) {
            free(reason);
            break;
        }
        if (!found)
            *why = text_format("%s: %s", layer, reason);
        else if (mine && reason && !first)
            first = text_format("%s: %s", layer, reason);
        free(reason);
        r->zero |= r->sparse && found && s->program.reads_inactive;
    }
    if (!*why && r->count == r->source->count && !own && first)
        *why = xstrdup(first);
    free(first);
    return *why || r->count == r->source->count;
}

/* ---- launches of kernels/sequence/delta.cu ---- */

struct slot {
    uint64_t p;
    float f;
    bool real;
};
#define POINTER(v) \
    { \
        .p = (v) \
    }
#define WHOLE(v) \
    { \
        .p = (uint64_t)(v) \
    }
#define REAL(v) \
    { \
        .f = (float)(v), .real = true \
    }

static bool launch(struct runner *r, struct device_function *f, int64_t n, int64_t h, int64_t width, const struct slot *slots, int count,
                   struct error *err)
{
    const struct device_ops *ops = r->w->dev->ops;
    const struct param *params;
    unsigned char packed[256] = {0};
    size_t bytes;
    if (ops->signature(r->w->dev, f, &params, &bytes) != count || bytes > sizeof packed)
        return error_set(err, ERROR_INTERNAL, "kernels/sequence/delta.cu and worker/sequence disagree");
    for (int i = 0; i < count; i++)
        memcpy(packed + params[i].offset, slots[i].real ? (const void *)&slots[i].f : (const void *)&slots[i].p, params[i].bytes);
    struct device_launch l = {.grid = {(uint32_t)((h * ((width + 31) / 32) + 7) / 8), 1, (uint32_t)n},
                              .block = {32, 8, 1},
                              .carveout = -1,
                              .params = packed,
                              .param_bytes = bytes,
                              .time_limit_s = r->w->time_limit_s};
    return ops->launch(r->w->dev, f, &l, err);
}

static bool send_frame(struct runner *r, struct error *err)
{
    const struct work *w = &r->stages[0].work;
    const struct slot slots[] = {
        POINTER(r->frame), POINTER(r->sent), POINTER(r->stages[0].input),   POINTER(r->stages[0].mask_in), WHOLE(w->h),
        WHOLE(w->w),       WHOLE(w->c),      REAL(r->source->q->threshold), WHOLE(r->source->frame == 0)};
    return launch(r, r->sparsify, w->n, w->h, w->w, slots, 9, err);
}

/* What a layer that keeps no sums passes on, and what an earlier layer's reader gets too: marked pixels and the mask. */
static bool hand_over(struct runner *r, const struct work *w, uint64_t from, uint64_t mask_from, uint64_t to, uint64_t mask_to,
                      struct error *err)
{
    const struct slot slots[] = {POINTER(from), POINTER(mask_from), POINTER(to), POINTER(mask_to), WHOLE(w->p), WHOLE(w->q), WHOLE(w->k)};
    return launch(r, r->hand_over, w->n, w->p, w->q, slots, 7, err);
}

/* A maximum's input so far, for the next frame. */
static bool accumulate(struct runner *r, const struct stage *s, struct error *err)
{
    const struct work *w = &s->work;
    const struct slot slots[] = {POINTER(s->input), POINTER(s->mask_in), POINTER(s->stored), WHOLE(w->h), WHOLE(w->w), WHOLE(w->c)};
    return launch(r, r->accumulate, w->n, w->h, w->w, slots, 6, err);
}

/* To the layers further on that take this one's changes with their own. */
static bool pass_aside(struct runner *r, int i, uint64_t changes, uint64_t mask, struct error *err)
{
    for (int k = i + 1; k < r->count; k++)
        if (r->source->q->with[k] == i &&
            !hand_over(r, &r->stages[i].work, changes, mask, r->stages[k].second, r->stages[k].mask_second, err))
            return false;
    return true;
}

static bool keeps_sums(const struct runner *r, int i)
{
    return i + 1 == r->count || r->stages[i].work.op->has_filter;
}

static bool add_changes(struct runner *r, int i, struct error *err)
{
    const struct stage *s = &r->stages[i], *next = i + 1 < r->count ? s + 1 : NULL;
    const struct work *w = &s->work;
    const struct slot slots[] = {POINTER(s->output),
                                 POINTER(s->mask_out),
                                 POINTER(s->sum),
                                 POINTER(s->sent),
                                 POINTER(next ? next->input : 0),
                                 POINTER(next ? next->mask_in : 0),
                                 WHOLE(w->p),
                                 WHOLE(w->q),
                                 WHOLE(w->k),
                                 REAL(r->source->layers[i].slope),
                                 REAL(r->source->q->truncate_above),
                                 WHOLE(r->source->frame == 0)};
    return launch(r, r->truncate, w->n, w->p, w->q, slots, 12, err);
}

static bool pass_changes(struct runner *r, int i, struct error *err)
{
    const struct stage *s = &r->stages[i], *next = i + 1 < r->count ? s + 1 : NULL;
    if (s->stored && !accumulate(r, s, err))
        return false;
    if (keeps_sums(r, i) ? !add_changes(r, i, err) : !hand_over(r, &s->work, s->output, s->mask_out, next->input, next->mask_in, err))
        return false;
    return !next || pass_aside(r, i, next->input, next->mask_in, err);
}

/* ---- setting up ---- */

/* kernels/sequence/delta.cu for this sequence; `text` holds what the request points to. */
struct delta {
    char text[4][64];
    const char *defines[4];
    char *path;
    struct compile_request request;
};
static void delta_request(const struct runner *r, struct delta *d)
{
    const struct work *w = &r->stages[0].work;
    snprintf(d->text[0], sizeof d->text[0], "TYPE=%s", dtype_cuda(w->dtype));
    snprintf(d->text[1], sizeof d->text[1], "NHWC=%d", w->layout == LAYOUT_NHWC);
    snprintf(d->text[2], sizeof d->text[2], "MODE=%d", (int)r->source->q->truncate);
    snprintf(d->text[3], sizeof d->text[3], "ZERO=%d", r->zero);
    for (int i = 0; i < 4; i++)
        d->defines[i] = d->text[i];
    d->path = file_share("kernels/sequence/delta.cu");
    d->request = (struct compile_request){
        .path = d->path, .label = "sequence/delta", .defines = d->defines, .define_count = 4, .arch = r->plan->chip.arch};
}

bool runner_compiles(const struct runner *r, sequence_compile take, void *context, struct error *err)
{
    bool ok = true;
    for (int i = 0; i < r->count; i++)
        for (int k = 0; ok && k < r->stages[i].program.unit_count; k++) {
            const struct unit *u = &r->stages[i].program.units[k];
            struct compile_request request = {.path = u->path,
                                              .label = u->label,
                                              .defines = (const char *const *)u->defines,
                                              .define_count = u->define_count,
                                              .arch = r->plan->chip.arch};
            ok = !u->path || u->code != CODE_CUDA || take(context, &request, err);
        }
    if (ok && r->sparse) {
        struct delta d;
        delta_request(r, &d);
        ok = take(context, &d.request, err);
        free(d.path);
    }
    return ok;
}

static bool load_code(struct runner *r, struct error *err)
{
    struct device *dev = r->w->dev;
    struct delta d;
    delta_request(r, &d);
    d.request.compiler = r->w->options.compiler;
    bool ok = compile(&d.request, &r->code, err);
    if (ok) {
        struct device_image image = {.label = d.request.label,
                                     .path = d.path,
                                     .ptx = r->code.ptx,
                                     .ptx_bytes = r->code.ptx_bytes,
                                     .cubin = r->code.cubin,
                                     .cubin_bytes = r->code.cubin_bytes};
        ok = dev->ops->load(dev, &image, &r->module, err) && dev->ops->function(dev, r->module, "sparsify", &r->sparsify, err) &&
             dev->ops->function(dev, r->module, "truncate_changes", &r->truncate, err) &&
             dev->ops->function(dev, r->module, "hand_over", &r->hand_over, err) &&
             dev->ops->function(dev, r->module, "accumulate", &r->accumulate, err);
    }
    free(d.path);
    return ok;
}

static bool make_state(struct runner *r, const char *label, size_t elements, bool state, uint64_t *address, struct error *err)
{
    const struct device_ops *ops = r->w->dev->ops;
    r->state_bytes += state ? (int64_t)(elements * sizeof(float)) : 0;
    return ops->alloc(r->w->dev, label, elements * sizeof(float), address, err) &&
           ops->fill(r->w->dev, *address, 0, elements * sizeof(float), err);
}

/* Frame 0 begins with the bias in every sum. */
static bool write_bias(struct runner *r, int i, struct error *err)
{
    const struct work *w = &r->stages[i].work;
    const float *bias = r->source->layers[i].data.array[ROLE_BIAS];
    size_t elements = (size_t)(w->n * w->k * w->p * w->q);
    struct tensor t = {.role = ROLE_OUTPUT, .dtype = DTYPE_F32, .layout = w->layout, .dim = {w->n, w->k, w->p, w->q}};
    float *sums = xcalloc(elements, sizeof *sums), *stored = xmalloc(elements * sizeof *stored);
    for (size_t e = 0; bias && e < elements; e++)
        sums[e] = bias[e / (size_t)(w->p * w->q) % (size_t)w->k];
    tensor_pack(&t, sums, stored);
    bool ok = r->w->dev->ops->write(r->w->dev, r->stages[i].sum, stored, elements * sizeof *stored, err);
    free(sums);
    free(stored);
    return ok;
}

static bool feed(struct runner *r, int i, struct error *err)
{
    struct stage *s = &r->stages[i];
    struct op_data d;
    double ns;
    if (!op_data_inputs(&s->work, DATA_PART_PRECISION, &d, err))
        return false;
    for (int role = ROLE_FILTER; role <= ROLE_BIAS; role++) { /* the weights that the reference uses */
        struct tensor t;
        const float *own = r->source->layers[i].data.array[role];
        if (d.array[role] && own && work_tensor(&s->work, (enum tensor_role)role, &t))
            memcpy(d.array[role], own, tensor_elements(&t) * sizeof *own);
    }
    bool ok = rig_feed(s->rig, &d, err) && rig_prepare(s->rig, &ns, err);
    op_data_free(&d);
    for (int k = 0, step; ok && (step = rig_library_step(s->rig, k)) >= 0; k++) {
        ok = sample_plans(r->w->dev, s->rig, step, PLAN_ROUNDS, NULL, err) && rig_plan_settle(s->rig, err);
        if (ok)
            rig_plan_keep(s->rig, step);
    }
    return ok;
}

/* Before frame 0 everything is 0. */
static bool clear_stored(struct runner *r, struct stage *s, struct error *err)
{
    struct tensor t;
    if (!rig_address(s->rig, ROLE_STORED, &s->stored) || !work_tensor(&s->work, ROLE_STORED, &t))
        return true;
    r->state_bytes += (int64_t)tensor_bytes(&t);
    return r->w->dev->ops->fill(r->w->dev, s->stored, 0, tensor_bytes(&t), err);
}

static bool open_stage(struct runner *r, int i, struct error *err)
{
    struct stage *s = &r->stages[i];
    const struct work *w = &s->work;
    size_t outputs = (size_t)(w->n * w->k * w->p * w->q);
    rig_time_limit(s->rig, r->w->time_limit_s);
    if (!rig_address(s->rig, ROLE_INPUT, &s->input) || !rig_address(s->rig, ROLE_OUTPUT, &s->output))
        return error_set(err, ERROR_INTERNAL, "sequence: a layer without input or output");
    rig_address(s->rig, ROLE_SECOND, &s->second);
    if (!r->sparse)
        return feed(r, i, err);
    rig_address(s->rig, ROLE_MASK_SECOND, &s->mask_second);
    if (!rig_address(s->rig, ROLE_MASK_IN, &s->mask_in) || !rig_address(s->rig, ROLE_MASK_OUT, &s->mask_out))
        return error_set(err, ERROR_USAGE, "the variant writes no mask_out, which the next layer needs");
    if (!feed(r, i, err) || !clear_stored(r, s, err))
        return false;
    return !keeps_sums(r, i) || (make_state(r, "sums", outputs, true, &s->sum, err) && write_bias(r, i, err) &&
                                 (i + 1 == r->count || make_state(r, "sent", outputs, true, &s->sent, err)));
}

bool runner_open(struct runner *r, struct error *err)
{
    worker_stage(r->w, r->row, "compile", OPEN_LIMIT_S + r->w->time_limit_s);
    for (int i = 0; i < r->count; i++)
        if (!build_make(r->w, &r->stages[i].program, &r->stages[i].build, err) ||
            !rig_open(r->w->dev, r->w->library, &r->stages[i].program, r->stages[i].build.images, false, &r->stages[i].rig, err) ||
            !open_stage(r, i, err))
            return error_where(err, "%s", r->point->variant->name);
    return !r->sparse || (load_code(r, err) && make_state(r, "frame", r->source->elements, false, &r->frame, err) &&
                          make_state(r, "sent of the frame", r->source->elements, true, &r->sent, err));
}

void runner_unbind(struct runner *r)
{
    for (int i = 0; i < r->count; i++)
        program_free(&r->stages[i].program);
    for (int i = 0; i < r->kept_count; i++)
        variant_points_free(r->kept[i], 1);
    free(r->kept);
    text_free(&r->others);
    free(r->stages);
}

void runner_close(struct runner *r)
{
    const struct device_ops *ops = r->w->dev->ops;
    const uint64_t own[] = {r->frame, r->sent};
    for (int i = 0; i < 2; i++)
        if (own[i])
            ops->release(r->w->dev, own[i]);
    for (int i = 0; i < r->count; i++) {
        struct stage *s = &r->stages[i];
        if (s->sum)
            ops->release(r->w->dev, s->sum);
        if (s->sent)
            ops->release(r->w->dev, s->sent);
        rig_close(s->rig);
        build_free(&s->build);
    }
    if (r->module)
        ops->unload(r->w->dev, r->module);
    compiled_free(&r->code);
    char unread[HASH_TEXT];
    if (r->outputs)
        hash_end(r->outputs, unread);
    free(r->frame_ns);
    runner_unbind(r);
}

/* ---- frames ---- */

static bool upload(struct runner *r, struct error *err)
{
    const struct work *w = &r->stages[0].work;
    struct tensor t = {.role = ROLE_INPUT, .dtype = r->sparse ? DTYPE_F32 : w->dtype, .layout = w->layout, .dim = {w->n, w->c, w->h, w->w}};
    unsigned char *stored = xmalloc(tensor_bytes(&t));
    tensor_pack(&t, r->source->now, stored);
    bool ok = r->w->dev->ops->write(r->w->dev, r->sparse ? r->frame : r->stages[0].input, stored, tensor_bytes(&t), err);
    free(stored);
    return ok;
}

/* A piece of a frame between two events; added to the frame's time where there is time. */
static bool timed(struct runner *r, bool (*piece)(struct runner *r, int i, struct error *err), int i, double *ns, struct error *err)
{
    const struct device_ops *ops = r->w->dev->ops;
    struct device_event *from = NULL, *to = NULL;
    double own = 0;
    if (!ops->keeps_time)
        return piece(r, i, err);
    bool ok = ops->event(r->w->dev, &from, err) && ops->event(r->w->dev, &to, err) && ops->record(r->w->dev, from, err) &&
              piece(r, i, err) && ops->record(r->w->dev, to, err) && ops->sync(r->w->dev, err) &&
              ops->elapsed(r->w->dev, from, to, &own, err);
    if (from)
        ops->event_free(r->w->dev, from);
    if (to)
        ops->event_free(r->w->dev, to);
    *ns += own;
    return ok;
}

static bool sparse_frame(struct runner *r, int unused, struct error *err)
{
    (void)unused;
    bool ok = send_frame(r, err);
    for (int i = 0; ok && i < r->count; i++)
        ok = rig_run(r->stages[i].rig, err) && pass_changes(r, i, err);
    return ok;
}

static bool dense_layer(struct runner *r, int i, struct error *err)
{
    return rig_run(r->stages[i].rig, err);
}

/* A dense layer's output becomes the next one's input, and another's second tensor, outside the time. */
static bool dense_result(struct runner *r, int i, struct error *err)
{
    const struct device_ops *ops = r->w->dev->ops;
    const struct stage *s = &r->stages[i];
    size_t bytes = (size_t)(s->work.n * s->work.k * s->work.p * s->work.q) * dtype_bytes(s->work.dtype);
    for (int k = i + 1; k < r->count; k++)
        if ((k == i + 1 && !ops->copy(r->w->dev, r->stages[k].input, s->output, bytes, err)) ||
            (r->source->q->with[k] == i && !ops->copy(r->w->dev, r->stages[k].second, s->output, bytes, err)))
            return false;
    return true;
}

static bool dense_frame(struct runner *r, double *ns, struct error *err)
{
    for (int i = 0; i < r->count; i++)
        if (!timed(r, dense_layer, i, ns, err) || !dense_result(r, i, err))
            return false;
    return r->w->dev->ops->sync(r->w->dev, err);
}

/* A mask as it is on the device. NULL on error; the caller frees. */
static float *read_marks(struct runner *r, uint64_t address, int64_t n, int64_t h, int64_t w, struct error *err)
{
    struct tensor t = {.role = ROLE_MASK_IN, .dtype = DTYPE_U32, .layout = LAYOUT_BITS, .dim = {n, 1, h, w}};
    unsigned char *bits = xmalloc(tensor_bytes(&t));
    float *marks = xmalloc((size_t)(n * h * w) * sizeof *marks);
    bool ok = r->w->dev->ops->read(r->w->dev, address, bits, tensor_bytes(&t), err);
    if (ok)
        tensor_unpack(&t, bits, marks);
    free(bits);
    if (!ok)
        free(marks);
    return ok ? marks : NULL;
}

/* Is the out-mask what the in-masks make it, bit for bit? */
static bool judge_mask(struct runner *r, int i, const float *marks, struct error *err)
{
    struct stage *s = &r->stages[i];
    const struct work *w = &s->work;
    size_t outputs = (size_t)(w->n * w->p * w->q), bytes = tensor_bytes(&s->program.tensors[program_tensor(&s->program, ROLE_MASK_OUT)]);
    struct op_data d = {.mask_out = xmalloc(outputs * sizeof *d.mask_out)};
    struct verdict v = {.ok = true};
    unsigned char *out = xmalloc(bytes);
    float *second = s->mask_second ? read_marks(r, s->mask_second, w->n, w->h, w->w, err) : NULL;
    mask_dilate(w, marks, d.mask_out);
    for (size_t k = 0; second && k < outputs; k++)
        d.mask_out[k] = d.mask_out[k] != 0 || second[k] != 0;
    bool ok = (second || !s->mask_second) && r->w->dev->ops->read(r->w->dev, s->mask_out, out, bytes, err);
    if (ok)
        verify_mask(&s->program, &d, out, &v);
    free(out);
    free(second);
    free(d.mask_out);
    return ok && (v.ok || error_set(err, ERROR_WRONG, "frame %d, layer %d: %s", r->source->frame, i + 1, v.text));
}

/* The share of marked inputs of every layer; in frames that are looked at, the out-masks. */
static bool look_at_masks(struct runner *r, struct error *err)
{
    for (int i = 0; i < r->count; i++) {
        struct stage *s = &r->stages[i];
        const struct work *w = &s->work;
        float *marks = read_marks(r, s->mask_in, w->n, w->h, w->w, err);
        if (!marks)
            return false;
        s->share += r->source->frame ? mask_density(marks, (size_t)(w->n * w->h * w->w)) : 0;
        bool ok = !source_judged(r->source, r->source->frame) || judge_mask(r, i, marks, err);
        free(marks);
        if (!ok)
            return false;
    }
    return true;
}

static bool judge(struct runner *r, struct error *err)
{
    const struct stage *s = &r->stages[r->count - 1];
    const struct work *w = &s->work;
    double slope = r->source->layers[r->count - 1].slope;
    struct tensor t = {
        .role = ROLE_OUTPUT, .dtype = r->sparse ? DTYPE_F32 : w->dtype, .layout = w->layout, .dim = {w->n, w->k, w->p, w->q}};
    unsigned char *stored = xmalloc(tensor_bytes(&t));
    float *got = xmalloc(tensor_elements(&t) * sizeof *got);
    bool ok = r->w->dev->ops->read(r->w->dev, r->sparse ? s->sum : s->output, stored, tensor_bytes(&t), err);
    if (ok) {
        hash_add(r->outputs, stored, tensor_bytes(&t));
        tensor_unpack(&t, stored, got);
        for (size_t i = 0; r->sparse && i < tensor_elements(&t); i++)
            got[i] *= got[i] < 0 ? (float)slope : 1;
        ok = source_judge(r->source, got, &r->error, err);
    }
    free(stored);
    free(got);
    return ok;
}

bool runner_frames(struct runner *r, struct error *err)
{
    const struct scenario_sequence *q = r->source->q;
    r->frame_ns = xcalloc((size_t)q->frames, sizeof *r->frame_ns);
    r->outputs = hash_begin();
    for (int n = 0; n < q->frames; n++) {
        double *ns = &r->frame_ns[n];
        char stage[32];
        snprintf(stage, sizeof stage, "frame %d/%d", n + 1, q->frames);
        worker_stage(r->w, r->row, "pixels", SEQUENCE_HOST_LIMIT_S);
        if (!(n ? source_next(r->source, err) : source_first(r->source, err)) || !upload(r, err))
            return false;
        worker_stage(r->w, r->row, stage, (2 * r->count + 1) * r->w->time_limit_s + 5);
        if (!(r->sparse ? timed(r, sparse_frame, 0, ns, err) && r->w->dev->ops->sync(r->w->dev, err) && look_at_masks(r, err)
                        : dense_frame(r, ns, err)))
            return false;
        if (!source_judged(r->source, n))
            continue;
        worker_stage(r->w, r->row, "verify", SEQUENCE_HOST_LIMIT_S);
        if (!judge(r, err))
            return false;
    }
    return true;
}
