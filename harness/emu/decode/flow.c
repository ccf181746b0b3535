#include "emu/decode/flow.h"
#include "base/text.h"
#include <stdlib.h>

#define MAX_BLOCKS 200000
#define MAX_NEST 200

bool instr_ends_block(const struct ptx_instr *in)
{
    static const char *const enders[] = {"bra", "brx", "ret", "exit", "trap", "call", NULL};
    for (int i = 0; enders[i]; i++)
        if (instr_is(in, enders[i]))
            return true;
    /* a guarded barrier is branched around */
    return in->guard >= 0 && (instr_is(in, "bar") || instr_is(in, "barrier") || instr_is(in, "mbarrier"));
}

int instr_writes(const struct ptx_instr *in, bool *also_read)
{
    static const char *const none[] = {"st",
                                       "stmatrix",
                                       "red",
                                       "bra",
                                       "brx",
                                       "ret",
                                       "exit",
                                       "trap",
                                       "brkpt",
                                       "bar",
                                       "barrier",
                                       "membar",
                                       "fence",
                                       "cp",
                                       "prefetch",
                                       "prefetchu",
                                       "nanosleep",
                                       "call",
                                       "multimem",
                                       "discard",
                                       "applypriority",
                                       "griddepcontrol",
                                       "setmaxnreg",
                                       "tensormap",
                                       "pmevent",
                                       ".branchtargets",
                                       ".calltargets",
                                       NULL};
    *also_read = false;
    if (in->count == 0)
        return 0;
    for (int i = 0; none[i]; i++)
        if (instr_is(in, none[i]))
            return (instr_is(in, "bar") || instr_is(in, "barrier")) && instr_has(in, "red") ? 1 : 0;
    if (instr_is(in, "wgmma")) {
        *also_read = true;
        return instr_has(in, "mma_async") ? 1 : 0;
    }
    if (instr_is(in, "tcgen05"))
        return instr_has(in, "ld") ? 1 : 0;
    if (instr_is(in, "wmma"))
        return instr_has(in, "store") ? 0 : 1;
    return in->operands[0].kind == OPERAND_ADDRESS ? 0 : 1;
}

static bool operand_names(const struct ptx_operand *o, int reg)
{
    bool is = o->reg == reg;
    for (int i = 0; i < o->count && !is; i++)
        is = operand_names(&o->items[i], reg);
    return is;
}

bool instr_reads(const struct ptx_instr *in, int reg)
{
    bool also_read, is = false;
    int writes = instr_writes(in, &also_read);
    for (int k = also_read ? 0 : writes; k < in->count && !is; k++)
        is = operand_names(&in->operands[k], reg);
    return is;
}

/* ---- blocks ---- */
static void mark_targets(const struct ptx_operand *o, bool *leader, int n)
{
    if (o->target >= 0 && o->target <= n)
        leader[o->target] = true;
    for (int i = 0; i < o->count; i++)
        mark_targets(&o->items[i], leader, n);
}

/* The list of a brx: its second operand is the label of a .branchtargets pseudo-instruction. */
static const struct ptx_operand *brx_list(const struct ptx_function *f, const struct ptx_instr *in)
{
    if (in->count != 2 || in->operands[1].target < 0 || in->operands[1].target >= f->instr_count)
        return NULL;
    const struct ptx_instr *t = f->instrs[in->operands[1].target];
    return instr_is(t, ".branchtargets") ? &t->operands[0] : NULL;
}

static bool jump_error(const struct ptx_module *m, const struct ptx_instr *in, const char *what, struct error *err)
{
    return error_set(err, ERROR_USAGE, "%s: PTX line %d, column %d: %s", m->label, in->ptx_line, in->column, what);
}

static bool block_successors(struct arena *arena, const struct ptx_module *m, const struct ptx_function *f, struct graph *g,
                             struct graph_block *b, struct error *err)
{
    const struct ptx_instr *last = f->instrs[b->end - 1];
    const struct ptx_operand *list = NULL;
    bool falls = true;
    int target = -1;
    if (instr_is(last, "bra")) {
        target = last->count == 1 ? last->operands[0].target : -1;
        falls = last->guard >= 0;
        if (target < 0)
            return jump_error(m, last, "'bra' to an unknown label", err);
    } else if (instr_is(last, "brx")) {
        if (!(list = brx_list(f, last)))
            return jump_error(m, last, "'brx' without a list of targets", err);
        falls = last->guard >= 0;
    } else if (instr_is(last, "ret") || instr_is(last, "exit") || instr_is(last, "trap")) {
        falls = last->guard >= 0;
    }
    int room = (list ? list->count : 1) + 1;
    b->next = arena_alloc(arena, (size_t)room * sizeof *b->next);
    if (falls && b->end < f->instr_count)
        b->next[b->next_count++] = g->block_of[b->end];
    if (target >= 0 && target < f->instr_count)
        b->next[b->next_count++] = g->block_of[target];
    for (int i = 0; list && i < list->count; i++) {
        int t = list->items[i].target;
        if (t < 0)
            return jump_error(m, last, "'brx' to an unknown label", err);
        if (t < f->instr_count)
            b->next[b->next_count++] = g->block_of[t];
    }
    return true;
}

/* ---- the order: strongly connected components in topological order, each loop's header first, recursively ---- */
struct order {
    struct graph *g;
    int *member, *index, *low, *stack, *work, *edge, *on_stack;
    int stamp, counter, next_index, stack_count;
};

