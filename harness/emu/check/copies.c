/* emu/check/copies: cp.async copies that no lane has waited for: what they fill in shared memory, what they read from global memory. */
#include "base/text.h"
#include "emu/check/shadow.h"
#include "emu/check/copies.h"
#include "emu/handlers.h"
#include <string.h>

void emu_remember_copy(struct warp *w, uint32_t offset, uint32_t bytes)
{
    if (w->copy_count == w->copy_room) {
        w->copy_room = w->copy_room ? w->copy_room * 2 : 256;
        w->copies = xrealloc(w->copies, (size_t)w->copy_room * sizeof *w->copies);
    }
    w->copies[w->copy_count++] = (struct async_copy){offset, bytes, w->async_groups};
    memset(w->block->shared_known + offset, KNOWN_PENDING, bytes);
    if (w->quick_watch) /* as if nobody had written it: sends a read to known_shared */
        memset(w->block->shadow->writer + (offset >> w->program->shared_shift), 0,
               (bytes >> w->program->shared_shift) * sizeof *w->block->shadow->writer);
}

void copy_source(struct warp *w, uint64_t address, uint32_t bytes)
{
    if (w->source_count == w->source_room) {
        w->source_room = w->source_room ? w->source_room * 2 : 256;
        w->sources = xrealloc(w->sources, (size_t)w->source_room * sizeof *w->sources);
    }
    w->block->copied = true;
    w->sources[w->source_count++] = (struct copy_source){address, bytes, w->async_groups};
}

const struct warp *copy_reads(const struct block *b, uint64_t address, uint32_t bytes)
{
    for (int i = 0; i < b->warp_count; i++)
        for (int k = 0; k < b->warps[i].source_count; k++) {
            const struct copy_source *s = &b->warps[i].sources[k];
            if (s->address < address + bytes && address < s->address + s->bytes)
                return &b->warps[i];
        }
    return NULL;
}
