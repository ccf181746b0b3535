/* variant/: finding variants, configurations of their parameters, and `bench new`. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "heads.h"
#include "kernel/head/head.h"
#include "kernel/variant.h"
#include "kernel/head/load.h"
#include "kernel/new/new.h"
#include "op/file/ops.h"
#include <sys/stat.h>
#include <unistd.h>

#define PLAIN(what) "op: conv2d\nwhat: " what "\nsteps:\n  - kernel: k\n    grid: n\n    block: 32\n"

static char *extra(const char *name, const char *folder)
{
    return text_format("%s=%s/%s", name, tree_root, folder);
}

static bool load(struct variant_set *set, const char *name, const char *folder, struct error *err)
{
    char *spec = extra(name, folder);
    memset(err, 0, sizeof *err);
    bool done = variant_set_load((const char *const[]){spec, NULL}, set, err);
    free(spec);
    return done;
}

static bool has_note(const struct variant_set *set, const char *part)
{
    for (int i = 0; i < set->note_count; i++)
        if (strstr(set->notes[i], part))
            return true;
    return false;
}

static void test_set(void **state)
{
    struct variant_set set;
    struct error err;
    if (!load(&set, "my", "mine", &err))
        fail_msg("%s", err.text);
    static const char *const names[] = {"conv2d/naive", "conv2d/tiled", "my/alone", "my/child"};
    assert_int_equal(set.count, 4);
    for (int i = 0; i < 4; i++)
        assert_string_equal(set.items[i]->name, names[i]);
    assert_int_equal(strlen(set.items[0]->hash), 64);
    assert_string_not_equal(set.items[0]->hash, set.items[1]->hash);
    assert_string_equal(set.items[1]->from, "conv2d/naive"); /* `from: naive`, in the op's own folder */
    assert_string_equal(set.items[3]->from, "my/alone");     /* in its own folder first */
    assert_true(has_note(&set, "my/alone: from 'gone', which is not among the variants"));
    assert_true(has_note(&set, "my/util.cu: no `bench 1` head, skipped"));
    assert_true(has_note(&set, "my/huge.cu: "));
    assert_true(has_note(&set, "my/folder.cu: not a file"));
    assert_int_equal(set.note_count, 4);
    const struct op *conv = op_find("conv2d");
    assert_ptr_equal(variant_find(&set, "naive", conv, NULL, &err), set.items[0]);
    assert_ptr_equal(variant_find(&set, "my/child", NULL, NULL, &err), set.items[3]);
    assert_null(variant_find(&set, "naive", NULL, NULL, &err));
    assert_null(variant_find(&set, "naive", op_find("layout"), NULL, &err));
    assert_null(variant_find(&set, "my/chlid", NULL, NULL, &err));
    assert_string_equal(err.text, "there is no variant 'my/chlid'");
    assert_string_equal(err.hint, "did you mean 'my/child'?");
    struct node where = {.kind = NODE_SCALAR, .file = "s.yaml", .line = 3, .column = 5};
    assert_null(variant_find(&set, "navie", conv, &where, &err));
    assert_string_equal(err.text, "s.yaml:3:5: there is no variant 'navie'");
    assert_string_equal(err.hint, "did you mean 'naive'?");
    variant_set_free(&set);
}

/* A .cu whose head stands in a sidecar is a variant, so no note says that it was skipped. */
static void test_source_of_sidecar(void **state)
{
    struct variant_set set;
    struct error err;
    if (!load(&set, "my", "beside", &err))
        fail_msg("%s", err.text);
    assert_non_null(variant_find(&set, "my/own", NULL, NULL, &err));
    assert_false(has_note(&set, "own.cu"));
    assert_true(has_note(&set, "my/idle.cu: no `bench 1` head, skipped"));
    assert_int_equal(set.note_count, 1);
    variant_set_free(&set);
}

static void set_fails(const char *spec, const char *message)
{
    struct variant_set set;
    struct error err = {0};
    if (variant_set_load((const char *const[]){spec, NULL}, &set, &err))
        fail_msg("%s was accepted", spec);
    if (!strstr(err.text, message))
        fail_msg("'%s' lacks '%s'", err.text, message);
    assert_int_equal(set.count, 0);
}

