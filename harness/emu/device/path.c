/* A warp issues in order, and ptxas orders the instructions of a basic block as their operands allow. So an instruction starts when the
 * block has started and its operands are ready, and the next block starts when all instructions of this one have. A load that another block
 * uses is under way meanwhile. Times are in eighths of a cycle, for three kinds of memory at once. */
#include "emu/device/path.h"
#include "base/text.h"
#include "device/chip/predict.h"
#include "emu/decode/decode.h"
#include "emu/path_code.h"
#include "emu/run/path.h"
#include <stdlib.h>
#include <string.h>

#define PART 8
#define STEPS_MOST 40000 /* of one warp that are timed; the rest takes as long in the mean of its basic block */
#define TIMED_MOST 128   /* different paths of a launch that are timed */
#define SCHEDULERS 4
#define GROUPS 16         /* of copies that are under way */
#define UNROLL 4          /* turns of a short loop that become one */
#define WORDS_MOST 64     /* that are loaded at once: registers */
#define WORDS_UNROLLED 12 /* the same in turns that ptxas unrolls: it keeps small kernels within 32 registers */
#define SMS 132
#define WARPS_OF_SM 64
#define L1_BYTES 200e3
#define OLD 6              /* what was read 2^6 basic blocks ago, or longer, may no longer be in L1 */
#define LOADS 64           /* that are remembered */
#define WAVEFRONT_PARTS 17 /* that each further wavefront of a request takes */
#define REQUEST_PARTS 32   /* between two loads of a warp */
#define BRANCH_CYCLES 8
#define ATOMIC_CYCLES 540

typedef int32_t cycles __attribute__((vector_size(16))); /* in parts, by level */
static const cycles load_latency = {PREDICT_L1_CYCLES * PART, PREDICT_L2_CYCLES *PART, PREDICT_DRAM_CYCLES *PART, 0};

static inline cycles later(cycles a, cycles b)
{
    const cycles first = a > b;
    return (a & first) | (b & ~first);
}
static inline cycles all(int32_t parts)
{
    return (cycles){parts, parts, parts, parts};
}

struct timer {
    const struct path_code *code;
    const uint32_t *of_flow; /* by flow: warps of the block that run it */
    const bool *spins;       /* by flow: it loads until another block has written */
    const uint32_t *extra;   /* by step: parts that its requests take beyond the first sector or wavefront */
    const uint32_t *waves;   /* by step: wavefronts of its requests, in parts */
    const cycles *latency;   /* by step, of loads: the mean of those that read a sector first and the others */
    cycles *ready;           /* by register */
    cycles start, issued;    /* of the basic block; the last start of an instruction of it */
    cycles branch;           /* when it is known where the last branch goes, if ptxas does not guard instructions in its place */
    bool branches;
    cycles guard;                   /* of the body of a short `if` */
    cycles kept;                    /* no load of the block moves in front */
    cycles loads, special, product; /* when the units are free */
    cycles group[GROUPS], group_now;
    uint32_t groups, waited; /* of copies: begun, waited for */
    bool group_open;
    struct {
        cycles ready;
        uint32_t words;
    } load[LOADS];
    uint32_t load_first, load_count, words, words_most;
    int32_t slots; /* of the block */
    uint32_t steps;
    uint32_t warps; /* of the block that run the basic block */
    cycles begun;   /* since the last barrier: when, and what all warps ask of the units of an SM */
    int32_t sum_slots, sum_loads, sum_special, sum_product;
};

/* A load needs registers: it waits for the oldest ones. */
static void take_words(struct timer *t, uint32_t words, cycles *at, cycles ready)
{
    while (t->load_count && (t->words + words > t->words_most || t->load_count == LOADS)) {
        *at = later(*at, t->load[t->load_first].ready);
        t->words -= t->load[t->load_first].words;
        t->load_first = (t->load_first + 1) % LOADS;
        t->load_count--;
    }
    const uint32_t last = (t->load_first + t->load_count++) % LOADS;
    t->load[last].ready = *at + ready;
    t->load[last].words = words;
    t->words += words;
}

