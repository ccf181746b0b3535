/* store/join: parts of one plan become one run. A part is a run that a process made of its share of the plan; the parts of a joined run
 * are listed in its environment, by their identity. The SQL works on sets, so that memory does not grow with the rows. */
#include "base/text.h"
#include "store/database.h"
#include "store/lock.h"
#include "store/merge.h"
#include "store/seal.h"
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CLOCK_TOLERANCE 0.05 /* of the mean clock of a part's rows; other application clocks differ by more */
#define SHOWN_MAX 20
#define SEAL_ROWS_MAX 20000
#define CACHE_KIB "-131072" /* while a database is joined: the indexes of a million rows */

struct join {
    join_tell *tell;
    void *context;
};

/* How many rows of a run, in the schema main or from_db, have been run. */
static bool rows_run(struct store *store, const char *schema, int64_t run, int64_t *count, struct error *err)
{
    SCOPED char *sql = text_format("SELECT count(*) FROM %s.result WHERE run = %lld AND status <> 'planned'", schema, (long long)run);
    return store_integer(store, sql, count, err);
}

static json_t *environment_of(const struct run *run)
{
    json_t *root = json_loads(run->environment ? run->environment : "{}", 0, NULL);
    return json_is_object(root) ? root : (json_decref(root), json_object());
}

/* ---- the facts of a part ---- */

/* The mean of a column over the rows of a run in the other database; NaN: none has it. */
static double mean_of(struct store *store, int64_t run, const char *column)
{
    SCOPED_BY(store_finalize) sqlite3_stmt *s = NULL;
    struct error ignored = {0};
    SCOPED char *sql = text_format("SELECT avg(%s) FROM from_db.result WHERE run = %lld", column, (long long)run);
    bool has = store_prepare(store, sql, &s, &ignored) && sqlite3_step(s) == SQLITE_ROW && sqlite3_column_type(s, 0) != SQLITE_NULL;
    return has ? sqlite3_column_double(s, 0) : NAN;
}

static void put_number(json_t *to, const char *key, double value)
{
    if (isfinite(value))
        json_object_set_new(to, key, json_real(value));
}

static json_t *part_facts(struct store *store, const struct run *part, int64_t rows)
{
    SCOPED_BY(store_finalize) sqlite3_stmt *s = NULL;
    struct error ignored = {0};
    const char *where = NULL;
    if (store_prepare(store, "SELECT \"where\" FROM from_db.result WHERE run = ?1 LIMIT 1", &s, &ignored)) {
        sqlite3_bind_int64(s, 1, part->id);
        where = sqlite3_step(s) == SQLITE_ROW ? (const char *)sqlite3_column_text(s, 0) : NULL;
    }
    json_t *facts = json_pack("{s:i,s:i,s:i,s:I,s:s,s:s*,s:s*,s:s*,s:s*}", "shard", part->shard, "shards", part->shards, "planned",
                              part->planned, "rows", (json_int_t)rows, "started", part->started, "ended",
                              part->ended[0] ? part->ended : NULL, "where", where, "uuid", part->uuid, "driver", part->driver);
    for (const struct column *c = column_first(COLUMN_RUN); c; c = column_next(c))
        if (c->type == COLUMN_REAL_ZERO && !column_get(c, part).absent)
            json_object_set_new(facts, c->name, json_real(column_get(c, part).real));
    put_number(facts, "sm_clock_mhz", mean_of(store, part->id, "sm_clock_mhz"));
    put_number(facts, "memory_clock_mhz", mean_of(store, part->id, "memory_clock_mhz"));
    return facts;
}

/* ---- which run a part belongs to ---- */

static bool clocks_differ(const json_t *parts, const json_t *facts, const char *name, char **why)
{
    const char *identity;
    json_t *other;
    double mine = json_number_value(json_object_get(facts, name)), sum = 0;
    int count = 0;
    json_object_foreach((json_t *)(uintptr_t)parts, identity, other)
    {
        double value = json_number_value(json_object_get(other, name));
        sum += value;
        count += value > 0;
    }
    if (!(mine > 0) || !count || fabs(mine - sum / count) <= CLOCK_TOLERANCE * sum / count)
        return false;
    *why = text_format("mean %s %.0f, there %.0f", name, mine, sum / count);
    return true;
}

