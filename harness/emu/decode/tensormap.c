/* emu/decode/tensormap: tensor maps that a kernel makes or changes: tensormap.replace and tensormap.cp_fenceproxy. */
#include "emu/async.h"
#include "emu/decode/decode.h"

static bool replace(struct decode *d)
{
    static const char *const fields[] = {"global_address", "rank",     "box_dim",      "global_dim",        "global_stride",
                                         "element_stride", "elemtype", "swizzle_mode", "interleave_layout", "swizzle_atomicity",
                                         "fill_mode",      NULL};
    int field = 0;
    while (!instr_has(d->in, fields[field]))
        field++;
    bool has_dimension = field >= MAP_BOX && field <= MAP_ELEMENT_STRIDE, wide = instr_has(d->in, "b64");
    const struct ptx_operand *dimension = has_dimension ? decode_operand(d, 1) : NULL;
    enum ptx_space space = instr_has(d->in, "shared::cta") ? SPACE_SHARED : instr_has(d->in, "global") ? SPACE_GLOBAL : SPACE_GENERIC;
    struct place_ref at;
    if (wide != (field == MAP_ADDRESS || field == MAP_STRIDE))
        return decode_wrong(d, "'.%s' has %d bits", fields[field], wide ? 32 : 64) || true;
    if (has_dimension && (dimension->kind != OPERAND_INT || dimension->bits > 4))
        return decode_wrong(d, "a dimension from 0 to 4 was expected") || true;
    if (!decode_address(d, decode_operand(d, 0), space, &at))
        return true;
    uint32_t value = decode_source(d, decode_operand(d, has_dimension ? 2 : 1), wide ? T_B64 : T_B32, false);
    struct insn *ip = decode_emit(d, OP_tensormap_replace);
    ip->a = at.a, ip->imm = at.imm, ip->flags = at.flags;
    ip->b = value;
    ip->aux = (uint16_t)space;
    ip->kind = (uint8_t)field;
    ip->size = wide ? 8 : 4;
    ip->count = dimension ? (uint8_t)dimension->bits : 0;
    return true;
}

static bool copy_map(struct decode *d)
{
    const struct ptx_operand *bytes = decode_operand(d, 2);
    struct place_ref to, from;
    if (bytes->kind != OPERAND_INT || bytes->bits != 128)
        return decode_wrong(d, "128 bytes were expected") || true;
    if (!decode_address(d, decode_operand(d, 0), SPACE_GLOBAL, &to) || !decode_address(d, decode_operand(d, 1), SPACE_SHARED, &from))
        return true;
    uint32_t *l = decode_list(d, 2);
    l[0] = from.a, l[1] = (uint32_t)from.imm;
    struct insn *ip = decode_emit(d, OP_tensormap_copy);
    ip->a = to.a, ip->imm = to.imm;
    ip->flags = from.flags;
    ip->list = l;
    return true;
}

bool decode_tensormap(struct decode *d)
{
    if (!decode_is(d, "tensormap"))
        return false;
    if (!decode_form(d))
        return true;
    d->taken = ~0u;
    return instr_has(d->in, "replace") ? replace(d) : copy_map(d);
}
