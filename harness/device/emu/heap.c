/* device/emu/heap: malloc and free of a kernel. Blocks are powers of two from 16 bytes on, each behind a header of 16 bytes; a kernel that calls them runs
 * its blocks in order, so the addresses are always the same. */
#include "device/emu/slow.h"
#include <string.h>

#define HEADER 16u

struct heap_header { /* in the heap's own memory, where a kernel may overwrite it */
    uint32_t class, next; /* next free one of its class: offset of its header, 0 = none */
    uint64_t taken;
};
#define TAKEN 0x7461806b656e2164ull

uint64_t heap_take(struct launch *l, uint64_t bytes)
{
    struct heap *h = &l->heap;
    uint32_t class = 0;
    if (!h->buffer || bytes == 0 || bytes > HEAP_BYTES / 2)
        return 0;
    while ((uint64_t)16 << class < bytes)
        class++;
    uint64_t size = (uint64_t)16 << class, at = h->free[class];
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
    return h->buffer->base + at + HEADER;
}

bool heap_give(struct launch *l, uint64_t address)
{
    struct heap *h = &l->heap;
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
    return true;
}
