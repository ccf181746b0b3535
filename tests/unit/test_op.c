/* op/: shapes, refusals, FLOP and bytes. Expected values (speed of light, depth_to_space) were worked out from the layer shapes alone,
 * without this code. */
#include "works.h"
#include "op/shape.h"
#include "op/reference/data.h"
#include "op/file/ops.h"

static struct work layer(int64_t c, int64_t k, int64_t h, int64_t w, enum dtype t)
{
    struct work x = conv_work(c, k, h, w, 3);
    x.dtype = t;
    finish(&x);
    return x;
}

static void near(double got, double want, double half_of_last_digit)
{
    if (!(fabs(got - want) <= half_of_last_digit))
        fail_msg("%.9g, want %.9g", got, want);
}

static void test_published_flop_and_bytes(void **state)
{
    const struct {
        int64_t c, k, h, w;
        double gflop, mb, gflop_half, mb_half;
    } table[] = {
        {64, 64, 720, 1280, 67.95, 236, 0.005, 0.5}, {3, 64, 720, 1280, 3.19, 123.5, 0.006, 0.07},
        {64, 128, 720, 1280, 135.9, 354, 0.05, 0.5}, {32, 64, 1440, 2560, 135.9, 708, 0.05, 0.5},
        {16, 3, 2880, 5120, 12.74, 560, 0.005, 0.7}, {64, 256, 720, 1280, 271.8, 590, 0.05, 0.5},
        {64, 3, 1440, 2560, 12.74, 494, 0.005, 0.5}, {64, 64, 48, 48, 0.17, 0.7, 0.005, 0.05},
        {256, 256, 48, 48, 2.72, 3.5, 0.005, 0.05},  {64, 64, 339, 510, 12.75, 44, 0.005, 0.5},
        {256, 256, 339, 510, 204, 178, 0.5, 0.5},    {256, 1024, 339, 510, 816, 447, 0.5, 0.5},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct work w = layer(table[i].c, table[i].k, table[i].h, table[i].w, DTYPE_F16);
        near(work_flop(&w) / 1e9, table[i].gflop, table[i].gflop_half);
        near(work_bytes(&w) / 1e6, table[i].mb, table[i].mb_half);
        struct work twice = layer(table[i].c, table[i].k, table[i].h, table[i].w, DTYPE_F32);
        near(work_bytes(&twice), 2 * work_bytes(&w), 0);
        assert_true(work_flop(&w) == work_flop(&twice));
    }
    struct work batch = conv_work(64, 64, 48, 48, 3);
    batch.n = 16;
    finish(&batch);
    near(work_flop(&batch) / 1e9, 2.72, 0.005);
    near(work_bytes(&batch) / 1e6, 9.5, 0.05);
}

/* The listing of the depth_to_space thread: 627.5 GFLOP in nine convolutions; its movements. */
static void test_the_thread(void **state)
{
    double total = 0;
    const int64_t convs[][4] = {{3, 64, 720, 1280},  {64, 64, 720, 1280},  {64, 64, 720, 1280},  {64, 64, 720, 1280}, {64, 64, 720, 1280},
                                {64, 64, 720, 1280}, {64, 128, 720, 1280}, {32, 64, 1440, 2560}, {16, 3, 2880, 5120}};
    for (size_t i = 0; i < sizeof convs / sizeof *convs; i++) {
        struct work w = layer(convs[i][0], convs[i][1], convs[i][2], convs[i][3], DTYPE_F16);
        total += work_flop(&w);
    }
    near(total / 1e9, 627.5, 0.05);
    struct work d2s = simple_work("depth_to_space", 128, 720, 1280);
    d2s.block = 2;
    d2s.mode = D2S_CRD;
    finish(&d2s);
    near(work_bytes(&d2s) / 1e6, 472, 0.5); /* 236 + 236 */
    assert_true(work_flop(&d2s) == 0 && d2s.k == 32 && d2s.p == 1440 && d2s.q == 2560);
    struct work up = simple_work("upsample", 64, 720, 1280);
    up.block = 2;
    finish(&up);
    near(work_bytes(&up) / 1e6, 590, 0.5); /* 1 read, 4 writes */
    struct work move = simple_work("layout", 128, 720, 1280);
    move.to = LAYOUT_NCHW;
    finish(&move);
    near(work_bytes(&move) / 1e6, 472, 0.5);
}

