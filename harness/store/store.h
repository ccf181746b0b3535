/* store/store: runs and rows in SQLite (WAL, versioned migrations). Only the parent process has a connection. */
#ifndef BENCH_STORE_STORE_H
#define BENCH_STORE_STORE_H

#include "base/error.h"
#include "base/roof.h"
#include "store/row.h"

struct store;
/* Opens, creating and migrating. Errors with a hint, exit 2: newer schema ("written by a newer bench (schema 7, this one knows 4)"), not a
 * database, damaged. Another run holds it: says which pid, waits not. Read-only folder: says so. */
bool store_open(const char *path, bool read_only, struct store **store, struct error *err);
void store_close(struct store *store);

struct run { /* provenance: text fields are JSON-safe UTF-8 */
    int64_t id;
    char started[32], ended[32]; /* UTC, ISO 8601; ended "" = interrupted or running */
    char *scenario, *scenario_path, *scenario_hash, *scenario_text;
    char *argv, *commit; /* commit: "1a2b3c4" or "1a2b3c4+dirty", of bench itself */
    char *device, *device_about, *uuid, *driver, *compiler, *host, *cpu;
    char *environment; /* JSON object: clocks, throttle, cudnn version, flush cost ... */
    uint64_t seed;
    int planned; /* rows */
};
void run_clear(struct run *run);
/* Starts a run (run->id 0: fills it; > 0: takes up that run again, as --resume does). `started` is filled when empty. Takes the write lock
 * of the database until store_run_end or death. */
bool store_run_begin(struct store *store, struct run *run, struct error *err);
bool store_run_end(struct store *store, int64_t run_id, struct error *err);
/* Merges keys into the run's environment JSON object. */
bool store_run_environment(struct store *store, int64_t run_id, const char *json, struct error *err);
/* The ceilings measured on the GPU of that UUID. Put adds a dated set; get gives the newest (false without err: never measured). */
bool store_roofs_put(struct store *store, const char *uuid, const struct roofs *roofs, struct error *err);
bool store_roofs(struct store *store, const char *uuid, struct roofs *roofs, struct error *err);
/* Visits the newest set of every GPU that has one. */
bool store_roofs_each(struct store *store, void (*visit)(void *context, const char *uuid, const struct roofs *roofs), void *context, struct error *err);
/* Inserts or replaces one whole row (with steps, times, samples, metrics) in one transaction; it is on the disk when this returns. Needs
 * the run to be begun here. The fields of its case (COLUMN_CASE) are shared: the last row put speaks for all. */
bool store_put(struct store *store, int64_t run_id, const struct row *row, struct error *err);
/* Latest run (of a scenario / device when not NULL) that can be resumed or shown; false without err when there is none. */
bool store_last_run(struct store *store, const char *scenario, const char *device, struct run *run, struct error *err);
bool store_run(struct store *store, int64_t run_id, struct run *run, struct error *err);
int store_runs(struct store *store, struct run **runs, struct error *err);
/* Rows of a run, by case_index then row_index. -1 on error. Free each row and the array. */
int store_rows(struct store *store, int64_t run_id, struct row ***rows, struct error *err);
void rows_free(struct row **rows, int count);

#endif
