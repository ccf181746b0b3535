/* What fusing saves, and where a stage more begins to cost: times and knee set by hand. */
#include "fixture_rows.h"
#include "report/case_document.h"
#include "report/fusion.h"
#include "report/report.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void add(struct fixture *f, int index, const char *axes, const char *variant, const char *from, int launches, double us)
{
    struct row *r = fixture_row(f, index, "chain", axes, "points", variant, "", ROW_OK);
    row_set(&r->from, from);
    for (int i = 0; i < launches; i++)
        fixture_step(r, "span", 16, 0, 0, 1.0, "warps");
    fixture_time(r, -1, us, us / 500, from[0] ? 2 : 1, from[0] ? 1.99 : 1, from[0] ? 2.01 : 1);
}

/* Flat at 60 us up to 30, then 0.5 us each; apart 100 us each. */
static void chain(struct fixture *f, double grown)
{
    static const int lengths[] = {1, 10, 50, 100};
    fixture_run(&f->run, "fkl", "cuda:0", "NVIDIA H200");
    for (int i = 0; i < 4; i++) {
        char axes[32];
        snprintf(axes, sizeof axes, "length=%d", lengths[i]);
        add(f, i, axes, "stages/apart", "", lengths[i], 100.0 * lengths[i]);
        add(f, i, axes, "stages/horizontal", "apart", lengths[i], 90.0 * lengths[i]);
        add(f, i, axes, "stages/backwards", "horizontal", 1, lengths[i] < 30 ? 60 : 60 + grown * (lengths[i] - 30));
    }
}

static char *said(const struct fixture *f)
{
    struct text t = {0};
    report_part(&t, fusion_document, &f->run, f->rows, f->count, &(struct report_style){0});
    return text_take(&t);
}

static void test_knee(void **state)
{
    struct fixture f = {0};
    chain(&f, 0.5);
    char *t = said(&f);
    assert_non_null(strstr(t, "fusing  chain: one launch takes 60.0 us up to length 30, then 0.500 us for each more"));
    assert_non_null(strstr(t, "; the baseline pays 100 us for each\n"));
    free(t);
    fixture_free(&f);
    chain(&f, 0);
    t = said(&f);
    assert_non_null(
        strstr(t, "one launch takes 60.0 us from length 1 to 100: one more costs nothing yet; the baseline pays 100 us for each\n"));
    free(t);
    f.count -= 3; /* three points tell no knee */
    t = said(&f);
    assert_string_equal(t, "");
    free(t);
    f.count += 3;
    fixture_free(&f);
}

static void test_steps(void **state)
{
    struct fixture f = {0};
    struct text t = {0};
    chain(&f, 0);
    report_cases(&t, &f.run, f.rows + 3, 3, &(struct report_style){0});
    assert_non_null(
        strstr(text_get(&t),
               "fusing  stages/backwards: apart 1,000 us, 10 launches; horizontal 900 us (-100); backwards 60.0 us (-840), 1 launch"));
    text_free(&t);
    report_cases(&t, &f.run, f.rows, 3, &(struct report_style){0}); /* as many launches: nothing is fused */
    assert_null(strstr(text_get(&t), "fusing"));
    text_free(&t);
    fixture_free(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_knee), cmocka_unit_test(test_steps)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
