/* Tensor memory and tcgen05 on emu, tests/emu/tensor.cu: values against sums in double, what each shape of load holds (PTX ISA 9.0,
 * "tcgen05 data movement shape"), and one fault a launch. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
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
    } want[] = {{"race", "nobody has waited for an mbarrier of a tcgen05.commit"},
                {"tensor_memory", "tcgen05.dealloc is missing"},
                {"proxy_fence", "no fence.proxy.async between them"},
                {"async_wait", "may still read"},
                {"out_of_bounds", "reaches lanes 32 to 63 of tensor memory"},
                {"out_of_bounds", "column 64 of tensor memory is not allocated"},
                {"uninitialised", "the product adds to lane 0, column 0"},
                {"tensor_memory", "512 columns are asked for"},
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

/* Bits 3 and 31 of a scaled product's descriptor change its depth: what they mean elsewhere, or not at all, is no product of the usual one.
 */
static void other_depths_are_refused(void **state)
{
    static const struct {
        const char *chip, *kind, *text;
        uint32_t descriptor;
    } tries[] = {{"GB100", "mxf4", "twice the depth is of sm_107 alone", 143656072},
                 {"GB100", "mxf8f6f4", "twice the depth is of sm_107 alone", 0x88900000},
                 {"sm_107", "mxf4", "emu supports no other depth", 0x88900000},
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

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_product_is_its_sums),
                                       cmocka_unit_test(each_fault_is_reported),
                                       cmocka_unit_test(shapes_hold_their_lanes_and_columns),
                                       cmocka_unit_test(a_copy_goes_to_all_quarters),
                                       cmocka_unit_test(a_kernel_makes_its_own_map),
                                       cmocka_unit_test(other_depths_are_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
