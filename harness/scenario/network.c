/* Networks: the order of the layers, how often each runs, and whether their tensors fit. */
#include "base/text.h"
#include "scenario/private.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void network_item_free(struct network_item *item)
{
    for (int i = 0; i < item->count; i++)
        network_item_free(&item->items[i]);
    free(item->items);
    item->items = NULL;
    item->count = 0;
}

static const struct layer *find_layer(const struct scenario *s, const struct node *n, struct error *err)
{
    const char **names = xcalloc((size_t)s->layer_count + 1, sizeof *names);
    for (int i = 0; i < s->layer_count; i++)
        names[i] = s->layers[i].name;
    int at = node_word(n, "network order", names, err);
    free(names);
    return at < 0 ? NULL : &s->layers[at];
}

static bool parse_items(struct scenario *s, const struct node *list, struct network_item *out, struct error *err)
{
    static const char *const keys[] = {"repeat", "of", NULL};
    if (!list || list->kind != NODE_LIST || !list->count)
        return node_error(list, err, "network: an order is a list of layer names and {repeat: N, of: [..]} groups");
    out->items = xcalloc((size_t)list->count, sizeof *out->items);
    for (int i = 0; i < list->count; i++) {
        struct network_item *item = &out->items[out->count++];
        const struct node *n = list->items[i];
        item->repeat = 1;
        if (n->kind != NODE_MAP) {
            item->layer = find_layer(s, n, err);
            if (!item->layer)
                return false;
            continue;
        }
        if (!node_check_keys(n, "network group", keys, err))
            return false;
        if (!node_get(n, "repeat") || !node_get(n, "of"))
            return node_error(n, err, "a network group is {repeat: N, of: [..]}");
        if (!node_int(node_get(n, "repeat"), "repeat", 1, 100000, &item->repeat, err) || !parse_items(s, node_get(n, "of"), item, err))
            return false;
    }
    return true;
}

bool network_parse(struct scenario *s, const struct node *network, struct error *err)
{
    static const char *const keys[] = {"order", "launch", NULL}, *const launches[] = {"stream", "graph", NULL};
    struct parsed *p = s->parsed;
    if (!network)
        return true;
    if (!node_check_keys(network, "network", keys, err))
        return false;
    const struct node *launch = node_get(network, "launch");
    for (int i = 0; launch && launch->kind == NODE_LIST && i < launch->count; i++)
        if (node_word(launch->items[i], "launch", launches, err) < 0)
            return false;
    if (launch && launch->kind != NODE_LIST && node_word(launch, "launch", launches, err) < 0)
        return false;
    p->order = node_get(network, "order");
    if (!p->order)
        return node_error(network, err, "network: 'order' is missing");
    s->network.repeat = 1;
    return parse_items(s, p->order, &s->network, err) && scenario_network_check(s, err);
}

static void shape_text(const struct tensor *t, char *out, size_t bytes)
{
    snprintf(out, bytes, "%lldx%lldx%lldx%lld %s %s", (long long)t->dim[0], (long long)t->dim[1], (long long)t->dim[2], (long long)t->dim[3], dtype_name(t->dtype),
             layout_name(t->layout));
}

struct flow {
    struct tensor out;  /* what the layer before left */
    const char *before; /* its name, NULL at the start */
};

static bool flow_layer(const struct scenario *s, const struct layer *layer, struct flow *flow, struct error *err)
{
    const struct parsed *p = s->parsed;
    struct tensor in;
    char a[96], b[96];
    if (!work_tensor(&layer->work, ROLE_INPUT, &in))
        return error_set(err, ERROR_INTERNAL, "layer '%s' has no input", layer->name);
    if (flow->before && (memcmp(in.dim, flow->out.dim, sizeof in.dim) || in.dtype != flow->out.dtype || in.layout != flow->out.layout)) {
        shape_text(&flow->out, a, sizeof a);
        shape_text(&in, b, sizeof b);
        return node_error(p->order, err, "network: layer '%s' leaves %s, but '%s' takes %s", flow->before, a, layer->name, b);
    }
    work_tensor(&layer->work, ROLE_OUTPUT, &flow->out);
    flow->before = layer->name;
    return true;
}

static bool flow_items(const struct scenario *s, const struct network_item *group, struct flow *flow, struct error *err)
{
    for (int round = 0; round < (group->repeat > 1 ? 2 : 1); round++) /* twice round shows whether its end fits its beginning */
        for (int i = 0; i < group->count; i++) {
            const struct network_item *item = &group->items[i];
            if (item->layer ? !flow_layer(s, item->layer, flow, err) : !flow_items(s, item, flow, err))
                return false;
        }
    return true;
}

bool scenario_network_check(const struct scenario *s, struct error *err)
{
    struct flow flow = {.before = NULL};
    return flow_items(s, &s->network, &flow, err);
}

static int64_t count_in(const struct network_item *group, const struct layer *layer)
{
    int64_t count = 0;
    for (int i = 0; i < group->count; i++)
        count += group->items[i].layer ? group->items[i].layer == layer : count_in(&group->items[i], layer);
    return count * group->repeat;
}

int64_t scenario_layer_count(const struct scenario *s, const struct layer *layer)
{
    if (!s->network.count)
        return layer->repeat;
    return count_in(&s->network, layer);
}
