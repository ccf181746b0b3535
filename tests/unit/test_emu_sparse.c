/* mma.sp, wgmma.sp and the products of floats of 4 and 6 bits in bytes, against a dense product in double. The test makes fragments and
 * metadata from a dense matrix, after the figures of PTX ISA 9.0. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "emu_run.h"

struct type {
    const char *word;
    int bits, exponent, mantissa, left; /* exponent 0: an integer; left: padding bits below */
    bool is_signed;
};
static const struct type types[] = {{"f16", 16, 5, 10, 0, true}, {"bf16", 16, 8, 7, 0, true}, {"tf32", 32, 8, 23, 0, true},
                                    {"e4m3", 8, 4, 3, 0, true},  {"e5m2", 8, 5, 2, 0, true},  {"e2m3", 8, 2, 3, 0, true},
                                    {"e3m2", 8, 3, 2, 0, true},  {"e2m1", 8, 2, 1, 2, true},  {"s8", 8, 0, 0, 0, true},
                                    {"u8", 8, 0, 0, 0, false},   {"s4", 4, 0, 0, 0, true},    {"u4", 4, 0, 0, 0, false},
                                    {"e2m1", 4, 2, 1, 0, true}};
enum { F16, BF16, TF32, E4M3, E5M2, E2M3, E3M2, E2M1, S8, U8, S4, U4, E2M1_PAIRS };

static uint64_t state = 37;
static int any(int below)
{
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return (int)((state >> 20) % (unsigned)below);
}

/* A value that the type holds exactly, not 0, and its code. */
static double draw(const struct type *t, uint32_t *code)
{
    static const double values[] = {1, 2, 1.5, -1, -2, 3, -1.5, -3};
    if (!t->exponent) {
        int v = any((1 << t->bits) - 1) + 1;
        *code = (uint32_t)v;
        return t->is_signed && v >> (t->bits - 1) ? v - (1 << t->bits) : v;
    }
    double v = values[any(8)], m = fabs(v);
    int e = m >= 2 ? 1 : 0, bias = (1 << (t->exponent - 1)) - 1;
    uint32_t sign = v < 0 ? 1u << (t->exponent + t->mantissa) : 0;
    *code = (sign | (uint32_t)(e + bias) << t->mantissa | (uint32_t)ldexp(m / (1 << e) - 1, t->mantissa)) << t->left;
    return v;
}

static void put(uint8_t *bytes, int at, const struct type *t, uint32_t code)
{
    if (t->bits == 4)
        bytes[at / 2] |= (uint8_t)(code << at % 2 * 4);
    else
        memcpy(bytes + at * t->bits / 8, &code, (size_t)t->bits / 8);
}

/* Of 16 rows: values of a, what is stored of it, the metadata by lane. Ordered: the lower index comes first. */
struct half {
    double a[16][128];
    uint8_t stored[16][32];
    uint32_t metadata[32];
};

static void sparse_rows(struct half *h, const struct type *t, int k, int selector, bool ordered)
{
    int wide = t->bits == 32 ? 2 : t->bits == 4 ? 8 : 4, pair = t->bits == 4 ? 2 : 1, chunks = k / wide, lanes = chunks / 4;
    memset(h, 0, sizeof *h);
    for (int i = 0; i < 32; i++)
        h->metadata[i] = 0x5a5a5a5a; /* of lanes that are not asked */
    for (int row = 0; row < 16; row++)
        for (int c = 0; c < chunks; c++) {
            int first = any(t->bits == 32 ? 2 : 4), second = (first + 1 + any(3)) % 4, lane, shift;
            if (ordered && second < first && t->bits != 32)
                lane = first, first = second, second = lane;
            uint32_t bits = t->bits == 32 ? (first ? 0xe : 4) : (uint32_t)(first | second << 2);
            for (int i = 0; i < wide / 2; i++) {
                uint32_t code;
                double v = draw(t, &code);
                int unit = i / pair ? second : first;
                h->a[row][c * wide + unit * pair + i % pair] = v;
                put(h->stored[row], c * wide / 2 + i, t, code);
            }
            if (t->bits <= 8)
                lane = row % 8 * 4 + lanes * selector + (c < 8 ? 0 : 2) + (row < 8 ? 0 : 1), shift = c % 8 * 4;
            else
                lane = row % 8 * 4 + lanes * selector + c / 4, shift = c % 4 * 4 + (row < 8 ? 0 : 16);
            h->metadata[lane] = (h->metadata[lane] & ~(15u << shift)) | bits << shift;
        }
}

