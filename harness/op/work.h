/* op/work: a fully resolved piece of work: op, shape, types, layout, math mode, ordered epilogue, mask and data.
 *
 * A case of a scenario is a work with an id; a variant is bound to a work; the key of a row includes the hash of the work. */
#pragma once

#include "base/dtype.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/text.h"
#include <stdbool.h>
#include <stdint.h>

/* What follows the op, in order. */
enum epilogue_kind {
    EPILOGUE_BIAS,
    EPILOGUE_RELU,
    EPILOGUE_LEAKY_RELU,
    EPILOGUE_RESIDUAL,
    EPILOGUE_DEPTH_TO_SPACE,
    EPILOGUE_LAYOUT,
    EPILOGUE_PRELU,
    EPILOGUE_SILU,
    EPILOGUE_SIGMOID,
    EPILOGUE_TANH,
    EPILOGUE_GELU,
    EPILOGUE_GELU_TANH,
    EPILOGUE_HARD_SWISH,
    EPILOGUE_ELU, /* exp(x) - 1 for negative x */
    EPILOGUE_CLIP,
    EPILOGUE_COUNT
};
struct epilogue {
    enum epilogue_kind kind;
    double alpha;       /* leaky_relu: slope for negative values; clip: the least value */
    double most;        /* clip: the largest value */
    double scale;       /* residual: what the value is multiplied by before the residual is added; 0: 1 */
    int64_t block;      /* depth_to_space */
    enum d2s_mode mode; /* depth_to_space */
    enum layout layout; /* layout: what the result is stored as */
};
int epilogue_kind_of(const char *name);             /* the kind; -1: no item has that name */
const char *epilogue_name(enum epilogue_kind kind); /* "bias", "relu" ... as in scenarios */
extern const char *const epilogue_names[];          /* NULL-terminated */
bool epilogue_activates(enum epilogue_kind kind);   /* a function of each value alone; at most one in a kernel */
bool epilogue_curves(enum epilogue_kind kind);      /* one with exponents in it: kernels differ in their last bits */

/* Norm of a pixel's change over its channels. */
enum truncate { TRUNCATE_MAX, TRUNCATE_L2, TRUNCATE_RMS, TRUNCATE_COUNT };
extern const char *const truncate_names[]; /* NULL-terminated */

/* Which pixels of a sparse update are active. To add a pattern: one line here with the keys of its YAML, and `mask_pattern_NAME` in a .c of
 * op/mask (op/mask/pattern.h). NONE: no mask tensor at all. */
enum mask_key { MASK_DENSITY = 1, MASK_RADIUS = 2, MASK_SEED = 4, MASK_PATH = 8 };
#define MASK_PATTERNS(X) \
    X(NONE, none, 0) \
    X(FULL, full, 0) \
    X(EMPTY, empty, 0) \
    X(IID, iid, MASK_DENSITY | MASK_SEED) \
    X(BLOBS, blobs, MASK_DENSITY | MASK_RADIUS | MASK_SEED) \
    X(BOX, box, MASK_DENSITY | MASK_SEED) \
    X(SCANLINE, scanline, MASK_DENSITY | MASK_SEED) \
    X(PIXEL, pixel, MASK_SEED) \
    X(CHECKERBOARD, checkerboard, MASK_SEED) \
    X(FILE, file, MASK_PATH)
#define MASK_ENUM(upper, lower, keys) MASK_##upper,
enum mask_pattern { MASK_PATTERNS(MASK_ENUM) MASK_PATTERN_COUNT };
#undef MASK_ENUM
struct mask {
    enum mask_pattern pattern; /* MASK_NONE: no mask tensor at all */
    double density;            /* requested share of active pixels, 0..1 */
    int64_t radius;            /* blobs, pixels */
    uint64_t seed;
    char path[256];   /* file */
    int line, column; /* file: its place in the scenario, for messages; not part of the mask's identity */
    int64_t whole_h,
        whole_w;       /* file: size of the picture if the layer is cropped and takes its upper left corner; 0: the layer's own size */
    bool marks_output; /* false: marks inputs, active outputs are their dilation by the filter, */
    bool marks_both;   /* ... or the same pixels (submanifold convolution) */
};
/* What it marks, as in scenarios: input, output or both; "none": there is no mask. */
const char *mask_marks(const struct mask *mask);
/* True if both give the same pixels for images of one size. */
bool mask_same(const struct mask *a, const struct mask *b);
/* `0.10`, `0.005`: at least two decimals, so that a density is written one way in every id. */
void mask_density_text(double density, char *out, size_t bytes);
extern const char *const mask_pattern_names[]; /* NULL-terminated, by enum value */
extern const unsigned mask_pattern_keys[];     /* by enum value: YAML keys that the pattern takes (enum mask_key) */
/* has_density: the pattern of that name takes a density. is_end: it is full or empty, the ends of every such pattern. */
bool mask_pattern_has_density(const char *name);
bool mask_pattern_is_end(const char *name);
/* Path of frame `frame`: replaces the first %d or %0Nd in mask->path by the number. */
void mask_frame_path(const struct mask *mask, int frame, char *out, size_t bytes);

