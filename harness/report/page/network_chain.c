/* report/page/network_chain: the network run whole, compared with the sum of its layers. */
#include "counter/layout_kernels.h"
#include "op/chain/chain.h"
#include "op/file/ops.h"
#include "report/page/network.h"
#include "report/view/number.h"
#include "report/limits.h"
#include <math.h>
#include <string.h>

/* By kernel. */
static void add_inside(struct text *t, const struct row *row)
{
    SCOPED_BY(layout_kernels_free) struct layout_kernels names = {0};
    char b[NUMBER_TEXT], name[64], inside[96];
    const char *before = " (";
    layout_kernels_load(NULL, &names);
    for (int i = 0; i < names.count; i++) {
        layout_kernels_metric(&names, i, inside, sizeof inside);
        double ns = row_value(row, -1, inside);
        if (isnan(ns))
            continue;
        layout_kernels_name(&names, i, name, sizeof name);
        text_addf(t, "%s%s %s", before, name, number_time(ns, b));
        before = ", ";
    }
    text_add(t, *before == ',' ? ")" : "");
}

/* The share of a part in times that were measured in the same way: conversions timed between events as a share of all steps timed between
 * events, or kernels of isolated rows as a share of the sum of isolated rows. Each such time has an overhead that the network's own time
 * lacks, so a share of the network's time could exceed 1. NaN: the part is unknown. */
static double share_of(const struct row *row, double part_ns, const char *whole, double chain_ns)
{
    double whole_ns = row_value(row, -1, whole);
    return part_ns / (whole_ns >= part_ns ? whole_ns : fmax(chain_ns, part_ns));
}

static double share_of_ours(const struct row *row, const char *part, double chain_ns)
{
    return share_of(row, row_value(row, -1, part), "chain.steps_ns", chain_ns);
}

static double share_of_theirs(const struct row *row, double chain_ns)
{
    return share_of(row, row_value(row, -1, "chain.library_layout_ns"), "chain.sum_ns", chain_ns);
}

static void add_layout(struct text *t, const struct row *row, double chain_ns)
{
    double ours = share_of_ours(row, "chain.layout_ns", chain_ns), theirs = share_of_theirs(row, chain_ns);
    char a[NUMBER_TEXT], b[NUMBER_TEXT];
    if (!isnan(ours) && ours > 0)
        text_addf(t, "; layout changes by bench %s %%", number_percent(ours, a));
    if (isnan(theirs))
        return;
    text_addf(t, "; layout changes inside the library %s %%", number_percent(theirs, b));
    add_inside(t, row);
}

static void add_signed(struct text *t, const char *what, double ns)
{
    char a[NUMBER_TEXT];
    text_addf(t, " %s %s %s", ns < 0 ? "-" : "+", number_time(fabs(ns), a), what);
}

/* "its layers by themselves 3.90 ms - 300 us warm L2 + 120 us layout changes between layers + 380 us launches, gaps and the rest" */
static void add_difference(struct text *t, const struct row *row, double chain_ns)
{
    double sum = row_value(row, -1, "chain.sum_ns"), warm = row_value(row, -1, "chain.sum_warm_ns"),
           back = row_value(row, -1, "chain.sum_back_ns"), layout = row_value(row, -1, "chain.plan_layout_ns");
    char a[NUMBER_TEXT];
    if (isnan(sum))
        return;
    text_addf(t, "; the sum of its layers timed one by one %s", number_time(sum, a));
    double rest = chain_ns - sum;
    if (!(warm < sum)) /* warm rows of short kernels wait for the host and say nothing about L2 */
        warm = NAN;
    if (!isnan(back)) {
        add_signed(t, "warm L2 and launches of short layers", back - sum);
        rest -= back - sum;
    } else if (!isnan(warm)) {
        add_signed(t, "warm L2", warm - sum);
        rest -= warm - sum;
    }
    if (!isnan(layout) && layout > 0) {
        add_signed(t, "layout changes between layers", layout);
        rest -= layout;
    }
    add_signed(t, isnan(warm) ? "warm L2, launches, gaps and other" : "launches, gaps and other", rest);
}

