#include "run/message/wire.h"
#include "store/json.h"
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

enum kind { KIND_ABSENT, KIND_TEXT, KIND_REALS, KIND_REAL, KIND_INTEGER };

struct writer {
    struct text *out;
    bool result, judged; /* only what a worker sets; with the status */
};

static void add_columns(const struct writer *w, enum column_group group, const void *base)
{
    for (const struct column *c = column_first(group); c; c = column_next(c)) {
        bool left_out = w->result && group == COLUMN_RESULT && !(c->type == COLUMN_STATUS ? w->judged : column_may_be_absent(c));
        struct column_value v = left_out ? (struct column_value){.absent = true} : column_get(c, base);
        SCOPED char *clean = w->result && v.text ? json_clean(v.text) : NULL;
        const char *text = clean ? clean : v.text;
        v.absent |= w->result && v.is_real && !isfinite(v.real);
        char kind = v.absent ? KIND_ABSENT : text ? KIND_TEXT : v.reals ? KIND_REALS : v.is_real ? KIND_REAL : KIND_INTEGER;
        int32_t length = text ? (int32_t)strlen(text) + 1 : v.count;
        text_add_bytes(w->out, &kind, 1);
        if (kind == KIND_TEXT || kind == KIND_REALS)
            text_add_bytes(w->out, &length, sizeof length);
        if (kind == KIND_TEXT)
            text_add_bytes(w->out, text, (size_t)length);
        else if (kind == KIND_REALS)
            text_add_bytes(w->out, v.reals, (size_t)length * sizeof *v.reals);
        else if (kind != KIND_ABSENT)
            text_add_bytes(w->out, kind == KIND_REAL ? (const void *)&v.real : &v.integer, 8);
    }
}

static void add_lists(const struct writer *w, const struct row *row)
{
    for (const struct row_list *l = row_lists; l->table; l++) {
        int count = row_list_count(l, row);
        text_add_bytes(w->out, &count, sizeof count);
        for (int i = 0; i < count; i++)
            add_columns(w, l->group, row_list_at(l, row, i));
    }
}

void wire_rows_add(struct text *t, int index, const struct row *row)
{
    const struct writer w = {.out = t};
    text_add_bytes(t, &index, sizeof index);
    add_columns(&w, COLUMN_CASE, row);
    add_columns(&w, COLUMN_RESULT, row);
    add_lists(&w, row);
}

/* Fields that cannot represent "unknown" are not sent: the parent's row keeps its identity. */
json_t *wire_row(const struct row *row, bool judged)
{
    SCOPED_TEXT t = {0};
    const struct writer w = {&t, true, judged};
    add_columns(&w, COLUMN_RESULT, row);
    add_lists(&w, row);
    return json_stringn_nocheck(text_get(&t), t.len);
}

/* What is left to read; at NULL: it ended too early. */
struct bytes {
    const char *at, *end;
};

static void take_bytes(struct bytes *b, void *to, size_t bytes)
{
    bool there = b->at && (size_t)(b->end - b->at) >= bytes;
    if (there)
        memcpy(to, b->at, bytes);
    b->at = there ? b->at + bytes : NULL;
}

/* Its text lies in the bytes, its reals in *reals, which the caller frees. At the end of the bytes b->at is NULL. */
static struct column_value take_value(struct bytes *b, double **reals)
{
    char kind = KIND_ABSENT;
    int32_t length = 0;
    take_bytes(b, &kind, 1);
    struct column_value v = {.absent = kind == KIND_ABSENT, .is_real = kind == KIND_REAL};
    if (kind == KIND_TEXT || kind == KIND_REALS)
        take_bytes(b, &length, sizeof length);
    else if (kind != KIND_ABSENT)
        take_bytes(b, kind == KIND_REAL ? (void *)&v.real : &v.integer, 8);
    size_t bytes = (size_t)length * (kind == KIND_REALS ? sizeof **reals : 1);
    if (b->at && (length < 0 || (size_t)(b->end - b->at) < bytes))
        b->at = NULL;
    if (!b->at)
        return v;
    if (kind == KIND_TEXT) {
        v.text = b->at;
    } else if (kind == KIND_REALS) {
        v.count = length;
        v.reals = *reals = memcpy(xmalloc(bytes + 1), b->at, bytes);
    }
    b->at = v.text && (length == 0 || v.text[length - 1]) ? NULL : b->at + bytes;
    return v;
}

