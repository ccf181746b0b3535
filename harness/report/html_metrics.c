/* report/html_metrics: every counter and metric of a case, one column a variant, in the sections of the counter groups; folded away below
 * its table. */
#include "report/html.h"
#include "report/number.h"
#include "report/verdict.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SMALL_STALL 0.5 /* % of a warp's time in every variant: not worth a line */
#define PLANS_SHOWN 8   /* of a row, the fastest */

/* A name that at least one row of the case has. `what` may be NULL. */
struct line {
    const char *name, *unit, *what;
    double most;
};
struct section {
    const char *title, *about;
    struct line *lines;
    int count, left_out;
};

static bool has_metrics(const struct view *v)
{
    return v->row->metric_count > 0 && (v->row->status == ROW_OK || v->row->status == ROW_FOIL);
}

static int by_name(const void *a, const void *b)
{
    const struct line *x = a, *y = b;
    return strcmp(x->name, y->name);
}

static int by_most(const void *a, const void *b)
{
    const struct line *x = a, *y = b;
    return (x->most < y->most) - (x->most > y->most);
}

/* All names of the case, sorted; those of source lines and of the model stand elsewhere, the library's plans in a table of their own. */
static int names_of(const struct case_view *c, struct line **out)
{
    struct line *all = NULL;
    int count = 0;
    for (int i = 0; i < c->count; i++) {
        for (int k = 0; k < c->rows[i]->metric_count; k++) {
            const struct row_metric *m = &c->rows[i]->metrics[k];
            bool known = m->line != 0 || !strncmp(m->name, "model.", 6) || !strncmp(m->name, "cudnn.plan", 10);
            for (int j = 0; j < count && !known; j++)
                known = !strcmp(all[j].name, m->name);
            if (!known) {
                all = xrealloc(all, (size_t)(count + 1) * sizeof *all);
                all[count++] = (struct line){.name = m->name, .unit = m->unit, .most = NAN};
            }
        }
    }
    for (int j = 0; j < count; j++)
        for (int i = 0; i < c->count; i++)
            if (has_metrics(&c->views[i]))
                all[j].most = fmax(all[j].most, counter_total(c->rows[i], all[j].name)); /* fmax: NaN gives way */
    if (count)
        qsort(all, (size_t)count, sizeof *all, by_name);
    *out = all;
    return count;
}

static void take(struct section *s, struct line *from, const char *what)
{
    s->lines = xrealloc(s->lines, (size_t)(s->count + 1) * sizeof *s->lines);
    s->lines[s->count] = *from;
    s->lines[s->count++].what = what;
    from->name = NULL; /* taken: stands once */
}

static void take_group(struct section *s, const struct counter_group *g, struct line *all, int count)
{
    *s = (struct section){.title = g->name, .about = g->about};
    for (int k = 0; k < g->value_count; k++)
        for (int i = 0; i < count; i++)
            if (all[i].name && !strncmp(all[i].name, "hw.", 3) && !strcmp(all[i].name + 3, g->values[k].name))
                take(s, &all[i], g->values[k].what);
    int kept = 0;
    bool stalls = !strcmp(g->name, "stalls");
    for (int i = 0; i < s->count; i++)
        if (!stalls || strcmp(s->lines[i].unit, "%") || s->lines[i].most >= SMALL_STALL)
            s->lines[kept++] = s->lines[i];
    s->left_out = s->count - kept;
    s->count = kept;
    if (stalls && kept)
        qsort(s->lines, (size_t)kept, sizeof *s->lines, by_most);
}

void html_share(struct text *t, double percent)
{
    text_add(t, "<td class=\"n share\"");
    if (percent > 0)
        text_addf(t, " style=\"--share:%.1f%%\"", fmin(percent, 100));
    text_addf(t, percent >= 0 ? ">%.1f</td>" : "></td>", percent);
}

/* Large numbers short, with all their digits when pointed at. */
static void value_cell(struct text *t, const struct line *l, double value)
{
    char a[NUMBER_TEXT], b[NUMBER_TEXT];
    bool whole = value == floor(value);
    if (!strcmp(l->unit, "%"))
        html_share(t, value);
    else if (isnan(value))
        text_add(t, "<td class=\"n\"></td>");
    else if (whole && value >= 1e6)
        text_addf(t, "<td class=\"n\" title=\"%s\">%s</td>", number_count(value, a), number_si(value, !strcmp(l->unit, "B") ? "B" : "", b));
    else
        text_addf(t, "<td class=\"n\">%s</td>", whole ? number_count(value, a) : number_3(value, a));
}

