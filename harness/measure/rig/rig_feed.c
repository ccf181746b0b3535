/* Finds the buffers of a rig in each set and replica; fills and poisons them. */
#include "base/large.h"
#include "base/text.h"
#include "measure/verify/device_check.h"
#include "measure/rig/rig_private.h"
#include "measure/rig/buffer_pool.h"
#include "op/chain/chain.h"
#include "op/mask/mask.h"
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* Stores values in the layout and type of the tensor; keeps a copy if the rig keeps inputs. */
static bool upload(struct rig *rig, const struct tensor *t, const float *logical, const double *wide, const struct place *to,
                   unsigned char **kept, struct error *err)
{
    unsigned char *storage = large_alloc(to->bytes);
    if (!storage)
        return error_set(err, ERROR_ENVIRONMENT, "not enough memory for %zu bytes of %s", to->bytes, t->role->name);
    if (wide)
        tensor_pack_wide(t, wide, storage);
    else
        tensor_pack(t, logical, storage);
    bool ok = rig->dev->ops->write(rig->dev, to->address, storage, to->bytes, err);
    free(*kept);
    *kept = rig->keep_inputs ? storage : NULL;
    if (!rig->keep_inputs)
        free(storage);
    return ok;
}

/* Feeds from values that the device generated. */
static bool feed_there(struct rig *rig, int i, const struct op_data *data, int hidden, struct error *err)
{
    const struct place *to = rig_tensor(rig, i);
    struct rig_fed *fed = &rig->fed[i];
    *fed = (struct rig_fed){.card = rig->keep_inputs ? data->card : NULL, .hidden = hidden};
    free(rig->inputs[i]);
    rig->inputs[i] = NULL;
    return card_feed(data->card, &rig->program->tensors[i], hidden, to->address, err);
}

const struct card *rig_card(const struct rig *rig)
{
    const struct card_data *card = NULL;
    for (int i = 0; i < rig->program->tensor_count && !card; i++)
        card = rig->fed[i].card;
    return card ? card_data_card(card) : NULL;
}

int rig_fed_spans(struct rig *rig, bool weights, struct card_span *spans, struct rig_given *given)
{
    const struct program *p = rig->program;
    int count = 0;
    for (int i = 0; i < p->tensor_count + (weights ? p->constant_count : 0); i++) {
        int constant = i - p->tensor_count;
        if (constant < 0 && p->tensors[i].written)
            continue;
        const struct place *place = constant < 0 ? rig_tensor(rig, i) : rig_scratch(rig, p->constants[constant].scratch);
        given[count] = (struct rig_given){constant < 0 ? &rig->fed[i].sum : &rig->weight_sums[constant], i};
        spans[count++] = (struct card_span){place->address, place->bytes};
    }
    return count;
}

/* Records the sums of the inputs before any launch. */
static bool keep_sums(struct rig *rig, bool weights, struct error *err)
{
    const struct program *p = rig->program;
    const struct card *card = rig_card(rig);
    if (!card)
        return true;
    size_t most = (size_t)(p->tensor_count + p->constant_count);
    SCOPED struct rig_given *fed = xcalloc(most, sizeof *fed);
    SCOPED struct card_span *spans = xcalloc(most, sizeof *spans);
    SCOPED uint64_t *sums = xcalloc(most, sizeof *sums);
    int count = rig_fed_spans(rig, weights, spans, fed);
    phase_part(rig->dev->clock, "sums of inputs");
    bool ok = card_sums(card, spans, count, sums, err);
    phase_pop(rig->dev->clock);
    for (int i = 0; ok && i < count; i++)
        *fed[i].sum = sums[i];
    return ok;
}

static bool feed_tensor(struct rig *rig, int i, const struct op_data *data, struct error *err)
{
    const struct program *p = rig->program;
    const struct tensor *t = &p->tensors[i];
    const float *logical = data->at[t->role->slot].value;
    const struct tensor_role *marks = t->role->marked_by ? op_role(p->work.op, t->role->marked_by) : NULL;
    const float *mask = marks ? data->at[marks->slot].value : NULL;
    float *hidden = NULL;
    if (!logical)
        return error_set(err, ERROR_INTERNAL, "no data for tensor %s", t->role->name);
    bool hidden_there = mask && rig_hides(rig, t);
    if (data->card && !tensor_role_is_mask(t->role))
        return feed_there(rig, i, data, hidden_there ? marks->slot : -1, err);
    rig->fed[i].card = NULL;
    if (hidden_there) { /* NaN where the kernel promises not to read */
        size_t bytes = tensor_elements(t) * sizeof *hidden;
        logical = hidden = memcpy(xmalloc(bytes), logical, bytes);
        mask_blank(t, mask, NAN, hidden);
    }
    bool ok = upload(rig, t, logical, data->at[t->role->slot].wide, rig_tensor(rig, i), &rig->inputs[i], err);
    free(hidden);
    return ok;
}

