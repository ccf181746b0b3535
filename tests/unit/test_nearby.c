/* Neighbours of a row's shape. */
#include "base/file.h"
#include "scenario_text.h"
#include "works.h"
#include "plan/rows/plan.h"
#include "plan/rows/private.h"
#include "op/reference/data.h"
#include "op/file/ops.h"
#include <math.h>

static struct plan plan;
static char *path;

/* dirs: of variants beside the shipped ones; NULL: none. */
static void plan_with(const char *text, const char *const *dirs)
{
    struct error err = {0};
    struct plan_options options = {.scenario_path = path = text_file(text), .variant_dirs = dirs};
    if (!plan_make(&options, "emu", chip_find("GH100"), &plan, &err))
        fail_msg("%s", err.text);
}

static void plan_of(const char *text)
{
    plan_with(text, NULL);
}

static void plan_end(void)
{
    plan_free(&plan);
    unlink(path);
    free(path);
}

static int row_of(const char *variant)
{
    for (int i = 0; i < plan.row_count; i++)
        if (strstr(plan_program(&plan, i)->variant ? plan_program(&plan, i)->variant : "", variant))
            return i;
    fail_msg("no row of %s", variant);
    return -1;
}

/* A shape longer than a wide layer has fewer channels if the layer's are too much work: emu took 8 s for one of them. */
static void long_shapes_are_cheap(void **state)
{
    plan_of("scenario: t\nlayers:\n  a: {op: conv2d, n: 1, c: 64, h: 720, w: 1280, k: 256, kernel: 3, pad: 1, epilogue: [bias], dtype: "
            "f16, layout: NHWC}\n"
            "variants: [conv2d/tiled_halo]\n");
    int row = row_of("tiled_halo"), beyond = 0;
    for (uint64_t draw = 0; draw < 160; draw++) {
        struct work w;
        struct program p;
        assert_true(plan_nearby(&plan, row, (int[]){2, 1, 4, 7}[draw / 40], draw % 40 + 1, draw < 40 ? 14 : 48, 1e7, &w, &p));
        assert_true(work_flop(&w) <= 8e7);
        beyond += draw < 40 && (w.h > 720 || w.w > 1280);
        program_free(&p);
    }
    assert_true(beyond > 30);
    plan_end();
}

