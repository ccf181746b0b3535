/* report/plot: data files and gnuplot scripts under dir/plots, and the SVGs gnuplot drew of them. Names of variants and layers go into the
 * data files only, cleaned; a script holds nothing but numbers and names of our own. */
#ifndef BENCH_REPORT_PLOT_H
#define BENCH_REPORT_PLOT_H

#include "report/view.h"

enum plot_kind { PLOT_TIME, PLOT_COUNTS, PLOT_SWEEP, PLOT_FACTS, PLOT_BREAK_EVEN, PLOT_ROOFLINE };
struct plot {
    enum plot_kind kind;
    int case_index; /* of the rows; -1: the whole run */
    char name[64];  /* of its files */
    char *caption;
    char *svg; /* ready for a page; NULL when it was not drawn */
};
struct plots {
    struct plot *items;
    int count;
    char *problem;  /* why some or all were not drawn, in words; NULL when all were */
    char *left_out; /* what was not even asked for, in words; NULL */
};
/* Writes everything and draws. False only when a file cannot be written. */
bool plots_make(struct plots *p, const struct run *run, struct row *const *rows, int count, const char *dir, struct error *err);
void plots_free(struct plots *p);

/* Runs `argv` in `folder` without a shell; at most `seconds`. What it says is added to the file `log` there. 0 done, 1 failed, 2 not
 * installed, 3 out of time. */
int child_run(const char *const *argv, const char *folder, const char *log, double seconds);

/* ---- between plot.c and sweep.c ---- */
/* A plot being written: its data file and the numbers of its script. */
struct plot_draft {
    struct text data, script;
    const char *base; /* "time.gp": the script that draws it */
    int width, height;
};
void plot_add_name(struct text *data, const char *s);
bool plot_write(struct plots *p, struct plot_draft *draft, enum plot_kind kind, int case_index, char *caption, const char *dir,
                struct error *err);
/* Time over density, and where sparse meets dense (break_even_plot.c). */
bool break_evens_plot(struct plots *p, const struct run *run, struct row *const *rows, int count, const char *dir, struct error *err);
/* Where each row of a case stands under the ceilings; nothing where no rate is known. */
bool roofline_plot(struct plots *p, const struct case_view *c, const char *dir, struct error *err);
/* Lines over numeric axes and parameters, found from the rows. */
bool sweeps_make(struct plots *p, const struct run *run, struct row *const *rows, int count, const char *dir, struct error *err);

#endif
