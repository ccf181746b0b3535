/* report/summary: see summary.h. */
#include "report/summary.h"
#include "report/number.h"
#include "report/table.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Distinct variant[params] among the rows of one status. */
static int points_of(struct row *const *rows, int count, enum row_status status)
{
    int points = 0;
    for (int i = 0; i < count; i++) {
        bool known = rows[i]->status != status;
        for (int j = 0; j < i && !known; j++) {
            known = rows[j]->status == status && rows[j]->variant && rows[i]->variant && strcmp(rows[j]->variant, rows[i]->variant) == 0 &&
                    strcmp(rows[j]->params ? rows[j]->params : "", rows[i]->params ? rows[i]->params : "") == 0;
        }
        points += !known;
    }
    return points;
}

void summary_counts(struct text *t, struct row *const *rows, int count)
{
    static const char *const words[ROW_STATUS_COUNT] = {
        [ROW_PLANNED] = "not run",       [ROW_OK] = "verified",     [ROW_FOIL] = "baseline", [ROW_WRONG] = "wrong",
        [ROW_UNSAFE] = "unsafe",         [ROW_CRASHED] = "crashed", [ROW_HUNG] = "hung",     [ROW_BROKEN] = "broken",
        [ROW_INFEASIBLE] = "infeasible", [ROW_SKIPPED] = "skipped",
    };
    static const enum row_status order[] = {ROW_OK,   ROW_FOIL,   ROW_WRONG,      ROW_UNSAFE,  ROW_CRASHED,
                                            ROW_HUNG, ROW_BROKEN, ROW_INFEASIBLE, ROW_SKIPPED, ROW_PLANNED};
    int by[ROW_STATUS_COUNT] = {0}, unexplained = 0;
    for (int i = 0; i < count; i++) {
        enum row_status s = rows[i]->status;
        by[s]++;
        unexplained += s != ROW_OK && s != ROW_FOIL && s != ROW_PLANNED && !(rows[i]->reason && rows[i]->reason[0]);
    }
    text_addf(t, "%d rows: ", count);
    for (size_t i = 0; i < sizeof order / sizeof order[0]; i++) {
        enum row_status s = order[i];
        if (!by[s] && s != ROW_OK) {
            continue;
        }
        text_addf(t, "%d %s", by[s], words[s]);
        if (s == ROW_WRONG || s == ROW_UNSAFE || s == ROW_CRASHED || s == ROW_HUNG || s == ROW_BROKEN) {
            int points = points_of(rows, count, s);
            text_addf(t, " (%d point%s)", points, points == 1 ? "" : "s");
        }
        text_add(t, ", ");
    }
    text_addf(t, "%d without a reason", unexplained);
}

void report_summary(struct text *t, const struct run *run, struct row *const *rows, int count, double seconds, int exit_code,
                    const struct report_style *style)
{
    char wall[NUMBER_TEXT];
    struct text line = {0};
    (void)run;
    summary_counts(&line, rows, count);
    if (seconds > 0) { /* a stored run is shown without a wall time */
        text_addf(&line, "   %s", number_duration(seconds, wall));
    }
    text_addf(&line, "   exit %d", exit_code);
    text_paint(t, exit_code ? PAINT_BAD : PAINT_GOOD, style);
    text_add_wrapped(t, text_get(&line), 0, TEXT_LABEL_COLUMNS, style);
    text_paint(t, PAINT_NONE, style);
    text_add(t, "\n");
    text_free(&line);
}

/* ---- the network ---- */

/* A layer of the network: its first case without a mask. */
struct layer_case {
    const char *layer;
    int64_t repeat;
    struct case_view view;
};

static int find_layers(const struct run *run, struct row *const *rows, int count, struct layer_case **out, struct text *missing)
{
    int n = 0;
    *out = NULL;
    for (int i = 0, end; i < count; i = end) {
        end = case_end(rows, count, i);
        const struct row *row = rows[i];
        int at = 0;
        while (at < n && strcmp((*out)[at].layer, row->layer ? row->layer : "") != 0) {
            at++;
        }
        if (at < n && (*out)[at].view.count) {
            continue; /* its first dense case is known */
        }
        if (at == n) {
            *out = xrealloc(*out, (size_t)(n + 1) * sizeof **out);
            (*out)[n++] = (struct layer_case){.layer = row->layer ? row->layer : "", .repeat = row->repeat};
        }
        if (row->density_in < 0 && row->density_out < 0) {
            case_view_make(&(*out)[at].view, run, rows + i, end - i);
        }
    }
    for (int i = 0; i < n; i++) {
        if (!(*out)[i].view.count || !(*out)[i].view.zero || !(*out)[i].view.zero->ranked) {
            text_addf(missing, "%s%s", missing->len ? ", " : "", (*out)[i].layer);
        }
    }
    return n;
}

/* The fastest ranked view of a variant (NULL: of any) on a layer. */
static const struct view *fastest(const struct layer_case *l, const char *variant)
{
    const struct view *best = NULL;
    for (int i = 0; i < l->view.count; i++) {
        const struct view *v = &l->view.views[i];
        if (v->ranked && (!variant || strcmp(variant_short(v->row), variant) == 0) &&
            (!best || v->time->median_ns < best->time->median_ns)) {
            best = v;
        }
    }
    return best;
}

