/* measure/time/time: what is timed, with what it is compared, and what a reader is told of it. */
#include "timing_world.h"
#include "measure/time/sample.h"
#include "op/reference/generate.h"
#include "base/stats/estimate.h"
#include <limits.h>

/* For every order of the rows the denominator is the library's fastest, and a time is the kernel's, without the flush. */
static void ratios_are_to_the_fastest_of_the_library(void **state)
{
    static const char *const orders[] = {"[my/cudnn_slow, my/ours, my/cudnn_fast]", "[my/cudnn_fast, my/cudnn_slow, my/ours]"};
    static const char *const rows[] = {"my/cudnn_slow", "my/ours", "my/cudnn_fast"};
    static const double ns[] = {200000, 80000, 100000};
    for (int i = 0; i < 2; i++) {
        begin();
        struct result r = timed(orders[i], "{rounds: [12, 12]}");
        const struct row_time *slow = time_of(&r, "my/cudnn_slow", "cold", "isolated"), *ours = time_of(&r, "my/ours", "cold", "isolated"),
                              *fast = time_of(&r, "my/cudnn_fast", "cold", "isolated");
        assert_true(fabs(slow->median_ns - 200000) < 1 && fabs(fast->median_ns - 100000) < 1 && fabs(ours->median_ns - 80000) < 1);
        assert_true(fabs(ours->ratio - 1.25) < 1e-9 && fabs(slow->ratio - 0.5) < 1e-9 && fast->ratio == 1);
        assert_true(fabs(ours->ratio_low - 1.25) < 1e-9 && fabs(fast->ratio_low - 1) < 1e-9 && fabs(fast->ratio_high - 1) < 1e-9);
        assert_true(ours->rounds == 12 && row_of(&r, "my/ours")->status == ROW_OK);
        for (int k = 0; k < 3; k++) /* a launch here returns when it has run */
            assert_true(fabs(row_of(&r, rows[k])->host_call_ns - ns[k]) < 1);
        let_go(&r);
    }
}

/* The host's time to queue a launch is no part of its time or its preparation's. A row whose calls wait for the GPU is soon unblocked, and
 * reported. */
static void the_host_is_no_part_of_a_time(void **state)
{
    begin();
    timing.host_ns = 60000;
    struct result r = timed("[my/cudnn_fast, my/ours, my/prepared]", "{rounds: [12, 12]}");
    assert_true(fabs(time_of(&r, "my/cudnn_fast", "cold", "isolated")->median_ns - 100000) < 1);
    assert_true(fabs(time_of(&r, "my/ours", "cold", "isolated")->ratio - 1.25) < 1e-9);
    assert_true(fabs(row_of(&r, "my/prepared")->prepare_ns - 5000) < 1);
    assert_false(row_of(&r, "my/cudnn_fast")->note && strstr(row_of(&r, "my/cudnn_fast")->note, "wait"));
    let_go(&r);
    begin();
    timing.host_ns = 60000;
    timing.unheld = true;
    r = timed("[my/cudnn_fast, my/ours]", "{rounds: [12, 12]}");
    assert_true(fabs(time_of(&r, "my/cudnn_fast", "cold", "isolated")->median_ns - 160000) < 1);
    assert_non_null(strstr(row_of(&r, "my/cudnn_fast")->note, "its calls wait for the GPU, so its times include host time"));
    assert_int_equal(virtual_clock.holds, 3 * 3); /* of these and of the twin */
    let_go(&r);
}

/* A time's own interval is that of one median, however many rows there are; what is compared with the library holds for all together. */
static void a_times_interval_is_its_own(void **state)
{
    begin();
    timing.noise = 0.02;
    struct result r = timed("[my/cudnn_fast, my/cudnn_slow, my/ours]", "{rounds: [40, 40]}");
    const struct row_time *t = time_of(&r, "my/ours", "cold", "isolated");
    int places[40];
    for (int i = 0; i < 40; i++)
        places[i] = (int)t->places[i];
    struct estimate own = estimate_median_grouped(t->samples_ns, places, 40, 1);
    assert_true(t->rounds == 40 && t->low_ns == own.low && t->high_ns == own.high && t->median_ns == own.median);
    struct estimate ratio =
        estimate_ratio_grouped(time_of(&r, "my/cudnn_fast", "cold", "isolated")->samples_ns, t->samples_ns, places, 40, 2);
    assert_true(t->ratio_low == ratio.low && t->ratio_high == ratio.high); /* of two rows beside the baseline */
    let_go(&r);
}

