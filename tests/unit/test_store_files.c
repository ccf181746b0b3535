/* Files that are not what they should be and places that cannot be written: one clear error each, nothing lost, nothing changed. */
#include <fcntl.h>
#include <grp.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/text.h"
#include "store/lock.h"
#include "store_helpers.h"

/* Takes the place of the C library's: the folder may lie on any file system. */
static long system_type;
int statfs(const char *file, struct statfs *s)
{
    *s = (struct statfs){.f_type = system_type};
    return system_type ? 0 : -1;
}

static char *journal_mode(void)
{
    sqlite3 *db;
    sqlite3_stmt *s;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, "PRAGMA journal_mode", -1, &s, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(s), SQLITE_ROW);
    char *mode = xstrdup((const char *)sqlite3_column_text(s, 0));
    sqlite3_finalize(s);
    sqlite3_close(db);
    return mode;
}

/* WAL needs shared memory, which two hosts do not share: sqlite.org/wal.html, disadvantage 2. f_type of linux/magic.h and statfs(2). */
static void wal_only_on_a_local_disk(void **state)
{
    static const struct {
        long type;
        const char *shared, *mode;
    } cases[] = {
        {0xef53, NULL, "wal"},          {0x6969, "nfs", "delete"},           {0x794c7630, NULL, "wal"}, {0x0bd00bd0, "lustre", "delete"},
        {0x65735546, "fuse", "delete"}, {0x12345, "type 0x12345", "delete"}, {0, NULL, "wal"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) { /* the same file: it changes with the place */
        system_type = cases[i].type;
        struct store *store = open_or_fail(false);
        assert_true(text_same(store_shared(store), cases[i].shared));
        struct fixture f = {0};
        fixture_emu(&f);
        put_all(store, &f);
        fixture_free(&f);
        SCOPED char *wal = text_format("%s-wal", path), *mode = journal_mode();
        assert_string_equal(mode, cases[i].mode);
        assert_int_equal(file_exists(wal), !strcmp(mode, "wal"));
        store_close(store);
    }
    system_type = 0;
}

static void the_holder_may_be_another_host(void **state)
{
    struct error err = {0};
    int fd = -1, again = -1;
    assert_true(lock_take(path, &fd, &err));
    char host[64] = "", want[128];
    gethostname(host, sizeof host - 1);
    snprintf(want, sizeof want, "pid %ld on %s (this process)", (long)getpid(), host);
    assert_false(lock_take(path, &again, &err));
    assert_non_null(strstr(err.text, want));
    snprintf(want, sizeof want, "%ld n17\n", (long)getpid());
    assert_int_equal(pwrite(fd, want, strlen(want) + 1, 0), strlen(want) + 1);
    assert_false(lock_take(path, &again, &err));
    snprintf(want, sizeof want, "pid %ld on n17", (long)getpid());
    assert_non_null(strstr(err.text, want));
    assert_null(strstr(err.text, "this process"));
    lock_release(&fd);
}

static void refuses(bool read_only, enum error_kind kind, const char *say)
{
    struct store *store = NULL;
    struct error err = {0};
    assert_false(store_open(path, read_only, &store, &err));
    assert_null(store);
    if (!strstr(err.text, say) || !strstr(err.text, path))
        fail_msg("'%s' does not say '%s' of %s", err.text, say, path);
    assert_int_equal(err.kind, kind);
    assert_string_not_equal(err.hint, "");
}

static void sql(const char *statements)
{
    sqlite3 *db;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    char *message = NULL;
    if (sqlite3_exec(db, statements, NULL, NULL, &message) != SQLITE_OK)
        fail_msg("%s", message);
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
    char newer[80];
    snprintf(newer, sizeof newer, "written by a newer bench (schema 777; this bench reads up to %d)", schema_version());
    sql("PRAGMA user_version = 777");
    refuses(false, ERROR_USAGE, newer);
    refuses(true, ERROR_USAGE, newer);
}

static void damage_is_said_and_crashes_nothing(void **state)
{
    struct fixture f = {0};
    struct error err = {0};
    fixture_h200(&f);
    struct store *store = open_or_fail(false);
    put_all(store, &f);
    assert_true(store_run_end(store, f.run.id, NULL, &err));
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
        for (int j = 0; j < 64; j++)
            bad[at + (size_t)j] = (char)rand_r(&seed);
        write_file(path, bad, bytes);
        free(bad);
        struct error said = {0};
        if (store_open(path, true, &store, &said)) {
            struct row **rows;
            int count = store_rows(store, 1, &rows, &said);
            assert_true(count >= 0 || said.text[0]);
            if (count >= 0)
                rows_free(rows, count);
            store_close(store);
        } else {
            assert_string_not_equal(said.text, "");
        }
    }
    free(whole);
    fixture_free(&f);
}

/* No release wrote a schema before the first: one clear error, and the file stays as it was. */
static void older_schema_is_refused(void **state)
{
    store_close(open_or_fail(false));
    char older[100], set[40];
    snprintf(older, sizeof older, "written by an older bench (schema %d, this one reads %d to %d)", schema_first() - 1, schema_first(),
             schema_version());
    snprintf(set, sizeof set, "PRAGMA user_version = %d", schema_first() - 1);
    sql(set);
    refuses(false, ERROR_USAGE, older);
    refuses(true, ERROR_USAGE, older);
    sql("PRAGMA user_version = -1");
    refuses(true, ERROR_USAGE, "written by an older bench");
}

