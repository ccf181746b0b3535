/* From nodes to layers (onnx.h). Values are images n, c, h, w; what has two dimensions is an image of one pixel, and a flattened image
 * keeps its own shape: a matrix product that follows is a convolution with a filter as large as the image. */
#include "plan/scenario/onnx_graph.h"
#include "op/work.h"
#include "base/file.h"
#include "base/text.h"
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- values ---- */

struct place *graph_inner(struct graph *g)
{
    struct place *p = xcalloc(1, sizeof *p);
    p->name = text_format("\1%d", g->inner_count);
    p->layer = LAYER_NONE;
    return *APPEND(g->inner, g->inner_count) = p;
}

static struct place *find_value(struct graph *g, const char *name)
{
    long inner = *name == 1 ? strtol(name + 1, NULL, 10) : -1;
    if (inner >= 0 && inner < g->inner_count && g->inner[inner]->name == name) /* not one that the file names like it */
        return g->inner[inner];
    uint64_t hash = 1469598103934665603u;
    for (const char *c = name; *c; c++)
        hash = (hash ^ (unsigned char)*c) * 1099511628211u;
    for (size_t i = hash % g->slots;; i = (i + 1) % g->slots) {
        if (!g->values[i].name)
            g->values[i] = (struct place){.name = name, .layer = LAYER_NONE};
        if (!strcmp(g->values[i].name, name))
            return &g->values[i];
    }
}

struct place *graph_value(struct graph *g, const char *name)
{
    struct place *p = find_value(g, name);
    for (int i = 0; p->alias && i < 1000; i++) /* a file may make a ring */
        p = p->alias;
    return p;
}

struct place *graph_in(struct graph *g, const struct onnx_node *n, int i)
{
    static struct place nothing = {.name = "", .layer = LAYER_NONE};
    return i < n->input_count && n->inputs[i][0] ? graph_value(g, n->inputs[i]) : &nothing;
}

int64_t graph_int(const struct onnx_node *n, const char *name, int64_t usual)
{
    const struct onnx_attribute *a = onnx_attribute(n, name);
    return a ? a->whole : usual;
}

double graph_real(const struct onnx_node *n, const char *name, double usual)
{
    const struct onnx_attribute *a = onnx_attribute(n, name);
    return a ? a->real : usual;
}

bool graph_is(const struct onnx_node *n, const char *name, const char *text)
{
    const struct onnx_attribute *a = onnx_attribute(n, name);
    return a && a->text && !strcmp(a->text, text);
}

/* A number of a list attribute, or of a constant input. */
bool graph_list(const struct onnx_node *n, const char *name, const struct place *input, int i, int64_t *out)
{
    const struct onnx_attribute *a = name ? onnx_attribute(n, name) : NULL;
    double v;
    if (a && i < a->int_count)
        return *out = a->ints[i], true;
    if (!input || !input->constant || !onnx_number(input->constant, i, &v) || isnan(v))
        return false;
    return *out = (int64_t)fmax(fmin(v, 1e15), -1e15), true; /* the largest of all stands for "to the end" */
}

/* ---- layers ---- */

/* A name that a scenario takes and no other layer has. */
static char *name_for(struct graph *g, const struct onnx_node *n)
{
    SCOPED_TEXT t = {0};
    char base[64];
    const char *from = n->name[0] ? n->name : n->output_count && n->outputs[0][0] ? n->outputs[0] : n->op;
    size_t length = strlen(from), skip = length > 60 ? length - 60 : 0;
    snprintf(base, sizeof base, "%s", from + skip);
    for (char *c = base; *c; c++)
        if (!isalnum((unsigned char)*c) && *c != '-' && *c != '_' && *c != '.')
            *c = '_';
    const char *first = base + strspn(base, "_.-");
    text_add(&t, *first ? first : "layer");
    for (int turn = 0, i = 0; i <= g->layer_count && turn < 9; i++) {
        const char *taken = i < g->layer_count ? g->layers[i].name : "input"; /* a word of networks */
        if (strcmp(taken, text_get(&t)) != 0)
            continue;
        t.len = 0;
        text_addf(&t, "%s_%d", *first ? first : "layer", g->layer_count + turn++);
        i = -1;
    }
    return text_take(&t);
}