/* What keeps a part apart from a joined run; NULL: nothing. Malloc'd. */
static char *difference(const struct run *joined, const struct run *part, const json_t *facts)
{
    static const char *const columns_equal[] = {"commit", "verb", "product", "driver", "run_compiler"}, *const facts_equal[] = {"cudnn",
                                                                                                                                "arch"};
    json_auto_t *there = environment_of(joined), *here = environment_of(part);
    char *why = NULL;
    for (size_t i = 0; i < sizeof columns_equal / sizeof *columns_equal; i++) {
        const struct column *c = column_find(COLUMN_RUN, columns_equal[i]);
        const char *a = column_get(c, part).text, *b = column_get(c, joined).text;
        if (!text_same(a ? a : "", b ? b : ""))
            return text_format("%s %s, there %s", c->name, a ? a : "unknown", b ? b : "unknown");
    }
    for (size_t i = 0; i < sizeof facts_equal / sizeof *facts_equal; i++) {
        const char *a = json_string_value(json_object_get(here, facts_equal[i])),
                   *b = json_string_value(json_object_get(there, facts_equal[i]));
        if (!text_same(a ? a : "", b ? b : ""))
            return text_format("%s %s, there %s", facts_equal[i], a && *a ? a : "none", b && *b ? b : "none");
    }
    const json_t *parts = json_object_get(there, "joined");
    if (!clocks_differ(parts, facts, "sm_clock_mhz", &why))
        clocks_differ(parts, facts, "memory_clock_mhz", &why);
    return why;
}

/* The joined run of the part's plan that the part fits, in *found; id 0: none, and *apart says why not the first one. */
static bool find_joined(struct store *store, const struct run *part, const json_t *facts, struct run *found, char **apart,
                        struct error *err)
{
    struct runs runs;
    if (!store_runs(store, &runs, err))
        return false;
    for (int i = 0; i < runs.count && !found->id; i++) {
        struct run *r = &runs.items[i];
        json_auto_t *environment = environment_of(r);
        if (strcmp(r->plan_hash, part->plan_hash) || !json_object_get(environment, "joined"))
            continue;
        char *why = difference(r, part, facts);
        if (!why) {
            *found = *r;
            *r = (struct run){0};
        } else {
            *apart = *apart ? *apart : text_format("run %lld has another state: %s", (long long)r->id, why);
            free(why);
        }
    }
    runs_free(&runs);
    if (found->id) {
        free(*apart);
        *apart = NULL;
    }
    return true;
}

/* ---- cases that both have ---- */

/* Adds columns of a case: NAME_done counts its final and its timed rows, NAME_failed those at fault. */
static void add_measures(struct text *t, const char *schema, const char *key, const char *name)
{
    text_addf(t, ", (SELECT sum((r.status <> 'planned') + EXISTS (SELECT 1 FROM %s.timing t WHERE t.result = r.result)) ", schema);
    text_addf(t, "FROM %s.result r WHERE r.case_key = %s) %s_done", schema, key, name);
    text_addf(t, ", (SELECT count(*) FROM %s.result r WHERE r.case_key = %s AND r.status IN (''", schema, key);
    for (int i = 0; i < ROW_STATUS_COUNT; i++)
        if (row_status_failed((enum row_status)i))
            text_addf(t, ", '%s'", row_status_name((enum row_status)i));
    text_addf(t, ")) %s_failed", name);
}

