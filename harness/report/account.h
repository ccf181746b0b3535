/* report/account: where a row's time goes: a list of parts whose sum is the time, to the last digit. From stored rows alone.
 *
 *   time = its own roof                             its operations (those it schedules) at the rate of the pipe its machine code uses, or
 * its bytes at the rate of a copy, or a launch that does nothing, whichever takes longest; measured ceilings, else the data sheet's
 *        + other steps                              their own times
 *        + loss of the longest step below the roof  split by counters where the row has them:
 *            SMs without a block                    the share of the cycles in which an average SM had none (hw.sm_busy)
 *            waiting, by reason                     what is left, times the share of cycles in which no scheduler issued, by the stall
 * shares issuing                                the rest of it: instructions beyond those the roof counts without counters: block places
 * that stay empty (waves), then "not explained"
 *        + between the steps                        what the steps' own times leave of the row's time
 *
 * A wait is split by source line in proportion to the samples of that reason, issuing to the instructions that ran, where the row has them
 * (--source). The split by reason and line is an attribution in proportion, as every profiler's is: it says what the lost time looks like,
 * not what would be gained. */
#ifndef BENCH_REPORT_ACCOUNT_H
#define BENCH_REPORT_ACCOUNT_H

#include "report/view.h"

enum account_kind {
    ACCOUNT_ROOF,
    ACCOUNT_STEPS,
    ACCOUNT_IDLE,
    ACCOUNT_STALL,
    ACCOUNT_ISSUE,
    ACCOUNT_UNEXPLAINED,
    ACCOUNT_BETWEEN,
    ACCOUNT_KINDS
};
#define ACCOUNT_PLACES 3
struct account_place {
    char where[80]; /* "mma_sync.cu:57" */
    double ns;
};
struct account_part {
    enum account_kind kind;
    char key[32];   /* parts of two accounts with the same key are compared: "roof", "long_scoreboard" */
    char what[200]; /* in words */
    double ns;
    long units; /* as printed, in account.unit_ns: the units add up exactly too */
    struct account_place
        places[ACCOUNT_PLACES]; /* a wait, issuing: the source lines that take most of it, where the row was sampled (--source) */
    int place_count;
};
#define ACCOUNT_PARTS 12
struct account {
    bool known; /* a timed row of a machine whose rates are known */
    double total_ns, unit_ns;
    long total_units;
    int step;                              /* the longest; -1 when the row has no steps */
    double step_ns;                        /* its time */
    double roof_ns, compute_ns, memory_ns; /* of its own pipe; 0 = none */
    bool measured;                         /* the roof's ceiling was measured here */
    int pipe_math;                         /* enum math whose rate the compute roof uses */
    double tensor;                         /* 1, 0, NaN: machine code not known */
    double pipe_width;                     /* rate of the math mode's pipe over that of f32; NaN */
    struct account_part parts[ACCOUNT_PARTS];
    int count;
};
/* unit_ns 0: a unit with which the time has four digits; else that one (to hold two accounts side by side). */
struct account account_of(const struct case_view *c, const struct view *v, double unit_ns);
/* One line a part, aligned, and one below for its places; then the sum. */
void account_text(const struct account *a, struct text *t, const char *indent);
/* "12.3", in us, with the digits of the unit. */
const char *account_us(const struct account *a, long units, char out[32]);
/* FLOP a byte at "dram", "l2" or "l1", of a step or (step < 0) of the row: the group roofline's, else `flop` over the bytes that the basic
 * groups count. NaN when neither was counted. */
double account_intensity(const struct view *v, int step, double flop, const char *level);

#endif
