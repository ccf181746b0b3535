/* Ops that are files: what they say becomes a work, its data are what docs/OP.md promises, and what is broken is named with its place. */
#include "works.h"
#include "base/file.h"
#include "base/npy.h"
#include "base/text.h"
#include "op/op_file.h"
#include "op/mask/min_work.h"
#include "op/reference/data.h"
#include "op/file/ops.h"
#include "op/stage/stage.h"
#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include "own_folder.h"

static char *put(const char *name, const char *text, size_t bytes)
{
    char *path = file_join(dir, name);
    struct error err = {0};
    if (!file_write(path, text, bytes, &err))
        fail_msg("%s", err.text);
    return path;
}

static const char kinds[] = "about: every kind of data\n"
                            "fields: {rows: 6, cols: {default: 40, max: 64}, top: {default: 50}, ratio: {type: real, default: 0.25}, of: "
                            "{words: [a, b], default: b}}\n"
                            "let: {all: rows * cols, half: all / 2}\n"
                            "needs: rows * 2 <= cols\n"
                            "tensors:\n"
                            "  plain: {shape: [rows, cols]}\n"
                            "  share: {shape: [all], data: {uniform: [-3, 2.5]}, when: of == 'b'}\n"
                            "  pixel: {shape: [rows, cols], dtype: u8}\n"
                            "  place: {shape: [rows, cols], dtype: i32, data: {indices: top}}\n"
                            "  order: {shape: [rows, cols], data: sorted}\n"
                            "  out: {shape: [half, 2], dtype: u16, written: yes}\n"
                            "dtype: [f32, f16]\n"
                            "flop: 3 * all\n"
                            "terms: cols\n"
                            "exact: no\n"
                            "reference: {npy: {out: out.npy}}\n"
                            "trial: {one: {rows: 2}}\n";

/* One op is enough: it stays for the process. Its reference is no file here, and nobody asks for it. */
static void load(void)
{
    struct error err = {0};
    struct text t = {0};
    text_add(&t, kinds);
    char *at = strstr(t.data, "reference:"), *end = strchr(at, '\n');
    char *text =
        text_format("%.*sreference: {kernel: k, threads: all, args: [plain, out, half, ratio]}%s", (int)(at - t.data), t.data, end);
    char *cu = put("kinds.cu", "//", 2), *path = put("kinds.yaml", text, strlen(text));
    const char *extra[] = {path, NULL};
    if (!op_load(extra, &err) || !op_load(extra, &err))
        fail_msg("%s", err.text);
    text_free(&t);
    free(text);
    free(cu);
    free(path);
}

static struct work kinds_work(void)
{
    struct work w = {.op = op_find("kinds"), .dtype = DTYPE_F16, .layout = LAYOUT_LINEAR, .seed = 3};
    int64_t ratio;
    double quarter = 0.25;
    memcpy(&ratio, &quarter, sizeof ratio);
    const int64_t values[] = {6, 40, 50, ratio, 1};
    memcpy(w.value, values, sizeof values);
    return w;
}

static void test_work(void **state)
{
    load();
    struct work w = kinds_work();
    finish(&w);
    struct tensor t;
    struct value v;
    assert_true(work_symbol(&w, "half", &v) && v.i == 120);
    assert_true(work_symbol(&w, "ratio", &v) && v.kind == VALUE_REAL && v.d == 0.25);
    assert_true(work_symbol(&w, "of", &v) && v.kind == VALUE_TEXT && !strcmp(v.text, "b"));
    assert_true(work_tensor(&w, "out", &t) && t.rank == 2 && t.dim[0] == 120 && t.dim[1] == 2 && t.dtype == DTYPE_U16 && t.written);
    assert_true(work_tensor(&w, "share", &t) && t.dim[0] == 240 && t.dtype == DTYPE_F16);
    assert_true(work_flop(&w) == 720 && work_terms(&w) == 40);
    assert_true(work_bytes(&w) == 240 * (2 + 2 + 1 + 4 + 2 + 2));
    char first[HASH_TEXT], second[HASH_TEXT];
    work_key(&w, first);
    w.value[4] = 0;
    finish(&w);
    assert_false(work_tensor(&w, "share", &t));
    work_key(&w, second);
    assert_string_not_equal(first, second);
    w.value[0] = 21;
    refused(w, "kinds needs rows * 2 to be at most cols (rows * 2 = 42, rows = 21, cols = 40)");
    w.value[0] = 0;
    refused(w, "rows = 0 is not between 1");
    w.value[0] = 2, w.value[1] = 65;
    refused(w, "cols = 65 is not between 1 and 64");
    w = kinds_work(), w.dtype = DTYPE_BF16;
    refused(w, "does not work on bf16");
    w = kinds_work(), w.mask.pattern = MASK_FULL;
    refused(w, "takes no mask");
}

