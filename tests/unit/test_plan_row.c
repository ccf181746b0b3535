/* plan/rows/row: what is known of a row before it runs, and what its key depends on: everything that could change its result, and nothing
 * else. */
#include "variant_folder.h"
#include "plan/rows/plan.h"
#include <math.h>

#define CONV "op: conv2d, n: 1, c: 8, h: 16, w: 24, k: 8, kernel: 3, pad: 1, dtype: f32, layout: NCHW"

static struct plan plan;

/* A head of op conv2d with `extra`, whose kernel is `body`. */
static void put_conv(const char *name, const char *extra, const char *body)
{
    struct text t = {0};
    text_addf(
        &t,
        "/* bench 1\nop: conv2d\nwhat: w\n%ssteps:\n  - kernel: k\n    grid: 1\n    block: 32\n    args: input, filter, output\n*/\n%s\n",
        extra, body);
    assert_true(variant_put(name, &t));
}

static void put_file(const char *name, const char *text)
{
    struct error err = {0};
    char *path = file_join(variant_folder, name);
    assert_true(file_write(path, text, strlen(text), &err));
    free(path);
}

static void take_away(const char *name)
{
    char *path = file_join(variant_folder, name);
    assert_int_equal(unlink(path), 0);
    free(path);
}

struct asked {
    const char *text, *chip;
    const struct side *sides;
    bool tune;
};
static void plan_it(const struct asked *a)
{
    struct error err = {0};
    char *set = text_format("my=%s", variant_folder), *path = text_file(a->text);
    const char *const dirs[] = {set, NULL};
    struct plan_options o = {.scenario_path = path, .variant_dirs = dirs, .sides = a->sides, .tune = a->tune};
    if (!plan_make(&o, "cuda", chip_find(a->chip ? a->chip : "H200"), &plan, &err))
        fail_msg("%s\n%s", err.text, a->text);
    unlink(path);
    free(path);
    free(set);
}

static int row_called(const char *name, int nth)
{
    for (int i = 0; i < plan.row_count; i++)
        if (!strcmp(plan_row_variant(&plan.rows[i]), name) && !nth--)
            return i;
    fail_msg("no row %s", name);
    return -1;
}

static struct row *row_made(const char *name, int nth)
{
    return plan_row_new(&plan, row_called(name, nth), "cuda:0");
}

/* ---- the key ---- */

static void key_of(const struct asked *a, const char *name, int nth, const char *device, const char *compiler, char out[HASH_TEXT])
{
    plan_it(a);
    plan_row_key(&plan, row_called(name, nth), device, compiler, out);
    plan_free(&plan);
}

#define SCENARIO(layer, rest) "scenario: t\nlayers: {a: {" layer "}}\nvariants: [{my/keyed: {T: [1, 2]}}]\n" rest
#define TIME "time: {rounds: [20, 20], half_width: 1 %}\n"

