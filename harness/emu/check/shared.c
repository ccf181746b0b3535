#include "emu/check/shadow.h"
#include "emu/check/agents.h"
#include "emu/check/dsmem.h"
#include "emu/check/races.h"
#include <stdio.h>
#include <string.h>

/* ---- shared memory: bytes never written, races ---- */
static void race(struct warp *w, const struct insn *ip, int lane, uint32_t offset, const char *what, uint32_t tag)
{
    uint32_t other = tag & 63;
    if (agent_is(w->block, other))
        agent_race(w, ip, lane, offset, what, tag);
    else if (other == SHADOW_MANY)
        emu_report(w, ip, lane, "race", "%s shared memory at 0x%x races with other warps: no barrier between them", what, offset);
    else
        emu_report(w, ip, lane, "race", "%s shared memory at 0x%x races with warp %u: no barrier between them", what, offset, other);
}

/* Reports an access ordered by an mbarrier behind lanes that had not synchronised with the lane that wrote. */
static void part_race(struct warp *w, const struct insn *ip, const struct block *b, int lane, uint32_t grain, uint32_t writer,
                      const char *word)
{
    uint32_t of = writer & 63, by = b->shadow->lane[grain];
    if (!writer || of == (uint32_t)w->id || of >= (uint32_t)b->warp_count || !left_out(&b->warps[of].part_released, by, writer >> 7))
        return;
    if (w->clocks[of] == b->warps[of].part_released.clock)
        emu_report(
            w, ip, lane, "race",
            "%s shared memory at 0x%x races with lane %u of warp %u: no __syncwarp between it and the lanes that arrived at the mbarrier",
            word, grain << w->program->shared_shift, by & 63, of);
}

static void part_read_race(struct warp *w, const struct insn *ip, const struct block *b, int lane, uint32_t grain)
{
    if (reads_in_part(w, b, grain))
        emu_report(w, ip, lane, "race",
                   "write to shared memory at 0x%x races with lane %u of warp %u, which reads: no __syncwarp between it and the lanes that "
                   "arrived at the mbarrier",
                   grain << w->program->shared_shift, b->shadow->lane_read[grain] & 63, b->shadow->reader[grain] & 63);
}

static void race_grain(struct warp *w, const struct insn *ip, struct block *b, int lane, uint32_t grain, enum access access, bool silent)
{
    static const char *const words[] = {"read of", "write to", "atomic on"};
    struct shadow *s = b->shadow;
    bool simple = w->program->simple_races;
    uint32_t now = (simple ? b->epoch : w->clocks[w->id]) << 7, id = (uint32_t)w->id, writer = s->writer[grain], reader = s->reader[grain];
    uint32_t at = grain << w->program->shared_shift;
    if ((ip->flags & ACCESS_RELEASE) && access != ACCESS_READ)
        race_flag_fence(w);
    if ((ip->flags & 2) && ip->op != OP_atom) { /* volatile: a flag; what its writer did before its last fence is known to the reader */
        if (access == ACCESS_READ) {
            if (writer && (writer & 63) != id && (writer & 63) < (uint32_t)b->warp_count)
                race_flag_acquire(w, &b->warps[writer & 63], writer >> 7);
            return;
        }
        access = ACCESS_ATOMIC;
    }
    if (access == ACCESS_ATOMIC &&
        !simple) /* the next atomic on this place knows what this warp did before: locks, tickets, barriers of atomics */
        race_wait(w, b, at);
    if (silent && race_unordered(w, writer))
        emu_note(w, ip, lane, "same_value", "write to shared memory at 0x%x of the value that another warp wrote: no barrier between them",
                 at);
    if (!silent && race_unordered(w, writer) && !(access == ACCESS_ATOMIC && (writer & SHADOW_ATOMIC)))
        race(w, ip, lane, at, words[access], writer);
    if (b->parted && !silent)
        part_race(w, ip, b, lane, grain, writer, words[access]);
    if (access == ACCESS_READ) {
        bool unread = !simple && w->program->cold[ip->index].unread;
        s->reader[grain] = now | (unread ? SHADOW_UNREAD : 0) |
                           (simple && race_unordered(w, reader) ? SHADOW_MANY : id); /* of clocks the last one counts */
        return;
    }
    if (race_unordered(w, reader))
        race(w, ip, lane, at, words[access], reader);
    else if (b->parted && access == ACCESS_WRITE)
        part_read_race(w, ip, b, lane, grain);
    if (s->source && race_unordered(w, s->source[grain]))
        race(w, ip, lane, at, words[access], s->source[grain]);
    if (access == ACCESS_ATOMIC && writer != (now | id)) /* else what this warp stored itself a moment ago: no atomic to others */
        s->writer[grain] = now | SHADOW_ATOMIC | (simple && race_unordered(w, writer) ? SHADOW_MANY : id);
    if (access == ACCESS_ATOMIC && !simple)
        race_arrive(w, b, at);
    if (access == ACCESS_WRITE)
        s->writer[grain] = now | id;
}

