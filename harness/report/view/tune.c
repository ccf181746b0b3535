/* What `bench tune` found. Boda's three columns: one configuration for all layers, the best of each, and the library. */
#include "report/view/number.h"
#include "report/form/terminal.h"
#include "report/view/tune.h"
#include "report/limits.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REASON_BYTES 240 /* of a compiler's log, say */

/* The rows of one variant on one layer. */
struct searched {
    struct row *const *rows;
    int count;
    const struct row *best, *library;
    int timed, verified, tied, spilled, twins, infeasible, wrong;
};
/* A configuration and how it does over all layers. */
struct everywhere {
    const char *params;
    int layers;
    double sum_ns;
};

static const struct row_time *time_of(const struct row *row)
{
    return row && (row->status == ROW_OK || row->status == ROW_FOIL) ? row_time(row, MODE_COLD) : NULL;
}

static const char *params_of(const struct row *row)
{
    return row->params ? row->params : "";
}

static bool is_twin(const struct row *row)
{
    return row->status == ROW_INFEASIBLE && row->twin;
}

/* The row that ran for a configuration: its own, or that of the one with the same launches. NULL: it did not run on this layer. */
static const struct row *ran(const struct searched *s, const char *params)
{
    const struct row *found = NULL;
    for (int i = 0; i < s->count && !found; i++)
        found = strcmp(params_of(s->rows[i]), params) ? NULL : s->rows[i];
    for (int i = 0; found && is_twin(found) && i < s->count; i++)
        if (s->rows[i]->id && !strcmp(s->rows[i]->id, found->twin)) {
            found = s->rows[i];
            break;
        }
    return found && !is_twin(found) && time_of(found) ? found : NULL;
}

static void look_at(struct searched *s, struct row *const *all, int all_count)
{
    for (int i = 0; i < all_count; i++) { /* the fastest of the rows that were not searched */
        const struct row_time *t = time_of(all[i]), *best = time_of(s->library);
        if (t && !row_metric(all[i], -1, "tune.best_of") && !row_metric(all[i], -1, "tune.tied_with_best") &&
            !row_metric(all[i], -1, "tune.dropped_after") && (!best || t->median_ns < best->median_ns))
            s->library = all[i];
    }
    for (int i = 0; i < s->count; i++) {
        const struct row *row = s->rows[i];
        s->timed += time_of(row) != NULL;
        s->verified += row->status == ROW_OK;
        s->twins += is_twin(row);
        s->spilled += row->status == ROW_INFEASIBLE && row->step_count > 0 && !is_twin(row); /* compiled, then refused */
        s->infeasible += row->status == ROW_INFEASIBLE && row->step_count == 0;
        s->wrong += row_status_failed(row->status);
        if (time_of(row) && row_metric(row, -1, "tune.best_of"))
            s->best = row;
        s->tied += time_of(row) && row_metric(row, -1, "tune.tied_with_best");
    }
}

/* Best single configuration: runs on the most layers; ties by total time, weighted by how often each layer runs. */
static struct everywhere one_for_all(const struct searched *layers, int count)
{
    struct everywhere best = {0};
    for (int l = 0; l < count; l++)
        for (int i = 0; i < layers[l].count; i++) {
            struct everywhere e = {.params = params_of(layers[l].rows[i])};
            for (int k = 0; k < count; k++) {
                const struct row *row = ran(&layers[k], e.params);
                e.layers += row != NULL;
                e.sum_ns += row ? (double)row->repeat * time_of(row)->median_ns : 0;
            }
            if (e.layers > best.layers || (e.layers && e.layers == best.layers && e.sum_ns < best.sum_ns))
                best = e;
        }
    return best;
}

static void time_cells(struct table *t, const struct row *row)
{
    char value[NUMBER_TEXT], spread[NUMBER_TEXT], x[NUMBER_TEXT];
    const struct row_time *time = time_of(row);
    if (!time) {
        table_cell(t, PAINT_DIM, "-");
        table_absent(t, 1);
        return;
    }
    number_pair(time->median_ns / 1e3, (time->high_ns - time->low_ns) / 2e3, value, spread);
    table_cell(t, PAINT_NONE, "%s", value);
    bool faster = isfinite(time->ratio_low) && time->ratio_low > 1;
    table_cell(t, faster ? PAINT_GOOD : PAINT_NONE, "%s", isfinite(time->ratio) ? number_3(time->ratio, x) : "");
}

