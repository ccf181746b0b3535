/* What tensor cores compute, bit for bit, against the model of harness/emu/run/tensor_sum.c.
 *
 *   nvcc -O2 -gencode arch=compute_90a,code=sm_90a -Iharness -o /tmp/tensor_bits tests/gpu/tensor_bits.cu -x cu harness/emu/run/tensor_sum.c && /tmp/tensor_bits [SEED [TILES [KEEP [FIRST]]]]
 *
 * FIRST: begins with this line of `forms`.
 * KEEP: prints so many elements of each line as tests/unit/data/tensor_sums.txt has them, and nothing else.
 *
 * For each instruction and type, and each kind of input (normal, any finite bits, sums that cancel, powers of two, small numbers and zeros,
 * infinities and NaN): how many elements of D have the model's bits, under the rule of harness/emu for this chip and under neighbouring rules (more or fewer
 * bits, half the group). The first elements that differ are printed with all their inputs. Exit status 1 when an element differs. */
#include "emu/run/tensor_sum.h"
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cmath>
#include <thread>
#include <vector>
#include <cuda_fp16.h>
#include <cuda_bf16.h>
#include <cuda_fp8.h>

typedef tensor_type type;
static const type F16 = TENSOR_F16, BF16 = TENSOR_BF16, TF32 = TENSOR_TF32, E4M3 = TENSOR_E4M3, E5M2 = TENSOR_E5M2;
struct form {
    const char *name;
    type a, b;
    int k;
    bool half, wgmma, sparse; /* sparse: k counts the elements of a that are stored */
};
static const form forms[] = {
    {"mma.m16n8k8.f32.f16", F16, F16, 8, false, false},
    {"mma.m16n8k16.f32.f16", F16, F16, 16, false, false},
    {"mma.m16n8k8.f16.f16", F16, F16, 8, true, false},
    {"mma.m16n8k16.f16.f16", F16, F16, 16, true, false},
    {"mma.m16n8k8.f32.bf16", BF16, BF16, 8, false, false},
    {"mma.m16n8k16.f32.bf16", BF16, BF16, 16, false, false},
    {"mma.m16n8k4.f32.tf32", TF32, TF32, 4, false, false},
    {"mma.m16n8k8.f32.tf32", TF32, TF32, 8, false, false},
    {"mma.m16n8k32.f32.e4m3", E4M3, E4M3, 32, false, false},
    {"mma.m16n8k32.f32.e5m2", E5M2, E5M2, 32, false, false},
    {"mma.m16n8k32.f32.e4m3.e5m2", E4M3, E5M2, 32, false, false},
    {"wgmma.m64n8k16.f32.f16", F16, F16, 16, false, true},
    {"wgmma.m64n8k16.f16.f16", F16, F16, 16, true, true},
    {"wgmma.m64n8k16.f32.bf16", BF16, BF16, 16, false, true},
    {"wgmma.m64n8k8.f32.tf32", TF32, TF32, 8, false, true},
    {"wgmma.m64n8k32.f32.e4m3", E4M3, E4M3, 32, false, true},
    {"wgmma.m64n8k32.f32.e5m2", E5M2, E5M2, 32, false, true},
    {"wgmma.m64n8k32.f32.e5m2.e4m3", E5M2, E4M3, 32, false, true},
    {"wgmma.m64n8k32.f16.e4m3", E4M3, E4M3, 32, true, true},
    {"wgmma.m64n8k32.f16.e5m2", E5M2, E5M2, 32, true, true},
    {"mma.m16n8k32.f16.e4m3", E4M3, E4M3, 32, true, false},
    {"mma.m16n8k32.f16.e5m2", E5M2, E5M2, 32, true, false},
    {"mma.m16n8k16.f32.e4m3", E4M3, E4M3, 16, false, false},
    {"mma.sp.m16n8k16.f32.f16", F16, F16, 8, false, false, true},
    {"mma.sp.m16n8k32.f32.f16", F16, F16, 16, false, false, true},
    {"mma.sp.m16n8k32.f16.f16", F16, F16, 16, true, false, true},
    {"mma.sp.m16n8k32.f32.bf16", BF16, BF16, 16, false, false, true},
    {"mma.sp.m16n8k8.f32.tf32", TF32, TF32, 4, false, false, true},
    {"mma.sp.m16n8k16.f32.tf32", TF32, TF32, 8, false, false, true},
    {"mma.sp.m16n8k64.f32.e4m3", E4M3, E4M3, 32, false, false, true},
    {"mma.sp.m16n8k64.f32.e5m2", E5M2, E5M2, 32, false, false, true},
    {"wgmma.sp.m64n8k32.f32.f16", F16, F16, 16, false, true, true},
    {"wgmma.sp.m64n8k32.f16.f16", F16, F16, 16, true, true, true},
    {"wgmma.sp.m64n8k32.f32.bf16", BF16, BF16, 16, false, true, true},
    {"wgmma.sp.m64n8k16.f32.tf32", TF32, TF32, 8, false, true, true},
    {"wgmma.sp.m64n8k64.f32.e4m3", E4M3, E4M3, 32, false, true, true},
    {"wgmma.sp.m64n8k64.f32.e5m2", E5M2, E5M2, 32, false, true, true},
    {"wgmma.sp.m64n8k64.f16.e4m3", E4M3, E4M3, 32, true, true, true},
};
enum { FORMS = sizeof forms / sizeof *forms };

