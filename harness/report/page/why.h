/* report/page/why: everything that explains one row, in words. */
#pragma once

#include "report/view/view.h"

/* rows: those of a run, in order; `index`: the row. `whole`: with every source line that has counts. */
void why_of_row(struct document *d, const struct run *run, struct row *const *rows, int count, int index, bool whole);
/* The whole as a terminal shows it. */
void report_why(struct text *t, const struct run *run, struct row *const *rows, int count, int index, const struct report_style *style);

/* ---- its parts ---- */

struct block;
struct breakdown;
/* The verdict with the largest gain and its remedy; then the other verdicts. */
void why_verdict(struct block *list, const struct case_view *c, const struct view *v);
void why_also(struct block *list, const struct view *v);
/* The stored time of the same code, and the predicted time or why there is none. */
void why_predicted(struct block *list, const struct case_view *c, const struct view *v);
void why_roofline(struct block *list, const struct case_view *c, const struct view *v, const struct breakdown *a);
/* Occupancy, spills and shared memory of each step, the same launch once; with `launch` also its extents and its code. */
void why_steps(struct block *list, const struct case_view *c, const struct view *v, bool launch);
/* emu has no time, but its traffic adds up: bytes requested = compulsory + partial sectors + requested again. False: not counted. */
#define WHY_TRAFFIC 3
bool why_traffic(const struct view *v, double parts[WHY_TRAFFIC]);
const char *why_traffic_word(int part, double bytes);
/* The row to compare a ranked one with: the fastest; for the fastest, the next one; NULL: none. */
const struct view *why_rival(const struct case_view *c, const struct view *v);
/* With the other row's name; without it, as the reader knows it; without it and with the first reason only. */
enum why_words { WHY_NAMED, WHY_UNNAMED, WHY_FIRST };
/* Appends what `a` does more of than `b`, in the counter groups' words; with `less`, less of. */
void why_compared(struct text *t, const struct case_view *c, const struct view *a, const struct view *b, bool less, enum why_words words);
/* Appends what the slower row does more of, separated by "; "; false: they differ by no more than noise, and the text says so. */
bool why_against(struct text *t, const struct case_view *c, const struct view *v, const struct view *rival, enum why_words words);

/* The row that the words mean (base/named.h). */
int why_find(struct row *const *rows, int count, const char *words, struct error *err);
