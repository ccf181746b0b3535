/* The data of a chain: its input and weights, and the reference of the whole, link by link (op/chain/chain.h). */
#include "base/text.h"
#include "op/chain/private.h"
#include "op/convert.h"
#include "op/reference/data.h"
#include "op/reference/generate.h"
#include "op/mask/mask.h"
#include "op/shape.h"
#include "op/weights.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BRANCH_MOST 16 /* links of a branch */
/* Does the link's output go, through links without filters, to an addition of what its branch began with? */
static bool adds_later(const struct chain *chain, int link)
{
    bool from[BRANCH_MOST] = {true}; /* by link, from this one on */
    for (int i = link + 1; i < chain->count && i < link + BRANCH_MOST; i++) {
        const struct chain_link *l = &chain->links[i];
        struct tensor second;
        bool input = l->input >= link && from[l->input - link], other = l->residual >= link && from[l->residual - link];
        from[i - link] = (input || other) && !l->work.op->has_filter;
        bool adds = from[i - link] && work_tensor(&l->work, "second", &second) && work_terms(&l->work) == 2;
        for (int back = link, steps = 0; adds && steps < BRANCH_MOST && back >= 0; steps++)
            if ((back = chain->links[back].input) == (input ? l->residual : l->input))
                return true;
    }
    return false;
}

/* Gain of a link's filter: see chain.h. */
static double gain_of(const struct chain *chain, int link)
{
    const struct work *w = &chain->links[link].work;
    double gain = epilogue_curves(work_activation(w)) || work_activation(w) == EPILOGUE_PRELU ? 1.8 : 1;
    int leaky = work_epilogue_find(w, EPILOGUE_LEAKY_RELU);
    if (work_epilogue_find(w, EPILOGUE_RELU) >= 0)
        gain = 2;
    else if (leaky >= 0)
        gain = 2 / (1 + w->epilogue[leaky].alpha * w->epilogue[leaky].alpha);
    return sqrt(gain) * (work_epilogue_find(w, EPILOGUE_RESIDUAL) >= 0 || adds_later(chain, link) ? 0.25 : 1);
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
    bool read;
    if (!weights_read(w, &t, w->dtype, *out, &read, err))
        return false;
    if (read)
        return true;
    generate_tensor(w, &t, DATA_PART_PRECISION, *out);
    for (size_t i = 0; scale != 1 && i < count; i++)
        (*out)[i] = (float)((*out)[i] * scale);
    convert_round(w->dtype, *out, count);
    return true;
}

bool chain_data_inputs(const struct work *work, bool reserve, struct op_data *out, struct error *err)
{
    const struct chain *chain = work->chain; /* small integers do not stay small through a network: there is no exact part */
    struct work first = chain_input(work);
    *out = (struct op_data){.links = xcalloc((size_t)chain->count, sizeof *out->links), .link_count = chain->count};
    bool ok = make_values(&first, "input", reserve, 1, &out->at[SLOT_INPUT].value, err);
    for (int i = 0; ok && i < chain->count; i++) {
        const struct chain_link *l = &chain->links[i];
        struct work own = l->work; /* the same values under every layout plan */
        own.seed = random_bits(l->work.seed, 1000, (uint64_t)l->layer);
        if (l->layer >= 0 && own.op->file)
            ok = chain_file_constants(&own, &out->links[l->layer], err);
        else if (l->layer >= 0)
            ok = make_values(&own, "filter", false, gain_of(chain, i), &out->links[l->layer].at[SLOT_FILTER].value, err) &&
                 make_values(&own, "bias", false, 0.1, &out->links[l->layer].at[SLOT_BIAS].value, err) &&
                 make_values(&own, "slopes", false, 1, &out->links[l->layer].at[SLOT_SLOPES].value, err);
    }
    if (!ok)
        op_data_free(out);
    return ok;
}

