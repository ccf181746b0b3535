/* report/form/terminal: a document on a terminal: tables in columns, sentences after their labels, wrapped to its width. */
#include "report/form/terminal.h"
#include "report/limits.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Characters a UTF-8 text shows. */
static int count_columns(const char *s)
{
    int n = 0;
    for (; *s; s++)
        n += ((unsigned char)*s & 0xc0) != 0x80;
    return n;
}

/* Appends s for the terminal: control characters become `?`, and with ascii ± · – and the like their plain forms. */
static void text_add_plain(struct text *t, const char *s, const struct report_style *style)
{
    static const struct {
        const char *from, *to;
    } plain[] = {{"±", "+-"}, {"·", "|"}, {"×", "x"}, {"–", "-"}, {"→", "->"}, {"µ", "u"}, {"≤", "<="}, {"…", "..."}};
    while (*s) {
        size_t taken = 0;
        for (size_t i = 0; style->ascii && i < sizeof plain / sizeof plain[0]; i++) {
            size_t n = strlen(plain[i].from);
            if (strncmp(s, plain[i].from, n) == 0) {
                text_add(t, plain[i].to);
                taken = n;
                break;
            }
        }
        if (taken == 0) {
            size_t control = text_control(s);
            taken = control > 1 ? control : 1;
            text_add_bytes(t, control || (unsigned char)*s < 32 ? "?" : s, 1);
        }
        s += taken;
    }
}

void text_paint(struct text *t, enum paint paint, const struct report_style *style)
{
    static const char *const codes[] = {"\033[0m", "\033[1m", "\033[2m", "\033[32m", "\033[31m", "\033[33m"};
    if (style->color)
        text_add(t, codes[paint]);
}

void text_add_wrapped(struct text *t, const char *s, int at, int indent, const struct report_style *style)
{
    SCOPED_TEXT plain = {0};
    bool first = true;
    int width = style->width > indent + 20 ? style->width : 0;
    while (*s) { /* lines of the text itself (a compiler's log), then words */
        size_t line = strcspn(s, "\n");
        if (!first) {
            text_addf(t, "\n%*s", indent, "");
            at = indent;
        }
        first = false;
        SCOPED char *copy = xstrndup(s, line);
        plain.len = 0;
        text_add(&plain, "");
        text_add_plain(&plain, copy, style);
        bool fresh = true; /* at the beginning of a printed line */
        for (const char *w = text_get(&plain); *w;) {
            size_t spaces = strspn(w, " "), n = strcspn(w + spaces, " ");
            SCOPED char *word = xstrndup(w, spaces + n);
            int wide = count_columns(word);
            if (!fresh && width && at + wide > width) {
                text_addf(t, "\n%*s", indent, "");
                at = indent;
                memmove(word, word + spaces, n + 1);
                wide -= (int)spaces;
            }
            text_add(t, word);
            at += wide;
            fresh = false;
            w += spaces + n;
        }
        s += line + (s[line] == '\n');
    }
}

/* "label text" and a newline: the text begins at that column. */
static void add_labelled(struct text *t, const char *label, const char *text, int begin, const struct report_style *style)
{
    int pad = begin - count_columns(label), at = count_columns(label) + (pad > 0 ? pad : 2);
    text_paint(t, PAINT_DIM, style);
    text_add(t, label);
    text_paint(t, PAINT_NONE, style);
    text_addf(t, "%*s", pad > 0 ? pad : 2, "");
    text_add_wrapped(t, text, at, at < 14 ? at : begin, style);
    text_add(t, "\n");
}

/* ---- tables ---- */

/* The widths before and after the decimal point. */
static void split_point(const char *s, int *before, int *behind)
{
    size_t n = strcspn(s, ".");
    char head[64];
    snprintf(head, sizeof head, "%.*s", (int)(n < 60 ? n : 60), s);
    *before = count_columns(head);
    *behind = count_columns(s) - *before;
}

