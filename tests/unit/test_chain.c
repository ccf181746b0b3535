/* op/chain, scenario/chain, op/compose: a network run whole, against loops written here and counts done by hand. */
#include "op/shape.h"
#include "op/chain/compose.h"
#include "op/mask/min_work.h"
#include "op/reference/data.h"
#include "scenario_text.h"
#include "small_network.h"
#include "plan/rows/choose.h"
#include "plan/rows/plan.h"
#include <math.h>
static struct scenario *load(const char *text)
{
    struct error err = {0};
    char *path = text_file(text);
    struct scenario *s = scenario_load(path, &err);
    if (!s)
        fail_msg("%s", err.text);
    unlink(path);
    free(path);
    return s;
}

static void make(const struct scenario *s, enum layout_plan plan, struct chain *chain, struct work *work)
{
    struct error err = {0};
    bool cropped;
    if (!scenario_chain(s, &s->networks[0], "cuda", plan, NULL, 0, chain, &cropped, &err) || !chain_work(chain, work, &err))
        fail_msg("%s", err.text);
    assert_false(cropped);
}

/* EDSR in small: the residual of a block is what entered the block, that of the last body convolution the head's output. */
static void residuals_are_those_of_edsr(void **state)
{
    struct scenario *s = load(small);
    struct chain c;
    struct work w;
    make(s, LAYOUT_PLAN_GIVEN, &c, &w);
    assert_int_equal(c.count, 7);
    static const int inputs[] = {-1, 0, 1, 2, 3, 4, 5}, residuals[] = {-2, -2, 0, -2, 2, 0, -2};
    for (int i = 0; i < 7; i++) {
        assert_int_equal(c.links[i].input, inputs[i]);
        assert_int_equal(c.links[i].residual, residuals[i]);
        assert_int_equal(c.links[i].layer, i);
    }
    assert_true(w.k == 2 && w.p == 12 && w.q == 10 && w.n == 2 && w.c == 3);
    struct min_work whole, one; /* what all of them cannot do without is what each cannot */
    double direct = 0, winograd = 0;
    min_work_of(&w, NULL, NULL, &whole);
    for (int i = 0; i < 7; i++) {
        min_work_of(&c.links[i].work, NULL, NULL, &one);
        direct += one.direct;
        winograd += one.winograd;
    }
    assert_true(direct > 0 && whole.direct == direct && whole.winograd == winograd);
    chain_free(&c);
    scenario_free(s);
}

static int conversions(const struct chain *c)
{
    int count = 0;
    for (int i = 0; i < c->count; i++)
        count += c->links[i].layer < 0;
    return count;
}

static void layout_plans_convert_where_they_say(void **state)
{
    struct scenario *s = load(small);
    /* per op: seven layers in and out, and three residuals */
    static const int wanted[] = {0, 0, 0, 7 + 7 + 3, 2};
    for (int plan = 0; plan < LAYOUT_PLAN_COUNT; plan++) {
        struct chain c;
        struct work w;
        make(s, (enum layout_plan)plan, &c, &w);
        assert_int_equal(conversions(&c), wanted[plan]);
        enum layout ends = plan == LAYOUT_PLAN_NHWC ? LAYOUT_NHWC : LAYOUT_NCHW;
        assert_int_equal(w.layout, ends);
        assert_int_equal(w.to, LAYOUT_NONE);
        for (int i = 0; i < c.count; i++)
            if (c.links[i].layer >= 0)
                assert_int_equal(c.links[i].work.layout, plan == LAYOUT_PLAN_GIVEN || plan == LAYOUT_PLAN_NCHW ? LAYOUT_NCHW : LAYOUT_NHWC);
        chain_free(&c);
    }
    scenario_free(s);
}