static void take_column(struct bytes *b, const struct column *c, void *base)
{
    SCOPED double *reals = NULL;
    struct column_value v = take_value(b, &reals);
    if (b->at)
        column_set(c, base, &v);
}

/* `c`: the first column of the group. */
static void take_columns(struct bytes *b, const struct column *c, void *base)
{
    for (; c && b->at; c = column_next(c))
        take_column(b, c, base);
}

static void take_lists(struct bytes *b, struct row *row)
{
    for (const struct row_list *l = row_lists; l->table && b->at; l++) {
        int count = 0;
        take_bytes(b, &count, sizeof count);
        const struct column *first = count ? column_first(l->group) : NULL;
        for (int i = 0; i < count && b->at; i++)
            take_columns(b, first, row_list_add(l, row));
    }
}

struct row *wire_rows_next(const char **at, const char *end, int *index)
{
    if (*at == end)
        return NULL;
    struct bytes b = {*at, end};
    struct row *row = row_new();
    take_bytes(&b, index, sizeof *index);
    take_columns(&b, column_first(COLUMN_CASE), row);
    take_columns(&b, column_first(COLUMN_RESULT), row);
    take_lists(&b, row);
    if (b.at) {
        *at = b.at;
        return row;
    }
    row_free(row);
    return NULL;
}

/* ---- a worker's row into the parent's ---- */

/* If a row is timed once more, with rows that joined its case, its new times of a step and mode replace the old ones. */
static void drop_times(struct row *row, const struct row *from)
{
    int kept = 0;
    for (int i = 0; i < row->time_count; i++) {
        struct row_time one = row->times[i];
        bool again = false;
        for (int k = 0; k < from->time_count; k++)
            again |= from->times[k].step == one.step && row_time_mode(&from->times[k]) == row_time_mode(&one);
        if (again)
            columns_free(COLUMN_TIME, &row->times[i]);
        else
            row->times[kept++] = one;
    }
    row->time_count = kept;
}

/* Planning, checks, timing and counting each send their notes, and may send them twice. Other lists move. */
static void merge_list(const struct row_list *l, struct row *from, struct row *row)
{
    if (l->group == COLUMN_NOTE) {
        for (int i = 0; i < from->note_count; i++)
            row_add_note(row, "%s", from->notes[i].text);
        return;
    }
    if (l->anew && row_list_count(l, from))
        row_list_empty(l, row);
    if (l->group == COLUMN_TIME)
        drop_times(row, from);
    row_list_move(l, row, from);
}

void wire_row_merge(const json_t *packed, struct row *row)
{
    SCOPED_BY(row_leave) struct row *from = row_new();
    struct bytes b = {json_string_value(packed), json_string_value(packed) + json_string_length(packed)};
    for (const struct column *c = column_first(COLUMN_RESULT); c && b.at; c = column_next(c)) {
        SCOPED double *reals = NULL;
        struct column_value v = take_value(&b, &reals);
        if (b.at && !v.absent && c->offset != offsetof(struct row, note)) /* the list of notes replaces it */
            column_set(c, row, &v);
    }
    take_lists(&b, from);
    for (const struct row_list *l = row_lists; l->table && b.at; l++)
        merge_list(l, from, row);
    if (row_status_failed(row->status) && row->status != ROW_IMPOSSIBLE) /* those of an earlier comparison, in which it was right */
        row_drop_times(row);
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
    json_auto_t *parts = wire_parts(clock);
    for (int i = 0; i < clock->part_count; i++)
        clock->parts[i].spent_s = 0;
    if (json_array_size(parts))
        json_object_set(out, "parts", parts);
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
