/* measure/time/race: the search on a simulated device whose true times are known, with noise, drift and outliers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "measure/time/race.h"
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define MANY 200
struct world {
    double truth[MANY], pinned[2]; /* ns */
    int pinned_count;
    double noise, drift, outliers; /* relative; per round; share of samples that are 3 times as long */
    uint64_t state;
    bool in[MANY];
    int entered[MANY], left[MANY], now_in, most_in, visits, rounds;
    int cannot[3];   /* candidates that refuse to enter, -1 ends */
    int environment; /* one whose entry is an error of everybody; -1 none */
    int breaks_at;   /* a round that fails, from 1; 0: none */
    bool stuck;      /* the first who should leave cannot */
    double clock;    /* seconds of simulated device time */
};

static double uniform(struct world *w)
{
    w->state = w->state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (double)(w->state >> 11) / 9007199254740992.0;
}

static double take(struct world *w, double truth, double common)
{
    double gauss = sqrt(-2 * log(uniform(w) + 1e-300)) * cos(6.283185307179586 * uniform(w));
    double ns = truth * common * exp(w->noise * gauss) * (uniform(w) < w->outliers ? 3 : 1);
    w->clock += ns * 1e-9;
    return ns;
}

static bool enter(void *context, int i, struct error *err)
{
    struct world *w = context;
    if (i == w->environment)
        return error_set(err, ERROR_ENVIRONMENT, "the device is gone");
    for (int k = 0; k < 3; k++)
        if (w->cannot[k] == i)
            return false;
    assert_false(w->in[i]);
    w->in[i] = true;
    w->entered[i]++;
    if (++w->now_in > w->most_in)
        w->most_in = w->now_in;
    return true;
}

static bool leave(void *context, int i, struct error *err)
{
    struct world *w = context;
    if (w->stuck && !(w->stuck = false))
        return error_set(err, ERROR_ENVIRONMENT, "the device is gone");
    assert_true(w->in[i]);
    w->in[i] = false;
    w->left[i]++;
    w->now_in--;
    return true;
}

static bool one_round(void *context, const int *who, int count, int round, double *pinned_ns, double *ns, struct error *err)
{
    struct world *w = context;
    double common = 1 + w->drift * w->rounds; /* of all groups */
    if (++w->rounds == w->breaks_at)
        return error_set(err, ERROR_ENVIRONMENT, "the device is gone");
    for (int p = 0; p < w->pinned_count; p++)
        pinned_ns[p] = take(w, w->pinned[p], common);
    for (int i = 0; i < count; i++) {
        assert_true(w->in[who[i]]);
        ns[i] = take(w, w->truth[who[i]], common);
        w->visits++;
    }
    return true;
}

static double clock_s(void *context)
{
    return ((struct world *)context)->clock;
}

static struct world world_new(uint64_t seed)
{
    return (struct world){.pinned = {1000, 900},
                          .pinned_count = 1,
                          .noise = 0.01,
                          .state = seed * 2654435761u + 12345,
                          .cannot = {-1, -1, -1},
                          .environment = -1};
}

static struct race_ops ops_of(struct world *w)
{
    return (struct race_ops){w, enter, leave, one_round, clock_s};
}

static void everybody_left(const struct world *w, int count)
{
    assert_int_equal(w->now_in, 0);
    for (int i = 0; i < count; i++)
        assert_int_equal(w->entered[i], w->left[i]);
}

/* 60 configurations between 1 and 3 times the best time: the winner is as fast as the true best within the noise, with far fewer samples
 * than 30 of each. */
static void finds_the_fastest(void **state)
{
    int found = 0, trials = 200, visits = 0;
    for (int seed = 1; seed <= trials; seed++) {
        struct world w = world_new((uint64_t)seed);
        struct race_candidate candidates[60];
        struct race_result r;
        struct race_plan plan = {.at_once = 12, .rounds_max = 400, .half_width = 0.005, .budget_s = 1e9};
        struct race_ops ops = ops_of(&w);
        for (int i = 0; i < 60; i++)
            w.truth[i] = 500 * (1 + 2.0 * ((i * 37) % 60) / 59); /* shuffled; the best is 0 */
        assert_true(race_run(&plan, &ops, candidates, 60, 1, &r, NULL));
        found += w.truth[r.best] <= 500 * 1.035; /* the second is 3.4 % slower */
        visits += w.visits;
        assert_true(w.most_in <= 12);
        assert_true(r.known);
        assert_int_equal(r.groups >= 5, 1);
        everybody_left(&w, 60);
        for (int i = 0; i < 60; i++) {
            assert_true(candidates[i].rounds >= RACE_HOPELESS_LOOK);
            assert_true(i == r.best ? !candidates[i].out : true);
            race_candidate_free(&candidates[i]);
        }
    }
    if (found < trials * 99 / 100)
        fail_msg("the best or the second was found in %d of %d trials", found, trials);
    if (visits > trials * 60 * 30 / 2)
        fail_msg("%d samples a trial: early stopping saved less than half", visits / trials);
}

