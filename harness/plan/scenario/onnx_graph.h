/* plan/scenario/onnx_graph: what becomes of a model on its way to a scenario. */
#ifndef BENCH_SCENARIO_ONNX_GRAPH_H
#define BENCH_SCENARIO_ONNX_GRAPH_H

#include "plan/scenario/onnx_private.h"

#define LAYER_INPUT (-1) /* the model's input */
#define LAYER_NONE (-2)  /* no layer */
/* A named value: where it comes from. */
struct place {
    const char *name;
    struct place *alias;                /* the same value; NULL: its own */
    const struct place *sigmoid_of;     /* x, of a sigmoid(x) that x * sigmoid(x) reads; NULL: it is none */
    const struct onnx_tensor *constant; /* NULL: computed */
    int64_t dim[4];                     /* n, c, h, w where known */
    bool known;
    int uses, layer;
};
/* A layer of the scenario. */
struct made_layer {
    char *name;
    const char *op;
    int64_t in[4];
    struct text keys, epilogue; /* ", k: 64, kernel: 3"; "bias, relu" */
    int items;
    int input, with, residual; /* layers; LAYER_NONE: no such tensor */
    bool foldable, activated;  /* its op takes an epilogue; nothing but a residual may follow its activation */
    double scale;              /* of the residual that must follow; 0: none */
};
struct graph {
    const struct onnx_model *m;
    const char *file;
    struct place *values;
    size_t slots;
    struct onnx_tensor *made; /* room for a constant of each node */
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

/* onnx_nodes.c: makes a layer of a node, adds it to an earlier one, or makes its output another name. False: *why says what is missing. */
bool graph_node(struct graph *g, const struct onnx_node *n, const char **why);

#endif
