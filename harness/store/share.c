/* store/share: one run as a file that others can open: without other runs, the machine's name and the home folder. */
#include "base/file.h"
#include "base/text.h"
#include "store/seal.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* In every text of every table `from` becomes `to`. */
static bool replace_everywhere(struct store *store, const char *from, const char *to, struct error *err)
{
    sqlite3_stmt *s = NULL;
    SCOPED_TEXT all = {0};
    bool ok = store_prepare(
        store,
        "SELECT 'UPDATE \"' || m.name || '\" SET \"' || c.name || '\" = replace(\"' || c.name || '\", ?1, ?2) WHERE instr(\"' || "
        "c.name || '\", ?1);' FROM sqlite_master m, pragma_table_info(m.name) c WHERE m.type = 'table' AND c.type = 'TEXT'",
        &s, err);
    while (ok && sqlite3_step(s) == SQLITE_ROW)
        text_addf(&all, "%s\n", (const char *)sqlite3_column_text(s, 0));
    sqlite3_finalize(s);
    for (char *rest = all.data, *line; ok && rest && (line = strsep(&rest, "\n")) && *line;) {
        ok = store_prepare(store, line, &s, err);
        if (ok) {
            sqlite3_bind_text(s, 1, from, -1, SQLITE_STATIC);
            sqlite3_bind_text(s, 2, to, -1, SQLITE_STATIC);
            ok = sqlite3_step(s) == SQLITE_DONE || store_error(store, "taking paths out", err);
        }
        sqlite3_finalize(s);
    }
    return ok;
}

static bool forget(struct store *store, struct error *err)
{
    const char *home = getenv("HOME");
    char host[256] = "";
    gethostname(host, sizeof host - 1);
    SCOPED char *folder = home && home[0] == '/' && home[1] ? text_format("%s/", home) : NULL;
    return store_exec(store, "UPDATE run SET host = NULL", "taking the machine's name out", err) &&
           (strlen(host) < 4 || replace_everywhere(store, host, "HOST", err)) &&
           (!folder || replace_everywhere(store, folder, "~/", err)) &&
           store_exec(store, "DELETE FROM seal; UPDATE result SET sum = NULL", "closing it", err) && seal_missing(store, err) &&
           store_exec(store, "PRAGMA journal_mode = DELETE", "closing it", err) && store_exec(store, "VACUUM", "closing it", err);
}

bool store_share(const char *from, int64_t run, char **data, size_t *bytes, struct error *err)
{
    const char *tmp = getenv("TMPDIR");
    SCOPED char *dir = text_format("%s/bench-share.XXXXXX", tmp && *tmp ? tmp : "/tmp"), *path = NULL;
    struct store *store = NULL;
    *data = NULL;
    if (!mkdtemp(dir)) {
        error_set(err, ERROR_ENVIRONMENT, "%s: cannot be made: %s", dir, strerror(errno));
        return error_hint(err, "TMPDIR=FOLDER selects another folder");
    }
    path = file_join(dir, "run.db");
    bool ok = store_open(path, false, &store, err) && store_merge_run(store, from, run, err) && forget(store, err);
    store_close(store);
    if (ok)
        *data = file_read(path, STORE_SHARE_MAX_BYTES, bytes, err);
    else if (err->kind == ERROR_ENVIRONMENT)
        error_hint(err, "TMPDIR=FOLDER selects another folder");
    file_remove_flat(dir);
    return *data != NULL;
}

bool store_snapshot(const char *from, const char *to, struct store_counts *counts, struct error *err)
{
    SCOPED_BY(store_leave) struct store *store = NULL;
    SCOPED_BY(store_finalize) sqlite3_stmt *s = NULL;
    int64_t last = 0, ended = 0;
    *counts = (struct store_counts){0};
    if (!store_open(from, true, &store, err) || !store_integer(store, "SELECT ifnull(max(run), 0) FROM run", &last, err))
        return false;
    SCOPED char *of = text_format("FROM run WHERE run = %lld", (long long)last),
                *planned = text_format("SELECT ifnull((SELECT planned %s), 0)", of),
                *end = text_format("SELECT ifnull((SELECT ended IS NOT NULL AND ended <> '' %s), 0)", of),
                *rows = text_format("SELECT count(*) FROM result WHERE run = %lld AND status <> 'planned'", (long long)last);
    if (!store_integer(store, planned, &counts->planned, err) || !store_integer(store, end, &ended, err) ||
        !store_integer(store, rows, &counts->rows, err) || !store_exec(store, "PRAGMA query_only = 0", "copying it", err) ||
        !store_prepare(store, "VACUUM INTO ?1", &s, err)) /* writes to the new file only */
        return false;
    counts->ended = ended;
    counts->open = counts->planned > counts->rows ? counts->planned - counts->rows : 0;
    unlink(to);
    sqlite3_bind_text(s, 1, to, -1, SQLITE_STATIC);
    return sqlite3_step(s) == SQLITE_DONE || store_error(store, "copying it", err);
}
