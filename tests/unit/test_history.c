/* gate/history: times with noise over runs: a step is found where it is, what creeps is told apart from a step and from noise. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "base/file.h"
#include "base/text.h"
#include "gate/history.h"
#include "noise.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RUNS 60

static struct gate_side sides[RUNS];

static void make_runs(int count, const double *us)
{
    for (int i = 0; i < count; i++) {
        struct row *row = row_new(), **rows = xcalloc(1, sizeof *rows);
        struct run run = {.id = i + 1};
        struct error err = {0};
        rows[0] = row;
        run.device = xstrdup("cuda:0");
        run.product = xstrdup("NVIDIA H200");
        run.driver = xstrdup(i < 50 ? "580" : "590");
        run.revision = text_format("%010d", 1000000 + i / 3);
        row_set(&row->id, "s/conv/my/one");
        row->status = ROW_OK;
        snprintf(row->launch_hash, sizeof row->launch_hash, "%016d", i < 30 ? 1 : 2);
        struct row_time *t = row_add_time(row);
        t->step = -1;
        strcpy(t->cache, "cold");
        strcpy(t->load, "isolated");
        t->median_ns = 1e3 * us[i];
        t->low_ns = 0.99e3 * us[i];
        t->high_ns = 1.01e3 * us[i];
        sides[i] = (struct gate_side){0};
        assert_true(gate_side_take(&sides[i], &run, rows, 1, NULL, &err) && gate_side_sort(&sides[i], &err));
    }
}

static void free_runs(int count)
{
    for (int i = 0; i < count; i++)
        gate_side_free(&sides[i]);
}

static char *shown(const struct history *h)
{
    struct document d = {0};
    struct text t = {0};
    history_document(&d, h);
    form_terminal.write(&t, &d, &(struct report_style){0});
    document_free(&d);
    return text_take(&t);
}

static void a_step_is_where_it_is(void **state)
{
    double us[RUNS];
    struct history h;
    struct error err = {0};
    noise_state = 31;
    for (int i = 0; i < RUNS; i++)
        us[i] = 24 * (i < 30 ? 1 : 1.03) * (1 + 0.005 * noise_normal());
    make_runs(RUNS, us);
    assert_true(history_make(sides, RUNS, "s/conv/my/one", NULL, 0.01, "0001000002", &h, &err));
    assert_true(!h.exact && h.count == RUNS && h.change_count == 1 && abs(h.changes[0].index - 30) <= 1);
    assert_true(h.release == 6 && h.release_last == 8); /* three runs are of that revision */
    assert_true(fabs(history_drift(&h) - 0.03) < 0.005 && fabs(history_largest_step(&h) - history_drift(&h)) < 1e-12);
    char *text = shown(&h);
    assert_true(strstr(text, "from here on (p ") && strstr(text, "other code") && strstr(text, "driver 590, not 580") &&
                !strstr(text, "it crept"));
    assert_non_null(strstr(text, "beyond the margin of 1 %; the largest step"));
    free(text);
    history_free(&h);
    free_runs(RUNS);
}

/* Five steps of 0.6 %, none beyond a gate's margin of 1 %, are 3 % together. */
static void creeping_is_seen(void **state)
{
    double us[RUNS];
    struct history h;
    struct error err = {0};
    noise_state = 32;
    for (int i = 0; i < RUNS; i++)
        us[i] = 24 * pow(1.006, i / 10) * (1 + 0.001 * noise_normal());
    make_runs(RUNS, us);
    assert_true(history_make(sides, RUNS, "s/conv/my/one", "time", 0.01, "1", &h, &err));
    assert_int_equal(h.change_count, 5);
    assert_true(history_largest_step(&h) < 0.01 && fabs(history_drift(&h) - (pow(1.006, 5) - 1)) < 0.002);
    char *text = shown(&h);
    assert_non_null(strstr(text, "it crept up in steps within the margin of 1 %"));
    free(text);
    history_free(&h);
    free_runs(RUNS);
    for (int i = 0; i < RUNS; i++) /* and noise alone is neither */
        us[i] = 24 * (1 + 0.01 * noise_normal());
    make_runs(RUNS, us);
    assert_true(history_make(sides, RUNS, "s/conv/my/one", NULL, 0.01, "1", &h, &err));
    assert_true(h.change_count == 0 && history_drift(&h) == 0);
    history_free(&h);
    assert_false(history_make(sides, RUNS, "s/conv/my/one", NULL, 0.01, "77", &h, &err) || err.kind != ERROR_USAGE);
    history_free(&h);
    error_clear(&err);
    assert_false(history_make(sides, RUNS, "s/conv/my/one", "registres", 0.01, NULL, &h, &err));
    history_free(&h);
    free_runs(RUNS);
}

