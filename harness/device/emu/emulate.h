/* device/emu/emulate: one kernel, one launch, for authors whose kernel is in no scenario (`bench emulate`): counters, what the safety
 * checks found, and the source with what each line costs. The launch and its buffers are a small YAML map (docs/EMU.md):
 *
 *   kernel: saxpy            # needed when there are several
 *   grid: [4, 1, 1]          # or one number; also cluster: and cooperative: true
 *   block: 256
 *   smem: 0                  # dynamic, bytes
 *   time limit: 10 s
 *   buffers:
 *     x: {type: f32, count: 1024, data: random, seed: 1}   # zeros | ones | index | random | none (never written) | [1, 2, 3]
 *     y: {type: f32, count: 1024, data: none, show: 8}     # show: print that many elements afterwards
 *   args: [x, y, 1024, 2.5]  # buffers by name, numbers as the signature wants them
 */
#ifndef BENCH_DEVICE_EMU_EMULATE_H
#define BENCH_DEVICE_EMU_EMULATE_H

#include "base/error.h"
#include "base/node.h"
#include "base/text.h"
#include <stdbool.h>
#include <stddef.h>

struct emulate_request {
    const char *label;  /* for messages: "saxpy.cu" */
    const char *ptx;    /* NUL-terminated */
    size_t ptx_bytes;
    const char *source; /* path of the .cu, for the listing; NULL: no source text beside the counts */
    const struct node *launch;
    const char *chip;   /* "GH100", "sm_86"; NULL: GH100 */
    bool no_check;      /* only bounds and alignment */
    int threads;        /* 0: all */
};
struct emulate_result {
    struct text counters; /* a line each: name, value, unit; those that are 0 left out */
    struct text reports;  /* a line each; "" when nothing was found */
    struct text listing;  /* the lines that ran, dearest marked */
    struct text shown;    /* buffers with `show` */
    int report_count;
    bool finished;        /* false: trap, assert, deadlock, time limit ...: `why` */
    char why[512];
};
/* False + err for a wrong request (PTX, YAML, sizes). A kernel that traps or hangs is a result. */
bool emulate(const struct emulate_request *request, struct emulate_result *out, struct error *err);
void emulate_free(struct emulate_result *r);

#endif
