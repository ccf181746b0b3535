/* emu/decode/tcgen05: the instructions of tensor memory (sm_100 and later). The modifiers are those of forms.c. */
#include "emu/decode/decode.h"
#include "emu/tensor_memory.h"
#include <string.h>

/* An address in tensor memory: a register of 32 bits and an offset. */
static bool tensor_address(struct decode *d, int k, uint32_t *slot, uint32_t *offset)
{
    struct place_ref at;
    if (!decode_address(d, decode_operand(d, k), SPACE_SHARED, &at))
        return false;
    *slot = at.a;
    *offset = (uint32_t)at.imm;
    return !at.flags || decode_fail(d, "an address in tensor memory has 32 bits");
}

static int word_of(const struct decode *d, const char *const *words)
{
    for (int k = 0; words[k]; k++)
        if (instr_has(d->in, words[k]))
            return k;
    return -1;
}

static uint8_t group_size(const struct decode *d)
{
    return instr_has(d->in, "cta_group::2") ? 2 : 1;
}

static bool allocate(struct decode *d)
{
    bool gives_up = instr_has(d->in, "relinquish_alloc_permit"), frees = instr_has(d->in, "dealloc");
    struct place_ref at = {0};
    uint32_t count = NO_REF;
    if (frees)
        at.a = decode_source(d, decode_operand(d, 0), T_U32, false);
    else if (!gives_up && !decode_address(d, decode_operand(d, 0), SPACE_SHARED, &at))
        return true;
    if (!gives_up)
        count = decode_source(d, decode_operand(d, 1), T_U32, false);
    struct insn *ip = decode_emit(d, frees ? OP_tensor_dealloc : OP_tensor_alloc);
    ip->a = at.a, ip->imm = at.imm, ip->flags = at.flags;
    ip->b = count;
    ip->kind = gives_up;
    return true;
}

static bool load_or_store(struct decode *d, bool store)
{
    static const char *const shapes[] = {"32x32b", "16x64b", "16x128b", "16x256b", "16x32bx2", NULL};
    static const char *const repeats[] = {"x1", "x2", "x4", "x8", "x16", "x32", "x64", "x128", NULL};
    static const int registers[] = {1, 1, 2, 4, 1};
    int shape = word_of(d, shapes), repeat = 1 << word_of(d, repeats);
    bool packed = instr_has(d->in, "pack::16b") || instr_has(d->in, "unpack::16b"), split = shape == SHAPE_16X32BX2,
         reduces = instr_has(d->in, "red");
    const struct ptx_operand *regs = decode_operand(d, store ? (split ? 2 : 1) : 0),
                             *distance = split ? decode_operand(d, store ? 1 : 2 + reduces) : NULL;
    int count = repeat * registers[shape], have = regs->kind == OPERAND_VECTOR ? regs->count : 1;
    uint32_t a, offset;
    if (!tensor_address(d, store ? 0 : 1 + reduces, &a, &offset))
        return true;
    if (have != count || count < 1 || count > 128)
        return decode_wrong(d, "%d registers are given, the shape has %d", have, count) || true;
    if (split && distance->kind != OPERAND_INT)
        return decode_wrong(d, "the distance of the second half must be a constant") || true;
    uint32_t *l = decode_list(d, TENSOR_HEADER + count);
    l[TENSOR_REPEAT] = (uint32_t)repeat, l[TENSOR_PACKED] = packed, l[TENSOR_COUNT] = (uint32_t)count;
    l[TENSOR_SPLIT] = split ? (uint32_t)distance->bits : 0;
    for (int i = 0; i < count; i++) {
        const struct ptx_operand *o = regs->kind == OPERAND_VECTOR ? &regs->items[i] : regs;
        l[TENSOR_HEADER + i] = store ? decode_source(d, o, T_B32, false) : decode_target(d, o, T_B32, false);
    }
    l[TENSOR_REDUCED] = reduces ? decode_target(d, decode_operand(d, 1), T_B32, false) : NO_REF;
    struct insn *ip = decode_emit(d, store ? OP_tensor_st : OP_tensor_ld);
    ip->a = a, ip->imm = (int64_t)offset;
    ip->list = l;
    ip->kind = (uint8_t)shape;
    ip->count = (uint8_t)((instr_has(d->in, "max") ? REDUCE_MAX : 0) | (instr_has(d->in, "s32") ? REDUCE_SIGNED : 0) |
                          (instr_has(d->in, "f32") ? REDUCE_FLOAT : 0) | (instr_has(d->in, "abs") ? REDUCE_ABS : 0) |
                          (instr_has(d->in, "NaN") ? REDUCE_NAN : 0));
    return true;
}

