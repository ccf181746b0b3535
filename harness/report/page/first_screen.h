/* report/page/first_screen: the top of a page: the scenario's question and answer, how many rows were verified, and for each case the
 * winner by name, its margin, the reason, what remains to gain, and what could not be judged. */
#pragma once

#include "report/form/document.h"
#include "report/view/view.h"
#include "report/page/why.h"

void first_screen(struct document *d, const struct run *run, struct row *const *rows, int count, const struct judge *judge);

/* For a terminal: the same of a run that counts, in at most eleven lines. */
void glance_document(struct document *d, const struct run *run, struct row *const *rows, int count);

/* The scenario's `about`, and of each of its `answers` a sentence (answer.c). */
void answer_document(struct document *d, const struct run *run, struct row *const *rows, int count, const struct judge *judge);
/* What the slower of two rows does more of, without the other's name: "executes 3.92x the instructions". False: they do not differ. */
bool winner_reason(const struct case_view *c, const struct view *slow, const struct view *fast, enum why_words words, struct text *t);