static void test_conv_shapes(void **state)
{
    const struct { /* h, kernel, stride, pad, dilation -> p: by hand */
        int64_t h, kernel, stride, pad, dilation, p;
    } table[] = {{227, 11, 4, 0, 1, 55}, {224, 11, 4, 0, 1, 54}, {224, 7, 2, 3, 1, 112}, {6, 6, 1, 0, 1, 1}, {28, 5, 1, 2, 1, 28},
                 {56, 3, 2, 1, 1, 28},   {17, 3, 2, 0, 1, 8},    {10, 3, 1, 2, 2, 10},   {7, 4, 1, 0, 2, 1}, {1, 1, 3, 0, 1, 1}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct work w = conv_work(4, 4, table[i].h, table[i].h + 1, table[i].kernel);
        w.stride = table[i].stride, w.pad = table[i].pad, w.dilation = table[i].dilation;
        finish(&w);
        assert_int_equal(w.p, table[i].p);
        assert_true(w.q == w.p || w.q == w.p + 1);
    }
    struct work t =
        simple_work("conv_transpose2d", 8, 16, 20); /* PyTorch: 4x4 stride 2 pad 1 doubles; 9x9 stride 2 pad 4 with output_padding 1, too */
    t.k = 4, t.r = t.s = 4, t.stride = 2, t.pad = 1, t.dilation = t.groups = 1;
    finish(&t);
    assert_true(t.p == 32 && t.q == 40);
    t.r = t.s = 9, t.pad = 4, t.output_pad = 1;
    finish(&t);
    assert_true(t.p == 32 && t.q == 40);
    near(work_flop(&t), 2.0 * 16 * 20 * 8 * 4 * 81, 0);
}

static void test_refusals(void **state)
{
    struct work w = conv_work(4, 4, 3, 3, 5);
    w.pad = 0;
    refused(w, "the filter is larger than the padded input (dilation_y * (r - 1) = 4");
    w = conv_work(4, 4, 8, 8, 3), w.dilation = 9;
    refused(w, " = 18, dilation_y = 9");
    w = conv_work(6, 4, 8, 8, 3), w.groups = 4;
    refused(w, "cannot be divided into 4 groups");
    w = conv_work(4, 4, 8, 8, 3), w.stride = 0;
    refused(w, "stride = 0");
    w = conv_work(4, 0, 8, 8, 3);
    refused(w, "k = 0");
    w = conv_work(4, 4, 8, 8, 3), w.s = 0;
    refused(w, "filter width 0");
    w = conv_work(4, 4, -1, 8, 3);
    refused(w, "h = -1");
    w = conv_work(1 << 20, 1 << 20, 1 << 20, 1 << 20, 1);
    refused(w, "2^40");
    w = conv_work(1, 1, 46341, 46341, 3); /* 2,147,488,281: too many for a mask only */
    finish(&w);
    w.mask = (struct mask){.pattern = MASK_FULL, .density = 1};
    refused(w, "2^31 - 1");
    w = conv_work(1, 1, 46340, 46340, 3); /* just under */
    finish(&w);
    w = conv_work(4, 4, 8, 8, 3), w.dtype = DTYPE_U8;
    refused(w, "does not work on u8");
    w = conv_work(4, 4, 8, 8, 3), w.math = MATH_TF32;
    refused(w, "math tf32 works on f32, not on f16");
    w = conv_work(4, 4, 8, 8, 3), w.layout = LAYOUT_KCRS;
    refused(w, "layout KCRS");
    w = simple_work("depth_to_space", 6, 8, 8), w.block = 2, w.mode = D2S_DCR;
    refused(w, "the channels cannot be divided by block squared (c = 6, block = 2)");
    w = simple_work("depth_to_space", 8, 8, 8), w.block = 2;
    refused(w, "no mode");
    w = simple_work("layout", 8, 8, 8), w.to = LAYOUT_NHWC;
    refused(w, "source and result are the same (to = NHWC, layout = NHWC)");
    w = simple_work("pointwise", 8, 8, 8);
    refused(w, "its epilogue, which is empty");
    w = simple_work("upsample", 8, 8, 8);
    refused(w, "block = 0");
}

static void test_epilogue_refusals(void **state)
{
    struct work w = conv_work(4, 6, 8, 8, 3);
    add_item(&w, EPILOGUE_DEPTH_TO_SPACE);
    refused(w, "6 channels cannot be divided by block 2 squared");
    w.k = 8, w.epilogue[0].block = 0;
    refused(w, "block 0");
    w.epilogue[0].block = 2, w.epilogue[0].mode = D2S_NONE;
    refused(w, "no mode");
    w = conv_work(4, 4, 8, 8, 3);
    add_item(&w, EPILOGUE_BIAS), add_item(&w, EPILOGUE_RELU), add_item(&w, EPILOGUE_BIAS);
    refused(w, "lists bias twice");
    w = conv_work(4, 4, 8, 8, 3);
    add_item(&w, EPILOGUE_LEAKY_RELU);
    w.epilogue[0].alpha = NAN;
    refused(w, "not a finite number");
    w = conv_work(4, 4, 8, 8, 3);
    w.mask.pattern = MASK_IID, w.mask.density = 1.5;
    refused(w, "density 1.5");
    w.mask.density = NAN;
    refused(w, "density");
    w = simple_work("layout", 4, 8, 8), w.to = LAYOUT_NCHW, w.mask.pattern = MASK_FULL;
    refused(w, "takes no mask");
}

