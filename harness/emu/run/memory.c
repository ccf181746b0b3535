/* emu/run/memory: where an access goes when it is not regular: lane by lane, with every check; sectors and wavefronts of patterns. */
#include "emu/check/races.h"
#include "emu/run/path.h"
#include <string.h>

#define NULL_BYTES 65536u        /* a null pointer and an index */
#define FAR_BYTES (256ull << 20) /* an address further than this from every buffer is not the effect of a wrong index */

enum ptx_space space_of(uint64_t generic)
{
    if (generic >= GLOBAL_BASE)
        return SPACE_GLOBAL;
    switch (generic & ~(WINDOW_BYTES - 1)) {
    case SHARED_WINDOW: return SPACE_SHARED;
    case LOCAL_WINDOW: return SPACE_LOCAL;
    case PARAM_WINDOW: return SPACE_PARAM;
    default: return SPACE_GLOBAL; /* no buffer is there: reported as global */
    }
}

/* A spinning warp must let others run: it gives up its turn after some polls. */
void emu_poll(struct warp *w)
{
    lanes_parted(w);
    w->fuel -= 1 << 9;
    if (w->others && ++w->polls > 1024) {
        w->polls = 0;
        w->boost = 4096;
    }
}

/* ---- one lane ---- */
static const char *access_word(enum access a)
{
    return a == ACCESS_READ ? "read" : a == ACCESS_WRITE ? "write" : "atomic";
}

/* Bytes from an access to a buffer that it misses. */
static uint64_t distance(const struct buffer *b, uint64_t address, uint32_t bytes)
{
    return address < b->base ? b->base - address : address + bytes - (b->base + b->bytes);
}

/* The buffer that an address would be in, had an index of 32 bits not wrapped: 2^32 elements of `*size` bytes further on. NULL: none. */
static const struct buffer *wrapped(const struct address_space *s, uint64_t address, uint32_t bytes, int *size)
{
    for (int i = 0; i < s->count; i++)
        for (*size = 1; *size <= 16; *size *= 2) {
            uint64_t meant = address + ((uint64_t)*size << 32);
            const struct buffer *b = s->buffers[i];
            if (meant >= b->base && meant + bytes <= b->base + b->bytes)
                return b;
        }
    return NULL;
}

/* Reports an address outside all buffers, relative to the nearest one; null pointers and far addresses on their own. */
static void report_outside(struct warp *w, const struct insn *ip, int lane, uint64_t address, uint32_t bytes, enum access access)
{
    const struct address_space *s = w->runner->launch->space;
    const struct buffer *best = NULL, *meant;
    const char *what = access_word(access);
    int size;
    for (int i = 0; i < s->count; i++)
        if (!best || distance(s->buffers[i], address, bytes) < distance(best, address, bytes))
            best = s->buffers[i];
    if (address < NULL_BYTES)
        emu_report(w, ip, lane, "out_of_bounds", "global %s of %u bytes at 0x%llx, a null pointer", what, bytes,
                   (unsigned long long)address);
    else if ((meant = wrapped(s, address, bytes, &size)))
        emu_report(w, ip, lane, "out_of_bounds",
                   "global %s of %u bytes at 0x%llx; index overflow: 2^32 elements of %d byte%s further on is `%s`", what, bytes,
                   (unsigned long long)address, size, size == 1 ? "" : "s", meant->label);
    else if (!best || distance(best, address, bytes) > FAR_BYTES)
        emu_report(w, ip, lane, "out_of_bounds", "global %s of %u bytes at 0x%llx, in no buffer", what, bytes, (unsigned long long)address);
    else if (address < best->base)
        emu_report(w, ip, lane, "out_of_bounds", "global %s of %u bytes at 0x%llx, %llu bytes before `%s`", what, bytes,
                   (unsigned long long)address, (unsigned long long)(best->base - address), best->label);
    else
        emu_report(w, ip, lane, "out_of_bounds", "global %s of %u bytes at 0x%llx, offset %llu of `%s`, which has %llu", what, bytes,
                   (unsigned long long)address, (unsigned long long)(address - best->base), best->label, (unsigned long long)best->bytes);
}

