/* run/child/devices: the table of devices, opened by name. Only this module refers to both the GPU and the interpreter. */
#pragma once

#include "device/device.h"

extern const struct device_ops *const device_table[]; /* NULL-terminated */
/* "cuda", "cuda:1", "emu", "emu:GH100", "emu:sm_86". */
bool device_open(const char *spec, struct device **dev, struct error *err);
/* What to open for `device` (NULL: the GPU; without one emu, and why there is no GPU) and the scenario's emu (scenario_emu). */
const char *device_choose(const char *device, const char *emu, char *why, size_t why_bytes);
