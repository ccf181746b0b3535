#include "device/emu/decode.h"
#include "base/text.h"
#include "device/emu/slow.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_CONSTANTS (64u << 20)

bool decode_fail(struct decode *d, const char *format, ...)
{
    if (d->failed)
        return false;
    d->failed = true;
    char what[256], op[160] = "";
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    if (d->in)
        ptx_instr_text(d->in, op, sizeof op);
    const struct ptx_place *at = d->in ? &d->in->place : NULL;
    /* not the kernel's fault: its row is skipped, with this reason */
    if (at && at->line > 0 && at->file > 0 && at->file < d->m->file_count && d->m->files[at->file])
        return error_set(d->err, ERROR_ENVIRONMENT, "%s: %s:%d: PTX line %d: '%s': %s", d->m->label, d->m->files[at->file], at->line, d->in->ptx_line, op, what);
    return error_set(d->err, ERROR_ENVIRONMENT, "%s: PTX line %d: '%s': %s", d->m->label, d->in ? d->in->ptx_line : d->f ? d->f->line : 0, op, what);
}

/* ---- modifiers ---- */
bool decode_take(struct decode *d, const char *mod)
{
    for (int i = 0; i < d->in->mod_count; i++)
        if (!(d->taken >> i & 1) && !strcmp(d->in->mods[i], mod)) {
            d->taken |= 1u << i;
            return true;
        }
    return false;
}

enum ptx_type decode_take_type(struct decode *d)
{
    for (int i = 0; i < d->in->mod_count; i++) {
        enum ptx_type t = d->taken >> i & 1 ? T_NONE : ptx_type_parse(d->in->mods[i]);
        if (t != T_NONE) {
            d->taken |= 1u << i;
            return t;
        }
    }
    return T_NONE;
}

int decode_take_word(struct decode *d, const char *const *words)
{
    for (int k = 0; words[k]; k++)
        if (decode_take(d, words[k]))
            return k;
    return -1;
}

void decode_take_prefix(struct decode *d, const char *prefix)
{
    for (int i = 0; i < d->in->mod_count; i++)
        if (!strncmp(d->in->mods[i], prefix, strlen(prefix)))
            d->taken |= 1u << i;
}

/* ---- emitting ---- */
static struct insn *emit_as(struct decode *d, enum op op, bool internal)
{
    struct program *p = d->p;
    if (p->count == d->code_room) {
        d->code_room = d->code_room ? d->code_room * 2 : 1024;
        p->code = xrealloc(p->code, d->code_room * sizeof *p->code);
        p->cold = xrealloc(p->cold, d->code_room * sizeof *p->cold);
    }
    struct insn *ip = &p->code[p->count];
    struct cold *c = &p->cold[p->count];
    memset(ip, 0, sizeof *ip);
    memset(c, 0, sizeof *c);
    ip->op = (uint16_t)op;
    ip->index = p->count++;
    ip->count = 1;
    ip->d = ip->a = ip->b = ip->c = NO_REF;
    c->source = d->in;
    c->block = d->flow;
    c->internal = internal;
    if (d->in) {
        const struct ptx_place *at = &d->in->place;
        /* code inlined from a header is charged to the line that called it */
        const char *file = at->file > 0 && at->file < d->m->file_count ? d->m->files[at->file] : NULL;
        if (d->in->inlined.line > 0 && file && d->m->files[d->in->inlined.file < d->m->file_count ? d->in->inlined.file : 0] &&
            strcmp(file, d->m->files[d->in->inlined.file < d->m->file_count ? d->in->inlined.file : 0]))
            at = &d->in->inlined;
        c->file = at->file;
        c->line = d->m->file_count > 0 ? at->line : d->in->ptx_line; /* written by hand, or without -lineinfo */
        if (!internal)
            decode_classify(d->in, c);
    }
    return ip;
}
struct insn *decode_emit(struct decode *d, enum op op) { return emit_as(d, op, false); }
struct insn *decode_emit_internal(struct decode *d, enum op op) { return emit_as(d, op, true); }

