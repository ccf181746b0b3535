/* measure/trust/producers: which blocks of earlier kernels write what some blocks of the last kernel read.
 *
 * If a row of several kernels is too large to run whole, bench compares what a few blocks of its last kernel write. These need what blocks
 * of the earlier kernels leave in scratch. bench learns from a few blocks where a block writes: along each axis of the grid, the first
 * sector that a block writes advances by equal steps, or by equal steps within stretches of equal length. It then runs the blocks that it
 * found, and they must have written everything that is read: a wrong guess refuses a row and never judges one. */
#pragma once

#include "measure/count/blocks.h"

struct producers {
    struct device_sample *steps; /* by step of the program: the groups to run; count 0: none */
    uint8_t **needs;             /* by buffer: sectors that some step reads and an earlier one writes; NULL: none */
    int step_count, buffer_count;
    int picked; /* groups of the last kernel that are served: the first ones of blocks.picked */
};
/* Runs groups of the rig's launches on an emu device that need not compute. Clears the device's counts. NULL, or why there are none. */
const char *producers_find(struct device *dev, struct rig *rig, const struct blocks *last, struct producers *found);
/* Poisons the buffers between the kernels, and runs the chosen groups of all kernels but the last. False (err): they did not write
 * everything that it reads.
 */
bool producers_run(struct device *dev, struct rig *rig, const struct producers *p, struct error *err);
/* After the last kernel ran, and the device was cleared before it: it read nothing else between the kernels than what was found. */
bool producers_sufficed(struct device *dev, struct rig *rig, const struct producers *p);
void producers_free(struct producers *p);