static void a_key_knows_what_matters(void **state)
{
    char same[HASH_TEXT], other[HASH_TEXT], first[HASH_TEXT];
    const struct asked plain = {SCENARIO(CONV, TIME), NULL, NULL, false};
    put_file("own.cuh", "// 1\n");
    put_conv("keyed", "params: {T: [1, 2]}\n", "#include \"own.cuh\"");
    key_of(&plain, "my/keyed", 0, "cuda:0", "nvrtc 13.0", first);
    key_of(&plain, "my/keyed", 0, "cuda:0", "nvrtc 13.0", same);
    assert_string_equal(first, same);
    const struct asked others[] = {
        {SCENARIO(CONV, "time: {rounds: [20, 20], half_width: 2 %}\n"), NULL, NULL, false},
        {SCENARIO(CONV, "time: {rounds: [20, 20], half_width: 1 %, cache: [warm]}\n"), NULL, NULL, false},
        {SCENARIO(CONV, "time: {rounds: [20, 20], half_width: 1 %, load: [sustained]}\n"), NULL, NULL, false},
        {SCENARIO(CONV ", epilogue: [residual]", TIME), NULL, NULL, false},
        {SCENARIO("op: conv2d, n: 2, c: 8, h: 16, w: 24, k: 8, kernel: 3, pad: 1, dtype: f32, layout: NCHW", TIME), NULL, NULL, false},
        {SCENARIO(CONV, TIME), "A100", NULL, false},
        {SCENARIO(CONV, TIME), NULL, NULL, true}};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        key_of(&others[i], "my/keyed", 0, "cuda:0", "nvrtc 13.0", other);
        if (!strcmp(first, other))
            fail_msg("the same key: %zu", i);
    }
    key_of(&plain, "my/keyed", 1, "cuda:0", "nvrtc 13.0", other); /* T=2 */
    assert_string_not_equal(first, other);
    key_of(&plain, "my/keyed", 0, "cuda:1", "nvrtc 13.0", other);
    assert_string_not_equal(first, other);
    key_of(&plain, "my/keyed", 0, "cuda:0", "nvrtc 13.1", other);
    assert_string_not_equal(first, other);
    put_file("own.cuh", "// 2\n"); /* a header beside it */
    key_of(&plain, "my/keyed", 0, "cuda:0", "nvrtc 13.0", other);
    assert_string_not_equal(first, other);
    put_file("own.cuh", "// 1\n");
    key_of(&plain, "my/keyed", 0, "cuda:0", "nvrtc 13.0", same);
    assert_string_equal(first, same);
    put_conv("keyed", "params: {T: [1, 2]}\n", "#include \"own.cuh\"\n//"); /* its own file */
    key_of(&plain, "my/keyed", 0, "cuda:0", "nvrtc 13.0", other);
    assert_string_not_equal(first, other);
    put_conv("keyed", "params: {T: [1, 2]}\n", "#include \"own.cuh\"");
}

/* What is timed beside a row, how often, and what others there are makes it no other row. */
static void a_key_knows_nothing_else(void **state)
{
    char same[HASH_TEXT], first[HASH_TEXT];
    put_file("own.cuh", "// 1\n");
    put_conv("keyed", "params: {T: [1, 2]}\n", "#include \"own.cuh\"");
    key_of(&(struct asked){SCENARIO(CONV, TIME), NULL, NULL, false}, "my/keyed", 0, "cuda:0", "nvrtc 13.0", first);
    put_conv("neighbour", "", "// of the same folder");
    const struct asked alike[] = {{SCENARIO(CONV, TIME), NULL, NULL, false},
                                  {"scenario: u\nlayers: {b: {" CONV "}, a: {" CONV
                                   ", epilogue: [residual]}}\nvariants: [my/neighbour, {my/keyed: {T: [1, 2]}}]\n" TIME,
                                   NULL, NULL, false},
                                  {SCENARIO(CONV, "time: {rounds: [10, 40], half_width: 1 %, budget: 9}\n"), NULL, NULL, false}};
    for (size_t i = 0; i < sizeof alike / sizeof *alike; i++) {
        key_of(&alike[i], "my/keyed", 0, "cuda:0", "nvrtc 13.0", same);
        if (strcmp(first, same))
            fail_msg("another key: %zu", i);
    }
    take_away("neighbour.cu");
}

/* A row that is completed by another variant is another one when that is edited. */
static void a_key_knows_what_completes_it(void **state)
{
    char first[HASH_TEXT], other[HASH_TEXT];
    const struct asked a = {"scenario: t\nlayers: {a: {" CONV "}}\nvariants: [my/keyed]\n", NULL, NULL, false};
    put_conv("inner", "", "// 1");
    struct text t = {0};
    text_add(&t, "/* bench 1\nop: conv2d\nwhat: w\nscratch:\n  own: output[n * k * p * q]\nsteps:\n  - {variant: my/inner, output: own}\n"
                 "  - copy: output = own\n*/\n");
    assert_true(variant_put("keyed", &t));
    key_of(&a, "my/keyed", 0, "cuda:0", "nvrtc 13.0", first);
    put_conv("inner", "", "// 2");
    key_of(&a, "my/keyed", 0, "cuda:0", "nvrtc 13.0", other);
    assert_string_not_equal(first, other);
    take_away("inner.cu");
    put_conv("keyed", "", "//");
}