/* All warps of the block have come to the barrier: the units have done their work. */
static void end_phase(struct timer *t)
{
    int32_t most = t->sum_slots > t->sum_special ? t->sum_slots : t->sum_special;
    most = (most > t->sum_product ? most : t->sum_product) / SCHEDULERS;
    most = most > t->sum_loads ? most : t->sum_loads;
    t->start = t->issued = later(t->start, t->begun + all(most));
    t->begun = t->start;
    t->sum_slots = t->sum_loads = t->sum_special = t->sum_product = 0;
}

/* All instructions before it have started. */
static void split(struct timer *t, cycles at)
{
    t->start = t->issued = later(at, later(t->issued, t->start + all(t->slots * PART)));
    t->slots = 0;
    t->kept = t->start;
}

static void leave_block(struct timer *t)
{
    split(t, t->branches ? t->branch : all(0));
    t->start += all(t->branches ? BRANCH_CYCLES * PART : 0);
    t->branches = false;
}

static void close_group(struct timer *t)
{
    if (t->group_open)
        t->group[t->groups++ % GROUPS] = t->group_now;
    t->group_open = false;
}

/* Until all groups but `left` have come. */
static cycles wait_groups(struct timer *t, uint32_t left, cycles at)
{
    while (t->groups - t->waited > left) {
        if (t->groups - t->waited <= GROUPS)
            at = later(at, t->group[t->waited % GROUPS]);
        t->waited++;
    }
    return at;
}

static void use_loads(struct timer *t, uint32_t waves)
{
    t->loads = later(t->loads, t->start) + all((int32_t)(waves > REQUEST_PARTS ? waves : REQUEST_PARTS));
    t->sum_loads += (int32_t)(waves * t->warps);
}

static cycles time_load(struct timer *t, const struct path_step *s, cycles at, uint32_t i)
{
    const int32_t extra = (int32_t)t->extra[i];
    at = s->kind != PATH_LOAD_FREE ? later(at, t->kept) : at;
    take_words(t, s->words, &at, t->latency[i] + all(extra));
    t->issued = later(t->issued, at);
    use_loads(t, t->waves[i]);
    return later(at + all(extra), t->loads) + t->latency[i];
}

static void time_copy(struct timer *t, cycles at, uint32_t i)
{
    const int32_t extra = (int32_t)t->extra[i];
    const cycles latency = later(load_latency, all(load_latency[PATH_L2])); /* past L1 */
    use_loads(t, t->waves[i]);
    at = later(at + all(extra), t->loads) + latency;
    t->group_now = t->group_open ? later(t->group_now, at) : at;
    t->group_open = true;
}