/* Noise ten times the differences, drift and outliers: everything that cannot be told apart may win, nothing that is clearly slower. */
static void survives_noise(void **state)
{
    int wrong = 0, trials = 100;
    for (int seed = 1; seed <= trials; seed++) {
        struct world w = world_new((uint64_t)seed);
        struct race_candidate candidates[30];
        struct race_result r;
        struct race_plan plan = {.at_once = 8, .rounds_max = 100, .half_width = 0.002, .budget_s = 1e9};
        struct race_ops ops = ops_of(&w);
        w.noise = 0.05;
        w.drift = 0.002;
        w.outliers = 0.1;
        for (int i = 0; i < 30; i++)
            w.truth[i] = i % 3 ? 1000 + i : 700 + 0.1 * i; /* a group of ten near 700 */
        assert_true(race_run(&plan, &ops, candidates, 30, 1, &r, NULL));
        wrong += w.truth[r.best] > 800;
        everybody_left(&w, 30);
        for (int i = 0; i < 30; i++)
            race_candidate_free(&candidates[i]);
    }
    assert_int_equal(wrong, 0);
}

/* Equal candidates: nobody is dropped by proof in a group that has room for all, and the race still ends. */
static void ties_stay_in(void **state)
{
    int dropped = 0;
    for (int seed = 1; seed <= 50; seed++) {
        struct world w = world_new((uint64_t)seed);
        struct race_candidate candidates[6];
        struct race_result r;
        struct race_plan plan = {.at_once = 12, .rounds_max = 300, .half_width = 0.01, .budget_s = 1e9};
        struct race_ops ops = ops_of(&w);
        for (int i = 0; i < 6; i++)
            w.truth[i] = 400;
        assert_true(race_run(&plan, &ops, candidates, 6, 1, &r, NULL));
        dropped += 6 - r.still_in;
        assert_true(w.rounds <= 80); /* what a half width of 1 % takes of such noise, and a third more */
        for (int i = 0; i < 6; i++)
            race_candidate_free(&candidates[i]);
    }
    if (dropped > 6) /* 50 trials of 6 */
        fail_msg("%d of 300 equal contenders were dropped", dropped);
}

/* Who is far behind costs two rounds, whatever the noise; who is twice as slow, or by a third, stays for a proper look. */
static void the_hopeless_leave_early(void **state)
{
    for (int seed = 1; seed <= 50; seed++) {
        struct world w = world_new((uint64_t)seed);
        struct race_candidate candidates[5];
        struct race_result r;
        struct race_plan plan = {.at_once = 5, .rounds_max = 100, .half_width = 0.01, .budget_s = 1e9};
        struct race_ops ops = ops_of(&w);
        w.noise = 0.03;
        w.truth[0] = 1000;
        w.truth[1] = 100000;
        w.truth[2] = 2000;
        w.truth[3] = 10000;
        w.truth[4] = 1300;
        assert_true(race_run(&plan, &ops, candidates, 5, 1, &r, NULL));
        assert_int_equal(r.best, 0);
        assert_int_equal(candidates[1].rounds, RACE_HOPELESS_LOOK);
        assert_int_equal(candidates[3].rounds, RACE_HOPELESS_LOOK);
        assert_true(candidates[1].out && candidates[1].beaten_by == 0);
        assert_true(candidates[2].rounds == RACE_FIRST_LOOK && candidates[4].rounds == RACE_FIRST_LOOK);
        for (int i = 0; i < 5; i++)
            race_candidate_free(&candidates[i]);
    }
}

