#include "emu/cluster.h"
#include "emu/agents.h"
#include "emu/checks.h"
#include "emu/races.h"

/* ---- races between blocks ---- */
#define FAR_STRONG 16u

static uint32_t far_now(const struct warp *w, bool strong)
{
    return w->block->cluster[0]->cluster_time << 5 | (strong ? FAR_STRONG : 0) | (uint32_t)w->block->cluster_rank;
}

static bool far_unordered(const struct warp *w, uint32_t tag, bool strong)
{
    uint32_t rank = tag & 15;
    return tag && rank != (uint32_t)w->block->cluster_rank && tag >> 5 > w->far[rank] && !(strong && (tag & FAR_STRONG));
}

bool block_ended(const struct block *b)
{
    for (int i = 0; i < b->warp_count; i++)
        if (b->warps[i].state != WARP_DONE)
            return false;
    return true;
}

void far_note(struct warp *w, const struct insn *ip, int lane, struct block *b)
{
    uint32_t rank = (uint32_t)w->block->cluster_rank;
    if (b == w->block || !b->touched)
        return;
    if (!w->far[b->cluster_rank] && (w->checks & CHECK_SYNC))
        emu_report(w, ip, lane, "ended_block",
                   "access to shared memory of block %d of the cluster, which may not have begun: no barrier of the cluster before it",
                   b->cluster_rank);
    if (block_ended(b))
        emu_report(w, ip, lane, "ended_block", "access to shared memory of block %d of the cluster, which has ended", b->cluster_rank);
    b->touched[rank] = (struct far_touch){w->block->cluster[0]->cluster_time, w, ip, lane};
}

static void far_race(struct warp *w, const struct insn *ip, const struct block *b, int lane, uint32_t offset, uint32_t tag,
                     const char *what)
{
    emu_report(w, ip, lane, "race",
               "%s shared memory of block %d of the cluster at 0x%x races with block %u: neither a barrier of the cluster nor an mbarrier "
               "between them",
               what, b->cluster_rank, offset, tag & 15);
}

void far_access(struct warp *w, const struct insn *ip, struct block *b, int lane, uint32_t offset, uint32_t bytes, enum access access)
{
    static const char *const words[] = {"read of", "write to", "atomic on"};
    struct shadow *s = b->shadow;
    int shift = w->program->shared_shift;
    bool strong = access == ACCESS_ATOMIC || (ip->op != OP_cp_async && (ip->flags & ACCESS_STRONG)), remote = b != w->block, told = false;
    uint32_t now = far_now(w, strong);
    if (!s->far_writer)
        return;
    far_note(w, ip, lane, b);
    if (strong && access != ACCESS_WRITE)
        race_wait(w, b, offset);
    for (uint32_t g = offset >> shift; g <= (offset + bytes - 1) >> shift; g++) {
        uint32_t other = far_unordered(w, s->far_writer[g], strong) ? s->far_writer[g] : 0;
        if (!other && access != ACCESS_READ)
            other = far_unordered(w, s->far_reader[0][g], strong)   ? s->far_reader[0][g]
                    : far_unordered(w, s->far_reader[1][g], strong) ? s->far_reader[1][g]
                                                                    : 0;
        if (other && !told)
            far_race(w, ip, b, lane, offset, other, words[access]);
        told |= other != 0;
        if (access == ACCESS_READ)
            s->far_reader[remote][g] = now;
        else
            s->far_writer[g] = now;
    }
    if (strong && access != ACCESS_READ)
        race_arrive(w, b, offset);
}

void far_copy(struct warp *w, const struct insn *ip, int lane, struct block *b, uint32_t offset, uint64_t bytes)
{
    struct shadow *s = b->shadow;
    int shift = w->program->shared_shift;
    bool told = !(w->checks & CHECK_RACE);
    for (uint32_t g = offset >> shift; s && s->far_writer && bytes && g <= (offset + bytes - 1) >> shift; g++) {
        uint32_t other = far_unordered(w, s->far_writer[g], false)      ? s->far_writer[g]
                         : far_unordered(w, s->far_reader[0][g], false) ? s->far_reader[0][g]
                         : far_unordered(w, s->far_reader[1][g], false) ? s->far_reader[1][g]
                                                                        : 0;
        if (other && !told)
            far_race(w, ip, b, lane, offset, other, "bulk copy to");
        told |= other != 0;
        s->far_writer[g] = s->far_reader[0][g] = s->far_reader[1][g] = 0;
    }
}

void far_release(struct warp *w, uint32_t *to)
{
    struct block *first = w->block->cluster[0];
    for (int r = 0; r < CLUSTER_MAX; r++)
        to[r] = w->far[r] > to[r] ? w->far[r] : to[r];
    to[w->block->cluster_rank] = first->cluster_time++;
}

void far_block_ends(struct block *b)
{
    for (int r = 0; b->touched && b->cluster_count > 1 && r < b->cluster_count; r++) {
        const struct far_touch *t = &b->touched[r];
        bool known = !t->time;
        for (int i = 0; i < b->warp_count && !known; i++)
            known = b->warps[i].far[r] >= t->time;
        if (!known && b->cluster[0]->warps[0].checks & CHECK_RACE)
            emu_report(t->w, t->ip, t->lane, "ended_block",
                       "access to shared memory of block %d of the cluster, which may have ended: it waits for nothing behind this",
                       b->cluster_rank);
    }
}

/* ---- barriers ---- */
/* Arrives without a release: that the block has begun, and that what the warp touched of others is over, is all that is told. */
static void arrive_relaxed(struct warp *w, uint32_t *to)
{
    uint32_t rank = (uint32_t)w->block->cluster_rank;
    to[rank] = to[rank] > FAR_BEGUN ? to[rank] : FAR_BEGUN;
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
        emu_report(w, ip, -1, "divergent_barrier", "warp %d arrives at the barrier of the cluster again before it has waited", w->id);
    if (ip->kind != 1) {
        w->cluster_waits = true;
        w->cluster_phase = first->cluster_phase;
        first->cluster_arrived++;
        bool relaxed = ip->kind == 2 && !w->cluster_fenced;
        w->cluster_fenced = false;
        if (w->block->cluster_count > 1 && relaxed)
            arrive_relaxed(w, first->cluster_far[first->cluster_phase & 1]);
        else if (w->block->cluster_count > 1)
            far_release(w, first->cluster_far[first->cluster_phase & 1]);
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
