/* The operators that are layers, parts of layers, or other names. */
#include "base/text.h"
#include "plan/scenario/onnx_graph.h"
#include <stdlib.h>
#include <string.h>

/* "3" where all are alike, else a list. */
static void add_key(struct text *t, const char *key, const int64_t *values, int count, int64_t usual)
{
    bool alike = true;
    for (int i = 1; i < count; i++)
        alike &= values[i] == values[0];
    if (alike && values[0] == usual)
        return;
    text_addf(t, ", %s: %s", key, alike ? "" : "[");
    for (int i = 0; i < (alike ? 1 : count); i++)
        text_addf(t, "%s%lld", i ? ", " : "", (long long)values[i]);
    text_add(t, alike ? "" : "]");
}

/* A window over the image: what convolutions and poolings have in common. */
struct window {
    bool flat;                                         /* of one row: the file has x alone */
    int64_t kernel[2], stride[2], dilation[2], pad[4]; /* y, x; top, left, bottom, right */
    const char *same;                                  /* the word of an auto_pad; NULL: pad says it */
};

/* Has each list attribute a number for each axis, or is it empty? */
static bool lists_fit(const struct onnx_node *n, int axes)
{
    static const char *const lists[] = {"kernel_shape", "strides", "dilations", "output_padding", "pads"};
    bool fit = true;
    for (int i = 0; i < 5; i++) {
        const struct onnx_attribute *a = onnx_attribute(n, lists[i]);
        fit &= !a || a->int_count == axes * (i == 4 ? 2 : 1) || (!a->int_count && !a->text && !a->real_count && !a->tensor);
    }
    return fit;
}

static bool read_window(const struct onnx_node *n, struct window *v, const char **why)
{
    const struct onnx_attribute *given = onnx_attribute(n, "auto_pad");
    bool automatic = given && given->text && strcmp(given->text, "NOTSET");
    if (!lists_fit(n, v->flat ? 1 : 2))
        return graph_lacks(why, "an attribute is no list of one number for each axis");
    if (automatic && strcmp(given->text, "VALID") && strcmp(given->text, "SAME_UPPER") && strcmp(given->text, "SAME_LOWER"))
        return graph_lacks(why, "its auto_pad is unknown");
    for (int i = 0; i < 2; i++) {
        v->stride[i] = v->dilation[i] = 1;
        int from = v->flat ? i - 1 : i;
        if (from < 0)
            continue;
        graph_list(n, "kernel_shape", NULL, from, &v->kernel[i]);
        graph_list(n, "strides", NULL, from, &v->stride[i]);
        graph_list(n, "dilations", NULL, from, &v->dilation[i]);
        if (v->kernel[i] < 1 || v->kernel[i] > 255 || v->stride[i] < 1 || v->stride[i] > 255 || v->dilation[i] < 1 || v->dilation[i] > 255)
            return graph_lacks(why, "a kernel, stride or dilation is not between 1 and 255");
    }
    for (int i = 0; i < 4 && !automatic; i++) {
        if (!v->flat || i % 2)
            graph_list(n, "pads", NULL, v->flat ? i / 2 : i, &v->pad[i]);
        if (v->pad[i] < 0 || v->pad[i] > 255)
            return graph_lacks(why, "a pad is not between 0 and 255");
    }
    v->same = !automatic || !strcmp(given->text, "VALID") ? NULL : !strcmp(given->text, "SAME_LOWER") ? "same_lower" : "same_upper";
    return true;
}

static int64_t outputs(const struct window *v, int64_t size, int axis, bool up)
{
    int64_t reach = v->dilation[axis] * (v->kernel[axis] - 1) + 1, all = size + v->pad[axis] + v->pad[axis + 2];
    if (v->same)
        return (size + v->stride[axis] - 1) / v->stride[axis];
    return all < reach ? 0 : (all - reach + (up ? v->stride[axis] - 1 : 0)) / v->stride[axis] + 1;
}

static void put_window(struct text *t, const struct window *v)
{
    add_key(t, "kernel", v->kernel, 2, -1);
    add_key(t, "stride", v->stride, 2, 1);
    add_key(t, "dilation", v->dilation, 2, 1);
    if (v->same)
        text_addf(t, ", pad: %s", v->same);
    else
        add_key(t, "pad", v->pad, v->pad[0] == v->pad[2] && v->pad[1] == v->pad[3] ? 2 : 4, 0);
}

