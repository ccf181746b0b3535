/* kernel/head/head: what a head may say, and that every mistake is one error at its own place. Places are counted by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "own_folder.h"
#include "base/file.h"
#include "kernel/head/head.h"
#include "kernel/variant.h"
#include "kernel/head/load.h"
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static char *write_file(const char *name, const void *data, size_t bytes)
{
    struct error err = {0};
    char *path = file_join(dir, name);
    if (!file_write(path, data, bytes, &err))
        fail_msg("%s", err.text);
    return path;
}

static struct variant *load_bytes(const void *data, size_t bytes, struct error *err)
{
    char *path = write_file("t.cu", data, bytes);
    memset(err, 0, sizeof *err);
    struct variant *v = variant_load(path, "my", err);
    free(path);
    return v;
}

static struct variant *load_text(const char *text, struct error *err)
{
    return load_bytes(text, strlen(text), err);
}

/* The YAML of a head, line 2 of the file being its first. */
static struct variant *load_yaml(const char *yaml, struct error *err)
{
    char *text = text_format("/* bench 1\n%s*/\n", yaml);
    struct variant *v = load_text(text, err);
    free(text);
    return v;
}

#define TOP "op: conv2d\nwhat: x\n"
#define STEPS "steps:\n  - kernel: k\n    grid: n\n    block: 32\n"

static void rejects(const char *yaml, const char *place, const char *message, const char *hint)
{
    struct error err;
    struct variant *v = load_yaml(yaml, &err);
    char *want = text_format("t.cu:%s: %s", place, message);
    if (v)
        fail_msg("accepted:\n%s", yaml);
    if (!strstr(err.text, want))
        fail_msg("'%s' lacks '%s' for\n%s", err.text, want, yaml);
    if (hint && !strstr(err.hint, hint))
        fail_msg("hint '%s' lacks '%s'", err.hint, hint);
    assert_int_equal(err.kind, ERROR_USAGE);
    free(want);
}

static void accepts(const char *yaml)
{
    struct error err;
    struct variant *v = load_yaml(yaml, &err);
    if (!v)
        fail_msg("%s (%s) for\n%s", err.text, err.hint, yaml);
    variant_free(v);
}

static void test_experience_heads(void **state)
{
    static const char *const names[] = {"halo_regs", "tile_list"};
    for (int i = 0; i < 2; i++) {
        struct error err = {0};
        char *path = text_format("tests/unit/heads/%s.cu", names[i]);
        struct variant *v = variant_load(path, "my", &err);
        if (!v)
            fail_msg("%s", err.text);
        const struct head *h = v->parsed;
        assert_string_equal(v->op->name, "conv2d");
        assert_string_equal(v->algorithm, "direct");
        assert_string_equal(v->from, i ? "halo_regs" : "tiled_halo");
        assert_int_equal(v->path[0], '/');
        assert_int_equal(h->param_count, i ? 2 : 4);
        assert_int_equal(h->step_count, i ? 3 : 1);
        assert_int_equal(h->scratch_count, i ? 2 : 0);
        assert_int_equal(h->mask.given, i);
        assert_int_equal(h->steps[0].kind, i ? HEAD_FILL : HEAD_KERNEL);
        assert_int_equal(h->steps[h->step_count - 1].args.count, i ? 11 : 8);
        variant_free(v);
        free(path);
    }
}

