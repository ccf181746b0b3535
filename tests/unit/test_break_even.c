/* report/break_even/break_even: crossings of curves whose crossing is known, from points and from stored rows. */
#include "fixture_rows.h"
#include "report/break_even/break_even.h"
#include "report/page/mask_table.h"
#include "report/plot/plot.h"
#include "report/form/document.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include <cmocka.h>

#define POINT(X, Y, LOW, HIGH) ((struct crossing_point){.x = X, .y = Y, .low = LOW, .high = HIGH})

static const struct report_style plain = {0};

static void markdown_of(struct table *table, struct text *t)
{
    struct document d = {0};
    document_table(&d, table, DETAIL_ALWAYS);
    form_markdown.write(t, &d, &plain);
    document_free(&d);
}

static void near(double got, double want)
{
    if (!(fabs(got - want) <= 1e-9 * fabs(want)))
        fail_msg("%.12g, want %.12g", got, want);
}

/* y = 2 x, +-10 %: 48 % cannot be told from 1, 44 % and 56 % can. */
static void lines_cross_where_they_do(void **state)
{
    struct crossing_point p[6];
    static const double x[] = {0.01, 0.05, 0.1, 0.44, 0.48, 0.56};
    for (int i = 0; i < 6; i++)
        p[i] = POINT(x[i], 2 * x[i], 1.8 * x[i], 2.2 * x[i]);
    struct crossing c = crossing_find(p, 6);
    assert_int_equal(c.kind, CROSSING_AT);
    near(c.at, 0.5);
    near(c.low, 0.44);
    near(c.high, 0.56);
    assert_int_equal(c.turns, 1);
    c = crossing_find(p + 3, 3); /* the bracket may begin at the first density */
    assert_true(c.kind == CROSSING_AT && c.low == 0.44 && c.high == 0.56);
    c = crossing_find(p, 5); /* up to 48 %: nothing loses */
    assert_int_equal(c.kind, CROSSING_BETWEEN);
    assert_true(isnan(c.at) && isnan(c.high) && c.turns == 0);
    near(c.low, 0.44);
    c = crossing_find(p, 4);
    assert_int_equal(c.kind, CROSSING_WINS);
    c = crossing_find(p + 5, 1);
    assert_int_equal(c.kind, CROSSING_FEW);
    for (int i = 0; i < 6; i++)
        p[i].y += 1, p[i].low += 1, p[i].high += 1;
    c = crossing_find(p, 6);
    assert_int_equal(c.kind, CROSSING_LOSES);
    assert_true(isnan(c.at) && isnan(c.low));
}

/* Points that lie far apart say nothing of what is between them: no density is named. */
static void open_ends_and_turns(void **state)
{
    const struct crossing_point open[] = {POINT(0.1, 0.98, 0.9, 1.1), POINT(0.2, 1.02, 0.95, 1.1), POINT(0.3, 0.99, 0.9, 1.1),
                                          POINT(0.4, 1.09, 1.05, 1.2)};
    struct crossing c = crossing_find(open, 4);
    assert_int_equal(c.kind, CROSSING_BETWEEN);
    assert_true(isnan(c.low) && isnan(c.at) && c.turns == 0 && isnan(crossing_next(open, 4)));
    near(c.high, 0.4);
    c = crossing_find(open + 3, 1);
    assert_int_equal(c.kind, CROSSING_FEW);
    const struct crossing_point lost[] = {POINT(0.1, 1.09, 1.05, 1.2), POINT(0.2, 1.02, 0.95, 1.1)};
    near(crossing_find(lost, 2).high, 0.1); /* the first of all */
    const struct crossing_point turning[] = {POINT(0.1, 0.9, 0.8, 0.95), POINT(0.2, 1.1, 1.05, 1.2), POINT(0.3, 0.9, 0.8, 0.95),
                                             POINT(0.4, 1.1, 1.05, 1.2)};
    c = crossing_find(turning, 4);
    assert_int_equal(c.kind, CROSSING_BETWEEN);
    assert_true(isnan(c.at) && c.turns == 3);
    near(c.low, 0.1);
    near(c.high, 0.2);
    near(crossing_next(turning, 4), 0.1545) /* the line crosses at 0.15 */;
}