static bool copy_in(struct decode *d)
{
    static const char *const shapes[] = {"128x256b", "4x256b", "128x128b", "warpx2::02_13", "warpx2::01_23", "32x128b", NULL};
    uint32_t a, offset;
    if (instr_has(d->in, "b8x16") != (instr_has(d->in, "b4x16_p64") || instr_has(d->in, "b6x16_p32")))
        return decode_wrong(d, "'.b8x16' goes with '.b4x16_p64' or '.b6x16_p32'") || true;
    if (!tensor_address(d, 0, &a, &offset))
        return true;
    uint32_t from = decode_source(d, decode_operand(d, 1), T_B64, false);
    struct insn *ip = decode_emit(d, OP_tensor_cp);
    ip->a = a, ip->imm = (int64_t)offset;
    ip->b = from;
    ip->kind = (uint8_t)word_of(d, shapes);
    ip->size = group_size(d);
    ip->count = instr_has(d->in, "b4x16_p64") ? 4 : instr_has(d->in, "b6x16_p32") ? 6 : 0;
    return true;
}

static bool shift(struct decode *d)
{
    uint32_t a, offset;
    if (!tensor_address(d, 0, &a, &offset))
        return true;
    struct insn *ip = decode_emit(d, OP_tensor_shift);
    ip->a = a, ip->imm = (int64_t)offset;
    ip->size = group_size(d);
    return true;
}

static bool commit(struct decode *d)
{
    struct place_ref at;
    uint32_t mask = NO_REF;
    enum ptx_space space = instr_has(d->in, "shared::cluster") ? SPACE_SHARED : SPACE_GENERIC;
    if (!decode_address(d, decode_operand(d, 0), space, &at))
        return true;
    if (instr_has(d->in, "multicast::cluster"))
        mask = decode_source(d, decode_operand(d, 1), T_B16, true);
    struct insn *ip = decode_emit(d, OP_tensor_commit);
    ip->a = at.a, ip->imm = at.imm, ip->flags = at.flags;
    ip->b = mask;
    ip->aux = (uint16_t)space;
    ip->size = group_size(d);
    return true;
}

/* Elements that share a scale; 0: not of this kind. */
static uint32_t scale_block(const struct decode *d, int kind)
{
    static const char *const words[] = {"scale_vec::1X", "scale_vec::2X", "scale_vec::4X", "block16", "block32", NULL};
    int word = word_of(d, words);
    if (kind == KIND_MXF8F6F4)
        return word < 0 || word == 0 || word == 4 ? 32 : 0;
    if (kind == KIND_MXF4)
        return word < 0 || word == 1 || word == 4 ? 32 : 0;
    return word == 1 || word == 4 ? 32 : word == 2 || word == 3 ? 16 : 0;
}

/* What stands behind the instruction descriptor. */
static bool product_rest(struct decode *d, int k, uint32_t *l, uint32_t *keep, bool *negated)
{
    const struct ptx_operand *o = decode_operand(d, k);
    if (l[PRODUCT_BLOCK]) {
        if (!tensor_address(d, k, &l[PRODUCT_SCALE_A], &l[PRODUCT_SCALE_A_AT]) ||
            !tensor_address(d, k + 1, &l[PRODUCT_SCALE_B], &l[PRODUCT_SCALE_B_AT]))
            return false;
        k += 2;
    } else if (o->kind == OPERAND_VECTOR) {
        if (l[PRODUCT_STATIONARY] || o->count != 4 * group_size(d))
            return decode_wrong(d, "a mask of %d words was expected", 4 * group_size(d));
        for (int i = 0; i < o->count; i++)
            l[PRODUCT_HEADER + i] = decode_source(d, &o->items[i], T_B32, false);
        l[PRODUCT_MASKS] = (uint32_t)o->count;
        k++;
    }
    *keep = decode_pred(d, decode_operand(d, k++), negated);
    if (k < d->in->count && l[PRODUCT_STATIONARY])
        return decode_fail(d, "emu does not mask columns");
    if (k < d->in->count) {
        const struct ptx_operand *shift = decode_operand(d, k);
        if (shift->kind != OPERAND_INT || shift->bits > 15)
            return decode_wrong(d, "scale-input-d is a constant from 0 to 15");
        l[PRODUCT_SHIFT] = (uint32_t)shift->bits;
    }
    return true;
}