/* Writes the weights of a link, after the scratch was poisoned. */
static bool feed_constant(struct rig *rig, int i, const struct op_data *data, struct error *err)
{
    const struct constant *c = &rig->program->constants[i];
    const struct chain *chain = rig->program->work.chain;
    int layer = chain->links[c->link].layer;
    const float *logical = layer >= 0 && layer < data->link_count ? data->links[layer].at[c->tensor.role->slot].value : NULL;
    float *joined = c->span > 1 ? chain_constant(chain, c->link, c->span, data, c->tensor.role, tensor_elements(&c->tensor)) : NULL;
    if (!logical && !joined)
        return error_set(err, ERROR_INTERNAL, "no data for %s", rig->program->scratch[c->scratch].name);
    bool ok = upload(rig, &c->tensor, joined ? joined : logical, NULL, rig_scratch(rig, c->scratch), &rig->weights[i], err);
    free(joined);
    return ok;
}

static bool poison(struct rig *rig, const struct place *place, uint32_t word, struct error *err)
{
    const struct device_ops *ops = rig->dev->ops;
    if (!ops->fill(rig->dev, place->address, word, place->bytes, err))
        return false;
    if (ops->forget)
        ops->forget(rig->dev, place->address, place->bytes);
    return true;
}

/* Gives a tensor that kernels change in place its contents before the launch. */
static bool give_contents(struct rig *rig, int tensor, struct error *err)
{
    const struct place *to = rig_tensor(rig, tensor), *from = rig_tensor(rig, program_contents(rig->program, tensor));
    return rig->dev->ops->copy(rig->dev, to->address, from->address, to->bytes, err);
}

bool rig_give_contents(struct rig *rig, struct error *err)
{
    return ALL_OF(i, rig->program->tensor_count, program_contents(rig->program, i) < 0 || give_contents(rig, i, err));
}

bool rig_poison(struct rig *rig, struct error *err)
{
    return ALL_OF(i, rig->program->tensor_count,
                  !rig->program->tensors[i].written || program_contents(rig->program, i) >= 0 ||
                      poison(rig, rig_tensor(rig, i), VERIFY_POISON, err)) &&
           rig_give_contents(rig, err);
}

bool rig_has_state(const struct rig *rig)
{
    const struct program *p = rig->program;
    const struct device_ops *ops = rig->dev->ops;
    bool scratch = false, kernels = false, frames = false, in_place = ANY_OF(i, p->tensor_count, program_contents(p, i) >= 0);
    for (int i = 0; i < p->scratch_count; i++)
        scratch |= !rig_is_constant(p, i);
    for (int i = 0; i < p->step_count; i++) {
        kernels |= p->steps[i].kind == STEP_KERNEL;
        frames |= p->steps[i].kind == STEP_KERNEL && ops->frame_bytes && ops->frame_bytes(rig->dev, rig->steps[i].functions[0]) > 0;
    }
    return (scratch && kernels) || frames || in_place;
}

bool rig_poison_all(struct rig *rig, struct error *err)
{
    const struct program *p = rig->program;
    const struct place *workspace = &rig->workspaces[rig->replica];
    /* Each call uses a different NaN, of f32 and of f16: a kernel that counts upwards from the poison would be right only for one value. */
    uint32_t word = VERIFY_POISON ^ (1 + rig->wipes++ % 31) * 0x00010001u;
    if (!ALL_OF(i, p->scratch_count, rig_is_constant(p, i) || poison(rig, rig_scratch(rig, i), word, err)))
        return false;
    return (!workspace->bytes || poison(rig, workspace, word, err)) && rig_poison(rig, err) &&
           (!rig->dev->ops->wipe_threads || rig->dev->ops->wipe_threads(rig->dev, err));
}

static bool feed(struct rig *rig, const struct op_data *data, bool all, struct error *err)
{
    const struct program *p = rig->program;
    enum rig_weights weights = data->exact ? WEIGHTS_EXACT : WEIGHTS_PRECISION;
    bool weigh = all || rig->weights_are != weights, ok = true;
    rig->right[rig->set] = 0;
    phase_part(rig->dev->clock, "feed");
    ok = ok && ALL_OF(i, p->tensor_count,
                      p->tensors[i].written || !(all || rig->fresh[rig_tensor_index(rig, i)]) || feed_tensor(rig, i, data, err));
    for (int i = 0; ok && weigh && i < p->constant_count; i++)
        ok = feed_constant(rig, i, data, err);
    phase_pop(rig->dev->clock);
    rig->weights_are = weights;
    return ok && keep_sums(rig, weigh, err) && rig_library_prepare(rig, err);
}

bool rig_feed_small(struct rig *rig, const struct op_data *data, size_t most, struct error *err)
{
    const struct program *p = rig->program;
    rig->right[rig->set] = 0;
    return ALL_OF(i, p->tensor_count,
                  p->tensors[i].written || (tensor_elements(&p->tensors[i]) > most && !tensor_role_is_mask(p->tensors[i].role)) ||
                      feed_tensor(rig, i, data, err));
}

bool rig_refeed(struct rig *rig, const struct op_data *data, struct error *err)
{
    return feed(rig, data, false, err);
}

