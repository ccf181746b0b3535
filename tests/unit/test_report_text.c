/* The terminal, the summary, the network and Markdown, as golden texts; and what must hold whatever the golden says. */
#include "fixture_rows.h"
#include "item_text.h"
#include "report/page/case_document.h"
#include "report/page/first_screen.h"
#include "report/page/network.h"
#include "report/view/view.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "golden.h"

static void whole(struct text *t, const struct fixture *f, const struct report_style *style)
{
    report_cases(t, &f->run, f->rows, f->count, style);
    report_part(t, network_document, &f->run, f->rows, f->count, style);
    report_summary(t, &f->run, f->rows, f->count, 372, 4, style);
}

static void golden_of(const char *name, struct fixture *f, const struct report_style *style)
{
    struct text t = {0};
    whole(&t, f, style);
    golden(name, text_get(&t));
    text_free(&t);
    fixture_free(f);
}

static void terminal_h200(void **state)
{
    struct fixture f = {0};
    fixture_h200(&f);
    golden_of("terminal_h200.txt", &f, &(struct report_style){.width = 110});
}

static void terminal_emu(void **state)
{
    struct fixture f = {0};
    fixture_emu(&f);
    golden_of("terminal_emu.txt", &f, &(struct report_style){0});
}

static void terminal_ascii_narrow(void **state)
{
    struct fixture f = {0};
    fixture_run(&f.run, "edsr_sparse", "cuda:0", "NVIDIA H200");
    fixture_sparse_case(&f, 0);
    struct text t = {0};
    whole(&t, &f, &(struct report_style){.width = 72, .ascii = true});
    for (const char *p = text_get(&t); *p; p++)
        assert_true((unsigned char)*p < 128);
    text_free(&t);
    golden_of("terminal_ascii.txt", &f, &(struct report_style){.width = 72, .ascii = true});
}

static void terminal_colour(void **state)
{
    struct fixture f = {0};
    fixture_run(&f.run, "edsr_sparse", "cuda:0", "NVIDIA H200");
    fixture_sparse_case(&f, 0);
    struct text t = {0}, plain = {0};
    whole(&t, &f, &(struct report_style){.color = true});
    whole(&plain, &f, &(struct report_style){0});
    assert_null(strchr(text_get(&plain), '\033'));
    /* colour adds nothing but colour */
    struct text bare = {0};
    for (const char *p = text_get(&t); *p; p++)
        if (*p == '\033')
            p += strcspn(p, "m");
        else
            text_add_bytes(&bare, p, 1);
    assert_string_equal(text_get(&bare), text_get(&plain));
    text_free(&t);
    text_free(&plain);
    text_free(&bare);
    fixture_free(&f);
}

static void markdown(void **state)
{
    struct fixture f = {0};
    struct text t = {0};
    fixture_h200(&f);
    assert_true(report_whole(&t, &form_markdown, &f.run, f.rows, f.count, NULL, NULL));
    golden("report_h200.md", text_get(&t));
    text_free(&t);
    fixture_free(&f);
    fixture_emu(&f);
    assert_true(report_whole(&t, &form_markdown, &f.run, f.rows, f.count, NULL, NULL));
    golden("report_emu.md", text_get(&t));
    text_free(&t);
    fixture_free(&f);
}

/* A wrong row is never ranked, whatever time was taken of it; row 0 is 0; the order is the times'. */
static void ranking(void **state)
{
    struct fixture f = {0};
    struct case_view c;
    fixture_run(&f.run, "edsr_sparse", "cuda:0", "NVIDIA H200");
    fixture_sparse_case(&f, 0);
    for (enum row_status s = 0; s < ROW_STATUS_COUNT; s++) {
        for (int i = 0; i < f.count; i++) /* the fastest of all is the one that failed */
            if (strstr(f.rows[i]->id, "TH=16,TW=32"))
                f.rows[i]->status = s;
        case_view_make(&c, &f.run, f.rows, f.count);
        assert_string_equal(case_best(&c)->name, s == ROW_OK ? "my/halo_regs TH16 TW32" : "sparse_tile");
        double last = 0;
        int rank = 0;
        for (int i = 0; i < c.count; i++) {
            const struct view *v = &c.views[c.order[i]];
            if (v->ranked && v->row->status == ROW_OK) {
                assert_int_equal(v->rank, rank);
                assert_true(rank == 0 || v->time->median_ns >= last);
                last = rank++ ? v->time->median_ns : 0;
            } else {
                assert_int_equal(v->rank, -1);
            }
        }
        case_view_free(&c);
    }
    fixture_free(&f);
}

