#include "emu/decode/decode.h"
#include "base/order.h"
#include "base/text.h"
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static uint32_t new_flow(struct decode *d, uint32_t order)
{
    struct program *p = d->p;
    const uint32_t id = p->flow_count;
    *APPEND(p->flows, p->flow_count) = (struct flow){.id = id, .order = order};
    return id;
}

/* `start` holds the instruction's number until the code stops growing. */
static void begin_flow(struct decode *d, uint32_t flow)
{
    d->flow = flow;
    d->p->flows[flow].start = (const struct insn *)(uintptr_t)d->p->count;
}

static void emit_jump(struct decode *d, enum op op, uint32_t to)
{
    struct insn *ip = op == OP_fall ? decode_emit_internal(d, op) : decode_emit(d, op);
    ip->target = (const struct flow *)(uintptr_t)to;
}

/* ---- instructions ---- */
static bool decode_brx(struct decode *d)
{
    const struct ptx_instr *in = d->in, *table;
    decode_take(d, "idx");
    decode_take(d, "uni");
    if (in->count != 2 || in->operands[1].target < 0 || in->operands[1].target >= d->f->instr_count)
        return decode_fail(d, "an index and a list of targets were expected");
    table = d->f->instrs[in->operands[1].target];
    const struct ptx_operand *o = &table->operands[0];
    uint32_t *l = decode_list(d, o->count + 1), a = decode_source(d, &in->operands[0], T_U32, false);
    l[0] = (uint32_t)o->count;
    for (int i = 0; i < o->count; i++) {
        int t = o->items[i].target;
        l[1 + i] = d->first_flow + (t < d->f->instr_count ? (uint32_t)d->graph.block_of[t] : (uint32_t)d->graph.count);
    }
    struct insn *ip = decode_emit(d, OP_brx);
    ip->a = a;
    ip->list = l;
    return true;
}

static bool is_control(const struct ptx_instr *in)
{
    return instr_ends_block(in) && !instr_is(in, "bra");
}

static bool decode_plain(struct decode *d, uint32_t next_flow)
{
    const struct ptx_instr *in = d->in;
    d->taken = 0;
    d->scratch = 0;
    if (instr_is(in, ".branchtargets") || instr_is(in, ".calltargets"))
        return true;
    if (!decode_allowed(d))
        return false;
    if (instr_is(in, "ret") || instr_is(in, "exit")) {
        decode_take(d, "uni");
        decode_emit(d, instr_is(in, "ret") ? OP_ret : OP_exit);
    } else if (instr_is(in, "trap")) {
        decode_emit(d, OP_trap);
    } else if (instr_is(in, "call")) {
        if (!decode_call(d, next_flow))
            return decode_fail(d, "this call is not supported");
    } else if (instr_is(in, "brx")) {
        if (!decode_brx(d))
            return false;
    } else if (decode_of_chip(d) && !decode_move(d) && !decode_alu(d) && !decode_float(d) && !decode_memory(d) && !decode_warp(d) &&
               !decode_tensor(d) && !decode_async(d) && !decode_tcgen05(d) && !decode_tensormap(d) && !decode_video(d)) {
        return decode_unknown(d, -1);
    }
    for (int i = 0; i < in->mod_count && !d->failed; i++)
        if (!(d->taken >> i & 1))
            return decode_unknown(d, i);
    return !d->failed;
}

static bool decode_guarded(struct decode *d, uint32_t next_flow)
{
    const struct ptx_instr *in = d->in;
    struct insn *guard;
    if (is_control(in)) { /* a branch around it */
        uint32_t inside = new_flow(d, d->p->flows[d->flow].order + 1);
        guard = decode_emit_internal(d, OP_bra_if);
        guard->a = decode_slot(d, in->guard);
        guard->flags = in->guard_negated;
        guard->target = (const struct flow *)(uintptr_t)inside;
        guard->d = next_flow;
        begin_flow(d, inside);
        if (!decode_plain(d, next_flow))
            return false;
        emit_jump(d, OP_fall, next_flow);
        return true;
    }
    guard = decode_emit_internal(d, OP_guard);
    guard->a = decode_slot(d, in->guard);
    guard->flags = in->guard_negated;
    uint32_t at = d->p->count;
    if (!decode_plain(d, next_flow))
        return false;
    /* several operations for one instruction: each gets its own guard, and an end */
    uint32_t n = d->p->count - at;
    if (n == 0) /* nothing to guard */
        d->p->count = at - 1;
    for (uint32_t i = 1; i < 2 * n; i++)
        decode_emit_internal(d, OP_step_end);
    struct program *p = d->p;
    for (uint32_t i = n; i-- > 0;) {
        uint32_t to = at + 3 * i;
        p->code[to] = p->code[at + i];
        p->cold[to] = p->cold[at + i];
        p->code[to].index = to;
        p->code[to - 1] = p->code[at - 1];
        p->cold[to - 1] = p->cold[at - 1];
        p->code[to - 1].index = to - 1;
    }
    for (uint32_t i = 0; i < n; i++) { /* the last one emitted is an end */
        p->code[at + 3 * i + 1] = p->code[p->count - 1];
        p->cold[at + 3 * i + 1] = p->cold[p->count - 1];
        p->code[at + 3 * i + 1].index = at + 3 * i + 1;
    }
    for (uint32_t i = 0; i < n; i++)
        p->cold[at + 3 * i].guarded = 1;
    return true;
}

