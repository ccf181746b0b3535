/* bench 1
op: conv2d
what: Winograd F(4, 3) along rows on Hopper's tensor cores - inputs are transformed in registers, 18 products where 36 were
from: winograd_rs
needs:
  - r == 3 and s == 3 and stride == 1 and dilation == 1 and groups == 1
  - c % 8 == 0 and k % 8 == 0                          # 16 bytes of a pixel: the copy engine's grain
  - c > 64 and max(pad_top, pad_left, pad_bottom, pad_right) <= 1   # of an output with fewer products, roundings of its neighbours' inputs would be too large a share
  - c * h * w < 2147483648 and k * p * q < 2147483648
layout: {input: NHWC, filter: KRSC, output: NHWC, residual: NHWC}
dtype: {input: f16, output: f16, bias: f32, accumulate: f32}
claims: c >= 256 and k >= 256 and n * p * q >= 131072
algorithm: winograd
exact: no
epilogue: [bias, residual, relu, leaky_relu]
ablate: [store, maths]
let:
  strips: ceil(q, 64)
  bands: ceil(p, 8)                                    # 8 rows by 64 columns are what a block computes at once, each warpgroup half of it
  units: n * strips * bands
  blocks_k: ceil(k, 64)
  depths: ceil(c, 32) * 2
  blocks: max(1, min(units, floor(sm_count, blocks_k)))
  smem: 1024 + 3 * 36864 + 2 * 45056 + 256 + 112       # weights, image rows, bias, barriers
where:
  - cc == 90
  - smem <= smem_per_block_optin
define:
  PAD_MORE: pad_left - pad_top                         # of columns, beside that of rows
  TYPE: type(input)
  CHANNELS: c
  OUTPUTS: k
  COLUMNS: q
  EPI_BIAS: has(bias)
  EPI_RESIDUAL: has(residual)
  EPI_SCALE: scale(epilogue)
  EPI_SLOPE: slope(epilogue)
tensor_maps:
  input_map: {of: input, box: "32, 65, 10, 1", element_strides: "1, 4, 1, 1", swizzle: 64, l2: 256}
scratch:
  transformed: input[blocks_k * depths * 18432]
prepare:
  - kernel: transform_filter
    grid: blocks_k * depths * 4
    block: 256
    args: filter, transformed, c, k
steps:
  - kernel: conv_winograd_row
    grid: blocks, blocks_k
    block: 256
    smem: smem
    args: input_map, transformed, bias, residual, output, p, pad_top, strips, bands, units
*/

/* What changed from winograd_rs: four outputs of a row at once, and any number of channels from 72. Three rows of a 3x3 convolution are 36 products of a pair of
 * channels for four outputs, and 18 with F(4, 3) along each row; downwards it stays direct. The points are 0, +-3/4, +-3/2 and infinity, which f16 represents
 * exactly and whose error is about half that of 0, +-1, +-2 (simulated).
 *
 * A warpgroup computes 4 rows by 64 columns of outputs, 64 channels: 16 tiles in each of 4 rows are the 64 rows of its products. Six sums, one of each point, are 192
 * registers of a thread; four outputs come from them once, at the end. A lane loads pixels of two rows and transforms them in registers; a row that was the lower one is
 * the upper one of the filter's next row. The first two rows of a step are loaded before the last products of the step before. Weights arrive for 16 channels at a time, 36 KiB;
 * pixels for 32, of both warpgroups, four boxes of every fourth pixel each, so that tiles lie side by side and no two lanes meet at a bank. With boxes of 16 channels the copy
 * engine was the limit: about 3.2 cycles for each 32 bytes.
 *
 * Cycles of an SM for 16 channels and both warpgroups: tensor cores 1152; shared memory 1420 (weights 576, pixels 384, arrivals 460). On an H200 it takes about 1860, and the
 * outputs of a unit take about 3700: half of that are instructions, half waits for the queue of stores, since all blocks store at the same time. The same products with the same number of
 * other instructions, but no loads and barriers, take 1216 cycles, so what is left is waiting: a warpgroup waits for the warp of its four that asks for copies (about 170 cycles),
 * for pixels and weights (about 120). A warp of its own for the copies does not fit: 240 registers of the others are too few, and of 9 warps each may have 168.
 * A cluster of two blocks that shares the weights changes nothing; one of four does not fit on all processors at once. 64 channels with all weights in shared memory take longer
 * than winograd_rs, also when the warpgroups' units are independent.
 *
 * A few registers are spilled, outside the loop. Rounding: the error is 3 to 5 times that of the stored f16, inside the bound of `algorithm: winograd` (tests/unit/test_bound.c
 * simulates it); inputs beyond 11,500 may overflow. */
