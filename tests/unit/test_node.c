/* base/node: positions, aliases and merges against hand-counted texts; every class of hostile text against its place and its words. */
#include "base/node.h"
#include "base/file.h"
#include "base/text.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

static struct node *parse(const char *text, struct error *err)
{
    memset(err, 0, sizeof *err);
    return node_parse_text("f.yaml", text, strlen(text), 1, 1, err);
}

static struct node *good(const char *text)
{
    struct error err;
    struct node *n = parse(text, &err);
    if (!n)
        fail_msg("%s\n%s", text, err.text);
    return n;
}

/* The error begins with `place`, holds `words`, is one line and a usage error. */
static void refused_bytes(const char *text, size_t bytes, const char *place, const char *words)
{
    struct error err = {0};
    struct node *n = node_parse_text("f.yaml", text, bytes, 1, 1, &err);
    if (n)
        fail_msg("accepted: %.60s", text);
    assert_int_equal(err.kind, ERROR_USAGE);
    if (strncmp(err.text, place, strlen(place)) || err.text[strlen(place)] != ':' || !strstr(err.text, words) || strchr(err.text, '\n'))
        fail_msg("got `%s`, want `%s: ... %s`", err.text, place, words);
}

static void refused(const char *text, const char *place, const char *words)
{
    refused_bytes(text, strlen(text), place, words);
}

static void at(const struct node *n, int line, int column)
{
    assert_non_null(n);
    assert_int_equal(n->line, line);
    assert_int_equal(n->column, column);
}

static void positions_are_exact(void **state)
{
    struct node *n = good("# a comment\n"
                          "one: 1\n"
                          "two: {three: [4, five],\n"
                          "      \"six\": 'sev en'}\n"
                          "\xc3\xa4\xc3\xb6: [\xe2\x82\xac, x]\r\n"
                          "last: >\n"
                          "  folded\n"
                          "  text\n"
                          "none: ~\n"
                          "empty:\n");
    at(n, 2, 1);
    at(node_get(n, "one"), 2, 6);
    at(node_key(n, "two"), 3, 1);
    const struct node *two = node_get(n, "two");
    at(two, 3, 6);
    at(node_key(two, "three"), 3, 7);
    at(node_get(two, "three")->items[1], 3, 18);
    at(node_key(two, "six"), 4, 7);
    at(node_get(two, "six"), 4, 14);
    assert_true(node_get(two, "six")->quoted);
    assert_string_equal(node_get(two, "six")->text, "sev en");
    const struct node *umlaut = node_get(n, "\xc3\xa4\xc3\xb6"); /* columns are characters, not bytes */
    at(umlaut, 5, 5);
    at(umlaut->items[1], 5, 9);
    at(node_get(n, "last"), 6, 7);
    assert_string_equal(node_get(n, "last")->text, "folded text\n");
    assert_int_equal(node_get(n, "none")->kind, NODE_NULL);
    assert_int_equal(node_get(n, "empty")->kind, NODE_NULL);
    assert_null(node_get(n, "absent"));
    assert_null(node_get(node_get(n, "one"), "one"));
    node_free(n);
    struct error err = {0}; /* inside another file */
    n = node_parse_text("k.cu", "a: 1\nb: 2\n", 10, 7, 4, &err);
    at(node_key(n, "a"), 7, 4);
    at(node_key(n, "b"), 8, 1);
    assert_string_equal(n->items[1]->file, "k.cu");
    node_free(n);
    n = good("\xef\xbb\xbfz: 1"); /* a byte order mark takes no column */
    at(node_key(n, "z"), 1, 1);
    node_free(n);
}

