/* plan/rows/choose: which rows a network runs whole takes, and what they come to together. */
#include "fixture_rows.h"
#include "scenario_text.h"
#include "small_network.h"
#include "plan/rows/choose.h"
#include "plan/rows/plan.h"
#include <math.h>

static void add_median(struct row *row, const char *cache, const char *load, double us)
{
    struct row_time *t = row_add_time(row);
    t->step = -1;
    snprintf(t->cache, sizeof t->cache, "%s", cache);
    snprintf(t->load, sizeof t->load, "%s", load);
    t->median_ns = us * 1000;
    t->low_ns = us * 990;
    t->high_ns = us * 1020;
}

static struct row *known(const struct plan *plan, int i, double us)
{
    struct row *row = plan_row_new(plan, i, "cuda:0");
    row->status = ROW_OK;
    add_median(row, "cold", "isolated", us);
    return row;
}

static double of(const struct row *row, const char *name)
{
    const struct row_metric *m = row_metric(row, -1, name);
    return m ? m->value : NAN;
}

static int find_row(const struct plan *plan, const char *variant, const char *layer, enum layout layout)
{
    for (int i = 0; i < plan->row_count; i++)
        if (plan->rows[i].variant && !strcmp(plan_row_variant(&plan->rows[i]), variant) &&
            !strcmp(plan->cases[plan->rows[i].case_index].layer->name, layer) &&
            plan->cases[plan->rows[i].case_index].work.layout == layout)
            return i;
    fail_msg("no %s on %s", variant, layer);
    return -1;
}

/* What keeps the fastest row of a link out: another side, a mask that the network has not, another size; nothing verified is said. */
static void choices_are_rows_that_fit(struct plan *plan, struct row **rows)
{
    char why[256];
    struct side other = {0};
    int at = find_row(plan, "conv2d/cudnn", "b1", LAYOUT_NCHW), halo = find_row(plan, "conv2d/tiled_halo", "head", LAYOUT_NCHW);
    for (int i = 0; i < plan->row_count; i++) {
        struct chain_row *chain = plan->rows[i].chain;
        if (!chain || chain->layout != LAYOUT_PLAN_GIVEN || chain->pick != CHAIN_BEST)
            continue;
        struct text t = {0};
        for (int sided = 0; sided < 3; sided++) {
            plan->rows[at].side = sided ? &other : NULL;
            chain->side = sided == 2 ? &other : NULL;
            int *choice = choose_links(plan, i, rows, why, sizeof why);
            assert_true(choice && (choice[1] == at) == (sided != 1));
            free(choice);
        }
        plan->rows[at].side = chain->side = NULL;
        plan->rows[at].facts.uses_mask = true;
        int *choice = choose_links(plan, i, rows, why, sizeof why);
        assert_true(choice && choice[1] != at);
        free(choice);
        plan->rows[at].facts.uses_mask = false;
        choice = choose_links(plan, i, rows, why, sizeof why);
        assert_true(choice && choice[1] == at && choice[3] == at);
        choice[3] = find_row(plan, "conv2d/cudnn", "b1", LAYOUT_NHWC); /* one layer by two rows is named twice */
        choose_describe(plan, i, choice, &t);
        assert_string_equal(text_get(&t), "naive on head; cudnn on b1, b2, b1, up");
        t.len = 0;
        choice[1] = choice[4] = choice[0]; /* what one row runs is named together, whatever stands between */
        choose_describe(plan, i, choice, &t);
        assert_string_equal(text_get(&t), "naive on head, b1, b2; cudnn on b2, b1, up");
        choice[3] = choice[1] = at;
        choice[4] = choice[2];
        struct work *w = &plan->cases[plan->rows[at].case_index].work;
        for (int side = 0; side < 3; side++) { /* a cropped layer's time is not the layer's */
            struct row *out = row_new();
            w->h += side == 1;
            w->w += side == 2;
            choose_sums(plan, i, choice, rows, out);
            assert_true(isnan(of(out, "chain.sum_ns")) == (side > 0));
            w->h -= side == 1;
            w->w -= side == 2;
            row_free(out);
        }
        choice[0] = -1; /* its other links were traced */
        for (int k = 1; k < 7; k++) {
            row_free(rows[choice[k]]);
            rows[choice[k]] = known(plan, choice[k], 10);
            rows[choice[k]]->launched = 0; /* ... and launched nothing */
        }
        struct row *out = row_new();
        assert_true(choose_library_layout(plan, i, choice, rows, out));
        assert_true(of(out, "chain.library_layout_ns") == 0);
        row_free(out);
        out = row_new();
        rows[choice[1]]->launched = -1; /* not counted yet, as when the network is timed */
        assert_false(choose_library_layout(plan, i, choice, rows, out));
        assert_true(isnan(of(out, "chain.library_layout_ns")));
        row_free(out);
        free(choice);
        for (int k = 0; k < plan->row_count; k++)
            if (!strcmp(plan->cases[plan->rows[k].case_index].layer->name, "head") && !plan->rows[k].chain)
                rows[k]->status = ROW_WRONG;
        assert_null(choose_links(plan, i, rows, why, sizeof why));
        assert_non_null(strstr(why, "layer 'head' has no verified row in NCHW"));
        assert_int_equal(rows[halo]->status, ROW_WRONG);
        text_free(&t);
        return;
    }
    fail();
}

