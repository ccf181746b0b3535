#include "device/chip/dispatch.h"
#include "base/text.h"
#include <math.h>
#include <stdlib.h>

#define SOON 1e-9 /* events that lie so near each other, as a share of the time, are one */

/* A heap of things by time; ties by number, so that every machine finds the same. */
struct event {
    double at;
    int who;
};
struct heap {
    struct event *items;
    int count;
};

static bool is_before(const struct event *a, const struct event *b)
{
    return a->at < b->at || (a->at <= b->at && a->who < b->who);
}

static void heap_push(struct heap *h, struct event e)
{
    int i = h->count++;
    for (; i > 0 && is_before(&e, &h->items[(i - 1) / 2]); i = (i - 1) / 2)
        h->items[i] = h->items[(i - 1) / 2];
    h->items[i] = e;
}

static struct event heap_pop(struct heap *h)
{
    struct event top = h->items[0], last = h->items[--h->count];
    int i = 0;
    for (int next = 1; next < h->count; i = next, next = 2 * i + 1) {
        next += next + 1 < h->count && is_before(&h->items[next + 1], &h->items[next]);
        if (!is_before(&h->items[next], &last))
            break;
        h->items[i] = h->items[next];
    }
    h->items[i] = last;
    return top;
}

/* ---- each block takes its own time ---- */
struct place {
    double work, blocks;
};

static void run_places(const uint32_t *work, uint64_t blocks, int sms, int count, double each, struct dispatch *out)
{
    SCOPED double *ends =
        xcalloc((size_t)sms, sizeof *ends); /* the places of an SM stand at equal distances, for blocks go to SMs in turns */
    struct heap h = {.items = xcalloc((size_t)count + 1, sizeof *h.items)};
    struct place *places = xcalloc((size_t)count, sizeof *places);
    double last = -1;
    for (int i = 0; i < count; i++)
        heap_push(&h, (struct event){0, i});
    for (uint64_t b = 0; b < blocks; b++) {
        struct event e = heap_pop(&h);
        struct place *p = &places[e.who];
        p->work += work[b];
        p->blocks++;
        e.at += each + work[b];
        heap_push(&h, e);
        ends[e.who % sms] = fmax(ends[e.who % sms], e.at);
        if (e.at > last) {
            last = e.at;
            out->place_work = p->work;
            out->place_blocks = p->blocks;
        }
    }
    for (int i = 0; i < sms; i++)
        out->busy += ends[i] / last / sms;
    free(places);
    free(h.items);
}

/* ---- the blocks of an SM share it ---- */
struct sm {
    double now, done; /* the time, and what each of its blocks has been given until then */
    double *ends;     /* what `done` will be when each of its blocks ends */
    int count;
};

static double next_end(const struct sm *s)
{
    double least = INFINITY;
    for (int i = 0; i < s->count; i++)
        least = fmin(least, s->ends[i]);
    return s->now + (least - s->done) * s->count;
}

static void advance(struct sm *s, double to)
{
    s->done += s->count ? (to - s->now) / s->count : 0;
    s->now = to;
}

static void drop_ended(struct sm *s)
{
    int kept = 0;
    for (int i = 0; i < s->count; i++)
        if (s->ends[i] > s->done * (1 + SOON))
            s->ends[kept++] = s->ends[i];
    s->count = kept;
}

/* SMs with room take blocks in turns, those with the most room first. Returns the next block. */
static uint64_t give_out(struct sm *sms, const int *free_ones, int count, int places, const uint32_t *work, uint64_t next, uint64_t blocks)
{
    for (int room = places; room > 0 && next < blocks; room--)
        for (int i = 0; i < count && next < blocks; i++) {
            struct sm *s = &sms[free_ones[i]];
            if (places - s->count >= room)
                s->ends[s->count++] = s->done + work[next++];
        }
    return next;
}

static double run_sms(const uint32_t *work, uint64_t blocks, int sms, int places)
{
    struct sm *of = xcalloc((size_t)sms, sizeof *of);
    struct heap h = {.items = xcalloc((size_t)sms + 1, sizeof *h.items)};
    SCOPED int *free_ones = xcalloc((size_t)sms, sizeof *free_ones);
    SCOPED double *ends = xcalloc((size_t)sms * (size_t)places, sizeof *ends);
    double now = 0;
    uint64_t next = 0;
    int count = sms;
    for (int i = 0; i < sms; i++) {
        of[i].ends = ends + (size_t)i * (size_t)places;
        free_ones[i] = i;
    }
    for (;;) {
        next = give_out(of, free_ones, count, places, work, next, blocks);
        for (int i = 0; i < count; i++)
            if (of[free_ones[i]].count)
                heap_push(&h, (struct event){next_end(&of[free_ones[i]]), free_ones[i]});
        if (!h.count)
            break;
        now = h.items[0].at;
        for (count = 0; h.count && h.items[0].at <= now * (1 + SOON); count++) {
            free_ones[count] = heap_pop(&h).who;
            advance(&of[free_ones[count]], now);
            drop_ended(&of[free_ones[count]]);
        }
    }
    free(of);
    free(h.items);
    return now;
}

bool dispatch_blocks(const uint32_t *work, uint64_t blocks, int sms, int places, double each, struct dispatch *out)
{
    uint32_t least = UINT32_MAX, most = 0;
    for (uint64_t i = 0; i < blocks; i++) {
        least = work[i] < least ? work[i] : least;
        most = work[i] > most ? work[i] : most;
    }
    *out = (struct dispatch){0};
    if (least >= most || sms < 1 || places < 1)
        return false;
    run_places(work, blocks, sms, sms * places, each, out);
    out->sm_work = run_sms(work, blocks, sms, places);
    return true;
}
