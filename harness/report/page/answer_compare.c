/* report/page/answer_compare: `compare: {what, than}`, each variant at its best configuration; `compare: {what, than, over}`: at equal
 * parameters and along an axis, with the turning points and the counts in which the slower row exceeds the other. `imported` in place of
 * `than`: the rows of another tool. */
#include "report/page/answer.h"
#include "base/order.h"
#include "report/limits.h"
#include "report/view/number.h"
#include "report/view/verdict.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BYTES "Emu measures no time; these are bytes: "
#define EQUAL_BYTES 0.005
#define BASELINE_FAR 10
#define TURNS_TOLD 3   /* of one curve */
#define CURVES_NAMED 6 /* that have one sign; of more it says how many */

/* By time; on a device that keeps none, by the stored time, or by the bytes that the row requests. NaN: the row has neither. */
static double cost(const struct case_view *c, const struct view *v)
{
    return !c->counts || c->by_stored ? answer_ns(c, v) : v->moved_bytes > 0 ? v->moved_bytes : NAN;
}

/* Is it a verified row of the side with a cost? Imported rows are of a side that asks for them, and are not verified. */
static bool competes(const struct case_view *c, const struct view *v, const struct side *side)
{
    return v->row->status == (side->imported ? ROW_FOIL : ROW_OK) && side_has(side, v->row) && !isnan(cost(c, v));
}

/* The fastest verified row of a variant; `like`: of those at its parameters. */
static const struct view *best_of(const struct case_view *c, const struct side *variant, const struct row *like)
{
    return CASE_LEAST(c, v, competes(c, v, variant) && (!like || answer_equal_parameters(like, v->row, variant)), cost(c, v));
}

/* One case: how many times as fast the first is as the second. */
struct point {
    char *at;          /* the value on the axis, or the case */
    double x, ratio;   /* the density, where the axis is that */
    int sign;          /* 1: significantly faster, -1: slower, 0: no significant difference */
    char *reason;      /* what the slower one does more of; NULL: the counters do not show it */
    char *limit;       /* the slower one's bottleneck; NULL */
    bool between;      /* of two cases, or with an imported row: their counters are not compared */
    bool added;        /* by bisection */
    int64_t filter[2]; /* of the first and the second: bytes of the filter for an active tile; -1: its head does not say */
};

/* The cases that differ in the axis only, at equal parameters. */
struct curve {
    char *place, *settings;  /* its own: the layer and the other axes; all parameters */
    char *pattern;           /* its own: of the mask, with its radius; NULL */
    struct row_pair *params; /* its own */
    bool *narrows;           /* its own, by parameter: the other variant has rows with another value, which are no pairs */
    int param_count;
    struct point *points;
    int count;
};

/* Of one curve, a density that bisection drew once more (a small image has few of them) is no second point. */
static bool has_density(const struct curve *y, double x)
{
    return ANY_OF(i, y->count, y->points[i].x == x);
}

/* The baseline's difference from itself. One that takes over ten times as long as both rows waits for its host: its noise is not theirs. */
static double noise_of(const struct case_view *c, const struct view *a, const struct view *b)
{
    double slower = fmax(a->time->median_ns, b->time->median_ns);
    bool waits = c->zero && c->zero->ranked && c->zero->time->median_ns > BASELINE_FAR * slower;
    return c->noise > 0 && !waits ? c->noise : 0;
}

/* Is the difference significant: are the intervals apart, and is it more than the baseline's from itself? Of bytes, half a percent. */
static bool significant(const struct case_view *c, const struct view *a, const struct view *b, double ratio)
{
    double beyond = c->by_stored ? STORED_EQUAL : c->counts ? EQUAL_BYTES : noise_of(c, a, b);
    return fabs(ratio - 1) > beyond && (c->counts || a->time->high_ns < b->time->low_ns || b->time->high_ns < a->time->low_ns);
}

static void add_point(struct curve *y, const struct case_view *c, const struct view *a, const struct view *b, const char *at)
{
    SCOPED_TEXT words = {0}, limit = {0};
    struct point p = {.at = xstrdup(at),
                      .x = a->row->density_in,
                      .ratio = cost(c, b) / cost(c, a),
                      .added = a->row->like_case,
                      .between = b->row->status == ROW_FOIL,
                      .filter = {a->row->tile_weight_bytes, b->row->tile_weight_bytes}};
    bool apart = significant(c, a, b, p.ratio);
    const struct view *slow = p.ratio > 1 ? b : a, *fast = p.ratio > 1 ? a : b;
    p.sign = !apart ? 0 : p.ratio > 1 ? 1 : -1;
    if (apart && winner_reason(c, slow, fast, WHY_UNNAMED, &words) && words.len)
        p.reason = text_format("%s %s", slow->name, text_get(&words));
    if (verdict_words(slow, &limit))
        p.limit = text_format("%s is limited by %s: %s", slow->name, text_get(&limit), slow->verdicts.items[0].says);
    *APPEND(y->points, y->count) = p;
}

