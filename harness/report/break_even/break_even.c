/* report/break_even/break_even: see break_even.h. */
#include "report/break_even/break_even.h"
#include "base/node.h"
#include "op/work.h"
#include "base/order.h"
#include "base/stats/estimate.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- crossings ---- */

#define NAMED 1.5               /* the end of a bracket at most this many times its start: the crossing has a density of its own */
#define BRACKETED 0.1           /* of the crossing: narrow enough */
#define BESIDE 0.3              /* share of the crossing: two points this close to its estimate are close enough */
#define BRACKET_LEAST 0.2       /* share of a bracket that a further point removes */
#define INCONCLUSIVE_LEAST 0.05 /* share of the crossing that a density next to inconclusive ones must promise to remove */
#define INCONCLUSIVE_BEYOND 1.2 /* times their intervals' reach: a density that far from 1 should be conclusive */
#define INCONCLUSIVE_STEP 0.4   /* share of the way to the conclusive end, after this many inconclusive densities */
#define INCONCLUSIVE_MANY 4

static bool wins(const struct crossing_point *p)
{
    return p->high < 1;
}

static bool loses(const struct crossing_point *p)
{
    return p->low > 1;
}

/* The bracket's ends as indices of points; -1: none. A loss before all wins is not an end. */
static void bracket_of(const struct crossing_point *p, int count, int *low, int *high)
{
    *low = *high = -1;
    for (int i = 0; i < count && *high < 0; i++)
        if (wins(&p[i]))
            *low = i;
        else if (loses(&p[i]) && *low >= 0)
            *high = i;
    for (int i = 0; i < count && *low < 0 && *high < 0; i++)
        if (loses(&p[i]))
            *high = i;
}

/* If the curve only turns from losing to winning: the last loss before the first win. */
static void bracket_back(const struct crossing_point *p, int count, int *low, int *high)
{
    *low = *high = -1;
    for (int i = 0; i < count && *high < 0; i++)
        if (loses(&p[i]))
            *low = i;
        else if (wins(&p[i]))
            *high = i;
}

static double interpolate(const struct crossing_point *p, int low, int high)
{
    for (int i = low; i < high; i++)
        if (p[i].y <= 1 && p[i + 1].y > 1)
            return p[i].x + (p[i + 1].x - p[i].x) * (1 - p[i].y) / (p[i + 1].y - p[i].y);
    return NAN;
}

struct crossing crossing_find(const struct crossing_point *p, int count)
{
    struct crossing c = {.kind = CROSSING_FEW, .at = NAN, .low = NAN, .high = NAN};
    int low, high, significant = 0, won = 0, last = -1;
    if (count < 2)
        return c;
    for (int i = 0; i < count; i++) {
        if (!wins(&p[i]) && !loses(&p[i]))
            continue;
        c.turns += last >= 0 && wins(&p[i]) != wins(&p[last]);
        won += wins(&p[i]);
        significant++;
        last = i;
    }
    bracket_of(p, count, &low, &high);
    c.back = c.turns && high < 0;
    if (c.back)
        bracket_back(p, count, &low, &high);
    c.low = low >= 0 ? p[low].x : NAN;
    c.high = high >= 0 ? p[high].x : NAN;
    c.kind = significant == count && won == count ? CROSSING_WINS : significant == count && !won ? CROSSING_LOSES : CROSSING_BETWEEN;
    if (c.kind == CROSSING_BETWEEN && !c.back && low >= 0 && high >= 0 && c.high <= NAMED * c.low) {
        c.kind = CROSSING_AT;
        c.at = interpolate(p, low, high);
    }
    return c;
}

/* Times grow almost linearly with the density. So this picks a point slightly beside the interpolated crossing, towards the farther end;
 * two more points can then bracket the crossing. If the ends are far apart, or the curve is not linear, each point still removes a good
 * part of the bracket. */
