/* emu/decode/alu: integers, bits, predicates, moves, conversions. */
#include "emu/decode/decode.h"

/* By width: op16, op32, op64. */
enum op decode_by_width(struct decode *d, enum ptx_type t, enum op op16, enum op op32, enum op op64)
{
    enum op op = ptx_type_bytes(t) == 2 ? op16 : ptx_type_bytes(t) == 4 ? op32 : ptx_type_bytes(t) == 8 ? op64 : OP_none;
    if (op == OP_none)
        decode_fail(d, "type '.%s' is not supported here", ptx_type_name(t));
    return op;
}

/* The first n operands behind the result, all of type t. */
static void sources(struct decode *d, enum ptx_type t, int n, uint32_t s[3])
{
    for (int i = 0; i < n; i++)
        s[i] = decode_source(d, decode_operand(d, 1 + i), t, false);
}

/* Emits op with d and n sources, all of type t. */
bool decode_simple(struct decode *d, enum op op, enum ptx_type t, int n)
{
    uint32_t s[3] = {NO_REF, NO_REF, NO_REF};
    sources(d, t, n, s);
    uint32_t to = decode_target(d, decode_operand(d, 0), t, false);
    if (op == OP_none)
        return decode_fail(d, "type '.%s' is not supported here", ptx_type_name(t));
    struct insn *ip = decode_emit(d, op);
    ip->d = to;
    ip->a = s[0];
    ip->b = s[1];
    ip->c = s[2];
    return true;
}

static enum op signed_op(enum ptx_type t, enum op u16, enum op s16, enum op u32, enum op s32, enum op u64, enum op s64)
{
    switch (t) {
    case T_U16: return u16;
    case T_S16: return s16;
    case T_U32: return u32;
    case T_S32: return s32;
    case T_U64: return u64;
    case T_S64: return s64;
    default: return OP_none;
    }
}

/* add.cc, addc, sub.cc, subc */
static bool with_carry(struct decode *d, enum ptx_type t, bool reads, bool subtract)
{
    bool writes = decode_take(d, "cc");
    if (!decode_simple(d, ptx_type_bytes(t) == 4 ? OP_addc_32 : ptx_type_bytes(t) == 8 ? OP_addc_64 : OP_none, t, 2))
        return true;
    d->p->code[d->p->count - 1].flags = (uint8_t)(reads | writes << 1 | subtract << 2);
    return true;
}

static bool decode_addsub(struct decode *d, bool subtract)
{
    enum ptx_type t = decode_take_type(d);
    if (instr_has(d->in, "cc"))
        return with_carry(d, t, false, subtract);
    if (decode_take(d, "sat")) {
        decode_simple(d, t == T_S32 ? (subtract ? OP_sub_sat_s32 : OP_add_sat_s32) : OP_none, t, 2);
        return true;
    }
    if (t == T_U16X2 || t == T_S16X2) {
        decode_simple(d, subtract ? OP_none : OP_add_16x2, t, 2);
        return true;
    }
    decode_simple(
        d, subtract ? decode_by_width(d, t, OP_sub_16, OP_sub_32, OP_sub_64) : decode_by_width(d, t, OP_add_16, OP_add_32, OP_add_64), t,
        2);
    return true;
}

static enum ptx_type doubled(enum ptx_type t)
{
    switch (t) {
    case T_U16: return T_U32;
    case T_S16: return T_S32;
    case T_U32: return T_U64;
    case T_S32: return T_S64;
    default: return T_NONE;
    }
}

