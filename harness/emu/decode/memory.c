/* emu/decode/memory: loads, stores, atomics, addresses. */
#include "emu/decode/decode.h"
#include "emu/handlers.h"

static void take_hints(struct decode *d)
{
    static const char *const words[] = {"ca",
                                        "cg",
                                        "cs",
                                        "lu",
                                        "cv",
                                        "wb",
                                        "wt",
                                        "nc",
                                        "weak",
                                        "L1::evict_normal",
                                        "L1::evict_unchanged",
                                        "L1::evict_first",
                                        "L1::evict_last",
                                        "L1::no_allocate",
                                        "L2::evict_normal",
                                        "L2::evict_first",
                                        "L2::evict_last",
                                        "L2::cache_hint",
                                        "L2::64B",
                                        "L2::128B",
                                        "L2::256B",
                                        NULL};
    while (decode_take_word(d, words) >= 0)
        ;
}

/* Memory order words, as flags of an access. Strong: other threads may be waited for through it. */
static uint8_t take_order(struct decode *d)
{
    static const uint8_t meant[] = {ACCESS_STRONG,
                                    ACCESS_STRONG,
                                    ACCESS_STRONG | ACCESS_ACQUIRE,
                                    ACCESS_STRONG | ACCESS_RELEASE,
                                    ACCESS_STRONG | ACCESS_ACQUIRE | ACCESS_RELEASE,
                                    ACCESS_STRONG,
                                    ACCESS_STRONG | ACCESS_ACQUIRE};
    static const char *const strong[] = {"volatile", "relaxed", "acquire", "release", "acq_rel", "mmio", "sc", NULL}, *const scopes[] = {
                                                                                                                          "cta", "cluster",
                                                                                                                          "gpu", "sys",
                                                                                                                          NULL};
    uint8_t flags = 0;
    for (int k; (k = decode_take_word(d, strong)) >= 0;)
        flags |= meant[k];
    for (int k; (k = decode_take_word(d, scopes)) >= 0;)
        flags |= k == 0 ? ACCESS_NARROW : 0;
    return flags;
}

static int move_kind(struct decode *d, enum ptx_type t, int reg)
{
    bool s = ptx_type_signed(t);
    switch (ptx_type_bytes(t) * 100 + reg) {
    case 102: return s ? MOVE_S8_16 : MOVE_U8_16;
    case 104: return s ? MOVE_S8_32 : MOVE_U8_32;
    case 108: return s ? MOVE_S8_64 : MOVE_U8_64;
    case 202: return MOVE_16;
    case 204: return s ? MOVE_S16_32 : MOVE_U16_32;
    case 208: return s ? MOVE_S16_64 : MOVE_U16_64;
    case 404: return MOVE_32;
    case 408: return s ? MOVE_S32_64 : MOVE_U32_64;
    case 808: return MOVE_64;
    case 1616: return MOVE_128;
    default: decode_fail(d, "a register of %d bits for '.%s'", 8 * reg, ptx_type_name(t)); return 0;
    }
}

static int operand_bytes(const struct decode *d, const struct ptx_operand *o, enum ptx_type t)
{
    int bytes = ptx_type_bytes(t);
    return o->kind == OPERAND_REG && d->f->regs[o->reg] != T_PRED ? decode_reg_bytes(d, o->reg) : bytes < 2 ? 2 : bytes;
}

struct moved {
    uint32_t d, *list;
    int count, kind;
};

