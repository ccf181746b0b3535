/* Computes a graph of the stand-in (fake_cudnn.h) from its descriptors alone: shapes, strides, pads, types and the order of its operations.
 * It does not know the convolution from which bench built the graph. */
#ifndef BENCH_TESTS_CUDNN_GRAPH_RUN_H
#define BENCH_TESTS_CUDNN_GRAPH_RUN_H

#include "fake_cudnn.h"

#define GRAPH_TENSORS 16
/* A tensor of the graph: values by storage place. */
struct graph_tensor {
    int64_t uid, rank, dim[5], stride[5];
    size_t places; /* of storage */
    int data;      /* enum cudnn_data */
    bool is_virtual;
    double *value; /* NULL until it is fed or computed */
};
struct graph_run {
    struct graph_tensor tensors[GRAPH_TENSORS];
    int count;
};

static const void *must(const struct fake *d, int name, int64_t wanted)
{
    int64_t count = -1;
    const void *at = attribute(d, name, &count);
    if (!at || (wanted && count != wanted))
        fail_msg("attribute %d of a descriptor of type %d: %lld values, want %lld", name, d->type, (long long)count, (long long)wanted);
    return at;
}
static const struct fake *must_be(const struct fake *d, int name, int type)
{
    const struct fake *other = *(struct fake *const *)must(d, name, 1);
    assert_int_equal(other->type, type);
    assert_true(other->final);
    return other;
}

static struct graph_tensor *graph_tensor(struct graph_run *run, const struct fake *d)
{
    int64_t uid = *(const int64_t *)must(d, ATTR_TENSOR_UNIQUE_ID, 1), rank = 0, extent = 0;
    for (int i = 0; i < run->count; i++)
        if (run->tensors[i].uid == uid)
            return &run->tensors[i];
    assert_true(run->count < GRAPH_TENSORS);
    struct graph_tensor *t = &run->tensors[run->count++];
    *t = (struct graph_tensor){.uid = uid};
    memcpy(t->dim, attribute(d, ATTR_TENSOR_DIMENSIONS, &rank), sizeof t->dim);
    memcpy(t->stride, must(d, ATTR_TENSOR_STRIDES, rank), sizeof t->stride);
    t->rank = rank;
    assert_true(rank == 4 || rank == 5);
    t->data = *(const int *)must(d, ATTR_TENSOR_DATA_TYPE, 1);
    t->is_virtual = *(const bool *)must(d, ATTR_TENSOR_IS_VIRTUAL, 1);
    assert_int_equal(*(const int64_t *)must(d, ATTR_TENSOR_BYTE_ALIGNMENT, 1), 16);
    for (int i = 0; i < rank; i++) {
        assert_true(t->dim[i] > 0 && t->stride[i] > 0);
        extent += (t->dim[i] - 1) * t->stride[i];
    }
    t->places = (size_t)extent + 1;
    int64_t elements = 1;
    for (int i = 0; i < rank; i++)
        elements *= t->dim[i];
    assert_int_equal(t->places, elements); /* nothing is left out, nothing lies twice */
    return t;
}

static size_t place_in(const struct graph_tensor *t, const int64_t *at)
{
    int64_t place = 0;
    for (int i = 0; i < t->rank; i++)
        place += (t->dim[i] == 1 ? 0 : at[i]) * t->stride[i];
    assert_true(place >= 0 && (size_t)place < t->places);
    return (size_t)place;
}
static bool next_of(const struct graph_tensor *t, int64_t *at)
{
    int i = (int)t->rank - 1;
    while (i >= 0 && ++at[i] == t->dim[i])
        at[i--] = 0;
    return i >= 0;
}
static void computed(struct graph_tensor *t)
{
    assert_null(t->value);
    t->value = calloc(t->places, sizeof *t->value);
}

static void run_convolution(struct graph_run *run, const struct fake *op)
{
    const struct fake *c = must_be(op, ATTR_CONVOLUTION_FORWARD_CONV_DESC, DESCRIPTOR_CONVOLUTION);
    struct graph_tensor *x = graph_tensor(run, must_be(op, ATTR_CONVOLUTION_FORWARD_X, DESCRIPTOR_TENSOR)),
                        *w = graph_tensor(run, must_be(op, ATTR_CONVOLUTION_FORWARD_W, DESCRIPTOR_TENSOR)),
                        *y = graph_tensor(run, must_be(op, ATTR_CONVOLUTION_FORWARD_Y, DESCRIPTOR_TENSOR));
    int64_t dims = *(const int64_t *)must(c, ATTR_CONVOLUTION_SPATIAL_DIMS, 1);
    const int64_t *stride = must(c, ATTR_CONVOLUTION_FILTER_STRIDES, dims), *before = must(c, ATTR_CONVOLUTION_PRE_PADDINGS, dims),
                  *after = must(c, ATTR_CONVOLUTION_POST_PADDINGS, dims), *dilation = must(c, ATTR_CONVOLUTION_DILATIONS, dims);
    assert_int_equal(*(const int *)must(c, ATTR_CONVOLUTION_CONV_MODE, 1), CROSS_CORRELATION);
    assert_true(*(const float *)must(op, ATTR_CONVOLUTION_FORWARD_ALPHA, 1) == 1 &&
                *(const float *)must(op, ATTR_CONVOLUTION_FORWARD_BETA, 1) == 0);
    assert_true(x->rank == dims + 2 && w->rank == x->rank && y->rank == x->rank && x->value && w->value);
    assert_true(y->dim[0] == x->dim[0] && y->dim[1] == w->dim[0] && x->dim[1] % w->dim[1] == 0);
    for (int i = 0; i < dims; i++)
        assert_int_equal(y->dim[i + 2], (x->dim[i + 2] + before[i] + after[i] - dilation[i] * (w->dim[i + 2] - 1) - 1) / stride[i] + 1);
    int64_t at[5] = {0}, groups = x->dim[1] / w->dim[1];
    computed(y);
    do {
        int64_t tap[5] = {at[1]}, from[5] = {at[0]};
        double sum = 0;
        do {
            bool inside = true;
            from[1] = at[1] / (y->dim[1] / groups) * w->dim[1] + tap[1];
            for (int i = 2; i < dims + 2; i++) {
                from[i] = at[i] * stride[i - 2] - before[i - 2] + tap[i] * dilation[i - 2];
                inside = inside && from[i] >= 0 && from[i] < x->dim[i];
            }
            sum += inside ? x->value[place_in(x, from)] * w->value[place_in(w, tap)] : 0;
        } while (next_of(w, tap) && tap[0] == at[1]);
        y->value[place_in(y, at)] = sum;
    } while (next_of(y, at));
}

