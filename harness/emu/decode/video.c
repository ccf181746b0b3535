/* emu/decode/video: the SIMD video instructions that __vabsdiff2 and the like compile to: v{add,sub,avrg,absdiff,min,max}{2,4}, on two
 * halfwords or four bytes of a register, with .sat and .add; and vshl, vshr. Selectors of parts (".h10") other than the default are not
 * supported. */
#include "emu/decode/decode.h"
#include "emu/handlers.h"
#include <string.h>

/* vshl and vshr of whole registers, with .add, .min or .max of the third operand. Selected parts (".b0") are not known. */
static bool decode_shift(struct decode *d, bool left)
{
    static const char *const modes[] = {"clamp", "wrap", NULL}, *const seconds[] = {"add", "min", "max", NULL};
    enum ptx_type td = decode_take_type(d), ta = decode_take_type(d), tb = decode_take_type(d);
    bool sat = decode_take(d, "sat");
    int mode = decode_take_word(d, modes), second = decode_take_word(d, seconds);
    if (mode < 0 || tb != T_U32 || (td != T_U32 && td != T_S32) || (ta != T_U32 && ta != T_S32) || d->in->count != (second < 0 ? 3 : 4))
        return decode_fail(d, "this form is not supported") || true;
    uint32_t a = decode_source(d, decode_operand(d, 1), T_B32, false), b = decode_source(d, decode_operand(d, 2), T_B32, false);
    uint32_t c = second < 0 ? a : decode_source(d, decode_operand(d, 3), T_B32, false);
    uint32_t to = decode_target(d, decode_operand(d, 0), T_B32, false);
    struct insn *ip = decode_emit(d, OP_video);
    ip->d = to, ip->a = a, ip->b = b, ip->c = c;
    ip->kind = left ? VIDEO_LEFT : VIDEO_RIGHT;
    ip->count = (uint8_t)(second + 1);
    ip->size = (uint8_t)mode;
    ip->flags = (uint8_t)((td == T_S32 ? VIDEO_D_SIGNED : 0) | (ta == T_S32 ? VIDEO_A_SIGNED : 0) | (sat ? VIDEO_SAT : 0));
    return true;
}

bool decode_video(struct decode *d)
{
    static const char *const names[] = {"vadd", "vsub", "vavrg", "vabsdiff", "vmin", "vmax"};
    const char *op = d->in->op;
    if (decode_is(d, "vshl") || decode_is(d, "vshr"))
        return decode_shift(d, op[3] == 'l');
    size_t length = strlen(op);
    int kind = -1;
    for (int i = 0; i < 6; i++)
        if (length == strlen(names[i]) + 1 && !strncmp(op, names[i], length - 1) && (op[length - 1] == '2' || op[length - 1] == '4'))
            kind = i;
    if (kind < 0)
        return false;
    for (int k = 1; k < 4; k++)
        if (decode_operand(d, k)->kind != OPERAND_REG)
            return decode_wrong(d, "operand %d must be a register", k + 1) || true;
    bool td = decode_take_type(d) == T_S32, ta = decode_take_type(d) == T_S32, tb = decode_take_type(d) == T_S32,
         sat = decode_take(d, "sat"), sum = decode_take(d, "add");
    uint32_t a = decode_source(d, decode_operand(d, 1), T_B32, false), b = decode_source(d, decode_operand(d, 2), T_B32, false);
    uint32_t c = decode_source(d, decode_operand(d, 3), T_B32, false), to = decode_target(d, decode_operand(d, 0), T_B32, false);
    struct insn *ip = decode_emit(d, OP_video);
    ip->d = to, ip->a = a, ip->b = b, ip->c = c;
    ip->kind = (uint8_t)kind;
    ip->count = op[length - 1] == '2' ? 2 : 4;
    ip->flags = (uint8_t)((td ? VIDEO_D_SIGNED : 0) | (ta ? VIDEO_A_SIGNED : 0) | (tb ? VIDEO_B_SIGNED : 0) | (sat ? VIDEO_SAT : 0) |
                          (sum ? VIDEO_SUM : 0));
    return true;
}