static bool decode_branch(struct decode *d, uint32_t next_flow)
{
    const struct ptx_instr *in = d->in;
    int t = in->operands[0].target;
    uint32_t to = d->first_flow + (t < d->f->instr_count ? (uint32_t)d->graph.block_of[t] : (uint32_t)d->graph.count);
    for (int i = 0; i < in->mod_count; i++)
        if (strcmp(in->mods[i], "uni"))
            return decode_unknown(d, i);
    if (in->guard < 0) {
        emit_jump(d, OP_bra, to);
        return true;
    }
    struct insn *ip = decode_emit(d, OP_bra_if);
    ip->a = decode_slot(d, in->guard);
    ip->flags = in->guard_negated;
    ip->target = (const struct flow *)(uintptr_t)to;
    ip->d = next_flow;
    return true;
}

static bool decode_block(struct decode *d, int b)
{
    const struct graph_block *block = &d->graph.blocks[b];
    begin_flow(d, d->first_flow + (uint32_t)b);
    uint32_t next_flow = d->first_flow + (uint32_t)b + 1; /* behind the last block stands a return */
    bool open = true;
    for (int i = block->first; i < block->end; i++) {
        d->in = d->f->instrs[d->at = i];
        bool ok = instr_is(d->in, "bra") ? decode_branch(d, next_flow)
                  : d->in->guard >= 0    ? decode_guarded(d, next_flow)
                                         : decode_plain(d, next_flow);
        if (!ok)
            return false;
        open = !instr_ends_block(d->in);
    }
    if (open)
        emit_jump(d, OP_fall, next_flow);
    return true;
}

static void count_uses(struct decode *d)
{
    d->uses = xcalloc((size_t)d->f->reg_count + 1, sizeof *d->uses);
    for (int i = 0; i < d->f->instr_count; i++) {
        const struct ptx_instr *in = d->f->instrs[i];
        bool also_read;
        int writes = instr_writes(in, &also_read);
        for (int k = writes; k < in->count; k++) {
            const struct ptx_operand *o = &in->operands[k];
            if (o->reg >= 0 && d->uses[o->reg] < 60000)
                d->uses[o->reg]++;
            for (int v = 0; v < o->count; v++)
                if (o->items[v].reg >= 0 && d->uses[o->items[v].reg] < 60000)
                    d->uses[o->items[v].reg]++;
        }
    }
}

ORDER(ranges_by_place, struct frame_range, ORDER_UP(at))

/* A warp zeroes registers that may be read before they are written, so that a wrong kernel gives the same in each run: those of the entry
 * alone, for they are few and a frame is large. A call may leave what it likes in a frame: the whole stack is zeroed. */
static void note_undefined(struct decode *d)
{
    struct program *p = d->p;
    const struct slots *s = &d->slots;
    if (d->function) {
        p->zero_frame |= s->undefined_count > 0;
        return;
    }
    p->zero = arena_alloc(&p->arena, ((size_t)s->undefined_count + 1) * sizeof *p->zero);
    for (int i = 0; i < s->undefined_count; i++)
        p->zero[p->zero_count++] = (struct frame_range){s->offset[s->undefined[i]], (uint32_t)slot_bytes(d->f->regs[s->undefined[i]])};
    qsort(p->zero, p->zero_count, sizeof *p->zero, ranges_by_place);
}

static bool decode_function(struct decode *d, int number)
{
    struct program *p = d->p;
    d->function = number;
    d->f = p->functions[number].ptx;
    d->in = NULL;
    if (!graph_build(&p->arena, d->m, d->f, &d->graph, d->err) || !slots_assign(&p->arena, d->m, d->f, &d->graph, &d->slots, d->err))
        return !(d->failed = true);
    if (!decode_place_function(d, &p->functions[number]))
        return false;
    note_undefined(d);
    decode_origins(d);
    decode_overtaken(d);
    decode_unread(d);
    d->first_flow = p->flow_count;
    p->functions[number].entry = (const struct flow *)(uintptr_t)d->first_flow;
    for (int b = 0; b <= d->graph.count; b++)
        new_flow(d, b < d->graph.count ? 2 * (uint32_t)d->graph.blocks[b].order : UINT32_MAX);
    decode_joins(d);
    count_uses(d);
    bool ok = ALL_OF(b, d->graph.count, decode_block(d, b));
    free(d->uses);
    free(d->origins);
    d->origins = NULL;
    free(d->overtaken);
    d->overtaken = NULL;
    free(d->unread);
    d->unread = NULL;
    if (!ok)
        return false;
    begin_flow(d, d->first_flow + (uint32_t)d->graph.count);
    decode_emit_internal(d, OP_ret);
    return true;
}

