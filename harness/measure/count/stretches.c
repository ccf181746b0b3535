/* A grid as stretches of equal blocks. */
#include "base/text.h"
#include "measure/count/blocks_private.h"
#include <math.h>
#include <stdlib.h>

#define PROBES 60

struct stretches {
    uint64_t *from; /* numbers of the groups where one begins, ascending */
    int count;
    int probes; /* left */
};

static bool hash_at(struct counting *c, uint64_t number, uint64_t *hash, struct error *err)
{
    blocks_want(c, number);
    if (!blocks_run(c, err))
        return false;
    *hash = blocks_at(c, number)->hash;
    return true;
}

/* Splits [from, to) where blocks change, by bisection. Two probes inside a stretch must be as its ends are. */
static bool split(struct counting *c, struct stretches *s, uint64_t from, uint64_t to, struct error *err)
{
    uint64_t first, last, near, far, n = to - from;
    if (s->probes < 0)
        return true;
    if (!hash_at(c, from, &first, err) || !hash_at(c, to - 1, &last, err) || !hash_at(c, from + n / 3, &near, err) ||
        !hash_at(c, from + n * 2 / 3, &far, err))
        return false;
    s->probes -= 2;
    if (first == last && first == near && first == far) {
        if (!s->count || from % c->grid[0] == 0 || blocks_at(c, from - 1)->hash != first)
            *APPEND(s->from, s->count) = from;
        return true;
    }
    uint64_t middle = n > 2 ? from + n / 2 : from + 1;
    return split(c, s, from, middle, err) && split(c, s, middle, to, err);
}

struct of_stretch {
    uint64_t from, to;
};
static bool is_of_stretch(const void *context, uint64_t number)
{
    const struct of_stretch *of = context;
    return number >= of->from && number < of->to;
}

/* The last stretch that begins at a group or before it. */
static int stretch_at(const void *context, uint64_t number)
{
    const struct stretches *s = context;
    int low = 0;
    for (int high = s->count; high - low > 1;) {
        int middle = (low + high) / 2;
        *(s->from[middle] <= number ? &low : &high) = middle;
    }
    return low;
}

bool blocks_stretches(struct counting *c, struct blocks *b, bool *found, struct error *err)
{
    struct stretches s = {.probes = (int)fmin(PROBES, BUDGET * c->sample.ran / blocks_cost(c))};
    bool ok = true;
    for (uint64_t line = 0; ok && line < c->groups / c->grid[0]; line++)
        ok = split(c, &s, line * c->grid[0], (line + 1) * c->grid[0], err);
    *found = ok && s.probes >= 0;
    for (int i = 0; *found && i < s.count; i++) {
        struct of_stretch of = {s.from[i], i + 1 < s.count ? s.from[i + 1] : c->groups};
        struct class k = blocks_judge(c, of.to - of.from, is_of_stretch, &of);
        blocks_add(&k, b);
        blocks_weigh(c, &k, is_of_stretch, &of);
    }
    if (*found && s.count > b->classes)
        b->classes = s.count;
    if (*found)
        blocks_lay(c, s.count, stretch_at, &s);
    free(s.from);
    return ok;
}
