/* row/merge: everything of one database into another, by SQL on both at once. Columns are taken from the schema itself, so that a new one
 * needs no line here; a new table does (a test of the store says so). */
#include "base/file.h"
#include "base/text.h"
#include "row/database.h"
#include "row/lock.h"
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* A run is known again by these: one process on one machine at one second. */
#define SAME_RUN \
    "a.started IS b.started AND a.host IS b.host AND a.argv IS b.argv AND a.run_device IS b.run_device AND a.uuid IS b.uuid AND" \
    " a.scenario_hash IS b.scenario_hash AND a.\"commit\" IS b.\"commit\""

/* The columns of a table beside those that number it: "\"a\", \"b\"". */
static bool columns_of(struct store *store, const char *table, const char *but, const char *prefix, struct text *out, struct error *err)
{
    sqlite3_stmt *s = NULL;
    char *sql = text_format("SELECT name FROM main.pragma_table_info('%s') WHERE instr(',%s,', ',' || name || ',') = 0", table, but);
    bool done = store_prepare(store, sql, &s, err);
    free(sql);
    int code = SQLITE_DONE;
    while (done && (code = sqlite3_step(s)) == SQLITE_ROW)
        text_addf(out, "%s%s\"%s\"", out->len ? ", " : "", prefix, (const char *)sqlite3_column_text(s, 0));
    done = done && (code == SQLITE_DONE || store_error(store, "merging", err));
    sqlite3_finalize(s);
    return done;
}

/* One table of one run: `lead` are the columns that number it, `values` what they become, `from` the join that gives both. */
static bool copy(struct store *store, const char *table, const char *lead, const char *values, const char *from, int64_t old_run,
                 int64_t new_run, struct error *err)
{
    struct text names = {0}, prefixed = {0}, sql = {0};
    sqlite3_stmt *s = NULL;
    bool done = columns_of(store, table, lead, "", &names, err) && columns_of(store, table, lead, "x.", &prefixed, err);
    bool lead_is_kept = *values != 0;
    text_addf(&sql, "INSERT INTO main.\"%s\" (%s%s%s) SELECT %s%s%s FROM from_db.\"%s\" x %s", table, lead_is_kept ? lead : "",
              lead_is_kept ? ", " : "", text_get(&names), values, lead_is_kept ? ", " : "", text_get(&prefixed), table, from);
    done = done && store_prepare(store, text_get(&sql), &s, err);
    if (done) {
        sqlite3_bind_int64(s, 1, old_run);
        if (sqlite3_bind_parameter_count(s) > 1)
            sqlite3_bind_int64(s, 2, new_run);
        done = sqlite3_step(s) == SQLITE_DONE || store_error(store, "merging", err);
    }
    sqlite3_finalize(s);
    text_free(&names);
    text_free(&prefixed);
    text_free(&sql);
    return done;
}

#define RESULTS \
    "JOIN from_db.result o ON o.result = x.result JOIN main.result n ON n.run = ?2 AND n.id = o.id AND n.device = o.device WHERE o.run = " \
    "?1"

static bool copy_run(struct store *store, int64_t old_run, struct merge_counts *counts, struct error *err)
{
    if (!copy(store, "run", "run", "", "WHERE x.run = ?1", old_run, 0, err))
        return false;
    int64_t new_run = sqlite3_last_insert_rowid(store->db);
    bool done = copy(store, "case", "case_key,run", "NULL, ?2", "WHERE x.run = ?1", old_run, new_run, err) &&
                copy(store, "result", "result,run,case_key", "NULL, ?2, n.case_key",
                     "JOIN from_db.\"case\" o ON o.case_key = x.case_key JOIN main.\"case\" n ON n.run = ?2 AND n.\"case\" = o.\"case\" "
                     "WHERE x.run = ?1 ORDER BY x.result",
                     old_run, new_run, err);
    counts->rows += done ? sqlite3_changes(store->db) : 0;
    done = done && copy(store, "kernel", "result", "n.result", RESULTS, old_run, new_run, err) &&
           copy(store, "timing", "timing,result", "NULL, n.result", RESULTS, old_run, new_run, err) &&
           copy(store, "sample", "timing", "m.timing",
                "JOIN from_db.timing t ON t.timing = x.timing JOIN from_db.result o ON o.result = t.result JOIN main.result n ON n.run = "
                "?2 AND n.id = o.id AND"
                " n.device = o.device JOIN main.timing m ON m.result = n.result AND m.time_index = t.time_index WHERE o.run = ?1",
                old_run, new_run, err) &&
           copy(store, "metric", "result", "n.result", RESULTS, old_run, new_run, err);
    counts->runs += done;
    return done;
}

