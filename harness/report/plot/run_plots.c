/* report/plot/run_plots: plots of a whole timed run: speed-up by layer, each layer's share of a network's time, time over operations,
 * accuracy over speed; each if there is enough data. */
#include "report/view/machine.h"
#include "report/view/number.h"
#include "report/plot/plot.h"
#include "report/limits.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SECTION "Over the layers"
#define LEAST 3      /* points from which a picture is clearer than the table */
#define SERIES_MAX 8 /* the number of colours */

/* A timed case: its baseline and the fastest of the others. */
struct layer {
    const char *id, *layer; /* "image[size=3x1]" */
    const struct row *row;
    char best[192];
    const struct row_time *time, *zero;
};

static int layers_of(const struct run *run, struct row *const *rows, int count, struct layer **out)
{
    int n = 0;
    *out = NULL;
    for (struct case_walk w = {.run = run, .rows = rows, .count = count}; case_next(&w);) {
        const struct view *best = case_best(&w.view), *zero = case_baseline(&w.view);
        if (!best || !zero || row_is_network(zero->row) || zero->row->like_case)
            continue;
        struct layer *l = APPEND(*out, n);
        *l = (struct layer){case_short(w.view.rows[0]), zero->row->layer, zero->row, "", best->time, zero->time};
        SCOPED_TEXT name = {0};
        winner_name(best, &name);
        snprintf(l->best, sizeof l->best, "%s", text_get(&name));
    }
    return n;
}

/* ---- speed-up by layer ---- */

static double or_middle(double end, const struct layer *l)
{
    return end > 0 ? end : l->time->ratio > 0 ? l->time->ratio : l->zero->median_ns / l->time->median_ns;
}

static void speed_up(struct plots *p, const struct layer *all, int count)
{
    struct plot_draft d = {.base = "time.gp", .section = SECTION, .case_index = -1, .width = PLOT_BESIDE};
    int drawn = count < SHOWN_BARS ? count : SHOWN_BARS;
    double least = 0.5, most = 2;
    if (count < 2)
        return;
    for (int i = 0; i < drawn; i++) {
        const struct layer *l = &all[i];
        double x = or_middle(l->time->ratio, l), low = or_middle(l->time->ratio_low, l), high = or_middle(l->time->ratio_high, l);
        char n[NUMBER_TEXT], *name = text_format("%s: %s", l->id, l->best);
        plot_line(&d, name);
        plot_add_number(&d.data, x);
        plot_add_number(&d.data, low);
        plot_add_number(&d.data, high);
        text_addf(&d.data, "\t%d\t\"x %s\"\t\" \"\n", low > 1 ? 1 : high < 1 ? 2 : 3, number_3(x, n));
        least = fmin(least, low);
        most = fmax(most, high);
        free(name);
    }
    text_addf(&d.script, "rows = %d\nmargin = %d\nfloor_ratio = 0\nleast = %.9g\nmost = %.9g\n", drawn, d.longest, least / 1.3, most * 1.5);
    d.height = 76 + 24 * drawn;
    plot_write(p, &d, "Speed-up of the fastest row of each case over the baseline, with 95 %% intervals.%s",
               drawn < count ? " More cases are in the table." : "");
}

/* ---- share of a network's time ---- */

static int64_t runs_in(const struct row *row, const char *network)
{
    int64_t runs = 0;
    for (int i = 0; i < row->network_count; i++)
        if (!strcmp(row->network[i].name, network))
            runs = row->network[i].runs;
    return runs;
}

static bool known_before(const struct layer *all, int i, const char *network)
{
    bool known = false;
    for (int k = 0; k < i; k++)
        known |= all[k].layer && all[i].layer && !strcmp(all[k].layer, all[i].layer) && runs_in(all[k].row, network) > 0;
    return known;
}

