/* device/cupti_range against a stand-in libcupti (tests/fake/cupti.cpp) that returns made-up counts and fails on request: what a count
 * returns; a dropped or renamed kernel is noticed; if any function fails with any code, there is one explained error, and counting works
 * again afterwards. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "device/cupti/error.h"
#include "device/cupti/trace.h"
#include "fake_cupti.h"
#include <math.h>

/* A pass that launches so many kernels; in pass `fails` it does so with an error. */
struct work {
    int kernels, fails, passes, before;
};

static bool before(void *context, int index, struct error *err)
{
    struct work *w = context;
    assert_int_equal(index, w->passes);
    w->before++;
    return true;
}

static bool pass(void *context, int index, struct error *err)
{
    struct work *w = context;
    assert_int_equal(index, w->passes);
    w->passes++;
    launch_fake(w->kernels);
    return index != w->fails || error_set(err, ERROR_WRONG, "the kernel trapped");
}

static const char *const metrics[] = {"fake__c.sum", "fake__a.sum", "fake__h.sum", "fake__b.sum", "fake__g.sum"};

static bool count(struct cupti_session *s, struct work *w, struct cupti_counts *counts, struct error *err)
{
    struct cupti_job job = {metrics, 5, 4, .pass = pass, .before = before, .context = w};
    return cupti_count(s, &job, counts, err);
}

static void counts_right(struct cupti_session *s)
{
    struct work w = {.kernels = 3, .fails = -1};
    struct cupti_counts c;
    struct error err = {0};
    if (!count(s, &w, &c, &err))
        fail_msg("%s", err.text);
    assert_int_equal(w.passes, 3); /* five metrics, two a pass */
    assert_int_equal(w.before, 3);
    assert_int_equal(c.passes, 3);
    assert_int_equal(c.range_count, 3);
    assert_int_equal(c.metric_count, 5);
    for (int r = 0; r < 3; r++) {
        const double *v = c.values + r * 5;
        assert_true(v[0] == 1000 * (r + 1) + 2 && v[1] == 1000 * (r + 1) && isnan(v[2]) && v[3] == 1000 * (r + 1) + 1 &&
                    v[4] == 1000 * (r + 1) + 6);
    }
    cupti_counts_free(&c);
}

static void test_counts(void **state)
{
    need_fake();
    struct cupti_session *s = open_session();
    assert_string_equal(cupti_name(cupti_session_chip(s)), "FAKE1");
    assert_true(cupti_has(cupti_session_chip(s), "fake__a.sum"));
    counts_right(s);
    counts_right(s); /* one session, many counts: CUPTI's numbers go on, the places do not */
    cupti_session_close(s);
    s = open_session();
    counts_right(s);
    cupti_session_close(s);
}

static void fails(struct cupti_session *s, struct work w, enum error_kind kind, const char *text)
{
    struct cupti_counts c;
    struct error err = {0};
    if (count(s, &w, &c, &err))
        fail_msg("counted in spite of: %s", text);
    if (!strstr(err.text, text))
        fail_msg("'%s' is not in '%s'", text, err.text);
    assert_int_equal(err.kind, kind);
    assert_null(c.values);
}

static void test_wrong_passes(void **state)
{
    need_fake();
    struct cupti_session *s = open_session();
    fails(s, (struct work){.kernels = 3, .fails = 1}, ERROR_WRONG, "counting pass 2 of 3: the kernel trapped");
    counts_right(s);
    fails(s, (struct work){.fails = -1}, ERROR_ENVIRONMENT, "dropped 0 kernels and returned 0");
    counts_right(s);
    cupti_session_close(s);
}

static void test_lost_kernels(void **state)
{
    need_fake();
    struct cupti_session *s = open_session();
    static const struct {
        const char *variable, *text;
    } faults[] = {{"FAKE_CUPTI_DROP", "dropped 1 kernels and returned 2"},
                  {"FAKE_CUPTI_RENAME", "which is not a number"},
                  {"FAKE_CUPTI_ENDLESS", "planned 3 passes and needs more"}};
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        setenv(faults[i].variable, "1", 1);
        fails(s, (struct work){.kernels = 3, .fails = -1}, ERROR_ENVIRONMENT, faults[i].text);
        unsetenv(faults[i].variable);
        counts_right(s);
    }
    cupti_session_close(s);
}

