/* Resize by two products with constant matrices, along rows and along columns: what no op of resizing has, antialias and exclude_outside.
 */
#include "plan/scenario/onnx_graph.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

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

bool resize_by_matrix(struct graph *g, const struct onnx_node *n, const struct resizing *r, const char **why)
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
