/* measure/time/sample: any call that fails, once, ends the measurement with what it said, and nothing is left behind. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sample_world.h"
#include <stdio.h>

static struct rig rigs[2];
static struct sample_candidate candidates[2];

static void ignore(void *context, int candidate) {}
static bool failing_doubt(void *context, int candidate, int set, enum rig_left left, bool *right, struct error *err)
{
    *right = true;
    return !fails("doubt", err);
}
static struct sample_watch watch = {.announce = ignore, .doubt = failing_doubt};
static int announced;
static void announce(void *context, int candidate)
{
    announced = candidate;
}
static bool accept(void *context, int candidate, int set, enum rig_left left, bool *right, struct error *err)
{
    rigs[candidate].awaits = false;
    announced = -1;
    *right = true;
    return true;
}
static bool deny(void *context, int candidate, int set, enum rig_left left, bool *right, struct error *err)
{
    *right = false;
    return true;
}

static struct device_ops own;
static double stamped(struct device *dev, int from, int to)
{
    return 1.98e9;
}

static const struct kind {
    const char *what;
    bool warm, sustained, steps, turns, library, keeps, doubtful, awaits;
} kinds[] = {{"cold", .steps = false},
             {"warm", .warm = true},
             {"of two steps", .steps = true},
             {"sustained", .sustained = true},
             {"sustained, and keeps something", .sustained = true, .keeps = true},
             {"with turns", .turns = true},
             {"a library with turns", .turns = true, .library = true},
             {"doubtful", .doubtful = true}};

static bool measured(const struct kind *kind, int fail_at, struct error *err)
{
    struct sample_plan plan = {
        .rounds_min = 3, .rounds_max = 3, .half_width = 0.005, .budget_s = 60, .warmup_rounds = 2, .sets = 2, .replicas = 2};
    struct sample_result result;
    own = ops;
    if (kind->turns) {
        own.launch_slot = turn;
        own.slots_used = turned;
        own.graph_launches = graph_launches;
        own.stamp = turn_stamp;
        own.stamped_hz = stamped;
    }
    device.ops = &own;
    plan.warm = kind->warm;
    plan.sustained = kind->sustained;
    plan.step_rounds = kind->steps ? 3 : 0;
    for (int i = 0; i < 2; i++) {
        rigs[i] = (struct rig){.ns = 1000, .launches = kind->turns ? 1 + i : 0, .wipe_ns = kind->keeps ? 100 : 0};
        rigs[i].steps[0].kind = kind->library ? STEP_CUDNN : STEP_KERNEL;
        rigs[i].awaits = kind->awaits;
        rigs[i].wrong_from = kind->doubtful && i ? 2 : 0;
        rigs[i].program = (struct program){.step_count = kind->steps ? 2 : 1, .steps = rigs[i].steps, .unit_count = i};
        candidates[i] = (struct sample_candidate){.rig = &rigs[i]};
    }
    world.made = world.seen = world.turn_runs = world.calls = 0;
    world.fail_at = fail_at;
    world.said[0] = 0;
    bool ok = sample_run(&device, candidates, 2, &plan, &watch, &result, err);
    assert_int_equal(world.events, 0);
    assert_int_equal(world.graphs, 0);
    sample_result_free(&result);
    for (int i = 0; i < 2; i++)
        sample_candidate_free(&candidates[i], kind->steps ? 2 : 1);
    world.fail_at = 0;
    device.ops = &ops;
    return ok;
}

/* Only that a library's launches cannot be caught in a graph is no error: then nobody knows how many they are. */
static void any_call_that_fails_ends_it(void **state)
{
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        struct error err = {0};
        world.random = 9;
        if (!measured(&kinds[k], 0, &err))
            fail_msg("%s: %s", kinds[k].what, err.text);
        int calls = world.calls;
        assert_true(calls > 40);
        for (int at = 1; at <= calls; at++) {
            err = (struct error){0};
            world.random = 9;
            world.capturing = false;
            bool ok = measured(&kinds[k], at, &err);
            bool caught = kinds[k].library && (!strcmp(world.failed, "graph_begin") || !strcmp(world.failed, "rig_run_stepwise"));
            char want[64];
            snprintf(want, sizeof want, "%s fails", world.failed);
            if (ok != caught || (!ok && strcmp(err.text, want) != 0))
                fail_msg("%s: call %d of %d, %s: %s", kinds[k].what, at, calls, world.failed, ok ? "not noticed" : err.text);
        }
    }
}

