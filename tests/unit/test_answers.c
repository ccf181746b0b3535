/* report/page/answer_compare: two variants at equal parameters along an axis, and each at its best; report/source/fusion: the knee. */
#include "measured_rows.h"
#include "notebook_rows.h"
#include "own_folder.h"
#include "report/form/document.h"
#include "base/file.h"
#include "report/page/first_screen.h"
#include "report/plot/plot.h"
#include "report/source/fusion.h"
#include <setjmp.h>
#include <unistd.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void answers(struct document *d, const struct run *run, struct row *const *rows, int count)
{
    answer_document(d, run, rows, count, NULL);
}

static char *page(struct fixture *f)
{
    struct report_style plain = {.width = 400};
    struct text t = {0};
    report_part(&t, answers, &f->run, f->rows, f->count, &plain);
    return t.data;
}

static void expect(struct fixture *f, const char *words)
{
    char *text = page(f);
    if (!strstr(text, words))
        fail_msg("'%s' is not in:\n%s", words, text);
    free(text);
}

/* The paradox of the notebook: best against best says "faster in 4 of 4", and BLOCK=8 is slower from 11x5 on. */
static void an_axis_shows_the_turning_point(void **state)
{
    struct fixture f = {0};
    fill(&f, ", over: size");
    expect(&f, "1 of 2 curves has a turning point");
    expect(&f, "BLOCK=8: faster at size 3x1 to 9x4 (1.09 to 1.25 x), slower at size 11x5 to 13x6 (0.386 to 0.423 x): it turns between 9x4 "
               "and 11x5");
    expect(&f, "BLOCK=16: faster at all values of size (1.20 to 1.33 x)");
    fixture_free(&f);
}

static void without_an_axis_the_best_are_compared(void **state)
{
    struct fixture f = {0};
    fill(&f, "");
    expect(&f, "tiled is faster than naive in 4 of 4 cases: 1.20 to 1.33 x, each at its best configuration");
    fixture_free(&f);
}

/* Intervals that overlap are no difference: not faster, not slower, no turning point. */
static void overlapping_intervals_differ_in_nothing(void **state)
{
    struct fixture f = {0};
    fill(&f, ", over: size");
    f.rows[2 * 4 + 2]->times[0].low_ns = 300e3; /* tiled8 at 11x5 */
    f.rows[3 * 4 + 2]->times[0].low_ns = 400e3;
    expect(&f, "0 of 2 curves have a turning point");
    expect(&f, "BLOCK=8: faster at size 3x1 to 9x4 (1.09 to 1.25 x), no significant difference at size 11x5 to 13x6");
    fixture_free(&f);
}

/* The noise of a baseline that waits for its host (4 ms, +-26 %) hides no difference of rows of 10 us; that of one beside them does. */
static void a_far_baseline_is_no_measure(void **state)
{
    struct fixture f = {0};
    fixture_run(&f.run, "fkl_width", "cuda:0", "NVIDIA H200");
    row_set(&f.run.scenario_text, "answers:\n  - compare: {what: conv2d/tiled, than: conv2d/naive, over: size}\n");
    add(&f, 0, "3x1", "conv2d/apart", "", 4000, 500);
    add(&f, 0, "3x1", "conv2d/naive", "BLOCK=8", 10.3, 0.1);
    add(&f, 0, "3x1", "conv2d/tiled", "BLOCK=8", 11, 0.1);
    for (int i = 0; i < f.count; i++)
        f.rows[i]->noise = 0.26;
    expect(&f, "slower at size 3x1 (0.936 x)");
    f.rows[0]->times[0].median_ns = 40e3;
    expect(&f, "no significant difference at size 3x1 (0.936 x)");
    fixture_free(&f);
}

/* Different values of a shared parameter are never paired. */
static void unequal_parameters_are_not_compared(void **state)
{
    struct fixture f = {0};
    fixture_run(&f.run, "notebook", "cuda:0", "NVIDIA H200");
    row_set(&f.run.scenario_text, "answers:\n  - compare: {what: conv2d/tiled, than: conv2d/naive, over: size}\n");
    add(&f, 0, "3x1", "conv2d/naive", "BLOCK=8", 50, 0.5);
    add(&f, 0, "3x1", "conv2d/tiled", "BLOCK=16", 30, 0.5);
    expect(&f, "no answer: no case has verified and timed rows of both at equal parameters");
    add(&f, 0, "3x1", "conv2d/naive", "BLOCK=16", 33, 0.5);
    expect(&f, "BLOCK=16: faster at size 3x1 (1.10 x)"); /* whose rows with another value are left out */
    fixture_free(&f);
}