/* One convolution as loops: x[n][c][h][w], w[k][c][3][3]. */
static double *convolve(const double *x, const float *f, const float *bias, int n, int c, int h, int w, int k)
{
    double *y = calloc((size_t)(n * k * h * w), sizeof *y);
    for (int i = 0; i < n; i++)
        for (int o = 0; o < k; o++)
            for (int p = 0; p < h; p++)
                for (int q = 0; q < w; q++) {
                    double sum = bias[o];
                    for (int d = 0; d < c; d++)
                        for (int r = 0; r < 9; r++) {
                            int yy = p + r / 3 - 1, xx = q + r % 3 - 1;
                            if (yy >= 0 && yy < h && xx >= 0 && xx < w)
                                sum += x[((i * c + d) * h + yy) * w + xx] * (double)f[(o * c + d) * 9 + r];
                        }
                    y[((i * k + o) * h + p) * w + q] = sum;
                }
    return y;
}

static double *step(const struct op_data *d, int run, double *x, int c, int k, bool relu, const double *residual)
{
    double *y = convolve(x, d->links[run].at[SLOT_FILTER].value, d->links[run].at[SLOT_BIAS].value, 2, c, 6, 5, k);
    for (int i = 0; i < 2 * k * 30; i++) {
        y[i] = relu && y[i] < 0 ? 0 : y[i];
        y[i] += residual ? residual[i] : 0;
    }
    return y;
}

static void reference_is_the_net_in_double(void **state)
{
    struct scenario *s = load(small);
    struct chain c, per_op;
    struct work w, other;
    struct op_data d, same;
    struct error err = {0};
    double *v[8];
    make(s, LAYOUT_PLAN_GIVEN, &c, &w);
    assert_true(op_data_make(&w, DATA_PART_PRECISION, &d, &err));
    assert_false(d.exact);
    v[0] = calloc(180, sizeof(double));
    for (int i = 0; i < 180; i++)
        v[0][i] = (double)d.at[SLOT_INPUT].value[i];
    v[1] = step(&d, 0, v[0], 3, 8, false, NULL);
    v[2] = step(&d, 1, v[1], 8, 8, true, NULL);
    v[3] = step(&d, 2, v[2], 8, 8, false, v[1]);
    v[4] = step(&d, 3, v[3], 8, 8, true, NULL);
    v[5] = step(&d, 4, v[4], 8, 8, false, v[3]);
    v[6] = step(&d, 5, v[5], 8, 8, false, v[1]);
    v[7] = step(&d, 6, v[6], 8, 8, false, NULL);
    assert_int_equal(d.at[SLOT_OUTPUT].elements, 2 * 2 * 12 * 10);
    double squares = 0;
    for (int n = 0; n < 2; n++)
        for (int ch = 0; ch < 2; ch++)
            for (int y = 0; y < 12; y++)
                for (int x = 0; x < 10; x++) {
                    double want = v[7][((n * 8 + ch * 4 + y % 2 * 2 + x % 2) * 6 + y / 2) * 5 + x / 2];
                    double got = d.at[SLOT_OUTPUT].reference[((n * 2 + ch) * 12 + y) * 10 + x];
                    assert_true(fabs(got - want) <= 1e-13 * (1 + fabs(want)));
                    squares += got * got;
                }
    squares /= (double)d.at[SLOT_OUTPUT].elements;
    assert_true(squares > 0.1 && squares < 10); /* activations keep their size */
    /* another layout plan has the same values */
    make(s, LAYOUT_PLAN_PER_OP, &per_op, &other);
    assert_true(op_data_make(&other, DATA_PART_PRECISION, &same, &err));
    for (size_t i = 0; i < d.at[SLOT_OUTPUT].elements; i++)
        assert_true(same.at[SLOT_OUTPUT].reference[i] == d.at[SLOT_OUTPUT].reference[i]);
    op_data_free(&same);
    w.set_seed = 5; /* another set of inputs: another input, the same weights */
    assert_true(op_data_make(&w, DATA_PART_PRECISION, &same, &err));
    int others = 0, weights = 0;
    for (int i = 0; i < 180; i++)
        others += same.at[SLOT_INPUT].value[i] != d.at[SLOT_INPUT].value[i];
    for (int i = 0; i < 8 * 8 * 9; i++)
        weights += same.links[1].at[SLOT_FILTER].value[i] != d.links[1].at[SLOT_FILTER].value[i];
    assert_true(others > 170 && !weights);
    assert_true(same.at[SLOT_OUTPUT].reference[0] != d.at[SLOT_OUTPUT].reference[0]);
    for (int i = 0; i < 8; i++)
        free(v[i]);
    op_data_free(&d);
    op_data_free(&same);
    chain_free(&c);
    chain_free(&per_op);
    scenario_free(s);
}

