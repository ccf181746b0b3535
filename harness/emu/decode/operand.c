/* emu/decode/operand: constants, registers and addresses as slots. */
#include "emu/decode/decode.h"
#include <stdlib.h>
#include <string.h>

#define MAX_CONSTANTS (64u << 20)

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
static uint32_t decode_constant_mask(struct decode *d, bool value)
{
    return decode_constant(d, value ? 0xffffffffu : 0, 4);
}

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

int decode_reg_bytes(const struct decode *d, int reg)
{
    return slot_bytes(d->f->regs[reg]) / 32;
}
uint32_t decode_slot(const struct decode *d, int reg)
{
    return d->slots.offset[reg];
}
uint32_t decode_scratch(struct decode *d)
{
    return (uint32_t)(d->scratch++ & 15) * 256;
}

/* Address of a variable or function as a constant; *local: it has to be added to the activation's base. */
static bool decode_is_address(struct decode *d, const struct ptx_operand *o, uint64_t *value, bool *local)
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
            return decode_wrong(d, "unknown symbol '%s'", o->name);
    }
    if (!v)
        return decode_fail(d, "a variable was expected");
    if (v->space == SPACE_GLOBAL || v->space == SPACE_CONST) {
        *value = v->address + o->bits;
        d->p->has_addresses = true;
        return v->address != 0 || decode_fail(d, "'%s' is declared but not defined", v->name);
    }
    const struct placed *at = decode_find_placed(d, v, d->function);
    if (!at)
        return decode_fail(d, "'%s' is not allowed here", v->name);
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
    if (s == SPECIAL_RESERVED_1)
        d->p->shared_from = SHARED_GROUPS;
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
    case OPERAND_INT:
    case OPERAND_F32:
    case OPERAND_F64: return immediate(d, o, t);
    case OPERAND_SPECIAL: return special_operand(d, o, bytes);
    case OPERAND_VAR:
    case OPERAND_SYMBOL:
        if (!decode_is_address(d, o, &value, &local))
            return 0;
        if (local) {
            struct insn *ip = decode_emit_internal(d, OP_mov_local);
            ip->imm = (int64_t)value;
            return ip->d = decode_scratch(d);
        }
        if (bytes == 4 && o->var && o->var->space == SPACE_GLOBAL) {
            decode_fail(d, "the address of '%s' in global memory does not fit 32 bits", o->name);
            return 0;
        }
        return decode_constant(d, value, bytes < 4 ? 8 : bytes);
    default: decode_fail(d, "an operand of this kind does not fit here"); return 0;
    }
}

