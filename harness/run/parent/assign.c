/* Gives cases to the processes of GPUs. */
#include "base/text.h"
#include "run/parent/fleet.h"
#include <string.h>

#define BATCHES 2      /* in which a GPU would count its share of the rows that are left */
#define BATCH_LEAST 24 /* every count costs CUPTI half a second before its first pass */

/* The rows that go with a case: its own that this GPU has measured already, and those of a network's layers. */
static void add_rows_for(const struct fleet *f, int c, const struct gpu *g, struct text *t)
{
    const struct session *s = f->s;
    for (int i = f->first[c]; i < fleet_case_end(f, c); i++) {
        const char *uuid = s->rows[i] && s->rows[i]->gpu_uuid ? s->rows[i]->gpu_uuid : "";
        if (s->rows[i] && ((s->kept[i] && !strcmp(uuid, g->uuid)) || s->rows[i]->status == ROW_SKIPPED))
            wire_rows_add(t, i, s->rows[i]);
    }
    for (int k = 0; f->queue.needs[c] && k < f->queue.count; k++)
        for (int i = f->first[k]; f->queue.needs[c][k] && i < fleet_case_end(f, k); i++)
            if (s->rows[i])
                wire_rows_add(t, i, s->rows[i]);
}

/* How many rows a GPU counts together from now on: fewer towards the end, so that no GPU still counts many when the others have ended. */
static int together(const struct fleet *f)
{
    int rows = (int)((double)f->feasible * f->queue.waiting / (f->queue.count + 1.0)) / (BATCHES * f->count);
    return rows < BATCH_LEAST ? BATCH_LEAST : rows;
}

static void answer(struct fleet *f, struct gpu *g, int c)
{
    enum idle why = g->asked_s < f->judged_s ? IDLE_START : c == FEED_END ? IDLE_END : IDLE_LAYERS;
    SCOPED_TEXT rows = {0};
    g->idle_s[why] += clock_s() - g->asked_s;
    g->asks = false;
    g->ended = c == FEED_END;
    if (c >= 0)
        add_rows_for(f, c, g, &rows);
    g->running += c >= 0;
    f->running += c >= 0;
    g->ahead = queue_ahead(&f->queue, (int)(g - f->gpus), g->ahead);
    child_send_packed(&g->child, json_pack("{s:i,s:i,s:i}", "case", c, "together", together(f), "ahead", g->ahead), &rows);
}

void fleet_assign(struct fleet *f)
{
    for (int k = 0; k < f->count; k++) {
        struct gpu *g = &f->gpus[k];
        if (!g->asks || g->child.pid <= 0)
            continue;
        bool ends = f->s->interrupted || g->health == HEALTH_REFUSED;
        int c = ends ? FEED_END : queue_waits_for(&f->queue, k) ? FEED_COUNT : queue_take(&f->queue, k);
        if (c == FEED_END && !ends && g->running)
            c = FEED_COUNT;
        if (c != FEED_END || ends || !f->running)
            answer(f, g, c);
    }
}
