/* Operators with axes of their own. Those that only move values change the view of an image (onnx_view.c). The others work on channels, so
 * they first get a view in which their axis is the channels. */
#include "base/text.h"
#include "plan/scenario/onnx_graph.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

int axes_number(int64_t axis, int rank)
{
    axis = axis < 0 ? axis + rank : axis;
    return axis >= 0 && axis < rank ? (int)axis : -1;
}

/* Another shape of the value; where the view has none, an image of the elements in their order has. */
static bool reshape(struct graph *g, const struct onnx_node *n, struct view *l, int rank, const int64_t *dim, const char **why)
{
    for (int i = 0; i < rank; i++)
        if (dim[i] < 1)
            return graph_lacks(why, "an axis has no elements");
    bool done;
    if (view_reshape(l, rank, dim))
        return rank == 4 && view_known_move(g, n, l, &done, why) ? done : view_put(g, n, l, why);
    struct place *p = graph_in(g, n, 0);
    return (view_channels(g, n, p, 0, 0, true, l, why) && view_reshape(l, rank, dim) && view_put(g, n, l, why)) ||
           (*why ? false : graph_lacks(why, "bench cannot join its axes in this way"));
}

bool axes_reshape(struct graph *g, const struct onnx_node *n, const char **why)
{
    struct view l;
    int64_t dim[ONNX_RANK], axis, axes[ONNX_RANK];
    int rank = 0, count = 0;
    if (!view_of(graph_in(g, n, 0), &l))
        return graph_lacks(why, NO_SIZE);
    if (!strcmp(n->op, "Reshape"))
        return graph_target(n, graph_in(g, n, 1), view_elements(&l), l.dim, l.rank, dim, &rank)
                   ? reshape(g, n, &l, rank, dim, why)
                   : graph_lacks(why, "its shape is not a constant that fits its input");
    if (!strcmp(n->op, "Flatten")) {
        int at = (int)graph_int(n, "axis", 1);
        at = at < 0 ? at + l.rank : at;
        dim[0] = dim[1] = 1;
        for (int i = 0; i < l.rank; i++)
            dim[i >= at] *= l.dim[i];
        return reshape(g, n, &l, 2, dim, why);
    }
    while (count < ONNX_RANK && graph_list(n, "axes", graph_in(g, n, 1), count, &axis))
        axes[count++] = axis;
    bool more = *n->op == 'U';
    int to = more ? l.rank + count : l.rank, own = 0;
    for (int i = 0; i < to && i < ONNX_RANK; i++) {
        bool named = !more && !count && l.dim[i] == 1;
        for (int k = 0; k < count; k++)
            named |= axes_number(axes[k], to) == i;
        if (more ? !named : !named || l.dim[i] != 1)
            dim[rank++] = l.dim[more ? own++ : i];
        else if (more)
            dim[rank++] = 1;
    }
    return to <= ONNX_RANK && rank ? reshape(g, n, &l, rank, dim, why) : graph_lacks(why, "its axes are not those of its input");
}

bool axes_transpose(struct graph *g, const struct onnx_node *n, const char **why)
{
    struct view l;
    int64_t perm[ONNX_RANK];
    unsigned seen = 0;
    if (!view_of(graph_in(g, n, 0), &l))
        return graph_lacks(why, NO_SIZE);
    for (int i = 0; i < l.rank; i++) {
        perm[i] = l.rank - 1 - i;
        graph_list(n, "perm", NULL, i, &perm[i]);
        seen |= perm[i] >= 0 && perm[i] < l.rank ? 1u << perm[i] : 0;
    }
    if (seen != (1u << l.rank) - 1)
        return graph_lacks(why, "its perm is not a permutation of its input's axes");
    view_permute(&l, perm);
    return view_put(g, n, &l, why);
}

/* A range of an axis; where the view has none, an image has in which each axis is whole. */
static bool cut(struct graph *g, const struct onnx_node *n, struct view *l, int axis, int64_t first, int64_t count, int64_t step,
                const char **why)
{
    return view_slice(l, axis, first, count, step) ||
           (view_channels(g, n, graph_in(g, n, 0), 1u << axis, 0, true, l, why) && view_slice(l, axis, first, count, step)) ||
           (*why ? false : graph_lacks(why, "its axis cannot be cut"));
}

