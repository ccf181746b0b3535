/* Binds and reads the columns of the column table. */
#include "base/text.h"
#include "store/database.h"
#include <endian.h>
#include <stdlib.h>
#include <string.h>

/* Reals are stored as little-endian float64. */
_Static_assert(__BYTE_ORDER == __LITTLE_ENDIAN, "reals are stored as they are in memory");

/* What the blob holds, malloc'd. */
static double *read_reals(sqlite3_stmt *statement, int index, struct column_value *v)
{
    size_t bytes = (size_t)sqlite3_column_bytes(statement, index);
    const void *blob = sqlite3_column_blob(statement, index);
    double *reals = xmalloc(bytes + 1);
    v->count = bytes % sizeof *reals ? 0 : (int)(bytes / sizeof *reals);
    if (blob)
        memcpy(reals, blob, bytes);
    return reals;
}

int columns_bind(sqlite3_stmt *statement, int first, enum column_group group, const void *base)
{
    for (const struct column *c = column_first(group); c; c = column_next(c)) {
        struct column_value v = column_get(c, base);
        if (v.absent)
            sqlite3_bind_null(statement, first);
        else if (v.reals)
            sqlite3_bind_blob64(statement, first, v.reals, (size_t)v.count * sizeof *v.reals, SQLITE_STATIC);
        else if (v.text)
            sqlite3_bind_text(statement, first, v.text, -1, SQLITE_STATIC);
        else if (v.is_real)
            sqlite3_bind_double(statement, first, v.real);
        else
            sqlite3_bind_int64(statement, first, v.integer);
        first++;
    }
    return first;
}

int columns_read(sqlite3_stmt *statement, int first, enum column_group group, void *base)
{
    for (const struct column *c = column_first(group); c; c = column_next(c)) {
        struct column_value v = {0};
        double *reals = NULL;
        switch (sqlite3_column_type(statement, first)) {
        case SQLITE_NULL: v.absent = true; break;
        case SQLITE_INTEGER: v.integer = sqlite3_column_int64(statement, first); break;
        case SQLITE_FLOAT:
            v.is_real = true;
            v.real = sqlite3_column_double(statement, first);
            break;
        case SQLITE_BLOB: v.reals = reals = read_reals(statement, first, &v); break;
        default: v.text = (const char *)sqlite3_column_text(statement, first); break;
        }
        column_set(c, base, &v);
        free(reals);
        first++;
    }
    return first;
}

void columns_list(struct text *t, enum column_group group, const char *prefix)
{
    const char *comma = "";
    for (const struct column *c = column_first(group); c; c = column_next(c)) {
        text_addf(t, "%s%s\"%s\"", comma, prefix, c->name);
        comma = ", ";
    }
}

int columns_count(enum column_group group)
{
    int count = 0;
    for (const struct column *c = column_first(group); c; c = column_next(c))
        count++;
    return count;
}
