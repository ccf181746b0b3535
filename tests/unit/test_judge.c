/* The judge: rules with and without counters on both sides of their limits, the gain that each estimates, and that every limit is defined
 * in one place.
 */
#include "store/family.h"
#include "base/file.h"
#include "measured_rows.h"
#include "report/form/document.h"
#include "report/view/verdict.h"
#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "judged_rows.h"

static double first_gain; /* of the row that was looked at last */

static void expect(struct fixture *f, int index, const char *binds, const char *says)
{
    struct case_view c;
    struct judge judge;
    judge_open(&judge);
    if (!judge.ready)
        fail_msg("%s", judge.missing.text);
    case_view_make(&c, &f->run, f->rows, f->count);
    case_judge(&c, &judge);
    const struct view *v = &c.views[index];
    const char *got = v->verdicts.count ? v->verdicts.items[0].says : "";
    if (strcmp(verdict_word(v), binds) || !strstr(got, says))
        fail_msg("row %s: '%s: %s', want '%s: ...%s...'", f->rows[index]->variant, verdict_word(v), got, binds, says);
    first_gain = v->verdicts.count ? v->verdicts.items[0].gain : NAN;
    case_view_free(&c);
    judge_close(&judge);
}

static void verdicts_without_counters(void **state)
{
    struct fixture f = {0};
    measured_run(&f);
    row_of(&f, "conv2d/fine", 180, 1);
    row_of(&f, "conv2d/at_roof", 110, 1);
    row_of(&f, "conv2d/no_tensor", 5000, 0);
    row_of(&f, "conv2d/empty_grid", 180, 1)->steps[0].waves = 0.4;
    struct row *r = row_of(&f, "conv2d/spilling", 180, 1);
    r->steps[0].spill_store_bytes = 100;
    r->steps[0].spill_load_bytes = 120;
    r = row_of(&f, "conv2d/few_warps", 180, 1);
    r->steps[0].occupancy = 0.25;
    r = row_of(&f, "conv2d/tail", 180, 1);
    r->steps[0].waves = 1.2;
    row_add_member(r, FAMILY_MODEL, 0, 0, "idle_places", "share", "model", 0.4);
    r = row_of(&f, "conv2d/short", 180, 1);
    r->times[0].median_ns = 4000;
    r->flop = 1e6;
    r->bytes = 1e6;
    r = row_of(&f, "conv2d/mover", 60, 1);
    r->flop = 1e9;
    row_of(&f, "conv2d/wrong", 180, 1)->status = ROW_WRONG;
    row_of(&f, "conv2d/narrow", 1800, 0);      /* at the roof of a pipe beside which a wider one is idle: that is left */
    r = row_of(&f, "conv2d/moves_all", 50, 1); /* a little above a measured ceiling; no time falls below an empty launch */
    r->flop = 0;
    r = row_of(&f, "conv2d/one_wave", 180, 1); /* all of its blocks are resident: more slots would stay empty */
    r->steps[0].occupancy = 0.25;
    r->steps[0].waves = 1;
    expect(&f, 0, "", "");
    expect(&f, 1, "compute", "its operations alone, at the peak rate of the pipe, take 90.9 %");
    expect(&f, 2, "compute", "no tensor instruction: tensor cores have 16x");
    expect(&f, 3, "small_grid", "0.4 of a wave: the other block slots stay empty");
    expect(&f, 4, "spills", "100 B of spilled registers at 32 registers");
    expect(&f, 5, "occupancy", "theoretical occupancy is 25 %");
    expect(&f, 6, "tail", "the last of 1.2 waves does not fill the GPU: 40 %");
    expect(&f, 7, "launch", "2x the time of an empty launch");
    expect(&f, 8, "memory", "its bytes alone, at the rate of a copy, take 83.3 %");
    expect(&f, 9, "", "");
    expect(&f, 10, "compute", "on the pipe that it uses; tensor cores have 16x the rate");
    expect(&f, 11, "memory", "its bytes alone, at the rate of a copy, take 100 % of the time");
    assert_true(isnan(first_gain)); /* no gain is more than the row is above its own speed of light */
    expect(&f, 12, "", "");
    fixture_free(&f);
}

