/* measure/time/sample on a device with simulated time: the order of rows, what a sample contains, when sampling stops; then, by simulation,
 * how often a ratio is wrong. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "measure/time/sample.h"
#include "sample_world.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST 4
static struct rig rigs[MOST];
static struct sample_candidate candidates[MOST];

static void ignore(void *context, int candidate) {}
static int doubts;
static bool deny(void *context, int candidate, int set, enum rig_left left, bool *right, struct error *err)
{
    assert_int_equal(left, RIG_OTHER_OUTPUT);
    assert_int_equal(rigs[candidate].set, set);
    doubts++;
    *right = context != NULL;
    return true;
}
static struct sample_watch watch = {.announce = ignore, .doubt = deny};
static int sensed;
static void sense(void *context, double *power_w, double *throttle)
{
    assert_true(isnan(*power_w) && isnan(*throttle));
    *power_w = 500 + sensed, *throttle = sensed++ == 2 ? 4 : 0;
}

static int places[128];   /* of the rounds */
static double last_noise; /* of the last rig, where it has one of its own */
static struct sample_result sampled(const double *ns, int count, double noise, const struct sample_plan *plan)
{
    struct error err = {0};
    struct sample_result result;
    for (int i = 0; i < count; i++) {
        const struct rig given = rigs[i];
        rigs[i] = (struct rig){.ns = ns[i],
                               .noise = i == count - 1 && last_noise > 0 ? last_noise : noise,
                               .wrong_from = given.wrong_from,
                               .sleep_ns = given.sleep_ns,
                               .wipe_ns = given.wipe_ns,
                               .gap_ns = given.gap_ns,
                               .launches = given.launches};
        rigs[i].steps[0].kind = given.steps[0].kind;
        rigs[i].program = (struct program){.step_count = 1, .steps = rigs[i].steps, .unit_count = i};
        candidates[i] = (struct sample_candidate){.rig = &rigs[i]};
    }
    world.now_ns = world.said[0] = 0;
    if (!sample_run(&device, candidates, count, plan, &watch, &result, &err))
        fail_msg("%s", err.text);
    assert_int_equal(world.events, 0);
    assert_int_equal(world.graphs, 0);
    for (int r = 0; r < result.rounds; r++)
        assert_true(watch.sense ? result.power_w[r] == 500 + r && result.throttle[r] == (r == 2 ? 4 : 0)
                                : isnan(result.power_w[r]) && isnan(result.throttle[r]));
    for (int r = 0; r < result.rounds && r < 128; r++)
        places[r] = result.places[r];
    sample_result_free(&result);
    return result;
}

static void freed(int count)
{
    for (int i = 0; i < count; i++) {
        sample_candidate_free(&candidates[i], 1);
        assert_true(!candidates[i].samples_ns && !candidates[i].clock_hz && !candidates[i].step_ns);
    }
}

static const struct sample_plan plain = {.rounds_min = 10, .rounds_max = 40, .half_width = 0.005, .budget_s = 60};

/* A sample is the runs between two events, a flush before each and outside of it; nobody waits for the first run after the host. */
static void a_round_is_interleaved(void **state)
{
    const double ns[] = {1000, 2000, 4000};
    struct sample_plan plan = plain;
    plan.rounds_min = plan.rounds_max = 2;
    world.random = 7;
    struct sample_result result = sampled(ns, 3, 0, &plan);
    assert_int_equal(result.rounds, 2);
    assert_true(result.seconds > 0 && result.seconds < 60 && candidates[0].host_ns >= 0);
    for (int i = 0; i < 3; i++)
        assert_true(fabs(candidates[i].samples_ns[0] - ns[i]) < 1e-6 && fabs(candidates[i].samples_ns[1] - ns[i]) < 1e-6);
    assert_int_equal(strncmp(world.said, "pawpbwpcw", 9), 0); /* everyone once, to be blamed for what happens */
    const char *first = world.said + 9;
    assert_int_equal(strlen(first), 2 * 3 * 7);
    for (int r = 0; r < 2; r++)
        for (int k = 0; k < 3; k++) {
            const char *one = first + (3 * r + k) * 7;
            assert_int_equal(strncmp(one, "pF|", 3), 0);
            assert_int_equal(strncmp(one + 4, "|=w", 3), 0);
            assert_int_equal(one[3], first[(3 * (1 - r) + 2 - k) * 7 + 3]); /* the odd round in reverse */
        }
    freed(3);
    plan.warm = true; /* an untimed run behind the flush, and nothing is left of it */
    sampled(ns, 1, 0, &plan);
    assert_string_equal(world.said, "paw"
                                    "pFawp|a|=w"
                                    "pFawp|a|=w");
    freed(1);
}

