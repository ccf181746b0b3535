/* Verbs that read the store and run nothing: show, report, export, history. */
#include "base/file.h"
#include "base/spec.h"
#include "base/text.h"
#include "cli/cli.h"
#include "report/view/calibration.h"
#include "report/view/counted.h"
#include "report/form/document.h"
#include "report/source/listing.h"
#include "report/view/number.h"
#include "report/page/spent.h"
#include "report/view/tune.h"
#include "report/view/view.h"
#include "report/page/why.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool compare_wanted; /* of bench report, which takes several runs then */

struct stored {
    const char *out_dir, *device, *scenario, *to;
    int run_id;     /* -1: the last */
    bool from_file; /* its first word named a database */
    bool takes_row; /* further words name a row */
    bool json;      /* what is made is JSON */
    char *words;    /* of the row; NULL: the whole run */
    char *database; /* given as a file, or of out_dir */
    struct stored_run r;
};

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
    error_set(err, ERROR_USAGE, "%s holds no such run%s%s", s->database, s->scenario ? " of scenario " : "",
              s->scenario ? s->scenario : "");
    error_hint(err, near ? "%s" : "bench list runs lists what there is%s", near ? near : "");
}

/* How many rows the case of this whole name has, from *from on. */
static int case_named(struct row *const *rows, int count, const char *name, int *from)
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
    bool some = false, whole = case_named(rows, count, s->scenario, &(int){0}) > 0;
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
    if (!cli_store(s->database, "bench run SCENARIO", &s->r.store, err))
        return false;
    bool found = s->run_id >= 0 ? store_run(s->r.store, s->run_id, &s->r.run, err)
                                : store_last_run(s->r.store, NULL, s->scenario, s->device, &s->r.run, err);
    if (!found && (s->takes_row || compare_wanted) && (s->words || s->from_file) && s->scenario &&
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

/* The common part: options, the run, then `make` appends to the text. */
static int stored_verb(const struct verb *verb, int argc, char **argv, const struct option *own, int own_count,
                       bool (*make)(struct stored *s, struct text *t, struct error *err), bool takes_row)
{
    SCOPED_BY(close_stored) struct stored s = {.takes_row = takes_row, .run_id = -1};
    const struct option common[] = {
        {"--out", 'o', OPTION_TEXT, "DIR", "where the database is; default ./.bench", &s.out_dir},
        {"--device", 'd', OPTION_TEXT, "DEVICE", "the last run on this device", &s.device},
        {"--run", 0, OPTION_INT, "N", "this run instead of the last (bench list runs)", &s.run_id},
        {"--to", 0, OPTION_TEXT, "FILE", "write there instead of to stdout", &s.to},
    };
    struct option options[8] = {{0}};
    SCOPED const char **rest = xcalloc((size_t)argc + 1, sizeof *rest);
    struct error err = {0};
    SCOPED_TEXT t = {0};
    int count, code;
    memcpy(options, common, sizeof common);
    if (own_count)
        memcpy(options + 4, own, sizeof *own * (size_t)own_count);
    if (!cli_options(verb, options, argc, argv, rest, &count, NULL, &code))
        return code;
    const char *named = cli_database_word(rest, &count); /* bench report FILE: what somebody sent (export --share), or any database */
    s.from_file = named != NULL;
    s.database = named ? xstrdup(named) : NULL;
    if (count > 1 && !s.takes_row && !compare_wanted)
        return cli_usage(verb, "one scenario at a time");
    struct text words = {0};
    for (int i = 1; i < count; i++)
        text_addf(&words, "%s%s", i > 1 ? " " : "", rest[i]);
    s.words = words.len ? text_take(&words) : NULL;
    s.scenario = count ? rest[0] : NULL;
    char *name = s.scenario ? xstrdup(file_base(s.scenario)) : NULL; /* a path to the file means the scenario of that name */
    if (name && strlen(name) > 5 && !strcmp(name + strlen(name) - 5, ".yaml")) {
        name[strlen(name) - 5] = 0;
        s.scenario = name;
    }
    code = open_stored(&s, &err) && make(&s, &t, &err) && cli_put(s.to, &t, s.json, &err) ? 0 : cli_fail(&err);
    free(name);
    return code;
}

static bool show_case(struct stored *s, struct text *t)
{
    struct report_style style = cli_style();
    int from, count = case_named(s->r.rows, s->r.count, s->words, &from);
    if (!count)
        return false;
    style.whole = true;
    s->json = cli_json();
    if (s->json)
        report_json(t, &s->r.run, s->r.rows + from, count);
    else
        report_cases(t, &s->r.run, s->r.rows + from, count, &style);
    return true;
}

/* One row: its case's header, then every kernel and counter. */
static bool show_row(struct stored *s, struct text *t, struct error *err)
{
    if (show_case(s, t))
        return true;
    int index = why_find(s->r.rows, s->r.count, s->words, err);
    if (index < 0)
        return false;
    struct report_style style = cli_style();
    s->json = cli_json();
    if (s->json) {
        report_json(t, &s->r.run, s->r.rows + index, 1);
        return true;
    }
    style.whole = true;
    report_cases(t, &s->r.run, s->r.rows + index, 1, &style);
    report_kernels(t, s->r.rows[index]);
    report_samples(t, s->r.rows[index]);
    listing_counters(t, s->r.rows[index], &style);
    return true;
}

/* The last run may be a part of what an earlier one ran. */
static void say_wider(const struct stored *s)
{
    SCOPED_BY(runs_free) struct runs runs = {0};
    struct error ignored = {0};
    const struct run *wider = NULL;
    if (s->run_id < 0)
        store_runs(s->r.store, &runs, &ignored);
    for (int i = 0; i < runs.count; i++) {
        const struct run *r = &runs.items[i];
        if (r->scenario && s->r.run.scenario && !strcmp(r->scenario, s->r.run.scenario) && r->planned > s->r.run.planned &&
            (!wider || r->planned >= wider->planned))
            wider = r;
    }
    if (wider)
        cli_say(stderr, "bench: run %lld planned %d rows; run %lld of %s planned %d\nhint: bench show --run %lld\n", (long long)s->r.run.id,
                s->r.run.planned, (long long)wider->id, wider->started, wider->planned, (long long)wider->id);
}

static bool make_show(struct stored *s, struct text *t, struct error *err)
{
    struct report_style style = cli_style();
    if (s->words)
        return show_row(s, t, err);
    say_wider(s);
    s->json = cli_json();
    if (s->json) {
        report_json(t, &s->r.run, s->r.rows, s->r.count);
        return true;
    }
    report_cases(t, &s->r.run, s->r.rows, s->r.count, &style);
    report_part(t, tune_document, &s->r.run, s->r.rows, s->r.count, &style);
    report_closing(t, &s->r.run, s->r.rows, s->r.count, &style);
    report_part(t, spent_document, &s->r.run, s->r.rows, s->r.count, &style);
    report_summary(t, &s->r.run, s->r.rows, s->r.count, 0, session_exit_code(s->r.rows, s->r.count), &style);
    return true;
}

int cli_show(const struct verb *verb, int argc, char **argv)
{
    return stored_verb(verb, argc, argv, NULL, 0, make_show, true);
}

static const char *share_wanted;
static const char *format_wanted; /* of the one verb that this process runs */

static bool unknown_format(const char *known, struct error *err)
{
    error_set(err, ERROR_USAGE, "no format '%s'", format_wanted);
    return error_hint(err, "%s", known);
}

static bool calibration_wanted;

/* The run that a word names: by number, or a scenario's last. */
static bool run_of(struct stored *s, const char *word, long long *id, struct error *err)
{
    SCOPED_BY(run_clear) struct run run = {0};
    if (text_to_int(word, id))
        return true;
    bool found = store_last_run(s->r.store, NULL, word, s->device, &run, err);
    *id = run.id;
    if (!found && err->kind == ERROR_NONE) {
        error_set(err, ERROR_USAGE, "%s holds no run '%s'", s->database, word);
        error_hint(err, "bench list runs lists what there is");
    }
    return found;
}

static bool add_compared(struct stored *s, struct stored_run **runs, int *count, long long id, struct error *err)
{
    struct stored_run *run = APPEND(*runs, *count);
    *run = (struct stored_run){0};
    return cli_run_open(run, s->database, id, err);
}

/* The runs that the words name; without words the last runs of the scenario. */
static int compared(struct stored *s, struct stored_run **runs, struct error *err)
{
    SCOPED_BY(runs_free) struct runs all = {0};
    SCOPED char *words = s->words ? text_format("%s %s", s->scenario ? s->scenario : "", s->words) : NULL;
    char *rest = words;
    int count = 0;
    long long id;
    bool ok = s->words || store_runs(s->r.store, &all, err);
    for (char *word; ok && (word = strsep(&rest, " "));)
        ok = !word[0] || (run_of(s, word, &id, err) && add_compared(s, runs, &count, id, err));
    for (int i = 0; ok && i < all.count; i++) {
        const struct run *r = &all.items[i];
        if (r->scenario && !strcmp(r->scenario, s->r.run.scenario) && !strcmp(r->device, s->r.run.device) && r->ended[0])
            ok = add_compared(s, runs, &count, r->id, err);
    }
    if (ok && count < 2) {
        ok = error_set(err, ERROR_USAGE, "%d runs: two or more are needed to compare", count);
        error_hint(err, "bench report 3 5 --compare; bench list runs lists what there is");
    }
    return ok ? count : -1 - count;
}

static bool make_compare(struct stored *s, const struct form *form, struct text *t, struct error *err)
{
    SCOPED struct stored_run *runs = NULL;
    int count = compared(s, &runs, err);
    SCOPED struct report_run *list = xcalloc((size_t)(count > 0 ? count : 0) + 1, sizeof *list);
    for (int i = 0; i < count; i++)
        list[i] = (struct report_run){&runs[i].run, runs[i].rows, runs[i].count};
    bool ok = count > 0 && report_runs(t, form, list, count, s->out_dir, err);
    for (int i = 0; i < (count < 0 ? -1 - count : count); i++)
        cli_run_close(&runs[i]);
    return ok;
}

/* The rows of a run whose ids are not there yet, behind the others; its own list is freed. */
static void add_missing(struct row ***rows, int *count, struct row **more, int more_count)
{
    for (int i = 0; i < more_count; i++) {
        bool there = false;
        for (int k = 0; k < *count && !there; k++)
            there = !strcmp((*rows)[k]->id, more[i]->id);
        if (there) {
            row_free(more[i]);
            continue;
        }
        *APPEND(*rows, *count) = more[i];
    }
    free(more);
}

/* The last run of the scenario on a device of that kind, and the rows that only earlier runs on the same device have. */
static bool rows_on(struct stored *s, const char *kind, struct run *run, struct row ***rows, int *count, struct error *err)
{
    SCOPED_BY(runs_free) struct runs runs = {0};
    bool ok = store_runs(s->r.store, &runs, err);
    for (int i = runs.count - 1; ok && i >= 0; i--) {
        const struct run *r = &runs.items[i];
        struct row **more;
        if (!spec_is(r->device, kind) || !r->scenario || strcmp(r->scenario, s->r.run.scenario) ||
            (run->id && strcmp(r->device_about ? r->device_about : "", run->device_about ? run->device_about : "")))
            continue;
        ok = run->id || store_run(s->r.store, r->id, run, err);
        int n = ok ? store_rows(s->r.store, r->id, &more, err) : -1;
        ok = n >= 0;
        if (ok)
            add_missing(rows, count, more, n);
    }
    return ok && (run->id || error_set(err, ERROR_USAGE, "%s holds no run of %s on %s", s->database, s->r.run.scenario, kind));
}

static bool make_calibration(struct stored *s, struct text *t, struct error *err)
{
    struct run emu = {0}, cuda = {0};
    struct row **emu_rows = NULL, **cuda_rows = NULL;
    int emu_count = 0, cuda_count = 0;
    bool ok = rows_on(s, SPEC_COUNTS, &emu, &emu_rows, &emu_count, err) && rows_on(s, SPEC_TIMED, &cuda, &cuda_rows, &cuda_count, err) &&
              report_calibration(t, &emu, emu_rows, emu_count, &cuda, cuda_rows, cuda_count, err);
    if (emu_rows)
        rows_free(emu_rows, emu_count);
    if (cuda_rows)
        rows_free(cuda_rows, cuda_count);
    run_clear(&emu);
    run_clear(&cuda);
    return ok;
}

static bool make_report(struct stored *s, struct text *t, struct error *err)
{
    if (calibration_wanted)
        return make_calibration(s, t, err);
    const struct form *form = form_find(format_wanted ? format_wanted : cli_json() ? "json" : "md");
    s->json = form == &form_json;
    SCOPED_TEXT names = {0};
    if (form && compare_wanted)
        return make_compare(s, form, t, err);
    if (form)
        return report_whole(t, form, &s->r.run, s->r.rows, s->r.count, s->out_dir, err);
    form_names(&names);
    SCOPED char *hint = text_format("the forms are %s", text_get(&names));
    unknown_format(hint, err);
    return false;
}

int cli_report(const struct verb *verb, int argc, char **argv)
{
    const struct option own[] = {
        {"--format", 'f', OPTION_TEXT, "FORM", "md, html, text or json; default md", &format_wanted},
        {"--compare", 0, OPTION_FLAG, NULL, "several runs in one report: RUN... are numbers or scenarios; none: all of the scenario",
         &compare_wanted},
        {"--calibration", 0, OPTION_FLAG, NULL, "emu's counters beside the hardware's: the last runs on each", &calibration_wanted}};
    return stored_verb(verb, argc, argv, own, 3, make_report, false);
}

static bool share(const struct stored *s, struct error *err)
{
    char *data, kib[NUMBER_TEXT];
    size_t bytes = 0;
    bool ok = store_share(s->database, s->r.run.id, &data, &bytes, err) && file_write_named(share_wanted, data, bytes, err);
    free(data);
    if (ok)
        cli_say(stderr,
                "bench: %s: run %lld of %s, %d rows, %s KiB; the machine's name is not in it, the home folder is ~; the scenario's text, "
                "the command "
                "line and other paths are\nhint: whoever gets it: bench report %s\n",
                share_wanted, (long long)s->r.run.id, s->r.run.scenario, s->r.count, number_3((double)bytes / 1024, kib), share_wanted);
    return ok;
}

static bool make_export(struct stored *s, struct text *t, struct error *err)
{
    if (share_wanted)
        return share(s, err);
    s->json = cli_json() || !format_wanted || !strcmp(format_wanted, "json");
    if (s->json)
        report_json(t, &s->r.run, s->r.rows, s->r.count);
    else if (!strcmp(format_wanted, "csv"))
        report_csv(t, &s->r.run, s->r.rows, s->r.count);
    else
        return unknown_format("--format json or --format csv", err);
    return true;
}

int cli_export(const struct verb *verb, int argc, char **argv)
{
    const struct option own[] = {
        {"--format", 'f', OPTION_TEXT, "json|csv", "default json", &format_wanted},
        {"--share", 0, OPTION_TEXT, "FILE", "the run alone as one file to send: anyone opens it with bench report FILE", &share_wanted}};
    return stored_verb(verb, argc, argv, own, 2, make_export, false);
}

static bool list_run(struct table *t, struct store *store, const struct run *r, struct error *err)
{
    int64_t rows = store_row_count(store, r->id, err);
    char planned[32] = "", id[24], count[32];
    snprintf(id, sizeof id, "%lld", (long long)r->id);
    snprintf(count, sizeof count, "%lld row%s", (long long)rows, text_s(rows));
    if (rows < 0)
        return false;
    if (!r->ended[0] && r->planned > rows)
        snprintf(planned, sizeof planned, ", %d planned", r->planned);
    table_row(t, LINE_PLAIN);
    table_number(t, PAINT_NONE, (double)r->id, id);
    table_cell(t, PAINT_NONE, "%s", r->started);
    table_cell(t, PAINT_NONE, "%s", r->scenario ? r->scenario : "");
    table_cell(t, PAINT_NONE, "%s", r->device ? r->device : "");
    table_number(t, PAINT_NONE, (double)rows, count);
    table_cell(t, PAINT_NONE, "%s", r->commit ? r->commit : "");
    table_cell(t, PAINT_NONE, "%s%s", r->ended[0] ? "" : "interrupted", planned);
    return true;
}

int cli_list_runs(const char *out_dir)
{
    SCOPED_BY(store_leave) struct store *store = NULL;
    SCOPED_BY(runs_free) struct runs runs = {0};
    struct error err = {0};
    SCOPED char *database = cli_database(out_dir);
    bool ok = cli_store(database, "bench run SCENARIO", &store, &err) && store_runs(store, &runs, &err);
    static const char *const keys[] = {"run", "started", "scenario", "device", "rows", "commit", "state"};
    struct table *t = table_new();
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        table_column(t, keys[i], "", i % 4 ? ALIGN_LEFT : ALIGN_RIGHT);
    for (int i = 0; i < runs.count && ok; i++)
        ok = list_run(t, store, &runs.items[i], &err);
    cli_table(t);
    return ok ? 0 : cli_fail(&err);
}
