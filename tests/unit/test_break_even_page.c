/* report/page/run_document: a page of few curves has a sentence of each, one of many a table. */
#include "fixture_rows.h"
#include "report/break_even/break_even.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void add(struct fixture *f, int index, double density, const char *variant, const char *params, double us)
{
    char axes[64];
    snprintf(axes, sizeof axes, "mask=iid:%g", density);
    struct row *r = fixture_row(f, index, "body", axes, "conv2d 64->64 3x3  1x720x1280 f16 acc32 NHWC", variant, params, ROW_OK);
    bool sparse = strstr(variant, "cudnn") == NULL;
    r->density_in = density;
    r->flop = 100e9;
    r->flop_scheduled = sparse ? density * 100e9 : 100e9;
    row_set(&r->tile, sparse ? "8x8" : NULL);
    fixture_time(r, -1, us, 0.1, 100 / us, 99 / us, 101 / us);
}

/* On a page of many curves a table has them: the answer counts, and no sentence is said of each. */
static void many_curves_are_a_table(void **state)
{
    struct fixture f = {0};
    struct text t = {0};
    fixture_run(&f.run, "sparsity", "cuda:0", "NVIDIA H200");
    row_set(&f.run.scenario_text, "scenario: sparsity\nanswers:\n  - break_even: {against: cudnn, by: [layer, width, mask.pattern]}\n");
    for (int many = 0; many < 2; many++) {
        for (int width = f.count ? 3 : 0; width < (many ? 7 : 3); width++)
            for (int k = 0; k < 2; k++) {
                add(&f, 2 * width + k, k ? 0.5 : 0.1, "cudnn", "", 100);
                add(&f, 2 * width + k, k ? 0.5 : 0.1, "conv2d/own", "", k ? 120 : 60);
                for (int i = f.count - 2; i < f.count; i++) {
                    char name[16];
                    snprintf(name, sizeof name, "%d", width);
                    row_add_axis(f.rows[i], "width", name, width);
                }
            }
        assert_true(report_whole(&t, &form_markdown, &f.run, f.rows, f.count, NULL, NULL));
        char *head = strstr(text_get(&t), "\n## sparsity");
        assert_non_null(head);
        *head = '\0';
        if ((strstr(text_get(&t), "own breaks even with cudnn") != NULL) == many ||
            (strstr(text_get(&t), "summary of the 7 curves in the table") != NULL) != many ||
            (strstr(text_get(&t), "## Break-even of sparse and dense") != NULL) != many || !strstr(text_get(&t), "between 10 and 50"))
            fail_msg("%s", text_get(&t));
        text_free(&t);
    }
    fixture_free(&f);
}

/* Eight curves of two kinds of masks, the first ones with a second variant that is always the fastest. */
static void changing_curves(struct fixture *f, int beaten)
{
    fixture_run(&f->run, "sparsity", "cuda:0", "NVIDIA H200");
    row_set(&f->run.scenario_text, "scenario: sparsity\nanswers:\n  - break_even: {against: cudnn, by: [layer, width, mask.pattern]}\n");
    for (int width = 0; width < 8; width++)
        for (int k = 0; k < 3; k++) {
            int first = f->count;
            double density = k ? (k > 1 ? 0.5 : 0.1) + (width % 4 ? 0 : 0.1) : 0;
            add(f, 3 * width + k, density, "cudnn", "", 100);
            add(f, 3 * width + k, density, "conv2d/own", "", k > 1 ? 120 : 60);
            if (width < beaten)
                add(f, 3 * width + k, density, "conv2d/best", "", 20);
            for (int i = first; i < f->count; i++) {
                char name[16];
                snprintf(name, sizeof name, "%d", width);
                row_add_axis(f->rows[i], "width", name, width);
                row_set(&f->rows[i]->mask_pattern, k ? (width < 4 ? "iid" : "blobs") : "empty");
                f->rows[i]->mask_radius = k && width >= 4 ? 12 : -1;
            }
        }
}

/* For many curves the page states the densities within which they change, by kind of mask. The empty mask belongs to every kind and is not
 * named. The page counts a curve whose crossing does not matter because another variant is faster there. */
static void changes_by_kind_of_mask(void **state)
{
    static const char *const said[] = {
        "changes from faster to slower on 8 (iid: within 10 to 60 % of changed inputs; blobs12: within 10 to 60 %)",
        "changes from faster to slower on 8 (another variant is faster there on 5; elsewhere blobs12: within 10 to 50 % of "
        "changed inputs)",
        "changes from faster to slower on 8 (another variant is faster there)\n"};
    static const int beaten[] = {0, 5, 8};
    for (int i = 0; i < 3; i++) {
        struct fixture f = {0};
        struct text t = {0};
        changing_curves(&f, beaten[i]);
        assert_true(report_whole(&t, &form_markdown, &f.run, f.rows, f.count, NULL, NULL));
        if (!strstr(text_get(&t), said[i]))
            fail_msg("%s", text_get(&t));
        text_free(&t);
        fixture_free(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(many_curves_are_a_table), cmocka_unit_test(changes_by_kind_of_mask)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