static void curve_free(struct curve *y)
{
    for (int i = 0; i < y->count; i++)
        FREE_ALL(y->points[i].at, y->points[i].reason, y->points[i].limit);
    side_pairs_free(y->params, y->param_count);
    FREE_ALL(y->narrows, y->points, y->place, y->settings, y->pattern);
}

/* ---- sentences ---- */

static void add_ratios(struct text *t, const struct point *p, int count)
{
    double least = INFINITY, most = 0;
    char a[NUMBER_TEXT], b[NUMBER_TEXT];
    for (int i = 0; i < count; i++) {
        least = fmin(least, p[i].ratio);
        most = fmax(most, p[i].ratio);
    }
    text_addf(t, strcmp(number_3(least, a), number_3(most, b)) ? "%s to %s x" : "%s x", a, b);
}

static const char *sign_words(int sign, bool counts)
{
    return sign > 0   ? (counts ? "fewer bytes" : "faster")
           : sign < 0 ? (counts ? "more bytes" : "slower")
           : counts   ? "equal bytes (to 0.5 %)"
                      : "no significant difference";
}

/* The first point of the next run of one sign. */
static int run_end(const struct curve *y, int from)
{
    int end = from + 1;
    while (end < y->count && y->points[end].sign == y->points[from].sign)
        end++;
    return end;
}

static void say_reason(struct text *t, const struct point *p)
{
    text_addf(t, ". At %s %s", p->at, p->reason ? p->reason : "the counters do not show the cause");
    if (p->limit)
        text_addf(t, "; %s", p->limit);
}

/* "faster at 3x1 to 9x4 (1.08 to 1.27 x), slower at 11x5 to 15x7 (0.37 to 0.42 x): it turns between 9x4 and 11x5". */
static void say_curve(struct text *t, const struct curve *y, const char *axis, bool counts, bool reason)
{
    int turned = 0, last = 0, explained = -1;
    const char *separator = "";
    for (int i = 0, end; i < y->count; i = end) {
        end = run_end(y, i);
        text_addf(t, "%s%s ", separator, sign_words(y->points[i].sign, counts));
        answer_places(t, axis, &y->points[i].at, sizeof y->points[i], end - i);
        text_add(t, " (");
        add_ratios(t, y->points + i, end - i);
        text_add(t, ")");
        separator = ", ";
        if (y->points[i].sign)
            last = y->points[i].sign;
    }
    for (int i = 0, before = -1; i < y->count; i++) {
        if (!y->points[i].sign)
            continue;
        if (before >= 0 && y->points[before].sign != y->points[i].sign && turned++ < TURNS_TOLD) {
            text_addf(t, "%s between %s and %s", turned == 1 ? ": it turns" : " and", y->points[before].at, y->points[i].at);
            explained = explained < 0 ? i : explained;
        }
        before = i;
    }
    for (int i = 0; i < y->count && explained < 0; i++)
        if (y->points[i].sign)
            explained = i;
    if (last && reason && !y->points[explained].between)
        say_reason(t, &y->points[explained]);
}

/* ---- at equal parameters, along an axis ---- */

/* A difference of two rows that are one machine code would be noise. */
static void say_same(struct block *list, struct without *w)
{
    if (w->last)
        block_itemf(list, "answer", NULL, "no difference, because both are one machine code: %d pair%s of %s", w->count, text_s(w->count),
                    text_get(&w->layers));
    text_free(&w->layers);
}

/* "blobs24"; NULL: the row has no mask. */
static char *pattern_of(const struct row *row)
{
    if (!row->mask_pattern)
        return NULL;
    return row->mask_radius >= 0 ? text_format("%s%lld", row->mask_pattern, (long long)row->mask_radius) : xstrdup(row->mask_pattern);
}

