/* base/frames, base/image, op/change: streams written out byte by byte; masks against the rule applied to whole histories; hostile streams.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "base/frames.h"
#include "op/mask/change.h"
#include "op/reference/generate.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Reads all frames of a stream held in memory; the last one is kept in *out. -1: refused with `refusal` in the text. */
static int frames_in(const void *bytes, size_t count, const char *raw, const char *refusal, struct image *out)
{
    struct error err = {0};
    FILE *file = fmemopen((void *)(uintptr_t)bytes, count, "r");
    struct frames *f = frames_of(file, "stream", raw, &err);
    struct image image = {0};
    int n = 0, got = f ? 1 : -1;
    *out = (struct image){0};
    while (got == 1 && (got = frames_next(f, &image, &err)) == 1) {
        image_free(out);
        *out = image;
        n++;
    }
    frames_close(f);
    fclose(file);
    if (got < 0)
        image_free(out);
    if (got < 0 && (!refusal || !strstr(err.text, refusal)))
        fail_msg("'%s', wanted %s", err.text, refusal ? refusal : "success");
    if (got >= 0 && refusal)
        fail_msg("accepted, wanted: %s", refusal);
    return got < 0 ? -1 : n;
}
#define FRAMES(text, raw, refusal) frames_in(text, sizeof(text) - 1, raw, refusal, &image)

static void test_streams(void **state)
{
    struct image image;
    assert_int_equal(FRAMES("YUV4MPEG2 W3 H2 F30:1 Ip C420jpeg\nFRAME\nabcdefghijFRAME Ip\nABCDEFGHIJ", NULL, NULL), 2);
    assert_true(image.w == 3 && image.h == 2 && image.channels == 3 && image.most == 255);
    static const char want[] = "AGI"
                               "BGI"
                               "CHJ"
                               "DGI"
                               "EGI"
                               "FHJ"; /* chroma of 2x2 pixels: two columns of one row */
    for (int i = 0; i < 18; i++)
        assert_int_equal(image.at[i], want[i]);
    image_free(&image);
    assert_int_equal(FRAMES("YUV4MPEG2 H1 W2 Cmono\nFRAME\nab", NULL, NULL), 1);
    assert_true(image.channels == 1 && image.at[1] == 'b');
    image_free(&image);
    assert_int_equal(FRAMES("YUV4MPEG2 H1 W1 C444p10\nFRAME\n\x01\x02\x03\x00\xff\x03", NULL, NULL), 1);
    assert_true(image.most == 1023 && image.at[0] == 513 && image.at[1] == 3 && image.at[2] == 1023);
    image_free(&image);
    assert_int_equal(FRAMES("YUV4MPEG2 H1 W1 Cmono16\nFRAME\n\x01\x02", NULL, NULL), 1);
    assert_true(image.most == 65535 && image.at[0] == 513);
    image_free(&image);
    assert_int_equal(FRAMES("P5\n2 1\n255\nabP5 2 1 255\ncd\nP6\n2 1\n255\nabcdef", NULL, NULL), 3); /* pictures behind each other */
    assert_true(image.channels == 3 && image.at[5] == 'f');
    image_free(&image);
    assert_int_equal(FRAMES("abcdABCD", "2x2:gray", NULL), 2);
    assert_true(image.at[3] == 'D');
    image_free(&image);
    assert_int_equal(FRAMES("abcdef", "2x1:rgb24", NULL), 1);
    assert_true(image.channels == 3 && image.at[4] == 'e');
    image_free(&image);
    assert_int_equal(FRAMES("abcdEF", "2x2:yuv420p", NULL), 1);
    assert_true(image.at[0] == 'a' && image.at[1] == 'E' && image.at[11] == 'F');
    image_free(&image);
}