/* The register or vector of a load or store. */
static bool moved_operands(struct decode *d, const struct ptx_operand *o, enum ptx_type t, int vector, bool load, struct moved *out)
{
    *out = (struct moved){NO_REF, NULL, vector, 0};
    if (vector == 1 && o->kind != OPERAND_VECTOR) {
        out->kind = move_kind(d, t, operand_bytes(d, o, t));
        out->d = load ? (o->kind == OPERAND_SINK ? NO_REF : decode_target(d, o, t, true)) : decode_source(d, o, t, true);
        if (load && out->d == NO_REF)
            out->d = decode_scratch(d);
        return !d->failed;
    }
    if (o->kind != OPERAND_VECTOR || (o->count != vector && !(vector == 1 && o->count == 1)))
        return decode_fail(d, "a vector of %d registers was expected", vector);
    out->list = decode_list(d, o->count);
    out->kind = -1;
    for (int i = 0; i < o->count; i++) {
        const struct ptx_operand *e = &o->items[i];
        if (load && e->kind == OPERAND_SINK) {
            out->list[i] = NO_REF;
            continue;
        }
        int kind = move_kind(d, t, operand_bytes(d, e, t));
        if (out->kind >= 0 && kind != out->kind)
            return decode_fail(d, "registers of different sizes in one vector");
        out->kind = kind;
        out->list[i] = load ? decode_target(d, e, t, true) : decode_source(d, e, t, true);
    }
    if (out->kind < 0)
        out->kind = move_kind(d, t, ptx_type_bytes(t) < 2 ? 2 : ptx_type_bytes(t));
    if (o->count == 1)
        out->d = out->list[0];
    return !d->failed;
}

static bool emit_moved(struct decode *d, enum op op, const struct moved *r, const struct place_ref *at, enum ptx_type t, uint8_t order)
{
    struct insn *ip = decode_emit(d, op);
    ip->d = r->d;
    ip->list = r->list;
    ip->count = (uint8_t)r->count;
    ip->kind = (uint8_t)r->kind;
    ip->size = (uint8_t)ptx_type_bytes(t);
    ip->a = at->a;
    ip->imm = at->imm;
    ip->flags = (uint8_t)(at->flags | order);
    return true;
}

static int take_vector(struct decode *d)
{
    static const char *const words[] = {"v2", "v4", "v8", NULL};
    int k = decode_take_word(d, words);
    return k < 0 ? 1 : 2 << k;
}

/* A parameter variable by name: of the kernel (constant data) or of a call (the frame). */
static bool param_access(struct decode *d, const struct ptx_operand *o, enum ptx_type t, const struct moved *r, bool load)
{
    uint64_t bytes = (uint64_t)ptx_type_bytes(t) * (uint64_t)r->count;
    const struct placed *at = NULL;
    for (int i = 0; i < d->placed_count && !at; i++)
        if (d->placed[i].var == o->var && d->placed[i].function == d->function)
            at = &d->placed[i];
    if (!at || o->bits > o->var->bytes || o->bits + bytes > o->var->bytes)
        return decode_wrong(d, "access beyond parameter '%s'", o->name);
    if (!at->stride && (!load || r->kind == MOVE_128))
        return decode_fail(d, "kernel parameters cannot be %s", load ? "read by 128 bits" : "written");
    if (at->stride > 65535)
        return decode_fail(d, "parameter '%s' is too large", o->name);
    struct insn *ip = decode_emit(d, !at->stride ? OP_ld_param : load ? OP_ld_frame : OP_st_frame);
    ip->d = r->d;
    ip->list = r->list;
    ip->count = (uint8_t)r->count;
    ip->kind = (uint8_t)r->kind;
    ip->size = (uint8_t)ptx_type_bytes(t);
    ip->imm = (int64_t)(at->at + o->bits);
    ip->aux = (uint16_t)at->stride;
    return true;
}

/* The race check of global memory tells unordered what the narrowest write does. */
static void narrow_granule(struct program *p, uint64_t bytes)
{
    while (1ull << p->global_shift > bytes)
        p->global_shift--;
}

/* `c ? v : -1` with v in memory: compilers load it in any case. */
static bool chosen(const struct decode *d, const struct ptx_operand *value)
{
    const struct ptx_instr *next = d->at + 1 < d->f->instr_count ? d->f->instrs[d->at + 1] : NULL;
    bool is = false;
    for (int k = 1; next && instr_is(next, "selp") && k < 3 && k < next->count; k++)
        is |= value->kind == OPERAND_REG && next->operands[k].kind == OPERAND_REG && next->operands[k].reg == value->reg;
    return is;
}

/* Is this the value that a compare-and-swap of this function first expects? Such a value is a guess, and the swap checks it: no race.
 */
