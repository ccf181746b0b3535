/* device/chip/floor: the physical floor of a piece of work on a chip, and the roof with measured ceilings. */
#pragma once

#include "device/chip/chip.h"
#include "device/chip/roof.h"
#include <stdbool.h>

enum floor_by { FLOOR_UNKNOWN, FLOOR_COMPUTE, FLOOR_MEMORY, FLOOR_LAUNCH };
struct floor {
    double ns; /* max of the three; 0 = not known */
    enum floor_by by;
    double compute_ns, memory_ns, launch_ns;
};
/* What cannot be left out (op/mask/min_work.h). */
struct need {
    double flop, read_bytes, write_bytes;
};
/* max(flop / (rate of the math's pipe at maximum clock), bytes / peak DRAM bandwidth). `math` is an enum math of base/dtype.h, MATH_NONE
 * for data movement; a math whose tensor pipe the chip lacks uses the f32 pipe. cold: reads come from DRAM; warm: L2 may already hold as
 * many of them as fit. In both cases L2 may still hold as many writes as fit when the kernel ends. If the L2 size of a chip is unknown,
 * writes do not count, nor do reads in warm. No data sheet states the time of a launch: launch_ns is 0.
 */
struct floor floor_of(const struct chip *chip, const struct need *need, int math, bool warm);
/* The same with the fastest pipe that gives the accuracy of the math mode: for f32 also three products of f16 parts, for TF32 also f16,
 * whose operands have as many bits. */
struct floor floor_least(const struct chip *chip, const struct need *need, int math, bool warm);
/* Any floor with a launch, whose cost was measured (0: it was not). */
struct floor floor_launched(struct floor floor, double launch_ns);
const char *floor_by_name(enum floor_by by); /* "tensor" is said by the caller; "compute", "memory", "launch" */

/* Measured ceilings of one machine, dated; 0 = not measured. */
struct ceilings {
    double copy_bytes_s, l2_bytes_s, shared_bytes_s;
    double flop_s[8];     /* by enum math */
    double launch_ns;     /* an empty kernel, timed as rows are */
    double graph_node_ns; /* one of many empty kernels in a graph: no launch costs less */
    char date[32];
};
struct ceilings ceilings_of(const struct ceiling_list *roofs);
struct floor roof_of(const struct ceilings *c, double flop, double bytes, int math, int warm);