uint32_t decode_target(struct decode *d, const struct ptx_operand *o, enum ptx_type t, bool wide)
{
    int bytes = ptx_type_bytes(t) < 2 ? 2 : ptx_type_bytes(t);
    if (o->kind == OPERAND_SINK)
        return decode_scratch(d);
    if (o->kind != OPERAND_REG || d->f->regs[o->reg] == T_PRED ||
        (wide ? decode_reg_bytes(d, o->reg) < bytes : decode_reg_bytes(d, o->reg) != bytes)) {
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
    } words[] = {{"global", SPACE_GLOBAL},      {"shared::cta", SPACE_SHARED}, {"shared::cluster", SPACE_SHARED},
                 {"shared", SPACE_SHARED},      {"local", SPACE_LOCAL},        {"const", SPACE_CONST},
                 {"param::entry", SPACE_PARAM}, {"param::func", SPACE_PARAM},  {"param", SPACE_PARAM}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (decode_take(d, words[i].word))
            return words[i].space;
    return SPACE_GENERIC;
}

uint32_t decode_widen(struct decode *d, enum ptx_space space, uint32_t a, int bytes, uint32_t to)
{
    uint64_t base = space == SPACE_CONST ? d->constant_base : PARAM_WINDOW;
    struct insn *ip;
    if (bytes == 8) {
        uint32_t low = decode_scratch(d);
        ip = decode_emit_internal(d, OP_trunc_64_32);
        ip->a = a, ip->d = low;
        a = low;
    }
    uint32_t from_base = decode_scratch(d), offset = decode_scratch(d), back = decode_constant(d, 0 - (uint32_t)base, 4);
    ip = decode_emit_internal(d, OP_add_32);
    ip->a = a, ip->b = back, ip->d = from_base;
    ip = decode_emit_internal(d, OP_sext_32_64);
    ip->a = from_base, ip->d = offset;
    uint32_t window = decode_constant(d, base, 8);
    ip = decode_emit_internal(d, OP_add_64);
    ip->a = offset, ip->b = window, ip->d = to;
    return to;
}

bool decode_address(struct decode *d, const struct ptx_operand *o, enum ptx_space space, struct place_ref *out)
{
    bool narrow = space == SPACE_SHARED || space == SPACE_LOCAL, small = space == SPACE_CONST || space == SPACE_PARAM, local = false;
    uint64_t value = o->bits;
    *out = (struct place_ref){0};
    if (o->kind != OPERAND_ADDRESS)
        return decode_fail(d, "an address in brackets was expected");
    if (o->var && (space != SPACE_GENERIC ? o->var->space != space : o->var->space == SPACE_PARAM))
        return decode_wrong(d, "'%s' lies in another state space", o->var->name);
    if (o->reg >= 0) {
        int bytes = decode_reg_bytes(d, o->reg);
        if (d->f->regs[o->reg] == T_PRED || (bytes != 8 && !((narrow || small) && bytes == 4)))
            return decode_fail(d, "'%s' is not an address register", o->name);
        out->a = decode_slot(d, o->reg);
        if (small && (bytes == 4 || d->short_addresses))
            out->a = decode_widen(d, space, out->a, bytes, decode_scratch(d));
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

const char *const special_names[SPECIAL_COUNT] = {
    [SPECIAL_TID_X] = "%tid.x",
    [SPECIAL_TID_Y] = "%tid.y",
    [SPECIAL_TID_Z] = "%tid.z",
    [SPECIAL_NTID_X] = "%ntid.x",
    [SPECIAL_NTID_Y] = "%ntid.y",
    [SPECIAL_NTID_Z] = "%ntid.z",
    [SPECIAL_CTAID_X] = "%ctaid.x",
    [SPECIAL_CTAID_Y] = "%ctaid.y",
    [SPECIAL_CTAID_Z] = "%ctaid.z",
    [SPECIAL_NCTAID_X] = "%nctaid.x",
    [SPECIAL_NCTAID_Y] = "%nctaid.y",
    [SPECIAL_NCTAID_Z] = "%nctaid.z",
    [SPECIAL_LANEID] = "%laneid",
    [SPECIAL_WARPID] = "%warpid",
    [SPECIAL_NWARPID] = "%nwarpid",
    [SPECIAL_SMID] = "%smid",
    [SPECIAL_NSMID] = "%nsmid",
    [SPECIAL_GRIDID] = "%gridid",
    [SPECIAL_LANEMASK_EQ] = "%lanemask_eq",
    [SPECIAL_LANEMASK_LE] = "%lanemask_le",
    [SPECIAL_LANEMASK_LT] = "%lanemask_lt",
    [SPECIAL_LANEMASK_GE] = "%lanemask_ge",
    [SPECIAL_LANEMASK_GT] = "%lanemask_gt",
    [SPECIAL_CLOCK] = "%clock",
    [SPECIAL_CLOCK_HI] = "%clock_hi",
    [SPECIAL_CLOCK64] = "%clock64",
    [SPECIAL_GLOBALTIMER] = "%globaltimer",
    [SPECIAL_GLOBALTIMER_LO] = "%globaltimer_lo",
    [SPECIAL_GLOBALTIMER_HI] = "%globaltimer_hi",
    [SPECIAL_DYNAMIC_SMEM] = "%dynamic_smem_size",
    [SPECIAL_TOTAL_SMEM] = "%total_smem_size",
    [SPECIAL_CLUSTERID_X] = "%clusterid.x",
    [SPECIAL_CLUSTERID_Y] = "%clusterid.y",
    [SPECIAL_CLUSTERID_Z] = "%clusterid.z",
    [SPECIAL_NCLUSTERID_X] = "%nclusterid.x",
    [SPECIAL_NCLUSTERID_Y] = "%nclusterid.y",
    [SPECIAL_NCLUSTERID_Z] = "%nclusterid.z",
    [SPECIAL_CLUSTER_CTAID_X] = "%cluster_ctaid.x",
    [SPECIAL_CLUSTER_CTAID_Y] = "%cluster_ctaid.y",
    [SPECIAL_CLUSTER_CTAID_Z] = "%cluster_ctaid.z",
    [SPECIAL_CLUSTER_NCTAID_X] = "%cluster_nctaid.x",
    [SPECIAL_CLUSTER_NCTAID_Y] = "%cluster_nctaid.y",
    [SPECIAL_CLUSTER_NCTAID_Z] = "%cluster_nctaid.z",
    [SPECIAL_CLUSTER_CTARANK] = "%cluster_ctarank",
    [SPECIAL_CLUSTER_NCTARANK] = "%cluster_nctarank",
    [SPECIAL_IS_EXPLICIT_CLUSTER] = "%is_explicit_cluster",
    [SPECIAL_ENVREG0] = "%envreg0",
    [SPECIAL_ENVREG1] = "%envreg1",
    [SPECIAL_ENVREG2] = "%envreg2",
    [SPECIAL_AGGREGATE_SMEM] = "%aggr_smem_size",
    [SPECIAL_RESERVED_BEGIN] = "%reserved_smem_offset_begin",
    [SPECIAL_RESERVED_END] = "%reserved_smem_offset_end",
    [SPECIAL_RESERVED_1] = "%reserved_smem_offset_1",
    [SPECIAL_RESERVED_CAP] = "%reserved_smem_offset_cap",
    [SPECIAL_GRAPH_EXEC] = "%current_graph_exec",
};
