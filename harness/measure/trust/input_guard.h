/* measure/trust/input_guard: checks bench's own memory on the device, which holds the input values of all rows of a case. No row gets a
 * pointer to it, but a stray write may hit it and would make every later row wrong. */
#pragma once

#include "measure/verify/data.h"

/* *touched becomes true if a row wrote to them; bench then drops the data and makes them anew for the next row. */
bool guard_case(struct data_store *d, int in_case, bool *touched, struct error *err);
/* The same for data outside the store: only the device's copy is dropped. */
bool guard_data(struct op_data *data, bool *touched, struct error *err);
/* Marks the row that did it as unsafe. */
void guard_blame(struct row *row);
