/* plan/scenario/onnx: models become scenarios; damaged ones one error. The models are written here, field by field. */
#include "onnx_model.h"
#include "scenario_text.h"
#include "base/file.h"
#include "base/npy.h"
#include "plan/scenario/onnx.h"
#include <math.h>

/* conv 1x7 with pads of its own, batch normalisation, relu; another branch; scaled and added; pixels rearranged. */
static void make(int opset, int more, int height)
{
    struct text graph = {0};
    const int wide[] = {8, 3, 1, 7}, square[] = {8, 8, 3, 3}, eight[] = {8};
    model.len = 0;
    constant(&graph, "w1", 4, wide, 1, more);
    constant(&graph, "w2", 4, square, 1, 0);
    constant(&graph, "eight", 1, eight, 1, 0);
    constant(&graph, "tenth", 0, NULL, 0.1f, 0);
    value(&graph, 11, "x", (const int[]){1, 3, height, 12});
    value(&graph, 12, "y", NULL);
    node(&graph, "Conv", "x w1", "a", "pads 0 3 0 3");
    node(&graph, "BatchNormalization", "a eight eight eight eight", "n", "");
    node(&graph, "Relu", "n", "r", "");
    node(&graph, "Conv", "r w2 eight", "b", "pads 0 0 1 1");
    node(&graph, "Conv", "r w2 eight", "c", "pads 0 0 1 1");
    node(&graph, "Mul", "c tenth", "s", "");
    node(&graph, "Add", "b s", "t", "");
    node(&graph, "MaxPool", "t", "m", "kernel_shape 2 2");
    node(&graph, "Concat", "m m", "y", "");
    finish(&graph, opset);
}

static bool imported(struct text *out, int *unknown, struct error *err)
{
    *err = (struct error){0};
    return onnx_scenario("m.onnx", model.data, model.len, &(struct onnx_options){.name = "m"}, out, unknown, err);
}

static void has_all(const struct text *out, const char *const *wanted, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!strstr(text_get(out), wanted[i]))
            fail_msg("'%s' is not in\n%s", wanted[i], text_get(out));
}

/* The model, whose nodes are all known, becomes a scenario that can be read. */
static void imports(struct text *out)
{
    struct error err;
    int unknown = -1;
    if (!imported(out, &unknown, &err))
        fail_msg("%s", err.text);
    assert_int_equal(unknown, 0);
    scenario_free(loaded(text_get(out)));
}

static void layers_of_nodes(void **state)
{
    struct text out = {0};
    make(17, 0, 10);
    imports(&out);
    static const char *const wanted[] = {
        "  a: {op: conv2d, n: 1, c: 3, h: 10, w: 12, k: 8, kernel: [1, 7], pad: [0, 3], epilogue: [bias, relu]}\n",
        "  c: {op: conv2d, n: 1, c: 8, h: 10, w: 12, k: 8, kernel: 3, pad: [0, 0, 1, 1], epilogue: [bias, {residual: 0.1}]}\n",
        "  m: {op: pool_max, n: 1, c: 8, h: 9, w: 11, kernel: 2}\n", "    - {layer: c, input: a, residual: b}\n",
        "    - {layer: y, with: m}\n"};
    has_all(&out, wanted, sizeof wanted / sizeof *wanted);
    text_free(&out);
}

static void refused(const char *want)
{
    struct text out = {0};
    struct error err;
    int unknown;
    assert_false(imported(&out, &unknown, &err));
    if (!strstr(err.text, want))
        fail_msg("'%s' is not said: %s", want, err.text);
    text_free(&out);
}

/* An error, or a scenario that may be read. */
static void every_byte_another(void)
{
    size_t all = model.len;
    SCOPED char *whole_one = xstrndup("", 0);
    whole_one = xrealloc(whole_one, all);
    memcpy(whole_one, model.data, all);
    for (size_t at = 0; at < all; at++) /* every byte another one: an error */
        for (int turn = 0; turn < 3; turn++) {
            struct text out = {0};
            struct error err;
            int unknown;
            memcpy(model.data, whole_one, all);
            model.data[at] = (char)(turn == 0 ? 0xff : turn == 1 ? 0 : model.data[at] ^ 1 << at % 8);
            if (!imported(&out, &unknown, &err))
                assert_true(err.text[0]);
            text_free(&out);
        }
}