static void test_complete_keys(void **state)
{
    accepts(TOP STEPS);
    accepts(
        "op: conv2d\nwhat: x\nneeds: [r == 3, s == 3]\nexact: no\nalgorithm: winograd\nmath: [f32, tf32]\n"
        "layout: {input: [NHWC, NCHW], filter: KCRS, output: same, bias: linear, residual: same}\n"
        "dtype: {input: [f32, f16], output: same, accumulate: [f32, f16]}\nepilogue: [bias, residual, relu, depth_to_space, layout]\n"
        "mask: {needs: [input, optional], writes: output, inactive: zero, reads: active}\n"
        "params:\n  A: {range: [1, 9], step: 2, default: 3}\n  B: [x, y]\n  C: 4\n  D: {values: [0.5, 1.5]}\n"
        "let: {t: a2 + 1, a2: 2 * A}\nwhere: t < 10\ndefine: {E: t}\nspecialise: [r, s]\n"
        "scratch:\n  buf: input[n * c]\n  acc: accumulate[4]\n  ints: i32[t]\n"
        "tensor_maps:\n  m: {of: input, box: \"8, 1, 1, 1\", swizzle: 128, l2: 128, oob: nan}\n  m2: {of: buf, box: [8], dims: [n * c]}\n"
        "prepare:\n  - symbol: F_c = filter\n"
        "steps:\n  - fill: buf = 0\n  - copy: output = buf\n    when: t > 99\n"
        "  - kernel: k\n    grid: [n, c]\n    block: 32, 2\n    smem: t\n    args: [input, m, m2, A, t, c, 2 * c, mask_in, mask_out, bias, "
        "residual, acc, ints]\n"
        "    attributes: {cluster: \"2, 1\", cooperative: yes, pdl: no, carveout: A}\n"
        "  - {variant: layout/convert, input: buf, output: output, with: {to: NCHW}, params: {T: 3}}\n"
        "columns:\n  first: ints[0]\n");
    accepts(TOP STEPS "params: {TH: [4, 8]}\nlet: {half: dtype == f16}\nclaims: [half and c <= 64, \"k % TH == 0\", cc == 90]\n");
    for (int i = 0; dtype_names[i]; i++) { /* every type there is, of any tensor */
        char head[200];
        snprintf(head, sizeof head, TOP STEPS "dtype: {bias: %s}\n", dtype_names[i]);
        accepts(head);
    }
    accepts(TOP STEPS "claims: has(bias) or min(c, k) > 3\n"); /* one condition, whatever its commas */
    accepts("op: conv2d\nwhat: x\nselect:\n  - {variant: a, claimed: yes, when: c > 3}\n  - variant: b\n");
    accepts("op: depth_to_space\nwhat: x\ncheck: none\nsteps:\n  - copy: output = input\n");
    accepts("op: conv2d\nwhat: x\nsteps: [{cudnn: conv2d}]\n");
}

static void test_keys(void **state)
{
    rejects("what: x\n" STEPS, "2:1", "the head has no `op:`", NULL);
    rejects("op: conv2d\n" STEPS, "2:1", "the head has no `what:`", NULL);
    rejects(TOP, "2:1", "the head has no `steps:`", NULL);
    rejects(TOP STEPS "layuot: {input: NHWC}\n", "8:1", "", "layout");
    rejects("op: conv4d\nwhat: x\n" STEPS, "2:5", "unknown op 'conv4d'; the ops are", "did you mean 'conv2d'?");
    rejects(TOP STEPS "algorithm: windograd\n", "8:12", "", "winograd");
    rejects(TOP STEPS "exact: maybe\n", "8:8", "", NULL);
    rejects(TOP STEPS "check: nothing\n", "8:8", "", NULL);
    rejects(TOP STEPS "op: conv2d\n", "8:1", "", NULL);
    rejects("[op, conv2d]\n", "2:1", "", NULL);
}

static void test_claims(void **state)
{
    rejects(TOP STEPS "claim: c <= 64\n", "8:1", "", "claims");
    rejects(TOP STEPS "claims: chanels <= 64\n", "8:9", "unknown name 'chanels'", NULL);
    rejects(TOP STEPS "claims:\n  - c <= 64\n  - cc = 90\n", "10:8", "'=' is not an operator; equality is '=='", NULL);
    rejects(TOP STEPS "claims: []\n", "8:9", "claims is an empty list", NULL);
    rejects(TOP STEPS "claims: {c: 64}\n", "8:9", "", NULL);
    rejects(TOP "select:\n  - {variant: a, claimed: perhaps}\n", "5:27", "", NULL);
    rejects(TOP "select:\n  - {variant: a, claims: yes}\n", "5:18", "", "claimed");
    rejects(TOP "steps:\n  - {variant: a, claimed: yes}\n", "5:18", "`claimed:` is only for an item of `select:`", NULL);
}

