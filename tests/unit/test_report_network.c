/* The sums of networks, against sums done by hand; and the names of rows that further steps completed. */
#include "fixture_rows.h"
#include "report/page/first_screen.h"
#include "report/page/network.h"
#include "report/report.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const struct report_style plain = {0};

static char *told(const struct fixture *f)
{
    struct text t = {0};
    report_part(&t, network_document, &f->run, f->rows, f->count, &plain);
    return text_take(&t);
}

static char *case_told(const struct fixture *f, int from, int count)
{
    struct text t = {0};
    report_cases(&t, &f->run, f->rows + from, count, &plain);
    return text_take(&t);
}

static struct row *add(struct fixture *f, int index, const char *layer, const char *networks, const char *work, const char *variant,
                       double us)
{
    struct row *r = fixture_row(f, index, layer, "", work, variant, "", us > 0 ? ROW_OK : ROW_INFEASIBLE);
    fixture_networks(r, networks);
    if (us > 0)
        fixture_time(r, -1, us, us / 500, r->row_index ? 0.5 : 1, 0.49, 0.51);
    else
        row_set(&r->reason, "needs c % 16 == 0: 3 != 0");
    return r;
}

/* As an H200 gave them: head, body and up; up is completed by a shuffle where the variant does not fuse it. */
static void three_layers(struct fixture *f)
{
    const char *conv = "conv2d 64->64 3x3  1x720x1280 f16 acc32 NHWC", *x2 = "x2:16", *both = "x2:1, x4:2";
    fixture_run(&f->run, "edsr", "cuda:0", "NVIDIA H200");
    add(f, 0, "head", both, conv, "conv2d/cudnn", 120);
    add(f, 0, "head", both, conv, "conv2d/cudnn_plain + pointwise/epilogue", 180);
    add(f, 0, "head", both, conv, "conv2d/reg_tiled", 100);
    add(f, 0, "head", both, conv, "conv2d/mma_sync", 0);
    add(f, 1, "body", x2, conv, "conv2d/cudnn", 150);
    add(f, 1, "body", x2, conv, "conv2d/cudnn_plain + pointwise/epilogue", 200);
    add(f, 1, "body", x2, conv, "conv2d/reg_tiled", 5000);
    add(f, 1, "body", x2, conv, "conv2d/mma_sync", 170);
    add(f, 2, "up", both, conv, "conv2d/cudnn + depth_to_space/d2s_native", 600);
    add(f, 2, "up", both, conv, "conv2d/cudnn_plain + pointwise/epilogue + depth_to_space/d2s_native", 900);
    add(f, 2, "up", both, conv, "conv2d/reg_tiled + depth_to_space/d2s_native", 20000);
    add(f, 2, "up", both, conv, "conv2d/mma_sync + depth_to_space/d2s_native", 800);
    add(f, 2, "up", both, conv, "conv2d/mma_sync_d2s", 500);
    f->rows[f->count - 1]->status = ROW_WRONG; /* the fastest of all, and wrong */
    add(f, 2, "up", both, conv, "conv2d/wgmma_d2s", 550);
}

static void sums_by_hand(void **state)
{
    struct fixture f = {0};
    three_layers(&f);
    char *t = told(&f);
    assert_string_equal(
        t,
        "network  x2, 18 dense layers timed one by one (isolated, cold): cudnn 3.12 ms in total; layers: head, 16 x body, up\n         "
        "fastest verified variant per layer: 3.05 ms in total, 1.02x as fast as cudnn: reg_tiled on head; cudnn on body; wgmma_d2s on up\n "
        "        cudnn_plain: 4.28 ms in total, 0.729x as fast as cudnn\n         reg_tiled: 100 ms in total, 0.0312x as fast as cudnn\n   "
        "      2 more variants are timed on some layers only\nnetwork  x4, 4 dense layers timed one by one (isolated, cold): cudnn 1.44 ms "
        "in total; layers: 2 x head, 2 x up\n         fastest verified variant per layer: 1.30 ms in total, 1.11x as fast as cudnn: "
        "reg_tiled on head; wgmma_d2s on up\n         cudnn_plain: 2.16 ms in total, 0.667x as fast as cudnn\n         reg_tiled: 40.2 ms "
        "in total, 0.0358x as fast as cudnn\n         2 more variants are timed on some layers only\n"); /* mma_sync, wgmma_d2s */
    free(t);
    fixture_free(&f);
}