void mark_sectors(struct warp *w, struct buffer *b, uint64_t offset, uint64_t bytes, enum access access)
{
    uint8_t mark = (uint8_t)w->marks;
    if (b->seen && access != ACCESS_WRITE)
        memset(b->seen + offset, 1, bytes);
    for (uint64_t k = offset >> 5; bytes && k <= (offset + bytes - 1) >> 5; k++) {
        if (access == ACCESS_READ || (access == ACCESS_ATOMIC && !b->read[k])) /* what an atomic reads is not a read of its own */
            b->read[k] = access == ACCESS_READ ? mark : 1;
        if (access != ACCESS_READ && b->written[k] != mark)
            races_mark(w->runner->launch, b, (int64_t)k, (int64_t)k);
    }
}

static uint8_t *lane_global(struct warp *w, const struct insn *ip, int lane, uint64_t address, uint32_t bytes, enum access access)
{
    const struct address_space *s = w->runner->launch->space;
    struct buffer *b = space_nearest(s, address);
    if (!b || address < b->base || address - b->base + bytes > b->bytes) {
        report_outside(w, ip, lane, address, bytes, access);
        return NULL;
    }
    if (access != ACCESS_READ && b->constant) {
        emu_report(w, ip, lane, "out_of_bounds", "%s of %u bytes at 0x%llx to constant `%s`", access_word(access), bytes,
                   (unsigned long long)address, b->label);
        return NULL;
    }
    const struct buffer *from = origin_buffer(w, ip);
    if (from && from != b)
        emu_report(w, ip, lane, "out_of_bounds", "global %s of %u bytes at 0x%llx, by a pointer into `%s`: that is `%s`",
                   access_word(access), bytes, (unsigned long long)address, from->label, b->label);
    uint64_t offset = address - b->base;
    if (b == w->runner->launch->heap.buffer && !heap_allows(w, ip, lane, offset, bytes, access))
        return NULL;
    mark_sectors(w, b, offset, bytes, access);
    if (b->known && (w->checks & CHECK_KNOWN))
        known_lane(w, ip, lane, b, offset, bytes, access);
    if (w->trace)
        races_lane(w, ip, lane, b, offset, bytes, access);
    return b->host + offset;
}

static uint8_t *lane_shared(struct warp *w, const struct insn *ip, int lane, uint64_t address, uint32_t bytes, enum access access)
{
    struct block *b = w->block;
    uint32_t rank = (uint32_t)(address >> CLUSTER_SHIFT), offset = (uint32_t)(address & ((1u << CLUSTER_SHIFT) - 1));
    if (rank && rank <= (uint32_t)b->cluster_count && b->cluster)
        b = b->cluster[rank - 1];
    else if (rank)
        offset = b->shared_bytes;
    if (offset < w->program->shared_from || offset + bytes > b->shared_bytes) {
        emu_report(w, ip, lane, "out_of_bounds", "shared %s of %u bytes at 0x%llx; the block has 0x%x to 0x%x (%u bytes)",
                   access_word(access), bytes, (unsigned long long)address, SHARED_RESERVED, b->shared_bytes,
                   b->shared_bytes - SHARED_RESERVED);
        return NULL;
    }
    uint16_t k = w->program->cold[ip->index].origin;
    const struct origin *o = k ? &w->program->origins[k - 1] : NULL;
    if (o && o->high && rank == 0 && (offset < o->low || offset + bytes > o->high))
        emu_report(w, ip, lane, "out_of_bounds", "shared %s of %u bytes at 0x%x, by a pointer into `%s`, which ends at 0x%x",
                   access_word(access), bytes, offset, o->name, o->high);
    if (w->checks & (CHECK_KNOWN | CHECK_RACE))
        check_shared_lane(w, ip, b, lane, offset, bytes, access);
    return b->shared + offset;
}

