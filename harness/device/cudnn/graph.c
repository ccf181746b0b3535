/* A convolution and its fused epilogue as cuDNN's operation graph: v0 = conv(x, w); v1 = scale * v0 + residual; v2 = v1 + scale * bias; y =
 * activation(v2). The residual comes first because the patterns of cuDNN's precompiled engines have it there. Sums of exact data do not
 * depend on the order, and the bound of precision data covers both. */
#include "base/text.h"
#include "device/cudnn/private.h"
#include <stdlib.h>
#include <string.h>

struct builder {
    struct cudnn *handle;
    const struct cudnn_conv *conv;
    struct cudnn_graph *graph;
    int status;       /* first failure */
    const char *what; /* of it */
};

static void *graph_descriptor(struct builder *b, enum cudnn_descriptor type)
{
    void *d = NULL;
    if (b->status != STATUS_SUCCESS)
        return NULL;
    b->status = b->graph->count < GRAPH_DESCRIPTORS_MAX ? b->graph->api->cudnnBackendCreateDescriptor((int)type, &d) : STATUS_NOT_SUPPORTED;
    if (b->status == STATUS_SUCCESS)
        b->graph->own[b->graph->count++] = d;
    else
        b->what = "making a descriptor";
    return d;
}

static void set(struct builder *b, void *d, enum cudnn_attribute name, enum cudnn_type type, int64_t count, const void *values)
{
    if (b->status != STATUS_SUCCESS)
        return;
    b->status = b->graph->api->cudnnBackendSetAttribute(d, (int)name, (int)type, count, values);
    if (b->status != STATUS_SUCCESS)
        b->what = "describing the convolution";
}

static void set_descriptor(struct builder *b, void *d, enum cudnn_attribute name, void *value)
{
    set(b, d, name, TYPE_BACKEND_DESCRIPTOR, 1, &value);
}

static void *cudnn_graph_finish(struct builder *b, void *d, const char *what)
{
    if (b->status != STATUS_SUCCESS)
        return NULL;
    b->status = b->graph->api->cudnnBackendFinalize(d);
    if (b->status != STATUS_SUCCESS)
        b->what = what;
    return d;
}

static int data_of(enum dtype t)
{
    return t == DTYPE_F16 ? DATA_HALF : t == DTYPE_BF16 ? DATA_BFLOAT16 : t == DTYPE_I8 ? DATA_INT8 : DATA_FLOAT;
}
/* What products are summed in; of i8 data that is also the type of the sums that an epilogue reads. */
static int sums_of(const struct cudnn_conv *c)
{
    return c->dtype == DTYPE_I8 ? DATA_INT32 : c->math == MATH_F16_ACC16 ? DATA_HALF : DATA_FLOAT;
}

/* all: n,c,d,h,w (or k,c,t,r,s), of which two dimensions leave the third out; the layout decides the strides. */
static void *tensor(struct builder *b, int64_t uid, const int64_t all[5], int data, bool is_virtual)
{
    void *d = graph_descriptor(b, DESCRIPTOR_TENSOR);
    const struct cudnn_conv *c = b->conv;
    bool deep = c->d > 0, last = c->layout == LAYOUT_NHWC;
    int rank = deep ? 5 : 4;
    int64_t pitch = uid == UID_X ? c->pitch[0] : uid == UID_Y ? c->pitch[1] : uid == UID_RESIDUAL ? c->pitch[2] : 0;
    int64_t dim[5] = {all[0], all[1]}, stride[5], step = !last ? 1 : pitch ? pitch : all[1], alignment = 16;
    memcpy(dim + 2, all + (deep ? 2 : 3), (size_t)(rank - 2) * sizeof *dim);
    for (int i = rank - 1; i >= 2; i--) {
        stride[i] = step;
        step *= dim[i];
    }
    stride[1] = last ? 1 : step;
    stride[0] = last ? step : step * dim[1];
    set(b, d, ATTR_TENSOR_DATA_TYPE, TYPE_DATA_TYPE, 1, &data);
    set(b, d, ATTR_TENSOR_DIMENSIONS, TYPE_INT64, rank, dim);
    set(b, d, ATTR_TENSOR_STRIDES, TYPE_INT64, rank, stride);
    set(b, d, ATTR_TENSOR_UNIQUE_ID, TYPE_INT64, 1, &uid);
    set(b, d, ATTR_TENSOR_BYTE_ALIGNMENT, TYPE_INT64, 1, &alignment);
    set(b, d, ATTR_TENSOR_IS_VIRTUAL, TYPE_BOOLEAN, 1, &is_virtual);
    return cudnn_graph_finish(b, d, "a tensor");
}