/* Told densities that only turn from losing to winning bracket that turn, and are no crossing below which it wins. */
static void a_turn_to_winning_is_one(void **state)
{
    const struct crossing_point back[] = {POINT(0.1, 1.1, 1.05, 1.2), POINT(0.2, 1.1, 1.05, 1.2), POINT(0.22, 0.99, 0.9, 1.1),
                                          POINT(0.25, 0.9, 0.8, 0.95), POINT(0.4, 0.9, 0.8, 0.95)};
    struct crossing c = crossing_find(back, 5);
    assert_true(c.kind == CROSSING_BETWEEN && c.back && c.turns == 1 && isnan(c.at) && isnan(crossing_next(back, 5)));
    near(c.low, 0.2);
    near(c.high, 0.25);
}

/* ---- from rows ---- */

static void add_point(struct fixture *f, int index, const char *mask, double density, const char *variant, double us, double half,
                      double ratio, double low, double high)
{
    char axes[64];
    snprintf(axes, sizeof axes, "c=64,mask=%s", mask);
    struct row *r = fixture_row(f, index, "body", axes, "conv2d 64->64 3x3  1x720x1280 f16 acc32 NHWC", variant,
                                strstr(variant, "sparse_tile") ? "EDGE=3" : "", ROW_OK);
    bool dense = !strstr(variant, "sparse") && !strstr(variant, "delta");
    r->density_in = density;
    r->density_out = density;
    r->flop = 100e9;
    r->flop_useful = density * 100e9;
    r->flop_scheduled = dense ? 100e9 : fmin(1, density * 1.25) * 100e9;
    row_set(&r->tile, dense ? NULL : "8x8");
    row_set(&r->dtype, "f16");
    row_set(&r->math, "f16_acc32");
    r->floor_ns = density * 60e3;
    fixture_time(r, -1, us, half, ratio, low, high);
}

/* cudnn 150 us; sparse_tile 400 us x density + 10; delta_tile 3000 us x density; wgmma 100 us. */
static void add_density(struct fixture *f, int index, const char *mask, double d)
{
    double sparse = 400 * d + 10, delta = 3000 * d;
    add_point(f, index, mask, d, "cudnn", 150, 0.5, 1, 1, 1);
    add_point(f, index, mask, d, "conv2d/wgmma", 100, 0.5, 1.5, 1.49, 1.51);
    add_point(f, index, mask, d, "conv2d/sparse_tile", sparse, 0.1, 150 / sparse, 150 / sparse * 0.98, 150 / sparse * 1.02);
    add_point(f, index, mask, d, "conv2d/delta_tile", delta, 0.1, 150 / delta, 150 / delta * 0.99, 150 / delta * 1.01);
}

static void make_rows(struct fixture *f)
{
    fixture_run(&f->run, "sparsity", "cuda:0", "NVIDIA H200");
    add_density(f, 0, "blobs24:0.01", 0.01);
    add_density(f, 1, "blobs24:0.10", 0.1);
    add_density(f, 2, "blobs24:0.50", 0.5);
    add_density(f, 3, "iid:0.10", 0.1); /* one density, and the full mask */
    add_density(f, 4, "full", 1);
    add_density(f, 5, "checkerboard", 0.5);
    static const double close[] = {0.031, 0.045, 0.055, 0.2, 0.25, 0.3, 0.4}; /* to every crossing */
    for (int i = 0; i < 7; i++) {
        char mask[32];
        snprintf(mask, sizeof mask, "blobs24:%g", close[i]);
        add_density(f, 6 + i, mask, close[i]);
    }
}

/* Times are linear in the density, so the crossing is exact: 400 d + 10 = 150 at 35 %, 3000 d = 150 at 5 %. The checkerboard row is in no
 * group, and the dense wgmma is no sparse variant. */