static uint8_t *lane_local(struct warp *w, const struct insn *ip, int lane, uint64_t address, uint32_t bytes, enum access access)
{
    if (address + bytes > w->local_stride || address + bytes < address) {
        emu_report(w, ip, lane, "out_of_bounds", "local %s of %u bytes at 0x%llx; the thread has %llu bytes", access_word(access), bytes,
                   (unsigned long long)address, (unsigned long long)w->local_stride);
        return NULL;
    }
    size_t at = (size_t)lane * w->local_stride + address;
    if (w->checks & CHECK_KNOWN) {
        bool known = false;
        for (uint32_t k = 0; k < bytes; k++) {
            uint8_t *bits = &w->local_known[(at + k) >> 3], bit = (uint8_t)(1u << ((at + k) & 7));
            known |= (*bits & bit) != 0;
            if (access != ACCESS_READ)
                *bits |= bit;
        }
        if (!known && access == ACCESS_READ && !(ip->flags & ACCESS_CHOSEN))
            emu_report(w, ip, lane, "uninitialised", "local read of %u bytes at 0x%llx that the thread has not written", bytes,
                       (unsigned long long)address);
    }
    return w->local + at;
}

uint8_t *resolve_lane(struct warp *w, const struct insn *ip, int lane, enum ptx_space space, uint64_t address, uint32_t bytes,
                      enum access access)
{
    if (space == SPACE_GENERIC) {
        space = space_of(address);
        if (space == SPACE_SHARED || space == SPACE_LOCAL || space == SPACE_PARAM)
            address &= WINDOW_BYTES - 1;
    }
    static const char *const names[SPACE_COUNT] = {"generic", "global", "shared", "local", "constant", "parameter"};
    uint32_t align = bytes & (0 - bytes);
    if (address & (align - 1)) {
        emu_report(w, ip, lane, "misaligned", "%s %s of %u bytes at 0x%llx, not a multiple of %u", names[space], access_word(access), bytes,
                   (unsigned long long)address, align);
        return NULL;
    }
    switch (space) {
    case SPACE_SHARED: return lane_shared(w, ip, lane, address, bytes, access);
    case SPACE_LOCAL: return lane_local(w, ip, lane, address, bytes, access);
    case SPACE_PARAM:
        if (access != ACCESS_READ || address + bytes > w->program->param_bytes) {
            emu_report(w, ip, lane, "out_of_bounds", "parameter %s of %u bytes at offset 0x%llx of %u", access_word(access), bytes,
                       (unsigned long long)address, w->program->param_bytes);
            return NULL;
        }
        return (uint8_t *)(uintptr_t)w->runner->launch->params + address;
    default: return lane_global(w, ip, lane, address, bytes, access);
    }
}

void lane_addresses(const struct warp *w, const struct insn *ip, enum ptx_space space, uint64_t *out)
{
    bool wide = space == SPACE_GENERIC || space == SPACE_GLOBAL || space == SPACE_CONST || (ip->flags & 1);
    for (int i = 0; i < 32; i++)
        if (wide && (space == SPACE_SHARED || space == SPACE_LOCAL))
            out[i] = (uint32_t)(SLOT(const uint64_t, w, ip->a)[i] + (uint64_t)ip->imm);
        else if (wide)
            out[i] = SLOT(const uint64_t, w, ip->a)[i] + (uint64_t)ip->imm;
        else
            out[i] = (uint32_t)(SLOT(const uint32_t, w, ip->a)[i] + (uint32_t)ip->imm);
}

/* ---- counting several lanes ---- */
static void count_local(struct memo *m, const uint64_t *address, uint32_t mask, uint32_t bytes)
{
    uint64_t seen[32 * 8];
    int n = 0;
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
        int i = __builtin_ctz(rest);
        /* the same word of all lanes lies together: word w of lane l at (w * 32 + l) * 4 */
        for (uint64_t word = address[i] >> 2; word <= (address[i] + bytes - 1) >> 2 && n < 32 * 8; word++) {
            uint64_t sector = word * 4 + (uint64_t)i / 8;
            int k = n - 1;
            while (k >= 0 && seen[k] != sector)
                k--;
            if (k < 0)
                seen[n++] = sector;
        }
    }
    m->local_requests++;
    m->local_sectors += (uint64_t)n;
}

