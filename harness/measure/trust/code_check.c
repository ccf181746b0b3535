#include "measure/trust/code_check.h"
#include "base/text.h"
#include "device/compile/cubin.h"
#include "op/reference/bound.h"
#include "device/ptx/query.h"
#include <stdlib.h>

bool code_sums_round(const struct program *p, const struct device_image *images)
{
    for (int i = 0; i < p->step_count; i++) {
        const struct step *s = &p->steps[i];
        if (s->kind == STEP_CUDNN || s->kind == STEP_CALL ||
            (s->kind == STEP_KERNEL && (!images[s->unit].ptx || ptx_factors(images[s->unit].ptx, s->name))))
            return false;
    }
    return true;
}

void code_take_rounds(const struct plan_row *row, struct program *p, const struct device_image *images)
{
    if (!p->rounds_known)
        p->rounds = row->kind == PLAN_LAYER && code_sums_round(p, images);
    p->rounds_known = true;
}

/* Tensor cores may multiply in an 8-bit float type, or a wider one that holds all its values, if all float inputs have such a type, or at
 * least two of them (the others may be biases). */
static unsigned tensor_factors(const struct work *work)
{
    struct tensor list[OP_MAX_TENSORS];
    int narrow = 0, wide = 0;
    for (int i = 0, count = work->op->tensors(work, list); i < count; i++)
        if (!list[i].role->result && !dtype_is_whole(list[i].dtype))
            *(dtype_bytes(list[i].dtype) == 1 ? &narrow : &wide) += 1;
    return narrow > 1 || (narrow && !wide) ? FACTOR_F8 | FACTOR_F16 | FACTOR_BF16 | FACTOR_TF32 : 0;
}

void code_check_factors(const struct program *p, const struct build *build, struct row *row)
{
    char lesser[96];
    for (int i = 0; i < p->step_count && row->status == ROW_PLANNED; i++) {
        const struct step *s = &p->steps[i];
        const struct device_image *image = &build->images[s->unit];
        if (s->kind != STEP_KERNEL || p->work.chain)
            continue;
        const struct work *work = program_step_work(p, s);
        unsigned may = work->op->has_math ? bound_factors(work->math, p->algorithm) : ~0u;
        unsigned does = image->ptx ? ptx_factors(image->ptx, s->name) : cubin_factors(image->cubin, image->cubin_bytes, s->name);
        may |= tensor_factors(work);
        if (may & (FACTOR_F16 | FACTOR_BF16))
            does &= ~(unsigned)FACTOR_HALF;
        if (!(does & ~may))
            continue;
        factor_type_names(does & ~may, lesser, sizeof lesser);
        char *reason = text_format("tensor cores multiply %s in %s, which is not allowed for %s with algorithm `%s`", lesser, s->name,
                                   math_name(work->math), p->algorithm);
        row->status = ROW_WRONG;
        row_set(&row->reason, reason);
        free(reason);
    }
}

/* True if the step and the step before it share a buffer that at least one of them writes; *name: the buffer's name in the head. */
static bool is_shared(const struct program *p, const struct step *a, const struct step *b, const char **name)
{
    for (int i = 0; i < b->arg_count; i++) {
        const struct arg *arg = &b->args[i];
        struct buffer_ref of = arg->kind == ARG_TENSOR_MAP && arg->map >= 0 ? p->tensor_maps[arg->map].buffer : arg->buffer;
        bool only_read = of.kind == BUFFER_TENSOR && !p->tensors[of.index].role->result;
        for (int k = 0; k < a->arg_count && of.kind != BUFFER_NONE && !only_read; k++) {
            const struct arg *other = &a->args[k];
            struct buffer_ref to = other->kind == ARG_TENSOR_MAP && other->map >= 0 ? p->tensor_maps[other->map].buffer : other->buffer;
            if (to.kind == of.kind && to.index == of.index) {
                *name = arg->name;
                return true;
            }
        }
    }
    return false;
}

void code_check_waits(const struct program *p, const struct build *build, struct row *row)
{
    for (int i = 1; i < p->step_count && row->status == ROW_PLANNED; i++) {
        const struct step *before = &p->steps[i - 1], *s = &p->steps[i];
        const char *name;
        if (s->kind != STEP_KERNEL || !s->pdl || before->kind != STEP_KERNEL || before->prepare != s->prepare ||
            !build->images[s->unit].ptx || !is_shared(p, before, s, &name) || ptx_waits(build->images[s->unit].ptx, s->name))
            continue;
        char *reason = text_format(
            "%s may start before %s ends (pdl) and never waits for it (griddepcontrol.wait), so the content of `%s` is undefined", s->name,
            before->name, name);
        row->status = ROW_UNSAFE;
        row_set(&row->reason, reason);
        free(reason);
    }
}
