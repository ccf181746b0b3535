/* counter/judge on a group written here and numbers that are known: which rules hold, what they say and what they would gain. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/text.h"
#include "counter/judge.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What is known: names and numbers; words for names. */
struct fact {
    const char *name;
    double value;
    const char *word;
};
static const struct fact *facts;

static double number(void *context, const char *name)
{
    for (const struct fact *f = facts; f->name; f++)
        if (!strcmp(f->name, name))
            return f->value;
    return NAN;
}
static const char *word(void *context, const char *name)
{
    for (const struct fact *f = facts; f->name; f++)
        if (!strcmp(f->name, name))
            return f->word;
    return NULL;
}
static const struct counter_known known = {.fact = number, .word = word};

static struct counter_limits *limits;
static struct counter_group *group_of(const char *values, const char *rules)
{
    struct error err = {0};
    struct counter_group *g;
    char *yaml = text_format("group: t\nabout: a\nteaches: long\nmetrics: {a: u__x.sum}\nvalues:\n%srules:\n%s", values, rules);
    if (!(g = counter_group_parse("t.yaml", yaml, strlen(yaml), limits, &err)))
        fail_msg("%s\n%s", err.text, yaml);
    free(yaml);
    return g;
}
/* The same without counters: a, b and c are what emu counted or a stored number, d is 2 where nobody counted it. */
static struct counter_group *computed(const char *values, const char *rules)
{
    struct error err = {0};
    struct counter_group *g;
    char *yaml = text_format(
        "group: t\nabout: a\nteaches: long\nmetrics: {a: emu.a, b: emu.b, c: {optional: emu.c}, d: {optional: emu.d, else: 2}}\n"
        "values:\n%srules:\n%s",
        values, rules);
    if (!(g = counter_group_parse("t.yaml", yaml, strlen(yaml), limits, &err)))
        fail_msg("%s\n%s", err.text, yaml);
    assert_true(g->computed);
    free(yaml);
    return g;
}

static struct text found;
static double gain;
static void take(void *context, const struct counter_finding *f)
{
    text_addf(&found, "%s%s -> %s", found.len ? "; " : "", f->says, f->remedy);
    gain = f->gain;
}
static void says(const struct counter_group *g, const struct fact *numbers, const char *want)
{
    facts = numbers;
    text_free(&found);
    gain = NAN;
    counter_group_judge(g, &known, take, NULL);
    assert_string_equal(text_get(&found), want);
}

#define ONE "  x: {value: a, unit: \"%\", what: w}\n"

/* Numbers as sentences have them: with units, three digits, whole from a thousand on; times from a microsecond on in those. */
static void numbers_are_said(void **state)
{
    static const struct {
        const char *unit;
        double value;
        const char *said;
    } numbers[] = {{"\"%\"", 12.3456, "12.3 %"}, {"x", 2, "2x"},           {"ns", 999, "999 ns"},      {"ns", 1000, "1 us"},
                   {"ns", 17300, "17.3 us"},     {"ns", 2e6, "2000 us"},   {"B", 1234.4, "1234 B"},    {"B", -1234.4, "-1234 B"},
                   {"\"\"", 0.5, "0.5"},         {"B", 999.4, "999 B"},    {"ns", 1234567, "1235 us"}, {"x", 1500, "1500x"},
                   {"us", 1500, "1500 us"},      {"lanes", 24, "24 lanes"}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        char *values = text_format("  x: {value: a, unit: %s, what: w}\n", numbers[i].unit),
             *want = text_format("[%s] -> do %s", numbers[i].said, numbers[i].said);
        struct counter_group *g = group_of(values, "  - {when: x == x, bottleneck: memory, says: \"[{x}]\", try: \"do {x}\"}\n");
        says(g, (struct fact[]){{"x", numbers[i].value, NULL}, {0}}, want);
        counter_group_free(g);
        free(values);
        free(want);
    }
}