static void dense_rows(struct half *h, const struct type *t, int k)
{
    uint32_t code;
    memset(h, 0, sizeof *h);
    for (int row = 0; row < 16; row++)
        for (int i = 0; i < k; i++) {
            h->a[row][i] = draw(t, &code);
            put(h->stored[row], i, t, code);
        }
}

/* One instruction of m16n8: its words; selector -1: dense. */
static void product(const char *chip, const char *target, const char *words, int ta, int tb, int k, int selector)
{
    static struct half h;
    struct emu_test t;
    double b[128][8];
    uint8_t columns[8][64] = {0};
    uint32_t in[32][16] = {0}, got[32][4], code;
    const struct type *a = &types[ta], *bt = &types[tb];
    bool sparse = selector >= 0, whole = !a->exponent;
    int stored = sparse ? k / 2 : k, na = 16 * stored * a->bits / 1024, nb = 8 * k * bt->bits / 1024;
    if (sparse)
        sparse_rows(&h, a, k, selector, strstr(words, "ordered") != NULL);
    else
        dense_rows(&h, a, k);
    for (int col = 0; col < 8; col++)
        for (int i = 0; i < k; i++) {
            b[i][col] = draw(bt, &code);
            put(columns[col], i, bt, code);
        }
    for (int lane = 0; lane < 32; lane++) {
        for (int r = 0; r < na; r++)
            memcpy(&in[lane][r], h.stored[lane / 4 + 8 * (na > 1 ? r % 2 : 0)] + (na > 1 ? r / 2 : 0) * 16 + lane % 4 * 4, 4);
        for (int r = 0; r < nb; r++)
            memcpy(&in[lane][4 + r], columns[lane / 4] + r * 16 + lane % 4 * 4, 4);
        in[lane][12] = h.metadata[lane];
    }
    SCOPED char *tail = sparse ? text_format(", r12, %d", selector) : xstrdup("");
    SCOPED char *regs_a = text_format(na == 1   ? "{r0}"
                                      : na == 2 ? "{r0, r1}"
                                                : "{r0, r1, r2, r3}"),
                *regs_b = text_format(nb == 1   ? "{r4}"
                                      : nb == 2 ? "{r4, r5}"
                                                : "{r4, r5, r6, r7}");
    const char *result = whole ? "s32" : "f32";
    SCOPED char *ptx = text_format(
        ".version 9.0\n.target %s\n.address_size 64\n.visible .entry k(.param .u64 out, .param .u64 in)\n{\n.reg .b64 o, i, x;\n"
        ".reg .b32 r<16>, d<4>, n;\nld.param.u64 o, [out];\nld.param.u64 i, [in];\nmov.u32 n, %%tid.x;\nmul.wide.u32 x, n, 64;\n"
        "add.u64 i, i, x;\nmul.wide.u32 x, n, 16;\nadd.u64 o, o, x;\nld.global.v4.u32 {r0, r1, r2, r3}, [i];\n"
        "ld.global.v4.u32 {r4, r5, r6, r7}, [i+16];\nld.global.u32 r12, [i+48];\n"
        "mov.b32 d0, 0;\nmov.b32 d1, 0;\nmov.b32 d2, 0;\nmov.b32 d3, 0;\n"
        "mma%s.sync.aligned.m16n8k%d.row.col%s.%s.%s.%s.%s {d0, d1, d2, d3}, %s, %s, {d0, d1, d2, d3}%s;\n"
        "st.global.v4.u32 [o], {d0, d1, d2, d3};\nret;\n}\n",
        target, words, k, strstr(target, "120") ? ".kind::f8f6f4" : "", result, a->word, bt->word, result, regs_a, regs_b, tail);
    emu_test_chip(&t, chip, words, ptx, "k");
    uint64_t out = emu_test_buffer(&t, "out", NULL, sizeof got);
    emu_test_pointer(&t, out);
    emu_test_pointer(&t, emu_test_buffer(&t, "in", in, sizeof in));
    emu_test_finish(&t, out, got, sizeof got);
    for (int lane = 0; lane < 32; lane++)
        for (int r = 0; r < 4; r++) {
            int row = lane / 4 + r / 2 * 8, col = lane % 4 * 2 + r % 2;
            double want = 0;
            float f;
            for (int i = 0; i < k; i++)
                want += h.a[row][i] * b[i][col];
            memcpy(&f, &got[lane][r], 4);
            double have = whole ? (double)(int32_t)got[lane][r] : (double)f;
            if (have != want)
                fail_msg("%s %s.%s k%d selector %d: row %d, column %d: %g, want %g", words, a->word, bt->word, k, selector, row, col, have,
                         want);
        }
}

