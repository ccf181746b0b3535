/* emu/check/order: what orders accesses to global memory: barriers in a block; fences, releases and acquires between blocks. */
#include "base/text.h"
#include "emu/check/races.h"
#include <stdlib.h>
#include <string.h>

/* ---- moments ---- */
struct moment {
    uint32_t block, clock; /* its number; barriers it had passed, or the warp's own clock */
};
struct event {                      /* a fence, or a release of what was fenced before */
    uint32_t moment, clock, before; /* before: 1 + index of the one before of this block */
    uint32_t knew;                  /* 1 + where `clocks` has what its warp knew then of the block's others; 0: not kept */
    uint8_t warp, ids;              /* warp: TAG_MANY: all of them; ids: of the clocks it knew */
    bool release;
};
struct order {
    struct moment *moments; /* from base_tag on */
    uint32_t room;
    struct event *events;
    uint32_t event_count, event_room;
    uint32_t *clocks, clock_count, clock_room;
    uint32_t *last;   /* by block: 1 + index of its last event */
    uint32_t *fenced; /* by block: the moment of its last fence between its writes to global memory and the async proxy */
    struct place {
        uint64_t address; /* 0: free */
        uint32_t moment;
    } * places;
    uint32_t place_count, place_room;
};

static uint32_t moment_most = MOMENT_MAX;

void races_set_moments(uint32_t most)
{
    moment_most = most && most < MOMENT_MAX ? most : MOMENT_MAX;
}

bool races_unwatched(const struct launch *l)
{
    bool unwatched = (l->checks & CHECK_RACE) && !l->trace;
    for (int i = 0; l->trace && i < l->runner_count; i++)
        unwatched |= l->runners[i].moment >= moment_most;
    return unwatched;
}

static uint32_t moment_new(struct runner *k, uint64_t block, uint32_t clock)
{
    if (k->moment >= moment_most) { /* more than a tag holds: the rest is not checked */
        for (int b = 0; b < k->resident_count; b++)
            for (int i = 0; i < k->residents[b].warp_count; i++)
                k->residents[b].warps[i].trace = TRACE_OFF;
        return k->moment;
    }
    uint32_t at = ++k->moment - (k->base_tag >> TAG_SHIFT);
    struct order *o = k->order;
    if (o && at >= o->room) {
        o->room = o->room ? o->room * 2 : 1024;
        o->moments = xrealloc(o->moments, o->room * sizeof *o->moments);
    }
    if (o)
        o->moments[at] = (struct moment){(uint32_t)block, clock};
    return k->moment;
}

static const struct moment *moment_of(const struct runner *k, uint32_t tag)
{
    return &k->order->moments[(tag >> TAG_SHIFT) - (k->base_tag >> TAG_SHIFT)];
}

void runner_order(struct runner *k)
{
    struct launch *l = k->launch;
    const struct program *p = l->program;
    uint32_t *moment = &l->space->moments[k->index];
    if (*moment > moment_most / 2) { /* all of it lies behind */
        for (int i = 0; i < l->space->count; i++) {
            struct buffer *b = l->space->buffers[i];
            for (int t = k->index; t <= k->index && t < b->print_count; t++) {
                FREE_ALL(b->prints[t].writer, b->prints[t].reader, b->prints[t].lane, b->prints[t].lane_read);
                b->prints[t].writer = b->prints[t].reader = b->prints[t].lane = b->prints[t].lane_read = NULL;
            }
        }
        *moment = 0;
    }
    k->moment = *moment;
    k->base_tag = (k->moment + 1) << TAG_SHIFT;
    if (!l->trace || (p->simple_races && !p->ordered && !l->cooperative && l->runner_count > 1))
        return;
    k->order = xcalloc(1, sizeof *k->order);
    k->order->last = xcalloc((size_t)l->grid[0] * l->grid[1] * l->grid[2], sizeof *k->order->last);
    if (p->uses_async)
        k->order->fenced = xcalloc((size_t)l->grid[0] * l->grid[1] * l->grid[2], sizeof *k->order->fenced);
}

void runner_order_free(struct runner *k)
{
    if (k->launch->space->moment_count > k->index)
        k->launch->space->moments[k->index] = k->moment;
    if (!k->order)
        return;
    FREE_ALL(k->order->moments, k->order->events, k->order->clocks, k->order->last, k->order->fenced, k->order->places, k->order);
}

static bool by_barriers(const struct warp *w) /* tags of all warps of a block go on together */
{
    return w->program->simple_races;
}

static void block_moment(struct block *b)
{
    struct runner *k = b->warps[0].runner;
    uint32_t moment = moment_new(k, b->number, b->epoch) << TAG_SHIFT;
    for (int i = 0; i < b->warp_count; i++)
        b->warps[i].tag = moment | (uint32_t)i;
}

bool races_blind(const struct runner *k) /* tags of other blocks need no second look */
{
    const struct program *p = k->launch->program;
    return p->simple_races && !p->ordered && !k->launch->cooperative;
}

