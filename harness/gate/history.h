/* gate/history: one number of a row over all runs that have it: where it changed, and how far it drifted within the margin since a
 * release. */
#pragma once

#include "gate/side.h"
#include "report/form/document.h"
#include "base/stats/change.h"

struct history_point {
    const struct gate_side *side; /* of one run */
    const struct gate_entry *entry;
    double value, low, high; /* low, high: NAN where it is exact or not known */
};
struct history {
    const char *id, *what, *unit;
    bool exact;                   /* a count: whatever differs is a change */
    struct history_point *points; /* in the order of the runs */
    int count;
    int repeats; /* runs left out, as the run before had the same revision, launches and count */
    struct change_point *changes;
    int change_count;
    double margin;
    int release;      /* the first entry of the release that the last entry is compared with; -1: none */
    int release_last; /* its last */
};
/* Orders runs by the commit of their kernels, and those of one commit by their number, because a gate may run an old revision again.
 * `commits`: "POSITION:SHA ..." in the order of the history, for the revisions that git knows; NULL: none. Other revisions come in the
 * order of their first runs. */
void history_order(struct gate_side *sides, int count, const char *commits);
/* `sides`: runs in order; a run need not have the row. `what`: "time", or the name of a fact (gate_kinds); NULL: the time if the last run
 * has one, else the instructions. `release`: the revision or number of a run; NULL: none. Borrows the sides. */
bool history_make(const struct gate_side *sides, int count, const char *id, const char *what, double margin, const char *release,
                  struct history *h, struct error *err);
void history_free(struct history *h);
/* The change from the release's level to that of the last entry: 0.02 is 2 % more; NAN without a release. */
double history_drift(const struct history *h);
/* The largest change since then, as a share. */
double history_largest_step(const struct history *h);
void history_document(struct document *d, const struct history *h);
/* DIR/plots/01_history.svg, with its data and script. *problem (malloc'd; NULL): why it was not drawn. */
bool history_plot(const struct history *h, const char *dir, char **problem, struct error *err);