static void test_set_errors(void **state)
{
    set_fails("mine", "--variants mine: NAME=DIR");
    set_fails("=.", "NAME=DIR or NAME=FILE.cu is expected");
    set_fails("a/b=.", "NAME=DIR or NAME=FILE.cu is expected");
    set_fails("my=/nowhere/at/all", "there is no '/nowhere/at/all'");
    char *none = extra("my", "none"), *bad = extra("my", "bad"), *twice = extra("conv2d", "clash");
    set_fails(none, "the folder has no variant");
    set_fails(bad, "bad/bad.cu:3:1: ");
    set_fails(twice, "conv2d/ is reserved"); /* or its rows would pass for bench's, under whatever name */
    char *mine = extra("my", "clash");
    struct variant_set set;
    struct error err = {0};
    assert_false(variant_set_load((const char *const[]){mine, mine, NULL}, &set, &err));
    assert_non_null(strstr(err.text, "two variants have the name my/naive: "));
    free(mine);
    free(none);
    free(bad);
    free(twice);
}

static int configs_of(const struct variant *v, const char *yaml, struct variant_config **configs, struct error *err)
{
    memset(err, 0, sizeof *err);
    struct node *n = yaml ? node_parse_text("s.yaml", yaml, strlen(yaml), 4, 1, err) : NULL;
    if (yaml && !n)
        fail_msg("%s", err->text);
    int count = variant_configs(v, n, configs, err);
    node_free(n);
    return count;
}

static void labels(const struct variant *v, const char *yaml, int want, const char *first, const char *last)
{
    struct variant_config *configs;
    struct error err;
    int count = configs_of(v, yaml, &configs, &err);
    if (count != want)
        fail_msg("%s: %d configurations, want %d: %s", yaml, count, want, err.text);
    assert_string_equal(configs[0].label, first);
    assert_string_equal(configs[count - 1].label, last);
    assert_int_equal(configs[0].count, 4);
    assert_string_equal(configs[0].names[0], "A");
    variant_configs_free(configs, count);
}

static void points_fail(const struct variant *v, const char *yaml, const char *message, const char *hint)
{
    struct variant_config *configs;
    struct error err;
    if (configs_of(v, yaml, &configs, &err) >= 0)
        fail_msg("%s was accepted", yaml);
    if (!strstr(err.text, message))
        fail_msg("'%s' lacks '%s'", err.text, message);
    if (hint && !strstr(err.hint, hint))
        fail_msg("hint '%s' lacks '%s'", err.hint, hint);
}

static void test_points(void **state)
{
    struct error err = {0};
    assert_true(tree_variant("points/p.cu",
                             PLAIN("x") "params:\n  TH: {values: [4, 8, 16], default: 8}\n  A: {range: [2, 10], step: 4, default: 6}\n"
                                        "  WORD: [float2, float4]\n  BIG: {range: [0, 100000]}\n"));
    char *path = text_format("%s/points/p.cu", tree_root);
    struct variant *v = variant_load(path, "my", &err);
    if (!v)
        fail_msg("%s", err.text);
    labels(v, NULL, 1, "A=6,BIG=0,TH=8,WORD=float2", "A=6,BIG=0,TH=8,WORD=float2");
    labels(v, "{TH: [4, 16], A: 10}", 2, "A=10,BIG=0,TH=4,WORD=float2", "A=10,BIG=0,TH=16,WORD=float2");
    labels(v, "{WORD: all, A: all, TH: [16, 4]}", 12, "A=2,BIG=0,TH=16,WORD=float2", "A=10,BIG=0,TH=4,WORD=float4");
    labels(v, "{BIG: 99999}", 1, "A=6,BIG=99999,TH=8,WORD=float2", "A=6,BIG=99999,TH=8,WORD=float2");
    /* One configuration by its label; a search: all values of what the scenario does not name. */
    struct variant_config *one;
    assert_true(variant_at(v, "A=10,BIG=7,TH=4,WORD=float4", &one, &err));
    assert_string_equal(one->label, "A=10,BIG=7,TH=4,WORD=float4");
    variant_configs_free(one, 1);
    const char *const gone[] = {"A=10,BIG=7,TH=5,WORD=float4", "A=10,BIG=7,WORD=float4", "A=10,BIG=7,NEW=1,TH=4,WORD=float4",
                                "A=10,,=", ""};
    for (size_t i = 0; i < sizeof gone / sizeof *gone; i++) {
        error_clear(&err);
        assert_false(variant_at(v, gone[i], &one, &err));
        assert_int_equal(err.kind, ERROR_USAGE);
    }
    error_clear(&err);
    assert_int_equal(variant_space(v, NULL, &one, &err), -1);
    assert_non_null(strstr(err.text, "BIG has 100001 values"));
    struct node *some = node_parse_text("s.yaml", "{BIG: [1, 2], TH: 4}", 20, 1, 1, &err);
    assert_int_equal(variant_space(v, some, &one, &err), 3 * 2 * 1 * 2); /* A, BIG, TH, WORD */
    assert_string_equal(one[0].label, "A=2,BIG=1,TH=4,WORD=float2");
    assert_string_equal(one[11].label, "A=10,BIG=2,TH=4,WORD=float4");
    variant_configs_free(one, 12);
    node_free(some);
    error_clear(&err);
    points_fail(v, "{TJ: 4}", "s.yaml:4:2: ", "TH");
    points_fail(v, "{TH: [4, 5]}", "s.yaml:4:10: my/p has no TH = 5; its values are 4, 8, 16", NULL);
    points_fail(v, "{A: 4}", "s.yaml:4:5: my/p has no A = 4; its values are 2 to 10 in steps of 4", NULL);
    points_fail(v, "{TH: [4, 4]}", "s.yaml:4:10: TH = 4 is listed twice", NULL);
    points_fail(v, "{TH: []}", "s.yaml:4:6: TH has no value", NULL);
    points_fail(v, "{BIG: all}", "s.yaml:4:7: BIG has 100001 values; at most 4096", NULL);
    points_fail(v, "[1]", "s.yaml:4:1: ", NULL);
    points_fail(v, "{TH: {a: 1}}", "s.yaml:4:6: ", NULL);
    variant_free(v);
    assert_true(tree_variant("points/p.cu", PLAIN("x")));
    v = variant_load(path, "my", &err);
    points_fail(v, "{TH: 4}", "s.yaml:4:2: my/p has no parameters", NULL);
    variant_free(v);
    unlink(path);
    free(path);
}

