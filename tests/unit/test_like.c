/* kernel/head/like: a head on top of another, where each mistake is found, what a file without code runs, and what a hash covers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "heads.h"
#include "kernel/head/head.h"
#include "kernel/variant.h"
#include "kernel/head/load.h"
#include <unistd.h>

#define BASE \
    "op: conv2d\nwhat: base\nneeds: c % 4 == 0\nlayout: {input: NHWC, filter: KRSC, output: same}\nepilogue: [bias, relu]\n" \
    "claims: c > 3\nfrom: other\nparams:\n  ROWS: {values: [4, 8], default: 8}\n  STAGES: [2, 3]\nlet:\n  tiles: ceil(q, ROWS)\n" \
    "  smem: STAGES * 64\ndefine:\n  TYPE: type(input)\n  WIDE: 0\nsteps:\n  - kernel: conv\n    grid: tiles\n    block: 32\n    smem: " \
    "smem\n"

/* Writes my/NAME.cu: a head, and `code` behind it. */
static void file(const char *name, const char *yaml, const char *code)
{
    struct error err = {0};
    char *path = text_format("%s/my/%s.cu", tree_root, name), *text = text_format("/* bench 1\n%s*/\n%s", yaml, code);
    assert_true(file_write(path, text, strlen(text), &err));
    free(path);
    free(text);
}

static struct variant *load(const char *name, struct error *err)
{
    char *path = text_format("%s/my/%s.cu", tree_root, name);
    memset(err, 0, sizeof *err);
    struct variant *v = variant_load(path, "my", err);
    free(path);
    return v;
}

static struct variant *loads(const char *name)
{
    struct error err;
    struct variant *v = load(name, &err);
    if (!v)
        fail_msg("%s: %s (%s)", name, err.text, err.hint);
    return v;
}

/* The head `yaml` is refused with this text, which begins at a file's name, and this hint. */
static void refused(const char *yaml, const char *text, const char *hint)
{
    struct error err;
    file("bad", yaml, "");
    struct variant *v = load("bad", &err);
    if (v)
        fail_msg("accepted:\n%s", yaml);
    if (!strstr(err.text, text))
        fail_msg("'%s' lacks '%s'", err.text, text);
    if (hint && !strstr(err.hint, hint))
        fail_msg("hint '%s' of '%s' lacks '%s'", err.hint, err.text, hint);
    assert_int_equal(err.kind, ERROR_USAGE);
}

static const char *at(const struct variant *v, const char *key, const char *inner)
{
    const struct node *n = node_get(v->head, key);
    n = inner ? node_get(n, inner) : n;
    return n ? n->text : NULL;
}

static void test_merge(void **state)
{
    struct variant *v;
    file("base", BASE, "__global__ void conv() {}\n");
    file("child",
         "what: child\nlike: base\nneeds: [r == 3, s == 3]\nlayout: {output: NHWC}\nparams: {ROWS: {default: 4}, STAGES: null}\n"
         "let:\n  smem: 128\n  extra: 7\ndefine: {WIDE: 1}\nepilogue:\n",
         "");
    v = loads("child");
    const struct head *h = v->parsed;
    assert_string_equal(v->op->name, "conv2d");
    assert_string_equal(v->what, "child");
    assert_string_equal(v->from, "base");                   /* what a head is like it came from */
    assert_null(node_get(v->head, "claims"));               /* a promise is each file's own */
    assert_int_equal(h->needs.count, 2);                    /* a list replaces */
    assert_string_equal(at(v, "layout", "output"), "NHWC"); /* maps join */
    assert_string_equal(at(v, "layout", "filter"), "KRSC");
    assert_int_equal(h->param_count, 1); /* null takes away; at every depth */
    assert_int_equal(h->params[0].count, 2);
    assert_int_equal(h->params[0].fallback.i, 4);
    assert_int_equal(h->epilogue_count, 0);
    assert_int_equal(h->let_count, 3); /* the order of the base, then what is new */
    assert_string_equal(h->lets[0].name, "tiles");
    assert_string_equal(h->lets[2].name, "extra");
    assert_string_equal(at(v, "let", "smem"), "128");
    assert_string_equal(at(v, "define", "WIDE"), "1");
    assert_int_equal(h->step_count, 1);
    assert_int_equal(v->parent_count, 1);
    assert_true(text_ends(v->parents[0].path, "/my/base.cu"));
    variant_free(v);
    file("own", "what: own\nlike: base\nfrom: elsewhere\nclaims: c > 9\n", "");
    v = loads("own");
    assert_string_equal(v->from, "elsewhere");
    assert_string_equal(at(v, "claims", NULL), "c > 9");
    variant_free(v);
}

