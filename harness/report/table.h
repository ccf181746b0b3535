/* report/table: a table of text cells, printed for the terminal or as Markdown. Widths count characters, not bytes; control characters of
 * hostile names are made visible, never sent to the terminal. */
#ifndef BENCH_REPORT_TABLE_H
#define BENCH_REPORT_TABLE_H

#include "report/report.h"

enum align { ALIGN_LEFT, ALIGN_RIGHT, ALIGN_POINT /* decimal points below each other */ };
enum paint { PAINT_NONE, PAINT_BOLD, PAINT_DIM, PAINT_GOOD, PAINT_BAD, PAINT_WARN };

struct table;
struct table *table_new(void);
void table_free(struct table *t);
/* glued: belongs to the column before it (one space between; one Markdown column). */
void table_column(struct table *t, const char *heading, enum align align, bool glued);
void table_row(struct table *t);
/* The next cell of the row. */
void table_cell(struct table *t, enum paint paint, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* The rest of the row as one text that takes no part in the widths, wrapped below itself at the terminal's width. */
void table_rest(struct table *t, enum paint paint, const char *text);
void table_print(const struct table *t, struct text *out, const struct report_style *style);
void table_markdown(const struct table *t, struct text *out);
/* <table>, for a page. */
void table_html(const struct table *t, struct text *out);

/* Characters a UTF-8 text shows. */
int text_columns(const char *s);
/* Appends s for the terminal: control characters become `?`, and with ascii ± · – and the like their plain forms. */
void text_add_plain(struct text *t, const char *s, const struct report_style *style);
/* Appends s wrapped at the terminal's width: the first line goes on at column `at`, the others begin at column `indent`. */
void text_add_wrapped(struct text *t, const char *s, int at, int indent, const struct report_style *style);
/* "label text" and a newline: the lines around a table. */
#define TEXT_LABEL_COLUMNS 6 /* "why   ", "next  " */
void text_add_labelled(struct text *t, const char *label, const char *text, const struct report_style *style);
/* The same for text of several lines; the label stands before the first. */
void text_add_labelled_lines(struct text *t, const char *label, const char *lines, const struct report_style *style);
/* Appends the ANSI code of a paint ("" without color). PAINT_NONE ends any. */
void text_paint(struct text *t, enum paint paint, const struct report_style *style);

#endif
