#include "op/chain/chain.h"
#include "base/text.h"
#include "op/chain/private.h"
#include "op/shape.h"
#include "op/sides.h"
#include <string.h>

/* ---- the op ---- */

static int64_t elements_of(const struct work *w, enum shape_slot role)
{
    int64_t count = 0;
    for (int i = 0; w->chain && i < w->chain->count; i++) {
        const struct work *l = &w->chain->links[i].work;
        count += role == SLOT_BIAS ? l->k : l->op->has_filter ? l->k * (l->c / l->groups) * l->r * l->s : 0;
    }
    return count ? count : 1;
}

/* Weights of all links, one after another. */
#define LINEAR .layouts = BIT(LAYOUT_LINEAR)
static const struct tensor_role chain_filter = {.name = "filter", .slot = SLOT_FILTER, LINEAR, SHAPE_WEIGHTS(VALUES_WEIGHT)};
static const struct tensor_role chain_bias = {.name = "bias", .slot = SLOT_BIAS, LINEAR, .dtype = DTYPE_F32, SHAPE_WEIGHTS(VALUES_BIAS)};
static const struct tensor_role *const roles[] = {ROLE(INPUT),   &chain_filter,  &chain_bias,  ROLE(LINKS),
                                                  ROLE(MASK_IN), ROLE(MASK_OUT), ROLE(OUTPUT), NULL};

static int tensors(const struct work *w, struct tensor out[OP_MAX_TENSORS])
{
    int count = shape_tensors(w, out);
    out[1].dim[0] = elements_of(w, SLOT_FILTER);
    out[2].dim[0] = elements_of(w, SLOT_BIAS);
    out[3].dim[0] = (w->chain ? w->chain->count : 1) * CHAIN_COLUMNS;
    return count;
}

static double chain_flop(const struct work *w)
{
    double sum = 0;
    for (int i = 0; w->chain && i < w->chain->count; i++)
        sum += work_flop(&w->chain->links[i].work);
    return sum;
}

static bool chain_finish(struct work *w, struct error *err)
{
    if (w->chain)
        return true;
    error_set(err, ERROR_USAGE, "op chain cannot be a layer; a network uses it");
    return error_hint(err, "network: {order: [..]} runs layers one after another");
}

static const struct op_field no_fields[] = {{.name = NULL}};
#define SYMBOL(member, text) \
    { \
#member, offsetof(struct work, member), text \
    }
static const struct op_symbol symbols[] = {SYMBOL(n, "images"),
                                           SYMBOL(c, "input channels"),
                                           SYMBOL(h, "input height"),
                                           SYMBOL(w, "input width"),
                                           SYMBOL(k, "output channels"),
                                           SYMBOL(p, "output height"),
                                           SYMBOL(q, "output width"),
                                           SYMBOL(runs, "links"),
                                           SYMBOL(r, "filter height of every layer; 0: they differ, or a layer is not a convolution"),
                                           SYMBOL(s, "filter width of every layer"),
                                           SYMBOL(stride, "of every link"),
                                           SYMBOL(pad, "of every link"),
                                           SYMBOL(dilation, "of every link"),
                                           SYMBOL(groups, "of every link"),
                                           SYMBOL(width, "input and output channels of every layer; 0: they differ"),
                                           SYMBOL(straight, "1: each layer reads the output of the layer before it"),
                                           SYMBOL(back, "largest distance of a residual, in layers"),
                                           SYMBOL(plain, "1: each layer has at most a bias and an activation or a residual"),
                                           {NULL, 0, NULL}};
extern const struct op op_chain;
int *chain_last_uses(const struct chain *chain)
{
    int *last = xcalloc((size_t)chain->count, sizeof *last);
    for (int i = 0; i < chain->count; i++) {
        if (chain->links[i].input >= 0)
            last[chain->links[i].input] = i;
        if (chain->links[i].residual >= 0)
            last[chain->links[i].residual] = i;
    }
    return last;
}

