/* op/sides: pads, strides and dilations that differ by side or axis. */
#include "works.h"
#include "op/shape.h"
#include "op/sides.h"
#include "op/reference/data.h"

/* A layer whose sides differ: each number in its own place, against loops over literal ones. */
static void sides_differ_in_reference(void **state)
{
    static const struct {
        int stride[2], dilation[2], pad[4], size[2], output[2]; /* y, x; top, left, bottom, right */
    } table[] = {{{1, 1}, {1, 1}, {0, 3, 0, 3}, {5, 9}, {3, 13}},
                 {{2, 1}, {1, 2}, {1, 0, 2, 4}, {8, 9}, {5, 9}},
                 {{2, 3}, {2, 1}, {0, 1, 1, 0}, {10, 11}, {4, 4}}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        const __typeof__(*table) *t = &table[i];
        struct work w = conv_work(2, 3, t->size[0], t->size[1], 3);
        struct op_data d;
        w.stride = t->stride[0], w.dilation = t->dilation[0], w.pad = t->pad[0];
        side_set(&w, SIDE_stride_x, t->stride[1]);
        side_set(&w, SIDE_dilation_x, t->dilation[1]);
        side_set(&w, SIDE_pad_left, t->pad[1]);
        side_set(&w, SIDE_pad_bottom, t->pad[2]);
        side_set(&w, SIDE_pad_right, t->pad[3]);
        finish(&w);
        assert_true(w.p == t->output[0] && w.q == t->output[1]);
        make_data(&w, DATA_PART_EXACT, &d);
        for (int64_t o = 0; o < w.k * w.p * w.q; o++) {
            double want = 0;
            for (int64_t tap = 0; tap < 2 * 9; tap++) {
                int64_t y = o / w.q % w.p * t->stride[0] + tap / 3 % 3 * t->dilation[0] - t->pad[0],
                        x = o % w.q * t->stride[1] + tap % 3 * t->dilation[1] - t->pad[1];
                if (y >= 0 && x >= 0 && y < w.h && x < w.w)
                    want += (double)d.at[SLOT_INPUT].value[(tap / 9 * w.h + y) * w.w + x] *
                            (double)d.at[SLOT_FILTER].value[o / (w.p * w.q) * 18 + tap];
            }
            assert_true(d.at[SLOT_OUTPUT].reference[o] == want);
        }
        op_data_free(&d);
    }
}

/* One work has one key, however its sides are said; same padding is the padding that it comes to. */
static void one_key(void **state)
{
    char plain[HASH_TEXT], other[HASH_TEXT];
    struct work w = conv_work(4, 4, 9, 8, 3), same = w, even = w, deep = simple_work("conv_transpose2d", 4, 5, 5);
    finish(&w);
    work_key(&w, plain);
    same.pad = 0, same.same = SAME_UPPER;
    finish(&same);
    work_key(&same, other);
    assert_string_equal(plain, other);
    even.stride = 2, even.same = SAME_LOWER; /* one row above and below; one column, left */
    finish(&even);
    assert_true(even.p == 5 && even.q == 4 && even.side[SIDE_pad_top] == 1 && even.side[SIDE_pad_bottom] == 1);
    assert_true(even.side[SIDE_pad_left] == 1 && even.side[SIDE_pad_right] == 0);
    work_key(&even, plain);
    even.same = SAME_UPPER;
    finish(&even);
    assert_true(even.side[SIDE_pad_left] == 0 && even.side[SIDE_pad_right] == 1);
    work_key(&even, other);
    assert_string_not_equal(plain, other);
    deep.k = 2, deep.r = deep.s = 2, deep.stride = 3, deep.dilation = deep.groups = 1, deep.same = SAME_UPPER;
    refused(deep, "fewer taps");
    deep.same = SAME_NONE;
    side_set(&deep, SIDE_pad_left, -1);
    refused(deep, "pad_left = -1 is not between 0 and 255");
    struct work up = simple_work("upsample", 4, 5, 5);
    up.block = 2;
    side_set(&up, SIDE_pad_left, 1); /* it has no pad */
    finish(&up);
    assert_true(up.apart[SIDE_pad_left] == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(sides_differ_in_reference), cmocka_unit_test(one_key)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
