/* plan: what a row knows of its case before it runs. */
#include "scenario_text.h"
#include "plan/rows/plan.h"
#include <math.h>

static void plan_on_h200(const struct plan_options *options, struct plan *plan)
{
    struct error err = {0};
    if (!plan_make(options, "cuda", chip_find("H200"), plan, &err))
        fail_msg("%s", err.text);
}

/* A network runs whole for each number of images that all of its layers have. */
static void networks_have_images(void **state)
{
    char *path = text_file("scenario: t\nlayers:\n"
                           "  a: {op: conv2d, n: 1, c: 4, h: 8, w: 8, k: 4, kernel: 3, pad: 1}\n"
                           "  b: {op: conv2d, n: 1, c: 4, h: 8, w: 8, k: 4, kernel: 1}\n"
                           "networks: {x: {order: [a, b]}, y: {order: [a, a]}}\n"
                           "axes: {n: {values: [1, 3], layers: [a]}}\nvariants: [conv2d/naive]\n");
    const char *const all[] = {"t/a", "t/a[n=3]", "t/b", "t/x", "t/y", "t/y[n=3]"};
    struct plan_options options = {.scenario_path = path};
    struct error err = {0};
    struct plan plan;
    if (!plan_make(&options, "emu", chip_find("GH100"), &plan, &err))
        fail_msg("%s", err.text);
    assert_int_equal(plan.case_count, 6);
    for (int i = 0; i < 6; i++)
        assert_string_equal(plan.cases[i].id, all[i]);
    assert_int_equal(plan.cases[5].work.n, 3);
    plan_free(&plan);
    unlink(path);
    free(path);
}

/* The rows of a layer carry its runs in each network; those of a layer in none carry none. */
static void rows_name_their_networks(void **state)
{
    char *path = text_file("scenario: t\nlayers:\n"
                           "  a: {op: conv2d, n: 1, c: 4, h: 8, w: 8, k: 4, kernel: 3, pad: 1}\n"
                           "  b: {op: conv2d, n: 1, c: 4, h: 8, w: 8, k: 4, kernel: 1, repeat: 6}\n"
                           "networks: {x2: {order: [{repeat: 16, of: [a]}]}, x4: {order: [a, a]}}\n"
                           "variants: [conv2d/naive]\n");
    struct plan_options options = {.scenario_path = path};
    struct error err = {0};
    struct plan plan;
    int found = 0;
    if (!plan_make(&options, "emu", chip_find("GH100"), &plan, &err))
        fail_msg("%s", err.text);
    for (int i = 0; i < plan.row_count; i++) {
        struct row *row = plan_row_new(&plan, i, "emu:GH100");
        if (!strcmp(row->layer, "a")) {
            assert_string_equal(row->networks, "x2:16, x4:2");
            assert_int_equal(row->repeat, 18);
        } else if (!strcmp(row->op, "chain")) { /* a network run whole is in no network */
            assert_null(row->networks);
            assert_int_equal(row->repeat, 1);
            row_free(row);
            continue;
        } else {
            assert_null(row->networks);
            assert_int_equal(row->repeat, 6);
        }
        found |= !strcmp(row->layer, "a") ? 1 : 2;
        assert_non_null(strstr(row->work, "conv2d 4->4")); /* the texts beside it are whole */
        row_free(row);
    }
    assert_int_equal(found, 3);
    plan_free(&plan);
    unlink(path);
    free(path);
}

/* The command that a table prints must work: "body_1 mma_sync" is one row, though mma_sync_d2s has the words too. */
static void words_mean_the_variant_called_so(void **state)
{
    struct error err = {0};
    struct plan plan;
    struct plan_options options = {.scenario_path = "scenarios/edsr.yaml"};
    if (!plan_make(&options, "emu", chip_find("GH100"), &plan, &err))
        fail_msg("%s", err.text);
    int row = plan_find(&plan, "body_1 mma_sync", &err);
    assert_true(row >= 0 && !strcmp(plan.rows[row].variant->name, "conv2d/mma_sync"));
    assert_int_equal(plan_find(&plan, "body_1 conv2d/mma_sync", &err), row);
    assert_int_equal(plan_find(&plan, plan_id(&plan, row), &err), row);
    assert_int_equal(plan_find(&plan, "mma_sync", &err), -1); /* of every layer */
    assert_int_equal(plan_find(&plan, "body_1 mma_synk", &err), -1);
    plan_free(&plan);
}

