/* kernels/variants: the shipped heads. Each binds or says why not, on the layers of real networks and on odd ones. Boda's model, written as
 * the head of conv2d/tconv, gives Boda's published numbers. Each family of layers has the variants that were made for it. No compiler, no
 * GPU. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "op/op.h"
#include "op/file/ops.h"
#include "kernel/variant.h"
#include "kernel/head/load.h"
#include "kernel/bind/variant_bind.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct variant_set set;

static int begin(void **state)
{
    struct error err = {0};
    if (!getenv("BENCH_HOME"))
        setenv("BENCH_HOME", ".", 1); /* tests run from the root of the repository */
    if (!variant_set_load(NULL, &set, &err))
        fail_msg("%s", err.text);
    return 0;
}

static int end(void **state)
{
    variant_set_free(&set);
    return 0;
}

static struct work conv(int n, int c, int h, int w, int k, int filter, int stride, int pad, enum dtype dtype, enum layout layout)
{
    return (struct work){.op = op_find("conv2d"),
                         .n = n,
                         .c = c,
                         .h = h,
                         .w = w,
                         .k = k,
                         .r = filter,
                         .s = filter,
                         .stride = stride,
                         .pad = pad,
                         .dilation = 1,
                         .groups = 1,
                         .dtype = dtype,
                         .layout = layout,
                         .math = math_default(dtype),
                         .seed = 1};
}

/* Binds a variant at its defaults, or at `params`; the program is the caller's. */
static struct program bound(const char *name, const char *params, struct work w, const char *chip)
{
    struct error err = {0};
    struct program p = {0};
    struct variant_config *configs;
    const struct variant *v = variant_find(&set, name, NULL, NULL, &err);
    if (!v || !work_finish(&w, &err))
        fail_msg("%s: %s", name, err.text);
    struct node *override = params ? node_parse_text("params", params, strlen(params), 1, 1, &err) : NULL;
    if (variant_configs(v, override, &configs, &err) != 1 || !variant_bind(&set, &configs[0], &w, chip_find(chip), &p, &err))
        fail_msg("%s: %s", name, err.text);
    variant_configs_free(configs, 1);
    node_free(override);
    return p;
}

static bool feasible(const char *name, struct work w, const char *chip)
{
    struct program p = bound(name, NULL, w, chip);
    bool yes = p.feasible;
    if (!yes)
        assert_true(p.reason && *p.reason);
    program_free(&p);
    return yes;
}

static void every_head_binds_or_says_why(void **state)
{
    static const int shapes[][7] = {/* n c h w k filter stride */
                                    {1, 64, 720, 1280, 64, 3, 1},  {1, 3, 720, 1280, 64, 3, 1}, {1, 64, 1440, 2560, 3, 3, 1},
                                    {1, 256, 339, 510, 256, 3, 1}, {2, 48, 17, 19, 96, 3, 1},   {1, 1, 1000, 2000, 1, 15, 1},
                                    {20, 3, 227, 227, 96, 11, 4},  {32, 7, 5, 3, 9, 1, 1},      {1, 16, 1, 1, 8, 1, 1},
                                    {1, 128, 33, 31, 128, 5, 2}};
    static const char *chips[] = {"sm_75", "sm_80", "sm_90a", "sm_100", "sm_120"};
    int bound_count = 0;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (int kind = 0; kind < 6; kind++)
            for (size_t chip = 0; chip < sizeof chips / sizeof *chips; chip++) {
                const int *s = shapes[i];
                enum dtype dtype = (enum dtype[]){DTYPE_F32, DTYPE_F16, DTYPE_BF16}[kind / 2];
                struct work w = conv(s[0], s[1], s[2], s[3], s[4], s[5], s[6], s[5] / 2, dtype, kind % 2 ? LAYOUT_NCHW : LAYOUT_NHWC);
                w.epilogue[w.epilogue_count++] = (struct epilogue){.kind = EPILOGUE_BIAS};
                w.epilogue[w.epilogue_count++] = (struct epilogue){.kind = kind < 3 ? EPILOGUE_RELU : EPILOGUE_RESIDUAL};
                for (int v = 0; v < set.count; v++)
                    if (set.items[v]->op == w.op)
                        bound_count += feasible(set.items[v]->name, w, chips[chip]);
            }
    assert_true(bound_count > 1000);
}

