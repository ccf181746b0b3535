/* Operators on constants alone, and the shape of an image: their results are constants. */
#include "base/text.h"
#include "plan/scenario/onnx_graph.h"
#include <math.h>
#include <string.h>

#define ELEMENTS_MAX (1 << 26) /* of all constants that are computed here */

struct onnx_tensor *graph_made(struct graph *g, int type, int rank, const int64_t *dim)
{
    struct onnx_tensor t = {.type = type, .rank = rank, .length = -1};
    memcpy(t.dim, dim, (size_t)rank * sizeof *dim);
    int64_t count = onnx_elements(&t);
    if (count > ELEMENTS_MAX - g->made_elements)
        return NULL;
    g->made_elements += count;
    t.made = xcalloc((size_t)count + 1, sizeof *t.made);
    struct onnx_tensor *made = xmalloc(sizeof *made);
    *made = t;
    return *APPEND(g->made, g->made_count) = made;
}

static bool is_whole(const struct onnx_tensor *t)
{
    return t->type != 1 && t->type != 10 && t->type != 11;
}

/* Element of `t` that element i of the broadcast result reads. */
static int64_t broadcast_from(const struct onnx_tensor *t, const struct onnx_tensor *to, int64_t i)
{
    int64_t at = 0, step = 1;
    for (int a = to->rank - 1; a >= 0; a--) {
        int own = a - (to->rank - t->rank);
        if (own >= 0) {
            at += t->dim[own] == 1 ? 0 : i % to->dim[a] * step;
            step *= t->dim[own];
        }
        i /= to->dim[a] ? to->dim[a] : 1;
    }
    return at;
}

static double compute(char op, double a, double b, bool whole)
{
    switch (op) {
    case 'A': return a + b;
    case 'S': return a - b;
    case 'M': return a * b;
    case 'D': return whole ? (b != 0 ? trunc(a / b) : NAN) : a / b;
    case 'P': return pow(a, b);
    case 'N': return -a;
    case 'F': return floor(a);
    case 'C': return ceil(a);
    case 'Q': return sqrt(a);
    case 'R': return 1 / a;
    case 'B': return fabs(a);
    case 'X': return exp(a);
    case 'O': return log(a);
    case 'I': return fmin(a, b);
    case 'J': return fmax(a, b);
    case '=': return a == b;
    case '<': return a < b;
    case '>': return a > b;
    case '!': return a == 0;
    default: return whole ? trunc(a) : a; /* Cast */
    }
}

/* The sizes that both broadcast to; false: there are none. */
static bool broadcast(const int64_t *a, int a_rank, const int64_t *b, int b_rank, int64_t dim[ONNX_RANK], int *rank)
{
    *rank = b_rank > a_rank ? b_rank : a_rank;
    for (int i = 0; i < *rank; i++) {
        int64_t x = i < *rank - a_rank ? 1 : a[i - *rank + a_rank], y = i < *rank - b_rank ? 1 : b[i - *rank + b_rank];
        if (x != y && x != 1 && y != 1)
            return false;
        dim[i] = x == 1 ? y : x;
    }
    return true;
}

static bool elementwise(struct graph *g, const struct onnx_node *n, char op, struct place *out)
{
    const struct onnx_tensor *a = graph_in(g, n, 0)->constant, *b = n->input_count > 1 ? graph_in(g, n, 1)->constant : NULL;
    int type = op == 'T' ? (int)graph_int(n, "to", 1) : a->type, rank;
    int64_t dim[ONNX_RANK];
    if (n->input_count > 2 || !broadcast(a->dim, a->rank, b ? b->dim : NULL, b ? b->rank : 0, dim, &rank))
        return false;
    struct onnx_tensor *t = graph_made(g, type, rank, dim);
    for (int64_t i = 0, count = t ? onnx_elements(t) : 0; i < count; i++) {
        double x, y = 0;
        if (!onnx_number(a, broadcast_from(a, t, i), &x) || (b && !onnx_number(b, broadcast_from(b, t, i), &y)))
            return false;
        t->made[i] = compute(op, x, y, is_whole(t));
    }
    return t ? out->constant = t, true : false;
}

