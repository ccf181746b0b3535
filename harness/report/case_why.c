/* report/case_why: of the rows of a case, what to look at first. */
#include "base/file.h"
#include "report/case_document.h"
#include "report/number.h"
#include "report/verdict.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SHOWN 6

/* ---- source lines ---- */

struct place {
    char *text;
    double weight; /* sectors or wavefronts beyond the least */
    bool shipped;
};
struct places {
    struct place *items;
    int count;
    bool shipped; /* those that are being looked at */
};

/* The value of a per-line counter of the same step and line as `at`. */
static double at_line(const struct row *row, const struct row_metric *at, const char *name)
{
    for (int i = 0; i < row->metric_count; i++) {
        const struct row_metric *m = &row->metrics[i];
        if (m->step == at->step && m->line == at->line && strcmp(m->name, name) == 0)
            return m->value;
    }
    return NAN;
}

static const char *file_of(const struct row *row, int step)
{
    if (step < 0 || step >= row->step_count || !row->steps[step].file[0]) {
        const char *slash = row->variant ? strrchr(row->variant, '/') : NULL;
        return slash ? slash + 1 : row->variant ? row->variant : "?";
    }
    return file_base(row->steps[step].file);
}

static void add_place(struct places *p, double weight, char *text)
{
    for (int i = 0; i < p->count; i++) {
        if (strcmp(p->items[i].text, text) == 0) { /* another row made of that file */
            free(text);
            return;
        }
    }
    *APPEND(p->items, p->count) = (struct place){text, weight, p->shipped};
}

/* Sectors of global memory and wavefronts of shared memory beyond what the line's bytes need. */
static void look_at_line(struct places *p, const struct case_view *c, const struct view *v, const struct row_metric *m)
{
    static const char *const sectors[] = {"load", "store"}, *const accesses[] = {"shared loads", "shared stores"};
    const struct counter_limits *limits = c->judge->groups.limits;
    char a[NUMBER_TEXT], b[NUMBER_TEXT], d[NUMBER_TEXT];
    for (int k = 0; k < SIDES; k++) {
        if (strcmp(m->name, metric_names[METRIC_EMU_SECTORS + k]) == 0) {
            double requests = at_line(v->row, m, metric_names[METRIC_EMU_REQUESTS + k]);
            double ideal = at_line(v->row, m, metric_names[METRIC_EMU_SECTORS_IDEAL + k]);
            if (m->value >= ideal * counter_limit(limits, "line_sectors") && requests > 0) {
                add_place(p, 2000 * (m->value - ideal) / (v->moved_bytes > 0 ? v->moved_bytes / SECTOR_BYTES : m->value),
                          text_format("%s:%d  %s sectors/request (ideal %s): uncoalesced %s", file_of(v->row, m->step), m->line,
                                      number_short(m->value / requests, a), number_short(ideal / requests, b), sectors[k]));
            }
        } else if (strcmp(m->name, metric_names[METRIC_EMU_WAVEFRONTS + k]) == 0) {
            double ideal = at_line(v->row, m, metric_names[METRIC_EMU_WAVEFRONTS_IDEAL + k]);
            if (m->value >= ideal * counter_limit(limits, "line_wavefronts") && ideal > 0) {
                add_place(p, 1000 * (m->value - ideal) / m->value,
                          text_format("%s:%d  %s-way bank conflict: %s take %s wavefronts (ideal %s)", file_of(v->row, m->step), m->line,
                                      number_short(m->value / ideal, a), accesses[k], number_count(m->value, b), number_count(ideal, d)));
            }
        }
    }
}

