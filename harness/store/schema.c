/* store/schema: the tables, made from the column table. A database that lacks a column gets it when it is opened. VERSION changes only when
 * the meaning of stored data changes; then schema_migrate must convert every version from FIRST_VERSION on. */
#include "store/database.h"
#include "store/seal.h"
#include <stdio.h>
#include <string.h>

#define VERSION 14
#define FIRST_VERSION 14 /* the oldest that a release wrote (0.9.0); earlier ones are refused */

/* The key columns of a table and their constraint; its other columns are those of its group. */
#define OF_RUN "run INTEGER NOT NULL REFERENCES run(run) ON DELETE CASCADE"
struct table {
    const char *name, *keys, *constraint;
    enum column_group group;
};
static const struct table tables[] = {
    {"run", "run INTEGER PRIMARY KEY AUTOINCREMENT", "", COLUMN_RUN},
    {"case", "case_key INTEGER PRIMARY KEY, " OF_RUN ", \"case\" TEXT NOT NULL", ", UNIQUE (run, \"case\")", COLUMN_CASE},
    {"result",
     "result INTEGER PRIMARY KEY, " OF_RUN ", case_key INTEGER NOT NULL REFERENCES \"case\"(case_key) ON DELETE CASCADE,"
     " id TEXT NOT NULL, device TEXT NOT NULL, status TEXT NOT NULL",
     "", COLUMN_RESULT},
    {"wisdom", "signature TEXT NOT NULL, variant TEXT NOT NULL, chip TEXT NOT NULL, compiler TEXT NOT NULL",
     ", PRIMARY KEY (signature, variant, chip, compiler)", COLUMN_WISDOM},
};
#define TABLES (sizeof tables / sizeof *tables)

/* The measured ceilings of a GPU, by UUID; the newest `measured` counts. */
static const char ceilings[] =
    "CREATE TABLE IF NOT EXISTS roof (uuid TEXT NOT NULL, measured TEXT NOT NULL, name TEXT NOT NULL, value REAL NOT NULL, unit TEXT,"
    " how TEXT, PRIMARY KEY (uuid, measured, name)) STRICT, WITHOUT ROWID";

/* A run has a row once on a device, and once of each side. */
static const char indexes[] = "CREATE INDEX IF NOT EXISTS result_case ON result(case_key);"
                              "CREATE INDEX IF NOT EXISTS result_key ON result(key);"
                              "CREATE UNIQUE INDEX IF NOT EXISTS result_row ON result(run, id, device, coalesce(side, ''))";

int schema_version(void)
{
    return VERSION;
}

int schema_first(void)
{
    return FIRST_VERSION;
}

static const char *sql_type(const struct column *c)
{
    switch (c->type) {
    case COLUMN_TEXT:
    case COLUMN_NAME:
    case COLUMN_CHARS:
    case COLUMN_STATUS: return "TEXT";
    case COLUMN_REAL:
    case COLUMN_REAL_NEG:
    case COLUMN_REAL_ZERO: return "REAL";
    case COLUMN_REALS: return "BLOB";
    default: return "INTEGER";
    }
}

/* True if a statement that names every column of the table compiles. */
static bool table_complete(struct store *store, const char *table, enum column_group group)
{
    SCOPED_TEXT sql = {0};
    SCOPED_BY(store_finalize) sqlite3_stmt *s = NULL;
    text_add(&sql, "SELECT ");
    columns_list(&sql, group, "t.");
    text_addf(&sql, " FROM \"%s\" t", table);
    return sqlite3_prepare_v2(store->db, text_get(&sql), -1, &s, NULL) == SQLITE_OK;
}

bool schema_complete(struct store *store)
{
    bool complete = ALL_OF(i, TABLES, table_complete(store, tables[i].name, tables[i].group));
    for (const struct row_list *l = row_lists; l->table; l++)
        complete = complete && table_complete(store, l->table, l->group);
    return complete;
}

/* Is the column one of the keys? There its name precedes a type. */
static bool is_key(const struct table *table, const char *column)
{
    size_t n = strlen(column);
    for (const char *p = table->keys; (p = strstr(p, column)); p += n)
        if ((p == table->keys || p[-1] == ' ' || p[-1] == '"') && (p[n] == ' ' || p[n] == '"'))
            return true;
    return false;
}

