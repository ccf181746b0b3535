#include "emu/async.h"
#include "emu/check/dsmem.h"
#include "emu/check/races.h"
#include <string.h>

/* ---- barriers ---- */
/* Arrives without a release: that the block has begun, and that what the warp touched of others is over, is all that is told. */
static void arrive_relaxed(struct warp *w, uint32_t *to)
{
    uint32_t rank = (uint32_t)w->block->cluster_rank;
    to[rank] = to[rank] > DSMEM_BEGUN ? to[rank] : DSMEM_BEGUN;
    w->block->cluster_relaxed |= 1ull << w->id;
    for (int b = 0; b < w->block->cluster_count; b++)
        if (w->block->cluster[b]->touched && w->block->cluster[b]->touched[rank].w == w)
            w->block->cluster[b]->touched[rank].time = 0;
}

/* All have arrived. */
static void cluster_meets(struct block *of)
{
    for (int c = 0; c < of->cluster_count; c++) {
        struct block *b = of->cluster ? of->cluster[c] : of;
        race_join(b, ~b->cluster_relaxed, ~0ull);
    }
    if (of->cluster)
        races_cluster(of);
    for (int c = 0; c < of->cluster_count; c++)
        (of->cluster ? of->cluster[c] : of)->cluster_relaxed = 0;
}

/* kind: 0 arrive, 1 wait, 2 arrive.relaxed */
const struct insn *emu_cluster_barrier(struct warp *w, const struct insn *ip)
{
    struct block *first = w->block->cluster ? w->block->cluster[0] : w->block;
    int all = 0;
    if (w->others) { /* the warp comes as one */
        uint32_t missing = w->alive & ~w->mask;
        warp_park(w, NULL, ip, FRAGMENT_SYNC, w->mask | missing);
        return warp_next_fragment(w);
    }
    if (ip->kind != 1 && w->cluster_waits && (w->checks & CHECK_SYNC))
        emu_report(w, ip, -1, "divergent_barrier", "warp %d arrives at the cluster barrier again before it has waited", w->id);
    if (ip->kind != 1) {
        w->cluster_waits = true;
        w->cluster_phase = first->cluster_phase;
        first->cluster_arrived++;
        bool relaxed = ip->kind == 2 && !w->cluster_fenced;
        w->cluster_fenced = false;
        if (w->block->cluster_count > 1 && relaxed)
            arrive_relaxed(w, first->cluster_far[first->cluster_phase & 1]);
        else if (w->block->cluster_count > 1)
            dsmem_release(w, first->cluster_far[first->cluster_phase & 1]);
    }
    for (int b = 0; b < w->block->cluster_count; b++) {
        const struct block *block = w->block->cluster ? w->block->cluster[b] : w->block;
        for (int i = 0; i < block->warp_count; i++)
            all += block->warps[i].state != WARP_DONE;
    }
    if (first->cluster_arrived && first->cluster_arrived >= (uint32_t)all) {
        first->cluster_arrived = 0;
        first->cluster_phase++;
        cluster_meets(w->block);
    }
    if (ip->kind == 1 && first->cluster_phase == w->cluster_phase)
        return warp_retry(w, ip);
    w->cluster_waits &= ip->kind != 1;
    for (int r = 0; ip->kind == 1 && w->block->cluster_count > 1 && r < CLUSTER_MAX; r++) {
        uint32_t known = first->cluster_far[w->cluster_phase & 1][r];
        w->far[r] = known > w->far[r] ? known : w->far[r];
    }
    w->stalls = 0;
    return ip + 1;
}

/* d = a's address in the block of rank b; size 4 or 8; kind 1: getctarank */
const struct insn *emu_mapa(struct warp *w, const struct insn *ip)
{
    for (uint32_t rest = w->mask; rest; rest &= rest - 1) {
        int i = __builtin_ctz(rest);
        uint64_t a = ip->size == 4 ? SLOT(const uint32_t, w, ip->a)[i] : SLOT(const uint64_t, w, ip->a)[i];
        if (ip->kind == 1) {
            uint32_t rank = (uint32_t)(a >> CLUSTER_SHIFT) & 0xff;
            SLOT(uint32_t, w, ip->d)[i] = rank ? rank - 1 : (uint32_t)w->block->cluster_rank;
            continue;
        }
        uint32_t rank = SLOT(const uint32_t, w, ip->b)[i];
        a = (a & ~((uint64_t)0xff << CLUSTER_SHIFT)) | (uint64_t)((rank & 0xff) + 1) << CLUSTER_SHIFT;
        if (ip->size == 4)
            SLOT(uint32_t, w, ip->d)[i] = (uint32_t)a;
        else
            SLOT(uint64_t, w, ip->d)[i] = a;
    }
    return ip + 1;
}

/* ---- clusterlaunchcontrol ---- */
/* b = the response, d = a predicate (kind 0), list = x, y, z (kind 1) or d = one of them (kind 2 to 4) */
const struct insn *emu_query_cancel(struct warp *w, const struct insn *ip)
{
    uint32_t yes = 0;
    for (uint32_t rest = w->mask; rest; rest &= rest - 1) {
        int i = __builtin_ctz(rest);
        struct cancel_response r;
        memcpy(&r, SLOT(const uint8_t, w, ip->b) + 16 * i, sizeof r);
        if (r.state != CANCELLED && r.state != CANCEL_FAILED)
            emu_report(w, ip, i, "cluster_cancel", "this is no response of try_cancel");
        else if (ip->kind && r.state == CANCEL_FAILED)
            emu_report(w, ip, i, "cluster_cancel", "a block is asked of a try_cancel that failed: the answer is not defined");
        if (r.state == CANCELLED)
            yes |= 1u << i;
        else if (r.state == CANCEL_FAILED)
            w->block->cancel_failed = true;
        for (int k = 0; ip->kind == 1 && k < 3; k++)
            if (ip->list[k] != NO_REF)
                SLOT(uint32_t, w, ip->list[k])[i] = r.first[k];
        if (ip->kind > 1)
            SLOT(uint32_t, w, ip->d)[i] = r.first[ip->kind - 2];
    }
    if (!ip->kind) {
        uint32_t *d = SLOT(uint32_t, w, ip->d);
        *d = (*d & ~w->mask) | yes;
    }
    return ip + 1;
}