uint32_t *decode_list(struct decode *d, int n) { return arena_alloc(&d->p->arena, (size_t)(n > 0 ? n : 1) * sizeof(uint32_t)); }

static uint32_t new_flow(struct decode *d, uint32_t order)
{
    struct program *p = d->p;
    if (p->flow_count == d->flow_room) {
        d->flow_room = d->flow_room ? d->flow_room * 2 : 256;
        p->flows = xrealloc(p->flows, d->flow_room * sizeof *p->flows);
    }
    p->flows[p->flow_count] = (struct flow){.id = p->flow_count, .order = order};
    return p->flow_count++;
}

/* `start` holds the instruction's number until the code stops growing. */
static void begin_flow(struct decode *d, uint32_t flow)
{
    d->flow = flow;
    d->p->flows[flow].start = (const struct insn *)(uintptr_t)d->p->count;
}

static void emit_jump(struct decode *d, enum op op, uint32_t to)
{
    struct insn *ip = op == OP_fall ? decode_emit_internal(d, op) : decode_emit(d, op);
    ip->target = (const struct flow *)(uintptr_t)to;
}

/* ---- constants: one slot of 32 equal lanes for each value ---- */
uint32_t decode_constant(struct decode *d, uint64_t bits, int bytes)
{
    struct program *p = d->p;
    uint32_t size = 32u * (uint32_t)bytes;
    if (bytes < 8)
        bits &= ((uint64_t)1 << (8 * bytes)) - 1;
    struct constant_seen *seen = &d->seen[(bits * 0x9e3779b97f4a7c15ull >> 52 ^ (uint64_t)bytes) & 4095];
    if (seen->ref && seen->bits == bits && seen->bytes == bytes)
        return seen->ref;
    if (p->constant_bytes + size + 64 > d->constant_room) {
        if (p->constant_bytes > MAX_CONSTANTS) {
            decode_fail(d, "too many constants");
            return 1;
        }
        d->constant_room = (p->constant_bytes + size + 64) * 2;
        uint8_t *grown = aligned_alloc(64, (d->constant_room + 63) & ~63u);
        if (!grown)
            abort();
        if (p->constant_bytes)
            memcpy(grown, p->constants, p->constant_bytes);
        free(p->constants);
        p->constants = grown;
    }
    uint32_t at = p->constant_bytes;
    for (int i = 0; i < 32; i++)
        memcpy(p->constants + at + (size_t)i * (size_t)bytes, &bits, (size_t)bytes);
    p->constant_bytes = at + ((size + 63) & ~63u);
    *seen = (struct constant_seen){bits, bytes, at | 1};
    return at | 1;
}
uint32_t decode_constant_mask(struct decode *d, bool value) { return decode_constant(d, value ? 0xffffffffu : 0, 4); }

/* ---- operands ---- */
const struct ptx_operand *decode_operand(struct decode *d, int k)
{
    static const struct ptx_operand none = {.kind = OPERAND_NONE, .reg = -1, .reg2 = -1, .target = -1};
    if (k >= d->in->count) {
        decode_fail(d, "operand %d is missing", k + 1);
        return &none;
    }
    return &d->in->operands[k];
}

int decode_reg_bytes(const struct decode *d, int reg) { return slot_bytes(d->f->regs[reg]) / 32; }
uint32_t decode_slot(const struct decode *d, int reg) { return d->slots.offset[reg]; }
uint32_t decode_scratch(struct decode *d) { return (uint32_t)(d->scratch++ & 15) * 256; }

static const struct placed *find_placed(const struct decode *d, const struct ptx_var *v, int function)
{
    for (int i = 0; i < d->placed_count; i++)
        if (d->placed[i].var == v && (d->placed[i].function == function || d->placed[i].function < 0))
            return &d->placed[i];
    return NULL;
}