/* Many draws: each another work of the same op that the same code does, within its bounds. */
static void neighbours_are_near(void **state)
{
    plan_of(
        "scenario: t\nlayers:\n  a: {op: conv2d, n: 1, c: 16, h: 40, w: 16, k: 16, kernel: 3, pad: 1, epilogue: [bias, relu], dtype: f32}\n"
        "variants: [conv2d/naive]\n");
    int row = row_of("naive"), other_batch = 0, other_channels = 0, tall = 0, long_h = 0, long_w = 0, beyond = 0, round = 0, even = 0;
    const struct work *own = &plan.cases[0].work;
    for (uint64_t seed = 1; seed <= 200; seed++) {
        struct work w, again;
        struct program p, second;
        int number = (int)(seed % 3);
        assert_true(plan_nearby(&plan, row, number, seed, 30, 1e18, &w, &p));
        assert_true(plan_nearby(&plan, row, number, seed, 30, 1e18, &again, &second)); /* the seed decides */
        assert_true(w.n == again.n && w.h == again.h && w.w == again.w && w.c == again.c && w.k == again.k && w.seed == again.seed);
        assert_true((number == 1 ? w.n == 1 : w.n >= 2 && w.n <= 3) && w.h != 40 && w.w != 16 && w.h >= 1 && w.h * w.w <= 30 * 30 &&
                    w.w >= 1 && w.c >= 1 && w.c <= 48 && w.k <= 48);
        assert_true(w.p == w.h && w.q == w.w && w.r == 3 && w.epilogue_count == 2 && w.dtype == own->dtype && w.seed != own->seed);
        assert_true(p.feasible && p.unit_count == 1 && unit_same(&p.units[0], &plan_program(&plan, row)->units[0]));
        other_batch += w.n == 3;
        other_channels += w.c != 16 || w.k != 16;
        if (number == 0) /* who is right for multiples of four alone must meet others, if its head takes them */
            assert_true(w.c % 2 && w.k % 2 && w.h % 2 && w.w % 2); /* ... or for even widths */
        else if (number == 2)
            assert_true(w.c == 16 && w.k == 16); /* who goes by them, its own */
        else
            round += w.c % 4 == 0 && w.k % 4 == 0, even += w.h % 2 == 0 && w.w % 2 == 0;
        tall += w.h > w.w;
        if (number == 0)
            assert_true(w.h <= 30 && w.w <= 30);
        else if (number == 1)
            assert_true((w.h <= 8 && w.w <= 112) || (w.w <= 8 && w.h <= 112));
        else
            assert_true((w.h <= 4 && w.w > 16 && w.w <= 28) || (w.w <= 4 && w.h > 40 && w.h <= 58));
        beyond += w.h > 50;
        long_h += w.h > 90; /* a fifth of half of a third */
        long_w += w.w > 90;
        program_free(&p);
        program_free(&second);
    }
    if (other_batch < 40 || other_batch > 100 || other_channels < 60 || tall < 60 || tall > 140 || long_h < 2 || long_w < 2 ||
        beyond < 10 || round < 30 || even < 8)
        fail_msg(
            "of 200 draws %d have a batch of 3, %d other channels, %d are tall, %d and %d long, %d of round channels, %d of even sides",
            other_batch, other_channels, tall, long_h, long_w, round, even);
    plan_end();
}

/* Whoever compiles sizes in, or accepts one shape only, has no neighbour; what a head cannot do is not drawn. */
static void heads_decide(void **state)
{
    struct work w;
    struct program p;
    plan_of("scenario: t\nlayers:\n  a: {op: conv2d, n: 1, c: 64, h: 40, w: 56, k: 64, kernel: 3, pad: 1, dtype: f16, layout: NHWC}\n"
            "variants: [conv2d/wgmma_rs]\n");
    int row = row_of("wgmma_rs");
    for (uint64_t seed = 1; seed <= 50; seed++)
        if (plan_nearby(&plan, row, 2, seed, 30, 1e18, &w, &p)) {
            assert_int_equal(w.c % 16, 0);
            program_free(&p);
        }
    plan_end();
    plan_of("scenario: t\nlayers:\n  a: {op: depth_to_space, n: 1, c: 12, h: 9, w: 7, block: 2, mode: CRD, dtype: f32}\n"
            "variants: [depth_to_space/d2s_native]\n");
    row = row_of("d2s_native");
    for (uint64_t seed = 1; seed <= 50; seed++) {
        assert_true(plan_nearby(&plan, row, 0, seed, 30, 1e18, &w, &p));
        assert_true(w.c % 4 == 0 && w.block == 2);
        program_free(&p);
    }
    plan_end();
}

/* For a row whose head ties channels to something: in how many draws the number of input channels changes, is larger, the number of output
 * channels is odd, and is larger than that of the inputs. */
