/* device/cupti_range against a stand-in libcupti (tests/fake/cupti.cpp) that counts nothing and fails on request: what a count returns,
 * that a range that is dropped, lost, renamed or pushed wrongly is noticed, and that every function failing with every code is one
 * explained error after which counting works again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "device/cupti/error.h"
#include "device/cupti/trace.h"
#include "fake_cupti.h"
#include <math.h>

/* A pass over ranges of these names; what it does wrong on request. */
struct work {
    const char *const *names;
    int count, passes;
    enum { FINE, FAILS, LEAVES_OPEN, NESTS, TWICE, OTHER_NAME, FEWER, MORE, TOO_MANY, POPS_NONE, BAD_NAME } how;
    int at; /* the pass in which it does so */
};

static bool one(struct cupti_session *s, const char *name, struct error *err)
{
    return cupti_range_push(s, name, err) && cupti_range_pop(s, err);
}

static bool pass(void *context, struct cupti_session *s, int index, struct error *err)
{
    struct work *w = context;
    bool wrong = index == w->at;
    assert_int_equal(index, w->passes);
    w->passes++;
    for (int i = 0; i < w->count - (w->how == FEWER && wrong); i++)
        if (!cupti_range_push(s, w->how == OTHER_NAME && wrong && i == 1 ? "else" : w->names[i], err) ||
            (w->how == FAILS && wrong && i == 1 && !error_set(err, ERROR_WRONG, "the kernel trapped")) ||
            (w->how == NESTS && wrong && !cupti_range_push(s, "inner", err)) || !cupti_range_pop(s, err))
            return false;
    if (!wrong)
        return true;
    switch (w->how) {
    case LEAVES_OPEN: return cupti_range_push(s, "last", err);
    case TWICE: return one(s, w->names[0], err);
    case MORE: return one(s, "more", err);
    case TOO_MANY: return one(s, "a4", err) && one(s, "a5", err);
    case POPS_NONE: return cupti_range_pop(s, err);
    case BAD_NAME: return one(s, "a\nb", err);
    default: return true;
    }
}

static const char *const names[] = {"edsr/body_1/naive", "edsr/body_1/two[tile=8]#0", "edsr/body_1/two[tile=8]#1"};
static const char *const metrics[] = {"fake__c.sum", "fake__a.sum", "fake__h.sum", "fake__b.sum", "fake__g.sum"};

static bool count(struct cupti_session *s, struct work *w, struct cupti_counts *counts, struct error *err)
{
    struct cupti_job job = {metrics, 5, 4, .pass = pass, .context = w};
    return cupti_count(s, &job, counts, err);
}

static void counts_right(struct cupti_session *s)
{
    struct work w = {names, 3, 0, FINE, -1};
    struct cupti_counts c;
    struct error err = {0};
    if (!count(s, &w, &c, &err))
        fail_msg("%s", err.text);
    assert_int_equal(w.passes, 3); /* five metrics, two a pass */
    assert_int_equal(c.passes, 3);
    assert_int_equal(c.range_count, 3);
    assert_int_equal(c.metric_count, 5);
    for (int r = 0; r < 3; r++) {
        const double *v = cupti_counts_of(&c, names[r]);
        assert_string_equal(c.names[r], names[r]);
        assert_ptr_equal(v, c.values + r * 5);
        assert_true(v[0] == 1000 * (r + 1) + 2 && v[1] == 1000 * (r + 1) && isnan(v[2]) && v[3] == 1000 * (r + 1) + 1 &&
                    v[4] == 1000 * (r + 1) + 6);
    }
    assert_null(cupti_counts_of(&c, "other"));
    cupti_counts_free(&c);
}

static void test_counts(void **state)
{
    need_fake();
    struct cupti_session *s = open_session();
    assert_string_equal(cupti_name(cupti_session_chip(s)), "FAKE1");
    assert_true(cupti_has(cupti_session_chip(s), "fake__a.sum"));
    counts_right(s);
    counts_right(s); /* one session, many counts */
    struct error err = {0};
    assert_false(cupti_range_push(s, "x", &err));
    assert_non_null(strstr(err.text, "outside of a pass"));
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
    assert_null(c.names);
}

