/* op/mask/mask: densities, shapes of the patterns, dilation against its definition, results of an independent simulation (one 720x1280 mask
 * each), hostile PGM files. */
#include "works.h"
#include "op/shape.h"
#include "op/reference/data.h"
#include "op/mask/mask.h"
#include <stdio.h>
#include <unistd.h>

static struct work masked(int64_t h, int64_t w, enum mask_pattern pattern, double density, int64_t radius)
{
    struct work x = conv_work(4, 4, h, w, 3);
    x.mask = (struct mask){.pattern = pattern, .density = density, .radius = radius, .seed = 1};
    finish(&x);
    return x;
}

static float *make(const struct work *w)
{
    struct error err = {0};
    float *m = malloc((size_t)(w->n * w->h * w->w) * sizeof *m);
    if (!mask_make(w, m, &err))
        fail_msg("%s", err.text);
    for (int64_t i = 0; i < w->n * w->h * w->w; i++)
        assert_true(m[i] == 0 || m[i] == 1);
    return m;
}

static double density_of(struct work w)
{
    float *m = make(&w);
    double d = mask_density(m, (size_t)(w.n * w.h * w.w));
    free(m);
    return d;
}

static void near(double got, double want, double slack)
{
    if (!(fabs(got - want) <= slack))
        fail_msg("%g, want %g", got, want);
}

static void test_density(void **state)
{
    static const double wanted[] = {0, 0.001, 0.01, 0.05, 0.1, 0.25, 0.5, 0.9, 1};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        double d = wanted[i];
        near(density_of(masked(180, 320, MASK_BLOBS, d, 24)), d, 0.5 / (180 * 320)); /* to the pixel */
        near(density_of(masked(180, 320, MASK_BLOBS, d, 3)), d, 0.5 / (180 * 320));
        near(density_of(masked(180, 320, MASK_BOX, d, 0)), d, 0.0015);
        near(density_of(masked(180, 320, MASK_SCANLINE, d, 0)), d, 0.5 / 180 + 1e-9);
        near(density_of(masked(180, 320, MASK_IID, d, 0)), d, 4 * sqrt(d * (1 - d) / (180 * 320)));
    }
    near(density_of(masked(48, 48, MASK_BLOBS, 0.01, 24)), 23.0 / 2304, 1e-12); /* smaller than one blob */
    near(density_of(masked(180, 320, MASK_FULL, 0, 0)), 1, 0);
    near(density_of(masked(180, 320, MASK_EMPTY, 1, 0)), 0, 0);
    near(density_of(masked(180, 320, MASK_PIXEL, 0, 0)), 1.0 / (180 * 320), 1e-12);
    near(density_of(masked(180, 320, MASK_CHECKERBOARD, 0, 0)), 0.5, 1e-12);
    near(mask_density(NULL, 0), 0, 0);
}

static void test_patterns(void **state)
{
    struct work w = masked(60, 80, MASK_BOX, 0.1, 0);
    float *m = make(&w);
    int64_t y0 = 60, y1 = -1, x0 = 80, x1 = -1, count = 0;
    for (int64_t i = 0; i < 4800; i++)
        if (m[i] != 0) {
            int64_t y = i / 80, x = i % 80;
            y0 = y < y0 ? y : y0, y1 = y > y1 ? y : y1, x0 = x < x0 ? x : x0, x1 = x > x1 ? x : x1;
            count++;
        }
    assert_int_equal(count, (y1 - y0 + 1) * (x1 - x0 + 1)); /* one full rectangle, of the image's proportions */
    near((double)(x1 - x0 + 1) / (double)(y1 - y0 + 1), 80.0 / 60, 0.15);
    free(m);
    w = masked(60, 80, MASK_SCANLINE, 0.1, 0);
    m = make(&w);
    for (int64_t i = 0; i < 4800; i++)
        assert_true(m[i] == m[i / 80 * 80]);
    free(m);
    w = masked(60, 80, MASK_CHECKERBOARD, 0, 0);
    m = make(&w);
    for (int64_t i = 1; i < 4800; i++)
        assert_true(i % 80 == 0 || m[i] != m[i - 1]);
    free(m);
    w = masked(60, 80, MASK_IID, 0.3, 0);
    w.n = 2;
    float *a = make(&w), *b = make(&w);
    assert_memory_equal(a, b, 2 * 4800 * sizeof *a);        /* the seed decides */
    assert_memory_not_equal(a, a + 4800, 4800 * sizeof *a); /* and each image has its own */
    w.mask.seed = 2;
    free(b);
    b = make(&w);
    assert_memory_not_equal(a, b, 4800 * sizeof *a);
    free(a);
    free(b);
}