/* Why the library cannot run a layer is what its own row of that layer says, in that layout, wherever that stands. */
static void the_librarys_own_reason(const struct plan *plan, struct row **rows, const char *layer)
{
    char want[64];
    snprintf(want, sizeof want, "layer '%s': nothing for it", layer);
    for (int nhwc = 0; nhwc < 2; nhwc++) {
        char why[256] = "";
        int at = find_row(plan, "conv2d/cudnn", layer, nhwc ? LAYOUT_NHWC : LAYOUT_NCHW);
        for (int i = 0; i < plan->row_count; i++)
            row_set(&rows[i]->reason, i == at                                                    ? "nothing for it"
                                      : strcmp(plan_row_variant(&plan->rows[i]), "conv2d/cudnn") ? "another's"
                                                                                                 : NULL);
        rows[at]->status = ROW_SKIPPED;
        for (int i = 0; i < plan->row_count; i++)
            if (plan->rows[i].chain && plan->rows[i].chain->pick == CHAIN_LIBRARY &&
                plan->rows[i].chain->layout == (nhwc ? LAYOUT_PLAN_NHWC : LAYOUT_PLAN_GIVEN))
                assert_null(choose_links(plan, i, rows, why, sizeof why));
        assert_string_equal(why, want);
        rows[at]->status = ROW_OK;
    }
}

/* If the library has no row for a layer, another row takes its place in the library's network. If its row failed, no other row does. */
static void what_the_library_has_not(struct plan *plan, struct row **rows)
{
    char why[256];
    int naive = find_row(plan, "conv2d/naive", "up", LAYOUT_NCHW), cudnn = find_row(plan, "conv2d/cudnn", "up", LAYOUT_NCHW);
    const struct variant *own = plan->rows[cudnn].variant;
    enum row_status was = rows[naive]->status;
    rows[naive]->status = ROW_OK;
    rows[cudnn]->status = ROW_WRONG;
    for (int has = 0; has < 2; has++) {
        plan->rows[cudnn].variant = has ? own : plan->rows[naive].variant;
        for (int i = 0; i < plan->row_count; i++)
            if (plan->rows[i].chain && plan->rows[i].chain->pick == CHAIN_LIBRARY && plan->rows[i].chain->layout == LAYOUT_PLAN_GIVEN) {
                int *choice = choose_links(plan, i, rows, why, sizeof why);
                assert_true(has ? choice == NULL : choice && choice[6] == naive);
                free(choice);
            }
    }
    rows[naive]->status = was;
    rows[cudnn]->status = ROW_OK;
}

