#include "base/clock.h"
#include "base/file.h"
#include "base/text.h"
#include "cli/cli.h"
#include "report/view/number.h"
#include "report/page/spent.h"
#include "report/break_even/break_even.h"
#include "report/view/tune.h"
#include "kernel/variant.h"
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t interrupted;

static void on_signal(int signal_number)
{
    (void)signal_number;
    if (interrupted) /* twice: at once */
        _exit(130);
    interrupted = 1;
}

/* What a run shows on stderr while it goes on. */
struct screen {
    struct report_style style;
    bool live; /* stderr is a terminal: one progress line, rewritten */
    bool shown;
    double last_s;
    const struct scenario_wish *added; /* while densities are added: those that are new; the other cases have been shown */
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

static void on_begin(void *context, const struct run *run, const struct plan *plan, int kept)
{
    struct screen *s = context;
    (void)kept;
    wipe(s);
    cli_say(stderr, "bench: %s, %d case%s, %d row%s on %s\n", plan->scenario->name, plan->case_count, text_s(plan->case_count),
            plan->row_count, text_s(plan->row_count), run->device_about);
    for (int i = 0; i < plan->variants.note_count; i++)
        cli_say(stderr, "bench: note: %s\n", plan->variants.notes[i]);
    for (int i = 0; i < plan->note_count; i++)
        cli_say(stderr, "bench: note: %s\n", plan->notes[i]);
}

static bool same_word(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "") == 0;
}

/* A file under trial that fits none of the standard layers has been told why by each, but nothing of it ran. */
static void say_untried(const char *name, struct row *const *rows, int count)
{
    int met = 0;
    SCOPED_TEXT kinds = {0};
    for (int i = 0; i < count; i++)
        if (rows[i]->part_count && !strcmp(rows[i]->parts[0].variant, name) && rows[i]->status != ROW_INFEASIBLE) {
            return;
        } else if (rows[i]->status == ROW_INFEASIBLE) {
            int k = 0;
            while (k < i && !(rows[k]->status == ROW_INFEASIBLE && same_word(rows[k]->dtype, rows[i]->dtype) &&
                              same_word(rows[k]->layout, rows[i]->layout)))
                k++;
            if (k == i)
                text_addf(&kinds, "%s%s%s%s", met ? ", " : "", rows[i]->dtype ? rows[i]->dtype : "", rows[i]->layout ? " " : "",
                          rows[i]->layout ? rows[i]->layout : "");
            met++;
        }
    cli_say(stderr,
            "bench: %s fits none of %d layer%s (infeasible, above), which %s %s\nhint: check its layout, dtype, math and needs; for "
            "a layer of "
            "your own: bench run SCENARIO.yaml --variants my=FILE.cu\n",
            name, met, text_s(met), met == 1 ? "is" : "are", text_get(&kinds));
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

/* SCENARIO.html and .md; of a part of a scenario whose whole has a page SCENARIO-runN.html and .md. */
static bool write_pages(const struct session_options *o, const struct stored_run *r, struct error *err)
{
    char part[32] = "";
    if (is_part(o, r))
        snprintf(part, sizeof part, "-run%lld", (long long)r->run.id);
    SCOPED char *html = text_format("%s/%s%s.html", o->out_dir, r->run.scenario, part),
                *md = text_format("%s/%s%s.md", o->out_dir, r->run.scenario, part);
    SCOPED_TEXT page = {0}, markdown = {0};
    bool ok = report_whole(&markdown, &form_markdown, &r->run, r->rows, r->count, o->out_dir, err) &&
              report_whole(&page, &form_html, &r->run, r->rows, r->count, o->out_dir, err) && file_write(html, page.data, page.len, err) &&
              file_write(md, markdown.data, markdown.len, err);
    if (ok)
        cli_say(cli_json() ? stderr : stdout, "report  %s  %s\n", html, md);
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
            say_untried(o->plan.variant_names[1], r.rows, r.count);
    }
    if ((show & CLI_SHOW_PAGES) && !result->interrupted && !write_pages(o, &r, err))
        code = cli_fail(err);
    if (result->interrupted)
        cli_say(stderr, "bench: interrupted; what was stored stays\nhint: the same command with --resume goes on\n");
    return code;
}

