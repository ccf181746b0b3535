/* emu/run/move: packing, unpacking, special registers. */
#include "emu/handlers.h"
#include <string.h>

/* count parts of size bytes into d, lowest first */
void move_pack(struct warp *w, const struct insn *ip)
{
    uint8_t t[32 * 16];
    int bytes = ip->size * ip->count;
    if (bytes == 4 && ip->count == 2 && ip->kind == 2 && ip->aux == 4) { /* two halves: what f16 code does all the time */
        const uint16_t *low = SLOT(const uint16_t, w, ip->list[0]), *high = SLOT(const uint16_t, w, ip->list[1]);
        uint32_t *d = SLOT(uint32_t, w, ip->d);
        for (int i = 0; i < 32; i++)
            d[i] = w->on[i] ? (uint32_t)low[i] | (uint32_t)high[i] << 16 : d[i];
        return;
    }
    for (int v = 0; v < ip->count; v++)
        for (int i = 0; i < 32; i++)
            memcpy(t + i * bytes + v * ip->size, SLOT(uint8_t, w, ip->list[v]) + (size_t)i * ip->kind, ip->size);
    for (uint32_t rest = w->mask; rest; rest &= rest - 1) {
        int i = __builtin_ctz(rest);
        memcpy(SLOT(uint8_t, w, ip->d) + (size_t)i * ip->aux, t + i * bytes, (size_t)bytes);
    }
}

void move_unpack(struct warp *w, const struct insn *ip)
{
    uint8_t t[32 * 16];
    int bytes = ip->size * ip->count;
    if (bytes == 4 && ip->count == 2 && ip->kind == 2 && ip->aux == 4) {
        uint32_t a[32];
        memcpy(a, SLOT(const uint32_t, w, ip->a), sizeof a);
        for (int v = 0; v < 2; v++) {
            uint16_t *d = ip->list[v] == NO_REF ? NULL : SLOT(uint16_t, w, ip->list[v]);
            for (int i = 0; d && i < 32; i++)
                d[i] = w->on[i] ? (uint16_t)(a[i] >> 16 * v) : d[i];
        }
        return;
    }
    for (int i = 0; i < 32; i++)
        memcpy(t + i * bytes, SLOT(uint8_t, w, ip->a) + (size_t)i * ip->aux, (size_t)bytes);
    for (int v = 0; v < ip->count; v++) {
        if (ip->list[v] == NO_REF)
            continue;
        for (uint32_t rest = w->mask; rest; rest &= rest - 1) {
            int i = __builtin_ctz(rest);
            uint8_t *to = SLOT(uint8_t, w, ip->list[v]) + (size_t)i * ip->kind;
            if (ip->kind > ip->size)
                memset(to, 0, ip->kind);
            memcpy(to, t + i * bytes + v * ip->size, ip->size);
        }
    }
}

static uint64_t lane_special(const struct warp *w, enum special s, int lane)
{
    const struct launch *l = w->runner->launch;
    uint32_t t = (uint32_t)w->id * 32 + (uint32_t)lane;
    switch (s) {
    case SPECIAL_TID_X: return t % l->block[0];
    case SPECIAL_TID_Y: return t / l->block[0] % l->block[1];
    case SPECIAL_TID_Z: return t / l->block[0] / l->block[1];
    case SPECIAL_LANEID: return (uint64_t)lane;
    case SPECIAL_LANEMASK_EQ: return 1u << lane;
    case SPECIAL_LANEMASK_LE: return (2u << lane) - 1;
    case SPECIAL_LANEMASK_LT: return (1u << lane) - 1;
    case SPECIAL_LANEMASK_GE: return ~((1u << lane) - 1);
    default: return lane == 31 ? 0 : ~((2u << lane) - 1);
    }
}