/* The thresholds of Nsight Compute's rules, on both sides. */
static void verdicts_with_counters(void **state)
{
    struct fixture f = {0};
    measured_run(&f);
    struct row *r = row_of(&f, "conv2d/dram", 400, 1);
    hw(r, "dram_throughput", 85);
    hw(r, "issue_active", 20);
    r = row_of(&f, "conv2d/dram_not_quite", 400, 1);
    hw(r, "dram_throughput", 79);
    hw(r, "issue_active", 70);
    r = row_of(&f, "conv2d/conflicts", 400, 1);
    hw(r, "shared_conflict_share", 12);
    hw(r, "shared_pipe", 50);
    r = row_of(&f, "conv2d/few_conflicts", 400, 1);
    hw(r, "shared_conflict_share", 9);
    hw(r, "shared_pipe", 50);
    r = row_of(&f, "conv2d/waits", 400, 1);
    hw(r, "issue_active", 30);
    hw(r, "dram_throughput", 20);
    hw(r, "stall_long_scoreboard", 45);
    r = row_of(&f, "conv2d/spills", 400, 1);
    hw(r, "local_share", 6);
    hw(r, "local_bytes", 1e9);
    r->steps[0].spill_store_bytes = 400; /* the counter speaks, the compiler's figure does not */
    r = row_of(&f, "conv2d/spills_that_never_run", 400, 1);
    hw(r, "local_share", 0.1);
    hw(r, "local_bytes", 1e3);
    r->steps[0].spill_store_bytes = 400;
    r = row_of(&f, "conv2d/busy_pipe", 400, 1);
    hw(r, "sol_compute", 88);
    hw(r, "sol_memory", 40);
    r = row_of(&f, "conv2d/index_arithmetic", 400, 1);
    hw(r, "pipe_alu", 91);
    hw(r, "pipe_fma", 95); /* which is what an FMA kernel is for */
    r = row_of(&f, "conv2d/exponentials", 400, 1);
    hw(r, "pipe_xu", 84);
    hw(r, "pipe_alu", 79);
    expect(&f, 0, "memory", "DRAM runs at 85 %");
    expect(&f, 1, "memory", "DRAM runs at 79 %");
    expect(&f, 2, "conflicts", "12 % of the shared memory wavefronts");
    expect(&f, 3, "", "");
    expect(&f, 4, "latency", "45 %");
    expect(&f, 5, "spills", "6 % of the instructions");
    expect(&f, 6, "", "");
    expect(&f, 7, "compute", "compute runs at 88 %");
    expect(&f, 8, "compute", "the ALU pipe is at 91 %");
    expect(&f, 9, "compute", "the XU pipe is at 84 %");
    fixture_free(&f);
    measured_run(&f);
    /* As counted of mma_sync on an H200, which Nsight Compute calls compute bound. */
    r = row_of(&f, "conv2d/async", 173, 1);
    hw(r, "useful_ld", 0.0754); /* less than a byte a sector: asynchronous copies, counted as sectors and not as bytes */
    hw(r, "l1_hit_rate_ld", 0.584);
    hw(r, "global_sectors_ld", 5604504);
    hw(r, "sectors_per_request_ld", 16);
    hw(r, "dram_throughput", 25.7);
    hw(r, "issue_active", 29.1);
    hw(r, "tensor_active", 66);
    r = row_of(&f, "conv2d/scattered", 400, 1); /* the same without such copies is waste */
    hw(r, "useful_ld", 12.5);
    hw(r, "l1_hit_rate_ld", 5);
    hw(r, "global_sectors_ld", 5604504);
    hw(r, "sectors_per_request_ld", 32);
    r = row_of(&f, "conv2d/few_scattered", 400, 1); /* a few requests of a kernel that loads by other means */
    hw(r, "useful_ld", 12.5);
    hw(r, "l1_hit_rate_ld", 5);
    hw(r, "global_sectors_ld", 1000);
    hw(r, "sectors_per_request_ld", 32);
    r = row_of(&f, "conv2d/l1_full", 9000, 0); /* tiled_halo: what is full comes before the pipe it does not use */
    hw(r, "l1_busy", 93.1);
    hw(r, "shared_conflict_share", 45);
    r = row_of(&f, "conv2d/at_its_roof", 99, 1); /* whatever its conflicts are, they have nothing left to gain */
    hw(r, "shared_conflict_share", 60);
    hw(r, "shared_pipe", 50);
    expect(&f, 4, "compute", "at the peak rate of the pipe");
    expect(&f, 0, "compute", "the tensor pipe is busy in 66 %");
    expect(&f, 1, "memory", "global loads use 12.5 %");
    expect(&f, 2, "", "");
    expect(&f, 3, "memory", "the L1 data banks are busy in 93.1 %");
    fixture_free(&f);
}