static void test_chain(void **state)
{
    file("base", BASE, "__global__ void conv() {}\n");
    file("middle", "what: m\nlike: base\nlet: {smem: 64}\ndefine: {WIDE: 2}\n", "// nothing but words\n");
    file("last", "what: l\nlike: middle\ndefine: {WIDE: null}\n", "");
    struct variant *v = loads("last");
    assert_int_equal(v->parent_count, 2);
    assert_string_equal(at(v, "let", "smem"), "64");
    assert_null(at(v, "define", "WIDE"));
    assert_true(text_ends(v->code, "/my/base.cu")); /* the nearest with code */
    char before[HASH_TEXT];
    strcpy(before, v->hash);
    variant_free(v);
    file("base", BASE "exact: no\n", "__global__ void conv() {}\n");
    v = loads("last");
    assert_string_not_equal(v->hash, before); /* of every file on the way */
    strcpy(before, v->hash);
    variant_free(v);
    file("middle", "what: other words\nlike: base\nlet: {smem: 64}\ndefine: {WIDE: 2}\n", "__global__ void conv() {}\n");
    v = loads("last");
    assert_string_not_equal(v->hash, before);
    assert_true(text_ends(v->code, "/my/middle.cu"));
    variant_free(v);
    v = loads("middle");
    assert_true(text_ends(v->code, "/my/middle.cu"));
    variant_free(v);
}

/* Beside the file, in the op's installed folder, FOLDER/NAME of either; and among the user's folders. */
static void test_places(void **state)
{
    struct error err = {0};
    file("base", BASE, "");
    assert_true(tree_variant("kernels/variants/conv2d/shipped.cu", BASE "algorithm: fft\n"));
    file("a", "op: conv2d\nwhat: a\nlike: shipped\n", "");
    file("b", "what: b\nlike: conv2d/shipped\n", "");
    file("c", "what: c\nlike: my/base\n", "");
    struct variant *v = loads("a");
    assert_string_equal(v->algorithm, "fft");
    variant_free(v);
    v = loads("b");
    assert_string_equal(v->algorithm, "fft");
    variant_free(v);
    v = loads("c");
    assert_string_equal(v->algorithm, "direct");
    variant_free(v);
    assert_true(tree_variant("team/d.cu", "what: d\nlike: my/base\n"));
    assert_true(tree_variant("team/e.cu", "op: conv_transpose2d\nwhat: e\nlike: my/base\n")); /* a ladder is of one op */
    char *my = text_format("my=%s/my", tree_root), *team = text_format("team=%s/team", tree_root),
         *bad = text_format("%s/my/bad.cu", tree_root);
    struct variant_set set;
    unlink(bad);
    if (!variant_set_load((const char *const[]){team, my, NULL}, &set, &err))
        fail_msg("%s", err.text);
    const struct variant *d = variant_find(&set, "team/d", NULL, NULL, &err);
    assert_non_null(d);
    assert_string_equal(d->from, "my/base");
    assert_null(variant_find(&set, "team/e", NULL, NULL, &err)->from);
    assert_string_equal(variant_find(&set, "my/a", NULL, NULL, &err)->from, "conv2d/shipped");
    variant_set_free(&set);
    free(my);
    free(team);
    free(bad);
}

