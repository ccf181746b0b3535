/* store/columns: the column table of row.h, made from fields.def; reads and sets a column's value. */
#include "store/store.h"
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define TYPE_TEXT COLUMN_TEXT
#define TYPE_NAME COLUMN_NAME
#define TYPE_CHARS(size) COLUMN_CHARS
#define TYPE_INT COLUMN_INT
#define TYPE_INT_NEG COLUMN_INT_NEG
#define TYPE_INT64 COLUMN_INT64
#define TYPE_INT64_NEG COLUMN_INT64_NEG
#define TYPE_UINT64 COLUMN_UINT64
#define TYPE_BOOL COLUMN_BOOL
#define TYPE_REAL COLUMN_REAL
#define TYPE_REAL_NEG COLUMN_REAL_NEG
#define TYPE_REAL_ZERO COLUMN_REAL_ZERO
#define TYPE_REALS COLUMN_REALS
#define TYPE_STATUS COLUMN_STATUS
#define LINE(group, noun, type, member, name, unit, what) \
    {name, unit, what, COLUMN_##group, TYPE_##type, (unsigned)offsetof(struct noun, member), (unsigned)sizeof(((struct noun *)0)->member)},
#define RUN(...) LINE(RUN, run, __VA_ARGS__)
#define RUN_PART(...) LINE(RUN, run, __VA_ARGS__)
#define CASE(...) LINE(CASE, row, __VA_ARGS__)
#define RESULT(...) LINE(RESULT, row, __VA_ARGS__)
#define AXIS(...) LINE(AXIS, row_pair, __VA_ARGS__)
#define PARAM(...) LINE(PARAM, row_pair, __VA_ARGS__)
#define NETWORK(...) LINE(NETWORK, row_network, __VA_ARGS__)
#define PART(...) LINE(PART, row_part, __VA_ARGS__)
#define NOTE(...) LINE(NOTE, row_note, __VA_ARGS__)
#define PLAN(...) LINE(PLAN, row_plan, __VA_ARGS__)
#define LAUNCH(...) LINE(LAUNCH, row_launch, __VA_ARGS__)
#define LAUNCH_PART(...) LINE(LAUNCH, row_launch, __VA_ARGS__)
#define STEP(...) LINE(STEP, row_step, __VA_ARGS__)
#define STEP_PART(...) LINE(STEP, row_step, __VA_ARGS__)
#define TIME(...) LINE(TIME, row_time, __VA_ARGS__)
#define CODE(...) LINE(CODE, row_code, __VA_ARGS__)
#define METRIC(...) LINE(METRIC, row_metric, __VA_ARGS__)
#define WISDOM(...) LINE(WISDOM, wisdom, __VA_ARGS__)
#define DERIVED(name, unit, what) {name, unit, what, COLUMN_DERIVED, COLUMN_NONE, 0, 0},
#define COUNTER(name, unit, what) {name, unit, what, COLUMN_COUNTER, COLUMN_NONE, 0, 0},

const struct column columns[] = {
#include "store/fields.def"
    {0},
};

static const struct column_value nothing = {.absent = true};

static struct column_value value_held(const struct column *column, const void *base)
{
    const void *p = (const char *)base + column->offset;
    switch (column->type) {
    case COLUMN_TEXT:
    case COLUMN_NAME: return (struct column_value){.text = *(char *const *)p};
    case COLUMN_CHARS: return (struct column_value){.text = p};
    case COLUMN_STATUS: return (struct column_value){.text = row_status_name(*(const enum row_status *)p)};
    case COLUMN_INT:
    case COLUMN_INT_NEG: return (struct column_value){.integer = *(const int *)p};
    case COLUMN_INT64:
    case COLUMN_INT64_NEG: return (struct column_value){.integer = *(const int64_t *)p};
    case COLUMN_UINT64: return (struct column_value){.integer = (int64_t) * (const uint64_t *)p};
    case COLUMN_BOOL: return (struct column_value){.integer = *(const bool *)p};
    case COLUMN_REAL:
    case COLUMN_REAL_NEG:
    case COLUMN_REAL_ZERO: return (struct column_value){.is_real = true, .real = *(const double *)p};
    case COLUMN_REALS: return (struct column_value){.reals = *(double *const *)p, .count = ((const struct row_time *)base)->rounds};
    case COLUMN_NONE: break;
    }
    return nothing;
}

struct column_value column_get(const struct column *column, const void *base)
{
    struct column_value v = value_held(column, base);
    switch (column->type) {
    case COLUMN_TEXT:
    case COLUMN_NAME:
    case COLUMN_CHARS: return v.text && v.text[0] ? v : nothing;
    case COLUMN_INT_NEG:
    case COLUMN_INT64_NEG: return v.integer >= 0 ? v : nothing;
    case COLUMN_REAL: return isnan(v.real) ? nothing : v;
    case COLUMN_REAL_NEG: return v.real >= 0 ? v : nothing;
    case COLUMN_REAL_ZERO: return v.real > 0 ? v : nothing;
    case COLUMN_REALS: return v.reals && v.count > 0 ? v : nothing;
    default: return v;
    }
}

static double *reals_copy(const struct column_value *value, const struct row_time *of)
{
    if (!value->reals || value->count <= 0 || value->count != of->rounds)
        return NULL;
    return memcpy(xmalloc((size_t)value->count * sizeof(double)), value->reals, (size_t)value->count * sizeof(double));
}

void column_set(const struct column *column, void *base, const struct column_value *value)
{
    void *p = (char *)base + column->offset;
    bool absent = value->absent;
    double number = value->is_real ? value->real : (double)value->integer;
    switch (column->type) {
    case COLUMN_TEXT: row_set(p, absent ? NULL : value->text); break;
    case COLUMN_NAME: row_set(p, absent || !value->text ? "" : value->text); break;
    case COLUMN_CHARS:
        memset(p, 0, column->size);
        if (!absent && value->text)
            memcpy(p, value->text, strnlen(value->text, column->size - 1));
        break;
    case COLUMN_STATUS: *(enum row_status *)p = row_status_parse(absent ? NULL : value->text); break;
    case COLUMN_INT: *(int *)p = absent ? 0 : (int)value->integer; break;
    case COLUMN_INT_NEG: *(int *)p = absent ? -1 : (int)value->integer; break;
    case COLUMN_INT64: *(int64_t *)p = absent ? 0 : value->integer; break;
    case COLUMN_INT64_NEG: *(int64_t *)p = absent ? -1 : value->integer; break;
    case COLUMN_UINT64: *(uint64_t *)p = absent ? 0 : (uint64_t)value->integer; break;
    case COLUMN_BOOL: *(bool *)p = !absent && value->integer != 0; break;
    case COLUMN_REAL: *(double *)p = absent ? NAN : number; break;
    case COLUMN_REAL_NEG: *(double *)p = absent ? -1 : number; break;
    case COLUMN_REAL_ZERO: *(double *)p = absent ? 0 : number; break;
    case COLUMN_REALS: {
        double *copy = absent ? NULL : reals_copy(value, base);
        free(*(double **)p);
        *(double **)p = copy;
        break;
    }
    case COLUMN_NONE: break;
    }
}

bool column_may_be_absent(const struct column *column)
{
    switch (column->type) {
    case COLUMN_INT:
    case COLUMN_INT64:
    case COLUMN_UINT64:
    case COLUMN_BOOL:
    case COLUMN_STATUS: return false;
    default: return true;
    }
}

const struct column *column_first(enum column_group group)
{
    const struct column *from = columns, *end = columns + sizeof columns / sizeof *columns - 1;
    while (from < end) { /* bisects */
        const struct column *half = from + (end - from) / 2;
        *(half->group < group ? &from : &end) = half->group < group ? half + 1 : half;
    }
    return from->name && from->group == group ? from : NULL;
}

const struct column *column_next(const struct column *column)
{
    return column[1].name && column[1].group == column->group ? column + 1 : NULL;
}

const struct column *column_find(enum column_group group, const char *name)
{
    const struct column *c = column_first(group);
    while (c && strcmp(c->name, name) != 0)
        c = column_next(c);
    return c;
}

void columns_clear(enum column_group group, void *base)
{
    for (const struct column *c = column_first(group); c; c = column_next(c)) {
        if (c->type == COLUMN_TEXT || c->type == COLUMN_NAME || c->type == COLUMN_REALS)
            *(void **)(void *)((char *)base + c->offset) = NULL;
        column_set(c, base, &nothing);
    }
}

void columns_free(enum column_group group, void *base)
{
    for (const struct column *c = column_first(group); c; c = column_next(c)) {
        if (c->type == COLUMN_TEXT || c->type == COLUMN_NAME || c->type == COLUMN_REALS) {
            free(*(void **)(void *)((char *)base + c->offset));
            *(void **)(void *)((char *)base + c->offset) = NULL;
        }
    }
}

void row_set(char **field, const char *value)
{
    char *copy = value ? xstrdup(value) : NULL; /* copy first: value may point into the field */
    free(*field);
    *field = copy;
}
