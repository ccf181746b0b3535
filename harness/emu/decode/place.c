/* emu/decode/place: where variables and parameters live, which functions may be called, and calls. */
#include "emu/decode/decode.h"
#include "base/text.h"
#include "emu/handlers.h"
#include <string.h>

/* ---- places of variables ---- */
static void place(struct decode *d, const struct ptx_var *v, uint64_t at, uint32_t stride, int function)
{
    *APPEND(d->placed, d->placed_count) = (struct placed){v, at, stride, function};
}

static uint64_t align_up(uint64_t v, uint64_t a)
{
    return a > 1 ? (v + a - 1) & ~(a - 1) : v;
}

static void shared_operand(struct decode *d, const struct ptx_operand *o)
{
    const struct ptx_var *v = o->var;
    if (!v && o->name && (o->kind == OPERAND_SYMBOL || o->kind == OPERAND_ADDRESS) && o->reg < 0)
        v = ptx_find_var(d->m, o->name);
    if (v && v->space == SPACE_SHARED && !decode_find_placed(d, v, -1)) {
        if (v->bytes == 0) {
            d->dynamic_align = v->align > d->dynamic_align ? v->align : d->dynamic_align;
            place(d, v, UINT64_MAX, 0, -1);
        } else {
            uint64_t at = align_up(d->p->shared_bytes, v->align);
            place(d, v, at, 0, -1);
            d->p->shared_bytes = at + v->bytes > PTX_MAX_VAR_BYTES ? (uint32_t)PTX_MAX_VAR_BYTES : (uint32_t)(at + v->bytes);
        }
    }
    for (int i = 0; i < o->count; i++)
        shared_operand(d, &o->items[i]);
}

static bool add_function(struct decode *d, const struct ptx_function *f)
{
    struct program *p = d->p;
    if (ANY_OF(i, p->function_count, p->functions[i].ptx == f))
        return true;
    if (!f->has_body)
        return true;
    int number = 0;
    for (const struct ptx_function *g = d->m->functions; g && g != f; g = g->next)
        number++;
    *APPEND(p->functions, p->function_count) = (struct function){.ptx = f, .handle = FUNCTION_HANDLE + 16ull * (uint64_t)number};
    return true;
}

static const char *call_name(const struct ptx_instr *in)
{
    int k = in->count && in->operands[0].kind == OPERAND_LIST ? 1 : 0;
    return k < in->count && in->operands[k].kind == OPERAND_SYMBOL ? in->operands[k].name : NULL;
}

/* Functions that may be called, breadth first, and the shared variables all of them use. */
static void reach_functions(struct decode *d, const struct ptx_function *entry)
{
    add_function(d, entry);
    for (int i = 0; i < d->p->function_count; i++) {
        const struct ptx_function *f = d->p->functions[i].ptx;
        for (int k = 0; k < f->instr_count; k++) {
            const struct ptx_instr *in = f->instrs[k];
            for (int o = 0; o < in->count; o++)
                shared_operand(d, &in->operands[o]);
            if (!instr_is(in, "call"))
                continue;
            d->p->calls = true;
            const char *name = call_name(in);
            const struct ptx_function *g = name ? ptx_find_function(d->m, name) : NULL;
            if (g)
                add_function(d, g);
            if (!name) {
                d->p->recursive = true;
                for (g = d->m->functions; g; g = g->next)
                    if (!g->is_entry)
                        add_function(d, g);
            }
        }
    }
}

void decode_place_shared(struct decode *d, const struct ptx_function *entry)
{
    d->p->shared_bytes = d->p->shared_from = SHARED_RESERVED;
    d->dynamic_align = 16;
    reach_functions(d, entry);
    d->p->shared_bytes = (uint32_t)align_up(d->p->shared_bytes, d->dynamic_align);
    for (int i = 0; i < d->placed_count; i++)
        if (d->placed[i].at == UINT64_MAX)
            d->placed[i].at = d->p->shared_bytes;
}

static uint32_t count_of(const struct ptx_var *list)
{
    uint32_t n = 0;
    for (; list; list = list->next)
        n++;
    return n;
}

