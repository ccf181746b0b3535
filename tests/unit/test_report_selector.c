/* How far a rule's choices are from the fastest rows, and which claims hold: counted by hand on times of three cases. */
#include "fixture_rows.h"
#include "item_text.h"
#include "report/page/case_document.h"
#include "report/view/claims.h"
#include "report/page/first_screen.h"
#include "report/view/selector.h"
#include "report/report.h"
#include "report/view/verdict.h"
#include "report/page/why.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void add(struct fixture *f, int index, const char *layer, const char *variant, const char *params, double us)
{
    struct row *r = fixture_row(f, index, layer, "", "conv2d 64->64 3x3  1x720x1280 f16 acc32 NHWC", variant, params, ROW_OK);
    fixture_time(r, -1, us, us / 500, r->row_index ? 0.5 : 1, 0.49, 0.51);
}

static char *told(const struct fixture *f)
{
    const struct report_style plain = {0};
    struct text t = {0};
    report_part(&t, selector_document, &f->run, f->rows, f->count, &plain);
    return text_take(&t);
}

static void choices_by_hand(void **state)
{
    struct fixture f = {0};
    fixture_run(&f.run, "grid", "cuda:0", "NVIDIA H200");
    add(&f, 0, "right", "conv2d/cudnn", "", 150);
    add(&f, 0, "right", "conv2d/auto", "is=wgmma_rs", 92); /* 2 % more than the best: the same kernel, measured twice */
    add(&f, 0, "right", "conv2d/wgmma_rs", "", 90);
    add(&f, 1, "slow", "conv2d/cudnn", "", 200);
    add(&f, 1, "slow", "conv2d/auto", "is=wgmma_rs", 120);
    add(&f, 1, "slow", "conv2d/wgmma_wide", "", 100);
    char *t = told(&f);
    assert_string_equal(t, "selector  auto is within 5 % of the fastest in 1 of 2 cases, more than 10 % behind cudnn in 0\n"
                           "          slow: wgmma_rs takes 20.0 % more than wgmma_wide\n");
    free(t);
    add(&f, 3, "noise", "conv2d/cudnn", "", 80);
    add(&f, 3, "noise", "conv2d/auto", "KB=64,TH=8,is=wgmma_rs", 60);
    add(&f, 3, "noise", "conv2d/wgmma_rs", "KB=64,TH=8", 50); /* the same point */
    add(&f, 4, "point", "conv2d/cudnn", "", 80);
    add(&f, 4, "point", "conv2d/auto", "KB=64,TH=8,is=wgmma_rs", 60);
    add(&f, 4, "point", "conv2d/wgmma_rs", "KB=32,TH=8", 50); /* another */
    t = told(&f);
    assert_string_equal(t, "selector  auto is within 5 % of the fastest in 2 of 4 cases, more than 10 % behind cudnn in 0\n"
                           "          slow: wgmma_rs takes 20.0 % more than wgmma_wide\n"
                           "          point: wgmma_rs takes 20.0 % more than wgmma_rs\n");
    free(t);
    fixture_free(&f);
    fixture_run(&f.run, "grid", "cuda:0", "NVIDIA H200");
    add(&f, 0, "right", "conv2d/cudnn", "", 150);
    add(&f, 0, "right", "conv2d/auto", "is=wgmma_rs", 92);
    add(&f, 1, "slow", "conv2d/cudnn", "", 200);
    add(&f, 1, "slow", "conv2d/auto", "is=wgmma_rs", 120);
    add(&f, 1, "slow", "conv2d/wgmma_wide", "", 100);
    add(&f, 2, "lost", "conv2d/cudnn", "", 80); /* the fastest is row 0 itself */
    add(&f, 2, "lost", "conv2d/auto", "is=wgmma_rs", 100);
    t = told(&f);
    assert_non_null(strstr(t, "in 1 of 3 cases, more than 10 % behind cudnn in 1\n"));
    assert_non_null(strstr(t, "lost: wgmma_rs takes 25.0 % more than cudnn, and is slower than the baseline\n"));
    free(t);
    add(&f, 3, "moved", "conv2d/copy", "", 50); /* does not do the op: nothing is behind it */
    f.rows[f.count - 1]->status = ROW_FOIL;
    add(&f, 3, "moved", "conv2d/auto", "is=wgmma_rs", 100);
    t = told(&f);
    assert_non_null(strstr(t, "in 2 of 4 cases, more than 10 % behind cudnn in 1\n"));
    free(t);
    fixture_free(&f);
}

