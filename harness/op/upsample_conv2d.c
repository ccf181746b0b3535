/* upsample_conv2d: nearest-neighbour upsampling by `block`, then conv2d with stride 1: y[n][k][p][q] = sum over c, r, s of
 * x[n][c][(p - pad + r) / block][(q - pad + s) / block] * f[k][c][r][s], zero outside the upsampled image. The reference computes just
 * that: the filter as it is, on every tap. A variant may add the taps that fall on the same input pixel first (algorithm: collapsed). */
#include "op/reference.h"
#include "op/shape.h"

static bool upsample_conv2d_finish(struct work *w, struct error *err)
{
    w->stride = w->dilation = w->groups = 1;
    w->p = w->h * w->block + 2 * w->pad - w->r + 1;
    w->q = w->w * w->block + 2 * w->pad - w->s + 1;
    if (w->p < 1 || w->q < 1)
        return error_set(err, ERROR_USAGE, "the filter %ldx%ld is larger than the padded, upsampled input %ldx%ld", (long)w->r, (long)w->s,
                         (long)(w->p + w->r - 1), (long)(w->q + w->s - 1));
    return true;
}

static int64_t upsample_conv2d_reads(const struct work *w, enum axis_of axis, int64_t output, int64_t tap)
{
    int64_t at = output - w->pad + tap;
    return at < 0 ? -1 : at / w->block;
}

/* Pixels of the small image under `taps` neighbours of the large one, over the block places at which these may begin: the mean. */
static double pixels_under(int64_t taps, int64_t block)
{
    int64_t pixels = 0;
    for (int64_t first = 0; first < block; first++)
        pixels += (first + taps - 1) / block + 1;
    return (double)pixels / (double)block;
}

double work_collapsed_share(const struct work *w)
{
    return w->op->has_filter && w->block > 0 ? pixels_under(w->r, w->block) * pixels_under(w->s, w->block) / (double)(w->r * w->s) : 1;
}

static const struct op_field fields[] = {
    FIELDS_NCHW,
    FIELD("k", k, 1, 1 << 20, "output channels"),
    FIELD("block", block, 2, 16, "factor of the upsampling, each direction"),
    FIELD("kernel", r, 1, 255, "filter size in pixels: a number, or [r, s]"),
    FIELD_OR("pad", pad, 0, 0, 255, "zero pixels around the upsampled image, every side"),
    {.name = NULL},
};
static const struct op_symbol symbols[] = {
    SYMBOLS_SHAPE,
    SYMBOL(block, "the factor"),
    SYMBOL(r, "filter height"),
    SYMBOL(s, "filter width"),
    SYMBOL(pad, "zero pixels around the upsampled image"),
    {NULL, 0, NULL},
};

extern const struct op op_upsample_conv2d;
const struct op op_upsample_conv2d = {
    .name = "upsample_conv2d",
    .naive = "naive",
    .trial = "layers:\n" TRIAL_TWO("upsample_conv2d", "c: 32, k: 32, h: 360, w: 640, block: 2, kernel: 3, pad: 1, epilogue: [bias, relu]"),
    .masks = TRIAL_MASKS,
    .about = "Nearest-neighbour upsampling, then a convolution of stride 1 (resize-convolution). Tensors: input n,c,h,w; filter k,c,r,s; "
             "output n,k,p,q with "
             "p = h block + 2 pad - r + 1.",
    .fields = fields,
    .symbols = symbols,
    .row0 = "cudnn",
    .has_filter = true,
    .has_math = true,
    .on_card = REFERENCE_UPSAMPLED,
    .epilogues = EPILOGUES_ALL,
    .dtypes = DTYPES_ALL,
    .layouts = LAYOUTS_ALL,
    .finish = upsample_conv2d_finish,
    .roles = shape_conv_roles,
    .tensors = shape_tensors,
    .raw_output = shape_raw_output,
    .flop = shape_conv_flop,
    .reference_row = reference_conv2d_row,
    .reads = upsample_conv2d_reads,
};
