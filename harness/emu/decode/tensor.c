/* emu/decode/tensor: mma, wmma, ldmatrix, stmatrix, movmatrix. */
#include "emu/decode/decode.h"
#include "emu/tensor.h"
#include <stdio.h>
#include <string.h>

static bool take_shape(struct decode *d, int *m, int *n, int *k)
{
    for (int i = 0; i < d->in->mod_count; i++) {
        char rest;
        if (!(d->taken >> i & 1) && sscanf(d->in->mods[i], "m%dn%dk%d%c", m, n, k, &rest) == 3) {
            d->taken |= 1u << i;
            return *m >= 8 && *m <= 32 && *n >= 8 && *n <= 32 && *k >= 4 && *k <= 256;
        }
    }
    return false;
}

/* The next element type; -1 when there is none. s4, u4, b1 are types only here. */
static int take_form(struct decode *d)
{
    static const struct {
        const char *word;
        enum mma_form form;
    } words[] = {{"f16", MMA_F16}, {"bf16", MMA_BF16}, {"tf32", MMA_TF32}, {"f32", MMA_F32},   {"f64", MMA_F64}, {"s8", MMA_S8},
                 {"u8", MMA_U8},   {"s32", MMA_S32},   {"e4m3", MMA_E4M3}, {"e5m2", MMA_E5M2}, {"s4", MMA_S4},   {"u4", MMA_U4},
                 {"b1", MMA_B1},   {"e2m1", MMA_E2M1}, {"e2m3", MMA_E2M3}, {"e3m2", MMA_E3M2}};
    for (int i = 0; i < d->in->mod_count; i++) {
        if (d->taken >> i & 1)
            continue;
        for (size_t k = 0; k < sizeof words / sizeof *words; k++)
            if (!strcmp(d->in->mods[i], words[k].word)) {
                d->taken |= 1u << i;
                return (int)words[k].form;
            }
    }
    return -1;
}

static enum ptx_type reg_type(int form)
{
    return form == MMA_F64 ? T_F64 : T_B32;
}

/* Registers that a matrix of that many elements needs; fragments may hold more (repeated). */
static int registers(int rows, int cols, int form)
{
    int bits = mma_form_bits((enum mma_form)form);
    return rows * cols * (bits > 32 ? 32 : bits) / 32 / 32 > 0 ? rows * cols * (bits > 32 ? 32 : bits) / 32 / 32 : 1;
}

static uint32_t *vector_refs(struct decode *d, const struct ptx_operand *o, enum ptx_type t, bool write, uint32_t *out)
{
    if (o->kind != OPERAND_VECTOR) {
        *out = write ? decode_target(d, o, t, false) : decode_source(d, o, t, false);
        return out + 1;
    }
    for (int i = 0; i < o->count; i++)
        *out++ = write ? decode_target(d, &o->items[i], t, false) : decode_source(d, &o->items[i], t, false);
    return out;
}

/* The largest matrix that one instruction of the machine adds to is 16 x 8 (sm_80 and later): a wmma of 16 x 16 is two of them, as counted
 * on an H200. */
#define MACHINE_RESULTS 128

static int length(const struct ptx_operand *o)
{
    return o->kind == OPERAND_VECTOR ? o->count : 1;
}

/* A register, and {byte, lane of four} that select in it, below `lanes`; `count` bytes are read. */
static uint32_t *scale_refs(struct decode *d, int operand, uint32_t count, uint32_t lanes, uint32_t *out)
{
    const struct ptx_operand *scales = decode_operand(d, operand), *select = decode_operand(d, operand + 1);
    bool one = scales->kind == OPERAND_VECTOR && scales->count == 1; /* CUTLASS writes the register in braces */
    *out++ = decode_source(d, one ? &scales->items[0] : scales, T_B32, false);
    if (select->kind != OPERAND_VECTOR || select->count != 2) {
        decode_fail(d, "a pair {byte, lane} was expected behind the scales");
        return out;
    }
    const struct ptx_operand *byte = &select->items[0], *lane = &select->items[1];
    if ((byte->kind == OPERAND_INT && (byte->bits > 3 || byte->bits % count)) || (lane->kind == OPERAND_INT && lane->bits >= lanes))
        decode_wrong(d, "no such byte or lane of the scales");
    *out++ = decode_source(d, byte, T_U16, false);
    *out++ = decode_source(d, lane, T_U16, false);
    return out;
}

