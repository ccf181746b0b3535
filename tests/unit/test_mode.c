/* base/mode: the two words of a mode and back. */
#include "base/mode.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

static void words_and_back(void **state)
{
    for (int m = MODE_COLD; m <= MODE_SUSTAINED; m++)
        assert_int_equal(mode_of(mode_cache((enum time_mode)m), mode_load((enum time_mode)m)), m);
    assert_string_equal(mode_cache(MODE_WARM), "warm");
    assert_string_equal(mode_load(MODE_WARM), "isolated");
    assert_string_equal(mode_cache(MODE_SUSTAINED), "warm");
    assert_string_equal(mode_load(MODE_COLD_SUSTAINED), "sustained");
    assert_string_equal(mode_cache(MODE_NONE), "");
}

static void other_words_are_no_mode(void **state)
{
    assert_int_equal(mode_of("cold", "idle"), MODE_NONE);
    assert_int_equal(mode_of("tepid", "isolated"), MODE_NONE);
    assert_int_equal(mode_of("isolated", "cold"), MODE_NONE);
    assert_int_equal(mode_of("", ""), MODE_NONE);
    assert_int_equal(mode_of(NULL, "isolated"), MODE_NONE);
    assert_int_equal(mode_of("cold", NULL), MODE_NONE);
}

static void sustained_is_back_to_back(void **state)
{
    assert_true(mode_is_sustained(MODE_SUSTAINED) && mode_is_sustained(MODE_COLD_SUSTAINED));
    assert_false(mode_is_sustained(MODE_COLD) || mode_is_sustained(MODE_WARM) || mode_is_sustained(MODE_NONE));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(words_and_back), cmocka_unit_test(other_words_are_no_mode),
                                       cmocka_unit_test(sustained_is_back_to_back)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
