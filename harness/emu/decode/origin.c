/* emu/decode/origin: from which variable, or which pointer of the launch, each address was computed. If the origin is certain, an access
 * outside of it is an error, even if another array is there. */
#include "base/text.h"
#include "emu/decode/decode.h"
#include "emu/decode/flow.h"
#include <stdlib.h>

enum { ORIGIN_NONE = 0, ORIGIN_MIXED = -1 }; /* no pointer; several, or by other operations than sums */

struct origins {
    struct decode *d;
    int32_t *of; /* by register: 1 + index into program.origins */
    bool *seen;
};

static int origin_add(struct program *p, struct origin o)
{
    for (uint32_t i = 0; i < p->origin_count; i++)
        if (p->origins[i].low == o.low && p->origins[i].high == o.high && p->origins[i].param == o.param &&
            p->origins[i].address == o.address)
            return (int)i + 1;
    if (p->origin_count >= UINT16_MAX - 1)
        return ORIGIN_MIXED;
    if (!(p->origin_count & (p->origin_count + 1)))
        p->origins = xrealloc(p->origins, ((size_t)p->origin_count + 1) * 2 * sizeof *p->origins);
    p->origins[p->origin_count++] = o;
    return (int)p->origin_count;
}

static int of_variable(struct decode *d, const struct ptx_operand *o)
{
    const struct ptx_var *v = o->var;
    if (!v && o->name)
        v = ptx_find_var(d->m, o->name);
    if (!v || !v->bytes || v->is_extern)
        return v ? ORIGIN_MIXED : ORIGIN_NONE;
    if ((v->space == SPACE_GLOBAL || v->space == SPACE_CONST) && v->address) {
        d->p->has_addresses = true;
        return origin_add(d->p, (struct origin){.address = v->address});
    }
    const struct placed *at = v->space == SPACE_SHARED ? decode_find_placed(d, v, -1) : NULL;
    if (!at)
        return ORIGIN_MIXED;
    return origin_add(d->p, (struct origin){.low = (uint32_t)at->at, .high = (uint32_t)(at->at + v->bytes), .name = v->name});
}

static int of_operand(struct origins *s, const struct ptx_operand *o)
{
    if (o->kind == OPERAND_REG && o->reg >= 0)
        return s->of[o->reg];
    return o->kind == OPERAND_VAR || o->kind == OPERAND_SYMBOL ? of_variable(s->d, o) : ORIGIN_NONE;
}

static int join(int a, int b)
{
    return a == b ? a : ORIGIN_MIXED;
}

static int sum(int a, int b)
{
    return a == ORIGIN_NONE ? b : b == ORIGIN_NONE ? a : ORIGIN_MIXED;
}

/* What an instruction makes of its operands' origins. */
static int of_result(struct origins *s, const struct ptx_instr *in)
{
    const struct ptx_operand *o = in->operands;
    if (instr_is(in, "ld") && instr_has(in, "param") && s->d->f->is_entry && instr_has(in, "u64") && o[1].kind == OPERAND_ADDRESS &&
        o[1].var) {
        const struct placed *at = decode_find_placed(s->d, o[1].var, s->d->function);
        return at && !at->stride ? origin_add(s->d->p, (struct origin){.param = 1 + (uint32_t)(at->at + o[1].bits)}) : ORIGIN_NONE;
    }
    if (in->count < 2)
        return ORIGIN_NONE;
    if (instr_is(in, "mov") || instr_is(in, "cvta"))
        return of_operand(s, &o[1]);
    if (in->count < 3)
        return instr_is(in, "cvt") ? of_operand(s, &o[1]) : ORIGIN_NONE;
    int a = of_operand(s, &o[1]), b = of_operand(s, &o[2]);
    if (instr_is(in, "add") || instr_is(in, "or"))
        return sum(a, b);
    if (instr_is(in, "sub"))
        return b == ORIGIN_NONE ? a : a > 0 && b > 0 ? ORIGIN_NONE : ORIGIN_MIXED;
    if (instr_is(in, "selp"))
        return join(a, b);
    if (instr_is(in, "mad") && in->count > 3)
        return of_operand(s, &o[3]);
    return instr_is(in, "and") || instr_is(in, "xor") || instr_is(in, "min") || instr_is(in, "max") ? (a || b ? ORIGIN_MIXED : ORIGIN_NONE)
                                                                                                    : ORIGIN_NONE;
}

