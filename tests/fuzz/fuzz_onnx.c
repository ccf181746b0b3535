/* ONNX models. What is taken is a scenario: it must parse as YAML. */
#include "base/node.h"
#include "fuzz/common.h"
#include "plan/scenario/onnx.h"
#include <stdlib.h>

void fuzz_one(const uint8_t *data, size_t bytes)
{
    struct error err = {0};
    struct text t = {0};
    int unknown;
    if (!onnx_scenario("fuzz.onnx", (const char *)data, bytes, &(struct onnx_options){.name = "fuzz"}, &t, &unknown, &err)) {
        must_explain(&err);
    } else {
        struct node *root = t.len <= NODE_MAX_BYTES ? node_parse_text("fuzz.yaml", t.data, t.len, 1, 1, &err) : NULL;
        if (!root && t.len <= NODE_MAX_BYTES)
            abort();
        node_free(root);
    }
    text_free(&t);
}
