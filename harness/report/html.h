/* report/html: pieces of the page, shared by html.c (the page) and html_case.c (a case). */
#ifndef BENCH_REPORT_HTML_H
#define BENCH_REPORT_HTML_H

#include "report/plot.h"
#include "report/view.h"

/* Escaped text; control characters become spaces. NULL is nothing. */
void html_text(struct text *t, const char *s);
/* The same, where a long id may be broken behind its own punctuation. */
void html_id(struct text *t, const char *s);
void html_figure(struct text *t, const struct plot *plot);
/* The section of one case. */
void html_case(struct text *t, const struct case_view *c, const struct plots *plots);
/* The cell of a %, with a bar of that length; NaN is an empty one. */
void html_share(struct text *t, double percent);
/* How near its rows come to the limits of the machine; nothing without hardware counters. */
void html_light(struct text *t, const struct case_view *c);
/* Its counters and metrics, folded away. */
void html_metrics(struct text *t, const struct case_view *c);

/* What binds each row, where its time goes: `bench why` for the fastest ones. */
void html_why(struct text *t, const struct case_view *c);

#endif
