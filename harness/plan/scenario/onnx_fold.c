/* Operators that become an item of an epilogue, or are multiplied into a filter; where nothing takes them, a layer of their own. */
#include "base/text.h"
#include "plan/scenario/onnx_graph.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* Is a constant one number for all, or one for each channel, along the axis of the channels? */
static bool by_channel(const struct place *x, const struct onnx_tensor *t)
{
    if (onnx_elements(t) == 1)
        return true;
    bool flat = x->dim[2] * x->dim[3] == 1;
    int axis = t->rank == 4 || (t->rank == 2 && flat) ? 1 : t->rank == 3 || (t->rank == 1 && flat) ? 0 : -1;
    return axis >= 0 && t->dim[axis] == x->dim[1] && onnx_elements(t) == x->dim[1];
}

/* As an item of the layer before, or as a layer of its own. */
static struct made_layer *fold(struct graph *g, const struct onnx_node *n, const struct place *x, const char *item, const char **why)
{
    struct made_layer *l = graph_open(g, x);
    if (!x->known)
        return graph_lacks(why, NEEDS_IMAGE), NULL;
    bool fits = l && !l->activated && !(l->scale != 0 && l->residual == LAYER_NONE) && !(l->moved && !strcmp(item, "prelu"));
    if (fits && graph_folded(g, n, x, l, item))
        return l->activated = true, l;
    l = graph_layer(g, n, "pointwise", x);
    text_add(&l->epilogue, item);
    l->items = 1;
    l->activated = true;
    return graph_leaves(g, n, x->dim[1], x->dim[2], x->dim[3]) ? l : NULL;
}

bool fold_affine(struct graph *g, const struct onnx_node *n, struct place *x, double *scale, double *shift, bool unknown, const char **why)
{
    struct made_layer *l = graph_open(g, x);
    bool open = l && !l->activated && l->scale == 0 && l->residual == LAYER_NONE && !l->moved,
         biased = open && l->items == 1 && !strcmp(text_get(&l->epilogue), "bias"),
         takes = open && (biased || !l->items) && (!scale || !strncmp(l->op, "conv", 4));
    if (!x->known) {
        free(scale);
        free(shift);
        return graph_lacks(why, NEEDS_IMAGE);
    }
    if (!takes) {
        l = graph_layer(g, n, scale ? "conv2d" : "pointwise", x);
        if (scale)
            text_addf(&l->keys, ", k: %lld, kernel: 1, groups: %lld", (long long)x->dim[1], (long long)x->dim[1]);
        biased = false;
    }
    if (shift && !biased)
        text_add(&l->epilogue, "bias"), l->items = 1;
    weights_affine(l, scale, shift);
    l->weights.unknown |= unknown;
    return takes ? graph_rename(g, n, x) : graph_leaves(g, n, x->dim[1], x->dim[2], x->dim[3]);
}

/* ---- activations ---- */

