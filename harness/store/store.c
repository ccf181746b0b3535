/* store/store: opening, checking, runs. Rows are in rows.c, the tables in schema.c, the lock in lock.c. */
#include "store/store.h"
#include "base/date.h"
#include "base/file.h"
#include "base/file_system.h"
#include "base/order.h"
#include "base/text.h"
#include "store/database.h"
#include "store/lock.h"
#include "store/seal.h"
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Above this size, checking every page at each opening takes noticeable time; damage is then found when it is read. */
#define QUICK_CHECK_MAX_BYTES (64 << 20)
#define BUSY_WAIT_MS 5000 /* for a report that reads while a run writes */

/* ---- opening ---- */

char *store_uri(const char *path, bool immutable)
{
    struct text t = {0};
    text_add(&t, *path == '/' ? "file://" : "file:"); /* what follows two slashes and no third would be a host */
    for (const char *p = path; *p; p++)
        if (strchr("?#%", *p) || (unsigned char)*p <= ' ' || (unsigned char)*p >= 127)
            text_addf(&t, "%%%02X", (unsigned char)*p);
        else
            text_add_bytes(&t, p, 1);
    text_add(&t, immutable ? "?immutable=1" : "");
    return text_take(&t);
}

static bool open_handle(struct store *store, const char *name, int flags, struct error *err)
{
    sqlite3_close(store->db);
    store->db = NULL;
    if (sqlite3_open_v2(name, &store->db, flags | SQLITE_OPEN_NOMUTEX, NULL) != SQLITE_OK)
        return store_error(store, "opening it", err);
    sqlite3_extended_result_codes(store->db, 1);
    sqlite3_busy_timeout(store->db, BUSY_WAIT_MS);
    int64_t ignored;
    return store_integer(store, "SELECT count(*) FROM sqlite_master", &ignored, err);
}

/* Opens the file and reads from it once. Even for reading, SQLite wants to write its shared-memory file next to it; if the folder forbids
 * that and no log is pending, the file is opened as immutable. */
static bool open_any(struct store *store, struct error *err)
{
    if (!store->read_only) { /* as a URI, so that others can be attached as immutable */
        SCOPED char *uri = store_uri(store->path, false);
        return open_handle(store, uri, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_URI, err);
    }
    if (open_handle(store, store->path, SQLITE_OPEN_READWRITE, err))
        return store_exec(store, "PRAGMA query_only = 1", "opening it", err);
    int code = store->db ? sqlite3_errcode(store->db) & 0xff : 0;
    struct stat log;
    SCOPED char *wal = text_format("%s-wal", store->path);
    bool pending = stat(wal, &log) == 0 && log.st_size > 0;
    if ((code != SQLITE_CANTOPEN && code != SQLITE_READONLY) || pending)
        return false;
    error_clear(err);
    SCOPED char *uri = store_uri(store->path, true);
    store->immutable = true;
    return open_handle(store, uri, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, err);
}

