/* report/view/view: what tables, pages and exports show of a row: headline time, rank, the facts of its longest step, sums of its
 * counters. Computed from stored rows only (names.c, values.c, view.c). NaN, -1 and NULL are absent. */
#pragma once

#include "device/chip/predict.h"
#include "report/view/machine.h"
#include "report/view/metric.h"
#include "report/report.h"
#include <math.h>

#define VARIANT_BASE 96
#define SECTOR_BYTES 32

struct judge;
struct stored_time;
struct verdict;
/* The verdicts of a row (report/view/verdict.h). */
struct verdicts {
    struct verdict *items; /* the largest gain first, then unknown gains in the order of the rule files */
    int count;             /* 0: no rule holds, or the row was not judged */
    bool judged;           /* the row is verified and the rule files were found */
    bool counted;          /* the row has hardware counters */
    bool open;             /* which of the close findings leads depends on the usual error of a predicted time */
    bool no_time;          /* no time of the row is known, so that it is unknown which finding costs most */
};

struct view {
    const struct row *row;
    char name[192];              /* "cudnn engine 62", "my/halo_regs TH16 TW32": parameters that vary in the case */
    bool ranked;                 /* verified (or the baseline `copy`) and timed */
    bool failed;                 /* row_status_failed */
    int rank;                    /* 0: the baseline; 1...: by time, one for each machine code; -1: not ranked */
    const struct view *same_as;  /* the row of the case that stands for this one: equal machine code and launches; NULL: itself */
    const struct row_time *time; /* the headline mode of the case */
    double half_ns;              /* half of the 95 % interval */
    double floor_share, roof_share;
    int step;        /* the longest timed step that has facts; -1 none */
    int steps;       /* timed steps */
    int spill_bytes; /* of that step, stores */
    int smem_bytes;
    double sectors_request[SIDES], sectors_ideal[SIDES]; /* emu: of an average request, and the minimum */
    double moved_bytes, moved_over_compulsory;           /* emu; absent for a crop: */
    double moved_here;                                   /* over the compulsory bytes of the work that ran */
    struct metric_index metrics;
    struct prediction predicted;      /* of a judged case on a device that keeps no time (report/view/predict.h); ns NaN: none */
    const struct stored_time *stored; /* of the same code and launches, on another device; NULL: none */
    struct verdicts verdicts;
};

struct case_view {
    const struct run *run;
    struct row *const *rows;
    int count;
    struct view *views;  /* in the order of the rows */
    int *order;          /* case_sort: ranked by time (the baseline first), then verified without a time, then the rest in scenario order */
    bool counts;         /* a device that keeps no time: no ranking, counters instead */
    bool lent;           /* it is another's, which frees it */
    bool by_stored;      /* of these, an answer compares the stored times of the same machine code */
    enum time_mode mode; /* the headline mode; MODE_NONE: nothing is timed */
    const struct view
        *zero; /* the baseline: the fastest of the library's rows, which the ratios are to; else the scenario's first row; or NULL */
    char zero_name[VARIANT_BASE]; /* "cudnn", "copy": without folder and further steps */
    double noise, roof_ns;        /* NaN */
    struct machine machine;
    const struct judge *judge;                /* NULL: its rows are not judged */
    const struct stored_time *stored_library; /* of the library for the case's work, on another device; NULL: none */
    const struct chip_model *model;           /* the judge's, of the case's chip; NULL: there is none */
};

void case_view_make(struct case_view *c, const struct run *run, struct row *const *rows, int count);
/* The views of a page, which asks for each case a dozen times: where run->views has them, case_view_make and case_judge make the view of
 * each case once, and lend it. */
struct page_views *page_views_keep(struct row *const *rows, int count, const struct judge *judge);
void page_views_drop(struct page_views *views);
/* Orders the views again: stored and predicted times come with the judge. */
void case_sort(struct case_view *c);
void case_view_free(struct case_view *c);
/* The cases of a run in order: `for (struct case_walk w = {.run = run, .rows = rows, .count = count}; case_next(&w);)`, judged if there
 * is a judge. If you leave the loop early, free the view. */
struct case_walk {
    const struct run *run;
    struct row *const *rows;
    int count;
    const struct judge *judge;
    bool by_stored; /* of all views */
    struct case_view view;
    int at; /* the first row after the view */
};
bool case_next(struct case_walk *w);
/* Has the row a line for each step under its own? Not the dozens of a chain. */
bool view_itemises(const struct view *v);