/* With no budget every group still takes its first look, and nothing more. */
static void budget_ends_it(void **state)
{
    struct world w = world_new(3);
    struct race_candidate candidates[20];
    struct race_result r;
    struct race_plan plan = {.at_once = 6, .rounds_max = 1000, .half_width = 1e-9, .budget_s = 0};
    struct race_ops ops = ops_of(&w);
    for (int i = 0; i < 20; i++)
        w.truth[i] = 1000 + 100 * i;
    assert_true(race_run(&plan, &ops, candidates, 20, 1, &r, NULL));
    assert_int_equal(r.best, 0);
    assert_false(r.known);
    assert_int_equal(r.rounds, r.groups * RACE_FIRST_LOOK);
    for (int i = 0; i < 20; i++) {
        assert_int_equal(candidates[i].rounds, RACE_FIRST_LOOK);
        assert_true(!candidates[i].out || candidates[i].beaten_by >= 0);
        race_candidate_free(&candidates[i]);
    }
}

/* The last group gets the rest of the budget and no more, however uncertain the result. A race may end after as few rounds as one test
 * needs.
 */
static void the_last_heat_ends_with_the_budget(void **state)
{
    struct world w = world_new(3);
    struct race_candidate candidates[2];
    struct race_result r;
    struct race_plan plan = {.at_once = 4, .rounds_max = 100000, .half_width = 1e-9, .budget_s = 1e-3};
    struct race_ops ops = ops_of(&w);
    w.truth[0] = w.truth[1] = 500;
    assert_true(race_run(&plan, &ops, candidates, 2, 1, &r, NULL));
    assert_true(w.clock > 1e-3 && w.clock < 1.1e-3);
    for (int i = 0; i < 2; i++)
        race_candidate_free(&candidates[i]);
    w = world_new(3);
    w.truth[0] = w.truth[1] = 500;
    plan.rounds_max = RACE_FIRST_LOOK;
    assert_true(race_run(&plan, &ops, candidates, 2, 1, &r, NULL));
    assert_int_equal(r.rounds, RACE_FIRST_LOOK);
    for (int i = 0; i < 2; i++)
        race_candidate_free(&candidates[i]);
}

/* base_ns is the fastest of the pinned in the same rounds as samples_ns. */
static void base_is_the_fastest_pinned(void **state)
{
    for (int turned = 0; turned < 2; turned++) {
        struct world w = world_new(4);
        struct race_candidate candidates[5];
        struct race_result r;
        struct race_plan plan = {.at_once = 3, .rounds_max = 50, .half_width = 0.01, .budget_s = 1e9};
        struct race_ops ops = ops_of(&w);
        w.pinned_count = 2;
        w.pinned[turned] = 1000, w.pinned[!turned] = 900;
        w.noise = 0; /* no noise: samples are the truth */
        w.drift = 0.01;
        for (int i = 0; i < 5; i++)
            w.truth[i] = 1800 - 100 * i;
        assert_true(race_run(&plan, &ops, candidates, 5, 2, &r, NULL));
        assert_int_equal(r.best, 4);
        assert_int_equal(r.still_in, 1);
        for (int i = 0; i < 5; i++) {
            for (int k = 0; k < candidates[i].rounds; k++)
                assert_true(fabs(candidates[i].samples_ns[k] / candidates[i].base_ns[k] - w.truth[i] / 900) < 1e-12);
            race_candidate_free(&candidates[i]);
        }
    }
}

static void who_cannot_run_is_left_out(void **state)
{
    struct world w = world_new(5);
    struct race_candidate candidates[4];
    struct race_result r;
    struct error err = {0};
    struct race_plan plan = {.at_once = 2, .rounds_max = 50, .half_width = 0.01, .budget_s = 1e9};
    struct race_ops ops = ops_of(&w);
    for (int i = 0; i < 4; i++)
        w.truth[i] = 1000 + 50 * i;
    w.cannot[0] = 0;
    w.cannot[1] = 2;
    assert_true(race_run(&plan, &ops, candidates, 4, 1, &r, &err));
    assert_int_equal(r.best, 1);
    assert_int_equal(candidates[0].rounds, 0);
    for (int i = 0; i < 4; i++)
        race_candidate_free(&candidates[i]);
    w = world_new(6);
    w.environment = 1;
    assert_false(race_run(&plan, &ops, candidates, 4, 1, &r, &err));
    assert_int_equal(err.kind, ERROR_ENVIRONMENT);
    for (int i = 0; i < 4; i++)
        race_candidate_free(&candidates[i]);
    w = world_new(7);
    w.cannot[0] = 0;
    assert_true(race_run(&plan, &ops, candidates, 1, 1, &r, &err));
    assert_int_equal(r.best, -1);
    assert_int_equal(r.still_in, 0);
}

/* Two equal candidates whose times are soon precise: neither is dropped, and both have 30 samples. A single candidate needs only its
 * interval.
 */