static double floor_at(const struct plan *plan, const char *variant)
{
    for (int i = 0; i < plan->row_count; i++) {
        struct row *row = plan_row_new(plan, i, "cuda:0");
        double ns = strstr(row->variant, variant) ? row->floor_ns : 0;
        row_free(row);
        if (ns > 0)
            return ns;
    }
    fail_msg("no row of %s", variant);
    return 0;
}

/* Three products of f16 tensor cores in place of one of f32: an SM of Hopper computes 4096 FLOP a clock of the former and 256 of the
 * latter, 66.9 TFLOP/s (NVIDIA's Hopper whitepaper; the data sheet of the H200). */
static void split3_has_its_own_floor(void **state)
{
    char *path =
        text_file("scenario: t\nlayers: {a: {op: conv2d, n: 1, c: 256, h: 720, w: 1280, k: 256, kernel: 3, pad: 1, layout: NHWC}}\n"
                  "variants: [conv2d/general_tiled, conv2d/split_f16]\n");
    struct plan_options options = {.scenario_path = path};
    struct plan plan;
    plan_on_h200(&options, &plan);
    double plain = floor_at(&plan, "general_tiled"), split = floor_at(&plan, "split_f16"), flop = 2.0 * 720 * 1280 * 256 * 256 * 9;
    assert_true(fabs(plain / (flop / 66.9e3) - 1) < 0.02);
    assert_true(fabs(split / plain - 3 / 16.0) < 0.01);
    plan_free(&plan);
    unlink(path);
    free(path);
}

/* A search plans every configuration of the variants that have parameters, as limited by the scenario, row 0 and the library's rows, and no
 * others. Also the stored configuration of a layer. */
static void searches_and_remembered_points(void **state)
{
    char *path = text_file("scenario: t\nlayers:\n  a: {op: conv2d, n: 1, c: 8, h: 16, w: 16, k: 8, kernel: 3, pad: 1}\n  b: {op: conv2d, "
                           "n: 1, c: 8, h: 16, w: 17, k: 8, kernel: 3, pad: 1}\n"
                           "variants: [conv2d/cudnn_plain, conv2d/winograd, conv2d/tconv: {MT: [8, 16], NT: 8, MB: 8}]\n");
    struct plan_options options = {.scenario_path = path, .tune = true};
    struct plan plan;
    int configs = 0, pinned = 0;
    plan_on_h200(&options, &plan);
    for (int i = 0; i < plan.row_count; i++) {
        bool tconv = !strcmp(plan.rows[i].variant->name, "conv2d/tconv");
        configs += tconv;
        pinned += plan_pinned(&plan, i);
        assert_true(tconv != plan_pinned(&plan, i) || !strcmp(plan.rows[i].variant->name, "conv2d/winograd"));
    }
    assert_int_equal(configs, 2 * 2 * 4); /* layers x MT x all of NB */
    assert_int_equal(pinned, 2 * 2);      /* layers x (cudnn, cudnn_plain) */
    char signature[HASH_TEXT];
    work_signature(&plan.cases[0].work, signature);
    struct work other = plan.cases[0].work;
    char same[HASH_TEXT];
    other.seed = 99; /* of the data: no launch depends on it */
    work_signature(&other, same);
    assert_string_equal(signature, same);
    other.h++;
    work_signature(&other, same);
    assert_string_not_equal(signature, same);
    plan_free(&plan);

    const struct tuned_config tuned[] = {{signature, "conv2d/tconv", "MB=16,MT=4,NB=8,NT=4", "configuration tuned long ago", "", "", ""},
                                         {0}};
    options = (struct plan_options){.scenario_path = path, .tuned = tuned};
    plan_on_h200(&options, &plan);
    int of_a = 0, of_b = 0;
    for (int i = 0; i < plan.row_count; i++) {
        if (strcmp(plan.rows[i].variant->name, "conv2d/tconv"))
            continue;
        if (plan.rows[i].case_index == 0) {
            of_a++;
            assert_string_equal(plan.rows[i].config->label, "MB=16,MT=4,NB=8,NT=4"); /* also one that the scenario does not name */
            struct row *row = plan_row_new(&plan, i, "cuda:0");
            assert_string_equal(row->note, "configuration tuned long ago");
            row_free(row);
        } else {
            of_b++;
            assert_null(plan.rows[i].note); /* nothing is known of this layer */
        }
    }
    assert_int_equal(of_a, 1);
    assert_int_equal(of_b, 2);
    plan_free(&plan);
    unlink(path);
    free(path);
}

