/* The buffers of a rig: allocates them, finds them by purpose, releases them. */
#include "base/text.h"
#include "measure/rig/rig_private.h"
#include "measure/rig/buffer_pool.h"
#include <stdio.h>

int rig_views(const struct rig *rig)
{
    return rig->sets * rig->replicas;
}

int rig_view(const struct rig *rig)
{
    return rig->set * rig->replicas + rig->replica;
}

unsigned char *rig_params(const struct rig *rig, const struct rig_step *step)
{
    return step->params ? step->params + (size_t)rig_view(rig) * step->param_bytes : NULL;
}

void rig_select(struct rig *rig, int set, int replica)
{
    rig->set = set;
    rig->replica = replica;
    rig->code = rig_view(rig);
}

void rig_use_code(struct rig *rig, int view)
{
    rig->code = view % rig_views(rig);
}

struct device_module *rig_module(const struct rig *rig, int view, int unit)
{
    struct device_module *own = rig->modules[view * rig->program->unit_count + unit];
    return own ? own : rig->modules[unit];
}

int rig_tensor_index(const struct rig *rig, int i)
{
    return (rig->program->tensors[i].written ? rig->replica : rig->set) * rig->program->tensor_count + i;
}

struct place *rig_tensor(struct rig *rig, int i)
{
    return &rig->tensors[rig_tensor_index(rig, i)];
}

struct place *rig_scratch(struct rig *rig, int i)
{
    return &rig->scratch[rig->replica * rig->program->scratch_count + i];
}

struct place *rig_place_of(struct rig *rig, struct buffer_ref ref)
{
    switch (ref.kind) {
    case BUFFER_TENSOR: return rig_tensor(rig, ref.index);
    case BUFFER_SCRATCH: return rig_scratch(rig, ref.index);
    case BUFFER_NONE: break;
    }
    return NULL;
}

bool rig_hides(const struct rig *rig, const struct tensor *t)
{
    const struct program *p = rig->program;
    return t->role->marked_by && p->uses_mask && !p->reads_inactive && !p->work.mask.marks_output;
}

/* Rows that need the same bytes in a buffer share it. An output counts as bytes. */
static bool buffer(struct rig *rig, const char *name, int index, size_t bytes, struct place *place, bool *fresh, struct error *err)
{
    *fresh = true;
    return rig->pool ? buffer_pool_place(rig->pool, name, index, bytes, rig->guard, place, fresh, err)
                     : place_make(rig->dev, name, bytes, rig->guard, 0, place, err);
}

static bool make_tensor(struct rig *rig, int i, struct error *err)
{
    const struct tensor *t = &rig->program->tensors[i];
    bool same = !t->written && (t->role->constant || tensor_role_is_mask(t->role)); /* in all sets */
    char name[128];
    snprintf(name, sizeof name, "%s", t->role->name);
    if (rig->pool && !t->written)
        snprintf(name, sizeof name, "%s %s %s %d%s", t->role->name, layout_name(t->layout), dtype_name(t->dtype),
                 t->role->marked_by ? rig->values : 0, rig_hides(rig, t) ? " hidden" : "");
    for (int k = 0; k < (t->written ? rig->replicas : rig->sets); k++) {
        int at = k * rig->program->tensor_count + i;
        if (same && k)
            rig->tensors[at] = rig->tensors[i];
        else if (!buffer(rig, name, k, tensor_bytes(t), &rig->tensors[at], &rig->fresh[at], err))
            return false;
    }
    return true;
}

/* Constants of a chain are written once and never poisoned. */
bool rig_is_constant(const struct program *p, int scratch)
{
    return ANY_OF(i, p->constant_count, p->constants[i].scratch == scratch);
}

