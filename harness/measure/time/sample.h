/* measure/time/sample: times several rigs interleaved on one device with events. Only for a device that keeps time.
 *
 * A round runs every candidate once, in random order; the next round uses the reverse order, so drift cancels in pairs and no candidate
 * always follows the same one. All candidates of a round use the same input set and output replica (measure/rig/buffer_pool.h), drawn at
 * random; the warm-up visits all of them, first the sets on which nothing has run yet.
 *
 * Isolated: bench poisons the row's outputs and runs its prepare steps; the GPU rests, so that no row pays for the row before it; then,
 * without a pause, flush (write, then read back, 2x L2), event, the row's launches, event. A stream-blocking kernel runs before the
 * first event until the host has queued everything, so no launch gap is timed, however long a library's call takes. Warm: an untimed run
 * on the same buffers, which are then poisoned, replaces the flush. A sample that began at a lower clock than that of an idle GPU is
 * taken again.
 *
 * Sustained: a graph of back-to-back runs that change sets and replicas, time divided by their number.
 *
 * bench compares the outputs of every timed launch (of a graph: the last one on each replica) with those of a verified launch on the
 * same set; the watch checks outputs that differ. */
#pragma once

#include "base/error.h"
#include "measure/rig/rig.h"
#include "base/stats/estimate.h"
#include <stdbool.h>

#define SAMPLE_REPLICAS_MOST 4
struct sample_candidate {
    struct rig *rig;
    bool control;                   /* an A/A control of another candidate with this rig: runs another copy of the code (rig_use_code) */
    double *samples_ns;             /* by round, malloc'd by sample_run; NAN: no sample in this round */
    double *clock_hz;               /* by round, of isolated samples: the SM clock before the sample; NAN: unknown */
    double **step_ns;               /* by program step, then round of the step pass; NULL if the row has one run step */
    int step_rounds;                /* kept in step_ns */
    double host_ns;                 /* median wall time of queueing all run steps */
    int batch;                      /* runs in a sustained sample; 1 otherwise */
    int retaken, kept_low;          /* samples taken again because they began at a low clock; samples kept in spite of a low clock */
    int unheld;                     /* samples that began before everything was queued: the row's calls wait for the GPU, so bench stops
                                       blocking the stream */
    bool tail;                      /* so much slower than the fastest that it takes part only in the first rounds */
    bool out;                       /* it wrote wrong outputs and takes no further part */
    int last[SAMPLE_REPLICAS_MOST]; /* sustained: the set of the last run on each replica */
};
/* How long the GPU rests before an isolated sample: enough to restore the clock of an idle GPU. */
#define SAMPLE_SPACING_NS 300000
#define SAMPLE_UNHELD_MOST 3
struct sample_plan {
    bool warm, sustained;
    int rounds_min, rounds_max;
    double half_width; /* required precision of every candidate's ratio to candidate 0; see enough */
    double budget_s;   /* excluding the time of the tail */
    int warmup_rounds;
    long spacing_ns;    /* rest before each isolated sample */
    int step_rounds;    /* extra rounds with events between steps, for rows with several steps; 0 = none */
    int sets, replicas; /* that the rigs have; 0: one */
    uint64_t seed;      /* of all that is drawn */
    /* If set, sampling ends when this returns true after a round, instead of at half_width, and no row is moved to the tail. NULL:
     * half_width. */
    bool (*enough)(void *context, const struct sample_candidate *candidates, int rounds);
    void *context;
};
struct sample_result {
    int rounds;     /* kept */
    bool converged; /* the half width was reached */
    double seconds;
    int *places;                /* by round: set * replicas + replica (0 if sustained); malloc'd, as are */
    double *power_w, *throttle; /* by round: measured after it; NAN: unknown */
};
struct sample_watch {
    void *context;
    /* Receives the candidate that is about to run (-1: all of them, interleaved), so that a crash can be attributed. Called before its
     * first run, and before its first run on each input set. */
    void (*announce)(void *context, int candidate);
    /* Called if a launch on `set` (which the rig has selected) left other bits than the verified launch, or is the first on this set.
     * *right: its output is right. NULL: not checked. */
    bool (*doubt)(void *context, int candidate, int set, enum rig_left left, bool *right, struct error *err);
    /* Called after each round, while nothing runs: the board's power and its throttle reasons (bits, device/chip/throttle.h); both are NAN
     * before the call. NULL: not read. */
    void (*sense)(void *context, double *power_w, double *throttle);
};
/* Its arrays. */
void sample_result_free(struct sample_result *result);
bool sample_run(struct device *dev, struct sample_candidate *candidates, int count, const struct sample_plan *plan,
                const struct sample_watch *watch, struct sample_result *result, struct error *err);
/* Takes one round of a search that itself decides which candidates run next (measure/time/race): isolated, cold, in the order of round
 * `round`. All candidates must have run before. */
bool sample_round(struct device *dev, struct rig *const *rigs, int count, int round, double *ns, struct error *err);
/* The median device time of all prepare steps of the rig together, cold; they must be repeatable. */
bool sample_prepare(struct device *dev, struct rig *rig, int rounds, double *median_ns, struct error *err);
void sample_candidate_free(struct sample_candidate *candidate, int step_count);
/* Times each plan of a library step by itself (cold, rested, interleaved, up to `rounds` each) and uses the fastest. A plan is dropped when
 * it is four times as slow as the fastest after one round, 1.5 times after two, 4 % slower after seven; medians_ns (rig_plan_count of them)
 * may be NULL. */
bool sample_plans(struct device *dev, struct rig *rig, int step, int rounds, double *medians_ns, struct error *err);