/* Bytes of the deepest chain of activations; recursion gets a fixed number of turns. */
static void sum_frames(struct decode *d)
{
    struct program *p = d->p;
    uint64_t frame = 0, local = 0;
    for (int i = 0; i < p->function_count; i++) {
        frame += p->functions[i].frame_bytes;
        local += p->functions[i].local_bytes;
    }
    if (p->calls && local > p->functions[0].local_bytes)
        local = local * 64 > 65536 ? (local > 65536 ? local * 2 : 65536) : local * 64;
    p->frame_bytes = (uint32_t)frame; /* grows when needed */
    p->fixed_local_bytes = local > PTX_MAX_VAR_BYTES ? (uint32_t)PTX_MAX_VAR_BYTES : (uint32_t)((local + 15) & ~15ull);
    p->local_bytes = p->fixed_local_bytes + (p->uses_alloca ? ALLOCA_BYTES : 0);
}

static void resolve_pointers(struct program *p)
{
    for (int i = 0; i < p->function_count; i++)
        p->functions[i].entry = p->flows + (uintptr_t)p->functions[i].entry;
    for (uint32_t i = 0; i < p->flow_count; i++)
        p->flows[i].start = p->code + (uintptr_t)p->flows[i].start;
    for (uint32_t i = 0; i < p->count; i++)
        if (p->code[i].op == OP_fall || p->code[i].op == OP_bra || p->code[i].op == OP_bra_if)
            p->code[i].target = p->flows + (uintptr_t)p->code[i].target;
}

static void size_flows(struct program *p)
{
    p->flow_sizes = xcalloc(p->flow_count + 1, sizeof *p->flow_sizes);
    for (uint32_t i = 0; i < p->count; i++)
        if (p->code[i].op != OP_guard && !p->cold[i].internal && p->cold[i].source) {
            p->flow_sizes[p->cold[i].block]++;
            p->cold[i].more = decode_machine_more(p->cold[i].source);
        }
}

/* Instructions that learn patterns or count events get a memo. */
static void number_memos(struct program *p)
{
    for (uint32_t i = 0; i < p->count; i++) {
        enum op op = (enum op)p->code[i].op;
        bool memory = (op >= OP_ld_global && op <= OP_st_local) || op == OP_atom;
        bool together = op == OP_guard || op == OP_bra_if || op == OP_brx || op == OP_bar || op > OP_yield;
        p->code[i].memo = memory || together ? p->memo_count++ : UINT32_MAX;
        p->memo_count += op == OP_cp_async; /* source and destination */
    }
}

/* Finds where the constants are, and whether some register of 32 bits holds an address of them or of a parameter: after that, any register
 * may hold it. */
static void find_short_addresses(struct decode *d)
{
    for (const struct ptx_var *v = d->m->vars; v; v = v->next)
        if (v->space == SPACE_CONST && v->address && (!d->constant_base || v->address < d->constant_base))
            d->constant_base = v->address;
    for (const struct ptx_function *f = d->m->functions; f; f = f->next)
        for (int i = 0; i < f->instr_count; i++) {
            const struct ptx_instr *in = f->instrs[i];
            const struct ptx_operand *o = &in->operands[1];
            if (!instr_is(in, "mov") || in->count != 2 || (o->kind != OPERAND_VAR && o->kind != OPERAND_SYMBOL))
                continue;
            const struct ptx_var *v = o->var ? o->var : ptx_find_var(d->m, o->name);
            d->short_addresses |= v && (v->space == SPACE_CONST || v->space == SPACE_PARAM) && in->mod_count &&
                                  ptx_type_bytes(ptx_type_parse(in->mods[in->mod_count - 1])) == 4;
        }
}

struct program *decode_entry(const struct ptx_module *m, const struct ptx_function *entry, struct error *err)
{
    if (!decode_target_known(m, err))
        return NULL;
    struct program *p = xcalloc(1, sizeof *p);
    p->module = m;
    p->full_barriers = true;
    p->shared_shift = 2;
    p->global_shift = 4;
    struct decode *state = xcalloc(1, sizeof *state);
    *state = (struct decode){.p = p, .m = m, .sm = decode_target_number(m), .err = err};
    find_short_addresses(state);
    decode_place_shared(state, entry);
    bool ok = ALL_OF(i, p->function_count, decode_function(state, i));
    ok = ok && !state->failed;
    if (ok)
        sum_frames(state);
    free(state->placed);
    free(state);
    if (!ok) {
        decode_free(p);
        return NULL;
    }
    resolve_pointers(p);
    size_flows(p);
    number_memos(p);
    p->simple_races = p->full_barriers && !p->shared_spin && !p->uses_mbarrier && !p->uses_cluster && !p->uses_async;
    return p;
}

void decode_free(struct program *p)
{
    if (!p)
        return;
    arena_free(&p->arena);
    FREE_ALL(p->functions, p->code, p->cold, p->flows, p->flow_sizes, p->origins, p->constants);
    decode_path_free(p->path_code);
    if (p->jit)
        munmap(p->jit, p->jit_bytes);
    free(p);
}
