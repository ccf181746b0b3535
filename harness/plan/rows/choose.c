#include "plan/rows/choose.h"
#include "plan/rows/private.h"
#include "base/text.h"
#include "counter/layout_kernels.h"
#include "kernel/head/load.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_library(const struct plan_row *p)
{
    return p->variant && variant_is_library(p->variant);
}

/* True if the row is the library's, or a rule's, which may take the library for another size of the layer. */
static bool may_call_library(const struct plan_row *p)
{
    return is_library(p) || (p->variant && variant_selects(p->variant));
}

#define OVERLAP_NS 2000 /* what a kernel that overlaps hides of its launch and of its weights' way, about */

/* The isolated time that reports show first: cold if measured. NaN: none. */
static const struct row_time *headline(const struct row *row)
{
    const struct row_time *t = row ? row_time(row, MODE_COLD) : NULL;
    return t || !row ? t : row_time(row, MODE_WARM);
}

static bool same_epilogue(const struct work *a, const struct work *b)
{
    SCOPED_TEXT x = {0}, y = {0};
    work_describe_epilogue(a, &x);
    work_describe_epilogue(b, &y);
    return !strcmp(text_get(&x), text_get(&y));
}

/* True if the row measures this link: its layer, with the network's mask, in this layout and type. Sizes may differ if cases are cropped.
 */
static bool stands_for(const struct plan *plan, int index, const struct chain_link *link)
{
    const struct plan_row *p = &plan->rows[index];
    const struct scenario_case *c = &plan->cases[p->case_index];
    return p->kind == PLAN_LAYER && !strcmp(c->layer->name, link->name) && mask_same(&c->work.mask, &link->work.mask) &&
           c->work.layout == link->work.layout && c->work.dtype == link->work.dtype && c->work.math == link->work.math &&
           c->work.n == link->work.n && c->work.c == link->work.c && c->work.k == link->work.k && same_epilogue(&c->work, &link->work);
}

void choose_needs(const struct plan *plan, int row, bool *needs)
{
    const struct chain *chain = plan->rows[row].chain->work->chain;
    memset(needs, 0, (size_t)plan->case_count * sizeof *needs);
    for (int i = 0; i < plan->row_count; i++)
        for (int k = 0; k < chain->count && !needs[plan->rows[i].case_index]; k++)
            needs[plan->rows[i].case_index] = chain->links[k].layer >= 0 && stands_for(plan, i, &chain->links[k]);
}

static bool same_size(const struct plan *plan, int index, const struct chain_link *link)
{
    const struct work *w = &plan->cases[plan->rows[index].case_index].work;
    return w->h == link->work.h && w->w == link->work.w;
}

static bool usable(const struct plan *plan, int index, struct row *const *rows)
{
    const struct row_facts *f = plan_row_facts(plan, index);
    return rows ? rows[index] && rows[index]->status == ROW_OK : !plan->rows[index].broken && f->feasible && f->checked;
}

enum wanted { WANT_LIBRARY, WANT_OWN, WANT_ANY, WANT_NAMED }; /* OWN: not the library's, which emu does not have */

/* A chain of a masked network is sparse on every link or dense on every one: marks pass from layer to layer, or not at all. */
static bool is_sparse(const struct plan *plan, const struct chain_row *chain)
{
    if (chain->work->mask.pattern == MASK_NONE || chain->pick == CHAIN_LIBRARY)
        return false;
    for (int i = 0; chain->pick == CHAIN_SINGLE && i < plan->row_count; i++)
        if (plan->rows[i].variant && !strcmp(plan->rows[i].variant->name, chain->single) && plan_row_facts(plan, i)->uses_mask)
            return true;
    return chain->pick != CHAIN_SINGLE;
}

/* `as`: the link's work with slices that the row must take, or behind a layer that it may overlap; NULL: as the layer alone. */
static int pick(const struct plan *plan, const struct chain_row *chain, const struct chain_link *link, const struct work *as,
                struct row *const *rows, enum wanted wanted, bool sparse)
{
    int best = -1;
    double best_ns = INFINITY;
    for (int i = 0; i < plan->row_count; i++) {
        const struct plan_row *p = &plan->rows[i];
        if (!stands_for(plan, i, link) || !usable(plan, i, rows) || (wanted == WANT_LIBRARY && !is_library(p)) ||
            (wanted == WANT_NAMED && strcmp(p->variant->name, chain->single)) || (wanted == WANT_OWN && may_call_library(p)) ||
            plan_row_facts(plan, i)->uses_mask != sparse || (p->side && p->side != chain->side))
            continue;
        struct link_fit fit = {.takes = true};
        if (as && (!plan_link_fit(plan, chain, as, i, &fit, NULL) || !fit.takes))
            continue;
        const struct row_time *t = rows && same_size(plan, i, link) ? headline(rows[i]) : NULL;
        double ns = t ? t->median_ns - (fit.overlaps ? OVERLAP_NS : 0) : INFINITY;
        if (best < 0 || ns < best_ns) {
            best = i;
            best_ns = ns;
        }
    }
    return best;
}

