/* Networks: the order of the layers, how often each runs, and whether their tensors fit. */
#include "base/text.h"
#include "plan/scenario/private.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void free_items(struct network_item *item)
{
    for (int i = 0; i < item->count; i++)
        free_items(&item->items[i]);
    free(item->items);
}

void networks_free(struct scenario *s)
{
    for (int i = 0; i < s->network_count; i++) {
        free_items(&s->networks[i].root);
        free(s->networks[i].name);
    }
    free(s->networks);
}

static bool parse_items(struct scenario *s, const char *const *names, const struct node *list, struct network_item *out, struct error *err);

const struct layer network_input = {.name = (char *)(uintptr_t) "input"};

/* A layer that has run before, or the word `input`. */
static bool parse_source(struct scenario *s, const char *const *names, const struct node *n, const char *key, const struct layer **out,
                         struct error *err)
{
    const struct node *one = n->kind == NODE_MAP ? node_get(n, key) : NULL;
    char what[WHAT_MAX];
    snprintf(what, sizeof what, "network: %s", key);
    *out = NULL;
    if (!one)
        return true;
    bool named = false;
    for (int i = 0; names[i] && one->kind == NODE_SCALAR; i++)
        named |= !strcmp(names[i], one->text);
    if (!named && one->kind == NODE_SCALAR && !strcmp(one->text, network_input.name))
        return *out = &network_input, true;
    int at = node_word(one, what, names, err);
    *out = at < 0 ? NULL : &s->layers[at];
    return at >= 0;
}

/* `body_2`, or {layer: body_2, input: body_1, residual: head, with: head} */
static bool parse_layer(struct scenario *s, const char *const *names, const struct node *n, struct network_item *item, struct error *err)
{
    static const char *const keys[] = {"layer", "input", "residual", "with", NULL};
    struct tensor second;
    if (n->kind == NODE_MAP && !node_check_keys(n, "network: a layer", keys, err))
        return false;
    int at = node_word(n->kind == NODE_MAP ? node_get(n, "layer") : n, "network: layer", names, err);
    if (at < 0)
        return false;
    item->layer = &s->layers[at];
    const struct work *w = &item->layer->work;
    if (!parse_source(s, names, n, "residual", &item->residual, err) || !parse_source(s, names, n, "with", &item->with, err) ||
        !parse_source(s, names, n, "input", &item->from, err))
        return false;
    if (item->residual && work_epilogue_find(w, EPILOGUE_RESIDUAL) < 0)
        return node_error(node_get(n, "residual"), err, "network: layer '%s' adds no residual", item->layer->name);
    if (!item->with == !work_tensor(w, "second", &second))
        return true;
    return item->with ? node_error(node_get(n, "with"), err, "network: layer '%s' has no second tensor", item->layer->name)
                      : node_error(n, err, "network: layer '%s' has a second tensor: {layer: %s, with: NAME}", item->layer->name,
                                   item->layer->name);
}

static bool parse_group(struct scenario *s, const char *const *names, const struct node *n, struct network_item *item, struct error *err)
{
    static const char *const keys[] = {"repeat", "of", NULL};
    const struct node *repeat = node_get(n, "repeat"), *of = node_get(n, "of");
    if (!node_check_keys(n, "network: a group", keys, err))
        return false;
    if (!repeat || !of)
        return node_error(n, err, "network: a group must be {repeat: N, of: [..]}");
    return node_int(repeat, "repeat", 1, 100000, &item->repeat, err) && parse_items(s, names, of, item, err);
}

static bool parse_items(struct scenario *s, const char *const *names, const struct node *list, struct network_item *out, struct error *err)
{
    if (list->kind != NODE_LIST || !list->count)
        return node_error(list, err, "network: an order must be a list of layer names and {repeat: N, of: [..]} groups");
    out->items = xcalloc((size_t)list->count, sizeof *out->items);
    for (int i = 0; i < list->count; i++) {
        struct network_item *item = &out->items[out->count++];
        const struct node *n = list->items[i];
        *item = (struct network_item){.repeat = 1, .node = n};
        if (n->kind != NODE_MAP || node_get(n, "layer") ? !parse_layer(s, names, n, item, err) : !parse_group(s, names, n, item, err))
            return false;
    }
    return true;
}

