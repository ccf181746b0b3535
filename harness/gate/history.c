#include "gate/history.h"
#include "base/file.h"
#include "base/order.h"
#include "base/text.h"
#include "report/view/number.h"
#include "report/plot/plot.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WINDOW 50
#define LEVEL 0.001
#define PLOT_HEIGHT 320
#define LABELS_MOST 15

/* ---- the order ---- */

static const struct run *side_run(const struct gate_side *side)
{
    return &side->parts[0]->run;
}

/* The position that git gives the revision; NAN: it is not among the commits. */
static double commit_position(const char *commits, const char *revision, size_t digits)
{
    for (const char *s = commits; s && digits && *s; s += strcspn(s, " "), s += *s == ' ') {
        const char *sha = strchr(s, ':');
        if (sha && !strncmp(sha + 1, revision, digits))
            return atof(s);
    }
    return NAN;
}

struct ordered {
    double key;
    int index;
    struct gate_side side;
};

ORDER(by_commit, struct ordered, x->key != y->key ? ORDER_UP(key) : x->index - y->index)

void history_order(struct gate_side *sides, int count, const char *commits)
{
    SCOPED struct ordered *all = xcalloc((size_t)count + 1, sizeof *all);
    double newest = 0;
    for (int i = 0; i < count; i++) {
        const char *revision = side_run(&sides[i])->revision ? side_run(&sides[i])->revision : "";
        size_t digits = strcspn(revision, "+");
        double key = commit_position(commits, revision, digits) + (revision[digits] ? 0.25 : 0); /* with changes: after its commit */
        for (int k = 0; k < i && isnan(key) && *revision; k++)
            if (side_run(&sides[k])->revision && !strcmp(side_run(&sides[k])->revision, revision))
                key = all[k].key;
        if (isnan(key))
            key = newest + 0.5 / count;
        newest = fmax(newest, key);
        all[i] = (struct ordered){key, i, sides[i]};
    }
    if (count)
        qsort(all, (size_t)count, sizeof *all, by_commit);
    for (int i = 0; i < count; i++)
        sides[i] = all[i].side;
}

/* ---- the numbers ---- */

static const struct row_time *headline_of(const struct gate_entry *e)
{
    const struct row_time *t = gate_entry_stands(e) ? row_time(e->row, MODE_COLD) : NULL;
    return t && t->median_ns > 0 ? t : NULL;
}

/* The fact of the whole row, or else of the first step that has it. */
static double fact_of(const struct gate_entry *e, const char *what)
{
    double value = gate_entry_fact(e, "", what);
    for (int i = 0; isnan(value) && i < e->fact_count; i++)
        if (!strcmp(e->facts[i].kind->what, what))
            value = e->facts[i].value;
    return value;
}

static bool read_point(const struct history *h, const struct gate_side *side, struct history_point *p)
{
    const struct gate_entry *e = gate_side_find(side, h->id);
    const struct row_time *t = e ? headline_of(e) : NULL;
    *p = (struct history_point){side, e, NAN, NAN, NAN};
    if (!e)
        return false;
    if (h->exact) {
        p->value = fact_of(e, h->what);
    } else if (t) {
        p->value = t->median_ns / 1e3;
        p->low = t->low_ns / 1e3;
        p->high = t->high_ns / 1e3;
    }
    return isfinite(p->value);
}

/* A count has no noise, so every different value is a change. */
static void find_exact(struct history *h, const double *value)
{
    for (int i = 1; i < h->count; i++)
        if (value[i] != value[i - 1])
            *APPEND(h->changes, h->change_count) = (struct change_point){i, value[i - 1], value[i], 0};
}

static void find_changes(struct history *h)
{
    const struct change_search search = {.window = WINDOW, .level = LEVEL};
    SCOPED double *value = xcalloc((size_t)h->count + 1, sizeof *value);
    for (int i = 0; i < h->count; i++)
        value[i] = h->points[i].value;
    if (h->exact)
        find_exact(h, value);
    else
        h->change_count = change_find(value, h->count, &search, &h->changes);
}

static const struct run *run_of(const struct history_point *p)
{
    return side_run(p->side);
}

/* The same revision launched the same code again, and its count is the same. */
static bool is_repeat(const struct history_point *p, const struct history_point *q)
{
    const char *a = run_of(p)->revision, *b = run_of(q)->revision;
    return a && b && !strcmp(a, b) && p->value == q->value && !strcmp(p->entry->launch, q->entry->launch);
}

static bool is_of(const struct run *run, const char *word)
{
    char number[24];
    size_t n = strlen(word);
    snprintf(number, sizeof number, "%lld", (long long)run->id);
    bool revision = run->revision && n >= 4 && (!strncmp(run->revision, word, n) || !strncmp(word, run->revision, strlen(run->revision)));
    return !strcmp(number, word) || revision;
}

