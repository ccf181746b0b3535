/* variant/: binding a head to a work. Expected numbers are worked out by hand from the heads and the shapes. */
#include "op/shape.h"
#include "op/file/ops.h"
#include "binding.h"
#include "kernel/head/load.h"

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
    static const int roles[] = {SLOT_INPUT, SLOT_FILTER, SLOT_BIAS, SLOT_OUTPUT};
    static const char *const names[] = {"input", "filter", "bias", "output", "h", "w", "c", "k"};
    static const int64_t values[] = {48, 48, 64, 64};
    assert_int_equal(s->arg_count, 8);
    for (int i = 0; i < 8; i++)
        arg_is(s, i, i < 4 ? ARG_BUFFER : ARG_INT, names[i], i < 4 ? roles[i] : values[i - 4]);
    static const char *const defines[] = {"TH=8",           "TW=16",           "KB=64",      "CC=16",
                                          "INPUT_T=__half", "OUTPUT_T=__half", "EPI_BIAS=1", "EPI_SLOPE=0.1f"};
    assert_int_equal(p.units[0].define_count, 8);
    for (int i = 0; i < 8; i++)
        has_define(0, i, defines[i]);
    assert_int_equal(p.tensors[program_tensor(&p, "filter")].layout, LAYOUT_RSCK); /* the case's is KRSC */
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
    arg_is(&p.steps[1], 0, ARG_BUFFER, "mask_in", SLOT_MASK_IN);
    arg_is(&p.steps[1], 1, ARG_BUFFER, "mask_out", SLOT_MASK_OUT);
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
    infeasible("my/tile_list", w, "mask: relu cannot follow a sparse output; the variant must fuse the whole epilogue");
}

static void test_masks(void **state)
{
    struct work w = conv();
    w.mask = (struct mask){.pattern = MASK_IID, .density = 0.1};
    binds("conv2d/naive", NULL, w); /* no mask support: runs dense, without the mask's tensors */
    assert_false(p.uses_mask);
    assert_int_equal(program_tensor(&p, "mask_in"), -1);
    assert_int_equal(p.work.mask.pattern, MASK_IID);
    binds("conv2d/masked", NULL, w);
    assert_true(p.uses_mask && !p.reads_inactive);
    assert_int_equal(p.inactive, INACTIVE_ZERO);
    arg_is(&p.steps[0], 0, ARG_BUFFER, "mask_in", SLOT_MASK_IN);
    arg_is(&p.steps[0], 1, ARG_INT, "mask_out", 0); /* it does not write one: `optional` alone takes either mark */
    assert_int_equal(program_tensor(&p, "mask_out"), -1);
    has_define(0, 0, "MASKED=1");
    w.mask.marks_output = true;
    binds("conv2d/masked", NULL, w);
    arg_is(&p.steps[0], 0, ARG_INT, "mask_in", 0);
    arg_is(&p.steps[0], 1, ARG_BUFFER, "mask_out", SLOT_MASK_OUT);
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
    infeasible("my/halo_regs", changed, "needs c to be a multiple of CC (c = 24, CC = 16)");
    assert_string_equal(p.clause, "needs c to be a multiple of CC");
    changed = w;
    changed.stride = 2;
    infeasible("my/halo_regs", changed, "needs stride to be 1 (stride = 2)");
    assert_string_equal(p.clause, "needs stride to be 1");
    changed = w;
    changed.apart[SIDE_stride_x] = 1; /* 1 and 2 */
    infeasible("my/halo_regs", changed, "stride: the layer's sides differ (1x2), and the variant knows one for all");
    infeasible_on(
        "my/halo_regs", "{TH: 16, TW: 32, KB: 64}", w, &turing,
        "needs smem to be at most smem_per_block_optin (smem = 78480, smem_per_block_optin = 65536), with CC=16,KB=64,TH=16,TW=32");
    infeasible_on("my/halo_regs", "{TH: 16, TW: 32, CC: 4, KB: 64}", w,
                  &(struct chip){.threads_per_block = 1024, .smem_per_block_optin = 1000},
                  "needs smem to be at most smem_per_block_optin (smem = 21456, smem_per_block_optin = 1000), with CC=4,KB=64,TH=16,TW=32");
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
    infeasible_on("conv2d/limits", "{CL: 3, GX: 4}", w, &hopper, "cluster of k in x: the grid 4 is not a multiple of 3");
    infeasible_on("conv2d/limits", "{CL: 32, GX: 32}", w, &hopper, "cluster of k: 32 > 16 blocks");
    infeasible_on("conv2d/limits", "{PDL: 1}", w, &turing, "pdl of k: cc 75 < 90");
    binds("conv2d/limits", "{X: 1024, S: 232448, GX: 2147483646, GY: 65535, CL: 2, PDL: 1}", w);
    assert_true(p.steps[0].pdl && p.steps[0].cooperative);
    assert_int_equal(p.steps[0].cluster[0], 2);
    assert_int_equal(p.steps[0].cluster[1], 1);
    assert_int_equal(p.steps[0].grid[0], 2147483646);
}

