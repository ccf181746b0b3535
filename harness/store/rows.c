/* store/rows: a row to its tables and back, driven by the column table. */
#include "base/order.h"
#include "base/text.h"
#include "store/seal.h"
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK 8 /* lines of a list that one statement stores */

/* The statements that are kept: these, then two for each list: of one line and of BLOCK lines. */
enum kept { KEPT_DELETE, KEPT_CASE, KEPT_RESULT, KEPT_LIST };

/* Makes the kept statement from `sql`, unless it is there. NULL: an error. */
static sqlite3_stmt *statement(struct store *store, int which, const char *sql, struct error *err)
{
    bool there = store->kept[which] || store_prepare(store, sql, &store->kept[which], err);
    return there ? store->kept[which] : NULL;
}

/* "INSERT INTO table (lead, columns...) VALUES (?1, ...), ..." of `lines` lines, where `lead` names `leads` columns. */
static sqlite3_stmt *keep_insert(struct store *store, int which, const char *table, const char *lead, int leads, enum column_group group,
                                 int lines, struct error *err)
{
    SCOPED_TEXT sql = {0};
    if (store->kept[which])
        return store->kept[which];
    int width = leads + columns_count(group);
    text_addf(&sql, "INSERT INTO \"%s\" (%s, ", table, lead);
    columns_list(&sql, group, "");
    text_add(&sql, ") VALUES ");
    for (int i = 0; i < lines * width; i++)
        text_addf(&sql, "%s?%d%s", i % width ? ", " : i ? ", (" : "(", i + 1, i % width == width - 1 ? ")" : "");
    return statement(store, which, text_get(&sql), err);
}

/* Steps a statement without result and resets it for the next binding. */
static bool step_done(struct store *store, sqlite3_stmt *s, struct error *err)
{
    int code = sqlite3_step(s);
    bool done = code == SQLITE_DONE || store_error(store, "storing a row", err);
    sqlite3_reset(s);
    return done;
}

/* The row that this one takes the place of. */
static bool delete_result(struct store *store, int64_t run_id, const struct row *row, struct error *err)
{
    sqlite3_stmt *s =
        statement(store, KEPT_DELETE, "DELETE FROM result WHERE run = ?1 AND id = ?2 AND device = ?3 AND coalesce(side, '') = ?4", err);
    if (!s)
        return false;
    sqlite3_bind_int64(s, 1, run_id);
    sqlite3_bind_text(s, 2, row->id, -1, SQLITE_TRANSIENT);
    sqlite3_bind_text(s, 3, row->device, -1, SQLITE_TRANSIENT);
    sqlite3_bind_text(s, 4, row->side ? row->side : "", -1, SQLITE_TRANSIENT);
    return step_done(store, s, err);
}

static sqlite3_stmt *keep_case(struct store *store, struct error *err)
{
    SCOPED_TEXT sql = {0};
    const char *comma = "";
    if (store->kept[KEPT_CASE])
        return store->kept[KEPT_CASE];
    text_add(&sql, "INSERT INTO \"case\" (run, ");
    columns_list(&sql, COLUMN_CASE, "");
    text_add(&sql, ") VALUES (?1");
    for (int i = 0; i < columns_count(COLUMN_CASE); i++)
        text_addf(&sql, ", ?%d", i + 2);
    text_add(&sql, ") ON CONFLICT (run, \"case\") DO UPDATE SET ");
    for (const struct column *c = column_first(COLUMN_CASE); c; c = column_next(c)) {
        text_addf(&sql, "%s\"%s\" = excluded.\"%s\"", comma, c->name, c->name);
        comma = ", ";
    }
    text_add(&sql, " RETURNING case_key");
    return statement(store, KEPT_CASE, text_get(&sql), err);
}

static bool same_case(const struct row *a, const struct row *b)
{
    bool same = true;
    for (const struct column *c = column_first(COLUMN_CASE); same && c; c = column_next(c)) {
        struct column_value x = column_get(c, a), y = column_get(c, b);
        same = text_same(x.text, y.text) && x.absent == y.absent && x.real == y.real && x.integer == y.integer;
    }
    return same;
}

