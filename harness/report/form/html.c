/* report/form/html: a document as one self-contained page: style, tables, plots and a script that sorts, filters, copies and puts two
 * rows side by side (plot/page.js). Without the script everything can be read; of a large page, the verdicts and tables. */
#include "base/file.h"
#include "base/order.h"
#include "report/form/document.h"
#include "report/limits.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define PLAIN_MOST 1500000        /* bytes; folded parts of a larger page are compressed, so that it can be mailed */
#define SHARE_MAX_BYTES (1 << 20) /* of the style sheet, of the script */

/* NULL is nothing. */
static void html_text(struct text *t, const char *s)
{
    text_add_html(t, s ? s : "");
}

/* Allows a line break after punctuation in a long name. */
static void add_name(struct text *t, const char *s)
{
    while (s && *s) {
        size_t n = strcspn(s, "/[,:_"), with = n + (s[n] != '\0');
        SCOPED char *piece = xstrndup(s, with);
        html_text(t, piece);
        s += with;
        text_add(t, *s ? "<wbr>" : "");
    }
}

/* <TAG class="CLASS">TEXT</TAG>; nothing if the text is empty. */
static void add_element(struct text *t, const char *tag, const char *class, const char *s)
{
    if (s && s[0]) {
        text_addf(t, "<%s", tag);
        text_addf(t, class ? " class=\"%s\">" : ">", class);
        html_text(t, s);
        text_addf(t, "</%s>", tag);
    }
}

/* A sentence: words in backticks are code. */
static void html_words(struct text *t, const char *s)
{
    while (s && *s) {
        size_t plain = strcspn(s, "`"), code = s[plain] ? strspn(s + plain + 1, "abcdefghijklmnopqrstuvwxyz_- ") : 0;
        bool marked = code && s[plain + 1] != ' ' && s[plain + code] != ' ' && s[plain + 1 + code] == '`';
        SCOPED char *before = xstrndup(s, plain + (s[plain] && !marked)), *word = xstrndup(s + plain + marked, code);
        html_text(t, before);
        add_element(t, "code", NULL, marked ? word : NULL);
        s += marked ? plain + code + 2 : strlen(before);
    }
}

static void add_attribute(struct text *t, const char *name, const char *s)
{
    if (s && s[0]) {
        text_addf(t, " %s=\"", name);
        html_text(t, s);
        text_add(t, "\"");
    }
}

/* What a link and its heading are called: letters, digits and minus of the name, and its hash, for two names may have the same letters. */
static void add_anchor(struct text *t, const char *s)
{
    unsigned hash = 2166136261u;
    for (const char *c = s; *c; c++)
        hash = (hash ^ (unsigned char)*c) * 16777619u;
    for (const char *c = s; *c; c++)
        text_addf(t, "%c", isalnum((unsigned char)*c) && (unsigned char)*c < 128 ? *c : '-');
    text_addf(t, "-%08x", hash);
}

/* ---- tables ---- */

/* A brief page explains a name once, and columns only under "Columns and counters". */
struct page_state {
    bool brief;
    const char **said;
    int said_count;
};

/* Was it? Now it is. */
static bool said_on_page(struct page_state *page, const char *about)
{
    bool said = false;
    for (int i = 0; i < page->said_count && !said; i++)
        said = about && !strcmp(page->said[i], about);
    if (page->brief && about && !said)
        *APPEND(page->said, page->said_count) = about;
    return said;
}

static const char *const paints[] = {"", "strong", "soft", "good", "bad", "warn"};
static const char *const lines[] = {"", "zero", "step", "failed", "skipped", "code"};

/* A number is the usual cell and has no class; the script draws the bar of a share. */
static void open_cell(struct text *t, const struct table_column *column, const struct cell *c, bool wide)
{
    const char *const classes[] = {column->align == ALIGN_LEFT ? "l" : "", column->align == ALIGN_LEFT ? column->key : "",
                                   c->kind == CELL_BAR && !wide ? "share" : "", paints[c->paint]};
    const char *gap = " class=\"";
    text_add(t, "<td");
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++)
        if (classes[i][0]) {
            text_addf(t, "%s%s", gap, classes[i]);
            gap = " ";
        }
    text_add(t, gap[1] ? "" : "\"");
}

