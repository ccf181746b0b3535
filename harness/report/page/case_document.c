/* report/page/case_document: see case_document.h. */
#include "report/page/case_document.h"
#include "report/source/fusion.h"
#include "report/view/number.h"
#include "report/view/predict.h"
#include "report/page/row_document.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- the lines above the table ---- */

static bool same_tiles(const struct row *a, const struct row *b)
{
    return a->tile && b->tile && strcmp(a->tile, b->tile) == 0 && a->tile_weight_bytes == b->tile_weight_bytes;
}

/* "8x16 (sparse_tile): 1,102 of 7,200 active, scheduled A 10.4 GFLOP, 1.39 E · by marked inputs 0:6098 1:20 2:14 ...". */
static void tiles_line(const struct case_view *c, int first, struct text *t)
{
    const struct row *row = c->rows[first];
    char a[NUMBER_TEXT], b[NUMBER_TEXT];
    text_addf(t, "%s", row->tile);
    const char *gap = " (", *last = "";
    for (int i = first; i < c->count; i++) {
        const char *name = variant_short(c->rows[i]); /* configurations of one variant are adjacent */
        if (same_tiles(row, c->rows[i]) && strcmp(name, last) != 0) {
            text_addf(t, "%s%s", gap, name);
            gap = ", ";
            last = name;
        }
    }
    text_addf(t, "): %s of %s active", number_count((double)row->tiles_active, a), number_count((double)row->tiles, b));
    if (row->flop_scheduled > 0)
        text_addf(t, ", scheduled A %s", number_si(row->flop_scheduled, "FLOP", a));
    if (row->flop_scheduled > 0 && row->flop_useful > 0)
        text_addf(t, ", %s E", number_3(row->flop_scheduled / row->flop_useful, a));
    text_addf(t, " · by marked inputs %s", row->tile_fill ? row->tile_fill : "?");
    if (row->tile_weight_bytes >= 0)
        text_addf(t, " · filter %s a tile", number_si((double)row->tile_weight_bytes, "B", a));
    double counted = row_value(row, -1, METRIC_EMU "requested_bytes.filter") / (double)row->tiles_active;
    if (row->tile_weight_bytes >= 0 && isfinite(counted))
        text_addf(t, " (counted: %s)", number_si(counted, "B", a));
}

/* One line for each tile and filter traffic that variants declare. */
static void add_tiles(struct block *b, const struct case_view *c)
{
    for (int i = 0; i < c->count; i++) {
        bool said = !c->rows[i]->tile || c->rows[i]->tiles < 0;
        struct text line = {0};
        for (int k = 0; k < i; k++)
            said |= same_tiles(c->rows[i], c->rows[k]);
        if (!said)
            tiles_line(c, i, &line);
        block_text(b, "tiles", NULL, &line);
    }
}

/* Of a device that keeps no time. */
static const char *row_order(const struct case_view *c)
{
    bool stored = false, predicted = false;
    for (int i = 0; i < c->count; i++) {
        stored = stored || c->views[i].stored;
        predicted = predicted || (!c->views[i].stored && c->views[i].predicted.ns > 0);
    }
    return stored && predicted ? "; rows in order of stored time, then those without one in order of predicted time"
           : stored            ? "; rows in order of stored time"
           : predicted         ? "; rows in order of predicted time"
                               : "; rows in scenario order";
}

static void add_head(struct document *d, const struct case_view *c, bool brief)
{
    const struct row *row = c->rows[0];
    struct text conditions = {0}, work = {0};
    document_heading(d, 2, row->case_id, row->work)->anchor = xstrdup(row->case_id ? row->case_id : "?");
    struct block *b = document_prose(d, TONE_SOFT, DETAIL_ALWAYS);
    case_conditions(c, !brief, &conditions);
    text_add(&conditions, c->counts ? row_order(c) : "");
    case_work(c, !brief, &work);
    block_text(b, NULL, NULL, &conditions);
    block_text(b, "work", NULL, &work);
    add_tiles(b, c);
}

/* ---- the list below it ---- */

static void add_infeasible(struct block *list, const struct case_view *c)
{
    struct reason_group *groups;
    int count = reason_groups(c, ROW_INFEASIBLE, &groups), planned = 0;
    for (int i = 0; i < count; i++) {
        block_item(list, "infeasible", NULL, groups[i].reason);
        block_names(list, text_get(&groups[i].names), groups[i].count);
    }
    reason_groups_free(groups, count);
    for (int i = 0; i < c->count; i++) {
        planned += c->rows[i]->status == ROW_PLANNED;
        if (c->rows[i]->status == ROW_PLANNED && c->rows[i]->reason) {
            block_item(list, "left", NULL, c->rows[i]->reason);
            block_names(list, c->rows[i]->id, 1);
        }
    }
    if (planned)
        block_itemf(list, "left", NULL, "%d of %d rows not run yet", planned, c->count);
}