/* A bias of one number for each of the layer's channels, times a factor. */
static void add_bias(struct graph *g, const struct onnx_node *n, struct made_layer *l, double times)
{
    const struct onnx_tensor *t = graph_in(g, n, 2)->constant;
    double *shift = weights_channels(t, l->k, times, 0, &l->weights.unknown);
    if (!shift)
        return;
    text_add(&l->epilogue, "bias");
    l->items = 1;
    weights_affine(l, NULL, shift);
}

static bool conv(struct graph *g, const struct onnx_node *n, const char **why)
{
    struct place *x = graph_in(g, n, 0), *f = graph_in(g, n, 1);
    const struct place *given = x;
    struct window v = {0};
    if (x->padded)
        x = (struct place *)(uintptr_t)x->padded;
    bool turned = !strcmp(n->op, "ConvTranspose");
    int64_t groups = graph_int(n, "group", 1), extra[2] = {0, 0};
    int rank = f->constant ? f->constant->rank : 0;
    if (!x->known || (rank != 4 && (rank != 3 || x->dim[2] != 1)))
        return graph_lacks(why, f->constant ? "only filters of one and two dimensions are supported, on an image of known size"
                                            : "its filter is not a constant");
    v.flat = rank == 3;
    v.kernel[0] = v.flat ? 1 : f->constant->dim[2], v.kernel[1] = f->constant->dim[rank - 1];
    if (!read_window(n, &v, why))
        return false;
    if (v.kernel[1] != f->constant->dim[rank - 1] || (!v.flat && v.kernel[0] != f->constant->dim[2]))
        return graph_lacks(why, "its filter is not as large as its kernel_shape");
    for (int i = 0; given->padded && i < 4; i++)
        if ((v.pad[i] += given->pad[i]) > 255)
            return graph_lacks(why, "a pad is not between 0 and 255");
    for (int i = v.flat; turned && i < 2; i++)
        graph_list(n, "output_padding", NULL, i - v.flat, &extra[i]);
    if (turned && onnx_attribute(n, "output_shape"))
        return graph_lacks(why, "output_shape is not supported");
    if (groups < 1)
        return graph_lacks(why, "its group is not at least 1");
    if (groups > SIZE_MAX_LAYER || f->constant->dim[0] > SIZE_MAX_LAYER || f->constant->dim[1] > SIZE_MAX_LAYER)
        return graph_lacks(why, "its filter has more than a million channels");
    int64_t k = turned ? f->constant->dim[1] * groups : f->constant->dim[0],
            depth = turned ? f->constant->dim[0] : f->constant->dim[1] * groups;
    if (depth != x->dim[1] || k < 1 || k > SIZE_MAX_LAYER || k % groups)
        return graph_lacks(why, "its filter does not fit the channels of its input");
    struct made_layer *l = graph_layer(g, n, turned ? "conv_transpose2d" : "conv2d", x);
    text_addf(&l->keys, ", k: %lld", (long long)k);
    put_window(&l->keys, &v);
    add_key(&l->keys, "output_pad", extra, 2, 0);
    if (groups > 1)
        text_addf(&l->keys, ", groups: %lld", (long long)groups);
    l->k = k;
    l->weights = (struct made_weights){.filter = f->constant, .turned = turned, .groups = groups};
    add_bias(g, n, l, 1);
    int64_t size[2];
    for (int i = 0; i < 2; i++) {
        int64_t in = x->dim[2 + i], reach = v.dilation[i] * (v.kernel[i] - 1) + 1;
        size[i] = !turned  ? outputs(&v, in, i, false)
                  : v.same ? in * v.stride[i]
                           : (in - 1) * v.stride[i] + reach + extra[i] - v.pad[i] - v.pad[i + 2];
    }
    return graph_leaves(g, n, k, size[0], size[1]) || graph_lacks(why, "it leaves nothing of its input");
}

/* Are the columns of a matrix all values of an image, with its channels first or last? */
static bool is_flat(const struct view *l, bool *last)
{
    struct view all, turned;
    const int64_t *d = l->of->dim, columns = d[1] * d[2] * d[3], pixels[4] = {0, 2, 3, 1};
    struct place of = *l->of;
    of.rank = 4, of.view = NULL;
    if (l->rank != 2 || !view_of(&of, &all))
        return false;
    turned = all;
    view_permute(&turned, pixels);
    bool first = view_reshape(&all, 2, (const int64_t[]){d[0], columns}) && view_same(&all, l);
    *last = !first;
    return first || (view_reshape(&turned, 2, (const int64_t[]){d[0], columns}) && view_same(&turned, l));
}

