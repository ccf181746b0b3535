/* emu/handlers: the handlers, and what they call, that are compiled once instead of for each instruction set. */
#pragma once

#include "emu/exec.h"
#include "emu/ops.h"

#define SLOT(T, w, ref) ((T *)(void *)((w)->base[(ref)&1] + (ref)))

/* ---- memory.c ---- */
/* insn.flags of accesses */
enum {
    ACCESS_STRONG = 2,
    ACCESS_CONSTANT = 4 /* .nc */,
    ACCESS_CHOSEN = 8 /* of loads: the next instruction selects between this value and another */,
    ACCESS_NARROW = 16,
    ACCESS_ACQUIRE = 32,
    ACCESS_RELEASE = 64,
    ACCESS_OVERTAKEN = 128 /* of shared memory, by another lane's store */
};
enum access { ACCESS_READ, ACCESS_WRITE, ACCESS_ATOMIC };
/* Learns the address pattern of the active lanes. False: too irregular (several buffers, none, other spaces). */
bool memo_global(struct warp *w, const struct insn *ip, struct memo *m, const uint64_t *a, uint64_t first_address, uint32_t bytes);
void memo_rows(struct memo *m, const uint32_t *a, int matrices);
uint32_t memo_learn(struct memo *m, uint32_t bytes, int32_t gap);
#define QUICK_NEVER (1ull << 63)
static inline void memo_disarm(struct memo *m)
{
    m->quick_from = QUICK_NEVER;
    m->quick_span = 0;
}
#define SECTOR_GAP 32 /* accesses are aligned to their size, so none reaches into the next one's sector unless that begins there, too */
/* The buffer that the instruction's pointer was derived from; NULL: unknown. */
const struct buffer *origin_buffer(const struct warp *w, const struct insn *ip);
struct buffer *origin_of(const struct launch *l, const struct program *p, uint32_t index);
void memo_shared(struct warp *w, const struct insn *ip, struct memo *m, const uint32_t *a, uint32_t bytes);
/* Counts the distinct 32-byte sectors and 128-byte lines of a learnt global pattern whose first lane is at `at`. */
static inline uint32_t span_sectors(const struct memo *m, int64_t at, uint32_t *lines)
{
    uint32_t sectors = 0, line_count = 0;
    int64_t line = -1;
    for (int s = 0; s < m->spans; s++) {
        int64_t low = (at + m->from[s]) >> 5, high = (at + m->to[s] - 1) >> 5;
        sectors += (uint32_t)(high - low) + 1;
        line_count += (uint32_t)((high >> 2) - (low >> 2)) + (low >> 2 != line);
        line = high >> 2;
    }
    *lines = line_count;
    return sectors;
}
/* Checks one lane's access. Returns its host address, or NULL if it was reported and must not happen. */
uint8_t *resolve_lane(struct warp *w, const struct insn *ip, int lane, enum ptx_space space, uint64_t address, uint32_t bytes,
                      enum access access);
/* Counts one access of the lanes in `mask`, by state space. */
void count_lanes(struct warp *w, const struct insn *ip, enum ptx_space space, const uint64_t *address, uint32_t mask, uint32_t bytes);
/* Marks sectors of global memory as read or written, for the counters and the race check. */
void mark_sectors(struct warp *w, struct buffer *b, uint64_t offset, uint64_t bytes, enum access access);
/* Writes to `to` the value that lane i is about to store. */
void lane_out(struct warp *w, const struct insn *ip, int i, uint8_t *to);
const struct insn *emu_load_any(struct warp *w, const struct insn *ip, enum ptx_space space);
const struct insn *emu_store_any(struct warp *w, const struct insn *ip, enum ptx_space space);
void emu_load_frame(struct warp *w, const struct insn *ip);
void emu_store_frame(struct warp *w, const struct insn *ip);
void emu_discard(struct warp *w, const struct insn *ip);
void emu_store_bulk(struct warp *w, const struct insn *ip);
void emu_isspace(struct warp *w, const struct insn *ip);
/* Addresses of operand a + imm in all lanes, as 64 bits. */
void lane_addresses(const struct warp *w, const struct insn *ip, enum ptx_space space, uint64_t *out);
enum ptx_space space_of(uint64_t generic);
int shared_wavefronts(const struct memo *m, uint32_t mask, uint32_t phase, uint32_t bytes, int *ideal);
void emu_poll(struct warp *w);

/* ---- report.c ---- */
/* Adds a finding to the launch's reports, or a note, which is no error (emu_notes()); lane < 0: the whole warp. Of equal findings the first
 * in block, warp, lane order is kept. */