/* What the curve has in common beside the parameters: the layer, the other axes. */
static char *curve_place(const struct row *row, const char *axis, const struct side *fixed)
{
    struct text place = {0};
    if (row->layer && strcmp(axis, "layer") != 0 && !row_pair(fixed->fixed, fixed->fixed_count, "layer"))
        text_add(&place, row->layer);
    bool density = !strcmp(axis, "mask.density");
    for (int i = 0; i < row->axis_count; i++)
        if (strcmp(row->axis[i].name, axis) != 0 && !row_pair(fixed->fixed, fixed->fixed_count, row->axis[i].name) &&
            !(density && !strcmp(row->axis[i].name, "mask")))
            text_addf(&place, "%s%s=%s", place.len ? ", " : "", row->axis[i].name, row->axis[i].value);
    SCOPED char *pattern = density ? pattern_of(row) : NULL;
    if (pattern)
        text_addf(&place, "%s%s", place.len ? ", " : "", pattern);
    return text_take(&place);
}

static struct curve *curve_of(struct curve **curves, int *count, const struct row *row, const char *axis, const struct side *fixed)
{
    SCOPED char *place = curve_place(row, axis, fixed);
    const char *settings = row->params && !answer_is_choice(row) ? row->params : "";
    for (int i = 0; i < *count; i++)
        if (!strcmp((*curves)[i].place, place) && !strcmp((*curves)[i].settings, settings))
            return &(*curves)[i];
    struct curve *y = APPEND(*curves, *count);
    *y = (struct curve){.place = xstrdup(place), .settings = xstrdup(settings), .pattern = pattern_of(row)};
    for (int i = 0; i < row->param_count && !answer_is_choice(row); i++)
        *APPEND(y->params, y->param_count) = (struct row_pair){.name = xstrdup(row->param[i].name), .value = xstrdup(row->param[i].value)};
    y->narrows = xcalloc((size_t)y->param_count + 1, sizeof *y->narrows);
    return y;
}

/* Which of the curve's parameters leave out rows of the other variant? */
static void find_narrow(struct curve *y, const struct case_view *c, const struct side *than)
{
    for (int i = 0; i < c->count; i++) {
        const struct row *row = c->views[i].row;
        for (int p = 0; p < y->param_count && competes(c, &c->views[i], than) && !answer_is_choice(row); p++) {
            const char *other = row_pair_value(row->param, row->param_count, y->params[p].name);
            y->narrows[p] |=
                other && !row_pair(than->fixed, than->fixed_count, y->params[p].name) && strcmp(other, y->params[p].value) != 0;
        }
    }
}

/* The layer and axes, where there are several; the parameters that differ between the curves, or leave out rows. */
static void say_key(struct text *t, const struct curve *curves, int count, const struct curve *y)
{
    bool places = ANY_OF(i, count, strcmp(curves[i].place, y->place) != 0);
    if (places)
        text_add(t, y->place);
    for (int p = 0; p < y->param_count; p++) {
        bool varies = y->narrows[p];
        for (int i = 0; i < count; i++) {
            const char *other = row_pair_value(curves[i].params, curves[i].param_count, y->params[p].name);
            varies |= other ? strcmp(other, y->params[p].value) != 0 : !strcmp(curves[i].place, y->place);
        }
        if (varies)
            text_addf(t, "%s%s=%s", t->len ? ", " : "", y->params[p].name, y->params[p].value);
    }
}

/* Does it change its sign, or lose its significance somewhere? */
static bool is_mixed(const struct curve *y)
{
    bool mixed = false;
    for (int k = 1; k < y->count; k++)
        mixed |= y->points[k].sign != y->points[0].sign;
    return mixed;
}

static bool turns(const struct curve *y)
{
    bool won = false, lost = false;
    for (int k = 0; k < y->count; k++) {
        won |= y->points[k].sign > 0;
        lost |= y->points[k].sign < 0;
    }
    return won && lost;
}

