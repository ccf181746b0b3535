/* scenario/: what a whole file comes to - its cases, ids, defaults, networks - against shapes worked out by hand and published FLOP. */
#include "scenario_text.h"
#include <math.h>

static void assert_networks(const struct scenario *s, int layer, const char *want)
{
    struct text t = {0};
    scenario_layer_networks(s, &s->layers[layer], &t);
    assert_string_equal(text_get(&t), want);
    text_free(&t);
}

static void target_scenario_loads(void **state)
{
    struct error err = {0};
    char *path = beside("data/edsr_sparse.yaml");
    struct scenario *s = scenario_load(path, &err);
    if (!s)
        fail_msg("%s", err.text);
    assert_string_equal(s->name, "edsr_sparse");
    assert_int_equal(s->layer_count, 5);
    assert_int_equal(s->variant_count, 6);
    assert_string_equal(s->variants[4].name, "my/halo_regs");
    assert_int_equal(node_get(s->variants[4].params, "TH")->count, 2);
    assert_true(s->time.cache[CACHE_COLD] && !s->time.cache[CACHE_WARM] && s->time.load[LOAD_ISOLATED] && s->time.load[LOAD_SUSTAINED]);
    assert_true(fabs(s->time.half_width - 0.005) < 1e-12);
    assert_true(s->time.budget_s == 20);
    assert_int_equal(s->counter_count, 4);
    static const char *const devices[][2] = {
        {NULL, "emu:sm_90"}, {"emu", "emu:sm_90"}, {"emu:no-check", "emu:sm_90,no-check"}, {"emu:GH100", NULL}, {"cuda:0", NULL}};
    for (size_t i = 0; i < sizeof devices / sizeof *devices; i++) {
        SCOPED char *emu = scenario_emu(s, devices[i][0]);
        assert_string_equal(emu ? emu : "", devices[i][1] ? devices[i][1] : "");
    }
    assert_int_equal(node_get(s->root, "answers")->count, 2);
    assert_true(s->networks[0].stream && s->networks[0].graph);
    assert_int_equal(strlen(s->hash), 64);
    int64_t convs = 0;
    for (int i = 0; i < s->layer_count; i++)
        convs += scenario_layer_count(s, 0, &s->layers[i]);
    assert_int_equal(convs, 36); /* "36 convolutions in all" */
    struct scenario_case *cases;
    int count = scenario_expand(s, "emu", NULL, &cases, &err);
    assert_int_equal(count, 1 + 21 * 2 + 21 + 1 + 1); /* masks: none, 3 iid, 5 x 3 blobs, box, file; body_1 with n 1 and 4 */
    scenario_cases_free(cases, count);
    struct work w = work_of(s, "cuda", "edsr_sparse/body_1[mask=blobs24:0.10:1]");
    assert_true(w.n == 1 && w.h == 720 && w.w == 1280 && w.c == 64 && w.k == 64 && w.p == 720 && w.q == 1280 && w.r == 3 && w.s == 3);
    assert_true(w.mask.pattern == MASK_BLOBS && w.mask.density == 0.10 && w.mask.radius == 24 && w.mask.seed == 1 && !w.mask.marks_output);
    assert_true(w.dtype == DTYPE_F16 && w.math == MATH_F16_ACC32 && w.layout == LAYOUT_NHWC && w.epilogue_count == 2 &&
                w.epilogue[1].kind == EPILOGUE_RELU);
    w = work_of(s, "emu", "edsr_sparse/body_1[mask=iid:0.05,n=4]");
    assert_true(w.n == 4 && w.h == 720 && w.w == 1280 && w.p == 720 && w.mask.pattern == MASK_IID && w.mask.density == 0.05);
    w = work_of(s, "emu", "edsr_sparse/body_2[mask=box:0.10]");
    assert_true(w.n == 1 && w.mask.pattern == MASK_BOX);
    w = work_of(s, "emu", "edsr_sparse/body_2[mask=file:masks_street__03d.pgm]");
    assert_true(strstr(w.mask.path, "/data/masks/street_%03d.pgm") != NULL); /* beside the scenario */
    w = work_of(s, "emu", "edsr_sparse/body_1");
    assert_true(w.mask.pattern == MASK_NONE); /* an axis at its old default renames nothing */
    w = work_of(s, "emu", "edsr_sparse/up");
    assert_true(w.k == 256 && w.epilogue[1].kind == EPILOGUE_DEPTH_TO_SPACE && w.epilogue[1].block == 2 && w.epilogue[1].mode == D2S_CRD);
    scenario_free(s);
    free(path);
}