#define emu_report(w, ip, lane, kind, ...) emu_report_add(w, ip, lane, false, kind, __VA_ARGS__)
#define emu_note(w, ip, lane, kind, ...) emu_report_add(w, ip, lane, true, kind, __VA_ARGS__)
void emu_report_add(struct warp *w, const struct insn *ip, int lane, bool note, const char *kind, const char *format, ...)
    __attribute__((format(printf, 6, 7)));
void known_global(struct warp *w, const struct insn *ip, struct buffer *b, const struct memo *m, uint64_t offset, uint32_t bytes,
                  bool store);
bool known_lane(struct warp *w, const struct insn *ip, int lane, struct buffer *b, uint64_t offset, uint32_t bytes, enum access access);
void check_shared(struct warp *w, const struct insn *ip, const struct memo *m, uint32_t offset, uint32_t bytes, bool store);
void check_shared_lane(struct warp *w, const struct insn *ip, struct block *b, int lane, uint32_t offset, uint32_t bytes,
                       enum access access);
/* A barrier of the block: warps in `waiting` are ordered behind warps in `arrived`. */
void race_join(struct block *b, uint64_t arrived, uint64_t waiting);
/* The warp's lanes have synchronised: each may read what the others wrote to shared memory before. */
void lanes_sync(struct warp *w);
/* At an atomic or volatile access: diverged lanes may have synchronised through it. */
static inline void lanes_parted(struct warp *w)
{
    if (w->mask != w->born)
        lanes_sync(w);
}
void lanes_sync_some(struct warp *w, uint32_t who);
/* True if a lane of this warp left the tag and `lane` has not synchronised with it since. */
#define MANY_LANES 32u
#define NO_LANE 63u /* an atomic or volatile write */
static inline bool lanes_unordered(const struct warp *w, uint32_t tag, uint32_t lane)
{
    uint32_t other = tag & 63;
    if (other == lane || other == NO_LANE)
        return false;
    if ((tag ^ w->synced) < 64)
        return true;
    for (int i = w->part_count - 1; i > 0 && other < 32; i--) {
        if (w->parts[i].who >> lane & w->parts[i].who >> other & 1)
            return false;
        if ((tag & ~63u) == w->parts[i - 1].synced)
            return true;
    }
    return false;
}
/* The same for a read. */
static inline bool reads_unordered(const struct warp *w, uint32_t tag, uint32_t lane)
{
    uint32_t other = tag & 63;
    if (w->used == w->synced)
        return lanes_unordered(w, tag, lane);
    return other != lane && other != NO_LANE && (tag ^ w->used) < 64;
}
/* The lanes exchange values (shuffle, vote): reads before it are ordered before writes that depend on it. Writes do not become visible. */
void lanes_exchange(struct warp *w);
/* Tags the bytes of a completed cp.async as written now. */
void retag_shared(struct warp *w, uint32_t offset, uint32_t bytes);

/* ---- convert.c, move.c, video.c ---- */
/* insn.kind */
enum { VIDEO_ADD, VIDEO_SUB, VIDEO_AVERAGE, VIDEO_DIFFERENCE, VIDEO_MIN, VIDEO_MAX, VIDEO_LEFT, VIDEO_RIGHT, VIDEO_SET, VIDEO_MAD };
enum { VIDEO_D_SIGNED = 1, VIDEO_A_SIGNED = 2, VIDEO_B_SIGNED = 4, VIDEO_SAT = 8, VIDEO_WRAP = 16, VIDEO_PLUS_ONE = 32 }; /* insn.flags */
enum { VIDEO_NEGATED_PRODUCT = 64, VIDEO_NEGATED_C = 128 };
/* insn.aux: with the third operand, one of these, or by default what the mask leaves of it */
enum { VIDEO_MERGE, VIDEO_WITH_ADD, VIDEO_WITH_MIN, VIDEO_WITH_MAX };
/* insn.imm: parts of the operands. Parts are numbered over both: those of the second follow the first's. */
struct video_parts {
    uint16_t a, b;                  /* by part of the result, 4 bits: the part that is operand a, b */
    uint8_t mask;                   /* parts of the result that are computed */
    uint8_t a_bits, b_bits, d_bits; /* of a part */
};
/* insn.size: the comparison of vset, or by how many bits vmad shifts its sum to the right */
enum { VIDEO_EQ, VIDEO_NE, VIDEO_LT, VIDEO_LE, VIDEO_GT, VIDEO_GE };
void emu_video(struct warp *w, const struct insn *ip);
void emu_convert(struct warp *w, const struct insn *ip);
void move_pack(struct warp *w, const struct insn *ip);
void move_unpack(struct warp *w, const struct insn *ip);
void move_special(struct warp *w, const struct insn *ip);