static void aliases_and_merges(void **state)
{
    struct node *n = good("base: &b {h: 1, w: 2}\n"
                          "more: &m {w: 20, z: 30}\n"
                          "own: {w: 3, <<: *b}\n"
                          "list: {<<: [*m, *b], x: 9}\n"
                          "inline: {<<: {h: 7}, h: 8}\n"
                          "&k key: [*k, &k again, *k]\n");
    const struct node *own = node_get(n, "own"), *list = node_get(n, "list");
    assert_int_equal(own->count, 2);
    assert_string_equal(node_get(own, "w")->text, "3");
    assert_string_equal(node_get(own, "h")->text, "1");
    at(node_get(own, "h"), 1, 14); /* an error is in what was written there */
    assert_int_equal(list->count, 4);
    assert_string_equal(node_get(list, "w")->text, "20"); /* the earlier of the list wins */
    assert_string_equal(node_get(list, "h")->text, "1");
    assert_int_equal(node_get(n, "inline")->count, 1);
    assert_string_equal(node_get(node_get(n, "inline"), "h")->text, "8");
    const struct node *key = node_get(n, "key");
    assert_string_equal(key->items[0]->text, "key");
    assert_string_equal(key->items[2]->text, "again");
    node_free(n);
    n = good("{\"<<\": 1}"); /* quoted, it is a key like any other */
    assert_string_equal(n->keys[0]->text, "<<");
    node_free(n);
    refused("a: {<<: 5}", "f.yaml:1:4", "<< needs a map");
    refused("a: {<<: [{x: 1}, y]}", "f.yaml:1:4", "<< needs a map");
    refused("a: {<<: {x: 1}, <<: {y: 2}}", "f.yaml:1:17", "'<<' is listed twice");
    refused("a: &a {x: {<<: *a}}", "f.yaml:1:16", "be endless");
}

static void hostile_structure(void **state)
{
    refused("a: 1\nb: 2\na: 3\nb: 4\n", "f.yaml:3:1", "key 'a' is repeated (first in line 1)");
    refused("x: {y: 1,\n    y: 2}", "f.yaml:2:5", "key 'y' is repeated");
    refused("a: &a\n  b: [1, *a]", "f.yaml:2:10", "be endless");
    refused("&r [*r]", "f.yaml:1:5", "be endless");
    refused("a: *nothing", "f.yaml:1:4", "no anchor &nothing");
    refused("? [a, b]\n: 1", "f.yaml:1:3", "a key must be a word");
    refused("? {a: b}\n: 1", "f.yaml:1:3", "a key must be a word");
    refused("a: &x 1\n*x : 2", "f.yaml:2:1", "a key must be a word");
    refused("\"\": 1", "f.yaml:1:1", "a key is empty");
    refused("a: 1\n---\nb: 2", "f.yaml:2:1", "second document");
    refused("a: !include other.yaml", "f.yaml:1:4", "tag !include is not supported here");
    refused("a: !!python/object:os.system x", "f.yaml:1:4", "is not supported here");
    refused("a: !!map {b: 1}", "f.yaml:1:4", "is not supported here");
    refused("", "f.yaml:1:1", "nothing is in it");
    refused("# only a comment\n", "f.yaml:2:1", "nothing is in it");
    refused("{{{{ : [", "f.yaml:1:2", "a key must be a word");
    refused("a: [1, 2\nb: 3", "f.yaml:2:2", "begins in line 1");
    refused("a: b: c", "f.yaml:1:5", "mapping values");
    refused("%YAML 9.9\n---\na: 1", "f.yaml:1:1", "not YAML");
    struct error err;
    assert_null(parse("a:\n\tb: 1\n", &err));
    assert_non_null(strstr(err.text, "f.yaml:2:1: not YAML"));
    assert_non_null(strstr(err.hint, "tab"));
    assert_null(parse("a: @b\n", &err));
    assert_non_null(strstr(err.hint, "'@' in quotes"));
}

