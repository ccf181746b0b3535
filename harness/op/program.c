#include "op/program.h"
#include "base/dtype.h"
#include "base/text.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const ablation_names[] = {"store", "bias", "maths", NULL};
const char *const predict_names[] = {"threads", "smem", "registers", NULL};

void program_add_param(struct program *p, const char *name, const char *value, double number)
{
    char *all = text_format("%s%s%s=%s", p->params ? p->params : "", p->params && *p->params ? "," : "", name, value);
    *APPEND(p->param, p->param_count) = (struct program_param){xstrdup(name), xstrdup(value), number};
    free(p->params);
    p->params = all;
}

void program_add_completed(struct program *p, const char *variant)
{
    char *all = text_format("%s + %s", p->variant, variant);
    *APPEND(p->completed, p->completed_count) = xstrdup(variant);
    free(p->variant);
    p->variant = all;
}

struct step *program_add_step(struct program *p, enum step_kind kind, bool prepare)
{
    struct step *s = APPEND(p->steps, p->step_count);
    *s = (struct step){.kind = kind, .prepare = prepare, .carveout = -1};
    return s;
}

int program_add_scratch(struct program *p, const char *name, enum dtype dtype, int64_t elements)
{
    int at = p->scratch_count, again = 2;
    struct scratch *s = APPEND(p->scratch, p->scratch_count);
    *s = (struct scratch){.dtype = dtype, .elements = elements};
    snprintf(s->name, sizeof s->name, "%s", name);
    for (int i = 0; i < at; i++)
        if (!strcmp(p->scratch[i].name, s->name)) {
            snprintf(s->name, sizeof s->name, "%.80s_%d", name, again++);
            i = -1;
        }
    return at;
}

void program_free(struct program *p)
{
    if (!p)
        return;
    for (int i = 0; i < p->unit_count; i++) {
        free(p->units[i].path);
        free(p->units[i].label);
        pointers_free(p->units[i].defines, p->units[i].define_count);
    }
    FREE_ALL(p->units, p->variant, p->params);
    for (int i = 0; i < p->param_count; i++) {
        free(p->param[i].name);
        free(p->param[i].value);
    }
    free(p->param);
    pointers_free(p->completed, p->completed_count);
    FREE_ALL(p->what, p->algorithm, p->reason, p->clause, p->derivation, p->tensors, p->scratch, p->constants, p->tensor_maps);
    for (int i = 0; i < p->structure_count; i++) {
        text_free(&p->structures[i].bytes);
        free(p->structures[i].pointers);
    }
    FREE_ALL(p->structures, p->steps, p->columns, p->link_tiles);
    memset(p, 0, sizeof *p);
}

bool unit_same(const struct unit *a, const struct unit *b)
{
    const char *x = a->include ? a->include : "", *y = b->include ? b->include : "";
    if (!a->path != !b->path || (a->path && strcmp(a->path, b->path)) || strcmp(x, y) || strcmp(a->label, b->label) ||
        a->define_count != b->define_count || a->code != b->code)
        return false;
    return ALL_OF(i, a->define_count, !strcmp(a->defines[i], b->defines[i]));
}

bool program_same_steps(const struct program *a, const struct program *b)
{
    bool same = a->step_count == b->step_count;
    return same && ALL_OF(i, a->step_count, a->steps[i].kind == b->steps[i].kind && text_same(a->steps[i].name, b->steps[i].name));
}

uint64_t unit_digest(const struct unit *u)
{
    char text[HASH_TEXT];
    struct hash *h = hash_begin();
    hash_add_text(h, u->path ? u->path : "");
    hash_add_text(h, u->include ? u->include : "");
    hash_add_text(h, u->label);
    hash_add(h, &u->code, sizeof u->code);
    for (int k = 0; k < u->define_count; k++)
        hash_add_text(h, u->defines[k]);
    hash_end(h, text);
    text[16] = 0;
    return strtoull(text, NULL, 16);
}

int program_tensor(const struct program *p, const char *name)
{
    return FIRST_OF(i, p->tensor_count, !strcmp(p->tensors[i].role->name, name));
}

int program_contents(const struct program *p, int tensor)
{
    const char *name = p->tensors[tensor].role->before;
    return name ? program_tensor(p, name) : -1;
}

int program_result(const struct program *p)
{
    return FIRST_OF(i, p->tensor_count, p->tensors[i].role->result);
}

enum dtype program_dtype(const struct program *p, struct buffer_ref ref)
{
    return ref.kind == BUFFER_TENSOR ? p->tensors[ref.index].dtype : p->scratch[ref.index].dtype;
}

const struct work *program_step_work(const struct program *p, const struct step *step)
{
    if (step->own_work)
        return &step->work;
    return p->work.chain ? &p->work.chain->links[step->link].work : &p->work;
}

bool program_where(const struct program *p, const struct step *step, int line, int column, struct error *err)
{
    if (step->file && line > 0) {
        error_where(err, "%s:%d:%d", step->file, line, column);
        if (err && !err->line)
            error_at(err, step->file, line);
    }
    return false;
}

static bool same_ref(struct buffer_ref a, struct buffer_ref b)
{
    return a.kind == b.kind && a.index == b.index;
}

