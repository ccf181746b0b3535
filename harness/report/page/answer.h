/* report/page/answer: one question of a scenario's `answers`, and the rows that answer it. */
#pragma once

#include "base/node.h"
#include "report/page/first_screen.h"

struct ask {
    const struct run *run;
    struct row *const *rows;
    int count;
    const struct judge *judge;
    const struct node *answer;
    const struct stored_origin *stored; /* whose times answer; NULL: those of the rows */
};

/* All cases; judged: with verdicts and stored times. */
struct case_walk ask_walk(const struct ask *ask, bool judged);
/* The key's value; "" if the question has none. */
const char *ask_word(const struct ask *ask, const char *key);
/* Are the rows of a device that keeps no time? */
bool ask_has_no_time(const struct ask *ask);
/* Why a question of times has no answer: on such a device because of that, else `timed`. */
const char *ask_no_answer(const struct ask *ask, const char *timed);
/* "at size 3 to 9": places beside each other on an axis, `step` bytes apart. Lists up to four names, because names have no order. */
void answer_places(struct text *t, const char *axis, char *const *at, size_t step, int count);
/* "conv2d/delta_tile", or "conv2d/delta_tile[VERY_SPARSE=0, dtype=f16]": its rows with these values of parameters, axes or the layer. */
struct side {
    const char *words; /* as the question has them */
    char *variant;
    struct row_pair *fixed;
    int fixed_count;
    bool imported; /* rows of another tool, which bench did not verify */
};
void side_read(struct side *s, const char *words);
void side_free(struct side *s);
void side_pairs_free(struct row_pair *pairs, int count);
bool side_has(const struct side *s, const struct row *row);
/* As sentences name it: an imported row with its tool. */
const char *answer_side_name(const struct side *s);
void answer_say_imported(struct block *list, const struct side *side);
/* For rows without times: the stored run that has times of all verified rows of the sides (at least two sides, if there are two); NULL:
 * there is none, or the rows are timed. */
const struct stored_origin *answer_stored(const struct ask *ask, const struct side *sides, int count);
/* The row's time, where the view is `by_stored` the stored one; NaN: it has none. */
double answer_ns(const struct case_view *c, const struct view *v);
/* The question, and where its times are from. Free it. */
char *answer_question(char *question, const struct stored_origin *of);
#define STORED_EQUAL 0.02 /* two stored times are of one run, but have no interval */
/* Why a comparison with this side has no pair. */
void answer_say_none(struct text *t, const struct ask *ask, const struct side *than);
/* "naive" of "conv2d/naive". */
const char *without_folder(const char *variant);
/* The row's value on an axis, of `layer`, `mask.pattern` or `mask.density` (in percent); NULL: it has none. Free it. */
char *answer_coordinate(const struct row *row, const char *axis);
/* Did a rule choose the row? Its parameters are then those of the variant that was chosen for this case. */
bool answer_is_choice(const struct row *row);
/* Equal values of the parameters that both have and the question does not fix; a choice of a rule goes with any. */
bool answer_equal_parameters(const struct row *a, const struct row *b, const struct side *fixed);
/* Are the rows of a case the same machine code and launches? */
bool answer_same_code(const struct view *a, const struct view *b);
/* Pairs of rows that are no part of an answer, and their layers. */
struct without {
    struct text layers;
    const char *last;
    int count;
};
void answer_leave_out(struct without *w, const struct row *row);
/* Because they have no value on the axis. Dense rows are left out of an answer over `mask.density` by its nature. */
void answer_without(struct without *w, const struct row *row, const char *axis);
/* Names the layers, if there are any, and frees. */
void answer_say_without(struct block *list, struct without *w, const char *axis);
/* answer_compare.c */
void answer_compare(const struct ask *ask, struct block *list);
/* answer_best.c */
void answer_value(const struct ask *ask, struct block *list);
void answer_rank(const struct ask *ask, struct block *list);
/* answer_accuracy.c */
void answer_accuracy(const struct ask *ask, struct block *list);
/* answer_calls.c */
void answer_calls(const struct ask *ask, struct block *list);
/* As a profiler lists them: each row over all cases. */
void answer_calls_table(const struct ask *ask, struct document *d);
/* answer_rate.c */
void answer_rate(const struct ask *ask, struct block *list);
/* A line for each power of ten of operations, a column for each variant. */
void answer_rate_table(const struct ask *ask, struct document *d);
void answer_share(const struct ask *ask, struct block *list);
void answer_limits(const struct ask *ask, struct block *list);
