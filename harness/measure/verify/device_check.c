#include "measure/verify/device_check.h"
#include "base/text.h"
#include "measure/verify/device_check_private.h"
#include "measure/verify/reference.h"
#include "op/reference/generate.h"
#include "op/shape.h"
#include "op/reference/data.h"
#include "op/mask/mask.h"
#include <stdlib.h>

static union card_arg card_single(float v)
{
    union card_arg arg = {.i = 0};
    arg.f = v;
    return arg;
}
/* ---- the data of a case on the device ---- */

void card_data_free(struct card_data *d)
{
    if (!d)
        return;
    struct device *dev = d->card->dev;
    phase_part(dev->clock, "give back");
    for (int i = 0; i < OP_MAX_TENSORS; i++) {
        uint64_t all[] = {d->at[i].value, d->at[i].reference, d->at[i].joined ? 0 : d->at[i].bound};
        for (size_t k = 0; k < sizeof all / sizeof *all; k++)
            if (all[k])
                dev->ops->release(dev, all[k]);
    }
    if (d->mask_out)
        dev->ops->release(dev, d->mask_out);
    if (d->carried_at)
        dev->ops->release(dev, d->carried_at);
    phase_pop(dev->clock);
    free(d->carried);
    free(d);
}

/* Generates the values of one tensor on the device, and compares some places with the CPU's values. */
static bool card_generate(struct card_data *d, const struct work *work, const struct tensor *t, enum data_part part, struct error *err)
{
    struct work made = work->chain ? chain_input(work) : *work;
    struct generate_recipe r = generate_recipe(&made, t, part);
    int64_t count = (int64_t)tensor_elements(t);
    uint64_t *to = &d->at[t->role->slot].value;
    if (!card_room(d, t->role->name, (size_t)count * sizeof(float), to, err))
        return false;
    bool ok;
    if (r.draw == DRAW_EXACT) {
        union card_arg args[] = {card_int((int64_t)*to), card_int(count),   card_int((int64_t)r.key), card_int(r.magnitude),
                                 card_int(r.unit),       card_int(r.terms), card_int(r.nonzero),      card_int(r.step)};
        ok = card_launch(d->card, CARD_EXACT, count, args, 8, err);
    } else if (r.draw == DRAW_NORMAL) {
        union card_arg args[] = {card_int((int64_t)*to), card_int(count),     card_int((int64_t)r.key),
                                 card_real(r.scale),     card_int(r.rectify), card_int(r.round_to)};
        ok = card_launch(d->card, CARD_NORMAL, count, args, 6, err);
    } else {
        union card_arg args[] = {card_int((int64_t)*to),
                                 card_int(count),
                                 card_int((int64_t)r.key),
                                 card_int(r.turn),
                                 card_int(r.draw == DRAW_BITS ? r.bits : 0),
                                 card_real(r.low),
                                 card_real(r.range),
                                 card_real(r.draw == DRAW_ONES ? r.ones : -1),
                                 card_real(r.higher),
                                 card_real(r.level),
                                 card_int(r.length),
                                 card_int(r.round_to)};
        ok = card_launch(d->card, CARD_DRAWN, count, args, 12, err);
    }
    if (ok && r.sweep.of) {
        union card_arg args[] = {card_int((int64_t)*to), card_int(count), card_int((int64_t)r.key), {.p = &r.sweep}, card_int(r.round_to)};
        return card_launch(d->card, CARD_SWEPT, count, args, 5, err);
    }
    if (!ok || !r.lines.low)
        return ok;
    union card_arg args[] = {card_int((int64_t)*to),
                             card_int(count),
                             card_int((int64_t)r.key),
                             card_int(r.turn),
                             {.p = &r.lines},
                             card_single(generate_most(&r)),
                             card_int(generate_draws_of(&r)),
                             card_int(r.round_to)};
    return card_launch(d->card, CARD_LINES, count, args, 8, err);
}

/* Sets inputs to zero where their mask says that nothing changed. */
static bool card_blank(const struct card_data *d, const int64_t dim[4], bool still, struct error *err)
{
    union card_arg args[] = {card_int((int64_t)d->at[SLOT_INPUT].value),
                             card_int((int64_t)d->at[SLOT_MASK_IN].value),
                             card_int(dim[0]),
                             card_int(dim[1]),
                             card_int(dim[2] * dim[3]),
                             card_int(still)};
    return card_launch(d->card, CARD_BLANK, dim[0] * dim[1] * dim[2] * dim[3], args, 6, err);
}