/* The case: inserted by its first row, brought up to date by the others. `before` (may be NULL) is the row that was stored last, of the
 * case *case_key. */
static bool put_case(struct store *store, int64_t run_id, const struct row *row, const struct row *before, int64_t *case_key,
                     struct error *err)
{
    if (before && same_case(row, before))
        return true;
    sqlite3_stmt *s = keep_case(store, err);
    if (!s)
        return false;
    sqlite3_bind_int64(s, 1, run_id);
    columns_bind(s, 2, COLUMN_CASE, row);
    bool done = sqlite3_step(s) == SQLITE_ROW || store_error(store, "storing a case", err);
    if (done)
        *case_key = sqlite3_column_int64(s, 0);
    done = done && (sqlite3_step(s) == SQLITE_DONE || store_error(store, "storing a case", err));
    sqlite3_reset(s);
    return done;
}

static bool put_result(struct store *store, int64_t run_id, int64_t case_key, const struct row *row, int64_t *result, struct error *err)
{
    if (!delete_result(store, run_id, row, err))
        return false;
    sqlite3_stmt *s = keep_insert(store, KEPT_RESULT, "result", "run, case_key, sum", 3, COLUMN_RESULT, 1, err);
    if (!s)
        return false;
    sqlite3_bind_int64(s, 1, run_id);
    sqlite3_bind_int64(s, 2, case_key);
    sqlite3_bind_int64(s, 3, seal_row(row));
    columns_bind(s, 4, COLUMN_RESULT, row);
    bool done = step_done(store, s, err);
    *result = sqlite3_last_insert_rowid(store->db);
    return done;
}

/* Stores one of a row's lists under the number of its result. */
static bool rows_put_list(struct store *store, const struct row_list *list, int64_t result, const struct row *row, struct error *err)
{
    int count = row_list_count(list, row);
    bool done = true;
    for (int i = 0, lines; done && i < count; i += lines) {
        lines = count - i >= BLOCK ? BLOCK : 1;
        int which = KEPT_LIST + 2 * (int)(list - row_lists) + (lines > 1), next = 1;
        SCOPED char *lead = store->kept[which] ? NULL : text_format("result, %s", list->index);
        sqlite3_stmt *s = keep_insert(store, which, list->table, lead, 2, list->group, lines, err);
        for (int k = i; s && k < i + lines; k++) {
            sqlite3_bind_int64(s, next, result);
            sqlite3_bind_int64(s, next + 1, k);
            next = columns_bind(s, next + 2, list->group, row_list_at(list, row, k));
        }
        done = s && step_done(store, s, err);
    }
    return done;
}

/* Inside a transaction. */
static bool put_row(struct store *store, int64_t run_id, const struct row *row, const struct row *before, int64_t *case_key,
                    struct error *err)
{
    int64_t result = 0;
    if (!row->id || !row->id[0] || !row->case_id || !row->case_id[0] || !row->device || !row->device[0]) {
        return error_set(err, ERROR_INTERNAL, "a row without %s cannot be stored",
                         !row->id || !row->id[0]           ? "an id"
                         : !row->device || !row->device[0] ? "a device"
                                                           : "a case");
    }
    bool done = put_case(store, run_id, row, before, case_key, err) && put_result(store, run_id, *case_key, row, &result, err);
    for (const struct row_list *l = row_lists; done && l->table; l++)
        done = rows_put_list(store, l, result, row, err);
    return done || error_where(err, "row %s", row->id);
}