/* How often a layer runs (NULL: all layers together). A double: nested repeats may exceed every integer. */
static double runs_in(const struct network_item *group, const struct layer *layer)
{
    double count = 0;
    for (int i = 0; i < group->count; i++)
        count += group->items[i].layer ? !layer || group->items[i].layer == layer : runs_in(&group->items[i], layer);
    return count * (double)group->repeat;
}

static bool parse_ways(const struct node *n, struct scenario_network *out, struct error *err)
{
    static const char *const launches[] = {"stream", "graph", "overlap", NULL}, *const concats[] = {"copy", "slices", NULL};
    const struct node *launch = node_get(n, "launch"), *layout = node_get(n, "layout"), *concat = node_get(n, "concat");
    bool launched[3] = {!launch, false, false}, joined[2] = {!concat, false};
    out->plans[LAYOUT_PLAN_GIVEN] = !layout;
    if ((launch && !scenario_words(launch, "launch", launches, launched, err)) ||
        (concat && !scenario_words(concat, "concat", concats, joined, err)) ||
        (layout && !scenario_words(layout, "layout", layout_plan_names, out->plans, err)))
        return false;
    out->stream = launched[0];
    out->graph = launched[1];
    out->overlap = launched[2];
    out->copy = joined[0];
    out->slices = joined[1];
    return true;
}

/* `key`: its key under `networks:`; NULL for `network:`, whose name is the scenario's. */
static bool network_parse(struct scenario *s, const struct node *key, const struct node *n, struct scenario_network *out, struct error *err)
{
    static const char *const keys[] = {"order", "launch", "layout", "concat", "variants", NULL};
    char what[WHAT_MAX];
    if (key && !scenario_name_ok(key, "a network's name", err)) /* rows name it: "x2:16, x4:1" */
        return false;
    snprintf(what, sizeof what, key ? "network '%.60s'" : "network%s", key ? key->text : "");
    *out = (struct scenario_network){.name = xstrdup(key ? key->text : s->name), .root = {.repeat = 1, .node = n}};
    if (!node_check_keys(n, what, keys, err))
        return false;
    const struct node *order = node_get(n, "order");
    if (!order)
        return node_error(n, err, "%s: 'order' is missing", what);
    const char **names = scenario_layer_names(s);
    bool ok = parse_items(s, names, order, &out->root, err) && parse_ways(n, out, err);
    free((void *)(size_t)names);
    if (ok && !(runs_in(&out->root, NULL) <= SCENARIO_MAX_RUNS))
        ok = node_error(order, err, "%s: more than %d layer runs", what, SCENARIO_MAX_RUNS);
    return ok;
}

/* Checks that `repeat:` of a layer agrees with its networks; a layer in no network keeps it. */
static bool set_repeats(struct scenario *s, struct error *err)
{
    for (int i = 0; i < s->layer_count; i++) {
        struct layer *layer = &s->layers[i];
        const struct node *own = node_get(layer->node, "repeat");
        int64_t runs = 0;
        for (int k = 0; k < s->network_count; k++)
            runs += scenario_layer_count(s, k, layer);
        if (own && runs && runs != layer->repeat)
            return node_error(own, err, "layer '%s': repeat is %lld, but the layer runs %lld times in the network%s", layer->name,
                              (long long)layer->repeat, (long long)runs, s->network_count > 1 ? "s" : "");
        if (runs)
            layer->repeat = runs;
    }
    return true;
}

static const char *shape_text(const struct tensor *t, char out[96])
{
    int64_t dim[4];
    tensor_fold(t, dim);
    if (t->rank == 2)
        snprintf(out, 96, "[%lld, %lld] %s", (long long)t->dim[0], (long long)t->dim[1], dtype_name(t->dtype));
    else
        snprintf(out, 96, "%lldx%lldx%lldx%lld %s %s", (long long)dim[0], (long long)dim[1], (long long)dim[2], (long long)dim[3],
                 dtype_name(t->dtype), layout_name(t->layout));
    return out;
}

