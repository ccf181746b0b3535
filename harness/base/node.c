#include "base/node.h"
#include "base/file.h"
#include "base/text.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

/* Anchored nodes by name, while a document is read. Looked up one by one, hence the limit. */
#define ANCHORS_MAX 256
/* Bytes of all values together: an alias to a long text must not fill the memory. */
#define TEXT_MAX (4u * NODE_MAX_BYTES)
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
    size_t text_bytes;
    struct anchor *anchors;
    int anchor_count;
    struct node **dead; /* merged maps: an anchor inside may still be used, so they live to the end */
    int dead_count;
    struct error *err;
};

static bool place_error(const struct reader *r, yaml_mark_t at, const char *format, ...) __attribute__((format(printf, 3, 4)));
static int node_line_of(const struct reader *r, yaml_mark_t at)
{
    return r->line0 + (int)at.line;
}
static int column_of(const struct reader *r, yaml_mark_t at)
{
    return (at.line ? 1 : r->column0) + (int)at.column;
}

static bool place_error(const struct reader *r, yaml_mark_t at, const char *format, ...)
{
    SCOPED_TEXT t = {0};
    TEXT_ADD_ARGUMENTS(&t, format);
    error_set(r->err, ERROR_USAGE, "%s:%d:%d: %s", r->file, node_line_of(r, at), column_of(r, at), text_get(&t));
    error_at(r->err, r->file, node_line_of(r, at));
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
    FREE_ALL(n->items, n->keys, n->text, n);
}

void node_free(struct node *root)
{
    if (root)
        free((char *)(size_t)root->file);
    free_tree(root);
}

void node_leave(struct node **root)
{
    node_free(*root);
}

