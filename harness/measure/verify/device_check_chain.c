/* Computes a network's reference on the device: its links one after another in double, as op/chain/data.c does on the CPU. Activations
 * stay on the device except a sample of each link, whose rows the CPU computes from the device's own inputs of that link. */
#include "measure/verify/device_check_private.h"
#include "op/chain/chain.h"
#include "op/epilogue.h"
#include "op/shape.h"
#include "op/reference/data.h"
#include "op/mask/mask.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SLICES 16 /* of a channel; as in kernels/reference/chain.cu */

struct host_room {
    double *at;
    size_t bytes;
};
/* Device memory that links use one after another: allocating and mapping it takes longer than what fills it. */
struct link_room {
    uint64_t at;
    size_t bytes;
    bool apart, used;
};
struct net {
    struct card_data *d;
    struct link_room *link_rooms;
    int link_room_count;
    bool again; /* for further input sets: the reference of the first set was compared with the CPU's on whole samples */
    const struct chain *chain;
    uint64_t input;   /* in double */
    uint64_t *values; /* by link, while a later one reads them */
    int *last_use;
    struct chain_errors *errors, clean; /* by link; of the input */
    struct host_room rooms[2];          /* of a link's input and of its addend */
    float *marks;                       /* the output mask of the previous link; NULL: it has no mask, or runs as if it had none */
    uint64_t marks_at;
};
/* The tensors of a link, on the host and on the device. */
struct link_data {
    struct op_data one;
    uint64_t layer, x, lines, residual, filter, wide, bias, slopes, mask, bound; /* wide, lines: filter and x as sums read them */
    struct card_layer g;
};

bool card_chain_able(const struct work *work)
{
    bool able = work->chain != NULL;
    for (int i = 0; able && i < work->chain->count; i++) {
        const struct op *op = work->chain->links[i].work.op;
        able = op->has_filter ? op->on_card != REFERENCE_CPU : op->task == TASK_LAYOUT && !work->chain->links[i].work.epilogue_count;
    }
    return able;
}

static void release(const struct card_data *d, uint64_t *address)
{
    if (*address)
        d->card->dev->ops->release(d->card->dev, *address);
    *address = 0;
}

/* Gives back what no link uses. */
static void drop_rooms(struct net *k)
{
    for (int i = k->link_room_count - 1; i >= 0; i--)
        if (!k->link_rooms[i].used) {
            release(k->d, &k->link_rooms[i].at);
            k->link_rooms[i] = k->link_rooms[--k->link_room_count];
        }
}

/* apart: from kernels under test. Its contents are what was left there. */
static bool take_room(struct net *k, const char *label, bool apart, size_t bytes, uint64_t *address, struct error *err)
{
    bool (*const room)(struct card_data *, const char *, size_t, uint64_t *, struct error *) = apart ? card_room_apart : card_room;
    struct error full = {0};
    for (int i = 0; i < k->link_room_count; i++) {
        struct link_room *known = &k->link_rooms[i];
        if (!known->used && known->apart == apart && known->bytes == bytes) {
            known->used = true;
            *address = known->at;
            return true;
        }
    }
    if (!room(k->d, label, bytes, address, &full)) {
        drop_rooms(k);
        if (!room(k->d, label, bytes, address, err))
            return false;
    }
    *APPEND(k->link_rooms, k->link_room_count) = (struct link_room){*address, bytes, apart, true};
    return true;
}

static void leave_room(struct net *k, uint64_t *address)
{
    for (int i = 0; *address && i < k->link_room_count; i++)
        if (k->link_rooms[i].at == *address)
            k->link_rooms[i].used = false;
    *address = 0;
}

/* Another owner releases it. */
static void forget_room(struct net *k, uint64_t address)
{
    for (int i = k->link_room_count - 1; i >= 0; i--)
        if (k->link_rooms[i].at == address)
            k->link_rooms[i] = k->link_rooms[--k->link_room_count];
}

static uint64_t values_of(const struct net *k, int link)
{
    return link < 0 ? k->input : k->values[link];
}

static const struct chain_errors *errors_of(const struct net *k, int link)
{
    return link < 0 ? &k->clean : &k->errors[link];
}

/* Host memory for a tensor of which only some lines are used; the same places are used for every link, so only their pages are ever
 * touched. */