/* A range as output `at` of the node: channels as a layer, others as a view. */
static bool range(struct graph *g, const struct onnx_node *n, int at, int axis, int64_t first, int64_t count, const char **why)
{
    struct place *p = graph_in(g, n, 0);
    struct onnx_node one = *n;
    struct view l;
    one.outputs = n->outputs + at;
    one.output_count = 1;
    if (!view_of(p, &l) || first < 0 || count < 1 || first + count > l.dim[axis])
        return graph_lacks(why, "its range is not in its input");
    if (!p->view && l.rank == 4 && axis == 1)
        return move_channels(g, n, at, p, first, count, 1, why);
    return cut(g, n, &l, axis, first, count, 1, why) && view_put(g, &one, &l, why);
}

bool axes_split(struct graph *g, const struct onnx_node *n, const char **why)
{
    struct view l;
    if (!view_of(graph_in(g, n, 0), &l))
        return graph_lacks(why, NO_SIZE);
    int axis = axes_number(graph_int(n, "axis", 0), l.rank);
    if (axis < 0)
        return graph_lacks(why, "its axis is not that of its input");
    int64_t each = (l.dim[axis] + n->output_count - 1) / n->output_count, first = 0, size;
    for (int i = 0; i < n->output_count; i++, first += size) {
        size = first + each > l.dim[axis] ? l.dim[axis] - first : each;
        graph_list(n, "split", graph_in(g, n, 1), i, &size);
        if (size < 0 || size > l.dim[axis])
            return graph_lacks(why, "a part is larger than its input");
        bool read = n->outputs[i][0] && graph_value(g, n->outputs[i])->uses;
        if (read && !range(g, n, i, axis, first, size, why))
            return false;
    }
    return true;
}

/* Several axes, with steps. */
bool axes_slice(struct graph *g, const struct onnx_node *n, const char **why)
{
    struct view l;
    int64_t from[ONNX_RANK], count[ONNX_RANK], by[ONNX_RANK], first, end, step, axis;
    bool attributes = onnx_attribute(n, "starts") != NULL, any = false;
    const struct place *at[5] = {0};
    int axes = 0, only = 0;
    for (int i = 1; i < 5 && !attributes; i++)
        at[i] = graph_in(g, n, i);
    if (!view_of(graph_in(g, n, 0), &l))
        return graph_lacks(why, NO_SIZE);
    for (int i = 0; i < l.rank; i++)
        from[i] = 0, count[i] = l.dim[i], by[i] = 1;
    for (int i = 0; i < ONNX_RANK && graph_list(n, "starts", at[1], i, &first) && graph_list(n, "ends", at[2], i, &end); i++) {
        axis = i, step = 1;
        graph_list(n, "axes", at[3], i, &axis);
        graph_list(n, NULL, at[4], i, &step);
        int part = axes_number(axis, l.rank);
        int64_t length = part < 0 ? 0 : l.dim[part];
        first = first < 0 ? first + length : first;
        end = end < 0 ? end + length : end > length ? length : end;
        if (part < 0 || step < 1 || step > SIZE_MAX_LAYER || first < 0 || first >= end)
            return graph_lacks(why, "its range is not in its input, or its step is negative");
        from[part] = first, count[part] = (end - first + step - 1) / step, by[part] = step;
        any = true;
    }
    for (int i = 0; i < l.rank; i++)
        if (count[i] != l.dim[i])
            axes++, only = i;
    if (!any)
        return graph_lacks(why, "its range is not a constant");
    if (axes == 0)
        return move_rename(g, n, why);
    if (axes == 1 && by[only] == 1)
        return range(g, n, 0, only, from[only], count[only], why);
    for (int i = 0; i < l.rank; i++)
        if (count[i] != l.dim[i] && !view_slice(&l, i, from[i], count[i], by[i])) { /* in an image of its own */
            if (!view_channels(g, n, graph_in(g, n, 0), l.rank > 1 ? 2 : 1, 0, true, &l, why))
                return false;
            for (i = 0; i < l.rank; i++)
                if (count[i] != l.dim[i] && !view_slice(&l, i, from[i], count[i], by[i]))
                    return graph_lacks(why, "its axes cannot be cut");
        }
    return view_put(g, n, &l, why);
}

