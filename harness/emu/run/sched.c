/* emu/run/sched: blocks over threads, warps of a block in turns. */
#include "base/clock.h"
#include "base/pool.h"
#include "base/text.h"
#include "emu/tensor_memory.h"
#include "emu/check/agents.h"
#include "emu/async.h"
#include "emu/check/report.h"
#include "emu/check/shadow.h"
#include "emu/check/dsmem.h"
#include "emu/check/races.h"
#include "emu/run/path.h"
#include "emu/run/sample.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SMALL_S 100e-6            /* a launch of less than that runs on one thread */
#define MEMO_SETS_MOST (1u << 20) /* bytes */
#define MEMO_SETS_WARP 4096u      /* of each warp that will run */
#define STALLS_MAX 2000           /* failed waits in a row */

/* ---- resident blocks ---- */
static void *room(size_t bytes)
{
    size_t n = (bytes + 63) & ~(size_t)63;
    void *p = aligned_alloc(64, n ? n : 64);
    if (!p)
        abort();
    memset(p, 0, n ? n : 64);
    return p;
}

static void resident_new(struct runner *k, struct block *b, int warps)
{
    const struct launch *l = k->launch;
    const struct program *p = l->program;
    b->shared_bytes = l->shared_bytes;
    b->shared = room(l->shared_bytes);
    b->shared_known = room(l->shared_bytes);
    b->mbarriers = p->uses_mbarrier ? room(l->shared_bytes / 64 + 16) : NULL;
    b->warp_count = warps;
    b->warps = room((size_t)warps * sizeof *b->warps);
    if (l->checks & CHECK_RACE) {
        struct shadow *s = xcalloc(1, sizeof *s);
        s->grains = (l->shared_bytes >> p->shared_shift) + 64;
        s->writer = xcalloc(s->grains, sizeof *s->writer);
        s->reader = xcalloc(s->grains, sizeof *s->reader);
        s->lane = xcalloc(s->grains, sizeof *s->lane);
        s->lane_read = p->overtaken ? xcalloc(s->grains, sizeof *s->lane_read) : NULL;
        s->source = p->uses_async ? xcalloc(s->grains, sizeof *s->source) : NULL;
        if (p->uses_cluster && l->cluster[0] * l->cluster[1] * l->cluster[2] > 1) {
            s->far_writer = xcalloc(3 * (size_t)s->grains, sizeof *s->far_writer);
            s->far_reader[0] = s->far_writer + s->grains;
            s->far_reader[1] = s->far_reader[0] + s->grains;
            b->touched = xcalloc(CLUSTER_MAX, sizeof *b->touched);
        }
        b->shadow = s;
    }
    for (int i = 0; i < warps; i++) {
        struct warp *w = &b->warps[i];
        w->stack_room = p->frame_bytes;
        w->stack = room(w->stack_room);
        w->local_stride = p->local_bytes;
        w->local = p->local_bytes ? room(32 * w->local_stride) : NULL;
        w->local_known = p->local_bytes ? room(32 * w->local_stride / 8 + 1) : NULL;
        w->block = b;
        w->runner = k;
        w->program = p;
        w->blocks = k->blocks;
        w->memos = k->memos + (size_t)((uint32_t)i % k->memo_sets) * p->memo_count;
        w->checks = l->checks;
        w->id = i;
        for (uint32_t lane = 0; lane < 32; lane++) {
            uint32_t t = (uint32_t)i * 32 + lane;
            w->tid[0][lane] = t % l->block[0];
            w->tid[1][lane] = t / l->block[0] % l->block[1];
            w->tid[2][lane] = t / l->block[0] / l->block[1];
        }
        w->quick_watch = b->shadow && p->simple_races && l->checks == CHECK_ALL;
    }
}

static void resident_free(struct block *b)
{
    for (int i = 0; b->warps && i < b->warp_count; i++)
        FREE_ALL(b->warps[i].stack, b->warps[i].local, b->warps[i].local_known, b->warps[i].nodes, b->warps[i].copies, b->warps[i].sources);
    if (b->shadow) {
        FREE_ALL(b->shadow->writer, b->shadow->reader, b->shadow->lane, b->shadow->lane_read, b->shadow->source, b->shadow->far_writer,
                 b->shadow);
    }
    FREE_ALL(b->shared, b->shared_known, b->mbarriers, b->tensor, b->points, b->sent, b->touched, b->warps);
}

