/* Runs a session for a verb: progress on stderr, tables on stdout, pages at the end; Ctrl-C. */
#include "base/clock.h"
#include "base/file.h"
#include "base/text.h"
#include "cli/cli.h"
#include "base/spec.h"
#include "kernel/variant.h"
#include "plan/rows/shard.h"
#include "report/break_even/break_even.h"
#include "report/page/run_profile.h"
#include "report/view/number.h"
#include "report/view/predict.h"
#include "report/view/tune.h"
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define LONG_S 60 /* a run of at least this says how long it takes */

static volatile sig_atomic_t interrupted;

bool cli_interrupted(void)
{
    return interrupted;
}

static void on_signal(int signal_number)
{
    if (interrupted) /* twice: at once */
        _exit(130);
    interrupted = 1;
}

/* What a run shows on stderr. */
struct screen {
    struct report_style style;
    bool live; /* stderr is a terminal: one progress line, rewritten */
    bool shown;
    double last_s;
    const struct scenario_wish *added; /* while densities are added: the new ones; the other cases were shown before */
};

static void wipe(struct screen *s)
{
    if (s->shown)
        fputs("\r\033[K", stderr);
    s->shown = false;
}

static void on_progress(void *context, int done, int total, double seconds, double eta_s, const char *what)
{
    struct screen *s = context;
    if (!s->live || seconds - s->last_s < 0.1)
        return;
    s->last_s = seconds;
    char eta[32] = "";
    if (isfinite(eta_s) && done > 2)
        snprintf(eta, sizeof eta, " ETA %d:%02d", (int)eta_s / 60, (int)eta_s % 60);
    int room = s->style.width > 40 ? s->style.width - 1 : 100;
    char line[512];
    snprintf(line, sizeof line, "[%d/%d]%s %s", done, total, eta, what);
    s->shown = true;
    wipe(s);
    cli_say(stderr, "%.*s", room, line);
    s->shown = true;
}

static void on_case(void *context, const struct run *run, struct row *const *rows, int count)
{
    struct screen *s = context;
    SCOPED_TEXT t = {0};
    bool fresh = !s->added;
    for (const struct scenario_wish *w = s->added; w && w->case_id && count; w++)
        fresh = fresh || (rows[0]->mask_density == w->density &&
                          (row_is_network(rows[0]) || (rows[0]->like_case && !strcmp(w->case_id, rows[0]->like_case))));
    if (!fresh)
        return;
    wipe(s);
    report_cases(&t, run, rows, count, &s->style);
    cli_print(&t);
}

static void on_note(void *context, const char *text)
{
    wipe(context);
    cli_say(stderr, "bench: %s\n", text);
}

/* A long run without a GPU says so before it starts, and which shipped scenario asks the same of less. */
static void say_long(const struct run *run, const struct plan *plan)
{
    double total = 0;
    char text[NUMBER_TEXT];
    SCOPED double *seconds = xcalloc((size_t)plan->case_count + 1, sizeof *seconds);
    plan_costs(plan, false, seconds);
    for (int i = 0; i < plan->case_count; i++)
        total += seconds[i];
    if (spec_is_timed(run->device) || total < LONG_S)
        return;
    SCOPED char *small = text_format("scenarios/%s_small.yaml", plan->scenario->name), *path = file_share(small);
    cli_say(stderr, "bench: this takes about %s of CPU time on emu; ", number_duration(total, text));
    if (file_exists(path))
        cli_say(stderr, "shorter: bench run %s_small\n", plan->scenario->name);
    else
        cli_say(stderr, "--layer and --only run a part of it\n");
}