struct made_layer *graph_layer(struct graph *g, const struct onnx_node *n, const char *op, const struct place *in)
{
    char *name = name_for(g, n);
    struct made_layer *l = APPEND(g->layers, g->layer_count);
    *l = (struct made_layer){
        .name = name, .op = op, .input = in->layer, .with = LAYER_NONE, .residual = LAYER_NONE, .k = in->dim[1], .foldable = true};
    memcpy(l->in, in->dim, sizeof l->in);
    return l;
}

/* The node's output is what the last layer leaves. */
bool graph_leaves(struct graph *g, const struct onnx_node *n, int64_t c, int64_t h, int64_t w)
{
    struct place *out = find_value(g, n->output_count ? n->outputs[0] : "");
    struct made_layer *l = &g->layers[g->layer_count - 1];
    bool fits = c > 0 && h > 0 && w > 0 && c <= SIZE_MAX_LAYER && h <= SIZE_MAX_LAYER && w <= SIZE_MAX_LAYER;
    if (!fits) { /* the layer cannot be */
        free(l->name);
        text_free(&l->keys);
        text_free(&l->epilogue);
        weights_free(&l->weights);
        g->layer_count--;
        return false;
    }
    out->known = true;
    memcpy(out->dim, (int64_t[]){l->in[0], c, h, w}, sizeof out->dim);
    out->layer = g->layer_count - 1;
    return true;
}

/* The layer to whose epilogue a node may be added: its output is `v`, which nothing else reads. */
struct made_layer *graph_open(struct graph *g, const struct place *v)
{
    struct made_layer *l = v->layer >= 0 ? &g->layers[v->layer] : NULL;
    return l && l->foldable && v->uses == 1 && l->items < 7 ? l : NULL;
}

/* Moves a node that became an item of an epilogue: its output is the layer's. */
bool graph_folded(struct graph *g, const struct onnx_node *n, const struct place *v, struct made_layer *l, const char *item)
{
    struct place *out = find_value(g, n->outputs[0]);
    const char *name = item + (*item == '{');
    SCOPED char *word = xstrndup(name, strcspn(name, ":, }"));
    bool joins = !strcmp(item, "bias") && l->items == 1 && !strcmp(text_get(&l->epilogue), item); /* two constants are one */
    if (!joins && l->items && strstr(text_get(&l->epilogue), word))
        return false; /* an epilogue has each item once */
    if (!joins)
        text_addf(&l->epilogue, "%s%s", l->items++ ? ", " : "", item);
    const struct place was = *v;
    out->known = was.known;
    memcpy(out->dim, was.dim, sizeof out->dim);
    out->layer = was.layer;
    return true;
}

/* ---- the file ---- */

static void count_uses(struct graph *g)
{
    for (int i = 0; i < g->m->node_count; i++)
        for (int k = 0; k < g->m->nodes[i].input_count; k++)
            find_value(g, g->m->nodes[i].inputs[k])->uses++;
    for (int i = 0; i < g->m->output_count; i++)
        find_value(g, g->m->outputs[i].name)->uses++;
}

static bool image_of(const struct onnx_value *v, int64_t out[4])
{
    bool fits = v->rank >= 2 && v->rank <= 4;
    memcpy(out, (int64_t[]){1, 1, 1, 1}, 4 * sizeof *out);
    for (int i = 0; i < v->rank && i < 4; i++) {
        int64_t size = i == 0 && v->dim[i] < 0 ? 1 : v->dim[i];
        fits &= size > 0 && size <= (i ? SIZE_MAX_LAYER : 65535);
        out[i == 2 && v->rank == 3 ? 3 : i] = size;
    }
    return fits;
}

/* "1x3x224x224" */
static bool shape_of_text(const char *shape, struct onnx_value *v)
{
    const char *at = shape;
    v->rank = 0;
    while (at && *at && v->rank < 4) {
        char *end;
        long long size = strtoll(at, &end, 10);
        if (end == at || size < 1 || size > 1 << 20 || (*end && *end != 'x'))
            return false;
        v->dim[v->rank++] = size;
        at = *end ? end + 1 : end;
    }
    return v->rank >= 2 && at && !*at;
}

