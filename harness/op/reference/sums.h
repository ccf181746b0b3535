/* op/reference/sums: the convolutions' reference results, in double. Private to op/.
 *
 * Inputs are floats of at most 24 bits, so every product is exact in double, and the sums lose at most (terms) * 2^-53 of sum |x w|: nine
 * digits below what any GPU dtype can show. Sums run in a fixed order, whatever the machine and the number of threads: results are the
 * same bits. */
#pragma once

#include "op/op.h"

/* data->reach says where taps lie. */
void reference_sums_row(const struct work *work, const struct op_data *data, int64_t n_i, int64_t p_i, double *y, double *a);
