/* counter/group: what a group file may contain; each mistake is one error at its own place (counted by hand); the shipped groups load. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "base/text.h"
#include "counter/group.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TOP "group: t\nabout: a\nteaches: long\n"
#define METRICS "metrics:\n  a: u__x.sum\n  b: [u__y.sum, v__y.sum]\n"
#define VALUES "values:\n  r: {value: a / b, unit: x, what: ratio}\n"

static struct counter_group *load(const char *yaml, struct error *err)
{
    *err = (struct error){0};
    return counter_group_parse("t.yaml", yaml, strlen(yaml), NULL, err);
}

static void rejects(const char *yaml, const char *message, const char *hint)
{
    struct error err;
    struct counter_group *g = load(yaml, &err);
    if (g)
        fail_msg("accepted:\n%s", yaml);
    if (!strstr(err.text, message))
        fail_msg("'%s' is not in '%s'", message, err.text);
    if (hint && !strstr(err.hint, hint))
        fail_msg("'%s' is not in the hint '%s' of '%s'", hint, err.hint, err.text);
    assert_int_equal(err.kind, ERROR_USAGE);
}

/* A metric whose name begins the name of one that was told before is told as well. */
static void test_names(void **state)
{
    struct error err;
    struct text names = {0};
    struct counter_group *g = load(TOP "metrics:\n  a: u__x.sum.per_second\n  b: u__x.sum\n" VALUES, &err);
    assert_non_null(g);
    counter_value_metrics(g, 0, &names);
    assert_string_equal(text_get(&names), "u__x.sum.per_second, u__x.sum");
    text_free(&names);
    counter_group_free(g);
}

static void test_good(void **state)
{
    struct error err;
    struct counter_group *g =
        load(TOP METRICS "  c: {optional: u__z.avg.per_second}\n" VALUES "  s: {value: 100 * r + c, unit: \"%\", what: w}\n"
                         "rules:\n  - {when: s >= 10 and waves < 1, bottleneck: tail, says: \"{s} of {waves}\", try: t}\n",
             &err);
    if (!g)
        fail_msg("%s", err.text);
    assert_string_equal(g->name, "t");
    assert_int_equal(g->metric_count, 3);
    assert_int_equal(g->metrics[1].count, 2);
    assert_string_equal(g->metrics[1].choices[1], "v__y.sum");
    assert_false(g->metrics[0].optional);
    assert_true(g->metrics[2].optional);
    assert_int_equal(counter_group_value(g, "s"), 1);
    assert_int_equal(counter_group_value(g, "a"), -1);
    assert_int_equal(g->rule_count, 1);
    assert_int_equal(g->rules[0].bottleneck, COUNTER_BOTTLENECK_TAIL);
    struct text names = {0};
    counter_value_metrics(g, 1, &names); /* those of r, which its formula reads, and its own */
    assert_string_equal(text_get(&names), "u__x.sum, u__y.sum, u__z.avg.per_second");
    text_free(&names);
    counter_group_free(g);
}

