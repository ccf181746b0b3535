/* row/schema: the tables, as a list of migrations. A released migration is never edited: a new column is a new entry. */
#include "row/database.h"
#include <stdio.h>

/* 1: run, case, result, kernel (per step), timing (result x mode), sample (timing x round), metric. */
static const char tables[] =
    "CREATE TABLE run (run INTEGER PRIMARY KEY AUTOINCREMENT, started TEXT, ended TEXT, scenario_name TEXT, scenario_path TEXT,"
    " scenario_hash TEXT, scenario_text TEXT, argv TEXT, \"commit\" TEXT, run_device TEXT, device_about TEXT, uuid TEXT, driver TEXT,"
    " run_compiler TEXT, host TEXT, cpu TEXT, environment TEXT, seed INTEGER, planned INTEGER) STRICT;"
    "CREATE TABLE \"case\" (case_key INTEGER PRIMARY KEY, run INTEGER NOT NULL REFERENCES run(run) ON DELETE CASCADE,"
    " \"case\" TEXT NOT NULL, case_index INTEGER, scenario TEXT, layer TEXT, axes TEXT, repeat INTEGER, work TEXT, op TEXT, dtype TEXT,"
    " math TEXT, layout TEXT, flop REAL, bytes REAL, density_in REAL, density_out REAL, UNIQUE (run, \"case\")) STRICT;"
    "CREATE TABLE result (result INTEGER PRIMARY KEY, run INTEGER NOT NULL REFERENCES run(run) ON DELETE CASCADE,"
    " case_key INTEGER NOT NULL REFERENCES \"case\"(case_key) ON DELETE CASCADE, id TEXT NOT NULL, row_index INTEGER, variant TEXT,"
    " params TEXT, key TEXT, device TEXT NOT NULL, what TEXT, \"from\" TEXT, algorithm TEXT, floor_ns REAL, floor_by TEXT,"
    " status TEXT NOT NULL, reason TEXT, \"check\" TEXT, error_over_bound REAL, dump TEXT, noise REAL, prepare_ns REAL,"
    " first_call_ns REAL, host_call_ns REAL, scratch_bytes INTEGER, workspace_bytes INTEGER, engine TEXT, compiler TEXT, arch TEXT,"
    " source_hash TEXT, note TEXT, UNIQUE (run, id, device)) STRICT;"
    "CREATE TABLE kernel (result INTEGER NOT NULL REFERENCES result(result) ON DELETE CASCADE, step_index INTEGER NOT NULL, step TEXT,"
    " kind TEXT, prepare INTEGER, grid_x INTEGER, grid_y INTEGER, grid_z INTEGER, block_x INTEGER, block_y INTEGER, block_z INTEGER,"
    " registers INTEGER, spill_store_bytes INTEGER, spill_load_bytes INTEGER, stack_bytes INTEGER, static_smem INTEGER,"
    " dynamic_smem INTEGER, constant_bytes INTEGER, code_bytes INTEGER, sass_hash TEXT, blocks_per_sm INTEGER, warps_per_sm INTEGER,"
    " occupancy REAL, \"limit\" TEXT, lift TEXT, waves REAL, file TEXT, PRIMARY KEY (result, step_index)) STRICT, WITHOUT ROWID;"
    "CREATE TABLE timing (timing INTEGER PRIMARY KEY, result INTEGER NOT NULL REFERENCES result(result) ON DELETE CASCADE,"
    " time_index INTEGER NOT NULL, time_step INTEGER, cache TEXT, load TEXT, median_ns REAL, low_ns REAL, high_ns REAL, p05_ns REAL,"
    " p95_ns REAL, ratio REAL, ratio_low REAL, ratio_high REAL, rounds INTEGER, UNIQUE (result, time_index)) STRICT;"
    /* One blob a timing: `rounds` little-endian float64 of nanoseconds, in the order they were taken. */
    "CREATE TABLE sample (timing INTEGER PRIMARY KEY REFERENCES timing(timing) ON DELETE CASCADE, samples_ns BLOB NOT NULL) STRICT;"
    "CREATE TABLE metric (result INTEGER NOT NULL REFERENCES result(result) ON DELETE CASCADE, metric_index INTEGER NOT NULL,"
    " metric_step INTEGER, line INTEGER, metric TEXT NOT NULL, unit TEXT, source TEXT, value REAL,"
    " PRIMARY KEY (result, metric_index)) STRICT, WITHOUT ROWID;";

/* 2: children and rows are found by index, and people who open the file with sqlite3 find a row as one line. */
static const char views[] =
    "CREATE INDEX result_case ON result(case_key);"
    "CREATE INDEX result_key ON result(key);"
    "CREATE VIEW row AS SELECT result.*, \"case\".\"case\", case_index, scenario, layer, axes, repeat, work, op, dtype, math, layout, flop,"
    " bytes, density_in, density_out, timing.cache, timing.load, median_ns, low_ns, high_ns, ratio, ratio_low, ratio_high, rounds"
    " FROM result JOIN \"case\" USING (case_key) LEFT JOIN timing ON timing.result = result.result AND timing.time_step = -1;";

