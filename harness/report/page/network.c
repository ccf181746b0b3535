/* report/page/network: see network.h. */
#include "report/page/network.h"
#include "base/order.h"
#include "report/view/number.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RUNS_MAX 1000000000000 /* more than a scenario can have: a damaged number */

/* A variant that is verified and timed on every layer, under its name before " + ". */
struct network_sum {
    char name[VARIANT_BASE];
    double ns;
};
struct network {
    const char *name;
    int64_t runs; /* of all its layers that the rows have */
    int layers;
    bool timed;              /* some layer is */
    struct text members;     /* "head, 16 x body_1, up" */
    struct text missing;     /* layers without a dense, timed baseline: then there is no sum */
    struct text mode;        /* "isolated, cold"; "" when the layers differ in it */
    struct text axes;        /* "layout=NHWC": values of axes that all its layers have; "" when there are none */
    char zero[VARIANT_BASE]; /* "cudnn" where that is the baseline of every layer, else "baseline" */
    struct text zeros;       /* only then: "cudnn on head, up; copy on shuffle" */
    double zero_ns;
    struct text unverified; /* layers without a verified, timed row (controls do not count): then there is no fastest of each */
    double fastest_ns;
    bool all_zero;            /* the baseline is the fastest on every layer */
    struct text choice;       /* "reg_tiled on head; cudnn on body_1, up" */
    struct network_sum *sums; /* by time; without the baseline */
    int count;
    struct text chains; /* lines: the network run whole, each way it was */
    int partial;        /* variants that are timed on some of its layers only */
};
/* A layer: its first case without a mask, and the networks it names. */
struct layer_case {
    const char *layer;
    const struct row *row; /* any of its rows */
    struct case_view view;
};
struct member {
    const struct layer_case *of;
    int64_t runs;
};

static int find_layers(const struct run *run, struct row *const *rows, int count, struct layer_case **out)
{
    int n = 0;
    *out = NULL;
    for (int i = 0, end; i < count; i = end) {
        end = case_end(rows, count, i);
        const struct row *row = rows[i];
        int at = 0;
        if (!row->network_count)
            continue;
        while (at < n && strcmp((*out)[at].layer, row->layer ? row->layer : "") != 0)
            at++;
        if (at < n && (*out)[at].view.count)
            continue; /* its first dense case is known */
        if (at == n)
            *APPEND(*out, n) = (struct layer_case){.layer = row->layer ? row->layer : "", .row = row};
        if (row->density_in < 0 && row->density_out < 0)
            case_view_make(&(*out)[at].view, run, rows + i, end - i);
    }
    return n;
}

/* How often a layer runs in a network; 0: it is not in it, or the number is damaged. */
static int64_t runs_of(const struct layer_case *l, const char *network)
{
    for (int i = 0; i < l->row->network_count; i++) {
        const struct row_network *n = &l->row->network[i];
        if (strcmp(n->name, network) == 0)
            return n->runs > 0 && n->runs <= RUNS_MAX ? n->runs : 0;
    }
    return 0;
}

static bool is_usable(const struct view *v)
{
    return v->ranked && v->row->status == ROW_OK;
}

/* The fastest verified view of a variant (NULL: of any) on a layer. */
static const struct view *fastest(const struct layer_case *l, const char *variant)
{
    char base[VARIANT_BASE];
    return CASE_LEAST(&l->view, v, is_usable(v) && (!variant || !strcmp(variant_base(v->row, base), variant)), v->time->median_ns);
}

/* The control `copy` computes nothing, so on an op that the library lacks the fastest verified row stands for the baseline, as it does in
 * the network run whole. */
static const struct view *zero_of(const struct layer_case *l)
{
    return l->view.zero && l->view.zero->row->status == ROW_FOIL ? fastest(l, NULL) : l->view.zero;
}

static const struct view *fastest_of(const struct layer_case *l)
{
    return fastest(l, NULL);
}

static void add_name(struct text *t, const char *name)
{
    text_addf(t, "%s%s", t->len ? ", " : "", name);
}

/* "reg_tiled on head, tail; cudnn on body": which variant `pick` takes where. Every member has one. Returns how many variants. */
static int add_choice(struct text *t, const struct member *members, int count, const struct view *(*pick)(const struct layer_case *))
{
    char name[VARIANT_BASE], other[VARIANT_BASE];
    int kinds = 0;
    for (int i = 0; i < count; i++) {
        bool said = false;
        variant_base(pick(members[i].of)->row, name);
        for (int k = 0; k < i; k++)
            said |= strcmp(variant_base(pick(members[k].of)->row, other), name) == 0;
        for (int k = i; k < count && !said; k++) {
            if (k == i) {
                text_addf(t, "%s%s on %s", t->len ? "; " : "", name, members[k].of->layer);
                kinds++;
            } else if (strcmp(variant_base(pick(members[k].of)->row, other), name) == 0) {
                text_addf(t, ", %s", members[k].of->layer);
            }
        }
    }
    return kinds;
}