/* A choice whose machine code another row has is one line of the table with it: the sentence has that line's time. */
static void a_choice_has_the_time_of_its_line(void **state)
{
    struct fixture f = {0};
    fixture_run(&f.run, "grid", "cuda:0", "NVIDIA H200");
    add(&f, 0, "slow", "conv2d/cudnn", "", 200);
    add(&f, 0, "slow", "conv2d/auto", "is=wgmma_rs", 125);
    add(&f, 0, "slow", "conv2d/wgmma_rs", "", 120);
    add(&f, 0, "slow", "conv2d/wgmma_wide", "", 100);
    add(&f, 1, "right", "conv2d/cudnn", "", 200);
    add(&f, 1, "right", "conv2d/auto", "is=wgmma_rs", 100);
    for (int i = 1; i < 3; i++)
        snprintf(f.rows[i]->launch_hash, sizeof f.rows[i]->launch_hash, "fd9d141c");
    char *t = told(&f);
    assert_non_null(strstr(t, "slow: wgmma_rs takes 20.0 % more than wgmma_wide\n"));
    free(t);
    fixture_free(&f);
}

/* Beyond a few sentences a table names the cases; only who loses to the baseline has a number there. */
static void many_choices_are_a_table(void **state)
{
    struct fixture f = {0};
    struct document d = {0};
    struct text t = {0};
    fixture_run(&f.run, "grid", "cuda:0", "NVIDIA H200");
    for (int i = 0; i < 11; i++) {
        char layer[8];
        snprintf(layer, sizeof layer, "l%d", i);
        add(&f, i, layer, "conv2d/cudnn", "", i ? 150 : 100);
        add(&f, i, layer, "conv2d/auto", "is=wgmma_rs", 120);
        add(&f, i, layer, "conv2d/wgmma_wide", "", 90);
    }
    selector_document(&d, &f.run, f.rows, f.count);
    form_markdown.write(&t, &d, &(struct report_style){0});
    if (!strstr(text_get(&t), "in 0 of 11 cases, more than 10 % behind cudnn in 1\n\n"
                              "| case | choice | % more time | than | % behind the baseline |\n|---|---|---:|---|---:|\n"
                              "| l0 | wgmma_rs | 33.3 | wgmma_wide | 20.0 |\n| l1 | wgmma_rs | 33.3 | wgmma_wide | |\n") ||
        strstr(text_get(&t), "takes"))
        fail_msg("%s", text_get(&t));
    text_free(&t);
    document_free(&d);
    fixture_free(&f);
}

/* Rows from the first on are of a case with a mask. */
static void give_mask(const struct fixture *f, int first, double density)
{
    for (int i = first; i < f->count; i++) {
        f->rows[i]->density_in = density;
        f->rows[i]->flop = f->rows[i]->flop_scheduled = 100e9;
    }
}

/* Its dense choice in a case with a mask is not compared with sparse variants, which it cannot choose. */
static void dense_rules_are_judged_without_masks(void **state)
{
    struct fixture f = {0};
    fixture_run(&f.run, "grid", "cuda:0", "NVIDIA H200");
    static const char *const layers[] = {"head", "body", "masked"};
    for (int i = 0; i < 3; i++) {
        add(&f, i, layers[i], "conv2d/cudnn", "", 150);
        add(&f, i, layers[i], "conv2d/auto", "is=wgmma_rs", 90);
    }
    add(&f, 2, "masked", "conv2d/sparse_auto", "is=wgmma_rs", 30);
    give_mask(&f, 4, 0.1);
    char *t = told(&f);
    assert_string_equal(t, "selector  auto is within 5 % of the fastest in 2 of 2 cases, more than 10 % behind cudnn in 0\n");
    free(t);
    fixture_free(&f);
}

