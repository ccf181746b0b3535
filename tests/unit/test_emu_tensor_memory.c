/* Tensor memory and tcgen05 on emu, tests/emu/tensor.cu: values against sums in double, the contents of each shape of load (PTX ISA 9.0,
 * "tcgen05 data movement shape"), and one fault a launch. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <cmocka.h>
#include "base/dtype.h"
#include "emu_run.h"

enum { M = 128, N = 64, K = 16 };

static void open_kernel(struct emu_test *t, const char *kernel)
{
    SCOPED char *ptx = emu_test_ptx("tensor_100a.ptx");
    emu_test_chip(t, "GB100", "tensor.cu", ptx, kernel);
    t->launch.block[0] = 128;
}

static float value(int i, int k)
{
    return (float)((i * 7 + k * 5) % 9 - 4);
}

/* Of the launch: the kind of its first report, and its text. */
static void launch_product(int fault, float *out, char kind[32], char text[512])
{
    struct emu_test t;
    const struct device_report *reports;
    uint16_t a[M * K], b[N * K];
    float zero[M * N] = {0};
    int count;
    for (int i = 0; i < M * K; i++)
        a[i] = f16_from_f32(value(i / K, i % K));
    for (int i = 0; i < N * K; i++)
        b[i] = f16_from_f32(value(3 * (i / K) + 1, i % K));
    open_kernel(&t, "product");
    emu_test_pointer(&t, emu_test_buffer(&t, "a", a, sizeof a));
    emu_test_pointer(&t, emu_test_buffer(&t, "b", b, sizeof b));
    uint64_t to = emu_test_buffer(&t, "out", zero, sizeof zero);
    emu_test_pointer(&t, to);
    emu_test_int(&t, fault);
    (void)emu_test_launch(&t);
    count = emu_device.reports(&t.dev, &reports);
    snprintf(kind, 32, "%s", count ? reports[0].kind : "");
    snprintf(text, 512, "%s", count ? reports[0].text : "");
    emu_test_read(&t, to, out, sizeof zero);
    emu_test_close(&t);
}

static void a_product_is_its_sums(void **state)
{
    float out[M * N];
    char kind[32], text[512];
    launch_product(0, out, kind, text);
    assert_string_equal(text, "");
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            double want = 0;
            for (int k = 0; k < K; k++)
                want += 2 * (double)value(i, k) * (double)value(3 * j + 1, k);
            if ((double)out[i * N + j] != want)
                fail_msg("(%d, %d) is %g, want %g", i, j, (double)out[i * N + j], want);
        }
}

static void each_fault_is_reported(void **state)
{
    static const struct {
        const char *kind, *text;
    } want[] = {{"race", "no warp has waited for an mbarrier of a later tcgen05.commit"},
                {"tensor_memory", "tcgen05.dealloc is missing"},
                {"proxy_fence", "no fence.proxy.async between them"},
                {"async_wait", "may still read"},
                {"out_of_bounds", "reaches lanes 32 to 63 of tensor memory"},
                {"out_of_bounds", "column 64 of tensor memory is not allocated"},
                {"uninitialised", "the product adds to lane 0, column 0"},
                {"tensor_memory", "512 contiguous columns are requested"},
                {"descriptor", "a product of 96 x 64 with 1 block does not exist"}};
    float out[M * N];
    for (int i = 0; i < (int)(sizeof want / sizeof *want); i++) {
        char kind[32], text[512];
        launch_product(i + 1, out, kind, text);
        if (strcmp(kind, want[i].kind) || !strstr(text, want[i].text))
            fail_msg("fault %d: %s: %s; want %s: %s", i + 1, kind, text, want[i].kind, want[i].text);
    }
}