struct drawn {
    int other_c, more_c, odd_k, more_k;
};
static struct drawn channels_of(const char *layer, const char *needs)
{
    struct drawn d = {0};
    char *head = text_format("/* bench 1\nop: conv2d\nwhat: tied\nneeds: r == 3 and %s\nlayout: {input: NCHW, filter: KCRS, output: same}\n"
                             "dtype: {input: f32, accumulate: f32}\nsteps:\n  - kernel: conv\n    grid: n * k\n    block: 32\n"
                             "    args: input, filter, output, n, c, h, w, k\n*/\nextern \"C\" __global__ void conv() {}\n",
                             needs),
         *made = text_file(head), *tied = text_format("%s.cu", made), *variant = text_format("tied=%s", tied),
         *text = text_format("scenario: t\nlayers:\n  a: {op: conv2d, n: 1, %s}\nvariants: [tied/%s]\n", layer, file_base(made));
    const char *dirs[] = {variant, NULL};
    assert_int_equal(rename(made, tied), 0);
    plan_with(text, dirs);
    const struct work *own = &plan.cases[0].work;
    for (uint64_t seed = 1; seed <= 100; seed++) {
        struct work w;
        struct program p;
        assert_true(plan_nearby(&plan, row_of("tied"), 3 * (int)(seed % 3), seed, 14, 2e7, &w, &p));
        d.other_c += w.c != own->c;
        d.more_c += w.c > own->c;
        d.odd_k += w.k % 2;
        d.more_k += w.k > w.c;
        program_free(&p);
    }
    plan_end();
    unlink(tied);
    free(tied);
    free(made);
    free(variant);
    free(head);
    free(text);
    return d;
}

/* What a head leaves open is drawn, whatever else it ties. */
static void channels_vary_where_they_may(void **state)
{
    struct drawn d = channels_of("c: 64, h: 9, w: 11, k: 8, kernel: 3, pad: 1, dtype: f32", "c % 16 == 0 and groups == 1");
    if (d.other_c < 90 || d.more_c < 50 || d.odd_k < 40)
        fail_msg("multiples of 16: of 100 %d have other inputs, %d more, %d odd outputs", d.other_c, d.more_c, d.odd_k);
    d = channels_of("c: 16, h: 9, w: 11, k: 4, kernel: 3, pad: 1, dtype: f32", "c == 16 and groups == 1");
    if (d.other_c || d.odd_k < 100)
        fail_msg("16: of 100 %d have other inputs, %d odd outputs", d.other_c, d.odd_k);
    d = channels_of("c: 16, h: 9, w: 11, k: 4, kernel: 3, pad: 1, dtype: f32", "k == 4 and groups == 1");
    if (d.other_c < 90 || d.odd_k)
        fail_msg("k of 4: of 100 %d have other inputs, %d odd outputs", d.other_c, d.odd_k);
    d = channels_of("c: 16, h: 9, w: 11, k: 16, groups: 16, kernel: 3, pad: 1, dtype: f32", "groups == c");
    if (d.other_c < 90 || d.more_k < 50)
        fail_msg("depthwise: of 100 %d have other inputs, %d more outputs than inputs", d.other_c, d.more_k);
    d = channels_of("c: 16, h: 9, w: 11, k: 32, groups: 4, kernel: 3, pad: 1, dtype: f32", "groups == 4");
    if (d.other_c < 80)
        fail_msg("four groups: of 100 %d have other inputs", d.other_c);
}

/* A filter of 150 MB: its neighbours need no minute of a CPU each, are images that hold it, and most of them have a smaller one. */
static void neighbours_cost_little(void **state)
{
    plan_of(
        "scenario: t\nlayers:\n  a: {op: conv2d, n: 1, c: 256, h: 6, w: 6, k: 4096, kernel: 6, dtype: f32}\nvariants: [conv2d/naive]\n");
    int row = row_of("naive"), beyond = 0, small = 0;
    for (uint64_t seed = 1; seed <= 100; seed++) {
        struct work w;
        struct program p;
        assert_true(plan_nearby(&plan, row, (int)(seed % 3), seed, 48, 3e8, &w, &p));
        assert_true(w.h >= 6 && w.w >= 6);
        if (work_flop(&w) > 6e9)
            fail_msg("%.3g operations: %d x %d x %d x %d to %d channels", work_flop(&w), (int)w.n, (int)w.h, (int)w.w, (int)w.c, (int)w.k);
        beyond += w.h > 6 || w.w > 6;
        small += w.k * w.c * 36 < 10000000;
        program_free(&p);
    }
    assert_true(beyond > 50);
    if (small < 60)
        fail_msg("of 100 filters %d have less than 10 million values", small);
    plan_end();
}

