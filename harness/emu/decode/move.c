/* emu/decode/move: integers, bits, predicates, moves, conversions. */
#include "emu/decode/decode.h"
#include <string.h>

/* By width: op16, op32, op64. */
/* ---- moves ---- */
static bool mov_vector(struct decode *d, enum ptx_type t, const struct ptx_operand *parts, const struct ptx_operand *whole, bool pack)
{
    int n = parts->count;
    if (n < 2 || n > 8 || ptx_type_bytes(t) % n)
        return decode_fail(d, "%d parts of a '.%s'", n, ptx_type_name(t)) || true;
    enum ptx_type part = ptx_type_bytes(t) / n == 1   ? T_B8
                         : ptx_type_bytes(t) / n == 2 ? T_B16
                         : ptx_type_bytes(t) / n == 4 ? T_B32
                                                      : T_B64;
    uint32_t *l = decode_list(d, n), other = pack ? decode_target(d, whole, t, false) : decode_source(d, whole, t, false);
    for (int i = 0; i < n; i++)
        l[i] = pack                                   ? decode_source(d, &parts->items[i], part, false)
               : parts->items[i].kind == OPERAND_SINK ? NO_REF
                                                      : decode_target(d, &parts->items[i], part, false);
    struct insn *ip = decode_emit(d, pack ? OP_pack : OP_unpack);
    ip->d = pack ? other : NO_REF;
    ip->a = pack ? NO_REF : other;
    ip->list = l;
    ip->size = (uint8_t)ptx_type_bytes(part);
    ip->kind = (uint8_t)(ptx_type_bytes(part) < 2 ? 2 : ptx_type_bytes(part));
    ip->count = (uint8_t)n;
    ip->aux = (uint16_t)ptx_type_bytes(t);
    return true;
}

/* The parts of %tid, %ntid, %ctaid and so on: three coordinates and zero. */
static bool special_parts(const struct ptx_operand *whole, struct ptx_operand parts[4])
{
    size_t length = whole->kind == OPERAND_SPECIAL ? strlen(whole->name) : 0;
    for (int s = 0; length && s + 2 < SPECIAL_COUNT; s++)
        if (!strncmp(special_names[s], whole->name, length) && !strcmp(special_names[s] + length, ".x")) {
            for (int k = 0; k < 3; k++)
                parts[k] = (struct ptx_operand){.kind = OPERAND_SPECIAL, .name = special_names[s + k]};
            parts[3] = (struct ptx_operand){.kind = OPERAND_INT};
            return true;
        }
    return false;
}

/* mov.v4.f32 {a, b, c, d}, v; through scratch, for a register may be on both sides. One instruction of the text counts as one. */
static bool mov_elements(struct decode *d, enum ptx_type t, int n)
{
    const struct ptx_operand *to = decode_operand(d, 0), *from = decode_operand(d, 1);
    struct ptx_operand parts[4];
    uint32_t through[8];
    bool counted = false, special = n == 4 && special_parts(from, parts);
    t = ptx_type_bytes(t) == 1 ? T_B16 : t;
    if (to->kind != OPERAND_VECTOR || to->count != n || (!special && (from->kind != OPERAND_VECTOR || from->count != n)))
        return decode_fail(d, "vectors of %d were expected", n) || true;
    for (int k = 0; k < 2 * n && !d->failed; k++) {
        const struct ptx_operand *o = k >= n ? &to->items[k - n] : special ? &parts[k] : &from->items[k];
        if (k >= n && o->kind == OPERAND_SINK)
            continue;
        uint32_t other = k < n ? decode_source(d, o, t, false) : decode_target(d, o, t, false);
        enum op op = decode_by_width(d, t, OP_mov_16, OP_mov_32, OP_mov_64);
        if (k < n)
            through[k] = decode_scratch(d);
        struct insn *ip = k < n || counted ? decode_emit_internal(d, op) : decode_emit(d, op);
        counted |= k >= n;
        ip->d = k < n ? through[k] : other;
        ip->a = k < n ? other : through[k - n];
    }
    return true;
}