static bool guessed(struct decode *d, const struct ptx_operand *value)
{
    bool is = false;
    if (value->kind != OPERAND_REG || d->no_swap == d->f)
        return false;
    const struct ptx_function *none = d->f;
    for (int i = 0; i < d->f->instr_count && !is; i++) {
        const struct ptx_instr *in = d->f->instrs[i];
        if (!instr_is(in, "atom") || !instr_has(in, "cas") || in->operands[2].kind != OPERAND_REG)
            continue;
        none = NULL;
        is = in->operands[2].reg == value->reg;
        for (int k = 0; k < d->f->instr_count && !is; k++) { /* by way of a copy */
            const struct ptx_instr *copy = d->f->instrs[k];
            is = instr_is(copy, "mov") && copy->operands[0].kind == OPERAND_REG && copy->operands[0].reg == in->operands[2].reg &&
                 copy->operands[1].kind == OPERAND_REG && copy->operands[1].reg == value->reg;
        }
    }
    d->no_swap = none;
    return is;
}

struct guard {
    int reg; /* -1: none yet */
    bool negated;
};

/* Is the register used under one guard alone, `depth` operations on it at most before that? */
static bool used_under(const struct decode *d, int reg, int depth, struct guard *g)
{
    static const char passes_on[] = "mov add sub mul mad fma neg abs min max and or xor not shl shr cvt";
    for (int n = 1; n < d->f->instr_count; n++) { /* a use that does not fit is near */
        const struct ptx_instr *in = d->f->instrs[(d->at + n) % d->f->instr_count];
        if (!instr_reads(in, reg))
            continue;
        if (in->guard >= 0 && g->reg < 0)
            *g = (struct guard){in->guard, in->guard_negated};
        if (in->guard >= 0 ? in->guard != g->reg || in->guard_negated != g->negated
                           : !depth || !decode_listed(passes_on, in->op) || in->operands[0].kind != OPERAND_REG ||
                                 !used_under(d, in->operands[0].reg, depth - 1, g))
            return false;
    }
    return true;
}

/* Is the predicate set once, before all loops and before this instruction? */
static bool set_before(const struct decode *d, int pred)
{
    int sets = 0, first = d->graph.count ? d->graph.blocks[0].end : 0;
    for (int b = 0; b < d->graph.count; b++)
        for (int k = 0; k < d->graph.blocks[b].next_count; k++)
            if (d->graph.blocks[b].next[k] == 0)
                return false;
    for (int i = 0; i < d->f->instr_count; i++) {
        const struct ptx_instr *in = d->f->instrs[i];
        bool also_read;
        if (instr_writes(in, &also_read) && (in->operands[0].reg == pred || in->operands[0].reg2 == pred))
            sets += i < first && i < d->at && in->guard < 0 ? 1 : 2;
    }
    return sets == 1;
}

/* Triton loads a scalar in all lanes and uses it under the guard of one: what the others read is dropped. Returns the guard's slot or 0. */
static uint32_t wanted_by(struct decode *d, const struct ptx_operand *value, bool *negated)
{
    struct guard g = {-1, false};
    bool only = d->in->guard < 0 && (value->kind == OPERAND_REG || value->kind == OPERAND_VECTOR);
    if (only && value->kind == OPERAND_REG)
        only = used_under(d, value->reg, 4, &g);
    for (int i = 0; only && value->kind == OPERAND_VECTOR && i < value->count; i++)
        only = value->items[i].kind == OPERAND_REG && used_under(d, value->items[i].reg, 4, &g);
    *negated = g.negated;
    return only && g.reg >= 0 && set_before(d, g.reg) ? decode_slot(d, g.reg) : 0;
}