/* For one network: each layer weighted by its runs; of a layer with axes, the first case. */
static void share(struct plots *p, const struct layer *all, int count, const char *network)
{
    struct plot_draft d = {.base = "share.gp", .section = SECTION, .case_index = -1, .width = PLOT_BESIDE};
    double whole = 0, fast = 0, most = 0;
    int bars = 0;
    char a[NUMBER_TEXT];
    for (int i = 0; i < count; i++)
        if (!known_before(all, i, network))
            whole += (double)runs_in(all[i].row, network) * all[i].zero->median_ns;
    for (int i = 0; i < count && whole > 0; i++) {
        double runs = (double)runs_in(all[i].row, network), best = fmin(all[i].time->median_ns, all[i].zero->median_ns);
        if (!(runs > 0) || known_before(all, i, network) || bars == SHOWN_BARS)
            continue;
        SCOPED char *name = runs > 1 ? text_format("%s, %.0f runs", all[i].id, runs) : xstrdup(all[i].id);
        plot_line(&d, name);
        plot_add_number(&d.data, 100 * runs * all[i].zero->median_ns / whole);
        plot_add_number(&d.data, 100 * runs * best / whole);
        text_add(&d.data, "\n");
        most = fmax(most, 100 * runs * all[i].zero->median_ns / whole);
        fast += runs * best;
        bars++;
    }
    if (bars < 2) {
        text_free(&d.data);
        return;
    }
    text_addf(&d.script, "rows = %d\nmargin = %d\nmost = %.9g\n", bars, d.longest, most * 1.1);
    d.height = 96 + 30 * bars;
    plot_write(p, &d,
               "Time of network %.80s by layer: each layer's share of the %s that the layers take with the baseline, and the time with the "
               "fastest row of each (%.3g %% in total). The layers were timed one by one, not the network.",
               network, number_time(whole, a), 100 * fast / whole);
}

static void shares(struct plots *p, const struct layer *all, int count)
{
    const char *said[4];
    int n = 0;
    for (int i = 0; i < count; i++)
        for (int k = 0; k < all[i].row->network_count; k++) {
            bool known = n == 4;
            for (int j = 0; j < n; j++)
                known |= !strcmp(said[j], all[i].row->network[k].name);
            if (known)
                continue;
            said[n++] = all[i].row->network[k].name;
            share(p, all, count, said[n - 1]);
        }
}

/* ---- time over operations ---- */

static void over_flop(struct plots *p, const struct run *run, const struct layer *all, int count)
{
    struct plot_draft d = {.base = "flop.gp", .section = SECTION, .case_index = -1, .width = PLOT_BESIDE, .height = 340};
    double left = INFINITY, right = 0, low = INFINITY, high = 0, rate = 0;
    int points = 0;
    for (int i = 0; i < count; i++) {
        double flop = useful_flop(all[i].row);
        if (!(flop > 0))
            continue;
        const struct machine m = machine_of(run, all[i].row);
        double peak = machine_row_flop_s(&m, all[i].row);
        rate = points && rate != peak ? 0 : peak; /* one line for all, or none */
        text_addf(&d.data, "%.9g\t%.9g\t%.9g\n", flop / 1e9, all[i].zero->median_ns / 1e3, all[i].time->median_ns / 1e3);
        left = fmin(left, flop / 1e9);
        right = fmax(right, flop / 1e9);
        low = fmin(low, fmin(all[i].zero->median_ns, all[i].time->median_ns) / 1e3);
        high = fmax(high, fmax(all[i].zero->median_ns, all[i].time->median_ns) / 1e3);
        points++;
    }
    if (points < LEAST || right < 1.5 * left) {
        text_free(&d.data);
        return;
    }
    text_addf(&d.script, "left = %.9g\nright = %.9g\nbottom = %.9g\ntop = %.9g\npeak = %.9g\n", left / 2, right * 2, low / 2, high * 2,
              rate / 1e12);
    plot_write(p, &d, "Time over useful operations, one mark per case; thin lines are equal rates%s.",
               rate > 0 ? ": the distance above the dashed line is the possible gain, unless bytes or the launch are the limit" : "");
}

/* ---- accuracy over speed ---- */

struct mark {
    int series;
    double x, error;
};

struct marks {
    char names[SERIES_MAX][VARIANT_BASE];
    struct mark *items;
    int count, series, left_out;
    double left, right, least, most;
};

static int series_of(struct marks *m, const char *name)
{
    for (int i = 0; i < m->series; i++)
        if (!strcmp(m->names[i], name))
            return i;
    if (m->series == SERIES_MAX)
        return -1;
    snprintf(m->names[m->series], VARIANT_BASE, "%s", name);
    return m->series++;
}

static void mark_add(struct marks *m, const char *name, double x, double error)
{
    struct mark mark = {series_of(m, name), x, error};
    m->left_out += mark.series < 0;
    if (mark.series < 0)
        return;
    m->left = m->count ? fmin(m->left, x) : x;
    m->least = m->count ? fmin(m->least, error) : error;
    m->right = fmax(m->right, x);
    m->most = fmax(m->most, error);
    *APPEND(m->items, m->count) = mark;
}