static void set_ratio(struct row *r, double ratio)
{
    r->times[0].ratio = r->times[0].ratio_low = r->times[0].ratio_high = ratio;
}

/* The library has several rows on a layer; the fastest is what the ratios are to, and so what sums and ranks are held against. */
static void the_strongest_of_the_library(void **state)
{
    const char *conv = "conv2d 64->64 3x3  1x720x1280 f16 acc32 NHWC";
    struct fixture f = {0};
    fixture_run(&f.run, "t", "cuda:0", "GPU");
    set_ratio(add(&f, 0, "head", "n:1", conv, "conv2d/cudnn", 100), 1);
    set_ratio(add(&f, 0, "head", "n:1", conv, "conv2d/wgmma_rs", 50), 2);
    set_ratio(add(&f, 1, "body", "n:2", conv, "conv2d/cudnn + pointwise/epilogue", 230), 140 / 230.0);
    set_ratio(add(&f, 1, "body", "n:2", conv, "conv2d/cudnn_residual", 140), 1);
    set_ratio(add(&f, 1, "body", "n:2", conv, "conv2d/wgmma_rs", 110), 140 / 110.0);
    char *t = told(&f);
    assert_string_equal(t, "network  n, 3 dense layers timed one by one (isolated, cold): cudnn (cudnn on head; cudnn_residual on body) "
                           "380 us in total; layers: head, 2 x body\n         fastest verified variant per layer: 270 us in total, 1.41x "
                           "as fast as cudnn: wgmma_rs on head, body\n         wgmma_rs: 270 us in total, 1.41x as fast as cudnn\n");
    free(t);
    t = case_told(&f, 2, 3);
    assert_non_null(strstr(t, "x cudnn_residual"));
    const char *residual = strstr(t, "\n0  cudnn_residual "), *ours = strstr(t, "\n1  wgmma_rs "),
               *first = strstr(t, "\n2  cudnn + epilogue ");
    assert_true(residual && ours && first && residual < ours && ours < first);
    free(t);
    fixture_free(&f);
}

/* Of a layer that has several cases the first dense one counts, and the line says which. */
static void a_sum_names_its_case(void **state)
{
    const char *conv = "conv2d 64->64 3x3  1x720x1280 f16 acc32 NHWC";
    struct fixture f = {0};
    fixture_run(&f.run, "t", "cuda:0", "GPU");
    for (int i = 0; i < 4; i++) {
        struct row *r = add(&f, i, i < 2 ? "head" : "body", i < 2 ? "n:1" : "n:2", conv, "conv2d/cudnn", i & 1 ? 900 : 100);
        row_add_axis(r, "layout", i & 1 ? "NCHW" : "NHWC", NAN);
        row_add_axis(r, "k", i < 2 ? "1" : "2", NAN); /* differs between the layers */
    }
    char *t = told(&f);
    assert_non_null(strstr(t, "network  n, 3 dense layers timed one by one (isolated, cold, layout=NHWC): cudnn 300 us in total"));
    free(t);
    fixture_free(&f);
}

/* For layers that only move data, `copy` is row 0 in every scenario. It does not compute the op, so the baseline's sum uses the fastest
 * verified row of such a layer. */
static void copy_is_not_the_op(void **state)
{
    const char *d2s = "depth_to_space 64->16 x2 CRD  1x1440x2560 f16 NHWC", *conv = "conv2d 64->64 3x3  1x720x1280 f16 acc32 NHWC";
    struct fixture f = {0};
    fixture_run(&f.run, "t", "cuda:0", "GPU");
    add(&f, 0, "conv", "n:2", conv, "conv2d/cudnn", 100);
    add(&f, 1, "shuffle", "n:1", d2s, "depth_to_space/copy", 40)->status = ROW_FOIL;
    add(&f, 1, "shuffle", "n:1", d2s, "depth_to_space/d2s_native", 50);
    char *t = told(&f);
    assert_string_equal(
        t, "network  n, 3 dense layers timed one by one (isolated, cold): baseline (cudnn on conv; d2s_native on shuffle) 250 us in "
           "total; layers: 2 x conv, shuffle\n         fastest verified variant per layer: baseline for all layers\n");
    free(t);
    f.rows[2]->status = ROW_CRASHED; /* now nothing runs the shuffle */
    t = told(&f);
    assert_string_equal(t, "network  n: no sum, because shuffle has no timed dense baseline\n");
    free(t);
    fixture_free(&f);
}

