/* measure/reference_private: what the files of measure/reference share. */
#ifndef BENCH_MEASURE_REFERENCE_PRIVATE_H
#define BENCH_MEASURE_REFERENCE_PRIVATE_H

#include "measure/reference.h"

/* Fills the references that are there from the op's function of Python; a magnitude that it returns is malloc'd. */
bool reference_python(const struct work *work, enum data_part part, struct op_data *data, double *magnitudes[OP_MAX_TENSORS],
                      struct error *err);

#endif
