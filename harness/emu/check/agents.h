/* emu/check/agents: order between the warps of a block and what acts beside them: bulk copies, and wgmma's reads of shared memory.
 *
 * Each mbarrier that copies complete on and each warp that issues bulk groups or wgmma is an agent with an id of its own in the block's
 * vector clocks. What a copy writes (shadow.writer) or reads (shadow.source) is tagged with that id and the phase or group it completes
 * with; who waited for that, or was told by one who did, knows it. `fenced` is what of its clocks a warp knows to be visible to the async
 * proxy: fence.proxy.async takes over all that the warp knows, barriers hand both on. */
#ifndef BENCH_EMU_CHECK_AGENTS_H
#define BENCH_EMU_CHECK_AGENTS_H

#include "emu/check/report.h"
#include "emu/check/shadow.h"
#include "emu/handlers.h"

static inline bool agent_is(const struct block *b, uint32_t id)
{
    return id >= (uint32_t)b->warp_count && id < b->ids;
}
bool sent_known(const struct warp *w, uint32_t number);
/* The warp has not waited for what the tag says. */
static inline bool race_unordered(const struct warp *w, uint32_t tag)
{
    uint32_t other = tag & 63;
    if (!tag || other == (uint32_t)w->id)
        return false;
    if (w->program->simple_races)
        return tag >> 7 >= w->block->epoch;
    if (other == SHADOW_MANY || tag >> 7 <= w->clocks[other])
        return false;
    return other != w->block->sent_agent || !w->block->sent_agent || !sent_known(w, tag >> 7);
}
/* An access that did not wait for the agent of the tag. */
void agent_race(struct warp *w, const struct insn *ip, int lane, uint32_t offset, const char *what, uint32_t tag);

/* Barriers of the block: all in `waiting` wait for all in `arrived`. */
void agents_join(struct block *b, uint64_t arrived, uint64_t waiting);
/* What the warp did before is known to those that wait on the mbarrier at `offset` of block `b` later. */
void race_arrive(struct warp *w, struct block *b, uint32_t offset);
void race_wait(struct warp *w, struct block *b, uint32_t offset);
/* Lanes that wrote or read in this stretch and are not among those that arrive, now or before in it: nobody is told of that. */
void race_leaves_out(struct warp *w, const struct block *b);
static inline bool left_out(const struct part_released *p, uint32_t by, uint32_t clock)
{
    return p->synced && (by & ~63u) == p->synced && (by & 63) < 32 && !(p->who >> (by & 31) & 1) && clock <= p->clock;
}
/* The same of what a lane has read. */
static inline bool left_out_reading(const struct part_released *p, uint32_t by, uint32_t clock)
{
    return p->used && (by & ~63u) == p->used && (by & 63) < 32 && !(p->who_used >> (by & 31) & 1) && clock <= p->clock;
}
/* Another warp has read the grain and told w of it, but the lane that read it had not met those that arrived. */
bool reads_in_part(const struct warp *w, const struct block *b, uint32_t g);
/* It found a phase of that parity over: of those that may be, the first one it has not acquired of; parity -1: of the last. */
void race_wait_phase(struct warp *w, struct block *b, uint32_t offset, int parity);
/* Who initialises an mbarrier, and whether the warp has waited for that. */
void race_init(struct warp *w, const struct insn *ip, int lane, uint32_t offset);
bool race_init_known(struct warp *w, struct block *b, uint32_t offset);
/* The warp uses an mbarrier of its block. It gives it up: which warp may use it still? -1: none. */
int race_use(struct warp *w, uint32_t offset, bool last);
/* What an operation left in an mbarrier; false: something else has written there since. */
void agent_keeps(struct block *b, uint32_t offset, uint64_t state);
bool agent_kept(struct block *b, uint32_t offset, uint64_t state);
void race_proxy_fence(struct warp *w);
/* Flags in shared memory, volatile ones: a fence, or a store that releases; a flag is read that warp `of` set at that clock. */
void race_flag_fence(struct warp *w);
void race_flag_acquire(struct warp *w, const struct warp *of, uint32_t clock);

/* A phase of the mbarrier is over; how many are. */
void agent_phase(struct block *b, uint32_t offset);
uint32_t agent_phases(struct block *b, uint32_t offset);
/* The tag of a copy that completes on that mbarrier, of one in the warp's open bulk group; 0: not watched. */
uint32_t agent_of_mbarrier(struct block *b, uint32_t offset, struct warp *w, const struct insn *ip, int lane);
uint32_t agent_of_group(struct warp *w, const struct insn *ip, int lane);
/* The id of the four warps that multiply together, made when there is none. */
uint8_t *agent_of_matrix(struct warp *w);
/* The tag of a copy that the warp sends from its shared memory to that of block `to`: who waits for the mbarrier there is told. */
uint32_t agent_of_sent(struct warp *w, struct block *to, uint32_t offset);
/* What its bulk copies of that group write to global memory, as races.h has it. */
uint32_t agent_store_tag(struct warp *w, uint32_t group);
/* The warp ends: has it waited for the copies that read its shared memory? */
void agent_ends(struct warp *w);
/* The block ends: has somebody waited for the copies to its shared memory? */
void agents_end(struct block *b);
/* Who waits for the mbarrier in another block knows what the sender's block did: completing has release semantics in the cluster. */
void agent_releases(struct warp *w, struct block *b, uint32_t offset);
void agent_writes(struct warp *w, const struct insn *ip, int lane, struct block *b, uint32_t offset, uint64_t bytes, uint32_t tag);
void agent_reads(struct warp *w, const struct insn *ip, int lane, uint32_t offset, uint64_t bytes, uint32_t tag);

#endif
