/* row/rows: a row to its tables and back, driven by the column table. */
#include "base/text.h"
#include "row/database.h"
#include <endian.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

int columns_bind(sqlite3_stmt *statement, int first, enum column_group group, const void *base)
{
    for (const struct column *c = columns; c->name; c++) {
        if (c->group != group) {
            continue;
        }
        struct column_value v = column_get(c, base);
        if (v.absent) {
            sqlite3_bind_null(statement, first);
        } else if (v.text) {
            sqlite3_bind_text(statement, first, v.text, -1, SQLITE_TRANSIENT);
        } else if (v.is_real) {
            sqlite3_bind_double(statement, first, v.real);
        } else {
            sqlite3_bind_int64(statement, first, v.integer);
        }
        first++;
    }
    return first;
}

int columns_read(sqlite3_stmt *statement, int first, enum column_group group, void *base)
{
    for (const struct column *c = columns; c->name; c++) {
        if (c->group != group) {
            continue;
        }
        struct column_value v = {0};
        switch (sqlite3_column_type(statement, first)) {
        case SQLITE_NULL: v.absent = true; break;
        case SQLITE_INTEGER: v.integer = sqlite3_column_int64(statement, first); break;
        case SQLITE_FLOAT:
            v.is_real = true;
            v.real = sqlite3_column_double(statement, first);
            break;
        default: v.text = (const char *)sqlite3_column_text(statement, first); break;
        }
        column_set(c, base, &v);
        first++;
    }
    return first;
}

void columns_list(struct text *t, enum column_group group, const char *prefix)
{
    const char *comma = "";
    for (const struct column *c = columns; c->name; c++) {
        if (c->group == group) {
            text_addf(t, "%s%s\"%s\"", comma, prefix, c->name);
            comma = ", ";
        }
    }
}

int columns_count(enum column_group group)
{
    int count = 0;
    for (const struct column *c = columns; c->name; c++) {
        count += c->group == group;
    }
    return count;
}

/* "INSERT INTO table (lead, columns...) VALUES (?1, ...)" where `lead` names `leads` columns. */
static bool prepare_insert(struct store *store, const char *table, const char *lead, int leads, enum column_group group, sqlite3_stmt **s,
                           struct error *err)
{
    struct text sql = {0};
    text_addf(&sql, "INSERT INTO \"%s\" (%s, ", table, lead);
    columns_list(&sql, group, "");
    text_add(&sql, ") VALUES (?1");
    for (int i = 1; i < leads + columns_count(group); i++) {
        text_addf(&sql, ", ?%d", i + 1);
    }
    text_add(&sql, ")");
    bool done = store_prepare(store, text_get(&sql), s, err);
    text_free(&sql);
    return done;
}

/* Steps a statement that returns nothing and makes it ready for the next binding. */
static bool step_done(struct store *store, sqlite3_stmt *s, struct error *err)
{
    int code = sqlite3_step(s);
    bool done = code == SQLITE_DONE || store_error(store, "storing a row", err);
    sqlite3_reset(s);
    return done;
}

static bool exec_id(struct store *store, const char *sql, int64_t id, const char *one, const char *two, struct error *err)
{
    sqlite3_stmt *s = NULL;
    bool done = store_prepare(store, sql, &s, err);
    if (done) {
        sqlite3_bind_int64(s, 1, id);
        if (one) {
            sqlite3_bind_text(s, 2, one, -1, SQLITE_TRANSIENT);
            sqlite3_bind_text(s, 3, two, -1, SQLITE_TRANSIENT);
        }
        done = step_done(store, s, err);
    }
    sqlite3_finalize(s);
    return done;
}

/* The case: inserted by its first row, brought up to date by the others. */
static bool put_case(struct store *store, int64_t run_id, const struct row *row, int64_t *case_key, struct error *err)
{
    sqlite3_stmt *s = NULL;
    struct text sql = {0};
    text_add(&sql, "INSERT INTO \"case\" (run, ");
    columns_list(&sql, COLUMN_CASE, "");
    text_add(&sql, ") VALUES (?1");
    for (int i = 0; i < columns_count(COLUMN_CASE); i++) {
        text_addf(&sql, ", ?%d", i + 2);
    }
    text_add(&sql, ") ON CONFLICT (run, \"case\") DO UPDATE SET ");
    const char *comma = "";
    for (const struct column *c = columns; c->name; c++) {
        if (c->group == COLUMN_CASE) {
            text_addf(&sql, "%s\"%s\" = excluded.\"%s\"", comma, c->name, c->name);
            comma = ", ";
        }
    }
    text_add(&sql, " RETURNING case_key");
    bool done = store_prepare(store, text_get(&sql), &s, err);
    text_free(&sql);
    if (done) {
        sqlite3_bind_int64(s, 1, run_id);
        columns_bind(s, 2, COLUMN_CASE, row);
        done = sqlite3_step(s) == SQLITE_ROW || store_error(store, "storing a case", err);
    }
    if (done) {
        *case_key = sqlite3_column_int64(s, 0);
        done = sqlite3_step(s) == SQLITE_DONE || store_error(store, "storing a case", err);
    }
    sqlite3_finalize(s);
    return done;
}

