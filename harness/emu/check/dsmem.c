/* emu/check/dsmem: races between the blocks of a cluster in one another's shared memory. */
#include "emu/check/agents.h"
#include "emu/check/shadow.h"
#include "emu/check/dsmem.h"

/* ---- races between blocks ---- */
#define DSMEM_STRONG 16u

static uint32_t dsmem_now(const struct warp *w, bool strong)
{
    return w->block->cluster[0]->cluster_time << 5 | (strong ? DSMEM_STRONG : 0) | (uint32_t)w->block->cluster_rank;
}

static bool dsmem_unordered(const struct warp *w, uint32_t tag, bool strong)
{
    uint32_t rank = tag & 15;
    return tag && rank != (uint32_t)w->block->cluster_rank && tag >> 5 > w->far[rank] && !(strong && (tag & DSMEM_STRONG));
}

bool block_ended(const struct block *b)
{
    for (int i = 0; i < b->warp_count; i++)
        if (b->warps[i].state != WARP_DONE)
            return false;
    return true;
}

void dsmem_note(struct warp *w, const struct insn *ip, int lane, struct block *b)
{
    uint32_t rank = (uint32_t)w->block->cluster_rank;
    if (b == w->block || !b->touched)
        return;
    if (!w->far[b->cluster_rank] && (w->checks & CHECK_SYNC))
        emu_report(w, ip, lane, "ended_block",
                   "access to shared memory of block %d of the cluster, which may not have started: no cluster barrier before it",
                   b->cluster_rank);
    if (block_ended(b))
        emu_report(w, ip, lane, "ended_block", "access to shared memory of block %d of the cluster, which has ended", b->cluster_rank);
    b->touched[rank] = (struct dsmem_touch){w->block->cluster[0]->cluster_time, w, ip, lane};
}

static void dsmem_race(struct warp *w, const struct insn *ip, const struct block *b, int lane, uint32_t offset, uint32_t tag,
                       const char *what)
{
    emu_report(w, ip, lane, "race",
               "%s shared memory of block %d of the cluster at 0x%x races with block %u: neither a barrier of the cluster nor an mbarrier "
               "between them",
               what, b->cluster_rank, offset, tag & 15);
}

void dsmem_access(struct warp *w, const struct insn *ip, struct block *b, int lane, uint32_t offset, uint32_t bytes, enum access access)
{
    static const char *const words[] = {"read of", "write to", "atomic on"};
    struct shadow *s = b->shadow;
    int shift = w->program->shared_shift;
    bool strong = access == ACCESS_ATOMIC || (ip->op != OP_cp_async && (ip->flags & ACCESS_STRONG)), remote = b != w->block, told = false;
    uint32_t now = dsmem_now(w, strong);
    if (!s->far_writer)
        return;
    dsmem_note(w, ip, lane, b);
    if (strong && access != ACCESS_WRITE)
        race_wait(w, b, offset);
    for (uint32_t g = offset >> shift; g <= (offset + bytes - 1) >> shift; g++) {
        uint32_t other = dsmem_unordered(w, s->far_writer[g], strong) ? s->far_writer[g] : 0;
        if (!other && access != ACCESS_READ)
            other = dsmem_unordered(w, s->far_reader[0][g], strong)   ? s->far_reader[0][g]
                    : dsmem_unordered(w, s->far_reader[1][g], strong) ? s->far_reader[1][g]
                                                                      : 0;
        if (other && !told)
            dsmem_race(w, ip, b, lane, offset, other, words[access]);
        told |= other != 0;
        if (access == ACCESS_READ)
            s->far_reader[remote][g] = now;
        else
            s->far_writer[g] = now;
    }
    if (strong && access != ACCESS_READ)
        race_arrive(w, b, offset);
}

void dsmem_copy(struct warp *w, const struct insn *ip, int lane, struct block *b, uint32_t offset, uint64_t bytes)
{
    struct shadow *s = b->shadow;
    int shift = w->program->shared_shift;
    bool told = !(w->checks & CHECK_RACE);
    for (uint32_t g = offset >> shift; s && s->far_writer && bytes && g <= (offset + bytes - 1) >> shift; g++) {
        uint32_t other = dsmem_unordered(w, s->far_writer[g], false)      ? s->far_writer[g]
                         : dsmem_unordered(w, s->far_reader[0][g], false) ? s->far_reader[0][g]
                         : dsmem_unordered(w, s->far_reader[1][g], false) ? s->far_reader[1][g]
                                                                          : 0;
        if (other && !told)
            dsmem_race(w, ip, b, lane, offset, other, "bulk copy to");
        told |= other != 0;
        s->far_writer[g] = s->far_reader[0][g] = s->far_reader[1][g] = 0;
    }
}

void dsmem_block_ends(struct block *b)
{
    for (int r = 0; b->touched && b->cluster_count > 1 && r < b->cluster_count; r++) {
        const struct dsmem_touch *t = &b->touched[r];
        bool known = !t->time;
        for (int i = 0; i < b->warp_count && !known; i++)
            known = b->warps[i].far[r] >= t->time;
        if (!known && b->cluster[0]->warps[0].checks & CHECK_RACE)
            emu_report(t->w, t->ip, t->lane, "ended_block",
                       "access to shared memory of block %d of the cluster, which may have ended: it does not wait after this access",
                       b->cluster_rank);
    }
}
