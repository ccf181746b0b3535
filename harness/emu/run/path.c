#include "emu/run/path.h"
#include "base/text.h"
#include "emu/handlers.h"
#include <stdlib.h>
#include <string.h>

bool path_wants(const struct launch *l, uint64_t number, int rank, const struct device_group *sampled)
{
    const uint64_t blocks = (uint64_t)l->grid[0] * l->grid[1] * l->grid[2], step = blocks / PATH_BLOCKS;
    return sampled ? rank == 0 : number % (step ? step : 1) == 0;
}

void path_begin(struct block *b)
{
    const uint32_t flows = b->warps->program->flow_count;
    const int warps = b->warp_count < PATH_WARPS ? b->warp_count : PATH_WARPS;
    const size_t counts = (size_t)warps * flows * sizeof(struct block_count);
    const uint32_t memos = b->warps->program->memo_count;
    struct path *p = xmalloc(sizeof *p + counts + (size_t)warps * PATH_MOST * sizeof(uint32_t) + memos);
    struct block_count *count = (struct block_count *)(p + 1);
    uint32_t *list = (uint32_t *)(count + (size_t)warps * flows);
    memset(count, 0, counts);
    p->next = NULL;
    p->phases = (uint8_t *)(list + (size_t)warps * PATH_MOST);
    memset(p->phases, 0, memos);
    p->warps = warps;
    p->block_warps = b->warp_count;
    for (int i = 0; i < warps; i++) {
        struct warp *w = &b->warps[i ? b->warp_count - 1 : 0];
        p->warp[i] = (struct path_warp){.flows = list + (size_t)i * PATH_MOST, .blocks = count + (size_t)i * flows};
        w->path = &p->warp[i];
        w->blocks = p->warp[i].blocks;
    }
    b->path = p;
}

/* Lanes that walk through memory leave their sectors together, if their stretches begin at one offset within a sector. */
static uint8_t phases_of(const struct memo *m)
{
    uint32_t seen = 0;
    if (m->pattern == PATTERN_NONE || m->space != SPACE_GLOBAL || !m->requests)
        return 0;
    for (int s = 0; s < m->spans; s++)
        seen |= 1u << (m->from[s] & 31);
    return (uint8_t)__builtin_popcount(seen);
}

void path_take(struct runner *k, struct block *b, struct device_group *sampled)
{
    struct path *p = b->path;
    for (int i = 0; p && i < p->warps; i++) {
        struct warp *w = &b->warps[i ? b->warp_count - 1 : 0];
        for (uint32_t m = 0; m < w->program->memo_count; m++) {
            const uint8_t phases = phases_of(&w->memos[m]);
            p->phases[m] = phases > p->phases[m] ? phases : p->phases[m];
        }
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
