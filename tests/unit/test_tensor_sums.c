/* emu/run/tensor_sum and the vectors that add like it: sums of tensor cores, bit for bit, against the results of an H200
 * (data/tensor_sums.txt, written by tests/gpu/tensor_bits.cu). Each instruction set of the host must give the result of tensor_sum(). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "base/dtype.h"
#include "emu/run/tensor_sum.h"
#include "emu_run.h"
#include <math.h>

#define LANES 128
#define KINDS 6

static int bits_of_type(enum tensor_type t)
{
    return t == TENSOR_TF32 ? 32 : t == TENSOR_F16 || t == TENSOR_BF16 ? 16 : 8;
}

static float value_of(enum tensor_type t, uint32_t code)
{
    float f;
    if (t == TENSOR_F16)
        return f16_to_f32((uint16_t)code);
    if (t == TENSOR_BF16)
        return bf16_to_f32((uint16_t)code);
    if (t == TENSOR_TF32) {
        code &= 0xffffe000u;
        memcpy(&f, &code, 4);
        return f;
    }
    bool e4m3 = t == TENSOR_E4M3;
    int mantissa_bits = e4m3 ? 3 : 2, bias = e4m3 ? 7 : 15, exponent = (int)(code & 0x7f) >> mantissa_bits,
        mantissa = (int)code & ((1 << mantissa_bits) - 1);
    double v =
        exponent ? ldexp(mantissa + (1 << mantissa_bits), exponent - bias - mantissa_bits) : ldexp(mantissa, 1 - bias - mantissa_bits);
    if (e4m3 ? (code & 0x7f) == 0x7f : exponent == 31)
        v = e4m3 || mantissa ? (double)NAN : (double)INFINITY;
    return (float)(code & 0x80 ? -v : v);
}

static uint32_t result_code(float v, bool half)
{
    uint32_t u;
    if (half)
        return isnan(v) ? 0x7fff : f16_from_f32(v);
    memcpy(&u, &v, 4);
    return isnan(v) ? 0x7fffffffu : u;
}

static float accumulator(uint32_t code, bool half)
{
    float f;
    if (half)
        return f16_to_f32((uint16_t)code);
    memcpy(&f, &code, 4);
    return f;
}

static void hardware_test(void **state)
{
    FILE *file = fopen("tests/unit/data/tensor_sums.txt", "r");
    int wgmma, ta, tb, half, n, lines = 0, by_unit[2] = {0};
    uint32_t in, got;
    assert_non_null(file);
    while (fscanf(file, "#%*[^\n]\n") == 0 && fscanf(file, "%d %d %d %d %d %x %x", &wgmma, &ta, &tb, &half, &n, &in, &got) == 7) {
        float a[TENSOR_K_MAX], b[TENSOR_K_MAX];
        const struct tensor_rule rule = tensor_rule_of(90, wgmma ? TENSOR_WGMMA : TENSOR_MMA, (enum tensor_type)ta);
        assert_in_range(n, 1, TENSOR_K_MAX);
        for (int i = 0; i < n; i++) {
            uint32_t x, y;
            assert_int_equal(fscanf(file, " %x %x", &x, &y), 2);
            a[i] = value_of((enum tensor_type)ta, x);
            b[i] = value_of((enum tensor_type)tb, y);
        }
        float d = tensor_sum(&rule, a, (enum tensor_type)ta, b, (enum tensor_type)tb, n, accumulator(in, half), half);
        if (result_code(d, half) != got)
            fail_msg("line %d: %08x, an H200 has %08x", lines + 1, result_code(d, half), got);
        lines++;
        by_unit[wgmma != 0]++;
    }
    fclose(file);
    assert_true(lines > 200 && by_unit[0] > 100 && by_unit[1] > 80);
}

/* Facts of other chips, as published: what is kept is a bit less before Hopper, and eight products are added at once. */
static void rules_test(void **state)
{
    const float one[16] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    float small[16] = {0};
    struct tensor_rule hopper = tensor_rule_of(90, TENSOR_MMA, TENSOR_F16), ampere = tensor_rule_of(80, TENSOR_MMA, TENSOR_F16);
    small[0] = small[1] = small[2] = small[3] = 0x1p-25f; /* 2^-25 of 1: hopper's last bit */
    assert_true(tensor_sum(&hopper, one, TENSOR_F16, small, TENSOR_BF16, 16, 1, false) == 1 + 0x1p-23f);
    assert_true(tensor_sum(&ampere, one, TENSOR_F16, small, TENSOR_BF16, 16, 1, false) == 1);
    small[0] = -1, small[1] = small[2] = small[3] = 0, small[8] = 0x1p-24f; /* 1 - 1 is added first on ampere */
    assert_true(tensor_sum(&ampere, one, TENSOR_F16, small, TENSOR_BF16, 16, 1, false) == 0x1p-24f);
    small[8] = 0x1p-26f;
    assert_true(tensor_sum(&hopper, one, TENSOR_F16, small, TENSOR_BF16, 16, 1, false) == 0);
    assert_int_equal(tensor_rule_of(89, TENSOR_MMA, TENSOR_E4M3).fraction, 13);
    assert_true(tensor_rule_of(100, TENSOR_MMA, TENSOR_E5M2).by_f16 && !tensor_rule_of(120, TENSOR_MMA, TENSOR_E5M2).by_f16);
}

