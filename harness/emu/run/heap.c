/* emu/run/heap: malloc and free of a kernel, and alloca. The heap's blocks are powers of two from 16 bytes on, each behind a header of
 * 16 bytes; a kernel that calls them runs its blocks in order, so the addresses are always the same. */
#include "base/text.h"
#include "emu/check/races.h"
#include <stdlib.h>
#include <string.h>

#define HEADER 16u
#define HEAP_NEW (1u << 20) /* until then nothing is given twice: who still reads it is told */

struct heap_header {      /* in the heap's own memory, where a kernel may overwrite it */
    uint32_t class, next; /* next free one of its class: offset of its header, 0 = none */
    uint64_t taken;
};
#define TAKEN 0x7461806b656e2164ull

enum heap_state { HEAP_NONE, HEAP_LIVE, HEAP_FREED };
struct allocation {
    uint64_t address, bytes, block;
    const struct insn *ip;
    int warp, lane;
};

static uint64_t heap_take(struct launch *l, uint64_t bytes)
{
    struct heap *h = &l->heap;
    uint32_t class = 0;
    if (!h->buffer || bytes == 0 || bytes > HEAP_BYTES / 2)
        return 0;
    while ((uint64_t)16 << class < bytes)
        class ++;
    uint64_t size = (uint64_t)16 << class, at = h->used + HEADER + size > HEAP_NEW ? h->free[class] : 0;
    struct heap_header head = {.class = class, .taken = TAKEN};
    if (at) {
        struct heap_header old;
        memcpy(&old, h->buffer->host + at, sizeof old);
        h->free[class] = old.next < HEAP_BYTES - HEADER - size ? old.next & ~15u : 0; /* whatever stands there */
    } else {
        if (h->used + HEADER + size > HEAP_BYTES)
            return 0;
        at = h->used + (h->used == 0 ? 16 : 0); /* offset 0 means none */
        if (at + HEADER + size > HEAP_BYTES)
            return 0;
        h->used = at + HEADER + size;
    }
    memcpy(h->buffer->host + at, &head, sizeof head);
    memset(h->buffer->host + at + HEADER, 0, size);
    if (h->buffer->known)
        memset(h->buffer->known + (at + HEADER) / 8, 0, size / 8);
    if (!h->state)
        h->state = xcalloc(HEAP_BYTES, 1);
    memset(h->state + at + HEADER, HEAP_LIVE, bytes);
    memset(h->state + at + HEADER + bytes, HEAP_NONE, size - bytes);
    races_fresh(l, h->buffer, at + HEADER, size);
    return h->buffer->base + at + HEADER;
}

static bool heap_give(struct warp *w, const struct insn *ip, int lane, uint64_t address)
{
    struct heap *h = &w->runner->launch->heap;
    struct heap_header head;
    if (address == 0)
        return true;
    if (!h->buffer || address < h->buffer->base + 16 + HEADER || address - h->buffer->base >= h->used || (address & 15))
        return false;
    uint64_t at = address - h->buffer->base - HEADER;
    memcpy(&head, h->buffer->host + at, sizeof head);
    if (head.taken != TAKEN || head.class >= HEAP_CLASSES || at + HEADER + ((uint64_t)16 << head.class) > h->used)
        return false;
    head.taken = 0;
    head.next = h->free[head.class];
    memcpy(h->buffer->host + at, &head, sizeof head);
    h->free[head.class] = (uint32_t)at;
    uint64_t end = at + HEADER;
    while (h->state[end] == HEAP_LIVE) /* behind a block stands the next one's header */
        h->state[end++] = HEAP_FREED;
    if (w->trace && end > at + HEADER) /* who may still be reading it? */
        races_lane(w, ip, lane, h->buffer, at + HEADER, (uint32_t)(end - at - HEADER), ACCESS_WRITE);
    return true;
}

