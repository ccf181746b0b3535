/* report/view/source_lines: what each source line of a row did, by emu's counts or the GPU's (--source), and the rules' verdicts on it. */
#pragma once

#include "report/view/view.h"

#define LINE_WAITS 3
#define LANES_ALL 31.5 /* average active lanes: below this, their number is reported */
struct source_line {
    int step, line;              /* line 0: code without a line; only samples and counts of the GPU have such */
    double values[METRIC_COUNT]; /* NaN: not known */
    double samples;
    const struct row_metric *waits[LINE_WAITS]; /* the stall reasons of its samples, the most frequent first */
};
/* 0: not known. */
double line_value(const struct source_line *l, enum metric metric);
#define EVERY_STEP (-2)
/* By step and line; their count. The caller frees them. */
int source_lines(const struct row *row, int step, struct source_line **out);
/* Those that weigh something, the heaviest first. */
int source_lines_by(const struct row *row, int step, double (*weight)(const struct source_line *), struct source_line **out);

/* "4 sectors/request (ideal 1): uncoalesced load". */
struct line_finding {
    int step, line;
    char *where, *says; /* "naive.cu:69" */
    double weight;      /* sectors or wavefronts beyond the minimum */
    bool shipped;       /* the variant is no one's own */
};
struct line_findings {
    struct line_finding *items; /* lines of the user's own variants first, then by weight; a stable order */
    int count;
};
/* The verdicts on the lines of a row in a judged case, ordered among those of other rows. */
void line_findings_add(struct line_findings *all, const struct case_view *c, const struct view *v);
void line_findings_free(struct line_findings *all);
