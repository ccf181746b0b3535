/* report/view/stored: a run's values are found again by the hash of code and launches alone; and the first screen of a page without
 * times. */
#include "base/file.h"
#include "measured_rows.h"
#include "notebook_rows.h"
#include "report/form/document.h"
#include "report/page/first_screen.h"
#include "report/view/predict.h"
#include "report/view/stored.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>
#include <cmocka.h>

static const char one[] = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
                  two[] = "fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210",
                  three[] = "aedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210",
                  four[] = "bedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210";

static void counted(struct row *r, double instructions)
{
    const struct {
        const char *name;
        double value;
    } counts[] = {{"warp_instructions", instructions}, {"global_requests_ld", 1e6}, {"global_sectors_ld", 4e6}, {"global_sectors_st", 2e6}};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        row_add_member(r, FAMILY_EMU, 0, 0, counts[i].name, "", "emu", counts[i].value);
}

static char *home; /* a share folder with the shipped rules, whose stored times are the test's */

static void make_home(const char *stored)
{
    char dir[] = "/tmp/storedXXXXXX", command[600];
    struct error err = {0};
    assert_non_null(mkdtemp(dir));
    snprintf(command, sizeof command,
             "cd %s && mkdir -p harness/device/chip reports/stored plots && cd - >/dev/null && cp -r harness/counter %s/harness/ && "
             "cp -r harness/device/chip/model %s/harness/device/chip/ && ln -s $PWD/plot %s/plot",
             dir, dir, dir, dir);
    assert_int_equal(system(command), 0);
    char *path = text_format("%s/reports/stored/t.yaml", dir);
    assert_true(file_write(path, stored, strlen(stored), &err));
    free(path);
    home = xstrdup(dir);
    setenv("BENCH_HOME", home, 1);
}

static void drop_home(void)
{
    char *command = text_format("rm -rf %s", home);
    unsetenv("BENCH_HOME");
    assert_int_equal(system(command), 0);
    free(command);
    free(home);
}