/* Every mistake at the place where its key really stands. */
static void test_errors(void **state)
{
    file("base", BASE, "");
    refused("what: x\nlike: bas\n", "my/bad.cu:3:7: like: there is no head 'bas'", "did you mean 'base'?");
    refused("what: x\nlike: conv2d/shiped\n", "bad.cu:3:7: like: there is no head", "did you mean 'conv2d/shipped'?");
    refused("what: x\nlike: shipped\n", "bad.cu:3:7: like: there is no head", "with its folder: conv2d/shipped"); /* no op, not beside */
    refused("what: x\nlike: ../my/base\n", "bad.cu:3:7: like: there is no head", NULL);
    refused("what: x\nlike: zzzzzzzzzzzz\n", "bad.cu:3:7: like: there is no head", "`bench list variants`");
    refused("what: x\nlike: [base]\n", "bad.cu:3:7: ", NULL);
    refused("what: x\nlike: bad\n", "bad.cu:3:7: like: is circular, bad.cu -> bad.cu", NULL);
    file("one", "what: x\nlike: two\n", "");
    file("two", "what: x\nlike: one\n", "");
    refused("what: x\nlike: one\n", "two.cu:3:7: like: is circular, one.cu -> two.cu -> one.cu", NULL);
    refused("what: x\nlike: base\nlet: {smen: null}\n", "bad.cu:4:7: 'smen' without a value removes an inherited key",
            "did you mean 'smem'?");
    refused("what: x\nlike: base\nmask:\n", "bad.cu:4:1: 'mask' without a value", NULL);
    refused("what: x\nlike: base\nlet: {smem: null}\n", "base.cu:22:11: unknown name 'smem'", NULL); /* the step stands in base */
    refused("what: x\nlike: base\nparams: {ROWS: null}\n", "base.cu:13:18: unknown name 'ROWS'", NULL);
    refused("what: x\nlike: base\nparams: {ROWS: {default: 5}}\n", "bad.cu:4:26: parameter 'ROWS': the default 5 is not one", NULL);
    refused("what: x\nlike: base\nlayuot: {input: NCHW}\n", "bad.cu:4:1: ", "layout");
    refused("like: base\n", "bad.cu:2:1: the head has no `what:`", NULL);
    refused("what: x\nlike: base\nsteps: null\n", "the head has no `steps:`", NULL);
    struct error err = {0};
    char *plain = text_format("%s/my/plain.cu", tree_root);
    assert_true(file_write(plain, "int x;\n", 7, &err));
    refused("what: x\nlike: plain\n", "bad.cu:3:7: like: ", "");
    free(plain);
    file("broken", BASE "algorithm: windograd\n", "");
    refused("what: x\nlike: broken\n", "broken.cu:23:12: ", "winograd"); /* inherited, and wrong there */
}

/* What `bench list variant` prints is a head that says the same without `like:`. */
static void test_show(void **state)
{
    file("base", BASE "mask: {needs: input, tile: [ROWS, 8]}\ntensor_maps:\n  m: {of: input, box: \"8, 1, 1, 1\", swizzle: 128}\n",
         "/* the words of base */\n__global__ void conv() {}\n");
    file("child", "what: \"it's: a child\"\nlike: base\ntensor_maps: {m: {swizzle: 64}}\nwhere: [q > 1, \"min(q, p) > 1\"]\n",
         "/* own words */\n");
    struct variant *v = loads("child");
    struct text t = {0};
    variant_show(v, &t);
    const char *s = text_get(&t);
    const char *const parts[] = {"op: conv2d",
                                 "# base.cu:2\n",
                                 "what: \"it's: a child\"",
                                 "# child.cu:2\n",
                                 "    box: \"8, 1, 1, 1\"",
                                 "    swizzle: 64",
                                 "# child.cu:4\n",
                                 "own words",
                                 "the code of ",
                                 "the words of base",
                                 "void conv()"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        const char *found = strstr(s, parts[i]);
        if (!found)
            fail_msg("no '%s' in order in\n%s", parts[i], text_get(&t));
        s = found;
    }
    assert_null(strstr(text_get(&t), "like:"));
    char *path = text_format("%s/my/flat.cu", tree_root);
    struct error err = {0};
    assert_true(file_write(path, text_get(&t), t.len, &err));
    struct variant *flat = loads("flat");
    const struct head *a = v->parsed, *b = flat->parsed;
    assert_int_equal(flat->parent_count, 0);
    assert_int_equal(a->where.count, b->where.count);
    assert_int_equal(a->let_count, b->let_count);
    for (int i = 0; i < a->let_count; i++)
        assert_string_equal(expr_text(a->lets[i].expr), expr_text(b->lets[i].expr));
    assert_string_equal(expr_text(a->maps[0].swizzle), "64");
    assert_string_equal(expr_text(b->maps[0].swizzle), "64");
    assert_int_equal(b->maps[0].box.count, 4);
    assert_string_equal(flat->what, v->what);
    variant_free(flat);
    variant_free(v);
    text_free(&t);
    free(path);
}

static int begin(void **state)
{
    return tree_begin() && tree_variant("my/first.cu", BASE) ? 0 : -1;
}
static int end(void **state)
{
    return tree_end() ? 0 : -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_merge), cmocka_unit_test(test_chain), cmocka_unit_test(test_places),
                                       cmocka_unit_test(test_errors), cmocka_unit_test(test_show)};
    return cmocka_run_group_tests(tests, begin, end);
}