/* Local variables, and the parameter areas of calls inside the frame. */
bool decode_place_function(struct decode *d, struct function *fn)
{
    uint64_t local = 0, frame = d->slots.bytes;
    const struct ptx_function *f = d->f;
    for (const struct ptx_var *v = f->vars; v; v = v->next) {
        if (v->space == SPACE_LOCAL) {
            local = align_up(local, v->align < 16 ? 16 : v->align);
            place(d, v, local, 0, d->function);
            local += v->bytes;
        } else if (v->space == SPACE_PARAM) {
            uint32_t stride = (uint32_t)align_up(v->bytes, 16);
            place(d, v, frame, stride, d->function);
            frame += 32ull * stride;
        }
        if (local > PTX_MAX_VAR_BYTES || frame > PTX_MAX_VAR_BYTES)
            return decode_fail(d, "variables of function '%s' are too large", f->name);
    }
    const int params = (int)count_of(f->params), results = (int)count_of(f->results);
    fn->param_count = (uint32_t)params;
    fn->result_count = (uint32_t)results;
    fn->params = decode_list(d, 2 * params);
    fn->results = decode_list(d, 2 * results);
    uint32_t *offsets = decode_list(d, params);
    uint32_t total = f->is_entry ? ptx_param_layout(f->params, offsets, params) : 0;
    for (int r = 0; r < 2; r++) {
        int k = 0;
        for (const struct ptx_var *v = r ? f->results : f->params; v; v = v->next, k++) {
            if (f->is_entry) {
                place(d, v, offsets[k], 0, d->function);
                continue;
            }
            uint32_t stride = (uint32_t)align_up(v->bytes, 16);
            uint32_t *pair = (r ? fn->results : fn->params) + 2 * k;
            pair[0] = (uint32_t)frame;
            pair[1] = stride;
            place(d, v, frame, stride, d->function);
            frame += 32ull * stride;
            if (v->bytes > 1 << 20 || frame > PTX_MAX_VAR_BYTES)
                return decode_fail(d, "parameters of function '%s' are too large", f->name);
        }
    }
    if (f->is_entry)
        d->p->param_bytes = total;
    fn->frame_bytes = (uint32_t)align_up(frame, 64);
    fn->local_bytes = (uint32_t)align_up(local, 16);
    return true;
}

/* ---- calls ---- */
static bool call_operands(struct decode *d, const struct ptx_operand *o, uint32_t *pairs)
{
    for (int i = 0; o && i < o->count; i++) {
        const struct placed *at = o->items[i].kind == OPERAND_VAR ? decode_find_placed(d, o->items[i].var, d->function) : NULL;
        if (!at || !at->stride)
            return decode_fail(d, "arguments of a call must be .param variables");
        pairs[2 * i] = (uint32_t)at->at;
        pairs[2 * i + 1] = at->stride;
    }
    return true;
}

bool decode_call(struct decode *d, uint32_t next_flow)
{
    static const struct {
        const char *name;
        enum call_kind kind;
    } system[] = {{"vprintf", CALL_VPRINTF}, {"__assertfail", CALL_ASSERTFAIL}, {"malloc", CALL_MALLOC}, {"free", CALL_FREE}};
    const struct ptx_instr *in = d->in;
    decode_take(d, "uni");
    int k = in->count && in->operands[0].kind == OPERAND_LIST ? 1 : 0;
    const struct ptx_operand *results = k ? &in->operands[0] : NULL, *callee = decode_operand(d, k);
    const struct ptx_operand *arguments = k + 1 < in->count && in->operands[k + 1].kind == OPERAND_LIST ? &in->operands[k + 1] : NULL;
    int n = (arguments ? arguments->count : 0) + (results ? results->count : 0);
    uint32_t *l = decode_list(d, 3 + 2 * n), a = NO_REF;
    l[0] = arguments ? (uint32_t)arguments->count : 0;
    l[1] = results ? (uint32_t)results->count : 0;
    l[2] = next_flow;
    if (d->failed || !call_operands(d, arguments, l + 3) || !call_operands(d, results, l + 3 + 2 * l[0]))
        return false;
    int kind = CALL_INDIRECT, number = 0;
    const char *name = call_name(in);
    if (name) {
        kind = -1;
        for (size_t i = 0; i < sizeof system / sizeof *system; i++)
            if (!strcmp(name, system[i].name))
                kind = (int)system[i].kind;
        for (int i = 0; i < d->p->function_count; i++)
            if (!strcmp(d->p->functions[i].ptx->name, name))
                kind = CALL_DIRECT, number = i;
        if (kind < 0)
            return decode_fail(d, "function '%s' has no body here", name);
        const struct ptx_function *to = kind == CALL_DIRECT ? d->p->functions[number].ptx : NULL;
        if (to && (l[0] != count_of(to->params) || l[1] != count_of(to->results)))
            return decode_wrong(d, "'%s' has parameters: %u, results: %u", name, count_of(to->params), count_of(to->results));
    } else if (callee->kind == OPERAND_REG && decode_reg_bytes(d, callee->reg) == 8) {
        a = decode_slot(d, callee->reg);
    } else {
        return decode_fail(d, "the target of a call must be a function or a 64-bit register");
    }
    if (kind == CALL_MALLOC || kind == CALL_FREE) /* addresses depend on who comes first */
        d->p->uses_heap = d->p->ordered = true;
    if (((kind == CALL_MALLOC || kind == CALL_FREE) && l[0] != 1) || (kind == CALL_MALLOC && l[1] != 1))
        return decode_fail(d, "malloc and free take one argument");
    struct insn *ip = decode_emit(d, OP_call);
    ip->kind = (uint8_t)kind;
    ip->aux = (uint16_t)number;
    ip->a = a;
    ip->list = l;
    return number < 65536;
}
