/* device/emu/together: shuffles, votes, matches, reductions across the lanes of a warp. */
#include "device/emu/slow.h"
#include <string.h>

/* Lanes of the instruction's mask that are alive but elsewhere are waited for. True: the running lanes were set aside. */
static bool wait_for(struct warp *w, const struct insn *ip, uint32_t members, const struct insn **next)
{
    if (!w->others || w->guarded || !(members & w->alive & ~w->mask))
        return false;
    warp_park(w, NULL, ip, FRAGMENT_SYNC, members);
    *next = warp_next_fragment(w);
    return true;
}

static uint32_t member_mask(const struct warp *w, uint32_t ref)
{
    return ref == NO_REF ? w->mask : SLOT(const uint32_t, w, ref)[__builtin_ctz(w->mask)];
}

static void check_members(struct warp *w, const struct insn *ip, uint32_t members)
{
    if ((w->checks & CHECK_SYNC) && (w->mask & ~members))
        emu_report(w, ip, __builtin_ctz(w->mask & ~members), "inactive_lane", "lane %d runs this but is not in its mask 0x%08x", __builtin_ctz(w->mask & ~members), members);
}

/* a = value, b = lane or delta, c = clamp and segment; list: [0] member mask or NO_REF, [1] predicate d2 or NO_REF; kind: 0 up, 1 down, 2 bfly, 3 idx */
const struct insn *emu_shfl(struct warp *w, const struct insn *ip)
{
    const struct insn *next;
    uint32_t members = member_mask(w, ip->list[0]);
    if (wait_for(w, ip, members, &next))
        return next;
    check_members(w, ip, members);
    const uint32_t *a = SLOT(const uint32_t, w, ip->a), *b = SLOT(const uint32_t, w, ip->b), *c = SLOT(const uint32_t, w, ip->c);
    uint32_t out[32], inside = 0;
    for (uint32_t rest = w->mask; rest; rest &= rest - 1) {
        int lane = __builtin_ctz(rest), from;
        int delta = (int)(b[lane] & 31), clamp = (int)(c[lane] & 31), segment = (int)(c[lane] >> 8 & 31);
        int most = (lane & segment) | (clamp & ~segment), least = lane & segment;
        bool ok;
        switch (ip->kind) {
        case 0: from = lane - delta; ok = from >= most; break;
        case 1: from = lane + delta; ok = from <= most; break;
        case 2: from = lane ^ delta; ok = from <= most; break;
        default: from = least | (delta & ~segment); ok = from <= most; break;
        }
        if (!ok)
            from = lane;
        inside |= ok ? 1u << lane : 0;
        if (!(w->mask >> from & 1) && (w->checks & CHECK_SYNC))
            emu_report(w, ip, lane, "inactive_lane", "lane %d reads lane %d, which does not take part (mask 0x%08x)", lane, from, members);
        out[lane] = w->mask >> from & 1 ? a[from] : a[lane];
    }
    if (ip->d != NO_REF)
        for (uint32_t rest = w->mask; rest; rest &= rest - 1)
            SLOT(uint32_t, w, ip->d)[__builtin_ctz(rest)] = out[__builtin_ctz(rest)];
    if (ip->list[1] != NO_REF) {
        uint32_t *p = SLOT(uint32_t, w, ip->list[1]);
        *p = (*p & ~w->mask) | (inside & w->mask);
    }
    return ip + 1;
}

static uint32_t predicate(const struct warp *w, const struct insn *ip) { return *SLOT(const uint32_t, w, ip->a) ^ (ip->flags & 1 ? ~0u : 0); }

/* kind: 0 all, 1 any, 2 uni, 3 ballot; b = member mask or NO_REF */
const struct insn *emu_vote(struct warp *w, const struct insn *ip)
{
    const struct insn *next;
    uint32_t members = member_mask(w, ip->b);
    if (wait_for(w, ip, members, &next))
        return next;
    check_members(w, ip, members);
    uint32_t who = members & w->mask, p = predicate(w, ip) & who;
    if (ip->kind == 3) {
        for (uint32_t rest = w->mask; rest; rest &= rest - 1)
            SLOT(uint32_t, w, ip->d)[__builtin_ctz(rest)] = p;
        return ip + 1;
    }
    bool yes = ip->kind == 0 ? p == who : ip->kind == 1 ? p != 0 : p == 0 || p == who;
    uint32_t *d = SLOT(uint32_t, w, ip->d);
    *d = (*d & ~w->mask) | (yes ? w->mask : 0);
    return ip + 1;
}

