/* plan/rows/shard: see shard.h. */
#include "plan/rows/shard.h"
#include "base/order.h"
#include "base/text.h"
#include "plan/rows/choose.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* CPU seconds of a warm run on emu: a least-squares fit of 13 shipped scenarios (smoke, fkl, edsr, ...), 11 of them within a factor of 1.3.
 */
#define ROW_S 0.035    /* a row of a kernel, with its nearby shapes */
#define MASKED_S 0.04  /* more, with a mask */
#define LAUNCH_S 0.017 /* of its kernels */
#define GFLOP_S 7.5    /* verified */
#define WHOLE_GB_S 0.1 /* bytes of a layer of which a part is verified; its blocks are counted */
#define CHAIN_S 0.11   /* a row of a network */
#define LINK_GFLOP_S 3.2
#define FRAME_GFLOP_S 0.4 /* a sequence: of each frame */

static double emulation_cost(const struct plan *plan, const struct plan_row *p)
{
    double gflop = work_flop(plan_verified_work(plan, p->case_index)) / 1e9;
    const struct row_facts *f = &p->facts;
    if (p->kind != PLAN_LAYER)
        return p->kind == PLAN_CHAIN ? CHAIN_S + LINK_GFLOP_S * gflop : FRAME_GFLOP_S * p->sequence->of->frames * gflop;
    double whole = plan->cases[p->case_index].part ? work_bytes(&plan->cases[p->case_index].work) / 1e9 : 0;
    return f->own ? ROW_S + MASKED_S * f->uses_mask + LAUNCH_S * f->launches + GFLOP_S * gflop + WHOLE_GB_S * whole : 0;
}

/* Seconds on a GPU, by EDSR and sparsity_small on an H200: most cases within a factor of 1.3. */
#define GPU_ROW_S 0.04     /* loading and verifying a row */
#define GPU_ROUND_S 0.0008 /* a sample of a row */
#define GPU_GFLOP_S 0.0067 /* the reference of a layer */
#define GPU_LINK_S 0.0025  /* that of a network, for each GFLOP */

static double gpu_cost(const struct plan *plan, int in_case, int rows, bool network)
{
    double gflop = work_flop(plan_verified_work(plan, in_case)) / 1e9;
    return GPU_ROW_S * rows + (network ? GPU_LINK_S : GPU_GFLOP_S) * gflop +
           fmin(plan->time.budget_s, GPU_ROUND_S * plan->time.rounds_max * rows);
}

void plan_costs(const struct plan *plan, bool timed, double *seconds)
{
    SCOPED int *rows = xcalloc((size_t)plan->case_count + 1, sizeof *rows);
    SCOPED bool *network = xcalloc((size_t)plan->case_count + 1, sizeof *network);
    memset(seconds, 0, (size_t)plan->case_count * sizeof *seconds);
    for (int i = 0; i < plan->row_count; i++) {
        const struct plan_row *p = &plan->rows[i];
        if (!p->facts.feasible)
            continue;
        rows[p->case_index]++;
        network[p->case_index] |= p->kind == PLAN_CHAIN;
        seconds[p->case_index] += timed ? 0 : emulation_cost(plan, p);
    }
    for (int i = 0; i < plan->case_count && timed; i++)
        seconds[i] = gpu_cost(plan, i, rows[i], network[i]);
}

#define COMPILE_S 0.3 /* one unit */

struct build {
    uint64_t digest;
    int row;
};

ORDER(by_digest, struct build, x->digest != y->digest ? (x->digest < y->digest ? -1 : 1) : x->row - y->row)

ORDER(by_row, struct build, ORDER_UP(row))

/* Keeps the first row of each digest, in the order of rows. first (NULL: not asked for): by row. Returns how many. */
static int keep_first(struct build *all, int count, int *first)
{
    int left = 0;
    qsort(all, (size_t)count, sizeof *all, by_digest);
    for (int i = 0; i < count; i++) {
        if (!left || all[i].digest != all[left - 1].digest)
            all[left++] = all[i];
        if (first)
            first[all[i].row] = all[left - 1].row;
    }
    qsort(all, (size_t)left, sizeof *all, by_row);
    return left;
}

int plan_builds(const struct plan *plan, const bool *wanted, int *rows, int *first)
{
    SCOPED struct build *all = xcalloc((size_t)plan->row_count + 1, sizeof *all);
    int count = 0;
    for (int i = 0; i < plan->row_count; i++)
        if (wanted ? wanted[i] : plan->rows[i].facts.feasible && plan->rows[i].facts.own)
            all[count++] = (struct build){plan->rows[i].kind == PLAN_CHAIN ? (uint64_t)i : plan->rows[i].facts.build, i};
    count = keep_first(all, count, first);
    for (int i = 0; i < count; i++)
        rows[i] = all[i].row;
    return count;
}

bool plan_asks_library(const struct plan_row *row)
{
    return row->kind == PLAN_LAYER && row->facts.plans;
}

void plan_asked_alike(const struct plan *plan, const bool *wanted, int *first)
{
    SCOPED struct build *all = xcalloc((size_t)plan->row_count + 1, sizeof *all);
    int count = 0;
    for (int i = 0; i < plan->row_count; i++)
        if (wanted[i] && plan_asks_library(&plan->rows[i]))
            all[count++] = (struct build){plan->rows[i].facts.plans, i};
    keep_first(all, count, first);
}