/* ---- together.c: what a warp does together ---- */
op_handler emu_shfl, emu_vote, emu_match, emu_redux, emu_elect, emu_bar_warp;
/* ---- heap.c ---- */
void emu_malloc(struct warp *w, const struct insn *ip, int lane, uint64_t bytes, uint64_t *address); /* 0: none left */
void emu_free(struct warp *w, const struct insn *ip, int lane, uint64_t address);
/* Checks an access to the heap's buffer. False after a report: memory that malloc did not return, or that was freed. */
bool heap_allows(struct warp *w, const struct insn *ip, int lane, uint64_t offset, uint32_t bytes, enum access access);
void heap_leaks(struct launch *l); /* reports allocations that were not freed */
/* alloca: d = the address in local memory of a = size bytes, imm = alignment; imm < 0: stackrestore of a, -2: stacksave into d */
const struct insn *emu_alloca(struct warp *w, const struct insn *ip);
/* ---- atomics.c ---- */
enum atomic_op { ATOMIC_ADD, ATOMIC_MIN, ATOMIC_MAX, ATOMIC_INC, ATOMIC_DEC, ATOMIC_AND, ATOMIC_OR, ATOMIC_XOR, ATOMIC_EXCH, ATOMIC_CAS };
/* to[i] = to[i] op from[i] for each element of a stretch, each by itself atomic; `to` aligned to the element. */
void atomic_reduce(uint8_t *to, const uint8_t *from, uint64_t bytes, enum atomic_op op, enum ptx_type t);
const struct insn *emu_atom(struct warp *w, const struct insn *ip);
/* ---- control.c ---- */
/* insn.kind of a fence: wider than the block; fence.mbarrier_init; towards the async proxy, for shared and for global memory */
enum fence_kind { FENCE_WIDE = 1, FENCE_INIT = 2, FENCE_ASYNC_SHARED = 4, FENCE_ASYNC_GLOBAL = 8, FENCE_MAP = 16 /* tensor maps */ };
op_handler emu_fence, emu_brx, emu_call, emu_trap, emu_unsupported, emu_bar, emu_yield;
enum call_kind { CALL_DIRECT, CALL_INDIRECT, CALL_VPRINTF, CALL_ASSERTFAIL, CALL_MALLOC, CALL_FREE };
/* All lanes of the warp have arrived at a barrier (state WARP_BARRIER); a warp ended. */
void barrier_warp_arrives(struct warp *w);
void barrier_warp_done(struct block *b);
/* Text of printf, kept in block order until the launch ends. */
void emu_print(struct launch *l, uint64_t block, const char *text, size_t bytes);
/* Writes that text to standard output and drops it; drops it without writing. */
void emu_print_show(struct launch *l);
void emu_print_drop(struct launch *l);
/* ---- tensor.c, wgmma.inc, async.c, bulk.c, cluster.c ---- */
op_handler emu_mma, emu_wmma_load, emu_wmma_store, emu_ldmatrix, emu_stmatrix;
/* The row that stmatrix writes at the lane's address. */
void matrix_row(const struct warp *w, const struct insn *ip, int lane, uint8_t *row);
op_handler emu_movmatrix, emu_cp_async;
#define COPY_BYPASS 8 /* flag: cp.async.cg, past the L1 */
/* The same for learnt patterns whose first lanes are at `from` and `to`; caches the result. */
void emu_count_bypass_again(struct memo *global, struct memo *shared, uint64_t from, uint32_t to, uint32_t full, uint32_t mask);
/* Records the bytes of shared memory that a cp.async fills: reading them before the wait is an error. */
void emu_remember_copy(struct warp *w, uint32_t offset, uint32_t bytes);
/* Records what a cp.async reads from global memory. copy_reads: the warp of the block with a pending copy from there, or NULL. */
void copy_source(struct warp *w, uint64_t address, uint32_t bytes);
const struct warp *copy_reads(const struct block *b, uint64_t address, uint32_t bytes);
op_handler emu_cp_async_wait, emu_cp_async_commit, emu_cp_async_arrive, emu_mbarrier, emu_bulk_copy, emu_try_cancel, emu_query_cancel,
    emu_store_async, emu_tensormap_replace, emu_tensormap_copy, emu_tensor_copy, emu_cluster_barrier, emu_mapa, emu_bulk_group,
    emu_wgmma_group;
/* The warp waits: the same instruction is tried again in its next turn. */
const struct insn *warp_retry(struct warp *w, const struct insn *ip);
/* Checks 16 bytes of shared memory that wgmma reads at `offset`: ordered, and fenced for the async proxy? */
void agent_matrix(struct warp *w, const struct insn *ip, uint32_t offset);
/* Completes the runner's pending bulk copies; bulk_drop discards them. */
void bulk_complete(struct runner *k);
void bulk_drop(struct runner *k); /* or are lost */