/* Of ops that are files: each draw has other sizes, odd ones first, and no other numbers than sizes. */
static void files_vary_their_sizes(void **state)
{
    plan_of("scenario: t\nlayers:\n  a: {op: rmsnorm, rows: 40, cols: 96, eps: 0.25, dtype: f32}\nvariants: [rmsnorm/naive]\n");
    int row = row_of("naive"), beyond = 0, longer = 0, round = 0;
    for (uint64_t seed = 1; seed <= 90; seed++) {
        struct work w, again;
        struct program p, second;
        struct value rows, cols, eps;
        int number = (int)(seed % 3);
        assert_true(plan_nearby(&plan, row, number, seed, 48, 3e8, &w, &p) &&
                    plan_nearby(&plan, row, number, seed, 48, 3e8, &again, &second));
        assert_memory_equal(w.value, again.value, sizeof w.value);
        assert_true(work_symbol(&w, "rows", &rows) && work_symbol(&w, "cols", &cols) && work_symbol(&w, "eps", &eps));
        assert_true(rows.i >= 1 && cols.i >= 1 && rows.i != 40 && cols.i != 96 && eps.d == 0.25 && w.seed != plan.cases[0].work.seed);
        assert_true(p.feasible && unit_same(&p.units[0], &plan_program(&plan, row)->units[0]));
        if (number != 1)
            assert_true(rows.i % 2 && cols.i % 2);
        else
            round += rows.i % 8 == 0 && cols.i % 8 == 0;
        if (number == 0)
            assert_true(rows.i <= 49 && cols.i <= 49);
        beyond += number == 2 && (rows.i > 40 || cols.i > 96);
        longer += number == 1 && (rows.i > 96 || cols.i > 96);
        program_free(&p);
        program_free(&second);
    }
    if (beyond < 30 || longer < 10 || round < 30)
        fail_msg("of 30 each %d are larger than the layer, %d long, %d of round sizes", beyond, longer, round);
    plan_end();
}

/* The last two shapes have other reals, a smaller and a larger one, on the same side of 0 and of 1. If the op draws one input only, values
 * of one shape have a mean other than 0. */
static void reals_vary(void **state)
{
    plan_of("scenario: t\nlayers:\n"
            "  a: {op: rmsnorm, rows: 40, cols: 96, eps: 0.25, dtype: f32}\n"
            "variants: [rmsnorm/naive]\n");
    for (int number = 0; number < 5; number++) {
        struct work w;
        struct program p;
        struct value eps;
        assert_true(plan_nearby(&plan, row_of("rmsnorm/naive"), number, 3, 48, 3e8, &w, &p));
        assert_true(work_symbol(&w, "eps", &eps) && eps.d == (number < 3 ? 0.25 : number == 3 ? 0.125 : 0.5));
        assert_true(w.mean == 0); /* its values are small for a purpose: no normal ones */
        program_free(&p);
    }
    plan_end();
}

/* On every nearby shape but the first, inputs of sums are larger (code that saturates them is wrong there), and reals of the epilogue
 * differ: a slope, a residual's scale, the limits of a clip other than 0. */
