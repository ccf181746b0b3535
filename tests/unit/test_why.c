/* Verdict, breakdown and gap from stored rows of known values; what is printed adds up. */
#include "base/named.h"
#include "store/family.h"
#include "measured_rows.h"
#include "report/view/breakdown.h"
#include "report/view/resources.h"
#include "report/view/verdict.h"
#include "report/page/why.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "golden.h"

static const struct breakdown_part *part(const struct breakdown *a, const char *key)
{
    for (int i = 0; i < a->count; i++)
        if (!strcmp(a->parts[i].key, key))
            return &a->parts[i];
    return NULL;
}

static double ns_of(const struct breakdown *a, const char *key)
{
    const struct breakdown_part *p = part(a, key);
    return p ? p->ns : 0;
}

static void balances(const struct breakdown *a)
{
    double sum = 0;
    long units = 0;
    for (int i = 0; i < a->count; i++) {
        sum += a->parts[i].ns;
        units += a->parts[i].units;
        assert_true(fabs(a->parts[i].ns - (double)a->parts[i].units * a->unit_ns) <= 3 * a->unit_ns);
    }
    assert_true(fabs(sum - a->total_ns) < 1e-6);
    assert_int_equal(units, a->total_units);
}

static struct breakdown only(struct fixture *f, int index)
{
    struct case_view c;
    case_view_make(&c, &f->run, f->rows, f->count);
    struct breakdown a = breakdown_of(&c, &c.views[index], 0);
    case_view_free(&c);
    return a;
}

static void the_breakdown_balances(void **state)
{
    struct fixture f = {0};
    measured_run(&f);
    row_of(&f, "conv2d/plain", 250, 1);
    struct row *r = row_of(&f, "conv2d/counted", 250, 1);
    hw(r, "sm_busy", 90);
    hw(r, "issue_active", 25);
    hw(r, "stall_long_scoreboard", 40);
    hw(r, "stall_barrier", 20);
    hw(r, "stall_selected", 20);
    hw(r, "stall_not_selected", 10);
    hw(r, "stall_wait", 2);
    r = row_of(&f, "conv2d/no_tensor", 2000, 0);
    r->steps[0].waves = 2.5;
    row_add_member(r, FAMILY_MODEL, 0, 0, "idle_places", "share", "model", 1 - 2.5 / 3);

    struct breakdown a = only(&f, 0);
    assert_true(a.known && a.measured && a.tensor == 1);
    balances(&a);
    assert_true(fabs(ns_of(&a, "roof") - 100e3) < 1e-6);
    assert_true(fabs(ns_of(&a, "unexplained") - 150e3) < 1e-6);
    assert_int_equal(a.count, 2);

    /* 150 us below the roof: 10 % of 250 without a block, then 125: three quarters waiting (40 : 20 : 2), one quarter issuing. */
    a = only(&f, 1);
    balances(&a);
    assert_true(fabs(ns_of(&a, "idle") - 25e3) < 1e-6);
    assert_true(fabs(ns_of(&a, "long_scoreboard") - 93.75e3 * 40 / 62) < 1e-6);
    assert_true(fabs(ns_of(&a, "barrier") - 93.75e3 * 20 / 62) < 1e-6);
    assert_true(fabs(ns_of(&a, "other") - 93.75e3 * 2 / 62) < 1e-6);
    assert_true(fabs(ns_of(&a, "issue") - 31.25e3) < 1e-6);
    assert_null(part(&a, "unexplained"));

    /* Its own pipe: f32, 1600 us of the 2000; a sixth of the places is empty, but only 400 us are lost. */
    a = only(&f, 2);
    balances(&a);
    assert_true(a.tensor == 0 && fabs(a.pipe_width - 16) < 1e-9);
    assert_true(fabs(ns_of(&a, "roof") - 1600e3) < 1e-6);
    assert_true(fabs(ns_of(&a, "idle") - 2000e3 / 6) < 1e-3);
    assert_true(fabs(ns_of(&a, "unexplained") - (400e3 - 2000e3 / 6)) < 1e-3);
    fixture_free(&f);
}