static bool decode_mov(struct decode *d)
{
    static const char *const vectors[] = {"v2", "v4", "v8", NULL};
    int vector = decode_take_word(d, vectors);
    enum ptx_type t = decode_take_type(d);
    if (vector >= 0)
        return mov_elements(d, t, 2 << vector);
    const struct ptx_operand *to = decode_operand(d, 0), *from = decode_operand(d, 1);
    if (from->kind == OPERAND_VECTOR)
        return mov_vector(d, t, from, to, true);
    if (to->kind == OPERAND_VECTOR)
        return mov_vector(d, t, to, from, false);
    if (t == T_PRED) {
        if (from->kind == OPERAND_SPECIAL && to->kind == OPERAND_REG && d->f->regs[to->reg] == T_PRED &&
            !strcmp(from->name, special_names[SPECIAL_IS_EXPLICIT_CLUSTER])) {
            struct insn *ip = decode_emit(d, OP_mov_special);
            ip->aux = SPECIAL_IS_EXPLICIT_CLUSTER;
            ip->d = decode_slot(d, to->reg);
            return true;
        }
        return decode_predicate_logic(d, OP_mov_pred);
    }
    uint32_t ref = decode_target(d, to, t, false);
    if (from->kind == OPERAND_SPECIAL) {
        for (int i = 0; i < SPECIAL_COUNT; i++)
            if (!strcmp(from->name, special_names[i])) {
                if (i == SPECIAL_RESERVED_1)
                    d->p->shared_from = SHARED_GROUPS;
                struct insn *ip = decode_emit(d, OP_mov_special);
                ip->aux = (uint16_t)i;
                ip->size = (uint8_t)ptx_type_bytes(t);
                ip->d = ref;
                return true;
            }
        return decode_fail(d, "special register '%s' is not supported", from->name) || true;
    }
    if (ptx_type_bytes(t) == 16) {
        decode_simple(d, OP_mov_128, t, 1);
        return true;
    }
    uint32_t a = decode_source(d, from, t, false);
    struct insn *ip = decode_emit(d, decode_by_width(d, t, OP_mov_16, OP_mov_32, OP_mov_64));
    ip->d = ref, ip->a = a;
    return true;
}

/* ---- cvt ---- */
static int form_of(enum ptx_type t)
{
    static const int forms[T_COUNT] = {
        [T_B8] = FORM_U8,       [T_U8] = FORM_U8,       [T_S8] = FORM_S8,       [T_B16] = FORM_U16,     [T_U16] = FORM_U16,
        [T_S16] = FORM_S16,     [T_B32] = FORM_U32,     [T_U32] = FORM_U32,     [T_S32] = FORM_S32,     [T_B64] = FORM_U64,
        [T_U64] = FORM_U64,     [T_S64] = FORM_S64,     [T_F16] = FORM_F16,     [T_BF16] = FORM_BF16,   [T_F32] = FORM_F32,
        [T_F64] = FORM_F64,     [T_TF32] = FORM_TF32,   [T_F16X2] = FORM_F16,   [T_BF16X2] = FORM_BF16, [T_E4M3X2] = FORM_E4M3,
        [T_E5M2X2] = FORM_E5M2, [T_E2M1X2] = FORM_E2M1, [T_E2M3X2] = FORM_E2M3, [T_E3M2X2] = FORM_E3M2, [T_UE8M0X2] = FORM_UE8M0,
        [T_S2F6X2] = FORM_S2F6};
    return forms[t];
}
static bool packed(enum ptx_type t)
{
    return t == T_F16X2 || t == T_BF16X2 || (t >= T_E4M3X2 && t <= T_S2F6X2);
}

