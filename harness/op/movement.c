/* The ops that only move data: depth_to_space, space_to_depth, upsample (nearest), layout; and pointwise, an epilogue with nothing before
 * it. */
#include "op/shape.h"

static void raw_output(const struct work *w, struct tensor *out)
{
    *out = shape_activation(w, ROLE_OUTPUT, w->k, w->p, w->q, w->to != LAYOUT_NONE ? w->to : w->layout);
}

static int tensors(const struct work *w, struct tensor out[OP_MAX_TENSORS])
{
    out[0] = shape_activation(w, ROLE_INPUT, w->c, w->h, w->w, w->layout);
    return shape_epilogue_tensors(w, out, 1);
}

static double no_flop(const struct work *w)
{
    return 0;
}

/* Clears what a convolution would have used, so that it cannot split keys. */
static void derive(struct work *w, int64_t k, int64_t p, int64_t q)
{
    w->r = w->s = w->stride = w->pad = w->dilation = w->groups = w->output_pad = 0;
    w->k = k;
    w->p = p;
    w->q = q;
}

/* Where row y begins. */
static size_t input_row(const struct work *w, int64_t n, int64_t c, int64_t y)
{
    return (size_t)(((n * w->c + c) * w->h + y) * w->w);
}

static bool check_mode(const struct work *w, struct error *err)
{
    if (w->mode == D2S_DCR || w->mode == D2S_CRD)
        return true;
    error_set(err, ERROR_USAGE, "%s: no mode", w->op->name);
    return error_hint(err, "mode is DCR (ONNX, TensorFlow) or CRD (PyTorch)");
}

/* Channel of the deep tensor that holds channel c of pixel (dy, dx) inside a block. */
static int64_t deep_channel(const struct work *w, int64_t channels, int64_t c, int64_t dy, int64_t dx)
{
    int64_t phase = dy * w->block + dx;
    return w->mode == D2S_DCR ? channels * phase + c : c * w->block * w->block + phase;
}

static bool finish_depth_to_space(struct work *w, struct error *err)
{
    int64_t squared = w->block * w->block;
    if (w->c % squared)
        return error_set(err, ERROR_USAGE, "%ld channels cannot be divided by block %ld squared (%ld)", (long)w->c, (long)w->block,
                         (long)squared);
    derive(w, w->c / squared, w->h * w->block, w->w * w->block);
    w->to = LAYOUT_NONE;
    return check_mode(w, err);
}

static void row_depth_to_space(const struct work *w, const struct op_data *data, int64_t n, int64_t p, double *y, double *a)
{
    for (int64_t c = 0; c < w->k; c++)
        for (int64_t dx = 0; dx < w->block; dx++) {
            size_t from = input_row(w, n, deep_channel(w, w->k, c, p % w->block, dx), p / w->block);
            for (int64_t x = 0; x < w->w; x++)
                y[c * w->q + x * w->block + dx] = op_data_input(data, from + (size_t)(x));
        }
}

static bool finish_space_to_depth(struct work *w, struct error *err)
{
    if (w->h % w->block || w->w % w->block)
        return error_set(err, ERROR_USAGE, "an image of %ldx%ld cannot be divided into blocks of %ld", (long)w->h, (long)w->w,
                         (long)w->block);
    derive(w, w->c * w->block * w->block, w->h / w->block, w->w / w->block);
    w->to = LAYOUT_NONE;
    return check_mode(w, err);
}

static void row_space_to_depth(const struct work *w, const struct op_data *data, int64_t n, int64_t p, double *y, double *a)
{
    for (int64_t c = 0; c < w->c; c++)
        for (int64_t dy = 0; dy < w->block; dy++) {
            size_t from = input_row(w, n, c, p * w->block + dy);
            for (int64_t x = 0; x < w->w; x++)
                y[deep_channel(w, w->c, c, dy, x % w->block) * w->q + x / w->block] = op_data_input(data, from + (size_t)(x));
        }
}

static bool finish_upsample(struct work *w, struct error *err)
{
    derive(w, w->c, w->h * w->block, w->w * w->block);
    w->to = LAYOUT_NONE;
    w->mode = D2S_NONE;
    return true;
}

static void row_upsample(const struct work *w, const struct op_data *data, int64_t n, int64_t p, double *y, double *a)
{
    for (int64_t c = 0; c < w->c; c++) {
        size_t from = input_row(w, n, c, p / w->block);
        for (int64_t x = 0; x < w->q; x++)
            y[c * w->q + x] = op_data_input(data, from + (size_t)(x / w->block));
    }
}

static bool finish_layout(struct work *w, struct error *err)
{
    derive(w, w->c, w->h, w->w);
    w->block = 0;
    w->mode = D2S_NONE;
    if (w->to != LAYOUT_NCHW && w->to != LAYOUT_NHWC)
        return error_set(err, ERROR_USAGE, "layout: the result (`to`) is NCHW or NHWC, not %s", layout_name(w->to));
    if (w->to == w->layout)
        return error_set(err, ERROR_USAGE, "layout: source and result are both %s", layout_name(w->to));
    return true;
}

