#include "measure/rig/buffer_pool.h"
#include "base/clock.h"
#include "base/text.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct buffer_pool_place {
    char name[96];
    int index;
    struct place place;
};
struct buffer_pool {
    struct device *dev;
    struct card *card;
    int sets, replicas;
    struct buffer_pool_place *places;
    int count;
};

struct buffer_pool *buffer_pool_open(struct device *dev, struct card *card, int sets, int replicas)
{
    struct buffer_pool *pool = xcalloc(1, sizeof *pool);
    *pool = (struct buffer_pool){.dev = dev, .card = card, .sets = sets, .replicas = replicas};
    return pool;
}

void buffer_pool_close(struct buffer_pool *pool, bool lost)
{
    if (!pool)
        return;
    phase_part(pool->dev->clock, "give back");
    for (int i = 0; i < pool->count && !lost; i++)
        pool->dev->ops->release(pool->dev, pool->places[i].place.base);
    phase_pop(pool->dev->clock);
    free(pool->places);
    free(pool);
}

int buffer_pool_sets(const struct buffer_pool *pool)
{
    return pool->sets;
}

int buffer_pool_replicas(const struct buffer_pool *pool)
{
    return pool->replicas;
}

struct card *buffer_pool_check(const struct buffer_pool *pool)
{
    return pool->card;
}

bool buffer_pool_place(struct buffer_pool *pool, const char *name, int index, size_t bytes, size_t guard, struct place *out, bool *fresh,
                       struct error *err)
{
    for (int i = 0; i < pool->count; i++) {
        const struct buffer_pool_place *p = &pool->places[i];
        if (p->index == index && p->place.bytes == bytes && !strcmp(p->name, name)) {
            *out = p->place;
            *fresh = false;
            return true;
        }
    }
    struct buffer_pool_place made = {.index = index};
    snprintf(made.name, sizeof made.name, "%s", name);
    if (!place_make(pool->dev, name, bytes, guard, RIG_PAGE_BYTES, &made.place, err))
        return false;
    *APPEND(pool->places, pool->count) = made;
    *out = made.place;
    *fresh = true;
    return true;
}

bool place_make(struct device *dev, const char *label, size_t bytes, size_t guard, size_t page, struct place *place, struct error *err)
{
    *place = (struct place){.bytes = bytes, .whole = guard ? (bytes + 511) / 512 * 512 + 2 * guard : bytes};
    if (guard && page)
        place->whole = (place->whole + page - 1) / page * page;
    double start = clock_s();
    if (!dev->ops->alloc(dev, label, place->whole, &place->base, err))
        return error_where(err, "%s", label);
    place->alloc_ns = (clock_s() - start) * 1e9;
    place->address = place->base + guard;
    size_t end = guard + bytes / 4 * 4;
    if (!guard || (dev->ops->fill(dev, place->base, RIG_GUARD_PATTERN, guard, err) &&
                   dev->ops->fill(dev, place->base + end, RIG_GUARD_PATTERN, place->whole - end, err)))
        return true;
    dev->ops->release(dev, place->base);
    place->base = 0;
    return false;
}
