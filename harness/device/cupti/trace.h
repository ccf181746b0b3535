/* device/cupti/trace: every kernel that this process launches, also inside of a library, from CUPTI's activity records: what each was, how
 * long it took.
 *
 * May be used while a session of device/cupti_range is open but not counting, and does not need the permission for counting. A traced
 * launch is some microseconds slower: never time one. One thread traces at a time. */
#pragma once

#include "base/error.h"
#include <stdbool.h>
#include <stdint.h>

struct cupti_kernel {
    char *name;                    /* as compiled: C++ names are mangled */
    uint64_t start_ns, end_ns;     /* CUPTI's clock */
    int registers;                 /* a thread */
    int static_smem, dynamic_smem; /* bytes a block */
    int grid[3], block[3];
};
struct cupti_trace {
    struct cupti_kernel *kernels; /* by start */
    int kernel_count;
};
/* Traces what `run` launches; `run` waits for it before it returns. Records that CUPTI had to drop are an error. Free with
 * cupti_trace_free. */
bool cupti_trace_run(bool (*run)(void *context, struct error *err), void *context, struct cupti_trace *trace, struct error *err);
void cupti_trace_free(struct cupti_trace *trace);
/* Around several cupti_trace_run: CUPTI begins and ends to trace once for all of them, which takes it longer than a short run. */
bool cupti_trace_begin(struct error *err);
void cupti_trace_end(void);
