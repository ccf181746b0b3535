/* row/merge, row/wisdom: two databases become one, and what tune found is kept. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "store_helpers.h"
#include "store/lock.h"
#include <signal.h>
#include <sys/wait.h>

static struct store *open_at(const char *name)
{
    struct store *store = NULL;
    struct error err = {0};
    if (!store_open(name, false, &store, &err))
        fail_msg("%s", err.text);
    return store;
}

static void fill(const char *name, const char *started, bool ended)
{
    struct error err = {0};
    struct store *store = open_at(name);
    struct fixture f = {0};
    fixture_h200(&f);
    struct row_time *t = &f.rows[0]->times[0]; /* one with its rounds */
    t->samples_ns = xcalloc((size_t)t->rounds, sizeof *t->samples_ns);
    for (int i = 0; i < t->rounds; i++)
        t->samples_ns[i] = 150e3 + i;
    f.run.ended[0] = 0;
    snprintf(f.run.started, sizeof f.run.started, "%s", started);
    put_all(store, &f);
    if (ended)
        assert_true(store_run_end(store, f.run.id, NULL, &err));
    fixture_free(&f);
    store_close(store);
}

static struct merge_counts merge(const char *into, const char *from)
{
    struct merge_counts counts;
    struct error err = {0};
    struct store *store = open_at(into);
    if (!store_merge(store, from, &counts, &err))
        fail_msg("%s", err.text);
    store_close(store);
    return counts;
}

static void rows_are_the_same(const char *a, int64_t run_a, const char *b, int64_t run_b)
{
    struct error err = {0};
    struct store *sa = open_at(a), *sb = open_at(b);
    struct row **ra, **rb;
    int na = store_rows(sa, run_a, &ra, &err), nb = store_rows(sb, run_b, &rb, &err);
    assert_true(na > 0);
    assert_int_equal(na, nb);
    for (int i = 0; i < na; i++) {
        for (const struct column *c = columns; c->name; c++) {
            if (c->group != COLUMN_CASE && c->group != COLUMN_RESULT)
                continue;
            struct column_value x = column_get(c, ra[i]), y = column_get(c, rb[i]);
            assert_int_equal(x.absent, y.absent);
            if (!x.absent && x.text)
                assert_string_equal(x.text, y.text);
            if (!x.absent && !x.text)
                assert_true(x.is_real ? x.real == y.real : x.integer == y.integer);
        }
        assert_int_equal(ra[i]->step_count, rb[i]->step_count);
        assert_int_equal(ra[i]->metric_count, rb[i]->metric_count);
        assert_int_equal(ra[i]->time_count, rb[i]->time_count);
        for (int k = 0; k < ra[i]->step_count; k++) { /* all but the name by its bytes */
            struct row_step x = ra[i]->steps[k], y = rb[i]->steps[k];
            assert_string_equal(x.name, y.name);
            x.name = y.name = NULL;
            assert_memory_equal(&x, &y, sizeof x);
        }
        for (int k = 0; k < ra[i]->metric_count; k++) {
            assert_string_equal(ra[i]->metrics[k].name, rb[i]->metrics[k].name);
            assert_true(ra[i]->metrics[k].value == rb[i]->metrics[k].value);
        }
        for (int k = 0; k < ra[i]->time_count; k++) {
            assert_true(ra[i]->times[k].median_ns == rb[i]->times[k].median_ns);
            assert_int_equal(ra[i]->times[k].rounds, rb[i]->times[k].rounds);
            assert_int_equal(!ra[i]->times[k].samples_ns, !rb[i]->times[k].samples_ns);
            if (ra[i]->times[k].samples_ns)
                assert_memory_equal(ra[i]->times[k].samples_ns, rb[i]->times[k].samples_ns,
                                    sizeof(double) * (size_t)ra[i]->times[k].rounds);
        }
    }
    rows_free(ra, na);
    rows_free(rb, nb);
    store_close(sa);
    store_close(sb);
}

static void runs_and_rows(void **state)
{
    char other[160];
    snprintf(other, sizeof other, "%s/other.db", folder);
    fill(path, "2026-01-01T00:00:00Z", true);
    fill(other, "2026-01-02T00:00:00Z", true);
    fill(other, "2026-01-01T00:00:00Z", true); /* known here */
    struct merge_counts c = merge(path, other);
    assert_int_equal(c.runs, 1);
    assert_int_equal(c.runs_known, 1);
    struct fixture f = {0};
    fixture_h200(&f);
    assert_int_equal(c.rows, f.count);
    fixture_free(&f);
    rows_are_the_same(path, 2, other, 1);
    rows_are_the_same(path, 1, other, 2);
    c = merge(path, other); /* again: nothing */
    assert_int_equal(c.runs, 0);
    assert_int_equal(c.runs_known, 2);
    assert_int_equal(c.rows, 0);
}