/* Address of a variable or function as a constant; *local: it has to be added to the activation's base. */
bool decode_is_address(struct decode *d, const struct ptx_operand *o, uint64_t *value, bool *local)
{
    const struct ptx_var *v = o->var;
    *local = false;
    if (o->kind == OPERAND_SYMBOL || (o->kind == OPERAND_ADDRESS && o->name && !v && o->reg < 0)) {
        v = ptx_find_var(d->m, o->name);
        int number = 0;
        for (const struct ptx_function *f = d->m->functions; f && !v; f = f->next, number++)
            if (!strcmp(f->name, o->name)) {
                *value = FUNCTION_HANDLE + 16ull * (uint64_t)number + o->bits;
                return true;
            }
        if (!v)
            return decode_fail(d, "unknown symbol '%s'", o->name);
    }
    if (!v)
        return decode_fail(d, "a variable was expected");
    if (v->space == SPACE_GLOBAL || v->space == SPACE_CONST) {
        *value = v->address + o->bits;
        return v->address != 0 || decode_fail(d, "'%s' is declared but not defined", v->name);
    }
    const struct placed *at = find_placed(d, v, d->function);
    if (!at)
        return decode_fail(d, "'%s' has no place here", v->name);
    if (v->space == SPACE_PARAM && at->stride)
        return decode_fail(d, "the address of parameter '%s' of a device function is not supported", v->name);
    *local = v->space == SPACE_LOCAL;
    *value = at->at + o->bits + (v->space == SPACE_PARAM ? PARAM_WINDOW : 0);
    return true;
}

static uint32_t immediate(struct decode *d, const struct ptx_operand *o, enum ptx_type t)
{
    int bytes = ptx_type_bytes(t) < 2 ? 2 : ptx_type_bytes(t);
    uint64_t bits = o->bits;
    float f;
    double g;
    if (bytes > 8) {
        decode_fail(d, "a 128-bit immediate");
        return 1;
    }
    if (o->kind == OPERAND_F64 && (t == T_F32 || (bytes == 4 && t != T_F64))) {
        memcpy(&g, &bits, 8);
        f = (float)g;
        bits = 0;
        memcpy(&bits, &f, 4);
    } else if (o->kind == OPERAND_F32 && bytes == 8) {
        uint32_t u = (uint32_t)bits;
        memcpy(&f, &u, 4);
        g = (double)f;
        memcpy(&bits, &g, 8);
    } else if (o->kind == OPERAND_INT && (t == T_F32 || t == T_F64)) {
        g = (double)(int64_t)bits;
        f = (float)g;
        bits = 0;
        if (t == T_F32)
            memcpy(&bits, &f, 4);
        else
            memcpy(&bits, &g, 8);
    }
    return decode_constant(d, bits, bytes);
}

static int special_number(const char *name)
{
    for (int i = 0; i < SPECIAL_COUNT; i++)
        if (!strcmp(name, special_names[i]))
            return i;
    return -1;
}

static uint32_t special_operand(struct decode *d, const struct ptx_operand *o, int bytes)
{
    int s = special_number(o->name);
    if (s < 0) {
        decode_fail(d, "special register '%s' is not supported", o->name);
        return 0;
    }
    struct insn *ip = decode_emit_internal(d, OP_mov_special);
    ip->aux = (uint16_t)s;
    ip->size = (uint8_t)bytes;
    return ip->d = decode_scratch(d);
}

