/* Finds circles: no let and no value of a table may need itself, and no two tables may need each other's choice. */
#include "base/text.h"
#include "kernel/head/head.h"

/* Lets first, then the values of the tables. */
#define DEPEND_MAX (HEAD_MAX_ITEMS + HEAD_MAX_TABLES * HEAD_MAX_COLUMNS)

/* Depth-first walk over the names that a let or value uses; `path`: the names on the way. */
struct depend {
    const struct head *h;
    int path[DEPEND_MAX], depth;
    bool done[DEPEND_MAX];
    bool tables[HEAD_MAX_TABLES]; /* whose choice is needed on the way */
    struct error *err;
    bool failed;
};

/* -1: neither a let nor a value of a table. */
static int depend_find(const struct head *h, const char *name)
{
    int column, let = head_let_find(h, name);
    int table = let < 0 ? head_candidates_find(h, name, &column) : -1;
    return let >= 0 ? let : table >= 0 && column >= 0 ? HEAD_MAX_ITEMS + table * HEAD_MAX_COLUMNS + column : -1;
}

static const char *depend_name(const struct head *h, int item)
{
    int at = item - HEAD_MAX_ITEMS;
    return at < 0 ? h->lets[item].name : h->tables[at / HEAD_MAX_COLUMNS].columns[at % HEAD_MAX_COLUMNS];
}

static bool depend_circle(struct depend *w, int from, const char *name)
{
    SCOPED_TEXT t = {0};
    int item = w->path[from], at = item - HEAD_MAX_ITEMS;
    for (int i = from; i < w->depth; i++)
        text_addf(&t, "%s -> ", depend_name(w->h, w->path[i]));
    text_add(&t, name);
    const struct node *node = at < 0 ? w->h->lets[item].node : w->h->tables[at / HEAD_MAX_COLUMNS].nodes[at % HEAD_MAX_COLUMNS];
    node_error(node, w->err, "%s '%s' uses itself: %s", at < 0 ? "let" : "value", name, text_get(&t));
    w->failed = true;
    return false;
}

static void depend_visit(void *context, const char *name)
{
    struct depend *w = context;
    int column, table = head_candidates_find(w->h, name, &column), item = depend_find(w->h, name);
    if (table >= 0)
        w->tables[table] = true;
    if (w->failed || item < 0 || w->done[item])
        return;
    for (int i = 0; i < w->depth; i++)
        if (w->path[i] == item) {
            depend_circle(w, i, name);
            return;
        }
    w->path[w->depth++] = item;
    if (item < HEAD_MAX_ITEMS)
        expr_names(w->h->lets[item].expr, depend_visit, w);
    for (int r = 0; item >= HEAD_MAX_ITEMS && r < w->h->tables[table].row_count; r++)
        expr_names(w->h->tables[table].rows[r].values[column], depend_visit, w);
    w->depth--;
    w->done[item] = true;
}

/* Tables whose choices the choice of this one needs. */
static void depend_table(const struct head *h, int table, bool needs[HEAD_MAX_TABLES])
{
    const struct head_candidates *t = &h->tables[table];
    struct depend w = {.h = h};
    if (t->least)
        expr_names(t->least, depend_visit, &w);
    for (int r = 0; r < t->row_count; r++) {
        if (t->rows[r].when)
            expr_names(t->rows[r].when, depend_visit, &w);
        for (int c = 0; c < t->column_count; c++)
            expr_names(t->rows[r].values[c], depend_visit, &w);
    }
    for (int i = 0; i < h->table_count; i++)
        needs[i] = w.tables[i] && i != table; /* its own values are those of the row that is tried */
}

bool head_check_depends(const struct head *h, struct error *err)
{
    struct depend w = {.h = h, .err = err};
    for (int i = 0; i < h->let_count && !w.failed; i++)
        depend_visit(&w, h->lets[i].name);
    for (int i = 0; i < h->table_count; i++)
        for (int c = 0; c < h->tables[i].column_count && !w.failed; c++)
            depend_visit(&w, h->tables[i].columns[c]);
    if (w.failed)
        return false;
    bool needs[HEAD_MAX_TABLES][HEAD_MAX_TABLES] = {{false}};
    for (int i = 0; i < h->table_count; i++)
        depend_table(h, i, needs[i]);
    for (int k = 0; k < h->table_count; k++) /* what is needed by what is needed */
        for (int i = 0; i < h->table_count; i++)
            for (int j = 0; j < h->table_count; j++)
                needs[i][j] |= needs[i][k] && needs[k][j];
    for (int i = 0; i < h->table_count; i++)
        for (int j = 0; j < h->table_count && needs[i][i]; j++)
            if (j != i && needs[i][j] && needs[j][i])
                return node_error(h->tables[i].node, err, "candidates '%s' and '%s' depend on each other", h->tables[i].name,
                                  h->tables[j].name);
    return true;
}