/* What no kernel can do without is what the file says, not the whole of a tensor of which parts are read. */
static void test_least(void **state)
{
    load();
    struct work w = {.op = op_find("thumbnails"), .dtype = DTYPE_F32, .layout = LAYOUT_NCHW, .seed = 3};
    const int64_t values[] = {1, 2160, 3840, 5, 60, 60};
    struct min_work least;
    memcpy(w.value, values, sizeof values);
    finish(&w);
    min_work_of(&w, NULL, NULL, &least);
    assert_true(least.write_bytes == 5 * 3 * 60 * 60 * 4);
    assert_true(least.read_bytes + least.write_bytes == work_bytes(&w) && least.read_bytes < 20000); /* of 25 MB */
}

/* A picture whose pixels a row of stages asks for, marked one by one; and how many of them. */
struct picture {
    bool mark[80][80];
    int h, w;
};
static double marked(const struct picture *p)
{
    double count = 0;
    for (int y = 0; y < p->h; y++)
        for (int x = 0; x < p->w; x++)
            count += p->mark[y][x];
    return count;
}
/* Between the four pixels around a place in the picture; one that has no weight is not asked for. */
static void ask_between(struct picture *p, double y, double x)
{
    for (int k = 0; k < 4; k++) {
        double at[2] = {floor(y + 1e-9) + k / 2, floor(x + 1e-9) + k % 2};
        int row = (int)fmin(fmax(at[0], 0), p->h - 1), column = (int)fmin(fmax(at[1], 0), p->w - 1);
        p->mark[row][column] |= fabs(at[0] - y) < 1 - 1e-9 && fabs(at[1] - x) < 1 - 1e-9;
    }
}

/* The bytes that an op with these stages reads of a u8 image of 3 channels (1 with `one`): its input is the only tensor that is not of
 * f32. */
static double bytes_read(const char *stages, int h, int w, int c, const char *out)
{
    static int number;
    struct error err = {0};
    char *name = text_format("reads_%c.yaml", 'a' + number++),
         *text = text_format("about: x\nfields: {h: {default: %d}, w: {default: %d}}\ntensors:\n"
                             "  input: {shape: [2, %d, h, w], dtype: u8, layout: NHWC}\n%s"
                             "  output: {shape: %s, dtype: f32, layout: NCHW, written: yes}\nmath: none\n%s\ntrial: {one: {}}\n",
                             h, w, c,
                             strstr(stages, "crop: {") ? "  boxes: {shape: [4, 4], dtype: i32, data: {boxes: {within: [h, w], sizes: [[7, "
                                                         "30], [31, 9]]}}}\n"
                                                       : "",
                             out, stages);
    char *path = put(name, text, strlen(text));
    const char *extra[] = {path, NULL};
    if (!op_load(extra, &err))
        fail_msg("%s", err.text);
    name[strlen(name) - strlen(".yaml")] = 0;
    struct work work = {.op = op_find(name), .dtype = DTYPE_F32, .layout = LAYOUT_LINEAR, .value = {h, w}};
    finish(&work);
    double read = stage_source(&work, &err);
    if (read < 0)
        fail_msg("%s", err.text);
    struct tensor list[OP_MAX_TENSORS];
    double others = read;
    for (int i = 0, count = work.op->tensors(&work, list); i < count; i++)
        others += strcmp(list[i].role->name, "input") ? (double)tensor_bytes(&list[i]) : 0;
    assert_true(work_bytes(&work) == others);
    free(name);
    free(text);
    free(path);
    return read;
}

