/* store/database: one statement of SQLite, and its failure as one error. */
#include "base/text.h"
#include "store/database.h"
#include "store/store.h"
#include <errno.h>
#include <string.h>

bool store_error(struct store *store, const char *doing, struct error *err)
{
    int code = store->db ? sqlite3_errcode(store->db) & 0xff : SQLITE_NOMEM;
    int os = store->db ? sqlite3_system_errno(store->db) : 0;
    const char *message = store->db ? sqlite3_errmsg(store->db) : "out of memory";
    switch (code == SQLITE_IOERR && os == ENOSPC ? SQLITE_FULL : code) {
    case SQLITE_NOTADB:
        error_set(err, ERROR_USAGE, "%s: not a database", store->path);
        return error_hint(err, "name another file; `bench run` creates one");
    case SQLITE_CORRUPT:
        error_set(err, ERROR_USAGE, "%s: damaged, while %s: %s", store->path, doing, message);
        return error_hint(err, "nothing was changed; move it away (`sqlite3 FILE .recover` may save its rows) and run again");
    case SQLITE_FULL:
        error_set(err, ERROR_ENVIRONMENT, "%s: the disk is full, while %s", store->path, doing);
        return error_hint(err, "what was stored before is safe: free some space, then try again");
    case SQLITE_IOERR:
        error_set(err, ERROR_ENVIRONMENT, "%s: the disk failed, while %s: %s", store->path, doing, os ? strerror(os) : message);
        return error_hint(err, "what was stored before is safe: check the disk, then try again");
    case SQLITE_READONLY:
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
        error_set(err, ERROR_ENVIRONMENT, "%s: cannot be %s, while %s: %s", store->path, store->read_only ? "read" : "written", doing,
                  os ? strerror(os) : message);
        return store->read_only ? false : error_hint(err, "file and folder must be writable: select another folder with -o DIR");
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        error_set(err, ERROR_ENVIRONMENT, "%s: locked by another program, while %s", store->path, doing);
        return error_hint(err, "close it there (an open `sqlite3`?) and try again");
    case SQLITE_NOMEM: return error_set(err, ERROR_MACHINE, "%s: no memory, while %s", store->path, doing);
    case SQLITE_ERROR: /* statements are constant, and every schema that bench opens has what they name: the file lacks it, or its format */
        if (strstr(message, "syntax error") && !strstr(message, "malformed"))
            return error_set(err, ERROR_INTERNAL, "%s: while %s: %s", store->path, doing, message);
        /* fall through */
    case SQLITE_SCHEMA:
    case SQLITE_MISMATCH:
    case SQLITE_TOOBIG:
    case SQLITE_FORMAT:
    case SQLITE_EMPTY:
        error_set(err, ERROR_USAGE, "%s: damaged, while %s: %s", store->path, doing, message);
        return error_hint(err, "nothing was changed; move it away and run again");
    default: return error_set(err, ERROR_INTERNAL, "%s: while %s: %s", store->path, doing, message);
    }
}

bool store_exec(struct store *store, const char *sql, const char *doing, struct error *err)
{
    return sqlite3_exec(store->db, sql, NULL, NULL, NULL) == SQLITE_OK || store_error(store, doing, err);
}

bool store_commit(struct store *store, bool done, const char *doing, struct error *err)
{
    done = done && store_exec(store, "COMMIT", doing, err);
    if (!done)
        sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL);
    return done;
}

bool store_prepare(struct store *store, const char *sql, sqlite3_stmt **statement, struct error *err)
{
    return sqlite3_prepare_v2(store->db, sql, -1, statement, NULL) == SQLITE_OK || store_error(store, "reading its tables", err);
}

bool store_integer(struct store *store, const char *sql, int64_t *value, struct error *err)
{
    SCOPED_BY(store_finalize) sqlite3_stmt *s = NULL;
    bool done = store_prepare(store, sql, &s, err);
    if (done && sqlite3_step(s) == SQLITE_ROW)
        *value = sqlite3_column_int64(s, 0);
    else if (done)
        done = store_error(store, "reading it", err);
    return done;
}

bool store_writable(struct store *store, struct error *err)
{
    return !store->read_only || error_set(err, ERROR_INTERNAL, "%s: opened for reading only", store->path);
}

void store_finalize(sqlite3_stmt **statement)
{
    sqlite3_finalize(*statement);
}
