/* report/page/mask_table: see mask_table.h. */
#include "report/page/mask_table.h"
#include "base/order.h"
#include "report/page/case_document.h"
#include "report/view/number.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Rows of one column: per mask, the variant's fastest configuration. Lists several for a mask that was added, since the page has no other
 * table of them. */
struct mask_column {
    const struct row *row; /* the first */
    bool alone;            /* only its configuration */
    const char *name;
};
/* The masked cases of one layer and setting of its other axes. */
struct group {
    char *title;
    struct case_view *cases;
    int count;
    bool apart; /* configurations have columns of their own */
    struct mask_column *columns;
    int column_count;
};

/* Has the case a line in a table? */
static bool has_line(const struct case_view *c)
{
    return c->rows[0]->density_in >= 0 && !c->counts && c->mode != MODE_NONE && row_axis(c->rows[0], "mask");
}

static char *title_of(const struct row *row)
{
    struct text t = {0};
    text_addf(&t, "%s", row->layer ? row->layer : "");
    for (int i = 0; i < row->axis_count; i++)
        if (strcmp(row->axis[i].name, "mask") != 0)
            text_addf(&t, ", %s=%s", row->axis[i].name, row->axis[i].value);
    text_addf(&t, ", %s %s", row->dtype ? row->dtype : "", row->math ? row->math : "");
    return text_take(&t);
}

static bool is_in(const struct mask_column *column, const struct view *v)
{
    const struct row *a = column->row, *b = v->row;
    return v->ranked && (column->alone ? row_same_configuration(a, b) : text_same(a->variant, b->variant));
}

/* Columns in the order of the rows; a configuration is named as in most cases. */
static void add_columns(struct group *g, const struct case_view *c)
{
    for (int i = 0; i < c->count; i++) {
        const struct view *v = &c->views[i];
        bool chosen = row_pair_value(v->row->param, v->row->param_count, "is") != NULL; /* by a rule, for each mask */
        struct mask_column *known = NULL;
        for (int k = 0; k < g->column_count; k++)
            known = is_in(&g->columns[k], v) ? &g->columns[k] : known;
        if (v->ranked && !known) {
            known = APPEND(g->columns, g->column_count);
            *known = (struct mask_column){v->row, g->apart && !chosen, variant_short(v->row)};
        }
        if (known && known->alone && strlen(v->name) > strlen(known->name))
            known->name = v->name;
    }
}

static bool has_several(const struct case_view *c)
{
    bool several = false;
    for (int i = 0; i < c->count; i++)
        for (int k = 0; k < i && !several; k++)
            several = c->views[i].ranked && c->views[k].ranked && text_same(c->rows[i]->variant, c->rows[k]->variant);
    return several;
}

/* The fastest row of a column; NULL: no time. */
static const struct view *fastest_of(const struct case_view *c, const struct mask_column *column)
{
    return CASE_LEAST(c, v, is_in(column, v), v->time->median_ns);
}

bool mask_table_holds(const struct case_view *c)
{
    bool all = c->rows[0]->like_case && has_line(c);
    for (int i = 0; i < c->count && all; i++) {
        const struct view *v = &c->views[i];
        enum row_status s = v->row->status;
        all = (v->ranked && (s == ROW_OK || v == c->zero)) || s == ROW_INFEASIBLE ||
              s == ROW_SKIPPED; /* which the case that it was added to also has */
    }
    return all;
}

/* For an added density this table is all that the page has, so it shows the interval. */
static void time_cell(struct table *t, const struct view *v, bool added, double fastest_ns)
{
    char a[NUMBER_TEXT], half[NUMBER_TEXT] = "";
    double us = v ? v->time->median_ns / 1e3 : NAN;
    number_3(us, a);
    if (v && added)
        number_pair(us, v->half_ns / 1e3, a, half);
    table_cell(t, v && v->time->median_ns <= fastest_ns && !added ? PAINT_BOLD : PAINT_NONE, "%s", v ? a : "");
    table_note(t, half[0] ? "±%s" : "", half);
}

