/* emu/decode/joins: of which basic blocks ptxas makes one. It puts a guard on the instructions of a short `if` in place of a branch, so the
 * blocks before, in and behind it are one; and it unrolls short loops. */
#include "base/text.h"
#include "emu/decode/decode.h"
#include <stdlib.h>

#define UNROLL_MOST 24 /* instructions of a loop that ptxas 13.0 unrolls by four, where no pragma forbids it */
#define IF_MOST 12     /* instructions: ptxas 13.0 guards the loads of nearly all such ifs (64 kernels), and branches around longer ones */

static bool leads_to(const struct graph_block *b, int to)
{
    for (int i = 0; i < b->next_count; i++)
        if (b->next[i] == to)
            return true;
    return false;
}

/* Is block b the body of a short `if` that its predecessor jumps over? */
static bool is_short_if(const struct graph *g, const int *entries, int b)
{
    const struct graph_block *blocks = g->blocks;
    return b > 0 && b + 1 < g->count && entries[b] == 1 && blocks[b].end - blocks[b].first <= IF_MOST && blocks[b].next_count == 1 &&
           blocks[b].next[0] == b + 1 && blocks[b - 1].next_count == 2 && leads_to(&blocks[b - 1], b) && leads_to(&blocks[b - 1], b + 1);
}

static int *count_entries(const struct graph *g)
{
    int *entries = xcalloc((size_t)g->count + 1, sizeof *entries);
    for (int b = 0; b < g->count; b++)
        for (int i = 0; i < g->blocks[b].next_count; i++)
            entries[g->blocks[b].next[i]]++;
    return entries;
}

void decode_joins(struct decode *d)
{
    const struct graph *g = &d->graph;
    SCOPED int *entries = count_entries(g);
    for (int b = 0; b < g->count; b++) {
        const struct graph_block *block = &g->blocks[b];
        struct flow *f = &d->p->flows[d->first_flow + (uint32_t)b];
        f->guarded = is_short_if(g, entries, b);
        f->joined = f->guarded || (entries[b] == 2 && is_short_if(g, entries, b - 1));
        f->unrolled = block->end > block->first && block->end - block->first <= UNROLL_MOST && leads_to(block, b) &&
                      !d->f->instrs[block->first]->nounroll;
    }
}
