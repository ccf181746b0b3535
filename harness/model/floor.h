/* model/floor: the physical floor of a piece of work on a chip, and the roof with measured ceilings (decision 8). */
#ifndef BENCH_MODEL_FLOOR_H
#define BENCH_MODEL_FLOOR_H

#include "base/chip.h"
#include "base/roof.h"

enum floor_by { FLOOR_UNKNOWN, FLOOR_COMPUTE, FLOOR_MEMORY, FLOOR_LAUNCH };
struct floor {
    double ns; /* max of the three; 0 = not known */
    enum floor_by by;
    double compute_ns, memory_ns, launch_ns;
};
/* floor = max(flop / (rate of the math's pipe at maximum clock), bytes / peak DRAM bandwidth, launch). `math` is an enum math of
 * base/dtype.h, MATH_NONE for data movement; a math whose tensor pipe the chip lacks falls to f32 SIMT. cold: bytes come from DRAM; warm:
 * from L2 when they fit in it. */
struct floor floor_of(const struct chip *chip, double flop, double bytes, int math, int warm);
const char *floor_by_name(enum floor_by by); /* "tensor" is said by the caller; "compute", "memory", "launch" */

/* Measured ceilings of one machine, dated; 0 = not measured. */
struct ceilings {
    double copy_bytes_s, l2_bytes_s, shared_bytes_s;
    double flop_s[8]; /* by enum math */
    double launch_ns; /* an empty kernel, timed as rows are; 0: the floor's */
    char date[32];
};
struct ceilings ceilings_of(const struct roofs *roofs);
struct floor roof_of(const struct ceilings *c, double flop, double bytes, int math, int warm);

#endif