/* A table as it is printed: each column is two slots, one for cells and one for their notes. */
struct grid {
    const struct table *table;
    int columns, lines;
    char **plain; /* of every slot; "" if it is empty */
    struct shape {
        int width, before, behind;
        bool shown;
    } * shapes;
    int last; /* the last slot that is shown */
};

static const char *grid_source(const struct table *t, int line, int place)
{
    const struct cell *c = table_at(t, line, place / 2);
    const char *s = c->kind == CELL_ABSENT || c->kind == CELL_REST ? NULL : place % 2 ? c->note : c->text;
    return s ? s : "";
}

static const char *grid_heading(const struct table *t, int place)
{
    const struct table_column *c = &t->columns[place / 2];
    return !(place % 2) ? c->heading : c->note ? c->note : "";
}

static enum align grid_align(const struct table *t, int place)
{
    return place % 2 ? ALIGN_LEFT : t->columns[place / 2].align;
}

static void grid_measure(struct grid *g, int place, const struct report_style *style)
{
    struct shape *s = &g->shapes[place];
    bool any = !(place % 2);
    s->width = count_columns(grid_heading(g->table, place));
    for (int r = 0; r < g->lines; r++) {
        struct text text = {0};
        int before, behind;
        text_add(&text, "");
        text_add_plain(&text, grid_source(g->table, r, place), style);
        any = any || text.len;
        char *p = g->plain[r * g->columns + place] = text_take(&text);
        split_point(p, &before, &behind);
        s->before = before > s->before ? before : s->before;
        s->behind = behind > s->behind ? behind : s->behind;
        s->width = count_columns(p) > s->width ? count_columns(p) : s->width;
    }
    s->shown = any && table_shows(g->table, place / 2, false);
    if (grid_align(g->table, place) == ALIGN_POINT && s->before + s->behind > s->width)
        s->width = s->before + s->behind;
}

/* Adds one cell, padded to its column. `last`: nothing follows, so no trailing blanks. */
static void add_cell(struct text *out, const char *s, enum align align, const struct shape *shape, enum paint paint,
                     const struct report_style *style)
{
    int wide = count_columns(s), left = 0, before, behind;
    split_point(s, &before, &behind);
    if (align == ALIGN_RIGHT)
        left = shape->width - wide;
    else if (align == ALIGN_POINT)
        left = shape->width - shape->behind - before;
    text_addf(out, "%*s", left > 0 ? left : 0, "");
    if (paint != PAINT_NONE && *s) {
        text_paint(out, paint, style);
        text_add(out, s);
        text_paint(out, PAINT_NONE, style);
    } else {
        text_add(out, s);
    }
    int right = shape->width - wide - (left > 0 ? left : 0);
    text_addf(out, "%*s", right > 0 ? right : 0, "");
}

static void trim(struct text *out)
{
    while (out->len && out->data[out->len - 1] == ' ')
        out->data[--out->len] = '\0';
}

/* The sentence that replaces the rest of a line, wrapped below itself. */
static void add_rest(struct text *out, const struct cell *c, int at, const struct report_style *style)
{
    const struct report_style plain = {0};
    text_paint(out, c->paint, c->paint ? style : &plain);
    text_add_wrapped(out, c->text, at, at, style);
    text_paint(out, PAINT_NONE, c->paint ? style : &plain);
}

/* Blanks before a slot: a note follows its cell after one. */
static int grid_gap(int place)
{
    return place == 0 ? 0 : place % 2 ? 1 : 2;
}

static int grid_width(struct grid *g)
{
    int width = 0;
    for (int p = 0; p < g->columns; p++)
        if (g->shapes[p].shown) {
            width += grid_gap(p) + g->shapes[p].width;
            g->last = p;
        }
    return width;
}