/* Where there is a mask, the rule over dense variants is not held against a sparse row; the one over sparse variants is. */
static void masked_cases_ask_the_sparse_rule(void **state)
{
    struct fixture f = {0};
    fixture_run(&f.run, "grid", "cuda:0", "NVIDIA H200");
    for (int i = 0; i < 2; i++) {
        add(&f, i, i ? "full" : "few", "conv2d/cudnn", "", 150);
        add(&f, i, i ? "full" : "few", "conv2d/auto", "is=wgmma_rs", 90);
        add(&f, i, i ? "full" : "few", "conv2d/sparse_auto", "is=sparse_either", i ? 120 : 30);
    }
    for (int i = 0; i < f.count; i++) {
        f.rows[i]->density_in = i < 3 ? 0 : 1; /* a mask that marks nothing is one, too */
        f.rows[i]->flop = f.rows[i]->flop_scheduled = 100e9;
        row_set(&f.rows[i]->tile, i % 3 == 2 ? "8x8" : NULL);
    }
    for (int i = 0; i < f.count; i++) /* the case is named and not its layer, which many have; their baselines may have many names */
        row_set(&f.rows[i]->case_name, i < 3 ? "few" : "full[mask=full,n=4]");
    fixture_variant(f.rows[0], "conv2d/cudnn_plain");
    char *t = told(&f);
    assert_string_equal(t, "selector  sparse_auto is within 5 % of the fastest in 1 of 2 cases, more than 10 % behind the baseline in 0\n"
                           "          full[mask=full,n=4]: sparse_either takes 33.3 % more than auto\n");
    free(t);
    add(&f, 2, "few", "conv2d/cudnn", "", 150); /* who is no rival at a density that a bisection added may not have run there */
    add(&f, 2, "few", "conv2d/sparse_auto", "is=sparse_either", 140);
    for (int i = f.count - 2; i < f.count; i++) {
        f.rows[i]->density_in = 0.5;
        f.rows[i]->flop = f.rows[i]->flop_scheduled = 100e9;
        row_set(&f.rows[i]->tile, i == f.count - 1 ? "8x8" : NULL);
        row_set(&f.rows[i]->like_case, "grid/few");
    }
    t = told(&f);
    assert_non_null(strstr(t, "in 1 of 2 cases"));
    free(t);
    add(&f, 3, "dense", "conv2d/cudnn", "", 150); /* the same rule took a dense kernel, by measurement */
    add(&f, 3, "dense", "conv2d/auto", "is=wgmma_rs", 90);
    add(&f, 3, "dense", "conv2d/sparse_auto", "is=wgmma_rs", 100);
    snprintf(f.rows[f.count - 1]->chosen_by, sizeof f.rows[0]->chosen_by, "measured");
    give_mask(&f, f.count - 3, 0.9);
    t = told(&f);
    if (!strstr(t, "in 1 of 3 cases, more than 10 % behind the baseline in 0; 1 of the choices was measured before\n") ||
        !strstr(t, "dense: wgmma_rs takes 11.1 % more than auto\n"))
        fail_msg("%s", t);
    free(t);
    fixture_free(&f);
}

static void answers(struct document *d, const struct run *run, struct row *const *rows, int count)
{
    answer_document(d, run, rows, count, NULL);
}

/* The gain of the fastest row is the paired ratio of its table, not the quotient of two medians. Where row 0 only moves the bytes, no row
 * has a gain over it. */
static void the_gain_is_that_of_the_tables(void **state)
{
    static const char *const names[] = {"gains", "loses", "moved"};
    const struct report_style plain = {0};
    struct fixture f = {0};
    struct text t = {0};
    fixture_run(&f.run, "grid", "cuda:0", "NVIDIA H200");
    row_set(&f.run.scenario_text, "answers:\n  - best_per_layer: {against: cudnn}\n");
    for (int i = 0; i < 3; i++) {
        struct row *base = fixture_row(&f, i, names[i], "", "conv2d 64->64 3x3  1x720x1280 f16 acc32 NHWC",
                                       i == 2 ? "conv2d/copy" : "conv2d/cudnn", "", i == 2 ? ROW_FOIL : ROW_OK);
        fixture_time(base, -1, 100, 1, 1, 1, 1);
        base->library = i < 2;
        struct row *r = fixture_row(&f, i, names[i], "", "conv2d 64->64 3x3  1x720x1280 f16 acc32 NHWC", "conv2d/mine", "", ROW_OK);
        fixture_time(r, -1, i ? 110 : 50, 1, i ? 0.9 : 2.25, i ? 0.89 : 2.2, i ? 0.91 : 2.3);
    }
    report_part(&t, answers, &f.run, f.rows, f.count, &plain);
    if (!strstr(text_get(&t), "1.50x as fast as the baseline, geometric mean of 2 cases (1.00 to 2.25); the baseline is the fastest in 1. "
                              "Without the library's rows: 1.42x (0.900 to 2.25, 2 cases)"))
        fail_msg("%s", text_get(&t));
    text_free(&t);
    fixture_free(&f);
}

