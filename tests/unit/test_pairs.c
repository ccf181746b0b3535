/* measure/time/pairs: two builds of rows against each other, on a clock of its own. */
#include "timing_world.h"
#include "measure/rig/buffer_pool.h"
#include "base/stats/decision.h"
#include "base/stats/estimate.h"
#include <limits.h>
#include <sys/wait.h>

#define SLOW_AND_OURS "[my/cudnn_fast, my/cudnn_slow, my/ours]"
#define FOUR "[my/cudnn_fast, my/cudnn_slow, my/ours, my/even, my/odd]"

static void begin_pairs(int count)
{
    begin();
    timing.budget_s = 60;
    timing.versus[0][0] = "my/cudnn_slow";
    timing.versus[0][1] = "my/ours";
    timing.versus[1][0] = count > 1 ? "my/even" : NULL;
    timing.versus[1][1] = count > 1 ? "my/odd" : NULL;
}

static int placements_of(const struct row_time *t)
{
    int count = 0;
    for (int i = 0; i < t->rounds; i++)
        count += !i || t->places[i] != t->places[i - 1];
    return count;
}
static int rounds_in(const struct row_time *t, int place)
{
    int count = 0;
    for (int i = 0; i < t->rounds; i++)
        count += t->places[i] == place;
    return count;
}
static const struct row_time *cold(const struct result *r, const char *name)
{
    return time_of(r, name, "cold", "isolated");
}

#define PER_NAME (DATA_SETS * POOL_REPLICAS) /* each set and replica has a module of its own */
/* What the next functions were that a group loaded, from number `at`, by kernel. */
static bool was_loaded(int at, const char *first, const char *second, const char *third)
{
    const char *const names[] = {first, second, third};
    bool same = true;
    for (int i = 0; i < 3 * PER_NAME && names[i / PER_NAME]; i++)
        same = same && at + i < timing.known_count && !strcmp(timing.known[at + i].name, names[i / PER_NAME]);
    return same;
}

/* Two builds have at least three repetitions, each with the modules loaded in the opposite order, and end when the verdict is certain: 20 %
 * in 15 rounds, where evidence must be strong. Both are also compared with the library. */
static void pairs_sit_down_until_decided(void **state)
{
    begin_pairs(1);
    timing.noise = 0.01;
    timing.stamps = true;
    struct result r = timed(SLOW_AND_OURS, "{}");
    const struct row_time *base = cold(&r, "my/cudnn_slow"), *head = cold(&r, "my/ours"), *library = cold(&r, "my/cudnn_fast");
    assert_true(base->rounds == 15 && head->rounds == 15 && library->rounds == 15);
    assert_true(placements_of(base) == 3 && placements_of(head) == 3);
    assert_true(rounds_in(base, 0) == 7 && rounds_in(base, 1) == 7);
    int first = timing.known_count - 7 * PER_NAME; /* the library's once; before them those that check */
    assert_true(first >= 0 && was_loaded(first, "conv_fast", "conv_slow", "conv_ours"));
    assert_true(was_loaded(first + 3 * PER_NAME, "conv_ours", "conv_slow", "conv_slow") &&
                was_loaded(first + 6 * PER_NAME, "conv_ours", NULL, NULL));
    assert_true(fabs(head->median_ns / base->median_ns - 0.4) < 0.01);
    assert_true(fabs(head->ratio - 1.25) < 0.03 && fabs(base->ratio - 0.5) < 0.02 && head->ratio_low < head->ratio_high);
    assert_true(row_of(&r, "my/ours")->sm_clock_mhz == 1980 && row_of(&r, "my/cudnn_fast")->sm_clock_mhz == 1980);
    int places[64]; /* the intervals hold for both rows together */
    for (int i = 0; i < head->rounds; i++)
        places[i] = head->places[i];
    struct estimate both = estimate_ratio_grouped(library->samples_ns, head->samples_ns, places, head->rounds, 2),
                    alone = estimate_ratio_grouped(library->samples_ns, head->samples_ns, places, head->rounds, 1);
    assert_true(head->ratio_low == both.low && head->ratio_high == both.high && both.high - both.low > alone.high - alone.low);
    /* what lies between two sittings: of each there is less than a megabyte and more than one, and never as before */
    assert_int_equal(timing.pad_count, 6);
    assert_int_equal(timing.pads_given_back, 6);
    for (int i = 0; i < 6; i++) {
        assert_true(i & 1 ? timing.pads[i] >= 2 << 20 && timing.pads[i] <= 64 << 20 : timing.pads[i] >= 512 && timing.pads[i] <= 1 << 20);
        for (int k = 0; k < i; k++)
            assert_true(timing.pads[i] != timing.pads[k]);
    }
    let_go(&r);
}

