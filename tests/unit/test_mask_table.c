/* report/page/mask_table: every mask of a layer is a line. For a mask that bisection added, the line states the uncertainty of its times,
 * because it may have no chapter. */
#include "fixture_rows.h"
#include "report/page/mask_table.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static struct row *add(struct fixture *f, int index, const char *mask, double density, const char *variant, const char *params, double us)
{
    char axes[64];
    snprintf(axes, sizeof axes, "mask=%s", mask);
    struct row *r = fixture_row(f, index, "body", axes, "conv2d 64->64 3x3  1x720x1280 f16 acc32 NHWC", variant, params, ROW_OK);
    r->density_in = r->density_out = density;
    row_set(&r->dtype, "f16");
    row_set(&r->math, "f16_acc32");
    fixture_time(r, -1, us, 0.1, 100 / us, 99 / us, 101 / us);
    return r;
}

/* The scenario's own mask, and one like it. */
static void make_rows(struct fixture *f)
{
    fixture_run(&f->run, "sparsity", "cuda:0", "NVIDIA H200");
    for (int i = 0; i < 2; i++) {
        const char *mask = i ? "iid:0.15" : "iid:0.10";
        struct row *rows[] = {add(f, i, mask, i ? 0.15 : 0.1, "cudnn", "", 100),
                              add(f, i, mask, i ? 0.15 : 0.1, "conv2d/own", "", i ? 70 : 50)};
        for (int k = 0; k < 2 && i; k++)
            row_set(&rows[k]->like_case, f->rows[0]->case_id);
    }
}

static bool holds(const struct fixture *f, int from, int count)
{
    struct case_view c;
    case_view_make(&c, &f->run, f->rows + from, count);
    bool all = mask_table_holds(&c);
    case_view_free(&c);
    return all;
}

static void added_masks_are_lines(void **state)
{
    struct fixture f = {0};
    struct document d = {0};
    struct text t = {0};
    make_rows(&f);
    row_set(&f.run.asked_out, "some where");
    mask_document(&d, &f.run, f.rows, f.count);
    form_markdown.write(&t, &d, &(struct report_style){0});
    assert_string_equal(
        text_get(&t),
        "### us by mask: body, f16 f16_acc32\n\n| mask | in % | out % | cudnn | own |\n|---|---:|---:|---:|---:|\n| iid:0.10 | 10 | 10 | "
        "100 | 50.0 |\n| iid:0.15 added | 15 | 15 | 100.0 ±0.1 | 70.0 ±0.1 |\n\nadded to bracket a break-even: 1 of 2 masks; variants that "
        "cannot break even there may be missing. All of one mask: bench show 'sparsity/body\\[mask=iid:0.15\\]' -o 'some where'\n");
    text_free(&t);
    document_free(&d);
    fixture_free(&f);
}

/* If an added mask has several configurations of a variant, each is a column, whatever its name in its case. A rule's row keeps one column,
 * whatever the rule chooses. */
static void configurations_stand_apart(void **state)
{
    struct fixture f = {0};
    struct document d = {0};
    struct text t = {0};
    fixture_run(&f.run, "sparsity", "cuda:0", "NVIDIA H200");
    for (int i = 0; i < 3; i++) {
        const char *mask = i == 0 ? "iid:0.10" : i == 1 ? "iid:0.15" : "iid:0.20";
        int from = f.count;
        add(&f, i, mask, 0.1 + i / 20.0, "cudnn", "", 100);
        add(&f, i, mask, 0.1 + i / 20.0, "conv2d/rule", i ? "is=a" : "is=b", 40);
        if (i != 2)
            add(&f, i, mask, 0.1 + i / 20.0, "conv2d/own", "EDGE=3", 50);
        add(&f, i, mask, 0.1 + i / 20.0, "conv2d/own", "EDGE=4", 60);
        for (int k = from; k < f.count && i; k++)
            row_set(&f.rows[k]->like_case, f.rows[0]->case_id);
    }
    mask_document(&d, &f.run, f.rows, f.count);
    form_markdown.write(&t, &d, &(struct report_style){0});
    if (!strstr(text_get(&t), "| mask | in % | out % | cudnn | rule | own EDGE3 | own EDGE4 |") ||
        !strstr(text_get(&t), "| iid:0.10 | 10 | 10 | 100 | 40.0 | 50.0 | 60.0 |") ||
        !strstr(text_get(&t), "| iid:0.20 added | 20 | 20 | 100.0 ±0.1 | 40.0 ±0.1 | | 60.0 ±0.1 |"))
        fail_msg("%s", text_get(&t));
    text_free(&t);
    document_free(&d);
    fixture_free(&f);
}

/* A case keeps its chapter unless its line tells all that was measured. */
static void what_a_line_does_not_tell(void **state)
{
    static const struct {
        enum row_status status;
        bool holds;
    } of[] = {{ROW_OK, true},    {ROW_INFEASIBLE, true}, {ROW_SKIPPED, true}, {ROW_WRONG, false},
              {ROW_HUNG, false}, {ROW_BROKEN, false},    {ROW_FOIL, false},   {ROW_PLANNED, false}};
    struct fixture f = {0};
    make_rows(&f);
    assert_false(holds(&f, 0, 2)); /* the scenario's own */
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        f.rows[3]->status = of[i].status;
        if (holds(&f, 2, 2) != of[i].holds)
            fail_msg("%s", row_status_name(of[i].status));
    }
    f.rows[3]->status = ROW_OK;
    f.rows[3]->time_count = 0; /* right, never timed */
    assert_false(holds(&f, 2, 2));
    fixture_free(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(added_masks_are_lines), cmocka_unit_test(configurations_stand_apart),
                                       cmocka_unit_test(what_a_line_does_not_tell)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