/* Rows of one time keep the scenario's order and have a rank each; row 0 stays row 0 when it is one of them. */
static void ranking_of_a_tie(void **state)
{
    static const char *const names[] = {"conv2d/cudnn", "my/late", "conv2d/naive", "conv2d/tconv", "my/slow"};
    static const double us[] = {20, 20, 20, 10, 30};
    static const int order[] = {0, 3, 1, 2, 4};
    struct fixture f = {0};
    struct case_view c;
    fixture_run(&f.run, "t", "cuda:0", "NVIDIA H200");
    for (int i = 0; i < 5; i++)
        fixture_time(fixture_row(&f, 0, "a", "", "conv2d 8->8 3x3", names[i], "", ROW_OK), -1, us[i], 0.1, 20 / us[i], 0.9, 1.1);
    case_view_make(&c, &f.run, f.rows, f.count);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(c.order[i], order[i]);
        assert_int_equal(c.views[c.order[i]].rank, i);
    }
    case_view_free(&c);
    fixture_free(&f);
}

/* Rows of one machine code, launched alike, that lie further apart than noise: said once, of the outer two. */
static void placement_is_said(void **state)
{
    static const struct {
        const char *variant, *code;
        double us;
        int blocks;
    } rows[] = {{"conv2d/cudnn", "", 40, 80}, {"conv2d/auto", "aa", 24, 80},    {"conv2d/mma_sync", "aa", 30, 80},
                {"my/copy", "aa", 26, 80},    {"my/more_blocks", "aa", 35, 81}, {"my/other", "bb", 20, 80},
                {"my/near", "bb", 20.1, 80},  {"my/graph", "aa", 20, 80}}; /* the last in another way */
    struct fixture f = {0};
    struct case_view c;
    struct text t = {0};
    fixture_run(&f.run, "t", "cuda:0", "NVIDIA H200");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct row *r = fixture_row(&f, 0, "a", "", "conv2d 8->8 3x3", rows[i].variant, "", ROW_OK);
        struct row_step *s = fixture_step(r, "conv", 32, 0, 8, 0.5, "regs");
        snprintf(s->sass_hash, sizeof s->sass_hash, "%s", rows[i].code);
        s->grid[0] = rows[i].blocks;
        snprintf(r->launch_hash, sizeof r->launch_hash, "%s", strcmp(rows[i].variant, "my/graph") ? "kernels" : "graph");
        fixture_time(r, -1, rows[i].us, 0.2, 40 / rows[i].us, 0.9, 1.1);
    }
    case_view_make(&c, &f.run, f.rows, f.count);
    struct document d = {0};
    struct block *list = document_list(&d, DETAIL_ALWAYS);
    case_notes(&c, list);
    assert_int_equal(list->item_count, 1);
    item_text(list->items, &t);
    assert_string_equal(text_get(&t),
                        "mma_sync: has the same machine code as auto but is 25.0 % slower: the placement of the buffers affects the time");
    text_free(&t);
    document_free(&d);
    case_view_free(&c);
    fixture_free(&f);
}

/* Of a density that a bisection added not all variants are known: who wins there is not said. */
static void added_densities_have_no_winner(void **state)
{
    struct fixture f = {0};
    struct document d = {0};
    struct text t = {0};
    fixture_run(&f.run, "t", "cuda:0", "NVIDIA H200");
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < 2; k++) {
            struct row *r = fixture_row(&f, i, "a", i ? "mask=iid:0.15" : "mask=iid:0.1", "conv2d 8->8 3x3",
                                        k ? "conv2d/own" : "conv2d/cudnn", "", ROW_OK);
            fixture_time(r, -1, k ? 20 : 40, 0.2, k ? 2 : 1, k ? 1.9 : 1, k ? 2.1 : 1);
            row_set(&r->like_case, i ? "t/a[mask=iid:0.1]" : NULL);
        }
    first_screen(&d, &f.run, f.rows, f.count, NULL);
    form_html.write(&t, &d, &(struct report_style){0});
    static const char *const there[] = {"4 of 4 rows", "in 1 of 1 timed cases", "iid-0-1-"}; /* where its link leads */
    for (int i = 0; i < 3; i++)
        if (!strstr(text_get(&t), there[i]))
            fail_msg("no '%s' in %s", there[i], text_get(&t));
    assert_null(strstr(text_get(&t), "iid-0-15"));
    text_free(&t);
    document_free(&d);
    fixture_free(&f);
}