static bool card_inputs(struct card_data *d, const struct work *work, enum data_part part, struct error *err)
{
    struct tensor list[OP_MAX_TENSORS];
    enum data_part which = (enum data_part)((int)part & ~(int)DATA_FULL);
    int count = work->op->tensors(work, list);
    bool there = work->op->on_card != REFERENCE_CPU || work->chain || card_file_able(work), ok = true;
    const struct op_data *host = d->host;
    for (int i = 0; ok && i < count; i++) { /* masks first: tensors with inactive elements need them */
        const struct tensor *t = &list[i];
        const float *value = host->at[t->role->slot].value;
        if (value && tensor_role_is_mask(t->role))
            ok = card_upload(d, t->role->name, value, tensor_elements(t) * sizeof *value, &d->at[t->role->slot].value, err);
    }
    if (ok && host->mask_out)
        ok = card_upload(d, "mask of outputs", host->mask_out, (size_t)(work->n * work->p * work->q) * sizeof(float), &d->mask_out, err);
    for (int i = 0; ok && i < count; i++) {
        const struct tensor *t = &list[i];
        const float *value = host->at[t->role->slot].value;
        int64_t dim[4];
        if (!value || tensor_role_is_mask(t->role))
            continue;
        tensor_fold(t, dim);
        if (!there || !generate_by_index(work, t))
            ok = card_upload(d, t->role->name, value, tensor_elements(t) * sizeof *value, &d->at[t->role->slot].value, err);
        else
            ok = card_generate(d, work, t, which, err) &&
                 (work->op->file || t->role->slot != SLOT_INPUT || (part & DATA_FULL) || !d->at[SLOT_MASK_IN].value ||
                  card_blank(d, dim, mask_has_still(work, which), err));
    }
    d->mask_out_bytes = d->mask_out ? (size_t)(work->n * work->p * work->q) * sizeof(float) : 0;
    for (int i = 0; ok && i < count; i++) {
        struct card_values *at = &d->at[list[i].role->slot];
        at->bytes = at->value ? tensor_elements(&list[i]) * sizeof(float) : 0;
    }
    return ok;
}

/* ---- the reference ---- */

static bool card_reference(struct card_data *d, const struct work *work, struct error *err)
{
    struct op_bounds is = op_data_bounds(work, d->host);
    struct card_layer g;
    uint64_t layer = 0, filter = 0, lines = 0, input = d->at[SLOT_INPUT].value;
    phase_part(d->card->dev->clock, "rooms");
    bool sums = work->op->has_filter, ok = card_layer_up(d, work, &is, &g, &layer, err);
    size_t count = (size_t)(g.n * g.out_c * g.out_h * g.out_w);
    struct card_values *to = &d->at[SLOT_OUTPUT];
    ok = ok && card_filter(d, &g, d->at[SLOT_FILTER].value, &filter, err) &&
         (!sums ||
          (card_room(d, "input in double", card_lines_bytes(&g), &lines, err) && card_lines_in(d, &g, CARD_INPUT, input, lines, err))) &&
         card_room_reference(d, count, is.bounds, to, err);
    phase_pop(d->card->dev->clock);
    union card_arg args[8];
    int arg_count = 0;
    args[arg_count++] = card_int((int64_t)layer);
    args[arg_count++] = card_int((int64_t)(sums ? lines : input));
    if (sums)
        args[arg_count++] = card_int((int64_t)filter);
    const uint64_t rest[] = {d->at[SLOT_BIAS].value, d->at[SLOT_RESIDUAL].value, d->mask_out, to->reference, to->bound};
    for (size_t i = 0; i < sizeof rest / sizeof *rest; i++)
        args[arg_count++] = card_int((int64_t)rest[i]);
    to->elements = count;
    ok = ok && card_launch(d->card, sums ? CARD_CONV : CARD_FORMULA, (int64_t)count, args, arg_count, err);
    phase_part(d->card->dev->clock, "sample"); /* the CPU's part, while the device computes */
    if (ok && !d->host->sampled)
        ok = card_sample_make(work, d->part, d->host, err);
    phase_pop(d->card->dev->clock);
    phase_part(d->card->dev->clock, "sums");
    ok = d->card->dev->ops->sync(d->card->dev, ok ? err : NULL) && ok;
    phase_pop(d->card->dev->clock);
    if (layer)
        d->card->dev->ops->release(d->card->dev, layer);
    if (filter)
        d->card->dev->ops->release(d->card->dev, filter);
    if (lines)
        d->card->dev->ops->release(d->card->dev, lines);
    phase_part(d->card->dev->clock, "sample");
    ok = ok && card_sample_agrees(d, work, &g, err);
    phase_pop(d->card->dev->clock);
    return ok;
}

