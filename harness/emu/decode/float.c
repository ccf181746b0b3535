/* emu/decode/float: f32, f64, f16, bf16 arithmetic. */
#include "emu/decode/decode.h"

static bool is_half(enum ptx_type t)
{
    return t == T_F16 || t == T_F16X2 || t == T_BF16 || t == T_BF16X2;
}

struct modes {
    int round; /* enum round_mode, -1 none */
    bool ftz, sat, relu, approx, full, nan, xorsign, absolute;
    enum ptx_type narrow; /* of the first narrow_count sources of f32 arithmetic: f16 or bf16 */
    int narrow_count;
};

static struct modes take_modes(struct decode *d)
{
    static const char *const rounds[] = {"rn", "rz", "rm", "rp", NULL};
    struct modes m = {.round = decode_take_word(d, rounds)};
    m.approx = decode_take(d, "approx");
    m.full = decode_take(d, "full");
    m.ftz = decode_take(d, "ftz");
    m.sat = decode_take(d, "sat");
    m.relu = decode_take(d, "relu");
    m.nan = decode_take(d, "NaN");
    if (decode_take(d, "xorsign"))
        m.xorsign = decode_take(d, "abs");
    else
        m.absolute = d->in->count == 4 && decode_take(d, "abs"); /* of three numbers */
    return m;
}

static bool bad_type(struct decode *d, enum ptx_type t)
{
    return decode_fail(d, "type '.%s' is not supported here", ptx_type_name(t)) || true;
}

static uint32_t widened(struct decode *d, int operand, enum ptx_type from)
{
    uint32_t a = decode_source(d, decode_operand(d, operand), from, false), to = decode_scratch(d);
    struct insn *ip = decode_emit_internal(d, from == T_F16 ? OP_cvt_f32_f16 : OP_cvt_f32_bf16);
    ip->a = a, ip->d = to;
    return to;
}

static bool float_finish(struct decode *d, enum op op, enum ptx_type t, int n, struct modes m)
{
    uint32_t s[3] = {NO_REF, NO_REF, NO_REF};
    for (int i = 0; i < n; i++)
        s[i] = i < m.narrow_count ? widened(d, 1 + i, m.narrow) : decode_source(d, decode_operand(d, 1 + i), t, false);
    uint32_t to = decode_target(d, decode_operand(d, 0), t, false);
    if (op == OP_none)
        return bad_type(d, t);
    struct insn *ip = decode_emit(d, op);
    ip->d = to, ip->a = s[0], ip->b = s[1], ip->c = s[2];
    ip->aux = (uint16_t)(m.round > 0 ? m.round : 0);
    if (is_half(t)) {
        ip->size = (uint8_t)ptx_type_bytes(t);
        ip->kind = t == T_BF16 || t == T_BF16X2;
        ip->flags = (uint8_t)(m.ftz | m.sat << 1 | m.relu << 2);
        return true;
    }
    ip->flags = m.ftz;
    if (m.sat) {
        ip = decode_emit_internal(d, t == T_F64 ? OP_sat_f64 : OP_sat_f32);
        ip->d = ip->a = to;
    }
    return true;
}

/* Two f32 with a rounding of their own: half by half. */
static bool rounded_pair(struct decode *d, enum op op, int n, struct modes m)
{
    uint32_t *parts[3]; /* of each source: the lower half and the upper one */
    for (int i = 0; i < n; i++) {
        uint32_t from = decode_source(d, decode_operand(d, 1 + i), T_F32X2, false);
        parts[i] = decode_list(d, 2);
        for (int k = 0; k < 2; k++)
            parts[i][k] = decode_scratch(d);
        struct insn *ip = decode_emit_internal(d, OP_unpack);
        ip->d = NO_REF, ip->a = from, ip->list = parts[i];
        ip->size = ip->kind = 4, ip->count = 2, ip->aux = 8;
    }
    uint32_t to = decode_target(d, decode_operand(d, 0), T_F32X2, false), *out = decode_list(d, 2);
    for (int k = 0; k < 2; k++) {
        out[k] = decode_scratch(d);
        struct insn *ip = k ? decode_emit_internal(d, op) : decode_emit(d, op);
        ip->d = out[k], ip->a = parts[0][k], ip->b = parts[1][k], ip->c = n == 3 ? parts[2][k] : NO_REF;
        ip->aux = (uint16_t)m.round;
        ip->flags = m.ftz;
    }
    struct insn *ip = decode_emit_internal(d, OP_pack);
    ip->d = to, ip->a = NO_REF, ip->list = out;
    ip->size = ip->kind = 4, ip->count = 2, ip->aux = 8;
    return true;
}

