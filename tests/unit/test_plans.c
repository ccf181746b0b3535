/* measure/time/sample: which of a library's plans runs. The plans of the stand-in rig take known times; the events of its device read a
 * simulated clock. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "measure/time/sample_private.h"
#include "virtual_clock.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PLANS 4
#define MANY 24
#define ROUNDS 5
struct rig {
    double ns[MANY], host_ns[MANY];        /* of its launch, and of the call that queues it */
    int count, engine[MANY];               /* count 0: PLANS */
    bool refused[MANY], fails_later[MANY]; /* by the library when it is queued, or when it runs */
    bool noisy;                            /* a normal noise of 1 %, and every fiftieth launch takes up to three times as long */
    int used, runs[MANY];
};
static int launched = -1; /* modulo the turns of a device that has some; -1: it has none */
static uint64_t drawn;
static double draw(void) /* 0 to 1 */
{
    drawn = drawn * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (double)(drawn >> 11) * 0x1p-53;
}
static bool failed; /* of what was queued something failed */
static struct phase_clock whole;
static int by_phase[PHASE_COUNT]; /* launches, of a device that has that clock */

/* ---- in place of measure/rig ---- */
bool rig_capture(struct rig *rig, struct error *err)
{
    return true;
}
bool rig_run(struct rig *rig, struct error *err)
{
    return false;
}
bool rig_run_timed(struct rig *rig, struct error *err)
{
    return rig_run(rig, err);
}
bool rig_finish(struct rig *rig, struct error *err)
{
    return true;
}
bool rig_run_stepwise(struct rig *rig, bool (*between)(void *context, int step, struct error *err), void *context, struct error *err)
{
    return false;
}
bool rig_run_step(struct rig *rig, int step, struct error *err)
{
    assert_int_equal(step, 1);
    by_phase[whole.depth ? whole.stack[whole.depth - 1] : PHASE_START_UP]++;
    if (rig->refused[rig->used])
        return error_set(err, ERROR_ENVIRONMENT, "not supported");
    rig->runs[rig->used]++;
    failed = failed || rig->fails_later[rig->used];
    double noise = 0;
    for (int i = 0; rig->noisy && i < 12; i++)
        noise += draw() / 100;
    clock_queues(rig->host_ns[rig->used]);
    if (launched >= 0) /* two turns, four apart, are slow */
        spend(launched++ % (DEVICE_LAUNCH_SLOTS / 2) == 3 ? 900 : 0);
    double hiccup = rig->noisy && draw() < 0.02 ? 1 + 2 * draw() : 1;
    spend(rig->ns[rig->used] * (rig->runs[rig->used] == 1 ? 50
                                : rig->noisy              ? (0.94 + noise) * hiccup
                                                          : 1)); /* the first makes what it needs */
    return true;
}
bool rig_prepare(struct rig *rig, double *ns, struct error *err)
{
    return false;
}
const struct program *rig_program(const struct rig *rig)
{
    return NULL;
}
int rig_plan_count(const struct rig *rig, int step)
{
    return rig->count ? rig->count : PLANS;
}
void rig_plan_use(struct rig *rig, int step, int plan)
{
    rig->used = plan;
}
const struct cudnn_plan_facts *rig_plan_facts(const struct rig *rig, int step, int plan)
{
    static struct cudnn_plan_facts facts[MANY];
    facts[plan].engine = rig->engine[plan];
    return &facts[plan];
}
static bool hopeless[8]; /* by engine */
void rig_plan_is_hopeless(const struct rig *rig, int step, int plan)
{
    hopeless[rig->engine[plan]] = true;
}
bool rig_plan_hopeless(const struct rig *rig, int step, int plan)
{
    return hopeless[rig->engine[plan]];
}

bool rig_checksum_awaits(const struct rig *rig)
{
    return false;
}
bool rig_checksum_matches(struct rig *rig, enum rig_left *left, struct error *err)
{
    return false;
}
bool rig_has_state(const struct rig *rig)
{
    return false;
}
bool rig_checksum(struct rig *rig, struct error *err)
{
    return false;
}
void rig_select(struct rig *rig, int set, int replica) {}
void rig_use_code(struct rig *rig, int view) {}
bool rig_poison_all(struct rig *rig, struct error *err)
{
    return false;
}

const char *rig_name(const struct rig *rig)
{
    return NULL;
}

/* ---- the device ---- */
static bool sync(struct device *dev, struct error *err)
{
    bool ok = !failed;
    failed = false;
    return ok || error_set(err, ERROR_ENVIRONMENT, "the launch failed");
}
static struct device_ops ops = {.name = "fake", .sync = sync};
static struct device device = {.ops = &ops, .spec = "fake"};

