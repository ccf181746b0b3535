/* report/page/runs_document: several runs in one report: the compiler and versions of each, how each row changed, and every row's page, so
 * that the reader can compare any two. Runs are not interleaved, so their times are not paired and a comparison is weaker than a gate's. */
#include "base/file.h"
#include "report/page/case_document.h"
#include "report/source/disassemble.h"
#include "report/view/number.h"
#include "report/page/row_document.h"
#include "report/view/verdict.h"
#include "report/limits.h"
#include "base/stats/between.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define HISTORY_LEAST 3 /* runs */

/* Where the row of a key is. */
struct place {
    const struct row *row;
    int c, i;
};
/* One run, its cases seen and its rows by their keys. */
struct seen {
    const struct report_run *of;
    struct case_view *cases;
    struct place *places;
    int case_count, count;
};

static int by_key(const void *a, const void *b)
{
    const struct place *p = a, *q = b;
    const char *const these[] = {case_short(p->row), p->row->variant, p->row->params, p->row->side}, *const those[] = {case_short(q->row),
                                                                                                                       q->row->variant,
                                                                                                                       q->row->params,
                                                                                                                       q->row->side};
    int order = 0;
    for (size_t i = 0; i < sizeof these / sizeof *these && !order; i++)
        order = strcmp(these[i] ? these[i] : "", those[i] ? those[i] : "");
    return order;
}

static void see(struct seen *s, const struct report_run *of, const struct judge *judge)
{
    *s = (struct seen){.of = of, .places = xcalloc((size_t)of->count + 1, sizeof *s->places)};
    for (int i = 0, end; i < of->count; i = end) {
        end = case_end(of->rows, of->count, i);
        struct case_view *c = APPEND(s->cases, s->case_count);
        case_view_make(c, of->run, of->rows + i, end - i);
        case_judge(c, judge);
        for (int k = i; k < end; k++)
            s->places[s->count++] = (struct place){of->rows[k], s->case_count - 1, k - i};
    }
    qsort(s->places, (size_t)s->count, sizeof *s->places, by_key);
}

/* NULL: that run has no such row. */
static const struct place *find(const struct seen *s, const struct row *row)
{
    struct place wanted = {.row = row};
    return s->count ? bsearch(&wanted, s->places, (size_t)s->count, sizeof wanted, by_key) : NULL;
}

static const struct view *view_at(const struct seen *s, const struct place *p)
{
    return p ? &s->cases[p->c].views[p->i] : NULL;
}

/* ---- two views of one row ---- */

struct tally {
    int both, faster, slower, failed, mended, gone, added;
};

static double measure(const struct view *v, bool counts)
{
    return !v || v->row->status != ROW_OK ? NAN : counts ? v->moved_bytes : v->ranked ? v->time->median_ns : NAN;
}

/* 1: the second is faster, -1: slower, 0: no significant difference, or not known. */
static int apart(const struct view *a, const struct view *b, bool counts)
{
    double x = measure(a, counts) / measure(b, counts);
    if (isnan(x) || counts)
        return isnan(x) ? 0 : (x > 1) - (x < 1);
    double noise = fmax(between_processes(a->time->median_ns, b->time->median_ns),
                        fmax(a->row->noise > 0 ? a->row->noise : 0, b->row->noise > 0 ? b->row->noise : 0));
    return b->time->high_ns < a->time->low_ns && x > 1 + noise ? 1 : a->time->high_ns < b->time->low_ns && x < 1 / (1 + noise) ? -1 : 0;
}

static void count_pair(struct tally *y, const struct view *a, const struct view *b, bool counts)
{
    bool ok_a = a && a->row->status == ROW_OK, ok_b = b && b->row->status == ROW_OK;
    int said = a && b ? apart(a, b, counts) : 0;
    y->both += a && b && measure(a, counts) > 0 && measure(b, counts) > 0;
    y->faster += said > 0;
    y->slower += said < 0;
    y->failed += ok_a && b && b->failed;
    y->mended += ok_b && a && a->failed;
    y->gone += a && !b;
    y->added += b && !a;
}