/* Two configurations of one variant along the density, a curve for each pattern, in order of the density. */
static void configurations_along_the_density(void **state)
{
    static const double densities[] = {0.01, 0.25, 0.05}, ratios[] = {3.2, 1, 2.2};
    struct fixture f = {0};
    fixture_run(&f.run, "peers", "cuda:0", "NVIDIA H200");
    row_set(&f.run.scenario_text, "answers:\n  - compare: {what: 'conv2d/tile[FEW=4]', than: 'conv2d/tile[FEW=0]', over: mask.density}\n");
    for (int pattern = 0; pattern < 2; pattern++)
        for (int i = 0; i < 3; i++)
            for (int few = 0; few < 2; few++) {
                char axes[32];
                snprintf(axes, sizeof axes, "mask=%s:%g", pattern ? "blobs24" : "iid", densities[i]);
                struct row *r = fixture_row(&f, 3 * pattern + i, "body", axes, "conv2d 64->64 3x3  1x720x1280 f16 acc16 NHWC",
                                            "conv2d/tile", few ? "FEW=4" : "FEW=0", ROW_OK);
                r->density_in = densities[i];
                r->tile_weight_bytes = pattern ? 147456 : 18432;
                fixture_time(r, -1, few || pattern ? 100 : 100 * ratios[i], 0.5, 0, 0, 0);
            }
    expect(&f, "iid: faster at mask.density 1 % to 5 % (2.20 to 3.20 x), no significant difference at mask.density 25 % (1.00 x)");
    expect(&f, "blobs24: no significant difference at all values of mask.density (1.00 x)");
    expect(&f, "by kind of mask, geometric means of the speed: iid 1.92 x (1.00 to 3.20, 3 cases), blobs24 1.00 x (1.00 to 1.00, 3 cases)");
    expect(&f, "for an active tile the first reads 18.4 kB to 147 kB of the filter, as its head declares: as many bytes as the second");
    for (int i = 1; i < f.count; i += 2) /* of FEW=4 */
        f.rows[i]->tile_weight_bytes = 9216;
    expect(&f, "for an active tile the first reads 9.22 kB of the filter, as its head declares: 0.0625 to 0.500 x those of the second");
    row_set(&f.rows[0]->like_case, "peers/body[mask=iid:0.05]"); /* densities that bisection adds are no part of the mean */
    row_set(&f.rows[1]->like_case, "peers/body[mask=iid:0.05]");
    expect(&f, "iid 1.48 x (1.00 to 2.20, 2 cases)");
    fixture_free(&f);
}

/* The value of a parameter that is the fastest along an axis, what a wrong one costs, and values that no interval tells apart. */
static void the_fastest_value_along_an_axis(void **state)
{
    struct fixture f = {0};
    fill(&f, "");
    row_set(&f.run.scenario_text,
            "answers:\n  - best: {of: conv2d/tiled, param: BLOCK, over: size}\n  - best: {of: conv2d/naive, param: BLOCK}\n");
    for (int i = 0; i < 2; i++) { /* at the first two sizes, 8 is faster */
        struct row_time *time = &f.rows[4 * i + 2]->times[0];
        time->median_ns /= 2;
        time->high_ns = time->median_ns + 1;
    }
    expect(&f, "Which BLOCK is the fastest for tiled?");
    expect(
        &f,
        "BLOCK=8 at size 3x1 to 9x4 (1.00x the time of the fastest value of each case, geometric mean of 2; the slowest, BLOCK=16, 1.43x)");
    expect(&f, "BLOCK=16 at size 11x5 to 13x6 (1.00x the time of the fastest value of each case, geometric mean of 2; the slowest, "
               "BLOCK=8, 3.68x)");
    expect(&f, "BLOCK=16 (1.00x the time of the fastest value of each case, geometric mean of 4; the slowest, BLOCK=8, 1.21x)");
    for (int i = 0; i < f.count; i++)
        f.rows[i]->times[0].low_ns = 1;
    expect(&f, "BLOCK=8 at size 3x1 to 13x6 ("); /* another value is the fastest at two sizes, but not significantly */
    expect(&f, "; no significant difference from BLOCK=16)");
    expect(&f, "; no significant difference from BLOCK=8)");
    fixture_free(&f);
}