static uint64_t warp_special(struct warp *w, enum special s)
{
    const struct launch *l = w->runner->launch;
    const struct block *b = w->block;
    if (s >= SPECIAL_NTID_X && s <= SPECIAL_NTID_Z)
        return l->block[s - SPECIAL_NTID_X];
    if (s >= SPECIAL_CTAID_X && s <= SPECIAL_CTAID_Z)
        return b->index[s - SPECIAL_CTAID_X];
    if (s >= SPECIAL_NCTAID_X && s <= SPECIAL_NCTAID_Z)
        return l->grid[s - SPECIAL_NCTAID_X];
    if (s >= SPECIAL_CLUSTERID_X && s <= SPECIAL_CLUSTERID_Z)
        return b->index[s - SPECIAL_CLUSTERID_X] / l->cluster[s - SPECIAL_CLUSTERID_X];
    if (s >= SPECIAL_NCLUSTERID_X && s <= SPECIAL_NCLUSTERID_Z)
        return l->grid[s - SPECIAL_NCLUSTERID_X] / l->cluster[s - SPECIAL_NCLUSTERID_X];
    if (s >= SPECIAL_CLUSTER_CTAID_X && s <= SPECIAL_CLUSTER_CTAID_Z)
        return b->index[s - SPECIAL_CLUSTER_CTAID_X] % l->cluster[s - SPECIAL_CLUSTER_CTAID_X];
    if (s >= SPECIAL_CLUSTER_NCTAID_X && s <= SPECIAL_CLUSTER_NCTAID_Z)
        return l->cluster[s - SPECIAL_CLUSTER_NCTAID_X];
    switch (s) {
    case SPECIAL_WARPID: return (uint64_t)w->id;
    case SPECIAL_NWARPID: return (uint64_t)(l->chip->warps_per_sm > 0 ? l->chip->warps_per_sm : 64);
    case SPECIAL_SMID: return l->chip->sm_count > 0 ? b->number % (uint64_t)l->chip->sm_count : 0;
    case SPECIAL_NSMID: return (uint64_t)(l->chip->sm_count > 0 ? l->chip->sm_count : 1);
    case SPECIAL_GRIDID: return 1;
    case SPECIAL_CLOCK:
    case SPECIAL_CLOCK64:
    case SPECIAL_GLOBALTIMER:
    case SPECIAL_GLOBALTIMER_LO: /* counts up; no time is meant */ return w->ticks += 64;
    case SPECIAL_DYNAMIC_SMEM: return l->shared_bytes - l->dynamic_at;
    case SPECIAL_TOTAL_SMEM: return l->shared_bytes - SHARED_RESERVED;
    case SPECIAL_AGGREGATE_SMEM: return l->shared_bytes;
    case SPECIAL_RESERVED_1: return SHARED_GROUPS;
    case SPECIAL_RESERVED_END:
    case SPECIAL_RESERVED_CAP: return SHARED_RESERVED;
    case SPECIAL_CLUSTER_CTARANK: return (uint64_t)b->cluster_rank;
    case SPECIAL_CLUSTER_NCTARANK: return (uint64_t)b->cluster_count;
    case SPECIAL_IS_EXPLICIT_CLUSTER: return b->cluster_count > 1;
    case SPECIAL_ENVREG1: return l->workspace >> 32; /* of cooperative groups' grid barrier, as the driver gives it */
    case SPECIAL_ENVREG2: return l->workspace & 0xffffffffu;
    default: return 0;
    }
}

/* aux = enum special, size = bytes of d's lanes (0: a predicate) */
void move_special(struct warp *w, const struct insn *ip)
{
    enum special s = (enum special)ip->aux;
    bool by_lane = s <= SPECIAL_TID_Z || s == SPECIAL_LANEID || (s >= SPECIAL_LANEMASK_EQ && s <= SPECIAL_LANEMASK_GT);
    uint64_t v = by_lane ? 0 : warp_special(w, s);
    if (ip->size == 0) {
        uint32_t *d = SLOT(uint32_t, w, ip->d);
        *d = (*d & ~w->mask) | (v ? w->mask : 0);
        return;
    }
    uint32_t lanes[32];
    const uint32_t *from = s <= SPECIAL_TID_Z ? w->tid[s] : lanes;
    if (s > SPECIAL_TID_Z)
        for (int i = 0; i < 32; i++)
            lanes[i] = by_lane ? (uint32_t)lane_special(w, s, i) : (uint32_t)v;
    for (uint32_t rest = w->mask; rest; rest &= rest - 1) {
        int i = __builtin_ctz(rest);
        if (ip->size == 4)
            SLOT(uint32_t, w, ip->d)[i] = from[i];
        else if (ip->size == 2)
            SLOT(uint16_t, w, ip->d)[i] = (uint16_t)from[i];
        else
            SLOT(uint64_t, w, ip->d)[i] = by_lane ? from[i] : v;
    }
}