/* A run that broke off here and was finished there is taken whole; the other way round it stays. */
static void an_interrupted_run_gives_way(void **state)
{
    char other[160];
    snprintf(other, sizeof other, "%s/other.db", folder);
    fill(path, "2026-01-01T00:00:00Z", false);
    fill(other, "2026-01-01T00:00:00Z", true);
    struct merge_counts c = merge(path, other);
    assert_int_equal(c.runs, 1);
    struct error err = {0};
    struct runs runs = {0};
    struct store *store = open_at(path);
    assert_true(store_runs(store, &runs, &err) && runs.count == 1 && runs.items[0].ended[0]);
    runs_free(&runs);
    store_close(store);
    remove(other);
    fill(other, "2026-01-01T00:00:00Z", false);
    assert_int_equal(merge(path, other).runs, 0);
}

static struct wisdom point(const char *variant, const char *params, const char *chip, const char *tuned, double ns)
{
    struct wisdom w = {.work = xstrdup("conv2d 64->64"),
                       .variant = xstrdup(variant),
                       .params = xstrdup(params),
                       .chip = xstrdup(chip),
                       .arch = xstrdup("sm_90a"),
                       .compiler = xstrdup("nvrtc 13"),
                       .median_ns = ns,
                       .low_ns = ns - 1,
                       .high_ns = ns + 1,
                       .ratio = 2,
                       .ratio_low = 1.9,
                       .ratio_high = 2.1,
                       .points = 96,
                       .timed = 40};
    memset(w.signature, 'a', HASH_TEXT - 1);
    memset(w.source_hash, 'b', HASH_TEXT - 1);
    snprintf(w.tuned, sizeof w.tuned, "%s", tuned);
    return w;
}

static void put(const char *name, struct wisdom w)
{
    struct error err = {0};
    struct store *store = open_at(name);
    if (!store_wisdom_put(store, &w, &err))
        fail_msg("%s", err.text);
    store_close(store);
    wisdom_clear(&w);
}

static void wisdom_newest_wins(void **state)
{
    char other[160];
    snprintf(other, sizeof other, "%s/other.db", folder);
    put(path, point("conv2d/a", "T=1", "H200", "2026-02-01T00:00:00Z", 100));
    put(path, point("conv2d/b", "T=1", "H200", "2026-02-01T00:00:00Z", 100));
    put(other, point("conv2d/a", "T=2", "H200", "2026-02-02T00:00:00Z", 90));  /* newer */
    put(other, point("conv2d/b", "T=2", "H200", "2026-01-31T00:00:00Z", 80));  /* older, though faster: its source may be gone */
    put(other, point("conv2d/a", "T=4", "A100", "2026-01-01T00:00:00Z", 300)); /* another chip */
    struct merge_counts c = merge(path, other);
    assert_int_equal(c.wisdom, 2);
    assert_int_equal(c.wisdom_older, 1);
    struct error err = {0};
    struct store *store = open_at(path);
    struct wisdom *list;
    assert_int_equal(store_wisdom(store, &list, &err), 3);
    assert_string_equal(list[0].params, "T=2"); /* variant, then the newest first */
    assert_string_equal(list[1].params, "T=4");
    assert_string_equal(list[2].params, "T=1");
    assert_true(list[0].median_ns == 90 && list[0].ratio_high == 2.1 && list[0].points == 96 && list[0].timed == 40);
    assert_int_equal(strlen(list[0].signature), 64);
    for (int i = 0; i < 3; i++)
        wisdom_clear(&list[i]);
    free(list);
    store_close(store);
}

/* What is written as a file is read again, whole or not at all. */
static void wisdom_as_a_file(void **state)
{
    struct error err = {0};
    struct wisdom list[] = {point("conv2d/a", "T=1", "H200", "2026-02-01T00:00:00Z", 100),
                            point("conv2d/b", "", "A100", "2026-02-02T00:00:00Z", 90)},
                  *back;
    struct text t = {0};
    wisdom_write(&t, list, 2);
    assert_int_equal(wisdom_parse("w.json", text_get(&t), t.len, &back, &err), 2);
    for (int i = 0; i < 2; i++) {
        assert_string_equal(back[i].variant, list[i].variant);
        assert_true(back[i].median_ns == list[i].median_ns && back[i].points == 96 && !strcmp(back[i].tuned, list[i].tuned));
        assert_memory_equal(back[i].signature, list[i].signature, HASH_TEXT);
        wisdom_clear(&back[i]);
        assert_true(!back[i].variant && !back[i].tuned[0] && back[i].median_ns == 0);
    }
    free(back);
    static const char *const mistakes[][3] = {{"\"bench.wisdom\"", "\"bench.wisdoms\"", "not a file of bench.wisdom"},
                                              {"\"1.0.0\"", "\"2.0.0\"", "not a file of bench.wisdom"},
                                              {"\"wisdom\"", "\"rows\"", "not a file of bench.wisdom"},
                                              {"bbbbbbbb", "bbbbbbbx", "entry 0: signature, source_hash"},
                                              {"conv2d/b", "", "entry 1: signature, source_hash"},
                                              {"conv2d/b", "conv2d\\t", "entry 1: a control character in a name"},
                                              {"2026-02-02T00:00:00Z", "", "entry 1: "},
                                              {"A100", "", "entry 1: signature, source_hash"},
                                              {"96", "\"96\"", "entry 0: 'points' is missing or has another type"},
                                              {"}", "", "w.json:"}};
    for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
        const char *at = strstr(text_get(&t), mistakes[i][0]);
        assert_non_null(at);
        char *wrong = text_format("%.*s%s%s", (int)(at - text_get(&t)), text_get(&t), mistakes[i][1], at + strlen(mistakes[i][0]));
        err = (struct error){0};
        assert_int_equal(wisdom_parse("w.json", wrong, strlen(wrong), &back, &err), -1);
        assert_null(back);
        if (!strstr(err.text, mistakes[i][2]) || strncmp(err.text, "w.json", 6) != 0)
            fail_msg("'%s', want '%s'", err.text, mistakes[i][2]);
        free(wrong);
    }
    for (int i = 0; i < 2; i++)
        wisdom_clear(&list[i]);
    text_free(&t);
}