template <int FORM> __device__ void multiply(uint32_t *d, const uint32_t *a, const uint32_t *b, uint64_t desc, uint32_t meta)
{
#define D4 "{%0,%1,%2,%3}"
#define OUT4 "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
#define OUT2 "+r"(d[0]), "+r"(d[1])
#define A4B2 "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1])
#define A2B1 "r"(a[0]), "r"(a[1]), "r"(b[0])
#define M4(text) asm volatile("mma.sync.aligned." text " {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};" : OUT4 : A4B2)
#define M2(text) asm volatile("mma.sync.aligned." text " {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};" : OUT4 : A2B1)
#define H4(text) asm volatile("mma.sync.aligned." text " {%0,%1}, {%2,%3,%4,%5}, {%6,%7}, {%0,%1};" : OUT2 : A4B2)
#define H2(text) asm volatile("mma.sync.aligned." text " {%0,%1}, {%2,%3}, {%4}, {%0,%1};" : OUT2 : A2B1)
#define BEGIN asm volatile("wgmma.fence.sync.aligned;" ::: "memory")
#define END asm volatile("wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;" ::: "memory")
#define W4(text, tail) BEGIN; asm volatile("wgmma.mma_async.sync.aligned." text " {%0,%1,%2,%3}, {%4,%5,%6,%7}, %8, 1, 1, 1" tail ";" : OUT4 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(desc)); END
#define W2(text, tail) BEGIN; asm volatile("wgmma.mma_async.sync.aligned." text " {%0,%1}, {%2,%3,%4,%5}, %6, 1, 1, 1" tail ";" : OUT2 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(desc)); END
    if (FORM == 0) M2("m16n8k8.row.col.f32.f16.f16.f32");
    if (FORM == 1) M4("m16n8k16.row.col.f32.f16.f16.f32");
    if (FORM == 2) H2("m16n8k8.row.col.f16.f16.f16.f16");
    if (FORM == 3) H4("m16n8k16.row.col.f16.f16.f16.f16");
    if (FORM == 4) M2("m16n8k8.row.col.f32.bf16.bf16.f32");
    if (FORM == 5) M4("m16n8k16.row.col.f32.bf16.bf16.f32");
    if (FORM == 6) M2("m16n8k4.row.col.f32.tf32.tf32.f32");
    if (FORM == 7) M4("m16n8k8.row.col.f32.tf32.tf32.f32");
    if (FORM == 8) M4("m16n8k32.row.col.f32.e4m3.e4m3.f32");
    if (FORM == 9) M4("m16n8k32.row.col.f32.e5m2.e5m2.f32");
    if (FORM == 10) M4("m16n8k32.row.col.f32.e4m3.e5m2.f32");
    if (FORM == 11) { W4("m64n8k16.f32.f16.f16", ", 0"); }
    if (FORM == 12) { W2("m64n8k16.f16.f16.f16", ", 0"); }
    if (FORM == 13) { W4("m64n8k16.f32.bf16.bf16", ", 0"); }
    if (FORM == 14) { W4("m64n8k8.f32.tf32.tf32", ""); }
    if (FORM == 15) { W4("m64n8k32.f32.e4m3.e4m3", ""); }
    if (FORM == 16) { W4("m64n8k32.f32.e5m2.e5m2", ""); }
    if (FORM == 17) { W4("m64n8k32.f32.e5m2.e4m3", ""); }
    if (FORM == 18) { W2("m64n8k32.f16.e4m3.e4m3", ""); }
    if (FORM == 19) { W2("m64n8k32.f16.e5m2.e5m2", ""); }
    if (FORM == 20) H4("m16n8k32.row.col.f16.e4m3.e4m3.f16");
    if (FORM == 21) H4("m16n8k32.row.col.f16.e5m2.e5m2.f16");
    if (FORM == 22) M2("m16n8k16.row.col.f32.e4m3.e4m3.f32");
#define SP "mma.sp::ordered_metadata.sync.aligned."
#define S4(text) asm volatile(SP text " {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9,%10,%11}, {%0,%1,%2,%3}, %12, 0;" : OUT4 : A4B2, "r"(b[2]), "r"(b[3]), "r"(meta))
#define S2(text) asm volatile(SP text " {%0,%1,%2,%3}, {%4,%5}, {%6,%7}, {%0,%1,%2,%3}, %8, 0;" : OUT4 : "r"(a[0]), "r"(a[1]), "r"(b[0]), "r"(b[1]), "r"(meta))
#define T4(text, tail) BEGIN; asm volatile("wgmma.mma_async.sp.sync.aligned." text " {%0,%1,%2,%3}, {%4,%5,%6,%7}, %8, %9, 0, 1, 1, 1" tail ";" : OUT4 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(desc), "r"(meta)); END
#define T2(text, tail) BEGIN; asm volatile("wgmma.mma_async.sp.sync.aligned." text " {%0,%1}, {%2,%3,%4,%5}, %6, %7, 0, 1, 1, 1" tail ";" : OUT2 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(desc), "r"(meta)); END
    if (FORM == 23) S2("m16n8k16.row.col.f32.f16.f16.f32");
    if (FORM == 24) S4("m16n8k32.row.col.f32.f16.f16.f32");
    if (FORM == 25) asm volatile(SP "m16n8k32.row.col.f16.f16.f16.f16 {%0,%1}, {%2,%3,%4,%5}, {%6,%7,%8,%9}, {%0,%1}, %10, 0;" : OUT2 : A4B2, "r"(b[2]), "r"(b[3]), "r"(meta));
    if (FORM == 26) S4("m16n8k32.row.col.f32.bf16.bf16.f32");
    if (FORM == 27) S2("m16n8k8.row.col.f32.tf32.tf32.f32");
    if (FORM == 28) S4("m16n8k16.row.col.f32.tf32.tf32.f32");
    if (FORM == 29) S4("m16n8k64.row.col.f32.e4m3.e4m3.f32");
    if (FORM == 30) S4("m16n8k64.row.col.f32.e5m2.e5m2.f32");
    if (FORM == 31) { T4("m64n8k32.f32.f16.f16", ", 0"); }
    if (FORM == 32) { T2("m64n8k32.f16.f16.f16", ", 0"); }
    if (FORM == 33) { T4("m64n8k32.f32.bf16.bf16", ", 0"); }
    if (FORM == 34) { T4("m64n8k16.f32.tf32.tf32", ""); }
    if (FORM == 35) { T4("m64n8k64.f32.e4m3.e4m3", ""); }
    if (FORM == 36) { T4("m64n8k64.f32.e5m2.e5m2", ""); }
    if (FORM == 37) { T2("m64n8k64.f16.e4m3.e4m3", ""); }
}