/* A part of an axis: the elements of indices one after another, in the shape that they have. */
bool axes_gather(struct graph *g, const struct onnx_node *n, const char **why)
{
    struct view l;
    const struct onnx_tensor *index = graph_in(g, n, 1)->constant;
    double v, first = 0;
    int64_t dim[ONNX_RANK];
    if (!view_of(graph_in(g, n, 0), &l))
        return graph_lacks(why, NO_SIZE);
    int axis = axes_number(graph_int(n, "axis", 0), l.rank), rank = 0;
    struct onnx_tensor one = index ? *index : (struct onnx_tensor){0};
    if (!strcmp(n->op, "GatherND")) { /* of the first axis; the last axis of the indices is one place */
        if (!index || index->rank < 1 || index->dim[index->rank - 1] != 1 || graph_int(n, "batch_dims", 0))
            return graph_lacks(why, "only places of the first axis are supported");
        one.rank--;
        index = &one, axis = 0;
    }
    int64_t count = index && axis >= 0 && index->rank + l.rank - 1 <= ONNX_RANK ? onnx_elements(index) : 0;
    bool fits = count > 0 && count <= l.dim[axis];
    for (int64_t i = 0; fits && i < count; i++) {
        fits = onnx_number(index, i, &v) && v > -1e9 && v < 1e9;
        v = fits && v < 0 ? v + (double)l.dim[axis] : v;
        first = i ? first : v;
        fits = fits && v == first + (double)i && v >= 0 && v < (double)l.dim[axis];
    }
    if (!fits)
        return graph_lacks(why, "only constant indices one after another are supported");
    if (!cut(g, n, &l, axis, (int64_t)first, count, 1, why))
        return false;
    for (int i = 0; i < l.rank; i++)
        if (i != axis)
            dim[rank++] = l.dim[i];
        else
            for (int k = 0; k < index->rank; k++)
                dim[rank++] = index->dim[k];
    return reshape(g, n, &l, rank, dim, why);
}

bool axes_expand(struct graph *g, const struct onnx_node *n, const char **why)
{
    struct view l;
    int64_t dim[ONNX_RANK];
    int rank = 0;
    if (!view_of(graph_in(g, n, 0), &l))
        return graph_lacks(why, NO_SIZE);
    while (rank < ONNX_RANK && graph_list(n, NULL, graph_in(g, n, 1), rank, &dim[rank]))
        rank++;
    for (int i = 0; i < rank; i++)
        dim[i] = dim[i] > INT32_MAX ? 0 : dim[i];
    return rank >= l.rank && view_expand(&l, rank, dim) && view_elements(&l) < INT32_MAX
               ? view_put(g, n, &l, why)
               : graph_lacks(why, "its shape does not fit its input");
}

/* ---- layers along an axis ---- */

/* A layer of that op for the view's image, as `inner`'s output; the same view of that is the node's. */
static struct made_layer *along(struct graph *g, const struct onnx_node *n, const char *op, struct view *l, const char **why)
{
    struct onnx_node inner;
    char *outputs[1];
    struct place *out = view_inner(g, n, &inner, outputs);
    const struct place *in = l->of;
    struct made_layer *made = graph_layer(g, &inner, op, in);
    made->foldable = false;
    if (!graph_leaves(g, &inner, in->dim[1], in->dim[2], in->dim[3]))
        return graph_lacks(why, NO_SIZE), NULL;
    out->uses = graph_value(g, n->outputs[0])->uses;
    l->of = out;
    return &g->layers[g->layer_count - 1];
}

bool axes_softmax(struct graph *g, const struct onnx_node *n, const char **why)
{
    struct place *p = graph_in(g, n, 0);
    struct view l;
    int64_t behind = 1;
    if (!view_of(p, &l))
        return graph_lacks(why, NO_SIZE);
    int axis = axes_number(graph_int(n, "axis", g->m->opset < 13 ? 1 : -1), l.rank);
    for (int i = axis + 1; i < l.rank && axis >= 0; i++)
        behind *= l.dim[i];
    if (axis < 0 || (g->m->opset < 13 && behind != 1))
        return graph_lacks(why, axis < 0 ? "its axis is not that of its input" : "before opset 13 only the last axis is supported");
    struct made_layer *made = view_channels(g, n, p, 1u << axis, 0, false, &l, why) ? along(g, n, "softmax_channels", &l, why) : NULL;
    if (made && !strcmp(n->op, "LogSoftmax"))
        text_add(&made->keys, ", log: 1");
    return made && view_put(g, n, &l, why);
}

