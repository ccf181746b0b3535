/* The store keeps what it was given, whole, through crashes, other processes, old and foreign files, and says clearly when it cannot. */
#include "base/file.h"
#include "fixture_rows.h"
#include "store/database.h"
#include <fcntl.h>
#include <grp.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[64], path[128];

static int make_folder(void **state)
{
    strcpy(folder, "/tmp/test_store.XXXXXX");
    assert_non_null(mkdtemp(folder));
    assert_int_equal(chmod(folder, 0755), 0);
    snprintf(path, sizeof path, "%s/rows.db", folder);
    return 0;
}

static int remove_folder(void **state)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command);
}

static void write_file(const char *name, const void *data, size_t bytes)
{
    struct error err;
    assert_true(file_write(name, data, bytes, &err));
}

static struct store *open_or_fail(bool read_only)
{
    struct store *store = NULL;
    struct error err = {0};
    if (!store_open(path, read_only, &store, &err)) {
        fail_msg("%s", err.text);
    }
    return store;
}

/* Every column of `group` is the same in both. */
static void same_columns(enum column_group group, const void *a, const void *b)
{
    for (const struct column *c = columns; c->name; c++) {
        if (c->group != group) {
            continue;
        }
        struct column_value v = column_get(c, a), w = column_get(c, b);
        bool same = v.absent == w.absent && (v.absent || (v.text ? w.text && strcmp(v.text, w.text) == 0 : v.is_real ? v.real == w.real : v.integer == w.integer));
        if (!same) {
            fail_msg("column %s differs", c->name);
        }
    }
}

static void same_row(const struct row *a, const struct row *b)
{
    same_columns(COLUMN_CASE, a, b);
    same_columns(COLUMN_RESULT, a, b);
    assert_int_equal(a->step_count, b->step_count);
    assert_int_equal(a->time_count, b->time_count);
    assert_int_equal(a->metric_count, b->metric_count);
    for (int i = 0; i < a->step_count; i++) {
        same_columns(COLUMN_STEP, &a->steps[i], &b->steps[i]);
    }
    for (int i = 0; i < a->metric_count; i++) {
        same_columns(COLUMN_METRIC, &a->metrics[i], &b->metrics[i]);
    }
    for (int i = 0; i < a->time_count; i++) {
        same_columns(COLUMN_TIME, &a->times[i], &b->times[i]);
        assert_int_equal(!a->times[i].samples_ns, !b->times[i].samples_ns);
        if (a->times[i].samples_ns) {
            assert_memory_equal(a->times[i].samples_ns, b->times[i].samples_ns, sizeof(double) * (size_t)a->times[i].rounds);
        }
    }
}

