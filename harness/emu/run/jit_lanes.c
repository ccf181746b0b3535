/* emu/run/jit_lanes: AVX-512 code for lane-wise operations, of 16 lanes at a time. */
#include "emu/ops.h"
#include "emu/run/jit.h"

enum { RIGHT = 2, LEFT = 6 }; /* shifts by a constant */
enum shape {
    SHAPE_NONE,
    SHAPE_BOTH,     /* d = a op b */
    SHAPE_FLOAT,    /* the same, of f32 */
    SHAPE_ONE,      /* d = op a */
    SHAPE_FUSED,    /* d = a * b + c, of f32 */
    SHAPE_MULTIPLY, /* d = a * b + c, of 32 or 64 bits */
    SHAPE_SHIFT,    /* of 64 bits by a count of 32 */
    SHAPE_WIDEN,    /* 32 to 64 bits */
    SHAPE_NARROW,   /* 64 to 32 bits */
    SHAPE_WIDE,     /* d = a * b, or + c, of 64 bits from 32; form: the widening, next: the product */
    SHAPE_HIGH,     /* the upper half of such a product */
    SHAPE_GROW,     /* 16 to 32 bits */
    SHAPE_SHRINK,   /* 32 to 16 bits */
    SHAPE_HALF,     /* f16 to f32 */
    SHAPE_ROUND,    /* f32 to f16 */
    SHAPE_BF16,
    SHAPE_PAIR,   /* two f32 to f16x2 */
    SHAPE_LOGIC3, /* lop3 */
    SHAPE_NEGATE,
    SHAPE_SIGN, /* d = a with its sign changed, or gone */
    SHAPE_MOVE,
    SHAPE_SELECT,
    SHAPE_COMPARE,
    SHAPE_COMPARE_FLOAT,
    SHAPE_PREDICATE
};
struct operation {
    uint8_t shape, bytes; /* of d */
    struct x86_form form, next;
};
static const struct x86_form add_64 = {1, 1, 1, 0xd4}, move = {1, 1, 1, 0x6f}, move_32 = {1, 1, 0, 0x6f}, zext = {2, 1, 0, 0x35},
                             grow_u = {2, 1, 0, 0x33}, or_32 = {1, 1, 0, 0xeb}, xor_32 = {1, 1, 0, 0xef}, extract = {3, 1, 1, 0x3b},
                             insert = {3, 1, 1, 0x3a}, by_count_32 = {1, 1, 0, 0x72}, by_count_64 = {1, 1, 1, 0x73},
                             to_half = {3, 1, 0, 0x1d}, ternary = {3, 1, 0, 0x25}, k_move = {1, 0, 0, 0x90}, k_from = {1, 0, 0, 0x92},
                             k_not = {1, 0, 0, 0x44}, k_or = {1, 0, 0, 0x45}, k_and = {1, 0, 0, 0x41}, k_xor = {1, 0, 0, 0x47},
                             k_shift = {3, 1, 1, 0x30};

