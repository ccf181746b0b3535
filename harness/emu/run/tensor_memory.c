/* emu/run/tensor_memory: allocation of tensor memory, its loads, stores, copies and commits, and the checks of every access. */
#include "emu/tensor.h"
#include "emu/tensor_memory.h"
#include "base/text.h"
#include "emu/async.h"
#include "emu/check/agents.h"
#include "emu/check/shadow.h"
#include <string.h>

#define COLUMN_OF(address) ((address)&0xffff)
#define LANE_OF(address) ((address) >> 16)

void tensor_memory_begin(struct block *b)
{
    if (b->tensor)
        memset(b->tensor, 0, offsetof(struct tensor_memory, a));
}

void tensor_memory_end(struct block *b)
{
    const struct tensor_memory *t = b->tensor;
    int columns = 0;
    for (int c = 0; t && c < TENSOR_COLUMNS; c++)
        columns += t->owner[c] != 0;
    if (columns && (b->warps[0].checks & CHECK_SYNC))
        emu_report(&b->warps[0], t->made, -1, "tensor_memory",
                   "block %u,%u,%u ends with %d columns of tensor memory allocated: tcgen05.dealloc is missing", b->index[0], b->index[1],
                   b->index[2], columns);
}

static bool whole_warp(struct warp *w, const struct insn *ip)
{
    if (w->mask != w->alive) {
        emu_report(w, ip, -1, "inactive_lane", "only lanes 0x%08x of the warp execute this instruction, which is .aligned", w->mask);
        return false;
    }
    lanes_sync(w);
    return true;
}

/* The operand of the first active lane; all lanes must have the same. */
static uint32_t same_operand(struct warp *w, const struct insn *ip, uint32_t ref)
{
    const uint32_t *v = SLOT(const uint32_t, w, ref);
    int first = __builtin_ctz(w->mask);
    for (uint32_t rest = w->mask; rest; rest &= rest - 1)
        if (v[__builtin_ctz(rest)] != v[first]) {
            emu_report(w, ip, __builtin_ctz(rest), "tensor_memory", "lanes %d and %d of the warp have different operands: 0x%x and 0x%x",
                       first, __builtin_ctz(rest), v[first], v[__builtin_ctz(rest)]);
            break;
        }
    return v[first];
}

bool tensor_pair(struct warp *w, const struct insn *ip, int lane, struct block *of[2])
{
    struct block *b = w->block;
    of[0] = b;
    if (ip->size == 2 && b->cluster_count < 2) {
        emu_report(w, ip, lane, "descriptor", "cta_group::2 needs a cluster of two blocks or more");
        return false;
    }
    if (ip->size == 2)
        of[0] = b->cluster[b->cluster_rank & ~1], of[1] = b->cluster[b->cluster_rank | 1];
    return true;
}

/* ---- allocation ---- */
const struct insn *emu_tensor_alloc(struct warp *w, const struct insn *ip)
{
    struct block *b = w->block;
    uint64_t to[32];
    if (!whole_warp(w, ip))
        return ip + 1;
    if (!b->tensor)
        b->tensor = xcalloc(1, sizeof *b->tensor);
    struct tensor_memory *t = b->tensor;
    t->agent = t->agent ? t->agent : agent_of_tensor_core(b);
    if (ip->kind) { /* relinquish_alloc_permit */
        t->relinquished = true;
        return ip + 1;
    }
    uint32_t count = same_operand(w, ip, ip->b), first = 0, run = 0;
    bool sound = count >= 32 && count <= TENSOR_COLUMNS && !(count & (count - 1));
    for (uint32_t c = 0; sound && c < TENSOR_COLUMNS && run < count; c++) {
        run = t->owner[c] ? 0 : run + 1;
        first = c + 1 - run;
    }
    if (!sound)
        emu_report(w, ip, -1, "tensor_memory", "%u columns: a power of 2 from 32 to 512 is possible", count);
    else if (t->relinquished)
        emu_report(w, ip, -1, "tensor_memory", "the block has given up the right to allocate: tcgen05.relinquish_alloc_permit came before");
    else if (run < count)
        emu_report(w, ip, -1, "tensor_memory", "%u contiguous columns are requested and not free: the instruction waits for ever", count);
    if (!sound || t->relinquished || run < count)
        return warp_stop(w);
    for (uint32_t c = first; c < first + count; c++)
        t->owner[c] = (uint16_t)(first + 1);
    t->made = ip;
    int lane = __builtin_ctz(w->mask);
    lane_addresses(w, ip, SPACE_SHARED, to);
    int checks = w->checks; /* as an atomic: no proxy fence is asked for between it and a bulk copy to the same place */
    w->checks &= ~CHECK_KNOWN;
    uint8_t *host = resolve_lane(w, ip, lane, SPACE_SHARED, to[lane], 4, ACCESS_ATOMIC);
    w->checks = checks;
    if (host) {
        memcpy(host, &first, 4);
        memset(b->shared_known + (host - b->shared), 0xff, 4);
    }
    lanes_sync(w);
    return ip + 1;
}