/* A tile: a[16][bytes of a row], b[8][the same, or of a sparse a twice as many], c and d [16][8], metadata [32]. A warp takes a tile; of a wgmma the four warps of a block take the b of the first. */
template <int FORM> __global__ void run(const uint8_t *a, const uint8_t *b, const uint8_t *c, uint8_t *d, const uint32_t *metadata, int row, int row_b, bool half)
{
    __shared__ __align__(128) uint8_t shared[512];
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32, g = lane / 4, t = lane % 4, tile = blockIdx.x * 4 + warp, bytes = half ? 2 : 4;
    bool wgmma = (FORM >= 11 && FORM < 20) || FORM >= 31;
    const uint8_t *tb = b + (size_t)(wgmma ? blockIdx.x * 4 : tile) * 8 * row_b;
    uint32_t ra[4] = {0}, rb[4] = {0}, rd[4] = {0};
    for (int i = 0; i < 4 && i / 2 * 16 < row; i++)
        ra[i] = *(const uint32_t *)(a + (size_t)tile * 16 * row + (g + 8 * (i & 1)) * row + i / 2 * 16 + t * 4);
    for (int i = 0; i < 4 && i * 16 < row_b; i++)
        rb[i] = *(const uint32_t *)(tb + g * row_b + i * 16 + t * 4);
    for (int i = 0; i < (half ? 2 : 4); i++) {
        const uint8_t *from = c + (size_t)tile * 128 * bytes + (half ? ((g + 8 * i) * 8 + 2 * t) * 2 : ((g + 8 * (i / 2)) * 8 + 2 * t + i % 2) * 4);
        rd[i] = *(const uint32_t *)from;
    }
    if (wgmma) /* core matrices of 8 x 16 bytes */
        for (int i = threadIdx.x; i < 8 * row_b; i += 128)
            shared[i] = tb[i % 128 / 16 * row_b + i / 128 * 16 + i % 16];
    asm volatile("fence.proxy.async;" ::: "memory");
    __syncthreads();
    uint64_t at = (uint64_t)__cvta_generic_to_shared(shared), desc = at >> 4 | (uint64_t)(128 >> 4) << 16 | (uint64_t)(256 >> 4) << 32;
    multiply<FORM>(rd, ra, rb, desc, metadata[tile * 32 + lane]);
    for (int i = 0; i < (half ? 2 : 4); i++) {
        uint8_t *to = d + (size_t)tile * 128 * bytes + (half ? ((g + 8 * i) * 8 + 2 * t) * 2 : ((g + 8 * (i / 2)) * 8 + 2 * t + i % 2) * 4);
        *(uint32_t *)to = rd[i];
    }
}
typedef void kernel(const uint8_t *, const uint8_t *, const uint8_t *, uint8_t *, const uint32_t *, int, int, bool);
static kernel *const kernels[] = {run<0>, run<1>, run<2>, run<3>, run<4>, run<5>, run<6>, run<7>, run<8>, run<9>, run<10>, run<11>, run<12>, run<13>, run<14>, run<15>, run<16>, run<17>, run<18>, run<19>, run<20>, run<21>, run<22>, run<23>, run<24>, run<25>, run<26>, run<27>, run<28>, run<29>, run<30>, run<31>, run<32>, run<33>, run<34>, run<35>, run<36>, run<37>};

