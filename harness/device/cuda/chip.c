/* The chip as this driver reports it: limits and clocks from attributes, rates per SM from base/chip's table of architectures. */
#include "device/cuda/private.h"
#include <stdio.h>
#include <string.h>

static int attribute(const struct cuda_state *s, CUdevice_attribute which)
{
    int value = 0;
    return s->api->cuDeviceGetAttribute(&value, which, s->device) == CUDA_SUCCESS ? value : 0;
}

void cuda_chip(struct device *dev)
{
    const struct cuda_state *s = cuda_state(dev);
    struct chip *c = &dev->chip;
    char arch[16], name[sizeof c->name] = "GPU";
    int cc = attribute(s, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) * 10 + attribute(s, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
    snprintf(arch, sizeof arch, "sm_%d", cc);
    s->api->cuDeviceGetName(name, sizeof name, s->device);
    const struct chip *known = chip_find(name); /* this very board */
    bool table_board = known && known->cc == cc;
    if (!table_board)
        known = chip_find(arch);
    if (known) {
        *c = *known;
    } else {
        memset(c, 0, sizeof *c);
        snprintf(c->arch, sizeof c->arch, "%s", arch);
        c->smem_banks = 32;
        c->registers_per_thread = 255;
    }
    snprintf(c->name, sizeof c->name, "%s", name);
    snprintf(c->board, sizeof c->board, "%s", name);
    c->cc = cc;
    c->sm_count = attribute(s, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
    c->warp_size = attribute(s, CU_DEVICE_ATTRIBUTE_WARP_SIZE);
    c->threads_per_block = attribute(s, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
    c->threads_per_sm = attribute(s, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
    c->warps_per_sm = c->warp_size ? c->threads_per_sm / c->warp_size : 0;
    c->blocks_per_sm = attribute(s, CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR);
    c->registers_per_sm = attribute(s, CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR);
    c->registers_per_block = attribute(s, CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK);
    c->smem_per_sm = (size_t)attribute(s, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
    c->smem_per_block = (size_t)attribute(s, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK);
    c->smem_per_block_optin = (size_t)attribute(s, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
    c->smem_reserved = (size_t)attribute(s, CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK);
    c->l2_bytes = (size_t)attribute(s, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
    size_t spare = 0;
    if (s->api->cuMemGetInfo(&spare, &c->dram_bytes) != CUDA_SUCCESS)
        c->dram_bytes = 0;
    double clock_hz = 1e3 * attribute(s, CU_DEVICE_ATTRIBUTE_CLOCK_RATE);
    /* The table's clocks of another board with the same chip do not apply to this one. */
    if (clock_hz > 0) {
        c->l2_bytes_s = table_board || !known || known->clock_max_hz <= 0 ? c->l2_bytes_s : c->l2_bytes_s * clock_hz / known->clock_max_hz;
        c->clock_max_hz = clock_hz;
    }
    /* Double data rate times the width of the bus; the datasheet's figure where the table knows this very board. */
    double memory_hz = 1e3 * attribute(s, CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE),
           bus_bits = attribute(s, CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH);
    if (!table_board)
        c->dram_bytes_s = memory_hz > 0 && bus_bits > 0 ? 2 * memory_hz * bus_bits / 8 : 0;
}
