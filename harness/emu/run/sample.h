/* emu/run/sample: what single groups of a launch count. */
#pragma once

#include "emu/exec.h"

/* Keeps what the group that just ran added to the runner's counts. */
void sample_take(struct runner *k, struct device_group *g);
/* Gives a launch without runners one whose counts are the sums of the groups' counts, times their weights. Free with launch_free. */
void sample_weigh(struct launch *l, const struct device_sample *sample);
