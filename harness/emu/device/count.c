#include "emu/device/count.h"
#include "base/file.h"
#include "base/text.h"
#include "emu/device/path.h"
#include "emu/handlers.h"
#include "emu/ops.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNTER_WARP(name, unit) {"emu.warp_" #name, #name, unit, true},
#define COUNTER(name, unit) {"emu." #name, #name, unit, false},
static const struct device_counter counters[COUNT_COUNT] = {EMU_COUNTERS(COUNTER_WARP, COUNTER)};

static const enum emu_counter class_counter[CLASS_COUNT] = {[CLASS_FMA] = COUNT_warp_fma,
                                                            [CLASS_FLOAT] = COUNT_warp_float,
                                                            [CLASS_F64] = COUNT_warp_f64,
                                                            [CLASS_HALF] = COUNT_warp_half,
                                                            [CLASS_SPECIAL_FN] = COUNT_warp_special,
                                                            [CLASS_TENSOR] = COUNT_warp_tensor,
                                                            [CLASS_INT] = COUNT_warp_int,
                                                            [CLASS_CONVERT] = COUNT_warp_convert,
                                                            [CLASS_COMPARE] = COUNT_warp_compare,
                                                            [CLASS_MOVE] = COUNT_warp_move,
                                                            [CLASS_LOAD_GLOBAL] = COUNT_warp_load_global,
                                                            [CLASS_STORE_GLOBAL] = COUNT_warp_store_global,
                                                            [CLASS_LOAD_SHARED] = COUNT_warp_load_shared,
                                                            [CLASS_STORE_SHARED] = COUNT_warp_store_shared,
                                                            [CLASS_LOAD_LOCAL] = COUNT_warp_load_local,
                                                            [CLASS_STORE_LOCAL] = COUNT_warp_store_local,
                                                            [CLASS_LOAD_CONST] = COUNT_warp_load_const,
                                                            [CLASS_GENERIC] = COUNT_warp_generic,
                                                            [CLASS_ATOMIC] = COUNT_warp_atomic,
                                                            [CLASS_ASYNC] = COUNT_warp_async,
                                                            [CLASS_WARP] = COUNT_warp_shuffle,
                                                            [CLASS_BARRIER] = COUNT_warp_barrier,
                                                            [CLASS_BRANCH] = COUNT_warp_branch,
                                                            [CLASS_OTHER] = COUNT_warp_other};

static struct line_counts *count_line_of(struct totals *t, int line)
{
    int low = 0, high = t->line_count;
    while (low < high) {
        int middle = (low + high) / 2;
        if (t->lines[middle].line < line)
            low = middle + 1;
        else
            high = middle;
    }
    if (low < t->line_count && t->lines[low].line == line)
        return &t->lines[low];
    (void)APPEND(t->lines, t->line_count);
    memmove(t->lines + low + 1, t->lines + low, (size_t)(t->line_count - 1 - low) * sizeof *t->lines);
    t->lines[low] = (struct line_counts){.line = line};
    return &t->lines[low];
}

/* What operations of one instruction of the PTX count, added up. */
static void count_code(struct totals *t, const struct program *p, const struct cold *c, bool own, const uint64_t *v)
{
    const struct ptx_module *m = p->module;
    const struct ptx_place *place = &c->source->place;
    int at = 0, high = t->code_count; /* behind those of this line and before */
    while (at < high) {
        int middle = (at + high) / 2;
        if (t->code[middle].ptx_line <= c->source->ptx_line)
            at = middle + 1;
        else
            high = middle;
    }
    if (!at || t->code[at - 1].ptx_line != c->source->ptx_line) {
        (void)APPEND(t->code, t->code_count);
        memmove(t->code + at + 1, t->code + at, (size_t)(t->code_count - 1 - at) * sizeof *t->code);
        struct device_instruction *made = &t->code[at++];
        *made = (struct device_instruction){.ptx_line = c->source->ptx_line, .line = own ? c->line : 0};
        if (place->line > 0 && place->file > 0 && place->file < m->file_count && m->files[place->file] && (!own || place->file != c->file))
            snprintf(made->inlined, sizeof made->inlined, "%.50s:%d", file_base(m->files[place->file]), place->line);
    }
    struct device_instruction *d = &t->code[at - 1];
    d->executed += v[COUNT_warp_instructions];
    d->lanes += v[COUNT_thread_instructions];
    d->sectors += v[COUNT_global_sectors_ld] + v[COUNT_global_sectors_st] + v[COUNT_async_sectors];
    d->sectors_ideal += v[COUNT_global_sectors_ideal_ld] + v[COUNT_global_sectors_ideal_st];
    d->wavefronts += v[COUNT_shared_wavefronts_ld] + v[COUNT_shared_wavefronts_st];
    d->wavefronts_ideal += v[COUNT_shared_wavefronts_ideal_ld] + v[COUNT_shared_wavefronts_ideal_st];
}