/* Distribution of the precision data. normal: N(0,1) full mantissa; relu: max(0, normal). */
enum data_kind { DATA_NORMAL, DATA_RELU, DATA_KIND_COUNT };
extern const char *const data_kind_names[];

/* The size of values that an op only moves or compares, on nearby shapes: N(0, 1); up to a size whose square is finite; up to the largest
 * of the type. */
enum sizes { SIZES_USUAL, SIZES_SQUARED, SIZES_ALL };
/* Only some values of each line are not 0: all of these, every second one, or the others. ONES: all values are 1 or -1, those of a further
 * input 2 or -2, so that sums are whole numbers. */
enum few { FEW_NONE, FEW_ALL, FEW_EVEN, FEW_ODD, FEW_ONES };
/* What may be set apart by side or axis: its symbol, and the number that it is otherwise. Pads of the top and of rows are `pad` itself. */
#define WORK_SIDES(X) \
    X(pad_top, pad, "zero rows above the input") \
    X(pad_left, pad, "zero columns left of it") \
    X(pad_bottom, pad, "zero rows below it") \
    X(pad_right, pad, "zero columns right of it") \
    X(pad_front, pad, "zero planes before it") \
    X(pad_back, pad, "zero planes behind it") \
    X(stride_y, stride, "stride along the height") \
    X(stride_x, stride, "stride along the width") \
    X(stride_z, stride, "stride along the depth") \
    X(dilation_y, dilation, "dilation along the height") \
    X(dilation_x, dilation, "dilation along the width") \
    X(dilation_z, dilation, "dilation along the depth") \
    X(output_pad_y, output_pad, "output_pad of the height") \
    X(output_pad_x, output_pad, "output_pad of the width")
#define SIDE_ENUM(name, base, what) SIDE_##name,
enum work_side { WORK_SIDES(SIDE_ENUM) SIDE_COUNT };
#undef SIDE_ENUM
/* Padding that follows from the sizes, as ONNX's auto_pad does: outputs = inputs / stride, rounded up; upper: the odd one at the end. */
enum same_pad { SAME_NONE, SAME_UPPER, SAME_LOWER };

/* Tensors of a network's layer may be slices: some channels of a larger NHWC tensor. The channels of that tensor, i.e. the elements from
 * one pixel to the next; 0: the tensor is no slice. */
struct pitches {
    int64_t input, other, output; /* other: the residual, or the second tensor */
};