#include "element/element.cuh"
#include "element/epilogue.cuh"
#include "tensor_core/wgmma.cuh"

constexpr int DEPTHS = (CHANNELS + 31) / 32 * 2;                /* steps of 16 channels */
constexpr int SLICE = 36864, WEIGHT_SLOTS = 3;                  /* all matrices of a step, for 64 output channels */
constexpr int PAIR = 4096;                                      /* two matrices: 64 rows of 64 bytes, swizzled */
constexpr int ROWS = 10;                                        /* of the image, for 8 rows of outputs */
constexpr int ROW = 17 * 64, PHASE = 11264, SLOT = 4 * PHASE;   /* every fourth pixel of a row, 32 channels of each; of all rows, in blocks of 512 bytes; all four phases */
constexpr int SLOTS = 2, LOADS = DEPTHS / 2;                    /* of 32 channels */
/* The points are 0, +-A, +-B and infinity. */
constexpr float A = 0.75f, B = 1.5f, AA = A * A, BB = B * B;

extern __shared__ unsigned char shared_raw[]; /* up to 1023 bytes in front, weights, slots of image rows, bias, barriers */

/* Where the operands' orders put things: a lane holds 4 neighbouring input channels, and 8 neighbouring output channels. step: which 16 of 32 channels. */
static __device__ __forceinline__ int channel_at(int depth, int step) { return (depth % 8 / 4 * 2 + step) * 8 + depth % 4 / 2 * 4 + depth / 8 * 2 + depth % 2; }
static __device__ __forceinline__ int output_at(int column) { return column / 32 * 32 + column % 8 / 2 * 8 + column / 8 % 4 * 2 + column % 2; }

/* Pair 3 r + j of 16 input channels: of row r of the filter, points 0 and infinity (j = 0), A and -A (1), B and -B (2). */
extern "C" __global__ void __launch_bounds__(256) transform_filter(const TYPE *filter, TYPE *transformed, int C, int K)
{
    int i = blockIdx.x * 256 + threadIdx.x, depth = i % 16, column = i / 16 % 64, slice = i / 1024;
    int c = slice % DEPTHS / 2 * 32 + channel_at(depth, slice % DEPTHS % 2), k = slice / DEPTHS * 64 + output_at(column);
    TYPE *to = transformed + (size_t)slice * (SLICE / 2) + column * 32 + depth % 8;
    int chunk = depth / 8, turn = column / 2 % 4; /* 16 bytes; of 4 */
#pragma unroll
    for (int r = 0; r < 3; r++) {
        float g[3];
#pragma unroll
        for (int s = 0; s < 3; s++)
            g[s] = c < C && k < K ? to_f32(filter[((size_t)k * 9 + r * 3 + s) * C + c]) : 0.0f;
        constexpr float by_a = 1 / (2 * AA * (AA - BB)), by_b = 1 / (2 * BB * (BB - AA));
        const float points[6] = {g[0] * (1 / (AA * BB)), g[2],
                                 (g[0] + A * g[1] + AA * g[2]) * by_a, (g[0] - A * g[1] + AA * g[2]) * by_a,
                                 (g[0] + B * g[1] + BB * g[2]) * by_b, (g[0] - B * g[1] + BB * g[2]) * by_b};
#pragma unroll
        for (int j = 0; j < 6; j++)
            to[(r * 3 + j / 2) * (PAIR / 2) + ((j % 2 * 2 + chunk) ^ turn) * 8] = from_f32<TYPE>(points[j]);
    }
}

/* x * c + y of two halves. c: the bits of a constant, in both. volatile: what a product reads must be there before wgmma_begin, and the compiler would compute it after. */
template <unsigned C> static __device__ __forceinline__ unsigned add_times(unsigned y, unsigned x)
{
    unsigned v;
    asm volatile("fma.rn.f16x2 %0, %1, %2, %3;" : "=r"(v) : "r"(x), "r"(C * 0x10001u), "r"(y));
    return v;
}
/* x * c - y */
template <unsigned C> static __device__ __forceinline__ unsigned less_times(unsigned y, unsigned x)
{
    unsigned v;
    asm volatile("{\n.reg .b32 m;\nneg.f16x2 m, %3;\nfma.rn.f16x2 %0, %1, %2, m;\n}" : "=r"(v) : "r"(x), "r"(C * 0x10001u), "r"(y));
    return v;
}
constexpr unsigned H_A = 0x3a00, H_B = 0x3e00, H_AA = 0x3880, H_BB = 0x4080, H_BOTH = 0x41a0 /* AA + BB */, H_AABB = 0x3d10, MINUS = 0x8000;

