/* What the binding tests share: a small tree of variants, two chips, a convolution, and functions that bind and compare the result. */
#ifndef BENCH_TESTS_UNIT_BINDING_H
#define BENCH_TESTS_UNIT_BINDING_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "heads.h"
#include "kernel/variant.h"
#include "kernel/head/load.h"
#include "kernel/bind/variant_bind.h"
#include "op/file/ops.h"

static struct variant_set set;
static struct program p;
static const struct chip hopper = {.name = "test",
                                   .cc = 90,
                                   .sm_count = 132,
                                   .warp_size = 32,
                                   .threads_per_block = 1024,
                                   .smem_per_block = 49152,
                                   .smem_per_block_optin = 232448,
                                   .smem_per_sm = 233472,
                                   .registers_per_sm = 65536,
                                   .l2_bytes = 62914560};
static const struct chip turing = {.name = "old",
                                   .cc = 75,
                                   .sm_count = 40,
                                   .warp_size = 32,
                                   .threads_per_block = 1024,
                                   .smem_per_block = 49152,
                                   .smem_per_block_optin = 65536,
                                   .smem_per_sm = 65536,
                                   .registers_per_sm = 65536};

/* 64 -> 64, 3x3, pad 1, 48x48, f16 NHWC: the output is 48x48 too. */
static inline struct work conv(void)
{
    struct work w = {.op = op_find("conv2d"),
                     .n = 1,
                     .c = 64,
                     .h = 48,
                     .w = 48,
                     .k = 64,
                     .r = 3,
                     .s = 3,
                     .stride = 1,
                     .pad = 1,
                     .dilation = 1,
                     .groups = 1,
                     .dtype = DTYPE_F16,
                     .layout = LAYOUT_NHWC,
                     .math = MATH_F16_ACC32};
    return w;
}

static inline void add(struct work *w, struct epilogue item)
{
    w->epilogue[w->epilogue_count++] = item;
}

static inline void bind_point(const char *name, const char *params, struct work *w, const struct chip *chip, bool *done, struct error *err)
{
    struct variant_config *configs;
    const struct variant *v = variant_find(&set, name, NULL, NULL, err);
    if (!v || !work_finish(w, err))
        fail_msg("%s", err->text);
    struct node *override = params ? node_parse_text("params", params, strlen(params), 1, 1, err) : NULL;
    int count = variant_configs(v, override, &configs, err);
    if (count != 1)
        fail_msg("%s: %d configurations: %s", name, count, err->text);
    program_free(&p);
    *done = variant_bind(&set, &configs[0], w, chip, &p, err);
    variant_configs_free(configs, count);
    node_free(override);
}

/* Binds and expects a feasible program in `p`. */
static inline void binds(const char *name, const char *params, struct work w)
{
    struct error err = {0};
    bool done;
    bind_point(name, params, &w, &hopper, &done, &err);
    if (!done)
        fail_msg("%s: %s", name, err.text);
    if (!p.feasible)
        fail_msg("%s: %s", name, p.reason);
}

static inline void infeasible_on(const char *name, const char *params, struct work w, const struct chip *chip, const char *reason)
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

static inline void infeasible(const char *name, struct work w, const char *reason)
{
    infeasible_on(name, NULL, w, &hopper, reason);
}

/* A head that is broken for this work: one error at its place. */
static inline void broken(const char *yaml, struct work w, const char *place, const char *message)
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

static inline void arg_is(const struct step *s, int i, enum arg_kind kind, const char *name, int64_t value)
{
    assert_true(i < s->arg_count);
    assert_string_equal(s->args[i].name, name);
    if (s->args[i].kind != kind)
        fail_msg("%s: argument %s has kind %d, want %d", s->name, name, s->args[i].kind, kind);
    if (kind == ARG_INT)
        assert_int_equal(s->args[i].i, value);
    if (kind == ARG_BUFFER && value >= 0) {
        assert_int_equal(s->args[i].buffer.kind, BUFFER_TENSOR);
        assert_int_equal(p.tensors[s->args[i].buffer.index].role->slot, value);
    }
}

static inline void has_define(int unit, int i, const char *want)
{
    assert_true(i < p.units[unit].define_count);
    assert_string_equal(p.units[unit].defines[i], want);
}