static void nothing_without_a_network(void **state)
{
    static const char *const none[] = {NULL,    "",    ":",       "x", "x:", ":3", "x:0", "x:-3", "x:99999999999999999999999",
                                       ",,, ,", "x:1", ", :1,x::"};
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) { /* and what a damaged database may hold; "x:1" on one layer is no sum */
        struct fixture f = {0};
        fixture_run(&f.run, "t", "cuda:0", "GPU");
        add(&f, 0, "a", none[i], "conv2d 1->1", "conv2d/cudnn", 10)->repeat = 16;
        add(&f, 1, "b", NULL, "conv2d 1->1", "conv2d/cudnn", 10);
        char *t = told(&f);
        assert_string_equal(t, "");
        free(t);
        fixture_networks(f.rows[0], "bad, x:-1, y:2, :");
        t = told(&f);
        assert_non_null(strstr(t, "network  y, 2 dense layers timed one by one (isolated, cold): cudnn 20.0 us in total; layers: 2 x a\n   "
                                  "      fastest verified variant per layer: cudnn for all layers\n"));
        free(t);
        fixture_free(&f);
    }
}

/* A mask's case is not the dense layer; the first dense one is, wherever it stands. */
static void dense_cases_only(void **state)
{
    struct fixture f = {0};
    fixture_run(&f.run, "t", "cuda:0", "GPU");
    struct row *r = add(&f, 0, "a", "n:4", "conv2d 1->1", "conv2d/cudnn", 1);
    row_set(&r->case_id, "t/a[mask=full]");
    r->density_in = r->density_out = 1;
    char *t = told(&f);
    assert_string_equal(t, ""); /* nothing dense is timed */
    free(t);
    add(&f, 1, "a", "n:4", "conv2d 1->1", "conv2d/cudnn", 30);
    row_set(&add(&f, 2, "a", "n:4", "conv2d 1->1", "conv2d/cudnn", 50)->case_id, "t/a[n=4]");
    t = told(&f);
    assert_non_null(strstr(t, "n, 4 dense layers timed one by one"));
    free(t);
    fixture_free(&f);
}

static void names_of_completed_rows(void **state)
{
    struct fixture f = {0};
    char base[VARIANT_BASE];
    three_layers(&f);
    char *t = case_told(&f, 8, f.count - 8);
    assert_non_null(strstr(t, "x cudnn [95 %]"));
    assert_null(strstr(t, "x cudnn +"));
    assert_non_null(strstr(t, "cudnn + d2s_native "));
    assert_non_null(strstr(t, "cudnn_plain + epilogue + d2s_native "));
    assert_null(strstr(t, "depth_to_space/"));
    assert_non_null(strstr(t, "next  bench run scenarios/edsr.yaml --layer up --only mma_sync_d2s --dump"));
    free(t);
    t = case_told(&f, 4, 2);
    assert_non_null(strstr(t, "next  bench why body cudnn_plain")); /* what the command line can find */
    assert_non_null(strstr(t, "bench exec scenarios/edsr.yaml body cudnn_plain -- "));
    free(t);
    row_set(&f.run.asked_variants, "-V my=k"); /* a command that is pasted finds the same rows */
    row_set(&f.run.asked_device, "emu");
    row_set(&f.run.asked_out, "/tmp/o");
    t = case_told(&f, 4, 2);
    assert_non_null(
        strstr(t, "next  bench why body cudnn_plain -o /tmp/o · bench exec scenarios/edsr.yaml body cudnn_plain -V my=k -d emu -- ncu"));
    free(t);
    t = case_told(&f, 8, f.count - 8);
    assert_non_null(strstr(t, "--only mma_sync_d2s --dump -V my=k -d emu -o /tmp/o\n"));
    free(t);
    fixture_variant(f.rows[0], "my/conv + my/d2s + layout/convert"); /* a folder of one's own is part of the name */
    t = case_told(&f, 0, 1);
    assert_non_null(strstr(t, "my/conv + my/d2s + convert "));
    assert_non_null(strstr(t, "x conv\n"));
    assert_string_equal(variant_base(f.rows[0], base), "my/conv");
    free(t);
    fixture_free(&f);
}

