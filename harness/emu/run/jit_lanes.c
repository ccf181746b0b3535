/* emu/run/jit_lanes: AVX-512 code for lane-wise operations, of 16 lanes at a time, and for loads of a whole warp. */
#include "emu/handlers.h"
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
static const struct x86_form add_64 = {1, 1, 1, 0xd4}, move = {1, 1, 1, 0x6f}, move_32 = {1, 1, 0, 0x6f};
static const struct x86_form zext = {2, 1, 0, 0x35}, grow_u = {2, 1, 0, 0x33}, or_32 = {1, 1, 0, 0xeb}, xor_32 = {1, 1, 0, 0xef};
static const struct x86_form extract = {3, 1, 1, 0x3b}, insert = {3, 1, 1, 0x3a}, by_count_32 = {1, 1, 0, 0x72},
                             by_count_64 = {1, 1, 1, 0x73};
static const struct x86_form to_half = {3, 1, 0, 0x1d}, ternary = {3, 1, 0, 0x25}, ternary_64 = {3, 1, 1, 0x25};
static const struct x86_form from_32 = {2, 1, 0, 0x7c}, from_64 = {2, 1, 1, 0x7c}, pick_32 = {2, 1, 0, 0x76}, pick_64 = {2, 1, 1, 0x76};
static const struct x86_form k_move = {1, 0, 0, 0x90}, k_move_8 = {1, 1, 0, 0x90}, k_from = {1, 0, 0, 0x92}, k_not = {1, 0, 0, 0x44};
static const struct x86_form k_or = {1, 0, 0, 0x45}, k_and = {1, 0, 0, 0x41}, k_xor = {1, 0, 0, 0x47};
static const struct x86_form k_shift = {3, 1, 1, 0x30};
static const struct x86_form k_or_test = {1, 0, 0, 0x98}, look = {2, 1, 1, 0x27};
static const struct x86_form spread_32 = {2, 1, 0, 0x58}, spread_64 = {2, 1, 1, 0x59}, first_32 = {1, 1, 0, 0x7e},
                             first_64 = {1, 1, 1, 0x7e};
static const struct x86_form subtract_32 = {1, 1, 0, 0xfa}, subtract_64 = {1, 1, 1, 0xfb}, sext_32 = {2, 1, 0, 0x25};
static const struct x86_form low_32 = {1, 1, 0, 0x62}, high_32 = {1, 1, 0, 0x6a}, low_64 = {1, 1, 1, 0x6c}, high_64 = {1, 1, 1, 0x6d};

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

static void vector(struct compiler *j, struct x86_form f, int reg, int second, int rm)
{
    x86_vector(&j->code, f, X86_ZMM, reg, second, rm, 0);
}
static void vector_by(struct compiler *j, struct x86_form f, int reg, int second, int rm, unsigned by)
{
    x86_vector_by(&j->code, f, X86_ZMM, reg, second, rm, by);
}

static void shift_by(struct compiler *j, struct x86_form f, int how, int to, int from, unsigned by)
{
    vector_by(j, f, how, to, from, by); /* the field of the first operand says which way */
}