/* A rule takes what a search found best of all, where that won and can do the work; else it goes on as its head says. */
static void rules_take_what_won(void **state)
{
    char *path = text_file(
        "scenario: t\nlayers:\n  a: {op: conv2d, n: 1, c: 64, h: 64, w: 256, k: 64, kernel: 3, pad: 1, dtype: f16, layout: NHWC}\n"
        "variants: [conv2d/auto, conv2d/naive]\n");
    static const struct {
        const char *variant, *params, *wins, *takes;
    } tries[] = {{"conv2d/wgmma_rows", "RING=6,STRIP=auto", "yes", "wgmma_rows"},
                 {"conv2d/wgmma_rows", "RING=6,STRIP=auto", "", NULL},
                 {"conv2d/mma_few_out", "ROWS=16", "yes", NULL}};
    struct plan plan;
    char signature[HASH_TEXT], own[64] = "";
    for (int i = -1; i < 3; i++) {
        const struct tuned_config tuned[] = {{i < 0 ? NULL : signature, i < 0 ? "" : tries[i].variant, i < 0 ? "" : tries[i].params,
                                              "found", i < 0 ? "" : tries[i].wins, "", ""},
                                             {0}};
        struct plan_options options = {.scenario_path = path, .tuned = tuned};
        plan_on_h200(&options, &plan);
        const struct plan_row *row = NULL;
        for (int k = 0; k < plan.row_count; k++)
            row = strcmp(plan.rows[k].variant->name, "conv2d/auto") ? row : &plan.rows[k];
        assert_true(row && !row->broken && row->program->feasible && row->program->unit_count >= 1);
        if (i < 0)
            snprintf(own, sizeof own, "%s", row->program->units[0].label);
        assert_true(i < 0 || strstr(row->program->units[0].label, tries[i].takes ? tries[i].takes : own));
        work_signature(&plan.cases[0].work, signature);
        plan_free(&plan);
    }
    assert_null(strstr(own, "wgmma_rows"));
    unlink(path);
    free(path);
}

/* Makes the plan of one layer with a rule; `choose`: only what it is to race. */
static void plan_rule(struct plan *plan, const char *path, const struct tuned_config *tuned, bool choose)
{
    struct plan_options options = {
        .scenario_path = path, .tuned = tuned, .tuned_rules = true, .tune = choose, .choose = choose, .layers_only = choose};
    plan_on_h200(&options, plan);
}