static bool wide_product(struct decode *d, enum ptx_type t, bool mad)
{
    enum op op = mad ? (t == T_U16   ? OP_madwide_u16
                        : t == T_S16 ? OP_madwide_s16
                        : t == T_U32 ? OP_madwide_u32
                        : t == T_S32 ? OP_madwide_s32
                                     : OP_none)
                     : (t == T_U16   ? OP_mulwide_u16
                        : t == T_S16 ? OP_mulwide_s16
                        : t == T_U32 ? OP_mulwide_u32
                        : t == T_S32 ? OP_mulwide_s32
                                     : OP_none);
    if (op == OP_none)
        return decode_fail(d, "type '.%s' is not supported here", ptx_type_name(t)) || true;
    uint32_t a = decode_source(d, decode_operand(d, 1), t, false), b = decode_source(d, decode_operand(d, 2), t, false),
             c = mad ? decode_source(d, decode_operand(d, 3), doubled(t), false) : NO_REF;
    uint32_t to = decode_target(d, decode_operand(d, 0), doubled(t), false);
    struct insn *ip = decode_emit(d, op);
    ip->d = to, ip->a = a, ip->b = b, ip->c = c;
    return true;
}

static bool decode_mul(struct decode *d, bool mad)
{
    static const char *const halves[] = {"lo", "hi", "wide", NULL};
    bool reads = decode_is(d, "madc"), writes = decode_take(d, "cc");
    int half = decode_take_word(d, halves);
    enum ptx_type t = decode_take_type(d);
    if (half == 2)
        return wide_product(d, t, mad);
    if (reads || writes) {
        if (decode_simple(d, ptx_type_bytes(t) == 4 ? OP_madc_32 : ptx_type_bytes(t) == 8 ? OP_madc_64 : OP_none, t, 3)) {
            struct insn *ip = &d->p->code[d->p->count - 1];
            ip->flags = (uint8_t)(reads | writes << 1);
            ip->kind = half == 1 ? 1 + ptx_type_signed(t) : 0;
        }
        return true;
    }
    bool sat = half == 1 && mad && decode_take(d, "sat");
    if (half == 1 && mad && ptx_type_bytes(t) == 2) {
        uint32_t in[3], high = decode_scratch(d);
        sources(d, t, 3, in);
        uint32_t to = decode_target(d, decode_operand(d, 0), t, false);
        struct insn *ip = decode_emit(d, t == T_U16 ? OP_mulhi_u16 : OP_mulhi_s16);
        ip->d = high, ip->a = in[0], ip->b = in[1];
        ip = decode_emit_internal(d, OP_add_16);
        ip->d = to, ip->a = high, ip->b = in[2];
    } else if (sat)
        decode_simple(d, t == T_S32 ? OP_madhi_sat_s32 : OP_none, t, 3);
    else if (half == 1 && mad)
        decode_simple(d, signed_op(t, OP_none, OP_none, OP_madhi_u32, OP_madhi_s32, OP_madhi_u64, OP_madhi_s64), t, 3);
    else if (half == 1)
        decode_simple(d, signed_op(t, OP_mulhi_u16, OP_mulhi_s16, OP_mulhi_u32, OP_mulhi_s32, OP_mulhi_u64, OP_mulhi_s64), t, 2);
    else if (mad)
        decode_simple(d, decode_by_width(d, t, OP_madlo_16, OP_madlo_32, OP_madlo_64), t, 3);
    else
        decode_simple(d, decode_by_width(d, t, OP_mullo_16, OP_mullo_32, OP_mullo_64), t, 2);
    return true;
}

static bool decode_mul24(struct decode *d, bool add)
{
    bool high = decode_take(d, "hi"), saturated = high && add && decode_take(d, "sat");
    if (!high && !decode_take(d, "lo"))
        return decode_fail(d, ".lo or .hi is expected") || true;
    enum ptx_type t = decode_take_type(d);
    if (high) {
        decode_simple(d,
                      t == T_U32 && !saturated ? (add ? OP_mad24_hi_u32 : OP_mul24_hi_u32)
                      : t == T_S32             ? (saturated ? OP_mad24_hi_sat_s32
                                                  : add     ? OP_mad24_hi_s32
                                                            : OP_mul24_hi_s32)
                                               : OP_none,
                      t, 2 + add);
        return true;
    }
    decode_simple(d,
                  t == T_U32   ? (add ? OP_mad24_u32 : OP_mul24_u32)
                  : t == T_S32 ? (add ? OP_mad24_s32 : OP_mul24_s32)
                               : OP_none,
                  t, 2 + add);
    return true;
}

