/* report/limits: how much of a list is shown, so that the important part is visible. These limits affect no verdict: thresholds of
 * verdicts are in counter/limits.yaml, the layout of a drawing is next to it. */
#pragma once

/* Sentences and lists of all reports. */
#define SHOWN_GLANCE 9    /* cases on a terminal, before a line that counts the rest */
#define SHOWN_REASONS 3   /* why rows were not run; of the others the number */
#define SHOWN_SENTENCES 6 /* for one question of a scenario; the others are in their section */
#define SHOWN_WHY 6       /* lines of `why` of a case */
#define SHOWN_ALSO 4      /* further rules that hold for a row */
#define SHOWN_STEPS 8     /* a row of more is shown as a whole */
#define SHOWN_NAMES 160   /* characters of a list of names after a sentence, on a terminal */
#define SHOWN_ITEMS 10    /* items of a list on a page; many more are folded */
#define SHOWN_SINGLES 3   /* variants that a network was run with alone; more are in its table */
#define SHOWN_PLANS 8     /* of cuDNN's of a row, the fastest */

/* Where a row's time went. */
#define SHOWN_STALLS 4
#define SHOWN_STALL_PERCENT 4.0 /* of the warp cycles: smaller reasons are put together */
#define SHOWN_PLACE_SHARE 0.1   /* of a part: smaller places are not named */
#define SHOWN_STATES 10
#define SHOWN_MIX 8
#define SHOWN_SMALL_PERCENT 1.0 /* smaller states and kinds of instructions are not listed */
#define SHOWN_LINES 20          /* of a kernel's source */
#define SHOWN_EXCESS 1.05       /* times the minimum: less is not mentioned for a line */
#define SHOWN_SPILL_LINES 4
#define SHOWN_PART_SHARE 0.005 /* share of the run: smaller parts of a phase are not listed */

/* Break-evens. */
#define SHOWN_BREAK_EVEN_TOLD 6  /* of one group in the sentence; the rest are in the table */
#define SHOWN_BREAK_EVEN_SUMS 20 /* variants, if there are more groups than sentences */
#define SHOWN_BREAK_EVEN_LINES 8
#define SHOWN_BREAK_EVEN_GROUPS 24

/* Plots: with more rows than this, tables are clearer than pictures. */
#define SHOWN_CASES 24
#define SHOWN_SHAPES 16
#define SHOWN_MAPS 3
#define SHOWN_BARS 40
#define SHOWN_PLOT_LINES 40 /* of a plot of columns */
#define SHOWN_SWEEPS 16
#define SHOWN_MARKS 10  /* values of which each has its mark on the axis */
#define SHOWN_ROUNDS 90 /* of a row; of more, every second, third ... is drawn */
#define SHOWN_HISTORY 8 /* lines of a history */