/* Where the time went, as the last line; reports: what the pages took. */
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

static struct row **rows_of(const struct session_options *o, int64_t run_id, struct run *run, int *count)
{
    struct store *store = NULL;
    struct row **rows = NULL;
    struct error ignored = {0};
    *count = 0;
    if (store_open(o->database, true, &store, &ignored) && store_run(store, run_id, run, &ignored))
        *count = store_rows(store, run_id, &rows, &ignored);
    if (store)
        store_close(store);
    return rows;
}

/* What the run is made to have beside the scenario's own cases; up to one without a case. */
struct wishes {
    struct scenario_wish *items;
    int count;
};

static void wishes_free(struct wishes *w)
{
    for (int i = 0; i < w->count; i++) {
        free((void *)(uintptr_t)w->items[i].case_id);
        free((void *)(uintptr_t)w->items[i].variant);
        free((void *)(uintptr_t)w->items[i].params);
    }
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

/* To the plan: what the run has beside the scenario's densities (it may have been interrupted), then what the break-even of the scenario's
 * answers wants. False: nothing. */
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
        cli_say(stderr, "bench: break-even: %d more cases by bisection (--as-given leaves them out)\n", cases_from(more, before));
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
    o->kept = o->as_given || o->plan.tune || o->inside ? NULL : &kept; /* who serves in this process ends with its run */
    bool ok = session_run(o, sink, result, err);
    if (!counters->required && !counters->set && !counters->groups && !counters->metrics && !counters->source)
        counters->off = true; /* what a break-even is made of is times */
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
    struct sigaction hangup; /* a terminal that goes away ends the run as Ctrl-C does; under nohup it goes on */
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
           (!result->interrupted || error_set(err, ERROR_INTERRUPTED, "interrupted; what was stored stays"));
}