static void epilogues_vary(void **state)
{
    static const struct {
        const char *item;
        double alpha, most, scale;
    } items[] = {{"{leaky_relu: 0.2}", 0.2, 0, 0}, {"{residual: 0.1}", 0, 0, 0.1}, {"{clip: [0, 6]}", 0, 6, 0}};
    for (int i = 0; i < 3; i++) {
        char *text =
            text_format("scenario: t\nlayers:\n  a: {op: conv2d, c: 4, h: 19, w: 17, k: 4, kernel: 3, pad: 1, epilogue: [bias, %s], "
                        "dtype: f16}\nvariants: [conv2d/naive]\n",
                        items[i].item);
        plan_of(text);
        struct work w = plan.cases[0].work, down = w, up = w;
        nearby_vary_reals(w.op, false, false, &down);
        nearby_vary_reals(w.op, true, false, &up);
        const struct epilogue *own = &w.epilogue[1], *less = &down.epilogue[1], *more = &up.epilogue[1];
        assert_true(own->alpha == items[i].alpha && own->most == items[i].most && own->scale == items[i].scale);
        assert_true((less->alpha < own->alpha && own->alpha < more->alpha) == (i == 0) && (less->scale < own->scale) == (i == 1) &&
                    (own->scale < more->scale) == (i == 1) && (less->most < own->most && own->most < more->most) == (i == 2));
        plan_end();
        free(text);
    }
    plan_of("scenario: t\nlayers:\n"
            "  a: {op: conv2d, c: 4, h: 19, w: 17, k: 4, kernel: 3, pad: 1, dtype: f16}\n"
            "  b: {op: gemm, m: 40, n: 50, k: 60, dtype: f32}\n"
            "  c: {op: softmax, rows: 40, cols: 50, dtype: f32}\n"
            "variants: [conv2d/naive, gemm/naive, softmax/naive]\n");
    for (int number = 0; number < 3; number++) {
        static const char *const variants[] = {"conv2d/naive", "gemm/naive", "softmax/naive"};
        const double larger[] = {number ? 16 : 0, number == 2 ? 256 : 0, 0}; /* a softmax is not linear */
        for (int i = 0; i < 3; i++) {
            struct work w;
            struct program p;
            assert_true(plan_nearby(&plan, row_of(variants[i]), number, 7, 48, 3e8, &w, &p));
            assert_true(w.larger == larger[i]);
            program_free(&p);
        }
    }
    plan_end();
}

static int row_of_case(int in_case)
{
    for (int i = 0; i < plan.row_count; i++)
        if (plan.rows[i].case_index == in_case && plan_program(&plan, i)->variant && strstr(plan_program(&plan, i)->variant, "naive"))
            return i;
    fail_msg("no row of case %d", in_case);
    return -1;
}

/* One nearby shape exceeds the layer along every axis, as far as the head allows; if that is much work, none does.
 */
static void some_are_larger(void **state)
{
    plan_of("scenario: t\nlayers:\n"
            "  a: {op: conv2d, n: 2, c: 6, h: 9, w: 17, k: 5, kernel: 3, pad: 1, dtype: f32}\n"
            "  b: {op: conv2d, n: 1, c: 64, h: 360, w: 640, k: 64, kernel: 3, pad: 1, dtype: f32}\n"
            "  c: {op: rmsnorm, rows: 12, cols: 96, dtype: f32}\n"
            "variants: [conv2d/naive, rmsnorm/naive]\n");
    const int small = row_of_case(0), large = row_of_case(1), file = row_of_case(2);
    for (uint64_t seed = 1; seed <= 40; seed++) {
        struct work w;
        struct program p;
        struct value rows, cols;
        assert_true(plan_nearby(&plan, small, NEARBY_GROWN, seed, 14, 2e7, &w, &p));
        if (w.n <= 2 || w.c <= 6 || w.h <= 9 || w.w <= 17 || w.k <= 5 || work_flop(&w) > 2e7 || w.larger != 0)
            fail_msg("n %d c %d h %d w %d k %d", (int)w.n, (int)w.c, (int)w.h, (int)w.w, (int)w.k);
        program_free(&p);
        assert_false(plan_nearby(&plan, large, NEARBY_GROWN, seed, 14, 2e7, &w, &p));
        assert_true(plan_nearby(&plan, file, NEARBY_GROWN, seed, 14, 2e7, &w, &p));
        assert_true(work_symbol(&w, "rows", &rows) && work_symbol(&w, "cols", &cols) && rows.i > 12 && cols.i > 96);
        assert_true(w.larger == 0 && w.mean == 0 && !w.specials);
        program_free(&p);
        assert_false(
            plan_nearby(&plan, file, NEARBY_LARGER, seed, 14, 2e7, &w, &p)); /* its values are small for a purpose: no normal ones */
    }
    plan_end();
}