static bool load_store(struct decode *d, bool load)
{
    if (!decode_form(d))
        return true;
    uint8_t strong = take_order(d);
    enum ptx_space space = decode_take_space(d);
    take_hints(d);
    strong |= take_order(d);
    int vector = take_vector(d);
    enum ptx_type t = decode_take_type(d);
    const struct ptx_operand *value = decode_operand(d, load ? 0 : 1), *where = decode_operand(d, load ? 1 : 0);
    struct moved r;
    struct place_ref at;
    if (ptx_type_bytes(t) == 0 || ptx_type_bytes(t) * vector > 32)
        return decode_fail(d, "type '.%s'", ptx_type_name(t)) || true;
    if (!moved_operands(d, value, t, vector, load, &r))
        return true;
    if (space == SPACE_PARAM && where->kind == OPERAND_ADDRESS && where->var && where->reg < 0) {
        param_access(d, where, t, &r, load);
        return true;
    }
    if (!decode_address(d, where, space, &at))
        return true;
    static const enum op loads[SPACE_COUNT] = {OP_ld_generic, OP_ld_global, OP_ld_shared, OP_ld_local, OP_ld_global, OP_ld_generic};
    static const enum op stores[SPACE_COUNT] = {OP_st_generic, OP_st_global, OP_st_shared, OP_st_local, OP_none, OP_none};
    enum op op = load ? loads[space] : stores[space];
    if (op == OP_none)
        return decode_fail(d, "this space cannot be written") || true;
    if (strong && (space == SPACE_GLOBAL || space == SPACE_GENERIC))
        d->p->ordered = d->p->shares = true;
    d->p->shared_spin |= strong && (space == SPACE_SHARED || space == SPACE_GENERIC);
    if (!load && (space == SPACE_GLOBAL || space == SPACE_GENERIC))
        narrow_granule(d->p, (uint64_t)ptx_type_bytes(t) * (uint64_t)vector);
    while ((space == SPACE_SHARED || space == SPACE_GENERIC) && 1 << d->p->shared_shift > ptx_type_bytes(t))
        d->p->shared_shift--;
    if (load && space == SPACE_GLOBAL && instr_has(d->in, "nc"))
        strong |= ACCESS_CONSTANT;
    if (load && chosen(d, value))
        strong |= ACCESS_CHOSEN;
    if (load && guessed(d, value))
        strong |= ACCESS_STRONG;
    if (load && (space == SPACE_SHARED || space == SPACE_GENERIC) && (d->overtaken[d->at >> 3] >> (d->at & 7) & 1)) {
        strong |= ACCESS_OVERTAKEN;
        d->p->overtaken = true;
    }
    emit_moved(d, op, &r, &at, t, strong);
    struct cold *c = &d->p->cold[d->p->count - 1];
    c->origin = decode_origin_of(d, where);
    if (op == OP_ld_global || op == OP_ld_generic)
        c->wanted = wanted_by(d, value, &c->unwanted);
    return true;
}

static bool unused_result(const struct decode *d, const struct ptx_operand *o)
{
    return o->kind == OPERAND_SINK || (o->kind == OPERAND_REG && d->uses[o->reg] == 0);
}

static bool is_half(enum ptx_type t)
{
    return t == T_F16 || t == T_BF16 || t == T_F16X2 || t == T_BF16X2;
}