/* The same values in another shape. */
static bool reshaped(struct graph *g, const struct onnx_tensor *from, int rank, const int64_t *dim, struct place *out)
{
    struct onnx_tensor *t = rank <= ONNX_RANK ? graph_made(g, from->type, rank, dim) : NULL;
    int64_t count = t ? onnx_elements(t) : 0;
    if (!t || count != onnx_elements(from))
        return false;
    for (int64_t i = 0; i < count; i++)
        if (!onnx_number(from, i, &t->made[i]))
            return false;
    return out->constant = t, true;
}

bool graph_target(const struct onnx_node *n, const struct place *shape, int64_t count, const int64_t *own, int own_rank,
                  int64_t dim[ONNX_RANK], int *rank)
{
    int64_t rest = 1, open = -1, v;
    for (*rank = 0; graph_list(n, "shape", shape, *rank, &v); ++*rank) {
        if (*rank >= ONNX_RANK)
            return false;
        dim[*rank] = v == 0 && *rank < own_rank && !graph_int(n, "allowzero", 0) ? own[*rank] : v;
        if (v == -1)
            open = *rank;
        else if (dim[*rank] < 1 || dim[*rank] > count / rest)
            return false;
        else
            rest *= dim[*rank];
    }
    if (open >= 0)
        dim[open] = count / rest;
    return *rank > 0 && (open >= 0 ? count % rest == 0 : rest == count);
}

static bool squeezed(struct graph *g, const struct onnx_node *n, const struct onnx_tensor *from, struct place *out)
{
    bool more = *n->op == 'U';
    int64_t dim[ONNX_RANK], axis, axes[ONNX_RANK];
    int count = 0, rank = 0, own = 0;
    while (count < ONNX_RANK && graph_list(n, "axes", graph_in(g, n, 1), count, &axis))
        axes[count++] = axis;
    int to = more ? from->rank + count : from->rank - count;
    if (to < 0 || to > ONNX_RANK)
        return false;
    for (int i = 0; i < (more ? to : from->rank); i++) {
        bool named = !more && !count && from->dim[i] == 1;
        for (int k = 0; k < count; k++)
            named |= axes[k] == i || axes[k] + (more ? to : from->rank) == i;
        if (more)
            dim[rank++] = named || own >= from->rank ? 1 : from->dim[own++];
        else if (!named)
            dim[rank++] = from->dim[i];
    }
    return reshaped(g, from, rank, dim, out);
}

static bool transposed(struct graph *g, const struct onnx_node *n, const struct onnx_tensor *from, struct place *out)
{
    int64_t dim[ONNX_RANK], perm[ONNX_RANK], step[ONNX_RANK] = {0};
    for (int i = 0; i < from->rank; i++) {
        perm[i] = from->rank - 1 - i;
        graph_list(n, "perm", NULL, i, &perm[i]);
        if (perm[i] < 0 || perm[i] >= from->rank)
            return false;
        dim[i] = from->dim[perm[i]];
    }
    struct onnx_tensor *t = graph_made(g, from->type, from->rank, dim);
    for (int i = 0; i < from->rank; i++) {
        step[i] = 1;
        for (int k = (int)perm[i] + 1; k < from->rank; k++)
            step[i] *= from->dim[k];
    }
    for (int64_t i = 0, count = t ? onnx_elements(t) : 0; i < count; i++) {
        int64_t at = 0, rest = i;
        for (int k = t->rank - 1; k >= 0; k--) {
            at += rest % dim[k] * step[k];
            rest /= dim[k];
        }
        if (!onnx_number(from, at, &t->made[i]))
            return false;
    }
    return t ? out->constant = t, true : false;
}

