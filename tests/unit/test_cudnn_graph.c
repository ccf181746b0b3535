/* device/cudnn/graph: a result computed from the descriptors alone equals the requested convolution, written out as loops.
 */
#include "base/text.h"
#include "device/cudnn/private.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cudnn_graph_run.h"
#include "noise.h"
#include <math.h>

static const struct cudnn_conv *conv;
static bool last; /* channels */

static double *drawn(size_t count)
{
    double *v = xcalloc(count, sizeof *v);
    for (size_t i = 0; i < count; i++)
        v[i] = floor(20 * noise_uniform()) - 10;
    return v;
}

static double *given[6]; /* by UID; as they lie in memory */
static double *feed(const struct graph_tensor *t)
{
    if (t->uid == UID_Y)
        return NULL; /* is computed */
    assert_true(t->uid >= UID_X && t->uid <= UID_RESIDUAL && !given[t->uid]);
    double *values = drawn(t->places);
    given[t->uid] = xcalloc(t->places, sizeof *values);
    memcpy(given[t->uid], values, t->places * sizeof *values);
    return values;
}

/* Where an element lies: N C D H W, the channel last for NHWC. */
static int64_t at(int64_t n, int64_t c, int64_t d, int64_t h, int64_t w, int64_t channels, int64_t depth, int64_t rows, int64_t cols)
{
    return last ? (((n * depth + d) * rows + h) * cols + w) * channels + c : (((n * channels + c) * depth + d) * rows + h) * cols + w;
}

/* axis: of z, y, x */
static int64_t read_from(const struct cudnn_conv *v, int axis, int64_t out, int64_t tap)
{
    return out * (v->stride + v->more_stride[axis]) - (v->pad + v->more_before[axis]) + tap * (v->dilation + v->more_dilation[axis]);
}

static double output(int64_t n, int64_t k, int64_t o, int64_t p, int64_t q)
{
    const struct cudnn_conv *v = conv;
    int64_t depth = v->d ? v->d : 1, taps = v->d ? v->t : 1, out = v->d ? v->o : 1, own = v->c / v->groups,
            first = k / (v->k / v->groups) * own;
    double sum = 0;
    for (int64_t c = 0; c < own; c++)
        for (int64_t t = 0; t < taps; t++)
            for (int64_t r = 0; r < v->r; r++)
                for (int64_t s = 0; s < v->s; s++) {
                    int64_t z = v->d ? read_from(v, 0, o, t) : 0, y = read_from(v, 1, p, r), x = read_from(v, 2, q, s);
                    if (z >= 0 && z < depth && y >= 0 && y < v->h && x >= 0 && x < v->w)
                        sum += given[UID_X][at(n, first + c, z, y, x, v->c, depth, v->h, v->w)] *
                               given[UID_W][at(k, c, t, r, s, own, taps, v->r, v->s)];
                }
    if (v->bias)
        sum += given[UID_BIAS][k];
    if (v->scale != 0)
        sum *= v->scale;
    if (v->residual)
        sum += given[UID_RESIDUAL][at(n, k, o, p, q, v->k, out, v->p, v->q)];
    return v->activation && sum < 0 ? (v->activation == 2 ? v->alpha * sum : 0) : sum;
}

static int data_type(enum dtype t)
{
    return t == DTYPE_F32 ? DATA_FLOAT : t == DTYPE_F16 ? DATA_HALF : t == DTYPE_BF16 ? DATA_BFLOAT16 : DATA_INT8;
}

static void is_described(const struct cudnn_conv *c, bool narrow)
{
    struct cudnn handle = {.api = &api, .handle = &a_handle, .dev = fake_device()};
    struct error err = {0};
    struct graph_run run;
    world = (struct world){0};
    conv = c;
    last = c->layout == LAYOUT_NHWC;
    memset(given, 0, sizeof given);
    struct cudnn_graph *g = cudnn_graph_make(&handle, c, narrow, &err);
    if (!g)
        fail_msg("%s", err.text);
    const struct fake *graph = g->operations;
    assert_true(graph->final && *(void *const *)must(graph, ATTR_OPERATIONGRAPH_HANDLE, 1) == &a_handle);
    graph_run(graph, &run, feed);
    assert_true(!given[UID_BIAS] == !c->bias && !given[UID_RESIDUAL] == !c->residual);
    bool whole = c->dtype == DTYPE_I8;
    for (int i = 0; i < run.count; i++) {
        const struct graph_tensor *t = &run.tensors[i];
        bool sums = t->uid >= UID_VIRTUAL;
        assert_true(t->is_virtual == sums);
        int type = t->uid == UID_X || t->uid == UID_W          ? data_type(c->dtype)
                   : t->uid == UID_BIAS                        ? (narrow ? data_type(c->dtype) : DATA_FLOAT)
                   : t->uid == UID_Y || t->uid == UID_RESIDUAL ? (whole ? DATA_FLOAT : data_type(c->dtype))
                   : whole && t->uid == UID_VIRTUAL            ? DATA_INT32
                                                               : DATA_FLOAT;
        assert_int_equal(t->data, type);
    }
    const struct graph_tensor *y = graph_find(&run, UID_Y);
    int64_t out = c->d ? c->o : 1;
    assert_int_equal(y->places, c->n * c->k * out * c->p * c->q);
    for (int64_t n = 0; n < c->n; n++)
        for (int64_t k = 0; k < c->k; k++)
            for (int64_t i = 0; i < out * c->p * c->q; i++) {
                int64_t o = i / (c->p * c->q), p = i / c->q % c->p, q = i % c->q;
                double is = y->value[at(n, k, o, p, q, c->k, out, c->p, c->q)], should = output(n, k, o, p, q);
                if (!(fabs(is - should) < 1e-9))
                    fail_msg("y(%d,%d,%d,%d,%d) = %g, want %g", (int)n, (int)k, (int)o, (int)p, (int)q, is, should);
            }
    /* what products are summed in */
    const struct fake *first = (*(struct fake *const *const *)&(const void *){attribute(graph, ATTR_OPERATIONGRAPH_OPS, NULL)})[0];
    const struct fake *desc = must_be(first, ATTR_CONVOLUTION_FORWARD_CONV_DESC, DESCRIPTOR_CONVOLUTION);
    assert_int_equal(*(const int *)must(desc, ATTR_CONVOLUTION_COMP_TYPE, 1), whole                       ? DATA_INT32
                                                                              : c->math == MATH_F16_ACC16 ? DATA_HALF
                                                                                                          : DATA_FLOAT);
    for (int i = 0; i < 6; i++)
        free(given[i]);
    graph_run_free(&run);
    cudnn_graph_release(g);
    assert_int_equal(world.alive, 0);
}

