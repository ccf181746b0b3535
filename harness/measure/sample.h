/* measure/sample: times several rigs interleaved on one device with events (decision 6). Only for a device that keeps time.
 *
 * One round visits every entrant once, in a seeded random order, the next one in the reverse of it: drift cancels in pairs, and nobody
 * always follows the same neighbour. A round begins with an untimed run, because the first one after the host waited reads some percent
 * off. Isolated, cold: flush (write, then read back, 2x L2), event, the row's launches, event; the flush keeps the GPU busy while the host
 * queues what follows, so no launch gap falls inside. Isolated, warm: an untimed run takes the flush's place. Sustained: a graph of
 * back-to-back runs, time divided by their number. */
#ifndef BENCH_MEASURE_SAMPLE_H
#define BENCH_MEASURE_SAMPLE_H

#include "base/error.h"
#include "measure/rig.h"
#include "statistics/estimate.h"
#include <stdbool.h>

struct entrant {
    struct rig *rig;
    double *samples_ns; /* by round, malloc'd by sample_run */
    double **step_ns;   /* by program step, then round of the step pass; NULL when the row has one run step */
    int step_rounds;    /* kept in step_ns */
    double host_ns;     /* median wall time of queueing all run steps */
    int batch;          /* runs in a sustained sample; 1 otherwise */
};
/* How long the GPU rests before an isolated sample: enough for the clock of a rested card, so that no row pays for its neighbour's heat. */
#define SAMPLE_SPACING_NS 300000
struct sample_plan {
    bool warm, sustained;
    int rounds_min, rounds_max;
    double half_width; /* of every entrant's ratio to entrant 0 */
    double budget_s;
    int warmup_rounds;
    long spacing_ns; /* rest before each isolated sample */
    int step_rounds; /* extra rounds with events between steps, for rows of several; 0 = none */
};
struct sample_result {
    int rounds;     /* kept */
    bool converged; /* the half width was reached */
    double seconds;
};
/* Announces which entrant is about to run, so that a death can be blamed: called before each entrant's first warm-up run. */
typedef void sample_announce(void *context, int entrant);
bool sample_run(struct device *dev, struct entrant *entrants, int count, const struct sample_plan *plan, sample_announce *announce,
                void *context, struct sample_result *result, struct error *err);
/* One round of a search that decides by itself who runs in the next (measure/race): isolated, cold, in the order of round `round`; all have
 * run before. */
bool sample_round(struct device *dev, struct rig *const *rigs, int count, int round, double *ns, struct error *err);
/* Median device time of the rig's prepare steps together, cold; they may run again. */
bool sample_prepare(struct device *dev, struct rig *rig, int rounds, double *median_ns, struct error *err);
void entrant_free(struct entrant *entrant, int step_count);
/* Times each plan of a library step by itself (cold, `rounds` each, interleaved) and uses the fastest; medians_ns (rig_plan_count of them)
 * may be NULL. */
bool sample_plans(struct device *dev, struct rig *rig, int step, int rounds, double *medians_ns, struct error *err);

#endif
