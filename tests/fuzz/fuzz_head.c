/* Variants: the head of a .cu, its parameters, and its binding to one plain convolution. */
#include "fuzz/common.h"
#include "op/op.h"
#include "kernel/variant.h"
#include "kernel/head/load.h"
#include "kernel/bind/variant_bind.h"

/* Binds the first points to a small convolution, where the head's expressions are computed. */
static void bind(const struct variant *v, const struct variant_config *configs, int count)
{
    struct work work = {.op = v->op,
                        .n = 1,
                        .c = 4,
                        .h = 8,
                        .w = 8,
                        .k = 4,
                        .r = 3,
                        .s = 3,
                        .stride = 1,
                        .pad = 1,
                        .dilation = 1,
                        .groups = 1,
                        .block = 2,
                        .mode = D2S_DCR,
                        .dtype = DTYPE_F32,
                        .layout = LAYOUT_NCHW,
                        .to = LAYOUT_NHWC,
                        .math = MATH_F32};
    struct variant_set none = {0};
    struct error err = {0};
    if (!work_finish(&work, &err))
        return;
    for (int i = 0; i < count && i < 4; i++) {
        struct program program = {0};
        error_clear(&err);
        if (!variant_bind(&none, &configs[i], &work, chip_find("GH100"), &program, &err))
            must_explain(&err);
        program_free(&program);
    }
}

void fuzz_one(const uint8_t *data, size_t bytes)
{
    struct error err = {0};
    setenv("BENCH_HOME", ".", 0); /* what a seed may be `like:` */
    const char *path = as_file(data, bytes, ".cu");
    struct variant *v = variant_load(path, "fuzz", &err);
    unlink(path);
    if (!v) { /* NULL without an error: no head in it, which is allowed */
        if (err.kind != ERROR_NONE)
            must_explain(&err);
        return;
    }
    struct variant_config *configs = NULL;
    int count = variant_configs(v, NULL, &configs, &err);
    if (count < 0)
        must_explain(&err);
    else {
        bind(v, configs, count);
        variant_configs_free(configs, count);
    }
    variant_free(v);
}