static void rows_give_known_crossings(void **state)
{
    struct fixture f = {0};
    struct break_group *g;
    make_rows(&f);
    for (int i = 0; i < f.count; i++) {
        if (f.rows[i]->density_in == 0.1)
            f.rows[i]->floor_ns = 0; /* not known */
        if (strstr(f.rows[i]->variant, "sparse_tile"))
            row_set(&f.rows[i]->tile, NULL); /* a network has none, and computes all where its mask has grown over the image */
    }
    int count = break_even_make(&g, &f.run, f.rows, f.count);
    for (int i = 0; i < g[0].dense_count; i++)
        assert_true(g[0].dense[i].x == 0.1 ? isnan(g[0].dense[i].floor_ns) : fabs(g[0].dense[i].floor_ns - 60e3 * g[0].dense[i].x) < 1e-6);
    assert_int_equal(count, 2);
    assert_string_equal(g[0].title, "body c=64, blobs24, f16 f16_acc32");
    assert_string_equal(g[0].against, "cudnn");
    assert_int_equal(g[0].line_count, 2);
    assert_string_equal(g[0].lines[0].name, "sparse_tile");
    assert_int_equal(g[0].lines[0].count, 11);
    near(g[0].lines[0].crossing.at, 0.35);
    near(g[0].lines[1].crossing.at, 0.05);
    assert_true(g[0].lines[0].crossing.low < 0.35 && g[0].lines[0].crossing.high > 0.35);
    near(g[0].lines[0].points[0].waste, 0.2);
    near(g[0].lines[0].points[10].waste, 0);
    assert_string_equal(g[1].title, "body c=64, iid, f16 f16_acc32");
    assert_int_equal(g[1].lines[0].crossing.kind, CROSSING_BETWEEN); /* 10 % and full */
    near(g[1].lines[0].crossing.low, 0.1);
    near(g[1].lines[0].crossing.high, 1);
    assert_int_equal(g[1].lines[1].crossing.kind, CROSSING_LOSES); /* 3000 x 10 % */
    struct text t = {0};
    break_even_sentence(&g[0], &t);
    if (!strstr(
            text_get(&t),
            "body c=64, blobs24, f16 f16_acc32: sparse_tile breaks even with cudnn between 30 and 40 % of changed inputs (about 35); ") ||
        !strstr(text_get(&t), "delta_tile breaks even with cudnn between 4.5 and 5.5 % of changed inputs (about 5)"))
        fail_msg("%s", text_get(&t));
    text_free(&t);
    break_even_sentence(&g[1], &t);
    if (!strstr(text_get(&t), "sparse_tile breaks even with cudnn somewhere between 10 and 100 % of changed inputs") ||
        !strstr(text_get(&t), "delta_tile: slower than cudnn at all 2 measured densities, 10 to 100 %"))
        fail_msg("%s", text_get(&t));
    text_free(&t);
    struct table *table = break_even_table(g, count, false);
    markdown_of(table, &t);
    if (!strstr(text_get(&t), "slower at all densities") || !strstr(text_get(&t), "| 35 \\["))
        fail_msg("%s", text_get(&t));
    text_free(&t);
    break_even_free(g, count);
    fixture_free(&f);
}

/* The scenario asks against our own dense kernel: 400 d + 10 = 100 at 22.5 %. */
static void answers_choose_the_dense_one(void **state)
{
    struct fixture f = {0};
    struct break_group *g;
    make_rows(&f);
    row_set(&f.run.scenario_text, "scenario: x\nanswers:\n  - break_even: {over: mask.density, against: conv2d/wgmma}\n");
    assert_int_equal(break_even_make(&g, &f.run, f.rows, f.count), 2);
    assert_string_equal(g[0].against, "conv2d/wgmma");
    near(g[0].lines[0].crossing.at, 0.225);
    near(g[0].lines[1].crossing.at, 100.0 / 3000);
    break_even_free(g, 2);
    fixture_free(&f);
}

/* Against a sparse variant the others have curves, it itself has none. */
/* Rows that were timed in the same rounds are compared round by round, whatever the rival. A factor that all rows of a round share cancels
 * out. Rounds of different groups are not paired. */
