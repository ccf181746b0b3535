/* emu/run/bulk: cp.async.bulk and the tensor (TMA) copies. */
#include "base/dtype.h"
#include "base/text.h"
#include "emu/check/agents.h"
#include "emu/async.h"
#include "emu/check/shadow.h"
#include "emu/check/dsmem.h"
#include "emu/check/races.h"
#include "emu/run/tensormap.h"
#include <stdlib.h>
#include <string.h>

static uint64_t lane_value(const struct warp *w, uint32_t ref, int i)
{
    return SLOT(const uint64_t, w, ref)[i];
}

static uint32_t lane_word(const struct warp *w, uint32_t ref, int i)
{
    return ref == NO_REF ? 0 : SLOT(const uint32_t, w, ref)[i];
}

static uint32_t sectors_of(uint64_t address, uint64_t bytes)
{
    return bytes ? (uint32_t)((address + bytes - 1) / 32 - address / 32 + 1) : 0;
}

/* A stretch of global memory, checked; `tag`: of the copy, as races.h has it; NULL and a report when it is not inside one buffer. */
static uint8_t *stretch(struct warp *w, const struct insn *ip, int lane, uint64_t address, uint64_t bytes, bool write, uint32_t tag)
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
        known_lane(w, ip, lane, b, offset, (uint32_t)bytes, access);
    if (b->known && (w->checks & CHECK_KNOWN) && bytes)
        known_lane(w, ip, lane, b, offset, (uint32_t)bytes, write ? ACCESS_WRITE : ACCESS_READ);
    uint32_t own = w->tag;
    w->tag = tag;
    if (w->trace && bytes)
        races_lane(w, ip, lane, b, offset, (uint32_t)bytes, access);
    w->tag = own;
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

/* Where an mbarrier lies; false and a report when it is outside. */
static bool mbarrier_place(struct warp *w, const struct insn *ip, int lane, uint64_t mbar, struct block **owner, uint32_t *offset)
{
    return shared_stretch(w, ip, lane, mbar, 8, owner, offset) != NULL;
}

static bool aligned_16(struct warp *w, const struct insn *ip, int lane, uint64_t a, uint64_t b, uint64_t bytes)
{
    if (!((a | b | bytes) & 15))
        return true;
    emu_report(w, ip, lane, "misaligned", "bulk copy of %llu bytes between 0x%llx and 0x%llx: all must be multiples of 16",
               (unsigned long long)bytes, (unsigned long long)a, (unsigned long long)b);
    return false;
}

/* ---- on their way ---- */
struct box {
    struct tensormap t;
    int64_t start[5];
    uint32_t count[5]; /* elements per dimension in shared memory */
    uint64_t elements;
    uint32_t group, tag; /* of a store; what a load reads is tagged with */
    struct insn typed;
};
struct pending_copy {
    struct warp *w;
    const struct insn *ip;
    int lane;
    struct block *owner; /* of `offset` */
    uint32_t offset;
    uint32_t mask; /* blocks of the cluster that receive it; 0: the owner */
    uint64_t bytes;
    uint8_t *stage;      /* what was read from global memory, or stored */
    const uint8_t *from; /* what goes to shared memory: the stage, or other shared memory; NULL: the copy reads shared memory */
    uint8_t *to;         /* global memory; NULL: the box says where */
    struct box *box;
    struct block *signal; /* the block of the mbarrier */
    uint32_t signal_at;
    uint32_t phase[CLUSTER_MAX]; /* of the mbarrier of each receiver, when it set out */
};
#define PENDING_BYTES (4u << 20) /* more than that does not wait */

static void move_box(struct warp *w, const struct insn *ip, int lane, const struct box *x, uint8_t *shared, uint32_t base, uint32_t offset,
                     bool store);

/* Stores the copy's bytes, or reduces into what is there. */
static void put_bytes(const struct insn *ip, uint8_t *to, const uint8_t *from, uint64_t bytes)
{
    if (ip->aux)
        atomic_reduce(to, from, bytes, (enum atomic_op)((ip->aux & 255) - 1), (enum ptx_type)(ip->aux >> 8));
    else
        memmove(to, from, bytes);
}