/* 1 % a round: A/A says how far two times of the same lie apart, which is more than nothing and less than 3 %; without noise it is 0. */
static void the_twin_says_how_noisy_it_is(void **state)
{
    begin();
    struct result r = timed("[my/cudnn_fast, my/ours]", "{rounds: [40, 40]}");
    assert_true(row_of(&r, "my/ours")->noise < 1e-9);
    let_go(&r);
    begin();
    timing.noise = 0.01;
    r = timed("[my/cudnn_fast, my/ours]", "{rounds: [40, 40]}");
    const struct row_time *t = time_of(&r, "my/ours", "cold", "isolated");
    double noise = row_of(&r, "my/ours")->noise;
    assert_true(noise > 0.001 && noise < 0.03 && noise == row_of(&r, "my/cudnn_fast")->noise);
    assert_true(t->ratio_low < t->ratio && t->ratio < t->ratio_high && t->ratio_low > 1.2 && t->ratio_high < 1.3);
    assert_true(t->low_ns < t->median_ns && t->median_ns < t->high_ns && t->p05_ns < t->low_ns && t->high_ns < t->p95_ns);
    let_go(&r);
}

/* Of two ends the further one: no less than half of the interval, which another pair of the same noise tells. */
static void the_further_end_is_the_noise(void **state)
{
    double noise = 0, half = 0;
    for (int i = 0; i < 8; i++) {
        begin();
        timing.noise = 0.01;
        noise_state = 31 + (uint64_t)i;
        struct result r = timed("[my/cudnn_fast, my/ours]", "{rounds: [40, 40]}");
        const struct row_time *t = time_of(&r, "my/ours", "cold", "isolated");
        noise += row_of(&r, "my/ours")->noise;
        half += (t->ratio_high - t->ratio_low) / t->ratio / 2;
        let_go(&r);
    }
    if (!(noise > half))
        fail_msg("%g, of intervals of %g to each side", noise / 8, half / 8);
}

/* Every round says where it was taken and at what clock; what nobody knows is absent. */
static void rounds_say_their_conditions(void **state)
{
    for (int clock = 0; clock < 2; clock++) {
        bool places[6] = {0};
        begin();
        timing.stamps = clock;
        struct result r = timed("[my/cudnn_fast, my/ours]", "{rounds: [60, 60]}");
        const struct row_time *t = time_of(&r, "my/ours", "cold", "isolated"), *other = time_of(&r, "my/cudnn_fast", "cold", "isolated");
        assert_int_equal(t->rounds, 60);
        assert_non_null(t->places);
        for (int i = 0; i < 60; i++) {
            assert_true(t->places[i] >= 0 && t->places[i] < 6 && t->places[i] == other->places[i]);
            places[(int)t->places[i]] = true;
            assert_true(!clock || t->clock_hz[i] == 1.98e9);
        }
        for (int i = 0; i < 6; i++)
            assert_true(places[i]);
        double mhz = row_of(&r, "my/ours")->sm_clock_mhz;
        assert_true(clock ? mhz == 1980 : isnan(mhz));
        assert_true(t->took_s >= 60 * 3 * SAMPLE_SPACING_NS * 1e-9 && t->took_s == other->took_s); /* all of them together, with rests */
        assert_true(clock ? t->retaken + other->retaken > 20 && t->kept_low == 0 : t->retaken == -1 && t->kept_low == -1 && !t->clock_hz);
        assert_true(!t->power_w && !t->throttle); /* no board */
        let_go(&r);
    }
}