static void test_mistakes(void **state)
{
    rejects("", "t.yaml:", NULL);
    rejects("- 1\n", "t.yaml:1:1: ", NULL);
    rejects(TOP METRICS "values:\n  wait: {value: a / b, what: w, state: barrier}\n",
            "the share of the state 'barrier' must have the name 'stall_barrier'", NULL);
    rejects(TOP METRICS, "a counter group needs values:", NULL);
    rejects(TOP METRICS VALUES "rulez: []\n", "t.yaml:9:1: ", "rules");
    rejects(TOP "metrics: []\n" VALUES, "t.yaml:4:10: metrics: a map of names is expected", NULL);
    rejects(TOP METRICS "values: 1\n", "t.yaml:7:9: values: a map of names is expected", NULL);
    rejects(TOP "metrics:\n  a: dram\n" VALUES, "t.yaml:5:6: 'dram' is not a CUPTI metric", NULL);
    rejects(TOP "metrics:\n  a: dram__bytes\n" VALUES, "t.yaml:5:6: 'dram__bytes' is not a CUPTI metric", NULL);
    rejects(TOP "metrics:\n  a: \"u__x.s%sm\"\n" VALUES, "t.yaml:5:6: ", NULL);
    rejects(TOP "metrics:\n  a: []\n" VALUES, "t.yaml:5:6: metric 'a' has no names", NULL);
    rejects(TOP "metrics:\n  a: [u__x.sum, u__x.sum]\n" VALUES, "t.yaml:5:17: 'u__x.sum' is listed twice", NULL);
    rejects(TOP "metrics:\n  a: {optionl: u__x.sum}\n" VALUES, "t.yaml:5:7: ", "optional");
    rejects(TOP "metrics:\n  a: {optional: u__x.sum, else: none}\n" VALUES, "t.yaml:5:33: ", NULL);
    rejects(TOP "metrics:\n  a: {else: 0}\n" VALUES, "optional: and its names are expected", NULL);
    rejects("basic: perhaps\n" TOP METRICS VALUES, "t.yaml:1:8: ", NULL);
    rejects(TOP "metrics:\n  A: u__x.sum\n" VALUES, "t.yaml:5:3: 'A' is not a name", NULL);
    rejects(TOP "metrics:\n  and: u__x.sum\n" VALUES, "t.yaml:5:3: 'and' is not a name", NULL);
    rejects(TOP "metrics:\n  waves: u__x.sum\n" VALUES, "t.yaml:5:3: 'waves' is the name of a fact", NULL);
    rejects(TOP METRICS "values:\n  a: {value: b, what: w}\n", "t.yaml:8:3: 'a' is listed twice", NULL);
    rejects(TOP METRICS "values:\n  r: {value: a / bb, what: w}\n", "t.yaml:8:18: ", "b");
    rejects(TOP METRICS "values:\n  r: {value: s, what: w}\n  s: {value: a / b, what: w}\n", "t.yaml:8:14: ", NULL); /* only values above */
    rejects(TOP METRICS "values:\n  r: {value: frob(a), what: w}\n", "t.yaml:8:14: ", NULL);
    rejects(TOP METRICS "values:\n  r: {value: a / , what: w}\n", "t.yaml:8:", NULL);
    rejects(TOP METRICS "values:\n  r: {value: a / b}\n", "t.yaml:8:6: value 'r' needs value: and what:", NULL);
    rejects(TOP METRICS "values:\n  r: {value: a / b, unit: 0123456789abcdef, what: w}\n", "t.yaml:8:27: unit ", NULL);
    rejects(TOP METRICS "values:\n  r: {value: a, what: w}\n", "t.yaml:6:6: metric 'b' is collected but no formula uses it", NULL);
    rejects(TOP METRICS VALUES "rules: {}\n", "t.yaml:9:8: rules: a list is expected", NULL);
    rejects(TOP METRICS VALUES "rules:\n  - {when: r > 1, bottleneck: latency, says: s}\n", "t.yaml:10:5: a rule needs", NULL);
    rejects(TOP METRICS VALUES "rules:\n  - {when: r > 1, bottleneck: memoir, says: s, try: t}\n", "t.yaml:10:31: ", "memory");
    rejects(TOP METRICS VALUES "rules:\n  - {when: rr > 1, bottleneck: memory, says: s, try: t}\n", "t.yaml:10:12: ", "r");
    rejects(TOP METRICS VALUES "rules:\n  - {when: r > 1, bottleneck: memory, says: \"{wave}\", try: t}\n",
            "t.yaml:10:45: {wave} is neither a value", "{waves}");
    /* a row stores values, so a rule that names a metric would never be said */
    rejects(TOP METRICS VALUES "rules:\n  - {when: r > 1, bottleneck: memory, says: \"{a}\", try: t}\n",
            "t.yaml:10:45: {a} is neither a value", NULL);
    rejects(TOP METRICS VALUES "rules:\n  - {when: a > 1, bottleneck: memory, says: s, try: t}\n", "t.yaml:10:12: ", NULL);
    rejects(TOP METRICS VALUES "rules:\n  - {when: r > 1, bottleneck: memory, says: s, try: t, gain: r}\n",
            "t.yaml:10:5: a rule needs both gain: and why:", NULL);
    rejects(TOP METRICS VALUES "rules:\n  - {when: r > 1, bottleneck: memory, says: s, try: t, gain: [], why: w}\n",
            "t.yaml:10:62: gain: none,", NULL);
    rejects(TOP METRICS "values:\n  r: {value: a / b, what: w, brief: yes}\n", "t.yaml:8:37: value 'r': brief: needs head:", NULL);
    rejects(TOP METRICS "values:\n  r: {value: a / b, what: w, more: m}\n", "t.yaml:8:6: value 'r': more: and from: need each other", NULL);
    rejects(TOP METRICS "values:\n  r: {value: a / b, what: w, from: 2, more: \"{ration}x\"}\n",
            "t.yaml:8:45: {ration}: only {ratio}, {this}", NULL);
    rejects(TOP METRICS "values:\n  r: {value: a / b, what: w, from: 2, more: \"x [of\"}\n", "t.yaml:8:45: a [ has no ]", NULL);
    rejects(TOP METRICS "values:\n  r: {value: a / b, what: w, from: 2, more: \"x of]\"}\n", "t.yaml:8:45: a ] has no other", NULL);
    rejects(TOP METRICS VALUES "rules:\n  - {when: r > 1, bottleneck: memory, says: \"{r\", try: t}\n", "t.yaml:10:45: a { has no }", NULL);
}

