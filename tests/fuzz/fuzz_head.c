/* Variants: the head of a .cu, its parameters, and its binding to one plain convolution. */
#include "fuzz/common.h"
#include "op/op.h"
#include "variant/variant.h"

void fuzz_one(const uint8_t *data, size_t bytes)
{
    struct error err = {0};
    const char *path = as_file(data, bytes, ".cu");
    struct variant *v = variant_load(path, "fuzz", &err);
    unlink(path);
    if (!v) { /* NULL without an error: no head in it, which is allowed */
        if (err.kind != ERROR_NONE)
            must_explain(&err);
        return;
    }
    struct variant_point *points = NULL;
    int count = variant_points(v, NULL, &points, &err);
    if (count < 0)
        must_explain(&err);
    else
        variant_points_free(points, count);
    variant_free(v);
}