static bool is_store(const struct ptx_instr *in)
{
    return in->op[0] == 's';
}

static void count_memory(uint64_t *v, const struct ptx_instr *in, enum op op, const struct memo *m)
{
    bool atomic = op == OP_atom, store = is_store(in), async = !strcmp(in->op, "cp");
    if (async) {
        v[COUNT_async_copies] += m->events;
        v[COUNT_async_sectors] += m->sector_sum;
        v[COUNT_async_pieces] += op == OP_cp_async ? m->sector_sum + m->split : 0;
        v[COUNT_async_bytes] += m->bytes;
    } else if (atomic) {
        v[COUNT_global_requests_atomic] += m->requests;
        v[COUNT_global_sectors_atomic] += m->sector_sum;
        v[COUNT_atomics] += m->requests + m->shared_requests;
        v[COUNT_atomic_contention] += m->events;
    } else {
        v[store ? COUNT_global_requests_st : COUNT_global_requests_ld] += m->requests;
        v[store ? COUNT_global_sectors_st : COUNT_global_sectors_ld] += m->sector_sum;
        v[store ? COUNT_global_sectors_ideal_st : COUNT_global_sectors_ideal_ld] += m->best_sum;
    }
    v[COUNT_global_lines] += m->line_sum;
    v[COUNT_global_wavefronts] += m->wave_sum;
    v[COUNT_shared_requests] += m->shared_requests;
    v[store || atomic || async ? COUNT_shared_wavefronts_st : COUNT_shared_wavefronts_ld] += m->wavefront_sum;
    v[store || atomic || async ? COUNT_shared_wavefronts_ideal_st : COUNT_shared_wavefronts_ideal_ld] += m->ideal_sum;
    v[COUNT_shared_bank_conflicts] += m->wavefront_sum - m->ideal_sum;
    v[COUNT_local_requests] += m->local_requests;
    v[COUNT_local_sectors] += m->local_sectors;
}

/* What one operation adds, given how often its block ran. */
static void count_insn(uint64_t *v, const struct launch *l, uint32_t i, const struct block_count *blocks, const struct memo *memos)
{
    const struct program *p = l->program;
    const struct insn *ip = &p->code[i];
    const struct cold *c = &p->cold[i];
    uint64_t runs = blocks[c->block].executions, threads = blocks[c->block].threads;
    const struct memo *m = ip->memo == UINT32_MAX ? NULL : &memos[ip->memo];
    if (ip->op == OP_guard || c->internal || !c->source || !runs)
        return;
    if (c->guarded)
        threads -= memos[p->code[i - 1].memo].lanes_off;
    v[COUNT_warp_instructions] += runs;
    v[COUNT_thread_instructions] += threads;
    v[class_counter[c->class]] += runs;
    v[COUNT_machine_more] += runs * c->more;
    if (c->flops)
        v[COUNT_flop_f16 + (c->flop_type == FLOP_F16    ? 0
                            : c->flop_type == FLOP_BF16 ? 1
                            : c->flop_type == FLOP_F32  ? 2
                                                        : 3)] += threads * c->flops;
    if (c->class == CLASS_TENSOR && c->macs) {
        v[COUNT_tensor_ops] += runs * (c->mmas ? c->mmas : 1);
        v[COUNT_tensor_macs] += runs * c->macs;
    }
    if (ip->op == OP_tensor_product && m) {
        v[COUNT_tensor_ops] += m->events;
        v[COUNT_tensor_macs] += m->macs;
    }
    if (c->class == CLASS_BARRIER)
        v[COUNT_barriers] += runs;
    if (ip->op == OP_bra_if || ip->op == OP_bra || ip->op == OP_brx) {
        v[COUNT_branches] += runs;
        v[COUNT_divergent_branches] += m && ip->op != OP_bra ? m->events : 0;
    } else if (m && ip->op != OP_bar && c->class != CLASS_LOAD_CONST) { /* the constant cache knows no sectors */
        count_memory(v, c->source, (enum op)ip->op, m);
        v[COUNT_atomic_results] += c->takes && !l->cooperative ? m->requests : 0;
        if (ip->op == OP_cp_async)
            count_memory(v, c->source, (enum op)ip->op, m + 1);
    }
}