void emu_malloc(struct warp *w, const struct insn *ip, int lane, uint64_t bytes, uint64_t *address)
{
    struct heap *h = &w->runner->launch->heap;
    *address = heap_take(w->runner->launch, bytes);
    if (!*address)
        return;
    *APPEND(h->allocations, h->allocation_count) = (struct allocation){*address, bytes, w->block->number, ip, w->id, lane};
}

void emu_free(struct warp *w, const struct insn *ip, int lane, uint64_t address)
{
    struct heap *h = &w->runner->launch->heap;
    if (!heap_give(w, ip, lane, address)) {
        emu_report(w, ip, lane, "out_of_bounds", "free of 0x%llx, which malloc did not return or which is already freed",
                   (unsigned long long)address);
        return;
    }
    for (int i = h->allocation_count - 1; address && i >= 0; i--)
        if (h->allocations[i].address == address) {
            h->allocations[i] = h->allocations[--h->allocation_count];
            return;
        }
}

bool heap_allows(struct warp *w, const struct insn *ip, int lane, uint64_t offset, uint32_t bytes, enum access access)
{
    static const char *const words[] = {"read", "write", "atomic"};
    const struct heap *h = &w->runner->launch->heap;
    uint8_t worst = HEAP_LIVE;
    for (uint32_t k = 0; k < bytes; k++)
        worst = !h->state || h->state[offset + k] != HEAP_LIVE ? h->state ? h->state[offset + k] : HEAP_NONE : worst;
    if (worst == HEAP_LIVE)
        return true;
    if (worst == HEAP_FREED)
        emu_report(w, ip, lane, "use_after_free", "%s of %u bytes at 0x%llx, which is already freed", words[access], bytes,
                   (unsigned long long)(h->buffer->base + offset));
    else
        emu_report(w, ip, lane, "out_of_bounds", "%s of %u bytes at 0x%llx of the device heap, which malloc did not return", words[access],
                   bytes, (unsigned long long)(h->buffer->base + offset));
    return false;
}

void heap_leaks(struct launch *l)
{
    struct block *b = &l->runners[0].residents[0];
    for (int i = 0; i < l->heap.allocation_count && (l->checks & CHECK_KNOWN); i++) {
        const struct allocation *a = &l->heap.allocations[i];
        struct warp *w = &b->warps[a->warp];
        b->number = a->block;
        b->index[0] = (uint32_t)(a->block % l->grid[0]);
        b->index[1] = (uint32_t)(a->block / l->grid[0] % l->grid[1]);
        b->index[2] = (uint32_t)(a->block / l->grid[0] / l->grid[1]);
        emu_report(w, a->ip, a->lane, "leak", "%llu bytes of the device heap that were never freed", (unsigned long long)a->bytes);
    }
    free(l->heap.allocations);
    free(l->heap.state);
}

/* What alloca gave is there until the thread ends, or stackrestore: not only until the function returns. */
const struct insn *emu_alloca(struct warp *w, const struct insn *ip)
{
    for (uint32_t rest = w->mask; rest; rest &= rest - 1) {
        int i = __builtin_ctz(rest);
        uint32_t *top = &w->alloca_top[i];
        if (ip->imm == -2) {
            SLOT(uint64_t, w, ip->d)[i] = *top;
            continue;
        }
        uint64_t a = SLOT(const uint64_t, w, ip->a)[i];
        if (ip->imm == -1) {
            if (a >= w->program->fixed_local_bytes && a <= *top)
                *top = (uint32_t)a;
            continue;
        }
        uint64_t at = (*top + (uint64_t)ip->imm - 1) & ~((uint64_t)ip->imm - 1);
        bool fits = a <= w->local_stride && at + a <= w->local_stride;
        if (!fits)
            emu_report(w, ip, i, "out_of_bounds", "alloca of %llu bytes: a thread has %u", (unsigned long long)a, ALLOCA_BYTES);
        SLOT(uint64_t, w, ip->d)[i] = at;
        *top = fits ? (uint32_t)(at + a) : *top;
    }
    return ip + 1;
}