static bool all_cudnn(const struct member *members, int count)
{
    return ALL_OF(i, count, zero_of(members[i].of)->row->library);
}

/* The baseline on every layer: its name, its sum. */
static void sum_zero(struct network *n, const struct member *members, int count)
{
    for (int i = 0; i < count; i++)
        n->zero_ns += zero_of(members[i].of)->time->median_ns * (double)members[i].runs;
    if (add_choice(&n->zeros, members, count, zero_of) == 1) {
        text_free(&n->zeros);
        variant_base(zero_of(members[0].of)->row, n->zero);
    } else if (all_cudnn(members, count)) { /* its fastest row is sometimes one of its graphs, sometimes another */
        snprintf(n->zero, sizeof n->zero, "cudnn");
    }
}

static void sum_fastest(struct network *n, const struct member *members, int count)
{
    n->all_zero = true;
    for (int i = 0; i < count; i++) {
        const struct view *v = fastest_of(members[i].of);
        if (!v) {
            add_name(&n->unverified, members[i].of->layer);
            continue;
        }
        n->fastest_ns += v->time->median_ns * (double)members[i].runs;
        n->all_zero &= v == zero_of(members[i].of);
    }
    if (!n->unverified.len)
        add_choice(&n->choice, members, count, fastest_of);
}

/* Counts a variant once: as a sum when every layer has it, else among the partial ones. The baseline's own name has its sum already. */
static void sum_variant(struct network *n, const struct member *members, int count, const char *name, struct text *known)
{
    struct network_sum s = {.ns = 0};
    int layers = 0;
    for (const char *p = known->data; p < known->data + known->len; p += strlen(p) + 1)
        if (strcmp(p, name) == 0)
            return;
    text_add_bytes(known, name, strlen(name) + 1);
    snprintf(s.name, sizeof s.name, "%s", name);
    for (int i = 0; i < count; i++) {
        const struct view *v = fastest(members[i].of, name);
        if (v) {
            layers++;
            s.ns += v->time->median_ns * (double)members[i].runs;
        }
    }
    if (layers == count)
        *APPEND(n->sums, n->count) = s;
    else if (layers)
        n->partial++;
}

ORDER(by_time, struct network_sum, ORDER_UP(ns))

static void sum_variants(struct network *n, const struct member *members, int count)
{
    struct text known = {0}; /* names, each with its 0 */
    char name[VARIANT_BASE];
    for (int i = 0; i < count; i++) {
        variant_base(zero_of(members[i].of)->row, name);
        text_add_bytes(&known, name, strlen(name) + 1);
    }
    for (int i = 0; i < count; i++)
        for (int k = 0; k < members[i].of->view.count; k++)
            sum_variant(n, members, count, variant_base(members[i].of->view.rows[k], name), &known);
    text_free(&known);
    if (n->count)
        qsort(n->sums, (size_t)n->count, sizeof *n->sums, by_time);
}

static void set_mode(struct network *n, const struct member *members, int count)
{
    const struct case_view *first = &members[0].of->view;
    for (int i = 1; i < count; i++) {
        const struct case_view *c = &members[i].of->view;
        if (c->mode != first->mode)
            return;
    }
    text_addf(&n->mode, "%s, %s", mode_load(first->mode), mode_cache(first->mode));
}

/* A layer counts with its first dense case: says which one that is. */
static void set_axes(struct network *n, const struct member *members, int count)
{
    const struct row *first = members[0].of->row;
    for (int a = 0; a < first->axis_count; a++) {
        bool all = true;
        for (int i = 1; i < count && all; i++) {
            const char *value = row_axis(members[i].of->row, first->axis[a].name);
            all = value && !strcmp(value, first->axis[a].value);
        }
        if (all)
            text_addf(&n->axes, "%s%s=%s", n->axes.len ? ", " : "", first->axis[a].name, first->axis[a].value);
    }
}

/* False: there is nothing to report. */
static bool network_make(struct network *n, const struct layer_case *layers, int layer_count)
{
    SCOPED struct member *members = xcalloc((size_t)layer_count + 1, sizeof *members);
    int timed = 0;
    for (int i = 0; i < layer_count; i++) {
        const struct layer_case *l = &layers[i];
        int64_t runs = runs_of(l, n->name);
        if (!runs)
            continue;
        members[n->layers++] = (struct member){.of = l, .runs = runs};
        n->runs += runs;
        if (runs > 1) {
            text_addf(&n->members, "%s%lld x ", n->members.len ? ", " : "", (long long)runs);
            text_add(&n->members, l->layer);
        } else {
            add_name(&n->members, l->layer);
        }
        if (zero_of(l) && zero_of(l)->ranked)
            timed++;
        else
            add_name(&n->missing, l->layer);
    }
    bool answered = n->runs > 1 && timed > 0;
    if (answered && !n->missing.len) {
        set_mode(n, members, n->layers);
        set_axes(n, members, n->layers);
        sum_zero(n, members, n->layers);
        sum_fastest(n, members, n->layers);
        sum_variants(n, members, n->layers);
    }
    n->timed = timed > 0;
    return answered || n->chains.len;
}

