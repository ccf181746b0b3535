/* bench show: the tables of a stored run; of a case all, of a row every kernel and counter. */
#include "base/text.h"
#include "cli/stored.h"
#include "report/page/run_profile.h"
#include "report/page/why.h"
#include "report/source/listing.h"
#include "report/view/counter_list.h"
#include "report/view/tune.h"
#include <stdio.h>
#include <string.h>

static bool show_case(struct stored *s, struct text *t)
{
    struct report_style style = cli_style();
    int from, count = stored_case(s->r.rows, s->r.count, s->words, &from);
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

/* Hints at an earlier run of the scenario that planned more rows. */
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
    report_part(t, run_profile_document, &s->r.run, s->r.rows, s->r.count, &style);
    report_summary(t, &s->r.run, s->r.rows, s->r.count, 0, session_exit_code(s->r.rows, s->r.count), &style);
    return true;
}

int cli_show(const struct verb *verb, int argc, char **argv)
{
    struct stored s = {.takes_row = true};
    return stored_verb(verb, argc, argv, &s, NULL, 0, make_show);
}