/* Along the density, apart for each type, with the densities in order. */
static void the_fastest_tile_by_density_and_type(void **state)
{
    static const double densities[] = {0.25, 0.01};
    struct fixture f = {0};
    fixture_run(&f.run, "delta", "cuda:0", "NVIDIA H200");
    row_set(&f.run.scenario_text, "answers:\n  - best: {of: conv2d/tile, param: EDGE, over: mask.density, each: [dtype]}\n");
    for (int type = 0; type < 2; type++)
        for (int i = 0; i < 2; i++)
            for (int edge = 4; edge <= 6; edge += 2) {
                char axes[48];
                snprintf(axes, sizeof axes, "dtype=%s,mask=iid:%g", type ? "f32" : "f16", densities[i]);
                struct row *r =
                    fixture_row(&f, 2 * type + i, "conv3", axes, "conv2d", "conv2d/tile", edge == 4 ? "EDGE=4" : "EDGE=6", ROW_OK);
                r->density_in = densities[i];
                fixture_time(r, -1, (edge == 4) == (type || i) ? 100 : 150, 0.5, 0, 0, 0);
            }
    expect(&f, "dtype=f16: EDGE=4 at mask.density 1 % (the slowest, EDGE=6, 1.50x), "
               "EDGE=6 at mask.density 25 %");
    expect(&f, "dtype=f32: EDGE=4 at mask.density 1 % to 25 % (1.00x the time of the fastest value of each case, geometric mean of 2; "
               "the slowest, EDGE=6, 1.50x)");
    fixture_free(&f);
}

/* Values with the same machine code count as one value. If a rule chose the value, the name says what the rule chose. If a row of another
 * variant has the same machine code, the value still counts. */
static void a_value_stands_for_its_machine_code(void **state)
{
    static const char *const tiles[] = {"EDGE=auto", "EDGE=4", "EDGE=6"}, *const few[] = {"FEW=2", "FEW=4"};
    struct fixture f = {0};
    fixture_run(&f.run, "delta", "cuda:0", "NVIDIA H200");
    for (int i = 0; i < 5; i++) {
        add(&f, 0, "3x1", i < 3 ? "conv2d/tile" : "conv2d/very", i < 3 ? tiles[i] : few[i - 3], (double[]){90, 150, 91, 120, 90.5}[i], 0.4);
        snprintf(f.rows[i]->launch_hash, sizeof f.rows[i]->launch_hash, i == 1 ? "1" : i == 3 ? "2" : "fd9d141c");
        f.rows[i]->row_index = i + 1;
    }
    row_set(&f.run.scenario_text, "answers:\n  - best: {of: conv2d/tile, param: EDGE}\n  - best: {of: conv2d/very, param: FEW}\n");
    expect(&f, "EDGE=6 (the slowest, EDGE=4, 1.67x)");
    expect(&f, "FEW=4 (the slowest, FEW=2, 1.33x)");
    char *text = page(&f);
    assert_null(strstr(text, "EDGE=auto"));
    free(text);
    fixture_free(&f);
}

/* All variants in order; one that some cases lack comes last, with the number of its cases. */
static void variants_in_order(void **state)
{
    struct fixture f = {0};
    fill(&f, "");
    row_set(&f.run.scenario_text, "answers:\n  - rank: {of: [conv2d/naive, tiled, conv2d/other], over: layer}\n");
    add(&f, 3, "13x6", "conv2d/other", "", 155, 0.5);
    expect(&f, "layer image: tiled 1.19x, naive 1.53x, other 1.00x (1 case) the time of the fastest of each case, geometric mean of 4");
    for (int i = 0; i < 2; i++) { /* a layer of fewer cases is a place of its own */
        struct row *r = fixture_row(&f, 4, "small", "", "conv2d", i ? "conv2d/tiled" : "conv2d/naive", "", ROW_OK);
        fixture_time(r, -1, i ? 10 : 20, 0.1, 0, 0, 0);
    }
    expect(&f, "layer small: tiled 1.00x, naive 2.00x the time of the fastest\n"); /* a line for each place */
    fixture_free(&f);
}