/* Lists the cases that both have: the same part's or not, and which one wins. */
static bool list_both(struct store *store, const struct run *part, int64_t joined, struct error *err)
{
    SCOPED_BY(store_finalize) sqlite3_stmt *s = NULL;
    SCOPED_TEXT t = {0};
    static const char clear[] =
        "CREATE TEMP TABLE IF NOT EXISTS both (theirs INTEGER PRIMARY KEY, ours INTEGER, same INTEGER, wins INTEGER);"
        "CREATE TEMP TABLE IF NOT EXISTS take (case_key INTEGER PRIMARY KEY);"
        "CREATE TEMP TABLE IF NOT EXISTS conflict (id TEXT, side TEXT, said TEXT);"
        "DELETE FROM temp.both; DELETE FROM temp.take; DELETE FROM temp.conflict";
    text_add(&t, "INSERT INTO temp.both WITH pair AS (SELECT a.case_key theirs, b.case_key ours");
    text_add(&t,
             ", coalesce(a.origin, ?3) their, b.origin our, coalesce(a.origin_started, ?4) their_started, b.origin_started our_started");
    add_measures(&t, "from_db", "a.case_key", "their");
    add_measures(&t, "main", "b.case_key", "our");
    text_add(&t, " FROM from_db.\"case\" a JOIN main.\"case\" b ON b.run = ?2 AND b.\"case\" = a.\"case\" WHERE a.run = ?1)");
    text_add(&t,
             " SELECT theirs, ours, their IS our, CASE WHEN their_done <> our_done THEN their_done > our_done WHEN their IS our THEN 0");
    text_add(&t, " WHEN their_failed <> our_failed THEN their_failed > our_failed");
    text_add(&t, " WHEN their_started IS NOT our_started THEN their_started < our_started ELSE their < our END FROM pair");
    if (!store_exec(store, clear, "joining", err) || !store_prepare(store, text_get(&t), &s, err))
        return false;
    sqlite3_bind_int64(s, 1, part->id);
    sqlite3_bind_int64(s, 2, joined);
    sqlite3_bind_text(s, 3, part->identity, -1, SQLITE_STATIC);
    sqlite3_bind_text(s, 4, part->started, -1, SQLITE_STATIC);
    return sqlite3_step(s) == SQLITE_DONE || store_error(store, "joining", err);
}

/* "ok 41.3 us on HOST/cuda:0" of the result r with its time t. */
static void add_said(struct text *t, const char *r)
{
    text_addf(t, "%s.status || iif(t%s.median_ns IS NULL, '', printf(' %%.4g us', t%s.median_ns / 1e3))", r, r, r);
    text_addf(t, " || ' on ' || coalesce(%s.\"where\", 'another machine')", r);
}

/* Rows whose values differ between two parts: another status, or times whose intervals do not overlap. */
static bool list_conflicts(struct store *store, struct error *err)
{
    SCOPED_TEXT t = {0};
    text_add(&t, "INSERT INTO temp.conflict SELECT id, side, min(said) FROM (SELECT a.id id, a.side side, CASE WHEN p.wins");
    for (int swap = 0; swap < 2; swap++) {
        text_addf(&t, " %s 'measured twice: ' || ", swap ? "ELSE" : "THEN");
        add_said(&t, swap ? "b" : "a");
        text_add(&t, " || '; also ' || ");
        add_said(&t, swap ? "a" : "b");
    }
    text_add(&t, " END said FROM temp.both p JOIN from_db.result a ON a.case_key = p.theirs");
    text_add(&t, " JOIN main.result b ON b.case_key = p.ours AND b.id = a.id AND b.side IS a.side");
    text_add(&t, " LEFT JOIN from_db.timing ta ON ta.result = a.result AND ta.time_step = -1");
    text_add(&t, " LEFT JOIN main.timing tb ON tb.result = b.result AND tb.time_step = -1 AND tb.cache IS ta.cache AND tb.load IS ta.load");
    text_add(&t, " WHERE NOT p.same AND a.status <> 'planned' AND b.status <> 'planned'");
    text_add(&t, " AND (a.status <> b.status OR ta.low_ns > tb.high_ns OR tb.low_ns > ta.high_ns)) GROUP BY id, side");
    return store_exec(store, text_get(&t), "joining", err);
}

