/* emu/check/proxies: checks what bulk copies and wgmma do in shared memory against the warps' accesses: order, lanes, proxy fences. */
#include "emu/check/agents.h"
#include "emu/check/shadow.h"
#include "emu/check/dsmem.h"
#include <string.h>
#include <wchar.h>

static uint32_t unordered_of(const struct warp *w, const struct shadow *s, uint32_t g)
{
    return race_unordered(w, s->writer[g])                ? s->writer[g]
           : race_unordered(w, s->reader[g])              ? s->reader[g] & ~SHADOW_UNREAD
           : s->source && race_unordered(w, s->source[g]) ? s->source[g]
                                                          : 0;
}

/* Is what was said of grain g said of the next one too? */
static bool same_tags(const struct shadow *s, uint32_t g)
{
    return s->writer[g] == s->writer[g + 1] && s->reader[g] == s->reader[g + 1] && s->lane[g] == s->lane[g + 1] &&
           (!s->source || s->source[g] == s->source[g + 1]) && (!s->lane_read || s->lane_read[g] == s->lane_read[g + 1]);
}

/* Is the same said of all grains from `low` to `high`? */
static bool all_alike(const uint32_t *tags, uint32_t low, uint32_t high)
{
    return !tags || memcmp(tags + low, tags + low + 1, (high - low - 1) * sizeof *tags) == 0;
}

static void fill(uint32_t *tags, uint32_t count, uint32_t tag)
{
    wmemset((wchar_t *)(void *)tags, (wchar_t)tag, count);
}

/* An arrival does not wait for an ldmatrix whose result has not been used. Until its warp executes a proxy fence, the read may happen after
 * a bulk copy that was issued later (seen on an H200: the next slice's weights instead of the last rows of this one). */
static bool still_reads(const struct warp *w, const struct block *b, uint32_t reader)
{
    return (reader & SHADOW_UNREAD) && (reader & 63) < (uint32_t)b->warp_count && reader >> 7 > w->fenced[reader & 63];
}

/* True if a warp of block b stored there, ordered before w but without a fence to the async proxy on any path. Atomics are exempt. */
static bool unfenced(const struct warp *w, const struct block *b, uint32_t g)
{
    const struct shadow *s = b->shadow;
    uint32_t of = s->writer[g], by = of & 63, clock = of >> 7;
    if (!of || (of & SHADOW_ATOMIC) || by >= (uint32_t)b->warp_count)
        return false;
    const struct part_released *part = &b->warps[by].part_fenced;
    if (b == w->block)
        return clock > w->fenced[by] || (left_out(part, s->lane[g], clock) && w->fenced[by] == part->clock);
    bool fenced = !s->far_writer || s->far_writer[g] >> 5 <= b->cluster[0]->far_fenced[b->cluster_rank];
    for (int i = 0; i < b->warp_count && !fenced; i++)
        fenced = b->warps[i].fenced[by] >= clock;
    return !fenced;
}

bool reads_in_part(const struct warp *w, const struct block *b, uint32_t g)
{
    uint32_t reader = b->shadow->reader[g], of = reader & 63;
    return b->parted && b->shadow->lane_read && reader && of != (uint32_t)w->id && of < (uint32_t)b->warp_count &&
           left_out_reading(&b->warps[of].part_released, b->shadow->lane_read[g], reader >> 7) &&
           w->clocks[of] == b->warps[of].part_released.clock;
}

