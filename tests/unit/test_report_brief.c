/* A page with so many rows that only verdicts are shown: facts common to all cases come before the first case, and no case repeats a
 * fact. */
#include "base/file.h"
#include "measured_rows.h"
#include "report/form/document.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static int count_of(const char *text, const char *word)
{
    int count = 0;
    for (const char *p = text; (p = strstr(p, word)); p += strlen(word))
        count++;
    return count;
}

static void short_of_waves(struct fixture *f, const char *variant, double waves)
{
    struct row *r = row_of(f, variant, 180, 1);
    r->steps[0].waves = waves;
    row_set(&r->tile, "8x8");
    r->tiles = 9;
    r->tiles_active = 7;
    row_add_metric(r, -1, 0, "tiles_active", "tiles", "variant", 7);
    row_add_metric(r, -1, 0, "mine", "", "variant", waves);
}

static void nothing_is_said_twice(void **state)
{
    static const char remedy[] = "until the grid fills the GPU";
    for (int brief = 0; brief < 2; brief++) {
        struct fixture f = {0};
        struct text t = {0};
        measured_run(&f);
        row_set(&f.run.asked_out, "kept");
        short_of_waves(&f, "conv2d/one", 0.4);
        short_of_waves(&f, "conv2d/other", 0.4);
        short_of_waves(&f, "conv2d/third", 0.3);
        for (int i = 0; i < (brief ? REPORT_ROWS_WHOLE : 1); i++)
            row_set(&fixture_row(&f, 1, "pad", "", "conv2d 8->8 3x3", "conv2d/fourth", "", ROW_INFEASIBLE)->reason, "needs c > 8");
        assert_true(report_whole(&t, &form_markdown, &f.run, f.rows, f.count, NULL, NULL));
        const char *page = text_get(&t);
        const struct {
            const char *words;
            int plain, brief;
        } said[] = {{remedy, 3, 1},
                    {"one**: small_grid", 1, 0},
                    {"one, ", 1, 2}, /* the tiles' line, and two rows of one verdict */
                    {"the grid fills only 0.3 of a wave", 1, 1},
                    {"mine 0.400", 2, 2},
                    {"tiles_active", 3, 0},
                    {"7 of 9 active", 1, 1},
                    {"- **next**", 1, 0},
                    {"## The cases", 0, 1},
                    {"bench why ROW; all counters: bench show ROW", 0, 1},
                    {"kept", 0, 0} /* the author's folder */};
        for (size_t i = 0; i < sizeof said / sizeof *said; i++)
            if (count_of(page, said[i].words) != (brief ? said[i].brief : said[i].plain))
                fail_msg("brief %d: %d times '%s' in %.6000s", brief, count_of(page, said[i].words), said[i].words, page);
        text_free(&t);
        fixture_free(&f);
    }
}

/* The command that shows what went wrong stays with the case. */
static void a_failure_has_its_command(void **state)
{
    struct fixture f = {0};
    struct text t = {0};
    measured_run(&f);
    for (int i = 0; i <= REPORT_ROWS_WHOLE; i++)
        row_of(&f, "conv2d/own", 180, 1)->status = i ? ROW_OK : ROW_WRONG;
    assert_true(report_whole(&t, &form_markdown, &f.run, f.rows, f.count, NULL, NULL));
    assert_non_null(strstr(text_get(&t), "--only own --dump"));
    text_free(&t);
    fixture_free(&f);
}

/* A published page names no folder of its author. */
static void a_page_names_no_folders(void **state)
{
    struct fixture f = {0};
    struct text t = {0};
    measured_run(&f);
    row_set(&f.run.scenario_path, "/home/me/bench/scenarios/edsr.yaml");
    row_set(&f.run.asked_variants, "--ops /home/me/a.yaml -V my=/home/me/own/ -V it=ours/k.cu -V 'o=/home/me/b c/my d.cu'");
    row_set(&f.run.argv, "bench run /home/me/bench/scenarios/edsr.yaml -o /home/me/out");
    row_of(&f, "conv2d/own", 180, 1)->status = ROW_WRONG;
    assert_true(report_whole(&t, &form_markdown, &f.run, f.rows, f.count, NULL, NULL));
    const char *page = text_get(&t);
    if (strstr(page, "/home") || !strstr(page, "bench run edsr.yaml") || !strstr(page, "bench run edsr.yaml -o out") ||
        !strstr(page, "--ops a.yaml -V my=own -V it=ours/k.cu -V 'o=my d.cu'"))
        fail_msg("%s", page);
    text_free(&t);
    fixture_free(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(nothing_is_said_twice), cmocka_unit_test(a_failure_has_its_command),
                                       cmocka_unit_test(a_page_names_no_folders)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