/* Of a case without a baseline nothing is too close to tell; a copy, which does not do the op, is none. */
static void nobody_to_beat(void **state)
{
    struct fixture f = {0};
    struct document d = {0};
    struct text t = {0};
    fixture_run(&f.run, "t", "cuda:0", "NVIDIA H200");
    for (int i = 0; i < 2; i++) {
        struct row *base = fixture_row(&f, i, i ? "b" : "a", "", "points", "stages/apart", "", i ? ROW_INFEASIBLE : ROW_OK);
        if (!i)
            fixture_time(base, -1, 40, 0.2, 1, 1, 1);
        struct row *r = fixture_row(&f, i, i ? "b" : "a", "", "points", "points/own", "", ROW_OK);
        if (i)
            fixture_time(fixture_row(&f, i, "b", "", "points", "points/other", "", ROW_OK), -1, 30, 0.2, NAN, NAN, NAN);
        fixture_time(r, -1, 20, 0.2, i ? NAN : 2, i ? NAN : 1.9, i ? NAN : 2.1);
    }
    fixture_time(fixture_row(&f, 2, "c", "", "points", "conv2d/copy", "", ROW_FOIL), -1, 10, 0.1, 1, 1, 1);
    fixture_time(fixture_row(&f, 2, "c", "", "points", "points/moves", "", ROW_OK), -1, 20, 0.2, 0.5, 0.49, 0.51);
    first_screen(&d, &f.run, f.rows, f.count, NULL);
    form_html.write(&t, &d, &(struct report_style){0});
    assert_non_null(
        strstr(text_get(&t), "a variant is significantly faster than the baseline in 1 of 3 timed cases, without a baseline in 2"));
    assert_null(strstr(text_get(&t), "too close to tell"));
    assert_null(strstr(text_get(&t), "no variant is faster; moves is next"));
    text_free(&t);
    document_free(&d);
    fixture_free(&f);
}

/* Such a density is a line of a table, on a screen its rows; a wrong row is shown in full, and everything where a case is asked for. */
static void added_densities_are_lines(void **state)
{
    struct fixture f = {0};
    struct text t = {0};
    fixture_run(&f.run, "t", "cuda:0", "NVIDIA H200");
    for (int i = 0; i < 4; i++) {
        struct row *r = fixture_row(&f, i / 2, "a", i / 2 ? "mask=iid:0.15" : "mask=iid:0.1", "conv2d 8->8 3x3",
                                    i % 2 ? "conv2d/own" : "conv2d/cudnn", "", ROW_OK);
        fixture_time(r, -1, i % 2 ? 20 : 40, 0.2, i % 2 ? 2 : 1, i % 2 ? 1.9 : 1, i % 2 ? 2.1 : 1);
        r->density_in = i / 2 ? 0.15 : 0.1;
        row_set(&r->like_case, i / 2 ? "t/a[mask=iid:0.1]" : NULL);
    }
    for (int whole = 0; whole < 2; whole++) {
        report_cases(&t, &f.run, f.rows, f.count, &(struct report_style){.whole = whole});
        char *added = strstr(text_get(&t), "t/a[mask=iid:0.15]");
        assert_non_null(added);
        assert_non_null(strstr(added, "1  own "));
        assert_true((strstr(added, "bench why") != NULL) == whole);
        text_free(&t);
    }
    for (int wrong = 0; wrong < 2; wrong++) {
        f.rows[3]->status = wrong ? ROW_WRONG : ROW_OK;
        row_set(&f.rows[3]->reason, wrong ? "element 7 is 3, not 4" : NULL);
        assert_true(report_whole(&t, &form_markdown, &f.run, f.rows, f.count, NULL, NULL));
        if (!strstr(text_get(&t), "## t/a\\[mask=iid:0.1\\]\n") || !strstr(text_get(&t), "| iid:0.15 added |") ||
            (strstr(text_get(&t), "## t/a\\[mask=iid:0.15\\]\n") != NULL) != wrong ||
            (strstr(text_get(&t), "element 7 is 3, not 4") != NULL) != wrong)
            fail_msg("%d: %s", wrong, text_get(&t));
        text_free(&t);
    }
    fixture_free(&f);
}

/* emu ranks nothing and shows no time, even when a row came with one. */
static void emu_has_no_time(void **state)
{
    struct fixture f = {0};
    struct case_view c;
    fixture_emu(&f);
    fixture_time(f.rows[1], -1, 777, 1, 2, 1.9, 2.1);
    case_view_make(&c, &f.run, f.rows, f.count);
    assert_null(case_best(&c));
    for (int i = 0; i < c.count; i++) {
        assert_int_equal(c.order[i], i);
        assert_false(c.views[i].ranked);
    }
    case_view_free(&c);
    struct text t = {0};
    whole(&t, &f, &(struct report_style){0});
    assert_null(strstr(text_get(&t), "777"));
    assert_null(strstr(text_get(&t), "time us"));
    text_free(&t);
    fixture_free(&f);
}