static const struct operation operations[OP_COUNT] = {
    [OP_add_32] = {SHAPE_BOTH, 4, {1, 1, 0, 0xfe}, {0}},
    [OP_add_64] = {SHAPE_BOTH, 8, {1, 1, 1, 0xd4}, {0}},
    [OP_sub_32] = {SHAPE_BOTH, 4, {1, 1, 0, 0xfa}, {0}},
    [OP_sub_64] = {SHAPE_BOTH, 8, {1, 1, 1, 0xfb}, {0}},
    [OP_mullo_32] = {SHAPE_BOTH, 4, {2, 1, 0, 0x40}, {0}},
    [OP_mullo_64] = {SHAPE_BOTH, 8, {2, 1, 1, 0x40}, {0}},
    [OP_and_32] = {SHAPE_BOTH, 4, {1, 1, 0, 0xdb}, {0}},
    [OP_and_64] = {SHAPE_BOTH, 8, {1, 1, 1, 0xdb}, {0}},
    [OP_or_32] = {SHAPE_BOTH, 4, {1, 1, 0, 0xeb}, {0}},
    [OP_or_64] = {SHAPE_BOTH, 8, {1, 1, 1, 0xeb}, {0}},
    [OP_xor_32] = {SHAPE_BOTH, 4, {1, 1, 0, 0xef}, {0}},
    [OP_xor_64] = {SHAPE_BOTH, 8, {1, 1, 1, 0xef}, {0}},
    [OP_min_s32] = {SHAPE_BOTH, 4, {2, 1, 0, 0x39}, {0}},
    [OP_min_u32] = {SHAPE_BOTH, 4, {2, 1, 0, 0x3b}, {0}},
    [OP_max_s32] = {SHAPE_BOTH, 4, {2, 1, 0, 0x3d}, {0}},
    [OP_max_u32] = {SHAPE_BOTH, 4, {2, 1, 0, 0x3f}, {0}},
    [OP_shl_32] = {SHAPE_BOTH, 4, {2, 1, 0, 0x47}, {0}},
    [OP_shr_u32] = {SHAPE_BOTH, 4, {2, 1, 0, 0x45}, {0}},
    [OP_shr_s32] = {SHAPE_BOTH, 4, {2, 1, 0, 0x46}, {0}},
    [OP_shl_64] = {SHAPE_SHIFT, 8, {2, 1, 1, 0x47}, {0}},
    [OP_shr_u64] = {SHAPE_SHIFT, 8, {2, 1, 1, 0x45}, {0}},
    [OP_shr_s64] = {SHAPE_SHIFT, 8, {2, 1, 1, 0x46}, {0}},
    [OP_add_f32] = {SHAPE_FLOAT, 4, {1, 0, 0, 0x58}, {0}},
    [OP_sub_f32] = {SHAPE_FLOAT, 4, {1, 0, 0, 0x5c}, {0}},
    [OP_mul_f32] = {SHAPE_FLOAT, 4, {1, 0, 0, 0x59}, {0}},
    [OP_fma_f32] = {SHAPE_FUSED, 4, {2, 1, 0, 0xb8}, {2, 1, 0, 0xa8}}, /* d += a * b; d = d * a + b */
    [OP_madlo_32] = {SHAPE_MULTIPLY, 4, {2, 1, 0, 0x40}, {1, 1, 0, 0xfe}},
    [OP_madlo_64] = {SHAPE_MULTIPLY, 8, {2, 1, 1, 0x40}, {1, 1, 1, 0xd4}},
    [OP_sext_32_64] = {SHAPE_WIDEN, 8, {2, 1, 0, 0x25}, {0}},
    [OP_zext_32_64] = {SHAPE_WIDEN, 8, {2, 1, 0, 0x35}, {0}},
    [OP_trunc_64_32] = {SHAPE_NARROW, 4, {2, 2, 0, 0x35}, {0}},
    [OP_mulwide_s32] = {SHAPE_WIDE, 8, {2, 1, 0, 0x25}, {2, 1, 1, 0x28}},
    [OP_mulwide_u32] = {SHAPE_WIDE, 8, {2, 1, 0, 0x35}, {1, 1, 1, 0xf4}},
    [OP_madwide_s32] = {SHAPE_WIDE, 8, {2, 1, 0, 0x25}, {2, 1, 1, 0x28}},
    [OP_madwide_u32] = {SHAPE_WIDE, 8, {2, 1, 0, 0x35}, {1, 1, 1, 0xf4}},
    [OP_mulhi_s32] = {SHAPE_HIGH, 4, {2, 1, 1, 0x28}, {0}},
    [OP_mulhi_u32] = {SHAPE_HIGH, 4, {1, 1, 1, 0xf4}, {0}},
    [OP_zext_16_32] = {SHAPE_GROW, 4, {2, 1, 0, 0x33}, {0}},
    [OP_sext_16_32] = {SHAPE_GROW, 4, {2, 1, 0, 0x23}, {0}},
    [OP_trunc_32_16] = {SHAPE_SHRINK, 2, {2, 2, 0, 0x33}, {0}},
    [OP_cvt_f32_f16] = {SHAPE_HALF, 4, {2, 1, 0, 0x13}, {0}},
    [OP_cvt_f16_f32] = {SHAPE_ROUND, 2, {3, 1, 0, 0x1d}, {0}},
    [OP_cvt_f16x2_f32] = {SHAPE_PAIR, 4, {3, 1, 0, 0x1d}, {0}},
    [OP_cvt_f32_bf16] = {SHAPE_BF16, 4, {2, 1, 0, 0x33}, {0}},
    [OP_cvt_f32_s32] = {SHAPE_ONE, 4, {1, 0, 0, 0x5b}, {0}},
    [OP_cvt_f32_u32] = {SHAPE_ONE, 4, {1, 3, 0, 0x7a}, {0}},
    [OP_abs_s32] = {SHAPE_ONE, 4, {2, 1, 0, 0x1e}, {0}},
    [OP_lop3] = {SHAPE_LOGIC3, 4, {0}, {0}},
    [OP_neg_32] = {SHAPE_NEGATE, 4, {1, 1, 0, 0xfa}, {0}},
    [OP_neg_64] = {SHAPE_NEGATE, 8, {1, 1, 1, 0xfb}, {0}},
    [OP_neg_f32] = {SHAPE_SIGN, 4, {1, 1, 0, 0xef}, {0, 0, 0, LEFT}},  /* xor with all ones shifted left */
    [OP_abs_f32] = {SHAPE_SIGN, 4, {1, 1, 0, 0xdb}, {0, 0, 0, RIGHT}}, /* and with all ones shifted right */
    [OP_mov_16] = {SHAPE_MOVE, 2, {1, 1, 1, 0x6f}, {0}},
    [OP_mov_32] = {SHAPE_MOVE, 4, {1, 1, 1, 0x6f}, {0}},
    [OP_mov_64] = {SHAPE_MOVE, 8, {1, 1, 1, 0x6f}, {0}},
    [OP_selp_16] = {SHAPE_SELECT, 2, {2, 1, 1, 0x66}, {0}},
    [OP_selp_32] = {SHAPE_SELECT, 4, {2, 1, 0, 0x64}, {0}},
    [OP_selp_64] = {SHAPE_SELECT, 8, {2, 1, 1, 0x64}, {0}},
    [OP_setp_s32] = {SHAPE_COMPARE, 4, {3, 1, 0, 0x1f}, {0}},
    [OP_setp_u32] = {SHAPE_COMPARE, 4, {3, 1, 0, 0x1e}, {0}},
    [OP_setp_f32] = {SHAPE_COMPARE_FLOAT, 4, {1, 0, 0, 0xc2}, {0}},
    [OP_and_pred] = {SHAPE_PREDICATE, 0, {1, 0, 0, 0x41}, {0}},
    [OP_or_pred] = {SHAPE_PREDICATE, 0, {1, 0, 0, 0x45}, {0}},
    [OP_xor_pred] = {SHAPE_PREDICATE, 0, {1, 0, 0, 0x47}, {0}},
    [OP_mov_pred] = {SHAPE_PREDICATE, 0, {0}, {0}},
};