static void test_types(void **state)
{
    rejects(TOP STEPS "layout: {inptu: NHWC}\n", "8:10", "", "input");
    rejects(TOP STEPS "layout: {input: NHCW}\n", "8:17", "", "N");
    rejects(TOP STEPS "layout: {input: KCRS}\n", "8:17", "", NULL);
    rejects(TOP STEPS "layout: {filter: NHWC}\n", "8:18", "", NULL);
    rejects(TOP STEPS "layout: {input: same}\n", "8:17", "the input's layout cannot be 'same'", NULL);
    rejects(TOP STEPS "layout: {input: [NHWC, NHWC]}\n", "8:24", "layout of input: 'NHWC' is listed twice", NULL);
    rejects(TOP STEPS "layout: {input: []}\n", "8:17", "layout of input is an empty list", NULL);
    rejects(TOP STEPS "dtype: {input: f33}\n", "8:16", "", "f32");
    rejects(TOP STEPS "dtype: {acumulate: f32}\n", "8:9", "", "accumulate");
    rejects(TOP STEPS "math: [f16_acc23]\n", "8:8", "", "f16_acc32");
    rejects(TOP STEPS "epilogue: [bais]\n", "8:12", "", "bias");
    rejects(TOP STEPS "epilogue: [bias, bias]\n", "8:18", "epilogue: 'bias' is listed twice", NULL);
    rejects(TOP STEPS "mask: {writes: output}\n", "8:7", "the mask has no `needs:`", NULL);
    rejects(TOP STEPS "mask: {needs: inptu}\n", "8:15", "", "input");
    rejects(TOP STEPS "mask: {needs: input, inactive: zeros}\n", "8:32", "", "zero");
    rejects(TOP STEPS "mask: {needs: input, tile: [8]}\n", "8:28", "tile of mask: height and width in outputs", NULL);
    rejects(TOP STEPS "mask: {needs: input, tile: [8, 8, 1, 1]}\n", "8:38", "", NULL);
    rejects(TOP STEPS "mask: {needs: input, tile: [8, th]}\n", "8:32", "unknown name 'th'", NULL);
    rejects(TOP STEPS "mask: {needs: input, weights: 9}\n", "8:31", "weights of mask are bytes per tile, but the mask has no `tile:`",
            NULL);
    rejects("op: layout\nwhat: x\nlayout: {filter: KCRS}\n" STEPS, "4:10", "layout has no filter", NULL);
    rejects("op: layout\nwhat: x\nmath: f32\n" STEPS, "4:7", "layout only moves data: it has no math mode", NULL);
}

