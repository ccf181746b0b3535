/* measure/time/sample: times several rigs interleaved on one device with events. Only for a device that keeps time.
 *
 * A round runs every candidate once, in random order; the next round uses the reverse order, so drift cancels in pairs and no candidate
 * always follows the same one. All candidates of a round use the same input set and output replica (measure/rig/buffer_pool.h), drawn at
 * random; the warm-up visits all of them, first the sets on which nothing was launched yet.
 *
 * Isolated: what the row writes is poisoned and what it prepares is made; the GPU rests, so that no row pays for the row before it;
 * then, without a pause, flush (write, then read back, 2x L2), event, the row's launches, event. The stream is held before the first event
 * until the host has queued all of it, so no launch gap falls inside, however long a library's call takes. Warm: an untimed run on the same
 * buffers, and their poison, take the flush's place. A sample that began at a lower clock than a rested card holds is taken again.
 * Sustained: a graph of back-to-back runs that change sets and replicas, time divided by their number.
 *
 * What every timed launch left (of a graph: the last one on each replica) is compared with what a verified launch of the same set left; the
 * watch decides about what differs. */
#ifndef BENCH_MEASURE_TIME_SAMPLE_H
#define BENCH_MEASURE_TIME_SAMPLE_H

#include "base/error.h"
#include "measure/rig/rig.h"
#include "base/stats/estimate.h"
#include <stdbool.h>

#define SAMPLE_REPLICAS_MOST 4
struct sample_candidate {
    struct rig *rig;
    bool control;                   /* of another candidate with this rig: it runs other code than that where it sits (rig_use_code) */
    double *samples_ns;             /* by round, malloc'd by sample_run; NAN: it took no part */
    double *clock_hz;               /* by round, of isolated samples: the SMs' clock before it began; NAN: not known */
    double **step_ns;               /* by program step, then round of the step pass; NULL when the row has one run step */
    int step_rounds;                /* kept in step_ns */
    double host_ns;                 /* median wall time of queueing all run steps */
    int batch;                      /* runs in a sustained sample; 1 otherwise */
    int retaken, kept_low;          /* samples taken again because they began at a low clock; kept although */
    int unheld;                     /* samples that began before all was queued: its calls wait for the GPU, and are no longer held */
    bool tail;                      /* so much slower than the fastest that it took part in the first rounds only */
    bool out;                       /* it left something wrong: no part in further rounds */
    int last[SAMPLE_REPLICAS_MOST]; /* sustained: the set of the last run on each replica */
};
/* How long the GPU rests before an isolated sample: enough for the clock of a rested card. */
#define SAMPLE_SPACING_NS 300000
#define SAMPLE_UNHELD_MOST 3
struct sample_plan {
    bool warm, sustained;
    int rounds_min, rounds_max;
    double half_width; /* of every candidate's ratio to candidate 0; see enough */
    double budget_s;   /* without what the tail takes */
    int warmup_rounds;
    long spacing_ns;    /* rest before each isolated sample */
    int step_rounds;    /* extra rounds with events between steps, for rows of several; 0 = none */
    int sets, replicas; /* that the rigs have; 0: one */
    uint64_t seed;      /* of all that is drawn */
    /* Asked after every round instead of whether half_width is reached, and then nobody is of the tail; NULL: that is. */
    bool (*enough)(void *context, const struct sample_candidate *candidates, int rounds);
    void *context;
};
struct sample_result {
    int rounds;     /* kept */
    bool converged; /* the half width was reached */
    double seconds;
    int *places;                /* by round: set * replicas + replica (0 when sustained); malloc'd, as are */
    double *power_w, *throttle; /* by round: what was sensed behind it; NAN: not known */
};
struct sample_watch {
    void *context;
    /* The candidate that is about to run (-1: all of them, in turn), so that a crash can be attributed. Called before its first run, and
     * before its first run on each input set. */
    void (*announce)(void *context, int candidate);
    /* A launch on `set` (the rig has it selected) left other bits than the verified launch, or is the first there. *right: its output is
     * right. NULL: not checked. */
    bool (*doubt)(void *context, int candidate, int set, enum rig_left left, bool *right, struct error *err);
    /* Called after each round, while nothing runs: the board's power and its throttle reasons (bits, device/chip/throttle.h); both are NAN
     * before the call. NULL: not read. */
    void (*sense)(void *context, double *power_w, double *throttle);
};
/* Its arrays. */
void sample_result_free(struct sample_result *result);
bool sample_run(struct device *dev, struct sample_candidate *candidates, int count, const struct sample_plan *plan,
                const struct sample_watch *watch, struct sample_result *result, struct error *err);
/* One round of a search that itself decides which candidates run next (measure/time/race): isolated, cold, in the order of round `round`;
 * all candidates have run before. */
bool sample_round(struct device *dev, struct rig *const *rigs, int count, int round, double *ns, struct error *err);
/* Median device time of the rig's prepare steps together, cold; they may run again. */
bool sample_prepare(struct device *dev, struct rig *rig, int rounds, double *median_ns, struct error *err);
void sample_candidate_free(struct sample_candidate *candidate, int step_count);
/* Times each plan of a library step by itself (cold, rested, interleaved, up to `rounds` each) and uses the fastest. A plan is dropped when
 * it is four times as slow as the fastest after one round, 1.5 times after two, 4 % slower after seven; medians_ns (rig_plan_count of them)
 * may be NULL. */
bool sample_plans(struct device *dev, struct rig *rig, int step, int rounds, double *medians_ns, struct error *err);

#endif