static void test_hostile_streams(void **state)
{
    struct image image;
    FRAMES("YUV4MPEG2 W3 H2\nFRAME\nabcdefghi", NULL, "ends too early, inside frame 0");
    FRAMES("YUV4MPEG2 W3 H2\nFRAME\n", NULL, "ends too early, inside frame 0");
    FRAMES("YUV4MPEG2 W3 H2\nFRAMES\nabcdefghij", NULL, "does not begin with FRAME");
    FRAMES("YUV4MPEG2 W3", NULL, "ends too early");
    FRAMES("YUV4MPEG2 W3\nFRAME\n", NULL, "without width and height");
    FRAMES("YUV4MPEG2 W-3 H2\n", NULL, "size 'W-3'");
    FRAMES("YUV4MPEG2 W99999999999999999999 H2\n", NULL, "size");
    FRAMES("YUV4MPEG2 W65535 H65535\nFRAME\nx", NULL, "more than");
    FRAMES("YUV4MPEG2 W2 H2 C410\n", NULL, "colours '410'");
    FRAMES("YUV4MPEG2 W2 H2 C420p99\n", NULL, "colours '420p99'");
    FRAMES("YUV4MPEG2 W2 H2 C444alpha\n", NULL, "colours '444alpha'");
    FRAMES("P5\n2 1\n255\nabP5 1 2 255\ncd", NULL, "frame 1 has 1 x 2 pixels");
    FRAMES("P5\n2 1\n255\nabrubbish", NULL, "not a PGM");
    FRAMES("GIF89a", NULL, "not a PGM");
    FRAMES("abc", "2x2:gray", "ends too early, inside frame 0");
    FRAMES("abc", "2x2", "not a raw format");
    FRAMES("abc", "2x2:bgr", "no raw format 'bgr'");
    FRAMES("abc", "0x2:gray", "not a raw format");
    char line[2000] = "YUV4MPEG2 W3 H2 ";
    memset(line + 16, 'X', sizeof line - 16);
    frames_in(line, sizeof line, NULL, "longer than", &image);
}

/* Every pixel on its own history, window by window: what change_step must give. */
static void plainly(const struct image *frames, int count, double threshold, int64_t reach, int at, float *mask)
{
    int64_t h = frames->h, w = frames->w;
    float *raw = calloc((size_t)(h * w), sizeof *raw), *last = calloc((size_t)(h * w), sizeof *last);
    for (int64_t i = 0; i < h * w; i++)
        last[i] = frames[0].at[i];
    for (int n = 1; n <= at && n < count; n++) {
        for (int64_t i = 0; i < h * w; i++)
            raw[i] = fabsf((float)frames[n].at[i] - last[i]) > threshold * 255;
        for (int64_t y = 0; y < h; y++)
            for (int64_t x = 0; x < w; x++) {
                bool any = false;
                for (int64_t i = y - reach; i <= y + reach; i++)
                    for (int64_t k = x - reach; k <= x + reach; k++)
                        any |= i >= 0 && k >= 0 && i < h && k < w && raw[i * w + k] != 0;
                mask[y * w + x] = any;
            }
        for (int64_t i = 0; i < h * w; i++)
            if (mask[i] != 0)
                last[i] = frames[n].at[i];
    }
    free(raw);
    free(last);
}

static void test_change(void **state)
{
    enum { H = 17, W = 23, COUNT = 6 };
    struct image frames[COUNT];
    struct error err = {0};
    float got[H * W], want[H * W];
    for (int n = 0; n < COUNT; n++) {
        frames[n] = (struct image){.w = W, .h = H, .channels = 1, .most = 255, .at = malloc(H * W * sizeof(uint16_t))};
        for (int i = 0; i < H * W; i++) /* a slow ramp, and noise here and there */
            frames[n].at[i] = (uint16_t)(100 + 4 * n + (random_uniform(1, (uint64_t)n, (uint64_t)i) < 0.02 ? 60 : 0));
    }
    for (int reach = 0; reach <= 25; reach += reach < 3 ? 1 : 22) {
        struct change change = {.threshold = 0.04, .dilate = reach}; /* 10.2 levels: the ramp passes it every third frame */
        int active_by_ramp = 0;
        for (int n = 0; n < COUNT; n++) {
            assert_true(change_step(&change, &frames[n], got, &err));
            if (n == 0) {
                for (int i = 0; i < H * W; i++)
                    assert_true(got[i] == 1);
                continue;
            }
            plainly(frames, COUNT, 0.04, reach, n, want);
            assert_memory_equal(got, want, sizeof got);
            active_by_ramp += n == 3 && got[0] == 1;
        }
        assert_int_equal(active_by_ramp, 1); /* 12 levels since frame 0: nothing is lost */
        struct image other = frames[0];
        other.w = W - 1;
        assert_false(change_step(&change, &other, got, &err));
        assert_non_null(strstr(err.text, "follows one of 23 x 17"));
        change_end(&change);
    }
    for (int n = 0; n < COUNT; n++)
        image_free(&frames[n]);
}