/* Rows without a value of the axis have no place in the answer, which names their layer; dense rows are on no axis of densities. */
static void layers_without_the_axis_are_named(void **state)
{
    struct fixture f = {0};
    fixture_run(&f.run, "d2s", "cuda:0", "NVIDIA H200");
    for (int i = 0; i < 4; i++) {
        struct row *r = fixture_row(&f, i / 2, i / 2 ? "alone3" : "alone", i / 2 ? "mode=CRD" : "block=2,mode=CRD", "depth_to_space",
                                    i % 2 ? "d2s/native" : "d2s/passes", "", ROW_OK);
        fixture_time(r, -1, i % 2 ? 50 : 100, 0.5, 0, 0, 0);
    }
    row_set(&f.run.scenario_text, "answers:\n  - rank: {of: [d2s/native, d2s/passes], over: block}\n");
    expect(&f, "block 2: native 1.00x, passes 2.00x");
    expect(&f, "left out, because they have no value of block: alone3");
    row_set(&f.run.scenario_text, "answers:\n  - compare: {what: d2s/native, than: d2s/passes, over: block}\n");
    expect(&f, "faster at block 2 (2.00 x)");
    expect(&f, "left out, because they have no value of block: alone3");
    row_set(&f.run.scenario_text, "answers:\n  - compare: {what: d2s/native, than: d2s/passes, over: mask.density}\n");
    char *text = page(&f);
    assert_true(strstr(text, "no answer") && !strstr(text, "left out"));
    free(text);
    fixture_free(&f);
}

/* Of two rows that are one machine code there is nothing to compare; differences within the baseline's own (A/A) are not significant. */
static void one_machine_code_is_no_comparison(void **state)
{
    struct fixture f = {0};
    fill(&f, ", over: size");
    for (int i = 0; i < 2; i++) /* tiled8 at the first two sizes */
        for (int k = 0; k < 2; k++)
            snprintf(f.rows[4 * i + 2 * k]->launch_hash, sizeof f.rows[0]->launch_hash, "fd9d141c");
    expect(&f, "BLOCK=8: slower at all values of size (0.386 to 0.423 x)");
    expect(&f, "no difference, because both are one machine code: 2 pairs of image");
    for (int i = 0; i < f.count; i++)
        f.rows[i]->noise = i < 4 ? 0.4 : 0.1;
    expect(&f, "BLOCK=16: no significant difference at size 3x1 (1.33 x), faster at size 9x4 to 13x6 (1.20 to 1.33 x)");
    fixture_free(&f);
}

/* Two questions of a kind are two answers. */
static void a_question_may_be_asked_twice(void **state)
{
    struct fixture f = {0};
    fill(&f, "");
    row_set(&f.run.scenario_text, "answers:\n  - rank: {of: [conv2d/naive, conv2d/tiled], over: layer}\n"
                                  "  - rank: {question: 'And by size?', of: [conv2d/naive, conv2d/tiled], over: size}\n");
    expect(&f, "layer image: tiled 1.00x");
    expect(&f, "And by size? Which variants are the fastest?");
    expect(&f, "size 13x6: tiled 1.00x");
    fixture_free(&f);
}

/* Rows of two cases: equal layers and other axes, one value of an axis against another. */
static void a_value_of_an_axis_against_another(void **state)
{
    struct fixture f = {0};
    fixture_run(&f.run, "d2s", "cuda:0", "NVIDIA H200");
    row_set(&f.run.scenario_text, "answers:\n  - compare: {what: 'd2s/native[mode=DCR]', than: 'd2s/native[mode=CRD]', over: block}\n");
    for (int i = 0; i < 4; i++) {
        char axes[32];
        snprintf(axes, sizeof axes, "block=%d,mode=%s", i < 2 ? 2 : 4, i % 2 ? "DCR" : "CRD");
        struct row *r = fixture_row(&f, i, "alone", axes, "depth_to_space", "d2s/native", "", ROW_OK);
        fixture_time(r, -1, i % 2 ? 50 : i < 2 ? 100 : 49.9, 0.5, 0, 0, 0);
    }
    expect(&f, "Where is native[mode=DCR] faster than native[mode=CRD]? faster at block 2 (2.00 x), no significant difference at block 4 "
               "(0.998 x)"); /* one curve, without a heading */
    fixture_free(&f);
}