/* Four channels of the six pixels of a lane's tile, in one image row. */
struct pixels {
    unsigned d[6][2];
    /* turn: 8 times the place of the lane's first pixel, in units of 64 bytes, which the swizzle looks at; chunk: bytes to the lane's channels */
    __device__ __forceinline__ void load(unsigned from, int row, unsigned turn, unsigned chunk)
    {
        unsigned address[2];
#pragma unroll
        for (int i = 0; i < 2; i++)
            address[i] = from + row * ROW + i * 64 + ((turn + (row + i) * 8 & 0x30) ^ chunk);
#pragma unroll
        for (int j = 0; j < 6; j++)
            asm volatile("ld.shared.v2.u32 {%0, %1}, [%2];" : "=r"(d[j][0]), "=r"(d[j][1]) : "r"(address[j / 4] + j % 4 * PHASE) : "memory");
    }
};

/* Operands of two points (J: as in transform_filter), rows `upper` and `lower` of the image. The two are written in different ways: else the compiler would notice that
 * the lower row is the next product's upper, keep its results, and run out of registers. */
template <int J> static __device__ __forceinline__ void transform(unsigned v[2][4], const pixels &upper, const pixels &lower)
{
#pragma unroll
    for (int i = 0; i < 4; i++) {
        const pixels &from = i % 2 ? lower : upper;
        int w = i / 2;
        if (J == 0 && i % 2) {
            v[0][i] = add_times<H_AABB>(add_times<H_BOTH | MINUS>(from.d[4][w], from.d[2][w]), from.d[0][w]);
            v[1][i] = add_times<H_AABB>(add_times<H_BOTH | MINUS>(from.d[5][w], from.d[3][w]), from.d[1][w]);
        } else if (J == 0) {
            v[0][i] = add_times<H_BOTH | MINUS>(add_times<H_AABB>(from.d[4][w], from.d[0][w]), from.d[2][w]);
            v[1][i] = add_times<H_BOTH | MINUS>(add_times<H_AABB>(from.d[5][w], from.d[1][w]), from.d[3][w]);
        } else {
            constexpr unsigned square = J == 1 ? H_BB : H_AA, point = J == 1 ? H_A : H_B;
            if (i % 2) {
                unsigned even = add_times<square | MINUS>(from.d[4][w], from.d[2][w]), odd = add_times<square | MINUS>(from.d[3][w], from.d[1][w]);
                v[0][i] = add_times<point>(even, odd);
                v[1][i] = add_times<point | MINUS>(even, odd);
            } else {
                unsigned even = less_times<square>(from.d[4][w], from.d[2][w]), odd = less_times<square>(from.d[3][w], from.d[1][w]);
                v[0][i] = less_times<point | MINUS>(even, odd);
                v[1][i] = less_times<point>(even, odd);
            }
        }
    }
}

struct places {
    unsigned weights, slots, bias, come, gone, full, empty; /* come, gone: WEIGHT_SLOTS barriers; full, empty: SLOTS */
};

/* A block's units, `by` apart in the order of bands, then strips, then images. */
struct walk {
    int band, strip, image;
    __device__ __forceinline__ void step(int by, int bands, int strips)
    {
        for (band += by; band >= bands; band -= bands)
            if (++strip == strips) {
                strip = 0;
                image++;
            }
    }
};

/* As matrix_rows_128, for rows of 64 bytes that are swizzled in blocks of 8 (512 bytes). */
static __device__ __forceinline__ unsigned long long matrix_rows_64(unsigned address)
{
    return (unsigned long long)(address >> 4 & 0x3fff) | 1ull << 16 | 32ull << 32 | 2ull << 62;
}
/* One lane of a warp, which `leads`, arrives. */
static __device__ __forceinline__ void arrive_one(unsigned barrier, int leads)
{
    __syncwarp();
    asm volatile("{\n.reg .pred p;\nsetp.ne.u32 p, %1, 0;\n@p mbarrier.arrive.shared::cta.b64 _, [%0];\n}" ::"r"(barrier), "r"(leads) : "memory");
}

