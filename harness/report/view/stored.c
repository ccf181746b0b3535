#include "report/view/stored.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/node.h"
#include <stdio.h>
#include <string.h>

void stored_work_key(const struct row *row, char out[HASH_TEXT])
{
    hash_bytes(row->work ? row->work : "", row->work ? strlen(row->work) : 0, out);
    out[STORED_DIGITS] = 0;
}

static bool read_run(const struct node *root, struct stored_origin *r, struct error *err)
{
    const struct {
        const char *key;
        char *out;
        size_t bytes;
    } texts[] = {{"gpu", r->gpu, sizeof r->gpu},
                 {"date", r->date, sizeof r->date},
                 {"of", r->of, sizeof r->of},
                 {"library", r->library, sizeof r->library}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        const char *text = node_text(node_get(root, texts[i].key), texts[i].key, err);
        if (!text)
            return false;
        snprintf(texts[i].out, texts[i].bytes, "%s", text);
    }
    return true;
}

static bool read_times(const struct node *map, bool library, struct stored_times *s, struct error *err)
{
    for (int i = 0; map && map->kind == NODE_MAP && i < map->count; i++) {
        struct stored_time one = {.run = s->run_count - 1};
        const struct node *us = library ? node_get(map->items[i], "us") : map->items[i];
        const char *name = library ? node_text(node_get(map->items[i], "name"), "name", err) : "";
        if (!name || !node_real(us, "us", 0, 1e12, &one.us, err))
            return false;
        snprintf(one.key, sizeof one.key, "%.*s", STORED_DIGITS, map->keys[i]->text);
        snprintf(one.name, sizeof one.name, "%s", name);
        *APPEND(s->items, s->count) = one;
    }
    return true;
}

static bool read_file(const char *path, struct stored_times *s, struct error *err)
{
    SCOPED_BY(node_leave) struct node *root = node_parse_file(path, err);
    return root && read_run(root, APPEND(s->runs, s->run_count), err) && read_times(node_get(root, "rows"), false, s, err) &&
           read_times(node_get(root, "libraries"), true, s, err);
}

struct stored_times *stored_load(struct error *err)
{
    struct stored_times *s = xcalloc(1, sizeof *s);
    SCOPED char *dir = file_share("reports/stored"), **names = NULL;
    int count = file_list(dir, ".yaml", &names, NULL);
    for (int i = 0; i < count; i++) {
        SCOPED char *path = file_join(dir, names[i]);
        read_file(path, s, err);
    }
    return s;
}

void stored_free(struct stored_times *s)
{
    if (s)
        FREE_ALL(s->runs, s->items, s);
}

/* Of several runs the last file's. */
static const struct stored_time *find(const struct stored_times *s, const char *key, bool library)
{
    for (int i = s ? s->count - 1 : -1; i >= 0; i--)
        if (!s->items[i].name[0] == !library && !strncmp(s->items[i].key, key, STORED_DIGITS))
            return &s->items[i];
    return NULL;
}

const struct stored_time *stored_find(const struct stored_times *s, const struct row *row)
{
    return row->launch_hash[0] ? find(s, row->launch_hash, false) : NULL;
}

const struct stored_time *stored_library(const struct stored_times *s, const struct row *row)
{
    char key[HASH_TEXT];
    stored_work_key(row, key);
    return row->work && !row->cropped ? find(s, key, true) : NULL;
}
