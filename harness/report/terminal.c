/* report/terminal: a case on the terminal. */
#include "report/case_table.h"
#include "report/number.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ADVICE_SHOWN 6
#define NAMES_SHOWN 160 /* characters of the list of names behind a reason */

/* Each line of `lines` with the label before it. Frees lines. */
static void add_lines(struct text *t, const char *label, struct text *lines, const struct report_style *style)
{
    for (const char *p = text_get(lines); *p;) {
        size_t n = strcspn(p, "\n");
        char *line = xstrndup(p, n);
        text_add_labelled(t, label, line, style);
        free(line);
        p += n + (p[n] == '\n');
    }
    text_free(lines);
}

static void add_header(struct text *t, const struct case_view *c, const struct report_style *style)
{
    struct text line = {0};
    const struct row *row = c->rows[0];
    text_paint(t, PAINT_BOLD, style);
    text_add_plain(t, row->case_id ? row->case_id : "?", style);
    text_paint(t, PAINT_NONE, style);
    text_add(t, "  ");
    text_add_plain(t, row->work ? row->work : "", style);
    text_add(t, "\n");
    case_conditions(c, &line);
    text_add_wrapped(t, text_get(&line), 0, TEXT_LABEL_COLUMNS, style);
    text_add(t, "\n");
    text_free(&line);
    case_work(c, &line);
    if (line.len) {
        text_add_labelled(t, "work", text_get(&line), style);
    }
    text_free(&line);
    case_tiles(c, &line);
    add_lines(t, "tiles", &line, style);
    text_add(t, "\n");
}

static void add_infeasible(struct text *t, const struct case_view *c, const struct report_style *style)
{
    struct reason_group *groups;
    int count = reason_groups(c, ROW_INFEASIBLE, &groups);
    for (int i = 0; i < count; i++) {
        struct text line = {0};
        const char *names = text_get(&groups[i].names);
        size_t n = strlen(names);
        text_addf(&line, "%s: ", groups[i].reason);
        if (n > NAMES_SHOWN) { /* up to the last whole name */
            n = NAMES_SHOWN;
            while (n > 0 && names[n] != ',') {
                n--;
            }
            text_add_bytes(&line, names, n);
            text_addf(&line, ", ... (%d points)", groups[i].count);
        } else {
            text_add(&line, names);
        }
        text_add_labelled(t, "infeasible", text_get(&line), style);
        text_free(&line);
    }
    reason_groups_free(groups, count);
}

static void add_modes(struct text *t, const struct case_view *c, const struct report_style *style)
{
    struct text modes = {0};
    case_modes(c, &modes);
    add_lines(t, "also", &modes, style);
}

/* Numbers that a variant declares itself (`columns:` in its head). */
static void add_own_columns(struct text *t, const struct case_view *c, const struct report_style *style)
{
    for (int i = 0; i < c->count; i++) {
        struct text line = {0};
        char a[NUMBER_TEXT];
        for (int k = 0; k < c->rows[i]->metric_count; k++) {
            const struct row_metric *m = &c->rows[i]->metrics[k];
            if (m->step == -1 && m->line == 0 && strcmp(m->source, "variant") == 0) {
                text_addf(&line, "%s%s %s", line.len ? ", " : "", m->name,
                          m->value == floor(m->value) ? number_count(m->value, a) : number_3(m->value, a));
            }
        }
        if (line.len) {
            char *whole = text_format("%s: %s", c->views[i].name, text_get(&line));
            text_add_labelled(t, "own", whole, style);
            free(whole);
        }
        text_free(&line);
    }
}

static void add_advice(struct text *t, const struct case_view *c, const struct report_style *style)
{
    struct advice *advice;
    int count = advise(c, &advice), shown = 0;
    for (int i = 0; i < count && shown < ADVICE_SHOWN; i++) {
        const struct advice *a = &advice[i];
        bool said = false;
        for (int j = 0; j < i && a->at_source; j++) {
            said |= strcmp(advice[j].text, a->text) == 0;
        }
        if (said) {
            continue;
        }
        struct text line = {0};
        if (!a->at_source && a->view->rank >= 0) {
            text_addf(&line, "%d %s: ", a->view->rank, a->view->name);
        } else if (!a->at_source) {
            text_addf(&line, "%s: ", a->view->name);
        }
        text_add(&line, a->text);
        text_add_labelled(t, shown ? "" : "why", text_get(&line), style);
        text_free(&line);
        shown++;
    }
    free(advice);
}

