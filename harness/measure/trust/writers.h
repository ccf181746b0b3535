/* measure/trust/writers: which blocks of a launch write certain sectors of a buffer, learnt from a few of its blocks. */
#pragma once

#include "measure/rig/rig.h"

/* Appends groups of the step to the sample: those that may write a sector of the buffer at this address whose `open` is not 0. False: none
 * was found. Runs groups one by one. all: tries all groups if necessary. *cost: the approximate cost of the appended groups
 * (blocks_cost_of), which may exceed `most`. */
bool writers_of(struct device *dev, struct rig *rig, int step, uint64_t address, const uint8_t *open, size_t sectors, bool all, double most,
                double *cost, struct device_sample *sample);
