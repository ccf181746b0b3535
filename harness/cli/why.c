/* bench why: the bottleneck of a stored row and what the fastest row does better. */
#include "base/text.h"
#include "cli/cli.h"
#include "report/form/document.h"
#include "report/page/why.h"
#include <string.h>

struct stored_row {
    struct store *store;
    struct runs runs;
    int run; /* index of the one the row is in */
    struct row **rows;
    int count, index;
};

static void close_row(struct stored_row *r)
{
    if (r->rows)
        rows_free(r->rows, r->count);
    runs_free(&r->runs);
    store_close(r->store);
}

/* Reads the case of the row that was found; the other rows of the run are not needed. */
static bool read_case(struct stored_row *r, int64_t run, struct error *err)
{
    SCOPED char *id = xstrdup(r->rows[r->index]->id), *case_id = xstrdup(r->rows[r->index]->case_id);
    SCOPED char *side = xstrdup(r->rows[r->index]->side ? r->rows[r->index]->side : "");
    rows_free(r->rows, r->count);
    r->rows = NULL;
    r->count = store_rows_pick(r->store, run, &(struct store_pick){.case_id = case_id, .sealed = true}, &r->rows, err);
    r->index = r->count - 1;
    while (r->index >= 0 && (strcmp(r->rows[r->index]->id, id) || strcmp(r->rows[r->index]->side ? r->rows[r->index]->side : "", side)))
        r->index--;
    return r->index >= 0;
}

/* Finds the row in the newest run that has it, or in the given run or device. */
static bool find_row(struct stored_row *r, const char *database, const char *device, int run_id, const char *words, struct error *err)
{
    bool any = false;
    if (!cli_store(database, "bench run SCENARIO", &r->store, err) || !store_runs(r->store, &r->runs, err))
        return false;
    for (r->run = r->runs.count - 1; r->run >= 0; r->run--) {
        const struct run *run = &r->runs.items[r->run];
        struct error why = {0};
        if ((run_id && run->id != run_id) || (device && strcmp(run->device ? run->device : "", device)))
            continue;
        r->count = store_rows_pick(r->store, run->id, &(struct store_pick){.brief = true}, &r->rows, &why);
        r->index = r->count >= 0 ? why_find(r->rows, r->count, words, &why) : -1;
        if (r->index >= 0)
            return read_case(r, run->id, err);
        if (r->count >= 0)
            rows_free(r->rows, r->count);
        r->rows = NULL;
        if (!any)
            *err = why; /* of the newest run, which the user most likely means */
        any = true;
    }
    if (!any) {
        error_set(err, ERROR_USAGE, "%s has no such run", database);
        error_hint(err, "bench list runs lists the stored runs");
    }
    return false;
}

static int why_row(const char *database, const char *device, int run_id, const char *words)
{
    struct error err = {0};
    struct stored_row r = {0};
    struct document d = {0};
    int code = 0;
    if (find_row(&r, database, device, run_id, words, &err)) {
        if (r.run < r.runs.count - 1)
            block_itemf(document_prose(&d, TONE_NOTICE, DETAIL_ALWAYS), NULL, NULL, "run %lld of %s, not the last",
                        (long long)r.runs.items[r.run].id, r.runs.items[r.run].started);
        why_of_row(&d, &r.runs.items[r.run], r.rows, r.count, r.index, false);
        cli_document(&d);
    } else {
        code = cli_fail(&err);
    }
    close_row(&r);
    return code;
}

int cli_why(const struct verb *verb, int argc, char **argv)
{
    SCOPED_BY(cli_plan_free) struct plan_arguments a = {0};
    SCOPED const char **rest = xcalloc((size_t)argc + 1, sizeof *rest);
    const char *out = NULL, *given = NULL;
    bool measure = false;
    int run_id = 0, count, code;
    struct option options[PLAN_OPTION_COUNT + COUNTER_OPTION_COUNT + 4] = {{0}};
    const struct option own[] = {
        {"--measure", 0, OPTION_FLAG, NULL, "run the row again with every counter; takes the options of bench run", &measure},
        {"--out", 'o', OPTION_TEXT, "DIR", "folder of the database; default ./.bench", &out},
        {"--run", 0, OPTION_INT, "N", "this run (bench list runs) instead of the newest run with the row", &run_id},
    };
    memcpy(options, own, sizeof own);
    cli_plan_options(&a, options + 3);
    cli_counter_options(&a, options + 3 + PLAN_OPTION_COUNT);
    SCOPED char *words = NULL, *database = NULL;
    if (!cli_options(verb, options, argc, argv, rest, &count, NULL, &code))
        return code;
    if (measure && count)
        return cli_profile(&a, rest, count, cli_out_dir(out));
    words = cli_words(rest, &count, &given);
    if (!count)
        return cli_usage(verb, measure ? "which row? bench why --measure edsr body_1 naive" : "which row? bench why body_1 naive");
    database = given ? xstrdup(given) : cli_database(cli_out_dir(out));
    return why_row(database, a.device, run_id, words);
}