/* A word for a shell. */
static void add_word(struct text *t, const char *word)
{
    bool plain = *word && !word[strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:=,+-")];
    text_addf(t, plain ? "%s" : "'%s'", word);
}

/* Options of the command that made the run, without which another command does not find the same rows. `which`: their short and long names.
 */
static void add_options(struct text *t, const struct run *run, const char *const *which)
{
    char *copy = xstrdup(run && run->argv ? run->argv : ""), *rest = copy;
    for (char *word; (word = strsep(&rest, " "));)
        for (int i = 0; which[i]; i++) {
            size_t n = strlen(which[i]);
            if (!strcmp(word, which[i]) && rest) {
                text_addf(t, " %s ", word);
                add_word(t, strsep(&rest, " "));
                break;
            }
            if (n > 2 && !strncmp(word, which[i], n) && word[n] == '=') {
                text_addf(t, " %s", word);
                break;
            }
        }
    free(copy);
}

/* The next command: to see a failure, else to look into the fastest row of one's own. */
static void add_next(struct text *t, const struct case_view *c, const struct report_style *style)
{
    static const char *const run_options[] = {"-V", "--variants", "-d", "--device", "-o", "--out", NULL},
                             *const exec_options[] = {"-V", "--variants", "-d", "--device", NULL},
                             *const why_options[] = {"-o", "--out", NULL};
    const struct view *failed = NULL, *best = case_best(c);
    for (int i = 0; i < c->count; i++) {
        const struct view *v = &c->views[i];
        if (v->row->status == ROW_WRONG && !(v->row->dump && v->row->dump[0]) && !failed) {
            failed = v;
        }
    }
    const struct view *v = failed ? failed : best;
    if (!v)
        return;
    char base[VARIANT_BASE];
    const char *name = variant_base(v->row, base); /* the command line knows the variant, not what completed it here */
    const char *layer = v->row->layer ? v->row->layer : "LAYER",
               *scenario = c->run && c->run->scenario_path ? c->run->scenario_path : "SCENARIO";
    struct text line = {0}, row = {0};
    if (v->row->axes && v->row->axes[0]) /* several cases have these words */
        text_addf(&row, "'%s'", v->row->id);
    else
        text_addf(&row, "%s %s", layer, name);
    if (failed) {
        text_add(&line, "bench run ");
        add_word(&line, scenario);
        text_addf(&line, " --layer %s --only %s --dump", layer, name);
        add_options(&line, c->run, run_options);
    } else {
        text_addf(&line, "bench why %s", text_get(&row));
        add_options(&line, c->run, why_options);
        text_add(&line, " · bench exec ");
        add_word(&line, scenario);
        text_addf(&line, " %s", text_get(&row));
        add_options(&line, c->run, exec_options);
        text_add(&line, " -- ncu --set full");
    }
    text_add_labelled(t, "next", text_get(&line), style);
    text_free(&line);
    text_free(&row);
}

void report_case(struct text *t, const struct run *run, struct row *const *rows, int count, const struct report_style *style)
{
    struct case_view c;
    int planned = 0;
    if (count < 1) {
        return;
    }
    case_view_make(&c, run, rows, count);
    add_header(t, &c, style);
    struct table *table = case_table(&c);
    table_print(table, t, style);
    table_free(table);
    struct text below = {0};
    add_infeasible(&below, &c, style);
    for (int i = 0; i < count; i++) {
        planned += rows[i]->status == ROW_PLANNED;
    }
    if (planned) {
        char text[64];
        snprintf(text, sizeof text, "%d of %d rows not run yet", planned, count);
        text_add_labelled(&below, "left", text, style);
    }
    add_modes(&below, &c, style);
    struct text ablations = {0};
    case_ablations(&c, &ablations);
    add_lines(&below, "ablate", &ablations, style);
    add_own_columns(&below, &c, style);
    struct text notes = {0};
    case_notes(&c, false, &notes);
    case_notes(&c, true, &notes);
    add_lines(&below, "note", &notes, style);
    add_advice(&below, &c, style);
    add_next(&below, &c, style);
    if (below.len) {
        text_add(t, "\n");
        text_add_bytes(t, below.data, below.len);
    }
    text_free(&below);
    case_view_free(&c);
}
