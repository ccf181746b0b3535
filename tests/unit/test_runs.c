/* Several runs in one report: what became of each row, by intervals and what two runs differ by anyway. */
#include "fixture_rows.h"
#include "report/form/document.h"
#include "report/report.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[64];

/* The case of a filter of 3: two runs of the same rows, of which the second one is changed by a test. */
static void two_runs(struct fixture *a, struct fixture *b, const char *device)
{
    struct fixture *const both[] = {a, b};
    for (int k = 0; k < 2; k++) {
        *both[k] = (struct fixture){0};
        fixture_notebook(both[k], device);
        both[k]->run.id = 3 + 2 * k;
        for (int i = 16; i < both[k]->count; i++)
            row_free(both[k]->rows[i]);
        both[k]->count = 16;
    }
}

static void scale(struct row *r, double factor)
{
    struct row_time *t = &r->times[0];
    t->median_ns *= factor;
    t->low_ns *= factor;
    t->high_ns *= factor;
}

static char *report(const char *form, const struct fixture *a, const struct fixture *b, const struct fixture *c)
{
    const struct report_run runs[] = {
        {&a->run, a->rows, a->count}, {&b->run, b->rows, b->count}, {c ? &c->run : NULL, c ? c->rows : NULL, c ? c->count : 0}};
    struct text t = {0};
    struct error err = {0};
    if (!report_runs(&t, form_find(form), runs, c ? 3 : 2, folder, &err))
        fail_msg("%s", err.text);
    return text_take(&t);
}

static void says(const char *text, const char *words)
{
    if (!strstr(text, words))
        fail_msg("'%s' is not in:\n%.4000s", words, text);
}

static void what_became_of_each_row(void **state)
{
    struct fixture a, b;
    (void)state;
    two_runs(&a, &b, "cuda:0");
    scale(b.rows[0], 0.8); /* far beyond its interval of 1 % */
    scale(b.rows[1], 1.25);
    scale(b.rows[2], 1.012); /* within what two runs differ by */
    b.rows[4]->status = ROW_WRONG;
    b.rows[5]->steps[0].registers = 40;
    row_free(b.rows[15]);
    b.count = 15;
    char *text = report("md", &a, &b, NULL);
    says(text, "# notebook: 2 runs");
    says(text, "**run 5**: of 14 rows that run 3 also has: 1 faster, 1 slower, 12 without a significant difference between runs; 1 failing "
               "now; 1 gone");
    says(text, "not paired");
    says(text, "registers 40, was 32");
    says(text, "wrong, was ok");
    says(text, "gone");
    says(text, "| 1.25 |"); /* the first run's time over the second's: more than 1 is faster */
    free(text);
    char *page = report("html", &a, &b, NULL); /* each row of each run has its page, and each line leads to both */
    int pages = 0;
    for (const char *p = page; (p = strstr(p, "<details class=\"row\"")); p++)
        pages++;
    assert_int_equal(pages, 16 + 15);
    for (const char *p = page; (p = strstr(p, "href=\"#run-")); p++) {
        char *id = text_format("id=\"%.*s\"", (int)strcspn(p + 7, "\""), p + 7);
        says(page, id);
        free(id);
    }
    free(page);
    fixture_free(&a);
    fixture_free(&b);
}

static void counts_are_exact(void **state)
{
    struct fixture a, b;
    (void)state;
    two_runs(&a, &b, "emu");
    char *text = report("md", &a, &b, NULL);
    says(text, "0 with fewer requested bytes, 0 with more");
    free(text);
    fixture_free(&a);
    fixture_free(&b);
}

static void other_scenarios_share_nothing(void **state)
{
    struct fixture a, b = {0};
    (void)state;
    two_runs(&a, &b, "cuda:0");
    fixture_free(&b);
    fixture_h200(&b);
    char *text = report("md", &a, &b, NULL);
    says(text, "of 0 rows");
    free(text);
    fixture_free(&a);
    fixture_free(&b);
}

static int make_folder(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/test_runs.XXXXXX");
    return mkdtemp(folder) ? 0 : 1;
}

static int remove_folder(void **state)
{
    char command[128];
    (void)state;
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_became_of_each_row),
        cmocka_unit_test(counts_are_exact),
        cmocka_unit_test(other_scenarios_share_nothing),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
