/* report/page/case_counters: the counters of a case's rows, from hardware, emu, the compiler and the library. The counter groups' files
 * define what is shown and in which order. */
#include "report/page/case_document.h"
#include "base/order.h"
#include "report/view/number.h"
#include "report/view/verdict.h"
#include "report/limits.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- what limits each row ---- */

/* The warp state with the largest share of time, except issuing and not selected. */
static void wait_cell(struct table *t, const struct view *v, int step)
{
    const struct row_metric *most = NULL;
    for (int i = 0; i < v->row->metric_count; i++) {
        const struct row_metric *m = &v->row->metrics[i];
        if (m->step == step && metric_is_wait(m) && (!most || m->value > most->value))
            most = m;
    }
    table_cell(t, PAINT_NONE, "%s", most ? metric_word(most, FAMILY_STALL) : "");
    table_note(t, "%.0f %%", most ? most->value : 0);
}

/* For a row of several steps, the sum or mean over them. False: the row has no such value. */
static bool limits_line(struct table *t, const struct case_view *c, const struct view *v, int step)
{
    const struct counter_groups *groups = case_groups(c);
    bool any = false;
    char a[NUMBER_TEXT];
    for (struct counter_place p = {0}; !any && counter_next(groups, &p, COUNTER_HEAD);) {
        const struct counter_value *k = &p.group->values[p.value];
        any = !isnan(view_hardware(v, step, k->name));
    }
    if (!any)
        return false;
    table_row(t, step >= 0 ? LINE_STEP : LINE_PLAIN);
    table_cell(t, PAINT_NONE, "%s", step >= 0 ? v->row->steps[step].name : v->name);
    for (struct counter_place p = {0}; counter_next(groups, &p, COUNTER_HEAD);) {
        const struct counter_value *k = &p.group->values[p.value];
        double value = view_hardware(v, step, k->name);
        if (strcmp(k->unit, "%") == 0)
            table_bar(t, value);
        else
            table_number(t, PAINT_NONE, value, number_3(value, a));
    }
    wait_cell(t, v, step);
    return true;
}

void case_column(struct table *t, const struct counter_place *p, enum detail detail)
{
    const struct counter_value *v = &p->group->values[p->value];
    SCOPED_TEXT names = {0};
    counter_value_metrics(p->group, p->value, &names);
    table_column(t, v->name, v->head, ALIGN_RIGHT, .about = v->what, .ncu = text_get(&names), .detail = detail, .spare = 10);
}

void case_limits(struct document *d, const struct case_view *c, bool folded)
{
    struct table *t = table_new();
    table_column(t, "name", "", ALIGN_LEFT);
    for (struct counter_place p = {0}; counter_next(case_groups(c), &p, COUNTER_HEAD);)
        case_column(t, &p, DETAIL_ALWAYS);
    table_column(t, "waits", "warps wait for", ALIGN_LEFT, .about = "the stall reason with the largest share of a warp's time");
    for (int i = 0; i < c->count; i++) {
        const struct view *v = &c->views[c->order[i]];
        if (v->ranked) {
            limits_line(t, c, v, -1);
            for (int s = 0; view_itemises(v) && s < v->row->step_count; s++)
                if (!v->row->steps[s].prepare)
                    limits_line(t, c, v, s);
        }
    }
    if (t->line_count && folded)
        document_fold(d, "Relative to the machine's limits: hardware counters, % of peak");
    else if (t->line_count)
        document_heading(d, 3, "Relative to the machine's limits", "hardware counters, % of peak")->detail = DETAIL_FULL;
    if (t->line_count) {
        document_table(d, t, DETAIL_FULL);
        if (folded)
            document_end(d);
    } else {
        table_free(t);
    }
}

/* ---- every counter ---- */

/* A name that at least one row of the case has. */
struct line {
    const char *name, *unit, *what;
    const struct row_metric *metric; /* one of those that are called so */
    double most;
    bool taken;                        /* is in a section already */
    const struct counter_group *group; /* the group that has the value; NULL: none */
    int value;
};
struct sheet {
    struct line *lines;
    int count;
};

static bool has_metrics(const struct view *v)
{
    return v->row->metric_count > 0 && (v->row->status == ROW_OK || v->row->status == ROW_FOIL);
}