/* What stands behind an op is an axis: lists, which `none` and the layer's own begin; ids tell it as the work does. */
static void epilogues_are_an_axis(void **state)
{
    struct error err = {0};
    struct scenario *s =
        loaded("scenario: t\n"
               "defaults: {op: conv2d, n: 1, c: 8, k: 8, h: 6, w: 5, kernel: 3, pad: 1}\n"
               "layers: {a: {}, d: {op: pool_max, kernel: 2}, b: {epilogue: [bias]}}\n"
               "axes: {epilogue: [none, [bias], [bias, {leaky_relu: 0.1}, {depth_to_space: {block: 2, mode: CRD}}]], n: [1, 2]}\n"
               "variants: [conv2d/naive]\n");
    struct scenario_case *cases;
    assert_int_equal(scenario_expand(s, "emu", NULL, &cases, &err), 3 * 2 + 2 + 3 * 2);
    scenario_cases_free(cases, 14);
    struct work w = work_of(s, "emu", "t/a[epilogue=bias+leaky_relu:0.1+depth_to_space:2:CRD,n=2]");
    assert_true(w.n == 2 && w.epilogue_count == 3 && w.epilogue[1].alpha == 0.1 && w.epilogue[2].block == 2);
    assert_int_equal(work_of(s, "emu", "t/a").epilogue_count, 0);
    assert_int_equal(work_of(s, "emu", "t/b[epilogue=none]").epilogue_count, 0); /* in place of its own */
    assert_int_equal(work_of(s, "emu", "t/b").epilogue_count, 1);
    const char *const set[] = {"epilogue=bias+leaky*", NULL};
    struct scenario_filter filter = {.set = set};
    assert_int_equal(scenario_expand(s, "emu", &filter, &cases, &err), 4);
    scenario_cases_free(cases, 4);
    scenario_free(s);
}

/* GFLOP of 720p EDSR-baseline x2 (4 x 632.5 at 640x360) and of the x4 network, from the literature's layer lists. */
static void shipped_networks_have_the_published_cost(void **state)
{
    struct error err = {0};
    char *path = beside("../../scenarios/edsr.yaml");
    struct scenario *s = scenario_load(path, &err);
    if (!s)
        fail_msg("%s", err.text);
    assert_int_equal(s->network_count, 2);
    struct text t = {0};
    scenario_network_explain(s, &t);
    assert_non_null(strstr(text_get(&t), "network edsr_x2: 36 layer runs, 2530 GFLOP"));
    assert_non_null(strstr(text_get(&t), "network x4: 9 layer runs, 627.5 GFLOP"));
    assert_non_null(strstr(text_get(&t), "  16 x\n    body_1"));
    assert_non_null(strstr(text_get(&t), "1x64x720x1280 f16 NHWC     -> 1x64x1440x2560 f16 NHWC"));
    text_free(&t);
    static const struct {
        const char *name;
        int64_t repeat;
        const char *networks;
    } layers[] = {{"head", 2, "edsr_x2:1, x4:1"},
                  {"body_1", 16, "edsr_x2:16"},
                  {"body_2", 20, "edsr_x2:17, x4:3"},
                  {"tail", 1, "edsr_x2:1"},
                  {"x4_body", 2, "x4:2"},
                  {"x4_tail", 1, "x4:1"},
                  {"shuffle_1", 1, ""}};
    int found = 0;
    for (int i = 0; i < s->layer_count; i++)
        for (size_t k = 0; k < sizeof layers / sizeof layers[0]; k++)
            if (!strcmp(s->layers[i].name, layers[k].name)) {
                found++;
                assert_int_equal(s->layers[i].repeat, layers[k].repeat);
                assert_networks(s, i, layers[k].networks);
            }
    assert_int_equal(found, 7);
    scenario_free(s);
    free(path);
}

