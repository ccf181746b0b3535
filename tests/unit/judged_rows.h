/* The rows of a fixture, judged as a report judges them: for the tests of what the judge says. Include it behind cmocka.h. */
#ifndef BENCH_TESTS_JUDGED_ROWS_H
#define BENCH_TESTS_JUDGED_ROWS_H

#include "measured_rows.h"
#include "report/view/verdict.h"

static inline struct case_view judged(struct fixture *f, struct judge *j)
{
    struct case_view c;
    judge_open(j);
    assert_true(j->ready);
    case_view_make(&c, &f->run, f->rows, f->count);
    case_judge(&c, j);
    return c;
}

#endif