/* A rule holds where its condition does and all that it says is known: numbers, or words in their place; facts have units of their own. */
static void rules_hold(void **state)
{
    struct counter_group *g =
        group_of(ONE "  y: {value: a + 1, unit: x, what: w}\n",
                 "  - {when: x >= conflicts_many, bottleneck: memory, says: \"much {x}\", try: less}\n"
                 "  - {when: x < conflicts_many and y > 0, bottleneck: memory, says: \"little {x} of {y}\", try: \"at {waves}\"}\n"
                 "  - {when: waves > 2, bottleneck: tail, says: \"{waves} of {occupancy_limit}\", try: t}\n");
    says(g, (struct fact[]){{"x", 10, NULL}, {0}}, "much 10 % -> less"); /* harness/counter/limits.yaml */
    says(g, (struct fact[]){{"x", 9.9, NULL}, {"y", 3, NULL}, {"waves", 1, NULL}, {0}}, "little 9.9 % of 3x -> at 1");
    says(g, (struct fact[]){{"x", 9.9, NULL}, {"y", 3, NULL}, {0}}, "");     /* what its remedy names is not known */
    says(g, (struct fact[]){{"x", 9.9, NULL}, {"waves", 1, NULL}, {0}}, ""); /* y is not */
    says(g, (struct fact[]){{"x", NAN, NULL}, {"y", 3, NULL}, {"waves", 1, NULL}, {0}}, "");
    says(g, (struct fact[]){{"waves", 3, NULL}, {"occupancy_limit", NAN, "registers"}, {0}}, "3 of registers -> t");
    says(g, (struct fact[]){{"waves", 3, NULL}, {0}}, "");
    says(g, (struct fact[]){{"x", 12, NULL}, {"waves", 3, NULL}, {"occupancy_limit", NAN, "smem"}, {0}},
         "much 12 % -> less; 3 of smem -> t");
    assert_true(counter_rule_reads(&g->rules[0], "x") && counter_rule_reads(&g->rules[1], "y") &&
                counter_rule_reads(&g->rules[2], "occupancy_limit"));
    assert_false(counter_rule_reads(&g->rules[0], "y") || counter_rule_reads(&g->rules[2], "x") ||
                 counter_rule_reads(&g->rules[1], "wave"));
    assert_true(counter_rule_reads(&g->rules[0], "conflicts_many")); /* in its condition alone */
    counter_group_free(g);
}

/* The first formula of which all is known, and no gain is more than all of the time or less than nothing. */
static void gains(void **state)
{
    struct counter_group *g = group_of(ONE, "  - {when: x > 0, bottleneck: memory, says: s, try: t, gain: [waves - 5, 2 * x], why: w}\n");
    says(g, (struct fact[]){{"x", 10, NULL}, {"waves", 8, NULL}, {0}}, "s -> t");
    assert_true(gain == 3);
    says(g, (struct fact[]){{"x", 10, NULL}, {0}}, "s -> t");
    assert_true(gain == 20);
    says(g, (struct fact[]){{"x", 80, NULL}, {0}}, "s -> t");
    assert_true(gain == 100);
    says(g, (struct fact[]){{"x", 10, NULL}, {"waves", 1, NULL}, {0}}, "s -> t");
    assert_true(gain == 0);
    counter_group_free(g);
    g = group_of(ONE, "  - {when: x > 0, bottleneck: memory, says: s, try: t, gain: none, why: w}\n");
    says(g, (struct fact[]){{"x", 10, NULL}, {0}}, "s -> t");
    assert_true(isnan(gain));
    counter_group_free(g);
}

/* Values of a group without counters are worked out here, from what was counted or what stands for it, and from the values above. */
static void values_are_computed(void **state)
{
    struct counter_group *g = computed(
        "  p: {value: a / b, unit: x, what: w}\n  q: {value: p + d, unit: \"\", what: w}\n  r: {value: c + p, unit: \"\", what: w}\n",
        "  - {when: q > 0, bottleneck: memory, says: \"{p} {q}\", try: t}\n"
        "  - {when: r > 0, bottleneck: memory, says: \"{r}\", try: t}\n");
    says(g, (struct fact[]){{"emu.a", 6, NULL}, {"emu.b", 4, NULL}, {0}}, "1.5x 3.5 -> t");
    says(g, (struct fact[]){{"emu.a", 6, NULL}, {"emu.b", 4, NULL}, {"emu.d", 1, NULL}, {0}}, "1.5x 2.5 -> t");
    says(g, (struct fact[]){{"emu.a", 6, NULL}, {"emu.b", 4, NULL}, {"emu.c", 1, NULL}, {0}}, "1.5x 3.5 -> t; 2.5 -> t");
    says(g, (struct fact[]){{"emu.a", 6, NULL}, {"p", 7, NULL}, {"q", 7, NULL}, {0}}, ""); /* a stored number of the same name is none */
    facts = (struct fact[]){{"emu.a", 6, NULL}, {"emu.b", 4, NULL}, {0}};
    assert_true(counter_group_number(g, 0, &known) == 1.5 && counter_group_number(g, 1, &known) == 3.5 &&
                isnan(counter_group_number(g, 2, &known)));
    counter_group_free(g);
    g = group_of(ONE, "  - {when: x > 0, bottleneck: memory, says: s, try: t}\n");
    facts = (struct fact[]){{"x", 6, NULL}, {"u__x.sum", 4, NULL}, {0}};
    assert_true(counter_group_number(g, 0, &known) == 6); /* as it is stored */
    counter_group_free(g);
}

