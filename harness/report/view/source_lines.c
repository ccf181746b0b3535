/* report/view/source_lines: see source_lines.h. */
#include "report/view/source_lines.h"
#include "base/file.h"
#include "base/order.h"
#include "report/view/number.h"
#include "report/view/verdict.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

double line_value(const struct source_line *l, enum metric metric)
{
    return l->values[metric] > 0 ? l->values[metric] : 0;
}

static bool is_sample(const struct row_metric *m)
{
    return metric_is(m, FAMILY_SAMPLES);
}

ORDER_POINTERS(by_step_and_line, struct row_metric,
               x->step != y->step   ? x->step - y->step
               : x->line != y->line ? x->line - y->line
                                    : (x > y) - (x < y))

static void source_line_take(struct source_line *l, const struct row_metric *m)
{
    for (int k = 0; k < METRIC_COUNT; k++)
        if (!strcmp(m->name, metric_names[k]))
            l->values[k] = m->value;
    if (!is_sample(m))
        return;
    l->samples += m->value;
    for (int k = 0; m && k < LINE_WAITS; k++)
        if (!l->waits[k] || m->value > l->waits[k]->value) {
            const struct row_metric *next = l->waits[k];
            l->waits[k] = m;
            m = next;
        }
}

int source_lines(const struct row *row, int step, struct source_line **out)
{
    SCOPED const struct row_metric **metrics = xcalloc((size_t)row->metric_count + 1, sizeof *metrics);
    int count = 0, found = 0;
    *out = NULL;
    for (int i = 0; i < row->metric_count; i++) {
        const struct row_metric *m = &row->metrics[i];
        if ((step == EVERY_STEP || m->step == step) && (m->line || is_sample(m) || metric_is(m, FAMILY_LINE)))
            metrics[count++] = m;
    }
    qsort(metrics, (size_t)count, sizeof *metrics, by_step_and_line);
    for (int i = 0; i < count; i++) {
        const struct row_metric *m = metrics[i];
        if (!found || (*out)[found - 1].step != m->step || (*out)[found - 1].line != m->line) {
            struct source_line *l = APPEND(*out, found);
            *l = (struct source_line){.step = m->step, .line = m->line};
            for (int k = 0; k < METRIC_COUNT; k++)
                l->values[k] = NAN;
        }
        source_line_take(&(*out)[found - 1], m);
    }
    return found;
}

int source_lines_by(const struct row *row, int step, double (*weight)(const struct source_line *), struct source_line **out)
{
    int count = source_lines(row, step, out), kept = 0;
    for (int i = 0; i < count; i++) {
        struct source_line l = (*out)[i];
        int at = kept;
        if (!(weight(&l) > 0))
            continue;
        for (kept++; at && weight(&(*out)[at - 1]) < weight(&l); at--)
            (*out)[at] = (*out)[at - 1];
        (*out)[at] = l;
    }
    return kept;
}

/* ---- what the rules say ---- */

static const char *file_of(const struct row *row, int step)
{
    if (step < 0 || step >= row->step_count || !row->steps[step].file[0])
        return file_base(row->variant ? row->variant : "?");
    return file_base(row->steps[step].file);
}

/* Takes the sentence. */
static void line_findings_put(struct line_findings *all, const struct view *v, const struct source_line *l, double weight, char *says)
{
    struct line_finding f = {l->step, l->line, text_format("%s:%d", file_of(v->row, l->step), l->line), says, weight, row_is_of_op(v->row)};
    int at = all->count;
    APPEND(all->items, all->count);
    for (; at && (f.shipped != all->items[at - 1].shipped ? !f.shipped : weight > all->items[at - 1].weight); at--)
        all->items[at] = all->items[at - 1];
    all->items[at] = f;
}

/* emu: global sectors and shared wavefronts beyond what the line's bytes need, for loads and stores. */
static void look_at_line(struct line_findings *all, const struct case_view *c, const struct view *v, const struct source_line *l)
{
    static const char *const sectors[] = {"load", "store"}, *const accesses[] = {"shared loads", "shared stores"};
    char a[NUMBER_TEXT], b[NUMBER_TEXT], d[NUMBER_TEXT];
    for (int k = 0; k < SIDES; k++) {
        double moved = l->values[METRIC_EMU_SECTORS + k], ideal = l->values[METRIC_EMU_SECTORS_IDEAL + k],
               requests = l->values[METRIC_EMU_REQUESTS + k];
        if (moved >= ideal * case_limit(c, "line_sectors") && requests > 0)
            line_findings_put(all, v, l, 2000 * (moved - ideal) / (v->moved_bytes > 0 ? v->moved_bytes / SECTOR_BYTES : moved),
                              text_format("%s sectors/request (ideal %s): %s %s", number_short(moved / requests, a),
                                          number_short(ideal / requests, b), moved - ideal > requests ? "uncoalesced" : "misaligned",
                                          sectors[k]));
        moved = l->values[METRIC_EMU_WAVEFRONTS + k];
        ideal = l->values[METRIC_EMU_WAVEFRONTS_IDEAL + k];
        if (moved >= ideal * case_limit(c, "line_wavefronts") && ideal > 0)
            line_findings_put(all, v, l, 1000 * (moved - ideal) / moved,
                              text_format("%s-way bank conflict: %s take %s wavefronts (ideal %s)", number_short(moved / ideal, a),
                                          accesses[k], number_count(moved, b), number_count(ideal, d)));
    }
}

/* The same from CUPTI's patched counters, loads and stores together. */
static void look_at_counted(struct line_findings *all, const struct case_view *c, const struct view *v, const struct source_line *l)
{
    double moved = l->values[METRIC_LINE_SECTORS], ideal = l->values[METRIC_LINE_SECTORS_IDEAL];
    char a[NUMBER_TEXT], b[NUMBER_TEXT], d[NUMBER_TEXT];
    if (ideal > 0 && moved >= ideal * case_limit(c, "line_sectors"))
        line_findings_put(all, v, l, moved - ideal,
                          text_format("%sx the sectors that its bytes need: uncoalesced or misaligned, %s (ideal %s)",
                                      number_short(moved / ideal, a), number_count(moved, b), number_count(ideal, d)));
    moved = l->values[METRIC_LINE_WAVEFRONTS];
    ideal = l->values[METRIC_LINE_WAVEFRONTS_IDEAL];
    if (ideal > 0 && moved >= ideal * case_limit(c, "line_wavefronts"))
        line_findings_put(all, v, l, moved - ideal,
                          text_format("%s-way bank conflict: shared memory takes %s wavefronts (ideal %s)", number_short(moved / ideal, a),
                                      number_count(moved, b), number_count(ideal, d)));
}

void line_findings_add(struct line_findings *all, const struct case_view *c, const struct view *v)
{
    SCOPED struct source_line *lines = NULL;
    int count = c->judge && c->judge->ready && v->row->status == ROW_OK ? source_lines(v->row, EVERY_STEP, &lines) : 0;
    for (int i = 0; i < count; i++)
        if (lines[i].line > 0)
            (c->counts ? look_at_line : look_at_counted)(all, c, v, &lines[i]);
}

void line_findings_free(struct line_findings *all)
{
    for (int i = 0; i < all->count; i++) {
        free(all->items[i].where);
        free(all->items[i].says);
    }
    free(all->items);
}