/* Signals the mbarrier. If its phase has completed already, fewer bytes were expected than the copies bring. */
static void complete_at(const struct pending_copy *p, struct block *told, uint32_t phase)
{
    if (agent_phases(told, p->signal_at) != phase && (p->w->runner->launch->checks & CHECK_RACE))
        emu_report(p->w, p->ip, p->lane, "async_wait",
                   "phase %u of the mbarrier at 0x%x ends before the %llu bytes of this copy arrive: expect_tx was too small", phase,
                   p->signal_at, (unsigned long long)p->bytes);
    mbarrier_update(p->w, told->shared + p->signal_at, told, p->signal_at, -(int32_t)p->bytes, 0, false);
}

static void copy_complete(const struct pending_copy *p)
{
    struct warp *w = p->w;
    if (!p->from) {
        if (p->to)
            put_bytes(p->ip, p->to, p->owner->shared + p->offset, p->bytes);
        else
            move_box(w, p->ip, p->lane, p->box, p->owner->shared, 0, p->offset, true);
        return;
    }
    for (int r = 0; r < (p->mask ? w->block->cluster_count : 1); r++) {
        struct block *b = p->mask ? w->block->cluster[r] : p->owner,
                     *told = p->mask ? b : p->signal; /* multicast: the same place in each */
        if (p->mask && !(p->mask >> r & 1))
            continue;
        put_bytes(p->ip, b->shared + p->offset, p->from, p->bytes);
        complete_at(p, told, p->phase[r]);
    }
}

void bulk_drop(struct runner *k)
{
    for (int i = 0; i < k->pending_count; i++) {
        free(k->pending[i].stage);
        free(k->pending[i].box);
    }
    k->pending_count = 0;
    k->pending_bytes = 0;
}

void bulk_complete(struct runner *k)
{
    for (int i = 0; i < k->pending_count; i++) {
        struct warp *w = k->pending[i].w;
        int checks = w->checks; /* it may stand at an mbarrier, whose own words are not data */
        w->checks = k->launch->checks;
        copy_complete(&k->pending[i]);
        w->checks = checks;
    }
    bulk_drop(k);
}

static void copy_queue(const struct pending_copy *p)
{
    struct runner *k = p->w->runner;
    if (k->pending_bytes + p->bytes > PENDING_BYTES)
        bulk_complete(k);
    *APPEND(k->pending, k->pending_count) = *p;
    k->pending_bytes += p->bytes;
}

/* Issues a copy to shared memory: checks the destination and tags it. Takes the stage. */
static void copy_to_shared(struct pending_copy *p, uint64_t mbar)
{
    struct warp *w = p->w;
    if (!mbarrier_place(w, p->ip, p->lane, mbar, &p->signal, &p->signal_at)) {
        free(p->stage);
        return;
    }
    for (int r = 0; r < (p->mask ? w->block->cluster_count : 1); r++) {
        struct block *b = p->mask ? w->block->cluster[r] : p->owner;
        if (p->mask && !(p->mask >> r & 1))
            continue;
        uint32_t tag = p->mask || p->signal == b ? agent_of_mbarrier(b, p->signal_at, w, p->ip, p->lane) : 0;
        dsmem_note(w, p->ip, p->lane, b);
        p->phase[r] = agent_phases(p->mask ? b : p->signal, p->signal_at);
        agent_writes(w, p->ip, p->lane, b, p->offset, p->bytes, tag | (tag && p->ip->aux ? SHADOW_ATOMIC : 0));
        agent_releases(w, p->mask ? b : p->signal, p->signal_at);
        if (w->checks & CHECK_KNOWN)
            memset(b->shared_known + p->offset, 0xff, p->bytes);
    }
    copy_queue(p);
}

