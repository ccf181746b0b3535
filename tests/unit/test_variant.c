/* variant/: binding a head to a work. Expected numbers are worked out by hand from the heads and the shapes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "heads.h"
#include "variant/variant.h"

static struct variant_set set;
static struct program p;
static const struct chip hopper = {.name = "test", .cc = 90, .sm_count = 132, .warp_size = 32, .threads_per_block = 1024, .smem_per_block = 49152,
                                   .smem_per_block_optin = 232448, .smem_per_sm = 233472, .registers_per_sm = 65536, .l2_bytes = 62914560};
static const struct chip turing = {.name = "old", .cc = 75, .sm_count = 40, .warp_size = 32, .threads_per_block = 1024, .smem_per_block = 49152,
                                   .smem_per_block_optin = 65536, .smem_per_sm = 65536, .registers_per_sm = 65536};

/* 64 -> 64, 3x3, pad 1, 48x48, f16 NHWC: the output is 48x48 too. */
static struct work conv(void)
{
    struct work w = {.op = op_find("conv2d"), .n = 1, .c = 64, .h = 48, .w = 48, .k = 64, .r = 3, .s = 3, .stride = 1, .pad = 1, .dilation = 1, .groups = 1,
                     .dtype = DTYPE_F16, .layout = LAYOUT_NHWC, .math = MATH_F16_ACC32};
    return w;
}

static void add(struct work *w, struct epilogue item)
{
    w->epilogue[w->epilogue_count++] = item;
}

static void bind_point(const char *name, const char *params, struct work *w, const struct chip *chip, bool *done, struct error *err)
{
    struct variant_point *points;
    const struct variant *v = variant_find(&set, name, NULL, NULL, err);
    if (!v || !work_finish(w, err))
        fail_msg("%s", err->text);
    struct node *override = params ? node_parse_text("params", params, strlen(params), 1, 1, err) : NULL;
    int count = variant_points(v, override, &points, err);
    if (count != 1)
        fail_msg("%s: %d points: %s", name, count, err->text);
    program_free(&p);
    *done = variant_bind(&set, &points[0], w, chip, &p, err);
    variant_points_free(points, count);
    node_free(override);
}

/* Binds and expects a feasible program in `p`. */
static void binds(const char *name, const char *params, struct work w)
{
    struct error err = {0};
    bool done;
    bind_point(name, params, &w, &hopper, &done, &err);
    if (!done)
        fail_msg("%s: %s", name, err.text);
    if (!p.feasible)
        fail_msg("%s: %s", name, p.reason);
}

static void infeasible_on(const char *name, const char *params, struct work w, const struct chip *chip, const char *reason)
{
    struct error err = {0};
    bool done;
    bind_point(name, params, &w, chip, &done, &err);
    if (!done)
        fail_msg("%s: error %s", name, err.text);
    if (p.feasible)
        fail_msg("%s is feasible, wanted: %s", name, reason);
    assert_string_equal(p.reason, reason);
}

static void infeasible(const char *name, struct work w, const char *reason)
{
    infeasible_on(name, NULL, w, &hopper, reason);
}

/* A head that is broken for this work: one error at its place. */
static void broken(const char *yaml, struct work w, const char *place, const char *message)
{
    struct error err = {0};
    bool done;
    assert_true(tree_variant("my/broken.cu", yaml));
    char *extra = text_format("my=%s/my", tree_root);
    struct variant_set all = set;
    if (!variant_set_load((const char *const[]){extra, NULL}, &set, &err))
        fail_msg("%s", err.text);
    bind_point("my/broken", NULL, &w, &hopper, &done, &err);
    if (done)
        fail_msg("bound (%s), wanted %s", p.reason ? p.reason : "feasible", message);
    char *want = text_format("broken.cu:%s: %s", place, message);
    if (!strstr(err.text, want))
        fail_msg("'%s' lacks '%s'", err.text, want);
    assert_int_equal(err.kind, ERROR_USAGE);
    free(want);
    free(extra);
    program_free(&p);
    variant_set_free(&set);
    set = all;
}

static void arg_is(const struct step *s, int i, enum arg_kind kind, const char *name, int64_t value)
{
    assert_true(i < s->arg_count);
    assert_string_equal(s->args[i].name, name);
    if (s->args[i].kind != kind)
        fail_msg("%s: argument %s has kind %d, want %d", s->name, name, s->args[i].kind, kind);
    if (kind == ARG_INT)
        assert_int_equal(s->args[i].i, value);
    if (kind == ARG_BUFFER && value >= 0) {
        assert_int_equal(s->args[i].buffer.kind, BUFFER_TENSOR);
        assert_int_equal(p.tensors[s->args[i].buffer.index].role, value);
    }
}

static void has_define(int unit, int i, const char *want)
{
    assert_true(i < p.units[unit].define_count);
    assert_string_equal(p.units[unit].defines[i], want);
}

