/* plan/scenario/onnx_graph: what becomes of a model on its way to a scenario. */
#pragma once

#include "plan/scenario/onnx_private.h"

#define SIZE_MAX_LAYER (1 << 20) /* of channels, height, width */
#define LAYER_INPUT (-1)         /* the model's input */
#define LAYER_NONE (-2)          /* no layer */
#define VIEW_ATOMS 12
#define NEEDS_IMAGE "its input is not an image of known size"
#define NO_SIZE "its input is of no known size"
/* A tensor as a view of an image: axis `part` of the tensor is made of atoms, outermost first, each of which steps along an axis of the
 * image (-1: it stays). Atoms have more than one element. */
struct view {
    struct place *of;
    int rank, count;
    int64_t dim[ONNX_RANK], first[4]; /* the tensor's sizes; the place of its first element in the image */
    struct atom {
        int64_t size, step;
        int axis, part;
    } atom[VIEW_ATOMS];
};
/* A named value: where it comes from. */
struct place {
    const char *name;
    struct place *alias;                /* the same value; NULL: its own */
    const struct place *sigmoid_of;     /* x, of a sigmoid(x) that x * sigmoid(x) reads; NULL: it is none */
    const char *gate;                   /* then: what the product is */
    struct view *view;                  /* the value is a view of an image; owned by the graph */
    struct place *image;                /* then, if a layer makes it: the image of the same elements */
    int rank;                           /* of the tensor that the image is: 0, 4: n, c, h, w; 3: n, c, w; 2: n, c */
    const struct place *padded;         /* the image that zeros were put around */
    int64_t pad[4];                     /* then: top, left, bottom, right */
    const struct onnx_tensor *constant; /* NULL: computed */
    int64_t dim[4];                     /* n, c, h, w where known */
    bool known, written;                /* written: by a node */
    int uses, layer;
};
/* The values of a layer's tensors: filter (as the file has it) and bias, then scale and shift by output channel. */
struct made_weights {
    const struct onnx_tensor *filter; /* NULL: ones */
    bool turned;                      /* its inputs come first: of a product, or of ConvTranspose with `groups` */
    int64_t groups;
    bool point, last;                         /* of a product: of each pixel; the channels are the innermost of its inputs */
    double *scale, *shift;                    /* NULL: ones, zeros */
    const struct onnx_tensor *slopes, *image; /* image: a value for each place, of add_constant */
    bool unknown;                             /* some of it is not a constant that can be read */
};
/* A layer of the scenario. */
struct made_layer {
    char *name;
    const char *op;
    int64_t in[4];
    struct text keys, epilogue; /* ", k: 64, kernel: 3"; "bias, relu" */
    int items;
    int input, with, residual; /* layers; LAYER_NONE: no such tensor */
    int64_t k;                 /* output channels */
    int as, runs;              /* the layer that stands for it, itself or an equal one; how many it stands for */
    struct made_weights weights;
    bool foldable, activated; /* its op takes an epilogue; nothing but a residual may follow its activation */
    bool moved;               /* its epilogue rearranges pixels: channels are others behind it */
    double scale;             /* of the residual that must follow; 0: none */
};
struct graph {
    const struct onnx_model *m;
    const char *file;
    struct place *values;
    size_t slots;
    struct onnx_tensor **made;
    int64_t made_elements;
    struct place **inner; /* values that the file does not name; each owns its name: "\1" and its number */
    int inner_count;
    bool *done;                      /* by node: another one stands for it */
    const char **gelu_of, **norm_of; /* by node: it is the end of gelu(this), of a LayerNorm of this; NULL: it is none */
    double *norm_eps;
    const struct onnx_node **length_of; /* by node: then it is no LayerNorm but the quotient by this ReduceL2; NULL: it is none */
    struct made_layer *layers;
    int layer_count, unknown, image_inputs, made_count;
    bool half; /* the model's numbers are f16 */
};

/* onnx_graph.c: the value of that name; graph_value: the one that it is another name for. */
struct place *graph_find(struct graph *g, const char *name);
struct place *graph_value(struct graph *g, const char *name);
/* A value that the file does not name. */
struct place *graph_inner(struct graph *g);
/* Input i of a node; a value of nothing where it has none. */
struct place *graph_in(struct graph *g, const struct onnx_node *n, int i);
int64_t graph_int(const struct onnx_node *n, const char *name, int64_t usual);
double graph_real(const struct onnx_node *n, const char *name, double usual);
const char *graph_word(const struct onnx_node *n, const char *name, const char *usual);
bool graph_is(const struct onnx_node *n, const char *name, const char *text);
bool graph_list(const struct onnx_node *n, const char *name, const struct place *input, int i, int64_t *out);
struct made_layer *graph_layer(struct graph *g, const struct onnx_node *n, const char *op, const struct place *in);
bool graph_leaves(struct graph *g, const struct onnx_node *n, int64_t c, int64_t h, int64_t w);
struct made_layer *graph_open(struct graph *g, const struct place *v);
bool graph_folded(struct graph *g, const struct onnx_node *n, const struct place *v, struct made_layer *l, const char *item);
/* Makes the node's output another name of x; what reads it reads x. */
bool graph_rename(struct graph *g, const struct onnx_node *n, struct place *x);
/* False, with the reason. */
bool graph_lacks(const char **why, const char *text);
/* The elements of a view; at most INT64_MAX. */
int64_t view_elements(const struct view *l);

/* onnx_constants.c: makes a constant of the node's output, if its inputs are constants. */
bool graph_constant(struct graph *g, const struct onnx_node *n);
/* The shape that a Reshape asks for, of a tensor of `count` elements. */
bool graph_target(const struct onnx_node *n, const struct place *shape, int64_t count, const int64_t *own, int own_rank,
                  int64_t dim[ONNX_RANK], int *rank);