static void test_wrong_passes(void **state)
{
    need_fake();
    struct cupti_session *s = open_session();
    fails(s, (struct work){names, 3, 0, FAILS, 1}, ERROR_WRONG, "counting pass 2 of 3: the kernel trapped");
    counts_right(s);
    fails(s, (struct work){names, 3, 0, LEAVES_OPEN, 0}, ERROR_INTERNAL, "leaves a range open");
    counts_right(s);
    fails(s, (struct work){names, 3, 0, NESTS, 0}, ERROR_INTERNAL, "inside of another");
    fails(s, (struct work){names, 3, 0, TWICE, 0}, ERROR_INTERNAL, "pushed twice");
    fails(s, (struct work){names, 3, 0, OTHER_NAME, 2}, ERROR_INTERNAL,
          "pass 2 pushes range 'else' where pass 0 had 'edsr/body_1/two[tile=8]#0'");
    fails(s, (struct work){names, 3, 0, FEWER, 1}, ERROR_INTERNAL, "pass 1 pushed 2 ranges, pass 0 3");
    fails(s, (struct work){names, 3, 0, MORE, 1}, ERROR_INTERNAL, "where pass 0 had 'none'");
    fails(s, (struct work){names, 3, 0, TOO_MANY, 0}, ERROR_INTERNAL, "pushes more than 4 ranges");
    fails(s, (struct work){names, 3, 0, POPS_NONE, 0}, ERROR_INTERNAL, "not pushed");
    fails(s, (struct work){names, 3, 0, BAD_NAME, 0}, ERROR_INTERNAL, "cannot name a range: 1 to 255 characters in one line");
    fails(s, (struct work){names, 0, 0, FINE, 0}, ERROR_INTERNAL, "pushed 0 ranges");
    counts_right(s);
    cupti_session_close(s);
}

static void test_lost_ranges(void **state)
{
    need_fake();
    struct cupti_session *s = open_session();
    setenv("FAKE_CUPTI_DROP", "1", 1);
    fails(s, (struct work){names, 3, 0, FINE, -1}, ERROR_ENVIRONMENT, "dropped 1 of the ranges and returned 2 of 3");
    unsetenv("FAKE_CUPTI_DROP");
    setenv("FAKE_CUPTI_LOSE", "2", 1);
    fails(s, (struct work){names, 3, 0, FINE, -1}, ERROR_ENVIRONMENT, "dropped 0 of the ranges and returned 1 of 3");
    unsetenv("FAKE_CUPTI_LOSE");
    setenv("FAKE_CUPTI_RENAME", "1", 1);
    fails(s, (struct work){names, 3, 0, FINE, -1}, ERROR_ENVIRONMENT, "that nobody pushed");
    unsetenv("FAKE_CUPTI_RENAME");
    setenv("FAKE_CUPTI_ENDLESS", "1", 1);
    fails(s, (struct work){names, 3, 0, FINE, -1}, ERROR_ENVIRONMENT, "planned 3 passes and still wants more");
    unsetenv("FAKE_CUPTI_ENDLESS");
    counts_right(s);
    cupti_session_close(s);
}

