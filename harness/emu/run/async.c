#include "emu/async.h"
#include "base/text.h"
#include "emu/check/agents.h"
#include "emu/check/copies.h"
#include "emu/check/dsmem.h"
#include <string.h>

/* Adds the value if it is new; the list has room for 32. */
static bool first_time(uint64_t *seen, int *count, uint64_t value)
{
    for (int i = *count - 1; i >= 0; i--)
        if (seen[i] == value)
            return false;
    seen[(*count)++] = value;
    return true;
}

/* cp.async.cg by the hardware's rule, as an H200 counts it (tests/gpu/calibration/cp_async_bypass). A piece is the part of a 32-byte sector
 * of global memory that goes to one 32-byte stretch of shared memory; each piece counts. A wavefront writes pieces of one global line into
 * one row of the banks, one for each sector. If a lane writes zeros, all lanes write them first, like a store. `plain` and `ideal` are the
 * store's wavefronts, which were added already, as were the sectors. The wavefronts beyond these are no bank conflicts. */
static void emu_count_bypass(struct memo *global, struct memo *shared, const uint64_t *from, const uint64_t *to, uint32_t full,
                             uint32_t mask, uint64_t plain, uint64_t ideal)
{
    uint64_t sectors[32], pieces[32], parts[32], total = full == mask ? 0 : plain;
    int sector_count = 0, piece_count = 0, part_count = 0;
    for (uint32_t rest = full; rest; rest &= rest - 1) {
        int i = __builtin_ctz(rest), before = 0;
        uint64_t sector = from[i] >> 5, row = to[i] >> 7 & 0xffff;
        if (!first_time(pieces, &piece_count, sector << 18 | (to[i] >> 5 & 0x3ffff)))
            continue;
        first_time(sectors, &sector_count, sector);
        for (int k = 0; k + 1 < piece_count; k++) /* of this sector in this row */
            before += pieces[k] >> 18 == sector && (pieces[k] >> 2 & 0xffff) == row;
        first_time(parts, &part_count, ((sector >> 2) << 16 | row) << 5 | (uint64_t)before);
    }
    total += (uint64_t)part_count;
    global->split += (uint64_t)(piece_count - sector_count);
    shared->wavefront_sum += total - plain;
    shared->ideal_sum += total - ideal;
}

/* Lines of global memory and rows of the banks have 128 bytes: what a pattern costs is the same wherever it begins in them. */
struct bypass {
    int32_t from[32], to[32];
    uint32_t full, mask, at;
    uint64_t split, wavefronts, ideal;
};
#define BYPASS_WAYS 8

void emu_count_bypass_again(struct memo *global, struct memo *shared, uint64_t from, uint32_t to, uint32_t full, uint32_t mask)
{
    uint64_t lane_from[32], lane_to[32];
    uint32_t at = (uint32_t)(from & 127) << 7 | (to & 127);
    uint32_t h = (at ^ full ^ (uint32_t)global->rel[31] * 3 ^ (uint32_t)global->rel[16] * 5 ^ (uint32_t)shared->rel[31] * 7) * 2654435761u;
    if (!global->bypass)
        global->bypass = xcalloc(BYPASS_WAYS, sizeof *global->bypass);
    struct bypass *k = &global->bypass[h >> 29];
    if (!full || k->full != full || k->mask != mask || k->at != at || memcmp(k->from, global->rel, sizeof k->from) != 0 ||
        memcmp(k->to, shared->rel, sizeof k->to) != 0) {
        for (int i = 0; i < 32; i++) {
            lane_from[i] = from + (uint64_t)(int64_t)global->rel[i];
            lane_to[i] = (uint32_t)(to + (uint32_t)shared->rel[i]);
        }
        *k = (struct bypass){
            .full = full, .mask = mask, .at = at, .split = global->split, .wavefronts = shared->wavefront_sum, .ideal = shared->ideal_sum};
        emu_count_bypass(global, shared, lane_from, lane_to, full, mask, shared->wavefronts, shared->ideal);
        k->split = global->split - k->split;
        k->wavefronts = shared->wavefront_sum - k->wavefronts;
        k->ideal = shared->ideal_sum - k->ideal;
        memcpy(k->from, global->rel, sizeof k->from);
        memcpy(k->to, shared->rel, sizeof k->to);
        return;
    }
    global->split += k->split;
    shared->wavefront_sum += k->wavefronts;
    shared->ideal_sum += k->ideal;
}

