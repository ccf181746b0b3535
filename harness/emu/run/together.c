/* emu/run/together: shuffles, votes, matches, reductions across the lanes of a warp. */
#include "emu/handlers.h"
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

/* All lanes that some running lane names as its partners. */
static uint32_t member_mask(const struct warp *w, uint32_t ref)
{
    uint32_t all = 0;
    if (ref == NO_REF)
        return w->mask;
    if (ref & 1) /* a constant */
        return SLOT(const uint32_t, w, ref)[0];
    for (int i = 0; i < 32; i++)
        all |= SLOT(const uint32_t, w, ref)[i] & (uint32_t)w->on[i];
    return all;
}

/* True if all lanes run the instruction, and each names all of them. */
static bool is_full(const struct warp *w, uint32_t ref)
{
    uint32_t all = w->mask;
    if (ref == NO_REF)
        return all == ~0u;
    const uint32_t *members = SLOT(const uint32_t, w, ref);
    for (int i = 0; i < 32 && all == ~0u; i += 8)
        for (int k = i; k < i + 8; k++)
            all &= members[k];
    return all == ~0u;
}

/* Lanes with different masks may execute one instruction together, as the tiles of cooperative groups do: the lanes of `rest` that have the
 * first one's mask. */
static uint32_t next_group(struct warp *w, const struct insn *ip, uint32_t ref, uint32_t rest, uint32_t *members)
{
    uint32_t group = 0;
    *members = ref == NO_REF ? w->mask : SLOT(const uint32_t, w, ref)[__builtin_ctz(rest)];
    if (ref == NO_REF || (ref & 1))
        group = rest;
    else
        for (uint32_t k = rest; k; k &= k - 1)
            group |= SLOT(const uint32_t, w, ref)[__builtin_ctz(k)] == *members ? k & (0u - k) : 0;
    uint32_t outside = group & ~*members;
    if ((w->checks & CHECK_SYNC) && outside)
        emu_report(w, ip, __builtin_ctz(outside), "inactive_lane", "lane %d executes this but is not in its mask 0x%08x",
                   __builtin_ctz(outside), *members);
    lanes_exchange(w);
    return group;
}
#define EACH_GROUP(ref) \
    for (uint32_t rest_ = w->mask, group, members; rest_ && (group = next_group(w, ip, ref, rest_, &members), true); rest_ &= ~group)

static void put_lanes(struct warp *w, uint32_t ref, const uint32_t *from)
{
    uint32_t *to = SLOT(uint32_t, w, ref);
    if (w->mask == ~0u)
        memcpy(to, from, 32 * sizeof *to);
    for (uint32_t rest = w->mask == ~0u ? 0 : w->mask; rest; rest &= rest - 1)
        to[__builtin_ctz(rest)] = from[__builtin_ctz(rest)];
}

/* True if all 32 lanes have one value. A constant often lies in a register. */
static bool is_uniform(const struct warp *w, uint32_t ref)
{
    const uint32_t *v = SLOT(const uint32_t, w, ref);
    return (ref & 1) || !memcmp(v, v + 1, 31 * sizeof *v);
}

/* The lane that `lane` reads; -1: none. least: the first lane of its segment; most: its last one, or for `up` its first. */
static inline int shfl_from(int kind, int lane, int delta, int clamp, int segment)
{
    const int least = lane & segment, most = least | (clamp & ~segment);
    const int from = kind == 0 ? lane - delta : kind == 1 ? lane + delta : kind == 2 ? lane ^ delta : least | (delta & ~segment);
    return (kind == 0 ? from >= most : from <= most) ? from : -1;
}

/* Where all lanes take part, in segments of one size. Returns the lanes whose partner exists. */
static inline uint32_t shfl_whole(int kind, const uint32_t *a, const uint32_t *b, uint32_t c, uint32_t *out)
{
    uint32_t inside = 0;
    for (int i = 0; i < 32; i++) {
        const int from = shfl_from(kind, i, (int)(b[i] & 31), (int)(c & 31), (int)(c >> 8 & 31));
        inside |= (uint32_t)(from >= 0) << i;
        out[i] = a[from >= 0 ? from : i];
    }
    return inside;
}

