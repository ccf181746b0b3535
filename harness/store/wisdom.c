/* store/wisdom: the best configurations that searches found. */
#include "base/text.h"
#include "store/database.h"
#include "store/json.h"
#include "store/seal.h"
#include <stdlib.h>
#include <string.h>

void wisdom_clear(struct wisdom *w)
{
    columns_free(COLUMN_WISDOM, w);
    memset(w, 0, sizeof *w);
}

void wisdom_free(struct wisdom *list, int count)
{
    for (int i = 0; i < count; i++)
        wisdom_clear(&list[i]);
    free(list);
}

bool store_wisdom_put(struct store *store, const struct wisdom *w, struct error *err)
{
    SCOPED_TEXT sql = {0};
    SCOPED_BY(store_finalize) sqlite3_stmt *s = NULL;
    if (!store_writable(store, err))
        return false;
    text_add(&sql, "INSERT OR REPLACE INTO wisdom (");
    columns_list(&sql, COLUMN_WISDOM, "");
    text_add(&sql, ") VALUES (?1");
    for (int i = 1; i < columns_count(COLUMN_WISDOM); i++)
        text_addf(&sql, ", ?%d", i + 1);
    text_add(&sql, ")");
    if (!store_prepare(store, text_get(&sql), &s, err) || !store_exec(store, "BEGIN IMMEDIATE", "remembering a point", err))
        return false;
    columns_bind(s, 1, COLUMN_WISDOM, w);
    bool done = sqlite3_step(s) == SQLITE_DONE || store_error(store, "remembering a point", err);
    return store_commit(store, done && seal_loose(store, err), "remembering a point", err);
}

int store_wisdom(struct store *store, struct wisdom **list, struct error *err)
{
    SCOPED_TEXT sql = {0};
    SCOPED_BY(store_finalize) sqlite3_stmt *s = NULL;
    int count = 0, code;
    *list = NULL;
    text_add(&sql, "SELECT ");
    columns_list(&sql, COLUMN_WISDOM, "");
    text_add(&sql, " FROM wisdom ORDER BY variant, work, signature, tuned DESC, chip, compiler");
    bool ready = seal_check_loose(store, err) && store_prepare(store, text_get(&sql), &s, err);
    if (!ready)
        return -1;
    while ((code = sqlite3_step(s)) == SQLITE_ROW) {
        struct wisdom *one = APPEND(*list, count);
        *one = (struct wisdom){0};
        columns_read(s, 0, COLUMN_WISDOM, one);
    }
    if (code == SQLITE_DONE)
        return count;
    store_error(store, "reading what was tuned", err);
    wisdom_free(*list, count);
    *list = NULL;
    return -1;
}

/* ---- as a file ---- */

#define SCHEMA "bench.wisdom"
#define VERSION "1.0.0"

void wisdom_write(struct text *t, const struct wisdom *list, int count)
{
    json_t *entries = json_array();
    for (int i = 0; i < count; i++) {
        json_t *one = json_object();
        json_columns_add(one, COLUMN_WISDOM, &list[i]);
        json_array_append_new(entries, one);
    }
    json_write(t, json_pack("{s:s,s:s,s:o}", "schema", SCHEMA, "version", VERSION, "wisdom", entries));
}

/* Sets one field from JSON. False if its type is not the column's, if it is missing but required, or if it would be cut. */
static bool take_value(const struct column *c, const json_t *value, struct wisdom *w)
{
    bool there = value && !json_is_null(value);
    if (c->type == COLUMN_CHARS && json_string_length(value) >= c->size)
        return false;
    return (there || column_may_be_absent(c)) && json_column_take(c, w, value);
}

static bool take_entry(const char *file, int index, const json_t *one, struct wisdom *w, struct error *err)
{
    for (const struct column *c = column_first(COLUMN_WISDOM); c; c = column_next(c))
        if (!take_value(c, json_object_get(one, c->name), w))
            return error_set(err, ERROR_USAGE, "%s: entry %d: '%s' is missing or has another type", file, index, c->name);
    bool hashes = strspn(w->signature, "0123456789abcdef") == HASH_TEXT - 1 && strspn(w->source_hash, "0123456789abcdef") == HASH_TEXT - 1;
    if (!hashes || !w->variant || !*w->variant || !w->chip || !*w->chip || !w->compiler || !*w->compiler || !w->tuned[0])
        return error_set(err, ERROR_USAGE, "%s: entry %d: signature, source_hash, variant, chip, compiler and tuned are all required", file,
                         index);
    if (strpbrk(w->variant, "\t\n") || strpbrk(w->params ? w->params : "", "\t\n"))
        return error_set(err, ERROR_USAGE, "%s: entry %d: a control character in a name", file, index);
    return true;
}

int wisdom_parse(const char *file, const char *text, size_t bytes, struct wisdom **list, struct error *err)
{
    json_error_t where;
    json_auto_t *whole = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, &where);
    json_t *entries = json_object_get(whole, "wisdom");
    const char *schema = json_string_value(json_object_get(whole, "schema")),
               *version = json_string_value(json_object_get(whole, "version"));
    *list = NULL;
    if (!whole) {
        error_set(err, ERROR_USAGE, "%s:%d:%d: %s", file, where.line, where.column, where.text);
        return -1;
    }
    if (!schema || strcmp(schema, SCHEMA) || !version || strncmp(version, "1.", 2) || !json_is_array(entries)) {
        error_set(err, ERROR_USAGE, "%s: not a file of " SCHEMA " " VERSION, file);
        error_hint(err, "bench tune --export FILE writes one");
        return -1;
    }
    int count = (int)json_array_size(entries);
    *list = xcalloc((size_t)count + 1, sizeof **list);
    for (int i = 0; i < count; i++)
        if (!take_entry(file, i, json_array_get(entries, (size_t)i), &(*list)[i], err)) {
            wisdom_free(*list, i + 1);
            *list = NULL;
            return -1;
        }
    return count;
}