static void rounds_of_one_bout_are_paired(void **state)
{
    for (int apart = 0; apart < 2; apart++) {
        struct fixture f = {0};
        struct break_group *g;
        fixture_run(&f.run, "sparsity", "cuda:0", "NVIDIA H200");
        row_set(&f.run.scenario_text, "answers:\n  - break_even: {over: mask.density, by: [layer, mask.pattern], against: conv2d/wgmma}\n");
        for (int i = 0; i < 2; i++) {
            add_density(&f, i, i ? "blobs24:0.30" : "blobs24:0.10", i ? 0.3 : 0.1);
            for (int k = f.count - 4; k < f.count; k++) {
                struct row_time *t = &f.rows[k]->times[0];
                bool sparse = !strcmp(f.rows[k]->variant, "conv2d/sparse_tile");
                t->samples_ns = xcalloc((size_t)t->rounds, sizeof(double));
                t->places = xcalloc((size_t)t->rounds, sizeof(double));
                for (int r = 0; r < t->rounds; r++) /* 10 % from round to round, 4 % from row to row */
                    t->samples_ns[r] = (sparse ? 96e3 : 100e3) * (1 + 0.1 * (r % 7) / 6.0 + 0.001 * (r % 2));
                t->low_ns = 95e3;
                t->high_ns = 115e3;
                t->took_s = 1.25 + (apart && sparse);
            }
        }
        assert_int_equal(break_even_make(&g, &f.run, f.rows, f.count), 1);
        const struct break_line *l = &g[0].lines[0];
        for (int k = 1; k < g[0].line_count && strcmp(l->name, "sparse_tile"); k++)
            l = &g[0].lines[k];
        assert_string_equal(l->name, "sparse_tile");
        assert_int_equal(l->count, 2);
        for (int i = 0; i < 2; i++)
            assert_true(apart ? l->points[i].low < 1 && l->points[i].high > 1
                              : fabs(l->points[i].y - 0.96) < 1e-9 && l->points[i].low > 0.95 && l->points[i].high < 0.97);
        break_even_free(g, 1);
        fixture_free(&f);
    }
}

static void nothing_is_held_against_itself(void **state)
{
    struct fixture f = {0};
    struct break_group *g;
    make_rows(&f);
    row_set(&f.run.scenario_text, "scenario: x\nanswers:\n  - break_even: {over: mask.density, against: conv2d/sparse_tile}\n");
    assert_int_equal(break_even_make(&g, &f.run, f.rows, f.count), 2);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(g[i].line_count, 1);
        assert_string_equal(g[i].lines[0].name, "delta_tile");
    }
    break_even_free(g, 2);
    fixture_free(&f);
}

/* sparse takes `slope` us times the density, cudnn 100: they cross at 100 / slope. */
static void add_slope(struct fixture *f, int index, const char *axes, double d, double slope)
{
    char mask[32];
    snprintf(mask, sizeof mask, "blobs8:%.2f", d);
    for (int sparse = 0; sparse < 2; sparse++) {
        double us = sparse ? slope * d : 100;
        add_point(f, index, mask, d, sparse ? "conv2d/sparse" : "cudnn", us, 0, 100 / us, 100 / us, 100 / us);
        char *all = text_format("mask=%s,%s", mask, axes);
        fixture_axes(f->rows[f->count - 1], all);
        row_set(&f->rows[f->count - 1]->case_id, all);
        free(all);
    }
}

/* `by` names the coordinates that get curves of their own. Cases that differ only in other coordinates are one point: the mean, and an
 * interval that contains all of them. */