/* The tag of a copy's read of global memory, which lasts until the phase of its mbarrier completes. */
static uint32_t load_tag(struct warp *w, const struct insn *ip, int lane, uint64_t mbar, uint32_t mask)
{
    const struct block *b = w->block;
    uint32_t rank = (uint32_t)((mbar & (WINDOW_BYTES - 1)) >> CLUSTER_SHIFT), at = (uint32_t)mbar & ((1u << CLUSTER_SHIFT) - 1), tag;
    bool here = mask ? mask >> b->cluster_rank & 1 : rank == 0 || rank == (uint32_t)b->cluster_rank + 1;
    if (w->trace != TRACE_ALL || !here)
        return w->tag;
    tag = agent_of_mbarrier(w->block, at, w, ip, lane);
    return tag ? races_tag_of(w, tag & 63, tag >> 7) : w->tag;
}

static uint32_t multicast_mask(const struct warp *w, const struct insn *ip, int lane)
{
    return ip->list[BULK_MASK] == NO_REF ? 0 : SLOT(const uint32_t, w, ip->list[BULK_MASK])[lane] & 0xffff;
}

static uint8_t *staged(const void *from, uint64_t bytes)
{
    uint8_t *stage = xmalloc(bytes + 128); /* a swizzle may reach beyond */
    if (from)
        memcpy(stage, from, bytes);
    return stage;
}

/* Reports a source that holds 16 bytes which nothing has written. */
static void source_known(struct warp *w, const struct insn *ip, int lane, const struct block *b, uint32_t offset, uint64_t bytes)
{
    for (uint64_t at = 0; (w->checks & CHECK_KNOWN) && at < bytes; at += 16) {
        bool known = ANY_OF(k, 16, b->shared_known[offset + at + (uint64_t)k] != 0);
        if (!known) {
            emu_report(w, ip, lane, "uninitialised", "bulk copy of shared memory at 0x%llx that no thread wrote",
                       (unsigned long long)(offset + at));
            return;
        }
    }
}

/* ---- who sends ---- */
static bool same_in_all(const struct warp *w, uint32_t ref, bool wide)
{
    int first = __builtin_ctz(w->mask);
    bool same = true;
    for (uint32_t rest = w->mask; rest && ref != NO_REF; rest &= rest - 1) {
        int i = __builtin_ctz(rest);
        same &= wide ? SLOT(const uint64_t, w, ref)[i] == SLOT(const uint64_t, w, ref)[first]
                     : SLOT(const uint32_t, w, ref)[i] == SLOT(const uint32_t, w, ref)[first];
    }
    return same;
}

/* Returns the lanes that each start a copy. A store to global memory with the same operands in all lanes is one instruction of the warp,
 * and one copy: on an H200 it takes as long as that of one lane. With different operands, and for loads and reductions, the chip handles
 * the lanes one after another. */
static uint32_t senders(struct warp *w, const struct insn *ip)
{
    const uint32_t *l = ip->list;
    if (!(w->mask & (w->mask - 1)) || ip->kind != BULK_SHARED_TO_GLOBAL || ip->aux)
        return w->mask;
    if (!same_in_all(w, l[BULK_DST], true) || !same_in_all(w, l[BULK_SRC], true) || !same_in_all(w, l[BULK_SIZE], false))
        return w->mask;
    for (int k = 0; k < ip->count; k++)
        if (!same_in_all(w, l[BULK_COORD + k], false))
            return w->mask;
    w->bulk_lanes |= w->mask;
    return w->mask & (0 - w->mask);
}

