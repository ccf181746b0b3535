/* bench 1
op: conv2d
what: mma_few_in without shared memory - a warp gathers its fragments from L1, one row of 16 pixels ahead, and nobody waits for anybody
from: mma_few_in
needs:
  - dilation == 1 and groups == 1 and stride <= 4 and c <= 4 and k % 8 == 0 and r * ceil(s * c, 2) <= 32
  - c * h * w < 2147483648 and k * p * q < 2147483648
layout: {input: NHWC, filter: KRSC, output: NHWC, residual: NHWC}
dtype: {input: [f16, bf16], output: same, bias: f32, accumulate: f32}
algorithm: implicit_gemm
epilogue: [bias, residual, relu, leaky_relu]
params:
  WARPS: {values: [4, 8], default: 8}              # of a block, side by side: 16 pixels each
  PER_SM: {values: [1, 2, 3, 4], default: 2}       # blocks an SM
let:
  kb: select(k <= 32 or r * ceil(s * c, 2) > 16, 32, 64)   # output channels a block
  strips: ceil(q, 16 * WARPS)
  rows_all: n * strips * p
  blocks_k: ceil(k, kb)
  blocks: max(1, min(rows_all, floor(PER_SM * sm_count, blocks_k)))
  rows_block: ceil(rows_all, blocks)
where:
  - cc >= 80
define:
  TYPE: type(input)
  BLOCK_K: kb
  EPI_BIAS: has(bias)
  EPI_RESIDUAL: has(residual)
  EPI_SLOPE: slope(epilogue)
specialise: [c, r, s, stride]
steps:
  - kernel: conv_stream_few_in
    grid: ceil(rows_all, rows_block), blocks_k
    block: 32 * WARPS
    args: input, filter, bias, residual, output, h, w, k, p, q, pad, strips, rows_all, rows_block
*/

/* What changed from mma_few_in: what surrounds the products. There 294 instructions went into every 16 pixels, and a warp waited for its block twice a tile. Nsight Compute
 * showed half of the issue slots busy, two thirds of L1's cycles (two copies of the tile, the bias from shared memory for every store), and DRAM at 40 %.
 *
 *  - No tile. Under a filter row lie the same S * C neighbours, and a lane takes its pairs of them from global memory, 2 bytes at a time because a pixel may begin at an
 *    odd value. A block walks down a strip, so two of three image rows are in L1 already. The values of the next row are on their way while this one is multiplied.
 *  - The bias is what the first product adds to: mma has an operand for it, and 32 additions a lane are gone.
 *  - Two results are rounded by one instruction, and relu comes after it.
 *
 * Cost: loads are 16 a lane where 8 came from shared memory; at the border of the image each is asked whether it lies inside, in the middle none. */
#include "element.cuh"
#include "epilogue.cuh"
#include "mma.cuh"

constexpr int ROW = S * C;                         /* values under a filter row */
constexpr int PAIRS = (ROW + 1) / 2;               /* of a filter row */
constexpr int DEPTHS = (R * PAIRS + 7) / 8;        /* products of 16 */
constexpr int GROUPS = BLOCK_K / 32;

/* Pair i of this lane's: of product i / 2, its lower (even i) or upper 8 of the depth. */
static __device__ __forceinline__ int pair_of(int i) { return i * 4 + threadIdx.x % 4; }

/* Right operands: column 8 j + n of a group of 32 holds channel 8 * (n / 2) + 2 * j + n % 2. */
static __device__ __forceinline__ void load_weights(unsigned held[DEPTHS][GROUPS * 4][2], const TYPE *filter, int k0, int K)
{
    const unsigned short *weights = reinterpret_cast<const unsigned short *>(filter);
    int column = threadIdx.x % 32 / 4;
#pragma unroll
    for (int i = 0; i < 2 * DEPTHS; i++) {
        int pair = pair_of(i), r = pair / PAIRS, e = pair % PAIRS * 2;
#pragma unroll
        for (int j = 0; j < GROUPS * 4; j++) {
            int k = k0 + j / 4 * 32 + column / 2 * 8 + j % 4 * 2 + column % 2;
            const unsigned short *from = weights + ((size_t)k * R + r) * ROW + e;
            bool valid = k < K && r < R;
            unsigned low = valid ? from[0] : 0, high = valid && e + 1 < ROW ? from[1] : 0;
            held[i / 2][j][i % 2] = low | high << 16;
        }
    }
}

/* Where the values of this lane's pairs lie: filter row, and place in it. The second of a pair that is none is the first once more. */
struct gather {
    int row[2 * DEPTHS], low[2 * DEPTHS], high[2 * DEPTHS];
    __device__ __forceinline__ gather()
    {
#pragma unroll
        for (int i = 0; i < 2 * DEPTHS; i++) {
            int pair = pair_of(i), r = pair / PAIRS, e = pair % PAIRS * 2;
            row[i] = r < R ? r : 0;
            low[i] = r < R ? e : 0;
            high[i] = r < R && e + 1 < ROW ? e + 1 : low[i];
        }
    }
};

/* The lane's values of 16 pixels, [pair][half][low, high]: on their way until they are packed. */
struct values {
    unsigned short v[2 * DEPTHS][2][2];

