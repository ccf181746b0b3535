/* Rows of a machine whose ceilings were measured, for the tests of what explains them. */
#ifndef BENCH_TESTS_MEASURED_ROWS_H
#define BENCH_TESTS_MEASURED_ROWS_H

#include "store/family.h"
#include "fixture_rows.h"

/* An H200 measured as: copy 4 TB/s, f16 tensor 800 TFLOP/s, f32 50 TFLOP/s, empty launch 2 us. */
static inline void measured_run(struct fixture *f)
{
    fixture_run(&f->run, "edsr", "cuda:0", "NVIDIA H200 · driver 580.65.06 · 132 SMs");
    row_set(&f->run.environment,
            "{\"roofs\":{\"measured\":\"2026-11-21T22:00:00Z\",\"copy\":{\"value\":4e12,\"unit\":\"B/s\",\"how\":\"\"},"
            "\"f16_acc32\":{\"value\":8e14,\"unit\":\"FLOP/s\",\"how\":\"\"},\"f32\":{\"value\":5e13,\"unit\":\"FLOP/s\",\"how\":\"\"},"
            "\"launch\":{\"value\":2000,\"unit\":\"ns\",\"how\":\"\"}}}");
}

/* 80 GFLOP and 200 MB: 100 us on tensor cores, 1600 us on f32, 50 us of bytes. One step of 16 blocks an SM's worth of everything. */
static inline struct row *row_of(struct fixture *f, const char *variant, double us, int tensor)
{
    struct row *r = fixture_row(f, 0, "body", "", "conv2d 64->64 3x3  1x720x1280 f16 acc32 NHWC", variant, "", ROW_OK);
    r->flop = 80e9;
    r->bytes = 200e6;
    r->floor_ns = 75e3;
    fixture_step(r, strchr(variant, '/') ? strchr(variant, '/') + 1 : variant, 32, 0, 0, 1.0, "warps");
    r->steps[0].waves = 20;
    r->steps[0].blocks_per_sm = 8;
    r->steps[0].warps_per_sm = 64;
    fixture_time(r, -1, us, us * 0.002, 1, 1, 1);
    row_add_member(r, FAMILY_SASS, 0, 0, "mma", "instructions", "compiler", tensor);
    row_add_member(r, FAMILY_SASS, 0, 0, "gmma", "instructions", "compiler", 0);
    return r;
}

static inline void hw(struct row *r, const char *name, double value)
{
    bool state = !strncmp(name, "stall_", 6);
    row_add_member(r, state ? FAMILY_STALL : FAMILY_HARDWARE, -1, 0, state ? name + 6 : name, "", "cupti", value);
}

#endif
