/* emu/run/warp: fragments of a warp, and calls. */
#include "base/text.h"
#include "emu/handlers.h"
#include "emu/run/path.h"
#include <stdlib.h>
#include <string.h>

#define STACK_MAX ((size_t)64 << 20) /* of a warp's frames */

void warp_set_mask(struct warp *w, uint32_t mask)
{
    w->mask = mask;
    w->lanes = (uint32_t)__builtin_popcount(mask);
    for (int i = 0; i < 32; i++)
        w->on[i] = mask >> i & 1 ? -1 : 0;
}

void warp_park(struct warp *w, const struct flow *at, const struct insn *ip, uint8_t state, uint32_t wanted)
{
    struct fragment *f = &w->fragments[w->others++];
    w->earliest = 0;
    *f = (struct fragment){.at = at, .ip = ip, .mask = w->mask, .node = w->node, .state = state, .wanted = wanted};
    w->mask = 0;
}

static void use_node(struct warp *w, int32_t node)
{
    w->node = node;
    w->earliest = 0;
    w->base[0] = w->stack + (node < 0 ? 0 : w->nodes[node].frame);
    w->local_base = node < 0 ? 0 : w->nodes[node].local;
}

/* Lanes that stand at the same place of the same activation go on together. */
static void merge_fragments(struct warp *w)
{
    for (int i = 0; i < w->others; i++)
        for (int k = i + 1; k < w->others; k++) {
            struct fragment *a = &w->fragments[i], *b = &w->fragments[k];
            if (a->at != b->at || (!a->at && a->ip != b->ip) || a->node != b->node || a->state != b->state)
                continue;
            a->mask |= b->mask;
            a->wanted |= b->wanted;
            *b = w->fragments[--w->others];
            k--;
        }
}

static uint32_t fragment_order(const struct warp *w, const struct fragment *f)
{
    if (f->at)
        return f->at->order;
    return w->program->flows[w->program->cold[f->ip->index].block].order;
}

/* Is x to run before y? Deeper calls first, then the order of the blocks. */
static bool before(const struct warp *w, const struct fragment *x, const struct fragment *y)
{
    uint32_t dx = x->node < 0 ? 0 : w->nodes[x->node].depth, dy = y->node < 0 ? 0 : w->nodes[y->node].depth;
    if (dx != dy)
        return dx > dy;
    uint32_t ox = fragment_order(w, x), oy = fragment_order(w, y);
    if (ox != oy)
        return ox < oy;
    return x->mask < y->mask;
}

static const struct insn *begin_block(struct warp *w, const struct flow *to)
{
    w->blocks[to->id].executions++;
    w->blocks[to->id].threads += w->lanes;
    if (w->path)
        path_note(w, to);
    return to->start;
}

static const struct insn *run_fragment(struct warp *w, int index)
{
    struct fragment f = w->fragments[index];
    w->fragments[index] = w->fragments[--w->others];
    warp_set_mask(w, f.mask);
    use_node(w, f.node);
    return f.at ? begin_block(w, f.at) : f.ip;
}

/* Fragments that wait for lanes of their mask become ready when all of them stand with them or have ended. */
static bool release_syncs(struct warp *w)
{
    bool any = false;
    for (int i = 0; i < w->others; i++) {
        struct fragment *f = &w->fragments[i];
        if (f->state == FRAGMENT_SYNC && !(f->wanted & w->alive & ~f->mask)) {
            f->state = FRAGMENT_READY;
            any = true;
        }
    }
    return any;
}

const struct insn *warp_next_fragment(struct warp *w)
{
    w->mask = 0;
    merge_fragments(w);
    release_syncs(w);
    int best = -1, waiting = -1;
    for (int i = 0; i < w->others; i++) {
        const struct fragment *f = &w->fragments[i];
        if (f->state == FRAGMENT_SYNC)
            waiting = i;
        if (f->state != FRAGMENT_READY)
            continue;
        if (best < 0 || before(w, f, &w->fragments[best]) == (w->boost == 0))
            best = i;
    }
    if (w->boost)
        w->boost--;
    if (best >= 0)
        return run_fragment(w, best);
    if (waiting >= 0) { /* the lanes it waits for stand at a barrier, or wait themselves */
        struct fragment *f = &w->fragments[waiting];
        emu_report(w, f->ip, __builtin_ctz(f->mask), "deadlock", "lanes 0x%08x wait for lanes 0x%08x, which wait elsewhere", f->mask,
                   f->wanted & w->alive & ~f->mask);
        return warp_stop(w);
    }
    w->state = w->others ? WARP_BARRIER : WARP_DONE;
    return NULL;
}

const struct insn *warp_enter_slow(struct warp *w, const struct flow *to)
{
    if (w->fuel < 0) { /* the turn is over: goes on here later */
        w->at = to;
        return NULL;
    }
    warp_park(w, to, NULL, FRAGMENT_READY, 0);
    return warp_next_fragment(w);
}

const struct insn *warp_resume(struct warp *w)
{
    if (!w->mask)
        return warp_next_fragment(w);
    const struct flow *at = w->at;
    if (!at)
        return w->ip;
    w->at = NULL;
    if (w->others)
        return warp_enter_slow(w, at);
    return begin_block(w, at);
}