static double beside_crossing(const struct crossing_point *low, const struct crossing_point *high)
{
    double from = low->x, to = high->x, width = to - from;
    if (from > 0 && to > 4 * from)
        return sqrt(from * to);
    double at = from + width * (1 - low->y) / (high->y - low->y), aside = BESIDE * BRACKETED * at;
    at += at - from > to - at ? -aside : aside;
    return fmin(fmax(at, from + BRACKET_LEAST * width), to - BRACKET_LEAST * width);
}

/* Next to inconclusive densities: the point on the line from one of them to the conclusive end that is as far from that end as possible.
 * Returns how much of the bracket it removes; NaN in *x: none. */
static double beside_inconclusive(const struct crossing_point *inconclusive, const struct crossing_point *significant, int inside,
                                  double *x)
{
    double reach = fmax(inconclusive->high - inconclusive->low, significant->high - significant->low) / 2 * INCONCLUSIVE_BEYOND,
           rise = significant->y - inconclusive->y, from = fmin(inconclusive->x, significant->x),
           to = fmax(inconclusive->x, significant->x);
    double share = rise != 0 ? ((significant->y < 1 ? 1 - reach : 1 + reach) - inconclusive->y) / rise : 1;
    *x = NAN;
    if (!(share < 1))
        return 0;
    share = fmax(share, inside < INCONCLUSIVE_MANY ? 0 : INCONCLUSIVE_STEP);
    *x = from > 0 && to > 4 * from ? sqrt(from * to) : inconclusive->x + share * (significant->x - inconclusive->x);
    return fabs(significant->x - *x);
}

double crossing_next(const struct crossing_point *p, int count)
{
    int low, high;
    bracket_of(p, count, &low, &high);
    if (count < 2 || low < 0 || high < 0)
        return NAN;
    double from = p[low].x, to = p[high].x, middle = (from + to) / 2;
    if (to - from <= BRACKETED * middle)
        return NAN;
    if (high == low + 1)
        return beside_crossing(&p[low], &p[high]);
    double below, above, takes_below = beside_inconclusive(&p[low + 1], &p[low], high - low - 1, &below),
                         takes_above = beside_inconclusive(&p[high - 1], &p[high], high - low - 1, &above);
    if (fmax(takes_below, takes_above) <= INCONCLUSIVE_LEAST * middle)
        return NAN;
    return takes_below > takes_above ? below : above;
}

/* ---- from rows to groups ---- */

/* "blobs24": the patterns that have curves of their own. */
static bool mask_pattern(const struct row *row, char *out, size_t size)
{
    if (row->density_in < 0 || !row->mask_pattern)
        return false;
    snprintf(out, size, row->mask_radius >= 0 ? "%s%lld" : "%s", row->mask_pattern, (long long)row->mask_radius);
    return true;
}

#define BY_MOST 16
/* One question of the scenario: `break_even: {against: NAME, by: [layer, n, mask.pattern]}`. */
struct ask {
    char against[VARIANT_BASE]; /* "" for the baseline */
    bool everything;            /* without `by`, cases of one curve differ only in the density */
    char by[BY_MOST][64];
    int by_count;
};

/* True if cases that differ in this have curves of their own. They always do for type and math: a sparse row is compared with the library
 * in the same arithmetic. */
static bool tells_apart(const struct ask *ask, const char *name)
{
    bool listed = ask->everything || strcmp(name, "dtype") == 0 || strcmp(name, "math") == 0;
    for (int i = 0; i < ask->by_count && !listed; i++)
        listed = strcmp(ask->by[i], name) == 0;
    return listed;
}