/* Both against the case's baseline: the library in the plan that is its fastest. */
static void add_speedups(struct text *t, const struct row *row, const struct row_time *time, const struct row *library)
{
    double sum = row_value(row, -1, "chain.sum_ns"), low = row_value(row, -1, "chain.sum_low_ns"),
           high = row_value(row, -1, "chain.sum_high_ns");
    double zero = row_value(library, -1, "chain.sum_ns"), zero_low = row_value(library, -1, "chain.sum_low_ns"),
           zero_high = row_value(library, -1, "chain.sum_high_ns");
    char a[NUMBER_TEXT], b[NUMBER_TEXT], c[NUMBER_TEXT];
    if (isnan(time->ratio) || time_is_to_itself(time)) /* the library */
        return;
    text_addf(t, ", %sx as fast as the library [%s, %s] end to end%s", number_3(time->ratio, a), number_3(time->ratio_low, b),
              number_3(time->ratio_high, c), time->ratio_low <= 1 && time->ratio_high >= 1 ? " (no significant difference)" : "");
    if (sum > 0 && zero > 0 && low > 0 && high > 0) {
        text_addf(t, ", %sx [%s, %s] as the sum of its layers", number_3(zero / sum, a), number_3(zero_low / high, b),
                  number_3(zero_high / low, c));
    }
}

/* Which of several: a network is run whole once for each mask. */
static void add_whole(struct text *t, const struct row *row)
{
    text_addf(t, "whole network%s%s", row->axes && *row->axes ? " " : "", row->axes ? row->axes : "");
}

static void add_timed(struct text *t, const struct case_view *c, const struct view *v)
{
    const struct row *row = v->row;
    SCOPED_TEXT names = {0};
    char value[NUMBER_TEXT], half[NUMBER_TEXT];
    double ns = v->time->median_ns;
    bool others = view_other_names(c, v, &names);
    number_pair(ns / 1e3, v->half_ns / 1e3, value, half);
    add_whole(t, row);
    text_addf(t, ", %s%s%s: %s us%s%s", v->name, others ? " " : "", text_get(&names), value, *half ? " ±" : "", half);
    if (c->zero)
        add_speedups(t, row, v->time, c->zero->row);
    add_difference(t, row, ns);
    add_layout(t, row, ns);
    if (row->what && row->what[0])
        text_addf(t, "; %s", row->what);
    text_add(t, "\n");
}

/* A chain of one variant, or with a kernel for several layers: only the fastest of these are reported. */
static bool is_single(const struct row *row)
{
    return row->variant && strcmp(row->variant, CHAIN_ROW_LIBRARY) != 0 && strcmp(row->variant, CHAIN_ROW_BEST) != 0;
}

/* The rows of one case; counts those that are not verified. */
static void network_chain_add_case(struct text *t, const struct case_view *c)
{
    int verified = 0, timed = 0, singles = 0, failed = 0;
    double worst = 0;
    for (int i = 0; i < c->count; i++) {
        const struct view *v = &c->views[c->order[i]];
        failed += v->failed;
        if (v->row->status != ROW_OK)
            continue;
        verified++;
        worst = v->row->error_over_bound > worst ? v->row->error_over_bound : worst;
        if (v->ranked && v->time && !v->same_as) { /* as the table has them */
            singles += is_single(v->row);
            if (!is_single(v->row) || singles <= SHOWN_SINGLES)
                add_timed(t, c, v);
            timed++;
        }
    }
    if (singles > SHOWN_SINGLES) {
        add_whole(t, c->rows[0]);
        text_addf(t, ": %d more in the table of %s\n", singles - SHOWN_SINGLES, c->count ? c->rows[0]->case_id : "");
    }
    if (!timed) {
        char a[NUMBER_TEXT];
        add_whole(t, c->rows[0]);
        text_addf(t, ": %d row%s verified against a reference in double precision", verified, text_s(verified));
        if (verified)
            text_addf(t, " (largest error %s of the tolerance)", number_3(worst, a));
        if (failed)
            text_addf(t, ", %d failed", failed);
        if (c->count > verified + failed)
            text_addf(t, ", %d not run", c->count - verified - failed);
        text_add(t, "; not timed\n");
    }
}

