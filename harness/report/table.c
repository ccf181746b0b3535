/* report/table: see table.h. */
#include "report/table.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct cell {
    char *text;
    enum paint paint;
    bool rest;
};
struct column_shape {
    char *heading;
    enum align align;
    bool glued;
};
struct table {
    struct column_shape *columns;
    int column_count;
    struct cell *cells;  /* row by row; a row has `column_count` */
    int row_count, cell; /* cell: the next of the last row */
};

struct table *table_new(void)
{
    return xcalloc(1, sizeof(struct table));
}

void table_free(struct table *t)
{
    for (int i = 0; i < t->row_count * t->column_count; i++) {
        free(t->cells[i].text);
    }
    for (int i = 0; i < t->column_count; i++) {
        free(t->columns[i].heading);
    }
    free(t->cells);
    free(t->columns);
    free(t);
}

void table_column(struct table *t, const char *heading, enum align align, bool glued)
{
    t->columns = xrealloc(t->columns, (size_t)(t->column_count + 1) * sizeof *t->columns);
    t->columns[t->column_count++] = (struct column_shape){xstrdup(heading), align, glued};
}

void table_row(struct table *t)
{
    size_t used = (size_t)(t->row_count * t->column_count);
    t->cells = xrealloc(t->cells, (used + (size_t)t->column_count) * sizeof *t->cells);
    memset(&t->cells[used], 0, (size_t)t->column_count * sizeof *t->cells);
    t->row_count++;
    t->cell = 0;
}

static struct cell *next_cell(struct table *t)
{
    if (t->row_count == 0 || t->cell >= t->column_count) {
        return NULL;
    }
    return &t->cells[(t->row_count - 1) * t->column_count + t->cell++];
}

void table_cell(struct table *t, enum paint paint, const char *format, ...)
{
    struct cell *c = next_cell(t);
    struct text text = {0};
    va_list args;
    if (!c) {
        return;
    }
    va_start(args, format);
    text_vaddf(&text, format, args);
    va_end(args);
    *c = (struct cell){text_take(&text), paint, false};
}

void table_rest(struct table *t, enum paint paint, const char *text)
{
    struct cell *c = next_cell(t);
    if (c) {
        *c = (struct cell){xstrdup(text), paint, true};
    }
    t->cell = t->column_count;
}

/* ---- text for the terminal ---- */

int text_columns(const char *s)
{
    int n = 0;
    for (; *s; s++) {
        n += ((unsigned char)*s & 0xc0) != 0x80;
    }
    return n;
}

void text_add_plain(struct text *t, const char *s, const struct report_style *style)
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
            unsigned char c = (unsigned char)*s;
            bool control = c < 32 || c == 127 || (c == 0xc2 && (unsigned char)s[1] >= 0x80 && (unsigned char)s[1] < 0xa0);
            taken = control && c == 0xc2 ? 2 : 1;
            text_add_bytes(t, control ? "?" : s, 1);
        }
        s += taken;
    }
}

void text_paint(struct text *t, enum paint paint, const struct report_style *style)
{
    static const char *const codes[] = {"\033[0m", "\033[1m", "\033[2m", "\033[32m", "\033[31m", "\033[33m"};
    if (style->color) {
        text_add(t, codes[paint]);
    }
}

void text_add_wrapped(struct text *t, const char *s, int at, int indent, const struct report_style *style)
{
    struct text plain = {0};
    bool first = true;
    int width = style->width > indent + 20 ? style->width : 0;
    while (*s) { /* lines of the text itself (a compiler's log), then words */
        size_t line = strcspn(s, "\n");
        if (!first) {
            text_addf(t, "\n%*s", indent, "");
            at = indent;
        }
        first = false;
        char *copy = xstrndup(s, line);
        plain.len = 0;
        text_add(&plain, "");
        text_add_plain(&plain, copy, style);
        free(copy);
        bool fresh = true; /* at the beginning of a printed line */
        for (const char *w = text_get(&plain); *w;) {
            size_t spaces = strspn(w, " "), n = strcspn(w + spaces, " ");
            char *word = xstrndup(w, spaces + n);
            int wide = text_columns(word);
            if (!fresh && width && at + wide > width) {
                text_addf(t, "\n%*s", indent, "");
                at = indent;
                memmove(word, word + spaces, n + 1);
                wide -= (int)spaces;
            }
            text_add(t, word);
            at += wide;
            fresh = false;
            free(word);
            w += spaces + n;
        }
        s += line + (s[line] == '\n');
    }
    text_free(&plain);
}