/* ---- the interpreter ---- */
struct shape {
    const char *text; /* of the instruction */
    enum tensor_type ta, tb;
    int k;
    bool half, wgmma;
};
static const struct shape shapes[] = {
    {"m16n8k8.row.col.f32.f16.f16.f32", TENSOR_F16, TENSOR_F16, 8, false, false},
    {"m16n8k16.row.col.f32.f16.f16.f32", TENSOR_F16, TENSOR_F16, 16, false, false},
    {"m16n8k16.row.col.f16.f16.f16.f16", TENSOR_F16, TENSOR_F16, 16, true, false},
    {"m16n8k16.row.col.f32.bf16.bf16.f32", TENSOR_BF16, TENSOR_BF16, 16, false, false},
    {"m16n8k8.row.col.f32.tf32.tf32.f32", TENSOR_TF32, TENSOR_TF32, 8, false, false},
    {"m16n8k32.row.col.f32.e4m3.e5m2.f32", TENSOR_E4M3, TENSOR_E5M2, 32, false, false},
    {"m64n8k16.f32.f16.f16", TENSOR_F16, TENSOR_F16, 16, false, true},
    {"m64n8k16.f16.f16.f16", TENSOR_F16, TENSOR_F16, 16, true, true},
    {"m64n8k16.f32.bf16.bf16", TENSOR_BF16, TENSOR_BF16, 16, false, true},
    {"m64n8k8.f32.tf32.tf32", TENSOR_TF32, TENSOR_TF32, 8, false, true},
    {"m64n8k32.f32.e4m3.e4m3", TENSOR_E4M3, TENSOR_E4M3, 32, false, true},
    {"m64n8k32.f16.e5m2.e4m3", TENSOR_E5M2, TENSOR_E4M3, 32, true, true},
};

static char *kernel_of(const struct shape *s)
{
    const char *d = s->half ? "{%r8, %r9}" : "{%r8, %r9, %r10, %r11}";
    char *core = NULL;
    if (s->wgmma) {
        const char *tail = bits_of_type(s->ta) == 16 ? ", 0" : "";
        core =
            text_format("mov.u32 %%r12, shared;\nshl.b32 %%r13, %%r0, 2;\nadd.u32 %%r13, %%r12, %%r13;\nsetp.lt.u32 %%p1, %%r0, 64;\n"
                        "@%%p1 ld.global.b32 %%r14, [%%rd4];\n@%%p1 st.shared.b32 [%%r13], %%r14;\nfence.proxy.async;\nbar.sync 0;\n"
                        "shr.u32 %%r13, %%r12, 4;\ncvt.u64.u32 %%rd6, %%r13;\nor.b64 %%rd6, %%rd6, 0x1000080000;\nsetp.eq.u32 %%p2, 0, 0;\n"
                        "wgmma.fence.sync.aligned;\nwgmma.mma_async.sync.aligned.%s %s, {%%r1, %%r2, %%r3, %%r4}, %%rd6, %%p2, 1, 1%s;\n"
                        "wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n",
                        s->text, d, tail);
    } else {
        bool whole = s->k * bits_of_type(s->ta) == 256;
        core = text_format("ld.global.v2.b32 {%%r5, %%r6}, [%%rd5];\nmma.sync.aligned.%s %s, %s, %s, %s;\n", s->text, d,
                           whole ? "{%r1, %r2, %r3, %r4}" : "{%r1, %r2}", whole ? "{%r5, %r6}" : "{%r5}", d);
    }
    char *ptx = text_format(
        ".version 8.4\n.target sm_90a\n.address_size 64\n"
        ".visible .entry k(.param .u64 pa, .param .u64 pb, .param .u64 pd)\n{\n.reg .pred %%p<3>;\n.reg .b32 %%r<16>;\n.reg .b64 %%rd<8>;\n"
        ".shared .align 128 .b8 shared[256];\n"
        "ld.param.u64 %%rd1, [pa];\nld.param.u64 %%rd2, [pb];\nld.param.u64 %%rd3, [pd];\nmov.u32 %%r0, %%tid.x;\n"
        "mad.wide.u32 %%rd1, %%r0, 16, %%rd1;\nmad.wide.u32 %%rd4, %%r0, 4, %%rd2;\nmad.wide.u32 %%rd5, %%r0, 8, %%rd2;\n"
        "mad.wide.u32 %%rd3, %%r0, 16, %%rd3;\nld.global.v4.b32 {%%r1, %%r2, %%r3, %%r4}, [%%rd1];\n"
        "ld.global.v4.b32 {%%r8, %%r9, %%r10, %%r11}, [%%rd3];\n%sst.global.v4.b32 [%%rd3], {%%r8, %%r9, %%r10, %%r11};\nret;\n}\n",
        core);
    free(core);
    return ptx;
}