/* Each item sees the shape that those before it left. */
static void test_epilogue_tensors(void **state)
{
    struct work w = conv_work(16, 32, 10, 12, 3);
    struct tensor t;
    add_item(&w, EPILOGUE_DEPTH_TO_SPACE), add_item(&w, EPILOGUE_BIAS), add_item(&w, EPILOGUE_LAYOUT), add_item(&w, EPILOGUE_RESIDUAL);
    finish(&w);
    assert_true(work_tensor(&w, "bias", &t) && t.rank == 1 && t.dim[0] == 8 && t.dtype == DTYPE_F32 && t.layout == LAYOUT_LINEAR);
    assert_true(work_tensor(&w, "residual", &t) && t.dim[1] == 8 && t.dim[2] == 20 && t.dim[3] == 24 && t.layout == LAYOUT_NCHW);
    assert_true(work_tensor(&w, "output", &t) && t.dim[1] == 8 && t.dim[2] == 20 && t.layout == LAYOUT_NCHW && t.written);
    assert_true(work_tensor(&w, "filter", &t) && t.layout == LAYOUT_KRSC && t.dim[0] == 32 && t.dim[1] == 16);
    assert_false(work_tensor(&w, "mask_in", &t));
    w.op->raw_output(&w, &t);
    assert_true(t.dim[1] == 32 && t.dim[2] == 10 && t.layout == LAYOUT_NHWC);
    near(work_bytes(&w), 2.0 * (16 * 120 + 32 * 16 * 9 + 32 * 120 * 2) + 4 * 8, 0);
    struct work first = conv_work(16, 32, 10, 12, 3);
    add_item(&first, EPILOGUE_BIAS), add_item(&first, EPILOGUE_DEPTH_TO_SPACE);
    finish(&first);
    assert_true(work_tensor(&first, "bias", &t) && t.dim[0] == 32);
    first.mask.pattern = MASK_FULL;
    finish(&first);
    assert_true(work_tensor(&first, "mask_in", &t) && !t.written && work_tensor(&first, "mask_out", &t) && t.written);
    first.mask.marks_output = true;
    assert_false(work_tensor(&first, "mask_in", &t));
    assert_true(work_tensor(&first, "mask_out", &t) && !t.written);
}

static void described(const struct work *w, const char *want)
{
    struct text t = {0};
    work_describe(w, &t);
    assert_string_equal(text_get(&t), want);
    text_free(&t);
}

static void test_describe(void **state)
{
    struct work w = conv_work(64, 64, 720, 1280, 3);
    add_item(&w, EPILOGUE_BIAS), add_item(&w, EPILOGUE_RELU);
    finish(&w);
    described(&w, "conv2d 64->64 3x3 +bias+relu  1x720x1280 f16 acc32 NHWC");
    w = conv_work(3, 96, 227, 227, 11), w.stride = 4, w.pad = 0, w.dtype = DTYPE_F32, w.math = MATH_NONE, w.layout = LAYOUT_NCHW;
    finish(&w);
    described(&w, "conv2d 3->96 11x11 s4 p0  1x227x227 f32 NCHW");
    w = simple_work("depth_to_space", 128, 720, 1280), w.block = 2, w.mode = D2S_DCR;
    finish(&w);
    described(&w, "depth_to_space 128->32 x2 DCR  1x720x1280 f16 NHWC");
    w = simple_work("layout", 128, 720, 1280), w.to = LAYOUT_NCHW;
    finish(&w);
    described(&w, "layout 128  1x720x1280 f16 NHWC->NCHW");
}

/* Whatever changes the work changes the key; finishing again, or a field that the op ignores, does not. */
static void test_key(void **state)
{
    struct work base = conv_work(8, 8, 16, 16, 3);
    add_item(&base, EPILOGUE_LEAKY_RELU);
    base.mask = (struct mask){.pattern = MASK_BLOBS, .density = 0.1, .radius = 4, .seed = 1};
    finish(&base);
    char key[HASH_TEXT], other[HASH_TEXT];
    work_key(&base, key);
    struct work same = base;
    finish(&same);
    same.mask.path[0] = 'x'; /* blobs have no path */
    work_key(&same, other);
    assert_string_equal(key, other);
    struct work changed[16];
    for (int i = 0; i < 16; i++)
        changed[i] = base;
    changed[0].n = 2, changed[1].c = 16, changed[2].h = 17, changed[3].w = 17, changed[4].k = 4, changed[5].pad = 0,
    changed[6].dilation = 2, changed[7].groups = 2;
    changed[8].layout = LAYOUT_NCHW, changed[9].math = MATH_F16_ACC16, changed[10].epilogue[0].alpha = 0.2, changed[11].mask.density = 0.2,
    changed[12].mask.seed = 2;
    changed[13].mask.marks_output = true, changed[14].data = DATA_RELU, changed[15].seed = 2;
    for (int i = 0; i < 16; i++) {
        finish(&changed[i]);
        work_key(&changed[i], other);
        if (!strcmp(key, other))
            fail_msg("change %d does not change the key", i);
    }
}