bool card_references_up(struct card_data *d, const struct work *work, struct error *err)
{
    struct tensor list[OP_MAX_TENSORS];
    bool ok = true;
    for (int i = 0, count = work->op->tensors(work, list); ok && i < count; i++) {
        int slot = list[i].role->slot;
        const struct op_values *from = &d->host->at[slot];
        struct card_values *to = &d->at[slot];
        if (!list[i].written || tensor_role_is_mask(list[i].role) || !from->reference)
            continue;
        size_t bytes = (to->elements = from->elements) * sizeof *from->reference, bound_bytes = from->elements * sizeof *from->bound;
        ok = card_room_reference(d, from->elements, from->bound, to, err) &&
             d->card->dev->ops->write(d->card->dev, to->reference, from->reference, bytes, err) &&
             (!from->bound || d->card->dev->ops->write(d->card->dev, to->bound, from->bound, bound_bytes, err));
    }
    d->fetched = true; /* they are the host's own */
    return ok;
}

bool card_is_wide(const struct work *work)
{
    struct tensor list[OP_MAX_TENSORS];
    int count = work->op->tensors(work, list);
    return ANY_OF(i, count, list[i].dtype == DTYPE_F64);
}

/* sampled: the host has its part already. */
static bool data_make(struct card *card, const struct work *work, enum data_part part, bool references, bool sampled, struct op_data *host,
                      struct error *err)
{
    if (card_is_wide(work) || (work->chain && !card_chain_able(work)))
        return reference_data_make(card->dev, card->compiler, work, part, host, err);
    struct card_data *d = xcalloc(1, sizeof *d);
    *d = (struct card_data){.card = card, .host = host, .part = part};
    bool there = work->op->on_card != REFERENCE_CPU, file = card_file_able(work);
    phase_part(card->dev->clock, "reserve");
    bool made = sampled || (there || file || work->chain ? op_data_reserve : op_data_inputs)(work, part, host, err);
    phase_pop(card->dev->clock);
    phase_part(card->dev->clock, "inputs");
    bool ok = made && card_inputs(d, work, part, err);
    phase_pop(card->dev->clock);
    ok = ok &&
         (!references || (work->chain ? card_chain(d, work, part, err)
                          : there     ? card_reference(d, work, err)
                          : file      ? card_file(d, work, part, err)
                                 : reference_make(card->dev, card->compiler, work, part, host, err) && card_references_up(d, work, err))) &&
         card_seal(d, err) && card_leave(card, err);
    if (ok) {
        host->card = d;
        return true;
    }
    if (made)
        op_data_free(host);
    card_data_free(d);
    return false;
}

bool card_makes(const struct work *work)
{
    return work->chain ? card_chain_able(work) : work->op->on_card != REFERENCE_CPU;
}

void card_data_moved(struct card_data *d, struct op_data *host)
{
    if (d)
        d->host = host;
}

const struct card *card_data_card(const struct card_data *d)
{
    return d->card;
}

bool card_host_make(const struct work *work, enum data_part part, struct op_data *host)
{
    struct error ignored = {0}; /* the error recurs when the data are made */
    if (work->chain || work->op->on_card == REFERENCE_CPU || !op_data_reserve(work, part, host, &ignored))
        return false;
    host->sampled = card_sample_make(work, part, host, &ignored);
    if (!host->sampled)
        op_data_free(host);
    return host->sampled;
}

bool card_data_make(struct card *card, const struct work *work, enum data_part part, struct op_data *host, struct error *err)
{
    return data_make(card, work, part, true, false, host, err);
}

bool card_data_finish(struct card *card, const struct work *work, enum data_part part, struct op_data *host, struct error *err)
{
    return data_make(card, work, part, true, true, host, err);
}

bool card_data_inputs(struct card *card, const struct work *work, enum data_part part, struct op_data *host, struct error *err)
{
    return data_make(card, work, part, false, false, host, err);
}
