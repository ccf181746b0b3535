#include "run/message/members.h"
#include "base/text.h"
#include "plan/rows/plan.h"
#include <stdlib.h>

/* Records of `texts` consecutive texts. */
static json_t *write_records(const char *const *texts, int each)
{
    json_t *all = texts ? json_array() : NULL;
    for (; texts && *texts; texts += each)
        for (int i = 0; i < each; i++)
            json_array_append_new(all, texts[i] ? json_string(texts[i]) : json_null());
    return all;
}

static const char **read_records(const json_t *all, int each)
{
    size_t count = json_array_size(all);
    const char **texts = xcalloc(count + (size_t)each, sizeof *texts);
    for (size_t i = 0; i < count; i++)
        texts[i] = json_string_value(json_array_get(all, i));
    return texts;
}

/* [case, density, variant, params], ... */
static json_t *write_wishes(const struct scenario_wish *w)
{
    json_t *all = w ? json_array() : NULL;
    for (; w && w->case_id; w++)
        json_array_append_new(all, json_pack("[s,f,s?,s?]", w->case_id, w->density, w->variant, w->params));
    return all;
}

static struct scenario_wish *read_wishes(const json_t *all)
{
    size_t count = json_array_size(all);
    struct scenario_wish *wishes = xcalloc(count + 1, sizeof *wishes);
    for (size_t i = 0; i < count; i++) {
        const json_t *one = json_array_get(all, i);
        wishes[i] = (struct scenario_wish){json_string_value(json_array_get(one, 0)), json_number_value(json_array_get(one, 1)),
                                           json_string_value(json_array_get(one, 2)), json_string_value(json_array_get(one, 3))};
    }
    return wishes;
}

json_t *member_rows_write(const struct member_rows *rows)
{
    json_t *all = rows->at ? json_array() : NULL;
    for (int i = 0; rows->at && i < rows->count; i++)
        json_array_append_new(all, json_integer(rows->at[i]));
    return all;
}

struct member_rows member_rows_read(const json_t *all)
{
    struct member_rows rows = {xcalloc(json_array_size(all) + 1, sizeof *rows.at), (int)json_array_size(all)};
    for (int i = 0; i < rows.count; i++)
        rows.at[i] = (int)json_integer_value(json_array_get(all, (size_t)i));
    return rows;
}

void member_rows_free(struct member_rows *rows)
{
    free(rows->at);
}

static json_t *write_member(const struct member *m, const void *at)
{
    switch (m->kind) {
    case MEMBER_TEXT: return *(const char *const *)at ? json_string(*(const char *const *)at) : NULL;
    case MEMBER_FLAG: return json_boolean(*(const bool *)at);
    case MEMBER_INT: return json_integer(*(const int *)at);
    case MEMBER_REAL: return json_real(*(const double *)at);
    case MEMBER_WISHES: return write_wishes(*(const struct scenario_wish *const *)at);
    case MEMBER_TEXTS: return write_records(*(const char *const *const *)at, 1);
    case MEMBER_RECORDS: return write_records(*(const char *const *const *)at, m->texts);
    case MEMBER_ROWS: return member_rows_write(at);
    case MEMBER_JSON: return *(json_t *const *)at;
    }
    return NULL;
}

json_t *members_write(const struct member *table, int count, uint64_t which, const void *from, bool *whole)
{
    json_t *out = json_object();
    bool all = true;
    for (int i = 0; i < count; i++) {
        const void *at = (const char *)from + table[i].offset;
        json_t *value = which >> i & 1 ? write_member(&table[i], at) : NULL;
        if (value)
            json_object_set_new(out, table[i].name, value);
        else if (which >> i & 1 && table[i].kind == MEMBER_TEXT && *(const char *const *)at)
            all = false;
    }
    if (whole)
        *whole = all;
    return out;
}

void members_read(const struct member *table, int count, const json_t *object, void *to)
{
    for (int i = 0; i < count; i++) {
        json_t *value = json_object_get(object, table[i].name);
        void *at = (char *)to + table[i].offset;
        bool list = json_is_array(value);
        switch (table[i].kind) {
        case MEMBER_TEXT: *(const char **)at = json_string_value(value); break;
        case MEMBER_FLAG: *(bool *)at = json_is_true(value); break;
        case MEMBER_INT: *(int *)at = (int)json_integer_value(value); break;
        case MEMBER_REAL: *(double *)at = json_number_value(value); break;
        case MEMBER_WISHES: *(struct scenario_wish **)at = list ? read_wishes(value) : NULL; break;
        case MEMBER_TEXTS: *(const char ***)at = list ? read_records(value, 1) : NULL; break;
        case MEMBER_RECORDS: *(const char ***)at = list ? read_records(value, table[i].texts) : NULL; break;
        case MEMBER_ROWS: *(struct member_rows *)at = list ? member_rows_read(value) : (struct member_rows){0}; break;
        case MEMBER_JSON: *(json_t **)at = value; break;
        }
    }
}

void members_free(const struct member *table, int count, void *from)
{
    for (int i = 0; i < count; i++) {
        void *at = (char *)from + table[i].offset;
        switch (table[i].kind) {
        case MEMBER_WISHES:
        case MEMBER_TEXTS:
        case MEMBER_RECORDS: free(*(void **)at); break;
        case MEMBER_ROWS: member_rows_free(at); break;
        default: break;
        }
    }
}
