/* A folder of its own for each test of the store, and what both of its test programs do in it. Included behind cmocka.h. */
#ifndef BENCH_TESTS_STORE_HELPERS_H
#define BENCH_TESTS_STORE_HELPERS_H

#include "base/file.h"
#include "fixture_rows.h"
#include "store/database.h"
#include <sys/stat.h>
#include <unistd.h>

static char folder[64], path[128];

static inline int make_folder(void **state)
{
    strcpy(folder, "/tmp/test_store.XXXXXX");
    assert_non_null(mkdtemp(folder));
    assert_int_equal(chmod(folder, 0755), 0);
    snprintf(path, sizeof path, "%s/rows.db", folder);
    return 0;
}

static inline int remove_folder(void **state)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command);
}

static inline void write_file(const char *name, const void *data, size_t bytes)
{
    struct error err;
    assert_true(file_write(name, data, bytes, &err));
}

static inline struct store *open_or_fail(bool read_only)
{
    struct store *store = NULL;
    struct error err = {0};
    if (!store_open(path, read_only, &store, &err))
        fail_msg("%s", err.text);
    return store;
}

/* Begins f's run and puts all its rows. */
static inline void put_all(struct store *store, struct fixture *f)
{
    struct error err = {0};
    f->run.id = 0;
    assert_true(store_run_begin(store, &f->run, &err));
    for (int i = 0; i < f->count; i++)
        if (!store_put(store, f->run.id, f->rows[i], &err))
            fail_msg("%s", err.text);
}

#endif
