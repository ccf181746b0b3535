/* device/chip/occupancy: theoretical occupancy, what limits it, and what would lift it (CUDA's own cuda_occupancy.h underneath). */
#pragma once

#include "device/chip/chip.h"
#include <stdbool.h>
#include <stddef.h>

enum occupancy_limit { LIMIT_NONE, LIMIT_WARPS, LIMIT_BLOCKS, LIMIT_REGISTERS, LIMIT_SMEM, LIMIT_COUNT };
struct occupancy_query {
    int block_threads;
    int registers;                    /* per thread */
    size_t static_smem, dynamic_smem; /* bytes per block */
    int carveout;                     /* preferred share in %, -1 = driver's choice (largest that helps) */
};
struct occupancy {
    bool possible; /* false: not even one block fits; `limit` says why */
    int blocks_per_sm, warps_per_sm;
    double share;               /* warps_per_sm / the chip's maximum, 0..1 */
    enum occupancy_limit limit; /* the smallest */
    int blocks_by[LIMIT_COUNT]; /* what each alone would allow */
    size_t smem_per_block;      /* static + dynamic + reserved, rounded as the chip does */
    char lift[160];             /* "5 fewer registers (59) give 4 blocks per SM"; "" when the warps are full */
};
struct occupancy occupancy_of(const struct chip *chip, const struct occupancy_query *query);
/* Its warps_per_sm alone, without the search for what would lift it; 0 where not even one block fits. */
int occupancy_warps(const struct chip *chip, const struct occupancy_query *query);
const char *occupancy_limit_name(enum occupancy_limit limit); /* "regs", "smem", "warps", "blocks" */
/* Waves of a grid: blocks / (blocks_per_sm * sm_count). */
double occupancy_waves(const struct chip *chip, const struct occupancy *o, double grid_blocks);

/* By how much one resource alone must change so that `blocks` blocks fit: "16 fewer registers (64)", "25600 fewer bytes of shared memory
 * (76800)", "blocks of at most 512 threads". "" if they fit already or never can. */
void occupancy_need(const struct chip *chip, const struct occupancy_query *query, enum occupancy_limit limit, int blocks, char *out,
                    size_t bytes);
/* The largest number of registers a thread with which `blocks` blocks fit on an SM, considering registers only; 0 = never. Launch bounds of
 * that many blocks allow as many. */
int occupancy_registers(const struct chip *chip, const struct occupancy_query *query, int blocks);

/* The last wave, if all blocks take equally long. Below one wave the only wave is the last. */
struct occupancy_tail {
    double waves;
    int rounds;  /* waves rounded up: how often the GPU is filled */
    double last; /* share of the places that the last wave fills, 0..1 */
    double idle; /* share of the launch's block places that are never filled: 1 - waves / rounds */
};
/* False when `waves` is not a positive number. */
bool occupancy_tail(double waves, struct occupancy_tail *out);
/* An upper limit of the clusters of `cluster_blocks` blocks that are resident on the GPU at once: the chip table does not have the sizes of
 * its groups of SMs (a device reports its own number). 0 if none fits. */
int occupancy_clusters(const struct chip *chip, const struct occupancy *o, int cluster_blocks);
