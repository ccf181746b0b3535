/* variant/: what `prepare:` may access, and which steps write a scratch buffer. For the shipped heads this table lists the writers, taken
 * by hand from their kernels. */
#include "binding.h"
#include "op/file/ops.h"
#include "kernel/head/load.h"
#include <unistd.h>

#define HEAD "op: conv2d\nwhat: x\nepilogue: [bias]\n"
#define KERNEL(args) "  - kernel: k\n    grid: n\n    block: 32\n    args: " args "\n"

static void test_reads_what_changes(void **state)
{
    struct work w = conv();
    const char *changes = "prepare has the argument `input`, which changes from launch to launch; prepare runs only once, outside the time";
    add(&w, (struct epilogue){.kind = EPILOGUE_BIAS});
    broken(HEAD
           "scratch:\n  kept: output[n * k * p * q]\nprepare:\n" KERNEL("input, filter, bias, kept") "steps:\n  - copy: output = kept\n",
           w, "11:11", changes);
    broken(HEAD "scratch:\n  kept: input[n * c * h * w]\nprepare:\n  - copy: kept = input\nsteps:\n" KERNEL("kept, filter, output"), w,
           "8:11", changes);
    broken(HEAD "prepare:\n  - symbol: all = input\nsteps:\n" KERNEL("filter, output"), w, "6:13", changes);
    broken(HEAD "scratch:\n  kept: u32[1]\ntensor_maps:\n  map: {of: input, box: \"64, 8, 1, 1\"}\nprepare:\n" KERNEL(
               "map, kept") "steps:\n" KERNEL("kept, output"),
           w, "13:11", changes);
    broken(
        HEAD
        "scratch:\n  kept: input[n * c * h * w]\nprepare:\n  - {variant: layout/convert, output: kept, with: {to: NCHW}}\nsteps:\n" KERNEL(
            "kept, output"),
        w, "8:15", changes);
    w.mask = (struct mask){.pattern = MASK_IID, .density = 0.1}; /* a mask is an input, too */
    broken(HEAD "mask: {needs: input}\nscratch:\n  list: u32[n * p * q]\nprepare:\n" KERNEL("mask_in, list") "steps:\n" KERNEL(
               "input, list, output"),
           w, "12:11", "prepare has the argument `mask_in`, which changes from launch to launch; prepare runs only once, outside the time");
}

static void test_writes_what_is_checked(void **state)
{
    struct work w = conv();
    broken(HEAD "prepare:\n  - fill: output = 0\nsteps:\n" KERNEL("input, filter, output"), w, "6:11",
           "prepare has the argument `output`, which is poisoned before every timed round: only steps may write it");
    broken(HEAD "prepare:\n" KERNEL("filter, output") "steps:\n" KERNEL("input, filter, output"), w, "9:19",
           "prepare has the argument `output`, which is poisoned");
    broken(HEAD "prepare:\n  - fill: filter = 0\nsteps:\n" KERNEL("input, filter, output"), w, "6:11",
           "prepare writes `filter`, but may write only scratch");
}

static void test_reads_what_it_wrote(void **state)
{
    struct work w = conv();
    broken(HEAD "scratch:\n  a: u32[4]\n  b: u32[4]\nprepare:\n  - copy: b = a\nsteps:\n" KERNEL("input, filter, output, a, b"), w, "9:11",
           "prepare reads scratch 'a', which no prepare step before it wrote");
    struct error err = {0};
    assert_true(tree_variant("my/idle.cu", HEAD "scratch:\n  a: state u32[4]\nsteps:\n" KERNEL("input, filter, output, a")));
    char *file = text_format("%s/my/idle.cu", tree_root);
    assert_null(variant_load(file, "my", &err));
    assert_non_null(
        strstr(err.text, "idle.cu:6:6: scratch buffer 'a' is state, which `prepare:` must initialise; this head has no `prepare:`"));
    assert_int_equal(unlink(file), 0); /* the other tests load that folder */
    free(file);
    error_clear(&err);
    assert_true(tree_variant("kernels/variants/conv2d/once.cu", HEAD
                             "scratch:\n  a: u32[4]\n  b: u32[4]\nprepare:\n" KERNEL("filter, a") "  - copy: b = a\n  - symbol: s = b\n"
                                                                                                  "steps:\n" KERNEL("input, b, output")));
    struct variant_set all = set;
    assert_true(variant_set_load(NULL, &set, &err));
    binds("conv2d/once", NULL, w);
    assert_int_equal(p.scratch[0].kind, SCRATCH_PREPARED);
    assert_int_equal(p.scratch[1].kind, SCRATCH_PREPARED);
    program_free(&p);
    variant_set_free(&set);
    set = all;
}