/* Does the library have this op at all? */
static bool has_library(const struct plan *plan, const struct chain_link *link)
{
    return ANY_OF(i, plan->row_count, is_library(&plan->rows[i]) && stands_for(plan, i, link));
}

static const char *library_reason(const struct plan *plan, const struct chain_link *link, struct row *const *rows)
{
    for (int i = 0; rows && i < plan->row_count; i++)
        if (is_library(&plan->rows[i]) && stands_for(plan, i, link) && rows[i] && rows[i]->reason)
            return rows[i]->reason;
    return "";
}

static int pick_for(const struct plan *plan, const struct chain_row *chain, const struct chain_link *link, const struct work *as,
                    struct row *const *rows, bool *own)
{
    int at = -1;
    bool sparse = is_sparse(plan, chain);
    if (chain->pick == CHAIN_SINGLE) {
        at = pick(plan, chain, link, as, rows, WANT_NAMED, sparse);
        *own |= at >= 0;
    }
    if (at < 0 && chain->pick != CHAIN_BEST && chain->pick != CHAIN_KERNEL)
        at = pick(plan, chain, link, as, rows, WANT_LIBRARY, sparse);
    if (at < 0 && (chain->pick != CHAIN_LIBRARY || !has_library(plan, link)))
        at = pick(plan, chain, link, as, rows, rows ? WANT_ANY : WANT_OWN, sparse);
    if (at < 0 && !rows)
        at = pick(plan, chain, link, as, rows, WANT_LIBRARY, sparse);
    return at;
}

/* Where the outputs of a network would lie if every kernel took slices; NULL: its concats are copied. */
static struct chain_slice *wish_slices(const struct chain_row *row)
{
    const struct chain *chain = row->work->chain;
    if (!row->slices)
        return NULL;
    struct chain_slice *out = xcalloc((size_t)chain->count, sizeof *out);
    chain_slices(chain, NULL, out);
    return out;
}

/* A link's work as it runs: with its slices, and behind the layer before it. */
static struct work link_work(const struct chain_row *row, const struct chain_slice *slices, int link)
{
    struct work w = slices ? chain_slice_work(row->work->chain, slices, link) : row->work->chain->links[link].work;
    w.follows = row->overlap && link > 0;
    return w;
}

/* The fastest row that runs a link as it is in this chain; -1: none does, or it runs as the layer alone. */
static int pick_as(const struct plan *plan, const struct chain_row *row, const struct chain_slice *slices, int link,
                   struct row *const *rows, const int *choice, bool *own)
{
    const struct chain *chain = row->work->chain;
    const struct work w = link_work(row, slices, link);
    if ((slices && chain_joined(chain, slices, link)) || (!work_sliced(&w) && !w.follows))
        return -1;
    for (int i = 0; i < link; i++) { /* another run of the same layer */
        const struct work other = link_work(row, slices, i);
        if (chain->links[i].name == chain->links[link].name && pitches_same(&w.pitch, &other.pitch) && w.follows == other.follows)
            return choice[i];
    }
    return pick_for(plan, row, &chain->links[link], &w, rows, own);
}

