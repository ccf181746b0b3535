/* counter/choice: what --set, --group, --metrics and a scenario's `counters:` come to, and what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "counter/choice.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct node *list(const char *text)
{
    struct error err = {0};
    struct node *n = node_parse_text("s.yaml", text, strlen(text), 1, 1, &err);
    if (!n)
        fail_msg("%s", err.text);
    return n;
}

/* The chosen groups, then the metrics, blank-separated. */
static void chooses(struct counter_wish wish, const char *scenario, const char *want)
{
    struct counter_choice c;
    struct error err = {0};
    struct node *n = scenario ? list(scenario) : NULL;
    char got[512] = "";
    if (!counter_choose(&wish, n, &c, &err))
        fail_msg("%s", err.text);
    for (int i = 0; i < c.count; i++)
        strcat(strcat(got, *got ? " " : ""), c.groups[i]->name);
    for (int i = 0; i < c.metric_count; i++)
        strcat(strcat(got, *got ? " " : ""), c.metrics[i]);
    assert_string_equal(got, want);
    counter_choice_free(&c);
    node_free(n);
}

static void refuses(struct counter_wish wish, const char *scenario, const char *text, const char *hint)
{
    struct counter_choice c;
    struct error err = {0};
    struct node *n = scenario ? list(scenario) : NULL;
    assert_false(counter_choose(&wish, n, &c, &err));
    assert_int_equal(err.kind, ERROR_USAGE);
    if (!strstr(err.text, text))
        fail_msg("'%s' is not in '%s'", text, err.text);
    assert_string_equal(err.hint, hint);
    assert_null(c.groups);
    node_free(n);
}

#define BASIC "core memory coalescing shared occupancy stalls divergence spills launch"
#define FULL "core roofline memory l2 coalescing shared occupancy stalls tensor divergence spills launch pipes"

static void test_chosen(void **state)
{
    const char *const two[] = {"core, spills", "core", NULL}, *const metrics[] = {"a__b.sum , ,c__d.avg", "a__b.sum", NULL},
                      *const one[] = {"spills", NULL}, *const more[] = {"a__b.sum", "longer__than.before,c__d.avg", "e__f.sum", NULL};
    chooses((struct counter_wish){0}, NULL, BASIC);
    chooses((struct counter_wish){0}, "[tensor, core]", "tensor core");
    chooses((struct counter_wish){.set = "basic"}, "[tensor]", BASIC);
    chooses((struct counter_wish){.set = "full"}, NULL, FULL);
    chooses((struct counter_wish){.groups = two}, "[tensor]", "core spills");
    chooses((struct counter_wish){.metrics = metrics}, "[tensor]", "a__b.sum c__d.avg");
    chooses((struct counter_wish){.groups = one}, "[tensor]", "spills");
    chooses((struct counter_wish){.metrics = more}, NULL, "a__b.sum longer__than.before c__d.avg e__f.sum");
    chooses((struct counter_wish){.metrics = metrics, .groups = two}, NULL, "core spills a__b.sum c__d.avg");
    chooses((struct counter_wish){.off = true}, "[tensor]", "");
}

static void test_refused(void **state)
{
    const char *const wrong[] = {"core,shard", NULL}, *const empty[] = {",", NULL}, *const none[] = {"", NULL},
                      *const metric[] = {"a__b.sum", NULL}, *const core[] = {"core", NULL};
    refuses((struct counter_wish){0}, "[core, memroy]", "s.yaml:1:8: no counter group 'memroy'", "memory");
    refuses((struct counter_wish){.off = true}, "[memroy]", "s.yaml:1:2: no counter group", "memory");
    refuses((struct counter_wish){.set = "ful"}, NULL, "there is no counter set 'ful'; the sets are basic and full", "full");
    refuses((struct counter_wish){.groups = wrong}, NULL, "no counter group 'shard'", "shared");
    refuses((struct counter_wish){.groups = empty}, NULL, "--group names nothing", "");
    refuses((struct counter_wish){.metrics = none}, NULL, "--metrics names nothing", "");
    refuses((struct counter_wish){.off = true, .set = "full"}, NULL, "--no-counters excludes the other options", "");
    refuses((struct counter_wish){.off = true, .metrics = metric}, NULL, "--no-counters excludes the other options", "");
    refuses((struct counter_wish){.off = true, .groups = core}, NULL, "--no-counters excludes the other options", "");
    refuses((struct counter_wish){.off = true, .required = true}, NULL, "--no-counters excludes the other options", "");
}

static void test_slow(void **state)
{
    (void)state;
    assert_true(counter_row_is_slow(10.1e6, 10.1e6));
    assert_false(counter_row_is_slow(9.9e6, 9.9e6));
    assert_false(counter_row_is_slow(9.9e6, 2e6)); /* 4.95 times */
    assert_true(counter_row_is_slow(9.9e6, 1.9e6));
    assert_true(counter_row_is_slow(2.1e6, 0.1e6));
    assert_false(counter_row_is_slow(1.9e6, 0.1e6));
    assert_false(counter_row_is_slow(NAN, 1e3));
    assert_false(counter_row_is_slow(3e6, INFINITY));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_chosen), cmocka_unit_test(test_refused), cmocka_unit_test(test_slow)};
    if (!getenv("BENCH_HOME"))
        setenv("BENCH_HOME", ".", 1); /* tests run from the root of the repository */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
