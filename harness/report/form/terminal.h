/* report/form/terminal: text for a terminal. Widths count characters, not bytes; control characters in hostile names are made visible and
 * never sent. */
#pragma once

#include "report/form/document.h"

void terminal_table(struct text *out, const struct table *t, const struct report_style *style);

/* Appends s wrapped to the terminal's width: the first line starts at column `at`, the others at column `indent`. */
void text_add_wrapped(struct text *t, const char *s, int at, int indent, const struct report_style *style);
#define TEXT_LABEL_COLUMNS 6 /* "why   ", "next  ": where the texts around a table begin */
/* Appends the ANSI code of a paint ("" without color). PAINT_NONE ends any. */
void text_paint(struct text *t, enum paint paint, const struct report_style *style);