/* Verified rows without a stored or predicted time, by reason. */
static void add_unpredicted(struct block *list, const struct case_view *c)
{
    for (int i = 0; i < c->count && c->counts && c->model; i++) {
        const char *why = c->views[i].predicted.why;
        SCOPED_TEXT names = {0};
        int count = 0;
        bool said = false;
        for (int k = 0; k < c->count && *why && predicted_not(&c->views[i]); k++) {
            const struct view *other = &c->views[k];
            if (!predicted_not(other) || strcmp(other->predicted.why, why))
                continue;
            said = said || k < i;
            text_addf(&names, "%s%s", count++ ? ", " : "", other->name);
        }
        if (!count || said)
            continue;
        block_itemf(list, "no prediction", NULL, "%s", why);
        block_names(list, text_get(&names), count);
    }
}

/* "warm, isolated   cudnn 141 us · sparse_tile 15.2 us (9.26)". */
static void add_mode(struct block *list, const struct case_view *c, const struct row_time *time)
{
    struct text line = {0};
    char a[NUMBER_TEXT], r[NUMBER_TEXT];
    const char *dot = "  ";
    text_addf(&line, "%s, %s", time->load, time->cache);
    for (int j = 0; j < c->count; j++) {
        const struct view *v = &c->views[c->order[j]];
        const struct row_time *other = v->ranked ? row_time(v->row, row_time_mode(time)) : NULL;
        if (other) {
            text_addf(&line, "%s%s %s us", dot, v->name, number_3(other->median_ns / 1e3, a));
            if (other->ratio > 0 && v->rank != 0)
                text_addf(&line, " (x %s)", number_3(other->ratio, r));
            dot = " · ";
        }
    }
    block_text(list, "also", NULL, &line);
}

/* All modes except the headline and the mode that is a column of the table, in the order in which the rows first have them. */
static void add_modes(struct block *list, const struct case_view *c)
{
    const struct row_time *said[8];
    int count = 0;
    for (int i = 0; i < c->count && !c->counts; i++) {
        for (int k = 0; k < c->rows[i]->time_count && count < 8; k++) {
            const struct row_time *time = &c->rows[i]->times[k];
            bool known = time->step != -1 || row_time_mode(time) == c->mode ||
                         (mode_is_sustained(row_time_mode(time)) && !mode_is_sustained(c->mode));
            for (int m = 0; m < count; m++)
                known |= row_time_mode(said[m]) == row_time_mode(time);
            if (!known) {
                said[count++] = time;
                add_mode(list, c, time);
            }
        }
    }
}

/* Columns that a variant declares itself (`columns:` in its head); in brief forms without its tiles, which the table has. */
static void add_own_columns(struct block *list, const struct case_view *c, bool brief)
{
    for (int i = 0; i < c->count; i++) {
        struct text line = {0};
        char a[NUMBER_TEXT];
        for (int k = 0; k < c->rows[i]->metric_count; k++) {
            const struct row_metric *m = &c->rows[i]->metrics[k];
            bool tiles = brief && c->rows[i]->tile && m->value == (double)c->rows[i]->tiles_active && !strcmp(m->name, "tiles_active");
            if (m->step == -1 && m->line == 0 && strcmp(m->source, "variant") == 0 && !tiles) {
                text_addf(&line, "%s%s %s", line.len ? ", " : "", m->name,
                          m->value == floor(m->value) ? number_count(m->value, a) : number_3(m->value, a));
            }
        }
        if (line.len && row_ran_part(c->rows[i]))
            text_add(&line, " (in the part that was verified)");
        if (line.len)
            block_text(list, "own", c->views[i].name, &line);
    }
}

void case_options(struct text *t, const struct run *run, bool variants, bool out)
{
    if (run && variants && run->asked_variants)
        text_addf(t, " %s", run->asked_variants);
    if (run && variants && run->asked_device) {
        text_add(t, " -d ");
        text_add_word(t, run->asked_device);
    }
    if (run && out && run->asked_out) {
        text_add(t, " -o ");
        text_add_word(t, run->asked_out);
    }
}

/* The next command: for a failure, else for the fastest row of the user's own; in brief forms only for a failure. */
static void add_next(struct block *list, const struct case_view *c, bool brief)
{
    const struct view *failed = NULL, *best = case_best(c);
    for (int i = 0; i < c->count; i++) {
        const struct view *v = &c->views[i];
        if (v->row->status == ROW_WRONG && !(v->row->dump && v->row->dump[0]) && !failed)
            failed = v;
    }
    const struct view *v = failed ? failed : brief ? NULL : best;
    if (!v)
        return;
    char base[VARIANT_BASE];
    const char *name = variant_base(v->row, base); /* the command line takes the variant's name, without the steps that complete it */
    const char *layer = v->row->layer ? v->row->layer : "LAYER",
               *scenario = c->run && c->run->scenario_path ? c->run->scenario_path : "SCENARIO";
    struct text line = {0}, row = {0};
    int alike = 0; /* rows of the case that are called so */
    for (int i = 0; i < c->count; i++) {
        char other[VARIANT_BASE];
        alike += !strcmp(variant_base(c->rows[i], other), name);
    }
    if (alike > 1 || (v->row->axes && v->row->axes[0])) /* several rows have these words */
        text_addf(&row, "'%s'", v->row->id);
    else
        text_addf(&row, "%s %s", layer, name);
    if (failed) {
        text_add(&line, "bench run ");
        text_add_word(&line, scenario);
        text_addf(&line, " --layer %s --only %s --dump", layer, name);
        case_options(&line, c->run, true, true);
    } else {
        text_addf(&line, "bench why %s", text_get(&row));
        case_options(&line, c->run, false, true);
        text_add(&line, " · bench exec ");
        text_add_word(&line, scenario);
        text_addf(&line, " %s", text_get(&row));
        case_options(&line, c->run, true, false);
        text_add(&line, " -- ncu --set full");
    }
    block_text(list, "next", NULL, &line);
    text_free(&row);
}

