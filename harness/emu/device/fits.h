/* emu/device/fits: may a launch run on this chip? */
#pragma once

#include "device/device.h"
#include "emu/exec.h"

/* False (err): the kernel's attributes, its parameters or the chip's limits forbid it. */
bool launch_fits(const struct chip *chip, const struct program *program, const char *label, const struct device_launch *l,
                 struct error *err);