static void shipped_scenarios_expand(void **state)
{
    static const char *const devices[] = {"emu", "cuda"};
    struct error err = {0};
    SCOPED char **names = NULL, *dir = beside("../../scenarios");
    int count = file_list(dir, ".yaml", &names, &err), found = 0;
    assert_true(count > 0);
    for (int i = 0; i < count; i++) {
        char *path = file_join(dir, names[i]);
        struct scenario *s = scenario_load(path, &err);
        if (!s)
            fail_msg("%s", err.text);
        assert_true(!strncmp(names[i], s->name, strlen(s->name)) && names[i][strlen(s->name)] == '.'); /* the file is called what it is */
        found += !strcmp(s->name, "smoke") + !strcmp(s->name, "edsr") + !strcmp(s->name, "notebook");
        for (int d = 0; d < 2; d++) {
            struct scenario_case *cases;
            int n = scenario_expand(s, devices[d], NULL, &cases, &err);
            if (n < 1)
                fail_msg("%s", err.text);
            scenario_cases_free(cases, n);
        }
        scenario_free(s);
        free(path);
    }
    assert_int_equal(found, 3);
}

static void defaults_and_own_keys(void **state)
{
    struct scenario *s = loaded(
        "scenario: t\ndefaults: {n: 2, h: 9, w: 7, kernel: [3, 5], pad: 2, dtype: f16, math: f16_acc16, layout: NHWC, epilogue: [bias]}\n"
        "data: {input: relu, seed: 77}\n"
        "layers:\n"
        "  a: {op: conv2d, c: 4, k: 6}\n"
        "  b: {op: conv2d, c: 4, k: 6, kernel: 1, pad: 0, dtype: f32, epilogue: [bias, {leaky_relu: 0.1}, {layout: NCHW}]}\n"
        "  c: {op: conv2d, c: 4, k: 6, dtype: f16, epilogue: [leaky_relu]}\n"
        "  d: {op: depth_to_space, c: 8, block: 2, mode: DCR, mask: none}\n"
        "  e: {op: conv2d, c: 4, k: 6, mask: {pattern: blobs, density: 0.25, radius: 3, seed: 9}, marks: output}\n"
        "variants: [x]\n");
    const struct work *a = &s->layers[0].work, *b = &s->layers[1].work, *c = &s->layers[2].work, *d = &s->layers[3].work,
                      *e = &s->layers[4].work;
    assert_true(a->n == 2 && a->h == 9 && a->w == 7 && a->r == 3 && a->s == 5 && a->pad == 2 && a->stride == 1 && a->groups == 1 &&
                a->p == 11 && a->q == 7);
    assert_true(a->dtype == DTYPE_F16 && a->math == MATH_F16_ACC16 && a->layout == LAYOUT_NHWC && a->epilogue_count == 1);
    assert_true(a->seed == 77 && a->data == DATA_RELU && d->seed == 77);
    assert_true(b->dtype == DTYPE_F32 && b->math == MATH_F32); /* the default math is meant for the default dtype */
    assert_true(b->r == 1 && b->s == 1 && b->epilogue_count == 3 && b->epilogue[1].alpha == 0.1);
    assert_true(b->epilogue[2].kind == EPILOGUE_LAYOUT && b->epilogue[2].layout == LAYOUT_NCHW);
    assert_true(c->math == MATH_F16_ACC16 && c->epilogue_count == 1 &&
                c->epilogue[0].alpha == 0.01); /* the same dtype written out changes nothing */
    assert_true(d->math == MATH_NONE && d->mode == D2S_DCR && d->block == 2);
    assert_true(e->mask.pattern == MASK_BLOBS && e->mask.marks_output && e->mask.radius == 3 && e->mask.seed == 9 &&
                e->mask.density == 0.25);
    scenario_free(s);
    s = loaded(SCENARIO_HEAD); /* what is not said */
    assert_true(s->time.cache[CACHE_COLD] && !s->time.cache[CACHE_WARM] && s->time.load[LOAD_ISOLATED] && !s->time.load[LOAD_SUSTAINED]);
    assert_true(s->time.half_width == 0.005 && s->time.budget_s == 20 && s->time.rounds_min == 60 && s->time.rounds_max == 1000);
    assert_true(s->network_count == 0 && s->counter_count == 0 && !node_get(s->root, "answers") && s->layers[0].repeat == 1);
    assert_true(s->layers[0].work.dtype == DTYPE_F32 && s->layers[0].work.layout == LAYOUT_NCHW && s->layers[0].work.seed == 1);
    scenario_free(s);
    s = loaded(SCENARIO_HEAD "time: {cache: [cold, warm], load: sustained, half_width: 2 %, budget: 2 min, rounds: [10, 50]}\n");
    assert_true(s->time.cache[CACHE_COLD] && s->time.cache[CACHE_WARM] && !s->time.load[LOAD_ISOLATED] && s->time.load[LOAD_SUSTAINED]);
    assert_true(s->time.half_width == 0.02 && s->time.budget_s == 120 && s->time.rounds_min == 10 && s->time.rounds_max == 50);
    scenario_free(s);
}