static void time_step(struct timer *t, uint32_t i)
{
    const struct path_step *s = &t->code->steps[i];
    const uint32_t *regs = t->code->regs + s->regs;
    const int32_t extra = (int32_t)t->extra[i];
    cycles at = later(t->start, t->guard), done;
    for (int k = 0; k < s->reads; k++)
        at = later(at, t->ready[regs[k]]);
    t->slots += s->slots;
    t->sum_slots += s->slots * PART * (int32_t)t->warps;
    t->sum_special += s->special * PART * (int32_t)t->warps;
    done = at + all(s->latency * PART);
    if (s->slots && s->kind != PATH_LOAD && s->kind != PATH_LOAD_FREE && s->kind != PATH_LOAD_STRONG)
        t->issued = later(t->issued, at);
    if (s->special) {
        t->special = later(t->special, t->start) + all(s->special * PART);
        done = later(done, t->special + all(s->latency * PART));
    }
    switch (s->kind) {
    case PATH_SPLIT: split(t, at); break;
    case PATH_LOAD:
    case PATH_LOAD_STRONG:
    case PATH_LOAD_FREE: done = time_load(t, s, at, i); break;
    case PATH_ATOMIC: done = later(at, t->kept) + all(ATOMIC_CYCLES * PART + extra); break;
    case PATH_SHARED:
        use_loads(t, t->waves[i]);
        done = later(done + all(extra), t->loads + all(s->latency * PART));
        break;
    case PATH_STORE:
        t->kept = later(t->kept, at);
        use_loads(t, t->waves[i]);
        break;
    case PATH_BARRIER:
        split(t, all(0));
        end_phase(t);
        t->start += all((s->latency + 2 * (int32_t)t->warps) * PART);
        break;
    case PATH_COPY: time_copy(t, at, i); break;
    case PATH_COMMIT: close_group(t); break;
    case PATH_COPY_WAIT:
        split(t, all(0));
        t->start = wait_groups(t, s->amount, t->start);
        break;
    case PATH_MBARRIER:
        close_group(t);
        split(t, at);
        if (t->groups != t->waited)
            t->start = wait_groups(t, t->groups - t->waited - 1, t->start);
        done = t->start + all(s->latency * PART);
        break;
    case PATH_PRODUCT:
        t->sum_product += (int32_t)(s->amount * PART * t->warps);
        t->product = later(t->product, t->start) + all((int32_t)s->amount * PART);
        break;
    case PATH_PRODUCT_WAIT:
        split(t, all(0));
        t->start = later(t->start, t->product) + all(s->amount ? 0 : s->latency * PART);
        break;
    case PATH_BRANCH:
        t->branch = done;
        t->branches = true;
        break;
    }
    for (int k = 0; k < s->writes; k++)
        t->ready[regs[s->reads + k]] = done;
    t->steps++;
}

/* ---- one warp ---- */
struct cost { /* of a basic block, with those that are joined to it */
    cycles sum;
    uint32_t seen;
};

static bool goes_on(const struct flow *flows, uint32_t head, uint32_t to, uint32_t *turn)
{
    *turn = to == head ? *turn + 1 : 0;
    return flows[to].joined || (flows[to].unrolled && to == head && *turn % UNROLL);
}

/* How often a warp runs a basic block. How many turns of a loop that waits for others emu makes depends on the order of its blocks: one
 * counts. */
static double runs_of(const struct timer *t, const struct path_warp *w, const struct cost *costs, uint32_t f)
{
    return t->spins[f] ? costs[f].seen : (double)w->blocks[f].executions;
}

/* Of blocks that were not timed: as long as the others in the mean, by the instructions. */
static void add_rest(const struct timer *t, const struct path_warp *w, const struct cost *costs, uint32_t flow_count,
                     double out[PATH_LEVELS])
{
    for (uint32_t f = 0; f < flow_count; f++) {
        const double runs = runs_of(t, w, costs, f), steps = t->code->range[f][1] - t->code->range[f][0];
        for (int k = 0; k < PATH_LEVELS; k++)
            out[k] += costs[f].seen ? runs * costs[f].sum[k] / costs[f].seen / PART : runs * steps * t->start[k] / PART / (t->steps + 1);
    }
}

/* Cycles that the units of an SM need for all warps of the block. */
static double busy_cycles(const struct timer *t, const struct path_warp *w, const struct cost *costs, uint32_t flow_count)
{
    double slots = 0, special = 0, product = 0, loads = 0;
    for (uint32_t f = 0; f < flow_count; f++)
        for (uint32_t i = t->code->range[f][0]; i < t->code->range[f][1]; i++) {
            const struct path_step *s = &t->code->steps[i];
            const double runs = runs_of(t, w, costs, f) * t->of_flow[f];
            const bool memory = s->kind == PATH_LOAD || s->kind == PATH_LOAD_FREE || s->kind == PATH_LOAD_STRONG ||
                                s->kind == PATH_SHARED || s->kind == PATH_STORE || s->kind == PATH_COPY;
            slots += runs * s->slots;
            special += runs * s->special;
            product += s->kind == PATH_PRODUCT ? runs * s->amount : 0;
            loads += memory ? runs * t->waves[i] / PART : 0;
        }
    slots = slots > special ? slots : special;
    slots = (slots > product ? slots : product) / SCHEDULERS;
    return slots > loads ? slots : loads;
}

