/* emu/device/count: the counters emu.*: names, units, sums of launches, by source line. Their meaning: docs/EMU.md. */
#pragma once

#include "device/device.h"
#include "emu/exec.h"

/* WARP: instructions of one kind that warps executed, emu.warp_NAME; X: emu.NAME. */
#define EMU_COUNTERS(WARP, X) \
    WARP(instructions, "instr") \
    X(thread_instructions, "instr") \
    WARP(fma, "instr") \
    WARP(float, "instr") \
    WARP(f64, "instr") \
    WARP(half, "instr") \
    WARP(special, "instr") \
    WARP(tensor, "instr") \
    WARP(int, "instr") \
    WARP(convert, "instr") \
    WARP(compare, "instr") \
    WARP(move, "instr") \
    WARP(load_global, "instr") \
    WARP(store_global, "instr") \
    WARP(load_shared, "instr") \
    WARP(store_shared, "instr") \
    WARP(load_local, "instr") \
    WARP(store_local, "instr") \
    WARP(load_const, "instr") \
    WARP(generic, "instr") \
    WARP(atomic, "instr") \
    WARP(async, "instr") \
    WARP(shuffle, "instr") \
    WARP(barrier, "instr") \
    WARP(branch, "instr") \
    WARP(other, "instr") \
    X(flop_f16, "FLOP") \
    X(flop_bf16, "FLOP") \
    X(flop_f32, "FLOP") \
    X(flop_f64, "FLOP") \
    X(tensor_ops, "instr") \
    X(tensor_macs, "MAC") \
    X(global_requests_ld, "request") \
    X(global_requests_st, "request") \
    X(global_requests_atomic, "request") \
    X(global_sectors_ld, "sector") \
    X(global_sectors_st, "sector") \
    X(global_sectors_atomic, "sector") \
    X(global_sectors_ideal_ld, "sector") \
    X(global_sectors_ideal_st, "sector") \
    X(global_lines, "line") \
    X(global_wavefronts, "wavefront") \
    X(machine_more, "instr") \
    X(first_sectors, "sector") \
    X(path_l1_cycles, "cycle") \
    X(path_l2_cycles, "cycle") \
    X(path_dram_cycles, "cycle") \
    X(path_fixed_cycles, "cycle") \
    X(shared_requests, "request") \
    X(shared_wavefronts_ld, "wavefront") \
    X(shared_wavefronts_st, "wavefront") \
    X(shared_wavefronts_ideal_ld, "wavefront") \
    X(shared_wavefronts_ideal_st, "wavefront") \
    X(shared_bank_conflicts, "wavefront") \
    X(local_requests, "request") \
    X(local_sectors, "sector") \
    X(branches, "instr") \
    X(divergent_branches, "instr") \
    X(atomics, "request") \
    X(atomic_contention, "lane") \
    X(atomic_results, "request") \
    X(barriers, "instr") \
    X(async_copies, "instr") \
    X(async_sectors, "sector") \
    X(async_pieces, "") \
    X(async_bytes, "B")
#define COUNTER_WARP_ENUM(name, unit) COUNT_warp_##name,
#define COUNTER_ENUM(name, unit) COUNT_##name,
enum emu_counter { EMU_COUNTERS(COUNTER_WARP_ENUM, COUNTER_ENUM) COUNT_COUNT };

struct line_counts {
    int line;
    uint64_t value[COUNT_COUNT];
};
struct totals {
    uint64_t whole[COUNT_COUNT];
    struct line_counts *lines; /* sorted by line; of the kernel's own file only */
    int line_count;
    struct device_instruction *code; /* sorted by line of the PTX */
    int code_count;
    double fixed_share; /* struct path_sum */
    char file[256];
};
/* path: the kernel's file, whose lines are counted; "": the file of its first instruction. buffers: the buffers whose `requested` grows,
 * with the parameters of the launch; NULL: none. */
void totals_add(struct totals *t, const struct launch *l, const char *path, const struct launch *buffers);
/* Of the whole (line 0), then of each line what is not 0. */
void totals_each(const struct totals *t, void (*visit)(void *context, const struct device_counter *counter, int line, double value),
                 void *context);
void totals_clear(struct totals *t);