int *choose_links(const struct plan *plan, int index, struct row *const *rows, char *why, size_t why_bytes)
{
    const struct chain_row *row = plan->rows[index].chain;
    const struct chain *chain = row->work->chain;
    int *choice = xcalloc((size_t)chain->count, sizeof *choice);
    SCOPED struct chain_slice *slices = wish_slices(row);
    bool own = row->pick != CHAIN_SINGLE;
    for (int i = 0; i < chain->count; i++) {
        const struct chain_link *link = &chain->links[i];
        choice[i] = link->layer < 0 ? -1 : pick_as(plan, row, slices, i, rows, choice, &own);
        if (link->layer >= 0 && choice[i] < 0)
            choice[i] = pick_for(plan, row, link, NULL, rows, &own);
        if (link->layer < 0 || choice[i] >= 0)
            continue;
        const char *reason = row->pick == CHAIN_LIBRARY ? library_reason(plan, link, rows) : "";
        if (*reason)
            snprintf(why, why_bytes, "layer '%s': %s", link->name, reason);
        else if (is_sparse(plan, row))
            snprintf(why, why_bytes, "layer '%s' has no verified sparse row with this mask to choose from", link->name);
        else
            snprintf(why, why_bytes, "layer '%s' has no verified row in %s to choose from (axes: {layout: [NHWC, NCHW]} measures both)",
                     link->name, layout_name(link->work.layout));
        free(choice);
        return NULL;
    }
    if (own)
        return choice;
    snprintf(why, why_bytes, "it is verified on no layer of this network");
    free(choice);
    return NULL;
}

bool choose_unseen(struct plan *plan, int index, struct error *err)
{
    char why[512];
    SCOPED int *choice = choose_links(plan, index, NULL, why, sizeof why);
    bool ok =
        choice ? plan_chain_bind(plan, index, choice, err) : error_set(err, ERROR_USAGE, "%s cannot run: %s", plan_id(plan, index), why);
    return ok;
}

/* Where the outputs lie with the rows that were chosen; NULL: concats are copied, or a head is broken, which its row reports. */
static struct chain_slice *own_slices(const struct plan *plan, int index, const int *choice)
{
    struct error broken = {0};
    return plan->rows[index].chain->slices ? plan_chain_slices(plan, plan->rows[index].chain, choice, &broken) : NULL;
}

/* Of a joined concat, whose row does not run: all parts lie there, or a copy brings some. */
#define JOINED (-2)
#define PARTS_COPIED (-3)

static const char *choice_name(const struct plan *plan, int choice)
{
    return choice == JOINED         ? "no copy"
           : choice == PARTS_COPIED ? "copies of parts"
           : choice < 0             ? "convert"
                                    : variant_own_name(plan->rows[choice].variant->name);
}

void choose_describe(const struct plan *plan, int index, const int *chosen, struct text *t)
{
    const struct chain *chain = plan->rows[index].chain->work->chain;
    SCOPED int *choice = xcalloc((size_t)chain->count, sizeof *choice);
    SCOPED struct chain_slice *slices = own_slices(plan, index, chosen);
    for (int i = 0; i < chain->count; i++)
        if (!slices || !chain_joined(chain, slices, i))
            choice[i] = chosen[i];
        else
            choice[i] = chain_part_apart(chain, slices, i, 0) || chain_part_apart(chain, slices, i, 1) ? PARTS_COPIED : JOINED;
    SCOPED bool *named = xcalloc((size_t)chain->count, sizeof *named);
    SCOPED int *spans = plan_chain_spans(plan, index, NULL);
    for (int i = 0; spans && i < chain->count; i += spans[i])
        if (spans[i] > 1) {
            text_addf(t, "%s%s on links %d to %d", t->len ? "; " : "", variant_own_name(plan->rows[index].variant->name), i + 1,
                      i + spans[i]);
            for (int k = i; k < i + spans[i]; k++)
                named[k] = true;
        }
    for (int i = 0; i < chain->count; i++) {
        if (named[i])
            continue;
        text_addf(t, "%s%s on ", t->len ? "; " : "", choice_name(plan, choice[i]));
        const char *comma = "";
        for (int k = i; k < chain->count; k++) {
            if (named[k] || strcmp(choice_name(plan, choice[k]), choice_name(plan, choice[i])))
                continue;
            bool again = false;
            for (int j = i; j < k && !again; j++)
                again = named[j] && !strcmp(chain->links[j].name, chain->links[k].name) && choice[j] == choice[k];
            named[k] = true;
            if (again)
                continue;
            text_addf(t, "%s%s", comma, chain->links[k].name);
            comma = ", ";
        }
    }
}

struct sum {
    double ns, low, high, warm;
    double back; /* short rows as one of 50 launches in a graph, others warm if that was measured */
    bool shorts; /* there are such rows */
};

