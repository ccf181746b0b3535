/* The stored run that bench show, report and export work on. */
#include "base/file.h"
#include "base/text.h"
#include "cli/stored.h"
#include "report/form/document.h"
#include "report/page/why.h"
#include "report/view/view.h"
#include <stdlib.h>
#include <string.h>

static void no_such_run(struct stored *s, struct error *err)
{
    SCOPED_BY(runs_free) struct runs runs = {0};
    if (s->scenario)
        store_runs(s->r.store, &runs, err);
    SCOPED const char **names = xcalloc((size_t)runs.count + 1, sizeof *names);
    size_t n = 0;
    for (int i = 0; i < runs.count; i++)
        if (runs.items[i].scenario)
            names[n++] = runs.items[i].scenario;
    const char *near = s->scenario ? text_nearest(s->scenario, names, n) : NULL;
    if (s->path && file_exists(s->path)) { /* a file that is neither a database nor a scenario that was run */
        error_set(err, ERROR_USAGE, "%s: not a database, and %s has no run of a scenario of this name", s->path, s->database);
        error_hint(err, near ? "did you mean %s?" : "bench list runs lists the stored runs; bench export --share FILE writes one to send%s",
                   near ? near : "");
        return;
    }
    error_set(err, ERROR_USAGE, "%s has no such run%s%s", s->database, s->scenario ? " of scenario " : "", s->scenario ? s->scenario : "");
    error_hint(err, near ? "%s" : "bench list runs lists the stored runs%s", near ? near : "");
}

int stored_case(struct row *const *rows, int count, const char *name, int *from)
{
    *from = 0;
    while (*from < count && !(rows[*from]->case_id && !strcmp(rows[*from]->case_id, name)))
        ++*from;
    return *from < count ? case_end(rows, count, *from) - *from : 0;
}

/* One word that names no scenario: a case or a row of the last run, where that has one of this name. */
static bool take_row_of_last(struct stored *s, struct error *err)
{
    struct error none = {0};
    struct row **rows = NULL;
    if (!store_last_run(s->r.store, NULL, NULL, s->device, &s->r.run, err))
        return false;
    int count = store_rows(s->r.store, s->r.run.id, &rows, err), index = count > 0 ? why_find(rows, count, s->scenario, &none) : -1;
    bool some = false, whole = stored_case(rows, count, s->scenario, &(int){0}) > 0;
    for (int i = 0; i < count; i++)
        some |= text_words_match(s->scenario, rows[i]->id);
    rows_free(rows, count > 0 ? count : 0);
    if (index < 0 && !whole) {
        *err = some ? none : *err; /* several rows have it */
        return false;
    }
    s->words = xstrdup(s->scenario);
    s->scenario = NULL;
    return true;
}

static bool open_stored(struct stored *s, struct error *err)
{
    s->out_dir = cli_out_dir(s->out_dir);
    if (!s->database)
        s->database = cli_database(s->out_dir);
    if (s->path && file_exists(s->path) && !file_is_dir(s->path) && !file_exists(s->database)) {
        error_set(err, ERROR_USAGE, "%s: not a database, and %s, in which a scenario could have that name, does not exist", s->path,
                  s->database);
        return error_hint(err, "bench export --share FILE writes a run to send");
    }
    if (!cli_store(s->database, "bench run SCENARIO", &s->r.store, err))
        return false;
    bool found = s->run_id >= 0 ? store_run(s->r.store, s->run_id, &s->r.run, err)
                                : store_last_run(s->r.store, NULL, s->scenario, s->device, &s->r.run, err);
    if (!found && (s->takes_row || s->compare) && (s->words || s->from_file) && s->scenario &&
        err->kind == ERROR_NONE) { /* the first word belongs to the row */
        char *words = text_format("%s%s%s", s->scenario, s->words ? " " : "", s->words ? s->words : "");
        free(s->words);
        s->words = words;
        s->scenario = NULL;
        found = store_last_run(s->r.store, NULL, NULL, s->device, &s->r.run, err);
    } else if (!found && s->takes_row && s->scenario && s->run_id < 0 && err->kind == ERROR_NONE) {
        found = take_row_of_last(s, err);
    }
    if (!found) {
        if (err->kind == ERROR_NONE)
            no_such_run(s, err);
        return false;
    }
    s->r.count = store_rows(s->r.store, s->r.run.id, &s->r.rows, err);
    return s->r.count >= 0;
}

static void close_stored(struct stored *s)
{
    cli_run_close(&s->r);
    free(s->database);
    free(s->words);
}

static int run_verb(const struct verb *verb, int argc, char **argv, struct stored *s, const struct option *own, int own_count,
                    bool (*make)(struct stored *s, struct text *t, struct error *err))
{
    const struct option common[] = {
        {"--out", 'o', OPTION_TEXT, "DIR", "folder of the database; default ./.bench", &s->out_dir},
        {"--device", 'd', OPTION_TEXT, "DEVICE", "use the last run on this device", &s->device},
        {"--run", 0, OPTION_INT, "N", "use this run instead of the last (bench list runs)", &s->run_id},
        {"--to", 0, OPTION_TEXT, "FILE", "write to this file instead of stdout", &s->to},
    };
    struct option options[9] = {{0}};
    SCOPED const char **rest = xcalloc((size_t)argc + 1, sizeof *rest);
    struct error err = {0};
    SCOPED_TEXT t = {0};
    int count, code;
    memcpy(options, common, sizeof common);
    if (own_count)
        memcpy(options + 4, own, sizeof *own * (size_t)own_count);
    if (!cli_options(verb, options, argc, argv, rest, &count, NULL, &code))
        return code;
    const char *named = cli_database_word(rest, &count); /* bench report FILE: a shared run (export --share), or any database */
    s->from_file = named != NULL;
    s->database = named ? xstrdup(named) : NULL;
    if (count > 1 && !s->takes_row && !s->compare)
        return cli_usage(verb, "only one scenario is expected");
    struct text words = {0};
    for (int i = 1; i < count; i++)
        text_addf(&words, "%s%s", i > 1 ? " " : "", rest[i]);
    s->words = words.len ? text_take(&words) : NULL;
    s->scenario = count ? rest[0] : NULL;
    char *name = s->scenario ? xstrdup(file_base(s->scenario)) : NULL; /* a path to the file means the scenario of that name */
    if (name && strlen(name) > 5 && !strcmp(name + strlen(name) - 5, ".yaml")) {
        name[strlen(name) - 5] = 0;
        s->scenario = name;
    } else {
        s->path = s->scenario;
    }
    code = open_stored(s, &err) && make(s, &t, &err) && cli_put(s->to, &t, s->json, &err) ? 0 : cli_fail(&err);
    free(name);
    return code;
}

bool stored_unknown_format(const struct stored *s, const char *known, struct error *err)
{
    error_set(err, ERROR_USAGE, "no format '%s'", s->format);
    return error_hint(err, "%s", known);
}

int stored_verb(const struct verb *verb, int argc, char **argv, struct stored *s, const struct option *own, int own_count,
                bool (*make)(struct stored *s, struct text *t, struct error *err))
{
    s->run_id = -1;
    int code = run_verb(verb, argc, argv, s, own, own_count, make);
    close_stored(s);
    return code;
}