static void test_reads(void **state)
{
    struct picture p = {.h = 51, .w = 66};
    for (int i = 0; i < 7 * 11; i++) /* 7 divides nothing; 66 is 6 times 11: whole places across, with weights of a half each */
        ask_between(&p, (i / 11 + 0.5) * 51 / 7 - 0.5, (i % 11 + 0.5) * 6 - 0.5);
    assert_true(bytes_read("stages: [{resize: {to_h: 7, to_w: 11}}, swap, {div: 255}]", 51, 66, 3, "[2, 3, 7, 11]") == 2 * 3 * marked(&p));
    assert_true(marked(&p) < 51 * 66 / 5.0);
    p = (struct picture){.h = 51, .w = 66};
    for (int i = 0; i < 17 * 22; i++) /* a third: one pixel, exactly */
        ask_between(&p, (i / 22 + 0.5) * 3 - 0.5, (i % 22 + 0.5) * 3 - 0.5);
    assert_true(marked(&p) == 17 * 22);
    assert_true(bytes_read("stages: [{resize: {to_h: 17, to_w: 22}}, grey, {sub: 1}]", 51, 66, 3, "[2, 1, 17, 22]") == 2 * 3 * marked(&p));
    assert_true(bytes_read("stages: [{resize: {to_h: 90, to_w: 70}}, {sub: 1}]", 51, 66, 3, "[2, 3, 90, 70]") == 2 * 3 * 51 * 66);
    assert_true(bytes_read("stages: [{take: 1}, {sub: 1}]", 51, 66, 3, "[2, 1, 51, 66]") == 2 * 51 * 66);
    assert_true(bytes_read("stages: [{nearest: {to_h: 5, to_w: 50}}, turn, {border: {by: 3}}, {sub: 1}]", 51, 66, 3, "[2, 3, 56, 11]") ==
                2 * 3 * 5 * 50);
    p = (struct picture){.h = 60, .w = 40}; /* NV12: brightness, and below it the pairs of the colours of the same pixels */
    for (int i = 0; i < 9 * 9; i++) {
        struct picture own = {.h = 40, .w = 40};
        ask_between(&own, (i / 9 + 0.5) * 40 / 9 - 0.5, (i % 9 + 0.5) * 40 / 9 - 0.5);
        for (int k = 0; k < 40 * 40; k++)
            if (own.mark[k / 40][k % 40])
                p.mark[k / 40][k % 40] = p.mark[40 + k / 80][k % 40 / 2 * 2] = p.mark[40 + k / 80][k % 40 / 2 * 2 + 1] = true;
    }
    assert_true(bytes_read("stages: [nv12, {resize: {to_h: 9, to_w: 9}}]", 60, 40, 1, "[2, 3, 9, 9]") == 2 * marked(&p));
    assert_true(bytes_read("stages: [i420, {resize: {to_h: 9, to_w: 9}}]", 60, 40, 1, "[2, 3, 9, 9]") == 2 * marked(&p)); /* as many */
    double both = 0; /* every other image of the batch in another way */
    p = (struct picture){.h = 51, .w = 66};
    for (int i = 0; i < 20 * 20; i++)
        ask_between(&p, (i / 20 + 0.5) * 51 / 20 - 0.5, (i % 20 + 0.5) * 66 / 20 - 0.5);
    both = 3 * (marked(&p) + 20 * 20);
    assert_true(bytes_read("stages: [branch: [[{resize: {to_h: 20, to_w: 20}}, {sub: 1}], [{nearest: {to_h: 20, to_w: 20}}, {div: 2}]]]",
                           51, 66, 3, "[2, 3, 20, 20]") == both);
    assert_true(bytes_read("stages: [{warp: {a: 65536, b: 0, c: 9, d: 0, e: 65536, f: 0}}]", 51, 66, 3, "[2, 3, 51, 66]") ==
                0); /* not known */
}

/* Rectangles: of tall ones and wide ones what becomes 8 x 8 with the ratio kept; over one another as often as chance has it. */
static void test_reads_boxes(void **state)
{
    struct picture tall = {.h = 30, .w = 7}, wide = {.h = 9, .w = 31};
    for (int i = 0; i < 8 * 2; i++) /* 7 x 30 becomes 2 x 8, 31 x 9 becomes 8 x 2 */
        ask_between(&tall, (i / 2 + 0.5) * 30 / 8 - 0.5, (i % 2 + 0.5) * 7 / 2 - 0.5);
    for (int i = 0; i < 2 * 8; i++)
        ask_between(&wide, (i / 8 + 0.5) * 9 / 2 - 0.5, (i % 8 + 0.5) * 31 / 8 - 0.5);
    double sum = 3 * 2 * (marked(&tall) + marked(&wide)), all = 2 * 3 * 51 * 66;
    double read =
        bytes_read("stages: [{crop: {most_h: 30, most_w: 31, each: 2}}, {mul: 2}, {fit: {to_h: 8, to_w: 8}}]", 51, 66, 3, "[4, 3, 8, 8]");
    assert_true(read < sum && read > sum * (1 - sum / all) && fabs(read - all * (1 - exp(-sum / all))) < 1e-9 * all);
}

