/* report/view: what the tables, the page and the exports show of a row: headline time, rank, the facts of its longest step, sums of its
 * counters. Computed from stored rows only. NaN, -1 and NULL are absent. */
#ifndef BENCH_REPORT_VIEW_H
#define BENCH_REPORT_VIEW_H

#include "report/machine.h"
#include "report/report.h"

#define VARIANT_BASE 96

struct view {
    const struct row *row;
    char name[192];              /* "cudnn engine 62", "my/halo_regs TH16 TW32": parameters that vary in the case */
    bool ranked;                 /* verified (or row 0's copy) and timed */
    bool failed;                 /* wrong, unsafe, crashed, hung, broken */
    int rank;                    /* 0: row 0; 1...: by time; -1: not ranked */
    const struct row_time *time; /* the headline mode of the case */
    double half_ns;              /* half of the 95 % interval */
    double floor_share, roof_share;
    int step;        /* the longest timed step that has facts; -1 none */
    int steps;       /* timed steps */
    int spill_bytes; /* of that step, stores */
    int smem_bytes;
    double warp_fma, st_sect_req, st_ideal, ld_sect_req, ld_ideal, moved_bytes, moved_over_compulsory, conflicts;
};

struct case_view {
    const struct run *run;
    struct row *const *rows;
    int count;
    struct view *views;      /* in the order of the rows */
    int *order;              /* ranked by time (row 0 first), then verified without a time, then the rest in scenario order */
    bool counts;             /* a device that keeps no time: no ranking, counters instead */
    char cache[8], load[12]; /* the headline mode; "" when nothing is timed */
    const struct view *zero; /* row 0: the fastest of the library's rows, which the ratios are to; else the scenario's first row; or NULL */
    char zero_name[VARIANT_BASE]; /* "cudnn", "copy": without folder and further steps */
    double noise, roof_ns;        /* NaN */
    struct machine machine;
};

void case_view_make(struct case_view *c, const struct run *run, struct row *const *rows, int count);
void case_view_free(struct case_view *c);
/* Has the row a line for each step under its own? Not the dozens of a chain. */
bool view_itemises(const struct view *v);

/* The first row behind `from` that belongs to another case: rows are sorted by case. */
int case_end(struct row *const *rows, int count, int from);
bool device_counts(const char *device);
/* The row's name without its op's own folder: "naive", "my/halo_regs". */
const char *variant_short(const struct row *row);
/* That without the steps that completed it: "mma_sync" of "mma_sync + depth_to_space/d2s_native". Returns out. */
const char *variant_base(const struct row *row, char out[VARIANT_BASE]);
/* A warning about the row, or why it has no hardware counters; "" when there is none. */
const char *row_note(const struct row *row, bool counters);
/* One value of "a=1,b=2"; false when absent. */
bool axis_value(const char *axes, const char *name, char *out, size_t size);
/* A row of a masked case that does all outputs. */
bool row_runs_dense(const struct row *row);
/* A counter of the whole row: its own total, else the sum over its timed steps. NaN when absent. */
double counter_total(const struct row *row, const char *name);
double counter_step(const struct row *row, int step, const char *name);
/* The time of a step in the headline mode, or NULL. */
const struct row_time *step_time(const struct case_view *c, const struct row *row, int step);
/* "fastest verified": the view ranked first other than row 0; NULL when none. */
const struct view *case_best(const struct case_view *c);

/* A COLUMN_DERIVED column of row/row.h; NaN when absent. */
double view_derived(const struct view *v, const char *name);

/* Infeasible rows with the same reason (numbers inside the parentheses may differ), compactly. */
struct reason_group {
    const char *reason;
    int count;
    struct text names; /* "my/halo_regs TH16 TW16, ..." */
};
int reason_groups(const struct case_view *c, enum row_status status, struct reason_group **groups);
void reason_groups_free(struct reason_group *groups, int count);

/* Where to look: one sentence, about one row (or, in a counting case, a source line). */
struct advice {
    const struct view *view;
    double weight;  /* how much it costs, for the order */
    bool at_source; /* begins with FILE:LINE: the same for every row made of that file */
    char text[320];
};
/* Malloc'd, sorted by weight. */
int advise(const struct case_view *c, struct advice **out);

#endif