static struct table *table_of(const struct group *g)
{
    struct table *t = table_new();
    char a[NUMBER_TEXT];
    table_columns(t, {"mask", "mask", ALIGN_LEFT}, {"in", "in %", ALIGN_POINT}, {"out", "out %", ALIGN_POINT});
    for (int k = 0; k < g->column_count; k++)
        table_column(t, "time", g->columns[k].name, ALIGN_POINT);
    for (int i = 0; i < g->count; i++) {
        const struct case_view *c = &g->cases[i];
        bool added = c->rows[0]->like_case != NULL;
        double fastest_ns = INFINITY;
        for (int k = 0; k < c->count; k++)
            fastest_ns = c->views[k].ranked ? fmin(fastest_ns, c->views[k].time->median_ns) : fastest_ns;
        table_row(t, LINE_PLAIN);
        table_cell(t, PAINT_NONE, "%s", row_axis(c->rows[0], "mask") ? row_axis(c->rows[0], "mask") : "");
        table_note(t, added ? "added" : "");
        table_cell(t, PAINT_DIM, "%s", number_short(c->rows[0]->density_in * 100, a));
        table_cell(t, PAINT_DIM, "%s", number_short(c->rows[0]->density_out * 100, a));
        for (int k = 0; k < g->column_count; k++)
            time_cell(t, fastest_of(c, &g->columns[k]), added, fastest_ns);
    }
    return t;
}

static void free_group(struct group *g)
{
    for (int i = 0; i < g->count; i++)
        case_view_free(&g->cases[i]);
    FREE_ALL(g->columns, g->cases, g->title);
}

static struct group *group_of(struct group **groups, int *count, const struct row *row)
{
    char *title = title_of(row);
    for (int i = 0; i < *count; i++) {
        if (strcmp((*groups)[i].title, title) == 0) {
            free(title);
            return &(*groups)[i];
        }
    }
    struct group *g = APPEND(*groups, *count);
    *g = (struct group){.title = title};
    return g;
}

ORDER(by_density, struct case_view, ORDER_UP(rows[0]->density_in) ?: ORDER_UP(rows))

/* Explains lines with masks that the scenario does not have, and where to find their rows. */
static void say_added(struct document *d, const struct group *g)
{
    int added = 0;
    const struct row *first = NULL;
    for (int i = 0; i < g->count; i++) {
        const struct row *row = g->cases[i].rows[0];
        added += row->like_case != NULL;
        first = !first && row->like_case ? row : first;
    }
    if (!added)
        return;
    SCOPED_TEXT t = {0};
    text_addf(
        &t,
        "added to bracket a break-even: %d of %d masks; variants that cannot break even there may be missing. All of one mask: bench show ",
        added, g->count);
    text_add_word(&t, first->case_id);
    case_options(&t, g->cases[0].run, false, true);
    block_item(document_prose(d, TONE_SOFT, DETAIL_ALWAYS), NULL, NULL, text_get(&t));
}

void mask_document(struct document *d, const struct run *run, struct row *const *rows, int count)
{
    SCOPED struct group *groups = NULL;
    int group_count = 0;
    for (int i = 0, end; i < count; i = end) {
        struct case_view c;
        end = case_end(rows, count, i);
        case_view_make(&c, run, rows + i, end - i);
        if (!has_line(&c)) {
            case_view_free(&c);
            continue;
        }
        struct group *g = group_of(&groups, &group_count, rows[i]);
        *APPEND(g->cases, g->count) = c;
        g->apart |= rows[i]->like_case && has_several(&c);
    }
    for (int i = 0; i < group_count; i++) {
        if (groups[i].count >= 2 || groups[i].cases[0].rows[0]->like_case) {
            for (int k = 0; k < groups[i].count; k++)
                add_columns(&groups[i], &groups[i].cases[k]);
            qsort(groups[i].cases, (size_t)groups[i].count, sizeof *groups[i].cases, by_density);
            SCOPED char *title = text_format("us by mask: %s", groups[i].title);
            document_heading(d, 3, title, NULL);
            document_table(d, table_of(&groups[i]), DETAIL_ALWAYS);
            say_added(d, &groups[i]);
        }
        free_group(&groups[i]);
    }
}