static void by_makes_the_groups(void **state)
{
    struct fixture f = {0};
    struct break_group *g;
    fixture_run(&f.run, "sparsity", "cuda:0", "NVIDIA H200");
    for (int i = 0; i < 4; i++) { /* n = 4: 1 % more pixels, as a random mask of another shape has */
        double d = (i + 1) / 10.0;
        add_slope(&f, 2 * i, "n=1", d, 400);
        add_slope(&f, 2 * i + 1, "n=4", d * 1.01, 600);
    }
    row_set(&f.run.scenario_text, "answers:\n  - break_even: {over: mask.density, by: [layer, n, mask.pattern], against: cudnn}\n");
    assert_int_equal(break_even_make(&g, &f.run, f.rows, f.count), 2);
    assert_string_equal(g[0].title, "body n=1, blobs8, f16 f16_acc32");
    near(g[0].lines[0].crossing.at, 0.25);
    near(g[1].lines[0].crossing.low, 0.101);
    near(g[1].lines[0].crossing.high, 0.202);
    break_even_free(g, 2);
    row_set(&f.run.scenario_text, "answers:\n  - break_even: {over: mask.density, by: [layer, mask.pattern], against: cudnn}\n");
    assert_int_equal(break_even_make(&g, &f.run, f.rows, f.count), 1);
    assert_string_equal(g[0].title, "body, blobs8, f16 f16_acc32");
    assert_int_equal(g[0].lines[0].count, 4);
    assert_int_equal(g[0].lines[0].points[1].runs, 1);
    near(g[0].lines[0].points[1].x, 0.201);
    near(g[0].lines[0].points[1].y, (0.8 + 1.212) / 2);
    near(g[0].lines[0].points[1].low, 0.8);
    near(g[0].lines[0].points[1].high, 1.212);
    break_even_free(g, 1);
    row_set(&f.run.scenario_text, "answers:\n  - break_even: {over: mask.density, by: n, against: cudnn}\n");
    assert_int_equal(break_even_make(&g, &f.run, f.rows, f.count), 2);
    assert_string_equal(g[1].title, "n=4, f16 f16_acc32");
    break_even_free(g, 2);
    fixture_free(&f);
}

/* What bisection measures next: between 10 and 100 % of iid. For blobs it has bracketed all crossings to 10 % except from 30 to 40 % and
 * from 4.5 to 5.5 %. If the scenario has no question, it measures nothing. */
static void bisection_asks_for_cases(void **state)
{
    struct fixture f = {0};
    make_rows(&f);
    for (int i = 0, count = f.count; i < count; i++) /* who wins everywhere reaches farthest, and has nothing to ask for */
        if (f.rows[i]->library)
            add_point(&f, f.rows[i]->case_index, row_axis(f.rows[i], "mask"), f.rows[i]->density_in, "conv2d/sparse_best", 50, 0, 3, 3, 3);
    for (int i = 0; i < f.count; i++) {
        char *id = text_format("sparsity/body[mask=%s]", row_axis(f.rows[i], "mask"));
        row_set(&f.rows[i]->case_id, id);
        free(id);
    }
    struct break_wish *wishes;
    assert_int_equal(break_even_more(&f.run, f.rows, f.count, &wishes), -1);
    row_set(&f.run.scenario_text, "answers:\n  - break_even: {over: mask.density}\n  - fastest: {}\n"); /* against nobody: no question */
    assert_int_equal(break_even_more(&f.run, f.rows, f.count, &wishes), -1);
    row_set(&f.run.scenario_text, "answers:\n  - break_even: {over: mask.density, by: [layer, mask.pattern], against: cudnn}\n");
    static const struct break_wish want[] = {
        {"sparsity/body[mask=blobs24:0.4]", 0.36, "cudnn", NULL},                  /* beside 35 %, where the line crosses; */
        {"sparsity/body[mask=blobs24:0.4]", 0.36, "conv2d/sparse_tile", "EDGE=3"}, /* not beside 5 %: there the tile beats the delta */
        {"sparsity/body[mask=iid:0.10]", 0.316, "cudnn", NULL}, /* far apart: the geometric mean; the delta loses at both */
        {"sparsity/body[mask=iid:0.10]", 0.316, "conv2d/sparse_tile", "EDGE=3"}};
    assert_int_equal(break_even_more(&f.run, f.rows, f.count, &wishes), 4);
    for (int i = 0; i < 4; i++) {
        assert_string_equal(wishes[i].case_id, want[i].case_id);
        near(wishes[i].density, want[i].density);
        assert_string_equal(wishes[i].variant, want[i].variant);
        assert_true(!wishes[i].params == !want[i].params && (!want[i].params || !strcmp(wishes[i].params, want[i].params)));
        free(wishes[i].case_id);
    }
    free(wishes);
    for (int i = 0; i < f.count; i++) /* of one curve the baseline only moves the bytes: it alone wants all */
        if (f.rows[i]->library && !strstr(row_axis(f.rows[i], "mask"), "blobs"))
            f.rows[i]->status = ROW_FOIL;
    int count = break_even_more(&f.run, f.rows, f.count, &wishes), all = 0;
    for (int i = 0; i < count; i++) {
        assert_true(!wishes[i].variant == !!strstr(wishes[i].case_id, "iid"));
        all += !wishes[i].variant;
        free(wishes[i].case_id);
    }
    assert_true(all > 0 && count > all);
    free(wishes);
    for (int i = 0; i < f.count; i++) /* the baseline only moves the bytes: whichever dense row is the fastest is the rival */
        if (f.rows[i]->library)
            f.rows[i]->status = ROW_FOIL;
    count = break_even_more(&f.run, f.rows, f.count, &wishes);
    assert_true(count > 0);
    for (int i = 0; i < count; i++) {
        assert_null(wishes[i].variant);
        free(wishes[i].case_id);
    }
    free(wishes);
    fixture_free(&f);
}