static bool set(struct origins *s, const struct ptx_operand *o, int origin)
{
    bool changed = false;
    for (int i = 0; i < o->count && o->kind == OPERAND_VECTOR; i++)
        changed |= set(s, &o->items[i], ORIGIN_NONE);
    if (o->kind != OPERAND_REG || o->reg < 0)
        return changed;
    int to = s->seen[o->reg] ? join(s->of[o->reg], origin) : origin;
    changed |= to != s->of[o->reg];
    s->seen[o->reg] = true;
    s->of[o->reg] = to;
    return changed;
}

/* Registers in loops are looked at until nothing changes. A register seen first as no pointer may become one: it starts unseen. */
void decode_origins(struct decode *d)
{
    struct origins s = {d, xcalloc((size_t)d->f->reg_count + 1, sizeof *s.of), xcalloc((size_t)d->f->reg_count + 1, 1)};
    for (int turn = 0, changed = 1; changed; turn++) {
        changed = 0;
        for (int i = 0; i < d->f->instr_count; i++) {
            const struct ptx_instr *in = d->f->instrs[i];
            bool also_read;
            int writes = instr_writes(in, &also_read);
            int origin = turn < 50 ? of_result(&s, in) : ORIGIN_MIXED;
            for (int k = 0; k < writes && k < in->count; k++)
                changed |= set(&s, &in->operands[k], k == 0 && in->operands[0].kind == OPERAND_REG ? origin : ORIGIN_NONE);
        }
        if (turn > 60)
            break;
    }
    free(s.seen);
    d->origins = s.of;
}

/* Of an address operand, for cold.origin; 0: not known. */
uint16_t decode_origin_of(struct decode *d, const struct ptx_operand *o)
{
    int origin = o->kind != OPERAND_ADDRESS ? 0 : o->reg >= 0 ? d->origins[o->reg] : o->name || o->var ? of_variable(d, o) : 0;
    return origin > 0 ? (uint16_t)origin : 0;
}

/* ---- loads from shared memory that another lane's store may overtake ---- */
static bool lanes_wait(const struct ptx_instr *in)
{
    static const char *const together[] = {"shfl",     "vote",  "match",    "redux", "bar",   "barrier",   "ldmatrix", "wmma",
                                           "mbarrier", "elect", "stmatrix", "mma",   "wgmma", "movmatrix", NULL};
    for (int i = 0; together[i]; i++)
        if (instr_is(in, together[i]))
            return !instr_has(in, "arrive");
    return false;
}

/* Others are told that they may write. */
static bool lanes_tell(const struct ptx_instr *in)
{
    return (instr_is(in, "mbarrier") && instr_has(in, "arrive")) || instr_has(in, "mbarrier::complete_tx::bytes");
}

static bool may_touch_shared(const struct ptx_instr *in)
{
    static const char *const others[] = {"global", "local", "param", "const", NULL};
    for (int i = 0; others[i]; i++)
        if (instr_has(in, others[i]))
            return false;
    return true;
}

/* Going backwards through a block: is there a store before its lanes wait for each other? */
static bool store_ahead(struct decode *d, int block, bool ahead, bool note)
{
    const struct graph_block *b = &d->graph.blocks[block];
    for (int i = b->end; i-- > b->first;) {
        const struct ptx_instr *in = d->f->instrs[i];
        if (note && ahead && instr_is(in, "ld"))
            d->overtaken[i >> 3] |= (uint8_t)(1u << (i & 7));
        if (lanes_wait(in))
            ahead = false;
        else if (instr_is(in, "call") || (instr_is(in, "st") && may_touch_shared(in)) || lanes_tell(in))
            ahead = true;
    }
    return ahead;
}

