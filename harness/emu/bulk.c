/* emu/bulk: cp.async.bulk and the tensor (TMA) copies. */
#include "base/dtype.h"
#include "emu/async.h"
#include "emu/races.h"
#include "emu/tensormap.h"
#include <string.h>

static uint64_t lane_value(const struct warp *w, uint32_t ref, int i)
{
    return SLOT(const uint64_t, w, ref)[i];
}

static uint32_t sectors_of(uint64_t address, uint64_t bytes)
{
    return bytes ? (uint32_t)((address + bytes - 1) / 32 - address / 32 + 1) : 0;
}

/* A stretch of global memory, checked; NULL and a report when it is not inside one buffer. */
static uint8_t *stretch(struct warp *w, const struct insn *ip, int lane, uint64_t address, uint64_t bytes, bool write)
{
    struct buffer *b = space_find(w->runner->launch->space, address);
    if (!b || bytes > b->bytes - (address - b->base) || (write && b->constant)) {
        b = b ? b : space_nearest(w->runner->launch->space, address);
        emu_report(w, ip, lane, "out_of_bounds", "bulk global %s of %llu bytes at 0x%llx, not inside `%s`", write ? "write" : "read",
                   (unsigned long long)bytes, (unsigned long long)address, b ? b->label : "any buffer");
        return NULL;
    }
    uint64_t offset = address - b->base;
    enum access access = !write ? ACCESS_READ : ip->aux ? ACCESS_ATOMIC : ACCESS_WRITE; /* a reduction reads what is there */
    mark_sectors(w, b, offset, bytes, access);
    if (access == ACCESS_ATOMIC && b->known && (w->checks & CHECK_KNOWN) && bytes)
        known_lane(w, ip, lane, b, offset, (uint32_t)bytes, false);
    if (b->known && (w->checks & CHECK_KNOWN) && bytes)
        known_lane(w, ip, lane, b, offset, (uint32_t)bytes, write);
    if (w->trace && bytes)
        races_lane(w, ip, lane, b, offset, (uint32_t)bytes, access);
    return b->host + offset;
}

/* Shared memory of the block that an address of the cluster names. */
static uint8_t *shared_stretch(struct warp *w, const struct insn *ip, int lane, uint64_t address, uint64_t bytes, struct block **owner,
                               uint32_t *offset)
{
    address &= WINDOW_BYTES - 1;
    uint32_t rank = (uint32_t)(address >> CLUSTER_SHIFT);
    struct block *b = rank == 0                                                        ? w->block
                      : w->block->cluster && rank <= (uint32_t)w->block->cluster_count ? w->block->cluster[rank - 1]
                                                                                       : NULL;
    *offset = (uint32_t)(address & ((1u << CLUSTER_SHIFT) - 1));
    *owner = b;
    if (!b || *offset < SHARED_RESERVED || bytes > b->shared_bytes || *offset > b->shared_bytes - bytes) {
        emu_report(w, ip, lane, "out_of_bounds", "bulk access to %llu bytes of shared memory at 0x%llx; the block ends at 0x%x",
                   (unsigned long long)bytes, (unsigned long long)address, w->block->shared_bytes);
        return NULL;
    }
    return b->shared + *offset;
}

static void signal_bytes(struct warp *w, const struct insn *ip, int lane, uint64_t mbar, struct block *into, uint64_t bytes)
{
    struct block *owner;
    uint32_t offset;
    if (!shared_stretch(w, ip, lane, mbar, 8, &owner, &offset))
        return;
    if (into) /* multicast: the barrier at the same place of each receiving block */
        owner = into;
    mbarrier_update(w, owner->shared + offset, owner, offset, -(int32_t)bytes, 0, false);
}

static bool aligned_16(struct warp *w, const struct insn *ip, int lane, uint64_t a, uint64_t b, uint64_t bytes)
{
    if (!((a | b | bytes) & 15))
        return true;
    emu_report(w, ip, lane, "misaligned", "bulk copy of %llu bytes between 0x%llx and 0x%llx: all must be multiples of 16",
               (unsigned long long)bytes, (unsigned long long)a, (unsigned long long)b);
    return false;
}

