/* device/cupti_pc: where warps stand, and why, by source line: CUPTI's PC sampling. Every 2^period cycles each scheduler notes the instruction that one of its
 * warps is at and what it waits for; a line's share of the samples is its share of the warps' time.
 *
 * Open it before the modules are loaded whose lines are wanted, and close it before a session of device/cupti_range is opened: the two exclude each other.
 * What a machine refuses is an ERROR_ENVIRONMENT with the cure as hint. One thread samples at a time. */
#ifndef BENCH_DEVICE_CUPTI_PC_H
#define BENCH_DEVICE_CUPTI_PC_H

#include "base/error.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CUPTI_PC_PERIOD_MIN 5
#define CUPTI_PC_PERIOD_MAX 31

struct cupti_pc;
/* `context` is the CUcontext, current on this thread. */
bool cupti_pc_open(void *context, struct cupti_pc **pc, struct error *err);
void cupti_pc_close(struct cupti_pc *pc);

struct cupti_pc_code {
    const void *cubin; /* as it was loaded, with line information */
    size_t bytes;
};
struct cupti_pc_line {
    char function[128]; /* as compiled */
    char file[256];     /* "" where the cubin is not among the codes or has no line for it */
    int line;           /* 0: the same */
    const char *reason; /* "long_scoreboard"; lives as long as the cupti_pc */
    uint64_t samples;
};
struct cupti_samples {
    struct cupti_pc_line *lines; /* one for each function, file, line and reason that was met */
    int count;
    uint64_t total;   /* of all lines */
    uint64_t dropped; /* by the hardware: its buffer was full */
};
/* Samples what `run` launches; `run` waits for it. Free with cupti_samples_free. */
bool cupti_pc_run(struct cupti_pc *pc, int period, const struct cupti_pc_code *codes, int code_count, bool (*run)(void *context, struct error *err), void *context,
                  struct cupti_samples *out, struct error *err);
void cupti_samples_free(struct cupti_samples *samples);

#endif
