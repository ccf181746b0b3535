/* What the kernels of tests/gpu/counters.cu must read, group by group, from their text alone: held against CUPTI by tests/gpu/counters.c
 * and against the interpreter by tests/unit/test_known_kernels.c. `emu` is the interpreter's counter of the same thing, over `emu_per` and
 * times `emu_times` where they are given; NULL where it has none. How often `spilled` spills is the compiler's to say: both programs ask
 * it. */
#ifndef BENCH_TESTS_GPU_KNOWN_H
#define BENCH_TESTS_GPU_KNOWN_H

#include "device/compile/cubin.h"
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

enum { BLOCKS = 528, THREADS = 256, WARPS = BLOCKS * THREADS / 32 };
static const struct kernel {
    const char *name;
    uint32_t threads;
} kernels[] = {{"copy", THREADS},      {"strided", THREADS},     {"conflicts", 32},    {"four_ways", 32}, {"multiply_add", THREADS},
               {"divergent", THREADS}, {"local_array", THREADS}, {"spilled", THREADS}, {"tensor", 32},    {"warp_matrix", 32}};
enum { KERNELS = sizeof kernels / sizeof *kernels };
/* What a value must read: exactly where low and high are the same. */
static const struct expect {
    const char *group, *kernel, *value;
    double low, high;
    const char *emu, *emu_per;
    double emu_times; /* 0: once */
} expects[] = {
    {"coalescing", "copy", "global_requests_ld", .low = WARPS, .high = WARPS, .emu = "global_requests_ld"},
    {"coalescing", "copy", "global_requests_st", .low = WARPS, .high = WARPS, .emu = "global_requests_st"},
    {"coalescing", "copy", "global_sectors_ld", .low = WARPS * 4, .high = WARPS * 4, .emu = "global_sectors_ld"},
    {"coalescing", "copy", "sectors_per_request_ld", .low = 4, .high = 4, .emu = "global_sectors_ld", .emu_per = "global_requests_ld"},
    {"coalescing", "copy", "sectors_per_request_st", .low = 4, .high = 4, .emu = "global_sectors_st", .emu_per = "global_requests_st"},
    {"coalescing", "copy", "useful_ld", .low = 100, .high = 100},
    {"coalescing", "strided", "sectors_per_request_ld", .low = 32, .high = 32, .emu = "global_sectors_ld", .emu_per = "global_requests_ld"},
    {"coalescing", "strided", "useful_ld", .low = 12.5, .high = 12.5},
    {"memory", "copy", "dram_bytes_read", .low = 0.9 * BLOCKS * THREADS * 4, .high = 2.0 * BLOCKS * THREADS * 4,
     .emu = "unique_bytes_read"}, /* cold: each input byte comes once */
    {"launch", "copy", "blocks", .low = BLOCKS, .high = BLOCKS},
    {"launch", "copy", "warps_launched", .low = WARPS, .high = WARPS},
    {"launch", "copy", "warps_per_block", .low = THREADS / 32, .high = THREADS / 32},
    {"launch", "tensor", "warps_per_block", .low = 1, .high = 1},
    {"occupancy", "multiply_add", "occupancy_achieved", .low = 25,
     .high = 50.5}, /* 4 blocks of 8 warps for each of 132 SMs: half of the 64, and a tail */
    {"occupancy", "conflicts", "occupancy_achieved", .low = 0, .high = 6.5}, /* 4 blocks of one warp */
    {"spills", "copy", "local_loads", .low = 0, .high = 0, .emu = "warp_load_local"},
    {"spills", "copy", "local_stores", .low = 0, .high = 0, .emu = "warp_store_local"},
    {"spills", "local_array", "local_loads", .low = WARPS * 64, .high = WARPS * 64, .emu = "warp_load_local"},
    {"spills", "local_array", "local_stores", .low = WARPS * 64, .high = WARPS * 64, .emu = "warp_store_local"},
    {"spills", "local_array", "local_bytes", .low = WARPS * 128 * 128.0,
     .high = WARPS * 128 * 128.0}, /* a warp's access is 4 whole sectors */
    {"shared", "copy", "shared_wavefronts_st", .low = 0, .high = 0, .emu = "shared_wavefronts_st"},
    {"shared", "conflicts", "shared_stores", .low = BLOCKS * 16, .high = BLOCKS * 16, .emu = "warp_store_shared"},
    {"shared", "conflicts", "shared_wavefronts_st", .low = BLOCKS * 16 * 32, .high = BLOCKS * 16 * 32, .emu = "shared_wavefronts_st"},
    {"shared", "conflicts", "shared_ways_st", .low = 32, .high = 32, .emu = "shared_wavefronts_st", .emu_per = "warp_store_shared"},
    {"shared", "conflicts", "shared_conflict_share", .low = 90, .high = 100},
    {"shared", "four_ways", "shared_stores", .low = BLOCKS * 4, .high = BLOCKS * 4, .emu = "warp_store_shared"},
    {"shared", "four_ways", "shared_loads", .low = BLOCKS * 4, .high = BLOCKS * 4, .emu = "warp_load_shared"},
    {"shared", "four_ways", "shared_ways_st", .low = 4, .high = 4, .emu = "shared_wavefronts_st", .emu_per = "warp_store_shared"},
    {"shared", "four_ways", "shared_ways_ld", .low = 4, .high = 4, .emu = "shared_wavefronts_ld", .emu_per = "warp_load_shared"},
    {"shared", "four_ways", "shared_conflicts", .low = BLOCKS * 8 * 3, .high = BLOCKS * 8 * 3, .emu = "shared_bank_conflicts"},
    {"roofline", "copy", "flop_f32_executed", .low = 0, .high = 0, .emu = "flop_f32"},
    {"roofline", "multiply_add", "flop_f32_executed", .low = 2000.0 * BLOCKS * THREADS, .high = 2000.0 * BLOCKS * THREADS,
     .emu = "flop_f32"},
    {"divergence", "copy", "threads_per_instruction", .low = 32, .high = 32, .emu = "thread_instructions", .emu_per = "warp_instructions"},
    {"divergence", "copy", "branches_divergent", .low = 0, .high = 0, .emu = "divergent_branches"},
    {"divergence", "divergent", "branches_divergent", .low = WARPS, .high = INFINITY, .emu = "divergent_branches"},
    {"divergence", "divergent", "threads_per_instruction", .low = 14, .high = 20, .emu = "thread_instructions",
     .emu_per = "warp_instructions"},
    {"tensor", "copy", "tensor_instructions", .low = 0, .high = 0, .emu = "tensor_ops"},
    {"tensor", "copy", "tensor_active", .low = 0, .high = 3},
    {"tensor", "tensor", "tensor_instructions", .low = BLOCKS * 64, .high = BLOCKS * 64, .emu = "tensor_ops"},
    {"tensor", "warp_matrix", "tensor_instructions", .low = BLOCKS * 32, .high = BLOCKS * 32, .emu = "tensor_ops"},
    {"tensor", "tensor", "tensor_ops_f16", .low = BLOCKS * 64 * 4096.0, .high = BLOCKS * 64 * 4096.0, .emu = "tensor_macs",
     .emu_times = 2}, /* 16 x 8 x 16, two operations each */
};

/* The spill instructions of `spilled`: each runs once for a warp. */
static inline void known_spills(const void *cubin, size_t bytes, const char *source, int *loads, int *stores)
{
    struct spill_line *lines = NULL;
    int n = cubin_spill_lines(cubin, bytes, "spilled", source, &lines);
    *loads = *stores = 0;
    for (int i = 0; i < n; i++) {
        *loads += lines[i].loads;
        *stores += lines[i].stores;
    }
    free(lines);
}

#endif
