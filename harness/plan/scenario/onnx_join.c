/* Tensors that become longer along an axis: by other tensors, by constants, by pads. */
#include "base/text.h"
#include "plan/scenario/onnx_graph.h"
#include <math.h>
#include <string.h>

/* The view without its channels. */
static struct view other_axes(const struct view *l, int axis, struct place *of)
{
    struct view rest = *l;
    rest.count = 0;
    rest.dim[axis] = 1;
    for (int i = 0; i < l->count; i++)
        if (l->atom[i].axis != 1)
            rest.atom[rest.count++] = l->atom[i];
    *of = *l->of;
    of->dim[1] = 1;
    rest.of = of;
    return rest;
}

/* Inputs whose axis is the channels of images that are alike otherwise. */
static bool joinable(struct graph *g, const struct onnx_node *n, int axis, bool always, struct view *each, const char **why)
{
    for (int i = 0; i < n->input_count; i++) {
        struct place of[2];
        if (!view_channels(g, n, graph_in(g, n, i), 1u << axis, 0, always, &each[i], why))
            return false;
        if (each[i].rank != each[0].rank)
            return graph_lacks(why, "its inputs have different numbers of axes");
        const struct view one = other_axes(&each[i], axis, &of[0]), other = other_axes(&each[0], axis, &of[1]);
        if (!view_same(&one, &other))
            return false;
    }
    return true;
}

/* Joins tensors along the axis, as channels of images. */
static bool join_axes(struct graph *g, const struct onnx_node *n, int axis, const char **why)
{
    SCOPED struct view *each = xcalloc((size_t)n->input_count, sizeof *each);
    if (!joinable(g, n, axis, false, each, why) && (*why || !joinable(g, n, axis, true, each, why)))
        return *why ? false : graph_lacks(why, "its inputs have different sizes");
    struct view out = each[0];
    for (int i = 1; i < n->input_count; i++) {
        struct onnx_node inner;
        char *outputs[1];
        struct place *next = view_inner(g, n, &inner, outputs), *so_far = out.of;
        struct made_layer *l = graph_layer(g, &inner, "concat", so_far);
        int64_t channels = so_far->dim[1] + each[i].of->dim[1];
        text_addf(&l->keys, ", k: %lld", (long long)channels);
        l->with = each[i].of->layer;
        l->foldable = false;
        if (!graph_leaves(g, &inner, channels, so_far->dim[2], so_far->dim[3]))
            return graph_lacks(why, "it has too many channels");
        next->uses = i + 1 < n->input_count ? 1 : graph_value(g, n->outputs[0])->uses;
        out.of = next;
    }
    view_resize(&out, axis, 1, out.of);
    return view_put(g, n, &out, why);
}

/* A tensor like p, of `count` elements along the axis, all of that value: the products of p with zeros, and a bias. */
static struct place *even(struct graph *g, const struct onnx_node *n, struct place *p, int axis, int64_t count, double value,
                          const char **why)
{
    struct view l;
    struct onnx_node inner;
    char *outputs[1];
    p->uses++;
    if (!view_channels(g, n, p, 1u << axis, 0, false, &l, why))
        return NULL;
    struct place *image = view_inner(g, n, &inner, outputs), *out = graph_inner(g);
    struct onnx_tensor *zeros = count <= SIZE_MAX_LAYER ? graph_made(g, 1, 4, (const int64_t[]){count, l.of->dim[1], 1, 1}) : NULL;
    if (!zeros)
        return graph_lacks(why, "its constant is too large"), NULL;
    struct made_layer *made = graph_layer(g, &inner, "conv2d", l.of);
    text_addf(&made->keys, ", k: %lld, kernel: 1", (long long)count);
    made->k = count;
    made->weights = (struct made_weights){.filter = zeros, .groups = 1};
    if (value != 0) {
        text_add(&made->epilogue, "bias");
        made->items = 1;
        weights_affine(made, NULL, weights_even(count, value));
    }
    if (!graph_leaves(g, &inner, count, l.of->dim[2], l.of->dim[3]))
        return graph_lacks(why, NO_SIZE), NULL;
    image->uses = out->uses = 1;
    view_resize(&l, axis, 1, image);
    out->view = xmalloc(sizeof *out->view);
    *out->view = l;
    return out;
}