/* The places of a run on an axis: up to four names are all told, since nobody knows their order; numbers and more names are a range. */
static void names_on_an_axis_are_listed(void **state)
{
    static const char *const layers[] = {"head", "body", "up", "d2s", "tail"};
    static const char *const at[] = {"at layer head (", "at layer head and body (", "at layer head, body and up (",
                                     "at layer head, body, up and d2s (", "at layer head to tail ("};
    for (int count = 1; count <= 5; count++) {
        struct fixture f = {0};
        fixture_run(&f.run, "net", "cuda:0", "NVIDIA H200");
        row_set(&f.run.scenario_text, "answers:\n  - compare: {what: conv2d/tiled, than: conv2d/naive, over: layer}\n"
                                      "  - best: {of: conv2d/tiled, param: BLOCK, over: layer}\n");
        for (int i = 0; i < count; i++) {
            fixture_time(fixture_row(&f, i, layers[i], "", "conv2d", "conv2d/naive", "BLOCK=8", ROW_OK), -1, 100, 0.5, 0, 0, 0);
            fixture_time(fixture_row(&f, i, layers[i], "", "conv2d", "conv2d/tiled", "BLOCK=8", ROW_OK), -1, 50, 0.5, 0, 0, 0);
            fixture_time(fixture_row(&f, i, layers[i], "", "conv2d", "conv2d/tiled", "BLOCK=16", ROW_OK), -1, 60, 0.5, 0, 0, 0);
        }
        char *best = text_format("BLOCK=8 %s%s", at[count - 1], count > 1 ? "1.00x the time" : "the slowest, BLOCK=16, 1.20x)");
        char *faster = text_format("faster %s2.00 x", at[count - 1]);
        expect(&f, best);
        if (count == 1)
            expect(&f, faster); /* more of one sign are "all values" */
        free(best);
        free(faster);
        fixture_free(&f);
    }
}

/* What a call costs beside its kernels, with the rows of the extremes and their table. */
static void calls_are_listed(void **state)
{
    struct fixture f = {0};
    fill(&f, "");
    row_set(&f.run.scenario_text, "answers:\n  - calls: {}\n");
    for (int i = 0; i < f.count; i++) {
        f.rows[i]->host_call_ns = i % 4 ? 7000 : 3200;
        f.rows[i]->first_call_ns = 57600;
        if (i < 4)
            f.rows[i]->alloc_ns = 9100 + 1000 * i;
    }
    f.rows[3]->host_call_ns = 45e3; /* its kernel takes 30 us */
    expect(
        &f,
        "the host needs 3.20 us (naive BLOCK8) to 45.0 us (tiled BLOCK16) for a call, longer than its kernels in 1 of 16 rows; the first "
        "call takes 57.6 to 57.6 us, with loading; allocating its output and scratch memory takes 9.10 to 12.1 us (median 10.6), "
        "before it");
    expect(&f, "7.00 to 45.0");
    expect(&f, "40.0 to 400");
    for (int i = 0; i < 4; i++)
        f.rows[i]->alloc_ns = NAN; /* a run before bench measured it */
    char *text = page(&f);
    assert_true(!strstr(text, "allocat"));
    free(text);
    fixture_free(&f);
}

/* A row of another tool is compared where the question names it, although bench verified none; and is no row of bench's. */
static void an_imported_row_is_compared_by_name(void **state)
{
    struct fixture f = {0};
    fixture_run(&f.run, "notebook", "cuda:0", "NVIDIA H200");
    row_set(&f.run.scenario_text, "answers:\n  - compare: {what: conv2d/naive, imported: torch/conv2d, over: size}\n");
    add(&f, 0, "3x1", "conv2d/naive", "BLOCK=8", 50, 0.5);
    expect(&f, "Where is naive faster than torch/conv2d? no answer: no case has an imported row torch/conv2d (bench import)");
    add(&f, 0, "3x1", "torch/conv2d", "", 25, 0.5);
    f.rows[1]->status = ROW_FOIL;
    expect(&f, "Where is naive faster than torch/conv2d? slower at size 3x1 (0.500 x)");
    expect(&f, "torch/conv2d is imported (bench import): another process timed it, and bench did not verify it");
    row_set(&f.run.scenario_text, "answers:\n  - compare: {what: conv2d/naive, imported: torch/conv2d}\n");
    expect(&f, "naive is faster than torch/conv2d in 0 of 1 cases, slower in 1: 0.500 x, each at its best configuration");
    row_set(&f.run.scenario_text, "answers:\n  - compare: {what: torch/conv2d, than: conv2d/naive}\n");
    expect(&f, "no answer: no case has verified and timed rows of both");
    fixture_free(&f);
}