static void test_broken(void **state)
{
    struct work w = conv();
#define HEAD "op: conv2d\nwhat: x\n"
    broken(HEAD "steps:\n  - kernel: k\n    grid: c / 7\n    block: 32\n", w, "6:13", "64 / 7 is not an integer");
    broken(HEAD "steps:\n  - kernel: k\n    grid: c / (r - s)\n    block: 32\n", w, "6:13", "division by zero: 64 / 0");
    broken(HEAD "steps:\n  - kernel: k\n    grid: 1, c - 64\n    block: 32\n", w, "6:14",
           "the grid is 0 in dimension y: it must be at least 1");
    broken(HEAD "steps:\n  - kernel: k\n    grid: 1\n    block: 0 - 3\n", w, "7:12", "the block is -3 in dimension x");
    broken(HEAD "steps:\n  - kernel: k\n    grid: 1.5\n    block: 1\n", w, "6:11", "an integer is expected here, not 1.5");
    broken(HEAD "steps:\n  - kernel: k\n    grid: 1\n    block: 1\n    smem: 0 - 4\n", w, "8:11", "smem is -4 bytes");
    broken(HEAD "steps:\n  - kernel: k\n    grid: 1\n    block: 1\n    args: layout\n", w, "8:11",
           "an argument must be a buffer, a tensor map or a number, not the text 'NHWC'");
    broken(HEAD "steps:\n  - kernel: k\n    grid: 1\n    block: 1\n    attributes: {carveout: 101}\n", w, "8:28", "the carveout is 101 %");
    broken(HEAD "scratch:\n  a: u32[c - 64]\nsteps:\n  - kernel: k\n    grid: 1\n    block: 1\n", w, "5:10",
           "scratch buffer 'a' has 0 elements");
    broken(HEAD "needs: layout > 3\nsteps:\n  - kernel: k\n    grid: 1\n    block: 1\n", w, "4:15",
           "the text 'NHWC' cannot be compared with the number 3");
    broken(HEAD "let:\n  a: 9223372036854775807 + c\nsteps:\n  - kernel: k\n    grid: a\n    block: 1\n", w, "5:26",
           "the result of 9223372036854775807 + 64 is out of range");
    broken(HEAD "define: {A: type(relu)}\nsteps:\n  - kernel: k\n    grid: 1\n    block: 1\n", w, "4:13",
           "type(relu): 'relu' is neither a tensor nor a scratch buffer");
    broken(HEAD "define: {A: has(layout)}\nsteps:\n  - kernel: k\n    grid: 1\n    block: 1\n", w, "4:13",
           "has(NHWC): no item of an epilogue has that name");
    broken(HEAD "steps:\n  - copy: output = filter\n", w, "5:11", "copy: the buffers have 294912 and 73728 bytes");
    broken(HEAD "steps:\n  - kernel: k\n    grid: 1\n    block: 1\n    when: c == 3\n", w, "5:13",
           "no step is left: every `when:` is false");
    broken(HEAD "scratch:\n  a: u8[4]\nsteps:\n  - fill: a = 256\n", w, "7:15", "256 does not fit a buffer of u8");
    broken(HEAD "scratch:\n  a: f32[4]\nsteps:\n  - fill: a = 1\ncolumns:\n  x: a[4]\n", w, "9:8",
           "column 'x': element 4 of a buffer of 4");
#undef HEAD
}

static void test_defines(void **state)
{
    struct work w = conv();
    w.dtype = DTYPE_BF16;
    w.math = MATH_BF16_ACC32;
    binds("conv2d/defines", NULL, w);
    static const char *const want[] = {"P=2.0f",     "WORD=float4",       "TYPE=__nv_bfloat16",
                                       "ACC=float",  "SUM=unsigned",      "HALF=0.5f",
                                       "BIG=1e+20f", "THIRD=0.33333333f", "YES=1",
                                       "NO=0",       "LAYOUT=NHWC",       "MATH=bf16_acc32",
                                       "BYTES=2",    "SLOPE=1",           "BLK=1",
                                       "MODE=none",  "SMS=132",           "CC_=90",
                                       "R=3",        "STRIDE=1"};
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
    assert_int_equal(p.steps[0].args[2].map, ARG_NO_MAP); /* no residual */
    infeasible_on("conv2d/tma", NULL, w, &turing, "tensor map x_map: cc 75 < 90");
    w.c = 4;
    infeasible("conv2d/tma", w, "tensor map x_map: stride 1 has 8 bytes, which is not a multiple of 16");
    w = conv();
    w.dtype = DTYPE_F32;
    w.math = MATH_F32;
    infeasible("conv2d/tma", w, "tensor map x_map: the inner box has 256 > 128 bytes (swizzle)");
    broken("op: conv2d\nwhat: x\nscratch:\n  a: f32[63]\ntensor_maps:\n  m: {of: a, box: 4, dims: 64}\nsteps:\n  - fill: a = 0\n", conv(),
           "7:3", "tensor map 'm' reaches past its buffer of 252 bytes");
    broken("op: conv2d\nwhat: x\ntensor_maps:\n  m: {of: input, box: 4}\nsteps:\n  - fill: output = 0\n", conv(), "5:23",
           "tensor map 'm': the box has 1 dimensions, the tensor 4");
    broken("op: conv2d\nwhat: x\ntensor_maps:\n  m: {of: input, box: \"8, 1, 1, 1\", swizzle: 48}\nsteps:\n  - fill: output = 0\n", conv(),
           "5:46", "swizzle is 48; it must be 0, 32, 64 or 128");
}