/* Of lists: one after another, from .. to, or those of an index. */
static bool joined(struct graph *g, const struct onnx_node *n, const struct onnx_tensor *first, struct place *out)
{
    int64_t count = 0, at = 0;
    for (int i = 0; i < n->input_count; i++) {
        if (!graph_in(g, n, i)->constant || graph_in(g, n, i)->constant->rank != 1)
            return false;
        count += onnx_elements(graph_in(g, n, i)->constant);
    }
    struct onnx_tensor *t = graph_made(g, first->type, 1, &count);
    for (int i = 0; t && i < n->input_count; i++)
        for (int64_t k = 0, all = onnx_elements(graph_in(g, n, i)->constant); k < all; k++)
            if (!onnx_number(graph_in(g, n, i)->constant, k, &t->made[at++]))
                return false;
    return t ? out->constant = t, true : false;
}

/* Elements of an axis, at the places of an index; with GatherND those of the first axes, whose places are the last axis of the index. */
static bool picked(struct graph *g, const struct onnx_node *n, const struct onnx_tensor *from, struct place *out)
{
    const struct onnx_tensor *index = graph_in(g, n, 1)->constant;
    bool several = !strcmp(n->op, "GatherND");
    int64_t axis = graph_int(n, "axis", 0), dim[2 * ONNX_RANK], places, inner = 1, outer = 1;
    int deep = several && index && index->rank ? (int)index->dim[index->rank - 1] : 1, rank = 0;
    axis = several ? 0 : axis < 0 ? axis + from->rank : axis;
    if (!index || axis < 0 || deep < 1 || axis + deep > from->rank || graph_int(n, "batch_dims", 0))
        return false;
    for (int i = 0; i < from->rank; i++) {
        if (i < axis)
            outer *= dim[rank++] = from->dim[i];
        if (i == axis)
            for (int k = 0; k < index->rank - several; k++)
                dim[rank++] = index->dim[k];
        if (i >= axis + deep)
            inner *= dim[rank++] = from->dim[i];
    }
    places = onnx_elements(index) / deep;
    struct onnx_tensor *t = rank <= ONNX_RANK ? graph_made(g, from->type, rank, dim) : NULL;
    for (int64_t i = 0, count = t ? onnx_elements(t) : 0; i < count; i++) {
        int64_t place = i / inner % places, at = i / inner / places;
        double v;
        for (int k = 0; k < deep; k++) {
            int64_t size = from->dim[axis + k];
            if (!onnx_number(index, place * deep + k, &v) || !(fabs(v) < 1e15))
                return false;
            v += v < 0 ? (double)size : 0;
            if (v < 0 || v >= (double)size)
                return false;
            at = at * size + (int64_t)v;
        }
        if (!onnx_number(from, at * inner + i % inner, &t->made[i]))
            return false;
    }
    return t ? out->constant = t, true : false;
}

/* Along any axes, with any steps. */
static bool sliced(struct graph *g, const struct onnx_node *n, const struct onnx_tensor *from, struct place *out)
{
    int64_t first[ONNX_RANK] = {0}, step[ONNX_RANK], dim[ONNX_RANK], begin, end, axis, by;
    for (int i = 0; i < from->rank; i++)
        step[i] = 1, dim[i] = from->dim[i];
    for (int i = 0; graph_list(n, "starts", graph_in(g, n, 1), i, &begin) && graph_list(n, "ends", graph_in(g, n, 2), i, &end); i++) {
        axis = i, by = 1;
        graph_list(n, "axes", graph_in(g, n, 3), i, &axis);
        graph_list(n, NULL, graph_in(g, n, 4), i, &by);
        axis = axis < 0 ? axis + from->rank : axis;
        if (axis < 0 || axis >= from->rank || by == 0 || by > INT32_MAX || by < INT32_MIN)
            return false;
        int64_t length = from->dim[axis], least = by < 0 ? -1 : 0, most = by < 0 ? length - 1 : length;
        begin += begin < 0 ? length : 0;
        end += end < 0 ? length : 0;
        begin = begin < least ? least : begin > most ? most : begin;
        end = end < least ? least : end > most ? most : end;
        int64_t count = by > 0 ? (end - begin + by - 1) / by : (begin - end - by - 1) / -by;
        first[axis] = begin, step[axis] = by, dim[axis] = count > 0 ? count : 0;
    }
    struct onnx_tensor *t = graph_made(g, from->type, from->rank, dim);
    for (int64_t i = 0, count = t ? onnx_elements(t) : 0; i < count; i++) {
        int64_t at = 0, rest = i, size = 1;
        for (int k = t->rank - 1; k >= 0; size *= from->dim[k--]) {
            at += (first[k] + rest % dim[k] * step[k]) * size;
            rest /= dim[k];
        }
        if (!onnx_number(from, at, &t->made[i]))
            return false;
    }
    return t ? out->constant = t, true : false;
}