static void shapes_hold_their_lanes_and_columns(void **state)
{
    struct emu_test t;
    uint32_t out[128 * 11] = {0};
    open_kernel(&t, "shapes");
    uint64_t to = emu_test_buffer(&t, "out", out, sizeof out);
    emu_test_pointer(&t, to);
    emu_test_finish(&t, to, out, sizeof out);
    for (uint32_t i = 0; i < 128; i++) {
        uint32_t l = i % 32, base = i / 32 * 32, row = l / 4, of = (l / 4 + l / 2 % 2 * 8 + base) * 100 + l % 2;
        const uint32_t want[11] = {of,
                                   of + 2,
                                   (base + 16 + row) * 100 + l % 4,
                                   (base + 24 + row) * 100 + l % 4,
                                   (base + row) * 100 + l % 4 * 2,
                                   (base + row) * 100 + l % 4 * 2 + 1,
                                   (base + 8 + row) * 100 + l % 4 * 2,
                                   (base + 8 + row) * 100 + l % 4 * 2 + 1,
                                   (base + l % 16) * 100 + l / 16 * 8,
                                   (base + l % 16) * 100 + l / 16 * 8 + 1,
                                   (i * 100 + 4) | (i * 100 + 5) << 16};
        for (int r = 0; r < 11; r++)
            if (out[i * 11 + (uint32_t)r] != want[r])
                fail_msg("thread %u, register %d: %u, want %u", i, r, out[i * 11 + (uint32_t)r], want[r]);
    }
}

static void copy_to_all_quarters(int bits)
{
    struct emu_test t;
    uint32_t in[128], out[512] = {0}, want[128];
    for (uint32_t i = 0; i < 128; i++)
        in[i] = i * i * 2654435761u + 3;
    memcpy(want, in, sizeof want);
    for (int i = 0; i < 512 && bits; i++) { /* element i of 16 in a row begins at that bit of the row */
        uint32_t first = (uint32_t)(i % 16 * bits), v = 0;
        for (uint32_t b = 0; b < (uint32_t)bits; b++)
            v |= (in[i / 16 * 4 + (int)(first + b) / 32] >> (first + b) % 32 & 1) << b;
        ((uint8_t *)want)[i] = (uint8_t)v;
    }
    open_kernel(&t, "copies");
    emu_test_pointer(&t, emu_test_buffer(&t, "in", in, sizeof in));
    uint64_t to = emu_test_buffer(&t, "out", out, sizeof out);
    emu_test_pointer(&t, to);
    emu_test_int(&t, bits);
    emu_test_finish(&t, to, out, sizeof out);
    for (int i = 0; i < 512; i++)
        assert_int_equal(out[i], want[i % 128]);
}

static void a_copy_goes_to_all_quarters(void **state)
{
    copy_to_all_quarters(0);
    copy_to_all_quarters(4);
    copy_to_all_quarters(6);
}

/* Rows behind the last are 0. */
static void a_kernel_makes_its_own_map(void **state)
{
    struct emu_test t;
    float in[12 * 32], out[128];
    const int rows = 12, first = 7;
    for (int i = 0; i < 12 * 32; i++)
        in[i] = (float)(i * 3 + 1);
    open_kernel(&t, "own_map");
    emu_test_pointer(&t, emu_test_buffer(&t, "in", in, sizeof in));
    emu_test_pointer(&t, emu_test_buffer(&t, "kept", NULL, 128));
    uint64_t to = emu_test_buffer(&t, "out", out, sizeof out);
    emu_test_pointer(&t, to);
    emu_test_int(&t, rows);
    emu_test_int(&t, first);
    emu_test_finish(&t, to, out, sizeof out);
    for (int r = 0; r < 8; r++)
        for (int c = 0; c < 16; c++) {
            float want = first + r < rows ? in[(first + r) * 32 + 8 + c] : 0;
            if (out[r * 16 + c] != want)
                fail_msg("(%d, %d) is %g, want %g", r, c, (double)out[r * 16 + c], (double)want);
        }
}

/* Bits 3 and 31 of a scaled product's descriptor change its depth. emu refuses a depth that the chip or the kind of product does not have.
 */