/* The fastest of those that run, each timed by itself; one that is refused when it is queued or when it runs is passed over. */
static void the_fastest_that_runs(void **state)
{
    struct rig rig = {.ns = {3000, 2000, 500, 1000}, .refused = {[2] = true}};
    struct error err = {0};
    double medians[PLANS];
    assert_true(sample_plans(&device, &rig, 1, ROUNDS, medians, &err));
    assert_int_equal(rig.used, 3);
    assert_true(medians[0] == 3000 && medians[1] == 2000 && isnan(medians[2]) && medians[3] == 1000);
    assert_true(rig.runs[3] == 1 + ROUNDS && rig.runs[2] == 0);
    struct rig late = {.ns = {3000, 2000, 500, 1000}, .fails_later = {[3] = true}};
    assert_true(sample_plans(&device, &late, 1, ROUNDS, NULL, &err));
    assert_int_equal(late.used, 2);
    assert_int_equal(late.runs[3], 1);
    assert_int_equal(virtual_clock.events, 0);
}

/* The plan whose launch is shortest, though its call is the longest: that is no part of its time. */
static void calls_are_no_part_of_it(void **state)
{
    struct rig rig = {.ns = {1100, 1000, 1200, 1300}, .host_ns = {[1] = 600}};
    struct error err = {0};
    double medians[PLANS];
    assert_true(sample_plans(&device, &rig, 1, ROUNDS, medians, &err));
    assert_int_equal(rig.used, 1);
    assert_true(medians[1] == 1000);
}

/* Whoever cannot win is not timed on; whoever is near runs every round. */
static void far_behind_is_out(void **state)
{
    struct rig rig = {.ns = {1150, 1000, 1550, 200000}};
    struct error err = {0};
    double medians[PLANS];
    assert_true(sample_plans(&device, &rig, 1, ROUNDS, medians, &err));
    assert_int_equal(rig.used, 1);
    assert_true(rig.runs[0] == 1 + ROUNDS && rig.runs[1] == 1 + ROUNDS);
    assert_true(rig.runs[2] == 1 + 2 && rig.runs[3] == 1 + 1); /* so far behind that one round tells */
    assert_true(medians[2] == 1550 && medians[3] == 200000);
    struct rig first = {.ns = {1000, 1550, 3900, 4100}}; /* the same when it is the first that wins */
    assert_true(sample_plans(&device, &first, 1, ROUNDS, medians, &err));
    assert_true(first.used == 0 && first.runs[0] == 1 + ROUNDS && first.runs[1] == 1 + 2 && first.runs[2] == 1 + 2 &&
                first.runs[3] == 1 + 1);
}

/* What a plan needs once is the library's time; what is timed is measuring, and told apart there. */
static void a_race_is_measuring(void **state)
{
    struct rig rig = {.ns = {1000, 1001, 1002, 1003}}, late = {.ns = {3000, 2000, 500, 1000}, .fails_later = {[3] = true}};
    struct error err = {0};
    phase_begin(&whole, PHASE_PLANS);
    device.clock = &whole;
    int depth = phase_depth(&whole);
    memset(by_phase, 0, sizeof by_phase);
    assert_true(sample_plans(&device, &rig, 1, ROUNDS, NULL, &err));
    assert_true(by_phase[PHASE_PLANS] == PLANS && by_phase[PHASE_MEASURING] == PLANS * ROUNDS);
    assert_true(sample_plans(&device, &late, 1, ROUNDS, NULL, &err));
    assert_true(phase_part_find(&whole, PHASE_MEASURING, "library plans")->spent_s > 0);
    assert_int_equal(phase_depth(&whole), depth);
    device.clock = NULL;
    whole.depth = 0;
}

/* The plan of an earlier run, or of another layer of the network, runs once to see that it does: its time is nobody's question. */
static void one_alone_is_not_timed(void **state)
{
    struct rig rig = {.count = 1, .ns = {3000}}, refused = {.count = 1, .ns = {3000}, .fails_later = {true}};
    struct error err = {0};
    double median;
    assert_true(sample_plans(&device, &rig, 1, ROUNDS, &median, &err));
    assert_true(rig.used == 0 && rig.runs[0] == 1 && isnan(median));
    assert_false(sample_plans(&device, &refused, 1, ROUNDS, &median, &err));
}

/* An engine all of whose plans took 50 times as long does not run on the next convolution; one with a plan that was nearer does. */
static void the_hopeless_are_left_out(void **state)
{
    struct rig first = {.ns = {1000, 60000, 40000, 70000}, .engine = {1, 2, 2, 3}},
               second = {.ns = {1000, 500, 900, 1}, .engine = {1, 2, 2, 3}};
    struct error err = {0};
    double medians[PLANS];
    assert_true(sample_plans(&device, &first, 1, ROUNDS, medians, &err));
    assert_true(first.used == 0 && !hopeless[1] && !hopeless[2] && hopeless[3]);
    assert_true(sample_plans(&device, &second, 1, ROUNDS, medians, &err));
    assert_true(second.used == 1 && second.runs[3] == 0 && isnan(medians[3]));
    struct rig alone = {.count = 1, .ns = {1}, .engine = {3}}; /* chosen before: nobody else is there */
    assert_true(sample_plans(&device, &alone, 1, ROUNDS, medians, &err));
    assert_int_equal(alone.runs[0], 1);
    hopeless[3] = false;
    struct rig begins = {.ns = {60000, 1000, 2000, 2000}, .engine = {4, 1, 1, 1}}; /* whichever of them it is */
    assert_true(sample_plans(&device, &begins, 1, ROUNDS, medians, &err));
    assert_true(begins.used == 1 && hopeless[4] && !hopeless[1]);
    hopeless[4] = false;
}