static void layer_line(struct table *t, const struct searched *s, const char *all)
{
    const struct row *any = s->rows[0];
    char value[NUMBER_TEXT], spread[NUMBER_TEXT];
    const struct row_time *library = time_of(s->library);
    table_row(t, LINE_PLAIN);
    table_cell(t, PAINT_NONE, "%s%s%s", any->layer, any->axes && any->axes[0] ? " " : "", any->axes ? any->axes : "");
    if (library)
        number_pair(library->median_ns / 1e3, (library->high_ns - library->low_ns) / 2e3, value, spread);
    table_cell(t, PAINT_NONE, "%s", library ? value : "-");
    time_cells(t, ran(s, all));
    time_cells(t, s->best);
    table_cell(t, PAINT_NONE, "%d", s->timed);
    table_cell(t, PAINT_NONE, "%d", s->best ? s->tied + 1 : 0);
    table_cell(t, PAINT_NONE, "%s", s->best ? params_of(s->best) : "none was right");
}

static void sum_line(struct table *t, const struct searched *layers, int count, const char *all, int *summed)
{
    double library = 0, one = 0, best = 0;
    char text[NUMBER_TEXT];
    *summed = 0;
    for (int l = 0; l < count; l++) {
        const struct row *row = ran(&layers[l], all);
        double times = (double)layers[l].rows[0]->repeat;
        if (!row || !layers[l].best || !time_of(layers[l].library))
            continue;
        ++*summed;
        library += times * time_of(layers[l].library)->median_ns;
        one += times * time_of(row)->median_ns;
        best += times * time_of(layers[l].best)->median_ns;
    }
    if (!*summed)
        return;
    table_row(t, LINE_PLAIN);
    table_cell(t, PAINT_BOLD, "sum");
    table_cell(t, PAINT_BOLD, "%s", number_3(library / 1e3, text));
    table_cell(t, PAINT_BOLD, "%s", number_3(one / 1e3, text));
    table_cell(t, PAINT_BOLD, "%s", number_3(library / one, text));
    table_cell(t, PAINT_BOLD, "%s", number_3(best / 1e3, text));
    table_cell(t, PAINT_BOLD, "%s", number_3(library / best, text));
}

static void counts_line(struct block *b, const struct searched *layers, int count)
{
    int all = 0, verified = 0, timed = 0, infeasible = 0, spilled = 0, twins = 0, wrong = 0;
    for (int l = 0; l < count; l++) {
        all += layers[l].count;
        timed += layers[l].timed;
        verified += layers[l].verified;
        infeasible += layers[l].infeasible;
        spilled += layers[l].spilled;
        twins += layers[l].twins;
        wrong += layers[l].wrong;
    }
    block_itemf(b, NULL, NULL,
                "%d configurations on %d layer%s: %d right, %d of them timed; %d violate the variant's conditions, %d spill or do not fit, "
                "%d duplicate another, %d failed",
                all, count, text_s(count), verified, timed, infeasible, spilled, twins, wrong);
}

/* The configurations that failed, each with its layer and reason: the first few, and how many more. */
static void failed_list(struct document *d, const struct searched *layers, int count)
{
    struct block *list = document_list(d, DETAIL_ALWAYS);
    int shown = 0, more = 0;
    for (int l = 0; l < count; l++)
        for (int i = 0; i < layers[l].count; i++) {
            const struct row *row = layers[l].rows[i];
            if (!row_status_failed(row->status))
                continue;
            SCOPED char *reason = xstrndup(row->reason ? row->reason : "", REASON_BYTES);
            text_one_line(reason);
            if (shown++ < SHOWN_ITEMS)
                block_itemf(list, "failed", NULL, "%s on %s: %s%s%s", params_of(row), row->case_name ? row->case_name : "",
                            row_status_name(row->status), *reason ? ": " : "", reason);
            else
                more++;
        }
    if (more)
        block_itemf(list, "failed", NULL, "and %d more: bench show lists them", more);
}

static void layers_table(struct document *d, const struct searched *layers, int count, const struct everywhere *all, const char *library)
{
    struct table *table = table_new();
    SCOPED char *x = text_format("x %s", library), *us = text_format("%s us", library);
    const char *const headings[] = {"layer", us, "one for all us", x, "best us", x, "timed", "as good", "best configuration"};
    static const char *const keys[] = {"layer", "library", "one", "one_x", "best", "best_x", "timed", "tied", "configuration"};
    int summed;
    for (int i = 0; i < 9; i++)
        table_column(table, keys[i], headings[i], i == 0 || i == 8 ? ALIGN_LEFT : i < 6 ? ALIGN_POINT : ALIGN_RIGHT);
    for (int l = 0; l < count; l++)
        layer_line(table, &layers[l], all->params);
    sum_line(table, layers, count, all->params, &summed);
    document_table(d, table, DETAIL_ALWAYS);
    struct block *list = document_list(d, DETAIL_ALWAYS);
    block_itemf(list, "one for all", NULL, "%s, right on %d of %d layers", all->params, all->layers, count);
    if (summed && summed < count)
        block_itemf(list, "sum", NULL, "total of the %d layers where all three have a time, weighted by the number of runs", summed);
}