/* Where a block's clock begins: up to 4 ms, as good as drawn, and the same in every run. */
static uint64_t clock_of(uint64_t block)
{
    uint64_t x = (block + 1) * 0x9e3779b97f4a7c15ull;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
    return x >> 48 << 6;
}

static void warp_start(struct warp *w, int threads)
{
    const struct program *p = w->program;
    int lanes = threads - w->id * 32;
    uint32_t mask = lanes >= 32 ? ~0u : (1u << lanes) - 1;
    if (p->zero_frame)
        memset(w->stack, 0, w->stack_room);
    for (uint32_t i = 0; i < p->zero_count; i++)
        memset(w->stack + p->zero[i].at, 0, p->zero[i].bytes);
    if (w->local) {
        memset(w->local, 0, 32 * w->local_stride);
        memset(w->local_known, 0, 32 * w->local_stride / 8 + 1);
    }
    for (int i = 0; i < w->node_room; i++)
        w->nodes[i].mask = 0;
    w->base[0] = w->stack;
    w->base[1] = p->constants ? p->constants - 1 : NULL; /* operands count from 1 */
    w->others = 0;
    w->earliest = 0;
    w->alive = w->born = mask;
    w->node = -1;
    w->local_base = 0;
    for (int i = 0; i < 32; i++)
        w->alloca_top[i] = p->fixed_local_bytes;
    w->at = p->functions[0].entry;
    w->ip = NULL;
    w->state = WARP_READY;
    w->carry = 0;
    w->polls = w->stalls = w->boost = w->turns = 0;
    w->ticks = clock_of(w->block->number);
    w->guarded = false;
    w->async_groups = 0;
    w->copy_count = w->source_count = 0;
    w->cluster_phase = 0;
    w->part_fenced = w->part_released = (struct part_released){0};
    w->clock_watch = w->block->shadow && !p->simple_races && w->runner->launch->checks == CHECK_ALL && !w->block->shadow->far_writer;
    w->cluster_waits = w->cluster_fenced = false;
    memset(w->clocks, 0, sizeof w->clocks);
    w->clocks[w->id] = 1;
    w->flag_fence = 0;
    w->clocks[SHADOW_MANY] = UINT32_MAX;
    w->waits_for.owner = NULL;
    w->bulk_agent = w->bulk_writer = w->bulk_groups = w->bulk_lanes = w->bulk_last = w->wgmma_groups = 0;
    w->watch_matrix = w->block->shadow && p->uses_async && (w->checks & CHECK_RACE);
    if (p->uses_async)
        memset(w->fenced, 0, sizeof w->fenced);
    if (p->uses_cluster)
        memset(w->far, 0, sizeof w->far);
    w->marks = 0x0101010101010101ull * w->runner->launch->mark;
    lanes_sync(w);
    warp_set_mask(w, mask);
}

