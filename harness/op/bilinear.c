/* upsample_bilinear: every output pixel is the mean of four input pixels, weighted by distance; pixels are squares, their centres half a
 * pixel inside (PyTorch's align_corners=False, ONNX's half_pixel), and beyond the edge lies the edge. Output pixel y is at (y + 0.5) /
 * block - 0.5 of the input. */
#include "op/shape.h"
#include <math.h>

static bool bilinear_finish(struct work *w, struct error *err)
{
    w->p = w->h * w->block;
    w->q = w->w * w->block;
    if (w->block & (w->block - 1)) /* then the weights are not representable, and there is no exact check */
        return error_set(err, ERROR_USAGE, "upsample_bilinear: block is 2, 4, 8 or 16, not %ld", (long)w->block);
    return true;
}

/* Four products an output pixel and channel, the weights being there. */
static double bilinear_flop(const struct work *w)
{
    return 8.0 * (double)w->n * (double)w->c * (double)w->p * (double)w->q;
}

/* The two input coordinates that an output coordinate lies between, and the share of the second. */
static double between(int64_t at, int64_t block, int64_t size, int64_t *low, int64_t *high)
{
    double x = ((double)at + 0.5) / (double)block - 0.5, floor_x = floor(x);
    *low = (int64_t)floor_x < 0 ? 0 : (int64_t)floor_x;
    *high = (int64_t)floor_x + 1 < size ? (int64_t)floor_x + 1 : size - 1;
    return x - floor_x;
}

static void row(const struct work *w, const struct op_data *data, int64_t n, int64_t p, double *y, double *a)
{
    int64_t top, bottom, left, right;
    double down = between(p, w->block, w->h, &top, &bottom);
    for (int64_t c = 0; c < w->c; c++) {
        size_t upper = (size_t)(((n * w->c + c) * w->h + top) * w->w), lower = (size_t)(((n * w->c + c) * w->h + bottom) * w->w);
        for (int64_t q = 0; q < w->q; q++) {
            double across = between(q, w->block, w->w, &left, &right);
            double part[4] = {(1 - down) * (1 - across) * op_data_input(data, upper + (size_t)left),
                              (1 - down) * across * op_data_input(data, upper + (size_t)right),
                              down * (1 - across) * op_data_input(data, lower + (size_t)left),
                              down * across * op_data_input(data, lower + (size_t)right)};
            y[c * w->q + q] = part[0] + part[1] + part[2] + part[3];
            if (a)
                a[c * w->q + q] = fabs(part[0]) + fabs(part[1]) + fabs(part[2]) + fabs(part[3]);
        }
    }
}

static int64_t bilinear_reads(const struct work *w, enum axis_of axis, int64_t output, int64_t tap)
{
    int64_t low, high;
    between(output, w->block, 1 << 30, &low, &high);
    return tap ? high : low;
}

static const struct op_field fields[] = {
    FIELDS_NCHW, FIELD("block", block, 2, 16, "factor, each direction: 2, 4, 8 or 16"), {.name = NULL}};
static const struct op_symbol symbols[] = {SYMBOLS_SHAPE, SYMBOL(block, "the factor"), {NULL, 0, NULL}};

extern const struct op op_upsample_bilinear;
const struct op op_upsample_bilinear = {
    .name = "upsample_bilinear",
    .naive = "element",
    .trial = "layers:\n" TRIAL_TWO("upsample_bilinear", "c: 64, h: 720, w: 1280, block: 2"),
    .masks = TRIAL_MASKS,
    .passes_changes = true,
    .about = "Bilinear upsampling by a power of two: output pixel (y, x) is the input at ((y + 0.5)/block - 0.5, (x + 0.5)/block - 0.5), "
             "between the "
             "four pixels around it, the edge repeated (align_corners=False).",
    .fields = fields,
    .symbols = symbols,
    .row0 = "copy",
    .taps = 2,
    .terms = 4,
    .epilogues = EPILOGUES_ALL,
    .dtypes = DTYPES_ALL,
    .layouts = LAYOUTS_ALL,
    .finish = bilinear_finish,
    .roles = shape_plain_roles,
    .tensors = shape_tensors,
    .raw_output = shape_raw_output,
    .flop = bilinear_flop,
    .reference_row = row,
    .on_card = REFERENCE_BILINEAR,
    .reads = bilinear_reads,
};