/* One sentence that names the curves that have the same sign at all points. */
static void say_steady(struct block *list, const char *question, const struct curve *curves, int count, const char *axis, bool counts,
                       int sign)
{
    SCOPED_TEXT names = {0}, t = {0};
    SCOPED struct point *points = NULL;
    const struct curve *first = NULL;
    int together = 0, n = 0;
    for (int i = 0; i < count; i++) {
        if (is_mixed(&curves[i]) || curves[i].points[0].sign != sign)
            continue;
        SCOPED_TEXT name = {0};
        say_key(&name, curves, count, &curves[i]);
        if (name.len)
            text_addf(&names, "%s%s", names.len ? "; " : "", text_get(&name));
        first = first ? first : &curves[i];
        together++;
        for (int k = 0; k < curves[i].count; k++)
            *APPEND(points, n) = curves[i].points[k];
    }
    if (!first)
        return;
    if (together > CURVES_NAMED) {
        text_free(&names);
        text_addf(&names, "%d of %d curves", together, count);
    }
    bool one = true; /* a single value of the axis is no "all" */
    for (int i = 1; i < n; i++)
        one &= !strcmp(points[i].at, points->at);
    text_addf(&t, "%s%s%s%s at ", question && counts ? BYTES : "", names.len ? text_get(&names) : "", names.len ? ": " : "",
              sign_words(sign, counts));
    text_addf(&t, "%s%s%s (", one ? axis : "all values of ", one ? " " : axis, one ? points->at : "");
    add_ratios(&t, points, n);
    text_add(&t, ")");
    if (sign && !first->points[0].between)
        say_reason(&t, &first->points[0]);
    block_item(list, "answer", question, text_get(&t));
}

/* The ratio of one pattern over all curves, at the scenario's own densities. False: there is no point. */
static bool add_pattern(struct text *t, const struct curve *curves, int count, const char *pattern)
{
    double sum = 0, least = INFINITY, most = 0;
    char m[NUMBER_TEXT], a[NUMBER_TEXT], b[NUMBER_TEXT];
    int n = 0;
    for (int i = 0; i < count; i++)
        for (int k = 0; k < curves[i].count; k++) {
            const struct point *p = &curves[i].points[k];
            if (p->added || !text_same(curves[i].pattern, pattern))
                continue;
            sum += log(p->ratio);
            least = fmin(least, p->ratio);
            most = fmax(most, p->ratio);
            n++;
        }
    if (n)
        text_addf(t, "%s%s %s x (%s to %s, %d case%s)", t->len ? ", " : "", pattern, number_3(exp(sum / n), m), number_3(least, a),
                  number_3(most, b), n, text_s(n));
    return n > 0;
}

/* Along the density: one figure for each kind of mask, where there are several. */
static void add_patterns(struct text *out, const struct curve *curves, int count, bool counts)
{
    SCOPED_TEXT t = {0};
    int kinds = 0;
    for (int i = 0; i < count; i++) {
        bool known = !curves[i].pattern;
        for (int k = 0; k < i && !known; k++)
            known = text_same(curves[k].pattern, curves[i].pattern);
        kinds += !known && add_pattern(&t, curves, count, curves[i].pattern);
    }
    if (kinds > 1)
        text_addf(out, "by kind of mask, geometric means of the %s: %s; ", counts ? "bytes" : "speed", text_get(&t));
}

/* "for an active tile the first reads 18.4 to 147 kB of the filter": nothing if the head of a row does not say it. */
static void say_filter(struct block *list, const struct curve *curves, int count)
{
    double least = INFINITY, most = 0, low = INFINITY, high = 0;
    char a[NUMBER_TEXT], b[NUMBER_TEXT];
    SCOPED_TEXT t = {0};
    for (int i = 0; i < count; i++)
        for (int k = 0; k < curves[i].count; k++) {
            double first = (double)curves[i].points[k].filter[0], second = (double)curves[i].points[k].filter[1];
            if (first < 0 || second <= 0)
                return;
            least = fmin(least, first / second), most = fmax(most, first / second);
            low = fmin(low, first), high = fmax(high, first);
        }
    text_addf(&t, "for an active tile the first reads %s%s", number_si(low, "B", a), low < high ? " to " : "");
    text_addf(&t, "%s of the filter, as its head declares: ", low < high ? number_si(high, "B", a) : "");
    if (least == 1 && most == 1)
        text_add(&t, "as many bytes as the second");
    else
        text_addf(&t, "%s to %s x those of the second", number_3(least, a), number_3(most, b));
    block_text(list, "answer", NULL, &t);
}