/* Is it a database of bench, whole, and of a schema that this build reads? *version 0: empty. Nothing is written. */
static bool identify(struct store *store, off_t bytes, int64_t *version, struct error *err)
{
    int64_t application = 0, objects = 0;
    if (!store_integer(store, "PRAGMA application_id", &application, err) || !store_integer(store, "PRAGMA user_version", version, err) ||
        !store_integer(store, "SELECT count(*) FROM sqlite_master", &objects, err))
        return false;
    if (application == 0 && *version == 0 && objects == 0)
        return true;
    if (application != STORE_APPLICATION_ID) {
        error_set(err, ERROR_USAGE, "%s: an SQLite database, but not one of bench", store->path);
        return error_hint(err, "nothing was changed; name another file");
    }
    if (*version > schema_version()) {
        error_set(err, ERROR_USAGE, "%s: written by a newer bench (schema %lld; this bench reads up to %d)", store->path,
                  (long long)*version, schema_version());
        return error_hint(err, "update bench, or use another database: -o DIR");
    }
    if (*version && *version < schema_first()) {
        error_set(err, ERROR_USAGE, "%s: written by an older bench (schema %lld, this one reads %d to %d)", store->path,
                  (long long)*version, schema_first(), schema_version());
        return error_hint(err, "keep the file for the bench that wrote it, and run again into another folder: -o DIR");
    }
    if (bytes > QUICK_CHECK_MAX_BYTES)
        return true;
    SCOPED_BY(store_finalize) sqlite3_stmt *s = NULL;
    if (!store_prepare(store, "PRAGMA quick_check(1)", &s, err))
        return false;
    if (sqlite3_step(s) != SQLITE_ROW)
        return store_error(store, "checking it", err);
    const char *verdict = (const char *)sqlite3_column_text(s, 0);
    if (!verdict || strcmp(verdict, "ok") != 0) {
        error_set(err, ERROR_USAGE, "%s: damaged: %s", store->path, verdict ? verdict : "the integrity check gives no result");
        return error_hint(err, "nothing was changed; move it away (`sqlite3 FILE .recover` may save its rows) and run again");
    }
    return true;
}

/* Cases on which SQLite would hang or give a vague error: no file to read, a folder, a pipe. */
static bool look_at_file(struct store *store, off_t *bytes, struct error *err)
{
    struct stat st;
    *bytes = 0;
    if (stat(store->path, &st) != 0) {
        if (errno == ENOENT && !store->read_only)
            return true;
        error_set(err, errno == ENOENT ? ERROR_USAGE : ERROR_ENVIRONMENT, "%s: no database: %s", store->path, strerror(errno));
        return error_hint(err, "`bench run SCENARIO` writes one");
    }
    if (!S_ISREG(st.st_mode)) {
        error_set(err, ERROR_USAGE, "%s: %s, not a database", store->path, S_ISDIR(st.st_mode) ? "a folder" : "not a regular file");
        return error_hint(err, "name a file in it");
    }
    if (st.st_size == 0 && store->read_only) {
        error_set(err, ERROR_USAGE, "%s: empty, not a database", store->path);
        return error_hint(err, "`bench run SCENARIO` writes one");
    }
    *bytes = st.st_size;
    return true;
}

static bool prepare_writer(struct store *store, bool complete, struct error *err)
{
    /* WAL: a report may read while a run writes. Its index is shared memory, which two hosts do not share, so a file system that several
     * hosts see gets a rollback journal. FULL: a stored row survives power loss. A file system that cannot do WAL keeps its old journal,
     * which is as safe. */
    store->shared = file_system_shared(store->path);
    return store_exec(store, store->shared ? "PRAGMA journal_mode = DELETE" : "PRAGMA journal_mode = WAL", "opening it", err) &&
           store_exec(store, "PRAGMA synchronous = FULL; PRAGMA cache_size = -16384", "opening it", err) &&
           (complete ? seal_make_table(store, err) && schema_indexes(store, err) : schema_migrate(store, err)) &&
           store_exec(store, "PRAGMA foreign_keys = ON", "opening it", err);
}

static bool open_file(struct store *store, struct error *err)
{
    off_t bytes;
    int64_t version = 0;
    SCOPED char *dir = file_dir(store->path);
    if (!look_at_file(store, &bytes, err))
        return false;
    if (!store->read_only && (!file_make_dirs(dir, err) || !lock_take(store->path, &store->lock, err)))
        return false;
    if (!open_any(store, err) || !identify(store, bytes, &version, err) || !seal_check_runs(store, err))
        return false;
    bool complete = version == schema_version() && schema_complete(store);
    if (!store->read_only)
        return prepare_writer(store, complete, err);
    SCOPED_BY(store_leave) struct store *writer = NULL; /* an older one: migrate it as a writer would, then read */
    return complete || store_open(store->path, false, &writer, err) ||
           error_where(err, "its schema is %lld; this bench reads %d", (long long)version, schema_version());
}

