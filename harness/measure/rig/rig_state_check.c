/* Checks whether a launch changes data that the row keeps: variables of its modules, and prepared data. */
#include "base/hash.h"
#include "measure/verify/device_check.h"
#include "measure/rig/rig_private.h"
#include <string.h>

#define PIECE_BYTES ((size_t)1 << 20)
#define SPOILED 0x3c003c00u /* an ordinary number in every type */

static bool add_memory(struct rig *rig, struct hash *h, uint64_t address, size_t bytes, struct error *err)
{
    SCOPED unsigned char *piece = xmalloc(PIECE_BYTES);
    uint64_t sum = 0;
    bool ok = true;
    for (size_t at = 0; at < bytes && ok; at += PIECE_BYTES) {
        size_t more = bytes - at < PIECE_BYTES ? bytes - at : PIECE_BYTES;
        ok = rig->dev->ops->read(rig->dev, address + at, piece, more, err);
        sum = hash_sum(sum, piece, more); /* SHA-256 of it took 5 % of a run on emu */
    }
    hash_add(h, &sum, sizeof sum);
    return ok;
}

static bool hash_variable(struct rig *rig, const struct rig_variable *v, char out[HASH_TEXT], struct error *err)
{
    struct hash *h = hash_begin();
    bool ok = add_memory(rig, h, v->address, v->bytes, err);
    hash_end(h, out);
    return ok;
}

/* True if only the prepare steps write the buffer. */
static bool is_prepared(const struct program *p, int scratch)
{
    bool fed = ANY_OF(i, p->constant_count, p->constants[i].scratch == scratch);
    return !fed && p->scratch[scratch].kind != SCRATCH_WORK;
}

/* Adds a prepared buffer to the hash: as a sum made on the device if there is a device check. */
static bool add_prepared(struct rig *rig, struct hash *h, int scratch, struct error *err)
{
    const struct card *card = rig_card(rig);
    size_t bytes = scratch_bytes(&rig->program->scratch[scratch]);
    uint64_t sum, address = rig_address(rig, (struct buffer_ref){.kind = BUFFER_SCRATCH, .index = scratch});
    if (!card)
        return add_memory(rig, h, address, bytes, err);
    bool ok = card_sum(card, address, bytes, &sum, err);
    hash_add(h, &sum, sizeof sum);
    return ok;
}

/* Called before and after launches: launches may only read prepared data. */
static bool look_at_prepared(struct rig *rig, struct text *changed, struct error *err)
{
    const struct program *p = rig->program;
    struct rig_state *s = rig->state;
    if (!s || (changed && !s->prepared))
        return true;
    s->prepared = s->prepared ? s->prepared : xcalloc((size_t)p->scratch_count + 1, sizeof *s->prepared);
    for (int i = 0; i < p->scratch_count; i++) {
        char now[HASH_TEXT] = "";
        if (!is_prepared(p, i) || p->scratch[i].kind != SCRATCH_PREPARED || (changed && !s->prepared[i][0]))
            continue;
        struct hash *h = hash_begin();
        bool ok = rig->dev->ops->sync(rig->dev, err) && add_prepared(rig, h, i, err);
        hash_end(h, now);
        if (!ok)
            return false;
        if (changed && strcmp(now, s->prepared[i]))
            text_addf(changed, "%s`%s`",
                      changed->len ? ", " : "a launch changed the prepared data, where a kernel could keep results for later launches: ",
                      p->scratch[i].name);
        memcpy(s->prepared[i], changed ? "" : now, changed ? 1 : sizeof now);
    }
    return true;
}

bool rig_state_keep(struct rig *rig, struct error *err)
{
    struct rig_state *s = rig->state;
    if (s && s->count && !rig->dev->ops->sync(rig->dev, err))
        return false;
    for (int i = 0; s && i < s->count; i++)
        if (!hash_variable(rig, &s->variables[i], s->variables[i].before, err))
            return false;
    return look_at_prepared(rig, NULL, err);
}

bool rig_state_check(struct rig *rig, struct text *changed, struct error *err)
{
    struct rig_state *s = rig->state;
    char now[HASH_TEXT];
    if (!look_at_prepared(rig, changed, err) || (s && s->count && !rig->dev->ops->sync(rig->dev, err)))
        return false;
    for (int i = 0; s && i < s->count; i++) {
        struct rig_variable *v = &s->variables[i];
        if (!hash_variable(rig, v, now, err))
            return false;
        if (v->before[0] && strcmp(now, v->before))
            text_addf(changed, "%s`%s` (%zu bytes)",
                      changed->len ? ", " : "a launch changed module memory, where a kernel could keep results for later launches: ",
                      v->name, v->bytes);
        memcpy(v->before, now, sizeof now);
    }
    if (s && s->hidden)
        text_addf(
            changed,
            "%sits code refers to `%s`, module memory that bench cannot read on this device: it cannot check whether a launch changes it",
            changed->len ? "; " : "", s->hidden);
    return true;
}

/* Fills a buffer. `empty`: emu then treats it as never written. */
static bool spoil(struct rig *rig, struct buffer_ref ref, size_t bytes, uint32_t pattern, bool empty, struct error *err)
{
    const struct device_ops *ops = rig->dev->ops;
    bool ok = ops->fill(rig->dev, rig_address(rig, ref), pattern, bytes, err);
    if (ok && empty && ops->forget)
        ops->forget(rig->dev, rig_address(rig, ref), bytes);
    return ok;
}

/* Prepares from poisoned buffers and hashes everything that the steps made. */
static bool prepare_anew(struct rig *rig, char out[HASH_TEXT], struct error *err)
{
    const struct program *p = rig->program;
    bool ok = true;
    for (int i = 0; i < p->scratch_count && ok; i++)
        if (is_prepared(p, i))
            ok = spoil(rig, (struct buffer_ref){.kind = BUFFER_SCRATCH, .index = i}, scratch_bytes(&p->scratch[i]), VERIFY_POISON, true,
                       err);
    ok = ok && rig_prepare(rig, NULL, err) && rig->dev->ops->sync(rig->dev, err);
    struct hash *h = hash_begin();
    for (int i = 0; i < p->scratch_count && ok; i++)
        if (is_prepared(p, i))
            ok = add_prepared(rig, h, i, err);
    for (int i = 0; rig->state && i < rig->state->count && ok; i++)
        ok = add_memory(rig, h, rig->state->variables[i].address, rig->state->variables[i].bytes, err);
    hash_end(h, out);
    return ok;
}

bool rig_prepare_depends(struct rig *rig, bool *depends, struct error *err)
{
    const struct program *p = rig->program;
    char with[HASH_TEXT], without[HASH_TEXT];
    *depends = false;
    if (!p->step_count || !p->steps[0].prepare)
        return true;
    bool ok = prepare_anew(rig, with, err);
    for (int i = 0; i < p->tensor_count && ok; i++)
        if (!p->tensors[i].written && !p->tensors[i].role->constant)
            ok = spoil(rig, (struct buffer_ref){.kind = BUFFER_TENSOR, .index = i}, tensor_bytes(&p->tensors[i]), SPOILED, false, err);
    ok = ok && prepare_anew(rig, without, err);
    *depends = ok && strcmp(with, without) != 0;
    return ok;
}