static void damaged_models(void **state)
{
    make(17, 1, 10);
    refused("a tensor has other bytes than its sizes say");
    make(6, 0, 10);
    refused("opset 6; 7 to 23 are supported");
    make(17, 0, 0);
    refused("the input 'x' has open sizes");
    make(17, 0, 10);
    size_t all = model.len;
    for (size_t length = 0; length < all; length++) { /* every way to break off */
        model.len = length;
        refused("m.onnx");
    }
    model.len = all;
    every_byte_another();
}

/* What no op computes is named with the reason, and the rest is there. */
static void unknown_nodes(void **state)
{
    static const char *const nodes[][4] = {{"Einsum", "a", "", "there is no op for it"},
                                           {"LSTM", "a w w", "", "there is no op for it"},
                                           {"ReduceL2", "a", "axes 1", "there is no op for it"},
                                           {"GRU", "a w w", "", "there is no op for it"},
                                           {"Conv", "a w", "pads 1 1 1", "an attribute is no list of one number for each axis"},
                                           {"Conv", "a w", "kernel_shape 5 5", "its filter is not as large as its kernel_shape"},
                                           {"Conv", "a w", "=group 0", "its group is not at least 1"},
                                           {"Resize", "a", "=antialias 1", "only constant factors of height and width are supported"}};
    const int square[] = {4, 4, 3, 3};
    for (size_t i = 0; i < sizeof nodes / sizeof *nodes; i++) {
        struct text out = {0}, graph = {0};
        struct error err;
        int unknown;
        model.len = 0;
        constant(&graph, "w", 4, square, 1, 0);
        numbers(&graph, "half", 4, (const int64_t[]){1, 4, 4, 4});
        value(&graph, 11, "x", (const int[]){1, 4, 9, 9});
        value(&graph, 12, "y", NULL);
        node(&graph, "Conv", "x w", "a", "");
        node(&graph, nodes[i][0], nodes[i][1], "e", nodes[i][2]);
        node(&graph, "Conv", "e w", "y", "");
        node(&graph, "Conv", "", "z", "");
        value(&graph, 13, "e", (const int[]){1, 4, 7, 7});
        finish(&graph, 18);
        if (!imported(&out, &unknown, &err))
            fail_msg("%s", err.text);
        assert_int_equal(unknown, 2);
        SCOPED char *named = text_format("# not imported: %s 'e': %s\n", nodes[i][0], nodes[i][3]);
        if (!strstr(text_get(&out), named))
            fail_msg("'%s' is not in\n%s", named, text_get(&out));
        assert_non_null(strstr(text_get(&out), "  y: {op: conv2d, n: 1, c: 4, h: 7, w: 7, k: 4, kernel: 3}\n"));
        assert_null(strstr(text_get(&out), "network:"));
        text_free(&out);
    }
}

/* Values that nobody writes, or two nodes, or one that reads them first. */
static void values_out_of_order(void **state)
{
    static const char *const nodes[][5] = {
        {"x w", "a", "b", "y", "Relu 'y' reads 'b', which is no input, no constant and no node's output"},
        {"y w", "a", "a", "y", "Conv 'a' reads 'y', which is only written behind it"},
        {"x w", "y", "y", "y", "Relu 'y' writes 'y', which is there already"},
        {"x w", "w", "w", "y", "Conv 'w' writes 'w', which is there already"}};
    const int square[] = {4, 4, 3, 3};
    for (size_t i = 0; i < sizeof nodes / sizeof *nodes; i++) {
        struct text graph = {0};
        model.len = 0;
        constant(&graph, "w", 4, square, 1, 0);
        value(&graph, 11, "x", (const int[]){1, 4, 9, 9});
        value(&graph, 12, "y", NULL);
        node(&graph, "Conv", nodes[i][0], nodes[i][1], "");
        node(&graph, "Relu", nodes[i][2], nodes[i][3], "");
        finish(&graph, 18);
        refused(nodes[i][4]);
    }
}

