/* report/view/tune: Boda's three columns, against sums done by hand: one point for all layers, each layer's best, the library. */
#include "fixture_rows.h"
#include "report/form/document.h"
#include "report/report.h"
#include "report/view/tune.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum fate { BEST, TIED, DROPPED, TWIN, REFUSED, OUTSIDE, WRONG };

static struct row *point(struct fixture *f, int index, const char *layer, const char *params, enum fate fate, double us, double library_us,
                         const char *twin)
{
    bool timed = fate <= DROPPED || fate == WRONG;
    struct row *r = fixture_row(f, index, layer, "", "conv2d 64->64 3x3", "conv2d/tconv", params,
                                fate == WRONG ? ROW_WRONG
                                : timed       ? ROW_OK
                                              : ROW_INFEASIBLE);
    r->repeat = index ? 10 : 1;
    if (timed || fate == REFUSED || fate == TWIN)
        fixture_step(r, "conv_tconv", 64, fate == REFUSED ? 40 : 0, 12, 0.5, "regs");
    if (timed)
        fixture_time(r, -1, us, us / 500, library_us / us, library_us / us * 0.99, library_us / us * 1.01);
    if (fate == TWIN) {
        char *reason = text_format("same launches of the same machine code as %s", twin);
        row_set(&r->reason, reason);
        free(reason);
        r->twin = text_format("%s/conv2d/tconv[%s]", r->case_id, twin);
    }
    if (fate == REFUSED || fate == OUTSIDE)
        row_set(&r->reason, fate == REFUSED ? "conv_tconv spills: 40 bytes" : "where registers <= 224: 663 > 224");
    if (fate <= DROPPED)
        row_add_metric(r, -1, 0,
                       fate == BEST   ? "tune.best_of"
                       : fate == TIED ? "tune.tied_with_best"
                                      : "tune.dropped_after",
                       "rounds", "model", 9);
    return r;
}

static void library(struct fixture *f, int index, const char *layer, double us, double plain_us)
{
    struct row *r = fixture_row(f, index, layer, "", "conv2d 64->64 3x3", "conv2d/cudnn", "", ROW_OK);
    fixture_time(r, -1, us, us / 500, 1, 1, 1);
    r->repeat = index ? 10 : 1;
    r = fixture_row(f, index, layer, "", "conv2d 64->64 3x3", "conv2d/cudnn_plain + pointwise/epilogue", "", ROW_OK);
    fixture_time(r, -1, plain_us, us / 500, us / plain_us, 1, 1);
    r->repeat = index ? 10 : 1;
}

/* Layer `thin` runs once, `wide` ten times. T=4 is the best on thin, T=8 on wide, where T=4 does not exist and T=16 is the same code as
 * T=8. Both T=16 and T=8 run on both layers: T=16 itself on thin, and through T=8 on wide. T=8 costs 30 + 10 x 100, T=16 costs 25 + 10 x
 * 100: T=16 is the best single configuration. */
static void two_layers(struct fixture *f)
{
    fixture_run(&f->run, "boda", "cuda:0", "NVIDIA H200");
    library(f, 0, "thin", 50, 40);
    point(f, 0, "thin", "T=4", BEST, 20, 40, NULL);
    point(f, 0, "thin", "T=8", DROPPED, 30, 40, NULL);
    point(f, 0, "thin", "T=16", DROPPED, 25, 40, NULL);
    point(f, 0, "thin", "T=32", WRONG, 1, 40, NULL);
    library(f, 1, "wide", 200, 300);
    point(f, 1, "wide", "T=4", OUTSIDE, 0, 0, NULL);
    point(f, 1, "wide", "T=8", BEST, 100, 200, NULL);
    point(f, 1, "wide", "T=16", TWIN, 0, 0, "T=8");
    point(f, 1, "wide", "T=32", REFUSED, 0, 0, NULL);
    point(f, 1, "wide", "T=64", TIED, 100.1, 200, NULL);
}

static char *told(const struct fixture *f)
{
    struct text t = {0};
    const struct report_style plain = {0};
    report_part(&t, tune_document, &f->run, f->rows, f->count, &plain);
    return text_take(&t);
}

/* The line of a table, with runs of blanks as one. */
static char *line_of(const char *text, const char *first_word)
{
    struct text t = {0};
    for (const char *at = text; at; at = strchr(at, '\n') ? strchr(at, '\n') + 1 : NULL) {
        if (strncmp(at, first_word, strlen(first_word)))
            continue;
        for (; *at && *at != '\n'; at++)
            if (*at != ' ' || (t.len && t.data[t.len - 1] != ' '))
                text_add_bytes(&t, at, 1);
        return text_take(&t);
    }
    fail_msg("no line '%s' in: %s", first_word, text);
    return NULL;
}