static void add_sum(struct network *n, const struct layer_case *layers, const char *variant)
{
    n->sums = xrealloc(n->sums, (size_t)(n->count + 1) * sizeof *n->sums);
    struct network_sum *s = &n->sums[n->count++];
    *s = (struct network_sum){.all_zero = true};
    snprintf(s->name, sizeof s->name, "%s", variant ? variant : "");
    for (int i = 0; i < n->layers; i++) {
        const struct view *v = fastest(&layers[i], variant);
        if (v) {
            s->layers++;
            s->ns += v->time->median_ns * (double)layers[i].repeat;
            s->all_zero &= v->rank == 0;
        }
    }
}

/* "reg_tiled on head, tail; cudnn on body": who is the fastest where. */
static void add_choice(struct text *t, const struct network *n, const struct layer_case *layers)
{
    for (int i = 0; i < n->layers; i++) {
        const char *name = variant_short(fastest(&layers[i], NULL)->row);
        bool said = false;
        for (int k = 0; k < i; k++) {
            said |= strcmp(variant_short(fastest(&layers[k], NULL)->row), name) == 0;
        }
        for (int k = i; k < n->layers && !said; k++) {
            if (k == i) {
                text_addf(t, "%s%s on %s", t->len ? "; " : "", name, layers[k].layer);
            } else if (strcmp(variant_short(fastest(&layers[k], NULL)->row), name) == 0) {
                text_addf(t, ", %s", layers[k].layer);
            }
        }
    }
}

static int by_time(const void *a, const void *b)
{
    const struct network_sum *x = a, *y = b;
    if (x->layers != y->layers) {
        return x->layers > y->layers ? -1 : 1;
    }
    return x->ns < y->ns ? -1 : x->ns > y->ns;
}

bool network_make(struct network *n, const struct run *run, struct row *const *rows, int count)
{
    *n = (struct network){.zero = "row 0"};
    struct layer_case *layers;
    int timed = 0;
    n->layers = find_layers(run, rows, count, &layers, &n->missing);
    for (int i = 0; i < n->layers; i++) {
        n->launches += layers[i].repeat;
        timed += layers[i].view.zero && layers[i].view.zero->ranked;
    }
    for (int i = 0; i < count; i++) {
        if (rows[i]->row_index == 0) {
            n->zero = variant_short(rows[i]);
        }
    }
    bool whole = n->launches > 1 && n->layers > 0 && !n->missing.len;
    if (whole) {
        add_sum(n, layers, n->zero);
        add_sum(n, layers, NULL);
        add_choice(&n->sums[1].choice, n, layers); /* whole: every layer has one */
        for (int i = 0; i < count; i++) {
            bool known = false;
            for (int k = 0; k < n->count; k++) {
                known |= strcmp(n->sums[k].name, variant_short(rows[i])) == 0;
            }
            if (!known) {
                add_sum(n, layers, variant_short(rows[i]));
            }
        }
        qsort(n->sums + 2, (size_t)(n->count - 2), sizeof *n->sums, by_time);
    }
    for (int i = 0; i < n->layers; i++) {
        case_view_free(&layers[i].view);
    }
    free(layers);
    return whole || (n->launches > 1 && timed > 0);
}

void network_free(struct network *n)
{
    for (int i = 0; i < n->count; i++) {
        text_free(&n->sums[i].choice);
    }
    free(n->sums);
    text_free(&n->missing);
}

void network_lines(const struct network *n, struct text *t)
{
    char a[NUMBER_TEXT], b[NUMBER_TEXT];
    if (n->missing.len) {
        text_addf(t, "no sum: no dense, timed %s for %s\n", n->zero, text_get(&n->missing));
        return;
    }
    for (int i = 0; i < n->count; i++) {
        const struct network_sum *s = &n->sums[i];
        if (i == 0) {
            text_addf(t, "%lld layers dense, %s: %s sum of isolated layers\n", (long long)n->launches, s->name, number_time(s->ns, a));
        } else if (i == 1 && s->all_zero) {
            text_addf(t, "fastest verified of each: %s everywhere\n", n->zero);
        } else if (i == 1) {
            text_addf(t, "fastest verified of each: %s, %s x %s: %s\n", number_time(s->ns, a), number_3(n->sums[0].ns / s->ns, b), n->zero,
                      text_get(&s->choice));
        } else if (s->layers == n->layers) {
            text_addf(t, "%s: %s, %s x %s\n", s->name, number_time(s->ns, a), number_3(n->sums[0].ns / s->ns, b), n->zero);
        } else if (s->layers > 0) {
            text_addf(t, "%s: on %d of %d layers only, so no sum\n", s->name, s->layers, n->layers);
        }
    }
}

void report_network(struct text *t, const struct run *run, struct row *const *rows, int count, const struct report_style *style)
{
    struct network n;
    if (network_make(&n, run, rows, count)) {
        struct text lines = {0};
        network_lines(&n, &lines);
        const char *label = "network";
        for (const char *p = text_get(&lines); *p;) {
            size_t end = strcspn(p, "\n");
            char *line = xstrndup(p, end);
            text_add_labelled(t, label, line, style);
            label = "       ";
            free(line);
            p += end + (p[end] == '\n');
        }
        text_free(&lines);
    }
    network_free(&n);
}
