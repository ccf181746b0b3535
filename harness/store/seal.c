/* store/seal: SQLite has no checksum of what it stores, so it would return a value with a flipped bit as another value. A finished run
 * has a seal in the table `seal`: the SHA-256 of its own line, and the sum of its rows and cases. Only stored values count, each with
 * its column's name, so that a column which a later bench adds changes no seal. bench computes the sum of a row when it stores the row,
 * keeps it beside the row (result.sum), and copies both into other databases: a seal reads no row again. A sum does not protect against
 * forgery. */
#include "base/hash.h"
#include "base/text.h"
#include "store/seal.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOOSE 0      /* the "run" of the lines that belong to no run */
#define SUM "sum 1 " /* begins the seal of a run's lines; an older bench wrote a SHA-256, which is not checked */
#define COLUMNS_MAX 256

static const char table[] = "CREATE TABLE IF NOT EXISTS seal (run INTEGER PRIMARY KEY, head TEXT NOT NULL, lines TEXT NOT NULL) STRICT";

/* The lines of a run in the order of their keys. Each query reads from the same place as rows.c: SQLite takes a value from an index that
 * contains it, so both must see a damaged table, or index. */
#define CASES "SELECT x.* FROM \"case\" x NOT INDEXED WHERE x.run = ?1 ORDER BY x.case_key"
#define RESULTS \
    "SELECT x.*, (SELECT c.\"case\" FROM \"case\" c WHERE c.case_key = +x.case_key) case_of FROM result x INDEXED BY result_row WHERE " \
    "x.run = ?1 ORDER BY x.result"
#define ITEMS "SELECT x.* FROM result r INDEXED BY result_row JOIN \"%s\" x ON x.result = r.result WHERE r.run = ?1 ORDER BY x.result, x.%s"
#define LINES "SELECT x.* FROM \"%s\" x ORDER BY 1, 2, 3, 4"

/* ---- sums ---- */

/* A bijection of 64 bits, after Pelle Evensen's rrmxmx and the like: xor-shifts and odd multipliers. */
static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 32) * 0xd6e8feb86659fd93u;
    x = (x ^ x >> 32) * 0xd6e8feb86659fd93u;
    return x ^ x >> 32;
}

static uint64_t bytes_sum(uint64_t key, const void *data, size_t bytes)
{
    uint64_t h = key, word = 0;
    const char *at = data;
    for (size_t left = bytes; left; left -= left < 8 ? left : 8, at += 8) {
        word = 0;
        memcpy(&word, at, left < 8 ? left : 8);
        h = mix(h ^ word);
    }
    return mix(h + bytes);
}

static uint64_t column_key(const char *of, const char *name)
{
    return bytes_sum(bytes_sum(1, of, strlen(of)), name, strlen(name));
}

/* A value of SQLite's type, in line `index` of its list. A sum of such is one of a line: the order of columns does not matter. */
static uint64_t value_sum(uint64_t key, int64_t index, int type, const void *data, size_t bytes)
{
    return bytes_sum(mix(key + (uint64_t)index * 8 + (uint64_t)type), data, bytes);
}

static void columns_keys(enum column_group group, const char *of, uint64_t keys[COLUMNS_MAX])
{
    for (const struct column *c = column_first(group); c; c = column_next(c))
        *keys++ = column_key(of, c->name);
}

/* `c`: the first column of the group. */
static uint64_t columns_sum(const struct column *c, const uint64_t *keys, int64_t index, const void *base)
{
    uint64_t sum = 0, key;
    for (; c; c = column_next(c)) {
        struct column_value v = column_get(c, base);
        key = *keys++;
        double real = v.real + 0.0; /* SQLite keeps no -0 */
        if (v.absent)
            continue;
        if (v.text)
            sum += value_sum(key, index, SQLITE_TEXT, v.text, strlen(v.text));
        else if (v.reals)
            sum += value_sum(key, index, SQLITE_BLOB, v.reals, (size_t)v.count * sizeof *v.reals);
        else if (v.is_real)
            sum += value_sum(key, index, SQLITE_FLOAT, &real, sizeof real);
        else
            sum += value_sum(key, index, SQLITE_INTEGER, &v.integer, sizeof v.integer);
    }
    return sum;
}

int64_t seal_row(const struct row *row)
{
    uint64_t keys[COLUMNS_MAX];
    columns_keys(COLUMN_RESULT, "result", keys);
    uint64_t sum = columns_sum(column_first(COLUMN_RESULT), keys, 0, row);
    sum += value_sum(column_key("result", "case_of"), 0, SQLITE_TEXT, row->case_id, strlen(row->case_id));
    for (const struct row_list *l = row_lists; l->table; l++) {
        const struct column *first = row_list_count(l, row) ? column_first(l->group) : NULL;
        if (first)
            columns_keys(l->group, l->table, keys);
        for (int i = 0; i < row_list_count(l, row); i++)
            sum += columns_sum(first, keys, i, row_list_at(l, row, i));
    }
    return (int64_t)mix(sum);
}

