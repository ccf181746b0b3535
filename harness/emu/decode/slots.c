/* emu/decode/slots: liveness and linear scan. */
#include "base/text.h"
#include "base/order.h"
#include "emu/decode/flow.h"
#include <stdlib.h>
#include <string.h>

#define MAX_LIVE_BITS ((size_t)1 << 33)
#define MAX_FRAME (64u << 20)

int slot_bytes(enum ptx_type t)
{
    if (t == T_PRED)
        return 4;
    int bytes = ptx_type_bytes(t);
    return 32 * (bytes < 2 ? 2 : bytes);
}

struct live {
    const struct ptx_function *f;
    const struct graph *g;
    size_t words;             /* of a set */
    uint64_t *in, *use, *def; /* by block */
    int *start, *end;         /* by register: interval in half instructions; start -1 = never used */
    int block, at;            /* while walking */
};

static void walk_operand(struct live *l, const struct ptx_operand *o, bool write, bool read,
                         void (*see)(struct live *l, int reg, bool write))
{
    bool address = o->kind == OPERAND_ADDRESS;
    if (o->reg >= 0) {
        if (read || address)
            see(l, o->reg, false);
        if (write && !address)
            see(l, o->reg, true);
    }
    if (o->reg2 >= 0) {
        if (read)
            see(l, o->reg2, false);
        if (write)
            see(l, o->reg2, true);
    }
    for (int i = 0; i < o->count; i++)
        walk_operand(l, &o->items[i], write && !address, read || address, see);
}

/* Reads first, then writes. A write under a guard keeps the old value of other lanes: it reads, too. */
static void walk_instr(struct live *l, const struct ptx_instr *in, void (*see)(struct live *l, int reg, bool write))
{
    bool also_read;
    int writes = instr_writes(in, &also_read);
    if (in->guard >= 0) {
        see(l, in->guard, false);
        also_read = true;
    }
    for (int i = writes; i < in->count; i++)
        walk_operand(l, &in->operands[i], false, true, see);
    for (int i = 0; i < writes; i++) {
        if (also_read)
            walk_operand(l, &in->operands[i], false, true, see);
        walk_operand(l, &in->operands[i], true, false, see);
    }
}

static void see_local(struct live *l, int reg, bool write)
{
    uint64_t *use = l->use + (size_t)l->block * l->words, *def = l->def + (size_t)l->block * l->words;
    uint64_t bit = 1ull << (reg & 63);
    if (write)
        def[reg >> 6] |= bit;
    else if (!(def[reg >> 6] & bit))
        use[reg >> 6] |= bit;
}

static void stretch(struct live *l, int reg, int position)
{
    if (l->start[reg] < 0 || position < l->start[reg])
        l->start[reg] = position;
    if (position > l->end[reg])
        l->end[reg] = position;
}

/* Operands of lane-wise instructions may share a slot with their result; others write before they have read everything. */
static bool lane_wise(const struct ptx_instr *in)
{
    static const char *const ops[] = {"add", "sub", "mul",  "mad",   "fma", "and", "or",   "xor",  "not",  "shl", "shr", "min",  "max",
                                      "neg", "abs", "selp", "setp",  "mov", "div", "rem",  "shf",  "lop3", "bfe", "bfi", "prmt", "ex2",
                                      "lg2", "rcp", "sqrt", "rsqrt", "sin", "cos", "tanh", "popc", "clz",  "cvt", NULL};
    if (in->count < 2 || in->operands[0].kind != OPERAND_REG || in->operands[0].reg2 >= 0)
        return false;
    for (int i = 1; i < in->count; i++)
        if (in->operands[i].kind != OPERAND_REG && in->operands[i].kind != OPERAND_INT && in->operands[i].kind != OPERAND_F32 &&
            in->operands[i].kind != OPERAND_F64)
            return false;
    for (int i = 0; ops[i]; i++)
        if (instr_is(in, ops[i]))
            return true;
    return false;
}

static void see_interval(struct live *l, int reg, bool write)
{
    const struct ptx_instr *in = l->f->instrs[l->at];
    bool share = lane_wise(in);
    if (write)
        stretch(l, reg, share ? 2 * l->at + 1 : 2 * l->at), stretch(l, reg, 2 * l->at + 1);
    else
        stretch(l, reg, 2 * l->at);
}

static void propagate(struct live *l)
{
    const struct graph *g = l->g;
    size_t words = l->words;
    memcpy(l->in, l->use, (size_t)g->count * words * 8);
    for (bool changed = true; changed;) {
        changed = false;
        for (int b = g->count - 1; b >= 0; b--) {
            uint64_t *in = l->in + (size_t)b * words;
            const uint64_t *def = l->def + (size_t)b * words;
            for (int k = 0; k < g->blocks[b].next_count; k++) {
                const uint64_t *next = l->in + (size_t)g->blocks[b].next[k] * words;
                for (size_t w = 0; w < words; w++) {
                    uint64_t more = next[w] & ~def[w] & ~in[w];
                    if (more) {
                        in[w] |= more;
                        changed = true;
                    }
                }
            }
        }
    }
}

static void set_stretch(struct live *l, const uint64_t *set, int position)
{
    for (size_t w = 0; w < l->words; w++)
        for (uint64_t bits = set[w]; bits; bits &= bits - 1)
            stretch(l, (int)(w * 64) + __builtin_ctzll(bits), position);
}