/* A line a run: its revision, that of the release marked, the time with its interval, what is other. */
static void each_run_has_its_line(void **state)
{
    const double us[] = {10, 10, 10, 10, 10};
    struct history h;
    struct error err = {0};
    make_runs(5, us);
    assert_true(history_make(sides, 5, "s/conv/my/one", NULL, 0.01, "0001000001", &h, &err) && h.count == 5);
    char *text = shown(&h);
    assert_non_null(strstr(text, "0001000000"));
    assert_non_null(strstr(text, "0001000001 (since)"));
    assert_null(strstr(text, "0001000000 (since)"));
    int lines = 0;
    for (const char *at = text; (at = strstr(at, "10 [9.9 10.1]")); at++)
        lines++;
    assert_int_equal(lines, 5);
    assert_true(!strstr(text, "other code") && !strstr(text, ", not 5") && strstr(text, " 0 in 5 runs"));
    free(text);
    history_free(&h);
    free_runs(5);
}

/* A gate does not report a step of exactly the margin, so such steps creep; it reports any larger step. The number is the row's, or else
 * that of the first step that has it. */
static void steps_at_the_margin_creep(void **state)
{
    static const struct {
        double value[3];
        bool crept;
    } all[] = {{{4, 5, 6.25}, true}, {{4, 5, 6.5}, false}};
    for (int k = 0; k < 2; k++) {
        const double us[] = {1, 1, 1};
        struct history h;
        struct error err = {0};
        make_runs(3, us);
        for (int i = 0; i < 3; i++) {
            struct gate_part *part = sides[i].parts[0];
            free(part->run.revision);
            part->run.revision = text_format("abcd%d", i);
            gate_entry_add(&sides[i].entries[0], "conv", gate_kind_find("emu.barriers"), 70 + i);
            gate_entry_add(&sides[i].entries[0], "conv", gate_kind_find("emu.warp_instructions"), all[k].value[i]);
            gate_entry_add(&sides[i].entries[0], "pool", gate_kind_find("emu.warp_instructions"), 1000);
        }
        if (!history_make(sides, 3, "s/conv/my/one", "emu.warp_instructions", 0.25, "abcd0", &h, &err))
            fail_msg("%s", err.text);
        assert_true(h.change_count == 2 && h.points[2].value == all[k].value[2]);
        assert_true(history_drift(&h) == all[k].value[2] / 4 - 1);
        char *text = shown(&h);
        assert_true((strstr(text, "it crept up in steps within the margin of 25 %") != NULL) == all[k].crept);
        assert_true((strstr(text, "beyond the margin of 25 %; the largest step is 30.00 %") == NULL) == all[k].crept);
        assert_non_null(strstr(text, all[k].crept ? "+56.25 % since run 1 of abcd0" : "+62.50 % since run 1 of abcd0"));
        assert_non_null(strstr(text, "+25.00 % from here on"));
        free(text);
        history_free(&h);
        assert_true(history_make(sides, 3, "s/conv/my/one", "emu.warp_instructions", 0.6, "abcd1", &h, &err));
        text = shown(&h);
        assert_non_null(strstr(text, "within the margin of 60 %"));
        free(text);
        history_free(&h);
        struct gate_entry *first = &sides[0].entries[0];
        first->facts[first->fact_count - 2].value = 1; /* the step to the run since which the drift counts is none of it */
        assert_true(history_make(sides, 3, "s/conv/my/one", "emu.warp_instructions", 0.6, "abcd1", &h, &err));
        assert_true(h.changes[0].after / h.changes[0].before == 5 && history_largest_step(&h) == all[k].value[2] / 5 - 1);
        history_free(&h);
        assert_false(history_make(sides, 3, "s/conv/my/one", "emu.local_sectors", 0.25, NULL, &h, &err)); /* no step has it */
        history_free(&h);
        error_clear(&err);
        free_runs(3);
    }
}

