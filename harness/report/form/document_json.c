/* report/form/document_json: a document as JSON (docs/schema/document.json), for verbs without a schema of their own. */
#include "report/form/document.h"
#include "store/json.h"
#include <math.h>

static void set_text(json_t *object, const char *key, const char *s)
{
    if (s && *s)
        json_object_set_new(object, key, json_text(s));
}

static json_t *json_cell(const struct cell *c)
{
    json_t *cell = json_object();
    set_text(cell, "text", c->text);
    if (isfinite(c->value) && (c->kind == CELL_NUMBER || c->kind == CELL_BAR))
        json_object_set_new(cell, "value", json_real(c->value));
    set_text(cell, "note", c->note);
    set_text(cell, "about", c->about);
    return cell;
}

static json_t *json_table(const struct table *t)
{
    static const char *const kinds[] = {"plain", "baseline", "step", "failed", "skipped", "code"};
    json_t *heads = json_array(), *rows = json_array();
    for (int i = 0; i < t->column_count; i++) {
        const struct table_column *c = &t->columns[i];
        json_t *column = json_object();
        set_text(column, "key", c->key);
        set_text(column, "heading", c->heading);
        set_text(column, "about", c->about);
        set_text(column, "ncu", c->ncu);
        json_array_append_new(heads, column);
    }
    for (int r = 0; r < t->line_count; r++) {
        json_t *cells = json_object();
        for (int i = 0; i < t->column_count; i++)
            if (table_at(t, r, i)->kind != CELL_ABSENT)
                json_object_set_new(cells, t->columns[i].key, json_cell(table_at(t, r, i)));
        json_array_append_new(rows, json_pack("{s:s,s:o}", "kind", kinds[t->lines[r]], "cells", cells));
    }
    return json_pack("{s:o,s:o}", "columns", heads, "rows", rows);
}

static json_t *json_block(const struct block *b)
{
    static const char *const kinds[] = {"heading", "prose", "list", "table", "figure", "code", "fold", "end"};
    json_t *block = b->kind == BLOCK_TABLE ? json_table(b->table) : json_object();
    json_object_set_new(block, "kind", json_string(kinds[b->kind]));
    if (b->kind == BLOCK_HEADING)
        json_object_set_new(block, "level", json_integer(b->level));
    set_text(block, "text", b->text);
    set_text(block, "note", b->note);
    set_text(block, "caption", b->caption);
    if (b->kind == BLOCK_PROSE || b->kind == BLOCK_LIST) {
        json_t *items = json_array();
        for (int i = 0; i < b->item_count; i++) {
            json_t *item = json_object();
            set_text(item, "label", b->items[i].label);
            set_text(item, "name", b->items[i].name);
            set_text(item, "text", b->items[i].text);
            set_text(item, "more", b->items[i].more);
            json_array_append_new(items, item);
        }
        json_object_set_new(block, "items", items);
    }
    return block;
}

json_t *document_json(const struct document *d)
{
    json_t *blocks = json_array();
    int at = 0;
    for (const struct block *b; (b = document_next(d, &at, false));)
        json_array_append_new(blocks, json_block(b));
    return json_pack("{s:s,s:s,s:o}", "schema", "bench.document", "version", "1.1.0", "blocks", blocks);
}

static void form_write(struct text *t, const struct document *d, const struct report_style *style)
{
    json_write(t, document_json(d));
}

const struct form form_json = {.name = "json", .write = form_write};
