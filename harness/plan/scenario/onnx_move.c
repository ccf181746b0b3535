/* Operators that move values: layers of their own, parts of an epilogue, or other names. */
#include "base/text.h"
#include "plan/scenario/onnx_graph.h"
#include <stdio.h>
#include <string.h>

/* The earlier Concat of the most inputs with which this one begins, as in dense blocks; its output, and how many they are. */
static const struct place *longest_begin(struct graph *g, const struct onnx_node *n, int *count)
{
    const struct place *found = NULL;
    for (const struct onnx_node *e = n - 1; e >= g->m->nodes && n - e < 1000; e--) {
        int same = 0;
        if (strcmp(e->op, "Concat") || e->input_count <= *count || e->input_count >= n->input_count || e->output_count != 1)
            continue;
        while (same < e->input_count && graph_in(g, e, same) == graph_in(g, n, same))
            same++;
        const struct place *out = graph_value(g, e->outputs[0]);
        if (same == e->input_count && out->known && out->layer != LAYER_NONE)
            found = out, *count = same;
    }
    return found;
}

bool move_concat(struct graph *g, const struct onnx_node *n, const char **why)
{
    struct place *x = graph_in(g, n, 0);
    int64_t axis = graph_int(n, "axis", 1), channels = x->dim[1];
    for (int i = 0; i < n->input_count; i++) {
        const struct place *v = graph_in(g, n, i);
        if (!v->known || v->dim[0] != x->dim[0] || v->dim[2] != x->dim[2] || v->dim[3] != x->dim[3] || (axis != 1 && axis != -3))
            return graph_lacks(why, "only channels of images of one size can be joined");
    }
    if (n->input_count == 1)
        return graph_rename(g, n, x);
    int done = 1;
    const struct place *begun = longest_begin(g, n, &done);
    for (int i = 1; i < n->input_count; i++) {
        const struct place *with = graph_in(g, n, i), *so_far = i > done ? graph_value(g, n->outputs[0]) : begun ? begun : x;
        channels += with->dim[1];
        if (i < done)
            continue;
        struct made_layer *l = graph_layer(g, n, "concat", so_far);
        text_addf(&l->keys, ", k: %lld", (long long)channels);
        l->with = with->layer;
        l->foldable = false;
        if (!graph_leaves(g, n, channels, x->dim[2], x->dim[3]))
            return graph_lacks(why, "it has too many channels");
    }
    return true;
}

bool move_rearrange(struct graph *g, const struct onnx_node *n, struct place *x, int64_t b, const char *mode, bool to_space,
                    const char **why)
{
    if (!x->known || b < 1 || b > 64 || (to_space ? x->dim[1] % (b * b) != 0 : x->dim[2] % b || x->dim[3] % b))
        return graph_lacks(why, "its block does not fit its input");
    struct made_layer *l = graph_open(g, x);
    char item[64];
    snprintf(item, sizeof item, "{depth_to_space: {block: %lld, mode: %s}}", (long long)b, mode);
    if (to_space && l && l->scale == 0 && graph_folded(g, n, x, l, item)) {
        struct place *out = graph_value(g, n->outputs[0]);
        out->dim[1] /= b * b, out->dim[2] *= b, out->dim[3] *= b;
        return l->moved = true;
    }
    l = graph_layer(g, n, to_space ? "depth_to_space" : "space_to_depth", x);
    l->foldable = to_space;
    text_addf(&l->keys, ", block: %lld, mode: %s", (long long)b, mode);
    return to_space ? graph_leaves(g, n, x->dim[1] / (b * b), x->dim[2] * b, x->dim[3] * b)
                    : graph_leaves(g, n, x->dim[1] * b * b, x->dim[2] / b, x->dim[3] / b);
}

bool move_shuffle(struct graph *g, const struct onnx_node *n, const char **why)
{
    bool to_space = !strcmp(n->op, "DepthToSpace");
    return move_rearrange(g, n, graph_in(g, n, 0), graph_int(n, "blocksize", 0), graph_is(n, "mode", "CRD") ? "CRD" : "DCR", to_space, why);
}

bool move_channels(struct graph *g, const struct onnx_node *n, int at, struct place *x, int64_t first, int64_t k, int64_t parts,
                   const char **why)
{
    struct onnx_node one = *n;
    one.outputs = n->outputs + at;
    one.output_count = 1;
    if (first < 0 || k < 1 || parts < 1 || first + k > x->dim[1] || k % parts)
        return graph_lacks(why, "its channels are not those of its input");
    if (k == x->dim[1] && (parts == 1 || parts == k))
        return graph_rename(g, &one, x);
    struct made_layer *l = graph_layer(g, &one, "channels", x);
    l->foldable = false;
    text_addf(&l->keys, ", k: %lld", (long long)k);
    if (first)
        text_addf(&l->keys, ", first: %lld", (long long)first);
    if (parts > 1)
        text_addf(&l->keys, ", parts: %lld", (long long)parts);
    return graph_leaves(g, &one, k, x->dim[2], x->dim[3]);
}

bool move_rename(struct graph *g, const struct onnx_node *n, const char **why)
{
    return graph_rename(g, n, graph_in(g, n, 0)) || graph_lacks(why, "it reads its own output");
}

/* ---- padding ---- */

/* Do only convolutions with pads of numbers read it? They pad with zeros themselves. */
static bool is_convolved(const struct graph *g, const struct onnx_node *pad)
{
    bool any = false;
    for (int i = 0; i < g->m->node_count; i++)
        for (int k = 0; k < g->m->nodes[i].input_count; k++) {
            const struct onnx_node *n = &g->m->nodes[i];
            if (strcmp(n->inputs[k], pad->outputs[0]))
                continue;
            any = true;
            if (strcmp(n->op, "Conv") || k || (onnx_attribute(n, "auto_pad") && !graph_is(n, "auto_pad", "NOTSET")))
                return false;
        }
    for (int i = 0; i < g->m->output_count; i++)
        any &= strcmp(g->m->outputs[i].name, pad->outputs[0]) != 0;
    return any;
}

bool move_pad(struct graph *g, const struct onnx_node *n, const char **why)
{
    struct place *x = graph_in(g, n, 0), *out = graph_value(g, n->outputs[0]);
    int64_t pads[8] = {0};
    double value = graph_real(n, "value", 0);
    const char *mode = graph_word(n, "mode", "constant");
    if (!x->known)
        return graph_lacks(why, NEEDS_IMAGE);
    for (int i = 0; i < 8; i++)
        graph_list(n, "pads", NULL, i, &pads[i]);
    int64_t side[4] = {pads[2], pads[3], pads[6], pads[7]};
    if (!(side[0] | side[1] | side[2] | side[3]))
        return graph_rename(g, n, x);
    if (!strcmp(mode, "constant") && value == 0 && is_convolved(g, n) && x != out) {
        out->padded = x;
        memcpy(out->pad, side, sizeof side);
        x->uses += out->uses - 1;
        return true;
    }
    struct made_layer *l = graph_layer(g, n, "pad", x);
    text_addf(&l->keys, ", pad: [%lld, %lld, %lld, %lld]", (long long)side[0], (long long)side[1], (long long)side[2], (long long)side[3]);
    if (strcmp(mode, "constant"))
        text_addf(&l->keys, ", fill: %s", !strcmp(mode, "reflect") ? "reflect" : !strcmp(mode, "wrap") ? "wrap" : "edge");
    else if (value != 0)
        text_addf(&l->keys, ", value: %.9g", value);
    return graph_leaves(g, n, x->dim[1], x->dim[2] + side[0] + side[2], x->dim[3] + side[1] + side[3]);
}
