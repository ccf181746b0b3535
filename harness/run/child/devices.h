/* run/child/devices: the table of devices, opened by name. Only this module refers to both the GPU and the interpreter. */
#pragma once

#include "device/device.h"

extern const struct device_ops *const device_table[]; /* NULL-terminated */
/* "cuda", "cuda:1", "emu", "emu:GH100", "emu:sm_86". */
bool device_open(const char *spec, struct device **dev, struct error *err);
/* The device where none is named: the GPU; without one emu, as `emu` says (NULL: plain), and why there is no GPU. */
const char *device_default(const char *emu, char *why, size_t why_bytes);
