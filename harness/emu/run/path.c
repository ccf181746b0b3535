#include "emu/run/path.h"
#include "base/text.h"
#include "emu/handlers.h"
#include "emu/path_code.h"
#include <stdlib.h>
#include <string.h>

/* Of a launch one block of each part, at an uneven distance: blocks at one distance may stand in one column of the grid, all with the
 * work of its border. */
bool path_wants(const struct launch *l, uint64_t number, int rank, const struct device_group *sampled)
{
    const uint64_t blocks = (uint64_t)l->grid[0] * l->grid[1] * l->grid[2], step = blocks < PATH_BLOCKS ? 1 : blocks / PATH_BLOCKS,
                   part = number / step;
    return sampled ? rank == 0 : number % step == (part * 0x9e3779b97f4a7c15ull >> 32) % step;
}

void path_begin(struct block *b)
{
    const uint32_t flows = b->warps->program->flow_count;
    const int warps = b->warp_count < PATH_WARPS ? b->warp_count : PATH_WARPS;
    const size_t counts = (size_t)warps * flows * sizeof(struct block_count);
    const uint32_t memos = b->warps->program->memo_count;
    const size_t reads = (size_t)warps * memos * sizeof(struct path_reads);
    struct path *p = xmalloc(sizeof *p + counts + reads + (size_t)warps * PATH_MOST * sizeof(uint32_t));
    struct block_count *count = (struct block_count *)(p + 1);
    struct path_reads *read = (struct path_reads *)(count + (size_t)warps * flows);
    uint32_t *list = (uint32_t *)(read + (size_t)warps * memos);
    memset(count, 0, counts + reads);
    p->next = NULL;
    p->warps = warps;
    p->block_warps = b->warp_count;
    for (int i = 0; i < warps; i++) {
        struct warp *w = &b->warps[i ? b->warp_count - 1 : 0];
        p->warp[i] = (struct path_warp){
            .flows = list + (size_t)i * PATH_MOST, .blocks = count + (size_t)i * flows, .reads = read + (size_t)i * memos};
        w->path = &p->warp[i];
        w->blocks = p->warp[i].blocks;
    }
    b->path = p;
}

/* ---- what its loads read ---- */
#define TABLE_BITS 15
struct path_table {
    struct {
        uint32_t sector, when; /* when: basic blocks so far, and one; 0: none */
    } at[1 << TABLE_BITS];
};

static uint32_t table_place(uint64_t sector)
{
    return (uint32_t)(sector * 0x9e3779b97f4a7c15ull >> (64 - TABLE_BITS));
}

static uint32_t when_read(const struct path_table *t, uint64_t sector)
{
    const uint32_t k = table_place(sector);
    return t->at[k].sector == (uint32_t)sector ? t->at[k].when : 0;
}

/* L2 reads whole lines from DRAM: has the warp read another sector of this one, before this basic block? */
static bool line_read(const struct path_table *t, uint64_t sector, uint32_t now)
{
    for (uint64_t k = 1; k < 4; k++) {
        const uint32_t when = when_read(t, sector ^ k);
        if (when && when <= now)
            return true;
    }
    return false;
}

void path_record(struct path_warp *p, const struct memo *m, uint32_t memo, uint64_t at)
{
    struct path_reads *r = &p->reads[memo];
    const uint32_t now = p->count + p->skipped;
    uint32_t first = 0, far = 0, oldest = 0;
    struct path_table *t = p->table = p->table ? p->table : xcalloc(1, sizeof *p->table);
    for (int s = 0; s < m->spans; s++) {
        const uint64_t end = (at + (uint64_t)(int64_t)m->to[s] - 1) >> 5;
        for (uint64_t sector = (at + (uint64_t)(int64_t)m->from[s]) >> 5; sector <= end; sector++) {
            const uint32_t when = when_read(t, sector), k = table_place(sector);
            first += !when;
            far += !when && !line_read(t, sector, now);
            if (when && now + 1 - when > oldest)
                oldest = now + 1 - when;
            t->at[k].sector = (uint32_t)sector;
            t->at[k].when = now + 1;
        }
    }
    const int age = oldest > 1 ? 31 - __builtin_clz(oldest) : 0;
    r->requests++;
    r->sectors += first;
    r->first += first > 0;
    r->far += far > 0;
    if (!first)
        r->again[age < PATH_AGES ? age : PATH_AGES - 1]++;
}

void path_take(struct runner *k, struct block *b, struct device_group *sampled)
{
    struct path *p = b->path;
    for (int i = 0; p && i < p->warps; i++) {
        struct warp *w = &b->warps[i ? b->warp_count - 1 : 0];
        free(p->warp[i].table);
        p->warp[i].table = NULL;
        for (uint32_t f = 0; f < w->program->flow_count; f++) {
            k->blocks[f].executions += p->warp[i].blocks[f].executions;
            k->blocks[f].threads += p->warp[i].blocks[f].threads;
        }
        w->path = NULL;
        w->blocks = k->blocks;
    }
    b->path = NULL;
    if (p && sampled) {
        p->weight = (uint64_t)b->cluster_count; /* for each group that the sample has one of */
        sampled->path = p;
    } else if (p) {
        p->weight = 1;
        p->next = k->paths;
        k->paths = p;
    }
}

void path_free(struct path *list)
{
    while (list) {
        struct path *next = list->next;
        free(list);
        list = next;
    }
}

bool path_run(struct warp *w)
{
    int32_t left = WARP_FUEL;
    for (uint32_t m = 0; m < w->program->memo_count; m++) /* its loads are recorded on their slow way */
        memo_disarm(&w->memos[m]);
    do {
        w->fuel = 0; /* the next basic block ends the turn */
        const struct insn *ip = warp_resume(w);
        while (ip)
            ip = ip->fn(w, ip);
        left += w->fuel;
    } while (w->path && w->at && w->state == WARP_READY && left >= 0);
    if (!w->at || w->state != WARP_READY || left < 0)
        return false;
    w->fuel = left;
    return true;
}
