/* Adds steps for the items of an epilogue that a variant does not fuse, so that fused and unfused variants do the same work. */
#include "kernel/bind/bind.h"
#include "kernel/head/load.h"
#include "base/text.h"
#include "op/file/ops.h"
#include <string.h>

#define STAGES_MAX (2 * WORK_MAX_EPILOGUE + 2) /* a change of layout before each item, and one at the end */

enum stage_kind { STAGE_POINTWISE, STAGE_D2S, STAGE_CONVERT };
struct stage {
    enum stage_kind kind;
    int from, count; /* items of the epilogue */
    enum layout to;  /* STAGE_CONVERT */
};

static const struct {
    enum op_task op;
    const char *variant; /* the one that is taken when it can */
} stage_variants[] = {[STAGE_POINTWISE] = {TASK_POINTWISE, "pointwise/epilogue"},
                      [STAGE_D2S] = {TASK_DEPTH_TO_SPACE, "depth_to_space/d2s_native"},
                      [STAGE_CONVERT] = {TASK_LAYOUT, "layout/convert"}};

static bool is_pointwise(enum epilogue_kind kind)
{
    return kind != EPILOGUE_DEPTH_TO_SPACE && kind != EPILOGUE_LAYOUT;
}

static void convert(struct stage *stages, int *count, enum layout *now, enum layout to)
{
    if (*now == to)
        return;
    stages[(*count)++] = (struct stage){STAGE_CONVERT, 0, 0, to};
    *now = to;
}

/* End of the run of element-wise items from `from` on that the agreed variant can do at once: [relu, bias] becomes two passes. */
static int pointwise_end(const struct bind *b, int from)
{
    struct work part = *b->work;
    int end = from;
    while (end < part.epilogue_count && is_pointwise(part.epilogue[end].kind))
        end++;
    part.epilogue_count = end - from;
    memmove(part.epilogue, &b->work->epilogue[from], (size_t)part.epilogue_count * sizeof *part.epilogue);
    for (int i = 0; b->set && i < b->set->count; i++)
        if (!strcmp(b->set->items[i]->name, stage_variants[STAGE_POINTWISE].variant)) {
            int fused = bind_fused(b->set->items[i]->parsed, &part);
            return fused > 0 ? from + fused : end;
        }
    return end;
}

/* Lists the further steps, from the own output, stored as `now`, to the final one. */
static int make_stages(const struct bind *b, enum layout now, enum layout final, struct stage stages[STAGES_MAX])
{
    const struct work *work = b->work;
    int count = 0;
    for (int i = b->own.epilogue_count; i < work->epilogue_count; i++) {
        const struct epilogue *e = &work->epilogue[i];
        if (e->kind == EPILOGUE_LAYOUT) {
            convert(stages, &count, &now, e->layout);
        } else if (e->kind == EPILOGUE_DEPTH_TO_SPACE) {
            stages[count++] = (struct stage){STAGE_D2S, i, 1, LAYOUT_NONE};
        } else {
            int end = pointwise_end(b, i);
            bool residual = false;
            for (int j = i; j < end; j++)
                residual |= work->epilogue[j].kind == EPILOGUE_RESIDUAL;
            struct tensor t;
            if (residual && work_tensor(work, "residual", &t)) /* it is added element by element, so both need the same layout */
                convert(stages, &count, &now, t.layout);
            stages[count++] = (struct stage){STAGE_POINTWISE, i, end - i, LAYOUT_NONE};
            i = end - 1;
        }
    }
    convert(stages, &count, &now, final);
    return count;
}

/* The work of one such step on a tensor shaped and stored as `in`. */
static bool stage_work(const struct bind *b, const struct stage *stage, bool last, const struct op *op, const struct tensor *in,
                       struct work *w, struct error *err)
{
    const struct work *whole = b->work;
    *w = (struct work){.op = op, .math = op->has_math ? math_default(in->dtype) : whole->math, .data = whole->data, .seed = whole->seed};
    work_reads(w, in);
    w->pitch = (struct pitches){.other = whole->pitch.other, .output = last ? whole->pitch.output : 0};
    w->follows = whole->follows;
    if (stage->kind == STAGE_D2S) {
        w->block = whole->epilogue[stage->from].block;
        w->mode = whole->epilogue[stage->from].mode;
    }
    if (stage->kind == STAGE_CONVERT)
        w->to = stage->to;
    if (stage->kind == STAGE_POINTWISE) {
        memcpy(w->epilogue, &whole->epilogue[stage->from], (size_t)stage->count * sizeof *w->epilogue);
        w->epilogue_count = stage->count;
    }
    return work_finish(w, err);
}