/* Share of active tiles: a tile of 8x8 outputs is active when any of the (8 + 2)^2 inputs under it is. */
static double tiles(const float *m, int64_t h, int64_t w, int64_t th, int64_t tw)
{
    int64_t active = 0, all = 0;
    for (int64_t y = 0; y < h; y += th)
        for (int64_t x = 0; x < w; x += tw, all++) {
            bool any = false;
            for (int64_t i = y - 1; i <= y + th && !any; i++)
                for (int64_t j = x - 1; j <= x + tw && !any; j++)
                    any = i >= 0 && j >= 0 && i < h && j < w && m[i * w + j] != 0;
            active += any;
        }
    return (double)active / (double)all;
}

static void test_published_masks(void **state)
{
    const struct {
        enum mask_pattern pattern;
        int64_t radius;
        double density, dilated, tiles_8x8, tiles_16x16, slack;
    } table[] = {
        /* One simulated mask each, of discs of "radius ~24" and "~8" that vary, so tiles agree within an eighth */
        {MASK_IID, 0, 0.01, 0.086, 0.63, 0.96, 0.01},       {MASK_IID, 0, 0.05, 0.37, 0.994, 1, 0.006},
        {MASK_BLOBS, 24, 0.05, 0.055, 0.072, 0.093, 0.006}, {MASK_BLOBS, 24, 0.10, 0.11, 0.146, 0.19, 0.012},
        {MASK_BLOBS, 24, 0.25, 0.27, 0.344, 0.43, 0.02},    {MASK_BLOBS, 24, 0.50, 0.54, 0.65, 0.76, 0.03},
        {MASK_BLOBS, 8, 0.10, 0.129, 0.244, 0.39, 0.025},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct work w = masked(720, 1280, table[i].pattern, table[i].density, table[i].radius);
        float *m = make(&w), *d = malloc(720 * 1280 * sizeof *d);
        mask_dilate(&w, m, d);
        near(mask_density(d, 720 * 1280), table[i].dilated, table[i].slack);
        near(tiles(m, 720, 1280, 8, 8), table[i].tiles_8x8, fmax(table[i].slack, 0.125 * table[i].tiles_8x8));
        near(tiles(m, 720, 1280, 16, 16), table[i].tiles_16x16, fmax(table[i].slack, 0.125 * table[i].tiles_16x16));
        free(m);
        free(d);
    }
}

static void test_dilation(void **state)
{
    const struct {
        int64_t kernel_r, kernel_s, stride, pad, dilation;
    } shapes[] = {{3, 3, 1, 1, 1}, {5, 3, 1, 2, 1}, {3, 3, 2, 1, 1}, {3, 3, 1, 2, 2}, {1, 1, 2, 0, 1}, {4, 2, 3, 0, 1}, {7, 7, 2, 3, 1}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        struct work w = conv_work(2, 2, 23, 31, 3);
        w.r = shapes[i].kernel_r, w.s = shapes[i].kernel_s, w.stride = shapes[i].stride, w.pad = shapes[i].pad,
        w.dilation = shapes[i].dilation, w.n = 2;
        w.mask = (struct mask){.pattern = MASK_IID, .density = 0.04, .seed = 7};
        finish(&w);
        float *m = make(&w), *d = malloc((size_t)(2 * w.p * w.q) * sizeof *d);
        mask_dilate(&w, m, d);
        for (int64_t n = 0; n < 2; n++)
            for (int64_t p = 0; p < w.p; p++)
                for (int64_t q = 0; q < w.q; q++) {
                    bool any = false;
                    for (int64_t r = 0; r < w.r; r++)
                        for (int64_t s = 0; s < w.s; s++) {
                            int64_t y = p * w.stride - w.pad + r * w.dilation, x = q * w.stride - w.pad + s * w.dilation;
                            any |= y >= 0 && x >= 0 && y < 23 && x < 31 && m[(n * 23 + y) * 31 + x] != 0;
                        }
                    assert_true(d[(n * w.p + p) * w.q + q] == any);
                }
        free(m);
        free(d);
    }
}

/* Inactive inputs are zero, and inactive outputs are the epilogue of zero. With DATA_FULL no input is zero. Marks on outputs do not change
 * the input. */