/* The name of a curve: layer, other axes, type and math, as far as they differ between curves. */
static char *shared_title(const struct row *row, const char *pattern, const struct ask *ask)
{
    struct text t = {0};
    if (tells_apart(ask, "layer"))
        text_addf(&t, "%s", row->layer ? row->layer : "");
    for (int i = 0; i < row->axis_count; i++) {
        const struct row_pair *a = &row->axis[i];
        if (strcmp(a->name, "mask") != 0 && tells_apart(ask, a->name))
            text_addf(&t, "%s%s=%s", t.len ? " " : "", a->name, a->value);
    }
    if (tells_apart(ask, "mask.pattern") || tells_apart(ask, "mask"))
        text_addf(&t, "%s%s", t.len ? ", " : "", pattern);
    if (!ask->everything && tells_apart(ask, "mask.seed") && row->mask_seed >= 0)
        text_addf(&t, "%sseed %lld", t.len ? ", " : "", (long long)row->mask_seed);
    text_addf(&t, "%s%s %s", t.len ? ", " : "", row->dtype ? row->dtype : "", row->math ? row->math : "");
    return text_take(&t);
}

static struct break_group *group_of(struct break_group **groups, int *count, char *title, const char *against)
{
    for (int i = 0; i < *count; i++) {
        if (strcmp((*groups)[i].title, title) == 0 && strcmp((*groups)[i].against, against) == 0) {
            free(title);
            return &(*groups)[i];
        }
    }
    struct break_group *g = APPEND(*groups, *count);
    *g = (struct break_group){.title = title};
    snprintf(g->against, sizeof g->against, "%.*s", VARIANT_BASE - 1, against);
    return g;
}

/* True if the variant's configurations need their parameters in the name, since a case has several. Bisection adds cases with only some
 * of the configurations, behind the scenario's own cases, which decide. */
static struct break_line *break_even_line_of(struct break_group *g, const char *name, const struct row *row)
{
    for (int i = 0; i < g->line_count && row->like_case; i++)
        if (row_same_configuration(g->lines[i].row, row))
            return &g->lines[i];
    for (int i = 0; i < g->line_count; i++)
        if (strcmp(g->lines[i].name, name) == 0)
            return &g->lines[i];
    struct break_line *l = APPEND(g->lines, g->line_count);
    *l = (struct break_line){.row = row};
    snprintf(l->name, sizeof l->name, "%s", name);
    return l;
}

#define NEAR 0.03
bool break_even_one_density(const struct break_group *g, double a, double b)
{
    return a == b || (g->merges && fabs(a - b) <= NEAR * fmax(a, b));
}

/* Points at one density (other seeds) become one: the mean, and an interval that holds all. */
static void add_density(const struct break_group *g, struct crossing_point **points, int *count, struct crossing_point with)
{
    for (int i = 0; i < *count; i++) {
        struct crossing_point *p = &(*points)[i];
        if (!break_even_one_density(g, p->x, with.x))
            continue;
        double share = 1.0 / (++p->runs + 1);
        p->x += (with.x - p->x) * share;
        p->y += (with.y - p->y) * share;
        p->ns += (with.ns - p->ns) * share;
        p->low = fmin(p->low, with.low);
        p->high = fmax(p->high, with.high);
        p->ns_low = fmin(p->ns_low, with.ns_low);
        p->ns_high = fmax(p->ns_high, with.ns_high);
        return;
    }
    *APPEND(*points, *count) = with;
}

/* A row's own time at a density. */
static struct crossing_point own_time(double x, const struct row_time *t)
{
    double low = t->low_ns > 0 ? t->low_ns : t->median_ns, high = t->high_ns > 0 ? t->high_ns : t->median_ns;
    return (struct crossing_point){.x = x, .ns = t->median_ns, .ns_low = low, .ns_high = high, .floor_ns = NAN, .waste = NAN};
}

/* Were both rows timed in one group, round by round? Rounds of different groups are not paired. */
static bool side_by_side(const struct row_time *a, const struct row_time *b)
{
    return a->samples_ns && b->samples_ns && a->places && b->places && a->took_s > 0 && a->took_s == b->took_s && a->rounds > 0 &&
           b->rounds > 0;
}