static enum op fast_convert(enum ptx_type td, enum ptx_type ts, int64_t flags, int db, int sb)
{
    if (flags == 0) {
        if (td == T_F32 && ts == T_S32)
            return OP_cvt_f32_s32;
        if (td == T_F32 && ts == T_U32)
            return OP_cvt_f32_u32;
        if (td == T_F64 && ts == T_F32)
            return OP_cvt_f64_f32;
        if (td == T_F32 && ts == T_F64)
            return OP_cvt_f32_f64;
        if (td == T_F32 && ts == T_F16)
            return OP_cvt_f32_f16;
        if (td == T_F16 && ts == T_F32)
            return OP_cvt_f16_f32;
        if (td == T_F32 && ts == T_BF16)
            return OP_cvt_f32_bf16;
        if (td == T_BF16 && ts == T_F32)
            return OP_cvt_bf16_f32;
        if (td == T_F16X2 && ts == T_F32)
            return OP_cvt_f16x2_f32;
        if (td == T_BF16X2 && ts == T_F32)
            return OP_cvt_bf16x2_f32;
    }
    if (flags || ptx_type_float(td) || ptx_type_float(ts) || ptx_type_bytes(ts) != sb || ptx_type_bytes(td) != db)
        return OP_none;
    if (db == 8 && sb == 4)
        return ptx_type_signed(ts) ? OP_sext_32_64 : OP_zext_32_64;
    if (db == 4 && sb == 2)
        return ptx_type_signed(ts) ? OP_sext_16_32 : OP_zext_16_32;
    if (db == 4 && sb == 8)
        return OP_trunc_64_32;
    if (db == 2 && sb == 4)
        return OP_trunc_32_16;
    if (db == sb)
        return db == 8 ? OP_mov_64 : db == 4 ? OP_mov_32 : OP_mov_16;
    return OP_none;
}

static int64_t convert_flags(struct decode *d)
{
    static const char *const rounds[] = {"rn", "rz", "rm", "rp", "rna", NULL}, *const integrals[] = {"rni", "rzi", "rmi", "rpi", NULL};
    int64_t flags = 0;
    int mode = decode_take_word(d, rounds), integral = decode_take_word(d, integrals);
    if (integral >= 0)
        flags |= integral | CONVERT_INTEGRAL;
    else if (mode > 0)
        flags |= mode;
    flags |= decode_take(d, "ftz") ? CONVERT_FTZ : 0;
    flags |= decode_take(d, "satfinite") ? CONVERT_FINITE : 0;
    flags |= decode_take(d, "sat") ? CONVERT_SAT : 0;
    flags |= decode_take(d, "relu") ? CONVERT_RELU : 0;
    return flags;
}

/* d = two saturated numbers side by side; those of less than 16 bits are put below the third operand's */
static bool decode_cvt_pack(struct decode *d)
{
    static const char *const types[] = {"u2", "s2", "u4", "s4", "u8", "s8", "u16", "s16", NULL};
    decode_take(d, "sat");
    int to_type = decode_take_word(d, types);
    enum ptx_type ts = decode_take_type(d);
    bool joins = to_type < 6;
    if (to_type < 0 || (ts != T_S32 && ts != T_U32) || (joins && decode_take_type(d) != T_B32))
        return decode_fail(d, "this conversion is not supported") || true;
    uint32_t a = decode_source(d, decode_operand(d, 1), ts, false), b = decode_source(d, decode_operand(d, 2), ts, false);
    uint32_t c = joins ? decode_source(d, decode_operand(d, 3), T_B32, false) : a,
             to = decode_target(d, decode_operand(d, 0), T_B32, false);
    struct insn *ip = decode_emit(d, OP_cvt_pack);
    ip->d = to, ip->a = a, ip->b = b, ip->c = c;
    ip->aux = (uint16_t)((to_type & 1) | ptx_type_signed(ts) << 1 | 2 << to_type / 2 << 2);
    return true;
}