/* The head that `bench new` writes must load, and name what the signature names. */
static struct variant *new_variant(const char *op, const char *source, const char *kernel, char **text)
{
    struct error err = {0};
    *text = variant_new(op_find(op), source, kernel, &err);
    if (!*text)
        fail_msg("%s", err.text);
    char *path = text_format("%s/new.cu", tree_root);
    assert_true(file_write(path, *text, strlen(*text), &err));
    struct variant *v = variant_load(path, "my", &err);
    if (!v)
        fail_msg("%s in\n%s", err.text, *text);
    unlink(path);
    free(path);
    return v;
}

static void args_are(const struct variant *v, const char *want)
{
    const struct head *h = v->parsed;
    struct text t = {0};
    for (int i = 0; i < h->steps[0].args.count; i++)
        text_addf(&t, "%s%s", i ? " " : "", expr_text(h->steps[0].args.items[i]));
    assert_string_equal(text_get(&t), want);
    text_free(&t);
}

static void test_new(void **state)
{
    char *text;
    struct variant *v =
        new_variant("conv2d",
                    "// __global__ void not_me(int z);\n/* nor __global__ void me(float *y) */\n__device__ int f(int a);\n"
                    "extern \"C\" __global__ void __launch_bounds__(128, 2)\nconv(const INPUT_T *__restrict__ x, const INPUT_T *f,\n"
                    "     const float *bias, OUTPUT_T *y, int H, int W, int C, unsigned K) { }\n"
                    "extern \"C\" __global__ void other(float *out, const float in[], int n) {}\n",
                    NULL, &text);
    const struct head *h = v->parsed;
    args_are(v, "input filter bias output h w c k");
    assert_string_equal(h->steps[0].name, "conv");
    assert_non_null(strstr(text, "threads: 128   # of a block, from __launch_bounds__"));
    assert_non_null(strstr(text, "  INPUT_T: type(input)\n  OUTPUT_T: type(output)\n"));
    assert_non_null(strstr(text, "epilogue: [bias]"));
    assert_non_null(strstr(text, "# the file has another kernel, other: "));
    assert_int_equal(h->define_count, 2);
    assert_null(strstr(text, "extern \"C\" extern"));
    variant_free(v);
    free(text);
    v = new_variant("layout",
                    "template <int T> struct s; __global__ void other(__half *dst, const __half *src, int rows)\n{}\n"
                    "extern \"C\" __global__ void second(float *p, const float q[], int n, int h) {}\n",
                    "second", &text);
    args_are(v, "output input n h");
    assert_null(strstr(text, "another kernel")); /* this one was asked for */
    assert_non_null(strstr(text, "dtype: {input: f32, output: same}"));
    variant_free(v);
    free(text);
    v = new_variant("reduce", "extern \"C\" __global__ void r(const signed char *input, float *output, int rows) {}\n", NULL, &text);
    assert_non_null(strstr(text, "dtype: {input: [f32, f16], accumulate: f32}")); /* the op's output has a type of its own */
    assert_null(strstr(text, "define:"));                                         /* and types of C need no -D */
    variant_free(v);
    free(text);
    struct error err = {0};
    text = variant_new(op_find("conv2d"), "__global__ void k(const float *a, float *b, int tiles, const __grid_constant__ CUtensorMap m);",
                       NULL, &err);
    assert_non_null(text); /* unknown ones are left in, explained, and refused by name when the head is read */
    assert_non_null(strstr(text, "args: input, output, tiles, m "));
    assert_non_null(strstr(text, "# `tiles`: not known. A symbol (n, c, "));
    assert_non_null(strstr(text, "# `m`: not known. Declare it under `tensor_maps:`"));
    assert_non_null(strstr(text, "*/\nextern \"C\" __global__ void k(const float *a")); /* its C name is written for the author */
    free(text);
    text = variant_new(op_find("conv2d"), "template <int T>\n__global__ void k(const float *a, float *b) {}", NULL, &err);
    assert_non_null(text); /* a template has no C name */
    assert_non_null(strstr(text, "- kernel: k<PARAM_T>\n"));
    assert_non_null(strstr(text, "*/\ntemplate <int T>\n__global__ void k("));
    free(text);
}