bool decode_metadata(struct decode *d, int operand, int bits, int k, uint32_t *out)
{
    const struct ptx_operand *selector = decode_operand(d, operand + 1);
    int lanes = sparse_row_bits(bits, k) / 16;
    if (lanes != 1 && lanes != 2 && lanes != 4)
        return decode_wrong(d, "a sparse matrix of this type has another shape");
    if (selector->kind != OPERAND_INT || selector->bits >= (uint64_t)(4 / lanes))
        return decode_wrong(d, "the sparsity selector is a constant below %d", 4 / lanes);
    out[0] = decode_source(d, decode_operand(d, operand), T_B32, false);
    out[1] = (uint32_t)selector->bits;
    return true;
}

static bool finish_mma(struct decode *d, int m, int n, int k, int fd, int fa, int fb, int fc, uint32_t flags)
{
    const struct ptx_operand *o[4] = {decode_operand(d, 0), decode_operand(d, 1), decode_operand(d, 2), decode_operand(d, 3)};
    if (fd < 0 || fa < 0 || fb < 0 || fc < 0)
        return decode_fail(d, "these element types are not supported") || true;
    bool sparse = flags & MMA_SPARSE;
    int count = 0, want[4] = {registers(m, n, fd), registers(m, sparse ? k / 2 : k, fa), registers(k, n, fb), registers(m, n, fc)};
    for (int i = 0; i < 4; i++) {
        if (length(o[i]) < want[i])
            return decode_fail(d, "operand %d has %d registers, %d are needed", i + 1, length(o[i]), want[i]) || true;
        count += length(o[i]);
    }
    uint32_t *l = decode_list(d, MMA_HEADER + count + MMA_SPARSE_SLOTS + MMA_SCALE_SLOTS), *at = l + MMA_HEADER;
    const uint32_t header[MMA_HEADER] = {(uint32_t)m,
                                         (uint32_t)n,
                                         (uint32_t)k,
                                         (uint32_t)fa,
                                         (uint32_t)fb,
                                         (uint32_t)fc,
                                         (uint32_t)fd,
                                         flags,
                                         (uint32_t)length(o[0]),
                                         (uint32_t)length(o[1]),
                                         (uint32_t)length(o[2]),
                                         (uint32_t)length(o[3])};
    memcpy(l, header, sizeof header);
    at = vector_refs(d, o[0], reg_type(fd), true, at);
    at = vector_refs(d, o[1], reg_type(fa), false, at);
    at = vector_refs(d, o[2], reg_type(fb), false, at);
    at = vector_refs(d, o[3], reg_type(fc), false, at);
    if (sparse && !decode_metadata(d, 4, mma_form_bits((enum mma_form)fa), k, at))
        return true;
    at += sparse ? MMA_SPARSE_SLOTS : 0;
    int scales = sparse ? 6 : 4;
    if (flags >> MMA_SCALES)
        scale_refs(d, scales + 2, flags >> MMA_SCALES, 4, scale_refs(d, scales, flags >> MMA_SCALES, 2, at));
    bool half = (fa == MMA_F16 || fa == MMA_BF16) && fa == fb && fc == fd && (fd == MMA_F32 || fd == MMA_F16) && n % 8 == 0 &&
                m % 16 == 0 && m * n <= 512 && (k == 8 || k == 16) && !sparse;
    struct insn *ip = decode_emit(d, half ? OP_mma_half : OP_mma);
    ip->list = l;
    d->p->cold[ip->index].macs = (uint32_t)(m * n * k) >> sparse;
    d->p->cold[ip->index].mmas = (uint8_t)((m * n + MACHINE_RESULTS - 1) / MACHINE_RESULTS);
    return true;
}

/* The types of scales, and how many a row has; false: not these. */
static bool take_scales(struct decode *d, uint32_t *flags)
{
    static const char *const kinds[] = {"kind::mxf8f6f4", "kind::mxf4", "kind::mxf4nvf4", NULL},
                             *const vectors[] = {"scale_vec::1X", "scale_vec::2X", "scale_vec::4X", NULL},
                             *const types[] = {"ue8m0", "ue4m3", NULL};
    int kind = decode_take_word(d, kinds), vector = decode_take_word(d, vectors), type = decode_take_word(d, types);
    vector = vector < 0 && kind < 2 ? kind : vector;
    bool right = kind == 0   ? vector == 0 && type == 0
                 : kind == 1 ? vector == 1 && type == 0
                             : kind == 2 && (vector == 2 || (vector == 1 && type == 0));
    *flags |= (uint32_t)(1 << (vector < 0 ? 0 : vector)) << MMA_SCALES | (type == 1 ? MMA_UE4M3 : 0);
    return right && type >= 0;
}

/* Floats of less than 8 bits. */
static bool narrow(int form)
{
    return form == MMA_E2M1 || form == MMA_E2M1_BYTE || form == MMA_E2M3 || form == MMA_E3M2;
}