/* "name kind" of every scratch buffer. */
static void kinds_are(const char *variant, struct work w, const char *want)
{
    static const char *const names[] = {[SCRATCH_WORK] = "work", [SCRATCH_STATE] = "state", [SCRATCH_PREPARED] = "prepared"};
    struct text t = {0};
    binds(variant, NULL, w);
    for (int i = 0; i < p.scratch_count; i++)
        text_addf(&t, "%s%s %s", i ? ", " : "", p.scratch[i].name, names[p.scratch[i].kind]);
    assert_string_equal(text_get(&t), want);
    text_free(&t);
}

static void test_who_writes(void **state)
{
    struct error err = {0};
    struct variant_set all = set;
    assert_true(
        tree_variant("kernels/variants/conv2d/made.cu", HEAD
                     "scratch:\n  table: u32[4]\n  zeros: u32[4]\n  turn: state u32[4]\n  list: u32[4]\n  sums: f32[4]\nprepare:\n" KERNEL(
                         "filter, table, turn") "  - fill: zeros = 0\n  - fill: sums = 0\nsteps:\n  - fill: list = 0\n"
                                                "  - fill: sums = 0\n" KERNEL("input, output, table, zeros, turn, list")));
    assert_true(tree_variant("kernels/variants/conv2d/inside.cu",
                             HEAD "scratch:\n  own: output[n * k * p * q]\nsteps:\n"
                                  "  - {variant: conv2d/made, output: own}\n  - copy: output = own\n"));
    assert_true(variant_set_load(NULL, &set, &err));
    kinds_are("conv2d/made", conv(), "table prepared, zeros state, turn state, list work, sums state");
    kinds_are("conv2d/inside", conv(), "own work, table prepared, zeros state, turn state, list work, sums state");
    struct work w = conv();
    add(&w, (struct epilogue){.kind = EPILOGUE_BIAS});
    add(&w, (struct epilogue){.kind = EPILOGUE_RELU});
    kinds_are("conv2d/raw", w, "between work");
    program_free(&p);
    variant_set_free(&set);
    set = all;
}

static void test_shipped(void **state)
{
    struct error err = {0};
    struct variant_set all = set;
    char *home = xstrdup(getenv("BENCH_HOME"));
    unsetenv("BENCH_HOME");
    if (!variant_set_load(NULL, &set, &err))
        fail_msg("%s", err.text);
    struct work w = conv();
    kinds_are("conv2d/sparse_tile", (w.mask = (struct mask){.pattern = MASK_IID, .density = 0.1}, w),
              "tile_bits state, sums state, notes state, active work");
    kinds_are("conv2d/sparse_gather", w, "tile_bits state, sums state, notes state, active work, gathered work, results work");
    w = conv();
    w.dtype = DTYPE_F32;
    w.math = MATH_F32;
    w.layout = LAYOUT_NCHW;
    kinds_are("conv2d/winograd", w, "transformed prepared");
    w = (struct work){.op = op_find("conv_transpose2d"),
                      .n = 1,
                      .c = 64,
                      .h = 48,
                      .w = 48,
                      .k = 64,
                      .r = 4,
                      .s = 4,
                      .stride = 2,
                      .pad = 1,
                      .dilation = 1,
                      .groups = 1,
                      .dtype = DTYPE_F16,
                      .layout = LAYOUT_NHWC,
                      .math = MATH_F16_ACC32};
    kinds_are("conv_transpose2d/wgmma_phases", w, "phases prepared");
    setenv("BENCH_HOME", home, 1);
    free(home);
    program_free(&p);
    variant_set_free(&set);
    set = all;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reads_what_changes),
        cmocka_unit_test(test_writes_what_is_checked),
        cmocka_unit_test(test_reads_what_it_wrote),
        cmocka_unit_test(test_who_writes),
        cmocka_unit_test(test_shipped),
    };
    return cmocka_run_group_tests(tests, load_all, drop_all);
}