/* A card whose clock is held down for half of the time: the samples that began there all three times stand, and the row says so. */
static void a_low_clock_is_said(void **state)
{
    begin();
    timing.stamps = true;
    timing.low_of = 60;
    struct result r = timed("[my/cudnn_fast, my/ours]", "{rounds: [80, 80]}");
    const struct row_time *t = time_of(&r, "my/ours", "cold", "isolated");
    char *words = text_format("%d of 80 samples started at a lower clock than that of an idle GPU", t->kept_low);
    assert_true(t->kept_low > 8 && t->kept_low < 40);
    assert_non_null(row_of(&r, "my/ours")->note);
    assert_non_null(strstr(row_of(&r, "my/ours")->note, words));
    free(words);
    let_go(&r);
    for (int many = 0; many < 2; many++) { /* towards the end: said from a tenth of the samples on */
        begin();
        timing.stamps = true;
        timing.low_of = many ? 230 : 248;
        r = timed("[my/cudnn_fast, my/ours]", "{rounds: [80, 80]}");
        int low = time_of(&r, "my/ours", "cold", "isolated")->kept_low;
        assert_true(many ? low > 8 && low < 16 : low > 0 && low <= 8);
        assert_true(many == (row_of(&r, "my/ours")->note && strstr(row_of(&r, "my/ours")->note, "at a lower clock")));
        let_go(&r);
    }
    begin();
    timing.stamps = true; /* one in five, taken again: nothing to say */
    r = timed("[my/cudnn_fast, my/ours]", "{rounds: [80, 80]}");
    assert_true(!row_of(&r, "my/ours")->note || !strstr(row_of(&r, "my/ours")->note, "lower clock"));
    let_go(&r);
}

/* Right when it is verified and idle later: nobody is believed because of what he did before he was timed, nor in his last launch. */
static void who_stops_working_is_wrong(void **state)
{
    for (int i = 0, idle_from = INT_MAX; i < 4; i++) {
        begin();
        timing.idle = "conv_ours";
        timing.idle_from = idle_from;
        struct result r = timed(i < 3 ? "[my/cudnn_fast, my/ours]" : "[my/ours, my/cudnn_fast]", "{rounds: [12, 12]}");
        const struct row *ours = row_of(&r, "my/ours");
        assert_true(ours->status == (i ? ROW_WRONG : ROW_OK) && row_of(&r, "my/cudnn_fast")->status == ROW_OK);
        assert_true(!i || strstr(ours->reason, "(the output of a timed launch"));
        assert_true(i < 2 || !ours->time_count); /* of some right launches there is no time */
        assert_true(i < 3 ? row_of(&r, "my/cudnn_fast")->noise < 1e-9 : isnan(row_of(&r, "my/cudnn_fast")->noise)); /* its twin is wrong */
        idle_from = i ? 12 : timing.launches;
        let_go(&r);
    }
}

/* A row of the tail, 50 times as long as the fastest, is not launched again after it was timed: its last timed launch is checked like all
 * of them. If all were right, the row is right. */
static void the_tail_is_judged_by_timed_launches(void **state)
{
    for (int i = 0, last = INT_MAX; i < 2; i++) {
        begin();
        timing.idle = "conv_slow";
        timing.idle_from = last;
        struct result r = timed("[my/cudnn_slow, my/brief]", "{rounds: [12, 12]}");
        const struct row *slow = row_of(&r, "my/cudnn_slow");
        assert_int_equal(row_of(&r, "my/brief")->status, ROW_OK);
        assert_int_equal(slow->status, i ? ROW_WRONG : ROW_OK);
        assert_true(i ? strstr(slow->reason, "the output of a timed launch") != NULL
                      : time_of(&r, "my/cudnn_slow", "cold", "isolated")->rounds == 6);
        last = timing.launches;
        let_go(&r);
    }
}

/* A row of the tail in whose module something is kept since its last launch, a timed one: it is told so, and is not right. */
static void the_tail_keeps_nothing(void **state)
{
    for (int i = 0, last = 0; i < 2; i++) {
        begin();
        timing.kept_at = last;
        struct result r = timed("[my/keeper, my/brief]", "{rounds: [12, 12]}");
        assert_int_equal(row_of(&r, "my/brief")->status, ROW_OK);
        if (row_of(&r, "my/keeper")->status != (i ? ROW_STATEFUL : ROW_OK))
            fail_msg("%d: %s", i, row_of(&r, "my/keeper")->reason);
        assert_true(!i || strstr(row_of(&r, "my/keeper")->reason, "`kept` (4 bytes) (in the timed loop)"));
        last = timing.keeper;
        let_go(&r);
    }
}

/* On further input sets a row first runs in the warm-up. The first launch there is compared in full, on the first two sets on which the row
 * has rounds, also for rows of the tail. An error in it was there before timing. */
