/* Axes, ids and filters: the values they come to, how ids are written, what --layer and --set keep. */
#include "scenario_text.h"

static void expands_to(const char *more, const char *want)
{
    char *text = text_format("%s%s", SCENARIO_HEAD, more);
    struct scenario *s = loaded(text);
    char *got = ids(s, "cuda");
    if (strcmp(got, want))
        fail_msg("%s\n got %s\nwant %s", more, got, want);
    free(got);
    free(text);
    scenario_free(s);
}

static void values(void **state)
{
    expands_to("", "a m");
    expands_to("axes: {n: [1, 4]}", "a a[n=4] m m[n=4]"); /* 1 is what the layers have: not named */
    expands_to("axes: {n: {layers: [m], values: [2, 4]}}", "a m[n=2] m[n=4]");
    expands_to("axes: {kernel: {from: 3, to: 8, step: 2}}", "a a[kernel=5] a[kernel=7] m"); /* m has no kernel */
    expands_to("axes: {h: {from: 8, to: 40, factor: 2}}", "a a[h=16] a[h=32] m m[h=16] m[h=32]");
    expands_to("axes: {h: [8, {from: 20, to: 22, step: 1}, 5]}", "a a[h=20] a[h=21] a[h=22] a[h=5] m m[h=20] m[h=21] m[h=22] m[h=5]");
    expands_to("axes: {pad: {from: 0, to: 1, step: 1}}", "a[pad=0] a m");
    expands_to("axes: {pad: [[0, 1], 1, [0, 1, 1, 0], [2, 1, 2, 1]]}", "a[pad=0x1] a a[pad=0x1x1x0] a[pad=2x1] m");
    expands_to("axes: {stride: [[2, 1], [2, 2]], dilation: [[1, 2]]}", "a[dilation=1x2,stride=2x1] a[dilation=1x2,stride=2] m");
    expands_to("axes: {kernel: [[1, 3], 03, [5, 5]]}", "a[kernel=1x3] a a[kernel=5] m");
    expands_to("axes: {dtype: [f32, f16, bf16]}", "a a[dtype=f16] a[dtype=bf16] m m[dtype=f16] m[dtype=bf16]");
    expands_to("axes: {layout: {layers: [a], values: [NCHW, NHWC]}, math: [f32, tf32]}",
               "a a[math=tf32] a[layout=NHWC] a[layout=NHWC,math=tf32] m");
    expands_to("axes: {w: [8, 9], c: [4, 5]}", "a a[w=9] a[c=5] a[c=5,w=9] m m[w=9] m[c=5] m[c=5,w=9]"); /* sorted by name, last fastest */
    expands_to("axes: {hw: {zip: {h: [8, 16, 9], w: [8, 24, 9]}}}", "a a[hw=16x24] a[hw=9x9] m m[hw=16x24] m[hw=9x9]");
    expands_to("axes: {size: {layers: [a], zip: {kernel: {from: 3, to: 7, step: 2}, pad: {from: 1, to: 3, step: 1}}}}",
               "a a[size=5x2] a[size=7x3] m");
    expands_to("axes: {z: {zip: {math: [f32, f16_acc32, f16_acc16], dtype: [f32, f16, f16]}, layers: [a]}}",
               "a a[z=f16_acc32xf16] a[z=f16_acc16xf16] m");
}

static void every_field_is_an_axis(void **state)
{
    struct scenario *s = loaded(
        SCENARIO_HEAD
        "axes: {z: {zip: {stride: [2, 1], dilation: [1, 2], groups: [2, 4], k: [6, 8], c: [8, 4]}, layers: [a]}, dtype: [f32, f16]}\n");
    struct work w = work_of(s, "cuda", "t/a[dtype=f16,z=2x1x2x6x8]");
    assert_true(w.stride == 2 && w.dilation == 1 && w.groups == 2 && w.k == 6 && w.c == 8 && w.p == 4 && w.q == 4);
    assert_true(w.dtype == DTYPE_F16 && w.math == MATH_F16_ACC32); /* a new dtype takes its own math mode */
    w = work_of(s, "cuda", "t/a[z=1x2x4x8x4]");
    assert_true(w.stride == 1 && w.dilation == 2 && w.groups == 4 && w.k == 8 && w.c == 4 && w.p == 6 && w.math == MATH_F32);
    scenario_free(s);
    s = loaded("scenario: t\nlayers: {u: {op: depth_to_space, n: 1, c: 36, h: 4, w: 5, block: 2, mode: DCR}}\nvariants: [x]\n"
               "axes: {block: [2, 3], mode: [DCR, CRD], layout: [NCHW, NHWC], dtype: [f16]}\n");
    w = work_of(s, "cuda", "t/u[block=3,dtype=f16,layout=NHWC,mode=CRD]");
    assert_true(w.block == 3 && w.mode == D2S_CRD && w.layout == LAYOUT_NHWC && w.dtype == DTYPE_F16);
    scenario_free(s);
    /* an explicit math of the layer stays with its own dtype only */
    s = loaded("scenario: t\nlayers: {a: {op: conv2d, n: 1, c: 4, h: 8, w: 8, k: 4, kernel: 1, math: tf32}}\nvariants: [x]\naxes: {dtype: "
               "[f32, bf16]}\n");
    assert_int_equal(work_of(s, "cuda", "t/a").math, MATH_TF32);
    assert_int_equal(work_of(s, "cuda", "t/a[dtype=bf16]").math, MATH_BF16_ACC32);
    scenario_free(s);
}

