/* Checks the state after a run: outputs, the mask, guard zones, and inputs that must be unchanged. */
#include "base/file.h"
#include "base/npy.h"
#include "base/hash.h"
#include "base/text.h"
#include "measure/verify/device_check.h"
#include "measure/rig/rig_private.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Checks the guard zone before a buffer, or the first bytes of the zone behind it. Refills overwritten bytes for the next row that uses
 * the buffer. The zones touch the buffer's first and last byte. */
static bool zone_intact(struct rig *rig, const char *name, const struct place *place, bool behind, size_t bytes, struct text *unsafe,
                        struct error *err)
{
    const uint32_t pattern = RIG_GUARD_PATTERN;
    size_t word = place->bytes / 4 * 4, first = behind ? place->bytes - word : 0, at = first; /* the buffer may end inside the last word */
    uint64_t from = behind ? place->address + word : place->base;
    SCOPED unsigned char *zone = xmalloc(bytes);
    bool ok = rig->dev->ops->read(rig->dev, from, zone, bytes, err);
    while (ok && at < bytes && zone[at] == ((const unsigned char *)&pattern)[at % 4])
        at++;
    if (ok && at < bytes) {
        if (behind)
            text_addf(unsafe, "wrote past the end of %s, first %zu bytes after it; ", name, at - first);
        else
            text_addf(unsafe, "wrote before the start of %s, %zu bytes before it; ", name, bytes - at);
        for (at = first; at < bytes; at++)
            zone[at] = ((const unsigned char *)&pattern)[at % 4];
        ok = rig->dev->ops->write(rig->dev, from + first, zone + first, bytes - first, err);
    }
    return ok;
}

/* ends: checks only the bytes behind the end that share an 8-byte word with the buffer's last byte, which word sums leave out. */
static bool guard_intact(struct rig *rig, const char *name, const struct place *place, bool ends, struct text *unsafe, struct error *err)
{
    size_t word = place->bytes / 4 * 4, behind = ends ? (place->bytes + 7) / 8 * 8 - word : place->whole - rig->guard - word;
    return (ends || zone_intact(rig, name, place, false, rig->guard, unsafe, err)) &&
           (!behind || zone_intact(rig, name, place, true, behind, unsafe, err));
}

#define PART_BYTES ((size_t)4 << 20) /* read and compared at once: in memory that the cache holds */

/* Checks that a buffer still holds its input (`kept`; NULL: there is no copy to compare). */
static bool unchanged(struct rig *rig, const char *name, const struct place *place, const unsigned char *kept, size_t element_bytes,
                      struct text *unsafe, struct error *err)
{
    if (!kept)
        return true;
    SCOPED unsigned char *now = xmalloc(place->bytes < PART_BYTES ? place->bytes : PART_BYTES);
    bool ok = true, same = true;
    for (size_t from = 0; ok && same && from < place->bytes; from += PART_BYTES) {
        size_t n = place->bytes - from < PART_BYTES ? place->bytes - from : PART_BYTES, at = 0;
        ok = rig->dev->ops->read(rig->dev, place->address + from, now, n, err);
        same = !ok || !memcmp(now, kept + from, n);
        while (!same && now[at] == kept[from + at])
            at++;
        if (!same)
            text_addf(unsafe, "changed its input: %s, first at element %zu of its storage; ", name, (from + at) / element_bytes);
    }
    if (ok && same && rig->dev->ops->stored && rig->dev->ops->stored(rig->dev, place->address)) /* others read it meanwhile */
        text_addf(unsafe, "wrote the unchanged value to its input: %s; ", name);
    return ok;
}

/* The same for data that the device made: there is no host copy, so a differing sum shows the change and the device finds its place. */
static bool tell_change(struct rig *rig, int i, struct text *unsafe, struct error *err)
{
    const struct tensor *t = &rig->program->tensors[i];
    const struct place *place = rig_tensor(rig, i);
    size_t first;
    if (!card_first_change(rig->fed[i].card, t, rig->fed[i].hidden, place->address, place->bytes, &first, err))
        return false;
    text_addf(unsafe, "changed its input: %s, first at element %zu of its storage; ", t->role->name, first / dtype_bytes(t->dtype));
    return true;
}

/* changed: by tensor, then by constant, as the device check found; NULL: the device did not check. emu also detects writes of equal
 * values. */
static bool inputs_unchanged(struct rig *rig, const bool *changed, struct text *unsafe, struct error *err)
{
    const struct program *p = rig->program;
    bool all = !changed || rig->dev->ops->stored;
    for (int i = 0; i < p->tensor_count; i++) {
        const struct tensor *t = &p->tensors[i];
        size_t bytes = t->layout == LAYOUT_BITS ? 4 : dtype_bytes(t->dtype);
        if (rig->fed[i].card
                ? changed && changed[i] && !tell_change(rig, i, unsafe, err)
                : (all || changed[i]) && !unchanged(rig, t->role->name, rig_tensor(rig, i), rig->inputs[i], bytes, unsafe, err))
            return false;
    }
    for (int i = 0; i < p->constant_count; i++) {
        const struct constant *c = &p->constants[i];
        const char *name = p->scratch[c->scratch].name;
        if ((all || changed[p->tensor_count + i]) &&
            !unchanged(rig, name, rig_scratch(rig, c->scratch), rig->weights[i], dtype_bytes(c->tensor.dtype), unsafe, err))
            return false;
    }
    return true;
}

