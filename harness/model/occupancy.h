/* model/occupancy: theoretical occupancy, what limits it, and what would lift it (CUDA's own cuda_occupancy.h underneath). */
#ifndef BENCH_MODEL_OCCUPANCY_H
#define BENCH_MODEL_OCCUPANCY_H

#include "base/chip.h"
#include <stdbool.h>
#include <stddef.h>

enum occupancy_limit { LIMIT_NONE, LIMIT_WARPS, LIMIT_BLOCKS, LIMIT_REGISTERS, LIMIT_SMEM, LIMIT_COUNT };
struct occupancy_query {
    int block_threads;
    int registers;       /* per thread */
    size_t static_smem, dynamic_smem; /* bytes per block */
    int carveout;        /* preferred share in %, -1 = driver's choice (largest that helps) */
};
struct occupancy {
    bool possible;       /* false: not even one block fits; `limit` says why */
    int blocks_per_sm, warps_per_sm;
    double share;        /* warps_per_sm / the chip's maximum, 0..1 */
    enum occupancy_limit limit; /* the smallest */
    int blocks_by[LIMIT_COUNT]; /* what each alone would allow */
    size_t smem_per_block;      /* static + dynamic + reserved, rounded as the chip does */
    char lift[160];      /* "5 fewer registers (59) give 4 blocks per SM"; "" when the warps are full */
};
struct occupancy occupancy_of(const struct chip *chip, const struct occupancy_query *query);
const char *occupancy_limit_name(enum occupancy_limit limit); /* "regs", "smem", "warps", "blocks" */
/* Waves of a grid: blocks / (blocks_per_sm * sm_count). */
double occupancy_waves(const struct chip *chip, const struct occupancy *o, double grid_blocks);

#endif
