/* tests/gpu/probe: exercises every hook of device/cuda, the cuDNN adaptor and NVML on a real GPU against expected results, and measures
 * what decides how timing is done: how long a killed spinning kernel blocks the next context, the cost of a flush, the resolution of
 * events, launch floors. */
#ifndef BENCH_TESTS_GPU_PROBE_H
#define BENCH_TESTS_GPU_PROBE_H

#include "base/text.h"
#include "device/compile/compile.h"
#include "device/cudnn/cudnn.h"
#include "device/device.h"

struct probe {
    struct device *dev;
    struct device_module *module; /* probe.cu */
    struct compiled code;
    struct text json; /* the members of one object so far */
    int failures, checks;
};
/* One line on the terminal, one member in the JSON. */
void probe_number(struct probe *p, const char *name, double value, const char *unit);
void probe_note(struct probe *p, const char *name, const char *text);
/* Counts and prints; `ok` false prints err or the text. */
bool probe_check(struct probe *p, const char *name, bool ok, const struct error *err);
struct device_function *probe_function(struct probe *p, const char *name);
/* Launches with parameters packed by hand; one block of `threads` when grid is 0. */
bool probe_launch(struct probe *p, const char *name, uint32_t grid, uint32_t threads, const void *params, size_t bytes, struct error *err);
double probe_now_s(void);
double probe_median(double *values, int count);
double probe_low(double *values, int count); /* 5 % quantile of values sorted by probe_median */

/* Which fields of NVML answer, now. */
void probe_nvml(struct probe *p, const char *when);
void probe_hooks(struct probe *p);
void probe_cudnn(struct probe *p);
void probe_time(struct probe *p);

#endif