bool store_open(const char *path, bool read_only, struct store **out, struct error *err)
{
    struct store *store = xcalloc(1, sizeof *store);
    *store = (struct store){.path = xstrdup(path), .read_only = read_only, .lock = -1};
    bool done = open_file(store, err);
    lock_release(&store->lock); /* store_run_begin takes it again */
    *out = done ? store : NULL;
    if (!done)
        store_close(store);
    return done;
}

bool store_exists(const char *path)
{
    struct stat st;
    return !stat(path, &st) && st.st_size > 0;
}

void store_close(struct store *store)
{
    if (!store)
        return;
    if (store->run) { /* it was interrupted: what it stored is complete as it is */
        struct error ignored = {0};
        seal_write(store, store->run, &ignored);
    }
    for (int i = 0; i < STORE_KEPT; i++)
        sqlite3_finalize(store->kept[i]);
    sqlite3_close(store->db);
    lock_release(&store->lock);
    free(store->path);
    free(store);
}

const char *store_shared(const struct store *store)
{
    return store->shared;
}

void store_forked(struct store *store)
{
    if (store && store->lock >= 0)
        close(store->lock); /* the parent's lock stays */
}

/* ---- runs ---- */

void run_clear(struct run *run)
{
    columns_free(COLUMN_RUN, run);
    free(run->asked);
    memset(run, 0, sizeof *run);
}

/* Runs one statement without result, whose parameters are bound. */
static bool run_statement(struct store *store, sqlite3_stmt *s, const char *doing, struct error *err)
{
    return sqlite3_step(s) == SQLITE_DONE || store_error(store, doing, err);
}

static bool run_insert(struct store *store, struct run *run, struct error *err)
{
    SCOPED_BY(store_finalize) sqlite3_stmt *s = NULL;
    SCOPED_TEXT sql = {0};
    text_add(&sql, "INSERT INTO run (");
    columns_list(&sql, COLUMN_RUN, "");
    text_add(&sql, ") VALUES (NULL"); /* the first column is the number that SQLite gives */
    for (int i = 1; i < columns_count(COLUMN_RUN); i++)
        text_addf(&sql, ", ?%d", i + 1);
    text_add(&sql, ")");
    bool done = store_prepare(store, text_get(&sql), &s, err);
    if (!done)
        return false;
    columns_bind(s, 1, COLUMN_RUN, run);
    if (!run_statement(store, s, "starting a run", err))
        return false;
    run->id = sqlite3_last_insert_rowid(store->db);
    return true;
}

static bool run_reopen(struct store *store, int64_t run_id, struct error *err)
{
    SCOPED_BY(store_finalize) sqlite3_stmt *s = NULL;
    if (!store_prepare(store, "UPDATE run SET ended = NULL WHERE run = ?1", &s, err))
        return false;
    sqlite3_bind_int64(s, 1, run_id);
    if (!run_statement(store, s, "taking up a run", err))
        return false;
    return sqlite3_changes(store->db) == 1 ? seal_break(store, run_id, err)
                                           : error_set(err, ERROR_USAGE, "%s: no run %lld", store->path, (long long)run_id);
}

bool store_run_begin(struct store *store, struct run *run, struct error *err)
{
    if (!store_writable(store, err) || (store->lock < 0 && !lock_take(store->path, &store->lock, err)))
        return false;
    if (!run->started[0])
        date_now(run->started);
    run->ended[0] = '\0';
    bool done = store_exec(store, "BEGIN IMMEDIATE", "starting a run", err) &&
                store_commit(store, run->id > 0 ? run_reopen(store, run->id, err) : run_insert(store, run, err), "starting a run", err);
    if (done)
        store->run = run->id;
    else
        lock_release(&store->lock);
    return done;
}

