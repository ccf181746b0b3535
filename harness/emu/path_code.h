/* emu/path_code: the instructions of a program as device/path.c times them: what they read and write, and how long that takes. */
#pragma once

#include <stdint.h>

enum path_kind {
    PATH_PLAIN,       /* its result is ready some cycles after its operands */
    PATH_SPLIT,       /* the same, and it holds a branch (a slow path): no later instruction moves in front of it */
    PATH_LOAD,        /* from global memory: L1, L2 or DRAM */
    PATH_LOAD_FREE,   /* the same of memory that nobody writes: a store does not keep it behind */
    PATH_LOAD_STRONG, /* of memory that others write now: from L2 */
    PATH_ATOMIC,      /* from L2 */
    PATH_SHARED,      /* of shared memory */
    PATH_STORE,       /* to global memory: no later load moves in front of it */
    PATH_BARRIER,     /* waits for all before it */
    PATH_COPY,        /* asynchronous: begins to load */
    PATH_COMMIT,      /* what was begun is one group */
    PATH_COPY_WAIT,   /* for all groups but `amount` */
    PATH_MBARRIER,    /* for the oldest group */
    PATH_PRODUCT,     /* wgmma: the tensor pipe works on it */
    PATH_PRODUCT_WAIT,
    PATH_BRANCH
};
struct path_step {
    uint8_t kind, reads, writes;
    uint8_t slots;    /* issue slots */
    uint8_t special;  /* cycles of the pipe of special functions */
    uint8_t words;    /* a lane loads */
    uint16_t latency; /* cycles */
    uint32_t amount;  /* of groups, of cycles of the tensor pipe */
    uint32_t regs;    /* into path_code.regs: those read, then those written */
    uint32_t memo;    /* UINT32_MAX: none */
};
#define PATH_AGES 16
/* Requests of a load in the first turns of its basic block. What each waits for is the sector of it that comes from farthest. */
struct path_reads {
    uint32_t requests, sectors; /* sectors: that the warp reads for the first time */
    uint32_t first, far;        /* with such a sector; and one of a line of which it has read nothing */
    uint32_t again[PATH_AGES];  /* without; the oldest was read 2^k basic blocks ago, or longer */
};
struct path_code {
    uint32_t (*range)[2]; /* by flow: its steps, from and to */
    struct path_step *steps;
    uint32_t *regs;
    uint32_t step_count, reg_used, reg_count; /* reg_used: of regs; reg_count: registers of all functions */
};