static bool write_conflicts(struct store *store, int64_t joined, struct error *err)
{
    SCOPED char *sql = text_format(
        "CREATE TEMP TABLE said AS SELECT r.result, c.said FROM temp.conflict c JOIN main.result r ON r.run = %lld AND r.id = c.id AND "
        "r.side "
        "IS c.side WHERE NOT EXISTS (SELECT 1 FROM main.note n WHERE n.result = r.result AND n.note_text = c.said);"
        "INSERT INTO main.note (result, note_index, note_text) SELECT s.result, coalesce((SELECT max(note_index) FROM main.note n WHERE "
        "n.result = "
        "s.result) + 1, 0), s.said FROM temp.said s;"
        "UPDATE main.result SET sum = NULL, note = coalesce(note || '; ', '') || (SELECT s.said FROM temp.said s WHERE s.result = "
        "main.result.result) "
        "WHERE result IN (SELECT result FROM temp.said); DROP TABLE temp.said",
        (long long)joined);
    return store_exec(store, sql, "joining", err);
}

/* The texts of the first conflicts. */
static bool read_conflicts(struct store *store, struct join_part *p, char ***shown, struct error *err)
{
    SCOPED_BY(store_finalize) sqlite3_stmt *s = NULL;
    int64_t count = 0;
    if (!store_integer(store, "SELECT count(*) FROM temp.conflict", &count, err) ||
        !store_prepare(store, "SELECT id || ': ' || said FROM temp.conflict ORDER BY id, side LIMIT ?1", &s, err))
        return false;
    sqlite3_bind_int(s, 1, SHOWN_MAX);
    while (sqlite3_step(s) == SQLITE_ROW)
        *APPEND(*shown, p->shown_count) = xstrdup((const char *)sqlite3_column_text(s, 0));
    p->conflicts = (int)count;
    p->shown = (const char *const *)*shown;
    return true;
}

/* ---- the joined run ---- */

/* The run's own fields, from all its parts: the earliest start, the last end if every shard has ended, the sums of the times spent. */
static bool refresh(struct store *store, int64_t joined, struct error *err)
{
    SCOPED_BY(run_clear) struct run run = {0};
    SCOPED_BY(store_finalize) sqlite3_stmt *s = NULL;
    struct join_state state;
    const char *identity, *started = NULL, *ended = NULL;
    json_t *part;
    if (!store_run(store, joined, &run, err) || !store_join_state(store, joined, &state, err))
        return false;
    json_auto_t *environment = environment_of(&run);
    bool all = state.shards && !state.missing_count;
    free(state.missing);
    for (const struct column *c = column_first(COLUMN_RUN); c; c = column_next(c))
        if (c->type == COLUMN_REAL_ZERO)
            column_set(c, &run, &(struct column_value){.is_real = true});
    json_object_foreach(json_object_get(environment, "joined"), identity, part)
    {
        const char *from = json_string_value(json_object_get(part, "started")), *to = json_string_value(json_object_get(part, "ended"));
        started = !started || (from && strcmp(from, started) < 0) ? from : started;
        ended = to && (!ended || strcmp(to, ended) > 0) ? to : ended;
        for (const struct column *c = column_first(COLUMN_RUN); c; c = column_next(c))
            if (c->type == COLUMN_REAL_ZERO) {
                double before = column_get(c, &run).absent ? 0 : column_get(c, &run).real;
                column_set(c, &run,
                           &(struct column_value){.is_real = true, .real = before + json_number_value(json_object_get(part, c->name))});
            }
    }
    if (!store_run_spent(store, &run, err) || !store_prepare(store, "UPDATE main.run SET started = ?2, ended = ?3 WHERE run = ?1", &s, err))
        return false;
    sqlite3_bind_int64(s, 1, joined);
    sqlite3_bind_text(s, 2, started, -1, SQLITE_STATIC);
    sqlite3_bind_text(s, 3, all ? ended : NULL, -1, SQLITE_STATIC);
    return sqlite3_step(s) == SQLITE_DONE || store_error(store, "joining", err);
}

/* Is this shard there, in a part that ended? */
static void mark_shards(const json_t *parts, struct join_state *state, bool **there)
{
    const char *identity;
    json_t *part;
    json_object_foreach((json_t *)(uintptr_t)parts, identity, part)
    {
        int shard = (int)json_integer_value(json_object_get(part, "shard")),
            shards = (int)json_integer_value(json_object_get(part, "shards"));
        if (!*there) {
            state->shards = shards;
            *there = xcalloc((size_t)(shards > 0 ? shards : 0) + 1, sizeof **there);
        }
        if (shards != state->shards || shards < 1)
            state->shards = 0;
        else if (shard >= 1 && shard <= shards && json_object_get(part, "ended"))
            (*there)[shard] = true;
    }
}

