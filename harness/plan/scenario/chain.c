/* Makes a chain from a network: unrolls its groups, finds every residual, inserts the layout changes of a plan. */
#include "base/text.h"
#include "plan/scenario/private.h"
#include "op/file/ops.h"
#include <stdlib.h>

const char *const layout_plan_names[] = {"given", "NCHW", "NHWC", "per_op", "ends", NULL};

struct builder {
    const struct node *crop;
    enum layout_plan plan;
    struct mask mask;
    int64_t n; /* images; 0: those of the layers */
    struct chain *chain;
    bool *cropped;
    int layers;              /* runs of layers so far */
    const struct layer **of; /* by link: the layer whose run it ends; else NULL */
    struct error *err;
};
/* State of a group: where its input comes from, and the links that end its items. */
struct scope {
    int input;
    int *items;
    int count;
};

static bool output_of(const struct builder *b, int link, struct tensor *t)
{
    return chain_flow(b->chain, link, t);
}

static int add_link(struct builder *b, const struct work *work, const char *name, int input, int residual, int layer)
{
    struct chain *c = b->chain;
    c->links = xrealloc(c->links, (size_t)(c->count + 1) * sizeof *c->links);
    b->of = xrealloc(b->of, (size_t)(c->count + 1) * sizeof *b->of);
    c->links[c->count] = (struct chain_link){.work = *work, .name = name, .input = input, .residual = residual, .layer = layer};
    b->of[c->count] = NULL;
    return c->count++;
}

/* Returns the link's output in the wanted layout: the link itself, or a conversion that is added. `like`: for the chain's input, the layer
 * that will read it. */
static bool in_layout(struct builder *b, int *link, enum layout to, const struct work *like)
{
    struct tensor t;
    if (!output_of(b, *link, &t)) /* the very first link */
        t = (struct tensor){.dtype = like->dtype, .layout = LAYOUT_NCHW, .rank = 4, .dim = {like->n, like->c, like->h, like->w}};
    if (t.layout == to)
        return true;
    struct work w = {.op = op_for(TASK_LAYOUT), .to = to, .data = like->data, .seed = like->seed};
    work_reads(&w, &t);
    if (!work_finish(&w, b->err))
        return false;
    *link = add_link(b, &w, to == LAYOUT_NHWC ? "to NHWC" : "to NCHW", *link, CHAIN_NONE, -1);
    return true;
}

/* w: the work that reads the link; of the very first one also the chain's input. */
static bool same_shape(const struct builder *b, int link, const struct work *w, const struct tensor *wanted)
{
    struct tensor t;
    return (output_of(b, link, &t) || (link < 0 && work_tensor(w, "input", &t))) && tensor_same_shape(&t, wanted);
}

/* The last link that ends a run of the layer, or what the group was given. */
static bool find_link(struct builder *b, const struct network_item *item, const struct scope *scope, const struct layer *from,
                      const char *verb, const struct work *w, const struct tensor *wanted, int *link)
{
    *link = scope->input;
    bool found = from == &network_input;
    for (int i = b->chain->count - 1; i >= 0 && !found; i--)
        if ((found = b->of[i] == from))
            *link = i;
    if (!found)
        return error_set(b->err, ERROR_USAGE, "layer '%s' %s the output of '%s', which has not run before it", item->layer->name, verb,
                         from->name);
    return !wanted || same_shape(b, *link, w, wanted) ||
           error_set(b->err, ERROR_USAGE, "layer '%s' %s the output of '%s', which has another shape", item->layer->name, verb, from->name);
}

static bool find_residual(struct builder *b, const struct network_item *item, const struct scope *scope, const struct work *w, int *link)
{
    struct tensor wanted;
    if (!work_tensor(w, "residual", &wanted))
        return error_set(b->err, ERROR_INTERNAL, "layer '%s' has no residual", item->layer->name);
    if (item->residual)
        return find_link(b, item, scope, item->residual, "adds", w, &wanted, link);
    *link = scope->input;
    if (same_shape(b, *link, w, &wanted))
        return true;
    for (int i = 0; i < scope->count; i++)
        if (same_shape(b, scope->items[i], w, &wanted)) {
            *link = scope->items[i];
            return true;
        }
    error_set(b->err, ERROR_USAGE, "layer '%s' adds a residual, but no layer before it in its group has that shape", item->layer->name);
    return error_hint(b->err, "write {layer: %s, residual: NAME} in the order; NAME is the layer whose output is added", item->layer->name);
}

