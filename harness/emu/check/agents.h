/* emu/check/agents: order between the warps of a block and its asynchronous agents: bulk copies, and wgmma's reads of shared memory.
 *
 * An agent is an mbarrier on which copies complete, or a warp that issues bulk groups or wgmma. Each has an id in the block's vector
 * clocks. What a copy writes (shadow.writer) or reads (shadow.source) is tagged with that id and with the phase or group in which it
 * completes. A warp that waited for that phase, or that acquired from one which did, is ordered behind it. `fenced` is the part of a
 * warp's clocks that the async proxy sees: fence.proxy.async copies all of them, and barriers pass both on. */
#pragma once

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
/* Reports an access that did not wait for the agent of the tag. */
void agent_race(struct warp *w, const struct insn *ip, int lane, uint32_t offset, const char *what, uint32_t tag);

/* A barrier of the block: warps in `waiting` acquire from warps in `arrived`. */
void agents_join(struct block *b, uint64_t arrived, uint64_t waiting);
/* The warp releases to later waiters on the mbarrier at `offset` of block `b`. */
void race_arrive(struct warp *w, struct block *b, uint32_t offset);
void race_wait(struct warp *w, struct block *b, uint32_t offset);
/* Notes the lanes that accessed shared memory in this stretch and take no part in the arrival: their accesses are not released by it. */
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
/* True if another warp's read of the grain was released by lanes that had not synchronised with the reading lane. */
bool reads_in_part(const struct warp *w, const struct block *b, uint32_t g);
/* The warp found a completed phase of that parity: it acquires the oldest such phase it has not acquired yet. Parity -1: the last phase. */
void race_wait_phase(struct warp *w, struct block *b, uint32_t offset, int parity);
/* Records who initialised an mbarrier; and whether the warp is ordered behind that. */
void race_init(struct warp *w, const struct insn *ip, int lane, uint32_t offset);
bool race_init_known(struct warp *w, struct block *b, uint32_t offset);
/* The warp uses an mbarrier of its block. With `last`, on invalidating it: the warp that may still use it, or -1. */
int race_use(struct warp *w, uint32_t offset, bool last);
/* Stores the state that an operation left in an mbarrier; agent_kept: false if something else has written there since. */
void agent_keeps(struct block *b, uint32_t offset, uint64_t state);
bool agent_kept(struct block *b, uint32_t offset, uint64_t state);
void race_proxy_fence(struct warp *w);
/* Volatile flags in shared memory: a fence or releasing store by w; w reads a flag that warp `of` set at that clock. */
void race_flag_fence(struct warp *w);
void race_flag_acquire(struct warp *w, const struct warp *of, uint32_t clock);

/* A phase of the mbarrier completes; how many have. */
void agent_phase(struct block *b, uint32_t offset);
uint32_t agent_phases(struct block *b, uint32_t offset);
/* The tag of a copy that completes on that mbarrier; of one in the warp's open bulk group. 0: not checked. */
uint32_t agent_of_mbarrier(struct block *b, uint32_t offset, struct warp *w, const struct insn *ip, int lane);
uint32_t agent_of_group(struct warp *w, const struct insn *ip, int lane);
/* A new id of the tensor core that writes tensor memory; 0: not checked. */
uint32_t agent_of_tensor_core(struct block *b);
/* Warps that wait for the mbarrier's phase see what the agent did up to that group. */
void agent_commits(struct block *b, uint32_t offset, uint32_t agent, uint32_t group);
/* The id of the four warps that multiply together, made when there is none. */
uint8_t *agent_of_matrix(struct warp *w);
/* The tag of a copy from the warp's shared memory to that of block `to`: complete for warps that waited on the mbarrier there. */
uint32_t agent_of_sent(struct warp *w, struct block *to, uint32_t offset);
/* The tag of global memory that the warp's bulk copies of that group write (check/races.h). */
uint32_t agent_store_tag(struct warp *w, uint32_t group);
/* The warp ends: reports copies from its shared memory that it has not waited for. */
void agent_ends(struct warp *w);
/* The block ends: reports copies to its shared memory that no lane has waited for. */
void agents_end(struct block *b);
/* The sender's block releases to waiters on an mbarrier in another block: completion has release semantics at cluster scope. */
void agent_releases(struct warp *w, struct block *b, uint32_t offset);
void agent_writes(struct warp *w, const struct insn *ip, int lane, struct block *b, uint32_t offset, uint64_t bytes, uint32_t tag);
void agent_reads(struct warp *w, const struct insn *ip, int lane, uint32_t offset, uint64_t bytes, uint32_t tag);