static void shift_by(struct compiler *j, struct x86_form f, int how, int to, int from, unsigned by)
{
    vector_by(j, f, how, to, from, by); /* the field of the first operand says which way */
}

/* Operands of arithmetic, whose NaN may be any: its result is made canonical only where something else sees it. */
static int source_float(struct compiler *j, uint32_t ref)
{
    return jit_hold(j, ref, 4, JIT_READ_RAW).reg[0];
}
static int target_float(struct compiler *j, uint32_t ref)
{
    return jit_hold(j, ref, 4, JIT_WRITE_RAW).reg[0];
}
/* ---- operations ---- */
/* The mask of operand `ref`, negated or not; `scratch` may be written. */
static int predicate(struct compiler *j, uint32_t ref, bool negated, int scratch)
{
    const int k = source(j, ref, 0).reg[0];
    if (!negated)
        return k;
    x86_mask(&j->code, k_not, 0, scratch, 0, k);
    return scratch;
}

static void select_lanes(struct compiler *j, const struct insn *ip, const struct operation *o)
{
    const struct value a = source(j, ip->a, o->bytes), b = source(j, ip->b, o->bytes);
    int k = source(j, ip->c, 0).reg[0];
    const struct value d = target(j, ip->d, o->bytes), yes = ip->flags & 4 ? b : a, no = ip->flags & 4 ? a : b;
    for (int i = 0; i < vectors_of(&d); i++) {
        if (i) {
            x86_mask(&j->code, k_shift, 0, K0, 0, k);
            x86_byte(&j->code, 8);
            k = K0;
        }
        x86_vector(&j->code, o->form, o->bytes == 2 ? X86_YMM : X86_ZMM, d.reg[i], no.reg[i], yes.reg[i], k);
    }
}