static void hostile_bytes(void **state)
{
    refused_bytes("a: 1\nb: \0x", 10, "f.yaml:2:4", "NUL byte");
    refused_bytes("\0\0\0\0", 4, "f.yaml:1:1", "NUL byte");
    refused("\xc3\xa4: \xff", "f.yaml:1:4", "byte 0xff is not UTF-8");
    refused("a: \xc0\x80", "f.yaml:1:4", "not UTF-8");         /* NUL, overlong */
    refused("a: \xed\xa0\x80", "f.yaml:1:4", "not UTF-8");     /* a surrogate */
    refused("a: \xf4\x90\x80\x80", "f.yaml:1:4", "not UTF-8"); /* beyond U+10FFFF */
    refused("a: \xe2\x82", "f.yaml:1:4", "not UTF-8");         /* cut off */
    refused("\xff\xfe"
            "a",
            "f.yaml:1:1", "not UTF-8"); /* UTF-16 */
    refused("a: x\x1b[31m", "f.yaml:1:5", "U+001B");
    refused("a: x\xe2\x80\xa8y", "f.yaml:1:5", "U+2028");
    refused("a: x\xef\xbb\xbf", "f.yaml:1:5", "U+FEFF");
    refused("a: \"\\0\"", "f.yaml:1:4", "control character");
    refused("a: \"\\e[31m\"", "f.yaml:1:4", "control character");
    refused("a: \"\\x9b\"", "f.yaml:1:4", "control character");
    refused("\"\\b\": 1", "f.yaml:1:1", "control character");
    struct node *n = good("a: \"tab\\t line\\n \xc3\xa4 \xf0\x9f\x98\x80\"");
    assert_string_equal(n->items[0]->text, "tab\t line\n \xc3\xa4 \xf0\x9f\x98\x80");
    node_free(n);
}

static char *repeated(const char *begin, const char *piece, int count, const char *end)
{
    struct text t = {0};
    text_add(&t, begin);
    for (int i = 0; i < count; i++)
        text_add(&t, piece);
    text_add(&t, end);
    return text_take(&t);
}

static void refuse_and_free(char *text, const char *place, const char *words)
{
    refused(text, place, words);
    free(text);
}

static void limits_hold(void **state)
{
    clock_t start = clock();
    refuse_and_free(repeated("", "[", 5000, ""), "f.yaml:1:65", "nested deeper than 64");
    refuse_and_free(repeated("", "{a: ", 5000, ""), "f.yaml:1:257", "nested deeper than 64");
    refuse_and_free(repeated("", "- ", 5000, "x"), "f.yaml:1:129", "nested deeper than 64");
    char *deep = repeated("", "[", 64, "x"), *whole = repeated(deep, "]", 64, "");
    node_free(good(whole));
    free(whole);
    free(deep);

    struct text t = {0}; /* ten billion laughs */
    text_add(&t, "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for (int i = 1; i < 10; i++) {
        text_addf(&t, "a%d: &a%d [", i, i);
        for (int k = 0; k < 10; k++)
            text_addf(&t, "*a%d, ", i - 1);
        text_add(&t, "]\n");
    }
    refuse_and_free(text_take(&t), "f.yaml:6:10", "more than 200000 values");

    text_add(&t, "a0: &a0 [[[[[[[[[[[[[[[[[[[[x]]]]]]]]]]]]]]]]]]]]\n"); /* depth that grows by aliases */
    for (int i = 1; i < 6; i++)
        text_addf(&t, "a%d: &a%d [[[[[[[[[[[[[[[[[[[[*a%d]]]]]]]]]]]]]]]]]]]]\n", i, i, i - 1);
    refuse_and_free(text_take(&t), "f.yaml:4:29", "an alias is nested deeper than 64 levels");

    text_add(&t, "a: &a "); /* one long text, many aliases */
    for (int i = 0; i < 100000; i++)
        text_add(&t, "long");
    text_add(&t, "\nb: [");
    for (int i = 0; i < 1000; i++)
        text_add(&t, "*a, ");
    refuse_and_free(text_take(&t), "f.yaml:2:165", "bytes of text");

    text_add(&t, "[");
    for (int i = 0; i < 300; i++)
        text_addf(&t, "&a%d x, ", i);
    refuse_and_free(text_take(&t), "f.yaml:1:2196", "more than 256 anchors");

    for (int i = 0; i < 99000; i++) /* many keys, all different: quick and right */
        text_addf(&t, "k%d: 1\n", i);
    char *many = text_take(&t);
    struct node *n = good(many);
    assert_int_equal(n->count, 99000);
    assert_string_equal(n->keys[98999]->text, "k98999");
    node_free(n);
    refuse_and_free(text_format("%sk7: 2\n", many), "f.yaml:99001:1", "key 'k7' is repeated (first in line 8)");
    free(many);
    assert_true((double)(clock() - start) / CLOCKS_PER_SEC < 4);
}