static void on_begin(void *context, const struct run *run, const struct plan *plan, int kept)
{
    struct screen *s = context;
    wipe(s);
    cli_say(stderr, "bench: %s, %d case%s, %d row%s on %s\n", plan->scenario->name, plan->case_count, text_s(plan->case_count),
            plan->row_count, text_s(plan->row_count), run->device_about);
    for (int i = 0; i < plan->case_count; i++)
        if (plan->cases[i].same)
            cli_say(stderr, "bench: note: verified work of %s is that of %s: run once\n", plan->cases[i].same, plan->cases[i].id);
    if (!kept)
        say_long(run, plan);
    for (int i = 0; i < plan->variants.note_count; i++)
        cli_say(stderr, "bench: note: %s\n", plan->variants.notes[i]);
    for (int i = 0; i < plan->note_count; i++)
        cli_say(stderr, "bench: note: %s\n", plan->notes[i]);
}

static bool same_word(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "") == 0;
}

static const char *first_variant(const struct row *row)
{
    return row->part_count ? row->parts[0].variant : row->variant ? row->variant : "";
}

/* A variant of the user's that fits no layer: each row has its reason, but nothing ran. */
static void say_untried(const struct session_options *o, const char *name, struct row *const *rows, int count)
{
    int met = 0;
    const struct row *last = NULL;
    SCOPED_TEXT kinds = {0};
    for (int i = 0; i < count; i++) {
        if (strcmp(first_variant(rows[i]), name) != 0)
            continue;
        if (rows[i]->status != ROW_INFEASIBLE)
            return;
        int k = 0;
        while (k < i && !(!strcmp(first_variant(rows[k]), name) && same_word(rows[k]->dtype, rows[i]->dtype) &&
                          same_word(rows[k]->layout, rows[i]->layout)))
            k++;
        if (k == i)
            text_addf(&kinds, "%s%s%s%s", met ? ", " : "", rows[i]->dtype ? rows[i]->dtype : "", rows[i]->layout ? " " : "",
                      rows[i]->layout ? rows[i]->layout : "");
        met += !last || !same_word(last->case_id, rows[i]->case_id);
        last = rows[i];
    }
    if (!met)
        return;
    SCOPED_TEXT fits = {0};
    cli_say(stderr, "bench: %s fits none of %d layer%s (infeasible, above), which %s %s\n", name, met, text_s(met), met == 1 ? "is" : "are",
            text_get(&kinds));
    if (cli_fits(&o->plan, name, last->op, &fits))
        cli_say(stderr, "hint: it fits layers of these scenarios: %s; bench run SCENARIO --variants my=FILE.cu\n", text_get(&fits));
    else
        cli_say(stderr,
                "hint: check its layout, dtype, math and needs; for your own layer: bench run SCENARIO.yaml --variants my=FILE.cu\n");
}

/* Each variant of --variants, once: its first row says it. */
static void say_untried_own(const struct session_options *o, struct row *const *rows, int count)
{
    SCOPED const char **seen = xcalloc((size_t)count + 1, sizeof *seen);
    int known = 0;
    for (int i = 0; i < count; i++) {
        const char *name = first_variant(rows[i]);
        bool own = false, there = false;
        for (const char *const *d = o->plan.variant_dirs; d && *d; d++) {
            size_t n = strcspn(*d, "=");
            own |= !strncmp(name, *d, n) && name[n] == '/';
        }
        for (int k = 0; k < known; k++)
            there |= !strcmp(seen[k], name);
        if (!own || there)
            continue;
        seen[known++] = name;
        say_untried(o, name, rows, count);
    }
}

/* Was an earlier run of the scenario planned with more rows, which a filter leaves out of this one? Its page stays. */
static bool is_part(const struct session_options *o, const struct stored_run *r)
{
    const struct scenario_filter *f = &o->plan.filter;
    SCOPED_BY(runs_free) struct runs runs = {0};
    struct error ignored = {0};
    bool part = false;
    if (f->layers || f->only || (f->set && f->set[0]))
        store_runs(r->store, &runs, &ignored);
    for (int i = 0; i < runs.count && !part; i++) {
        const struct run *other = &runs.items[i];
        part = other->id < r->run.id && other->planned > r->run.planned && other->scenario && r->run.scenario &&
               !strcmp(other->scenario, r->run.scenario);
    }
    return part;
}

