/* The store keeps what it was given, whole, through crashes and beside other processes. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "store/family.h"
#include "store_helpers.h"

/* Every column of `group` is the same in both. */
static void same_columns(enum column_group group, const void *a, const void *b)
{
    for (const struct column *c = columns; c->name; c++) {
        if (c->group != group)
            continue;
        struct column_value v = column_get(c, a), w = column_get(c, b);
        bool same = v.absent == w.absent && (v.absent || (v.text      ? w.text && strcmp(v.text, w.text) == 0
                                                          : v.is_real ? v.real == w.real
                                                                      : v.integer == w.integer));
        if (!same)
            fail_msg("column %s differs", c->name);
    }
}

static void same_row(const struct row *a, const struct row *b)
{
    same_columns(COLUMN_CASE, a, b);
    same_columns(COLUMN_RESULT, a, b);
    assert_int_equal(a->step_count, b->step_count);
    assert_int_equal(a->time_count, b->time_count);
    assert_int_equal(a->metric_count, b->metric_count);
    for (int i = 0; i < a->step_count; i++)
        same_columns(COLUMN_STEP, &a->steps[i], &b->steps[i]);
    for (int i = 0; i < a->metric_count; i++)
        same_columns(COLUMN_METRIC, &a->metrics[i], &b->metrics[i]);
    for (int i = 0; i < a->time_count; i++) {
        same_columns(COLUMN_TIME, &a->times[i], &b->times[i]);
        assert_int_equal(!a->times[i].samples_ns, !b->times[i].samples_ns);
        if (a->times[i].samples_ns)
            assert_memory_equal(a->times[i].samples_ns, b->times[i].samples_ns, sizeof(double) * (size_t)a->times[i].rounds);
    }
}

static void put_get_equality(void **state)
{
    struct fixture f = {0};
    struct error err = {0};
    struct row **rows;
    struct run run = {0};
    fixture_h200(&f);
    struct row_time *t = &f.rows[0]->times[0];
    t->samples_ns = xmalloc(sizeof(double) * (size_t)t->rounds);
    for (int i = 0; i < t->rounds; i++)
        t->samples_ns[i] = 154700 + i / 3.0;
    row_add_member(f.rows[1], FAMILY_EMU, 0, 88, "x", "B", "emu", NAN); /* a number that is not known stays so */
    row_set(&f.rows[2]->reason, "a 'quote', a \"double\", a ; and \xe2\x82\xac");
    f.run.seed = UINT64_MAX;
    struct store *store = open_or_fail(false);
    put_all(store, &f);
    assert_true(store_run_end(store, f.run.id, NULL, &err));
    store_close(store);

    store = open_or_fail(true);
    int count = store_rows(store, f.run.id, &rows, &err);
    assert_int_equal(count, f.count);
    for (int i = 0; i < count; i++)
        same_row(f.rows[i], rows[i]);
    rows_free(rows, count);
    assert_true(store_last_run(store, NULL, "edsr_sparse", "cuda:0", &run, &err));
    assert_string_not_equal(run.ended, "");
    strcpy(run.ended, f.run.ended);
    same_columns(COLUMN_RUN, &f.run, &run);
    run_clear(&run);
    err.text[0] = '\0';
    assert_false(store_last_run(store, NULL, "edsr", NULL, &run, &err));
    assert_string_equal(err.text, ""); /* none is no error */
    assert_false(store_run(store, 99, &run, &err));
    assert_string_not_equal(err.text, "");
    struct runs runs = {0};
    assert_true(store_runs(store, &runs, &err) && runs.count == 1);
    runs_free(&runs);
    assert_false(store_put(store, f.run.id, f.rows[0], &err)); /* reading only */
    store_close(store);
    fixture_free(&f);
}

/* Single rows, and rows without their lists, are those of the run. */
static void picked_rows_are_the_runs(void **state)
{
    struct fixture f = {0};
    struct error err = {0};
    struct row **rows, **picked;
    fixture_h200(&f);
    struct store *store = open_or_fail(false);
    put_all(store, &f);
    int count = store_rows(store, f.run.id, &rows, &err), of_case = 0;
    for (int i = 0; i < count; i++) {
        assert_int_equal(store_rows_pick(store, f.run.id, &(struct store_pick){.id = rows[i]->id}, &picked, &err), 1);
        same_row(rows[i], picked[0]);
        rows_free(picked, 1);
        of_case += !strcmp(rows[i]->case_id, rows[0]->case_id);
    }
    assert_int_equal(store_rows_pick(store, f.run.id, &(struct store_pick){.case_id = rows[0]->case_id, .sealed = true}, &picked, &err),
                     of_case);
    assert_true(of_case > 1 && of_case < count);
    same_row(rows[0], picked[0]);
    rows_free(picked, of_case);
    assert_int_equal(store_rows_pick(store, f.run.id, &(struct store_pick){.brief = true}, &picked, &err), count);
    assert_true(rows[0]->step_count > 0 && picked[0]->step_count == 0);
    same_columns(COLUMN_RESULT, rows[0], picked[0]);
    rows_free(picked, count);
    rows_free(rows, count);
    store_close(store);
    fixture_free(&f);
}