/* All of a round have the same inputs and outputs; over the rounds every set meets every replica. */
static void a_round_sits_together(void **state)
{
    const double ns[] = {1000, 2000};
    struct sample_plan plan = plain;
    int met[3][2] = {{0}};
    plan.rounds_min = plan.rounds_max = 100;
    plan.sets = 3;
    plan.replicas = 2;
    plan.half_width = 0;
    sampled(ns, 2, 0, &plan);
    for (int r = 0; r < 100; r++) {
        assert_int_equal(rigs[0].sat[1 + r].set, rigs[1].sat[1 + r].set);
        assert_int_equal(rigs[0].sat[1 + r].replica, rigs[1].sat[1 + r].replica);
        met[rigs[0].sat[1 + r].set][rigs[0].sat[1 + r].replica]++;
        assert_int_equal(places[r], rigs[0].sat[1 + r].set * 2 + rigs[0].sat[1 + r].replica);
    }
    for (int i = 0; i < 6; i++)
        assert_true(met[i / 2][i % 2] >= 6);
    freed(2);
    uint64_t drawn = 0, other = 0;
    for (int i = 0; i < 2; i++, plan.seed++) { /* another seed, other draws */
        sampled(ns, 1, 0, &plan);
        for (int r = 0; r < 64; r++)
            *(i ? &other : &drawn) |= (uint64_t)rigs[0].sat[1 + r].replica << r;
        freed(1);
    }
    assert_true(drawn != other);
    plan.warmup_rounds = 6; /* every set on every replica, the second and the third set first */
    sampled(ns, 2, 0, &plan);
    for (int r = 0; r < 6; r++)
        assert_true(rigs[0].sat[1 + r].set == (1 + r) % 3 && rigs[0].sat[1 + r].replica == r / 3);
    freed(2);
}

/* A control has its rig's buffers and other code: A/A sees where code lies; a captured graph keeps its own, and is not made in a sample. */
static void a_twin_runs_other_code(void **state)
{
    struct sample_plan plan = {.rounds_min = 40, .rounds_max = 40, .budget_s = 60, .sets = 3, .replicas = 2};
    struct sample_result result;
    for (int graph = 0, other = 0; graph < 2; graph++, other = 0) {
        rigs[0] = (struct rig){.ns = 1000, .program = {.step_count = 1, .steps = rigs[0].steps, .graph = graph}};
        candidates[0] = (struct sample_candidate){.rig = &rigs[0]};
        candidates[1] = (struct sample_candidate){.rig = &rigs[0], .control = true};
        assert_true(sample_run(&device, candidates, 2, &plan, &watch, &result, NULL));
        for (int k = 2; k < 2 + 2 * 40; k++) {
            int replica = 2 * rigs[0].sat[k].set + rigs[0].sat[k].replica, code = rigs[0].sat[k].code;
            assert_true(code == replica || code == replica + 1);
            other += code != replica;
            assert_float_equal(candidates[k % 2].samples_ns[k / 2 - 1], 1000, 1e-3);
        }
        assert_int_equal(other, graph ? 0 : 40);
        sample_result_free(&result);
        freed(2);
    }
    rigs[0].program.graph = false;
}

