/* measure/emulate/start: a launch to begin with, guessed from what a kernel's PTX does with its parameters. */
#include "base/signature.h"
#include "measure/emulate/emulate.h"
#include "measure/emulate/parts.h"
#include "emu/decode/flow.h"
#include "device/ptx/ptx.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PARAMS_MAX 256

struct guess {
    const struct ptx_var *var;
    bool pointer, typed, read, written;
    enum dtype type; /* of what it points to */
    char name[64];
};
struct start {
    const struct ptx_module *m;
    const struct ptx_function *f;
    struct guess params[PARAMS_MAX];
    int count;
    int elements; /* of a buffer */
    int *origin;  /* by register: the parameter its address came from, -1 */
};

/* Takes names, and the element types of pointers, from the kernel's source, if that has them. */
static void name_parameters(struct start *s, const char *text, const char *kernel)
{
    SCOPED struct signature *source = xcalloc(1, sizeof *source);
    if (!signature_read(text, kernel, source, &(struct error){0}))
        return;
    for (int i = 0; i < s->count && i < source->count; i++) {
        const struct signature_param *p = &source->params[i];
        enum dtype t = p->pointer ? dtype_of_c(p->type, p->no_sign) : DTYPE_NONE;
        if (isalpha((unsigned char)p->name[0]))
            snprintf(s->params[i].name, sizeof s->params[i].name, "%s", p->name);
        s->params[i].typed = t != DTYPE_NONE;
        if (t != DTYPE_NONE)
            s->params[i].type = t;
    }
}

/* ---- what a parameter points to ---- */
static bool used_as(const struct start *s, int reg, const char *mod)
{
    for (int i = 0; i < s->f->instr_count; i++) {
        const struct ptx_instr *in = s->f->instrs[i];
        if (ANY_OF(k, in->count, in->operands[k].kind == OPERAND_REG && in->operands[k].reg == reg && instr_has(in, mod)))
            return true;
    }
    return false;
}

static enum dtype element(const struct start *s, const struct ptx_instr *in, const struct ptx_operand *value)
{
    enum ptx_type t = T_NONE;
    int reg = value->kind == OPERAND_VECTOR && value->count ? value->items[0].reg : value->reg;
    for (int i = 0; i < in->mod_count; i++)
        if (ptx_type_parse(in->mods[i]) != T_NONE)
            t = ptx_type_parse(in->mods[i]);
    switch (t) {
    case T_F64: return DTYPE_F64;
    case T_B64: return DTYPE_F64;
    case T_F32: return DTYPE_F32;
    case T_B32:
        return reg < 0 || used_as(s, reg, "f32") ? DTYPE_F32
               : used_as(s, reg, "bf16x2")       ? DTYPE_BF16
               : used_as(s, reg, "f16x2")        ? DTYPE_F16
                                                 : DTYPE_I32;
    case T_S32: return DTYPE_I32;
    case T_U32: return DTYPE_U32;
    case T_B16:
    case T_U16:
    case T_S16:
    case T_F16: return reg >= 0 && (used_as(s, reg, "bf16")) ? DTYPE_BF16 : DTYPE_F16;
    case T_S8: return DTYPE_I8;
    case T_U8:
    case T_B8: return DTYPE_U8;
    default: return DTYPE_F32;
    }
}

static int origin_of(const struct start *s, const struct ptx_operand *o)
{
    if ((o->kind == OPERAND_REG || o->kind == OPERAND_ADDRESS) && o->reg >= 0)
        return s->origin[o->reg];
    return -1;
}

static void access_memory(struct start *s, const struct ptx_instr *in)
{
    bool store = instr_is(in, "st") || instr_is(in, "red") || instr_is(in, "atom") || (instr_is(in, "wmma") && instr_has(in, "store")),
         load = !store || !instr_is(in, "st");
    for (int k = 0; k < in->count; k++) {
        int p = in->operands[k].kind == OPERAND_ADDRESS ? origin_of(s, &in->operands[k]) : -1;
        if (p < 0)
            continue;
        struct guess *g = &s->params[p];
        bool tells = !instr_is(in, "cp") && !instr_is(in, "prefetch");
        if (!g->typed && tells)
            g->type = element(s, in, &in->operands[k ? 0 : in->count > 1 ? 1 : 0]);
        g->typed |= tells;
        g->pointer = true;
        g->read |= load;
        g->written |= store;
    }
}

