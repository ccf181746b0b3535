/* variant/candidates: which row of a table a work takes, and every mistake in one at its place. */
#include "binding.h"
#include "kernel/head/head.h"
#include "kernel/head/load.h"
#include <unistd.h>

#define TOP "op: conv2d\nwhat: x\n"
#define STEPS "steps:\n  - kernel: k\n    grid: pieces, side\n    block: 32\n"
/* conv() is 48 pixels wide: the rows cost 2 * 37, 3 * 24 and 6 * thin. A let hangs on the row, and the cost on the let. */
#define TABLE \
    "params:\n  THIN: {values: [50, 12, 11], default: 50}\nlet:\n  pieces: ceil(q, side)\ncandidates:\n  way:\n    rows:\n" \
    "      wide: {side: 40, cost: 37}\n      even: {side: 16, cost: 24}\n      thin: {side: 8, cost: THIN}\n    least: pieces * cost\n"

/* The one program of the head `yaml`. */
static bool bound(const char *yaml, const char *params, struct error *err)
{
    bool done;
    struct work w = conv();
    struct variant_set whole = set;
    assert_true(tree_variant("table/t.cu", yaml));
    char *extra = text_format("table=%s/table", tree_root);
    if (!variant_set_load((const char *const[]){extra, NULL}, &set, err))
        fail_msg("%s in\n%s", err->text, yaml);
    bind_point("table/t", params, &w, &hopper, &done, err);
    variant_set_free(&set);
    set = whole;
    free(extra);
    return done;
}

static void takes(const char *yaml, const char *params, unsigned x, unsigned y)
{
    struct error err = {0};
    if (!bound(yaml, params, &err) || !p.feasible)
        fail_msg("%s %s for\n%s", err.text, p.reason ? p.reason : "", yaml);
    assert_int_equal(p.steps[0].grid[0], x);
    assert_int_equal(p.steps[0].grid[1], y);
}

static void test_least(void **state)
{
    takes(TOP TABLE STEPS, NULL, 3, 16);
    takes(TOP TABLE STEPS, "{THIN: 12}", 3, 16); /* 72 and 72: the first of equals */
    takes(TOP TABLE STEPS, "{THIN: 11}", 6, 8);
    /* a table's own name is the text of the row */
    takes(TOP TABLE "define: {X: way}\nsteps:\n  - kernel: k\n    grid: select(way == 'even', 7, 9), 1\n    block: 32\n", NULL, 7, 1);
    assert_string_equal(p.units[0].defines[1], "X=even");
    /* reals compare with whole numbers */
    takes(TOP "candidates:\n  t:\n    rows: {a: {side: 3}, b: {side: 2}}\n    least: select(side == 3, 2.5, 2)\nlet: {pieces: 1}\n" STEPS,
          NULL, 1, 2);
}

static void test_when(void **state)
{
    /* without `least` the first that may be; a row that may not be is never the cheapest */
    takes(TOP "let: {pieces: 1}\ncandidates:\n  t:\n    rows:\n      a: {when: c > 64, side: 1}\n      b: {when: k == 64, side: 2}\n      "
              "c: {side: 3}\n" STEPS,
          NULL, 1, 2);
    takes(TOP "let: {pieces: 1}\ncandidates:\n  t:\n    rows:\n      a: {when: side < 1, side: 1}\n      b: {side: 5}\n      c: {side: "
              "4}\n    least: side\n" STEPS,
          NULL, 1, 4);
    struct error err = {0};
    assert_true(bound(
        TOP "let: {pieces: 1}\ncandidates:\n  t:\n    rows:\n      a: {when: c > 64, side: 1}\n      b: {when: k > 99, side: 2}\n" STEPS,
        NULL, &err));
    assert_false(p.feasible);
    assert_string_equal(p.reason,
                        "no candidate of 't' is possible (a needs c to be more than 64 (c = 64); b needs k to be more than 99 (k = 64))");
    assert_int_equal(err.kind, ERROR_NONE);
}

/* The choice of one table may need that of another, and is made anew for each row that is tried. */
static void test_two_tables(void **state)
{
    takes(TOP "let:\n  pieces: ceil(q, edge)\ncandidates:\n  inner:\n    rows: {x: {side: 3}, y: {side: 4}}\n    least: select(edge == 40, "
              "side, 9 - side)\n"
              "  outer:\n    rows: {a: {edge: 40}, b: {edge: 12}}\n    least: pieces * edge\n" STEPS,
          NULL, 4, 4); /* 80 and 48: edge 12, so side 4 */
    takes(TOP "let:\n  pieces: ceil(q, edge)\ncandidates:\n  inner:\n    rows: {x: {side: 3}, y: {side: 4}}\n    least: side\n"
              "  outer:\n    rows: {a: {edge: 40}, b: {edge: 12}}\n    least: select(edge == 40, side, 2 * side)\n" STEPS,
          NULL, 2, 3);
}

