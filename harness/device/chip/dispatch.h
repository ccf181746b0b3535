/* device/chip/dispatch: which SM has the most work, and which place of a block ends last, when the blocks of a launch do unequal work.
 * Blocks go out in the order of their numbers, each to the SM that has the most room at the time. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct dispatch {
    double sm_work;                  /* until the last block ends, if SMs work without a pause and their blocks share them: that of an SM */
    double busy;                     /* share of that time in which an SM has a block, in the mean */
    double place_work, place_blocks; /* of the blocks that follow each other in the place that ends last, if each takes its own time */
};
/* The work of each block, on `sms` SMs with `places` places each. `each`: what a block costs in addition to its work. False: all blocks do
 * the same work, so there is nothing to compute. */
bool dispatch_blocks(const uint32_t *work, uint64_t blocks, int sms, int places, double each, struct dispatch *out);