static void one_table(struct document *d, const struct run *run, const struct searched *layers, int count)
{
    struct everywhere all = one_for_all(layers, count);
    char base[VARIANT_BASE], name[64] = "";
    for (int l = count - 1; l >= 0; l--)
        if (layers[l].library)
            snprintf(name, sizeof name, "%.50s", variant_base(layers[l].library, base));
    SCOPED char *title = text_format("tune  %s: %s on %s \302\267 %s%s%s", run->scenario, variant_base(layers[0].rows[0], base),
                                     run->device_about ? run->device_about : run->device, run->compiler ? run->compiler : "",
                                     name[0] ? " \302\267 isolated, cold, interleaved with " : "", name);
    document_heading(d, 3, title, NULL);
    counts_line(document_prose(d, TONE_PLAIN, DETAIL_ALWAYS), layers, count);
    failed_list(d, layers, count);
    if (all.layers)
        layers_table(d, layers, count, &all, name[0] ? name : "baseline");
}

/* Was it searched? Its configurations raced or were refused by a search; a search without times is known by its command. */
static bool was_searched(const struct run *run, struct row *const *rows, int count)
{
    if (count > 1 && run->verb && !strcmp(run->verb, "tune"))
        return true;
    return ANY_OF(i, count, row_metric(rows[i], -1, "tune.best_of") || is_twin(rows[i]));
}

static int configurations_of(struct row *const *rows, int count, const char *variant, int *first)
{
    int n = 0;
    char base[VARIANT_BASE];
    for (int i = 0; i < count; i++)
        if (!strcmp(variant_base(rows[i], base), variant)) {
            if (!n++)
                *first = i;
        } else if (n) {
            break;
        }
    return n;
}

static void variant_table(struct document *d, const struct run *run, struct row *const *rows, int count, const char *variant)
{
    SCOPED struct searched *layers = NULL;
    int found = 0;
    bool any = false;
    for (int i = 0, end; i < count; i = end) {
        int first = 0;
        end = case_end(rows, count, i);
        struct searched s = {.count = configurations_of(rows + i, end - i, variant, &first)};
        if (!s.count)
            continue;
        s.rows = rows + i + first;
        any = any || was_searched(run, s.rows, s.count);
        look_at(&s, rows + i, end - i);
        *APPEND(layers, found) = s;
    }
    if (any)
        one_table(d, run, layers, found);
}

void tune_document(struct document *d, const struct run *run, struct row *const *rows, int count)
{
    char(*done)[VARIANT_BASE] = NULL, base[VARIANT_BASE];
    int done_count = 0;
    for (int i = 0; i < count; i++) {
        int k = 0;
        variant_base(rows[i], base);
        while (k < done_count && strcmp(done[k], base))
            k++;
        if (k == done_count) {
            variant_table(d, run, rows, count, base);
            memcpy(*APPEND(done, done_count), base, sizeof base);
        }
    }
    free(done);
}

void report_wisdom(struct text *t, const struct wisdom *list, int count, const struct report_style *style)
{
    struct table *table = table_new();
    static const char *const headings[] = {"variant", "configuration", "us", "x baseline", "tuned", "chip", "compiler", "layer"};
    for (size_t i = 0; i < sizeof headings / sizeof *headings; i++)
        table_column(table, headings[i], headings[i], i == 2 || i == 3 ? ALIGN_POINT : ALIGN_LEFT);
    for (int i = 0; i < count; i++) {
        const struct wisdom *w = &list[i];
        char value[NUMBER_TEXT], spread[NUMBER_TEXT], x[NUMBER_TEXT];
        number_pair(w->median_ns / 1e3, (w->high_ns - w->low_ns) / 2e3, value, spread);
        table_row(table, LINE_PLAIN);
        table_cell(table, PAINT_NONE, "%s", w->variant ? w->variant : "");
        table_cell(table, PAINT_BOLD, "%s", w->params ? w->params : "");
        table_cell(table, PAINT_NONE, "%s", value);
        table_cell(table, PAINT_NONE, "%s", number_3(w->ratio, x));
        table_cell(table, PAINT_NONE, "%.10s", w->tuned);
        table_cell(table, PAINT_NONE, "%s", w->chip ? w->chip : "");
        table_cell(table, PAINT_NONE, "%s", w->compiler ? w->compiler : "");
        table_cell(table, PAINT_NONE, "%s", w->work ? w->work : "");
    }
    terminal_table(t, table, style);
    table_free(table);
}
