/* emu/check/dsmem: races between the blocks of a cluster in distributed shared memory.
 *
 * A grain's tag is time << 5 | strong << 4 | rank. Time counts the releases of the cluster's blocks: barriers, arrivals at mbarriers,
 * atomics. warp.far holds, for each block, the time up to which the warp has acquired from it; later accesses of that block are not
 * ordered before the warp's. A release counts for all warps of its block, so a missing barrier inside a block is not found here. */
#pragma once

#include "emu/handlers.h"

#define DSMEM_BEGUN 1 /* acquired from a block that has begun and released nothing yet */
struct dsmem_touch {  /* the last access of a block to another one's shared memory */
    uint32_t time;
    struct warp *w;
    const struct insn *ip;
    int lane;
};
/* Checks an access of the warp to shared memory of block `b` of its cluster. */
void dsmem_access(struct warp *w, const struct insn *ip, struct block *b, int lane, uint32_t offset, uint32_t bytes, enum access access);
/* Checks a bulk copy that the warp sends to block `b`; its mbarrier orders it for others. */
void dsmem_copy(struct warp *w, const struct insn *ip, int lane, struct block *b, uint32_t offset, uint64_t bytes);
/* Records an access to block `b`, which must not end before it. */
void dsmem_note(struct warp *w, const struct insn *ip, int lane, struct block *b);
/* Adds to `to` all that the warp and its block have done or acquired. */
void dsmem_release(struct warp *w, uint32_t *to);
bool block_ended(const struct block *b); /* all of its warps have */
void dsmem_block_ends(struct block *b);