/* Who is beaten at both ends of its bracket asks for nothing; at one end, or where nobody can tell, it may be the one to take. */
static void the_beaten_ask_for_nothing(void **state)
{
    static const struct {
        double low_us, high_us; /* of the other row, at 10 % and at 50 % */
        bool asks;
    } tries[] = {{30, 60, false}, {30, 190, true}, {110, 60, true}, {79.5, 159, true}};
    for (int i = 0; i < 4; i++) {
        struct fixture f = {0};
        struct break_wish *wishes;
        fixture_run(&f.run, "sparsity", "cuda:0", "NVIDIA H200");
        row_set(&f.run.scenario_text, "answers:\n  - break_even: {over: mask.density, by: [layer, mask.pattern], against: cudnn}\n");
        for (int k = 0; k < 2; k++) {
            const char *mask = k ? "blobs8:0.50" : "blobs8:0.10";
            double d = k ? 0.5 : 0.1, own = k ? 160 : 80, other = k ? tries[i].high_us : tries[i].low_us;
            add_point(&f, k, mask, d, "cudnn", 100, 0, 1, 1, 1);
            add_point(&f, k, mask, d, "conv2d/sparse", own, 0, 100 / own, 99 / own, 101 / own);
            add_point(&f, k, mask, d, "conv2d/sparse_other", other, 0, 100 / other, 99 / other, 101 / other);
        }
        int count = break_even_more(&f.run, f.rows, f.count, &wishes), own = 0;
        for (int k = 0; k < count; k++) {
            own += !strcmp(wishes[k].variant, "conv2d/sparse");
            free(wishes[k].case_id);
        }
        if (own != tries[i].asks)
            fail_msg("%d: %d of %d", i, own, count);
        struct break_group *groups; /* and its sentence says why its bracket is so wide */
        struct text t = {0};
        int made = break_even_make(&groups, &f.run, f.rows, f.count);
        break_even_sentence(&groups[0], &t);
        const char *said = strstr(text_get(&t), "sparse breaks even with cudnn somewhere between 10 and 50 % of changed inputs");
        if (!said || !strncmp(strstr(said, "changed"), "changed inputs; another variant is faster at both ends", 54) != !own)
            fail_msg("%d: %s", i, text_get(&t));
        text_free(&t);
        break_even_free(groups, made);
        free(wishes);
        fixture_free(&f);
    }
}

