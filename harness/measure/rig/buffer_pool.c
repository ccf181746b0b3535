#include "measure/rig/buffer_pool.h"
#include "base/text.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct room_place {
    char name[96];
    int index;
    struct place place;
};
struct room {
    struct device *dev;
    struct card *card;
    int sets, seats;
    struct room_place *places;
    int count;
};

struct room *room_open(struct device *dev, struct card *card, int sets, int seats)
{
    struct room *room = xcalloc(1, sizeof *room);
    *room = (struct room){.dev = dev, .card = card, .sets = sets, .seats = seats};
    return room;
}

void room_close(struct room *room, bool lost)
{
    if (!room)
        return;
    for (int i = 0; i < room->count && !lost; i++)
        room->dev->ops->release(room->dev, room->places[i].place.base);
    free(room->places);
    free(room);
}

int room_sets(const struct room *room)
{
    return room->sets;
}

int room_seats(const struct room *room)
{
    return room->seats;
}

struct card *room_card(const struct room *room)
{
    return room->card;
}

bool room_place(struct room *room, const char *name, int index, size_t bytes, size_t guard, struct place *out, bool *fresh,
                struct error *err)
{
    for (int i = 0; i < room->count; i++) {
        const struct room_place *p = &room->places[i];
        if (p->index == index && p->place.bytes == bytes && !strcmp(p->name, name)) {
            *out = p->place;
            *fresh = false;
            return true;
        }
    }
    struct room_place made = {.index = index};
    snprintf(made.name, sizeof made.name, "%s", name);
    if (!place_make(room->dev, name, bytes, guard, RIG_PAGE_BYTES, &made.place, err))
        return false;
    *APPEND(room->places, room->count) = made;
    *out = made.place;
    *fresh = true;
    return true;
}

bool place_make(struct device *dev, const char *label, size_t bytes, size_t guard, size_t page, struct place *place, struct error *err)
{
    *place = (struct place){.bytes = bytes, .whole = guard ? (bytes + 511) / 512 * 512 + 2 * guard : bytes};
    if (guard && page)
        place->whole = (place->whole + page - 1) / page * page;
    if (!dev->ops->alloc(dev, label, place->whole, &place->base, err))
        return error_where(err, "%s", label);
    place->address = place->base + guard;
    size_t end = guard + bytes / 4 * 4;
    if (!guard || (dev->ops->fill(dev, place->base, RIG_GUARD_PATTERN, guard, err) &&
                   dev->ops->fill(dev, place->base + end, RIG_GUARD_PATTERN, place->whole - end, err)))
        return true;
    dev->ops->release(dev, place->base);
    place->base = 0;
    return false;
}
