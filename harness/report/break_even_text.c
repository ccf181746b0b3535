/* report/break_even_text: the answer in words and as a table. */
#include "report/break_even.h"
#include "report/number.h"
#include "report/shown.h"
#include <math.h>

static const char *percent(double share, char out[NUMBER_TEXT])
{
    return number_short(share * 100, out);
}

/* "68 and 74" */
static void add_ends(struct text *t, const struct crossing *c)
{
    char a[NUMBER_TEXT], b[NUMBER_TEXT];
    text_addf(t, "%s and %s", percent(c->low, a), percent(c->high, b));
}

static void add_range(struct text *t, const struct break_line *l)
{
    char a[NUMBER_TEXT], b[NUMBER_TEXT];
    text_addf(t, "%s to %s %%", percent(l->points[0].x, a), percent(l->points[l->count - 1].x, b));
}

/* Of how many densities is it told that it wins (or loses)? */
static int told(const struct break_line *l, bool win)
{
    int count = 0;
    for (int i = 0; i < l->count; i++)
        count += win ? l->points[i].high < 1 : l->points[i].low > 1;
    return count;
}

/* What is known of a crossing that no two densities bracket: all that are told lie on one side. */
static void add_one_side(struct text *t, const struct break_line *l, const char *against)
{
    char a[NUMBER_TEXT];
    bool win = !isnan(l->crossing.low);
    int count = told(l, win);
    if (count)
        text_addf(t, "%s: %s than %s at %d of %d densities measured, %s %s %% of inputs changed, and told at no other", l->name,
                  win ? "faster" : "slower", against, count, l->count, win ? "up to" : "from",
                  percent(win ? l->crossing.low : l->crossing.high, a));
    else
        text_addf(t, "%s: told from %s at none of %d densities measured", l->name, against, l->count);
}

static void add_line(struct text *t, const struct break_group *g, const struct break_line *l)
{
    char a[NUMBER_TEXT];
    const struct crossing *c = &l->crossing;
    const char *against = g->against;
    switch (c->kind) {
    case CROSSING_AT:
    case CROSSING_BETWEEN:
        if (isnan(c->low) || isnan(c->high)) {
            add_one_side(t, l, against);
            break;
        }
        text_addf(t, "%s crosses %s %sbetween ", l->name, against, c->kind == CROSSING_AT ? "" : "somewhere ");
        add_ends(t, c);
        text_add(t, " % of inputs changed");
        if (c->kind == CROSSING_AT)
            text_addf(t, " (about %s)", percent(c->at, a));
        text_add(t, c->back ? ", slower at the lower one" : "");
        text_add(t, c->kind == CROSSING_BETWEEN && break_even_beaten(g, l) ? ", at both of which another variant is faster" : "");
        break;
    case CROSSING_WINS:
    case CROSSING_LOSES:
        text_addf(t, "%s: %s than %s at all %d densities measured, ", l->name, c->kind == CROSSING_WINS ? "faster" : "slower", against,
                  l->count);
        add_range(t, l);
        break;
    case CROSSING_FEW: text_addf(t, "%s: measured at one density only", l->name); break;
    }
    if (c->turns > 1)
        text_addf(t, " (the curves cross %d times at least; this is the first turn to slower)", c->turns);
}

void break_even_sentence(const struct break_group *g, struct text *t)
{
    text_addf(t, "%s: ", g->title);
    for (int i = 0; i < g->line_count && i < SHOWN_BREAK_EVEN_TOLD; i++) {
        text_add(t, i ? "; " : "");
        add_line(t, g, &g->lines[i]);
    }
    if (g->line_count > SHOWN_BREAK_EVEN_TOLD)
        text_addf(t, "; %d more in the table", g->line_count - SHOWN_BREAK_EVEN_TOLD);
}

static void add_crossing_cell(struct table *t, const struct break_line *l)
{
    char a[NUMBER_TEXT], b[NUMBER_TEXT];
    const struct crossing *c = &l->crossing;
    struct text text = {0};
    if (c->kind == CROSSING_AT) {
        table_cell(t, PAINT_NONE, "%s", percent(c->at, a));
        table_note(t, "[%s %s]", percent(c->low, a), percent(c->high, b));
        return;
    }
    if (c->kind != CROSSING_BETWEEN)
        text_add(&text, c->kind == CROSSING_WINS    ? "faster at all measured"
                        : c->kind == CROSSING_LOSES ? "slower at all measured"
                                                    : "one density only");
    else if (!isnan(c->low) && !isnan(c->high))
        text_addf(&text, "between %s and %s%s", percent(c->low, a), percent(c->high, b), c->back ? ", slower below" : "");
    else if (!isnan(c->low))
        text_addf(&text, "not told above %s", percent(c->low, a));
    else if (!isnan(c->high))
        text_addf(&text, "not told below %s", percent(c->high, b));
    else
        text_add(&text, "told at no density measured");
    table_cell(t, PAINT_DIM, "%s", text_get(&text));
    text_free(&text);
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
    add_crossing_cell(t, l);
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
    table_column(t, "crossing", "break-even %", ALIGN_POINT, .note = "[between]",
                 .about =
                     "share of inputs changed: between the two densities in brackets, which were measured, the row turns from faster to "
                     "slower than the dense one; the number in front lies on a line between measured points");
    table_column(t, "measured", "measured", ALIGN_LEFT);
    table_column(t, "best", "best x", ALIGN_POINT);
    table_column(t, "against", "against", ALIGN_LEFT);
    for (int i = 0; i < count; i++)
        for (int k = 0; k < groups[i].line_count; k++)
            add_table_line(t, &groups[i], &groups[i].lines[k], k == 0);
    return t;
}