static const float *values_of(const struct op_data *d, const char *name)
{
    return op_data_of(op_find("kinds"), (struct op_data *)(uintptr_t)d, name)->value;
}

static void test_data(void **state)
{
    load();
    struct error err = {0};
    struct work w = kinds_work();
    struct op_data d;
    finish(&w);
    for (int part = 0; part < 2; part++) {
        assert_true(op_data_inputs(&w, (enum data_part)part, &d, &err));
        const float *share = values_of(&d, "share"), *pixel = values_of(&d, "pixel"), *place = values_of(&d, "place"),
                    *order = values_of(&d, "order"), *plain = values_of(&d, "plain");
        float least = 9, most = -9, dark = 999, light = -1;
        for (int i = 0; i < 240; i++) {
            least = fminf(least, share[i]), most = fmaxf(most, share[i]);
            dark = fminf(dark, pixel[i]), light = fmaxf(light, pixel[i]);
            assert_true(pixel[i] == rintf(pixel[i]) && place[i] == rintf(place[i]) && place[i] >= 0 && place[i] < 50);
            assert_true(i % 40 == 0 || order[i - 1] <= order[i]);
            assert_true(plain[i] != rintf(plain[i])); /* an op that is never exact has reals in both sets */
            for (int k = i / 40 * 40; k < i; k++)
                assert_true(place[k] != place[i]);
        }
        assert_true(least >= -3 && least < -2.5 && most <= 2.5 && most > 2 && dark >= 0 && dark < 20 && light <= 255 && light > 235);
        op_data_free(&d);
    }
}

static void test_picture(void **state)
{
    static const char text[] =
        "about: a picture\nfields: {n: 2, w: {default: 3}}\ntensors:\n"
        "  input: {shape: [n, 3, 2, w], dtype: u8, layout: NHWC, data: {image: pic.ppm}}\n"
        "  out: {shape: [n], written: yes}\nreference: {kernel: k, threads: n, args: [input, out]}\ntrial: {one: {}}\n";
    struct error err = {0};
    char *cu = put("picture.cu", "//", 2), *pic = put("pic.ppm", "P6\n3 2\n255\nabcdefghijklmnopqr", 11 + 18),
         *path = put("picture.yaml", text, sizeof text - 1);
    const char *extra[] = {path, NULL};
    struct op_data d;
    if (!op_load(extra, &err))
        fail_msg("%s", err.text);
    struct work w = {.op = op_find("picture"), .dtype = DTYPE_F32, .layout = LAYOUT_LINEAR, .value = {2, 3}};
    finish(&w);
    assert_true(op_data_inputs(&w, DATA_PART_EXACT, &d, &err));
    const float *in = op_data_of(w.op, &d, "input")->value;
    for (int i = 0; i < 36; i++) /* n, c, h, w of interleaved samples */
        assert_true(in[i] == (float)('a' + i % 6 * 3 + i / 6 % 3));
    op_data_free(&d);
    w.value[1] = 4;
    finish(&w);
    assert_false(op_data_inputs(&w, DATA_PART_EXACT, &d, &err));
    assert_non_null(strstr(err.text, "is a picture of 3 channels, 3 x 2 pixels (width x height), samples up to 255; input needs 3, 4 x 2"));
    free(cu);
    free(pic);
    free(path);
}

/* Ops of stages read a video: NV12 with its planes in place, red, green and blue by the same matrix as the stage nv12; frames one after the
 * other. */
