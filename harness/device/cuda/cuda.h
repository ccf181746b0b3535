/* device/cuda/cuda: a GPU through the CUDA driver API, loaded at run time: `cuda`, `cuda:1`.
 *
 * An error that has killed the context (a trap, an access outside of memory, a launch that timed out) is sticky: every later call fails
 * too. Its kind is ERROR_WRONG then, and the worker that holds the device should end; every other failure of the driver is ERROR_INTERNAL
 * or ERROR_ENVIRONMENT. */
#pragma once

#include "device/device.h"

extern const struct device_ops cuda_device;

/* For libraries that queue work of their own beside a device's launches (cuDNN): the CUcontext and CUstream of a cuda device. */
bool cuda_native(struct device *dev, void **context, void **stream, struct error *err);
/* The device's context becomes that of this thread too. */
bool cuda_enter(struct device *dev, struct error *err);
/* Flushes L2 as the device's `flush` does, but only by the driver's own fill and copies, and waits: CUPTI counts launched kernels as
 * ranges, but not those. Persisting lines stay. */
bool cuda_flush_uncounted(struct device *dev, struct error *err);