/* Before anything ran, rows that can run are chosen among: not broken, for the whole work, and such as are looked at. */
static void unseen_rows_can_run(struct plan *plan)
{
    char why[256];
    for (int i = 0; i < plan->row_count; i++)
        for (int k = 0; k < 3; k++) {
            if (!plan->rows[i].chain || plan->rows[i].chain->pick != CHAIN_BEST || plan->rows[i].chain->layout != LAYOUT_PLAN_GIVEN)
                continue;
            int *choice = choose_links(plan, i, NULL, why, sizeof why);
            assert_non_null(choice);
            int first = choice[0];
            struct plan_row *row = &plan->rows[first];
            struct error why_not = {0}, *broken = row->broken;
            row->broken = k == 0 ? &why_not : broken;
            row->facts.feasible = k != 1, row->facts.checked = k != 2;
            free(choice);
            choice = choose_links(plan, i, NULL, why, sizeof why);
            assert_true(choice && choice[0] != first);
            row->broken = broken;
            row->facts.feasible = row->facts.checked = true;
            free(choice);
        }
}

/* A planned scenario and its rows, which the test makes. */
struct asked {
    char *path;
    struct plan plan;
    struct row **rows;
};

static struct asked ask_of(const char *scenario, const char *kind, const char *chip)
{
    struct asked a = {.path = text_file(scenario)};
    struct plan_options options = {.scenario_path = a.path};
    struct error err = {0};
    if (!plan_make(&options, kind, chip_find(chip), &a.plan, &err))
        fail_msg("%s", err.text);
    a.rows = calloc((size_t)a.plan.row_count, sizeof *a.rows);
    return a;
}

static struct asked ask(const char *scenario)
{
    return ask_of(scenario, "cuda", "GH100");
}

static void let_go(struct asked *a)
{
    for (int i = 0; i < a->plan.row_count; i++)
        row_free(a->rows[i]);
    free(a->rows);
    plan_free(&a->plan);
    unlink(a->path);
    free(a->path);
}