static bool filled(struct graph *g, const struct onnx_node *n, const struct onnx_tensor *shape, struct place *out)
{
    const struct onnx_attribute *value = onnx_attribute(n, "value");
    int64_t dim[ONNX_RANK];
    double v = 0, size;
    int rank = (int)onnx_elements(shape);
    for (int i = 0; i < rank; i++) {
        if (i >= ONNX_RANK || !onnx_number(shape, i, &size) || size < 0 || size > ELEMENTS_MAX)
            return false;
        dim[i] = (int64_t)size;
    }
    if (value && value->tensor && !onnx_number(value->tensor, 0, &v))
        return false;
    struct onnx_tensor *t = graph_made(g, value && value->tensor ? value->tensor->type : 1, rank, dim);
    for (int64_t i = 0, count = t ? onnx_elements(t) : 0; i < count; i++)
        t->made[i] = v;
    return t ? out->constant = t, true : false;
}

/* Values where a condition holds, others where not. */
static bool selected(struct graph *g, const struct onnx_node *n, const struct onnx_tensor *when, struct place *out)
{
    const struct onnx_tensor *of[3] = {when, graph_in(g, n, 1)->constant, graph_in(g, n, 2)->constant};
    int64_t dim[ONNX_RANK], both[ONNX_RANK];
    int rank, most;
    double v[3];
    if (!of[1] || !of[2] || !broadcast(of[1]->dim, of[1]->rank, of[2]->dim, of[2]->rank, both, &most) ||
        !broadcast(when->dim, when->rank, both, most, dim, &rank))
        return false;
    struct onnx_tensor *t = graph_made(g, of[1]->type, rank, dim);
    for (int64_t i = 0, count = t ? onnx_elements(t) : 0; i < count; i++) {
        if (!ALL_OF(k, 3, onnx_number(of[k], broadcast_from(of[k], t, i), &v[k])))
            return false;
        t->made[i] = v[0] != 0 ? v[1] : v[2];
    }
    return t ? out->constant = t, true : false;
}

/* The mean, sum, product, or the largest or smallest along some axes. */
static bool reduced(struct graph *g, const struct onnx_node *n, const struct onnx_tensor *from, struct place *out)
{
    int64_t dim[ONNX_RANK], kept[ONNX_RANK], axis, count = 1;
    bool gone[ONNX_RANK] = {false}, any = false, keeps = graph_int(n, "keepdims", 1) != 0;
    bool product = !strcmp(n->op, "ReduceProd"), most = !strcmp(n->op, "ReduceMax"), least = !strcmp(n->op, "ReduceMin");
    int rank = 0;
    double v;
    for (int i = 0; i < ONNX_RANK && graph_list(n, "axes", graph_in(g, n, 1), i, &axis); i++, any = true) {
        axis += axis < 0 ? from->rank : 0;
        if (axis < 0 || axis >= from->rank)
            return false;
        gone[axis] = true;
    }
    for (int i = 0; i < from->rank; i++) {
        gone[i] |= !any;
        dim[i] = gone[i] ? 1 : from->dim[i];
        count *= gone[i] ? from->dim[i] : 1;
        if (!gone[i] || keeps)
            kept[rank++] = dim[i];
    }
    struct onnx_tensor *t = graph_made(g, from->type, from->rank, dim);
    int64_t outputs = t ? onnx_elements(t) : 0, all = onnx_elements(from);
    for (int64_t i = 0; i < outputs; i++)
        t->made[i] = product ? 1 : most ? -INFINITY : least ? INFINITY : 0;
    for (int64_t i = 0; t && i < all; i++) {
        int64_t rest = i, at = 0, step = 1;
        for (int a = from->rank - 1; a >= 0; step *= dim[a], a--) {
            at += gone[a] ? 0 : rest % from->dim[a] * step;
            rest /= from->dim[a];
        }
        if (!onnx_number(from, i, &v))
            return false;
        double *to = &t->made[at];
        *to = product ? *to * v : most ? fmax(*to, v) : least ? fmin(*to, v) : *to + v;
    }
    for (int64_t i = 0; i < outputs && !strcmp(n->op, "ReduceMean"); i++)
        t->made[i] /= (double)count;
    if (t)
        t->rank = rank, memcpy(t->dim, kept, (size_t)rank * sizeof *kept);
    return t ? out->constant = t, true : false;
}

