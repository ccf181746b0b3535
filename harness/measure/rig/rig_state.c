/* What code keeps from launch to launch outside of the buffers it is given: variables of its module, memory that it asks for itself. */
#include "base/hash.h"
#include "device/compile/cubin.h"
#include "measure/verify/device_check.h"
#include "measure/rig/rig_private.h"
#include "device/ptx/query.h"
#include <stdlib.h>
#include <string.h>

#define PIECE_BYTES ((size_t)1 << 20)
#define AGAIN_BYTES ((size_t)1 << 20) /* a larger cubin is loaded once */
#define SPOILED 0x3c003c00u           /* an ordinary number in every type */

struct rig_variable {
    char *name;
    uint64_t address;
    size_t bytes;
    char before[HASH_TEXT]; /* of its bytes when they were last looked at; "" never */
};
struct rig_state {
    struct rig_variable *variables;
    int count;
    char (*prepared)[HASH_TEXT]; /* by scratch: of what was prepared, for one check; "" not looked at. NULL: nothing is */
    char *hidden;                /* a variable that the device does not show: nobody can say whether launches change it */
};

struct device_memory *rig_look(const struct device_image *image, struct error *err)
{
    struct device_memory *m = xcalloc(1, sizeof *m);
    if (image->ptx)
        m->count = ptx_state(image->ptx, &m->names, &m->heap), m->launches = ptx_launches(image->ptx);
    else if (image->cubin)
        m->count = cubin_state(image->cubin, image->cubin_bytes, &m->names, &m->heap, err);
    if (m->count >= 0)
        return m;
    free(m);
    return NULL;
}

void rig_look_free(struct device_memory *memory)
{
    for (int i = 0; memory && i < memory->count; i++)
        free(memory->names[i]);
    if (memory)
        free(memory->names);
    free(memory);
}

bool rig_may_remember(const struct device_image *images, int count, struct text *how)
{
    for (int i = 0; i < count && !how->len; i++) {
        struct error ignored = {0};
        struct device_memory *own = images[i].memory ? NULL : rig_look(&images[i], &ignored);
        const struct device_memory *m = images[i].memory ? images[i].memory : own;
        if (m && m->heap)
            text_add(how, "its code calls malloc: memory of the device's heap outlives the launch, and a kernel can keep results there");
        else if (m && m->launches)
            text_addf(
                how,
                "its code reads %s, which tells one launch from another: what it does when nobody looks need not be what it did before",
                m->launches);
        rig_look_free(own);
    }
    return how->len > 0;
}

/* How much of a variable, from its beginning, a step of every launch fills before any kernel of that code runs: what a launch leaves there
 * no later one finds. `late`: behind a kernel, which found what the launch before it left. */
static size_t filled(const struct program *p, int unit, const char *name, bool late)
{
    bool ran = false;
    for (int i = 0; i < p->step_count; i++) {
        const struct step *step = &p->steps[i];
        if (step->prepare || step->unit != unit)
            continue;
        ran |= step->kind == STEP_KERNEL;
        if (step->kind == STEP_SYMBOL && ran == late && !strcmp(step->symbol, name))
            return step->bytes;
    }
    return 0;
}

static void add_variable(struct rig *rig, int unit, const char *name)
{
    struct rig_variable v = {.name = xstrdup(name)};
    struct rig_state *s = rig->state;
    struct error ignored = {0};
    size_t own = filled(rig->program, unit, name, false);
    bool shown = rig->dev->ops->symbol(rig->dev, rig->modules[unit], name, &v.address, &v.bytes, &ignored);
    if (shown && v.bytes > own) {
        v.address += own;
        v.bytes -= own;
        *APPEND(s->variables, s->count) = v;
        return;
    }
    if (!shown && !s->hidden && strncmp(name, "__cudart_", 9) != 0) /* tables of the compiler's own library */
        s->hidden = xstrdup(name);
    free(v.name);
}

/* Constants, which no kernel can write, but a step behind one. */
static void add_constants(struct rig *rig, int unit, const struct device_memory *m)
{
    const struct program *p = rig->program;
    for (int i = 0; i < p->step_count; i++) {
        const struct step *step = &p->steps[i];
        bool added = step->kind != STEP_SYMBOL || step->unit != unit || !filled(p, unit, step->symbol, true);
        for (int k = 0; !added && k < m->count; k++)
            added = !strcmp(m->names[k], step->symbol);
        if (!added)
            add_variable(rig, unit, step->symbol);
    }
}

/* The image with its variables to be found by name. The caller frees what is not the image's own. */
static struct device_image exposed(const struct device *dev, const struct device_image *image)
{
    struct device_image known = *image;
    if (image->cubin) {
        known.cubin = memcpy(xmalloc(image->cubin_bytes), image->cubin, image->cubin_bytes);
        cubin_expose((void *)(uintptr_t)known.cubin, image->cubin_bytes);
    } else if (dev->ops->keeps_time) {
        known.ptx = ptx_expose(image->ptx);
        known.ptx_bytes = strlen(known.ptx);
    }
    return known;
}

/* Has every view code of its own? Not where one view would have to know what another left in module memory, nor where the driver compiles.
 */
static bool is_loaded_again(const struct program *p, int unit, const struct device_image *image, const struct device_memory *m)
{
    bool again = !m->count && image->cubin && image->cubin_bytes <= AGAIN_BYTES;
    for (int i = 0; i < p->step_count; i++)
        again = again && !(p->steps[i].kind == STEP_SYMBOL && p->steps[i].unit == unit);
    return again;
}

