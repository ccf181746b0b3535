#include "base/node.h"
#include "base/file.h"
#include "base/text.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

/* Anchored nodes by name, while a document is read. */
struct anchor {
    char *name;
    const struct node *node; /* NULL while its own contents are still being read */
};
struct reader {
    yaml_parser_t parser;
    const char *file;
    const char *text;
    size_t bytes;
    int line0, column0, depth, nodes;
    struct anchor *anchors;
    int anchor_count;
    struct node **dead; /* merged maps: an anchor inside may still be used, so they live to the end */
    int dead_count;
    struct error *err;
};

static bool place_error(const struct reader *r, yaml_mark_t at, const char *format, ...) __attribute__((format(printf, 3, 4)));
static int line_of(const struct reader *r, yaml_mark_t at) { return r->line0 + (int)at.line; }
static int column_of(const struct reader *r, yaml_mark_t at) { return (at.line ? 1 : r->column0) + (int)at.column; }

static bool place_error(const struct reader *r, yaml_mark_t at, const char *format, ...)
{
    struct text t = {0};
    va_list args;
    va_start(args, format);
    text_vaddf(&t, format, args);
    va_end(args);
    error_set(r->err, ERROR_USAGE, "%s:%d:%d: %s", r->file, line_of(r, at), column_of(r, at), text_get(&t));
    text_free(&t);
    return false;
}

static void free_tree(struct node *n)
{
    if (!n)
        return;
    for (int i = 0; i < n->count; i++) {
        free_tree(n->items[i]);
        if (n->kind == NODE_MAP)
            free_tree(n->keys[i]);
    }
    free(n->items);
    free(n->keys);
    free(n->text);
    free(n);
}

void node_free(struct node *root)
{
    if (root)
        free((char *)(size_t)root->file);
    free_tree(root);
}

static struct node *make(struct reader *r, enum node_kind kind, yaml_mark_t at)
{
    if (++r->nodes > NODE_MAX_NODES) {
        place_error(r, at, "more than %d values (aliases counted as often as they are used)", NODE_MAX_NODES);
        return NULL;
    }
    struct node *n = xcalloc(1, sizeof *n);
    n->kind = kind;
    n->file = r->file;
    n->line = line_of(r, at);
    n->column = column_of(r, at);
    return n;
}

static void append(struct node *n, struct node *key, struct node *item)
{
    if ((n->count & (n->count - 1)) == 0) { /* grow at powers of two */
        size_t cap = n->count ? (size_t)n->count * 2 : 1;
        n->items = xrealloc(n->items, cap * sizeof *n->items);
        if (n->kind == NODE_MAP)
            n->keys = xrealloc(n->keys, cap * sizeof *n->keys);
    }
    n->items[n->count] = item;
    if (n->kind == NODE_MAP)
        n->keys[n->count] = key;
    n->count++;
}

static struct node *copy(struct reader *r, const struct node *from, yaml_mark_t at)
{
    struct node *n = make(r, from->kind, at);
    if (!n)
        return NULL;
    n->line = from->line;
    n->column = from->column;
    n->quoted = from->quoted;
    n->text = from->text ? xstrdup(from->text) : NULL;
    for (int i = 0; i < from->count; i++) {
        struct node *key = from->kind == NODE_MAP ? copy(r, from->keys[i], at) : NULL;
        struct node *item = from->kind == NODE_MAP && !key ? NULL : copy(r, from->items[i], at);
        if (!item) {
            free_tree(key);
            free_tree(n);
            return NULL;
        }
        append(n, key, item);
    }
    return n;
}

/* Remembers an anchor before its contents are read, so that a loop is seen. Returns its index or -1. */
static int open_anchor(struct reader *r, const yaml_char_t *name)
{
    if (!name)
        return -1;
    for (int i = 0; i < r->anchor_count; i++)
        if (!strcmp(r->anchors[i].name, (const char *)name)) { /* defined again: the later one counts */
            r->anchors[i].node = NULL;
            return i;
        }
    r->anchors = xrealloc(r->anchors, sizeof *r->anchors * (size_t)(r->anchor_count + 1));
    r->anchors[r->anchor_count] = (struct anchor){.name = xstrdup((const char *)name)};
    return r->anchor_count++;
}

static bool next(struct reader *r, yaml_event_t *event)
{
    if (yaml_parser_parse(&r->parser, event))
        return true;
    yaml_mark_t at = r->parser.problem_mark;
    if (r->parser.error == YAML_READER_ERROR) { /* an offset in bytes instead of a mark */
        memset(&at, 0, sizeof at);
        for (size_t i = 0; i < r->parser.problem_offset && i < r->bytes; i++) {
            at.column = r->text[i] == '\n' ? 0 : at.column + 1;
            at.line += r->text[i] == '\n';
        }
    }
    place_error(r, at, "not YAML: %s%s%s", r->parser.problem ? r->parser.problem : "unreadable", r->parser.context ? " " : "",
                r->parser.context ? r->parser.context : "");
    return false;
}

