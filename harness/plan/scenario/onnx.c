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

/* ---- the file ---- */

static void count_uses(struct graph *g)
{
    for (int i = 0; i < g->m->node_count; i++)
        for (int k = 0; k < g->m->nodes[i].input_count; k++)
            graph_find(g, g->m->nodes[i].inputs[k])->uses++;
    for (int i = 0; i < g->m->output_count; i++)
        graph_find(g, g->m->outputs[i].name)->uses++;
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
            graph_find(g, g->m->constants[i].name)->constant = &g->m->constants[i];
    for (int i = 0; i < g->m->input_count; i++) {
        struct onnx_value *v = &g->m->inputs[i];
        struct place *p = graph_find(g, v->name);
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
            later[graph_find(g, m->nodes[i].outputs[k]) - g->values] = true;
    for (int i = 0; i < m->input_count; i++)
        graph_find(g, m->inputs[i].name)->written = true;
    for (int i = 0; i < m->node_count; i++) {
        const struct onnx_node *n = &m->nodes[i];
        for (int k = 0; k < n->input_count; k++) {
            struct place *p = graph_find(g, n->inputs[k]);
            if (*n->inputs[k] && !p->written && !p->constant)
                return error_set(err, ERROR_USAGE, "%s: %.40s '%.100s' reads '%.100s', which is %s", g->file, n->op, n->name, p->name,
                                 later[p - g->values] ? "only written behind it: the nodes are not in order, or a cycle"
                                                      : "no input, no constant and no node's output");
        }
        for (int k = 0; k < n->output_count; k++) {
            struct place *p = graph_find(g, n->outputs[k]);
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
        struct place *out = graph_find(g, n->outputs[i]);
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
    whole = whole && ALL_OF(i, g->layer_count, g->layers[i].input != LAYER_NONE);
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
    for (int i = 0; i < g->inner_count; i++)
        FREE_ALL(g->inner[i]->name, g->inner[i]->view, g->inner[i]);
    FREE_ALL(g->inner, g->done, g->gelu_of, g->norm_of, g->norm_eps, g->length_of, g->layers, g->values, g->made);
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