static void time_warp(const struct program *p, struct timer *t, const struct path_warp *w, struct cost *costs, double out[PATH_LEVELS])
{
    uint32_t head = UINT32_MAX, turn = 0;
    cycles begun = all(0);
    memset(t->ready, 0, t->code->reg_count * sizeof *t->ready);
    memset(costs, 0, p->flow_count * sizeof *costs);
    t->start = t->issued = t->kept = t->loads = t->special = t->product = all(0);
    t->groups = t->waited = t->load_count = t->words = t->steps = 0;
    t->slots = t->sum_slots = t->sum_loads = t->sum_special = t->sum_product = 0;
    t->begun = all(0);
    t->branches = false;
    t->group_open = false;
    for (uint32_t i = 0; i < w->count && t->steps < STEPS_MOST; i++) {
        const uint32_t f = w->flows[i];
        if (t->spins[f] && i && w->flows[i - 1] == f)
            continue;
        if (head == UINT32_MAX || !goes_on(p->flows, head, f, &turn)) {
            leave_block(t);
            if (head != UINT32_MAX)
                costs[head].sum += t->start - begun;
            begun = t->start;
            head = f;
        }
        t->guard = p->flows[f].guarded ? t->branch : all(0);
        t->branches = false;
        t->words_most = turn % UNROLL ? WORDS_UNROLLED : WORDS_MOST;
        costs[f].seen++;
        t->warps = t->of_flow[f];
        for (uint32_t s = t->code->range[f][0]; s < t->code->range[f][1]; s++)
            time_step(t, s);
    }
    split(t, all(0));
    if (head != UINT32_MAX)
        costs[head].sum += t->start - begun;
    for (int k = 0; k < PATH_LEVELS; k++)
        out[k] = 0;
    add_rest(t, w, costs, p->flow_count, out);
    const double busy = busy_cycles(t, w, costs, p->flow_count);
    for (int k = 0; k < PATH_LEVELS; k++)
        out[k] = out[k] > busy ? out[k] : busy;
}

/* ---- a launch ---- */
/* Of each step, from the counts of its requests: t->extra and t->waves, in `out` one behind the other. */
static void put_requests(struct timer *t, const struct program *p, const struct memo *memos, uint32_t *out)
{
    for (uint32_t i = 0; i < t->code->step_count; i++) {
        const struct memo *m = t->code->steps[i].memo < p->memo_count ? &memos[t->code->steps[i].memo] : NULL;
        uint32_t *extra = out + i, *waves = out + t->code->step_count + i;
        *waves = PART;
        if (m && m->requests) {
            *extra = m->wave_sum > m->requests ? (uint32_t)((m->wave_sum - m->requests) * WAVEFRONT_PARTS / m->requests) : 0;
            *waves = (uint32_t)(m->wave_sum * PART / m->requests);
        } else if (m && m->shared_requests) {
            *extra = (uint32_t)((m->wavefront_sum - m->shared_requests) * WAVEFRONT_PARTS / m->shared_requests);
            *waves = (uint32_t)(m->wavefront_sum * PART / m->shared_requests);
        }
    }
    t->extra = out;
    t->waves = out + t->code->step_count;
}

