/* store/row: see row.h. */
#include "store/row.h"
#include "base/text.h"
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct row *row_new(void)
{
    struct row *row = xcalloc(1, sizeof *row);
    columns_clear(COLUMN_CASE, row);
    columns_clear(COLUMN_RESULT, row);
    row->repeat = 1;
    return row;
}

void row_free(struct row *row)
{
    if (!row)
        return;
    for (const struct row_list *l = row_lists; l->table; l++)
        row_list_empty(l, row);
    columns_free(COLUMN_CASE, row);
    columns_free(COLUMN_RESULT, row);
    free(row);
}

void row_leave(struct row **row)
{
    row_free(*row);
}

void row_set_reason(struct row *row, const struct error *why)
{
    row_set(&row->reason, why->text);
    row_set(&row->reason_file, why->line > 0 ? why->file : NULL);
    row->reason_line = why->line > 0 ? why->line : -1;
}

/* ---- lists ---- */

#define LIST(group, table, name, index, items, count, anew) \
    { \
        COLUMN_##group, table, name, index, (unsigned)offsetof(struct row, items), (unsigned)offsetof(struct row, count), \
            (unsigned)sizeof(*((struct row *)0)->items), anew \
    }
const struct row_list row_lists[] = {
    LIST(AXIS, "axis", "axis_values", "axis_index", axis, axis_count, false),
    LIST(PARAM, "param", "param_values", "param_index", param, param_count, false),
    LIST(NETWORK, "network", "network_runs", "network_index", network, network_count, false),
    LIST(PART, "part", "parts", "part_index", parts, part_count, false),
    LIST(NOTE, "note", "notes", "note_index", notes, note_count, false),
    LIST(STEP, "kernel", "steps", "step_index", steps, step_count, true),
    LIST(TIME, "timing", "times", "time_index", times, time_count, false),
    LIST(PLAN, "plan", "plans", "plan_index", plans, plan_count, true),
    LIST(LAUNCH, "launch", "launches", "launch_index", launches, launch_count, true),
    LIST(CODE, "instruction", "instructions", "instruction_index", code, code_count, true),
    LIST(METRIC, "metric", "metrics", "metric_index", metrics, metric_count, false),
    {0},
};

int row_list_count(const struct row_list *list, const struct row *row)
{
    return *(const int *)(const void *)((const char *)row + list->count);
}

void *row_list_at(const struct row_list *list, const struct row *row, int i)
{
    return *(char *const *)(const void *)((const char *)row + list->items) + (size_t)i * list->bytes;
}

/* Room for one more. */
static void *list_grow(const struct row_list *list, struct row *row)
{
    void **items = (void **)(void *)((char *)row + list->items);
    int *count = (int *)(void *)((char *)row + list->count), n = *count;
    if ((n & (n - 1)) == 0) /* doubling */
        *items = xrealloc(*items, (size_t)(n ? 2 * n : 1) * list->bytes);
    ++*count;
    return row_list_at(list, row, n);
}

void *row_list_add(const struct row_list *list, struct row *row)
{
    void *one = list_grow(list, row);
    memset(one, 0, list->bytes);
    columns_clear(list->group, one);
    return one;
}

void row_list_copy(const struct row_list *list, struct row *row, const struct row *from)
{
    for (int i = 0; i < row_list_count(list, from); i++) {
        void *one = row_list_add(list, row);
        for (const struct column *c = column_first(list->group); c; c = column_next(c)) {
            struct column_value v = column_get(c, row_list_at(list, from, i));
            column_set(c, one, &v);
        }
    }
}

static void list_free(const struct row_list *list, struct row *row)
{
    void **items = (void **)(void *)((char *)row + list->items);
    free(*items);
    *items = NULL;
    *(int *)(void *)((char *)row + list->count) = 0;
}

void row_list_move(const struct row_list *list, struct row *row, struct row *from)
{
    for (int i = 0; i < row_list_count(list, from); i++)
        memcpy(list_grow(list, row), row_list_at(list, from, i), list->bytes);
    list_free(list, from);
}

void row_list_empty(const struct row_list *list, struct row *row)
{
    bool holds = false; /* texts or samples */
    for (const struct column *c = column_first(list->group); c && row_list_count(list, row); c = column_next(c))
        holds = holds || c->type == COLUMN_TEXT || c->type == COLUMN_NAME || c->type == COLUMN_REALS;
    for (int i = 0; holds && i < row_list_count(list, row); i++)
        columns_free(list->group, row_list_at(list, row, i));
    list_free(list, row);
}

static void *row_add(struct row *row, enum column_group group)
{
    const struct row_list *list = row_lists;
    while (list->group != group)
        list++;
    return row_list_add(list, row);
}

struct row_metric *row_add_metric(struct row *row, int step, int line, const char *name, const char *unit, const char *source, double value)
{
    struct row_metric *m = row_add(row, COLUMN_METRIC);
    m->step = step;
    m->line = line;
    m->value = value;
    strncpy(m->name, name ? name : "", sizeof m->name - 1);
    strncpy(m->unit, unit ? unit : "", sizeof m->unit - 1);
    strncpy(m->source, source ? source : "", sizeof m->source - 1);
    return m;
}