static void other_depths_are_refused(void **state)
{
    static const struct {
        const char *chip, *kind, *text;
        uint32_t descriptor;
    } tries[] = {{"GB100", "mxf4", "twice the depth is of sm_107 alone", 143656072},
                 {"GB100", "mxf8f6f4", "twice the depth is of sm_107 alone", 0x88900000},
                 {"GB100", "mxf4", "a depth of 96 is of sm_103 alone", 0x88900000},
                 {"sm_107", "mxf4", "a depth of 96 is of sm_103 alone", 0x88900000},
                 {"sm_103", "mxf4", "emu supports no other depth", 0x88900008},
                 {"sm_107", "mxf8f6f4", "emu supports no other depth", 0x08900008}};
    for (size_t i = 0; i < sizeof tries / sizeof *tries; i++) {
        struct emu_test t;
        const struct device_report *reports;
        SCOPED char *ptx = text_format(
            ".version 9.0\n.target sm_100a\n.address_size 64\n.visible .entry k()\n{\n.reg .b32 r<4>; .reg .b64 d; .reg .pred p;\n"
            ".shared .align 16 .b32 at;\nmov.u32 r1, at;\ntcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [r1], 64;\n"
            "ld.shared.b32 r2, [r1];\nmov.b32 r3, %u;\nmov.b64 d, 0;\nmov.u32 r1, %%tid.x;\nsetp.eq.u32 p, r1, 0;\n"
            "@p tcgen05.mma.cta_group::1.kind::%s.block_scale.block32 [r2], d, d, r3, [r2+32], [r2+48], p;\nret;\n}\n",
            tries[i].descriptor, tries[i].kind);
        emu_test_chip(&t, tries[i].chip, "depth", ptx, "k");
        (void)emu_test_launch(&t);
        bool said = false;
        for (int k = 0, count = emu_device.reports(&t.dev, &reports); k < count; k++)
            said |= strstr(reports[k].text, tries[i].text) != NULL;
        if (!said)
            fail_msg("%s, %s, 0x%x: not refused", tries[i].chip, tries[i].kind, tries[i].descriptor);
        emu_test_close(&t);
    }
}

/* Instructions of a pair of blocks in a launch without clusters. */
static void a_pair_needs_a_cluster(void **state)
{
    static const char *const texts[] = {"tcgen05.shift.cta_group::2.down [r2];", "tcgen05.cp.cta_group::2.128x256b [r2], d;"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct emu_test t;
        const struct device_report *reports;
        SCOPED char *ptx = text_format(
            ".version 9.0\n.target sm_100a\n.address_size 64\n.visible .entry k()\n{\n.reg .b32 r<4>; .reg .b64 d;\n"
            ".shared .align 16 .b32 at;\nmov.u32 r1, at;\ntcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [r1], 32;\n"
            "ld.shared.b32 r2, [r1];\nmov.b64 d, 0x400000000000;\n%s\ntcgen05.dealloc.cta_group::2.sync.aligned.b32 r2, 32;\nret;\n}\n",
            texts[i]);
        emu_test_chip(&t, "GB100", "pair", ptx, "k");
        (void)emu_test_launch(&t);
        assert_true(emu_device.reports(&t.dev, &reports) > 0);
        assert_non_null(strstr(reports[0].text, "cta_group::2 needs a cluster of two blocks or more"));
        emu_test_close(&t);
    }
}

