/* store/merge: copies everything of one database into another, with SQL on both. The columns and lists come from the column table, so
 * that a new one needs no line here. */
#include "base/text.h"
#include "store/database.h"
#include "store/lock.h"
#include <string.h>
#include <sys/stat.h>

/* A run is known again by these: one process on one machine at one second. */
#define SAME_RUN \
    "a.started IS b.started AND a.host IS b.host AND a.argv IS b.argv AND a.run_device IS b.run_device AND a.uuid IS b.uuid AND" \
    " a.scenario_hash IS b.scenario_hash AND a.\"commit\" IS b.\"commit\""

/* Copies one table of one run: `lead` are its key columns, `values` what they become, `from` the join that gives both. */
static bool copy(struct store *store, const char *table, enum column_group group, const char *lead, const char *values, const char *from,
                 int64_t old_run, int64_t new_run, struct error *err)
{
    SCOPED_TEXT sql = {0};
    SCOPED_BY(store_finalize) sqlite3_stmt *s = NULL;
    text_addf(&sql, "INSERT INTO main.\"%s\" (%s, ", table, lead);
    columns_list(&sql, group, "");
    text_addf(&sql, ") SELECT %s, ", values);
    columns_list(&sql, group, "x.");
    text_addf(&sql, " FROM from_db.\"%s\" x %s", table, from);
    if (!store_prepare(store, text_get(&sql), &s, err))
        return false;
    sqlite3_bind_int64(s, 1, old_run);
    sqlite3_bind_int64(s, 2, new_run);
    return sqlite3_step(s) == SQLITE_DONE || store_error(store, "merging", err);
}

/* Copies the run itself, under the next number. */
static bool copy_head(struct store *store, int64_t old_run, int64_t *new_run, struct error *err)
{
    SCOPED_TEXT names = {0};
    columns_list(&names, COLUMN_RUN, "");
    SCOPED char *sql = text_format("INSERT INTO main.run (%s) SELECT NULL%s FROM from_db.run WHERE run = %lld", text_get(&names),
                                   text_get(&names) + strlen("\"run\""), (long long)old_run); /* the first column is the number */
    bool done = store_exec(store, sql, "merging", err);
    *new_run = sqlite3_last_insert_rowid(store->db);
    return done;
}

#define RESULTS \
    "JOIN from_db.result o ON o.result = x.result JOIN main.result n ON n.run = ?2 AND n.id = o.id AND n.device = o.device AND " \
    "n.side IS o.side WHERE o.run = ?1"

static bool copy_run(struct store *store, int64_t old_run, struct merge_counts *counts, struct error *err)
{
    int64_t new_run;
    bool done = copy_head(store, old_run, &new_run, err) &&
                copy(store, "case", COLUMN_CASE, "case_key, run", "NULL, ?2", "WHERE x.run = ?1", old_run, new_run, err) &&
                copy(store, "result", COLUMN_RESULT, "result, run, case_key", "NULL, ?2, n.case_key",
                     "JOIN from_db.\"case\" o ON o.case_key = x.case_key JOIN main.\"case\" n ON n.run = ?2 AND n.\"case\" = o.\"case\" "
                     "WHERE x.run = ?1 ORDER BY x.result",
                     old_run, new_run, err);
    counts->rows += done ? sqlite3_changes(store->db) : 0;
    for (const struct row_list *l = row_lists; done && l->table; l++) {
        SCOPED char *lead = text_format("result, %s", l->index), *values = text_format("n.result, x.%s", l->index);
        done = copy(store, l->table, l->group, lead, values, RESULTS, old_run, new_run, err);
    }
    counts->runs += done;
    return done;
}

/* Copies the runs that are missing here, or the given one. A run that is incomplete here and complete there is replaced. */
static bool copy_runs(struct store *store, int64_t only, struct merge_counts *counts, struct error *err)
{
    SCOPED int64_t *runs = NULL;
    int count = 0, code = SQLITE_DONE;
    SCOPED_BY(store_finalize) sqlite3_stmt *s = NULL;
    bool done =
        store_exec(store,
                   "DELETE FROM main.run AS b WHERE b.ended IS NULL AND EXISTS (SELECT 1 FROM from_db.run a WHERE a.ended IS NOT NULL "
                   "AND " SAME_RUN ")",
                   "merging", err) &&
        store_prepare(store,
                      "SELECT a.run, EXISTS (SELECT 1 FROM main.run b WHERE " SAME_RUN ") FROM from_db.run a ORDER BY a.started, a.run", &s,
                      err);
    while (done && (code = sqlite3_step(s)) == SQLITE_ROW) {
        if (sqlite3_column_int(s, 1)) {
            counts->runs_known++;
            continue;
        }
        if (only < 0 || sqlite3_column_int64(s, 0) == only)
            *APPEND(runs, count) = sqlite3_column_int64(s, 0);
    }
    done = done && (code == SQLITE_DONE || store_error(store, "merging", err));
    for (int i = 0; i < count && done; i++)
        done = copy_run(store, runs[i], counts, err);
    return done;
}