/* Weights of step n. */
static __device__ __forceinline__ void ask_weights(const places &at, const TYPE *weights, unsigned n)
{
    unsigned slot = n % WEIGHT_SLOTS, come = at.come + slot * 8;
    barrier_wait(at.gone + slot * 8, n / WEIGHT_SLOTS & 1 ^ 1);
    barrier_arrive_expect(come, SLICE);
    copy_bytes(at.weights + slot * SLICE, weights + n % DEPTHS * (SLICE / 2), SLICE, come);
}
/* Load n: 32 channels of the image rows of a unit, one phase. */
static __device__ __forceinline__ void ask_pixels(const places &at, const tensor_map *map, int phase, const walk &to, unsigned n, int pad)
{
    unsigned slot = n % SLOTS, full = at.full + slot * 8;
    barrier_wait(at.empty + slot * 8, n / SLOTS & 1 ^ 1);
    barrier_arrive_expect(full, ROWS * ROW);
    copy_box_4d(at.slots + slot * SLOT + phase * PHASE, map, full, n % LOADS * 32, to.strip * 64 + phase - pad - PAD_MORE, to.band * 8 - pad, to.image);
}

/* In step n: weights of the step after the next, and with an even n the next pixels. */
static __device__ __forceinline__ void ask(const places &at, const TYPE *weights, const tensor_map *map, int leads, const walk &to, unsigned n, int pad)
{
    if (leads == 1)
        ask_weights(at, weights, n + 2);
    else if (n % 2 == 0 && leads > 4)
        ask_pixels(at, map, leads - 5, to, n / 2 + 1, pad);
}

template <int J> static __device__ __forceinline__ void multiply_ready(float sum[6][32], unsigned v[2][4], unsigned long long matrix, bool add)
{
#ifdef ABLATE_MATHS
#pragma unroll
    for (int i = 0; i < 8; i++)
        sum[2 * J][i] += __uint_as_float(v[i / 4][i % 4]);
#else
    wgmma_begin();
    wgmma_registers<TYPE, 64>(sum[2 * J], v[0], matrix, add);
    wgmma_registers<TYPE, 64>(sum[2 * J + 1], v[1], matrix + 2, add);
    wgmma_commit();
#endif
    wgmma_wait<2>();
}
template <int J> static __device__ __forceinline__ void multiply(float sum[6][32], unsigned v[2][4], const pixels &upper, const pixels &lower, unsigned long long matrix, bool add)
{
    transform<J>(v, upper, lower);
    multiply_ready<J>(sum, v, matrix, add);
}

/* The compiler moves nothing across: it would compute more outputs at once than it has registers for. Nobody leaves here. */
static __device__ __forceinline__ void keep_order(int place)
{
    asm volatile("{\n.reg .pred p;\nsetp.eq.u32 p, %0, %1;\n@p exit;\n}" ::"r"(blockDim.x), "r"(place) : "memory");
}

/* Outputs of a lane: four pixels of one row, 8 channels. */
static __device__ __forceinline__ void outputs(uint4 v[4], const uint4 residual[4], const float sum[6][32], int half, int lower, unsigned bias)
{
#pragma unroll
    for (int i = 0; i < 4; i++) {
        if (i % 2 == 0)
            keep_order((lower * 2 + half) * 4 + i);
        float y[4][2];
        int at = (half * 4 + i) * 4 + lower * 2;
        float2 b = EPI_BIAS ? load_shared_2(bias + (half * 32 + threadIdx.x % 4 * 8 + i * 2) * 4) : make_float2(0, 0);
#pragma unroll
        for (int e = 0; e < 2; e++) {
            float m[6], more = e ? b.y : b.x;
#pragma unroll
            for (int j = 0; j < 6; j++) {
                m[j] = sum[j][at + e];
                asm volatile("" : "+f"(m[j])); /* the compiler would compute it earlier, too */
            }
            float even_a = m[2] + m[3], odd_a = m[2] - m[3], even_b = m[4] + m[5], odd_b = m[4] - m[5];
            y[0][e] = m[0] + even_a + (even_b + more);
            y[1][e] = A * odd_a + (B * odd_b + more);
            y[2][e] = AA * even_a + (BB * even_b + more);
            y[3][e] = AA * A * odd_a + (BB * B * odd_b + (m[1] + more));
        }
#pragma unroll
        for (int x = 0; x < 4; x++) {
            if (EPI_RESIDUAL) {
                float2 more = __half22float2(reinterpret_cast<const __half2 *>(&residual[x])[i]);
                y[x][0] = branch(y[x][0]) + more.x;
                y[x][1] = branch(y[x][1]) + more.y;
            }
            reinterpret_cast<unsigned *>(&v[x])[i] =
                EPI_SLOPE == 0 ? relu_of<TYPE>(two_of<TYPE>(y[x][0], y[x][1])) : two_of<TYPE>(activate(y[x][0]), activate(y[x][1]));
        }
    }
}

