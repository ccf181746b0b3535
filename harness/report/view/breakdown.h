/* report/view/breakdown: where a row's time goes: a list of parts whose sum is the time, to the last digit. From stored rows alone.
 * docs/reference/reports.md, "The time breakdown", defines each part: the row's own roof, other steps, the first finding, SMs without a
 * block, stalls by reason, issuing, what is not explained, and the time between the steps.
 *
 * If the row has source lines (--source), stall time is divided among them in proportion to the samples of that reason, and issue time in
 * proportion to the executed instructions. As in every profiler, this attribution shows where time was spent, not how much a change would
 * save. */
#pragma once

#include "report/view/view.h"

enum breakdown_kind {
    BREAKDOWN_ROOF,
    BREAKDOWN_STEPS,
    BREAKDOWN_FINDING, /* the first finding's estimated gain, once the row is judged */
    BREAKDOWN_IDLE,
    BREAKDOWN_STALL,
    BREAKDOWN_ISSUE,
    BREAKDOWN_UNEXPLAINED,
    BREAKDOWN_BETWEEN,
    BREAKDOWN_KINDS
};
#define BREAKDOWN_PLACES 3
struct breakdown_place {
    char where[80]; /* "mma_sync.cu:57" */
    double ns;
};
struct breakdown_part {
    enum breakdown_kind kind;
    char key[32];   /* parts of two breakdowns with the same key are compared: "roof", "long_scoreboard" */
    char what[200]; /* in words */
    double ns;
    long units; /* as printed, in breakdown.unit_ns: the units add up exactly too */
    struct breakdown_place
        places[BREAKDOWN_PLACES]; /* a stall reason, or issuing: the source lines with most of it, if the row was sampled (--source) */
    int place_count;
};
#define BREAKDOWN_PARTS 12
struct breakdown {
    bool known; /* a timed row on a machine with known rates */
    double total_ns, unit_ns;
    long total_units;
    int step;                              /* the longest; -1 when the row has no steps */
    double step_ns;                        /* its time */
    double roof_ns, compute_ns, memory_ns; /* of its own pipe; 0 = none */
    bool measured;                         /* the ceiling was measured on this machine */
    int pipe_math;                         /* enum math whose rate the compute bound uses */
    double tensor;                         /* 1, 0, NaN: machine code not known */
    double pipe_width;                     /* rate of the math mode's pipe over that of f32; NaN */
    struct breakdown_part parts[BREAKDOWN_PARTS];
    int count;
};
/* unit_ns 0: a unit that gives the time four digits; else that unit (for two breakdowns side by side). */
struct breakdown breakdown_of(const struct case_view *c, const struct view *v, double unit_ns);
/* One line a part, aligned, and one below for its places; then the sum. */
void breakdown_text(const struct breakdown *a, struct text *t, const char *indent);
/* "12.3", in us, with the digits of the unit. */
const char *breakdown_us(const struct breakdown *a, long units, char out[32]);
/* FLOP a byte at "dram", "l2" or "l1", of a step or (step < 0) of the row: from the group roofline, else `flop` over the bytes that the
 * basic groups count. NaN if neither was counted. */
double breakdown_intensity(const struct view *v, int step, double flop, const char *level);