static void test_data(void **state)
{
    struct work w = masked(20, 24, MASK_BOX, 0.2, 0);
    add_item(&w, EPILOGUE_BIAS);
    finish(&w);
    struct op_data d, full;
    make_data(&w, DATA_PART_EXACT, &d);
    make_data(&w, (enum data_part)(DATA_PART_EXACT | DATA_FULL), &full);
    assert_true(d.exact && full.exact);
    int still = 0;
    for (int64_t c = 0; c < 4; c++)
        for (int64_t i = 0; i < 480; i++) {
            bool in = d.at[SLOT_MASK_IN].value[i] != 0, out = d.mask_out[i] != 0;
            assert_true(full.at[SLOT_INPUT].value[c * 480 + i] != 0);
            still += in && d.at[SLOT_INPUT].value[c * 480 + i] == 0;
            if (!in || d.at[SLOT_INPUT].value[c * 480 + i] != 0)
                assert_true(d.at[SLOT_INPUT].value[c * 480 + i] == (in ? full.at[SLOT_INPUT].value[c * 480 + i] : 0));
            if (!out)
                assert_true(d.at[SLOT_OUTPUT].reference[c * 480 + i] == d.at[SLOT_BIAS].value[c] &&
                            full.at[SLOT_OUTPUT].reference[c * 480 + i] == d.at[SLOT_OUTPUT].reference[c * 480 + i]);
        }
    assert_null(d.at[SLOT_MASK_OUT].value);
    int marked = 0, alone = 0, all = 0; /* a change may be of nothing: of some marked pixels in one channel, of some in all */
    for (int64_t i = 0; i < 480; i++) {
        int zeros = 0;
        for (int64_t c = 0; c < 4; c++)
            zeros += d.at[SLOT_INPUT].value[c * 480 + i] == 0;
        marked += d.at[SLOT_MASK_IN].value[i] != 0;
        alone += d.at[SLOT_MASK_IN].value[i] != 0 && zeros > 0 && zeros < 4;
        all += d.at[SLOT_MASK_IN].value[i] != 0 && zeros == 4;
    }
    assert_true(still > 0 && alone > marked / 10 && alone < marked / 2 && all > marked / 5 && all < marked * 3 / 5);
    op_data_free(&d), op_data_free(&full);
    make_data(&w, DATA_PART_PRECISION, &d); /* where rounding decides there are none */
    for (int64_t i = 0; i < 4 * 480; i++)
        assert_true((d.at[SLOT_INPUT].value[i] != 0) == (d.at[SLOT_MASK_IN].value[i % 480] != 0));
    op_data_free(&d);
    w.mask.marks_output = true, w.stride = 2;
    finish(&w);
    make_data(&w, DATA_PART_EXACT, &d);
    assert_null(d.at[SLOT_MASK_IN].value);
    for (int64_t i = 0; i < w.p * w.q; i++)
        assert_true(d.at[SLOT_MASK_OUT].value[i] == d.mask_out[i]);
    for (int64_t i = 0; i < 4 * 480; i++)
        assert_true(d.at[SLOT_INPUT].value[i] != 0);
    near(mask_density(d.mask_out, (size_t)(w.p * w.q)), 0.2, 0.05);
    op_data_free(&d);
}

static void test_useful(void **state)
{
    struct error err = {0};
    struct useful u;
    struct work w = conv_work(64, 64, 720, 1280, 3);
    finish(&w);
    assert_true(work_useful(&w, &u, &err) && u.output_share == 1 && u.flop == work_flop(&w) && u.bytes == work_bytes(&w));
    w.mask = (struct mask){.pattern = MASK_BLOBS, .density = 0.1, .radius = 24, .seed = 1};
    finish(&w);
    assert_true(work_useful(&w, &u, &err));
    near(u.input_share, 0.1, 1e-5);
    near(u.output_share, 0.11, 0.003);
    near(u.flop / 1e9, 67.95 * u.output_share, 0.01);
    near(u.bytes / 1e6, 118 * (u.input_share + u.output_share) + 0.07 + 2 * 0.115,
         0.3); /* 118 MB each way, 0.07 of filter, two bit masks */
    w.mask.pattern = MASK_PIXEL, w.mask.marks_output = true;
    finish(&w);
    assert_true(work_useful(&w, &u, &err));
    near(u.output_share * 720 * 1280, 1, 1e-6);
    near(u.input_share * 720 * 1280, 9, 3.1); /* 9 pixels, 6 or 4 at an edge */
}

static char *temporary(const char *text, size_t bytes)
{
    static char path[64];
    strcpy(path, "/tmp/bench_mask_XXXXXX");
    int fd = mkstemp(path);
    assert_true(fd >= 0 && write(fd, text, bytes) == (ssize_t)bytes);
    close(fd);
    return path;
}