/* The plot's data: run, value, interval, level, and the value again where a change begins. */
static void the_plot_has_each_run(void **state)
{
    const double us[] = {1, 1, 1, 1, 1};
    struct history h;
    struct error err = {0};
    char dir[] = "/tmp/bench-history-XXXXXX", *problem = NULL;
    make_runs(5, us);
    for (int i = 0; i < 5; i++) {
        struct gate_part *part = sides[i].parts[0];
        free(part->run.revision);
        part->run.revision = text_format("abcd%d", i);
        gate_entry_add(&sides[i].entries[0], "", gate_kind_find("emu.warp_instructions"), i < 3 ? 10 : 20);
    }
    assert_true(history_make(sides, 5, "s/conv/my/one", "emu.warp_instructions", 0.01, "abcd", &h, &err) && h.count == 5);
    assert_true(h.release == 0 && h.release_last == 4); /* four digits name a revision */
    assert_non_null(mkdtemp(dir));
    if (!history_plot(&h, dir, &problem, &err)) /* gnuplot may be missing: the data are there */
        error_clear(&err);
    free(problem);
    SCOPED char *path = text_format("%s/plots/01_history.dat", dir), *remove = text_format("rm -rf %s", dir);
    size_t bytes;
    SCOPED char *data = file_read(path, 1 << 20, &bytes, &err);
    assert_non_null(data);
    int run = 0, line = 0;
    for (char *at = strtok(data, "\n"); at; at = strtok(NULL, "\n"), line++) {
        double value, low, high, level, ring = NAN;
        int fields = sscanf(at, "%d %lf %lf %lf %lf %lf", &run, &value, &low, &high, &level, &ring);
        double want = line < 3 ? 10 : 20;
        if (fields < 5 || run != line + 1 || value != want || low != want || high != want || level != want ||
            (line == 3 ? ring != 20 : isfinite(ring)))
            fail_msg("line %d: %s", line, at);
    }
    assert_int_equal(line, 5);
    assert_int_equal(system(remove), 0);
    history_free(&h);
    free_runs(5);
}

/* A row that failed has no time, whatever was measured; the heading is what made the last run. */
static void a_wrong_row_is_no_point(void **state)
{
    const double us[] = {1, 2, 3};
    struct history h;
    struct error err = {0};
    make_runs(3, us);
    sides[1].entries[0].status = ROW_WRONG;
    free(sides[2].driver);
    sides[2].driver = xstrdup("600");
    assert_true(history_make(sides, 3, "s/conv/my/one", "time", 0.01, NULL, &h, &err));
    assert_true(h.count == 2 && h.points[0].value == 1 && h.points[1].value == 3);
    SCOPED char *text = shown(&h);
    const char *end = strchr(text, '\n');
    assert_true(end && memmem(text, (size_t)(end - text), "driver 600", 10));
    history_free(&h);
    free_runs(3);
}