/* Who is decided sits no more; the other pair goes on, in longer sittings, until it is: equal kernels are the same. */
static void who_is_decided_gets_up(void **state)
{
    begin_pairs(2);
    timing.noise = 0.006;
    struct result r = timed(FOUR, "{}");
    const struct row_time *ours = cold(&r, "my/ours"), *even = cold(&r, "my/even"), *odd = cold(&r, "my/odd");
    assert_true(ours->rounds <= 21 && even->rounds > 21 && even->rounds == odd->rounds && even->rounds < 400);
    for (int i = 0; i < even->rounds; i++)
        assert_true(even->places[i] == odd->places[i] && (!i || even->places[i] >= even->places[i - 1]));
    int last = placements_of(even) - 1;
    static const int lengths[] = {7, 7, 7, 30, 30, 30, 120, 120, 120, 350, 350, 350}; /* few rounds find what is large */
    assert_true(last >= 3);
    for (int i = 0; i < last; i++)
        assert_int_equal(rounds_in(even, i), lengths[i]);
    assert_true(rounds_in(even, last) < lengths[last] && even->rounds > 45); /* it is asked within a sitting, also late, */
    assert_int_equal(even->rounds % (even->rounds / 20), 0);                 /* but then not after every round */
    assert_true(cold(&r, "my/cudnn_fast")->rounds == even->rounds);
    /* the loads of the third sitting and of the fourth, in which two of the four are left */
    int at = 0;
    for (int i = 0; i < timing.known_count; i++)
        at = !strcmp(timing.known[i].name, "conv_fast") ? i - PER_NAME + 1 : at;
    assert_true(was_loaded(at, "conv_fast", "conv_slow", "conv_ours") &&
                was_loaded(at + 3 * PER_NAME, "conv_even", "conv_odd", "conv_odd"));
    assert_true(was_loaded(at + 6 * PER_NAME, "conv_even", "conv_ours", "conv_slow") &&
                was_loaded(at + 9 * PER_NAME, "conv_slow", "conv_ours", "conv_even"));
    assert_true(was_loaded(at + 12 * PER_NAME, "conv_odd", "conv_odd", "conv_even"));
    assert_int_equal(timing.known_count - at, PER_NAME * (1 + 3 * 4 + (last - 2) * 2)); /* and nobody else's */
    let_go(&r);
}

/* What noise hides is looked at in twelve places, three times as long each, and never decided. */
static void it_ends_undecided(void **state)
{
    static const int lengths[] = {7, 30, 120, 350};
    begin_pairs(1);
    timing.versus[0][0] = "my/even";
    timing.versus[0][1] = "my/odd";
    timing.noise = 0.5;
    struct result r = timed("[my/even, my/odd]", "{rounds: [12, 12]}");
    const struct row_time *t = cold(&r, "my/even");
    assert_int_equal(t->rounds, 3 * (7 + 30 + 120 + 350));
    for (int i = 0; i < 12; i++)
        assert_int_equal(rounds_in(t, i), lengths[i / 3]);
    let_go(&r);
}

/* The budget is for rounds: three sittings are looked at whatever it says, and no more where it is spent. */
static void a_spent_budget_ends_it(void **state)
{
    begin_pairs(2);
    timing.noise = 0.05;
    timing.budget_s = 0;
    struct result r = timed(FOUR, "{}");
    assert_true(cold(&r, "my/even")->rounds == 21 && placements_of(cold(&r, "my/even")) == 3);
    let_go(&r);
    for (int late = 0; late < 2; late++) { /* what the library needs before the first sitting is no part of it */
        begin_pairs(1);
        timing.versus[0][0] = "my/even";
        timing.versus[0][1] = "my/odd";
        timing.noise = 0.5;
        timing.budget_s = 0.2;
        timing.idle = "conv_fast"; /* never: it takes a second, once */
        timing.idle_from = INT_MAX;
        timing.sleeps_at = late;
        r = timed("[my/cudnn_fast, my/even, my/odd]", "{}");
        double spent_s = clock_s() - HOST_BEGAN_S - 1.05 * late;
        assert_true(spent_s > 0.2 && spent_s < 0.22 && cold(&r, "my/even")->rounds > 100);
        let_go(&r);
    }
}

