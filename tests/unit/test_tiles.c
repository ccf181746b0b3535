/* op/mask/tiles: against the definition, written out; the histogram against the binomial distribution and the table of DeltaCNN's tiles.
 * And the reach of a mask through a transposed convolution and an upsampling, scattered forward from the inputs. */
#include "works.h"
#include "op/shape.h"
#include "op/mask/tiles.h"
#include "op/reference/data.h"
#include "op/mask/mask.h"
#include "op/file/ops.h"
#include <stdio.h>

static struct tile_stats stats_of(const struct work *w, struct tile tile)
{
    struct error err = {0};
    struct tile_stats s;
    float *in = malloc((size_t)(w->n * w->h * w->w) * sizeof *in), *active = malloc((size_t)(w->n * w->p * w->q) * sizeof *active);
    if (!mask_both(w, in, active, &err))
        fail_msg("%s", err.text);
    tile_stats(w, in, active, &tile, &s);
    free(in);
    free(active);
    return s;
}

/* Every tile by itself: its outputs by index, their inputs in a map of the whole image. */
static struct tile_stats plainly(const struct work *w, struct tile tile)
{
    struct error err = {0};
    struct tile_stats s = {0};
    float *in = malloc((size_t)(w->h * w->w) * sizeof *in), *seen = malloc((size_t)(w->h * w->w) * sizeof *seen);
    assert_true(w->n == 1 && mask_make(w, in, &err));
    double per_output = 2.0 * (double)(w->c / w->groups * w->k * w->r * w->s);
    for (int64_t py = 0; py < tile.every; py++)
        for (int64_t px = 0; px < tile.every; px++)
            for (int64_t ty = 0; py + ty * tile.h * tile.every < w->p; ty++)
                for (int64_t tx = 0; px + tx * tile.w * tile.every < w->q; tx++) {
                    int64_t outputs = 0, marked = 0;
                    bool active = false;
                    memset(seen, 0, (size_t)(w->h * w->w) * sizeof *seen);
                    for (int64_t i = 0; i < tile.h * tile.w; i++) {
                        int64_t p = py + (ty * tile.h + i / tile.w) * tile.every, q = px + (tx * tile.w + i % tile.w) * tile.every;
                        if (p >= w->p || q >= w->q)
                            continue;
                        outputs++;
                        for (int64_t r = 0; r < w->r; r++)
                            for (int64_t k = 0; k < w->s; k++) {
                                int64_t y = p * w->stride - w->pad + r * w->dilation, x = q * w->stride - w->pad + k * w->dilation;
                                if (y < 0 || x < 0 || y >= w->h || x >= w->w || in[y * w->w + x] == 0)
                                    continue;
                                active = true;
                                marked += seen[y * w->w + x] == 0;
                                seen[y * w->w + x] = 1;
                            }
                    }
                    s.tiles++;
                    s.active += active;
                    s.flop += active ? (double)outputs * per_output : 0;
                    int bin = marked == 0     ? 0
                              : marked == 1   ? 1
                              : marked == 2   ? 2
                              : marked <= 4   ? 3
                              : marked <= 8   ? 4
                              : marked <= 16  ? 5
                              : marked <= 32  ? 6
                              : marked <= 64  ? 7
                              : marked <= 128 ? 8
                              : marked <= 256 ? 9
                              : marked <= 512 ? 10
                                              : 11;
                    s.bins[bin]++;
                }
    free(in);
    free(seen);
    return s;
}