/* What a layer of a network must find, on an H200. */
static void every_family_has_its_variants(void **state)
{
    struct work body = conv(1, 64, 720, 1280, 64, 3, 1, 1, DTYPE_F16, LAYOUT_NHWC), up = body, nchw = body, f32 = body, tf32;
    for (const char *const *name = (const char *const[]){"mma_sync", "wgmma_rows", "wgmma_rs", "wgmma_blocks", NULL}; *name; name++) {
        char full[64];
        snprintf(full, sizeof full, "conv2d/%s", *name);
        assert_true(feasible(full, body, "H200"));
    }
    assert_false(feasible("conv2d/wgmma_rs", body, "sm_100")); /* wgmma is Hopper's alone */
    up.k = 256;
    up.epilogue[up.epilogue_count++] = (struct epilogue){.kind = EPILOGUE_DEPTH_TO_SPACE, .block = 2, .mode = D2S_CRD};
    struct program p = bound("conv2d/wgmma_rs_d2s", NULL, up, "H200");
    assert_true(p.feasible);
    assert_int_equal(p.step_count, 1); /* the shuffle is in the store: nothing follows */
    program_free(&p);
    p = bound("conv2d/wgmma_rs", NULL, up, "H200");
    assert_string_equal(p.variant, "conv2d/wgmma_rs + depth_to_space/d2s_native");
    program_free(&p);
    nchw.layout = LAYOUT_NCHW;
    assert_false(feasible("conv2d/wgmma_rs", nchw, "H200"));
    f32.dtype = DTYPE_F32;
    f32.math = MATH_F32;
    tf32 = f32;
    tf32.math = MATH_TF32;
    assert_true(feasible("conv2d/halo_regs", f32, "H200") && feasible("conv2d/winograd", f32, "H200"));
    assert_true(feasible("conv2d/wgmma_rs_tf32", tf32, "H200"));
    assert_false(feasible("conv2d/wgmma_rs_tf32", f32, "H200")); /* the math mode belongs to the case */
    assert_true(feasible("conv2d/mma_few_in", conv(1, 3, 720, 1280, 64, 3, 1, 1, DTYPE_F16, LAYOUT_NHWC), "H200"));
    assert_true(feasible("conv2d/mma_few_out", conv(1, 16, 2880, 5120, 3, 3, 1, 1, DTYPE_F16, LAYOUT_NHWC), "H200"));
}

static long defined(const struct program *p, const char *name)
{
    size_t n = strlen(name);
    for (int i = 0; i < p->units[0].define_count; i++)
        if (!strncmp(p->units[0].defines[i], name, n) && p->units[0].defines[i][n] == '=')
            return strtol(p->units[0].defines[i] + n + 1, NULL, 10);
    fail_msg("no -D%s", name);
    return 0;
}

/* Boda's own figures: threads, input lines x columns, floats of a filter row, bytes, grid. */
static void tconv_is_bodas_model(void **state)
{
    static const struct {
        int n, c, h, w, k, filter, stride, pad, lines, tile, in_lines, blk_x, filts, bytes, grid[3];
    } golden[] = {
        {5, 384, 13, 13, 384, 3, 1, 1, 8, 16, 12, 10, 384, 2016, {9, 2, 3}},
        {5, 64, 56, 56, 192, 3, 1, 1, 8, 16, 10, 10, 384, 1936, {35, 7, 2}},
        {5, 96, 27, 27, 256, 5, 1, 2, 8, 16, 16, 12, 640, 3328, {17, 4, 2}},
        {1, 3, 224, 224, 64, 7, 2, 3, 16, 8, 37, 21, 448, 4900, {7, 14, 1}},
        {1, 64, 720, 1280, 64, 3, 1, 1, 16, 8, 18, 10, 192, 1488, {45, 160, 1}},
        {1, 16, 2880, 5120, 3, 3, 1, 1, 128, 1, 130, 10, 24, 5296, {23, 640, 1}},
    };
    for (size_t i = 0; i < sizeof golden / sizeof *golden; i++) {
        struct program p = bound("conv2d/tconv", NULL,
                                 conv(golden[i].n, golden[i].c, golden[i].h, golden[i].w, golden[i].k, golden[i].filter, golden[i].stride,
                                      golden[i].pad, DTYPE_F32, LAYOUT_NCHW),
                                 "H200");
        assert_true(p.feasible);
        const struct step *s = &p.steps[p.step_count - 1];
        assert_int_equal(s->block[0], golden[i].lines * golden[i].tile);
        for (int d = 0; d < 3; d++)
            assert_int_equal(s->grid[d], golden[i].grid[d]);
        assert_int_equal(defined(&p, "BLK_Y"), golden[i].lines);
        assert_int_equal(defined(&p, "IN_LINES"), golden[i].in_lines);
        assert_int_equal(defined(&p, "BLK_X"), golden[i].blk_x);
        long filts = golden[i].filter * defined(&p, "OUT_CHAN") * defined(&p, "OUT_CHAN_TILE");
        assert_int_equal(filts, golden[i].filts);
        assert_int_equal(4 * (filts + defined(&p, "IN_LINES") * defined(&p, "BLK_X")), golden[i].bytes);
        program_free(&p);
    }
}