uint64_t rig_output_sum(const struct rig *rig)
{
    return rig->output_sum;
}

static const struct place *buffer(struct rig *rig, int i, const char **name)
{
    const struct program *p = rig->program;
    *name = i < p->tensor_count ? p->tensors[i].role->name : p->scratch[i - p->tensor_count].name;
    return i < p->tensor_count ? rig_tensor(rig, i) : rig_scratch(rig, i - p->tensor_count);
}

static bool guards(struct rig *rig, bool ends, struct text *unsafe, struct error *err)
{
    const struct program *p = rig->program;
    const char *name;
    for (int i = 0; rig->guard && i < p->tensor_count + p->scratch_count; i++) {
        const struct place *place = buffer(rig, i, &name);
        if (!guard_intact(rig, name, place, ends, unsafe, err))
            return false;
    }
    return true;
}

/* Sums the inputs and the whole words of the guard zones, whose values are known, with a single wait. */
static bool look_there(struct rig *rig, const struct card *card, bool *changed, bool *ends, struct error *err)
{
    const struct program *p = rig->program;
    const uint64_t word = (uint64_t)RIG_GUARD_PATTERN << 32 | RIG_GUARD_PATTERN;
    const char *name;
    size_t inputs = (size_t)(p->tensor_count + p->constant_count), most = inputs + 2 * (size_t)(p->tensor_count + p->scratch_count);
    SCOPED struct rig_given *given = xcalloc(inputs, sizeof *given);
    SCOPED struct card_span *spans = xcalloc(most, sizeof *spans);
    SCOPED uint64_t *sums = xcalloc(most, sizeof *sums);
    int fed = rig_fed_spans(rig, true, spans, given), count = fed;
    for (int i = 0; rig->guard && i < p->tensor_count + p->scratch_count; i++) {
        const struct place *place = buffer(rig, i, &name);
        uint64_t behind = place->address + (place->bytes + 7) / 8 * 8;
        spans[count++] = (struct card_span){place->base, rig->guard};
        spans[count++] = (struct card_span){behind, place->base + place->whole - behind};
    }
    bool ok = card_sums(card, spans, count, sums, err);
    for (int i = 0; ok && i < fed; i++)
        changed[given[i].which] = sums[i] != *given[i].sum;
    *ends = ok;
    for (int i = fed; i < count; i++)
        *ends = *ends && sums[i] == card_sum_of(word, spans[i].bytes / sizeof word);
    return ok;
}

bool rig_check_guards(struct rig *rig, struct text *unsafe, struct error *err)
{
    uint64_t around;
    return (!rig->sums.base || rig_around(rig, &around, err)) && guards(rig, rig->sums.base && around == rig->around, unsafe, err);
}

bool rig_check_memory(struct rig *rig, struct text *unsafe, struct error *err)
{
    const struct card *card = rig_card(rig);
    size_t inputs = (size_t)(rig->program->tensor_count + rig->program->constant_count);
    bool *changed = card ? xcalloc(inputs, sizeof *changed) : NULL, ends = false;
    phase_part(rig->dev->clock, "memory");
    bool ok = card ? look_there(rig, card, changed, &ends, err) && guards(rig, ends, unsafe, err) : rig_check_guards(rig, unsafe, err);
    ok = ok && inputs_unchanged(rig, changed, unsafe, err);
    free(changed);
    phase_pop(rig->dev->clock);
    if (ok && unsafe->len >= 2)
        unsafe->data[unsafe->len -= 2] = 0;
    return ok;
}

/* Merges the verdict on a further tensor: its faults are appended to those of the first. */
static void take_verdict(struct verdict *verdict, const struct verdict *own, int slot)
{
    char note[sizeof verdict->note];
    snprintf(note, sizeof note, "%.75s%s%.80s", verdict->note, verdict->note[0] && own->note[0] ? "; " : "", own->note);
    if (verdict->ok && (!own->ok || !verdict->text[0] || own->error_over_bound > verdict->error_over_bound)) {
        *verdict = *own;
        verdict->slot = slot;
    } else if (!own->ok) {
        size_t at = strlen(verdict->text);
        snprintf(verdict->text + at, sizeof verdict->text - at, "; %s", own->text);
    }
    memcpy(verdict->note, note, sizeof note);
}

