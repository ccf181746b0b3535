/* measure/time/group: rows of one case that are timed together in one worker. */
#ifndef BENCH_MEASURE_TIME_GROUP_H
#define BENCH_MEASURE_TIME_GROUP_H

#include "measure/rig/buffer_pool.h"
#include "measure/time/sample.h"
#include "measure/trust/prefetch.h"
#include "measure/time/gpu_monitor.h"
#include "measure/time/estimates.h"
#include "measure/trust/verifier.h"

struct timing_context {
    struct job *job;
    struct data_store *data;
    const struct vendor_library *library;
    struct build_cache *builds;
    const struct first_launches *first;
    struct prefetch *prefetch;
    struct sequence *sequence;
    struct board board;
};

/* Two builds of rows that are compared (pairs). Rows are plan rows. */
struct pair_of_rows {
    int base, head;
    double margin;
};
struct pair_request {
    struct pair_of_rows *pairs;
    int count, library; /* library: -1: none */
    double alpha, budget_s;
};
struct timing_request {
    const int *rows; /* of one case */
    int count;
    const int *next; /* rows of the next case, which may be prepared meanwhile; NULL: none */
    int next_count;
    const struct pair_request *pairs; /* NULL: each row by itself */
};
/* Times the rows of a case and reports them. *blame: the plan row that was running when it failed, -1: none. */
bool timing_run(struct timing_context *timing, const struct timing_request *request, int *blame, struct error *err);
/* The same for a search: the configurations of each variant race against each other, with the library's rows in every round. */
bool timing_race(struct timing_context *timing, const int *rows, int count, int *blame, struct error *err);

/* Did a row of the tail (sample.h) run as one in all that was timed? */
enum group_pace { PACE_UNKNOWN, PACE_TAIL, PACE_FAST };
struct timing_group {
    struct timing_context *timing;
    int count;         /* rows */
    int *index;        /* plan row of each */
    struct row **rows; /* what is reported */
    struct build *builds;
    struct rig **rigs; /* NULL: not on the device */
    enum group_pace *pace;
    struct buffer_pool *pool; /* the buffers that all of them stand on; NULL: each has its own, and one set of inputs */
    bool warms;               /* what is timed first is warmed up on every set of inputs: on the further ones those launches are checked */
    int blame;                /* plan row that was running, -1 = none */
};
/* group.c */
void timing_open(struct timing_group *b, struct timing_context *timing, const int *rows, int count);
/* Reports every row when `ok`, closes rigs, frees. */
void timing_close(struct timing_group *b, bool ok);
/* Loads row i, runs what it prepares, finds the library's fastest plan; runs and checks it on every set of inputs, so that timed launches
 * can be compared with it: the row's status says how that went. If the group warms, only on the first; see timing_recheck. */
bool timing_enter(struct timing_group *b, int i, struct error *err);
/* The library's fastest plan for each of row i's steps that has some, prepared and recorded in the row. */
bool timing_plans(struct timing_group *b, int i, struct error *err);
/* The data of row i in a set of inputs; set 0 is the case's own. */
bool timing_data(struct timing_group *b, int i, int set, struct op_data **data, struct error *err);
/* A checked launch, on a set of inputs that was fed. */
bool timing_try(struct timing_group *b, int i, int set, const struct op_data *data, struct error *err);
/* Compares the output that is there; a row that fails is WRONG or UNSAFE with the reason and `when`. */
bool timing_check(struct timing_group *b, int i, const struct op_data *data, const char *when, struct error *err);
bool timing_is_sound(const struct timing_group *b, int i);
/* When the check came: at the first launch on a set of inputs. */
const char *timing_first_on(int set);
/* sample_watch: a row begins. context: the group. */
void timing_announce(void *context, int candidate);
/* recheck.c */
/* sample_watch: checks what a timed launch left, and the first on a set of inputs. context: the group. */
bool timing_recheck(void *context, int candidate, int set, enum rig_left left, bool *right, struct error *err);
/* Once more after the timed loop, where no kernel can foresee it: inputs of the last set, on the last output replica; and on a set on which
 * no launch was checked. A row of the tail, each of whose timed launches left the sums of a verified one, launches no more: only what it
 * keeps in its module is checked. */
bool timing_check_again(struct timing_group *b, int i, struct error *err);
/* Two builds of rows against each other, until each pair is decided (pairs.c). */
bool timing_pairs(struct timing_group *b, const struct pair_request *request, struct error *err);
/* The frames of rows of a sequence, one row after another (sequence_time.c). */
bool timing_sequence(struct timing_group *b, struct error *err);

#endif
