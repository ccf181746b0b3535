/* What fusing saves, and where a stage more begins to cost: times and knee set by hand. */
#include "store/family.h"
#include "fixture_rows.h"
#include "report/page/case_document.h"
#include "report/source/fusion.h"
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

static int apart_launches; /* of the rows that do not fuse; 0: one for each further piece */

/* Flat at 60 us up to 30, then 0.5 us each; apart 100 us each. */
static void chain(struct fixture *f, double grown)
{
    static const int lengths[] = {1, 10, 50, 100};
    fixture_run(&f->run, "fkl", "cuda:0", "NVIDIA H200");
    for (int i = 0; i < 4; i++) {
        char axes[32];
        snprintf(axes, sizeof axes, "length=%d", lengths[i]);
        add(f, i, axes, "stages/apart", "", apart_launches ? apart_launches : lengths[i], 100.0 * lengths[i]);
        add(f, i, axes, "stages/horizontal", "stages/apart", apart_launches ? apart_launches : lengths[i], 90.0 * lengths[i]);
        add(f, i, axes, "stages/backwards", "stages/horizontal", 1, lengths[i] < 30 ? 60 : 60 + grown * (lengths[i] - 30));
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
    assert_non_null(strstr(t, "fusing  chain: one launch takes 60.0 us up to length 30, then 0.500 us for each further one"));
    assert_non_null(strstr(t, "; apart pays 100.0 ±0.2 us for each\n"));
    free(t);
    fixture_free(&f);
    chain(&f, 0.5); /* a launch is the most that stands against the last one, and no reason why one more costs */
    row_set(&f.run.environment,
            "{\"roofs\":{\"measured\":\"2026-11-21T22:00:00Z\",\"launch\":{\"value\":40000,\"unit\":\"ns\",\"how\":\"\"}}}");
    f.rows[9]->times[0].low_ns = 8e6; /* of 100: +-2 ms in 99 */
    f.rows[9]->times[0].high_ns = 12e6;
    t = said(&f);
    assert_non_null(strstr(t, "then 0.500 us for each further one; apart pays 100 ±20 us for each\n"));
    free(t);
    fixture_free(&f);
    chain(&f, 0);
    t = said(&f);
    assert_non_null(
        strstr(t, "one launch takes 60.0 us from length 1 to 100: one more is free in this range; apart pays 100.0 ±0.2 us for each\n"));
    free(t);
    f.count -= 3; /* three points tell no knee */
    t = said(&f);
    assert_string_equal(t, "");
    free(t);
    f.count += 3;
    fixture_free(&f);
    apart_launches = 2; /* a filter that grows is no further launch: nothing is fused */
    chain(&f, 0.5);
    apart_launches = 0;
    t = said(&f);
    assert_null(strstr(t, "one launch takes"));
    free(t);
    fixture_free(&f);
}

static void test_steps(void **state)
{
    struct fixture f = {0};
    struct text t = {0};
    chain(&f, 0);
    f.rows[5]->bytes = 1000;
    row_add_metric(f.rows[5], -1, 0, "hw.l2_to_l1_bytes", "B", "cupti", 300);
    row_add_metric(f.rows[5], -1, 0, "hw.l1_to_l2_bytes", "B", "cupti", 770);
    report_cases(&t, &f.run, f.rows + 3, 3, &(struct report_style){0});
    assert_non_null(
        strstr(text_get(&t),
               "fusing  stages/backwards: apart 1,000 us, 10 launches; horizontal 900 us (-100); backwards 60.0 us (-840), 1 launch, "
               "1.07x the compulsory bytes from and to L2\n"));
    text_free(&t);
    report_cases(&t, &f.run, f.rows, 3, &(struct report_style){0}); /* as many launches: nothing is fused */
    assert_null(strstr(text_get(&t), "fusing"));
    text_free(&t);
    fixture_free(&f);
}

static void behind(struct fixture *f, int index, const char *epilogue, const char *variant, const char *from, int launches, double us)
{
    static const char bare[] = "conv2d 64->64 3x3  1x720x1280 f16";
    struct row *r = fixture_row(f, index, index ? "leaky" : "bare", "", index ? "a convolution" : bare, variant, "", ROW_OK);
    row_set(&r->epilogue, epilogue);
    row_set(&r->bare_work, epilogue ? bare : NULL);
    row_set(&r->from, from);
    row_set(&r->op, "conv2d");
    for (int i = 0; i < launches; i++)
        fixture_step(r, "conv", 16, 0, 0, 1.0, "warps");
    fixture_time(r, -1, us, us / 500, 1, 1, 1);
}

/* The same work with and without an epilogue: of a family of heads, not of the library, however fast. */
static void test_epilogue(void **state)
{
    static const char leaky[] = "bias+leaky_relu:0.1";
    struct fixture f = {0};
    fixture_run(&f.run, "epilogues", "cuda:0", "NVIDIA H200");
    behind(&f, 0, NULL, "conv2d/tiled", "", 1, 50); /* no apart row of its family */
    behind(&f, 0, NULL, "conv2d/rs", "conv2d/rows", 1, 100);
    behind(&f, 1, leaky, "conv2d/tiled", "", 1, 60);
    behind(&f, 1, leaky, "conv2d/rs", "conv2d/rows", 1, 102);
    behind(&f, 1, leaky, "conv2d/rs_plain + pointwise/epilogue", "conv2d/rs", 2, 180);
    char *t = said(&f);
    assert_string_equal(t, "fusing  leaky: +bias+leaky_relu:0.1: bare 100 us; fused into rs 102 us (+2 %); in 2 launches 180 us (+80 %)\n");
    free(t);
    row_add_member(f.rows[1], FAMILY_HARDWARE, -1, 0, "cycles", "cycles", "cupti", 1e5);
    row_add_member(f.rows[3], FAMILY_HARDWARE, -1, 0, "cycles", "cycles", "cupti", 100300);
    t = said(&f);
    assert_non_null(strstr(t, "fused into rs 102 us (+2 %; +0.3 % of it in counted cycles, the rest is a lower clock); in 2 launches"));
    free(t);
    f.rows[0]->mask_density = f.rows[1]->mask_density = 0.5; /* the same work at another mask */
    t = said(&f);
    assert_string_equal(t, "");
    free(t);
    for (int i = 2; i < f.count; i++)
        f.rows[i]->mask_density = 0.5;
    t = said(&f);
    assert_non_null(strstr(t, "fused into rs"));
    free(t);
    f.rows[0]->op[0] = f.rows[1]->op[0] = 'd'; /* another op that reads the same */
    t = said(&f);
    assert_string_equal(t, "");
    free(t);
    fixture_free(&f);
}

/* Several epilogues of one op: a table with what each saves, and one sentence for all. */
static void test_epilogues(void **state)
{
    static const char *const epilogues[] = {NULL, "bias", "bias+residual"};
    struct fixture f = {0};
    fixture_run(&f.run, "epilogues", "cuda:0", "NVIDIA H200");
    behind(&f, 0, epilogues[0], "conv2d/rs", "conv2d/rows", 1, 100);
    for (int i = 1; i < 3; i++) {
        behind(&f, i, epilogues[i], "conv2d/rs", "conv2d/rows", 1, 101 + i);
        behind(&f, i, epilogues[i], "conv2d/rs_plain + pointwise/epilogue", "conv2d/rs", 2, 140 + 20 * i);
    }
    for (int i = 0; i < f.count; i++) { /* moved by DRAM: 200 MB fused, 300 and 400 MB apart */
        bool apart = strstr(f.rows[i]->variant, "plain") != NULL;
        f.rows[i]->case_id[0] = (char)('a' + f.rows[i]->case_index);
        row_add_member(f.rows[i], FAMILY_HARDWARE, -1, 0, "dram_bytes_read", "B", "ncu", apart ? 1e8 * (1 + f.rows[i]->case_index) : 1e8);
        row_add_member(f.rows[i], FAMILY_HARDWARE, -1, 0, "dram_bytes_written", "B", "ncu", 1e8);
    }
    const double cycles[] = {1000, 1000, 1010};
    for (int i = 0; i < f.count; i++)
        if (f.rows[i]->case_index != 1) /* of one nobody counted them */
            row_add_member(f.rows[i], FAMILY_HARDWARE, -1, 0, "cycles", "cycles", "ncu", cycles[f.rows[i]->case_index]);
    char *t = said(&f);
    assert_string_equal(
        t, "fusing  leaky: 2 epilogues: fused +2 to +3 % more time than the bare op, as separate passes +60 to +80 %; fusing saves 100 MB "
           "to 200 MB of DRAM\nEpilogues, fused and separate\nlayer  epilogue         fused  over bare %  cycles %   apart  over bare %  "
           "launches   saved\nleaky  +bias           102 us           +2            160 us          +60         2  100 MB\nleaky  "
           "+bias+residual  103 us           +3        +1  180 us          +80         2  200 MB\n");
    free(t);
    fixture_free(&f);
}

/* Of each case with such steps a table, in which a kernel that is launched ten times has its code once. */
static void test_table(void **state)
{
    char folder[] = "/tmp/test_fusion.XXXXXX", command[64];
    assert_non_null(mkdtemp(folder));
    struct fixture f = {0};
    struct text t = {0};
    struct error err = {0};
    chain(&f, 0);
    for (int i = 0; i < f.count; i++)
        for (int k = 0; k < f.rows[i]->step_count; k++)
            f.rows[i]->steps[k].code_bytes = 1280;
    assert_true(report_whole(&t, &form_html, &f.run, f.rows + 3, 3, folder, &err));
    const char *table = strstr(text_get(&t), "Costs and savings of fusion");
    assert_non_null(table);
    assert_non_null(strstr(table, "1,280"));
    assert_null(strstr(table, "12,800"));
    text_free(&t);
    assert_true(report_whole(&t, &form_html, &f.run, f.rows, 3, folder, &err)); /* one launch each: nothing is fused */
    assert_null(strstr(text_get(&t), "Costs and savings of fusion"));
    text_free(&t);
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    assert_int_equal(system(command), 0);
    fixture_free(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_knee), cmocka_unit_test(test_steps), cmocka_unit_test(test_epilogue),
                                       cmocka_unit_test(test_epilogues), cmocka_unit_test(test_table)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