static bool find_release(struct history *h, const char *word, struct error *err)
{
    h->release = -1;
    for (int i = 0; word && i < h->count; i++)
        if (is_of(run_of(&h->points[i]), word)) {
            h->release = h->release < 0 ? i : h->release;
            h->release_last = i;
        }
    if (!word || h->release >= 0)
        return true;
    error_set(err, ERROR_USAGE, "%s has no run of '%s'", h->id, word);
    return error_hint(err, "--since takes the number of a run (bench list runs) or a stored revision");
}

bool history_make(const struct gate_side *sides, int count, const char *id, const char *what, double margin, const char *release,
                  struct history *h, struct error *err)
{
    const struct gate_entry *last = NULL;
    *h = (struct history){.id = id, .margin = margin, .release = -1};
    for (int i = 0; i < count; i++)
        last = gate_side_find(&sides[i], id) ? gate_side_find(&sides[i], id) : last;
    const struct gate_kind *kind = what ? gate_kind_find(what) : NULL;
    bool timed = what ? !strcmp(what, "time") : last && headline_of(last);
    h->what = timed ? "time" : kind ? kind->what : "emu.warp_instructions";
    h->unit = timed ? "us" : "";
    h->exact = !timed;
    if (what && !timed && !kind) {
        error_set(err, ERROR_USAGE, "there is no fact '%s'", what);
        return error_hint(err, "time, registers, occupancy, emu.warp_instructions, emu.global_sectors_ld ...");
    }
    for (int i = 0; i < count; i++) {
        struct history_point p;
        if (!read_point(h, &sides[i], &p))
            continue;
        if (h->exact && h->count && is_repeat(&h->points[h->count - 1], &p))
            h->repeats++;
        else
            *APPEND(h->points, h->count) = p;
    }
    if (!h->count) {
        error_set(err, ERROR_USAGE, "no run has a value of %s for %s", h->what, id);
        return error_hint(err, timed ? "--of emu.warp_instructions" : "--of time");
    }
    find_changes(h);
    return find_release(h, release, err);
}

void history_free(struct history *h)
{
    free(h->points);
    free(h->changes);
    *h = (struct history){0};
}

/* ---- levels ---- */

/* The mean of the segment around a run. */
static double level_at(const struct history *h, int index)
{
    int first = 0, end = h->count;
    double sum = 0;
    for (int i = 0; i < h->change_count; i++)
        if (h->changes[i].index <= index)
            first = h->changes[i].index;
        else if (h->changes[i].index < end)
            end = h->changes[i].index;
    for (int i = first; i < end; i++)
        sum += h->points[i].value;
    return sum / (end - first);
}

double history_drift(const struct history *h)
{
    return h->release < 0 ? NAN : level_at(h, h->count - 1) / level_at(h, h->release_last) - 1;
}

double history_largest_step(const struct history *h)
{
    double most = 0;
    for (int i = 0; i < h->change_count; i++)
        if (h->changes[i].index > h->release_last)
            most = fmax(most, fabs(h->changes[i].after / h->changes[i].before - 1));
    return most;
}

/* ---- output ---- */

/* The differences from the previous run: "code; driver 580, not 570". */
static void add_differences(const struct history *h, int i, struct text *t)
{
    const struct history_point *p = &h->points[i], *q = i ? &h->points[i - 1] : NULL;
    SCOPED_TEXT makers = {0};
    if (!q)
        return;
    if (p->entry->launch[0] && q->entry->launch[0] && strcmp(p->entry->launch, q->entry->launch) != 0)
        text_add(t, "other code");
    gate_side_differences(q->side, p->side, &makers);
    if (makers.len)
        text_addf(t, "%s%s", t->len ? "; " : "", text_get(&makers));
}

static void add_change(const struct history *h, int i, struct text *t)
{
    for (int k = 0; k < h->change_count; k++) {
        const struct change_point *c = &h->changes[k];
        if (c->index != i)
            continue;
        text_addf(t, "%+.2f %% from here on", 100 * (c->after / c->before - 1));
        if (!h->exact)
            text_addf(t, " (p %.1g)", c->p);
    }
}

static void number(const struct history *h, double value, char out[NUMBER_TEXT])
{
    if (h->exact && value == floor(value))
        snprintf(out, NUMBER_TEXT, "%.0f", value);
    else
        snprintf(out, NUMBER_TEXT, "%.4g", value);
}

