/* run/child/bout: rows of one case that are timed together in one worker; shared by time.c, pairs.c and race.c. */
#ifndef BENCH_WORKER_BOUT_H
#define BENCH_WORKER_BOUT_H

#include "measure/sample.h"
#include "run/child/private.h"

/* Was a row of the tail (sample.h) in all that was timed of it? */
enum bout_pace { PACE_UNKNOWN, PACE_TAIL, PACE_FAST };
struct bout {
    struct worker *w;
    int count;         /* rows */
    int *index;        /* plan row of each */
    struct row **rows; /* what is reported */
    struct build *builds;
    struct rig **rigs; /* NULL: not on the device */
    enum bout_pace *pace;
    struct room *room; /* the buffers that all of them stand on; NULL: each has its own, and one set of inputs */
    bool warms;        /* what is timed first is warmed up on every set of inputs: on the further ones those launches are looked at */
    int blame;         /* plan row that was running, -1 = none */
    double sensed_s;   /* when power and throttle reasons were last read, and what they were */
    double power_w, throttle;
    double looked_s; /* when it was last looked who else is on the GPU */
};
void bout_open(struct bout *b, struct worker *w, const json_t *rows);
/* Reports every row when `ok`, closes rigs, frees. */
void bout_close(struct bout *b, bool ok);
/* Loads row i, runs what it prepares, finds the library's fastest plan; runs and checks it on every set of inputs, which is what timed
 * launches are held against: the row's status says how that went. Where the bout warms, on the first; see bout_doubt. */
bool bout_enter(struct bout *b, int i, struct error *err);
/* Before its first launch on a set of inputs, the first of which finds the library's plans too. */
bool bout_prepare(struct bout *b, int i, int set, struct error *err);
/* The data of row i in a set of inputs; set 0 is the case's own. */
bool bout_data(struct bout *b, int i, int set, struct op_data **data, struct error *err);
/* A launch that is looked at, on the set of inputs that was fed. */
bool bout_try(struct bout *b, int i, int set, const struct op_data *data, struct error *err);
/* The library's fastest plan for each of row i's steps that has some, prepared; said in the row. */
bool bout_plans(struct bout *b, int i, struct error *err);
/* What a timed launch left is looked at, as is the first on a set of inputs (sample_watch); context: the bout. */
void bout_announce(void *context, int entrant);
bool bout_doubt(void *context, int entrant, int set, enum rig_left left, bool *right, struct error *err);
/* Once more, where nobody could foresee: inputs of the last set, in the last seat; and on a set that no launch was looked at. Of a row of
 * the tail, each of whose timed launches left the sums of a verified one, what it keeps in its module is looked at, and no more is
 * launched. */
bool bout_check_again(struct bout *b, int i, struct error *err);
bool bout_is_sound(const struct bout *b, int i);
/* The clock that the row's samples began at, unless it is known. */
void bout_clock(struct row *row, const struct entrant *e, int rounds);
/* Two builds of rows against each other, until each pair is decided (pairs.c). `gate`: run/parent/gate.c. */
bool bout_pairs(struct bout *b, const json_t *gate, struct error *err);
/* Times the frames of rows of a sequence, one row after another. */
bool bout_sequence(struct bout *b, struct error *err);
/* Compares the output as it lies there; a row that fails is WRONG or UNSAFE with the reason and `when`. */
bool bout_check(struct bout *b, int i, const struct op_data *data, const char *when, struct error *err);
/* Rounds of a row or a step, as they are estimated. */
struct bout_rounds {
    const double *ns, *base; /* base (may be NULL): the same rounds of what it is compared with */
    const int *places;       /* of the buffers, by round; NULL: one */
    int count, family;       /* family: so many rows whose ratios are to hold together */
    int paired;              /* of what it is compared with, the first rounds are there alone; 0: all */
};
/* Those of an entrant of a bout; base: of the entrant it is compared with (NULL: none), which may have left it earlier. */
struct bout_rounds bout_rounds_of(const struct entrant *e, const struct entrant *base, const struct sample_result *result, int family);
/* Adds their estimate to a row; the time is valid until the next is added. */
struct row_time *bout_time(struct row *row, int step, const char *cache, const char *load, const struct bout_rounds *rounds);
/* board.c. What is asked behind each round (sample_watch); context: the bout. */
void bout_sense(void *context, double *power_w, double *throttle);
/* The memory's clock and the temperature as they are now, to the rows that have a time. */
void bout_board(struct bout *b);

#endif