const struct op op_chain = {
    .name = "chain",
    .task = TASK_NETWORK,
    .naive = "two_layer_naive",
    .company = {"conv2d/naive", "conv2d/sparse_naive"},
    .trial = "defaults: {op: conv2d, n: 1, c: 16, k: 16, h: 720, w: 1280, kernel: 3, stride: 1, pad: 1, dtype: f16, layout: NHWC}\n"
             "layers:\n  first:  {epilogue: [bias, relu]}\n  second: {}\n"
             "networks:\n  pair: {order: [first, second]}\n"
             "axes:\n  mask: {values: [none, {pattern: iid, density: 0.10}]}\n",
    .about = "A whole network of a scenario: its layers run one after another, each reading the output of an earlier one. n, c, h, w "
             "belong to its input, k, p, q to its output.",
    .fields = no_fields,
    .symbols = symbols,
    .row0 = NULL,
    .has_filter = true,
    .has_math = true,
    .epilogues = 0,
    .dtypes = DTYPES_ALL,
    .layouts = LAYOUTS_ALL,
    .finish = chain_finish,
    .roles = roles,
    .tensors = tensors,
    .raw_output = shape_raw_output,
    .flop = chain_flop,
    .data_inputs = chain_data_inputs,
    .data_make = chain_data_whole,
};

static bool fits(const struct chain *chain, int i, const char *name, int from, struct error *err)
{
    struct tensor given, wanted;
    if (from >= i || from < CHAIN_INPUT || !chain_flow(chain, from, &given) || !work_tensor(&chain->links[i].work, name, &wanted))
        return error_set(err, ERROR_INTERNAL, "chain: link %d (%s) reads its %s from nowhere", i, chain->links[i].name, name);
    if (chain_joins(&given, &wanted))
        return true;
    int64_t want[4], have[4];
    tensor_fold(&wanted, want);
    tensor_fold(&given, have);
    return error_set(err, ERROR_USAGE, "chain: the %s of layer '%s' is %lldx%lldx%lldx%lld %s, but %s is %lldx%lldx%lldx%lld %s", name,
                     chain->links[i].name, (long long)want[0], (long long)want[1], (long long)want[2], (long long)want[3],
                     layout_name(wanted.layout), from < 0 ? "the network's input" : chain->links[from].name, (long long)have[0],
                     (long long)have[1], (long long)have[2], (long long)have[3], layout_name(given.layout));
}

/* What a kernel for all links can rely on. */
static void in_common(const struct chain *chain, struct work *out)
{
    const struct work *first = &chain->links[0].work;
    bool alike = true;
    out->runs = chain->count;
    out->straight = out->plain = 1;
    out->width = first->c;
    for (int i = 0; i < chain->count; i++) {
        const struct chain_link *l = &chain->links[i];
        const struct work *w = &l->work;
        enum epilogue_kind kind = work_activation(w);
        bool active = kind != EPILOGUE_COUNT, other = active && kind != EPILOGUE_RELU && kind != EPILOGUE_LEAKY_RELU;
        bool adds = work_epilogue_find(w, EPILOGUE_RESIDUAL) >= 0;
        bool moves = work_epilogue_find(w, EPILOGUE_DEPTH_TO_SPACE) >= 0 || work_epilogue_find(w, EPILOGUE_LAYOUT) >= 0;
        alike &= w->op == first->op && w->op->task == TASK_SEQUENCE && w->r == first->r && w->s == first->s && w->stride == first->stride &&
                 w->pad == first->pad && w->dilation == first->dilation && w->groups == first->groups && w->layout == first->layout &&
                 !sides_differ(w, SIDE_COUNT);
        if (w->c != out->width || w->k != out->width)
            out->width = 0;
        out->straight &= l->input == i - 1;
        out->plain &=
            !moves && !other && work_scale(w) == 1 && !(active && adds) && (w->epilogue_count < 2 || w->epilogue[0].kind == EPILOGUE_BIAS);
        if (adds && l->residual >= 0 && i - l->residual > out->back)
            out->back = i - l->residual;
    }
    if (!alike)
        return;
    out->r = first->r;
    out->s = first->s;
    out->stride = first->stride;
    out->pad = first->pad;
    out->dilation = first->dilation;
    out->groups = first->groups;
}

bool chain_part(const struct chain *chain, int first, int count, struct chain *out)
{
    int outside = chain->links[first].input;
    *out = (struct chain){.links = xcalloc((size_t)count, sizeof *out->links), .count = count};
    for (int i = 0; i < count; i++) {
        struct chain_link *l = &out->links[i];
        *l = chain->links[first + i];
        int *const sources[] = {&l->input, &l->residual};
        for (int k = 0; k < 2; k++) {
            int from = *sources[k];
            if (from != CHAIN_NONE && from != outside && from < first)
                goto refuse;
            *sources[k] = from == CHAIN_NONE ? CHAIN_NONE : from == outside ? CHAIN_INPUT : from - first;
        }
    }
    for (int i = first + count; i < chain->count; i++) {
        const int from[] = {chain->links[i].input, chain->links[i].residual};
        for (int k = 0; k < 2; k++)
            if (from[k] >= first && from[k] < first + count - 1)
                goto refuse;
    }
    return true;
refuse:
    chain_free(out);
    return false;
}