/* a = destination (imm), list: source slot, source-size slot or NO_REF, ignore predicate or NO_REF; size = bytes, kind = constant offset of
 * the source in list[3..4] */
const struct insn *emu_cp_async(struct warp *w, const struct insn *ip)
{
    const uint32_t *l = ip->list;
    uint64_t to[32], from[32];
    uint32_t good = 0;
    struct memo *m = &w->memos[ip->memo];
    int64_t source_offset = (int64_t)((uint64_t)l[4] << 32 | l[3]);
    lane_addresses(w, ip, SPACE_SHARED, to);
    for (uint32_t rest = w->mask; rest; rest &= rest - 1) {
        int i = __builtin_ctz(rest);
        uint32_t bytes = ip->size;
        from[i] = SLOT(const uint64_t, w, l[0])[i] + (uint64_t)source_offset;
        if (l[1] != NO_REF)
            bytes = SLOT(const uint32_t, w, l[1])[i] < bytes ? SLOT(const uint32_t, w, l[1])[i] : bytes;
        if (l[2] != NO_REF && (*SLOT(const uint32_t, w, l[2]) >> i & 1) != (ip->flags >> 2 & 1))
            bytes = 0;
        uint8_t *dst = resolve_lane(w, ip, i, SPACE_SHARED, to[i], ip->size, ACCESS_WRITE);
        if (!dst)
            continue;
        uint8_t line[16] = {0};
        if (bytes) {
            uint8_t *src;
            if (bytes == ip->size) {
                src = resolve_lane(w, ip, i, space_of(from[i]), from[i], bytes, ACCESS_READ);
            } else { /* part of a line: byte by byte, the alignment is that of the line */
                src = from[i] % ip->size ? NULL : resolve_lane(w, ip, i, SPACE_GLOBAL, from[i], 1, ACCESS_READ);
                for (uint32_t k = 1; k < bytes && src; k++)
                    src = resolve_lane(w, ip, i, SPACE_GLOBAL, from[i] + k, 1, ACCESS_READ) ? src : NULL;
            }
            if (src) {
                memcpy(line, src, bytes);
                good |= 1u << i;
            }
            m->bytes += bytes;
        }
        memcpy(dst, line, ip->size);
        if ((w->checks & CHECK_KNOWN) && to[i] >> CLUSTER_SHIFT == 0)
            emu_remember_copy(w, (uint32_t)to[i], ip->size);
    }
    m->events++;
    uint64_t before = m->wavefront_sum, ideal = m->ideal_sum;
    count_lanes(w, ip, SPACE_GLOBAL, from, good, ip->size);
    count_lanes(w, ip, SPACE_SHARED, to, w->mask, ip->size);
    if (ip->flags & COPY_BYPASS)
        emu_count_bypass(m, m, from, to, good, w->mask, m->wavefront_sum - before, m->ideal_sum - ideal);
    return ip + 1;
}

const struct insn *emu_cp_async_commit(struct warp *w, const struct insn *ip)
{
    w->async_groups++;
    return ip + 1;
}

/* Completes copies of groups before `first_open`: readable by the waiting threads now, by others after a barrier. */
static void release_copies(struct warp *w, const struct insn *ip, uint32_t first_open)
{
    int keep = 0;
    for (int i = 0; i < w->copy_count; i++) {
        const struct async_copy *c = &w->copies[i];
        if ((int32_t)(c->group - first_open) >= 0) {
            w->copies[keep++] = *c;
            continue;
        }
        w->wrote |= w->mask;
        memset(w->block->shared_known + c->offset, 0xff, c->bytes);
        if (w->checks & CHECK_RACE)
            retag_shared(w, c->offset, c->bytes);
    }
    w->copy_count = keep;
    keep = 0;
    for (int i = 0; i < w->source_count; i++)
        if ((int32_t)(w->sources[i].group - first_open) >= 0)
            w->sources[keep++] = w->sources[i];
    w->source_count = keep;
}