static bool decode_atom(struct decode *d, bool red)
{
    static const char *const ops[] = {"add", "min", "max", "inc", "dec", "and", "or", "xor", "exch", "cas", NULL};
    if (!decode_form(d))
        return true;
    uint8_t order = take_order(d);
    enum ptx_space space = decode_take_space(d);
    int op = decode_take_word(d, ops);
    take_hints(d);
    decode_take(d, "noftz");
    int vector = take_vector(d);
    enum ptx_type t = decode_take_type(d);
    int bytes = ptx_type_bytes(t), k = red ? 0 : 1;
    if (space != SPACE_SHARED && bytes > 0)
        narrow_granule(d->p, (uint64_t)bytes);
    bool wide = bytes == 16 && op >= 8 && !red && vector == 1; /* exch and cas of .b128 */
    if (op < 0 || bytes < 2 || (bytes > 8 && !wide) || (ptx_type_float(t) && op != 0 && !((op == 1 || op == 2) && is_half(t))) ||
        (space != SPACE_GLOBAL && space != SPACE_SHARED && space != SPACE_GENERIC))
        return decode_fail(d, "this atomic is not supported") || true;
    /* what a lock in shared memory is made of: then atomics order the warps, too */
    d->p->shared_spin |= (op == 8 || op == 9) && space != SPACE_GLOBAL;
    struct place_ref at;
    if (!decode_address(d, decode_operand(d, k), space, &at))
        return true;
    uint32_t a = NO_REF, b = NO_REF, result = NO_REF, *l = NULL;
    const struct ptx_operand *value = decode_operand(d, k + 1);
    if (vector == 1) {
        a = decode_source(d, value, t, false);
        b = op == 9 ? decode_source(d, decode_operand(d, k + 2), t, false) : NO_REF;
        result = red || decode_operand(d, 0)->kind == OPERAND_SINK ? NO_REF : decode_target(d, decode_operand(d, 0), t, false);
    } else {
        if (value->kind != OPERAND_VECTOR || value->count != vector ||
            (!red && (decode_operand(d, 0)->kind != OPERAND_VECTOR || decode_operand(d, 0)->count != vector)))
            return decode_fail(d, "vectors of %d were expected", vector) || true;
        l = decode_list(d, 2 * vector);
        for (int i = 0; i < vector; i++) {
            l[i] = decode_source(d, &value->items[i], t, false);
            l[vector + i] = red ? NO_REF : decode_target(d, &decode_operand(d, 0)->items[i], t, false);
        }
    }
    bool used = !red && !unused_result(d, decode_operand(d, 0));
    d->p->shares |= space != SPACE_SHARED && used;
    if (space != SPACE_SHARED && (ptx_type_float(t) || op == 3 || op == 4 || op >= 8 || used))
        d->p->ordered = true;
    struct insn *ip = decode_emit(d, OP_atom);
    ip->d = result;
    ip->a = at.a, ip->b = a, ip->c = b;
    ip->imm = at.imm;
    ip->flags = (uint8_t)(at.flags | (order & ~ACCESS_STRONG));
    ip->list = l;
    ip->count = (uint8_t)vector;
    ip->size = (uint8_t)bytes;
    ip->kind = (uint8_t)op;
    ip->aux = (uint16_t)((unsigned)t | (unsigned)space << 8);
    d->p->cold[ip->index].takes = space != SPACE_SHARED && used;
    d->p->cold[ip->index].origin = decode_origin_of(d, decode_operand(d, k));
    return true;
}

static bool decode_cvta(struct decode *d)
{
    if (!decode_form(d))
        return true;
    bool to = decode_take(d, "to");
    enum ptx_space space = decode_take_space(d);
    enum ptx_type t = decode_take_type(d);
    uint64_t window = space == SPACE_SHARED ? SHARED_WINDOW : space == SPACE_LOCAL ? LOCAL_WINDOW : 0;
    uint32_t a = decode_source(d, decode_operand(d, 1), t, false), out = decode_target(d, decode_operand(d, 0), t, false), c = NO_REF;
    if (ptx_type_bytes(t) != 8 || space == SPACE_GENERIC)
        return decode_fail(d, "this form is not supported") || true;
    if (window)
        c = decode_constant(d, to ? WINDOW_BYTES - 1 : window, 8);
    if (!to && d->short_addresses && (space == SPACE_CONST || space == SPACE_PARAM))
        a = decode_widen(d, space, a, 8, decode_scratch(d));
    struct insn *ip = decode_emit(d, !window ? OP_mov_64 : to ? OP_and_64 : OP_add_64);
    ip->d = out, ip->a = a, ip->b = c;
    return true;
}

/* An address or a size, in 64 bits; narrow: its register has 32. */
static uint32_t wide_source(struct decode *d, const struct ptx_operand *o, bool narrow)
{
    if (!narrow || o->kind != OPERAND_REG)
        return decode_source(d, o, T_U64, false);
    uint32_t a = decode_source(d, o, T_U32, false), to = decode_scratch(d);
    struct insn *ip = decode_emit_internal(d, OP_zext_32_64);
    ip->a = a, ip->d = to;
    return to;
}