static void sums_of_several(void **state)
{
    struct text out = {0}, graph = {0};
    const int square[] = {4, 4, 1, 1};
    static const char *const wanted[] = {"  b: {op: conv2d, n: 1, c: 4, h: 20, w: 9, k: 4, kernel: 1, epilogue: [residual]}\n",
                                         "  c: {op: conv2d, n: 1, c: 4, h: 20, w: 9, k: 4, kernel: 1, epilogue: [residual]}\n",
                                         "    - {layer: b, input: input, residual: a}\n    - {layer: c, input: input, residual: b}\n"};
    model.len = 0;
    value(&graph, 11, "x", (const int[]){1, 4, 20, 9});
    value(&graph, 12, "y", NULL);
    constant(&graph, "w", 4, square, 1, 0);
    for (int i = 0; i < 3; i++)
        node(&graph, "Conv", "x w", (const char *[]){"a", "b", "c"}[i], "");
    node(&graph, "Sum", "a b c", "s", "");
    node(&graph, "Sum", "s", "y", "");
    finish(&graph, 18);
    imports(&out);
    has_all(&out, wanted, sizeof wanted / sizeof *wanted);
    text_free(&out);
}

/* A difference becomes a sum with a negated filter. A constant joined to a tensor, and padding of channels, become layers of their own. The
 * maximum of all pixels is computed by windows. */
static void sums_and_joins(void **state)
{
    struct text out = {0}, graph = {0};
    const int square[] = {4, 4, 1, 1}, plane[] = {1, 2, 20, 9};
    static const char *const wanted[] = {"  b: {op: conv2d, n: 1, c: 4, h: 20, w: 9, k: 4, kernel: 1, epilogue: [residual]}\n",
                                         "{op: conv2d, n: 1, c: 4, h: 20, w: 9, k: 2, kernel: 1, epilogue: [bias]}\n", /* the constant */
                                         "{op: concat, n: 1, c: 4, h: 20, w: 9, k: 6}\n",
                                         "{op: conv2d, n: 1, c: 6, h: 20, w: 9, k: 3, kernel: 1}\n", /* zeros before the channels */
                                         "{op: concat, n: 1, c: 3, h: 20, w: 9, k: 9}\n",
                                         "  y: {op: pool_max, n: 1, c: 9, h: 20, w: 9, kernel: [16, 9], stride: [16, 9], ceil_mode: 1}\n",
                                         "  y_7: {op: pool_max, n: 1, c: 9, h: 2, w: 1, kernel: [2, 1], stride: [2, 1]}\n"};
    model.len = 0;
    value(&graph, 11, "x", (const int[]){1, 4, 20, 9});
    value(&graph, 12, "y", NULL);
    constant(&graph, "w", 4, square, 1, 0);
    constant(&graph, "two", 4, plane, 0.5f, 0);
    numbers(&graph, "pads", 8, (const int64_t[]){0, 3, 0, 0, 0, 0, 0, 0});
    node(&graph, "Conv", "x w", "a", "");
    node(&graph, "Conv", "a w", "b", "");
    node(&graph, "Sub", "a b", "d", "");
    node(&graph, "Concat", "d two", "j", "=axis 1");
    node(&graph, "Pad", "j pads", "p", "");
    node(&graph, "GlobalMaxPool", "p", "y", "");
    finish(&graph, 18);
    imports(&out);
    has_all(&out, wanted, sizeof wanted / sizeof *wanted);
    text_free(&out);
    every_byte_another();
}

/* Two names of one view have readers: an activation that only one of them reads is not folded. Factors of channels have the layout of the
 * tensor to which they belong. */
static void readers_of_views(void **state)
{
    struct text out = {0}, graph = {0};
    const int square[] = {4, 4, 1, 1};
    model.len = 0;
    value(&graph, 11, "x", (const int[]){1, 4, 20, 9});
    value(&graph, 12, "y", NULL);
    constant(&graph, "w", 4, square, 1, 0);
    numbers(&graph, "pixels", 2, (const int64_t[]){1, 2});
    node(&graph, "Conv", "x w", "a", "");
    node(&graph, "Transpose", "a", "p", "perm 0 2 3 1");
    node(&graph, "Identity", "p", "q", "");
    node(&graph, "Tanh", "q", "t", "");
    node(&graph, "Mul", "t q", "m", "");
    node(&graph, "ReduceMean", "m pixels", "f", "");
    node(&graph, "Mul", "f m", "y", "");
    finish(&graph, 18);
    imports(&out);
    assert_non_null(strstr(text_get(&out), "  a: {op: conv2d, n: 1, c: 4, h: 20, w: 9, k: 4, kernel: 1}\n"));
    assert_non_null(strstr(text_get(&out), "  t: {op: pointwise, n: 1, c: 4, h: 20, w: 9, epilogue: [tanh]}\n"));
    assert_non_null(strstr(text_get(&out), "  y: {op: mul_channels, n: 1, c: 4, h: 20, w: 9}\n"));
    text_free(&out);
    every_byte_another();
}