static void known_set(struct warp *w, struct block *b, uint32_t offset, uint64_t bytes)
{
    if (w->checks & CHECK_KNOWN)
        memset(b->shared_known + offset, 0xff, bytes);
}

/* What a copy does with the bytes that are there. */
static void put_bytes(const struct insn *ip, uint8_t *to, const uint8_t *from, uint64_t bytes)
{
    if (ip->aux)
        atomic_reduce(to, from, bytes, (enum atomic_op)((ip->aux & 255) - 1), (enum ptx_type)(ip->aux >> 8));
    else
        memmove(to, from, bytes);
}

static void copy_to_shared(struct warp *w, const struct insn *ip, int i, uint64_t dst, const uint8_t *from, uint64_t bytes)
{
    const uint32_t *l = ip->list;
    struct block *owner;
    uint32_t offset, mask = l[BULK_MASK] == NO_REF ? 0 : SLOT(const uint32_t, w, l[BULK_MASK])[i] & 0xffff;
    uint8_t *to = shared_stretch(w, ip, i, dst, bytes, &owner, &offset);
    if (!to)
        return;
    for (int r = 0; r < (mask ? w->block->cluster_count : 1); r++) {
        struct block *b = mask ? w->block->cluster[r] : owner;
        if (mask && !(mask >> r & 1))
            continue;
        put_bytes(ip, b->shared + offset, from, bytes);
        known_set(w, b, offset, bytes);
        signal_bytes(w, ip, i, lane_value(w, l[BULK_MBAR], i), mask ? b : NULL, bytes);
    }
}

/* list: see async.h, all in 64-bit slots but size and mask (32-bit) */
const struct insn *emu_bulk_copy(struct warp *w, const struct insn *ip)
{
    const uint32_t *l = ip->list;
    struct memo *m = &w->memos[ip->memo];
    for (uint32_t rest = w->mask; rest; rest &= rest - 1) {
        int i = __builtin_ctz(rest);
        uint64_t dst = lane_value(w, l[BULK_DST], i), src = lane_value(w, l[BULK_SRC], i), bytes = SLOT(const uint32_t, w, l[BULK_SIZE])[i];
        struct block *owner;
        uint32_t offset;
        m->events++;
        m->bytes += bytes;
        if (!aligned_16(w, ip, i, dst, src, bytes))
            continue;
        if (ip->kind == BULK_GLOBAL_TO_SHARED) {
            const uint8_t *from = stretch(w, ip, i, src, bytes, false);
            m->sector_sum += sectors_of(src, bytes);
            if (from)
                copy_to_shared(w, ip, i, dst, from, bytes);
        } else if (ip->kind == BULK_SHARED_TO_SHARED) {
            const uint8_t *from = shared_stretch(w, ip, i, src, bytes, &owner, &offset);
            if (from)
                copy_to_shared(w, ip, i, dst, from, bytes);
        } else {
            const uint8_t *from = shared_stretch(w, ip, i, src, bytes, &owner, &offset);
            uint8_t *to = from ? stretch(w, ip, i, dst, bytes, true) : NULL;
            m->sector_sum += sectors_of(dst, bytes);
            if (to)
                put_bytes(ip, to, from, bytes);
        }
    }
    return ip + 1;
}

/* st.async, red.async: list: address and mbarrier (64 bits), then the values; size, count as of a store, aux as of a copy */
const struct insn *emu_store_async(struct warp *w, const struct insn *ip)
{
    const uint32_t *l = ip->list;
    for (uint32_t rest = w->mask; rest; rest &= rest - 1) {
        int i = __builtin_ctz(rest);
        uint32_t bytes = (uint32_t)ip->size * ip->count, offset;
        uint64_t at = lane_value(w, l[0], i);
        struct block *owner;
        uint8_t value[32], *to = shared_stretch(w, ip, i, at, bytes, &owner, &offset);
        if (!to)
            continue;
        if (at % bytes) {
            emu_report(w, ip, i, "misaligned", "asynchronous store of %u bytes at 0x%llx", bytes, (unsigned long long)at);
            continue;
        }
        for (int v = 0; v < ip->count; v++)
            memcpy(value + v * ip->size,
                   ip->size == 4 ? (const void *)&SLOT(const uint32_t, w, l[2 + v])[i]
                                 : (const void *)&SLOT(const uint64_t, w, l[2 + v])[i],
                   ip->size);
        put_bytes(ip, to, value, bytes);
        known_set(w, owner, offset, bytes);
        signal_bytes(w, ip, i, lane_value(w, l[1], i), NULL, bytes);
    }
    return ip + 1;
}