bool store_join_state(struct store *store, int64_t id, struct join_state *state, struct error *err)
{
    SCOPED_BY(run_clear) struct run run = {0};
    SCOPED bool *there = NULL;
    *state = (struct join_state){0};
    if (!store_run(store, id, &run, err))
        return false;
    json_auto_t *environment = environment_of(&run);
    memcpy(state->plan_hash, run.plan_hash, sizeof state->plan_hash);
    state->planned = run.planned;
    mark_shards(json_object_get(environment, "joined"), state, &there);
    for (int i = 1; i <= state->shards; i++)
        if (!there[i])
            *APPEND(state->missing, state->missing_count) = i;
    return rows_run(store, "main", id, &state->rows, err);
}

static bool new_joined(struct store *store, const struct run *part, struct run *joined, struct error *err)
{
    int64_t id;
    if (!merge_head(store, part->id, &id, err))
        return false;
    SCOPED char *sql =
        text_format("UPDATE main.run SET identity = NULL, shard = 1, shards = 1, planned = plan_rows, ended = NULL, environment = "
                    "json_set(coalesce(environment, '{}'), '$.joined', json('{}')) WHERE run = %lld",
                    (long long)id);
    return store_exec(store, sql, "joining", err) && store_run(store, id, joined, err);
}

/* Copies the part's cases that the joined run lacks, and those that win over its own. */
static bool take_cases(struct store *store, const struct run *part, int64_t joined, struct join_part *p, char ***shown, struct error *err)
{
    SCOPED_BY(store_finalize) sqlite3_stmt *s = NULL;
    SCOPED char *missing =
        text_format("INSERT INTO temp.take SELECT case_key FROM from_db.\"case\" WHERE run = %lld AND case_key NOT IN (SELECT theirs "
                    "FROM temp.both WHERE NOT wins)",
                    (long long)part->id);
    bool ok = list_both(store, part, joined, err) && list_conflicts(store, err) && store_exec(store, missing, "joining", err) &&
              store_exec(store, "DELETE FROM main.\"case\" WHERE case_key IN (SELECT ours FROM temp.both WHERE wins)", "joining", err);
    p->rows = ok ? merge_cases(store, part->id, joined, "(SELECT case_key FROM temp.take)", err) : -1;
    if (p->rows < 0 ||
        !store_prepare(store, "UPDATE main.\"case\" SET origin = ?2, origin_started = ?3 WHERE run = ?1 AND origin IS NULL", &s, err))
        return false;
    sqlite3_bind_int64(s, 1, joined);
    sqlite3_bind_text(s, 2, part->identity, -1, SQLITE_STATIC);
    sqlite3_bind_text(s, 3, part->started, -1, SQLITE_STATIC);
    return (sqlite3_step(s) == SQLITE_DONE || store_error(store, "joining", err)) && write_conflicts(store, joined, err) &&
           read_conflicts(store, p, shown, err);
}

/* Adds the part, or the parts that it was joined from, to the list of the joined run. */
static bool list_part(struct store *store, const struct run *part, json_t *facts, int64_t joined, struct error *err)
{
    json_auto_t *own = environment_of(part);
    json_t *parts = json_object_get(own, "joined");
    json_auto_t *added = parts ? json_pack("{s:O}", "joined", parts) : json_pack("{s:{s:O}}", "joined", part->identity, facts);
    SCOPED char *text = json_dumps(added, JSON_COMPACT);
    return text && store_run_environment(store, joined, text, err) && refresh(store, joined, err);
}

/* Does the joined run list the part as it is now? */
static bool is_known(const struct run *joined, const struct run *part, const json_t *facts)
{
    json_auto_t *environment = environment_of(joined);
    json_t *there = part->identity ? json_object_get(json_object_get(environment, "joined"), part->identity) : NULL;
    const char *here = json_string_value(json_object_get(facts, "ended")), *known = json_string_value(json_object_get(there, "ended"));
    return there && json_equal(json_object_get(there, "rows"), json_object_get(facts, "rows")) && text_same(here, known);
}

