/* counter/set: fallbacks, merging, values and verdicts, against numbers worked out by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "counter/judge.h"
#include "counter/set.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GROUP(name) "group: " name "\nabout: a\nteaches: long\n"
static const char one[] =
    GROUP("one") "metrics:\n  a: u__a.sum\n  b: [u__b.sum, v__b.sum]\n  c: {optional: u__c.sum}\n"
                 "values:\n  half: {value: a / 2, unit: B, what: w}\n  ratio: {value: 100 * half / b, unit: \"%\", what: w}\n"
                 "  extra: {value: c + half, what: w}\n  per_wave: {value: a / waves, what: w}\n"
                 "rules:\n  - {when: ratio >= 10, bottleneck: conflicts, says: \"{ratio}, {half}\", try: \"less than {ratio}\"}\n"
                 "  - {when: ratio > 1000, bottleneck: memory, says: never, try: t}\n"
                 "  - {when: per_wave > 0, bottleneck: tail, says: \"{waves} waves\", try: t}\n"
                 "  - {when: extra > 0, bottleneck: spills, says: s, try: t}\n";
static const char two[] = GROUP(
    "two") "metrics:\n  a: u__a.sum\n  d: u__d.sum\nvalues:\n  half: {value: a / 2, unit: B, what: v}\n  both: {value: a + d, what: w}\n";
/* the same words, but `a` is something else */
static const char liar[] = GROUP("liar") "metrics:\n  a: u__z.sum\nvalues:\n  half: {value: a / 2, unit: B, what: v}\n";

static struct counter_group *load(const char *text)
{
    struct error err = {0};
    struct counter_group *g = counter_group_parse("g.yaml", text, strlen(text), NULL, &err);
    if (!g)
        fail_msg("%s", err.text);
    return g;
}

static bool has(void *context, const char *metric)
{
    for (const char *const *m = context; *m; m++)
        if (!strcmp(*m, metric))
            return true;
    return false;
}

static double waves(void *context, const char *name)
{
    return strcmp(name, "waves") ? NAN : *(double *)context;
}

struct seen {
    int count;
    enum counter_bottleneck bottleneck[8];
    char says[8][80], advice[8][80];
};

static void see(void *context, const struct counter_finding *f)
{
    struct seen *s = context;
    assert_true(s->count < 8);
    s->bottleneck[s->count] = f->rule->bottleneck;
    snprintf(s->says[s->count], sizeof s->says[0], "%s", f->says);
    snprintf(s->advice[s->count++], sizeof s->advice[0], "%s", f->remedy);
}

/* What a report has of a row: the values that were stored, and facts. */
struct stored {
    const struct counter_group *group;
    const double *values, *waves;
};

static double stored_number(void *context, const char *name)
{
    const struct stored *s = context;
    int i = counter_group_value(s->group, name);
    return i >= 0 ? s->values[i] : s->waves ? waves((void *)s->waves, name) : NAN;
}

static void judge(const struct counter_set *set, const double *measured, const double *wave_count, struct seen *seen)
{
    double values[4];
    struct stored s = {set->picks[0].group, values, wave_count};
    struct counter_known facts = {.fact = waves, .context = (void *)wave_count};
    counter_set_values(set, 0, measured, wave_count ? &facts : NULL, values);
    counter_group_judge(s.group, &(struct counter_known){.fact = stored_number, .context = &s}, see, seen);
}

static void list(void *context, const struct counter_value *value, double number)
{
    char *text = context;
    snprintf(text + strlen(text), 200 - strlen(text), "%s=%g%s ", value->name, number, value->unit);
}