/* Who is right at first and idle later is wrong in this, too, and harms its pair alone; who is wrong at once does not sit at all. */
static void a_pair_is_looked_at(void **state)
{
    for (int i = 0; i < 2; i++) {
        begin_pairs(2);
        timing.idle = "conv_ours";
        timing.idle_from = i ? 30 : 1;
        struct result r = timed(FOUR, "{}");
        assert_true(row_of(&r, "my/ours")->status == ROW_WRONG && row_of(&r, "my/ours")->time_count == 0);
        assert_true(row_of(&r, "my/cudnn_slow")->status == ROW_OK && cold(&r, "my/even")->rounds >= 15);
        assert_true(i || row_of(&r, "my/cudnn_slow")->time_count == 0 || cold(&r, "my/cudnn_slow")->rounds <= 7);
        assert_true(fabs(cold(&r, "my/even")->ratio - 100. / 90) < 1e-9 && fabs(cold(&r, "my/odd")->median_ns - 90000) < 1);
        let_go(&r);
    }
}

/* Who is wrong at once sits nowhere, whichever place is his: neither is launched once more than the other. */
static void who_is_wrong_at_once_sits_nowhere(void **state)
{
    int launched[2];
    for (int last = 0; last < 2; last++) {
        begin_pairs(2);
        timing.idle = last ? "conv_odd" : "conv_ours";
        timing.idle_from = 1;
        struct result r = timed(FOUR, "{}");
        launched[last] = timing.launches;
        assert_int_equal(row_of(&r, last ? "my/odd" : "my/ours")->status, ROW_WRONG);
        let_go(&r);
    }
    assert_int_equal(launched[0], launched[1]);
}

/* Whose launch is refused is blamed, by its place in the plan, when the rows sit down again; in the timed loop nobody is. */
static void who_fails_is_blamed(void **state)
{
    int blamed = 0;
    for (int from = 19; from < 26; from++) {
        begin_pairs(2);
        timing.noise = 0.01;
        timing.fails = "conv_odd";
        timing.fails_from = from;
        struct result r = timed(FOUR, "{}");
        assert_true(!r.ok && strstr(r.err.text, "conv_odd is refused"));
        if (r.blamed >= 0)
            assert_string_equal(r.names[r.blamed], "my/odd");
        blamed += r.blamed >= 0;
        let_go(&r);
    }
    begin_pairs(1); /* what the timed loop itself needs is nobody's */
    timing.no_events = timing.may_fail = true;
    struct result r = timed(SLOW_AND_OURS, "{}");
    assert_true(!r.ok && strstr(r.err.text, "no more events") && r.blamed == -1);
    let_go(&r);
    assert_int_equal(blamed, 5); /* as the sitting before is looked at again, it is entered, and each runs by itself */
}

/* Nobody is believed because of what he did until his last launch, which is not timed. */
static void the_last_launch_is_looked_at(void **state)
{
    static const char *const rows[][2] = {{"my/cudnn_fast", "conv_fast"}, {"my/cudnn_slow", "conv_slow"}, {"my/ours", "conv_ours"}};
    for (int i = 0; i < 3; i++)
        for (int idle = 0, last = INT_MAX; idle < 2; idle++) {
            begin_pairs(1);
            timing.idle = rows[i][1];
            timing.idle_from = last;
            struct result r = timed(SLOW_AND_OURS, "{}");
            assert_int_equal(row_of(&r, rows[i][0])->status, idle ? ROW_WRONG : ROW_OK);
            assert_true(!idle || strstr(row_of(&r, rows[i][0])->reason, "(after the timed loop)"));
            last = timing.launches;
            let_go(&r);
        }
}

/* A library that is wrong is nothing to be compared with; the two sides are. */
static void a_wrong_library_is_left_out(void **state)
{
    begin_pairs(1);
    timing.idle = "conv_fast";
    timing.idle_from = 1;
    struct result r = timed(SLOW_AND_OURS, "{}");
    assert_int_equal(row_of(&r, "my/cudnn_fast")->status, ROW_WRONG);
    const struct row_time *head = cold(&r, "my/ours");
    assert_true(head->rounds >= 15 && isnan(head->ratio) && fabs(head->median_ns - 80000) < 1);
    let_go(&r);
}

/* Room that cannot be had for what lies between two sittings ends it, and is no row's fault. */
static void no_room_is_nobodys_fault(void **state)
{
    for (int nth = 1; nth <= 4; nth++) {
        begin_pairs(1);
        timing.no_pad = nth;
        timing.may_fail = true;
        struct result r = timed(SLOW_AND_OURS, "{}");
        assert_true(!r.ok && strstr(r.err.text, "there is no room") && timing.pad_count == nth - 1);
        assert_int_equal(r.blamed, -1);
        let_go(&r);
    }
}