void decode_overtaken(struct decode *d)
{
    int n = d->graph.count;
    bool *ahead = xcalloc((size_t)n + 1, sizeof *ahead); /* at a block's start */
    d->overtaken = xcalloc((size_t)d->f->instr_count / 8 + 1, 1);
    for (bool more = true; more;) {
        more = false;
        for (int b = n; b-- > 0;) {
            bool behind = d->function > 0 && !d->graph.blocks[b].next_count; /* who called may store */
            for (int k = 0; k < d->graph.blocks[b].next_count; k++)
                behind |= ahead[d->graph.blocks[b].next[k]];
            bool now = store_ahead(d, b, behind, false);
            more |= now != ahead[b];
            ahead[b] = now;
        }
    }
    for (int b = 0; b < n; b++) {
        bool behind = d->function > 0 && !d->graph.blocks[b].next_count;
        for (int k = 0; k < d->graph.blocks[b].next_count; k++)
            behind |= ahead[d->graph.blocks[b].next[k]];
        store_ahead(d, b, behind, true);
    }
    free(ahead);
}

/* ---- ldmatrix of which an mbarrier is told before anything has used its result ---- */
#define UNREAD_BLOCKS 4 /* behind a load, on a path, are looked at */

static bool uses_result(const struct ptx_instr *in, const struct ptx_operand *result)
{
    bool uses = result->reg >= 0 && instr_reads(in, result->reg);
    for (int r = 0; r < result->count && !uses; r++)
        uses = result->items[r].reg >= 0 && instr_reads(in, result->items[r].reg);
    return uses;
}

enum first { NOTHING_FIRST, ARRIVAL_FIRST, USE_FIRST };

/* Which of two comes first in a block from instruction i on: an arrival; or a barrier, a fence or the use of a loaded value. */
static enum first first_of(const struct decode *d, int block, int i, const struct ptx_operand *result)
{
    for (; i < d->graph.blocks[block].end; i++) {
        const struct ptx_instr *in = d->f->instrs[i];
        if (instr_is(in, "mbarrier") && instr_has(in, "arrive"))
            return ARRIVAL_FIRST;
        if ((instr_is(in, "bar") && !instr_has(in, "warp")) || instr_is(in, "barrier") || instr_is(in, "fence") || instr_is(in, "call") ||
            uses_result(in, result))
            return USE_FIRST;
    }
    return NOTHING_FIRST;
}

/* Does an arrival come first whatever way is taken? Lanes that are elected to arrive do it in a block that others go around. */
static bool arrives_first(const struct decode *d, int block, int i, const struct ptx_operand *result, int blocks)
{
    enum first first = first_of(d, block, i, result);
    const struct graph_block *b = &d->graph.blocks[block];
    int next[2], count = 0;
    for (int k = 0; k < b->next_count; k++)
        if (b->next[k] != block && count < 2)
            next[count++] = b->next[k];
    if (first != NOTHING_FIRST || !count || blocks <= 1)
        return first == ARRIVAL_FIRST;
    for (int k = 0; count == 2 && k < 2; k++) {
        const struct graph_block *aside = &d->graph.blocks[next[k]];
        if (aside->next_count == 1 && aside->next[0] == next[1 - k] && (first = first_of(d, next[k], aside->first, result)) != USE_FIRST)
            return first == ARRIVAL_FIRST || arrives_first(d, next[1 - k], d->graph.blocks[next[1 - k]].first, result, blocks - 1);
    }
    return ALL_OF(k, count, arrives_first(d, next[k], d->graph.blocks[next[k]].first, result, blocks - 1));
}

void decode_unread(struct decode *d)
{
    d->unread = xcalloc((size_t)d->f->instr_count / 8 + 1, 1);
    for (int b = 0; b < d->graph.count; b++)
        for (int i = d->graph.blocks[b].first; i < d->graph.blocks[b].end; i++) {
            const struct ptx_instr *in = d->f->instrs[i];
            if (instr_is(in, "ldmatrix") && in->count && arrives_first(d, b, i + 1, &in->operands[0], UNREAD_BLOCKS))
                d->unread[i >> 3] |= (uint8_t)(1u << (i & 7));
        }
}

void decode_is_unread(struct decode *d)
{
    if (d->unread[d->at >> 3] >> (d->at & 7) & 1)
        d->p->unread = d->p->cold[d->p->count - 1].unread = true;
}