/* Who runs alone is announced, also behind the check of its first launch. */
static void whose_first_runs_fail_is_announced(void **state)
{
    const struct kind kind = {"first checked here", .turns = true, .library = true, .awaits = true};
    int seen = 0;
    watch.announce = announce, watch.doubt = accept;
    for (int at = 1; at < 60; at++) {
        struct error err = {0};
        if (!measured(&kind, at, &err) && !strcmp(world.failed, "rig_run") && !rigs[1].runs) {
            assert_int_equal(announced, seen / 2); /* two runs each, the second of which counts launches */
            seen++;
        }
    }
    assert_int_equal(seen, 3);
    watch.announce = ignore, watch.doubt = failing_doubt;
}

/* Before anybody is timed there is nothing on any replica; runs back to back begin with nothing on each. */
static void every_seat_is_wiped(void **state)
{
    for (int sustained = 0; sustained < 2; sustained++) {
        const struct kind kind = {"wiped", .sustained = sustained};
        struct error err = {0};
        assert_true(measured(&kind, 0, &err));
        for (int i = 0; i < 2; i++) {
            int *wiped = rigs[i].wiped;
            assert_true(wiped[0] + wiped[1] ==
                        2 + 5 * (1 + sustained) + 8 * sustained); /* two warm-up rounds and three; four shorter graphs */
            assert_true(wiped[0] >= 1 && wiped[1] >= 1 && (!sustained || wiped[0] == wiped[1]));
        }
    }
    rigs[0] = rigs[1] = (struct rig){.ns = 1000};
    struct sample_plan plan = {.rounds_min = 1, .rounds_max = 1, .half_width = 1, .sets = 1, .replicas = 2};
    struct sample_result result;
    struct error err = {0};
    for (int i = 0; i < 2; i++) {
        rigs[i].program = (struct program){.step_count = 1, .steps = rigs[i].steps, .unit_count = i};
        candidates[i] = (struct sample_candidate){.rig = &rigs[i]};
    }
    assert_true(sample_run(&device, candidates, 2, &plan, &watch, &result, &err));
    for (int i = 0; i < 2; i++)
        assert_true(rigs[i].wiped[0] >= 1 && rigs[i].wiped[1] >= 1 && rigs[i].wiped[0] + rigs[i].wiped[1] == 3);
    sample_result_free(&result);
    for (int i = 0; i < 2; i++)
        sample_candidate_free(&candidates[i], 1);
}

/* Who leaves out runs in the middle of a graph, at which nobody looks, meets shorter graphs: the more it leaves out the surer. */
static void the_middle_is_looked_at(void **state)
{
    static const struct {
        int from, to, least, most; /* of 60 measurements, found */
    } idle[] = {{0, 0, 0, 0}, {4, 48, 58, 60}, {6, 30, 48, 60}, {20, 30, 20, 50}};
    const struct sample_watch denies = {.announce = ignore, .doubt = deny};
    struct sample_plan plan = {.rounds_min = 1, .rounds_max = 1, .half_width = 1, .sets = 3, .replicas = 2, .sustained = true};
    for (int k = 0; k < 4; k++) {
        int found = 0;
        for (int seed = 0; seed < 60; seed++) {
            struct sample_result result;
            struct error err = {0};
            rigs[0] = (struct rig){.ns = 1000, .idle_from = idle[k].from, .idle_to = idle[k].to};
            rigs[0].program = (struct program){.step_count = 1, .steps = rigs[0].steps};
            candidates[0] = (struct sample_candidate){.rig = &rigs[0]};
            plan.seed = 77 + (uint64_t)seed;
            assert_true(sample_run(&device, candidates, 1, &plan, &denies, &result, &err));
            found += candidates[0].out;
            assert_int_equal(world.graphs, 0);
            sample_result_free(&result);
            sample_candidate_free(&candidates[0], 1);
        }
        if (found < idle[k].least || found > idle[k].most)
            fail_msg("runs %d to %d: found in %d of 60", idle[k].from, idle[k].to - 1, found);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(any_call_that_fails_ends_it), cmocka_unit_test(whose_first_runs_fail_is_announced),
                                       cmocka_unit_test(every_seat_is_wiped), cmocka_unit_test(the_middle_is_looked_at)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
