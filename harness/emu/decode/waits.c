/* emu/decode/waits: at which instructions a warp waits for loads from global memory.
 *
 * ptxas issues a basic block's loads as early as their addresses allow, so a warp waits once for all that depend on no other load, and
 * once more for each load whose address, guard or place behind a barrier or a store depends on an earlier one. It puts a guard on the
 * instructions of a short `if` in place of a branch, so the blocks before, in and behind it are one. */
#include "base/text.h"
#include "emu/decode/decode.h"
#include <stdlib.h>

#define IF_MOST 12 /* instructions: ptxas 13.0 guards the loads of nearly all such ifs (64 kernels), and branches around longer ones */

struct chain { /* how many waits lie before the value of each register that these blocks wrote */
    struct {
        int chain, waits, block; /* block: where the load is */
    } * of;
    int chain, block, guard; /* guard: that of a short `if`; -1: none */
    int done, behind;        /* waits before this instruction, and before the last that keeps loads behind it */
};

struct need {
    int waits, here; /* here: for loads of this block; the warp goes on when another block uses the value */
};

static void add_need(const struct chain *c, int reg, struct need *n)
{
    if (reg < 0 || c->of[reg].chain != c->chain)
        return;
    const int waits = c->of[reg].waits;
    n->waits = waits > n->waits ? waits : n->waits;
    n->here = waits > n->here && c->of[reg].block == c->block ? waits : n->here;
}

static void add_needs(const struct chain *c, const struct ptx_operand *o, struct need *n)
{
    add_need(c, o->reg, n);
    for (int i = 0; i < o->count; i++)
        add_needs(c, &o->items[i], n);
}

static void put_waits(struct chain *c, const struct ptx_operand *o, int waits, int block)
{
    if (o->reg >= 0) {
        c->of[o->reg].chain = c->chain;
        c->of[o->reg].waits = waits;
        c->of[o->reg].block = block;
    }
    for (int i = 0; i < o->count; i++)
        put_waits(c, &o->items[i], waits, block);
}

/* Does no later load move in front of it? */
static bool keeps_loads_behind(const struct ptx_instr *in)
{
    return instr_is(in, "bar") || instr_is(in, "barrier") || instr_is(in, "fence") || instr_is(in, "membar") || instr_is(in, "atom") ||
           instr_is(in, "red") || (instr_is(in, "st") && !instr_has(in, "shared") && !instr_has(in, "local") && !instr_has(in, "param"));
}

static void walk_block(struct decode *d, const struct graph_block *b, struct chain *c)
{
    for (int i = b->first; i < b->end; i++) {
        const struct ptx_instr *in = d->f->instrs[i];
        bool also_read, loads = instr_is(in, "ld") && instr_has(in, "global");
        int writes = instr_writes(in, &also_read);
        struct need need = {0};
        add_need(c, c->guard, &need);
        add_need(c, in->guard, &need);
        for (int k = also_read ? 0 : writes; k < in->count; k++)
            add_needs(c, &in->operands[k], &need);
        if (need.here > c->done) {
            d->waits[i] = (uint8_t)(need.here - c->done < UINT8_MAX ? need.here - c->done : UINT8_MAX);
            c->done = need.here;
        }
        if (keeps_loads_behind(in))
            c->behind = c->done;
        if (loads)
            need.waits = 1 + (need.waits > c->behind || instr_has(in, "nc") ? need.waits : c->behind);
        for (int k = 0; k < writes; k++)
            put_waits(c, &in->operands[k], need.waits, loads || need.here ? c->block : -1);
    }
}

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

void decode_waits(struct decode *d)
{
    const struct graph *g = &d->graph;
    SCOPED int *entries = xcalloc((size_t)g->count + 1, sizeof *entries);
    struct chain c = {.of = xcalloc((size_t)d->f->reg_count + 1, sizeof *c.of)};
    d->waits = xcalloc((size_t)d->f->instr_count + 1, 1);
    for (int b = 0; b < g->count; b++)
        for (int i = 0; i < g->blocks[b].next_count; i++)
            entries[g->blocks[b].next[i]]++;
    for (int b = 0; b < g->count; b++) {
        bool inside = is_short_if(g, entries, b), behind = entries[b] == 2 && is_short_if(g, entries, b - 1);
        c.guard = inside ? d->f->instrs[g->blocks[b].first - 1]->guard : -1;
        c.block = b;
        if (!inside && !behind) {
            c.chain = b + 1;
            c.done = c.behind = 0;
        }
        walk_block(d, &g->blocks[b], &c);
    }
    free(c.of);
}