/* Registers that hold a parameter, or an address computed from one. */
static void follow(struct start *s)
{
    s->origin = xmalloc(((size_t)s->f->reg_count + 1) * sizeof *s->origin);
    for (int i = 0; i < s->f->reg_count; i++)
        s->origin[i] = -1;
    for (int pass = 0; pass < 3; pass++)
        for (int i = 0; i < s->f->instr_count; i++) {
            const struct ptx_instr *in = s->f->instrs[i];
            const struct ptx_operand *d = &in->operands[0];
            bool load = instr_is(in, "ld");
            if (in->count < 2 || d->kind != OPERAND_REG || d->reg < 0 || s->origin[d->reg] >= 0 || slot_bytes(s->f->regs[d->reg]) != 256)
                continue;
            for (int k = 1; k < in->count && s->origin[d->reg] < 0; k++)
                if (load && in->operands[k].kind == OPERAND_ADDRESS && in->operands[k].var)
                    for (int p = 0; p < s->count; p++)
                        s->origin[d->reg] = s->params[p].var == in->operands[k].var && s->params[p].var->bytes == 8 ? p : s->origin[d->reg];
                else if (!load && !instr_is(in, "atom") && in->operands[k].kind == OPERAND_REG)
                    s->origin[d->reg] = origin_of(s, &in->operands[k]);
        }
    for (int i = 0; i < s->f->instr_count; i++) {
        const struct ptx_instr *in = s->f->instrs[i];
        access_memory(s, in);
        if (instr_is(in, "cvta") && in->count > 1 && origin_of(s, &in->operands[1]) >= 0)
            s->params[origin_of(s, &in->operands[1])].pointer = true;
    }
    free(s->origin);
}

/* ---- the text ---- */
static bool dynamic_shared(const struct start *s)
{
    for (const struct ptx_var *v = s->m->vars; v; v = v->next)
        if (v->space == SPACE_SHARED && v->bytes == 0)
            return true;
    return false;
}

static void write_buffers(const struct start *s, struct text *t)
{
    text_add(t, "buffers:  # data: zeros, ones, index, random, none (never written), or a list; show: number of elements to print\n");
    for (int i = 0; i < s->count; i++) {
        const struct guess *g = &s->params[i];
        if (g->pointer || g->var->bytes == 128)
            text_addf(t, "  %s: {type: %s, count: %d, data: %s}\n", g->name, dtype_name(g->type), s->elements,
                      g->written && !g->read ? "none, show: 8" : "random");
    }
}

/* Threads in two dimensions: matrices of 32 x 32, tiles of the first number among the template's arguments where that may be one. */
#define SIDE 32
static bool asks_for(const struct start *s, const char *special)
{
    for (int i = 0; i < s->f->instr_count; i++)
        for (int k = 0; k < s->f->instrs[i]->count; k++) {
            const struct ptx_operand *o = &s->f->instrs[i]->operands[k];
            if (o->kind == OPERAND_SPECIAL && !strcmp(o->name, special))
                return true;
        }
    return false;
}

static int tile_side(const struct start *s, const char *kernel)
{
    if (!asks_for(s, "%tid.y") && !asks_for(s, "%ntid.y"))
        return 0;
    const char *number = strchr(kernel, '<');
    number = number                  ? number + 1
             : strstr(kernel, "ILi") ? strstr(kernel, "ILi") + 3
             : strstr(kernel, "ILj") ? strstr(kernel, "ILj") + 3
                                     : "";
    int side = atoi(number);
    side = side == 4 || side == 8 || side == 32 ? side : 16;
    while (s->f->max_threads > 0 && side * side > s->f->max_threads && side > 4)
        side /= 2;
    return side;
}

static void write_arguments(const struct start *s, int side, struct text *t)
{
    text_add(t, "args: [");
    for (int i = 0; i < s->count; i++) {
        const struct guess *g = &s->params[i];
        bool array = g->var->bytes != (uint64_t)ptx_type_bytes(g->var->type);
        text_add(t, i ? ", " : "");
        if (g->pointer)
            text_add(t, g->name);
        else if (g->var->bytes == 128 && array)
            text_addf(t, "{tensor map: %s, dims: [32, 32], box: [32, 32], swizzle: 0}", g->name);
        else if (array) {
            text_add(t, "[");
            for (uint64_t k = 0; k < g->var->bytes; k += g->var->align < 4 ? 1 : 4)
                text_addf(t, "%s%s", k ? ", " : "", g->var->align < 4 ? "u8 0" : "i32 0");
            text_add(t, "]");
        } else
            text_add(t, ptx_type_float(g->var->type) ? "1.0" : g->var->bytes < 4 ? "1" : side ? "32" : "1024");
    }
    text_add(t, "]");
    for (int i = 0; i < s->count; i++)
        text_addf(t, "%s%s", i ? ", " : "  # ", s->params[i].name);
    text_add(t, "\n");
}

static void write_symbols(const struct start *s, struct text *t)
{
    bool any = false;
    for (const struct ptx_var *v = s->m->vars; v; v = v->next)
        if (v->space == SPACE_CONST && !v->init && v->bytes) {
            text_addf(t, "%s  %s: {type: %s, data: ones}  # __constant__, %llu bytes\n", any ? "" : "symbols:\n", v->name,
                      v->bytes % 4 ? "u8" : "f32", (unsigned long long)v->bytes);
            any = true;
        }
}

