/* emu/check/lanes: order between the lanes of one warp. */
#include "emu/check/shadow.h"
#include "emu/check/races.h"
#include "emu/handlers.h"
#include <string.h>

void lanes_sync(struct warp *w)
{
    w->wrote = 0;
    w->read = false;
    w->part_count = 0;
    w->used = w->synced = ++w->runner->stretches << 6;
    if (w->synced) /* 67 million stretches: their numbers begin again */
        return;
    for (int b = 0; b < w->runner->resident_count; b++) {
        const struct shadow *s = w->runner->residents[b].shadow;
        if (s)
            memset(s->lane, 0, s->grains * sizeof *s->lane);
        if (s && s->lane_read)
            memset(s->lane_read, 0, s->grains * sizeof *s->lane_read);
    }
    const struct address_space *space = w->runner->launch->space;
    for (int i = 0; i < space->count; i++)
        for (int t = w->runner->index; t < space->buffers[i]->print_count && t == w->runner->index; t++)
            if (space->buffers[i]->prints[t].lane) {
                const struct footprint *f = &space->buffers[i]->prints[t];
                size_t n = (size_t)(space->buffers[i]->bytes >> f->shift) + 16;
                memset(f->lane, 0, n * sizeof *f->lane);
                memset(f->lane_read, 0, n * sizeof *f->lane_read);
            }
    w->used = w->synced = ++w->runner->stretches << 6;
}

void lanes_exchange(struct warp *w)
{
    w->read = false;
    if (!((w->runner->stretches + 1) << 6))
        lanes_sync(w);
    else
        w->used = ++w->runner->stretches << 6;
}

/* Some lanes synchronise; the others stay unordered with them. */
void lanes_sync_some(struct warp *w, uint32_t who)
{
    uint32_t next = w->runner->stretches + 1;
    if (!(w->alive & ~who) || !(next << 6) || w->part_count == PARTS_MAX) {
        lanes_sync(w);
        return;
    }
    if (!w->part_count)
        w->parts[w->part_count++] = (struct part){w->synced, ~0u};
    w->runner->stretches = next;
    w->used = w->synced = next << 6;
    w->parts[w->part_count++] = (struct part){w->synced, who};
}