/* The slot to leave out first: the least important column, else the widest note of the others, else a column of spare -1; -1: none. */
static int grid_worst(const struct grid *g)
{
    int worst = -1, note = -1, last = -1;
    for (int c = 0; c < g->table->column_count; c++) {
        if (g->shapes[2 * c].shown && g->table->columns[c].spare > (worst < 0 ? 0 : g->table->columns[worst / 2].spare))
            worst = 2 * c;
        if (g->shapes[2 * c].shown && g->table->columns[c].spare < 0)
            last = 2 * c;
        if (g->shapes[2 * c + 1].shown && g->table->columns[c].spare >= 0 &&
            (note < 0 || g->shapes[2 * c + 1].width > g->shapes[note].width))
            note = 2 * c + 1;
    }
    return worst >= 0 ? worst : note >= 0 ? note : last;
}

/* Leaves out columns until the rest fits, and lists them. */
static void grid_fit(struct grid *g, int most, struct text *left)
{
    SCOPED char *spared = xcalloc((size_t)g->columns + 1, 1);
    for (int worst = 0; most > 0 && worst >= 0 && grid_width(g) > most;) {
        worst = grid_worst(g);
        for (int p = worst; p >= 0 && p <= worst + 1 - worst % 2; p++) { /* with a column its notes */
            spared[worst] = 1;
            g->shapes[p].shown = false;
        }
    }
    for (int p = 0; p < g->columns; p++)
        if (spared[p])
            text_addf(left, "%s%s%s", left->len ? ", " : "", p % 2 ? "what stands beside " : "", g->table->columns[p / 2].heading);
}

/* Is it text at the end of its line, too long for a table of that width? Then it is wrapped below itself. */
static bool grid_wraps(const struct grid *g, int place, int at, const char *s, const struct report_style *style)
{
    return place == g->last && style->width > at + 20 && grid_align(g->table, place) == ALIGN_LEFT && at + count_columns(s) > style->width;
}

static void print_line(const struct grid *g, int line, struct text *out, const struct report_style *style)
{
    int at = 0;
    for (int p = 0; p < g->columns; p++) {
        const struct cell *cell = line < 0 ? NULL : table_at(g->table, line, p / 2);
        int gap = grid_gap(p);
        if (cell && cell->kind == CELL_REST && !(p % 2)) {
            text_addf(out, "%*s", gap, "");
            add_rest(out, cell, at + gap, style);
            break;
        }
        if (!g->shapes[p].shown)
            continue;
        text_addf(out, "%*s", gap, "");
        /* The heading of a column aligned at the point is right-aligned, like the numbers. */
        enum align align = grid_align(g->table, p);
        bool dim = line < 0 || (p % 2) || (g->table->lines[line] == LINE_STEP && p == 2);
        bool indented = line >= 0 && g->table->lines[line] == LINE_STEP && p == 2;
        const char *s = line < 0 ? grid_heading(g->table, p) : g->plain[line * g->columns + p];
        SCOPED char *inner = indented ? text_format("  %s", s) : NULL;
        if (grid_wraps(g, p, at + gap, s, style)) {
            text_add_wrapped(out, s, at + gap, at + gap, style);
            continue;
        }
        add_cell(out, inner ? inner : s, line < 0 && align == ALIGN_POINT ? ALIGN_RIGHT : align, &g->shapes[p],
                 dim ? PAINT_DIM : cell->paint, style);
        at += gap + g->shapes[p].width;
    }
    trim(out);
    text_add(out, "\n");
}

void terminal_table(struct text *out, const struct table *t, const struct report_style *style)
{
    struct grid g = {.table = t, .columns = 2 * t->column_count, .lines = t->line_count};
    g.plain = xcalloc((size_t)(g.columns * g.lines) + 1, sizeof *g.plain);
    g.shapes = xcalloc((size_t)g.columns + 1, sizeof *g.shapes);
    for (int p = 0; p < g.columns; p++)
        grid_measure(&g, p, style);
    for (int r = 0; r < g.lines; r++) { /* a step's name is indented by two */
        int wide = t->column_count > 1 && t->lines[r] == LINE_STEP ? 2 + count_columns(g.plain[r * g.columns + 2]) : 0;
        g.shapes[2].width = wide > g.shapes[2].width ? wide : g.shapes[2].width;
    }
    SCOPED_TEXT left = {0};
    grid_fit(&g, style->table, &left);
    bool headed = ANY_OF(p, g.columns, g.shapes[p].shown && *grid_heading(t, p));
    for (int r = headed ? -1 : 0; r < g.lines; r++)
        print_line(&g, r, out, style);
    if (left.len) {
        SCOPED char *names = text_format("%s (--wide)", text_get(&left));
        add_labelled(out, "left out", names, 10, style);
    }
    pointers_free(g.plain, g.columns * g.lines);
    free(g.shapes);
}