static void known_shared(struct warp *w, const struct insn *ip, struct block *b, int lane, uint32_t offset, uint32_t bytes,
                         enum access access)
{
    bool known = false, pending = false, quick = w->quick_watch; /* then a tag tells of a write, too */
    for (uint32_t k = offset; k < offset + bytes; k++) {
        known |= b->shared_known[k] != 0 || (quick && b->shadow->writer[k >> w->program->shared_shift] >> 7 >= b->first_epoch);
        pending |= b->shared_known[k] == KNOWN_PENDING;
        if (access == ACCESS_WRITE)
            b->shared_known[k] = 0xff;
    }
    if (pending && access != ACCESS_WRITE)
        emu_report(w, ip, lane, "cp_async_wait", "shared read of %u bytes at 0x%x without waiting for the cp.async that fills them", bytes,
                   offset);
    if (!known && access != ACCESS_WRITE && !(access == ACCESS_READ && (ip->flags & ACCESS_CHOSEN)))
        emu_report(w, ip, lane, "uninitialised", "shared read of %u bytes at 0x%x that no thread wrote", bytes, offset);
}

static void lane_race(struct warp *w, const struct insn *ip, int lane, uint32_t grain, enum access access, uint32_t other, const char *did)
{
    char who[32] = "several lanes";
    if ((other & 63) != MANY_LANES)
        snprintf(who, sizeof who, "lane %u", other & 63);
    emu_report(w, ip, lane, "race", "%s shared memory at 0x%x by lane %d, which %s of this warp %s: no __syncwarp between them",
               access == ACCESS_READ ? "read of" : "write to", grain << w->program->shared_shift, lane, who, did);
}

/* Lanes of one warp are ordered by __syncwarp and the like. A volatile access orders only diverged lanes, one of which may have waited for
 * the other. */
static void lane_grain(struct warp *w, const struct insn *ip, struct block *b, int lane, uint32_t grain, enum access access)
{
    uint32_t *of = &b->shadow->lane[grain], *read = b->shadow->lane_read ? &b->shadow->lane_read[grain] : NULL,
             mine = w->used | (uint32_t)lane, other = *of & 63;
    bool copy = ip->op == OP_cp_async, atomic = access == ACCESS_ATOMIC || ip->op == OP_atom, all = ip->op == OP_ldmatrix,
         strong = atomic || (!copy && !all && (ip->flags & ACCESS_STRONG)), beside = other < 32 && (w->mask >> other & 1);
    if (!atomic && (!strong || beside) && lanes_unordered(w, *of, all ? NO_LANE - 1 : (uint32_t)lane)) /* a row goes to several lanes */
        lane_race(w, ip, lane, grain, access, *of, "wrote");
    if (access == ACCESS_READ) {
        if (read && !copy && !all && !strong && (ip->flags & ACCESS_OVERTAKEN)) {
            *read = (*read ^ mine) < 64 && *read != mine ? w->used | MANY_LANES : mine;
            w->read = true;
        }
        return;
    }
    if (read && !strong && reads_unordered(w, *read, (uint32_t)lane))
        lane_race(w, ip, lane, grain, access, *read, "read");
    w->wrote |= 1u << lane;
    *of = w->synced | (atomic || w->doubles ? NO_LANE : (uint32_t)lane);
}

/* Has some other warp or lane touched these bytes with nothing between? */
static bool disputed(const struct warp *w, const struct block *b, int lane, uint32_t offset, uint32_t bytes)
{
    const struct shadow *s = b->shadow;
    int shift = w->program->shared_shift;
    for (uint32_t g = offset >> shift; g <= (offset + bytes - 1) >> shift; g++)
        if (race_unordered(w, s->writer[g]) || race_unordered(w, s->reader[g]) || s->lane[g] >> 6 == w->synced >> 6 ||
            (w->part_count && lanes_unordered(w, s->lane[g], (uint32_t)lane)) || (s->lane_read && s->lane_read[g] >> 6 == w->used >> 6))
            return true;
    return false;
}