static uint32_t shfl_groups(struct warp *w, const struct insn *ip, const uint32_t *a, const uint32_t *b, const uint32_t *c, uint32_t *out)
{
    uint32_t inside = 0;
    EACH_GROUP(ip->list[0])
    for (uint32_t rest = group; rest; rest &= rest - 1) {
        int lane = __builtin_ctz(rest),
            from = shfl_from(ip->kind, lane, (int)(b[lane] & 31), (int)(c[lane] & 31), (int)(c[lane] >> 8 & 31));
        inside |= from >= 0 ? 1u << lane : 0;
        from = from >= 0 ? from : lane;
        if (!(group >> from & 1) && (w->checks & CHECK_SYNC))
            emu_report(w, ip, lane, "inactive_lane", "lane %d reads lane %d, which does not take part (mask 0x%08x)", lane, from, members);
        out[lane] = group >> from & 1 ? a[from] : a[lane];
    }
    return inside;
}

/* a = value, b = lane or delta, c = clamp and segment; list: [0] member mask or NO_REF, [1] predicate d2 or NO_REF; kind: 0 up, 1 down, 2
 * bfly, 3 idx */
const struct insn *emu_shfl(struct warp *w, const struct insn *ip)
{
    const struct insn *next;
    const bool whole = is_full(w, ip->list[0]) && is_uniform(w, ip->c);
    if (!whole && wait_for(w, ip, member_mask(w, ip->list[0]), &next))
        return next;
    const uint32_t *a = SLOT(const uint32_t, w, ip->a), *b = SLOT(const uint32_t, w, ip->b), *c = SLOT(const uint32_t, w, ip->c);
    uint32_t out[32], inside = 0;
    if (whole) {
        lanes_exchange(w);
        switch (ip->kind) {
        case 0: inside = shfl_whole(0, a, b, c[0], out); break;
        case 1: inside = shfl_whole(1, a, b, c[0], out); break;
        case 2: inside = shfl_whole(2, a, b, c[0], out); break;
        default: inside = shfl_whole(3, a, b, c[0], out); break;
        }
    } else {
        inside = shfl_groups(w, ip, a, b, c, out);
    }
    if (ip->d != NO_REF)
        put_lanes(w, ip->d, out);
    if (ip->list[1] != NO_REF) {
        uint32_t *p = SLOT(uint32_t, w, ip->list[1]);
        *p = (*p & ~w->mask) | (inside & w->mask);
    }
    return ip + 1;
}

static uint32_t predicate(const struct warp *w, const struct insn *ip)
{
    return *SLOT(const uint32_t, w, ip->a) ^ (ip->flags & 1 ? ~0u : 0);
}

/* kind: 0 all, 1 any, 2 uni, 3 ballot; b = member mask or NO_REF */
const struct insn *emu_vote(struct warp *w, const struct insn *ip)
{
    const struct insn *next;
    const bool whole = is_full(w, ip->b);
    if (!whole && wait_for(w, ip, member_mask(w, ip->b), &next))
        return next;
    uint32_t all = predicate(w, ip), yes = 0, out[32];
    if (whole) {
        lanes_exchange(w);
        yes = (ip->kind == 0 ? all == ~0u : ip->kind == 1 ? all != 0 : all == 0 || all == ~0u) ? ~0u : 0;
        for (int i = 0; i < 32; i++)
            out[i] = all;
    } else
        EACH_GROUP(ip->b)
        {
            uint32_t who = members & group, p = all & who;
            yes |= (ip->kind == 0 ? p == who : ip->kind == 1 ? p != 0 : p == 0 || p == who) ? group : 0;
            for (uint32_t rest = group; rest; rest &= rest - 1)
                out[__builtin_ctz(rest)] = p;
        }
    uint32_t *d = SLOT(uint32_t, w, ip->d);
    if (ip->kind != 3)
        *d = (*d & ~w->mask) | (yes & w->mask);
    else
        put_lanes(w, ip->d, out);
    return ip + 1;
}