static void test_video(void **state)
{
    static const char nv12[] =
        "about: x\nfields: {n: 3, h: {default: 3}}\ntensors:\n  input: {shape: [n, 1, h, 4], dtype: u8, layout: NCHW}\n"
        "  output: {shape: [n, 3, 2, 4], dtype: f32, layout: NCHW, written: yes}\nmath: none\nstages: [nv12]\ntrial: {one: {}}\n";
    static const char rgb[] =
        "about: x\nfields: {n: 3, h: {default: 2}}\ntensors:\n  input: {shape: [n, 3, h, 4], dtype: u8, layout: NHWC}\n"
        "  output: {shape: [n, 3, h, 4], dtype: f32, layout: NCHW, written: yes}\nmath: none\nstages: [{mul: 2}]\ntrial: {one: {}}\n";
    static const char i420[] =
        "about: x\nfields: {n: 3, h: {default: 3}}\ntensors:\n  input: {shape: [n, 1, h, 4], dtype: u8, layout: NCHW}\n"
        "  output: {shape: [n, 3, 2, 4], dtype: f32, layout: NCHW, written: yes}\nmath: none\nstages: [i420]\ntrial: {one: {}}\n";
    /* two frames of 4 x 2: brightness, then two pixels of each colour */
    static const char video[] = "YUV4MPEG2 W4 H2 F25:1 C420\nFRAME\n\x10\x20\x30\x40\x50\x60\x70\x7f\x78\x80\x82\x80"
                                "FRAME\nAAAAAAAA\x80\x80\x80\x80";
    struct error err = {0};
    struct op_data d;
    char *path = put("video.y4m", video, sizeof video - 1), *one = put("of_video.yaml", nv12, sizeof nv12 - 1),
         *planar = put("of_planes.yaml", i420, sizeof i420 - 1), *other = put("of_colours.yaml", rgb, sizeof rgb - 1);
    const char *extra[] = {one, planar, other, NULL};
    if (!op_load(extra, &err))
        fail_msg("%s", err.text);
    struct work w = {.op = op_find("of_video"), .dtype = DTYPE_F32, .layout = LAYOUT_LINEAR, .value = {3, 3}};
    snprintf(w.picture, sizeof w.picture, "%s", path);
    finish(&w);
    assert_true(op_file_takes_picture(w.op) && op_data_inputs(&w, DATA_PART_PRECISION, &d, &err));
    static const float want[12] = {0x10, 0x20, 0x30, 0x40, 0x50, 0x60, 0x70, 0x7f, 0x78, 0x82, 0x80, 0x80};
    const float *in = op_data_of(w.op, &d, "input")->value;
    assert_memory_equal(in, want, sizeof want);
    assert_memory_equal(in + 24, want, sizeof want); /* the third of two is the first again */
    assert_true(in[12] == 'A' && in[20] == 0x80);
    op_data_free(&d);
    w.op = op_find("of_planes");
    finish(&w);
    assert_true(op_data_inputs(&w, DATA_PART_PRECISION, &d, &err));
    in = op_data_of(w.op, &d, "input")->value;
    assert_memory_equal(in, want, 8 * sizeof *want);
    assert_true(in[8] == 0x78 && in[9] == 0x80 && in[10] == 0x82 && in[11] == 0x80); /* as the file has them */
    op_data_free(&d);
    w.op = op_find("of_colours"), w.value[1] = 2;
    finish(&w);
    assert_true(op_data_inputs(&w, DATA_PART_PRECISION, &d, &err));
    in = op_data_of(w.op, &d, "input")->value;
    assert_true(in[0] == rint(0x10 + 1.402 * 2) && in[8] == rint(0x10 + 0.344136 * 8 - 0.714136 * 2) &&
                in[16] == rint(fmax(0x10 - 1.772 * 8, 0)));
    for (int i = 24; i < 48; i++)
        assert_true(in[i] == 'A');
    op_data_free(&d);
    w.value[1] = 3;
    finish(&w);
    assert_false(op_data_inputs(&w, DATA_PART_PRECISION, &d, &err));
    assert_non_null(strstr(err.text, "4 x 2 pixels (width x height), samples up to 255; input needs 3, 4 x 3"));
    free(path);
    free(planar);
    free(one);
    free(other);
}