static void line(struct row *r, int at, enum metric_family family, const char *word, double value)
{
    row_add_member(r, family, 0, at, word, "", "cupti", value);
}

/* The counted row of the test above with samples: 93.75 us of waiting, 40 of 62 samples for the scoreboard, three quarters of these at line
 * 57; 31.25 us of issue.
 */
static void waits_have_lines(void **state)
{
    struct fixture f = {0};
    measured_run(&f);
    struct row *r = row_of(&f, "conv2d/counted", 250, 1);
    hw(r, "sm_busy", 90);
    hw(r, "issue_active", 25);
    hw(r, "stall_long_scoreboard", 40);
    hw(r, "stall_barrier", 20);
    hw(r, "stall_wait", 2);
    line(r, 57, FAMILY_SAMPLES, "long_scoreboard", 750);
    line(r, 61, FAMILY_SAMPLES, "long_scoreboard", 200);
    line(r, 0, FAMILY_SAMPLES, "long_scoreboard", 49); /* too few to name */
    line(r, 62, FAMILY_SAMPLES, "long_scoreboard", 1);
    line(r, 57, FAMILY_SAMPLES, "selected", 30);
    line(r, 70, FAMILY_SAMPLES, "selected", 70);
    struct breakdown a = only(&f, 0);
    balances(&a);
    const struct breakdown_part *wait = part(&a, "long_scoreboard"), *issue = part(&a, "issue");
    assert_int_equal(wait->place_count, 2);
    assert_string_equal(wait->places[0].where, "counted.cu:57");
    assert_string_equal(wait->places[1].where, "counted.cu:61");
    assert_true(fabs(wait->places[0].ns - 0.75 * wait->ns) < 1e-6 && fabs(wait->places[1].ns - 0.2 * wait->ns) < 1e-6);
    assert_int_equal(part(&a, "barrier")->place_count, 0); /* no sample waits for it: nothing is said */
    assert_int_equal(issue->place_count, 2);
    assert_string_equal(issue->places[0].where, "counted.cu:70");
    struct text t = {0};
    breakdown_text(&a, &t, "");
    assert_non_null(strstr(text_get(&t), "45.4 at counted.cu:57, 12.1 at counted.cu:61\n"));
    text_free(&t);
    line(r, 71, FAMILY_LINE, "instructions", 900); /* what ran counts more than where it was seen */
    line(r, 70, FAMILY_LINE, "instructions", 100);
    a = only(&f, 0);
    balances(&a);
    assert_string_equal(part(&a, "issue")->places[0].where, "counted.cu:71");
    assert_true(fabs(part(&a, "issue")->places[0].ns - 0.9 * 31.25e3) < 1e-6);
    fixture_free(&f);
}

static bool occupancy_says(struct fixture *f, const char *want)
{
    struct case_view c;
    struct text t = {0};
    case_view_make(&c, &f->run, f->rows, f->count);
    resources_occupancy(&c, &c.views[0], 0, &t);
    bool found = strstr(text_get(&t), want) != NULL;
    text_free(&t);
    case_view_free(&c);
    return found;
}

/* The bound of the model, until the device says how many there are. */
static void clusters_are_the_drivers(void **state)
{
    struct fixture f = {0};
    measured_run(&f);
    struct row *r = row_of(&f, "conv2d/clustered", 250, 1);
    assert_false(occupancy_says(&f, "clusters"));
    row_add_member(r, FAMILY_MODEL, 0, 0, "clusters_at_most", "clusters", "model", 132);
    assert_true(occupancy_says(&f, "; at most 132 resident clusters"));
    row_add_metric(r, 0, 0, "driver.clusters", "clusters", "driver", 99);
    assert_true(occupancy_says(&f, "; 99 resident clusters, by the driver, 75 % of the number without GPC limits"));
    fixture_free(&f);
}

