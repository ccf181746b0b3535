/* run/message/options: the options of a run as JSON for a worker: the parent and each worker make the same plan from them. One table
 * serves both directions. */
#pragma once

#include "plan/rows/plan.h"
#include <jansson.h>

/* New reference. */
json_t *options_write(const struct plan_options *options);
/* Texts belong to the JSON, which must live as long; free lists with options_free. */
void options_read(const json_t *json, struct plan_options *options);
void options_free(struct plan_options *options);
