/* Inheritance of maps: keys that a map lacks are taken from the map below it. */
#include "base/node.h"
#include "base/text.h"
#include <string.h>

/* A part of a tree; the file's name belongs to the root of its document. */
static void free_part(struct node *n)
{
    n->file = NULL;
    node_free(n);
}

static int node_index(const struct node *map, const char *key)
{
    return FIRST_OF(i, map->count, !strcmp(map->keys[i]->text, key));
}

/* Every `key: null` of the map has something below it to take away. */
static bool check_removals(const struct node *map, const struct node *below, struct error *err)
{
    for (int i = 0; i < map->count; i++) {
        const struct node *key = map->keys[i];
        if (map->items[i]->kind != NODE_NULL || node_index(below, key->text) >= 0)
            continue;
        SCOPED const char **words = xcalloc((size_t)below->count + 1, sizeof *words);
        for (int k = 0; k < below->count; k++)
            words[k] = below->keys[k]->text;
        const char *near = text_nearest_in(key->text, words);
        node_error(key, err, "'%.80s' without a value removes an inherited key, but no such key is inherited", key->text);
        if (near)
            error_hint(err, "did you mean '%s'?", near);
        return false;
    }
    return true;
}

/* One key of the result: the map's own, the one below, or both joined. False: neither is left, or with an error. */
static bool settle(struct node *own_key, struct node *own, struct node *low_key, struct node *low, struct node *out, struct error *err)
{
    bool done = true;
    if (own && own->kind == NODE_MAP && low->kind == NODE_MAP)
        done = node_inherit(own, low, err);
    if (!own || own->kind != NODE_NULL) {
        out->keys[out->count] = own ? own_key : low_key;
        out->items[out->count++] = own ? own : low;
    } else {
        free_part(own_key);
        free_part(own);
    }
    if (own) {
        free_part(low_key);
        free_part(low);
    }
    return done;
}

bool node_inherit(struct node *map, struct node *below, struct error *err)
{
    if (!check_removals(map, below, err))
        return false;
    struct node out = {0};
    bool done = true, *taken = xcalloc((size_t)map->count + 1, sizeof *taken);
    SCOPED int *over = xcalloc((size_t)below->count + 1, sizeof *over); /* found before anything is freed */
    out.keys = xcalloc((size_t)(map->count + below->count) + 1, sizeof *out.keys);
    out.items = xcalloc((size_t)(map->count + below->count) + 1, sizeof *out.items);
    for (int i = 0; i < below->count; i++) {
        over[i] = node_index(map, below->keys[i]->text);
        if (over[i] >= 0)
            taken[over[i]] = true;
    }
    for (int i = 0; i < below->count; i++) /* the lower map's keys in their order, then the new ones */
        done &= settle(over[i] < 0 ? NULL : map->keys[over[i]], over[i] < 0 ? NULL : map->items[over[i]], below->keys[i], below->items[i],
                       &out, done ? err : NULL);
    for (int i = 0; i < map->count; i++)
        if (!taken[i]) {
            out.keys[out.count] = map->keys[i];
            out.items[out.count++] = map->items[i];
        }
    FREE_ALL(map->keys, map->items, taken);
    map->keys = out.keys;
    map->items = out.items;
    map->count = out.count;
    below->count = 0;
    return done;
}

void node_remove(struct node *map, const char *key)
{
    int at = node_index(map, key);
    if (at < 0)
        return;
    free_part(map->keys[at]);
    free_part(map->items[at]);
    map->count--;
    for (int i = at; i < map->count; i++) {
        map->keys[i] = map->keys[i + 1];
        map->items[i] = map->items[i + 1];
    }
}
