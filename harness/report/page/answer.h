/* report/page/answer: one question of a scenario's `answers`, and the rows that answer it. */
#ifndef BENCH_REPORT_ANSWER_H
#define BENCH_REPORT_ANSWER_H

#include "base/node.h"
#include "report/page/first_screen.h"

struct ask {
    const struct run *run;
    struct row *const *rows;
    int count;
    const struct judge *judge;
    const struct node *answer;
};

/* The key's value; "" if the question has none. */
const char *ask_word(const struct ask *ask, const char *key);
/* Are the rows of a device that keeps no time? */
bool ask_has_no_time(const struct ask *ask);
/* answer_compare.c */
void answer_compare(const struct ask *ask, struct block *list);

#endif