static bool take_inputs(struct graph *g, const char *shape, struct error *err)
{
    for (int i = 0; i < g->m->constant_count; i++)
        if (g->m->constants[i].name)
            find_value(g, g->m->constants[i].name)->constant = &g->m->constants[i];
    for (int i = 0; i < g->m->input_count; i++) {
        struct onnx_value *v = &g->m->inputs[i];
        struct place *p = find_value(g, v->name);
        if (p->constant)
            continue;
        if (shape && !shape_of_text(shape, v))
            return error_set(err, ERROR_USAGE, "--shape %s: two to four sizes are expected, such as 1x3x224x224", shape);
        g->image_inputs++;
        g->half |= v->type == 10;
        p->known = image_of(v, p->dim);
        p->layer = p->known ? LAYER_INPUT : LAYER_NONE;
        p->rank = v->rank;
        if (!p->known && (v->rank == 4 || v->rank == 3))
            return error_set(err, ERROR_USAGE, "%s: the input '%.100s' has open sizes, or one of more than 1048576", g->file, v->name),
                   error_hint(err, v->rank == 4 ? "--shape 1x3x224x224" : "--shape 1x1x16000");
    }
    return true;
}

/* Each value is written once, before it is read, as ONNX prescribes. */
static bool check_order(struct graph *g, struct error *err)
{
    const struct onnx_model *m = g->m;
    SCOPED bool *later = xcalloc(g->slots, sizeof *later);
    for (int i = 0; i < m->node_count; i++)
        for (int k = 0; k < m->nodes[i].output_count; k++)
            later[find_value(g, m->nodes[i].outputs[k]) - g->values] = true;
    for (int i = 0; i < m->input_count; i++)
        find_value(g, m->inputs[i].name)->written = true;
    for (int i = 0; i < m->node_count; i++) {
        const struct onnx_node *n = &m->nodes[i];
        for (int k = 0; k < n->input_count; k++) {
            struct place *p = find_value(g, n->inputs[k]);
            if (*n->inputs[k] && !p->written && !p->constant)
                return error_set(err, ERROR_USAGE, "%s: %.40s '%.100s' reads '%.100s', which is %s", g->file, n->op, n->name, p->name,
                                 later[p - g->values] ? "only written behind it: the nodes are not in order, or a cycle"
                                                      : "no input, no constant and no node's output");
        }
        for (int k = 0; k < n->output_count; k++) {
            struct place *p = find_value(g, n->outputs[k]);
            if (*n->outputs[k] && (p->written || p->constant))
                return error_set(err, ERROR_USAGE, "%s: %.40s '%.100s' writes '%.100s', which is there already", g->file, n->op, n->name,
                                 p->name);
            p->written = true;
        }
    }
    return true;
}

/* What an operation without an op leaves: the shape that the file states, from which layers can go on. */
static void leave_unknown(struct graph *g, const struct onnx_node *n)
{
    for (int i = 0; i < n->output_count; i++) {
        struct place *out = find_value(g, n->outputs[i]);
        for (int k = 0; k < g->m->value_count && !out->known; k++)
            if (!strcmp(g->m->values[k].name, n->outputs[i]) && image_of(&g->m->values[k], out->dim))
                out->known = true, out->rank = g->m->values[k].rank;
        out->layer = LAYER_NONE;
    }
}

static bool same_layer(const struct made_layer *a, const struct made_layer *b)
{
    return a->op == b->op && !memcmp(a->in, b->in, sizeof a->in) && !strcmp(text_get(&a->keys), text_get(&b->keys)) &&
           !strcmp(text_get(&a->epilogue), text_get(&b->epilogue));
}

/* Lets the first of equal layers stand for the others, unless another layer reads an earlier run of it by its name later on. */
static void join_equal(struct graph *g)
{
    SCOPED int *read = xcalloc((size_t)g->layer_count, sizeof *read), *last = xcalloc((size_t)g->layer_count, sizeof *last);
    for (int i = 0; i < g->layer_count; i++) {
        const struct made_layer *l = &g->layers[i];
        const int from[] = {l->input == i - 1 ? LAYER_NONE : l->input, l->with, l->residual};
        for (int k = 0; k < 3; k++)
            if (from[k] >= 0)
                read[from[k]] = i;
    }
    for (int i = 0; i < g->layer_count; i++) {
        struct made_layer *l = &g->layers[i];
        l->as = i;
        for (int j = 0; j < i && l->as == i; j++)
            if (g->layers[j].as == j && read[last[j]] <= i && same_layer(&g->layers[j], l))
                l->as = j;
        last[l->as] = i;
        g->layers[l->as].runs++;
    }
}

