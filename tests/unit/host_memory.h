/* Memory of the host in place of a device's, for tests of what uses one: addresses are pointers. */
#ifndef BENCH_TESTS_UNIT_HOST_MEMORY_H
#define BENCH_TESTS_UNIT_HOST_MEMORY_H

#include "device/device.h"
#include <string.h>

static bool host_write(struct device *dev, uint64_t address, const void *from, size_t bytes, struct error *err)
{
    memcpy((void *)(uintptr_t)address, from, bytes);
    return true;
}

static bool host_read(struct device *dev, uint64_t address, void *to, size_t bytes, struct error *err)
{
    memcpy(to, (void *)(uintptr_t)address, bytes);
    return true;
}

static bool host_fill(struct device *dev, uint64_t address, uint32_t pattern, size_t bytes, struct error *err)
{
    for (size_t i = 0; i < bytes; i++)
        ((unsigned char *)(uintptr_t)address)[i] = (unsigned char)(pattern >> 8 * (i % 4));
    return true;
}

#endif