static void *convolution(struct builder *b, void *x, void *w, void *y)
{
    const struct cudnn_conv *c = b->conv;
    int64_t dims = c->d > 0 ? 3 : 2, stride[3], before[3], after[3], dilation[3];
    for (int i = 0; i < dims; i++) {
        int64_t axis = i + 3 - dims; /* of z, y, x */
        stride[i] = c->stride + c->more_stride[axis];
        dilation[i] = c->dilation + c->more_dilation[axis];
        before[i] = c->pad + c->more_before[axis];
        after[i] = c->pad + c->more_after[axis];
    }
    int compute = sums_of(c), mode = CROSS_CORRELATION;
    void *d = graph_descriptor(b, DESCRIPTOR_CONVOLUTION);
    set(b, d, ATTR_CONVOLUTION_COMP_TYPE, TYPE_DATA_TYPE, 1, &compute);
    set(b, d, ATTR_CONVOLUTION_CONV_MODE, TYPE_CONVOLUTION_MODE, 1, &mode);
    set(b, d, ATTR_CONVOLUTION_SPATIAL_DIMS, TYPE_INT64, 1, &dims);
    set(b, d, ATTR_CONVOLUTION_DILATIONS, TYPE_INT64, dims, dilation);
    set(b, d, ATTR_CONVOLUTION_FILTER_STRIDES, TYPE_INT64, dims, stride);
    set(b, d, ATTR_CONVOLUTION_PRE_PADDINGS, TYPE_INT64, dims, before);
    set(b, d, ATTR_CONVOLUTION_POST_PADDINGS, TYPE_INT64, dims, after);
    cudnn_graph_finish(b, d, "the convolution");
    float alpha = 1, beta = 0;
    void *op = graph_descriptor(b, DESCRIPTOR_OPERATION_CONVOLUTION_FORWARD);
    set_descriptor(b, op, ATTR_CONVOLUTION_FORWARD_CONV_DESC, d);
    set_descriptor(b, op, ATTR_CONVOLUTION_FORWARD_X, x);
    set_descriptor(b, op, ATTR_CONVOLUTION_FORWARD_W, w);
    set_descriptor(b, op, ATTR_CONVOLUTION_FORWARD_Y, y);
    set(b, op, ATTR_CONVOLUTION_FORWARD_ALPHA, TYPE_FLOAT, 1, &alpha);
    set(b, op, ATTR_CONVOLUTION_FORWARD_BETA, TYPE_FLOAT, 1, &beta);
    return cudnn_graph_finish(b, op, "the convolution");
}

struct factors {
    float x, other;
};

/* other NULL: of one operand; the graph's activation. */
static void *pointwise(struct builder *b, enum cudnn_pointwise kind, struct factors by, void *x, void *other, void *y)
{
    int mode = (int)kind, precision = DATA_FLOAT;
    void *d = graph_descriptor(b, DESCRIPTOR_POINTWISE);
    set(b, d, ATTR_POINTWISE_MODE, TYPE_POINTWISE_MODE, 1, &mode);
    set(b, d, ATTR_POINTWISE_MATH_PREC, TYPE_DATA_TYPE, 1, &precision);
    const struct cudnn_conv *c = b->conv;
    if (!other && c->activation == CUDNN_LEAKY_RELU && c->alpha != 0)
        set(b, d, ATTR_POINTWISE_RELU_LOWER_CLIP_SLOPE, TYPE_DOUBLE, 1, &c->alpha);
    if (!other && c->activation == CUDNN_CLIP) {
        set(b, d, ATTR_POINTWISE_RELU_LOWER_CLIP, TYPE_DOUBLE, 1, &c->alpha);
        set(b, d, ATTR_POINTWISE_RELU_UPPER_CLIP, TYPE_DOUBLE, 1, &c->most);
    }
    cudnn_graph_finish(b, d, "the epilogue");
    void *op = graph_descriptor(b, DESCRIPTOR_OPERATION_POINTWISE);
    set_descriptor(b, op, ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, d);
    set_descriptor(b, op, ATTR_OPERATION_POINTWISE_XDESC, x);
    if (other)
        set_descriptor(b, op, ATTR_OPERATION_POINTWISE_BDESC, other);
    set_descriptor(b, op, ATTR_OPERATION_POINTWISE_YDESC, y);
    if (by.x != 1)
        set(b, op, ATTR_OPERATION_POINTWISE_ALPHA1, TYPE_FLOAT, 1, &by.x);
    if (by.other != 1)
        set(b, op, ATTR_OPERATION_POINTWISE_ALPHA2, TYPE_FLOAT, 1, &by.other);
    return cudnn_graph_finish(b, op, "the epilogue");
}