static void test_one_kernel(void **state)
{
    struct work w = conv();
    add(&w, (struct epilogue){.kind = EPILOGUE_BIAS});
    add(&w, (struct epilogue){.kind = EPILOGUE_LEAKY_RELU, .alpha = 0.1});
    binds("my/halo_regs", "{TH: 8}", w);
    assert_string_equal(p.variant, "my/halo_regs");
    assert_string_equal(p.params, "CC=16,KB=64,TH=8,TW=16");
    assert_int_equal(p.step_count, 1);
    const struct step *s = &p.steps[0];
    assert_string_equal(s->name, "conv3x3_halo_regs");
    assert_int_equal(s->grid[0], 3); /* ceil(48, 16) */
    assert_int_equal(s->grid[1], 6); /* ceil(48, 8) */
    assert_int_equal(s->grid[2], 1);
    assert_int_equal(s->block[0], 256); /* 8 * 16 * 64 / 32 */
    assert_int_equal(s->block[1], 1);
    assert_int_equal(s->smem, 49104); /* 4 * (10 * 18 * 17 + 9 * 16 * 64) */
    assert_int_equal(s->carveout, -1);
    static const int roles[] = {ROLE_INPUT, ROLE_FILTER, ROLE_BIAS, ROLE_OUTPUT};
    static const char *const names[] = {"input", "filter", "bias", "output", "h", "w", "c", "k"};
    static const int64_t values[] = {48, 48, 64, 64};
    assert_int_equal(s->arg_count, 8);
    for (int i = 0; i < 8; i++)
        arg_is(s, i, i < 4 ? ARG_BUFFER : ARG_INT, names[i], i < 4 ? roles[i] : values[i - 4]);
    static const char *const defines[] = {"TH=8", "TW=16", "KB=64", "CC=16", "INPUT_T=__half", "OUTPUT_T=__half", "EPI_BIAS=1", "EPI_SLOPE=0.1f"};
    assert_int_equal(p.units[0].define_count, 8);
    for (int i = 0; i < 8; i++)
        has_define(0, i, defines[i]);
    assert_true(p.filter_packed); /* the case's filter is KRSC, the head wants RSCK */
    assert_int_equal(p.tensors[program_tensor(&p, ROLE_FILTER)].layout, LAYOUT_RSCK);
    assert_true(p.exact && p.checked && !p.uses_mask && p.reads_inactive);
    assert_string_equal(p.algorithm, "direct");
    assert_int_equal(p.scratch_count, 0);
}

static void test_two_kernels(void **state)
{
    struct work w = conv();
    add(&w, (struct epilogue){.kind = EPILOGUE_BIAS});
    infeasible("my/tile_list", w, "mask: the variant needs marked inputs, the case has no mask");
    w.mask = (struct mask){.pattern = MASK_IID, .density = 0.1, .marks_output = true};
    infeasible("my/tile_list", w, "mask: the variant needs marked inputs, the case marks outputs");
    w.mask.marks_output = false;
    binds("my/tile_list", NULL, w);
    assert_true(p.uses_mask);
    assert_int_equal(p.inactive, INACTIVE_UNTOUCHED);
    assert_int_equal(p.scratch_count, 2);
    assert_string_equal(p.scratch[0].name, "list");
    assert_int_equal(p.scratch[0].elements, 36); /* 6 x 6 tiles */
    assert_int_equal(p.scratch[0].dtype, DTYPE_U32);
    assert_int_equal(p.scratch[1].elements, 1);
    assert_int_equal(p.step_count, 3);
    assert_int_equal(p.steps[0].kind, STEP_FILL);
    assert_string_equal(p.steps[0].name, "fill count");
    assert_int_equal(p.steps[0].to.kind, BUFFER_SCRATCH);
    assert_int_equal(p.steps[0].to.index, 1);
    assert_int_equal(p.steps[0].fill, 0);
    assert_int_equal(p.steps[1].grid[0], 1); /* ceil(36, 128) */
    arg_is(&p.steps[1], 0, ARG_BUFFER, "mask_in", ROLE_MASK_IN);
    arg_is(&p.steps[1], 1, ARG_BUFFER, "mask_out", ROLE_MASK_OUT);
    assert_int_equal(p.steps[1].args[2].buffer.kind, BUFFER_SCRATCH);
    arg_is(&p.steps[1], 8, ARG_INT, "tiles", 36);
    assert_int_equal(p.steps[2].grid[0], 36); /* min(36, 2 * 132) */
    assert_int_equal(p.steps[2].smem, 43664); /* 4 * (100 * 17 + 9 * 16 * 64) */
    assert_int_equal(p.steps[2].carveout, 100);
    assert_int_equal(p.steps[2].arg_count, 11);
    assert_int_equal(p.column_count, 1);
    assert_string_equal(p.columns[0].name, "tiles_active");
    assert_int_equal(p.columns[0].buffer.index, 1);
    assert_int_equal(p.columns[0].element, 0);
    add(&w, (struct epilogue){.kind = EPILOGUE_RELU});
    infeasible("my/tile_list", w, "mask: relu would have to follow a sparse output; the variant must fuse the whole epilogue");
}