static void put_replaces_whole_row(void **state)
{
    struct fixture f = {0};
    struct error err = {0};
    struct row **rows;
    fixture_h200(&f);
    struct store *store = open_or_fail(false);
    put_all(store, &f);
    struct row *row = f.rows[f.count - 1];
    for (int i = 0; i < row->step_count; i++)
        row_set(&row->steps[i].name, NULL);
    row->step_count = 0;
    row->time_count = 0;
    row->status = ROW_HUNG;
    row_set(&row->reason, "watchdog");
    assert_true(store_put(store, f.run.id, row, &err));
    int count = store_rows(store, f.run.id, &rows, &err);
    assert_int_equal(count, f.count);
    same_row(row, rows[count - 1]);
    rows_free(rows, count);
    /* nothing of the old row is left behind */
    int64_t orphans = -1;
    assert_true(store_integer(store,
                              "SELECT (SELECT count(*) FROM timing WHERE result NOT IN (SELECT result FROM result)) +"
                              "(SELECT count(*) FROM kernel WHERE result NOT IN (SELECT result FROM result))",
                              &orphans, &err));
    assert_int_equal(orphans, 0);
    /* a row without an id, or a run that was not begun, is refused and leaves nothing */
    row_set(&row->id, NULL);
    assert_false(store_put(store, f.run.id, row, &err));
    row_set(&row->id, "x");
    assert_false(store_put(store, f.run.id + 1, row, &err));
    store_close(store);
    fixture_free(&f);
}

static void environment_merges(void **state)
{
    struct fixture f = {0};
    struct error err = {0};
    struct run run = {0};
    fixture_h200(&f);
    struct store *store = open_or_fail(false);
    put_all(store, &f);
    assert_true(store_run_environment(store, f.run.id, "{\"flush_us\": 61.5, \"cudnn\": \"9.20\"}", &err));
    assert_false(store_run_environment(store, f.run.id, "[1]", &err));
    assert_false(store_run_environment(store, f.run.id, "{", &err));
    assert_true(store_run(store, f.run.id, &run, &err));
    assert_string_equal(run.environment, "{\"cudnn\":\"9.20\",\"flush_us\":61.5,\"sm_clock_mhz\":1980}");
    run_clear(&run);
    /* Objects are merged inside: each case brings its own clocks. */
    assert_true(store_run_environment(store, f.run.id, "{\"clocks\": {\"a\": {\"power_w\": 300}}}", &err));
    assert_true(store_run_environment(store, f.run.id, "{\"clocks\": {\"b\": {\"power_w\": 310}}}", &err));
    assert_true(store_run(store, f.run.id, &run, &err));
    assert_non_null(strstr(run.environment, "\"clocks\":{\"a\":{\"power_w\":300},\"b\":{\"power_w\":310}}"));
    run_clear(&run);
    store_close(store);
    fixture_free(&f);
}

/* The tables have exactly the columns of the column table, plus their keys and a row's checksum: the test finds a column without a
 * migration.
 */
static void tables_match_columns(void **state)
{
    static const struct {
        enum column_group group;
        const char *table;
        int keys;
    } tables[] = {{COLUMN_RUN, "run", 0},     {COLUMN_CASE, "case", 2},   {COLUMN_RESULT, "result", 4},
                  {COLUMN_STEP, "kernel", 2}, {COLUMN_TIME, "timing", 2}, {COLUMN_METRIC, "metric", 2}};
    struct store *store = open_or_fail(false);
    struct error err = {0};
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
        int64_t count = 0;
        char sql[128];
        snprintf(sql, sizeof sql, "SELECT count(*) FROM pragma_table_info('%s')", tables[i].table);
        assert_true(store_integer(store, sql, &count, &err));
        assert_int_equal(count, columns_count(tables[i].group) + tables[i].keys);
    }
    store_close(store);
}

/* ---- other processes ---- */

