/* report/report: rows to text. No GPU, no CUDA header, no run. Nothing here prints: all functions append to a struct text. */
#pragma once

#include "base/error.h"
#include "base/text.h"
#include "store/store.h"

struct report_style {
    bool color; /* ANSI */
    int width;  /* columns at which sentences are wrapped, 0 = not at all */
    int table;  /* columns that a table may have: the least important are left out and named; 0: any number */
    bool ascii; /* no UTF-8 signs */
    bool whole; /* all of a case that bisection added too, else its rows */
    bool ncu;   /* under each table the names that Nsight Compute has for its columns */
};
/* Every case, followed by an empty line: header lines, the table (one line per row, steps indented, wrong rows marked `!` and last), then
 * where to look. */
void report_cases(struct text *t, const struct run *run, struct row *const *rows, int count, const struct report_style *style);
/* The closing line: "594 rows: 349 verified, 63 wrong (1 configuration), 182 infeasible, 0 without a reason   6 min 12 s   exit 4". */
void report_summary(struct text *t, const struct run *run, struct row *const *rows, int count, double seconds, int exit_code,
                    const struct report_style *style);
/* A part of the report as a terminal shows it: network_document (network.h), tune_document (tune.h) ... */
struct document;
typedef void add_part(struct document *d, const struct run *run, struct row *const *rows, int count);
void report_part(struct text *t, add_part *add, const struct run *run, struct row *const *rows, int count,
                 const struct report_style *style);
/* The sections after the cases: networks, choices of rules, claims, times by mask, break-even. */
void report_closing(struct text *t, const struct run *run, struct row *const *rows, int count, const struct report_style *style);
/* The wisdom of a database, a line for each. */
void report_wisdom(struct text *t, const struct wisdom *list, int count, const struct report_style *style);
/* The whole run in a form: Markdown, or one self-contained page with SVG plots inline (gnuplot; scripts and data kept in `dir`/plots).
 * Without gnuplot the page says so. */
struct form;
bool report_whole(struct text *t, const struct form *form, const struct run *run, struct row *const *rows, int count, const char *dir,
                  struct error *err);
/* Several runs in one report: how each row of the first changed in the others, and every row's page. */
struct report_run {
    const struct run *run;
    struct row *const *rows;
    int count;
};
bool report_runs(struct text *t, const struct form *form, const struct report_run *runs, int count, const char *dir, struct error *err);
#define REPORT_ROWS_WHOLE 800 /* beyond, a row's page is its verdict: a page of ten thousand rows opens in two seconds */
/* Versioned schema (docs/EXPORT.md): {"schema": "bench.rows", "version": "2.2.0", "run": {...}, "rows": [...]}. CSV: one line per row, the
 * columns of store/row.h. */
void report_json(struct text *t, const struct run *run, struct row *const *rows, int count);
void report_csv(struct text *t, const struct run *run, struct row *const *rows, int count);
/* A run as a file of reports/stored (report/view/stored.h). */
void report_stored(struct text *t, const struct run *run, struct row *const *rows, int count);