/* cuDNN 10 us a layer, of which 3 turn a layout; naive 8 on the head (and wrong on `up`), 20 elsewhere; tiled_halo never right. */
static void choices_follow_the_times(void **state)
{
    struct asked asked = ask(small);
    struct row **rows = asked.rows;
    char why[256];
    int looked = 0;
    for (int i = 0; i < asked.plan.row_count; i++) {
        const char *name = plan_row_variant(&asked.plan.rows[i]), *layer = asked.plan.cases[asked.plan.rows[i].case_index].layer->name;
        bool library = !strcmp(name, "conv2d/cudnn"), halo = !strcmp(name, "conv2d/tiled_halo");
        rows[i] = known(&asked.plan, i, library ? 10 : !strcmp(layer, "head") ? 8 : 20);
        if (library) {
            add_median(rows[i], "warm", "sustained", 7);
            fixture_launch(rows[i], "_ZN5cudnn3ops16nchwToNhwcKernelIfEv", (struct row_launch){.ns = 3000});
            fixture_launch(rows[i], "fprop", (struct row_launch){.ns = 6000});
        } else {
            fixture_launch(rows[i], "conv_naive", (struct row_launch){.ns = 5000});
        }
        if (halo || (!library && !strcmp(layer, "up")))
            rows[i]->status = ROW_WRONG;
    }
    for (int i = 0; i < asked.plan.row_count; i++) {
        const struct chain_row *chain = asked.plan.rows[i].chain;
        if (!chain || chain->layout != LAYOUT_PLAN_GIVEN)
            continue;
        int *choice = choose_links(&asked.plan, i, rows, why, sizeof why);
        if (chain->pick == CHAIN_SINGLE && strstr(chain->single, "tiled_halo")) {
            assert_null(choice);
            assert_string_equal(why, "it is verified on no layer of this network");
            continue;
        }
        assert_non_null(choice);
        struct row *out = row_new();
        struct text t = {0};
        choose_describe(&asked.plan, i, choice, &t);
        choose_sums(&asked.plan, i, choice, rows, out);
        choose_library_layout(&asked.plan, i, choice, rows, out);
        assert_true(isnan(of(out, "chain.sum_warm_ns")));
        if (chain->pick == CHAIN_LIBRARY) {
            assert_string_equal(text_get(&t), "cudnn on head, b1, b2, up");
            assert_true(of(out, "chain.sum_ns") == 7 * 10000 && of(out, "chain.library_layout_ns") == 7 * 3000);
            assert_true(of(out, "chain.inside.nchwToNhwcKernel_ns") == 7 * 3000 && isnan(of(out, "chain.inside.nhwcToNchwKernel_ns")));
            assert_true(of(out, "chain.sum_back_ns") == 7 * 7000);
        } else if (chain->pick == CHAIN_BEST) {
            assert_string_equal(text_get(&t), "naive on head; cudnn on b1, b2, up");
            assert_true(of(out, "chain.sum_back_ns") == 8000 + 6 * 7000); /* naive has no time in a graph */
            assert_true(of(out, "chain.sum_ns") == 8000 + 6 * 10000 && of(out, "chain.library_layout_ns") == 6 * 3000);
        } else { /* naive where it is right */
            assert_string_equal(text_get(&t), "naive on head, b1, b2; cudnn on up");
            assert_true(of(out, "chain.sum_ns") == 8000 + 5 * 20000 + 10000 && of(out, "chain.library_layout_ns") == 3000);
            assert_true(of(out, "chain.sum_low_ns") == 0.99 * of(out, "chain.sum_ns"));
            assert_true(of(out, "chain.sum_high_ns") == 1.02 * of(out, "chain.sum_ns"));
            assert_true(choose_behind(&asked.plan, i, choice, rows) == (8000 + 5 * 20000 + 10000) / 70000.0);
            int times = rows[choice[0]]->time_count;
            rows[choice[0]]->time_count = 0; /* nothing is known, nothing is held against it */
            assert_true(isnan(choose_behind(&asked.plan, i, choice, rows)));
            rows[choice[0]]->time_count = times;
        }
        looked++;
        text_free(&t);
        row_free(out);
        free(choice);
    }
    assert_int_equal(looked, 3);
    for (int k = 0; k < rows[0]->time_count; k++) /* the plan's very first row, cuDNN on the head, is the fastest there */
        rows[0]->times[k].median_ns = 5000;
    for (int i = 0; i < asked.plan.row_count; i++)
        if (asked.plan.rows[i].chain && asked.plan.rows[i].chain->pick == CHAIN_BEST &&
            asked.plan.rows[i].chain->layout == LAYOUT_PLAN_NHWC) {
            int *choice = choose_links(&asked.plan, i, rows, why, sizeof why);
            struct row *out = row_new();
            assert_true(choice && choice[0] == 0);
            choose_sums(&asked.plan, i, choice, rows, out);
            choose_library_layout(&asked.plan, i, choice, rows, out);
            assert_true(of(out, "chain.sum_ns") == 5000 + 6 * 10000 && choose_behind(&asked.plan, i, choice, rows) == 1);
            assert_true(of(out, "chain.library_layout_ns") == 7 * 3000);
            struct text t = {0};
            choose_describe(&asked.plan, i, choice, &t);
            assert_string_equal(text_get(&t), "cudnn on head, b1, b2, up");
            text_free(&t);
            row_free(out);
            rows[0]->status = ROW_WRONG; /* the library has no sum where one layer of it is not known, were it the first */
            assert_true(isnan(choose_behind(&asked.plan, i, choice, rows)));
            rows[0]->status = ROW_OK;
            free(choice);
            looked++;
        }
    for (int i = 0; i < asked.plan.row_count; i++) /* changes of layout have no rows, and add nothing */
        if (asked.plan.rows[i].chain && asked.plan.rows[i].chain->pick == CHAIN_BEST &&
            asked.plan.rows[i].chain->layout == LAYOUT_PLAN_PER_OP) {
            int *choice = choose_links(&asked.plan, i, rows, why, sizeof why);
            struct row *out = row_new();
            assert_true(choice && choice[0] == -1 && choice[1] == 0);
            choose_sums(&asked.plan, i, choice, rows, out);
            choose_library_layout(&asked.plan, i, choice, rows, out);
            assert_true(of(out, "chain.sum_ns") == 5000 + 6 * 10000 && choose_behind(&asked.plan, i, choice, rows) == 1);
            row_free(out);
            free(choice);
            looked++;
        }
    assert_int_equal(looked, 5);
    for (int cold = 0; cold < 2; cold++) { /* where only warm times were taken those decide */
        for (int i = 0; i < asked.plan.row_count; i++)
            for (int k = 0; k < rows[i]->time_count; k++)
                if (!strcmp(rows[i]->times[k].load, "isolated"))
                    snprintf(rows[i]->times[k].cache, sizeof rows[i]->times[k].cache, "%s", cold ? "cold" : "warm");
        for (int i = 0; i < asked.plan.row_count && !cold; i++)
            if (asked.plan.rows[i].chain && asked.plan.rows[i].chain->pick == CHAIN_BEST &&
                asked.plan.rows[i].chain->layout == LAYOUT_PLAN_GIVEN) {
                int *choice = choose_links(&asked.plan, i, rows, why, sizeof why);
                struct text t = {0};
                choose_describe(&asked.plan, i, choice, &t);
                assert_string_equal(text_get(&t), "naive on head; cudnn on b1, b2, up");
                text_free(&t);
                free(choice);
            }
    }
    rows[0]->status = ROW_SKIPPED; /* the library has the op, but not this call: nobody else stands for it */
    for (int i = 0; i < asked.plan.row_count; i++)
        if (asked.plan.rows[i].chain && asked.plan.rows[i].chain->pick == CHAIN_LIBRARY &&
            asked.plan.rows[i].chain->layout == LAYOUT_PLAN_NHWC) {
            assert_null(choose_links(&asked.plan, i, rows, why, sizeof why));
            looked++;
        }
    assert_int_equal(looked, 6);
    rows[0]->status = ROW_OK;
    the_librarys_own_reason(&asked.plan, rows, "head"); /* the plan's first row */
    the_librarys_own_reason(&asked.plan, rows, "up");
    what_the_library_has_not(&asked.plan, rows);
    unseen_rows_can_run(&asked.plan);
    choices_are_rows_that_fit(&asked.plan, rows);
    let_go(&asked);
}