/* One function fails with one code, at opening or at counting: one error of the right kind that names both, and all is well afterwards. */
static void try_code(const char *function, int code, bool opening)
{
    struct error err = {0};
    struct cupti_session *s = NULL;
    struct cupti_counts c;
    struct work w = {names, 3, 0, FINE, -1};
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
                                           "cuptiRangeProfilerPushRange",
                                           "cuptiRangeProfilerPopRange",
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
    struct work w = {names, 3, 0, FINE, -1};
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

/* CUPTI 13.0 goes on reading the first config image of an enabled profiler (the stand-in does too): other metrics, and more ranges than
 * there is room for, need another start. */
static void test_other_metrics(void **state)
{
    need_fake();
    struct cupti_session *s = open_session();
    static const char *const two[] = {"fake__e.sum", "fake__f.sum"};
    char many[100][8];
    const char *list[100];
    for (int i = 0; i < 100; i++) {
        snprintf(many[i], sizeof many[i], "m%d", i);
        list[i] = many[i];
    }
    counts_right(s);
    cupti_session_rest(s);
    cupti_session_rest(s);
    cupti_session_rest(NULL);
    counts_right(s);
    struct work w = {names, 2, 0, FINE, -1}, more = {list, 60, 0, FINE, -1};
    struct cupti_counts c;
    struct error err = {0};
    assert_true(cupti_count(s, &(struct cupti_job){two, 2, 4, .pass = pass, .context = &w}, &c, &err));
    assert_int_equal(c.passes, 1);
    assert_true(cupti_counts_of(&c, names[1])[1] == 2005);
    cupti_counts_free(&c);
    counts_right(s);
    assert_true(cupti_count(s, &(struct cupti_job){two, 2, 100, .pass = pass, .context = &more}, &c, &err));
    assert_true(cupti_counts_of(&c, "m59")[0] == 60004);
    cupti_counts_free(&c);
    counts_right(s);
    cupti_session_close(s);
}

/* Each kernel a range: the stand-in counts what calls its launch. */
struct launches {
    int kernels, passes, before;
    bool pushes;
};

static bool before(void *context, int index, struct error *err)
{
    struct launches *l = context;
    assert_int_equal(index, l->passes);
    l->before++;
    return true;
}

static bool launch_pass(void *context, struct cupti_session *s, int index, struct error *err)
{
    struct launches *l = context;
    l->passes++;
    launch_fake(l->kernels);
    return !l->pushes || cupti_range_push(s, "x", err);
}

static bool count_kernels(struct cupti_session *s, struct launches *l, struct cupti_counts *c, struct error *err)
{
    struct cupti_job job = {metrics, 5, 8, .each_kernel = true, .pass = launch_pass, .before = before, .context = l};
    return cupti_count(s, &job, c, err);
}

static void test_each_kernel(void **state)
{
    need_fake();
    struct cupti_session *s = open_session();
    struct cupti_counts c;
    struct error err = {0};
    for (int again = 0; again < 2; again++) { /* CUPTI's numbers go on, the places do not */
        struct launches l = {.kernels = 5};
        if (!count_kernels(s, &l, &c, &err))
            fail_msg("%s", err.text);
        assert_int_equal(l.passes, 3);
        assert_int_equal(l.before, 3);
        assert_int_equal(c.range_count, 5);
        assert_null(c.names);
        for (int i = 0; i < 5; i++)
            assert_true(c.values[i * 5 + 1] == 1000 * (i + 1));
        cupti_counts_free(&c);
        counts_right(s); /* pushed ranges in between */
    }
    struct launches pushes = {.kernels = 1, .pushes = true}, none = {0}, lost = {.kernels = 3}, named = {.kernels = 3};
    assert_false(count_kernels(s, &pushes, &c, &err));
    assert_non_null(strstr(err.text, "where each kernel is a range"));
    assert_false(count_kernels(s, &none, &c, &err));
    assert_non_null(strstr(err.text, "dropped 0 kernels and returned 0"));
    setenv("FAKE_CUPTI_DROP", "1", 1);
    assert_false(count_kernels(s, &lost, &c, &err));
    assert_non_null(strstr(err.text, "dropped 1 kernels and returned 2"));
    assert_int_equal(err.kind, ERROR_ENVIRONMENT);
    unsetenv("FAKE_CUPTI_DROP");
    setenv("FAKE_CUPTI_RENAME", "1", 1);
    assert_false(count_kernels(s, &named, &c, &err));
    assert_non_null(strstr(err.text, "which is no number"));
    unsetenv("FAKE_CUPTI_RENAME");
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
        unsetenv("FAKE_CUPTI");
        free(ask);
        trace_right();
    }
    cupti_session_close(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_counts),       cmocka_unit_test(test_other_metrics),
                                       cmocka_unit_test(test_each_kernel),  cmocka_unit_test(test_trace),
                                       cmocka_unit_test(test_wrong_passes), cmocka_unit_test(test_lost_ranges),
                                       cmocka_unit_test(test_every_code),   cmocka_unit_test(test_close_fails),
                                       cmocka_unit_test(test_support),      cmocka_unit_test(test_bad_jobs)};
    if (!getenv("BENCH_HOME"))
        setenv("BENCH_HOME", ".", 1); /* tests run from the root of the repository */
    return cmocka_run_group_tests(tests, build_fake, remove_fake);
}