static void steps_and_gaps_are_parts(void **state)
{
    struct fixture f = {0};
    measured_run(&f);
    struct row *r = row_of(&f, "conv2d/two", 230, 1);
    fixture_step(r, "epilogue", 24, 0, 0, 1.0, "warps");
    fixture_time(r, 0, 150, 0, 0, 0, 0);
    fixture_time(r, 1, 60, 0, 0, 0, 0);
    r = row_of(&f, "conv2d/faster_than_its_roof", 90, 1);
    struct breakdown a = only(&f, 0);
    balances(&a);
    assert_int_equal(a.step, 0);
    assert_true(fabs(ns_of(&a, "steps") - 60e3) < 1e-6 && fabs(ns_of(&a, "between") - 20e3) < 1e-6);
    assert_true(fabs(ns_of(&a, "unexplained") - 50e3) < 1e-6);
    assert_non_null(strstr(part(&a, "steps")->what, "epilogue"));
    a = only(&f, 1);
    balances(&a);
    assert_true(fabs(ns_of(&a, "unexplained") + 10e3) < 1e-6); /* said as it is */
    assert_non_null(strstr(part(&a, "unexplained")->what, "below the speed of light"));
    fixture_free(&f);
}

/* A network run whole has the roof of all its layers: no single step is held against it. */
static void a_chain_is_held_as_a_whole(void **state)
{
    struct fixture f = {0};
    measured_run(&f);
    struct row *r = row_of(&f, "chain/best", 130, 1);
    row_set(&r->op, "chain");
    for (int i = 0; i < 3; i++) {
        fixture_step(r, "again", 32, 0, 0, 1.0, "warps");
        fixture_time(r, i, 40, 0, 0, 0, 0);
    }
    struct breakdown a = only(&f, 0);
    balances(&a);
    assert_true(fabs(ns_of(&a, "roof") - 100e3) < 1e-6 && fabs(ns_of(&a, "unexplained") - 30e3) < 1e-6 && a.count == 2);
    struct text t = {0};
    struct report_style style = {0};
    report_why(&t, &f.run, f.rows, f.count, 0, &style);
    const char *first = strstr(text_get(&t), "step       again");
    assert_true(first && !strstr(first + 1, "step       again")); /* said once */
    text_free(&t);
    fixture_free(&f);
}

/* Sums that cannot be rounded part by part. */
static void printed_numbers_add_up(void **state)
{
    for (int k = 1; k < 400; k++) {
        struct fixture f = {0};
        measured_run(&f);
        struct row *r = row_of(&f, "conv2d/x", 100.03 + k * 0.737, 1);
        hw(r, "sm_busy", 100 - k % 17);
        hw(r, "issue_active", 3 + k % 61);
        for (int i = 0; i < 9; i++) {
            char name[32];
            snprintf(name, sizeof name, "stall_reason_%d", i);
            hw(r, name, 4.1 + (k * (i + 3)) % 13);
        }
        struct breakdown a = only(&f, 0);
        balances(&a);
        struct text t = {0};
        breakdown_text(&a, &t, "");
        double sum = 0, total = -1;
        for (const char *p = text_get(&t); *p; p += strcspn(p, "\n") + 1) {
            double number = atof(p + (*p == '+' || *p == '=' || *p == ' '));
            if (*p == '=')
                total = number;
            else
                sum += number;
        }
        assert_true(fabs(sum - total) < 1e-9);
        text_free(&t);
        fixture_free(&f);
    }
}

/* A product that no table has: no rate is made up, and the words say so; without an environment the data sheet speaks. */
static void unknown_machines_stay_unknown(void **state)
{
    struct fixture f = {0};
    struct text t = {0};
    struct report_style style = {0};
    fixture_run(&f.run, "edsr", "cuda:0", "NVIDIA Imaginary 9000 · driver 1 · 7 SMs");
    row_of(&f, "conv2d/one", 250, 1);
    struct breakdown a = only(&f, 0);
    assert_true(!a.known && a.count == 0);
    report_why(&t, &f.run, f.rows, f.count, 0, &style);
    assert_non_null(strstr(text_get(&t), "the ceilings of this machine are unknown"));
    assert_non_null(strstr(text_get(&t), "limited by warps")); /* what was stored is said all the same */
    row_set(&f.run.product, "NVIDIA H200");
    row_set(&f.run.environment, "[1, \"no object\"]");
    a = only(&f, 0);
    assert_true(a.known && !a.measured);
    assert_non_null(strstr(part(&a, "roof")->what, "data sheet"));
    balances(&a);
    text_free(&t);
    fixture_free(&f);
}