static void test_masks(void **state)
{
    struct work w = conv();
    w.mask = (struct mask){.pattern = MASK_IID, .density = 0.1};
    binds("conv2d/naive", NULL, w); /* no mask support: runs dense, without the mask's tensors */
    assert_false(p.uses_mask);
    assert_int_equal(program_tensor(&p, ROLE_MASK_IN), -1);
    assert_int_equal(p.work.mask.pattern, MASK_IID);
    binds("conv2d/masked", NULL, w);
    assert_true(p.uses_mask && !p.reads_inactive);
    assert_int_equal(p.inactive, INACTIVE_ZERO);
    arg_is(&p.steps[0], 0, ARG_BUFFER, "mask_in", ROLE_MASK_IN);
    arg_is(&p.steps[0], 1, ARG_INT, "mask_out", 0); /* it does not write one: `optional` alone takes either mark */
    assert_int_equal(program_tensor(&p, ROLE_MASK_OUT), -1);
    has_define(0, 0, "MASKED=1");
    w.mask.marks_output = true;
    binds("conv2d/masked", NULL, w);
    arg_is(&p.steps[0], 0, ARG_INT, "mask_in", 0);
    arg_is(&p.steps[0], 1, ARG_BUFFER, "mask_out", ROLE_MASK_OUT);
    w.mask = (struct mask){0};
    binds("conv2d/masked", NULL, w);
    assert_true(!p.uses_mask && p.reads_inactive);
    arg_is(&p.steps[0], 0, ARG_INT, "mask_in", 0);
    has_define(0, 0, "MASKED=0");
}

static void test_infeasible(void **state)
{
    struct work w = conv();
    struct work changed = w;
    changed.c = 24; /* CC = 16 does not divide it */
    infeasible("my/halo_regs", changed, "needs c % CC == 0: 8 != 0 (c = 24, CC = 16)");
    changed = w;
    changed.stride = 2;
    infeasible("my/halo_regs", changed, "needs stride == 1: 2 != 1");
    infeasible_on("my/halo_regs", "{TH: 16, TW: 32, KB: 64}", w, &turing, "where smem <= smem_per_block_optin: 78480 > 65536");
    infeasible_on("my/halo_regs", "{TH: 16, TW: 32, CC: 4, KB: 64}", w, &(struct chip){.threads_per_block = 1024, .smem_per_block_optin = 1000},
                  "where smem <= smem_per_block_optin: 21456 > 1000");
    changed = w;
    changed.layout = LAYOUT_NCHW;
    infeasible("my/halo_regs", changed, "layout: input is NCHW, the variant takes NHWC");
    changed = w;
    changed.dtype = DTYPE_BF16;
    changed.math = MATH_BF16_ACC32;
    infeasible("my/halo_regs", changed, "dtype: input is bf16, the variant takes f32, f16");
    changed = w;
    changed.math = MATH_F16_ACC16;
    infeasible("my/halo_regs", changed, "math: the case computes in f16_acc16, the variant in f16_acc32");
    changed = w;
    changed.dtype = DTYPE_F32;
    changed.math = MATH_TF32;
    infeasible("my/halo_regs", changed, "math: the case computes in tf32, the variant in f32");
    binds("conv2d/tf32", NULL, changed);
    infeasible("conv2d/tf32", w, "dtype: input is f16, the variant takes f32");
    changed.math = MATH_F32;
    infeasible("conv2d/tf32", changed, "math: the case computes in f32, the variant in tf32");
    infeasible("layout/convert", w, "op: the case is conv2d, the variant layout");
}

static void test_limits(void **state)
{
    struct work w = conv();
    infeasible_on("conv2d/limits", "{X: 1025}", w, &hopper, "block of k in x: 1025 > 1024 threads");
    infeasible_on("conv2d/limits", "{X: 512, Z: 4}", w, &hopper, "block of k: 2048 > 1024 threads (threads_per_block)");
    infeasible_on("conv2d/limits", "{Z: 65}", w, &hopper, "block of k in z: 65 > 64 threads");
    infeasible_on("conv2d/limits", "{S: 232449}", w, &hopper, "shared memory of k: 232449 > 232448 bytes (smem_per_block_optin)");
    infeasible_on("conv2d/limits", "{S: 65537}", w, &turing, "shared memory of k: 65537 > 65536 bytes (smem_per_block_optin)");
    infeasible_on("conv2d/limits", "{GX: 2147483648}", w, &hopper, "grid of k in x: 2147483648 > 2147483647");
    infeasible_on("conv2d/limits", "{GY: 65536}", w, &hopper, "grid of k in y: 65536 > 65535");
    infeasible_on("conv2d/limits", "{CL: 2}", w, &turing, "cluster of k: cc 75 < 90");
    infeasible_on("conv2d/limits", "{CL: 3, GX: 4}", w, &hopper, "cluster of k in x: the grid 4 is no multiple of 3");
    infeasible_on("conv2d/limits", "{CL: 32, GX: 32}", w, &hopper, "cluster of k: 32 > 16 blocks");
    infeasible_on("conv2d/limits", "{PDL: 1}", w, &turing, "pdl of k: cc 75 < 90");
    binds("conv2d/limits", "{X: 1024, S: 232448, GX: 2147483646, GY: 65535, CL: 2, PDL: 1}", w);
    assert_true(p.steps[0].pdl && p.steps[0].cooperative);
    assert_int_equal(p.steps[0].cluster[0], 2);
    assert_int_equal(p.steps[0].cluster[1], 1);
    assert_int_equal(p.steps[0].grid[0], 2147483646);
}