/* Binds v at its defaults. If it cannot be used, `why` says so. */
static bool try_variant(struct bind *b, const struct stage *stage, bool last, const struct variant *v, const struct tensor *in,
                        struct program *inner, struct text *why, struct error *err)
{
    struct work w;
    struct variant_config *configs = NULL;
    struct error own = {0};
    if (!stage_work(b, stage, last, v->op, in, &w, &own)) {
        text_addf(why, "%s%s: %s", why->len ? "; " : "", v->name, own.text);
        return false;
    }
    int count = variant_configs(v, NULL, &configs, err);
    bool done = count > 0 && b->bind(b->set, &configs[0], &w, b->chip, BIND_MAX_DEPTH - 1, inner, err);
    variant_configs_free(configs, count < 0 ? 0 : count);
    if (!done)
        return false;
    if (inner->feasible && program_result(inner) >= 0)
        return true;
    text_addf(why, "%s%s: %s", why->len ? "; " : "", v->name, inner->feasible ? "it has no output" : inner->reason);
    program_free(inner);
    return false;
}

/* Finds the variant with the agreed name, else any of the op that can do it. False with err untouched: none; `why` says so. */
static bool find_variant(struct bind *b, const struct stage *stage, bool last, const struct tensor *in, struct program *inner,
                         struct text *why, struct error *err)
{
    struct error own = {0};
    const char *agreed = stage_variants[stage->kind].variant;
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; b->set && i < b->set->count; i++) {
            const struct variant *v = b->set->items[i];
            bool named = !strcmp(v->name, agreed);
            if (pass == 0 ? !named
                          : named || v->op->task != stage_variants[stage->kind].op || v == b->config->variant ||
                                !((const struct head *)v->parsed)->checked)
                continue;
            if (try_variant(b, stage, last, v, in, inner, why, &own))
                return true;
            if (own.kind != ERROR_NONE) {
                if (err)
                    *err = own;
                return false;
            }
        }
    return false;
}

static void stage_text(const struct bind *b, const struct stage *stage, struct text *t)
{
    if (stage->kind == STAGE_CONVERT)
        text_addf(t, "layout %s", layout_name(stage->to));
    for (int i = 0; i < stage->count; i++)
        text_addf(t, "%s%s", i ? ", " : "", epilogue_name(b->work->epilogue[stage->from + i].kind));
}

static bool no_variant(struct bind *b, const struct stage *stage, const struct text *why)
{
    SCOPED_TEXT t = {0};
    stage_text(b, stage, &t);
    if (why->len)
        bind_infeasible(b, "epilogue: %s is not fused, and no further step is possible: %s", text_get(&t), text_get(why));
    else
        bind_infeasible(b, "epilogue: %s is not fused, and there is no variant of %s for a further step", text_get(&t),
                        op_for(stage_variants[stage->kind].op)->name);
    return false;
}

/* Adds one step; `now` and `buffer` become its output. */
static bool add_stage(struct bind *b, const struct stage *stage, bool last, struct tensor *now, struct buffer_ref *buffer,
                      struct error *err)
{
    struct program inner, *p = b->program;
    SCOPED_TEXT why = {0};
    struct error own = {0};
    bool found = find_variant(b, stage, last, now, &inner, &why, &own);
    if (!found) {
        if (own.kind == ERROR_NONE)
            no_variant(b, stage, &why);
        else if (err)
            *err = own;
        return false;
    }
    struct tensor out = inner.tensors[program_result(&inner)];
    struct buffer_ref at[OP_MAX_TENSORS] = {0};
    int result = out.role->slot;
    for (int i = 0; i < inner.tensor_count; i++) {
        int outer = program_tensor(p, inner.tensors[i].role->name);
        if (outer >= 0)
            at[inner.tensors[i].role->slot] = (struct buffer_ref){.kind = BUFFER_TENSOR, .index = outer};
    }
    at[inner.work.op->roles[0]->slot] = *buffer;
    if (!last) {
        int64_t elements = (int64_t)tensor_elements(&out);
        at[result] = (struct buffer_ref){.kind = BUFFER_SCRATCH, .index = program_add_scratch(p, "between", out.dtype, elements)};
    }
    program_add_completed(p, inner.variant);
    *buffer = at[result];
    *now = out;
    return bind_embed(b, &inner, at, false, err);
}

bool bind_complete(struct bind *b, struct error *err)
{
    struct stage stages[STAGES_MAX];
    if (!b->completed)
        return true;
    if (b->depth >= BIND_MAX_DEPTH - 1) /* such a step must do all of its work itself, else the search might not end */
        return bind_infeasible(b, "epilogue: as a further step it would have to fuse all of the rest");
    struct tensor final, now = *bind_result(b);
    if (!work_tensor(b->work, now.role->name, &final))
        return error_set(err, ERROR_INTERNAL, "%s: the work has no output", b->config->variant->name);
    int count = make_stages(b, now.layout, final.layout, stages);
    struct buffer_ref buffer = b->output;
    return ALL_OF(i, count, add_stage(b, &stages[i], i == count - 1, &now, &buffer, err));
}
