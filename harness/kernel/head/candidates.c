/* Reads `candidates:`: tables of named rows of values. A work takes the cheapest feasible row. */
#include "base/text.h"
#include "kernel/head/head.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int head_column_find(const struct head_candidates *t, const char *name)
{
    return FIRST_OF(i, t->column_count, !strcmp(t->columns[i], name));
}

int head_candidates_find(const struct head *h, const char *name, int *column)
{
    for (int i = 0; i < h->table_count; i++) {
        *column = head_column_find(&h->tables[i], name);
        if (*column >= 0 || !strcmp(h->tables[i].name, name))
            return i;
    }
    return -1;
}

static bool candidates_name(const struct node *key, const char *what, struct error *err)
{
    return head_is_identifier(key->text) ||
           node_error(key, err, "%s '%.100s' is not a C name of at most %d characters", what, key->text, PROGRAM_NAME - 1);
}

/* The first row says which values a row has. */
static bool candidates_columns(struct head_candidates *t, const struct node *row, struct error *err)
{
    if (row->kind != NODE_MAP)
        return node_error(row, err, "a row of %s must be a map of values", t->name);
    for (int i = 0; i < row->count; i++) {
        if (!strcmp(row->keys[i]->text, "when"))
            continue;
        if (!candidates_name(row->keys[i], "value", err))
            return error_hint(err, "YAML splits a map in braces at every comma: put the expression in quotes, `x: \"min(c, 4)\"`");
        if (t->column_count == HEAD_MAX_COLUMNS)
            return node_error(row->keys[i], err, "a row of %s has more than %d values", t->name, HEAD_MAX_COLUMNS);
        t->nodes[t->column_count] = row->keys[i];
        t->columns[t->column_count++] = xstrdup(row->keys[i]->text);
    }
    return true;
}

static bool candidates_row(struct head_candidates *t, const struct node *key, const struct node *n, struct error *err)
{
    struct head_row *row = &t->rows[t->row_count++];
    const char *words[HEAD_MAX_COLUMNS + 2] = {"when"};
    char what[2 * PROGRAM_NAME + 16];
    row->name = xstrdup(key->text);
    snprintf(what, sizeof what, "row '%s' of %s", row->name, t->name);
    for (int i = 0; i < t->column_count; i++)
        words[i + 1] = t->columns[i];
    if (!candidates_name(key, "row", err) || !node_check_keys(n, what, words, err))
        return false;
    const struct node *when = node_get(n, "when");
    if (when && !(row->when = expr_parse(when, err)))
        return false;
    for (int i = 0; i < t->column_count; i++) {
        const struct node *value = node_get(n, t->columns[i]);
        if (!value)
            return node_error(key, err, "%s has no `%s`, which the first row has", what, t->columns[i]);
        if (!(row->values[i] = expr_parse(value, err)))
            return false;
    }
    return true;
}

static bool candidates_table(struct head_candidates *t, const struct node *n, struct error *err)
{
    static const char *const keys[] = {"rows", "least", NULL};
    char what[PROGRAM_NAME + 16];
    snprintf(what, sizeof what, "candidates '%s'", t->name);
    if (!candidates_name(t->node, "candidates", err) || !node_check_keys(n, what, keys, err))
        return false;
    const struct node *rows = node_get(n, "rows"), *least = node_get(n, "least");
    if (!rows || rows->kind != NODE_MAP || !rows->count)
        return node_error(rows ? rows : t->node, err, "%s needs `rows:`, a map of NAME: {VALUE: ..., ...}", what);
    if (rows->count > HEAD_MAX_ROWS)
        return node_error(rows, err, "%s has %d rows; at most %d", what, rows->count, HEAD_MAX_ROWS);
    if (least && !(t->least = expr_parse(least, err)))
        return false;
    t->rows = xcalloc((size_t)rows->count, sizeof *t->rows);
    if (!candidates_columns(t, rows->items[0], err))
        return false;
    return ALL_OF(i, rows->count, candidates_row(t, rows->keys[i], rows->items[i], err));
}

bool head_read_candidates(struct head *h, const struct node *root, struct error *err)
{
    const struct node *m = node_get(root, "candidates");
    if (!m)
        return true;
    if (m->kind != NODE_MAP || !m->count || m->count > HEAD_MAX_TABLES)
        return node_error(m, err, "candidates must be a map of at most %d tables: NAME: {rows: ..., least: ...}", HEAD_MAX_TABLES);
    h->tables = xcalloc((size_t)m->count, sizeof *h->tables);
    for (int i = 0; i < m->count; i++) {
        struct head_candidates *t = &h->tables[h->table_count++];
        t->name = xstrdup(m->keys[i]->text);
        t->node = m->keys[i];
        if (!candidates_table(t, m->items[i], err))
            return false;
    }
    return true;
}

void head_candidates_free(struct head *h)
{
    for (int i = 0; i < h->table_count; i++) {
        struct head_candidates *t = &h->tables[i];
        for (int r = 0; r < t->row_count; r++) {
            for (int c = 0; c < t->column_count; c++)
                expr_free(t->rows[r].values[c]);
            expr_free(t->rows[r].when);
            free(t->rows[r].name);
        }
        for (int c = 0; c < t->column_count; c++)
            free(t->columns[c]);
        expr_free(t->least);
        free(t->rows);
        free(t->name);
    }
    free(h->tables);
}