static void compare(struct compiler *j, const struct insn *ip, const struct operation *o)
{
    static const uint8_t whole[] = {0, 4, 1, 2, 6, 5};
    static const uint8_t real[] = {0x00, 0x0c, 0x11, 0x12, 0x1e, 0x1d, 0x08, 0x04, 0x19, 0x1a, 0x16, 0x15, 0x07, 0x03};
    const enum jit_use use = o->shape == SHAPE_COMPARE ? JIT_READ : JIT_READ_RAW;
    const struct value a = jit_hold(j, ip->a, 4, use), b = jit_hold(j, ip->b, 4, use);
    const int join = ip->flags & JOIN_MASK, c = join ? predicate(j, ip->c, ip->flags & JOIN_NEGATED, K1) : 0;
    const struct value d = target(j, ip->d, 0);
    if (ip->count == 2)
        j->full = true; /* the second result is rare */
    vector_by(j, o->form, join ? K0 : d.reg[0], a.reg[0], b.reg[0],
              o->shape == SHAPE_COMPARE ? whole[ip->aux > 5 ? 5 : ip->aux] : real[ip->aux > 13 ? 13 : ip->aux]);
    if (join)
        x86_mask(&j->code, join == JOIN_AND ? k_and : join == JOIN_OR ? k_or : k_xor, 1, d.reg[0], K0, c);
}

static void join_predicates(struct compiler *j, const struct insn *ip, const struct operation *o)
{
    const int a = predicate(j, ip->a, ip->flags & 1, K0), b = ip->op == OP_mov_pred ? a : predicate(j, ip->b, ip->flags & 2, K1);
    const int d = target(j, ip->d, 0).reg[0];
    if (ip->op == OP_mov_pred)
        x86_mask(&j->code, k_move, 0, d, 0, a);
    else
        x86_mask(&j->code, o->form, 1, d, a, b);
}

/* Eight lanes of 32 bits as 64: the lower or the upper ones of a vector. */
static void widen(struct compiler *j, struct x86_form f, int to, int from, int part)
{
    if (part) {
        x86_vector_by(&j->code, extract, X86_ZMM, from, 0, to, 1);
        from = to;
    }
    vector(j, f, to, 0, from);
}

static void multiply_wide(struct compiler *j, const struct insn *ip, const struct operation *o)
{
    const bool plus = ip->op == OP_madwide_s32 || ip->op == OP_madwide_u32;
    const struct value a = source(j, ip->a, 4), b = source(j, ip->b, 4), c = plus ? source(j, ip->c, 8) : a;
    const struct value d = target(j, ip->d, 8);
    for (int i = 0; i < 2; i++) {
        widen(j, o->form, T0, a.reg[0], i);
        widen(j, o->form, T1, b.reg[0], i);
        vector(j, o->next, plus ? T0 : d.reg[i], T0, T1);
        if (plus)
            vector(j, add_64, d.reg[i], T0, c.reg[i]);
    }
}

