/* Numbers read as a person writes them, and a table keeps its columns whatever stands in it. */
#include "base/text.h"
#include "report/view/number.h"
#include "report/form/terminal.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void three_digits(void **state)
{
    static const struct {
        double v;
        const char *text;
    } cases[] = {
        {154.7, "155"},  {17.13, "17.1"},      {0.5263, "0.526"}, {9.996, "10.0"}, {99.96, "100"}, {999.6, "1,000"}, {1234567, "1,234,567"},
        {0, "0"},        {0.00826, "0.00826"}, {-12.34, "-12.3"}, {1, "1.00"},     {NAN, "-"},     {INFINITY, "-"},  {-1234.5, "-1,234"},
        {0.9996, "1.00"}};
    char out[NUMBER_TEXT];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_string_equal(number_3(cases[i].v, out), cases[i].text);
    assert_string_equal(number_short(2, out), "2");
    assert_string_equal(number_short(2.5, out), "2.5");
    assert_string_equal(number_short(100, out), "100");
    assert_string_equal(number_count(2654208, out), "2,654,208");
    assert_string_equal(number_count(999, out), "999");
    number_3(1e300, out); /* fits */
    number_3(-1e17, out);
    assert_true(strlen(out) < NUMBER_TEXT);
}

static void pairs_show_what_the_interval_supports(void **state)
{
    static const struct {
        double v, half;
        const char *value, *spread;
    } cases[] = {{154.7, 0.4, "154.7", "0.4"}, {230.2, 1, "230", "1"},   {17.13, 0.1, "17.1", "0.1"}, {17.134, 0.0021, "17.13", "0.01"},
                 {20328, 61, "20,328", "61"},  {1.234, NAN, "1.23", ""}, {5, 0, "5.00", ""},          {154.7, 0.04, "154.7", "0.1"}};
    char value[NUMBER_TEXT], spread[NUMBER_TEXT];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        number_pair(cases[i].v, cases[i].half, value, spread);
        assert_string_equal(value, cases[i].value);
        assert_string_equal(spread, cases[i].spread);
    }
}

static void units(void **state)
{
    char out[NUMBER_TEXT];
    assert_string_equal(number_si(67.9e9, "FLOP", out), "67.9 GFLOP");
    assert_string_equal(number_si(999.7e6, "B", out), "1.00 GB");
    assert_string_equal(number_si(12, "B", out), "12.0 B");
    assert_string_equal(number_time(17100, out), "17.1 us");
    assert_string_equal(number_time(6.17e6, out), "6.17 ms");
    assert_string_equal(number_time(2e9, out), "2.00 s");
    assert_string_equal(number_time(850, out), "0.850 us");
    assert_string_equal(number_duration(372, out), "6 min 12 s");
    assert_string_equal(number_duration(59.6, out), "1 min 0 s");
    assert_string_equal(number_duration(3.21, out), "3.2 s");
    assert_string_equal(number_duration(3780, out), "1 h 03 min");
    assert_string_equal(number_duration(NAN, out), "-");
    assert_string_equal(number_percent(0.056, out), "6");
    assert_string_equal(number_percent(0.004, out), "0.4");
    assert_string_equal(number_percent(0, out), "0");
}

static void table_of(struct text *t, const struct report_style *style)
{
    struct table *table = table_new();
    table_column(table, "mark", "#", ALIGN_LEFT);
    table_column(table, "name", "name", ALIGN_LEFT);
    table_column(table, "time", "us", ALIGN_POINT);
    table_column(table, "nobody", "nobody", ALIGN_RIGHT);
    table_column(table, "n", "n", ALIGN_RIGHT);
    static const char *const times[][2] = {{"154.7", "±0.4"}, {"17.1", "±0.1"}, {"230", "±1"}};
    for (int i = 0; i < 3; i++) {
        table_row(table, LINE_PLAIN);
        table_cell(table, PAINT_NONE, "%d", i);
        table_cell(table, PAINT_BOLD, "%s", i == 1 ? "na\033[31mïve" : "v");
        table_cell(table, PAINT_NONE, "%s", times[i][0]);
        table_note(table, "%s", times[i][1]);
        table_cell(table, PAINT_NONE, "%s", "");
        table_cell(table, PAINT_NONE, "%d", i * 50);
    }
    table_row(table, LINE_FAILED);
    table_cell(table, PAINT_NONE, "!");
    table_cell(table, PAINT_NONE, "w");
    table_rest(table, PAINT_BAD, "a sentence that is longer than the table and wraps\nonto lines");
    terminal_table(t, table, style);
    table_free(table);
}

static void tables_align(void **state)
{
    struct text t = {0};
    table_of(&t, &(struct report_style){.width = 44});
    assert_string_equal(text_get(&t), "#  name           us         n\n"
                                      "0  v           154.7 ±0.4    0\n"
                                      "1  na?[31mïve   17.1 ±0.1   50\n"
                                      "2  v           230   ±1    100\n"
                                      "!  w           a sentence that is longer\n"
                                      "               than the table and wraps\n"
                                      "               onto lines\n");
    text_free(&t);
    table_of(&t, &(struct report_style){.table = 29}); /* one short of what it takes: notes go before a column that always stands */
    assert_non_null(strstr(text_get(&t), "0  v           154.7    0\n"));
    assert_non_null(strstr(text_get(&t), "left out  what stands beside us (--wide)\n"));
    text_free(&t);
    table_of(&t, &(struct report_style){.table = 30});
    assert_null(strstr(text_get(&t), "left out"));
    text_free(&t);
    table_of(&t, &(struct report_style){.ascii = true});
    assert_non_null(strstr(text_get(&t), "154.7 +-0.4    0"));
    text_free(&t);
    table_of(&t, &(struct report_style){.color = true});
    assert_non_null(strstr(text_get(&t), "\033[1mv\033[0m"));
    assert_null(strstr(text_get(&t), "\033[31mïve")); /* a name paints nothing */
    text_free(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(three_digits),
        cmocka_unit_test(pairs_show_what_the_interval_supports),
        cmocka_unit_test(units),
        cmocka_unit_test(tables_align),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
