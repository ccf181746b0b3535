/* measure/time/group: rows of one case that are timed together in one worker. */
#pragma once

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

/* Two builds that are compared, as a pair of plan rows. */
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
    const int *next;                  /* rows of the next case, which a thread may prepare meanwhile; NULL: none */
    int next_count, due;              /* due: of next, first: not verified yet */
    const struct pair_request *pairs; /* NULL: each row by itself */
};
/* Times the rows of a case and reports them. *blame: the plan row that was running when it failed, -1: none. */
bool timing_run(struct timing_context *timing, const struct timing_request *request, int *blame, struct error *err);
/* The same for a search: the configurations of each variant race against each other, with the library's rows in every round. */
bool timing_race(struct timing_context *timing, const int *rows, int count, int *blame, struct error *err);

/* Was each of the row's timed launches summed, and compared with a verified one? */
enum group_looks { LOOKS_UNKNOWN, LOOKS_EACH, LOOKS_FEW };
struct timing_group {
    struct timing_context *timing;
    int count;         /* rows */
    int *index;        /* plan row of each */
    struct row **rows; /* the rows to report */
    struct build *builds;
    struct rig **rigs; /* NULL: not on the device */
    enum group_looks *looks;
    struct buffer_pool *pool; /* the buffers that all rows use; NULL: each row has its own buffers and one input set */
    bool warms;               /* the first measurement warms up on every input set, and checks the first launch on each */
    int blame;                /* plan row that was running, -1 = none */
};
/* group.c */
void timing_open(struct timing_group *b, struct timing_context *timing, const int *rows, int count);
/* Reports every row when `ok`, closes rigs, frees. */
void timing_close(struct timing_group *b, bool ok);
/* Loads row i, runs its prepare steps, finds the library's fastest plan; runs and checks it on every input set, so that timed launches
 * can be compared with a verified one. The row's status holds the verdict. If the group warms, only a library's row runs here, on the first
 * set; see timing_recheck. */
bool timing_enter(struct timing_group *b, int i, struct error *err);
/* Prepares and records in the row the library's fastest plan of each of row i's steps that has several. */
bool timing_plans(struct timing_group *b, int i, struct error *err);
/* The data of row i in a set of inputs; set 0 is the case's own. */
bool timing_data(struct timing_group *b, int i, int set, struct op_data **data, struct error *err);
/* Launches and checks row i on an input set that was fed. */
bool timing_try(struct timing_group *b, int i, int set, const struct op_data *data, struct error *err);
/* Compares the current output; a row that fails becomes WRONG or UNSAFE with the reason and `when`. */
bool timing_check(struct timing_group *b, int i, const struct op_data *data, const char *when, struct error *err);
bool timing_is_sound(const struct timing_group *b, int i);
/* The text for a check at the first launch on an input set. */
const char *timing_first_on(int set);
/* sample_watch: a row begins. context: the group. */
void timing_announce(void *context, int candidate);
/* recheck.c */
/* sample_watch: checks the outputs of a timed launch, and the first launch on a set of inputs. context: the group. */
bool timing_recheck(void *context, int candidate, int set, enum rig_left left, bool *right, struct error *err);
/* Checks once more after the timed loop, where no kernel can predict it: the last input set, on the last output replica; and every set
 * on which no launch was checked. A row whose timed launches all matched the sums of a verified launch is not launched again: only its
 * module variables are checked. */
bool timing_check_again(struct timing_group *b, int i, struct error *err);
/* Times two builds of rows against each other until each pair is decided (pairs.c). */
bool timing_pairs(struct timing_group *b, const struct pair_request *request, struct error *err);
/* Times the frames of rows of a sequence, one row after another (sequence_time.c). */
bool timing_sequence(struct timing_group *b, struct error *err);