/* A network is run whole with every mask that its layers have: what it wants is wanted of them, of the scenario's own case. */
static void a_network_asks_for_its_layers(void **state)
{
    struct fixture f = {0};
    fixture_run(&f.run, "sparsity", "cuda:0", "NVIDIA H200");
    row_set(&f.run.scenario_text, "answers:\n  - break_even: {over: mask.density, by: [layer, mask.pattern], against: cudnn}\n");
    for (int i = 0; i < 2; i++) {
        char mask[32];
        snprintf(mask, sizeof mask, "blobs24:%g", i ? 0.5 : 0.1);
        add_density(&f, 2 * i, mask, i ? 0.5 : 0.1);
        add_point(&f, 2 * i + 1, mask, i ? 0.5 : 0.1, "conv2d/naive", 900, 1, NAN, NAN, NAN);
    }
    for (int i = 0; i < f.count; i++) {
        struct row *r = f.rows[i];
        bool whole = r->case_index % 2 == 0;
        char *id = text_format("sparsity/%s[mask=%s]", whole ? "net" : "body", row_axis(r, "mask"));
        row_set(&r->case_id, id);
        row_set(&r->layer, whole ? "net" : "body");
        row_set(&r->op, whole ? "chain" : "conv2d");
        if (!whole)
            row_add_network(r, "net", 3);
        if (r->case_index == 3)
            row_set(&r->like_case, "sparsity/body[mask=blobs24:0.25]");
        free(id);
    }
    struct break_wish *wishes;
    int count = break_even_more(&f.run, f.rows, f.count, &wishes); /* by 10 % the tile wins, by 50 % it loses; the delta wins nowhere */
    assert_int_equal(count, 1);
    assert_null(wishes[0].variant); /* it is made of rows that each may choose */
    assert_true(wishes[0].density > 0.1 && wishes[0].density < 0.5);
    assert_string_equal(wishes[0].case_id,
                        wishes[0].density > 0.3 ? "sparsity/body[mask=blobs24:0.25]" : "sparsity/body[mask=blobs24:0.1]");
    for (int i = 0; i < count; i++)
        free(wishes[i].case_id);
    free(wishes);
    fixture_free(&f);
}

/* Other seeds at the same density: the mean, and an interval that holds all. */
static void seeds_are_merged(void **state)
{
    struct fixture f = {0};
    struct break_group *g;
    fixture_run(&f.run, "sparsity", "cuda:0", "NVIDIA H200");
    for (int seed = 1; seed <= 3; seed++) {
        char mask[32];
        snprintf(mask, sizeof mask, "iid:0.10:%d", seed);
        add_point(&f, seed, mask, 0.1, "cudnn", 100, 0.5, 1, 1, 1);
        double us = 40 + 10 * seed;
        add_point(&f, seed, mask, 0.1, "conv2d/sparse", us, 0, 100 / us, 100 / us, 100 / us);
    }
    add_point(&f, 4, "iid:0.20:1", 0.2, "cudnn", 100, 0.5, 1, 1, 1);
    add_point(&f, 4, "iid:0.20:1", 0.2, "conv2d/sparse", 140, 0, 100.0 / 140, 100.0 / 140, 100.0 / 140);
    assert_int_equal(break_even_make(&g, &f.run, f.rows, f.count), 1);
    assert_int_equal(g->lines[0].count, 2);
    near(g->lines[0].points[0].y, 0.6);
    near(g->lines[0].points[0].low, 0.5);
    near(g->lines[0].points[0].high, 0.7);
    near(g->lines[0].points[0].ns, 60e3);
    near(g->lines[0].points[0].ns_low, 50e3);
    near(g->lines[0].points[0].ns_high, 70e3);
    near(g->lines[0].crossing.low, 0.1);
    near(g->lines[0].crossing.high, 0.2);
    break_even_free(g, 1);
    fixture_free(&f);
}

/* Row 0 that only moves the bytes is nobody's rival: the fastest dense row is. 400 d + 10 = 100 at 22.5 %. */
static void a_copy_is_no_rival(void **state)
{
    struct fixture f = {0};
    struct break_group *g;
    make_rows(&f);
    for (int i = 0; i < f.count; i++) {
        if (strcmp(f.rows[i]->variant, "cudnn") == 0) {
            f.rows[i]->status = ROW_FOIL;
            fixture_variant(f.rows[i], "conv2d/copy");
        }
    }
    assert_int_equal(break_even_make(&g, &f.run, f.rows, f.count), 2);
    assert_string_equal(g[0].against, "wgmma");
    assert_string_equal(g[0].lines[0].name, "sparse_tile");
    near(g[0].lines[0].crossing.at, 0.225);
    break_even_free(g, 2);
    fixture_free(&f);
}