static void test_values(void **state)
{
    rejects(TOP STEPS "params:\n  T-H: 8\n", "9:3", "parameter 'T-H' is not a C name", NULL);
    rejects(TOP STEPS "params:\n  TH: {values: [4, 4]}\n", "9:20", "parameter 'TH': 4 is listed twice", NULL);
    rejects(TOP STEPS "params:\n  TH: {values: [4, 8], default: 5}\n", "9:33", "parameter 'TH': the default 5 is not one of its values",
            NULL);
    rejects(TOP STEPS "params:\n  TH: {default: 5}\n", "9:7", "parameter 'TH' needs either `values:` or `range:`", NULL);
    rejects(TOP STEPS "params:\n  TH: {range: [9, 1]}\n", "9:19", "", NULL);
    rejects(TOP STEPS "params:\n  TH: {range: 9}\n", "9:15", "the range of 'TH' must be [lowest, highest]", NULL);
    rejects(TOP STEPS "params:\n  TH: {values: [1], step: 2}\n", "9:21", "parameter 'TH': `step` needs `range`", NULL);
    rejects(TOP STEPS "params:\n  TH: {vales: [1]}\n", "9:8", "", "values");
    rejects(TOP STEPS "params: 3\n", "8:9", "params must be a map", NULL);
    rejects(TOP STEPS "params:\n  c: 8\n", "9:3", "parameter 'c': that name is already a symbol of the op", NULL);
    rejects(TOP STEPS "let:\n  input: 8\n", "9:3", "let 'input': that name is already a tensor", NULL);
    rejects(TOP STEPS "params: {T: 1}\nlet:\n  T: 8\n", "10:3", "let 'T': a parameter has that name already, at line 8", NULL);
    rejects(TOP STEPS "let: {a: 1}\nscratch:\n  a: u32[1]\n", "10:3", "scratch buffer 'a': a let has that name already, at line 8", NULL);
    rejects(TOP STEPS "let:\n  a: 1\n  a: 2\n", "10:3", "", NULL);
    rejects(TOP STEPS "let:\n  a: b + 1\n  b: cc1 + a\n  cc1: 3\n", "9:3", "let 'a' uses itself: a -> b -> a", NULL);
    rejects(TOP STEPS "let:\n  a: a\n", "9:3", "let 'a' uses itself: a -> a", NULL);
    rejects(TOP STEPS "let:\n  a: 1 + heigth\n  height: 2\n", "9:10", "unknown name 'heigth'", "did you mean 'height'?");
    rejects(TOP STEPS "let:\n  a: ciel(1, 2)\n", "9:6", "unknown function 'ciel'", "did you mean 'ceil'?");
    rejects(TOP STEPS "where:\n  - 1 < 2\n  - 2 <\n", "10:8", "the expression ends where a value is expected", NULL);
    rejects(TOP STEPS "needs: r = 3\n", "8:10", "'=' is not an operator; equality is '=='", NULL);
    rejects(TOP STEPS "needs: r == 3, s == 3\n", "8:14", "an operator is expected here, not ','", NULL);
    rejects(TOP STEPS "define: {E-F: 1}\n", "8:10", "define 'E-F' is not a C name", NULL);
    rejects(TOP STEPS "params: {T: 1}\ndefine: {T: 1}\n", "9:10", "define 'T': the parameter of that name is already defined", NULL);
    rejects(TOP STEPS "specialise: [r, rr]\n", "8:17", "", NULL);
    rejects(TOP STEPS "specialise: [r, r]\n", "8:17", "specialise: 'r' is listed twice", NULL);
    rejects(TOP STEPS "specialise: [r]\nparams: {R: 1}\n", "9:10", "'R' is also what `specialise: [r]` defines", NULL);
    rejects(TOP STEPS "scratch:\n  a: u33[1]\n", "9:6", "scratch buffer 'a': 'u33' is neither a type nor a tensor", "did you mean 'u32'?");
    rejects(TOP STEPS "scratch: {a: u32}\n", "8:14", "scratch buffer 'a' must have the form NAME[NUMBER], not 'u32'", NULL);
    rejects(TOP STEPS "scratch:\n  a: u32[2 *]\n", "9:13", "the expression ends where a value is expected", NULL);
    rejects(TOP STEPS "columns:\n  a: buf[0]\n", "9:6", "'buf' is neither a tensor nor a scratch buffer", NULL);
    rejects(TOP STEPS "tensor_maps: {m: {of: input}}\n", "8:18", "tensor map 'm' has no `box:`", NULL);
    rejects(TOP STEPS "tensor_maps: {m: {of: inputs, box: 1}}\n", "8:23", "'inputs' is neither a tensor nor a scratch buffer",
            "did you mean 'input'?");
    rejects(TOP STEPS "tensor_maps: {m: {of: input, box: [1, 2], dims: [3]}}\n", "8:49",
            "tensor map 'm': dims has 1 items; the box has 2 dimensions, so 2 are expected", NULL);
    rejects(TOP STEPS "scratch:\n  a: u32[8]\ntensor_maps: {m: {of: a, box: 1}}\n", "10:18",
            "tensor map 'm' is a view of a scratch buffer, so it needs `dims:`", NULL);
}