/* A layer's work at the size that flows, in the plan's layout. */
static bool layer_work(struct builder *b, const struct layer *layer, int from, struct work *w)
{
    struct tensor t;
    *w = layer->work;
    w->mask = b->mask;
    w->n = b->n ? b->n : w->n;
    if (b->plan != LAYOUT_PLAN_GIVEN) {
        if (w->op->task == TASK_LAYOUT || work_epilogue_find(w, EPILOGUE_LAYOUT) >= 0)
            return error_set(b->err, ERROR_USAGE, "layer '%s' changes the layout, so the network has only this layout plan", layer->name);
        if (w->layout != LAYOUT_LINEAR)
            w->layout = b->plan == LAYOUT_PLAN_NCHW ? LAYOUT_NCHW : LAYOUT_NHWC;
    }
    if (b->chain->count == 0)
        return crop_work(w, b->crop, b->cropped, b->err) && work_finish(w, b->err);
    if (w->op->file && output_of(b, from, &t)) {
        chain_size(w, &t);
    } else if (output_of(b, from, &t)) {
        int64_t dim[4];
        tensor_fold(&t, dim);
        w->h = dim[2];
        w->w = dim[3];
    }
    return work_finish(w, b->err);
}

static bool add_layer(struct builder *b, const struct network_item *item, const struct scope *scope, int *now)
{
    const struct layer *layer = item->layer;
    struct work w;
    int input = *now, residual = CHAIN_NONE;
    bool converts = b->plan == LAYOUT_PLAN_PER_OP || b->plan == LAYOUT_PLAN_ENDS;
    if (b->chain->count + 4 > CHAIN_MAX_LINKS)
        return error_set(b->err, ERROR_USAGE, "more than %d layer runs: the network is not run as a whole", CHAIN_MAX_LINKS);
    struct tensor wanted;
    if (item->from && !find_link(b, item, scope, item->from, "reads", NULL, NULL, &input))
        return false;
    if (!layer_work(b, layer, input, &w) || (converts && !in_layout(b, &input, LAYOUT_NHWC, &w)))
        return false;
    if (work_epilogue_find(&w, EPILOGUE_RESIDUAL) >= 0 &&
        (!find_residual(b, item, scope, &w, &residual) || (converts && !in_layout(b, &residual, LAYOUT_NHWC, &w))))
        return false;
    if (item->with && work_tensor(&w, "second", &wanted) &&
        (!find_link(b, item, scope, item->with, "reads", &w, &wanted, &residual) ||
         (converts && !in_layout(b, &residual, LAYOUT_NHWC, &w))))
        return false;
    *now = add_link(b, &w, layer->name, input, residual, b->layers++);
    if (b->plan == LAYOUT_PLAN_PER_OP && !in_layout(b, now, LAYOUT_NCHW, &w))
        return false;
    b->of[*now] = layer;
    return true;
}

static bool add_group(struct builder *b, const struct network_item *group, int *now)
{
    struct scope scope = {.items = xcalloc((size_t)group->count, sizeof(int))};
    bool ok = true;
    for (int64_t r = 0; ok && r < group->repeat; r++) {
        scope.input = *now;
        scope.count = 0;
        for (int i = 0; ok && i < group->count; i++) {
            const struct network_item *item = &group->items[i];
            ok = item->layer ? add_layer(b, item, &scope, now) : add_group(b, item, now);
            scope.items[scope.count++] = *now;
        }
    }
    free(scope.items);
    return ok;
}

bool scenario_chain(const struct scenario *s, const struct scenario_network *network, const char *device_kind, enum layout_plan plan,
                    const struct mask *mask, int64_t n, struct chain *out, bool *cropped, struct error *err)
{
    const struct parsed *p = s->parsed;
    struct builder b = {.crop = device_kind ? node_get(node_get(p->on, device_kind), "crop") : NULL,
                        .plan = plan,
                        .n = n,
                        .chain = out,
                        .cropped = cropped,
                        .err = err};
    int now = CHAIN_INPUT;
    if (mask)
        b.mask = *mask;
    *out = (struct chain){0};
    *cropped = false;
    bool ok = add_group(&b, &network->root, &now);
    if (ok && plan == LAYOUT_PLAN_ENDS)
        ok = in_layout(&b, &now, LAYOUT_NCHW, &out->links[now].work);
    free(b.of);
    if (!ok)
        chain_free(out);
    return ok;
}