/* A product of two tensors: their last two axes are rows and columns of images, the others channels; of one channel for all if need be. */
bool axes_matmul(struct graph *g, const struct onnx_node *n, const char **why)
{
    struct view l[2];
    int64_t dim[ONNX_RANK];
    for (int i = 0; i < 2; i++)
        if (!view_of(graph_in(g, n, i), &l[i]))
            return graph_lacks(why, NO_SIZE);
    int rank = l[0].rank;
    if (rank < 3 || l[1].rank != rank)
        return graph_lacks(why, "only products of two tensors of as many axes, three at least, are supported");
    for (int i = 0; i < 2; i++) {
        struct place stretched = {.known = true, .view = &l[i], .uses = 1};
        for (int k = 0; k < rank; k++)
            dim[k] = k < rank - 2 && l[1 - i].dim[k] > l[i].dim[k] ? l[1 - i].dim[k] : l[i].dim[k];
        struct view wide = l[i];
        if (!view_expand(&wide, rank, dim))
            return graph_lacks(why, "its factors do not fit");
        stretched.view = &wide;
        if (!view_channels(g, n, &stretched, (1u << (rank - 2)) - 1, 1u << (rank - 1), true, &l[i], why))
            return false;
        l[i].of->uses = 1;
    }
    const int64_t *a = l[0].of->dim, *b = l[1].of->dim;
    struct onnx_node inner;
    char *outputs[1];
    if (a[3] != b[2] || a[1] != b[1] || a[0] != b[0])
        return graph_lacks(why, "its factors do not fit");
    struct place *out = view_inner(g, n, &inner, outputs);
    struct made_layer *made = graph_layer(g, &inner, "matmul", l[0].of);
    made->foldable = false;
    made->with = l[1].of->layer;
    text_addf(&made->keys, ", q: %lld", (long long)b[3]);
    if (!graph_leaves(g, &inner, a[1], a[2], b[3]))
        return graph_lacks(why, NO_SIZE);
    out->uses = graph_value(g, n->outputs[0])->uses;
    view_resize(&l[0], rank - 1, 3, out);
    return view_put(g, n, &l[0], why);
}

/* Scale and shift by channel behind a normalisation; NULL where they change nothing. */
static double *channel_values(const struct place *p, int64_t count, double usual, bool *fits, bool *unknown)
{
    double *v = p->constant ? weights_channels(p->constant, count, 1, 0, unknown) : NULL;
    bool changes = false;
    for (int64_t i = 0; v && i < count; i++)
        changes |= v[i] != usual;
    *fits &= v || !*p->name;
    if (v && !changes && !*unknown)
        return free(v), NULL;
    return v;
}

bool axes_layer_norm(struct graph *g, const struct onnx_node *n, const char **why)
{
    struct place *p = graph_in(g, n, 0);
    struct view l;
    if (!view_of(p, &l))
        return graph_lacks(why, NO_SIZE);
    int axis = axes_number(graph_int(n, "axis", -1), l.rank);
    bool fits = axis >= 0, unknown = false;
    for (int i = axis + 1; fits && i < l.rank; i++)
        fits = l.dim[i] == 1;
    if (!fits || (n->output_count > 1 && n->outputs[1][0] && graph_value(g, n->outputs[1])->uses))
        return graph_lacks(why, "only the last axis can be normalised, without other outputs");
    if (!view_channels(g, n, p, 1u << axis, 0, false, &l, why))
        return false;
    int64_t c = l.of->dim[1];
    double *scale = channel_values(graph_in(g, n, 1), c, 1, &fits, &unknown),
           *shift = channel_values(graph_in(g, n, 2), c, 0, &fits, &unknown);
    struct made_layer *made = fits ? along(g, n, "normalize", &l, why) : NULL;
    if (!made) {
        free(scale);
        free(shift);
        return *why ? false : graph_lacks(why, "its scale and bias are not constants of each element of the axis");
    }
    bool rms = !strcmp(n->op, "RMSNormalization") || !strcmp(n->op, "SimplifiedLayerNormalization");
    text_addf(&made->keys, "%s, eps: %.9g", rms ? ", around: zero" : "", graph_real(n, "epsilon", 1e-5));
    if (!scale && !shift)
        return view_put(g, n, &l, why);
    struct onnx_node inner;
    char *outputs[1];
    struct place *out = view_inner(g, n, &inner, outputs);
    out->uses = l.of->uses;
    l.of->uses = 1;
    if (!fold_affine(g, &inner, l.of, scale, shift, unknown, why))
        return false;
    l.of = graph_value(g, outputs[0]);
    return view_put(g, n, &l, why);
}