/* Is column q + x, with q a multiple of 4, one of the outputs? */
static __device__ __forceinline__ bool within(int q, int x) { return COLUMNS % 4 == 0 ? q < COLUMNS : q + x < COLUMNS; }

static __device__ __forceinline__ void load_bias(unsigned to, const float *bias)
{
    int k = blockIdx.y * 64 + threadIdx.x;
    if (EPI_BIAS && threadIdx.x < 64)
        store_shared(to + threadIdx.x * 4, __float_as_uint(k < OUTPUTS ? bias[k] : 0.0f));
}

static __device__ __forceinline__ void init_barriers(const places &at)
{
    if (threadIdx.x != 0)
        return;
    for (int i = 0; i < WEIGHT_SLOTS; i++) {
        barrier_init(at.come + i * 8, 1);
        barrier_init(at.gone + i * 8, 8);
    }
    for (int i = 0; i < SLOTS; i++) {
        barrier_init(at.full + i * 8, 4);
        barrier_init(at.empty + i * 8, 8);
    }
    barrier_init_done();
}

/* The outputs of unit u, of which this lane has 4 pixels in each of two rows. */
static __device__ __forceinline__ void store(const float sum[6][32], const TYPE *residual, TYPE *output, int P, int u, int strips, int bands, unsigned bias)
{
    int warp = threadIdx.x / 32 % 4, t = threadIdx.x % 4, g = threadIdx.x % 32 / 4, strip = u / bands;
    int image = strip / strips, p = (u - strip * bands) * 8 + warpgroup_index() * 4 + warp / 2 * 2, q = (strip - image * strips) * 64 + (warp % 2 * 8 + g) * 4;
    int k = blockIdx.y * 64 + t * 8;
    size_t at_pixel = (((size_t)image * P + p) * COLUMNS + q) * OUTPUTS + k;
    TYPE *to = output + at_pixel;
    const TYPE *more_from = residual + at_pixel;
#pragma unroll
    for (int lower = 0; lower < 2; lower++)
#pragma unroll
        for (int half = 0; half < 2; half++) {
            bool inside = p + lower < P && (OUTPUTS % 64 == 0 || k + half * 32 < OUTPUTS);
            constexpr int ROW_OF = COLUMNS * OUTPUTS;
            uint4 y[4], more[4];
#pragma unroll
            for (int x = 0; x < 4; x++)
                more[x] = EPI_RESIDUAL && inside && within(q, x) ? *reinterpret_cast<const uint4 *>(more_from + lower * ROW_OF + half * 32 + x * OUTPUTS) : make_uint4(0, 0, 0, 0);
            outputs(y, more, sum, half, lower, bias);
#pragma unroll
            for (int x = 0; x < 4; x++)
#ifdef ABLATE_STORE
                if (y[x].x == 0x7fff7fff)
#else
                if (inside && within(q, x))
#endif
                    *reinterpret_cast<uint4 *>(to + lower * ROW_OF + half * 32 + x * OUTPUTS) = y[x];
        }
}

