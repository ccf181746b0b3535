#include "message/wire.h"
#include "base/text.h"
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One table per struct: the way out and the way in cannot disagree. */
enum kind { TEXT, CHARS, REAL, INT, LONG, BOOL };
struct field {
    const char *name;
    enum kind kind;
    size_t offset, bytes;
};
#define F(type, member, kind) \
    { \
#member, kind, offsetof(struct type, member), sizeof(((struct type *)0)->member) \
    }
static const struct field row_fields[] = {
    F(row, reason, TEXT),        F(row, check, TEXT),        F(row, error_over_bound, REAL),
    F(row, dump, TEXT),          F(row, noise, REAL),        F(row, prepare_ns, REAL),
    F(row, first_call_ns, REAL), F(row, host_call_ns, REAL), F(row, workspace_bytes, LONG),
    F(row, engine, TEXT),        F(row, compiler, TEXT),     F(row, arch, TEXT),
    F(row, note, TEXT),          F(row, verdicts, TEXT),     F(row, kernels, TEXT),
    F(row, uncounted, TEXT),     F(row, state_bytes, LONG),  {NULL, TEXT, 0, 0},
};
static const struct field step_fields[] = {
    F(row_step, name, CHARS),
    F(row_step, kind, CHARS),
    F(row_step, prepare, BOOL),
    F(row_step, registers, INT),
    F(row_step, spill_store_bytes, INT),
    F(row_step, spill_load_bytes, INT),
    F(row_step, stack_bytes, INT),
    F(row_step, static_smem, INT),
    F(row_step, dynamic_smem, INT),
    F(row_step, constant_bytes, INT),
    F(row_step, code_bytes, INT),
    F(row_step, sass_hash, CHARS),
    F(row_step, blocks_per_sm, INT),
    F(row_step, warps_per_sm, INT),
    F(row_step, occupancy, REAL),
    F(row_step, limit, CHARS),
    F(row_step, lift, CHARS),
    F(row_step, waves, REAL),
    F(row_step, file, CHARS),
    {NULL, TEXT, 0, 0},
};
static const struct field time_fields[] = {
    F(row_time, step, INT),    F(row_time, cache, CHARS),    F(row_time, load, CHARS),      F(row_time, median_ns, REAL),
    F(row_time, low_ns, REAL), F(row_time, high_ns, REAL),   F(row_time, p05_ns, REAL),     F(row_time, p95_ns, REAL),
    F(row_time, ratio, REAL),  F(row_time, ratio_low, REAL), F(row_time, ratio_high, REAL), F(row_time, rounds, INT),
    {NULL, TEXT, 0, 0},
};
static const struct field metric_fields[] = {
    F(row_metric, step, INT),     F(row_metric, line, INT),   F(row_metric, name, CHARS), F(row_metric, unit, CHARS),
    F(row_metric, source, CHARS), F(row_metric, value, REAL), {NULL, TEXT, 0, 0},
};

static json_t *write_text(const char *s)
{
    json_t *j = json_string(s);
    return j ? j : json_string("(not UTF-8)"); /* a library's message may hold anything */
}

static json_t *write_fields(const struct field *fields, const void *from)
{
    json_t *out = json_object();
    for (; fields->name; fields++) {
        const char *at = (const char *)from + fields->offset;
        switch (fields->kind) {
        case TEXT:
            if (*(char *const *)at)
                json_object_set_new(out, fields->name, write_text(*(char *const *)at));
            break;
        case CHARS: json_object_set_new(out, fields->name, write_text(at)); break;
        case REAL: /* an absent number is left out */
            if (isfinite(*(const double *)at))
                json_object_set_new(out, fields->name, json_real(*(const double *)at));
            break;
        case INT: json_object_set_new(out, fields->name, json_integer(*(const int *)at)); break;
        case LONG: json_object_set_new(out, fields->name, json_integer(*(const int64_t *)at)); break;
        case BOOL: json_object_set_new(out, fields->name, json_boolean(*(const bool *)at)); break;
        }
    }
    return out;
}

static void read_fields(const struct field *fields, const json_t *from, void *to)
{
    for (; fields->name; fields++) {
        const json_t *j = json_object_get(from, fields->name);
        char *at = (char *)to + fields->offset;
        switch (fields->kind) {
        case TEXT:
            if (json_is_string(j))
                row_set((char **)at, json_string_value(j));
            break;
        case CHARS:
            if (json_is_string(j)) {
                strncpy(at, json_string_value(j), fields->bytes - 1);
                at[fields->bytes - 1] = 0;
            }
            break;
        case REAL:
            if (json_is_number(j))
                *(double *)at = json_number_value(j);
            break;
        case INT:
            if (json_is_integer(j))
                *(int *)at = (int)json_integer_value(j);
            break;
        case LONG:
            if (json_is_integer(j))
                *(int64_t *)at = json_integer_value(j);
            break;
        case BOOL:
            if (json_is_boolean(j))
                *(bool *)at = json_boolean_value(j);
            break;
        }
    }
}

static json_t *write_ints(const int64_t *v)
{
    return json_pack("[I,I,I]", (json_int_t)v[0], (json_int_t)v[1], (json_int_t)v[2]);
}