static void expect_line(const char *text, const char *first_word, const char *want)
{
    char *line = line_of(text, first_word);
    if (strcmp(line, want))
        fail_msg("got  %s\nwant %s", line, want);
    free(line);
}

static void three_columns(void **state)
{
    struct fixture f = {0};
    two_layers(&f);
    char *text = told(&f);
    expect_line(text, "thin",
                "thin 40.0 25.00 1.60 20.00 2.00 3 1 T=4"); /* the library's faster row; the wrong point is none of the timed */
    expect_line(text, "wide", "wide 200.0 100.0 2.00 100.0 2.00 2 2 T=8");
    expect_line(text, "sum", "sum 2,040 1,025 1.99 1,020 2.00"); /* 40 + 2000, 25 + 1000, 20 + 1000 */
    expect_line(text, "one for all", "one for all T=16, right on 2 of 2 layers");
    expect_line(text, "9 configurations",
                "9 configurations on 2 layers: 5 right, 5 of them timed; 1 violate the variant's conditions, 1 spill or do not fit, 1 "
                "duplicate another, 1 failed");
    expect_line(text, "failed", "failed T=32 on thin: wrong");
    assert_non_null(strstr(text, "interleaved with cudnn"));
    free(text);
    fixture_free(&f);
}

/* A layer without any right point is in the table, and not in the sum. */
static void a_layer_without_a_point(void **state)
{
    struct fixture f = {0};
    two_layers(&f);
    library(&f, 2, "lost", 10, 20);
    point(&f, 2, "lost", "T=4", OUTSIDE, 0, 0, NULL);
    char *text = told(&f);
    expect_line(text, "lost", "lost 10.00 - - 0 0 none was right");
    expect_line(text, "sum ", "sum 2,040 1,025 1.99 1,020 2.00");
    expect_line(text, "one for all", "one for all T=16, right on 2 of 3 layers");
    expect_line(text, "sum   total", "sum total of the 2 layers where all three have a time, weighted by the number of runs");
    free(text);
    fixture_free(&f);
}

/* The failed configurations are named with their reasons; of many, the first ten. */
static void failures_are_named(void **state)
{
    struct fixture f = {0};
    two_layers(&f);
    for (int i = 0; i < 14; i++) {
        SCOPED char *params = text_format("T=%d", 100 + i);
        struct row *r = point(&f, 2, "more", params, WRONG, 1, 40, NULL);
        row_set(&r->reason, "output(0) = 1, want 2\nand a second line");
    }
    char *text = told(&f);
    assert_non_null(strstr(text, "T=100 on more: wrong: output(0) = 1, want 2 and a second line\n"));
    assert_non_null(strstr(text, "T=108 on more"));
    assert_null(strstr(text, "T=109 on more"));
    assert_non_null(strstr(text, "and 5 more: bench show lists them"));
    free(text);
    fixture_free(&f);
}

/* Markdown has the same table; a run that searched nothing has none. */
static void markdown_has_it(void **state)
{
    struct fixture f = {0};
    struct text t = {0};
    two_layers(&f);
    assert_true(report_whole(&t, &form_markdown, &f.run, f.rows, f.count, NULL, NULL));
    const char *search = strstr(text_get(&t), "### tune ");
    assert_non_null(search);
    assert_non_null(strstr(search, "\n| thin | 40.0 | 25.00 | 1.60 | 20.00 | 2.00 | 3 | 1 | T=4 |\n"));
    text_free(&t);
    fixture_free(&f);
    fixture_h200(&f);
    assert_true(report_whole(&t, &form_markdown, &f.run, f.rows, f.count, NULL, NULL));
    assert_null(strstr(text_get(&t), "### tune "));
    text_free(&t);
    fixture_free(&f);
}

static void no_search_no_table(void **state)
{
    struct fixture f = {0};
    fixture_h200(&f);
    char *text = told(&f);
    assert_string_equal(text, "");
    free(text);
    fixture_free(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(failures_are_named), cmocka_unit_test(three_columns),
                                       cmocka_unit_test(a_layer_without_a_point), cmocka_unit_test(markdown_has_it),
                                       cmocka_unit_test(no_search_no_table)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
