/* row/row: see row.h. */
#include "row/row.h"
#include "base/text.h"
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static const char *const status_names[ROW_STATUS_COUNT] = {
    [ROW_PLANNED] = "planned", [ROW_OK] = "ok",     [ROW_FOIL] = "foil",     [ROW_WRONG] = "wrong",           [ROW_UNSAFE] = "unsafe",
    [ROW_CRASHED] = "crashed", [ROW_HUNG] = "hung", [ROW_BROKEN] = "broken", [ROW_INFEASIBLE] = "infeasible", [ROW_SKIPPED] = "skipped",
};

const char *row_status_name(enum row_status s)
{
    return (unsigned)s < ROW_STATUS_COUNT ? status_names[s] : "planned";
}

enum row_status row_status_parse(const char *name)
{
    for (int i = 0; name && i < ROW_STATUS_COUNT; i++) {
        if (strcmp(name, status_names[i]) == 0) {
            return (enum row_status)i;
        }
    }
    return ROW_PLANNED; /* an unknown word promises nothing, so the row must be done again */
}

struct row *row_new(void)
{
    struct row *row = xcalloc(1, sizeof *row);
    row->repeat = 1;
    row->flop = row->bytes = NAN;
    row->density_in = row->density_out = -1;
    row->error_over_bound = row->noise = NAN;
    row->prepare_ns = row->first_call_ns = row->host_call_ns = NAN;
    row->scratch_bytes = row->workspace_bytes = -1;
    row->flop_useful = row->bytes_useful = row->flop_scheduled = NAN;
    row->tiles = row->tiles_active = row->tile_weight_bytes = row->state_bytes = -1;
    row->claims = -1;
    return row;
}

void row_free(struct row *row)
{
    if (!row) {
        return;
    }
    for (const struct column *c = columns; c->name; c++) {
        if ((c->group == COLUMN_CASE || c->group == COLUMN_RESULT) && c->type == COLUMN_TEXT) {
            free(*(char **)((char *)row + c->offset));
        }
    }
    for (int i = 0; i < row->time_count; i++) {
        free(row->times[i].samples_ns);
    }
    free(row->times);
    free(row->steps);
    free(row->metrics);
    free(row);
}

void row_set(char **field, const char *value)
{
    char *copy = value ? xstrdup(value) : NULL; /* first: value may be the field itself */
    free(*field);
    *field = copy;
}

/* Room for one more element, doubling; the new element is zeroed. */
static void *grow(void *array, int *count, size_t size)
{
    int n = *count;
    if ((n & (n - 1)) == 0) {
        array = xrealloc(array, (size_t)(n ? 2 * n : 1) * size);
    }
    memset((char *)array + (size_t)n * size, 0, size);
    *count = n + 1;
    return array;
}

struct row_metric *row_add_metric(struct row *row, int step, int line, const char *name, const char *unit, const char *source, double value)
{
    row->metrics = grow(row->metrics, &row->metric_count, sizeof *row->metrics);
    struct row_metric *m = &row->metrics[row->metric_count - 1];
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
    row->steps = grow(row->steps, &row->step_count, sizeof *row->steps);
    struct row_step *s = &row->steps[row->step_count - 1];
    for (int i = 0; i < 3; i++) {
        s->grid[i] = s->block[i] = -1;
    }
    s->registers = s->spill_store_bytes = s->spill_load_bytes = s->stack_bytes = -1;
    s->static_smem = s->dynamic_smem = s->constant_bytes = s->code_bytes = -1;
    s->blocks_per_sm = s->warps_per_sm = -1;
    s->occupancy = s->waves = -1;
    return s;
}

struct row_time *row_add_time(struct row *row)
{
    row->times = grow(row->times, &row->time_count, sizeof *row->times);
    struct row_time *t = &row->times[row->time_count - 1];
    t->step = -1;
    t->median_ns = t->low_ns = t->high_ns = t->p05_ns = t->p95_ns = NAN;
    t->ratio = t->ratio_low = t->ratio_high = NAN;
    return t;
}

const struct row_time *row_time(const struct row *row, const char *cache, const char *load)
{
    for (int i = 0; i < row->time_count; i++) {
        const struct row_time *t = &row->times[i];
        if (t->step == -1 && strcmp(t->cache, cache) == 0 && strcmp(t->load, load) == 0) {
            return t;
        }
    }
    return NULL;
}

