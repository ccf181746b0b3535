/* Resize: a layer of an op or, for what no op supports (antialias and exclude_outside), two products with constant matrices, along rows and
 * along columns. */
#include "plan/scenario/onnx_graph.h"
#include "base/text.h"
#include <math.h>
#include <string.h>

/* What a Resize asks for. */
struct resizing {
    int64_t up[2], down[2], size[2]; /* y, x */
    const char *where, *nearest;
    double a;                               /* of a cubic one */
    bool linear, cubic, antialias, outside; /* outside: pixels outside of the image are left out, not its edge */
};

/* ---- by matrices ---- */

/* The place of output i in the input. */
static double resized_from(const struct resizing *r, int axis, int64_t in, int64_t i)
{
    double factor = (double)r->up[axis] / (double)r->down[axis], out = (double)r->size[axis], at = (double)i;
    if (!strcmp(r->where, "align_corners"))
        return out > 1 ? at * (double)(in - 1) / (out - 1) : 0;
    if (!strcmp(r->where, "asymmetric"))
        return at / factor;
    if (!strcmp(r->where, "tf_half_pixel_for_nn"))
        return (at + 0.5) / factor;
    if (!strcmp(r->where, "pytorch_half_pixel") && r->size[axis] == 1)
        return 0;
    double shift = !strcmp(r->where, "half_pixel_symmetric") ? (double)in / 2 * (1 - out / ((double)in * factor)) : 0;
    return shift + (at + 0.5) / factor - 0.5;
}

/* The kernel of the interpolation at this distance, in pixels of the smaller image. */
static double weight_at(const struct resizing *r, double distance)
{
    double d = fabs(distance), a = r->a;
    if (!r->cubic)
        return d < 1 ? 1 - d : 0;
    return d < 1 ? ((a + 2) * d - (a + 3)) * d * d + 1 : d < 2 ? a * (((d - 5) * d + 8) * d - 4) : 0;
}

/* Column i of the matrix: the weights of output i. Pixels outside of the image are its edge, or are left out. */
static void put_weights(const struct resizing *r, int axis, int64_t in, int64_t i, double *column, int64_t step)
{
    double factor = (double)r->up[axis] / (double)r->down[axis], narrow = r->antialias && factor < 1 ? factor : 1;
    double at = resized_from(r, axis, in, i), reach = (r->cubic ? 2 : 1) / narrow, sum = 0;
    for (int pass = 0; pass < 2; pass++)
        for (int64_t k = (int64_t)floor(at - reach); k <= (int64_t)ceil(at + reach); k++) {
            double w = r->outside && (k < 0 || k >= in) ? 0 : weight_at(r, ((double)k - at) * narrow);
            if (!pass)
                sum += w;
            else if (w != 0)
                column[(k < 0 ? 0 : k >= in ? in - 1 : k) * step] += w / sum;
        }
}

/* The node's output is its input times a matrix, along columns (axis 1), or rows (0): with both exchanged before and behind. */
static bool multiply(struct graph *g, const struct onnx_node *n, const struct resizing *r, int axis, const char **why)
{
    static const int64_t exchange[] = {0, 1, 3, 2};
    struct place *x = graph_in(g, n, 0), *matrix = graph_inner(g);
    int64_t in = x->dim[2 + axis], dim[ONNX_RANK] = {in, r->size[axis]};
    struct onnx_tensor *t = graph_made(g, g->half ? 10 : 1, 2, dim);
    if (!t)
        return graph_lacks(why, "its matrices are too large");
    for (int64_t i = 0; i < r->size[axis]; i++)
        put_weights(r, axis, in, i, t->made + i, r->size[axis]);
    matrix->constant = t;
    matrix->uses = 1;
    struct onnx_attribute perm = {.name = (char *)(uintptr_t) "perm", .ints = (int64_t *)(uintptr_t)exchange, .int_count = 4};
    char *inputs[] = {n->inputs[0], (char *)(uintptr_t)matrix->name};
    const int first = axis, last = 2 - axis; /* turn, multiply, turn back; along columns only the second */
    for (int i = first; i <= last; i++) {
        const bool product = i == 1;
        struct onnx_node node = *n;
        char *outputs[1];
        if (i < last)
            view_inner(g, n, &node, outputs)->uses = 1;
        node.inputs = inputs;
        node.input_count = product ? 2 : 1;
        node.attributes = product ? NULL : &perm;
        node.attribute_count = !product;
        node.op = (char *)(uintptr_t)(product ? "MatMul" : "Transpose");
        if (!(product ? nodes_product : axes_transpose)(g, &node, why))
            return false;
        inputs[0] = node.outputs[0];
    }
    return true;
}

static bool resize_by_matrix(struct graph *g, const struct onnx_node *n, const struct resizing *r, const char **why)
{
    struct place *x = graph_in(g, n, 0);
    bool rows = r->size[0] != x->dim[2] || r->up[0] != r->down[0], columns = r->size[1] != x->dim[3] || r->up[1] != r->down[1];
    struct onnx_node first, second = *n;
    char *outputs[1], *inputs[1];
    const char *lack = NULL;
    if (!rows || !columns)
        return multiply(g, n, r, rows ? 0 : 1, why);
    view_inner(g, n, &first, outputs)->uses = 1;
    if (!multiply(g, &first, r, 1, why))
        return false;
    struct place *between = view_image(g, n, graph_value(g, outputs[0]), &lack);
    if (!between)
        return graph_lacks(why, lack);
    inputs[0] = (char *)(uintptr_t)between->name;
    second.inputs = inputs;
    second.input_count = 1;
    return multiply(g, &second, r, 0, why);
}

/* ---- by an op ---- */

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

static bool read_resize(struct graph *g, const struct onnx_node *n, const struct place *x, struct resizing *r)
{
    const struct onnx_attribute *list = onnx_attribute(n, "scales");
    const struct onnx_tensor *sizes = graph_in(g, n, 3)->constant;
    int at = !strcmp(n->op, "Upsample") || n->input_count == 2 ? 1 : 2;
    const char *mode = graph_word(n, "mode", "nearest");
    int64_t size;
    r->linear = !strcmp(mode, "linear") || !strcmp(mode, "bilinear");
    r->cubic = !strcmp(mode, "cubic");
    r->antialias = graph_int(n, "antialias", 0);
    r->outside = graph_int(n, "exclude_outside", 0);
    r->a = graph_real(n, "cubic_coeff_a", -0.75);
    r->where = g->m->opset < 11 ? "asymmetric" : graph_word(n, "coordinate_transformation_mode", "half_pixel");
    r->nearest = g->m->opset < 11 ? "floor" : graph_word(n, "nearest_mode", "round_prefer_floor");
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

bool resize_image(struct graph *g, const struct onnx_node *n, const char **why)
{
    static const char *const places[] = {"half_pixel", "pytorch_half_pixel",   "align_corners",
                                         "asymmetric", "half_pixel_symmetric", "tf_half_pixel_for_nn"};
    struct place *x = graph_in(g, n, 0);
    struct resizing r = {0};
    if (!x->known)
        return graph_lacks(why, NEEDS_IMAGE);
    if (!read_resize(g, n, x, &r))
        return graph_lacks(why, "only constant factors of height and width are supported");
    bool known = ANY_OF(i, sizeof places / sizeof *places, !strcmp(r.where, places[i]));
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
