/* op/reference/degenerate: works that are no tasks, because a constant, or a kernel that never reads its inputs, would pass. */
#include "works.h"
#include "op/reference/data.h"
#include "op/file/ops.h"
#include <math.h>

static void constant_row(const struct work *w, const struct op_data *data, int64_t n, int64_t p, double *y, double *a)
{
    for (int64_t i = 0; i < w->k * w->q; i++) {
        y[i] = 0.5;
        if (a)
            a[i] = 1;
    }
}

/* Of the weights alone. */
static void blind_row(const struct work *w, const struct op_data *data, int64_t n, int64_t p, double *y, double *a)
{
    const struct op_values *filter = op_data_of(w->op, (struct op_data *)data, "filter");
    for (int64_t i = 0; i < w->k * w->q; i++) {
        y[i] = (double)filter->value[i / w->q];
        if (a)
            a[i] = 1;
    }
}

/* One number of all reads what it is given. */
static void one_sees(const struct work *w, const struct op_data *data, int64_t n, int64_t p, double *y, double *a)
{
    const struct op_values *input = op_data_of(w->op, (struct op_data *)data, "input");
    constant_row(w, data, n, p, y, a);
    y[0] = n || p ? 0.5 : (double)input->value[0];
}

/* Of the image's size: a constant as long as it is a small one. */
static void small_row(const struct work *w, const struct op_data *data, int64_t n, int64_t p, double *y, double *a)
{
    constant_row(w, data, n, p, y, a);
    if (w->n > 1 || w->h > 16 || w->w > 16 || w->c > 16 || w->k > 16)
        fail_msg("looked at on %d x %d x %d x %d", (int)w->n, (int)w->h, (int)w->w, (int)w->c);
}

/* Half a unit in the last place apart: 0.5 as f32 is either. */
static void one_rounding_row(const struct work *w, const struct op_data *data, int64_t n, int64_t p, double *y, double *a)
{
    for (int64_t i = 0; i < w->k * w->q; i++) {
        y[i] = 0.5 + (i % 2 ? 0x1p-27 : 0);
        if (a)
            a[i] = 0;
    }
}

/* Of one magnitude and two signs, by the place alone. */
static void signs_row(const struct work *w, const struct op_data *data, int64_t n, int64_t p, double *y, double *a)
{
    for (int64_t i = 0; i < w->k * w->q; i++) {
        y[i] = i % 2 ? 0.5 : -0.5;
        if (a)
            a[i] = 0;
    }
}

static const char *judged(struct work w)
{
    struct error err = {0};
    const char *why;
    finish(&w);
    if (!op_degenerate(&w, &why, &err))
        fail_msg("%s", err.text);
    return why;
}

static void no_tasks(void **state)
{
    struct op fake = *op_find("conv2d");
    struct work w = conv_work(8, 8, 20, 20, 3);
    assert_null(judged(w));
    fake.reference_row = constant_row;
    w.op = &fake;
    assert_string_equal(judged(w), "every output has the same value: a kernel that writes a constant would pass");
    fake.reference_row = blind_row;
    assert_string_equal(judged(w), "no output depends on the inputs: a kernel that never reads its inputs would pass");
    fake.reference_row = one_sees;
    assert_null(judged(w));
    fake.reference_row = one_rounding_row;
    w.dtype = DTYPE_F32;
    assert_string_equal(judged(w), "every output has the same value: a kernel that writes a constant would pass");
    fake.reference_row = signs_row;
    assert_string_equal(judged(w), "no output depends on the inputs: a kernel that never reads its inputs would pass");
    w.dtype = DTYPE_F16;
    fake.reference_row = small_row;
    w = conv_work(64, 64, 640, 720, 3);
    w.n = 4;
    w.op = &fake;
    assert_non_null(judged(w));
    fake.reference_row = constant_row;
    w = conv_work(4, 4, 310, 310, 3); /* a filter that no small image holds: nothing is looked at */
    w.dilation = 150;
    w.pad = 0;
    w.op = &fake;
    assert_null(judged(w));
}

/* Nothing that can be asked for here is one: also behind a ReLU, with masks, of one channel, of large filters and strides. */
static void tasks(void **state)
{
    struct work w = conv_work(1, 1, 8, 8, 3);
    assert_null(judged(w));
    add_item(&w, EPILOGUE_RELU);
    assert_null(judged(w));
    w = conv_work(3, 64, 720, 1280, 7);
    w.stride = 4;
    add_item(&w, EPILOGUE_BIAS);
    add_item(&w, EPILOGUE_RELU);
    w.data = DATA_RELU;
    assert_null(judged(w));
    w = conv_work(64, 64, 200, 200, 3);
    w.dilation = 12;
    w.pad = 12;
    w.mask = (struct mask){.pattern = MASK_EMPTY};
    assert_null(judged(w));
    w = conv_work(64, 64, 40, 40, 3);
    w.groups = 8;
    add_item(&w, EPILOGUE_DEPTH_TO_SPACE);
    assert_null(judged(w));
    w = conv_work(4, 4, 310, 310, 3); /* no small image holds its filter: nothing is looked at */
    w.dilation = 150;
    w.pad = 0;
    assert_null(judged(w));
    static const char *const moves[] = {"depth_to_space", "upsample", "layout"};
    for (size_t i = 0; i < sizeof moves / sizeof *moves; i++) {
        w = simple_work(moves[i], 12, 20, 20);
        w.block = 2;
        w.mode = D2S_CRD;
        w.to = LAYOUT_NCHW;
        assert_null(judged(w));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(no_tasks), cmocka_unit_test(tasks)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