static void multiply_high(struct compiler *j, const struct insn *ip, const struct operation *o)
{
    const int a = source(j, ip->a, 4).reg[0], b = source(j, ip->b, 4).reg[0], d = target(j, ip->d, 4).reg[0];
    shift_by(j, by_count_64, RIGHT, T0, a, 32);
    shift_by(j, by_count_64, RIGHT, T1, b, 32);
    vector(j, o->form, T1, T0, T1); /* odd lanes: their upper halves stand where they belong */
    vector(j, o->form, T0, a, b);
    shift_by(j, by_count_64, RIGHT, T0, T0, 32);
    X86(&j->code, 0xb8, 0xaa, 0xaa, 0, 0); /* mov eax, 0xaaaa */
    x86_mask(&j->code, k_from, 0, K0, 0, EAX);
    x86_vector(&j->code, move_32, X86_ZMM, T0, 0, T1, K0);
    vector(j, move, d, 0, T0);
}

/* f32 to f16 in the lower half of `to`; `scratch` may be written. */
static void round_half(struct compiler *j, int from, int to, int scratch)
{
    vector(j, move, scratch, 0, from);
    jit_canonical(j, scratch);
    vector_by(j, to_half, scratch, 0, to, 0);
}

static void convert(struct compiler *j, const struct insn *ip, const struct operation *o)
{
    const int from = o->shape == SHAPE_NARROW ? 8 : o->shape == SHAPE_GROW || o->shape == SHAPE_HALF || o->shape == SHAPE_BF16 ? 2 : 4;
    const enum jit_use use = o->shape == SHAPE_ROUND || o->shape == SHAPE_PAIR ? JIT_READ_RAW : JIT_READ;
    const struct value a = jit_hold(j, ip->a, from, use), b = o->shape == SHAPE_PAIR ? jit_hold(j, ip->b, 4, use) : a;
    const struct value d = jit_hold(j, ip->d, o->bytes, o->shape == SHAPE_HALF ? JIT_WRITE_RAW : JIT_WRITE);
    switch (o->shape) {
    case SHAPE_WIDEN:
        widen(j, o->form, d.reg[0], a.reg[0], 0);
        widen(j, o->form, d.reg[1], a.reg[0], 1);
        break;
    case SHAPE_NARROW:
        vector(j, o->form, a.reg[0], 0, T0);
        vector(j, o->form, a.reg[1], 0, T1);
        vector_by(j, insert, d.reg[0], T0, T1, 1);
        break;
    case SHAPE_SHRINK: vector(j, o->form, a.reg[0], 0, d.reg[0]); break;
    case SHAPE_ROUND: round_half(j, a.reg[0], d.reg[0], T0); break;
    case SHAPE_PAIR:
        round_half(j, a.reg[0], T1, T0);
        round_half(j, b.reg[0], T2, T0);
        vector(j, grow_u, T1, 0, T1);
        vector(j, grow_u, T2, 0, T2);
        shift_by(j, by_count_32, LEFT, T1, T1, 16);
        vector(j, or_32, d.reg[0], T1, T2);
        break;
    default:
        vector(j, o->form, d.reg[0], 0, a.reg[0]);
        if (o->shape == SHAPE_BF16)
            shift_by(j, by_count_32, LEFT, d.reg[0], d.reg[0], 16);
    }
}

/* The sum lies where c, a or b did, if that is not needed any longer. */
static void fuse(struct compiler *j, const struct insn *ip, const struct operation *o)
{
    const int a = source_float(j, ip->a), b = source_float(j, ip->b), c = source_float(j, ip->c);
    if (ip->d == ip->c || (ip->d != ip->a && ip->d != ip->b && jit_take_over(j, ip->c, ip->d))) {
        vector(j, o->form, target_float(j, ip->d), a, b);
    } else if (ip->d == ip->a || (ip->d != ip->b && jit_take_over(j, ip->a, ip->d))) {
        vector(j, o->next, target_float(j, ip->d), b, c);
    } else if (ip->d == ip->b || jit_take_over(j, ip->b, ip->d)) {
        vector(j, o->next, target_float(j, ip->d), a, c);
    } else {
        const int d = target_float(j, ip->d);
        vector(j, move, d, 0, c);
        vector(j, o->form, d, a, b);
    }
}