bool program_step_uses(const struct program *p, const struct step *s, struct buffer_ref ref)
{
    bool used = same_ref(s->from, ref) || same_ref(s->to, ref);
    for (int i = 0; i < OP_MAX_TENSORS; i++)
        used |= same_ref(s->operand[i], ref);
    for (int i = 0; i < s->arg_count; i++) {
        const struct arg *a = &s->args[i];
        used |= a->kind == ARG_BUFFER && same_ref(a->buffer, ref);
        used |= a->kind == ARG_TENSOR_MAP && a->map != ARG_NO_MAP && same_ref(p->tensor_maps[a->map].buffer, ref);
    }
    return used;
}

void program_scratch_kinds(struct program *p)
{
    for (int i = 0; i < p->scratch_count; i++) {
        const struct buffer_ref ref = {.kind = BUFFER_SCRATCH, .index = i};
        bool fed = false, begun = false, made = false, given = false, written = false, declared = p->scratch[i].kind == SCRATCH_STATE;
        for (int k = 0; k < p->constant_count; k++)
            fed |= p->constants[k].scratch == i;
        for (int k = 0; k < p->step_count; k++) {
            const struct step *s = &p->steps[k];
            if (!program_step_uses(p, s, ref))
                continue;
            begun |= s->prepare;
            made |= s->prepare && s->kind != STEP_FILL;
            written |= !s->prepare && same_ref(s->to, ref);
            given |= !s->prepare && !same_ref(s->to, ref) && !same_ref(s->from, ref);
        }
        bool state = begun && (declared || written || (given && !made));
        p->scratch[i].kind = state ? SCRATCH_STATE : begun || fed ? SCRATCH_PREPARED : SCRATCH_WORK;
    }
}

size_t scratch_bytes(const struct scratch *s)
{
    return dtype_size(s->dtype, (size_t)s->elements);
}

uint64_t program_scratch_bytes(const struct program *p)
{
    uint64_t bytes = 0;
    for (int i = 0; i < p->scratch_count; i++)
        bytes += scratch_bytes(&p->scratch[i]);
    return bytes;
}

uint64_t program_footprint_bytes(const struct program *p)
{
    uint64_t bytes = program_scratch_bytes(p);
    for (int i = 0; i < p->tensor_count; i++)
        bytes += tensor_bytes(&p->tensors[i]);
    return bytes;
}

int program_unit(struct program *p, const struct unit *u, bool own)
{
    for (int i = 0; i < p->unit_count && !own; i++)
        if (unit_same(&p->units[i], u))
            return i;
    p->units = xrealloc(p->units, (size_t)(p->unit_count + 1) * sizeof *p->units);
    struct unit *to = &p->units[p->unit_count];
    *to = (struct unit){.path = u->path ? xstrdup(u->path) : NULL,
                        .include = u->include,
                        .label = xstrdup(u->label),
                        .define_count = u->define_count,
                        .code = u->code,
                        .on_host = u->on_host};
    to->defines = xcalloc((size_t)u->define_count + 1, sizeof *to->defines);
    for (int i = 0; i < u->define_count; i++)
        to->defines[i] = xstrdup(u->defines[i]);
    return p->unit_count++;
}

struct buffer_ref program_moved(const struct program_move *m, struct buffer_ref ref)
{
    if (ref.kind == BUFFER_TENSOR) {
        struct buffer_ref to = m->tensors[ref.index];
        to.offset += ref.offset;
        return to;
    }
    if (ref.kind == BUFFER_SCRATCH)
        ref.index = m->scratch[ref.index];
    return ref;
}

void program_take(struct program *p, const struct program *from, const struct program_move *m, int link)
{
    int map = p->tensor_map_count;
    p->tensor_maps = xrealloc(p->tensor_maps, (size_t)(map + from->tensor_map_count + 1) * sizeof *p->tensor_maps);
    for (int i = 0; i < from->tensor_map_count; i++) {
        struct tensor_map *t = &p->tensor_maps[p->tensor_map_count++];
        *t = from->tensor_maps[i];
        t->buffer = program_moved(m, t->buffer);
    }
    p->steps = xrealloc(p->steps, (size_t)(p->step_count + from->step_count + 1) * sizeof *p->steps);
    for (int i = 0; i < from->step_count; i++) {
        struct step *s = &p->steps[p->step_count++];
        *s = from->steps[i];
        s->link = link;
        s->unit = m->units[s->unit];
        s->to = program_moved(m, s->to);
        s->from = program_moved(m, s->from);
        for (int k = 0; k < OP_MAX_TENSORS; k++)
            s->operand[k] = program_moved(m, s->operand[k]);
        for (int k = 0; k < s->arg_count; k++) {
            s->args[k].buffer = program_moved(m, s->args[k].buffer);
            s->args[k].map += s->args[k].kind == ARG_TENSOR_MAP && s->args[k].map != ARG_NO_MAP ? map : 0;
        }
    }
}

void program_sort_steps(struct program *p)
{
    struct step *sorted = xcalloc((size_t)p->step_count + 1, sizeof *sorted);
    int count = 0;
    for (int prepare = 1; prepare >= 0; prepare--)
        for (int i = 0; i < p->step_count; i++)
            if (p->steps[i].prepare == prepare)
                sorted[count++] = p->steps[i];
    free(p->steps);
    p->steps = sorted;
}