static void sparse_mma(void **s)
{
    static const struct {
        int a, b, k, selectors;
    } forms[] = {{F16, F16, 16, 4},  {F16, F16, 32, 2},   {BF16, BF16, 16, 4}, {BF16, BF16, 32, 2},
                 {TF32, TF32, 8, 4}, {TF32, TF32, 16, 2}, {E4M3, E5M2, 64, 1}, {E5M2, E4M3, 64, 1},
                 {S8, U8, 32, 2},    {U8, S8, 64, 1},     {S4, U4, 64, 2},     {U4, S4, 128, 1}};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        for (int selector = 0; selector < forms[i].selectors; selector++) {
            product("GH100", "sm_90a", ".sp", forms[i].a, forms[i].b, forms[i].k, selector);
            product("GH100", "sm_90a", ".sp::ordered_metadata", forms[i].a, forms[i].b, forms[i].k, selector);
        }
}

static void narrow_floats(void **s)
{
    for (int a = E4M3; a <= E2M1; a++)
        for (int b = E4M3; b <= E2M1; b++) {
            product("GB202", "sm_120a", "", a, b, 32, -1);
            product("GB202", "sm_120a", ".sp::ordered_metadata", a, b, 64, 0);
        }
}

/* wgmma.sp of 64 x 8: a from registers or, K-major without swizzle, from shared memory. */
static void group_product(int ta, int tb, int selector, bool shared)
{
    static struct half h[4];
    struct emu_test t;
    const struct type *a = &types[ta], *bt = &types[tb];
    int k = 512 / a->bits;
    bool whole = !a->exponent;
    double b[64][8];
    struct {
        uint32_t a[512], b[128], regs[128][4], metadata[128]; /* 64 rows of 32 bytes; 8 columns of 64 */
    } in = {0};
    uint32_t got[128][4], code;
    for (int w = 0; w < 4; w++) {
        sparse_rows(&h[w], a, k, selector, w % 2);
        memcpy(in.metadata + 32 * w, h[w].metadata, sizeof h[w].metadata);
        for (int row = 0; row < 16; row++)
            for (int chunk = 0; chunk < 2; chunk++)
                memcpy((uint8_t *)in.a + (16 * w + row) / 8 * 256 + chunk * 128 + row % 8 * 16, h[w].stored[row] + 16 * chunk, 16);
        for (int lane = 0; lane < 32; lane++)
            for (int r = 0; r < 4; r++)
                memcpy(&in.regs[32 * w + lane][r], h[w].stored[lane / 4 + 8 * (r % 2)] + r / 2 * 16 + lane % 4 * 4, 4);
    }
    for (int col = 0; col < 8; col++) {
        uint8_t bytes[64] = {0};
        for (int i = 0; i < k; i++) {
            b[i][col] = draw(bt, &code);
            put(bytes, i, bt, code);
        }
        for (int chunk = 0; chunk < 4; chunk++)
            memcpy((uint8_t *)in.b + chunk * 128 + col * 16, bytes + 16 * chunk, 16);
    }
    SCOPED char *ptx = text_format(
        PTX_HEAD ".visible .entry k(.param .u64 out, .param .u64 in)\n{\n.reg .b64 o, i, x, da, db;\n.reg .b32 r<5>, d<4>, n, s, v;\n"
                 ".reg .pred p;\n.shared .align 128 .b8 sm[2560];\nld.param.u64 o, [out];\nld.param.u64 i, [in];\nmov.u32 n, %%tid.x;\n"
                 "mov.u32 s, sm;\nmov.u32 r4, n;\nL:\nmul.wide.u32 x, r4, 4;\nadd.u64 x, i, x;\nld.global.u32 v, [x];\nshl.b32 r0, r4, 2;\n"
                 "add.u32 r0, s, r0;\nst.shared.u32 [r0], v;\nadd.u32 r4, r4, 128;\nsetp.lt.u32 p, r4, 640;\n@p bra L;\n"
                 "mul.wide.u32 x, n, 16;\nadd.u64 x, i, x;\nld.global.v4.u32 {r0, r1, r2, r3}, [x+2560];\nmul.wide.u32 x, n, 4;\n"
                 "add.u64 x, i, x;\nld.global.u32 r4, [x+4608];\nfence.proxy.async.shared::cta;\nbar.sync 0;\nshr.u32 v, s, 4;\n"
                 "cvt.u64.u32 da, v;\nor.b64 da, da, 0x0000001000080000;\nadd.u32 v, v, 128;\ncvt.u64.u32 db, v;\n"
                 "or.b64 db, db, 0x0000002000080000;\nmov.b32 d0, 0;\nmov.b32 d1, 0;\nmov.b32 d2, 0;\nmov.b32 d3, 0;\n"
                 "wgmma.fence.sync.aligned;\n"
                 "wgmma.mma_async.sp.sync.aligned.m64n8k%d.%s.%s.%s {d0, d1, d2, d3}, %s, db, r4, %d, 1%s%s;\n"
                 "wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\nmul.wide.u32 x, n, 16;\nadd.u64 o, o, x;\n"
                 "st.global.v4.u32 [o], {d0, d1, d2, d3};\nret;\n}\n",
        k, whole ? "s32" : "f32", a->word, bt->word, shared ? "da" : "{r0, r1, r2, r3}", selector, whole ? "" : ", 1, 1",
        a->bits == 16 ? shared ? ", 0, 0" : ", 0" : "");
    emu_test_text(&t, "wgmma.sp", ptx, "k");
    uint64_t out = emu_test_buffer(&t, "out", NULL, sizeof got);
    emu_test_pointer(&t, out);
    emu_test_pointer(&t, emu_test_buffer(&t, "in", &in, sizeof in));
    t.launch.block[0] = 128;
    emu_test_finish(&t, out, got, sizeof got);
    for (int thread = 0; thread < 128; thread++)
        for (int r = 0; r < 4; r++) {
            int row = thread % 32 / 4 + r / 2 * 8, col = thread % 4 * 2 + r % 2;
            double want = 0;
            float f;
            for (int i = 0; i < k; i++)
                want += h[thread / 32].a[row][i] * b[i][col];
            memcpy(&f, &got[thread][r], 4);
            double have = whole ? (double)(int32_t)got[thread][r] : (double)f;
            if (have != want)
                fail_msg("wgmma %s.%s selector %d, %s: thread %d, %d: %g, want %g", a->word, bt->word, selector,
                         shared ? "shared" : "registers", thread, r, have, want);
        }
}

