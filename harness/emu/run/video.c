/* emu/run/video: runs the SIMD video instructions (decode/video.c decodes them). */
#include "emu/handlers.h"

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