/* list: see async.h, all in 64-bit slots but size and mask (32-bit) */
const struct insn *emu_bulk_copy(struct warp *w, const struct insn *ip)
{
    const uint32_t *l = ip->list;
    struct memo *m = &w->memos[ip->memo];
    for (uint32_t rest = senders(w, ip); rest; rest &= rest - 1) {
        int i = __builtin_ctz(rest);
        uint64_t dst = lane_value(w, l[BULK_DST], i), src = lane_value(w, l[BULK_SRC], i), bytes = SLOT(const uint32_t, w, l[BULK_SIZE])[i];
        struct block *owner;
        uint32_t offset;
        struct pending_copy p = {.w = w, .ip = ip, .lane = i, .bytes = bytes, .mask = multicast_mask(w, ip, i)};
        m->events++;
        m->bytes += bytes;
        if (!aligned_16(w, ip, i, dst, src, bytes))
            continue;
        if (ip->kind == BULK_GLOBAL_TO_SHARED) {
            uint32_t left = lane_word(w, l[BULK_LEFT], i), right = lane_word(w, l[BULK_RIGHT], i);
            if (left > 15 || right > 15 || left + right > bytes) {
                emu_report(w, ip, i, "out_of_bounds",
                           "bulk copy of %llu bytes that ignores %u bytes at its begin and %u at its end: 15 at most",
                           (unsigned long long)bytes, left, right);
                continue;
            }
            const uint8_t *from =
                stretch(w, ip, i, src + left, bytes - left - right, false, load_tag(w, ip, i, lane_value(w, l[BULK_MBAR], i), p.mask));
            m->sector_sum += sectors_of(src + left, bytes - left - right);
            if (from && shared_stretch(w, ip, i, dst, bytes, &p.owner, &p.offset)) {
                p.from = p.stage = staged(NULL, bytes);
                memset(p.stage, 0xff, left); /* what is ignored arrives as anything */
                memcpy(p.stage + left, from, bytes - left - right);
                memset(p.stage + bytes - right, 0xff, right);
                copy_to_shared(&p, lane_value(w, l[BULK_MBAR], i));
                if (w->checks & CHECK_KNOWN) {
                    memset(p.owner->shared_known + p.offset, 0, left);
                    memset(p.owner->shared_known + p.offset + bytes - right, 0, right);
                }
            }
        } else if (ip->kind == BULK_SHARED_TO_SHARED) {
            p.from = shared_stretch(w, ip, i, src, bytes, &owner, &offset);
            if (!p.from || !shared_stretch(w, ip, i, dst, bytes, &p.owner, &p.offset))
                continue;
            struct block *told;
            uint32_t bar;
            if (owner == w->block && mbarrier_place(w, ip, i, lane_value(w, l[BULK_MBAR], i), &told, &bar))
                agent_reads(w, ip, i, offset, bytes, agent_of_sent(w, told, bar));
            copy_to_shared(&p, lane_value(w, l[BULK_MBAR], i));
        } else {
            m->sector_sum += sectors_of(dst, bytes);
            if (!shared_stretch(w, ip, i, src, bytes, &p.owner, &p.offset) ||
                !(p.to = stretch(w, ip, i, dst, bytes, true, agent_store_tag(w, w->bulk_groups + 1))))
                continue;
            if (p.owner == w->block)
                agent_reads(w, ip, i, p.offset, bytes, agent_of_group(w, ip, i));
            source_known(w, ip, i, p.owner, p.offset, bytes);
            copy_queue(&p);
        }
    }
    return ip + 1;
}

/* st.async, red.async: list: address and mbarrier (64 bits), then the values; size, count as of a store, aux as of a copy */
const struct insn *emu_store_async(struct warp *w, const struct insn *ip)
{
    const uint32_t *l = ip->list;
    uint64_t address[32];
    uint32_t sent = 0;
    for (uint32_t rest = w->mask; rest; rest &= rest - 1) {
        int i = __builtin_ctz(rest);
        uint32_t bytes = (uint32_t)ip->size * ip->count;
        uint64_t at = lane_value(w, l[0], i);
        uint8_t value[32];
        struct pending_copy p = {.w = w, .ip = ip, .lane = i, .bytes = bytes};
        if (!shared_stretch(w, ip, i, at, bytes, &p.owner, &p.offset))
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
        p.from = p.stage = staged(value, bytes);
        copy_to_shared(&p, lane_value(w, l[1], i));
        address[i] = at;
        sent |= 1u << i;
    }
    if (!ip->aux)
        count_lanes(w, ip, SPACE_SHARED, address, sent, (uint32_t)ip->size * ip->count);
    return ip + 1;
}