static bool copy_wisdom(struct store *store, struct merge_counts *counts, struct error *err)
{
    int64_t there = 0;
    SCOPED_TEXT names = {0};
    bool done = store_integer(store, "SELECT count(*) FROM from_db.wisdom", &there, err);
    columns_list(&names, COLUMN_WISDOM, "");
    SCOPED char *sql = text_format(
        "INSERT OR REPLACE INTO main.wisdom (%s) SELECT %s FROM from_db.wisdom a WHERE NOT EXISTS (SELECT 1 FROM main.wisdom b WHERE"
        " b.signature = a.signature AND b.variant = a.variant AND b.chip = a.chip AND b.compiler = a.compiler AND b.tuned >= a.tuned)",
        text_get(&names), text_get(&names));
    done = done && store_exec(store, sql, "merging", err);
    counts->wisdom = done ? sqlite3_changes(store->db) : 0;
    counts->wisdom_older = (int)there - counts->wisdom;
    return done;
}

/* What a GPU was measured to do: every measurement of every GPU, once. */
static bool copy_ceilings(struct store *store, int64_t only, struct error *err)
{
    SCOPED char *which =
        only < 0 ? xstrdup("") : text_format(" WHERE uuid IN (SELECT uuid FROM from_db.run WHERE run = %lld)", (long long)only);
    SCOPED char *sql =
        text_format("INSERT OR IGNORE INTO main.roof (uuid, measured, name, value, unit, how) SELECT uuid, measured, name, value, unit, "
                    "how FROM from_db.roof%s",
                    which);
    return store_exec(store, sql, "merging", err);
}

static bool attach(struct store *store, const char *from, struct error *err)
{
    SCOPED_BY(store_finalize) sqlite3_stmt *s = NULL;
    if (!store_prepare(store, "ATTACH ?1 AS from_db", &s, err))
        return false;
    sqlite3_bind_text(s, 1, from, -1, SQLITE_TRANSIENT);
    return sqlite3_step(s) == SQLITE_DONE || store_error(store, "opening the other database", err);
}

/* only: this run of the other alone; -1: all that it has. */
static bool merge(struct store *store, const char *from, int64_t only, struct merge_counts *counts, struct error *err)
{
    struct store *other = NULL;
    bool done = false, attached = false, begun = false;
    struct stat one, two;
    *counts = (struct merge_counts){0};
    if (!stat(store->path, &one) && !stat(from, &two) && one.st_dev == two.st_dev && one.st_ino == two.st_ino)
        return error_set(err, ERROR_USAGE, "%s: a database cannot be merged into itself", from);
    if (!store_writable(store, err) || !lock_take(store->path, &store->lock, err))
        return false;
    if (!store_open(from, true, &other, err)) /* is it ours and whole? An older schema is brought up to date. */
        goto done;
    store_close(other);
    if (!attach(store, from, err))
        goto done;
    attached = true;
    if (!store_exec(store, "BEGIN IMMEDIATE", "merging", err))
        goto done;
    begun = true;
    done = copy_runs(store, only, counts, err) && (only >= 0 || copy_wisdom(store, counts, err)) && copy_ceilings(store, only, err) &&
           store_exec(store, "COMMIT", "merging", err);
done:
    if (!done)
        error_where(err, "merging %s", from);
    if (begun && !done)
        sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL);
    if (attached)
        sqlite3_exec(store->db, "DETACH from_db", NULL, NULL, NULL);
    lock_release(&store->lock);
    return done;
}

bool store_merge(struct store *store, const char *from, struct merge_counts *counts, struct error *err)
{
    return merge(store, from, -1, counts, err);
}

bool store_merge_run(struct store *store, const char *from, int64_t run, struct error *err)
{
    struct merge_counts counts;
    return merge(store, from, run, &counts, err);
}