/* The configuration of Boda's issue 21: 1056 + 13230 floats. */
static void bodas_issue_21_is_refused(void **state)
{
    struct work w = conv(20, 3, 227, 227, 96, 11, 4, 0, DTYPE_F32, LAYOUT_NCHW);
    struct program p = bound("conv2d/tconv", "{MT: 32, NT: 16, MB: 8, NB: 16}", w, "H200");
    assert_false(p.feasible);
    assert_non_null(strstr(p.reason, " = 57144")); /* the limit, what filled it, and at which parameters */
    assert_non_null(strstr(p.reason, "filts_smem = 1056"));
    assert_non_null(strstr(p.reason, "in_smem = 13230"));
    assert_non_null(strstr(p.reason, "with MB=8,MT=32,NB=16,NT=16"));
    assert_int_equal(p.predicted[PREDICT_THREADS], 126);
    assert_int_equal(p.predicted[PREDICT_SMEM], 57144);
    assert_int_equal(p.predicted[PREDICT_REGISTERS], 663);
    program_free(&p);
    assert_true(feasible("conv2d/tconv", w, "H200"));
}

/* The most images that blk_y neighbouring lines touch, and the input lines they need: counted line by line. */
static long lines_of(int n, int p_lines, int blk_y, int r, int stride)
{
    long most = 0;
    for (int first = 0; first < n * p_lines; first += blk_y) {
        long need = 0;
        for (int line = first, last_image = -1; line < first + blk_y && line < n * p_lines; line++) {
            need += line / p_lines == last_image ? stride : r;
            last_image = line / p_lines;
        }
        most = need > most ? need : most;
    }
    return most;
}

/* The head's formulas against the original rules, written in another way, for random shapes and configurations: never less shared memory
 * than the lines of any block need, and exactly that if every block is full. */
static void tconv_predicts_what_it_needs(void **state)
{
    unsigned state_ = 12345;
    int compared = 0, exact = 0;
#define DRAW(below) ((int)((state_ = state_ * 1103515245u + 12345u) / 65536u % (unsigned)(below)))
    for (int trial = 0; trial < 3000; trial++) {
        int filter = 1 + 2 * DRAW(6), stride = 1 << DRAW(3), n = 1 + DRAW(6), h = filter + DRAW(40), w = filter + DRAW(40),
            k = 1 + DRAW(300);
        int mt = 4 << DRAW(4), nt = 4 << DRAW(3), mb = 4 << DRAW(4), nb = 4 << DRAW(4);
        struct work op = conv(n, 3, h, w, k, filter, stride, 0, DTYPE_F32, LAYOUT_NCHW);
        char *config = text_format("{MT: %d, NT: %d, MB: %d, NB: %d}", mt, nt, mb, nb);
        struct program p = bound("conv2d/tconv", config, op, "H200");
        free(config);
        long pels = (long)n * p.work.p * p.work.q, threads = p.predicted[PREDICT_THREADS], smem = p.predicted[PREDICT_SMEM];
        long channels = nt < 3 * mt ? nt : 3 * mt, tile = (k + channels - 1) / channels, pieces = (pels + mt - 1) / mt;
        tile = tile > 16 ? 16 : tile;
        tile = tile > 3 * pieces ? 3 * pieces : tile;
        if (threads % tile != 0 || threads > mb * nb)
            fail_msg("n %d k %d %dx%d filter %d: %ld threads in groups of %ld, at most %d: %s", n, k, h, w, filter, threads, tile, mb * nb,
                     p.reason);
        assert_true(threads + tile > mb * nb || threads / tile >= pieces); /* the most that fit, or all there are */
        long need = 4 * (filter * channels * tile +
                         lines_of(n, (int)p.work.p, (int)(threads / tile), filter, stride) * ((mt - 1L) * stride + filter));
        if (smem < need)
            fail_msg("n %d p %d filter %d stride %d: %ld predicted, %ld needed", n, (int)p.work.p, filter, stride, smem, need);
        exact += smem == need;
        compared++;
        assert_int_equal(p.predicted[PREDICT_REGISTERS], mt * channels + (mt - 1) * stride + filter + channels);
        program_free(&p);
    }
#undef DRAW
    if (exact < compared / 2)
        fail_msg("only %d of %d configurations are exact", exact, compared);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_head_binds_or_says_why), cmocka_unit_test(every_family_has_its_variants),
        cmocka_unit_test(tconv_is_bodas_model),         cmocka_unit_test(bodas_issue_21_is_refused),
        cmocka_unit_test(tconv_predicts_what_it_needs),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