void races_tick(struct warp *w)
{
    if (w->trace && !by_barriers(w))
        w->tag = moment_new(w->runner, w->block->number, w->clocks[w->id]) << TAG_SHIFT | (uint32_t)w->id;
}

uint32_t races_tag_of(struct warp *w, uint32_t id, uint32_t clock)
{
    return w->trace && id ? moment_new(w->runner, w->block->number, clock) << TAG_SHIFT | id : w->tag;
}

bool races_unfenced(const struct warp *w, uint32_t tag)
{
    const struct order *o = w->runner->order;
    return tag >= w->runner->base_tag && (tag & 63) < (uint32_t)w->block->warp_count && tag >> TAG_SHIFT > w->block->global_fenced &&
           o->fenced && tag >> TAG_SHIFT > o->fenced[moment_of(w->runner, tag)->block];
}

void races_block(struct block *b)
{
    struct runner *k = b->warps[0].runner;
    b->fences = b->global_fenced = 0;
    b->first_tag = b->now_tag = 0;
    for (int i = 0; i < b->warp_count; i++) {
        struct warp *w = &b->warps[i];
        w->trace = (uint8_t)(k->moment < moment_most ? k->launch->trace : TRACE_OFF);
        w->known = w->acquired = w->released = w->news = 0;
        w->touched = false;
        races_tick(w);
    }
    if (!k->launch->trace || !by_barriers(&b->warps[0]))
        return;
    block_moment(b);
    if (k->resident_count == 1)
        b->first_tag = b->now_tag = b->warps[0].tag & ~255u;
}

void races_join(struct block *b, uint64_t arrived, uint64_t waiting)
{
    uint32_t known = 0;
    if (!b->warps[0].trace)
        return;
    for (int i = 0; i < b->warp_count; i++)
        if (arrived >> i & 1) {
            const struct warp *w = &b->warps[i];
            known = w->known > known ? w->known : known;
            known = w->acquired > known ? w->acquired : known;
        }
    for (int i = 0; i < b->warp_count; i++)
        if ((waiting >> i & 1) && b->warps[i].known < known)
            b->warps[i].known = known;
    if (by_barriers(&b->warps[0])) {
        block_moment(b);
        b->now_tag = b->first_tag ? b->warps[0].tag & ~255u : 0;
        return;
    }
    for (int i = 0; i < b->warp_count; i++)
        if (arrived >> i & 1)
            races_tick(&b->warps[i]);
}

/* ---- order between blocks: fences, releases, acquires ---- */
#define CLOCKS_MOST (64u << 20) /* events beyond that count as if their warp knew of all others */

static uint32_t keep_clocks(const struct warp *w)
{
    struct order *o = w->runner->order;
    uint32_t n = w->block->ids, at = o->clock_count;
    if (by_barriers(w) || at > CLOCKS_MOST)
        return 0;
    if (at + n > o->clock_room) {
        o->clock_room = o->clock_room ? o->clock_room * 2 : 1024;
        o->clocks = xrealloc(o->clocks, o->clock_room * sizeof *o->clocks);
    }
    memcpy(o->clocks + at, w->clocks, n * sizeof *o->clocks);
    o->clock_count += n;
    return at + 1;
}

static uint32_t add_event(struct warp *w, uint8_t warp, bool release)
{
    struct order *o = w->runner->order;
    if (o->event_count == o->event_room) {
        o->event_room = o->event_room ? o->event_room * 2 : 256;
        o->events = xrealloc(o->events, o->event_room * sizeof *o->events);
    }
    struct block *b = w->block;
    uint32_t moment = w->runner->moment;
    w->runner->heeded = true;
    o->events[o->event_count++] = (struct event){.moment = moment,
                                                 .clock = by_barriers(w) ? b->epoch : w->clocks[w->id],
                                                 .before = o->last[b->number],
                                                 .knew = keep_clocks(w),
                                                 .warp = warp,
                                                 .ids = (uint8_t)b->ids,
                                                 .release = release};
    o->last[b->number] = o->event_count;
    if (by_barriers(w))
        block_moment(b);
    else
        races_tick(w);
    return moment;
}

static uint32_t *release_place(struct order *o, uint64_t address, bool add)
{
    if (add && o->place_count * 2 >= o->place_room) {
        struct order old = *o;
        o->place_room = old.place_room ? old.place_room * 2 : 256;
        o->places = xcalloc(o->place_room, sizeof *o->places);
        o->place_count = 0;
        for (uint32_t i = 0; i < old.place_room; i++)
            if (old.places[i].address)
                *release_place(o, old.places[i].address, true) = old.places[i].moment;
        free(old.places);
    }
    if (!o->place_room)
        return NULL;
    for (uint32_t i = (uint32_t)((address >> 2) * 2654435761u);; i++) {
        struct place *p = &o->places[i & (o->place_room - 1)];
        if (p->address == address)
            return &p->moment;
        if (p->address)
            continue;
        if (!add)
            return NULL;
        p->address = address;
        o->place_count++;
        return &p->moment;
    }
}