/* What bulk copies load makes no requests: the few that remain say nothing of the row. */
static void sectors_of_few_requests_are_not_shown(void **state)
{
    struct fixture f = {0};
    struct text t = {0};
    struct error err = {0};
    measured_run(&f);
    struct row *r = row_of(&f, "conv2d/scattered", 400, 1);
    hw(r, "global_sectors_ld", 5604504);
    hw(r, "sectors_per_request_ld", 27.5);
    r = row_of(&f, "conv2d/bulk", 400, 1);
    hw(r, "global_sectors_ld", 1000);
    hw(r, "sectors_per_request_ld", 26.5);
    assert_true(report_whole(&t, &form_terminal, &f.run, f.rows, f.count, NULL, &err));
    assert_non_null(strstr(text_get(&t), "27.5"));
    assert_null(strstr(text_get(&t), "26.5"));
    text_free(&t);
    fixture_free(&f);
}

/* auto on body_1 of an H200: 93 % of the tensor pipe, with a fifth of the warps and nearly a whole wave. */
static void a_full_pipe_comes_first(void **state)
{
    struct fixture f = {0};
    struct judge j;
    measured_run(&f);
    struct row *r = row_of(&f, "conv2d/auto", 107, 1);
    r->steps[0].occupancy = 0.1875;
    r->steps[0].waves = 0.992;
    snprintf(r->steps[0].limit, sizeof r->steps[0].limit, "regs");
    snprintf(r->steps[0].lift, sizeof r->steps[0].lift, "88 fewer registers (80) give 2 blocks per SM");
    hw(r, "tensor_active", 93);
    hw(r, "issue_active", 12);
    hw(r, "dram_throughput", 30);
    hw(r, "sm_busy", 97);
    hw(r, "stall_long_scoreboard", 5);
    hw(r, "stall_short_scoreboard", 1);
    hw(r, "stall_wait", 4);
    struct case_view c = judged(&f, &j);
    const struct view *v = &c.views[0];
    assert_non_null(strstr(v->verdicts.items[0].says, "the tensor pipe is busy in 93 %"));
    assert_true(fabs(v->verdicts.items[0].gain - (100 - 100 * 100.0 / 107)) < 1e-9); /* 63 until DRAM is the limit; its roof leaves 6.54 */
    struct breakdown a = breakdown_of(&c, v, 0);
    for (int i = 0; i < a.count; i++)
        if (a.parts[i].kind == BREAKDOWN_FINDING) /* one number everywhere */
            assert_true(fabs(a.parts[i].ns / a.total_ns * 100 - v->verdicts.items[0].gain) < 1e-9);
    for (int i = 0; i < v->verdicts.count; i++) {
        assert_null(strstr(v->verdicts.items[i].says, "of a wave")); /* 0.8 % of the places are empty */
        assert_null(strstr(v->verdicts.items[i].says, "occupancy")); /* no fault of a kernel whose pipe is full */
    }
    judged_free(&c, &j, &f);
}