uint32_t decode_source(struct decode *d, const struct ptx_operand *o, enum ptx_type t, bool wide)
{
    int bytes = ptx_type_bytes(t) < 2 ? 2 : ptx_type_bytes(t);
    uint64_t value;
    bool local;
    switch (o->kind) {
    case OPERAND_REG:
        if (d->f->regs[o->reg] == T_PRED || (wide ? decode_reg_bytes(d, o->reg) < bytes : decode_reg_bytes(d, o->reg) != bytes)) {
            decode_fail(d, "operand '%s' has the wrong size", o->name);
            return 0;
        }
        return decode_slot(d, o->reg);
    case OPERAND_INT: case OPERAND_F32: case OPERAND_F64: return immediate(d, o, t);
    case OPERAND_SPECIAL: return special_operand(d, o, bytes);
    case OPERAND_VAR: case OPERAND_SYMBOL:
        if (!decode_is_address(d, o, &value, &local))
            return 0;
        if (local) {
            struct insn *ip = decode_emit_internal(d, OP_mov_local);
            ip->imm = (int64_t)value;
            return ip->d = decode_scratch(d);
        }
        return decode_constant(d, value, bytes < 4 ? 8 : bytes);
    default:
        decode_fail(d, "an operand of this kind does not fit here");
        return 0;
    }
}

uint32_t decode_target(struct decode *d, const struct ptx_operand *o, enum ptx_type t, bool wide)
{
    int bytes = ptx_type_bytes(t) < 2 ? 2 : ptx_type_bytes(t);
    if (o->kind == OPERAND_SINK)
        return decode_scratch(d);
    if (o->kind != OPERAND_REG || d->f->regs[o->reg] == T_PRED || (wide ? decode_reg_bytes(d, o->reg) < bytes : decode_reg_bytes(d, o->reg) != bytes)) {
        decode_fail(d, "the result must be a register of %d bits", 8 * ptx_type_bytes(t));
        return 0;
    }
    return decode_slot(d, o->reg);
}

uint32_t decode_pred(struct decode *d, const struct ptx_operand *o, bool *negated)
{
    *negated = o->negated;
    if (o->kind == OPERAND_INT)
        return decode_constant_mask(d, o->bits != 0);
    if (o->kind != OPERAND_REG || d->f->regs[o->reg] != T_PRED) {
        decode_fail(d, "a predicate was expected");
        return 0;
    }
    return decode_slot(d, o->reg);
}