/* A network is made of whichever rows of its layers are the fastest: edit one of them, and it is another network. */
static void a_networks_key_knows_every_file(void **state)
{
    char first[HASH_TEXT], other[HASH_TEXT];
    const struct asked a = {"scenario: t\nlayers: {a: {" CONV "}}\nvariants: [my/keyed, my/second]\nnetworks: {net: {order: [a, a]}}\n",
                            NULL, NULL, false};
    put_conv("second", "", "// 1");
    key_of(&a, "chain/best", 0, "cuda:0", "nvrtc 13.0", first);
    put_conv("second", "", "// 2");
    key_of(&a, "chain/best", 0, "cuda:0", "nvrtc 13.0", other);
    assert_string_not_equal(first, other);
    take_away("second.cu");
}

/* ---- the row ---- */

static void a_row_says_what_is_planned(void **state)
{
    put_conv("keyed", "params: {T: [1, 2]}\npredict: {threads: 32 * T, registers: 40 + T}\n", "//");
    put_conv("broken", "params: {T: [3]}\nprepare:\n  - fill: filter = 0\n", "//");
    plan_it(&(struct asked){
        "scenario: t\naxes: {n: [1, 2]}\nlayers: {a: {op: conv2d, c: 8, h: 16, w: 24, k: 8, kernel: 3, pad: 1, dtype: f32, layout: NCHW, "
        "epilogue: [bias, relu]}}\nvariants: [{my/keyed: {T: [1, 2]}}, my/broken]\nnetworks: {net: {order: [a, {repeat: 2, of: [a]}]}}\n",
        NULL, NULL, false});
    struct row *r = row_made("my/keyed", 1);
    const struct work *w = &plan.cases[0].work;
    assert_true(r->status == ROW_PLANNED || r->status == ROW_INFEASIBLE);
    assert_true(!strcmp(r->scenario, "t") && !strcmp(r->layer, "a") && !strcmp(r->op, "conv2d") && !strcmp(r->device, "cuda:0"));
    assert_true(!strcmp(r->dtype, "f32") && !strcmp(r->math, "f32") && !strcmp(r->layout, "NCHW") && !strcmp(r->arch, "sm_90a"));
    assert_true(!strcmp(r->what, "w") && !r->library && strlen(r->source_hash) == HASH_TEXT - 1 && !r->side);
    assert_string_equal(r->params, "T=2");
    assert_int_equal(r->part_count, 2); /* it fuses nothing: bias and relu are another's */
    assert_true(!strcmp(r->parts[0].variant, "my/keyed") && !strcmp(r->parts[0].name, "keyed"));
    assert_true(!strcmp(r->parts[1].variant, "pointwise/epilogue") && !strcmp(r->parts[1].name, "epilogue"));
    assert_string_equal(row_axis(r, "n"), "1");
    assert_string_equal(r->networks, "net:3");
    assert_string_equal(r->epilogue, "bias+relu");
    assert_string_equal(r->work, "conv2d 8->8 3x3 +bias+relu  1x16x24 f32 NCHW");
    assert_string_equal(r->bare_work, "conv2d 8->8 3x3  1x16x24 f32 NCHW");
    assert_true(r->flop == work_flop(w) && r->bytes == work_bytes(w));
    assert_true(row_metric(r, -1, "model.threads")->value == 64 && row_metric(r, -1, "model.registers")->value == 42);
    assert_string_equal(row_metric(r, -1, "model.registers")->unit, "registers");
    assert_null(row_metric(r, -1, "model.smem_bytes")); /* of which the head says nothing */
    assert_true(r->density_in < 0 && !r->mask_pattern && !r->tile);
    row_free(r);
    r = row_made("my/broken", 0); /* no program, but its parameters are known */
    assert_int_equal(r->status, ROW_BROKEN);
    assert_non_null(strstr(r->reason, "prepare writes"));
    assert_string_equal(r->params, "T=3");
    assert_true(r->claims == -1 && r->scratch_bytes == -1);
    row_free(r);
    plan_free(&plan);
    take_away("broken.cu");
}