/* The head is refused at its place. */
static void refused(const char *yaml, const char *place, const char *message, const char *hint)
{
    struct error err = {0};
    assert_true(tree_variant("table/bad.cu", yaml));
    char *path = text_format("%s/table/bad.cu", tree_root), *want = text_format("bad.cu:%s: %s", place, message);
    struct variant *v = variant_load(path, "my", &err);
    if (v)
        fail_msg("accepted:\n%s", yaml);
    if (!strstr(err.text, want))
        fail_msg("'%s' lacks '%s'", err.text, want);
    if (hint && !strstr(err.hint, hint))
        fail_msg("hint '%s' lacks '%s'", err.hint, hint);
    assert_int_equal(unlink(path), 0);
    free(path);
    free(want);
}

#define C "candidates:\n"
#define PLAIN TOP "steps:\n  - kernel: k\n    grid: n\n    block: 32\n" C /* the first table begins in line 9 */
static void test_errors(void **state)
{
    refused(TOP STEPS "candidates: [1]\n", "8:13", "candidates must be a map", NULL);
    refused(PLAIN "  t: {row: {a: {x: 1}}}\n", "9:7", "", "rows");
    refused(PLAIN "  t: {least: 1}\n", "9:3", "candidates 't' needs `rows:`", NULL);
    refused(PLAIN "  t: {rows: [1]}\n", "9:13", "candidates 't' needs `rows:`", NULL);
    refused(PLAIN "  t: {rows: {a: 1}}\n", "9:17", "a row of t must be a map", NULL);
    refused(PLAIN "  t: {rows: {a: {x: 1}, b: {y: 1}}}\n", "9:29", "row 'b' of t: unknown key 'y'", "x");
    refused(PLAIN "  t: {rows: {a: {x: 1, y: 2}, b: {x: 1}}}\n", "9:31", "row 'b' of t has no `y`, which the first row has", NULL);
    refused(PLAIN "  2t: {rows: {a: {x: 1}}}\n", "9:3", "candidates '2t' is not a C name", NULL);
    refused(PLAIN "  t: {rows: {a-b: {x: 1}}}\n", "9:14", "row 'a-b' is not a C name", NULL);
    refused(PLAIN "  t: {rows: {a: {x: min(c, 4)}}}\n", "9:28", "value '4)' is not a C name", "put the expression in quotes");
    refused(PLAIN "  t: {rows: {a: {h: 1}}}\n", "9:18", "value 'h': that name is already a symbol of the op", NULL);
    refused(PLAIN "  t: {rows: {a: {x: 1}}}\nlet: {x: 1}\n", "9:18", "value 'x': a let has that name already", NULL);
    refused(PLAIN "  t: {rows: {a: {x: 1}}}\n  u: {rows: {a: {x: 1}}}\n", "10:18", "value 'x': a value has that name already", NULL);
    refused(PLAIN "  t: {rows: {a: {x: chanels}}}\n", "9:21", "unknown name 'chanels'", NULL);
    refused(PLAIN "  t: {rows: {a: {x: 1, when: cc >> 1}}}\n", "9:34", "", NULL);
    refused(PLAIN "  t: {rows: {a: {x: 1}}, least: xx}\n", "9:33", "unknown name 'xx'", NULL);
    refused(PLAIN "  t: {rows: {a: {x: y}}}\nlet: {y: x + 1}\n", "10:7", "let 'y' uses itself: y -> x -> y", NULL);
    refused(PLAIN "  t: {rows: {a: {x: 1, z: z}}}\n", "9:24", "value 'z' uses itself: z -> z", NULL);
    refused(PLAIN "  t: {rows: {a: {x: 1}}, least: y}\n  u: {rows: {a: {y: 1}}, least: half}\nlet: {half: x}\n", "9:3",
            "candidates 't' and 'u' depend on each other", NULL);
    struct error err = {0};
    assert_false(
        bound(TOP "let: {pieces: 1}\ncandidates:\n  t:\n    rows: {a: {side: 1}, b: {side: 2}}\n    least: dtype\n" STEPS, NULL, &err));
    assert_non_null(strstr(err.text, "t.cu:8:12: least of candidates 't' must be a number, not the text 'f16'"));
    assert_false(bound(TOP "let: {pieces: 1}\ncandidates:\n  t:\n    rows: {a: {side: 1}}\n    least: 1 / (c - 64)\n" STEPS, NULL, &err));
    assert_non_null(strstr(err.text, "t.cu:8:14: division by zero"));
    struct text many = {0};
    text_add(&many, PLAIN "  t:\n    rows:\n");
    for (int i = 0; i < HEAD_MAX_ROWS + 1; i++)
        text_addf(&many, "      r%d: {x: 1}\n", i);
    refused(text_get(&many), "11:7", "candidates 't' has 17 rows; at most 16", NULL);
    text_free(&many);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_least), cmocka_unit_test(test_when), cmocka_unit_test(test_two_tables),
                                       cmocka_unit_test(test_errors)};
    return cmocka_run_group_tests(tests, load_all, drop_all);
}