/* Begins f's run and puts all its rows. */
static void put_all(struct store *store, struct fixture *f)
{
    struct error err = {0};
    f->run.id = 0;
    assert_true(store_run_begin(store, &f->run, &err));
    for (int i = 0; i < f->count; i++) {
        if (!store_put(store, f->run.id, f->rows[i], &err)) {
            fail_msg("%s", err.text);
        }
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
    for (int i = 0; i < t->rounds; i++) {
        t->samples_ns[i] = 154700 + i / 3.0;
    }
    row_add_metric(f.rows[1], 0, 88, "emu.x", "B", "emu", NAN); /* a number that is not known stays so */
    row_set(&f.rows[2]->reason, "a 'quote', a \"double\", a ; and \xe2\x82\xac");
    f.run.seed = UINT64_MAX;
    struct store *store = open_or_fail(false);
    put_all(store, &f);
    assert_true(store_run_end(store, f.run.id, &err));
    store_close(store);

    store = open_or_fail(true);
    int count = store_rows(store, f.run.id, &rows, &err);
    assert_int_equal(count, f.count);
    for (int i = 0; i < count; i++) {
        same_row(f.rows[i], rows[i]);
    }
    rows_free(rows, count);
    assert_true(store_last_run(store, "edsr_sparse", "cuda:0", &run, &err));
    assert_string_not_equal(run.ended, "");
    strcpy(run.ended, f.run.ended);
    same_columns(COLUMN_RUN, &f.run, &run);
    run_clear(&run);
    err.text[0] = '\0';
    assert_false(store_last_run(store, "edsr", NULL, &run, &err));
    assert_string_equal(err.text, ""); /* none is no error */
    assert_false(store_run(store, 99, &run, &err));
    assert_string_not_equal(err.text, "");
    struct run *runs;
    assert_int_equal(store_runs(store, &runs, &err), 1);
    run_clear(&runs[0]);
    free(runs);
    assert_false(store_put(store, f.run.id, f.rows[0], &err)); /* reading only */
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
    assert_true(store_integer(store, "SELECT (SELECT count(*) FROM sample WHERE timing NOT IN (SELECT timing FROM timing)) +"
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
    store_close(store);
    fixture_free(&f);
}

/* The tables have exactly the columns of the column table, besides their keys: a column without a migration is found here. */
static void tables_match_columns(void **state)
{
    static const struct {
        enum column_group group;
        const char *table;
        int keys;
    } tables[] = {{COLUMN_RUN, "run", 0}, {COLUMN_CASE, "case", 2}, {COLUMN_RESULT, "result", 3}, {COLUMN_STEP, "kernel", 2}, {COLUMN_TIME, "timing", 3}, {COLUMN_METRIC, "metric", 2}};
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
        fixture_h200(&f);
        f.run.id = resume;
        bool fine = store_open(path, false, &store, &err) && store_run_begin(store, &f.run, &err);
        for (int i = 0; fine; i++) {
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
        for (ssize_t n; (n = read(done_fd, byte, sizeof byte)) > 0;) {
            promised += (int)n;
        }
        close(done_fd);
        /* opens at once: the lock died with its holder */
        struct store *store = open_or_fail(false);
        struct run run = {0};
        struct row **rows;
        assert_true(store_last_run(store, "edsr_sparse", "cuda:0", &run, &err));
        assert_int_equal(run.id, round + 1);
        assert_string_equal(run.ended, "");
        int count = store_rows(store, run.id, &rows, &err);
        assert_in_range(count, promised, promised + 1); /* the last may be stored and not yet told */
        for (int i = 0; i < count; i++) {
            assert_true(rows[i]->time_count > 0 || rows[i]->status != ROW_OK);
            for (int j = 0; j < i; j++) {
                assert_string_not_equal(rows[i]->id, rows[j]->id);
            }
        }
        rows_free(rows, count);
        /* the run is taken up again under its number */
        assert_true(store_run_begin(store, &run, &err));
        assert_int_equal(run.id, round + 1);
        assert_true(store_run_end(store, run.id, &err));
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
    snprintf(want, sizeof want, "another run holds it: pid %ld", (long)pid);
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
    assert_true(store_run_end(a, f.run.id, &err));
    assert_true(store_run_begin(b, &g.run, &err));
    assert_int_equal(g.run.id, 2);
    store_close(a);
    store_close(b);
    fixture_free(&f);
    fixture_free(&g);
}

/* ---- files that are not what they should be ---- */

static void refuses(bool read_only, enum error_kind kind, const char *say)
{
    struct store *store = NULL;
    struct error err = {0};
    assert_false(store_open(path, read_only, &store, &err));
    assert_null(store);
    if (!strstr(err.text, say) || !strstr(err.text, path)) {
        fail_msg("'%s' does not say '%s' of %s", err.text, say, path);
    }
    assert_int_equal(err.kind, kind);
    assert_string_not_equal(err.hint, "");
}

static void sql(const char *statements)
{
    sqlite3 *db;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    char *message = NULL;
    if (sqlite3_exec(db, statements, NULL, NULL, &message) != SQLITE_OK) {
        fail_msg("%s", message);
    }
    sqlite3_close(db);
}

static void *slurp(size_t *bytes)
{
    struct error err;
    void *data = file_read(path, 1 << 26, bytes, &err);
    assert_non_null(data);
    return data;
}

static void foreign_files_are_refused_and_untouched(void **state)
{
    refuses(true, ERROR_USAGE, "no database");
    assert_int_equal(mkdir(path, 0755), 0);
    refuses(false, ERROR_USAGE, "a folder");
    rmdir(path);
    assert_int_equal(mkfifo(path, 0644), 0);
    refuses(false, ERROR_USAGE, "not a regular file");
    unlink(path);
    write_file(path, "", 0);
    refuses(true, ERROR_USAGE, "empty");
    static const char text[] = "scenario: this is YAML, named by mistake\n";
    for (int read_only = 0; read_only < 2; read_only++) {
        write_file(path, text, sizeof text - 1);
        refuses(read_only, ERROR_USAGE, "not a database");
        size_t bytes;
        char *left = slurp(&bytes);
        assert_int_equal(bytes, sizeof text - 1);
        assert_memory_equal(left, text, bytes);
        free(left);
    }
    unlink(path);
    sql("CREATE TABLE bookmarks (url TEXT)");
    refuses(false, ERROR_USAGE, "not one of bench");
    refuses(true, ERROR_USAGE, "not one of bench");
    char *wal = text_format("%s-wal", path);
    assert_false(file_exists(wal));
    free(wal);
}

static void newer_schema_is_refused(void **state)
{
    store_close(open_or_fail(false));
    sql("PRAGMA user_version = 7");
    refuses(false, ERROR_USAGE, "written by a newer bench (schema 7, this one knows 2)");
    refuses(true, ERROR_USAGE, "written by a newer bench (schema 7, this one knows 2)");
}

static void damage_is_said_and_crashes_nothing(void **state)
{
    struct fixture f = {0};
    struct error err = {0};
    fixture_h200(&f);
    struct store *store = open_or_fail(false);
    put_all(store, &f);
    assert_true(store_run_end(store, f.run.id, &err));
    store_close(store);
    size_t bytes;
    char *whole = slurp(&bytes);
    int refused = 0;
    /* cut anywhere */
    for (size_t keep = 1; keep < bytes; keep += bytes / 23) {
        write_file(path, whole, keep);
        struct error said = {0};
        if (!store_open(path, keep % 2, &store, &said)) {
            assert_int_equal(said.kind, ERROR_USAGE);
            assert_string_not_equal(said.hint, "");
            refused++;
        } else {
            store_close(store);
        }
        char *left = slurp(&(size_t){0});
        assert_memory_equal(left, whole, keep);
        free(left);
    }
    assert_true(refused >= 22);
    /* scribbled over anywhere, and read to the end */
    unsigned seed = 7;
    for (int i = 0; i < 60; i++) {
        char *bad = xmalloc(bytes);
        memcpy(bad, whole, bytes);
        size_t at = (size_t)rand_r(&seed) % (bytes - 64);
        for (int j = 0; j < 64; j++) {
            bad[at + (size_t)j] = (char)rand_r(&seed);
        }
        write_file(path, bad, bytes);
        free(bad);
        struct error said = {0};
        if (store_open(path, true, &store, &said)) {
            struct row **rows;
            int count = store_rows(store, 1, &rows, &said);
            assert_true(count >= 0 || said.text[0]);
            if (count >= 0) {
                rows_free(rows, count);
            }
            store_close(store);
        } else {
            assert_string_not_equal(said.text, "");
        }
    }
    free(whole);
    fixture_free(&f);
}

static void older_schema_is_migrated(void **state)
{
    static const char fixture[] = "tests/unit/golden/store_v1.sql";
    struct error err = {0};
    size_t bytes;
    if (!file_exists(fixture)) {
        print_message("skipped: run from the repository's root (%s)\n", fixture);
        skip();
    }
    char *script = file_read(fixture, 1 << 20, &bytes, &err);
    assert_non_null(script);
    for (int read_only = 0; read_only < 2; read_only++) { /* by a run, and by a report */
        unlink(path);
        sql(script);
        struct store *store = open_or_fail(read_only);
        struct row **rows;
        int64_t version = 0, lines = 0;
        assert_true(store_integer(store, "PRAGMA user_version", &version, &err));
        assert_int_equal(version, schema_version());
        assert_int_equal(store_rows(store, 1, &rows, &err), 1);
        assert_string_equal(rows[0]->id, "old/layer/naive");
        assert_int_equal(rows[0]->steps[0].registers, 40);
        assert_float_equal(rows[0]->times[0].median_ns, 1234.5, 0);
        assert_int_equal(rows[0]->scratch_bytes, -1);
        rows_free(rows, 1);
        assert_true(store_integer(store, "SELECT count(*) FROM row", &lines, &err));
        assert_int_equal(lines, 1);
        store_close(store);
    }
    free(script);
}

/* ---- places that cannot be written ---- */

/* Runs `body` in a child that is nobody, so that permissions count even when the tests run as root. */
static void as_nobody(void (*body)(void))
{
    pid_t pid = fork();
    if (pid == 0) {
        if (getuid() == 0 && (setgroups(0, NULL) != 0 || setgid(65534) != 0 || setuid(65534) != 0)) {
            _exit(77);
        }
        body();
        _exit(0);
    }
    int status = 0;
    waitpid(pid, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
        skip();
    }
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void child_expects(bool condition)
{
    if (!condition) {
        _exit(1);
    }
}

static void read_only_folder_body(void)
{
    struct store *store = NULL;
    struct error err = {0};
    struct row **rows;
    child_expects(!store_open(path, false, &store, &err) && err.kind == ERROR_ENVIRONMENT && strstr(err.text, "Permission denied") && err.hint[0]);
    err = (struct error){0};
    child_expects(store_open(path, true, &store, &err)); /* but a report can be made of it */
    int count = store_rows(store, 1, &rows, &err);
    child_expects(count > 0);
    rows_free(rows, count);
    store_close(store);
    snprintf(path, sizeof path, "%s/new/rows.db", folder);
    child_expects(!store_open(path, false, &store, &err) && err.text[0]);
}

static void read_only_folder(void **state)
{
    struct fixture f = {0};
    struct error err = {0};
    fixture_h200(&f);
    struct store *store = open_or_fail(false);
    put_all(store, &f);
    assert_true(store_run_end(store, f.run.id, &err));
    store_close(store);
    fixture_free(&f);
    char *lock = text_format("%s.lock", path);
    unlink(lock);
    free(lock);
    assert_int_equal(chmod(folder, 0555), 0);
    as_nobody(read_only_folder_body);
    assert_int_equal(chmod(folder, 0755), 0);
}

/* A file that cannot grow is the nearest to a full disk that any machine can offer. */
static void full_disk_loses_nothing(void **state)
{
    pid_t pid = fork();
    if (pid == 0) {
        struct fixture f = {0};
        struct error err = {0};
        struct store *store = NULL;
        struct row **rows;
        int stored = 0;
        struct rlimit limit = {300 << 10, 300 << 10};
        signal(SIGXFSZ, SIG_IGN);
        fixture_h200(&f);
        f.run.id = 0;
        child_expects(store_open(path, false, &store, &err) && store_run_begin(store, &f.run, &err));
        child_expects(setrlimit(RLIMIT_FSIZE, &limit) == 0);
        bool fine = true;
        while (fine && stored < 10000) {
            char id[32];
            snprintf(id, sizeof id, "row-%d", stored);
            row_set(&f.rows[0]->id, id);
            fine = store_put(store, f.run.id, f.rows[0], &err);
            stored += fine;
        }
        child_expects(!fine && err.kind == ERROR_ENVIRONMENT && strstr(err.text, "disk") && strstr(err.hint, "--resume"));
        child_expects(store_rows(store, f.run.id, &rows, &err) == stored && stored > 3);
        _exit(0);
    }
    int status = 0;
    waitpid(pid, &status, 0);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    struct store *store = open_or_fail(false);
    struct row **rows;
    struct error err;
    int count = store_rows(store, 1, &rows, &err);
    assert_true(count > 3);
    rows_free(rows, count);
    store_close(store);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)
    const struct CMUnitTest tests[] = {
        TEST(put_get_equality),
        TEST(put_replaces_whole_row),
        TEST(environment_merges),
        TEST(tables_match_columns),
        TEST(kill_loses_and_doubles_nothing),
        TEST(a_running_run_holds_the_database),
        TEST(two_in_one_process),
        TEST(foreign_files_are_refused_and_untouched),
        TEST(newer_schema_is_refused),
        TEST(damage_is_said_and_crashes_nothing),
        TEST(older_schema_is_migrated),
        TEST(read_only_folder),
        TEST(full_disk_loses_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
