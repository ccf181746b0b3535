/* report/export: rows as JSON and CSV (docs/EXPORT.md). Both are driven by the column table. */
#include "report/verdict.h"
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT_SCHEMA "bench.rows"
#define EXPORT_VERSION "2.0.0"

/* Bytes of the UTF-8 character at s; 0 when there is no valid one. */
static size_t utf8_length(const unsigned char *s)
{
    size_t n = s[0] < 0x80 ? 1 : s[0] >= 0xc2 && s[0] < 0xe0 ? 2 : (s[0] & 0xf0) == 0xe0 ? 3 : s[0] >= 0xf0 && s[0] < 0xf5 ? 4 : 0;
    for (size_t i = 1; i < n; i++) {
        if ((s[i] & 0xc0) != 0x80) {
            return 0;
        }
    }
    bool overlong = (s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xf0 && s[1] < 0x90);
    bool beyond = (s[0] == 0xed && s[1] >= 0xa0) || (s[0] == 0xf4 && s[1] >= 0x90);
    return overlong || beyond ? 0 : n;
}

/* What a kernel's file name or a compiler may hold: bytes that are no UTF-8 become U+FFFD, so that the document stays one. */
static json_t *json_text(const char *s)
{
    struct text t = {0};
    text_add(&t, "");
    while (*s) {
        size_t n = utf8_length((const unsigned char *)s);
        if (n) {
            text_add_bytes(&t, s, n);
        } else {
            text_add(&t, "\xef\xbf\xbd");
        }
        s += n ? n : 1;
    }
    json_t *j = json_string(text_get(&t));
    text_free(&t);
    return j;
}

/* An infinite number has no JSON and is as little known as NaN. */
static json_t *json_number(double v)
{
    return isfinite(v) ? json_real(v) : json_null();
}

static json_t *json_column(const struct column *c, const void *base)
{
    struct column_value v = column_get(c, base);
    if (v.absent) {
        return json_null();
    }
    if (v.text) {
        return json_text(v.text);
    }
    if (c->type == COLUMN_BOOL) {
        return json_boolean(v.integer != 0);
    }
    if (c->type == COLUMN_UINT64 && v.integer < 0) { /* above what a JSON reader's int64 holds */
        char digits[32];
        snprintf(digits, sizeof digits, "%llu", (unsigned long long)(uint64_t)v.integer);
        return json_string(digits);
    }
    return v.is_real ? json_number(v.real) : json_integer(v.integer);
}

static void add_group(json_t *object, enum column_group group, const void *base)
{
    for (const struct column *c = columns; c->name; c++) {
        if (c->group == group) {
            json_object_set_new(object, c->name, json_column(c, base));
        }
    }
}

static json_t *json_times(const struct row *row)
{
    json_t *list = json_array();
    for (int i = 0; i < row->time_count; i++) {
        json_t *time = json_object();
        add_group(time, COLUMN_TIME, &row->times[i]);
        json_t *samples = row->times[i].samples_ns ? json_array() : json_null();
        for (int r = 0; row->times[i].samples_ns && r < row->times[i].rounds; r++) {
            json_array_append_new(samples, json_number(row->times[i].samples_ns[r]));
        }
        json_object_set_new(time, "samples_ns", samples);
        json_array_append_new(list, time);
    }
    return list;
}

/* The verdict, the rules behind it, and the parts that the time is made of. */
static json_t *json_why(const struct case_view *c, const struct view *v)
{
    json_t *rules = json_array(), *parts = json_array();
    struct account a = account_of(c, v, 0);
    for (int i = 0; i < v->verdicts.count; i++) {
        const struct verdict *one = &v->verdicts.items[i];
        json_array_append_new(rules, json_pack("{s:s,s:s,s:i,s:o,s:o,s:o}", "binds", counter_bind_names[one->rule->binds], "rule",
                                               one->group->name, "step", one->step, "gain_percent", json_number(one->gain), "says",
                                               json_text(one->says), "try", json_text(one->remedy)));
    }
    for (int i = 0; i < a.count; i++) {
        json_t *part = json_pack("{s:o,s:o,s:o}", "part", json_text(a.parts[i].key), "what", json_text(a.parts[i].what), "ns",
                                 json_number(a.parts[i].ns));
        for (int k = 0; k < a.parts[i].place_count; k++) {
            if (!k)
                json_object_set_new(part, "places", json_array());
            json_array_append_new(json_object_get(part, "places"), json_pack("{s:o,s:o}", "at", json_text(a.parts[i].places[k].where), "ns",
                                                                             json_number(a.parts[i].places[k].ns)));
        }
        json_array_append_new(parts, part);
    }
    return json_pack("{s:o,s:o,s:o}", "binds", v->verdicts.count ? json_string(verdict_word(v)) : json_null(), "rules", rules, "account",
                     a.known ? parts : (json_decref(parts), json_null()));
}

static json_t *json_row(const struct case_view *c, const struct view *v)
{
    json_t *object = json_object(), *steps = json_array(), *metrics = json_array(), *derived = json_object();
    add_group(object, COLUMN_CASE, v->row);
    add_group(object, COLUMN_RESULT, v->row);
    for (int i = 0; i < v->row->step_count; i++) {
        json_t *step = json_object();
        add_group(step, COLUMN_STEP, &v->row->steps[i]);
        json_array_append_new(steps, step);
    }
    for (int i = 0; i < v->row->metric_count; i++) {
        json_t *metric = json_object();
        add_group(metric, COLUMN_METRIC, &v->row->metrics[i]);
        json_array_append_new(metrics, metric);
    }
    for (const struct column *k = columns; k->name; k++) {
        if (k->group == COLUMN_DERIVED && strcmp(k->name, "samples_ns") != 0) {
            json_object_set_new(derived, k->name, json_number(view_derived(v, k->name)));
        }
    }
    json_object_set_new(object, "derived", derived);
    json_object_set_new(object, "why", json_why(c, v));
    json_object_set_new(object, "steps", steps);
    json_object_set_new(object, "times", json_times(v->row));
    json_object_set_new(object, "metrics", metrics);
    return object;
}