static struct table *points_table(const struct history *h)
{
    struct table *t = table_new();
    char text[NUMBER_TEXT], *heading = text_format("%s%s%s", h->what, *h->unit ? " " : "", h->unit);
    table_columns(t, {"run", "run", ALIGN_RIGHT}, {"started", "started", ALIGN_LEFT}, {"revision", "revision", ALIGN_LEFT});
    table_column(t, "value", heading, ALIGN_POINT, .note = h->exact ? NULL : "[95 %]");
    table_columns(t, {"change", "change", ALIGN_LEFT}, {"other", "what is other", ALIGN_LEFT});
    for (int i = 0; i < h->count; i++) {
        const struct history_point *p = &h->points[i];
        SCOPED_TEXT change = {0}, other = {0};
        add_change(h, i, &change);
        add_differences(h, i, &other);
        table_row(t, change.len ? LINE_BASELINE : LINE_PLAIN);
        table_cell(t, PAINT_NONE, "%lld", (long long)run_of(p)->id);
        table_cell(t, PAINT_NONE, "%.16s", run_of(p)->started);
        table_cell(t, PAINT_NONE, "%s%s", run_of(p)->revision ? run_of(p)->revision : "", h->release == i ? " (since)" : "");
        number(h, p->value, text);
        table_number(t, PAINT_NONE, p->value, text);
        if (isfinite(p->low))
            table_note(t, "[%.4g %.4g]", p->low, p->high);
        table_cell(t, PAINT_BOLD, "%s", text_get(&change));
        table_cell(t, PAINT_NONE, "%s", text_get(&other));
    }
    free(heading);
    return t;
}

static void add_drift(struct document *d, const struct history *h)
{
    double drift = history_drift(h), step = history_largest_step(h);
    if (isnan(drift))
        return;
    const struct run *since = run_of(&h->points[h->release]);
    struct text t = {0};
    text_addf(&t, "%+.2f %% since run %lld%s%s", 100 * drift, (long long)since->id, since->revision ? " of " : "",
              since->revision ? since->revision : "");
    if (fabs(drift) > h->margin && step <= h->margin)
        text_addf(&t, ": it crept up in steps within the margin of %g %%, so no gate reported it", 100 * h->margin);
    else if (fabs(drift) > h->margin)
        text_addf(&t, ", beyond the margin of %g %%; the largest step is %.2f %%", 100 * h->margin, 100 * step);
    else
        text_addf(&t, ", within the margin of %g %%", 100 * h->margin);
    block_text(document_list(d, DETAIL_ALWAYS), "drift", NULL, &t);
}

void history_document(struct document *d, const struct history *h)
{
    SCOPED_TEXT made = {0};
    gate_side_describe(h->points[h->count - 1].side, &made);
    document_heading(d, 1, h->id, text_get(&made));
    document_table(d, points_table(h), DETAIL_ALWAYS);
    struct block *list = document_list(d, DETAIL_ALWAYS);
    SCOPED char *repeats =
        h->repeats ? text_format(" and %d that repeat%s one of them", h->repeats, h->repeats > 1 ? "" : "s") : xstrdup("");
    block_itemf(list, "changes", NULL, "%d in %d run%s%s%s", h->change_count, h->count, text_s(h->count), repeats,
                h->exact ? ": counts have no noise" : ": E-divisive, Student's t-test at 0.1 %, windows of 50 runs");
    add_drift(d, h);
}

bool history_plot(const struct history *h, const char *dir, char **problem, struct error *err)
{
    struct plot_draft draft = {.base = "history.gp", .case_index = -1, .width = PLOT_WIDTH, .height = PLOT_HEIGHT};
    int every = 1 + (h->count - 1) / LABELS_MOST;
    for (int i = 0; i < h->count; i++) {
        const struct history_point *p = &h->points[i];
        const double cells[] = {p->value, isfinite(p->low) ? p->low : p->value, isfinite(p->high) ? p->high : p->value, level_at(h, i)};
        bool changed = ANY_OF(k, h->change_count, h->changes[k].index == i);
        if (i % every == 0)
            text_addf(&draft.data, "%lld", (long long)run_of(p)->id);
        for (size_t k = 0; k < sizeof cells / sizeof *cells; k++)
            plot_add_number(&draft.data, cells[k]);
        plot_add_number(&draft.data, changed ? p->value : NAN);
        text_add(&draft.data, "\n");
    }
    text_addf(&draft.script, "measure = \"%s%s%s\"\n", h->what, *h->unit ? " " : "", h->unit);
    SCOPED_BY(plots_free) struct plots plots = {0};
    SCOPED char *folder = file_join(dir, "plots");
    bool done = plots_open(&plots, folder, err);
    plot_write(&plots, &draft, "%s over the runs; a line is the level between two change points, a ring marks the first run after a change",
               h->id);
    done = done && plots_draw(&plots, err);
    *problem = plots.problem;
    plots.problem = NULL;
    return done;
}