static struct node *node_make(struct reader *r, enum node_kind kind, yaml_mark_t at)
{
    if (++r->nodes > NODE_MAX_NODES) {
        place_error(r, at, "more than %d values (aliases counted as often as they are used)", NODE_MAX_NODES);
        return NULL;
    }
    struct node *n = xcalloc(1, sizeof *n);
    n->kind = kind;
    n->file = r->file;
    n->line = node_line_of(r, at);
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

static bool take_text(struct reader *r, struct node *n, const char *text, yaml_mark_t at)
{
    size_t length = strlen(text);
    r->text_bytes += length;
    if (r->text_bytes > TEXT_MAX)
        return place_error(r, at, "more than %u bytes of text (aliases counted as often as they are used)", TEXT_MAX);
    n->text = xstrndup(text, length);
    return true;
}

static struct node *copy(struct reader *r, const struct node *from, yaml_mark_t at, int depth)
{
    bool ok = false;
    struct node *n = node_make(r, from->kind, at);
    if (!n)
        return NULL;
    n->line = from->line;
    n->column = from->column;
    n->quoted = from->quoted;
    if (from->text && !take_text(r, n, from->text, at))
        goto done;
    if (from->count && ++depth > NODE_MAX_DEPTH) {
        place_error(r, at, "an alias is nested deeper than %d levels", NODE_MAX_DEPTH);
        goto done;
    }
    for (int i = 0; i < from->count; i++) {
        struct node *key = from->kind == NODE_MAP ? copy(r, from->keys[i], at, depth) : NULL;
        struct node *item = from->kind == NODE_MAP && !key ? NULL : copy(r, from->items[i], at, depth);
        if (!item) {
            free_tree(key);
            goto done;
        }
        append(n, key, item);
    }
    ok = true;
done:
    if (ok)
        return n;
    free_tree(n);
    return NULL;
}

/* Remembers an anchor before its contents are read, so that a loop is seen. *index is -1 without a name. */
static bool open_anchor(struct reader *r, const yaml_char_t *name, yaml_mark_t at, int *index)
{
    *index = -1;
    if (!name)
        return true;
    for (int i = 0; i < r->anchor_count && *index < 0; i++)
        if (!strcmp(r->anchors[i].name, (const char *)name)) /* defined again: the later one counts */
            *index = i;
    if (*index < 0) {
        if (r->anchor_count == ANCHORS_MAX)
            return place_error(r, at, "more than %d anchors", ANCHORS_MAX);
        *index = r->anchor_count;
        *APPEND(r->anchors, r->anchor_count) = (struct anchor){.name = xstrdup((const char *)name)};
    }
    r->anchors[*index].node = NULL;
    return true;
}

/* The byte at a place; NUL at the end. */
static char byte_at(const struct reader *r, yaml_mark_t at)
{
    size_t i = 0, line = 0, column = 0;
    for (; i < r->bytes && line < at.line; i++)
        line += r->text[i] == '\n' || (r->text[i] == '\r' && (i + 1 == r->bytes || r->text[i + 1] != '\n'));
    for (; i < r->bytes && column < at.column; column++)
        for (i++; i < r->bytes && (r->text[i] & 0xc0) == 0x80;)
            i++;
    return i < r->bytes ? r->text[i] : 0;
}

static bool next(struct reader *r, yaml_event_t *event)
{
    if (yaml_parser_parse(&r->parser, event))
        return true;
    const yaml_parser_t *p = &r->parser;
    const char *problem = p->problem ? p->problem : "unreadable";
    char found = byte_at(r, p->problem_mark);
    if (p->context)
        place_error(r, p->problem_mark, "not YAML: %s, %s that begins in line %d", problem, p->context, node_line_of(r, p->context_mark));
    else
        place_error(r, p->problem_mark, "not YAML: %s", problem);
    if (found == '\t')
        error_hint(r->err, "a tab cannot indent in YAML: use spaces");
    else if (strstr(problem, "mapping values are not allowed"))
        error_hint(r->err, "put a text with ': ' in quotes; a nested map begins on its own line");
    else if (strstr(problem, "cannot start any token"))
        error_hint(r->err, "put a text that begins with '%c' in quotes", found);
    return false;
}

static struct node *read_value(struct reader *r, yaml_event_t *event);

static struct node *read_alias(struct reader *r, const yaml_event_t *event)
{
    const char *name = (const char *)event->data.alias.anchor;
    for (int i = 0; i < r->anchor_count; i++)
        if (!strcmp(r->anchors[i].name, name)) {
            if (r->anchors[i].node)
                return copy(r, r->anchors[i].node, event->start_mark, r->depth);
            place_error(r, event->start_mark, "alias *%s is used inside its own anchor, which would be endless", name);
            return NULL;
        }
    place_error(r, event->start_mark, "alias *%s: there is no anchor &%s before it", name, name);
    return NULL;
}

static bool plain_null(const char *s)
{
    return !*s || !strcmp(s, "~") || !strcmp(s, "null") || !strcmp(s, "Null") || !strcmp(s, "NULL");
}

/* What an escape like "\e" or "\x9b" brings in would reach the terminal with an error message or a name. */
static bool has_control(const unsigned char *s, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if ((s[i] < 0x20 && s[i] != '\n' && s[i] != '\t') || s[i] == 0x7f || (s[i] == 0xc2 && s[i + 1] < 0xa0)) /* C2 80..9F: U+0080..9F */
            return true;
    return false;
}

static struct node *read_scalar(struct reader *r, const yaml_event_t *event)
{
    const char *value = (const char *)event->data.scalar.value, *tag = (const char *)event->data.scalar.tag;
    bool quoted = event->data.scalar.style != YAML_PLAIN_SCALAR_STYLE || tag;
    if (tag && strcmp(tag, YAML_STR_TAG)) {
        place_error(r, event->start_mark, "the tag %.60s is not supported here", tag);
        return NULL;
    }
    if (has_control(event->data.scalar.value, event->data.scalar.length)) {
        place_error(r, event->start_mark, "the value contains a control character");
        return NULL;
    }
    struct node *n = node_make(r, !quoted && plain_null(value) ? NODE_NULL : NODE_SCALAR, event->start_mark);
    if (!n)
        return NULL;
    n->quoted = quoted;
    if (take_text(r, n, value, event->start_mark))
        return n;
    free_tree(n);
    return NULL;
}

static void bury(struct reader *r, struct node *n)
{
    *APPEND(r->dead, r->dead_count) = n;
}

/* <<: *base adds the keys that the map does not have: copied after its own keys, resolved below. */
static bool merge_one(struct reader *r, struct node *map, const struct node *from, yaml_mark_t at)
{
    for (int i = 0; i < from->count; i++) {
        struct node *key = copy(r, from->keys[i], at, r->depth), *item = key ? copy(r, from->items[i], at, r->depth) : NULL;
        if (!item) {
            free_tree(key);
            return false;
        }
        append(map, key, item);
    }
    return true;
}

static bool merge(struct reader *r, struct node *map, const struct node *from, yaml_mark_t at)
{
    bool fits = from->kind == NODE_MAP || from->kind == NODE_LIST;
    for (int i = 0; fits && from->kind == NODE_LIST && i < from->count; i++)
        fits = from->items[i]->kind == NODE_MAP;
    if (!fits)
        return place_error(r, at, "<< needs a map, or a list of maps");
    if (from->kind == NODE_MAP)
        return merge_one(r, map, from, at);
    return ALL_OF(i, from->count, merge_one(r, map, from->items[i], at));
}

static int by_key(const void *a, const void *b, void *keys)
{
    int i = *(const int *)a, k = *(const int *)b,
        order = strcmp(((struct node *const *)keys)[i]->text, ((struct node *const *)keys)[k]->text);
    return order ? order : (i > k) - (i < k);
}

/* A duplicate among the map's own keys (the first `own`) is an error; a merged key yields to an earlier one. Sorts, so that a map of many
 * thousand keys is fast. */
static bool settle_keys(struct reader *r, struct node *map, int own)
{
    SCOPED int *order = xcalloc((size_t)map->count, sizeof *order);
    int twice = -1, first = -1, kept = 0;
    SCOPED bool *drop = xcalloc((size_t)map->count, sizeof *drop);
    for (int i = 0; i < map->count; i++)
        order[i] = i;
    qsort_r(order, (size_t)map->count, sizeof *order, by_key, map->keys);
    for (int i = 1; i < map->count; i++) {
        int at = order[i], before = order[i - 1];
        if (strcmp(map->keys[at]->text, map->keys[before]->text))
            continue;
        drop[at] = true;
        if (at < own && (twice < 0 || at < twice)) {
            twice = at;
            first = before;
        }
    }
    if (twice >= 0)
        error_set(r->err, ERROR_USAGE, "%s:%d:%d: key '%.80s' is repeated (first in line %d)", r->file, map->keys[twice]->line,
                  map->keys[twice]->column, map->keys[twice]->text, map->keys[first]->line);
    for (int i = 0; twice < 0 && i < map->count; i++) {
        if (drop[i]) {
            free_tree(map->keys[i]);
            free_tree(map->items[i]);
            continue;
        }
        map->keys[kept] = map->keys[i];
        map->items[kept++] = map->items[i];
    }
    if (twice < 0)
        map->count = kept;
    return twice < 0;
}

static bool read_pair(struct reader *r, struct node *map, yaml_event_t *event, struct node **merged)
{
    yaml_mark_t at = event->start_mark;
    if (event->type != YAML_SCALAR_EVENT)
        return place_error(r, at, "a key must be a word, not a list, a map or an alias");
    struct node *key = read_scalar(r, event), *item = NULL;
    bool ok = false;
    int anchor;
    if (!key)
        return false;
    key->kind = NODE_SCALAR;
    bool takes_over = !strcmp(key->text, "<<") && !key->quoted;
    if (!*key->text || (takes_over && *merged)) {
        place_error(r, at, *key->text ? "key '<<' is listed twice" : "a key is empty");
        goto done;
    }
    if (!takes_over) {
        if (!open_anchor(r, event->data.scalar.anchor, at, &anchor))
            goto done;
        if (anchor >= 0)
            r->anchors[anchor].node = key;
    }
    yaml_event_t value;
    if (!next(r, &value))
        goto done;
    item = read_value(r, &value);
    yaml_event_delete(&value);
    if (!item)
        goto done;
    ok = true;
    if (takes_over) {
        *merged = item;
    } else {
        append(map, key, item);
        key = NULL;
    }
    item = NULL;
done:
    free_tree(key);
    free_tree(item);
    return ok;
}

static bool read_items(struct reader *r, struct node *n, struct node **merged)
{
    for (;;) {
        yaml_event_t event;
        if (!next(r, &event))
            return false;
        bool good = true, end = event.type == YAML_MAPPING_END_EVENT || event.type == YAML_SEQUENCE_END_EVENT;
        if (!end && n->kind == NODE_MAP) {
            good = read_pair(r, n, &event, merged);
        } else if (!end) {
            struct node *item = read_value(r, &event);
            good = item != NULL;
            if (item)
                append(n, NULL, item);
        }
        yaml_event_delete(&event);
        if (end || !good)
            return good;
    }
}

static struct node *read_collection(struct reader *r, const yaml_event_t *start)
{
    bool map = start->type == YAML_MAPPING_START_EVENT, ok = false;
    const yaml_char_t *tag = map ? start->data.mapping_start.tag : start->data.sequence_start.tag;
    struct node *merged = NULL, *n = node_make(r, map ? NODE_MAP : NODE_LIST, start->start_mark);
    int anchor;
    if (!n)
        return NULL;
    r->depth++;
    if (!open_anchor(r, map ? start->data.mapping_start.anchor : start->data.sequence_start.anchor, start->start_mark, &anchor))
        goto done;
    if (tag) {
        place_error(r, start->start_mark, "the tag %.60s is not supported here", (const char *)tag);
        goto done;
    }
    if (r->depth > NODE_MAX_DEPTH) {
        place_error(r, start->start_mark, "nested deeper than %d levels", NODE_MAX_DEPTH);
        goto done;
    }
    if (!read_items(r, n, &merged))
        goto done;
    int own = n->count;
    ok = (!merged || merge(r, n, merged, start->start_mark)) && (!map || settle_keys(r, n, own));
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
    int anchor;
    switch (event->type) {
    case YAML_ALIAS_EVENT: return read_alias(r, event);
    case YAML_SCALAR_EVENT: {
        if (!open_anchor(r, event->data.scalar.anchor, event->start_mark, &anchor))
            return NULL;
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
                place_error(r, event.start_mark, "a second document begins here (---), but only one is allowed");
                end = true;
            }
            break;
        default: root = read_value(r, &event); end = !root;
        }
        yaml_event_delete(&event);
    }
    if (ok)
        return root;
    free_tree(root);
    return NULL;
}