enum ptx_space decode_take_space(struct decode *d)
{
    static const struct {
        const char *word;
        enum ptx_space space;
    } words[] = {{"global", SPACE_GLOBAL}, {"shared::cta", SPACE_SHARED}, {"shared::cluster", SPACE_SHARED}, {"shared", SPACE_SHARED}, {"local", SPACE_LOCAL},
                 {"const", SPACE_CONST}, {"param::entry", SPACE_PARAM}, {"param::func", SPACE_PARAM}, {"param", SPACE_PARAM}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (decode_take(d, words[i].word))
            return words[i].space;
    return SPACE_GENERIC;
}

bool decode_address(struct decode *d, const struct ptx_operand *o, enum ptx_space space, struct place_ref *out)
{
    bool narrow = space == SPACE_SHARED || space == SPACE_LOCAL, local = false;
    uint64_t value = o->bits;
    *out = (struct place_ref){0};
    if (o->kind != OPERAND_ADDRESS)
        return decode_fail(d, "an address in brackets was expected");
    if (o->reg >= 0) {
        int bytes = decode_reg_bytes(d, o->reg);
        if (d->f->regs[o->reg] == T_PRED || (bytes != 8 && !(narrow && bytes == 4)))
            return decode_fail(d, "'%s' is no address register", o->name);
        out->a = decode_slot(d, o->reg);
        out->imm = (int64_t)o->bits;
        out->flags = narrow && bytes == 8;
        return true;
    }
    if (o->name && !decode_is_address(d, o, &value, &local))
        return false;
    if (local) {
        struct insn *ip = decode_emit_internal(d, OP_mov_local);
        ip->imm = (int64_t)value;
        out->a = ip->d = decode_scratch(d);
        out->flags = 1;
        return true;
    }
    if (narrow && value >> 32)
        return decode_fail(d, "a shared address of more than 32 bits");
    out->a = decode_constant(d, value, narrow ? 4 : 8);
    return true;
}

/* ---- places of variables ---- */
static void place(struct decode *d, const struct ptx_var *v, uint64_t at, uint32_t stride, int function)
{
    if (d->placed_count == d->placed_room) {
        d->placed_room = d->placed_room ? d->placed_room * 2 : 64;
        d->placed = xrealloc(d->placed, (size_t)d->placed_room * sizeof *d->placed);
    }
    d->placed[d->placed_count++] = (struct placed){v, at, stride, function};
}

static uint64_t align_up(uint64_t v, uint64_t a) { return a > 1 ? (v + a - 1) & ~(a - 1) : v; }

uint32_t decode_param_layout(const struct ptx_var *params, uint32_t *offsets, int max)
{
    uint64_t at = 0;
    int n = 0;
    for (const struct ptx_var *v = params; v; v = v->next) {
        at = align_up(at, v->align);
        if (offsets && n < max)
            offsets[n] = (uint32_t)at;
        n++;
        at += v->bytes;
    }
    return at > 1 << 20 ? 1 << 20 : (uint32_t)at;
}

static void shared_operand(struct decode *d, const struct ptx_operand *o)
{
    const struct ptx_var *v = o->var;
    if (!v && o->name && (o->kind == OPERAND_SYMBOL || o->kind == OPERAND_ADDRESS) && o->reg < 0)
        v = ptx_find_var(d->m, o->name);
    if (v && v->space == SPACE_SHARED && !find_placed(d, v, -1)) {
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
    for (int i = 0; i < p->function_count; i++)
        if (p->functions[i].ptx == f)
            return true;
    if (!f->has_body)
        return true;
    if (p->function_count == d->function_room) {
        d->function_room = d->function_room ? d->function_room * 2 : 8;
        p->functions = xrealloc(p->functions, (size_t)d->function_room * sizeof *p->functions);
    }
    int number = 0;
    for (const struct ptx_function *g = d->m->functions; g && g != f; g = g->next)
        number++;
    p->functions[p->function_count++] = (struct function){.ptx = f, .handle = FUNCTION_HANDLE + 16ull * (uint64_t)number};
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

static void place_shared(struct decode *d, const struct ptx_function *entry)
{
    d->p->shared_bytes = SHARED_RESERVED;
    d->dynamic_align = 16;
    reach_functions(d, entry);
    d->p->shared_bytes = (uint32_t)align_up(d->p->shared_bytes, d->dynamic_align);
    for (int i = 0; i < d->placed_count; i++)
        if (d->placed[i].at == UINT64_MAX)
            d->placed[i].at = d->p->shared_bytes;
}

/* Local variables, and the parameter areas of calls inside the frame. */
static bool place_function(struct decode *d, struct function *fn)
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
    int counts[2] = {0, 0};
    for (int r = 0; r < 2; r++)
        for (const struct ptx_var *v = r ? f->results : f->params; v; v = v->next)
            counts[r]++;
    fn->param_count = (uint32_t)counts[0];
    fn->result_count = (uint32_t)counts[1];
    fn->params = decode_list(d, 2 * counts[0]);
    fn->results = decode_list(d, 2 * counts[1]);
    uint32_t *offsets = decode_list(d, counts[0]);
    uint32_t total = f->is_entry ? decode_param_layout(f->params, offsets, counts[0]) : 0;
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
        const struct placed *at = o->items[i].kind == OPERAND_VAR ? find_placed(d, o->items[i].var, d->function) : NULL;
        if (!at || !at->stride)
            return decode_fail(d, "arguments of a call must be .param variables");
        pairs[2 * i] = (uint32_t)at->at;
        pairs[2 * i + 1] = at->stride;
    }
    return true;
}

static bool decode_call(struct decode *d, uint32_t next_flow)
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
    } else if (callee->kind == OPERAND_REG && decode_reg_bytes(d, callee->reg) == 8) {
        a = decode_slot(d, callee->reg);
    } else {
        return decode_fail(d, "what is called must be a function or a 64-bit register");
    }
    struct insn *ip = decode_emit(d, OP_call);
    ip->kind = (uint8_t)kind;
    ip->aux = (uint16_t)number;
    ip->a = a;
    ip->list = l;
    return number < 65536;
}

