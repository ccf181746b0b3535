/* store/json: see json.h. */
#include "store/json.h"
#include "base/text.h"
#include <math.h>
#include <stdio.h>

/* Length of the UTF-8 character at s; 0: none that is valid. */
static size_t utf8_length(const unsigned char *s)
{
    size_t n = s[0] < 0x80 ? 1 : s[0] >= 0xc2 && s[0] < 0xe0 ? 2 : (s[0] & 0xf0) == 0xe0 ? 3 : s[0] >= 0xf0 && s[0] < 0xf5 ? 4 : 0;
    for (size_t i = 1; i < n; i++)
        if ((s[i] & 0xc0) != 0x80)
            return 0;
    bool overlong = (s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xf0 && s[1] < 0x90);
    bool beyond = (s[0] == 0xed && s[1] >= 0xa0) || (s[0] == 0xf4 && s[1] >= 0x90);
    return overlong || beyond ? 0 : n;
}

char *json_clean(const char *s)
{
    struct text t = {0};
    text_add(&t, "");
    while (*s) {
        size_t n = utf8_length((const unsigned char *)s);
        if (n)
            text_add_bytes(&t, s, n);
        else
            text_add(&t, "\xef\xbf\xbd");
        s += n ? n : 1;
    }
    return text_take(&t);
}

json_t *json_text(const char *s)
{
    SCOPED char *clean = json_clean(s);
    return json_string(clean);
}

void json_write(struct text *t, json_t *root)
{
    SCOPED char *dump = json_dumps(root, JSON_INDENT(1) | JSON_REAL_PRECISION(17));
    text_add(t, dump ? dump : "{}");
    text_add(t, "\n");
    json_decref(root);
}

json_t *json_finite(double v)
{
    return isfinite(v) ? json_real(v) : json_null();
}

/* A field's value; NULL if it is absent or not finite. */
static json_t *json_column(const struct column *c, const void *base)
{
    struct column_value v = column_get(c, base);
    if (v.absent)
        return NULL;
    if (v.text)
        return json_text(v.text);
    if (v.reals) {
        json_t *list = json_array();
        for (int i = 0; i < v.count; i++)
            json_array_append_new(list, json_finite(v.reals[i]));
        return list;
    }
    if (c->type == COLUMN_BOOL)
        return json_boolean(v.integer != 0);
    if (c->type == COLUMN_UINT64 && v.integer < 0) { /* above a JSON reader's int64 */
        char digits[32];
        snprintf(digits, sizeof digits, "%llu", (unsigned long long)(uint64_t)v.integer);
        return json_string(digits);
    }
    return !v.is_real ? json_integer(v.integer) : isfinite(v.real) ? json_real(v.real) : NULL;
}

void json_columns_add(json_t *object, enum column_group group, const void *base)
{
    for (const struct column *c = column_first(group); c; c = column_next(c)) {
        json_t *value = json_column(c, base);
        json_object_set_new(object, c->name, value ? value : json_null());
    }
}

bool json_column_take(const struct column *c, void *base, const json_t *value)
{
    struct column_value v = {.absent = !value || json_is_null(value)};
    bool ok = true;
    switch (c->type) {
    case COLUMN_TEXT:
    case COLUMN_NAME:
    case COLUMN_CHARS:
    case COLUMN_STATUS:
        v.text = json_string_value(value);
        ok = v.absent || v.text;
        break;
    case COLUMN_REAL:
    case COLUMN_REAL_NEG:
    case COLUMN_REAL_ZERO:
        v.is_real = true;
        v.real = json_number_value(value);
        ok = v.absent || json_is_number(value);
        break;
    case COLUMN_REALS: ok = v.absent; break; /* samples are not read from JSON */
    case COLUMN_BOOL:
        v.integer = json_is_true(value);
        ok = v.absent || json_is_boolean(value);
        break;
    default:
        v.integer = json_integer_value(value);
        ok = v.absent || json_is_integer(value);
        break;
    }
    if (ok)
        column_set(c, base, &v);
    return ok;
}

json_t *json_list(const struct row_list *list, const struct row *row)
{
    json_t *all = json_array();
    for (int i = 0; i < row_list_count(list, row); i++) {
        json_t *one = json_object();
        json_columns_add(one, list->group, row_list_at(list, row, i));
        json_array_append_new(all, one);
    }
    return all;
}