/* Were all of the bytes written before? */
static bool known_before(const struct warp *w, const struct block *b, uint32_t offset, uint32_t bytes)
{
    bool known = true;
    for (uint32_t k = offset; k < offset + bytes; k++)
        known &= b->shared_known[k] == 0xff || (w->quick_watch && b->shadow->writer[k >> w->program->shared_shift] >> 7 >= b->first_epoch);
    return known;
}

/* A store of what is there already, or of what differs from it by rounding. */
static bool silent_shared(struct warp *w, const struct insn *ip, const struct block *b, int lane, uint32_t offset, uint32_t bytes)
{
    uint8_t value[32];
    bool matrix = ip->op == OP_stmatrix;
    if ((ip->op != OP_st_shared && ip->op != OP_st_generic && !matrix) || (ip->flags & 2) || bytes > sizeof value)
        return false;
    if (matrix)
        matrix_row(w, ip, lane, value);
    else
        lane_out(w, ip, lane, value);
    return !memcmp(value, b->shared + offset, bytes) ||
           (ip->size == 4 && !matrix && races_rounding(value, b->shared + offset, bytes, races_scale(w, ip)));
}

void check_shared_lane(struct warp *w, const struct insn *ip, struct block *b, int lane, uint32_t offset, uint32_t bytes,
                       enum access access)
{
    int shift = w->program->shared_shift;
    bool silent = access == ACCESS_WRITE && b->shadow && b == w->block && disputed(w, b, lane, offset, bytes) &&
                  known_before(w, b, offset, bytes) && silent_shared(w, ip, b, lane, offset, bytes);
    if (w->checks & CHECK_KNOWN)
        known_shared(w, ip, b, lane, offset, bytes, access);
    if ((w->checks & CHECK_RACE) && b->shadow && b->cluster_count > 1)
        dsmem_access(w, ip, b, lane, offset, bytes, silent ? ACCESS_READ : access);
    if ((w->checks & CHECK_RACE) && b == w->block && b->shadow)
        for (uint32_t g = offset >> shift; g <= (offset + bytes - 1) >> shift; g++) {
            race_grain(w, ip, b, lane, g, silent ? ACCESS_READ : access, silent);
            if (!silent)
                lane_grain(w, ip, b, lane, g, access);
        }
}

void check_shared(struct warp *w, const struct insn *ip, const struct memo *m, uint32_t offset, uint32_t bytes, bool store)
{
    if (store && m->doubles && ip->op != OP_cp_async && (w->checks & CHECK_RACE))
        races_doubles(w, ip, m, offset, true);
    w->doubles = store && m->doubles;
    for (uint32_t rest = w->mask; rest; rest &= rest - 1) {
        int i = __builtin_ctz(rest);
        check_shared_lane(w, ip, w->block, i, offset + (uint32_t)m->rel[i], bytes, store ? ACCESS_WRITE : ACCESS_READ);
    }
    w->doubles = false;
    if (!store || !(ip->flags & 2))
        return;
    w->clocks[w->id]++;
    races_tick(w);
}

void race_join(struct block *b, uint64_t arrived, uint64_t waiting)
{
    for (int i = 0; i < b->warp_count; i++)
        lanes_sync(&b->warps[i]);
    if (++b->epoch == EPOCH_MAX && b->shadow && b->warps[0].program->simple_races) { /* begin again, keeping who wrote */
        for (uint32_t g = 0; g < b->shadow->grains; g++)
            b->shadow->writer[g] = b->shadow->writer[g] >> 7 >= b->first_epoch ? 1u << 7 : 0;
        memset(b->shadow->reader, 0, b->shadow->grains * sizeof *b->shadow->reader);
        b->first_epoch = 1;
        b->epoch = 2;
    }
    if (b->shadow && !b->warps[0].program->simple_races)
        agents_join(b, arrived, waiting);
    races_join(b, arrived, waiting);
}

void retag_shared(struct warp *w, uint32_t offset, uint32_t bytes)
{
    struct shadow *s = w->block->shadow;
    int shift = w->program->shared_shift;
    uint32_t now = (w->program->simple_races ? w->block->epoch : w->clocks[w->id]) << 7 | (uint32_t)w->id;
    for (uint32_t g = offset >> shift; s && g <= (offset + bytes - 1) >> shift; g++)
        s->writer[g] = now;
}
