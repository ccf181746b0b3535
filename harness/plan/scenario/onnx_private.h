/* plan/scenario/onnx_private: a model as its file has it. */
#pragma once

#include "plan/scenario/onnx.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ONNX_RANK 8
struct onnx_bytes { /* borrowed */
    const uint8_t *at;
    size_t count;
};
struct onnx_tensor {
    char *name;
    int64_t dim[ONNX_RANK];
    int rank, type; /* type: TensorProto.DataType */
    struct onnx_bytes raw, floats, ints32, ints64, doubles;
    double *made;           /* values that folding computed; owned */
    char *location;         /* in another file, beside the model's: its values are not known until onnx_load */
    int64_t offset, length; /* there; length -1: as its sizes say */
};
struct onnx_attribute {
    char *name, *text; /* text: of a string; else NULL */
    double real;
    int64_t whole;
    int64_t *ints;
    int int_count;
    double *reals;
    int real_count;
    struct onnx_tensor *tensor; /* NULL: none */
};
struct onnx_node {
    char *name, *op, *domain;
    char **inputs, **outputs;
    int input_count, output_count, attribute_count;
    struct onnx_attribute *attributes;
};
struct onnx_value { /* a graph's input, or a shape that the file states */
    char *name;
    int64_t dim[ONNX_RANK]; /* -1: open */
    int rank, type;
};
struct onnx_model {
    char *graph;
    int64_t opset;
    struct onnx_node *nodes;
    struct onnx_tensor *constants;
    struct onnx_value *inputs, *outputs, *values;
    char **held; /* contents of other files, in which constants lie */
    int held_count;
    int node_count, constant_count, input_count, output_count, value_count;
};
bool onnx_read(const char *file, const char *data, size_t bytes, struct onnx_model *out, struct error *err);
void onnx_free(struct onnx_model *m);
/* Elements of a tensor; 0: none. */
int64_t onnx_elements(const struct onnx_tensor *t);
/* Element i as a number; false: it is not there, or of another kind. */
bool onnx_number(const struct onnx_tensor *t, int64_t i, double *out);
/* Reads the values that lie in other files of the model's folder. */
bool onnx_load(const char *file, struct onnx_model *m, struct error *err);
const struct onnx_attribute *onnx_attribute(const struct onnx_node *n, const char *name); /* NULL: none */