static double *host_room(struct host_room *room, const int64_t dim[4])
{
    size_t bytes = (size_t)(dim[0] * dim[1] * dim[2] * dim[3]) * sizeof *room->at;
    if (bytes > room->bytes) {
        free(room->at);
        room->at = malloc(bytes);
        room->bytes = room->at ? bytes : 0;
    }
    return room->at;
}

/* Copies lines of a (n, channels, height, width) tensor from the device, the picked columns of each, to the same places in host memory. */
static bool fetch_lines(const struct card_data *d, uint64_t from, const int64_t dim[4], const struct card_lines *l, double *to,
                        struct error *err)
{
    int64_t height = dim[2], p = height / l->per;
    double *compact = xmalloc((size_t)(l->count * l->channels * l->per * l->picked) * sizeof *compact), *at = compact;
    bool ok = card_fetch_rows(d, CARD_ROWS_F64, from, sizeof *compact, l, compact, err);
    for (int64_t r = 0; ok && r < l->count; r++)
        for (int64_t c = 0; c < l->channels; c++)
            for (int64_t line = 0; line < l->per; line++) {
                double *row = to + ((l->rows[r] / p * l->channels + c) * height + l->rows[r] % p * l->per + line) * l->width;
                for (int64_t k = 0; k < l->picked; k++)
                    row[l->columns[k]] = *at++;
            }
    free(compact);
    return ok;
}

/* Copies the rows of the link's input, and of its addend, that a sample's rows read (dim added[0] 0: no addend). */
static bool fetch_sample(struct net *k, const struct work *w, struct link_data *own, const int64_t *rows, int count, const int64_t added[4],
                         struct error *err)
{
    const int64_t input[] = {w->n, w->c, w->h, w->w};
    SCOPED int64_t *lines = xcalloc((size_t)(w->n * w->h), sizeof *lines), *columns = xcalloc((size_t)(w->w + added[3]), sizeof *columns);
    double *x = host_room(&k->rooms[0], input), *residual = added[0] ? host_room(&k->rooms[1], added) : NULL;
    bool ok = (x && (residual || !added[0])) || error_set(err, ERROR_ENVIRONMENT, "not enough memory for a sample of a network");
    struct card_lines l = {.channels = w->c, .p = w->h, .per = 1, .width = w->w, .rows = lines, .columns = columns};
    l.count = op_lines_read(w, rows, count, lines);
    l.picked = op_columns_read(w, own->one.columns, true, w->w, columns);
    ok = ok && fetch_lines(k->d, own->x, input, &l, x, err);
    if (ok && residual) {
        l = (struct card_lines){.channels = added[1], .p = w->p, .per = added[2] / w->p, .width = added[3], .rows = rows, .count = count};
        l.columns = columns;
        l.picked = op_columns_read(w, own->one.columns, false, added[3], columns);
        ok = fetch_lines(k->d, own->residual, added, &l, residual, err);
    }
    own->one.wide_input = x;
    own->one.wide_residual = residual;
    return ok;
}

/* Draws the sample of a link and copies from the device what it reads; if an earlier link used the same kernel and shape (`again`), the
 * sample is a border and one other place. */
static bool sample_fetch(struct net *k, const struct work *w, bool again, struct link_data *own, struct card_sample *s, struct error *err)
{
    card_sample_draw(w, own->one.mask_out, s);
    if (again)
        card_sample_again(s);
    int64_t added[4] = {0};
    int item = work_epilogue_find(w, EPILOGUE_RESIDUAL);
    own->one.columns = s->columns;
    if (item >= 0 && own->residual) {
        struct epilogue_shape at = epilogue_shape_at(w, item);
        memcpy(added, (int64_t[]){w->n, at.c, at.h, at.w}, sizeof added);
    }
    return fetch_sample(k, w, own, s->rows, s->count, added, err);
}

