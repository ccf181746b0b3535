/* op/chain/file: a network with a layer whose op is a file, against a reference of the test: where the layer's values are, and how errors
 * propagate.
 */
#include "op/shape.h"
#include "op/chain/chain.h"
#include "op/reference/data.h"
#include "scenario_text.h"
#include <math.h>

static const char text[] = "scenario: t\n"
                           "defaults: {n: 2, h: 3, w: 4, op: conv2d, kernel: 1, layout: NHWC, dtype: f16}\n"
                           "layers:\n"
                           "  mix: {c: 5, k: 6, epilogue: [bias]}\n"
                           "  norm: {op: rmsnorm, rows: 24, cols: 6}\n"
                           "  last: {c: 6, k: 2}\n"
                           "networks: {ends: {order: [mix, norm]}, goes_on: {order: [mix, norm, last]}}\n"
                           "variants: [conv2d/naive]\n";

/* Instead of a norm: each row times a factor, its columns in turn. */
struct made {
    double factor;
    int calls;
    bool gains; /* every call had them */
};

static bool make_rows(void *context, const struct work *work, struct op_data *data, struct error *err)
{
    struct made *m = context;
    struct tensor in, out, gain;
    assert_true(work_tensor(work, "input", &in) && work_tensor(work, "output", &out) && work_tensor(work, "gain", &gain));
    struct op_values *y = &data->at[out.role->slot];
    const float *x = data->at[in.role->slot].value;
    m->gains &= data->at[gain.role->slot].value != NULL && data->at[gain.role->slot].value[5] != 0;
    y->elements = 24 * 6;
    y->reference = malloc(y->elements * sizeof *y->reference);
    for (int r = 0; r < 24; r++)
        for (int c = 0; c < 6; c++)
            y->reference[r * 6 + c] = m->factor * (double)x[r * 6 + (c + 1) % 6];
    m->calls++;
    return true;
}

static void run(const struct scenario *s, int network, struct made *m, struct op_data *d, struct chain *c)
{
    struct error err = {0};
    struct work w;
    bool cropped;
    struct chain_maker maker = {make_rows, m};
    m->gains = true;
    if (!scenario_chain(s, &s->networks[network], "cuda", LAYOUT_PLAN_GIVEN, NULL, 0, c, &cropped, &err) || !chain_work(c, &w, &err))
        fail_msg("%s", err.text);
    assert_true(w.n == 2 && w.h == 3 && w.w == 4 && w.layout == LAYOUT_NHWC && w.to == LAYOUT_NONE && w.p == 3 && w.q == 4);
    assert_true(chain_data_make(&w, DATA_PART_PRECISION, &maker, d, &err));
}

/* The rows are the image's pixels and the columns its channels, whose order in the reference is n, c, h, w. */
static void rows_are_pixels(void **state)
{
    struct scenario *s = loaded(text);
    struct made m = {.factor = 3};
    struct op_data d;
    struct chain c;
    run(s, 0, &m, &d, &c);
    assert_true(m.gains);
    assert_int_equal(m.calls, 1 + CHAIN_PROBES);
    const float *x = d.at[SLOT_INPUT].value, *f = d.links[0].at[SLOT_FILTER].value, *b = d.links[0].at[SLOT_BIAS].value;
    for (int n = 0; n < 2; n++)
        for (int k = 0; k < 6; k++)
            for (int i = 0; i < 12; i++) {
                double sum = b[(k + 1) % 6];
                for (int e = 0; e < 5; e++)
                    sum += (double)x[(n * 5 + e) * 12 + i] * (double)f[(k + 1) % 6 * 5 + e];
                double got = d.at[SLOT_OUTPUT].reference[(n * 6 + k) * 12 + i];
                assert_true(fabs(got - 3 * sum) <= 1e-6 * (1 + fabs(sum)));
            }
    op_data_free(&d);
    chain_free(&c);
    scenario_free(s);
}

/* Three times the values have three times the errors; the channel's are those of the one it came from. */
static void errors_are_carried(void **state)
{
    struct scenario *s = loaded(text);
    struct made one = {.factor = 1}, three = {.factor = -3};
    struct op_data d, e;
    struct chain c, same;
    run(s, 0, &one, &d, &c);
    run(s, 0, &three, &e, &same);
    for (size_t i = 0; i < d.at[SLOT_OUTPUT].elements; i++) {
        double a = d.at[SLOT_OUTPUT].carried[i], b = e.at[SLOT_OUTPUT].carried[i];
        assert_true(a > 0 && fabs(b - 3 * a) < 1e-3 * b);
        assert_true(fabs(e.at[SLOT_OUTPUT].bound[i] - 3 * d.at[SLOT_OUTPUT].bound[i]) < 1e-3 * e.at[SLOT_OUTPUT].bound[i]);
        assert_true(a < 0.02 && a > 1e-5); /* f16: roundings of values around 1, times CHAIN_SPREAD */
    }
    op_data_free(&d);
    op_data_free(&e);
    chain_free(&c);
    chain_free(&same);
    run(s, 1, &one, &d, &c); /* through the convolution behind it */
    run(s, 1, &three, &e, &same);
    assert_int_equal(one.calls, 1 + CHAIN_PROBES + 2); /* a layer in the middle: once, and once more */
    assert_int_equal(d.at[SLOT_OUTPUT].elements, 2 * 2 * 12);
    for (size_t i = 0; i < d.at[SLOT_OUTPUT].elements; i++)
        assert_true(e.at[SLOT_OUTPUT].carried[i] > 2.5 * d.at[SLOT_OUTPUT].carried[i] &&
                    e.at[SLOT_OUTPUT].carried[i] < 3.5 * d.at[SLOT_OUTPUT].carried[i]);
    op_data_free(&d);
    op_data_free(&e);
    chain_free(&c);
    chain_free(&same);
    scenario_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(rows_are_pixels), cmocka_unit_test(errors_are_carried)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