/* slices: by link; NULL: concats are copied */
static bool add_times(const struct plan *plan, const struct chain *chain, const struct chain_slice *slices, const int *choice,
                      struct row *const *rows, struct sum *sum)
{
    *sum = (struct sum){0};
    for (int i = 0; i < chain->count; i++) {
        const struct chain_link *link = &chain->links[i];
        if (link->layer < 0 || (slices && chain_joined(chain, slices, i)))
            continue; /* neither a layout change nor a joined concat has a row of its own */
        const struct row_time *t = choice[i] >= 0 && same_size(plan, choice[i], link) ? headline(rows[choice[i]]) : NULL;
        const struct row_time *warm = t ? row_time(rows[choice[i]], MODE_WARM) : NULL;
        if (!t)
            return false;
        sum->ns += t->median_ns;
        sum->low += t->low_ns;
        sum->high += t->high_ns;
        sum->warm += warm ? warm->median_ns : NAN;
        const struct row_time *graph = row_time(rows[choice[i]], MODE_SUSTAINED);
        sum->back += (graph ? graph : warm ? warm : t)->median_ns;
        sum->shorts |= graph != NULL;
    }
    if (!sum->shorts)
        sum->back = NAN;
    return true;
}

static void put_sum(struct row *out, const struct sum *sum)
{
    char full[64];
    const struct {
        const char *suffix;
        double value;
    } parts[] = {{"_ns", sum->ns}, {"_low_ns", sum->low}, {"_high_ns", sum->high}, {"_warm_ns", sum->warm}, {"_back_ns", sum->back}};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        snprintf(full, sizeof full, "chain.sum%s", parts[i].suffix);
        if (isfinite(parts[i].value))
            row_add_metric(out, -1, 0, full, "ns", "model", parts[i].value);
    }
}

/* Adds the traced times of those kernels of a row that only change a layout: ns[i] for the i-th name of the list. False: not traced. */
static bool add_library_layout(const struct layout_kernels *names, const struct row *row, double *ns)
{
    for (int i = 0; i < row->launch_count; i++) {
        int at = layout_kernels_find(names, row->launches[i].name);
        if (at >= 0)
            ns[at] += row->launches[i].ns;
    }
    return row->launched >= 0;
}

bool choose_library_layout(const struct plan *plan, int index, const int *choice, struct row *const *rows, struct row *out)
{
    const struct chain *chain = plan->rows[index].chain->work->chain;
    SCOPED_BY(layout_kernels_free) struct layout_kernels names = {0};
    double sum = 0;
    bool traced = true;
    layout_kernels_load(NULL, &names);
    SCOPED double *ns = xcalloc((size_t)names.count + 1, sizeof *ns);
    for (int i = 0; i < chain->count; i++)
        if (choice[i] >= 0)
            traced &= add_library_layout(&names, rows[choice[i]], ns);
    for (int i = 0; i < names.count && traced; i++) {
        char metric[96];
        layout_kernels_metric(&names, i, metric, sizeof metric);
        sum += ns[i];
        if (ns[i] > 0)
            row_add_metric(out, -1, 0, metric, "ns", "cupti", ns[i]);
    }
    if (traced)
        row_add_metric(out, -1, 0, "chain.library_layout_ns", "ns", "cupti", sum);
    return traced;
}

/* Sums the library's times of the same layers. False: some are unknown. */
static bool add_library_times(const struct plan *plan, int index, struct row *const *rows, struct sum *sum)
{
    const struct chain *chain = plan->rows[index].chain->work->chain;
    struct chain_row library = *plan->rows[index].chain;
    library.pick = CHAIN_LIBRARY;
    SCOPED int *other = xcalloc((size_t)chain->count, sizeof *other);
    bool own = false;
    for (int i = 0; i < chain->count; i++)
        other[i] = chain->links[i].layer < 0 ? -1 : pick_for(plan, &library, &chain->links[i], NULL, rows, &own);
    return add_times(plan, chain, NULL, other, rows, sum);
}

/* Sums the times of a row's own choice. False: some are unknown. */
static bool add_own_times(const struct plan *plan, int index, const int *choice, struct row *const *rows, struct sum *sum)
{
    const struct chain_row *row = plan->rows[index].chain;
    SCOPED struct chain_slice *slices = own_slices(plan, index, choice);
    return (slices || !row->slices) && add_times(plan, row->work->chain, slices, choice, rows, sum);
}

void choose_sums(const struct plan *plan, int index, const int *choice, struct row *const *rows, struct row *out)
{
    struct sum sum;
    if (add_own_times(plan, index, choice, rows, &sum))
        put_sum(out, &sum);
}

double choose_behind(const struct plan *plan, int index, const int *choice, struct row *const *rows)
{
    struct sum own, library;
    return add_own_times(plan, index, choice, rows, &own) && add_library_times(plan, index, rows, &library) ? own.ns / library.ns : NAN;
}