/* cuDNN's kernel as CUPTI recorded it on an H200: 120 blocks for 132 SMs. */
static void library_kernels_have_limits(void **state)
{
    struct fixture f = {0};
    struct text t = {0};
    struct report_style style = {0};
    measured_run(&f);
    struct row *r = fixture_row(&f, 0, "body", "", "conv2d 64->64 3x3  1x720x1280 f16 acc32 NHWC", "conv2d/cudnn", "", ROW_OK);
    r->flop = 80e9;
    r->bytes = 200e6;
    row_set(&row_add_step(r)->name, "cudnn");
    fixture_time(r, -1, 145, 0.5, 1, 1, 1);
    fixture_launch(r, "small", (struct row_launch){.ns = 900, .registers = 16, .grid = {9, 1, 1}, .block = {32, 1, 1}});
    fixture_launch(r, "sm90_xmma",
                   (struct row_launch){.ns = 142655, .registers = 168, .dynamic_smem = 231424, .grid = {15, 8, 1}, .block = {384, 1, 1}});
    report_why(&t, &f.run, f.rows, f.count, 0, &style);
    assert_non_null(strstr(text_get(&t), "kernel     sm90_xmma: 168 registers, 120 blocks"));
    assert_non_null(strstr(text_get(&t), "1 block of 384 threads per SM, 12 warps"));
    assert_non_null(strstr(text_get(&t), "0.909 waves: 9 % of the block slots stay empty"));
    text_free(&t);
    static const int64_t hostile[][2] = {{-5, 0}, {0, 32}, {168, 0}, {INT32_MAX, 7}, {168, INT32_MAX}}; /* of a damaged database */
    for (size_t i = 0; i < sizeof hostile / sizeof *hostile; i++) {
        r->launches[1].registers = (int)hostile[i][0];
        r->launches[1].block[0] = hostile[i][1];
        report_why(&t, &f.run, f.rows, f.count, 0, &style);
        assert_null(strstr(text_get(&t), "kernel  "));
        text_free(&t);
    }
    fixture_free(&f);
}

static void rows_are_found_by_words(void **state)
{
    struct fixture f = {0};
    struct error err = {0};
    fixture_h200(&f);
    assert_int_equal(why_find(f.rows, f.count, "edsr_sparse/head/cudnn", &err), 0);
    int naive = why_find(f.rows, f.count, "head naive", &err); /* naive_uncoalesced has the word too */
    assert_true(naive >= 0 && !strcmp(f.rows[naive]->variant, "conv2d/naive"));
    assert_int_equal(why_find(f.rows, f.count, "naive", &err), -1);
    assert_non_null(strstr(err.text, "matches"));
    assert_non_null(strstr(err.hint, "use more words of the id"));
    assert_int_equal(why_find(f.rows, f.count, "no such", &err), -1);
    assert_int_equal(err.kind, ERROR_USAGE);
    fixture_free(&f);
    const struct named rows[] = {{"edsr/up/conv2d/mma_sync[KB=auto]", "conv2d/mma_sync"},
                                 {"edsr/up/conv2d/auto", "conv2d/auto"},
                                 {"edsr/up/conv2d/wide[KB=auto]", "conv2d/wide"},
                                 {"edsr/x4_up/conv2d/auto", "conv2d/auto"}}; /* other layers have its words, other variants its values */
    assert_int_equal(named_find(rows, 4, "up auto", "bench show", &err), 1);
    assert_int_equal(named_find(rows, 4, "x4_up auto", "bench show", &err), 3);
    assert_int_equal(named_find(rows, 4, "auto", "bench show", &err), -1);
}

