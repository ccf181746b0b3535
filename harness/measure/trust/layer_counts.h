/* measure/trust/layer_counts: emu's counts of a whole layer, of which only a part is verified. */
#ifndef BENCH_MEASURE_LAYER_COUNTS_H
#define BENCH_MEASURE_LAYER_COUNTS_H

#include "measure/rig/build.h"
#include "measure/job.h"

/* Runs blocks of the row's true launches on `counter`, an emu device that checks bounds only (opened here at first), and stores the counts
 * of the layer. *counted: false if they are not to be had from a part of the blocks; the row then has none, and its note says why. An
 * access out of bounds decides the row's status. */
bool layer_counts(const struct job *job, struct device **counter, int index, const struct build *build, struct row *row, bool *counted,
                  struct error *err);

#endif