/* The keys of a statement's columns; 0: the column numbers something, and another database numbers it otherwise. */
static void statement_keys(sqlite3_stmt *s, const char *of, const char *index, uint64_t keys[COLUMNS_MAX])
{
    static const char *const numbers[] = {"result", "run", "case_key", "sum", NULL};
    for (int i = 0; i < sqlite3_column_count(s) && i < COLUMNS_MAX; i++) {
        const char *name = sqlite3_column_name(s, i);
        keys[i] = index && !strcmp(name, index) ? 0 : column_key(of, name);
        for (int k = 0; numbers[k]; k++)
            keys[i] = strcmp(name, numbers[k]) ? keys[i] : 0;
    }
}

static uint64_t line_sum(sqlite3_stmt *s, const uint64_t *keys, int64_t index)
{
    uint64_t sum = 0;
    for (int i = 0; i < sqlite3_column_count(s) && i < COLUMNS_MAX; i++) {
        int type = sqlite3_column_type(s, i);
        int64_t integer = sqlite3_column_int64(s, i);
        double real = sqlite3_column_double(s, i);
        if (type == SQLITE_NULL || !keys[i])
            continue;
        bool fixed = type == SQLITE_INTEGER || type == SQLITE_FLOAT;
        const void *data = fixed ? (type == SQLITE_FLOAT ? (const void *)&real : &integer) : sqlite3_column_blob(s, i);
        sum += value_sum(keys[i], index, type, data, fixed ? 8 : (size_t)sqlite3_column_bytes(s, i));
    }
    return sum;
}

/* Calls `take` with each line of a query and its sum. The first column numbers the line; of a list's, the second is its index. */
typedef void take_line(void *context, int64_t number, uint64_t sum);
static bool each_line(struct store *store, const char *sql, int64_t run, const char *of, const char *index, take_line *take, void *context,
                      struct error *err)
{
    SCOPED_BY(store_finalize) sqlite3_stmt *s = NULL;
    uint64_t keys[COLUMNS_MAX];
    int code;
    if (!store_prepare(store, sql, &s, err))
        return false;
    sqlite3_bind_int64(s, 1, run);
    statement_keys(s, of, index, keys);
    while ((code = sqlite3_step(s)) == SQLITE_ROW)
        take(context, sqlite3_column_int64(s, 0), line_sum(s, keys, index ? sqlite3_column_int64(s, 1) : 0));
    return code == SQLITE_DONE || store_error(store, "reading its lines", err);
}

/* What a run's lines sum up to. */
struct sums {
    struct row_sum {
        int64_t result;
        uint64_t sum;
    } * rows; /* by result */
    int64_t count, room, at, items;
    uint64_t cases;
};

static void take_case(void *context, int64_t number, uint64_t sum)
{
    struct sums *all = context;
    all->cases += mix(sum);
}

static void take_result(void *context, int64_t number, uint64_t sum)
{
    struct sums *all = context;
    if (all->count == all->room) {
        all->room = all->room ? 2 * all->room : 64;
        all->rows = xrealloc(all->rows, (size_t)all->room * sizeof *all->rows);
    }
    all->rows[all->count++] = (struct row_sum){number, sum};
}

static void take_item(void *context, int64_t number, uint64_t sum)
{
    struct sums *all = context;
    while (all->at < all->count && all->rows[all->at].result < number)
        all->at++;
    if (all->at < all->count && all->rows[all->at].result == number)
        all->rows[all->at].sum += sum;
    all->items++;
}

static void write_sum(char lines[HASH_TEXT], uint64_t sum, int64_t rows)
{
    snprintf(lines, HASH_TEXT, SUM "%016llx %lld", (unsigned long long)sum, (long long)rows);
}

/* Reads every line of the run. */
static bool sum_run(struct store *store, int64_t run, char lines[HASH_TEXT], struct seal_count *count, struct error *err)
{
    struct sums all = {0};
    bool ok = each_line(store, CASES, run, "case", NULL, take_case, &all, err) &&
              each_line(store, RESULTS, run, "result", NULL, take_result, &all, err);
    for (const struct row_list *l = row_lists; ok && l->table; l++) {
        SCOPED char *sql = text_format(ITEMS, l->table, l->index);
        all.at = 0;
        ok = each_line(store, sql, run, l->table, l->index, take_item, &all, err);
    }
    uint64_t sum = all.cases;
    for (int64_t i = 0; i < all.count; i++)
        sum += mix(all.rows[i].sum);
    write_sum(lines, sum, all.count);
    *count = (struct seal_count){all.count, all.items};
    free(all.rows);
    return ok;
}