static void further_inputs_are_met_while_it_warms_up(void **state)
{
    static const struct {
        int idle_from;
        const char *said; /* NULL: it is right */
    } tries[] = {{INT_MAX, NULL},
                 {1, "(in the measuring process, before timing)"},
                 {2, "(in the measuring process, on other inputs)"},
                 {3, "(in the measuring process, on other inputs)"},
                 {4, "(the output of a timed launch; the verified launch was right)"}};
    for (int i = 0; i < 5; i++) {
        begin();
        timing.idle = "conv_ours";
        timing.idle_from = tries[i].idle_from;
        struct result r = timed("[my/cudnn_fast, my/ours]", "{rounds: [12, 12]}");
        const struct row *ours = row_of(&r, "my/ours");
        assert_int_equal(ours->status, tries[i].said ? ROW_WRONG : ROW_OK);
        assert_true(!tries[i].said || strstr(ours->reason, tries[i].said));
        assert_true(i || timing.launches == 1 + 8 + 12); /* first, warming, timed */
        let_go(&r);
    }
    begin(); /* of the tail: two warming rounds */
    timing.idle = "conv_slow";
    timing.idle_from = 3;
    struct result r = timed("[my/cudnn_slow, my/brief]", "{rounds: [12, 12]}");
    assert_int_equal(row_of(&r, "my/cudnn_slow")->status, ROW_WRONG);
    assert_non_null(strstr(row_of(&r, "my/cudnn_slow")->reason, "on other inputs"));
    let_go(&r);
    begin(); /* who leaves there what the first set gave */
    timing.replays = "conv_ours";
    timing.idle_from = 2;
    r = timed("[my/cudnn_fast, my/ours]", "{rounds: [12, 12]}");
    assert_true(row_of(&r, "my/ours")->status == ROW_WRONG && !strncmp(row_of(&r, "my/ours")->reason, "replays: ", 9));
    let_go(&r);
}

/* A warm-up of one round, which was long, and six timed ones none of which has the third set: it is met behind them. */
static void each_set_is_met_in_the_end(void **state)
{
    char seed[16];
    uint64_t tried = 0;
    for (int r = 0; r < 6;) /* as sample.c draws sets and replicas */
        if (random_bits(tried, 0x5ea7, 2 * (uint64_t)r++) % 3 == 2)
            tried++, r = 0;
    snprintf(seed, sizeof seed, "%d", (int)tried);
    for (int i = 0; i < 2; i++) {
        begin();
        timing.seed = seed;
        timing.idle = "conv_ours";
        timing.idle_from = i ? 9 : INT_MAX; /* of 9, the last */
        timing.sleeps_at = 2;
        struct result r = timed("[my/cudnn_fast, my/ours]", "{rounds: [6, 6]}");
        const struct row *ours = row_of(&r, "my/ours");
        for (int k = 0; !i && k < 6; k++)
            assert_true(time_of(&r, "my/ours", "cold", "isolated")->places[k] < 4);
        assert_true(i || timing.launches == 1 + 1 + 6 + 1);
        assert_int_equal(ours->status, i ? ROW_WRONG : ROW_OK);
        assert_true(!i || strstr(ours->reason, "on other inputs"));
        let_go(&r);
    }
}

/* Who leaves in timed launches what other inputs gave, here those of the first set, is told so. */
static void who_replays_is_told_so(void **state)
{
    begin();
    timing.replays = "conv_ours";
    timing.idle_from = 19;
    struct result r = timed("[my/cudnn_fast, my/ours]", "{rounds: [12, 12]}");
    const struct row *ours = row_of(&r, "my/ours");
    assert_true(ours->status == ROW_WRONG && !strncmp(ours->reason, "replays: ", 9));
    assert_int_equal(row_of(&r, "my/cudnn_fast")->status, ROW_OK);
    let_go(&r);
}

/* Where nothing is marked a sparse row leaves the same on all inputs, and that is right: it replays nothing. */
static void one_result_of_all_inputs_is_no_replay(void **state)
{
    begin();
    timing.layer = ", mask: empty";
    timing.idle = "conv_even";
    timing.idle_from = 1;
    struct result r = timed("[my/cudnn_fast, my/masked]", "{rounds: [12, 12]}");
    const struct row *masked = row_of(&r, "my/masked");
    if (masked->status != ROW_OK)
        fail_msg("%s", masked->reason);
    assert_int_equal(time_of(&r, "my/masked", "cold", "isolated")->rounds, 12);
    let_go(&r);
}

