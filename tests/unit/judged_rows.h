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

static inline void judged_free(struct case_view *c, struct judge *j, struct fixture *f)
{
    case_view_free(c);
    judge_close(j);
    fixture_free(f);
}

/* The finding of the row that says so; the test fails where there is none. */
static inline const struct verdict *verdict_of(const struct view *v, const char *says)
{
    for (int i = 0; i < v->verdicts.count; i++)
        if (strstr(v->verdicts.items[i].says, says))
            return &v->verdicts.items[i];
    fail_msg("no verdict says '%s'", says);
    return NULL;
}

#endif