static bool product(struct decode *d)
{
    static const char *const kinds[] = {"kind::f16",      "kind::tf32", "kind::f8f6f4",   "kind::i8",
                                        "kind::mxf8f6f4", "kind::mxf4", "kind::mxf4nvf4", NULL};
    const struct ptx_operand *a = decode_operand(d, 1);
    int kind = word_of(d, kinds);
    bool negated = false;
    uint32_t keep = NO_REF, *l = decode_list(d, PRODUCT_HEADER + 8);
    memset(l, 0, (PRODUCT_HEADER + 8) * sizeof *l);
    if (instr_has(d->in, "sp"))
        return decode_fail(d, "emu supports no sparse operand") || true;
    l[PRODUCT_STATIONARY] = instr_has(d->in, "ws");
    l[PRODUCT_BLOCK] = instr_has(d->in, "block_scale") ? scale_block(d, kind) : 0;
    if (instr_has(d->in, "block_scale") && !l[PRODUCT_BLOCK])
        return decode_wrong(d, "this kind needs another .scale_vec") || true;
    l[PRODUCT_A_INSIDE] = a->kind == OPERAND_ADDRESS;
    l[PRODUCT_ASHIFT] = instr_has(d->in, "ashift");
    if (l[PRODUCT_ASHIFT] && !l[PRODUCT_A_INSIDE])
        return decode_wrong(d, "'.ashift' needs a matrix in tensor memory") || true;
    if (!tensor_address(d, 0, &l[PRODUCT_D], &l[PRODUCT_D_AT]) ||
        (l[PRODUCT_A_INSIDE] && !tensor_address(d, 1, &l[PRODUCT_A], &l[PRODUCT_A_AT])))
        return true;
    if (!l[PRODUCT_A_INSIDE])
        l[PRODUCT_A] = decode_source(d, a, T_B64, false);
    l[PRODUCT_B] = decode_source(d, decode_operand(d, 2), T_B64, false);
    l[PRODUCT_IDESC] = decode_source(d, decode_operand(d, 3), T_B32, false);
    if (!product_rest(d, 4, l, &keep, &negated))
        return true;
    struct insn *ip = decode_emit(d, OP_tensor_product);
    ip->c = keep;
    ip->flags = negated;
    ip->list = l;
    ip->kind = (uint8_t)kind;
    ip->size = group_size(d);
    return true;
}

bool decode_tcgen05(struct decode *d)
{
    if (!decode_is(d, "tcgen05"))
        return false;
    if (!decode_form(d))
        return true;
    d->taken = ~0u;
    d->p->uses_async = d->p->uses_mbarrier = true;
    d->p->full_barriers = false;
    d->p->uses_cluster |= group_size(d) == 2 || instr_has(d->in, "multicast::cluster");
    if (instr_has(d->in, "mma"))
        return product(d);
    if (instr_has(d->in, "ld") || instr_has(d->in, "st"))
        return load_or_store(d, instr_has(d->in, "st"));
    if (instr_has(d->in, "cp"))
        return copy_in(d);
    if (instr_has(d->in, "commit"))
        return commit(d);
    if (instr_has(d->in, "shift"))
        return shift(d);
    if (instr_has(d->in, "alloc") || instr_has(d->in, "dealloc") || instr_has(d->in, "relinquish_alloc_permit"))
        return allocate(d);
    decode_emit(d, OP_nop); /* waits and fences: what they wait for is done */
    return true;
}