/* size = 4 or 8, kind: 0 any, 1 all; b = members; c = predicate result of all, or NO_REF */
const struct insn *emu_match(struct warp *w, const struct insn *ip)
{
    const struct insn *next;
    uint32_t members = member_mask(w, ip->b), out[32], same_all = 0;
    if (wait_for(w, ip, members, &next))
        return next;
    check_members(w, ip, members);
    uint32_t who = members & w->mask;
    for (uint32_t rest = w->mask; rest; rest &= rest - 1) {
        int i = __builtin_ctz(rest);
        out[i] = 0;
        for (uint32_t all = who; all; all &= all - 1) {
            int k = __builtin_ctz(all);
            bool same = ip->size == 8 ? SLOT(const uint64_t, w, ip->a)[i] == SLOT(const uint64_t, w, ip->a)[k] : SLOT(const uint32_t, w, ip->a)[i] == SLOT(const uint32_t, w, ip->a)[k];
            out[i] |= same ? 1u << k : 0;
        }
        if (out[i] == who)
            same_all |= 1u << i;
    }
    for (uint32_t rest = w->mask; rest && ip->d != NO_REF; rest &= rest - 1) {
        int i = __builtin_ctz(rest);
        SLOT(uint32_t, w, ip->d)[i] = ip->kind == 0 ? out[i] : same_all >> i & 1 ? who : 0;
    }
    if (ip->c != NO_REF) {
        uint32_t *p = SLOT(uint32_t, w, ip->c);
        *p = (*p & ~w->mask) | (same_all & w->mask);
    }
    return ip + 1;
}

static float as_float(uint32_t u)
{
    float f;
    memcpy(&f, &u, 4);
    return f;
}

/* kind: 0 add, 1 min u, 2 max u, 3 min s, 4 max s, 5 and, 6 or, 7 xor, 8 fmin, 9 fmax; flags 1 = .abs, 2 = .NaN; b = members */
const struct insn *emu_redux(struct warp *w, const struct insn *ip)
{
    const struct insn *next;
    uint32_t members = member_mask(w, ip->b);
    if (wait_for(w, ip, members, &next))
        return next;
    check_members(w, ip, members);
    const uint32_t *a = SLOT(const uint32_t, w, ip->a);
    uint32_t who = members & w->mask, r = 0;
    bool first = true;
    for (uint32_t rest = who; rest; rest &= rest - 1, first = false) {
        uint32_t v = a[__builtin_ctz(rest)];
        if (ip->kind >= 8 && (ip->flags & 1))
            v &= 0x7fffffffu;
        if (first) {
            r = v;
            continue;
        }
        float x = as_float(r), y = as_float(v);
        switch (ip->kind) {
        case 0: r += v; break;
        case 1: r = v < r ? v : r; break;
        case 2: r = v > r ? v : r; break;
        case 3: r = (int32_t)v < (int32_t)r ? v : r; break;
        case 4: r = (int32_t)v > (int32_t)r ? v : r; break;
        case 5: r &= v; break;
        case 6: r |= v; break;
        case 7: r ^= v; break;
        default:
            if (x != x || y != y)
                r = ip->flags & 2 ? 0x7fffffffu : x != x ? v : r;
            else if (ip->kind == 8 ? y < x : y > x)
                r = v;
            break;
        }
    }
    for (uint32_t rest = w->mask; rest; rest &= rest - 1)
        SLOT(uint32_t, w, ip->d)[__builtin_ctz(rest)] = r;
    return ip + 1;
}

/* d = lane id or NO_REF, c = predicate; the lowest member is elected */
const struct insn *emu_elect(struct warp *w, const struct insn *ip)
{
    const struct insn *next;
    uint32_t members = member_mask(w, ip->b);
    if (wait_for(w, ip, members, &next))
        return next;
    uint32_t who = members & w->mask ? members & w->mask : w->mask, leader = (uint32_t)__builtin_ctz(who);
    for (uint32_t rest = w->mask; rest && ip->d != NO_REF; rest &= rest - 1)
        SLOT(uint32_t, w, ip->d)[__builtin_ctz(rest)] = leader;
    uint32_t *p = SLOT(uint32_t, w, ip->c);
    *p = (*p & ~w->mask) | (1u << leader & w->mask);
    return ip + 1;
}

const struct insn *emu_bar_warp(struct warp *w, const struct insn *ip)
{
    const struct insn *next;
    uint32_t members = member_mask(w, ip->a);
    if (wait_for(w, ip, members, &next))
        return next;
    check_members(w, ip, members);
    return ip + 1;
}
