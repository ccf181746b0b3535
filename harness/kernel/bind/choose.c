/* Chooses the row of `candidates:`: the feasible one with the least cost, the first of equals. */
#include "kernel/bind/bind.h"
#include "base/text.h"
#include <string.h>

/* Forgets lets and choices, which were computed with another row; keeps the rows that are being tried. */
static void choose_forget(struct bind *b)
{
    memset(b->let_known, 0, sizeof b->let_known);
    for (int i = 0; i < b->h->table_count; i++)
        b->row[i] = b->trying[i] ? b->row[i] : 0;
}

static bool choose_less(const struct value *a, const struct value *b)
{
    if (a->kind == VALUE_INT && b->kind == VALUE_INT)
        return a->i < b->i;
    return (a->kind == VALUE_INT ? (double)a->i : a->d) < (b->kind == VALUE_INT ? (double)b->i : b->d);
}

/* Tries one row: is it feasible, and at what cost? If not, *truth is false and why says so. */
static bool choose_try(struct bind *b, int table, int row, bool *truth, struct value *cost, char *why, size_t bytes, struct error *err)
{
    const struct head_candidates *t = &b->h->tables[table];
    b->row[table] = row + 1;
    choose_forget(b);
    *truth = true;
    if (t->rows[row].when && !expr_test(t->rows[row].when, &b->env, truth, why, bytes, err))
        return false;
    if (!*truth || !t->least)
        return true;
    return expr_eval(t->least, &b->env, cost, err) &&
           (cost->kind != VALUE_TEXT ||
            expr_fail(t->least, err, "least of candidates '%s' must be a number, not the text '%s'", t->name, cost->text));
}

static bool choose_row(struct bind *b, int table, struct error *err)
{
    const struct head_candidates *t = &b->h->tables[table];
    SCOPED_TEXT reasons = {0};
    struct value least = {0};
    int best = 0;
    bool done = true;
    b->trying[table] = true;
    for (int i = 0; done && i < t->row_count && !(best && !t->least); i++) {
        struct value cost = {0};
        char why[400];
        bool truth;
        done = choose_try(b, table, i, &truth, &cost, why, sizeof why, err);
        if (done && !truth)
            text_addf(&reasons, "%s%s needs %s", reasons.len ? "; " : "", t->rows[i].name, why);
        if (!done || !truth || (best && !choose_less(&cost, &least)))
            continue;
        best = i + 1;
        least = cost;
    }
    b->trying[table] = false;
    choose_forget(b);
    b->row[table] = done ? best : 0;
    if (done && !best) {
        SCOPED char *clause = text_format("no candidate of '%s' is possible", t->name);
        bind_refused(b, clause, "%s (%s)", clause, text_get(&reasons));
        done = error_set(err, ERROR_USAGE, "%s", b->program->reason);
    }
    return done;
}

bool bind_chosen(struct bind *b, int table, int column, struct value *out, struct error *err)
{
    const struct head_candidates *t = &b->h->tables[table];
    if (!b->row[table] && !choose_row(b, table, err))
        return false;
    const struct head_row *row = &t->rows[b->row[table] - 1];
    if (column >= 0)
        return expr_eval(row->values[column], &b->env, out, err);
    *out = value_text(row->name);
    return true;
}