/* A network with marks, of kernels of one's own alone, of which one takes two links. */
static void rows_of_ones_own(void **state)
{
    static const char own[] = "scenario: t\n"
                              "defaults: {n: 1, h: 8, w: 40, kernel: 3, pad: 1, op: conv2d, layout: NHWC, dtype: f16, c: 16, k: 16}\n"
                              "layers: {a: {}, b: {}}\n"
                              "axes: {mask: {values: [full, {pattern: iid, density: 0.03}]}}\n"
                              "network: {order: [a, b, a]}\n"
                              "variants: [conv2d/sparse_naive, conv2d/sparse_tile, chain/two_layer_naive]\n";
    struct asked asked = ask(own);
    struct row **rows = asked.rows;
    char why[256];
    int told = 0;
    for (int i = 0; i < asked.plan.row_count; i++)
        rows[i] = known(&asked.plan, i, strstr(plan_row_variant(&asked.plan.rows[i]), "sparse_naive") ? 20 : 10);
    for (int i = 0; i < asked.plan.row_count; i++)
        for (int seen = 0; seen < 2; seen++) {
            const struct chain_row *chain = asked.plan.rows[i].chain;
            if (!chain || chain->pick == CHAIN_LIBRARY)
                continue;
            int *choice = choose_links(&asked.plan, i, seen ? rows : NULL, why, sizeof why);
            struct text t = {0};
            if (!choice)
                fail_msg("%s: %s", plan_id(&asked.plan, i), why);
            choose_describe(&asked.plan, i, choice, &t);
            bool naive = chain->pick == CHAIN_SINGLE ? strstr(chain->single, "sparse_naive") != NULL : !seen;
            if (chain->pick == CHAIN_KERNEL) {
                assert_string_equal(text_get(&t), naive ? "two_layer_naive on links 1 to 2; sparse_naive on a"
                                                        : "two_layer_naive on links 1 to 2; sparse_tile on a");
                told++;
            } else {
                if (strcmp(text_get(&t), naive ? "sparse_naive on a, b" : "sparse_tile on a, b") != 0)
                    fail_msg("%s, seen %d: %s", plan_id(&asked.plan, i), seen, text_get(&t));
            }
            text_free(&t);
            free(choice);
        }
    assert_int_equal(told, 4);
    let_go(&asked);
}