/* What `next` proposes finds one row: a variant with several configurations is called by its id. */
static void next_finds_one_row(void **state)
{
    const struct report_style plain = {0};
    struct fixture f = {0};
    struct error err = {0};
    fixture_run(&f.run, "grid", "cuda:0", "NVIDIA H200");
    add(&f, 0, "two", "conv2d/cudnn", "", 150);
    add(&f, 0, "two", "conv2d/best", "launch=graph", 90);
    add(&f, 0, "two", "conv2d/best", "launch=stream", 95);
    add(&f, 1, "one", "conv2d/cudnn", "", 150);
    add(&f, 1, "one", "conv2d/best", "launch=graph", 90);
    static const char *const want[] = {"next  bench why 'grid/two/conv2d/best[launch=graph]' ", "next  bench why one best "};
    for (int i = 0; i < 2; i++) {
        struct case_view c;
        struct document d = {0};
        struct text t = {0};
        case_view_make(&c, &f.run, f.rows + 3 * i, 3 - i);
        case_document(&d, &c, NULL);
        form_terminal.write(&t, &d, &plain);
        if (!strstr(text_get(&t), want[i]))
            fail_msg("no '%s' in %s", want[i], text_get(&t));
        text_free(&t);
        document_free(&d);
        case_view_free(&c);
    }
    assert_int_equal(why_find(f.rows, f.count, "one best", &err), 4);
    fixture_free(&f);
}

static void nothing_without_a_rule(void **state)
{
    struct fixture f = {0};
    fixture_run(&f.run, "grid", "cuda:0", "NVIDIA H200");
    add(&f, 0, "a", "conv2d/cudnn", "", 150);
    add(&f, 0, "a", "conv2d/tconv", "IS=4,thesis=2", 92); /* other names that end so */
    add(&f, 1, "b", "conv2d/cudnn", "", 150);
    add(&f, 1, "b", "conv2d/tconv", "IS=4,thesis=2", 92);
    char *t = told(&f);
    assert_string_equal(t, "");
    free(t);
    fixture_free(&f);
}

/* A row that says of itself that it is at par (1), nothing of it (0), or comes from a store that does not know (-1). */
static void claim(struct fixture *f, int index, const char *variant, int claims, double us, double ratio)
{
    struct row *r = fixture_row(f, index, index ? "b" : "a", "", "conv2d 64->64 3x3  1x720x1280 f16 acc32 NHWC", variant, "", ROW_OK);
    r->claims = claims;
    fixture_time(r, -1, us, us / 500, ratio, ratio == 1 ? 1 : ratio - 0.01, ratio == 1 ? 1 : ratio + 0.01);
}

