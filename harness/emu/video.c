/* emu/video: the SIMD video instructions that CUDA's __vabsdiff2 and the like become: v{add,sub,avrg,absdiff,min,max}{2,4}, on two
 * halfwords or four bytes of a register, with .sat and .add. Selected parts (".h10") are those in place; others are not known. */
#include "emu/decode.h"
#include "emu/slow.h"
#include <string.h>

enum { VIDEO_ADD, VIDEO_SUB, VIDEO_AVERAGE, VIDEO_DIFFERENCE, VIDEO_MIN, VIDEO_MAX, VIDEO_LEFT, VIDEO_RIGHT };
enum { VIDEO_D_SIGNED = 1, VIDEO_A_SIGNED = 2, VIDEO_B_SIGNED = 4, VIDEO_SAT = 8, VIDEO_SUM = 16 };

static int64_t part(uint32_t v, int index, int bits, bool is_signed)
{
    uint32_t u = v >> (index * bits) & ((1u << bits) - 1);
    return is_signed && (u >> (bits - 1)) ? (int64_t)u - ((int64_t)1 << bits) : (int64_t)u;
}

/* count: 1 add, 2 min, 3 max of c; size: the amount wraps at 32 instead of ending there */
static uint32_t shifted(const struct insn *ip, uint32_t a, uint32_t b, uint32_t c)
{
    bool d_signed = ip->flags & VIDEO_D_SIGNED;
    uint32_t by = ip->size ? b & 31 : b > 32 ? 32 : b;
    __int128 v = ip->flags & VIDEO_A_SIGNED ? (int32_t)a : (int64_t)a;
    v = ip->kind == VIDEO_LEFT ? v * ((int64_t)1 << by) : v >> by;
    if (ip->flags & VIDEO_SAT) {
        int64_t low = d_signed ? INT32_MIN : 0, high = d_signed ? INT32_MAX : UINT32_MAX;
        v = v < low ? low : v > high ? high : v;
    }
    uint32_t r = (uint32_t)v;
    bool less = d_signed ? (int32_t)r < (int32_t)c : r < c;
    return ip->count == 0 ? r : ip->count == 1 ? r + c : (ip->count == 2) == less ? r : c;
}

static uint32_t video(const struct insn *ip, uint32_t a, uint32_t b, uint32_t c)
{
    if (ip->kind >= VIDEO_LEFT)
        return shifted(ip, a, b, c);
    int parts = ip->count, bits = 32 / parts;
    uint32_t r = 0, sum = c;
    for (int i = 0; i < parts; i++) {
        int64_t x = part(a, i, bits, ip->flags & VIDEO_A_SIGNED), y = part(b, i, bits, ip->flags & VIDEO_B_SIGNED), v;
        switch (ip->kind) {
        case VIDEO_ADD: v = x + y; break;
        case VIDEO_SUB: v = x - y; break;
        case VIDEO_AVERAGE: v = (x + y + (x + y >= 0)) >> 1; break;
        case VIDEO_DIFFERENCE: v = x > y ? x - y : y - x; break;
        case VIDEO_MIN: v = x < y ? x : y; break;
        default: v = x > y ? x : y; break;
        }
        if (ip->flags & VIDEO_SAT) {
            int64_t low = ip->flags & VIDEO_D_SIGNED ? -((int64_t)1 << (bits - 1)) : 0,
                    high = ((int64_t)1 << (bits - (ip->flags & VIDEO_D_SIGNED ? 1 : 0))) - 1;
            v = v < low ? low : v > high ? high : v;
        }
        r |= ((uint32_t)v & ((1u << bits) - 1)) << (i * bits);
        sum += (uint32_t)v;
    }
    return ip->flags & VIDEO_SUM ? sum : r;
}

void emu_video(struct warp *w, const struct insn *ip)
{
    for (uint32_t rest = w->mask; rest; rest &= rest - 1) {
        int i = __builtin_ctz(rest);
        SLOT(uint32_t, w, ip->d)
        [i] = video(ip, SLOT(const uint32_t, w, ip->a)[i], SLOT(const uint32_t, w, ip->b)[i], SLOT(const uint32_t, w, ip->c)[i]);
    }
}

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