static double value_of(const char *folder, const char *file, size_t index)
{
    SCOPED char *path = file_join(folder, file);
    struct npy a;
    struct error err = {0};
    if (!npy_read(path, &a, &err))
        fail_msg("%s", err.text);
    assert_true(index < a.count);
    double v = a.value[index];
    npy_free(&a);
    return v;
}

/* A model without weights imports with its weights: there is no file to name. */
static void no_weights(void **state)
{
    struct text out = {0}, graph = {0};
    struct error err = {0};
    int unknown;
    char folder[] = "/tmp/bench_onnx_XXXXXX";
    assert_non_null(mkdtemp(folder));
    SCOPED char *weights = file_join(folder, "m.weights");
    model.len = 0;
    value(&graph, 11, "x", (const int[]){1, 4, 20, 9});
    value(&graph, 12, "y", NULL);
    node(&graph, "Tanh", "x", "t", "");
    node(&graph, "Mul", "t x", "y", "");
    finish(&graph, 18);
    if (!onnx_scenario("m.onnx", model.data, model.len, &(struct onnx_options){.name = "m", .weights = weights}, &out, &unknown, &err))
        fail_msg("%s", err.text);
    assert_null(strstr(text_get(&out), "data:"));
    scenario_free(loaded(text_get(&out)));
    assert_int_equal(rmdir(weights) | rmdir(folder), 0);
    text_free(&out);
}

/* Batch normalisation is multiplied into the filter; the shape of each file is the layer's. */
static void weights_of_nodes(void **state)
{
    struct text out = {0};
    struct error err = {0};
    int unknown;
    char folder[] = "/tmp/bench_onnx_XXXXXX";
    assert_non_null(mkdtemp(folder));
    SCOPED char *weights = file_join(folder, "m.weights");
    make(17, 0, 10);
    if (!onnx_scenario("m.onnx", model.data, model.len, &(struct onnx_options){.name = "m", .weights = weights}, &out, &unknown, &err))
        fail_msg("%s", err.text);
    double scale = 1 / sqrt(1 + 1e-5);
    assert_float_equal(value_of(weights, "a.filter.npy", 8 * 3 * 7 - 1), scale, 1e-7);
    assert_float_equal(value_of(weights, "a.bias.npy", 7), 1 - scale, 1e-7);
    assert_float_equal(value_of(weights, "c.bias.npy", 0), 1, 0);
    SCOPED char *file = file_join(folder, "m.yaml");
    assert_true(file_write(file, text_get(&out), out.len, &err));
    struct scenario *s = scenario_load(file, &err);
    if (!s)
        fail_msg("%s", err.text);
    assert_string_equal(s->layers[0].work.weights + strlen(s->layers[0].work.weights) - 2, "/a");
    scenario_free(s);
    SCOPED char *bias = file_join(weights, "a.bias.npy");
    assert_true(npy_write(bias, (const int64_t[]){7}, 1, (const float[7]){0}, &err));
    assert_null(scenario_load(file, &err));
    assert_non_null(strstr(err.text, "layer 'a'"));
    assert_non_null(strstr(err.text, "its shape is 7, but the op's is 8"));
    assert_true(npy_write(bias, (const int64_t[]){8}, 1, (const float[8]){0, 0, NAN}, &err));
    assert_null(scenario_load(file, &err));
    assert_non_null(strstr(err.text, "a.bias.npy: element 2 is nan, which f32 cannot hold"));
    text_free(&out);
    file_remove_flat(weights);
    file_remove_flat(folder);
}

