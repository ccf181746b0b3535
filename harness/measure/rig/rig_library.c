/* The steps of a program that call cuDNN: their plans, and which plan runs. */
#include "base/text.h"
#include "measure/rig/rig_private.h"
#include <stdlib.h>
#include <string.h>

#define PLANS_MAX 24

static void fuse(struct cudnn_conv *out, const struct epilogue *e)
{
    static const enum cudnn_activation activations[EPILOGUE_COUNT] = {
        [EPILOGUE_RELU] = CUDNN_RELU,           [EPILOGUE_LEAKY_RELU] = CUDNN_LEAKY_RELU,
        [EPILOGUE_SILU] = CUDNN_SILU,           [EPILOGUE_SIGMOID] = CUDNN_SIGMOID,
        [EPILOGUE_TANH] = CUDNN_TANH,           [EPILOGUE_GELU] = CUDNN_GELU,
        [EPILOGUE_GELU_TANH] = CUDNN_GELU_TANH, [EPILOGUE_CLIP] = CUDNN_CLIP};
    out->bias |= e->kind == EPILOGUE_BIAS;
    out->residual |= e->kind == EPILOGUE_RESIDUAL;
    if (e->kind == EPILOGUE_RESIDUAL && e->scale != 1)
        out->scale = e->scale;
    if (activations[e->kind])
        out->activation = activations[e->kind];
    if (e->kind == EPILOGUE_LEAKY_RELU || e->kind == EPILOGUE_CLIP)
        out->alpha = e->alpha;
    if (e->kind == EPILOGUE_CLIP)
        out->most = e->most;
}

static void conv_of(const struct program *p, const struct step *step, struct cudnn_conv *out)
{
    const struct work *w = program_step_work(p, step);
    *out = (struct cudnn_conv){.n = w->n,
                               .c = w->c,
                               .h = w->h,
                               .w = w->w,
                               .k = w->k,
                               .r = w->r,
                               .s = w->s,
                               .p = w->p,
                               .q = w->q,
                               .stride = w->stride,
                               .pad = w->pad,
                               .dilation = w->dilation,
                               .groups = w->groups,
                               .dtype = w->dtype,
                               .math = w->math,
                               .layout = w->layout};
    for (int i = 0; i < 3; i++) {
        static const enum work_side stride[] = {SIDE_stride_z, SIDE_stride_y, SIDE_stride_x},
                                    dilation[] = {SIDE_dilation_z, SIDE_dilation_y, SIDE_dilation_x},
                                    before[] = {SIDE_pad_front, SIDE_pad_top, SIDE_pad_left},
                                    after[] = {SIDE_pad_back, SIDE_pad_bottom, SIDE_pad_right};
        out->more_stride[i] = w->apart[stride[i]];
        out->more_dilation[i] = w->apart[dilation[i]];
        out->more_before[i] = w->apart[before[i]];
        out->more_after[i] = w->apart[after[i]];
    }
    if (w->op->volume)
        out->d = w->d, out->t = w->t, out->o = w->o, out->h = w->plane, out->p = w->plane_out;
    for (int i = 0; i < 3; i++) {
        static const char *const tensors[] = {"input", "output", "residual"};
        const struct tensor_role *role = op_role(w->op, tensors[i]);
        out->pitch[i] = role ? step->operand_pitch[role->slot] : 0;
    }
    int fused = step->cudnn_epilogue < 0 ? w->epilogue_count : step->cudnn_epilogue;
    for (int i = 0; i < fused && i < w->epilogue_count; i++)
        fuse(out, &w->epilogue[i]);
}

static bool make_like(struct rig *rig, int step, const struct cudnn_conv *conv, const struct cudnn_plan_facts *like, struct error *err)
{
    struct rig_step *own = &rig->steps[step];
    struct cudnn_plan *plan = cudnn_plan_again(rig->library, conv, like, err);
    if (!plan)
        return false;
    rig_library_free(rig, step);
    own->plans = xcalloc(1, sizeof *own->plans);
    own->plans[0] = plan;
    own->plan_count = 1;
    own->plan = 0;
    return true;
}

bool rig_library_make(struct rig *rig, int step, struct error *err)
{
    const struct program *p = rig->program;
    struct rig_step *own = &rig->steps[step];
    struct cudnn_conv conv, other;
    if (!rig->library)
        return error_set(err, ERROR_ENVIRONMENT, "cuDNN is not available here");
    conv_of(p, &p->steps[step], &conv);
    own->leader = -1;
    for (int i = 0; i < step; i++)
        if (p->steps[i].kind == STEP_CUDNN && rig->steps[i].leader < 0) {
            conv_of(p, &p->steps[i], &other);
            if (!cudnn_conv_same(&conv, &other))
                continue;
            own->leader = i;
            return make_like(rig, step, &conv, cudnn_plan_facts(rig->steps[i].plans[0]), err);
        }
    const struct cudnn_choice *chosen = cudnn_chosen(rig->library, &conv);
    if (chosen && !rig->keep_inputs) {
        own->among = chosen->among;
        memcpy(own->raced, chosen->raced, sizeof own->raced);
        if (make_like(rig, step, &conv, &chosen->facts, NULL))
            return true;
        cudnn_drop_choice(rig->library, &conv);
    }
    own->raced[0] = 0;
    own->among = own->plan_count =
        cudnn_plans(rig->library, &conv, rig->keep_inputs ? 1 : PLANS_MAX, &own->plans, err); /* a check needs only the first */
    return own->plan_count > 0;
}