const struct row_metric *row_metric(const struct row *row, int step, const char *name)
{
    for (int i = 0; i < row->metric_count; i++) {
        const struct row_metric *m = &row->metrics[i];
        if (m->step == step && m->line == 0 && strcmp(m->name, name) == 0) {
            return m;
        }
    }
    return NULL;
}

/* ---- the column table ---- */

static const struct column_value nothing = {.absent = true};

struct column_value column_get(const struct column *column, const void *base)
{
    const char *p = (const char *)base + column->offset;
    struct column_value v = {0};
    switch (column->type) {
    case COLUMN_TEXT: v.text = *(char *const *)(const void *)p; break;
    case COLUMN_CHARS: v.text = p; break;
    case COLUMN_STATUS: v.text = row_status_name(*(const enum row_status *)(const void *)p); break;
    case COLUMN_INT:
    case COLUMN_INT_NEG: v.integer = *(const int *)(const void *)p; break;
    case COLUMN_INT64:
    case COLUMN_INT64_NEG: v.integer = *(const int64_t *)(const void *)p; break;
    case COLUMN_UINT64: v.integer = (int64_t) * (const uint64_t *)(const void *)p; break;
    case COLUMN_BOOL: v.integer = *(const bool *)(const void *)p; break;
    case COLUMN_REAL:
    case COLUMN_REAL_NEG:
    case COLUMN_REAL_ZERO:
        v.is_real = true;
        v.real = *(const double *)(const void *)p;
        break;
    default: return nothing;
    }
    switch (column->type) {
    case COLUMN_TEXT:
    case COLUMN_CHARS: return v.text && v.text[0] ? v : nothing;
    case COLUMN_INT_NEG:
    case COLUMN_INT64_NEG: return v.integer >= 0 ? v : nothing;
    case COLUMN_REAL: return isnan(v.real) ? nothing : v;
    case COLUMN_REAL_NEG: return v.real >= 0 ? v : nothing;
    case COLUMN_REAL_ZERO: return v.real > 0 ? v : nothing;
    default: return v;
    }
}

void column_set(const struct column *column, void *base, const struct column_value *value)
{
    char *p = (char *)base + column->offset;
    bool absent = value->absent;
    double number = value->is_real ? value->real : (double)value->integer;
    switch (column->type) {
    case COLUMN_TEXT: row_set((char **)(void *)p, absent ? NULL : value->text); break;
    case COLUMN_CHARS:
        memset(p, 0, column->size);
        if (!absent && value->text) {
            memcpy(p, value->text, strnlen(value->text, column->size - 1));
        }
        break;
    case COLUMN_STATUS: *(enum row_status *)(void *)p = row_status_parse(absent ? NULL : value->text); break;
    case COLUMN_INT: *(int *)(void *)p = absent ? 0 : (int)value->integer; break;
    case COLUMN_INT_NEG: *(int *)(void *)p = absent ? -1 : (int)value->integer; break;
    case COLUMN_INT64: *(int64_t *)(void *)p = absent ? 0 : value->integer; break;
    case COLUMN_INT64_NEG: *(int64_t *)(void *)p = absent ? -1 : value->integer; break;
    case COLUMN_UINT64: *(uint64_t *)(void *)p = absent ? 0 : (uint64_t)value->integer; break;
    case COLUMN_BOOL: *(bool *)(void *)p = !absent && value->integer != 0; break;
    case COLUMN_REAL: *(double *)(void *)p = absent ? NAN : number; break;
    case COLUMN_REAL_NEG: *(double *)(void *)p = absent ? -1 : number; break;
    case COLUMN_REAL_ZERO: *(double *)(void *)p = absent ? 0 : number; break;
    case COLUMN_NONE: break;
    }
}

const struct column *column_find(enum column_group group, const char *name)
{
    for (const struct column *c = columns; c->name; c++) {
        if (c->group == group && strcmp(c->name, name) == 0) {
            return c;
        }
    }
    return NULL;
}

bool row_is_network(const struct row *row)
{
    return row->op && (!strcmp(row->op, "chain") || !strcmp(row->op, "sequence"));
}
