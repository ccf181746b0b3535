/* Data that code can keep from launch to launch outside of its buffers: variables of its module, memory that it allocates itself. */
#include "device/compile/cubin.h"
#include "measure/rig/rig_private.h"
#include "device/ptx/query.h"
#include <stdlib.h>
#include <string.h>

#define AGAIN_BYTES ((size_t)1 << 20) /* a larger cubin is loaded once */

struct device_memory *rig_scan_image(const struct device_image *image, struct error *err)
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

void rig_scan_free(struct device_memory *memory)
{
    if (memory)
        pointers_free(memory->names, memory->count);
    free(memory);
}

bool rig_may_remember(const struct device_image *images, int count, struct text *how)
{
    for (int i = 0; i < count && !how->len; i++) {
        struct error ignored = {0};
        struct device_memory *own = images[i].memory ? NULL : rig_scan_image(&images[i], &ignored);
        const struct device_memory *m = images[i].memory ? images[i].memory : own;
        if (m && m->heap)
            text_add(how, "its code calls malloc: memory of the device heap outlives the launch, so a kernel could keep results there");
        else if (m && m->launches)
            text_addf(how, "its code reads %s, which differs between launches: the timed launches need not do what the verified launch did",
                      m->launches);
        rig_scan_free(own);
    }
    return how->len > 0;
}

/* How many leading bytes of a variable a step of every launch fills before any kernel of that code runs: no later launch can find
 * earlier data there. `late`: the step comes after a kernel, which could read the data of the launch before. */
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

/* Adds constants: kernels cannot write them, but a step after a kernel can. */
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

/* Returns the image with symbols for its variables. The caller frees the parts that the image does not own. */
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

/* True if each view gets its own copy of the code: not if views would share data through module memory, nor if the driver must compile. */
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
    struct device_memory *own = image->memory ? NULL : rig_scan_image(image, err);
    const struct device_memory *m = image->memory ? image->memory : own;
    rig->state = rig->state ? rig->state : xcalloc(1, sizeof *rig->state);
    if (m && m->count > 0)
        known = exposed(rig->dev, image);
    bool ok = (m || error_where(err, "%s", image->label)) && rig->dev->ops->load(rig->dev, &known, &rig->modules[unit], err);
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
    rig_scan_free(own);
    return ok;
}

void rig_state_free(struct rig *rig)
{
    for (int i = 0; rig->state && i < rig->state->count; i++)
        free(rig->state->variables[i].name);
    if (rig->state)
        FREE_ALL(rig->state->variables, rig->state->hidden, rig->state->prepared);
    free(rig->state);
}