static void changed(struct text *t, const char *what, int64_t a, int64_t b)
{
    if (a >= 0 && b >= 0 && a != b)
        text_addf(t, "%s%s %lld, was %lld", t->len ? "; " : "", what, (long long)b, (long long)a);
}

static bool same_code(const struct row *a, const struct row *b)
{
    bool same = a->step_count == b->step_count && a->step_count > 0;
    return same && ALL_OF(i, a->step_count, a->steps[i].sass_hash[0] && !strcmp(a->steps[i].sass_hash, b->steps[i].sass_hash));
}

/* "registers 40, was 32; bottleneck latency, was memory". */
static void add_changes(struct text *t, const struct view *a, const struct view *b)
{
    char x[NUMBER_TEXT], y[NUMBER_TEXT];
    if (a->row->status != b->row->status)
        text_addf(t, "%s, was %s", row_status_name(b->row->status), row_status_name(a->row->status));
    if (a->step >= 0 && b->step >= 0) {
        const struct row_step *s = &a->row->steps[a->step], *r = &b->row->steps[b->step];
        changed(t, "registers", s->registers, r->registers);
        changed(t, "spilled bytes", a->spill_bytes, b->spill_bytes);
        changed(t, "shared bytes", a->smem_bytes, b->smem_bytes);
        changed(t, "blocks per SM", s->blocks_per_sm, r->blocks_per_sm);
    }
    if (a->moved_bytes > 0 && b->moved_bytes > 0 && a->moved_bytes != b->moved_bytes)
        text_addf(t, "%sasks for %s, was %s", t->len ? "; " : "", number_si(b->moved_bytes, "B", x), number_si(a->moved_bytes, "B", y));
    if (verdict_word(a)[0] && verdict_word(b)[0] && strcmp(verdict_word(a), verdict_word(b)))
        text_addf(t, "%sbottleneck %s, was %s", t->len ? "; " : "", verdict_word(b), verdict_word(a));
    if (!t->len && same_code(a->row, b->row))
        text_add(t, "the same machine code");
}

/* ---- tables ---- */

static bool is_fact(const struct column *c)
{
    return c->group == COLUMN_RUN && c->type != COLUMN_REAL_ZERO && strcmp(c->name, "scenario_text") && strcmp(c->name, "environment");
}

static void add_fact(struct table *t, const struct column *c, const struct seen *s, int count)
{
    struct column_value first = column_get(c, s[0].of->run);
    bool any = false, differs = false;
    for (int i = 0; i < count; i++) {
        struct column_value v = column_get(c, s[i].of->run);
        any |= !v.absent && !(v.text && !v.text[0]);
        differs |= v.absent != first.absent || (v.text && first.text ? strcmp(v.text, first.text) != 0 : v.integer != first.integer);
    }
    if (!any)
        return;
    table_row(t, LINE_PLAIN);
    table_cell(t, PAINT_NONE, "%s", c->name);
    for (int i = 0; i < count; i++) {
        struct column_value v = column_get(c, s[i].of->run);
        if (v.absent)
            table_absent(t, 1);
        else if (v.text)
            table_cell(t, differs ? PAINT_BOLD : PAINT_DIM, "%s", v.text);
        else
            table_cell(t, differs ? PAINT_BOLD : PAINT_DIM, "%lld", (long long)v.integer);
    }
}

static char *run_name(const struct seen *s)
{
    return text_format("run %lld", (long long)s->of->run->id);
}

static void add_runs(struct document *d, const struct seen *s, int count)
{
    struct table *t = table_new();
    table_column(t, "fact", "", ALIGN_LEFT);
    for (int i = 0; i < count; i++) {
        SCOPED char *name = run_name(&s[i]);
        table_column(t, "value", name, ALIGN_LEFT);
    }
    for (const struct column *c = columns; c->name; c++)
        if (is_fact(c))
            add_fact(t, c, s, count);
    document_heading(d, 2, "The runs", NULL);
    document_table(d, t, DETAIL_ALWAYS);
}