/* x / |x|, the length along one axis: x / sqrt(mean(x^2)) / sqrt(elements). A vector of zeros stays one. */
bool axes_unit(struct graph *g, const struct onnx_node *n, const char **why)
{
    struct view l;
    if (!view_of(graph_in(g, n, 0), &l))
        return graph_lacks(why, NO_SIZE);
    int axis = axes_number(graph_int(n, "axis", -1), l.rank);
    if (axis < 0 || graph_int(n, "p", 2) != 2)
        return graph_lacks(why, axis < 0 ? "its axis is not that of its input" : "only the length with p = 2 is supported");
    if (!view_channels(g, n, graph_in(g, n, 0), 1u << axis, 0, false, &l, why))
        return false;
    double c = (double)l.of->dim[1];
    struct made_layer *made = along(g, n, "normalize", &l, why);
    if (!made)
        return false;
    text_addf(&made->keys, ", around: zero, eps: %.9g", 1e-24 / c); /* which only keeps 0 from being divided by 0 */
    struct onnx_node inner;
    char *outputs[1];
    view_inner(g, n, &inner, outputs)->uses = l.of->uses;
    l.of->uses = 1;
    if (!fold_affine(g, &inner, l.of, weights_even((int64_t)c, 1 / sqrt(c)), NULL, false, why))
        return false;
    l.of = graph_value(g, outputs[0]);
    return view_put(g, n, &l, why);
}

/* A sum is the mean times the number of elements. */
static struct place *summed(struct graph *g, const struct onnx_node *n, struct place *mean, double count, const char **why)
{
    struct onnx_node inner;
    char *outputs[1];
    view_inner(g, n, &inner, outputs)->uses = mean->uses;
    mean->uses = 1;
    return fold_affine(g, &inner, mean, weights_even(mean->dim[1], count), NULL, false, why) ? graph_value(g, outputs[0]) : NULL;
}

/* The mean, sum or largest over axes. */
bool axes_reduce(struct graph *g, const struct onnx_node *n, const char **why)
{
    struct place *p = graph_in(g, n, 0);
    struct view l, out = {0};
    int64_t axis;
    unsigned reduced = 0, pixels = 0;
    bool keeps = graph_int(n, "keepdims", 1) != 0;
    if (!view_of(p, &l))
        return graph_lacks(why, NO_SIZE);
    for (int i = 0; graph_list(n, "axes", graph_in(g, n, 1), i, &axis) && i < ONNX_RANK; i++)
        reduced |= axes_number(axis, l.rank) < 0 ? 1u : 1u << axes_number(axis, l.rank);
    if (!reduced || reduced & 1)
        return graph_lacks(why, "only constant axes, without that of the images, are supported");
    bool direct = view_whole(&l, false);
    for (int i = 0; i < l.count; i++) {
        pixels |= l.atom[i].axis >= 2 ? 1u << l.atom[i].part : 0;
        direct &= (l.atom[i].axis >= 2) == (reduced >> l.atom[i].part & 1);
    }
    if (!direct && !view_channels(g, n, p, ~reduced, reduced, true, &l, why))
        return false;
    struct onnx_node inner;
    char *outputs[1];
    out.of = view_inner(g, n, &inner, outputs);
    out.of->uses = graph_value(g, n->outputs[0])->uses;
    if (!nodes_over_pixels(g, &inner, l.of, !strcmp(n->op, "ReduceMax"), why))
        return false;
    if (!strcmp(n->op, "ReduceSum") && !(out.of = summed(g, n, out.of, (double)(l.of->dim[2] * l.of->dim[3]), why)))
        return false;
    for (int part = 0; part < l.rank; part++) {
        bool gone = reduced >> part & 1;
        if (gone && !keeps)
            continue;
        out.dim[out.rank] = gone ? 1 : l.dim[part];
        for (int i = 0; i < l.count && !gone; i++)
            if (l.atom[i].part == part)
                out.atom[out.count] = l.atom[i], out.atom[out.count++].part = out.rank;
        out.rank++;
    }
    return view_put(g, n, &out, why);
}