/* A tensor in another file: the folder's own only, and as long as its sizes say. */
static void weights_elsewhere(void **state)
{
    static const struct {
        const char *place, *want;
    } all[] = {{"../w.bin", "a file in the model's folder is expected"},
               {"/etc/passwd", "a file in the model's folder is expected"},
               {"absent.bin", "absent.bin"},
               {"short.bin", "which has 8; its sizes say 144"}};
    char folder[] = "/tmp/bench_onnx_XXXXXX";
    assert_non_null(mkdtemp(folder));
    SCOPED char *file = file_join(folder, "m.onnx"), *brief = file_join(folder, "short.bin"), *weights = file_join(folder, "w");
    struct error err = {0};
    assert_true(file_write(brief, "12345678", 8, &err));
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        struct text graph = {0}, set = {0}, t = {0}, entry = {0}, out = {0};
        int unknown;
        model.len = 0;
        for (int k = 0; k < 4; k++)
            whole(&t, 1, (const uint64_t[]){4, 1, 3, 3}[k]);
        whole(&t, 2, 1);
        word(&t, 8, "w");
        word(&entry, 1, "location");
        word(&entry, 2, all[i].place);
        part(&t, 13, &entry);
        whole(&t, 14, 1);
        part(&graph, 5, &t);
        value(&graph, 11, "x", (const int[]){1, 1, 9, 9});
        value(&graph, 12, "y", NULL);
        node(&graph, "Conv", "x w", "y", "");
        part(&model, 7, &graph);
        whole(&set, 2, 17);
        part(&model, 8, &set);
        assert_true(imported(&out, &unknown, &err)); /* without them, the shape is all that counts */
        err = (struct error){0};
        assert_false(
            onnx_scenario(file, model.data, model.len, &(struct onnx_options){.name = "m", .weights = weights}, &out, &unknown, &err));
        if (!strstr(err.text, all[i].want))
            fail_msg("'%s' is not said: %s", all[i].want, err.text);
        text_free(&out);
    }
    file_remove_flat(folder);
}

/* Channels that are split and shuffled, through the arithmetic on shapes that exporters write. */
static void channels_move(void **state)
{
    struct text out = {0}, graph = {0};
    model.len = 0;
    value(&graph, 11, "x", (const int[]){1, 8, 4, 6});
    value(&graph, 12, "y", NULL);
    numbers(&graph, "five", 5, (const int64_t[]){1, 2, 4, 4, 6});
    numbers(&graph, "four", 4, (const int64_t[]){1, -1, 4, 6});
    numbers(&graph, "from", 1, (const int64_t[]){2});
    numbers(&graph, "to", 1, (const int64_t[]){INT64_MAX});
    numbers(&graph, "axis", 1, (const int64_t[]){1});
    node(&graph, "Reshape", "x five", "r", "");
    node(&graph, "Transpose", "r", "t", "perm 0 2 1 3 4");
    node(&graph, "Reshape", "t four", "s", "");
    node(&graph, "Slice", "s from to axis", "y", "");
    finish(&graph, 13);
    imports(&out);
    assert_non_null(strstr(text_get(&out), "  s: {op: channels, n: 1, c: 8, h: 4, w: 6, k: 8, parts: 2}\n"));
    assert_non_null(strstr(text_get(&out), "  y: {op: channels, n: 1, c: 8, h: 4, w: 6, k: 6, first: 2}\n"));
    text_free(&out);
    every_byte_another();
}

/* Reshape, Transpose and Slice change the layout in which an image is read: channels on the last axis are normalised, multiplied and split
 * in place. If an operator needs another order, a layer converts. */
