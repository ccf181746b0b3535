/* measure/trust/producers: which blocks of earlier kernels write what some blocks of the last kernel read.
 *
 * A row of several kernels that is too large to run whole is compared where a few blocks of its last kernel write. They need what blocks of
 * the kernels before it leave in scratch. Where a block writes is learnt from a few of them: along each axis of the grid, the first sector
 * that a block writes advances by equal steps, or by equal steps within stretches of equal length. What is found is then run and must have
 * written all that is read, so a wrong guess refuses a row and never judges one. */
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
/* Poisons the buffers between the kernels, and runs the groups of all but the last one. False (err): they did not write all that it reads.
 */
bool producers_run(struct device *dev, struct rig *rig, const struct producers *p, struct error *err);
/* After the last kernel ran, and the device was cleared before it: it read nothing else between the kernels than what was found. */
bool producers_sufficed(struct device *dev, struct rig *rig, const struct producers *p);
void producers_free(struct producers *p);