static void crops(void **state)
{
    struct scenario *s = loaded(SCENARIO_HEAD "on: {emu: {crop: {h: 5, w: 8}}, cuda: {chip: GH100, crop: {w: 100}}}\n");
    char *t = ids(s, "emu");
    assert_string_equal(t, "a m"); /* emu counts the whole layer, and verifies a part of it */
    free(t);
    t = ids(s, "cuda"); /* nothing is larger: nothing is cropped, and the id is that of the whole */
    assert_string_equal(t, "a m");
    free(t);
    t = ids(s, "other");
    assert_string_equal(t, "a m");
    free(t);
    struct error err = {0};
    struct scenario_case *cases;
    int count = scenario_expand(s, "emu", NULL, &cases, &err);
    assert_int_equal(count, 2);
    for (int i = 0; i < count; i++) {
        const struct work *part = cases[i].part, *whole = &cases[i].work;
        assert_true(part && !cases[i].cropped && part->h == 5 && part->w == 8 && part->q == 8);
        assert_true((whole->h > 5 || whole->w > 8) && whole->n == part->n && whole->k == part->k);
    }
    scenario_cases_free(cases, count);
    scenario_free(s);
}

/* Works that are equal once they are cut run once; the first says of which it is. */
static void equal_parts_run_once(void **state)
{
    struct scenario *s = loaded("scenario: t\nlayers:\n"
                                "  usual: {op: softmax, rows: 64, cols: 2000}\n"
                                "  odd: {op: softmax, rows: 9, cols: 1999}\n"
                                "  thin: {op: softmax, rows: 3, cols: 1999}\n"
                                "  wide: {op: softmax, rows: 20, cols: 5000}\n"
                                "on: {emu: {crop: {rows: 7, cols: 33}}}\n"
                                "variants: [x]\n");
    struct scenario_filter once = {.once = true};
    struct scenario_case *cases;
    struct error err = {0};
    int count = scenario_expand(s, "emu", &once, &cases, &err);
    assert_int_equal(count, 2);
    assert_string_equal(cases[0].id, "t/usual");
    assert_string_equal(cases[0].same, "odd, wide");
    assert_string_equal(cases[1].id, "t/thin");
    assert_null(cases[1].same);
    scenario_cases_free(cases, count);
    count = scenario_expand(s, "cuda", &once, &cases, &err); /* nothing is cut there */
    assert_int_equal(count, 4);
    scenario_cases_free(cases, count);
    scenario_free(s);
}