/* What the warps that are followed read by this load. False: none of them ran it. */
static bool add_reads(const struct launch *l, const struct path_step *s, struct path_reads *sum)
{
    *sum = (struct path_reads){0};
    if ((s->kind != PATH_LOAD && s->kind != PATH_LOAD_FREE) || s->memo >= l->program->memo_count)
        return false;
    for (int r = 0; r < l->runner_count; r++)
        for (const struct path *path = l->runners[r].paths; path; path = path->next)
            for (int i = 0; i < path->warps; i++) {
                const struct path_reads *one = &path->warp[i].reads[s->memo];
                sum->requests += one->requests;
                sum->sectors += one->sectors;
                sum->first += one->first;
                sum->far += one->far;
                for (int k = 0; k < PATH_AGES; k++)
                    sum->again[k] += one->again[k];
            }
    return sum->requests > 0;
}

/* After how many basic blocks of a warp L1 has read as much as it holds: what warps read first, and what they read again after long. */
static double blocks_kept(const struct launch *l, const struct path_code *c, const struct memo *memos, double blocks)
{
    double executed = 0, warps = 0, block_warps = 1, bytes = 0, first = 0, again = 0;
    for (uint32_t i = 0; i < c->step_count; i++) {
        struct path_reads sum;
        if (!add_reads(l, &c->steps[i], &sum))
            continue;
        const double each = (double)memos[c->steps[i].memo].requests / sum.requests;
        bytes += 32 * each * sum.sectors;
        first += each * sum.first;
        for (int k = OLD; k < PATH_AGES; k++)
            again += each * sum.again[k];
    }
    for (int r = 0; r < l->runner_count; r++)
        for (const struct path *path = l->runners[r].paths; path; path = path->next)
            for (int i = 0; i < path->warps; i++) {
                block_warps = path->block_warps;
                warps++;
                for (uint32_t f = 0; f < l->program->flow_count; f++)
                    executed += (double)path->warp[i].blocks[f].executions;
            }
    double together = blocks < SMS ? 1 : blocks / SMS;
    together = together * block_warps < WARPS_OF_SM ? together : WARPS_OF_SM / block_warps;
    return bytes > 0 ? executed / warps * L1_BYTES / (bytes / blocks * together * (1 + again / first)) : 1e30;
}

/* A request takes as long as its farthest sector. A warp's first of a line comes from DRAM and its others of it from L2, if no other warp
 * has read them; what it has read before from L1, if L1 still has it. */
static void put_latencies(const struct launch *l, const struct path_code *c, double kept, cycles *out)
{
    for (uint32_t i = 0; i < c->step_count; i++) {
        struct path_reads sum;
        double near = 1, far = c->steps[i].kind != PATH_LOAD_STRONG;
        if (add_reads(l, &c->steps[i], &sum)) {
            double lost = sum.first;
            for (int k = 0; k < PATH_AGES; k++)
                lost += (double)(1u << k) > kept ? sum.again[k] : 0;
            near = lost / sum.requests;
            far = (double)sum.far / sum.requests;
        }
        const double from_l1 = load_latency[PATH_L1], from_l2 = from_l1 + near * (load_latency[PATH_L2] - load_latency[PATH_L1]);
        out[i] =
            (cycles){(int32_t)from_l1, (int32_t)from_l2, (int32_t)(from_l2 + far * (load_latency[PATH_DRAM] - load_latency[PATH_L2])), 0};
    }
}

/* How many warps of the block run each basic block as this one does; at least itself. */
static void put_warps(const struct path *path, const struct path_warp *w, const struct block_count *all_blocks, double blocks,
                      uint32_t flows, uint32_t *out)
{
    for (uint32_t f = 0; f < flows; f++) {
        const double own = (double)w->blocks[f].executions, each = (double)all_blocks[f].executions / blocks;
        const double warps = own > 0 ? each / own + .5 : 1;
        out[f] = warps < 1 ? 1 : warps > path->block_warps ? (uint32_t)path->block_warps : (uint32_t)warps;
    }
}