    __device__ __forceinline__ void load(const TYPE *input, const gather &g, int y0, int x0, int H, int W)
    {
        int x = x0 + threadIdx.x % 32 / 4 * STRIDE; /* under the lane's first pixel lie columns x .. x + S - 1 */
        const unsigned short *from = reinterpret_cast<const unsigned short *>(input) + ((long long)y0 * W + x) * C;
        if (y0 >= 0 && y0 + R <= H && x0 >= 0 && x0 + 15 * STRIDE + S <= W) {
#pragma unroll
            for (int i = 0; i < 2 * DEPTHS; i++)
#pragma unroll
                for (int half = 0; half < 2; half++) {
                    const unsigned short *row = from + g.row[i] * W * C + half * 8 * STRIDE * C;
                    v[i][half][0] = row[g.low[i]];
                    v[i][half][1] = row[g.high[i]];
                }
        } else {
#pragma unroll
            for (int i = 0; i < 2 * DEPTHS; i++)
#pragma unroll
                for (int half = 0; half < 2; half++) {
                    const unsigned short *row = from + g.row[i] * W * C + half * 8 * STRIDE * C;
                    int first = -(x + half * 8 * STRIDE) * C, last = first + W * C;
                    bool inside = y0 + g.row[i] >= 0 && y0 + g.row[i] < H;
                    v[i][half][0] = inside && g.low[i] >= first && g.low[i] < last ? row[g.low[i]] : 0;
                    v[i][half][1] = inside && g.high[i] >= first && g.high[i] < last ? row[g.high[i]] : 0;
                }
        }
    }
    /* What padding pairs hold may be a neighbour's infinity: zeros instead. */
    __device__ __forceinline__ void pack_to(unsigned a[DEPTHS][4]) const
    {
#pragma unroll
        for (int i = 0; i < 2 * DEPTHS; i++)
#pragma unroll
            for (int half = 0; half < 2; half++) {
                int pair = pair_of(i), r = pair / PAIRS, e = pair % PAIRS * 2;
                unsigned both = v[i][half][0] | (unsigned)v[i][half][1] << 16;
                a[i / 2][i % 2 * 2 + half] = r >= R ? 0 : e + 1 < ROW ? both : both & 0xffff;
            }
    }
};

static __device__ __forceinline__ void store_8(TYPE *output, const TYPE *residual, size_t e, const float sum[8])
{
    pack<TYPE, 8> add;
    uint4 out;
    unsigned *two = reinterpret_cast<unsigned *>(&out);
    if (EPI_RESIDUAL)
        add = load_pack<TYPE, 8>(residual + e);
#pragma unroll
    for (int i = 0; i < 4; i++) {
        float x = sum[2 * i] + (EPI_RESIDUAL ? to_f32(add.item[2 * i]) : 0), y = sum[2 * i + 1] + (EPI_RESIDUAL ? to_f32(add.item[2 * i + 1]) : 0);
        two[i] = EPI_SLOPE == 0 ? relu_of<TYPE>(two_of<TYPE>(x, y)) : two_of<TYPE>(activate(x), activate(y));
    }
    *reinterpret_cast<uint4 *>(output + e) = out;
}

extern "C" __global__ void __launch_bounds__(32 * WARPS, PER_SM)
conv_stream_few_in(const TYPE *__restrict__ input, const TYPE *__restrict__ filter, const float *bias, const TYPE *residual, TYPE *output, int H, int W, int K, int P,
                   int Q, int pad, int strips, int rows_all, int rows_block)
{
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32, k0 = blockIdx.y * BLOCK_K, k = k0 + lane % 4 * 8; /* the lane's channels, and those 32 further on */
    unsigned held[DEPTHS][GROUPS * 4][2];
    load_weights(held, filter, k0, K);
    float own_bias[GROUPS * 4][2];
#pragma unroll
    for (int j = 0; j < GROUPS * 8; j++)
        own_bias[j / 2][j % 2] = EPI_BIAS && k + j / 8 * 32 + j % 8 < K ? bias[k + j / 8 * 32 + j % 8] : 0.0f;
    gather own;

    /* Rows of outputs, strip by strip; p, q, image: of the row that is loaded, a row ahead of what is multiplied. */
    int row = blockIdx.x * rows_block, end = min(rows_all, row + rows_block);
    int p = row % P, strip = row / P % strips, image = row / P / strips;
    values next;
    auto load = [&]() { next.load(input + (size_t)image * C * H * W, own, p * STRIDE - pad, (strip * WARPS + warp) * (16 * STRIDE) - pad, H, W); };
    load();
#pragma unroll 1
    for (; row < end; row++) {
        unsigned a[DEPTHS][4];
        next.pack_to(a);
        int q = (strip * WARPS + warp) * 16 + lane / 4;
        size_t place = (((size_t)image * P + p) * Q + q) * K + k;
        if (++p == P) {
            p = 0;
            if (++strip == strips) {
                strip = 0;
                image++;
            }
        }
        if (row + 1 < end)
            load();
#pragma unroll
        for (int g = 0; g < GROUPS; g++) {
            float sum[4][4];
#pragma unroll
            for (int j = 0; j < 4; j++)
                multiply_16x8x16_from<TYPE>(sum[j], a[0], held[0][g * 4 + j], own_bias[g * 4 + j]);
#pragma unroll
            for (int d = 1; d < DEPTHS; d++)
#pragma unroll
                for (int j = 0; j < 4; j++)
                    multiply_16x8x16<TYPE>(sum[j], a[d], held[d][g * 4 + j]);
#pragma unroll
            for (int half = 0; half < 2; half++) {
                float eight[8];
#pragma unroll
                for (int i = 0; i < 8; i++)
                    eight[i] = sum[i / 2][half * 2 + i % 2];
                if (q + half * 8 < Q && k + g * 32 < K)
                    store_8(output, residual, place + (size_t)half * 8 * K + g * 32, eight);
            }
        }
    }
}
