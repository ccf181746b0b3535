/* measure/time/search: configurations race on a simulated clock: the winner, the notes of the others, and which configurations equal
 * another one. */
#include "timing_world.h"
#include "base/stats/estimate.h"
#include <sys/wait.h>

/* Blocks of 8 are the fastest of ours; of 32 nobody waits for the second look. */
static double by_block(const struct device_launch *l)
{
    return l->block[0] == 8 ? 1 : l->block[0] == 16 ? 1.25 : l->block[0] == 24 ? 1.5 : 6;
}

static void begin_race(void)
{
    begin();
    timing.tune = true;
    timing.times = by_block;
}

static const struct row *point_of(const struct result *r, const char *variant, const char *params)
{
    for (int i = 0; i < r->count; i++)
        if (!strcmp(r->names[i], variant) && !strcmp(r->configs[i], params))
            return r->rows[i];
    fail_msg("no row %s[%s]", variant, params);
    return NULL;
}
static double told(const struct row *row, const char *metric)
{
    const struct row_metric *m = row_metric(row, -1, metric);
    return m ? m->value : NAN;
}

/* The result names the fastest configuration of each variant, and their number; the others say after how many rounds they were dropped. All
 * are compared with the faster of the library's rows, in the same rounds. */
static void the_fastest_point_is_found(void **state)
{
    begin_race();
    timing.noise = 0.01;
    struct result r = timed("[my/cudnn_slow, my/cudnn_fast, my/ours, my/even]", "{rounds: [12, 12], half_width: 1 %}");
    const struct row *best = point_of(&r, "my/ours", "BLOCK=8"), *slow = point_of(&r, "my/ours", "BLOCK=32"),
                     *even = point_of(&r, "my/even", "BLOCK=8");
    assert_true(told(best, "tune.best_of") == 4 && told(even, "tune.best_of") == 4);
    assert_string_equal(row_metric(best, -1, "tune.best_of")->unit, "points");
    assert_true(isnan(told(best, "tune.dropped_after")) && isnan(told(best, "tune.tied_with_best")));
    for (int i = 0; i < 3; i++) {
        const struct row *other = point_of(&r, "my/ours", i == 0 ? "BLOCK=16" : i == 1 ? "BLOCK=24" : "BLOCK=32");
        const struct row_time *t = row_time(other, MODE_COLD);
        assert_true(t && told(other, "tune.dropped_after") == t->rounds && isnan(told(other, "tune.best_of")));
    }
    assert_true(told(slow, "tune.dropped_after") == 2); /* hopeless */
    const struct row_time *t = row_time(best, MODE_COLD), *base = time_of(&r, "my/cudnn_fast", "cold", "isolated");
    assert_true(fabs(t->median_ns / 80000 - 1) < 0.02 && fabs(row_time(slow, MODE_COLD)->median_ns / 480000 - 1) < 0.02);
    /* the library's at its default block, 16: 125000 and 250000 */
    assert_true(fabs(t->ratio - 125. / 80) < 0.03 && t->ratio_low < t->ratio && t->ratio < t->ratio_high);
    assert_true(fabs(base->median_ns / 125000 - 1) < 0.02 && base->ratio == 1);
    assert_true(fabs(row_time(row_of(&r, "my/cudnn_slow"), MODE_COLD)->ratio - 0.5) < 0.02);
    struct estimate own = estimate_median(t->samples_ns, t->rounds);
    assert_true(own.median == t->median_ns && t->step == -1 && own.low == t->low_ns);
    let_go(&r);
}

/* Who is in to the end is prepared once more before the last check: all its scratch was wiped after the last round. */
static void the_last_check_is_prepared(void **state)
{
    begin_race();
    struct result r = timed("[my/cudnn_fast, my/prepared]", "{rounds: [12, 12], half_width: 1 %}");
    assert_true(row_of(&r, "my/prepared")->status == ROW_OK && !timing.ran_wiped);
    let_go(&r);
}