/* Row i of 32 becomes row i + 1, the last one stays: by the instruction, and where a product reads its first matrix so. */
static void rows_move_down(void **state)
{
    static uint32_t in[M * 8], out[M * 16];
    for (int i = 0; i < M * 8; i++)
        in[i] = (uint32_t)f16_from_f32((float)(i % 1021)) | (uint32_t)f16_from_f32((float)(i % 509 + 0.5)) << 16;
    for (int how = 0; how < 2; how++) {
        struct emu_test t;
        open_kernel(&t, "shifted");
        emu_test_pointer(&t, emu_test_buffer(&t, "in", in, sizeof in));
        uint64_t to = emu_test_buffer(&t, "out", out, sizeof out);
        emu_test_pointer(&t, to);
        emu_test_int(&t, how);
        emu_test_finish(&t, to, out, sizeof out);
        for (int i = 0; i < M * 16; i++) {
            int row = i / 16, from = row % 32 == 31 ? row : row + 1, k = i % 16;
            uint32_t pair = in[from * 8 + (how ? k / 2 : k % 8)];
            float half = f16_to_f32((uint16_t)(pair >> 16 * (k % 2)));
            uint32_t want = pair;
            if (how)
                memcpy(&want, &half, 4);
            if (out[i] != want)
                fail_msg("how %d: row %d, %d: 0x%x, want 0x%x", how, row, k, out[i], want);
        }
    }
}

/* ---- a depth of 96 (sm_103) ---- */
enum { IMAGE = 65536, SCALES = 32, DEPTH = 96 };
struct ultra {
    int block, n, id_a, id_b; /* elements of a scale; byte of its first one */
    bool e4m3;
    int swizzle, at;      /* 0 or 128; where a row begins in its 128 bytes */
    uint64_t other;       /* bits of the descriptors that are wrong */
    const char *reported; /* NULL: right */
};

static double scale_value(uint8_t v, bool e4m3)
{
    return !e4m3 ? ldexp(1, v - 127) : v >> 3 ? ldexp(1 + (v & 7) / 8.0, (v >> 3) - 7) : ldexp(v & 7, -9);
}

/* Where byte k of row r lies, `base` beginning a matrix of `rows` rows. */
static int image_place(const struct ultra *u, int base, int rows, int r, int k)
{
    if (!u->swizzle)
        return base + r / 8 * 384 + k / 16 * 128 + r % 8 * 16 + k % 16;
    int at = base + (u->at + k) / 128 * rows * 128 + r * 128 + (u->at + k) % 128;
    return at ^ (at >> 7 & 7) << 4;
}

