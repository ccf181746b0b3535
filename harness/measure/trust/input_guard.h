/* measure/trust/input_guard: bench's own memory on the device, the values that all rows of a case are fed. No row has a pointer to them,
 * but a wild write may hit them, and then every later row would be wrong. */
#ifndef BENCH_MEASURE_TRUST_INPUT_GUARD_H
#define BENCH_MEASURE_TRUST_INPUT_GUARD_H

#include "measure/verify/data.h"

/* *touched becomes true if a row wrote to them; touched data are dropped, to be made anew for the next row. */
bool guard_case(struct data_store *d, int in_case, bool *touched, struct error *err);
/* The same for data outside the store: only the device's copy is dropped. */
bool guard_data(struct op_data *data, bool *touched, struct error *err);
/* The row that did it is unsafe. */
void guard_blame(struct row *row);

#endif