/* 3: a scenario may have several networks; a case says in which its layer is. */
static const char networks[] =
    "ALTER TABLE \"case\" ADD COLUMN networks TEXT;"
    "DROP VIEW row;"
    "CREATE VIEW row AS SELECT result.*, \"case\".\"case\", case_index, scenario, layer, axes, repeat, networks, work, op, dtype,"
    " math, layout, flop, bytes, density_in, density_out, timing.cache, timing.load, median_ns, low_ns, high_ns, ratio, ratio_low, "
    "ratio_high, rounds"
    " FROM result JOIN \"case\" USING (case_key) LEFT JOIN timing ON timing.result = result.result AND timing.time_step = -1;";

/* 4: what a mask leaves of the work, and what a sparse variant's tiles make of it. */
static const char sparse[] =
    "ALTER TABLE \"case\" ADD COLUMN flop_useful REAL;"
    "ALTER TABLE \"case\" ADD COLUMN bytes_useful REAL;"
    "ALTER TABLE result ADD COLUMN tile TEXT;"
    "ALTER TABLE result ADD COLUMN tiles INTEGER;"
    "ALTER TABLE result ADD COLUMN tiles_active INTEGER;"
    "ALTER TABLE result ADD COLUMN flop_scheduled REAL;"
    "ALTER TABLE result ADD COLUMN tile_fill TEXT;"
    "ALTER TABLE result ADD COLUMN tile_weight_bytes INTEGER;"
    "ALTER TABLE result ADD COLUMN state_bytes INTEGER;"
    "DROP VIEW row;"
    "CREATE VIEW row AS SELECT result.*, \"case\".\"case\", case_index, scenario, layer, axes, repeat, networks, work, op, dtype,"
    " math, layout, flop, bytes, density_in, density_out, flop_useful, bytes_useful, timing.cache, timing.load, median_ns, low_ns, high_ns,"
    " ratio, ratio_low, ratio_high, rounds"
    " FROM result JOIN \"case\" USING (case_key) LEFT JOIN timing ON timing.result = result.result AND timing.time_step = -1;";

/* 5: what a GPU was measured to do at the most, by its UUID; the newest `measured` counts. */
static const char roofs[] =
    "CREATE TABLE roof (uuid TEXT NOT NULL, measured TEXT NOT NULL, name TEXT NOT NULL, value REAL NOT NULL, unit TEXT,"
    " how TEXT, PRIMARY KEY (uuid, measured, name)) STRICT, WITHOUT ROWID;";

/* 6: hardware counters: verdicts, the kernels that ran, why there are none. */
static const char counted[] = "ALTER TABLE result ADD COLUMN verdicts TEXT; ALTER TABLE result ADD COLUMN kernels TEXT;"
                              "ALTER TABLE result ADD COLUMN uncounted TEXT;";

/* 7: what `bench tune` found. */
static const char wisdom[] = "CREATE TABLE wisdom (signature TEXT NOT NULL, work TEXT, variant TEXT NOT NULL, params TEXT, chip TEXT NOT "
                             "NULL, arch TEXT, compiler TEXT NOT NULL,"
                             " source_hash TEXT, median_ns REAL, low_ns REAL, high_ns REAL, ratio REAL, ratio_low REAL, ratio_high REAL, "
                             "points INTEGER, timed INTEGER, tuned TEXT,"
                             " PRIMARY KEY (signature, variant, chip, compiler)) STRICT, WITHOUT ROWID;";

/* 8: whether a head claims to be at par with the library. */
static const char claims[] = "ALTER TABLE result ADD COLUMN claims INTEGER;";

static const char *const migrations[] = {tables, views, networks, sparse, roofs, counted, wisdom, claims};
#define MIGRATIONS ((int)(sizeof migrations / sizeof migrations[0]))

int schema_version(void)
{
    return MIGRATIONS;
}

bool schema_migrate(struct store *store, int from, struct error *err)
{
    for (int v = from; v < MIGRATIONS; v++) {
        char version[64], doing[64];
        snprintf(version, sizeof version, "PRAGMA user_version = %d", v + 1);
        snprintf(doing, sizeof doing, "migrating to schema %d", v + 1);
        /* user_version and application_id live in the file's header and are part of the transaction. */
        if (!store_exec(store, "BEGIN IMMEDIATE", doing, err)) {
            return false;
        }
        bool done = store_exec(store, migrations[v], doing, err) && store_exec(store, version, doing, err) &&
                    (v > 0 || store_exec(store, "PRAGMA application_id = 1650814563", doing, err)) &&
                    store_exec(store, "COMMIT", doing, err);
        if (!done) {
            sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL);
            return false;
        }
    }
    return true;
}