/* Rows share inputs, which the first of them fills: if it is wrong, at once or on the second set, the others are unaffected. */
static void who_is_wrong_first_harms_nobody(void **state)
{
    for (int i = 0; i < 2; i++) {
        begin();
        timing.idle = "conv_fast";
        timing.idle_from = 1 + i;
        struct result r = timed("[my/cudnn_fast, my/ours]", "{rounds: [12, 12]}");
        assert_int_equal(row_of(&r, "my/cudnn_fast")->status, ROW_WRONG);
        assert_non_null(strstr(row_of(&r, "my/cudnn_fast")->reason,
                               i ? "(in the measuring process, on other inputs)" : "(in the measuring process, before timing)"));
        if (row_of(&r, "my/ours")->status != ROW_OK)
            fail_msg("%s", row_of(&r, "my/ours")->reason);
        const struct row_time *t = time_of(&r, "my/ours", "cold", "isolated");
        assert_true(fabs(t->median_ns - 80000) < 1 && isnan(t->ratio)); /* there is nothing to compare it with */
        let_go(&r);
    }
}

/* A network run whole sees several sets of inputs like any row; one that stops working once it was believed is found out. */
static void a_network_is_timed_on_several_inputs(void **state)
{
    for (int idle = 0, launches = 0; idle < 3; idle++) {
        begin();
        timing.whole = "my/ours";
        timing.noise = 1e-6; /* intervals have a width */
        timing.idle = "conv_ours";
        timing.idle_from = !idle ? INT_MAX : idle == 1 ? 20 : launches - 40; /* then only its steps are timed */
        struct result r = timed("[my/cudnn_fast, my/ours]", "{rounds: [40, 40]}\nnetworks: {net: {order: [{repeat: 2, of: [a]}]}}");
        const struct row *best = row_of(&r, "chain/best");
        const struct row_time *t = row_time(best, MODE_COLD);
        bool places[6] = {false};
        assert_true(best->status == (idle ? ROW_WRONG : ROW_OK) && (!idle || strstr(best->reason, "(the output of a timed launch")));
        launches = idle ? launches : timing.launches;
        for (int i = 0; !idle && i < t->rounds; i++)
            places[(int)t->places[i]] = true;
        for (int i = 0; !idle && i < 6; i++)
            assert_true(places[i]);
        int steps = 0; /* each has a time of its own, and the interval of one median */
        for (int i = 0; !idle && i < best->time_count; i++) {
            const struct row_time *own = &best->times[i];
            if (own->step < 0 || strcmp(own->load, "isolated") != 0)
                continue;
            struct estimate alone = estimate_median(own->samples_ns, own->rounds);
            assert_true(fabs(own->median_ns - 80000) < 1 && own->low_ns == alone.low && own->high_ns == alone.high);
            steps |= 1 << own->step;
        }
        assert_true(idle || steps == 3);
        static const struct {
            const char *name;
            double value;
        } parts[] = {{"chain.steps", 2}, {"chain.steps_ns", 160000}, {"chain.layout_ns", 0}, {"chain.plan_layout_ns", 0}};
        for (int i = 0; !idle && i < 4; i++) /* two layers, and no change of layout */
            assert_true(row_metric(best, -1, parts[i].name) && fabs(row_metric(best, -1, parts[i].name)->value - parts[i].value) < 1);
        let_go(&r);
    }
    begin(); /* of two modes the first says what its steps come to */
    timing.whole = "my/ours";
    struct result two =
        timed("[my/cudnn_fast, my/ours]", "{rounds: [10, 10], cache: [cold, warm]}\nnetworks: {net: {order: [{repeat: 2, of: [a]}]}}");
    int said = 0;
    for (int i = 0; i < row_of(&two, "chain/best")->metric_count; i++)
        said += !strcmp(row_of(&two, "chain/best")->metrics[i].name, "chain.steps_ns");
    assert_int_equal(said, 1);
    let_go(&two);
    begin(); /* what a step prepares is no step of it */
    timing.whole = "my/prepared";
    struct result r = timed("[my/cudnn_fast, my/prepared]", "{rounds: [10, 10]}\nnetworks: {net: {order: [{repeat: 2, of: [a]}]}}");
    const struct row *best = row_of(&r, "chain/best");
    assert_true(row_metric(best, -1, "chain.steps")->value == 2 && fabs(row_metric(best, -1, "chain.steps_ns")->value - 120000) < 1);
    let_go(&r);
}