static int64_t out_of(int64_t in, int64_t taps, const struct cudnn_conv *c)
{
    return (in + 2 * c->pad - c->dilation * (taps - 1) - 1) / c->stride + 1;
}

static struct cudnn_conv made(int64_t pad, int64_t stride, int64_t dilation, int64_t groups, int64_t depth)
{
    struct cudnn_conv c = {
        .n = 2, .c = 4, .h = 7, .w = 9, .k = 6, .r = 3, .s = 2, .stride = stride, .pad = pad, .dilation = dilation, .groups = groups};
    c.dtype = DTYPE_F16, c.math = MATH_F16_ACC32, c.layout = LAYOUT_NHWC;
    c.p = out_of(c.h, c.r, &c);
    c.q = out_of(c.w, c.s, &c);
    if (depth) {
        c.d = depth, c.t = 2;
        c.o = out_of(c.d, c.t, &c);
    }
    return c;
}

static void shapes_are_described(void **state)
{
    static const int kinds[][5] = {{0, 1, 1, 1, 0}, {1, 1, 1, 1, 0}, {1, 2, 1, 1, 0}, {2, 1, 2, 1, 0},
                                   {1, 1, 1, 2, 0}, {0, 1, 1, 1, 5}, {1, 2, 1, 1, 5}, {1, 1, 2, 2, 5}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        for (int layout = 0; layout < 2; layout++) {
            struct cudnn_conv c = made(kinds[i][0], kinds[i][1], kinds[i][2], kinds[i][3], kinds[i][4]);
            c.layout = layout ? LAYOUT_NCHW : LAYOUT_NHWC;
            noise_state = i;
            is_described(&c, false);
        }
}

/* Each number in its own place; of images the third axis does not count. */
static void sides_are_described(void **state)
{
    for (int depth = 0; depth < 6; depth += 5) {
        struct cudnn_conv c = made(1, 1, 1, 1, depth);
        char *alike = cudnn_conv_text(&c), *apart;
        c.more_stride[2] = 1, c.more_dilation[1] = 1, c.more_before[1] = 2, c.more_after[2] = 3, c.more_before[0] = depth ? -1 : 0;
        c.p = (7 + 3 + 1 - 2 * 2 - 1) / 1 + 1, c.q = (9 + 1 + 4 - 1 - 1) / 2 + 1, c.o = depth ? (5 + 0 + 1 - 1 - 1) / 1 + 1 : 0;
        is_described(&c, false);
        apart = cudnn_conv_text(&c); /* the key under which a choice of a plan is kept */
        assert_true(!strchr(alike, '+') && strstr(apart, " stride+0+0+1") && strstr(apart, " after+0+0+3"));
        struct cudnn_conv other = c;
        other.more_after[2] = 2;
        assert_true(cudnn_conv_same(&c, &c) && !cudnn_conv_same(&c, &other));
        free(alike);
        free(apart);
    }
}

static void epilogues_are_described(void **state)
{
    for (int bias = 0; bias < 2; bias++)
        for (int residual = 0; residual < 3; residual++) /* 2: scaled */
            for (int activation = 0; activation < 3; activation++) {
                struct cudnn_conv c = made(1, 1, 1, 1, 0), other;
                c.bias = bias, c.residual = residual > 0, c.activation = activation, c.alpha = 0.25;
                other = c;
                c.scale = residual == 2 ? 0.125 : 0;
                assert_true(cudnn_conv_same(&c, &other) == (residual < 2));
                noise_state = 9;
                is_described(&c, false);
                is_described(&c, true);
                c.layout = LAYOUT_NCHW;
                is_described(&c, false);
            }
}

static void types_are_described(void **state)
{
    static const struct {
        enum dtype dtype;
        enum math math;
    } types[] = {{DTYPE_F32, MATH_F32},       {DTYPE_F32, MATH_TF32},        {DTYPE_F16, MATH_F16_ACC32},
                 {DTYPE_F16, MATH_F16_ACC16}, {DTYPE_BF16, MATH_BF16_ACC32}, {DTYPE_I8, MATH_I8_ACC32}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        for (int epilogue = 0; epilogue < 2; epilogue++) {
            struct cudnn_conv c = made(1, 1, 1, 1, 0);
            c.dtype = types[i].dtype, c.math = types[i].math, c.bias = c.residual = epilogue, c.activation = epilogue;
            is_described(&c, false);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(shapes_are_described), cmocka_unit_test(sides_are_described),
                                       cmocka_unit_test(epilogues_are_described), cmocka_unit_test(types_are_described)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
