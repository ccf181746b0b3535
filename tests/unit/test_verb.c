/* run/message/verb: each word is known again and stands once, and what no table has is told apart. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <string.h>
#include "base/text.h"
#include "run/message/verb.h"

static void words_are_known_again(void **state)
{
    (void)state;
    for (int i = 0; i < COMMAND_UNKNOWN; i++) {
        json_t *message = command_new((enum command)i, NULL);
        assert_int_equal(command_of(message), i);
        assert_string_equal(json_string_value(json_object_get(message, "do")), command_word((enum command)i));
        assert_int_equal(event_of(message), EVENT_UNKNOWN);
        json_decref(message);
    }
    for (int i = 0; i < EVENT_UNKNOWN; i++) {
        json_t *message = event_new((enum event)i, NULL);
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

/* Each kind of member comes through, and only the members that the table names for the word. */
static void members_come_through(void **state)
{
    (void)state;
    int rows[] = {3, -1, 7};
    struct message m = {.row = 5,
                        .rows = {rows, 3},
                        .alpha = 0.05,
                        .library_row = -1,
                        .device = "cuda:0",
                        .choices = json_pack("[[i]]", 4),
                        .next = {rows, 0}};
    json_auto_t *json = command_new(COMMAND_MEASURE, &m);
    SCOPED_BY(message_free) struct message in;
    message_read(json, &in);
    assert_int_equal(in.rows.count, 3);
    assert_memory_equal(in.rows.at, rows, sizeof rows);
    assert_true(in.alpha == 0.05 && in.library_row == -1 && in.next.at && !in.next.count && !in.data.at && !in.timed);
    assert_int_equal(json_integer_value(json_array_get(json_array_get(in.choices, 0), 0)), 4);
    assert_true(!in.device && in.row == 0); /* MEASURE has neither */
    json_auto_t *stage = event_new(EVENT_STAGE, &(struct message){.row = -1, .stage = "compile", .limit = 2.5});
    SCOPED_BY(message_free) struct message s;
    message_read(stage, &s);
    assert_true(s.row == -1 && !strcmp(s.stage, "compile") && s.limit == 2.5 && !s.late);
    message_read(NULL, &s);
    assert_true(s.row == 0 && !s.stage);
}

static void what_is_no_text_is_no_message(void **state)
{
    (void)state;
    assert_null(event_new(EVENT_FAILED, &(struct message){.text = "\xff"}));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_are_known_again),
        cmocka_unit_test(others_are_unknown),
        cmocka_unit_test(members_come_through),
        cmocka_unit_test(what_is_no_text_is_no_message),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
