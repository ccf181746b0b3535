/* store/store: runs and rows in SQLite (WAL on a local disk, versioned migrations). Only the parent process has a connection. */
#pragma once

#include "base/error.h"
#include "base/phase.h"
#include "device/chip/roof.h"
#include "base/text.h"
#include "store/row.h"

struct store;
/* Opens a database, making or migrating it. Errors with a hint (exit 2): a newer or older schema, no database, damaged. A database that
 * another run holds is an error that names its host and pid; it does not wait. So is a read-only folder. */
bool store_open(const char *path, bool read_only, struct store **store, struct error *err);
/* Is there anything to read? A run that is killed at its first moment leaves an empty file, which the next run fills. */
bool store_exists(const char *path);
void store_close(struct store *store);
/* Gives the lock up in this process, which was forked from the one that opened the store. Only _exit may follow. NULL is ignored. */
void store_forked(struct store *store);
/* Opened for writing: the name of its file system if several hosts see it; it has a rollback journal then. NULL: WAL. */
const char *store_shared(const struct store *store);

struct page_views;
/* Where and from what a run was made, and by which command. */
struct run {
    double spent_s[PHASE_COUNT];
#define RUN(...) ROW_MEMBER(__VA_ARGS__)
#include "store/fields.def"
    char *asked;              /* not stored: text of a scenario whose answers a report gives; NULL: those of scenario_text */
    struct page_views *views; /* not stored: of its page (report/view/view.h); NULL: none */
};
void run_clear(struct run *run);
/* Starts a run (run->id 0: fills it; > 0: continues that run, as --resume does). `started` is filled if empty. Holds the write lock of the
 * database until store_run_end or the end of the process. */
bool store_run_begin(struct store *store, struct run *run, struct error *err);
/* when: NULL is now. */
bool store_run_end(struct store *store, int64_t run_id, const char *when, struct error *err);
/* Merges keys into the run's environment JSON object, objects inside it too. */
bool store_run_environment(struct store *store, int64_t run_id, const char *json, struct error *err);
/* Stores wall_s and spent_s of the run. */
bool store_run_spent(struct store *store, const struct run *run, struct error *err);
/* The measured ceilings of the GPU with that UUID. Put adds a dated set; get returns the newest (false without err: never measured). */
bool store_ceilings_put(struct store *store, const char *uuid, const struct ceiling_list *ceilings, struct error *err);
bool store_ceilings(struct store *store, const char *uuid, struct ceiling_list *ceilings, struct error *err);
/* Visits the newest set of every GPU that has one. */
bool store_ceilings_each(struct store *store, void (*visit)(void *context, const char *uuid, const struct ceiling_list *ceilings),
                         void *context, struct error *err);
/* Inserts or replaces one whole row (with steps, times, samples, metrics) in one transaction; it is on disk when this returns. The run
 * must have begun here. Fields of the case (COLUMN_CASE) are shared: the last row put sets them. */
bool store_put(struct store *store, int64_t run_id, const struct row *row, struct error *err);
/* All of them or none: one transaction, and one sync of the disk. */
bool store_put_all(struct store *store, int64_t run_id, struct row *const *rows, int count, struct error *err);
/* The latest run (by `bench VERB`, of a scenario, on a device; NULL: any); false without err: none. */
bool store_last_run(struct store *store, const char *verb, const char *scenario, const char *device, struct run *run, struct error *err);
bool store_run(struct store *store, int64_t run_id, struct run *run, struct error *err);
struct runs {
    struct run *items; /* by number */
    int count;
};
bool store_runs(struct store *store, struct runs *runs, struct error *err);
/* The runs that have a row with one of these keys, the newest first. Returns how many; -1 on error. Free the array. */
int store_runs_with(struct store *store, const char *const *keys, int count, int64_t **runs, struct error *err);
void runs_free(struct runs *runs);
/* How many rows a run has so far. -1 on error. */
int64_t store_row_count(struct store *store, int64_t run_id, struct error *err);
/* The rows of a run, by case_index, then row_index; two cases never share a case_index. -1 on error. Free each row and the array. */
int store_rows(struct store *store, int64_t run_id, struct row ***rows, struct error *err);
/* The same for the rows that `pick` names; NULL: any. Reads only their lines, so it cannot compare the run with its seal (store/seal.h),
 * unless `sealed` asks for that. brief: only `parts` of a row's lists. */