void rig_library_ahead(struct cudnn *library, const struct program *p, bool compiles)
{
    struct cudnn_conv conv;
    for (int i = 0; i < p->step_count; i++)
        if (p->steps[i].kind == STEP_CUDNN) {
            conv_of(p, &p->steps[i], &conv);
            if (!cudnn_chosen(library, &conv))
                cudnn_prefetch(library, &conv, PLANS_MAX, compiles);
        }
}

void rig_library_compile(struct cudnn *library, const struct program *p, int part, int parts)
{
    struct cudnn_conv conv;
    for (int i = 0; i < p->step_count; i++)
        if (p->steps[i].kind == STEP_CUDNN) {
            conv_of(p, &p->steps[i], &conv);
            if (!cudnn_chosen(library, &conv))
                cudnn_compile(library, &conv, PLANS_MAX, part, parts);
        }
}

bool rig_library_workspace(struct rig *rig, struct error *err)
{
    uint64_t most = 0;
    for (int i = 0; i < rig->program->step_count; i++)
        for (int k = 0; k < rig->steps[i].plan_count; k++)
            if (cudnn_plan_facts(rig->steps[i].plans[k])->workspace_bytes > most)
                most = cudnn_plan_facts(rig->steps[i].plans[k])->workspace_bytes;
    return rig_make_workspaces(rig, most, err);
}

static uint64_t address_of(struct rig *rig, const struct step *step, const char *tensor)
{
    const struct tensor_role *role = op_role(program_step_work(rig->program, step)->op, tensor);
    return role && step->operand[role->slot].kind != BUFFER_NONE ? rig_address(rig, step->operand[role->slot]) : 0;
}

static bool prepare_step(struct rig *rig, int i, struct error *err)
{
    uint64_t bias = address_of(rig, &rig->program->steps[i], "bias");
    return !rig->steps[i].plan_count || !bias || cudnn_prepare(rig->library, rig->steps[i].plans[0], bias, err);
}

bool rig_library_prepare(struct rig *rig, struct error *err)
{
    return ALL_OF(i, rig->program->step_count, prepare_step(rig, i, err));
}

bool rig_library_run(struct rig *rig, int i, struct error *err)
{
    const struct step *step = &rig->program->steps[i];
    const struct rig_step *own = &rig->steps[i];
    return cudnn_execute(rig->library, own->plans[own->plan], address_of(rig, step, "input"), address_of(rig, step, "filter"),
                         address_of(rig, step, "output"), address_of(rig, step, "bias"), address_of(rig, step, "residual"),
                         rig->workspaces[rig->replica].address, err);
}

void rig_library_free(struct rig *rig, int step)
{
    struct rig_step *own = &rig->steps[step];
    for (int i = 0; i < own->plan_count; i++)
        cudnn_plan_free(own->plans[i]);
    free(own->plans);
    own->plans = NULL;
    own->plan_count = 0;
}

int rig_library_step(const struct rig *rig, int nth)
{
    for (int i = 0; i < rig->program->step_count; i++)
        if (rig->program->steps[i].kind == STEP_CUDNN && rig->steps[i].leader < 0 && nth-- == 0)
            return i;
    return -1;
}

int rig_plan_count(const struct rig *rig, int step)
{
    return rig->steps[step].plan_count;
}
const struct cudnn_plan_facts *rig_plan_facts(const struct rig *rig, int step, int plan)
{
    return cudnn_plan_facts(rig->steps[step].plans[plan]);
}
int rig_plan_among(const struct rig *rig, int step)
{
    return rig->steps[step].among;
}
const char *rig_plan_raced(const struct rig *rig, int step)
{
    return rig->steps[step].raced;
}
int rig_plan_used(const struct rig *rig, int step)
{
    return rig->steps[step].plan;
}

void rig_plan_use(struct rig *rig, int step, int plan)
{
    rig->steps[step].plan = plan;
    rig_graph_drop(rig);
}

void rig_plan_is_hopeless(const struct rig *rig, int step, int plan)
{
    struct cudnn_conv conv;
    conv_of(rig->program, &rig->program->steps[step], &conv);
    cudnn_mark_slow(rig->library, &conv, rig_plan_facts(rig, step, plan)->engine);
}

bool rig_plan_hopeless(const struct rig *rig, int step, int plan)
{
    struct cudnn_conv conv;
    conv_of(rig->program, &rig->program->steps[step], &conv);
    return cudnn_is_slow(rig->library, &conv, rig_plan_facts(rig, step, plan)->engine);
}

void rig_plan_keep(struct rig *rig, int step)
{
    const struct rig_step *own = &rig->steps[step];
    struct cudnn_conv conv;
    conv_of(rig->program, &rig->program->steps[step], &conv);
    cudnn_choose(rig->library, &conv, cudnn_plan_facts(own->plans[own->plan]), own->among);
    cudnn_keep(rig->library, &conv, own->plans[own->plan]);
}

bool rig_plan_settle(struct rig *rig, struct error *err)
{
    const struct program *p = rig->program;
    struct cudnn_conv conv;
    for (int i = 0; i < p->step_count; i++) {
        const struct rig_step *leader =
            p->steps[i].kind == STEP_CUDNN && rig->steps[i].leader >= 0 ? &rig->steps[rig->steps[i].leader] : NULL;
        if (!leader)
            continue;
        conv_of(p, &p->steps[i], &conv);
        if (!make_like(rig, i, &conv, cudnn_plan_facts(leader->plans[leader->plan]), err) || !prepare_step(rig, i, err))
            return false;
    }
    rig_graph_drop(rig);
    return true;
}