/* ---- blocks ---- */

/* The list of names, up to the last whole one that is shown. */
static void add_names(struct text *line, const struct item *item)
{
    size_t n = strlen(item->more);
    text_add(line, ": ");
    if (n <= SHOWN_NAMES) {
        text_add(line, item->more);
        return;
    }
    for (n = SHOWN_NAMES; n > 0 && item->more[n] != ',';)
        n--;
    text_add_bytes(line, item->more, n);
    text_addf(line, ", ... (%d configurations)", item->count);
}

/* A label is printed once, before the first of its items. */
static void write_items(struct text *t, const struct block *b, const struct report_style *style)
{
    for (int i = 0; i < b->item_count; i++) {
        const struct item *item = &b->items[i], *before = i ? item - 1 : NULL;
        SCOPED_TEXT line = {0};
        bool again = before && before->label && item->label && strcmp(before->label, item->label) == 0;
        if (item->name)
            text_addf(&line, "%s%s", item->name, item_between(item));
        text_add(&line, item->text ? item->text : "");
        if (item->more)
            add_names(&line, item);
        if (item->label) {
            SCOPED char *label = again ? text_format("%*s", count_columns(item->label), "") : xstrdup(item->label);
            add_labelled(t, label, text_get(&line), b->columns ? b->columns : TEXT_LABEL_COLUMNS, style);
        } else {
            text_add_wrapped(t, text_get(&line), 0, TEXT_LABEL_COLUMNS, style);
            text_add(t, "\n");
        }
    }
}

static void write_heading(struct text *t, const struct block *b, const struct report_style *style)
{
    text_paint(t, b->level < 3 ? PAINT_BOLD : PAINT_NONE, b->level < 3 ? style : &(struct report_style){0});
    text_add_plain(t, b->text, style);
    text_paint(t, PAINT_NONE, b->level < 3 ? style : &(struct report_style){0});
    text_add(t, b->note ? "  " : "");
    text_add_plain(t, b->note ? b->note : "", style);
    text_add(t, "\n");
}

/* On request, the ncu names of the columns, below the table. */
static void write_ncu(struct text *t, const struct table *table, const struct report_style *style)
{
    SCOPED_TEXT names = {0};
    if (style->ncu)
        table_ncu(table, false, &names);
    if (names.len)
        add_labelled(t, "ncu", text_get(&names), TEXT_LABEL_COLUMNS, style);
}

/* A table in columns. */
static bool is_tabular(const struct block *b)
{
    return b->kind == BLOCK_TABLE || b->columns;
}

/* An empty line before a table, unless its heading precedes it, and after it. */
static void terminal_write(struct text *t, const struct document *d, const struct report_style *style)
{
    const struct block *before = NULL;
    int at = 0;
    for (const struct block *b; (b = document_next(d, &at, false)); before = b) {
        if (before && (is_tabular(before) || (is_tabular(b) && before->kind != BLOCK_HEADING)))
            text_add(t, "\n");
        switch (b->kind) {
        case BLOCK_HEADING: write_heading(t, b, style); break;
        case BLOCK_PROSE:
        case BLOCK_LIST: write_items(t, b, style); break;
        case BLOCK_TABLE:
            terminal_table(t, b->table, style);
            write_ncu(t, b->table, style);
            break;
        case BLOCK_CODE: text_add(t, b->text); break;
        case BLOCK_FIGURE:
        case BLOCK_FOLD:
        case BLOCK_END: break; /* for forms that show everything */
        }
    }
}

const struct form form_terminal = {.name = "text", .write = terminal_write};
