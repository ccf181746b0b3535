/* emu/decode/joins: which basic blocks ptxas joins. It replaces the branch of a short `if` by guards on its instructions, so the blocks
 * before, in and after it become one; and it unrolls short loops. */
#include "base/text.h"
#include "emu/decode/decode.h"

#define UNROLL_MOST 24 /* instructions of a loop that ptxas 13.0 unrolls by four, where no pragma forbids it */
#define IF_MOST 12     /* instructions: ptxas 13.0 guards the loads of nearly all such ifs (64 kernels), and branches around longer ones */

static bool leads_to(const struct graph_block *b, int to)
{
    return ANY_OF(i, b->next_count, b->next[i] == to);
}

/* Is block b the body of a short `if` that its predecessor jumps over? */
static bool is_short_if(const struct graph *g, const int *entries, int b)
{
    const struct graph_block *blocks = g->blocks;
    return b > 0 && b + 1 < g->count && entries[b] == 1 && blocks[b].end - blocks[b].first <= IF_MOST && blocks[b].next_count == 1 &&
           blocks[b].next[0] == b + 1 && blocks[b - 1].next_count == 2 && leads_to(&blocks[b - 1], b) && leads_to(&blocks[b - 1], b + 1);
}

/* The number of instructions, without those that ptxas drops or merges into another. Halves with a load or store count as long: with them
 * joined, a gemm by mma (175 x 232 x 800, f16) was predicted at 91 us, without at 160; an H200 took 147. */
static int length_of(const struct decode *d, const struct graph_block *b)
{
    int count = 0;
    for (int i = b->first; i < b->end; i++) {
        const struct ptx_instr *in = d->f->instrs[i];
        if (instr_is(in, "ld") || instr_is(in, "st") || instr_is(in, "cp"))
            return IF_MOST + 1;
        count += !instr_is(in, "mov") && !instr_is(in, "neg") && !instr_is(in, "bra") && !(instr_is(in, "cvt") && instr_has(in, "sat"));
    }
    return count;
}

/* The block after the half of an `if` and `else` that begins with block b; -1: it is no half, or a long one. `at` becomes the block that
 * does the work: a jump may precede it. */
static int end_of_half(const struct decode *d, const int *entries, int b, int *at)
{
    const struct graph_block *blocks = d->graph.blocks;
    *at = b;
    if (entries[b] == 1 && blocks[b].next_count == 1 && blocks[b].end - blocks[b].first == 1 && !length_of(d, &blocks[b]))
        *at = blocks[b].next[0];
    return entries[b] == 1 && entries[*at] == 1 && blocks[*at].next_count == 1 && length_of(d, &blocks[*at]) <= IF_MOST
               ? blocks[*at].next[0]
               : -1;
}

/* ptxas guards both halves of a short `if` and `else`. */
static void join_halves(struct decode *d, const int *entries, int b)
{
    const struct graph_block *block = &d->graph.blocks[b];
    struct flow *flows = &d->p->flows[d->first_flow];
    int at[2];
    if (block->next_count != 2)
        return;
    const int end = end_of_half(d, entries, block->next[0], &at[0]);
    if (end < 0 || end == b || entries[end] != 2 || end_of_half(d, entries, block->next[1], &at[1]) != end)
        return;
    for (int i = 0; i < 2; i++) {
        flows[at[i]].guarded = flows[at[i]].joined = true;
        flows[block->next[i]].guarded = flows[block->next[i]].joined = true;
    }
    flows[end].joined = true;
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
    for (int b = 0; b < g->count; b++)
        join_halves(d, entries, b);
}