static void say_curves(struct block *list, const char *question, const char *axis, bool counts, const struct curve *curves, int count)
{
    int turning = 0, mixed = 0, told = 0;
    for (int i = 0; i < count; i++) {
        turning += turns(&curves[i]);
        mixed += is_mixed(&curves[i]);
    }
    SCOPED_TEXT head = {0};
    const char *own = count == 1 ? question : NULL; /* one curve needs no heading */
    text_add(&head, counts ? BYTES : "");
    if (!strcmp(axis, "mask.density"))
        add_patterns(&head, curves, count, counts);
    text_addf(&head, "at equal parameters along %s, %d of %d curve%s %s a turning point", axis, turning, count, text_s(count),
              turning == 1 ? "has" : "have");
    if (!own)
        block_text(list, "answer", question, &head);
    for (int pass = 0; pass < 2; pass++) /* those that turn first */
        for (int i = 0; i < count && told < SHOWN_SENTENCES; i++) {
            if (!is_mixed(&curves[i]) || turns(&curves[i]) != (pass == 0))
                continue;
            SCOPED_TEXT name = {0}, t = {0};
            say_key(&name, curves, count, &curves[i]);
            text_add(&t, own && counts ? BYTES : "");
            if (name.len)
                text_addf(&t, "%s: ", text_get(&name));
            say_curve(&t, &curves[i], axis, counts, !told);
            block_item(list, "answer", own, text_get(&t));
            told++;
        }
    if (mixed > told)
        block_itemf(list, "answer", NULL, "%d more of them are in the tables", mixed - told);
    for (int sign = 1; sign >= -1; sign--)
        say_steady(list, own, curves, count, axis, counts, sign);
    if (count)
        say_filter(list, curves, count);
}

/* ---- between cases: the sides fix another value of an axis or another layer ---- */

/* A timed row, kept after its case's view. */
struct timed {
    const struct row *row;
    double cost, low, high;
};

/* Does the side fix what is not a parameter of its rows? */
static bool fixes_case(const struct side *s, const struct row *row)
{
    return ANY_OF(i, s->fixed_count, !row_pair(row->param, row->param_count, s->fixed[i].name));
}

/* Equal layers and axes, apart from what the side fixes. */
static bool equal_cases(const struct row *a, const struct row *b, const struct side *fixed)
{
    bool equal = row_pair(fixed->fixed, fixed->fixed_count, "layer") || text_same(a->layer, b->layer);
    return equal &&
           ALL_OF(i, a->axis_count,
                  row_pair(fixed->fixed, fixed->fixed_count, a->axis[i].name) || text_same(a->axis[i].value, row_axis(b, a->axis[i].name)));
}

static void add_case_pair(struct curve *y, const struct timed *a, const struct timed *b, char *at)
{
    struct point p = {.at = at, .x = a->row->density_in, .ratio = b->cost / a->cost};
    p.sign = a->high < b->low ? 1 : b->high < a->low ? -1 : 0;
    p.between = true;
    *APPEND(y->points, y->count) = p;
}

static void pair_cases(struct curve **curves, int *count, const struct timed *list, int n, const struct side *what, const struct side *than,
                       const char *axis, struct without *without)
{
    for (int i = 0; i < n; i++) {
        const struct timed *best = NULL;
        for (int k = 0; k < n && side_has(what, list[i].row); k++)
            if (k != i && side_has(than, list[k].row) && equal_cases(list[i].row, list[k].row, than) &&
                answer_equal_parameters(list[i].row, list[k].row, than) && (!best || list[k].cost < best->cost))
                best = &list[k];
        char *at = best ? answer_coordinate(list[i].row, axis) : NULL;
        if (best && !at)
            answer_without(without, list[i].row, axis);
        if (at)
            add_case_pair(curve_of(curves, count, list[i].row, axis, what), &list[i], best, at);
    }
}

/* Pairs rows of cases that differ only in what the sides fix. False: the sides fix parameters only. */
static bool compare_cases(const struct ask *ask, struct curve **curves, int *count, const struct side *what, const struct side *than,
                          const char *axis, struct without *without)
{
    SCOPED struct timed *list = NULL;
    int n = 0;
    bool between = false;
    for (struct case_walk w = ask_walk(ask, ask->stored); case_next(&w);)
        for (int i = 0; i < w.view.count; i++) {
            const struct view *v = &w.view.views[i];
            const struct side *side = competes(&w.view, v, what) ? what : competes(&w.view, v, than) ? than : NULL;
            double cost_ns = side ? cost(&w.view, v) : NAN, apart = ask->stored ? STORED_EQUAL / 2 : 0;
            between |= side && fixes_case(side, v->row);
            if (side)
                *APPEND(list, n) = (struct timed){v->row, cost_ns, w.view.counts ? cost_ns * (1 - apart) : v->time->low_ns,
                                                  w.view.counts ? cost_ns * (1 + apart) : v->time->high_ns};
        }
    if (between)
        pair_cases(curves, count, list, n, what, than, axis, without);
    return between;
}

ORDER(by_density, struct point, ORDER_UP(x))