float *chain_constant(const struct chain *chain, int first, int count, const struct op_data *data, const struct tensor_role *role,
                      size_t elements)
{
    float *out = xcalloc(elements ? elements : 1, sizeof *out);
    size_t filter = 0, bias = 0;
    for (int i = 0; i < count; i++) {
        const struct chain_link *l = &chain->links[first + i];
        const struct op_data *own = l->layer >= 0 && l->layer < data->link_count ? &data->links[l->layer] : NULL;
        size_t filters = l->work.op->has_filter ? (size_t)(l->work.k * (l->work.c / l->work.groups) * l->work.r * l->work.s) : 0,
               biases = (size_t)l->work.k;
        if (role->slot == SLOT_FILTER && own && own->at[SLOT_FILTER].value && filter + filters <= elements)
            memcpy(out + filter, own->at[SLOT_FILTER].value, filters * sizeof *out);
        if (role->slot == SLOT_BIAS && own && own->at[SLOT_BIAS].value && bias + biases <= elements)
            memcpy(out + bias, own->at[SLOT_BIAS].value, biases * sizeof *out);
        if (role->slot == SLOT_SLOPES && own && own->at[SLOT_SLOPES].value && bias + biases <= elements)
            memcpy(out + bias, own->at[SLOT_SLOPES].value, biases * sizeof *out);
        if (role->slot == SLOT_LINKS && (size_t)(i + 1) * CHAIN_COLUMNS <= elements) {
            const double row[CHAIN_COLUMNS] = {(double)l->work.c,
                                               (double)l->work.k,
                                               l->input - first + 1 > 0 ? l->input - first + 1 : 0,
                                               l->residual == CHAIN_NONE     ? -1
                                               : l->residual - first + 1 > 0 ? l->residual - first + 1
                                                                             : 0,
                                               work_slope(&l->work),
                                               (double)filter,
                                               (double)bias,
                                               0};
            for (int c = 0; c < CHAIN_COLUMNS; c++)
                out[i * CHAIN_COLUMNS + c] = (float)row[c];
        }
        filter += filters;
        bias += biases;
    }
    return out;
}

bool chain_work(const struct chain *chain, struct work *out, struct error *err)
{
    struct tensor last, second;
    for (int i = 0; i < chain->count; i++) {
        const struct chain_link *l = &chain->links[i];
        bool adds = work_epilogue_find(&l->work, EPILOGUE_RESIDUAL) >= 0;
        if (!chain_takes(&l->work, err))
            return error_where(err, "layer '%s'", l->name);
        if (!fits(chain, i, "input", l->input, err) || (adds && !fits(chain, i, "residual", l->residual, err)) ||
            (work_tensor(&l->work, "second", &second) && !fits(chain, i, "second", l->residual, err)))
            return false;
    }
    if (!chain_passes_marks(chain, err))
        return false;
    const struct work *first = &chain->links[0].work;
    struct tensor input;
    int64_t dim[4];
    if (!chain_flow(chain, CHAIN_INPUT, &input) || input.rank < 4)
        return error_set(err, ERROR_USAGE, "layer '%s' takes rows and columns, and a network begins with an image", chain->links[0].name);
    tensor_fold(&input, dim);
    *out = (struct work){.op = &op_chain,
                         .n = dim[0],
                         .c = dim[1],
                         .h = dim[2],
                         .w = dim[3],
                         .dtype = first->dtype,
                         .layout = input.layout,
                         .data = first->data,
                         .seed = first->seed,
                         .mask = first->mask,
                         .chain = chain};
    for (int i = 0; i < chain->count && out->math == MATH_NONE; i++)
        out->math = chain->links[i].work.math;
    if (!chain_flow(chain, chain->count - 1, &last))
        return error_set(err, ERROR_INTERNAL, "chain: no output");
    tensor_fold(&last, dim);
    out->k = dim[1];
    out->p = dim[2];
    out->q = dim[3];
    out->to = last.layout != input.layout ? last.layout : LAYOUT_NONE;
    in_common(chain, out);
    return work_finish(out, err);
}