static void claims_by_hand(void **state)
{
    struct fixture f = {0};
    const struct report_style plain = {0};
    struct text t = {0};
    fixture_run(&f.run, "grid", "cuda:0", "NVIDIA H200");
    claim(&f, 0, "conv2d/cudnn", 0, 100, 1);
    claim(&f, 0, "conv2d/wgmma_rs", 1, 90, 1.11);
    claim(&f, 0, "conv2d/naive", 0, 9000, 0.0111); /* promised nothing */
    claim(&f, 1, "conv2d/cudnn", 0, 100, 1);
    claim(&f, 1, "conv2d/wgmma_rs", 1, 109, 0.917); /* 9 % behind: at par */
    claim(&f, 1, "conv2d/old", -1, 9000, 0.0111);
    report_part(&t, claims_document, &f.run, f.rows, f.count, &plain);
    assert_string_equal(text_get(&t), "claims  2 of 2 rows that claim their shape are at most 10 % slower than the library\n");
    text_free(&t);
    claim(&f, 1, "conv2d/wgmma_wide", 1, 114, 0.877);
    report_part(&t, claims_document, &f.run, f.rows, f.count, &plain);
    assert_string_equal(text_get(&t), "claims  2 of 3 rows that claim their shape are at most 10 % slower than the library\n        b: "
                                      "wgmma_wide claims this shape, but takes 1.14x the time of cudnn\n");
    text_free(&t);
    struct case_view c;
    struct document d = {0};
    f.rows[3]->floor_ns = 102.1e3; /* 100 us: 2.1 % below */
    strcpy(f.rows[3]->floor_by, "memory");
    f.rows[4]->floor_ns = 111e3;   /* 109 us: 1.8 % below, which clocks may do */
    f.rows[4]->prepare_ns = 110e3; /* a microsecond more than its 109 */
    f.rows[6]->prepare_ns = 110e3; /* 114 */
    case_view_make(&c, &f.run, f.rows + 3, 4);
    struct judge judge;
    judge_open(&judge);
    case_judge(&c, &judge); /* by limits.yaml */
    struct block *list = document_list(&d, DETAIL_ALWAYS);
    case_notes(&c, list);
    assert_int_equal(list->item_count, 3);
    item_text(list->items, &t);
    assert_string_equal(text_get(&t), "cudnn: 100 us is faster than the speed of light of its algorithm on this chip (102 us, memory): the "
                                      "head, the data sheet or the timing is wrong");
    text_free(&t);
    item_text(list->items + 1, &t);
    assert_string_equal(text_get(&t), "wgmma_rs: prepares for 110 us outside the timed part, longer than the timed part (109 us)");
    text_free(&t);
    item_text(list->items + 2, &t);
    assert_string_equal(text_get(&t), "wgmma_wide: claims this shape, but takes 1.14x the time of cudnn");
    text_free(&t);
    document_free(&d);
    case_view_free(&c);
    judge_close(&judge);
    fixture_free(&f);
}

/* Two names of one machine code claim once, with the time of the row that stands for both. */
static void one_code_claims_once(void **state)
{
    struct fixture f = {0};
    const struct report_style plain = {0};
    struct text t = {0};
    fixture_run(&f.run, "grid", "cuda:0", "NVIDIA H200");
    claim(&f, 1, "conv2d/cudnn", 0, 100, 1);
    claim(&f, 1, "conv2d/fma_any", 1, 114, 0.877);
    claim(&f, 1, "conv2d/auto", 1, 116, 0.862);
    for (int i = 1; i < 3; i++)
        snprintf(f.rows[i]->launch_hash, sizeof f.rows[i]->launch_hash, "fd9d141c");
    for (int alone = 0; alone < 2; alone++) {
        f.rows[1]->claims = !alone;
        report_part(&t, claims_document, &f.run, f.rows, f.count, &plain);
        SCOPED char *wanted =
            text_format("claims  0 of 1 rows that claim their shape are at most 10 %% slower than the library\n        b: "
                        "%s claims this shape, but takes 1.14x the time of cudnn\n",
                        alone ? "auto" : "fma_any");
        assert_string_equal(text_get(&t), wanted);
        text_free(&t);
    }
    fixture_free(&f);
}

/* Without the library nothing is proved and nothing broken. */
static void no_library_no_claim(void **state)
{
    struct fixture f = {0};
    struct text t = {0};
    fixture_run(&f.run, "grid", "cuda:0", "NVIDIA H200");
    claim(&f, 0, "depth_to_space/copy", 0, 100, 1);
    claim(&f, 0, "depth_to_space/d2s_native", 1, 150, 0.667);
    report_part(&t, claims_document, &f.run, f.rows, f.count, &(struct report_style){0});
    assert_int_equal(t.len, 0);
    fixture_free(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(choices_by_hand),
                                       cmocka_unit_test(a_choice_has_the_time_of_its_line),
                                       cmocka_unit_test(many_choices_are_a_table),
                                       cmocka_unit_test(dense_rules_are_judged_without_masks),
                                       cmocka_unit_test(masked_cases_ask_the_sparse_rule),
                                       cmocka_unit_test(the_gain_is_that_of_the_tables),
                                       cmocka_unit_test(next_finds_one_row),
                                       cmocka_unit_test(nothing_without_a_rule),
                                       cmocka_unit_test(claims_by_hand),
                                       cmocka_unit_test(one_code_claims_once),
                                       cmocka_unit_test(no_library_no_claim)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