static bool write_page(const struct session_options *o, const struct stored_run *r, const struct form *form, const char *path,
                       struct error *err)
{
    SCOPED_TEXT page = {0};
    return report_whole(&page, form, &r->run, r->rows, r->count, o->out_dir, err) && file_write(path, page.data, page.len, err);
}

/* SCENARIO.html and .md, written by processes beside this one; for part of a scenario whose whole has a page, SCENARIO-runN.html and .md.
 */
enum page { PAGE_HTML, PAGE_MD, PAGES };
struct pages {
    char *path[PAGES];
    pid_t writer[PAGES];
};
static const struct form *const forms[PAGES] = {&form_html, &form_markdown};

static struct pages pages_begin(const struct session_options *o, const struct stored_run *r)
{
    struct pages p;
    struct error ignored = {0};
    char part[32] = "";
    if (is_part(o, r))
        snprintf(part, sizeof part, "-run%lld", (long long)r->run.id);
    fflush(NULL);
    for (int i = 0; i < PAGES; i++) {
        p.path[i] = text_format("%s/%s%s.%s", o->out_dir, r->run.scenario, part, i == PAGE_MD ? "md" : "html");
        p.writer[i] = fork();
        if (!p.writer[i])
            _exit(!write_page(o, r, forms[i], p.path[i], &ignored));
    }
    return p;
}

/* False: the error of the first page that cannot be written. */
static bool pages_end(struct pages *p, const struct session_options *o, const struct stored_run *r, struct error *err)
{
    bool ok = true;
    for (int i = 0; i < PAGES; i++) {
        int status = -1;
        if (p->writer[i] < 0 || waitpid(p->writer[i], &status, 0) < 0 || status) /* again, for its error */
            ok = ok && write_page(o, r, forms[i], p->path[i], err);
    }
    if (ok)
        cli_say(cli_json() ? stderr : stdout, "report  %s  %s\n", p->path[PAGE_HTML], p->path[PAGE_MD]);
    for (int i = 0; i < PAGES; i++)
        free(p->path[i]);
    return ok;
}

/* Everything that was stored of the run, once more as a whole: summary, network, pages. */
static int run_finish(const struct session_options *o, const struct session_result *result, struct screen *s, int show, struct error *err)
{
    SCOPED_BY(cli_run_close) struct stored_run r = {0};
    SCOPED_TEXT t = {0};
    if (!cli_run_open(&r, o->database, result->run_id, err))
        return cli_fail(err);
    int code = result->interrupted ? 130 : session_exit_code(r.rows, r.count);
    bool writes = (show & CLI_SHOW_PAGES) && !result->interrupted;
    struct pages pages = {0};
    if (writes)
        pages = pages_begin(o, &r);
    if (cli_json()) {
        report_json(&t, &r.run, r.rows, r.count);
        cli_print_json(&t);
    } else {
        report_part(&t, tune_document, &r.run, r.rows, r.count, &s->style);
        if (!o->plan.tune)
            report_closing(&t, &r.run, r.rows, r.count, &s->style);
        report_summary(&t, &r.run, r.rows, r.count, result->seconds, code, &s->style);
        cli_print(&t);
        if ((show & CLI_SHOW_UNTRIED) && !result->interrupted)
            say_untried(o, o->tried, r.rows, r.count);
        else if (!result->interrupted)
            say_untried_own(o, r.rows, r.count);
    }
    if (writes && !pages_end(&pages, o, &r, err))
        code = cli_fail(err);
    if (result->interrupted)
        cli_say(stderr, "bench: interrupted; stored rows are kept\n%s",
                show & CLI_RESUMES ? "hint: the same command with --resume continues\n" : "");
    return code;
}

