/* Database files: opened for reading and for writing, every row read. */
#include "fuzz/common.h"
#include "store/store.h"

static void read_all(const char *path, bool read_only)
{
    struct error err = {0};
    struct store *store = NULL;
    if (!store_open(path, read_only, &store, &err)) {
        must_explain(&err);
        return;
    }
    struct runs runs = {0};
    store_runs(store, &runs, &err);
    for (int i = 0; i < runs.count; i++) {
        struct row **rows = NULL;
        int n = store_rows(store, runs.items[i].id, &rows, &err);
        if (n >= 0)
            rows_free(rows, n);
        else
            must_explain(&err);
    }
    runs_free(&runs);
    store_close(store);
}

void fuzz_one(const uint8_t *data, size_t bytes)
{
    const char *path = as_file(data, bytes, ".db");
    char side[96];
    read_all(path, true);
    read_all(path, false);
    unlink(path);
    snprintf(side, sizeof side, "%s-wal", path);
    unlink(side);
    snprintf(side, sizeof side, "%s-shm", path);
    unlink(side);
}