void text_add_labelled(struct text *t, const char *label, const char *text, const struct report_style *style)
{
    int pad = TEXT_LABEL_COLUMNS - text_columns(label);
    text_paint(t, PAINT_DIM, style);
    text_add(t, label);
    text_paint(t, PAINT_NONE, style);
    text_addf(t, "%*s", pad > 0 ? pad : 2, "");
    int at = text_columns(label) + (pad > 0 ? pad : 2);
    text_add_wrapped(t, text, at, at < 14 ? at : TEXT_LABEL_COLUMNS, style);
    text_add(t, "\n");
}

void text_add_labelled_lines(struct text *t, const char *label, const char *lines, const struct report_style *style)
{
    char blank[24] = "";
    for (const char *p = lines; *p;) {
        size_t end = strcspn(p, "\n");
        char *line = xstrndup(p, end);
        text_add_labelled(t, blank[0] ? blank : label, line, style);
        snprintf(blank, sizeof blank, "%*s", (int)strlen(label), "");
        free(line);
        p += end + (p[end] == '\n');
    }
}

/* ---- printing ---- */

/* Columns before and from the point (or the end of the number) on. */
static void split_point(const char *s, int *before, int *behind)
{
    size_t n = strcspn(s, ".");
    char head[64];
    snprintf(head, sizeof head, "%.*s", (int)(n < 60 ? n : 60), s);
    *before = text_columns(head);
    *behind = text_columns(s) - *before;
}

struct shape {
    int width, before, behind;
    bool hidden; /* no row has a value: the column is not shown */
};

/* Columns that nobody has a value for are left out; the first two (mark and name) always stand. */
static bool column_empty(const struct table *t, int c)
{
    for (int r = 0; c > 1 && r < t->row_count; r++) {
        const struct cell *cell = &t->cells[r * t->column_count + c];
        if (cell->text && cell->text[0] && !cell->rest) {
            return false;
        }
    }
    return c > 1;
}

static struct shape *measure(const struct table *t, char **plain, const struct report_style *style)
{
    struct shape *shapes = xcalloc((size_t)t->column_count + 1, sizeof *shapes);
    for (int c = 0; c < t->column_count; c++) {
        struct shape *s = &shapes[c];
        s->width = text_columns(t->columns[c].heading);
        for (int r = 0; r < t->row_count; r++) {
            const struct cell *cell = &t->cells[r * t->column_count + c];
            struct text text = {0};
            text_add(&text, "");
            if (cell->text && !cell->rest) {
                text_add_plain(&text, cell->text, style);
            }
            plain[r * t->column_count + c] = text_take(&text);
            const char *p = plain[r * t->column_count + c];
            int before, behind;
            split_point(p, &before, &behind);
            s->before = before > s->before ? before : s->before;
            s->behind = behind > s->behind ? behind : s->behind;
            s->width = text_columns(p) > s->width ? text_columns(p) : s->width;
        }
        s->hidden = column_empty(t, c);
        if (t->columns[c].align == ALIGN_POINT && s->before + s->behind > s->width) {
            s->width = s->before + s->behind;
        }
    }
    return shapes;
}

/* Adds one cell padded to its column. `last`: nothing follows, so no blanks behind it. */
static void add_cell(struct text *out, const char *s, enum align align, const struct shape *shape, enum paint paint,
                     const struct report_style *style)
{
    int wide = text_columns(s), left = 0, before, behind;
    split_point(s, &before, &behind);
    if (align == ALIGN_RIGHT) {
        left = shape->width - wide;
    } else if (align == ALIGN_POINT) {
        left = shape->width - shape->behind - before;
    }
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
    while (out->len && out->data[out->len - 1] == ' ') {
        out->data[--out->len] = '\0';
    }
}