static json_t *json_run(const struct run *run)
{
    json_t *object = json_object();
    add_group(object, COLUMN_RUN, run);
    json_t *environment = run->environment ? json_loads(run->environment, 0, NULL) : NULL;
    if (environment) { /* as the object it is, not as a text that holds one */
        json_object_set_new(object, "environment", environment);
    }
    return object;
}

void report_json(struct text *t, const struct run *run, struct row *const *rows, int count)
{
    json_t *list = json_array();
    struct judge judge;
    judge_open(&judge);
    for (struct case_walk w = {.run = run, .rows = rows, .count = count, .judge = &judge}; case_next(&w);) {
        for (int k = 0; k < w.view.count; k++) {
            json_array_append_new(list, json_row(&w.view, &w.view.views[k]));
        }
    }
    judge_close(&judge);
    json_t *document = json_object();
    json_object_set_new(document, "schema", json_string(EXPORT_SCHEMA));
    json_object_set_new(document, "version", json_string(EXPORT_VERSION));
    json_object_set_new(document, "run", json_run(run));
    json_object_set_new(document, "rows", list);
    /* 17 digits: every double comes back as it was. */
    char *dump = json_dumps(document, JSON_INDENT(1) | JSON_REAL_PRECISION(17));
    text_add(t, dump ? dump : "{}");
    text_add(t, "\n");
    free(dump);
    json_decref(document);
}

/* ---- CSV ---- */

/* STEP: of the longest step. TIME: of the headline mode. */
static const enum column_group csv_groups[] = {COLUMN_CASE, COLUMN_RESULT, COLUMN_STEP, COLUMN_TIME, COLUMN_DERIVED};

/* The shortest decimal that reads back as v. */
static void csv_number(struct text *t, double v)
{
    char digits[40];
    if (!isfinite(v)) {
        return;
    }
    for (int n = 15; n <= 17; n++) {
        snprintf(digits, sizeof digits, "%.*g", n, v);
        if (strtod(digits, NULL) == v) {
            break;
        }
    }
    text_add(t, digits);
}

static void csv_column(struct text *t, const struct column *c, const void *base)
{
    struct column_value v = {.absent = true};
    if (base) {
        v = column_get(c, base);
    }
    if (v.absent) {
        return;
    }
    if (v.text) {
        text_add_csv(t, v.text);
    } else if (v.is_real) {
        csv_number(t, v.real);
    } else {
        text_addf(t, "%lld", (long long)v.integer);
    }
}

/* Names of the metrics of whole rows, sorted: the columns at the end. */
static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int metric_columns(struct row *const *rows, int count, const char ***out)
{
    int n = 0, room = 0, distinct = 0;
    const char **names = NULL;
    for (int i = 0; i < count; i++) {
        for (int k = 0; k < rows[i]->metric_count; k++) {
            if (rows[i]->metrics[k].line != 0) {
                continue;
            }
            if (n == room) {
                room = room ? 2 * room : 64;
                names = xrealloc(names, (size_t)room * sizeof *names);
            }
            names[n++] = rows[i]->metrics[k].name;
        }
    }
    if (n) {
        qsort(names, (size_t)n, sizeof *names, compare_names);
    }
    for (int i = 0; i < n; i++) {
        if (i == 0 || strcmp(names[i], names[distinct - 1]) != 0) {
            names[distinct++] = names[i];
        }
    }
    *out = names;
    return distinct;
}

/* A variant's own column may be called what one of every row is, such as tiles_active. */
static bool is_column(const char *name)
{
    for (size_t g = 0; g < sizeof csv_groups / sizeof csv_groups[0]; g++) {
        for (const struct column *c = columns; c->name; c++) {
            if (c->group == csv_groups[g] && strcmp(c->name, name) == 0) {
                return true;
            }
        }
    }
    return false;
}

static void csv_row(struct text *t, const struct view *v, const char **metrics, int metric_count)
{
    const struct row *row = v->row;
    const void *step = v->step >= 0 ? &row->steps[v->step] : NULL;
    const char *comma = "";
    for (size_t g = 0; g < sizeof csv_groups / sizeof csv_groups[0]; g++) {
        for (const struct column *c = columns; c->name; c++) {
            if (c->group != csv_groups[g] || strcmp(c->name, "samples_ns") == 0) {
                continue;
            }
            text_add(t, comma);
            comma = ",";
            if (c->group == COLUMN_DERIVED) {
                csv_number(t, view_derived(v, c->name));
            } else {
                csv_column(t, c, c->group == COLUMN_STEP ? step : c->group == COLUMN_TIME ? (const void *)v->time : row);
            }
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
    const char **metrics;
    int metric_count = metric_columns(rows, count, &metrics);
    const char *comma = "";
    for (size_t g = 0; g < sizeof csv_groups / sizeof csv_groups[0]; g++) {
        for (const struct column *c = columns; c->name; c++) {
            if (c->group == csv_groups[g] && strcmp(c->name, "samples_ns") != 0) {
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
    for (struct case_walk w = {.run = run, .rows = rows, .count = count}; case_next(&w);) {
        for (int k = 0; k < w.view.count; k++) {
            csv_row(t, &w.view.views[k], metrics, metric_count);
        }
    }
    free(metrics);
}