/* A masked layer meets a mask that is nearly full, with whole words of marked pixels, and one with rows of one mark or two. */
static void masks_are_dense_and_thin(void **state)
{
    plan_of("scenario: t\nlayers:\n  a: {op: conv2d, c: 4, h: 19, w: 17, k: 6, kernel: 3, pad: 1, dtype: f32}\n"
            "axes: {mask: {marks: input, values: [{pattern: blobs, radius: 3, density: 0.3}]}}\nvariants: [conv2d/naive]\n");
    for (int i = 0, number = 0; i < 40; number = ++i < 2 ? i : 2) {
        struct work w;
        struct program p;
        assert_true(plan_nearby(&plan, row_of("naive"), number, 7 + (uint64_t)i * (number > 1), 14, 2e7, &w, &p));
        assert_true(number || (w.w > 64 && w.k >= 5)); /* also on emu; code may be right in the first channels alone */
        double density = number > 1 ? fmin(0.05, 1.5 / (double)w.w) : number > 0 ? 0.3 : 0.99;
        assert_true(w.mask.density == density && w.mask.pattern == (number == 1 ? MASK_BLOBS : MASK_IID));
        program_free(&p);
    }
    plan_end();
}

/* The last output of a strided layer reads other columns on a nearby shape: with another rest, the padding no longer hides them. */
static void strides_have_other_rests(void **state)
{
    plan_of("scenario: t\nlayers:\n  a: {op: conv2d, c: 4, h: 16, w: 37, k: 4, kernel: 3, pad: 1, stride: 3, dtype: f32}\nvariants: "
            "[conv2d/naive]\n");
    for (uint64_t seed = 1; seed <= 60; seed++) {
        struct work w;
        struct program p;
        assert_true(plan_nearby(&plan, row_of("naive"), 0, seed, 14, 2e7, &w, &p));
        assert_true(w.w % 3 != 1 && w.h % 3 != 1 && w.w % 2 == 0 && w.h % 2 == 1);
        program_free(&p);
    }
    plan_end();
}

/* One of the long shapes has a row for each lane of a warp to be special in (draw_swept), if that is not too much work. */
static void files_have_many_lines(void **state)
{
    plan_of("scenario: t\nlayers:\n  a: {op: softmax, rows: 12, cols: 700, dtype: f32}\nvariants: [softmax/naive]\n");
    int many = 0;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        struct work w;
        struct program p;
        struct value rows, cols;
        assert_true(plan_nearby(&plan, row_of("naive"), 1, seed, 48, 2e7, &w, &p));
        assert_true(work_symbol(&w, "rows", &rows) && work_symbol(&w, "cols", &cols));
        many += (rows.i >= 88 && cols.i >= 64) || rows.i >= 120;
        program_free(&p);
    }
    if (many < 30)
        fail_msg("of 40 only %d have many rows", many);
    plan_end();
}

/* Of two sizes each is long once, beyond the threads of a block every other time, and each larger than the layer's once. */
static void files_are_long_along_both(void **state)
{
    plan_of("scenario: t\nlayers:\n  a: {op: softmax, rows: 300, cols: 200, dtype: f32}\nvariants: [softmax/naive]\n");
    int past = 0, both = 0;
    for (uint64_t seed = 1; seed <= 100; seed++) {
        int64_t most_rows = 0, most_cols = 0;
        bool larger_rows = false, larger_cols = false;
        for (int number = 0; number < 5; number++) {
            struct work w;
            struct program p;
            struct value rows, cols;
            bool far = number % 2;
            assert_true(plan_nearby(&plan, row_of("naive"), number, seed * 5 + (uint64_t)number, far ? 48 : 14, 2e7, &w, &p));
            assert_true(work_symbol(&w, "rows", &rows) && work_symbol(&w, "cols", &cols));
            most_rows = rows.i > most_rows && far ? rows.i : most_rows, most_cols = cols.i > most_cols && far ? cols.i : most_cols;
            larger_rows |= !far && rows.i > 300, larger_cols |= !far && cols.i > 200;
            program_free(&p);
        }
        past += most_cols > 256;
        both += most_rows > 8 && most_cols > 8 && larger_rows && larger_cols;
    }
    if (past < 40 || both < 90)
        fail_msg("of 100 times %d go past 256 columns, %d are long and larger along both", past, both);
    plan_end();
}