/* size = 4 or 8, kind: 0 any, 1 all; b = members; c = predicate result of all, or NO_REF */
const struct insn *emu_match(struct warp *w, const struct insn *ip)
{
    const struct insn *next;
    uint32_t out[32], same_all = 0;
    if (wait_for(w, ip, member_mask(w, ip->b), &next))
        return next;
    EACH_GROUP(ip->b)
    for (uint32_t rest = group; rest; rest &= rest - 1) {
        int i = __builtin_ctz(rest);
        uint32_t found = 0;
        for (uint32_t all = members & group; all; all &= all - 1) {
            int k = __builtin_ctz(all);
            bool same = ip->size == 8 ? SLOT(const uint64_t, w, ip->a)[i] == SLOT(const uint64_t, w, ip->a)[k]
                                      : SLOT(const uint32_t, w, ip->a)[i] == SLOT(const uint32_t, w, ip->a)[k];
            found |= same ? 1u << k : 0;
        }
        bool everyone = found == (members & group);
        same_all |= everyone ? 1u << i : 0;
        out[i] = ip->kind == 0 || everyone ? found : 0;
    }
    if (ip->d != NO_REF)
        put_lanes(w, ip->d, out);
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

/* kind: 0 add, 1 min u, 2 max u, 3 min s, 4 max s, 5 and, 6 or, 7 xor, 8 fmin, 9 fmax; flags 1 = .abs, 2 = .NaN */
static uint32_t redux_of(const struct insn *ip, const uint32_t *a, uint32_t who)
{
    uint32_t r = 0;
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
    return r;
}

/* b = members */
const struct insn *emu_redux(struct warp *w, const struct insn *ip)
{
    const struct insn *next;
    uint32_t a[32];
    if (wait_for(w, ip, member_mask(w, ip->b), &next))
        return next;
    memcpy(a, SLOT(const uint32_t, w, ip->a), sizeof a);
    EACH_GROUP(ip->b)
    {
        uint32_t r = redux_of(ip, a, members & group);
        for (uint32_t rest = group; rest; rest &= rest - 1)
            SLOT(uint32_t, w, ip->d)[__builtin_ctz(rest)] = r;
    }
    return ip + 1;
}

/* d = lane id or NO_REF, c = predicate; the lowest member is elected */
const struct insn *emu_elect(struct warp *w, const struct insn *ip)
{
    const struct insn *next;
    uint32_t elected = 0, leaders[32];
    if (wait_for(w, ip, member_mask(w, ip->b), &next))
        return next;
    EACH_GROUP(ip->b)
    {
        uint32_t who = members & group ? members & group : group, leader = (uint32_t)__builtin_ctz(who);
        elected |= 1u << leader;
        for (uint32_t rest = group; rest; rest &= rest - 1)
            leaders[__builtin_ctz(rest)] = leader;
    }
    for (uint32_t rest = w->mask; rest && ip->d != NO_REF; rest &= rest - 1)
        SLOT(uint32_t, w, ip->d)[__builtin_ctz(rest)] = leaders[__builtin_ctz(rest)];
    uint32_t *p = SLOT(uint32_t, w, ip->c);
    *p = (*p & ~w->mask) | (elected & w->mask);
    return ip + 1;
}

const struct insn *emu_bar_warp(struct warp *w, const struct insn *ip)
{
    const struct insn *next;
    if (wait_for(w, ip, member_mask(w, ip->a), &next))
        return next;
    EACH_GROUP(ip->a)
    lanes_sync_some(w, group);
    return ip + 1;
}