const struct insn *emu_tensor_dealloc(struct warp *w, const struct insn *ip)
{
    struct tensor_memory *t = w->block->tensor;
    if (!whole_warp(w, ip))
        return ip + 1;
    uint32_t at = same_operand(w, ip, ip->a), count = same_operand(w, ip, ip->b), first = COLUMN_OF(at), have = 0;
    for (uint32_t c = first; t && c < TENSOR_COLUMNS && t->owner[c] == first + 1; c++)
        have++;
    if (!have || have != count || LANE_OF(at)) {
        emu_report(w, ip, -1, "tensor_memory", "%u columns at 0x%x are not an allocation%s", count, at,
                   have && !LANE_OF(at) ? " of that size" : "");
        return ip + 1;
    }
    for (uint32_t q = 0; q < 4; q++)
        tensor_memory_allows(w, ip, w->block, q, first, count, true, false);
    for (uint32_t c = first; c < first + count; c++) {
        t->owner[c] = 0;
        for (int lane = 0; lane < TENSOR_LANES; lane++)
            t->known[lane][c] = 0;
    }
    return ip + 1;
}

/* ---- checks ---- */
/* Reports an access behind one that it did not wait for. */
static bool unordered(struct warp *w, const struct insn *ip, const struct tensor_memory *t, uint32_t tag, uint32_t column, bool reads,
                      bool issued)
{
    const char *what = issued ? "the tensor core" : "the warp";
    if (issued && (tag & 63) == t->agent) /* products and copies of a block are done in order */
        return false;
    if (!race_unordered(w, tag))
        return false;
    if ((tag & 63) == t->agent)
        emu_report(w, ip, -1, "race",
                   "%s %s column %u of tensor memory while the tensor core %s it: no warp has waited for an mbarrier of a later "
                   "tcgen05.commit",
                   what, issued ? "uses" : "accesses", column, reads ? "reads" : "writes");
    else
        emu_report(w, ip, -1, "race", "%s accesses column %u of tensor memory, which warp %u %s: no barrier between them", what, column,
                   tag & 63, reads ? "reads" : "writes");
    return true;
}

bool tensor_memory_allows(struct warp *w, const struct insn *ip, struct block *b, uint32_t quarter, uint32_t column, uint32_t count,
                          bool write, bool issued)
{
    struct tensor_memory *t = b->tensor;
    uint32_t tag = issued ? (t ? (t->group + 1) << 7 | t->agent : 0) : w->clocks[w->id] << 7 | (uint32_t)w->id;
    bool watched = b == w->block && b->shadow && (w->checks & CHECK_RACE), told = false;
    for (uint32_t c = column; c < column + count; c++) {
        if (!t || c >= TENSOR_COLUMNS || !t->owner[c]) {
            if (w->checks & CHECK_BOUNDS)
                emu_report(w, ip, -1, "out_of_bounds", "column %u of tensor memory is not allocated", c);
            return false;
        }
        if (watched && !told)
            told = unordered(w, ip, t, t->writer[quarter][c], c, false, issued) ||
                   (write && unordered(w, ip, t, t->reader[quarter][c], c, true, issued));
        if (watched && (!issued || t->agent))
            *(write ? &t->writer[quarter][c] : &t->reader[quarter][c]) = tag;
    }
    return true;
}

bool tensor_columns_allow(struct warp *w, const struct insn *ip, struct block *b, uint32_t column, uint32_t count, bool write)
{
    bool ok = true;
    for (uint32_t q = 0; q < TENSOR_LANES / 32 && ok; q++)
        ok = tensor_memory_allows(w, ip, b, q, column, count, write, true);
    return ok;
}