/* GFLOP over us by powers of ten: 0.05 and 0.02 GFLOP in 10 and 5 us are 5,000 and 4,000 GFLOP/s, 8 GFLOP in 200 us are 40,000. */
static void rates_by_operations(void **state)
{
    static const struct {
        double flop, library, naive;
    } cases[] = {{0.05e9, 20, 10}, {0.02e9, 5, 40}, {8e9, 200, 0}};
    struct fixture f = {0};
    fixture_run(&f.run, "boda", "cuda:0", "NVIDIA H200");
    row_set(&f.run.scenario_text, "answers:\n  - rate: {of: [cudnn, conv2d/naive]}\n");
    for (int i = 0; i < 3; i++) {
        char size[16];
        snprintf(size, sizeof size, "%d", i);
        add(&f, i, size, "cudnn", "", cases[i].library, 0.1);
        if (cases[i].naive > 0)
            add(&f, i, size, "conv2d/naive", "", cases[i].naive, 0.1);
    }
    expect(&f, "no answer: no timed case has operations");
    for (int i = 0; i < f.count; i++)
        f.rows[i]->flop = cases[f.rows[i]->case_index].flop;
    expect(&f, "the fastest row of each case reaches 4,472 GFLOP/s at 0.01 to 0.1 GFLOP (geometric mean of 2), 40,000 at 1 to 10 (1). The "
               "highest rate is 40,000 GFLOP/s, of cudnn at boda/image[size=2]");
    expect(&f, "4,472 (4,000 to 5,000)"); /* fastest */
    expect(&f, "3,162 (2,500 to 4,000)"); /* cudnn */
    expect(&f, "1,581 (500 to 5,000)");   /* naive */
    fixture_free(&f);
}

static void shares_over_cases(void **state)
{
    static const double library_us[] = {20, 5, 11, 11}, busy[][2] = {{30, 17.6}, {61, 84}, {10, NAN}, {0, 0}};
    struct fixture f = {0};
    fixture_run(&f.run, "edsr", "cuda:0", "NVIDIA H200");
    row_set(&f.run.scenario_text, "answers: [{share: {value: tensor_active, of: [cudnn]}}]");
    for (int i = 0; i < 8; hw(f.rows[i], "tensor_active", busy[i / 2][i % 2]), i++)
        add(&f, i / 2, (char[]){(char)('0' + i / 2), 0}, i % 2 ? "conv2d/tiled" : "cudnn", "", i % 2 ? 10 : library_us[i / 2], 0.1);
    expect(&f, "17.6 to 61.0 % (median of 2 cases: 39.3), 0 % in 1 more, not known in 1 more; the least of tiled at edsr/image[size=0], "
               "the most of cudnn at edsr/image[size=1]; cudnn: 10.0 to 61.0 % (median of 3 cases: 30.0), 0 % in 1 more");
    fixture_free(&f);
}

static void knees(struct document *d, const struct run *run, struct row *const *rows, int count)
{
    fusion_document(d, run, rows, count);
}

/* Up to 40 stages the launch costs nothing, then each stage costs 0.478 us. The baseline is one call of a library; the separate launches
 * are another row.
 */
static void a_call_as_baseline_hides_no_knee(void **state)
{
    static const double lengths[] = {1, 20, 50, 100}, us[] = {32.4, 32.5, 37.2, 61.1};
    struct report_style plain = {.width = 400};
    struct fixture f = {0};
    struct text t = {0};
    fixture_run(&f.run, "fkl", "cuda:0", "NVIDIA H200");
    for (int i = 0; i < 4; i++) {
        char axes[32];
        snprintf(axes, sizeof axes, "length=%g", lengths[i]);
        struct row *npp = fixture_row(&f, i, "chain", axes, "points", "points/npp", "", ROW_OK);
        fixture_time(npp, -1, 20 + 27 * lengths[i], 0.1, 1, 1, 1);
        struct row *apart = fixture_row(&f, i, "chain", axes, "points", "stages/apart", "", ROW_OK);
        fixture_time(apart, -1, 30 * lengths[i] + 30, 0.1, 0, 0, 0);
        for (int k = 0; k < 2 + i; k++) { /* a longer chain launches more */
            fixture_step(apart, "stage", 32, 0, 0, 1, "");
            fixture_time(apart, k, 15 * lengths[i] + 15, 0, 0, 0, 0);
        }
        struct row *fused = fixture_row(&f, i, "chain", axes, "points", "stages/vertical", "", ROW_OK);
        fixture_step(fused, "all", 32, 0, 0, 1, "");
        fixture_time(fused, -1, us[i], 0.1, 0, 0, 0);
        fixture_time(fused, 0, us[i], 0, 0, 0, 0);
    }
    report_part(&t, knees, &f.run, f.rows, f.count, &plain);
    if (!strstr(text_get(&t), "0.478 us for each further one"))
        fail_msg("%s", text_get(&t));
    text_free(&t);
    row_set(&f.run.scenario_text, "answers:\n  - knee: {question: 'Until when is fusing free?', over: length}\n  - knee: {over: crops}\n");
    expect(&f, "Until when is fusing free? Until which length is one more free in a single launch? chain: one launch takes 32.4 us up to "
               "length 40, then 0.478 us for each further one");
    expect(&f, "Until which crops is one more free in a single launch? no answer: no layer has three values");
    fixture_free(&f);
}