/* A matrix product with constants is a convolution: with a filter of the image's size (all values of an image), or of 1 x 1 (the channels
 * of each pixel). */
bool nodes_product(struct graph *g, const struct onnx_node *n, const char **why)
{
    struct place *p = graph_in(g, n, 0), *f = graph_in(g, n, 1);
    bool gemm = !strcmp(n->op, "Gemm"), rows = gemm && graph_int(n, "transB", 0), last = false;
    struct view view;
    if (!gemm && !f->constant && !p->constant)
        return axes_matmul(g, n, why);
    if (!view_of(p, &view) || !f->constant || f->constant->rank != 2 || (gemm && graph_int(n, "transA", 0)))
        return graph_lacks(why, "only products of an image with a constant matrix are supported");
    int64_t k = f->constant->dim[rows ? 0 : 1], depth = f->constant->dim[rows ? 1 : 0], *in = view.of->dim;
    if (depth != view.dim[view.rank - 1] || k < 1 || k > SIZE_MAX_LAYER)
        return graph_lacks(why, "its matrix does not fit its input");
    bool flat = is_flat(&view, &last) && in[2] <= 255 && in[3] <= 255;
    if (!flat && !view_channels(g, n, p, 1u << (view.rank - 1), 0, false, &view, why))
        return false;
    struct place *x = view.of;
    struct onnx_node inner;
    char *outputs[1];
    struct place *out = view_inner(g, n, &inner, outputs);
    struct made_layer *l = graph_layer(g, &inner, "conv2d", x);
    text_addf(&l->keys, ", k: %lld", (long long)k);
    add_key(&l->keys, "kernel", flat ? &x->dim[2] : (const int64_t[]){1, 1}, 2, -1);
    l->k = k;
    l->weights = (struct made_weights){.filter = f->constant, .turned = !rows, .point = !flat, .last = last};
    double alpha = gemm ? graph_real(n, "alpha", 1) : 1;
    if (alpha != 1)
        l->weights.scale = weights_even(k, alpha);
    if (gemm)
        add_bias(g, n, l, graph_real(n, "beta", 1));
    if (!graph_leaves(g, &inner, k, flat ? 1 : x->dim[2], flat ? 1 : x->dim[3]))
        return graph_lacks(why, "it has no outputs");
    out->uses = graph_value(g, n->outputs[0])->uses;
    out->rank = flat ? 2 : 4;
    if (flat)
        return view_of(out, &view) && view_put(g, n, &view, why);
    view_resize(&view, view.rank - 1, 1, out);
    return view_put(g, n, &view, why);
}

/* The mean or the largest of all pixels. The largest comes from windows of at most 16 x 16, until one pixel is left. */
bool nodes_over_pixels(struct graph *g, const struct onnx_node *n, struct place *x, bool largest, const char **why)
{
    if (!largest) {
        graph_layer(g, n, "pool_global", x)->foldable = false;
        return graph_leaves(g, n, x->dim[1], 1, 1) || graph_lacks(why, NEEDS_IMAGE);
    }
    for (int64_t h = x->dim[2], w = x->dim[3];;) {
        struct onnx_node inner = *n;
        char *outputs[1];
        int64_t kernel[2] = {h < 16 ? h : 16, w < 16 ? w : 16};
        bool part = h % kernel[0] || w % kernel[1];
        h = (h + kernel[0] - 1) / kernel[0], w = (w + kernel[1] - 1) / kernel[1];
        bool last = h == 1 && w == 1;
        struct place *next = last ? NULL : view_inner(g, n, &inner, outputs);
        struct made_layer *l = graph_layer(g, &inner, "pool_max", x);
        l->foldable = false;
        add_key(&l->keys, "kernel", kernel, 2, -1);
        add_key(&l->keys, "stride", kernel, 2, 1);
        if (part)
            text_add(&l->keys, ", ceil_mode: 1");
        if (!graph_leaves(g, &inner, x->dim[1], h, w))
            return graph_lacks(why, NEEDS_IMAGE);
        if (last)
            return true;
        next->uses = 1;
        x = next;
    }
}