/* imm = groups that may stay open; -1: wait_all, which also takes what is not committed */
const struct insn *emu_cp_async_wait(struct warp *w, const struct insn *ip)
{
    uint32_t open = ip->imm < 0 ? 0 : (uint32_t)ip->imm;
    release_copies(w, ip, ip->imm < 0 ? w->async_groups + 1 : w->async_groups - (open > w->async_groups ? w->async_groups : open));
    return ip + 1;
}

static struct block *owner_of(struct warp *w, uint64_t address, uint32_t *offset)
{
    uint32_t rank = (uint32_t)(address >> CLUSTER_SHIFT) & 0xff;
    *offset = (uint32_t)address & ((1u << CLUSTER_SHIFT) - 1);
    return rank && w->block->cluster && rank <= (uint32_t)w->block->cluster_count ? w->block->cluster[rank - 1] : w->block;
}

/* Reports the use of an mbarrier that was not initialised or was invalidated. */
static bool mbarrier_there(struct warp *w, const struct insn *ip, int lane, const struct block *owner, uint32_t offset)
{
    if (!(w->checks & CHECK_SYNC) || (owner->mbarriers[offset >> 9] >> (offset >> 3 & 63) & 1))
        return true;
    emu_report(w, ip, lane, "mbarrier", "the mbarrier at shared 0x%x is not initialised", offset);
    return false;
}

static void mbarrier_begin(struct warp *w, const struct insn *ip, int lane, struct block *owner, uint32_t offset, bool begin)
{
    uint64_t *set = &owner->mbarriers[offset >> 9], bit = 1ull << (offset >> 3 & 63);
    if (begin && (*set & bit) && (w->checks & CHECK_SYNC))
        emu_report(w, ip, lane, "mbarrier", "the mbarrier at shared 0x%x is initialised again: mbarrier.inval must come first", offset);
    *set = begin ? *set | bit : *set & ~bit;
}

/* True if the awaited mbarrier phase has completed. If not, first completes pending copies. */
static bool mbarrier_over(struct warp *w, const struct insn *ip, int i, const uint8_t *host, struct block *owner, uint32_t offset)
{
    bool state = ip->kind == MBARRIER_TEST || ip->kind == MBARRIER_TRY;
    uint32_t phase = state ? MBARRIER_PHASE(SLOT(const uint64_t, w, ip->b)[i]) : SLOT(const uint32_t, w, ip->b)[i] & 1;
    uint64_t v;
    memcpy(&v, host, 8);
    if (MBARRIER_PHASE(v) == phase && w->runner->pending_count) {
        bulk_complete(w->runner);
        memcpy(&v, host, 8);
    }
    if (MBARRIER_PHASE(v) != phase)
        return true;
    w->waits_for = (struct mbarrier_wait){owner, offset, phase};
    return false;
}

/* The largest count that an mbarrier holds. */
#define MBARRIER_MOST 0xfffffu
static void mbarrier_counts(struct warp *w, const struct insn *ip, int lane, uint32_t offset, uint64_t v, uint32_t count)
{
    bool bytes = ip->kind == MBARRIER_EXPECT || (ip->flags & 4), arrives = ip->kind == MBARRIER_ARRIVE || ip->kind == MBARRIER_DROP;
    uint32_t arrivals = bytes ? 1 : count;
    if (!(w->runner->launch->checks & CHECK_SYNC))
        return;
    if (ip->kind == MBARRIER_INIT && (count == 0 || count > MBARRIER_MOST))
        emu_report(w, ip, lane, "mbarrier", "the mbarrier at shared 0x%x is initialised for %u arrivals: 1 to %u are possible", offset,
                   count, MBARRIER_MOST);
    if (arrives && (arrivals == 0 || arrivals > MBARRIER_PENDING(v)))
        emu_report(w, ip, lane, "mbarrier", "%u arrivals at the mbarrier at shared 0x%x, whose phase lacks %u", arrivals, offset,
                   MBARRIER_PENDING(v));
    if ((ip->kind == MBARRIER_EXPECT || (arrives && bytes)) && (int64_t)MBARRIER_TX(v) + count > MBARRIER_MOST)
        emu_report(w, ip, lane, "mbarrier", "the mbarrier at shared 0x%x cannot expect %lld bytes: the limit is %u", offset,
                   (long long)MBARRIER_TX(v) + count, MBARRIER_MOST);
}