/* What an item takes and leaves. */
struct flow {
    struct tensor in, out;
    const struct layer *first, *last;
};

static bool joins(const struct flow *a, const struct flow *b, const struct node *place, struct error *err)
{
    char x[96], y[96];
    bool same_shape = !memcmp(a->out.dim, b->in.dim, sizeof a->out.dim), same_dtype = a->out.dtype == b->in.dtype;
    if (chain_joins(&a->out, &b->in))
        return true;
    node_error(place, err, "network: layer '%s' outputs %s, but '%s' takes %s", a->last->name, shape_text(&a->out, x), b->first->name,
               shape_text(&b->in, y));
    const struct tensor *image = a->out.rank == 2 ? &b->in : &a->out;
    int64_t dim[4];
    tensor_fold(image, dim);
    if (image->rank > 2 && (a->out.rank == 2 || b->in.rank == 2))
        error_hint(err, "for an image stored as NHWC the rows are pixels and the columns channels: [%lld, %lld]%s%s",
                   (long long)(dim[0] * dim[2] * dim[3]), (long long)dim[1], image->layout == LAYOUT_NHWC ? "" : ", but this one is ",
                   image->layout == LAYOUT_NHWC ? "" : layout_name(image->layout));
    else if (same_shape && same_dtype)
        error_hint(err, "put a layer of op layout between them, or {layout: %s} at the end of the epilogue of '%s'",
                   layout_name(b->in.layout), a->last->name);
    return false;
}

/* Checks each group once, and its end against its own start if it repeats: that finds as much as checking every repetition. */
static bool flow_items(const struct network_item *group, struct flow *out, struct error *err)
{
    for (int i = 0; i < group->count; i++) {
        const struct network_item *item = &group->items[i];
        struct flow one = {.first = item->layer, .last = item->layer};
        if (item->layer && (!chain_takes(&item->layer->work, err) || !work_tensor(&item->layer->work, "input", &one.in) ||
                            !work_tensor(&item->layer->work, "output", &one.out)))
            return error_where(err, "%s:%d:%d: network: layer '%s'", item->node->file, item->node->line, item->node->column,
                               item->layer->name);
        if (!item->layer && !flow_items(item, &one, err))
            return false;
        struct flow other = {.first = item->from, .last = item->from};
        if (item->from && item->from != &network_input && !work_tensor(&item->from->work, "output", &other.out))
            return false;
        if (item->from == &network_input ? i && !joins(&(struct flow){.out = out->in, .last = &network_input}, &one, item->node, err)
            : item->from                 ? !joins(&other, &one, item->node, err)
                                         : i && !joins(out, &one, item->node, err))
            return false;
        if (!i) {
            out->in = one.in;
            out->first = one.first;
        }
        out->out = one.out;
        out->last = one.last;
    }
    return group->repeat == 1 || joins(out, out, group->node, err);
}

/* Checks that a named layer has run by then, with an output of the shape that `tensor` has. Each group once: later repetitions find the
 * same. `ran`: by layer. */
static bool source_fits(const struct scenario *s, const struct network_item *item, const char *key, const char *tensor,
                        const struct layer *from, const bool *ran, struct error *err)
{
    struct tensor left, added;
    char x[96], y[96];
    if (!from || from == &network_input)
        return true;
    if (!ran[from - s->layers])
        return node_error(node_get(item->node, key), err, "network: '%s' %s the output of '%s', which has not run before it",
                          item->layer->name, strcmp(key, "residual") ? "reads" : "adds", from->name);
    if (!work_tensor(&from->work, "output", &left) || !work_tensor(&item->layer->work, tensor, &added) || tensor_same_shape(&left, &added))
        return true;
    return node_error(node_get(item->node, key), err, "network: '%s' %s %s, but '%s' outputs %s", item->layer->name,
                      strcmp(key, "residual") ? "takes" : "adds", shape_text(&added, x), from->name, shape_text(&left, y));
}