static void put_section(struct text *t, const struct case_view *c, const struct section *s)
{
    int sides = 0;
    if (!s->count)
        return;
    text_add(t, "<h4>");
    html_text(t, s->title);
    text_add(t, " <small>");
    html_text(t, s->about);
    text_add(t, "</small></h4>\n<div class=\"scroll\">");
    for (int i = 0; i < c->count; i++)
        sides += has_metrics(&c->views[i]);
    text_addf(t, "<table class=\"metrics sides\" style=\"--columns:%d\"><thead><tr><th></th>", sides);
    for (int i = 0; i < c->count; i++) {
        const struct view *v = &c->views[c->order[i]];
        if (has_metrics(v)) {
            text_add(t, "<th class=\"n\">");
            html_id(t, v->name);
            text_add(t, "</th>");
        }
    }
    text_add(t, "</tr></thead><tbody>\n");
    for (int k = 0; k < s->count; k++) {
        const struct line *l = &s->lines[k];
        text_add(t, "<tr><td><span class=\"mono\">");
        html_text(t, strncmp(l->name, "hw.", 3) ? l->name : l->name + 3);
        text_add(t, "</span> <small>");
        html_text(t, l->unit);
        text_add(t, "</small>");
        if (l->what) {
            text_add(t, "<span class=\"what\">");
            html_text(t, l->what);
            text_add(t, "</span>");
        }
        text_add(t, "</td>");
        for (int i = 0; i < c->count; i++) {
            const struct view *v = &c->views[c->order[i]];
            if (has_metrics(v))
                value_cell(t, l, counter_total(v->row, l->name));
        }
        text_add(t, "</tr>\n");
    }
    text_add(t, "</tbody></table></div>\n");
    if (s->left_out)
        text_addf(t, "<p class=\"groups\">%d more below %.1f %% in every variant.</p>\n", s->left_out, SMALL_STALL);
}

/* What no group has: by the word before the dot. */
static void put_rest(struct text *t, const struct case_view *c, struct line *all, int count)
{
    static const struct {
        const char *prefix, *title, *about;
    } kinds[] = {{"emu.", "emu", "what the interpreter counted, exactly (docs/EMU.md)"},
                 {"hw.", "other counters", "of groups that are not installed here, and what counting took"},
                 {"static.", "machine code", "instructions in the code, not executed ones"},
                 {"", "other", "metrics of the variant, the network or the run (METHOD.md)"}};
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        struct section s = {.title = kinds[k].title, .about = kinds[k].about};
        for (int i = 0; i < count; i++)
            if (all[i].name && !strncmp(all[i].name, kinds[k].prefix, strlen(kinds[k].prefix)))
                take(&s, &all[i], NULL);
        put_section(t, c, &s);
        free(s.lines);
    }
}

static int by_value(const void *a, const void *b)
{
    const struct row_metric *const *x = a, *const *y = b;
    return ((*x)->value > (*y)->value) - ((*x)->value < (*y)->value);
}

/* "cudnn.plan0_engine41_A0_ns": engine 41, heuristic A, its first. */
static void put_plans(struct text *t, const struct view *v, bool *open)
{
    const struct row_metric **plans = xcalloc((size_t)v->row->metric_count + 1, sizeof *plans);
    int count = 0;
    char a[NUMBER_TEXT];
    for (int i = 0; i < v->row->metric_count; i++)
        if (!strncmp(v->row->metrics[i].name, "cudnn.plan", 10))
            plans[count++] = &v->row->metrics[i];
    if (count) {
        qsort(plans, (size_t)count, sizeof *plans, by_value);
        text_add(t,
                 *open ? ""
                       : "<h4>cudnn plans <small>that were tried, fastest first: engine, heuristic and its rank; median us</small></h4>\n");
        *open = true;
        text_add(t, "<p class=\"groups\"><b>");
        html_text(t, v->name);
        text_addf(t, "</b>, %d tried: ", count);
    }
    for (int i = 0; i < count && i < PLANS_SHOWN; i++) {
        int plan, engine, rank;
        char mode;
        if (sscanf(plans[i]->name, "cudnn.plan%d_engine%d_%c%d_ns", &plan, &engine, &mode, &rank) == 4)
            text_addf(t, "%s<b>%s</b> engine %d (%c%d)", i ? ", " : "", number_3(plans[i]->value / 1e3, a), engine, mode, rank);
    }
    text_add(t, count > PLANS_SHOWN ? ", ...</p>\n" : count ? "</p>\n" : "");
    free(plans);
}

void html_metrics(struct text *t, const struct case_view *c)
{
    static const char *const order[] = {"core",      "roofline", "memory", "l2",         "coalescing", "shared",
                                        "occupancy", "stalls",   "tensor", "divergence", "spills",     "launch"};
    struct line *all;
    int count = names_of(c, &all);
    const struct counter_groups *groups = verdict_groups();
    bool plans = false;
    if (count)
        text_add(t, "<details><summary>Every counter, side by side</summary>\n");
    for (size_t k = 0; count && k < sizeof order / sizeof *order; k++)
        for (int i = 0; groups && i < groups->count; i++)
            if (!strcmp(groups->items[i]->name, order[k])) {
                struct section s;
                take_group(&s, groups->items[i], all, count);
                put_section(t, c, &s);
                free(s.lines);
            }
    put_rest(t, c, all, count);
    for (int i = 0; count && i < c->count; i++)
        put_plans(t, &c->views[c->order[i]], &plans);
    text_add(t, count ? "</details>\n" : "");
    free(all);
}