static bool decode_brx(struct decode *d)
{
    const struct ptx_instr *in = d->in, *table;
    decode_take(d, "idx");
    decode_take(d, "uni");
    if (in->count != 2 || in->operands[1].target < 0 || in->operands[1].target >= d->f->instr_count)
        return decode_fail(d, "an index and a list of targets were expected");
    table = d->f->instrs[in->operands[1].target];
    const struct ptx_operand *o = &table->operands[0];
    uint32_t *l = decode_list(d, o->count + 1), a = decode_source(d, &in->operands[0], T_U32, false);
    l[0] = (uint32_t)o->count;
    for (int i = 0; i < o->count; i++) {
        int t = o->items[i].target;
        l[1 + i] = d->first_flow + (t < d->f->instr_count ? (uint32_t)d->graph.block_of[t] : (uint32_t)d->graph.count);
    }
    struct insn *ip = decode_emit(d, OP_brx);
    ip->a = a;
    ip->list = l;
    return true;
}

/* ---- instructions ---- */
static bool is_control(const struct ptx_instr *in)
{
    return instr_ends_block(in) && !instr_is(in, "bra");
}

static bool decode_plain(struct decode *d, uint32_t next_flow)
{
    const struct ptx_instr *in = d->in;
    d->taken = 0;
    d->scratch = 0;
    if (instr_is(in, ".branchtargets") || instr_is(in, ".calltargets"))
        return true;
    if (instr_is(in, "ret") || instr_is(in, "exit")) {
        decode_take(d, "uni");
        decode_emit(d, instr_is(in, "ret") ? OP_ret : OP_exit);
    } else if (instr_is(in, "trap")) {
        decode_emit(d, OP_trap);
    } else if (instr_is(in, "call")) {
        if (!decode_call(d, next_flow))
            return decode_fail(d, "this call is not supported");
    } else if (instr_is(in, "brx")) {
        if (!decode_brx(d))
            return false;
    } else if (!decode_alu(d) && !decode_float(d) && !decode_memory(d) && !decode_warp(d) && !decode_tensor(d) && !decode_async(d) && !decode_video(d)) {
        return decode_fail(d, "emu does not know this instruction");
    }
    for (int i = 0; i < in->mod_count && !d->failed; i++)
        if (!(d->taken >> i & 1))
            return decode_fail(d, "emu does not know '.%s' here", in->mods[i]);
    return !d->failed;
}

static bool decode_guarded(struct decode *d, uint32_t next_flow)
{
    const struct ptx_instr *in = d->in;
    struct insn *guard;
    if (is_control(in)) { /* a branch around it */
        uint32_t inside = new_flow(d, d->p->flows[d->flow].order + 1);
        guard = decode_emit_internal(d, OP_bra_if);
        guard->a = decode_slot(d, in->guard);
        guard->flags = in->guard_negated;
        guard->target = (const struct flow *)(uintptr_t)inside;
        guard->d = next_flow;
        begin_flow(d, inside);
        if (!decode_plain(d, next_flow))
            return false;
        emit_jump(d, OP_fall, next_flow);
        return true;
    }
    guard = decode_emit_internal(d, OP_guard);
    guard->a = decode_slot(d, in->guard);
    guard->flags = in->guard_negated;
    uint32_t at = d->p->count;
    if (!decode_plain(d, next_flow))
        return false;
    /* several operations for one instruction: each gets its own guard, and an end */
    uint32_t n = d->p->count - at;
    if (n == 0) /* nothing to guard */
        d->p->count = at - 1;
    for (uint32_t i = 1; i < 2 * n; i++)
        decode_emit_internal(d, OP_step_end);
    struct program *p = d->p;
    for (uint32_t i = n; i-- > 0;) {
        uint32_t to = at + 3 * i;
        p->code[to] = p->code[at + i];
        p->cold[to] = p->cold[at + i];
        p->code[to].index = to;
        p->code[to - 1] = p->code[at - 1];
        p->cold[to - 1] = p->cold[at - 1];
        p->code[to - 1].index = to - 1;
    }
    for (uint32_t i = 0; i < n; i++) { /* the last one emitted is an end */
        p->code[at + 3 * i + 1] = p->code[p->count - 1];
        p->cold[at + 3 * i + 1] = p->cold[p->count - 1];
        p->code[at + 3 * i + 1].index = at + 3 * i + 1;
    }
    for (uint32_t i = 0; i < n; i++)
        p->cold[at + 3 * i].guarded = 1;
    return true;
}

