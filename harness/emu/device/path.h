/* emu/device/path: how many cycles a block's warps would run, each alone on an SM, by their way through the code (run/path.h). */
#pragma once

#include "emu/exec.h"

enum path_level { PATH_L1, PATH_L2, PATH_DRAM, PATH_LEVELS }; /* where each load from global memory finds its bytes */

/* Adds the cycles of the slowest warp of each block, summed over the launch's blocks: of the blocks that were followed, each as often as it
 * stands for others. counts, memos: those of the whole launch, by program.flow_count and program.memo_count. */
/* Sectors that a warp reads for the first time, summed over all warps. */
uint64_t path_first_sectors(const struct launch *l, const struct memo *memos);
struct path_sum {
    uint64_t cycles[PATH_LEVELS];
    uint64_t fixed_cycles; /* of cycles[PATH_L2]: those that a block takes whatever its work, if blocks do unequal work */
    double fixed_share;    /* the same of the last launch, as a share */
};
void path_cycles(const struct launch *l, const struct block_count *counts, const struct memo *memos, struct path_sum *sum);
