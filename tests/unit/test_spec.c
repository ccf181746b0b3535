/* base/spec: which kind of device a name means, and what stands behind the colon. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "base/spec.h"

static void test_spec(void **state)
{
    assert_true(spec_is("emu", "emu") && spec_is("emu:GH100", "emu") && spec_is_timed("cuda") && spec_is_timed("cuda:1"));
    assert_false(spec_is("emulator", "emu") || spec_is("em", "emu") || spec_is(NULL, "emu") || spec_is_timed("cudax:0") ||
                 spec_is_timed("emu:cuda"));
    assert_string_equal(spec_option("cuda:1"), "1");
    assert_string_equal(spec_option("emu"), "");
    assert_string_equal(spec_option(NULL), "");
    assert_string_equal(spec_kind("cuda:1"), "cuda");
    assert_string_equal(spec_kind("emu:GH100"), "emu");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_spec)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