static uint64_t state;
static uint64_t draw()
{
    uint64_t z = (state += 0x9e3779b97f4a7c15ull);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}
static double unit() { return (double)(draw() >> 11) * 0x1p-53; }
static double normal() { return sqrt(-2 * log(unit() + 1e-300)) * cos(6.283185307179586 * unit()); }

static int bytes_of(type t) { return t == TF32 ? 4 : t == F16 || t == BF16 ? 2 : 1; }
static uint32_t code(type t, float v)
{
    uint32_t u;
    if (t == F16) { __half_raw h = __float2half_rn(v); return h.x; }
    if (t == BF16) { __nv_bfloat16_raw h = __float2bfloat16_rn(v); return h.x; }
    if (t == E4M3 || t == E5M2) return __nv_cvt_float_to_fp8(v, __NV_SATFINITE, t == E4M3 ? __NV_E4M3 : __NV_E5M2);
    memcpy(&u, &v, 4);
    return u;
}
static float value(type t, uint32_t u)
{
    float f;
    if (t == F16) { __half_raw h; h.x = (unsigned short)u; return __half2float(h); }
    if (t == BF16) { u <<= 16; memcpy(&f, &u, 4); return f; }
    if (t == E4M3 || t == E5M2) { __half_raw h = __nv_cvt_fp8_to_halfraw((__nv_fp8_storage_t)u, t == E4M3 ? __NV_E4M3 : __NV_E5M2); return __half2float(h); }
    u &= 0xffffe000u;
    memcpy(&f, &u, 4);
    return f;
}
static void put(uint8_t *p, type t, uint32_t u) { memcpy(p, &u, bytes_of(t)); }
static uint32_t get(const uint8_t *p, type t) { uint32_t u = 0; memcpy(&u, p, bytes_of(t)); return u; }