/* A constant of those sizes, to be filled; NULL: too large. */
struct onnx_tensor *graph_made(struct graph *g, int type, int rank, const int64_t *dim);
typedef bool graph_maker(struct graph *g, const struct onnx_node *n, const char **why);

/* onnx_view.c: views of images. */
/* The value as a view; of an image that of all its axes. False: it is not known. */
bool view_of(const struct place *p, struct view *out);
/* Makes the view the node's output. */
bool view_put(struct graph *g, const struct onnx_node *n, const struct view *l, const char **why);
/* Another shape, order of axes, or range of one; false: this view has none. */
bool view_reshape(struct view *l, int rank, const int64_t *dim);
void view_permute(struct view *l, const int64_t *perm);
bool view_expand(struct view *l, int rank, const int64_t *dim);
bool view_slice(struct view *l, int part, int64_t first, int64_t count, int64_t step);
/* True if it has every element of the image once; in_order: in the image's order. */
bool view_whole(const struct view *l, bool in_order);
/* The view of an image with another number of channels (axis 1) or columns (3), which the part steps through. */
void view_resize(struct view *l, int part, int axis, struct place *of);
bool view_same(const struct view *a, const struct view *b);
/* Is it DepthToSpace, SpaceToDepth or a channel shuffle of the image? Then makes that the node's output, or *done is false. */
bool view_known_move(struct graph *g, const struct onnx_node *n, const struct view *l, bool *done, const char **why);
/* The value as an image n, c, h, w; a layer makes it where it is another view. NULL: it cannot be. */
struct place *view_image(struct graph *g, const struct onnx_node *n, struct place *p, const char **why);
/* A view in which one part, or (-1) those of a set, are the channels of its image; `columns`: a set of parts that are its columns. */
bool view_channels(struct graph *g, const struct onnx_node *n, struct place *p, unsigned channels, unsigned columns, bool always,
                   struct view *out, const char **why);
/* Another name for the node's output, so that a view of it can have the node's; *inner: the node with it. */
struct place *view_inner(struct graph *g, const struct onnx_node *n, struct onnx_node *inner, char *outputs[1]);
/* Runs a maker of layers on images in place of views: on the image seen, for what does the same to each element; or on one n, c, h, w. */
bool view_each(struct graph *g, const struct onnx_node *n, graph_maker *make, const char **why);
bool view_second(struct graph *g, const struct onnx_node *n, graph_maker *make, const char **why);
bool view_images(struct graph *g, const struct onnx_node *n, graph_maker *make, const char **why);
/* Outputs of the model that are views become images. */
void view_finish(struct graph *g);

/* onnx_weights.c: gives a layer y = scale y + shift in each of its output channels; `scale`, `shift`: NULL: ones, zeros; owned by the
 * layer from now on. */
void weights_affine(struct made_layer *l, double *scale, double *shift);
/* `count` numbers of a constant that has as many, or one for all; times, plus. NULL: it has not; values that cannot be read: *unknown. */
double *weights_channels(const struct onnx_tensor *t, int64_t count, double times, double plus, bool *unknown);
/* The same number for each of `count` channels. */
double *weights_even(int64_t count, double value);
/* Has any layer weights? */
bool weights_any(const struct graph *g);
/* Writes FOLDER/LAYER.filter.npy and so on for all layers. */
bool weights_write(const struct graph *g, const char *folder, struct error *err);
void weights_free(struct made_weights *w);

/* onnx_move.c, onnx_resize.c, onnx_axes.c, onnx_join.c, onnx_fold.c: as graph_node, for an operator that moves values; for one with axes of
 * its own; for one that becomes an item of an epilogue. */
graph_maker move_concat, move_shuffle, resize_image, move_slice, move_pad, move_rename, axes_reshape, axes_transpose, axes_split,
    axes_slice, axes_gather, axes_expand, axes_softmax, axes_matmul, axes_layer_norm, axes_reduce, join_concat, join_pad, fold_add,
    fold_sum, fold_multiply, fold_divide, fold_normalise, fold_negate, fold_hard_sigmoid, fold_activation, fold_gelu, nodes_product,
    nodes_instance_norm, nodes_group_norm, axes_unit;
/* An axis as 0 .. rank - 1; -1: there is no such axis. */
int axes_number(int64_t axis, int rank);
/* The mean, or the largest, of all pixels of each channel. */
bool nodes_over_pixels(struct graph *g, const struct onnx_node *n, struct place *x, bool largest, const char **why);
/* move_pad: reads the pads of n, c, h, w, mode and value from attributes.
 * channels first .. first + k - 1, dealt out of `parts`; as output `at` of the node. */
bool move_channels(struct graph *g, const struct onnx_node *n, int at, struct place *x, int64_t first, int64_t k, int64_t parts,
                   const char **why);
/* Pixels from channels, or channels from pixels. */
bool move_rearrange(struct graph *g, const struct onnx_node *n, struct place *x, int64_t b, const char *mode, bool to_space,
                    const char **why);
/* y = scale x + shift by channel; NULL: ones, zeros. Both are owned from now on. */
bool fold_affine(struct graph *g, const struct onnx_node *n, struct place *x, double *scale, double *shift, bool unknown, const char **why);
bool fold_is_activation(const struct onnx_node *n);
/* onnx_patterns.c: finds GELU and LayerNorm that the file spells out. */
void patterns_find(struct graph *g);

/* onnx_nodes.c: makes a layer of a node, adds it to an earlier one, or makes its output another name. False: *why says what is missing. */
bool graph_node(struct graph *g, const struct onnx_node *n, const char **why);