static bool decode_minmax(struct decode *d, bool min)
{
    bool relu = decode_take(d, "relu");
    enum ptx_type t = decode_take_type(d);
    if (t == T_U16X2 || t == T_S16X2) {
        decode_simple(d, t == T_U16X2 ? (min ? OP_min_u16x2 : OP_max_u16x2) : min ? OP_min_s16x2 : OP_max_s16x2, t, 2);
        if (relu && t == T_U16X2)
            return decode_fail(d, "'.relu' needs a signed type") || true;
        if (relu && !d->failed) {
            uint32_t to = d->p->code[d->p->count - 1].d, zero = decode_constant(d, 0, 4);
            struct insn *ip = decode_emit_internal(d, OP_max_s16x2);
            ip->d = ip->a = to, ip->b = zero;
        }
        return true;
    }
    decode_simple(d,
                  min ? signed_op(t, OP_min_u16, OP_min_s16, OP_min_u32, OP_min_s32, OP_min_u64, OP_min_s64)
                      : signed_op(t, OP_max_u16, OP_max_s16, OP_max_u32, OP_max_s32, OP_max_u64, OP_max_s64),
                  t, 2);
    if (relu && !d->failed) {
        uint32_t to = d->p->code[d->p->count - 1].d;
        struct insn *ip = decode_emit_internal(d, OP_relu_s32);
        ip->d = ip->a = to;
        if (t != T_S32)
            decode_fail(d, "'.relu' needs .s32");
    }
    return true;
}

static bool decode_shift(struct decode *d, bool left)
{
    enum ptx_type t = decode_take_type(d);
    enum op op;
    if (left)
        op = decode_by_width(d, t, OP_shl_16, OP_shl_32, OP_shl_64);
    else if (ptx_type_signed(t))
        op = decode_by_width(d, t, OP_shr_s16, OP_shr_s32, OP_shr_s64);
    else
        op = decode_by_width(d, t, OP_shr_u16, OP_shr_u32, OP_shr_u64);
    uint32_t a = decode_source(d, decode_operand(d, 1), t, false), b = decode_source(d, decode_operand(d, 2), T_U32, false),
             to = decode_target(d, decode_operand(d, 0), t, false);
    struct insn *ip = decode_emit(d, op);
    ip->d = to, ip->a = a, ip->b = b;
    return true;
}

static bool decode_funnel(struct decode *d)
{
    bool left = decode_take(d, "l");
    if (!left)
        decode_take(d, "r");
    bool wrap = decode_take(d, "wrap");
    if (!wrap)
        decode_take(d, "clamp");
    enum ptx_type t = decode_take_type(d);
    decode_simple(d, left ? (wrap ? OP_shf_l_wrap : OP_shf_l_clamp) : wrap ? OP_shf_r_wrap : OP_shf_r_clamp, t, 3);
    return true;
}

/* d is 32 bits whatever the source's width */
static bool counting(struct decode *d, enum op op32, enum op op64, int flags)
{
    enum ptx_type t = decode_take_type(d);
    uint32_t a = decode_source(d, decode_operand(d, 1), t, false), to = decode_target(d, decode_operand(d, 0), T_U32, false);
    struct insn *ip = decode_emit(d, ptx_type_bytes(t) == 8 ? op64 : op32);
    ip->d = to, ip->a = a, ip->flags = (uint8_t)flags;
    return true;
}

static bool decode_bfind(struct decode *d)
{
    int amount = decode_take(d, "shiftamt");
    bool is_signed = instr_has(d->in, "s32") || instr_has(d->in, "s64");
    return counting(d, is_signed ? OP_bfind_s32 : OP_bfind_u32, is_signed ? OP_bfind_s64 : OP_bfind_u64, amount);
}

