/* run/message/options: what a run was asked for, on its way to a worker: the parent and each worker make the same plan of it. One table for
 * both directions. */
#ifndef BENCH_MESSAGE_OPTIONS_H
#define BENCH_MESSAGE_OPTIONS_H

#include "plan/rows/plan.h"
#include <jansson.h>

/* New reference. */
json_t *options_write(const struct plan_options *options);
/* Texts stay the JSON's, which must live as long; lists are freed with options_free. */
void options_read(const json_t *json, struct plan_options *options);
void options_free(struct plan_options *options);

#endif