/* The operations in order; each result but the last is virtual and f32, sums of i8 are i32. */
static int operations(struct builder *b, void *ops[4])
{
    static const enum cudnn_pointwise modes[] = {[CUDNN_RELU] = POINTWISE_RELU_FWD,
                                                 [CUDNN_LEAKY_RELU] = POINTWISE_RELU_FWD,
                                                 [CUDNN_SILU] = POINTWISE_SWISH_FWD,
                                                 [CUDNN_SIGMOID] = POINTWISE_SIGMOID_FWD,
                                                 [CUDNN_TANH] = POINTWISE_TANH_FWD,
                                                 [CUDNN_GELU] = POINTWISE_GELU_FWD,
                                                 [CUDNN_GELU_TANH] = POINTWISE_GELU_APPROX_TANH_FWD,
                                                 [CUDNN_CLIP] = POINTWISE_RELU_FWD};
    const struct cudnn_conv *c = b->conv;
    bool whole = c->dtype == DTYPE_I8;
    int data = data_of(c->dtype), stored = whole ? DATA_FLOAT : data, sums = whole ? DATA_INT32 : DATA_FLOAT;
    int left = c->bias + c->residual + (c->activation != CUDNN_NOTHING), count = 0;
    int64_t x_dim[] = {c->n, c->c, c->d, c->h, c->w}, w_dim[] = {c->k, c->c / c->groups, c->t, c->r, c->s},
            y_dim[] = {c->n, c->k, c->o, c->p, c->q}, bias_dim[] = {1, c->k, 1, 1, 1};
    float scale = c->scale != 0 ? (float)c->scale : 1; /* of the sum and, since the bias comes behind the residual, of the bias */
    int64_t uid = UID_VIRTUAL;
    void *y = tensor(b, UID_Y, y_dim, stored, false);
    void *now = left ? tensor(b, uid++, y_dim, sums, true) : y;
    ops[count++] = convolution(b, tensor(b, UID_X, x_dim, data, false), tensor(b, UID_W, w_dim, data, false), now);
    if (c->residual) {
        void *next = --left ? tensor(b, uid++, y_dim, DATA_FLOAT, true) : y;
        ops[count++] = pointwise(b, POINTWISE_ADD, (struct factors){scale, 1}, now, tensor(b, UID_RESIDUAL, y_dim, stored, false), next);
        now = next;
    }
    if (c->bias) {
        void *next = --left ? tensor(b, uid++, y_dim, DATA_FLOAT, true) : y;
        ops[count++] = pointwise(b, POINTWISE_ADD, (struct factors){1, scale}, now,
                                 tensor(b, UID_BIAS, bias_dim, b->graph->bias_is_narrow ? data : DATA_FLOAT, false), next);
        now = next;
    }
    if (c->activation)
        ops[count++] = pointwise(b, modes[c->activation], (struct factors){1, 1}, now, NULL, y);
    return count;
}

static bool room_for_bias(struct cudnn_graph *g, struct error *err)
{
    return !g->bias_is_narrow || !g->dev || g->dev->ops->alloc(g->dev, "bias in 16 bits", (size_t)g->channels * 2, &g->narrow_bias, err);
}

struct cudnn_graph *cudnn_graph_make(struct cudnn *handle, const struct cudnn_conv *conv, bool narrow_bias, struct error *err)
{
    struct cudnn_graph *g = xcalloc(1, sizeof *g);
    struct builder b = {.handle = handle, .conv = conv, .graph = g, .what = ""};
    void *ops[4];
    g->api = handle->api;
    g->users = 1;
    g->bias_is_narrow = narrow_bias;
    g->dev = handle->dev;
    g->channels = conv->k;
    g->dtype = conv->dtype;
    int count = operations(&b, ops);
    g->operations = graph_descriptor(&b, DESCRIPTOR_OPERATIONGRAPH);
    set(&b, g->operations, ATTR_OPERATIONGRAPH_OPS, TYPE_BACKEND_DESCRIPTOR, count, ops);
    if (handle->handle)
        set(&b, g->operations, ATTR_OPERATIONGRAPH_HANDLE, TYPE_HANDLE, 1, &handle->handle);
    cudnn_graph_finish(&b, g->operations, "the operation graph");
    if ((b.status == STATUS_SUCCESS || cudnn_failed(g->api, b.status, b.what, err)) && room_for_bias(g, err))
        return g;
    cudnn_graph_release(g);
    return NULL;
}