static bool decode_fields(struct decode *d, bool insert)
{
    enum ptx_type t = decode_take_type(d);
    bool wide = ptx_type_bytes(t) == 8;
    uint32_t to = decode_target(d, decode_operand(d, 0), t, false), a = decode_source(d, decode_operand(d, 1), t, false);
    uint32_t b = decode_source(d, decode_operand(d, 2), insert ? t : T_U32, false),
             c = decode_source(d, decode_operand(d, 3), T_U32, false), *l = NULL;
    if (insert) {
        l = decode_list(d, 1);
        l[0] = decode_source(d, decode_operand(d, 4), T_U32, false);
    }
    struct insn *ip = decode_emit(d, insert               ? (wide ? OP_bfi_64 : OP_bfi_32)
                                     : ptx_type_signed(t) ? (wide ? OP_bfe_s64 : OP_bfe_s32)
                                     : wide               ? OP_bfe_u64
                                                          : OP_bfe_u32);
    ip->d = to, ip->a = a, ip->b = b, ip->c = c, ip->list = l;
    return true;
}

static bool decode_prmt(struct decode *d)
{
    static const char *const modes[] = {"f4e", "b4e", "rc8", "ecl", "ecr", "rc16", NULL};
    int mode = decode_take_word(d, modes) + 1;
    enum ptx_type t = decode_take_type(d);
    if (decode_simple(d, OP_prmt, t, 3))
        d->p->code[d->p->count - 1].aux = (uint16_t)mode;
    return true;
}

static bool decode_lop3(struct decode *d)
{
    static const char *const joins[] = {"and", "or", NULL};
    int join = decode_take_word(d, joins) + 1;
    enum ptx_type t = decode_take_type(d);
    const struct ptx_operand *table = decode_operand(d, 4), *o = decode_operand(d, 0);
    if (table->kind != OPERAND_INT || d->in->count != (join ? 6 : 5) || (join > 0) != (o->reg2 >= 0))
        return decode_fail(d, "this form is not supported") || true;
    uint32_t in[3];
    sources(d, t, 3, in);
    uint32_t to = join ? decode_scratch(d) : decode_target(d, o, t, false);
    struct insn *ip = decode_emit(d, OP_lop3);
    ip->d = to, ip->a = in[0], ip->b = in[1], ip->c = in[2];
    ip->imm = (int64_t)(table->bits & 255);
    if (!join)
        return true;
    bool negated;
    uint32_t c = decode_pred(d, decode_operand(d, 5), &negated), zero = decode_constant(d, 0, 4);
    if (d->f->regs[o->reg2] != T_PRED)
        return decode_fail(d, "the second result must be a predicate") || true;
    ip = decode_emit_internal(d, OP_setp_u32);
    ip->d = decode_slot(d, o->reg2), ip->a = to, ip->b = zero, ip->c = c;
    ip->aux = CMP_NE;
    ip->flags = (uint8_t)(join | (negated ? JOIN_NEGATED : 0));
    if (o->kind == OPERAND_REG) {
        ip = decode_emit_internal(d, OP_mov_32);
        ip->d = decode_slot(d, o->reg), ip->a = to;
    }
    return true;
}

static bool decode_dot(struct decode *d, bool four)
{
    static const char *const halves[] = {"lo", "hi", NULL};
    int half = four ? 0 : decode_take_word(d, halves);
    enum ptx_type ta = decode_take_type(d), tb = decode_take_type(d);
    if (decode_simple(d, four ? OP_dp4a : OP_dp2a, T_B32, 3))
        d->p->code[d->p->count - 1].flags = (uint8_t)(ptx_type_signed(ta) | ptx_type_signed(tb) << 1 | (half == 1) << 2);
    return true;
}

/* ---- logic, on registers and predicates ---- */
bool decode_predicate_logic(struct decode *d, enum op op)
{
    bool na, nb = false;
    uint32_t a = decode_pred(d, decode_operand(d, 1), &na), b = op == OP_mov_pred ? NO_REF : decode_pred(d, decode_operand(d, 2), &nb);
    const struct ptx_operand *o = decode_operand(d, 0);
    if (o->kind != OPERAND_REG || d->f->regs[o->reg] != T_PRED)
        return decode_fail(d, "the result must be a predicate") || true;
    struct insn *ip = decode_emit(d, op);
    ip->d = decode_slot(d, o->reg), ip->a = a, ip->b = b;
    ip->flags = (uint8_t)(na | nb << 1);
    return true;
}