/* The index of the next case's first row after `from`: rows are sorted by case. */
int case_end(struct row *const *rows, int count, int from);
/* Is its variant in the folder of its op? */
bool row_is_of_op(const struct row *row);
/* What its case is called, without the scenario, which may have another name in another run. */
const char *case_short(const struct row *row);
/* The row's name without its op's own folder: "naive", "my/halo_regs". */
const char *variant_short(const struct row *row);
/* That without the steps that completed it: "mma_sync" of "mma_sync + depth_to_space/d2s_native". Returns out. */
const char *variant_base(const struct row *row, char out[VARIANT_BASE]);
/* The name as tables show it, with the steps that complete it (those without their op's folder). */
void variant_print(const struct row *row, char *out, size_t size);
/* A warning about the row, or the reason for missing hardware counters; "": none. */
const char *row_note(const struct row *row, bool counters);
/* Rows of one variant and side with equal parameters. */
bool row_same_configuration(const struct row *a, const struct row *b);
/* A row of a masked case that does all outputs. */
bool row_runs_dense(const struct row *row);
/* The control of ops that the library lacks: it moves the op's bytes and computes nothing. */
bool row_only_moves(const struct row *row);
/* A metric of a step, or of the row (step -1), by its name. NaN when absent. */
double view_value(const struct view *v, int step, const char *name);
/* hw.NAME: a value of a counter group. */
double view_hardware(const struct view *v, int step, const char *value);
double view_metric(const struct view *v, int step, enum metric metric);
/* A counter of a step, "hw.sm_busy": of the step, or of the row where it has one timed step only. */
double view_counted(const struct view *v, int step, const char *name);
/* What is known of two numbers; NaN where neither is. */
double known_sum(double a, double b);
/* NaN where b is not positive. */
double quotient(double a, double b);
/* The row's own value, else the sum over its timed steps. */
double view_total(const struct view *v, const char *name);
/* That for step -1, else the step's own. */
double view_part(const struct view *v, int step, enum metric metric);
/* Bytes of the sectors that emu counted for loads, stores, atomics and asynchronous copies; NAN: none was counted. */
double view_emu_bytes(const struct view *v, int step);
/* The time of a step in the headline mode, or NULL. */
const struct row_time *step_time(const struct case_view *c, const struct row *row, int step);
/* The other names of the row's machine code and launches, as "= delta_very_sparse FEW4, sparse_auto"; false: none. */
bool view_other_names(const struct case_view *c, const struct view *v, struct text *t);
/* The baseline; NULL: it has no time, or only moves the bytes, so that no row is faster or slower than it at the op. */
const struct view *case_baseline(const struct case_view *c);
/* "fastest verified": the view ranked first other than the baseline; NULL when none. */
const struct view *case_best(const struct case_view *c);
/* The first view of the case with the least `cost` among those for which `takes` holds; both are expressions of `v`. NULL: none. */
#define CASE_LEAST(c, v, takes, cost) \
    ({ \
        const struct view *least_view = NULL; \
        double least_cost = INFINITY; \
        for (int of_view = 0; of_view < (c)->count; of_view++) { \
            const struct view *v = &(c)->views[of_view]; \
            if ((takes) && (cost) < least_cost) { \
                least_view = v; \
                least_cost = (cost); \
            } \
        } \
        least_view; \
    })
/* Is the ratio that of the row to itself, as the baseline's is? */
bool time_is_to_itself(const struct row_time *t);

/* A COLUMN_DERIVED column of store/row.h; NaN when absent. */
double view_derived(const struct view *v, const char *name);
/* The columns of an exported line, in this order (docs/EXPORT.md): of the case, the row, its longest step, its headline time, the derived.
 */
#define VIEW_GROUPS 5
extern const enum column_group view_groups[VIEW_GROUPS];
/* The number in one of these columns, else a metric of the row; NaN: absent. A library's row has no step facts. */
double view_number(const struct view *v, const char *name);
/* Is there a column of numbers of that name? Else *near is the nearest, or NULL. */
bool view_has_number(const char *name, const char **near);

/* Infeasible rows that fail by one clause, compactly. */
struct reason_group {
    const char *reason, *clause; /* of the first */
    int count;
    struct text names; /* "my/halo_regs TH16 TW16, ..." */
};
int reason_groups(const struct case_view *c, enum row_status status, struct reason_group **groups);
void reason_groups_free(struct reason_group *groups, int count);

/* Is it a whole network's row, or one over frames? Its work is spread over all steps, so no single step represents it. */
bool row_is_network(const struct row *row);
/* Appends the winner's name; for a rule its choice first: "wgmma_rs (auto)". */
void winner_name(const struct view *v, struct text *t);