/* Plans that leave the race early are slower: the winner equals that of a race in which all plans run all rounds, for several plans close
 * to the best. The clock ticks in ns. */
static void early_leavers_would_have_lost(void **state)
{
    enum { RACES = 50, ALL = 11 }; /* of 400: 0.128 % and 0.133 %, 191 runs of 264 */
    double lost = 0, lost_all = 0;
    int runs = 0, worst = 0;
    for (int race = 0; race < RACES; race++) {
        struct rig rig = {.count = MANY, .noisy = true};
        struct error err = {0};
        double best = INFINITY, all = NAN, of_all = INFINITY, ns[ALL];
        for (int i = 0; i < MANY; i++) {
            rig.ns[i] = 100000 * (1 + (i % 3 ? 0.1 : 1.5) * draw() * draw());
            best = fmin(best, rig.ns[i]);
        }
        assert_true(sample_plans(&device, &rig, 1, ALL, NULL, &err));
        lost += rig.ns[rig.used] / best - 1;
        worst = fmax(worst, 1e4 * (rig.ns[rig.used] / best - 1));
        for (int i = 0; i < MANY; i++)
            runs += rig.runs[i] - 1;
        for (int i = 0; i < MANY; i++) { /* what the median of all rounds says */
            for (int r = 0; r < ALL; r++) {
                double noise = 0;
                for (int k = 0; k < 12; k++)
                    noise += draw() / 100;
                ns[r] = rig.ns[i] * (0.94 + noise) * (draw() < 0.02 ? 1 + 2 * draw() : 1);
            }
            double median = sample_median(ns, ALL);
            if (median < of_all)
                of_all = median, all = rig.ns[i];
        }
        lost_all += all / best - 1;
    }
    if (lost > 1.1 * lost_all + 1e-4 * RACES || worst > 200 || runs > 0.8 * RACES * MANY * ALL)
        fail_msg("%.3f %% slower than the best on average, %.2f %% at most, with %d runs; %.3f %% where all run", 100 * lost / RACES,
                 worst / 100.0, runs / RACES, 100 * lost_all / RACES);
}

static bool no_stamps;
static bool stamp(struct device *dev, int slot, struct error *err)
{
    launched++;
    return !no_stamps || error_set(err, ERROR_ENVIRONMENT, "no more stamps");
}

/* A round has as many launches as there are launch slots: each plan would meet the same two slots in all rounds, one in forward and one in
 * reverse order. Where six of eleven slots are slow, the fastest plan would lose by half of what a slow slot costs. */
static void no_plan_has_the_slow_turns(void **state)
{
    struct device_ops turning = ops;
    struct device_ops *before = (struct device_ops *)device.ops;
    int right = 0;
    turning.stamp = stamp;
    device.ops = &turning;
    for (int i = 0; i < 64; i++) {
        struct rig rig = {.count = DEVICE_LAUNCH_SLOTS};
        struct error err = {0};
        for (int k = 0; k < DEVICE_LAUNCH_SLOTS; k++)
            rig.ns[k] = k == i / 8 ? 30000 : 30450;
        launched = i % 8;
        assert_true(sample_plans(&device, &rig, 1, 11, NULL, &err));
        right += rig.used == i / 8;
    }
    struct rig rig = {.ns = {1, 1, 1, 1}};
    struct error err = {0};
    no_stamps = true; /* what fails there ends the race */
    assert_false(sample_plans(&device, &rig, 1, 11, NULL, &err));
    assert_string_equal(err.text, "no more stamps");
    no_stamps = false;
    launched = -1;
    device.ops = before;
    if (right < 58) /* in 3 of 100 a plan draws a slow turn six times */
        fail_msg("%d of 64", right);
}

static void none_that_runs(void **state)
{
    struct rig rig = {.ns = {1, 1, 1, 1}, .refused = {true, true, true, true}};
    struct error err = {0};
    assert_false(sample_plans(&device, &rig, 1, ROUNDS, NULL, &err));
    assert_int_equal(err.kind, ERROR_ENVIRONMENT);
    assert_int_equal(virtual_clock.events, 0);
}

int main(void)
{
    clock_give(&ops, 74000);
    const struct CMUnitTest tests[] = {cmocka_unit_test(no_plan_has_the_slow_turns),
                                       cmocka_unit_test(the_fastest_that_runs),
                                       cmocka_unit_test(calls_are_no_part_of_it),
                                       cmocka_unit_test(far_behind_is_out),
                                       cmocka_unit_test(a_race_is_measuring),
                                       cmocka_unit_test(one_alone_is_not_timed),
                                       cmocka_unit_test(the_hopeless_are_left_out),
                                       cmocka_unit_test(early_leavers_would_have_lost),
                                       cmocka_unit_test(none_that_runs)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