/* A child that begins a run, then stores rows in a loop and writes a byte for each, until it is killed. */
static pid_t start_writer(int *rows_done, int64_t resume)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t pid = fork();
    if (pid == 0) {
        struct fixture f = {0};
        struct error err;
        struct store *store = NULL;
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* a failed test must not leave it writing for ever */
        close(ends[0]);
        fixture_h200(&f);
        f.run.id = resume;
        bool fine = store_open(path, false, &store, &err) && store_run_begin(store, &f.run, &err);
        for (int i = 0; fine && i < 20000; i++) {
            struct row *row = f.rows[i % f.count];
            char id[64];
            snprintf(id, sizeof id, "row-%06d", i);
            row_set(&row->id, id);
            fine = store_put(store, f.run.id, row, &err) && write(ends[1], "x", 1) == 1;
        }
        _exit(1);
    }
    close(ends[1]);
    *rows_done = ends[0];
    return pid;
}

static void kill_loses_and_doubles_nothing(void **state)
{
    struct error err = {0};
    for (int round = 0; round < 8; round++) {
        int done_fd, promised = 0;
        char byte[256];
        pid_t pid = start_writer(&done_fd, 0);
        while (promised < 3 + 5 * round) {
            ssize_t n = read(done_fd, byte, sizeof byte);
            assert_true(n > 0);
            promised += (int)n;
        }
        usleep((useconds_t)(337 * round)); /* somewhere inside the next row */
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
        for (ssize_t n; (n = read(done_fd, byte, sizeof byte)) > 0;)
            promised += (int)n;
        close(done_fd);
        /* opens at once: the lock died with its holder */
        struct store *store = open_or_fail(false);
        struct run run = {0};
        struct row **rows;
        assert_true(store_last_run(store, NULL, "edsr_sparse", "cuda:0", &run, &err));
        assert_int_equal(run.id, round + 1);
        assert_string_equal(run.ended, "");
        int count = store_rows(store, run.id, &rows, &err);
        assert_in_range(count, promised, promised + 1); /* the last may be stored and not yet told */
        for (int i = 0; i < count; i++) {
            assert_true(rows[i]->time_count > 0 || rows[i]->status != ROW_OK);
            for (int j = 0; j < i; j++)
                assert_string_not_equal(rows[i]->id, rows[j]->id);
        }
        rows_free(rows, count);
        /* the run is taken up again under its number */
        assert_true(store_run_begin(store, &run, &err));
        assert_int_equal(run.id, round + 1);
        assert_true(store_run_end(store, run.id, NULL, &err));
        run_clear(&run);
        store_close(store);
    }
}

static void a_running_run_holds_the_database(void **state)
{
    int done_fd;
    char byte, want[64];
    struct error err = {0};
    struct store *store = NULL;
    struct row **rows;
    pid_t pid = start_writer(&done_fd, 0);
    assert_int_equal(read(done_fd, &byte, 1), 1);
    assert_false(store_open(path, false, &store, &err));
    assert_null(store);
    snprintf(want, sizeof want, "used by another run: pid %ld", (long)pid);
    assert_non_null(strstr(err.text, want));
    assert_int_equal(err.kind, ERROR_ENVIRONMENT);
    assert_string_not_equal(err.hint, "");
    /* a report may read meanwhile, and sees only whole rows */
    store = open_or_fail(true);
    int count = store_rows(store, 1, &rows, &err);
    assert_true(count > 0);
    rows_free(rows, count);
    store_close(store);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    close(done_fd);
    /* a file that names a living process (a reused pid) is no lock */
    char lock[160], name[32];
    snprintf(lock, sizeof lock, "%s.lock", path);
    snprintf(name, sizeof name, "%ld\n", (long)getpid());
    write_file(lock, name, strlen(name));
    store_close(open_or_fail(false));
}

static void two_in_one_process(void **state)
{
    struct fixture f = {0}, g = {0};
    struct error err = {0};
    fixture_h200(&f);
    fixture_emu(&g);
    struct store *a = open_or_fail(false), *b = open_or_fail(false);
    f.run.id = g.run.id = 0;
    assert_true(store_run_begin(a, &f.run, &err));
    assert_false(store_run_begin(b, &g.run, &err));
    assert_non_null(strstr(err.text, "(this process)"));
    assert_true(store_run_end(a, f.run.id, NULL, &err));
    assert_true(store_run_begin(b, &g.run, &err));
    assert_int_equal(g.run.id, 2);
    store_close(a);
    store_close(b);
    fixture_free(&f);
    fixture_free(&g);
}