const struct insn *warp_diverge(struct warp *w, const struct flow *taken, const struct flow *not_taken, uint32_t mask_taken)
{
    uint32_t all = w->mask;
    w->mask = all & ~mask_taken;
    warp_park(w, not_taken, NULL, FRAGMENT_READY, 0);
    w->mask = mask_taken;
    warp_park(w, taken, NULL, FRAGMENT_READY, 0);
    return warp_next_fragment(w);
}

/* ---- calls ---- */
static bool warp_reserve(struct warp *w, size_t bytes)
{
    if (bytes <= w->stack_room)
        return true;
    if (bytes > STACK_MAX)
        return false;
    size_t room = (bytes * 2 + 63) & ~(size_t)63;
    uint8_t *stack = aligned_alloc(64, room);
    if (!stack)
        return false;
    memcpy(stack, w->stack, w->stack_room);
    memset(stack + w->stack_room, 0, room - w->stack_room);
    free(w->stack);
    w->stack = stack;
    w->stack_room = room;
    use_node(w, w->node);
    return true;
}

static int32_t new_node(struct warp *w)
{
    for (int i = 0; i < w->node_room; i++)
        if (!w->nodes[i].mask)
            return i;
    if (w->node_room >= NODE_MAX)
        return -1;
    int room = w->node_room ? w->node_room * 2 : 16;
    w->nodes = xrealloc(w->nodes, (size_t)room * sizeof *w->nodes);
    memset(w->nodes + w->node_room, 0, (size_t)(room - w->node_room) * sizeof *w->nodes);
    int first = w->node_room;
    w->node_room = room;
    return first;
}

/* Lanes of a parameter variable: count lines of `stride` bytes. */
static void copy_lanes(uint8_t *to, uint32_t to_stride, const uint8_t *from, uint32_t from_stride, uint32_t mask)
{
    uint32_t bytes = to_stride < from_stride ? to_stride : from_stride;
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
        uint32_t i = (uint32_t)__builtin_ctz(rest);
        memcpy(to + (size_t)i * to_stride, from + (size_t)i * from_stride, bytes);
    }
}

/* ip->list: [0] count of arguments, [1] count of results, [2] return flow, then pairs (frame offset, stride) of the caller's variables. */
const struct insn *warp_call(struct warp *w, const struct insn *ip, const struct function *f, uint32_t mask)
{
    int32_t n = new_node(w);
    uint32_t frame = w->program->functions[0].frame_bytes, local = w->program->functions[0].local_bytes;
    for (int i = 0; i < w->node_room; i++)
        if (w->nodes[i].mask) {
            frame = w->nodes[i].frame_end > frame ? w->nodes[i].frame_end : frame;
            local = w->nodes[i].local_end > local ? w->nodes[i].local_end : local;
        }
    if (n < 0 || !warp_reserve(w, (size_t)frame + f->frame_bytes) ||
        (f->local_bytes && local + f->local_bytes > w->program->fixed_local_bytes)) {
        emu_report(w, ip, -1, "out_of_bounds", "the call stack overflows in '%s'", f->ptx->name);
        return warp_stop(w);
    }
    uint8_t *caller = w->base[0];
    struct call_node *node = &w->nodes[n];
    *node = (struct call_node){.parent = w->node,
                               .mask = mask,
                               .frame = frame,
                               .frame_end = frame + f->frame_bytes,
                               .local = local,
                               .local_end = local + f->local_bytes,
                               .function = f,
                               .call = ip,
                               .depth = (w->node < 0 ? 0 : w->nodes[w->node].depth) + 1};
    uint32_t arguments = ip->list[0];
    for (uint32_t k = 0; k < arguments && k < f->param_count; k++) {
        const uint32_t *from = ip->list + 3 + 2 * k;
        copy_lanes(w->stack + frame + f->params[2 * k], f->params[2 * k + 1], caller + from[0], from[1], mask);
    }
    warp_set_mask(w, mask);
    use_node(w, n);
    if (w->others || w->fuel-- < 0)
        return warp_enter_slow(w, f->entry);
    return begin_block(w, f->entry);
}

const struct insn *warp_return(struct warp *w)
{
    if (w->node < 0)
        return warp_exit(w);
    struct call_node *node = &w->nodes[w->node];
    const struct insn *call = node->call;
    const struct function *f = node->function;
    uint8_t *callee = w->base[0];
    uint32_t arguments = call->list[0], results = call->list[1];
    node->mask &= ~w->mask;
    use_node(w, node->parent);
    for (uint32_t k = 0; k < results && k < f->result_count; k++) {
        const uint32_t *to = call->list + 3 + 2 * (arguments + k);
        copy_lanes(w->base[0] + to[0], to[1], callee + f->results[2 * k], f->results[2 * k + 1], w->mask);
    }
    const struct flow *next = w->program->flows + call->list[2];
    if (w->others || w->fuel-- < 0)
        return warp_enter_slow(w, next);
    return begin_block(w, next);
}

const struct insn *warp_exit(struct warp *w)
{
    w->alive &= ~w->mask;
    for (int i = 0; i < w->node_room; i++)
        w->nodes[i].mask &= w->alive;
    w->mask = 0;
    return warp_next_fragment(w);
}

const struct insn *warp_retry(struct warp *w, const struct insn *ip)
{
    w->ip = ip;
    w->at = NULL;
    w->fuel = -1;
    w->stalls++;
    return NULL;
}

const struct insn *warp_stop(struct warp *w)
{
    w->block->failed = true;
    w->state = WARP_STOPPED;
    w->mask = 0;
    return NULL;
}
