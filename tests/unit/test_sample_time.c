/* measure/time/sample: what a profiler and the table of time see of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sample_world.h"
#include <string.h>

static struct rig rigs[2];
static struct sample_candidate candidates[2];

static void ignore(void *context, int candidate) {}
static const struct sample_watch watch = {.announce = ignore};

static char drawn[8192];
static void draw_open(const char *name)
{
    strcat(strcat(drawn, name), "(");
}
static void draw_close(void)
{
    strcat(drawn, ")");
}

/* A profiler sees each round with its rows by name, and the rest before a sample is not measuring. */
static void it_tells_its_time(void **state)
{
    const double ns[] = {1000, 2000};
    struct sample_plan plan = {.rounds_min = 3, .rounds_max = 3, .half_width = 0, .budget_s = 10, .spacing_ns = 2000000};
    struct sample_result result;
    struct error err = {0};
    struct phase_clock clock;
    for (int i = 0; i < 2; i++) {
        rigs[i] = (struct rig){.ns = ns[i], .name = i ? "s/a/two" : "s/a/one"};
        rigs[i].program = (struct program){.step_count = 1, .steps = rigs[i].steps};
        candidates[i] = (struct sample_candidate){.rig = &rigs[i]};
    }
    phase_begin(&clock, PHASE_MEASURING);
    clock.draw_open = draw_open;
    clock.draw_close = draw_close;
    device.clock = &clock;
    drawn[0] = 0;
    assert_true(sample_run(&device, candidates, 2, &plan, &watch, &result, &err));
    sample_result_free(&result);
    device.clock = NULL;
    phase_settle(&clock);
    assert_non_null(strstr(drawn, "round 0(s/a/"));
    assert_non_null(strstr(drawn, "round 2(s/a/"));
    assert_non_null(strstr(drawn, "s/a/two(spacing())"));
    assert_non_null(strstr(drawn, "s/a/one(spacing())"));
    assert_int_equal(clock.depth, 0);
    assert_true(clock.spent_s[PHASE_SPACING] >= 3 * 2 * 0.002);
    assert_true(clock.spent_s[PHASE_MEASURING] > 0);
    for (int i = 0; i < 2; i++)
        sample_candidate_free(&candidates[i], 1);
}

/* A result that a library keeps elsewhere is copied to its buffer behind the end of the sample, and before the check of the buffer. */
static void a_copy_is_not_timed(void **state)
{
    struct sample_plan plan = {.rounds_min = 3, .rounds_max = 3, .budget_s = 10, .spacing_ns = 2000000};
    struct sample_result result;
    struct error err = {0};
    rigs[0] = (struct rig){.ns = 35000, .copy_ns = 18000, .name = "s/a/called"};
    rigs[0].program = (struct program){.step_count = 1, .steps = rigs[0].steps};
    candidates[0] = (struct sample_candidate){.rig = &rigs[0]};
    assert_true(sample_run(&device, candidates, 1, &plan, &watch, &result, &err));
    for (int k = 0; k < result.rounds; k++)
        assert_true(candidates[0].samples_ns[k] >= 35000 && candidates[0].samples_ns[k] < 36000);
    sample_result_free(&result);
    sample_candidate_free(&candidates[0], 1);
}

static int blocks;
static bool block(struct device *dev, struct error *err)
{
    blocks++;
    return true;
}
static void unblock(struct device *dev) {}
static bool never_held(struct device *dev)
{
    return false;
}

/* A row whose calls wait for the GPU starts before everything is queued: after so many such samples the stream is no longer blocked. */
static void a_row_that_waits_is_not_blocked(void **state)
{
    struct sample_plan plan = {.rounds_min = 9, .rounds_max = 9, .budget_s = 10};
    struct sample_result result;
    struct error err = {0};
    struct device_ops waiting = ops;
    waiting.block = block, waiting.unblock = unblock, waiting.unblocked = never_held;
    device.ops = &waiting;
    rigs[0] = (struct rig){.ns = 35000, .name = "s/a/waits"};
    rigs[0].program = (struct program){.step_count = 1, .steps = rigs[0].steps};
    candidates[0] = (struct sample_candidate){.rig = &rigs[0]};
    assert_true(sample_run(&device, candidates, 1, &plan, &watch, &result, &err));
    assert_true(result.rounds == 9 && candidates[0].unheld == SAMPLE_UNHELD_MOST);
    assert_int_equal(blocks, SAMPLE_UNHELD_MOST);
    device.ops = &ops;
    sample_result_free(&result);
    sample_candidate_free(&candidates[0], 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(it_tells_its_time), cmocka_unit_test(a_copy_is_not_timed),
                                       cmocka_unit_test(a_row_that_waits_is_not_blocked)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
