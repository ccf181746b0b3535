/* report/view/selector: see selector.h. */
#include "report/view/selector.h"
#include "report/view/claims.h"
#include "report/view/number.h"
#include "report/limits.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

#define NEAR 0.05 /* docs/reference/reports.md, "Selector": a choice within this of the fastest is right */

/* The choice of a rule's row, from its parameter `is`; NULL: none. */
static const char *chosen(const struct view *v)
{
    return v->ranked ? row_pair_value(v->row->param, v->row->param_count, "is") : NULL;
}

static const struct view *fastest(const struct case_view *c)
{
    const struct view *best = case_baseline(c), *other = case_best(c);
    return other && (!best || other->time->median_ns < best->time->median_ns) ? other : best;
}

/* Is the row the chosen configuration itself, measured again? Then the difference is noise. */
static bool same_point(const struct view *v, const struct view *rule, const char *is)
{
    char name[VARIANT_BASE];
    const struct row *row = v->row, *other = rule->row;
    bool same = strcmp(variant_base(row, name), is) == 0 && row->param_count + 1 == other->param_count;
    for (int i = 0; same && i < row->param_count; i++) {
        const char *value = row_pair_value(other->param, other->param_count, row->param[i].name);
        same = value && strcmp(value, row->param[i].value) == 0;
    }
    return same;
}

struct tally {
    char rule[VARIANT_BASE], zero[VARIANT_BASE];
    bool zeros_differ;                 /* cases have other baselines than the one named */
    bool masks;                        /* the rule chooses sparse variants: cases with a mask count */
    int cases, near, behind, measured; /* measured: or stored; the others were chosen by conditions */
    struct text off;                   /* sentences; where they are many, */
    struct table *table;               /* a line each */
};

static void start_table(struct tally *tally)
{
    tally->table = table_new();
    table_columns(tally->table, {"name", "case", ALIGN_LEFT}, {"choice", "choice", ALIGN_LEFT}, {"more", "% more time", ALIGN_POINT},
                  {"fastest", "than", ALIGN_LEFT});
    table_column(tally->table, "behind", "% behind the baseline", ALIGN_POINT,
                 .about = "cases where the choice is significantly slower than the baseline");
}

static void add_off(struct tally *tally, const struct case_view *c, const char *is, double over, const char *best, double behind)
{
    char a[NUMBER_TEXT];
    table_row(tally->table, LINE_PLAIN);
    table_cell(tally->table, PAINT_NONE, "%s", case_short(c->rows[0]));
    table_target(tally->table, c->rows[0]->case_id ? c->rows[0]->case_id : "?");
    table_cell(tally->table, PAINT_NONE, "%s", is);
    snprintf(a, sizeof a, "%.1f", 100 * over);
    table_number(tally->table, PAINT_NONE, 100 * over, a);
    table_cell(tally->table, PAINT_NONE, "%s", best);
    snprintf(a, sizeof a, "%.1f", 100 * behind);
    table_number(tally->table, PAINT_BAD, behind > PAR ? 100 * behind : NAN, a);
}

static void selector_add_case(struct tally *tally, const struct case_view *c, const struct view *rule, const char *is)
{
    const struct view *best = fastest(c);
    char name[VARIANT_BASE];
    double ns = (rule->same_as ? rule->same_as : rule)->time->median_ns; /* that the tables have */
    double over = !best ? NAN : same_point(best, rule, is) ? 0 : ns / best->time->median_ns - 1;
    const struct view *baseline = case_baseline(c);
    double behind = baseline ? ns / baseline->time->median_ns - 1 : NAN;
    tally->cases++;
    tally->near += over <= NEAR;
    tally->behind += behind > PAR;
    tally->measured += rule->row->chosen_by[0] && strcmp(rule->row->chosen_by, "rule") != 0;
    if (baseline) {
        tally->zeros_differ |= tally->zero[0] && strcmp(tally->zero, c->zero_name) != 0;
        strcpy(tally->zero, c->zero_name);
    }
    if (over > NEAR && !tally->table)
        start_table(tally);
    if (over > NEAR) {
        add_off(tally, c, is, over, variant_base(best->row, name), behind);
        text_addf(&tally->off, "%s: %s takes %.1f %% more than %s%s\n", case_short(rule->row), is, 100 * over,
                  variant_base(best->row, name), behind > PAR ? ", and is slower than the baseline" : "");
    }
}

/* The first rule found in the run names the tally. With a mask, a rule that only knows dense variants cannot choose the fastest row. */
static bool name_rule(struct tally *tally, const struct case_view *c)
{
    for (int i = 0; i < c->count && !tally->rule[0] && !c->rows[0]->like_case; i++) {
        const struct row *row = c->views[i].row;
        if (chosen(&c->views[i]) && (row->density_in < 0 || !row_runs_dense(row))) {
            tally->masks = row->density_in >= 0;
            variant_base(row, tally->rule);
        }
    }
    return tally->rule[0];
}

/* Adds the rule's row of a case, also where a rule over sparse variants took a dense one. */
static void look_at_case(struct tally *tally, const struct case_view *c)
{
    for (int i = 0; i < c->count && !c->rows[0]->like_case; i++) {
        char name[VARIANT_BASE];
        const struct view *v = &c->views[i];
        const char *is = chosen(v);
        if (is && (tally->masks || v->row->density_in < 0) && !strcmp(tally->rule, variant_base(v->row, name))) {
            selector_add_case(tally, c, v, is);
            return;
        }
    }
}

void selector_document(struct document *d, const struct run *run, struct row *const *rows, int count)
{
    struct tally tally = {.cases = 0};
    struct text lines = {0};
    bool named = false;
    for (struct case_walk w = {.run = run, .rows = rows, .count = count}; !named && case_next(&w);)
        if ((named = name_rule(&tally, &w.view)))
            case_view_free(&w.view);
    for (struct case_walk w = {.run = run, .rows = rows, .count = count}; named && case_next(&w);)
        look_at_case(&tally, &w.view);
    bool many = tally.cases > 1 && tally.table && tally.table->line_count > SHOWN_ITEMS;
    if (tally.cases > 1) {
        text_addf(&lines, "%s is within %.0f %% of the fastest in %d of %d cases", tally.rule, 100 * NEAR, tally.near, tally.cases);
        if (tally.zero[0])
            text_addf(&lines, ", more than %.0f %% behind %s in %d", 100 * PAR, tally.zeros_differ ? "the baseline" : tally.zero,
                      tally.behind);
        if (tally.measured)
            text_addf(&lines, "; %d of the choices %s measured before", tally.measured, tally.measured == 1 ? "was" : "were");
        text_addf(&lines, "\n%s", many ? "" : text_get(&tally.off));
    }
    document_lines(d, "Selector", "selector", &lines);
    if (many)
        document_table(d, tally.table, DETAIL_ALWAYS);
    else
        table_free(tally.table);
    text_free(&tally.off);
}