/* ---- tensor copies ---- */
static bool read_map(struct warp *w, const struct insn *ip, int lane, uint64_t address, struct tensormap *t)
{
    int checks = w->checks;
    w->checks &= ~CHECK_KNOWN;
    const uint8_t *host = resolve_lane(w, ip, lane, SPACE_GENERIC, address, 64, ACCESS_READ);
    if (host && !resolve_lane(w, ip, lane, SPACE_GENERIC, address + 64, 64, ACCESS_READ))
        host = NULL;
    w->checks = checks;
    if (!host)
        return false;
    memcpy(t, host, sizeof *t);
    if (t->magic == TENSORMAP_MAGIC && t->rank == ip->count)
        return true;
    emu_report(w, ip, lane, "out_of_bounds", "0x%llx holds no tensor map of %d dimensions", (unsigned long long)address, ip->count);
    return false;
}

/* Address bits 4 to 6 are exchanged with the row's number, as the swizzle says. */
static uint32_t swizzled(uint32_t at, int swizzle)
{
    uint32_t mask = swizzle == 128 ? 7 : swizzle == 64 ? 3 : swizzle == 32 ? 1 : 0;
    return at ^ ((at >> 7 & mask) << 4);
}

struct box {
    struct tensormap t;
    int64_t start[5];
    uint32_t count[5]; /* elements per dimension in shared memory */
    uint64_t elements;
};

static void move_element_row(struct warp *w, const struct insn *ip, int lane, const struct box *x, const int64_t *at, bool inside,
                             uint8_t *shared, uint32_t offset, bool store)
{
    const struct tensormap *t = &x->t;
    uint32_t es = t->element_bytes, n = x->count[0], step = t->element_stride[0];
    uint64_t row = t->address;
    for (int k = 1; k < t->rank; k++)
        row += (uint64_t)at[k] * t->stride_16[k] * 16;
    int64_t dim = (int64_t)t->dim[0] + 1, first = x->start[0] < 0 ? (-x->start[0] + step - 1) / step : 0,
            last = (dim - 1 - x->start[0]) / (int64_t)step;
    if (dim - 1 - x->start[0] < 0)
        last = -1;
    if (last >= (int64_t)n)
        last = (int64_t)n - 1;
    uint8_t *host = NULL;
    uint64_t from = row + (uint64_t)(x->start[0] + first * step) * es;
    if (inside && first <= last) {
        uint64_t bytes = (uint64_t)((last - first) * step + 1) * es;
        host = stretch(w, ip, lane, from, bytes, store);
        w->memos[ip->memo].sector_sum += sectors_of(from, bytes);
    }
    static const uint8_t zero[8];
    uint8_t nan[8];
    memset(nan, 0xff, 8);
    if (es == 2)
        nan[1] = 0x7f;
    else if (es == 4)
        nan[3] = 0x7f;
    for (uint32_t k = 0; k < n; k++) {
        uint8_t *cell = shared + swizzled(offset + k * es, t->swizzle);
        bool valid = host && (int64_t)k >= first && (int64_t)k <= last;
        uint8_t *there = valid ? host + (uint64_t)(((int64_t)k - first) * step) * es : NULL;
        if (!store)
            memcpy(cell, valid ? there : t->oob_nan ? nan : zero, es);
        else if (valid)
            put_bytes(ip, there, cell, es);
    }
}

