/* bench tune: a search for the best configurations, and the results of earlier searches. */
#include "base/file.h"
#include "base/text.h"
#include "cli/cli.h"
#include <stdio.h>
#include <string.h>

static bool list_wisdom(const char *database, const char *to, bool json, struct error *err)
{
    SCOPED_BY(store_leave) struct store *store = NULL;
    struct wisdom *list = NULL;
    SCOPED_TEXT t = {0};
    struct report_style style = cli_style();
    int count = -1;
    if (!cli_store(database, "bench tune SCENARIO", &store, err) || (count = store_wisdom(store, &list, err)) < 0)
        return false;
    if (json || cli_json())
        wisdom_write(&t, list, count);
    else
        report_wisdom(&t, list, count, &style);
    bool ok = cli_put(to, &t, json || cli_json(), err);
    if (ok && !count && !json)
        cli_say(stderr, "bench: %s has no tuned configurations\nhint: bench tune SCENARIO\n", database);
    wisdom_free(list, count);
    return ok;
}

static bool import_wisdom(const char *database, const char *file, int *added, struct error *err)
{
    SCOPED_BY(store_leave) struct store *store = NULL;
    struct wisdom *list = NULL;
    size_t bytes;
    SCOPED char *text = file_read(file, WISDOM_FILE_MAX_BYTES, &bytes, err);
    int count = text ? wisdom_parse(file, text, bytes, &list, err) : -1;
    bool ok = count >= 0 && store_open(database, false, &store, err);
    ok = ok && ALL_OF(i, count, store_wisdom_put(store, &list[i], err));
    *added = ok ? count : 0;
    wisdom_free(list, count);
    return ok;
}

/* What bench tune has found: printed, written to the file `to` or read from the file `from`, where they are not NULL. */
static int cli_wisdom(const char *out_dir, const char *to, const char *from)
{
    struct error err = {0};
    int added = 0;
    SCOPED char *database = cli_database(out_dir);
    bool ok = from ? import_wisdom(database, from, &added, &err) : list_wisdom(database, to, to != NULL, &err);
    if (from && ok)
        cli_say(stdout, "%d configuration%s remembered in %s\n", added, text_s(added), database);
    return ok ? 0 : cli_fail(&err);
}

int cli_tune(const struct verb *verb, int argc, char **argv)
{
    SCOPED_BY(cli_plan_free) struct plan_arguments a = {0};
    struct session_options o = {0};
    SCOPED const char **rest = xcalloc((size_t)argc + 1, sizeof *rest);
    const char *out = NULL;
    bool quiet = false, every = false, list = false;
    const char *to = NULL, *from = NULL;
    struct option options[PLAN_OPTION_COUNT + 11] = {{0}};
    cli_plan_options(&a, options);
    const struct option own[] = {
        {"--variant", 0, OPTION_TEXT, "GLOBS", "search only these variants, as --only", &a.only},
        {"--out", 'o', OPTION_TEXT, "DIR", "database and reports; default ./.bench", &out},
        {"--resume", 0, OPTION_FLAG, NULL, "continue the last run of this scenario: keep finished layers", &o.resume},
        {"--configurations", 0, OPTION_FLAG, NULL, "also print a table of all configurations for every layer", &every},
        {"--no-time", 0, OPTION_FLAG, NULL, "do not search: verify every configuration and list the infeasible ones, even without a GPU",
         &o.no_time},
        {"--time-limit", 0, OPTION_REAL, "SECONDS", "time limit for one run of a configuration; default 10 on cuda, 60 on emu",
         &o.time_limit_s},
        {"--quiet", 'q', OPTION_FLAG, NULL, "print only the closing tables", &quiet},
        {"--list", 0, OPTION_FLAG, NULL, "do not search: print the stored configurations", &list},
        {"--export", 0, OPTION_TEXT, "FILE", "do not search: write the stored configurations to this file as JSON (docs/EXPORT.md)", &to},
        {"--import", 0, OPTION_TEXT, "FILE",
         "do not search: add the configurations of such a file; they replace stored ones for the same layer, variant, chip and compiler",
         &from},
    };
    memcpy(options + PLAN_OPTION_COUNT, own, sizeof own);
    int count, code;
    SCOPED char *path = NULL, *database = NULL, *line = cli_line(argc, argv);
    struct error err = {0};
    if (!cli_options(verb, options, argc, argv, rest, &count, NULL, &code))
        return code;
    if (list + !!to + !!from > 1 || (list || to || from ? count : count != 1)) {
        code = cli_usage(verb, list + !!to + !!from > 1 ? "--list, --export and --import exclude each other"
                               : list || to || from     ? "--list, --export and --import take no scenario"
                               : count                  ? "only one scenario is expected"
                                                        : "which scenario?");
        return code;
    }
    if (list || to || from)
        return cli_wisdom(cli_out_dir(out), to, from);
    if (!cli_plan_arguments(&a, rest[0], &path, &err))
        return cli_fail(&err);
    o.plan = a.plan;
    o.plan.tune = true;
    o.plan.counters.off = true; /* counting every configuration would be the longest part of a search */
    o.out_dir = cli_out_dir(out);
    o.predict = cli_predict;
    o.database = database = cli_database(o.out_dir);
    o.argv = line;
    o.verb = verb->name;
    o.asked_out = out;
    return cli_session(&o, (quiet ? 0 : CLI_SHOW_BEGIN) | (every ? CLI_SHOW_CASES : 0) | CLI_RESUMES);
}