static void test_steps(void **state)
{
    rejects(TOP "steps: {kernel: k}\n", "4:8", "steps must be a list of steps", NULL);
    rejects(TOP "steps: []\n", "4:8", "steps is an empty list", NULL);
    rejects(TOP "steps:\n  - kernel: k\n    block: 3\n", "5:13", "kernel 'k' has no `grid:`", NULL);
    rejects(TOP "steps:\n  - kernel: k\n    grid: 3\n", "5:13", "kernel 'k' has no `block:`", NULL);
    rejects(TOP "steps:\n  - kernal: k\n", "5:5", "the step needs one of kernel, fill, copy", "did you mean 'kernel'?");
    rejects(TOP "steps:\n  - kernel: k<3\n    grid: 1\n    block: 1\n", "5:13", "kernel 'k<3' is not the name of a kernel", NULL);
    rejects(TOP "steps:\n  - kernel: k\n    gird: 1\n", "6:5", "", "grid");
    rejects(TOP "steps:\n  - kernel: k\n    grid: 1, ceil(q, 2), 3, 4\n    block: 1\n", "6:29", "grid has more than 3 items", NULL);
    rejects(TOP "steps:\n  - kernel: k\n    grid: 1, ceil(q, zz), 3\n    block: 1\n", "6:22", "unknown name 'zz'", NULL);
    rejects(TOP "steps:\n  - kernel: k\n    grid: [1, ceil(q, 2)]\n    block: 1\n", "6:21", "the ')' of ceil( is missing",
            "a flow list at every comma");
    rejects(TOP STEPS "    args: input, filtr\n", "8:18", "unknown name 'filtr'", "did you mean 'filter'?");
    rejects(TOP STEPS "    args: input, bias\n", "8:18", "'bias' is an argument, but `epilogue:` does not name it", NULL);
    rejects(TOP STEPS "    args: residual\n", "8:11", "'residual' is an argument, but `epilogue:` does not name it", NULL);
    rejects(TOP STEPS "    args: mask_in\n", "8:11", "'mask_in' is an argument, but the head has no `mask:`", NULL);
    rejects(TOP STEPS "    args: mask_in, mask_out\nmask: {needs: input}\n", "8:20", "'mask_out' is an argument, but `mask:` says neither",
            NULL);
    rejects("op: layout\nwhat: x\n" STEPS "    args: filter\n", "8:11", "layout has no filter", NULL);
    rejects(TOP STEPS "    attributes: {clustre: 2}\n", "8:18", "", "cluster");
    rejects(TOP "steps:\n  - fill: nothing = 0\n", "5:11", "'nothing' is neither a tensor nor a scratch buffer", NULL);
    rejects(TOP "steps:\n  - fill: output\n", "5:11", "fill must have the form `fill: NAME = VALUE`, not 'output'", NULL);
    rejects(TOP "steps:\n  - copy: output = inptu\n", "5:20", "'inptu' is neither a tensor nor a scratch buffer", "did you mean 'input'?");
    rejects(TOP "steps:\n  - symbol: 3x = filter\n", "5:13", "symbol '3x' is not a C name", NULL);
    rejects(TOP "steps:\n  - cudnn: conv3d\n", "5:12", "cudnn: 'conv3d' should be the op of the head, conv2d", NULL);
    rejects(TOP "steps:\n  - {variant: a/b, inputs: input}\n", "5:20", "", "input");
    for (const char *const *name = op_tensor_names(); *name; name++) { /* each is given what is there, and nothing else */
        char *step = text_format(TOP "steps:\n  - {variant: a/b, %s: nothing}\n", *name),
             *place = text_format("5:%d", 20 + (int)strlen(*name) + 2);
        assert_true(op_is_tensor(*name));
        rejects(step, place, "'nothing' is neither a tensor nor a scratch buffer", NULL);
        free(step);
        free(place);
    }
    rejects(TOP "steps:\n  - fill: output = 0\n    when: n ==\n", "6:15", "the expression ends where a value is expected", NULL);
    struct text t = {0};
    text_add(&t, TOP STEPS "    args: ");
    for (int i = 0; i < 49; i++)
        text_addf(&t, "%sn", i ? ", " : "");
    text_add(&t, "\n");
    rejects(text_get(&t), "8:155", "args has more than 48 items", NULL);
    text_free(&t);
}