/* Conflicts gain what the banks are busy with them, not more: 12 % of the wavefronts of a pipe that works half of the time. */
static void a_small_effect_stays_small(void **state)
{
    struct fixture f = {0};
    struct judge j;
    measured_run(&f);
    struct row *r = row_of(&f, "conv2d/conflicts", 400, 1);
    hw(r, "shared_conflict_share", 12);
    hw(r, "shared_pipe", 50);
    hw(r, "issue_active", 40);
    hw(r, "stall_long_scoreboard", 60);
    hw(r, "local_hit_rate", 50);
    hw(r, "local_bytes_missed", 1e6);
    struct case_view c = judged(&f, &j);
    const struct view *v = &c.views[0];
    assert_string_equal(verdict_word(v), "latency");
    assert_true(fabs(v->verdicts.items[0].gain - 36) < 1e-9); /* 60 % of the 60 % without an issue */
    assert_true(fabs(verdict_of(v, "bank conflicts")->gain - 6) < 1e-9);
    const struct verdict *last = &v->verdicts.items[v->verdicts.count - 1]; /* what nobody can estimate says so, and is last */
    assert_non_null(strstr(last->says, "spilled values"));
    assert_true(isnan(last->gain));
    struct text t = {0};
    assert_false(verdict_speedup(last, &t));
    assert_int_equal(t.len, 0);
    assert_true(verdict_speedup(&v->verdicts.items[0], &t)); /* 36 % of the time less: 1 / 0.64 */
    assert_string_equal(text_get(&t), "estimated speed-up up to 1.56x");
    text_free(&t);
    const struct verdict all = {.gain = 100}; /* a rule may explain all of the time */
    assert_true(verdict_speedup(&all, &t));
    assert_string_equal(text_get(&t), "estimated speed-up over 100x");
    text_free(&t);
    judged_free(&c, &j, &f);
}

/* A step is judged for what it takes of the row: a launch of 1.9 us in a row of 100. */
static void a_step_weighs_its_share(void **state)
{
    struct fixture f = {0};
    struct judge j;
    measured_run(&f);
    struct row *r = row_of(&f, "conv2d/two", 200, 1);
    fixture_step(r, "epilogue", 24, 0, 0, 1.0, "warps");
    r->steps[1].waves = 0.5;
    fixture_time(r, 0, 180, 0, 0, 0, 0);
    fixture_time(r, 1, 20, 0, 0, 0, 0);
    struct case_view c = judged(&f, &j);
    const struct verdict *step = verdict_of(&c.views[0], "epilogue (10 % of the row's time): the grid fills only 0.5 of a wave");
    assert_true(fabs(step->gain - 5) < 1e-9); /* half of a tenth */
    judged_free(&c, &j, &f);
}

/* Numbers in the conditions of shipped rules have names, but for 0, 1 and per cent; and every shipped rule says what it gains and why. */
static void limits_stand_in_one_place(void **state)
{
    struct judge j;
    judge_open(&j);
    assert_true(j.ready);
    const struct counter_groups *const sets[] = {&j.rules, &j.groups};
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < sets[k]->count; i++)
            for (int r = 0; r < sets[k]->items[i]->rule_count; r++) {
                const struct counter_rule *rule = &sets[k]->items[i]->rules[r];
                assert_non_null(rule->why);
                size_t length = strlen(rule->why);
                assert_true(isupper((unsigned char)rule->why[0]) || !strncmp(rule->why, "emu", 3));
                assert_true(length > 30 && rule->why[length - 1] == '.');
                for (const char *p = expr_text(rule->when); *p; p++) {
                    char *end;
                    bool begins =
                        isdigit((unsigned char)*p) && (p == expr_text(rule->when) || !(isalnum((unsigned char)p[-1]) || p[-1] == '_'));
                    double number = begins ? strtod(p, &end) : 0;
                    if (number != 0 && number != 1 && number != 32 && number != 100)
                        fail_msg("%s: '%s' compares with %g: give it a name in harness/counter/limits.yaml", sets[k]->items[i]->name,
                                 expr_text(rule->when), number);
                    p = begins ? end - 1 : p;
                }
            }
    assert_true(counter_limit(j.groups.limits, "occupancy_low") == 80);
    assert_true(isnan(counter_limit(j.groups.limits, "no_such_limit")));
    judge_close(&j);
}

static const char planted[] =
    "group: planted\nabout: a group that no C knows\norder: 3\nteaches: nothing\n"
    "metrics: {beans: smsp__beans.avg.pct_of_peak_sustained_active}\n"
    "values:\n  beans_busy: {value: beans, unit: \"%\", what: beans that were busy, head: \"beans %\", brief: yes}\n"
    "rules:\n  - when: beans_busy >= 40 and issue_active < busy\n    bottleneck: latency\n"
    "    says: \"the beans are busy in {beans_busy}\"\n    gain: beans_busy - issue_active\n"
    "    why: \"It is planted.\"\n    try: \"fewer beans\"\n";