/* add sub mul fma */
static bool arithmetic(struct decode *d, int what)
{
    static const enum op plain[] = {OP_add_f32, OP_sub_f32, OP_mul_f32, OP_fma_f32},
                         ftz[] = {OP_add_ftz_f32, OP_sub_ftz_f32, OP_mul_ftz_f32, OP_fma_ftz_f32};
    static const enum op rounded[] = {OP_add_round_f32, OP_sub_round_f32, OP_mul_round_f32, OP_fma_round_f32},
                         f64[] = {OP_add_f64, OP_sub_f64, OP_mul_f64, OP_fma_f64};
    static const enum op rounded64[] = {OP_add_round_f64, OP_sub_round_f64, OP_mul_round_f64, OP_fma_round_f64};
    static const enum op half[] = {OP_half_add, OP_half_sub, OP_half_mul, OP_half_fma},
                         two[] = {OP_add_f32x2, OP_sub_f32x2, OP_mul_f32x2, OP_fma_f32x2};
    struct modes m = take_modes(d);
    enum ptx_type t = decode_take_type(d);
    int n = what == 3 ? 3 : 2;
    if (t == T_F32 && what != 2 && (decode_take(d, "f16") || decode_take(d, "bf16"))) { /* sm_100 and later: f32 sums of narrower numbers */
        m.narrow = instr_has(d->in, "f16") ? T_F16 : T_BF16;
        m.narrow_count = n - 1;
    }
    if (is_half(t))
        return float_finish(d, m.round > 0 ? OP_none : half[what], t, n, m);
    if (t == T_F32)
        return float_finish(d, m.round > 0 ? rounded[what] : m.ftz ? ftz[what] : plain[what], t, n, m);
    if (t == T_F64)
        return float_finish(d, m.round > 0 ? rounded64[what] : f64[what], t, n, m);
    if (t == T_F32X2 && m.round > 0)
        return rounded_pair(d, rounded[what], n, m);
    return float_finish(d, t == T_F32X2 ? two[what] : OP_none, t, n, m);
}

static bool divide(struct decode *d)
{
    struct modes m = take_modes(d);
    enum ptx_type t = decode_take_type(d);
    if (t == T_F64)
        return float_finish(d, m.round > 0 ? OP_div_round_f64 : OP_div_f64, t, 2, m);
    return float_finish(d, t != T_F32 ? OP_none : m.round > 0 ? OP_div_round_f32 : m.ftz ? OP_div_ftz_f32 : OP_div_f32, t, 2, m);
}

/* .xorsign.abs of halves: the least or greatest magnitude, with the product's sign. */
static bool half_of_signs(struct decode *d, enum op op, enum ptx_type t, struct modes m)
{
    bool two = ptx_type_bytes(t) == 4;
    int bytes = two ? 4 : 2;
    uint32_t in[2], magnitude[2], sign = decode_constant(d, two ? 0x80008000u : 0x8000u, bytes), s = decode_scratch(d),
                                  r = decode_scratch(d);
    for (int i = 0; i < 2; i++) {
        in[i] = decode_source(d, decode_operand(d, 1 + i), t, false);
        struct insn *ip = decode_emit_internal(d, two ? OP_abs_h2 : OP_abs_h);
        ip->d = magnitude[i] = decode_scratch(d), ip->a = in[i];
    }
    uint32_t to = decode_target(d, decode_operand(d, 0), t, false);
    struct insn *ip = decode_emit(d, op);
    ip->d = r, ip->a = magnitude[0], ip->b = magnitude[1];
    ip->size = (uint8_t)bytes;
    ip->kind = t == T_BF16 || t == T_BF16X2;
    ip->flags = m.ftz;
    const enum op ops[] = {two ? OP_xor_32 : OP_xor_16, two ? OP_and_32 : OP_and_16, two ? OP_or_32 : OP_or_16};
    const uint32_t d3[] = {s, s, to}, a3[] = {in[0], s, r}, b3[] = {in[1], sign, s};
    for (int i = 0; i < 3; i++) {
        ip = decode_emit_internal(d, ops[i]);
        ip->d = d3[i], ip->a = a3[i], ip->b = b3[i];
    }
    return true;
}