/* 1, 4, 16 blocks in f16: the tolerance grows about as the square root of the depth, and stays far below the values. */
static void tolerance_grows_with_depth(void **state)
{
    double last = 0;
    for (int blocks = 1; blocks <= 16; blocks *= 4) {
        char text[1024];
        snprintf(text, sizeof text,
                 "scenario: t\ndefaults: {n: 1, h: 8, w: 8, kernel: 3, pad: 1, op: conv2d, dtype: f16, c: 16, k: 16}\n"
                 "layers: {a: {epilogue: [bias, relu]}, b: {epilogue: [bias, residual]}}\n"
                 "network: {order: [{repeat: %d, of: [a, b]}]}\nvariants: [conv2d/naive]\n",
                 blocks);
        struct scenario *s = load(text);
        struct chain c;
        struct work w;
        struct op_data d;
        struct error err = {0};
        make(s, LAYOUT_PLAN_GIVEN, &c, &w);
        assert_true(op_data_make(&w, DATA_PART_PRECISION, &d, &err));
        double tolerance = 0, size = 0;
        for (size_t i = 0; i < d.at[SLOT_OUTPUT].elements; i++) {
            tolerance += (double)(d.at[SLOT_OUTPUT].bound[i] + d.at[SLOT_OUTPUT].carried[i]) / (double)d.at[SLOT_OUTPUT].elements;
            size += fabs(d.at[SLOT_OUTPUT].reference[i]) / (double)d.at[SLOT_OUTPUT].elements;
        }
        assert_true(tolerance > last * 1.2 && (last == 0 || tolerance < last * 6));
        assert_true(tolerance < 0.03 * size);
        last = tolerance;
        op_data_free(&d);
        chain_free(&c);
        scenario_free(s);
    }
}

/* The chain as a program: weights have buffers of their own, activations share four (the skips of the block and of the whole body live
 * while two others are used). */
static void programs_are_joined(void **state)
{
    char *path = text_file(small), why[256];
    struct plan_options options = {.scenario_path = path};
    struct error err = {0};
    struct plan plan;
    int chains = 0;
    if (!plan_make(&options, "emu", chip_find("GH100"), &plan, &err))
        fail_msg("%s", err.text);
    for (int i = 0; i < plan.row_count; i++) {
        const struct chain_row *row = plan.rows[i].chain;
        if (!row || row->pick != CHAIN_SINGLE || row->layout != LAYOUT_PLAN_GIVEN)
            continue;
        chains++;
        int *choice = choose_links(&plan, i, NULL, why, sizeof why);
        assert_non_null(choice);
        assert_true(plan_chain_bind(&plan, i, choice, &err));
        const struct program *p = plan_program(&plan, i);
        assert_true(p->feasible);
        assert_int_equal(p->constant_count, 14);
        int activations = 0;
        for (int k = 0; k < p->scratch_count; k++)
            activations += !strncmp(p->scratch[k].name, "activations", 11);
        assert_int_equal(activations, 4);
        int between = 0; /* convolution and what follows it, four times, one after another */
        for (int k = 0; k < p->scratch_count; k++)
            between += !strncmp(p->scratch[k].name, "between", 7);
        assert_int_equal(between, 1);
        assert_true(p->unit_count <= 5); /* of 11 kernels: equal ones are compiled and loaded once */
        free(choice);
    }
    assert_int_equal(chains, 2);
    plan_free(&plan);
    unlink(path);
    free(path);
}