/* The ratio of two rows over the rounds that both took part in. */
static struct estimate side_by_side_ratio(const struct row_time *a, const struct row_time *b, int family)
{
    int rounds = (int)(a->rounds < b->rounds ? a->rounds : b->rounds);
    SCOPED int *places = xcalloc((size_t)rounds, sizeof *places);
    for (int i = 0; i < rounds; i++)
        places[i] = (int)a->places[i];
    return estimate_ratio_grouped(a->samples_ns, b->samples_ns, places, rounds, family);
}

/* Sparse over dense. Against the baseline the stored paired ratio is used; another pair of rows that were timed together is paired here;
 * otherwise the two intervals are combined. The intervals of all ratios of a case hold jointly. */
static struct crossing_point quotient_at(double x, const struct row_time *sparse, const struct row_time *dense, bool paired, int family)
{
    struct crossing_point p = own_time(x, sparse), d = own_time(x, dense);
    bool ratio = paired && sparse->ratio > 0 && sparse->ratio_low > 0 && sparse->ratio_high > 0;
    struct estimate own = {.count = 0};
    if (!ratio && side_by_side(sparse, dense))
        own = side_by_side_ratio(sparse, dense, family);
    p.y = ratio ? 1 / sparse->ratio : own.count ? own.median : p.ns / d.ns;
    p.low = ratio ? 1 / sparse->ratio_high : own.count ? own.low : p.ns_low / d.ns_high;
    p.high = ratio ? 1 / sparse->ratio_low : own.count ? own.high : p.ns_high / d.ns_low;
    return p;
}

static const struct view *view_named(const struct case_view *c, const char *name)
{
    for (int i = 0; i < c->count; i++) {
        const char *full = c->rows[i]->variant ? c->rows[i]->variant : "";
        if (c->views[i].ranked && (strcmp(full, name) == 0 || strcmp(variant_short(c->rows[i]), name) == 0))
            return &c->views[i];
    }
    return NULL;
}

/* Can the pattern of its mask be drawn at another density? */
static bool has_density(const struct row *row)
{
    for (int i = 0; row->mask_pattern && mask_pattern_names[i]; i++)
        if (!strcmp(mask_pattern_names[i], row->mask_pattern))
            return mask_pattern_keys[i] & MASK_DENSITY;
    return false;
}

static void break_even_add_case(struct break_group *g, const struct case_view *c, const struct view *dense, bool paired)
{
    double x = c->rows[0]->density_in;
    if (has_density(c->rows[0]) && c->rows[0]->case_id)
        *APPEND(g->cases, g->case_count) = (struct break_case){x, c->rows[0]};
    g->rival = dense->row->variant;
    struct crossing_point p = own_time(x, dense->time);
    p.floor_ns = c->rows[0]->floor_ns > 0 ? c->rows[0]->floor_ns : NAN;
    add_density(g, &g->dense, &g->dense_count, p);
    int others = -1;
    for (int i = 0; i < c->count; i++)
        others += c->views[i].ranked;
    for (int i = 0; i < c->count; i++) {
        const struct view *v = &c->views[i];
        const struct row *r = v->row;
        if (!v->ranked || v == dense || r->status != ROW_OK)
            continue;
        struct break_line *l = break_even_line_of(g, v->name, r);
        l->sparse |= !row_runs_dense(r);
        p = quotient_at(x, v->time, dense->time, paired, others);
        p.waste = r->flop_scheduled > 0 && r->flop_useful >= 0 ? 1 - r->flop_useful / r->flop_scheduled : NAN;
        const char *same = v->same_as ? v->same_as->name : "";
        if (!l->count)
            snprintf(l->same_as, sizeof l->same_as, "%s", same);
        else if (strcmp(l->same_as, same) != 0)
            l->same_as[0] = 0;
        add_density(g, &l->points, &l->count, p);
    }
}