/* A product with a bias and an addend: whole numbers that add up exactly, none of them 0. */
static void test_bias(void **state)
{
    static const char text[] =
        "about: x\nfields: {k: 64}\ntensors:\n  a: {shape: [9, k]}\n  w: {shape: [k, 5], data: weight}\n  b: {shape: [5], data: bias}\n"
        "  c: {shape: [9, 5], data: addend}\n  y: {shape: [9, 5], written: yes}\ndtype: f16\nterms: k + 2\n"
        "reference: {kernel: k, threads: 45, args: [a, w, b, c, y]}\ntrial: {one: {}}\n";
    struct error err = {0};
    struct op_data d;
    char *cu = put("of_bias.cu", "//", 2), *path = put("of_bias.yaml", text, sizeof text - 1);
    const char *extra[] = {path, NULL};
    if (!op_load(extra, &err))
        fail_msg("%s", err.text);
    struct work w = {.op = op_find("of_bias"), .dtype = DTYPE_F16, .layout = LAYOUT_LINEAR, .seed = 5, .value = {64}};
    finish(&w);
    assert_true(op_data_inputs(&w, DATA_PART_EXACT, &d, &err));
    const float *v[4];
    for (int i = 0; i < 4; i++)
        v[i] = op_data_of(w.op, &d, (const char *[]){"a", "w", "b", "c"}[i])->value;
    for (int i = 0; i < 45; i++) {
        double most = fabs((double)v[2][i % 5]) + fabs((double)v[3][i]);
        assert_true(v[2][i % 5] != 0 && v[3][i] != 0 && v[3][i] == rint(v[3][i]));
        for (int k = 0; k < 64; k++)
            most += fabs((double)v[0][i / 5 * 64 + k] * (double)v[1][k * 5 + i % 5]);
        assert_true(most <= 2048); /* what f16 holds */
    }
    op_data_free(&d);
    free(cu);
    free(path);
}

/* Whatever a tensor's own type is and whatever word draws it, it holds its values, of both sets; and they are not all the same. */
static void test_narrow(void **state)
{
    static const char *const types[] = {"f16", "bf16", "i8", "u8", "u16", "i32", "u32"}, *const words[] = {"normal", "weight",
                                                                                                           "bias",   "addend",
                                                                                                           "sorted", "{uniform: [0, 90]}"};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        for (size_t k = 0; k < sizeof words / sizeof *words; k++) {
            struct error err = {0};
            char name[40], other[40];
            snprintf(name, sizeof name, "narrow_%d_%d.yaml", (int)i, (int)k);
            snprintf(other, sizeof other, "narrow_%d_%d", (int)i, (int)k);
            char *text =
                     text_format("about: x\nfields: {n: 300}\ntensors:\n  a: {shape: [n], dtype: %s, data: %s}\n  b: {shape: [n]}\n"
                                 "  y: {shape: [n], written: yes}\nterms: 2\nreference: {kernel: k, threads: n, args: [a, b, y], source: "
                                 "narrow.cu}\ntrial: {one: {}}\n",
                                 types[i], words[k]),
                 *cu = put("narrow.cu", "//", 2), *path = put(name, text, strlen(text));
            const char *extra[] = {path, NULL};
            if (!op_load(extra, &err))
                fail_msg("%s", err.text);
            struct work w = {.op = op_find(other), .dtype = DTYPE_F32, .layout = LAYOUT_LINEAR, .seed = 5, .value = {300}};
            finish(&w);
            for (int part = 0; part < 2; part++) {
                struct op_data d;
                unsigned char storage[8];
                bool alike = true;
                assert_true(op_data_inputs(&w, (enum data_part)part, &d, &err));
                const float *a = op_data_of(w.op, &d, "a")->value;
                for (int n = 0; n < 300; n++) {
                    alike &= a[n] == a[0];
                    dtype_set(dtype_parse(types[i]), storage, 0, (double)a[n]);
                    if (!dtype_holds(dtype_parse(types[i]), (double)a[n]) || (float)dtype_get(dtype_parse(types[i]), storage, 0) != a[n])
                        fail_msg("%s of %s, set %d: %g", words[k], types[i], part, (double)a[n]);
                }
                if (alike && (part == DATA_PART_EXACT || types[i][0] != 'u'))
                    fail_msg("%s of %s, set %d: all are %g", words[k], types[i], part, (double)a[0]);
                op_data_free(&d);
            }
            free(text);
            free(cu);
            free(path);
        }
}