static bool decode_isspacep(struct decode *d)
{
    if (!decode_form(d))
        return true;
    bool cluster = instr_has(d->in, "shared::cluster");
    enum ptx_space space = decode_take_space(d);
    const struct ptx_operand *o = decode_operand(d, 1);
    if (o->kind == OPERAND_VAR)
        return decode_wrong(d, "a register was expected") || true;
    uint32_t a = wide_source(d, o, o->kind == OPERAND_REG && decode_reg_bytes(d, o->reg) == 4);
    o = decode_operand(d, 0);
    if (o->kind != OPERAND_REG || d->f->regs[o->reg] != T_PRED)
        return decode_fail(d, "the result must be a predicate") || true;
    struct insn *ip = decode_emit(d, OP_isspace);
    ip->d = decode_slot(d, o->reg);
    ip->a = a;
    ip->aux = (uint16_t)space;
    ip->kind = cluster;
    return true;
}

/* Is it a handle of a texture, a sampler or a surface? emu has none. */
static bool decode_istypep(struct decode *d)
{
    const struct ptx_operand *o = decode_operand(d, 0);
    if (!decode_form(d))
        return true;
    d->taken = ~0u;
    decode_source(d, decode_operand(d, 1), T_U64, false);
    if (o->kind != OPERAND_REG || d->f->regs[o->reg] != T_PRED)
        return decode_wrong(d, "the result must be a predicate") || true;
    struct insn *ip = decode_emit(d, OP_isspace);
    ip->d = decode_slot(d, o->reg);
    ip->a = decode_constant(d, 0, 8);
    ip->aux = SPACE_COUNT;
    return true;
}

/* alloca: local memory that a thread takes while it runs. It lies behind the variables of all functions. */
static bool decode_alloca(struct decode *d)
{
    enum ptx_type t = decode_take_type(d);
    bool take = decode_is(d, "alloca"), restore = decode_is(d, "stackrestore");
    const struct ptx_operand *align = take && d->in->count > 2 ? &d->in->operands[2] : NULL;
    if ((t != T_U64 && t != T_U32) || (align && (align->kind != OPERAND_INT || align->bits > 4096 || (align->bits & (align->bits - 1)))))
        return decode_fail(d, "this form is not supported") || true;
    uint32_t a = decode_is(d, "stacksave") ? NO_REF : wide_source(d, decode_operand(d, take), t == T_U32);
    uint32_t to = restore ? NO_REF : decode_target(d, decode_operand(d, 0), t, false), top = t == T_U64 ? to : decode_scratch(d);
    d->p->uses_alloca = true;
    struct insn *ip = decode_emit(d, OP_alloca);
    ip->a = a, ip->d = top;
    ip->imm = take ? (int64_t)(align && align->bits > 8 ? align->bits : 8) : restore ? -1 : -2;
    if (t == T_U32 && !restore) {
        ip = decode_emit_internal(d, OP_trunc_64_32);
        ip->a = top, ip->d = to;
    }
    return true;
}

/* kind: enum fence_kind */
static bool decode_fence(struct decode *d)
{
    if (!decode_form(d))
        return true;
    d->taken = ~0u;
    bool init = instr_has(d->in, "mbarrier_init"), narrow = instr_has(d->in, "cta") || init;
    bool async = instr_has(d->in, "async") || instr_has(d->in, "async::generic"), global = instr_has(d->in, "global"),
         shared = instr_has(d->in, "shared::cta") || instr_has(d->in, "shared::cluster") || instr_has(d->in, "async::generic");
    unsigned proxy = async ? (global ? 0u : FENCE_ASYNC_SHARED) | (shared ? 0u : FENCE_ASYNC_GLOBAL) : 0u;
    bool map = instr_has(d->in, "tensormap::generic");
    decode_emit(d, OP_fence)->kind = (uint8_t)(map                         ? (narrow ? 0u : FENCE_WIDE) | FENCE_MAP
                                               : instr_has(d->in, "proxy") ? proxy
                                                                           : (narrow ? 0u : FENCE_WIDE) | (init ? FENCE_INIT : 0u));
    return true;
}