static void block_start(struct runner *k, struct block *b, uint64_t number, int rank, int count)
{
    const struct launch *l = k->launch;
    b->number = number;
    b->index[0] = (uint32_t)(number % l->grid[0]);
    b->index[1] = (uint32_t)(number / l->grid[0] % l->grid[1]);
    b->index[2] = (uint32_t)(number / l->grid[0] / l->grid[1]);
    b->thread_count = (int)(l->block[0] * l->block[1] * l->block[2]);
    b->done = 0;
    b->failed = false;
    b->cluster = k->by_rank;
    b->cluster_rank = rank;
    b->cluster_count = count;
    b->cluster_arrived = b->cluster_phase = 0;
    b->point_count = 0;
    memset(b->barriers, 0, sizeof b->barriers);
    if (b->epoch) { /* not the first block here: new memory is zero */
        memset(b->shared, 0, b->shared_bytes);
        if (l->checks & CHECK_KNOWN)
            memset(b->shared_known, 0, b->shared_bytes);
        if (b->mbarriers)
            memset(b->mbarriers, 0, b->shared_bytes / 64 + 8);
    }
    if ((l->checks & CHECK_KNOWN) && l->program->shared_from < SHARED_RESERVED)
        memset(b->shared_known + SHARED_GROUPS, 0xff, SHARED_RESERVED - SHARED_GROUPS);
    if (b->shadow && b->epoch && (!l->program->simple_races || b->epoch >= EPOCH_MAX / 2)) { /* clocks start again, epochs go on */
        b->epoch = 0;
        memset(b->shadow->writer, 0, b->shadow->grains * sizeof *b->shadow->writer);
        memset(b->shadow->reader, 0, b->shadow->grains * sizeof *b->shadow->reader);
        if (b->shadow->source)
            memset(b->shadow->source, 0, b->shadow->grains * sizeof *b->shadow->source);
    }
    tensor_memory_begin(b);
    b->ids = (uint32_t)b->warp_count;
    memset(b->matrix_agent, 0, sizeof b->matrix_agent);
    b->cancel_failed = b->parted = b->copied = false;
    b->cluster_relaxed = b->sent_agent = b->sent_count = 0;
    b->cluster_time = DSMEM_BEGUN + 1;
    if (b->touched) {
        memset(b->touched, 0, CLUSTER_MAX * sizeof *b->touched);
        memset(b->cluster_far, 0, sizeof b->cluster_far);
        memset(b->far_fenced, 0, sizeof b->far_fenced);
        memset(b->shadow->far_writer, 0, 3 * (size_t)b->shadow->grains * sizeof *b->shadow->far_writer);
    }
    b->first_epoch = ++b->epoch;
    for (int i = 0; i < b->warp_count; i++)
        warp_start(&b->warps[i], b->thread_count);
    races_block(b);
}

/* ---- turns ---- */
static const struct insn *place_of(const struct warp *w)
{
    if (w->at)
        return w->at->start;
    if (w->ip)
        return w->ip;
    if (w->others)
        return w->fragments[0].at ? w->fragments[0].at->start : w->fragments[0].ip;
    return w->program->code;
}

static void give_up(struct warp *w, const char *text)
{
    if (!w->mask)
        w->mask = w->alive ? w->alive : 1;
    emu_report(w, place_of(w), __builtin_ctz(w->mask), "time_limit", "%s", text);
    w->runner->launch->stop = 1;
    w->runner->launch->fatal = 1;
}

static void run_late(struct warp *w)
{
    char text[64];
    snprintf(text, sizeof text, "stopped at the time limit of %.3g s", w->runner->launch->limit_s);
    give_up(w, text);
}

/* Is the launch over its limit? By the time that this thread has run: much else to do on the machine makes no kernel endless. */
static bool out_of_time(struct runner *k)
{
    return k->launch->limit_s > 0 && clock_thread_s() - k->began_s > k->launch->limit_s;
}

static void run_turn(struct warp *w)
{
    struct launch *l = w->runner->launch;
    w->fuel = WARP_FUEL;
    const struct insn *ip = w->path && !path_run(w) ? NULL : warp_resume(w);
    while (ip)
        ip = ip->fn(w, ip);
    if (w->state == WARP_BARRIER) {
        w->turns = 0;
        barrier_warp_arrives(w);
    } else if (w->state == WARP_DONE) {
        agent_ends(w);
        bulk_complete(w->runner);
        barrier_warp_done(w->block);
        if ((w->program->uses_async || w->program->uses_mbarrier) && block_ended(w->block))
            agents_end(w->block);
        if (w->block->tensor && block_ended(w->block))
            tensor_memory_end(w->block);
        if (w->block->touched && block_ended(w->block))
            dsmem_block_ends(w->block);
    } else if (w->state == WARP_READY && w->fuel < 0 && ++w->turns > l->turns_max) {
        give_up(w, "the kernel does not end: a warp reached the limit of instructions");
    }
    if ((w->fuel < 0 || !(++w->runner->turns & 63)) && w->state != WARP_DONE && out_of_time(w->runner))
        run_late(w);
}

/* Every warp that has not ended waits at a barrier, or has failed to pass an mbarrier again and again. */
static bool all_stalled(const struct runner *k, int count)
{
    for (int b = 0; b < count; b++)
        for (int i = 0; i < k->residents[b].warp_count && !k->residents[b].failed; i++) {
            const struct warp *w = &k->residents[b].warps[i];
            if (w->state == WARP_READY && w->stalls < STALLS_MAX)
                return false;
        }
    return true;
}