void count_lanes(struct warp *w, const struct insn *ip, enum ptx_space space, const uint64_t *address, uint32_t mask, uint32_t bytes)
{
    struct memo *m = &w->memos[ip->memo];
    if (!mask)
        return;
    if (space == SPACE_GENERIC)
        space = space_of(address[__builtin_ctz(mask)]);
    if (space == SPACE_PARAM)
        return;
    if (space == SPACE_LOCAL) {
        count_local(m, address, mask, bytes);
        return;
    }
    struct memo t;
    uint64_t first = address[__builtin_ctz(mask)];
    t.mask = 0;
    memset(t.rel, 0, sizeof t.rel);
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
        int i = __builtin_ctz(rest);
        t.rel[i] = (int32_t)(address[i] - first);
        if (space_of(address[i]) == space_of(first))
            t.mask |= 1u << i;
    }
    if (space == SPACE_SHARED) {
        int ideal;
        m->shared_requests++;
        m->wavefront_sum += (uint64_t)shared_wavefronts(&t, t.mask, (uint32_t)first & 3, bytes, &ideal);
        m->ideal_sum += (uint64_t)ideal;
    } else {
        uint32_t lines, distinct = memo_learn(&t, bytes, SECTOR_GAP);
        int fewest;
        memo_add_waves(m);
        path_read(w, &t, ip->memo, first);
        m->requests++;
        m->waved++;
        m->wave_sum += (uint64_t)shared_wavefronts(&t, t.mask, (uint32_t)first & 3, bytes, &fewest);
        m->sector_sum += span_sectors(&t, (int64_t)first, &lines);
        m->line_sum += lines;
        m->best_sum += (distinct * bytes + 31) / 32;
    }
}

/* ---- irregular loads and stores ---- */
static void lane_in(struct warp *w, const struct insn *ip, int i, const uint8_t *from)
{
    for (int v = 0; v < ip->count; v++, from += ip->size) {
        uint32_t ref = ip->count == 1 ? ip->d : ip->list[v];
        uint64_t x = 0;
        if (ref == NO_REF)
            continue;
        memcpy(&x, from, ip->size < 8 ? ip->size : 8);
        switch (ip->kind) {
        case MOVE_16:
        case MOVE_U8_16: SLOT(uint16_t, w, ref)[i] = (uint16_t)x; break;
        case MOVE_S8_16: SLOT(uint16_t, w, ref)[i] = (uint16_t)(int8_t)x; break;
        case MOVE_32:
        case MOVE_U8_32:
        case MOVE_U16_32: SLOT(uint32_t, w, ref)[i] = (uint32_t)x; break;
        case MOVE_S8_32: SLOT(uint32_t, w, ref)[i] = (uint32_t)(int8_t)x; break;
        case MOVE_S16_32: SLOT(uint32_t, w, ref)[i] = (uint32_t)(int16_t)x; break;
        case MOVE_S8_64: SLOT(uint64_t, w, ref)[i] = (uint64_t)(int8_t)x; break;
        case MOVE_S16_64: SLOT(uint64_t, w, ref)[i] = (uint64_t)(int16_t)x; break;
        case MOVE_S32_64: SLOT(uint64_t, w, ref)[i] = (uint64_t)(int32_t)x; break;
        case MOVE_128:
            SLOT(uint64_t, w, ref)[2 * i] = x;
            memcpy(&SLOT(uint64_t, w, ref)[2 * i + 1], from + 8, 8);
            break;
        default: SLOT(uint64_t, w, ref)[i] = x; break;
        }
    }
}