/* Of a network whose layers want another layout than it comes in: what its changes of layout take, which the plan put there. */
static void changes_of_layout_are_said(void **state)
{
    begin();
    timing.whole = "my/ours";
    struct result r = timed("[my/cudnn_fast, my/ours]",
                            "{rounds: [10, 10]}\naxes: {layout: [NCHW, NHWC]}\nnetworks: {net: {order: [a], layout: [per_op]}}");
    const struct row *best = row_of(&r, "chain/best");
    static const struct {
        const char *name;
        double value;
    } parts[] = {{"chain.steps", 3}, {"chain.steps_ns", 94000}, {"chain.layout_ns", 14000}, {"chain.plan_layout_ns", 14000}};
    for (int i = 0; i < 4; i++)
        if (!row_metric(best, -1, parts[i].name) || fabs(row_metric(best, -1, parts[i].name)->value - parts[i].value) > 1)
            fail_msg("%s", parts[i].name);
    let_go(&r);
}

static double nearly_short(const struct device_launch *launch)
{
    return 4.8;
}
static double nearly_long(const struct device_launch *launch)
{
    return 5.2;
}

/* Where a network runs as a graph a short row is timed in one too, a long one is not. */
static void short_rows_are_timed_in_a_graph(void **state)
{
    begin();
    struct result r = timed("[my/cudnn_fast, my/brief]", "{rounds: [12, 12]}");
    assert_null(row_time(row_of(&r, "my/brief"), MODE_SUSTAINED)); /* nobody asked */
    let_go(&r);
    begin();
    r = timed("[my/cudnn_fast, my/brief]", "{rounds: [12, 12]}\nnetworks: {net: {order: [a], launch: [graph]}}");
    assert_true(fabs(time_of(&r, "my/brief", "cold", "isolated")->median_ns - 4000) < 1);
    assert_true(fabs(time_of(&r, "my/brief", "warm", "sustained")->median_ns - 4000) < 1);
    assert_null(row_time(row_of(&r, "my/cudnn_fast"), MODE_SUSTAINED));
    let_go(&r);
    begin(); /* of this time, for which nobody asked, no warning */
    timing.noise = 0.3;
    r = timed("[my/cudnn_fast, my/brief]", "{rounds: [12, 12], half_width: 0.1 %}\nnetworks: {net: {order: [a], launch: [graph]}}");
    assert_non_null(row_time(row_of(&r, "my/brief"), MODE_SUSTAINED));
    const char *note = row_of(&r, "my/brief")->note, *first = note ? strstr(note, "still wider") : NULL;
    assert_true(first && !strstr(first + 1, "still wider"));
    let_go(&r);
    for (int i = 0; i < 2; i++) { /* 4 us, as many times as make 19.2 or 20.8 */
        begin();
        timing.times = i ? nearly_long : nearly_short;
        r = timed("[my/brief]", "{rounds: [12, 12]}\nnetworks: {net: {order: [a], launch: [graph]}}");
        assert_true((row_time(row_of(&r, "my/brief"), MODE_SUSTAINED) == NULL) == i);
        let_go(&r);
    }
}