static bool all_known(struct warp *w, const struct insn *ip, const struct tensor_memory *t, uint32_t lane, uint32_t column)
{
    if (t->known[lane][column] || !(w->checks & CHECK_KNOWN))
        return true;
    emu_report(w, ip, -1, "uninitialised", "lane %u, column %u of tensor memory was never written", lane, column);
    return false;
}

/* ---- loads and stores ---- */
/* Which lane (of 32) and which column, from the first of its repetition, register r of a thread has; columns of a repetition. */
static uint32_t shape_place(enum tensor_shape shape, uint32_t thread, uint32_t r, uint32_t *lane)
{
    switch (shape) {
    case SHAPE_16X64B: *lane = thread / 4 + thread / 2 % 2 * 8; return thread % 2;
    case SHAPE_16X128B: *lane = thread / 4 + r % 2 * 8; return thread % 4;
    case SHAPE_16X256B: *lane = thread / 4 + r / 2 * 8; return 2 * (thread % 4) + r % 2;
    case SHAPE_16X32BX2: *lane = thread % 16; return 0;
    default: *lane = thread; return 0;
    }
}

static const uint32_t shape_columns[] = {1, 2, 4, 8, 1}, shape_registers[] = {1, 1, 2, 4, 1};

/* One register of all threads from or to tensor memory. */
static void move_register(struct warp *w, const struct insn *ip, struct tensor_memory *t, uint32_t base, uint32_t r, bool store)
{
    const uint32_t *l = ip->list;
    enum tensor_shape shape = (enum tensor_shape)ip->kind;
    uint32_t *slot = SLOT(uint32_t, w, l[TENSOR_HEADER + r]), parts = l[TENSOR_PACKED] ? 2 : 1;
    for (uint32_t i = 0; i < 32; i++) {
        uint32_t v = 0;
        for (uint32_t part = 0; part < parts; part++) {
            uint32_t at = r * parts + part, lane, column = at / shape_registers[shape] * shape_columns[shape];
            column += COLUMN_OF(base) + shape_place(shape, i, at % shape_registers[shape], &lane);
            column += shape == SHAPE_16X32BX2 && i >= 16 ? l[TENSOR_SPLIT] : 0;
            lane += LANE_OF(base);
            uint32_t *cell = &t->cell[lane][column];
            if (store) {
                *cell = parts == 2 ? slot[i] >> 16 * part & 0xffff : slot[i];
                t->known[lane][column] = 1;
            } else if (all_known(w, ip, t, lane, column)) {
                v |= parts == 2 ? (*cell & 0xffff) << 16 * part : *cell;
            }
        }
        if (!store)
            slot[i] = v;
    }
}

static uint32_t reduced(uint32_t a, uint32_t b, unsigned how)
{
    bool most = how & REDUCE_MAX;
    if (how & REDUCE_FLOAT) {
        float x, y;
        memcpy(&x, &a, 4);
        memcpy(&y, &b, 4);
        if (x != x || y != y)
            return how & REDUCE_NAN || (x != x && y != y) ? 0x7fffffff : x != x ? b : a;
        return x == y ? (most ? a & b : a | b) : (x < y) == most ? b : a; /* -0 is less than 0 */
    }
    bool less = how & REDUCE_SIGNED ? (int32_t)a < (int32_t)b : a < b;
    return less == most ? b : a;
}

/* tcgen05.ld.red: the least or the largest of the registers of each thread. */
static void reduce_registers(struct warp *w, const struct insn *ip)
{
    const uint32_t *l = ip->list;
    uint32_t *to = SLOT(uint32_t, w, l[TENSOR_REDUCED]), keep = ip->count & REDUCE_ABS ? 0x7fffffff : ~0u;
    for (int i = 0; i < 32; i++) {
        uint32_t v = SLOT(const uint32_t, w, l[TENSOR_HEADER])[i] & keep;
        for (uint32_t r = 1; r < l[TENSOR_COUNT]; r++)
            v = reduced(v, SLOT(const uint32_t, w, l[TENSOR_HEADER + r])[i] & keep, ip->count);
        to[i] = v;
    }
}