static void mbarrier_lane(struct warp *w, const struct insn *ip, int i, uint64_t address, uint8_t *host, bool *yes)
{
    uint64_t v;
    uint32_t offset, count = ip->b == NO_REF ? 1 : SLOT(const uint32_t, w, ip->b)[i];
    struct block *owner = owner_of(w, address, &offset);
    memcpy(&v, host, 8);
    if (ip->kind != MBARRIER_INIT && mbarrier_there(w, ip, i, owner, offset)) {
        if (!race_init_known(w, owner, offset))
            emu_report(w, ip, i, "race", "the mbarrier at shared 0x%x was initialised by another %s: no barrier between them", offset,
                       owner == w->block ? "warp" : "block");
        if ((w->runner->launch->checks & CHECK_SYNC) && !agent_kept(owner, offset, v))
            emu_report(w, ip, i, "mbarrier", "the mbarrier at shared 0x%x was overwritten: mbarrier.inval must come first", offset);
    }
    mbarrier_counts(w, ip, i, offset, v, count);
    int user = owner == w->block ? race_use(w, offset, ip->kind == MBARRIER_INVAL) : -1;
    if (user >= 0 && (w->runner->launch->checks & CHECK_RACE))
        emu_report(w, ip, i, "race", "the mbarrier at shared 0x%x is invalidated while warp %d may use it: no barrier between them", offset,
                   user);
    dsmem_note(w, ip, i, owner);
    switch (ip->kind) {
    case MBARRIER_INIT:
        mbarrier_begin(w, ip, i, owner, offset, true);
        if (owner == w->block)
            race_init(w, ip, i, offset);
        v = mbarrier_pack(count, count, 0, 0) | (ip->size ? MBARRIER_V1 : 0);
        memcpy(host, &v, 8);
        agent_keeps(owner, offset, v);
        break;
    case MBARRIER_INVAL: mbarrier_begin(w, ip, i, owner, offset, false); break;
    case MBARRIER_ARRIVE:
    case MBARRIER_DROP:
        if (ip->d != NO_REF)
            SLOT(uint64_t, w, ip->d)[i] = v;
        if (ip->flags & 4) /* expect_tx first: b holds the bytes, one arrival */
            mbarrier_update(w, host, owner, offset, (int32_t)count, 1, false);
        else
            mbarrier_update(w, host, owner, offset, 0, count, ip->kind == MBARRIER_DROP);
        break;
    case MBARRIER_EXPECT: /* no phase ends by expecting more */
        v = mbarrier_pack(MBARRIER_EXPECTED(v), MBARRIER_PENDING(v), MBARRIER_TX(v) + (int32_t)count, MBARRIER_PHASE(v)) |
            (v & MBARRIER_V1);
        memcpy(host, &v, 8);
        agent_keeps(owner, offset, v);
        break;
    case MBARRIER_LAYOUT: *yes = ((v & MBARRIER_V1) != 0) == (ip->size != 0); return;
    case MBARRIER_COMPLETE: mbarrier_update(w, host, owner, offset, -(int32_t)count, 0, false); break;
    default: *yes = mbarrier_over(w, ip, i, host, owner, offset); break;
    }
    if (*yes) {
        bool state = ip->kind == MBARRIER_TEST || ip->kind == MBARRIER_TRY;
        lanes_sync(w);
        race_wait_phase(w, owner, offset, state ? -1 : (int)(SLOT(const uint32_t, w, ip->b)[i] & 1));
    }
}