/* A constant between two others, either of which may be missing. */
static bool clipped(struct graph *g, const struct onnx_node *n, const struct onnx_tensor *from, struct place *out)
{
    double low = graph_real(n, "min", -INFINITY), high = graph_real(n, "max", INFINITY);
    const struct onnx_tensor *least = graph_in(g, n, 1)->constant, *most = graph_in(g, n, 2)->constant;
    struct onnx_tensor *t = graph_made(g, from->type, from->rank, from->dim);
    if (!t || (least && !onnx_number(least, 0, &low)) || (most && !onnx_number(most, 0, &high)))
        return false;
    for (int64_t i = 0, count = onnx_elements(t); i < count; i++) {
        if (!onnx_number(from, i, &t->made[i]))
            return false;
        t->made[i] = fmin(fmax(t->made[i], low), high);
    }
    return out->constant = t, true;
}

/* A constant in a larger shape. */
static bool expanded(struct graph *g, const struct onnx_node *n, const struct onnx_tensor *from, struct place *out)
{
    const struct place *shape = graph_in(g, n, 1);
    int64_t wanted[ONNX_RANK], dim[ONNX_RANK];
    int count = 0, rank;
    while (count < ONNX_RANK && graph_list(n, NULL, shape, count, &wanted[count]))
        if (wanted[count++] < 1)
            return false;
    if (!shape->constant || onnx_elements(shape->constant) != count || !broadcast(from->dim, from->rank, wanted, count, dim, &rank))
        return false;
    struct onnx_tensor *t = graph_made(g, from->type, rank, dim);
    for (int64_t i = 0, all = t ? onnx_elements(t) : 0; i < all; i++)
        if (!onnx_number(from, broadcast_from(from, t, i), &t->made[i]))
            return false;
    return t ? out->constant = t, true : false;
}

/* first, first + step ... before end */
static bool number_range(struct graph *g, const struct onnx_node *n, const struct onnx_tensor *from, struct place *out)
{
    const struct onnx_tensor *to = graph_in(g, n, 1)->constant, *by = graph_in(g, n, 2)->constant;
    double first, end, step;
    if (!to || !by || !onnx_number(from, 0, &first) || !onnx_number(to, 0, &end) || !onnx_number(by, 0, &step))
        return false;
    double steps = ceil((end - first) / step);
    int64_t count = steps >= 1 && steps <= ELEMENTS_MAX ? (int64_t)steps : 0;
    struct onnx_tensor *t = count ? graph_made(g, from->type, 1, &count) : NULL;
    for (int64_t i = 0; t && i < count; i++)
        t->made[i] = first + step * (double)i;
    return t ? out->constant = t, true : false;
}

static bool literal(struct graph *g, const struct onnx_node *n, struct place *out)
{
    static const char *const names[] = {"value_int", "value_ints", "value_float", "value_floats"};
    for (int k = 0; k < 4; k++) {
        const struct onnx_attribute *a = onnx_attribute(n, names[k]);
        int64_t count = !a ? 0 : k == 1 ? a->int_count : k == 3 ? a->real_count : 1;
        struct onnx_tensor *t = a ? graph_made(g, k < 2 ? 7 : 1, k % 2, &count) : NULL;
        for (int64_t i = 0; t && i < count; i++)
            t->made[i] = k == 0 ? (double)a->whole : k == 1 ? (double)a->ints[i] : k == 2 ? a->real : a->reals[i];
        if (t)
            return out->constant = t, true;
    }
    const struct onnx_attribute *a = onnx_attribute(n, "value");
    return a && a->tensor ? out->constant = a->tensor, true : false;
}