/* What a head asks for is drawn, where there is such a thing; and a layer that is large has small neighbours. */
static void files_ask_heads(void **state)
{
    struct work w;
    struct program p;
    plan_of("scenario: t\nlayers:\n  a: {op: gemm, m: 4096, n: 4096, k: 4096, dtype: f16}\nvariants: [gemm/naive, gemm/wgmma]\n");
    for (uint64_t seed = 1; seed <= 30; seed++) {
        assert_true(plan_nearby(&plan, row_of("naive"), (int)(seed % 3), seed, 48, 3e8, &w, &p));
        assert_true(work_flop(&w) <= 3e8);
        program_free(&p);
        assert_true(plan_nearby(&plan, row_of("wgmma"), (int)(seed % 3), seed, 48, 3e8, &w, &p));
        assert_true(p.feasible && work_flop(&w) <= 3e8);
        program_free(&p);
    }
    plan_end();
}

/* Rectangles are of other sizes than the op's own, and no larger; they and the frames have other numbers. */
static void rectangles_vary(void **state)
{
    plan_of("scenario: t\nlayers:\n  a: {op: thumbnails, h: 300, w: 400, crops: 5}\nvariants: [stages/backwards, thumbnails/by_hand]\n");
    static const int own[5][2] = {{34, 25}, {70, 15}, {60, 59}, {20, 23}, {12, 11}};
    int row = row_of("by_hand"), other = 0, count = 0;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct work w;
        struct program p;
        struct op_data data;
        struct error err = {0};
        struct tensor boxes;
        assert_true(plan_nearby(&plan, row, (int)(seed % 3), seed, 48, 3e8, &w, &p));
        assert_true(work_tensor(&w, "boxes", &boxes) && op_data_inputs(&w, DATA_PART_PRECISION, &data, &err));
        const float *at = op_data_of(w.op, &data, "boxes")->value;
        for (int i = 0; i < boxes.dim[0]; i++, count++) {
            assert_true(at[4 * i + 2] >= 1 && at[4 * i + 3] >= 1 && at[4 * i + 2] <= (float)own[i % 5][0] &&
                        at[4 * i + 3] <= (float)own[i % 5][1]);
            other += at[4 * i + 2] != (float)own[i % 5][0] || at[4 * i + 3] != (float)own[i % 5][1];
        }
        op_data_free(&data);
        program_free(&p);
    }
    assert_true(count > 100 && other > count / 2);
    plan_end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(long_shapes_are_cheap),
                                       cmocka_unit_test(neighbours_are_near),
                                       cmocka_unit_test(heads_decide),
                                       cmocka_unit_test(channels_vary_where_they_may),
                                       cmocka_unit_test(neighbours_cost_little),
                                       cmocka_unit_test(files_vary_their_sizes),
                                       cmocka_unit_test(files_ask_heads),
                                       cmocka_unit_test(reals_vary),
                                       cmocka_unit_test(some_are_larger),
                                       cmocka_unit_test(masks_are_dense_and_thin),
                                       cmocka_unit_test(files_are_long_along_both),
                                       cmocka_unit_test(epilogues_vary),
                                       cmocka_unit_test(files_have_many_lines),
                                       cmocka_unit_test(strides_have_other_rests),
                                       cmocka_unit_test(rectangles_vary)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