/* A budget that is spent leaves a note; a measurement that ends because everything is known does not. */
static void an_early_end_is_said(void **state)
{
    begin();
    timing.noise = 0.05;
    struct result r = timed("[my/cudnn_fast, my/ours]", "{rounds: [10, 15], half_width: 0.1 %}");
    const struct row *ours = row_of(&r, "my/ours");
    assert_true(ours->note && strstr(ours->note, "all of its 15 rounds: an interval is still wider than 0.1 %"));
    let_go(&r);
    begin();
    timing.noise = 0.5;
    r = timed("[my/cudnn_fast, my/ours]", "{rounds: [10, 15], half_width: 9 %, budget: 0.000001 s per layer}");
    ours = row_of(&r, "my/ours");
    assert_true(ours->note && strstr(ours->note, "the time budget ended after 10 rounds: an interval is still wider than 9 %"));
    let_go(&r);
    begin(); /* narrow enough, and fewer rounds than were asked for: of its interval nothing is to be said */
    timing.noise = 0.01;
    r = timed("[my/cudnn_fast, my/ours]", "{rounds: [40, 60], half_width: 9 %, budget: 0.000001 s per layer}");
    ours = row_of(&r, "my/ours");
    assert_true(ours->note && strstr(ours->note, "the time budget ended after 10 rounds") && !strstr(ours->note, "wider"));
    let_go(&r);
    begin(); /* a row of the tail has few rounds: that its interval is wide is no word on the others' */
    timing.noise = 0.5, timing.noisy = "conv_state";
    r = timed("[my/cudnn_fast, my/brief, my/keeper]", "{rounds: [40, 60], half_width: 9 %, budget: 0.000001 s per layer}");
    ours = row_of(&r, "my/brief");
    assert_true(ours->note && strstr(ours->note, "the time budget ended after 10 rounds") && !strstr(ours->note, "wider"));
    let_go(&r);
    begin();
    r = timed("[my/cudnn_fast, my/ours]", "{rounds: [10, 15]}");
    ours = row_of(&r, "my/ours");
    assert_true(!ours->note || !strstr(ours->note, "still wider"));
    assert_int_equal(time_of(&r, "my/ours", "cold", "isolated")->rounds, 10);
    let_go(&r);
}

/* Modes share the budget alike; who asks for the impossible is stopped by his share in each, not before, and not a round later. */
static void modes_share_the_budget(void **state)
{
    static const struct {
        const char *said;
        int count;
        double share; /* s of each: a round of isolated launches takes some 1.4 ms, one of graphs 14 */
    } modes[] = {
        {"", 1, 0.06}, {", cache: [cold, warm]", 2, 0.06}, {", load: [sustained]", 1, 0.2}, {", load: [isolated, sustained]", 2, 0.17}};
    for (int i = 0; i < 4; i++) {
        begin();
        timing.noise = 0.05;
        char *time =
            text_format("{rounds: [10, 20000], half_width: 0.001 %%, budget: %g%s}", modes[i].share * modes[i].count, modes[i].said);
        struct result r = timed("[my/cudnn_fast, my/ours]", time);
        const struct row *ours = row_of(&r, "my/ours");
        assert_int_equal(ours->time_count, modes[i].count);
        for (int k = 0; k < modes[i].count; k++) {
            const struct row_time *t = &ours->times[k];
            assert_true(t->rounds > 10 && t->took_s > modes[i].share && t->took_s < modes[i].share * (1 + 2. / t->rounds));
        }
        free(time);
        let_go(&r);
    }
}

/* Every mode that is asked for, and no other; meanwhile the next case is begun. */
static void was_begun(struct worker *w)
{
    assert_non_null(w->prefetch.thread);
    prefetch_end(&w->prefetch);
}
static void modes_are_those_asked_for(void **state)
{
    begin();
    timing.next = true;
    timing.ends = was_begun;
    struct result r = timed("[my/cudnn_fast, my/ours]", "{rounds: [12, 12], cache: [cold, warm], load: [isolated, sustained]}");
    const struct row *ours = row_of(&r, "my/ours");
    assert_int_equal(ours->time_count, 3);
    assert_true(fabs(time_of(&r, "my/ours", "cold", "isolated")->median_ns - 80000) < 1);
    assert_true(fabs(time_of(&r, "my/ours", "warm", "isolated")->median_ns - 80000) < 1);
    assert_true(fabs(time_of(&r, "my/ours", "warm", "sustained")->median_ns - 80000) < 1);
    for (int i = 0; i < 3; i++)
        assert_int_equal(ours->times[i].step, -1);
    let_go(&r);
}

/* Where rows are only timed back to back nothing is launched to warm up: each set of inputs is met before. Of a graph only the last launch
 * is summed, so one more launch is checked after the timed ones. */