/* What the cell means is a second line where it is a name or a source line, and shown when pointed at where it is a number. */
static void write_cell(struct text *t, const struct table_column *column, const struct cell *c, bool wide, bool again)
{
    bool source = strcmp(column->key, "source") == 0, name = source || strcmp(column->key, "name") == 0;
    if (c->kind == CELL_ABSENT) {
        text_add(t, "<td></td>");
        return;
    }
    open_cell(t, column, c, wide);
    add_attribute(t, "title", name || strcmp(column->key, "bottleneck") == 0 ? NULL : c->about); /* a bottleneck's is on the row's page */
    text_add(t, c->paint == PAINT_BOLD ? "><b>" : ">");
    if (c->target) {
        text_add(t, "<a href=\"#");
        add_anchor(t, c->target);
        text_add(t, "\">");
        add_name(t, c->text);
        text_add(t, "</a>");
    } else if (name && !source) {
        add_name(t, c->text);
    } else {
        html_text(t, c->text);
    }
    text_add(t, c->paint == PAINT_BOLD ? "</b>" : "");
    if (c->note) {
        text_add(t, " ");
        add_element(t, "small", NULL, c->note);
    }
    add_element(t, "span", "what", name && !wide && !again ? c->about : NULL); /* of a wide table: add_meanings */
    text_add(t, "</td>");
}

/* Did an earlier line explain the name of this one? */
static bool said_before(const struct table *t, int line, int column)
{
    const char *about = table_at(t, line, column)->about;
    return about && ANY_OF(i, line, table_at(t, i, column)->about && strcmp(table_at(t, i, column)->about, about) == 0);
}

/* A plain line with the lines of code that follow it folded beside it; those of the hottest line are open. */
static void write_beside(struct text *t, const struct table *table, int line, const bool *shown)
{
    int count = 0;
    double heat = 0, most = 0;
    while (line + 1 + count < table->line_count && table->lines[line + 1 + count] == LINE_CODE)
        heat += table_at(table, line + 1 + count++, 1)->value;
    for (int i = 0; i < table->line_count; i++)
        most = table->lines[i] != LINE_CODE && table_at(table, i, 1)->value > most ? table_at(table, i, 1)->value : most;
    if (!count) {
        text_add(t, "<td></td>");
        return;
    }
    text_addf(t, "<td class=\"l\"><details%s><summary>%d of %s <small>%.3g %%</small></summary><table>",
              table_at(table, line, 1)->value >= most ? " open" : "", count, table->beside, heat);
    for (int i = line + 1; i <= line + count; i++) {
        text_add(t, "<tr>");
        for (int c = 0; c < table->column_count; c++)
            if (shown[c])
                write_cell(t, &table->columns[c], table_at(table, i, c), false, false);
        text_add(t, "</tr>\n");
    }
    text_add(t, "</table></details></td>");
}

static void write_line(struct text *t, const struct table *table, int line, const bool *shown, struct page_state *page)
{
    enum line_kind kind = table->lines[line];
    if (kind == LINE_CODE)
        return;
    text_addf(t, kind ? "<tr class=\"%s\">" : "<tr>", lines[kind]);
    for (int c = 0; c < table->column_count; c++) {
        const struct cell *cell = table_at(table, line, c);
        if (cell->kind == CELL_REST) {
            int span = 0;
            for (int k = c; k < table->column_count; k++)
                span += shown[k];
            text_addf(t, "<td class=\"l reason%s%s\" colspan=\"%d\"><span class=\"said\">", cell->paint ? " " : "", paints[cell->paint],
                      span > 0 ? span : 1);
            html_text(t, cell->text);
            text_add(t, "</span></td>");
            break;
        }
        bool name = !strcmp(table->columns[c].key, "name");
        if (shown[c])
            write_cell(t, &table->columns[c], cell, table->wide, name && (said_before(table, line, c) || said_on_page(page, cell->about)));
    }
    if (table->beside)
        write_beside(t, table, line, shown);
    text_add(t, "</tr>\n");
}

/* The definition of a column and its ncu names. The caller frees it; NULL: none. */
static char *column_about(const struct table_column *c)
{
    const char *about = c->about ? c->about : "";
    return c->ncu ? text_format("%s%sncu: %s", about, about[0] ? "; " : "", c->ncu) : about[0] ? xstrdup(about) : NULL;
}

static void write_column(struct text *t, const struct table_column *column, bool brief)
{
    const char *tag = column->heading[0] ? "th" : "td"; /* a heading without words is none */
    text_addf(t, "<%s%s", tag, column->align == ALIGN_LEFT ? " class=\"l\"" : "");
    SCOPED char *about = brief ? NULL : column_about(column);
    add_attribute(t, "title", about);
    text_add(t, ">");
    add_name(t, column->heading);
    if (column->note) {
        text_add(t, " ");
        add_element(t, "small", NULL, column->note);
    }
    text_addf(t, "</%s>", tag);
}

