/* emu/async: asynchronous copies and mbarriers. cp.async copies at once; only the right to read the data waits. Bulk copies arrive when a
 * warp waits for one of them in vain. */
#pragma once

#include "emu/handlers.h"

/* An mbarrier in shared memory: expected arrivals of a phase, arrivals still missing, bytes still missing, layout, parity of the phase. */
#define MBARRIER_EXPECTED(v) ((uint32_t)(v)&0xfffff)
#define MBARRIER_PENDING(v) ((uint32_t)((v) >> 20) & 0xfffff)
#define MBARRIER_TX(v) ((int32_t)((int64_t)((v) << 2) >> 42)) /* bits 40 to 61, signed */
#define MBARRIER_V1 (1ull << 62)                              /* of layout v1, not v0: all that mbarrier.check_layout tells apart */
#define MBARRIER_PHASE(v) ((uint32_t)((v) >> 63))

enum mbarrier_op {
    MBARRIER_INIT,
    MBARRIER_INVAL,
    MBARRIER_ARRIVE,
    MBARRIER_DROP,
    MBARRIER_EXPECT,
    MBARRIER_COMPLETE,
    MBARRIER_TEST,
    MBARRIER_TEST_PARITY,
    MBARRIER_TRY,
    MBARRIER_TRY_PARITY,
    MBARRIER_COUNT,
    MBARRIER_LAYOUT
};
uint64_t mbarrier_pack(uint32_t expected, uint32_t pending, int32_t tx, uint32_t phase);
/* Adds bytes expected (positive) or arrived (negative) and arrivals (negative: that many came). */
void mbarrier_update(struct warp *w, uint8_t *host, struct block *owner, uint32_t offset, int32_t tx, uint32_t arrivals, bool drop);
/* What the warp waits for, behind "waits for what never comes". */
void mbarrier_explain(const struct warp *w, char *text, size_t room);
/* Copies 16-byte-grained bulk data; the operands of insn.list in bulk copies */
enum { BULK_DST, BULK_SRC, BULK_SIZE, BULK_MBAR, BULK_MASK, BULK_LEFT, BULK_RIGHT, BULK_COORD, BULK_HEADER = BULK_COORD + 5 };
/* insn.aux of a copy that reduces: 1 + enum atomic_op, type << 8; 0: a plain copy */
enum bulk_kind { BULK_GLOBAL_TO_SHARED, BULK_SHARED_TO_SHARED, BULK_SHARED_TO_GLOBAL };

/* insn.kind of tensormap.replace */
enum map_field {
    MAP_ADDRESS,
    MAP_RANK,
    MAP_BOX,
    MAP_DIM,
    MAP_STRIDE,
    MAP_ELEMENT_STRIDE,
    MAP_ELEMENT,
    MAP_SWIZZLE,
    MAP_INTERLEAVE,
    MAP_ATOMICITY,
    MAP_FILL
};

/* wgmma: insn.list: n, k, form of a and b, form of d, a from registers, transposed a, transposed b, negate a, negate b, counts, sparse,
 * saturate, then slots: d, a; for a sparse a the slot of the metadata and the selector. k: for a sparse a the stored elements */
enum {
    WGMMA_N,
    WGMMA_K,
    WGMMA_FA,
    WGMMA_FB,
    WGMMA_FD,
    WGMMA_A_REGS,
    WGMMA_TRANS_A,
    WGMMA_TRANS_B,
    WGMMA_NEG_A,
    WGMMA_NEG_B,
    WGMMA_COUNT_D,
    WGMMA_COUNT_A,
    WGMMA_SPARSE,
    WGMMA_SATURATE,
    WGMMA_HEADER
};

/* What try_cancel writes: the first block of the cluster that it took, and whether it took one. */
struct cancel_response {
    uint32_t first[3], state;
};
enum { CANCELLED = 0x436c4331, CANCEL_FAILED = 0x436c4330 };
/* clusterlaunchcontrol: takes the next cluster that has not started; false: none is left. `first`: its first block. */
bool cluster_cancel(struct runner *k, uint32_t first[3]);