/* Draws if there are marks enough that differ. limit: the error that is allowed; 0: the error is not a share of it. */
static void marks_plot(struct plots *p, struct marks *m, const char *across, const char *up, double limit, const char *caption)
{
    struct plot_draft d = {.base = "accuracy.gp", .section = "Accuracy", .case_index = -1, .width = PLOT_BESIDE};
    if (m->count >= LEAST && m->series > 1 && m->most > 1.2 * m->least) {
        for (int s = 0; s < m->series; s++) {
            plot_series(&d.data, m->names[s]);
            for (int i = 0; i < m->count; i++)
                if (m->items[i].series == s)
                    text_addf(&d.data, "%.9g\t%.9g\n", m->items[i].x, m->items[i].error);
        }
        text_addf(&d.script, "lines = %d\nlimit = %.9g\nacross = \"%s\"\nup = \"%s\"\n", m->series, limit, across, up);
        text_addf(&d.script, "left = %.9g\nright = %.9g\nbottom = %.9g\ntop = %.9g\n", m->left / 1.2, m->right * 1.2, m->least / 1.5,
                  fmax(1.2 * limit, m->most * 1.5));
        d.height = 300 + 18 * ((m->series + 1) / 2);
        plot_write(p, &d, "%s%s", caption, m->left_out ? " Variants beyond the first eight are in the tables." : "");
    }
    free(m->items);
}

static void accuracy(struct plots *p, const struct run *run, struct row *const *rows, int count)
{
    struct marks m = {.right = 1.25};
    char base[VARIANT_BASE];
    for (struct case_walk w = {.run = run, .rows = rows, .count = count}; case_next(&w);)
        for (int i = 0; i < w.view.count; i++) {
            const struct view *v = &w.view.views[w.view.order[i]];
            double x = v->ranked && w.view.zero && w.view.zero->ranked ? w.view.zero->time->median_ns / v->time->median_ns : NAN;
            if (!isnan(x) && v->row->error_over_bound > 0 && !row_is_network(v->row))
                mark_add(&m, variant_base(v->row, base), x, v->row->error_over_bound);
        }
    m.left = fmin(m.left, 0.8);
    marks_plot(p, &m, "x baseline: right is faster", "error / allowed", 1,
               "Largest error of each verified row over its tolerance (1 is the limit), against its speed-up over the baseline.");
}

/* "sparse_auto threshold=0.001": a row with state by its axes but the last, which changes along the series. */
static void frames_name(const struct row *row, char out[VARIANT_BASE])
{
    variant_base(row, out);
    for (int i = 0; row->state_bytes > 0 && i + 1 < row->axis_count; i++) {
        size_t used = strlen(out);
        snprintf(out + used, VARIANT_BASE - used, " %s=%s", row->axis[i].name, row->axis[i].value);
    }
}

/* What more error buys: of one sequence, over its axes. */
static void accuracy_of_frames(struct plots *p, const struct run *run, struct row *const *rows, int count, const char *layer)
{
    struct marks m = {0};
    char name[VARIANT_BASE];
    for (struct case_walk w = {.run = run, .rows = rows, .count = count}; case_next(&w);)
        for (int i = 0; i < w.view.count; i++) {
            const struct view *v = &w.view.views[w.view.order[i]];
            const struct row_metric *error = row_metric(v->row, -1, "sequence.error_largest");
            if (!error || !(error->value > 0) || !v->ranked || v->row->status != ROW_OK || !text_same(v->row->layer, layer))
                continue;
            frames_name(v->row, name);
            mark_add(&m, name, v->time->median_ns / 1e3, error->value);
        }
    SCOPED char *caption = text_format("Sequence %.80s: the largest error of a frame over the dense result's root mean square, against the "
                                       "time of a frame.",
                                       layer);
    marks_plot(p, &m, "time of a frame, us: left is faster", "error / rms", 0, caption);
}

static void accuracy_of_sequences(struct plots *p, const struct run *run, struct row *const *rows, int count)
{
    const char *before = NULL; /* the rows of a layer follow each other */
    for (int i = 0; i < count; i++) {
        if (!row_metric(rows[i], -1, "sequence.error_largest") || !rows[i]->axis_count || text_same(before, rows[i]->layer))
            continue;
        before = rows[i]->layer;
        accuracy_of_frames(p, run, rows, count, before);
    }
}

void run_plots(struct plots *p, const struct run *run, struct row *const *rows, int count)
{
    SCOPED struct layer *all = NULL;
    int n = layers_of(run, rows, count, &all);
    speed_up(p, all, n);
    shares(p, all, n);
    over_flop(p, run, all, n);
    accuracy(p, run, rows, count);
    accuracy_of_sequences(p, run, rows, count);
}