static const struct insn *move(struct warp *w, const struct insn *ip, bool store)
{
    const uint32_t *l = ip->list;
    struct block *b = w->block;
    if (!whole_warp(w, ip))
        return ip + 1;
    uint32_t base = same_operand(w, ip, ip->a) + (uint32_t)ip->imm, quarter = (uint32_t)w->id % 4, lane = LANE_OF(base),
             column = COLUMN_OF(base);
    bool half = ip->kind != SHAPE_32X32B;
    uint32_t count = l[TENSOR_REPEAT] * shape_columns[ip->kind] * (l[TENSOR_PACKED] ? 2 : 1);
    if (lane != 32 * quarter && !(half && lane == 32 * quarter + 16)) {
        emu_report(w, ip, -1, "out_of_bounds", "warp %d reaches lanes %u to %u of tensor memory, not those from %u on", w->id, 32 * quarter,
                   32 * quarter + 31, lane);
        return ip + 1;
    }
    bool ok = tensor_memory_allows(w, ip, b, quarter, column, count, store, false) &&
              (ip->kind != SHAPE_16X32BX2 || tensor_memory_allows(w, ip, b, quarter, column + l[TENSOR_SPLIT], count, store, false));
    for (uint32_t r = 0; r < l[TENSOR_COUNT] && ok; r++)
        move_register(w, ip, b->tensor, base, r, store);
    if (l[TENSOR_REDUCED] != NO_REF && ok)
        reduce_registers(w, ip);
    w->memos[ip->memo].events++;
    return ip + 1;
}

const struct insn *emu_tensor_ld(struct warp *w, const struct insn *ip)
{
    return move(w, ip, false);
}

const struct insn *emu_tensor_st(struct warp *w, const struct insn *ip)
{
    return move(w, ip, true);
}

/* ---- shared memory ---- */
bool tensor_descriptor_read(struct warp *w, const struct insn *ip, int lane, uint64_t v, struct tensor_descriptor *d)
{
    static const uint32_t widths[] = {0, 128, 128, 0, 64, 0, 32, 0};
    uint32_t mode = (uint32_t)(v >> 61);
    *d = (struct tensor_descriptor){(uint32_t)(v & 0x3fff) << 4,
                                    (uint32_t)(v >> 16 & 0x3fff) << 4,
                                    (uint32_t)(v >> 32 & 0x3fff) << 4,
                                    widths[mode],
                                    mode == 1,
                                    v >> 52 & 1};
    if ((v >> 46 & 7) == 1 && (v >> 49 & 7) == 0 && (!mode || widths[mode]))
        return true;
    emu_report(w, ip, lane, "descriptor", "matrix descriptor 0x%llx: %s", (unsigned long long)v,
               (v >> 46 & 7) != 1   ? "bits 46 to 48 must be 1"
               : (v >> 49 & 7) != 0 ? "emu supports no base offset"
                                    : "there is no such swizzle");
    return false;
}

const uint8_t *tensor_chunk(struct warp *w, const struct insn *ip, int lane, struct block *b, const struct tensor_descriptor *d, uint32_t r,
                            uint32_t k, bool across)
{
    const struct tensor_memory *t = w->block->tensor;
    uint32_t at = descriptor_chunk(d, r, k, across);
    if (at < SHARED_RESERVED || at + 16 > b->shared_bytes) {
        emu_report(w, ip, lane, "out_of_bounds", "matrix descriptor reads shared memory at 0x%x; the block ends at 0x%x", at,
                   b->shared_bytes);
        return NULL;
    }
    if (b == w->block && b->shadow)
        agent_reads(w, ip, lane, at, 16, t && t->agent ? (t->group + 1) << 7 | t->agent : 0);
    return b->shared + at;
}

/* Writes 16 bytes, or 16 elements of `bits`, to four columns of a lane. */
static void put_chunk(struct tensor_memory *t, uint32_t lane, uint32_t column, const uint8_t *from, uint32_t bits)
{
    uint8_t bytes[16];
    if (bits)
        unpack_chunk(from, bits, bytes);
    memcpy(&t->cell[lane][column], bits ? bytes : from, 16);
    memset(&t->known[lane][column], 1, 4);
}