/* ---- what is folded away below it ---- */

/* A page for every row, in the order of the table, then for rows that did not run. */
static void add_rows(struct document *d, const struct case_view *c, bool brief)
{
    document_heading(d, 3, "Every row", NULL)->detail = DETAIL_FULL;
    for (int i = 0; i < c->count; i++)
        row_document(d, c, &c->views[c->order[i]], brief);
}

static void add_figures(struct document *d, const struct case_view *c, const struct plots *plots, bool aside)
{
    bool any = false;
    for (int i = 0; plots && i < plots->count; i++) {
        const struct plot *p = &plots->items[i];
        if (p->case_index != c->rows[0]->case_index || p->aside != aside || !p->svg)
            continue;
        if (aside && !any)
            document_fold(d, "Rounds and parameters");
        document_figure(d, p->svg, p->caption, true);
        any = true;
    }
    if (aside && any)
        document_end(d);
}

/* With very many rows, a line does not repeat what the row's page and the variant's first line say. */
static void make_brief(struct table *t)
{
    const char *before = "";
    for (int i = 0; i < t->line_count; i++)
        for (int k = 0; k < t->column_count; k++) {
            struct cell *cell = &t->cells[i * t->column_count + k];
            bool name = !strcmp(t->columns[k].key, "name"), said = !name || (cell->about && !strcmp(before, cell->about));
            before = name && cell->about && !said ? cell->about : before;
            if (said) {
                free(cell->about);
                cell->about = NULL;
            }
        }
}

void case_document_common(struct document *d, const struct case_view *first)
{
    struct text t = {0};
    document_heading(d, 2, "The cases", NULL);
    struct block *b = document_prose(d, TONE_SOFT, DETAIL_ALWAYS);
    case_machine(first, &t);
    if (first->machine.measured)
        text_addf(&t, " · ceilings measured %.10s", first->machine.ceilings.date);
    block_text(b, NULL, NULL, &t);
    text_add(&t, "With this many rows the page lists only the verdicts, the largest gain first. For a row (CASE/VARIANT): bench why ROW");
    case_options(&t, first->run, false, true);
    text_add(&t, "; all counters: bench show ROW; run it alone: bench exec ");
    text_add_word(&t, first->run && first->run->scenario_path ? first->run->scenario_path : "SCENARIO");
    text_add(&t, " ROW");
    case_options(&t, first->run, true, false);
    text_add(&t, " -- ncu --set full");
    block_text(b, NULL, NULL, &t);
}

void case_document_short(struct document *d, const struct case_view *c)
{
    document_heading(d, 2, c->rows[0]->case_id, c->rows[0]->work);
    document_table(d, case_table(c), DETAIL_ALWAYS);
}

/* Where the times of a case come from that was only counted, and how far they may be off. */
static void add_sources(struct document *d, const struct case_view *c)
{
    struct predicted_sum sum = {0};
    SCOPED_TEXT t = {0};
    predicted_add(&sum, c);
    if (predicted_sum_text(&sum, &t))
        block_text(document_prose(d, TONE_SOFT, DETAIL_ALWAYS), NULL, NULL, &t);
}

void case_document(struct document *d, const struct case_view *c, const struct plots *plots)
{
    bool brief = plots && plots->brief;
    struct table *table = case_table(c);
    add_head(d, c, brief);
    if (brief)
        make_brief(table);
    document_table(d, table, DETAIL_ALWAYS);
    add_sources(d, c);
    case_limits(d, c, brief);
    add_figures(d, c, plots, false);
    add_figures(d, c, plots, true);
    struct block *list = document_list(d, DETAIL_ALWAYS);
    add_unpredicted(list, c);
    add_infeasible(list, c);
    add_modes(list, c);
    case_ablations(c, list);
    add_own_columns(list, c, brief);
    fusion_steps(c, list);
    case_notes(c, list);
    case_why(c, list, brief);
    add_next(list, c, brief);
    if (!brief)
        fusion_table(d, c);
    add_rows(d, c, brief);
    if (!brief)
        case_counters(d, c);
}