/* Rows with equal machine code and launches share a rank and a line of the table. The line never shows the row that a rule chose. The two
 * sides of a comparison keep their own lines. */
static void one_machine_code_is_one_row(void **state)
{
    static const char *const names[] = {"conv2d/auto", "conv2d/delta_tile", "conv2d/delta_very_sparse", "conv2d/other"};
    struct report_style plain = {.width = 400};
    struct fixture f = {0};
    struct text t = {0};
    struct case_view c;
    fixture_run(&f.run, "notebook", "cuda:0", "NVIDIA H200");
    for (int i = 0; i < 4; i++) {
        add(&f, 0, "3x1", names[i], i ? "" : "is=delta_tile", 20 - i, 0.5);
        snprintf(f.rows[i]->launch_hash, sizeof f.rows[i]->launch_hash, i < 3 ? "fd9d141c" : "12345678");
        f.rows[i]->row_index = i + 1;
    }
    case_view_make(&c, &f.run, f.rows, f.count);
    assert_true(c.views[0].same_as == &c.views[1] && !c.views[1].same_as && c.views[2].same_as == &c.views[1] && !c.views[3].same_as);
    assert_true(c.views[0].rank == 2 && c.views[1].rank == 2 && c.views[2].rank == 2 && c.views[3].rank == 1);
    case_view_free(&c);
    report_cases(&t, &f.run, f.rows, f.count, &plain);
    assert_non_null(strstr(text_get(&t), "= auto, delta_very_sparse"));
    row_set(&f.rows[2]->side, "head");
    case_view_make(&c, &f.run, f.rows, f.count);
    assert_true(!c.views[2].same_as && c.views[0].same_as == &c.views[1]);
    case_view_free(&c);
    text_free(&t);
    fixture_free(&f);
}

/* One sentence for each value of the other axis states the error of a sequence and the time of a frame. Wrong rows and other variants add
 * no sentence.
 */
static void accuracy_has_its_price(void **state)
{
    static const struct {
        const char *axes, *variant;
        double error, us;
        bool wrong;
    } rows[] = {{"threshold=0.001,truncate=rms:0.1", "conv2d/sparse", 0.0021, 330, false},
                {"threshold=0.02,truncate=rms:0.1", "conv2d/sparse", 0.0113, 250, false},
                {"threshold=0.5,truncate=rms:0.1", "conv2d/sparse", 0.9, 200, true},
                {"threshold=0.02,truncate=rms:0.2", "conv2d/sparse", 0.1, 0, false},
                {"threshold=0.02,truncate=rms:0.3", "conv2d/dense", 0.001, 240, false}};
    struct fixture f = {0};
    fixture_run(&f.run, "sequence", "cuda:0", "NVIDIA H200");
    row_set(&f.run.scenario_text, "answers:\n  - accuracy: {of: conv2d/sparse, over: threshold}\n");
    for (int i = 0; i < 5; i++) {
        struct row *r = fixture_row(&f, i, "blobs", rows[i].axes, "3 layers", rows[i].variant, "", rows[i].wrong ? ROW_WRONG : ROW_OK);
        row_add_metric(r, -1, 0, "sequence.error_largest", "rms", "measured", rows[i].error);
        if (rows[i].us > 0)
            fixture_time(r, -1, rows[i].us, 0.5, 0, 0, 0);
    }
    expect(&f, "What does accuracy cost sparse? blobs, truncate=rms:0.1: threshold 0.001: error 0.00210, 330 us; 0.02: 0.0113, 250 us (");
    expect(&f, "blobs, truncate=rms:0.2: threshold 0.02: error 0.100 (");
    char *text = page(&f);
    assert_true(!strstr(text, "0.5:") && !strstr(text, "rms:0.3"));
    free(text);
    row_set(&f.run.scenario_text, "answers:\n  - accuracy: {of: conv2d/other, over: threshold}\n");
    expect(&f, "no answer: no sequence has a verified row of it at a value of the axis");
    fixture_free(&f);
}

