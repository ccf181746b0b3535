/* run/parent/health: which GPU of several is slow or unsound. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "run/parent/health.h"
#include <stdio.h>
#include <string.h>

static void set(struct gpu_check *c, const char *name, double value)
{
    for (int i = 0; i < c->rates.count; i++)
        if (!strcmp(c->rates.items[i].name, name)) {
            c->rates.items[i].value = value;
            return;
        }
    struct ceiling *one = &c->rates.items[c->rates.count++];
    snprintf(one->name, sizeof one->name, "%s", name);
    one->value = value;
}

/* Four H200s, as they were measured: copies of 3.92 TB/s, equal to 0.5 %. */
static void four(struct gpu_check checks[4])
{
    memset(checks, 0, 4 * sizeof *checks);
    for (int i = 0; i < 4; i++) {
        double own = 1 + 0.005 * i;
        set(&checks[i], "copy", 3.92e12 * own);
        set(&checks[i], "f32", 60e12 * own);
        set(&checks[i], "f16_acc32", 620e12 * own);
        set(&checks[i], "aa", 0.001);
        set(&checks[i], "sm_clock_mhz", 1980);
        set(&checks[i], "memory_clock_mhz", 3201);
        set(&checks[i], "throttle", 0);
        set(&checks[i], "ecc_errors", 0);
    }
}

static enum health judge(const struct gpu_check *checks, int count, int index, const char *says)
{
    SCOPED_TEXT why = {0};
    enum health h = health_judge(checks, count, index, &why);
    if (says ? !strstr(text_get(&why), says) : why.len != 0)
        fail_msg("%s", text_get(&why));
    return h;
}

static void equal_gpus_are_good(void **state)
{
    struct gpu_check c[4];
    four(c);
    for (int i = 0; i < 4; i++)
        assert_int_equal(judge(c, 4, i, NULL), HEALTH_GOOD);
    assert_int_equal(judge(c, 1, 0, NULL), HEALTH_GOOD);
    memset(&c[2], 0, sizeof c[2]);
    assert_int_equal(judge(c, 4, 2, NULL), HEALTH_UNKNOWN);
    assert_int_equal(judge(c, 4, 1, NULL), HEALTH_GOOD);
}

static void a_slow_gpu_is_named(void **state)
{
    struct gpu_check c[4];
    four(c);
    set(&c[2], "sm_clock_mhz", 1980 * 0.9);
    assert_int_equal(judge(c, 4, 2, "SM clock 1782 MHz, the others 1980 (10 % less)"), HEALTH_LABELLED);
    assert_int_equal(judge(c, 4, 1, NULL), HEALTH_GOOD);
    four(c);
    set(&c[0], "copy", 2.9e12);
    assert_int_equal(judge(c, 4, 0, "copies 2.9 TB/s"), HEALTH_REFUSED);
    four(c);
    set(&c[1], "copy", 3.92e12 * 1.5); /* a fast one is no fault, neither its own nor that of the others */
    for (int i = 0; i < 4; i++)
        assert_int_equal(judge(c, 4, i, NULL), HEALTH_GOOD);
}

static void an_unsound_gpu_is_named(void **state)
{
    struct gpu_check c[4];
    four(c);
    set(&c[3], "ecc_errors", 2);
    assert_int_equal(judge(c, 4, 3, "2 uncorrectable memory errors"), HEALTH_REFUSED);
    assert_int_equal(judge(c, 1, 0, NULL), HEALTH_GOOD);
    four(c);
    set(&c[3], "aa", 0.02);
    assert_int_equal(judge(c, 4, 3, "differs from itself by 2.0 %"), HEALTH_LABELLED);
    set(&c[1], "throttle", 0x40);
    assert_int_equal(judge(c, 4, 1, "hardware thermal"), HEALTH_LABELLED);
    set(&c[0], "throttle", 1); /* idle */
    snprintf(c[2].others, sizeof c[2].others, "pid 12 python3");
    assert_int_equal(judge(c, 4, 2, "pid 12 python3"), HEALTH_LABELLED);
    assert_int_equal(judge(c, 4, 0, NULL), HEALTH_GOOD);
}

static void drift_is_named(void **state)
{
    struct gpu_check c[4];
    SCOPED_TEXT why = {0};
    four(c);
    assert_int_equal(health_drift(&c[0], &c[1], &why), HEALTH_GOOD);
    set(&c[1], "copy", 3.92e12 * 0.7);
    assert_int_equal(health_drift(&c[0], &c[1], &why), HEALTH_LABELLED);
    assert_non_null(strstr(text_get(&why), "at first 3.92 (30 % less)"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(equal_gpus_are_good), cmocka_unit_test(a_slow_gpu_is_named),
                                       cmocka_unit_test(an_unsound_gpu_is_named), cmocka_unit_test(drift_is_named)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