void network_chains(struct text *t, const struct run *run, struct row *const *rows, int count, const char *network)
{
    for (int i = 0, end; i < count; i = end) {
        struct case_view c;
        end = case_end(rows, count, i);
        if (!op_is_for(rows[i]->op, TASK_NETWORK) || !rows[i]->layer || strcmp(rows[i]->layer, network) != 0)
            continue;
        case_view_make(&c, run, rows + i, end - i);
        network_chain_add_case(t, &c);
        case_view_free(&c);
    }
}

/* ---- plans ---- */

/* A row's value of `by`; where it has none, the network runs as its layers give it. Without `by` each row is a plan of its own. */
static const char *plan_value(const struct view *v, const char *by)
{
    const char *value = by[0] ? row_pair_value(v->row->param, v->row->param_count, by) : v->name;
    return value ? value : "given";
}

/* "302 us, layout changes 4 % of it". */
static void add_plan(struct text *t, const struct view *v, const char *by)
{
    double ns = v->time->median_ns, ours = share_of_ours(v->row, "chain.layout_ns", ns), theirs = share_of_theirs(v->row, ns),
           planned = share_of_ours(v->row, "chain.plan_layout_ns", ns);
    double layout = isnan(ours) && isnan(theirs) ? planned : fmax(ours, 0) + fmax(theirs, 0); /* fmax: NaN gives way */
    char a[NUMBER_TEXT];
    text_addf(t, "%s%s%s%s %s", by, by[0] ? " " : "", plan_value(v, by), by[0] ? "" : ":", number_time(ns, a));
    if (!isnan(layout) && (layout > 0 || !strcmp(by, "layout"))) /* the library's own are known where its kernels were traced */
        text_addf(t, " (%s %% of it layout changes%s)", number_percent(layout, a), isnan(theirs) ? " by bench" : "");
}

static bool same_value(const struct view *a, const struct view *b, const char *by)
{
    return by[0] && strcmp(plan_value(a, by), plan_value(b, by)) == 0;
}

static bool is_library(const struct view *v)
{
    return v->row->variant && !strcmp(v->row->variant, CHAIN_ROW_LIBRARY);
}

/* Of each value of `by` the fastest row, of all or of the library's; by time, after the baseline. */
static void add_plans(struct text *t, const struct case_view *c, const char *by, bool library, const char *head)
{
    const char *separator = head;
    for (int i = 0; i < c->count; i++) {
        const struct view *v = &c->views[c->order[i]];
        bool known = v->row->status != ROW_OK || !v->ranked || (library && !is_library(v));
        for (int k = 0; k < c->count && !known; k++) {
            const struct view *other = &c->views[k];
            known = other != v && other->row->status == ROW_OK && other->ranked && (!library || is_library(other)) &&
                    same_value(v, other, by) && other->time->median_ns < v->time->median_ns;
        }
        if (!known) {
            text_add(t, separator);
            add_plan(t, v, by);
            separator = "; ";
        }
    }
}

/* What a layout plan is that changes layouts. */
static const char *plan_words(const struct case_view *c, const char *by)
{
    for (int i = 0; i < c->count && !strcmp(by, "layout"); i++)
        if (!strcmp(plan_value(&c->views[i], by), "per_op"))
            return ". The plan ends changes the layout before the first and after the last layer, and per_op before and after each layer. "
                   "Each share is that of the launches' times, measured with an event between each two launches";
    return "";
}

void network_plans(struct block *list, const struct run *run, struct row *const *rows, int count, const char *by, const char *question)
{
    for (struct case_walk w = {.run = run, .rows = rows, .count = count}; case_next(&w);) {
        const struct case_view *c = &w.view;
        if (!op_is_for(c->rows[0]->op, TASK_NETWORK))
            continue;
        SCOPED char *head = text_format("whole network %s, fastest configuration of each: ", c->rows[0]->case_name);
        struct text t = {0};
        add_plans(&t, c, by, false, head);
        if (t.len)
            add_plans(&t, c, by, true, ". With the library's kernels: ");
        bool answered = t.len > 0;
        text_add(&t, answered && question ? plan_words(c, by) : ""); /* once */
        block_text(list, "answer", answered ? question : NULL, &t);
        question = answered ? NULL : question;
    }
}