/* One function fails with one code, at opening or at counting: one error of the right kind that names both, and all is well afterwards. */
static void try_code(const char *function, int code, bool opening)
{
    struct error err = {0};
    struct cupti_session *s = NULL;
    struct cupti_counts c;
    struct work w = {.kernels = 3, .fails = -1};
    const struct cupti_cause *cause = cupti_cause(code);
    char ask[96], number[32];
    snprintf(ask, sizeof ask, "%s=%d", function, code);
    snprintf(number, sizeof number, "CUPTI error %d", code);
    if (opening)
        setenv("FAKE_CUPTI", ask, 1);
    bool opened = cupti_session_open((void *)&folder, 0, &s, &err);
    assert_int_equal(opened, !opening);
    if (opened) {
        setenv("FAKE_CUPTI", ask, 1);
        assert_false(count(s, &w, &c, &err));
        unsetenv("FAKE_CUPTI");
        counts_right(s); /* the session outlives it */
    }
    unsetenv("FAKE_CUPTI");
    cupti_session_close(s);
    if (!strstr(err.text, function) || !strstr(err.text, number) || (cause && !strstr(err.text, cause->what)))
        fail_msg("%s: '%s'", ask, err.text);
    assert_int_equal(err.kind, cause && cause->machine ? ERROR_ENVIRONMENT : ERROR_INTERNAL);
    assert_string_equal(err.hint, cause ? cause->cure : "");
}

static void test_every_code(void **state)
{
    static const char *const opening[] = {"cuptiProfilerInitialize",
                                          "cuptiProfilerDeviceSupported",
                                          "cuptiDeviceGetChipName",
                                          "cuptiProfilerGetCounterAvailability",
                                          "cuptiProfilerHostGetSupportedChips",
                                          "cuptiRangeProfilerEnable"};
    static const char *const counting[] = {"cuptiProfilerHostConfigAddMetrics",
                                           "cuptiProfilerHostGetConfigImageSize",
                                           "cuptiProfilerHostGetConfigImage",
                                           "cuptiProfilerHostGetNumOfPasses",
                                           "cuptiRangeProfilerGetCounterDataSize",
                                           "cuptiRangeProfilerCounterDataImageInitialize",
                                           "cuptiRangeProfilerSetConfig",
                                           "cuptiRangeProfilerStart",
                                           "cuptiRangeProfilerStop",
                                           "cuptiRangeProfilerDecodeData",
                                           "cuptiRangeProfilerGetCounterDataInfo",
                                           "cuptiRangeProfilerCounterDataGetRangeInfo",
                                           "cuptiProfilerHostEvaluateToGpuValues"};
    need_fake();
    for (int code = 1; code <= 1000; code = code < 48 ? code + 1 : code < 999 ? 999 : 1001) { /* 47 and 48 are in no header */
        for (size_t i = 0; i < sizeof opening / sizeof *opening; i++)
            try_code(opening[i], code, true);
        for (size_t i = 0; i < sizeof counting / sizeof *counting; i++)
            try_code(counting[i], code, false);
    }
}

/* Closing has nobody to tell, but must not stop half way. */
static void test_close_fails(void **state)
{
    need_fake();
    struct cupti_session *s = open_session();
    setenv("FAKE_CUPTI", "cuptiRangeProfilerDisable=7,cuptiProfilerDeInitialize=999,cuptiProfilerHostDeinitialize=1", 1);
    cupti_session_close(s);
    unsetenv("FAKE_CUPTI");
    s = open_session();
    counts_right(s);
    cupti_session_close(s);
    cupti_session_close(NULL);
}

static void test_support(void **state)
{
    static const struct {
        const char *variable, *part;
        int code;
    } refusals[] = {{"FAKE_CUPTI_SUPPORT", "vGpu", 33},
                    {"FAKE_CUPTI_DISABLED", "vGpu", 40},
                    {"FAKE_CUPTI_SUPPORT", "confidentialCompute", 41},
                    {"FAKE_CUPTI_SUPPORT", "cmp", 42},
                    {"FAKE_CUPTI_SUPPORT", "sli", 44},
                    {"FAKE_CUPTI_SUPPORT", "wsl", 45},
                    {"FAKE_CUPTI_SUPPORT", "architecture", 2},
                    {"FAKE_CUPTI_SUPPORT", "something new", 27}};
    need_fake();
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        struct cupti_session *s;
        struct error err = {0};
        setenv(refusals[i].variable, refusals[i].part, 1);
        assert_false(cupti_session_open((void *)&folder, 0, &s, &err));
        unsetenv(refusals[i].variable);
        assert_null(s);
        assert_int_equal(err.kind, ERROR_ENVIRONMENT);
        assert_non_null(strstr(err.text, cupti_cause(refusals[i].code)->what));
        assert_true(err.hint[0]);
    }
    cupti_session_close(open_session());
}

static void test_bad_jobs(void **state)
{
    need_fake();
    struct cupti_session *s = open_session();
    struct work w = {.kernels = 3, .fails = -1};
    struct cupti_counts c;
    struct error err = {0};
    const char *const unknown[] = {"fake__a.sum", "fake__x.sum"};
    assert_false(cupti_count(s, &(struct cupti_job){unknown, 2, 4, .pass = pass, .context = &w}, &c, &err));
    assert_non_null(strstr(err.text, "FAKE1 has no metric 'fake__x.sum'"));
    assert_int_equal(err.kind, ERROR_USAGE);
    assert_false(cupti_count(s, &(struct cupti_job){metrics, 0, 4, .pass = pass, .context = &w}, &c, &err));
    assert_false(cupti_count(s, &(struct cupti_job){metrics, 5, 0, .pass = pass, .context = &w}, &c, &err));
    assert_false(cupti_count(s, &(struct cupti_job){metrics, 5, CUPTI_RANGES_MAX + 1, .pass = pass, .context = &w}, &c, &err));
    assert_int_equal(w.passes, 0);
    counts_right(s);
    cupti_session_close(s);
}