static bool pool(struct graph *g, const struct onnx_node *n, const char **why)
{
    struct place *x = graph_in(g, n, 0);
    struct window v = {0};
    bool mean = strcmp(n->op, "MaxPool") && strcmp(n->op, "GlobalMaxPool"), global = !strncmp(n->op, "Global", 6),
         up = graph_int(n, "ceil_mode", 0) != 0;
    if (!x->known)
        return graph_lacks(why, NEEDS_IMAGE);
    if (!global && !read_window(n, &v, why))
        return false;
    bool padded = v.same || v.pad[0] || v.pad[1] || v.pad[2] || v.pad[3];
    bool whole = !padded && v.kernel[0] == x->dim[2] && v.kernel[1] == x->dim[3];
    if (global || (whole && (mean || v.kernel[0] > 16 || v.kernel[1] > 16)))
        return nodes_over_pixels(g, n, x, !mean, why);
    if (v.kernel[0] > 16 || v.kernel[1] > 16)
        return graph_lacks(why, "windows of more than 16 pixels are not supported");
    if (n->output_count > 1 && n->outputs[1][0] && graph_value(g, n->outputs[1])->uses)
        return graph_lacks(why, "indices are not supported");
    int64_t size[2];
    for (int i = 0; i < 2; i++) {
        size[i] = outputs(&v, x->dim[2 + i], i, up);
        if (up && (size[i] - 1) * v.stride[i] >= x->dim[2 + i] + v.pad[i])
            size[i]--; /* no window begins in the padding behind the image */
    }
    struct made_layer *l = graph_layer(g, n, mean ? "pool_average" : "pool_max", x);
    l->foldable = false;
    put_window(&l->keys, &v);
    if (up)
        text_add(&l->keys, ", ceil_mode: 1");
    if (mean && padded && !graph_int(n, "count_include_pad", 0))
        text_add(&l->keys, ", count_include_pad: 0");
    return graph_leaves(g, n, x->dim[1], size[0], size[1]) || graph_lacks(why, "it leaves nothing of its input");
}

/* Mean 0 and variance 1 of planes, or of groups of channels; then scale and shift by channel. */
static bool normalise(struct graph *g, const struct onnx_node *n, const char *over, int64_t groups, const char **why)
{
    struct place *x = graph_in(g, n, 0);
    int64_t c = x->known ? x->dim[1] : 0;
    double *of[2] = {0}, usual;
    bool fits = c > 0 && groups > 0 && c % groups == 0, unknown = false, plain = true;
    for (int i = 0; i < 2 && fits; i++) {
        const struct onnx_tensor *t = graph_in(g, n, i + 1)->constant;
        int64_t count = t ? onnx_elements(t) : 0;
        SCOPED double *v = count == c || count == groups ? weights_channels(t, count, 1, 0, &unknown) : NULL;
        fits = v != NULL;
        of[i] = xcalloc((size_t)c, sizeof *of[i]);
        for (int64_t k = 0; fits && k < c; k++) {
            usual = 1 - i;
            of[i][k] = v[count == c ? k : k / (c / groups)];
            plain &= of[i][k] == usual;
        }
    }
    if (!fits || (plain && !unknown)) {
        free(of[0]);
        free(of[1]);
        if (!fits)
            return graph_lacks(why, "its scale and bias are not constants of each channel, or it has no image of known size");
        of[0] = NULL;
    }
    struct onnx_node inner;
    char *outputs[1];
    struct place *out = view_inner(g, n, &inner, outputs);
    struct made_layer *l = graph_layer(g, of[0] ? &inner : n, "normalize", x);
    l->foldable = false;
    text_addf(&l->keys, ", over: %s, eps: %.9g", over, graph_real(n, "epsilon", 1e-5));
    if (groups > 1)
        text_addf(&l->keys, ", groups: %lld", (long long)groups);
    if (!graph_leaves(g, of[0] ? &inner : n, c, x->dim[2], x->dim[3]))
        return graph_lacks(why, NEEDS_IMAGE);
    out->uses = 1;
    return !of[0] || fold_affine(g, n, out, of[0], of[1], unknown, why);
}

bool nodes_instance_norm(struct graph *g, const struct onnx_node *n, const char **why)
{
    return normalise(g, n, "plane", 1, why);
}

bool nodes_group_norm(struct graph *g, const struct onnx_node *n, const char **why)
{
    return normalise(g, n, "group", graph_int(n, "num_groups", 0), why);
}