static void test_definition(void **state)
{
    static const struct {
        int64_t kernel, stride, pad, dilation;
        struct tile tile;
    } shapes[] = {{3, 1, 1, 1, {6, 6, 1, 0}}, {3, 1, 1, 1, {8, 16, 1, 0}}, {3, 2, 1, 1, {3, 3, 1, 0}}, {5, 1, 2, 1, {5, 5, 1, 0}},
                  {3, 1, 2, 2, {4, 4, 2, 0}}, {7, 2, 3, 1, {3, 3, 1, 0}},  {1, 1, 0, 1, {8, 4, 1, 0}}, {3, 4, 0, 1, {2, 5, 1, 0}},
                  {3, 1, 1, 1, {1, 1, 1, 0}}, {3, 1, 1, 1, {64, 64, 1, 0}}};
    static const enum mask_pattern patterns[] = {MASK_IID, MASK_BLOBS, MASK_PIXEL, MASK_EMPTY, MASK_FULL, MASK_CHECKERBOARD};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (size_t k = 0; k < sizeof patterns / sizeof *patterns; k++) {
            struct work w = conv_work(4, 8, 29, 43, shapes[i].kernel);
            w.stride = shapes[i].stride, w.pad = shapes[i].pad, w.dilation = shapes[i].dilation;
            w.mask = (struct mask){.pattern = patterns[k], .density = 0.05, .radius = 4, .seed = 3};
            finish(&w);
            struct tile_stats got = stats_of(&w, shapes[i].tile), want = plainly(&w, shapes[i].tile);
            assert_int_equal(got.tiles, want.tiles);
            assert_int_equal(got.active, want.active);
            assert_true(fabs(got.flop - want.flop) <= 1e-6 * want.flop);
            assert_memory_equal(got.bins, want.bins, sizeof got.bins);
        }
}

/* 6x6 outputs read 8x8 inputs: the number marked is binomial. 52.6 % empty and 47.4 % with one to four at 1 %. */
static void test_random_pixels(void **state)
{
    static const struct {
        double density, empty, few;
    } table[] = {{0.001, 0.938, 0.062}, {0.01, 0.526, 0.474}, {0.05, 0.038, 0.747}, {0.1, 0.001, 0.219}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct work w = conv_work(64, 64, 720, 1280, 3);
        w.mask = (struct mask){.pattern = MASK_IID, .density = table[i].density, .seed = 1};
        finish(&w);
        struct tile_stats s = stats_of(&w, (struct tile){6, 6, 1, 0});
        double tiles = (double)s.tiles;
        assert_int_equal(s.tiles, 120 * 214);
        assert_true(fabs((double)s.bins[0] / tiles - table[i].empty) < 0.012);
        assert_true(fabs((double)(s.bins[1] + s.bins[2] + s.bins[3]) / tiles - table[i].few) < 0.012);
        assert_int_equal(s.active, s.tiles - s.bins[0]);
    }
}

static void test_whole(void **state)
{
    struct work w = conv_work(8, 8, 30, 50, 3);
    finish(&w);
    struct tile_stats s = stats_of(&w, (struct tile){8, 8, 1, 0}); /* no mask: everything */
    assert_true(s.tiles == 28 && s.active == 28 && s.flop == work_flop(&w));
    struct text t = {0};
    tile_bins_text(&s, &t);
    assert_string_equal(text_get(&t),
                        "17-32:4 33-64:1 65-128:23"); /* 3 columns of inputs at the right; 7x9 at the lower left; the rest 7x10 to 10x10 */
    text_free(&t);
    s = (struct tile_stats){.bins = {7, 6, 5, 4, 3, 0, 2, 0, 0, 0, 0, 1}};
    tile_bins_text(&s, &t);
    assert_string_equal(text_get(&t), "0:7 1:6 2:5 3-4:4 5-8:3 17-32:2 513+:1");
    text_free(&t);
}

