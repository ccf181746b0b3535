/* A row starts with everything absent; the column table reaches every field and knows each field's absent. */
#include "store/family.h"
#include "base/text.h"
#include "store/store.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void new_row_is_absent(void **state)
{
    struct row *row = row_new();
    row_add_step(row);
    row_add_time(row);
    static const char *const always[] = {"case_index", "cropped", "repeat",    "row_index", "library",
                                         "status",     "prepare", "time_step", "rounds"};
    for (const struct column *c = columns; c->name; c++) {
        const void *base = c->group == COLUMN_CASE || c->group == COLUMN_RESULT ? (void *)row
                           : c->group == COLUMN_STEP                            ? (void *)row->steps
                           : c->group == COLUMN_TIME                            ? (void *)row->times
                                                                                : NULL;
        if (!base)
            continue;
        bool there = false;
        for (size_t i = 0; i < sizeof always / sizeof always[0]; i++)
            there |= strcmp(always[i], c->name) == 0;
        if (column_get(c, base).absent == there)
            fail_msg("%s of a new row: absent should be %d", c->name, !there);
    }
    assert_int_equal(row->repeat, 1);
    assert_int_equal(row->status, ROW_PLANNED);
    row_free(row);
}

static void status_names_round_trip(void **state)
{
    for (int s = 0; s < ROW_STATUS_COUNT; s++)
        assert_int_equal(row_status_parse(row_status_name((enum row_status)s)), s);
    assert_string_equal(row_status_name(ROW_INFEASIBLE), "infeasible");
    /* an unknown status must not read as a success */
    assert_int_equal(row_status_parse("splendid"), ROW_PLANNED);
    assert_int_equal(row_status_parse(NULL), ROW_PLANNED);
}

static void set_replaces_and_survives_itself(void **state)
{
    struct row *row = row_new();
    row_set(&row->reason, "first");
    row_set(&row->reason, row->reason + 2);
    assert_string_equal(row->reason, "rst");
    row_set(&row->reason, NULL);
    assert_null(row->reason);
    row_free(row);
}

static void a_note_is_said_once_and_whole(void **state)
{
    struct row *row = row_new();
    row_add_note(row, "%s", "");
    assert_null(row->note);
    row_add_note(row, "took part in %d of %d rounds", 3, 10);
    row_add_note(row, "over 10 ms");
    row_add_note(row, "took part in 3 of 10 rounds");
    row_add_note(row, "over 10");
    row_add_note(row, "over 10 ms");
    row_add_note(row, "over 10");
    row_add_note(row, "ook part in 3 of 10 rounds"); /* found one place behind the start, before which is nothing */
    row_add_note(row, "one; two");
    row_add_note(row, "two"); /* is no part of that one */
    assert_string_equal(row->note, "took part in 3 of 10 rounds; over 10 ms; over 10; ook part in 3 of 10 rounds; one; two; two");
    assert_int_equal(row->note_count, 6);
    assert_string_equal(row->notes[4].text, "one; two");
    assert_string_equal(row->notes[5].text, "two");
    row_free(row);
}

static void metrics_are_found_by_step_and_not_by_line(void **state)
{
    struct row *row = row_new();
    row_add_member(row, FAMILY_WARP, -1, 12, "fma", "", "emu", 1);
    for (int i = 0; i < 100; i++)
        row_add_member(row, FAMILY_WARP, i, 0, "fma", "", "emu", 10 + i);
    row_add_member(row, FAMILY_WARP, -1, 0, "fma", "", "emu", 2);
    assert_float_equal(row_metric(row, -1, "emu.warp_fma")->value, 2, 0);
    assert_float_equal(row_metric(row, 57, "emu.warp_fma")->value, 67, 0);
    assert_null(row_metric(row, -1, "emu.warp"));
    struct row_metric *m = row_add_metric(row, 500, 0, "long", "", "", 1);
    char unit[sizeof m->unit];
    memset(unit, 'u', sizeof unit - 1);
    unit[sizeof unit - 1] = 0;
    assert_string_equal(row_add_metric(row, 501, 0, "long", unit, "emu", 1)->unit, unit);
    /* a name that is too long is cut, never written past its field */
    char name[200];
    memset(name, 'x', sizeof name - 1);
    name[199] = '\0';
    assert_int_equal(strlen(row_add_metric(row, 0, 0, name, name, name, 0)->name), sizeof row->metrics[0].name - 1);
    row_free(row);
}

static void times_are_found_by_mode(void **state)
{
    struct row *row = row_new();
    struct row_time *step = row_add_time(row);
    step->step = 0;
    strcpy(step->cache, "cold");
    strcpy(step->load, "isolated");
    assert_null(row_time(row, MODE_COLD));
    struct row_time *t = row_add_time(row);
    strcpy(t->cache, "cold");
    strcpy(t->load, "isolated");
    t->median_ns = 5;
    assert_float_equal(row_time(row, MODE_COLD)->median_ns, 5, 0);
    assert_null(row_time(row, MODE_WARM));
    row_free(row);
}