static void test_merge_and_values(void **state)
{
    const char *const there[] = {"u__a.sum", "v__b.sum", "u__d.sum", NULL}; /* b by its second name, no c */
    struct counter_chip chip = {"X1", has, (void *)there};
    struct counter_group *g1 = load(one), *g2 = load(two);
    const struct counter_group *both[] = {g1, g2, g1};
    const char *const extra[] = {"w__e.avg", "u__d.sum"};
    struct counter_set set;
    struct error err = {0};
    if (!counter_set_make(both, 3, extra, 2, &chip, &set, &err))
        fail_msg("%s", err.text);
    assert_int_equal(set.count, 4); /* e, d, a, b: a and d once */
    assert_string_equal(set.metrics[0], "w__e.avg");
    assert_string_equal(set.metrics[1], "u__d.sum");
    assert_string_equal(set.metrics[2], "u__a.sum");
    assert_string_equal(set.metrics[3], "v__b.sum");
    assert_int_equal(set.pick_count, 2);
    assert_true(counter_set_offers(&set, 0, 1));
    assert_false(counter_set_offers(&set, 0, 2)); /* needs c */
    assert_true(counter_set_offers(&set, 0, 3));
    const double measured[] = {7, 5, 4000, 8000};
    double values[4], w = 4;
    struct counter_known facts = {.fact = waves, .context = &w};
    counter_set_values(&set, 0, measured, &facts, values);
    assert_true(values[0] == 2000 && values[1] == 25 && isnan(values[2]) && values[3] == 1000);
    counter_set_values(&set, 0, measured, NULL, values);
    assert_true(values[1] == 25 && isnan(values[3]));
    counter_set_values(&set, 1, measured, NULL, values);
    assert_true(values[0] == 2000 && values[1] == 4005);
    char all[200] = "";
    counter_set_each(&set, measured, &facts, list, all); /* `extra` is absent, `half` of the second group is the same column */
    assert_string_equal(all, "half=2000B ratio=25% per_wave=1000 both=4005 ");
    struct seen seen = {0};
    judge(&set, measured, &w, &seen);
    assert_int_equal(seen.count, 2);
    assert_int_equal(seen.bottleneck[0], COUNTER_BOTTLENECK_CONFLICTS);
    assert_string_equal(seen.says[0], "25 %, 2000 B");
    assert_string_equal(seen.advice[0], "less than 25 %");
    assert_int_equal(seen.bottleneck[1], COUNTER_BOTTLENECK_TAIL);
    assert_string_equal(seen.says[1], "4 waves");
    int which[4];
    g2->metrics[0].slow = g2->metrics[1].slow = true; /* a and d */
    assert_int_equal(counter_set_slow(&set, which), 3);
    assert_true(which[0] == 0 && which[1] == 1 && which[2] == 2);
    set.metrics[2] = "u__sass_a.sum";
    assert_int_equal(counter_set_slow(&set, which), 2);
    assert_true(which[0] == 0 && which[1] == 1);
    counter_set_free(&set);
    counter_group_free(g1);
    counter_group_free(g2);
}

static void test_absent(void **state)
{
    const char *const there[] = {"u__a.sum", "u__b.sum", "u__c.sum", NULL};
    struct counter_chip chip = {"X1", has, (void *)there};
    struct counter_group *g = load(one);
    struct counter_set set;
    struct error err = {0};
    assert_true(counter_set_make((const struct counter_group *const[]){g}, 1, NULL, 0, &chip, &set, &err));
    assert_string_equal(set.metrics[1], "u__b.sum"); /* the preferred name */
    double values[4];
    struct seen seen = {0};
    counter_set_values(&set, 0, (double[]){4, 0, 1}, NULL, values); /* divides by zero: absent, and no verdict */
    assert_true(values[0] == 2 && isnan(values[1]) && values[2] == 3);
    counter_set_values(&set, 0, (double[]){4, NAN, 1}, NULL, values); /* a dropped metric */
    assert_true(values[0] == 2 && isnan(values[1]) && values[2] == 3);
    judge(&set, (double[]){4, NAN, NAN}, NULL, &seen);
    assert_int_equal(seen.count, 0);
    judge(&set, (double[]){4, 1, NAN}, NULL, &seen); /* 200 % */
    assert_int_equal(seen.count, 1);
    judge(&set, (double[]){4, 1000, NAN}, NULL, &seen); /* 0.2 % */
    assert_int_equal(seen.count, 1);
    counter_set_free(&set);
    counter_group_free(g);
}

/* What a chip without the metric cannot do stands as a number, so that a sum with it is still there. */
static void test_otherwise(void **state)
{
    struct counter_group *g =
        load(GROUP("o") "metrics:\n  a: u__a.sum\n  m: {optional: u__m.sum, else: 0}\nvalues:\n  left: {value: a - m, what: w}\n");
    static const char *const without[] = {"u__a.sum", NULL}, *const with[] = {"u__a.sum", "u__m.sum", NULL};
    for (int k = 0; k < 2; k++) {
        struct counter_chip chip = {"X", has, (void *)(k ? with : without)};
        struct counter_set set;
        struct error err = {0};
        double measured[] = {10, 3}, value;
        assert_true(counter_set_make((const struct counter_group *const *)&g, 1, NULL, 0, &chip, &set, &err));
        assert_int_equal(set.count, k + 1);
        assert_true(counter_set_offers(&set, 0, 0));
        counter_set_values(&set, 0, measured, NULL, &value);
        assert_true(value == (k ? 7 : 10));
        counter_set_free(&set);
    }
    counter_group_free(g);
}

static void test_refused(void **state)
{
    const char *const there[] = {"u__a.sum", "u__z.sum", "u__b.sum", NULL}, *const few[] = {"u__a.sum", NULL};
    struct counter_chip chip = {"X1", has, (void *)there}, poor = {"X0", has, (void *)few};
    struct counter_group *g = load(one), *l = load(liar);
    struct counter_set set;
    struct error err = {0};
    assert_false(counter_set_make((const struct counter_group *const[]){g}, 1, NULL, 0, &poor, &set, &err));
    assert_non_null(strstr(err.text, "g.yaml:6:6: X0 has no metric for 'b' (u__b.sum, v__b.sum)"));
    assert_false(counter_set_make((const struct counter_group *const[]){g, l}, 2, NULL, 0, &chip, &set, &err));
    assert_non_null(strstr(err.text, "value 'half' is 'a / 2' in group one"));
    assert_false(counter_set_make(NULL, 0, NULL, 0, &chip, &set, &err));
    assert_int_equal(err.kind, ERROR_USAGE);
    counter_group_free(g);
    counter_group_free(l);
}