/* All of it, as printed: a counted row against a better one, the best, a row without counters, one on emu. */
static void printed(void **state)
{
    struct fixture f = {0};
    struct text t = {0};
    struct report_style style = {.width = 110};
    measured_run(&f);
    struct row *r = row_of(&f, "conv2d/fast", 130, 1);
    hw(r, "sm_busy", 97);
    hw(r, "issue_active", 45);
    hw(r, "stall_gmma", 50);
    hw(r, "dram_bytes_read", 120e6);
    hw(r, "sectors_per_request_ld", 4);
    hw(r, "warp_instructions", 1e6);
    r = row_of(&f, "conv2d/slow", 250, 1);
    r->steps[0].registers = 69;
    r->steps[0].occupancy = 0.375;
    r->steps[0].blocks_per_sm = 3;
    r->steps[0].warps_per_sm = 24;
    r->steps[0].waves = 6.25;
    r->steps[0].spill_store_bytes = 16;
    r->steps[0].dynamic_smem = 20000;
    hw(r, "sm_busy", 90);
    hw(r, "issue_active", 25);
    hw(r, "stall_long_scoreboard", 40);
    hw(r, "stall_barrier", 20);
    hw(r, "dram_bytes_read", 372e6);
    hw(r, "dram_throughput", 30);
    hw(r, "tensor_active", 20);
    hw(r, "sectors_per_request_ld", 16);
    hw(r, "warp_instructions", 4.5e6);
    hw(r, "local_loads", 1000);
    hw(r, "local_stores", 500);
    hw(r, "intensity_dram", 150);
    row_of(&f, "conv2d/uncounted", 5000, 0);
    for (int i = 0; i < 3; i++) {
        report_why(&t, &f.run, f.rows, f.count, i, &style);
        text_add(&t, "\n");
    }
    fixture_free(&f);
    fixture_emu(&f);
    report_why(&t, &f.run, f.rows, f.count, 1, &style);
    text_add(&t, "\n");
    report_why(&t, &f.run, f.rows, f.count, 0, &style);
    fixture_free(&f);
    golden("why.txt", text_get(&t));
    text_free(&t);
}

static void words_of(struct fixture *f, int index, struct text *t)
{
    struct report_style style = {.width = 200};
    text_free(t);
    report_why(t, &f->run, f->rows, f->count, index, &style);
}

/* A difference within A/A is no difference; overlapping steps are a negative part; the whole time of a row of two steps is compared with
 * the speed of light. */
static void what_is_no_difference(void **state)
{
    struct fixture f = {0};
    struct text t = {0};
    measured_run(&f);
    row_of(&f, "conv2d/fast", 200, 1);
    row_of(&f, "conv2d/same", 200.6, 1);
    struct row *r = row_of(&f, "conv2d/two", 230, 1);
    fixture_step(r, "epilogue", 24, 0, 0, 1.0, "warps");
    fixture_time(r, 0, 175, 0, 0, 0, 0);
    fixture_time(r, 1, 60, 0, 0, 0, 0);
    hw(f.rows[0], "warp_instructions", 1e6);
    hw(f.rows[0], "dram_bytes_read", 1e8);
    hw(r, "warp_instructions", 4e6); /* of both launches; the longest has 3e6, and as many bytes as the other row */
    hw(r, "dram_bytes_read", 2.2e8);
    row_add_member(r, FAMILY_HARDWARE, 0, 0, "warp_instructions", "", "cupti", 3e6);
    row_add_member(r, FAMILY_HARDWARE, 0, 0, "dram_bytes_read", "B", "cupti", 1e8);
    f.rows[0]->noise = 0.005;
    words_of(&f, 1, &t);
    assert_non_null(strstr(text_get(&t), "no significant difference"));
    assert_null(strstr(text_get(&t), "not explained\n           = +"));
    words_of(&f, 0, &t); /* the fastest against the next */
    assert_non_null(strstr(text_get(&t), "no significant difference"));
    words_of(&f, 2, &t);
    assert_null(strstr(text_get(&t), "no significant difference"));
    assert_non_null(strstr(text_get(&t), "-   5.0  overlap of the steps"));
    assert_non_null(strstr(text_get(&t), "executes 4.00x the instructions of `fast`; reads 2.20x the bytes of `fast`"));
    assert_non_null(strstr(text_get(&t), "43 % of the speed of light (100 us), 130 us above"));
    fixture_free(&f);
    text_free(&t);
}