/* ---- clusterlaunchcontrol ---- */
/* list: see async.h; flags 1 = to all blocks of the cluster */
const struct insn *emu_try_cancel(struct warp *w, const struct insn *ip)
{
    const uint32_t *l = ip->list;
    for (uint32_t rest = w->mask; rest; rest &= rest - 1) {
        int i = __builtin_ctz(rest);
        uint64_t at = lane_value(w, l[BULK_DST], i);
        struct cancel_response r = {.state = CANCEL_FAILED};
        struct pending_copy p = {.w = w, .ip = ip, .lane = i, .bytes = sizeof r};
        p.mask = ip->flags & 1 ? (1u << w->block->cluster_count) - 1 : 0;
        if (!aligned_16(w, ip, i, at, 0, sizeof r) || !shared_stretch(w, ip, i, at, sizeof r, &p.owner, &p.offset))
            continue;
        if (w->block->cancel_failed)
            emu_report(w, ip, i, "cluster_cancel", "a try_cancel after one of this block failed: what then happens is not defined");
        if (cluster_cancel(w->runner, r.first))
            r.state = CANCELLED;
        p.from = p.stage = staged(&r, sizeof r);
        copy_to_shared(&p, lane_value(w, l[BULK_MBAR], i));
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
    bool sound = t->magic == TENSORMAP_MAGIC && t->rank == ip->count && t->rank <= 5 && t->element_bytes && t->element_bytes <= 8;
    for (int k = 0; sound && k < t->rank; k++) /* something may have written into it since it was made */
        sound = t->box[k] && t->box[k] <= 256 && t->element_stride[k] && t->element_stride[k] <= 8;
    if (sound)
        return true;
    emu_report(w, ip, lane, "out_of_bounds", "address 0x%llx has no tensor map of %d dimensions", (unsigned long long)address, ip->count);
    return false;
}

/* Address bits 4 to 6 are exchanged with the row's number, as the swizzle says. */
static uint32_t swizzled(uint32_t at, int swizzle)
{
    uint32_t mask = swizzle == 128 ? 7 : swizzle == 64 ? 3 : swizzle == 32 ? 1 : 0;
    return at ^ ((at >> 7 & mask) << 4);
}

static void move_element_row(struct warp *w, const struct insn *ip, int lane, const struct box *x, const int64_t *at, bool inside,
                             uint8_t *shared, uint32_t base, uint32_t offset, bool store)
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
        host = stretch(w, ip, lane, from, bytes, store, store ? agent_store_tag(w, x->group) : x->tag);
        w->memos[ip->memo].sector_sum += sectors_of(from, bytes);
    }
    static const uint8_t zero[8];
    uint8_t nan[8];
    memset(nan, 0xff, 8);
    if (es == 2)
        nan[1] = 0x7f;
    else if (es == 4)
        nan[3] = 0x7f;
    for (uint32_t k = 0, per = 16 / es; k < n; k++) {
        uint8_t *cell = shared + (swizzled(offset + k * es, t->swizzle) - base);
        if (host && step == 1 && !ip->aux && !((offset + k * es) & 15) && (int64_t)k >= first && (int64_t)(k + per - 1) <= last) {
            uint8_t *there = host + ((int64_t)k - first) * es; /* 16 bytes stay together */
            memcpy(store ? there : cell, store ? cell : there, 16);
            k += per - 1;
            continue;
        }
        bool valid = host && (int64_t)k >= first && (int64_t)k <= last;
        uint8_t *there = valid ? host + (uint64_t)(((int64_t)k - first) * step) * es : NULL;
        if (!store)
            memcpy(cell, valid ? there : t->oob_nan ? nan : zero, es);
        else if (valid)
            put_bytes(ip, there, cell, es);
    }
}

/* All rows of the box; shared is the block's memory from `base` on, offset where the box begins in it. */
static void move_box(struct warp *w, const struct insn *ip, int lane, const struct box *x, uint8_t *shared, uint32_t base, uint32_t offset,
                     bool store)
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
        move_element_row(w, ip, lane, x, at, inside, shared, base, offset + (uint32_t)(r * x->count[0] * t->element_bytes), store);
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

static bool box_inside(const struct box *x)
{
    return ALL_OF(k, x->t.rank,
                  x->start[k] >= 0 && x->start[k] + (int64_t)(x->count[k] - 1) * x->t.element_stride[k] <= (int64_t)x->t.dim[k]);
}