static void compute(struct compiler *j, const struct insn *ip, const struct operation *o)
{
    const bool shift = o->shape == SHAPE_SHIFT,
               one = o->shape == SHAPE_ONE || o->shape == SHAPE_MOVE || o->shape == SHAPE_NEGATE || o->shape == SHAPE_SIGN;
    const bool real = o->shape == SHAPE_FLOAT;
    const enum jit_use use = real ? JIT_READ_RAW : JIT_READ;
    const struct value a = jit_hold(j, ip->a, o->bytes, use), b = one ? a : jit_hold(j, ip->b, shift ? 4 : o->bytes, use);
    const struct value c = o->shape == SHAPE_MULTIPLY || o->shape == SHAPE_LOGIC3 ? source(j, ip->c, o->bytes) : a;
    const struct value d = jit_hold(j, ip->d, o->bytes, real ? JIT_WRITE_RAW : JIT_WRITE);
    for (int i = 0; i < vectors_of(&d); i++)
        switch (o->shape) {
        case SHAPE_SHIFT:
            widen(j, zext, T0, b.reg[0], i);
            vector(j, o->form, d.reg[i], a.reg[i], T0);
            break;
        case SHAPE_MULTIPLY:
            vector(j, o->form, T0, a.reg[i], b.reg[i]);
            vector(j, o->next, d.reg[i], T0, c.reg[i]);
            break;
        case SHAPE_LOGIC3:
            vector(j, move, T0, 0, a.reg[i]);
            vector_by(j, ternary, T0, b.reg[i], c.reg[i], (unsigned)ip->imm & 255);
            vector(j, move, d.reg[i], 0, T0);
            break;
        case SHAPE_NEGATE:
            vector(j, xor_32, T0, T0, T0);
            vector(j, o->form, d.reg[i], T0, a.reg[i]);
            break;
        case SHAPE_SIGN:
            vector_by(j, ternary, T0, T0, T0, 255);
            shift_by(j, by_count_32, o->next.opcode, T0, T0, o->next.opcode == LEFT ? 31 : 1);
            vector(j, o->form, d.reg[i], a.reg[i], T0);
            break;
        case SHAPE_ONE:
        case SHAPE_MOVE: vector(j, o->form, d.reg[i], 0, a.reg[i]); break;
        default: vector(j, o->form, d.reg[i], a.reg[i], b.reg[i]);
        }
}

bool jit_can(const struct insn *ip)
{
    return operations[ip->op].shape != SHAPE_NONE;
}

bool jit_is_float(const struct insn *ip)
{
    const int s = operations[ip->op].shape;
    return s == SHAPE_FLOAT || s == SHAPE_FUSED || s == SHAPE_HALF || s == SHAPE_ROUND || s == SHAPE_PAIR;
}

static void one_half(struct compiler *j, const struct insn *ip)
{
    const struct operation *o = &operations[ip->op];
    switch (o->shape) {
    case SHAPE_SELECT: select_lanes(j, ip, o); break;
    case SHAPE_COMPARE:
    case SHAPE_COMPARE_FLOAT: compare(j, ip, o); break;
    case SHAPE_PREDICATE: join_predicates(j, ip, o); break;
    case SHAPE_WIDE: multiply_wide(j, ip, o); break;
    case SHAPE_HIGH: multiply_high(j, ip, o); break;
    case SHAPE_FUSED: fuse(j, ip, o); break;
    case SHAPE_WIDEN:
    case SHAPE_NARROW:
    case SHAPE_GROW:
    case SHAPE_SHRINK:
    case SHAPE_HALF:
    case SHAPE_ROUND:
    case SHAPE_BF16:
    case SHAPE_PAIR: convert(j, ip, o); break;
    default: compute(j, ip, o);
    }
}

void jit_operations(struct compiler *j, const struct insn *ip, uint32_t from, uint32_t end)
{
    for (j->half = 0; j->half < j->halves; j->half++)
        for (j->operation = from; j->operation < end && !j->full; j->operation++) {
            j->now++;
            one_half(j, ip + j->operation);
        }
}