static bool decode_logic(struct decode *d)
{
    enum ptx_type t = decode_take_type(d);
    if (decode_is(d, "not")) {
        if (t != T_PRED)
            decode_simple(d, decode_by_width(d, t, OP_not_16, OP_not_32, OP_not_64), t, 1);
        else if (decode_predicate_logic(d, OP_mov_pred) && !d->failed)
            d->p->code[d->p->count - 1].flags ^= 1;
        return true;
    }
    if (t == T_PRED)
        return decode_predicate_logic(d, decode_is(d, "and") ? OP_and_pred : decode_is(d, "or") ? OP_or_pred : OP_xor_pred);
    if (decode_is(d, "and"))
        decode_simple(d, decode_by_width(d, t, OP_and_16, OP_and_32, OP_and_64), t, 2);
    else if (decode_is(d, "or"))
        decode_simple(d, decode_by_width(d, t, OP_or_16, OP_or_32, OP_or_64), t, 2);
    else
        decode_simple(d, decode_by_width(d, t, OP_xor_16, OP_xor_32, OP_xor_64), t, 2);
    return true;
}

static bool decode_slct(struct decode *d)
{
    bool ftz = decode_take(d, "ftz");
    enum ptx_type t = decode_take_type(d), tc = decode_take_type(d);
    uint32_t a = decode_source(d, decode_operand(d, 1), t, false), b = decode_source(d, decode_operand(d, 2), t, false),
             c = decode_source(d, decode_operand(d, 3), tc, false), to = decode_target(d, decode_operand(d, 0), t, false);
    if (ftz && tc == T_F32) /* -1e-40 becomes -0, which is not below 0 */
        c = decode_flushed(d, c);
    struct insn *ip = decode_emit(d, tc == T_F32 ? decode_by_width(d, t, OP_slctf_16, OP_slctf_32, OP_slctf_64)
                                                 : decode_by_width(d, t, OP_slct_16, OP_slct_32, OP_slct_64));
    ip->d = to, ip->a = a, ip->b = b, ip->c = c;
    return true;
}

static bool decode_abs_neg(struct decode *d, bool absolute)
{
    enum ptx_type t = decode_take_type(d);
    decode_simple(
        d, absolute ? decode_by_width(d, t, OP_abs_s16, OP_abs_s32, OP_abs_s64) : decode_by_width(d, t, OP_neg_16, OP_neg_32, OP_neg_64), t,
        1);
    return true;
}

/* Is the first type among the modifiers a floating one? Those go to decode_float. */
static bool float_type(const struct ptx_instr *in)
{
    for (int i = 0; i < in->mod_count; i++) {
        enum ptx_type t = ptx_type_parse(in->mods[i]);
        if (t != T_NONE)
            return ptx_type_float(t);
    }
    return false;
}