/* All rows of the box; shared is the block's memory, offset where the box begins in it. */
static void move_box(struct warp *w, const struct insn *ip, int lane, const struct box *x, uint8_t *shared, uint32_t offset, bool store)
{
    const struct tensormap *t = &x->t;
    uint64_t rows = x->elements / x->count[0];
    for (uint64_t r = 0; r < rows; r++) {
        int64_t at[5] = {0};
        uint64_t rest = r;
        bool inside = true;
        for (int k = 1; k < t->rank; k++) {
            at[k] = x->start[k] + (int64_t)(rest % x->count[k]) * t->element_stride[k];
            rest /= x->count[k];
            inside &= at[k] >= 0 && at[k] <= (int64_t)t->dim[k];
        }
        move_element_row(w, ip, lane, x, at, inside, shared, offset + (uint32_t)(r * x->count[0] * t->element_bytes), store);
    }
}

static enum ptx_type element_type(const struct tensormap *t)
{
    switch ((enum dtype)t->element_kind) {
    case DTYPE_F16: return T_F16;
    case DTYPE_BF16: return T_BF16;
    case DTYPE_F32: return T_F32;
    case DTYPE_F64: return T_F64;
    case DTYPE_I32: return T_S32;
    default: return t->element_bytes == 8 ? T_U64 : T_U32;
    }
}

/* kind: BULK_GLOBAL_TO_SHARED or BULK_SHARED_TO_GLOBAL; list: dst / src is the shared side, the other the map; count = dimensions */
const struct insn *emu_tensor_copy(struct warp *w, const struct insn *ip)
{
    const uint32_t *l = ip->list;
    struct memo *m = &w->memos[ip->memo];
    bool store = ip->kind == BULK_SHARED_TO_GLOBAL;
    for (uint32_t rest = w->mask; rest; rest &= rest - 1) {
        int i = __builtin_ctz(rest);
        struct box x = {.elements = 1};
        struct block *owner;
        uint32_t offset, mask = l[BULK_MASK] == NO_REF ? 0 : SLOT(const uint32_t, w, l[BULK_MASK])[i] & 0xffff;
        if (!read_map(w, ip, i, lane_value(w, l[store ? BULK_DST : BULK_SRC], i), &x.t))
            continue;
        for (int k = 0; k < ip->count; k++) {
            x.start[k] = (int32_t)SLOT(const uint32_t, w, l[BULK_COORD + k])[i];
            x.count[k] = (uint32_t)((x.t.box[k] + x.t.element_stride[k] - 1) / x.t.element_stride[k]);
            x.elements *= x.count[k];
        }
        uint64_t bytes = x.elements * x.t.element_bytes, at = lane_value(w, l[store ? BULK_SRC : BULK_DST], i);
        uint8_t *shared = shared_stretch(w, ip, i, at, bytes, &owner, &offset);
        m->events++;
        m->bytes += bytes;
        if (!shared)
            continue;
        if (offset & 127) {
            emu_report(w, ip, i, "misaligned", "tensor copy to shared memory at 0x%x, not a multiple of 128", offset);
            continue;
        }
        if (!store && x.start[0] * x.t.element_bytes % 16) /* found on an H200, with every shape of box and either swizzle */
            emu_report(
                w, ip, i, "misaligned",
                "tensor copy from column %lld: %lld bytes from the row's start, not a multiple of 16 (an illegal instruction on the chip)",
                (long long)x.start[0], (long long)(x.start[0] * x.t.element_bytes));
        if (store) {
            struct insn typed = *ip; /* a reduction's type is the map's */
            typed.aux = ip->aux ? (uint16_t)(ip->aux | (unsigned)element_type(&x.t) << 8) : 0;
            move_box(w, &typed, i, &x, owner->shared, offset, true);
            continue;
        }
        for (int r = 0; r < (mask ? w->block->cluster_count : 1); r++) {
            struct block *b = mask ? w->block->cluster[r] : owner;
            if (mask && !(mask >> r & 1))
                continue;
            move_box(w, ip, i, &x, b->shared, offset, false);
            known_set(w, b, offset, bytes);
            signal_bytes(w, ip, i, lane_value(w, l[BULK_MBAR], i), mask ? b : NULL, bytes);
        }
    }
    return ip + 1;
}
