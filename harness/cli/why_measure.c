/* bench why --measure: runs one row, and the baseline beside it, with every counter group, and prints all that explains it. */
#include "base/file.h"
#include "base/spec.h"
#include "base/text.h"
#include "cli/cli.h"
#include "report/page/why.h"
#include "report/source/listing.h"
#include <stdio.h>
#include <unistd.h>

struct profile {
    struct plan_arguments *a;
    struct row_words row;
    char *path, *id, *layers, *only, **set;
    int set_count;
};

static void on_note(void *context, const char *text)
{
    cli_say(stderr, "bench: %s\n", text);
}

static void on_progress(void *context, int done, int total, double seconds, double eta_s, const char *what)
{
    if (isatty(STDERR_FILENO)) {
        fputs("\r\033[K", stderr);
        cli_say(stderr, "%.100s", what);
    }
}

/* The row among all that the scenario has; the filters that leave it and the baseline. */
static bool find_row(struct profile *p, struct plan *plan, int *index, struct error *err)
{
    *index = plan_find(plan, p->row.words, err);
    if (*index < 0)
        return false;
    if (!plan->rows[*index].variant)
        return error_set(err, ERROR_USAGE, "%s is a whole network: profile its layers instead", plan_id(plan, *index));
    const struct scenario_case *c = &plan->cases[plan->rows[*index].case_index];
    p->id = xstrdup(plan_id(plan, *index));
    p->layers = xstrdup(c->layer->name);
    p->only = xstrdup(plan->rows[*index].variant->name);
    p->set = xcalloc((size_t)c->axis_count + 1, sizeof *p->set);
    for (int i = 0; i < c->axis_count; i++)
        p->set[p->set_count++] = text_format("%s=%s", c->axes[i].axis, c->axes[i].value);
    return true;
}

/* Everything of the one row, from the database of this run. */
static int print_row(const struct profile *p, const struct session_options *o, int64_t run_id, struct text *t, struct error *err)
{
    struct stored_run r;
    int index = -1, code = 1;
    struct report_style style = cli_style();
    if (cli_run_open(&r, o->database, run_id, err))
        index = why_find(r.rows, r.count, p->id, err);
    if (index >= 0) {
        struct text more = {0};
        const struct row *row = r.rows[index];
        report_why(t, &r.run, r.rows, r.count, index, &style);
        void (*const lists[])(struct text *, const struct row *, const struct report_style *) = {listing_code, listing_counters};
        static const char *const titles[] = {"code", "counters"};
        for (int i = 0; i < 2; i++) {
            lists[i](&more, row, &style);
            if (more.len)
                text_addf(t, "\n%s\n%s", titles[i], text_get(&more));
            text_free(&more);
        }
        if (row->uncounted && row->uncounted[0])
            text_addf(t, "\ncounters  none: %s\n", row->uncounted);
        code = session_exit_code(r.rows + index, 1);
    }
    cli_run_close(&r);
    return code;
}

static bool add_registers(const struct profile *p, const struct plan *plan, int index, struct text *t, struct error *err)
{
    const struct program *program = plan_program(plan, index);
    for (int i = 0; !plan->rows[index].broken && program->feasible && i < program->step_count; i++) {
        struct register_point points[REGISTER_POINTS];
        int count = worker_registers(plan, index, i, p->a->compiler, points, err);
        if (count < 0)
            return false;
        if (count)
            text_addf(t, "\nlaunch bounds of %s\n", program->steps[i].name);
        cli_print_launch_bounds(t, points, count);
    }
    return true;
}

static int not_planned(const struct profile *p, struct error *err)
{
    cli_row_needs(&p->row, p->a, err);
    return cli_fail(err);
}

static int profile(struct profile *p, const char *out, struct text *t, struct error *err)
{
    struct session_device device;
    struct plan plan = {0};
    struct session_result result;
    int index, code = 0;
    if (!p->a->counters.set && !p->a->groups.count && !p->a->metrics.count)
        p->a->counters.set = "full";
    if (!cli_plan_arguments(p->a, p->row.scenario, &p->path, err))
        return not_planned(p, err);
    struct scenario *s = scenario_load(p->path, err);
    const char *asked = p->a->device ? p->a->device : p->row.device;
    SCOPED char *emu = s ? scenario_emu(s, asked) : NULL;
    bool ok = s && session_device(&(struct session_probe){.spec = asked, .emu_chip = emu}, NULL, &device, err);
    scenario_free(s);
    if (!ok || !plan_make(&p->a->plan, spec_kind(device.spec), &device.chip, &plan, err))
        return not_planned(p, err);
    if (!find_row(p, &plan, &index, err)) {
        plan_free(&plan);
        return not_planned(p, err);
    }
    SCOPED char *dir = file_join(out, "profile"), *database = cli_database(dir),
                *line = text_format("bench why --measure %s %s", p->row.scenario, p->row.words);
    struct session_options o = {.plan = p->a->plan, .database = database, .out_dir = dir, .argv = line, .verb = "why", .decides = true};
    o.plan.device = device.spec;
    o.plan.filter.layers = p->layers;
    o.plan.filter.only = p->only;
    o.plan.filter.set = (const char *const *)(p->set_count ? p->set : NULL);
    struct session_sink sink = {.progress = on_progress, .note = on_note};
    ok = session_run(&o, &sink, &result, err);
    if (isatty(STDERR_FILENO))
        fputs("\r\033[K", stderr);
    code = ok ? print_row(p, &o, result.run_id, t, err) : 1;
    if (ok && err->kind == ERROR_NONE)
        ok = add_registers(p, &plan, index, t, err);
    if (!ok || err->kind != ERROR_NONE)
        code = cli_fail(err);
    plan_free(&plan);
    return code;
}

int cli_profile(struct plan_arguments *a, const char **words, int count, const char *out_dir)
{
    struct profile p = {.a = a};
    struct error err = {0};
    SCOPED_TEXT t = {0};
    int code = cli_row_words(a, words, count, out_dir, &p.row, &err) ? profile(&p, out_dir, &t, &err) : cli_fail(&err);
    cli_print(&t);
    pointers_free(p.set, p.set_count);
    cli_row_words_free(&p.row);
    FREE_ALL(p.path, p.id, p.layers, p.only);
    return code;
}
