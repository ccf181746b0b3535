/* store/merge: copies everything of one database into another, with SQL on both. The columns and lists come from the column table, so
 * that a new one needs no line here. */
#include "base/text.h"
#include "store/database.h"
#include "store/lock.h"
#include "store/merge.h"
#include "store/seal.h"
#include <string.h>
#include <sys/stat.h>

/* The keys of a run here and there, and by how much those of its cases and results move. */
struct copy_keys {
    int64_t old_run, new_run, cases_by, results_by;
};

/* A run is known again by these: one process on one machine at one second. */
#define SAME_RUN \
    "a.started IS b.started AND a.host IS b.host AND a.argv IS b.argv AND a.run_device IS b.run_device AND a.uuid IS b.uuid AND" \
    " a.scenario_hash IS b.scenario_hash AND a.\"commit\" IS b.\"commit\""

/* Copies one table of one run: `lead` are its key columns, `values` what they become, `from` the join that selects its lines. */
static bool copy(struct store *store, const char *table, enum column_group group, const char *lead, const char *values, const char *from,
                 const struct copy_keys *keys, struct error *err)
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
    const int64_t bound[] = {keys->old_run, keys->new_run, keys->cases_by, keys->results_by};
    for (int i = 0; i < sqlite3_bind_parameter_count(s); i++)
        sqlite3_bind_int64(s, i + 1, bound[i]);
    return sqlite3_step(s) == SQLITE_DONE || store_error(store, "merging", err);
}

bool merge_head(struct store *store, int64_t old_run, int64_t *new_run, struct error *err)
{
    SCOPED_TEXT names = {0};
    columns_list(&names, COLUMN_RUN, "");
    SCOPED char *sql = text_format("INSERT INTO main.run (%s) SELECT NULL%s FROM from_db.run WHERE run = %lld", text_get(&names),
                                   text_get(&names) + strlen("\"run\""), (long long)old_run); /* the first column is the number */
    bool done = store_exec(store, sql, "merging", err);
    *new_run = sqlite3_last_insert_rowid(store->db);
    return done;
}

/* How far the keys of a run's lines move, so that they stand behind all that are there. */
static bool find_keys(struct store *store, struct copy_keys *k, struct error *err)
{
    static const char by[] =
        "SELECT coalesce((SELECT max(%s) FROM main.\"%s\"), 0) + 1 - coalesce((SELECT min(%s) FROM from_db.\"%s\" WHERE "
        "run = %lld), 0)";
    SCOPED char *cases = text_format(by, "case_key", "case", "case_key", "case", (long long)k->old_run),
                *results = text_format(by, "result", "result", "result", "result", (long long)k->old_run);
    return store_integer(store, cases, &k->cases_by, err) && store_integer(store, results, &k->results_by, err);
}

int64_t merge_cases(struct store *store, int64_t old_run, int64_t new_run, const char *some, struct error *err)
{
    struct copy_keys k = {.old_run = old_run, .new_run = new_run};
    int64_t rows = -1;
    SCOPED char *cases = text_format("WHERE x.run = ?1%s%s", some ? " AND x.case_key IN " : "", some ? some : ""),
                *lists = text_format("JOIN from_db.result o ON o.result = x.result WHERE o.run = ?1%s%s", some ? " AND o.case_key IN " : "",
                                     some ? some : "");
    int64_t sums = 0; /* an older bench stored none */
    bool done = store_integer(store, "SELECT count(*) FROM pragma_table_info('result', 'from_db') WHERE name = 'sum'", &sums, err) &&
                find_keys(store, &k, err) && copy(store, "case", COLUMN_CASE, "case_key, run", "x.case_key + ?3, ?2", cases, &k, err) &&
                copy(store, "result", COLUMN_RESULT, "result, run, case_key, sum",
                     sums ? "x.result + ?4, ?2, x.case_key + ?3, x.sum" : "x.result + ?4, ?2, x.case_key + ?3, NULL", cases, &k, err);
    if (done)
        rows = sqlite3_changes(store->db);
    for (const struct row_list *l = row_lists; done && rows && l->table; l++) {
        SCOPED char *lead = text_format("result, %s", l->index), *values = text_format("x.result + ?4, x.%s", l->index);
        done = copy(store, l->table, l->group, lead, values, lists, &k, err);
    }
    return done ? rows : -1;
}