/* The same of what CUPTI counted by patching the machine code, of loads and stores together. */
static void look_at_counted(struct places *p, const struct case_view *c, const struct view *v, const struct row_metric *m)
{
    const struct counter_limits *limits = c->judge->groups.limits;
    bool sectors = strcmp(m->name, metric_names[METRIC_LINE_SECTORS]) == 0;
    if (!sectors && strcmp(m->name, metric_names[METRIC_LINE_WAVEFRONTS]) != 0)
        return;
    double ideal = at_line(v->row, m, metric_names[sectors ? METRIC_LINE_SECTORS_IDEAL : METRIC_LINE_WAVEFRONTS_IDEAL]);
    char a[NUMBER_TEXT], b[NUMBER_TEXT], d[NUMBER_TEXT];
    if (ideal > 0 && m->value >= ideal * counter_limit(limits, sectors ? "line_sectors" : "line_wavefronts"))
        add_place(p, m->value - ideal,
                  text_format(sectors ? "%s:%d  %sx the sectors that its bytes need: uncoalesced, %s (ideal %s)"
                                      : "%s:%d  %s-way bank conflict: shared memory takes %s wavefronts (ideal %s)",
                              file_of(v->row, m->step), m->line, number_short(m->value / ideal, a), number_count(m->value, b),
                              number_count(ideal, d)));
}

static void look_at_lines(struct places *p, const struct case_view *c, const struct view *v)
{
    p->shipped = !strchr(v->name, '/');
    for (int i = 0; c->judge && c->judge->ready && v->row->status == ROW_OK && i < v->row->metric_count; i++)
        if (v->row->metrics[i].line > 0)
            (c->counts ? look_at_line : look_at_counted)(p, c, v, &v->row->metrics[i]);
}

static bool is_before(const struct place *a, const struct place *b)
{
    return a->shipped != b->shipped ? b->shipped : a->weight > b->weight;
}

/* Those of the reader's own variants first, then the heaviest; equal ones in the order of the rows. */
static void put_places(struct places *p, int most, struct block *list, const char *label)
{
    for (int i = 0; i < p->count; i++) {
        for (int k = i; k > 0 && is_before(&p->items[k], &p->items[k - 1]); k--) {
            struct place item = p->items[k];
            p->items[k] = p->items[k - 1];
            p->items[k - 1] = item;
        }
    }
    for (int i = 0; i < p->count; i++) {
        block_item(list, label, NULL, i < most ? p->items[i].text : NULL);
        free(p->items[i].text);
    }
    free(p->items);
}

void case_lines(const struct case_view *c, const struct view *v, struct block *list)
{
    struct places p = {0};
    look_at_lines(&p, c, v);
    put_places(&p, SHOWN, list, "lines");
}

/* ---- rows ---- */

/* A library's row without counters: nothing of it can be changed, and nobody knows what it waits for. */
static bool is_told(const struct case_view *c, const struct view *v)
{
    bool library = !v->verdicts.counted && v->row->library;
    return v->verdicts.count && !library && !row_is_network(v->row) && /* what is true of its steps is said of its layers' own rows */
           (v->ranked || c->counts);
}

static void case_why_add_row(const struct view *v, struct block *list)
{
    const struct verdict *first = v->verdicts.items;
    struct text name = {0}, says = {0};
    if (v->rank >= 0)
        text_addf(&name, "%d ", v->rank);
    text_add(&name, v->name);
    text_addf(&says, "%s (", verdict_word(v));
    verdict_gain(first, &says);
    text_addf(&says, "): %s; %s", first->says, first->remedy);
    block_text(list, "why", text_get(&name), &says);
    text_free(&name);
}

void case_why(const struct case_view *c, struct block *list)
{
    struct places p = {0};
    int before = list->item_count, more = 0;
    for (int i = 0; i < c->count; i++)
        look_at_lines(&p, c, &c->views[i]);
    put_places(&p, SHOWN / 2, list, "why");
    for (int known = 1; known >= 0; known--) { /* what would be gained is known, then where nobody can say; each the fastest first */
        for (int i = 0; i < c->count; i++) {
            const struct view *v = &c->views[c->order[i]];
            if (is_told(c, v) && known == !isnan(v->verdicts.items[0].gain)) {
                bool room = list->item_count - before < SHOWN;
                more += !room;
                if (room)
                    case_why_add_row(v, list);
            }
        }
    }
    if (more)
        block_itemf(list, "why", NULL, "%d further rows: `bench why ROW` explains each", more);
}