static void test_fit(void **state)
{
    const float from[4 * 6] = {0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
    float half[2 * 3], thirds[3 * 4], twice[8 * 12];
    change_fit(from, 4, 6, half, 2, 3);
    assert_memory_equal(half, ((const float[]){1, 0, 0, 0, 0, 1}), sizeof half);
    change_fit(from, 4, 6, thirds, 3, 4); /* rows 0-1, 1-2, 2-3; columns 0-1, 1-2, 3-4, 4-5 */
    assert_memory_equal(thirds, ((const float[]){1, 1, 0, 0, 1, 1, 0, 0, 0, 0, 0, 1}), sizeof thirds);
    change_fit(from, 4, 6, twice, 8, 12);
    for (int i = 0; i < 96; i++)
        assert_true(twice[i] == from[i / 12 / 2 * 6 + i % 12 / 2]);
}

/* Written and read again, in every format; each sees the same pixels. */
static void test_files(void **state)
{
    static const char *const names[] = {"m.pgm", "m.pbm", "m.png"};
    char dir[] = "/tmp/bench_frames_XXXXXX", path[64];
    float mask[5 * 11];
    struct error err = {0};
    assert_non_null(mkdtemp(dir));
    for (int i = 0; i < 55; i++)
        mask[i] = i * 7 % 3 == 0;
    for (size_t k = 0; k < 3; k++) {
        struct image image;
        snprintf(path, sizeof path, "%s/%s", dir, names[k]);
        if (!image_write_mask(path, mask, 5, 11, &err) || !image_read(path, &image, &err))
            fail_msg("%s", err.text);
        assert_true(image.h == 5 && image.w == 11 && image.channels == 1);
        for (int i = 0; i < 55; i++)
            assert_int_equal(2 * image.at[i] > image.most, mask[i] != 0);
        image_free(&image);
        unlink(path);
    }
    snprintf(path, sizeof path, "%s/m.jpg", dir);
    assert_false(image_write_mask(path, mask, 5, 11, &err));
    assert_non_null(strstr(err.text, "must be .pgm, .pbm or .png"));
    rmdir(dir);
    assert_null(frames_open(dir, NULL, &err));
}

/* A PNG cut or changed anywhere is read or refused with a text. */
static void test_broken_png(void **state)
{
    char path[] = "/tmp/bench_png_XXXXXX.png";
    float mask[16 * 16] = {[3] = 1, [99] = 1};
    struct error err = {0};
    unsigned char bytes[4096];
    int fd = mkstemps(path, 4);
    assert_true(fd >= 0 && image_write_mask(path, mask, 16, 16, &err));
    close(fd);
    FILE *file = fopen(path, "rb");
    size_t count = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    unlink(path);
    for (size_t cut = 4; cut < count; cut++) {
        struct image image;
        unsigned char *copy = malloc(cut);
        memcpy(copy, bytes, cut);
        error_clear(&err);
        if (image_read_memory("cut.png", copy, cut, &image, &err))
            image_free(&image);
        else
            assert_non_null(strstr(err.text, "cut.png"));
        copy[cut - 1] ^= 0x55;
        error_clear(&err);
        if (image_read_memory("cut.png", copy, cut, &image, &err))
            image_free(&image);
        else
            assert_true(err.text[0]);
        free(copy);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_streams), cmocka_unit_test(test_hostile_streams),
                                       cmocka_unit_test(test_change),  cmocka_unit_test(test_fit),
                                       cmocka_unit_test(test_files),   cmocka_unit_test(test_broken_png)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