/* A run repeats the one before it if revision, code and number are the same. */
static void what_differs_is_no_repeat(void **state)
{
    static const struct {
        int revision, launch, value, repeats;
    } all[] = {{1, 1, 1, 2}, {1, 1, 2, 1}, {1, 2, 1, 1}, {2, 1, 1, 1}};
    for (int k = 0; k < 4; k++) {
        const double us[] = {1, 1, 1};
        struct history h;
        struct error err = {0};
        make_runs(3, us);
        for (int i = 0; i < 3; i++) {
            struct gate_part *part = sides[i].parts[0];
            free(part->run.revision);
            part->run.revision = text_format("abcd%d", i == 2 ? all[k].revision : 1);
            snprintf(sides[i].entries[0].launch, sizeof sides[i].entries[0].launch, "%d", i == 2 ? all[k].launch : 1);
            gate_entry_add(&sides[i].entries[0], "", gate_kind_find("emu.warp_instructions"), i == 2 ? all[k].value : 1);
        }
        assert_true(history_make(sides, 3, "s/conv/my/one", "emu.warp_instructions", 0.01, NULL, &h, &err));
        assert_int_equal(h.repeats, all[k].repeats);
        history_free(&h);
        free_runs(3);
    }
}

/* Twelve gates of two commits and of a tree with changes, and one older commit that was run last: each commit and tree has one change. With
 * git, the order is git's; without, that of the first run of each revision. */
static void gates_do_not_alternate(void **state)
{
    static const struct {
        const char *commits, *revisions; /* a, b: commits; B: b with changes; c: the oldest, run last */
        const char *order;
    } all[] = {
        {"1:cccccccccc00 5:aaaaaaaaaa11 9:bbbbbbbbbb22", "abaBaBabaBc", "caaaaabbBBB"},
        {NULL, "abaBaBabaBc", "aaaaabbBBBc"},
        {"1:aaaaaaaaaa11", "abab", "aabb"},
        {"7:aaaaaaaaaa11 3:bbbbbbbbbb22", "abab", "bbaa"},
        {"1:bbbbbbbbbb22", "-b", "-b"},
        {"1:dddddddddd11", "a-b-", "a-b-"}, /* a run without a revision stays where it is */
    };
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
        struct history h;
        struct error err = {0};
        int count = (int)strlen(all[k].revisions), changes = 0, last = 0;
        double us[RUNS] = {0};
        char order[RUNS] = "";
        make_runs(count, us);
        for (int i = 0; i < count; i++) {
            char letter = all[k].revisions[i],
                 *name = text_format("%c%c%c%c%c%c%c%c%c%c%s", letter | 32, letter | 32, letter | 32, letter | 32, letter | 32, letter | 32,
                                     letter | 32, letter | 32, letter | 32, letter | 32, letter == 'B' ? "+dirty" : "");
            struct gate_part *part = sides[i].parts[0];
            free(part->run.revision);
            part->run.revision = letter == '-' ? (free(name), NULL) : name;
            snprintf(sides[i].entries[0].launch, sizeof sides[i].entries[0].launch, "%c", letter);
            gate_entry_add(&sides[i].entries[0], "", gate_kind_find("emu.warp_instructions"), letter);
        }
        history_order(sides, count, all[k].commits);
        for (int i = 0; i < count; i++) {
            const struct run *run = &sides[i].parts[0]->run;
            order[i] = (char)sides[i].entries[0].facts[0].value;
            assert_true(!i || order[i] != order[i - 1] || run->id > last); /* runs of one revision in their order */
            changes += i && order[i] != order[i - 1];
            last = (int)run->id;
        }
        assert_string_equal(order, all[k].order);
        assert_true(history_make(sides, count, "s/conv/my/one", "emu.warp_instructions", 0.01, NULL, &h, &err));
        assert_true(h.exact && h.change_count == changes && h.count == changes + 1 && h.repeats == count - h.count);
        char *text = shown(&h);
        assert_true(!h.repeats == !strstr(text, " that repeat"));
        free(text);
        history_free(&h);
        free_runs(count);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_step_is_where_it_is),     cmocka_unit_test(creeping_is_seen),
                                       cmocka_unit_test(each_run_has_its_line),     cmocka_unit_test(steps_at_the_margin_creep),
                                       cmocka_unit_test(what_differs_is_no_repeat), cmocka_unit_test(the_plot_has_each_run),
                                       cmocka_unit_test(gates_do_not_alternate),    cmocka_unit_test(a_wrong_row_is_no_point)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