static void axes_are_views(void **state)
{
    struct text out = {0}, graph = {0};
    const int square[] = {5, 3, 3, 3}, matrix[] = {5, 7}, five[] = {5};
    static const char *const wanted[] = {
        "{op: view, n: 1, c: 6, h: 8, w: 3, k: 3, p: 6, q: 8, d1: 3, s1: 1, d2: 48, s2: 3}\n", /* n, h, w, c to n, c, h, w */
        "  a: {op: conv2d, n: 1, c: 3, h: 6, w: 8, k: 5, kernel: 3}\n",
        "{op: normalize, n: 1, c: 5, h: 4, w: 6, eps: 1e-05}\n",
        "{op: conv2d, n: 1, c: 5, h: 4, w: 6, k: 7, kernel: 1, epilogue: [elu]}\n",
        "{op: normalize, n: 1, c: 7, h: 4, w: 6, around: zero, eps: 1e-05}\n",
        "{op: softmax_channels, n: 1, c: 7, h: 4, w: 6}\n",
        "{op: view, n: 1, c: 7, h: 4, w: 6, k: 12, p: 1, q: 7, d1: 12, s1: 1, d2: 7, s2: 24, first: 12}\n"}; /* the last two lines */
    model.len = 0;
    value(&graph, 11, "x", (const int[]){1, 6, 8, 3});
    value(&graph, 12, "y", NULL);
    constant(&graph, "w", 4, square, 1, 0);
    constant(&graph, "m", 2, matrix, 1, 0);
    constant(&graph, "one", 1, five, 1, 0);
    numbers(&graph, "flat", 3, (const int64_t[]){0, -1, 7});
    numbers(&graph, "from", 1, (const int64_t[]){12});
    numbers(&graph, "to", 1, (const int64_t[]){INT64_MAX});
    numbers(&graph, "axis", 1, (const int64_t[]){1});
    node(&graph, "Transpose", "x", "c", "perm 0 3 1 2");
    node(&graph, "Conv", "c w", "a", "");
    node(&graph, "Transpose", "a", "p", "perm 0 2 3 1");
    node(&graph, "LayerNormalization", "p one", "l", "");
    node(&graph, "MatMul", "l m", "e", "");
    node(&graph, "Elu", "e", "r", "");
    node(&graph, "RMSNormalization", "r", "k", "");
    node(&graph, "Softmax", "k", "s", "");
    node(&graph, "Reshape", "s flat", "f", "");
    node(&graph, "Slice", "f from to axis", "y", "");
    finish(&graph, 23);
    imports(&out);
    has_all(&out, wanted, sizeof wanted / sizeof *wanted);
    assert_null(strstr(text_get(&out), "groups")); /* no scale of ones */
    text_free(&out);
    every_byte_another();
}

/* Attention: two tensors multiplied, with one head of keys for all; a constant for each place, whose file has the order of the image. */
static void products_of_tensors(void **state)
{
    struct text out = {0}, graph = {0}, set = {0};
    struct error err = {0};
    int unknown;
    const int place[] = {2, 1, 5};
    char folder[] = "/tmp/bench_onnx_XXXXXX";
    assert_non_null(mkdtemp(folder));
    SCOPED char *weights = file_join(folder, "m.weights");
    model.len = 0;
    value(&graph, 11, "x", (const int[]){1, 2, 5, 3});
    value(&graph, 12, "y", NULL);
    constant(&graph, "p", 3, place, 0.25f, 0);
    numbers(&graph, "zero", 1, (const int64_t[]){0});
    numbers(&graph, "one", 1, (const int64_t[]){1});
    node(&graph, "Transpose", "x", "t", "perm 0 1 3 2");
    node(&graph, "Slice", "t zero one one", "k", "");
    node(&graph, "MatMul", "x k", "a", "");
    node(&graph, "Add", "a p", "y", "");
    part(&model, 7, &graph);
    whole(&set, 2, 18);
    part(&model, 8, &set);
    if (!onnx_scenario("m.onnx", model.data, model.len, &(struct onnx_options){.name = "m", .weights = weights}, &out, &unknown, &err))
        fail_msg("%s", err.text);
    assert_int_equal(unknown, 0);
    static const char *const wanted[] = {"k: 2, p: 3, q: 5, d1: 2, s1: 0, d2: 3, s2: 1, d3: 5, s3: 3}\n", /* the keys, for both heads */
                                         "  a: {op: matmul, n: 1, c: 2, h: 5, w: 3, q: 5}\n",
                                         "  y: {op: add_constant, n: 1, c: 2, h: 5, w: 5}\n"};
    has_all(&out, wanted, sizeof wanted / sizeof *wanted);
    assert_float_equal(value_of(weights, "y.shift.npy", 2 * 5 * 5 - 1), 0.25, 0);
    text_free(&out);
    every_byte_another();
    file_remove_flat(weights);
    file_remove_flat(folder);
}