static void put_keys(const struct made_layer *l, bool network, struct text *out)
{
    text_addf(out, "  %s: {op: %s, n: %lld, c: %lld, h: %lld, w: %lld%s", l->name, l->op, (long long)l->in[0], (long long)l->in[1],
              (long long)l->in[2], (long long)l->in[3], text_get(&l->keys));
    if (l->items)
        text_addf(out, ", epilogue: [%s]", text_get(&l->epilogue));
    if (!network && l->runs > 1)
        text_addf(out, ", repeat: %d", l->runs);
    text_add(out, "}\n");
}

static const char *source_name(const struct graph *g, int layer)
{
    return layer >= 0 ? g->layers[g->layers[layer].as].name : "input";
}

/* The network, if every node is a layer or part of one. */
static void put_network(const struct graph *g, struct text *out)
{
    text_add(out, "\nnetwork:\n  order:\n");
    for (int i = 0; i < g->layer_count; i++) {
        const struct made_layer *l = &g->layers[i];
        bool plain = l->input == (i ? i - 1 : LAYER_INPUT) && l->with == LAYER_NONE && l->residual == LAYER_NONE;
        text_addf(out, plain ? "    - %s" : "    - {layer: %s", source_name(g, i));
        if (!plain && l->input != (i ? i - 1 : LAYER_INPUT))
            text_addf(out, ", input: %s", source_name(g, l->input));
        if (l->with != LAYER_NONE)
            text_addf(out, ", with: %s", source_name(g, l->with));
        if (l->residual != LAYER_NONE)
            text_addf(out, ", residual: %s", source_name(g, l->residual));
        text_add(out, plain ? "\n" : "}\n");
    }
}

/* Of several outputs, the layer that runs last is what the whole network is checked by. */
static bool is_whole(struct graph *g)
{
    bool whole = !g->unknown && g->image_inputs == 1 && g->layer_count > 1 && g->layer_count <= CHAIN_MAX_LINKS, ends = false;
    for (int i = 0; whole && i < g->m->output_count; i++) {
        const struct place *out = graph_value(g, g->m->outputs[i].name);
        whole = out->layer != LAYER_NONE;
        ends |= out->layer == g->layer_count - 1;
    }
    for (int i = 0; whole && i < g->layer_count; i++)
        whole = g->layers[i].input != LAYER_NONE;
    return whole && ends;
}

static void put_variants(const struct graph *g, struct text *out)
{
    static const struct {
        const char *op, *variants;
    } all[] = {{"conv2d", "cudnn, conv2d/auto, conv2d/mma_any, conv2d/fma_any, conv2d/general_tiled"},
               {"conv3d", "conv3d/cudnn, conv3d/naive"},
               {"conv_transpose2d", "conv_transpose2d/phases, conv_transpose2d/naive"},
               {"channels", "channels/element"},
               {"view", "view/element"},
               {"matmul", "matmul/tiled"},
               {"add_constant", "add_constant/element"},
               {"normalize", "normalize/block"},
               {"softmax_channels", "softmax_channels/warp"},
               {"pad", "pad/pixel"},
               {"resize_nearest", "resize_nearest/pixel"},
               {"resize_linear", "resize_linear/pixel"},
               {"resize_cubic", "resize_cubic/pixel"},
               {"pool_max", "pool_max/element"},
               {"pool_average", "pool_average/element"},
               {"concat", "concat/packs"},
               {"add", "add/element"},
               {"mul", "mul/element"},
               {"mul_channels", "mul_channels/element"},
               {"pool_global", "pool_global/parts"},
               {"pointwise", "pointwise/epilogue"},
               {"upsample", "upsample/auto, upsample/nearest_element"},
               {"upsample_bilinear", "upsample_bilinear/auto, upsample_bilinear/element"},
               {"depth_to_space", "depth_to_space/d2s_native"},
               {"space_to_depth", "space_to_depth/native"}};
    const char *comma = "";
    text_add(out, "\nvariants: [");
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        for (int k = 0; k < g->layer_count; k++)
            if (!strcmp(g->layers[k].op, all[i].op)) {
                text_addf(out, "%s%s", comma, all[i].variants);
                comma = ", ";
                break;
            }
    text_add(out, "]\n");
}

static void put_comment(struct text *out, const struct onnx_node *n, const char *why)
{
    char name[80];
    snprintf(name, sizeof name, "%s", n->name[0] ? n->name : n->output_count ? n->outputs[0] : "");
    for (char *c = name; *c; c++)
        if ((unsigned char)*c < 32 || (unsigned char)*c > 126)
            *c = '_';
    SCOPED char *op = xstrndup(n->op, 40);
    for (char *c = op; *c; c++)
        if (!isalnum((unsigned char)*c) && *c != '_')
            *c = '_';
    text_addf(out, "# not imported: %s '%s': %s\n", op, name, why);
}