/* A run asks for the scenario's cases at another density. If the scenario has such a case already, or no similar one, or the mask has no
 * density, the run adds no case. */
static void more_densities(void **state)
{
    struct scenario *s = loaded(SCENARIO_HEAD "axes: {mask: {layers: [a], values: [full, {pattern: blobs, density: [0.1, 0.2], seed: 3}]}, "
                                              "n: [1, 2]}\n");
    const struct scenario_wish more[] = {{"t/a[mask=blobs24:0.10:3,n=2]", 0.15, "conv2d/naive", "BLOCK=16"},
                                         {"t/a[mask=blobs24:0.20:3]", 0.1, "conv2d/naive", NULL},
                                         {"t/a[mask=blobs24:0.20:3,n=2]", 0.15, NULL, NULL}, /* from another case: it is there */
                                         {"t/a[mask=blobs24:0.10:3]", 0.0485, NULL, NULL},
                                         {"t/a[mask=blobs24:0.10:3,n=2]", 0.15, "my/x", NULL},
                                         {"t/a[mask=blobs24:0.10:3]", 0.0485, "my/x", NULL},
                                         {"t/a[mask=blobs24:0.10:3]", 0.0625, "my/x", NULL},
                                         {"t/a[mask=blobs24:0.10:3]", 0.0625, NULL, NULL},
                                         {"t/a[mask=iid:0.15]", 0.3, NULL, NULL},
                                         {"t/a[mask=full]", 0.3, NULL, NULL},
                                         {0}};
    struct scenario_filter filter = {.extra = more};
    char *plain = ids(s, "cuda"), *all = ids_filtered(s, "cuda", &filter);
    char *want = text_format("%s a[mask=blobs24:0.15:3,n=2] a[mask=blobs24:0.0485:3] a[mask=blobs24:0.0625:3]", plain);
    assert_string_equal(all, want);
    free(want);
    free(all);
    free(plain);
    struct error err = {0};
    struct scenario_case *cases;
    int count = scenario_expand(s, "cuda", &filter, &cases, &err);
    const struct scenario_case *one = &cases[count - 3];
    assert_true(one->work.mask.density == 0.15 && one->work.mask.seed == 3 && one->work.n == 2 && one->place > cases[count - 4].place);
    assert_string_equal(one->axes[0].value, "blobs24:0.15:3");
    assert_string_equal(one->like, "t/a[mask=blobs24:0.10:3,n=2]");
    assert_int_equal(one->only_count, 2);
    assert_string_equal(one->only[0].variant, "conv2d/naive");
    assert_string_equal(one->only[0].params, "BLOCK=16");
    assert_true(!strcmp(one->only[1].variant, "my/x") && !one->only[1].params);
    assert_null(one[1].only); /* who wants all has them, who wanted one before or wants one after too */
    assert_null(one[2].only);
    assert_true(!cases[0].like && !cases[0].only);
    scenario_cases_free(cases, count);
    scenario_free(s);
    s = loaded(SCENARIO_HEAD "axes: {mask: [{pattern: iid, density: 0.1}]}\n"); /* an entry without a seed */
    const struct scenario_wish plain_seed[] = {{"t/a[mask=iid:0.10]", 0.3, NULL, NULL}, {0}};
    filter.extra = plain_seed;
    all = ids_filtered(s, "cuda", &filter);
    assert_non_null(strstr(all, " a[mask=iid:0.30]"));
    free(all);
    scenario_free(s);
    /* a layer's own mask is an axis' value that no id names: another density has a name of its own */
    s = loaded("scenario: t\ndefaults: {n: 1, c: 4, h: 8, w: 8, k: 4, kernel: 3, pad: 1, op: conv2d, dtype: f32, layout: NCHW}\n"
               "layers: {a: {mask: {pattern: iid, density: 0.1}}}\n"
               "axes: {mask: [{pattern: iid, density: 0.1}, {pattern: iid, density: 0.5}]}\nvariants: [naive]\n");
    const struct scenario_wish own[] = {{"t/a", 0.2, NULL, NULL}, {"t/a[mask=iid:0.50]", 0.25, NULL, NULL}, {0}};
    filter.extra = own;
    all = ids_filtered(s, "cuda", &filter);
    assert_string_equal(all, "a a[mask=iid:0.50] a[mask=iid:0.20] a[mask=iid:0.25]");
    free(all);
    scenario_free(s);
}