/* Adds what the runner's warps have executed since it was asked last to the work of a group. */
static void keep_work(struct runner *k, uint64_t group)
{
    const struct program *p = k->launch->program;
    uint32_t *work = &k->launch->work[group];
    uint64_t now = 0;
    for (uint32_t i = 0; i < p->flow_count; i++)
        now += k->blocks[i].executions * p->flow_sizes[i];
    *work = now - k->worked < UINT32_MAX - *work ? *work + (uint32_t)(now - k->worked) : UINT32_MAX;
    k->worked = now;
}

/* All warps of the resident blocks in turns until all have ended. */
static void run_residents(struct runner *k, int count)
{
    struct launch *l = k->launch;
    for (;;) {
        bool ran = false, alive = false;
        for (int b = 0; b < count; b++) {
            struct block *block = &k->residents[b];
            for (int i = 0; i < block->warp_count && !block->failed; i++) {
                if (block->warps[i].state != WARP_READY)
                    continue;
                run_turn(&block->warps[i]);
                if (l->work && l->cooperative)
                    keep_work(k, block->number);
                ran = true;
                if (atomic_load_explicit(&l->stop, memory_order_relaxed))
                    return;
            }
            for (int i = 0; i < block->warp_count && !block->failed; i++)
                alive |= block->warps[i].state != WARP_DONE;
            if (block->failed)
                l->fatal = 1;
        }
        if (!alive)
            return;
        if (ran && !all_stalled(k, count))
            continue;
        if (k->pending_count) {
            bulk_complete(k);
            continue;
        }
        for (int b = 0; b < count; b++) {
            struct block *block = &k->residents[b];
            for (int i = 0; i < block->warp_count && !block->failed; i++) {
                struct warp *w = &block->warps[i];
                if (w->state == WARP_DONE)
                    continue;
                w->mask = w->alive;
                char what[160];
                mbarrier_explain(w, what, sizeof what);
                emu_report(w, place_of(w), __builtin_ctz(w->alive), "deadlock", "warp %d waits forever%s", w->id, what);
                block->failed = true;
            }
        }
        l->fatal = 1;
        return;
    }
}

/* ---- the grid ---- */
struct grid {
    struct launch *launch;
    uint64_t groups, share; /* share: groups that a thread takes at once */
    uint64_t starts;        /* groups that start by themselves: all, unless the kernel cancels clusters */
    int size;               /* blocks in a group */
};