static bool put_result(struct store *store, int64_t run_id, int64_t case_key, const struct row *row, int64_t *result, struct error *err)
{
    sqlite3_stmt *s = NULL;
    if (!exec_id(store, "DELETE FROM result WHERE run = ?1 AND id = ?2 AND device = ?3", run_id, row->id, row->device, err) ||
        !prepare_insert(store, "result", "run, case_key", 2, COLUMN_RESULT, &s, err)) {
        return false;
    }
    sqlite3_bind_int64(s, 1, run_id);
    sqlite3_bind_int64(s, 2, case_key);
    columns_bind(s, 3, COLUMN_RESULT, row);
    bool done = step_done(store, s, err);
    *result = sqlite3_last_insert_rowid(store->db);
    sqlite3_finalize(s);
    return done;
}

/* `count` structs of `size` bytes into a child table, numbered. */
static bool put_children(struct store *store, const char *table, const char *lead, enum column_group group, int64_t result,
                         const void *items, int count, size_t size, struct error *err)
{
    sqlite3_stmt *s = NULL;
    bool done = prepare_insert(store, table, lead, 2, group, &s, err);
    for (int i = 0; done && i < count; i++) {
        sqlite3_bind_int64(s, 1, result);
        sqlite3_bind_int64(s, 2, i);
        columns_bind(s, 3, group, (const char *)items + (size_t)i * size);
        done = step_done(store, s, err);
    }
    sqlite3_finalize(s);
    return done;
}

static bool put_samples(struct store *store, int64_t result, const struct row *row, struct error *err)
{
    sqlite3_stmt *s = NULL;
    bool done = store_prepare(store, "INSERT INTO sample SELECT timing, ?3 FROM timing WHERE result = ?1 AND time_index = ?2", &s, err);
    for (int i = 0; done && i < row->time_count; i++) {
        const struct row_time *t = &row->times[i];
        if (!t->samples_ns || t->rounds <= 0) {
            continue;
        }
        size_t bytes = (size_t)t->rounds * sizeof(uint64_t);
        uint64_t *packed = xmalloc(bytes);
        memcpy(packed, t->samples_ns, bytes);
        for (int r = 0; r < t->rounds; r++) {
            packed[r] = htole64(packed[r]);
        }
        sqlite3_bind_int64(s, 1, result);
        sqlite3_bind_int64(s, 2, i);
        sqlite3_bind_blob64(s, 3, packed, bytes, free);
        done = step_done(store, s, err);
    }
    sqlite3_finalize(s);
    return done;
}

bool store_put(struct store *store, int64_t run_id, const struct row *row, struct error *err)
{
    int64_t case_key = 0, result = 0;
    if (!store_writable(store, err)) {
        return false;
    }
    if (store->lock < 0 || store->run != run_id) {
        return error_set(err, ERROR_INTERNAL, "%s: run %lld was not begun here", store->path, (long long)run_id);
    }
    if (!row->id || !row->id[0] || !row->case_id || !row->case_id[0] || !row->device || !row->device[0]) {
        return error_set(err, ERROR_INTERNAL, "a row without %s cannot be stored",
                         !row->id || !row->id[0]           ? "an id"
                         : !row->device || !row->device[0] ? "a device"
                                                           : "a case");
    }
    if (!store_exec(store, "BEGIN IMMEDIATE", "storing a row", err)) {
        return false;
    }
    bool done =
        put_case(store, run_id, row, &case_key, err) && put_result(store, run_id, case_key, row, &result, err) &&
        put_children(store, "kernel", "result, step_index", COLUMN_STEP, result, row->steps, row->step_count, sizeof *row->steps, err) &&
        put_children(store, "timing", "result, time_index", COLUMN_TIME, result, row->times, row->time_count, sizeof *row->times, err) &&
        put_samples(store, result, row, err) &&
        put_children(store, "metric", "result, metric_index", COLUMN_METRIC, result, row->metrics, row->metric_count, sizeof *row->metrics,
                     err) &&
        store_exec(store, "COMMIT", "storing a row", err);
    if (!done) {
        error_where(err, "row %s", row->id);
        sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL);
    }
    return done;
}

/* ---- reading ---- */

/* The statements that fetch the children of one result. */
struct reader {
    sqlite3_stmt *steps, *times, *metrics;
};

static bool prepare_children(struct store *store, const char *from, enum column_group group, const char *more, sqlite3_stmt **s,
                             struct error *err)
{
    struct text sql = {0};
    text_add(&sql, "SELECT ");
    columns_list(&sql, group, "");
    text_addf(&sql, "%s FROM %s", more, from);
    bool done = store_prepare(store, text_get(&sql), s, err);
    text_free(&sql);
    return done;
}

static bool reader_open(struct store *store, struct reader *r, struct error *err)
{
    return prepare_children(store, "kernel WHERE result = ?1 ORDER BY step_index", COLUMN_STEP, "", &r->steps, err) &&
           prepare_children(store, "timing LEFT JOIN sample USING (timing) WHERE result = ?1 ORDER BY time_index", COLUMN_TIME,
                            ", samples_ns", &r->times, err) &&
           prepare_children(store, "metric WHERE result = ?1 ORDER BY metric_index", COLUMN_METRIC, "", &r->metrics, err);
}