static void ceilings_are_kept_by_gpu_and_date(void **state)
{
    struct error err = {0};
    struct store *store = open_or_fail(false);
    struct ceiling_list old = {.measured = "2026-11-20T10:00:00Z", .count = 2}, now = {.measured = "2026-11-21T10:00:00Z", .count = 1}, got;
    old.items[0] = (struct ceiling){"copy", "B/s", "the driver's copy", 4.2e12};
    old.items[1] = (struct ceiling){"f32", "FLOP/s", "kernel roof_f32", 61e12};
    now.items[0] = (struct ceiling){"copy", "B/s", "kernel roof_copy", 4.25e12};
    assert_false(store_ceilings(store, "GPU-1", &got, &err));
    assert_int_equal(err.kind, ERROR_NONE);
    assert_true(store_ceilings_put(store, "GPU-1", &old, &err) && store_ceilings(store, "GPU-1", &got, &err));
    assert_int_equal(got.count, 2);
    assert_true(got.items[1].value == 61e12 && !strcmp(got.items[1].how, "kernel roof_f32") && !strcmp(got.items[1].unit, "FLOP/s"));
    assert_true(store_ceilings_put(store, "GPU-1", &now, &err));
    store_close(store);
    store = open_or_fail(true);
    assert_true(store_ceilings(store, "GPU-1", &got, &err)); /* the newest set, whole */
    assert_int_equal(got.count, 1);
    assert_string_equal(got.measured, now.measured);
    assert_true(got.items[0].value == 4.25e12);
    assert_false(store_ceilings(store, "GPU-2", &got, &err));
    assert_int_equal(got.count, 0);
    assert_false(store_ceilings_put(store, "GPU-2", &now, &err)); /* opened for reading */
    store_close(store);
}

static char visited[128];
static void visit(void *context, const char *uuid, const struct ceiling_list *roofs)
{
    snprintf(visited + strlen(visited), sizeof visited - strlen(visited), "%s %s %d;", uuid, roofs->items[0].name, roofs->count);
}

/* Each GPU once, with the newest of its ceilings. */
static void ceilings_of_every_gpu(void **state)
{
    struct error err = {0};
    struct store *store = open_or_fail(false);
    visited[0] = 0;
    assert_true(store_ceilings_each(store, visit, NULL, &err) && !visited[0]);
    for (int i = 0; i < 3; i++) {
        struct ceiling_list r = {.count = 1 + i};
        snprintf(r.measured, sizeof r.measured, "2026-11-2%dT10:00:00Z", i);
        for (int k = 0; k <= i; k++)
            r.items[k] = (struct ceiling){"", "B/s", "how", 1};
        for (int k = 0; k <= i; k++)
            snprintf(r.items[k].name, sizeof r.items[k].name, "%c%d", 'a' + i, k);
        assert_true(store_ceilings_put(store, i ? "GPU-1" : "GPU-2", &r, &err));
    }
    assert_true(store_ceilings_each(store, visit, NULL, &err));
    assert_string_equal(visited, "GPU-1 c0 3;GPU-2 a0 1;");
    store_close(store);
}

/* Hundreds of rows of several cases, each with its own lists, are read back in the order of cases and rows. Cases are numbered by position,
 * even if two are equal. */
static void many_rows_come_back(void **state)
{
    struct fixture f = {0};
    struct error err = {0};
    struct row **rows;
    fixture_run(&f.run, "many", "cuda:0", "");
    for (int i = 0; i < 300; i++) {
        char layer[16], variant[32];
        snprintf(layer, sizeof layer, "l%d", i / 3);
        snprintf(variant, sizeof variant, "conv2d/v%d", i);
        struct row *r = fixture_row(&f, i / 3 == 99 ? 98 : i / 3, layer, "", "w", variant, "", ROW_OK);
        r->row_index = i;
        for (int k = 0; k <= i % 5; k++)
            row_add_metric(r, -1, 0, "m", "", "model", 1000 * i + k);
    }
    struct store *store = open_or_fail(false);
    put_all(store, &f);
    int count = store_rows(store, f.run.id, &rows, &err);
    assert_int_equal(count, 300);
    for (int i = 0; i < count; i++) {
        assert_int_equal(rows[i]->row_index, i);
        assert_int_equal(rows[i]->case_index, i / 3);
        assert_int_equal(rows[i]->metric_count, i % 5 + 1);
        for (int k = 0; k < rows[i]->metric_count; k++)
            assert_true(rows[i]->metrics[k].value == 1000 * i + k);
    }
    rows_free(rows, count);
    store_close(store);
    fixture_free(&f);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)
    const struct CMUnitTest tests[] = {
        TEST(put_get_equality),
        TEST(put_replaces_whole_row),
        TEST(picked_rows_are_the_runs),
        TEST(environment_merges),
        TEST(tables_match_columns),
        TEST(kill_loses_and_doubles_nothing),
        TEST(a_running_run_holds_the_database),
        TEST(two_in_one_process),
        TEST(ceilings_are_kept_by_gpu_and_date),
        TEST(ceilings_of_every_gpu),
        TEST(many_rows_come_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
