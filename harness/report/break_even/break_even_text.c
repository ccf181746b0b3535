/* report/break_even/break_even_text: the answer in words and as a table. */
#include "report/break_even/break_even.h"
#include "base/order.h"
#include "report/view/number.h"
#include "report/limits.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

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

/* At how many densities it wins (or loses) significantly. */
static int significant(const struct break_line *l, bool win)
{
    int count = 0;
    for (int i = 0; i < l->count; i++)
        count += win ? l->points[i].high < 1 : l->points[i].low > 1;
    return count;
}

/* A crossing without a bracket: all significant densities are on one side. */
static void add_one_side(struct text *t, const struct break_line *l, const char *against)
{
    char a[NUMBER_TEXT];
    bool win = !isnan(l->crossing.low);
    int count = significant(l, win);
    if (count)
        text_addf(t,
                  "%s: significantly %s than %s at %d of %d measured densities, %s %s %% of changed inputs; no significant difference at "
                  "the others",
                  l->name, win ? "faster" : "slower", against, count, l->count, win ? "up to" : "from",
                  percent(win ? l->crossing.low : l->crossing.high, a));
    else
        text_addf(t, "%s: no significant difference from %s at any of %d measured densities", l->name, against, l->count);
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
        text_addf(t, "%s breaks even with %s %sbetween ", l->name, against, c->kind == CROSSING_AT ? "" : "somewhere ");
        add_ends(t, c);
        text_add(t, " % of changed inputs");
        if (c->kind == CROSSING_AT)
            text_addf(t, " (about %s)", percent(c->at, a));
        text_add(t, c->back ? ", slower at the lower end" : "");
        text_add(t, c->kind == CROSSING_BETWEEN && break_even_beaten(g, l) ? "; another variant is faster at both ends" : "");
        break;
    case CROSSING_WINS:
    case CROSSING_LOSES:
        text_addf(t, "%s: %s than %s at all %d measured densities, ", l->name, c->kind == CROSSING_WINS ? "faster" : "slower", against,
                  l->count);
        add_range(t, l);
        break;
    case CROSSING_FEW: text_addf(t, "%s: measured at one density only", l->name); break;
    }
    if (c->turns > 1)
        text_addf(t, " (the curves cross at least %d times; this is the first change to slower)", c->turns);
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
        text_add(&text, c->kind == CROSSING_WINS    ? "faster at all densities"
                        : c->kind == CROSSING_LOSES ? "slower at all densities"
                                                    : "one density only");
    else if (!isnan(c->low) && !isnan(c->high))
        text_addf(&text, "between %s and %s%s", percent(c->low, a), percent(c->high, b), c->back ? ", slower below" : "");
    else if (!isnan(c->low))
        text_addf(&text, "no difference above %s", percent(c->low, a));
    else if (!isnan(c->high))
        text_addf(&text, "no difference below %s", percent(c->high, b));
    else
        text_add(&text, "no significant difference");
    table_cell(t, PAINT_DIM, "%s", text_get(&text));
    text_free(&text);
}

static bool is_bracketed(const struct crossing *c)
{
    return (c->kind == CROSSING_AT || c->kind == CROSSING_BETWEEN) && !isnan(c->low) && !isnan(c->high);
}

/* A wide bracket that was not refined, because nobody needs it. */
static bool is_beaten_there(const struct break_group *g, const struct break_line *l)
{
    return l->crossing.kind == CROSSING_BETWEEN && is_bracketed(&l->crossing) && break_even_beaten(g, l);
}

/* "12, 11 significant", "8, beaten". */
static void add_remarks_cell(struct table *t, const struct break_group *g, const struct break_line *l)
{
    SCOPED_TEXT text = {0};
    const struct crossing *c = &l->crossing;
    text_addf(&text, "%d", l->count);
    if (c->kind == CROSSING_BETWEEN && !is_bracketed(c))
        text_addf(&text, ", %d significant", significant(l, !isnan(c->low)));
    if (is_beaten_there(g, l))
        text_add(&text, ", beaten");
    if (c->turns > 1)
        text_addf(&text, ", at least %d crossings, this is the first", c->turns);
    table_cell(t, PAINT_DIM, "%s", text_get(&text));
}