/* The last line: where the time went. reports_s: writing the pages. */
static void say_spent(const struct session_result *result, double reports_s)
{
    SCOPED_TEXT t = {0};
    char seconds[NUMBER_TEXT];
    spent_line(&t, result->spent_s);
    if (reports_s >= 0.1)
        text_addf(&t, "; then the reports %s", number_duration(reports_s, seconds));
    cli_say(stderr, "bench: %s\n", text_get(&t));
}

#define BISECTIONS 8 /* from one density to a hundred times it, to a tenth */

/* The rows of a run whose scenario asks for break-evens; NULL for any other run, whose rows are not read. */
static struct row **rows_of(const struct session_options *o, int64_t run_id, struct run *run, int *count)
{
    struct store *store = NULL;
    struct row **rows = NULL;
    struct error ignored = {0};
    *count = 0;
    if (store_open(o->database, true, &store, &ignored) && store_run(store, run_id, run, &ignored) && break_even_asked(run))
        *count = store_rows(store, run_id, &rows, &ignored);
    if (store)
        store_close(store);
    return rows;
}

/* Cases that the run adds to the scenario's own; ends with one without a case. */
struct wishes {
    struct scenario_wish *items;
    int count;
};

static void wishes_free(struct wishes *w)
{
    for (int i = 0; i < w->count; i++)
        FREE_ALL(w->items[i].case_id, w->items[i].variant, w->items[i].params);
    free(w->items);
}

static bool same_case(const struct scenario_wish *w, const char *case_id, double density)
{
    return w->density == density && !strcmp(w->case_id, case_id);
}

/* Once each. */
static void add_wish(struct wishes *all, const char *case_id, double density, const char *variant, const char *params)
{
    for (int i = 0; i < all->count; i++) {
        const struct scenario_wish *w = &all->items[i];
        if (same_case(w, case_id, density) &&
            (!w->variant || (text_same(w->variant, variant) && (!w->params || text_same(w->params, params)))))
            return;
    }
    all->items = xrealloc(all->items, sizeof *all->items * (size_t)(all->count + 2));
    all->items[all->count++] =
        (struct scenario_wish){xstrdup(case_id), density, variant ? xstrdup(variant) : NULL, params ? xstrdup(params) : NULL};
    all->items[all->count] = (struct scenario_wish){0};
}

static int cases_from(const struct wishes *w, int from)
{
    int cases = 0;
    for (int i = from; i < w->count; i++) {
        int first = from;
        while (!same_case(&w->items[first], w->items[i].case_id, w->items[i].density))
            first++;
        cases += first == i;
    }
    return cases;
}

/* Adds to the plan the densities that an interrupted run already has, then those that the scenario's break-even answers need. False:
 * none. */
static bool more_densities(struct session_options *o, int64_t run_id, struct wishes *more, struct screen *screen)
{
    struct run run = {0};
    SCOPED struct break_wish *wishes = NULL;
    int count, before;
    struct row **rows = rows_of(o, run_id, &run, &count);
    int wishing = rows ? break_even_more(&run, rows, count, &wishes) : 0;
    bool all = rows && break_even_wants_all(rows, count);
    for (int i = 0; wishing > 0 && i < count; i++)
        if (rows[i]->like_case)
            add_wish(more, rows[i]->like_case, rows[i]->mask_density, all ? NULL : rows[i]->variant, all ? NULL : rows[i]->params);
    before = more->count;
    for (int i = 0; i < wishing; i++) {
        add_wish(more, wishes[i].case_id, wishes[i].density, wishes[i].variant, wishes[i].params);
        free(wishes[i].case_id);
    }
    if (rows)
        rows_free(rows, count);
    run_clear(&run);
    o->plan.filter.extra = more->items;
    screen->added = more->count > before ? more->items + before : NULL;
    if (screen->added)
        cli_say(stderr, "bench: break-even: bisection adds %d cases (--as-given adds none)\n", cases_from(more, before));
    return screen->added;
}