/* The buffer that step i writes last and the next reads first must be one and the same. */
static void chained(int i, const char *from, const char *to)
{
    const struct step *s = &p.steps[i];
    const struct arg *in = NULL, *out = NULL;
    for (int a = 0; a < s->arg_count; a++) {
        in = !strcmp(s->args[a].name, "input") ? &s->args[a] : in;
        out = !strcmp(s->args[a].name, "output") ? &s->args[a] : out;
    }
    assert_non_null(in);
    assert_non_null(out);
    const struct arg *both[] = {in, out};
    const char *want[] = {from, to};
    for (int k = 0; k < 2; k++) {
        struct buffer_ref ref = both[k]->buffer;
        const char *name = ref.kind == BUFFER_SCRATCH ? p.scratch[ref.index].name : tensor_role_name(p.tensors[ref.index].role);
        assert_string_equal(name, want[k]);
    }
}

static void test_completion(void **state)
{
    struct work w = conv();
    add(&w, (struct epilogue){.kind = EPILOGUE_BIAS});
    add(&w, (struct epilogue){.kind = EPILOGUE_DEPTH_TO_SPACE, .block = 2, .mode = D2S_CRD});
    binds("conv2d/naive", NULL, w);
    assert_string_equal(p.variant, "conv2d/naive + depth_to_space/d2s_native");
    assert_int_equal(p.step_count, 2);
    assert_int_equal(p.unit_count, 2);
    assert_int_equal(p.steps[1].unit, 1);
    assert_string_equal(p.units[1].label, "depth_to_space/d2s_native");
    chained(0, "input", "between");
    chained(1, "between", "output");
    assert_int_equal(p.scratch[0].elements, 48 * 48 * 64);
    assert_int_equal(p.scratch[0].dtype, DTYPE_F16);
    const struct tensor *y = &p.tensors[program_tensor(&p, ROLE_OUTPUT)];
    assert_int_equal(y->dim[1], 16);
    assert_int_equal(y->dim[2], 96);
    has_define(0, 0, "BIAS=1");
    has_define(1, 0, "BLOCK_=2");
    has_define(1, 1, "CRD_=1");
    /* what the first kernel fuses, it does alone */
    w = conv();
    add(&w, (struct epilogue){.kind = EPILOGUE_RELU});
    binds("conv2d/naive", NULL, w);
    assert_string_equal(p.variant, "conv2d/naive");
    has_define(0, 0, "BIAS=0");
    has_define(0, 1, "SLOPE=0");
    arg_is(&p.steps[0], 2, ARG_INT, "bias", 0); /* a null pointer */
    /* bias behind the activation is not a beginning that naive knows */
    add(&w, (struct epilogue){.kind = EPILOGUE_BIAS});
    binds("conv2d/naive", NULL, w);
    assert_string_equal(p.variant, "conv2d/naive + pointwise/epilogue");
    has_define(0, 0, "BIAS=0");
    arg_is(&p.steps[1], 1, ARG_BUFFER, "bias", ROLE_BIAS);
}

static void test_completion_chain(void **state)
{
    struct work w = conv();
    add(&w, (struct epilogue){.kind = EPILOGUE_RELU});
    add(&w, (struct epilogue){.kind = EPILOGUE_BIAS});
    add(&w, (struct epilogue){.kind = EPILOGUE_RESIDUAL});
    add(&w, (struct epilogue){.kind = EPILOGUE_DEPTH_TO_SPACE, .block = 2, .mode = D2S_DCR});
    add(&w, (struct epilogue){.kind = EPILOGUE_LAYOUT, .layout = LAYOUT_NCHW});
    binds("conv2d/raw", NULL, w);
    /* pointwise/epilogue here does bias, residual, relu in this order: relu first is a pass of its own */
    assert_string_equal(p.variant, "conv2d/raw + pointwise/epilogue + pointwise/epilogue + depth_to_space/d2s_native + layout/convert");
    assert_int_equal(p.step_count, 5);
    chained(0, "input", "between");
    chained(1, "between", "between_2");
    chained(2, "between_2", "between_3");
    chained(3, "between_3", "between_4");
    chained(4, "between_4", "output");
    arg_is(&p.steps[1], 1, ARG_INT, "bias", 0);
    arg_is(&p.steps[2], 1, ARG_BUFFER, "bias", ROLE_BIAS);
    arg_is(&p.steps[2], 2, ARG_BUFFER, "residual", ROLE_RESIDUAL);
    assert_int_equal(p.tensors[program_tensor(&p, ROLE_OUTPUT)].layout, LAYOUT_NCHW);
    assert_int_equal(p.unit_count, 5); /* raw, twice pointwise with other -D, d2s, convert */
    /* an output in another layout is converted */
    w = conv();
    binds("conv2d/turned", NULL, w);
    assert_string_equal(p.variant, "conv2d/turned + layout/convert");
    assert_int_equal(p.tensors[program_tensor(&p, ROLE_OUTPUT)].layout, LAYOUT_NHWC);
    add(&w, (struct epilogue){.kind = EPILOGUE_LAYOUT, .layout = LAYOUT_NCHW});
    binds("conv2d/turned", NULL, w); /* it is stored as wanted already */
    assert_string_equal(p.variant, "conv2d/turned");
    /* the residual lies as NHWC, so that the output must be turned before it is added */
    w = conv();
    add(&w, (struct epilogue){.kind = EPILOGUE_RESIDUAL});
    binds("conv2d/turned", NULL, w);
    assert_string_equal(p.variant, "conv2d/turned + layout/convert + pointwise/epilogue");
}