/* The text of an activation, or NULL. `room`: for the numbers of one. */
static const char *activation(struct graph *g, const struct onnx_node *n, char room[80], const struct onnx_tensor **slopes)
{
    static const struct {
        const char *op, *item;
    } plain[] = {{"Relu", "relu"}, {"Sigmoid", "sigmoid"}, {"Tanh", "tanh"}, {"HardSwish", "hard_swish"}};
    double low = -1e6, high = 1e6;
    char number[32], other[32];
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        if (!strcmp(n->op, plain[i].op))
            return plain[i].item;
    if (!strcmp(n->op, "Elu"))
        return graph_real(n, "alpha", 1) == 1 ? "elu" : NULL;
    if (!strcmp(n->op, "Gelu"))
        return graph_is(n, "approximate", "tanh") ? "gelu_tanh" : "gelu";
    if (!strcmp(n->op, "LeakyRelu"))
        snprintf(room, 80, "{leaky_relu: %s}", short_real(graph_real(n, "alpha", 0.01), number));
    else if (!strcmp(n->op, "PRelu")) {
        *slopes = graph_in(g, n, 1)->constant;
        bool one = *slopes && onnx_elements(*slopes) == 1 && onnx_number(*slopes, 0, &low);
        bool fits = *slopes && by_channel(graph_in(g, n, 0), *slopes);
        snprintf(room, 80, one ? "{leaky_relu: %s}" : "prelu", short_real(low, number));
        *slopes = one ? NULL : *slopes;
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

/* Is a sigmoid only there for x * sigmoid(x)? */
static bool gates(struct graph *g, const struct onnx_node *n, const char *item)
{
    struct place *x = graph_in(g, n, 0), *out = graph_value(g, n->outputs[0]);
    for (int i = 0; i < g->m->node_count && out->uses == 1 && x->known; i++) {
        const struct onnx_node *m = &g->m->nodes[i];
        if (strcmp(m->op, "Mul") || m->input_count != 2)
            continue;
        struct place *a = graph_in(g, m, 0), *b = graph_in(g, m, 1);
        if ((a == x && b == out) || (a == out && b == x))
            return out->sigmoid_of = x, out->gate = item, true;
    }
    return false;
}

bool fold_is_activation(const struct onnx_node *n)
{
    static const char *const all[] = {"Relu", "Sigmoid", "Tanh", "HardSwish", "Gelu", "Elu", "LeakyRelu", "PRelu", "Clip"};
    return ANY_OF(i, sizeof all / sizeof *all, !strcmp(n->op, all[i]));
}

bool fold_activation(struct graph *g, const struct onnx_node *n, const char **why)
{
    char room[80];
    const struct onnx_tensor *slopes = NULL;
    const char *item = activation(g, n, room, &slopes);
    if (!item)
        return graph_lacks(why,
                           !strcmp(n->op, "Elu") ? "only the factor 1 is supported" : "its slopes are not one constant of each channel");
    if (!strcmp(n->op, "Sigmoid") && gates(g, n, "silu"))
        return true;
    struct made_layer *l = fold(g, n, graph_in(g, n, 0), item, why);
    if (l && slopes)
        l->weights.slopes = slopes;
    return l != NULL;
}

/* clip(alpha x + beta, 0, 1) */
bool fold_hard_sigmoid(struct graph *g, const struct onnx_node *n, const char **why)
{
    struct place *x = graph_in(g, n, 0), *out;
    double alpha = graph_real(n, "alpha", 0.2), beta = graph_real(n, "beta", 0.5);
    if (fabs(alpha - 1.0 / 6) < 1e-6 && beta == 0.5 && gates(g, n, "hard_swish"))
        return true;
    int64_t c = x->known ? x->dim[1] : 0;
    double *scale = xcalloc((size_t)c + 1, sizeof *scale), *shift = xcalloc((size_t)c + 1, sizeof *shift);
    for (int64_t k = 0; k < c; k++)
        scale[k] = alpha, shift[k] = beta;
    int uses = graph_value(g, n->outputs[0])->uses;
    if (!fold_affine(g, n, x, scale, shift, false, why))
        return false;
    out = graph_value(g, n->outputs[0]);
    struct made_layer *l = out->layer >= 0 ? &g->layers[out->layer] : NULL;
    if (!l || out->uses != uses || l->activated || l->moved)
        return graph_lacks(why, "nothing takes its clip");
    text_add(&l->epilogue, ", {clip: [0, 1]}");
    l->items++;
    return l->activated = true;
}

bool fold_gelu(struct graph *g, const struct onnx_node *n, const char **why)
{
    return fold(g, n, graph_in(g, n, 0), "gelu", why) != NULL;
}

/* ---- sums and products ---- */

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

/* x + a constant of each place, the same for all images. */
static bool add_image(struct graph *g, const struct onnx_node *n, const struct place *x, const struct onnx_tensor *t, const char **why)
{
    bool fits = t->rank <= 4;
    for (int i = 0; fits && i < t->rank; i++) {
        int axis = i + 4 - t->rank;
        fits = t->dim[i] == 1 || (axis && t->dim[i] == x->dim[axis]);
    }
    if (!fits)
        return graph_lacks(why, "its constant has other sizes, or is not the same for all images");
    struct made_layer *l = graph_layer(g, n, "add_constant", x);
    l->foldable = false;
    l->weights.image = t;
    return graph_leaves(g, n, x->dim[1], x->dim[2], x->dim[3]);
}

/* -x */
bool fold_negate(struct graph *g, const struct onnx_node *n, const char **why)
{
    struct place *x = graph_in(g, n, 0);
    return fold_affine(g, n, x, weights_even(x->known ? x->dim[1] : 0, -1), NULL, false, why);
}

/* x + constant of a channel: a bias. x + y: a residual of the layer that runs last, or a layer of its own. */
bool fold_add(struct graph *g, const struct onnx_node *n, const char **why)
{
    struct place *a = graph_in(g, n, 0), *b = graph_in(g, n, 1);
    char item[64] = "residual", number[32];
    bool minus = !strcmp(n->op, "Sub"), unknown = false;
    if (a->constant || b->constant) {
        struct place *x = a->constant ? b : a;
        const struct onnx_tensor *t = a->constant ? a->constant : b->constant;
        double *shift = x->known && by_channel(x, t) ? weights_channels(t, x->dim[1], minus && !a->constant ? -1 : 1, 0, &unknown) : NULL,
               *scale = shift && minus && a->constant ? weights_even(x->dim[1], -1) : NULL; /* constant - x */
        if (!shift && !minus && x->known)
            return add_image(g, n, x, t, why);
        return shift ? fold_affine(g, n, x, scale, shift, unknown, why)
                     : graph_lacks(why, "only a constant of each channel can be subtracted");
    }
    if (!same_shape(a, b))
        return graph_lacks(why, "its inputs have no equal, known shapes");
    struct onnx_node negated;
    char *outputs[1];
    if (minus) { /* a + -b */
        view_inner(g, n, &negated, outputs)->uses = 1;
        negated.inputs = n->inputs + 1, negated.input_count = 1;
        if (!fold_negate(g, &negated, why))
            return false;
        b = graph_value(g, outputs[0]);
    }
    struct place *last = a->layer > b->layer ? a : b, *rest = last == a ? b : a;
    struct made_layer *l = graph_open(g, last);
    bool takes = l && !l->activated && l->residual == LAYER_NONE && rest->layer != LAYER_NONE && a != b;
    if (l && l->scale != 0)
        snprintf(item, sizeof item, "{residual: %s}", short_real(l->scale, number));
    if (takes && !scaled(g, rest) && graph_folded(g, n, last, l, item))
        return l->residual = rest->layer, true;
    if (scaled(g, rest) || scaled(g, last))
        return graph_lacks(why, "nothing can be added to its scaled branch");
    l = graph_layer(g, n, "add", a);
    l->with = b->layer;
    l->foldable = false;
    return graph_leaves(g, n, a->dim[1], a->dim[2], a->dim[3]);
}

bool fold_sum(struct graph *g, const struct onnx_node *n, const char **why)
{
    char *sum = n->input_count ? n->inputs[0] : NULL;
    if (n->input_count < 2)
        return n->input_count ? move_rename(g, n, why) : graph_lacks(why, "it has no input");
    for (int i = 1; i < n->input_count; i++) {
        struct place *part = i < n->input_count - 1 ? graph_inner(g) : NULL;
        char *inputs[] = {sum, n->inputs[i]}, *outputs[] = {part ? (char *)(uintptr_t)part->name : n->outputs[0]};
        struct onnx_node add = {
            .name = n->name, .op = "Add", .domain = n->domain, .inputs = inputs, .outputs = outputs, .input_count = 2, .output_count = 1};
        if (part)
            part->uses = 1;
        if (!view_each(g, &add, fold_add, why))
            return false;
        sum = outputs[0];
    }
    return true;
}

/* Does only an addition read the value, of something that is already there and runs before this layer? */
static bool is_added(struct graph *g, const struct place *v, const struct place *x)
{
    for (int i = 0; i < g->m->node_count && v->uses == 1; i++) {
        const struct onnx_node *n = &g->m->nodes[i];
        if (strcmp(n->op, "Add") || n->input_count != 2 || (strcmp(n->inputs[0], v->name) && strcmp(n->inputs[1], v->name)))
            continue;
        const struct place *rest = graph_in(g, n, strcmp(n->inputs[0], v->name) ? 0 : 1);
        return !rest->constant && same_shape(rest, x) && rest->layer != LAYER_NONE && rest->layer < x->layer;
    }
    return false;
}

/* x * sigmoid(x) */
static bool gated(struct graph *g, const struct onnx_node *n, struct place *of, const char *item, const char **why)
{
    struct made_layer *l = of->layer >= 0 ? &g->layers[of->layer] : NULL;
    bool fits = of->uses == 2 && l && l->foldable && !l->activated && l->items < 7 && !(l->scale != 0 && l->residual == LAYER_NONE);
    if (fits && graph_folded(g, n, of, l, item))
        return l->activated = true;
    l = graph_layer(g, n, "pointwise", of);
    text_add(&l->epilogue, item);
    l->items = 1, l->activated = true;
    return graph_leaves(g, n, of->dim[1], of->dim[2], of->dim[3]) || graph_lacks(why, NEEDS_IMAGE);
}

/* x * number: the scale of a residual that must follow, or of a filter; x * sigmoid(x); x * y. */
bool fold_multiply(struct graph *g, const struct onnx_node *n, const char **why)
{
    struct place *a = graph_in(g, n, 0), *b = graph_in(g, n, 1), *x = a->constant ? b : a, *by = a->constant ? a : b;
    struct place *gate = a->sigmoid_of ? a : b->sigmoid_of ? b : NULL;
    double scale;
    bool unknown = false;
    struct made_layer *l = graph_open(g, x);
    if (by->constant && x->known && onnx_elements(by->constant) == 1 && constant_real(by, 0, &scale) && scale > 1e-6 && scale < 1000 && l &&
        l->scale == 0 && !l->activated && l->residual == LAYER_NONE && is_added(g, graph_value(g, n->outputs[0]), x))
        return l->scale = scale, graph_rename(g, n, x);
    if (by->constant && x->known && by_channel(x, by->constant))
        return fold_affine(g, n, x, weights_channels(by->constant, x->dim[1], 1, 0, &unknown), NULL, unknown, why);
    if (gate && gate->sigmoid_of == (gate == a ? b : a))
        return gated(g, n, gate == a ? b : a, gate->gate, why);
    bool alike = same_shape(a, b);
    struct place *wide = b->known && b->dim[2] * b->dim[3] == 1 ? a : b, *factors = wide == a ? b : a;
    bool each = wide->known && factors->known && factors->dim[2] * factors->dim[3] == 1 && factors->dim[1] == wide->dim[1] &&
                factors->dim[0] == wide->dim[0];
    if (a->constant || b->constant || !(alike || each) || a->layer == LAYER_NONE || b->layer == LAYER_NONE)
        return graph_lacks(why, "only constants and factors of channels, and tensors of one shape, are supported");
    l = graph_layer(g, n, alike ? "mul" : "mul_channels", wide);
    l->with = factors->layer;
    l->foldable = false;
    return graph_leaves(g, n, wide->dim[1], wide->dim[2], wide->dim[3]);
}

bool fold_divide(struct graph *g, const struct onnx_node *n, const char **why)
{
    struct place *x = graph_in(g, n, 0), *by = graph_in(g, n, 1);
    bool unknown = false;
    double *scale =
        x->known && by->constant && by_channel(x, by->constant) ? weights_channels(by->constant, x->dim[1], 1, 0, &unknown) : NULL;
    for (int64_t k = 0; scale && k < x->dim[1]; k++)
        scale[k] = 1 / scale[k];
    return scale ? fold_affine(g, n, x, scale, NULL, unknown, why) : graph_lacks(why, "only an image can be divided by constants");
}

bool fold_normalise(struct graph *g, const struct onnx_node *n, const char **why)
{
    struct place *x = graph_in(g, n, 0);
    double *of[4] = {0}; /* scale, bias, mean, variance */
    bool unknown = false, all = x->known && graph_int(n, "training_mode", 0) == 0;
    for (int i = 0; all && i < 4; i++)
        all = (of[i] = weights_channels(graph_in(g, n, i + 1)->constant, x->dim[1], 1, 0, &unknown)) != NULL;
    for (int64_t k = 0; all && k < x->dim[1]; k++) {
        of[0][k] /= sqrt(of[3][k] + graph_real(n, "epsilon", 1e-5));
        of[1][k] -= of[2][k] * of[0][k];
    }
    free(of[2]);
    free(of[3]);
    if (all)
        return fold_affine(g, n, x, of[0], of[1], unknown, why);
    free(of[0]);
    free(of[1]);
    return graph_lacks(why, "its input is not an image of known size, or its numbers are not constants");
}