static void write_table(struct text *t, const struct table *table, struct page_state *page)
{
    SCOPED bool *shown = xcalloc((size_t)table->column_count + 1, sizeof *shown);
    text_add(t, "<div class=\"scroll\"><table");
    add_attribute(t, "data-name", table->name);
    if (table->wide)
        text_addf(t, " class=\"sides\" style=\"--columns:%d\"", table->column_count - 1);
    text_add(t, "><thead><tr>");
    for (int c = 0; c < table->column_count; c++) {
        shown[c] = table_shows(table, c, true);
        if (shown[c])
            write_column(t, &table->columns[c], page->brief);
    }
    add_element(t, "th", "l", table->beside);
    text_add(t, "</tr></thead><tbody>\n");
    for (int r = 0; r < table->line_count; r++)
        write_line(t, table, r, shown, page);
    text_add(t, "</tbody></table></div>\n");
}

/* ---- blocks ---- */

/* A label is printed once, before the first of its items. */
static void add_item(struct text *t, const struct block *b, int i)
{
    const struct item *item = &b->items[i];
    bool again = i && item->label && item[-1].label && strcmp(item->label, item[-1].label) == 0;
    if (item->label) {
        text_add(t, "<i>"); /* the blank is inside: a line begins where the next ones do */
        html_text(t, again ? NULL : item->label);
        text_add(t, " </i>");
    }
    if (item->name) {
        text_add(t, "<b>");
        add_name(t, item->name);
        text_addf(t, "</b>%s", item_between(item));
    }
    html_words(t, item->text);
    if (item->more) {
        text_add(t, ": ");
        add_element(t, "small", NULL, item->more);
    }
}

static void write_prose(struct text *t, const struct block *b)
{
    static const char *const tones[] = {"", " class=\"lead\"", " class=\"soft\"", " class=\"notice\""};
    text_addf(t, "<p%s>", tones[b->tone]);
    for (int i = 0; i < b->item_count; i++) {
        text_add(t, i ? "<br>" : "");
        add_item(t, b, i);
    }
    text_add(t, "</p>\n");
}

static void write_list(struct text *t, const struct block *b)
{
    bool folds = b->item_count > SHOWN_ITEMS + 3;
    text_add(t, "<ul class=\"notes\">\n");
    for (int i = 0; i < b->item_count; i++) {
        if (folds && i == SHOWN_ITEMS)
            text_addf(t, "</ul>\n<details><summary>%d more</summary>\n<ul class=\"notes\">\n", b->item_count - i);
        text_add(t, "<li>");
        add_item(t, b, i);
        text_add(t, "</li>\n");
    }
    text_add(t, folds ? "</ul>\n</details>\n" : "</ul>\n");
}

/* What names a heading's section: its anchor, else its words. */
static const char *heading_anchor(const struct block *b)
{
    return b->anchor ? b->anchor : b->text;
}

static void write_heading(struct text *t, const struct block *b)
{
    text_addf(t, "<h%d", b->level);
    if (b->anchor || b->level <= 2) {
        text_add(t, " id=\"");
        add_anchor(t, heading_anchor(b));
        text_add(t, "\"");
    }
    text_add(t, ">");
    add_name(t, b->text);
    if (b->note && b->level > 2) {
        text_add(t, " ");
        add_element(t, "small", NULL, b->note);
    }
    text_addf(t, "</h%d>\n", b->level);
    if (b->note && b->level <= 2) {
        add_element(t, "p", "mono", b->note);
        text_add(t, "\n");
    }
}

static void write_figure(struct text *t, const struct block *b)
{
    text_addf(t, "<figure class=\"plot\">\n%s\n", b->svg);
    add_element(t, "figcaption", NULL, b->caption);
    text_add(t, "\n</figure>\n");
}

/* A row's page is a fold that has an anchor. */
static void write_fold(struct text *t, const struct block *b)
{
    text_add(t, "<details");
    if (b->anchor) {
        text_add(t, " class=\"row\" id=\"");
        add_anchor(t, b->anchor);
        text_add(t, "\"");
        add_attribute(t, "data-id", b->anchor);
    }
    text_add(t, "><summary>");
    html_text(t, b->text);
    if (b->note) {
        text_add(t, " ");
        add_element(t, "small", NULL, b->note);
    }
    text_add(t, "</summary>\n");
}