static bool decode_mma(struct decode *d)
{
    int m = 0, n = 0, k = 0;
    decode_take(d, "sync");
    decode_take(d, "aligned");
    uint32_t flags = 0;
    int sparse = decode_take_word(d, (const char *const[]){"sp", "sp::ordered_metadata", NULL});
    flags |= sparse < 0 ? 0 : sparse ? MMA_SPARSE | MMA_ORDERED : MMA_SPARSE;
    if (sparse == 0 && (instr_has(d->in, "block_scale") || instr_has(d->in, "kind::f8f6f4")))
        return decode_wrong(d, "this kind needs '.sp::ordered_metadata'") || true;
    if (decode_take(d, "block_scale") && !take_scales(d, &flags))
        return decode_fail(d, "these scales of blocks are not supported") || true;
    if (!take_shape(d, &m, &n, &k))
        return decode_fail(d, "this shape is not supported") || true;
    decode_take(d, "row");
    decode_take(d, "col");
    flags |= decode_take(d, "satfinite") ? MMA_SAT : 0;
    bool bytes = decode_take(d, "kind::f8f6f4") || instr_has(d->in, "kind::mxf8f6f4");
    int fd = take_form(d), fa = take_form(d), fb = take_form(d), fc = take_form(d);
    fa = bytes && fa == MMA_E2M1 ? MMA_E2M1_BYTE : fa;
    fb = bytes && fb == MMA_E2M1 ? MMA_E2M1_BYTE : fb;
    if ((narrow(fa) || narrow(fb)) && !(bytes && k == (sparse < 0 ? 32 : 64)) &&
        !(flags >> MMA_SCALES && fa == fb && fa == MMA_E2M1 && k == (sparse < 0 ? 64 : 128)))
        return decode_wrong(d, "these types need another kind or shape") || true;
    if (decode_take(d, "and")) {
        decode_take(d, "popc");
        flags |= MMA_AND_POPC;
    } else if (decode_take(d, "xor")) {
        decode_take(d, "popc");
    }
    if (fa != fb && (fa == MMA_F16 || fa == MMA_BF16 || fa == MMA_TF32 || fa == MMA_F64 || fb == MMA_F16 || fb == MMA_BF16))
        return decode_wrong(d, "both matrices have the same type") || true;
    if (fd != fc && !(m == 8 && k == 4))
        return decode_wrong(d, "the sums before and after have the same type") || true;
    if (m == 8 && k == 4 && fa == MMA_F16)
        return decode_fail(d, "the shape of Volta is not supported") || true;
    return finish_mma(d, m, n, k, fd, fa, fb, fc, flags);
}

static bool wmma_mma(struct decode *d, int m, int n, int k)
{
    static const char *const layouts[] = {"row", "col", NULL};
    while (decode_take_word(d, layouts) >= 0)
        ;
    uint32_t flags = decode_take(d, "satfinite") ? MMA_SAT : 0;
    decode_take(d, "rn"); /* f64 */
    int first = take_form(d), second = take_form(d), third = take_form(d), fourth = take_form(d);
    if (fourth >= 0) /* d, a, b, c */
        return finish_mma(d, m, n, k, first, second, third, fourth, flags);
    /* f16 operands: only d and c are named */
    return finish_mma(d, m, n, k, first, MMA_F16, MMA_F16, second, flags);
}

static bool wmma_memory(struct decode *d, int m, int n, int k, int which, bool store)
{
    enum ptx_space space = decode_take_space(d);
    bool column = decode_take(d, "col");
    if (!column)
        decode_take(d, "row");
    int form = take_form(d);
    struct place_ref at;
    const struct ptx_operand *regs = decode_operand(d, store ? 1 : 0);
    if (form < 0 || mma_form_bits((enum mma_form)form) < 8)
        return decode_fail(d, "this element type is not supported") || true;
    if (!decode_address(d, decode_operand(d, store ? 0 : 1), space, &at))
        return true;
    uint32_t stride = d->in->count > 2 ? decode_source(d, decode_operand(d, 2), T_U32, false)
                                       : decode_constant(d,
                                                         (uint64_t)(which == 0   ? (column ? m : k)
                                                                    : which == 1 ? (column ? k : n)
                                                                    : column     ? m
                                                                                 : n),
                                                         4);
    uint32_t bytes = (uint32_t)mma_form_bits((enum mma_form)form) / 8; /* neighbours may be of two lanes */
    while (store && space != SPACE_SHARED && 1u << d->p->global_shift > bytes)
        d->p->global_shift--;
    while (store && space != SPACE_GLOBAL && 1u << d->p->shared_shift > bytes)
        d->p->shared_shift--;
    int rows = which == 1 ? k : m, cols = which == 0 ? k : n;
    int needed = which < 2 && form == MMA_F16 ? 8 : registers(rows, cols, form); /* each half of a or b lies in two lanes */
    if (length(regs) != needed)
        return decode_wrong(d, "%d registers, %d are needed", length(regs), needed) || true;
    uint32_t *l = decode_list(d, WMMA_HEADER + length(regs));
    const uint32_t header[WMMA_HEADER] = {(uint32_t)m,     (uint32_t)n, (uint32_t)k,           (uint32_t)form,
                                          (uint32_t)which, column,      (uint32_t)length(regs)};
    memcpy(l, header, sizeof header);
    vector_refs(d, regs, reg_type(form), !store, l + WMMA_HEADER);
    struct insn *ip = decode_emit(d, store ? OP_wmma_store : OP_wmma_load);
    ip->a = at.a, ip->imm = at.imm, ip->flags = at.flags;
    ip->b = stride;
    ip->list = l;
    ip->aux = (uint16_t)space;
    return true;
}

