/* The row that words on a command line name. */
#include "base/file.h"
#include "base/text.h"
#include "cli/cli.h"
#include "report/page/why.h"
#include <string.h>

/* Finds a row of the last run, and takes over that run's scenario and device. */
static bool take_stored(const char *device, struct row_words *r, const char *words, const char *database, struct error *err)
{
    SCOPED_BY(cli_run_close) struct stored_run s = {0};
    if (!file_exists(database)) {
        error_set(err, ERROR_USAGE, "%s is not a scenario, and there is no database %s with a row of that name", words, database);
        return error_hint(err, "bench run SCENARIO, or put a scenario before the row");
    }
    if (!store_open(database, true, &s.store, err))
        return false;
    if (!store_last_run(s.store, NULL, NULL, device, &s.run, err))
        return err->kind != ERROR_NONE ? false : error_set(err, ERROR_USAGE, "%s holds no run", database);
    s.count = store_rows(s.store, s.run.id, &s.rows, err);
    int index = s.count < 0 ? -1 : why_find(s.rows, s.count, words, err);
    if (index < 0)
        return false;
    r->scenario = xstrdup(s.run.scenario_path);
    r->words = xstrdup(s.rows[index]->id);
    r->device = xstrdup(s.run.device);
    row_set(&r->asked, s.run.asked_variants);
    return true;
}

void cli_row_needs(const struct row_words *r, const struct plan_arguments *a, struct error *err)
{
    if (r->asked && err->kind == ERROR_USAGE && !a->variants.count && !a->ops.count)
        error_hint(err, "the run of this row had the options %.900s; use the same here", r->asked);
}

void cli_row_words_free(struct row_words *r)
{
    FREE_ALL(r->asked, r->scenario, r->words, r->device);
}

const char *cli_database_word(const char **rest, int *count)
{
    for (int end = 0; end < 2 && *count; end++) {
        const char *word = rest[end ? *count - 1 : 0];
        if (!file_begins(word, "SQLite format 3") && !text_ends(word, ".db"))
            continue;
        --*count;
        if (!end)
            memmove(rest, rest + 1, sizeof *rest * (size_t)*count);
        return word;
    }
    return NULL;
}

char *cli_words(const char **rest, int *count, const char **database)
{
    struct text words = {0};
    *database = cli_database_word(rest, count);
    for (int i = 0; i < *count; i++) {
        bool file = *count > 1 && i == 0 && text_ends(rest[0], ".yaml");
        const char *word = file ? file_base(rest[0]) : rest[i];
        text_addf(&words, "%s%.*s", i ? " " : "", (int)(strlen(word) - (file ? strlen(".yaml") : 0)), word);
    }
    return text_take(&words);
}

bool cli_row_words(struct plan_arguments *a, const char **rest, int count, const char *out, struct row_words *r, struct error *err)
{
    struct error no_scenario = {0};
    const char *named = NULL;
    SCOPED char *path = NULL, *words = cli_words(rest, &count, &named), *own = cli_database(out);
    bool ok = true;
    if (count > 1 && !named && cli_plan_arguments(a, rest[0], &path, &no_scenario)) {
        bool file = text_ends(rest[0], ".yaml");
        size_t first = strlen(file ? file_base(rest[0]) : rest[0]) - (file ? strlen(".yaml") : 0);
        r->scenario = xstrdup(rest[0]);
        r->words = xstrdup(words + first + 1);
    } else {
        ok = take_stored(a->device, r, words, named ? named : own, err);
    }
    return ok;
}
