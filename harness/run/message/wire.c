#include "run/message/wire.h"
#include "store/json.h"
#include <stdio.h>
#include <string.h>

/* The parent's row keeps its identity. Fields that cannot represent "unknown" are not sent either, except the status. */
static bool is_sent(const struct column *c)
{
    return column_may_be_absent(c) || c->type == COLUMN_STATUS;
}

json_t *wire_row(const struct row *row)
{
    json_t *out = json_object();
    for (const struct column *c = column_first(COLUMN_RESULT); c; c = column_next(c)) {
        json_t *value = is_sent(c) ? json_column(c, row) : NULL;
        if (value)
            json_object_set_new(out, c->name, value);
    }
    for (const struct row_list *l = row_lists; l->table; l++)
        if (row_list_count(l, row))
            json_object_set_new(out, l->name, json_list(l, row, true));
    return out;
}

static const enum column_group row_groups[] = {COLUMN_CASE, COLUMN_RESULT};

json_t *wire_row_whole(const struct row *row)
{
    json_t *out = json_object();
    for (int i = 0; i < 2; i++)
        json_columns_add(out, row_groups[i], row, true);
    for (const struct row_list *l = row_lists; l->table; l++)
        if (row_list_count(l, row))
            json_object_set_new(out, l->name, json_list(l, row, true));
    return out;
}

struct row *wire_row_read(const json_t *json)
{
    size_t k;
    json_t *one;
    struct row *row = row_new();
    for (int i = 0; i < 2; i++)
        for (const struct column *c = column_first(row_groups[i]); c; c = column_next(c))
            json_column_take(c, row, json_object_get(json, c->name));
    for (const struct row_list *l = row_lists; l->table; l++)
        json_array_foreach(json_object_get(json, l->name), k, one)
        {
            void *to = row_list_add(l, row);
            for (const struct column *c = column_first(l->group); c; c = column_next(c))
                json_column_take(c, to, json_object_get(one, c->name));
        }
    return row;
}

static bool has_time(const json_t *times, const struct row_time *t)
{
    size_t i;
    json_t *one;
    json_array_foreach(times, i, one)
    {
        const char *cache = json_string_value(json_object_get(one, "cache")), *load = json_string_value(json_object_get(one, "load"));
        if (json_integer_value(json_object_get(one, "time_step")) == t->step && cache && load && mode_of(cache, load) == row_time_mode(t))
            return true;
    }
    return false;
}

/* If a row is timed once more, with rows that joined its case, its new times of a step and mode replace the old ones. */
static void drop_times(struct row *row, const json_t *times)
{
    int kept = 0;
    for (int i = 0; i < row->time_count; i++) {
        struct row_time one = row->times[i];
        if (has_time(times, &one))
            columns_free(COLUMN_TIME, &row->times[i]);
        else
            row->times[kept++] = one;
    }
    row->time_count = kept;
}

void wire_row_merge(const json_t *fields, struct row *row)
{
    size_t i;
    json_t *one;
    for (const struct column *c = column_first(COLUMN_RESULT); c; c = column_next(c)) {
        const json_t *value = is_sent(c) ? json_object_get(fields, c->name) : NULL;
        if (value && c->offset != offsetof(struct row, note)) /* the list of notes replaces it */
            json_column_take(c, row, value);
    }
    for (const struct row_list *l = row_lists; l->table; l++) {
        const json_t *list = json_object_get(fields, l->name);
        if (l->anew && json_array_size(list))
            row_list_empty(l, row);
        if (l->group == COLUMN_TIME)
            drop_times(row, list);
        json_array_foreach(list, i, one)
        {
            const char *note = l->group == COLUMN_NOTE ? json_string_value(json_object_get(one, "note_text")) : NULL;
            if (note) /* planning, checks, timing and counting each send their notes, and may send them twice */
                row_add_note(row, "%s", note);
            if (l->group == COLUMN_NOTE)
                continue;
            void *to = row_list_add(l, row);
            for (const struct column *c = column_first(l->group); c; c = column_next(c))
                json_column_take(c, to, json_object_get(one, c->name));
        }
    }
}

json_t *wire_parts(const struct phase_clock *clock)
{
    json_t *out = json_array();
    for (int i = 0; i < clock->part_count; i++) {
        const struct phase_part *part = &clock->parts[i];
        if (part->spent_s > 0)
            json_array_append_new(out, json_pack("[s,s,f]", phase_name(part->phase), part->name, part->spent_s));
    }
    return out;
}

void wire_parts_take(const json_t *parts, struct phase_clock *clock)
{
    size_t i;
    const json_t *one;
    json_array_foreach(parts, i, one)
    {
        const char *of = json_string_value(json_array_get(one, 1));
        enum phase phase = phase_find(json_string_value(json_array_get(one, 0)));
        struct phase_part *part = of && phase != PHASE_COUNT ? phase_part_find(clock, phase, of) : NULL;
        if (part)
            part->spent_s += json_number_value(json_array_get(one, 2));
    }
}

json_t *wire_spent(struct phase_clock *clock)
{
    json_t *out = json_object();
    phase_settle(clock);
    for (int i = 0; i < PHASE_COUNT; i++) {
        if (clock->spent_s[i] > 0 && i != PHASE_WAITING)
            json_object_set_new(out, phase_name((enum phase)i), json_real(clock->spent_s[i]));
        clock->spent_s[i] = 0;
    }
    json_t *parts = wire_parts(clock);
    for (int i = 0; i < clock->part_count; i++)
        clock->parts[i].spent_s = 0;
    if (json_array_size(parts))
        json_object_set(out, "parts", parts);
    json_decref(parts);
    return out;
}

void wire_spent_take(const json_t *spent, struct phase_clock *clock)
{
    const char *name;
    json_t *seconds;
    json_object_foreach((json_t *)(uintptr_t)spent, name, seconds)
    {
        enum phase phase = phase_find(name);
        if (phase != PHASE_COUNT)
            phase_move(clock, phase, json_number_value(seconds));
    }
    wire_parts_take(json_object_get(spent, "parts"), clock);
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

json_t *wire_roofs(const struct ceiling_list *roofs)
{
    json_t *out = json_pack("{s:s}", "measured", roofs->measured);
    for (int i = 0; i < roofs->count; i++) {
        const struct ceiling *r = &roofs->items[i];
        json_object_set_new(out, r->name, json_pack("{s:f,s:s,s:s}", "value", r->value, "unit", r->unit, "how", r->how));
    }
    return out;
}

void wire_roofs_read(const json_t *json, struct ceiling_list *out)
{
    const char *name, *measured = json_string_value(json_object_get(json, "measured"));
    json_t *one;
    *out = (struct ceiling_list){0};
    snprintf(out->measured, sizeof out->measured, "%s", measured ? measured : "");
    json_object_foreach((json_t *)json, name, one)
    {
        const char *unit = json_string_value(json_object_get(one, "unit")), *how = json_string_value(json_object_get(one, "how"));
        if (!json_is_object(one) || !unit || out->count == ROOFS_MAX)
            continue;
        struct ceiling *r = &out->items[out->count++];
        snprintf(r->name, sizeof r->name, "%s", name);
        snprintf(r->unit, sizeof r->unit, "%s", unit);
        snprintf(r->how, sizeof r->how, "%s", how ? how : "");
        r->value = json_number_value(json_object_get(one, "value"));
    }
}