static void test_completion_missing(void **state)
{
    struct work w = conv();
    add(&w, (struct epilogue){.kind = EPILOGUE_DEPTH_TO_SPACE, .block = 2, .mode = D2S_CRD});
    struct variant_set all = set;
    set.count = 0;
    struct variant **kept = xcalloc((size_t)all.count, sizeof *kept);
    set.items = kept;
    for (int i = 0; i < all.count; i++)
        if (strcmp(all.items[i]->op->name, "depth_to_space"))
            kept[set.count++] = all.items[i];
    infeasible("conv2d/raw", w, "epilogue: depth_to_space is not fused, and no variant of depth_to_space is there to follow");
    free(kept);
    set = all;
    w.dtype = DTYPE_F32;
    w.math = MATH_F32;
    infeasible("conv2d/raw", w,
               "epilogue: depth_to_space is not fused, and nothing can follow: depth_to_space/d2s_native: dtype: input is f32, the variant takes f16");
}

static void test_variant_steps(void **state)
{
    struct work w = conv();
    binds("conv2d/wrapped", NULL, w);
    assert_string_equal(p.variant, "conv2d/wrapped");
    assert_int_equal(p.step_count, 3);
    assert_int_equal(p.steps[0].kind, STEP_SYMBOL);
    assert_true(p.steps[0].prepare);
    assert_string_equal(p.steps[0].symbol, "F_c");
    assert_int_equal(p.steps[0].bytes, 64 * 64 * 9 * 2);
    assert_string_equal(p.steps[1].name, "convert");
    assert_int_equal(p.steps[1].args[0].buffer.kind, BUFFER_TENSOR);
    assert_int_equal(p.steps[1].args[1].buffer.kind, BUFFER_SCRATCH);
    assert_string_equal(p.steps[2].name, "k");
    assert_string_equal(p.scratch[0].name, "turned");
    broken("op: conv2d\nwhat: x\nsteps:\n  - variant: my/broken\n", w, "5:14", "a variant cannot be a step of itself");
    broken("op: conv2d\nwhat: x\nsteps:\n  - variant: layout/convret\n", w, "5:14", "no variant is called 'layout/convret'");
    broken("op: conv2d\nwhat: x\nsteps:\n  - variant: layout/convert\n    with: {tu: NCHW}\n", w, "6:12", "layout has no field 'tu'");
    broken("op: conv2d\nwhat: x\nsteps:\n  - variant: layout/convert\n    with: {to: c}\n", w, "6:16", "'c' is no word for to");
    broken("op: conv2d\nwhat: x\nsteps:\n  - variant: conv2d/limits\n    params: {X: [1, 2]}\n", w, "6:13", "a step is one point of conv2d/limits, not 2");
}

static void test_broken(void **state)
{
    struct work w = conv();
#define HEAD "op: conv2d\nwhat: x\n"
    broken(HEAD "steps:\n  - kernel: k\n    grid: c / 7\n    block: 32\n", w, "6:13", "64 / 7 is not a whole number");
    broken(HEAD "steps:\n  - kernel: k\n    grid: c / (r - s)\n    block: 32\n", w, "6:13", "division by zero: 64 / 0");
    broken(HEAD "steps:\n  - kernel: k\n    grid: 1, c - 64\n    block: 32\n", w, "6:14", "the grid is 0 in dimension y: a kernel needs at least 1");
    broken(HEAD "steps:\n  - kernel: k\n    grid: 1\n    block: 0 - 3\n", w, "7:12", "the block is -3 in dimension x");
    broken(HEAD "steps:\n  - kernel: k\n    grid: 1.5\n    block: 1\n", w, "6:11", "a whole number should stand here, not 1.5");
    broken(HEAD "steps:\n  - kernel: k\n    grid: 1\n    block: 1\n    smem: 0 - 4\n", w, "8:11", "smem is -4 bytes");
    broken(HEAD "steps:\n  - kernel: k\n    grid: 1\n    block: 1\n    args: layout\n", w, "8:11", "an argument is a buffer, a tensor map or a number, not the text 'NHWC'");
    broken(HEAD "steps:\n  - kernel: k\n    grid: 1\n    block: 1\n    attributes: {carveout: 101}\n", w, "8:28", "the carveout is 101 %");
    broken(HEAD "scratch:\n  a: u32[c - 64]\nsteps:\n  - kernel: k\n    grid: 1\n    block: 1\n", w, "5:10", "scratch buffer 'a' has 0 elements");
    broken(HEAD "needs: layout > 3\nsteps:\n  - kernel: k\n    grid: 1\n    block: 1\n", w, "4:15", "the text 'NHWC' is compared with the number 3");
    broken(HEAD "let:\n  a: 9223372036854775807 + c\nsteps:\n  - kernel: k\n    grid: a\n    block: 1\n", w, "5:26", "the result of 9223372036854775807 + 64 is out of range");
    broken(HEAD "define: {A: type(relu)}\nsteps:\n  - kernel: k\n    grid: 1\n    block: 1\n", w, "4:13", "type(relu): 'relu' is neither a tensor nor a scratch buffer");
    broken(HEAD "define: {A: has(layout)}\nsteps:\n  - kernel: k\n    grid: 1\n    block: 1\n", w, "4:13", "has(NHWC): no item of an epilogue has that name");
    broken(HEAD "steps:\n  - copy: output = filter\n", w, "5:11", "copy: the buffers have 294912 and 73728 bytes");
    broken(HEAD "steps:\n  - kernel: k\n    grid: 1\n    block: 1\n    when: c == 3\n", w, "5:13", "no step is left: every `when:` is false");
    broken(HEAD "scratch:\n  a: u8[4]\nsteps:\n  - fill: a = 256\n", w, "7:15", "256 does not fit a buffer of u8");
    broken(HEAD "scratch:\n  a: f32[4]\nsteps:\n  - fill: a = 1\ncolumns:\n  x: a[4]\n", w, "9:8", "column 'x': element 4 of a buffer of 4");
#undef HEAD
}