/* Two that are as fast are tied: both are told. */
static double alike(const struct device_launch *l)
{
    return l->block[0] <= 16 ? 1 : 3;
}
static void equals_are_tied(void **state)
{
    begin_race();
    timing.times = alike;
    timing.noise = 0.01;
    struct result r = timed("[my/cudnn_fast, my/ours]", "{rounds: [12, 12], half_width: 1 %}");
    const struct row *one = point_of(&r, "my/ours", "BLOCK=8"), *two = point_of(&r, "my/ours", "BLOCK=16");
    bool first = told(one, "tune.best_of") == 4;
    assert_true(told(first ? two : one, "tune.tied_with_best") >= 30 && told(first ? one : two, "tune.best_of") == 4);
    assert_string_equal(row_metric(first ? two : one, -1, "tune.tied_with_best")->unit, "rounds");
    let_go(&r);
}

/* Who is wrong at first takes no part; who is wrong after its last round is not remembered; the others race on. */
static void a_wrong_point_is_out(void **state)
{
    for (int late = 0; late < 2; late++) {
        begin_race();
        timing.idle = "conv_ours";
        timing.idle_from = late ? 12 : 1;
        struct result r = timed("[my/cudnn_fast, my/ours, my/even]", "{rounds: [12, 12], half_width: 1 %}");
        int wrong = 0, right = 0;
        for (int i = 0; i < r.count; i++) {
            wrong += !strcmp(r.names[i], "my/ours") && r.rows[i]->status == ROW_WRONG;
            right += !strcmp(r.names[i], "my/even") && r.rows[i]->status == ROW_OK && r.rows[i]->time_count == 1;
        }
        assert_true(right == 4 && (late ? wrong >= 1 : wrong == 4));
        assert_true(told(point_of(&r, "my/even", "BLOCK=8"), "tune.best_of") == 4);
        let_go(&r);
    }
}