static bool copy_run(struct store *store, int64_t old_run, struct merge_counts *counts, struct error *err)
{
    int64_t new_run;
    int64_t rows = merge_head(store, old_run, &new_run, err) ? merge_cases(store, old_run, new_run, NULL, err) : -1;
    counts->rows += rows > 0 ? (int)rows : 0;
    counts->runs += rows >= 0;
    return rows >= 0;
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
    return done && ALL_OF(i, count, copy_run(store, runs[i], counts, err));
}

bool merge_wisdom(struct store *store, struct merge_counts *counts, struct error *err)
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

bool merge_ceilings(struct store *store, int64_t only, struct error *err)
{
    SCOPED char *which =
        only < 0 ? xstrdup("") : text_format(" WHERE uuid IN (SELECT uuid FROM from_db.run WHERE run = %lld)", (long long)only);
    SCOPED char *sql =
        text_format("INSERT OR IGNORE INTO main.roof (uuid, measured, name, value, unit, how) SELECT uuid, measured, name, value, unit, "
                    "how FROM from_db.roof%s",
                    which);
    return store_exec(store, sql, "merging", err);
}

static bool attach(struct store *store, const char *from, bool immutable, struct error *err)
{
    SCOPED_BY(store_finalize) sqlite3_stmt *s = NULL;
    SCOPED char *uri = store_uri(from, immutable);
    if (!store_prepare(store, "ATTACH ?1 AS from_db", &s, err))
        return false;
    sqlite3_bind_text(s, 1, uri, -1, SQLITE_TRANSIENT);
    return sqlite3_step(s) == SQLITE_DONE || store_error(store, "opening the other database", err);
}

#define CHECK_MAX_BYTES (64 << 20) /* above, checking every line against its seal takes longer than copying it */

bool merge_with(struct store *store, const char *from, merge_work *work, void *context, struct error *err)
{
    struct store *other = NULL;
    bool done = false, attached = false, begun = false;
    struct stat one, two = {0};
    if (!stat(store->path, &one) && !stat(from, &two) && one.st_dev == two.st_dev && one.st_ino == two.st_ino)
        return error_set(err, ERROR_USAGE, "%s: a database cannot be merged into itself", from);
    if (!store_writable(store, err) || !lock_take(store->path, &store->lock, err))
        return false;
    if (!store_open(from, true, &other, err)) /* is it ours and whole? An older schema is brought up to date. */
        goto done;
    bool whole = two.st_size > CHECK_MAX_BYTES || seal_check_all(other, err);
    bool immutable = other->immutable;
    store_close(other);
    if (!whole || !attach(store, from, immutable, err))
        goto done;
    attached = true;
    if (!store_exec(store, "BEGIN IMMEDIATE", "merging", err))
        goto done;
    begun = true;
    done = work(store, context, err) && store_exec(store, "COMMIT", "merging", err);
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

/* `only`: this run of the other alone; -1: all that it has. */
struct merging {
    int64_t only;
    struct merge_counts *counts;
};

static bool merge_all(struct store *store, void *context, struct error *err)
{
    const struct merging *m = context;
    return copy_runs(store, m->only, m->counts, err) && (m->only >= 0 || merge_wisdom(store, m->counts, err)) &&
           merge_ceilings(store, m->only, err) && seal_missing(store, err);
}

bool store_merge(struct store *store, const char *from, struct merge_counts *counts, struct error *err)
{
    *counts = (struct merge_counts){0};
    return merge_with(store, from, merge_all, &(struct merging){-1, counts}, err);
}

bool store_merge_run(struct store *store, const char *from, int64_t run, struct error *err)
{
    struct merge_counts counts = {0};
    return merge_with(store, from, merge_all, &(struct merging){run, &counts}, err);
}
