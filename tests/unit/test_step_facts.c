/* store/step_facts: what a launch is known to need before it is counted, whole or as a part of its layer. */
#include "store/step_facts.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

static struct row *row;
static struct row_step *whole(void)
{
    row = row_new();
    struct row_step *s = row_add_step(row);
    s->registers = 40;
    s->occupancy = 0.625;
    s->waves = 2.5;
    s->blocks_per_sm = 5;
    s->spill_store_bytes = 8;
    s->spill_load_bytes = 16;
    return s;
}

static void each_name_has_its_value(void **state)
{
    static const double want[] = {62.5, 2.5, 5, 40, 8};
    const struct row_step *s = whole();
    int count = 0;
    for (; step_fact_names[count]; count++)
        assert_true(step_fact(s, false, step_fact_names[count]) == want[count]);
    assert_int_equal(count, 5);
    assert_true(isnan(step_fact(s, false, "sm_count")));
    row_free(row);
}

/* The grid of a part of a layer says nothing of the layer's: both who counts and who judges leave its waves out. */
static void a_crop_has_no_waves(void **state)
{
    const struct row_step *s = whole();
    for (int i = 0; step_fact_names[i]; i++)
        assert_true(isnan(step_fact(s, true, step_fact_names[i])) == !strcmp(step_fact_names[i], "waves"));
    row_free(row);
}

static void what_is_not_known_is_absent(void **state)
{
    struct row_step *s = whole();
    s->spill_store_bytes = -1;
    s->occupancy = -1;
    s->waves = -1;
    s->blocks_per_sm = -1;
    for (int i = 0; step_fact_names[i]; i++)
        assert_true(isnan(step_fact(s, false, step_fact_names[i])) == (strcmp(step_fact_names[i], "registers") != 0));
    s->registers = -1;
    assert_true(isnan(step_fact(s, false, "registers")));
    row_free(row);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_name_has_its_value), cmocka_unit_test(a_crop_has_no_waves),
                                       cmocka_unit_test(what_is_not_known_is_absent)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