enum { NORMAL, ANY, CANCEL, POWERS, SMALL, SPECIAL, KINDS };
static const char *const kind_names[] = {"normal", "any", "cancel", "powers", "small", "special"};
static float factor(type t, int kind)
{
    int wide = t == BF16 || t == TF32 ? 40 : t == F16 ? 10 : t == E5M2 ? 10 : 5;
    switch (kind) {
    case NORMAL: case CANCEL: return (float)normal();
    case POWERS: return (float)((draw() & 1 ? 1 : -1) * ldexp(draw() % 4 ? 1 : 1 + unit(), (int)(draw() % (2 * wide + 1)) - wide));
    case SMALL: return draw() % 3 == 0 ? 0.0f : (float)(normal() * ldexp(1, tensor_least(t) + (int)(draw() % 12) - 8));
    case SPECIAL: { uint64_t r = draw() % 40; return r == 0 ? INFINITY : r == 1 ? -INFINITY : r == 2 ? NAN : (float)normal(); }
    default:
        for (;;) {
            float v = value(t, (uint32_t)draw() & (t == TF32 ? 0xffffffffu : (1u << 8 * bytes_of(t)) - 1));
            if (isfinite(v)) return v;
        }
    }
}

struct sizes { int tiles, row; };
/* By tile, row and element of a: the element of b that it is multiplied with. */
static std::vector<uint8_t> picks;
static uint8_t pick(const form *f, size_t t, size_t m, int k) { return picks[(t * 16 + m) * f->k + k]; }
static int along_b(const form *f) { return f->sparse ? 2 * f->k : f->k; }
/* Of each four elements two (tf32: of each two one), in order; the metadata where selector 0 looks for them. */
static void fill_picks(const form *f, int tiles, uint32_t *metadata)
{
    int wide = f->a == TF32 ? 2 : 4, chunks = 2 * f->k / wide, lanes = chunks / 4;
    picks.assign((size_t)tiles * 16 * f->k, 0);
    for (int t = 0; t < tiles; t++)
        for (int m = 0; m < 16; m++)
            for (int c = 0; c < (f->sparse ? chunks : f->k); c++) {
                uint8_t *to = &picks[((size_t)t * 16 + m) * f->k];
                if (!f->sparse) { to[c] = (uint8_t)c; continue; }
                int low = (int)(draw() % 3), high = low + 1 + (int)(draw() % (3 - low)), one = (int)(draw() % 2);
                uint32_t bits = wide == 2 ? (one ? 14 : 4) : low | high << 2;
                if (wide == 2) to[c] = (uint8_t)(2 * c + one);
                else to[2 * c] = (uint8_t)(4 * c + low), to[2 * c + 1] = (uint8_t)(4 * c + high);
                if (lanes == 4) metadata[t * 32 + m % 8 * 4 + m / 8 + c / 8 * 2] |= bits << 4 * (c % 8);
                else metadata[t * 32 + m % 8 * 4 + c / 4] |= bits << (m / 8 * 16 + 4 * (c % 4));
            }
}
static float c_value(const form *f, const uint8_t *c, size_t i) { if (f->half) { uint32_t u = 0; memcpy(&u, c + 2 * i, 2); return value(F16, u); } float v; memcpy(&v, c + 4 * i, 4); return v; }
static void fill(const form *f, sizes s, int kind, uint8_t *a, uint8_t *b, uint8_t *c)
{
    int ba = bytes_of(f->a), bb = bytes_of(f->b);
    for (size_t i = 0; i < (size_t)s.tiles * 16 * f->k; i++) put(a + i * ba, f->a, code(f->a, factor(f->a, kind)));
    for (size_t i = 0; i < (size_t)s.tiles * 8 * along_b(f); i++) put(b + i * bb, f->b, code(f->b, factor(f->b, kind)));
    for (int t = 0; t < s.tiles; t++)
        for (int m = 0; m < 16; m++)
            for (int n = 0; n < 8; n++) {
                size_t i = (size_t)t * 128 + m * 8 + n;
                double v = 4 * normal();
                int tb = f->wgmma ? t / 4 * 4 : t;
                if (kind == CANCEL) { /* what is left is in the last bits */
                    double sum = 0;
                    for (int k = 0; k < f->k; k++)
                        sum += (double)value(f->a, get(a + ((size_t)(t * 16 + m) * f->k + k) * ba, f->a)) * value(f->b, get(b + ((size_t)(tb * 8 + n) * along_b(f) + pick(f, t, m, k)) * bb, f->b));
                    v = -sum * (1 + ldexp(normal(), -20));
                } else if (kind == POWERS) v = (draw() & 1 ? 1 : -1) * ldexp(1, (int)(draw() % 21) - 10);
                else if (kind == SMALL) v = draw() % 2 ? 0 : ldexp(normal(), f->half ? -20 : -140 + (int)(draw() % 40));
                else if (kind == SPECIAL) { uint64_t r = draw() % 30; v = r == 0 ? INFINITY : r == 1 ? -INFINITY : r == 2 ? NAN : v; }
                else if (kind == ANY) v = ldexp(normal(), (int)(draw() % 40) - 20);
                if (f->half) { uint32_t u = code(F16, (float)v); memcpy(c + 2 * i, &u, 2); }
                else { float x = (float)v; memcpy(c + 4 * i, &x, 4); }
            }
}