static void back_to_back_alone_meets_each_set(void **state)
{
    static const char *const said[] = {"", "process, on other inputs)", "process, on other inputs)", "(after the timed loop)"};
    for (int i = 0, last = INT_MAX; i < 4; i++) {
        begin();
        timing.idle = "conv_ours";
        timing.idle_from = i == 0 || i == 3 ? last : i + 1;
        struct result r = timed("[my/cudnn_fast, my/ours]", "{rounds: [12, 12], load: [sustained]}");
        last = i ? last : timing.launches;
        assert_true(row_of(&r, "my/ours")->status == (i ? ROW_WRONG : ROW_OK) && (!i || strstr(row_of(&r, "my/ours")->reason, said[i])));
        assert_true(row_of(&r, "my/ours")->time_count == !i && row_of(&r, "my/cudnn_fast")->time_count == 1);
        let_go(&r);
    }
}

/* What a whole case needs is nobody's fault; and while one row runs it is given the time of one row, while all do that of the budget. */
static void blame_and_time_are_whose_they_are(void **state)
{
    begin();
    timing.no_events = timing.may_fail = true;
    struct result r = timed("[my/cudnn_fast, my/ours]", "{rounds: [12, 12]}");
    assert_true(!r.ok && strstr(r.err.text, "no more events") && r.blamed == -1);
    let_go(&r);
    for (int kind = 0; kind < 4; kind++) { /* one idles, or harms an input; what then fails in the timed loop is not its fault */
        begin();
        timing.idle = kind & 1 ? NULL : "conv_ours";
        timing.spoils = kind & 1 ? "conv_ours" : NULL;
        timing.idle_from = timing.spoils_at = 20;
        timing.fails = kind & 2 ? "conv_fast" : NULL;
        timing.fails_from = 42;
        r = timed("[my/cudnn_fast, my/ours]", "{rounds: [12, 12]}");
        if (!timing.fails) {
            assert_int_equal(row_of(&r, "my/ours")->status, kind ? ROW_UNSAFE : ROW_WRONG);
            assert_int_equal(row_of(&r, "my/cudnn_fast")->status, ROW_OK);
            assert_true(!kind || !strcmp(row_of(&r, "my/ours")->reason, "changed its input in a timed launch"));
        } else {
            assert_true(!r.ok && strstr(r.err.text, "conv_fast is refused") && r.blamed == -1);
        }
        let_go(&r);
    }
    begin();
    r = timed("[my/cudnn_fast, my/ours]", "{rounds: [12, 12], budget: 3}");
    assert_true(timing.loads == 2 + 1 && timing.plans == 0); /* each row, and the end of all */
    for (int i = 0; i < r.count; i++)
        assert_int_equal(timing.told >> i & 1, !strcmp(r.names[i], "my/cudnn_fast") || !strcmp(r.names[i], "my/ours"));
    assert_true(timing.longest_run == 5 * (60 + 5)); /* on emu, which ends a kernel by the time of its own threads */
    assert_true(timing.longest[0] == 5 * (60 + 30) && timing.longest[1] == 5 * (4 * 3 + 120)); /* time_limit: 60 */
    let_go(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ratios_are_to_the_fastest_of_the_library),
        cmocka_unit_test(the_host_is_no_part_of_a_time),
        cmocka_unit_test(a_times_interval_is_its_own),
        cmocka_unit_test(the_twin_says_how_noisy_it_is),
        cmocka_unit_test(the_further_end_is_the_noise),
        cmocka_unit_test(rounds_say_their_conditions),
        cmocka_unit_test(who_stops_working_is_wrong),
        cmocka_unit_test(a_low_clock_is_said),
        cmocka_unit_test(the_tail_is_judged_by_timed_launches),
        cmocka_unit_test(the_tail_keeps_nothing),
        cmocka_unit_test(further_inputs_are_met_while_it_warms_up),
        cmocka_unit_test(each_set_is_met_in_the_end),
        cmocka_unit_test(who_replays_is_told_so),
        cmocka_unit_test(one_result_of_all_inputs_is_no_replay),
        cmocka_unit_test(who_is_wrong_first_harms_nobody),
        cmocka_unit_test(a_network_is_timed_on_several_inputs),
        cmocka_unit_test(changes_of_layout_are_said),
        cmocka_unit_test(short_rows_are_timed_in_a_graph),
        cmocka_unit_test(an_early_end_is_said),
        cmocka_unit_test(modes_share_the_budget),
        cmocka_unit_test(modes_are_those_asked_for),
        cmocka_unit_test(back_to_back_alone_meets_each_set),
        cmocka_unit_test(blame_and_time_are_whose_they_are),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