/* Adds up the sums that lie beside the rows. *known false: a row has none, as an older bench or a change by SQL leaves it. */
static bool sum_known(struct store *store, int64_t run, char lines[HASH_TEXT], bool *known, struct error *err)
{
    SCOPED_BY(store_finalize) sqlite3_stmt *s = NULL;
    struct sums all = {0};
    int code = SQLITE_DONE;
    int64_t rows = 0;
    *known = true;
    if (!each_line(store, CASES, run, "case", NULL, take_case, &all, err) ||
        !store_prepare(store, "SELECT x.sum FROM result x INDEXED BY result_row WHERE x.run = ?1", &s, err))
        return false;
    sqlite3_bind_int64(s, 1, run);
    for (; *known && (code = sqlite3_step(s)) == SQLITE_ROW; rows++) {
        *known = sqlite3_column_type(s, 0) == SQLITE_INTEGER;
        all.cases += (uint64_t)sqlite3_column_int64(s, 0);
    }
    write_sum(lines, all.cases, rows);
    return !*known || code == SQLITE_DONE || store_error(store, "sealing a run", err);
}

/* ---- writing ---- */

bool seal_make_table(struct store *store, struct error *err)
{
    int64_t there = 0;
    return store_exec(store, table, "making its tables", err) &&
           store_integer(store, "SELECT count(*) FROM pragma_table_info('result') WHERE name = 'sum'", &there, err) &&
           (there || store_exec(store, "ALTER TABLE result ADD COLUMN sum INTEGER", "adding a column", err));
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

/* The SHA-256 of the lines that belong to no run. */
static bool sum_loose(struct store *store, char lines[HASH_TEXT], struct error *err)
{
    static const char *const loose[] = {"wisdom", "roof", NULL};
    struct hash *h = hash_begin();
    int64_t count = 0;
    bool ok = true;
    for (int i = 0; ok && loose[i]; i++) {
        SCOPED char *sql = text_format(LINES, loose[i]);
        ok = add_lines(store, h, sql, LOOSE, &count, err);
    }
    hash_end(h, lines);
    return ok;
}

bool seal_write(struct store *store, int64_t run, struct error *err)
{
    SCOPED_BY(store_finalize) sqlite3_stmt *s = NULL;
    char head[HASH_TEXT] = "", lines[HASH_TEXT];
    struct seal_count ignored;
    bool known = true;
    if (!sum_head(store, run, head, err) || !(run == LOOSE ? sum_loose(store, lines, err) : sum_known(store, run, lines, &known, err)) ||
        (!known && !sum_run(store, run, lines, &ignored, err)) ||
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
    bool ok = ALL_OF(i, count, seal_write(store, runs[i], err));
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
    return error_hint(err, "restore a copy; if you changed it yourself: sqlite3 FILE 'DELETE FROM seal; UPDATE result SET sum = NULL'");
}

/* True: an ended run whose rows have sums has lost its seal. */
static bool lost(struct store *store, int64_t run)
{
    SCOPED_BY(store_finalize) sqlite3_stmt *s = NULL;
    static const char sql[] = "SELECT 1 FROM main.run r WHERE r.run = ?1 AND r.ended IS NOT NULL AND EXISTS (SELECT 1 FROM main.result x "
                              "WHERE x.run = ?1 AND x.sum IS NOT NULL)";
    if (sqlite3_prepare_v2(store->db, sql, -1, &s, NULL) != SQLITE_OK) /* of an older bench */
        return false;
    sqlite3_bind_int64(s, 1, run);
    return sqlite3_step(s) == SQLITE_ROW;
}

static bool is_of_an_older_bench(const char *lines)
{
    return strlen(lines) == HASH_TEXT - 1; /* a sum is shorter */
}

bool seal_check_head(struct store *store, int64_t run, struct error *err)
{
    char head[HASH_TEXT], lines[HASH_TEXT], now[HASH_TEXT];
    if (!stored(store, run, head, lines))
        return !lost(store, run) || differs(store, run, err);
    return sum_head(store, run, now, err) && (!strcmp(now, head) || differs(store, run, err));
}

bool seal_check_lines(struct store *store, int64_t run, struct seal_count *count, struct error *err)
{
    char head[HASH_TEXT], lines[HASH_TEXT] = "", now[HASH_TEXT];
    *count = (struct seal_count){-1, -1};
    if (!stored(store, run, head, lines) || is_of_an_older_bench(lines))
        return true;
    return sum_run(store, run, now, count, err) && (!strcmp(now, lines) || differs(store, run, err));
}

bool seal_check_loose(struct store *store, struct error *err)
{
    char head[HASH_TEXT], lines[HASH_TEXT], now[HASH_TEXT];
    if (!stored(store, LOOSE, head, lines))
        return true;
    return sum_loose(store, now, err) && (!strcmp(now, lines) || differs(store, LOOSE, err));
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
        ok = run == LOOSE ? seal_check_loose(store, err) : seal_check_head(store, run, err) && seal_check_lines(store, run, &count, err);
    }
    return ok;
}