static void a_tie_is_looked_at_longer(void **state)
{
    struct race_plan plan = {.at_once = 4, .rounds_max = 400, .half_width = 0.01, .budget_s = 1e9};
    for (int count = 1; count <= 2; count++) {
        struct world w = world_new(3);
        struct race_candidate candidates[2];
        struct race_result r;
        struct race_ops ops = ops_of(&w);
        w.noise = 0.001;
        w.truth[0] = w.truth[1] = 500;
        assert_true(race_run(&plan, &ops, candidates, count, 1, &r, NULL));
        assert_true(r.known && r.still_in == count);
        assert_true(count == 2 ? r.rounds >= 30 && r.rounds < 50 : r.rounds < 12);
        for (int i = 0; i < count; i++)
            race_candidate_free(&candidates[i]);
    }
}

/* A group before the last ends when half of its places are free, otherwise at its share of the budget. If there are more equal candidates
 * than places, the later ones get their turn. A candidate that cannot be dropped ends the race. */
static void heats_make_room(void **state)
{
    struct race_plan plan = {.at_once = 4, .rounds_max = 1000, .half_width = 1e-9, .budget_s = 1};
    struct race_candidate candidates[8];
    struct race_result r;
    struct error err = {0};
    for (int slow = 0; slow < 2; slow++) {
        struct world w = world_new(8);
        struct race_ops ops = ops_of(&w);
        for (int i = 0; i < 8; i++)
            w.truth[i] = slow && i > 1 ? 3e6 : 1e6;
        w.pinned[0] = 1e6;
        plan.budget_s = slow ? 1e9 : 1;
        plan.rounds_max = slow ? 200 : 1000;
        assert_true(race_run(&plan, &ops, candidates, 8, 1, &r, &err));
        everybody_left(&w, 8);
        for (int i = 0; i < 8; i++)
            assert_true(w.entered[i] == 1 && candidates[i].rounds >= RACE_HOPELESS_LOOK);
        int most = 0; /* of those that the first group sent away: 3/4 of the budget, its share of the candidates, at 5 ms a round */
        for (int i = 0; i < 4; i++)
            most = candidates[i].out && candidates[i].rounds > most && candidates[i].beaten_by < 4 ? candidates[i].rounds : most;
        if (slow)
            assert_int_equal(candidates[2].rounds, RACE_FIRST_LOOK);
        else
            assert_true(most >= 60 && most <= 90);
        if (slow) /* two equal ones are left in two groups more: no group but the last goes on */
            assert_true(r.groups == 3 && r.rounds == 2 * RACE_FIRST_LOOK + 200);
        for (int i = 0; i < 8; i++)
            race_candidate_free(&candidates[i]);
    }
    struct world w = world_new(8); /* three equal ones are more than half of the room: their group goes on */
    struct race_ops ops = ops_of(&w);
    w.noise = 0;
    for (int i = 0; i < 8; i++)
        w.truth[i] = i > 2 ? 3e6 : 1e6;
    assert_true(race_run(&plan, &ops, candidates, 8, 1, &r, &err));
    assert_true(r.groups == 3 && r.rounds > 200);
    for (int i = 0; i < 8; i++)
        race_candidate_free(&candidates[i]);
    for (int round = 0; round < 2; round++) {
        err = (struct error){0};
        w = world_new(8);
        w.stuck = !round;
        w.breaks_at = 4 * round;
        for (int i = 0; i < 8; i++)
            w.truth[i] = 1e6 * (i + 1);
        assert_false(race_run(&plan, &ops, candidates, 8, 1, &r, &err));
        assert_int_equal(err.kind, ERROR_ENVIRONMENT);
        for (int i = 0; i < 8; i++)
            race_candidate_free(&candidates[i]);
    }
}