/* Each marked input writes its outputs. */
static void test_scatter(void **state)
{
    static const struct {
        int64_t kernel, stride, pad, dilation, output_pad;
    } shapes[] = {{4, 2, 1, 1, 0}, {3, 1, 1, 1, 0}, {2, 3, 0, 1, 0}, {3, 2, 1, 2, 1}, {6, 4, 1, 1, 0}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        struct work w = conv_work(2, 3, 9, 11, shapes[i].kernel);
        w.op = op_find("conv_transpose2d");
        w.stride = shapes[i].stride, w.pad = shapes[i].pad, w.dilation = shapes[i].dilation, w.output_pad = shapes[i].output_pad;
        w.mask = (struct mask){.pattern = MASK_IID, .density = 0.08, .seed = 5};
        finish(&w);
        struct error err = {0};
        float in[99], *got = malloc((size_t)(w.p * w.q) * sizeof *got), *want = calloc((size_t)(w.p * w.q), sizeof *want);
        assert_true(mask_make(&w, in, &err));
        for (int64_t at = 0; at < 99; at++)
            for (int64_t tap = 0; in[at] != 0 && tap < w.r * w.s; tap++) {
                int64_t p = at / 11 * w.stride - w.pad + tap / w.s * w.dilation, q = at % 11 * w.stride - w.pad + tap % w.s * w.dilation;
                if (p >= 0 && q >= 0 && p < w.p && q < w.q)
                    want[p * w.q + q] = 1;
            }
        mask_dilate(&w, in, got);
        assert_memory_equal(got, want, (size_t)(w.p * w.q) * sizeof *got);
        free(got);
        free(want);
    }
    struct work up = simple_work("upsample", 4, 5, 7);
    up.block = 3;
    up.mask = (struct mask){.pattern = MASK_IID, .density = 0.2, .seed = 2};
    finish(&up);
    struct op_data d;
    make_data(&up, DATA_PART_EXACT, &d);
    int active = 0;
    for (int64_t i = 0; i < 15 * 21; i++) {
        bool marked = d.at[SLOT_MASK_IN].value[i / 21 / 3 * 7 + i % 21 / 3] != 0;
        assert_true((d.mask_out[i] != 0) == marked);
        active += marked;
    }
    assert_true(active > 0 && active < 15 * 21);
    op_data_free(&d);
}

/* A tile of a volume spans planes: each by itself, with three indices; halos meet planes above and below. */
static void test_volume(void **state)
{
    static const int bin_tops[] = {0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512};
    struct work w = simple_work("conv3d", 2, 0, 37);
    struct tile tile = {3, 8, 1, 2};
    w.k = 3, w.d = 5, w.plane = 7, w.t = w.r = w.s = 3, w.stride = 1, w.pad = 1, w.dilation = 1;
    w.mask = (struct mask){.pattern = MASK_BLOBS, .radius = 2, .density = 0.04, .seed = 4};
    finish(&w);
    float *in = malloc((size_t)(w.h * w.w) * sizeof *in);
    struct error err = {0};
    assert_true(mask_make(&w, in, &err));
    struct tile_stats want = {0}, got = stats_of(&w, tile);
    for (int64_t i = 0; i < 3 * 3 * 5; i++) { /* 5 / 2, 7 / 3, 37 / 8, rounded up */
        int64_t o0 = i / 15 * 2, p0 = i / 5 % 3 * 3, q0 = i % 5 * 8, marked = 0, outputs = 0;
        for (int64_t z = o0 - 1; z <= (o0 + 2 < 5 ? o0 + 2 : 5); z++)
            for (int64_t y = p0 - 1; y <= (p0 + 3 < 7 ? p0 + 3 : 7); y++)
                for (int64_t x = q0 - 1; x <= (q0 + 8 < 37 ? q0 + 8 : 37); x++)
                    marked += z >= 0 && z < 5 && y >= 0 && y < 7 && x >= 0 && x < 37 && in[(z * 7 + y) * 37 + x] != 0;
        outputs = (o0 + 2 <= 5 ? 2 : 5 - o0) * (p0 + 3 <= 7 ? 3 : 7 - p0) * (q0 + 8 <= 37 ? 8 : 37 - q0);
        int bin = 0;
        while (marked > bin_tops[bin])
            bin++;
        want.bins[bin]++;
        want.tiles++;
        want.active += marked > 0;
        want.flop += marked > 0 ? (double)outputs * 2 * 2 * 3 * 27 : 0;
    }
    assert_true(got.tiles == want.tiles && got.active == want.active && got.flop == want.flop && want.active > 5 &&
                want.active < want.tiles);
    for (int i = 0; i < TILE_BINS; i++)
        assert_int_equal(got.bins[i], want.bins[i]);
    free(in);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_definition), cmocka_unit_test(test_random_pixels),
                                       cmocka_unit_test(test_whole), cmocka_unit_test(test_scatter), cmocka_unit_test(test_volume)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