/* The end of a pattern (onnx_patterns.c) that stands for its nodes; false: it is none. */
static bool pattern(struct graph *g, const struct onnx_node *n, bool *done, const char **why)
{
    const int at = (int)(n - g->m->nodes);
    const char *x = g->gelu_of[at] ? g->gelu_of[at] : g->norm_of[at];
    char *inputs[1] = {(char *)(uintptr_t)x};
    struct onnx_attribute eps = {.name = (char *)(uintptr_t) "epsilon", .real = g->norm_eps[at]};
    struct onnx_node one = *n;
    if (!x)
        return false;
    one.inputs = inputs, one.input_count = 1;
    one.attributes = &eps, one.attribute_count = 1;
    if (g->length_of[at]) {
        int64_t axis = 0;
        graph_list(g->length_of[at], "axes", graph_in(g, g->length_of[at], 1), 0, &axis);
        eps = (struct onnx_attribute){.name = (char *)(uintptr_t) "axis", .whole = axis};
        *done = axes_unit(g, &one, why);
        return true;
    }
    *done = g->gelu_of[at] ? view_each(g, &one, fold_gelu, why) : axes_layer_norm(g, &one, why);
    return true;
}

bool graph_node(struct graph *g, const struct onnx_node *n, const char **why)
{
    typedef bool wrapper(struct graph * g, const struct onnx_node *n, graph_maker *make, const char **why);
    static const struct {
        const char *op;
        graph_maker *make;
        wrapper *through; /* NULL: it takes views itself */
    } all[] = {{"Conv", conv, view_images},
               {"ConvTranspose", conv, view_images},
               {"Gemm", nodes_product, NULL},
               {"MatMul", nodes_product, NULL},
               {"MaxPool", pool, view_images},
               {"AveragePool", pool, view_images},
               {"GlobalAveragePool", pool, view_images},
               {"GlobalMaxPool", pool, view_images},
               {"ReduceMean", axes_reduce, NULL},
               {"ReduceSum", axes_reduce, NULL},
               {"ReduceMax", axes_reduce, NULL},
               {"Add", fold_add, view_each},
               {"Sub", fold_add, view_each},
               {"Sum", fold_sum, NULL},
               {"Neg", fold_negate, view_each},
               {"Mul", fold_multiply, view_each},
               {"Div", fold_divide, view_each},
               {"BatchNormalization", fold_normalise, view_second},
               {"InstanceNormalization", nodes_instance_norm, view_images},
               {"GroupNormalization", nodes_group_norm, view_images},
               {"LayerNormalization", axes_layer_norm, NULL},
               {"LpNormalization", axes_unit, NULL},
               {"RMSNormalization", axes_layer_norm, NULL},
               {"SimplifiedLayerNormalization", axes_layer_norm, NULL},
               {"Softmax", axes_softmax, NULL},
               {"LogSoftmax", axes_softmax, NULL},
               {"HardSigmoid", fold_hard_sigmoid, view_each},
               {"Concat", join_concat, NULL},
               {"DepthToSpace", move_shuffle, view_images},
               {"SpaceToDepth", move_shuffle, view_images},
               {"Resize", resize_image, view_images},
               {"Upsample", resize_image, view_images},
               {"Split", axes_split, NULL},
               {"Slice", axes_slice, NULL},
               {"Gather", axes_gather, NULL},
               {"GatherND", axes_gather, NULL},
               {"Expand", axes_expand, NULL},
               {"Pad", join_pad, NULL},
               {"Transpose", axes_transpose, NULL},
               {"Identity", move_rename, NULL},
               {"Dropout", move_rename, NULL},
               {"Cast", move_rename, NULL},
               {"Flatten", axes_reshape, NULL},
               {"Squeeze", axes_reshape, NULL},
               {"Unsqueeze", axes_reshape, NULL},
               {"Reshape", axes_reshape, NULL}};
    bool own = !n->domain[0] || !strcmp(n->domain, "ai.onnx"), done;
    if (g->done[n - g->m->nodes])
        return true;
    if (pattern(g, n, &done, why))
        return done;
    if (own && graph_constant(g, n))
        return true;
    if (own && fold_is_activation(n))
        return view_each(g, n, fold_activation, why);
    for (size_t i = 0; own && i < sizeof all / sizeof *all; i++)
        if (!strcmp(n->op, all[i].op))
            return all[i].through ? all[i].through(g, n, all[i].make, why) : all[i].make(g, n, why);
    return false;
}