static uint64_t random_state;
static uint32_t draw(void)
{
    random_state = random_state * 6364136223846793005ull + 1442695040888963407ull;
    return (uint32_t)(random_state >> 33) ^ (uint32_t)(random_state >> 15);
}

/* kind 0: numbers near 1; 1: any bits, also infinities and NaN; 2: small whole numbers; 3: the ends of the type; 4: the sizes whose
 * exponents mma.inc keeps in bytes, from 2^-47 to 2^15, and zeros; 5: one size more at both ends */
static uint32_t draw_code(enum tensor_type t, int kind)
{
    static const float wholes[] = {0, 1, -1, 2, -3, 4, 5, -8};
    uint32_t u = draw(), f;
    float v = kind == 2 ? wholes[u & 7] : (float)((u & 1 ? 1 : -1) * ldexp(1 + (double)draw() * 0x1p-32, (int)(draw() % 6) - 3));
    if (kind == 3)
        v = (float)ldexp((double)v, draw() % 2 ? 110 : -120);
    if (kind >= 4)
        v = (float)(draw() % 4 ? (u & 1 ? 1 : -1) *
                                     ldexp(1 + (double)(draw() % 128) / 128, (int)(draw() % (kind == 4 ? 63 : 65)) - (kind == 4 ? 47 : 48))
                               : 0);
    memcpy(&f, &v, 4);
    if (kind == 1 || (kind >= 3 && bits_of_type(t) == 8))
        return u & (bits_of_type(t) == 32 ? ~0u : (1u << bits_of_type(t)) - 1);
    if (t == TENSOR_TF32)
        return f;
    if (t == TENSOR_BF16)
        return f >> 16;
    if (t == TENSOR_F16)
        return f16_from_f32(v);
    for (;; u = draw()) { /* of fp8 one of such a size */
        float x = value_of(t, u & 0xff);
        if (kind == 2 ? x == v : fabsf(x) > 0.05f && fabsf(x) < 16)
            return u & 0xff;
    }
}

struct tile {
    uint32_t a[64][TENSOR_K_MAX], b[8][TENSOR_K_MAX], c[64][8];
};

/* Element e of a lane's register i, as the manual places them. */
static void pack(const struct shape *s, const struct tile *t, int warps, uint32_t *a, uint32_t *b, uint32_t *d)
{
    int bits = bits_of_type(s->ta), per = 32 / bits;
    for (int lane = 0; lane < 32 * warps; lane++) {
        int row = lane / 32 * 16, g = lane % 32 / 4, q = lane % 4;
        for (int i = 0; i < 4; i++)
            for (int e = 0; e < per && i / 2 * 4 * per < s->k; e++)
                a[4 * lane + i] |= t->a[row + g + 8 * (i & 1)][i / 2 * 4 * per + q * per + e] << (bits * e & 31);
        for (int i = 0; i < 2 && !s->wgmma; i++)
            for (int e = 0; e < per && i * 4 * per < s->k; e++)
                b[2 * lane + i] |= t->b[g][i * 4 * per + q * per + e] << (bits * e & 31);
        for (int i = 0; i < 4; i++)
            if (!s->half)
                d[4 * lane + i] = t->c[row + g + 8 * (i / 2)][2 * q + i % 2];
            else if (i < 2)
                d[4 * lane + i] = t->c[row + g + 8 * i][2 * q] | t->c[row + g + 8 * i][2 * q + 1] << 16;
    }
    if (s->wgmma) /* two core matrices of 8 rows of 16 bytes */
        for (int n = 0; n < 8; n++)
            for (int k = 0; k < s->k; k++) {
                int at = k * bits / 128 * 128 + n * 16 + k * bits % 128 / 8;
                b[at / 4] |= t->b[n][k] << (8 * (at % 4));
            }
}