/* cvt.rs: two floats by name or four as a vector, then the random bits. */
static bool decode_cvt_random(struct decode *d)
{
    static const char *const types[] = {"f16x2", "bf16x2", "e4m3x4", "e5m2x4", "e2m3x4", "e3m2x4", "e2m1x4", NULL};
    static const uint16_t forms[] = {FORM_F16, FORM_BF16, FORM_E4M3, FORM_E5M2, FORM_E2M3, FORM_E3M2, FORM_E2M1};
    int64_t flags = CONVERT_RANDOM | (decode_take(d, "satfinite") ? CONVERT_FINITE : 0) | (decode_take(d, "relu") ? CONVERT_RELU : 0);
    int type = decode_take_word(d, types), count = type < 2 ? 2 : 4;
    const struct ptx_operand *random = decode_operand(d, count == 4 ? 2 : 3);
    if (type < 0 || decode_take_type(d) != T_F32 || (count == 4 && !(flags & CONVERT_FINITE)) || random->kind != OPERAND_REG)
        return decode_fail(d, "this conversion is not supported") || true;
    const struct ptx_operand *from = decode_operand(d, 1);
    if (count == 4 && (from->kind != OPERAND_VECTOR || from->count != 4))
        return decode_fail(d, "a vector of 4 registers was expected") || true;
    uint32_t *list = decode_list(d, count);
    for (int i = 0; i < count; i++)
        list[i] = decode_source(d, count == 4 ? &from->items[i] : decode_operand(d, 1 + i), T_F32, false);
    bool half = forms[type] == FORM_E2M1;
    uint32_t c = decode_source(d, random, T_B32, false), to = decode_target(d, decode_operand(d, 0), half ? T_B16 : T_B32, false);
    struct insn *ip = decode_emit(d, OP_cvt);
    ip->d = to, ip->c = c, ip->list = list;
    ip->kind = FORM_F32;
    ip->aux = forms[type];
    ip->size = 4, ip->count = half ? 2 : 4;
    ip->imm = flags;
    return true;
}

static bool decode_cvt(struct decode *d)
{
    if (decode_take(d, "pack"))
        return decode_cvt_pack(d);
    if (decode_take(d, "rs"))
        return decode_cvt_random(d);
    int64_t flags = convert_flags(d);
    enum ptx_type td = decode_take_type(d), ts = decode_take_type(d);
    const struct ptx_operand *to = decode_operand(d, 0), *from = decode_operand(d, 1);
    if (td == T_NONE || ts == T_NONE || (packed(ts) && !packed(td)))
        return decode_fail(d, "this conversion is not supported") || true;
    if (ptx_type_float(ts) && !ptx_type_float(td) &&
        (instr_has(d->in, "rn") || instr_has(d->in, "rz") || instr_has(d->in, "rm") || instr_has(d->in, "rp")))
        return decode_wrong(d, "a float becomes a whole number by '.rni', '.rzi', '.rmi' or '.rpi'") || true;
    bool two = packed(td) && !packed(ts);
    uint32_t scale = NO_REF;
    if (decode_take(d, "scaled::n2::ue8m0")) {
        scale = decode_source(d, decode_operand(d, 2 + two), T_B16, false);
        flags |= CONVERT_SCALED;
    }
    uint32_t rd = decode_target(d, to, td, !ptx_type_float(td)), a = decode_source(d, from, ts, !ptx_type_float(ts)),
             b = two ? decode_source(d, decode_operand(d, 2), ts, false) : NO_REF;
    int db = to->kind == OPERAND_REG ? decode_reg_bytes(d, to->reg) : ptx_type_bytes(td),
        sb = from->kind == OPERAND_REG ? decode_reg_bytes(d, from->reg)
             : ptx_type_bytes(ts) < 2  ? 2
                                       : ptx_type_bytes(ts);
    /* a float becomes an integer by rounding alone, so .rn and .rni mean the same */
    enum op op = fast_convert(td, ts, flags, db, sb);
    struct insn *ip = decode_emit(d, op == OP_none ? OP_cvt : op);
    ip->d = rd, ip->a = a, ip->b = b;
    if (op != OP_none)
        return true;
    ip->c = scale;
    if (packed(td))
        flags |= packed(ts) && ptx_type_bytes(ts) <= 2 ? CONVERT_UNPACK : CONVERT_PACK;
    ip->kind = (uint8_t)form_of(ts);
    ip->aux = (uint16_t)form_of(td);
    ip->size = (uint8_t)sb;
    ip->count = (uint8_t)db;
    ip->imm = flags;
    return true;
}

bool decode_move(struct decode *d)
{
    return decode_is(d, "mov") ? decode_mov(d) : decode_is(d, "cvt") && decode_cvt(d);
}