/* Of a sequence over two axes, each value of the first is a line of marks: the time of a frame and its error. */
static void frames_are_plotted_with_their_error(void **state)
{
    static const struct {
        const char *axes, *variant;
        double error, us;
        int64_t state;
    } rows[] = {{"threshold=0.001,truncate=rms:0.1", "conv2d/sparse", 0.002, 330, 1},
                {"threshold=0.001,truncate=rms:0.2", "conv2d/sparse", 0.004, 320, 1},
                {"threshold=0.02,truncate=rms:0.1", "conv2d/sparse", 0.0113, 250, 1},
                {"threshold=0.02,truncate=rms:0.2", "conv2d/dense", 0.001, 240, 0}};
    char path[256];
    struct error err = {0};
    struct fixture f = {0};
    struct plots plots;
    fixture_run(&f.run, "sequence", "cuda:0", "NVIDIA H200");
    for (int i = 0; i < 4; i++) {
        struct row *r = fixture_row(&f, i, "blobs", rows[i].axes, "3 layers", rows[i].variant, "", ROW_OK);
        row_add_metric(r, -1, 0, "sequence.error_largest", "rms", "measured", rows[i].error);
        r->state_bytes = rows[i].state;
        fixture_time(r, -1, rows[i].us, 0.5, 0, 0, 0);
    }
    if (!plots_open(&plots, dir, &err))
        fail_msg("%s", err.text);
    run_plots(&plots, &f.run, f.rows, f.count);
    assert_int_equal(plots.count, 1);
    snprintf(path, sizeof path, "%s/%s.dat", dir, plots.items[0].name);
    SCOPED char *data = file_read(path, 1 << 16, &(size_t){0}, &err);
    assert_non_null(data);
    assert_true(plots_draw(&plots, &err) && (plots.items[0].svg || plots.problem));
    if (plots.problem && access("/usr/bin/gnuplot", X_OK) == 0)
        fail_msg("%s", plots.problem);
    assert_string_equal(
        data,
        "\"sparse threshold=0.001\"\n330\t0.002\n320\t0.004\n\n\n\"sparse threshold=0.02\"\n250\t0.0113\n\n\n\"dense\"\n240\t0.001\n");
    plots_free(&plots);
    fixture_free(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_axis_shows_the_turning_point),
        cmocka_unit_test(without_an_axis_the_best_are_compared),
        cmocka_unit_test(overlapping_intervals_differ_in_nothing),
        cmocka_unit_test(a_far_baseline_is_no_measure),
        cmocka_unit_test(unequal_parameters_are_not_compared),
        cmocka_unit_test(configurations_along_the_density),
        cmocka_unit_test(the_fastest_value_along_an_axis),
        cmocka_unit_test(the_fastest_tile_by_density_and_type),
        cmocka_unit_test(a_value_stands_for_its_machine_code),
        cmocka_unit_test(variants_in_order),
        cmocka_unit_test(layers_without_the_axis_are_named),
        cmocka_unit_test(one_machine_code_is_no_comparison),
        cmocka_unit_test(a_question_may_be_asked_twice),
        cmocka_unit_test(a_value_of_an_axis_against_another),
        cmocka_unit_test(names_on_an_axis_are_listed),
        cmocka_unit_test(calls_are_listed),
        cmocka_unit_test(a_call_as_baseline_hides_no_knee),
        cmocka_unit_test(one_machine_code_is_one_row),
        cmocka_unit_test(accuracy_has_its_price),
        cmocka_unit_test(an_imported_row_is_compared_by_name),
        cmocka_unit_test(rates_by_operations),
        cmocka_unit_test(shares_over_cases),
        cmocka_unit_test(frames_are_plotted_with_their_error),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