/* Neither a foreign file nor itself; and nothing was changed. */
static void refusals(void **state)
{
    char other[160];
    struct merge_counts counts;
    snprintf(other, sizeof other, "%s/other.db", folder);
    fill(path, "2026-01-01T00:00:00Z", true);
    write_file(other, "not a database, by far not one: just some text that is long enough", 60);
    struct error err = {0};
    struct store *store = open_at(path);
    assert_false(store_merge(store, other, &counts, &err));
    assert_int_equal(err.kind, ERROR_USAGE);
    assert_non_null(strstr(err.text, "other.db"));
    struct row **rows;
    int count = store_rows(store, 1, &rows, &err);
    assert_true(count > 0);
    rows_free(rows, count);
    store_close(store);
}

/* What fails on the way, a database that is opened for reading, or one that somebody else works on: nothing is changed. */
static void a_merge_is_whole(void **state)
{
    char other[160];
    struct merge_counts counts;
    struct error err = {0};
    struct row **rows;
    snprintf(other, sizeof other, "%s/other.db", folder);
    fill(path, "2026-01-01T00:00:00Z", true);
    fill(other, "2026-01-02T00:00:00Z", true);
    struct store *store = open_at(path);
    assert_int_equal(
        sqlite3_exec(store->db, "CREATE TRIGGER t BEFORE INSERT ON timing BEGIN SELECT RAISE(ABORT, 'full'); END", NULL, NULL, NULL),
        SQLITE_OK);
    assert_false(store_merge(store, other, &counts, &err));
    assert_non_null(strstr(err.text, "full"));
    assert_int_equal(sqlite3_exec(store->db, "DROP TRIGGER t", NULL, NULL, NULL), SQLITE_OK);
    int64_t runs = 0;
    assert_true(store_integer(store, "SELECT count(*) FROM run", &runs, &err) && runs == 1);
    assert_int_equal(store_rows(store, 2, &rows, &err), 0);
    int ready[2], status;
    char byte;
    assert_int_equal(pipe(ready), 0);
    pid_t child = fork();
    if (!child) { /* holds it until the pipe ends */
        int lock = -1;
        bool held = lock_take(path, &lock, &err);
        close(ready[0]);
        _exit(!held || write(ready[1], "x", 1) != 1 || pause());
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    err = (struct error){0};
    bool merged = store_merge(store, other, &counts, &err);
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(!merged && strstr(err.text, "used by another run"));
    assert_true(store_integer(store, "SELECT count(*) FROM run", &runs, &err) && runs == 1);
    assert_true(store_merge(store, other, &counts, &err) && counts.runs == 1);
    assert_true(store_merge(store, other, &counts, &err) && counts.runs_known == 1 && counts.runs == 0); /* the lock was given back */
    store_close(store);
    assert_true(store_open(path, true, &store, &err));
    assert_false(store_merge(store, other, &counts, &err));
    assert_non_null(strstr(err.text, "read"));
    store_close(store);
    close(ready[0]);
    close(ready[1]);
}

/* A table that merge does not copy would be lost silently: whoever adds one comes by here. */
static void every_table_is_merged(void **state)
{
    struct error err = {0};
    struct store *store = open_at(path);
    struct text names = {0};
    sqlite3_stmt *s;
    assert_true(
        store_prepare(store, "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name", &s, &err));
    while (sqlite3_step(s) == SQLITE_ROW)
        text_addf(&names, "%s ", (const char *)sqlite3_column_text(s, 0));
    sqlite3_finalize(s);
    assert_string_equal(text_get(&names),
                        "axis case instruction kernel launch metric network note param part plan result roof run seal timing wisdom ");
    text_free(&names);
    store_close(store);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, make_folder, remove_folder)
    const struct CMUnitTest tests[] = {
        TEST(runs_and_rows),    TEST(an_interrupted_run_gives_way), TEST(wisdom_newest_wins), TEST(wisdom_as_a_file), TEST(refusals),
        TEST(a_merge_is_whole), TEST(every_table_is_merged)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
