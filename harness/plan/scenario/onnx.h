/* plan/scenario/onnx: an ONNX model becomes a scenario: a layer for each operation, and the network that they make.
 *
 * Opsets 7 to 23. Activations, biases, batch normalisation, scaled and plain additions become the epilogue of the operation before them.
 * Nothing of the file is executed. */
#pragma once

#include "base/error.h"
#include "base/text.h"

#define ONNX_MAX_BYTES INT32_MAX /* of a protobuf message */
struct onnx_options {
    const char *name;
    const char *shape;   /* "1x3x224x224" for an input whose sizes the file leaves open; NULL: none */
    bool distinct;       /* one layer for all equal ones */
    const char *weights; /* folder to which the weights are written, beside the scenario; NULL: bench draws them */
};
/* Appends a scenario. An operation that no op computes is a comment in it, and counted in *unknown. */
bool onnx_scenario(const char *file, const char *data, size_t bytes, const struct onnx_options *o, struct text *out, int *unknown,
                   struct error *err);