int cli_session(struct session_options *o, int show)
{
    struct screen screen;
    struct session_result result;
    struct error err = {0};
    if (!run_session(o, show, &screen, &result, &err))
        return cli_fail(&err);
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

/* Of the folder of the user's own variants, else of the scenario's; a shipped scenario is of bench, whose revision is known. */
static char *asked_revision(const struct plan_options *plan)
{
    const char *own = plan->variant_dirs && plan->variant_dirs[0] ? strchr(plan->variant_dirs[0], '=') : NULL;
    SCOPED char *dir = own && file_is_dir(own + 1) ? xstrdup(own + 1) : file_dir(plan->scenario_path);
    return cli_revision(dir, NULL);
}

/* "NAME=DIR" as a side: the variants and shared headers of the tree DIR. */
static bool take_sides(const struct option_list *list, struct side **sides, struct error *err)
{
    *sides = list->count ? xcalloc((size_t)list->count + 1, sizeof **sides) : NULL;
    for (int i = 0; i < list->count; i++) {
        const char *spec = list->items[i], *equals = strchr(spec, '=');
        char *dir = realpath(equals ? equals + 1 : spec, NULL), *variants = file_join(dir ? dir : ".", "kernels/variants");
        if (!equals || equals == spec || !dir || !file_is_dir(variants)) {
            error_set(err, ERROR_USAGE, "--side %s: %s", spec, equals && equals != spec ? "has no kernels/variants" : "should be NAME=DIR");
            error_hint(err, "DIR is a tree of bench, such as a worktree of another revision: --side base=../base");
            free(variants);
            free(dir);
            return false;
        }
        (*sides)[i] = (struct side){xstrndup(spec, (size_t)(equals - spec)), cli_revision(dir, "kernels/variants"), variants,
                                    file_join(dir, "kernels/include"),       file_join(dir, "kernels/ops"),         NULL};
        free(dir);
        for (int k = 0; k < i; k++)
            if (!strcmp((*sides)[k].name, (*sides)[i].name))
                return error_set(err, ERROR_USAGE, "two sides are called %s", (*sides)[i].name);
    }
    return true;
}

static void free_sides(struct side **sides)
{
    for (struct side *s = *sides; s && s->name; s++) {
        const char *const texts[] = {s->name, s->revision, s->variants, s->include, s->ops};
        for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
            free((void *)(uintptr_t)texts[i]);
    }
    free(*sides);
}

int cli_run(const struct verb *verb, int argc, char **argv)
{
    SCOPED_BY(cli_plan_free) struct plan_arguments a = {0};
    struct session_options o = {0};
    SCOPED const char **rest = xcalloc((size_t)argc + 1, sizeof *rest);
    const char *out = NULL;
    bool quiet = false, no_report = false, in_process = false;
    SCOPED_BY(option_list_free) struct option_list side_list = {0};
    SCOPED_BY(free_sides) struct side *sides = NULL;
    struct option options[PLAN_OPTION_COUNT + COUNTER_OPTION_COUNT + 14] = {{0}};
    cli_plan_options(&a, options);
    cli_counter_options(&a, options + PLAN_OPTION_COUNT);
    const struct option own[] = {
        {"--out", 'o', OPTION_TEXT, "DIR", "database, dumps and reports; default ./.bench", &out},
        {"--resume", 0, OPTION_FLAG, NULL, "go on with the last run of this scenario: keep rows whose key is unchanged", &o.resume},
        {"--tuned", 0, OPTION_FLAG, NULL,
         "each variant at its best configuration for this layer, where bench tune has found one (bench tune --list)", &o.tuned},
        {"--as-given", 0, OPTION_FLAG, NULL, "no densities beside the scenario's own: a break-even is bracketed by those alone",
         &o.as_given},
        {"--ablate", 0, OPTION_FLAG, NULL, "time verified rows without store, bias or maths, where a head offers it", &o.ablate},
        {"--dump", 0, OPTION_FLAG, NULL, "write tensors and an error map of every wrong row", &o.dump},
        {"--no-time", 0, OPTION_FLAG, NULL, "verify only, also where there is a GPU", &o.no_time},
        {"--time-limit", 0, OPTION_REAL, "SECONDS", "for one run of a row; default 10 on cuda, 60 on emu", &o.time_limit_s},
        {"--in-process", 0, OPTION_FLAG, NULL, "no worker processes: for debuggers", &in_process},
        {"--no-report", 0, OPTION_FLAG, NULL, "no Markdown and HTML page at the end", &no_report},
        {"--quiet", 'q', OPTION_FLAG, NULL, "only the closing lines", &quiet},
        {"--side", 0, OPTION_LIST, "NAME=DIR", "the variants and headers of that tree, beside those of other sides in one run", &side_list},
    };
    memcpy(options + PLAN_OPTION_COUNT + COUNTER_OPTION_COUNT, own, sizeof own);
    int count, code;
    SCOPED char *path = NULL, *database = NULL, *line = cli_line(argc, argv), *revision = NULL;
    struct error err = {0};
    if (!cli_options(verb, options, argc, argv, rest, &count, NULL, &code))
        return code;
    if (count != 1)
        return cli_usage(verb, count ? "one scenario at a time" : "which scenario?");
    if (!cli_plan_arguments(&a, rest[0], &path, &err) || !take_sides(&side_list, &sides, &err))
        return cli_fail(&err);
    o.plan = a.plan;
    o.plan.sides = sides;
    o.inside = in_process ? &worker_inside : NULL;
    o.out_dir = cli_out_dir(out);
    o.database = database = cli_database(o.out_dir);
    o.argv = line;
    o.verb = verb->name;
    o.asked_out = out;
    o.revision = revision = asked_revision(&a.plan);
    return cli_session(&o, (quiet ? 0 : CLI_SHOW_BEGIN | CLI_SHOW_CASES) | (no_report ? 0 : CLI_SHOW_PAGES));
}

static void variant_release(struct variant **v)
{
    variant_free(*v);
}

/* The whole name of the op's first rung. Caller frees. */
static char *rung_of(const struct op *op)
{
    return strchr(op->naive, '/') ? xstrdup(op->naive) : text_format("%s/%s", op->name, op->naive);
}

/* A scenario of the op's standard layers, small enough for a laptop: written beside the run's other files. */
static char *standard_scenario(const struct op *op, bool masked, const char *dir, struct error *err)
{
    SCOPED_TEXT t = {0};
    SCOPED char *rung = rung_of(op);
    text_addf(&t, "scenario: try_%s\nabout: the standard layers of bench try\n%s", op->name, op->trial);
    if (masked && op->masks)
        text_addf(&t, "axes:\n  mask: {values: %s}\n", op->masks);
    text_addf(&t, "variants: [%s]\n", rung);
    if (op->crop || !op->file)
        text_addf(&t, "on:\n  emu: {crop: %s}\n", op->crop ? op->crop : "{d: 2, h: 24, w: 40}");
    char *path = text_format("%s/try_%s.yaml", dir, op->name);
    if (!file_make_dirs(dir, err) || !file_write(path, t.data, t.len, err)) {
        free(path);
        path = NULL;
    }
    return path;
}

static int try_once(const char *file, const char *device, const char *out, const char *line, const struct plan_arguments *a)
{
    struct error err = {0};
    SCOPED char *real = realpath(file, NULL);
    SCOPED_BY(variant_release) struct variant *v = real && op_load(a->ops.items, &err) ? variant_load(real, "try", &err) : NULL;
    if (!real)
        error_set(&err, ERROR_USAGE, "%s: %s", file, strerror(errno));
    if (!v)
        return cli_fail(&err);
    SCOPED char *set = text_format("try=%s", real); /* without its neighbours, which may be broken */
    SCOPED char *naive = rung_of(v->op), *path = standard_scenario(v->op, variant_reads_mask(v), out, &err), *database = cli_database(out);
    if (!path)
        return cli_fail(&err);
    const char *dirs[] = {set, NULL}, *names[] = {naive, v->name, v->op->company[0], v->op->company[1], NULL};
    struct session_options o = {.plan = {.scenario_path = path,
                                         .device = device,
                                         .op_files = a->ops.items,
                                         .variant_dirs = dirs,
                                         .variant_names = names,
                                         .compiler = a->plan.compiler,
                                         .counters = a->counters},
                                .database = database,
                                .out_dir = out,
                                .argv = line,
                                .verb = "try",
                                .asked_out = strcmp(out, cli_out_dir(NULL)) ? out : NULL,
                                .dump = true};
    return cli_session(&o, CLI_SHOW_BEGIN | CLI_SHOW_CASES | CLI_SHOW_UNTRIED);
}

int cli_try(const struct verb *verb, int argc, char **argv)
{
    SCOPED const char **rest = xcalloc((size_t)argc + 1, sizeof *rest);
    const char *device = NULL, *out = NULL;
    bool loop = false;
    SCOPED_BY(cli_plan_free) struct plan_arguments a = {0};
    struct option counters[COUNTER_OPTION_COUNT];
    cli_counter_options(&a, counters);
    const struct option options[] = {
        {"--device", 'd', OPTION_TEXT, "DEVICE", "as for bench run; default: the best present", &device},
        {"--out", 'o', OPTION_TEXT, "DIR", "default ./.bench", &out},
        {"--loop", 0, OPTION_FLAG, NULL, "again whenever the file is saved, until Ctrl-C", &loop},
        {"--ops", 0, OPTION_LIST, "FILE", "as for bench run", &a.ops},
        {"--set", 0, OPTION_TEXT, "SET", "counters: basic, full", &a.counters.set},
        {"--compiler", 0, OPTION_TEXT, "WHICH", "as for bench run", &a.plan.compiler},
        counters[0],
        counters[1],
        counters[2],
        counters[3],
        counters[4],
        {0},
    };
    int count, code;
    SCOPED char *line = cli_line(argc, argv);
    if (!cli_options(verb, options, argc, argv, rest, &count, NULL, &code))
        return code;
    if (count != 1)
        return cli_usage(verb, "which file?");
    struct stat before, now;
    a.counters.groups = a.groups.items;
    a.counters.metrics = a.metrics.items;
    do {
        stat(rest[0], &before);
        code = try_once(rest[0], device, cli_out_dir(out), line, &a);
        while (loop && !interrupted && (stat(rest[0], &now) || now.st_mtime == before.st_mtime))
            nanosleep(&(struct timespec){.tv_nsec = 200000000}, NULL);
    } while (loop && !interrupted);
    return code;
}

int cli_worker(const struct verb *verb, int argc, char **argv)
{
    (void)argc;
    (void)argv;
    worker_main();
    return cli_usage(verb, "it is started by bench itself");
}