static void reader_close(struct reader *r)
{
    sqlite3_finalize(r->steps);
    sqlite3_finalize(r->times);
    sqlite3_finalize(r->metrics);
}

static void read_samples(sqlite3_stmt *s, int column, struct row_time *t)
{
    int bytes = sqlite3_column_bytes(s, column);
    const void *blob = sqlite3_column_blob(s, column);
    if (!blob || t->rounds <= 0 || (size_t)bytes != (size_t)t->rounds * sizeof(uint64_t)) {
        return; /* none, or not what the timing says: absent */
    }
    uint64_t *packed = xmalloc((size_t)bytes);
    memcpy(packed, blob, (size_t)bytes);
    for (int r = 0; r < t->rounds; r++) {
        packed[r] = le64toh(packed[r]);
    }
    t->samples_ns = xmalloc((size_t)bytes);
    memcpy(t->samples_ns, packed, (size_t)bytes);
    free(packed);
}

static bool read_children(struct store *store, struct reader *r, int64_t result, struct row *row, struct error *err)
{
    int code;
    sqlite3_stmt *const all[] = {r->steps, r->times, r->metrics};
    for (int i = 0; i < 3; i++) {
        sqlite3_reset(all[i]);
        sqlite3_bind_int64(all[i], 1, result);
        while ((code = sqlite3_step(all[i])) == SQLITE_ROW) {
            if (i == 0) {
                columns_read(all[i], 0, COLUMN_STEP, row_add_step(row));
            } else if (i == 1) {
                struct row_time *t = row_add_time(row);
                read_samples(all[i], columns_read(all[i], 0, COLUMN_TIME, t), t);
            } else {
                columns_read(all[i], 0, COLUMN_METRIC, row_add_metric(row, -1, 0, "", "", "", 0));
            }
        }
        if (code != SQLITE_DONE) {
            return store_error(store, "reading a row", err);
        }
    }
    return true;
}

static bool read_rows(struct store *store, sqlite3_stmt *s, struct reader *reader, struct row ***rows, int *count, struct error *err)
{
    int code, room = 0;
    while ((code = sqlite3_step(s)) == SQLITE_ROW) {
        if (*count == room) {
            room = room ? 2 * room : 64;
            *rows = xrealloc(*rows, (size_t)room * sizeof **rows);
        }
        struct row *row = row_new();
        (*rows)[(*count)++] = row;
        int next = columns_read(s, 0, COLUMN_CASE, row);
        next = columns_read(s, next, COLUMN_RESULT, row);
        if (!read_children(store, reader, sqlite3_column_int64(s, next), row, err)) {
            return false;
        }
    }
    return code == SQLITE_DONE || store_error(store, "reading the rows", err);
}

/* A run that was resumed with another choice of layers may have given two cases one place: the later one moves behind. */
static void part_cases(struct row **rows, int count)
{
    for (int i = 1; i < count; i++) {
        const struct row *last = rows[i - 1];
        bool same = rows[i]->case_id && last->case_id && strcmp(rows[i]->case_id, last->case_id) == 0;
        if (same || (rows[i]->case_index <= last->case_index && last->case_index < INT_MAX)) {
            rows[i]->case_index = last->case_index + !same;
        }
    }
}

int store_rows(struct store *store, int64_t run_id, struct row ***rows, struct error *err)
{
    bool done = false;
    int count = 0;
    struct reader reader = {0};
    sqlite3_stmt *s = NULL;
    struct text sql = {0};
    *rows = NULL;
    text_add(&sql, "SELECT ");
    columns_list(&sql, COLUMN_CASE, "c.");
    text_add(&sql, ", ");
    columns_list(&sql, COLUMN_RESULT, "r.");
    text_add(&sql, ", r.result FROM result r JOIN \"case\" c ON c.case_key = r.case_key WHERE r.run = ?1 ORDER BY c.case_index, "
                   "c.case_key, r.row_index, r.result");
    /* One snapshot for all tables, however fast another process writes. */
    bool begun = store_exec(store, "BEGIN", "reading the rows", err);
    if (!begun || !store_prepare(store, text_get(&sql), &s, err) || !reader_open(store, &reader, err)) {
        goto done;
    }
    sqlite3_bind_int64(s, 1, run_id);
    done = read_rows(store, s, &reader, rows, &count, err);
    if (done) {
        part_cases(*rows, count);
    }
done:
    sqlite3_finalize(s);
    reader_close(&reader);
    if (begun) {
        sqlite3_exec(store->db, "COMMIT", NULL, NULL, NULL);
    }
    text_free(&sql);
    if (!done) {
        rows_free(*rows, count);
        *rows = NULL;
        count = -1;
    }
    return count;
}

void rows_free(struct row **rows, int count)
{
    for (int i = 0; i < count; i++) {
        row_free(rows[i]);
    }
    free(rows);
}