/* The runs there that are not here. One that broke off here and went on there is taken anew. */
static bool copy_runs(struct store *store, struct merge_counts *counts, struct error *err)
{
    int64_t *runs = NULL;
    int count = 0, code = SQLITE_DONE;
    sqlite3_stmt *s = NULL;
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
        runs = xrealloc(runs, sizeof *runs * (size_t)(count + 1));
        runs[count++] = sqlite3_column_int64(s, 0);
    }
    done = done && (code == SQLITE_DONE || store_error(store, "merging", err));
    sqlite3_finalize(s);
    for (int i = 0; i < count && done; i++)
        done = copy_run(store, runs[i], counts, err);
    free(runs);
    return done;
}

static bool copy_wisdom(struct store *store, struct merge_counts *counts, struct error *err)
{
    int64_t there = 0;
    struct text names = {0};
    bool done =
        columns_of(store, "wisdom", "", "", &names, err) && store_integer(store, "SELECT count(*) FROM from_db.wisdom", &there, err);
    char *sql = text_format(
        "INSERT OR REPLACE INTO main.wisdom (%s) SELECT %s FROM from_db.wisdom a WHERE NOT EXISTS (SELECT 1 FROM main.wisdom b WHERE"
        " b.signature = a.signature AND b.variant = a.variant AND b.chip = a.chip AND b.compiler = a.compiler AND b.tuned >= a.tuned)",
        text_get(&names), text_get(&names));
    done = done && store_exec(store, sql, "merging", err);
    counts->wisdom = done ? sqlite3_changes(store->db) : 0;
    counts->wisdom_older = (int)there - counts->wisdom;
    free(sql);
    text_free(&names);
    return done;
}

/* What a GPU was measured to do: every measurement of every GPU, once. */
static bool copy_roofs(struct store *store, struct error *err)
{
    struct text names = {0};
    bool done = columns_of(store, "roof", "", "", &names, err);
    char *sql = text_format("INSERT OR IGNORE INTO main.roof (%s) SELECT %s FROM from_db.roof", text_get(&names), text_get(&names));
    done = done && store_exec(store, sql, "merging", err);
    free(sql);
    text_free(&names);
    return done;
}

static bool attach(struct store *store, const char *from, struct error *err)
{
    sqlite3_stmt *s = NULL;
    bool done = store_prepare(store, "ATTACH ?1 AS from_db", &s, err);
    if (done) {
        sqlite3_bind_text(s, 1, from, -1, SQLITE_TRANSIENT);
        done = sqlite3_step(s) == SQLITE_DONE || store_error(store, "opening the other database", err);
    }
    sqlite3_finalize(s);
    return done;
}

bool store_merge(struct store *store, const char *from, struct merge_counts *counts, struct error *err)
{
    struct store *other = NULL;
    bool done = false, attached = false, begun = false;
    struct stat one, two;
    *counts = (struct merge_counts){0};
    if (!stat(store->path, &one) && !stat(from, &two) && one.st_dev == two.st_dev && one.st_ino == two.st_ino)
        return error_set(err, ERROR_USAGE, "%s: cannot be merged into itself", from);
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
    done = copy_runs(store, counts, err) && copy_wisdom(store, counts, err) && copy_roofs(store, err) &&
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