static struct value source(struct compiler *j, uint32_t ref, int bytes)
{
    return jit_hold(j, ref, bytes, JIT_READ);
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
/* The result's vectors, after all sources are held. */
static struct value target(struct compiler *j, uint32_t ref, int bytes)
{
    return jit_hold(j, ref, bytes, JIT_WRITE);
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
    for (j->half = 0; j->half < 2; j->half++)
        for (j->operation = from; j->operation < end && !j->full; j->operation++) {
            j->now++;
            one_half(j, ip + j->operation);
        }
}

/* ---- loads ---- */
bool jit_can_load(const struct program *p, const struct insn *ip)
{
    if ((ip->kind != MOVE_32 && ip->kind != MOVE_16) || (ip->flags & 2) || ip->imm != (int32_t)ip->imm || ip->count > 4 ||
        (ip->count > 1 && ip->kind != MOVE_32))
        return false;
    if (ip->op == OP_ld_shared)
        return p->simple_races && (ip->count == 1 || ip->count == 4) && !(ip->flags & ACCESS_OVERTAKEN);
    return ip->op == OP_ld_global;
}

/* K_LOOK: the running ones of `lanes` (8 or 16) lanes, the i-th so many. */
static void running(struct compiler *j, uint32_t lanes, int i)
{
    x86_mask_at(&j->code, lanes == 8 ? k_move_8 : k_move, K_LOOK, WARP, (uint32_t)offsetof(struct warp, mask) + lanes / 8 * (uint32_t)i);
}

/* ---- registers whose lanes differ alike ---- */
static struct jit_alike *find_alike(struct compiler *j, uint32_t ref)
{
    for (uint32_t i = 0; i < j->alike_count; i++)
        if (j->alike[i].ref == ref)
            return &j->alike[i];
    return NULL;
}

static void forget_alike(struct compiler *j, uint32_t i)
{
    memmove(j->alike + i, j->alike + i + 1, (--j->alike_count - i) * sizeof *j->alike);
}

static struct jit_alike *add_alike(struct compiler *j, struct jit_alike made)
{
    if (j->alike_count == JIT_ALIKE)
        forget_alike(j, 0);
    j->alike[j->alike_count] = made;
    return &j->alike[j->alike_count++];
}

static struct jit_alike *alike(struct compiler *j, uint32_t ref)
{
    struct jit_alike *a = find_alike(j, ref);
    return a ? a : add_alike(j, (struct jit_alike){ref, j->classes++, NO_REF});
}

void jit_follow(struct compiler *j, const struct insn *ip, uint32_t operation)
{
    const bool adds = ip->op == OP_add_32 || ip->op == OP_add_64, subtracts = ip->op == OP_sub_32 || ip->op == OP_sub_64;
    uint32_t from = NO_REF;
    struct jit_alike made = {0};
    if (ip->op == OP_mov_32 || ip->op == OP_mov_64 || ((adds || subtracts) && (ip->b & 1)))
        from = ip->a;
    else if (adds && (ip->a & 1))
        from = ip->b; /* the lanes of a constant are equal */
    if (from != NO_REF)
        made = *alike(j, from);
    for (uint32_t i = 0; i < j->access_count; i++)
        for (uint32_t k = j->accesses[i].operation == operation && j->accesses[i].write ? 0 : j->alike_count; k < j->alike_count; k++)
            if (j->alike[k].ref == j->accesses[i].ref) {
                forget_alike(j, k);
                break;
            }
    if (from != NO_REF) {
        made.ref = ip->d;
        add_alike(j, made);
    }
}

/* ---- addresses ---- */
/* An address register: in vectors of one half or both, or in the frame. */
struct address {
    uint32_t ref;
    bool wide, held[2];
    struct value half[2];
};

/* rax: the address of the first lane that runs. */
static void first_address(struct compiler *j, const struct address *a)
{
    struct machine_code *c = &j->code;
    if (j->some) {
        X86(c, 0xf3); /* tzcnt eax, [rdi + mask] */
        X86(c, 0x0f);
        put_field(c, 0xbc, EAX, offsetof(struct warp, mask));
    }
    if (!a->held[0]) {
        if (a->wide)
            x86_byte(c, 0x48);
        if (j->some) { /* mov rax, [base + lanes * rax + ref] */
            X86(c, 0x8b, 0x84, (uint8_t)((a->wide ? 0xc0 : 0x80) | base_of(a->ref)));
            x86_word(c, a->ref);
        } else {
            put_word(c, 0x8b, a->ref);
        }
        return;
    }
    int first = a->half[0].reg[0];
    if (j->some) {
        first = T0;
        vector(j, a->wide ? from_64 : from_32, T0, 0, EAX);
    }
    if (j->some && !a->wide) { /* of two vectors the one that T0 says */
        vector(j, pick_32, T0, a->half[0].reg[0], a->half[1].reg[0]);
    } else if (j->some) {
        X86(c, 0x83, 0xf8, 16); /* cmp eax, 16 */
        const size_t upper = x86_jump(c, JUMP_NOT_BELOW);
        vector(j, pick_64, T0, a->half[0].reg[0], a->half[0].reg[1]);
        const size_t end = x86_jump(c, 0);
        x86_land(c, upper);
        vector(j, pick_64, T0, a->half[1].reg[0], a->half[1].reg[1]);
        x86_land(c, end);
    }
    x86_vector(c, a->wide ? first_64 : first_32, 0, first, 0, EAX, 0);
}

/* K_LOOK: what differs between the addresses of the lanes that run and those of the memo behind rsi, with rax as the first one. */
static void compare_addresses(struct compiler *j, const struct address *a, uint32_t memo)
{
    const uint32_t rel = memo + (uint32_t)offsetof(struct memo, rel);
    if (a->held[0] && !j->some)
        vector(j, a->wide ? spread_64 : spread_32, T0, 0, a->half[0].reg[0]);
    else
        vector(j, a->wide ? from_64 : from_32, T0, 0, EAX);
    for (int i = 0; i < (a->wide ? 4 : 2); i++) {
        const int h = a->wide ? i / 2 : i, reg = a->held[h] ? a->half[h].reg[a->wide ? i % 2 : 0] : T1;
        if (reg == T1)
            x86_vector_at(&j->code, move, X86_ZMM, T1, base_of(a->ref), a->ref + 64 * (uint32_t)i);
        vector(j, a->wide ? subtract_64 : subtract_32, T1, reg, T0);
        if (a->wide)
            x86_vector_at(&j->code, sext_32, X86_ZMM, T2, INSN, rel + 32 * (uint32_t)i);
        else
            x86_vector_at(&j->code, move, X86_ZMM, T2, INSN, rel + 64 * (uint32_t)i);
        if (!i)
            vector(j, xor_32, T3, T3, T3);
        if (j->some)
            running(j, a->wide ? 8 : 16, i);
        x86_vector(&j->code, a->wide ? ternary_64 : ternary, X86_ZMM, T3, T1, T2, j->some ? K_LOOK : 0);
        x86_byte(&j->code, 0xf6); /* T3 | (T1 ^ T2) */
    }
    x86_vector(&j->code, look, X86_ZMM, K_LOOK, T3, T3, 0);
}

/* The load's address register. `known`: its lanes differ as another load's did, and one of them is enough. */
static struct address hold_address(struct compiler *j, const struct insn *ip, bool known)
{
    const bool wide = ip->op == OP_ld_global || (ip->flags & 1);
    struct address a = {.ref = ip->a, .wide = wide};
    bool all = !known || j->records;
    for (j->half = 0; j->half < 2 && known && !j->records; j->half++)
        a.held[j->half] = jit_held(j, ip->a, wide ? 8 : 4, &a.half[j->half]);
    all |= j->some && (a.held[0] || a.held[1]);
    for (j->half = 0; j->half < 2 && all; j->half++) {
        a.half[j->half] = source(j, ip->a, wide ? 8 : 4);
        a.held[j->half] = true;
    }
    if (j->records && j->access_count)
        j->accesses[j->access_count - 1].scalar = known;
    return a;
}

static void call(struct machine_code *c, const void *function)
{
    put_address(c, EAX, function);
    X86(c, 0xff, 0xd0, 0x48, 0x89, 0xdf); /* call rax; mov rdi, rbx */
    jit_bases(c);
}

static void put_memos(struct machine_code *c)
{
    put_wide_field(c, 0x8b, INSN, offsetof(struct warp, memos)); /* mov rsi, [rdi + memos] */
}

static void compare_pattern(struct machine_code *c, uint32_t memo)
{
    x86_byte(c, 0x80); /* cmp byte [rsi + pattern], uniform */
    x86_modrm(c, 7, INSN, memo + (uint32_t)offsetof(struct memo, pattern));
    x86_byte(c, PATTERN_UNIFORM);
}

/* Several words of each lane: rax says where, and the memo how. */
static void put_rows(struct compiler *j, const struct insn *ip, uint32_t memo)
{
    struct machine_code *c = &j->code;
    int d[2][4];
    size_t other, end;
    if (j->some)
        x86_byte(c, 0x50); /* push rax: to store a predicate takes it */
    j->now++;
    for (j->half = 0; j->half < 2; j->half++)
        for (int v = 0; v < ip->count; v++)
            d[j->half][v] = ip->list[v] == NO_REF ? -1 : target(j, ip->list[v], 4).reg[0];
    if (j->some)
        x86_byte(c, 0x58); /* pop rax */
    put_memos(c);
    compare_pattern(c, memo);
    other = x86_jump(c, JUMP_NOT_ZERO);
    for (int v = 0; v < ip->count; v++)
        for (int h = 0; h < 2 && d[h][v] >= 0; h++)
            x86_vector_at(c, spread_32, X86_ZMM, d[h][v], EAX, 4 * (uint32_t)v);
    end = x86_jump(c, 0);
    x86_land(c, other);
    for (int h = 0; h < 2 && ip->count == 4; h++) { /* four transposes of 4 x 4 */
        X86(c, 0x48, 0x89, 0xc7);                   /* mov rdi, rax; its result is the host's address again */
        if (h) {
            X86(c, 0x48, 0x8b); /* mov rsi, [rbx + memos] */
            x86_modrm(c, INSN, 3, (uint32_t)offsetof(struct warp, memos));
        }
        X86(c, 0x48, 0x81, 0xc6); /* add rsi, memo's rel */
        x86_word(c, memo + (uint32_t)offsetof(struct memo, rel) + 64 * (uint32_t)h);
        call(c, (const void *)(uintptr_t)jit_rows);
        vector(j, low_32, T4, T0, T1);
        vector(j, high_32, T0, T0, T1);
        vector(j, low_32, T1, T2, T3);
        vector(j, high_32, T2, T2, T3);
        for (int v = 0; v < 4; v++)
            if (d[h][v] >= 0)
                vector(j, v & 1 ? high_64 : low_64, d[h][v], v < 2 ? T4 : T0, v < 2 ? T1 : T2);
    }
    x86_land(c, end);
}

void jit_load(struct compiler *j, const struct insn *ip, size_t jumps[2], struct values *then)
{
    struct machine_code *c = &j->code;
    const bool shared = ip->op == OP_ld_shared;
    const uint32_t memo = ip->memo * (uint32_t)sizeof(struct memo);
    const int count = ip->count, bytes = ip->kind == MOVE_32 ? 4 : 2;
    const uint32_t seen = ip->a & 1 ? NO_REF : alike(j, ip->a)->memo;
    size_t known = 0;
    j->now++;
    const struct address a = hold_address(j, ip, seen != NO_REF);
    first_address(j, &a);
    put_memos(c);
    if (seen != NO_REF) {   /* as the lanes of that load, if both patterns have one key */
        X86(c, 0x48, 0x8b); /* mov rcx, [rsi + key]; cmp rcx, [rsi + key] */
        x86_modrm(c, CONSTANTS, INSN, seen + (uint32_t)offsetof(struct memo, key));
        X86(c, 0x48, 0x3b);
        x86_modrm(c, CONSTANTS, INSN, memo + (uint32_t)offsetof(struct memo, key));
        known = x86_jump(c, JUMP_ZERO);
    } else if (!(ip->a & 1)) {
        for (uint32_t i = 0, class = alike(j, ip->a)->class; i < j->alike_count; i++)
            if (j->alike[i].class == class)
                j->alike[i].memo = memo;
    }
    compare_addresses(j, &a, memo);
    x86_mask(c, k_or_test, 0, K_LOOK, 0, K_LOOK);
    jumps[0] = x86_jump(c, JUMP_NOT_ZERO);
    if (known)
        x86_land(c, known);
    X86(c, 0x48, 0x89, 0xc2); /* mov rdx, rax */
    X86(c, 0x48, 0x81, 0xc2); /* add rdx, imm */
    x86_word(c, (uint32_t)ip->imm);
    X86(c, 0x48, 0x81, 0xc6); /* add rsi, memo */
    x86_word(c, memo);
    x86_byte(c, 0xb9); /* mov ecx, take */
    x86_word(c, count == 4 ? JIT_ROWS : count > 1 ? JIT_UNIFORM : bytes == 4 ? JIT_ANY_32 : JIT_ANY_16);
    call(c, shared ? (const void *)(uintptr_t)jit_shared : (const void *)(uintptr_t)jit_global);
    X86(c, 0x48, 0x85, 0xc0); /* test rax, rax */
    jumps[1] = x86_jump(c, JUMP_ZERO);
    *then = j->values;
    for (int i = 0; i < then->count; i++)
        then->at[i].dead &= then->at[i].used != j->now; /* the handler reads the address from the frame */
    if (count > 1)
        put_rows(j, ip, memo);
    j->now++;
    for (j->half = 0; j->half < 2 && count == 1; j->half++) {
        const int d = target(j, ip->d, bytes).reg[0];
        if (bytes == 4 || !j->half)
            vector(j, move, d, 0, bytes == 4 && j->half ? T1 : T0);
        else
            x86_vector_by(c, extract, X86_ZMM, T0, 0, d, 1);
    }
}
