#include "emu/run/sample.h"
#include "base/text.h"
#include "emu/ops.h"
#include "emu/run/path.h"
#include <stdlib.h>
#include <string.h>

#define FLOW_COUNTS 2
#define MEMO_COUNTS \
    ((offsetof(struct memo, bytes) - offsetof(struct memo, requests)) / sizeof(uint64_t) + 1) /* all of them are side by side */

static size_t count_of(const struct program *p)
{
    return (size_t)p->flow_count * FLOW_COUNTS + (size_t)p->memo_count * MEMO_COUNTS;
}

/* Copies a runner's counts to `out`, or `from` to its counts. */
static void move_counts(const struct program *p, struct runner *k, uint64_t *out, const uint64_t *from)
{
    for (uint32_t i = 0; i < p->flow_count + p->memo_count; i++) {
        bool flow = i < p->flow_count;
        size_t count = flow ? FLOW_COUNTS : MEMO_COUNTS;
        uint64_t *own = flow ? &k->blocks[i].executions : &k->memos[i - p->flow_count].requests;
        memcpy(out ? out : own, out ? own : from, count * sizeof *own);
        out = out ? out + count : NULL;
        from = from ? from + count : NULL;
    }
}

/* Instructions and multiply-adds, as count_insn counts them. */
static void add_instructions(const struct program *p, struct device_group *g)
{
    g->instructions = g->macs = 0;
    for (uint32_t i = 0; i < p->count; i++) {
        const struct cold *c = &p->cold[i];
        uint64_t runs = g->counts[(size_t)c->block * FLOW_COUNTS];
        if (p->code[i].op == OP_guard || c->internal || !c->source)
            continue;
        g->instructions += runs;
        g->macs += c->class == CLASS_TENSOR ? runs * c->macs : 0;
    }
}

void sample_take(struct runner *k, struct device_group *g)
{
    const struct program *p = k->launch->program;
    size_t count = count_of(p);
    for (uint32_t i = 0; i < p->memo_count; i++)
        memo_add_waves(&k->memos[i]);
    uint64_t *now = xmalloc(count * sizeof *now + 1), hash = 0xcbf29ce484222325ull;
    move_counts(p, k, now, NULL);
    g->counts = xcalloc(count + 1, sizeof *g->counts);
    for (size_t i = 0; i < count; i++) {
        g->counts[i] = now[i] - (k->counted ? k->counted[i] : 0);
        hash = (hash ^ g->counts[i]) * 0x100000001b3ull;
        hash ^= hash >> 29;
    }
    free(k->counted);
    k->counted = now;
    g->hash = hash;
    add_instructions(p, g);
    g->sectors = 0;
    for (size_t i = 0; i < p->memo_count; i++) {
        const uint64_t *memo = &g->counts[(size_t)p->flow_count * FLOW_COUNTS + i * MEMO_COUNTS];
        g->sectors += memo[1];
        g->macs += memo[MEMO_COUNTS - 2];
    }
}

void sample_weigh(struct launch *l, const struct device_sample *sample)
{
    const struct program *p = l->program;
    size_t count = count_of(p), bytes = ((size_t)p->memo_count + 1) * sizeof(struct memo);
    uint64_t *sums = xcalloc(count + 1, sizeof *sums);
    struct runner *k = l->runners = xcalloc(1, sizeof *k);
    k->launch = l;
    l->runner_count = 1;
    for (int g = 0; g < sample->ran; g++)
        for (size_t i = 0; sample->groups[g].counts && i < count; i++)
            sums[i] += sample->groups[g].weight * sample->groups[g].counts[i];
    for (int g = 0; g < sample->ran; g++) {
        struct path *path = sample->groups[g].path;
        if (path && sample->groups[g].weight) {
            path->weight *= sample->groups[g].weight;
            path->next = k->paths;
            k->paths = path;
            sample->groups[g].path = NULL;
        }
    }
    k->blocks = xcalloc(p->flow_count + 1, sizeof *k->blocks);
    k->memo_sets = 1;
    k->memos = aligned_alloc(_Alignof(struct memo), bytes);
    if (!k->memos)
        abort();
    memset(k->memos, 0, bytes);
    move_counts(p, k, NULL, sums);
    free(sums);
}