/* One YAML file: a column and a verdict on a terminal and in Markdown; on the page also the table of limits and a section. */
static void a_group_is_one_file(void **state)
{
    char dir[] = "/tmp/plantedXXXXXX", command[400], before[4096] = "";
    struct fixture f = {0};
    struct error err = {0};
    assert_non_null(mkdtemp(dir));
    snprintf(command, sizeof command, "mkdir -p %s/harness %s/plots && cp -r harness/counter %s/harness/ && ln -s $PWD/plot %s/plot", dir,
             dir, dir, dir);
    assert_int_equal(system(command), 0);
    char *path = text_format("%s/harness/counter/groups/planted.yaml", dir);
    assert_true(file_write(path, planted, strlen(planted), &err));
    measured_run(&f);
    struct row *r = row_of(&f, "conv2d/beanstalk", 400, 1);
    hw(r, "beans_busy", 77);
    hw(r, "issue_active", 20);
    snprintf(before, sizeof before, "%s", getenv("BENCH_HOME") ? getenv("BENCH_HOME") : "");
    setenv("BENCH_HOME", dir, 1);
    const struct form *const forms[] = {&form_terminal, &form_markdown, &form_html};
    for (int i = 0; i < 3; i++) {
        struct text t = {0};
        if (!report_whole(&t, forms[i], &f.run, f.rows, f.count, dir, &err))
            fail_msg("%s", err.text);
        assert_non_null(strstr(text_get(&t), i < 2 ? "issue slots %" : "issue slots %</th>"));
        assert_non_null(strstr(text_get(&t), i < 2 ? "beans %" : "beans %</th>"));
        assert_non_null(strstr(text_get(&t), "estimated speed-up up to 2.33x"));
        static const char *const ncu[] = {"", "\n[^beans_busy]: ncu: `smsp__beans.avg.pct_of_peak_sustained_active`\n",
                                          "; ncu: smsp__beans.avg.pct_of_peak_sustained_active\">"};
        assert_non_null(strstr(text_get(&t), ncu[i]));
        assert_non_null(strstr(text_get(&t), "the beans are busy in 77 %"));
        assert_true(i < 2 || strstr(text_get(&t), ">planted <small>a group that no C knows</small>"));
        text_free(&t);
    }
    if (before[0])
        setenv("BENCH_HOME", before, 1);
    else
        unsetenv("BENCH_HOME");
    snprintf(command, sizeof command, "rm -rf %s", dir);
    assert_int_equal(system(command), 0);
    free(path);
    fixture_free(&f);
}

static void emu(struct row *r, const char *name, double value)
{
    row_add_member(r, FAMILY_EMU, 0, 0, name, "", "emu", value);
}

/* What is said fits what was counted: padding is nothing for atomics, and a shifted row is misaligned, not uncoalesced. */
static void advice_fits_what_was_counted(void **state)
{
    static const char *const advice[][2] = {
        {"are bank conflicts", "pad each row"},          {"most of them of atomics", "its own copy"},
        {"uncoalesced loads", "adjacent lanes"},         {"misaligned loads", "multiple of 32"},
        {"the tensor pipe is busy in 66 %", "feed the"}, {"the tensor pipe is busy in 93 %", "near its limit"}};
    struct fixture f = {0};
    struct judge j;
    measured_run(&f);
    for (int i = 0; i < 4; i++) {
        struct row *r = row_of(&f, "conv2d/counted", 180, 1);
        const double loads[] = {0, 0, 3200, 200};
        emu(r, "warp_instructions", 1000);
        emu(r, "shared_wavefronts_ld", 0);
        emu(r, "shared_wavefronts_ideal_ld", 0);
        emu(r, "shared_wavefronts_st", i < 2 ? 400 : 0);
        emu(r, "shared_wavefronts_ideal_st", i < 2 ? 100 : 0);
        emu(r, "warp_store_shared", i ? 10 : 100);
        emu(r, "atomics", i == 1 ? 95 : 5);
        emu(r, "global_requests_atomic", 5);
        emu(r, "global_requests_ld", 100);
        emu(r, "global_sectors_ld", loads[i]);
        emu(r, "global_sectors_ideal_ld", i < 3 ? 400 : 100);
        hw(r, "shared_pipe", 50); /* as counters or the model have it: what is wasted costs time, more than the usual error of a time */
        hw(r, "l2_busy", 50);
        hw(r, "dram_throughput", 10);
    }
    for (int i = 0; i < 2; i++)
        hw(row_of(&f, "conv2d/fed", 400, 1), "tensor_active", i ? 93 : 66);
    for (int i = 4; i < 6; i++) {
        hw(f.rows[i], "dram_throughput", 10);
        hw(f.rows[i], "issue_active", 10);
    }
    struct case_view c = judged(&f, &j);
    for (int i = 0; i < 6; i++) {
        const struct verdict *v = verdict_of(&c.views[i], advice[i][0]);
        if (!v || !strstr(v->remedy, advice[i][1]))
            fail_msg("%s: %s", advice[i][0], v ? v->remedy : "not said");
        for (int k = 0; k < 6; k++) /* and not the other half, or that of another cause */
            if (k != i && (k ^ 1) == i)
                assert_null(strstr(v->remedy, advice[k][1]));
    }
    judged_free(&c, &j, &f);
}