/* A table, or the columns that it lacks. */
static bool make_table(struct store *store, const struct table *table, struct error *err)
{
    SCOPED_TEXT sql = {0};
    text_addf(&sql, "CREATE TABLE IF NOT EXISTS \"%s\" (%s", table->name, table->keys);
    for (const struct column *c = column_first(table->group); c; c = column_next(c))
        if (!is_key(table, c->name))
            text_addf(&sql, ", \"%s\" %s", c->name, sql_type(c));
    text_addf(&sql, "%s) STRICT%s", table->constraint, strstr(table->constraint, "PRIMARY KEY") ? ", WITHOUT ROWID" : "");
    bool done = store_exec(store, text_get(&sql), "making its tables", err);
    for (const struct column *c = column_first(table->group); done && c && !table_complete(store, table->name, table->group);
         c = column_next(c)) {
        int64_t there = 0;
        SCOPED char *count = text_format("SELECT count(*) FROM pragma_table_info('%s') WHERE name = '%s'", table->name, c->name),
                    *add = text_format("ALTER TABLE \"%s\" ADD COLUMN \"%s\" %s", table->name, c->name, sql_type(c));
        done = store_integer(store, count, &there, err) && (there || store_exec(store, add, "adding a column", err));
    }
    return done;
}

static bool make_tables(struct store *store, struct error *err)
{
    bool done = store_exec(store, ceilings, "making its tables", err);
    done = done && ALL_OF(i, TABLES, make_table(store, &tables[i], err));
    for (const struct row_list *l = row_lists; done && l->table; l++) {
        SCOPED char *keys =
                        text_format("result INTEGER NOT NULL REFERENCES result(result) ON DELETE CASCADE, %s INTEGER NOT NULL", l->index),
                    *constraint = text_format(", PRIMARY KEY (result, %s)", l->index);
        done = make_table(store, &(struct table){l->table, keys, constraint, l->group}, err);
    }
    return done && seal_make_table(store, err);
}

/* A view with one line per row, for people who open the file with sqlite3. */
static bool make_view(struct store *store, struct error *err)
{
    SCOPED_TEXT t = {0};
    text_add(&t, "CREATE VIEW row AS SELECT r.result, r.run, r.case_key, ");
    columns_list(&t, COLUMN_RESULT, "r.");
    text_add(&t, ", ");
    columns_list(&t, COLUMN_CASE, "c.");
    for (const struct column *c = column_first(COLUMN_TIME); c; c = column_next(c))
        if (c->type != COLUMN_REALS)
            text_addf(&t, ", t.%s", c->name);
    text_add(&t, " FROM result r JOIN \"case\" c USING (case_key) LEFT JOIN timing t ON t.result = r.result AND t.time_step = -1");
    return store_exec(store, text_get(&t), "making its view", err);
}

bool schema_indexes(struct store *store, struct error *err)
{
    return store_exec(store, indexes, "making its indexes", err);
}

bool schema_migrate(struct store *store, struct error *err)
{
    char version[120], doing[64];
    snprintf(version, sizeof version, "PRAGMA user_version = %d; PRAGMA application_id = %d", VERSION, STORE_APPLICATION_ID);
    snprintf(doing, sizeof doing, "migrating to schema %d", VERSION);
    /* user_version and application_id live in the file's header and are part of the transaction. */
    if (!store_exec(store, "PRAGMA foreign_keys = OFF; BEGIN IMMEDIATE", doing, err))
        return false;
    bool done = store_exec(store, "DROP VIEW IF EXISTS row", doing, err) && make_tables(store, err) &&
                store_exec(store, indexes, doing, err) && make_view(store, err) && store_exec(store, version, doing, err) &&
                store_exec(store, "COMMIT", doing, err);
    if (done)
        return true;
    sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL);
    if (err->kind == ERROR_INTERNAL) { /* the file does not contain what its version promises */
        err->kind = ERROR_USAGE;
        error_hint(err, "it is damaged: nothing was changed; move it away and run again");
    }
    return false;
}
