/* device/cuda/nvml: clocks, power, temperature and throttle reasons around a measurement; every field may be absent. */
#pragma once

#include "base/error.h"
#include <stdbool.h>
#include <stdint.h>

struct nvml_sample { /* negative = not available on this machine */
    double sm_clock_hz, memory_clock_hz, power_w, power_limit_w, temperature_c;
    int64_t throttle;   /* bit set of nvmlClocksEventReasons (device/chip/throttle.h); -1 = not available */
    int64_t ecc_errors; /* uncorrectable, since the driver was loaded; -1 = not available */
};
bool nvml_open(struct error *err);
void nvml_close(void);
bool nvml_read(const char *uuid, struct nvml_sample *out);
/* Processes that use the GPU for compute: at most `room` pids as NVML reports them, which in a container may differ from those here or be
 * missing. -1: not available. */
int nvml_processes(const char *uuid, long *pids, int room);
bool nvml_driver(char *out, int bytes);
