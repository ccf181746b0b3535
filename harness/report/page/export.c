/* report/page/export: rows as JSON and CSV (docs/EXPORT.md). Both are driven by the column table. */
#include "base/order.h"
#include "report/view/verdict.h"
#include "store/json.h"
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT_SCHEMA "bench.rows"
#define EXPORT_VERSION "2.12.0"

/* The verdict, the rules that hold, and the time breakdown. */
static json_t *json_why(const struct case_view *c, const struct view *v)
{
    json_t *rules = json_array(), *parts = json_array();
    struct breakdown a = breakdown_of(c, v, 0);
    for (int i = 0; i < v->verdicts.count; i++) {
        const struct verdict *one = &v->verdicts.items[i];
        json_array_append_new(rules,
                              json_pack("{s:s,s:s,s:i,s:b,s:o,s:o,s:o}", "bottleneck", counter_bottleneck_names[one->rule->bottleneck],
                                        "rule", one->group->name, "step", one->step, "as_likely", !i || one->close, "gain_percent",
                                        json_finite(one->gain), "says", json_text(one->says), "try", json_text(one->remedy)));
    }
    for (int i = 0; i < a.count; i++) {
        json_t *part = json_pack("{s:o,s:o,s:o}", "part", json_text(a.parts[i].key), "what", json_text(a.parts[i].what), "ns",
                                 json_finite(a.parts[i].ns));
        for (int k = 0; k < a.parts[i].place_count; k++) {
            if (!k)
                json_object_set_new(part, "places", json_array());
            json_array_append_new(json_object_get(part, "places"), json_pack("{s:o,s:o}", "at", json_text(a.parts[i].places[k].where), "ns",
                                                                             json_finite(a.parts[i].places[k].ns)));
        }
        json_array_append_new(parts, part);
    }
    return json_pack("{s:o,s:o,s:o}", "bottleneck", verdict_word(v)[0] ? json_string(verdict_word(v)) : json_null(), "rules", rules,
                     "breakdown", a.known ? parts : (json_decref(parts), json_null()));
}

static json_t *json_row(const struct case_view *c, const struct view *v)
{
    json_t *object = json_object(), *derived = json_object();
    json_columns_add(object, COLUMN_CASE, v->row);
    json_columns_add(object, COLUMN_RESULT, v->row);
    for (const struct column *k = column_first(COLUMN_DERIVED); k; k = column_next(k))
        json_object_set_new(derived, k->name, json_finite(view_derived(v, k->name)));
    json_object_set_new(object, "derived", derived);
    json_object_set_new(object, "why", json_why(c, v));
    for (const struct row_list *l = row_lists; l->table; l++)
        json_object_set_new(object, l->name, json_list(l, v->row));
    return object;
}

static json_t *json_run(const struct run *run)
{
    json_t *object = json_object();
    json_columns_add(object, COLUMN_RUN, run);
    json_t *environment = run->environment ? json_loads(run->environment, 0, NULL) : NULL;
    if (environment) /* as the object it is, not as a text that holds one */
        json_object_set_new(object, "environment", environment);
    return object;
}

void report_json(struct text *t, const struct run *run, struct row *const *rows, int count)
{
    json_t *list = json_array();
    struct judge judge;
    judge_open(&judge);
    for (struct case_walk w = {.run = run, .rows = rows, .count = count, .judge = &judge}; case_next(&w);)
        for (int k = 0; k < w.view.count; k++)
            json_array_append_new(list, json_row(&w.view, &w.view.views[k]));
    judge_close(&judge);
    json_t *document = json_object();
    json_object_set_new(document, "schema", json_string(EXPORT_SCHEMA));
    json_object_set_new(document, "version", json_string(EXPORT_VERSION));
    json_object_set_new(document, "run", json_run(run));
    json_object_set_new(document, "rows", list);
    json_write(t, document);
}

/* ---- CSV ---- */

/* STEP: of the longest step. TIME: of the headline mode. */
/* The shortest decimal that reads back as v. */
static void csv_number(struct text *t, double v)
{
    char digits[40];
    if (!isfinite(v))
        return;
    for (int n = 15; n <= 17; n++) {
        snprintf(digits, sizeof digits, "%.*g", n, v);
        if (strtod(digits, NULL) == v)
            break;
    }
    text_add(t, digits);
}

static void csv_column(struct text *t, const struct column *c, const void *base)
{
    struct column_value v = {.absent = true};
    if (base)
        v = column_get(c, base);
    if (v.absent)
        return;
    if (v.text)
        text_add_csv(t, v.text);
    else if (v.is_real)
        csv_number(t, v.real);
    else
        text_addf(t, "%lld", (long long)v.integer);
}

/* Names of the metrics of whole rows, sorted: the columns at the end. */
static int metric_columns(struct row *const *rows, int count, const char ***out)
{
    int n = 0, room = 0, distinct = 0;
    const char **names = NULL;
    for (int i = 0; i < count; i++) {
        for (int k = 0; k < rows[i]->metric_count; k++) {
            if (rows[i]->metrics[k].line != 0)
                continue;
            if (n == room) {
                room = room ? 2 * room : 64;
                names = xrealloc(names, (size_t)room * sizeof *names);
            }
            names[n++] = rows[i]->metrics[k].name;
        }
    }
    if (n)
        qsort(names, (size_t)n, sizeof *names, order_strings);
    for (int i = 0; i < n; i++)
        if (i == 0 || strcmp(names[i], names[distinct - 1]) != 0)
            names[distinct++] = names[i];
    *out = names;
    return distinct;
}

/* A variant's own column may have the name of a column that every row has, such as tiles_active. */
static bool is_column(const char *name)
{
    return ANY_OF(g, VIEW_GROUPS, column_find(view_groups[g], name));
}

static void csv_row(struct text *t, const struct view *v, const char **metrics, int metric_count)
{
    const struct row *row = v->row;
    const void *step = v->step >= 0 ? &row->steps[v->step] : NULL;
    const char *comma = "";
    for (size_t g = 0; g < VIEW_GROUPS; g++) {
        for (const struct column *c = column_first(view_groups[g]); c; c = column_next(c)) {
            if (c->type == COLUMN_REALS)
                continue;
            text_add(t, comma);
            comma = ",";
            if (c->group == COLUMN_DERIVED)
                csv_number(t, view_derived(v, c->name));
            else
                csv_column(t, c, c->group == COLUMN_STEP ? step : c->group == COLUMN_TIME ? (const void *)v->time : row);
        }
    }
    for (int i = 0; i < metric_count; i++) {
        text_add(t, ",");
        csv_number(t, view_total(v, metrics[i]));
    }
    text_add(t, "\r\n");
}

void report_csv(struct text *t, const struct run *run, struct row *const *rows, int count)
{
    SCOPED const char **metrics = NULL;
    int metric_count = metric_columns(rows, count, &metrics);
    const char *comma = "";
    for (size_t g = 0; g < VIEW_GROUPS; g++) {
        for (const struct column *c = column_first(view_groups[g]); c; c = column_next(c)) {
            if (c->type != COLUMN_REALS) {
                text_addf(t, "%s%s", comma, c->name);
                comma = ",";
            }
        }
    }
    for (int i = 0; i < metric_count; i++) {
        text_add(t, is_column(metrics[i]) ? ",metric." : ",");
        text_add_csv(t, metrics[i]);
    }
    text_add(t, "\r\n");
    for (struct case_walk w = {.run = run, .rows = rows, .count = count}; case_next(&w);)
        for (int k = 0; k < w.view.count; k++)
            csv_row(t, &w.view.views[k], metrics, metric_count);
}
