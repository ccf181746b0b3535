/* emu/run/mbarrier: the state of an mbarrier: arrivals, bytes, phases. */
#include "emu/check/agents.h"
#include "emu/async.h"
#include <stdio.h>
#include <string.h>

/* ---- mbarrier ---- */
uint64_t mbarrier_pack(uint32_t expected, uint32_t pending, int32_t tx, uint32_t phase)
{
    return (uint64_t)(expected & 0xfffff) | (uint64_t)(pending & 0xfffff) << 20 | ((uint64_t)((uint32_t)tx & 0x3fffff)) << 40 |
           (uint64_t)phase << 63;
}

void mbarrier_update(struct warp *w, uint8_t *host, struct block *owner, uint32_t offset, int32_t tx, uint32_t arrivals, bool drop)
{
    uint64_t v;
    memcpy(&v, host, 8);
    uint32_t expected = MBARRIER_EXPECTED(v), pending = MBARRIER_PENDING(v), phase = MBARRIER_PHASE(v);
    int32_t bytes = MBARRIER_TX(v) + tx;
    pending = pending > arrivals ? pending - arrivals : 0;
    if (drop)
        expected = expected > arrivals ? expected - arrivals : 0;
    bool over = pending == 0 && bytes == 0;
    if (arrivals) {
        race_leaves_out(w, owner);
        race_arrive(w, owner, offset);
    }
    if (over) {
        phase ^= 1;
        pending = expected;
    }
    v = mbarrier_pack(expected, pending, bytes, phase) | (v & MBARRIER_V1);
    memcpy(host, &v, 8);
    agent_keeps(owner, offset, v);
    if (over)
        agent_phase(owner, offset);
}

void mbarrier_explain(const struct warp *w, char *text, size_t room)
{
    const struct mbarrier_wait *m = &w->waits_for;
    uint64_t v;
    *text = 0;
    if (!w->stalls || !m->owner)
        return;
    memcpy(&v, m->owner->shared + m->offset, 8);
    snprintf(text, room,
             ": the phase of parity %u of the mbarrier at 0x%x; its current phase %u, of parity %u, still lacks %u arrivals and %d bytes",
             m->parity, m->offset, agent_phases(m->owner, m->offset), MBARRIER_PHASE(v), MBARRIER_PENDING(v), MBARRIER_TX(v));
}