static void files_that_are_none(void **state)
{
    struct error err = {0};
    char path[] = "/tmp/test_node.XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, 100000000), 0);
    assert_null(node_parse_file(path, &err));
    assert_non_null(strstr(err.text, "100000000 bytes"));
    assert_int_equal(ftruncate(fd, 0), 0);
    assert_int_equal(write(fd, "a: {b: 1}\n", 10), 10);
    close(fd);
    struct node *n = node_parse_file(path, &err);
    assert_non_null(n);
    assert_string_equal(n->items[0]->file, path);
    node_free(n);
    unlink(path);
    assert_null(node_parse_file(path, &err));
    assert_null(node_parse_file("/tmp", &err));
    char *big = repeated("", "a", NODE_MAX_BYTES + 1, "");
    memset(&err, 0, sizeof err);
    assert_null(node_parse_text("f.yaml", big, NODE_MAX_BYTES + 1, 1, 1, &err));
    assert_non_null(strstr(err.text, "at most 4194304"));
    free(big);
}

#define REFUSED(call, words) \
    do { \
        memset(&err, 0, sizeof err); \
        assert_false(call); \
        if (!strstr(err.text, words) || strncmp(err.text, "f.yaml:", 7)) \
            fail_msg("got `%s`, want `%s`", err.text, words); \
    } while (0)

static void numbers(void **state)
{
    struct error err;
    int64_t i = -1;
    double d = -1;
    bool b = false;
    struct node *n = good("[12, '12', -3, 1.5, 99999999999999999999, x, 0x10, 1e3, nan, .inf, yes, false, maybe, [1], ~]");
    struct node **v = n->items;
    assert_true(node_int(v[0], "n", 1, 12, &i, &err) && i == 12);
    assert_true(node_int(v[2], "n", -3, 0, &i, &err) && i == -3);
    i = 77;
    REFUSED(node_int(v[0], "n", 1, 11, &i, &err), "f.yaml:1:2: n: 12 is not between 1 and 11");
    REFUSED(node_int(v[1], "n", 1, 20, &i, &err), "not the quoted text '12'");
    REFUSED(node_int(v[3], "n", 1, 20, &i, &err), "not 1.5");
    REFUSED(node_int(v[4], "n", 1, 20, &i, &err), "99999999999999999999");
    REFUSED(node_int(v[5], "n", 1, 20, &i, &err), "n: an integer is expected, not 'x'");
    REFUSED(node_int(v[6], "n", 1, 20, &i, &err), "0x10");
    REFUSED(node_int(v[7], "n", 1, 20000, &i, &err), "1e3");
    REFUSED(node_int(v[13], "n", 1, 20, &i, &err), "a list of 1");
    REFUSED(node_int(v[14], "n", 1, 20, &i, &err), "nothing");
    assert_int_equal(i, 77);
    assert_true(node_real(v[7], "d", 0, 2000, &d, &err) && d == 1000);
    REFUSED(node_real(v[8], "d", 0, 1, &d, &err), "a number is expected");
    REFUSED(node_real(v[9], "d", 0, 1, &d, &err), "a number is expected");
    REFUSED(node_real(v[3], "d", 0, 1, &d, &err), "not between 0 and 1");
    assert_true(node_bool(v[10], "b", &b, &err) && b);
    assert_true(node_bool(v[11], "b", &b, &err) && !b);
    REFUSED(node_bool(v[12], "b", &b, &err), "yes or no");
    assert_string_equal(node_text(v[1], "t", &err), "12");
    REFUSED(node_text(v[13], "t", &err), "t: a word is expected, not a list of 1");
    node_free(n);
}