static void file_rejected(const char *text, const char *message)
{
    struct error err;
    if (load_text(text, &err))
        fail_msg("accepted: %.60s", text);
    if (!strstr(err.text, message))
        fail_msg("'%s' lacks '%s'", err.text, message);
}

static void file_accepted(const char *text)
{
    struct error err;
    struct variant *v = load_text(text, &err);
    if (!v)
        fail_msg("%s for %.60s", err.text, text);
    variant_free(v);
}

static void test_comment(void **state)
{
    file_accepted("/* bench 1\n" TOP STEPS "*/");
    file_accepted("\xEF\xBB\xBF/*\tbench 1  \r\n" TOP STEPS "*/ int x;");
    file_accepted("// SPDX: a '/*' and a \" quote\n#include \"a//b/*.h\"\n\n/* bench 1\n" TOP STEPS "*/");
    file_accepted("char q = '\"'; char *s = \"/* no \\\" */\";\n/* bench 1\n" TOP STEPS "*/");
    file_rejected("", "no `bench 1` head");
    file_rejected("int x;", "no `bench 1` head");
    file_rejected("/* benchmark 1\n*/", "no `bench 1` head");
    file_rejected("/* bench */", "no `bench 1` head");
    file_rejected("/* mine */\n\n/* bench 1\n" TOP STEPS "*/", "its `bench` head (line 3) is not the first comment");
    file_rejected("/* bench 1\n" TOP STEPS, "t.cu:1:1: the comment of the head has no end");
    file_rejected("\n  /* bench 1", "t.cu:2:3: the comment of the head has no end");
    file_rejected("/* bench 2\n" TOP STEPS "*/", "t.cu:1:10: the head has version 2; bench reads only version 1");
    file_rejected("/* bench 11\n*/", "t.cu:1:10: the head has version 11");
    file_rejected("/* bench 1 op: conv2d\n*/", "t.cu:1:12: the line of `bench 1` must contain nothing else");
    file_rejected("/* bench 1 */", "t.cu:1:12: the head is empty");
    file_rejected("/* bench 1\n*/", "t.cu:2:");
    file_rejected("/* bench 1\n\top: conv2d\n*/", "t.cu:2:");
    file_rejected("/* bench 1\nop: [conv2d\n*/", "t.cu:");
}

/* How much slower this build and this machine are, as tests/run says. */
static double slower(void)
{
    const char *text = getenv("SLOWER");
    return text && atof(text) > 1 ? atof(text) : 1;
}

/* Nothing here may crash, hang or read outside (the sanitizer build proves the last); each gives one usage error. */
static void hostile(const void *data, size_t bytes, const char *what)
{
    struct error err;
    clock_t began = clock(); /* of this process alone: a machine under load does not fail it */
    struct variant *v = load_bytes(data, bytes, &err);
    double took_s = (double)(clock() - began) / CLOCKS_PER_SEC;
    if (v)
        fail_msg("accepted: %s", what);
    if (err.kind != ERROR_USAGE || !err.text[0])
        fail_msg("%s: kind %d '%s'", what, err.kind, err.text);
    if (took_s > 3 * slower())
        fail_msg("%s: took %.1f s of CPU time", what, took_s);
}

