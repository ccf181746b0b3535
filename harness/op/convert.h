/* op/convert: whole rows of float to and from a tensor's element type, each value rounded once (to nearest even).
 *
 * Same results as dtype_get / dtype_set, a hundred times faster for f16: tensors have tens of millions of elements. */
#pragma once

#include "base/dtype.h"

void convert_to_float(enum dtype t, const void *from, float *to, size_t count);
void convert_from_float(enum dtype t, const float *from, void *to, size_t count);
/* Rounds each value to what the type can hold. */
void convert_round(enum dtype t, float *values, size_t count);
