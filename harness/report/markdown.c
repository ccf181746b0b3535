/* report/markdown: the whole run as one Markdown text, for a pull request or a notebook. */
#include "report/break_even.h"
#include "report/case_table.h"
#include "report/claims.h"
#include "report/mask_table.h"
#include "report/network.h"
#include "report/number.h"
#include "report/selector.h"
#include "report/summary.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Text between tables: what could be read as Markdown or HTML is escaped. */
static void add_prose(struct text *t, const char *s)
{
    for (; *s; s++) {
        if (strchr("\\`*[]<&|#", *s)) {
            text_add(t, *s == '<' ? "&lt;" : *s == '&' ? "&amp;" : (char[]){'\\', *s, 0});
        } else if (*s == '\n') {
            text_add(t, "  \n");
        } else {
            text_add_bytes(t, (unsigned char)*s < 32 ? " " : s, 1);
        }
    }
}

static void add_item(struct text *t, const char *strong, const char *s)
{
    text_add(t, "- ");
    if (strong && strong[0]) {
        text_add(t, "**");
        add_prose(t, strong);
        text_add(t, "**: ");
    }
    add_prose(t, s);
    text_add(t, "\n");
}

static void add_lists(struct text *t, const struct case_view *c)
{
    struct reason_group *groups;
    struct advice *advice;
    struct text items = {0};
    int count = reason_groups(c, ROW_INFEASIBLE, &groups);
    for (int i = 0; i < count; i++) {
        struct text line = {0};
        text_addf(&line, "%s (%s)", groups[i].reason, text_get(&groups[i].names));
        add_item(&items, "infeasible", text_get(&line));
        text_free(&line);
    }
    reason_groups_free(groups, count);
    count = advise(c, &advice);
    for (int i = 0, shown = 0; i < count && shown < 5; i++) {
        bool said = false;
        for (int j = 0; j < i && advice[i].at_source; j++) {
            said |= strcmp(advice[j].text, advice[i].text) == 0;
        }
        if (!said) {
            add_item(&items, advice[i].at_source ? "" : advice[i].view->name, advice[i].text);
            shown++;
        }
    }
    free(advice);
    struct text lines = {0};
    case_ablations(c, &lines);
    case_notes(c, false, &lines);
    case_notes(c, true, &lines);
    char *rest = lines.data;
    for (const char *name, *what; case_next_line(&rest, &name, &what);) {
        add_item(&items, name, what);
    }
    text_free(&lines);
    if (items.len) {
        text_add(t, "\n");
        text_add_bytes(t, items.data, items.len);
    }
    text_free(&items);
}

static void add_case(struct text *t, const struct case_view *c)
{
    struct text line = {0};
    text_add(t, "\n## ");
    add_prose(t, c->rows[0]->case_id ? c->rows[0]->case_id : "?");
    text_add(t, "\n\n");
    text_addf(&line, "%s\n", c->rows[0]->work ? c->rows[0]->work : "");
    case_conditions(c, &line);
    text_add(&line, "\n");
    case_work(c, &line);
    struct text tiles = {0};
    case_tiles(c, &tiles);
    if (tiles.len) {
        text_addf(&line, "\n%.*s", (int)tiles.len - 1, text_get(&tiles)); /* without its last line break */
    }
    text_free(&tiles);
    add_prose(t, text_get(&line));
    text_add(t, "\n\n");
    text_free(&line);
    struct table *table = case_table(c);
    table_markdown(table, t);
    table_free(table);
    case_modes(c, &line);
    if (line.len) {
        text_add(t, "\n");
        add_prose(t, text_get(&line));
    }
    text_free(&line);
    add_lists(t, c);
}

static void add_provenance(struct text *t, const struct run *run)
{
    text_add(t, "\n## Provenance\n\n|  |  |\n|---|---|\n");
    for (const struct column *c = columns; c->name; c++) {
        if (c->group != COLUMN_RUN || strcmp(c->name, "scenario_text") == 0) {
            continue;
        }
        struct column_value v = column_get(c, run);
        if (v.absent) {
            continue;
        }
        text_addf(t, "| %s | ", c->name);
        if (v.text) {
            char *flat = xstrdup(v.text);
            for (char *p = flat; *p; p++) {
                *p = *p == '\n' ? ' ' : *p;
            }
            add_prose(t, flat);
            free(flat);
        } else {
            text_addf(t, "%lld", (long long)v.integer);
        }
        text_add(t, " |\n");
    }
}

static void add_mask_tables(struct text *t, const struct run *run, struct row *const *rows, int count)
{
    struct mask_table *tables;
    int made = mask_tables_make(&tables, run, rows, count);
    for (int i = 0; i < made; i++) {
        text_add(t, "\n## us by mask: ");
        add_prose(t, tables[i].title);
        text_add(t, "\n\n");
        table_markdown(tables[i].table, t);
    }
    mask_tables_free(tables, made);
}

static void add_break_even(struct text *t, const struct run *run, struct row *const *rows, int count)
{
    struct break_group *groups;
    int made = break_even_make(&groups, run, rows, count);
    text_add(t, made ? "\n## Break-even of sparse and dense\n\n" : "");
    for (int i = 0; i < made; i++) {
        struct text line = {0};
        break_even_sentence(&groups[i], &line);
        add_item(t, "", text_get(&line));
        text_free(&line);
    }
    if (made) {
        struct table *table = break_even_table(groups, made);
        text_add(t, "\n");
        table_markdown(table, t);
        table_free(table);
    }
    break_even_free(groups, made);
}

/* Lines about the whole run under a word; nothing when there are none. Empties the lines. */
static void add_section(struct text *t, const char *word, struct text *lines)
{
    if (lines->len) {
        text_addf(t, "\n**%s**  \n", word);
        add_prose(t, text_get(lines));
    }
    text_free(lines);
}

void report_markdown(struct text *t, const struct run *run, struct row *const *rows, int count)
{
    struct text line = {0};
    struct network *networks;
    text_add(t, "# ");
    add_prose(t, run->scenario ? run->scenario : "bench");
    text_add(t, "\n\n");
    summary_counts(&line, run, rows, count);
    add_prose(t, text_get(&line));
    text_add(t, "\n");
    text_free(&line);
    int made = network_list_make(&networks, run, rows, count);
    for (int i = 0; i < made; i++) {
        network_lines(&networks[i], &line);
        add_section(t, "Network", &line);
    }
    network_list_free(networks, made);
    selector_lines(&line, run, rows, count);
    add_section(t, "Selector", &line);
    claims_lines(&line, run, rows, count);
    add_section(t, "Claims", &line);
    const struct report_style plain = {0};
    report_tune(&line, run, rows, count, &plain);
    if (line.len) { /* as the terminal prints it: columns that belong together stay together */
        text_addf(t, "\n## The search\n\n```\n%s```\n", text_get(&line));
    }
    text_free(&line);
    add_break_even(t, run, rows, count);
    add_mask_tables(t, run, rows, count);
    for (int i = 0, end; i < count; i = end) {
        struct case_view c;
        end = case_end(rows, count, i);
        case_view_make(&c, run, rows + i, end - i);
        add_case(t, &c);
        case_view_free(&c);
    }
    add_provenance(t, run);
}