/* The baseline; where that only moves the bytes, the fastest row that does the op and all of it. */
static const struct view *own_dense(const struct case_view *c)
{
    if (!c->zero || !c->zero->ranked || c->zero->row->status == ROW_OK)
        return c->zero && c->zero->ranked ? c->zero : NULL;
    return CASE_LEAST(c, v, v->ranked && v->row->status == ROW_OK && row_runs_dense(v->row), v->time->median_ns);
}

/* Every pattern with a density that the cases of this title's layer have: full and empty are the ends of each. */
static void add_to_groups(struct break_group **groups, int *count, const struct case_view *c, const struct ask *ask, char (*patterns)[64],
                          int pattern_count)
{
    char own[64];
    const struct view *dense = *ask->against ? view_named(c, ask->against) : own_dense(c);
    if (!dense || !dense->time || !mask_pattern(c->rows[0], own, sizeof own))
        return;
    const char *against = *ask->against ? ask->against : dense == c->zero ? c->zero_name : variant_short(dense->row);
    ptrdiff_t last = -1;
    for (int i = 0; i < pattern_count; i++) {
        if (strcmp(own, patterns[i]) == 0 || mask_pattern_is_end(c->rows[0]->mask_pattern)) {
            struct break_group *g = group_of(groups, count, shared_title(c->rows[0], patterns[i], ask), against);
            g->merges = !ask->everything;
            g->rival_varies |= !*ask->against && dense != c->zero;
            if (g - *groups != last) /* for patterns on one curve, the ends count once */
                break_even_add_case(g, c, dense, dense == c->zero);
            last = g - *groups;
        }
    }
}

ORDER(by_density, struct crossing_point, ORDER_UP(x))

/* How far up it is known to win. */
static double reach(const struct break_line *l)
{
    return l->crossing.kind == CROSSING_WINS ? 2
           : l->crossing.kind == CROSSING_AT ? l->crossing.at
                                             : fmax(l->crossing.back ? -1 : l->crossing.low, -1);
}

ORDER(by_reach, struct break_line, reach(x) != reach(y) ? (reach(x) > reach(y) ? -1 : 1) : strcmp(x->name, y->name))

/* Joins lines with equal machine code: a line that equals another at all densities becomes a further name of it. A line that skips nothing
 * at any density is dense and is dropped. A sparse network whose mask has grown over its layers schedules all work, and stays. */
static void fold_lines(struct break_group *g)
{
    SCOPED int *into = xcalloc((size_t)g->line_count + 1, sizeof *into); /* of each line: the other's index + 1; 0: none */
    int kept = 0;
    for (int i = 0; i < g->line_count; i++)
        for (int k = 0; k < g->line_count && *g->lines[i].same_as; k++)
            if (k != i && !*g->lines[k].same_as && !strcmp(g->lines[k].name, g->lines[i].same_as))
                into[i] = k + 1;
    for (int i = 0; i < g->line_count; i++)
        if (into[i]) {
            char *name = g->lines[into[i] - 1].name;
            SCOPED char *names = text_format("%s = %s", name, g->lines[i].name);
            snprintf(name, sizeof g->lines[i].name, "%s", names);
        }
    for (int i = 0; i < g->line_count; i++)
        if (into[i] || !g->lines[i].sparse)
            free(g->lines[i].points);
        else
            g->lines[kept++] = g->lines[i];
    g->line_count = kept;
}

static void finish_group(struct break_group *g)
{
    fold_lines(g);
    for (int i = 0; i < g->line_count; i++) {
        struct break_line *l = &g->lines[i];
        qsort(l->points, (size_t)l->count, sizeof *l->points, by_density);
        l->crossing = crossing_find(l->points, l->count);
    }
    if (g->line_count)
        qsort(g->lines, (size_t)g->line_count, sizeof *g->lines, by_reach);
    if (g->dense_count)
        qsort(g->dense, (size_t)g->dense_count, sizeof *g->dense, by_density);
}