static bool make_scratch(struct rig *rig, int i, struct error *err)
{
    const struct program *p = rig->program;
    size_t bytes = scratch_bytes(&p->scratch[i]);
    bool constant = rig_is_constant(p, i), fresh;
    char name[PROGRAM_NAME + 32];
    snprintf(name, sizeof name, "%s%.*s", p->scratch[i].name, rig->pool ? 8 : 0, " scratch");
    for (int k = 0; k < rig->replicas; k++) {
        struct place *place = &rig->scratch[k * p->scratch_count + i];
        if (constant && k)
            *place = rig->scratch[i];
        else if (constant ? !place_make(rig->dev, p->scratch[i].name, bytes, rig->guard, 0, place, err)
                          : !buffer(rig, name, k, bytes, place, &fresh, err))
            return false;
    }
    return true;
}

bool rig_make_buffers(struct rig *rig, struct error *err)
{
    if (!ALL_OF(i, rig->program->tensor_count, make_tensor(rig, i, err)))
        return false;
    if (!ALL_OF(i, rig->program->scratch_count, make_scratch(rig, i, err)))
        return false;
    return !rig->pool || !buffer_pool_check(rig->pool) ||
           place_make(rig->dev, "sums", (size_t)(rig->replicas + 1) * sizeof(struct rig_sums), 0, 0, &rig->sums, err);
}

bool rig_make_workspaces(struct rig *rig, size_t bytes, struct error *err)
{
    bool fresh;
    for (int k = 0; bytes && k < rig->replicas; k++)
        if (!buffer(rig, "workspace", k, bytes, &rig->workspaces[k], &fresh, err))
            return false;
    return true;
}

double rig_alloc_ns(const struct rig *rig)
{
    const struct program *p = rig->program;
    double ns = rig->workspaces[0].alloc_ns;
    for (int i = 0; i < p->tensor_count; i++)
        ns += p->tensors[i].written ? rig->tensors[i].alloc_ns : 0;
    for (int i = 0; i < p->scratch_count; i++)
        ns += rig_is_constant(p, i) ? 0 : rig->scratch[i].alloc_ns;
    return ns;
}

static void give_back(struct rig *rig, const struct place *place)
{
    if (place->base)
        rig->dev->ops->release(rig->dev, place->base);
}

void rig_release_buffers(struct rig *rig)
{
    const struct program *p = rig->program;
    for (int i = 0; !rig->pool && i < p->tensor_count; i++)
        give_back(rig, &rig->tensors[i]);
    for (int i = 0; i < p->scratch_count; i++)
        if (!rig->pool || rig_is_constant(p, i))
            give_back(rig, &rig->scratch[i]);
    if (!rig->pool)
        give_back(rig, &rig->workspaces[0]);
    give_back(rig, &rig->sums);
}

void rig_graph_drop(struct rig *rig)
{
    for (int i = 0; i < rig_views(rig); i++) {
        if (rig->graphs[i])
            rig->dev->ops->graph_free(rig->dev, rig->graphs[i]);
        rig->graphs[i] = NULL;
    }
}

uint64_t rig_address(struct rig *rig, struct buffer_ref buffer)
{
    return rig_place_of(rig, buffer)->address + (uint64_t)buffer.offset;
}

void rig_watch(struct rig *rig, bool on)
{
    const struct program *p = rig->program;
    const struct device_ops *ops = rig->dev->ops;
    if (!ops->watch || (on && rig->pool))
        return;
    rig->watched = rig->watched ? rig->watched : xcalloc((size_t)p->tensor_count, sizeof *rig->watched);
    for (int i = 0; i < p->tensor_count; i++) {
        if (p->tensors[i].written)
            continue;
        if (on && !rig->watched[i])
            rig->watched[i] = xcalloc(rig_tensor(rig, i)->bytes + 1, 1);
        ops->watch(rig->dev, rig_tensor(rig, i)->base, NULL);
        if (on)
            ops->watch(rig->dev, rig_tensor(rig, i)->base, rig->watched[i]);
    }
}

const uint8_t *rig_seen(const struct rig *rig, int tensor)
{
    return rig->watched ? rig->watched[tensor] : NULL;
}
