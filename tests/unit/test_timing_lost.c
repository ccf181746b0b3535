/* worker/time on a device that is lost at any call: nothing is reported as if it had gone well, and nobody is accused by half a look. */
#include "timing_world.h"
#include <sys/wait.h>

/* Calls at which a device is lost are tried one by one. A sanitized build tries every fifth: CI also runs this file without one. */
#ifdef __SANITIZE_ADDRESS__
#define EACH 5
#else
#define EACH 1
#endif

/* Runs in a process of its own, like a worker, because the memory of a lost device is not freed. 0: the error was reported and blamed on
 * the row (NULL: any), 1: everything was reported as well, 2: something else. */
static int lost(int at, const char *kernel, int from, const char *row)
{
    int status, child = fork();
    if (child == 0) {
        begin();
        timing.fail_at = at;
        timing.once = true;
        timing.fails = kernel;
        timing.fails_from = from;
        struct result r = timed("[my/cudnn_fast, my/prepared]", "{rounds: [6, 6]}");
        bool blamed = !row || (r.blamed >= 0 && !strcmp(r.names[r.blamed], row));
        _exit(r.ok ? 1 : blamed && strstr(r.err.text, kernel ? "is refused" : "the device is lost") ? 0 : 2);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 2;
}

/* A device that is lost at any call ends the measurement: nothing is reported as if it had gone well. A kernel that is refused is named. */
static void a_lost_device_is_noticed(void **state)
{
    begin();
    timing.fail_at = 1 << 30;
    struct result r = timed("[my/cudnn_fast, my/prepared]", "{rounds: [6, 6]}");
    int calls = timing.calls;
    assert_true(r.ok && calls > 40);
    assert_true(fabs(row_of(&r, "my/prepared")->prepare_ns - 5000) < 1 && isnan(row_of(&r, "my/cudnn_fast")->prepare_ns));
    assert_true(fabs(time_of(&r, "my/prepared", "cold", "isolated")->median_ns - 60000) < 1); /* without it */
    let_go(&r);
    begin();
    timing.idle = "conv_fast";
    timing.idle_from = 1;
    timing.fail_at = 1 << 30;
    r = timed("[my/cudnn_fast, my/prepared]", "{rounds: [6, 6]}");
    int looked = timing.idled_at; /* the call with which what a row wrote is looked at first */
    let_go(&r);
    assert_true(looked > 12 && looked < calls / 4);
    for (int at = 1; at < calls; at += EACH * (at < 12 || (at >= looked - 8 && at < looked + 24) ? 1 : at < looked ? 8 : 1 + calls / 20))
        if (lost(at, NULL, 0, NULL))
            fail_msg("lost at call %d of %d and not noticed", at, calls);
    assert_int_equal(lost(0, "conv_after", 0, "my/prepared"), 0);
    assert_int_equal(lost(0, "conv_after", 2, "my/prepared"), 0); /* its first launch on a further set of inputs */
    assert_int_equal(lost(0, "conv_after", 3, "my/prepared"), 0);
    assert_int_equal(lost(0, "conv_prep", 0, "my/prepared"), 0);
    assert_int_equal(lost(0, "conv_prep", -1, "my/prepared"), 0); /* and never again */
    assert_int_equal(lost(0, "conv_prep", -2, "my/prepared"), 0); /* as it is timed how long that takes */
}

/* A device that is lost while a doubtful launch is looked at: nobody is believed, or accused, because of half a look. */
static void half_a_look_is_none(void **state)
{
    begin();
    timing.idle = "conv_ours";
    timing.idle_from = 20;
    timing.fail_at = 1 << 30;
    struct result r = timed("[my/cudnn_fast, my/ours]", "{rounds: [12, 12]}");
    int first = timing.idled_at, all = timing.calls;
    assert_int_equal(row_of(&r, "my/ours")->status, ROW_WRONG);
    assert_true(first > 0 && first + 30 < all);
    let_go(&r);
    for (int at = first + 1; at < first + 30; at += EACH) {
        int status, child = fork();
        if (child == 0) {
            begin();
            timing.idle = "conv_ours";
            timing.idle_from = 20;
            timing.fail_at = at;
            timing.once = true;
            r = timed("[my/cudnn_fast, my/ours]", "{rounds: [12, 12]}");
            _exit(r.ok || !strstr(r.err.text, "the device is lost"));
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        if (!WIFEXITED(status) || WEXITSTATUS(status))
            fail_msg("lost at call %d, after %d, and not noticed", at, first);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_lost_device_is_noticed), cmocka_unit_test(half_a_look_is_none)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