/* Who leaves what no verified launch left is looked at; what is wrong is out, what is right goes on. */
static void what_is_left_is_looked_at(void **state)
{
    const double ns[] = {1000, 2000};
    struct sample_plan plan = plain;
    plan.rounds_min = plan.rounds_max = 20;
    plan.half_width = 0;
    rigs[1].wrong_from = 8; /* the first run, and seven rounds */
    doubts = 0;
    sampled(ns, 2, 0, &plan);
    assert_int_equal(doubts, 1);
    assert_true(candidates[1].out && !candidates[0].out);
    assert_true(isfinite(candidates[1].samples_ns[6]) && isnan(candidates[1].samples_ns[7]) && isfinite(candidates[0].samples_ns[19]));
    freed(2);
    watch.context = &plan;
    sampled(ns, 2, 0, &plan);
    watch.context = NULL;
    assert_true(!candidates[1].out && isfinite(candidates[1].samples_ns[19]));
    assert_int_equal(doubts, 1 + 14);
    rigs[1].wrong_from = 0;
    freed(2);
}

/* A row that takes twenty times as long has ten rounds, and the others have all. */
static void the_slow_do_not_starve(void **state)
{
    const double ns[] = {1000, 2000, 20001};
    struct sample_plan plan = plain;
    plan.rounds_min = plan.rounds_max = 40;
    plan.half_width = 0;
    plan.warmup_rounds = 1;
    sampled(ns, 3, 0, &plan);
    assert_true(candidates[2].tail && !candidates[1].tail && !candidates[0].tail);
    assert_true(isfinite(candidates[2].samples_ns[9]) && isnan(candidates[2].samples_ns[10]) && isfinite(candidates[1].samples_ns[39]));
    freed(3);
    plan = plain;
    plan.warmup_rounds = 1;
    last_noise = 0.3;
    assert_true(sampled(ns, 3, 0, &plan).converged); /* the tail is not waited for, however wide its interval is */
    freed(3);
    last_noise = 0;
    const double first[] = {1000, 15000, 15001}; /* whoever the fastest is */
    sampled(first, 3, 0, &plan);
    assert_true(!candidates[0].tail && candidates[1].tail && candidates[2].tail);
    freed(3);
    const double many[] = {20000, 250000}; /* 50 and 40 launches a sample: what counts is one */
    plan.sustained = true;
    sampled(many, 2, 0, &plan);
    assert_true(!candidates[0].tail && candidates[1].tail && candidates[0].batch > candidates[1].batch);
    freed(2);
}

/* Six rounds are enough for a slow one whose interval is as narrow as those of the others must be. */
static void a_narrow_interval_ends_the_slow(void **state)
{
    const double ns[] = {1000, 20001};
    struct sample_plan plan = plain;
    plan.rounds_min = plan.rounds_max = 40;
    plan.warmup_rounds = 1;
    plan.half_width = 0.01;
    last_noise = 0.001;
    sampled(ns, 2, 0, &plan);
    assert_true(candidates[1].tail && isfinite(candidates[1].samples_ns[5]) && isnan(candidates[1].samples_ns[6]));
    freed(2);
    last_noise = 0.3;
    sampled(ns, 2, 0, &plan);
    assert_true(candidates[1].tail && isfinite(candidates[1].samples_ns[9]) && isnan(candidates[1].samples_ns[10]));
    freed(2);
    last_noise = 0;
}

/* Once the slow have had the case's time they have six rounds, which are no time of the others. */
static void the_slow_have_a_time_of_their_own(void **state)
{
    const double ns[] = {1000, 20001};
    struct sample_plan plan = plain;
    plan.rounds_min = plan.rounds_max = 40;
    plan.half_width = 0;
    plan.warmup_rounds = 1;
    plan.budget_s = 0.1;
    rigs[1].sleep_ns = 40000000;
    struct sample_result result = sampled(ns, 2, 0, &plan);
    assert_true(result.rounds > 10 && candidates[1].tail && isfinite(candidates[0].samples_ns[9]));
    assert_true(isfinite(candidates[1].samples_ns[5]) && isnan(candidates[1].samples_ns[6]));
    rigs[1].sleep_ns = 0;
    freed(2);
}

static int stamps;
static bool stamp(struct device *dev, int slot, struct error *err)
{
    assert_int_equal(slot, stamps++ % 2); /* before the flush, behind it */
    return true;
}
static double stamped_hz(struct device *dev, int from, int to)
{
    assert_true(from == 0 && to == 1);
    return world.hz[world.hz_asked++ % 64];
}