static uint64_t common_divisor(uint64_t a, uint64_t b)
{
    while (b) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* An order of the groups for each seed: steps of a length that has no divisor in common with how many there are. */
static int64_t shuffled(const struct grid *g, int64_t index)
{
    uint64_t n = g->groups, seed = g->launch->seed, step = (seed * 2654435761u + n / 2) % n;
    while (common_divisor(n, step) != 1)
        step = (step + 1) % n;
    return (int64_t)(((unsigned __int128)index * step + seed) % n);
}

/* The block of a rank in a cluster. */
static void block_of(const struct launch *l, uint64_t cluster, uint64_t rank, uint64_t at[3])
{
    const uint32_t *c = l->cluster;
    uint64_t cx = l->grid[0] / c[0], cy = l->grid[1] / c[1];
    at[0] = cluster % cx * c[0] + rank % c[0];
    at[1] = cluster / cx % cy * c[1] + rank / c[0] % c[1];
    at[2] = cluster / cx / cy * c[2] + rank / c[0] / c[1];
}

bool cluster_cancel(struct runner *k, uint32_t first[3])
{
    const struct grid *g = k->grid;
    uint64_t at[3];
    if (!k->stride || k->next >= g->groups)
        return false;
    block_of(g->launch, g->launch->seed ? (uint64_t)shuffled(g, (int64_t)k->next) : k->next, 0, at);
    for (int i = 0; i < 3; i++)
        first[i] = (uint32_t)at[i];
    k->next += k->stride;
    return true;
}

static void run_group(const struct grid *g, int64_t index, int thread)
{
    struct launch *l = g->launch;
    struct runner *k = &l->runners[thread];
    struct device_group *sampled = l->sample ? &l->sample->groups[l->sample->ran + index] : NULL;
    if (sampled)
        index = (int64_t)sampled->number;
    else if (l->seed && !l->cooperative)
        index = shuffled(g, index);
    const uint32_t *c = l->cluster;
    if (k->began_s <= 0)
        k->began_s = clock_thread_s();
    bulk_drop(k);
    for (int r = 0; r < g->size; r++) {
        uint64_t number = (uint64_t)r;
        if (!l->cooperative) { /* group -> cluster -> block */
            uint64_t at[3];
            block_of(l, (uint64_t)index, (uint64_t)r, at);
            number = at[0] + l->grid[0] * (at[1] + l->grid[1] * at[2]);
        }
        int of = l->cooperative ? (int)c[0] : g->size; /* all blocks are resident: those of a cluster stand side by side */
        block_start(k, &k->residents[r], number, r % of, of);
        k->residents[r].cluster = k->by_rank + r / of * of;
        if (path_wants(l, number, r, sampled))
            path_begin(&k->residents[r]);
    }
    /* Blocks of one turn, and blocks that happen to end where the clock is looked at, are bounded here. */
    if (!(++k->groups & 15) && out_of_time(k))
        run_late(&k->residents[0].warps[0]);
    else
        run_residents(k, g->size);
    for (int r = 0; r < g->size; r++) {
        path_take(k, &k->residents[r], sampled); /* its followed warps count by themselves until here */
        if (l->work)
            keep_work(k, l->cooperative ? k->residents[r].number : (uint64_t)index);
    }
    if (sampled)
        sample_take(k, sampled);
}

/* One of the pool's shares: as few as let it end soon once the launch has to. */
static void run_share(void *context, int64_t index, int thread)
{
    const struct grid *g = context;
    uint64_t end = ((uint64_t)index + 1) * g->share;
    struct runner *k = &g->launch->runners[thread];
    for (uint64_t i = (uint64_t)index * g->share; i < g->starts && i < end; i++)
        for (uint64_t at = i; at < g->groups; at = k->next) {
            if (atomic_load_explicit(&g->launch->stop, memory_order_relaxed))
                return;
            k->next = at + g->starts; /* a kernel that cancels clusters moves it */
            run_group(g, (int64_t)at, thread);
        }
}

/* A set of memos for each warp of a block, if the launch is worth their room. */
static uint32_t memo_sets(const struct launch *l, uint64_t groups, int warps)
{
    const uint64_t one = (l->program->memo_count + 1) * sizeof(struct memo), worth = groups * (uint64_t)warps * MEMO_SETS_WARP,
                   most = (worth < MEMO_SETS_MOST ? worth : MEMO_SETS_MOST) / one;
    if (l->sample || most < 2)
        return 1;
    return (uint64_t)warps < most ? (uint32_t)warps : (uint32_t)most;
}

static void runner_new(struct runner *k, struct launch *l, int index, int residents, int warps, uint64_t groups)
{
    const struct program *p = l->program;
    k->launch = l;
    k->index = index;
    runner_order(k);
    k->blocks = xcalloc(p->flow_count + 1, sizeof *k->blocks);
    k->memo_sets = memo_sets(l, groups, warps);
    k->memos = room(((size_t)k->memo_sets * p->memo_count + 1) * sizeof *k->memos);
    k->residents = xcalloc((size_t)residents, sizeof *k->residents);
    k->by_rank = xcalloc((size_t)residents, sizeof *k->by_rank);
    k->resident_count = residents;
    k->wgmma_tiles = xmalloc(32 * 4 * 64 * sizeof *k->wgmma_tiles);
    k->matrix_a = room(MATRIX_A_BYTES);
    for (int i = 0; i < residents; i++) {
        resident_new(k, &k->residents[i], warps);
        k->by_rank[i] = &k->residents[i];
    }
}

static bool launch_explain(struct launch *l, struct error *err)
{
    struct report_table *t = l->reports;
    static const char *const kinds[] = {"unsupported", "trap", "assert", "time_limit", "deadlock", NULL};
    for (int k = 0; kinds[k]; k++)
        for (int i = 0; i < t->count; i++)
            if (!strcmp(t->entries[i].r.kind, kinds[k]))
                return error_set(err, k == 0 ? ERROR_USAGE : ERROR_WRONG, "%s: %s: %s", t->label, kinds[k], t->entries[i].r.text);
    for (int i = 0; i < t->count; i++)
        if (!t->entries[i].note)
            return error_set(err, ERROR_WRONG, "%s: %s: %s", t->label, t->entries[i].r.kind, t->entries[i].r.text);
    return error_set(err, ERROR_INTERNAL, "%s: the launch ended without a reason", t->label);
}

static void run_once(struct launch *l, int threads)
{
    uint64_t blocks = (uint64_t)l->grid[0] * l->grid[1] * l->grid[2];
    struct grid g = {.launch = l, .size = (int)(l->cluster[0] * l->cluster[1] * l->cluster[2])};
    int warps = (int)((l->block[0] * l->block[1] * l->block[2] + 31) / 32);
    if (l->cooperative)
        g.size = (int)blocks;
    g.groups = l->sample ? (uint64_t)(l->sample->count - l->sample->ran) : blocks / (uint64_t)g.size;
    /* A third of the clusters start by themselves. Each may cancel, one after the other, those at this distance behind it; the ones that it
     * does not cancel run afterwards. A chip promises no more, and which cluster does what does not depend on other running threads. */
    g.starts = l->program->cancels && !l->sample && !l->cooperative ? (g.groups + 2) / 3 : g.groups;
    if ((uint64_t)threads > g.starts)
        threads = (int)g.starts;
    l->runners = xcalloc((size_t)threads, sizeof *l->runners);
    l->runner_count = threads;
    races_begin(l);
    for (int i = 0; i < threads; i++) {
        runner_new(&l->runners[i], l, i, g.size, warps, g.groups / (uint64_t)threads);
        l->runners[i].grid = &g;
        l->runners[i].stride = g.starts < g.groups ? g.starts : 0;
    }
    g.share = 1 + (g.groups >> 20);
    pool_for((int64_t)((g.starts + g.share - 1) / g.share), threads, run_share, &g);
}

/* As if it had not run. */
static void run_undone(struct launch *l)
{
    races_put_back(l);
    races_forget(l);
    launch_free(l);
    emu_print_drop(l);
    l->reports->count = 0;
    l->stop = l->fatal = l->raced = l->again = 0;
}

bool launch_run(struct launch *l, struct error *err)
{
    struct program *p = l->program;
    int threads = p->ordered || l->cooperative ? 1 : l->threads > 0 ? l->threads : pool_threads();
    enum verdict v = RACES_NONE;
    uint64_t blocks = (uint64_t)l->grid[0] * l->grid[1] * l->grid[2],
             groups = l->sample ? (uint64_t)(l->sample->count - l->sample->ran) : blocks;
    if ((l->checks & CHECK_RACE) && blocks <= RACE_BLOCKS)
        l->trace = p->ordered || l->cooperative || p->trace_all ? TRACE_ALL : TRACE_WRITES;
    if (p->launch_s > 0 && p->launch_s * (double)groups < SMALL_S * (double)p->launch_groups)
        threads = 1; /* threads would take longer to start */
    for (;;) {
        double begun = clock_s();
        run_once(l, threads);
        p->launch_s = (clock_s() - begun) * threads;
        p->launch_groups = groups;
        v = races_end(l);
        if (v == RACES_NONE)
            break;
        run_undone(l);
        l->trace = TRACE_ALL;
        p->trace_all = true;
        threads = v == RACES_REPORT ? 1 : threads;
    }
    races_forget(l);
    if (l->heap.buffer)
        heap_leaks(l);
    emu_print_show(l);
    return !l->fatal || launch_explain(l, err);
}

void launch_free(struct launch *l)
{
    for (int i = 0; i < l->runner_count; i++) {
        struct runner *k = &l->runners[i];
        for (int b = 0; b < k->resident_count; b++)
            resident_free(&k->residents[b]);
        bulk_drop(k);
        FREE_ALL(k->pending, k->residents, k->by_rank, k->wgmma_tiles, k->matrix_a, k->counted);
        path_free(k->paths);
        free(k->blocks);
        for (uint32_t m = 0; m < k->memo_sets * l->program->memo_count && k->memos; m++) {
            free(k->memos[m].others);
            free(k->memos[m].bypass);
        }
        free(k->memos);
        runner_order_free(k);
    }
    free(l->runners);
    l->runners = NULL;
    l->runner_count = 0;
}