static struct node *read_value(struct reader *r, yaml_event_t *event);

static struct node *read_alias(struct reader *r, const yaml_event_t *event)
{
    const char *name = (const char *)event->data.alias.anchor;
    for (int i = 0; i < r->anchor_count; i++)
        if (!strcmp(r->anchors[i].name, name)) {
            if (r->anchors[i].node)
                return copy(r, r->anchors[i].node, event->start_mark);
            place_error(r, event->start_mark, "alias *%s is used inside its own anchor: it would never end", name);
            return NULL;
        }
    place_error(r, event->start_mark, "alias *%s: there is no anchor &%s before it", name, name);
    return NULL;
}

static bool plain_null(const char *s)
{
    return !*s || !strcmp(s, "~") || !strcmp(s, "null") || !strcmp(s, "Null") || !strcmp(s, "NULL");
}

static struct node *read_scalar(struct reader *r, const yaml_event_t *event)
{
    const char *value = (const char *)event->data.scalar.value;
    size_t length = event->data.scalar.length;
    bool quoted = event->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
    if (event->data.scalar.tag && strcmp((const char *)event->data.scalar.tag, "tag:yaml.org,2002:str")) {
        place_error(r, event->start_mark, "tag %.60s is not known here", (const char *)event->data.scalar.tag);
        return NULL;
    }
    if (strlen(value) != length) {
        place_error(r, event->start_mark, "a NUL character in a value");
        return NULL;
    }
    struct node *n = make(r, !quoted && plain_null(value) ? NODE_NULL : NODE_SCALAR, event->start_mark);
    if (n) {
        n->text = xstrdup(value);
        n->quoted = quoted;
    }
    return n;
}

static int find_key(const struct node *m, const char *key)
{
    for (int i = 0; i < m->count; i++)
        if (m->keys[i]->text && !strcmp(m->keys[i]->text, key))
            return i;
    return -1;
}

static void bury(struct reader *r, struct node *n)
{
    r->dead = xrealloc(r->dead, sizeof *r->dead * (size_t)(r->dead_count + 1));
    r->dead[r->dead_count++] = n;
}

/* <<: *base takes over what the map itself does not say. */
static bool merge_one(struct reader *r, struct node *map, const struct node *from, yaml_mark_t at)
{
    bool ok = true;
    for (int i = 0; i < from->count && ok; i++)
        if (find_key(map, from->keys[i]->text) < 0) {
            struct node *key = copy(r, from->keys[i], at), *item = key ? copy(r, from->items[i], at) : NULL;
            ok = item != NULL;
            if (ok)
                append(map, key, item);
            else
                free_tree(key);
        }
    return ok;
}

static bool merge(struct reader *r, struct node *map, const struct node *from, yaml_mark_t at)
{
    if (from->kind == NODE_MAP)
        return merge_one(r, map, from, at);
    bool ok = from->kind == NODE_LIST;
    for (int i = 0; ok && i < from->count; i++)
        ok = from->items[i]->kind == NODE_MAP && merge_one(r, map, from->items[i], at);
    return ok || (r->err->kind == ERROR_NONE && place_error(r, at, "<< needs a map, or a list of maps"));
}

static bool read_pair(struct reader *r, struct node *map, yaml_event_t *event, struct node **merged)
{
    yaml_mark_t at = event->start_mark;
    if (event->type != YAML_SCALAR_EVENT)
        return place_error(r, at, "a key must be a word, not a list, a map or an alias");
    struct node *key = read_scalar(r, event), *item = NULL;
    bool ok = false;
    if (!key)
        return false;
    key->kind = NODE_SCALAR;
    int old = find_key(map, key->text);
    if (old >= 0) {
        place_error(r, at, "key '%.80s' stands twice (first in line %d)", key->text, map->keys[old]->line);
        goto done;
    }
    yaml_event_t value;
    if (!next(r, &value))
        goto done;
    item = read_value(r, &value);
    yaml_event_delete(&value);
    if (!item)
        goto done;
    if (!strcmp(key->text, "<<") && !key->quoted) {
        if (*merged) {
            place_error(r, at, "key '<<' stands twice");
            goto done;
        }
        *merged = item;
        item = NULL;
        ok = true;
        goto done;
    }
    append(map, key, item);
    key = item = NULL;
    ok = true;
done:
    free_tree(key);
    free_tree(item);
    return ok;
}