/* harness/counter/limits.yaml of another installation. */
static void limits_are(const char *home, const char *yaml, const char *mistake)
{
    struct error err = {0};
    char *path = text_format("%s/harness/counter/limits.yaml", home);
    assert_true(file_write(path, yaml, strlen(yaml), &err));
    struct counter_limits *l = counter_limits_load(&err);
    if (mistake && (l || !strstr(err.text, mistake)))
        fail_msg("'%s', want '%s'", l ? "accepted" : err.text, mistake);
    if (!mistake) {
        assert_non_null(l);
        assert_int_equal(l->count, 2);
        assert_true(counter_limit(l, "busy") == 80 && counter_limit(l, "twice") == 2.5 && isnan(counter_limit(l, "other")));
        assert_string_equal(l->items[0].unit, "%");
        assert_string_equal(l->items[0].why, "so");
        assert_string_equal(l->items[1].unit, "");
        assert_true(isnan(counter_limit(NULL, "busy")));
    }
    counter_limits_free(l);
    free(path);
}

/* Each limit has a number, a unit and a reason, once. */
static void limits_are_read(void **state)
{
    char home[] = "/tmp/test_limits_XXXXXX", *before = xstrdup(getenv("BENCH_HOME"));
    assert_non_null(mkdtemp(home));
    char *make = text_format("mkdir -p %s/harness/counter", home), *remove = text_format("rm -r %s", home);
    assert_int_equal(system(make), 0);
    setenv("BENCH_HOME", home, 1);
    limits_are(home, "busy: {value: 80, unit: \"%\", why: so}\ntwice: {value: 2.5, unit: \"\", why: as}\n", NULL);
    limits_are(home, "busy: {value: 80, unit: \"%\", why: so}\ntwice: {value: 2.5, unit: x}\n",
               "limits.yaml:2:8: a limit needs value:, unit: and why:; why:");
    limits_are(home, "busy: {unit: x, why: so}\n", "limits.yaml:1:7: a limit needs value:, unit: and why:; value:");
    limits_are(home, "busy: {value: 1, why: so}\n", "unit: is missing");
    limits_are(home, "busy: {value: many, unit: x, why: so}\n", "limits.yaml:1:15:");
    limits_are(home, "busy: {value: -1, unit: x, why: so}\n", "limits.yaml:1:15:");
    limits_are(home, "busy: {value: 1, unit: x, why: [so]}\n", "limits.yaml:1:32:");
    limits_are(home, "busy: {value: 1, unit: x, why: so, wy: so}\n", "limits.yaml:1:36:");
    limits_are(home, "busy: {value: 1, unit: x, why: so}\nbusy: {value: 1, unit: x, why: so}\n", "busy");
    limits_are(home, "[busy]\n", "a map of limits is expected");
    limits_are(home, "{", "limits.yaml:");
    setenv("BENCH_HOME", before, 1);
    assert_int_equal(system(remove), 0);
    free(make);
    free(remove);
    free(before);
}

static int set_up(void **state)
{
    struct error err = {0};
    setenv("BENCH_HOME", ".", 0);
    return !(limits = counter_limits_load(&err));
}
static int tear_down(void **state)
{
    text_free(&found);
    counter_limits_free(limits);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(numbers_are_said), cmocka_unit_test(rules_hold), cmocka_unit_test(gains),
                                       cmocka_unit_test(values_are_computed), cmocka_unit_test(limits_are_read)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