static void test_tables(void **state)
{
    for (int i = 0; op_at(i); i++) {
        const struct op *op = op_at(i);
        assert_ptr_equal(op_find(op->name), op);
        assert_string_equal(op_names()[i], op->name);
        assert_true(strlen(op->about) > 40 && op->finish && op->tensors && (op->raw_output || op->file) && op->flop);
        assert_true(op->reference_row || op->file || !strcmp(op->name, "chain")); /* a chain has that of its links */
        for (const struct op_field *f = op->fields; f->name; f++)
            assert_true(f->what && f->what[0] && f->offset < sizeof(struct work));
        const char *const *names = work_symbol_names(op);
        struct work w = {.op = op, .n = 3};
        struct value v;
        for (int s = 0; names[s]; s++)
            assert_true(work_symbol(&w, names[s], &v));
        assert_true(op->file || (work_symbol(&w, "n", &v) && v.kind == VALUE_INT && v.i == 3));
        assert_false(work_symbol(&w, "nonsense", &v));
    }
    assert_null(op_find("conv4d"));
    assert_null(op_find(NULL));
    struct work w = conv_work(4, 4, 8, 8, 3);
    finish(&w);
    struct value v;
    assert_true(work_symbol(&w, "math", &v) && v.kind == VALUE_TEXT && !strcmp(v.text, "f16_acc32"));
    assert_true(work_symbol(&w, "layout", &v) && !strcmp(v.text, "NHWC"));
}

/* i8: whole numbers over most of the range, a result in f32 that is the 32-bit sum, and a bound that one unit in the sum breaks. */
static void test_eight_bits(void **state)
{
    struct work w = conv_work(64, 5, 7, 9, 3);
    struct tensor list[OP_MAX_TENSORS];
    struct op_data data;
    struct error err = {0};
    w.dtype = DTYPE_I8;
    w.math = MATH_NONE;
    w.epilogue_count = 0;
    w.mask = (struct mask){0};
    finish(&w);
    assert_int_equal(w.math, MATH_I8_ACC32);
    int count = w.op->tensors(&w, list);
    for (int i = 0; i < count; i++)
        assert_int_equal(list[i].dtype, list[i].role->output ? DTYPE_F32 : DTYPE_I8);
    if (!op_data_make(&w, DATA_PART_PRECISION, &data, &err))
        fail_msg("%s", err.text);
    const float *x = data.at[SLOT_INPUT].value, *f = data.at[SLOT_FILTER].value;
    double largest = 0;
    for (int i = 0; i < 64 * 7 * 9; i++) {
        assert_true(x[i] == rintf(x[i]) && fabsf(x[i]) <= 127);
        largest = fmax(largest, fabs(x[i]));
    }
    assert_true(largest > 100);
    for (int k = 0; k < 5; k++)
        for (int p = 0; p < 7; p++)
            for (int q = 0; q < 9; q++) {
                int64_t sum = 0;
                for (int c = 0; c < 64; c++)
                    for (int r = 0; r < 3; r++)
                        for (int s = 0; s < 3; s++)
                            if (p + r >= 1 && p + r - 1 < 7 && q + s >= 1 && q + s - 1 < 9)
                                sum += (int64_t)x[(c * 7 + p + r - 1) * 9 + q + s - 1] * (int64_t)f[((k * 64 + c) * 3 + r) * 3 + s];
                size_t at = (size_t)((k * 7 + p) * 9 + q);
                assert_true(data.at[SLOT_OUTPUT].reference[at] == (double)sum);
                assert_true(data.at[SLOT_OUTPUT].bound[at] < 1);
            }
    op_data_free(&data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_eight_bits),
                                       cmocka_unit_test(test_published_flop_and_bytes),
                                       cmocka_unit_test(test_the_thread),
                                       cmocka_unit_test(test_conv_shapes),
                                       cmocka_unit_test(test_refusals),
                                       cmocka_unit_test(test_epilogue_refusals),
                                       cmocka_unit_test(test_epilogue_tensors),
                                       cmocka_unit_test(test_describe),
                                       cmocka_unit_test(test_key),
                                       cmocka_unit_test(test_tables)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