/* Compares a link's reference with the CPU's, computed from the device's own inputs of the link. The device computes it meanwhile. */
static bool sample_link(struct net *k, const struct work *w, const struct card_sample *s, struct link_data *own, uint64_t reference,
                        struct error *err)
{
    struct card_data link = {.card = k->d->card, .host = &own->one, .at[SLOT_OUTPUT] = {.reference = reference, .bound = own->bound}};
    struct device *dev = k->d->card->dev;
    phase_part(dev->clock, "sample");
    bool ok = op_data_reference_rows(w, &own->one, s->rows, s->count, err);
    phase_pop(dev->clock);
    phase_part(dev->clock, "sums");
    ok = dev->ops->sync(dev, ok ? err : NULL) && ok;
    phase_pop(dev->clock);
    phase_part(dev->clock, "sample");
    ok = ok && card_rows_agree(&link, &own->g, s->rows, s->count, err);
    phase_pop(dev->clock);
    for (int i = 0; i < OP_MAX_TENSORS; i++) {
        free(own->one.at[i].reference);
        free(own->one.at[i].bound);
    }
    return ok;
}

/* Uploads filter, bias, marks and layer of a link. */
static bool link_open(struct net *k, int i, struct link_data *own, struct error *err)
{
    const struct chain_link *l = &k->chain->links[i];
    const struct work *w = &l->work;
    struct card_data *d = k->d;
    struct tensor t;
    *own = (struct link_data){.x = values_of(k, l->input), .residual = l->residual == CHAIN_NONE ? 0 : values_of(k, l->residual)};
    if (k->marks) {
        float *active = chain_marks(l, k->marks);
        free(k->marks);
        k->marks = active;
        release(d, &k->marks_at);
        if (!card_upload(d, "marks of a link", active, (size_t)(w->n * w->p * w->q) * sizeof *active, &k->marks_at, err))
            return false;
    }
    bool last = i == k->chain->count - 1;
    own->mask = last ? d->mask_out : k->marks_at;
    own->one.mask_out = last ? d->host->mask_out : k->marks;
    const struct {
        int slot;
        uint64_t *at;
    } weights[] = {{SLOT_FILTER, &own->filter}, {SLOT_BIAS, &own->bias}, {SLOT_SLOPES, &own->slopes}};
    for (int kind = 0; l->layer >= 0 && kind < 3; kind++) {
        const float *value = own->one.at[weights[kind].slot].value = d->host->links[l->layer].at[weights[kind].slot].value;
        if (value && work_tensor(w, shape_roles[weights[kind].slot].name, &t) &&
            !card_upload(d, t.role->name, value, tensor_elements(&t) * sizeof *value, weights[kind].at, err))
            return false;
    }
    struct op_bounds is = op_data_bounds(w, &own->one);
    d->at[SLOT_SLOPES].value = own->slopes;
    return card_layer_up(d, w, &is, &own->g, &own->layer, err) && card_filter(d, &own->g, own->filter, &own->wide, err);
}

static bool link_run(struct net *k, const struct work *w, bool again, struct link_data *own, uint64_t *reference, struct error *err)
{
    struct card_data *d = k->d;
    struct device *dev = d->card->dev;
    const struct card_layer *g = &own->g;
    int64_t count = g->n * g->out_c * g->out_h * g->out_w;
    if (!take_room(k, "reference of a link", true, (size_t)count * sizeof(double), reference, err) ||
        !take_room(k, "bounds of a link", true, (size_t)count * sizeof(float), &own->bound, err))
        return false;
    if (!w->op->has_filter) /* a layout change of the same values */
        return dev->ops->copy(dev, *reference, own->x, (size_t)count * sizeof(double), err) &&
               dev->ops->fill(dev, own->bound, 0, (size_t)count * sizeof(float), err) && dev->ops->sync(dev, err);
    if (!take_room(k, "input in double", false, card_lines_bytes(g), &own->lines, err) ||
        !card_lines_in(d, g, CARD_INPUT_WIDE, own->x, own->lines, err))
        return false;
    union card_arg args[] = {card_int((int64_t)own->layer), card_int((int64_t)own->lines),    card_int((int64_t)own->wide),
                             card_int((int64_t)own->bias),  card_int((int64_t)own->residual), card_int((int64_t)own->mask),
                             card_int((int64_t)*reference), card_int((int64_t)own->bound)};
    SCOPED_BY(card_sample_free) struct card_sample s = {0};
    phase_part(dev->clock, "sample");
    bool ok = sample_fetch(k, w, again, own, &s, err);
    phase_pop(dev->clock);
    ok = ok && card_launch(d->card, CARD_CONV_WIDE, count, args, 8, err) && sample_link(k, w, &s, own, *reference, err);
    own->one.columns = NULL;
    return ok;
}