/* The two heads of docs/HEAD.md are what the page says they are. */
static void test_documentation(void **state)
{
    struct error err = {0};
    size_t bytes;
    char *page = file_read("docs/HEAD.md", 1 << 20, &bytes, &err);
    if (!page)
        fail_msg("%s", err.text);
    int count = 0;
    for (char *at = page; (at = strstr(at, "\n/* bench 1\n")); count++) {
        char *end = strstr(at, "*/"), *name = text_format("doc/head%d.cu", count);
        assert_non_null(end);
        char *yaml = xstrndup(at + strlen("\n/* bench 1\n"), (size_t)(end - at) - strlen("\n/* bench 1\n"));
        assert_true(tree_variant(name, yaml));
        free(yaml);
        free(name);
        at = end;
    }
    assert_int_equal(count, 2);
    struct variant_set all = set;
    char *extra = text_format("doc=%s/doc", tree_root);
    if (!variant_set_load((const char *const[]){extra, NULL}, &set, &err))
        fail_msg("%s", err.text);
    struct work w = conv();
    w.dtype = DTYPE_F32;
    w.math = MATH_F32;
    add(&w, (struct epilogue){.kind = EPILOGUE_BIAS});
    add(&w, (struct epilogue){.kind = EPILOGUE_RELU});
    binds("doc/head0", NULL, w);
    assert_int_equal(p.steps[0].arg_count, 12);
    struct text t = {0};
    for (int i = 0; i < p.units[0].define_count; i++)
        text_addf(&t, "%s-D%s", i ? " " : "", p.units[0].defines[i]);
    char *sentence = text_format("It is compiled with `%s`", text_get(&t));
    if (!strstr(page, sentence))
        fail_msg("docs/HEAD.md does not say: %s", sentence);
    w = conv();
    w.mask.pattern = MASK_FULL;
    binds("doc/head1", NULL, w);
    assert_int_equal(p.step_count, 3);
    text_free(&t);
    free(sentence);
    free(extra);
    free(page);
    variant_set_free(&set);
    set = all;
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
    assert_int_equal(p.steps[0].operand[SLOT_OUTPUT].kind, BUFFER_TENSOR);
    assert_int_equal(p.steps[0].operand[SLOT_BIAS].index, program_tensor(&p, "bias"));
    assert_int_equal(p.steps[0].operand[SLOT_RESIDUAL].kind, BUFFER_NONE);
    assert_null(p.units[0].path);
    assert_string_equal(p.algorithm, "library");
    add(&w, (struct epilogue){.kind = EPILOGUE_DEPTH_TO_SPACE, .block = 2, .mode = D2S_CRD});
    binds("conv2d/cudnn", NULL, w);
    assert_string_equal(p.variant, "conv2d/cudnn + depth_to_space/d2s_native");
    assert_int_equal(p.steps[0].cudnn_epilogue, 2);
    assert_int_equal(p.steps[0].operand[SLOT_OUTPUT].kind, BUFFER_SCRATCH);
    assert_string_equal(p.algorithm, "library");
    binds("conv2d/named", NULL, conv()); /* it calls none, and has no slack of one */
    assert_string_equal(p.algorithm, "direct");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_kernel),       cmocka_unit_test(test_two_kernels),   cmocka_unit_test(test_masks),
        cmocka_unit_test(test_infeasible),       cmocka_unit_test(test_limits),        cmocka_unit_test(test_broken),
        cmocka_unit_test(test_defines),          cmocka_unit_test(test_fills),         cmocka_unit_test(test_tensor_maps),
        cmocka_unit_test(test_copy_and_library), cmocka_unit_test(test_documentation),
    };
    return cmocka_run_group_tests(tests, load_all, drop_all);
}