/* Checks one grain that a copy overwrites; true if something was reported. */
static bool overwrites(struct warp *w, const struct insn *ip, int lane, const struct block *b, uint32_t g, uint32_t tag)
{
    const struct shadow *s = b->shadow;
    bool ours = b == w->block, async = ip->op != OP_store_async;
    uint32_t at = g << w->program->shared_shift, before = ours ? unordered_of(w, s, g) : 0;
    if (before && (before & tag & SHADOW_ATOMIC))
        return false;
    if (agent_is(b, before & 63))
        agent_race(w, ip, lane, at, "bulk copy to", before);
    else if (before)
        emu_report(w, ip, lane, "race", "bulk copy to shared memory at 0x%x races with warp %u: no barrier between them", at, before & 63);
    else if (ours && reads_in_part(w, b, g))
        emu_report(w, ip, lane, "race",
                   "bulk copy to shared memory at 0x%x races with lane %u of warp %u, which reads: no __syncwarp between it and the lanes "
                   "that arrived at the mbarrier",
                   at, s->lane_read[g] & 63, s->reader[g] & 63);
    else if (ours && still_reads(w, b, s->reader[g]))
        emu_report(w, ip, lane, "proxy_fence",
                   "bulk copy to shared memory at 0x%x that warp %u may still read: it arrived at an mbarrier before its reads completed, "
                   "and there is no fence.proxy.async between them",
                   at, s->reader[g] & 63);
    else if (ours && async &&
             (lanes_unordered(w, s->lane[g], (uint32_t)lane) || (s->lane_read && reads_unordered(w, s->lane_read[g], (uint32_t)lane))))
        emu_report(w, ip, lane, "race",
                   "bulk copy to shared memory at 0x%x by lane %d, which other lanes of this warp have %s: no __syncwarp between them", at,
                   lane, lanes_unordered(w, s->lane[g], (uint32_t)lane) ? "written" : "read");
    else if (async && unfenced(w, b, g))
        emu_report(w, ip, lane, "proxy_fence",
                   "bulk copy to shared memory%s at 0x%x, which warp %u%s wrote: no fence.proxy.async between them",
                   ours ? "" : " of another block", at, s->writer[g] & 63, ours ? "" : " there");
    else
        return false;
    return true;
}

void agent_writes(struct warp *w, const struct insn *ip, int lane, struct block *b, uint32_t offset, uint64_t bytes, uint32_t tag)
{
    struct shadow *s = b->shadow;
    int shift = w->program->shared_shift;
    bool told = !(w->checks & CHECK_RACE);
    uint32_t low = offset >> shift, high = bytes ? (uint32_t)((offset + bytes - 1) >> shift) + 1 : low;
    const bool alike = s && high > low && all_alike(s->writer, low, high) && all_alike(s->reader, low, high) &&
                       all_alike(s->lane, low, high) && all_alike(s->source, low, high) && all_alike(s->lane_read, low, high);
    for (uint32_t g = low; s && g < (alike ? low + 1 : high) && !told; g++)
        told = (g == low || !same_tags(s, g - 1)) && overwrites(w, ip, lane, b, g, tag);
    if (s) {
        fill(s->writer + low, high - low, tag);
        fill(s->reader + low, high - low, 0);
        fill(s->lane + low, high - low, 0);
    }
    if (b->cluster_count > 1)
        dsmem_copy(w, ip, lane, b, offset, bytes);
}

void agent_reads(struct warp *w, const struct insn *ip, int lane, uint32_t offset, uint64_t bytes, uint32_t tag)
{
    struct shadow *s = w->block->shadow;
    int shift = w->program->shared_shift;
    bool told = !(w->checks & CHECK_RACE);
    for (uint32_t g = offset >> shift; s && bytes && g <= (offset + bytes - 1) >> shift; g++) {
        uint32_t of = s->writer[g];
        if (tag)
            s->source[g] = tag;
        bool ours = (of & 63) == (uint32_t)w->id && lane >= 0 && lanes_unordered(w, s->lane[g], (uint32_t)lane), part = false;
        if (!ours && of && (of & 63) < (uint32_t)w->block->warp_count)
            part = left_out(&w->block->warps[of & 63].part_fenced, s->lane[g], of >> 7) &&
                   w->fenced[of & 63] == w->block->warps[of & 63].part_fenced.clock;
        if (told || (of & SHADOW_ATOMIC) || (of >> 7 <= w->fenced[of & 63] && !ours && !part))
            continue;
        told = true;
        if (ours) {
            emu_report(
                w, ip, lane, "race",
                "asynchronous read of shared memory at 0x%x by lane %d, which lane %u of this warp wrote: no __syncwarp between them",
                g << shift, lane, s->lane[g] & 63);
            continue;
        }
        if (agent_is(w->block, of & 63))
            agent_race(w, ip, lane, g << shift, "asynchronous read of", of);
        else if (race_unordered(w, of))
            emu_report(w, ip, lane, "race", "asynchronous read of shared memory at 0x%x races with warp %u: no barrier between them",
                       g << shift, of & 63);
        else
            emu_report(w, ip, lane, "proxy_fence",
                       "asynchronous read of shared memory at 0x%x, which warp %u wrote: no fence.proxy.async between them", g << shift,
                       of & 63);
    }
}

void agent_matrix(struct warp *w, const struct insn *ip, uint32_t offset)
{
    uint32_t agent = *agent_of_matrix(w);
    agent_reads(w, ip, -1, offset, 1, agent ? (w->wgmma_groups + 1) << 7 | agent : 0);
}
