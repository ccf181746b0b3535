/* The operators that are layers, parts of layers, or other names. */
#include "base/text.h"
#include "plan/scenario/onnx_graph.h"
#include <stdlib.h>
#include <string.h>

#define NEEDS_IMAGE "its input is no image of known size"

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
    int64_t kernel[2], stride[2], dilation[2], pad[4]; /* y, x; top, left, bottom, right */
    const char *same;                                  /* the word of an auto_pad; NULL: pad says it */
};

static bool read_window(const struct onnx_node *n, struct window *v, const char **why)
{
    const struct onnx_attribute *given = onnx_attribute(n, "auto_pad");
    bool automatic = given && given->text && strcmp(given->text, "NOTSET");
    for (int i = 0; i < 2; i++) {
        v->stride[i] = v->dilation[i] = 1;
        graph_list(n, "kernel_shape", NULL, i, &v->kernel[i]);
        graph_list(n, "strides", NULL, i, &v->stride[i]);
        graph_list(n, "dilations", NULL, i, &v->dilation[i]);
        if (v->kernel[i] < 1 || v->kernel[i] > 255 || v->stride[i] < 1 || v->stride[i] > 255 || v->dilation[i] < 1 || v->dilation[i] > 255)
            return graph_lacks(why, "a kernel, stride or dilation is not between 1 and 255");
    }
    for (int i = 0; i < 4 && !automatic; i++) {
        graph_list(n, "pads", NULL, i, &v->pad[i]);
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
    if (!x->known || !f->constant || f->constant->rank != 4)
        return graph_lacks(why, f->constant ? "only two-dimensional filters are supported, on an image of known size"
                                            : "its filter is no constant");
    v.kernel[0] = f->constant->dim[2], v.kernel[1] = f->constant->dim[3];
    if (!read_window(n, &v, why))
        return false;
    for (int i = 0; given->padded && i < 4; i++)
        if ((v.pad[i] += given->pad[i]) > 255)
            return graph_lacks(why, "a pad is not between 0 and 255");
    for (int i = 0; turned && i < 2; i++)
        graph_list(n, "output_padding", NULL, i, &extra[i]);
    if (turned && onnx_attribute(n, "output_shape"))
        return graph_lacks(why, "output_shape is not supported");
    if (groups < 1 || groups > SIZE_MAX_LAYER || f->constant->dim[0] > SIZE_MAX_LAYER || f->constant->dim[1] > SIZE_MAX_LAYER)
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

/* A matrix product with constants is a convolution whose filter is as large as the image. */
static bool product(struct graph *g, const struct onnx_node *n, const char **why)
{
    struct place *x = graph_in(g, n, 0), *f = graph_in(g, n, 1);
    bool gemm = !strcmp(n->op, "Gemm"), rows = gemm && graph_int(n, "transB", 0);
    if (!x->known || !f->constant || f->constant->rank != 2 || (gemm && graph_int(n, "transA", 0)))
        return graph_lacks(why, "only products of an image with a constant matrix are supported");
    int64_t k = f->constant->dim[rows ? 0 : 1], depth = f->constant->dim[rows ? 1 : 0], all = x->dim[1] * x->dim[2] * x->dim[3];
    if (depth != all || x->dim[2] > 255 || x->dim[3] > 255 || k < 1 || k > SIZE_MAX_LAYER)
        return graph_lacks(why, "its matrix does not fit its input");
    struct made_layer *l = graph_layer(g, n, "conv2d", x);
    text_addf(&l->keys, ", k: %lld", (long long)k);
    add_key(&l->keys, "kernel", &x->dim[2], 2, -1);
    l->k = k;
    l->weights = (struct made_weights){.filter = f->constant, .turned = !rows};
    double alpha = gemm ? graph_real(n, "alpha", 1) : 1;
    if (alpha != 1) {
        l->weights.scale = xcalloc((size_t)k, sizeof *l->weights.scale);
        for (int64_t i = 0; i < k; i++)
            l->weights.scale[i] = alpha;
    }
    if (gemm)
        add_bias(g, n, l, graph_real(n, "beta", 1));
    return graph_leaves(g, n, k, 1, 1) || graph_lacks(why, "it has no outputs");
}

static bool pool(struct graph *g, const struct onnx_node *n, const char **why)
{
    struct place *x = graph_in(g, n, 0);
    struct window v = {0};
    bool mean = strcmp(n->op, "MaxPool") != 0, global = !strcmp(n->op, "GlobalAveragePool"), up = graph_int(n, "ceil_mode", 0) != 0;
    if (!x->known)
        return graph_lacks(why, NEEDS_IMAGE);
    if (!global && !read_window(n, &v, why))
        return false;
    bool padded = v.same || v.pad[0] || v.pad[1] || v.pad[2] || v.pad[3];
    if (global || (mean && !padded && v.kernel[0] == x->dim[2] && v.kernel[1] == x->dim[3])) {
        graph_layer(g, n, "pool_global", x)->foldable = false;
        return graph_leaves(g, n, x->dim[1], 1, 1);
    }
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

static bool reduce_mean(struct graph *g, const struct onnx_node *n, const char **why)
{
    struct place *x = graph_in(g, n, 0);
    int64_t axis, seen = 0, count = 0;
    if (!x->known)
        return graph_lacks(why, NEEDS_IMAGE);
    for (; graph_list(n, "axes", graph_in(g, n, 1), (int)count, &axis) && count < 8; count++)
        seen |= axis == 2 || axis == -2 ? 1 : axis == 3 || axis == -1 ? 2 : 4;
    if (seen != 3)
        return graph_lacks(why, "only a mean over height and width is supported");
    graph_layer(g, n, "pool_global", x)->foldable = false;
    return graph_leaves(g, n, x->dim[1], 1, 1);
}

bool graph_node(struct graph *g, const struct onnx_node *n, const char **why)
{
    static const struct {
        const char *op;
        bool (*make)(struct graph *g, const struct onnx_node *n, const char **why);
    } all[] = {{"Conv", conv},
               {"ConvTranspose", conv},
               {"Gemm", product},
               {"MatMul", product},
               {"MaxPool", pool},
               {"AveragePool", pool},
               {"GlobalAveragePool", pool},
               {"ReduceMean", reduce_mean},
               {"Add", fold_add},
               {"Sub", fold_add},
               {"Mul", fold_multiply},
               {"Div", fold_divide},
               {"BatchNormalization", fold_normalise},
               {"HardSigmoid", fold_hard_sigmoid},
               {"Concat", move_concat},
               {"DepthToSpace", move_shuffle},
               {"SpaceToDepth", move_shuffle},
               {"Resize", move_resize},
               {"Upsample", move_resize},
               {"Split", move_split},
               {"Slice", move_slice},
               {"Pad", move_pad},
               {"Transpose", move_transpose},
               {"Identity", move_reshape},
               {"Dropout", move_reshape},
               {"Flatten", move_reshape},
               {"Squeeze", move_reshape},
               {"Unsqueeze", move_reshape},
               {"Cast", move_reshape},
               {"Reshape", move_reshape}};
    bool own = !n->domain[0] || !strcmp(n->domain, "ai.onnx"), done;
    const int at = (int)(n - g->m->nodes);
    if (g->done[at])
        return true;
    if (g->gelu_of[at])
        return fold_gelu(g, n, g->gelu_of[at], why);
    if (own && graph_constant(g, n))
        return true;
    if (own && fold_activation(g, n, why, &done))
        return done;
    for (size_t i = 0; own && i < sizeof all / sizeof *all; i++)
        if (!strcmp(n->op, all[i].op))
            return all[i].make(g, n, why);
    return false;
}