static const struct insn *move_any(struct warp *w, const struct insn *ip, enum ptx_space space, bool store)
{
    static const uint8_t zeros[64];
    uint64_t address[32];
    uint8_t *host[32];
    uint32_t bytes = (uint32_t)ip->size * ip->count, good = 0;
    lane_addresses(w, ip, space, address);
    for (uint32_t rest = w->mask; rest; rest &= rest - 1) {
        int i = __builtin_ctz(rest);
        host[i] = resolve_lane(w, ip, i, space, address[i], bytes, store ? ACCESS_WRITE : ACCESS_READ);
        good |= host[i] ? 1u << i : 0;
        if (store && host[i]) /* at once: the next lane may store the same value */
            lane_out(w, ip, i, host[i]);
    }
    count_lanes(w, ip, space, address, good, bytes);
    for (uint32_t rest = store ? 0 : w->mask; rest; rest &= rest - 1) {
        int i = __builtin_ctz(rest);
        lane_in(w, ip, i, good >> i & 1 ? host[i] : zeros);
    }
    if (ip->flags & 2)
        emu_poll(w);
    return ip + 1;
}
const struct insn *emu_load_any(struct warp *w, const struct insn *ip, enum ptx_space space)
{
    return move_any(w, ip, ip->op == OP_ld_generic ? SPACE_GENERIC : space, false);
}
const struct insn *emu_store_any(struct warp *w, const struct insn *ip, enum ptx_space space)
{
    return move_any(w, ip, ip->op == OP_st_generic ? SPACE_GENERIC : space, true);
}

/* A function's parameter variables: imm = offset of lane 0's copy in the frame, aux = bytes between lanes. */
void emu_load_frame(struct warp *w, const struct insn *ip)
{
    for (uint32_t rest = w->mask; rest; rest &= rest - 1) {
        int i = __builtin_ctz(rest);
        lane_in(w, ip, i, w->base[0] + ip->imm + (size_t)i * ip->aux);
    }
}
void emu_store_frame(struct warp *w, const struct insn *ip)
{
    for (uint32_t rest = w->mask; rest; rest &= rest - 1) {
        int i = __builtin_ctz(rest);
        lane_out(w, ip, i, w->base[0] + ip->imm + (size_t)i * ip->aux);
    }
}

/* A store of nobody knows what: what stood there is lost. */
void emu_discard(struct warp *w, const struct insn *ip)
{
    uint64_t address[32];
    lane_addresses(w, ip, SPACE_GENERIC, address);
    for (uint32_t rest = w->mask; rest; rest &= rest - 1) {
        int i = __builtin_ctz(rest);
        uint8_t *host = resolve_lane(w, ip, i, SPACE_GENERIC, address[i], DISCARD_BYTES, ACCESS_WRITE);
        if (host)
            memset(host, 0xff, DISCARD_BYTES);
    }
}

/* b = bytes, which have `size` bytes themselves */
void emu_store_bulk(struct warp *w, const struct insn *ip)
{
    uint64_t address[32];
    lane_addresses(w, ip, (enum ptx_space)ip->aux, address);
    for (uint32_t rest = w->mask; rest; rest &= rest - 1) {
        int i = __builtin_ctz(rest);
        uint64_t bytes = ip->size == 4 ? SLOT(const uint32_t, w, ip->b)[i] : SLOT(const uint64_t, w, ip->b)[i];
        if (bytes % 8)
            emu_report(w, ip, i, "misaligned", "st.bulk of %llu bytes, not a multiple of 8", (unsigned long long)bytes);
        for (uint64_t at = 0; at + 8 <= bytes; at += 8) {
            uint8_t *host = resolve_lane(w, ip, i, (enum ptx_space)ip->aux, address[i] + at, 8, ACCESS_WRITE);
            if (!host)
                break;
            memset(host, 0, 8);
        }
    }
}

void emu_isspace(struct warp *w, const struct insn *ip)
{
    uint32_t m = 0;
    for (int i = 0; i < 32; i++) {
        uint64_t a = SLOT(const uint64_t, w, ip->a)[i];
        enum ptx_space s = space_of(a);
        if (s == SPACE_GLOBAL) {
            const struct buffer *b = space_find(w->runner->launch->space, a);
            s = b && b->constant ? SPACE_CONST : s;
        }
        bool yes = s == ip->aux;
        if (s == SPACE_SHARED && ip->aux == SPACE_SHARED && ip->kind == 0)
            yes = (a & (WINDOW_BYTES - 1)) >> CLUSTER_SHIFT == 0;
        m |= (uint32_t)yes << i;
    }
    uint32_t *d = SLOT(uint32_t, w, ip->d);
    *d = (*d & ~w->mask) | (m & w->mask);
}