static void test_defines(void **state)
{
    struct work w = conv();
    w.dtype = DTYPE_BF16;
    w.math = MATH_BF16_ACC32;
    binds("conv2d/defines", NULL, w);
    static const char *const want[] = {"P=2.0f", "WORD=float4", "TYPE=__nv_bfloat16", "ACC=float", "SUM=unsigned", "HALF=0.5f", "BIG=1e+20f", "THIRD=0.33333333f", "YES=1", "NO=0",
                                       "LAYOUT=NHWC", "MATH=bf16_acc32", "BYTES=2", "SLOPE=1", "BLK=1", "MODE=none", "SMS=132", "CC_=90", "R=3", "STRIDE=1"};
    assert_int_equal(p.units[0].define_count, (int)(sizeof want / sizeof *want));
    for (size_t i = 0; i < sizeof want / sizeof *want; i++)
        has_define(0, (int)i, want[i]);
}

static void test_fills(void **state)
{
    binds("conv2d/fills", NULL, conv());
    static const uint32_t want[] = {0xffffffffu, 0x3fc00000u, 0x3e003e00u, 0x3fc03fc0u, 0x07070707u, 0xffffffffu, 0};
    assert_int_equal(p.step_count, (int)(sizeof want / sizeof *want));
    for (size_t i = 0; i < sizeof want / sizeof *want; i++)
        if (p.steps[i].fill != want[i])
            fail_msg("%s: %08x, want %08x", p.steps[i].name, p.steps[i].fill, want[i]);
}

static void test_tensor_maps(void **state)
{
    struct work w = conv();
    binds("conv2d/tma", NULL, w);
    assert_int_equal(p.tensor_map_count, 2);
    const struct tensor_map *m = &p.tensor_maps[0];
    static const uint64_t dims[] = {64, 48, 48, 1}, strides[] = {0, 128, 6144, 294912}; /* c, w, h, n of f16 NHWC */
    assert_int_equal(m->rank, 4);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(m->dim[i], dims[i]);
        assert_int_equal(m->stride_bytes[i], strides[i]);
        assert_int_equal(m->element_stride[i], 1);
    }
    assert_int_equal(m->box[0], 64);
    assert_int_equal(m->box[1], 18);
    assert_int_equal(m->swizzle, 128);
    assert_int_equal(m->dtype, DTYPE_F16);
    assert_true(m->oob_nan);
    assert_int_equal(p.tensor_maps[1].rank, 2);
    assert_int_equal(p.tensor_maps[1].stride_bytes[1], 256);
    assert_int_equal(p.tensor_maps[1].buffer.kind, BUFFER_SCRATCH);
    assert_int_equal(p.steps[0].args[0].kind, ARG_TENSOR_MAP);
    assert_int_equal(p.steps[0].args[1].map, 1);
    infeasible_on("conv2d/tma", NULL, w, &turing, "tensor map x_map: cc 75 < 90");
    w.c = 4;
    infeasible("conv2d/tma", w, "tensor map x_map: stride 1 has 8 bytes, no multiple of 16");
    w = conv();
    w.dtype = DTYPE_F32;
    w.math = MATH_F32;
    infeasible("conv2d/tma", w, "tensor map x_map: the inner box has 256 > 128 bytes (swizzle)");
    broken("op: conv2d\nwhat: x\nscratch:\n  a: f32[63]\ntensor_maps:\n  m: {of: a, box: 4, dims: 64}\nsteps:\n  - fill: a = 0\n", conv(), "7:3",
           "tensor map 'm' reaches past its buffer of 252 bytes");
    broken("op: conv2d\nwhat: x\ntensor_maps:\n  m: {of: input, box: 4}\nsteps:\n  - fill: output = 0\n", conv(), "5:23",
           "tensor map 'm': the box has 1 dimensions, the tensor 4");
    broken("op: conv2d\nwhat: x\ntensor_maps:\n  m: {of: input, box: \"8, 1, 1, 1\", swizzle: 48}\nsteps:\n  - fill: output = 0\n", conv(), "5:46",
           "swizzle is 48; it is one of 0 32 64 128");
}