/* LayerNorm and GELU as files before opset 17 and 20 spell them out; a shape that constants make. */
static void patterns_are_layers(void **state)
{
    struct text out = {0}, graph = {0};
    model.len = 0;
    value(&graph, 11, "x", (const int[]){1, 6, 8, 3});
    value(&graph, 12, "y", NULL);
    constant(&graph, "two", 0, NULL, 2, 0);
    constant(&graph, "eps", 0, NULL, 0.5f, 0);
    constant(&graph, "root", 0, NULL, 1.4142135f, 0);
    constant(&graph, "one", 0, NULL, 1, 0);
    numbers(&graph, "sizes", 3, (const int64_t[]){6, 8, 3});
    numbers(&graph, "last", 1, (const int64_t[]){0});
    numbers(&graph, "least", 1, (const int64_t[]){144});
    node(&graph, "ReduceMean", "x", "m", "axes -1");
    node(&graph, "Sub", "x m", "d", "");
    node(&graph, "Pow", "d two", "q", "");
    node(&graph, "ReduceMean", "q", "v", "axes -1");
    node(&graph, "Add", "v eps", "e", "");
    node(&graph, "Sqrt", "e", "r", "");
    node(&graph, "Div", "d r", "n", "");
    node(&graph, "Div", "n root", "g1", "");
    node(&graph, "Erf", "g1", "g2", "");
    node(&graph, "Add", "g2 one", "g3", "");
    node(&graph, "Mul", "eps g3", "g4", "");
    node(&graph, "Mul", "n g4", "g", "");
    node(&graph, "ReduceProd", "sizes last", "p", ""); /* 144 */
    node(&graph, "Reshape", "g p", "y", "");
    finish(&graph, 18);
    imports(&out);
    assert_non_null(strstr(text_get(&out), "  n: {op: normalize, n: 1, c: 3, h: 48, w: 1, eps: 0.5}\n"));
    assert_non_null(strstr(text_get(&out), "  g: {op: pointwise, n: 1, c: 3, h: 48, w: 1, epilogue: [gelu]}\n"));
    text_free(&out);
    every_byte_another();
}

/* The scenario of two equal convolutions and what `more` adds to the graph, with equal layers as one. */
static void distinct(void (*more)(struct text *graph), struct text *out)
{
    struct text graph = {0};
    struct error err = {0};
    int unknown;
    model.len = 0;
    constant(&graph, "w", 4, (const int[]){4, 4, 3, 3}, 1, 0);
    value(&graph, 11, "x", (const int[]){1, 4, 9, 9});
    value(&graph, 12, "y", NULL);
    node(&graph, "Conv", "x w", "a", "pads 1 1 1 1");
    node(&graph, "Conv", "a w", "b", "pads 1 1 1 1");
    more(&graph);
    finish(&graph, 13);
    if (!onnx_scenario("m.onnx", model.data, model.len, &(struct onnx_options){.name = "m", .distinct = true}, out, &unknown, &err))
        fail_msg("%s", err.text);
}

static void three_and_joins(struct text *graph)
{
    node(graph, "Conv", "b w", "c", "pads 1 1 1 1");
    node(graph, "Concat", "c a", "d", "");
    node(graph, "Concat", "d b", "y", "");
}

static void a_first_read_again(struct text *graph)
{
    node(graph, "Concat", "b a", "c", "");
    node(graph, "MaxPool", "c", "d", "kernel_shape 2 2");
    node(graph, "Einsum", "d", "e", "");
}

/* Of equal layers the first stands for all, but not where its earlier run is still read by name. */
static void equal_layers_are_one(void **state)
{
    SCOPED_TEXT joined = {0}, read = {0};
    distinct(three_and_joins, &joined);
    const char *order = strstr(text_get(&joined), "network:");
    assert_non_null(strstr(order, "    - a\n    - b\n    - c\n    - {layer: d, with: a}\n    - {layer: y, with: b}\n"));
    scenario_free(loaded(text_get(&joined)));
    distinct(a_first_read_again, &read);
    assert_null(strstr(text_get(&read), "repeat")); /* `a` is read behind `b` */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layers_of_nodes),     cmocka_unit_test(damaged_models),      cmocka_unit_test(unknown_nodes),
        cmocka_unit_test(values_out_of_order), cmocka_unit_test(sums_of_several),     cmocka_unit_test(sums_and_joins),
        cmocka_unit_test(readers_of_views),    cmocka_unit_test(no_weights),          cmocka_unit_test(weights_of_nodes),
        cmocka_unit_test(weights_elsewhere),   cmocka_unit_test(channels_move),       cmocka_unit_test(axes_are_views),
        cmocka_unit_test(patterns_are_layers), cmocka_unit_test(products_of_tensors), cmocka_unit_test(equal_layers_are_one)};
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    text_free(&model);
    return failed;
}