static bool decode_bits(struct decode *d)
{
    if (decode_is(d, "shl") || decode_is(d, "shr"))
        return decode_shift(d, decode_is(d, "shl"));
    if (decode_is(d, "shf"))
        return decode_funnel(d);
    if (decode_is(d, "popc"))
        return counting(d, OP_popc_32, OP_popc_64, 0);
    if (decode_is(d, "clz"))
        return counting(d, OP_clz_32, OP_clz_64, 0);
    if (decode_is(d, "bfind"))
        return decode_bfind(d);
    if (decode_is(d, "bfe") || decode_is(d, "bfi"))
        return decode_fields(d, decode_is(d, "bfi"));
    if (decode_is(d, "prmt"))
        return decode_prmt(d);
    if (decode_is(d, "lop3"))
        return decode_lop3(d);
    if (decode_is(d, "dp4a") || decode_is(d, "dp2a"))
        return decode_dot(d, decode_is(d, "dp4a"));
    if (decode_is(d, "and") || decode_is(d, "or") || decode_is(d, "xor") || decode_is(d, "not"))
        return decode_logic(d);
    if (decode_is(d, "cnot")) {
        enum ptx_type t = decode_take_type(d);
        decode_simple(d, decode_by_width(d, t, OP_cnot_16, OP_cnot_32, OP_cnot_64), t, 1);
        return true;
    }
    if (decode_is(d, "brev")) {
        enum ptx_type t = decode_take_type(d);
        decode_simple(d, decode_by_width(d, t, OP_none, OP_brev_32, OP_brev_64), t, 1);
        return true;
    }
    if (decode_is(d, "bmsk")) {
        bool wrap = decode_take(d, "wrap");
        decode_take(d, "clamp");
        decode_simple(d, wrap ? OP_bmsk_wrap : OP_bmsk_clamp, decode_take_type(d), 2);
        return true;
    }
    if (decode_is(d, "szext")) {
        bool wrap = decode_take(d, "wrap");
        decode_take(d, "clamp");
        enum ptx_type t = decode_take_type(d);
        decode_simple(d, ptx_type_signed(t) ? (wrap ? OP_szext_wrap_s32 : OP_szext_s32) : wrap ? OP_szext_wrap_u32 : OP_szext_u32, t, 2);
        return true;
    }
    if (decode_is(d, "clmad")) {
        bool high = decode_take(d, "hi");
        decode_take(d, "lo");
        decode_simple(d, high ? OP_clmad_hi : OP_clmad_lo, decode_take_type(d), 3);
        return true;
    }
    if (decode_is(d, "fns")) {
        decode_simple(d, OP_fns, decode_take_type(d), 3);
        return true;
    }
    return false;
}

bool decode_alu(struct decode *d)
{
    if (decode_is(d, "setp"))
        return decode_setp(d);
    if (decode_is(d, "set"))
        return decode_set(d);
    if (decode_is(d, "selp"))
        return decode_select(d);
    if (decode_is(d, "slct"))
        return decode_slct(d);
    if (float_type(d->in))
        return false;
    if (decode_is(d, "add") || decode_is(d, "sub"))
        return decode_addsub(d, decode_is(d, "sub"));
    if (decode_is(d, "addc") || decode_is(d, "subc")) {
        enum ptx_type t = decode_take_type(d);
        return with_carry(d, t, true, decode_is(d, "subc"));
    }
    if (decode_is(d, "mul") || decode_is(d, "mad") || decode_is(d, "madc"))
        return decode_mul(d, !decode_is(d, "mul"));
    if (decode_is(d, "mul24") || decode_is(d, "mad24"))
        return decode_mul24(d, decode_is(d, "mad24"));
    if (decode_is(d, "min") || decode_is(d, "max"))
        return decode_minmax(d, decode_is(d, "min"));
    if (decode_is(d, "abs") || decode_is(d, "neg"))
        return decode_abs_neg(d, decode_is(d, "abs"));
    if (decode_is(d, "div") || decode_is(d, "rem")) {
        enum ptx_type t = decode_take_type(d);
        decode_simple(d,
                      decode_is(d, "div") ? signed_op(t, OP_div_u16, OP_div_s16, OP_div_u32, OP_div_s32, OP_div_u64, OP_div_s64)
                                          : signed_op(t, OP_rem_u16, OP_rem_s16, OP_rem_u32, OP_rem_s32, OP_rem_u64, OP_rem_s64),
                      t, 2);
        return true;
    }
    if (decode_is(d, "sad")) {
        enum ptx_type t = decode_take_type(d);
        decode_simple(d, signed_op(t, OP_sad_u16, OP_sad_s16, OP_sad_u32, OP_sad_s32, OP_sad_u64, OP_sad_s64), t, 3);
        return true;
    }
    return decode_bits(d);
}