static void masks(void **state)
{
    expands_to("axes: {mask: {values: [none, full, {pattern: iid, density: [0.1, 0.005]}, {pattern: blobs, radius: 3, density: 0.5, seed: "
               "[2, 1]}, checkerboard]}}",
               "a a[mask=full] a[mask=iid:0.10] a[mask=iid:0.005] a[mask=blobs3:0.50:2] a[mask=blobs3:0.50:1] a[mask=checkerboard] m");
    expands_to("axes: {mask: [none, {pattern: scanline, density: 0.25}, {pattern: pixel, seed: 4}], n: [1, 2]}",
               "a a[n=2] a[mask=scanline:0.25] a[mask=scanline:0.25,n=2] a[mask=pixel:4] a[mask=pixel:4,n=2] m m[n=2]");
    struct scenario *s = loaded(SCENARIO_HEAD "axes: {mask: {marks: output, values: [{pattern: blobs, density: 0.2}]}}\n");
    struct work w = work_of(s, "cuda", "t/a[mask=blobs24:0.20]");
    assert_true(w.mask.marks_output && w.mask.radius == 24 && w.mask.seed == 1 && w.mask.density == 0.2);
    scenario_free(s);
}

/* Adding an axis at the value that a layer has leaves the case's id and key alone. */
static void an_axis_at_its_old_default_renames_nothing(void **state)
{
    char before[HASH_TEXT], after[HASH_TEXT];
    struct scenario *s = loaded(SCENARIO_HEAD);
    struct work w = work_of(s, "cuda", "t/a");
    work_key(&w, before);
    scenario_free(s);
    static const char *const axes[] = {
        "n: [1]", "dtype: [f32]", "math: [f32, tf32]", "mask: [none, full]", "kernel: [[3, 3]]", "z: {zip: {h: [8], w: [8]}}"};
    for (size_t i = 0; i < sizeof axes / sizeof *axes; i++) {
        char *text = text_format("%saxes: {%s}\n", SCENARIO_HEAD, axes[i]);
        s = loaded(text);
        w = work_of(s, "cuda", "t/a");
        work_key(&w, after);
        assert_string_equal(before, after);
        scenario_free(s);
        free(text);
    }
}

static void keeps(const struct scenario *s, const char *layers, const char *a, const char *b, const char *want)
{
    const char *set[] = {a, b, NULL};
    struct scenario_filter filter = {.layers = layers, .set = a ? set : NULL};
    char *got = ids_filtered(s, "emu", &filter);
    if (strcmp(got, want) && !(strstr(want, "...") && strstr(got, want + 3)))
        fail_msg("--layer %s --set %s --set %s\n got %s\nwant %s", layers, a, b, got, want);
    free(got);
}

