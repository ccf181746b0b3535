/* report/break_even_text: the answer in words and as a table. */
#include "report/break_even.h"
#include "report/number.h"
#include <math.h>

#define LINES_TOLD 6 /* of one group in the sentence; the rest are in the table */

static const char *percent(double share, char out[NUMBER_TEXT])
{
    return number_short(share * 100, out);
}

/* "[68 74]" */
static void add_interval(struct text *t, const struct break_line *l)
{
    char a[NUMBER_TEXT], b[NUMBER_TEXT];
    text_addf(t, "[%s %s]", percent(l->crossing.low, a), percent(l->crossing.high, b));
}

/* What is known of a crossing that is not bracketed closely. */
static void add_between(struct text *t, const struct break_line *l)
{
    char a[NUMBER_TEXT], b[NUMBER_TEXT];
    const struct crossing *c = &l->crossing;
    percent(c->low, a);
    percent(c->high, b);
    if (!isnan(c->low) && !isnan(c->high))
        text_addf(t, "somewhere between %s and %s", a, b);
    else if (!isnan(c->low))
        text_addf(t, "above %s, if at all", a);
    else if (!isnan(c->high))
        text_addf(t, "below %s, if at all", b);
    else
        text_add(t, "not told");
}

static void add_range(struct text *t, const struct break_line *l)
{
    char a[NUMBER_TEXT], b[NUMBER_TEXT];
    text_addf(t, "%s to %s %%", percent(l->points[0].x, a), percent(l->points[l->count - 1].x, b));
}

static void add_line(struct text *t, const struct break_line *l, const char *against)
{
    char a[NUMBER_TEXT];
    switch (l->crossing.kind) {
    case CROSSING_AT:
        text_addf(t, "%s beats %s below %s %% ", l->name, against, percent(l->crossing.at, a));
        add_interval(t, l);
        text_add(t, " of inputs changed");
        break;
    case CROSSING_BETWEEN:
        text_addf(t, "%s: crosses %s ", l->name, against);
        add_between(t, l);
        text_add(t, isnan(l->crossing.low) && isnan(l->crossing.high) ? "" : " % of inputs changed");
        break;
    case CROSSING_WINS:
    case CROSSING_LOSES:
        text_addf(t, "%s: no crossing, %s than %s at all %d densities from ", l->name,
                  l->crossing.kind == CROSSING_WINS ? "faster" : "slower", against, l->count);
        add_range(t, l);
        break;
    case CROSSING_FEW: text_addf(t, "%s: measured at one density only", l->name); break;
    }
    if (l->crossing.turns > 1)
        text_addf(t, " (the curves cross %d times; this is the first)", l->crossing.turns);
}

void break_even_sentence(const struct break_group *g, struct text *t)
{
    text_addf(t, "%s: ", g->title);
    for (int i = 0; i < g->line_count && i < LINES_TOLD; i++) {
        text_add(t, i ? "; " : "");
        add_line(t, &g->lines[i], g->against);
    }
    if (g->line_count > LINES_TOLD)
        text_addf(t, "; %d more in the table", g->line_count - LINES_TOLD);
}

static void add_table_line(struct table *t, const struct break_group *g, const struct break_line *l, bool first)
{
    char a[NUMBER_TEXT];
    struct text text = {0};
    int best = 0;
    for (int i = 1; i < l->count; i++)
        best = l->points[i].y < l->points[best].y ? i : best;
    table_row(t, LINE_PLAIN);
    table_cell(t, PAINT_NONE, "%s", first ? g->title : "");
    table_cell(t, PAINT_BOLD, "%s", l->name);
    if (l->crossing.kind == CROSSING_AT) {
        table_cell(t, PAINT_NONE, "%s", percent(l->crossing.at, a));
        add_interval(&text, l);
        table_note(t, "%s", text_get(&text));
        text_free(&text);
    } else if (l->crossing.kind == CROSSING_BETWEEN) {
        add_between(&text, l);
        table_cell(t, PAINT_DIM, "%s", text_get(&text));
        text_free(&text);
    } else {
        table_cell(t, PAINT_DIM, "%s",
                   l->crossing.kind == CROSSING_WINS    ? "no crossing: faster throughout"
                   : l->crossing.kind == CROSSING_LOSES ? "no crossing: slower throughout"
                                                        : "one density only");
    }
    add_range(&text, l);
    table_cell(t, PAINT_NONE, "%s", text_get(&text));
    text_free(&text);
    table_cell(t, l->points[best].high < 1 ? PAINT_GOOD : PAINT_NONE, "%s", number_3(1 / l->points[best].y, a));
    table_note(t, "at %s %%", percent(l->points[best].x, a));
    table_cell(t, PAINT_NONE, "%s", g->against);
}

struct table *break_even_table(const struct break_group *groups, int count)
{
    struct table *t = table_new();
    table_column(t, "group", "layer, pattern, type", ALIGN_LEFT);
    table_column(t, "name", "variant", ALIGN_LEFT);
    table_column(t, "crossing", "break-even %", ALIGN_POINT, .note = "[95 %]",
                 .about = "the share of inputs that changed below which sparse is faster");
    table_column(t, "measured", "measured", ALIGN_LEFT);
    table_column(t, "best", "best x", ALIGN_POINT);
    table_column(t, "against", "against", ALIGN_LEFT);
    for (int i = 0; i < count; i++)
        for (int k = 0; k < groups[i].line_count; k++)
            add_table_line(t, &groups[i], &groups[i].lines[k], k == 0);
    return t;
}