double plan_compile_cost(const struct plan *plan, int *kernels)
{
    SCOPED uint64_t *known = NULL;
    SCOPED int *rows = xcalloc((size_t)plan->row_count + 1, sizeof *rows);
    *kernels = 0;
    for (int i = 0, count = plan_builds(plan, NULL, rows, NULL); i < count; i++, plan_tidy(plan, -1)) {
        const struct program *p = plan_program(plan, rows[i]);
        for (int k = 0; k < p->unit_count; k++) {
            bool new = p->units[k].path || p->units[k].code;
            uint64_t digest = new ? unit_digest(&p->units[k]) : 0;
            new = new &&ALL_OF(n, *kernels, known[n] != digest);
            if (new)
                *APPEND(known, *kernels) = digest;
        }
    }
    return *kernels * COMPILE_S;
}

static int root(int *unit, int i)
{
    while (unit[i] != i)
        i = unit[i] = unit[unit[i]];
    return i;
}

static void unite(int *unit, int a, int b)
{
    a = root(unit, a);
    b = root(unit, b);
    unit[a > b ? a : b] = a > b ? b : a;
}

/* A case without the density of its mask. */
struct sweep {
    char key[HASH_TEXT];
    int case_index;
};

ORDER(by_key, struct sweep, strcmp(x->key, y->key) ?: ORDER_UP(case_index))

static void unite_densities(const struct plan *plan, int *unit)
{
    SCOPED struct sweep *sweeps = xcalloc((size_t)plan->case_count + 1, sizeof *sweeps);
    for (int i = 0; i < plan->case_count; i++) {
        struct work work = plan->cases[i].work;
        char key[HASH_TEXT];
        if (mask_pattern_keys[work.mask.pattern] & MASK_DENSITY)
            work.mask.density = 0;
        work_key(&work, key);
        struct hash *h = hash_begin();
        hash_add_text(h, plan->cases[i].layer->name);
        hash_add_text(h, key);
        hash_end(h, sweeps[i].key);
        sweeps[i].case_index = i;
    }
    qsort(sweeps, (size_t)plan->case_count, sizeof *sweeps, by_key);
    for (int i = 1; i < plan->case_count; i++)
        if (!strcmp(sweeps[i].key, sweeps[i - 1].key))
            unite(unit, sweeps[i].case_index, sweeps[i - 1].case_index);
}

static int case_named(const struct plan *plan, const char *id)
{
    return FIRST_OF(i, plan->case_count, !strcmp(plan->cases[i].id, id));
}

void plan_units(const struct plan *plan, int *unit)
{
    SCOPED bool *needs = xcalloc((size_t)plan->case_count + 1, sizeof *needs);
    for (int i = 0; i < plan->case_count; i++)
        unit[i] = i;
    for (int i = 0; i < plan->row_count; i++) {
        if (plan->rows[i].kind != PLAN_CHAIN)
            continue;
        choose_needs(plan, i, needs);
        for (int k = 0; k < plan->case_count; k++)
            if (needs[k])
                unite(unit, plan->rows[i].case_index, k);
    }
    if (node_get(plan->scenario->root, "answers"))
        unite_densities(plan, unit);
    for (int i = 0, like; i < plan->case_count; i++)
        if (plan->cases[i].like && (like = case_named(plan, plan->cases[i].like)) >= 0)
            unite(unit, i, like);
    for (int i = 0; i < plan->case_count; i++)
        unit[i] = root(unit, i);
}

struct unit_cost {
    int unit;
    double seconds;
};

ORDER(by_cost, struct unit_cost, x->seconds > y->seconds ? -1 : x->seconds < y->seconds ? 1 : x->unit - y->unit)

void plan_shards(const struct plan *plan, bool timed, int count, int *shard)
{
    size_t cases = (size_t)plan->case_count + 1;
    SCOPED double *seconds = xcalloc(cases, sizeof *seconds), *load = xcalloc((size_t)count, sizeof *load);
    SCOPED int *unit = xcalloc(cases, sizeof *unit), *of = xcalloc(cases, sizeof *of);
    SCOPED struct unit_cost *costs = xcalloc(cases, sizeof *costs);
    plan_costs(plan, timed, seconds);
    plan_units(plan, unit);
    for (int i = 0; i < plan->case_count; i++) {
        costs[i].unit = i;
        costs[unit[i]].seconds += plan->cases[i].like ? 0 : seconds[i]; /* an added case changes no shard */
    }
    qsort(costs, (size_t)plan->case_count, sizeof *costs, by_cost);
    for (int i = 0; i < plan->case_count; i++) {
        int least = 0;
        if (unit[costs[i].unit] != costs[i].unit)
            continue;
        for (int k = 1; k < count; k++)
            least = load[k] < load[least] ? k : least;
        load[least] += costs[i].seconds;
        of[costs[i].unit] = least;
    }
    for (int i = 0; i < plan->case_count; i++)
        shard[i] = of[unit[i]];
}

void plan_identity(const struct plan *plan, bool timed, char out[HASH_TEXT])
{
    struct hash *h = hash_begin();
    hash_add_text(h, timed ? "plan 1 cuda" : "plan 1 emu");
    hash_add_text(h, plan->files);
    for (int i = 0; i < plan->row_count; i++) {
        const struct plan_row *p = &plan->rows[i];
        char work[HASH_TEXT];
        if (plan->cases[p->case_index].like)
            continue;
        work_key(&plan->cases[p->case_index].work, work);
        hash_add_text(h, work);
        hash_add_text(h, plan_id(plan, i));
        hash_add_text(h, p->side ? p->side->name : "");
        hash_add_text(h, p->side && p->side->revision ? p->side->revision : "");
        plan_tidy(plan, -1);
    }
    hash_add(h, plan->time.cache, sizeof plan->time.cache);
    hash_add(h, plan->time.load, sizeof plan->time.load);
    hash_add(h, &plan->time.half_width, sizeof plan->time.half_width);
    hash_add(h, &plan->time.budget_s, sizeof plan->time.budget_s);
    hash_add(h, &plan->tune, sizeof plan->tune);
    hash_end(h, out);
}