struct row_step *row_add_step(struct row *row)
{
    return row_add(row, COLUMN_STEP);
}

struct row_time *row_add_time(struct row *row)
{
    struct row_time *t = row_add(row, COLUMN_TIME);
    t->step = -1;
    return t;
}

void row_drop_times(struct row *row)
{
    const struct row_list *list = row_lists;
    while (list->group != COLUMN_TIME)
        list++;
    row_list_empty(list, row);
}

static void add_text(char **field, const char *separator, const char *format, ...) __attribute__((format(printf, 3, 4)));
static void add_text(char **field, const char *separator, const char *format, ...)
{
    struct text t = {0};
    text_addf(&t, "%s%s", *field ? *field : "", *field && **field ? separator : "");
    TEXT_ADD_ARGUMENTS(&t, format);
    free(*field);
    *field = text_take(&t);
}

static void add_pair(struct row *row, enum column_group group, char **all, const char *name, const char *value, double number)
{
    struct row_pair *p = row_add(row, group);
    row_set(&p->name, name);
    row_set(&p->value, value);
    p->number = number;
    add_text(all, ",", "%s=%s", name, value);
}

void row_add_axis(struct row *row, const char *name, const char *value, double number)
{
    add_pair(row, COLUMN_AXIS, &row->axes, name, value, number);
}

void row_add_param(struct row *row, const char *name, const char *value, double number)
{
    add_pair(row, COLUMN_PARAM, &row->params, name, value, number);
}

void row_add_network(struct row *row, const char *name, int64_t runs)
{
    struct row_network *n = row_add(row, COLUMN_NETWORK);
    row_set(&n->name, name);
    n->runs = runs;
    add_text(&row->networks, ", ", "%s:%lld", name, (long long)runs);
}

void row_add_part(struct row *row, const char *variant, const char *name)
{
    struct row_part *p = row_add(row, COLUMN_PART);
    row_set(&p->variant, variant);
    row_set(&p->name, name);
}

void row_add_note(struct row *row, const char *format, ...)
{
    SCOPED_TEXT note = {0};
    TEXT_ADD_ARGUMENTS(&note, format);
    bool said = !note.len;
    for (int i = 0; i < row->note_count && !said; i++)
        said = !strcmp(row->notes[i].text, text_get(&note));
    if (said)
        return;
    struct row_note *n = row_add(row, COLUMN_NOTE);
    row_set(&n->text, text_get(&note));
    add_text(&row->note, "; ", "%s", n->text);
}

struct row_plan *row_add_plan(struct row *row)
{
    return row_add(row, COLUMN_PLAN);
}

struct row_launch *row_add_launch(struct row *row)
{
    return row_add(row, COLUMN_LAUNCH);
}

struct row_code *row_add_code(struct row *row)
{
    return row_add(row, COLUMN_CODE);
}

double row_code_heat(const struct row_code *code)
{
    return code->samples >= 0 ? code->samples : code->executed >= 0 ? code->executed : 0;
}

int row_code_order(const struct row_code *x, const struct row_code *y)
{
    double p = row_code_heat(x), q = row_code_heat(y);
    int moves = (y->sectors > 0 || y->wavefronts > 0) - (x->sectors > 0 || x->wavefronts > 0);
    return p != q ? (p < q) - (p > q) : moves ? moves : (x->address > y->address) - (x->address < y->address);
}

const struct row_pair *row_pair(const struct row_pair *pairs, int count, const char *name)
{
    return FIRST_IN(pairs, i, count, strcmp(pairs[i].name, name) == 0);
}

const char *row_pair_value(const struct row_pair *pairs, int count, const char *name)
{
    const struct row_pair *p = row_pair(pairs, count, name);
    return p ? p->value : NULL;
}

const char *row_axis(const struct row *row, const char *name)
{
    return row_pair_value(row->axis, row->axis_count, name);
}

enum time_mode row_time_mode(const struct row_time *t)
{
    return mode_of(t->cache, t->load);
}

void row_time_set_mode(struct row_time *t, enum time_mode mode)
{
    snprintf(t->cache, sizeof t->cache, "%s", mode_cache(mode));
    snprintf(t->load, sizeof t->load, "%s", mode_load(mode));
}

const struct row_time *row_time(const struct row *row, enum time_mode mode)
{
    for (int i = 0; i < row->time_count; i++) {
        const struct row_time *t = &row->times[i];
        if (t->step == -1 && row_time_mode(t) == mode)
            return t;
    }
    return NULL;
}

const struct row_metric *row_metric(const struct row *row, int step, const char *name)
{
    for (int i = 0; i < row->metric_count; i++) {
        const struct row_metric *m = &row->metrics[i];
        if (m->step == step && m->line == 0 && strcmp(m->name, name) == 0)
            return m;
    }
    return NULL;
}

double row_value(const struct row *row, int step, const char *name)
{
    const struct row_metric *m = row_metric(row, step, name);
    return m ? m->value : NAN;
}
