/* YAML documents: scenarios, heads, counter groups. */
#include "base/node.h"
#include "fuzz/common.h"

/* Touches every node: positions and texts must be there. */
static void walk(const struct node *n)
{
    if (n->line < 1 || n->column < 1 || (n->kind == NODE_SCALAR && !n->text))
        abort();
    for (int i = 0; i < n->count; i++) {
        if (n->kind == NODE_MAP)
            walk(n->keys[i]);
        walk(n->items[i]);
    }
}

void fuzz_one(const uint8_t *data, size_t bytes)
{
    struct error err = {0};
    struct node *root = node_parse_text("fuzz.yaml", (const char *)data, bytes, 1, 1, &err);
    if (!root) {
        must_explain(&err);
        return;
    }
    walk(root);
    node_free(root);
}