bool store_run_end(struct store *store, int64_t run_id, const char *when, struct error *err)
{
    char now[32];
    SCOPED_BY(store_finalize) sqlite3_stmt *s = NULL;
    date_now(now);
    if (!store_writable(store, err) || !store_prepare(store, "UPDATE run SET ended = ?2 WHERE run = ?1", &s, err) ||
        !store_exec(store, "BEGIN IMMEDIATE", "ending a run", err))
        return false;
    sqlite3_bind_int64(s, 1, run_id);
    sqlite3_bind_text(s, 2, when ? when : now, -1, SQLITE_TRANSIENT);
    bool done = store_commit(store, run_statement(store, s, "ending a run", err) && seal_write(store, run_id, err), "ending a run", err);
    store->run = 0;
    lock_release(&store->lock);
    return done;
}

bool store_run_environment(struct store *store, int64_t run_id, const char *json, struct error *err)
{
    SCOPED_BY(run_clear) struct run run = {0};
    SCOPED_BY(store_finalize) sqlite3_stmt *s = NULL;
    json_error_t where;
    json_auto_t *new = json_loads(json, JSON_REJECT_DUPLICATES, &where);
    if (!json_is_object(new))
        return error_set(err, ERROR_INTERNAL, "environment of run %lld: not a JSON object: %s", (long long)run_id,
                         new ? "not a value of the expected type" : where.text);
    if (!store_writable(store, err) || !store_run(store, run_id, &run, err))
        return false;
    json_auto_t *old = json_loads(run.environment ? run.environment : "{}", 0, NULL);
    if (!json_is_object(old)) { /* keep a name under which it was written before */
        json_decref(old);
        old = json_pack("{s:s}", "text", run.environment);
        old = old ? old : json_object();
    }
    json_object_update_recursive(old, new);
    SCOPED char *merged = json_dumps(old, JSON_COMPACT | JSON_SORT_KEYS);
    if (!merged || !store_prepare(store, "UPDATE run SET environment = ?2 WHERE run = ?1", &s, err))
        return false;
    sqlite3_bind_int64(s, 1, run_id);
    sqlite3_bind_text(s, 2, merged, -1, SQLITE_TRANSIENT);
    return run_statement(store, s, "recording the environment", err);
}

bool store_run_spent(struct store *store, const struct run *run, struct error *err)
{
    SCOPED_TEXT sql = {0};
    SCOPED_BY(store_finalize) sqlite3_stmt *s = NULL;
    int parameter = 1;
    text_add(&sql, "UPDATE run SET ");
    for (const struct column *c = column_first(COLUMN_RUN); c; c = column_next(c))
        if (c->type == COLUMN_REAL_ZERO)
            text_addf(&sql, "%s = ?%d, ", c->name, parameter++);
    text_addf(&sql, "run = run WHERE run = ?%d", parameter);
    bool ready = store_writable(store, err) && store_prepare(store, text_get(&sql), &s, err);
    if (!ready)
        return false;
    parameter = 1;
    for (const struct column *c = column_first(COLUMN_RUN); c; c = column_next(c))
        if (c->type == COLUMN_REAL_ZERO && !column_get(c, run).absent)
            sqlite3_bind_double(s, parameter++, column_get(c, run).real);
        else if (c->type == COLUMN_REAL_ZERO)
            sqlite3_bind_null(s, parameter++);
    sqlite3_bind_int64(s, parameter, run->id);
    return run_statement(store, s, "recording where the time went", err);
}