static bool finish_pointwise(struct work *w, struct error *err)
{
    derive(w, w->c, w->h, w->w);
    w->block = 0;
    w->mode = D2S_NONE;
    w->to = LAYOUT_NONE;
    if (!w->epilogue_count)
        return error_set(err, ERROR_USAGE, "pointwise: it is its epilogue, and that is empty");
    return true;
}

static void row_same(const struct work *w, const struct op_data *data, int64_t n, int64_t p, double *y, double *a)
{
    for (int64_t c = 0; c < w->c; c++) {
        size_t from = input_row(w, n, c, p);
        for (int64_t x = 0; x < w->w; x++)
            y[c * w->w + x] = op_data_input(data, from + (size_t)(x));
    }
}

static int64_t reads_block(const struct work *w, enum axis_of axis, int64_t output, int64_t tap)
{
    return output / w->block;
}
static int64_t reads_same(const struct work *w, enum axis_of axis, int64_t output, int64_t tap)
{
    return output;
}

#define FIELD_BLOCK(text) FIELD("block", block, 1, 64, text)
#define FIELD_MODE \
    { \
        .name = "mode", .kind = FIELD_D2S_MODE, .offset = offsetof(struct work, mode), .fallback = OP_REQUIRED, \
        .what = "channel order: DCR or CRD" \
    }
static const struct op_field fields_d2s[] = {
    FIELDS_NCHW, FIELD_BLOCK("pixels of the output per pixel of the input, each direction"), FIELD_MODE, {.name = NULL}};
static const struct op_field fields_s2d[] = {
    FIELDS_NCHW, FIELD_BLOCK("pixels of the input per pixel of the output, each direction"), FIELD_MODE, {.name = NULL}};
static const struct op_field fields_upsample[] = {FIELDS_NCHW, FIELD_BLOCK("factor, each direction"), {.name = NULL}};
static const struct op_field fields_layout[] = {
    FIELDS_NCHW,
    {.name = "to", .kind = FIELD_LAYOUT, .offset = offsetof(struct work, to), .fallback = OP_REQUIRED, .what = "layout of the result"},
    {.name = NULL},
};
static const struct op_field fields_pointwise[] = {FIELDS_NCHW, {.name = NULL}};
static const struct op_symbol symbols_block[] = {SYMBOLS_SHAPE, SYMBOL(block, "the factor"), {NULL, 0, NULL}};
static const struct op_symbol symbols_plain[] = {SYMBOLS_SHAPE, {NULL, 0, NULL}};

#define MOVEMENT \
    .row0 = "copy", .has_filter = false, .has_math = false, .epilogues = EPILOGUES_ALL, .dtypes = DTYPES_ALL, .layouts = LAYOUTS_ALL, \
    .tensors = tensors, .raw_output = raw_output, .flop = no_flop

extern const struct op op_depth_to_space, op_space_to_depth, op_upsample, op_layout, op_pointwise;
const struct op op_depth_to_space = {
    .name = "depth_to_space",
    .about = "Moves blocks of channels into space (PixelShuffle, subpixel): output n, c/block^2, h*block, w*block. Pixel (y, x) of channel "
             "c comes from pixel "
             "(y/block, x/block) of channel C'*(block*dy + dx) + c (DCR) or c*block^2 + block*dy + dx (CRD), dy = y mod block, dx = x mod "
             "block, C' = output "
             "channels.",
    .fields = fields_d2s,
    .symbols = symbols_block,
    .finish = finish_depth_to_space,
    .reference_row = row_depth_to_space,
    .reads = reads_block,
    MOVEMENT,
};
const struct op op_space_to_depth = {
    .name = "space_to_depth",
    .about = "The inverse of depth_to_space, in both modes: output n, c*block^2, h/block, w/block.",
    .fields = fields_s2d,
    .symbols = symbols_block,
    .finish = finish_space_to_depth,
    .reference_row = row_space_to_depth,
    MOVEMENT,
};
const struct op op_upsample = {
    .name = "upsample",
    .about = "Nearest-neighbour upsampling: every pixel becomes block x block equal pixels.",
    .fields = fields_upsample,
    .symbols = symbols_block,
    .finish = finish_upsample,
    .reference_row = row_upsample,
    .reads = reads_block,
    MOVEMENT,
};
const struct op op_layout = {
    .name = "layout",
    .about = "The same values in another storage order: `layout` is the source's, `to` the result's (NCHW, NHWC).",
    .fields = fields_layout,
    .symbols = symbols_plain,
    .finish = finish_layout,
    .reference_row = row_same,
    MOVEMENT,
};
const struct op op_pointwise = {
    .name = "pointwise",
    .about = "Nothing but its epilogue, applied to an input: bias, activation, residual, depth_to_space, layout. Variants of it complete "
             "the rows of "
             "variants that fuse only a part of theirs.",
    .fields = fields_pointwise,
    .symbols = symbols_plain,
    .finish = finish_pointwise,
    .reference_row = row_same,
    .reads = reads_same,
    MOVEMENT,
};
