/* device/cupti/pc: where warps are and why they wait, by instruction: CUPTI's PC sampling. Every 2^period cycles each scheduler records the
 * current instruction of one of its warps and the stall reason; a line's share of the samples is its share of the warps' time. Short
 * periods lose samples, because the hardware's buffer fills faster than it can be emptied (on an H200 none were lost at 2^8 cycles, seven
 * of ten at 2^5).
 *
 * Modules may be loaded before or after it is opened. Close it before a session of device/cupti_range is opened: only one of them can be
 * open. If the machine refuses, the error is an ERROR_ENVIRONMENT with the remedy as hint. One thread samples at a time. */
#pragma once

#include "base/kernel_name.h"
#include "base/error.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CUPTI_PC_PERIOD_MAX 31

struct cupti_pc;
/* `context` is the CUcontext, current on this thread. */
bool cupti_pc_open(void *context, struct cupti_pc **pc, struct error *err);
void cupti_pc_close(struct cupti_pc *pc);

struct cupti_pc_sample {        /* of one instruction: how often it was seen for one reason */
    char function[KERNEL_NAME]; /* as compiled */
    uint64_t offset;            /* into the function: cubin_lines_at has its line */
    const char *reason;         /* "long_scoreboard"; lives as long as the cupti_pc */
    uint64_t samples;
};
struct cupti_samples {
    struct cupti_pc_sample *items;
    int count;
    uint64_t total;   /* of all items */
    uint64_t dropped; /* by the hardware: its buffer was full */
};
/* Samples what `run` launches; `run` waits for it. Free with cupti_samples_free. */
bool cupti_pc_run(struct cupti_pc *pc, int period, bool (*run)(void *context, struct error *err), void *context, struct cupti_samples *out,
                  struct error *err);
void cupti_samples_free(struct cupti_samples *samples);
