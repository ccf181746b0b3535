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
 * for data movement; a math whose tensor pipe the chip lacks falls to f32 SIMT. cold: what is read comes from DRAM; warm: as much as the L2
 * holds may be there already. Either way as much as it holds of what is written may be there still when the kernel is timed as done. Of a
 * chip whose L2 is not known no write, and in warm nothing, is held against it. A launch has no figure in any data sheet: launch_ns is 0.
 */
struct floor floor_of(const struct chip *chip, const struct need *need, int math, bool warm);
/* The same of whatever pipe gives the accuracy of the math mode soonest: f32 also as three products of f16 parts, TF32 also as f16, whose
 * operands have as many bits. */
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