/* A dense block: each concat reads an earlier output beside the new one, or what the group was given. */
static void concat_reads_two(void **state)
{
    struct scenario *s =
        load("scenario: t\ndefaults: {n: 2, h: 6, w: 5, kernel: 3, pad: 1, op: conv2d}\n"
             "layers: {a: {c: 3, k: 8}, j: {op: concat, c: 8, k: 11}, b: {c: 11, k: 8}, l: {op: concat, c: 11, k: 19}}\n"
             "network: {order: [a, {layer: j, with: input}, b, {layer: l, input: j, with: a}]}\nvariants: [conv2d/naive]\n");
    struct chain c;
    struct work w;
    struct op_data d;
    struct error err = {0};
    make(s, LAYOUT_PLAN_GIVEN, &c, &w);
    static const int inputs[] = {-1, 0, 1, 1}, seconds[] = {-2, -1, -2, 0};
    for (int i = 0; i < 4; i++)
        assert_true(c.links[i].input == inputs[i] && c.links[i].residual == seconds[i]);
    assert_true(w.k == 19 && op_data_make(&w, DATA_PART_PRECISION, &d, &err));
    const double *y = d.at[SLOT_OUTPUT].reference; /* a, the input, a again */
    for (int64_t i = 0; i < 2 * 30; i++) {
        const double *pixel = y + i / 30 * 19 * 30 + i % 30;
        for (int64_t k = 0; k < 8; k++)
            assert_true(pixel[k * 30] == pixel[(11 + k) * 30]);
        for (int64_t k = 0; k < 3; k++)
            assert_true(pixel[(8 + k) * 30] == (double)d.at[SLOT_INPUT].value[(i / 30 * 3 + k) * 30 + i % 30]);
    }
    op_data_free(&d);
    chain_free(&c);
    scenario_free(s);
}

/* The first layer may add the network's input, or read it twice. */
static void first_reads_input_twice(void **state)
{
    static const char *const layers[] = {
        "a: {c: 8, k: 8, epilogue: [residual]}, b: {c: 8, k: 8}}\nnetwork: {order: [{layer: a, residual: input}, b]}",
        "a: {op: mul, c: 8}, b: {c: 8, k: 8}}\nnetwork: {order: [{layer: a, with: input}, b]}"};
    for (int i = 0; i < 2; i++) {
        SCOPED char *text = text_format("scenario: t\ndefaults: {n: 2, h: 6, w: 5, kernel: 3, pad: 1, op: conv2d}\nlayers: {%s\n"
                                        "variants: [conv2d/naive]\n",
                                        layers[i]);
        struct scenario *s = load(text);
        struct chain c;
        struct work w;
        make(s, LAYOUT_PLAN_GIVEN, &c, &w);
        assert_true(c.links[0].input == CHAIN_INPUT && c.links[0].residual == CHAIN_INPUT && c.links[1].input == 0);
        chain_free(&c);
        scenario_free(s);
    }
}

/* By the scenario when it is read, or by the chain when it is made: a residual of a layer that never ran is the scenario's. */
static void refused(const char *order, const char *want)
{
    char *text = text_format("scenario: t\ndefaults: {n: 1, h: 6, w: 5, kernel: 3, pad: 1, op: conv2d}\n"
                             "layers: {a: {c: 3, k: 8}, b: {c: 8, k: 8, epilogue: [residual]}, d: {c: 8, k: 3}}\n"
                             "network: {order: %s}\nvariants: [conv2d/naive]\n",
                             order);
    struct error err = {0};
    char *path = text_file(text);
    struct scenario *s = scenario_load(path, &err);
    struct chain c;
    bool cropped;
    if (s)
        assert_false(scenario_chain(s, &s->networks[0], "cuda", LAYOUT_PLAN_GIVEN, NULL, 0, &c, &cropped, &err));
    if (!strstr(err.text, want))
        fail_msg("'%s' is not said: %s", want, err.text);
    scenario_free(s);
    unlink(path);
    free(path);
    free(text);
}