/* A row's number in one run, linked to its page. */
static void number_cell(struct table *t, const struct seen *s, const struct view *v, bool counts)
{
    char a[NUMBER_TEXT], b[NUMBER_TEXT];
    double x = measure(v, counts);
    if (!v) {
        table_absent(t, 1);
        return;
    }
    if (isnan(x))
        table_cell(t, v->failed ? PAINT_BAD : PAINT_DIM, "%s", row_status_name(v->row->status));
    else if (counts)
        table_number(t, PAINT_NONE, x, number_si(x, "B", a));
    else {
        number_pair(x / 1e3, v->half_ns / 1e3, a, b);
        table_number(t, PAINT_NONE, x / 1e3, a);
        if (b[0])
            table_note(t, "±%s", b);
    }
    SCOPED char *anchor = row_anchor(v->row), *name = run_name(s), *target = text_format("%s %s", name, anchor);
    table_target(t, target);
}

/* A line of a row: `at` in the run where it was found first. */
static void pair_line(struct table *t, const struct seen *s, int count, const struct row *row, const char *name, struct tally *y)
{
    const struct view *first = view_at(&s[0], find(&s[0], row));
    SCOPED_TEXT words = {0};
    char n[NUMBER_TEXT];
    bool counts = s[0].case_count && s[0].cases[0].counts;
    table_row(t, LINE_PLAIN);
    table_cell(t, PAINT_NONE, "%s", name);
    number_cell(t, &s[0], first, counts);
    for (int i = 1; i < count; i++) {
        const struct view *v = view_at(&s[i], find(&s[i], row));
        double x = first && v ? measure(first, counts) / measure(v, counts) : NAN;
        int said = first && v ? apart(first, v, counts) : 0;
        number_cell(t, &s[i], v, counts);
        table_number(t, said > 0 ? PAINT_GOOD : said < 0 ? PAINT_BAD : PAINT_DIM, x, number_3(x, n));
        count_pair(&y[i], first, v, counts);
        if (i == count - 1 && first && v)
            add_changes(&words, first, v);
        else if (i == count - 1)
            text_add(&words, v ? "new" : first ? "gone" : "");
    }
    table_cell(t, PAINT_DIM, "%s", text_get(&words));
}

static struct table *pair_table(const struct seen *s, int count)
{
    struct table *t = table_new();
    bool counts = s[0].case_count && s[0].cases[0].counts;
    table_column(t, "name", "variant", ALIGN_LEFT);
    for (int i = 0; i < count; i++) {
        SCOPED char *name = run_name(&s[i]), *heading = text_format("%s, %s", name, counts ? "asked for" : "us"),
                    *x = text_format("x %lld", (long long)s[0].of->run->id);
        table_column(t, "us", heading, ALIGN_POINT);
        if (i)
            table_column(t, "x", x, ALIGN_POINT,
                         .about = "the first run's number over this one's; not paired: coloured only where the intervals do not overlap "
                                  "and the difference exceeds the usual difference between two runs of the same code");
    }
    table_column(t, "changed", count > 2 ? "changes from the first run to the last" : "changed", ALIGN_LEFT);
    t->name = "runs";
    return t;
}

/* The cases of run `at` that no run before it has; every row that is in any of the runs has a line. */
static void add_cases(struct document *d, const struct seen *s, int count, int at, struct tally *y)
{
    for (int k = 0; k < s[at].case_count; k++) {
        const struct case_view *c = &s[at].cases[k];
        struct table *t = pair_table(s, count);
        for (int i = 0; i < c->count; i++) {
            const struct view *v = &c->views[c->order[i]];
            bool known = v->row->status == ROW_INFEASIBLE || v->row->status == ROW_SKIPPED;
            for (int r = 0; r < at; r++)
                known |= find(&s[r], v->row) != NULL;
            if (!known)
                pair_line(t, s, count, v->row, v->name, y);
        }
        if (!t->line_count) {
            table_free(t);
            continue;
        }
        document_heading(d, 2, c->rows[0]->case_id, c->rows[0]->work);
        document_table(d, t, DETAIL_ALWAYS);
    }
}

