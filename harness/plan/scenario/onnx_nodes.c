/* The operators that are layers, parts of layers, or other names. */
#include "base/text.h"
#include "plan/scenario/onnx_graph.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NEEDS_IMAGE "its input is no image of known size"

static bool node_lacks(const char **why, const char *text)
{
    *why = text;
    return false;
}

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
            return node_lacks(why, "a kernel, stride or dilation is not between 1 and 255");
    }
    for (int i = 0; i < 4 && !automatic; i++) {
        graph_list(n, "pads", NULL, i, &v->pad[i]);
        if (v->pad[i] < 0 || v->pad[i] > 255)
            return node_lacks(why, "a pad is not between 0 and 255");
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

static void add_bias(struct made_layer *l)
{
    text_addf(&l->epilogue, "bias");
    l->items = 1;
}

static bool conv(struct graph *g, const struct onnx_node *n, const char **why)
{
    struct place *x = graph_in(g, n, 0), *f = graph_in(g, n, 1);
    struct window v = {0};
    bool turned = !strcmp(n->op, "ConvTranspose");
    int64_t groups = graph_int(n, "group", 1), extra[2] = {0, 0};
    if (!x->known || !f->constant || f->constant->rank != 4)
        return node_lacks(why, f->constant ? "only two-dimensional filters are supported, on an image of known size"
                                           : "its filter is no constant");
    v.kernel[0] = f->constant->dim[2], v.kernel[1] = f->constant->dim[3];
    if (!read_window(n, &v, why))
        return false;
    for (int i = 0; turned && i < 2; i++)
        graph_list(n, "output_padding", NULL, i, &extra[i]);
    if (turned && onnx_attribute(n, "output_shape"))
        return node_lacks(why, "output_shape is not supported");
    int64_t k = turned ? f->constant->dim[1] * groups : f->constant->dim[0],
            depth = turned ? f->constant->dim[0] : f->constant->dim[1] * groups;
    if (groups < 1 || depth != x->dim[1] || k < 1 || k % groups)
        return node_lacks(why, "its filter does not fit the channels of its input");
    struct made_layer *l = graph_layer(g, n, turned ? "conv_transpose2d" : "conv2d", x);
    text_addf(&l->keys, ", k: %lld", (long long)k);
    put_window(&l->keys, &v);
    add_key(&l->keys, "output_pad", extra, 2, 0);
    if (groups > 1)
        text_addf(&l->keys, ", groups: %lld", (long long)groups);
    if (graph_in(g, n, 2)->constant)
        add_bias(l);
    int64_t size[2];
    for (int i = 0; i < 2; i++) {
        int64_t in = x->dim[2 + i], reach = v.dilation[i] * (v.kernel[i] - 1) + 1;
        size[i] = !turned  ? outputs(&v, in, i, false)
                  : v.same ? in * v.stride[i]
                           : (in - 1) * v.stride[i] + reach + extra[i] - v.pad[i] - v.pad[i + 2];
    }
    return graph_leaves(g, n, k, size[0], size[1]) || node_lacks(why, "it leaves nothing of its input");
}

/* A matrix product with constants is a convolution whose filter is as large as the image. */
static bool product(struct graph *g, const struct onnx_node *n, const char **why)
{
    struct place *x = graph_in(g, n, 0), *f = graph_in(g, n, 1);
    bool gemm = !strcmp(n->op, "Gemm"), rows = gemm && graph_int(n, "transB", 0);
    if (!x->known || !f->constant || f->constant->rank != 2 || (gemm && graph_int(n, "transA", 0)))
        return node_lacks(why, "only products of an image with a constant matrix are supported");
    int64_t k = f->constant->dim[rows ? 0 : 1], depth = f->constant->dim[rows ? 1 : 0], all = x->dim[1] * x->dim[2] * x->dim[3];
    if (depth != all || x->dim[2] > 255 || x->dim[3] > 255)
        return node_lacks(why, "its matrix does not fit its input");
    struct made_layer *l = graph_layer(g, n, "conv2d", x);
    text_addf(&l->keys, ", k: %lld", (long long)k);
    add_key(&l->keys, "kernel", &x->dim[2], 2, -1);
    if (gemm && graph_in(g, n, 2)->constant)
        add_bias(l);
    return graph_leaves(g, n, k, 1, 1) || node_lacks(why, "it has no outputs");
}

static bool pool(struct graph *g, const struct onnx_node *n, const char **why)
{
    struct place *x = graph_in(g, n, 0);
    struct window v = {0};
    bool mean = strcmp(n->op, "MaxPool") != 0, global = !strcmp(n->op, "GlobalAveragePool"), up = graph_int(n, "ceil_mode", 0) != 0;
    if (!x->known)
        return node_lacks(why, NEEDS_IMAGE);
    if (!global && !read_window(n, &v, why))
        return false;
    if (global) {
        graph_layer(g, n, "pool_global", x)->foldable = false;
        return graph_leaves(g, n, x->dim[1], 1, 1);
    }
    bool padded = v.same || v.pad[0] || v.pad[1] || v.pad[2] || v.pad[3];
    if (v.kernel[0] > 16 || v.kernel[1] > 16)
        return node_lacks(why, "windows of more than 16 pixels are not supported");
    if (v.dilation[0] != 1 || v.dilation[1] != 1 || n->output_count > 1)
        return node_lacks(why, "dilation and indices are not supported");
    if (mean && padded && !graph_int(n, "count_include_pad", 0))
        return node_lacks(why, "a mean without the padding is not supported");
    int64_t size[2];
    for (int i = 0; i < 2; i++) {
        size[i] = outputs(&v, x->dim[2 + i], i, up);
        if (up && (size[i] - 1) * v.stride[i] >= x->dim[2 + i] + v.pad[i])
            size[i]--; /* no window begins in the padding behind the image */
        int64_t more = (size[i] - 1) * v.stride[i] + v.kernel[i] - x->dim[2 + i] - v.pad[i] - v.pad[i + 2];
        if (up && more > 0 && mean)
            return node_lacks(why, "a mean with ceil_mode is not supported");
        v.pad[i + 2] += up && more > 0 ? more : 0;
    }
    struct made_layer *l = graph_layer(g, n, mean ? "pool_average" : "pool_max", x);
    l->foldable = false;
    put_window(&l->keys, &v);
    return graph_leaves(g, n, x->dim[1], size[0], size[1]) || node_lacks(why, "it leaves nothing of its input");
}

/* ---- items of an epilogue ---- */

/* Makes the node's output another name of x; who reads it reads x. */
static bool rename_to(struct graph *g, const struct onnx_node *n, struct place *x)
{
    struct place *out = graph_value(g, n->outputs[0]);
    if (out == x)
        return false;
    x->uses += out->uses - 1;
    out->alias = x;
    return true;
}

/* A float as people write it. */
static const char *short_real(double v, char room[32])
{
    for (int digits = 6; digits <= 9; digits++) {
        snprintf(room, 32, "%.*g", digits, v);
        if (strtof(room, NULL) == (float)v)
            break;
    }
    return room;
}

static bool constant_real(const struct place *p, int64_t i, double *out)
{
    return p->constant && onnx_number(p->constant, i, out);
}

/* The text of an activation, or NULL. `room`: for the numbers of one. */
static const char *activation(struct graph *g, const struct onnx_node *n, char room[80])
{
    static const struct {
        const char *op, *item;
    } plain[] = {{"Relu", "relu"}, {"Sigmoid", "sigmoid"}, {"Tanh", "tanh"}, {"HardSwish", "hard_swish"}};
    double low = -1e6, high = 1e6;
    char number[32], other[32];
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        if (!strcmp(n->op, plain[i].op))
            return plain[i].item;
    if (!strcmp(n->op, "Gelu"))
        return graph_is(n, "approximate", "tanh") ? "gelu_tanh" : "gelu";
    if (!strcmp(n->op, "LeakyRelu"))
        snprintf(room, 80, "{leaky_relu: %s}", short_real(graph_real(n, "alpha", 0.01), number));
    else if (!strcmp(n->op, "PRelu")) {
        const struct onnx_tensor *slopes = graph_in(g, n, 1)->constant;
        bool one = slopes && onnx_elements(slopes) == 1 && onnx_number(slopes, 0, &low);
        bool fits = slopes && (one || onnx_elements(slopes) == graph_in(g, n, 0)->dim[1]);
        snprintf(room, 80, one ? "{leaky_relu: %s}" : "prelu", short_real(low, number));
        return fits ? room : NULL;
    } else if (!strcmp(n->op, "Clip")) {
        const struct onnx_attribute *a = onnx_attribute(n, "min"), *b = onnx_attribute(n, "max");
        low = a ? a->real : low;
        high = b ? b->real : high;
        constant_real(graph_in(g, n, 1), 0, &low);
        constant_real(graph_in(g, n, 2), 0, &high);
        snprintf(room, 80, "{clip: [%s, %s]}", short_real(fmax(low, -1e6), number), short_real(fmin(high, 1e6), other));
    } else {
        return NULL;
    }
    return room;
}

/* As an item of the layer before, or as a layer of its own. */
static bool fold(struct graph *g, const struct onnx_node *n, const struct place *x, const char *item, const char **why)
{
    struct made_layer *l = graph_open(g, x);
    if (!x->known)
        return node_lacks(why, NEEDS_IMAGE);
    if (l && !l->activated && graph_folded(g, n, x, l, item))
        return l->activated = strcmp(item, "bias") != 0, true;
    l = graph_layer(g, n, "pointwise", x);
    text_add(&l->epilogue, item);
    l->items = 1;
    l->activated = strcmp(item, "bias") != 0;
    return graph_leaves(g, n, x->dim[1], x->dim[2], x->dim[3]);
}

static bool same_shape(const struct place *a, const struct place *b)
{
    return a->known && b->known && !memcmp(a->dim, b->dim, sizeof a->dim);
}

/* The layer that has been scaled, and waits for the residual; NULL: none. */
static struct made_layer *scaled(struct graph *g, const struct place *v)
{
    struct made_layer *l = v->layer >= 0 ? &g->layers[v->layer] : NULL;
    return l && l->scale != 0 && l->residual == LAYER_NONE ? l : NULL;
}

/* x + constant of a channel: a bias. x + y: a residual of the layer that runs last, or a layer of its own. */
static bool add(struct graph *g, const struct onnx_node *n, const char **why)
{
    struct place *a = graph_in(g, n, 0), *b = graph_in(g, n, 1);
    char item[64] = "residual", number[32];
    if (a->constant || b->constant) {
        const struct place *x = a->constant ? b : a;
        const struct onnx_tensor *t = a->constant ? a->constant : b->constant;
        int64_t count = onnx_elements(t);
        return x->known && (count == x->dim[1] || count == 1) ? fold(g, n, x, "bias", why)
                                                              : node_lacks(why, "only a constant of each channel can be added");
    }
    if (!same_shape(a, b))
        return node_lacks(why, "its inputs have no equal, known shapes");
    struct place *last = a->layer > b->layer ? a : b, *other = last == a ? b : a;
    struct made_layer *l = graph_open(g, last);
    if (scaled(g, other) || (scaled(g, last) && !l))
        return node_lacks(why, "the scaled branch is not the one that is computed last");
    bool takes = l && !l->activated && l->residual == LAYER_NONE;
    if (l && l->scale != 0)
        snprintf(item, sizeof item, "{residual: %s}", short_real(l->scale, number));
    if (takes && other->layer != LAYER_NONE && a != b && graph_folded(g, n, last, l, item))
        return l->residual = other->layer, true;
    if (scaled(g, last))
        return node_lacks(why, "nothing can be added to its scaled branch");
    l = graph_layer(g, n, "add", a);
    l->with = b->layer;
    l->foldable = false;
    return graph_leaves(g, n, a->dim[1], a->dim[2], a->dim[3]);
}

/* Does only an addition of something computed read the value? */
static bool is_added(struct graph *g, const struct place *v)
{
    for (int i = 0; i < g->m->node_count && v->uses == 1; i++) {
        const struct onnx_node *n = &g->m->nodes[i];
        if (!strcmp(n->op, "Add") && n->input_count == 2 && (!strcmp(n->inputs[0], v->name) || !strcmp(n->inputs[1], v->name)))
            return !graph_in(g, n, 0)->constant && !graph_in(g, n, 1)->constant;
    }
    return false;
}

/* x * number: the scale of a residual that must follow; x * sigmoid(x). */
static bool multiply(struct graph *g, const struct onnx_node *n, const char **why)
{
    struct place *a = graph_in(g, n, 0), *b = graph_in(g, n, 1), *x = a->constant ? b : a, *by = a->constant ? a : b;
    const struct place *gate = a->sigmoid_of ? a : b->sigmoid_of ? b : NULL, *of = gate ? gate->sigmoid_of : NULL;
    double scale;
    struct made_layer *l = graph_open(g, x);
    if (by->constant && x->known && onnx_elements(by->constant) == 1 && constant_real(by, 0, &scale) && scale > 1e-6 && scale < 1000 &&
        is_added(g, graph_value(g, n->outputs[0]))) {
        if (l && l->scale == 0 && !l->activated && l->residual == LAYER_NONE)
            return l->scale = scale, rename_to(g, n, x);
        l = graph_layer(g, n, "pointwise", x);
        l->scale = scale;
        return graph_leaves(g, n, x->dim[1], x->dim[2], x->dim[3]);
    }
    if (gate && of == (gate == a ? b : a) && of->uses == 2) {
        l = of->layer >= 0 ? &g->layers[of->layer] : NULL;
        if (l && l->foldable && !l->activated && l->items < 7 && graph_folded(g, n, of, l, "silu"))
            return l->activated = true;
        l = graph_layer(g, n, "pointwise", of);
        text_add(&l->epilogue, "silu");
        l->items = 1, l->activated = true;
        return graph_leaves(g, n, of->dim[1], of->dim[2], of->dim[3]);
    }
    bool alike = same_shape(a, b);
    struct place *wide = b->known && b->dim[2] * b->dim[3] == 1 ? a : b, *factors = wide == a ? b : a;
    bool channels = wide->known && factors->known && factors->dim[2] * factors->dim[3] == 1 && factors->dim[1] == wide->dim[1] &&
                    factors->dim[0] == wide->dim[0];
    if (a->constant || b->constant || !(alike || channels) || a->layer == LAYER_NONE || b->layer == LAYER_NONE)
        return node_lacks(why, "only x * sigmoid(x), tensors of one shape, factors of channels, and the scale of a residual are supported");
    l = graph_layer(g, n, alike ? "mul" : "mul_channels", wide);
    l->with = factors->layer;
    l->foldable = false;
    return graph_leaves(g, n, wide->dim[1], wide->dim[2], wide->dim[3]);
}

/* Is a sigmoid only there for x * sigmoid(x)? */
static bool gates(struct graph *g, const struct onnx_node *n)
{
    struct place *x = graph_in(g, n, 0), *out = graph_value(g, n->outputs[0]);
    for (int i = 0; i < g->m->node_count && out->uses == 1 && x->known; i++) {
        const struct onnx_node *m = &g->m->nodes[i];
        if (strcmp(m->op, "Mul") || m->input_count != 2)
            continue;
        struct place *a = graph_in(g, m, 0), *b = graph_in(g, m, 1);
        if ((a == x && b == out) || (a == out && b == x))
            return out->sigmoid_of = x, true;
    }
    return false;
}

static bool normalise(struct graph *g, const struct onnx_node *n, const char **why)
{
    struct place *x = graph_in(g, n, 0);
    struct made_layer *l = graph_open(g, x);
    if (!l || l->activated || l->residual != LAYER_NONE || l->scale != 0 || strncmp(l->op, "conv", 4))
        return node_lacks(why, "it does not follow a convolution that nothing else reads");
    if (!l->items)
        add_bias(l); /* its factors become the filter's, its shift the bias */
    return rename_to(g, n, x);
}

/* ---- what moves values ---- */

static bool concat(struct graph *g, const struct onnx_node *n, const char **why)
{
    struct place *x = graph_in(g, n, 0);
    int64_t axis = graph_int(n, "axis", 1), channels = x->dim[1];
    for (int i = 0; i < n->input_count; i++) {
        const struct place *v = graph_in(g, n, i);
        if (!v->known || v->dim[0] != x->dim[0] || v->dim[2] != x->dim[2] || v->dim[3] != x->dim[3] || (axis != 1 && axis != -3))
            return node_lacks(why, "only channels of images of one size can be joined");
    }
    if (n->input_count == 1)
        return rename_to(g, n, x);
    for (int i = 1; i < n->input_count; i++) {
        const struct place *with = graph_in(g, n, i), *so_far = i == 1 ? x : graph_value(g, n->outputs[0]);
        struct made_layer *l = graph_layer(g, n, "concat", so_far);
        channels += with->dim[1];
        text_addf(&l->keys, ", k: %lld", (long long)channels);
        l->with = with->layer;
        l->foldable = false;
        if (!graph_leaves(g, n, channels, x->dim[2], x->dim[3]))
            return node_lacks(why, "it has too many channels");
    }
    return true;
}

static bool shuffle(struct graph *g, const struct onnx_node *n, const char **why)
{
    struct place *x = graph_in(g, n, 0);
    int64_t b = graph_int(n, "blocksize", 0);
    bool to_space = !strcmp(n->op, "DepthToSpace");
    const char *mode = graph_is(n, "mode", "CRD") ? "CRD" : "DCR";
    if (!x->known || b < 1 || b > 64 || (to_space ? x->dim[1] % (b * b) != 0 : x->dim[2] % b || x->dim[3] % b))
        return node_lacks(why, "its block does not fit its input");
    struct made_layer *l = graph_open(g, x);
    char item[64];
    snprintf(item, sizeof item, "{depth_to_space: {block: %lld, mode: %s}}", (long long)b, mode);
    if (to_space && l && l->scale == 0 && graph_folded(g, n, x, l, item)) {
        struct place *out = graph_value(g, n->outputs[0]);
        out->dim[1] /= b * b, out->dim[2] *= b, out->dim[3] *= b;
        return true;
    }
    l = graph_layer(g, n, to_space ? "depth_to_space" : "space_to_depth", x);
    l->foldable = to_space;
    text_addf(&l->keys, ", block: %lld, mode: %s", (long long)b, mode);
    return to_space ? graph_leaves(g, n, x->dim[1] / (b * b), x->dim[2] * b, x->dim[3] * b)
                    : graph_leaves(g, n, x->dim[1] * b * b, x->dim[2] / b, x->dim[3] / b);
}

static bool is_half_pixel(const struct graph *g, const struct onnx_node *n)
{
    const struct onnx_attribute *where = onnx_attribute(n, "coordinate_transformation_mode");
    return g->m->opset >= 11 &&
           (!where || !where->text || !strcmp(where->text, "half_pixel") || !strcmp(where->text, "pytorch_half_pixel"));
}

/* Is output y the input floor(y / b)? */
static bool takes_nearest(const struct graph *g, const struct onnx_node *n, int64_t b)
{
    const struct onnx_attribute *a = onnx_attribute(n, "nearest_mode");
    const char *mode = a && a->text ? a->text : "round_prefer_floor";
    if (g->m->opset < 11)
        return true;
    if (is_half_pixel(g, n))
        return !strncmp(mode, "round", 5);
    return graph_is(n, "coordinate_transformation_mode", "asymmetric") &&
           (!strcmp(mode, "floor") || (b <= 2 && !strcmp(mode, "round_prefer_floor")));
}

static bool resize(struct graph *g, const struct onnx_node *n, const char **why)
{
    struct place *x = graph_in(g, n, 0);
    const struct onnx_attribute *list = onnx_attribute(n, "scales");
    int at = !strcmp(n->op, "Upsample") || n->input_count == 2 ? 1 : 2;
    bool nearest = !graph_is(n, "mode", "linear") && !graph_is(n, "mode", "bilinear") && !graph_is(n, "mode", "cubic"),
         linear = graph_is(n, "mode", "linear") || graph_is(n, "mode", "bilinear");
    double factor[4] = {1, 1, 1, 1}, size;
    if (!x->known)
        return node_lacks(why, NEEDS_IMAGE);
    for (int i = 0; i < 4; i++)
        if (list && i < list->real_count)
            factor[i] = list->reals[i];
        else if (!constant_real(graph_in(g, n, at), i, &factor[i]) && constant_real(graph_in(g, n, 3), i, &size))
            factor[i] = size / (double)x->dim[i];
    int64_t b = factor[2] >= 1 && factor[2] <= 64 ? (int64_t)factor[2] : 0;
    bool whole = factor[0] == 1 && factor[1] == 1 && factor[2] == factor[3] && factor[2] == (double)b && b >= 1;
    if (!whole || !(nearest ? takes_nearest(g, n, b) : linear && is_half_pixel(g, n) && (b == 2 || b == 4 || b == 8 || b == 16)))
        return node_lacks(why, "only whole factors of nearest, and 2, 4, 8, 16 of linear with half_pixel are supported");
    struct made_layer *l = graph_layer(g, n, nearest ? "upsample" : "upsample_bilinear", x);
    text_addf(&l->keys, ", block: %lld", (long long)b);
    return graph_leaves(g, n, x->dim[1], x->dim[2] * b, x->dim[3] * b) || node_lacks(why, "its output is too large");
}

/* Another name of the same values: the order of a flattened image is the image's. */
static bool renames(struct graph *g, const struct onnx_node *n, const char **why)
{
    struct place *x = graph_in(g, n, 0);
    int64_t rows = 0, columns = 0;
    bool reshapes = !strcmp(n->op, "Reshape"),
         flat =
             !reshapes || (graph_list(n, "shape", graph_in(g, n, 1), 0, &rows) && graph_list(n, "shape", graph_in(g, n, 1), 1, &columns) &&
                           (columns == -1 || columns == x->dim[1] * x->dim[2] * x->dim[3]) && graph_in(g, n, 1)->constant &&
                           onnx_elements(graph_in(g, n, 1)->constant) == 2);
    if (x->constant) {
        graph_value(g, n->outputs[0])->constant = reshapes || !strcmp(n->op, "Identity") ? x->constant : NULL;
        return x->constant && !strcmp(n->op, "Identity") ? true : node_lacks(why, "its input is a constant");
    }
    if (!x->known || !flat)
        return node_lacks(why, x->known ? "only flattening is supported" : NEEDS_IMAGE);
    return rename_to(g, n, x) || node_lacks(why, "it reads its own output");
}

static bool constant(struct graph *g, const struct onnx_node *n, const char **why)
{
    const struct onnx_attribute *a = onnx_attribute(n, "value");
    if (!a || !a->tensor)
        return node_lacks(why, "only a tensor as its value is supported");
    graph_value(g, n->outputs[0])->constant = a->tensor;
    return true;
}

bool graph_node(struct graph *g, const struct onnx_node *n, const char **why)
{
    static const struct {
        const char *op;
        bool (*make)(struct graph *g, const struct onnx_node *n, const char **why);
    } all[] = {{"Conv", conv},       {"ConvTranspose", conv},
               {"Gemm", product},    {"MatMul", product},
               {"MaxPool", pool},    {"AveragePool", pool},
               {"Add", add},         {"GlobalAveragePool", pool},
               {"Mul", multiply},    {"BatchNormalization", normalise},
               {"Concat", concat},   {"DepthToSpace", shuffle},
               {"Resize", resize},   {"SpaceToDepth", shuffle},
               {"Upsample", resize}, {"Identity", renames},
               {"Dropout", renames}, {"Flatten", renames},
               {"Reshape", renames}, {"Constant", constant}};
    char room[80];
    bool own = !n->domain[0] || !strcmp(n->domain, "ai.onnx");
    const char *item = own ? activation(g, n, room) : NULL;
    if (!strcmp(n->op, "Sigmoid") && own && gates(g, n))
        return true;
    if (item)
        return fold(g, n, graph_in(g, n, 0), item, why);
    for (size_t i = 0; own && i < sizeof all / sizeof *all; i++)
        if (!strcmp(n->op, all[i].op))
            return all[i].make(g, n, why);
    return false;
}