static void interpreter(const char *isa)
{
    setenv("BENCH_EMU_ISA", isa, 1);
    for (size_t x = 0; x < sizeof shapes / sizeof *shapes; x++) {
        const struct shape *s = &shapes[x];
        char *ptx = kernel_of(s);
        int warps = s->wgmma ? 4 : 1, special = 0;
        const struct tensor_rule rule = tensor_rule_of(90, s->wgmma ? TENSOR_WGMMA : TENSOR_MMA, s->ta);
        for (int kind = 0; kind < 6 * KINDS; kind++) { /* each twice; then with an a of 0, and a b of 0; with any c and with numbers */
            struct tile t;
            const int turn = kind / KINDS;
            uint32_t a[4 * LANES] = {0}, b[2 * LANES] = {0}, d[4 * LANES] = {0};
            random_state = 1000 * x + (uint64_t)kind;
            for (int m = 0; m < 16 * warps; m++)
                for (int k = 0; k < s->k; k++)
                    t.a[m][k] = kind % KINDS >= 4 && m % 3 == 0 ? 0 : draw_code(s->ta, kind % KINDS); /* a third of the rows adds nothing */
            for (int n = 0; n < 8; n++)
                for (int k = 0; k < s->k; k++)
                    t.b[n][k] = draw_code(s->tb, kind % KINDS);
            for (int m = 0; m < 16 * warps; m++)
                for (int n = 0; n < 8; n++)
                    t.c[m][n] = draw_code(s->half ? TENSOR_F16 : TENSOR_TF32, kind % KINDS == 3 || turn >= 4 ? 0 : kind % KINDS) |
                                (s->half || kind % KINDS != 0 ? 0 : draw() & 0x1fff);
            for (int m = 0; m < 16 * warps && kind % KINDS >= 4 && !s->half; m++) /* c beyond products, too, and none */
                for (int n = 0; n < 8; n++)
                    t.c[m][n] = n == 7 ? 0 : (t.c[m][n] & 0x807fffffu) | (kind == 4 ? 32 + draw() % 113 : draw() % 255) << 23;
            memset(t.a, 0, turn == 2 || turn == 4 ? sizeof t.a : 0);
            memset(t.b, 0, turn == 3 || turn == 5 ? sizeof t.b : 0);
            for (int m = 0; m < 16 * warps && turn >= 2; m++)
                t.c[m][m % 8] = s->half ? 0x8000 : 0x80000000u;
            pack(s, &t, warps, a, b, d);
            struct emu_test e;
            emu_test_text(&e, "sums", ptx, "k");
            emu_test_pointer(&e, emu_test_buffer(&e, "a", a, sizeof a));
            emu_test_pointer(&e, emu_test_buffer(&e, "b", b, sizeof b));
            uint64_t out = emu_test_buffer(&e, "d", d, sizeof d);
            emu_test_pointer(&e, out);
            e.launch.block[0] = (uint32_t)(32 * warps);
            emu_test_run(&e);
            emu_test_read(&e, out, d, sizeof d);
            assert_int_equal(emu_test_reports(&e), 0);
            emu_test_close(&e);
            for (int m = 0; m < 16 * warps; m++)
                for (int n = 0; n < 8; n++) {
                    float fa[TENSOR_K_MAX], fb[TENSOR_K_MAX];
                    int lane = m / 16 * 32 + m % 8 * 4 + n / 2;
                    for (int k = 0; k < s->k; k++)
                        fa[k] = value_of(s->ta, t.a[m][k]), fb[k] = value_of(s->tb, t.b[n][k]);
                    float v = tensor_sum(&rule, fa, s->ta, fb, s->tb, s->k, accumulator(t.c[m][n], s->half), s->half);
                    uint32_t want = result_code(v, s->half),
                             got = s->half ? d[4 * lane + m % 16 / 8] >> (16 * (n % 2)) & 0xffff : d[4 * lane + 2 * (m % 16 / 8) + n % 2];
                    special += !isfinite(v);
                    if (got != want)
                        fail_msg("%s on %s, inputs %d, row %d, column %d: %08x, not %08x", s->text, isa, kind, m, n, got, want);
                }
        }
        assert_true(special > 0 || bits_of_type(s->ta) == 8);
        free(ptx);
    }
    unsetenv("BENCH_EMU_ISA");
}

static void portable_test(void **state)
{
    interpreter("portable");
}
static void v3_test(void **state)
{
    interpreter("v3");
}
static void v4_test(void **state)
{
    interpreter("v4");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(hardware_test), cmocka_unit_test(rules_test), cmocka_unit_test(portable_test),
                                       cmocka_unit_test(v3_test), cmocka_unit_test(v4_test)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