static void test_copy_and_library(void **state)
{
    struct work w = {.op = op_find("upsample"), .n = 1, .c = 8, .h = 4, .w = 4, .block = 2, .dtype = DTYPE_F32, .layout = LAYOUT_NCHW};
    add(&w, (struct epilogue){.kind = EPILOGUE_RELU});
    binds("upsample/copy", NULL, w); /* not the op: nothing is checked and nothing follows */
    assert_false(p.checked);
    assert_int_equal(p.step_count, 1);
    assert_int_equal(p.steps[0].kind, STEP_COPY);
    assert_int_equal(p.steps[0].bytes, 512); /* the smaller of the two */
    assert_null(p.units[0].path);
    w = conv();
    add(&w, (struct epilogue){.kind = EPILOGUE_BIAS});
    add(&w, (struct epilogue){.kind = EPILOGUE_RELU});
    binds("conv2d/cudnn", NULL, w);
    assert_int_equal(p.steps[0].kind, STEP_CUDNN);
    assert_int_equal(p.steps[0].cudnn_epilogue, 2);
    assert_int_equal(p.steps[0].to.kind, BUFFER_TENSOR);
    assert_null(p.units[0].path);
    assert_string_equal(p.algorithm, "library");
    add(&w, (struct epilogue){.kind = EPILOGUE_DEPTH_TO_SPACE, .block = 2, .mode = D2S_CRD});
    binds("conv2d/cudnn", NULL, w);
    assert_string_equal(p.variant, "conv2d/cudnn + depth_to_space/d2s_native");
    assert_int_equal(p.steps[0].cudnn_epilogue, 2);
    assert_int_equal(p.steps[0].to.kind, BUFFER_SCRATCH);
}

/* Variants of variants of variants: bounded, and said. */
static void test_hostile_nesting(void **state)
{
    struct error err = {0};
    struct text t = {0};
    for (int i = 0; i < 6; i++) {
        text_add(&t, "op: conv2d\nwhat: x\nsteps:\n");
        for (int k = 0; k < 64; k++)
            text_addf(&t, "  - variant: deep/v%d\n", i + 1);
        char *name = text_format("deep/v%d.cu", i);
        assert_true(tree_variant(name, i < 5 ? text_get(&t) : "op: conv2d\nwhat: x\nsteps:\n  - fill: output = 0\n"));
        free(name);
        text_free(&t);
    }
    struct variant_set all = set;
    char *extra = text_format("deep=%s/deep", tree_root);
    assert_true(variant_set_load((const char *const[]){extra, NULL}, &set, &err));
    struct work w = conv();
    bool done;
    bind_point("deep/v0", NULL, &w, &hopper, &done, &err);
    assert_false(done);
    assert_non_null(strstr(err.text, "variants are steps of variants more than 4 deep"));
    bind_point("deep/v2", NULL, &w, &hopper, &done, &err);
    assert_false(done);
    assert_non_null(strstr(err.text, "the program has more than 64 steps"));
    bind_point("deep/v4", NULL, &w, &hopper, &done, &err);
    assert_true(done && p.feasible);
    assert_int_equal(p.step_count, 64);
    assert_int_equal(p.unit_count, 2);
    variant_set_free(&set);
    set = all;
    free(extra);
}

