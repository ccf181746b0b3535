/* emu/decode/compare: setp, set and selp. */
#include "emu/decode/decode.h"

static const char *const compare_words[] = {"eq",  "ne",  "lt",  "le",  "gt", "ge", "equ", "neu", "ltu", "leu",
                                            "gtu", "geu", "num", "nan", "lo", "ls", "hi",  "hs",  NULL};
static int take_compare(struct decode *d)
{
    static const int unsigned_words[] = {CMP_LT, CMP_LE, CMP_GT, CMP_GE};
    int k = decode_take_word(d, compare_words);
    if (k < 0)
        decode_fail(d, "a comparison was expected");
    return k >= 14 ? unsigned_words[k - 14] : k;
}

static enum op compare_op(enum ptx_type t)
{
    switch (t) {
    case T_B16:
    case T_U16: return OP_setp_u16;
    case T_S16: return OP_setp_s16;
    case T_B32:
    case T_U32: return OP_setp_u32;
    case T_S32: return OP_setp_s32;
    case T_B64:
    case T_U64: return OP_setp_u64;
    case T_S64: return OP_setp_s64;
    case T_F32: return OP_setp_f32;
    case T_F64: return OP_setp_f64;
    case T_F16:
    case T_BF16:
    case T_F16X2:
    case T_BF16X2: return OP_setp_half;
    default: return OP_none;
    }
}

uint32_t decode_flushed(struct decode *d, uint32_t ref)
{
    struct insn *ip = decode_emit_internal(d, OP_flush_f32);
    ip->a = ref;
    return ip->d = decode_scratch(d);
}

/* What setp and set have in common. */
struct comparison {
    int compare, join;
    bool ftz, negated;
    uint32_t a, b, c; /* c: the predicate that joins */
};

static struct comparison take_comparison(struct decode *d)
{
    static const char *const joins[] = {"and", "or", "xor", NULL};
    struct comparison k = {.compare = take_compare(d), .c = NO_REF};
    k.join = decode_take_word(d, joins) + 1;
    k.ftz = decode_take(d, "ftz");
    return k;
}

static void flush_both(struct decode *d, struct comparison *k, enum ptx_type t)
{
    if (!k->ftz || t != T_F32)
        return;
    k->a = decode_flushed(d, k->a);
    k->b = decode_flushed(d, k->b);
}

static void take_joined(struct decode *d, struct comparison *k)
{
    if (k->join)
        k->c = decode_pred(d, decode_operand(d, 3), &k->negated);
}

/* The predicate `to` of two numbers of type t. */
static struct insn *emit_comparison(struct decode *d, const struct comparison *k, enum ptx_type t, uint32_t to)
{
    struct insn *ip = decode_emit(d, compare_op(t));
    ip->d = to, ip->a = k->a, ip->b = k->b, ip->c = k->c;
    ip->aux = (uint16_t)k->compare;
    ip->flags = (uint8_t)(k->join | (k->negated ? JOIN_NEGATED : 0));
    ip->size = (uint8_t)ptx_type_bytes(t);
    ip->kind = t == T_BF16 || t == T_BF16X2;
    ip->imm = k->ftz;
    return ip;
}

bool decode_setp(struct decode *d)
{
    struct comparison k = take_comparison(d);
    enum ptx_type t = decode_take_type(d);
    const struct ptx_operand *o = decode_operand(d, 0);
    k.a = decode_source(d, decode_operand(d, 1), t, false), k.b = decode_source(d, decode_operand(d, 2), t, false);
    uint32_t *l = decode_list(d, 1);
    take_joined(d, &k);
    if (compare_op(t) == OP_none || (o->kind != OPERAND_SINK && (o->kind != OPERAND_REG || d->f->regs[o->reg] != T_PRED)) ||
        (o->reg2 >= 0 && d->f->regs[o->reg2] != T_PRED))
        return decode_fail(d, "these operands do not fit") || true;
    flush_both(d, &k, t);
    struct insn *ip = emit_comparison(d, &k, t, o->kind == OPERAND_SINK ? NO_REF : decode_slot(d, o->reg));
    if (o->reg2 >= 0) {
        ip->count = 2;
        l[0] = decode_slot(d, o->reg2);
        ip->list = l;
    }
    return true;
}

/* set: -1 or 1.0 where true, else 0. Halves at once; others by a comparison into scratch and a selection. */
bool decode_set(struct decode *d)
{
    struct comparison k = take_comparison(d);
    enum ptx_type td = decode_take_type(d), ts = decode_take_type(d);
    k.a = decode_source(d, decode_operand(d, 1), ts, false), k.b = decode_source(d, decode_operand(d, 2), ts, false);
    uint32_t to = decode_target(d, decode_operand(d, 0), td, false);
    if (compare_op(ts) == OP_setp_half && ptx_type_bytes(ts) == ptx_type_bytes(td) && (ts != T_F16 || td != T_BF16) &&
        (!k.join || ptx_type_bytes(ts) == 4)) {
        take_joined(d, &k);
        struct insn *ip = decode_emit(d, OP_set_half);
        ip->d = to, ip->a = k.a, ip->b = k.b;
        ip->aux = (uint16_t)k.compare;
        ip->size = (uint8_t)ptx_type_bytes(ts);
        ip->kind = ts == T_BF16 || ts == T_BF16X2;
        ip->count = ptx_type_float(td) ? td == T_BF16 || td == T_BF16X2 : 2;
        ip->imm = k.ftz;
        ip->c = k.c;
        ip->flags = (uint8_t)(k.join | (k.negated ? JOIN_NEGATED : 0));
        return true;
    }
    bool narrow = ptx_type_bytes(td) == 2;
    if (compare_op(ts) == OP_none || ts == T_F16X2 || ts == T_BF16X2 || td == T_F16X2 || td == T_BF16X2)
        return decode_fail(d, "these types are not supported") || true;
    flush_both(d, &k, ts);
    uint64_t one = td == T_F32 ? 0x3f800000u : td == T_F16 ? 0x3c00u : td == T_BF16 ? 0x3f80u : narrow ? 0xffffu : 0xffffffffu;
    int bytes = narrow ? 2 : 4;
    uint32_t yes = decode_constant(d, one, bytes), no = decode_constant(d, 0, bytes), p = decode_scratch(d);
    take_joined(d, &k);
    emit_comparison(d, &k, ts, p);
    struct insn *ip = decode_emit_internal(d, narrow ? OP_selp_16 : OP_selp_32);
    ip->d = to, ip->a = yes, ip->b = no, ip->c = p;
    return true;
}

bool decode_select(struct decode *d)
{
    enum ptx_type t = decode_take_type(d);
    bool negated;
    uint32_t a = decode_source(d, decode_operand(d, 1), t, false), b = decode_source(d, decode_operand(d, 2), t, false),
             c = decode_pred(d, decode_operand(d, 3), &negated);
    uint32_t to = decode_target(d, decode_operand(d, 0), t, false);
    struct insn *ip = decode_emit(d, decode_by_width(d, t, OP_selp_16, OP_selp_32, OP_selp_64));
    ip->d = to, ip->a = a, ip->b = b, ip->c = c;
    ip->flags = negated ? 4 : 0;
    return true;
}