bool store_put_all(struct store *store, int64_t run_id, struct row *const *rows, int count, struct error *err)
{
    bool done = true;
    int64_t case_key = 0;
    if (!store_writable(store, err))
        return false;
    if (store->lock < 0 || store->run != run_id)
        return error_set(err, ERROR_INTERNAL, "%s: run %lld was not begun here", store->path, (long long)run_id);
    if (!store_exec(store, "BEGIN IMMEDIATE", "storing a row", err))
        return false;
    done = done && ALL_OF(i, count, put_row(store, run_id, rows[i], i ? rows[i - 1] : NULL, &case_key, err));
    return store_commit(store, done, "storing a row", err);
}

bool store_put(struct store *store, int64_t run_id, const struct row *row, struct error *err)
{
    struct row *one = (struct row *)(uintptr_t)row;
    return store_put_all(store, run_id, &one, 1, err);
}

/* ---- reading ---- */

/* A row that was read, and its number in the table of results. */
struct read_row {
    int64_t result;
    struct row *row;
};

ORDER(by_result, struct read_row, ORDER_UP(result))

/* One list of one row. */
static bool read_own_list(struct store *store, const struct row_list *list, const struct read_row *of, struct error *err)
{
    int code = SQLITE_DONE;
    SCOPED_BY(store_finalize) sqlite3_stmt *s = NULL;
    SCOPED_TEXT sql = {0};
    text_add(&sql, "SELECT ");
    columns_list(&sql, list->group, "t.");
    text_addf(&sql, " FROM \"%s\" t WHERE t.result = ?1 ORDER BY t.%s", list->table, list->index);
    bool done = store_prepare(store, text_get(&sql), &s, err);
    if (done)
        sqlite3_bind_int64(s, 1, of->result);
    while (done && (code = sqlite3_step(s)) == SQLITE_ROW)
        columns_read(s, 0, list->group, row_list_add(list, of->row));
    return done && (code == SQLITE_DONE || store_error(store, "reading a row", err));
}

/* One list of all rows of a run. `known` is sorted by result. */
static bool read_list(struct store *store, const struct row_list *list, int64_t run, const struct read_row *known, int count,
                      struct error *err)
{
    int code = SQLITE_DONE;
    SCOPED_BY(store_finalize) sqlite3_stmt *s = NULL;
    SCOPED_TEXT sql = {0};
    text_add(&sql, "SELECT ");
    columns_list(&sql, list->group, "t.");
    text_addf(
        &sql,
        ", t.result FROM result r INDEXED BY result_row JOIN \"%s\" t ON t.result = r.result WHERE r.run = ?1 ORDER BY t.result, t.%s",
        list->table, list->index);
    bool done = store_prepare(store, text_get(&sql), &s, err);
    if (done)
        sqlite3_bind_int64(s, 1, run);
    while (done && (code = sqlite3_step(s)) == SQLITE_ROW) {
        struct read_row key = {.result = sqlite3_column_int64(s, columns_count(list->group))};
        const struct read_row *of = bsearch(&key, known, (size_t)count, sizeof *known, by_result);
        if (of)
            columns_read(s, 0, list->group, row_list_add(list, of->row));
    }
    done = done && (code == SQLITE_DONE || store_error(store, "reading a row", err));
    return done;
}

static bool read_rows(struct store *store, sqlite3_stmt *s, int64_t run, const struct store_pick *pick, struct row ***rows, int *count,
                      struct error *err)
{
    int code, room = 0;
    SCOPED struct read_row *known = NULL;
    while ((code = sqlite3_step(s)) == SQLITE_ROW) {
        if (*count == room) {
            room = room ? 2 * room : 64;
            *rows = xrealloc(*rows, (size_t)room * sizeof **rows);
            known = xrealloc(known, (size_t)room * sizeof *known);
        }
        struct row *row = row_new();
        int next = columns_read(s, 0, COLUMN_CASE, row);
        next = columns_read(s, next, COLUMN_RESULT, row);
        known[*count] = (struct read_row){sqlite3_column_int64(s, next), row};
        (*rows)[(*count)++] = row;
    }
    bool done = code == SQLITE_DONE || store_error(store, "reading the rows", err);
    for (int i = 0; done && i < *count; i++) /* a row without one is never stored; a dropped column reads as empty */
        if (!(*rows)[i]->id || !(*rows)[i]->case_id || !(*rows)[i]->device)
            done = error_set(err, ERROR_USAGE, "%s: damaged, while reading the rows: one has no id", store->path);
    if (*count)
        qsort(known, (size_t)*count, sizeof *known, by_result);
    for (const struct row_list *l = row_lists; done && *count && l->table; l++) {
        if (pick->brief && strcmp(l->table, "part"))
            continue;
        if (!pick->id && !pick->case_id)
            done = read_list(store, l, run, known, *count, err);
        for (int i = 0; done && (pick->id || pick->case_id) && i < *count; i++)
            done = read_own_list(store, l, &known[i], err);
    }
    return done;
}

