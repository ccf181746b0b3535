/* gate/asked: which rows of a comparison --layer and --only ask for, and whether one of the sides has what they name. */
#pragma once

#include "base/glob_list.h"
#include "gate/side.h"

struct gate_asked {
    struct glob_list layers, only;
};
/* Both texts as the options have them; NULL: not given. */
bool gate_asked_parse(const char *layers, const char *only, struct gate_asked *asked, struct error *err);
void gate_asked_free(struct gate_asked *asked);
/* True if the row belongs to the selected layers and variants. A baseline's row has only its id. */
bool gate_asked_takes(const struct gate_asked *asked, const struct gate_entry *e);
/* Checks that each word of --only selects a row of at least one side. If one side lacks a variant, a layer or a scenario, the other
 * side's rows are MISSING or NEW; if neither side has the name, returns the error of the plan. */
bool gate_asked_check(const struct gate_asked *asked, const struct gate_side *base, const struct gate_side *head, struct error *err);