static void columns_are_named_once_in_a_group(void **state)
{
    int count = 0;
    for (const struct column *c = columns; c->name; c++, count++) {
        assert_true(c->name[0] && c->what && c->what[0] && c->unit);
        assert_ptr_equal(column_find(c->group, c->name), c);
    }
    assert_true(count > 100);
    assert_null(column_find(COLUMN_RESULT, "registers"));
}

static void column_set_undoes_column_get(void **state)
{
    struct row *a = row_new(), *b = row_new();
    row_set(&a->id, "s/l/v");
    row_set(&a->from, "naive");
    strcpy(a->key, "abc");
    a->status = ROW_HUNG;
    a->repeat = 17;
    a->scratch_bytes = 0; /* known to be none: not absent */
    a->density_in = 0;
    a->noise = 0.003;
    a->flop = 0;
    for (const struct column *c = columns; c->name; c++) {
        if (c->group == COLUMN_CASE || c->group == COLUMN_RESULT) {
            struct column_value v = column_get(c, a);
            column_set(c, b, &v);
            struct column_value w = column_get(c, b);
            assert_int_equal(v.absent, w.absent);
        }
    }
    assert_string_equal(b->id, "s/l/v");
    assert_string_equal(b->from, "naive");
    assert_string_equal(b->key, "abc");
    assert_int_equal(b->status, ROW_HUNG);
    assert_int_equal(b->repeat, 17);
    assert_int_equal(b->scratch_bytes, 0);
    assert_int_equal(b->workspace_bytes, -1);
    assert_float_equal(b->density_in, 0, 0);
    assert_float_equal(b->density_out, -1, 0);
    assert_float_equal(b->flop, 0, 0);
    assert_true(isnan(b->prepare_ns));
    row_free(a);
    row_free(b);
}

/* The hotter first; of those that ran as often what moves something, then as they stand. Samples count before executions. */
static void code_is_in_order_of_heat(void **state)
{
    struct row_code code[] = {{.address = 5, .samples = 9, .executed = 1},
                              {.address = 4, .samples = -1, .executed = 8},
                              {.address = 8, .samples = 7, .executed = 99},
                              {.address = 9, .samples = 3, .sectors = 1},
                              {.address = 2, .samples = 3, .wavefronts = 1},
                              {.address = 3, .samples = 3},
                              {.address = 6, .samples = 3},
                              {.address = 1, .samples = -1, .executed = -1}};
    /* as listed, but of the two that move something the one that stands before */
    static const int order[] = {0, 1, 2, 4, 3, 5, 6, 7};
    for (int i = 0; i < 8; i++)
        for (int k = 0; k < 8; k++) {
            int is = row_code_order(&code[order[i]], &code[order[k]]);
            assert_true(i < k ? is < 0 : i > k ? is > 0 : is == 0);
        }
    assert_true(row_code_heat(&code[0]) == 9 && row_code_heat(&code[1]) == 8 && row_code_heat(&code[7]) == 0);
}

static void lists_hold_what_was_added(void **state)
{
    struct row *row = row_new();
    row_add_network(row, "edsr", 3);
    row_add_network(row, "vdsr", 20000000000);
    row_add_part(row, "conv2d/a", "a");
    assert_true(row->network_count == 2 && !strcmp(row->network[0].name, "edsr") && row->network[1].runs == 20000000000);
    assert_string_equal(row->networks, "edsr:3, vdsr:20000000000");
    assert_true(row->part_count == 1 && !strcmp(row->parts[0].variant, "conv2d/a"));
    row_add_param(row, "T", "1", 1);
    row_add_param(row, "U", "2", NAN);
    assert_string_equal(row->params, "T=1,U=2");
    assert_string_equal(row_pair_value(row->param, row->param_count, "U"), "2");
    assert_null(row_pair_value(row->param, row->param_count, "V"));
    assert_null(row_pair(row->param, row->param_count, "V"));
    assert_true(row_pair(row->param, row->param_count, "T")->number == 1 && isnan(row_pair(row->param, row->param_count, "U")->number));
    row_free(row);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(new_row_is_absent),
        cmocka_unit_test(code_is_in_order_of_heat),
        cmocka_unit_test(lists_hold_what_was_added),
        cmocka_unit_test(status_names_round_trip),
        cmocka_unit_test(set_replaces_and_survives_itself),
        cmocka_unit_test(a_note_is_said_once_and_whole),
        cmocka_unit_test(metrics_are_found_by_step_and_not_by_line),
        cmocka_unit_test(times_are_found_by_mode),
        cmocka_unit_test(columns_are_named_once_in_a_group),
        cmocka_unit_test(column_set_undoes_column_get),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