static void a_stored_time_is_found_by_its_code(void **state)
{
    struct fixture gpu = {0}, emu = {0};
    struct text file = {0}, page = {0}, closing = {0};
    struct error err = {0};
    measured_run(&gpu);
    row_set(&gpu.run.product, "NVIDIA H200");
    snprintf(gpu.run.started, sizeof gpu.run.started, "2026-11-28T22:00:00Z");
    struct row *r = row_of(&gpu, "conv2d/cudnn", 150, 1);
    r->library = true;
    snprintf(row_of(&gpu, "conv2d/mine", 90.25, 1)->launch_hash, HASH_TEXT, "%s", one);
    snprintf(row_of(&gpu, "conv2d/slow", 5000, 1)->launch_hash, HASH_TEXT, "%s", four);
    report_stored(&file, &gpu.run, gpu.rows, gpu.count);
    assert_non_null(strstr(text_get(&file), "\n  0123456789abcdef: 90.25\n"));
    make_home(text_get(&file));
    fixture_run(&emu.run, "edsr", "emu:GH100", "emu");
    for (int i = 0; i < 5; i++) {
        static const char *const names[] = {"conv2d/mine", "conv2d/changed", "conv2d/odd", "conv2d/quick", "conv2d/slow"};
        static const char *const hashes[] = {one, two, two, three, four};
        r = row_of(&emu, names[i], 0, 1);
        r->time_count = 0;
        row_set(&r->device, "emu:GH100");
        row_set(&r->math, "f16_acc32");
        snprintf(r->launch_hash, HASH_TEXT, "%s", hashes[i]);
        r->steps[0].grid[0] = 4000;
        counted(r, i == 1 ? 4e9 : i == 3 ? 1e6 : 1e9);
    }
    row_add_member(emu.rows[2], FAMILY_EMU, 0, 0, "warp_f64", "", "emu", 9e8);
    for (int i = 0; i < 3; i++) {
        r = row_of(&emu, i ? "conv2d/later" : "conv2d/never", 0, 1);
        r->status = ROW_SKIPPED;
        row_set(&r->reason, i ? "no time left" : "no such layer");
    }
    struct case_view c;
    struct judge j;
    judge_open(&j);
    assert_true(j.ready);
    case_view_make(&c, &emu.run, emu.rows, emu.count);
    case_judge(&c, &j);
    assert_true(c.views[0].stored && c.views[0].stored->us == 90.25);
    assert_null(c.views[1].stored); /* another code, if its name is the same or not */
    assert_true(c.stored_library && c.stored_library->us == 150);
    assert_ptr_equal(predicted_winner(&c), &c.views[0]);
    /* 4e9 x 0.96 / 4 instructions on each of 132 schedulers at 1.97 GHz are 3.7 ms at the least, 6 ms at the most */
    assert_true(c.views[1].predicted.ns > 3.6e6 && c.views[1].predicted.ns < 6e6);
    assert_true(c.views[1].predicted.low_ns < c.views[1].predicted.ns && c.views[1].predicted.ns < c.views[1].predicted.high_ns);
    assert_true(c.views[3].predicted.ns > 0 && c.views[3].predicted.ns < 1e3 * c.views[4].stored->us);
    static const int order[] = {0, 4, 3, 1, 2, 5, 6, 7}; /* predicted times stand after all stored ones, rows without either last */
    assert_memory_equal(c.order, order, sizeof order);
    assert_string_equal(verdict_word(&c.views[1]), "compute");
    assert_true(!(c.views[2].predicted.ns > 0) && strstr(c.views[2].predicted.why, "'f64'"));
    case_view_free(&c);
    judge_close(&j);
    if (!report_whole(&page, &form_html, &emu.run, emu.rows, emu.count, home, &err))
        fail_msg("%s", err.text);
    static const char *const words[] = {"NVIDIA H200, stored, 2026-11-28 (edsr)",
                                        "cudnn took 150 us there",
                                        "stored us",
                                        "5 of 5, no race or unsafe access found",
                                        "the error is ",
                                        "us on H200 SXM",
                                        "x the next",
                                        "Not run: 2 rows: no time left; 1 row: no such layer",
                                        "rows in order of stored time, then those without one in order of predicted time",
                                        "2 of 2 stored times lie outside their predicted interval: mine, slow"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (!strstr(text_get(&page), words[i]))
            fail_msg("the page does not say '%s'", words[i]);
    /* a case of its own whose only row has a stored time and no prediction: what limits it is not known */
    snprintf(emu.rows[2]->launch_hash, HASH_TEXT, "%s", four);
    row_set(&emu.rows[2]->case_id, "edsr/other");
    report_closing(&closing, &emu.run, emu.rows, 3, &(struct report_style){.width = 200});
    assert_non_null(strstr(text_get(&closing), "odd 5,000 us stored, 0.0300 x library; verified 1 of 1"));
    assert_non_null(strstr(text_get(&closing), "times on H200 SXM: stored ones of the same machine code, else predicted\n"));
    /* two predicted times far apart have intervals apart; of equal work they overlap */
    for (int i = 0; i < 2; i++) {
        emu.rows[0]->launch_hash[0] = 0;
        row_set(&emu.rows[3]->case_id, "edsr/other");
        text_free(&closing);
        report_closing(&closing, &emu.run, emu.rows, 4, &(struct report_style){.width = 200});
        if (!strstr(text_get(&closing), i ? "], 1.00 x changed: intervals overlap;" : " x changed; issue slots") ||
            !strstr(text_get(&closing), "odd 5,000 us stored, 0.0300 x library; perhaps quick, predicted "))
            fail_msg("%s", text_get(&closing));
        for (int k = 0; k < emu.rows[1]->metric_count; k++)
            if (!strcmp(emu.rows[1]->metrics[k].name, METRIC_EMU "warp_instructions"))
                emu.rows[1]->metrics[k].value = 1e9;
    }
    drop_home();
    text_free(&closing);
    text_free(&page);
    text_free(&file);
    fixture_free(&gpu);
    fixture_free(&emu);
}

static struct judge stored_judge;

static void stored_answers(struct document *d, const struct run *run, struct row *const *rows, int count)
{
    answer_document(d, run, rows, count, &stored_judge);
}

/* Rows that emu counted have the sentences of the GPU's times, if each has a stored one; else they are compared by their bytes. */
static void stored_times_answer_on_emu(void **state)
{
    static const char *const questions[] = {", over: size}\n  - best: {of: conv2d/tiled, param: BLOCK, over: size}\n#", "}\n#"};
    struct report_style plain = {.width = 400};
    struct stored_origin origin = {.gpu = "NVIDIA H200", .date = "2026-11-30", .of = "notebook"};
    for (int q = 0; q < 3; q++) {
        struct fixture f = {0};
        struct stored_time times[16] = {0};
        struct text t = {0};
        fill(&f, questions[q == 1]);
        for (int i = 0; i < f.count; i++) {
            struct row *r = f.rows[i];
            snprintf(r->launch_hash, HASH_TEXT, "%064d", i);
            snprintf(r->launch_hash, 17, "%016d", i);
            r->launch_hash[16] = '0';
            snprintf(times[i].key, sizeof times[i].key, "%016d", i);
            times[i].us = r->times[0].median_ns / 1e3;
            r->time_count = 0;
            row_set(&r->device, "emu:GH100");
            row_add_member(r, FAMILY_EMU, -1, 0, "global_sectors_ld", "", "emu", 1000);
        }
        struct stored_times stored = {&origin, times, 1, q == 2 ? f.count - 1 : f.count};
        stored_judge = (struct judge){.stored = &stored};
        report_part(&t, stored_answers, &f.run, f.rows, f.count, &plain);
        const char *const wanted[][3] = {
            {"faster than naive? (stored times of the same machine code on NVIDIA H200, 2026-11-30)",
             "BLOCK=8: faster at size 3x1 to 9x4 (1.09 to 1.25 x), slower at size 11x5 to 13x6 (0.386 to 0.423 x)",
             "BLOCK=16 at size 3x1 to 13x6"},
            {"tiled is faster than naive in 4 of 4 cases", "each at its best configuration", "stored times"},
            {"Emu measures no time; these are bytes", "no answer: emu measures no time", "BLOCK"}};
        for (int i = 0; i < 3; i++)
            if (!strstr(t.data, wanted[q][i]))
                fail_msg("'%s' is not in:\n%s", wanted[q][i], t.data);
        text_free(&t);
        fixture_free(&f);
    }
}

/* Each shipped file reads. */
static void shipped_files_read(void **state)
{
    struct error err = {0};
    struct stored_times *s = stored_load(&err);
    if (err.kind != ERROR_NONE)
        fail_msg("%s", err.text);
    assert_true(s->run_count >= 2 && s->count > 300);
    stored_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(shipped_files_read), cmocka_unit_test(a_stored_time_is_found_by_its_code),
                                       cmocka_unit_test(stored_times_answer_on_emu)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