struct store_pick {
    const char *id, *case_id;
    bool brief, sealed;
};
int store_rows_pick(struct store *store, int64_t run_id, const struct store_pick *pick, struct row ***rows, struct error *err);
void rows_free(struct row **rows, int count);
/* Closes it, for SCOPED_BY. */
void store_leave(struct store **store);

/* A variant's best configuration on a layer, as `bench tune` found it on one chip with one compiler. One for each (signature, variant,
 * chip, compiler): a newer one replaces it. */
struct wisdom {
#define WISDOM(...) ROW_MEMBER(__VA_ARGS__)
#include "store/fields.def"
};
void wisdom_clear(struct wisdom *w);
void wisdom_free(struct wisdom *list, int count);
bool store_wisdom_put(struct store *store, const struct wisdom *w, struct error *err);
/* All of it, by variant, work, then the newest first. -1 on error. Clear each and free the array. */
int store_wisdom(struct store *store, struct wisdom **list, struct error *err);

/* Wisdom as a file: {"schema": "bench.wisdom", "version": "1.0.0", "wisdom": [{COLUMN: VALUE, ...}, ...]}, absent values null. */
#define WISDOM_FILE_MAX_BYTES (64u << 20)
void wisdom_write(struct text *t, const struct wisdom *list, int count);
/* Reads such a text; -1 and an error that names FILE and the entry. `file` is for messages. */
int wisdom_parse(const char *file, const char *text, size_t bytes, struct wisdom **list, struct error *err);

/* Adds everything of another database that is missing here: runs (numbered anew by start time) with their rows, measured ceilings, and
 * tuned configurations (the newer wins). Two runs are the same if all that identifies them is equal. All or nothing. */
struct merge_counts {
    int runs, runs_known, rows, wisdom, wisdom_older;
};
bool store_merge(struct store *into, const char *from, struct merge_counts *counts, struct error *err);
/* Joins the parts of plans that another database has (runs with a plan_hash) into one run a plan. The same part counts once, whatever the
 * order of the calls. Each case is taken from one part: the most complete one; of equally complete parts the one with failed rows, then
 * the one that began first. Parts whose build, driver, library, compiler, GPU product or clocks differ become a run of their own. All or
 * nothing. */
struct join_part {
    int64_t run, joined; /* there; here */
    int shard, shards;
    int64_t rows, known;      /* added; stored already, or of a case that another part gives */
    int conflicts;            /* rows whose values differ between two parts */
    const char *const *shown; /* the first of them, as the kept row's note says it */
    int shown_count;
    const char *apart; /* why it did not join an earlier run of the plan; NULL: it did, or there is none */
};
typedef void join_tell(void *context, const struct join_part *part);
bool store_join(struct store *into, const char *from, join_tell *tell, void *context, struct error *err);
/* Before and after joining much: without the index of the rows' keys, whose random order costs more than making it once. If the process is
 * killed between, the next opening for writing makes it. */
bool store_join_much(struct store *store, bool begin, struct error *err);
/* What a joined run has: its shards, and which are missing. `shards` 0: parts of several partitions. Free `missing`. */
struct join_state {
    char plan_hash[HASH_TEXT];
    int shards, *missing, missing_count;
    int64_t rows, planned;
};
bool store_join_state(struct store *store, int64_t run, struct join_state *state, struct error *err);
/* One run alone, with the ceilings of its GPU and without tuned configurations. */
bool store_merge_run(struct store *into, const char *from, int64_t run, struct error *err);
/* The bytes of a database that has this run alone, without the machine's name and with ~ for the home folder. The caller frees them. */
#define STORE_SHARE_MAX_BYTES ((size_t)1 << 30)
bool store_share(const char *from, int64_t run, char **data, size_t *bytes, struct error *err);
/* Copies a database, also one that a run is writing, to a new file without a log beside it, which can be moved to another host. Counts for
 * its last run the stored rows, the planned ones, and those that no run has judged yet. */
struct store_counts {
    int64_t rows, planned, open;
    bool ended;
};
bool store_snapshot(const char *from, const char *to, struct store_counts *counts, struct error *err);
