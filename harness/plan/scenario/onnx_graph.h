/* plan/scenario/onnx_graph: what becomes of a model on its way to a scenario. */
#ifndef BENCH_SCENARIO_ONNX_GRAPH_H
#define BENCH_SCENARIO_ONNX_GRAPH_H

#include "plan/scenario/onnx_private.h"

#define SIZE_MAX_LAYER (1 << 20) /* of channels, height, width */
#define LAYER_INPUT (-1)         /* the model's input */
#define LAYER_NONE (-2)          /* no layer */
/* A named value: where it comes from. */
struct place {
    const char *name;
    struct place *alias;            /* the same value; NULL: its own */
    const struct place *sigmoid_of; /* x, of a sigmoid(x) that x * sigmoid(x) reads; NULL: it is none */
    const char *gate;               /* then: what the product is */
    const struct place *parts_of;   /* the image whose axes were split and perhaps transposed: parts[i] is axis from[i] of them */
    int64_t parts[ONNX_RANK], from[ONNX_RANK];
    int part_count;
    const struct place *padded;         /* the image that zeros were put around */
    int64_t pad[4];                     /* then: top, left, bottom, right */
    const struct onnx_tensor *constant; /* NULL: computed */
    int64_t dim[4];                     /* n, c, h, w where known */
    bool known;
    int uses, layer;
};
/* The values of a layer's tensors: filter (as the file has it) and bias, then scale and shift by output channel. */
struct made_weights {
    const struct onnx_tensor *filter; /* NULL: ones */
    bool turned;                      /* its inputs come first: of a product, or of ConvTranspose with `groups` */
    int64_t groups;
    double *scale, *shift; /* NULL: ones, zeros */
    const struct onnx_tensor *slopes;
    bool unknown; /* some of it is no constant that can be read */
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
    struct onnx_tensor *made; /* room for a constant of each node */
    int64_t made_elements;
    bool *done;           /* by node: another one stands for it */
    const char **gelu_of; /* by node: it is the end of gelu(this); NULL: it is none */
    struct made_layer *layers;
    int layer_count, unknown, image_inputs, made_count;
    bool half; /* the model's numbers are f16 */
};

struct place *graph_value(struct graph *g, const char *name);
/* Input i of a node; a value of nothing where it has none. */
struct place *graph_in(struct graph *g, const struct onnx_node *n, int i);
int64_t graph_int(const struct onnx_node *n, const char *name, int64_t usual);
double graph_real(const struct onnx_node *n, const char *name, double usual);
bool graph_is(const struct onnx_node *n, const char *name, const char *text);
bool graph_list(const struct onnx_node *n, const char *name, const struct place *input, int i, int64_t *out);
struct made_layer *graph_layer(struct graph *g, const struct onnx_node *n, const char *op, const struct place *in);
bool graph_leaves(struct graph *g, const struct onnx_node *n, int64_t c, int64_t h, int64_t w);
struct made_layer *graph_open(struct graph *g, const struct place *v);
bool graph_folded(struct graph *g, const struct onnx_node *n, const struct place *v, struct made_layer *l, const char *item);

/* onnx_constants.c: makes a constant of the node's output, if its inputs are constants. */
bool graph_constant(struct graph *g, const struct onnx_node *n);
/* The shape that a Reshape asks for, of a tensor of `count` elements. */
bool graph_target(const struct onnx_node *n, const struct place *shape, int64_t count, const int64_t *own, int own_rank,
                  int64_t dim[ONNX_RANK], int *rank);
/* A Slice along one axis of that length, with step 1. */
bool graph_range(struct graph *g, const struct onnx_node *n, int64_t length, int64_t *axis, int64_t *first, int64_t *end);
/* Makes the node's output another name of x; who reads it reads x. */
bool graph_rename(struct graph *g, const struct onnx_node *n, struct place *x);
bool graph_lacks(const char **why, const char *text);

/* onnx_weights.c: gives a layer y = scale y + shift in each of its output channels; `scale`, `shift`: NULL: ones, zeros; owned by the
 * layer from now on. */
void weights_affine(struct made_layer *l, double *scale, double *shift);
/* `count` numbers of a constant that has as many, or one for all; times, plus. NULL: it has not; values that cannot be read: *unknown. */
double *weights_channels(const struct onnx_tensor *t, int64_t count, double times, double plus, bool *unknown);
/* Writes FOLDER/LAYER.filter.npy and so on for all layers. */
bool weights_write(const struct graph *g, const char *folder, struct error *err);
void weights_free(struct made_weights *w);

/* onnx_move.c, onnx_fold.c: as graph_node, of an operator that moves values; of one that is an item of an epilogue. */
bool move_concat(struct graph *g, const struct onnx_node *n, const char **why);
bool move_shuffle(struct graph *g, const struct onnx_node *n, const char **why);
bool move_resize(struct graph *g, const struct onnx_node *n, const char **why);
bool move_reshape(struct graph *g, const struct onnx_node *n, const char **why);
bool move_transpose(struct graph *g, const struct onnx_node *n, const char **why);
bool move_split(struct graph *g, const struct onnx_node *n, const char **why);
bool move_slice(struct graph *g, const struct onnx_node *n, const char **why);
bool move_pad(struct graph *g, const struct onnx_node *n, const char **why);
bool fold_add(struct graph *g, const struct onnx_node *n, const char **why);
bool fold_multiply(struct graph *g, const struct onnx_node *n, const char **why);
bool fold_divide(struct graph *g, const struct onnx_node *n, const char **why);
bool fold_normalise(struct graph *g, const struct onnx_node *n, const char **why);
bool fold_hard_sigmoid(struct graph *g, const struct onnx_node *n, const char **why);
/* Is it an activation? Then *done says whether it found a place. */
bool fold_activation(struct graph *g, const struct onnx_node *n, const char **why, bool *done);
/* Finds x / sqrt(2) -> Erf -> + 1 -> * x -> / 2. */
void fold_find_gelu(struct graph *g);
bool fold_gelu(struct graph *g, const struct onnx_node *n, const char *x, const char **why);

/* onnx_nodes.c: makes a layer of a node, adds it to an earlier one, or makes its output another name. False: *why says what is missing. */
bool graph_node(struct graph *g, const struct onnx_node *n, const char **why);

#endif
