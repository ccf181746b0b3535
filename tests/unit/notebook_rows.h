/* Rows of a notebook's scenario, for the tests of the answers to its questions. */
#ifndef BENCH_TESTS_NOTEBOOK_ROWS_H
#define BENCH_TESTS_NOTEBOOK_ROWS_H

#include "fixture_rows.h"

static inline void add(struct fixture *f, int index, const char *size, const char *variant, const char *params, double us, double half_us)
{
    char axes[32];
    snprintf(axes, sizeof axes, "size=%s", size);
    struct row *r = fixture_row(f, index, "image", axes, "conv2d 1->1 3x3  1x1000x2000 f32 NCHW", variant, params, ROW_OK);
    fixture_time(r, -1, us, half_us, 0, 0, 0);
}

/* Two tiled kernels at four sizes: at BLOCK=8 it is faster at first and then slower, at 16 always faster. */
static inline void fill(struct fixture *f, const char *over)
{
    static const struct {
        const char *size;
        double naive8, naive16, tiled8, tiled16;
    } cases[] = {{"3x1", 50, 40, 40, 30}, {"9x4", 240, 200, 221, 150}, {"11x5", 353, 300, 835, 250}, {"13x6", 484, 400, 1255, 310}};
    char text[160];
    fixture_run(&f->run, "notebook", "cuda:0", "NVIDIA H200");
    snprintf(text, sizeof text, "answers:\n  - compare: {what: conv2d/tiled, than: conv2d/naive%s}\n", over);
    row_set(&f->run.scenario_text, text);
    for (int i = 0; i < 4; i++) {
        add(f, i, cases[i].size, "conv2d/naive", "BLOCK=8", cases[i].naive8, 0.5);
        add(f, i, cases[i].size, "conv2d/naive", "BLOCK=16", cases[i].naive16, 0.5);
        add(f, i, cases[i].size, "conv2d/tiled", "BLOCK=8,UPLOAD=once", cases[i].tiled8, 0.5);
        add(f, i, cases[i].size, "conv2d/tiled", "BLOCK=16,UPLOAD=once", cases[i].tiled16, 0.5);
    }
}

#endif