static char *new_text(const char *op, const char *source)
{
    struct error err = {0};
    char *text = variant_new(op_find(op), source, NULL, &err);
    if (!text)
        fail_msg("%s", err.text);
    return text;
}

/* Types of C++, CUDA and libraries are no macros; a type that nothing declares is one. */
static void test_new_types(void **state)
{
    static const struct {
        const char *types, *dtype;
    } known[] = {{"const std::int8_t *x, std::int8_t *y, uint rows, int64_t cols", "[f32, f16]"},
                 {"const float4 *x, float4 *y, int rows", "f32"},
                 {"const half2 *x, half2 *y, int rows", "f16"},
                 {"const cutlass::half_t *x, cutlass::half_t *y, int rows", "f16"},
                 {"const unsigned char *x, uchar4 *y, int rows", "[f32, f16]"},
                 {"const __nv_fp8_e4m3 *x, __nv_fp8_e4m3 *y, int rows", "[f32, f16]"}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        SCOPED char *source = text_format("__global__ void k(%s) {}", known[i].types), *text = new_text("transpose", source);
        SCOPED char *want = text_format("dtype: {input: %s, output: same}", known[i].dtype);
        if (strstr(text, "define:") || !strstr(text, want))
            fail_msg("%s", text);
    }
    SCOPED char *macro = new_text("transpose", "#include \"mine.h\"\n__global__ void k(const SCALAR *x, SCALAR *y, mine z) {}");
    assert_non_null(strstr(macro, "define:   # macros (-D) that my source uses\n  SCALAR: type(input)\nlet:"));
    SCOPED char *own =
        new_text("transpose", "typedef float scalar;\nstruct pair { int a; };\n__global__ void k(const scalar *x, pair *y) {}");
    assert_null(strstr(own, "define:"));
}

/* A template becomes an instance, with the values of the file's own launch, and an output of atomics begins with 0. */
static void test_new_templates(void **state)
{
    char *text;
    struct variant *v = new_variant("transpose",
                                    "namespace a { namespace { int z; }\ntemplate <typename T, int N = 8, bool FAST = true>\n"
                                    "__global__ void k(const T *x, T *y, int rows) { if (rows) { atomicAdd(&y[rows], x[0]); } }\n}\n"
                                    "void run() { a::k<float, 32><<<1, 2>>>(0, 0, 0); }\n",
                                    NULL, &text);
    assert_string_equal(((const struct head *)v->parsed)->steps[1].name, "a::k<INPUT_T, PARAM_N, true>");
    assert_non_null(strstr(text, "  PARAM_N: {values: [32], default: 32}"));
    assert_non_null(strstr(text, "define:   # macros (-D) that my source uses\n  INPUT_T: type(input)\n"));
    assert_non_null(strstr(text, "  - fill: output = 0   #"));
    variant_free(v);
    free(text);
}

static void new_fails(const char *source, const char *kernel, const char *message)
{
    struct error err = {0};
    char *text = variant_new(op_find("conv2d"), source, kernel, &err);
    assert_null(text);
    if (!strstr(err.text, message))
        fail_msg("'%s' lacks '%s'", err.text, message);
}