static void absent_is_not_zero(void **state)
{
    struct fixture f = {0};
    fixture_run(&f.run, "s", "cuda:0", "GPU");
    fixture_row(&f, 0, "l", "", "conv2d", "conv2d/naive", "", ROW_OK); /* verified, no facts, no time */
    struct text t = {0};
    whole(&t, &f, &(struct report_style){0});
    assert_non_null(strstr(text_get(&t), "not timed"));
    assert_null(strstr(text_get(&t), "regs"));
    text_free(&t);
    fixture_free(&f);
}

static void every_failure_is_said(void **state)
{
    static const enum row_status bad[] = {ROW_WRONG, ROW_UNSAFE, ROW_CRASHED, ROW_HUNG, ROW_BROKEN};
    struct fixture f = {0};
    struct text t = {0};
    fixture_run(&f.run, "s", "cuda:0", "GPU");
    for (int i = 0; i < 5; i++) {
        char name[32];
        snprintf(name, sizeof name, "my/v%d", i);
        row_set(&fixture_row(&f, 0, "l", "", "conv2d", name, "", bad[i])->reason, i == 4 ? NULL : "line one\nline two");
    }
    whole(&t, &f, &(struct report_style){.width = 80});
    for (int i = 0; i < 5; i++) {
        char want[32];
        snprintf(want, sizeof want, "!  my/v%d", i);
        assert_non_null(strstr(text_get(&t), want));
    }
    assert_non_null(strstr(text_get(&t), "CRASHED"));
    assert_non_null(strstr(text_get(&t), "1 without a reason"));
    text_free(&t);
    fixture_free(&f);
}

/* A short row shows its time in a graph beside the isolated one, and a row with `prepare` the time of that. Other rows have neither
 * column. */
static void graph_and_prepare(void **state)
{
    struct fixture f = {0};
    const struct report_style plain = {0};
    fixture_run(&f.run, "t", "cuda:0", "NVIDIA H200");
    for (int i = 0; i < 3; i++)
        fixture_time(fixture_row(&f, 0, "a", "", "conv2d 8->8 3x3",
                                 i == 0   ? "conv2d/cudnn"
                                 : i == 1 ? "conv2d/tconv"
                                          : "conv2d/naive",
                                 "", ROW_OK),
                     -1, 10.0 * (i + 1), 0.1, 1.0 / (i + 1), 0.3, 0.6);
    struct text t = {0};
    report_cases(&t, &f.run, f.rows, f.count, &plain);
    assert_null(strstr(text_get(&t), "graph us"));
    assert_null(strstr(text_get(&t), "prep us"));
    text_free(&t);
    for (int i = 0; i < 2; i++) {
        struct row_time *time = fixture_time(f.rows[i], -1, 4.25 + i, 0.1, 1, 1, 1);
        snprintf(time->cache, sizeof time->cache, "warm");
        snprintf(time->load, sizeof time->load, "sustained");
    }
    f.rows[1]->prepare_ns = 7890;
    report_cases(&t, &f.run, f.rows, f.count, &plain);
    assert_non_null(strstr(text_get(&t), "graph us  prep us"));
    assert_non_null(strstr(text_get(&t), "5.25"));
    assert_non_null(strstr(text_get(&t), "7.89"));
    assert_null(strstr(text_get(&t), "sustained")); /* a column, no line of its own */
    struct case_view c;
    case_view_make(&c, &f.run, f.rows, f.count);
    assert_true(view_derived(&c.views[1], "graph_us") == 5.25);
    assert_true(view_derived(&c.views[1], "time_us") == 20); /* the headline stays */
    assert_true(isnan(view_derived(&c.views[2], "graph_us")));
    case_view_free(&c);
    text_free(&t);
    fixture_free(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(terminal_h200),
        cmocka_unit_test(terminal_emu),
        cmocka_unit_test(terminal_ascii_narrow),
        cmocka_unit_test(terminal_colour),
        cmocka_unit_test(markdown),
        cmocka_unit_test(ranking),
        cmocka_unit_test(ranking_of_a_tie),
        cmocka_unit_test(placement_is_said),
        cmocka_unit_test(graph_and_prepare),
        cmocka_unit_test(emu_has_no_time),
        cmocka_unit_test(absent_is_not_zero),
        cmocka_unit_test(every_failure_is_said),
        cmocka_unit_test(added_densities_have_no_winner),
        cmocka_unit_test(nobody_to_beat),
        cmocka_unit_test(added_densities_are_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
