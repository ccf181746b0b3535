/* emu/decode/waits: at which instructions a warp waits for loads from global memory.
 *
 * ptxas issues a basic block's loads as early as their addresses allow, so a warp waits once for all that depend on no other load, and
 * once more for each load whose address, guard or place behind a barrier or a store depends on an earlier one. */
#include "base/text.h"
#include "emu/decode/decode.h"
#include <stdlib.h>

struct chain { /* how many waits lie before the value of each register that this block wrote */
    struct {
        int block, waits;
    } * of;
    int block;
};

static int waits_of(const struct chain *c, const struct ptx_operand *o)
{
    int most = o->reg >= 0 && c->of[o->reg].block == c->block ? c->of[o->reg].waits : 0;
    for (int i = 0; i < o->count; i++) {
        int item = waits_of(c, &o->items[i]);
        most = item > most ? item : most;
    }
    return most;
}

static void put_waits(struct chain *c, const struct ptx_operand *o, int waits)
{
    if (o->reg >= 0) {
        c->of[o->reg].block = c->block;
        c->of[o->reg].waits = waits;
    }
    for (int i = 0; i < o->count; i++)
        put_waits(c, &o->items[i], waits);
}

/* Does no later load move in front of it? */
static bool keeps_loads_behind(const struct ptx_instr *in)
{
    return instr_is(in, "bar") || instr_is(in, "barrier") || instr_is(in, "fence") || instr_is(in, "membar") || instr_is(in, "atom") ||
           instr_is(in, "red") || (instr_is(in, "st") && !instr_has(in, "shared") && !instr_has(in, "local") && !instr_has(in, "param"));
}

static void walk_block(struct decode *d, const struct graph_block *b, struct chain *c)
{
    int done = 0, behind = 0;
    for (int i = b->first; i < b->end; i++) {
        const struct ptx_instr *in = d->f->instrs[i];
        bool also_read;
        int writes = instr_writes(in, &also_read), need = 0;
        if (in->guard >= 0 && c->of[in->guard].block == c->block)
            need = c->of[in->guard].waits;
        for (int k = also_read ? 0 : writes; k < in->count; k++) {
            int waits = waits_of(c, &in->operands[k]);
            need = waits > need ? waits : need;
        }
        if (need > done) {
            d->waits[i] = (uint8_t)(need - done < UINT8_MAX ? need - done : UINT8_MAX);
            done = need;
        }
        if (keeps_loads_behind(in))
            behind = done;
        if (instr_is(in, "ld") && instr_has(in, "global"))
            need = 1 + (need > behind || instr_has(in, "nc") ? need : behind);
        for (int k = 0; k < writes; k++)
            put_waits(c, &in->operands[k], need);
    }
}

void decode_waits(struct decode *d)
{
    SCOPED struct chain *c = xcalloc(1, sizeof *c);
    c->of = xcalloc((size_t)d->f->reg_count + 1, sizeof *c->of);
    d->waits = xcalloc((size_t)d->f->instr_count + 1, 1);
    for (int b = 0; b < d->graph.count; b++) {
        c->block = b + 1;
        walk_block(d, &d->graph.blocks[b], c);
    }
    free(c->of);
}
