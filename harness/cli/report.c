/* bench report: a stored run, or several, as Markdown or as one HTML page. */
#include "base/file.h"
#include "base/node.h"
#include "base/spec.h"
#include "base/text.h"
#include "cli/stored.h"
#include "op/file/ops.h"
#include "plan/scenario/scenario.h"
#include "report/form/document.h"
#include "report/view/calibration.h"
#include <stdlib.h>
#include <string.h>

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
        error_hint(err, "bench list runs lists the stored runs");
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
        ok = error_set(err, ERROR_USAGE, "%d runs given; a comparison needs two or more", count);
        error_hint(err, "bench report 3 5 --compare; bench list runs lists the stored runs");
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

/* Appends the rows whose ids are missing; frees the list of `more`. */
static void add_missing(struct row ***rows, int *count, struct row **more, int more_count)
{
    for (int i = 0; i < more_count; i++) {
        bool there = ANY_OF(k, *count, !strcmp((*rows)[k]->id, more[i]->id));
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
    return ok && (run->id || error_set(err, ERROR_USAGE, "%s has no run of %s on %s", s->database, s->r.run.scenario, kind));
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

/* The questions of another file: of the same scenario, or one that has only questions. */
static bool ask_again(struct stored *s, struct error *err)
{
    struct run *run = &s->r.run;
    size_t bytes;
    if (!op_load(NULL, err))
        return false;
    struct scenario *asked = scenario_load_over(s->ask, run->scenario_text, err);
    bool ok = asked && (run->scenario && !strcmp(asked->name, run->scenario)
                            ? (run->asked = file_read(s->ask, NODE_MAX_BYTES, &bytes, err)) != NULL
                            : error_set(err, ERROR_USAGE, "%s: scenario %s, and the run is of %s", s->ask, asked->name,
                                        run->scenario ? run->scenario : "none"));
    if (ok && run->scenario_text && !strcmp(run->asked, run->scenario_text)) {
        free(run->asked);
        run->asked = NULL;
    }
    scenario_free(asked);
    return ok;
}

static bool make_report(struct stored *s, struct text *t, struct error *err)
{
    if (s->calibration)
        return make_calibration(s, t, err);
    const struct form *form = form_find(s->format ? s->format : cli_json() ? "json" : "md");
    s->json = form == &form_json;
    SCOPED_TEXT names = {0};
    if (s->ask && !ask_again(s, err))
        return false;
    if (form && s->compare)
        return make_compare(s, form, t, err);
    if (form)
        return report_whole(t, form, &s->r.run, s->r.rows, s->r.count, s->out_dir, err);
    form_names(&names);
    SCOPED char *hint = text_format("the forms are %s", text_get(&names));
    stored_unknown_format(s, hint, err);
    return false;
}

int cli_report(const struct verb *verb, int argc, char **argv)
{
    struct stored s = {0};
    const struct option own[] = {
        {"--format", 'f', OPTION_TEXT, "FORM", "md, html, text or json; default md", &s.format},
        {"--compare", 0, OPTION_FLAG, NULL,
         "several runs in one report: RUN... are numbers or scenarios; without any, all runs of the scenario", &s.compare},
        {"--calibration", 0, OPTION_FLAG, NULL, "emu's counters next to the hardware's, of the last run on each", &s.calibration},
        {"--ask", 0, OPTION_TEXT, "FILE.yaml", "answer the questions of this file (its `about` and `answers`) instead of the run's own",
         &s.ask}};
    return stored_verb(verb, argc, argv, &s, own, 4, make_report);
}
