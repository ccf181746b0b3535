/* report/case_table: the table of one case, for the terminal and for Markdown. */
#ifndef BENCH_REPORT_CASE_TABLE_H
#define BENCH_REPORT_CASE_TABLE_H

#include "report/table.h"
#include "report/view.h"

/* The caller frees it with table_free. */
struct table *case_table(const struct case_view *c);
/* "H200 · nvrtc 13.0.88 sm_90a · isolated, cold · 42 rounds · A/A ±0.31 %" / "emu ... no time and no ranking". */
void case_conditions(const struct case_view *c, struct text *t);
/* "67.9 GFLOP, 25 MB · floor 7.0 us (compute)". */
void case_work(const struct case_view *c, struct text *t);
/* "8x16 (sparse_tile): 1,102 of 7,200 active, scheduled A 10.4 GFLOP, 1.39 E · by marked inputs 0:6098 1:20 2:14 ...": one line for each
 * tile and filter traffic that variants declare; "" when there is none. */
void case_tiles(const struct case_view *c, struct text *t);
/* "warm, isolated   cudnn 141 us · sparse_tile 15.2 us (9.26)": one line for each further mode; "" when there is none. */
void case_modes(const struct case_view *c, struct text *t);
/* Upper-case status with the reason and the dump: what stands in the row of a variant that failed. */
void failure_text(const struct view *v, struct text *t);
/* "tconv: 213 us whole; without store 190 (-11 %), bias 212 (-0.5 %)": one line for each row that was run without its parts. */
void case_ablations(const struct case_view *c, struct text *t);
/* "tconv (and 1 more): stopped at 30 rounds ...": warnings of rows, or why they have no hardware counters; each said once. Behind the
 * warnings rows of the same machine code whose times are further apart than noise. */
void case_notes(const struct case_view *c, bool counters, struct text *t);
/* Cuts the first line "NAME: TEXT" off *lines: both end in 0. False: none is left. */
bool case_next_line(char **lines, const char **name, const char **text);

#endif