/* CUPTI 13.0 keeps reading the first config image of an enabled profiler, and so does the stand-in. Other metrics, or more kernels than
 * fit, therefore need another start. */
static void test_other_metrics(void **state)
{
    need_fake();
    struct cupti_session *s = open_session();
    static const char *const two[] = {"fake__e.sum", "fake__f.sum"};
    counts_right(s);
    cupti_session_rest(s);
    cupti_session_rest(s);
    cupti_session_rest(NULL);
    counts_right(s);
    struct work w = {.kernels = 2, .fails = -1}, more = {.kernels = 60, .fails = -1};
    struct cupti_counts c;
    struct error err = {0};
    assert_true(cupti_count(s, &(struct cupti_job){two, 2, 4, .pass = pass, .context = &w}, &c, &err));
    assert_int_equal(c.passes, 1);
    assert_true(c.values[2 + 1] == 2005);
    cupti_counts_free(&c);
    counts_right(s);
    assert_true(cupti_count(s, &(struct cupti_job){two, 2, 100, .pass = pass, .context = &more}, &c, &err));
    assert_true(c.values[59 * 2] == 60004);
    cupti_counts_free(&c);
    counts_right(s);
    cupti_session_close(s);
}

/* What a traced run launched, by start, whatever the order of the records; a session may be open beside it. */
static void trace_right(void)
{
    struct cupti_trace t;
    struct error err = {0};
    if (!cupti_trace_run(launch_three, NULL, &t, &err))
        fail_msg("%s", err.text);
    assert_int_equal(t.kernel_count, 3);
    for (int i = 0; i < 3; i++) {
        const struct cupti_kernel *k = &t.kernels[i];
        assert_string_equal(k->name, i & 1 ? "odd" : "even");
        assert_true(k->start_ns == 1000u * (unsigned)i + 100 && k->end_ns - k->start_ns == 10u * (unsigned)(i + 1));
        assert_true(k->registers == 32 + i && k->static_smem == 16 && k->dynamic_smem == 1024 * i);
        assert_true(k->grid[0] == i + 1 && k->grid[1] == 2 && k->block[0] == 128);
    }
    cupti_trace_free(&t);
}

static void test_trace(void **state)
{
    need_fake();
    static const char *const calls[] = {"cuptiActivityEnable", "cuptiActivityFlushAll"};
    struct cupti_session *s = open_session();
    struct cupti_trace t;
    struct error err = {0};
    trace_right();
    counts_right(s);
    trace_right();
    assert_false(cupti_trace_run(launch_three, s, &t, &err));
    assert_non_null(strstr(err.text, "the kernel trapped"));
    assert_null(t.kernels);
    trace_right(); /* what the failed run left is not counted */
    setenv("FAKE_CUPTI_RECORDS_LOST", "2", 1);
    assert_false(cupti_trace_run(launch_three, NULL, &t, &err));
    assert_non_null(strstr(err.text, "dropped 2 activity records"));
    unsetenv("FAKE_CUPTI_RECORDS_LOST");
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        char *ask = text_format("%s=35", calls[i]);
        setenv("FAKE_CUPTI", ask, 1);
        assert_false(cupti_trace_run(launch_three, NULL, &t, &err));
        assert_int_equal(err.kind, ERROR_ENVIRONMENT);
        assert_non_null(strstr(err.text, "ERR_NVGPUCTRPERM"));
        assert_int_equal(cupti_trace_begin(&err), i > 0);
        unsetenv("FAKE_CUPTI");
        free(ask);
        trace_right();
        cupti_trace_end();
    }
    assert_true(cupti_trace_begin(&err)); /* for several runs */
    trace_right();
    trace_right();
    cupti_trace_end();
    trace_right();
    cupti_session_close(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_counts),       cmocka_unit_test(test_other_metrics), cmocka_unit_test(test_trace),
        cmocka_unit_test(test_wrong_passes), cmocka_unit_test(test_lost_kernels),  cmocka_unit_test(test_every_code),
        cmocka_unit_test(test_close_fails),  cmocka_unit_test(test_support),       cmocka_unit_test(test_bad_jobs)};
    if (!getenv("BENCH_HOME"))
        setenv("BENCH_HOME", ".", 1); /* tests run from the root of the repository */
    return cmocka_run_group_tests(tests, build_fake, remove_fake);
}