#define WORK_MAX_EPILOGUE 8
#define WORK_VALUES 32
struct op;
struct chain;
/* Fields that an op does not use are 0. Sizes are in elements. */
struct work {
    const struct op *op;
    int64_t n, c, h, w;                             /* input: batch, channels, height, width */
    int64_t k, r, s, stride, pad, dilation, groups; /* conv2d: output channels, filter height and width */
    int64_t output_pad;                             /* conv_transpose2d: rows and columns added at the far end */
    int64_t apart[SIDE_COUNT];                      /* how much more each side has than the number for all: 0 where they are alike */
    int64_t side[SIDE_COUNT];                       /* the sums; derived */
    enum same_pad same;       /* sets pad and its sides in work_finish; not part of the work's identity, which has the result */
    int64_t p, q;             /* output height and width before any epilogue; derived (k too, except for convolutions) */
    int64_t block;            /* depth_to_space, upsample: the factor */
    int64_t d, t, o;          /* conv3d: input, filter and output depth; h and p are rows of all planes together: */
    int64_t plane, plane_out; /* h = d * plane, p = o * plane_out */
    int64_t norm;             /* truncate: enum truncate */
    double above, slope;      /* truncate: the threshold, and the activation's slope for negative values */
    enum d2s_mode mode;
    enum dtype dtype;   /* of activations and filters; bias is f32 */
    enum layout layout; /* of activations; layout op: of the source */
    enum layout to;     /* layout op: of the result */
    enum math math;
    struct epilogue epilogue[WORK_MAX_EPILOGUE];
    int epilogue_count;
    struct mask mask;
    struct pitches pitch; /* all 0 but in the layers of a network */
    bool follows;         /* its launch may begin before that of the layer before it ends, in a network; not part of its identity */
    enum data_kind data;
    uint64_t seed;
    uint64_t set_seed; /* seed of another input set of the same work: other values in all tensors but weights and masks; not part of the
                          work's identity; 0: those of `seed` */
    int64_t runs, width, straight, back, plain; /* op chain: properties common to all links (op/chain/chain.h); derived */
    const struct chain *chain;                  /* op chain: its links (op/chain/chain.h); not owned */
    bool any_boxes;                             /* rectangles have random sizes, from half of the op's sizes up to these */
    double larger;         /* a power of two by which normal values of a sum are multiplied on nearby shapes; 0: they are not */
    double mean;           /* of normal values of an op whose results are never exact; 0 but on nearby shapes */
    enum few few;          /* of lines that are summed; only on a nearby shape */
    bool specials;         /* infinities and NaN where the op's file allows them; only on nearby shapes */
    enum sizes every_size; /* of values that the op only moves or compares */
    struct {
        int64_t first, of, each;
    } sweep; /* its lines are number `first` and on of so many whose deciding values go over every place in turns of `each`; of 0: not */
    char picture[200], picture_hash[17]; /* file that `input` is read from, and the hash of its content; "": values are drawn */
    char weights[200], weights_hash[17]; /* what the files of its weights begin with, and the hash of their values; "": drawn */
    int64_t value[WORK_VALUES];          /* op from a file: its fields, reals as their bits, then its lets (op/op_file.h) */
};

#define CHAIN_INPUT (-1) /* the chain's own input */
#define CHAIN_NONE (-2)
#define CHAIN_MAX_LINKS 2000
struct chain_link {
    struct work work;    /* as it runs: its layout, its seed */
    const char *name;    /* of the layer, for messages; borrowed */
    int input, residual; /* earlier links, CHAIN_INPUT or (residual) CHAIN_NONE; residual of add and concat: the second tensor */
    int layer;           /* the run of a layer that it is, counted from 0 in the network's order; -1: a layout change that a plan added */
};
struct chain {
    struct chain_link *links;
    int count;
};
void chain_free(struct chain *chain);
/* The work as which a chain's input is drawn: the first link's, with the chain's set of inputs. */
struct work chain_input(const struct work *work);

/* Taps of a filter or window; 1 without. */
static inline int64_t work_filter_taps(const struct work *w)
{
    return (w->t > 0 ? w->t : 1) * (w->r > 0 ? w->r : 1) * (w->s > 0 ? w->s : 1);
}

/* "conv2d 64->64 3x3 +bias+relu  1x720x1280 f16 acc32 NHWC" appended to t. */
void work_describe(const struct work *work, struct text *t);
/* " +bias+leaky_relu:0.1", appended; nothing where there is none. */
void work_describe_epilogue(const struct work *work, struct text *t);
/* SHA-256 over every field that changes the work or its data (never the names of layer and scenario). */
void work_key(const struct work *work, char out[HASH_TEXT]);
/* SHA-256 of the layer as a tuner sees it: work_key without the seeds and distribution of the data, which no launch depends on. */
void work_signature(const struct work *work, char out[HASH_TEXT]);
/* Type of the result and of a residual: the work's, but f32 for i8, whose sums have 32 bits. */
enum dtype work_result_dtype(const struct work *work);
/* What the residual's branch is multiplied by: 1 without a residual. */
double work_scale(const struct work *work);
/* The activation in its epilogue; EPILOGUE_COUNT: none. */
enum epilogue_kind work_activation(const struct work *work);
/* What the activation behind it multiplies negative values by: 0 for relu, 1 without one. */
double work_slope(const struct work *work);
/* Is item i of the epilogue of this kind anywhere in the epilogue? Index or -1. */
int work_epilogue_find(const struct work *work, enum epilogue_kind kind);