static bool is_said(const struct view *v, const char *what)
{
    bool said = false;
    for (int i = 0; i < v->verdicts.count; i++)
        said = said || strstr(v->verdicts.items[i].says, what);
    return said;
}

/* A waste at a unit that has nothing to do is no finding; an SM without a block is one before the units of those that have some. */
static void a_finding_costs_time(void **state)
{
    struct fixture f = {0};
    struct judge j;
    measured_run(&f);
    struct row *r = row_of(&f, "conv2d/loads_once", 400, 1);
    emu(r, "warp_instructions", 1000);
    emu(r, "global_requests_ld", 100);
    emu(r, "global_sectors_ld", 3200);
    emu(r, "global_sectors_ideal_ld", 400);
    emu(r, "global_sectors_st", 0);
    hw(r, "l2_busy", 0.5);
    hw(r, "dram_throughput", 0.5);
    r = row_of(&f, "conv2d/few_blocks", 400, 1);
    hw(r, "sm_busy", 40);
    hw(r, "issue_active", 95); /* of the active cycles: 38 % of all */
    hw(r, "dram_throughput", 3);
    r = row_of(&f, "conv2d/two_units", 400, 1);
    hw(r, "dram_throughput", 85);
    hw(r, "tensor_active", 78);
    hw(r, "issue_active", 10);
    struct case_view c = judged(&f, &j);
    assert_false(is_said(&c.views[0], "uncoalesced"));
    assert_string_equal(verdict_word(&c.views[1]), "tail");
    assert_string_equal(verdict_word(&c.views[2]), "memory");
    assert_true(verdict_of(&c.views[2], "tensor pipe")->close && !c.views[2].verdicts.items[0].close);
    judged_free(&c, &j, &f);
}

/* On emu a loss smaller than the usual error of a predicted time is no finding, even if a unit is fully busy. */
static void a_waste_costs_more_than_the_error(void **state)
{
    struct fixture f = {0};
    struct judge j;
    measured_run(&f);
    for (int i = 0; i < 2; i++) { /* a fifth and a tenth of the wavefronts */
        struct row *r = row_of(&f, "conv2d/conflicts", 400, 1);
        emu(r, "warp_instructions", 1000);
        emu(r, "shared_wavefronts_ld", 100);
        emu(r, "shared_wavefronts_ideal_ld", i ? 80 : 90);
        emu(r, "shared_wavefronts_st", 0);
        emu(r, "shared_wavefronts_ideal_st", 0);
        hw(r, "shared_pipe", 80);
    }
    struct case_view c = judged(&f, &j);
    assert_false(is_said(&c.views[0], "bank conflicts"));
    assert_true(is_said(&c.views[1], "bank conflicts"));
    judged_free(&c, &j, &f);
}

/* L2 holds the last 18 MB that a launch wrote, so DRAM is less busy than the work's bytes suggest, on an H200 and on emu. The rule compares
 * the bytes' share of the time, at the rate of a copy, with the limit of every unit. What exceeds the speed of light is no loss. */