/* Adds the rounding errors of a link itself, as chain_errors_add_own computes them; then zeroes its inactive outputs. */
static bool add_own(struct net *k, const struct work *w, const struct link_data *own, uint64_t reference, struct chain_errors *e,
                    struct error *err)
{
    struct card_data *d = k->d;
    struct device *dev = d->card->dev;
    int64_t channels = e->channels, plane = own->g.out_h * own->g.out_w;
    double pixels = (double)(plane * w->n) * (k->marks ? mask_density(k->marks, (size_t)(plane * w->n)) : 1);
    size_t bytes = (size_t)channels * 2 * SLICES * sizeof(double);
    SCOPED double *sums = xmalloc(bytes);
    uint64_t at = 0;
    union card_arg args[] = {card_int((int64_t)reference),
                             card_int((int64_t)own->bound),
                             card_int((int64_t)k->marks_at),
                             card_int(w->n),
                             card_int(channels),
                             card_int(plane),
                             card_real(dtype_unit_roundoff(w->dtype)),
                             {0}};
    bool ok = true;
    if ((w->op->has_filter || w->epilogue_count) && pixels >= 1) {
        ok = card_room(d, "errors of a link", bytes, &at, err);
        args[7] = card_int((int64_t)at);
        ok = ok && card_launch(d->card, CARD_OWN, channels * SLICES * CARD_THREADS, args, 8, err) && dev->ops->sync(dev, err) &&
             dev->ops->read(dev, at, sums, bytes, err);
        for (int64_t i = 0; ok && i < channels * SLICES; i++) {
            int64_t c = i % channels, slice = i / channels;
            e->sums[c] += sums[slice * 2 * channels + c] / pixels;
            e->roundings[c] += sums[(slice * 2 + 1) * channels + c] / pixels;
        }
    }
    union card_arg forget[] = {card_int((int64_t)reference), card_int((int64_t)k->marks_at), card_int(w->n), card_int(channels),
                               card_int(plane)};
    ok = ok && (!k->marks || (card_launch(d->card, CARD_FORGET, w->n * channels * plane, forget, 5, err) && dev->ops->sync(dev, err)));
    release(d, &at);
    return ok;
}

/* The last link's reference is the network's; its bound grows by the errors of the links before. */
static bool settle(struct net *k, const struct work *w, struct link_data *own, uint64_t reference, const struct chain_errors *e,
                   struct error *err)
{
    struct card_data *d = k->d;
    struct op_values *to = &d->host->at[SLOT_OUTPUT], *mask = &d->host->at[SLOT_MASK_OUT];
    size_t channels = (size_t)e->channels, plane = (size_t)(own->g.out_h * own->g.out_w), outputs = (size_t)(w->n * w->p * w->q);
    SCOPED float *more = xmalloc(channels * sizeof *more);
    uint64_t more_at = 0;
    d->at[SLOT_OUTPUT].reference = reference;
    d->at[SLOT_OUTPUT].bound = own->bound;
    forget_room(k, reference);
    forget_room(k, own->bound);
    own->bound = 0;
    d->at[SLOT_OUTPUT].elements = to->elements = (size_t)w->n * channels * plane;
    d->channels = channels;
    d->plane = plane;
    d->carried = xmalloc(channels * sizeof *d->carried);
    for (size_t c = 0; c < channels; c++) {
        more[c] = (float)(CHAIN_SPREAD * sqrt(e->sums[c]));
        d->carried[c] = (float)(CHAIN_SPREAD * sqrt(e->roundings[c]));
    }
    to->reference = malloc(to->elements * sizeof *to->reference); /* room, for card_fetch */
    to->bound = malloc(to->elements * sizeof *to->bound);
    to->carried = malloc(to->elements * sizeof *to->carried);
    bool ok = (to->reference && to->bound && to->carried) ||
              error_set(err, ERROR_ENVIRONMENT, "not enough memory for the reference of a network");
    if (d->host->mask_out && !mask->value && !mask->reference) {
        mask->elements = outputs;
        mask->reference = xmalloc(outputs * sizeof *mask->reference);
        for (size_t i = 0; i < outputs; i++)
            mask->reference[i] = d->host->mask_out[i];
    }
    ok = ok && card_upload(d, "carried errors", d->carried, channels * sizeof *d->carried, &d->carried_at, err) &&
         card_upload(d, "errors of links", more, channels * sizeof *more, &more_at, err);
    union card_arg args[] = {card_int((int64_t)d->at[SLOT_OUTPUT].bound), card_int((int64_t)more_at), card_int(w->n), card_int(e->channels),
                             card_int((int64_t)plane)};
    ok = ok && card_launch(d->card, CARD_SPREAD, (int64_t)to->elements, args, 5, err) && d->card->dev->ops->sync(d->card->dev, err);
    release(d, &more_at);
    return ok;
}