struct walk {
    const struct chain *chain;
    struct op_data *out;
    double **values; /* by link, while a later one reads them */
    int *last_use;
    struct chain_errors *errors; /* by link */
    struct chain_errors clean;   /* of the input */
    double *input;
    float *marks; /* mask of the last link's output; NULL: no mask, or it is ignored */
    const struct work *whole;
    const struct chain_maker *maker;
    double *local; /* mean square errors of the last link, by element; NULL: the same in all of a channel */
};

static const double *values_of(const struct walk *k, int link)
{
    return link < 0 ? k->input : k->values[link];
}
static const struct chain_errors *errors_of(const struct walk *k, int link)
{
    return link < 0 ? &k->clean : &k->errors[link];
}

/* Sets inactive outputs of a link to 0, whatever its epilogue makes of zero: the next link sees no change there. */
static void forget_inactive(const struct work *w, const float *active, double *values, int64_t channels)
{
    size_t plane = (size_t)(w->p * w->q);
    for (size_t i = 0; i < (size_t)(w->n * channels) * plane; i++)
        if (active[i / plane / (size_t)channels * plane + i % plane] == 0)
            values[i] = 0;
}

/* Computes a link's results, in at[SLOT_OUTPUT], and the errors that errors of its inputs become. */
static bool link_reference(struct walk *k, int i, struct op_data *one, struct chain_errors *e, struct error *err)
{
    const struct chain_link *l = &k->chain->links[i];
    const struct op_data *own = l->layer >= 0 ? &k->out->links[l->layer] : NULL;
    const struct chain_errors *in = errors_of(k, l->input);
    if (l->work.op->file) {
        int probes = i == k->chain->count - 1 ? CHAIN_PROBES : 1;
        struct chain_file f = {.chain = k->chain,
                               .link = i,
                               .constants = own,
                               .maker = k->maker,
                               .set_seed = k->whole->set_seed,
                               .images = k->whole->n,
                               .second = one->wide_residual,
                               .probes = probes};
        free(k->local); /* of the last link alone it is looked at */
        return chain_file_reference(&f, one->wide_input, in, l->residual == CHAIN_NONE ? NULL : errors_of(k, l->residual),
                                    &one->at[SLOT_OUTPUT], e, &k->local, err);
    }
    if (own) {
        one->at[SLOT_FILTER].value = own->at[SLOT_FILTER].value;
        one->at[SLOT_BIAS].value = own->at[SLOT_BIAS].value;
        one->at[SLOT_SLOPES].value = own->at[SLOT_SLOPES].value;
    }
    if (!op_data_reference(&l->work, one, err))
        return false;
    *e = chain_carried(l, one->at[SLOT_FILTER].value, in, l->residual == CHAIN_NONE ? NULL : errors_of(k, l->residual));
    return true;
}

static bool only_moves(const struct work *w)
{
    return w->op->file ? chain_file_moves(w) : !w->op->has_filter && !w->epilogue_count && work_terms(w) == 0;
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
        if (!only_moves(&l->work))
            chain_errors_add_own(&e, &l->work, k->whole->n, made, k->marks);
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
    k.last_use = chain_last_uses(chain);
    k.input = xmalloc(inputs * sizeof *k.input);
    for (size_t i = 0; i < inputs; i++)
        k.input[i] = out->at[SLOT_INPUT].value[i];
    if (out->at[SLOT_MASK_IN].value && !(part & DATA_FULL)) {
        size_t pixels = inputs / (size_t)work->c;
        k.marks = xmalloc(pixels * sizeof *k.marks);
        memcpy(k.marks, out->at[SLOT_MASK_IN].value, pixels * sizeof *k.marks);
    }
    ok = ok && ALL_OF(i, chain->count, walk_link(&k, i, err));
    for (int i = 0; i < chain->count; i++) {
        free(k.values[i]);
        chain_errors_free(&k.errors[i]);
    }
    chain_errors_free(&k.clean);
    FREE_ALL(k.local, k.marks, k.values, k.errors, k.last_use, k.input);
    if (!ok)
        op_data_free(out);
    return ok;
}

bool chain_data_whole(const struct work *work, enum data_part part, struct op_data *out, struct error *err)
{
    return chain_data_make(work, part, NULL, out, err);
}