static void test_find(void **state)
{
    struct counter_groups groups;
    struct error err = {0};
    if (!counter_groups_load("harness/counter/groups", NULL, &groups, &err))
        fail_msg("%s", err.text);
    static const char *const wanted[] = {"core",   "roofline", "memory",     "l2",     "coalescing", "shared", "occupancy",
                                         "stalls", "tensor",   "divergence", "spills", "launch",     "pipes"}; /* as a page has them */
    assert_int_equal(groups.count, (int)(sizeof wanted / sizeof *wanted));
    for (int i = 0; i < groups.count; i++) {
        const struct counter_group *g = groups.items[i];
        assert_string_equal(g->name, wanted[i]);
        assert_true(strlen(g->teaches) > 400); /* a paragraph, not a placeholder */
        assert_true(g->rule_count > 0);
        assert_ptr_equal(counter_groups_find(&groups, wanted[i], &err), g);
    }
    assert_null(counter_groups_find(&groups, "spill", &err));
    assert_string_equal(err.hint, "spills");
    assert_int_equal(err.kind, ERROR_USAGE);
    assert_null(counter_groups_find(&groups, "nowhere/x.yaml", &err));
    struct node *n = node_parse_text("s.yaml", "counters: [core, memry]\n", 24, 1, 1, &err);
    assert_non_null(n);
    assert_false(counter_groups_check(&groups, node_get(n, "counters"), &err));
    assert_non_null(strstr(err.text, "s.yaml:1:18: no counter group 'memry'"));
    assert_string_equal(err.hint, "memory");
    assert_true(counter_groups_check(&groups, NULL, &err));
    node_free(n);
    counter_groups_free(&groups);
}

static void test_files(void **state)
{
    struct error err = {0};
    struct counter_groups groups;
    char dir[] = "/tmp/groupsXXXXXX";
    assert_non_null(mkdtemp(dir));
    assert_false(counter_groups_load(dir, NULL, &groups, &err));
    assert_non_null(strstr(err.text, "the folder has no counter groups"));
    char *path = text_format("%s/other.yaml", dir);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(TOP METRICS VALUES, f);
    fclose(f);
    assert_false(counter_groups_load(dir, NULL, &groups, &err));
    assert_non_null(strstr(err.text, "other.yaml:1:8: the group has the name 't', but the file other.yaml"));
    unlink(path);
    rmdir(dir);
    free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_names), cmocka_unit_test(test_good), cmocka_unit_test(test_mistakes),
                                       cmocka_unit_test(test_find), cmocka_unit_test(test_files)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