static void what_cannot_run_whole_says_why(void **state)
{
    refused("[a, {layer: b, residual: d}]", "which has not run before it");
    refused("[a, d, a, {layer: b, residual: d}]", "but 'd' outputs 1x3x6x5");
    refused("[{repeat: 2000, of: [a, d]}]", "more than 2000 layer runs");
    refused("[a, {layer: d, with: a}]", "layer 'd' has no second tensor");
    refused("[a, {layer: d, input: b}]", "'d' reads the output of 'b', which has not run before it");
    refused("[a, d, {layer: d, input: d}]", "outputs 1x3x6x5 f32 NCHW, but 'd' takes 1x8x6x5");
}

/* A part keeps its own skips; what others read from inside, or what comes from two tensors outside, is none. */
static void parts_are_chains(void **state)
{
    struct scenario *s = load(small);
    struct chain c, part;
    struct work w, own;
    struct op_data d;
    struct error err = {0};
    make(s, LAYOUT_PLAN_NHWC, &c, &w);
    assert_true(chain_part(&c, 1, 5, &part)); /* both blocks and the last body convolution: all read the head's output or their own */
    static const int inputs[] = {-1, 0, 1, 2, 3}, residuals[] = {-2, -1, -2, 1, -1};
    for (int i = 0; i < 5; i++) {
        assert_int_equal(part.links[i].input, inputs[i]);
        assert_int_equal(part.links[i].residual, residuals[i]);
    }
    assert_true(chain_work(&part, &own, &err));
    assert_true(own.runs == 5 && own.width == 8 && own.straight == 1 && own.back == 2 && own.plain == 1 && own.r == 3 && own.stride == 1);
    assert_true(op_data_make(&w, DATA_PART_PRECISION, &d, &err));
    float *links = chain_constant(&c, 1, 5, &d, op_role(w.op, "links"), 5 * CHAIN_COLUMNS),
          *bias = chain_constant(&c, 1, 5, &d, op_role(w.op, "bias"), 40),
          *filter = chain_constant(&c, 1, 5, &d, op_role(w.op, "filter"), 5 * 576);
    assert_true(links[0] == 8 && links[2] == 0 && links[3] == -1 && links[4] == 0); /* b1: reads the input, adds nothing, relu */
    assert_true(links[3 * CHAIN_COLUMNS + 2] == 3 && links[3 * CHAIN_COLUMNS + 3] == 2 && links[3 * CHAIN_COLUMNS + 4] == 1 &&
                links[3 * CHAIN_COLUMNS + 5] == 3 * 576 && links[3 * CHAIN_COLUMNS + 6] == 24);
    assert_true(links[4 * CHAIN_COLUMNS + 3] == 0); /* the long skip */
    assert_memory_equal(bias + 24, d.links[4].at[SLOT_BIAS].value, 8 * sizeof(float));
    assert_memory_equal(filter + 4 * 576, d.links[5].at[SLOT_FILTER].value, 576 * sizeof(float));
    chain_free(&part);
    assert_false(chain_part(&c, 0, 5, &part)); /* the last body convolution reads the head, which is inside */
    assert_false(chain_part(&c, 3, 3, &part)); /* and the head and the first block are two tensors */
    chain_work(&c, &own, &err);
    assert_true(own.width == 0 && own.plain == 0 && own.back == 5);
    free(links);
    free(bias);
    free(filter);
    op_data_free(&d);
    chain_free(&c);
    scenario_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(residuals_are_those_of_edsr),
        cmocka_unit_test(layout_plans_convert_where_they_say),
        cmocka_unit_test(reference_is_the_net_in_double),
        cmocka_unit_test(tolerance_grows_with_depth),
        cmocka_unit_test(programs_are_joined),
        cmocka_unit_test(parts_are_chains),
        cmocka_unit_test(concat_reads_two),
        cmocka_unit_test(first_reads_input_twice),
        cmocka_unit_test(what_cannot_run_whole_says_why),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