static bool decode_wmma(struct decode *d)
{
    static const char *const what[] = {"load", "store", "mma", NULL}, *const fragments[] = {"a", "b", "c", "d", NULL};
    int m = 0, n = 0, k = 0, kind = decode_take_word(d, what), which = kind < 2 ? decode_take_word(d, fragments) : 0;
    decode_take(d, "sync");
    decode_take(d, "aligned");
    if (kind < 0 || which < 0 || !take_shape(d, &m, &n, &k))
        return decode_fail(d, "this form is not supported") || true;
    return kind == 2 ? wmma_mma(d, m, n, k) : wmma_memory(d, m, n, k, which > 2 ? 2 : which, kind == 1);
}

static bool decode_matrix_move(struct decode *d, bool store)
{
    static const char *const counts[] = {"x1", "x2", "x4", NULL};
    decode_take(d, "sync");
    decode_take(d, "aligned");
    bool shape = decode_take(d, "m8n8"), tall = !shape && decode_take(d, store ? "m16n8" : "m16n16"),
         bytes = !shape && !store && (tall || decode_take(d, "m8n16"));
    int count = decode_take_word(d, counts);
    bool trans = decode_take(d, "trans");
    enum ptx_space space = decode_take_space(d);
    int packed = bytes && decode_take(d, "b8x16") ? decode_take_word(d, (const char *const[]){"b4x16_p64", "b6x16_p32", NULL}) : -1;
    enum ptx_type t = packed >= 0 ? T_NONE : decode_take_type(d);
    const struct ptx_operand *regs = decode_operand(d, store ? 1 : 0);
    struct place_ref at;
    bool known = tall ? trans && (packed >= 0 || t == T_B8) : bytes ? packed >= 0 && !trans : shape && t == T_B16;
    count += tall && !store; /* in eights of rows */
    if (!known || count < 0 || count > 2 || (space != SPACE_SHARED && space != SPACE_GENERIC) || length(regs) != 1 << count)
        return decode_fail(d, "this form is not supported") || true;
    if (!decode_address(d, decode_operand(d, store ? 0 : 1), space, &at))
        return true;
    uint32_t *l = decode_list(d, 4);
    vector_refs(d, regs, T_B32, !store, l);
    struct insn *ip = decode_emit(d, store ? OP_stmatrix : OP_ldmatrix);
    ip->a = at.a, ip->imm = at.imm;
    ip->flags = at.flags | (space == SPACE_GENERIC); /* a generic address of shared memory: its low 32 bits */
    ip->count = (uint8_t)(1 << count);
    ip->kind = tall ? MATRIX_BYTES : trans;
    ip->aux = packed < 0 ? 0 : packed ? 6 : 4;
    ip->list = l;
    if (!store)
        decode_is_unread(d);
    return true;
}

bool decode_tensor(struct decode *d)
{
    if (decode_is(d, "mma"))
        return decode_mma(d);
    if (decode_is(d, "wmma"))
        return decode_wmma(d);
    if (decode_is(d, "ldmatrix") || decode_is(d, "stmatrix"))
        return decode_matrix_move(d, decode_is(d, "stmatrix"));
    if (decode_is(d, "movmatrix")) {
        if (!decode_form(d))
            return true;
        d->taken = ~0u;
        uint32_t to = decode_target(d, decode_operand(d, 0), T_B32, false), a = decode_source(d, decode_operand(d, 1), T_B32, false);
        struct insn *ip = decode_emit(d, OP_movmatrix);
        ip->d = to, ip->a = a;
        return true;
    }
    return false;
}