static struct row *chain(struct fixture *f, const char *variant, const char *params, double us, double ratio)
{
    struct row *r = fixture_row(f, 9, "x2", "", "chain 3->3 18 layer runs  1x720x1280 f16 acc32 NHWC", variant, params, ROW_OK);
    row_set(&r->op, "chain");
    row_set(&r->what, "cudnn on head");
    fixture_time(r, -1, us, us / 1000, ratio, ratio * 0.99, ratio * 1.01);
    return r;
}

static void metric(struct row *r, const char *name, double us)
{
    row_add_metric(r, -1, 0, name, "ns", "model", us * 1e3);
}

/* The chain beside the sum of its layers: 3120 us by hand, 2700 warm, 100 in layout changes, 3000 measured. */
static void whole_networks_stand_beside_their_sums(void **state)
{
    struct fixture f = {0};
    three_layers(&f);
    struct row *r = chain(&f, "chain/library", "launch=graph", 3000, 1);
    r->times[0].ratio_low = r->times[0].ratio_high = 1;
    metric(r, "chain.sum_ns", 3120);
    metric(r, "chain.sum_low_ns", 3000);
    metric(r, "chain.sum_high_ns", 3200);
    metric(r, "chain.sum_warm_ns", 2700);
    metric(r, "chain.layout_ns", 120);
    metric(r, "chain.plan_layout_ns", 100); /* the other 20 are steps of a layer's row, and in its time */
    metric(r, "chain.library_layout_ns", 300);
    metric(r, "chain.inside.nchwToNhwcKernel_ns", 200);
    metric(r, "chain.inside.nhwcToNchwKernel_ns", 100);
    r = chain(&f, "chain/best", "launch=graph", 2000, 1.5);
    metric(r, "chain.sum_ns", 2080);
    metric(r, "chain.sum_low_ns", 2000);
    metric(r, "chain.sum_high_ns", 2100);
    metric(r, "chain.library_sum_ns", 6240); /* of its own plan, in an older database */
    metric(r, "chain.sum_back_ns", 1950);
    metric(r, "chain.sum_warm_ns", 2060);
    snprintf(r->launch_hash, sizeof r->launch_hash, "fd9d141c"); /* one machine code: a second name, no second time */
    r = chain(&f, "conv2d/of_best", "launch=graph", 1990, 1.51);
    snprintf(r->launch_hash, sizeof r->launch_hash, "fd9d141c");
    static const char *const singles[] = {"conv2d/a", "conv2d/b", "conv2d/c", "conv2d/d", "my/e"};
    for (int i = 0; i < 5; i++)
        chain(&f, singles[i], "launch=graph", 4000 + 100 * i, i ? 0.7 : 1.005); /* the first: 0.995 to 1.015 */
    char *t = told(&f);
    const char *const wanted[] = {
        "whole network, conv2d/a: 4,000 us ±4, 1.00x as fast as the library [0.995, 1.02] end to end (no significant difference)",
        "whole network, library: 3,000 us ±3; the sum of its layers timed one by one 3.12 ms - 420 us warm L2 + 100 us layout changes "
        "between layers + 200 us launches, gaps and other; layout changes by bench 4 %; layout changes inside the library 10 % "
        "(nchwToNhwcKernel 200 us, nhwcToNchwKernel 100 us); cudnn on head\n",
        /* 3120 / 2080; 3000 / 2100; 3200 / 2000 */
        "whole network, best = conv2d/of_best: 2,000 us ±2, 1.50x as fast as the library [1.48, 1.52] end to end, 1.50x [1.43, 1.60] as "
        "the sum of its "
        "layers; the sum of its layers timed one by one 2.08 ms - 130 us warm L2 and launches of short layers + 50.0 us launches, gaps and "
        "other; cudnn on head\n",
        "whole network, conv2d/c: 4,200 us", "whole network: 2 more in the table of edsr/x2\n"};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        if (!strstr(t, wanted[i]))
            fail_msg("not said: %s\n%s", wanted[i], t);
    assert_null(strstr(t, "whole network, conv2d/d"));
    assert_null(strstr(t, "1,990"));
    free(t);
    fixture_free(&f);
}

