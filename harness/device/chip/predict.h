/* device/chip/predict: the time of a launch from exact counts, the compiler's facts and a chip's limits, with its error and the limiter.
 * docs/MODEL.md derives each constant; harness/device/chip/model/CHIP.yaml holds them, fitted by ci/fit-model. A prediction is not a
 * measured time: nothing stores, gates or ranks it as one. */
#pragma once

#include "base/error.h"
#include "device/chip/chip.h"
#include <stdbool.h>

/* Cycles of a global load of an H200, by where its data are (measured: docs/MODEL.md). */
#define PREDICT_L1_CYCLES 41
#define PREDICT_L2_CYCLES 280
#define PREDICT_DRAM_CYCLES 700

/* X(name): a constant of the model. */
#define PREDICT_CONSTANTS(X) \
    X(clock_hz) \
    X(empty_launch_ns) \
    X(no_warp_ns) \
    X(outside_ns) \
    X(start_ns) \
    X(block_ns) \
    X(warp_ns) \
    X(next_launch_ns) \
    X(code_ns_per_byte) \
    X(machine_per_ptx) \
    X(machine_per_branch) \
    X(issue_share) \
    X(tensor_group_share) \
    X(tensor_warp_share) \
    X(l1_share) \
    X(l2_bytes_s) \
    X(part_sector_ps) \
    X(l2_full_bytes_s) \
    X(dram_share) \
    X(l2_keeps_bytes) \
    X(copy_share) \
    X(reuse_power) \
    X(cycles_per_block) \
    X(cycles_per_instruction) \
    X(cycles_per_load) \
    X(cycles_per_shared) \
    X(cycles_per_barrier) \
    X(far_power) \
    X(path_norm) \
    X(norm)
#define PREDICT_CONSTANT(name) PREDICT_##name,
enum predict_constant { PREDICT_CONSTANTS(PREDICT_CONSTANT) PREDICT_CONSTANT_COUNT };

/* Kinds of instructions. A kernel may have more of one than the rows to which the model was fitted: X(name, counter of emu without its
 * prefix). */
#define PREDICT_KINDS(X) \
    X(f64, "warp_f64") \
    X(special, "warp_special") \
    X(local, "warp_load_local") \
    X(atomic, "warp_atomic") \
    X(generic, "warp_generic") \
    X(other, "warp_other")
#define PREDICT_KIND(name, counter) PREDICT_KIND_##name,
enum predict_kind { PREDICT_KINDS(PREDICT_KIND) PREDICT_KIND_COUNT };

enum predict_unit { UNIT_ISSUE, UNIT_TENSOR, UNIT_L1, UNIT_L2, UNIT_DRAM, UNIT_LATENCY, UNIT_START, UNIT_COUNT };
extern const char *const predict_unit_names[UNIT_COUNT]; /* "issue slots", "tensor pipe", ... */

struct chip_model {
    char chip[64];
    double constant[PREDICT_CONSTANT_COUNT];
    double seen[PREDICT_KIND_COUNT];          /* the largest share of all instructions among the rows behind the model */
    int rows;                                 /* that were held out */
    double median, p90;                       /* their error: max(predicted / measured, measured / predicted) - 1 */
    double low[UNIT_COUNT], high[UNIT_COUNT]; /* measured / predicted, 10th and 90th percentile by limiter */
    char held_out[160];                       /* what was held out, in words */
};
/* NULL with an error if the file is missing or wrong. Free with free(). */
struct chip_model *chip_model_load(const char *chip, struct error *err);

/* What one launch does. Counts are totals of the launch; what is not known is 0. */
struct predict_counts {
    double blocks, warps_per_block, blocks_per_sm, registers, code_bytes;
    double resident; /* blocks that the chip holds at once, where clusters make it fewer than its SMs hold; 0: no clusters */
    double instructions, machine_more, branches, requests_ld, first_sectors, waves, sectors_ld, sectors_st, sectors_st_part, sectors_async,
        shared_wavefronts, shared_loads, barriers;
    double path_fixed;                  /* of path_l2: what blocks of unequal work have in common */
    double path_l1, path_l2, path_dram; /* cycles of each block alone on an SM, if what a warp reads first came from there */
    double tensor_macs, kind[PREDICT_KIND_COUNT];
    double read_bytes, written_bytes;                               /* distinct */
    double unequal_sm, unequal_place, unequal_blocks, unequal_busy; /* of unequal blocks: device/chip/dispatch */
    double kept_bytes; /* of read_bytes: the launch before wrote them, and L2 still holds them */
    bool groups;       /* warp-group matrix instructions */
    bool takes;        /* its blocks may take work from a counter, one after the other */
    int math;          /* whose tensor rate applies */
};
struct prediction {
    double ns;               /* NaN: none */
    double low_ns, high_ns;  /* 80 % or more of the rows that were held out lie between; ns does */
    enum predict_unit limit; /* the unit that sets it */
    double unit_ns[UNIT_COUNT];
    int step;                /* of several launches the longest: whose limit and shares these are */
    double step_ns;          /* its time */
    double busy[UNIT_COUNT]; /* share of its peak at which the unit works, 0 to 1 */
    double shared_busy;      /* of L1: by shared memory alone */
    double sm_busy;          /* share of the SMs' time in which they have a block */
    double alone_ns;         /* of the latency: blocks that follow each other in one place, without their launch */
    double resident;         /* blocks in an average cycle of an SM that has one, as a share of those that fit */
    double waits;            /* share of a warp's time in which it waits for global data; NaN: not known */
    double longer;           /* other than 0: what the shares are, if the time is ns times this */
    char why[160];           /* why there is none */
};
/* One launch. */
void predict_launch(const struct chip_model *m, const struct chip *chip, const struct predict_counts *c, struct prediction *out);
/* Adds a further launch of the same row to *sum; the limiter is that of the longest. */
void predict_add(const struct chip_model *m, struct prediction *sum, const struct prediction *next);
