/* emu/decode/video: the video instructions: vadd, vmad, vset, vshl ... on whole registers or selected parts ("%r2.b1"), and those on two
 * halfwords or four bytes, which __vabsdiff2 and the like compile to. */
#include "emu/decode/decode.h"
#include "emu/handlers.h"
#include <string.h>

/* Which parts an operand's selector means: by part of the result, 4 bits. `first` counts the parts before its own in the pair. */
static bool selected(struct decode *d, const struct ptx_operand *o, int parts, bool second, uint16_t *places, uint8_t *bits)
{
    const char *part = o->part;
    int wide = part ? (part[0] == 'b' ? 8 : 16) : 32 / parts, last = parts == 1 ? 32 / wide : 64 / wide, n = 0;
    *bits = (uint8_t)wide;
    *places = 0;
    if (parts > 1 && part && wide != 32 / parts)
        return false;
    for (const char *c = part ? part + 1 : ""; *c; c++, n++)
        if (*c < '0' || *c >= '0' + last)
            return false;
    if (part && n != parts)
        return false;
    for (int i = 0; i < 4; i++) { /* the first digit is of the uppermost part */
        int place = part && parts > 1 ? part[1 + parts - 1 - i % parts] - '0'
                    : part            ? part[1] - '0' + (second ? 32 / wide : 0)
                    : parts == 1      ? second
                                      : i % parts + (second ? parts : 0);
        *places = (uint16_t)(*places | place << 4 * i);
    }
    return true;
}

/* The parts of the result that are computed: "b320", the highest first. */
static bool masked(const char *part, int parts, struct video_parts *of)
{
    of->d_bits = (uint8_t)(32 / parts);
    of->mask = (uint8_t)((1 << parts) - 1);
    if (!part)
        return true;
    of->d_bits = part[0] == 'b' ? 8 : 16;
    of->mask = 0;
    if (parts > 1 && of->d_bits != 32 / parts)
        return false;
    for (const char *c = part + 1; *c; c++) {
        if (*c < '0' || *c >= '0' + 32 / of->d_bits || (c > part + 1 && (c[0] >= c[-1] || parts == 1)))
            return false;
        of->mask = (uint8_t)(of->mask | 1 << (*c - '0'));
    }
    return true;
}

static bool video_operands(struct decode *d, struct insn *ip, int parts, bool mad)
{
    const struct ptx_instr *in = d->in;
    const struct ptx_operand *to = decode_operand(d, 0), *a = decode_operand(d, 1), *b = decode_operand(d, 2);
    struct video_parts of;
    bool merged = parts > 1 || mad || to->part || ip->aux;
    if (!decode_operand_count(d, merged ? 4 : 3, 4)) /* a fourth one that nothing asks for is passed over */
        return false;
    if (!masked(to->part, parts, &of) || !selected(d, a, parts, false, &of.a, &of.a_bits) ||
        !selected(d, b, parts, true, &of.b, &of.b_bits) || (mad && to->part) || (merged && in->operands[3].part) ||
        (parts == 1 && to->part && ip->aux))
        return decode_wrong(d, "parts of a register that do not exist here");
    uint32_t refs[4] = {0};
    for (int k = 0; k < in->count; k++) {
        const struct ptx_operand *o = &in->operands[k];
        if (o->kind == OPERAND_REG ? ptx_type_float(d->f->regs[o->reg]) : parts > 1 || o->kind != OPERAND_INT)
            return decode_wrong(d, "operand %d must be a register of 32 bits", k + 1);
        refs[k] = k ? decode_source(d, o, T_B32, false) : decode_target(d, o, T_B32, false);
    }
    ip->d = refs[0], ip->a = refs[1], ip->b = refs[2], ip->c = merged ? refs[3] : refs[1];
    memcpy(&ip->imm, &of, sizeof of);
    if (mad && (a->minus != b->minus || in->operands[3].minus)) {
        if (ip->flags & VIDEO_PLUS_ONE || (a->minus != b->minus && in->operands[3].minus))
            return decode_wrong(d, "these operands are not negated together");
        ip->flags |= a->minus != b->minus ? VIDEO_NEGATED_PRODUCT : VIDEO_NEGATED_C;
    }
    return true;
}

/* The kind of the instruction and how many parts its result has; -1: it is none. */
static int video_kind(const char *op, int *parts)
{
    static const char *const names[] = {"add", "sub", "avrg", "absdiff", "min", "max", "shl", "shr", "set", "mad"};
    size_t length = strlen(op);
    char last = length > 2 ? op[length - 1] : 0;
    *parts = last == '2' ? 2 : last == '4' ? 4 : 1;
    length -= *parts > 1;
    for (int i = 0; i < 10 && op[0] == 'v'; i++)
        if (length == strlen(names[i]) + 1 && !strncmp(op + 1, names[i], length - 1))
            return (i == VIDEO_LEFT || i == VIDEO_RIGHT || i == VIDEO_MAD) && *parts > 1 ? -1 : i == VIDEO_AVERAGE && *parts == 1 ? -1 : i;
    return -1;
}

bool decode_video(struct decode *d)
{
    static const char *const modes[] = {"clamp", "wrap", NULL}, *const seconds[] = {"add", "min", "max", NULL},
                             *const compares[] = {"eq", "ne", "lt", "le", "gt", "ge", NULL}, *const shifts[] = {"shr7", "shr15", NULL};
    int parts, kind = video_kind(d->in->op, &parts);
    if (kind < 0)
        return false;
    struct insn form = {.kind = (uint8_t)kind};
    bool shift = kind == VIDEO_LEFT || kind == VIDEO_RIGHT, mad = kind == VIDEO_MAD, set = kind == VIDEO_SET;
    for (int i = set; i < 3; i++) {
        enum ptx_type t = decode_take_type(d);
        if ((t != T_U32 && t != T_S32) || (shift && i == 2 && t != T_U32))
            return decode_wrong(d, "its types are u32 and s32") || true;
        form.flags |= t == T_S32 ? VIDEO_D_SIGNED << i : 0;
    }
    form.flags |= !set && decode_take(d, "sat") ? VIDEO_SAT : 0;
    int mode = shift ? decode_take_word(d, modes) : 0, compare = set ? decode_take_word(d, compares) : 0,
        scale = mad ? decode_take_word(d, shifts) : -1, second = mad ? -1 : decode_take_word(d, seconds);
    form.flags |= mode == 1 ? VIDEO_WRAP : mad && decode_take(d, "po") ? VIDEO_PLUS_ONE : 0;
    form.size = (uint8_t)(set ? compare : scale < 0 ? 0 : scale ? 15 : 7);
    form.aux = (uint16_t)(second + 1);
    if (mode < 0 || compare < 0)
        return decode_wrong(d, "one of %s is needed", shift ? "clamp wrap" : "eq ne lt le gt ge") || true;
    if (parts > 1 && (second > 0 || (second == 0 && form.flags & VIDEO_SAT)))
        return decode_wrong(d, "'.%s' does not go with the other modifiers", seconds[second]) || true;
    if (!video_operands(d, &form, parts, mad))
        return true;
    struct insn *ip = decode_emit(d, OP_video);
    ip->d = form.d, ip->a = form.a, ip->b = form.b, ip->c = form.c;
    ip->imm = form.imm;
    ip->kind = form.kind, ip->flags = form.flags, ip->size = form.size, ip->aux = form.aux;
    return true;
}