/* A sample at a clock that is lower than another began at is taken again; when it stays low it is kept. */
static void a_low_clock_is_not_taken(void **state)
{
    const double ns[] = {1000};
    struct device_ops with = ops;
    struct sample_plan plan = plain;
    with.stamp = stamp;
    with.stamped_hz = stamped_hz;
    device.ops = &with;
    plan.rounds_min = plan.rounds_max = 5;
    for (int i = 0; i < 64; i++)
        world.hz[i] = 1.98e9;
    world.hz[1] = 1.90e9;                             /* the second sample, once */
    world.hz[4] = world.hz[5] = world.hz[6] = 1.90e9; /* the fourth, for good */
    world.hz[7] = NAN;                                /* not known: taken as it is */
    world.hz_asked = 0;
    watch.sense = sense;
    sensed = 0;
    struct sample_result result = sampled(ns, 1, 0, &plan);
    assert_int_equal(result.rounds, 5);
    assert_true(candidates[0].retaken == 3 && candidates[0].kept_low == 1);
    assert_int_equal(world.hz_asked, 8);
    assert_int_equal(stamps, 16);
    assert_int_equal(sensed, 5); /* behind each round */
    watch.sense = NULL;
    assert_true(candidates[0].clock_hz[1] == 1.98e9 && candidates[0].clock_hz[3] == 1.90e9 && isnan(candidates[0].clock_hz[4]));
    freed(1);
    for (int i = 0; i < 64; i++)
        world.hz[i] = i == 1 ? 1.90e9 : 1.98e9; /* while it warms up: that is nobody's sample, so it is not taken again */
    world.hz_asked = 0;
    plan.warmup_rounds = 2;
    sampled(ns, 1, 0, &plan);
    assert_true(candidates[0].retaken == 0 && candidates[0].kept_low == 0);
    assert_int_equal(world.hz_asked, 7);
    freed(1);
    const double much[] = {1.1e6}; /* longer than the first rest, which is left out */
    plan.warmup_rounds = 0;
    for (int i = 0; i < 64; i++)
        world.hz[i] = i == 1 || i == 4 || i == 5 ? 1.90e9 : 1.98e9; /* the second sample, once; the fourth, for good */
    world.hz_asked = 0;
    sampled(much, 1, 0, &plan);
    assert_true(candidates[0].retaken == 2 && candidates[0].kept_low == 1);
    assert_int_equal(world.hz_asked, 7);
    device.ops = &ops;
    freed(1);
}

/* Of any number of candidates the odd round is the even one backwards, and everyone is in both. */
static void the_odd_round_is_the_even_one_backwards(void **state)
{
    const double ns[] = {1000, 2000, 3000, 4000};
    struct sample_plan plan = plain;
    plan.rounds_min = plan.rounds_max = 2;
    world.random = 3;
    sampled(ns, 4, 0, &plan);
    const char *first = world.said + 4 * 3, *second = first + 4 * 7;
    unsigned seen = 0;
    for (int k = 0; k < 4; k++) {
        assert_int_equal(first[7 * k + 3], second[7 * (3 - k) + 3]);
        seen |= 1u << (first[7 * k + 3] - 'a');
    }
    assert_int_equal(seen, 15);
    freed(4);
}

/* Everything slows down by a third while it is measured: medians move, ratios do not. */
static void drift_cancels(void **state)
{
    const double ns[] = {100000, 110000};
    struct sample_plan plan = plain;
    plan.rounds_min = 40;
    world.random = 11;
    world.drift = 20; /* per second of device time: 40 rounds last about 18 ms */
    sampled(ns, 2, 0.001, &plan);
    world.drift = 0;
    struct estimate ratio = estimate_ratio_grouped(candidates[1].samples_ns, candidates[0].samples_ns, NULL, 40, 1);
    assert_true(candidates[0].samples_ns[39] > 1.2 * candidates[0].samples_ns[0]);
    assert_true(fabs(ratio.median - 1.1) < 0.004);
    freed(2);
}