extern "C" __global__ void __launch_bounds__(256, 1)
conv_winograd_row(const __grid_constant__ tensor_map input_map, const TYPE *transformed, const float *bias, const TYPE *residual, TYPE *output, int P, int pad, int strips,
                  int bands, int units)
{
    unsigned base = (shared_address(shared_raw) + 1023) / 1024 * 1024, slots = base + WEIGHT_SLOTS * SLICE, end = slots + SLOTS * SLOT, barriers = end + 256;
    const places at = {base, slots, end, barriers, barriers + 32, barriers + 64, barriers + 96};
    const TYPE *weights = transformed + (size_t)blockIdx.y * DEPTHS * (SLICE / 2);
    init_barriers(at);
    load_bias(at.bias, bias);
    __syncthreads();
    int me = warpgroup_index(), warp = threadIdx.x / 32 % 4, t = threadIdx.x % 4, g = threadIdx.x % 32 / 4;
    int row = me * 4 + warp / 2 * 2, x = warp % 2 * 8 + g;
    unsigned own = at.slots + row * ROW + x * 64 + t % 2 * 8, turn = (row + x) * 8;
    int leads = threadIdx.x % 32 == 0 ? 1 + threadIdx.x / 32 : 0; /* 1: asks for weights; 5 to 8: for one phase of the pixels each, as one alone would keep the others waiting */
    unsigned steps = (units - blockIdx.x + gridDim.x - 1) / gridDim.x * DEPTHS;
    int strip = blockIdx.x / bands;
    walk next = {(int)blockIdx.x - strip * bands, strip % strips, strip / strips};
    if (leads > 4)
        ask_pixels(at, &input_map, leads - 5, next, 0, pad);
    if (leads == 1)
        for (unsigned i = 0; i < 2 && i < steps; i++)
            ask_weights(at, weights, i);
    __syncwarp();
    asm volatile("" : "+r"(leads), "+r"(own), "+r"(turn)); /* the compiler would compute them from the thread's index again and again */
    float sum[6][32] = {};
    unsigned v[3][2][4], n = 0;
    pixels a, b;
    for (int u = blockIdx.x; n < steps; u += gridDim.x) {
        barrier_wait(at.full + n / 2 % 2 * 8, n / 4 & 1);
        a.load(own + n / 2 % 2 * SLOT, 0, turn, t / 2 * 32);
        b.load(own + n / 2 % 2 * SLOT, 1, turn, t / 2 * 32);
#pragma unroll 1
        for (int s = 0; s < DEPTHS; s++, n++) {
            unsigned m = n / 2, slot = n % WEIGHT_SLOTS, from = own + m % 2 * SLOT, chunk = t / 2 * 32 + n % 2 * 16;
            unsigned long long matrix = matrix_rows_64(at.weights) + slot * (SLICE / 16);
            barrier_wait(at.come + slot * 8, n / WEIGHT_SLOTS & 1);
            multiply<0>(sum, v[0], a, b, matrix, s > 0);
            multiply<1>(sum, v[1], a, b, matrix + PAIR / 16, s > 0);
            transform<2>(v[2], a, b);
            a.load(from, 2, turn, chunk);
            multiply_ready<2>(sum, v[2], matrix + 2 * (PAIR / 16), s > 0);
            if (n > 0)
                arrive_one(at.gone + (n - 1) % WEIGHT_SLOTS * 8, leads);
            if (s == DEPTHS - 2)
                next.step(gridDim.x, bands, strips);
            multiply<0>(sum, v[0], b, a, matrix + 3 * (PAIR / 16), true);
            multiply<1>(sum, v[1], b, a, matrix + 4 * (PAIR / 16), true);
            transform<2>(v[2], b, a);
            b.load(from, 3, turn, chunk);
            multiply_ready<2>(sum, v[2], matrix + 5 * (PAIR / 16), true);
            if (n + 2 < steps)
                ask(at, weights, &input_map, leads, next, n, pad);
            __syncwarp();
            multiply<0>(sum, v[0], a, b, matrix + 6 * (PAIR / 16), true);
            if (n % 2)
                arrive_one(at.empty + m % 2 * 8, leads);
            __syncwarp();
            if (n % 2 && n + 1 < steps) /* here: between these products and the next transform the compiler would put all products in sequence */
                barrier_wait(at.full + (m + 1) % 2 * 8, (m + 1) / 2 & 1);
            multiply<1>(sum, v[1], a, b, matrix + 7 * (PAIR / 16), true);
            transform<2>(v[2], a, b);
            from = n + 1 < steps ? own + (n + 1) / 2 % 2 * SLOT : at.weights; /* what nobody writes */
            a.load(from, 0, turn, chunk ^ 16);
            b.load(from, 1, turn, chunk ^ 16);
            multiply_ready<2>(sum, v[2], matrix + 8 * (PAIR / 16), true);
        }
        wgmma_wait<0>();
        store(sum, residual, output, P, u, strips, bands, at.bias);
    }
}