static bool min_max(struct decode *d, bool min)
{
    struct modes m = take_modes(d);
    enum ptx_type t = decode_take_type(d);
    bool ftz = m.ftz;
    enum op op = OP_none;
    if (is_half(t)) {
        if (m.absolute || d->in->count != 3)
            return bad_type(d, t);
        op = m.nan ? (min ? OP_half_min_nan : OP_half_max_nan) : min ? OP_half_min : OP_half_max;
        return m.xorsign ? half_of_signs(d, op, t, m) : float_finish(d, op, t, 2, m);
    }
    if (t == T_F32)
        op = m.nan ? (min ? OP_min_nan_f32 : OP_max_nan_f32) : min ? OP_min_f32 : OP_max_f32;
    else if (t == T_F64 && !m.nan && !m.xorsign)
        op = min ? OP_min_f64 : OP_max_f64;
    if (op == OP_none || d->in->count < 3 || d->in->count > 4)
        return bad_type(d, t);
    uint32_t to = decode_target(d, decode_operand(d, 0), t, false), a = decode_source(d, decode_operand(d, 1), t, false),
             b = decode_source(d, decode_operand(d, 2), t, false);
    uint32_t c = d->in->count == 4 ? decode_source(d, decode_operand(d, 3), t, false) : NO_REF, x = a, y = b;
    uint32_t t0 = decode_scratch(d), t1 = decode_scratch(d), t2 = decode_scratch(d);
    if (m.xorsign || m.absolute) { /* magnitudes first */
        uint32_t t3 = decode_scratch(d), *const in[3] = {&x, &y, &c}, out[3] = {t0, t1, t3};
        for (int i = 0; i < 3 && *in[i] != NO_REF; i++) {
            struct insn *ip = decode_emit_internal(d, OP_abs_f32);
            ip->d = out[i], ip->a = *in[i];
            *in[i] = out[i];
        }
    }
    struct insn *ip = decode_emit(d, op);
    ip->d = t2, ip->a = x, ip->b = y;
    if (c != NO_REF) {
        ip = decode_emit_internal(d, op);
        ip->d = t2, ip->a = t2, ip->b = c;
    }
    if (m.xorsign) {
        ip = decode_emit_internal(d, OP_xorsign_f32);
        ip->d = t2, ip->a = a, ip->b = b, ip->c = t2;
    }
    ip = decode_emit_internal(d, t == T_F64 ? OP_mov_64 : ftz ? OP_flush_f32 : OP_mov_32);
    ip->d = to, ip->a = t2;
    return true;
}