/* A value that is a number is one in the row too; of fields side by side, the first one's. A word is none. */
static void a_row_has_its_numbers(void **state)
{
    put_conv("keyed", "params: {T: [1, 2], WAY: [auto, 0.25]}\n", "//");
    plan_it(&(struct asked){"scenario: t\nlayers: {a: {" CONV "}}\naxes: {n: [1, 04], kernel: [[3, 3]], dtype: [f32],"
                            " size: {zip: {h: [16], w: [16]}}, mask: [none]}\nvariants: [{my/keyed: {T: 2, WAY: [auto, 0.25]}}]\n",
                            NULL, NULL, false});
    static const char *const axes[] = {"dtype", "kernel", "mask", "n", "size"}, *const values[] = {"f32", "3", "none", "4", "16x16"};
    static const double numbers[] = {NAN, 3, NAN, 4, 16};
    struct row *r = row_made("my/keyed", 2), *fine = row_made("my/keyed", 3); /* of n = 4 */
    assert_int_equal(r->axis_count, 5);
    for (int i = 0; i < 5; i++) {
        assert_string_equal(r->axis[i].name, axes[i]);
        assert_string_equal(r->axis[i].value, values[i]);
        assert_true(isnan(numbers[i]) ? isnan(r->axis[i].number) : r->axis[i].number == numbers[i]);
    }
    assert_string_equal(r->params, "T=2,WAY=auto");
    assert_true(r->param[0].number == 2 && isnan(r->param[1].number));
    assert_string_equal(fine->params, "T=2,WAY=0.25");
    assert_true(fine->param[1].number == 0.25);
    row_free(r);
    row_free(fine);
    plan_free(&plan);
    put_conv("keyed", "", "//");
}