static void it_stops(void **state)
{
    const double ns[] = {1000, 2000};
    struct sample_plan plan = plain;
    world.random = 13;
    struct sample_result result = sampled(ns, 2, 0.0001, &plan); /* known well enough at once: the least */
    assert_true(result.converged && result.rounds == 10);
    freed(2);
    plan.rounds_min = 12; /* asked every fifth round */
    result = sampled(ns, 2, 0.0001, &plan);
    assert_true(result.converged && result.rounds == 15);
    freed(2);
    plan = plain;
    plan.rounds_max = 1000;
    for (int i = 0; i < 20; i++) { /* no sooner than asked: each 5 rounds earlier it was not known so well */
        result = sampled(ns, 2, 0.01, &plan);
        struct estimate now = estimate_ratio_grouped(candidates[0].samples_ns, candidates[1].samples_ns, NULL, result.rounds, 1);
        struct estimate then = estimate_ratio_grouped(candidates[0].samples_ns, candidates[1].samples_ns, NULL, result.rounds - 5, 1);
        assert_true(result.converged && estimate_half_width(&now) <= plan.half_width);
        assert_true(result.rounds == 10 || estimate_half_width(&then) > plan.half_width);
        freed(2);
    }
    plan = plain;
    plan.rounds_min = 12;
    plan.half_width = 1e-9;
    result = sampled(ns, 2, 0.01, &plan); /* never */
    assert_true(!result.converged && result.rounds == 40);
    freed(2);
    result = sampled(ns, 1, 0.01, &plan); /* a row alone has no ratio: its own median must be known */
    assert_true(!result.converged && result.rounds == 40);
    freed(1);
    plan.half_width = 0.02;
    result = sampled(ns, 1, 0.01, &plan);
    assert_true(result.converged && result.rounds < 40);
    freed(1);
    plan.half_width = 1e-9;
    plan.rounds_min = 30;
    plan.budget_s = 0; /* spent: as few as give an interval */
    result = sampled(ns, 2, 0.01, &plan);
    assert_true(!result.converged && result.rounds == 10);
    freed(2);
    plan.warmup_rounds = 3; /* thrown away */
    result = sampled(ns, 1, 0, &plan);
    assert_int_equal(rigs[0].runs, 1 + 3 + 10);
    freed(1);
}

/* A graph of back-to-back runs: as many as last 10 ms, 10 at least and 50 at most; the time is of one. */
static void sustained(void **state)
{
    const struct {
        double ns;
        int batch;
    } cases[] = {{1000, 50}, {400000, 25}, {5e6, 10}};
    struct sample_plan plan = plain;
    plan.sustained = true;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sampled(&cases[i].ns, 1, 0, &plan);
        assert_int_equal(candidates[0].batch, cases[i].batch);
        assert_true(fabs(candidates[0].samples_ns[3] - cases[i].ns) < 1e-6 * cases[i].ns);
        assert_true(isnan(candidates[0].host_ns));
        freed(1);
    }
    plan.sets = 3;
    plan.replicas = 2;
    sampled(&cases[0].ns, 1, 0, &plan);
    int last[2] = {-1, -1}, first[2] = {-1, -1}; /* the last runs are the graph's */
    for (int k = rigs[0].runs - 50; k < rigs[0].runs; k++) {
        int replica = rigs[0].sat[k].replica, set = rigs[0].sat[k].set;
        assert_true(set != last[replica] && rigs[0].sat[k].code == 0); /* one code, as of a kernel that is run again and again */
        last[replica] = set;
        first[replica] = first[replica] < 0 ? set : first[replica];
    }
    assert_true(last[0] != first[0] && last[1] != first[1]); /* a result kept since the first run is not the last one's */
    assert_true(last[0] == candidates[0].last[0] && last[1] == candidates[0].last[1] && last[0] >= 0 && last[1] >= 0);
    freed(1);
}

/* On a device with launch slots, one of them slow: in a round all rows have the same slot, and rounds go through the slots. A library's
 * launches are counted in a graph of it; if they cannot be counted, slots are drawn at random, and no row keeps one slot. */