static void clear(struct network *n)
{
    struct text *const texts[] = {&n->members, &n->missing, &n->mode, &n->axes, &n->zeros, &n->unverified, &n->choice, &n->chains};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        text_free(texts[i]);
    free(n->sums);
}

/* The lines of a network. */
static void add_lines(const struct network *n, struct text *t)
{
    char a[NUMBER_TEXT], b[NUMBER_TEXT];
    if (!n->timed) {
        text_addf(t, "%s, ", n->name);
        text_add(t, text_get(&n->chains));
        return;
    }
    if (n->missing.len) {
        text_addf(t, "%s: no sum, because %s has no timed dense baseline\n", n->name, text_get(&n->missing));
        return;
    }
    text_addf(t, "%s, %lld dense layers timed one by one", n->name, (long long)n->runs);
    if (n->mode.len || n->axes.len)
        text_addf(t, " (%s%s%s)", text_get(&n->mode), n->mode.len && n->axes.len ? ", " : "", text_get(&n->axes));
    text_addf(t, ": %s", n->zero);
    if (n->zeros.len)
        text_addf(t, " (%s)", text_get(&n->zeros));
    text_addf(t, " %s in total; layers: %s\n", number_time(n->zero_ns, a), text_get(&n->members));
    if (n->unverified.len) {
        text_addf(t, "fastest verified variant per layer: none for %s\n", text_get(&n->unverified));
    } else if (n->all_zero) {
        text_addf(t, "fastest verified variant per layer: %s for all layers\n", n->zero);
    } else {
        text_addf(t, "fastest verified variant per layer: %s in total, %sx as fast as %s: %s\n", number_time(n->fastest_ns, a),
                  number_3(n->zero_ns / n->fastest_ns, b), n->zero, text_get(&n->choice));
    }
    for (int i = 0; i < n->count; i++)
        text_addf(t, "%s: %s in total, %sx as fast as %s\n", n->sums[i].name, number_time(n->sums[i].ns, a),
                  number_3(n->zero_ns / n->sums[i].ns, b), n->zero);
    if (n->partial)
        text_addf(t, "%d more variant%s timed on some layers only\n", n->partial, n->partial == 1 ? " is" : "s are");
    text_add(t, text_get(&n->chains));
}

/* The names of the networks, in the order of the layers. */
static int list_names(const struct layer_case *layers, int count, const char ***names)
{
    int n = 0;
    *names = NULL;
    for (int i = 0; i < count; i++) {
        for (int w = 0; w < layers[i].row->network_count; w++) {
            const char *name = layers[i].row->network[w].name;
            bool known = !*name;
            for (int k = 0; k < n && !known; k++)
                known = strcmp((*names)[k], name) == 0;
            if (!known)
                *APPEND(*names, n) = name;
        }
    }
    return n;
}

/* Calls `say` for each network with something to report. */
static void each_network(const struct run *run, struct row *const *rows, int count, void (*say)(const struct network *n, void *to),
                         void *to)
{
    SCOPED struct layer_case *layers = NULL;
    SCOPED const char **names = NULL;
    int layer_count = find_layers(run, rows, count, &layers), name_count = list_names(layers, layer_count, &names);
    for (int i = 0; i < name_count; i++) {
        struct network n = {.name = names[i], .zero = "baseline"};
        network_chains(&n.chains, run, rows, count, n.name);
        if (network_make(&n, layers, layer_count))
            say(&n, to);
        clear(&n);
    }
    for (int i = 0; i < layer_count; i++)
        case_view_free(&layers[i].view);
}

static void say_lines(const struct network *n, void *to)
{
    struct text lines = {0};
    SCOPED char *title = text_format("Network %s", n->name);
    add_lines(n, &lines);
    document_lines(to, title, "network", &lines);
}

void network_document(struct document *d, const struct run *run, struct row *const *rows, int count)
{
    each_network(run, rows, count, say_lines, d);
}

static void say_sum(const struct network *n, void *to)
{
    char a[NUMBER_TEXT], b[NUMBER_TEXT], c[NUMBER_TEXT];
    struct text t = {0};
    if (n->timed && !n->missing.len && !n->unverified.len) {
        text_addf(&t, "the fastest verified row of each of its %lld layers%s%s%s: %s in total, %sx as fast as ", (long long)n->runs,
                  n->axes.len ? " (" : "", text_get(&n->axes), n->axes.len ? ")" : "", number_time(n->fastest_ns, a),
                  number_3(n->zero_ns / n->fastest_ns, b));
        text_addf(&t, "%s (%s)", n->zero, number_time(n->zero_ns, c));
    }
    block_text(to, "answer", t.len ? n->name : NULL, &t);
}

void network_sentences(struct block *list, const struct run *run, struct row *const *rows, int count)
{
    each_network(run, rows, count, say_sum, list);
}