/* Times of another tool: whose they are, and no word of parts that nobody counted. */
static void foreign_rows_have_no_parts(void **state)
{
    struct fixture f = {0};
    struct text t = {0};
    measured_run(&f);
    struct row *fast = row_of(&f, "conv2d/fast", 200, 1);
    hw(fast, "sm_active_percent", 50);
    struct row *r = fixture_row(&f, 0, "body", "", fast->work, "their/one", "", ROW_FOIL);
    r->flop = fast->flop;
    r->bytes = fast->bytes;
    row_set(&r->note, "foreign: measured by theirs");
    fixture_time(r, -1, 300, 1, NAN, NAN, NAN);
    words_of(&f, 1, &t);
    assert_non_null(strstr(text_get(&t), "note       foreign: measured by theirs\n"));
    assert_non_null(strstr(text_get(&t), "against    fast, the fastest: 200 us, this row takes 1.50x\n"));
    assert_null(strstr(text_get(&t), "SMs or block slots without a block"));
    fixture_free(&f);
    text_free(&t);
}

/* What a row has more of than another is said with that one's name, where it was named before without it, or only the first thing. */
static void the_other_is_named_or_not(void **state)
{
    static const char *const says[] = {
        [WHY_NAMED] = "executes 4.50x the instructions of `fast of as`; reads 3.10x the bytes of `fast of as`; "
                      "spills 16 B a thread, `fast of as` 0",
        [WHY_UNNAMED] = "executes 4.50x the instructions; reads 3.10x the bytes; spills 16 B a thread, the other 0",
        [WHY_FIRST] = "executes 4.50x the instructions"};
    struct fixture f = {0};
    struct case_view c;
    struct judge judge;
    measured_run(&f);
    struct row *r = row_of(&f, "conv2d/fast of as", 130, 1);
    hw(r, "dram_bytes_read", 120e6);
    hw(r, "warp_instructions", 1e6);
    r = row_of(&f, "conv2d/slow", 250, 1);
    r->steps[0].spill_store_bytes = 16;
    hw(r, "dram_bytes_read", 372e6);
    hw(r, "warp_instructions", 4.5e6);
    case_view_make(&c, &f.run, f.rows, f.count);
    judge_open(&judge);
    case_judge(&c, &judge);
    for (int words = WHY_NAMED; words <= WHY_FIRST; words++) {
        struct text t = {0};
        assert_true(why_against(&t, &c, &c.views[1], &c.views[0], (enum why_words)words));
        assert_string_equal(text_get(&t), says[words]);
        text_free(&t);
    }
    case_view_free(&c);
    judge_close(&judge);
    fixture_free(&f);
}

/* Ten times the bytes, wavefronts or sectors of a nearly idle unit are no reason, nor is higher occupancy; a slower issue rate is.
 */
static void a_reason_can_slow(void **state)
{
    static const struct {
        const char *name;
        double fast, slow;
    } values[] = {{"warp_instructions", 3.0e8, 2.5e8}, {"issue_active", 85.6, 41.9},       {"occupancy_achieved", 50, 92},
                  {"dram_bytes_read", 8e6, 8e6},       {"dram_bytes_written", 2560, 5632}, {"dram_throughput", 0.5, 0.2},
                  {"shared_wavefronts", 125e3, 6.4e6}, {"shared_pipe", 0.14, 3.02},        {"l1_busy", 26, 8},
                  {"global_sectors_ld", 3e6, 9e6},     {"sectors_per_request_ld", 2, 6},   {"tensor_active", 20, 60}};
    struct fixture f = {0};
    struct case_view c;
    struct judge judge;
    struct text t = {0};
    measured_run(&f);
    row_of(&f, "conv2d/fast", 130, 1);
    row_of(&f, "conv2d/slow", 250, 1);
    for (int i = 0; i < 2; i++)
        for (size_t k = 0; k < sizeof values / sizeof *values; k++)
            hw(f.rows[i], values[k].name, i ? values[k].slow : values[k].fast);
    f.rows[1]->steps[0].waves = 0.4; /* the slots that its registers leave are not filled */
    f.rows[1]->steps[0].occupancy = 0.4 * f.rows[0]->steps[0].occupancy;
    f.rows[0]->steps[0].waves = 0.7;
    case_view_make(&c, &f.run, f.rows, f.count);
    judge_open(&judge);
    case_judge(&c, &judge);
    assert_true(why_against(&t, &c, &c.views[1], &c.views[0], WHY_UNNAMED));
    assert_string_equal(text_get(&t), "keeps its issue slots busy in 41.9 % of the cycles instead of 85.6 %");
    text_free(&t);
    f.rows[0]->steps[0].waves = 0.9;
    assert_true(why_against(&t, &c, &c.views[1], &c.views[0], WHY_UNNAMED));
    assert_non_null(strstr(text_get(&t), "; fills 0.400 of a wave, the other 0.900"));
    text_free(&t);
    case_view_free(&c);
    judge_close(&judge);
    fixture_free(&f);
}