void races_fence_async(struct warp *w)
{
    w->block->global_fenced = w->runner->moment;
    if (w->runner->order && w->runner->order->fenced)
        w->runner->order->fenced[w->block->number] = w->runner->moment;
}

void races_fence(struct warp *w)
{
    w->known = w->acquired > w->known ? w->acquired : w->known;
    if (!w->touched)
        return;
    w->touched = false;
    w->block->fences++;
    add_event(w, (uint8_t)w->id, false);
}

void races_acquire(struct warp *w, const struct insn *ip, uint64_t address)
{
    const uint32_t *moment = release_place(w->runner->order, address, false);
    if (moment && *moment > w->acquired)
        w->acquired = *moment;
    if ((ip->flags & ACCESS_ACQUIRE) || ip->op == OP_atom) /* who branches on an atomic's result has waited: no fence is asked for */
        w->known = w->acquired > w->known ? w->acquired : w->known;
}

void races_release(struct warp *w, const struct insn *ip, uint64_t address)
{
    if (ip->flags & ACCESS_RELEASE)
        races_fence(w);
    if (!w->block->fences)
        return;
    uint32_t news = w->block->fences + w->block->epoch, *at = release_place(w->runner->order, address, true);
    if (news != w->news) {
        w->released = add_event(w, (uint8_t)w->id, true);
        w->news = news;
    }
    uint32_t moment =
        w->known > w->released ? w->known : w->released; /* what it acquired from others passes on to those that acquire from it */
    *at = moment > *at ? moment : *at;
}

void races_cluster(struct block *b)
{
    struct runner *k = b->warps[0].runner;
    if (!k->launch->trace)
        return;
    for (int c = 0; c < b->cluster_count; c++) {
        bool releases = ANY_OF(i, b->warp_count, !(b->cluster[c]->cluster_relaxed >> i & 1) && b->cluster[c]->warps[i].state != WARP_DONE);
        if (releases)
            add_event(&b->cluster[c]->warps[0], TAG_MANY, true);
    }
    for (int c = 0; c < b->cluster_count; c++)
        for (int i = 0; i < b->warp_count; i++)
            b->cluster[c]->warps[i].known = k->moment;
}

/* True if the warp of this event had acquired what warp or agent `of` did at `clock`. */
static bool event_knows(const struct order *o, const struct event *e, uint32_t of, uint32_t clock)
{
    return !e->knew || (of < e->ids && o->clocks[e->knew - 1 + of] >= clock);
}

/* True if the fence follows what warp `of` did at clock `clock`, and the release follows the fence: the warp's own fence and then a barrier
 * with the releasing warp, or a barrier and then the releasing warp's fence. */
static bool fence_covers(const struct order *o, const struct event *f, const struct event *release, uint32_t of, uint32_t clock,
                         bool barriers)
{
    if (f->release)
        return false;
    if (f->warp == of && (f->warp == release->warp || (barriers ? f->clock < release->clock : event_knows(o, release, of, clock))))
        return true;
    return f->warp == release->warp && (barriers ? clock < f->clock : event_knows(o, f, of, clock));
}

static bool is_acquired(const struct warp *w, uint32_t tag, const struct moment *m)
{
    const struct order *o = w->runner->order;
    uint32_t since = tag >> TAG_SHIFT, of = tag & 63;
    for (uint32_t i = o->last[m->block]; i && o->events[i - 1].moment >= since; i = o->events[i - 1].before) {
        const struct event *r = &o->events[i - 1];
        if (!r->release || r->moment > w->known)
            continue;
        if (r->warp == TAG_MANY || of == TAG_MANY)
            return true;
        for (uint32_t k = r->before; k && o->events[k - 1].moment >= since; k = o->events[k - 1].before)
            if (fence_covers(o, &o->events[k - 1], r, of, m->clock, by_barriers(w)))
                return true;
    }
    return false;
}

enum unordered races_unordered(const struct warp *w, uint32_t tag)
{
    const struct runner *k = w->runner;
    uint32_t of = tag & 63;
    if (tag < k->base_tag)
        return ORDERED;
    if (races_blind(k)) {
        if (tag < w->block->first_tag)
            return UNORDERED_BLOCKS;
        return tag >> TAG_SHIFT == w->tag >> TAG_SHIFT && of != (uint32_t)w->id ? UNORDERED_WARPS : ORDERED;
    }
    const struct moment *m = moment_of(k, tag);
    bool same = m->block == (uint32_t)w->block->number, barriers = by_barriers(w);
    if (same && (of == (uint32_t)w->id || (barriers ? m->clock < w->block->epoch : of == TAG_MANY || m->clock <= w->clocks[of])))
        return ORDERED;
    return is_acquired(w, tag, m) ? ORDERED : same ? UNORDERED_WARPS : UNORDERED_BLOCKS;
}

uint32_t races_block_of(const struct runner *k, uint32_t tag)
{
    return moment_of(k, tag)->block;
}