static bool walk(struct graph *g, struct text *comments)
{
    for (int i = 0; i < g->m->node_count; i++) {
        const struct onnx_node *n = &g->m->nodes[i];
        const char *why = NULL;
        if (!n->output_count || graph_node(g, n, &why))
            continue;
        g->unknown++;
        leave_unknown(g, n);
        if (comments->len < 200000) /* each takes a line */
            put_comment(comments, n, why ? why : "there is no op for it");
    }
    view_finish(g);
    return g->layer_count > 0;
}

static void graph_free(struct graph *g)
{
    for (int i = 0; i < g->layer_count; i++) {
        free(g->layers[i].name);
        text_free(&g->layers[i].keys);
        text_free(&g->layers[i].epilogue);
        weights_free(&g->layers[i].weights);
    }
    for (int i = 0; i < g->made_count; i++)
        free(g->made[i]->made), free(g->made[i]);
    for (size_t i = 0; g->values && i < g->slots; i++)
        free(g->values[i].view);
    for (int i = 0; i < g->inner_count; i++) {
        free((void *)(uintptr_t)g->inner[i]->name);
        free(g->inner[i]->view);
        free(g->inner[i]);
    }
    free(g->inner);
    free(g->done);
    free(g->gelu_of);
    free(g->norm_of);
    free(g->norm_eps);
    free(g->length_of);
    free(g->layers);
    free(g->values);
    free(g->made);
}

bool onnx_scenario(const char *file, const char *data, size_t bytes, const struct onnx_options *o, struct text *out, int *unknown,
                   struct error *err)
{
    SCOPED_BY(onnx_free) struct onnx_model m = {0};
    SCOPED_BY(graph_free) struct graph g = {.m = &m, .file = file};
    SCOPED_TEXT comments = {0};
    bool ok = onnx_read(file, data, bytes, &m, err);
    size_t names = 0;
    for (int i = 0; ok && i < m.node_count; i++)
        names += (size_t)(m.nodes[i].input_count + m.nodes[i].output_count);
    g.slots = 2 * (names + (size_t)(m.constant_count + m.input_count + m.output_count)) + 17;
    g.values = xcalloc(g.slots, sizeof *g.values);
    g.done = xcalloc((size_t)m.node_count + 1, sizeof *g.done);
    g.gelu_of = xcalloc((size_t)m.node_count + 1, sizeof *g.gelu_of);
    g.norm_of = xcalloc((size_t)m.node_count + 1, sizeof *g.norm_of);
    g.norm_eps = xcalloc((size_t)m.node_count + 1, sizeof *g.norm_eps);
    g.length_of = xcalloc((size_t)m.node_count + 1, sizeof *g.length_of);
    ok = ok && (!o->weights || onnx_load(file, &m, err));
    if (ok)
        count_uses(&g);
    ok = ok && take_inputs(&g, o->shape, err) && check_order(&g, err);
    if (ok)
        patterns_find(&g);
    if (ok && !walk(&g, &comments)) {
        ok = error_set(err, ERROR_USAGE, "%s: none of its %d nodes is an operation that bench knows", file, m.node_count);
        error_hint(err, "%s", text_get(&comments) + 2); /* of the first */
    }
    if (ok) {
        text_addf(out, "scenario: %s\nabout: %d layers of %d nodes of an ONNX model, opset %lld\n", o->name, g.layer_count, m.node_count,
                  (long long)m.opset);
        text_addf(out, "%sdefaults: {dtype: %s, layout: NCHW}\n\n", text_get(&comments), g.half ? "f16" : "f32");
        if (o->weights && weights_any(&g))
            text_addf(out, "data: {weights: '%s'}\n\n", file_base(o->weights));
        text_add(out, "layers:\n");
        bool whole = is_whole(&g);
        for (int i = 0; i < g.layer_count; i++)
            g.layers[i].as = i;
        if (o->distinct)
            join_equal(&g);
        for (int i = 0; i < g.layer_count; i++)
            if (g.layers[i].as == i)
                put_keys(&g.layers[i], whole, out);
        if (whole)
            put_network(&g, out);
        put_variants(&g, out);
        *unknown = g.unknown;
        ok = !o->weights || weights_write(&g, o->weights, err);
    }
    return ok;
}
