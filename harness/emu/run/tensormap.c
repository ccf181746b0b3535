#include "emu/run/tensormap.h"
#include <string.h>

/* The rules of cuTensorMapEncodeTiled that hold on every chip. */
static bool check(const struct device_tensor_map *m, struct error *err)
{
    if (m->rank < 1 || m->rank > 5)
        return error_set(err, ERROR_USAGE, "a tensor map of %d dimensions; 1 to 5 are supported", m->rank);
    if (m->address % 16)
        return error_set(err, ERROR_USAGE, "a tensor map at 0x%llx, not a multiple of 16", (unsigned long long)m->address);
    if (m->element_bytes != 1 && m->element_bytes != 2 && m->element_bytes != 4 && m->element_bytes != 8)
        return error_set(err, ERROR_USAGE, "tensor map elements of %d bytes", m->element_bytes);
    if (m->interleave != 0)
        return error_set(err, ERROR_USAGE, "emu does not support interleaved tensor maps");
    if (m->swizzle != 0 && m->swizzle != 32 && m->swizzle != 64 && m->swizzle != 128)
        return error_set(err, ERROR_USAGE, "tensor map swizzle %d; 0, 32, 64 or 128 are possible", m->swizzle);
    for (int i = 0; i < m->rank; i++) {
        if (m->dim[i] < 1 || m->dim[i] > (uint64_t)1 << 32)
            return error_set(err, ERROR_USAGE, "tensor map dimension %d is %llu", i, (unsigned long long)m->dim[i]);
        if (m->box[i] < 1 || m->box[i] > 256)
            return error_set(err, ERROR_USAGE, "tensor map box %d is %u; 1 to 256 are possible", i, m->box[i]);
        if (m->element_stride[i] < 1 || m->element_stride[i] > 8)
            return error_set(err, ERROR_USAGE, "tensor map element stride %d is %u; 1 to 8 are possible", i, m->element_stride[i]);
        if (i > 0 && (m->stride_bytes[i] % 16 || m->stride_bytes[i] >= (uint64_t)1 << 36))
            return error_set(err, ERROR_USAGE, "tensor map stride %d is %llu bytes, not a multiple of 16", i,
                             (unsigned long long)m->stride_bytes[i]);
    }
    uint32_t inner = m->box[0] * (uint32_t)m->element_bytes;
    if (inner % 16)
        return error_set(err, ERROR_USAGE, "the inner box of a tensor map has %u bytes, not a multiple of 16", inner);
    if (m->swizzle && inner > (uint32_t)m->swizzle)
        return error_set(err, ERROR_USAGE, "the inner box of a tensor map has %u bytes; with this swizzle %d at most", inner, m->swizzle);
    return true;
}

bool tensormap_encode(const struct device_tensor_map *map, void *out128, struct error *err)
{
    struct tensormap t = {.magic = TENSORMAP_MAGIC, .address = map->address};
    _Static_assert(sizeof t <= 128, "a tensor map has 128 bytes");
    if (!check(map, err))
        return false;
    for (int i = 0; i < map->rank; i++) {
        t.dim[i] = (uint32_t)(map->dim[i] - 1);
        t.stride_16[i] = i ? (uint32_t)(map->stride_bytes[i] / 16) : 0;
        t.box[i] = (uint16_t)map->box[i];
        t.element_stride[i] = (uint8_t)map->element_stride[i];
    }
    t.element_bytes = (uint8_t)map->element_bytes;
    t.element_kind = (uint8_t)map->element_kind;
    t.rank = (uint8_t)map->rank;
    t.swizzle = (uint8_t)map->swizzle;
    t.interleave = (uint8_t)map->interleave;
    t.oob_nan = map->oob_nan;
    memset(out128, 0, 128);
    memcpy(out128, &t, sizeof t);
    return true;
}