static void test_slow_metrics(void **state)
{
    static const char text[] =
        GROUP("some") "slow: %s\nmetrics:\n  a: u__a.sum\n  b: u__b.sum\n  c: u__sass_c.sum\nvalues:\n  v: {value: a, unit: B, what: v}\n"
                      "  w: {value: b + c, unit: B, what: w}\n";
    static const struct {
        const char *slow;
        int count, which[2];
    } of[] = {{"yes", 2, {0, 1}}, {"no", 0, {0}}, {"[b]", 1, {1}}, {"[b, c]", 1, {1}}, {"[b, a]", 2, {0, 1}}};
    const char *const there[] = {"u__a.sum", "u__b.sum", "u__sass_c.sum", NULL};
    struct counter_chip chip = {"X1", has, (void *)there};
    struct error err = {0};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        SCOPED char *said = text_format(text, of[i].slow);
        struct counter_group *g = load(said);
        struct counter_set set;
        int which[4];
        assert_true(counter_set_make((const struct counter_group *const[]){g}, 1, NULL, 0, &chip, &set, &err));
        assert_int_equal(counter_set_slow(&set, which), of[i].count);
        for (int k = 0; k < of[i].count; k++)
            assert_int_equal(which[k], of[i].which[k]);
        counter_set_free(&set);
        counter_group_free(g);
    }
    SCOPED char *wrong = text_format(text, "[a, e]");
    assert_null(counter_group_parse("g.yaml", wrong, strlen(wrong), NULL, &err));
    assert_non_null(strstr(err.text, "the group has no metric 'e'"));
}

/* A metric that is asked for by itself is a group's, too, were it the first; of groups that are not slow none is. */
static void test_once_and_not_slow(void **state)
{
    const char *const there[] = {"u__a.sum", "u__b.sum", "u__d.sum", NULL}, *const extra[] = {"u__a.sum"};
    struct counter_chip chip = {"X1", has, (void *)there};
    struct counter_group *g1 = load(one), *g2 = load(two);
    const struct counter_group *both[] = {g1, g2};
    struct counter_set set;
    struct error err = {0};
    int which[8];
    assert_true(counter_set_make(both, 2, extra, 1, &chip, &set, &err));
    assert_int_equal(set.count, 3);
    assert_int_equal(counter_set_slow(&set, which), 0);
    counter_set_free(&set);
    counter_group_free(g1);
    counter_group_free(g2);
}

/* One name with one meaning: a metric of one group and a value of the other are two, whichever is first. */
static void test_metric_or_value(void **state)
{
    static const char *const texts[] = {GROUP("m") "metrics:\n  size: u__a.sum\nvalues:\n  v: {value: size * 2, unit: B, what: w}\n",
                                        GROUP("f") "metrics:\n  other: u__b.sum\nvalues:\n  size: {value: other, unit: B, what: w}\n  v: "
                                                   "{value: size * 2, unit: B, what: w}\n"};
    const char *const there[] = {"u__a.sum", "u__b.sum", NULL};
    struct counter_chip chip = {"X1", has, (void *)there};
    for (int first = 0; first < 2; first++) {
        struct counter_group *a = load(texts[first]), *b = load(texts[!first]);
        const struct counter_group *both[] = {a, b};
        struct counter_set set;
        struct error err = {0};
        assert_false(counter_set_make(both, 2, NULL, 0, &chip, &set, &err));
        assert_non_null(strstr(err.text, "a name must have one meaning"));
        counter_group_free(a);
        counter_group_free(b);
    }
}

/* What is made of an absent fact is absent, though a number could be made of it. */
static void test_of_what_is_absent(void **state)
{
    struct counter_group *g = load(GROUP(
        "g") "metrics:\n  a: u__a.sum\nvalues:\n  u: {value: a, unit: B, what: w}\n  v: {value: \"min(waves, 5)\", unit: B, what: w}\n");
    double count = 9, out = 0;
    struct counter_known known = {.fact = waves, .context = &count};
    assert_true(counter_compute(g->values[1].expr, &known, &out) && out == 5);
    count = NAN;
    assert_false(counter_compute(g->values[1].expr, &known, &out));
    counter_group_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_once_and_not_slow), cmocka_unit_test(test_slow_metrics),
                                       cmocka_unit_test(test_metric_or_value),   cmocka_unit_test(test_of_what_is_absent),
                                       cmocka_unit_test(test_merge_and_values),  cmocka_unit_test(test_absent),
                                       cmocka_unit_test(test_otherwise),         cmocka_unit_test(test_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