/* Checkerboard: half of the inputs, which reach every output. Tiles of 8x8: 2 x 3 of an image of 16x24, all of them active. */
static void a_sparse_row_says_how_sparse(void **state)
{
    put_conv("keyed", "mask: {needs: input, tile: [8, 8], weights: 1234}\n", "//");
    put_conv("flat", "mask: {needs: input, tile: [1, 8]}\n", "//");
    put_conv("slim", "mask: {needs: input, tile: [1, 4]}\n", "//");
    put_conv("dense", "", "//");
    plan_it(&(struct asked){"scenario: t\nlayers: {a: {" CONV
                            ", mask: {pattern: checkerboard}}}\nvariants: [my/keyed, my/flat, my/slim, my/dense]\n",
                            NULL, NULL, false});
    struct row *r = row_made("my/keyed", 0), *dense = row_made("my/dense", 0);
    if (r->status == ROW_BROKEN)
        fail_msg("%s", r->reason);
    assert_string_equal(r->mask_pattern, "checkerboard");
    assert_true(r->density_in == 0.5 && r->density_out == 1 && r->mask_radius == -1 && r->mask_density == -1 &&
                r->mask_seed == 1 /* which of the two */);
    assert_string_equal(r->tile, "8x8");
    assert_true(r->tiles == 6 && r->tiles_active == 6 && r->tile_weight_bytes == 1234);
    assert_true(fabs(r->flop_scheduled - r->flop) < 1e-6 * r->flop && r->flop_useful == r->flop * r->density_out);
    /* f32 of 8 channels and 16 x 24, half of the inputs, two masks of a word a row, the filter */
    assert_true(r->bytes_useful == 4 * 8 * 16 * 24 * 1.5 + 2 * 16 * 4 + 4 * 8 * 8 * 9);
    assert_true(!dense->tile && dense->density_in == 0.5 && dense->flop_scheduled == dense->flop && dense->flop_useful == r->flop_useful);
    row_free(r);
    row_free(dense);
    r = row_made("my/flat", 0);
    assert_string_equal(r->tile, "1x8");
    assert_int_equal(r->tiles, 16 * 3);
    row_free(r);
    r = row_made("my/slim", 0); /* right after a tile of another width alone */
    assert_int_equal(r->tiles, 16 * 6);
    row_free(r);
    plan_free(&plan);
    for (int i = 0; i < 2; i++) { /* of a volume of 6 planes: 6, then 2 of 3 each */
        struct text t = {0};
        text_addf(
            &t,
            "/* bench 1\nop: conv3d\nwhat: w\nmask: {needs: input, tile: [%d, 1, 8]}\nsteps:\n  - kernel: k\n    grid: 1\n    block: 32\n"
            "    args: input, filter, output\n*/\n//\n",
            i ? 3 : 1);
        assert_true(variant_put(i ? "deep" : "shallow", &t));
    }
    plan_it(&(struct asked){
        "scenario: t\nlayers: {a: {op: conv3d, n: 1, c: 8, d: 6, h: 16, w: 24, k: 8, kernel: 3, pad: 1, dtype: f32, layout: NCHW"
        ", mask: {pattern: full}}}\nvariants: [my/shallow, my/deep]\n",
        NULL, NULL, false});
    for (int i = 0; i < 2; i++) {
        r = row_made(i ? "my/deep" : "my/shallow", 0);
        assert_int_equal(r->tiles, (i ? 2 : 6) * 16 * 3);
        row_free(r);
    }
    plan_free(&plan);
    char *gone = file_join(variant_folder, "gone.pgm");
    char *text = text_format("scenario: t\nlayers: {a: {" CONV ", mask: {pattern: file, path: %s}}}\nvariants: [my/keyed]\n", gone);
    plan_it(&(struct asked){text, NULL, NULL, false});
    r = row_made("my/keyed", 0);
    assert_true(r->status == ROW_BROKEN && strstr(r->reason, "gone.pgm"));
    row_free(r);
    plan_free(&plan);
    free(text);
    free(gone);
    put_conv("keyed", "", "//");
}

/* What a layer is that a head does not take, and how many products an algorithm needs of which kind. */
static void what_cannot_be_and_what_it_costs(void **state)
{
    put_conv("keyed", "needs: groups == 2\n", "//");
    plan_it(&(struct asked){"scenario: t\nlayers: {a: {" CONV "}}\nvariants: [my/keyed]\n", NULL, NULL, false});
    struct row *r = row_made("my/keyed", 0);
    assert_true(r->status == ROW_INFEASIBLE && strstr(r->reason, "needs groups to be 2") && r->claims == -1);
    struct work w = plan.cases[0].work;
    enum math math;
    static const struct {
        const char *algorithm;
        enum math math, pipe;
        double times;
    } costs[] = {{NULL, MATH_F32, MATH_F32, 1},       {"direct", MATH_F32, MATH_F32, 1},   {"split3", MATH_F32, MATH_F16_ACC32, 3},
                 {"split3", MATH_TF32, MATH_TF32, 1}, {"direct", MATH_TF32, MATH_TF32, 1}, {NULL, MATH_TF32, MATH_TF32, 1}};
    for (size_t i = 0; i < sizeof costs / sizeof *costs; i++) {
        w.math = costs[i].math;
        row_set(&r->algorithm, costs[i].algorithm);
        assert_true(plan_arithmetic(r, &w, &math) == costs[i].times && math == costs[i].pipe);
    }
    row_free(r);
    plan_free(&plan);
    put_conv("keyed", "", "//");
}

