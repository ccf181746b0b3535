/* report/form/document: see document.h. */
#include "report/form/document.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static char *copy_of(const char *s)
{
    return s ? xstrdup(s) : NULL;
}

/* ---- tables ---- */

struct table *table_new(void)
{
    return xcalloc(1, sizeof(struct table));
}

void table_free(struct table *t)
{
    for (int i = 0; t && i < t->line_count * t->column_count; i++)
        FREE_ALL(t->cells[i].text, t->cells[i].note, t->cells[i].about, t->cells[i].target);
    for (int i = 0; t && i < t->column_count; i++) {
        const struct table_column *c = &t->columns[i];
        FREE_ALL(c->key, c->heading, c->note, c->about, c->ncu);
    }
    if (t)
        FREE_ALL(t->cells, t->lines, t->columns);
    free(t);
}

void table_add_column(struct table *t, const struct table_column *column)
{
    struct table_column *c = APPEND(t->columns, t->column_count);
    *c = *column;
    c->key = xstrdup(c->key);
    c->heading = xstrdup(c->heading);
    c->note = copy_of(c->note);
    c->about = copy_of(c->about);
    c->ncu = c->ncu && c->ncu[0] ? xstrdup(c->ncu) : NULL;
}

void table_add_columns(struct table *t, const struct table_heading *headings, size_t count)
{
    for (size_t i = 0; i < count; i++)
        table_column(t, headings[i].key, headings[i].heading, headings[i].align);
}

void table_row(struct table *t, enum line_kind kind)
{
    size_t used = (size_t)(t->line_count * t->column_count), lines = (size_t)t->line_count + 1;
    t->cells = xrealloc(t->cells, (used + (size_t)t->column_count) * sizeof *t->cells);
    t->lines = xrealloc(t->lines, lines * sizeof *t->lines);
    for (int i = 0; i < t->column_count; i++)
        t->cells[used + (size_t)i] = (struct cell){.value = NAN};
    t->lines[t->line_count++] = kind;
    t->next = 0;
}

static struct cell *next_cell(struct table *t)
{
    if (t->line_count == 0 || t->next >= t->column_count)
        abort(); /* a line with more cells than the table has columns: a fault of ours */
    return &t->cells[(t->line_count - 1) * t->column_count + t->next++];
}

/* The cell that was made last. */
static struct cell *last_cell(struct table *t)
{
    return &t->cells[(t->line_count - 1) * t->column_count + t->next - 1];
}

void table_cell(struct table *t, enum paint paint, const char *format, ...)
{
    SCOPED_TEXT text = {0};
    TEXT_ADD_ARGUMENTS(&text, format);
    struct cell *c = next_cell(t);
    c->kind = text.len ? CELL_TEXT : CELL_ABSENT;
    c->paint = paint;
    c->text = text.len ? text_take(&text) : NULL;
}

void table_number(struct table *t, enum paint paint, double value, const char *text)
{
    struct cell *c = next_cell(t);
    if (!isnan(value))
        *c = (struct cell){.kind = CELL_NUMBER, .paint = paint, .text = xstrdup(text), .value = value};
}

void table_bar(struct table *t, double percent)
{
    struct cell *c = next_cell(t);
    if (percent >= 0)
        *c = (struct cell){.kind = CELL_BAR, .text = text_format("%.1f", percent), .value = percent};
}

void table_absent(struct table *t, int cells)
{
    while (cells-- > 0)
        next_cell(t);
}

void table_rest(struct table *t, enum paint paint, const char *text)
{
    *next_cell(t) = (struct cell){.kind = CELL_REST, .paint = paint, .text = xstrdup(text), .value = NAN};
    t->next = t->column_count;
}

void table_note(struct table *t, const char *format, ...)
{
    SCOPED_TEXT text = {0};
    TEXT_ADD_ARGUMENTS(&text, format);
    struct cell *c = last_cell(t);
    if (c->kind != CELL_ABSENT && text.len)
        c->note = text_take(&text);
}

void table_about(struct table *t, const char *about)
{
    struct cell *c = last_cell(t);
    if (c->kind != CELL_ABSENT && about && about[0])
        c->about = xstrdup(about);
}

void table_target(struct table *t, const char *anchor)
{
    struct cell *c = last_cell(t);
    if (c->kind != CELL_ABSENT && !c->target)
        c->target = xstrdup(anchor);
}

const struct cell *table_at(const struct table *t, int line, int column)
{
    return &t->cells[line * t->column_count + column];
}

bool table_shows(const struct table *t, int column, bool full)
{
    enum detail detail = t->columns[column].detail;
    bool any = column < 2;
    for (int i = 0; i < t->line_count && !any; i++) {
        const struct cell *c = table_at(t, i, column);
        any = c->kind != CELL_ABSENT && c->kind != CELL_REST;
    }
    return any && detail != (full ? DETAIL_BRIEF : DETAIL_FULL);
}

