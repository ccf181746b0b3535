/* op/chain/private: what the files of chains share. */
#pragma once

#include "op/chain/chain.h"

/* Hooks of struct op. chain_data_inputs makes no masks: op_data_inputs adds them. chain_data_whole is chain_data_make without a maker. */
bool chain_data_inputs(const struct work *work, bool reserve, struct op_data *out, struct error *err);
bool chain_data_whole(const struct work *work, enum data_part part, struct op_data *out, struct error *err);
/* Adds a link's own errors: the mean over the (active) pixels of its bound, and of one rounding of what it stores. */
void chain_errors_add_own(struct chain_errors *e, const struct work *w, int64_t n, const struct op_values *of, const float *active);
