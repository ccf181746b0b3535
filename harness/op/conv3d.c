/* conv3d: y[n][k][o][p][q] = sum over c, t, r, s of x[n][c][o*stride - pad + t][p*stride - pad + r][q*stride - pad + s] * f[k][c][t][r][s],
 * zero outside.
 *
 * A volume is stored as an image whose rows are those of all its planes, one plane under the other: d planes of `plane` rows are h = d *
 * plane rows (NCDHW and NDHWC are then NCHW and NHWC of that image), and a filter of t x r x s taps has t * r rows. Masks mark voxels, in
 * the same way. */
#include "op/reference.h"
#include "op/shape.h"

static bool conv3d_finish(struct work *w, struct error *err)
{
    if (w->t < 1 || w->t > 255)
        return error_set(err, ERROR_USAGE, "conv3d: a filter of %ldx%ldx%ld", (long)w->t, (long)w->r, (long)w->s);
    if (w->d * w->plane > SHAPE_MAX_ELEMENTS)
        return error_set(err, ERROR_USAGE, "conv3d: %ld planes of %ld rows are more than %ld", (long)w->d, (long)w->plane,
                         (long)SHAPE_MAX_ELEMENTS);
    if (w->t > w->d + 2 * w->pad || w->r > w->plane + 2 * w->pad || w->s > w->w + 2 * w->pad)
        return error_set(err, ERROR_USAGE, "the filter %ldx%ldx%ld is larger than the padded input %ldx%ldx%ld", (long)w->t, (long)w->r,
                         (long)w->s, (long)(w->d + 2 * w->pad), (long)(w->plane + 2 * w->pad), (long)(w->w + 2 * w->pad));
    w->o = (w->d + 2 * w->pad - w->t) / w->stride + 1;
    w->plane_out = (w->plane + 2 * w->pad - w->r) / w->stride + 1;
    w->q = (w->w + 2 * w->pad - w->s) / w->stride + 1;
    w->h = w->d * w->plane;
    w->p = w->o * w->plane_out;
    w->dilation = w->groups = 1;
    return true;
}

/* Rows: tap t * r + r of output row o * plane_out + p. */
static int64_t conv3d_reads(const struct work *w, enum axis_of axis, int64_t output, int64_t tap)
{
    if (axis == AXIS_COLUMNS)
        return output * w->stride - w->pad + tap;
    int64_t z = output / w->plane_out * w->stride - w->pad + tap / w->r, y = output % w->plane_out * w->stride - w->pad + tap % w->r;
    return z >= 0 && z < w->d && y >= 0 && y < w->plane ? z * w->plane + y : -1;
}

static const struct op_field fields[] = {
    FIELD_OR("n", n, 1, 1, 65535, "volumes"),
    FIELD("c", c, 1, 1 << 20, "input channels"),
    FIELD("d", d, 1, 1 << 20, "input depth, planes"),
    FIELD("h", plane, 1, 1 << 20, "input height, pixels of a plane"),
    FIELD("w", w, 1, 1 << 20, "input width, pixels"),
    FIELD("k", k, 1, 1 << 20, "output channels"),
    FIELD("kernel", r, 1, 255, "filter size: a number, or [t, r, s]"),
    FIELD_OR("stride", stride, 1, 1, 255, "voxels between neighbouring outputs, all directions"),
    FIELD_OR("pad", pad, 0, 0, 255, "zero voxels around the input, every side"),
    {.name = NULL},
};
static const struct op_symbol symbols[] = {
    SYMBOL(n, "volumes"),
    SYMBOL(c, "input channels"),
    SYMBOL(d, "input depth"),
    {"h", offsetof(struct work, plane), "input height"},
    SYMBOL(w, "input width"),
    SYMBOL(k, "output channels"),
    SYMBOL(o, "output depth"),
    {"p", offsetof(struct work, plane_out), "output height"},
    SYMBOL(q, "output width"),
    SYMBOL(t, "filter depth"),
    SYMBOL(r, "filter height"),
    SYMBOL(s, "filter width"),
    SYMBOL(stride, "voxels between neighbouring outputs"),
    SYMBOL(pad, "zero voxels around the input"),
    {NULL, 0, NULL},
};

extern const struct op op_conv3d;
const struct op op_conv3d = {
    .name = "conv3d",
    .naive = "naive",
    .trial = "layers:\n" TRIAL_TWO("conv3d", "c: 16, k: 16, d: 16, h: 96, w: 160, kernel: 3, pad: 1, epilogue: [bias, relu]"),
    .masks = TRIAL_MASKS,
    .about = "Three-dimensional convolution (cross-correlation) with zero padding. Tensors: input n,c,d,h,w; filter k,c,t,r,s; output "
             "n,k,o,p,q. NHWC is NDHWC. A mask marks voxels.",
    .fields = fields,
    .symbols = symbols,
    .row0 = "cudnn",
    .has_filter = true,
    .has_math = true,
    .on_card = REFERENCE_CONV3D,
    .volume = true,
    .epilogues = BIT(EPILOGUE_BIAS) | BIT(EPILOGUE_RELU) | BIT(EPILOGUE_LEAKY_RELU) | BIT(EPILOGUE_RESIDUAL),
    .dtypes = DTYPES_ALL,
    .layouts = LAYOUTS_ALL,
    .finish = conv3d_finish,
    .roles = shape_conv_roles,
    .tensors = shape_tensors,
    .raw_output = shape_raw_output,
    .flop = shape_conv_flop,
    .reference_row = reference_conv2d_row, /* which asks `reads` where its taps lie */
    .reads = conv3d_reads,
};