static inline bool write_heads(void)
{
    static const char *const files[][2] = {
        {"kernels/variants/conv2d/naive.cu",
         "op: conv2d\nwhat: x\nepilogue: [bias, relu, leaky_relu]\ndefine: {BIAS: has(bias), SLOPE: slope(epilogue)}\n"
         "steps:\n  - kernel: k\n    grid: n\n    block: 32\n    args: input, filter, bias, output\n"},
        {"kernels/variants/conv2d/raw.cu",
         "op: conv2d\nwhat: x\nsteps:\n  - kernel: k\n    grid: n\n    block: 32\n    args: input, filter, output\n"},
        {"kernels/variants/conv2d/turned.cu", "op: conv2d\nwhat: x\nepilogue: [layout]\nlayout: {input: NHWC, output: NCHW}\n"
                                              "steps:\n  - kernel: k\n    grid: n\n    block: 32\n    args: input, filter, output\n"},
        {"kernels/variants/conv2d/masked.cu",
         "op: conv2d\nwhat: x\nmask: {needs: optional, inactive: zero, reads: active}\ndefine: {MASKED: has(mask)}\n"
         "steps:\n  - kernel: k\n    grid: n\n    block: 32\n    args: mask_in, mask_out, input, output\n"},
        {"kernels/variants/conv2d/tf32.cu",
         "op: conv2d\nwhat: x\ndtype: {input: f32}\nmath: tf32\nsteps:\n  - kernel: k\n    grid: n\n    block: 32\n"},
        {"kernels/variants/conv2d/cudnn.cu",
         "op: conv2d\nwhat: x\nalgorithm: library\nepilogue: [bias, relu]\nsteps:\n  - cudnn: conv2d\n"},
        {"kernels/variants/conv2d/named.cu",
         "op: conv2d\nwhat: x\nalgorithm: library\nsteps:\n  - kernel: k\n    grid: n\n    block: 32\n    args: input, filter, output\n"},
        {"kernels/variants/conv2d/limits.cu",
         "op: conv2d\nwhat: x\nparams:\n  X: {range: [1, 4096], default: 32}\n  Z: {range: [1, 99], default: 1}\n  S: {range: [0, 999999], "
         "default: 0}\n"
         "  GX: {values: [1, 4, 32, 2147483646, 2147483648], default: 1}\n  GY: {range: [1, 99999], default: 1}\n  CL: {range: [0, 64], "
         "default: 0}\n"
         "  PDL: {range: [0, 1], default: 0}\n"
         "steps:\n  - kernel: k\n    grid: GX, GY\n    block: X, 1, Z\n    smem: S\n    when: CL == 0\n    attributes: {pdl: PDL}\n"
         "  - kernel: k\n    grid: GX, GY\n    block: X, 1, Z\n    smem: S\n    when: CL > 0\n    attributes: {pdl: PDL, cluster: CL, "
         "cooperative: yes}\n"},
        {"kernels/variants/conv2d/defines.cu",
         "op: conv2d\nwhat: x\nparams:\n  P: 2.0\n  WORD: float4\nscratch:\n  sums: u32[1]\n"
         "define: {TYPE: type(input), ACC: type(accumulate), SUM: type(sums), HALF: 1 / 2.0, BIG: 1e20, THIRD: 1 / 3.0, YES: r == 3, NO: r "
         "== 4, LAYOUT: layout(input),\n"
         "  MATH: math, BYTES: size(output), SLOPE: slope(epilogue), BLK: block(epilogue), MODE: mode(epilogue), SMS: sm_count, CC_: cc}\n"
         "specialise: [r, stride]\nsteps:\n  - kernel: k\n    grid: n\n    block: 32\n"},
        {"kernels/variants/conv2d/fills.cu",
         "op: conv2d\nwhat: x\nscratch:\n  a: u32[4]\n  b: f32[4]\n  c_: f16[4]\n  d: bf16[4]\n  e: u8[4]\n  f: i32[4]\n  g: f64[4]\n"
         "steps:\n  - fill: a = 0xFFFFFFFF\n  - fill: b = 1.5\n  - fill: c_ = 1.5\n  - fill: d = 1.5\n  - fill: e = 7\n  - fill: f = -1\n  "
         "- fill: g = 0\n"},
        {"kernels/variants/conv2d/tma.cu",
         "op: conv2d\nwhat: x\nepilogue: [residual]\nscratch:\n  s_: f32[64 * 64]\ntensor_maps:\n  r_map: {of: residual, box: \"64, 18, 1, "
         "1\"}\n  x_map: {of: input, box: \"64, 18, 1, 1\", swizzle: 128, oob: "
         "nan}\n"
         "  s_map: {of: s_, box: \"8, 8\", dims: \"64, 64\"}\nsteps:\n  - kernel: k\n    grid: n\n    block: 32\n    args: x_map, s_map, "
         "r_map\n"},
        {"kernels/variants/conv2d/wrapped.cu",
         "op: conv2d\nwhat: x\nscratch:\n  turned: input[n * c * h * w]\nsteps:\n  - {variant: layout/convert, output: turned, with: {to: "
         "NCHW}}\n"
         "  - kernel: k\n    grid: n\n    block: 32\n    args: turned, output\nprepare:\n  - symbol: F_c = filter\n"},
        {"kernels/variants/conv2d/nested.cu",
         "op: conv2d\nwhat: x\nscratch:\n  a: u32[1]\nsteps:\n  - variant: conv2d/fills\n  - fill: a = 0\n"},
        {"kernels/variants/conv2d/again.cu",
         "op: conv2d\nwhat: a rule that takes a rule\nepilogue: [bias]\nmath: [f16_acc32, tf32]\nselect:\n  - variant: pick\n"},
        {"kernels/variants/conv2d/pick.cu",
         "op: conv2d\nwhat: x\nepilogue: [bias]\nmath: [f16_acc32, tf32]\nneeds: c > 1\nselect:\n  - {variant: limits, when: k == 1, "
         "params: {X: 64}}\n"
         "  - variant: tf32\n  - {variant: conv2d/raw, when: not has(bias)}\n  - {variant: naive, when: k != 3}\n"},
        {"kernels/variants/conv2d/fast.cu", "op: conv2d\nwhat: x\nparams: {X: [32, 64]}\nclaims: [c <= 64, k % 64 == 0 and cc == 90]\n"
                                            "steps:\n  - kernel: k\n    grid: n\n    block: X\n    args: input, filter, output\n"},
        {"kernels/variants/conv2d/choice.cu", "op: conv2d\nwhat: x\nselect:\n  - {variant: fast, claimed: yes}\n  - variant: raw\n"},
        {"kernels/variants/conv2d/strict.cu", "op: conv2d\nwhat: x\nclaims: c > 64\nselect:\n  - {variant: fast, claimed: yes}\n"},
        {"kernels/variants/conv2d/strides.cu", "op: conv2d\nwhat: x\nsteps:\n  - kernel: k\n    grid: n\n    block: 32\n"
                                               "    args: input, output, stride_y, stride_x\n"},
        {"kernels/variants/conv2d/even.cu", "op: conv2d\nwhat: x\nlet: {far: stride > 1}\n"
                                            "select:\n  - {variant: raw, when: far == 0}\n  - variant: strides\n"},
        {"kernels/variants/upsample/copy.cu", "op: upsample\nwhat: x\ncheck: none\nsteps:\n  - copy: output = input\n"},
        {"kernels/variants/depth_to_space/d2s_native.cu",
         "op: depth_to_space\nwhat: x\ndtype: {input: f16}\ndefine: {BLOCK_: block, CRD_: mode == CRD}\nsteps:\n  - kernel: d2s\n    grid: "
         "n\n    block: 32\n    args: input, output\n"},
        {"kernels/variants/depth_to_space/copy.cu", "op: depth_to_space\nwhat: x\ncheck: none\nsteps:\n  - copy: output = input\n"},
        {"kernels/variants/layout/convert.cu", "op: layout\nwhat: x\nlayout: {input: [NHWC, NCHW], output: [NHWC, NCHW]}\nsteps:\n  - "
                                               "kernel: convert\n    grid: n\n    block: 32\n    args: input, output\n"},
        {"kernels/variants/pointwise/epilogue.cu",
         "op: pointwise\nwhat: x\nepilogue: [bias, residual, relu, leaky_relu]\ndefine: {BIAS: has(bias), SLOPE: slope(epilogue)}\n"
         "steps:\n  - kernel: pw\n    grid: n\n    block: 32\n    args: input, bias, residual, output\n"},
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        if (!tree_variant(files[i][0], files[i][1]))
            return false;
    return true;
}

static inline int load_all(void **state)
{
    struct error err = {0};
    bool done = tree_begin() && write_heads() && variant_set_load((const char *const[]){"my=tests/unit/heads", NULL}, &set, &err);
    if (!done)
        print_error("%s\n", err.text);
    return done ? 0 : -1;
}

static inline int drop_all(void **state)
{
    program_free(&p);
    variant_set_free(&set);
    return tree_end() ? 0 : -1;
}

#endif