/* The first image of a constant that has the same values for all. NULL: it has not. */
static struct place *first_image(struct graph *g, const struct onnx_tensor *t)
{
    int64_t dim[ONNX_RANK], each = onnx_elements(t) / (t->dim[0] ? t->dim[0] : 1);
    double a, b;
    memcpy(dim, t->dim, sizeof dim);
    dim[0] = 1;
    struct onnx_tensor *made = graph_made(g, t->type, t->rank, dim);
    if (!made)
        return NULL;
    for (int64_t i = 0; i < onnx_elements(t); i++) {
        bool read = onnx_number(t, i, &a) && onnx_number(t, i % each, &b);
        if (read && a != b)
            return NULL;
        made->made[i % each] = read ? a : NAN; /* in another file that has not been read */
    }
    struct place *out = graph_inner(g);
    out->constant = made;
    return out;
}

/* A constant as a tensor like p in the axes but this one. */
static struct place *constant_like(struct graph *g, const struct onnx_node *n, struct place *p, int axis, struct place *constant,
                                   const char **why)
{
    if (constant->constant->rank > 1 && constant->constant->dim[0] > 1 && !(constant = first_image(g, constant->constant)))
        return graph_lacks(why, "its constant is not the same for all images"), NULL;
    const struct onnx_tensor *t = constant->constant;
    struct view l;
    double value = 0, other;
    bool alike = onnx_number(t, 0, &value);
    int64_t each = onnx_elements(t);
    for (int64_t i = 1; alike && i < each; i++)
        alike = onnx_number(t, i, &other) && other == value;
    if (!view_of(p, &l) || t->rank != l.rank || each < 1)
        return graph_lacks(why, "its constant has other axes"), NULL;
    for (int i = 0; i < l.rank; i++)
        if (i && i != axis && t->dim[i] != l.dim[i])
            return graph_lacks(why, "its constant has other sizes"), NULL;
    struct place *made = even(g, n, p, axis, t->dim[axis], alike ? value : 0, why);
    if (!made || alike)
        return made;
    struct place *out = graph_inner(g);
    char *inputs[] = {(char *)(uintptr_t)made->name, (char *)(uintptr_t)constant->name}, *outputs[] = {(char *)(uintptr_t)out->name};
    struct onnx_node sum = {
        .name = n->name, .op = "Add", .domain = n->domain, .inputs = inputs, .outputs = outputs, .input_count = 2, .output_count = 1};
    out->uses = 1;
    return view_each(g, &sum, fold_add, why) ? graph_value(g, out->name) : NULL;
}

/* Makes tensors of the node's constants. False: it has none, or *why. */
static bool constants_joined(struct graph *g, const struct onnx_node *n, const char **why)
{
    struct place *like = NULL;
    bool any = false;
    struct view l;
    for (int i = 0; i < n->input_count; i++) {
        struct place *p = graph_in(g, n, i);
        any |= p->constant != NULL;
        like = like || p->constant || !view_of(p, &l) ? like : p;
    }
    int axis = like && view_of(like, &l) ? axes_number(graph_int(n, "axis", 1), l.rank) : -1;
    if (!any || axis < 1)
        return false;
    SCOPED char **inputs = xcalloc((size_t)n->input_count, sizeof *inputs);
    struct onnx_node one = *n;
    for (int i = 0; i < n->input_count; i++) {
        struct place *p = graph_in(g, n, i);
        if (p->constant && !(p = constant_like(g, n, like, axis, p, why)))
            return false;
        inputs[i] = (char *)(uintptr_t)p->name;
    }
    one.inputs = inputs;
    return join_axes(g, &one, axis, why);
}