static void hostile_repeat(const char *before, const char *piece, size_t total, const char *after)
{
    struct text t = {0};
    text_add(&t, before);
    while (t.len < total)
        text_add(&t, piece);
    text_add(&t, after);
    hostile(t.data, t.len, piece);
    text_free(&t);
}

static void test_hostile(void **state)
{
    size_t mega = 1 << 20;
    hostile("/* bench 1\nop: conv\0002d\n*/", 25, "NUL in the head");
    hostile("/* bench 1\nop: \xff\xfe\n*/", 20, "not UTF-8");
    hostile("/*", 2, "only a beginning");
    hostile("/* bench 1", 10, "no line end");
    hostile("/* bench 1\n*", 12, "half an end");
    hostile_repeat("/* bench 1\n" TOP STEPS "needs: ", "(", mega, "1\n*/");
    hostile_repeat("/* bench 1\n" TOP STEPS "needs: 1", " + 1", mega, "\n*/");
    hostile_repeat("/* bench 1\n" TOP STEPS "    args: n", ", n", mega, "\n*/");
    hostile_repeat("/* bench 1\n" TOP STEPS "needs: ", "[", 100000, "\n*/");
    hostile_repeat("/* bench 1\n" TOP STEPS "needs: ", "{a: ", 100000, "\n*/");
    hostile_repeat("/* bench 1\n" TOP STEPS "what2: &a [", "x, ", 100000, "x]\n*/");
    hostile_repeat("int x;", "\\\"", mega, "");
    hostile_repeat("int x;", "\"\\", mega, "");
    hostile_repeat("int x;", "/* bench", mega, "");
    hostile_repeat("int x;", "/*", mega, "");
    hostile_repeat("", "'", 5u << 20, "");
    struct text t = {0};
    text_add(&t, "/* bench 1\n" TOP STEPS "params:\n");
    for (int i = 0; i < 5000; i++)
        text_addf(&t, "  P%d: 1\n", i);
    text_add(&t, "*/");
    hostile(t.data, t.len, "5000 parameters");
    text_free(&t);
    text_add(&t, "/* bench 1\n" TOP STEPS "let:\n");
    for (int i = 0; i < 60; i++)
        text_addf(&t, "  v%d: v%d + v%d + v%d\n", i, i + 1, i + 1, i + 1);
    text_add(&t, "*/");
    hostile(t.data, t.len, "lets, each naming the next three times");
    text_free(&t);
    text_add(&t, "/* bench 1\nop: conv2d\nwhat: x\nfrom: ");
    for (int i = 0; i < 3000; i++)
        text_add(&t, "conv2d%s%n");
    text_add(&t, "\nop2: x\nsteps: []\n*/");
    hostile(t.data, t.len, "format characters");
    text_free(&t);
}

static void test_not_a_file(void **state)
{
    struct error err = {0};
    char *path = file_join(dir, "folder.cu"), *fifo = file_join(dir, "fifo.cu");
    mkdir(path, 0777);
    mkfifo(fifo, 0600);
    assert_null(variant_load(path, "my", &err));
    assert_non_null(strstr(err.text, "not a file"));
    assert_null(variant_load(fifo, "my", &err)); /* would hang if it were opened */
    assert_non_null(strstr(err.text, "not a file"));
    assert_null(variant_load("/nowhere/at/all.cu", "my", &err));
    rmdir(path);
    unlink(fifo);
    free(path);
    free(fifo);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_experience_heads),
        cmocka_unit_test(test_complete_keys),
        cmocka_unit_test(test_keys),
        cmocka_unit_test(test_claims),
        cmocka_unit_test(test_types),
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_steps),
        cmocka_unit_test(test_comment),
        cmocka_unit_test(test_hostile),
        cmocka_unit_test(test_not_a_file),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