/* Length of the UTF-8 sequence at s (at most `left` bytes) and its code point; 0: invalid. */
static size_t utf8(const unsigned char *s, size_t left, uint32_t *code)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t n = *s < 0x80 ? 1 : *s >= 0xc2 && *s < 0xe0 ? 2 : *s >= 0xe0 && *s < 0xf0 ? 3 : *s >= 0xf0 && *s < 0xf5 ? 4 : 0;
    if (!n || n > left)
        return 0;
    *code = n == 1 ? *s : *s & (0xffu >> (n + 1));
    for (size_t i = 1; i < n; i++) {
        if ((s[i] & 0xc0) != 0x80)
            return 0;
        *code = *code << 6 | (s[i] & 0x3f);
    }
    return *code < least[n] || (*code >= 0xd800 && *code < 0xe000) || *code > 0x10ffff ? 0 : n;
}

/* Checks every byte before the parser starts, so that an invalid one is reported at its own place and lines are counted as editors do
 * (YAML would count U+0085, U+2028 and U+2029 as line ends). */
static bool check_bytes(const struct reader *r)
{
    yaml_mark_t at = {0};
    for (size_t i = 0; i < r->bytes;) {
        uint32_t code = 0;
        size_t n = utf8((const unsigned char *)r->text + i, r->bytes - i, &code);
        if (!n)
            return place_error(r, at, "not YAML: byte 0x%02x is not UTF-8 text", (unsigned char)r->text[i]);
        if (code == 0)
            return place_error(r, at, "not YAML: a NUL byte");
        if ((code < 0x20 && code != '\t' && code != '\n' && code != '\r') || (code >= 0x7f && code < 0xa0) || code == 0x2028 ||
            code == 0x2029 || code == 0xfeff || code == 0xfffe || code == 0xffff)
            return place_error(r, at, "not YAML: the character U+%04X is not allowed", code);
        bool end = code == '\n' || (code == '\r' && (i + 1 == r->bytes || r->text[i + 1] != '\n'));
        at.line += end;
        at.column = end ? 0 : at.column + 1;
        i += n;
    }
    return true;
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
    if (bytes >= 3 && !memcmp(text, "\xef\xbb\xbf", 3)) { /* a byte order mark */
        r.text += 3;
        r.bytes -= 3;
    }
    char *name = xstrdup(file);
    r.file = name;
    error_clear(r.err);
    if (!check_bytes(&r)) {
        free(name);
        return NULL;
    }
    if (!yaml_parser_initialize(&r.parser)) {
        error_set(err, ERROR_INTERNAL, "%s: the YAML parser cannot start", file);
        free(name);
        return NULL;
    }
    yaml_parser_set_encoding(&r.parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&r.parser, (const unsigned char *)r.text, r.bytes);
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
    SCOPED char *text = file_read(path, NODE_MAX_BYTES, &bytes, err);
    if (!text)
        return NULL;
    return node_parse_text(path, text, bytes, 1, 1, err);
}