static void run_pointwise(struct graph_run *run, const struct fake *op)
{
    const struct fake *p = must_be(op, ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, DESCRIPTOR_POINTWISE);
    int mode = *(const int *)must(p, ATTR_POINTWISE_MODE, 1);
    const double *slope = (const double *)attribute(p, ATTR_POINTWISE_RELU_LOWER_CLIP_SLOPE, NULL);
    struct graph_tensor *x = graph_tensor(run, must_be(op, ATTR_OPERATION_POINTWISE_XDESC, DESCRIPTOR_TENSOR)), *b = NULL,
                        *y = graph_tensor(run, must_be(op, ATTR_OPERATION_POINTWISE_YDESC, DESCRIPTOR_TENSOR));
    assert_int_equal(*(const int *)must(p, ATTR_POINTWISE_MATH_PREC, 1), DATA_FLOAT);
    assert_true(mode == POINTWISE_ADD || mode == POINTWISE_RELU_FWD);
    if (mode == POINTWISE_ADD)
        b = graph_tensor(run, must_be(op, ATTR_OPERATION_POINTWISE_BDESC, DESCRIPTOR_TENSOR));
    else
        assert_null(attribute(op, ATTR_OPERATION_POINTWISE_BDESC, NULL));
    assert_true(x->value && (!b || b->value) && !memcmp(x->dim, y->dim, sizeof x->dim));
    for (int i = 0; b && i < x->rank; i++)
        assert_true(b->dim[i] == x->dim[i] || b->dim[i] == 1);
    const float *by = (const float *)attribute(op, ATTR_OPERATION_POINTWISE_ALPHA1, NULL),
                *by_b = (const float *)attribute(op, ATTR_OPERATION_POINTWISE_ALPHA2, NULL);
    int64_t at[5] = {0};
    computed(y);
    do {
        double v = (by ? *by : 1) * x->value[place_in(x, at)];
        y->value[place_in(y, at)] = b ? v + (by_b ? *by_b : 1) * b->value[place_in(b, at)] : v > 0 ? v : slope ? v * *slope : 0;
    } while (next_of(y, at));
}

/* `feed` gives the values of a tensor that is not virtual and not computed, or NULL. */
static void graph_run(const struct fake *graph, struct graph_run *run, double *(*feed)(const struct graph_tensor *t))
{
    int64_t count = 0;
    assert_int_equal(graph->type, DESCRIPTOR_OPERATIONGRAPH);
    struct fake *const *list = (struct fake *const *)attribute(graph, ATTR_OPERATIONGRAPH_OPS, &count);
    *run = (struct graph_run){.count = 0};
    assert_true(list && count > 0 && count <= 4);
    for (int i = 0; i < count; i++) {
        static const int tensors[] = {ATTR_CONVOLUTION_FORWARD_X,     ATTR_CONVOLUTION_FORWARD_W,     ATTR_CONVOLUTION_FORWARD_Y,
                                      ATTR_OPERATION_POINTWISE_XDESC, ATTR_OPERATION_POINTWISE_BDESC, ATTR_OPERATION_POINTWISE_YDESC};
        assert_true(list[i]->final);
        for (int k = 0; k < 6; k++) {
            struct fake *const *of = (struct fake *const *)attribute(list[i], tensors[k], NULL);
            struct graph_tensor *t = of ? graph_tensor(run, *of) : NULL;
            if (t && !t->value && !t->is_virtual)
                t->value = feed(t);
        }
        if (list[i]->type == DESCRIPTOR_OPERATION_CONVOLUTION_FORWARD)
            run_convolution(run, list[i]);
        else
            run_pointwise(run, list[i]);
    }
}

static const struct graph_tensor *graph_find(const struct graph_run *run, int64_t uid)
{
    for (int i = 0; i < run->count; i++)
        if (run->tensors[i].uid == uid)
            return &run->tensors[i];
    return NULL;
}
static void graph_run_free(struct graph_run *run)
{
    for (int i = 0; i < run->count; i++)
        free(run->tensors[i].value);
}

#endif
