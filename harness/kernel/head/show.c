/* Prints a head with everything that it inherits as one file, and the place of each key. */
#include "base/file.h"
#include "base/text.h"
#include "kernel/head/head.h"
#include "kernel/variant.h"
#include "kernel/head/load.h"
#include <string.h>

#define SHOW_WIDTH 110 /* of a list or map on one line */
#define SHOW_PLACE 64  /* where the places begin */

/* True if the whole value is in the file of its key and fits on one line. */
static bool show_flat(const struct node *n, const char *file, int depth)
{
    if (strcmp(n->file, file) || depth > 3)
        return false;
    return ALL_OF(i, n->count, show_flat(n->items[i], file, depth + 1) && (n->kind != NODE_MAP || !strcmp(n->keys[i]->file, file)));
}

static void show_scalar(struct text *t, const struct node *n, bool flow)
{
    const char *s = n->text ? n->text : "";
    bool quote = n->quoted || (flow && strpbrk(s, ",[]{}")) || strstr(s, ": ") || strstr(s, " #") || strchr(s, '\n');
    if (!quote) {
        text_add(t, s);
        return;
    }
    text_add(t, "\"");
    for (; *s; s++)
        text_addf(t, *s == '"' || *s == '\\' ? "\\%c" : *s == '\n' ? "\\n" : "%c", *s);
    text_add(t, "\"");
}

static void show_flow(struct text *t, const struct node *n, bool inside)
{
    bool map = n->kind == NODE_MAP;
    if (!map && n->kind != NODE_LIST) {
        show_scalar(t, n, inside);
        return;
    }
    text_add(t, map ? "{" : "[");
    for (int i = 0; i < n->count; i++) {
        text_addf(t, "%s%s%s", i ? ", " : "", map ? n->keys[i]->text : "", map ? ": " : "");
        show_flow(t, n->items[i], true);
    }
    text_add(t, map ? "}" : "]");
}

static void show_place(struct text *t, const struct node *key, size_t line_at)
{
    size_t width = t->len - line_at;
    text_addf(t, "%*s  # %s:%d\n", width < SHOW_PLACE ? (int)(SHOW_PLACE - width) : 0, "", file_base(key->file), key->line);
}

static void show_map(struct text *t, const struct node *m, int indent);

/* A list below its key: an item that is a map has its first key behind the dash. */
static void show_list(struct text *t, const struct node *list, int indent)
{
    for (int i = 0; i < list->count; i++) {
        const struct node *item = list->items[i];
        for (int k = 0; k < (item->kind == NODE_MAP ? item->count : 1); k++) {
            text_addf(t, "%*s%s", indent, "", k ? "  " : "- ");
            if (item->kind == NODE_MAP)
                text_addf(t, "%s: ", item->keys[k]->text);
            show_flow(t, item->kind == NODE_MAP ? item->items[k] : item, item->kind != NODE_SCALAR && item->kind != NODE_MAP);
            text_add(t, "\n");
        }
    }
}

static void show_key(struct text *t, const struct node *key, const struct node *value, int indent)
{
    SCOPED_TEXT line = {0};
    size_t line_at = t->len;
    bool scalar = value->kind == NODE_SCALAR || value->kind == NODE_NULL;
    show_flow(&line, value, false);
    bool steps = value->kind == NODE_LIST && value->count && value->items[0]->kind == NODE_MAP;
    bool flat = scalar || (!steps && line.len <= SHOW_WIDTH && show_flat(value, key->file, 0) && (value->kind == NODE_LIST || indent));
    text_addf(t, "%*s%s:%s%s", indent, "", key->text, flat && line.len ? " " : "", flat ? text_get(&line) : "");
    show_place(t, key, line_at);
    if (!flat && value->kind == NODE_MAP)
        show_map(t, value, indent + 2);
    else if (!flat)
        show_list(t, value, indent + 2);
}

static void show_map(struct text *t, const struct node *m, int indent)
{
    for (int i = 0; i < m->count; i++)
        show_key(t, m->keys[i], m->items[i], indent);
}

/* What stands behind the head of a file. */
static const char *show_code(const char *path, const char *text, size_t bytes)
{
    struct head_place place;
    return head_find(path, text, bytes, &place, NULL) == HEAD_PRESENT ? text + place.end + 2 : "";
}

void variant_show(const struct variant *v, struct text *t)
{
    if (!v->parent_count) {
        text_add(t, v->text);
        return;
    }
    bool comment = !text_ends(v->path, ".yaml");
    text_add(t, comment ? "/* bench 1\n" : "");
    for (int rest = 0; rest < 2; rest++)
        for (int i = 0; i < v->head->count; i++) {
            const char *key = v->head->keys[i]->text;
            bool first = !strcmp(key, "op") || !strcmp(key, "what") || !strcmp(key, "from") || !strcmp(key, "claims");
            if (first != rest && strcmp(key, "like"))
                show_key(t, v->head->keys[i], v->head->items[i], 0);
        }
    if (comment)
        text_addf(t, "*/%s", show_code(v->path, v->text, strlen(v->text)));
    for (int i = 0; i < v->parent_count; i++)
        if (!strcmp(v->parents[i].path, v->code))
            text_addf(t, "\n/* the code of %s */%s", v->code, show_code(v->code, v->parents[i].text, v->parents[i].bytes));
}