static void sparse_wgmma(void **s)
{
    for (int shared = 0; shared < 2; shared++) {
        for (int selector = 0; selector < 2; selector++) {
            group_product(F16, F16, selector, shared);
            group_product(BF16, BF16, selector, shared);
            group_product(TF32, TF32, selector, shared);
        }
        group_product(E4M3, E5M2, 0, shared);
        group_product(E5M2, E5M2, 0, shared);
        group_product(S8, U8, 0, shared);
        group_product(U8, S8, 0, shared);
    }
}

/* ldmatrix of elements of 4 or 6 bits, four matrices of 8 rows: lane l has bytes 4 (l % 4) to + 3 of row l / 4, each with one element in
 * its low bits. */
static void unpacked(int bits)
{
    struct emu_test t;
    uint8_t element[32][16], in[32][16] = {0};
    uint32_t got[32][4];
    for (int row = 0; row < 32; row++)
        for (int i = 0; i < 16; i++) {
            element[row][i] = (uint8_t)any(1 << bits);
            for (int b = 0; b < bits; b++)
                in[row][(i * bits + b) / 8] |= (uint8_t)((element[row][i] >> b & 1) << (i * bits + b) % 8);
        }
    SCOPED char *ptx = text_format(
        ".version 9.0\n.target sm_120a\n.address_size 64\n.visible .entry k(.param .u64 out, .param .u64 in)\n{\n.reg .b64 o, i, x;\n"
        ".reg .b32 r<4>, n, s;\n.shared .align 128 .b8 sm[512];\nld.param.u64 o, [out];\nld.param.u64 i, [in];\nmov.u32 n, %%tid.x;\n"
        "mul.wide.u32 x, n, 16;\nadd.u64 i, i, x;\nadd.u64 o, o, x;\nmov.u32 s, sm;\nmad.lo.u32 s, n, 16, s;\n"
        "ld.global.v4.u32 {r0, r1, r2, r3}, [i];\nst.shared.v4.u32 [s], {r0, r1, r2, r3};\nbar.sync 0;\n"
        "ldmatrix.sync.aligned.m8n16.x4.shared.b8x16.%s {r0, r1, r2, r3}, [s];\nst.global.v4.u32 [o], {r0, r1, r2, r3};\nret;\n}\n",
        bits == 4 ? "b4x16_p64" : "b6x16_p32");
    emu_test_chip(&t, "GB202", "unpacked", ptx, "k");
    uint64_t out = emu_test_buffer(&t, "out", NULL, sizeof got);
    emu_test_pointer(&t, out);
    emu_test_pointer(&t, emu_test_buffer(&t, "in", in, sizeof in));
    emu_test_finish(&t, out, got, sizeof got);
    for (int lane = 0; lane < 32; lane++)
        for (int r = 0; r < 4; r++)
            for (int k = 0; k < 4; k++)
                assert_int_equal(got[lane][r] >> 8 * k & 255, element[8 * r + lane / 4][lane % 4 * 4 + k]);
}