/* Sums the values that the device checks. *known: outputs of these very bits were right on these data. */
static bool sum_outputs(struct rig *rig, const struct op_data *data, bool *known, struct error *err)
{
    const struct program *p = rig->program;
    bool ok = true;
    rig->output_sum = UINT64_C(0xcbf29ce484222325);
    phase_part(rig->dev->clock, "sum");
    for (int i = 0; ok && data->card && i < p->tensor_count; i++) {
        const struct place *place = rig_tensor(rig, i);
        uint64_t sum = 0;
        if (!p->tensors[i].written || p->tensors[i].layout == LAYOUT_BITS)
            continue;
        ok = card_sum(card_data_card(data->card), place->address, place->bytes, &sum, err);
        rig->output_sum = (rig->output_sum ^ sum) * UINT64_C(0x100000001b3);
    }
    phase_pop(rig->dev->clock);
    *known = data->card && rig->right[rig->set] == rig->output_sum;
    return ok;
}

void rig_expect(struct rig *rig, uint64_t sum)
{
    rig->right[rig->set] = sum;
}

/* Checks one tensor that the program writes. Faults of a second tensor are appended to those of the first. known: of the sums. */
static bool check_output(struct rig *rig, int i, const struct op_data *data, bool known, struct verdict *verdict, const char *dump_dir,
                         struct error *err)
{
    const struct program *p = rig->program;
    const struct place *place = rig_tensor(rig, i);
    struct verdict own = {.ok = true};
    bool there = false;
    if (data->card) {
        bool values = p->tensors[i].layout != LAYOUT_BITS;
        there = known && values;
        own.error_over_bound = there ? NAN : 0; /* told when these bits were compared */
        if (p->checked && !there && !card_verify(data->card, p, i, place->address, &there, &own, err))
            return false;
        if (there || !p->checked) {
            take_verdict(verdict, &own, p->tensors[i].role->slot);
            return true;
        }
        if (values && !card_fetch(data->card, err)) /* the CPU describes the fault */
            return false;
    }
    phase_part(rig->dev->clock, "on the CPU");
    SCOPED unsigned char *storage = xmalloc(place->bytes);
    bool ok = rig->dev->ops->read(rig->dev, place->address, storage, place->bytes, err);
    if (ok && !data->card)
        rig->output_sum = hash_sum(rig->output_sum, storage, place->bytes);
    if (ok && p->checked)
        verify_tensor(p, i, data, storage, &own);
    if (ok && !own.ok && dump_dir && p->tensors[i].layout != LAYOUT_BITS)
        ok = verify_dump(p, i, data, storage, dump_dir, err);
    phase_pop(rig->dev->clock);
    take_verdict(verdict, &own, p->tensors[i].role->slot);
    return ok;
}

/* Of a wrong result of cuDNN: the plan in use, since others of its plans may be right. */
static void name_plan(const struct rig *rig, struct verdict *verdict)
{
    const int step = rig_library_step(rig, 0);
    const size_t at = strlen(verdict->text);
    if (verdict->ok || step < 0 || rig_library_step(rig, 1) >= 0) /* of a chain each layer has one */
        return;
    const struct cudnn_plan_facts *f = rig_plan_facts(rig, step, rig_plan_used(rig, step));
    snprintf(verdict->text + at, sizeof verdict->text - at, "; cuDNN's plan: %s, mode %c rank %d", f->text, f->mode, f->rank);
}

bool rig_check(struct rig *rig, const struct op_data *data, struct verdict *verdict, struct text *unsafe, const char *dump_dir,
               struct error *err)
{
    const struct program *p = rig->program;
    *verdict = (struct verdict){.ok = true};
    bool known;
    if (!rig->dev->ops->sync(rig->dev, err) || !sum_outputs(rig, data, &known, err))
        return false;
    for (int masks = 0; masks < 2; masks++) /* values first: their faults are more informative */
        for (int i = 0; i < p->tensor_count; i++)
            if (p->tensors[i].written && (p->tensors[i].layout == LAYOUT_BITS) == (bool)masks &&
                !check_output(rig, i, data, known, verdict, dump_dir, err))
                return false;
    name_plan(rig, verdict);
    rig->right[rig->set] = verdict->ok && data->card ? rig->output_sum : 0;
    return rig_check_memory(rig, unsafe, err);
}

bool rig_save(struct rig *rig, const char *dir, struct error *err)
{
    const struct program *p = rig->program;
    bool ok = rig->dev->ops->sync(rig->dev, err) && file_make_dirs(dir, err);
    for (int i = 0; ok && i < p->tensor_count; i++) {
        const struct tensor *t = &p->tensors[i];
        const struct place *place = rig_tensor(rig, i);
        if (t->layout == LAYOUT_BITS)
            continue;
        SCOPED char *path = text_format("%s/%s.npy", dir, t->role->name);
        SCOPED unsigned char *storage = xmalloc(place->bytes);
        SCOPED float *values = xmalloc(tensor_elements(t) * sizeof *values);
        ok = rig->dev->ops->read(rig->dev, place->address, storage, place->bytes, err);
        if (ok)
            tensor_unpack(t, storage, values);
        ok = ok && npy_write(path, t->dim, t->rank, values, err);
    }
    return ok;
}