static bool is_small(const struct block *b)
{
    return b && b->kind == BLOCK_FIGURE && b->small;
}

static void write_block(struct text *t, const struct block *b, struct page_state *page)
{
    switch (b->kind) {
    case BLOCK_HEADING: write_heading(t, b); break;
    case BLOCK_PROSE: write_prose(t, b); break;
    case BLOCK_LIST: write_list(t, b); break;
    case BLOCK_TABLE: write_table(t, b->table, page); break;
    case BLOCK_FIGURE: write_figure(t, b); break;
    case BLOCK_CODE:
        text_add(t, "<pre>");
        html_text(t, b->text);
        text_add(t, "</pre>\n");
        break;
    case BLOCK_FOLD: write_fold(t, b); break;
    case BLOCK_END: text_add(t, "</details>\n"); break;
    }
}

/* ---- what is packed ---- */

/* On a large page the script unpacks deflated parts when the reader opens a fold: the content of folds after their first list; on a brief
 * page all of it, per section. */
#define PART_ENDS "\n<!--part-->\n"
struct folded {
    bool brief, open, row, said; /* a fold is open, a row's page; its first list is written */
    struct text rest;            /* the section's folds, each followed by PART_ENDS */
};

static void add_base64(struct text *t, const unsigned char *data, size_t bytes)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < bytes; i += 3) {
        unsigned left = bytes - i > 2 ? 3 : (unsigned)(bytes - i);
        unsigned v = (unsigned)data[i] << 16 | (left > 1 ? (unsigned)data[i + 1] << 8 : 0) | (left > 2 ? data[i + 2] : 0);
        const char four[] = {digits[v >> 18], digits[v >> 12 & 63], left > 1 ? digits[v >> 6 & 63] : '=', left > 2 ? digits[v & 63] : '='};
        text_add_bytes(t, four, sizeof four);
    }
}

/* At the end of a section. */
static void add_packed(struct text *t, struct folded *f)
{
    uLong room = compressBound(f->rest.len) + 64;
    SCOPED unsigned char *out = f->rest.len ? xcalloc(room, 1) : NULL;
    z_stream z = {.next_in = (unsigned char *)f->rest.data, .avail_in = (uInt)f->rest.len, .next_out = out, .avail_out = (uInt)room};
    if (out && deflateInit2(&z, 9, Z_DEFLATED, -15, 9, Z_DEFAULT_STRATEGY) == Z_OK) { /* the room suffices, so it does not fail */
        deflate(&z, Z_FINISH);
        text_add(t, "<div hidden data-packed=\"");
        add_base64(t, out, z.total_out);
        text_add(t, "\"></div>\n");
        deflateEnd(&z);
    }
    text_free(&f->rest);
}

/* Where a block goes: after a row's first list, and in other folds all but code, into the packed part. */
static struct text *where(struct text *t, struct folded *f, const struct block *b)
{
    if (b->kind == BLOCK_FOLD) {
        f->open = true;
        f->row = b->anchor != NULL;
        f->said = !f->row || f->brief;
        return t;
    }
    if (!f->open || (b->kind == BLOCK_CODE && !f->row))
        return t;
    if (b->kind == BLOCK_END) {
        f->open = false;
        text_add(&f->rest, PART_ENDS);
        text_add(t, "<div class=\"more\"></div>\n");
        return t;
    }
    bool said = f->said;
    f->said = true;
    return said || b->kind != BLOCK_LIST ? &f->rest : t;
}

/* Each case is a section; small figures are placed side by side. */
static void write_all(struct text *t, const struct document *d, bool packed)
{
    bool section = false;
    int at = 0;
    const struct block *before = NULL;
    struct folded folded = {.brief = d->brief};
    struct page_state page = {.brief = packed && d->brief}, inside = {0};
    for (const struct block *b; (b = document_next(d, &at, true)); before = b) {
        if (is_small(b) != is_small(before))
            text_add(t, is_small(b) ? "<div class=\"plots\">\n" : "</div>\n");
        if (b->kind == BLOCK_HEADING && b->level <= 2) {
            add_packed(t, &folded);
            text_addf(t, "%s<section>\n", section ? "</section>\n" : "");
            section = true;
        }
        struct text *to = packed ? where(t, &folded, b) : t;
        write_block(to, b, to == t ? &page : &inside);
    }
    text_add(t, is_small(before) ? "</div>\n" : "");
    add_packed(t, &folded);
    text_add(t, section ? "</section>\n" : "");
    free(page.said);
}

