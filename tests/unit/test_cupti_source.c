/* device/cupti_pc and device/cupti_sass against a stand-in libcupti (tests/fake/cupti.cpp): samples and instructions arrive complete; each
 * failing function is one explained error; PC sampling, SASS metrics and the range profiler do not disturb each other. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "device/cupti/pc.h"
#include "device/cupti/sass.h"
#include "fake_cupti.h"

static bool two_kernels(void *context, int index, struct error *err)
{
    launch_fake(2);
    return true;
}

static void session_counts(struct cupti_session *s)
{
    static const char *const metric[] = {"fake__c.sum"};
    struct cupti_job job = {metric, 1, 2, .pass = two_kernels};
    struct cupti_counts c;
    struct error err = {0};
    if (!cupti_count(s, &job, &c, &err))
        fail_msg("%s", err.text);
    assert_true(c.range_count == 2 && c.values[0] == 1002 && c.values[1] == 2002);
    cupti_counts_free(&c);
}

static uint64_t samples_at(const struct cupti_samples *s, uint64_t offset, const char *reason)
{
    uint64_t sum = 0;
    for (int i = 0; i < s->count; i++)
        if (s->items[i].offset == offset && !strcmp(s->items[i].reason, reason))
            sum += s->items[i].samples;
    return sum;
}

/* launch_three: each PC is met three times, read two at a time. */
static void samples_right(struct cupti_pc *pc)
{
    struct cupti_samples s;
    struct error err = {0};
    if (!cupti_pc_run(pc, 9, launch_three, NULL, &s, &err))
        fail_msg("%s", err.text);
    assert_int_equal(s.count, 18); /* three launches, three places, two reasons: the one that only repeats is left out */
    assert_int_equal(s.total, 3 * (5 + 6 + 7) + 9);
    assert_true(samples_at(&s, 0, "a") == 15 && samples_at(&s, 16, "a") == 18 && samples_at(&s, 32, "a") == 21);
    assert_true(samples_at(&s, 0, "b") == 3 && samples_at(&s, 32, "b") == 3);
    for (int i = 0; i < s.count; i++)
        assert_string_equal(s.items[i].function, "kernel");
    cupti_samples_free(&s);
}

static void test_pc_sampling(void **state)
{
    need_fake();
    static const char *const at_open[] = {"cuptiPCSamplingEnable", "cuptiPCSamplingGetNumStallReasons", "cuptiPCSamplingGetStallReasons",
                                          "cuptiPCSamplingSetConfigurationAttribute"},
                             *const at_run[] = {"cuptiPCSamplingSetConfigurationAttribute", "cuptiPCSamplingStart", "cuptiPCSamplingStop",
                                                "cuptiPCSamplingGetData"};
    struct cupti_pc *pc;
    struct cupti_samples s;
    struct error err = {0};
    for (size_t i = 0; i < sizeof at_open / sizeof *at_open; i++) {
        char *ask = text_format("%s=35", at_open[i]);
        setenv("FAKE_CUPTI", ask, 1);
        assert_false(cupti_pc_open((void *)&folder, &pc, &err));
        assert_null(pc);
        assert_int_equal(err.kind, ERROR_ENVIRONMENT);
        assert_non_null(strstr(err.text, at_open[i]));
        unsetenv("FAKE_CUPTI");
        free(ask);
    }
    assert_true(cupti_pc_open((void *)&folder, &pc, &err));
    samples_right(pc);
    samples_right(pc);
    for (size_t i = 0; i < sizeof at_run / sizeof *at_run; i++) {
        char *ask = text_format("%s=27", at_run[i]);
        setenv("FAKE_CUPTI", ask, 1);
        assert_false(cupti_pc_run(pc, 10, launch_three, NULL, &s, &err));
        assert_null(s.items);
        assert_non_null(strstr(err.text, at_run[i]));
        unsetenv("FAKE_CUPTI");
        free(ask);
        samples_right(pc);
    }
    assert_false(cupti_pc_run(pc, 9, launch_three, pc, &s, &err));
    assert_non_null(strstr(err.text, "the kernel trapped"));
    setenv("FAKE_CUPTI_SAMPLES_LOST", "4", 1);
    assert_true(cupti_pc_run(pc, 9, launch_three, NULL, &s, &err));
    assert_true(s.dropped > 0 && samples_at(&s, 0, "a") > 0);
    cupti_samples_free(&s);
    cupti_pc_close(pc);
    struct cupti_session *session = open_session(); /* a session can follow */
    session_counts(session);
    cupti_session_close(session);
}

