/* emu/run/path: the path of a few warps through the basic blocks of a kernel, from which device/path.c computes their run time.
 *
 * emu follows the first and the last warp of some 64 blocks of a launch; in a sample, those of one block of each group. A followed warp
 * is interrupted at each basic block, so that the others cost nothing. The results of a launch do not change. */
#pragma once

#include "emu/exec.h"

#define PATH_BLOCKS 64  /* of a launch that are followed, or up to twice as many */
#define PATH_MOST 4096u /* basic blocks whose order is kept: */
#define PATH_TURNS 32u  /* of each the first ones, so that a long loop leaves room for what follows */
#define PATH_SKIPS 16384u
#define PATH_RECORDS 4096u /* in these basic blocks, what loads read is recorded */
#define PATH_WARPS 2

struct path_reads; /* emu/path_code.h */
struct path_table;

struct path_warp {
    uint32_t *flows;            /* ids, in order */
    uint32_t count, skipped;    /* skipped: blocks of which there were enough; after PATH_SKIPS the warp is no longer followed */
    struct block_count *blocks; /* by flow: all that it entered */
    bool records;               /* what its loads read now */
    struct path_table *table;   /* the sectors that it has read; NULL: none yet */
    struct path_reads *reads;   /* by memo */
};
struct path { /* of a block; one allocation */
    struct path *next;
    uint64_t weight;        /* blocks that it stands for */
    int warps, block_warps; /* that are followed; all of the block */
    struct path_warp warp[PATH_WARPS];
};

bool path_wants(const struct launch *l, uint64_t number, int rank, const struct device_group *sampled);
void path_begin(struct block *b);
/* The block has ended: its counts go to the runner's, its path to the group or to the runner. */
void path_take(struct runner *k, struct block *b, struct device_group *sampled);
void path_free(struct path *list);
/* A turn of a warp that is followed, or a part of one. True: it is no longer followed, and its turn goes on. */
bool path_run(struct warp *w);
void path_record(struct path_warp *p, const struct memo *m, uint32_t memo, uint64_t at);
/* A request for global memory whose lanes lie as in m, the first of them at `at`. */
static inline void path_read(struct warp *w, const struct memo *m, uint32_t memo, uint64_t at)
{
    if (w->path && w->path->records)
        path_record(w->path, m, memo, at);
}
static inline void path_note(struct warp *w, const struct flow *to)
{
    struct path_warp *p = w->path;
    p->records = p->count + p->skipped < PATH_RECORDS;
    if (p->blocks[to->id].executions <= PATH_TURNS)
        p->flows[p->count++] = to->id;
    else
        p->skipped++;
    if (p->count == PATH_MOST || p->skipped == PATH_SKIPS)
        w->path = NULL;
}
