#include "emu/run/tensormap.h"
#include "base/dtype.h"
#include "emu/check/races.h"
#include "emu/async.h"
#include "emu/handlers.h"
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
    bool rows = false;
    if (inner % 16)
        return error_set(err, ERROR_USAGE, "the inner box of a tensor map has %u bytes, not a multiple of 16", inner);
    if (m->swizzle && inner > (uint32_t)m->swizzle)
        return error_set(err, ERROR_USAGE, "the inner box of a tensor map has %u bytes; with this swizzle %d at most", inner, m->swizzle);
    for (int i = 1; i < m->rank; i++)
        rows |= m->box[i] > m->element_stride[i];
    if (inner < (uint32_t)m->swizzle && rows) /* found on an H200: the rows of a box then have gaps in shared memory */
        return error_set(err, ERROR_USAGE,
                         "emu does not support boxes of several rows of %u bytes with swizzle %d: the chip puts their rows %d bytes apart",
                         inner, m->swizzle, m->swizzle);
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

/* ---- maps that a kernel changes ---- */
/* The codes of .elemtype (PTX ISA 9.0, "tensormap.replace"). */
static bool set_element(struct tensormap *t, uint64_t code)
{
    static const struct {
        uint8_t bytes;
        enum dtype kind;
    } elements[] = {{1, DTYPE_U8},  {2, DTYPE_U16}, {4, DTYPE_U32}, {4, DTYPE_I32},  {8, DTYPE_U64}, {8, DTYPE_I64}, {2, DTYPE_F16},
                    {4, DTYPE_F32}, {4, DTYPE_F32}, {8, DTYPE_F64}, {2, DTYPE_BF16}, {4, DTYPE_F32}, {4, DTYPE_F32}};
    if (code >= sizeof elements / sizeof *elements)
        return false;
    t->element_bytes = elements[code].bytes;
    t->element_kind = (uint8_t)elements[code].kind;
    return true;
}

/* False: no such value. */
static bool set_field(struct tensormap *t, enum map_field field, int k, uint64_t v)
{
    static const uint8_t swizzles[] = {0, 32, 64, 128};
    switch (field) {
    case MAP_ADDRESS: t->address = v; return v % 16 == 0;
    case MAP_RANK: t->rank = (uint8_t)(v + 1); return v <= 4;
    case MAP_BOX: t->box[k] = (uint16_t)v; return v >= 1 && v <= 256;
    case MAP_DIM: t->dim[k] = (uint32_t)(v - 1); return v >= 1;
    case MAP_STRIDE:
        if (k > 3)
            return false;
        t->stride_16[k + 1] = (uint32_t)(v / 16);
        return v % 16 == 0 && v < (uint64_t)1 << 36;
    case MAP_ELEMENT_STRIDE: t->element_stride[k] = (uint8_t)v; return v >= 1 && v <= 8;
    case MAP_ELEMENT: return set_element(t, v);
    case MAP_SWIZZLE: t->swizzle = v < 4 ? swizzles[v] : 0; return v < 4;
    case MAP_FILL: t->oob_nan = v == 1; return v < 2;
    default: return v == 0; /* no interleaved layout; 16 bytes of a swizzle stay together */
    }
}

static const struct {
    const char *name, *rule;
} fields[] = {[MAP_ADDRESS] = {"address", "it must be a multiple of 16"},
              [MAP_RANK] = {"rank", "0 to 4 are ranks 1 to 5"},
              [MAP_BOX] = {"box", "it has 1 to 256 elements"},
              [MAP_DIM] = {"size", "it has 1 element or more"},
              [MAP_STRIDE] = {"stride", "it must be a multiple of 16 bytes and below 2^36"},
              [MAP_ELEMENT_STRIDE] = {"element stride", "it is 1 to 8"},
              [MAP_ELEMENT] = {"element type", "emu does not know it"},
              [MAP_SWIZZLE] = {"swizzle", "emu knows 0 to 3"},
              [MAP_INTERLEAVE] = {"interleaved layout", "emu knows none"},
              [MAP_ATOMICITY] = {"swizzle atomicity", "emu knows that of 16 bytes"},
              [MAP_FILL] = {"fill mode", "0 or 1"}};

/* a = the map, b = the value, count = the dimension */
const struct insn *emu_tensormap_replace(struct warp *w, const struct insn *ip)
{
    uint64_t address[32];
    enum ptx_space space = (enum ptx_space)ip->aux;
    lane_addresses(w, ip, space, address);
    for (uint32_t rest = w->mask; rest; rest &= rest - 1) {
        int lane = __builtin_ctz(rest);
        uint64_t v = ip->size == 8 ? SLOT(const uint64_t, w, ip->b)[lane] : SLOT(const uint32_t, w, ip->b)[lane];
        struct tensormap t;
        uint8_t *host = resolve_lane(w, ip, lane, space, address[lane], 64, ACCESS_WRITE);
        if (!host || !resolve_lane(w, ip, lane, space, address[lane] + 64, 64, ACCESS_WRITE))
            continue;
        memcpy(&t, host, sizeof t);
        t.magic = TENSORMAP_MAGIC; /* each of its other fields is checked where the map is used */
        if (!set_field(&t, (enum map_field)ip->kind, ip->count, v))
            emu_report(w, ip, lane, "descriptor", "a tensor map with %llu as its %s: %s", (unsigned long long)v, fields[ip->kind].name,
                       fields[ip->kind].rule);
        memcpy(host, &t, sizeof t);
    }
    return ip + 1;
}

/* The whole warp copies a map from shared to global memory: a = where to, list: from. */
const struct insn *emu_tensormap_copy(struct warp *w, const struct insn *ip)
{
    int lane = __builtin_ctz(w->mask);
    uint64_t to = SLOT(const uint64_t, w, ip->a)[lane] + (uint64_t)ip->imm;
    uint64_t from = ip->flags ? SLOT(const uint64_t, w, ip->list[0])[lane] : SLOT(const uint32_t, w, ip->list[0])[lane];
    lanes_sync(w);
    for (uint64_t half = 0; half < 128; half += 64) {
        uint8_t *target = resolve_lane(w, ip, lane, SPACE_GLOBAL, to + half, 64, ACCESS_WRITE);
        const uint8_t *source = resolve_lane(w, ip, lane, SPACE_SHARED, (from + ip->list[1] + half) & (WINDOW_BYTES - 1), 64, ACCESS_READ);
        if (target && source)
            memcpy(target, source, 64);
    }
    races_fence_async(w); /* it is a fence between the writes and the proxy that reads maps */
    lanes_sync(w);
    return ip + 1;
}