/* Ones with the probability that is asked for, in both sets. */
static void test_masks(void **state)
{
    static const char text[] =
        "about: x\nfields: {n: 40000}\ntensors:\n  a: {shape: [n]}\n  keep: {shape: [n], dtype: u8, data: {mask: 0.3}}\n"
        "  none: {shape: [n], data: {mask: 0}}\n  out: {shape: [n], written: yes}\n"
        "reference: {kernel: k, threads: n, args: [a, keep, out]}\ntrial: {one: {}}\n";
    struct error err = {0};
    struct op_data d;
    char *cu = put("of_masks.cu", "//", 2), *path = put("of_masks.yaml", text, sizeof text - 1);
    const char *extra[] = {path, NULL};
    if (!op_load(extra, &err))
        fail_msg("%s", err.text);
    struct work w = {.op = op_find("of_masks"), .dtype = DTYPE_F32, .layout = LAYOUT_LINEAR, .seed = 5, .value = {40000}};
    finish(&w);
    for (int part = 0; part < 2; part++) {
        assert_true(op_data_inputs(&w, (enum data_part)part, &d, &err));
        const float *keep = op_data_of(w.op, &d, "keep")->value, *none = op_data_of(w.op, &d, "none")->value;
        double ones = 0;
        for (int i = 0; i < 40000; i++) {
            assert_true((keep[i] == 0 || keep[i] == 1) && none[i] == 0);
            ones += keep[i];
        }
        assert_true(fabs(ones / 40000 - 0.3) < 0.01);
        op_data_free(&d);
    }
    free(cu);
    free(path);
}

/* A file like `kinds` with one line changed is refused with these words. */
static void broken(const char *line, const char *with, const char *place, const char *want)
{
    struct error err = {0};
    char *found = strstr(kinds, line), *name = xstrdup("broken_x.yaml");
    assert_non_null(found);
    char *text = text_format("%.*s%s%s", (int)(found - kinds), kinds, with, found + strlen(line)), *path = put(name, text, strlen(text));
    const char *extra[] = {path, NULL};
    char *whole = text_format("%s:%s: ", path, place);
    if (op_load(extra, &err))
        fail_msg("accepted: %s", with);
    if (!strstr(err.text, whole) || !strstr(err.text, want))
        fail_msg("said '%s', wanted '%s... %s'", err.text, whole, want);
    assert_int_equal(err.kind, ERROR_USAGE);
    free(whole);
    free(path);
    free(text);
    free(name);
}

static void test_broken(void **state)
{
    broken("about:", "abuot:", "1:1", "abuot");
    broken("cols: {default: 40, max: 64}", "cols: {default: 70, max: 64}", "2:35", "64");
    broken("rows: 6", "Rows: 6", "2:10", "lower case");
    broken("rows: 6", "dtype: 6", "2:10", "already used");
    broken("of: {words: [a, b], default: b}", "of: {words: [a, b], default: c}", "2:134", "'c'");
    broken("half: all / 2", "half: hall / 2", "3:31", "hall");
    broken("half: all / 2", "half: half / 2", "3:31", "half");
    broken("let: {all: rows * cols, half: all / 2}", "let: {all: rows * cols, rows: 2}", "3:25", "already used");
    broken("plain: {shape: [rows, cols]}", "plain: {shape: []}", "6:18", "shape");
    broken("plain: {shape: [rows, cols]}", "plain: {shape: [rows, kols]}", "6:25", "kols");
    broken("data: sorted", "data: sordid", "10:38", "sordid");
    broken("{indices: top}", "indices", "9:50", "upper limit");
    broken("{uniform: [-3, 2.5]}", "{uniform: [3, 2]}", "7:45", "uniform");
    broken("{uniform: [-3, 2.5]}", "{uniform: [1, 2, 3, 4, 5]}", "7:41", "a list of two to four is expected");
    broken("data: sorted", "data: {image: a.npy}", "10:46", "a picture");
    broken("dtype: [f32, f16]", "dtype: [f32, f61]", "12:14", "f61");
    broken("reference: {npy: {out: out.npy}}", "reference: {npy: {out: out.npy}}", "6:3", "needs `data: {npy: FILE}` too");
    broken("reference: {npy: {out: out.npy}}", "reference: {kernel: k, args: [plain], threads: 1}", "16:12", "there is no");
    broken("reference: {npy: {out: out.npy}}", "reference: {python: nowhere.py}", "16:21", "FILE:FUNCTION");
    broken("reference: {npy: {out: out.npy}}", "reference: {cuda: k}", "16:13", "cuda");
}