static void merge_workers(const struct launch *l, struct block_count *blocks, struct memo *memos)
{
    const struct program *p = l->program;
    for (int k = 0; k < l->runner_count; k++) {
        for (uint32_t i = 0; i < p->flow_count; i++) {
            blocks[i].executions += l->runners[k].blocks[i].executions;
            blocks[i].threads += l->runners[k].blocks[i].threads;
        }
        for (uint32_t i = 0; i < l->runners[k].memo_sets * p->memo_count; i++) {
            struct memo *to = &memos[i % p->memo_count];
            struct memo *m = &l->runners[k].memos[i];
            memo_add_waves(m);
            to->wave_sum += m->wave_sum;
            to->requests += m->requests, to->sector_sum += m->sector_sum, to->line_sum += m->line_sum, to->best_sum += m->best_sum;
            to->shared_requests += m->shared_requests, to->wavefront_sum += m->wavefront_sum, to->ideal_sum += m->ideal_sum;
            to->local_requests += m->local_requests, to->local_sectors += m->local_sectors;
            to->lanes_off += m->lanes_off, to->events += m->events, to->bytes += m->bytes, to->macs += m->macs, to->split += m->split;
        }
    }
}

void totals_add(struct totals *t, const struct launch *l, const char *path, const struct launch *buffers)
{
    const struct program *p = l->program;
    SCOPED struct block_count *blocks = xcalloc(p->flow_count + 1, sizeof *blocks);
    SCOPED struct memo *memos = aligned_alloc(64, (p->memo_count + 1) * sizeof *memos);
    if (!memos)
        abort();
    memset(memos, 0, (p->memo_count + 1) * sizeof *memos);
    merge_workers(l, blocks, memos);
    struct path_sum path_of = {0};
    path_cycles(l, blocks, memos, &path_of);
    t->whole[COUNT_first_sectors] += path_first_sectors(l, memos);
    t->whole[COUNT_path_l1_cycles] += path_of.cycles[PATH_L1];
    t->whole[COUNT_path_l2_cycles] += path_of.cycles[PATH_L2];
    t->whole[COUNT_path_dram_cycles] += path_of.cycles[PATH_DRAM];
    t->whole[COUNT_path_fixed_cycles] += path_of.fixed_cycles;
    t->fixed_share = path_of.fixed_share;
    int own = -1; /* the file of the kernel's first line; 0: the PTX itself */
    for (uint32_t i = 0; i < p->count && own < 0; i++)
        own = p->cold[i].line > 0 ? p->cold[i].file : -1;
    if (own > 0 && own < p->module->file_count && p->module->files[own]) {
        const char *file = p->module->files[own];
        snprintf(t->file, sizeof t->file, "%s", file);
        if (*path && strcmp(file_base(file), file_base(path)))
            own = -1; /* a kernel that a header makes: its lines are none of the file's that includes it */
    }
    for (uint32_t i = 0; i < p->count; i++) {
        uint64_t v[COUNT_COUNT] = {0};
        count_insn(v, l, i, blocks, memos);
        if (!v[COUNT_warp_instructions])
            continue;
        bool loads = buffers && v[COUNT_global_sectors_ld] + v[COUNT_async_sectors];
        struct buffer *from = loads ? origin_of(buffers, p, i) : NULL;
        if (from)
            from->requested += 32 * (v[COUNT_global_sectors_ld] + v[COUNT_async_sectors]);
        bool in_own = p->cold[i].line > 0 && p->cold[i].file == own;
        struct line_counts *line = in_own ? count_line_of(t, p->cold[i].line) : NULL;
        count_code(t, p, &p->cold[i], in_own, v);
        for (int k = 0; k < COUNT_COUNT; k++) {
            t->whole[k] += v[k];
            if (line)
                line->value[k] += v[k];
        }
    }
}

void totals_each(const struct totals *t, void (*visit)(void *context, const struct device_counter *counter, int line, double value),
                 void *context)
{
    for (int i = 0; i < COUNT_COUNT; i++)
        visit(context, &counters[i], 0, (double)t->whole[i]);
    for (int k = 0; k < t->line_count; k++)
        for (int i = 0; i < COUNT_COUNT; i++)
            if (t->lines[k].value[i])
                visit(context, &counters[i], t->lines[k].line, (double)t->lines[k].value[i]);
}

void totals_clear(struct totals *t)
{
    free(t->lines);
    free(t->code);
    memset(t, 0, sizeof *t);
}