static void emulate_start_write(const struct start *s, const char *label, const char *kernel, struct text *t)
{
    const struct ptx_function *f = s->f;
    text_addf(t, "# a launch of %s to adapt: bench emulate %s THIS.yaml\n", kernel, label);
    int side = tile_side(s, kernel), blocks = side ? SIDE / side : 0;
    if (side)
        text_addf(t, "kernel: %s\ngrid: [%d, %d, 1]\n", kernel, blocks, blocks);
    else
        text_addf(t, "kernel: %s\ngrid: [4, %d, 1]\n", kernel, asks_for(s, "%ctaid.y") ? 2 : 1);
    if (f->req_threads[0])
        text_addf(t, "block: [%d, %d, %d]  # required by the kernel\n", f->req_threads[0], f->req_threads[1] ? f->req_threads[1] : 1,
                  f->req_threads[2] ? f->req_threads[2] : 1);
    else if (side)
        text_addf(t, "block: [%d, %d, 1]\n", side, side);
    else
        text_addf(t, "block: [%d, 1, 1]%s\n", f->max_threads > 0 ? f->max_threads : 256,
                  f->max_threads > 0 ? "  # at most, by __launch_bounds__" : "");
    if (dynamic_shared(s))
        text_add(t, "smem: 4096  # bytes of dynamic shared memory\n");
    write_buffers(s, t);
    write_symbols(s, t);
    write_arguments(s, side, t);
}

/* Does the launch touch nothing beside its buffers? Not asked of a kernel that prints: its texts would stand before the launch. */
static bool stays_inside(const char *label, const char *ptx, size_t ptx_bytes, const char *text)
{
    struct error ignored = {0};
    SCOPED_BY(emulate_free) struct emulate_result r = {0};
    SCOPED char *limited = text_format("%stime limit: 1 s\n", text);
    bool prints = strstr(ptx, "vprintf") != NULL;
    SCOPED_BY(node_leave) struct node *launch = prints ? NULL : node_parse_text(label, limited, strlen(limited), 1, 1, &ignored);
    struct emulate_request request = {.label = label, .ptx = ptx, .ptx_bytes = ptx_bytes, .launch = launch, .no_check = true};
    bool inside = launch && emulate(&request, &r, &ignored);
    return inside && ALL_OF(i, r.report_count, strcmp(r.reports[i].kind, "out_of_bounds") != 0);
}

/* Numbers are 1024, and so are elements, until a kernel that multiplies numbers reaches further. */
static void write_launch(struct start *s, const char *label, const char *ptx, size_t ptx_bytes, const char *kernel, struct text *out)
{
    static const int elements[] = {1024, 1 << 15, 1 << 20};
    for (size_t i = 0; i < sizeof elements / sizeof *elements; i++) {
        SCOPED_TEXT t = {0};
        s->elements = elements[i];
        emulate_start_write(s, label, kernel, &t);
        bool inside = stays_inside(label, ptx, ptx_bytes, text_get(&t));
        if (i == 0 || inside) {
            text_free(out);
            text_add(out, text_get(&t));
        }
        if (inside)
            return;
    }
}

bool emulate_start(const char *label, const char *ptx, size_t ptx_bytes, const char *source_text, const char *kernel, struct text *out,
                   struct error *err)
{
    SCOPED struct start *s = xcalloc(1, sizeof *s);
    SCOPED char *entry = NULL;
    struct ptx_module *m = ptx_parse(label, ptx, ptx_bytes, err);
    s->m = m;
    if (m)
        entry = emulate_find_kernel(label, ptx, kernel, err);
    s->f = entry ? ptx_find_function(m, entry) : NULL;
    if (entry && (!s->f || !s->f->has_body))
        error_set(err, ERROR_USAGE, "%s: '%.80s' has no body", label, entry);
    bool ok = s->f && s->f->has_body;
    if (ok) {
        for (const struct ptx_var *v = s->f->params; v && s->count < PARAMS_MAX; v = v->next) {
            s->params[s->count] = (struct guess){.var = v, .type = DTYPE_F32};
            bool numbered = strstr(v->name, "_param_") != NULL; /* as compilers name them */
            if (numbered)
                snprintf(s->params[s->count].name, sizeof s->params[s->count].name, "p%d", s->count);
            else
                snprintf(s->params[s->count].name, sizeof s->params[s->count].name, "%.60s", v->name);
            s->count++;
        }
        SCOPED char *plain = emulate_plain_name(entry);
        if (source_text)
            name_parameters(s, source_text, plain);
        follow(s);
        write_launch(s, label, ptx, ptx_bytes, kernel && strchr(kernel, '<') ? kernel : entry, out);
    }
    ptx_free(m);
    return ok;
}
