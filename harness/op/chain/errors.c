/* Errors of a chain's links as mean squares by channel (op/chain/chain.h). */
#include "base/pool.h"
#include "base/text.h"
#include "op/chain/private.h"
#include "op/reference/epilogue_row.h"
#include "op/reference/image.h"
#include "op/mask/mask.h"
#include <math.h>
#include <stdlib.h>

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

/* Errors through a filter: e_out^2 = sum of w^2 e_in^2. If the op spreads its inputs, an output pixel meets 1 / stride^2 of the taps. */
static struct chain_errors mix(const struct work *w, const float *filter, const struct chain_errors *in)
{
    struct chain_errors out = chain_errors_new(w->k);
    int64_t depth = w->c / w->groups, per_group = w->k / w->groups, taps = w->r * w->s;
    double share = w->op->spreads ? 1 / (double)(w->side[SIDE_stride_y] * w->side[SIDE_stride_x]) : 1;
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

/* Errors through an op that moves values: channels blend where pixels of several fall into one (depth_to_space) or one is spread over
 * several; all grow by `gain`. */
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

/* Errors of an op of two tensors: of concat those of either, of add and mul (whose values have a variance near 1) of both. */
static struct chain_errors meet(const struct work *w, const struct chain_errors *one, const struct chain_errors *other)
{
    struct chain_errors out = chain_errors_new(w->k);
    bool joins = w->k > w->c;
    for (int64_t c = 0; c < w->k; c++) {
        const struct chain_errors *from = joins && c >= w->c ? other : one;
        int64_t at = joins && c >= w->c ? c - w->c : c;
        out.sums[c] = from->sums[at] + (joins ? 0 : other->sums[c]);
        out.roundings[c] = from->roundings[at] + (joins ? 0 : other->roundings[c]);
    }
    return out;
}

static struct chain_errors through_epilogue(const struct work *w, struct chain_errors e, const struct chain_errors *residual)
{
    for (int i = 0; i < w->epilogue_count; i++) {
        const struct epilogue *item = &w->epilogue[i];
        double most = item->kind == EPILOGUE_LEAKY_RELU                            ? fmax(1, fabs(item->alpha))
                      : item->kind == EPILOGUE_RESIDUAL && item->scale != 0        ? item->scale
                      : epilogue_curves(item->kind) || item->kind == EPILOGUE_CLIP ? activation_stretch(item->kind)
                                                                                   : 1,
               stretch = most * most;
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
    struct tensor second;
    if (work_tensor(w, "second", &second))
        return meet(w, in, residual);
    return through_epilogue(w, w->op->has_filter ? mix(w, filter, in) : move(w->k, block, w->mode, op_gain(w), in), residual);
}

/* Squares of a link's own errors, for one channel of one image. */
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

void chain_errors_add_own(struct chain_errors *e, const struct work *w, int64_t n, const struct op_values *of, const float *active)
{
    int64_t planes = n * e->channels;
    struct own_errors own = {
        .of = of, .plane = of->elements / (size_t)planes, .channels = e->channels, .unit = dtype_unit_roundoff(w->dtype), .active = active};
    double pixels = (double)(own.plane * (size_t)n) * (active ? mask_density(active, own.plane * (size_t)n) : 1);
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
