/* store/seal: SQLite has no checksum of what it stores, so a flipped bit in a value is read as another value. A finished run has a seal:
 * the SHA-256 of all of its lines, in the table `seal`. Only stored values count, each with its column's name, so that a column which a
 * later bench adds changes no seal. */
#include "base/hash.h"
#include "base/text.h"
#include "store/seal.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOOSE 0 /* the "run" of the lines that belong to no run */

static const char table[] = "CREATE TABLE IF NOT EXISTS seal (run INTEGER PRIMARY KEY, head TEXT NOT NULL, lines TEXT NOT NULL) STRICT";

/* The lines of a run in the order of their keys. Each reads from where rows.c reads: SQLite takes a value from an
 * index that has it, so a damaged table, or index, must be seen by both. */
#define CASES "SELECT x.* FROM \"case\" x NOT INDEXED WHERE x.run = ?1 ORDER BY x.case_key"
#define RESULTS "SELECT x.* FROM result x INDEXED BY result_row WHERE x.run = ?1 ORDER BY x.result"
#define ITEMS "SELECT x.* FROM result r INDEXED BY result_row JOIN \"%s\" x ON x.result = r.result WHERE r.run = ?1 ORDER BY x.result, x.%s"
#define LINES "SELECT x.* FROM \"%s\" x ORDER BY 1, 2, 3, 4"

bool seal_make_table(struct store *store, struct error *err)
{
    return store_exec(store, table, "making its tables", err);
}

/* A database that an older bench wrote, and that this one may not change, has no seals. */
static bool has_seals(struct store *store)
{
    SCOPED_BY(store_finalize) sqlite3_stmt *s = NULL;
    return sqlite3_prepare_v2(store->db, "SELECT run, head, lines FROM main.seal", -1, &s, NULL) == SQLITE_OK;
}

static void add_stored(struct hash *h, sqlite3_stmt *s, int i)
{
    int type = sqlite3_column_type(s, i);
    int64_t integer = sqlite3_column_int64(s, i);
    double real = sqlite3_column_double(s, i);
    hash_add_text(h, sqlite3_column_name(s, i));
    hash_add(h, &type, sizeof type);
    if (type == SQLITE_INTEGER)
        hash_add(h, &integer, sizeof integer);
    else if (type == SQLITE_FLOAT)
        hash_add(h, &real, sizeof real);
    else
        hash_add(h, sqlite3_column_blob(s, i), (size_t)sqlite3_column_bytes(s, i));
}

/* Adds what a query selects; *count grows by its lines. */
static bool add_lines(struct store *store, struct hash *h, const char *sql, int64_t run, int64_t *count, struct error *err)
{
    SCOPED_BY(store_finalize) sqlite3_stmt *s = NULL;
    int code;
    if (!store_prepare(store, sql, &s, err))
        return false;
    if (sqlite3_bind_parameter_count(s))
        sqlite3_bind_int64(s, 1, run);
    hash_add_text(h, sql);
    while ((code = sqlite3_step(s)) == SQLITE_ROW) {
        ++*count;
        hash_add_text(h, "line");
        for (int i = 0; i < sqlite3_column_count(s); i++)
            if (sqlite3_column_type(s, i) != SQLITE_NULL)
                add_stored(h, s, i);
    }
    return code == SQLITE_DONE || store_error(store, "reading its lines", err);
}

/* The SHA-256 of the run's own line, and of all others. */
static bool sum_head(struct store *store, int64_t run, char head[HASH_TEXT], struct error *err)
{
    struct hash *h = hash_begin();
    int64_t count = 0;
    bool ok = add_lines(store, h, "SELECT * FROM main.run WHERE run = ?1", run, &count, err);
    hash_end(h, head);
    return ok;
}

static bool sum_lines(struct store *store, int64_t run, char lines[HASH_TEXT], struct seal_count *count, struct error *err)
{
    static const char *const loose[] = {"wisdom", "roof", NULL};
    struct hash *h = hash_begin();
    int64_t cases = 0;
    bool ok = true;
    *count = (struct seal_count){0};
    for (int i = 0; ok && run == LOOSE && loose[i]; i++) {
        SCOPED char *sql = text_format(LINES, loose[i]);
        ok = add_lines(store, h, sql, run, &count->items, err);
    }
    if (run != LOOSE)
        ok = add_lines(store, h, CASES, run, &cases, err) && add_lines(store, h, RESULTS, run, &count->rows, err);
    for (const struct row_list *l = row_lists; ok && run != LOOSE && l->table; l++) {
        SCOPED char *sql = text_format(ITEMS, l->table, l->index);
        ok = add_lines(store, h, sql, run, &count->items, err);
    }
    hash_end(h, lines);
    return ok;
}

bool seal_write(struct store *store, int64_t run, struct error *err)
{
    SCOPED_BY(store_finalize) sqlite3_stmt *s = NULL;
    char head[HASH_TEXT] = "", lines[HASH_TEXT];
    struct seal_count count;
    if (!sum_head(store, run, head, err) || !sum_lines(store, run, lines, &count, err) ||
        !store_prepare(store, "INSERT OR REPLACE INTO main.seal (run, head, lines) VALUES (?1, ?2, ?3)", &s, err))
        return false;
    sqlite3_bind_int64(s, 1, run);
    sqlite3_bind_text(s, 2, head, -1, SQLITE_STATIC);
    sqlite3_bind_text(s, 3, lines, -1, SQLITE_STATIC);
    return sqlite3_step(s) == SQLITE_DONE || store_error(store, "sealing a run", err);
}