/* ---- the pages of each run ---- */

static void put_before(char **text, const char *prefix)
{
    char *with = *text ? text_format("%s %s", prefix, *text) : NULL;
    free(*text);
    *text = with;
}

/* What blocks from `from` on are called by, and link to: each run has rows of the same names. */
static void rename_blocks(struct document *d, int from, const char *prefix)
{
    for (int i = from; i < d->count; i++) {
        struct block *b = &d->blocks[i];
        put_before(&b->anchor, prefix);
        if (b->kind == BLOCK_HEADING && b->level == 2)
            put_before(&b->text, prefix);
        for (int k = 0; b->table && k < b->table->line_count * b->table->column_count; k++)
            put_before(&b->table->cells[k].target, prefix);
    }
}

static void add_pages(struct document *d, const struct seen *s, bool brief)
{
    const struct plots plots = {.brief = brief};
    int from = d->count;
    SCOPED char *name = run_name(s);
    for (int k = 0; k < s->case_count; k++)
        case_document(d, &s->cases[k], &plots);
    rename_blocks(d, from, name);
}

/* ---- over time ---- */

/* The fastest row of each case of the first run, in every run. */
static void history(struct plots *p, const struct seen *s, int count)
{
    struct plot_draft d = {.base = "sweep.gp", .section = "History", .case_index = -1, .width = PLOT_WIDTH};
    int lines = 0;
    double least = INFINITY, most = 0;
    for (int k = 0; k < s[0].case_count && lines < SHOWN_HISTORY; k++) {
        const struct view *best = case_best(&s[0].cases[k]);
        int points = 0;
        for (int i = 0; i < count && best; i++) {
            const struct view *v = view_at(&s[i], find(&s[i], best->row));
            if (isnan(measure(v, false)))
                continue;
            if (!points++) {
                const struct row *first = s[0].cases[k].rows[0];
                SCOPED char *label = text_format("%s: %s", case_short(first), best->name);
                plot_series(&d.data, label);
                lines++;
            }
            text_addf(&d.data, "%d\t%.9g\t%.9g\t%.9g\n", i + 1, v->time->median_ns / 1e3, v->time->low_ns / 1e3, v->time->high_ns / 1e3);
            least = fmin(least, v->time->low_ns / 1e3);
            most = fmax(most, v->time->high_ns / 1e3);
        }
    }
    if (!lines) {
        text_free(&d.data);
        return;
    }
    text_addf(&d.script, "places = %d\nthe_places = \"", count <= 20 ? count : 0);
    for (int i = 0; i < count && count <= 20; i++)
        text_addf(&d.script, "%s%d", i ? " " : "", i + 1);
    text_addf(&d.script,
              "\"\nlines = %d\ncolumns = 1\naxis = \"run, in the order of the page\"\nmeasure = \"time, us\"\ntall = %d\nleast = "
              "%.9g\nmost = %.9g\n",
              lines, most > 12 * least, least, most);
    d.height = 270 + 18 * lines;
    plot_write(p, &d, "Time in every run of the row that was the fastest in the first run, with 95 %% intervals.");
}

/* ---- the whole ---- */

#define FAIR \
    "Runs are not interleaved, so their times are not paired: differences below 1.5 % and 0.22 us are not significant. bench gate " \
    "compares two trees in one process, with a known error rate. A number links to the row's page in its run; compare shows two of them " \
    "side by side."