/* Two lanes wait for the same phase of one mbarrier: what holds for one holds for the other. Each has its own reports. */
static bool mbarrier_alike(const struct warp *w, const struct insn *ip, const uint64_t *address, int a, int b)
{
    bool state = ip->kind == MBARRIER_TEST || ip->kind == MBARRIER_TRY;
    return !w->runner->launch->reports->count && address[a] == address[b] &&
           (state ? SLOT(const uint64_t, w, ip->b)[a] == SLOT(const uint64_t, w, ip->b)[b]
                  : SLOT(const uint32_t, w, ip->b)[a] == SLOT(const uint32_t, w, ip->b)[b]);
}

/* a = address; b = count, bytes, parity or state; d = state or predicate; aux = space; flags 4 = arrive.expect_tx; size 1 = layout v1 */
const struct insn *emu_mbarrier(struct warp *w, const struct insn *ip)
{
    uint64_t address[32];
    uint32_t passed = 0;
    enum ptx_space space = (enum ptx_space)ip->aux;
    bool waits = ip->kind >= MBARRIER_TEST && ip->kind <= MBARRIER_TRY_PARITY;
    if (ip->kind == MBARRIER_COUNT) {
        for (uint32_t rest = w->mask; rest; rest &= rest - 1)
            SLOT(uint32_t, w, ip->d)[__builtin_ctz(rest)] = MBARRIER_PENDING(SLOT(const uint64_t, w, ip->b)[__builtin_ctz(rest)]);
        return ip + 1;
    }
    lane_addresses(w, ip, space, address);
    int checks = w->checks; /* the barrier's own words are not data */
    w->checks &= ~(CHECK_RACE | CHECK_KNOWN);
    for (uint32_t rest = w->mask, before = 0; rest; before = rest, rest &= rest - 1) {
        int i = __builtin_ctz(rest);
        bool yes = false;
        if (space == SPACE_GENERIC)
            address[i] &= WINDOW_BYTES - 1;
        if (waits && before && mbarrier_alike(w, ip, address, i, __builtin_ctz(before))) {
            passed |= (passed >> __builtin_ctz(before) & 1) << i;
            continue;
        }
        uint8_t *host = resolve_lane(w, ip, i, SPACE_SHARED, address[i], 8, ip->kind == MBARRIER_INIT ? ACCESS_WRITE : ACCESS_ATOMIC);
        if (host)
            mbarrier_lane(w, ip, i, address[i], host, &yes);
        passed |= yes || !host ? 1u << i : 0;
    }
    w->checks = checks;
    if (!waits && ip->kind != MBARRIER_LAYOUT)
        return ip + 1;
    uint32_t *d = SLOT(uint32_t, w, ip->d);
    *d = (*d & ~w->mask) | (passed & w->mask);
    if (passed == w->mask || !waits) {
        w->stalls = 0;
    } else { /* let the others run */
        w->stalls++;
        w->fuel -= 1 << 19;
        if (w->others && ++w->polls > 256) {
            w->polls = 0;
            w->boost = 1024;
            w->earliest = 0;
        }
    }
    return ip + 1;
}

/* cp.async.mbarrier.arrive: all earlier copies of these threads have arrived by now; kind 1 = .noinc */
const struct insn *emu_cp_async_arrive(struct warp *w, const struct insn *ip)
{
    uint64_t address[32];
    release_copies(w, ip, w->async_groups + 1);
    lane_addresses(w, ip, (enum ptx_space)ip->aux, address);
    for (uint32_t rest = w->mask; rest; rest &= rest - 1) {
        int i = __builtin_ctz(rest);
        uint32_t offset;
        uint64_t at = address[i] & (WINDOW_BYTES - 1);
        int checks = w->checks;
        w->checks &= ~(CHECK_RACE | CHECK_KNOWN);
        uint8_t *host = resolve_lane(w, ip, i, SPACE_SHARED, at, 8, ACCESS_ATOMIC);
        w->checks = checks;
        struct block *owner = owner_of(w, at, &offset);
        if (host && ip->kind) /* without .noinc the pending count is first raised by one: nothing changes */
            mbarrier_update(w, host, owner, offset, 0, 1, false);
    }
    return ip + 1;
}