/* Equal candidates without noise: nobody is ever proved slower, so a group leaves half of the room to the next one, and no more. */
static void equals_give_way_by_halves(void **state)
{
    static const struct {
        int at_once, count, groups;
    } rooms[] = {{6, 20, 6}, {7, 20, 5}, {2, 5, 4}, {3, 7, 3}, {4, 8, 3}, {4, 4, 1}, {5, 3, 1}};
    for (size_t k = 0; k < sizeof rooms / sizeof *rooms; k++) {
        struct world w = world_new(9);
        struct race_candidate candidates[20];
        struct race_result r;
        struct error err = {0};
        struct race_plan plan = {.at_once = rooms[k].at_once, .rounds_max = 50, .half_width = 1e-9, .budget_s = 0};
        struct race_ops ops = ops_of(&w);
        w.noise = 0;
        for (int i = 0; i < rooms[k].count; i++)
            w.truth[i] = 1000;
        assert_true(race_run(&plan, &ops, candidates, rooms[k].count, 1, &r, &err));
        int left =
            (rooms[k].count - rooms[k].at_once) % (rooms[k].at_once - rooms[k].at_once / 2); /* enter the last group, if it is not full */
        int last = rooms[k].groups == 1 ? rooms[k].count : rooms[k].at_once / 2 + (left ? left : rooms[k].at_once - rooms[k].at_once / 2);
        if (r.groups != rooms[k].groups || r.still_in != last)
            fail_msg("room for %d of %d: %d groups, %d left, want %d and %d", rooms[k].at_once, rooms[k].count, r.groups, r.still_in,
                     rooms[k].groups, last);
        everybody_left(&w, rooms[k].count);
        for (int i = 0; i < rooms[k].count; i++)
            race_candidate_free(&candidates[i]);
    }
}

/* If no candidate is proved slower and the next group needs places, the slowest by median are dropped, but never the leader or the latest
 * candidates. Then, too, a candidate that cannot be dropped ends the race. */
static void the_slower_give_way(void **state)
{
    static const double truth[2][8] = {{1000, 1030, 1025, 1005, 1100, 1100, 1100, 1100}, {1030, 1000, 1005, 1025, 1100, 1100, 1100, 1100}};
    int lost[2] = {0}, won = 0, trials = 200;
    struct race_candidate candidates[8];
    struct race_result r;
    for (int seed = 1; seed <= trials; seed++) {
        struct world w = world_new((uint64_t)seed);
        struct race_plan plan = {.at_once = 4, .rounds_max = 50, .half_width = 1e-9, .budget_s = 0};
        struct race_ops ops = ops_of(&w);
        w.noise = 0.02;
        memcpy(w.truth, truth[seed & 1], sizeof *truth);
        assert_true(race_run(&plan, &ops, candidates, 8, 1, &r, NULL));
        for (int i = 0; i < 4; i++)
            if (w.truth[i] < 1010) {
                lost[w.truth[i] > 1000] += candidates[i].out;
                won += r.best == i;
            }
        for (int i = 0; i < 8; i++)
            race_candidate_free(&candidates[i]);
    }
    if (lost[0] > trials * 3 / 10 || lost[1] > trials * 3 / 10 || won < trials * 8 / 10)
        fail_msg("of %d races the fastest was sent away in %d, the second in %d, and one of them won %d", trials, lost[0], lost[1], won);
    struct world w = world_new(8);
    struct race_plan plan = {.at_once = 3, .rounds_max = 50, .half_width = 1e-9, .budget_s = 0};
    struct race_ops ops = ops_of(&w);
    struct error err = {0};
    w.noise = 0;
    w.stuck = true;
    for (int i = 0; i < 8; i++)
        w.truth[i] = 1000;
    assert_false(race_run(&plan, &ops, candidates, 8, 1, &r, &err));
    assert_int_equal(err.kind, ERROR_ENVIRONMENT);
    for (int i = 0; i < 8; i++)
        race_candidate_free(&candidates[i]);
}

static void a_race_needs_room(void **state)
{
    static const struct race_plan plans[] = {{.at_once = 1, .rounds_max = 50}, {.at_once = 2, .rounds_max = RACE_FIRST_LOOK - 1}};
    for (int i = 0; i < 2; i++) {
        struct world w = world_new(9);
        struct race_candidate candidates[2];
        struct race_result r;
        struct error err = {0};
        struct race_ops ops = ops_of(&w);
        assert_false(race_run(&plans[i], &ops, candidates, 2, 1, &r, &err));
        assert_int_equal(err.kind, ERROR_INTERNAL);
        assert_int_equal(w.rounds, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equals_give_way_by_halves),
        cmocka_unit_test(the_slower_give_way),
        cmocka_unit_test(a_race_needs_room),
        cmocka_unit_test(heats_make_room),
        cmocka_unit_test(a_tie_is_looked_at_longer),
        cmocka_unit_test(finds_the_fastest),
        cmocka_unit_test(survives_noise),
        cmocka_unit_test(ties_stay_in),
        cmocka_unit_test(budget_ends_it),
        cmocka_unit_test(the_last_heat_ends_with_the_budget),
        cmocka_unit_test(the_hopeless_leave_early),
        cmocka_unit_test(base_is_the_fastest_pinned),
        cmocka_unit_test(who_cannot_run_is_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
