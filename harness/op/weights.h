/* op/weights: a layer's weights that files have, in place of drawn ones: PREFIX.filter.npy, PREFIX.bias.npy, PREFIX.slopes.npy. */
#pragma once

#include "base/error.h"
#include "op/tensor.h"
#include "op/work.h"

/* True if the tensor is a filter, a bias or slopes. */
bool weights_tensor(const struct tensor *t);
/* Sets the work's weights, and the hash of their values. Each of its tensors must have a file of its shape. */
bool weights_take(struct work *work, const char *prefix, struct error *err);
/* Fills `to`, rounded to `type`. found: false where the work has drawn weights, or is another shape of the layer (a nearby one). */
bool weights_read(const struct work *work, const struct tensor *t, enum dtype type, float *to, bool *found, struct error *err);