ORDER(case_counters_by_name, struct line, strcmp(x->name, y->name))

ORDER_POINTERS(by_most, struct line, ORDER_DOWN(most))

/* All metric names of the case, sorted. Those of source lines and of the model are shown elsewhere, the library's plans in a list of
 * their own. */
static struct sheet sheet_of(const struct case_view *c)
{
    struct sheet s = {0};
    int room = 0, kept = 0;
    for (int i = 0; i < c->count; i++)
        room += c->rows[i]->metric_count;
    s.lines = xcalloc((size_t)room + 1, sizeof *s.lines);
    for (int i = 0; i < c->count; i++) {
        for (int k = 0; k < c->rows[i]->metric_count; k++) {
            const struct row_metric *m = &c->rows[i]->metrics[k];
            if (m->line == 0 && !metric_is(m, FAMILY_MODEL))
                s.lines[s.count++] = (struct line){.name = m->name, .metric = m, .unit = m->unit, .most = NAN};
        }
    }
    qsort(s.lines, (size_t)s.count, sizeof *s.lines, case_counters_by_name);
    for (int i = 0; i < s.count; i++)
        if (!kept || strcmp(s.lines[i].name, s.lines[kept - 1].name) != 0)
            s.lines[kept++] = s.lines[i];
    s.count = kept;
    for (int i = 0; i < s.count; i++) {
        for (int k = 0; k < c->count; k++)
            if (has_metrics(&c->views[k]))
                s.lines[i].most = fmax(s.lines[i].most, view_total(&c->views[k], s.lines[i].name)); /* fmax: NaN gives way */
    }
    return s;
}

/* Large numbers short, with all their digits when pointed at. */
static void value_cell(struct table *t, const struct line *l, double value)
{
    char a[NUMBER_TEXT], b[NUMBER_TEXT];
    bool whole = value == floor(value);
    if (strcmp(l->unit, "%") == 0) {
        table_bar(t, value);
    } else if (whole && value >= 1e6) {
        table_number(t, PAINT_NONE, value, number_si(value, strcmp(l->unit, "B") == 0 ? "B" : "", b));
        table_about(t, number_count(value, a));
    } else {
        table_number(t, PAINT_NONE, value, whole ? number_count(value, a) : number_3(value, a));
    }
}

/* Its meaning, and its ncu name. */
static void add_meaning(struct table *t, const struct line *l)
{
    SCOPED_TEXT about = {0}, names = {0};
    if (l->group)
        counter_value_metrics(l->group, l->value, &names);
    text_addf(&about, names.len ? "%s; ncu: %s" : "%s%s", l->what ? l->what : "", text_get(&names));
    table_about(t, text_get(&about));
}

static struct table *section_table(const struct case_view *c, struct line *const *lines, int count)
{
    struct table *t = table_new();
    t->wide = true;
    table_column(t, "name", "", ALIGN_LEFT);
    for (int i = 0; i < c->count; i++) {
        const struct view *v = &c->views[c->order[i]];
        if (has_metrics(v))
            table_column(t, "value", v->name, ALIGN_RIGHT);
    }
    for (int k = 0; k < count; k++) {
        const char *name = lines[k]->name;
        table_row(t, LINE_PLAIN);
        table_cell(t, PAINT_NONE, "%s",
                   metric_is(lines[k]->metric, FAMILY_HARDWARE) ? metric_word(lines[k]->metric, FAMILY_HARDWARE) : name);
        table_note(t, "%s", lines[k]->unit);
        add_meaning(t, lines[k]);
        for (int i = 0; i < c->count; i++) {
            const struct view *v = &c->views[c->order[i]];
            if (has_metrics(v))
                value_cell(t, lines[k], view_total(v, name));
        }
    }
    return t;
}

static void add_section(struct document *d, const struct case_view *c, const char *title, const char *about, struct line **lines, int count)
{
    if (count) {
        document_heading(d, 3, title, about);
        document_table(d, section_table(c, lines, count), DETAIL_FULL);
    }
    free(lines);
}