static void compare_over(const struct ask *ask, struct block *list, const struct side *what, const struct side *than, const char *axis,
                         const char *question)
{
    SCOPED struct curve *curves = NULL;
    struct without without = {0}, same = {0};
    int count = 0;
    bool between = compare_cases(ask, &curves, &count, what, than, axis, &without);
    for (struct case_walk w = ask_walk(ask, true); !between && case_next(&w);)
        for (int i = 0; i < w.view.count; i++) {
            const struct view *v = &w.view.views[i];
            const struct view *other = competes(&w.view, v, what) ? best_of(&w.view, than, v->row) : NULL;
            SCOPED char *at = other ? answer_coordinate(v->row, axis) : NULL;
            if (other && !at)
                answer_without(&without, v->row, axis);
            bool one_code = at && answer_same_code(v, other);
            if (one_code)
                answer_leave_out(&same, v->row);
            struct curve *y = at && !one_code ? curve_of(&curves, &count, v->row, axis, what) : NULL;
            if (y)
                find_narrow(y, &w.view, than);
            if (y && (strcmp(axis, "mask.density") != 0 || !v->row->like_case || !has_density(y, v->row->density_in)))
                add_point(y, &w.view, v, other, at);
        }
    for (int i = 0; i < count && !strcmp(axis, "mask.density"); i++) /* bisection adds densities at the end */
        qsort(curves[i].points, (size_t)curves[i].count, sizeof *curves[i].points, by_density);
    struct text none = {0};
    if (count) {
        say_curves(list, question, axis, ask_has_no_time(ask) && !ask->stored, curves, count);
        answer_say_imported(list, than);
    } else {
        answer_say_none(&none, ask, than);
        block_text(list, "answer", question, &none);
    }
    answer_say_without(list, &without, axis);
    say_same(list, &same);
    for (int i = 0; i < count; i++)
        curve_free(&curves[i]);
}

/* ---- each at its best ---- */

static void compare_best(const struct ask *ask, struct block *list, const struct side *what, const struct side *than, const char *question)
{
    SCOPED_BY(curve_free) struct curve y = {0};
    struct text t = {0};
    bool counts = ask_has_no_time(ask) && !ask->stored;
    int faster = 0, slower = 0;
    const struct point *largest = NULL;
    for (struct case_walk w = ask_walk(ask, true); case_next(&w);) {
        const struct view *a = best_of(&w.view, what, NULL), *b = best_of(&w.view, than, NULL);
        if (a && b)
            add_point(&y, &w.view, a, b, w.view.rows[0]->case_id);
    }
    for (int i = 0; i < y.count; i++) {
        faster += y.points[i].sign > 0;
        slower += y.points[i].sign < 0;
        if (y.points[i].sign && (!largest || fabs(log(y.points[i].ratio)) >= fabs(log(largest->ratio))))
            largest = &y.points[i];
    }
    if (!y.count) {
        answer_say_none(&t, ask, than);
    } else {
        text_addf(&t, "%s%s %s than %s in %d of %d cases", counts ? "Emu measures no time. " : "", answer_side_name(what),
                  counts ? "moves fewer bytes" : "is faster", answer_side_name(than), faster, y.count);
        if (slower)
            text_addf(&t, ", %s in %d", counts ? "more" : "slower", slower);
        if (y.count > faster + slower)
            text_addf(&t, ", %s in %d", sign_words(0, counts), y.count - faster - slower);
        text_add(&t, ": ");
        add_ratios(&t, y.points, y.count);
        text_add(&t, ", each at its best configuration");
    }
    if (largest && !largest->between)
        say_reason(&t, largest);
    block_text(list, "answer", question, &t);
    if (y.count)
        answer_say_imported(list, than);
}

void answer_compare(const struct ask *asked, struct block *list)
{
    struct ask by_times = *asked, *ask = &by_times;
    const char *over = ask_word(ask, "over"), *imported = ask_word(ask, "imported");
    SCOPED_BY(side_free) struct side what = {0}, than = {0};
    side_read(&what, ask_word(ask, "what"));
    side_read(&than, *imported ? imported : ask_word(ask, "than"));
    than.imported = *imported;
    ask->stored = *imported ? NULL : answer_stored(ask, (const struct side[]){what, than}, 2);
    SCOPED char *question = answer_question(
        text_format("%s %s faster than %s?", *over ? "Where is" : "Is", answer_side_name(&what), answer_side_name(&than)), ask->stored);
    *over ? compare_over(ask, list, &what, &than, over, question) : compare_best(ask, list, &what, &than, question);
}
