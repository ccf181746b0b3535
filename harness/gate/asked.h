/* gate/asked: which rows of a comparison --layer and --only ask for, and whether one of the sides has what they name. */
#ifndef BENCH_GATE_ASKED_H
#define BENCH_GATE_ASKED_H

#include "base/glob_list.h"
#include "gate/side.h"

struct gate_asked {
    struct glob_list layers, only;
};
/* Both texts as the options have them; NULL: not given. */
bool gate_asked_parse(const char *layers, const char *only, struct gate_asked *asked, struct error *err);
void gate_asked_free(struct gate_asked *asked);
/* True for a row of the layers and variants that were asked for. Of a baseline's row only the id is known. */
bool gate_asked_takes(const struct gate_asked *asked, const struct gate_entry *e);
/* Each word of --only selects a row of one side at least. A variant that one side lacks has rows on the other side, which are
 * then MISSING or NEW; for a name that neither has, the error is the one that the plan gave. */
bool gate_asked_check(const struct gate_asked *asked, const struct gate_side *base, const struct gate_side *head, struct error *err);

#endif