bool join_concat(struct graph *g, const struct onnx_node *n, const char **why)
{
    struct view first;
    bool plain = true;
    if (constants_joined(g, n, why) || *why)
        return !*why;
    if (n->input_count < 1 || !view_of(graph_in(g, n, 0), &first))
        return graph_lacks(why, NO_SIZE);
    int axis = axes_number(graph_int(n, "axis", 1), first.rank);
    for (int i = 0; i < n->input_count; i++) {
        const struct place *p = graph_in(g, n, i);
        plain &= p->known && !p->view && p->rank != 2 && p->rank != 3;
    }
    if (axis < 1 || (plain && axis == 1) || n->input_count == 1)
        return axis == 1 || n->input_count == 1 ? move_concat(g, n, why) : graph_lacks(why, "its axis is that of the images");
    return join_axes(g, n, axis, why);
}

/* Zeros and the like before and behind the elements of an axis. */
static bool pad_axis(struct graph *g, const struct onnx_node *n, struct place *x, int axis, const int64_t pad[2], double value,
                     const char **why)
{
    char *inputs[3];
    struct onnx_node joined = *n;
    joined.inputs = inputs, joined.input_count = 0;
    for (int i = 0; i < 3; i++) {
        struct place *p = i == 1 ? x : pad[i / 2] ? even(g, n, x, axis, pad[i / 2], value, why) : NULL;
        if (p)
            inputs[joined.input_count++] = (char *)(uintptr_t)p->name;
        else if (*why)
            return false;
    }
    return join_axes(g, &joined, axis, why);
}

/* Padding by axis of the tensor: for pixels a layer, or the padding of the convolution after it; for channels, or whatever the second axis
 * is, a concat. */
bool join_pad(struct graph *g, const struct onnx_node *n, const char **why)
{
    struct place *x = graph_in(g, n, 0);
    struct view l;
    int64_t axes[ONNX_RANK], v, side[2] = {0}, pixels[8] = {0};
    int count = 0;
    bool any = false;
    double value = graph_real(n, "value", 0);
    if (!view_of(x, &l) || l.rank > 4)
        return graph_lacks(why, "its input is no image of known size");
    while (count < l.rank && graph_list(n, NULL, graph_in(g, n, 3), count, &axes[count]))
        axes[count] = axes_number(axes[count], l.rank), count++;
    for (int i = 0; !count && i < l.rank; i++)
        axes[i] = i;
    count = count ? count : l.rank;
    for (int i = 0; i < 2 * count; i++) {
        int64_t axis = axes[i % count];
        if (axis < 0 || !graph_list(n, "pads", graph_in(g, n, 1), i, &v) || v < 0 || v > 255 || (v && axis == 0))
            return graph_lacks(why, "only constant pads between 0 and 255 are supported, none of the images' axis");
        if (axis == 1)
            side[i / count] = v;
        else if (axis > 1)
            any |= (pixels[4 * (i / count) + (l.rank == 3 ? 3 : axis)] = v) != 0;
    }
    const struct place *fill = graph_in(g, n, 2);
    if (fill->constant && onnx_elements(fill->constant) && !onnx_number(fill->constant, 0, &value))
        return graph_lacks(why, "its value is not a constant");
    const struct onnx_attribute *mode = onnx_attribute(n, "mode");
    bool channels = side[0] || side[1], constant = !mode || !mode->text || !strcmp(mode->text, "constant");
    if (channels && !constant)
        return graph_lacks(why, "channels are only padded with a constant");
    struct onnx_node inner = *n;
    char *outputs[1];
    struct onnx_attribute given[] = {{.name = (char *)(uintptr_t) "pads", .ints = pixels, .int_count = 8},
                                     {.name = (char *)(uintptr_t) "value", .real = value},
                                     {.name = (char *)(uintptr_t) "mode", .text = mode ? mode->text : NULL}};
    if (!channels || any) {
        if (channels)
            view_inner(g, n, &inner, outputs)->uses = 1;
        inner.attributes = given, inner.attribute_count = constant ? 2 : 3;
        inner.input_count = 1;
        if (!view_images(g, &inner, move_pad, why))
            return false;
        x = graph_value(g, inner.outputs[0]);
    }
    return !channels || pad_axis(g, n, x, 1, side, value, why);
}