const struct insn *emu_tensor_cp(struct warp *w, const struct insn *ip)
{
    static const struct {
        uint8_t rows, chunks;
    } sizes[] = {{128, 2}, {4, 2}, {128, 1}, {64, 1}, {64, 1}, {32, 1}};
    int lane = __builtin_ctz(w->mask), kind = ip->kind;
    uint32_t base = SLOT(const uint32_t, w, ip->a)[lane] + (uint32_t)ip->imm, column = COLUMN_OF(base);
    struct tensor_descriptor d;
    struct block *pair[2];
    if (!tensor_descriptor_read(w, ip, lane, SLOT(const uint64_t, w, ip->b)[lane], &d) || !tensor_pair(w, ip, lane, pair))
        return ip + 1;
    for (uint32_t g = 0; g < ip->size; g++) {
        struct block *b = pair[g];
        bool ok = tensor_columns_allow(w, ip, b, column, 4u * sizes[kind].chunks, true);
        for (uint32_t r = 0; r < sizes[kind].rows && ok; r++)
            for (uint32_t c = 0; c < sizes[kind].chunks && ok; c++) {
                const uint8_t *from = tensor_chunk(w, ip, lane, b, &d, r, 16 * c, false);
                ok = from != NULL;
                if (!ok)
                    break;
                uint32_t at = LANE_OF(base) + (kind == COPY_4X256B ? 32 * r : kind == COPY_64X128B_01_23 ? r % 32 + r / 32 * 64 : r);
                uint32_t copies = kind == COPY_32X128B ? 4 : kind == COPY_64X128B_02_13 || kind == COPY_64X128B_01_23 ? 2 : 1;
                uint32_t apart = kind == COPY_64X128B_02_13 ? 64 : 32;
                for (uint32_t i = 0; i < copies; i++)
                    put_chunk(b->tensor, (at + i * apart) % TENSOR_LANES, column + 4 * c, from, ip->count);
            }
    }
    w->memos[ip->memo].events++;
    return ip + 1;
}

/* Eight columns of all lanes move down by one lane; the last of each 32 stays. The manual does not say where rows end; this is what
 * others read back on a B200. */
const struct insn *emu_tensor_shift(struct warp *w, const struct insn *ip)
{
    int lane = __builtin_ctz(w->mask);
    uint32_t base = SLOT(const uint32_t, w, ip->a)[lane] + (uint32_t)ip->imm, column = COLUMN_OF(base);
    struct block *pair[2];
    if (LANE_OF(base))
        emu_report(w, ip, lane, "descriptor", "emu shifts matrices that begin at lane 0, not at lane %u", LANE_OF(base));
    if (LANE_OF(base) || !tensor_pair(w, ip, lane, pair))
        return ip + 1;
    for (uint32_t g = 0; g < ip->size; g++) {
        struct block *b = pair[g];
        bool ok = tensor_columns_allow(w, ip, b, column, 8, true);
        for (uint32_t to = 0; to < TENSOR_LANES && ok; to++) {
            memcpy(&b->tensor->cell[to][column], &b->tensor->cell[lane_below(to)][column], 8 * sizeof(uint32_t));
            memcpy(&b->tensor->known[to][column], &b->tensor->known[lane_below(to)][column], 8);
        }
    }
    w->memos[ip->memo].events++;
    return ip + 1;
}

/* What was issued before is done: the mbarrier is told, in each block of the mask. */
const struct insn *emu_tensor_commit(struct warp *w, const struct insn *ip)
{
    struct block *b = w->block;
    uint64_t address[32];
    int lane = __builtin_ctz(w->mask);
    lane_addresses(w, ip, (enum ptx_space)ip->aux, address);
    address[lane] &= WINDOW_BYTES - 1;
    uint32_t mask = ip->b == NO_REF ? 0 : SLOT(const uint32_t, w, ip->b)[lane] & 0xffff,
             rank = (uint32_t)(address[lane] >> CLUSTER_SHIFT) & 0xff;
    uint32_t offset = (uint32_t)address[lane] & ((1u << CLUSTER_SHIFT) - 1);
    for (int i = 0; i < (b->cluster_count > 1 ? b->cluster_count : 1); i++) {
        struct block *to = b->cluster_count > 1 ? b->cluster[i] : b;
        if (ip->b == NO_REF ? (rank ? (int)rank - 1 != i && b->cluster_count > 1 : to != b) : !(mask >> i & 1))
            continue;
        int checks = w->checks;
        w->checks &= ~(CHECK_RACE | CHECK_KNOWN);
        uint8_t *host = resolve_lane(w, ip, lane, SPACE_SHARED, b->cluster_count > 1 ? (uint64_t)(i + 1) << CLUSTER_SHIFT | offset : offset,
                                     8, ACCESS_ATOMIC);
        w->checks = checks;
        if (!host)
            continue;
        if (b->tensor && b->tensor->agent && to == b)
            agent_commits(b, offset, b->tensor->agent, b->tensor->group + 1);
        mbarrier_update(w, host, to, offset, 0, 1, false);
    }
    if (b->tensor)
        b->tensor->group++;
    return ip + 1;
}