static bool decode_discard(struct decode *d)
{
    struct place_ref at;
    const struct ptx_operand *bytes = d->in->count > 1 ? &d->in->operands[1] : NULL;
    if (!decode_form(d))
        return true;
    d->taken = ~0u;
    if (!bytes || bytes->kind != OPERAND_INT || bytes->bits != DISCARD_BYTES)
        return decode_fail(d, "it must have 128 bytes") || true;
    if (!decode_address(d, decode_operand(d, 0), SPACE_GLOBAL, &at))
        return true;
    struct insn *ip = decode_emit(d, OP_discard);
    ip->a = at.a, ip->imm = at.imm, ip->flags = at.flags;
    return true;
}

/* st.bulk: zeros. */
static bool decode_store_bulk(struct decode *d)
{
    struct place_ref at;
    enum ptx_space space = instr_has(d->in, "shared::cta") ? SPACE_SHARED : SPACE_GENERIC;
    if (!decode_form(d) || !decode_operand_count(d, 3, 3))
        return true;
    d->taken = ~0u;
    const struct ptx_operand *size = decode_operand(d, 1), *value = decode_operand(d, 2);
    if (value->kind != OPERAND_INT || value->bits)
        return decode_wrong(d, "the value is 0") || true;
    if (size->kind == OPERAND_INT && size->bits % 8)
        return decode_wrong(d, "the size is a multiple of 8") || true;
    if (!decode_address(d, decode_operand(d, 0), space, &at))
        return true;
    const bool narrow = size->kind == OPERAND_REG && decode_reg_bytes(d, size->reg) == 4;
    uint32_t bytes = decode_source(d, size, narrow ? T_U32 : T_U64, false);
    struct insn *ip = decode_emit(d, OP_store_bulk);
    ip->a = at.a, ip->imm = at.imm, ip->flags = at.flags;
    ip->b = bytes;
    ip->size = narrow ? 4 : 8;
    ip->aux = (uint16_t)space;
    return true;
}

/* What changes neither results nor counts here. */
static bool decode_hint(struct decode *d)
{
    static const char *const hints[] = {"prefetch", "prefetchu", "applypriority", "pmevent", NULL};
    for (int i = 0; hints[i]; i++)
        if (decode_is(d, hints[i])) {
            if (!decode_form(d))
                return true;
            d->taken = ~0u;
            decode_emit(d, OP_nop);
            return true;
        }
    return false;
}

bool decode_memory(struct decode *d)
{
    if (decode_is(d, "ld") || decode_is(d, "ldu"))
        return load_store(d, true);
    if (decode_is(d, "st") && instr_has(d->in, "bulk"))
        return decode_store_bulk(d);
    bool posted = instr_has(d->in, "async") && instr_has(d->in, "release"); /* a store or reduction as any other: it lands at once */
    if (posted)
        decode_take(d, "async");
    if (posted && (instr_has(d->in, "cta") || (instr_has(d->in, "mmio") && !instr_has(d->in, "sys")) ||
                   (instr_has(d->in, "cluster") && decode_is(d, "red"))))
        return decode_wrong(d, "'.release' of another scope is needed") || true;
    if (decode_is(d, "st") && (posted || !instr_has(d->in, "async")))
        return load_store(d, false);
    if (decode_is(d, "atom"))
        return decode_atom(d, false);
    if (decode_is(d, "red") && (posted || !instr_has(d->in, "async")))
        return decode_atom(d, true);
    if (decode_is(d, "cvta"))
        return decode_cvta(d);
    if (decode_is(d, "discard"))
        return decode_discard(d);
    if (decode_is(d, "istypep"))
        return decode_istypep(d);
    if (decode_is(d, "isspacep"))
        return decode_isspacep(d);
    if (decode_is(d, "createpolicy")) {
        if (!decode_form(d))
            return true;
        d->taken = ~0u;
        uint32_t to = decode_target(d, decode_operand(d, 0), T_B64, false), zero = decode_constant(d, 0, 8);
        struct insn *ip = decode_emit(d, OP_mov_64);
        ip->d = to, ip->a = zero;
        return true;
    }
    if (decode_is(d, "alloca") || decode_is(d, "stacksave") || decode_is(d, "stackrestore"))
        return decode_alloca(d);
    if (decode_is(d, "membar") || decode_is(d, "fence"))
        return decode_fence(d);
    return decode_hint(d);
}