/* A part more changes the seal, which store_join_much writes at the end where very many rows are joined. */
static bool seal_joined(struct store *store, int64_t run, struct error *err)
{
    int64_t rows;
    return rows_run(store, "main", run, &rows, err) && (rows > SEAL_ROWS_MAX || seal_write(store, run, err));
}

static bool join_part(struct store *store, const struct run *part, const struct join *j, struct error *err)
{
    SCOPED_BY(run_clear) struct run joined = {0};
    struct join_part p = {.run = part->id, .shard = part->shard, .shards = part->shards};
    SCOPED char *apart = NULL;
    char **shown = NULL;
    int64_t rows = 0;
    if (!rows_run(store, "from_db", part->id, &rows, err))
        return false;
    json_auto_t *facts = part_facts(store, part, rows);
    bool ok = find_joined(store, part, facts, &joined, &apart, err) && (joined.id || new_joined(store, part, &joined, err));
    if (ok && !is_known(&joined, part, facts))
        ok = seal_break(store, joined.id, err) && take_cases(store, part, joined.id, &p, &shown, err) &&
             list_part(store, part, facts, joined.id, err) && seal_joined(store, joined.id, err);
    if (ok) {
        p.joined = joined.id;
        p.known = rows > p.rows ? rows - p.rows : 0;
        p.apart = apart;
        j->tell(j->context, &p);
    }
    pointers_free(shown, p.shown_count);
    return ok;
}

/* The parts of the other database: its runs that have a plan. */
static bool read_parts(struct store *store, struct runs *parts, struct error *err)
{
    int code;
    SCOPED_TEXT sql = {0};
    SCOPED_BY(store_finalize) sqlite3_stmt *s = NULL;
    text_add(&sql, "SELECT ");
    columns_list(&sql, COLUMN_RUN, "");
    text_add(&sql, " FROM from_db.run WHERE plan_hash IS NOT NULL ORDER BY started, run");
    if (!store_prepare(store, text_get(&sql), &s, err))
        return false;
    while ((code = sqlite3_step(s)) == SQLITE_ROW) {
        struct run *one = APPEND(parts->items, parts->count);
        *one = (struct run){0};
        columns_read(s, 0, COLUMN_RUN, one);
    }
    return code == SQLITE_DONE || store_error(store, "joining", err);
}

static bool join_all(struct store *store, void *context, struct error *err)
{
    SCOPED_BY(runs_free) struct runs parts = {0};
    struct merge_counts ignored = {0};
    bool ok = read_parts(store, &parts, err);
    if (ok && !parts.count) {
        error_set(err, ERROR_USAGE, "it has no run with a plan");
        return error_hint(err, "only runs of this bench or a newer one can be joined; without --join, import adds each run as it is");
    }
    ok = ok && ALL_OF(i, parts.count, join_part(store, &parts.items[i], context, err));
    return ok && merge_wisdom(store, &ignored, err) && merge_ceilings(store, -1, err) && seal_loose(store, err);
}

bool store_join_much(struct store *store, bool begin, struct error *err)
{
    if (begin)
        return store_exec(store, "DROP INDEX IF EXISTS result_key", "joining", err);
    if (!lock_take(store->path, &store->lock, err)) /* seal_missing: no run is written now */
        return false;
    bool ok = schema_indexes(store, err) && seal_missing(store, err);
    lock_release(&store->lock);
    return ok;
}

bool store_join(struct store *into, const char *from, join_tell *tell, void *context, struct error *err)
{
    /* A rollback journal writes new pages once, a WAL twice. If a report reads meanwhile, the journal stays as it is; the next process
     * that opens the database to write sets it again. */
    sqlite3_exec(into->db, "PRAGMA main.journal_mode = DELETE", NULL, NULL, NULL);
    return store_exec(into, "PRAGMA main.cache_size = " CACHE_KIB, "joining", err) &&
           merge_with(into, from, join_all, &(struct join){tell, context}, err);
}