static uint64_t hash_of(const struct path *p, uint32_t flow_count)
{
    uint64_t hash = 0xcbf29ce484222325ull;
    for (int i = 0; i < p->warps; i++) {
        for (uint32_t k = 0; k < p->warp[i].count; k++)
            hash = (hash ^ p->warp[i].flows[k]) * 0x100000001b3ull;
        for (uint32_t k = 0; k < flow_count; k++)
            hash = (hash ^ p->warp[i].blocks[k].executions) * 0x100000001b3ull;
        hash ^= hash >> 29;
    }
    return hash;
}

static double instructions_of(const struct path_code *c, const struct block_count *blocks, uint32_t flows)
{
    double sum = 0;
    for (uint32_t f = 0; f < flows; f++)
        sum += (double)blocks[f].executions * (c->range[f][1] - c->range[f][0]);
    return sum;
}

struct timed {
    uint64_t hash;
    double most[PATH_LEVELS], instructions; /* of the slowest warp */
    double mean;                            /* instructions of a warp */
};

static void time_path(const struct program *p, struct timer *t, const struct path *path, const struct block_count *all_blocks,
                      double blocks, struct cost *costs, struct timed *out)
{
    SCOPED uint32_t *of_flow = xcalloc(p->flow_count + 1, sizeof *of_flow);
    t->of_flow = of_flow;
    for (int i = 0; i < path->warps; i++) {
        double one[PATH_LEVELS];
        put_warps(path, &path->warp[i], all_blocks, blocks, p->flow_count, of_flow);
        out->mean += instructions_of(t->code, path->warp[i].blocks, p->flow_count) / path->warps;
        time_warp(p, t, &path->warp[i], costs, one);
        if (one[PATH_DRAM] > out->most[PATH_DRAM])
            out->instructions = instructions_of(t->code, path->warp[i].blocks, p->flow_count);
        for (int k = 0; k < PATH_LEVELS; k++)
            out->most[k] = one[k] > out->most[k] ? one[k] : out->most[k];
    }
}

/* Basic blocks that a followed warp ran again at once and that load what others write. */
static void find_spins(const struct launch *l, const struct path_code *c, bool *spins)
{
    for (int r = 0; r < l->runner_count; r++)
        for (const struct path *path = l->runners[r].paths; path; path = path->next)
            for (int w = 0; w < path->warps; w++)
                for (uint32_t i = 1; i < path->warp[w].count; i++) {
                    const uint32_t f = path->warp[w].flows[i];
                    for (uint32_t s = c->range[f][0]; f == path->warp[w].flows[i - 1] && s < c->range[f][1]; s++)
                        spins[f] |= c->steps[s].kind == PATH_LOAD_STRONG;
                }
}

/* The cycles of blocks, as a line over the instructions of a warp: those of unequal work share a part that does not grow with it, such as
 * the wait for the mask that says that there is nothing to do. */
struct line {
    double weight, x, xx, y[PATH_LEVELS], xy[PATH_LEVELS];
};

static void line_add(struct line *of, double weight, double x, const double y[PATH_LEVELS])
{
    of->weight += weight;
    of->x += weight * x;
    of->xx += weight * x * x;
    for (int i = 0; i < PATH_LEVELS; i++) {
        of->y[i] += weight * y[i];
        of->xy[i] += weight * x * y[i];
    }
}

/* Cycles at `x`, which are never fewer for more work; *fixed: those at 0, which are not negative. */
static double line_at(const struct line *of, int level, double x, double *fixed)
{
    const double spread = of->xx - of->x * of->x / of->weight, rise = of->xy[level] - of->x * of->y[level] / of->weight;
    const double most = of->x > 0 ? of->y[level] / of->x : 0;
    double slope = spread > 1e-9 * of->xx ? rise / spread : most;
    slope = slope < 0 ? 0 : slope > most ? most : slope;
    *fixed = (of->y[level] - slope * of->x) / of->weight;
    return *fixed + slope * x;
}

enum relation { LIKE, DIFFER, SHARE_WORK };

