/* store/database: the connection to the database and its errors, for the files of store/. */
#pragma once

#include "base/text.h"
#include "store/store.h"
#include <sqlite3.h>

#define STORE_KEPT 32
struct store {
    char *path;
    sqlite3 *db;
    bool read_only, immutable;      /* immutable: opened in a way that writes nothing beside the file */
    const char *shared;             /* the file system, if several hosts see it; NULL: local, or opened for reading */
    int lock;                       /* fd; -1: not held */
    int64_t run;                    /* that holds the lock; 0: none */
    sqlite3_stmt *kept[STORE_KEPT]; /* statements that store rows, each prepared once (rows.c); NULL: not yet */
};

#define STORE_APPLICATION_ID 0x62656e63 /* "benc": marks databases of bench */

/* A path as a file: URI. `immutable` tells SQLite that the file does not change. Caller frees. */
char *store_uri(const char *path, bool immutable);
/* Turns SQLite's last failure into an error; `doing` says at what. Returns false. */
bool store_error(struct store *store, const char *doing, struct error *err);
bool store_exec(struct store *store, const char *sql, const char *doing, struct error *err);
/* Ends a transaction: commits it if all of it was done, else takes it back. */
bool store_commit(struct store *store, bool done, const char *doing, struct error *err);
bool store_prepare(struct store *store, const char *sql, sqlite3_stmt **statement, struct error *err);
/* For SCOPED_BY. */
void store_finalize(sqlite3_stmt **statement);
/* A single integer: `PRAGMA user_version`, `SELECT count(*) ...`. */
bool store_integer(struct store *store, const char *sql, int64_t *value, struct error *err);
/* Refuses on a connection that may only read. */
bool store_writable(struct store *store, struct error *err);

/* The newest and the oldest schema that this build reads. The version changes when the meaning of stored data changes; a new column alone
 * is added to an older database when it is opened. */
int schema_version(void);
int schema_first(void);
/* True if the database, which has schema_version(), has every column of the column table. */
bool schema_complete(struct store *store);
/* Makes the indexes that are missing. */
bool schema_indexes(struct store *store, struct error *err);
/* Brings the database, which is empty or of a schema from schema_first() on, to schema_version() and to the columns of the column table, in
 * one transaction. */
bool schema_migrate(struct store *store, struct error *err);

/* Bind and read a struct by the column table. The struct's texts and reals stay until the statement was stepped. Parameters and result
 * columns are in table order, from index `first` (1-based to bind, 0-based to read); both return the next index. */
int columns_bind(sqlite3_stmt *statement, int first, enum column_group group, const void *base);
int columns_read(sqlite3_stmt *statement, int first, enum column_group group, void *base);
/* "a", "b", ... of a group; each with `prefix` before it. */
void columns_list(struct text *t, enum column_group group, const char *prefix);
int columns_count(enum column_group group);