/* kind: BULK_GLOBAL_TO_SHARED or BULK_SHARED_TO_GLOBAL; list: dst / src is the shared side, the other the map; count = dimensions */
const struct insn *emu_tensor_copy(struct warp *w, const struct insn *ip)
{
    const uint32_t *l = ip->list;
    struct memo *m = &w->memos[ip->memo];
    bool store = ip->kind == BULK_SHARED_TO_GLOBAL;
    for (uint32_t rest = senders(w, ip); rest; rest &= rest - 1) {
        int i = __builtin_ctz(rest);
        struct box x = {.elements = 1, .group = w->bulk_groups + 1};
        struct pending_copy p = {.w = w, .ip = ip, .lane = i, .mask = multicast_mask(w, ip, i)};
        if (!read_map(w, ip, i, lane_value(w, l[store ? BULK_DST : BULK_SRC], i), &x.t))
            continue;
        for (int k = 0; k < ip->count; k++) {
            x.start[k] = (int32_t)SLOT(const uint32_t, w, l[BULK_COORD + k])[i];
            x.count[k] = (uint32_t)((x.t.box[k] + x.t.element_stride[k] - 1) / x.t.element_stride[k]);
            x.elements *= x.count[k];
        }
        uint64_t bytes = x.elements * x.t.element_bytes, at = lane_value(w, l[store ? BULK_SRC : BULK_DST], i);
        m->events++;
        m->bytes += bytes;
        p.bytes = bytes;
        if (!shared_stretch(w, ip, i, at, bytes, &p.owner, &p.offset))
            continue;
        if (p.offset & 127) {
            emu_report(w, ip, i, "misaligned", "tensor copy to shared memory at 0x%x, not a multiple of 128", p.offset);
            continue;
        }
        if (!store && x.start[0] * x.t.element_bytes % 16) /* found on an H200, with every shape of box and either swizzle */
            emu_report(
                w, ip, i, "misaligned",
                "tensor copy from column %lld: %lld bytes from the row's start, not a multiple of 16 (an illegal instruction on the chip)",
                (long long)x.start[0], (long long)(x.start[0] * x.t.element_bytes));
        if (store) {
            x.typed = *ip; /* a reduction's type is the map's */
            x.typed.aux = ip->aux ? (uint16_t)(ip->aux | (unsigned)element_type(&x.t) << 8) : 0;
            p.box = xmalloc(sizeof x);
            *p.box = x;
            p.ip = &p.box->typed;
            if (p.owner == w->block)
                agent_reads(w, ip, i, p.offset, bytes, agent_of_group(w, ip, i));
            if (box_inside(&x))
                source_known(w, ip, i, p.owner, p.offset, bytes);
            copy_queue(&p);
            continue;
        }
        uint64_t sectors = m->sector_sum;
        p.from = p.stage = staged(NULL, bytes);
        x.tag = load_tag(w, ip, i, lane_value(w, l[BULK_MBAR], i), p.mask);
        move_box(w, ip, i, &x, p.stage, p.offset, p.offset, false);
        if (p.mask) /* each receiver's count */
            m->sector_sum =
                sectors + (m->sector_sum - sectors) * (uint32_t)__builtin_popcount(p.mask & ((1u << w->block->cluster_count) - 1));
        copy_to_shared(&p, lane_value(w, l[BULK_MBAR], i));
    }
    return ip + 1;
}

/* kind: 0 cp.async.bulk.commit_group, 1 wait_group: imm groups may stay open, 2 only until their sources are read */
const struct insn *emu_bulk_group(struct warp *w, const struct insn *ip)
{
    bool ours = (w->mask & w->bulk_lanes) != 0;
    if (ip->kind) {
        bulk_complete(w->runner);
        uint32_t open = (uint32_t)ip->imm, id = w->bulk_agent;
        if (ours && id && w->bulk_groups >= open && w->clocks[id] < w->bulk_groups - open)
            w->clocks[id] = w->fenced[id] = w->bulk_groups - open;
        id = w->bulk_writer;
        if (ours && id && ip->kind == 1 && w->bulk_groups >= open && w->clocks[id] < w->bulk_groups - open)
            w->clocks[id] = w->fenced[id] = w->bulk_groups - open;
    } else if (ours) {
        w->bulk_groups++;
    }
    return ip + 1;
}