/* Where the variant of a network does not run a layer the library does, not whoever is fastest; its row is the plan's first. */
static void the_library_stands_in(void **state)
{
    static const char dense[] = "scenario: t\n"
                                "defaults: {n: 1, h: 8, w: 40, kernel: 3, pad: 1, op: conv2d, layout: NHWC, dtype: f16, c: 16, k: 16}\n"
                                "layers: {a: {}, b: {}}\n"
                                "network: {order: [a, b, a]}\n"
                                "variants: [cudnn, conv2d/naive, conv2d/tiled_halo]\n";
    struct asked asked = ask(dense);
    struct row **rows = asked.rows;
    char why[256];
    int looked = 0;
    for (int i = 0; i < asked.plan.row_count; i++)
        rows[i] = known(&asked.plan, i, strcmp(plan_row_variant(&asked.plan.rows[i]), "conv2d/tiled_halo") ? 20 : 5);
    rows[find_row(&asked.plan, "conv2d/naive", "a", LAYOUT_NHWC)]->status = ROW_WRONG;
    assert_int_equal(find_row(&asked.plan, "conv2d/cudnn", "a", LAYOUT_NHWC), 0);
    for (int i = 0; i < asked.plan.row_count; i++)
        if (asked.plan.rows[i].chain && asked.plan.rows[i].chain->pick == CHAIN_SINGLE &&
            strstr(asked.plan.rows[i].chain->single, "naive")) {
            struct text t = {0};
            int *choice = choose_links(&asked.plan, i, rows, why, sizeof why);
            choose_describe(&asked.plan, i, choice, &t);
            assert_string_equal(text_get(&t), "cudnn on a; naive on b");
            struct row *out = row_new();
            for (int warm = 0; warm < 2;
                 warm++) { /* a sum where all have such a time, and none of short rows where there are no short rows */
                choose_sums(&asked.plan, i, choice, rows, out);
                assert_true(warm ? of(out, "chain.sum_warm_ns") == 3 * 7000 : isnan(of(out, "chain.sum_warm_ns")));
                assert_true(isnan(of(out, "chain.sum_back_ns")));
                add_median(rows[choice[0]], "warm", "isolated", 7);
                add_median(rows[choice[1]], "warm", "isolated", 7);
            }
            row_free(out);
            looked++;
            text_free(&t);
            free(choice);
        }
    assert_int_equal(looked, 1);
    let_go(&asked);
}

/* A rule takes for a link what it takes for the layer, which emu sees whole, and not what suits the crop of a network. */
static void rules_see_the_layer(void **state)
{
    static const char large[] = "scenario: t\n"
                                "defaults: {n: 1, h: 720, w: 1280, kernel: 3, pad: 1, op: conv2d, layout: NHWC, dtype: f16, c: 3, k: 64}\n"
                                "layers: {head: {}}\n"
                                "network: {order: [head]}\n"
                                "variants: [conv2d/auto]\n"
                                "on: {emu: {crop: {h: 10, w: 16}}}\n";
    struct asked asked = ask_of(large, "emu", "GA100");
    struct error err = {0};
    int looked = 0, layer = find_row(&asked.plan, "conv2d/auto", "head", LAYOUT_NHWC);
    const struct program *whole = plan_program(&asked.plan, layer);
    for (int i = 0; i < asked.plan.row_count; i++) {
        const struct plan_row *p = &asked.plan.rows[i];
        if (!p->chain || p->chain->pick != CHAIN_SINGLE)
            continue;
        int choice[] = {layer};
        assert_true(plan_chain_bind(&asked.plan, i, choice, &err));
        assert_int_equal(p->program->steps[p->program->step_count - 1].kind, whole->steps[whole->step_count - 1].kind);
        assert_string_equal(p->program->steps[p->program->step_count - 1].name, whole->steps[whole->step_count - 1].name);
        looked++;
    }
    assert_int_equal(looked, 1);
    let_go(&asked);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(choices_follow_the_times), cmocka_unit_test(rows_of_ones_own),
                                       cmocka_unit_test(the_library_stands_in), cmocka_unit_test(rules_see_the_layer)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