static bool decode_branch(struct decode *d, uint32_t next_flow)
{
    const struct ptx_instr *in = d->in;
    int t = in->operands[0].target;
    uint32_t to = d->first_flow + (t < d->f->instr_count ? (uint32_t)d->graph.block_of[t] : (uint32_t)d->graph.count);
    for (int i = 0; i < in->mod_count; i++)
        if (strcmp(in->mods[i], "uni"))
            return decode_fail(d, "emu does not know '.%s' here", in->mods[i]);
    if (in->guard < 0) {
        emit_jump(d, OP_bra, to);
        return true;
    }
    struct insn *ip = decode_emit(d, OP_bra_if);
    ip->a = decode_slot(d, in->guard);
    ip->flags = in->guard_negated;
    ip->target = (const struct flow *)(uintptr_t)to;
    ip->d = next_flow;
    return true;
}

static bool decode_block(struct decode *d, int b)
{
    const struct graph_block *block = &d->graph.blocks[b];
    begin_flow(d, d->first_flow + (uint32_t)b);
    uint32_t next_flow = d->first_flow + (uint32_t)b + 1; /* behind the last block stands a return */
    bool open = true;
    for (int i = block->first; i < block->end; i++) {
        d->in = d->f->instrs[i];
        bool ok = instr_is(d->in, "bra") ? decode_branch(d, next_flow) : d->in->guard >= 0 ? decode_guarded(d, next_flow) : decode_plain(d, next_flow);
        if (!ok)
            return false;
        open = !instr_ends_block(d->in);
    }
    if (open)
        emit_jump(d, OP_fall, next_flow);
    return true;
}

static void count_uses(struct decode *d)
{
    d->uses = xcalloc((size_t)d->f->reg_count + 1, sizeof *d->uses);
    for (int i = 0; i < d->f->instr_count; i++) {
        const struct ptx_instr *in = d->f->instrs[i];
        bool also_read;
        int writes = instr_writes(in, &also_read);
        for (int k = writes; k < in->count; k++) {
            const struct ptx_operand *o = &in->operands[k];
            if (o->reg >= 0 && d->uses[o->reg] < 60000)
                d->uses[o->reg]++;
            for (int v = 0; v < o->count; v++)
                if (o->items[v].reg >= 0 && d->uses[o->items[v].reg] < 60000)
                    d->uses[o->items[v].reg]++;
        }
    }
}

