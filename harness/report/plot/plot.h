/* report/plot/plot: data files and gnuplot scripts under dir/plots, and the SVGs that gnuplot drew. Names of variants and layers are
 * cleaned and go into data files only; scripts contain only numbers and bench's own names. */
#pragma once

#include "report/view/view.h"

struct plot {
    int case_index; /* of the rows; -1: the whole run */
    char name[64];  /* of its files: its number and its script, "03_sweep" */
    char *section;  /* of a run's plot: the heading above it */
    bool small;     /* it may be placed beside others */
    bool aside;     /* of a case: it is folded away */
    char *caption;
    char *svg; /* ready for a page; NULL when it was not drawn */
};
struct plots {
    char *folder; /* of their files */
    struct plot_files {
        struct plot_file *items;
        int count;
    } files;
    struct plot *items;
    int count;
    struct error broken; /* the first file that could not be written; none is after it */
    char *problem;       /* why some or all were not drawn, in words; NULL when all were */
    char *left_out;      /* which plots were not attempted, in words; NULL */
    bool brief;          /* too many rows for a whole page each */
};
/* Writes everything and draws. False only when a file cannot be written. */
bool plots_make(struct plots *p, const struct run *run, struct row *const *rows, int count, const char *dir, struct error *err);
void plots_free(struct plots *p);
/* Further plots: open, write (plot_write), draw. False: a file cannot be written. */
bool plots_open(struct plots *p, const char *folder, struct error *err);
bool plots_draw(struct plots *p, struct error *err);

/* ---- between plot.c and those that make one ---- */
#define PLOT_WIDTH 620  /* width of one that is alone in its line */
#define PLOT_BESIDE 600 /* width of one that may be placed beside another */
/* A plot being written: its data file and the numbers of its script. */
struct plot_draft {
    struct text data, script;
    const char *base;    /* "time.gp": the script that draws it */
    const char *section; /* of a run's */
    int case_index, width, height, longest;
    bool aside;
};
/* A name as a cell of the data; returns how wide it is, in characters. A number in a further cell. */
int plot_add_name(struct text *data, const char *s);
void plot_add_number(struct text *data, double v);
/* A line of the data begins with a name, of which the draft keeps the longest; a block of lines has its name before it. */
void plot_line(struct plot_draft *draft, const char *name);
void plot_series(struct text *data, const char *name);
/* Takes the draft's texts; the format is the caption's. */
void plot_write(struct plots *p, struct plot_draft *draft, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Plots that need no line of C: scripts plot/NAME.gp with a head, the lines that begin with "#:", in YAML.
 *     #: of: case                      # or run, which has a `section:` too
 *     #: rows: verified                # or compiled: all but the infeasible
 *     #: numbers: [time_us, hw.l2_hit] # columns of the CSV (docs/EXPORT.md); a row that has none of them is left out
 *     #: height: 60                    # pixels, and row_height: of each row more
 *     #: caption: ...
 * The data has the row's name, then the numbers; the script finds `rows`, `margin` (characters of the longest name) and for each column
 * the most of it, most_time_us. */
/* Copies every script, and the style, next to the data: the folder works without this installation. */
bool plot_files_load(struct plot_files *files, const char *folder, struct error *err);
void plot_files_free(struct plot_files *files);
/* Plots of a case, or of the run (c NULL) if two rows can be compared. */
void plot_files_draw(struct plots *p, const struct run *run, struct row *const *rows, int count, const struct case_view *c);
/* Time over density, and where sparse meets dense (break_even_plot.c). */
void break_evens_plot(struct plots *p, const struct run *run, struct row *const *rows, int count);
/* The rows of a case under the ceilings; nothing if no rate is known. */
void roofline_plot(struct plots *p, const struct case_view *c);
/* Speed-up by layer, shares of a network's time, time over operations, accuracy over speed (run_plots.c); of a case the distributions of
 * rounds and maps of parameters (case_plots.c). */
void run_plots(struct plots *p, const struct run *run, struct row *const *rows, int count);
void case_plots(struct plots *p, const struct case_view *c);
/* Lines over numeric axes and parameters, found from the rows. */
void sweeps_make(struct plots *p, const struct run *run, struct row *const *rows, int count);