static uint32_t bits_of(const form *f, float v)
{
    uint32_t u;
    if (f->half) return isnan(v) ? 0x7fff : code(F16, v);
    memcpy(&u, &v, 4);
    return isnan(v) ? 0x7fffffffu : u;
}
struct element { const form *f; float a[64], b[64], c; uint32_t got; };
static void read(const form *f, const uint8_t *a, const uint8_t *b, const uint8_t *c, const uint8_t *d, size_t i, element *e)
{
    size_t t = i / 128, m = i % 128 / 8, n = i % 8, tb = f->wgmma ? t / 4 * 4 : t;
    e->f = f;
    for (int k = 0; k < f->k; k++) {
        e->a[k] = value(f->a, get(a + ((t * 16 + m) * f->k + k) * bytes_of(f->a), f->a));
        e->b[k] = value(f->b, get(b + ((tb * 8 + n) * along_b(f) + pick(f, t, m, k)) * bytes_of(f->b), f->b));
    }
    e->c = c_value(f, c, i);
    e->got = 0;
    memcpy(&e->got, d + i * (f->half ? 2 : 4), f->half ? 2 : 4);
}
static uint32_t model(const element *e, const tensor_rule *r)
{
    return bits_of(e->f, tensor_sum(r, e->a, e->f->a, e->b, e->f->b, e->f->k, e->c, e->f->half));
}