static void add_table_line(struct table *t, const struct break_group *g, const struct break_line *l, bool first, bool remarks)
{
    char a[NUMBER_TEXT];
    SCOPED_TEXT text = {0};
    int best = 0;
    for (int i = 1; i < l->count; i++)
        best = l->points[i].y < l->points[best].y ? i : best;
    table_row(t, LINE_PLAIN);
    table_cell(t, PAINT_NONE, "%s", first ? g->title : "");
    table_cell(t, PAINT_BOLD, "%s", l->name);
    add_crossing_cell(t, l);
    add_range(&text, l);
    table_cell(t, PAINT_NONE, "%s", text_get(&text));
    table_cell(t, l->points[best].high < 1 ? PAINT_GOOD : PAINT_NONE, "%s", number_3(1 / l->points[best].y, a));
    table_note(t, "at %s %%", percent(l->points[best].x, a));
    table_cell(t, PAINT_NONE, "%s", g->against);
    if (remarks)
        add_remarks_cell(t, g, l);
}

struct table *break_even_table(const struct break_group *groups, int count, bool remarks)
{
    struct table *t = table_new();
    table_columns(t, {"group", "layer, pattern, type", ALIGN_LEFT}, {"name", "variant", ALIGN_LEFT});
    table_column(t, "crossing", "break-even %", ALIGN_POINT, .note = "[between]",
                 .about = "share of changed inputs: between the two measured densities in brackets the row changes from faster to slower "
                          "than the dense one; the number in front is interpolated");
    table_columns(t, {"measured", "measured", ALIGN_LEFT}, {"best", "best x", ALIGN_POINT}, {"against", "against", ALIGN_LEFT});
    if (remarks)
        table_column(t, "remarks", "densities", ALIGN_LEFT,
                     .about = "number of measured densities, and of those with a significant difference; beaten: another variant is "
                              "significantly faster at both ends of the bracket");
    for (int i = 0; i < count; i++)
        for (int k = 0; k < groups[i].line_count; k++)
            add_table_line(t, &groups[i], &groups[i].lines[k], k == 0, remarks);
    return t;
}

/* ---- sums ---- */

/* The brackets of the curves of one kind of mask, except where another variant is faster: bench refines none of those. */
struct break_span {
    const struct row *like; /* NULL: of curves that merge several kinds */
    double low, high;
};

struct break_sum {
    const char *name, *against;
    const struct row *like; /* of the same type and math */
    int place, order;       /* of the first group with that rival; of the sums */
    int curves, wins, loses, back, open_above, open_below, alike, few;
    int crossed, beaten; /* beaten: of those that cross */
    struct break_span *spans;
    int span_count;
};

static bool same_kind(const struct row *a, const struct row *b)
{
    return a == b || (a && b && text_same(a->mask_pattern, b->mask_pattern) && a->mask_radius == b->mask_radius);
}

ORDER(by_curves, struct break_sum,
      x->place != y->place     ? x->place - y->place
      : x->curves != y->curves ? y->curves - x->curves
      : x->wins != y->wins     ? y->wins - x->wins
                               : x->order - y->order)

/* A case of the group if all have one kind of mask, apart from the empty and the full one, which every curve has. */
static const struct row *kind_of(const struct break_group *g)
{
    const struct row *kind = g->case_count ? g->cases[0].row : NULL;
    for (int i = 1; i < g->case_count; i++)
        if (!same_kind(kind, g->cases[i].row))
            return NULL;
    return kind;
}

static void add_span(struct break_sum *s, const struct row *kind, const struct crossing *c)
{
    int i = 0;
    while (i < s->span_count && !same_kind(s->spans[i].like, kind))
        i++;
    if (i == s->span_count)
        *APPEND(s->spans, s->span_count) = (struct break_span){kind, c->low, c->high};
    s->spans[i].low = fmin(s->spans[i].low, c->low);
    s->spans[i].high = fmax(s->spans[i].high, c->high);
}

static void add_to_sum(struct break_sum *s, const struct break_group *g, const struct break_line *l)
{
    const struct crossing *c = &l->crossing;
    bool known = is_bracketed(c), all = c->kind == CROSSING_WINS || c->kind == CROSSING_LOSES;
    s->curves++;
    s->wins += c->kind == CROSSING_WINS;
    s->loses += c->kind == CROSSING_LOSES;
    s->back += known && c->back;
    if (!known && !all)
        (*(c->kind == CROSSING_FEW ? &s->few : !isnan(c->low) ? &s->open_above : !isnan(c->high) ? &s->open_below : &s->alike))++;
    if (known && !c->back) {
        s->crossed++;
        if (is_beaten_there(g, l))
            s->beaten++;
        else
            add_span(s, kind_of(g), c);
    }
}

