/* plan/scenario/onnx: models become scenarios; damaged ones one error. The models are written here, field by field. */
#include "scenario_text.h"
#include "plan/scenario/onnx.h"

static struct text model;

static void number(struct text *t, uint64_t v)
{
    for (; v > 127; v >>= 7)
        text_add_bytes(t, (char[]){(char)(v | 128)}, 1);
    text_add_bytes(t, (char[]){(char)v}, 1);
}
static void whole(struct text *t, int field, uint64_t v)
{
    number(t, (uint64_t)field << 3);
    number(t, v);
}
static void bytes(struct text *t, int field, const void *data, size_t count)
{
    number(t, (uint64_t)field << 3 | 2);
    number(t, count);
    text_add_bytes(t, data, count);
}
static void word(struct text *t, int field, const char *s)
{
    bytes(t, field, s, strlen(s));
}
static void part(struct text *t, int field, struct text *inner)
{
    bytes(t, field, inner->len ? inner->data : "", inner->len);
    text_free(inner);
}

/* Inputs and outputs are words with blanks between; `ints`: an attribute "name 3 3". */
static void node(struct text *graph, const char *op, const char *inputs, const char *output, const char *ints)
{
    struct text n = {0}, a = {0};
    char copy[128], *save, *next;
    snprintf(copy, sizeof copy, "%s", inputs);
    for (next = strtok_r(copy, " ", &save); next; next = strtok_r(NULL, " ", &save))
        word(&n, 1, next);
    word(&n, 2, output);
    word(&n, 3, output);
    word(&n, 4, op);
    snprintf(copy, sizeof copy, "%s", ints);
    if ((next = strtok_r(copy, " ", &save))) {
        word(&a, 1, next);
        while ((next = strtok_r(NULL, " ", &save)))
            whole(&a, 8, (uint64_t)strtoll(next, NULL, 10));
        part(&n, 5, &a);
    }
    part(graph, 1, &n);
}

/* A constant of ones, float, whose values are one number more or less than its sizes say. */
static void constant(struct text *graph, const char *name, int rank, const int *dim, float value, int more)
{
    struct text t = {0}, values = {0};
    int count = 1;
    for (int i = 0; i < rank; i++) {
        whole(&t, 1, (uint64_t)dim[i]);
        count *= dim[i];
    }
    for (int i = 0; i < count + more; i++)
        text_add_bytes(&values, (const char *)&value, sizeof value);
    whole(&t, 2, 1);
    word(&t, 8, name);
    part(&t, 9, &values);
    part(graph, 5, &t);
}

static void value(struct text *graph, int field, const char *name, const int dim[4])
{
    struct text v = {0}, type = {0}, tensor = {0}, shape = {0};
    for (int i = 0; dim && i < 4; i++) {
        struct text d = {0};
        if (dim[i])
            whole(&d, 1, (uint64_t)dim[i]);
        part(&shape, 1, &d);
    }
    whole(&tensor, 1, 1);
    part(&tensor, 2, &shape);
    part(&type, 1, &tensor);
    word(&v, 1, name);
    part(&v, 2, &type);
    part(graph, field, &v);
}

/* conv 1x7 with pads of its own, batch normalisation, relu; another branch; scaled and added; pixels rearranged. */
static void make(int opset, int more, int height)
{
    struct text graph = {0}, set = {0};
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
    part(&model, 7, &graph);
    whole(&set, 2, (uint64_t)opset);
    part(&model, 8, &set);
}

static bool imported(struct text *out, int *unknown, struct error *err)
{
    *err = (struct error){0};
    return onnx_scenario("m.onnx", model.data, model.len, "m", NULL, out, unknown, err);
}

static void layers_of_nodes(void **state)
{
    struct text out = {0};
    struct error err;
    int unknown = -1;
    make(17, 0, 10);
    if (!imported(&out, &unknown, &err))
        fail_msg("%s", err.text);
    static const char *const wanted[] = {
        "  a: {op: conv2d, n: 1, c: 3, h: 10, w: 12, k: 8, kernel: [1, 7], pad: [0, 3], epilogue: [bias, relu]}\n",
        "  c: {op: conv2d, n: 1, c: 8, h: 10, w: 12, k: 8, kernel: 3, pad: [0, 0, 1, 1], epilogue: [bias, {residual: 0.1}]}\n",
        "  m: {op: pool_max, n: 1, c: 8, h: 9, w: 11, kernel: 2}\n", "    - {layer: c, input: a, residual: b}\n",
        "    - {layer: y, with: m}\n"};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        if (!strstr(text_get(&out), wanted[i]))
            fail_msg("'%s' is not in\n%s", wanted[i], text_get(&out));
    assert_int_equal(unknown, 0);
    scenario_free(loaded(text_get(&out)));
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

static void damaged_models(void **state)
{
    make(17, 1, 10);
    refused("a tensor has other bytes than its sizes say");
    make(6, 0, 10);
    refused("opset 6; 7 to 22 are supported");
    make(17, 0, 0);
    refused("the input 'x' has open sizes");
    make(17, 0, 10);
    size_t all = model.len;
    for (size_t length = 0; length < all; length++) { /* every way to break off */
        model.len = length;
        refused("m.onnx");
    }
    model.len = all;
    SCOPED char *whole_one = xstrndup("", 0);
    whole_one = xrealloc(whole_one, all);
    memcpy(whole_one, model.data, all);
    for (size_t at = 0; at < all; at++) /* every byte another one: an error, or a scenario that may be read */
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

/* What no op computes is named, and the rest is there. */
static void unknown_nodes(void **state)
{
    struct text out = {0}, graph = {0}, set = {0};
    struct error err;
    int unknown;
    const int square[] = {4, 4, 3, 3};
    model.len = 0;
    constant(&graph, "w", 4, square, 1, 0);
    value(&graph, 11, "x", (const int[]){1, 4, 9, 9});
    value(&graph, 12, "y", NULL);
    node(&graph, "Conv", "x w", "a", "");
    node(&graph, "Einsum", "a", "e", "");
    node(&graph, "Conv", "e w", "y", "");
    value(&graph, 13, "e", (const int[]){1, 4, 7, 7});
    part(&model, 7, &graph);
    whole(&set, 2, 13);
    part(&model, 8, &set);
    if (!imported(&out, &unknown, &err))
        fail_msg("%s", err.text);
    assert_int_equal(unknown, 1);
    assert_non_null(strstr(text_get(&out), "# not imported: Einsum 'e': there is no op for it\n"));
    assert_non_null(strstr(text_get(&out), "  y: {op: conv2d, n: 1, c: 4, h: 7, w: 7, k: 4, kernel: 3}\n"));
    assert_null(strstr(text_get(&out), "network:"));
    text_free(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(layers_of_nodes), cmocka_unit_test(damaged_models),
                                       cmocka_unit_test(unknown_nodes)};
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    text_free(&model);
    return failed;
}
