#include "op/chain.h"
#include "base/pool.h"
#include "base/text.h"
#include "op/convert.h"
#include "op/generate.h"
#include "op/shape.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

void chain_free(struct chain *chain)
{
    if (!chain)
        return;
    free(chain->links);
    *chain = (struct chain){0};
}

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
    error_set(err, ERROR_USAGE, "op chain is no layer: a network is run as one");
    return error_hint(err, "network: {order: [..]} makes a chain of layers");
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
                                           SYMBOL(r, "filter height of every link; 0: they differ, or some link is no convolution"),
                                           SYMBOL(s, "filter width of every link"),
                                           SYMBOL(stride, "of every link"),
                                           SYMBOL(pad, "of every link"),
                                           SYMBOL(dilation, "of every link"),
                                           SYMBOL(groups, "of every link"),
                                           SYMBOL(width, "channels in and out of every link; 0: they differ"),
                                           SYMBOL(straight, "1: each link reads the one before it"),
                                           SYMBOL(back, "how many links back a residual comes from, at most"),
                                           SYMBOL(plain, "1: a bias and an activation or a residual are all that follows any link"),
                                           {NULL, 0, NULL}};
extern const struct op op_chain;
const struct op op_chain = {
    .name = "chain",
    .task = TASK_NETWORK,
    .naive = "two_layer_naive",
    .company = {"conv2d/naive", "conv2d/sparse_naive"},
    .trial = "defaults: {op: conv2d, n: 1, c: 16, k: 16, h: 720, w: 1280, kernel: 3, stride: 1, pad: 1, dtype: f16, layout: NHWC}\n"
             "layers:\n  first:  {epilogue: [bias, relu]}\n  second: {}\n"
             "networks:\n  pair: {order: [first, second]}\n"
             "axes:\n  mask: {values: [none, {pattern: iid, density: 0.10}]}\n",
    .about = "A network of a scenario, run whole: its layers one after another, each reading what an earlier one wrote. n, c, h, w are "
             "those of its "
             "input, k, p, q of its output.",
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
    .reference_row = NULL,
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
        bool active = work_epilogue_find(w, EPILOGUE_RELU) >= 0 || work_epilogue_find(w, EPILOGUE_LEAKY_RELU) >= 0;
        bool adds = work_epilogue_find(w, EPILOGUE_RESIDUAL) >= 0;
        bool moves = work_epilogue_find(w, EPILOGUE_DEPTH_TO_SPACE) >= 0 || work_epilogue_find(w, EPILOGUE_LAYOUT) >= 0;
        alike &= w->op == first->op && w->op->task == TASK_SEQUENCE && w->r == first->r && w->s == first->s && w->stride == first->stride &&
                 w->pad == first->pad && w->dilation == first->dilation && w->groups == first->groups && w->layout == first->layout;
        if (w->c != out->width || w->k != out->width)
            out->width = 0;
        out->straight &= l->input == i - 1;
        out->plain &= !moves && !(active && adds) && (w->epilogue_count < 2 || w->epilogue[0].kind == EPILOGUE_BIAS);
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
    struct tensor last;
    for (int i = 0; i < chain->count; i++) {
        const struct chain_link *l = &chain->links[i];
        bool adds = work_epilogue_find(&l->work, EPILOGUE_RESIDUAL) >= 0;
        if (!chain_takes(&l->work, err))
            return error_where(err, "layer '%s'", l->name);
        if (!fits(chain, i, "input", l->input, err) || (adds && !fits(chain, i, "residual", l->residual, err)))
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

/* ---- data ---- */

/* Gain of a link's filter: see chain.h. */
static double gain_of(const struct work *w)
{
    double gain = 1;
    int leaky = work_epilogue_find(w, EPILOGUE_LEAKY_RELU);
    if (work_epilogue_find(w, EPILOGUE_RELU) >= 0)
        gain = 2;
    else if (leaky >= 0)
        gain = 2 / (1 + w->epilogue[leaky].alpha * w->epilogue[leaky].alpha);
    return sqrt(gain) * (work_epilogue_find(w, EPILOGUE_RESIDUAL) >= 0 ? 0.25 : 1);
}

static bool make_values(const struct work *w, const char *name, bool reserve, double scale, float **out, struct error *err)
{
    struct tensor t;
    if (!work_tensor(w, name, &t))
        return true;
    size_t count = tensor_elements(&t);
    *out = malloc(count * sizeof **out);
    if (!*out)
        return error_set(err, ERROR_ENVIRONMENT, "not enough memory for the data of a chain");
    if (reserve)
        return true;
    generate_tensor(w, &t, DATA_PART_PRECISION, *out);
    for (size_t i = 0; scale != 1 && i < count; i++)
        (*out)[i] = (float)((*out)[i] * scale);
    convert_round(w->dtype, *out, count);
    return true;
}

struct work chain_input(const struct work *work)
{
    struct work first = work->chain->links[0].work;
    first.set_seed = work->set_seed;
    return first;
}

bool chain_data_inputs(const struct work *work, bool reserve, struct op_data *out, struct error *err)
{
    const struct chain *chain = work->chain; /* small integers do not stay small through a network: there is no exact part */
    struct work first = chain_input(work);
    *out = (struct op_data){.links = xcalloc((size_t)chain->count, sizeof *out->links), .link_count = chain->count};
    bool ok = make_values(&first, "input", reserve, 1, &out->at[SLOT_INPUT].value, err);
    for (int i = 0; ok && i < chain->count; i++) {
        const struct chain_link *l = &chain->links[i];
        struct work own = l->work; /* its own values, whatever layout plan it is part of */
        own.seed = generate_bits(l->work.seed, 1000, (uint64_t)l->layer);
        if (l->layer >= 0 && own.op->file)
            ok = chain_file_constants(&own, &out->links[l->layer], err);
        else if (l->layer >= 0)
            ok = make_values(&own, "filter", false, gain_of(&own), &out->links[l->layer].at[SLOT_FILTER].value, err) &&
                 make_values(&own, "bias", false, 0.1, &out->links[l->layer].at[SLOT_BIAS].value, err);
    }
    if (!ok)
        op_data_free(out);
    return ok;
}

/* ---- errors: mean squares by channel ---- */

struct chain_errors chain_errors_new(int64_t channels)
{
    return (struct chain_errors){
        .sums = xcalloc((size_t)channels, sizeof(double)), .roundings = xcalloc((size_t)channels, sizeof(double)), .channels = channels};
}

void chain_errors_free(struct chain_errors *e)
{
    free(e->sums);
    free(e->roundings);
    *e = (struct chain_errors){0};
}

/* A filter mixes: e_out^2 = sum of w^2 e_in^2. Where inputs are spread, an output pixel meets 1 / stride^2 of the taps. */
static struct chain_errors mix(const struct work *w, const float *filter, const struct chain_errors *in)
{
    struct chain_errors out = chain_errors_new(w->k);
    int64_t depth = w->c / w->groups, per_group = w->k / w->groups, taps = w->r * w->s;
    double share = w->op->spreads ? 1 / (double)(w->stride * w->stride) : 1;
    for (int64_t k = 0; k < w->k; k++)
        for (int64_t c = 0; c < depth; c++) {
            double squares = 0;
            for (int64_t t = 0; t < taps; t++) {
                double v = filter[(k * depth + c) * taps + t];
                squares += v * v * share;
            }
            out.sums[k] += squares * in->sums[k / per_group * depth + c];
            out.roundings[k] += squares * in->roundings[k / per_group * depth + c];
        }
    return out;
}

/* Channels are blended where pixels of several fall into one (depth_to_space), or one is spread over several; and grow by a gain. */
static struct chain_errors move(int64_t channels, int64_t block, enum d2s_mode mode, double gain, const struct chain_errors *in)
{
    struct chain_errors out = chain_errors_new(channels);
    int64_t most = in->channels > channels ? in->channels : channels, least = most / (block * block);
    bool joins = in->channels >= channels;
    for (int64_t deep = 0; deep < most; deep++) {
        int64_t shallow = block == 1 ? deep : mode == D2S_DCR ? deep % least : deep / (block * block);
        int64_t from = joins ? deep : shallow, to = joins ? shallow : deep;
        double share = (joins && block > 1 ? 1 / (double)(block * block) : 1) * gain * gain;
        out.sums[to] += share * in->sums[from];
        out.roundings[to] += share * in->roundings[from];
    }
    return out;
}

static struct chain_errors through_epilogue(const struct work *w, struct chain_errors e, const struct chain_errors *residual)
{
    for (int i = 0; i < w->epilogue_count; i++) {
        const struct epilogue *item = &w->epilogue[i];
        double stretch = item->kind == EPILOGUE_LEAKY_RELU && fabs(item->alpha) > 1 ? item->alpha * item->alpha : 1;
        for (int64_t c = 0; c < e.channels; c++) {
            e.sums[c] = stretch * e.sums[c] + (item->kind == EPILOGUE_RESIDUAL ? residual->sums[c] : 0);
            e.roundings[c] = stretch * e.roundings[c] + (item->kind == EPILOGUE_RESIDUAL ? residual->roundings[c] : 0);
        }
        if (item->kind == EPILOGUE_DEPTH_TO_SPACE) {
            struct chain_errors moved = move(e.channels / (item->block * item->block), item->block, item->mode, 1, &e);
            chain_errors_free(&e);
            e = moved;
        }
    }
    return e;
}

/* Errors of a link's output that its inputs bring. */
struct chain_errors chain_carried(const struct chain_link *l, const float *filter, const struct chain_errors *in,
                                  const struct chain_errors *residual)
{
    const struct work *w = &l->work;
    int64_t block = w->block > 0 && w->k != w->c ? w->block : 1; /* depth_to_space */
    return through_epilogue(w, w->op->has_filter ? mix(w, filter, in) : move(w->k, block, w->mode, op_gain(w), in), residual);
}

/* Of one channel of one image: the squares of a link's own errors. */
struct own_errors {
    const struct op_values *of;
    size_t plane;
    int64_t channels;
    double unit;
    const float *active;      /* n * plane; NULL: all are */
    double *sums, *roundings; /* by plane */
};

static void own_of_plane(void *context, int64_t index, int thread)
{
    const struct own_errors *o = context;
    size_t from = (size_t)index * o->plane;
    double sums = 0, roundings = 0;
    (void)thread;
    const float *active = o->active ? o->active + (size_t)(index / o->channels) * o->plane : NULL;
    for (size_t i = from; i < from + o->plane; i++) {
        if (active && active[i - from] == 0)
            continue;
        double b = o->of->bound ? o->of->bound[i] : 0, r = o->unit * o->of->reference[i];
        sums += b * b;
        roundings += r * r;
    }
    o->sums[index] = sums;
    o->roundings[index] = roundings;
}

/* Adds a link's own: the mean over the (active) pixels of its bound, and of one rounding of what it stores. */
static void add_own(struct chain_errors *e, const struct work *w, int64_t n, const struct op_values *of, const float *active)
{
    int64_t planes = n * e->channels;
    struct own_errors own = {
        .of = of, .plane = of->elements / (size_t)planes, .channels = e->channels, .unit = dtype_unit_roundoff(w->dtype), .active = active};
    double pixels = (double)(own.plane * (size_t)n) * (active ? mask_density(active, own.plane * (size_t)n) : 1);
    if (w->op->file ? chain_file_moves(w) : !w->op->has_filter && !w->epilogue_count)
        return; /* it only moves */
    if (pixels < 1)
        return; /* nothing is computed */
    own.sums = xcalloc((size_t)planes, sizeof(double));
    own.roundings = xcalloc((size_t)planes, sizeof(double));
    pool_for(planes, pool_threads_for((int64_t)of->elements, 50000), own_of_plane, &own);
    for (int64_t i = 0; i < planes; i++) {
        e->sums[i % e->channels] += own.sums[i] / pixels;
        e->roundings[i % e->channels] += own.roundings[i] / pixels;
    }
    free(own.sums);
    free(own.roundings);
}

/* ---- the whole ---- */

struct walk {
    const struct chain *chain;
    struct op_data *out;
    double **values; /* by link, while a later one reads them */
    int *last_use;
    struct chain_errors *errors; /* by link */
    struct chain_errors clean;   /* of the input */
    double *input;
    float *marks; /* of what the last link left; NULL: it has no mask, or runs as if it had none */
    const struct work *whole;
    const struct chain_maker *maker;
    double *local; /* mean squares of the last link's errors, by element; NULL: as those of its channel */
};

static const double *values_of(const struct walk *k, int link)
{
    return link < 0 ? k->input : k->values[link];
}
static const struct chain_errors *errors_of(const struct walk *k, int link)
{
    return link < 0 ? &k->clean : &k->errors[link];
}

/* What a link leaves inactive is nothing to the next one, whatever the link's epilogue makes of nothing. */
static void forget_inactive(const struct work *w, const float *active, double *values, int64_t channels)
{
    size_t plane = (size_t)(w->p * w->q);
    for (size_t i = 0; i < (size_t)(w->n * channels) * plane; i++)
        if (active[i / plane / (size_t)channels * plane + i % plane] == 0)
            values[i] = 0;
}

/* A link's results, in at[SLOT_OUTPUT], and what errors of its inputs become. */
static bool link_reference(struct walk *k, int i, struct op_data *one, struct chain_errors *e, struct error *err)
{
    const struct chain_link *l = &k->chain->links[i];
    const struct op_data *own = l->layer >= 0 ? &k->out->links[l->layer] : NULL;
    const struct chain_errors *in = errors_of(k, l->input);
    if (l->work.op->file) {
        int probes = i == k->chain->count - 1 ? CHAIN_PROBES : 1;
        struct chain_file f = {k->chain, i, own, k->maker, k->whole->set_seed, k->whole->n, 0, probes};
        free(k->local); /* of the last link alone it is looked at */
        return chain_file_reference(&f, one->wide_input, in, &one->at[SLOT_OUTPUT], e, &k->local, err);
    }
    if (own) {
        one->at[SLOT_FILTER].value = own->at[SLOT_FILTER].value;
        one->at[SLOT_BIAS].value = own->at[SLOT_BIAS].value;
    }
    if (!op_data_reference(&l->work, one, err))
        return false;
    *e = chain_carried(l, one->at[SLOT_FILTER].value, in, l->residual == CHAIN_NONE ? NULL : errors_of(k, l->residual));
    return true;
}

static bool walk_link(struct walk *k, int i, struct error *err)
{
    const struct chain_link *l = &k->chain->links[i];
    struct op_data one = {.wide_input = values_of(k, l->input)};
    struct op_values *made = &one.at[SLOT_OUTPUT];
    bool last = i == k->chain->count - 1;
    if (k->marks) {
        float *active = chain_marks(l, k->marks);
        free(k->marks);
        k->marks = active;
    }
    one.mask_out = last ? k->out->mask_out : k->marks; /* of the last one all that is looked at */
    if (l->residual != CHAIN_NONE)
        one.wide_residual = values_of(k, l->residual);
    struct chain_errors e;
    if (!link_reference(k, i, &one, &e, err))
        return false;
    if (last) {
        size_t plane = made->elements / (size_t)k->whole->n / (size_t)e.channels;
        made->carried = xmalloc(made->elements * sizeof *made->carried);
        for (size_t at = 0; at < made->elements; at++) {
            size_t c = at / plane % (size_t)e.channels;
            double mean = e.sums[c] + e.roundings[c],
                   more = l->work.op->file && k->local && k->local[at] > mean && mean > 0 ? k->local[at] / mean : 1;
            made->bound[at] += (float)(CHAIN_SPREAD * sqrt(e.sums[c] * more));
            made->carried[at] = (float)(CHAIN_SPREAD * sqrt(e.roundings[c] * more));
        }
        k->out->at[SLOT_OUTPUT] = *made;
        k->out->at[SLOT_MASK_OUT] = one.at[SLOT_MASK_OUT];
        chain_errors_free(&e);
    } else {
        add_own(&e, &l->work, k->whole->n, made, k->marks);
        if (k->marks)
            forget_inactive(&l->work, k->marks, made->reference, e.channels);
        k->errors[i] = e;
        k->values[i] = made->reference;
        free(made->bound);
        free(one.at[SLOT_MASK_OUT].reference);
    }
    for (int j = 0; j < i; j++)
        if (k->last_use[j] == i) {
            free(k->values[j]);
            k->values[j] = NULL;
        }
    return true;
}

bool chain_data_make(const struct work *work, enum data_part part, const struct chain_maker *maker, struct op_data *out, struct error *err)
{
    const struct chain *chain = work->chain;
    if (!op_data_inputs(work, part, out, err))
        return false;
    struct walk k = {.chain = chain, .out = out, .clean = chain_errors_new(work->c), .whole = work, .maker = maker};
    size_t inputs = (size_t)work->n * (size_t)work->c * (size_t)work->h * (size_t)work->w;
    bool ok = true;
    k.values = xcalloc((size_t)chain->count, sizeof *k.values);
    k.errors = xcalloc((size_t)chain->count, sizeof *k.errors);
    k.last_use = xcalloc((size_t)chain->count, sizeof *k.last_use);
    k.input = xmalloc(inputs * sizeof *k.input);
    for (size_t i = 0; i < inputs; i++)
        k.input[i] = out->at[SLOT_INPUT].value[i];
    if (out->at[SLOT_MASK_IN].value && !(part & DATA_FULL)) {
        size_t pixels = inputs / (size_t)work->c;
        k.marks = xmalloc(pixels * sizeof *k.marks);
        memcpy(k.marks, out->at[SLOT_MASK_IN].value, pixels * sizeof *k.marks);
    }
    for (int i = 0; i < chain->count; i++) {
        if (chain->links[i].input >= 0)
            k.last_use[chain->links[i].input] = i;
        if (chain->links[i].residual >= 0)
            k.last_use[chain->links[i].residual] = i;
    }
    for (int i = 0; ok && i < chain->count; i++)
        ok = walk_link(&k, i, err);
    for (int i = 0; i < chain->count; i++) {
        free(k.values[i]);
        chain_errors_free(&k.errors[i]);
    }
    chain_errors_free(&k.clean);
    free(k.local);
    free(k.marks);
    free(k.values);
    free(k.errors);
    free(k.last_use);
    free(k.input);
    if (!ok)
        op_data_free(out);
    return ok;
}