static void add_group(struct document *d, const struct case_view *c, const struct counter_group *g, struct sheet *s)
{
    struct line **lines = xcalloc((size_t)g->value_count + 1, sizeof *lines);
    int count = 0, left_out = 0;
    for (int k = 0; k < g->value_count; k++) {
        SCOPED char *name = text_format(METRIC_HARDWARE "%s", g->values[k].name);
        struct line *l = bsearch(&(struct line){.name = name}, s->lines, (size_t)s->count, sizeof *s->lines, case_counters_by_name);
        bool small = l && g->largest_first && strcmp(l->unit, "%") == 0 && !(l->most >= g->least);
        if (l && !l->taken) {
            l->taken = true;
            l->what = g->values[k].what;
            l->group = g;
            l->value = k;
            left_out += small;
            if (!small)
                lines[count++] = l;
        }
    }
    if (g->largest_first)
        qsort(lines, (size_t)count, sizeof(struct line *), by_most);
    add_section(d, c, g->name, g->about, lines, count);
    if (left_out)
        block_itemf(document_prose(d, TONE_SOFT, DETAIL_FULL), NULL, NULL, "%d more below %.3g %% in every variant.", left_out, g->least);
}

/* What no group has: by family. */
static void add_rest(struct document *d, const struct case_view *c, struct sheet *s)
{
    static const struct {
        enum metric_family family;
        const char *title, *about;
    } kinds[] = {{FAMILY_EMU, "emu", "exact counts of the interpreter (docs/EMU.md)"},
                 {FAMILY_HARDWARE, "other counters", "values of groups that are not installed here, and the cost of counting"},
                 {FAMILY_STATIC, "machine code", "instructions in the code, not executed instructions"},
                 {FAMILY_COUNT, "other", "metrics of the variant, the network or the run (docs/reference/columns.md)"}};
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        struct line **lines = xcalloc((size_t)s->count + 1, sizeof *lines);
        struct text zero = {0};
        int count = 0;
        for (int i = 0; i < s->count; i++) {
            struct line *l = &s->lines[i];
            if (!l->taken && (kinds[k].family == FAMILY_COUNT || metric_is(l->metric, kinds[k].family))) {
                l->taken = true;
                if (l->most == 0)
                    text_addf(&zero, "%s%s", zero.len ? ", " : "", l->name);
                else
                    lines[count++] = l;
            }
        }
        add_section(d, c, kinds[k].title, kinds[k].about, lines, count);
        block_text(document_prose(d, TONE_SOFT, DETAIL_FULL), NULL, zero.len ? "0 in every row" : NULL, &zero);
    }
}

ORDER_POINTERS(by_time, struct row_plan, ORDER_UP(median_ns))

static void plans_of(struct block *list, const struct view *v)
{
    int count = v->row->plan_count;
    SCOPED const struct row_plan **plans = xcalloc((size_t)count + 1, sizeof *plans);
    struct text line = {0};
    char a[NUMBER_TEXT];
    for (int i = 0; i < count; i++)
        plans[i] = &v->row->plans[i];
    qsort(plans, (size_t)count, sizeof(struct row_plan *), by_time);
    text_addf(&line, "%d tried: ", count);
    for (int i = 0; i < count && i < SHOWN_PLANS; i++)
        text_addf(&line, "%s%s engine %d (%s%d)", i ? ", " : "", number_3(plans[i]->median_ns / 1e3, a), plans[i]->engine,
                  plans[i]->heuristic, plans[i]->rank);
    text_add(&line, count > SHOWN_PLANS ? ", ..." : "");
    block_text(list, NULL, v->name, &line);
}

static void add_plans(struct document *d, const struct case_view *c)
{
    bool any = ANY_OF(i, c->count, c->rows[i]->plan_count > 0);
    if (any) {
        document_heading(d, 3, "cudnn plans", "tried plans, fastest first: median us, engine, heuristic and its rank");
        struct block *list = document_list(d, DETAIL_FULL);
        for (int i = 0; i < c->count; i++)
            if (c->rows[c->order[i]]->plan_count)
                plans_of(list, &c->views[c->order[i]]);
    }
}

void case_counters(struct document *d, const struct case_view *c)
{
    const struct counter_groups *groups = case_groups(c);
    struct sheet s = sheet_of(c);
    if (s.count) {
        document_fold(d, "Every counter, side by side");
        for (int i = 0; groups && i < groups->count; i++)
            add_group(d, c, groups->items[i], &s);
        add_rest(d, c, &s);
        add_plans(d, c);
        document_end(d);
    }
    free(s.lines);
}
