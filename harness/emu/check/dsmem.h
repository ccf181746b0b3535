/* emu/check/dsmem: barriers and addresses of a cluster, and races between its blocks in shared memory.
 *
 * A tag of a grain is time << 5 | strong << 4 | rank. Time counts the releases of the cluster's blocks: barriers, arrivals at mbarriers,
 * atomics. A warp knows up to when it has acquired of each block (warp.far); what a block did later is not ordered before what the warp
 * does. A release counts for all warps of its block, so a missing barrier inside a block is not seen here. */
#ifndef BENCH_EMU_CHECK_DSMEM_H
#define BENCH_EMU_CHECK_DSMEM_H

#include "emu/handlers.h"

#define DSMEM_BEGUN 1 /* what is acquired of a block that has begun and released nothing yet */
struct dsmem_touch {  /* the last access of a block to another one's shared memory */
    uint32_t time;
    struct warp *w;
    const struct insn *ip;
    int lane;
};
/* An access of the warp to shared memory of block `b` of its cluster. */
void dsmem_access(struct warp *w, const struct insn *ip, struct block *b, int lane, uint32_t offset, uint32_t bytes, enum access access);
/* A bulk copy that the warp sends to block `b`: others know of it by its mbarrier. */
void dsmem_copy(struct warp *w, const struct insn *ip, int lane, struct block *b, uint32_t offset, uint64_t bytes);
/* Any touch of block `b`: it must not end before. */
void dsmem_note(struct warp *w, const struct insn *ip, int lane, struct block *b);
/* What the warp and its block did so far goes into `to`. */
void dsmem_release(struct warp *w, uint32_t *to);
bool block_ended(const struct block *b); /* all of its warps have */
void dsmem_block_ends(struct block *b);

#endif