static void read_ints(const json_t *j, int64_t *v)
{
    for (size_t i = 0; i < 3 && json_is_integer(json_array_get(j, i)); i++)
        v[i] = json_integer_value(json_array_get(j, i));
}

json_t *wire_row(const struct row *row)
{
    json_t *out = write_fields(row_fields, row);
    json_object_set_new(out, "status", json_string(row_status_name(row->status)));
    json_t *steps = json_array(), *times = json_array(), *metrics = json_array();
    for (int i = 0; i < row->step_count; i++) {
        json_t *one = write_fields(step_fields, &row->steps[i]);
        json_object_set_new(one, "grid", write_ints(row->steps[i].grid));
        json_object_set_new(one, "block", write_ints(row->steps[i].block));
        json_array_append_new(steps, one);
    }
    for (int i = 0; i < row->time_count; i++) {
        json_t *one = write_fields(time_fields, &row->times[i]), *samples = json_array();
        for (int k = 0; row->times[i].samples_ns && k < row->times[i].rounds; k++)
            json_array_append_new(samples, json_real(row->times[i].samples_ns[k]));
        json_object_set_new(one, "samples", samples);
        json_array_append_new(times, one);
    }
    for (int i = 0; i < row->metric_count; i++)
        json_array_append_new(metrics, write_fields(metric_fields, &row->metrics[i]));
    json_object_set_new(out, "steps", steps);
    json_object_set_new(out, "times", times);
    json_object_set_new(out, "metrics", metrics);
    return out;
}

void wire_row_merge(const json_t *fields, struct row *row)
{
    size_t i;
    json_t *one;
    read_fields(row_fields, fields, row);
    const char *status = json_string_value(json_object_get(fields, "status"));
    if (status)
        row->status = row_status_parse(status);
    if (json_array_size(json_object_get(fields, "steps"))) {
        free(row->steps);
        row->steps = NULL;
        row->step_count = 0;
    }
    json_array_foreach(json_object_get(fields, "steps"), i, one)
    {
        struct row_step *step = row_add_step(row);
        read_fields(step_fields, one, step);
        read_ints(json_object_get(one, "grid"), step->grid);
        read_ints(json_object_get(one, "block"), step->block);
    }
    json_array_foreach(json_object_get(fields, "times"), i, one)
    {
        struct row_time *t = row_add_time(row);
        read_fields(time_fields, one, t);
        const json_t *samples = json_object_get(one, "samples");
        if (t->rounds > 0 && json_array_size(samples) == (size_t)t->rounds) {
            t->samples_ns = xcalloc((size_t)t->rounds, sizeof *t->samples_ns);
            for (int k = 0; k < t->rounds; k++)
                t->samples_ns[k] = json_number_value(json_array_get(samples, (size_t)k));
        }
    }
    json_array_foreach(json_object_get(fields, "metrics"), i, one)
    {
        struct row_metric m = {0};
        read_fields(metric_fields, one, &m);
        row_add_metric(row, m.step, m.line, m.name, m.unit, m.source, m.value);
    }
}

json_t *wire_chip(const struct chip *chip)
{
    const unsigned char *bytes = (const unsigned char *)chip;
    char hex[2 * sizeof *chip + 1];
    for (size_t i = 0; i < sizeof *chip; i++)
        snprintf(hex + 2 * i, 3, "%02x", bytes[i]);
    return json_string(hex);
}

bool wire_chip_read(const json_t *text, struct chip *chip)
{
    const char *hex = json_string_value(text);
    unsigned byte;
    if (!hex || strlen(hex) != 2 * sizeof *chip)
        return false;
    for (size_t i = 0; i < sizeof *chip; i++) {
        if (sscanf(hex + 2 * i, "%2x", &byte) != 1)
            return false;
        ((unsigned char *)chip)[i] = (unsigned char)byte;
    }
    return true;
}

json_t *wire_roofs(const struct roofs *roofs)
{
    json_t *out = json_pack("{s:s}", "measured", roofs->measured);
    for (int i = 0; i < roofs->count; i++) {
        const struct roof *r = &roofs->items[i];
        json_object_set_new(out, r->name, json_pack("{s:f,s:s,s:s}", "value", r->value, "unit", r->unit, "how", r->how));
    }
    return out;
}

void wire_roofs_read(const json_t *json, struct roofs *out)
{
    const char *name, *measured = json_string_value(json_object_get(json, "measured"));
    json_t *one;
    *out = (struct roofs){0};
    snprintf(out->measured, sizeof out->measured, "%s", measured ? measured : "");
    json_object_foreach((json_t *)json, name, one)
    {
        const char *unit = json_string_value(json_object_get(one, "unit")), *how = json_string_value(json_object_get(one, "how"));
        if (!json_is_object(one) || !unit || out->count == ROOFS_MAX)
            continue;
        struct roof *r = &out->items[out->count++];
        snprintf(r->name, sizeof r->name, "%s", name);
        snprintf(r->unit, sizeof r->unit, "%s", unit);
        snprintf(r->how, sizeof r->how, "%s", how ? how : "");
        r->value = json_number_value(json_object_get(one, "value"));
    }
}
