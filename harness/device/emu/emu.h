/* device/emu/emu: the embedded device: runs PTX on the CPU, checks it and counts exactly. It knows no time. */
#ifndef BENCH_DEVICE_EMU_EMU_H
#define BENCH_DEVICE_EMU_EMU_H

#include "device/device.h"

extern const struct device_ops emu_device;

#endif
