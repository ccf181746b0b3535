/* The tensors that the ops of images share. */
#include "op/shape.h"
#include "op/epilogue.h"
#include <string.h>

#define ACTIVATION .layouts = LAYOUTS_ALL
#define LINEAR .layouts = BIT(LAYOUT_LINEAR)
#define FILTERS (BIT(LAYOUT_KCRS) | BIT(LAYOUT_KRSC) | BIT(LAYOUT_RSCK) | BIT(LAYOUT_CRSK))
#define MASK .layouts = BIT(LAYOUT_BITS), .dtype = DTYPE_U32
const struct tensor_role shape_roles[SLOT_COUNT] = {
    [SLOT_INPUT] = {.name = "input", .slot = SLOT_INPUT, ACTIVATION, .values = VALUES_INPUT, .share = SHARE_INPUTS, .marked_by = "mask_in"},
    [SLOT_FILTER] = {.name = "filter", .slot = SLOT_FILTER, .layouts = FILTERS, SHAPE_WEIGHTS(VALUES_WEIGHT)},
    [SLOT_SLOPES] = {.name = "slopes", .slot = SLOT_SLOPES, LINEAR, .dtype = DTYPE_F32, SHAPE_WEIGHTS(VALUES_SLOPES), .item = "prelu"},
    [SLOT_BIAS] = {.name = "bias", .slot = SLOT_BIAS, LINEAR, .dtype = DTYPE_F32, SHAPE_WEIGHTS(VALUES_BIAS), .item = "bias"},
    [SLOT_RESIDUAL] =
        {.name = "residual", .slot = SLOT_RESIDUAL, ACTIVATION, .values = VALUES_ADDEND, .share = SHARE_OUTPUTS, .item = "residual"},
    [SLOT_MASK_IN] = {.name = "mask_in", .slot = SLOT_MASK_IN, MASK},
    [SLOT_MASK_OUT] = {.name = "mask_out", .slot = SLOT_MASK_OUT, MASK, .output = true},
    [SLOT_OUTPUT] = {.name = "output", .slot = SLOT_OUTPUT, ACTIVATION, .share = SHARE_OUTPUTS, .output = true, .result = true},
    [SLOT_LINKS] = {.name = "links", .slot = SLOT_LINKS, LINEAR, .dtype = DTYPE_F32, .constant = true},
    [SLOT_STORED] = {.name = "stored", .slot = SLOT_STORED, ACTIVATION, .share = SHARE_INPUTS},
    [SLOT_SECOND] = {.name = "second", .slot = SLOT_SECOND, ACTIVATION, .share = SHARE_INPUTS, .marked_by = "mask_second"},
    [SLOT_MASK_SECOND] = {.name = "mask_second", .slot = SLOT_MASK_SECOND, MASK},
};
bool shape_check(const char *what, const struct tensor *t, int64_t most, struct error *err)
{
    int64_t count = 1;
    SCOPED_TEXT sizes = {0};
    bool positive = t->rank > 0 && t->rank <= TENSOR_MAX_RANK, small = positive;
    for (int i = 0; i < t->rank; i++) {
        text_addf(&sizes, "%s%ld", i ? " x " : "", (long)t->dim[i]);
        positive &= t->dim[i] >= 1;
        small = small && positive && t->dim[i] <= most / count;
        count *= small ? t->dim[i] : 1;
    }
    if (!positive)
        error_set(err, ERROR_USAGE, "%s would have the shape %s", what, text_get(&sizes));
    else if (!small)
        error_set(err, ERROR_USAGE, "%s of %s elements exceeds %ld (%s)", what, text_get(&sizes), (long)most,
                  most == SHAPE_MAX_ELEMENTS ? "2^31 - 1" : "2^40");
    return small;
}

struct tensor shape_activation(const struct work *w, enum shape_slot slot, int64_t c, int64_t h, int64_t width, enum layout layout)
{
    const struct tensor_role *role = &shape_roles[slot];
    int64_t planes = slot == SLOT_INPUT || slot == SLOT_MASK_IN ? w->d : w->o;
    struct tensor t = {.role = role, .layout = layout, .written = role->output, .rank = 4, .dim = {w->n, c, h, width}};
    t.dtype = role->dtype != DTYPE_NONE ? role->dtype : slot == SLOT_INPUT ? w->dtype : work_result_dtype(w);
    if (w->op->volume) {
        memcpy(&t.dim[2], (int64_t[]){planes, planes ? h / planes : 0, width}, 3 * sizeof *t.dim);
        t.rank = 5;
    }
    return t;
}

