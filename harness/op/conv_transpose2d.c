/* conv_transpose2d: the gradient of conv2d with respect to its input: every input pixel adds its filter to the output, y[n][k][i*stride -
 * pad + r*dilation][j*stride - pad + s*dilation] += x[n][c][i][j] * f[k][c][r][s] (the filter is not flipped, as in PyTorch; stored with
 * the output channels outermost, as conv2d's). */
#include "op/reference.h"
#include "op/shape.h"

static bool conv_transpose2d_finish(struct work *w, struct error *err)
{
    if (w->output_pad >= w->stride && w->output_pad >= w->dilation && w->output_pad > 0)
        return error_set(err, ERROR_USAGE, "output_pad %ld is not smaller than stride %ld or dilation %ld", (long)w->output_pad,
                         (long)w->stride, (long)w->dilation);
    w->p = (w->h - 1) * w->stride - 2 * w->pad + w->dilation * (w->r - 1) + w->output_pad + 1;
    w->q = (w->w - 1) * w->stride - 2 * w->pad + w->dilation * (w->s - 1) + w->output_pad + 1;
    if (w->p < 1 || w->q < 1)
        return error_set(err, ERROR_USAGE, "pad %ld leaves nothing of the output (%ldx%ld)", (long)w->pad, (long)w->p, (long)w->q);
    return true;
}

/* Every input pixel meets every tap once: 2 n h w c (k / groups) r s; what falls outside the output is included. */
static double conv_transpose2d_flop(const struct work *w)
{
    return 2.0 * (double)w->n * (double)w->h * (double)w->w * (double)w->c * (double)(w->k / w->groups) * (double)w->r * (double)w->s;
}

static int64_t conv_transpose2d_reads(const struct work *w, enum axis_of axis, int64_t output, int64_t tap)
{
    int64_t at = output + w->pad - tap * w->dilation;
    return at >= 0 && at % w->stride == 0 ? at / w->stride : -1;
}

static const struct op_field fields[] = {
    FIELDS_NCHW,
    FIELD("k", k, 1, 1 << 20, "output channels"),
    FIELD("kernel", r, 1, 255, "filter size in pixels: a number, or [r, s]"),
    FIELD_OR("stride", stride, 1, 1, 255, "output pixels between neighbouring inputs"),
    FIELD_OR("pad", pad, 0, 0, 255, "output pixels cut off, every side"),
    FIELD_OR("output_pad", output_pad, 0, 0, 254, "output rows and columns added at the far end"),
    FIELD_OR("dilation", dilation, 1, 1, 255, "pixels between neighbouring taps"),
    FIELD_OR("groups", groups, 1, 1, 1 << 20, "groups of channels convolved apart"),
    {.name = NULL},
};
static const struct op_symbol symbols[] = {
    SYMBOLS_SHAPE,
    SYMBOL(r, "filter height"),
    SYMBOL(s, "filter width"),
    SYMBOL(stride, "output pixels between neighbouring inputs"),
    SYMBOL(pad, "output pixels cut off"),
    SYMBOL(output_pad, "output rows and columns added"),
    SYMBOL(dilation, "pixels between neighbouring taps"),
    SYMBOL(groups, "groups of channels"),
    {NULL, 0, NULL},
};

extern const struct op op_conv_transpose2d;
const struct op op_conv_transpose2d = {
    .name = "conv_transpose2d",
    .naive = "naive",
    .trial = "layers:\n" TRIAL_TWO("conv_transpose2d", "c: 32, k: 16, h: 360, w: 640, kernel: 4, stride: 2, pad: 1, epilogue: [bias]"),
    .masks = TRIAL_MASKS,
    .passes_changes = true,
    .about = "Transposed convolution (deconvolution). Tensors: input n,c,h,w; filter k,c/groups,r,s, not flipped; output n,k,p,q with "
             "p = (h - 1) stride - 2 pad + dilation (r - 1) + output_pad + 1.",
    .fields = fields,
    .symbols = symbols,
    .row0 = "copy",
    .has_filter = true,
    .has_math = true,
    .on_card = REFERENCE_TRANSPOSED,
    .epilogues = EPILOGUES_ALL,
    .dtypes = DTYPES_ALL,
    .layouts = LAYOUTS_ALL,
    .finish = conv_transpose2d_finish,
    .roles = shape_conv_roles,
    .tensors = shape_tensors,
    .raw_output = shape_raw_output,
    .flop = conv_transpose2d_flop,
    .reference_row = reference_conv_transpose2d_row,
    .reads = conv_transpose2d_reads,
};
