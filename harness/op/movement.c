/* The ops that only move data: depth_to_space, upsample (nearest), layout; and pointwise, an epilogue with nothing before
 * it. */
#include "op/shape.h"

static double no_flop(const struct work *w)
{
    return 0;
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
    w->k = w->c / squared;
    w->p = w->h * w->block;
    w->q = w->w * w->block;
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

static bool finish_upsample(struct work *w, struct error *err)
{
    w->p = w->h * w->block;
    w->q = w->w * w->block;
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
    if (w->to != LAYOUT_NCHW && w->to != LAYOUT_NHWC)
        return error_set(err, ERROR_USAGE, "layout: the result (`to`) is NCHW or NHWC, not %s", layout_name(w->to));
    if (w->to == w->layout)
        return error_set(err, ERROR_USAGE, "layout: source and result are both %s", layout_name(w->to));
    return true;
}

static bool finish_pointwise(struct work *w, struct error *err)
{
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

#define FIELD_BLOCK(text) FIELD("block", block, 1, 64, text)
#define FIELD_MODE \
    { \
        .name = "mode", .kind = FIELD_D2S_MODE, .offset = offsetof(struct work, mode), .fallback = OP_REQUIRED, \
        .what = "channel order: DCR or CRD" \
    }
static const struct op_field fields_d2s[] = {
    FIELDS_NCHW, FIELD_BLOCK("pixels of the output per pixel of the input, each direction"), FIELD_MODE, {.name = NULL}};
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
    .roles = shape_plain_roles, .tensors = shape_tensors, .raw_output = shape_raw_output, .flop = no_flop

extern const struct op op_depth_to_space, op_upsample, op_layout, op_pointwise;
const struct op op_depth_to_space = {
    .name = "depth_to_space",
    .naive = "d2s_native",
    .trial = "layers:\n  nhwc: {op: depth_to_space, n: 1, c: 64, h: 720, w: 1280, block: 2, dtype: f16, layout: NHWC, mode: CRD}\n"
             "  nchw: {op: depth_to_space, n: 1, c: 64, h: 720, w: 1280, block: 2, dtype: f32, layout: NCHW, mode: DCR}\n",
    .masks = TRIAL_MASKS,
    .task = TASK_DEPTH_TO_SPACE,
    .about = "Moves blocks of channels into space (PixelShuffle, subpixel): output n, c/block^2, h*block, w*block. Pixel (y, x) of channel "
             "c comes from pixel "
             "(y/block, x/block) of channel C'*(block*dy + dx) + c (DCR) or c*block^2 + block*dy + dx (CRD), dy = y mod block, dx = x mod "
             "block, C' = output "
             "channels.",
    .fields = fields_d2s,
    .symbols = symbols_block,
    .finish = finish_depth_to_space,
    .reference_row = row_depth_to_space,
    .on_card = REFERENCE_SPACE,
    .reads = reads_block,
    MOVEMENT,
};
const struct op op_upsample = {
    .name = "upsample",
    .naive = "nearest_element",
    .trial = "layers:\n" TRIAL_TWO("upsample", "c: 64, h: 720, w: 1280, block: 2"),
    .masks = TRIAL_MASKS,
    .passes_changes = true,
    .about = "Nearest-neighbour upsampling: every pixel becomes block x block equal pixels.",
    .fields = fields_upsample,
    .symbols = symbols_block,
    .finish = finish_upsample,
    .reference_row = row_upsample,
    .on_card = REFERENCE_NEAREST,
    .reads = reads_block,
    MOVEMENT,
};
const struct op op_layout = {
    .name = "layout",
    .naive = "convert_naive",
    .trial = "layers:\n  to_nhwc: {op: layout, n: 1, c: 64, h: 720, w: 1280, dtype: f16, layout: NCHW, to: NHWC}\n"
             "  to_nchw: {op: layout, n: 1, c: 64, h: 720, w: 1280, dtype: f16, layout: NHWC, to: NCHW}\n",
    .task = TASK_LAYOUT,
    .about = "The same values in another storage order: `layout` is the source's, `to` the result's (NCHW, NHWC).",
    .fields = fields_layout,
    .symbols = symbols_plain,
    .finish = finish_layout,
    .reference_row = row_same,
    .on_card = REFERENCE_MOVED,
    MOVEMENT,
};
const struct op op_pointwise = {
    .name = "pointwise",
    .naive = "epilogue",
    .trial = "layers:\n" TRIAL_TWO("pointwise", "c: 64, h: 720, w: 1280, epilogue: [bias, relu]"),
    .masks = TRIAL_MASKS,
    .task = TASK_POINTWISE,
    .about = "Nothing but its epilogue, applied to an input: bias, activation, residual, depth_to_space, layout. Variants of it complete "
             "the rows of "
             "variants that fuse only a part of theirs.",
    .fields = fields_pointwise,
    .symbols = symbols_plain,
    .finish = finish_pointwise,
    .reference_row = row_same,
    .on_card = REFERENCE_MOVED,
    .reads = shape_reads_same,
    MOVEMENT,
};