/* A rule with `race:` is raced with its rivals where no choice is stored, and takes a stored one while its sources are the same. */
static void rules_take_what_was_raced(void **state)
{
    char *path =
        text_file("scenario: t\nlayers:\n  a: {op: conv2d, n: 1, c: 40, h: 64, w: 56, k: 24, kernel: 3, pad: 1, dtype: f16, layout: NHWC}\n"
                  "  b: {op: conv2d, n: 1, c: 64, h: 720, w: 1280, k: 64, kernel: 3, pad: 1, dtype: f16, layout: NHWC}\n"
                  "variants: [conv2d/auto, conv2d/naive]\n");
    struct plan plan, decided;
    char signature[HASH_TEXT], hash[HASH_TEXT], params[400] = "none";
    plan_rule(&plan, path, NULL, true);
    assert_true(plan.row_count >= 4); /* the library, the rule's choice and two rivals; none of b, for which the kernel was written */
    for (int i = 0; i < plan.row_count; i++) {
        const struct program *p = plan_program(&plan, i);
        assert_int_equal(plan.rows[i].case_index, 0);
        assert_string_equal(plan.rows[i].variant->name, i ? "conv2d/auto" : "conv2d/cudnn");
        assert_true(p->feasible && strcmp(p->params, params));
        snprintf(params, sizeof params, "%s", p->params);
        for (int k = 0; k < i; k++)
            assert_string_not_equal(plan_id(&plan, k), plan_id(&plan, i));
    }
    SCOPED char *last = text_format("t/a/conv2d/auto[%s]", params);
    assert_string_equal(plan_id(&plan, plan.row_count - 1), last);
    work_signature(&plan.cases[0].work, signature);
    plan_search_hash(&plan, 1, hash);
    const struct tuned_config tuned[] = {{signature, "conv2d/auto", params, "found", "", hash, "measured"}, {0}};
    for (int fresh = 1; fresh >= 0; fresh--) { /* then a source has changed since */
        plan_rule(&decided, path, tuned, false);
        assert_int_equal(decided.row_count, 6);
        assert_string_equal(plan_id(&decided, 1), "t/a/conv2d/auto");
        assert_true(fresh ? !strcmp(decided.rows[1].how, "measured") : !decided.rows[1].how);
        assert_int_equal(strcmp(plan_program(&decided, 1)->params, params) == 0, fresh);
        assert_int_equal(plan_undecided(&decided), !fresh);
        plan_free(&decided);
        plan_rule(&decided, path, tuned, true);
        assert_true(fresh ? !decided.row_count : decided.row_count == plan.row_count);
        plan_free(&decided);
        hash[0] ^= 1;
    }
    plan_free(&plan);
    unlink(path);
    free(path);
}

/* At a density that the run added, a rule takes what was raced at the scenario's own. */
static void added_densities_are_not_raced(void **state)
{
    char *path =
        text_file("scenario: t\nlayers: {a: {op: conv2d, n: 1, c: 32, h: 64, w: 56, k: 24, kernel: 3, pad: 1, dtype: f16, layout: NHWC}}\n"
                  "axes: {mask: {values: [{pattern: iid, density: 0.1}]}}\nvariants: [conv2d/sparse_auto]\n");
    struct plan plan;
    char signature[HASH_TEXT], hash[HASH_TEXT];
    plan_rule(&plan, path, NULL, true);
    assert_true(plan.row_count > 3);
    SCOPED char *params = xstrdup(plan_program(&plan, plan.row_count - 1)->params);
    work_signature(&plan.cases[0].work, signature);
    plan_search_hash(&plan, 1, hash);
    SCOPED char *id = xstrdup(plan.cases[0].id);
    plan_free(&plan);
    const struct tuned_config tuned[] = {{signature, "conv2d/sparse_auto", params, "found", "", hash, "stored"}, {0}};
    const struct scenario_wish more[] = {{id, 0.05, NULL, NULL}, {0}};
    struct plan_options options = {.scenario_path = path, .tuned = tuned, .tuned_rules = true, .filter.extra = more};
    plan_on_h200(&options, &plan);
    assert_int_equal(plan.case_count, 2);
    assert_int_equal(plan.row_count, 4);
    assert_true(plan.rows[3].how && !strcmp(plan_program(&plan, 3)->params, params));
    assert_false(plan_undecided(&plan));
    plan_free(&plan);
    unlink(path);
    free(path);
}

/* On the layer for which a sparse kernel was written, the plan drops parameters whose races always had the same winner. A density that is
 * known only from a file does not count. */