static bool write_heads(void)
{
    static const char *const files[][2] = {
        {"kernels/variants/conv2d/naive.cu",
         "op: conv2d\nwhat: x\nepilogue: [bias, relu, leaky_relu]\ndefine: {BIAS: has(bias), SLOPE: slope(epilogue)}\n"
         "steps:\n  - kernel: k\n    grid: n\n    block: 32\n    args: input, filter, bias, output\n"},
        {"kernels/variants/conv2d/raw.cu", "op: conv2d\nwhat: x\nsteps:\n  - kernel: k\n    grid: n\n    block: 32\n    args: input, filter, output\n"},
        {"kernels/variants/conv2d/turned.cu", "op: conv2d\nwhat: x\nepilogue: [layout]\nlayout: {input: NHWC, output: NCHW}\n"
                                              "steps:\n  - kernel: k\n    grid: n\n    block: 32\n    args: input, filter, output\n"},
        {"kernels/variants/conv2d/masked.cu", "op: conv2d\nwhat: x\nmask: {needs: optional, inactive: zero, reads: active}\ndefine: {MASKED: has(mask)}\n"
                                              "steps:\n  - kernel: k\n    grid: n\n    block: 32\n    args: mask_in, mask_out, input, output\n"},
        {"kernels/variants/conv2d/tf32.cu", "op: conv2d\nwhat: x\ndtype: {input: f32}\nmath: tf32\nsteps:\n  - kernel: k\n    grid: n\n    block: 32\n"},
        {"kernels/variants/conv2d/cudnn.cu", "op: conv2d\nwhat: x\nalgorithm: library\nepilogue: [bias, relu]\nsteps:\n  - cudnn: conv2d\n"},
        {"kernels/variants/conv2d/limits.cu",
         "op: conv2d\nwhat: x\nparams:\n  X: {range: [1, 4096], default: 32}\n  Z: {range: [1, 99], default: 1}\n  S: {range: [0, 999999], default: 0}\n"
         "  GX: {values: [1, 4, 32, 2147483646, 2147483648], default: 1}\n  GY: {range: [1, 99999], default: 1}\n  CL: {range: [0, 64], default: 0}\n"
         "  PDL: {range: [0, 1], default: 0}\n"
         "steps:\n  - kernel: k\n    grid: GX, GY\n    block: X, 1, Z\n    smem: S\n    when: CL == 0\n    attributes: {pdl: PDL}\n"
         "  - kernel: k\n    grid: GX, GY\n    block: X, 1, Z\n    smem: S\n    when: CL > 0\n    attributes: {pdl: PDL, cluster: CL, cooperative: yes}\n"},
        {"kernels/variants/conv2d/defines.cu",
         "op: conv2d\nwhat: x\nparams:\n  P: 2.0\n  WORD: float4\nscratch:\n  sums: u32[1]\n"
         "define: {TYPE: type(input), ACC: type(accumulate), SUM: type(sums), HALF: 1 / 2.0, BIG: 1e20, THIRD: 1 / 3.0, YES: r == 3, NO: r == 4, LAYOUT: layout(input),\n"
         "  MATH: math, BYTES: size(output), SLOPE: slope(epilogue), BLK: block(epilogue), MODE: mode(epilogue), SMS: sm_count, CC_: cc}\n"
         "specialise: [r, stride]\nsteps:\n  - kernel: k\n    grid: n\n    block: 32\n"},
        {"kernels/variants/conv2d/fills.cu",
         "op: conv2d\nwhat: x\nscratch:\n  a: u32[4]\n  b: f32[4]\n  c_: f16[4]\n  d: bf16[4]\n  e: u8[4]\n  f: i32[4]\n  g: f64[4]\n"
         "steps:\n  - fill: a = 0xFFFFFFFF\n  - fill: b = 1.5\n  - fill: c_ = 1.5\n  - fill: d = 1.5\n  - fill: e = 7\n  - fill: f = -1\n  - fill: g = 0\n"},
        {"kernels/variants/conv2d/tma.cu",
         "op: conv2d\nwhat: x\nscratch:\n  s_: f32[64 * 64]\ntensor_maps:\n  x_map: {of: input, box: \"64, 18, 1, 1\", swizzle: 128, oob: nan}\n"
         "  s_map: {of: s_, box: \"8, 8\", dims: \"64, 64\"}\nsteps:\n  - kernel: k\n    grid: n\n    block: 32\n    args: x_map, s_map\n"},
        {"kernels/variants/conv2d/wrapped.cu",
         "op: conv2d\nwhat: x\nscratch:\n  turned: input[n * c * h * w]\nsteps:\n  - {variant: layout/convert, output: turned, with: {to: NCHW}}\n"
         "  - kernel: k\n    grid: n\n    block: 32\n    args: turned, output\nprepare:\n  - symbol: F_c = filter\n"},
        {"kernels/variants/upsample/copy.cu", "op: upsample\nwhat: x\ncheck: none\nsteps:\n  - copy: output = input\n"},
        {"kernels/variants/depth_to_space/d2s_native.cu",
         "op: depth_to_space\nwhat: x\ndtype: {input: f16}\ndefine: {BLOCK_: block, CRD_: mode == CRD}\nsteps:\n  - kernel: d2s\n    grid: n\n    block: 32\n    args: input, output\n"},
        {"kernels/variants/depth_to_space/copy.cu", "op: depth_to_space\nwhat: x\ncheck: none\nsteps:\n  - copy: output = input\n"},
        {"kernels/variants/layout/convert.cu",
         "op: layout\nwhat: x\nlayout: {input: [NHWC, NCHW], output: [NHWC, NCHW]}\nsteps:\n  - kernel: convert\n    grid: n\n    block: 32\n    args: input, output\n"},
        {"kernels/variants/pointwise/epilogue.cu", "op: pointwise\nwhat: x\nepilogue: [bias, residual, relu, leaky_relu]\ndefine: {BIAS: has(bias), SLOPE: slope(epilogue)}\n"
                                                   "steps:\n  - kernel: pw\n    grid: n\n    block: 32\n    args: input, bias, residual, output\n"},
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        if (!tree_variant(files[i][0], files[i][1]))
            return false;
    return true;
}

static int load_all(void **state)
{
    struct error err = {0};
    bool done = tree_begin() && write_heads() && variant_set_load((const char *const[]){"my=tests/unit/heads", NULL}, &set, &err);
    if (!done)
        print_error("%s\n", err.text);
    return done ? 0 : -1;
}

static int drop_all(void **state)
{
    program_free(&p);
    variant_set_free(&set);
    return tree_end() ? 0 : -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_kernel), cmocka_unit_test(test_two_kernels), cmocka_unit_test(test_masks), cmocka_unit_test(test_infeasible),
        cmocka_unit_test(test_limits), cmocka_unit_test(test_completion), cmocka_unit_test(test_completion_chain), cmocka_unit_test(test_completion_missing),
        cmocka_unit_test(test_variant_steps), cmocka_unit_test(test_broken), cmocka_unit_test(test_defines), cmocka_unit_test(test_fills),
        cmocka_unit_test(test_tensor_maps), cmocka_unit_test(test_copy_and_library), cmocka_unit_test(test_hostile_nesting),
    };
    return cmocka_run_group_tests(tests, load_all, drop_all);
}
