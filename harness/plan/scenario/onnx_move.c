/* Operators that move values: layers of their own, parts of an epilogue, or other names. */
#include "base/text.h"
#include "plan/scenario/onnx_graph.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool graph_rename(struct graph *g, const struct onnx_node *n, struct place *x)
{
    struct place *out = graph_value(g, n->outputs[0]);
    if (out == x)
        return false;
    x->uses += out->uses - 1;
    if (x->view) /* who reads the view reads its image */
        x->view->of->uses += out->uses - 1;
    if (x->view && x->image && x->image != x->view->of)
        x->image->uses += out->uses - 1;
    out->alias = x;
    return true;
}

bool graph_lacks(const char **why, const char *text)
{
    *why = text;
    return false;
}

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

/* ---- resizing ---- */

/* up / down with the least divisor; false: no such fraction is near. */
static bool fraction(double factor, int64_t *up, int64_t *down)
{
    for (*down = 1; *down <= 64; ++*down) {
        double v = factor * (double)*down;
        *up = (int64_t)llround(v);
        if (*up >= 1 && fabs(v - (double)*up) < 1e-5 * (double)*down)
            return true;
    }
    return false;
}

static const char *word_of(const struct onnx_node *n, const char *name, const char *usual)
{
    const struct onnx_attribute *a = onnx_attribute(n, name);
    return a && a->text ? a->text : usual;
}

static bool read_resize(struct graph *g, const struct onnx_node *n, const struct place *x, struct resizing *r)
{
    const struct onnx_attribute *list = onnx_attribute(n, "scales");
    const struct onnx_tensor *sizes = graph_in(g, n, 3)->constant;
    int at = !strcmp(n->op, "Upsample") || n->input_count == 2 ? 1 : 2;
    const char *mode = word_of(n, "mode", "nearest");
    int64_t size;
    r->linear = !strcmp(mode, "linear") || !strcmp(mode, "bilinear");
    r->cubic = !strcmp(mode, "cubic");
    r->antialias = graph_int(n, "antialias", 0);
    r->outside = graph_int(n, "exclude_outside", 0);
    r->a = graph_real(n, "cubic_coeff_a", -0.75);
    r->where = g->m->opset < 11 ? "asymmetric" : word_of(n, "coordinate_transformation_mode", "half_pixel");
    r->nearest = g->m->opset < 11 ? "floor" : word_of(n, "nearest_mode", "round_prefer_floor");
    for (int i = 0; i < 4; i++) {
        const struct onnx_tensor *scales = graph_in(g, n, at)->constant;
        double factor = 0;
        bool given = list &&i < list->real_count ? factor = list->reals[i], true : scales && onnx_number(scales, i, &factor);
        if (!given && sizes && graph_list(n, NULL, graph_in(g, n, 3), i, &size) && size >= 1) {
            if (i < 2 && size != x->dim[i])
                return false;
            if (i >= 2)
                r->up[i - 2] = size, r->down[i - 2] = x->dim[i], r->size[i - 2] = size;
            continue;
        }
        if (!given || !(factor > 1e-6 && factor < 1e6) || (i < 2 && factor != 1))
            return false;
        size = (int64_t)floor((double)x->dim[i] * factor + 1e-6);
        if (i >= 2 && !fraction(factor, &r->up[i - 2], &r->down[i - 2])) {
            if ((double)size != (double)x->dim[i] * factor)
                return false;
            r->up[i - 2] = size, r->down[i - 2] = x->dim[i];
        }
        if (i >= 2)
            r->size[i - 2] = size;
    }
    return true;
}

static void put_factor(struct text *t, const struct resizing *r)
{
    text_addf(t, ", up: %lld", (long long)r->up[0]);
    if (r->down[0] != 1)
        text_addf(t, ", down: %lld", (long long)r->down[0]);
    if (r->up[0] != r->up[1] || r->down[0] != r->down[1])
        text_addf(t, ", up_x: %lld, down_x: %lld", (long long)r->up[1], (long long)r->down[1]);
    if (strcmp(r->where, "half_pixel"))
        text_addf(t, ", coordinates: %s", r->where);
}

static void reduce(int64_t *up, int64_t *down)
{
    int64_t a = *up, b = *down;
    while (b) {
        int64_t rest = a % b;
        a = b, b = rest;
    }
    *up /= a, *down /= a;
}

bool move_resize(struct graph *g, const struct onnx_node *n, const char **why)
{
    static const char *const places[] = {"half_pixel", "pytorch_half_pixel",   "align_corners",
                                         "asymmetric", "half_pixel_symmetric", "tf_half_pixel_for_nn"};
    struct place *x = graph_in(g, n, 0);
    struct resizing r = {0};
    if (!x->known)
        return graph_lacks(why, NEEDS_IMAGE);
    if (!read_resize(g, n, x, &r))
        return graph_lacks(why, "only constant factors of height and width are supported");
    bool known = false;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        known |= !strcmp(r.where, places[i]);
    if (!known)
        return graph_lacks(why, "its coordinate_transformation_mode is not supported");
    if (r.size[0] == x->dim[2] && r.size[1] == x->dim[3])
        return graph_rename(g, n, x);
    reduce(&r.up[0], &r.down[0]);
    reduce(&r.up[1], &r.down[1]);
    bool shrinks = r.size[0] < x->dim[2] || r.size[1] < x->dim[3]; /* antialias changes nothing where an image grows */
    if ((r.linear || r.cubic) && ((r.antialias && shrinks) || r.outside))
        return resize_by_matrix(g, n, &r, why);
    int64_t b = r.up[0];
    bool whole = r.down[0] == 1 && r.down[1] == 1 && r.up[1] == b && b > 1 && b <= 64,
         half = strstr(r.where, "half_pixel") == r.where || !strcmp(r.where, "pytorch_half_pixel"),
         usual = !r.linear && !r.cubic && whole &&
                 (half ? !strncmp(r.nearest, "round", 5)
                       : !strcmp(r.where, "asymmetric") &&
                             (!strcmp(r.nearest, "floor") || (b <= 2 && !strcmp(r.nearest, "round_prefer_floor")))),
         halves = r.linear && whole && half && (b == 2 || b == 4 || b == 8 || b == 16);
    const char *op = usual      ? "upsample"
                     : halves   ? "upsample_bilinear"
                     : r.linear ? "resize_linear"
                     : r.cubic  ? "resize_cubic"
                                : "resize_nearest";
    struct made_layer *l = graph_layer(g, n, op, x);
    if (usual || halves)
        text_addf(&l->keys, ", block: %lld", (long long)b);
    else
        put_factor(&l->keys, &r);
    if (!usual && !r.linear && !r.cubic && strcmp(r.nearest, "round_prefer_floor"))
        text_addf(&l->keys, ", rounding: %s", r.nearest);
    if (r.cubic && r.a != -0.75)
        text_addf(&l->keys, ", a: %.9g", r.a);
    return graph_leaves(g, n, x->dim[1], r.size[0], r.size[1]) || graph_lacks(why, "its output is too large");
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
    const char *mode = word_of(n, "mode", "constant");
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
