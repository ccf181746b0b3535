/* measure/time/sample: times several rigs interleaved on one device with events. Only for a device that keeps time.
 *
 * One round visits every candidate once, in a random order, the next one in the reverse of it: drift cancels in pairs, and nobody always
 * follows the same neighbour. All of a round have the same set of inputs and the same replica (measure/rig/buffer_pool.h), drawn for it;
 * the warm-up goes through all of them, beginning with the sets on which nothing was launched yet.
 *
 * Isolated: what the row writes is poisoned and what it prepares is made; the GPU rests, so that no row pays for its neighbour's group;
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

#define SAMPLE_SEATS_MOST 4
struct sample_candidate {
    struct rig *rig;
    bool control;                /* of another candidate with this rig: it runs other code than that where it sits (rig_use_code) */
    double *samples_ns;          /* by round, malloc'd by sample_run; NAN: it took no part */
    double *clock_hz;            /* by round, of isolated samples: the SMs' clock before it began; NAN: not known */
    double **step_ns;            /* by program step, then round of the step pass; NULL when the row has one run step */
    int step_rounds;             /* kept in step_ns */
    double host_ns;              /* median wall time of queueing all run steps */
    int batch;                   /* runs in a sustained sample; 1 otherwise */
    int retaken, kept_low;       /* samples taken again because they began at a low clock; kept although */
    int unheld;                  /* samples that began before all was queued: its calls wait for the GPU, and are no longer held */
    bool tail;                   /* so much slower than the fastest that it took part in the first rounds only */
    bool out;                    /* it left something wrong: no part in further rounds */
    int last[SAMPLE_SEATS_MOST]; /* sustained: the set of the last run on each replica */
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
    /* Which candidate is about to run (-1: all, in turns), so that a death can be blamed: before its first run, also on a set of inputs. */
    void (*announce)(void *context, int candidate);
    /* A launch of `set`, on which the rig sits, did not leave the bits of the verified one, or is the first there: is it right? NULL: it
     * does not matter. */
    bool (*doubt)(void *context, int candidate, int set, enum rig_left left, bool *right, struct error *err);
    /* Behind each round, while nothing runs: the board's power, and why its clock was held down (bits, device/chip/throttle.h); both are
     * NAN before the call. NULL: nobody asks. */
    void (*sense)(void *context, double *power_w, double *throttle);
};
/* Its arrays. */
void sample_result_free(struct sample_result *result);
bool sample_run(struct device *dev, struct sample_candidate *candidates, int count, const struct sample_plan *plan,
                const struct sample_watch *watch, struct sample_result *result, struct error *err);
/* One round of a search that decides by itself who runs in the next (measure/race): isolated, cold, in the order of round `round`; all have
 * run before. */
bool sample_round(struct device *dev, struct rig *const *rigs, int count, int round, double *ns, struct error *err);
/* Median device time of the rig's prepare steps together, cold; they may run again. */
bool sample_prepare(struct device *dev, struct rig *rig, int rounds, double *median_ns, struct error *err);
void sample_candidate_free(struct sample_candidate *candidate, int step_count);
/* Times each plan of a library step by itself (cold, rested, interleaved, `rounds` each; who is four times as slow as the fastest after
 * one, half as slow again after two, 4 % slower after seven, no more than these) and uses the fastest; medians_ns (rig_plan_count of them)
 * may be NULL. */
bool sample_plans(struct device *dev, struct rig *rig, int step, int rounds, double *medians_ns, struct error *err);

#endif
