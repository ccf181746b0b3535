/* emu/check/races: races in global memory, between blocks, warps and lanes.
 *
 * A tag says which warp accessed a granule (1 << program.global_shift bytes, the smallest write of the program) and when: moment << 8 |
 * TAG_WIDE | TAG_STRONG | warp. Each host thread counts moments through all its launches: one for each block, each of its barriers, each
 * fence. Moments before the launch are in the past of all its accesses. A launch first runs with only its writes tracked. If some sector
 * was both read and written, or two blocks wrote one granule, memory is restored and the launch runs again with reads tracked, too. If that
 * finds a race, it runs a last time on one thread, which reports it. So reports and values are the same for any number of threads, and
 * reads of memory that no block writes cost nothing. */
#pragma once

#include "emu/handlers.h"

enum trace { TRACE_OFF, TRACE_WRITES, TRACE_ALL };
struct footprint {             /* of one thread of the host on one buffer */
    uint32_t *writer, *reader; /* tags by granule */
    uint32_t *lane;            /* of the last write, as shadow.lane has it; where reads are watched */
    uint32_t *lane_read;       /* of the last read, MANY_LANES: of several */
    uint8_t *pages;            /* launch.mark: touched by this launch */
    int shift;
};
#define PAGE_SHIFT 12
#define TAG_SHIFT 8
#define TAG_MANY 63u             /* as a warp: several */
#define TAG_STRONG 64u           /* all of it atomic, volatile or relaxed */
#define TAG_WIDE 128u            /* of writers: weak towards other blocks; of readers: other blocks, too */
#define RACE_BLOCKS (1ull << 26) /* grids of more are not watched: MOMENT_MAX of them would be in any case */
#define MOMENT_MAX ((1u << 24) - 1)

void races_begin(struct launch *l);
/* The clock stood still: what came behind was not watched. */
bool races_unwatched(const struct launch *l);
void races_set_moments(uint32_t most); /* for tests: where it stands still; 0: MOMENT_MAX */
enum verdict { RACES_NONE, RACES_WATCH_READS, RACES_REPORT };
enum verdict races_end(struct launch *l);
void races_put_back(struct launch *l); /* memory as it was before the launch */
void races_forget(struct launch *l);   /* and what that took */
void races_free(struct buffer *b);
void runner_order(struct runner *k); /* moments, order */
void runner_order_free(struct runner *k);
void races_block(struct block *b); /* begins */
void races_join(struct block *b, uint64_t arrived, uint64_t waiting);
void races_tick(struct warp *w);     /* its clock went on */
void races_cluster(struct block *b); /* all blocks of the cluster have come */
/* The first write of this launch to sectors low to high: keeps what stands there. */
void races_mark(struct launch *l, struct buffer *b, int64_t low, int64_t high);
void races_lane(struct warp *w, const struct insn *ip, int lane, struct buffer *b, uint64_t offset, uint32_t bytes, enum access access);
void races_lanes(struct warp *w, const struct insn *ip, const struct memo *m, uint64_t offset, uint32_t bytes, bool store);
/* True if these words are equal, or floats, neither large nor small, that differ in their last bits. Sums of the same numbers do, if one
 * was rounded more often: in Triton's reductions several lanes store such sums to one address, and each of them is right. */
bool races_rounding(const uint8_t *a, const uint8_t *b, size_t bytes, float scale);
/* The largest magnitude of an f32 that the lanes of a store write: sums that cancel differ by their parts' rounding. */
float races_scale(struct warp *w, const struct insn *ip);
/* Lanes of one store that write different values to one address; `shared`: of shared memory. */
void races_doubles(struct warp *w, const struct insn *ip, const struct memo *m, uint64_t address, bool shared);
/* Is this the run that tells of races? The others only find out whether there are some. */
static inline bool races_reporting(const struct warp *w)
{
    return w->trace == TRACE_ALL && w->runner->launch->runner_count == 1;
}
/* Its lanes do something together, as lanes_exchange has it: where it may matter. */
static inline void lanes_together(struct warp *w)
{
    if (w->read || w->trace == TRACE_ALL)
        lanes_exchange(w);
}
/* Lanes of a store that write what is there already. */
uint32_t races_silent(struct warp *w, const struct insn *ip, const struct memo *m, const uint8_t *host);
/* Memory that was taken from the heap: nobody has touched it. */
void races_fresh(struct launch *l, struct buffer *b, uint64_t offset, uint64_t bytes);
/* ---- order.c ---- */
bool races_blind(const struct runner *k); /* blocks know nothing of each other */
enum unordered { ORDERED, UNORDERED_WARPS, UNORDERED_BLOCKS };
enum unordered races_unordered(const struct warp *w, uint32_t tag); /* what the tag is of is ordered before what the warp does */
uint32_t races_tag_of(struct warp *w, uint32_t id, uint32_t clock); /* of what an agent of its block writes */
/* Was it written by a warp, with no fence to the async proxy since, of its block or of this one? */
bool races_unfenced(const struct warp *w, uint32_t tag);
uint32_t races_block_of(const struct runner *k, uint32_t tag);               /* its number */
void races_acquire(struct warp *w, const struct insn *ip, uint64_t address); /* reads what others may release */
/* A fence that reaches beyond the block; one between its writes to global memory and the async proxy. */
void races_fence(struct warp *w);
void races_fence_async(struct warp *w);
void races_release(struct warp *w, const struct insn *ip, uint64_t address);
