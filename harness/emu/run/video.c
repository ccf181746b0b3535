/* emu/run/video: runs the video instructions (decode/video.c decodes them), as the PTX manual describes them. */
#include "emu/handlers.h"
#include <string.h>

static int64_t part(uint64_t pair, int index, int bits, bool is_signed)
{
    uint64_t mask = (1ull << bits) - 1, u = pair >> (index * bits) & mask;
    return is_signed && u >> (bits - 1) ? (int64_t)u - (int64_t)(mask + 1) : (int64_t)u;
}

static int64_t clamped(__int128 v, int bits, bool is_signed)
{
    int64_t low = is_signed ? -((int64_t)1 << (bits - 1)) : 0, high = ((int64_t)1 << (bits - is_signed)) - 1;
    return v < low ? low : v > high ? high : (int64_t)v;
}

static bool comparison_holds(int comparison, int64_t x, int64_t y)
{
    switch (comparison) {
    case VIDEO_EQ: return x == y;
    case VIDEO_NE: return x != y;
    case VIDEO_LT: return x < y;
    case VIDEO_LE: return x <= y;
    case VIDEO_GT: return x > y;
    default: return x >= y;
    }
}

static __int128 computed(const struct insn *ip, int64_t x, int64_t y)
{
    int64_t by = ip->flags & VIDEO_WRAP ? y & 31 : y > 32 ? 32 : y;
    switch (ip->kind) {
    case VIDEO_ADD: return x + y;
    case VIDEO_SUB: return x - y;
    case VIDEO_AVERAGE: return (x + y + (x + y >= 0)) >> 1;
    case VIDEO_DIFFERENCE: return x > y ? x - y : y - x;
    case VIDEO_MIN: return x < y ? x : y;
    case VIDEO_MAX: return x > y ? x : y;
    case VIDEO_LEFT: return (__int128)x * ((int64_t)1 << by);
    case VIDEO_RIGHT: return x >> by;
    default: return comparison_holds(ip->size, x, y);
    }
}

/* The sum is signed if a factor is, or one of product and addend is negated. */
static uint32_t multiplied(const struct insn *ip, int64_t x, int64_t y, uint32_t c)
{
    bool is_signed = ip->flags & (VIDEO_A_SIGNED | VIDEO_B_SIGNED | VIDEO_NEGATED_PRODUCT | VIDEO_NEGATED_C);
    __int128 product = (__int128)x * y, addend = is_signed ? (int32_t)c : (int64_t)c;
    if (ip->flags & VIDEO_NEGATED_PRODUCT)
        product = -product;
    else if (ip->flags & VIDEO_NEGATED_C)
        addend = -addend;
    __int128 sum = (product + addend + !!(ip->flags & VIDEO_PLUS_ONE)) >> ip->size;
    return ip->flags & VIDEO_SAT ? (uint32_t)clamped(sum, 32, is_signed) : (uint32_t)sum;
}

static uint32_t video(const struct insn *ip, uint32_t a, uint32_t b, uint32_t c)
{
    struct video_parts of;
    memcpy(&of, &ip->imm, sizeof of);
    uint64_t pair = (uint64_t)b << 32 | a;
    bool d_signed = ip->flags & VIDEO_D_SIGNED;
    uint32_t r = ip->aux == VIDEO_MERGE ? 0 : c;
    for (int i = 0; i < 32 / of.d_bits; i++) {
        int at = i * of.d_bits;
        uint32_t whole = (uint32_t)((1ull << of.d_bits) - 1);
        if (!(of.mask >> i & 1)) {
            r |= ip->aux == VIDEO_MERGE ? c & whole << at : 0;
            continue;
        }
        int64_t x = part(pair, of.a >> 4 * i & 15, of.a_bits, ip->flags & VIDEO_A_SIGNED);
        int64_t y = part(pair, of.b >> 4 * i & 15, of.b_bits, ip->flags & VIDEO_B_SIGNED);
        if (ip->kind == VIDEO_MAD)
            return multiplied(ip, x, y, c);
        __int128 v = computed(ip, x, y);
        v = ip->flags & VIDEO_SAT ? clamped(v, of.d_bits, d_signed) : v;
        uint32_t t = (uint32_t)v;
        bool less = d_signed ? (int32_t)t < (int32_t)c : t < c;
        switch (ip->aux) {
        case VIDEO_MERGE: r |= (t & whole) << at; break;
        case VIDEO_WITH_ADD: r += t; break;
        case VIDEO_WITH_MIN: r = less ? t : c; break;
        default: r = less ? c : t; break;
        }
    }
    return r;
}

void emu_video(struct warp *w, const struct insn *ip)
{
    for (uint32_t rest = w->mask; rest; rest &= rest - 1) {
        int i = __builtin_ctz(rest);
        SLOT(uint32_t, w, ip->d)
        [i] = video(ip, SLOT(const uint32_t, w, ip->a)[i], SLOT(const uint32_t, w, ip->b)[i], SLOT(const uint32_t, w, ip->c)[i]);
    }
}