static void certain_masks_are_not_raced(void **state)
{
    static const struct {
        const char *mask, *is;
        bool open;
    } cases[] = {
        {"{pattern: blobs, density: 0.25}", "is=sparse_queue", false}, {"{pattern: blobs, density: 0.04}", "is=sparse_queue", true},
        {"{pattern: blobs, density: 0.5}", "is=sparse_queue", true},   {"{pattern: iid, density: 0.01}", "is=sparse_either", true},
        {"{pattern: iid, density: 0.25}", "is=wgmma_rs", true},        {"{pattern: scanline, density: 0.1}", "is=wgmma_rs", true},
        {"{pattern: file, path: none.pgm}", "is=sparse_either", true}, {"full", "is=wgmma_rs", false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        SCOPED char *text =
            text_format("scenario: t\nlayers: {a: {op: conv2d, c: 64, h: 720, w: 1280, k: 64, kernel: 3, pad: 1, dtype: f16, "
                        "layout: NHWC, epilogue: [bias, relu]}}\naxes: {mask: {values: [%s]}}\n"
                        "variants: [conv2d/sparse_auto]\n",
                        cases[i].mask);
        char *path = text_file(text);
        struct plan plan;
        plan_rule(&plan, path, NULL, false);
        assert_int_equal(plan_undecided(&plan), cases[i].open);
        assert_non_null(strstr(plan_program(&plan, 1)->params, cases[i].is));
        plan_free(&plan);
        unlink(path), free(path);
    }
}

static uint64_t plans_of(const struct plan *plan, const char *id)
{
    for (int i = 0; i < plan->row_count; i++)
        if (!strcmp(plan_id(plan, i), id))
            return plan_row_facts(plan, i)->plans;
    fail_msg("no row %s", id);
    return 0;
}

/* What a row asks the library for is a convolution with what it fuses of the epilogue, not the layer and no mask. */
static void rows_that_ask_for_the_same_plans(void **state)
{
    char *path = text_file("scenario: t\ndefaults: {op: conv2d, c: 16, k: 16, h: 20, w: 20, kernel: 3, pad: 1, dtype: f16, layout: NHWC}\n"
                           "layers: {a: {epilogue: [bias, relu]}, b: {epilogue: [bias, residual]}, m: {epilogue: [bias, relu]}, "
                           "x: {h: 21, epilogue: [bias, relu]}}\n"
                           "axes: {mask: {layers: [m], values: [{pattern: iid, density: 0.1}, full]}}\n"
                           "variants: [cudnn, conv2d/cudnn_plain, conv2d/naive]\n");
    struct plan plan;
    struct plan_options options = {.scenario_path = path};
    plan_on_h200(&options, &plan);
    uint64_t fused = plans_of(&plan, "t/a/conv2d/cudnn"), plain = plans_of(&plan, "t/a/conv2d/cudnn_plain");
    assert_true(fused && plain && fused != plain);
    assert_true(plans_of(&plan, "t/b/conv2d/cudnn_plain") == plain && plans_of(&plan, "t/b/conv2d/cudnn") != fused);
    assert_true(plans_of(&plan, "t/m[mask=iid:0.10]/conv2d/cudnn") == fused && plans_of(&plan, "t/m[mask=full]/conv2d/cudnn") == fused);
    assert_true(plans_of(&plan, "t/x/conv2d/cudnn") != fused && plans_of(&plan, "t/x/conv2d/cudnn_plain") != plain);
    assert_true(!plans_of(&plan, "t/a/conv2d/naive[BLOCK=16]"));
    plan_free(&plan);
    unlink(path), free(path);
}

/* Every name of `variants` is one of an op that a layer has, also of a layer that a filter left out. */
static void names_without_a_layer(void **state)
{
    static const char *const lists[] = {"[conv2d/naive, conv3d/naive]", "[conv2d/naive, conv2d/naiv]", "[conv2d/naive, layout/convert]"};
    for (int i = 0; i < 3; i++) {
        char *text = text_format("scenario: t\nlayers:\n  a: {op: conv2d, n: 1, c: 8, h: 16, w: 16, k: 8, kernel: 3, pad: 1}\n"
                                 "  b: {op: layout, n: 1, c: 8, h: 16, w: 16, layout: NCHW, to: NHWC}\nvariants: %s\n",
                                 lists[i]),
             *path = text_file(text);
        struct plan_options options = {.scenario_path = path};
        struct error err = {0};
        struct plan plan;
        bool ok = plan_make(&options, "emu", chip_find("GH100"), &plan, &err);
        assert_true(ok == (i == 2));
        if (ok)
            plan_free(&plan);
        else
            assert_non_null(strstr(err.text, i ? "naiv" : "variant 'conv3d/naive' is for an op that no layer of this scenario has"));
        unlink(path);
        free(path);
        free(text);
    }
}

static const char *define_of(const struct program *p, const char *name)
{
    for (int i = 0; i < p->units[0].define_count; i++)
        if (!strncmp(p->units[0].defines[i], name, strlen(name)) && p->units[0].defines[i][strlen(name)] == '=')
            return p->units[0].defines[i] + strlen(name) + 1;
    return "";
}

/* A layer's own `variants` selects from the scenario's. The example's sparse layer has only the variants that it asks for. DeltaCNN's
 * method with and without its path for few marked inputs is two kernels. */
static void a_layer_takes_its_variants(void **state)
{
    struct error err = {0};
    struct plan plan;
    struct plan_options options = {.scenario_path = "scenarios/edsr.yaml"};
    if (!plan_make(&options, "cuda", chip_find("GH100"), &plan, &err))
        fail_msg("%s", err.text);
    int delta = 0, dense = 0, few = 0, none = 0;
    for (int i = 0; i < plan.row_count; i++) {
        const struct plan_row *row = &plan.rows[i];
        if (row->kind != PLAN_LAYER)
            continue;
        if (strcmp(plan.cases[row->case_index].layer->name, "body_delta")) {
            dense++;
            continue;
        }
        delta++;
        assert_null(strstr(plan_id(&plan, i), "naive"));
        if (!strcmp(row->variant->name, "conv2d/delta_tile") && row->program->feasible) {
            few += !strcmp(define_of(row->program, "FEW"), "4");
            none += !strcmp(define_of(row->program, "FEW"), "0");
        }
    }
    assert_int_equal(delta, 3 * 8); /* 5 %, 25 % and all active */
    assert_true(dense > 200);
    assert_int_equal(few, 3);
    assert_int_equal(none, 3);
    plan_free(&plan);

    char *path = text_file("scenario: t\nlayers:\n  a: {op: conv2d, n: 1, c: 4, h: 8, w: 8, k: 4, kernel: 3, variants: "
                           "[conv2d/naiv]}\nvariants: [conv2d/naive]\n");
    assert_null(scenario_load(path, &err));
    assert_non_null(strstr(err.text, ":3:71: layer a: variants: 'conv2d/naiv' selects none of the scenario's variants"));
    assert_non_null(strstr(err.hint, "did you mean conv2d/naive?"));
    unlink(path);
    free(path);
    path = text_file("scenario: t\nlayers:\n  a: {op: conv2d, n: 1, c: 4, h: 8, w: 8, k: 4, kernel: 3, variants: ['!*/naive*']}\n"
                     "  b: {op: conv2d, n: 1, c: 4, h: 8, w: 8, k: 4, kernel: 3, variants: ['conv2d/*', '!*/naive']}\n"
                     "variants: [cudnn, conv2d/naive, conv2d/naive_uncoalesced]\n");
    struct scenario *s = scenario_load(path, &err);
    if (!s)
        fail_msg("%s", err.text);
    for (int v = 0; v < 3; v++) {
        assert_int_equal(scenario_layer_takes(&s->layers[0], &s->variants[v]), v == 0);
        assert_int_equal(scenario_layer_takes(&s->layers[1], &s->variants[v]), v == 2);
    }
    scenario_free(s);
    unlink(path);
    free(path);
}

/* If times are compared, --only keeps all rows of the library, because the fastest of them is the denominator; emu measures no time, so
 * there it drops them. A word that selects nothing is always an error. */
static void only_leaves_the_denominator(void **state)
{
    char *path = text_file("scenario: t\nlayers: {a: {op: conv2d, n: 1, c: 8, h: 16, w: 16, k: 8, kernel: 3, pad: 1}}\n"
                           "variants: [conv2d/cudnn_plain, conv2d/naive, conv2d/reg_tiled]\n");
    struct plan_options options = {.scenario_path = path, .filter.only = "naive"};
    static const char *const kinds[] = {"cuda", "emu"}, *const want[] = {"conv2d/cudnn conv2d/cudnn_plain conv2d/naive ",
                                                                         "conv2d/cudnn conv2d/naive "};
    for (int i = 0; i < 2; i++) {
        struct error err = {0};
        struct plan plan;
        struct text names = {0};
        if (!plan_make(&options, kinds[i], chip_find("H200"), &plan, &err))
            fail_msg("%s", err.text);
        for (int k = 0; k < plan.row_count; k++)
            text_addf(&names, "%s ", plan_row_variant(&plan.rows[k]));
        assert_string_equal(text_get(&names), want[i]);
        text_free(&names);
        plan_free(&plan);
        options.filter.only = "naiv";
        assert_false(plan_make(&options, kinds[i], chip_find("H200"), &plan, &err));
        assert_non_null(strstr(err.text, "--only naiv selects no variant"));
        assert_non_null(strstr(err.hint, "did you mean naive?"));
        options.filter.only = "naive, reg_tile"; /* the first word selects, the second does not */
        assert_false(plan_make(&options, kinds[i], chip_find("H200"), &plan, &err));
        assert_non_null(strstr(err.text, "--only reg_tile selects no variant"));
        assert_non_null(strstr(err.hint, "did you mean reg_tiled?"));
        options.filter.only = "naive, reg_tiled";
        if (!plan_make(&options, kinds[i], chip_find("H200"), &plan, &err))
            fail_msg("%s", err.text);
        assert_int_equal(plan.row_count, i ? 3 : 4);
        plan_free(&plan);
        options.filter.only = "naive";
    }
    unlink(path);
    free(path);
    path = text_file("scenario: t\nlayers: {a: {op: conv2d, n: 1, c: 8, h: 16, w: 16, k: 8, kernel: 3, pad: 1}}\nvariants: [cudnn_plain, "
                     "naive, reg_tiled]\n");
    options.scenario_path = path;
    options.filter.only = "reg_tile"; /* names of a scenario that have no folder */
    struct error err = {0};
    struct plan plan;
    assert_false(plan_make(&options, "cuda", chip_find("H200"), &plan, &err));
    assert_non_null(strstr(err.hint, "did you mean reg_tiled?"));
    unlink(path);
    free(path);
}

/* A mask that is not there is said of whichever case has it. */
static void masks_that_are_missing(void **state)
{
    for (int bad = 0; bad < 3; bad++) {
        char *mask = text_file("P2\n16 16\n1\n");
        unlink(mask);
        struct text t = {0};
        text_addf(&t, "scenario: t\nlayers:\n");
        for (int i = 0; i < 2; i++)
            text_addf(&t, "  l%d: {op: conv2d, n: 1, c: 8, h: 16, w: 16, k: 8, kernel: 3, pad: 1%s%s%s}\n", i,
                      bad == i ? ", mask: {pattern: file, path: " : "", bad == i ? mask : "", bad == i ? "}" : "");
        text_addf(&t, "variants: [conv2d/naive]\n");
        char *path = text_file(text_get(&t));
        const struct plan_options options = {.scenario_path = path};
        struct error err = {0};
        struct plan plan;
        plan_on_h200(&options, &plan);
        assert_true(plan_masks_fit(&plan, &err) == (bad == 2));
        assert_true(bad == 2 || strstr(err.text, bad ? "/l1" : "/l0"));
        plan_free(&plan);
        text_free(&t);
        unlink(path);
        free(path);
        free(mask);
    }
}

/* What a run resumes is told by what its files say: a variant's text and its name. */
static void files_are_told_apart(void **state)
{
    char *path =
        text_file("scenario: t\nlayers: {a: {op: conv2d, n: 1, c: 8, h: 16, w: 16, k: 8, kernel: 3, pad: 1}}\nvariants: [conv2d/naive]\n");
    char folder[] = "/tmp/test_plan_XXXXXX", files[4][sizeof((struct plan *)0)->files];
    assert_non_null(mkdtemp(folder));
    static const char *const names[] = {"one", "two", "two", "two"}, *const changes[] = {"", "", "// other\n", ""};
    size_t bytes;
    struct error err = {0};
    char *naive = file_share("kernels/variants/conv2d/naive.cu"), *text = file_read(naive, 1 << 20, &bytes, &err);
    for (int i = 0; i < 4; i++) {
        struct plan plan;
        struct text t = {0};
        char *file = text_format("%s/%s.cu", folder, names[i]), *dir = text_format("my=%s", folder);
        const char *const dirs[] = {dir, NULL};
        const struct plan_options options = {.scenario_path = path, .variant_dirs = dirs};
        text_addf(&t, "%s%s", text, changes[i]);
        assert_true(file_write(file, t.data, t.len, &err));
        plan_on_h200(&options, &plan);
        memcpy(files[i], plan.files, sizeof files[i]);
        for (int k = 0; k < i; k++)
            assert_true(!strcmp(files[k], files[i]) == (k == 1 && i == 3));
        plan_free(&plan);
        unlink(file);
        text_free(&t);
        free(file);
        free(dir);
    }
    rmdir(folder);
    free(naive);
    free(text);
    unlink(path);
    free(path);
}

/* The library is asked for eight channels where the layer has three, and what makes eight of them stands among the timed steps. */
static void the_library_on_padded_channels(void **state)
{
    char *path = text_file("scenario: t\ndefaults: {layout: NHWC, dtype: f16, kernel: 3, pad: 1, epilogue: [bias, relu]}\nlayers:\n"
                           "  few: {op: conv2d, n: 1, c: 3, h: 16, w: 16, k: 64}\n  odd: {op: conv2d, n: 1, c: 20, h: 16, w: 16, k: 36}\n"
                           "  even: {op: conv2d, n: 1, c: 64, h: 16, w: 16, k: 64}\nvariants: [conv2d/cudnn_padded]\n");
    const struct {
        const char *steps;
        int64_t c, k;
    } want[] = {{"pad_channels cudnn ", 8, 64}, {"pad_channels cudnn cut_channels ", 24, 40}, {"", 0, 0}};
    struct plan_options options = {.scenario_path = path};
    struct plan plan;
    int seen = 0;
    plan_on_h200(&options, &plan);
    for (int i = 0; i < plan.row_count; i++) {
        const struct program *p = plan_program(&plan, i);
        struct text steps = {0};
        if (strcmp(plan.rows[i].variant->name, "conv2d/cudnn_padded"))
            continue;
        seen++;
        assert_true(plan_pinned(&plan, i));
        for (int k = 0; k < p->step_count && p->feasible; k++) {
            if (p->steps[k].prepare)
                continue;
            text_addf(&steps, "%s ", p->steps[k].name);
            if (p->steps[k].kind == STEP_CUDNN) {
                assert_int_equal(program_step_work(p, &p->steps[k])->c, want[plan.rows[i].case_index].c);
                assert_int_equal(program_step_work(p, &p->steps[k])->k, want[plan.rows[i].case_index].k);
                assert_int_equal(p->steps[k].cudnn_epilogue, 2);
            }
        }
        if (p->feasible != (want[plan.rows[i].case_index].c > 0) || strcmp(text_get(&steps), want[plan.rows[i].case_index].steps))
            fail_msg("%s: %s (%s)", plan_id(&plan, i), text_get(&steps), p->feasible ? "" : p->reason);
        text_free(&steps);
    }
    assert_int_equal(seen, 3);
    plan_free(&plan);
    unlink(path);
    free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_layer_takes_its_variants),     cmocka_unit_test(masks_that_are_missing),
        cmocka_unit_test(files_are_told_apart),           cmocka_unit_test(only_leaves_the_denominator),
        cmocka_unit_test(the_library_on_padded_channels), cmocka_unit_test(split3_has_its_own_floor),
        cmocka_unit_test(searches_and_remembered_points), cmocka_unit_test(rules_take_what_won),
        cmocka_unit_test(rules_take_what_was_raced),      cmocka_unit_test(added_densities_are_not_raced),
        cmocka_unit_test(certain_masks_are_not_raced),    cmocka_unit_test(rows_that_ask_for_the_same_plans),
        cmocka_unit_test(names_without_a_layer),          cmocka_unit_test(rows_name_their_networks),
        cmocka_unit_test(networks_have_images),           cmocka_unit_test(words_mean_the_variant_called_so)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