static void unpacked_rows(void **s)
{
    unpacked(4);
    unpacked(6);
}

/* Metadata that select nothing, and what ptxas refuses. */
static void refused(void **s)
{
    static const char entry[] = ".version 9.0\n.target sm_%s\n.address_size 64\n.visible .entry k()\n{\n.reg .b32 d<4>, a<4>, b<4>, m;\n"
                                "mov.b32 m, %s;\nmma%s {d0, d1, d2, d3}, {a0, a1, a2, a3}, {b0, b1%s}, {d0, d1, d2, d3}%s;\nret;\n}\n";
    static const struct {
        const char *arch, *metadata, *words, *b, *tail, *report; /* NULL: refused */
    } all[] = {
        {"90a", "0x4444e444", ".sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32", ", b2, b3", ", m, 0", ""},
        {"90a", "0x44444441", ".sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32", ", b2, b3", ", m, 1", ""},
        {"90a", "0x44444441", ".sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32", ", b2, b3", ", m, 1", "ordered"},
        {"90a", "0x4444a444", ".sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32", ", b2, b3", ", m, 0", "elements 12 to 15"},
        {"90a", "0x4444444d", ".sp.sync.aligned.m16n8k16.row.col.f32.tf32.tf32.f32", ", b2, b3", ", m, 0", "0xd"},
        {"90a", "0x44444444", ".sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32", ", b2, b3", ", m, 2", NULL},
        {"90a", "0x44444444", ".sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32", ", b2, b3", "", NULL},
        {"90a", "0x44444444", ".sp.sync.aligned.m16n8k64.row.col.f32.f16.f16.f32", ", b2, b3", ", m, 0", NULL},
        {"120a", "0x44444444", ".sp.sync.aligned.m16n8k64.row.col.kind::f8f6f4.f32.e2m1.e2m1.f32", ", b2, b3", ", m, 0", NULL},
        {"120a", "0x44444444", ".sync.aligned.m16n8k32.row.col.f32.e2m1.e2m1.f32", "", "", NULL},
        {"120a", "0x44444444", ".sync.aligned.m16n8k64.row.col.kind::f8f6f4.f32.e2m1.e2m1.f32", "", "", NULL}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        SCOPED char *ptx = text_format(entry, all[i].arch, all[i].metadata, all[i].words, all[i].b, all[i].tail);
        const char *chip = strcmp(all[i].arch, "90a") ? "GB202" : "GH100";
        struct error err = {0};
        if (emu_test_takes(chip, ptx, &err) != (all[i].report != NULL))
            fail_msg("%s%s: %s", all[i].words, all[i].tail, err.text);
        if (!all[i].report)
            continue;
        struct emu_test t;
        emu_test_chip(&t, chip, "refused", ptx, "k");
        emu_test_run(&t);
        const struct device_report *r = emu_test_report(&t, "descriptor");
        assert_true(*all[i].report ? r && strstr(r->text, all[i].report) : !r);
        emu_test_close(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(sparse_mma), cmocka_unit_test(narrow_floats), cmocka_unit_test(sparse_wgmma),
                                       cmocka_unit_test(unpacked_rows), cmocka_unit_test(refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