static void test_npy(void **state)
{
    struct error err = {0};
    struct npy a;
    const int64_t dim[] = {2, 3};
    const float values[] = {1, -2.5f, 3, 0, 1e30f, -0.0f};
    char *path = file_join(dir, "a.npy");
    size_t bytes;
    assert_true(npy_write(path, dim, 2, values, &err) && npy_read_shape(path, dim, 2, &a, &err));
    assert_true(a.count == 6 && a.value[1] == -2.5 && a.value[4] == (double)1e30f);
    npy_free(&a);
    assert_false(npy_read_shape(path, dim, 1, &a, &err));
    assert_non_null(strstr(err.text, "its shape is 2 x 3, but the op's is 2"));
    char *file = file_read(path, 1 << 20, &bytes, &err);
    for (size_t keep = 0; keep < bytes; keep++) { /* cut anywhere: one error, no wrong read */
        char *cut = put("cut.npy", file, keep);
        assert_false(npy_read(cut, &a, &err));
        free(cut);
    }
    static const char *const headers[] = {"{'descr': '>f4', 'fortran_order': False, 'shape': (1,), }",
                                          "{'descr': '<f4', 'fortran_order': True, 'shape': (1,), }",
                                          "{'descr': '<c8', 'fortran_order': False, 'shape': (1,), }",
                                          "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }",
                                          "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999, 99999999999), }",
                                          "{'descr': '<f4', 'fortran_order': False, 'shape': (1",
                                          "{'descr': 'O', 'shape': (1,)}",
                                          "{}"};
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++) {
        char *text = text_format("....NUMPY...%s....", headers[i]);
        text[3] = '\x93', text[9] = 1, text[10] = 0;
        char *start = text + 3;
        start[6] = 1, start[7] = 0, start[8] = (char)strlen(headers[i]), start[9] = 0;
        memmove(start + 10, headers[i], strlen(headers[i]) + 1);
        char *bad = put("bad.npy", start, 10 + strlen(headers[i]));
        if (npy_read(bad, &a, &err))
            fail_msg("accepted %s", headers[i]);
        free(bad);
        free(text);
    }
    unsigned char whole[128] = {0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0};
    const char *header = "{'descr': '<i2', 'fortran_order': False, 'shape': (2,), }";
    whole[8] = (unsigned char)strlen(header);
    memcpy(whole + 10, header, strlen(header));
    memcpy(whole + 10 + strlen(header), "\xff\xff\x00\x01", 4);
    char *shorts = put("i2.npy", (char *)whole, 14 + strlen(header));
    assert_true(npy_read(shorts, &a, &err) && a.rank == 1 && a.value[0] == -1 && a.value[1] == 256);
    npy_free(&a);
    free(shorts);
    for (size_t more = 1; more < 4; more++) { /* what nothing describes */
        char *longer = put("longer.npy", (char *)whole, 14 + strlen(header) + more);
        assert_false(npy_read(longer, &a, &err));
        assert_non_null(strstr(err.text, "bytes behind its last element"));
        free(longer);
    }
    free(file);
    free(path);
}

/* Bytes changed, taken away, put in: an error with its place or an op, never a crash. */
static void test_mutated(void **state)
{
    static const char bits[] = "{}[]:,-'\"#&*!|>%@`abz019.\n /+";
    uint64_t random = 7;
    for (int i = 0; i < 700; i++) {
        struct error err = {0};
        size_t length = strlen(kinds);
        char *text = xstrdup(kinds);
        for (int edits = 1 + i % 3; edits; edits--) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            size_t at = (size_t)(random >> 33) % length;
            char with = bits[(random >> 20) % (sizeof bits - 1)];
            if (random >> 60 < 8)
                text[at] = with;
            else
                memmove(text + at, text + at + 1, length - at), length--;
        }
        char *name = text_format("mutated_%c%c%c.yaml", (char)(97 + i % 26), (char)(97 + i / 26 % 26), (char)(97 + i / 676)),
             *path = put(name, text, length);
        const char *extra[] = {path, NULL};
        if (!op_load(extra, &err) && (err.kind != ERROR_USAGE || !strstr(err.text, name)))
            fail_msg("said '%s' of:\n%s", err.text, text);
        free(name);
        free(path);
        free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_work),       cmocka_unit_test(test_least),   cmocka_unit_test(test_data),
                                       cmocka_unit_test(test_picture),    cmocka_unit_test(test_video),   cmocka_unit_test(test_narrow),
                                       cmocka_unit_test(test_masks),      cmocka_unit_test(test_bias),    cmocka_unit_test(test_broken),
                                       cmocka_unit_test(test_npy),        cmocka_unit_test(test_mutated), cmocka_unit_test(test_reads),
                                       cmocka_unit_test(test_reads_boxes)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