static void networks_run(void **state)
{
    struct scenario *s = loaded(
        "scenario: t\nlayers:\n"
        "  a: {op: conv2d, n: 1, c: 4, h: 8, w: 8, k: 4, kernel: 3, pad: 1}\n"
        "  b: {op: conv2d, n: 1, c: 4, h: 8, w: 8, k: 16, kernel: 1, epilogue: [{depth_to_space: {block: 2, mode: DCR}}], repeat: 1}\n"
        "  c: {op: conv2d, n: 1, c: 4, h: 16, w: 16, k: 4, kernel: 2, stride: 2}\n"
        "  d: {op: layout, n: 1, c: 4, h: 8, w: 8, to: NHWC}\n"
        "network: {order: [{repeat: 3, of: [a, {repeat: 2, of: [a, a]}]}, b, c, d]}\n"
        "variants: [x]\n");
    assert_int_equal(s->layers[0].repeat, 15); /* 3 x (1 + 2 x 2) */
    assert_int_equal(scenario_layer_count(s, 0, &s->layers[0]), 15);
    assert_networks(s, 0, "t:15"); /* the only one is called what the scenario is */
    assert_int_equal(s->layers[1].repeat, 1);
    assert_true(s->networks[0].stream && !s->networks[0].graph);
    /* 2 FLOP x k x c x r x s x p x q */
    struct text explained = {0};
    char total[64]; /* %.4g of giga: the sum has six digits, of which the first four must agree */
    snprintf(total, sizeof total, "18 layer runs, %.4g GFLOP",
             (15 * 2.0 * 4 * 4 * 9 * 64 + 2.0 * 16 * 4 * 64 + 2.0 * 4 * 4 * 4 * 64) / 1e9);
    scenario_network_explain(s, &explained);
    if (!strstr(text_get(&explained), total))
        fail_msg("%s: %s", total, text_get(&explained));
    text_free(&explained);
    struct scenario_case *cases;
    struct error err = {0};
    int count = scenario_expand(s, "cuda", NULL, &cases, &err);
    assert_int_equal(count, 4);
    assert_int_equal(cases[0].repeat, 15);
    scenario_cases_free(cases, count);
    scenario_free(s);
    s = loaded("scenario: t\nlayers: {a: {op: layout, n: 1, c: 1, h: 1, w: 1, to: NHWC, repeat: 7}}\nvariants: [x]\n");
    assert_int_equal(s->layers[0].repeat, 7); /* no network: as it says */
    scenario_free(s);
}

/* Two networks: each has its counts and its flow (m ends one network and would not fit the beginning of the other). A layer that belongs to
 * no network keeps its own repeat. */
static void several_networks(void **state)
{
    struct scenario *s = loaded("scenario: t\nlayers:\n"
                                "  a: {op: conv2d, n: 1, c: 4, h: 8, w: 8, k: 4, kernel: 3, pad: 1, repeat: 5}\n"
                                "  m: {op: layout, n: 1, c: 4, h: 8, w: 8, to: NHWC}\n"
                                "  o: {op: layout, n: 1, c: 4, h: 8, w: 8, to: NHWC, repeat: 9}\n"
                                "networks: {one: {order: [{repeat: 2, of: [a]}, m]}, two.b-c: {order: [{repeat: 3, of: [a]}]}}\n"
                                "variants: [x]\n");
    assert_int_equal(s->network_count, 2);
    assert_string_equal(s->networks[1].name, "two.b-c");
    assert_int_equal(scenario_layer_count(s, 0, &s->layers[0]), 2);
    assert_int_equal(scenario_layer_count(s, 1, &s->layers[0]), 3);
    assert_int_equal(scenario_layer_count(s, 1, &s->layers[1]), 0);
    assert_true(s->layers[0].repeat == 5 && s->layers[1].repeat == 1 && s->layers[2].repeat == 9);
    assert_networks(s, 0, "one:2, two.b-c:3");
    assert_networks(s, 1, "one:1");
    assert_networks(s, 2, "");
    scenario_free(s);
}

