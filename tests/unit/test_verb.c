/* run/message/verb: each word is known again and stands once, and what no table has is told apart. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <string.h>
#include "run/message/verb.h"

static void words_are_known_again(void **state)
{
    (void)state;
    for (int i = 0; i < COMMAND_UNKNOWN; i++) {
        json_t *message = command_new((enum command)i, "{s:i}", "row", i);
        assert_int_equal(command_of(message), i);
        assert_int_equal(json_integer_value(json_object_get(message, "row")), i);
        assert_string_equal(json_string_value(json_object_get(message, "do")), command_word((enum command)i));
        assert_int_equal(event_of(message), EVENT_UNKNOWN);
        json_decref(message);
    }
    for (int i = 0; i < EVENT_UNKNOWN; i++) {
        json_t *message = event_new((enum event)i, "{}");
        assert_int_equal(event_of(message), i);
        assert_int_equal(command_of(message), COMMAND_UNKNOWN);
        json_decref(message);
    }
}

static void others_are_unknown(void **state)
{
    (void)state;
    const char *lines[] = {"{}", "{\"do\":\"coun\",\"event\":\"\"}", "{\"do\":3,\"event\":null}", "[\"count\"]"};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        json_t *message = json_loads(lines[i], 0, NULL);
        assert_non_null(message);
        assert_int_equal(command_of(message), COMMAND_UNKNOWN);
        assert_int_equal(event_of(message), EVENT_UNKNOWN);
        json_decref(message);
    }
    assert_int_equal(command_of(NULL), COMMAND_UNKNOWN);
    assert_int_equal(event_of(NULL), EVENT_UNKNOWN);
}

static void what_is_no_text_is_no_message(void **state)
{
    (void)state;
    assert_null(event_new(EVENT_FAILED, "{s:s}", "text", "\xff"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_are_known_again),
        cmocka_unit_test(others_are_unknown),
        cmocka_unit_test(what_is_no_text_is_no_message),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
