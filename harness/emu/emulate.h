/* emu/emulate: one kernel, one launch, for authors whose kernel is in no scenario (`bench emulate`): counters, what the safety
 * checks found, and the source with what each line costs. The launch and its buffers are a small YAML map (docs/EMU.md):
 *
 *   kernel: saxpy            # needed when there are several; the name in the source is enough
 *   grid: [4, 1, 1]          # or one number; also cluster: and cooperative: true
 *   block: 256
 *   smem: 0                  # dynamic, bytes
 *   time limit: 10 s
 *   buffers:
 *     x: {type: f32, count: 1024, data: random, seed: 1}   # zeros | ones | index | random | none (never written) | [1, 2, 3]
 *     y: {type: f32, count: 1024, data: none, show: 8}     # show: print that many elements afterwards
 *   symbols:                 # __constant__ and __device__ variables
 *     filter: {type: f32, data: [1, 2, 1]}
 *   args: [x, y, 1024, 2.5]  # buffers by name, numbers as the signature wants them, structures as [i32 3, f32 0.5, x]
 */
#ifndef BENCH_EMU_EMULATE_H
#define BENCH_EMU_EMULATE_H

#include "base/dtype.h"
#include "base/error.h"
#include "base/node.h"
#include "base/text.h"
#include "device/device.h"
#include <stdbool.h>
#include <stddef.h>

struct emulate_request {
    const char *label; /* for messages: "saxpy.cu" */
    const char *ptx;   /* NUL-terminated */
    size_t ptx_bytes;
    const char *source; /* path of the .cu or .ptx, for the listing; NULL: no source text beside the counts */
    const struct node *launch;
    const char *kernel; /* instead of the launch's; NULL: the launch's, or the only one */
    const char *chip;   /* "GH100", "sm_86"; NULL: GH100 */
    bool no_check;      /* only bounds and alignment */
    int threads;        /* 0: all */
    int seed;           /* of the order of blocks; 0: as they are numbered */
};
struct emulate_counter {
    const char *name, *unit;
    double value;
};
struct emulate_line { /* a source line that ran; sums over warps */
    int line;
    double instructions, threads, requests, sectors, wavefronts, ideal;
};
struct emulate_values { /* the first `count` elements of a buffer with `show` */
    char name[64];
    enum dtype type;
    int64_t count;
    void *values;
};
struct emulate_result {
    char kernel[256]; /* as in the PTX */
    char device[160];
    struct device_launch launch;
    struct emulate_counter *counters; /* those that are 0 too */
    int counter_count;
    struct emulate_line *lines; /* by line */
    int line_count;
    struct device_report *reports;
    int report_count;
    struct emulate_values *shown;
    int shown_count;
    bool finished; /* false: trap, assert, deadlock, time limit ...: `why` */
    char why[512];
    char source[512]; /* the file the lines are of; "" unknown */
};
/* False + err for a wrong request (PTX, YAML, sizes). A kernel that traps or hangs is a result. */
bool emulate(const struct emulate_request *request, struct emulate_result *out, struct error *err);
void emulate_free(struct emulate_result *r);
/* Everything for a reader; counters that are 0 are left out. Two of its parts: */
void emulate_text(const struct emulate_result *r, struct text *t);
void emulate_text_reports(const struct emulate_result *r, struct text *t); /* a line each; nothing when nothing was found */
void emulate_text_shown(const struct emulate_result *r, struct text *t);
/* The same as one JSON object (docs/EMU.md); NaN and infinities of buffers are strings. */
void emulate_json(const struct emulate_result *r, struct text *t);

/* A launch to begin with, as YAML: the kernel's parameters, guessed from what the PTX does with them, named as in `source_text` (NULL:
 * numbered). */
bool emulate_start(const char *label, const char *ptx, size_t ptx_bytes, const char *source_text, const char *kernel, struct text *out,
                   struct error *err);

#endif