static void test_new_errors(void **state)
{
    new_fails("int x;", NULL, "the file has no __global__ function");
    new_fails("", NULL, "the file has no __global__ function");
    new_fails("#if 0\n__global__ void k(int a) {}\n#endif\n", NULL, "no __global__ function outside of comments and `#if 0`");
    new_fails("# if 0 // old\n#if X\n#else\n__global__ void k(int a) {}\n#endif\n__global__ void b() {}\n# endif\n", NULL, "no __global__");
    new_fails("#if (0)\n#elif 0\n__global__ void k() {}\n#endif\n#if 1\n#else\n__global__ void k() {}\n#endif\n", NULL, "no __global__");
    new_fails("#if 1\n#elif X\n__global__ void k() {}\n#endif\n", NULL, "no __global__");
    new_fails("#if 0\n__global__ void a(int x) {}\n#else\n__global__ void b(int x) {}\n#endif\n"
              "#if X\n__global__ void c() {}\n#elif 1\n__global__ void d() {}\n#else\n__global__ void e() {}\n#endif\n"
              "#ifdef Y\n__global__ void f() {}\n#else\n__global__ void g() {}\n#endif\n#if 0x10\n__global__ void h() {}\n#endif\n",
              "z", "no kernel 'z' in the file; it has b, c, d, f, g, h");
    new_fails("__global__", NULL, "no __global__ function");
    new_fails("__global__ void k(int a", NULL, "no __global__ function");
    new_fails("char *s = \"__global__ void k(int a)\";", NULL, "no __global__ function");
    new_fails("__global__ void a(int x) {} __global__ void b() {}", "c", "no kernel 'c' in the file; it has a, b");
    new_fails("/* bench 1\nop: conv2d\n*/ __global__ void a(int x) {}", NULL, "the file has a head already, at line 1");
    new_fails("/* x */\n/* bench 1\nop: conv2d\n*/ __global__ void a(int x) {}", NULL, "the file has a head already, at line 2");
    struct text t = {0};
    text_add(&t, "__global__ void k(int a0");
    for (int i = 1; i < 40; i++)
        text_addf(&t, ", int a%d", i);
    text_add(&t, ") {}");
    new_fails(text_get(&t), NULL, "kernel k has more than 32 parameters");
    text_free(&t);
    static const char *const pieces[] = {"__global__ ", "__global__ (", "((((", "\"\\", "/*", "__launch_bounds__(", "'"};
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
        while (t.len < 400000)
            text_add(&t, pieces[i]);
        new_fails(text_get(&t), NULL, "no __global__ function");
        text_free(&t);
    }
}

/* A file beside the variants; its content is no head. */
static bool tree_file(const char *relative, const char *content)
{
    struct error err = {0};
    SCOPED char *path = text_format("%s/%s", tree_root, relative);
    return file_write(path, content, strlen(content), &err);
}

static int write_tree(void **state)
{
    static char big[(4u << 20) + 2];
    struct error err = {0};
    bool done = tree_begin() && tree_variant("kernels/variants/conv2d/naive.cu", PLAIN("a")) &&
                tree_variant("kernels/variants/conv2d/tiled.cu", PLAIN("b") "from: naive\n") &&
                tree_variant("mine/alone.cu", PLAIN("c") "from: gone\n") && tree_variant("mine/child.cu", PLAIN("d") "from: alone\n") &&
                tree_variant("bad/bad.cu", "op: conv2d\nwaht: x\n") && tree_variant("clash/naive.cu", PLAIN("e")) &&
                tree_variant("beside/first.cu", PLAIN("f")) && tree_file("beside/own.cu", "int x;") &&
                tree_file("beside/idle.cu", "int x;") && tree_file("beside/own.yaml", PLAIN("g") "source: own.cu\n");
    char *util = text_format("%s/mine/util.cu", tree_root), *huge = text_format("%s/mine/huge.cu", tree_root),
         *folder = text_format("%s/mine/folder.cu", tree_root);
    char *none = text_format("%s/none", tree_root);
    memset(big, 'x', sizeof big);
    done = done && file_write(util, "int x;", 6, &err) && file_write(huge, big, sizeof big, &err) && mkdir(folder, 0777) == 0 &&
           mkdir(none, 0777) == 0;
    free(util);
    free(huge);
    free(folder);
    free(none);
    return done ? 0 : -1;
}

static int drop_tree(void **state)
{
    return tree_end() ? 0 : -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_set),        cmocka_unit_test(test_set_errors),        cmocka_unit_test(test_points),
        cmocka_unit_test(test_new),        cmocka_unit_test(test_new_types),         cmocka_unit_test(test_new_templates),
        cmocka_unit_test(test_new_errors), cmocka_unit_test(test_source_of_sidecar),
    };
    return cmocka_run_group_tests(tests, write_tree, drop_tree);
}