static void plans_told(struct document *d, const struct run *run, struct row *const *rows, int count)
{
    answer_document(d, run, rows, count, NULL);
}

/* The share of layout changes with bench's kernels and, apart, with the library's: those inside it count. */
static void the_librarys_layout_changes_are_a_headline(void **state)
{
    struct report_style wide = {.width = 800};
    struct text t = {0};
    struct fixture f = {0};
    three_layers(&f);
    row_set(&f.run.scenario_text, "answers:\n  - plan: {by: layout}\n");
    chain(&f, "conv2d/auto", "launch=graph", 3000, 3); /* neither has a layout: one plan, the layers' own */
    chain(&f, "pool_max/element", "launch=graph", 3100, 3);
    struct row *r = chain(&f, "chain/library", "layout=NCHW", 6793, 1);
    r->times[0].ratio_low = r->times[0].ratio_high = 1;
    metric(r, "chain.library_layout_ns", 3470);
    chain(&f, "chain/best", "layout=NHWC", 1090, 6.2);
    chain(&f, "chain/library", "layout=NHWC", 2750, 2.5);
    /* conversions between events take longer than the network that runs them as a graph: 1300 of 1892 us */
    r = chain(&f, "chain/best", "layout=per_op", 1062, 6.4);
    metric(r, "chain.layout_ns", 1300);
    metric(r, "chain.steps_ns", 1892);
    report_part(&t, plans_told, &f.run, f.rows, f.count, &wide);
    if (!strstr(text_get(&t),
                "layout per_op 1.06 ms (69 % of it layout changes by bench); layout NHWC 1.09 ms; layout given 3.00 ms. With "
                "the library's kernels: layout NCHW 6.79 ms (51 % of it "
                "layout changes); layout NHWC 2.75 ms. The plan ends changes the layout before the first and after the last "
                "layer, and per_op before and after each layer. Each share is that of the launches' times, measured with an event "
                "between each two launches"))
        fail_msg("%s", text_get(&t));
    text_free(&t);
    fixture_free(&f);
}

/* A device that keeps no time: how many are right, and nothing is said of sums. */
static void whole_networks_without_times(void **state)
{
    struct fixture f = {0};
    fixture_run(&f.run, "edsr", "emu:GH100", "emu");
    for (int i = 0; i < 2; i++) {
        struct row *r = fixture_row(&f, 0, "head", "", "conv2d 3->64", i ? "conv2d/naive" : "conv2d/cudnn", "", i ? ROW_OK : ROW_SKIPPED);
        fixture_networks(r, "x2:16");
    }
    for (int i = 0; i < 2; i++) {
        struct row *r =
            fixture_row(&f, 1, "x2", "", "chain", i ? "chain/best" : "chain/library", "launch=stream", i ? ROW_OK : ROW_SKIPPED);
        row_set(&r->op, "chain");
    }
    char *t = told(&f);
    assert_string_equal(t, "network  x2, whole network: 1 row verified against a reference in double precision (largest error 0.100 of the "
                           "tolerance), 1 not run; not timed\n");
    free(t);
    for (int i = 2; i < 4; i++) /* of several cases each line says which */
        fixture_axes(f.rows[i], "mask=pixel");
    t = told(&f);
    assert_string_equal(t, "network  x2, whole network mask=pixel: 1 row verified against a reference in double precision (largest error "
                           "0.100 of the tolerance), 1 not run; not timed\n");
    free(t);
    fixture_free(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_by_hand),
        cmocka_unit_test(the_strongest_of_the_library),
        cmocka_unit_test(a_sum_names_its_case),
        cmocka_unit_test(copy_is_not_the_op),
        cmocka_unit_test(nothing_without_a_network),
        cmocka_unit_test(dense_cases_only),
        cmocka_unit_test(names_of_completed_rows),
        cmocka_unit_test(whole_networks_stand_beside_their_sums),
        cmocka_unit_test(the_librarys_layout_changes_are_a_headline),
        cmocka_unit_test(whole_networks_without_times),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