static uint64_t counted_at(const struct cupti_sass_counts *c, uint64_t offset, int metric)
{
    for (int i = 0; i < c->count; i++)
        if (c->items[i].offset == offset && c->items[i].metric == metric)
            return c->items[i].value;
    return 0;
}

static void instructions_right(struct cupti_sass *sass)
{
    struct cupti_sass_counts c;
    struct error err = {0};
    if (!cupti_sass_run(sass, launch_three, NULL, &c, &err))
        fail_msg("%s", err.text);
    assert_int_equal(c.count, 3); /* nobody asked for the fourth */
    assert_true(counted_at(&c, 0, 0) == 30 && counted_at(&c, 0, 2) == 60 &&
                counted_at(&c, 16, 0) == 90); /* the second name is no metric of the chip */
    assert_string_equal(c.items[0].function, "kernel");
    cupti_sass_counts_free(&c);
}

/* Behind test_pc_sampling, as CUPTI wants it; in one process the metrics are set once. */
static void test_sass_metrics(void **state)
{
    need_fake();
    static const char *const metrics[] = {"fake_sass_a", "no_such", "fake_sass_b"}, *const none[] = {"no_such"},
                             *const at_open[] = {"cuptiProfilerInitialize", "cuptiDeviceGetChipName", "cuptiSassMetricsSetConfig"},
                             *const at_run[] = {"cuptiSassMetricsEnable", "cuptiSassMetricsGetDataProperties", "cuptiSassMetricsFlushData",
                                                "cuptiSassMetricsDisable"};
    struct cupti_sass *sass;
    struct cupti_sass_counts c;
    struct error err = {0};
    for (size_t i = 0; i < sizeof at_open / sizeof *at_open; i++) {
        char *ask = text_format("%s=35", at_open[i]);
        setenv("FAKE_CUPTI", ask, 1);
        assert_false(cupti_sass_open((void *)&folder, 0, metrics, 3, &sass, &err));
        assert_null(sass);
        assert_int_equal(err.kind, ERROR_ENVIRONMENT);
        assert_non_null(strstr(err.text, at_open[i]));
        unsetenv("FAKE_CUPTI");
        free(ask);
    }
    assert_false(cupti_sass_open((void *)&folder, 0, none, 1, &sass, &err));
    assert_non_null(strstr(err.text, "FAKE1"));
    assert_true(cupti_sass_open((void *)&folder, 0, metrics, 3, &sass, &err));
    instructions_right(sass);
    instructions_right(sass);
    for (size_t i = 0; i < sizeof at_run / sizeof *at_run; i++) {
        char *ask = text_format("%s=27", at_run[i]);
        setenv("FAKE_CUPTI", ask, 1);
        assert_false(cupti_sass_run(sass, launch_three, NULL, &c, &err));
        assert_null(c.items);
        assert_non_null(strstr(err.text, at_run[i]));
        unsetenv("FAKE_CUPTI");
        free(ask);
        instructions_right(sass);
    }
    assert_false(cupti_sass_run(sass, launch_three, sass, &c, &err));
    assert_non_null(strstr(err.text, "the kernel trapped"));
    setenv("FAKE_CUPTI_SASS_LOST", "4", 1);
    assert_false(cupti_sass_run(sass, launch_three, NULL, &c, &err));
    assert_non_null(strstr(err.text, "dropped 4"));
    unsetenv("FAKE_CUPTI_SASS_LOST");
    struct cupti_session *session = open_session(); /* at rest, it lets the others work */
    session_counts(session);
    cupti_session_rest(session);
    instructions_right(sass);
    cupti_session_close(session);
    struct cupti_pc *pc;
    assert_true(cupti_pc_open((void *)&folder, &pc, &err));
    samples_right(pc);
    cupti_pc_close(pc);
    instructions_right(sass);
    cupti_sass_close(sass);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_pc_sampling), cmocka_unit_test(test_sass_metrics)};
    if (!getenv("BENCH_HOME"))
        setenv("BENCH_HOME", ".", 1); /* tests run from the root of the repository */
    return cmocka_run_group_tests(tests, build_fake, remove_fake);
}
