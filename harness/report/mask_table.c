/* report/mask_table: see mask_table.h. */
#include "report/mask_table.h"
#include "report/number.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define COLUMNS_MOST 12

/* The masked cases of one layer and setting of its other axes. */
struct group {
    char *title;
    struct case_view *cases;
    int count;
    char *names[COLUMNS_MOST]; /* variants in the order in which the rows have them */
    int name_count;
};

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

/* A column a variant; of its configurations the fastest on each mask. */
static void add_names(struct group *g, const struct case_view *c)
{
    for (int i = 0; i < c->count; i++) {
        bool known = !c->views[i].ranked;
        for (int k = 0; k < g->name_count && !known; k++)
            known = strcmp(g->names[k], variant_short(c->rows[i])) == 0;
        if (!known && g->name_count < COLUMNS_MOST)
            g->names[g->name_count++] = xstrdup(variant_short(c->rows[i]));
    }
}

static double time_of(const struct case_view *c, const char *name)
{
    double best = NAN;
    for (int i = 0; i < c->count; i++) {
        const struct view *v = &c->views[i];
        if (v->ranked && strcmp(variant_short(v->row), name) == 0)
            best = fmin(best, v->time->median_ns); /* NaN gives way */
    }
    return best;
}

static struct table *table_of(const struct group *g)
{
    struct table *t = table_new();
    char a[NUMBER_TEXT];
    table_column(t, "mask", "mask", ALIGN_LEFT);
    table_column(t, "in", "in %", ALIGN_POINT);
    table_column(t, "out", "out %", ALIGN_POINT);
    for (int k = 0; k < g->name_count; k++)
        table_column(t, "time", g->names[k], ALIGN_POINT);
    for (int i = 0; i < g->count; i++) {
        const struct case_view *c = &g->cases[i];
        double fastest = INFINITY;
        for (int k = 0; k < g->name_count; k++)
            fastest = fmin(fastest, time_of(c, g->names[k]));
        table_row(t, LINE_PLAIN);
        table_cell(t, PAINT_NONE, "%s", row_axis(c->rows[0], "mask") ? row_axis(c->rows[0], "mask") : "");
        table_cell(t, PAINT_DIM, "%s", number_short(c->rows[0]->density_in * 100, a));
        table_cell(t, PAINT_DIM, "%s", number_short(c->rows[0]->density_out * 100, a));
        for (int k = 0; k < g->name_count; k++) {
            double ns = time_of(c, g->names[k]);
            table_cell(t, ns <= fastest && !c->rows[0]->like_case ? PAINT_BOLD : PAINT_NONE, "%s", isnan(ns) ? "" : number_3(ns / 1e3, a));
        }
    }
    return t;
}

static void free_group(struct group *g)
{
    for (int i = 0; i < g->count; i++)
        case_view_free(&g->cases[i]);
    for (int k = 0; k < g->name_count; k++)
        free(g->names[k]);
    free(g->cases);
    free(g->title);
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

static int by_density(const void *a, const void *b)
{
    const struct case_view *x = a, *y = b;
    double p = x->rows[0]->density_in, q = y->rows[0]->density_in;
    return p != q ? (p > q) - (p < q) : (x->rows > y->rows) - (x->rows < y->rows);
}

void mask_document(struct document *d, const struct run *run, struct row *const *rows, int count)
{
    SCOPED struct group *groups = NULL;
    int group_count = 0;
    for (int i = 0, end; i < count; i = end) {
        struct case_view c;
        end = case_end(rows, count, i);
        case_view_make(&c, run, rows + i, end - i);
        if (rows[i]->density_in < 0 || c.counts || !c.cache[0] || !row_axis(rows[i], "mask")) {
            case_view_free(&c);
            continue;
        }
        struct group *g = group_of(&groups, &group_count, rows[i]);
        *APPEND(g->cases, g->count) = c;
        add_names(g, &c);
    }
    for (int i = 0; i < group_count; i++) {
        if (groups[i].count >= 2) {
            qsort(groups[i].cases, (size_t)groups[i].count, sizeof *groups[i].cases, by_density);
            SCOPED char *title = text_format("us by mask: %s", groups[i].title);
            document_heading(d, 3, title, NULL);
            document_table(d, table_of(&groups[i]), DETAIL_ALWAYS);
        }
        free_group(&groups[i]);
    }
}
