/* run/child/devices: the devices there are, opened by name. Only here do the GPU and the interpreter meet. */
#ifndef BENCH_RUN_CHILD_DEVICES_H
#define BENCH_RUN_CHILD_DEVICES_H

#include "device/device.h"

extern const struct device_ops *const device_table[]; /* NULL-terminated */
/* "cuda", "cuda:1", "emu", "emu:GH100", "emu:sm_86". */
bool device_open(const char *spec, struct device **dev, struct error *err);

#endif