void table_ncu(const struct table *t, bool full, struct text *out)
{
    const char *between = "";
    for (int i = 0; i < t->column_count; i++) {
        if (t->columns[i].ncu && table_shows(t, i, full)) {
            text_addf(out, "%s%s: %s", between, t->columns[i].heading, t->columns[i].ncu);
            between = "; ";
        }
    }
}

/* ---- blocks ---- */

void document_free(struct document *d)
{
    for (int i = 0; i < d->count; i++) {
        struct block *b = &d->blocks[i];
        for (int k = 0; k < b->item_count; k++)
            FREE_ALL(b->items[k].label, b->items[k].name, b->items[k].text, b->items[k].more);
        FREE_ALL(b->items, b->text, b->note, b->anchor, b->svg, b->caption);
        table_free(b->table);
    }
    free(d->blocks);
    *d = (struct document){0};
}

static struct block *document_add(struct document *d, enum block_kind kind, enum detail detail)
{
    struct block *b = APPEND(d->blocks, d->count);
    *b = (struct block){.kind = kind, .detail = detail};
    return b;
}

struct block *document_heading(struct document *d, int level, const char *text, const char *note)
{
    struct block *b = document_add(d, BLOCK_HEADING, DETAIL_ALWAYS);
    b->level = level;
    b->text = xstrdup(text ? text : "?");
    b->note = note && note[0] ? xstrdup(note) : NULL;
    return b;
}

struct block *document_prose(struct document *d, enum tone tone, enum detail detail)
{
    struct block *b = document_add(d, BLOCK_PROSE, detail);
    b->tone = tone;
    return b;
}

struct block *document_list(struct document *d, enum detail detail)
{
    return document_add(d, BLOCK_LIST, detail);
}

struct block *document_table(struct document *d, struct table *table, enum detail detail)
{
    struct block *b = document_add(d, BLOCK_TABLE, detail);
    b->table = table;
    return b;
}

struct block *document_figure(struct document *d, const char *svg, const char *caption, bool small)
{
    struct block *b = document_add(d, BLOCK_FIGURE, DETAIL_FULL);
    b->svg = copy_of(svg);
    b->caption = copy_of(caption);
    b->small = small;
    return b;
}

struct block *document_code(struct document *d, const char *text, enum detail detail)
{
    struct block *b = document_add(d, BLOCK_CODE, detail);
    b->text = xstrdup(text);
    return b;
}

void document_fold(struct document *d, const char *title)
{
    document_add(d, BLOCK_FOLD, DETAIL_FULL)->text = xstrdup(title);
}

void document_fold_at(struct document *d, const char *anchor, const char *title, const char *note)
{
    document_fold(d, title);
    d->blocks[d->count - 1].anchor = xstrdup(anchor);
    d->blocks[d->count - 1].note = note && note[0] ? xstrdup(note) : NULL;
}

void document_end(struct document *d)
{
    document_add(d, BLOCK_END, DETAIL_FULL);
}

void block_item(struct block *b, const char *label, const char *name, const char *text)
{
    if ((text && text[0]) || (name && name[0]))
        *APPEND(b->items, b->item_count) = (struct item){.label = copy_of(label), .name = copy_of(name), .text = copy_of(text)};
}

void block_text(struct block *b, const char *label, const char *name, struct text *text)
{
    block_item(b, label, name, text_get(text));
    text_free(text);
}

void block_itemf(struct block *b, const char *label, const char *name, const char *format, ...)
{
    struct text text = {0};
    TEXT_ADD_ARGUMENTS(&text, format);
    block_text(b, label, name, &text);
}

void block_names(struct block *b, const char *names, int count)
{
    struct item *last = &b->items[b->item_count - 1];
    last->more = xstrdup(names);
    last->count = count;
}

void document_lines(struct document *d, const char *heading, const char *label, struct text *lines)
{
    if (lines->len)
        document_heading(d, 2, heading, NULL)->detail = DETAIL_FULL;
    struct block *list = document_list(d, DETAIL_ALWAYS);
    for (const char *p = text_get(lines); *p;) {
        size_t n = strcspn(p, "\n");
        SCOPED char *line = xstrndup(p, n);
        block_item(list, label, NULL, line);
        p += n + (p[n] == '\n');
    }
    text_free(lines);
}

const struct block *document_next(const struct document *d, int *at, bool full)
{
    for (int folds = 0; *at < d->count;) {
        const struct block *b = &d->blocks[(*at)++];
        bool empty = ((b->kind == BLOCK_PROSE || b->kind == BLOCK_LIST) && !b->item_count) ||
                     (b->kind == BLOCK_TABLE && !b->table->line_count) || (b->kind == BLOCK_FIGURE && !b->svg);
        if (!full && (b->kind == BLOCK_FOLD || b->kind == BLOCK_END)) /* with all that is in it */
            folds += b->kind == BLOCK_FOLD ? 1 : -1;
        else if (!folds && !empty && b->detail != (full ? DETAIL_BRIEF : DETAIL_FULL))
            return b;
    }
    return NULL;
}

const char *item_between(const struct item *item)
{
    return !item->text ? "" : item->name && text_ends(item->name, "?") ? " " : ": ";
}