/* Every mask a line, every variant a column; one whose row is wrong has no time. */
static void masks_side_by_side(void **state)
{
    struct fixture f = {0};
    struct document d = {0};
    struct text t = {0};
    make_rows(&f);
    f.rows[6]->status = ROW_WRONG; /* sparse_tile at 10 % */
    mask_document(&d, &f.run, f.rows, f.count);
    assert_int_equal(d.count, 2);
    assert_string_equal(d.blocks[0].text, "us by mask: body, c=64, f16 f16_acc32");
    form_markdown.write(&t, &d, &(struct report_style){0});
    if (!strstr(text_get(&t), "| mask | in % | out % | cudnn | wgmma | sparse_tile | delta_tile |") ||
        !strstr(text_get(&t), "| blobs24:0.01 | 1 | 1 | 150 | 100 | 14.0 | 30.0 |") ||
        !strstr(text_get(&t), "| blobs24:0.10 | 10 | 10 | 150 | 100 | | 300 |") || !strstr(text_get(&t), "| checkerboard | 50 | 50 |"))
        fail_msg("%s", text_get(&t));
    text_free(&t);
    document_free(&d);
    fixture_free(&f);
}

static void nothing_without_masks_or_time(void **state)
{
    struct fixture f = {0};
    struct text t = {0};
    fixture_h200(&f);
    report_part(&t, mask_document, &f.run, f.rows, f.count, &plain);
    report_part(&t, break_even_document, &f.run, f.rows, f.count, &plain); /* one density: no group */
    assert_string_equal(text_get(&t), "");
    fixture_free(&f);
    make_rows(&f);
    for (int i = 0; i < f.count; i++)
        row_set(&f.rows[i]->device, "emu:GH100");
    report_part(&t, break_even_document, &f.run, f.rows, f.count, &plain);
    assert_non_null(strstr(text_get(&t), "emu measures none"));
    text_free(&t);
    fixture_free(&f);
}

/* The plot is drawn from those rows, and its data holds the crossing. */
static void plot_has_the_crossing(void **state)
{
    char dir[] = "/tmp/bench_break_XXXXXX", path[128], line[256];
    struct fixture f = {0};
    struct plots plots;
    struct error err = {0};
    bool found = false;
    assert_non_null(mkdtemp(dir));
    make_rows(&f);
    if (!plots_make(&plots, &f.run, f.rows, f.count, dir, &err))
        fail_msg("%s", err.text);
    int drawn = 0;
    for (int i = 0; i < plots.count; i++) {
        if (!strstr(plots.items[i].name, "_break_even"))
            continue;
        drawn++;
        assert_true(plots.items[i].svg || plots.problem);
        snprintf(path, sizeof path, "%s/plots/%s.dat", dir, plots.items[i].name);
        FILE *file = fopen(path, "r");
        while (file && fgets(line, sizeof line, file))
            found |= strncmp(line, "35\t150\t", 6) == 0;
        if (file)
            fclose(file);
    }
    assert_int_equal(drawn, 2);
    assert_true(found);
    if (plots.problem && access("/usr/bin/gnuplot", X_OK) == 0)
        fail_msg("%s", plots.problem);
    plots_free(&plots);
    fixture_free(&f);
    snprintf(path, sizeof path, "rm -r %s", dir);
    assert_int_equal(system(path), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_cross_where_they_do),
        cmocka_unit_test(open_ends_and_turns),
        cmocka_unit_test(a_turn_to_winning_is_one),
        cmocka_unit_test(bisection_asks_for_cases),
        cmocka_unit_test(the_beaten_ask_for_nothing),
        cmocka_unit_test(a_network_asks_for_its_layers),
        cmocka_unit_test(rows_give_known_crossings),
        cmocka_unit_test(answers_choose_the_dense_one),
        cmocka_unit_test(nothing_is_held_against_itself),
        cmocka_unit_test(rounds_of_one_bout_are_paired),
        cmocka_unit_test(by_makes_the_groups),
        cmocka_unit_test(seeds_are_merged),
        cmocka_unit_test(nothing_without_masks_or_time),
        cmocka_unit_test(a_copy_is_no_rival),
        cmocka_unit_test(masks_side_by_side),
        cmocka_unit_test(plot_has_the_crossing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