/* A device that fails in any call ends the race. */
static void a_failing_call_ends_it(void **state)
{
    begin_race();
    timing.fail_at = 1 << 30;
    struct result r = timed("[my/cudnn_fast, my/ours]", "{rounds: [6, 6], half_width: 5 %}");
    int calls = timing.calls;
    assert_true(r.ok && calls > 60);
    let_go(&r);
    for (int at = 3; at < calls; at += 1 + calls / 14) {
        int status, child = fork();
        if (!child) {
            begin_race();
            timing.fail_at = at;
            timing.once = true;
            r = timed("[my/cudnn_fast, my/ours]", "{rounds: [6, 6], half_width: 5 %}");
            _exit(r.ok || !strstr(r.err.text, "the device is lost"));
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        if (!WIFEXITED(status) || WEXITSTATUS(status))
            fail_msg("call %d of %d fails and is not noticed", at, calls);
    }
}

/* ---- what is not worth a race ---- */

static struct worker w;
static struct plan plan;
static struct row *row;

/* The facts of a configuration of one kernel. */
static bool refuses(int index, const char *hash, int spills, int blocks)
{
    row_free(row);
    row = row_new();
    struct row_step *s = row_add_step(row);
    row_set(&s->name, "k");
    snprintf(s->sass_hash, sizeof s->sass_hash, "%s", hash);
    s->spill_store_bytes = spills;
    s->spill_load_bytes = 2 * spills;
    s->registers = 40;
    s->blocks_per_sm = blocks;
    snprintf(s->limit, sizeof s->limit, "smem");
    s->block[0] = 8, s->block[1] = 4, s->block[2] = 2;
    s->static_smem = 1000, s->dynamic_smem = 24;
    return tried_refuse(&w.tried, &w.job, index, row);
}

/* Points that spill, of which no block fits, or that are the same launches of the same code as one before, of the same variant and case. */
static void points_that_are_not_worth_it(void **state)
{
    struct error err = {0};
    char *path =
             text_file("scenario: t\nlayers: {a: {op: conv2d, n: 1, c: 2, h: 6, w: 8, k: 2, kernel: 3, pad: 1, dtype: f32, layout: NCHW}, "
                       "b: {op: conv2d, n: 1, c: 2, h: 9, w: 8, k: 2, kernel: 3, pad: 1, dtype: f32, layout: NCHW}}\nvariants: "
                       "[my/cudnn_fast, my/ours, my/even]\n"),
         *set = text_format("my=%s", variant_folder);
    const char *const dirs[] = {set, NULL};
    const struct plan_options options = {.scenario_path = path, .device = "emu:GH100", .variant_dirs = dirs, .tune = true};
    if (!plan_make(&options, "emu", chip_find("GH100"), &plan, &err))
        fail_msg("%s", err.text);
    w = (struct worker){.job.plan = plan};
    int ours[4], even = -1, other_case = -1, count = 0;
    for (int i = 0; i < plan.row_count; i++) {
        bool first = !plan.rows[i].case_index;
        if (!strcmp(plan_row_variant(&plan.rows[i]), "my/ours") && first)
            ours[count++] = i;
        even = first && even < 0 && !strcmp(plan_row_variant(&plan.rows[i]), "my/even") ? i : even;
        other_case = !first && !strcmp(plan_row_variant(&plan.rows[i]), "my/ours") ? i : other_case;
    }
    assert_true(count == 4 && even >= 0 && other_case >= 0);
    assert_true(refuses(ours[0], "aa", 4, 3) && row->status == ROW_INFEASIBLE);
    assert_string_equal(row->reason, "k spills: 4 bytes per thread stored, 8 loaded, at 40 registers");
    assert_true(refuses(ours[0], "aa", 0, 0));
    assert_string_equal(row->reason,
                        "k: no block fits on an SM, limited by smem: 64 threads with 40 registers, 1024 bytes of shared memory");
    assert_false(refuses(ours[0], "aa", 0, 3));
    assert_int_equal(row->status, ROW_PLANNED);
    assert_false(refuses(ours[0], "aa", 0, 3)); /* itself again */
    assert_false(refuses(ours[1], "aa", 0, 3)); /* the same code launched otherwise: another block */
    /* the same launches of the same code: a parameter that changes nothing */
    struct step saved = plan_program(&plan, ours[2])->steps[0];
    plan_program(&plan, ours[2])->steps[0] = plan_program(&plan, ours[0])->steps[0];
    assert_true(refuses(ours[2], "aa", 0, 3));
    assert_string_equal(row->reason, "same launches of the same machine code as BLOCK=8");
    assert_string_equal(row->twin, plan_id(&plan, ours[0]));
    assert_false(refuses(ours[2], "bb", 0, 3)); /* other code */
    plan_program(&plan, ours[2])->steps[0] = saved;
    saved = plan_program(&plan, even)->steps[0];
    plan_program(&plan, even)->steps[0] = plan_program(&plan, ours[0])->steps[0];
    assert_false(refuses(even, "aa", 0, 3)); /* another variant */
    plan_program(&plan, even)->steps[0] = saved;
    assert_false(refuses(other_case, "aa", 0, 3));
    assert_int_equal(w.tried.count, 1); /* of another case the others are forgotten */
    plan_program(&plan, ours[3])->feasible = false;
    assert_false(refuses(ours[3], "aa", 9, 0)); /* is told by others */
    free(w.tried.items);
    row_free(row);
    plan_free(&plan);
    unlink(path);
    free(path);
    free(set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_fastest_point_is_found),
                                       cmocka_unit_test(the_last_check_is_prepared),
                                       cmocka_unit_test(equals_are_tied),
                                       cmocka_unit_test(a_wrong_point_is_out),
                                       cmocka_unit_test(a_failing_call_ends_it),
                                       cmocka_unit_test(points_that_are_not_worth_it)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
