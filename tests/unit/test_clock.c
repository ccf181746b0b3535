/* base/clock: a rest lasts as long as it says, not the 50 us longer that Linux allows a thread's timers by default. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "base/clock.h"
#include <sys/prctl.h>

#define REST_NS 300000

static void test_rest(void **state)
{
    assert_int_equal(prctl(PR_SET_TIMERSLACK, 50000UL, 0UL, 0UL, 0UL), 0); /* the default, whatever the test was started with */
    double began = clock_s();
    clock_rest(REST_NS);
    assert_true(clock_s() - began >= 1e-9 * REST_NS);
    assert_int_equal(prctl(PR_GET_TIMERSLACK, 0UL, 0UL, 0UL, 0UL), 1); /* the time that it took would be that of a busy machine */
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_rest)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