static void decompose(struct order *o, const int *nodes, int n, int nest);

static void emit_component(struct order *o, const int *nodes, int n, int nest)
{
    if (n == 1) {
        o->g->blocks[nodes[0]].order = o->counter++;
        return;
    }
    int head = 0;
    for (int i = 1; i < n; i++)
        if (o->index[nodes[i]] < o->index[nodes[head]])
            head = i;
    int *rest = xmalloc((size_t)n * sizeof *rest), k = 0;
    o->g->blocks[nodes[head]].order = o->counter++;
    for (int i = n - 1; i >= 0; i--)
        if (i != head)
            rest[k++] = nodes[i];
    if (nest >= MAX_NEST)
        for (int i = 0; i < k; i++)
            o->g->blocks[rest[i]].order = o->counter++;
    else
        decompose(o, rest, k, nest + 1);
    free(rest);
}

/* Tarjan's algorithm without recursion over the members; components come out in reverse topological order. */
static void visit(struct order *o, int root, int stamp, int *out, int *ends, int *count, int *filled)
{
    int depth = 0;
    o->work[depth] = root;
    o->edge[root] = 0;
    o->index[root] = o->low[root] = o->next_index++;
    o->stack[o->stack_count++] = root;
    o->on_stack[root] = 1;
    while (depth >= 0) {
        int v = o->work[depth];
        const struct graph_block *b = &o->g->blocks[v];
        if (o->edge[v] < b->next_count) {
            int w = b->next[o->edge[v]++];
            if (o->member[w] != stamp)
                continue;
            if (o->index[w] < 0) {
                o->edge[w] = 0;
                o->index[w] = o->low[w] = o->next_index++;
                o->stack[o->stack_count++] = w;
                o->on_stack[w] = 1;
                o->work[++depth] = w;
            } else if (o->on_stack[w] && o->index[w] < o->low[v]) {
                o->low[v] = o->index[w];
            }
            continue;
        }
        if (o->low[v] == o->index[v]) {
            int w;
            do {
                w = o->stack[--o->stack_count];
                o->on_stack[w] = 0;
                out[(*filled)++] = w;
            } while (w != v);
            ends[(*count)++] = *filled;
        }
        depth--;
        if (depth >= 0 && o->low[v] < o->low[o->work[depth]])
            o->low[o->work[depth]] = o->low[v];
    }
}

static void decompose(struct order *o, const int *nodes, int n, int nest)
{
    int stamp = ++o->stamp, count = 0, filled = 0;
    int *out = xmalloc((size_t)n * sizeof *out), *ends = xmalloc((size_t)n * sizeof *ends);
    for (int i = 0; i < n; i++) {
        o->member[nodes[i]] = stamp;
        o->index[nodes[i]] = -1;
    }
    for (int i = 0; i < n; i++)
        if (o->index[nodes[i]] < 0)
            visit(o, nodes[i], stamp, out, ends, &count, &filled);
    for (int c = count - 1; c >= 0; c--) {
        int from = c ? ends[c - 1] : 0;
        emit_component(o, out + from, ends[c] - from, nest);
    }
    free(out);
    free(ends);
}

static void order_blocks(struct graph *g)
{
    int n = g->count;
    int *memory = xcalloc((size_t)n * 7 + 1, sizeof *memory);
    struct order o = {.g = g,
                      .member = memory,
                      .index = memory + n,
                      .low = memory + 2 * n,
                      .stack = memory + 3 * n,
                      .work = memory + 4 * n,
                      .edge = memory + 5 * n,
                      .on_stack = memory + 6 * n};
    int *nodes = xmalloc((size_t)n * sizeof *nodes);
    for (int i = 0; i < n; i++)
        nodes[i] = i;
    decompose(&o, nodes, n, 0);
    free(nodes);
    free(memory);
}

bool graph_build(struct arena *arena, const struct ptx_module *m, const struct ptx_function *f, struct graph *g, struct error *err)
{
    int n = f->instr_count;
    if (n == 0)
        return error_set(err, ERROR_USAGE, "%s: function '%s' has no instructions", m->label, f->name);
    bool *leader = xcalloc((size_t)n + 1, sizeof *leader);
    leader[0] = true;
    for (int i = 0; i < n; i++) {
        const struct ptx_instr *in = f->instrs[i];
        for (int k = 0; k < in->count; k++)
            mark_targets(&in->operands[k], leader, n);
        if (instr_ends_block(in))
            leader[i + 1] = true;
    }
    g->count = 0;
    for (int i = 0; i < n; i++)
        g->count += leader[i];
    g->blocks = arena_alloc(arena, (size_t)g->count * sizeof *g->blocks);
    g->block_of = arena_alloc(arena, ((size_t)n + 1) * sizeof *g->block_of);
    int at = -1;
    for (int i = 0; i < n; i++) {
        if (leader[i])
            g->blocks[++at].first = i;
        g->block_of[i] = at;
        g->blocks[at].end = i + 1;
    }
    g->block_of[n] = -1;
    free(leader);
    if (g->count > MAX_BLOCKS)
        return error_set(err, ERROR_USAGE, "%s: function '%s' has %d basic blocks; %d at most", m->label, f->name, g->count, MAX_BLOCKS);
    if (!ALL_OF(i, g->count, block_successors(arena, m, f, g, &g->blocks[i], err)))
        return false;
    order_blocks(g);
    return true;
}
