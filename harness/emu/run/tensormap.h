/* emu/run/tensormap: the 128 bytes that a tensor map is on emu. */
#pragma once

#include "device/device.h"

#define TENSORMAP_MAGIC 0x70616d2d726f736eull
struct tensormap { /* not padded by chance: copied as bytes */
    uint64_t magic, address;
    uint32_t dim[5];       /* size - 1 */
    uint32_t stride_16[5]; /* stride in bytes / 16, of dimensions 1 on */
    uint16_t box[5];
    uint8_t element_stride[5];
    uint8_t element_bytes, element_kind, rank, swizzle, interleave, oob_nan;
};
bool tensormap_encode(const struct device_tensor_map *map, void *out128, struct error *err);
