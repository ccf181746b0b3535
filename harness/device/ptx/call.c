/* device/ptx/call: parameters in registers. `.func (.reg .u32 r) f (.reg .u32 a)` and `call (x), f, (y, 5);` become what compilers write
 * since PTX 2: parameter variables, which the caller stores before the call and loads after it, and which the body loads at its beginning
 * and stores where it returns.
 */
#include "device/ptx/parser.h"
#include <string.h>

static const char *bits_name(enum ptx_type t)
{
    int bytes = ptx_type_bytes(t);
    return bytes == 1 ? "b8" : bytes == 2 ? "b16" : bytes == 4 ? "b32" : bytes == 8 ? "b64" : "b128";
}

static struct ptx_var *param_var(struct parser *p, const char *name, enum ptx_type type, int vector)
{
    struct ptx_var *v = arena_alloc(&p->m->arena, sizeof *v);
    *v = (struct ptx_var){.name = name, .space = SPACE_PARAM, .type = type, .vector = vector};
    v->bytes = (uint64_t)ptx_type_bytes(type) * (uint64_t)vector;
    v->align = (uint32_t)v->bytes;
    return v;
}

/* ld.param or st.param between a variable and what the text has in its place; guarded as the call it belongs to. */
static bool implied(struct parser *p, const char *op, struct ptx_var *v, struct ptx_operand value, const struct ptx_instr *call)
{
    bool load = op[0] == 'l', number = value.kind != OPERAND_REG && value.kind != OPERAND_VECTOR;
    struct ptx_instr *in = arena_alloc(&p->m->arena, sizeof *in);
    in->op = op;
    in->mods[in->mod_count++] = "param";
    if (v->vector > 1)
        in->mods[in->mod_count++] = v->vector == 2 ? "v2" : v->vector == 4 ? "v4" : "v8";
    in->mods[in->mod_count++] = number ? ptx_type_name(v->type) : bits_name(v->type);
    in->operands[!load] = value;
    in->operands[load] = (struct ptx_operand){.kind = OPERAND_ADDRESS, .reg = -1, .reg2 = -1, .target = -1, .name = v->name, .var = v};
    in->count = 2;
    in->guard = call ? call->guard : -1;
    in->guard_negated = call && call->guard_negated;
    in->ptx_line = call ? call->ptx_line : p->t.line;
    in->place = call ? call->place : p->place;
    in->inlined = call ? call->inlined : p->inlined;
    return parser_push(p, in);
}

struct ptx_operand parser_registers(struct parser *p, const char *name, int first, int count)
{
    struct ptx_operand o = {.kind = OPERAND_REG, .reg = first, .reg2 = -1, .target = -1, .name = name};
    if (count == 1)
        return o;
    struct ptx_operand *items = arena_alloc(&p->m->arena, (size_t)count * sizeof *items);
    for (int i = 0; i < count; i++) {
        items[i] = o;
        items[i].reg = first + i;
    }
    return (struct ptx_operand){.kind = OPERAND_VECTOR, .reg = -1, .reg2 = -1, .target = -1, .items = items, .count = count};
}

/* ".reg .u32 name" in a function's head; .reg is read. */
struct ptx_var *parse_reg_param(struct parser *p)
{
    enum ptx_type type;
    int vector, first;
    if (!parse_reg_type(p, &type, &vector))
        return NULL;
    if (!ptx_type_bytes(type)) {
        parser_fail(p, "a predicate cannot be a parameter");
        return NULL;
    }
    char *name = parser_take_name(p, "a register");
    if (!name || !declare_register(p, name, type, vector, &first))
        return NULL;
    struct ptx_var *v = param_var(p, name, type, vector);
    v->in_register = true;
    v->reg = first;
    return v;
}

bool parser_enter_function(struct parser *p)
{
    for (struct ptx_var *v = p->f->params; v; v = v->next)
        if (v->in_register && !implied(p, "ld", v, parser_registers(p, v->name, v->reg, v->vector), NULL))
            return false;
    return true;
}