static bool walk_link(struct net *k, int i, struct error *err)
{
    const struct chain_link *l = &k->chain->links[i];
    struct card_data *d = k->d;
    struct link_data own;
    uint64_t reference = 0;
    bool last = i == k->chain->count - 1, again = k->again && !last, ok = link_open(k, i, &own, err);
    for (int j = 0; j < i && !last; j++) /* for example, a layer that occurs sixteen times */
        again |= l->layer >= 0 && k->chain->links[j].layer >= 0 && !strcmp(k->chain->links[j].name, l->name);
    ok = ok && link_run(k, &l->work, again, &own, &reference, err);
    if (ok) {
        struct chain_errors e = chain_carried(l, own.one.at[SLOT_FILTER].value, errors_of(k, l->input),
                                              l->residual == CHAIN_NONE ? NULL : errors_of(k, l->residual));
        ok = last ? settle(k, &l->work, &own, reference, &e, err) : add_own(k, &l->work, &own, reference, &e, err);
        if (last)
            chain_errors_free(&e);
        else
            k->errors[i] = e, k->values[i] = reference;
        reference = 0;
    }
    uint64_t *const all[] = {&own.layer, &own.filter, &own.wide, &own.bias, &own.slopes};
    for (size_t a = 0; a < sizeof all / sizeof *all; a++)
        release(d, all[a]);
    leave_room(k, &own.lines);
    leave_room(k, &own.bound);
    leave_room(k, &reference);
    for (int j = 0; j < i; j++)
        if (k->last_use[j] == i)
            leave_room(k, &k->values[j]);
    return ok || error_where(err, "link %d (%s)", i, l->name);
}

bool card_chain(struct card_data *d, const struct work *work, enum data_part part, struct error *err)
{
    const struct chain *chain = work->chain;
    struct net k = {.d = d, .again = work->set_seed != 0, .chain = chain, .clean = chain_errors_new(work->c)};
    size_t pixels = (size_t)(work->n * work->h * work->w), inputs = pixels * (size_t)work->c;
    k.values = xcalloc((size_t)chain->count, sizeof *k.values);
    k.errors = xcalloc((size_t)chain->count, sizeof *k.errors);
    k.last_use = chain_last_uses(chain);
    bool ok = card_inputs_agree(d, work, err) && card_room(d, "input of a chain", inputs * sizeof(double), &k.input, err);
    union card_arg args[] = {card_int((int64_t)d->at[SLOT_INPUT].value), card_int((int64_t)k.input), card_int((int64_t)inputs)};
    ok = ok && card_launch(d->card, CARD_WIDEN, (int64_t)inputs, args, 3, err);
    if (d->host->at[SLOT_MASK_IN].value && !(part & DATA_FULL)) {
        k.marks = xmalloc(pixels * sizeof *k.marks);
        memcpy(k.marks, d->host->at[SLOT_MASK_IN].value, pixels * sizeof *k.marks);
    }
    ok = ok && ALL_OF(i, chain->count, walk_link(&k, i, err));
    for (int i = 0; i < chain->count; i++) {
        leave_room(&k, &k.values[i]);
        chain_errors_free(&k.errors[i]);
    }
    drop_rooms(&k);
    free(k.link_rooms);
    release(d, &k.input);
    release(d, &k.marks_at);
    chain_errors_free(&k.clean);
    for (int i = 0; i < 2; i++)
        free(k.rooms[i].at);
    FREE_ALL(k.marks, k.values, k.errors, k.last_use);
    return ok;
}