static bool sources_exist(const struct scenario *s, const struct network_item *group, bool *ran, struct error *err)
{
    for (int i = 0; i < group->count; i++) {
        const struct network_item *item = &group->items[i];
        bool ok = item->layer ? source_fits(s, item, "residual", "residual", item->residual, ran, err) &&
                                    source_fits(s, item, "with", "second", item->with, ran, err) &&
                                    source_fits(s, item, "input", "input", item->from, ran, err)
                              : sources_exist(s, item, ran, err);
        if (!ok)
            return false;
        if (item->layer)
            ran[item->layer - s->layers] = true;
    }
    return true;
}

static bool networks_fit(const struct scenario *s, struct error *err)
{
    bool ok = true;
    for (int i = 0; ok && i < s->network_count; i++) {
        struct flow flow;
        SCOPED bool *ran = xcalloc((size_t)s->layer_count, sizeof *ran);
        ok = flow_items(&s->networks[i].root, &flow, err) && sources_exist(s, &s->networks[i].root, ran, err);
    }
    return ok;
}

bool networks_parse(struct scenario *s, struct error *err)
{
    const struct node *one = node_get(s->root, "network"), *several = node_get(s->root, "networks");
    if (!one && !several)
        return true;
    if (one && several)
        return node_error(node_key(s->root, "networks"), err, "use either 'network' or 'networks'");
    if (several && (several->kind != NODE_MAP || !several->count))
        return node_error(several, err, "networks: a map of names is expected, like {x2: {order: [..]}}");
    int count = one ? 1 : several->count;
    if (count > SCENARIO_MAX_ITEMS)
        return node_error(several, err, "networks: more than %d", SCENARIO_MAX_ITEMS);
    s->networks = xcalloc((size_t)count, sizeof *s->networks);
    for (int i = 0; i < count; i++)
        if (!network_parse(s, one ? NULL : several->keys[i], one ? one : several->items[i], &s->networks[s->network_count++], err))
            return false;
    return networks_fit(s, err) && set_repeats(s, err);
}

int64_t scenario_layer_count(const struct scenario *s, int network_index, const struct layer *layer)
{
    return (int64_t)runs_in(&s->networks[network_index].root, layer);
}

void scenario_layer_networks(const struct scenario *s, const struct layer *layer, struct text *t)
{
    const char *comma = "";
    for (int i = 0; i < s->network_count; i++) {
        int64_t runs = scenario_layer_count(s, i, layer);
        if (runs) {
            text_addf(t, "%s%s:%lld", comma, s->networks[i].name, (long long)runs);
            comma = ", ";
        }
    }
}

struct totals {
    double flop, bytes, runs;
};

static void explain_items(const struct network_item *group, int depth, double times, struct totals *sum, struct text *t)
{
    for (int i = 0; i < group->count; i++) {
        const struct network_item *item = &group->items[i];
        if (!item->layer) {
            text_addf(t, "%*s%lld x\n", depth * 2, "", (long long)item->repeat);
            explain_items(item, depth + 1, times * (double)item->repeat, sum, t);
            continue;
        }
        const struct work *w = &item->layer->work;
        struct tensor in, out;
        char a[96], b[96];
        if (!work_tensor(w, "input", &in) || !work_tensor(w, "output", &out))
            continue; /* scenario_load has refused it */
        text_addf(t, "%*s%-*s %-26s -> %-26s %8.4g GFLOP\n", depth * 2, "", 20 - depth * 2, item->layer->name, shape_text(&in, a),
                  shape_text(&out, b), work_flop(w) / 1e9);
        sum->flop += times * work_flop(w);
        sum->bytes += times * work_bytes(w);
        sum->runs += times;
    }
}

void scenario_network_explain(const struct scenario *s, struct text *t)
{
    for (int i = 0; i < s->network_count; i++) {
        struct totals sum = {0};
        SCOPED_TEXT lines = {0};
        explain_items(&s->networks[i].root, 1, 1, &sum, &lines);
        text_addf(t, "network %s: %.0f layer runs, %.4g GFLOP, %.4g GB to move at least\n%s", s->networks[i].name, sum.runs, sum.flop / 1e9,
                  sum.bytes / 1e9, text_get(&lines));
    }
}