/* Rows of 4-bit elements in `image`, their scales in `words`, and the values of all. */
static void fill_operand(const struct ultra *u, bool is_b, uint8_t *image, uint32_t *words, double *value)
{
    static const double e2m1[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
    int rows = is_b ? u->n : M, base = is_b ? 32768 : 0, id = is_b ? u->id_b : u->id_a, next = rows > 128 ? 8 : 4;
    for (int r = 0; r < rows; r++) {
        double scale[6] = {0};
        for (int g = 0; g < DEPTH / u->block; g++) {
            uint8_t v = (uint8_t)((u->e4m3 ? 40 : 124) + (r * 5 + g * 3 + is_b) % 7);
            int column = (is_b ? 16 : 0) + r / 32 + (id + g) / 4 * next;
            for (int quarter = 0; quarter < 4; quarter++)
                words[(quarter * 32 + r % 32) * SCALES + column] |= (uint32_t)v << (id + g) % 4 * 8;
            scale[g] = scale_value(v, u->e4m3);
        }
        for (int k = 0; k < DEPTH; k++) {
            int code = (r * 7 + k * 11 + k / 16 + is_b) % 16;
            image[image_place(u, base, rows, r, k / 2)] |= (uint8_t)(code << k % 2 * 4);
            value[r * DEPTH + k] = (code & 8 ? -1 : 1) * e2m1[code & 7] * scale[k / u->block];
        }
    }
}

static uint64_t image_descriptor(const struct ultra *u, int base, int rows)
{
    if (!u->swizzle)
        return (uint64_t)base >> 4 | (128ull >> 4) << 16 | (384ull >> 4) << 32 | 1ull << 46 | u->other;
    uint64_t next = u->at + 48 > 128 ? (uint64_t)(base + rows * 128) >> 4 << 16 | 1ull << 52 : 0;
    return (uint64_t)(base + u->at) >> 4 | next | (1024ull >> 4) << 32 | 1ull << 46 | 2ull << 61 | u->other;
}

static void a_depth_of_96(void **state)
{
    static const struct ultra tries[] = {
        {.block = 16, .n = 64, .e4m3 = true},
        {.block = 16, .n = 128, .id_a = 2, .id_b = 2, .e4m3 = true},
        {.block = 16, .n = 256, .id_b = 2},
        {.block = 32, .n = 64, .id_a = 3, .id_b = 1},
        {.block = 32, .n = 256, .id_a = 2, .id_b = 3},
        {.block = 16, .n = 64, .e4m3 = true, .swizzle = 128, .at = 48},
        {.block = 16, .n = 128, .e4m3 = true, .swizzle = 128, .at = 96},
        {.block = 32, .n = 128, .swizzle = 128, .at = 112},
        {.block = 16, .n = 64, .id_a = 1, .reported = "begin at byte 0 or 2"},
        {.block = 16, .n = 64, .other = 1ull << 52, .reported = "is for rows of 48 bytes and a swizzle of 128"},
        {.block = 16, .n = 64, .other = 4ull << 61 | 32 >> 4, .reported = "need its address"}};
    for (size_t i = 0; i < sizeof tries / sizeof *tries; i++) {
        static uint8_t image[IMAGE];
        static uint32_t words[M * SCALES];
        static double a[M * DEPTH], b[256 * DEPTH];
        static float out[M * 256];
        const struct ultra *u = &tries[i];
        const struct device_report *reports;
        struct emu_test t;
        memset(image, 0, sizeof image);
        memset(words, 0, sizeof words);
        fill_operand(u, false, image, words, a);
        fill_operand(u, true, image, words, b);
        SCOPED char *ptx = emu_test_ptx("tensor_100a.ptx");
        emu_test_chip(&t, "sm_103", "tensor.cu", ptx, "by_image");
        t.launch.block[0] = 128;
        t.launch.smem = IMAGE;
        emu_test_pointer(&t, emu_test_buffer(&t, "image", image, sizeof image));
        emu_test_pointer(&t, emu_test_buffer(&t, "scales", words, sizeof words));
        uint64_t to = emu_test_buffer(&t, "out", out, sizeof out);
        emu_test_pointer(&t, to);
        emu_test_pointer(&t, image_descriptor(u, 0, M));
        emu_test_pointer(&t, image_descriptor(u, 32768, u->n));
        emu_test_int(&t, (int)(1u << 31 | (uint32_t)u->id_a << 29 | 1u << 27 | (uint32_t)!u->e4m3 << 23 | (uint32_t)u->n / 8 << 17 |
                               1u << 10 | 1u << 7 | (uint32_t)u->id_b << 4));
        emu_test_int(&t, u->block);
        (void)emu_test_launch(&t);
        int count = emu_device.reports(&t.dev, &reports);
        const char *text = count ? reports[0].text : "";
        if (u->reported ? !strstr(text, u->reported) : count)
            fail_msg("%zu: '%s'", i, text);
        emu_test_read(&t, to, out, sizeof out);
        emu_test_close(&t);
        for (int k = 0; k < M * u->n && !u->reported; k++) {
            double want = 0;
            for (int d = 0; d < DEPTH; d++)
                want += a[k / u->n * DEPTH + d] * b[k % u->n * DEPTH + d];
            if (out[k] != (float)want)
                fail_msg("%zu: (%d, %d) is %g, want %g", i, k / u->n, k % u->n, (double)out[k], want);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_product_is_its_sums),
                                       cmocka_unit_test(each_fault_is_reported),
                                       cmocka_unit_test(shapes_hold_their_lanes_and_columns),
                                       cmocka_unit_test(a_copy_goes_to_all_quarters),
                                       cmocka_unit_test(a_kernel_makes_its_own_map),
                                       cmocka_unit_test(other_depths_are_refused),
                                       cmocka_unit_test(a_pair_needs_a_cluster),
                                       cmocka_unit_test(rows_move_down),
                                       cmocka_unit_test(a_depth_of_96)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