/* The runs that `where` selects. Its parameters are `texts` (NULL: none; an element NULL binds NULL) or the id. */
static bool select_runs(struct store *store, const char *where, const char *const *texts, int64_t id, struct runs *runs, struct error *err)
{
    SCOPED_TEXT sql = {0};
    SCOPED_BY(store_finalize) sqlite3_stmt *s = NULL;
    int code;
    *runs = (struct runs){0};
    text_add(&sql, "SELECT ");
    columns_list(&sql, COLUMN_RUN, "");
    text_addf(&sql, " FROM run %s", where);
    if (!store_prepare(store, text_get(&sql), &s, err))
        return false;
    if (id)
        sqlite3_bind_int64(s, 1, id);
    for (int i = 0; texts && i < sqlite3_bind_parameter_count(s); i++)
        sqlite3_bind_text(s, i + 1, texts[i], -1, SQLITE_TRANSIENT);
    while ((code = sqlite3_step(s)) == SQLITE_ROW) {
        struct run *one = APPEND(runs->items, runs->count);
        *one = (struct run){0};
        columns_read(s, 0, COLUMN_RUN, one);
    }
    bool done = code == SQLITE_DONE || store_error(store, "reading its runs", err);
    done = done && ALL_OF(i, runs->count, seal_check_head(store, runs->items[i].id, err));
    if (!done)
        runs_free(runs);
    return done;
}

/* The only run found; false: none. */
static bool take_run(struct runs *runs, struct run *run)
{
    bool one = runs->count == 1;
    if (one)
        *run = runs->items[0];
    free(runs->items);
    return one;
}

bool store_last_run(struct store *store, const char *verb, const char *scenario, const char *device, struct run *run, struct error *err)
{
    struct runs runs;
    const char *const texts[] = {verb, scenario, device};
    select_runs(store,
                "WHERE (?1 IS NULL OR verb = ?1) AND (?2 IS NULL OR scenario_name = ?2) AND "
                "(?3 IS NULL OR run_device = ?3) ORDER BY run DESC LIMIT 1",
                texts, 0, &runs, err);
    return take_run(&runs, run);
}

bool store_run(struct store *store, int64_t run_id, struct run *run, struct error *err)
{
    struct runs runs = {0};
    if (run_id > 0 && !select_runs(store, "WHERE run = ?1", NULL, run_id, &runs, err))
        return false;
    if (take_run(&runs, run))
        return true;
    error_set(err, ERROR_USAGE, "%s: no run %lld", store->path, (long long)run_id);
    return error_hint(err, "`bench list runs` lists the runs");
}

bool store_runs(struct store *store, struct runs *runs, struct error *err)
{
    return select_runs(store, "ORDER BY run", NULL, 0, runs, err);
}

ORDER(newest_first, int64_t, (*x < *y) - (*x > *y))

int store_runs_with(struct store *store, const char *const *keys, int count, int64_t **runs, struct error *err)
{
    SCOPED_BY(store_finalize) sqlite3_stmt *s = NULL;
    int found = 0, code = SQLITE_DONE;
    *runs = NULL;
    if (!store_prepare(store, "SELECT DISTINCT run FROM result WHERE key = ?1", &s, err))
        return -1;
    for (int k = 0; k < count && code == SQLITE_DONE; k++) {
        sqlite3_reset(s);
        sqlite3_bind_text(s, 1, keys[k], -1, SQLITE_STATIC);
        while ((code = sqlite3_step(s)) == SQLITE_ROW) {
            bool known = ANY_OF(i, found, (*runs)[i] == sqlite3_column_int64(s, 0));
            if (!known)
                *APPEND(*runs, found) = sqlite3_column_int64(s, 0);
        }
    }
    if (found)
        qsort(*runs, (size_t)found, sizeof **runs, newest_first);
    return code == SQLITE_DONE || store_error(store, "looking rows up", err) ? found : -1;
}

void runs_free(struct runs *runs)
{
    for (int i = 0; i < runs->count; i++)
        run_clear(&runs->items[i]);
    free(runs->items);
    *runs = (struct runs){0};
}

void store_leave(struct store **store)
{
    store_close(*store);
}

int64_t store_row_count(struct store *store, int64_t run_id, struct error *err)
{
    int64_t count = -1;
    SCOPED char *sql = text_format("SELECT count(*) FROM result WHERE run = %lld", (long long)run_id);
    return store_integer(store, sql, &count, err) ? count : -1;
}