bool rig_state_load(struct rig *rig, int unit, const struct device_image *image, struct error *err)
{
    struct device_image known = *image;
    struct device_memory *own = image->memory ? NULL : rig_look(image, err);
    const struct device_memory *m = image->memory ? image->memory : own;
    rig->state = rig->state ? rig->state : xcalloc(1, sizeof *rig->state);
    if (m && m->count > 0)
        known = exposed(rig->dev, image);
    bool ok = m && rig->dev->ops->load(rig->dev, &known, &rig->modules[unit], err);
    for (int i = 0; ok && i < m->count; i++)
        add_variable(rig, unit, m->names[i]);
    if (ok)
        add_constants(rig, unit, m);
    for (int view = 1; ok && view < rig_views(rig) && is_loaded_again(rig->program, unit, image, m); view++)
        ok = rig->dev->ops->load(rig->dev, image, &rig->modules[view * rig->program->unit_count + unit], err);
    if (known.cubin != image->cubin)
        free((void *)(uintptr_t)known.cubin);
    if (known.ptx != image->ptx)
        free((char *)(uintptr_t)known.ptx);
    rig_look_free(own);
    return ok;
}

void rig_state_free(struct rig *rig)
{
    for (int i = 0; rig->state && i < rig->state->count; i++)
        free(rig->state->variables[i].name);
    if (rig->state) {
        free(rig->state->variables);
        free(rig->state->hidden);
        free(rig->state->prepared);
    }
    free(rig->state);
}

static bool add_memory(struct rig *rig, struct hash *h, uint64_t address, size_t bytes, struct error *err)
{
    unsigned char *piece = xmalloc(PIECE_BYTES);
    bool ok = true;
    for (size_t at = 0; at < bytes && ok; at += PIECE_BYTES) {
        size_t more = bytes - at < PIECE_BYTES ? bytes - at : PIECE_BYTES;
        ok = rig->dev->ops->read(rig->dev, address + at, piece, more, err);
        hash_add(h, piece, more);
    }
    free(piece);
    return ok;
}

static bool hash_variable(struct rig *rig, const struct rig_variable *v, char out[HASH_TEXT], struct error *err)
{
    struct hash *h = hash_begin();
    bool ok = add_memory(rig, h, v->address, v->bytes, err);
    hash_end(h, out);
    return ok;
}

/* Is it the prepare steps' to write, and nobody else's? */
static bool is_prepared(const struct program *p, int scratch)
{
    bool fed = false;
    for (int i = 0; i < p->constant_count; i++)
        fed |= p->constants[i].scratch == scratch;
    return !fed && p->scratch[scratch].kind != SCRATCH_WORK;
}

/* A buffer that was prepared: where it can be, a sum over its bits that is made where it lies. */
static bool add_prepared(struct rig *rig, struct hash *h, int scratch, struct error *err)
{
    const struct card *card = rig_card(rig);
    size_t bytes = scratch_bytes(&rig->program->scratch[scratch]);
    uint64_t sum, address = rig_address(rig, (struct buffer_ref){BUFFER_SCRATCH, scratch});
    if (!card)
        return add_memory(rig, h, address, bytes, err);
    bool ok = card_sum(card, address, bytes, &sum, err);
    hash_add(h, &sum, sizeof sum);
    return ok;
}

/* Before launches, and behind them: what was prepared is theirs to read. */
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
                      changed->len ? ", " : "a launch changed what was prepared, in which a kernel can keep results for later ones: ",
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
                      changed->len ? ", "
                                   : "a launch changed module memory, in which a kernel can keep results "
                                     "for later ones: ",
                      v->name, v->bytes);
        memcpy(v->before, now, sizeof now);
    }
    if (s && s->hidden)
        text_addf(changed,
                  "%sits code refers to `%s`, module memory that this device does not show: whether a launch changes it cannot be told",
                  changed->len ? "; " : "", s->hidden);
    return true;
}

/* Fills a buffer; on emu what was written there is forgotten if `empty`. */
static bool spoil(struct rig *rig, struct buffer_ref ref, size_t bytes, uint32_t pattern, bool empty, struct error *err)
{
    const struct device_ops *ops = rig->dev->ops;
    bool ok = ops->fill(rig->dev, rig_address(rig, ref), pattern, bytes, err);
    if (ok && empty && ops->forget)
        ops->forget(rig->dev, rig_address(rig, ref), bytes);
    return ok;
}

/* Prepares from nothing; a hash of all that it made. */
static bool prepare_anew(struct rig *rig, char out[HASH_TEXT], struct error *err)
{
    const struct program *p = rig->program;
    bool ok = true;
    for (int i = 0; i < p->scratch_count && ok; i++)
        if (is_prepared(p, i))
            ok = spoil(rig, (struct buffer_ref){BUFFER_SCRATCH, i}, scratch_bytes(&p->scratch[i]), VERIFY_POISON, true, err);
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
            ok = spoil(rig, (struct buffer_ref){BUFFER_TENSOR, i}, tensor_bytes(&p->tensors[i]), SPOILED, false, err);
    ok = ok && prepare_anew(rig, without, err);
    *depends = ok && strcmp(with, without) != 0;
    return ok;
}