/* A block of docs/SCENARIO.md, with what it takes to be a scenario. */
static void block_loads(const char *block, size_t bytes)
{
    struct text t = {0};
    char *own = xstrndup(block, bytes);
    if (!strstr(own, "scenario:"))
        text_add(&t, "scenario: t\n");
    text_add(&t, own);
    if (!strstr(own, "layers:\n"))
        text_add(&t, "defaults: {n: 1, c: 4, h: 8, w: 8, op: pointwise, epilogue: [relu]}\n"
                     "layers:\n  body: {op: conv2d, k: 4, kernel: 3, pad: 7}\n  head: {}\n  body_1: {}\n  body_2: {epilogue: [residual]}\n "
                     " up: {}\n  tail: {}\n"
                     "  x4_body: {}\n  x4_up: {}\n  x4_tail: {}\n  enter: {op: conv2d, k: 4, kernel: 3, pad: 7}\n  fine: {op: conv2d, h: "
                     "20, w: 20, k: 4, kernel: 3, pad: 1}\n"
                     "  join: {op: add, h: 20, w: 20, epilogue: []}\n");
    if (!strstr(own, "variants:"))
        text_add(&t, "variants: [cudnn]\n");
    if (!strncmp(own, "answers:", 8))
        text_add(&t, "axes: {mask: [none, full]}\n");
    struct scenario *s = loaded(text_get(&t));
    char *all = ids(s, "emu");
    if (strchr(all, ':') && strstr(all, ": "))
        fail_msg("%s\n%s", all, text_get(&t));
    free(all);
    scenario_free(s);
    text_free(&t);
    free(own);
}

static void documentation_is_true(void **state)
{
    struct error err = {0};
    size_t bytes;
    char *path = beside("../../docs/SCENARIO.md"), *text = file_read(path, 1 << 20, &bytes, &err), *at = text;
    int blocks = 0;
    assert_non_null(text);
    while ((at = strstr(at, "```yaml\n"))) {
        at += strlen("```yaml\n");
        char *end = strstr(at, "```");
        assert_non_null(end);
        block_loads(at, (size_t)(end - at));
        at = end + 3;
        blocks++;
    }
    assert_int_equal(blocks, 9);
    free(text);
    free(path);
}

/* A network whose layers were told apart by anything else is not whole; a field of an op's file may begin like a mask's word. */
static void filters_of_masks(void **state)
{
    static const struct {
        const char *set[3];
        bool by_mask;
    } tries[] = {{{NULL}, true},
                 {{"mask=none", "mask.density=0.1"}, true},
                 {{"mask.seed=1"}, true},
                 {{"n=1"}, true}, /* a network runs with the images of its layers */
                 {{"mask=none", "n=1"}, true},
                 {{"h=8"}, false},
                 {{"masks=2"}, false},
                 {{"mask.rate=2"}, false}};
    for (size_t i = 0; i < sizeof tries / sizeof *tries; i++)
        assert_int_equal(scenario_filter_by_mask(&(struct scenario_filter){.set = tries[i].set}), tries[i].by_mask);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(target_scenario_loads),
        cmocka_unit_test(epilogues_are_an_axis),
        cmocka_unit_test(shipped_networks_have_the_published_cost),
        cmocka_unit_test(shipped_scenarios_expand),
        cmocka_unit_test(defaults_and_own_keys),
        cmocka_unit_test(crops),
        cmocka_unit_test(equal_parts_run_once),
        cmocka_unit_test(networks_run),
        cmocka_unit_test(documentation_is_true),
        cmocka_unit_test(several_networks),
        cmocka_unit_test(filters_of_masks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