static struct tensor shape_linear(const struct tensor_role *role, const struct work *w, int64_t elements)
{
    enum dtype t = role->dtype != DTYPE_NONE ? role->dtype : w->dtype;
    return (struct tensor){.role = role, .dtype = t, .layout = LAYOUT_LINEAR, .rank = 1, .dim = {elements}};
}

void shape_raw_output(const struct work *w, struct tensor *out)
{
    *out = shape_activation(w, SLOT_OUTPUT, w->k, w->p, w->q, w->to != LAYOUT_NONE ? w->to : w->layout);
}

static struct tensor shape_filter(const struct work *w)
{
    struct tensor t = {.role = ROLE(FILTER),
                       .dtype = w->dtype,
                       .layout = w->layout == LAYOUT_NHWC ? LAYOUT_KRSC : LAYOUT_KCRS,
                       .rank = w->op->volume ? 5 : 4,
                       .dim = {w->k, w->c / w->groups, w->r, w->s}};
    if (w->op->volume)
        memcpy(&t.dim[2], (int64_t[]){w->t, w->r, w->s}, 3 * sizeof *t.dim);
    return t;
}

/* The work's tensor of this role; rank 0: it has none. */
static struct tensor shape_of(const struct work *w, const struct tensor_role *role)
{
    int item = role->item ? work_epilogue_find(w, (enum epilogue_kind)epilogue_kind_of(role->item)) : w->epilogue_count;
    struct epilogue_shape s = item >= 0 && w->op->raw_output ? epilogue_shape_at(w, item) : (struct epilogue_shape){0};
    bool masked = w->mask.pattern != MASK_NONE, inputs = masked && !w->mask.marks_output;
    struct tensor t = {0};
    switch ((enum shape_slot)role->slot) {
    case SLOT_INPUT:
    case SLOT_STORED: return shape_activation(w, (enum shape_slot)role->slot, w->c, w->h, w->w, w->layout);
    case SLOT_SECOND:
        return w->op->of_channels ? shape_activation(w, SLOT_SECOND, w->c, 1, 1, w->layout)
                                  : shape_activation(w, SLOT_SECOND, w->k > w->c ? w->k - w->c : w->c, w->h, w->w, w->layout);
    case SLOT_FILTER: return role == ROLE(FILTER) ? shape_filter(w) : shape_linear(role, w, 1);
    case SLOT_SLOPES:
    case SLOT_BIAS: return item < 0 ? t : shape_linear(role, w, s.c);
    case SLOT_RESIDUAL: return item < 0 ? t : shape_activation(w, SLOT_RESIDUAL, s.c, s.h, s.w, s.layout);
    case SLOT_MASK_IN:
    case SLOT_MASK_SECOND: return inputs ? shape_activation(w, (enum shape_slot)role->slot, 1, w->h, w->w, LAYOUT_BITS) : t;
    case SLOT_MASK_OUT: /* given when the mask marks outputs, else computed by the kernel */
        t = masked ? shape_activation(w, SLOT_MASK_OUT, 1, w->p, w->q, LAYOUT_BITS) : t;
        t.written = inputs;
        return t;
    case SLOT_OUTPUT: return shape_activation(w, SLOT_OUTPUT, s.c, s.h, s.w, s.layout);
    case SLOT_LINKS: return shape_linear(role, w, 1);
    case SLOT_COUNT: break;
    }
    return t;
}

int shape_tensors(const struct work *work, struct tensor out[OP_MAX_TENSORS])
{
    int count = 0;
    for (const struct tensor_role *const *role = work->op->roles; *role; role++) {
        out[count] = shape_of(work, *role);
        count += out[count].rank > 0;
    }
    return count;
}

/* Mean number of small-image pixels under `taps` adjacent pixels of the large image, over the possible positions within a block. */
static double pixels_under(int64_t taps, int64_t block)
{
    int64_t pixels = 0;
    for (int64_t first = 0; first < block; first++)
        pixels += (first + taps - 1) / block + 1;
    return (double)pixels / (double)block;
}

double work_collapsed_share(const struct work *w)
{
    return w->op->has_filter && w->block > 0 ? pixels_under(w->r, w->block) * pixels_under(w->s, w->block) / (double)(w->r * w->s) : 1;
}