/* A pair of which one side, or the other, is not here to be timed is none; the other pair is compared as ever. */
static void half_a_pair_is_none(void **state)
{
    for (int i = 0; i < 2; i++) {
        begin_pairs(2);
        timing.noise = 0.01;
        struct result r =
            timed(i ? "[my/cudnn_fast, my/cudnn_slow, my/ours, my/even]" : "[my/cudnn_fast, my/cudnn_slow, my/ours, my/odd]", "{}");
        const struct row *half = row_of(&r, i ? "my/even" : "my/odd");
        assert_true(half->status == ROW_OK && half->time_count == 0);
        assert_true(cold(&r, "my/ours")->rounds >= 15 && cold(&r, "my/ours")->rounds == cold(&r, "my/cudnn_slow")->rounds);
        let_go(&r);
    }
}

/* The test also runs at the end of a repetition, in a round that it would otherwise skip: so 111 rounds of equal kernels suffice, and 110
 * do not.
 */
static void a_sittings_end_is_asked_about(void **state)
{
    static const int ends[] = {21, 51, 81, 110, 111};
    begin_pairs(1);
    timing.versus[0][0] = "my/even";
    timing.versus[0][1] = "my/odd";
    timing.noise = 0.0082;
    struct result r = timed("[my/cudnn_fast, my/even, my/odd]", "{}");
    const struct row_time *base = cold(&r, "my/even"), *head = cold(&r, "my/odd");
    assert_int_equal(base->rounds, 111);
    for (int i = 0; i < 5; i++) {
        int places[111];
        for (int k = 0; k < ends[i]; k++)
            places[k] = base->places[k];
        assert_int_equal(decision_make(base->samples_ns, head->samples_ns, places, ends[i], 0.01, 0.001).verdict,
                         i < 4 ? VERDICT_UNDECIDED : VERDICT_SAME);
    }
    let_go(&r);
}

/* Whichever place its rows have in the case, also where there is no library. Each is launched as often as if it had the other's place. */
static void a_pair_of_the_first_row(void **state)
{
    int launched[2];
    for (int first = 0; first < 2; first++) {
        begin_pairs(1);
        timing.noise = 0.01;
        timing.idle = "conv_ours"; /* never */
        timing.idle_from = INT_MAX;
        struct result r = timed(first ? "[my/ours, my/cudnn_slow]" : "[my/cudnn_slow, my/ours]", "{}");
        assert_true(cold(&r, "my/ours")->rounds >= 15 && cold(&r, "my/cudnn_slow")->rounds <= 21);
        assert_true(fabs(cold(&r, "my/ours")->median_ns / 80000 - 1) < 0.02);
        launched[first] = timing.launches;
        let_go(&r);
    }
    assert_int_equal(launched[0], launched[1]);
}

/* A device that is lost at any call ends it. */
static void a_lost_device_is_noticed(void **state)
{
    begin_pairs(1);
    timing.fail_at = 1 << 30;
    struct result r = timed(SLOW_AND_OURS, "{}");
    int calls = timing.calls;
    assert_true(r.ok && calls > 60);
    let_go(&r);
    for (int at = 2; at < calls; at += 1 + calls / 9) {
        int status, child = fork();
        if (!child) {
            begin_pairs(1);
            timing.fail_at = at;
            timing.once = true;
            r = timed(SLOW_AND_OURS, "{}");
            _exit(r.ok || !strstr(r.err.text, "the device is lost"));
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        if (!WIFEXITED(status) || WEXITSTATUS(status))
            fail_msg("lost at call %d of %d and not noticed", at, calls);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(pairs_sit_down_until_decided),
                                       cmocka_unit_test(who_is_decided_gets_up),
                                       cmocka_unit_test(it_ends_undecided),
                                       cmocka_unit_test(a_spent_budget_ends_it),
                                       cmocka_unit_test(a_pair_is_looked_at),
                                       cmocka_unit_test(who_is_wrong_at_once_sits_nowhere),
                                       cmocka_unit_test(a_wrong_library_is_left_out),
                                       cmocka_unit_test(a_lost_device_is_noticed),
                                       cmocka_unit_test(who_fails_is_blamed),
                                       cmocka_unit_test(the_last_launch_is_looked_at),
                                       cmocka_unit_test(a_pair_of_the_first_row),
                                       cmocka_unit_test(no_room_is_nobodys_fault),
                                       cmocka_unit_test(half_a_pair_is_none),
                                       cmocka_unit_test(a_sittings_end_is_asked_about)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