static struct node *read_collection(struct reader *r, const yaml_event_t *start)
{
    bool map = start->type == YAML_MAPPING_START_EVENT, ok = false;
    const yaml_char_t *tag = map ? start->data.mapping_start.tag : start->data.sequence_start.tag;
    int anchor = open_anchor(r, map ? start->data.mapping_start.anchor : start->data.sequence_start.anchor);
    struct node *merged = NULL, *n = make(r, map ? NODE_MAP : NODE_LIST, start->start_mark);
    if (!n)
        return NULL;
    if (tag) {
        place_error(r, start->start_mark, "tag %.60s is not known here", (const char *)tag);
        goto done;
    }
    if (++r->depth > NODE_MAX_DEPTH) {
        place_error(r, start->start_mark, "nested deeper than %d levels", NODE_MAX_DEPTH);
        goto done;
    }
    for (bool end = false; !end;) {
        yaml_event_t event;
        if (!next(r, &event))
            goto done;
        bool good = true;
        if (event.type == YAML_MAPPING_END_EVENT || event.type == YAML_SEQUENCE_END_EVENT) {
            end = true;
        } else if (map) {
            good = read_pair(r, n, &event, &merged);
        } else {
            struct node *item = read_value(r, &event);
            good = item != NULL;
            if (item)
                append(n, NULL, item);
        }
        yaml_event_delete(&event);
        if (!good)
            goto done;
    }
    ok = !merged || merge(r, n, merged, start->start_mark);
done:
    r->depth--;
    if (merged)
        bury(r, merged);
    if (!ok) {
        free_tree(n);
        return NULL;
    }
    if (anchor >= 0)
        r->anchors[anchor].node = n;
    return n;
}

static struct node *read_value(struct reader *r, yaml_event_t *event)
{
    switch (event->type) {
    case YAML_ALIAS_EVENT: return read_alias(r, event);
    case YAML_SCALAR_EVENT: {
        int anchor = open_anchor(r, event->data.scalar.anchor);
        struct node *n = read_scalar(r, event);
        if (n && anchor >= 0)
            r->anchors[anchor].node = n;
        return n;
    }
    case YAML_SEQUENCE_START_EVENT:
    case YAML_MAPPING_START_EVENT: return read_collection(r, event);
    default: place_error(r, event->start_mark, "a value was expected here"); return NULL;
    }
}

static struct node *read_document(struct reader *r)
{
    struct node *root = NULL;
    bool ok = false;
    for (bool end = false; !end;) {
        yaml_event_t event;
        if (!next(r, &event))
            break;
        switch (event.type) {
        case YAML_STREAM_START_EVENT:
        case YAML_DOCUMENT_END_EVENT: break;
        case YAML_STREAM_END_EVENT:
            ok = root != NULL;
            if (!ok)
                place_error(r, event.start_mark, "nothing is in it");
            end = true;
            break;
        case YAML_DOCUMENT_START_EVENT:
            if (root) {
                place_error(r, event.start_mark, "a second document begins here (---); one is expected");
                end = true;
            }
            break;
        default:
            root = read_value(r, &event);
            end = !root;
        }
        yaml_event_delete(&event);
    }
    if (ok)
        return root;
    free_tree(root);
    return NULL;
}

struct node *node_parse_text(const char *file, const char *text, size_t bytes, int line0, int column0, struct error *err)
{
    struct error unused = {0};
    struct reader r = {.text = text, .bytes = bytes, .line0 = line0, .column0 = column0, .err = err ? err : &unused};
    struct node *root = NULL;
    if (bytes > NODE_MAX_BYTES) {
        error_set(err, ERROR_USAGE, "%s: %zu bytes; at most %u are read", file, bytes, NODE_MAX_BYTES);
        return NULL;
    }
    char *name = xstrdup(file);
    r.file = name;
    error_clear(r.err);
    if (!yaml_parser_initialize(&r.parser)) {
        error_set(err, ERROR_INTERNAL, "%s: the YAML parser does not start", file);
        free(name);
        return NULL;
    }
    yaml_parser_set_encoding(&r.parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&r.parser, (const unsigned char *)text, bytes);
    root = read_document(&r);
    yaml_parser_delete(&r.parser);
    for (int i = 0; i < r.anchor_count; i++)
        free(r.anchors[i].name);
    free(r.anchors);
    for (int i = 0; i < r.dead_count; i++)
        free_tree(r.dead[i]);
    free(r.dead);
    if (!root)
        free(name);
    return root;
}

struct node *node_parse_file(const char *path, struct error *err)
{
    size_t bytes;
    char *text = file_read(path, NODE_MAX_BYTES, &bytes, err);
    if (!text)
        return NULL;
    struct node *root = node_parse_text(path, text, bytes, 1, 1, err);
    free(text);
    return root;
}
