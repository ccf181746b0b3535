/* report/form/markdown: a document as Markdown, for a pull request or a notebook. */
#include "report/form/document.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Escapes everything that could be read as Markdown or HTML, so that hostile names do no harm; in a table cell, the pipe and line ends
 * too. */
static void add_escaped(struct text *t, const char *s, bool cell)
{
    for (; s && *s; s++) {
        const char *special = cell ? "\\`*[]|" : "\\`*[]|#";
        if (*s == '<' || *s == '&')
            text_add(t, *s == '<' ? "&lt;" : "&amp;");
        else if (strchr(special, *s))
            text_addf(t, "\\%c", *s);
        else
            text_add_bytes(t, (unsigned char)*s < 32 ? " " : s, 1);
    }
}

static void add_cell(struct text *t, const struct cell *c)
{
    if (c->kind == CELL_ABSENT)
        return;
    text_add(t, " ");
    add_escaped(t, c->text, true);
    if (c->note) {
        text_add(t, " ");
        add_escaped(t, c->note, true);
    }
}

/* The ncu names of a column are a footnote at its heading, written once at the end. */
struct footnotes {
    const struct table_column **of;
    int count;
};

static void add_footnote(struct text *t, struct footnotes *notes, const struct table_column *column)
{
    int at = 0;
    text_addf(t, "[^%s]", column->key);
    while (at < notes->count && (strcmp(notes->of[at]->key, column->key) || strcmp(notes->of[at]->ncu, column->ncu)))
        at++;
    if (at == notes->count)
        *APPEND(notes->of, notes->count) = column;
}

static void write_table(struct text *t, const struct table *table, struct footnotes *footnotes)
{
    for (int r = -2; r < table->line_count; r++) {
        const struct cell *rest = NULL; /* goes to the next shown column */
        text_add(t, "|");
        for (int c = 0; c < table->column_count; c++) {
            const struct table_column *column = &table->columns[c];
            const struct cell *cell = r < 0 ? NULL : table_at(table, r, c);
            rest = cell && cell->kind == CELL_REST ? cell : rest;
            if (!table_shows(table, c, false))
                continue;
            if (r == -1) {
                text_add(t, column->align == ALIGN_LEFT ? "---|" : "---:|");
                continue;
            }
            if (r == -2) {
                struct cell heading = {
                    .kind = CELL_TEXT, .text = (char *)(uintptr_t)column->heading, .note = (char *)(uintptr_t)column->note};
                heading.kind = heading.text[0] ? CELL_TEXT : CELL_ABSENT;
                add_cell(t, &heading);
                if (column->ncu)
                    add_footnote(t, footnotes, column);
            } else if (rest) {
                add_cell(t, rest);
                rest = NULL;
            } else {
                text_add(t, c == 1 && table->lines[r] == LINE_STEP ? "  " : "");
                add_cell(t, cell);
            }
            text_add(t, " |");
        }
        if (rest) { /* no column was left for it */
            add_cell(t, rest);
            text_add(t, " |");
        }
        text_add(t, "\n");
    }
}

static void add_strong(struct text *t, const char *s)
{
    text_add(t, "**");
    add_escaped(t, s, false);
    text_add(t, "**");
}

/* One sentence a line; list items with a dash and their name or label. */
static void write_items(struct text *t, const struct block *b)
{
    bool list = b->kind == BLOCK_LIST;
    for (int i = 0; i < b->item_count; i++) {
        const struct item *item = &b->items[i];
        bool again = i && item->label && item[-1].label && strcmp(item->label, item[-1].label) == 0; /* a label is printed once */
        const char *strong = item->name ? item->name : list && !again ? item->label : NULL;
        text_add(t, list ? "- " : "");
        if (strong) {
            add_strong(t, strong);
            text_add(t, item_between(item));
        }
        add_escaped(t, item->text, false);
        if (item->more) {
            text_add(t, ": ");
            add_escaped(t, item->more, false);
        }
        text_add(t, list || i + 1 == b->item_count ? "\n" : "  \n");
    }
}

/* Between fences that the text itself does not have. */
static void write_code(struct text *t, const char *code)
{
    int longest = 2;
    for (const char *at = code; (at = strchr(at, '`')); at += strspn(at, "`"))
        longest = (int)strspn(at, "`") > longest ? (int)strspn(at, "`") : longest;
    for (int side = 0; side < 2; side++) {
        for (int i = 0; i <= longest; i++)
            text_add(t, "`");
        text_addf(t, "\n%s", side ? "" : code);
    }
}

static void markdown_write(struct text *t, const struct document *d, const struct report_style *style)
{
    int at = 0;
    bool first = true;
    size_t from = t->len;
    struct footnotes footnotes = {0};
    for (const struct block *b; (b = document_next(d, &at, false)); first = false) {
        text_add(t, first ? "" : "\n");
        switch (b->kind) {
        case BLOCK_HEADING:
            text_addf(t, "%.*s ", b->level, "######");
            add_escaped(t, b->text, false);
            text_add(t, "\n");
            if (b->note) {
                text_add(t, "\n");
                add_escaped(t, b->note, false);
                text_add(t, "\n");
            }
            break;
        case BLOCK_PROSE:
        case BLOCK_LIST: write_items(t, b); break;
        case BLOCK_TABLE: write_table(t, b->table, &footnotes); break;
        case BLOCK_CODE: write_code(t, b->text); break;
        case BLOCK_FIGURE:
        case BLOCK_FOLD:
        case BLOCK_END: break; /* for forms that show everything */
        }
    }
    for (int i = 0; i < footnotes.count; i++)
        text_addf(t, "%s[^%s]: ncu: `%s`\n", i ? "" : "\n", footnotes.of[i]->key, footnotes.of[i]->ncu);
    free(footnotes.of);
    text_neutralise(t, from);
}

const struct form form_markdown = {.name = "md", .write = markdown_write};