/* " (another variant is faster there on 4; elsewhere blobs24: within 10 to 50 % of changed inputs; iid: within 1 to 7.5 %)". */
static void say_spans(struct text *t, const struct break_sum *s)
{
    char a[NUMBER_TEXT], b[NUMBER_TEXT];
    if (!s->crossed)
        return;
    text_add(t, " (");
    if (s->beaten)
        text_add(t, "another variant is faster there");
    if (s->beaten && s->span_count)
        text_addf(t, " on %d; elsewhere ", s->beaten);
    for (int i = 0; i < s->span_count; i++) {
        const struct break_span *span = &s->spans[i];
        text_add(t, i ? "; " : "");
        if (span->like) {
            text_add(t, span->like->mask_pattern);
            text_addf(t, span->like->mask_radius >= 0 ? "%lld: " : ": ", (long long)span->like->mask_radius);
        }
        text_addf(t, "within %s to %s %%%s", percent(span->low, a), percent(span->high, b), i ? "" : " of changed inputs");
    }
    text_add(t, ")");
}

static void add_count(struct text *t, int count, const char *what)
{
    if (count)
        text_addf(t, "%s %s on %d", t->len ? "," : "", what, count);
}

static bool same_type(const struct row *a, const struct row *b)
{
    return text_same(a->dtype, b->dtype) && text_same(a->math, b->math);
}

static void say_sum(struct block *list, const char *label, const struct break_sum *s, bool types)
{
    SCOPED_TEXT t = {0};
    add_count(&t, s->wins, "faster at all measured densities");
    add_count(&t, s->crossed, "changes from faster to slower");
    say_spans(&t, s);
    add_count(&t, s->back, "changes from slower to faster");
    add_count(&t, s->open_above, "faster below a density and without a significant difference above it");
    add_count(&t, s->open_below, "slower above a density and without a significant difference below it");
    add_count(&t, s->alike, "without a significant difference");
    add_count(&t, s->few, "measured at one density only");
    add_count(&t, s->loses, "slower at all measured densities");
    bool named = text_same(s->like->dtype, s->like->math) || !s->like->math; /* f32 in f32 */
    SCOPED char *type = types ? text_format(" in %s%s%s", s->like->dtype, named ? "" : " ", named ? "" : s->like->math) : NULL;
    block_itemf(list, label, NULL, "%s against %s%s, %d curve%s:%s", s->name, s->against, type ? type : "", s->curves, text_s(s->curves),
                text_get(&t));
}

/* Of the curves of one variant, rival, type and math. */
static struct break_sum *sum_of(struct break_sum **sums, int *count, const struct break_group *g, const struct break_line *l, int place)
{
    for (int i = 0; i < *count; i++) {
        bool same = !strcmp((*sums)[i].against, g->against);
        if (same && !strcmp((*sums)[i].name, l->name) && same_type((*sums)[i].like, l->row))
            return &(*sums)[i];
        place = same ? (*sums)[i].place : place;
    }
    struct break_sum *s = APPEND(*sums, *count);
    *s = (struct break_sum){.name = l->name, .against = g->against, .like = l->row, .place = place, .order = *count};
    return s;
}

void break_even_sums(struct block *list, const char *label, const char *question, const struct break_group *groups, int count)
{
    SCOPED struct break_sum *sums = NULL;
    int n = 0;
    for (int i = 0; i < count; i++)
        for (int k = 0; k < groups[i].line_count; k++)
            add_to_sum(sum_of(&sums, &n, &groups[i], &groups[i].lines[k], i), &groups[i], &groups[i].lines[k]);
    bool types = false;
    for (int i = 1; i < n; i++)
        types |= !same_type(sums[i].like, sums->like);
    qsort(sums, (size_t)n, sizeof *sums, by_curves);
    block_itemf(list, label, question, "summary of the %d curves in the table of break-evens", count);
    for (int i = 0; i < n && i < SHOWN_BREAK_EVEN_SUMS; i++)
        say_sum(list, label, &sums[i], types);
    if (n > SHOWN_BREAK_EVEN_SUMS)
        block_itemf(list, label, NULL, "%d more in the table", n - SHOWN_BREAK_EVEN_SUMS);
    for (int i = 0; i < n; i++)
        free(sums[i].spans);
}