/* A column that the database lacks is added when it is opened, by a reader too: one line in fields.def needs no migration. */
static void a_new_column_is_added(void **state)
{
    struct error err = {0};
    struct fixture f = {0};
    int64_t count;
    struct store *store = open_or_fail(false);
    fixture_h200(&f);
    put_all(store, &f);
    assert_true(store_exec(
        store, "DROP VIEW row; ALTER TABLE result DROP COLUMN note; ALTER TABLE timing DROP COLUMN p95_ns; UPDATE result SET sum = NULL",
        "", &err));
    store_close(store);
    for (int read_only = 1; read_only >= 0; read_only--) {
        struct row **rows;
        store = open_or_fail(read_only);
        assert_int_equal(store_rows(store, f.run.id, &rows, &err), f.count);
        assert_null(rows[0]->note);
        assert_true(isnan(rows[0]->times[0].p95_ns));
        rows_free(rows, f.count);
        assert_true(store_integer(store, "SELECT count(*) FROM row WHERE note IS NULL", &count, &err));
        assert_true(count >= f.count);
        store_close(store);
    }
    fixture_free(&f);
}

/* Two builds of one variant stand in one run. */
static void sides_stand_beside_each_other(void **state)
{
    struct error err = {0};
    struct fixture f = {0};
    struct row **rows;
    struct store *store = open_or_fail(false);
    fixture_h200(&f);
    put_all(store, &f);
    struct row *r = f.rows[1];
    row_set(&r->side, "head");
    row_set(&r->side_revision, "1a2b3c4");
    assert_true(store_put(store, f.run.id, r, &err));
    assert_true(store_put(store, f.run.id, r, &err)); /* the same again replaces it */
    int count = store_rows(store, f.run.id, &rows, &err), same = 0, head = 0;
    assert_int_equal(count, f.count + 1);
    for (int i = 0; i < count; i++) {
        same += !strcmp(rows[i]->id, r->id);
        head += rows[i]->side && !strcmp(rows[i]->side, "head") && !strcmp(rows[i]->side_revision, "1a2b3c4");
    }
    assert_int_equal(same, 2);
    assert_int_equal(head, 1);
    rows_free(rows, count);
    store_close(store);
    fixture_free(&f);
}

/* ---- places that cannot be written ---- */

/* Runs `body` in a child that is nobody, so that permissions count even when the tests run as root. */
static void as_nobody(void (*body)(void))
{
    pid_t pid = fork();
    if (pid == 0) {
        if (getuid() == 0 && (setgroups(0, NULL) != 0 || setgid(65534) != 0 || setuid(65534) != 0))
            _exit(77);
        if (access(folder, R_OK | X_OK) != 0) /* a root folder that is closed to others, as debootstrap leaves it */
            _exit(77);
        body();
        _exit(0);
    }
    int status = 0;
    waitpid(pid, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
        print_message("skipped: nobody cannot be played here\n");
        skip();
    }
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void child_expects(bool condition)
{
    if (!condition)
        _exit(1);
}

static void read_only_folder_body(void)
{
    struct store *store = NULL;
    struct error err = {0};
    struct row **rows;
    child_expects(!store_open(path, false, &store, &err) && err.kind == ERROR_ENVIRONMENT && strstr(err.text, "Permission denied") &&
                  err.hint[0]);
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
    assert_true(store_run_end(store, f.run.id, NULL, &err));
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
        child_expects(!fine && err.kind == ERROR_ENVIRONMENT && strstr(err.text, "disk") && strstr(err.hint, "stored before is safe"));
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

struct waiter {
    int asked, patience;
    long long pid;
};
static bool goes_on(void *context, long long pid)
{
    struct waiter *w = context;
    w->pid = pid;
    return ++w->asked < w->patience;
}

/* A GPU that another process has is waited for, and is free when that one dies, however it does. */
static void gpu_is_waited_for(void **state)
{
    char *uuid = text_format("GPU-test-%ld", (long)getpid()), *lock = text_format("/tmp/bench-%s.lock", uuid), c;
    struct waiter w = {.patience = 3};
    struct error err = {0};
    int fd = -1, up[2], down[2];
    assert_true(pipe(up) == 0 && pipe(down) == 0);
    pid_t holder = fork();
    if (!holder) {
        struct waiter alone = {0};
        bool mine = lock_gpu(uuid, goes_on, &alone, &fd, &err) && fd >= 0 && !alone.asked;
        child_expects(write(up[1], "x", 1) == 1 && mine);
        close(down[1]);
        child_expects(read(down[0], &c, 1) == 0);
        abort();
    }
    assert_int_equal(read(up[0], &c, 1), 1);
    assert_false(lock_gpu(uuid, goes_on, &w, &fd, &err)); /* the user's patience ended */
    assert_true(err.kind == ERROR_INTERRUPTED && fd == -1 && w.asked == 3 && w.pid == holder);
    close(down[1]);
    w = (struct waiter){.patience = 1000};
    error_clear(&err);
    assert_true(lock_gpu(uuid, goes_on, &w, &fd, &err) && fd >= 0);
    lock_release(&fd);
    waitpid(holder, NULL, 0);
    unlink(lock);
    free(lock);
    free(uuid);
    close(up[0]);
    close(up[1]);
    close(down[0]);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)
    const struct CMUnitTest tests[] = {
        TEST(foreign_files_are_refused_and_untouched),
        TEST(newer_schema_is_refused),
        TEST(damage_is_said_and_crashes_nothing),
        TEST(older_schema_is_refused),
        TEST(a_new_column_is_added),
        TEST(sides_stand_beside_each_other),
        TEST(read_only_folder),
        TEST(full_disk_loses_nothing),
        TEST(gpu_is_waited_for),
        TEST(wal_only_on_a_local_disk),
        TEST(the_holder_may_be_another_host),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