static void reads(const char *text, size_t bytes, const char *refusal)
{
    struct work w = masked(2, 3, MASK_FULL, 0, 0);
    struct error err = {0};
    float m[12];
    w.n = 2, w.mask.pattern = MASK_FILE;
    snprintf(w.mask.path, sizeof w.mask.path, "%s", temporary(text, bytes));
    bool ok = mask_make(&w, m, &err);
    unlink(w.mask.path);
    if (ok != !refusal || (refusal && !strstr(err.text, refusal)))
        fail_msg("'%s': wanted %s", err.text, refusal ? refusal : "success");
    const float want[6] = {0, 1, 1, 0, 0, 1};
    if (ok) {
        assert_memory_equal(m, want, sizeof want);
        assert_memory_equal(m + 6, want, sizeof want);
    }
}
#define READS(text, refusal) reads(text, sizeof(text) - 1, refusal)

static void test_files(void **state)
{
    READS("P5\n3 2\n255\n\x00\xff\x80\x7f\x00\xc0", NULL);
    READS("P5 # a comment\n3 2 # and another\n255\n\x00\xff\x80\x7f\x00\xc0", NULL);
    READS("P2\n3 2\n9\n0 9 5\n4 0 9\n", NULL);
    READS("P5\n3 2\n65535\n\x00\x00\xff\xff\x80\x00\x7f\xff\x00\x00\xc0\x00", NULL);
    READS("P6\n3 2\n255\n\0\0\0\xff\xff\xff\0\x80\0\0\x7f\0\0\0\0\0\0\xc0", NULL); /* any channel */
    READS("P1\n3 2\n0 1 1\n0 0 1\n", NULL);
    READS("P1 3 2 011001", NULL);
    READS("P4 3 2\n\x60\x20", NULL); /* black is active */
    READS("P5\n3 2#\n255\n\x00\xff\x80\x7f\x00\xc0", NULL);
    READS("", "not a PGM");
    READS("P7\n3 2\n255\n\x00\xff\x80\x7f\x00\xc0", "not a PGM");
    READS("P6\n3 2\n255\n\x00\xff\x80\x7f\x00\xc0", "ends too early");
    READS("P1\n3 2\n0 1 1\n0 0\n", "ends too early");
    READS("P2\n3 2\n9\n0 9 10\n4 0 9\n", "not a number from 0 to 9");
    READS("P5\n3 2\n9\n\0\x09\x0a\0\0\0", "not a number from 0 to 9");
    READS("P5\n100000 100000\n255\n", "between 1 and 67108864 in total");
    READS("\x89PNG\r\n\x1a\n", "");
    READS("P5\n3 3\n255\n\x00\xff\x80\x7f\x00\xc0xxx", "has 3 x 3 pixels (width x height), but the layer needs 3 x 2");
    READS("P5\n3 2\n255\n\x00\xff\x80\x7f\x00", "ends too early");
    READS("P5\n3 2\n255", "ends too early");
    READS("P5\n3 2\n65535\n\x00\xff\x80\x7f\x00\xc0", "ends too early");
    READS("P2\n3 2\n9\n0 9 5\n4 0\n", "ends too early");
    READS("P5\n3\n", "broken P5 header");
    READS("P5\n-3 2\n255\n", "broken P5 header");
    READS("P5\n3 2\n99999\n\x00\xff\x80\x7f\x00\xc0", "broken P5 header");
    READS("P5\n99999999999999999999 2\n255\n", "broken P5 header");
    struct work w = masked(2, 3, MASK_FULL, 0, 0);
    struct error err = {0};
    float m[6];
    w.mask.pattern = MASK_FILE;
    strcpy(w.mask.path, "/no/such/mask.pgm");
    assert_false(mask_make(&w, m, &err));
    assert_non_null(strstr(err.text, "/no/such/mask.pgm"));
    strcpy(w.mask.path, "/tmp");
    assert_false(mask_make(&w, m, &err));
}

static void test_frames(void **state)
{
    const struct {
        const char *path;
        int frame;
        const char *want;
    } table[] = {{"m/street_%03d.pgm", 0, "m/street_000.pgm"},
                 {"m/%d.pgm", 12, "m/12.pgm"},
                 {"plain.pgm", 3, "plain.pgm"},
                 {"%5d", 42, "   42"},
                 {"a%sb%n", 0, "a%sb%n"},
                 {"%", 1, "%"},
                 {"%99999999d", 1, "%99999999d"},
                 {"x%02dy%02d", 7, "x07y%02d"}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct mask m = {.pattern = MASK_FILE};
        char out[300];
        strcpy(m.path, table[i].path);
        mask_frame_path(&m, table[i].frame, out, sizeof out);
        assert_string_equal(out, table[i].want);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_density),  cmocka_unit_test(test_patterns), cmocka_unit_test(test_published_masks),
        cmocka_unit_test(test_dilation), cmocka_unit_test(test_data),     cmocka_unit_test(test_useful),
        cmocka_unit_test(test_files),    cmocka_unit_test(test_frames)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