static void bytes_in_l2_count(void **state)
{
    struct fixture f = {0}, e = {0};
    struct judge j;
    measured_run(&f);
    for (int i = 0; i < 2; i++) {
        struct row *r = row_of(&f, "conv2d/mover", i ? 84 : 80, 1);
        r->flop = 1e9;
        hw(r, "dram_throughput", 50);
        hw(r, "issue_active", 20);
        hw(r, "tensor_active", 0);
    }
    struct case_view c = judged(&f, &j);
    assert_true(is_said(&c.views[0], "at the rate of a copy, take 62.5 %"));
    assert_string_equal(verdict_word(&c.views[0]), "memory");
    assert_string_equal(verdict_word(&c.views[1]), "latency");
    struct breakdown parts = breakdown_of(&c, &c.views[0], 0);
    for (int i = 0; i < parts.count; i++)
        assert_true(parts.parts[i].kind != BREAKDOWN_FINDING);
    judged_free(&c, &j, &f);
    fixture_run(&e.run, "edsr", "emu:GH100", "emu");
    struct row *r = row_of(&e, "transpose/mine", 0, 0);
    r->time_count = 0;
    r->flop = 0;
    r->bytes = 6e7;
    row_set(&r->device, "emu:GH100");
    r->steps[0].grid[0] = 264;
    r->steps[0].grid[1] = r->steps[0].grid[2] = 1;
    emu(r, "warp_instructions", 1e5);
    emu(r, "unique_bytes_read", 3e7);
    emu(r, "unique_bytes_written", 3e7);
    c = judged(&e, &j);
    assert_true(c.views[0].predicted.busy[UNIT_DRAM] < 0.6);
    assert_string_equal(verdict_word(&c.views[0]), "memory");
    assert_true(is_said(&c.views[0], "at the rate of a copy"));
    judged_free(&c, &j, &e);
}

/* One kernel on a card and on one that is 7 % slower: what each says first, the other says, too. */
static void a_unit_at_the_limit_has_two_names(void **state)
{
    static const struct {
        double l1;
        const char *first, *other;
    } table[] = {{70, "memory", NULL}, {62, "memory", "latency"}, {58, "latency", "memory"}, {50, "latency", NULL}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct fixture f = {0};
        struct judge j;
        measured_run(&f);
        struct row *r = row_of(&f, "conv2d/cudnn", 400, 1);
        hw(r, "l1_busy", table[i].l1);
        hw(r, "tensor_active", 40);
        hw(r, "issue_active", 40);
        hw(r, "dram_throughput", 30);
        hw(r, "stall_long_scoreboard", 48);
        struct case_view c = judged(&f, &j);
        const struct verdicts *v = &c.views[0].verdicts;
        const char *other = NULL;
        for (int k = 1; k < v->count; k++)
            if (v->items[k].close && !other)
                other = counter_bottleneck_names[v->items[k].rule->bottleneck];
        assert_string_equal(verdict_word(&c.views[0]), table[i].first);
        if (!other != !table[i].other || (other && strcmp(other, table[i].other)))
            fail_msg("%g %%: as likely %s", table[i].l1, other ? other : "nothing");
        for (int k = 0; k < v->count; k++)
            for (int m = k + 1; m < v->count; m++) /* each finding once */
                assert_string_not_equal(v->items[k].says, v->items[m].says);
        judged_free(&c, &j, &f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_unit_at_the_limit_has_two_names),
        cmocka_unit_test(bytes_in_l2_count),
        cmocka_unit_test(verdicts_without_counters),
        cmocka_unit_test(verdicts_with_counters),
        cmocka_unit_test(a_full_pipe_comes_first),
        cmocka_unit_test(a_small_effect_stays_small),
        cmocka_unit_test(a_step_weighs_its_share),
        cmocka_unit_test(limits_stand_in_one_place),
        cmocka_unit_test(a_group_is_one_file),
        cmocka_unit_test(sectors_of_few_requests_are_not_shown),
        cmocka_unit_test(advice_fits_what_was_counted),
        cmocka_unit_test(a_finding_costs_time),
        cmocka_unit_test(a_waste_costs_more_than_the_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