/* The scenario, and then the same run again with the densities that bracket its break-even. */
static bool run_bisecting(struct session_options *o, struct session_sink *sink, struct screen *screen, struct session_result *result,
                          struct error *err)
{
    SCOPED_BY(wishes_free) struct wishes more = {0};
    struct session_kept *kept = NULL;
    struct counter_wish *counters = &o->plan.counters, asked = *counters;
    struct session_result before;
    o->kept = o->as_given || o->plan.tune || o->inside ? NULL : &kept; /* a server in this process ends with its run */
    bool ok = session_run(o, sink, result, err);
    if (!counters->required && !counters->set && !counters->groups && !counters->metrics && !counters->source)
        counters->off = true; /* a break-even needs times */
    for (int i = 0;
         ok && !o->as_given && !o->plan.tune && i < BISECTIONS && !result->interrupted && more_densities(o, result->run_id, &more, screen);
         i++) {
        before = *result;
        o->before = &before;
        o->resume = true;
        sink->begin = NULL;
        ok = session_run(o, sink, result, err);
    }
    session_kept_free(kept);
    o->kept = NULL;
    o->before = NULL;
    *counters = asked;
    o->plan.filter.extra = NULL;
    screen->added = NULL;
    return ok;
}

static bool run_session(struct session_options *o, int show, struct screen *screen, struct session_result *result, struct error *err)
{
    *screen = (struct screen){.style = cli_style(), .live = isatty(STDERR_FILENO) && (show & (CLI_SHOW_BEGIN | CLI_SHOW_PROGRESS))};
    struct session_sink sink = {.context = screen,
                                .begin = show & CLI_SHOW_BEGIN ? on_begin : NULL,
                                .progress = on_progress,
                                .case_done = show & CLI_SHOW_CASES ? on_case : NULL,
                                .note = on_note};
    if (cli_json())
        sink.case_done = NULL;
    struct sigaction action = {.sa_handler = on_signal}; /* Ctrl-C sets the flag, and a second one ends the process */
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    struct sigaction hangup; /* closing the terminal ends the run like Ctrl-C; under nohup it continues */
    if (!sigaction(SIGHUP, NULL, &hangup) && hangup.sa_handler != SIG_IGN)
        sigaction(SIGHUP, &action, NULL);
    o->interrupted = &interrupted;
    bool ok = run_bisecting(o, &sink, screen, result, err);
    wipe(screen);
    return ok;
}

bool cli_session_rows(struct session_options *o, struct session_result *result, struct error *err)
{
    struct screen screen;
    return run_session(o, CLI_SHOW_PROGRESS, &screen, result, err) &&
           (!result->interrupted || error_set(err, ERROR_INTERRUPTED, "interrupted; stored rows are kept"));
}

void cli_predict(const struct run *run, struct row *const *rows, int count, double *ns)
{
    struct judge judge;
    SCOPED_BY(case_view_free) struct case_view c = {0};
    judge_open(&judge);
    case_view_make(&c, run, rows, count);
    case_predict(&c, &judge);
    for (int i = 0; i < count; i++)
        ns[i] = c.views[i].predicted.ns;
    judge_close(&judge);
}

int cli_session(struct session_options *o, int show)
{
    struct screen screen;
    struct session_result result;
    struct error err = {0};
    if (!run_session(o, show, &screen, &result, &err)) {
        if ((show & CLI_RESUMES) && result.run_id)
            error_hint(&err, "%s%sthe same command with --resume keeps the rows stored so far", err.hint, err.hint[0] ? "; " : "");
        return cli_fail(&err);
    }
    double ended = clock_s();
    int code = run_finish(o, &result, &screen, show, &err);
    fflush(stdout);
    say_spent(&result, clock_s() - ended);
    return code;
}

char *cli_line(int argc, char **argv)
{
    struct text t = {0};
    text_add(&t, "bench");
    for (int i = 0; i < argc; i++)
        text_addf(&t, strpbrk(argv[i], " '\"$*") ? " '%s'" : " %s", argv[i]);
    return text_take(&t);
}
