/* conv2d: y[n][k][p][q] = sum over c, r, s of x[n][c][p*stride - pad + r*dilation][q*stride - pad + s*dilation] * f[k][c][r][s], zero
 * outside the image (cross-correlation: the filter is not flipped, as in cuDNN and PyTorch). */
#include "op/reference.h"
#include "op/shape.h"

static bool conv2d_finish(struct work *w, struct error *err)
{
    int64_t reach_h = w->dilation * (w->r - 1) + 1, reach_w = w->dilation * (w->s - 1) + 1, padded_h = w->h + 2 * w->pad,
            padded_w = w->w + 2 * w->pad;
    if (reach_h > padded_h || reach_w > padded_w)
        return error_set(err, ERROR_USAGE, "the filter %ldx%ld%s is larger than the padded input %ldx%ld", (long)reach_h, (long)reach_w,
                         w->dilation > 1 ? " (with its dilation)" : "", (long)padded_h, (long)padded_w);
    w->p = (padded_h - reach_h) / w->stride + 1;
    w->q = (padded_w - reach_w) / w->stride + 1;
    return true;
}

static int64_t conv2d_reads(const struct work *w, enum axis_of axis, int64_t output, int64_t tap)
{
    return output * w->stride - w->pad + tap * w->dilation;
}

static const struct op_field fields[] = {
    FIELDS_NCHW,
    FIELD("k", k, 1, 1 << 20, "output channels"),
    FIELD("kernel", r, 1, 255, "filter size in pixels: a number, or [r, s]"),
    FIELD_OR("stride", stride, 1, 1, 255, "pixels between neighbouring outputs, both directions"),
    FIELD_OR("pad", pad, 0, 0, 255, "zero pixels around the input, every side"),
    FIELD_OR("dilation", dilation, 1, 1, 255, "pixels between neighbouring taps"),
    FIELD_OR("groups", groups, 1, 1, 1 << 20, "groups of channels convolved apart"),
    {.name = NULL},
};
static const struct op_symbol symbols[] = {
    SYMBOLS_SHAPE,
    SYMBOL(r, "filter height"),
    SYMBOL(s, "filter width"),
    SYMBOL(stride, "pixels between neighbouring outputs"),
    SYMBOL(pad, "zero pixels around the input"),
    SYMBOL(dilation, "pixels between neighbouring taps"),
    SYMBOL(groups, "groups of channels"),
    {NULL, 0, NULL},
};

extern const struct op op_conv2d;
const struct op op_conv2d = {
    .name = "conv2d",
    .naive = "naive",
    .trial = "defaults: {n: 1, kernel: 3, stride: 1, pad: 1}\nlayers:\n"
             "  body:    {op: conv2d, c: 64, k: 64, h: 720, w: 1280, dtype: f16, layout: NHWC, epilogue: [bias, relu]}\n"
             "  body_32: {op: conv2d, c: 64, k: 64, h: 720, w: 1280, dtype: f32, layout: NCHW, epilogue: [bias, relu]}\n"
             "  odd:     {op: conv2d, c: 5, k: 7, h: 37, w: 53, dtype: f32, layout: NCHW, epilogue: [bias]}\n",
    .masks = TRIAL_MASKS,
    .passes_changes = true,
    .task = TASK_SEQUENCE,
    .about = "Two-dimensional convolution (cross-correlation) with zero padding. Tensors: input n,c,h,w; filter k,c/groups,r,s; output "
             "n,k,p,q, or what the "
             "epilogue makes of it. A mask makes it sparse: only active outputs are asked for.",
    .fields = fields,
    .symbols = symbols,
    .row0 = "cudnn",
    .has_filter = true,
    .has_math = true,
    .on_card = REFERENCE_CONV2D,
    .epilogues = EPILOGUES_ALL,
    .dtypes = DTYPES_ALL | BIT(DTYPE_I8),
    .layouts = LAYOUTS_ALL,
    .finish = conv2d_finish,
    .roles = shape_conv_roles,
    .tensors = shape_tensors,
    .raw_output = shape_raw_output,
    .flop = shape_conv_flop,
    .reference_row = reference_conv2d_row,
    .reads = conv2d_reads,
};