static void a_side_is_told(void **state)
{
    char key[2][HASH_TEXT];
    put_conv("keyed", "", "//");
    char *variants = file_join(variant_home, "kernels/variants"), *include = file_join(variant_home, "kernels/include");
    const struct side sides[] = {{.name = "old", .revision = "abc", .variants = variants, .include = include},
                                 {.name = "new", .revision = "def", .variants = variants, .include = include},
                                 {0}};
    plan_it(&(struct asked){"scenario: t\nlayers: {a: {" CONV "}}\nvariants: [my/keyed]\n", NULL, sides, false});
    for (int i = 0; i < 2; i++) {
        struct row *r = row_made("my/keyed", i);
        assert_true(!strcmp(r->side, sides[i].name) && !strcmp(r->side_revision, sides[i].revision));
        assert_true(!strcmp(r->side_variants, variants) && !strcmp(r->side_include, include));
        plan_row_key(&plan, row_called("my/keyed", i), "cuda:0", "nvrtc", key[i]);
        row_free(r);
    }
    assert_string_not_equal(key[0], key[1]); /* of one text: two results */
    plan_free(&plan);
    free(variants);
    free(include);
}

/* What stands for a whole sequence has the bytes of all its layers, no op of its own, and a key that its frames are part of. */
static void a_sequence_is_told(void **state)
{
    char key[3][HASH_TEXT];
    put_conv("keyed", "mask: {needs: input, writes: output, tile: [8, 8]}\n", "//");
    for (int i = 0; i < 3; i++) {
        char *text =
            text_format("scenario: t\nlayers: {a: {" CONV "}}\nvariants: [my/keyed]\nsequences: {film: {of: [a, a], frames: %d, changes: "
                        "{pattern: box, density: 0.05}, noise: 0.002, threshold: 0.02, truncate: {max: 0.02}, bound: 0.05}}\n",
                        i == 2 ? 5 : 4);
        plan_it(&(struct asked){text, NULL, NULL, false});
        int at = 0;
        while (at < plan.row_count && plan.rows[at].kind != PLAN_SEQUENCE)
            at++;
        assert_true(at < plan.row_count);
        struct row *r = plan_row_new(&plan, at, "cuda:0");
        double bytes = 0;
        for (int k = 0; k < plan.case_count; k++)
            bytes = plan.cases[k].work.op && !strcmp(plan.cases[k].work.op->name, "conv2d") ? 2 * work_bytes(&plan.cases[k].work) : bytes;
        assert_string_equal(r->op, "sequence");
        assert_non_null(strstr(r->work, i == 2 ? "2 layers, 5 frames" : "2 layers, 4 frames"));
        assert_true(r->bytes == bytes && r->claims == -1 && r->density_in < 0);
        plan_row_key(&plan, at, "cuda:0", "nvrtc", key[i]);
        row_free(r);
        plan_free(&plan);
        free(text);
    }
    assert_string_equal(key[0], key[1]);
    assert_string_not_equal(key[0], key[2]);
    put_conv("keyed", "", "//");
}