static void intervals(struct live *l)
{
    for (int i = 0; i < l->f->reg_count; i++)
        l->start[i] = l->end[i] = -1;
    for (int b = 0; b < l->g->count; b++) {
        const struct graph_block *block = &l->g->blocks[b];
        set_stretch(l, l->in + (size_t)b * l->words, 2 * block->first);
        for (int i = block->first; i < block->end; i++) {
            l->at = i;
            walk_instr(l, l->f->instrs[i], see_interval);
        }
        for (int k = 0; k < block->next_count; k++)
            set_stretch(l, l->in + (size_t)block->next[k] * l->words, 2 * block->end - 1);
    }
}

/* ---- linear scan ---- */
static const int class_bytes[] = {4, 64, 128, 256, 512};
enum { CLASSES = 5 };

static int class_of(enum ptx_type t)
{
    int bytes = slot_bytes(t), c = 0;
    while (class_bytes[c] != bytes)
        c++;
    return c;
}

struct event {
    int start, reg;
};
ORDER(by_start, struct event, ORDER_UP(start) ?: ORDER_UP(reg))

struct active {
    int end, slot;
};
struct pool_class {
    struct active *heap; /* least end first */
    int heap_count;
    int *free_slots;
    int free_count, slots;
};

static void heap_push(struct pool_class *p, struct active a)
{
    int i = p->heap_count++;
    while (i && p->heap[(i - 1) / 2].end > a.end) {
        p->heap[i] = p->heap[(i - 1) / 2];
        i = (i - 1) / 2;
    }
    p->heap[i] = a;
}

static struct active heap_pop(struct pool_class *p)
{
    struct active top = p->heap[0], last = p->heap[--p->heap_count];
    int i = 0;
    for (;;) {
        int k = 2 * i + 1;
        if (k >= p->heap_count)
            break;
        if (k + 1 < p->heap_count && p->heap[k + 1].end < p->heap[k].end)
            k++;
        if (p->heap[k].end >= last.end)
            break;
        p->heap[i] = p->heap[k];
        i = k;
    }
    if (p->heap_count)
        p->heap[i] = last;
    return top;
}

static uint32_t scan(struct live *l, uint32_t *offset)
{
    int n = l->f->reg_count, used = 0;
    struct event *events = xmalloc(((size_t)n + 1) * sizeof *events);
    struct pool_class pools[CLASSES];
    for (int c = 0; c < CLASSES; c++) {
        pools[c] = (struct pool_class){0};
        pools[c].heap = xmalloc(((size_t)n + 1) * sizeof *pools[c].heap);
        pools[c].free_slots = xmalloc(((size_t)n + 1) * sizeof *pools[c].free_slots);
    }
    for (int r = 0; r < n; r++)
        if (l->start[r] >= 0)
            events[used++] = (struct event){l->start[r], r};
    qsort(events, (size_t)used, sizeof *events, by_start);
    for (int i = 0; i < used; i++) {
        int r = events[i].reg;
        struct pool_class *p = &pools[class_of(l->f->regs[r])];
        while (p->heap_count && p->heap[0].end < events[i].start)
            p->free_slots[p->free_count++] = heap_pop(p).slot;
        int slot = p->free_count ? p->free_slots[--p->free_count] : p->slots++;
        offset[r] = (uint32_t)slot;
        heap_push(p, (struct active){l->end[r], slot});
    }
    uint64_t at = SLOT_SCRATCH, base[CLASSES];
    for (int c = 0; c < CLASSES; c++) {
        base[c] = at;
        at += ((uint64_t)pools[c].slots * (uint64_t)class_bytes[c] + 63) & ~63ull;
        free(pools[c].heap);
        free(pools[c].free_slots);
    }
    for (int r = 0; r < n; r++) {
        int c = class_of(l->f->regs[r]);
        offset[r] = l->start[r] >= 0 ? (uint32_t)(base[c] + (uint64_t)offset[r] * (uint64_t)class_bytes[c]) : 0;
    }
    free(events);
    return at > MAX_FRAME ? 0 : (uint32_t)at;
}

bool slots_assign(struct arena *arena, const struct ptx_module *m, const struct ptx_function *f, const struct graph *g, struct slots *out,
                  struct error *err)
{
    int n = f->reg_count;
    struct live l = {.f = f, .g = g, .words = ((size_t)n + 63) / 64};
    if (l.words * 64 * (size_t)g->count > MAX_LIVE_BITS)
        return error_set(err, ERROR_USAGE, "%s: function '%s' is too large to analyse: %d registers in %d blocks", m->label, f->name, n,
                         g->count);
    size_t set = (l.words * (size_t)g->count + 1) * 8;
    l.in = xcalloc(1, set);
    l.use = xcalloc(1, set);
    l.def = xcalloc(1, set);
    l.start = xmalloc(((size_t)n + 1) * sizeof *l.start);
    l.end = xmalloc(((size_t)n + 1) * sizeof *l.end);
    for (int b = 0; b < g->count; b++) {
        l.block = b;
        for (int i = g->blocks[b].first; i < g->blocks[b].end; i++)
            walk_instr(&l, f->instrs[i], see_local);
    }
    propagate(&l);
    intervals(&l);
    out->offset = arena_alloc(arena, ((size_t)n + 1) * sizeof *out->offset);
    out->bytes = scan(&l, out->offset);
    out->undefined = arena_alloc(arena, ((size_t)n + 1) * sizeof *out->undefined);
    out->undefined_count = 0;
    for (size_t w = 0; w < l.words; w++)
        for (uint64_t bits = l.in[w]; bits; bits &= bits - 1)
            out->undefined[out->undefined_count++] = (int)(w * 64) + __builtin_ctzll(bits);
    FREE_ALL(l.in, l.use, l.def, l.start, l.end);
    return out->bytes ||
           error_set(err, ERROR_USAGE, "%s: function '%s' needs registers of more than %u bytes a warp", m->label, f->name, MAX_FRAME);
}