static bool shape_of(struct graph *g, const struct onnx_node *n, const struct place *x, struct place *out)
{
    struct view l;
    if (x->constant) {
        l.rank = x->constant->rank;
        memcpy(l.dim, x->constant->dim, sizeof l.dim);
    } else if (!view_of(x, &l)) {
        return false;
    }
    int64_t rank = l.rank, first = graph_int(n, "start", 0), end = graph_int(n, "end", rank);
    first = first < 0 ? first + rank : first;
    end = end < 0 ? end + rank : end > rank ? rank : end;
    int64_t count = end - first;
    struct onnx_tensor *t = first >= 0 && count > 0 && count <= rank ? graph_made(g, 7, 1, &count) : NULL;
    for (int64_t i = 0; t && i < count; i++)
        t->made[i] = (double)l.dim[first + i];
    return t ? out->constant = t, true : false;
}

static bool constant_itself(struct graph *g, const struct onnx_node *n, const struct onnx_tensor *from, struct place *out)
{
    return out->constant = from, true;
}

bool graph_constant(struct graph *g, const struct onnx_node *n)
{
    static const struct {
        const char *op;
        bool (*make)(struct graph *g, const struct onnx_node *n, const struct onnx_tensor *from, struct place *out);
    } others[] = {{"Identity", constant_itself}, {"Unsqueeze", squeezed}, {"Squeeze", squeezed},
                  {"Transpose", transposed},     {"Concat", joined},      {"Gather", picked},
                  {"GatherND", picked},          {"Slice", sliced},       {"ConstantOfShape", filled},
                  {"Where", selected},           {"Clip", clipped},       {"Expand", expanded},
                  {"Range", number_range},       {"ReduceMean", reduced}, {"ReduceSum", reduced},
                  {"ReduceProd", reduced},       {"ReduceMax", reduced},  {"ReduceMin", reduced}};
    static const struct {
        const char *op;
        char as;
    } each[] = {{"Add", 'A'},  {"Sub", 'S'},  {"Mul", 'M'},        {"Div", 'D'},  {"Pow", 'P'},     {"Neg", 'N'}, {"Floor", 'F'},
                {"Ceil", 'C'}, {"Sqrt", 'Q'}, {"Reciprocal", 'R'}, {"Cast", 'T'}, {"Abs", 'B'},     {"Exp", 'X'}, {"Log", 'O'},
                {"Min", 'I'},  {"Max", 'J'},  {"Equal", '='},      {"Less", '<'}, {"Greater", '>'}, {"Not", '!'}};
    struct place *out = graph_value(g, n->outputs[0]);
    const struct onnx_tensor *from = graph_in(g, n, 0)->constant;
    bool all = n->input_count > 0;
    if (!strcmp(n->op, "Constant"))
        return literal(g, n, out);
    if (!strcmp(n->op, "Shape"))
        return shape_of(g, n, graph_in(g, n, 0), out);
    for (int i = 0; i < n->input_count; i++)
        all &= !n->inputs[i][0] || graph_in(g, n, i)->constant;
    if (!all || !from)
        return false;
    for (size_t i = 0; i < sizeof each / sizeof *each; i++)
        if (!strcmp(n->op, each[i].op))
            return (n->input_count == 1 || graph_in(g, n, 1)->constant) && elementwise(g, n, each[i].as, out);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (!strcmp(n->op, others[i].op))
            return others[i].make(g, n, from, out);
    int64_t dim[ONNX_RANK];
    int rank;
    return !strcmp(n->op, "Reshape") && graph_target(n, graph_in(g, n, 1), onnx_elements(from), from->dim, from->rank, dim, &rank) &&
           reshaped(g, from, rank, dim, out);
}