static void quantities(void **state)
{
    static const struct {
        const char *text, *unit;
        double want; /* NAN: refused */
    } cases[] = {{"0.5 %", "%", 0.005},     {"2%", "%", 0.02},     {"0", "%", 0},     {"0.5", "%", NAN},    {"20 s", "s", 20},
                 {"5 us", "s", 5e-6},       {"2 min", "s", 120},   {"20", "s", 20},   {"20 B", "s", NAN},   {"20 m", "s", NAN},
                 {"64 MiB", "B", 67108864}, {"1 MB", "B", 1e6},    {"2x", "", 2},     {"2", "", 2},         {"2 %", "", NAN},
                 {"s", "s", NAN},           {"1e999 s", "s", NAN}, {"- s", "s", NAN}, {"20 s s", "s", NAN}, {"[1]", "s", NAN}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct error err = {0};
        struct node *n = good(cases[i].text);
        double d = 0;
        bool ok = node_quantity(n, "it", cases[i].unit, &d, &err);
        if (isnan(cases[i].want) ? ok : !ok || !(fabs(d - cases[i].want) <= 1e-12 * fabs(cases[i].want)))
            fail_msg("%s as %s: %d %g", cases[i].text, cases[i].unit, ok, d);
        node_free(n);
    }
}

static void words_and_keys(void **state)
{
    static const char *const words[] = {"isolated", "sustained", NULL};
    struct error err;
    struct node *n = good("{load: isolatd, x: sustained,\n kernle: 3, y: {}}");
    memset(&err, 0, sizeof err);
    assert_int_equal(node_word(node_get(n, "x"), "load", words, &err), 1);
    assert_int_equal(node_word(node_get(n, "load"), "load", words, &err), -1);
    assert_string_equal(err.text, "f.yaml:1:8: load: 'isolatd' is not known");
    assert_string_equal(err.hint, "did you mean 'isolated'? Known: isolated, sustained");
    static const char *const keys[] = {"load", "x", "y", "kernel", NULL};
    assert_false(node_check_keys(n, "layer 'up'", keys, &err));
    assert_string_equal(err.text, "f.yaml:2:2: layer 'up': unknown key 'kernle'");
    assert_string_equal(err.hint, "did you mean 'kernel'? Known: load, x, y, kernel");
    REFUSED(node_check_keys(node_get(n, "x"), "time", keys, &err), "time: a map is expected, not 'sustained'");
    assert_false(node_check_keys(NULL, "time", keys, &err));
    char *d = node_describe(node_get(n, "y"));
    assert_string_equal(d, "a map of 0 keys");
    free(d);
    node_free(n);
    n = good("\"a long\\ntext of more than sixty bytes, with an umlaut at the cut \xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4 and more\"");
    d = node_describe(n);
    assert_null(strchr(d, '\n'));
    assert_true(strlen(d) <= 65);
    free(d);
    node_free(n);
}

/* What is written is one line of flow style, and reads back as it was: also texts that need their quotes. */
static void written_nodes_read_back(void **state)
{
    (void)state;
    const char *const want = "{a: [1, 2.5, relu], b: {c: null, \"d e\": \"12\"}, f: \"x, y: [\\\"z\\\\\", g: 3 * h + 1, i: [], j: {}}";
    struct node *first = good("a: [1, 2.5, relu]\nb:\n  c:\n  'd e': '12'\nf: 'x, y: [\"z\\'\ng: 3 * h + 1\ni: []\nj: {}\n");
    SCOPED_TEXT once = {0}, twice = {0};
    node_write(first, &once);
    assert_string_equal(text_get(&once), want);
    struct node *second = good(text_get(&once));
    node_write(second, &twice);
    assert_string_equal(text_get(&twice), want);
    node_free(first);
    node_free(second);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(positions_are_exact),
        cmocka_unit_test(aliases_and_merges),
        cmocka_unit_test(hostile_structure),
        cmocka_unit_test(hostile_bytes),
        cmocka_unit_test(limits_hold),
        cmocka_unit_test(files_that_are_none),
        cmocka_unit_test(numbers),
        cmocka_unit_test(quantities),
        cmocka_unit_test(words_and_keys),
        cmocka_unit_test(written_nodes_read_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