struct cudnn_graph *cudnn_graph_share(struct cudnn_graph *graph, struct error *err)
{
    struct cudnn_graph *g = xcalloc(1, sizeof *g);
    *g = *graph;
    g->of = graph;
    g->users = 1;
    g->count = 0;
    g->narrow_bias = g->prepared_bias = 0;
    graph->users++;
    if (room_for_bias(g, err))
        return g;
    cudnn_graph_release(g);
    return NULL;
}

void cudnn_graph_release(struct cudnn_graph *g)
{
    if (!g || --g->users > 0)
        return;
    if (g->narrow_bias)
        g->dev->ops->release(g->dev, g->narrow_bias);
    while (g->count > 0)
        g->api->cudnnBackendDestroyDescriptor(g->own[--g->count]);
    cudnn_graph_release(g->of);
    free(g);
}

static const char narrow_ptx[] = ".version 7.1\n.target sm_80\n.address_size 64\n"
                                 ".visible .entry narrow_f16(.param .u64 from, .param .u64 to, .param .u32 count)\n{\n"
                                 ".reg .pred %p<2>; .reg .b16 %h<2>; .reg .f32 %f<2>; .reg .b32 %r<8>; .reg .b64 %d<8>;\n"
                                 "ld.param.u64 %d0, [from]; ld.param.u64 %d1, [to]; ld.param.u32 %r0, [count];\n"
                                 "mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x; mad.lo.u32 %r4, %r1, %r2, %r3; "
                                 "setp.ge.u32 %p0, %r4, %r0; @%p0 bra done;\n"
                                 "mul.wide.u32 %d2, %r4, 4; add.u64 %d2, %d0, %d2; mul.wide.u32 %d3, %r4, 2; add.u64 %d3, %d1, %d3;\n"
                                 "ld.global.f32 %f0, [%d2]; cvt.rn.f16.f32 %h0, %f0; st.global.b16 [%d3], %h0;\ndone: ret;\n}\n"
                                 ".visible .entry narrow_bf16(.param .u64 from, .param .u64 to, .param .u32 count)\n{\n"
                                 ".reg .pred %p<2>; .reg .b16 %h<2>; .reg .f32 %f<2>; .reg .b32 %r<8>; .reg .b64 %d<8>;\n"
                                 "ld.param.u64 %d0, [from]; ld.param.u64 %d1, [to]; ld.param.u32 %r0, [count];\n"
                                 "mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x; mad.lo.u32 %r4, %r1, %r2, %r3; "
                                 "setp.ge.u32 %p0, %r4, %r0; @%p0 bra done;\n"
                                 "mul.wide.u32 %d2, %r4, 4; add.u64 %d2, %d0, %d2; mul.wide.u32 %d3, %r4, 2; add.u64 %d3, %d1, %d3;\n"
                                 "ld.global.f32 %f0, [%d2]; cvt.rn.bf16.f32 %h0, %f0; st.global.b16 [%d3], %h0;\ndone: ret;\n}\n";

bool cudnn_narrow(struct cudnn *h, struct cudnn_graph *g, uint64_t bias, struct error *err)
{
    const struct device_ops *ops = g->dev->ops;
    int which = g->dtype == DTYPE_BF16;
    if (!h->narrow_module) {
        struct device_image image = {.label = "bias to 16 bits", .ptx = narrow_ptx, .ptx_bytes = strlen(narrow_ptx)};
        if (!ops->load(g->dev, &image, &h->narrow_module, err))
            return false;
    }
    if (!h->narrow_function[which] &&
        !ops->function(g->dev, h->narrow_module, which ? "narrow_bf16" : "narrow_f16", &h->narrow_function[which], err))
        return false;
    struct {
        uint64_t from, to;
        uint32_t count;
    } params = {bias, g->narrow_bias, (uint32_t)g->channels};
    struct device_launch launch = {
        .grid = {(uint32_t)(g->channels + 127) / 128, 1, 1}, .block = {128, 1, 1}, .carveout = -1, .params = &params, .param_bytes = 20};
    return ops->launch(g->dev, h->narrow_function[which], &launch, err);
}