static bool decode_function(struct decode *d, int number)
{
    struct program *p = d->p;
    d->function = number;
    d->f = p->functions[number].ptx;
    d->in = NULL;
    if (!graph_build(&p->arena, d->m, d->f, &d->graph, d->err) || !slots_assign(&p->arena, d->m, d->f, &d->graph, &d->slots, d->err))
        return !(d->failed = true);
    if (!place_function(d, &p->functions[number]))
        return false;
    p->zero_frame |= d->slots.undefined;
    d->first_flow = p->flow_count;
    p->functions[number].entry = (const struct flow *)(uintptr_t)d->first_flow;
    for (int b = 0; b <= d->graph.count; b++)
        new_flow(d, b < d->graph.count ? 2 * (uint32_t)d->graph.blocks[b].order : UINT32_MAX);
    count_uses(d);
    bool ok = true;
    for (int b = 0; b < d->graph.count && ok; b++)
        ok = decode_block(d, b);
    free(d->uses);
    if (!ok)
        return false;
    begin_flow(d, d->first_flow + (uint32_t)d->graph.count);
    decode_emit_internal(d, OP_ret);
    return true;
}

/* Bytes of the deepest chain of activations; recursion gets a fixed number of turns. */
static void sum_frames(struct decode *d)
{
    struct program *p = d->p;
    uint64_t frame = 0, local = 0;
    for (int i = 0; i < p->function_count; i++) {
        frame += p->functions[i].frame_bytes;
        local += p->functions[i].local_bytes;
    }
    if (p->calls && local > p->functions[0].local_bytes)
        local = local * 64 > 65536 ? (local > 65536 ? local * 2 : 65536) : local * 64;
    p->frame_bytes = (uint32_t)frame; /* grows when needed */
    p->local_bytes = local > PTX_MAX_VAR_BYTES ? (uint32_t)PTX_MAX_VAR_BYTES : (uint32_t)((local + 15) & ~15ull);
}

static void resolve_pointers(struct program *p)
{
    for (int i = 0; i < p->function_count; i++)
        p->functions[i].entry = p->flows + (uintptr_t)p->functions[i].entry;
    for (uint32_t i = 0; i < p->flow_count; i++)
        p->flows[i].start = p->code + (uintptr_t)p->flows[i].start;
    for (uint32_t i = 0; i < p->count; i++)
        if (p->code[i].op == OP_fall || p->code[i].op == OP_bra || p->code[i].op == OP_bra_if)
            p->code[i].target = p->flows + (uintptr_t)p->code[i].target;
}

/* Instructions that learn patterns or count events get a memo. */
static void number_memos(struct program *p)
{
    for (uint32_t i = 0; i < p->count; i++) {
        enum op op = (enum op)p->code[i].op;
        bool memory = (op >= OP_ld_global && op <= OP_st_local) || op == OP_atom;
        bool together = op == OP_guard || op == OP_bra_if || op == OP_brx || op == OP_bar || op > OP_yield;
        p->code[i].memo = memory || together ? p->memo_count++ : UINT32_MAX;
        p->memo_count += op == OP_cp_async; /* source and destination */
    }
}

struct program *decode_entry(const struct ptx_module *m, const struct ptx_function *entry, struct error *err)
{
    struct program *p = xcalloc(1, sizeof *p);
    p->module = m;
    p->full_barriers = true;
    p->shared_shift = 2;
    struct decode *state = xcalloc(1, sizeof *state);
    *state = (struct decode){.p = p, .m = m, .err = err};
    place_shared(state, entry);
    bool ok = true;
    for (int i = 0; i < p->function_count && ok; i++)
        ok = decode_function(state, i);
    ok = ok && !state->failed;
    if (ok)
        sum_frames(state);
    free(state->placed);
    free(state);
    if (!ok) {
        decode_free(p);
        return NULL;
    }
    resolve_pointers(p);
    number_memos(p);
    p->simple_races = p->full_barriers && !p->shared_spin && !p->uses_mbarrier && !p->uses_cluster;
    const op_fn *table = isa_table(NULL);
    for (uint32_t i = 0; i < p->count; i++)
        p->code[i].fn = table[p->code[i].op];
    return p;
}

void decode_free(struct program *p)
{
    if (!p)
        return;
    arena_free(&p->arena);
    free(p->functions);
    free(p->code);
    free(p->cold);
    free(p->flows);
    free(p->constants);
    free(p);
}