static double *reals(struct row_time *t, const double *values)
{
    return memcpy(xcalloc((size_t)t->rounds, sizeof *values), values, (size_t)t->rounds * sizeof *values);
}

/* What held the clock down is a reason that slows; being idle is none, and what was not known is not said. */
static void the_clock_is_said(void **state)
{
    struct fixture f = {0};
    struct text t = {0};
    measured_run(&f);
    struct row_time *time = row_of(&f, "conv2d/hot", 200, 1)->times;
    time->rounds = 4;
    words_of(&f, 0, &t);
    assert_null(strstr(text_get(&t), "\nclock"));
    time->clock_hz = reals(time, (const double[]){1.98e9, NAN, 1.9e9, 1.97e9});
    time->retaken = 3;
    time->kept_low = 1;
    words_of(&f, 0, &t);
    assert_non_null(
        strstr(text_get(&t),
               "\nclock      1,970 MHz (1,900 to 1,980) at its samples; 3 repeated because of a lower clock, 1 kept at a lower clock\n"));
    time->power_w = reals(time, (const double[]){500, 610, 700, 690});
    time->throttle = reals(time, (const double[]){1, 4, 0x21, INFINITY});
    words_of(&f, 0, &t);
    assert_non_null(strstr(text_get(&t), "1 kept at a lower clock; 650 W (500 to 700); throttled in 2 of 4 rounds: power cap, thermal\n"));
    fixture_free(&f);
    text_free(&t);
}

static int set_up(void **state)
{
    if (!getenv("BENCH_HOME"))
        setenv("BENCH_HOME", ".", 1); /* tests run from the root of the repository */
    return 0;
}

/* A damaged database may say anything; no sum of it may overflow. */
static void units_are_bounded(void **state)
{
    const double odd[] = {1e308, INFINITY, -1e308, 1e-300};
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        struct fixture f = {0};
        measured_run(&f);
        row_of(&f, "conv2d/a", 300, 100)->flop = odd[i];
        struct breakdown a = only(&f, 0);
        long sum = 0;
        for (int k = 0; k < a.count; k++) {
            assert_true(labs(a.parts[k].units) <= 40000000000000000);
            sum += a.parts[k].units;
        }
        assert_int_equal(sum, a.count ? a.total_units : 0);
        fixture_free(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(units_are_bounded),
        cmocka_unit_test(the_breakdown_balances),
        cmocka_unit_test(waits_have_lines),
        cmocka_unit_test(steps_and_gaps_are_parts),
        cmocka_unit_test(printed_numbers_add_up),
        cmocka_unit_test(clusters_are_the_drivers),
        cmocka_unit_test(a_chain_is_held_as_a_whole),
        cmocka_unit_test(rows_are_found_by_words),
        cmocka_unit_test(unknown_machines_stay_unknown),
        cmocka_unit_test(library_kernels_have_limits),
        cmocka_unit_test(printed),
        cmocka_unit_test(what_is_no_difference),
        cmocka_unit_test(foreign_rows_have_no_parts),
        cmocka_unit_test(the_clock_is_said),
        cmocka_unit_test(the_other_is_named_or_not),
        cmocka_unit_test(a_reason_can_slow),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