static void all_rows_meet_the_same_turns(void **state)
{
    const double ns[] = {20000, 20000, 20000};
    struct sample_plan plan = plain;
    struct device_ops turning = ops;
    turning.launch_slot = turn, turning.slots_used = turned, turning.graph_launches = graph_launches, turning.stamp = turn_stamp;
    device.ops = &turning;
    plan.rounds_min = plan.rounds_max = 40;
    plan.warmup_rounds = 2;
    for (int refuses = 0; refuses < 2; refuses++)
        for (int warm = 0; warm < 2; warm++) {
            plan.warm = warm;
            for (int i = 0; i < 3; i++)
                rigs[i] = (struct rig){.launches = i + 1};
            rigs[1].steps[0].kind = STEP_CUDNN;
            world.no_capture = refuses;
            world.random = 11;
            world.turn_runs = 0;
            sampled(ns, 3, 0, &plan);
            int first = world.turn_runs - 3 * 40 * (1 + warm), slow[3] = {0}, met[DEVICE_LAUNCH_SLOTS] = {0};
            for (int r = 0; r < 40; r++) {
                int now[3];
                for (int k = 0; k < 3; k++)
                    now[k] = world.turn_of[first + (3 * r + k) * (1 + warm) + warm];
                met[now[0]]++;
                if (!refuses)
                    assert_true(now[0] == now[1] && now[1] == now[2]);
                for (int i = 0; i < 3; i++)
                    slow[i] += candidates[i].samples_ns[r] > 20500;
            }
            for (int t = 0; t < DEVICE_LAUNCH_SLOTS; t++)
                assert_true(refuses ? met[t] > 0 : met[t] == 40 / DEVICE_LAUNCH_SLOTS);
            for (int i = 0; i < 3; i++) /* as many as its launches are of the turns */
                assert_true(refuses ? slow[i] > 0 && slow[i] < 40 : slow[i] == (i + 1) * 40 / DEVICE_LAUNCH_SLOTS);
            freed(3);
        }
    memset(rigs, 0, sizeof rigs);
    world.no_capture = false;
    device.ops = &ops;
}

/* Who has a place to keep something finds it wiped before each run, and has no time of it. */
static void nothing_is_kept_between_runs(void **state)
{
    double ns[] = {2000, 1000};
    struct sample_plan plan = plain;
    plan.sustained = true;
    plan.sets = 3;
    plan.replicas = 2;
    rigs[1].wipe_ns = 7000;
    rigs[1].gap_ns = 1500; /* of a run behind the preparation: every second one has it */
    sampled(ns, 2, 0, &plan);
    assert_true(fabs(candidates[0].samples_ns[3] - 2000) < 1e-3 && fabs(candidates[1].samples_ns[3] - 1750) < 1e-3);
    assert_true(rigs[1].runs > 3 + 50 &&
                rigs[1].runs < 3 + 50 + 4 * 50); /* alone and twice for its length, of a graph and four shorter ones */
    int wiped = 0;
    for (const char *p = world.said; (p = strstr(p, "wp")); p++)
        wiped++;
    assert_true(wiped > 2 * 50);
    for (int k = 3; k + 1 < rigs[1].runs; k += 2) /* behind the preparation of both replicas there is a run on each */
        assert_int_equal(rigs[1].sat[k].replica, 1 - rigs[1].sat[k + 1].replica);
    freed(2);
    rigs[1].wipe_ns = 200000; /* of that the runs are half a percent: no time is better than a difference of noise */
    sampled(ns, 2, 0, &plan);
    assert_true(fabs(candidates[0].samples_ns[3] - 2000) < 1e-3 && isnan(candidates[1].samples_ns[3]));
    freed(2);
    rigs[1].wipe_ns = rigs[1].gap_ns = 0;
}