bool seal_loose(struct store *store, struct error *err)
{
    return seal_write(store, LOOSE, err);
}

bool seal_break(struct store *store, int64_t run, struct error *err)
{
    SCOPED char *sql = text_format("DELETE FROM main.seal WHERE run = %lld", (long long)run);
    return store_exec(store, sql, "taking up a run", err);
}

bool seal_missing(struct store *store, struct error *err)
{
    SCOPED_BY(store_finalize) sqlite3_stmt *s = NULL;
    SCOPED int64_t *runs = NULL;
    int count = 0;
    if (!store_exec(store, "DELETE FROM main.seal WHERE run > 0 AND run NOT IN (SELECT run FROM main.run)", "sealing a run", err) ||
        !store_prepare(store, "SELECT run FROM main.run WHERE run NOT IN (SELECT run FROM main.seal)", &s, err))
        return false;
    while (sqlite3_step(s) == SQLITE_ROW)
        *APPEND(runs, count) = sqlite3_column_int64(s, 0);
    bool ok = true;
    for (int i = 0; ok && i < count; i++)
        ok = seal_write(store, runs[i], err);
    return ok && seal_loose(store, err);
}

/* ---- checking ---- */

/* The stored sums of a run; false: it has no seal. */
static bool stored(struct store *store, int64_t run, char head[HASH_TEXT], char lines[HASH_TEXT])
{
    SCOPED_BY(store_finalize) sqlite3_stmt *s = NULL;
    if (sqlite3_prepare_v2(store->db, "SELECT head, lines FROM main.seal WHERE run = ?1", -1, &s, NULL) != SQLITE_OK)
        return false;
    sqlite3_bind_int64(s, 1, run);
    if (sqlite3_step(s) != SQLITE_ROW)
        return false;
    snprintf(head, HASH_TEXT, "%s", sqlite3_column_bytes(s, 0) ? (const char *)sqlite3_column_text(s, 0) : "");
    snprintf(lines, HASH_TEXT, "%s", sqlite3_column_bytes(s, 1) ? (const char *)sqlite3_column_text(s, 1) : "");
    return true;
}

static bool differs(struct store *store, int64_t run, struct error *err)
{
    SCOPED char *what =
        run == LOOSE ? xstrdup("its ceilings and tuned configurations are") : text_format("its run %lld is", (long long)run);
    error_set(err, ERROR_USAGE, "%s: damaged: %s not what bench stored (the checksum differs)", store->path, what);
    return error_hint(err, "restore a copy; if you changed it yourself: sqlite3 FILE 'DELETE FROM seal'");
}

bool seal_check_head(struct store *store, int64_t run, struct error *err)
{
    char head[HASH_TEXT], lines[HASH_TEXT], now[HASH_TEXT];
    if (!stored(store, run, head, lines))
        return true;
    return sum_head(store, run, now, err) && (!strcmp(now, head) || differs(store, run, err));
}

bool seal_check_lines(struct store *store, int64_t run, struct seal_count *count, struct error *err)
{
    char head[HASH_TEXT], lines[HASH_TEXT], now[HASH_TEXT];
    *count = (struct seal_count){-1, -1};
    if (!stored(store, run, head, lines))
        return true;
    return sum_lines(store, run, now, count, err) && (!strcmp(now, lines) || differs(store, run, err));
}

bool seal_check_loose(struct store *store, struct error *err)
{
    struct seal_count count;
    return seal_check_lines(store, LOOSE, &count, err);
}

bool seal_check_read(struct store *store, int64_t run, const struct seal_count *sealed, const struct seal_count *read, struct error *err)
{
    return sealed->rows < 0 || (sealed->rows == read->rows && sealed->items == read->items) || differs(store, run, err);
}

bool seal_check_runs(struct store *store, struct error *err)
{
    int64_t lost = 0;
    if (!has_seals(store))
        return true;
    /* A run without a number (a damaged schema) is in no list of `NOT IN`. */
    if (!store_integer(store,
                       "SELECT coalesce(min(s.run), 0) FROM main.seal s WHERE s.run > 0 AND NOT EXISTS (SELECT 1 FROM main.run r WHERE "
                       "r.run = s.run)",
                       &lost, err))
        return false;
    return !lost || differs(store, lost, err);
}

bool seal_check_all(struct store *store, struct error *err)
{
    SCOPED_BY(store_finalize) sqlite3_stmt *s = NULL;
    bool ok = seal_check_runs(store, err);
    if (!ok || !has_seals(store) || !store_prepare(store, "SELECT run FROM main.seal", &s, err))
        return ok;
    while (ok && sqlite3_step(s) == SQLITE_ROW) {
        int64_t run = sqlite3_column_int64(s, 0);
        struct seal_count count;
        ok = (run == LOOSE || seal_check_head(store, run, err)) && seal_check_lines(store, run, &count, err);
    }
    return ok;
}