bool parser_leave_function(struct parser *p)
{
    for (struct ptx_var *v = p->f->results; v; v = v->next)
        if (v->in_register && !implied(p, "st", v, parser_registers(p, v->name, v->reg, v->vector), NULL))
            return false;
    return true;
}

/* A variable in the place of one item of a call's list: of the type that the function called has there, else of the register's own. */
static struct ptx_var *stand_in(struct parser *p, const struct ptx_operand *o, const struct ptx_var *formal)
{
    const struct ptx_operand *r = o->kind == OPERAND_VECTOR && o->count ? &o->items[0] : o;
    int vector = o->kind == OPERAND_VECTOR ? o->count : 1;
    enum ptx_type type = formal ? formal->type : r->kind == OPERAND_REG ? p->f->regs[r->reg] : T_NONE;
    int bytes = ptx_type_bytes(type), held = r->kind == OPERAND_REG ? ptx_type_bytes(p->f->regs[r->reg]) : bytes;
    if (!bytes || (held != bytes && !(bytes == 1 && held)) || (formal && formal->bytes != (uint64_t)bytes * (uint64_t)vector)) {
        parser_fail(p, "this does not fit the parameter of the function called");
        return NULL;
    }
    struct ptx_var *v = param_var(p, "(argument)", type, vector);
    v->next = p->f->vars;
    p->f->vars = v;
    return v;
}

static bool is_param_var(const struct ptx_operand *o)
{
    return o->kind == OPERAND_VAR && o->var->space == SPACE_PARAM;
}

/* The function that is called, or the prototype behind a call by address; NULL: neither is known. `k`: the operand that says whom. */
static const struct ptx_function *called(const struct parser *p, const struct ptx_instr *in, int k)
{
    if (k < in->count && in->operands[k].kind == OPERAND_SYMBOL) {
        const char *name = in->operands[k].name;
        return !strcmp(name, p->f->name) ? p->f : ptx_find_function(p->m, name);
    }
    const struct ptx_operand *last = in->count ? &in->operands[in->count - 1] : NULL;
    const struct ptx_function *f = last && last->kind == OPERAND_SYMBOL ? p->prototypes : NULL;
    while (f && strcmp(f->name, last->name) != 0)
        f = f->next;
    return f;
}

/* The call is read, but not pushed. */
bool parser_push_call(struct parser *p, struct ptx_instr *in)
{
    int k = in->count && in->operands[0].kind == OPERAND_LIST ? 1 : 0;
    const struct ptx_function *f = called(p, in, k);
    struct ptx_operand *results = k ? &in->operands[0] : NULL;
    struct ptx_operand *list = k + 1 < in->count && in->operands[k + 1].kind == OPERAND_LIST ? &in->operands[k + 1] : NULL;
    struct ptx_operand loads[PTX_MAX_OPERANDS];
    struct ptx_var *from[PTX_MAX_OPERANDS];
    int n = 0;
    for (int side = 0; side < 2; side++) {
        struct ptx_operand *o = side ? results : list;
        const struct ptx_var *formal = !f ? NULL : side ? f->results : f->params;
        for (int i = 0; o && i < o->count; i++, formal = formal ? formal->next : NULL) {
            struct ptx_operand item = o->items[i];
            if (is_param_var(&item))
                continue;
            if (side && n == PTX_MAX_OPERANDS)
                return parser_fail(p, "more than %d results", PTX_MAX_OPERANDS);
            struct ptx_var *v = stand_in(p, &item, formal);
            if (!v || (!side && !implied(p, "st", v, item, in)))
                return false;
            o->items[i] = (struct ptx_operand){.kind = OPERAND_VAR, .reg = -1, .reg2 = -1, .target = -1, .name = v->name, .var = v};
            if (side && item.kind != OPERAND_SINK) {
                loads[n] = item;
                from[n++] = v;
            }
        }
    }
    if (!parser_push(p, in))
        return false;
    for (int i = 0; i < n; i++)
        if (!implied(p, "ld", from[i], loads[i], in))
            return false;
    return true;
}