/* Lists of thresholds and truncations are axes: a case for each pair, and rows that differ in their keys. */
static void a_sequence_has_axes(void **state)
{
    static const char *const ids[] = {"t/film[threshold=0.01,truncate=max:0.02]", "t/film[threshold=0.01,truncate=rms:0.5]",
                                      "t/film[threshold=0.3,truncate=max:0.02]", "t/film[threshold=0.3,truncate=rms:0.5]"};
    char key[4][HASH_TEXT];
    int count = 0;
    put_conv("keyed", "mask: {needs: input, writes: output, tile: [8, 8]}\n", "//");
    plan_it(&(struct asked){"scenario: t\nlayers: {a: {" CONV
                            "}}\nvariants: [my/keyed]\nsequences: {film: {of: [a, a], frames: 3, changes: "
                            "{pattern: box, density: 0.05}, threshold: [0.01, 0.3], truncate: [{max: 0.02}, {rms: 0.5}], bound: 0.05}}\n"
                            "answers: [{accuracy: {of: my/keyed, over: truncate}}]\n",
                            NULL, NULL, false});
    for (int i = 0; i < plan.row_count; i++) {
        if (plan.rows[i].kind != PLAN_SEQUENCE)
            continue;
        struct row *r = plan_row_new(&plan, i, "cuda:0");
        assert_true(count < 4);
        assert_string_equal(r->case_id, ids[count]);
        assert_string_equal(r->layer, "film");
        assert_string_equal(row_axis(r, "threshold"), count < 2 ? "0.01" : "0.3");
        assert_string_equal(row_axis(r, "truncate"), count % 2 ? "rms:0.5" : "max:0.02");
        plan_row_key(&plan, i, "cuda:0", "nvrtc", key[count]);
        for (int k = 0; k < count; k++)
            assert_string_not_equal(key[k], key[count]);
        row_free(r);
        count++;
    }
    assert_int_equal(count, 4);
    plan_free(&plan);
    put_conv("keyed", "", "//");
}

/* A row that is made again after all were made: the least work of its case is known by then, its masks are not. */
static void each_case_has_its_own_density(void **state)
{
    struct row *rows[16] = {0};
    put_conv("keyed", "", "//");
    plan_it(&(struct asked){"scenario: t\nlayers: {a: {" CONV "}}\nvariants: [my/keyed]\n"
                            "axes: {mask: [{pattern: blobs, radius: 2, density: [0.05, 0.25]}, full]}\n",
                            NULL, NULL, false});
    assert_int_equal(plan.case_count, 3);
    assert_true(plan.row_count <= 16);
    int end = plan_rows_end(&plan, 0, 1); /* of the first case; a run makes its rows piece by piece */
    assert_true(end > 0 && end < plan.row_count && plan.rows[end].case_index == 1);
    plan_rows_new(&plan, "cuda:0", 0, end, NULL, rows);
    plan_rows_new(&plan, "cuda:0", end, plan.row_count, NULL, rows);
    for (int i = 0; i < plan.row_count; i++) {
        static const double densities[] = {0.05, 0.25, 1};
        struct row *row = plan_row_new(&plan, i, "cuda:0");
        assert_true(fabs(row->density_in - densities[plan.rows[i].case_index]) < 0.02);
        assert_true(row->density_out > 0 && row->density_out == rows[i]->density_out && row->flop_useful == rows[i]->flop_useful);
        assert_true(row->floor_ns > 0 && row->least_ns > 0 && row->floor_ns == rows[i]->floor_ns && row->least_ns == rows[i]->least_ns);
        row_free(row);
        row_free(rows[i]);
    }
    plan_free(&plan);
}

static int set_up(void **state)
{
    return !variant_folder_open();
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_key_knows_what_matters),
                                       cmocka_unit_test(a_key_knows_nothing_else),
                                       cmocka_unit_test(a_key_knows_what_completes_it),
                                       cmocka_unit_test(a_networks_key_knows_every_file),
                                       cmocka_unit_test(a_row_says_what_is_planned),
                                       cmocka_unit_test(a_row_has_its_numbers),
                                       cmocka_unit_test(a_sparse_row_says_how_sparse),
                                       cmocka_unit_test(each_case_has_its_own_density),
                                       cmocka_unit_test(a_side_is_told),
                                       cmocka_unit_test(what_cannot_be_and_what_it_costs),
                                       cmocka_unit_test(a_sequence_is_told),
                                       cmocka_unit_test(a_sequence_has_axes)};
    return cmocka_run_group_tests(tests, set_up, variant_folder_remove);
}