static void add_sums(struct block *lead, const struct seen *s, const struct tally *y, int count)
{
    for (int i = 1; i < count; i++) {
        SCOPED char *name = run_name(&s[i]);
        struct text t = {0};
        bool counts = s[0].case_count && s[0].cases[0].counts;
        text_addf(&t, "of %d row%s that run %lld also has: %d %s, %d %s", y[i].both, text_s(y[i].both), (long long)s[0].of->run->id,
                  y[i].faster, counts ? "with fewer requested bytes" : "faster", y[i].slower, counts ? "with more" : "slower");
        if (!counts)
            text_addf(&t, ", %d without a significant difference between runs", y[i].both - y[i].faster - y[i].slower);
        const struct {
            int n;
            const char *what;
        } rest[] = {{y[i].failed, "failing now"}, {y[i].mended, "failing no more"}, {y[i].gone, "gone"}, {y[i].added, "new"}};
        for (size_t k = 0; k < sizeof rest / sizeof *rest; k++)
            if (rest[k].n)
                text_addf(&t, "; %d %s", rest[k].n, rest[k].what);
        block_text(lead, NULL, name, &t);
    }
}

/* Drawn in a folder of their own, apart from those of single runs. */
static bool add_history(struct document *d, const struct seen *s, int count, const char *dir, struct error *err)
{
    SCOPED_BY(plots_free) struct plots plots = {0};
    SCOPED char *folder = file_join(dir, "plots/runs");
    bool done = plots_open(&plots, folder, err);
    if (done)
        history(&plots, s, count);
    done = done && plots_draw(&plots, err);
    for (int i = 0; i < plots.count; i++)
        if (plots.items[i].svg) {
            document_heading(d, 2, "History", NULL)->detail = DETAIL_FULL;
            document_figure(d, plots.items[i].svg, plots.items[i].caption, false);
        }
    block_item(document_prose(d, TONE_NOTICE, DETAIL_FULL), NULL, NULL, plots.problem);
    return done;
}

static bool add_all(struct document *d, const struct form *form, const struct seen *s, int count, const char *dir, struct error *err)
{
    SCOPED struct tally *y = xcalloc((size_t)count, sizeof *y);
    SCOPED char *title = text_format("%s: %d runs", s[0].of->run->scenario ? s[0].of->run->scenario : "bench", count);
    int rows = 0, lead;
    bool done = true;
    document_heading(d, 1, title, NULL);
    document_prose(d, TONE_LEAD, DETAIL_ALWAYS);
    lead = d->count - 1; /* its sums are known after the tables */
    block_item(document_prose(d, TONE_SOFT, DETAIL_ALWAYS), NULL, NULL, FAIR);
    if (form->full && count >= HISTORY_LEAST && s[0].case_count && !s[0].cases[0].counts)
        done = add_history(d, s, count, dir, err);
    for (int i = 0; i < count; i++) {
        add_cases(d, s, count, i, y);
        rows += s[i].count;
    }
    add_runs(d, s, count);
    for (int i = 0; i < count && form->full; i++)
        add_pages(d, &s[i], rows > REPORT_ROWS_WHOLE);
    add_sums(&d->blocks[lead], s, y, count);
    return done;
}

bool report_runs(struct text *t, const struct form *form, const struct report_run *runs, int count, const char *dir, struct error *err)
{
    SCOPED_BY(document_free) struct document d = {0};
    struct judge judge;
    SCOPED struct seen *s = xcalloc((size_t)count, sizeof *s);
    judge_open(&judge);
    for (int i = 0; i < count; i++) {
        disassemble(runs[i].rows, runs[i].count);
        see(&s[i], &runs[i], &judge);
    }
    bool done = add_all(&d, form, s, count, dir, err);
    if (done && form->page)
        done = form->page(t, &d, err);
    else if (done)
        form->write(t, &d, &(struct report_style){0});
    for (int i = 0; i < count; i++) {
        for (int k = 0; k < s[i].case_count; k++)
            case_view_free(&s[i].cases[k]);
        free(s[i].cases);
        free(s[i].places);
    }
    judge_close(&judge);
    return done;
}