static void steps_and_prepare(void **state)
{
    struct error err = {0};
    struct sample_plan plan = plain;
    struct sample_result result;
    double ns;
    plan.step_rounds = 5;
    rigs[0] = (struct rig){.ns = 8000};
    rigs[0].program = (struct program){.step_count = 2, .steps = rigs[0].steps};
    candidates[0] = (struct sample_candidate){.rig = &rigs[0]};
    assert_true(sample_run(&device, candidates, 1, &plan, &watch, &result, &err));
    assert_int_equal(candidates[0].step_rounds, 5);
    assert_true(fabs(candidates[0].step_ns[0][4] - 2000) < 1e-6 && fabs(candidates[0].step_ns[1][4] - 6000) < 1e-6);
    sample_candidate_free(&candidates[0], 2);
    sample_result_free(&result);
    plan.step_rounds = 1;
    assert_true(sample_run(&device, candidates, 1, &plan, &watch, &result, &err));
    assert_true(candidates[0].step_rounds == 1 && fabs(candidates[0].step_ns[1][0] - 6000) < 1e-6);
    sample_candidate_free(&candidates[0], 2);
    sample_result_free(&result);
    rigs[1] = (struct rig){.ns = 8000};
    rigs[1].program = (struct program){.step_count = 1, .steps = rigs[1].steps};
    candidates[1] = (struct sample_candidate){.rig = &rigs[1]};
    assert_true(sample_run(&device, &candidates[1], 1, &plan, &watch, &result, &err));
    assert_null(candidates[1].step_ns); /* one step is the row */
    sample_candidate_free(&candidates[1], 1);
    sample_result_free(&result);
    assert_true(sample_prepare(&device, &rigs[0], 7, &ns, &err) && fabs(ns - 5000) < 1e-6);
    assert_int_equal(world.events, 0);
    struct rig *pair[] = {&rigs[0], &rigs[0]};
    double both[2];
    assert_true(sample_round(&device, pair, 2, 0, both, &err) && fabs(both[0] - 8000) < 1e-6 && fabs(both[1] - 8000) < 1e-6);
}

/* Of `trials` measurements of a kernel that is `slower` than row 0, as a share, how many intervals of the ratio lie wholly on one side
 * of 1. */
static double told(double slower, double noise, int trials)
{
    const double ns[] = {100000, 100000 * (1 + slower)};
    const struct sample_plan plan = {.rounds_min = 30, .rounds_max = 200, .half_width = 0.0025, .budget_s = 60};
    int apart = 0;
    for (int i = 0; i < trials; i++) {
        struct sample_result result = sampled(ns, 2, noise, &plan);
        struct estimate e = estimate_ratio_grouped(candidates[0].samples_ns, candidates[1].samples_ns, NULL, result.rounds, 1);
        apart += e.low > 1 || e.high < 1;
        freed(2);
    }
    return (double)apart / trials;
}

/* The interval claims 95 %, also when the measurement stops as soon as it is narrow: one that happens to be too narrow ends it. */
static void equal_kernels_are_rarely_told_apart(void **state)
{
    world.random = 88172645463325252u;
    const double noise[] = {0.002, 0.005, 0.01, 0.03};
    for (int i = 0; i < 4; i++) {
        double share = told(0, noise[i], 1000);
        if (!(share < 0.05))
            fail_msg("noise %g: %g of equal pairs are told apart", noise[i], share);
    }
}

static void a_slower_kernel_is_told(void **state)
{
    world.random = 1234567;
    assert_true(told(0.01, 0.005, 300) > 0.99);
    assert_true(told(0.05, 0.03, 300) > 0.99);
    assert_true(told(0.20, 0.05, 300) > 0.99);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_round_is_interleaved),
                                       cmocka_unit_test(a_round_sits_together),
                                       cmocka_unit_test(a_twin_runs_other_code),
                                       cmocka_unit_test(what_is_left_is_looked_at),
                                       cmocka_unit_test(the_slow_do_not_starve),
                                       cmocka_unit_test(a_narrow_interval_ends_the_slow),
                                       cmocka_unit_test(the_slow_have_a_time_of_their_own),
                                       cmocka_unit_test(a_low_clock_is_not_taken),
                                       cmocka_unit_test(the_odd_round_is_the_even_one_backwards),
                                       cmocka_unit_test(drift_cancels),
                                       cmocka_unit_test(it_stops),
                                       cmocka_unit_test(sustained),
                                       cmocka_unit_test(all_rows_meet_the_same_turns),
                                       cmocka_unit_test(nothing_is_kept_between_runs),
                                       cmocka_unit_test(steps_and_prepare),
                                       cmocka_unit_test(equal_kernels_are_rarely_told_apart),
                                       cmocka_unit_test(a_slower_kernel_is_told)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