static void read_by(const struct node *by, struct ask *ask)
{
    ask->everything = !by;
    for (int i = 0; by && i < (by->kind == NODE_LIST ? by->count : 1) && ask->by_count < BY_MOST; i++) {
        const struct node *one = by->kind == NODE_LIST ? by->items[i] : by;
        if (one->kind == NODE_SCALAR)
            snprintf(ask->by[ask->by_count++], sizeof ask->by[0], "%.63s", one->text);
    }
}

/* The scenario's break-even questions; without any, every variant against the baseline. */
static int asked(const struct run *run, struct ask *asks, int most)
{
    struct error ignored = {0};
    const char *text = run && run->asked ? run->asked : run && run->scenario_text ? run->scenario_text : "";
    SCOPED_BY(node_leave) struct node *root = *text ? node_parse_text("scenario", text, strlen(text), 1, 1, &ignored) : NULL;
    const struct node *list = root ? node_get(root, "answers") : NULL;
    int count = 0;
    for (int i = 0; list && list->kind == NODE_LIST && i < list->count && count < most; i++) {
        const struct node *answer = node_get(list->items[i], "break_even"), *against = answer ? node_get(answer, "against") : NULL;
        if (against && against->kind == NODE_SCALAR) {
            struct ask *ask = &asks[count++];
            *ask = (struct ask){0};
            bool zero = strcmp(against->text, "cudnn") == 0; /* the baseline is the fastest of the library's rows */
            snprintf(ask->against, sizeof ask->against, "%s", zero ? "" : against->text);
            read_by(node_get(answer, "by"), ask);
        }
    }
    if (!count)
        asks[count++] = (struct ask){.everything = true};
    return count;
}

#define ASKED_MOST 4
#define PATTERNS_MOST 32

static int find_patterns(struct row *const *rows, int count, char (*patterns)[64])
{
    int n = 0;
    for (int i = 0; i < count; i++) {
        char own[64];
        bool known = !mask_pattern(rows[i], own, sizeof own) || !mask_pattern_has_density(rows[i]->mask_pattern);
        for (int k = 0; k < n && !known; k++)
            known = strcmp(patterns[k], own) == 0;
        if (!known && n < PATTERNS_MOST)
            snprintf(patterns[n++], 64, "%s", own);
    }
    return n;
}

static void clear_group(struct break_group *g)
{
    for (int k = 0; k < g->line_count; k++)
        free(g->lines[k].points);
    FREE_ALL(g->cases, g->lines, g->dense, g->title);
}

int break_even_make(struct break_group **out, const struct run *run, struct row *const *rows, int count)
{
    char patterns[PATTERNS_MOST][64];
    struct ask asks[ASKED_MOST];
    int pattern_count = find_patterns(rows, count, patterns), ask_count = asked(run, asks, ASKED_MOST), made = 0, kept = 0;
    *out = NULL;
    for (struct case_walk w = {.run = run, .rows = rows, .count = count}; case_next(&w);)
        for (int k = 0; k < ask_count && !w.view.counts; k++)
            add_to_groups(out, &made, &w.view, &asks[k], patterns, pattern_count);
    for (int i = 0; i < made; i++) {
        struct break_group *g = &(*out)[i];
        finish_group(g);
        if (g->line_count && g->dense_count >= 2) {
            struct break_group swap = (*out)[kept];
            (*out)[kept++] = *g;
            *g = swap;
        }
    }
    for (int i = kept; i < made; i++) /* groups that were left out come last */
        clear_group(&(*out)[i]);
    return kept;
}

bool break_even_asked(const struct run *run)
{
    struct ask asks[ASKED_MOST];
    return asked(run, asks, ASKED_MOST) > 0 && !asks[0].everything;
}

void break_even_free(struct break_group *groups, int count)
{
    for (int i = 0; i < count; i++)
        clear_group(&groups[i]);
    free(groups);
}