void table_print(const struct table *t, struct text *out, const struct report_style *style)
{
    char **plain = xcalloc((size_t)(t->row_count * t->column_count + 1), sizeof *plain);
    struct shape *shapes = measure(t, plain, style);
    for (int r = -1; r < t->row_count; r++) {
        int at = 0;
        for (int c = 0; c < t->column_count; c++) {
            const struct column_shape *column = &t->columns[c];
            const struct cell *cell = r < 0 ? NULL : &t->cells[r * t->column_count + c];
            int gap = c == 0 ? 0 : column->glued ? 1 : 2;
            if (cell && cell->rest) {
                text_addf(out, "%*s", gap, "");
                at += gap;
                text_paint(out, cell->paint, cell->paint ? style : &(struct report_style){0});
                text_add_wrapped(out, cell->text, at, at, style);
                text_paint(out, PAINT_NONE, cell->paint ? style : &(struct report_style){0});
                break;
            }
            if (shapes[c].hidden) {
                continue;
            }
            text_addf(out, "%*s", gap, "");
            at += gap;
            /* A heading above a column aligned at the point stands at its right end, as the numbers do. */
            enum align align = r < 0 && column->align == ALIGN_POINT ? ALIGN_RIGHT : column->align;
            add_cell(out, r < 0 ? column->heading : plain[r * t->column_count + c], align, &shapes[c], r < 0 ? PAINT_DIM : cell->paint,
                     style);
            at += shapes[c].width;
        }
        trim(out);
        text_add(out, "\n");
    }
    for (int i = 0; i < t->row_count * t->column_count; i++) {
        free(plain[i]);
    }
    free(plain);
    free(shapes);
}

/* A Markdown cell: no pipe, newline or HTML of a hostile name gets through. */
static void add_markdown(struct text *out, const char *s)
{
    for (; *s; s++) {
        switch (*s) {
        case '|': text_add(out, "\\|"); break;
        case '\n':
        case '\r': text_add(out, " "); break;
        case '<': text_add(out, "&lt;"); break;
        case '&': text_add(out, "&amp;"); break;
        case '`':
        case '*':
        case '[':
        case ']':
        case '\\': text_addf(out, "\\%c", *s); break;
        default: text_add_bytes(out, s, 1);
        }
    }
}

void table_markdown(const struct table *t, struct text *out)
{
    for (int r = -2; r < t->row_count; r++) {
        const char *rest = NULL; /* goes into the next column that is shown */
        bool open = false;
        for (int c = 0; c < t->column_count; c++) {
            const struct cell *cell = r < 0 ? NULL : &t->cells[r * t->column_count + c];
            const char *s = r == -2 ? t->columns[c].heading : cell && cell->text ? cell->text : "";
            if (cell && cell->rest) {
                rest = cell->text;
                s = "";
            }
            if (column_empty(t, c)) {
                continue;
            }
            if (rest) {
                s = rest;
                rest = NULL;
            }
            bool glued = t->columns[c].glued && open;
            if (!glued) {
                text_add(out, open ? (r == -1 ? "|" : " |") : "|");
            }
            open = true;
            if (r == -1) {
                text_add(out, glued ? "" : t->columns[c].align == ALIGN_LEFT ? "---" : "---:");
            } else if (*s) {
                text_add(out, " ");
                add_markdown(out, s);
            }
        }
        text_add(out, open && r == -1 ? "|" : " |");
        if (rest) { /* no column was left for it */
            text_add(out, " ");
            add_markdown(out, rest);
            text_add(out, " |");
        }
        text_add(out, "\n");
    }
}

static void html_row(const struct table *t, int r, struct text *out)
{
    bool open = false;
    text_add(out, "<tr>");
    for (int c = 0; c < t->column_count; c++) {
        const struct cell *cell = r < 0 ? NULL : &t->cells[r * t->column_count + c];
        if (column_empty(t, c)) {
            continue;
        }
        if (t->columns[c].glued && open) {
            text_add(out, " ");
        } else {
            text_addf(out, "%s<%s%s>", open ? (r < 0 ? "</th>" : "</td>") : "", r < 0 ? "th" : "td",
                      t->columns[c].align == ALIGN_LEFT ? "" : " class=\"n\"");
        }
        open = true;
        text_add_html(out, cell ? (cell->text ? cell->text : "") : t->columns[c].heading);
    }
    text_addf(out, "%s</tr>\n", open ? (r < 0 ? "</th>" : "</td>") : "");
}

void table_html(const struct table *t, struct text *out)
{
    text_add(out, "<div class=\"scroll\"><table><thead>\n");
    html_row(t, -1, out);
    text_add(out, "</thead><tbody>\n");
    for (int r = 0; r < t->row_count; r++) {
        html_row(t, r, out);
    }
    text_add(out, "</tbody></table></div>\n");
}