int main(int argc, char **argv)
{
    state = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    int tiles = (argc > 2 ? atoi(argv[2]) : 8192) / 4 * 4, keep = argc > 3 ? atoi(argv[3]) : 0, bad_forms = 0, from = argc > 4 ? atoi(argv[4]) : 0;
    cudaDeviceProp p;
    cudaGetDeviceProperties(&p, 0);
    printf(keep ? "# %s, seed %s\n" : "%s, seed %s, %d elements a line\n", p.name, argc > 1 ? argv[1] : "1", tiles * 128);
    for (int x = from; x < FORMS; x++) {
        const form *f = &forms[x];
        sizes s = {tiles, f->k * bytes_of(f->a)};
        size_t na = (size_t)tiles * 16 * s.row, nb = (size_t)tiles * 8 * s.row * (f->sparse ? 2 : 1), nc = (size_t)tiles * 128 * (f->half ? 2 : 4);
        std::vector<uint8_t> a(na), b(nb), c(nc), d(nc);
        std::vector<uint32_t> metadata((size_t)tiles * 32);
        uint8_t *ga, *gb, *gc, *gd;
        uint32_t *gm;
        fill_picks(f, tiles, metadata.data());
        cudaMalloc(&gm, metadata.size() * 4), cudaMemcpy(gm, metadata.data(), metadata.size() * 4, cudaMemcpyHostToDevice);
        cudaMalloc(&ga, na), cudaMalloc(&gb, nb), cudaMalloc(&gc, nc), cudaMalloc(&gd, nc);
        for (int kind = 0; kind < KINDS; kind++) {
            fill(f, s, kind, a.data(), b.data(), c.data());
            cudaMemcpy(ga, a.data(), na, cudaMemcpyHostToDevice), cudaMemcpy(gb, b.data(), nb, cudaMemcpyHostToDevice), cudaMemcpy(gc, c.data(), nc, cudaMemcpyHostToDevice);
            kernels[x]<<<tiles / 4, 128>>>(ga, gb, gc, gd, gm, s.row, s.row * (f->sparse ? 2 : 1), f->half);
            cudaError_t e = cudaDeviceSynchronize();
            if (e) { printf("%s: %s\n", f->name, cudaGetErrorString(e)); return 1; }
            cudaMemcpy(d.data(), gd, nc, cudaMemcpyDeviceToHost);
            for (int i = 0; i < keep; i++) {
                size_t at = draw() % ((size_t)tiles * 128), t = at / 128, m = at % 128 / 8, n = at % 8, tb = f->wgmma ? t / 4 * 4 : t;
                uint32_t in = 0, got = 0;
                memcpy(&in, c.data() + at * (f->half ? 2 : 4), f->half ? 2 : 4), memcpy(&got, d.data() + at * (f->half ? 2 : 4), f->half ? 2 : 4);
                printf("%d %d %d %d %d %x %x", f->wgmma, f->a, f->b, f->half, f->k, in, got);
                for (int k = 0; k < f->k; k++)
                    printf(" %x %x", get(a.data() + ((t * 16 + m) * f->k + k) * bytes_of(f->a), f->a), get(b.data() + ((tb * 8 + n) * along_b(f) + pick(f, t, m, k)) * bytes_of(f->b), f->b));
                printf("\n");
            }
            if (keep)
                continue;
            tensor_rule rules[12];
            int count = 0;
            tensor_rule rule = tensor_rule_of(p.major * 10 + p.minor, f->wgmma ? TENSOR_WGMMA : TENSOR_MMA, f->a);
            rules[count++] = rule;
            for (int bits = rule.bits - 2; bits <= rule.bits + 2; bits++) { rules[count] = rule; rules[count++].bits = bits; }
            for (int group = 4; group <= 32; group *= 2) { rules[count] = rule; rules[count++].group = group; }
            rules[count] = rule, rules[count++].group = 0;
            unsigned cores = std::thread::hardware_concurrency();
            std::vector<std::vector<size_t>> right(cores, std::vector<size_t>(count + 1));
            std::vector<std::vector<size_t>> wrong(cores);
            std::vector<std::thread> workers;
            size_t all = (size_t)tiles * 128;
            for (unsigned w = 0; w < cores; w++)
                workers.emplace_back([&, w] {
                    element e;
                    for (size_t i = w; i < all; i += cores) {
                        read(f, a.data(), b.data(), c.data(), d.data(), i, &e);
                        right[w][count] += i / cores % 16 == 0;
                        for (int r = 0; r < (i / cores % 16 ? 1 : count); r++) { /* the neighbouring rules on a sixteenth */
                            bool same = model(&e, &rules[r]) == e.got;
                            right[w][r] += same;
                            if (r == 0 && !same && wrong[w].size() < 3) wrong[w].push_back(i);
                        }
                    }
                });
            for (auto &w : workers) w.join();
            size_t exact = 0;
            for (unsigned w = 0; w < cores; w++) exact += right[w][0];
            bad_forms += exact != all;
            printf("%-30s %-8s %10.6f %%", f->name, kind_names[kind], 100.0 * (double)exact / (double)all);
            printf("\n    others:");
            for (int r = 1; r < count; r++) {
                size_t sum = 0, of = 0;
                for (unsigned w = 0; w < cores; w++) sum += right[w][r], of += right[w][count];
                printf(" group %d bits %d: %.3f;", rules[r].group, rules[r].bits, 100.0 * (double)sum / (double)of);
            }
            printf("\n");
            int shown = 0;
            for (unsigned w = 0; w < cores && shown < 2; w++)
                for (size_t k = 0; k < wrong[w].size() && shown < 2; k++, shown++) {
                    element e;
                    read(f, a.data(), b.data(), c.data(), d.data(), wrong[w][k], &e);
                    printf("    got %08x model %08x c %a:", e.got, model(&e, &rules[0]), e.c);
                    for (int i = 0; i < f->k; i++) printf(" %a*%a", e.a[i], e.b[i]);
                    printf("\n");
                }
        }
        cudaFree(gm), cudaFree(ga), cudaFree(gb), cudaFree(gc), cudaFree(gd);
    }
    if (!keep)
        printf(bad_forms ? "%d lines differ\n" : "every element has the model's bits\n", bad_forms);
    return bad_forms != 0;
}