/* Of `blocks` whose warps execute `instructions` in the mean. Warps that take work from a counter share it evenly on a GPU; here those that
 * run first take most of it. Of blocks that differ, those that are followed may have more work than others, or less. */
static void put_sum(const struct line *line, enum relation how, double instructions, double blocks, struct path_sum *sum)
{
    for (int i = 0; i < PATH_LEVELS && line->weight > 0; i++) {
        double fixed = 0, one = line->y[i] / line->weight;
        if (how == DIFFER)
            one = line_at(line, i, instructions, &fixed);
        else if (how == SHARE_WORK && line->x > 0)
            one *= instructions * line->weight / line->x;
        sum->cycles[i] += (uint64_t)(one * blocks + .5);
        if (i == PATH_L2) {
            sum->fixed_cycles += (uint64_t)(fixed * blocks + .5);
            sum->fixed_share = one > 0 ? fixed / one : 0;
        }
    }
}

void path_cycles(const struct launch *l, const struct block_count *counts, const struct memo *memos, struct path_sum *sum)
{
    struct program *p = l->program;
    struct timed timed[TIMED_MOST];
    int count = 0;
    double warps = 0, all_blocks = 0;
    struct line line = {0};
    const bool takes = p->shares && !l->cooperative; /* the blocks of a cooperative launch run in turns */
    struct timer t = {.code = decode_path(p)};
    SCOPED uint32_t *requests = xcalloc(2 * (size_t)t.code->step_count + 1, sizeof *requests);
    SCOPED struct cost *costs = aligned_alloc(16, (p->flow_count + 1) * sizeof *costs);
    SCOPED cycles *ready = aligned_alloc(16, (t.code->reg_count + 1) * sizeof *ready);
    SCOPED cycles *latency = aligned_alloc(16, (t.code->step_count + 1) * sizeof *latency);
    if (!costs || !ready || !latency)
        abort();
    put_requests(&t, p, memos, requests);
    SCOPED bool *spins = xcalloc(p->flow_count + 1, sizeof *spins);
    find_spins(l, t.code, spins);
    t.spins = spins;
    t.ready = ready;
    t.latency = latency;
    for (int r = 0; r < l->runner_count; r++)
        for (const struct path *path = l->runners[r].paths; path; path = path->next)
            all_blocks += (double)path->weight;
    const double blocks = l->grid[0] ? (double)l->grid[0] * l->grid[1] * l->grid[2] : all_blocks;
    put_latencies(l, t.code, blocks_kept(l, t.code, memos, blocks), latency);
    for (int r = 0; r < l->runner_count; r++)
        for (const struct path *path = l->runners[r].paths; path; path = path->next) {
            const uint64_t hash = hash_of(path, p->flow_count);
            int k = 0;
            while (k < count && timed[k].hash != hash)
                k++;
            if (k == TIMED_MOST)
                continue;
            if (k == count) {
                timed[count] = (struct timed){.hash = hash};
                time_path(p, &t, path, counts, blocks, costs, &timed[count++]);
            }
            line_add(&line, (double)path->weight, takes ? timed[k].instructions : timed[k].mean, timed[k].most);
            warps = path->block_warps * blocks;
        }
    const double mean = warps > 0 ? instructions_of(t.code, counts, p->flow_count) / warps : 0;
    put_sum(&line, takes ? SHARE_WORK : count > 1 ? DIFFER : LIKE, mean, blocks, sum);
}

uint64_t path_first_sectors(const struct launch *l, const struct memo *memos)
{
    const struct path_code *c = decode_path(l->program);
    double sum = 0;
    for (uint32_t i = 0; i < c->step_count; i++) {
        struct path_reads all_reads;
        if (add_reads(l, &c->steps[i], &all_reads))
            sum += (double)memos[c->steps[i].memo].requests * all_reads.sectors / all_reads.requests;
    }
    return (uint64_t)(sum + .5);
}
