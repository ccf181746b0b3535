/* bench compile --region: which combinations of a variant's parameters a chip takes for each layer; nothing is compiled. */
#include "base/expr.h"
#include "base/text.h"
#include "cli/region.h"
#include "report/form/terminal.h"
#include <stdlib.h>
#include <string.h>

/* The rows of one variant on one case: all combinations. */
struct region {
    const struct plan *plan;
    const struct plan_row *const *rows;
    int count;
};

static bool fits(const struct plan_row *r)
{
    return !r->broken && r->facts.feasible;
}

/* The condition that refuses a row; NULL: it fits, or the reason has no values. */
static const char *clause(const struct region *g, int i)
{
    return fits(g->rows[i]) ? NULL : plan_program(g->plan, (int)(g->rows[i] - g->plan->rows))->clause;
}

/* The values of a parameter in order of appearance: their number, the index of each row's, and the first row of each. */
static int region_values(const struct region *g, int param, int *of_row, int *first)
{
    int n = 0;
    for (int i = 0; i < g->count; i++) {
        int k = 0;
        while (k < n && !value_equal(&g->rows[i]->config->values[param], &g->rows[first[k]]->config->values[param]))
            k++;
        if (k == n)
            first[n++] = i;
        of_row[i] = k;
    }
    return n;
}

/* How much a parameter decides: the largest less the smallest share of its values' combinations that fit. */
static double region_spread(const struct region *g, int param)
{
    SCOPED int *at = xcalloc((size_t)g->count + 1, sizeof *at), *all = xcalloc((size_t)g->count + 1, sizeof *all),
               *fit = xcalloc((size_t)g->count + 1, sizeof *fit), *first = xcalloc((size_t)g->count + 1, sizeof *first);
    int n = region_values(g, param, at, first);
    double least = 1, most = 0;
    for (int i = 0; i < g->count; i++) {
        all[at[i]]++;
        fit[at[i]] += fits(g->rows[i]);
    }
    for (int k = 0; k < n; k++) {
        double share = (double)fit[k] / all[k];
        least = share < least ? share : least;
        most = share > most ? share : most;
    }
    return n > 1 ? most - least : -1;
}

/* The condition that refuses most of the combinations: "registers <= 224". */
static const char *main_clause(const struct region *g, const int *a, int x, const int *b, int y, int *refused)
{
    const char *found = NULL;
    *refused = 0;
    for (int i = 0; i < g->count; i++) {
        const char *own = clause(g, i), *other;
        int same = 0;
        for (int k = 0; own && k < g->count; k++)
            same += (!a || a[k] == x) && (!b || b[k] == y) && (other = clause(g, k)) && !strcmp(own, other);
        if (own && (!a || a[i] == x) && (!b || b[i] == y) && same > *refused) {
            found = own;
            *refused = same;
        }
    }
    return found;
}

static void region_cell(struct table *t, const struct region *g, const int *a, int x, const int *b, int y)
{
    int all = 0, fit = 0, refused;
    for (int i = 0; i < g->count; i++)
        if (a[i] == x && b[i] == y) {
            all++;
            fit += fits(g->rows[i]);
        }
    const char *main = fit ? NULL : main_clause(g, a, x, b, y, &refused);
    if (main)
        table_cell(t, PAINT_DIM, "%s", main);
    else
        table_cell(t, PAINT_NONE, "%d of %d", fit, all);
}

/* The two parameters that decide most, one down and one across. */
static struct table *region_table(const struct region *g, int down, int across)
{
    size_t n = (size_t)g->count + 1;
    SCOPED int *a = xcalloc(n, sizeof *a), *b = xcalloc(n, sizeof *b), *first_a = xcalloc(n, sizeof *a), *first_b = xcalloc(n, sizeof *b);
    const struct variant_config *names = g->rows[0]->config;
    int rows = region_values(g, down, a, first_a), across_count = region_values(g, across, b, first_b);
    SCOPED char *corner = text_format("%s \\ %s", names->names[down], names->names[across]);
    char value[VALUE_TEXT_MAX];
    struct table *t = table_new();
    table_column(t, "value", corner, ALIGN_LEFT);
    for (int y = 0; y < across_count; y++) {
        value_print(&g->rows[first_b[y]]->config->values[across], value, sizeof value);
        table_column(t, "fit", value, ALIGN_LEFT);
    }
    for (int x = 0; x < rows; x++) {
        value_print(&g->rows[first_a[x]]->config->values[down], value, sizeof value);
        table_row(t, LINE_PLAIN);
        table_cell(t, PAINT_NONE, "%s", value);
        for (int y = 0; y < across_count; y++)
            region_cell(t, g, a, x, b, y);
    }
    return t;
}

static void say_region(const struct region *g)
{
    const struct plan_row *r = g->rows[0];
    const struct scenario_case *c = &g->plan->cases[r->case_index];
    int down = -1, across = -1, fit = 0, refused;
    SCOPED_TEXT names = {0}, line = {0};
    for (int p = 0; p < r->config->count; p++) {
        text_addf(&names, "%s%s", p ? ", " : "", r->config->names[p]);
        if (down < 0 || region_spread(g, p) > region_spread(g, down)) {
            across = down;
            down = p;
        } else if (across < 0 || region_spread(g, p) > region_spread(g, across)) {
            across = p;
        }
    }
    for (int i = 0; i < g->count; i++)
        fit += fits(g->rows[i]);
    text_addf(&line, "%s on %s, %s: %d of %d combinations of %s fit", plan_row_variant(r), c->id, g->plan->chip.name, fit, g->count,
              text_get(&names));
    const char *clause = main_clause(g, NULL, 0, NULL, 0, &refused);
    if (clause)
        text_addf(&line, "; of the others %d: %s", refused, clause);
    text_add(&line, "\n");
    cli_print(&line);
    if (fit < g->count && down >= 0 && across >= 0 && region_spread(g, down) > 0)
        cli_table(region_table(g, down, across));
}

void cli_region(const struct plan *plan)
{
    SCOPED const struct plan_row **rows = xcalloc((size_t)plan->row_count + 1, sizeof *rows);
    for (int i = 0; i < plan->row_count; i++) {
        const struct plan_row *first = &plan->rows[i];
        int count = 0;
        bool told = first->kind != PLAN_LAYER || !first->config || !first->config->count;
        for (int k = 0; k < i && !told; k++)
            told = plan->rows[k].case_index == first->case_index && plan->rows[k].variant == first->variant;
        for (int k = i; k < plan->row_count && !told; k++)
            if (plan->rows[k].case_index == first->case_index && plan->rows[k].variant == first->variant)
                rows[count++] = &plan->rows[k];
        if (count > 1)
            say_region(&(struct region){plan, rows, count});
    }
}
