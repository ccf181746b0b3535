/* The judge on rows of emu (harness/report/view/verdict): its findings follow from a predicted time, which has an error. */
#include "store/family.h"
#include "measured_rows.h"
#include "report/form/document.h"
#include "report/page/why.h"
#include "report/view/predict.h"
#include "report/view/verdict.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "judged_rows.h"

static void emu(struct row *r, const char *name, double value)
{
    row_add_member(r, FAMILY_EMU, 0, 0, name, "", "emu", value);
}

/* A row on emu, of 40 waves of blocks; their warps take `l1` of 20,000 cycles without their waits for global data. */
static void emu_row(struct fixture *f, double instructions, double l1)
{
    const int blocks = 132 * 8 * 40;
    struct row *r = row_of(f, "conv2d/mine", 0, 0);
    r->time_count = 0;
    r->flop = r->bytes = 1e6;
    row_set(&r->device, "emu:GH100");
    r->steps[0].grid[0] = blocks;
    r->steps[0].grid[1] = r->steps[0].grid[2] = 1;
    r->steps[0].waves = 40;
    emu(r, "warp_instructions", instructions * blocks);
    emu(r, "unique_bytes_read", 5e5);
    emu(r, "unique_bytes_written", 5e5);
    emu(r, "path_l1_cycles", l1 * blocks);
    emu(r, "path_l2_cycles", 20e3 * blocks);
    emu(r, "path_dram_cycles", 20e3 * blocks);
    emu(r, "global_requests_ld", 1e4);
    emu(r, "global_sectors_ld", 1.5e4);
    emu(r, "load_phases", 1e4);
}

/* emu: if the usual error of a predicted time decides which finding leads, the row has no bottleneck, and both are named. */
static void the_error_of_a_time_decides_nothing(void **state)
{
    int named[2] = {0}, open = 0;
    for (double instructions = 2000; instructions < 60000; instructions *= 1.06) {
        struct fixture f = {0};
        struct judge j;
        fixture_run(&f.run, "edsr", "emu:GH100", "emu");
        emu_row(&f, instructions, 9e3);
        struct case_view c = judged(&f, &j);
        const struct view *v = &c.views[0];
        double issue = predicted_value(&c, v, "issue_active");
        SCOPED_TEXT words = {0};
        verdict_words(v, &words);
        assert_true(v->verdicts.count > 0);
        if (issue > 60 * 1.13) {
            assert_string_equal(verdict_word(v), "compute");
            named[1]++;
        } else if (issue < 60 / 1.13) {
            assert_string_equal(verdict_word(v), "latency");
            named[0]++;
        } else if (issue > 60 / 1.11 && issue < 60 * 1.11) {
            assert_string_equal(verdict_word(v), "");
            assert_string_equal(text_get(&words), issue < 60 ? "latency or compute" : "compute or latency");
            assert_true(v->verdicts.items[1].close);
            open++;
        }
        judged_free(&c, &j, &f);
    }
    assert_true(named[0] > 1 && named[1] > 1 && open > 1);
}

/* Without a predicted time it is unknown what a finding costs: the row has no bottleneck, and the table says what it may be. */
static void without_a_time_nothing_leads(void **state)
{
    struct fixture f = {0};
    struct judge j;
    fixture_run(&f.run, "edsr", "emu:GH100", "emu");
    emu_row(&f, 2000, 9e3);
    f.rows[0]->steps[0].waves = 0.4;
    f.rows[0]->steps[0].grid[0] = 132 * 3;
    emu(f.rows[0], "warp_f64", 1e9); /* which no row behind the model has */
    struct case_view c = judged(&f, &j);
    const struct view *v = &c.views[0];
    SCOPED_TEXT words = {0};
    verdict_words(v, &words);
    assert_false(v->predicted.ns > 0);
    assert_true(v->verdicts.count > 0);
    assert_string_equal(verdict_word(v), "");
    assert_string_equal(text_get(&words), "perhaps small_grid");
    struct document page = {0};
    struct block *list = document_list(&page, DETAIL_ALWAYS);
    why_verdict(list, &c, v);
    assert_true(list->item_count > 0 && !strncmp(list->items[0].text, "perhaps small_grid: ", 20));
    document_free(&page);
    judged_free(&c, &j, &f);
}

/* Blocks that may take work from a counter: the model has no time for the counter, nor for what each block takes. */
static void work_from_a_counter_has_no_time(void **state)
{
    for (int results = 0; results <= 1; results++) {
        struct fixture f = {0};
        struct judge j;
        fixture_run(&f.run, "edsr", "emu:GH100", "emu");
        emu_row(&f, 2000, 9e3);
        emu(f.rows[0], "atomic_results", 132 * results);
        struct case_view c = judged(&f, &j);
        assert_int_equal(c.views[0].predicted.ns > 0, !results);
        assert_int_equal(strstr(c.views[0].predicted.why, "take work from a counter") != NULL, results);
        judged_free(&c, &j, &f);
    }
}

/* Where schedulers seldom issue and emu knows of no wait, a warp waits for something that emu does not know. That precedes SMs that are
 * without a block for a quarter of the time, and not those that are for half of it. */
static void waits_that_are_not_known(void **state)
{
    static const struct {
        double busy;
        const char *word;
    } table[] = {{90, "latency"}, {76, "latency"}, {50, "tail"}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct fixture f = {0};
        struct judge j;
        fixture_run(&f.run, "edsr", "emu:GH100", "emu");
        emu_row(&f, 100, 19e3);
        struct row *r = f.rows[0];
        emu(r, "unequal_sm", 100 * 320 * 1.1);
        emu(r, "unequal_place", 100 * 40 * 1.1);
        emu(r, "unequal_blocks", 40);
        emu(r, "unequal_busy", table[i].busy);
        struct case_view c = judged(&f, &j);
        if (strcmp(verdict_word(&c.views[0]), table[i].word))
            fail_msg("SMs with a block in %.0f %% of the time: '%s'", table[i].busy, verdict_word(&c.views[0]));
        assert_true(predicted_value(&c, &c.views[0], "stall_unknown") > 0);
        judged_free(&c, &j, &f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_error_of_a_time_decides_nothing),
        cmocka_unit_test(without_a_time_nothing_leads),
        cmocka_unit_test(waits_that_are_not_known),
        cmocka_unit_test(work_from_a_counter_has_no_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