static bool unary(struct decode *d)
{
    static const struct {
        const char *name;
        enum op f32, ftz, f64, half;
    } table[] = {
        {"sin", OP_sin_f32, OP_sin_ftz_f32, OP_none, OP_none},        {"cos", OP_cos_f32, OP_cos_ftz_f32, OP_none, OP_none},
        {"lg2", OP_lg2_f32, OP_lg2_ftz_f32, OP_none, OP_none},        {"ex2", OP_ex2_f32, OP_ex2_ftz_f32, OP_none, OP_half_ex2},
        {"tanh", OP_tanh_f32, OP_none, OP_none, OP_half_tanh},        {"rsqrt", OP_rsqrt_f32, OP_rsqrt_ftz_f32, OP_rsqrt_f64, OP_none},
        {"sqrt", OP_sqrt_f32, OP_sqrt_ftz_f32, OP_sqrt_f64, OP_none}, {"rcp", OP_rcp_f32, OP_rcp_ftz_f32, OP_rcp_f64, OP_none},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        if (!decode_is(d, table[i].name))
            continue;
        struct modes m = take_modes(d);
        enum ptx_type t = decode_take_type(d);
        enum op op = is_half(t) ? table[i].half : t == T_F64 ? table[i].f64 : t == T_F32 ? (m.ftz ? table[i].ftz : table[i].f32) : OP_none;
        if (t == T_F64 && m.approx && m.ftz)
            op = decode_is(d, "rcp") ? OP_rcp_approx_f64 : decode_is(d, "rsqrt") ? OP_rsqrt_approx_f64 : OP_none;
        if (m.round > 0 && t == T_F32)
            op = decode_is(d, "sqrt") ? OP_sqrt_round_f32 : OP_rcp_round_f32;
        if (m.round > 0 && t == T_F64)
            op = decode_is(d, "sqrt") ? OP_sqrt_round_f64 : OP_rcp_round_f64;
        return float_finish(d, op, t, 1, m);
    }
    return false;
}

static bool sign_op(struct decode *d, bool absolute)
{
    struct modes m = take_modes(d);
    enum ptx_type t = decode_take_type(d);
    enum op op = t == T_F32                      ? (absolute ? OP_abs_f32 : OP_neg_f32)
                 : t == T_F64                    ? (absolute ? OP_abs_f64 : OP_neg_f64)
                 : t == T_F16 || t == T_BF16     ? (absolute ? OP_abs_h : OP_neg_h)
                 : t == T_F16X2 || t == T_BF16X2 ? (absolute ? OP_abs_h2 : OP_neg_h2)
                                                 : OP_none;
    enum op flush = t == T_F32 ? OP_flush_f32 : t == T_F16 ? OP_flush_h : t == T_F16X2 ? OP_flush_h2 : OP_none;
    float_finish(d, op, t, 1, (struct modes){.round = -1});
    if (m.ftz && flush != OP_none && !d->failed) {
        uint32_t to = d->p->code[d->p->count - 1].d;
        struct insn *ip = decode_emit_internal(d, flush);
        ip->d = ip->a = to;
    }
    return true;
}

static bool test_property(struct decode *d)
{
    static const char *const words[] = {"finite", "infinite", "number", "notanumber", "normal", "subnormal", NULL};
    int k = decode_take_word(d, words);
    enum ptx_type t = decode_take_type(d);
    uint32_t a = decode_source(d, decode_operand(d, 1), t, false);
    const struct ptx_operand *o = decode_operand(d, 0);
    if (k < 0 || o->kind != OPERAND_REG || d->f->regs[o->reg] != T_PRED)
        return decode_fail(d, "this form is not supported") || true;
    struct insn *ip = decode_emit(d, t == T_F64 ? OP_testp_f64 : OP_testp_f32);
    ip->d = decode_slot(d, o->reg), ip->a = a, ip->aux = (uint16_t)k;
    return true;
}

bool decode_float(struct decode *d)
{
    if (decode_is(d, "add"))
        return arithmetic(d, 0);
    if (decode_is(d, "sub"))
        return arithmetic(d, 1);
    if (decode_is(d, "mul"))
        return arithmetic(d, 2);
    if (decode_is(d, "fma") || decode_is(d, "mad"))
        return arithmetic(d, 3);
    if (decode_is(d, "div"))
        return divide(d);
    if (decode_is(d, "min") || decode_is(d, "max"))
        return min_max(d, decode_is(d, "min"));
    if (decode_is(d, "abs") || decode_is(d, "neg"))
        return sign_op(d, decode_is(d, "abs"));
    if (decode_is(d, "testp"))
        return test_property(d);
    if (decode_is(d, "copysign")) {
        enum ptx_type t = decode_take_type(d);
        return float_finish(d, t == T_F32 ? OP_copysign_f32 : t == T_F64 ? OP_copysign_f64 : OP_none, t, 2, (struct modes){.round = -1});
    }
    return unary(d);
}