bool rig_restore(struct rig *rig, const struct op_data *data, struct error *err)
{
    return feed(rig, data, true, err);
}

bool rig_feed(struct rig *rig, const struct op_data *data, struct error *err)
{
    return rig_poison_all(rig, err) && rig_refeed(rig, data, err);
}

/* ---- checksums on the device of the state after a launch ---- */

/* Sums only the guard zones of scratch whose contents a launch may choose freely. */
static bool seal_around(struct rig *rig, const struct place *place, uint64_t sum, struct error *err)
{
    size_t front = place->address - place->base, end = front + (place->bytes + 7) / 8 * 8;
    return !front || (card_sum_add(buffer_pool_check(rig->pool), place->base, front, sum, err) &&
                      card_sum_add(buffer_pool_check(rig->pool), place->base + end, place->whole - end, sum, err));
}

bool rig_around(struct rig *rig, uint64_t *sum, struct error *err)
{
    const struct device_ops *ops = rig->dev->ops;
    const struct program *p = rig->program;
    uint64_t to = rig->sums.address + (uint64_t)rig->replicas * sizeof(struct rig_sums); /* after the sums of the replicas */
    if (!ops->fill(rig->dev, to, 0, sizeof *sum, err))
        return false;
    return ALL_OF(i, p->tensor_count + p->scratch_count,
                  seal_around(rig, i < p->tensor_count ? rig_tensor(rig, i) : rig_scratch(rig, i - p->tensor_count), to, err)) &&
           ops->sync(rig->dev, err) && ops->read(rig->dev, to, sum, sizeof *sum, err);
}

/* Sums guard zones together with the buffers they guard: a write there shows at once and is not attributed to another row. */
bool rig_checksum(struct rig *rig, struct error *err)
{
    const struct program *p = rig->program;
    if (!rig->sums.base)
        return true;
    struct card *card = buffer_pool_check(rig->pool);
    uint64_t to = rig->sums.address + (uint64_t)rig->replica * sizeof(struct rig_sums);
    if (!rig->dev->ops->fill(rig->dev, to, 0, sizeof(struct rig_sums), err))
        return false;
    for (int i = 0; i < p->tensor_count; i++) {
        uint64_t sum = to + (p->tensors[i].written ? offsetof(struct rig_sums, outputs) : offsetof(struct rig_sums, inputs));
        const struct place *place = rig_tensor(rig, i);
        if (!card_sum_add(card, place->base, place->whole, sum, err))
            return false;
    }
    for (int i = 0; i < p->scratch_count; i++) {
        const struct place *place = rig_scratch(rig, i);
        bool prepared = p->scratch[i].kind == SCRATCH_PREPARED;
        if (prepared ? !card_sum_add(card, place->base, place->whole, to + offsetof(struct rig_sums, prepared), err)
                     : !seal_around(rig, place, to + offsetof(struct rig_sums, outputs), err))
            return false;
    }
    return true;
}

static bool sums_read(struct rig *rig, struct rig_sums *sums, struct error *err)
{
    return rig->dev->ops->sync(rig->dev, err) &&
           rig->dev->ops->read(rig->dev, rig->sums.address + (uint64_t)rig->replica * sizeof *sums, sums, sizeof *sums, err);
}

bool rig_checksum_accept(struct rig *rig, struct error *err)
{
    rig->expects[rig->set] = false;
    return !rig->sums.base || (rig_checksum(rig, err) && sums_read(rig, &rig->trusted[rig->set], err));
}

bool rig_checksum_await(struct rig *rig, struct error *err)
{
    bool ok = rig_checksum_accept(rig, err);
    rig->trusted[rig->set].outputs = rig->trusted[rig->set].prepared = 0;
    rig->expects[rig->set] = true;
    return ok;
}

bool rig_checksum_awaits(const struct rig *rig)
{
    return rig->expects[rig->set];
}

void rig_checksum_accept_last(struct rig *rig)
{
    rig->trusted[rig->set] = rig->seen;
    rig->expects[rig->set] = false;
}

bool rig_checksum_matches(struct rig *rig, enum rig_left *left, struct error *err)
{
    const struct rig_sums *now = &rig->seen, *trusted = &rig->trusted[rig->set];
    *left = RIG_AS_ACCEPTED;
    if (!rig->sums.base)
        return true;
    if (!sums_read(rig, &rig->seen, err))
        return false;
    if (now->inputs != trusted->inputs)
        *left = RIG_OTHER_INPUT;
    else if (rig->expects[rig->set])
        *left = RIG_UNSEEN;
    else if (now->prepared != trusted->prepared)
        *left = RIG_OTHER_PREPARED;
    else if (now->outputs != trusted->outputs)
        *left = RIG_OTHER_OUTPUT;
    return true;
}

int rig_checksum_matches_set(const struct rig *rig)
{
    return FIRST_OF(set, rig->sets,
                    set != rig->set && rig->seen.outputs == rig->trusted[set].outputs &&
                        rig->trusted[set].outputs != rig->trusted[rig->set].outputs);
}