/* A run that was resumed with other layers may have two cases of one index: the later case gets the next free one. */
static void part_cases(struct row **rows, int count)
{
    for (int i = 1; i < count; i++) {
        const struct row *last = rows[i - 1];
        bool same = rows[i]->case_id && last->case_id && strcmp(rows[i]->case_id, last->case_id) == 0;
        if (same || (rows[i]->case_index <= last->case_index && last->case_index < INT_MAX))
            rows[i]->case_index = last->case_index + !same;
    }
}

static struct seal_count count_read(struct row *const *rows, int count)
{
    struct seal_count read = {.rows = count};
    for (int i = 0; i < count; i++)
        for (const struct row_list *l = row_lists; l->table; l++)
            read.items += row_list_count(l, rows[i]);
    return read;
}

int store_rows(struct store *store, int64_t run_id, struct row ***rows, struct error *err)
{
    return store_rows_pick(store, run_id, &(struct store_pick){.sealed = true}, rows, err);
}

int store_rows_pick(struct store *store, int64_t run_id, const struct store_pick *pick, struct row ***rows, struct error *err)
{
    bool whole = !pick->id && !pick->case_id && !pick->brief;
    int count = 0;
    struct seal_count sealed, read;
    SCOPED_BY(store_finalize) sqlite3_stmt *s = NULL;
    SCOPED_TEXT sql = {0};
    *rows = NULL;
    text_add(&sql, "SELECT ");
    columns_list(&sql, COLUMN_CASE, "c.");
    text_add(&sql, ", ");
    columns_list(&sql, COLUMN_RESULT, "r.");
    text_add(&sql, ", r.result FROM result r INDEXED BY result_row JOIN \"case\" c ON c.case_key = +r.case_key WHERE r.run = ?1 AND "
                   "(?2 IS NULL OR r.id = ?2) AND (?3 IS NULL OR c.\"case\" = ?3) ORDER BY "
                   "c.case_index, "
                   "c.case_key, r.row_index, r.result");
    /* One snapshot for all tables, however fast another process writes. */
    bool begun = store_exec(store, "BEGIN", "reading the rows", err);
    bool done = begun && (!pick->sealed || seal_check_lines(store, run_id, &sealed, err)) && store_prepare(store, text_get(&sql), &s, err);
    if (done) {
        sqlite3_bind_int64(s, 1, run_id);
        sqlite3_bind_text(s, 2, pick->id, -1, SQLITE_STATIC);
        sqlite3_bind_text(s, 3, pick->case_id, -1, SQLITE_STATIC);
        done = read_rows(store, s, run_id, pick, rows, &count, err);
    }
    if (done && pick->sealed && whole) {
        read = count_read(*rows, count);
        done = seal_check_read(store, run_id, &sealed, &read, err);
    }
    if (begun)
        sqlite3_exec(store->db, "COMMIT", NULL, NULL, NULL);
    if (done) {
        part_cases(*rows, count);
        return count;
    }
    rows_free(*rows, count);
    *rows = NULL;
    return -1;
}

void rows_free(struct row **rows, int count)
{
    for (int i = 0; i < count; i++)
        row_free(rows[i]);
    free(rows);
}