static void html_write(struct text *t, const struct document *d, const struct report_style *style)
{
    size_t start = t->len;
    write_all(t, d, false);
    if (t->len - start > PLAIN_MOST) {
        t->len = start;
        write_all(t, d, true);
    }
}

/* ---- the page around it ---- */

static void add_contents(struct text *t, const struct document *d)
{
    int at = 0;
    text_add(t, "<nav aria-label=\"Contents\"><details><summary>Contents</summary>\n<ul>\n");
    for (const struct block *b; (b = document_next(d, &at, true));)
        if (b->kind == BLOCK_HEADING && b->level <= 2) {
            text_add(t, "<li><a href=\"#");
            add_anchor(t, heading_anchor(b));
            text_add(t, "\">");
            add_name(t, b->text);
            text_add(t, "</a></li>\n");
        }
    text_add(t, "<li><a href=\"#columns\">Columns and counters</a></li>\n</ul></details></nav>\n");
}

struct meaning {
    const char *heading;
    char *about;
};

ORDER(by_heading, struct meaning, strcmp(x->heading, y->heading) ?: strcmp(x->about, y->about))

/* Explains the columns; for a table with a column per variant, the lines. */
static int gather_meanings(const struct table *t, struct meaning **all, int count)
{
    for (int c = 0; c < t->column_count; c++) {
        char *about = table_shows(t, c, true) ? column_about(&t->columns[c]) : NULL;
        if (about)
            *APPEND(*all, count) = (struct meaning){t->columns[c].heading, about};
    }
    for (int r = 0; t->wide && r < t->line_count; r++)
        if (table_at(t, r, 0)->about)
            *APPEND(*all, count) = (struct meaning){table_at(t, r, 0)->text, xstrdup(table_at(t, r, 0)->about)};
    return count;
}

/* Explains every column of the page once: tooltips do not work with a finger or a keyboard. */
static void add_meanings(struct text *t, const struct document *d)
{
    SCOPED struct meaning *all = NULL;
    int count = 0, at = 0;
    for (const struct block *b; (b = document_next(d, &at, true));)
        if (b->kind == BLOCK_TABLE)
            count = gather_meanings(b->table, &all, count);
    if (count) {
        qsort(all, (size_t)count, sizeof *all, by_heading);
        text_add(t, "<section>\n<h2 id=\"columns\">Columns and counters</h2>\n<dl class=\"columns\">\n");
    }
    for (int i = 0; i < count; i++)
        if (!i || by_heading(&all[i - 1], &all[i])) {
            add_element(t, "dt", NULL, all[i].heading);
            add_element(t, "dd", NULL, all[i].about);
            text_add(t, "\n");
        }
    text_add(t, count ? "</dl>\n</section>\n" : "");
    for (int i = 0; i < count; i++)
        free(all[i].about);
}

/* A file of the installation, whole. */
static bool add_share(struct text *t, const char *name, struct error *err)
{
    size_t bytes;
    SCOPED char *path = file_share(name);
    char *file = file_read(path, SHARE_MAX_BYTES, &bytes, err);
    text_add(t, file ? file : "");
    if (!file)
        error_where(err, "this installation is incomplete");
    free(file);
    return file != NULL;
}

static bool page(struct text *t, const struct document *d, struct error *err)
{
    SCOPED_TEXT style = {0}, script = {0};
    SCOPED char *title = text_format("%s · bench", d->count && d->blocks[0].kind == BLOCK_HEADING ? d->blocks[0].text : "report");
    bool done = add_share(&style, "plot/page.css", err) && add_share(&script, "plot/page.js", err);
    if (done) {
        text_add(t, "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" "
                    "content=\"width=device-width, initial-scale=1\">\n");
        add_element(t, "title", NULL, title);
        text_add(t, "\n<style>\n");
        text_add(t, text_get(&style));
        text_add(t, "</style>\n</head>\n<body>\n");
        add_contents(t, d);
        text_add(t, "<main>\n");
        html_write(t, d, NULL);
        add_meanings(t, d);
        text_add(t, "</main>\n<script>\n");
        text_add(t, text_get(&script));
        text_add(t, "</script>\n</body>\n</html>\n");
    }
    return done;
}

const struct form form_html = {.name = "html", .full = true, .write = html_write, .page = page};