static void filters(void **state)
{
    struct scenario *s = loaded("scenario: t\nlayers:\n"
                                "  body_1: {op: conv2d, n: 1, c: 4, h: 8, w: 8, k: 4, kernel: 3, pad: 1}\n"
                                "  body_2: {op: conv2d, n: 1, c: 4, h: 8, w: 8, k: 4, kernel: 1}\n"
                                "  tail: {op: layout, n: 1, c: 4, h: 8, w: 8, to: NHWC}\n"
                                "variants: [x]\n"
                                "axes: {n: {layers: [body_1], values: [1, 4]}, mask: {layers: [body_2], values: [none, {pattern: iid, "
                                "density: [0.05, 0.1], seed: [1, 2]}]}}\n"
                                "on: {emu: {crop: {h: 4}}}\n");
    keeps(s, "tail", NULL, NULL, "tail");
    keeps(s, "body_*", "n=4", NULL, "body_1[n=4]");
    keeps(s, "body_?,tail", "n=1", "c=4",
          "body_1 body_2 body_2[mask=iid:0.05:1] body_2[mask=iid:0.05:2] body_2[mask=iid:0.10:1] "
          "body_2[mask=iid:0.10:2] tail");
    keeps(s, NULL, "mask.density=0.10", NULL, "body_2[mask=iid:0.10:1] body_2[mask=iid:0.10:2]"); /* 0.1 is 0.10 */
    keeps(s, NULL, "mask.density=.1", "mask.seed=2", "body_2[mask=iid:0.10:2]");
    keeps(s, NULL, "mask=iid:0.05:1,iid:0.10:2", NULL, "body_2[mask=iid:0.05:1] body_2[mask=iid:0.10:2]");
    keeps(s, NULL, "mask=iid", "mask.seed=1", "body_2[mask=iid:0.05:1] body_2[mask=iid:0.10:1]");
    keeps(s, NULL, "mask.pattern=iid", "mask.density=0.05", "body_2[mask=iid:0.05:1] body_2[mask=iid:0.05:2]");
    keeps(s, NULL, "kernel=3", "n=1", "body_1");
    keeps(s, NULL, "to=NHWC", NULL, "tail");
    keeps(s, NULL, "h=8", "kernel=3", "body_1 body_1[n=4]");
    /* what selects nothing is named */
    keeps(s, "body_1,heads", NULL, NULL, "...--layer heads selects no layer of ");
    keeps(s, NULL, "n=7", NULL, "...--set n=7 selects no case of ");
    keeps(s, NULL, "n=1,7", NULL, "...--set n=7 selects no case of ");
    keeps(s, "body_1, heads", NULL, NULL, "...--layer heads selects no layer of ");
    keeps(s, "body_1, tail", "n=1, 1.0", NULL, "body_1 tail"); /* blanks are no part of a word */
    keeps(s, "tail", "n=4", NULL, "...--set n=4 selects no case of ");
    keeps(s, NULL, "n=4", "mask=iid", "...--set n=4 --set mask=iid: no case of ");
    keeps(s, NULL, "m=4", NULL, "...--set m=4: there is no axis or field 'm'");
    keeps(s, NULL, "n", NULL, "...--set n: AXIS=VALUE is expected");
    keeps(s, NULL, "=4", NULL, "...--set =4: AXIS=VALUE is expected");
    keeps(s, NULL, "n=", NULL, "...--set n=: AXIS=VALUE is expected");
    scenario_free(s);
}

/* The name of a network selects all of its layers, once each. */
static void networks(void **state)
{
    struct scenario *s = loaded("scenario: t\nlayers:\n"
                                "  head: {op: conv2d, n: 1, c: 4, h: 8, w: 8, k: 4, kernel: 1}\n"
                                "  body: {op: conv2d, n: 1, c: 4, h: 8, w: 8, k: 4, kernel: 1}\n"
                                "  tail: {op: conv2d, n: 1, c: 4, h: 8, w: 8, k: 4, kernel: 1}\n"
                                "networks: {long: {order: [head, {repeat: 2, of: [body]}, tail]}, short: {order: [head, tail]}}\n"
                                "variants: [x]\n");
    keeps(s, "short", NULL, NULL, "head tail");
    keeps(s, "long", NULL, NULL, "head body tail");
    keeps(s, "short, body", NULL, NULL, "head body tail");
    keeps(s, "tail", NULL, NULL, "tail");
    keeps(s, "short,longer", NULL, NULL, "...--layer longer selects no layer or network of ");
    scenario_free(s);
}

static void many_cases(void **state)
{
    struct scenario *s = loaded(SCENARIO_HEAD "axes: {n: {from: 1, to: 100, step: 1}, c: {from: 4, to: 499, step: 1}}\n"); /* 2 x 49,600 */
    struct error err = {0};
    struct scenario_case *cases;
    int count = scenario_expand(s, "cuda", NULL, &cases, &err);
    assert_int_equal(count, 99200);
    assert_string_equal(cases[99199].id, "t/m[c=499,n=100]");
    scenario_cases_free(cases, count);
    scenario_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(values),     cmocka_unit_test(every_field_is_an_axis),
                                       cmocka_unit_test(masks),      cmocka_unit_test(more_densities),
                                       cmocka_unit_test(filters),    cmocka_unit_test(networks),
                                       cmocka_unit_test(many_cases), cmocka_unit_test(an_axis_at_its_old_default_renames_nothing)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
