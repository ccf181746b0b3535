/* bench 1
op: conv2d
what: mma.sync for any shape - any number of channels, layout and stride; the halo of a few channels at a time in shared memory, the depth shared by warps
from: mma_sync
needs: groups == 1 and r <= 11 and s <= 11 and c * h * w < 2147483648 and k * p * q < 2147483648 and n * p * q < 2147483648
layout: {input: [NHWC, NCHW], filter: KRSC, output: same, residual: same}
dtype: {input: [f16, bf16, f32], output: same, bias: f32, accumulate: f32}
math: [f16_acc32, bf16_acc32, tf32]
algorithm: implicit_gemm
epilogue: [bias, residual, relu, leaky_relu, prelu]
claims:
  - cc == 90 and (c > 4 or n * p * q < 524288) and (c * r * s < 16384 or n * p * q >= 1024)
  - small and min(c, k) <= 64 or odd and (math != tf32 and few or products <= 100000000) or c <= 8 and r * s >= 25 and math != tf32
params:
  TILE: {values: [auto, 32, 64, 128], default: auto}        # pixels of a block
  TALL: {values: [auto, 32, 64], default: auto}             # pixels of a warp
  KB: {values: [auto, 16, 32, 64, 128], default: auto}      # output channels of a block, at most
  DEEP: {values: [auto, 1, 2, 4], default: auto}            # warps that share the depth of the same outputs
  SLICE: {values: [auto, 1, 2, 4, 8, 16], default: auto}  # of 16 bytes of channels of a pixel at a time
  STEP: {values: [auto, row, whole], default: auto}         # of how many rows of the filter a step is
  EARLY: {values: [auto, 1, 2, 3], default: auto}           # steps of weights on their way
let:
  products: n * p * q * max(k, 8) * c * r * s
  small: products <= select(min(c, k) > 48, 50000000, 250000000)
  few: min(c, k) <= 64 and (products < 4000000000 or c <= 8 or k <= 32 or max(stride_y, stride_x) > 1)   # else two passes that pad cost less than what the library gains
  odd: c % piece != 0 or k % piece != 0 and (k > 8 or r * s > 9)   # 16 bytes of a pixel are what the library's engines want
  piece: 16 / size(input)                                   # channels
  nhwc: layout(input) == NHWC
  point: r * s == 1
  flat: point and stride_y * stride_x == 1 and pad_top + pad_left + pad_bottom + pad_right == 0             # pixels one behind another, in NHWC of the whole batch
  images: select(flat and nhwc, 1, n)
  rows: select(flat, 1, p)
  columns: select(flat, select(nhwc, n * p * q, p * q), q)
  tile: select(TILE == 'auto', pixels, TILE)
  tile_w: select(flat, tile, select(tile == 128, 16, 8))
  tile_h: tile / tile_w
  blocks_k: ceil(k, select(KB == 'auto', widest, KB))
  deep: select(DEEP == 'auto', share, DEEP)
  kb: 8 * warps_n * ceil(ceil(k, blocks_k), 8 * warps_n)
  warps_m: tile / min(tile, select(TALL == 'auto', high, TALL))
  warps_n: select(k <= 16, 1, 2)
  all: ceil(c, piece)                                       # pieces of a pixel
  pieces: select(SLICE == 'auto', ceil(all, ceil(all, select(point, 8 * deep, 4))), min(all, SLICE))
  chunks: ceil(c, pieces * piece)
  whole: select(STEP == 'auto', r * s * pieces * kb * 16 <= select(deep == 1, 20480, 40960), STEP == 'whole')   # all rows of the filter are one step
  row_steps: select(whole, 1, r)
  steps: chunks * row_steps
  step_pieces: 2 * ceil(r / row_steps * s * pieces, 2)
  ahead: min(max(1, steps - 1), select(EARLY == 'auto', 2, EARLY))
  stages: min(steps, ahead + 1)
  halo_w: select(point, tile_w, (tile_w - 1) * stride_x + (s - 1) * dilation_x + 1)
  halo_h: select(point, tile_h, (tile_h - 1) * stride_y + (r - 1) * dilation_y + 1)
  pitch: 16 * (pieces + (pieces + 1) % 2)
  halos: min(chunks, floor(ahead + row_steps - 1, row_steps) + 1)
  loop_bytes: halos * halo_w * halo_h * pitch + stages * step_pieces * kb * 16
  direct: nhwc and deep == 1 and store % 4 == 0 and kb / 8 / warps_n % 2 == 0
  stored_bytes: deep * 4 * select(nhwc, tile * (kb + select(kb % 16 == 0, 8, 0)), kb * (tile + 4))
  bias_at: max(loop_bytes, select(direct, 0, stored_bytes))
  smem: bias_at + 4 * kb
  tiles_x: ceil(columns, tile_w)
  tiles_y: ceil(rows, tile_h)
  tiles: images * tiles_x * tiles_y
  along: select(nhwc, k, columns)                           # neighbours of the output
  store: select(along % piece == 0, piece, select(along % 4 == 0, 4, select(along % 2 == 0, 2, 1)))
candidates:
  cut:
    rows:
      broad:   {pixels: 128, high: 32, widest: 128, share: 1}
      half:    {pixels: 64, high: 32, widest: 64, share: 2}
      quarter: {pixels: 32, high: 32, widest: 64, share: 4}
      least:   {pixels: 32, high: 32, widest: 32, share: 4}
    least: ceil(tiles * blocks_k, sm_count) * (ceil(steps * step_pieces * tile * kb, 80) + 2000)
where:
  - cc >= 80
  - smem <= smem_per_block_optin
define:
  PAD_MORE: pad_left - pad_top                     # of columns, beside that of rows
  TYPE: type(input)
  NHWC: nhwc
  TILE_W: tile_w
  TILE_H: tile_h
  BLOCK_K: kb
  WARPS_M: warps_m
  WARPS_N: warps_n
  WARPS_D: deep
  PIECES: pieces
  STEP_ROWS: r / row_steps
  AHEAD: ahead
  STAGES: stages
  HALOS: halos
  BIAS_AT: bias_at
  DIRECT: direct
  UNIT: select(size(input) == 2 and c <= 4, 2, select(nhwc, select(c * size(input) % 16 == 0, 16, select(c * size(input) % 8 == 0, 8, select(c * size(input) % 4 == 0, 4, 2))), size(input)))
  STORE: store
  EPI_BIAS: has(bias)
  EPI_RESIDUAL: has(residual)
  EPI_SLOPE: slope(epilogue)
  EPI_SCALE: scale(epilogue)
  EPI_PRELU: select(has(prelu), k, 0)
specialise: [c, r, s, stride_y, stride_x, dilation_y, dilation_x]
scratch:
  weights: filter[blocks_k * steps * step_pieces * kb * piece]
prepare:
  - symbol: epi_slopes = slopes
    when: has(prelu)
  - kernel: arrange_weights
    grid: ceil(blocks_k * steps * step_pieces * kb, 256)
    block: 256
    args: filter, weights, k, blocks_k * steps * step_pieces * kb
steps:
  - kernel: conv_mma_any
    grid: tiles, blocks_k
    block: 32 * warps_m * warps_n * deep
    smem: smem
    args: input, weights, bias, residual, output, images, select(flat, 1, h), select(flat, columns, w), k, rows, columns, pad_top, tiles_x, tiles_y
*/

/* What changed from mma_sync: it supports every shape. Otherwise a number of channels that is no multiple of 8 would have to be padded in memory first, NCHW transposed, and
 * both undone afterwards: three launches, often longer than the layer. Here the load of the tile pads and transposes.
 *
 *  - The unit is a piece of 16 bytes: eight channels of 16 bits, four of tf32. ldmatrix moves pieces, and one product is any two of them deep: the second half of the lanes
 *    has an address of its own. So 24 channels by 3 taps are 9 pieces, 5 products, and 8 channels by 7 taps 4.
 *  - A block has the halo of PIECES pieces at a time. If a pixel's channels begin at whole words, cp.async loads them; otherwise threads gather two elements per word into
 *    registers while the pieces before are multiplied. From NCHW a warp loads 8 pixels by 4 words, which are in different banks, pixels PITCH bytes apart.
 *  - Weights are put in order once, before the timing: what a step (PIECES pieces under all rows of the filter, or under one) needs is contiguous, in the order of shared
 *    memory, padded with zeros.
 *  - Small layers have few outputs and a long depth: each of WARPS_D warps computes every WARPS_D-th product of a step, and their sums are added where results are staged.
 *  - If a warp alone has a result, it stores it as in mma_sync, with channels in an order that gives each lane adjacent ones; otherwise results are staged as f32 and stored
 *    in rows of the output, as wide as its alignment allows.
 *
 * Cost: mma.sync's rate, and each tile loads the weights from L2. If channels are whole pieces, wgmma_pixels and mma_sync are faster on large layers. */
#include "dense/any_tile.cuh"

constexpr int FRAGMENTS = PIXELS / 16 / WARPS_M, COLUMNS = BLOCK_K / 8 / WARPS_N; /* of a warp: 16 pixels, 8 channels */
constexpr int PRODUCTS = EVEN_PIECES / 2;
constexpr int JOINED = !DIRECT ? 1 : COLUMNS % 4 == 0 && STORE == 8 ? 4 : 2, NEIGHBOURS = 2 * JOINED; /* eights of channels whose columns are exchanged; channels of a lane */

template <typename T> static __device__ __forceinline__ void multiply(float d[4], const unsigned a[4], const unsigned b[2])
{
    if constexpr (sizeof(T) == 4)
        multiply_16x8x8_tf32(d, a, b);
    else
        multiply_16x8x16<T>(d, a, b);
}

/* Operands of one product: fragments of pixels, and of channels two at a time. */
struct operands {
    unsigned a[FRAGMENTS][4], b[(COLUMNS + 1) / 2][4];
    /* Product d of a step. pixels: of each fragment the lane's row; weights: the lane's column. */
    __device__ __forceinline__ void load(int d, const unsigned pixels[FRAGMENTS], unsigned halo, unsigned weights, int second)
    {
        bool lone = STEP_PIECES % 2 && d == PRODUCTS - 1; /* its other piece is nothing */
        unsigned own = halo + piece_at(2 * d) + (lone ? 0 : second * (piece_at(2 * d + 1) - piece_at(2 * d)));
#pragma unroll
        for (int i = 0; i < FRAGMENTS; i++) {
            load_matrix_4(a[i], pixels[i] + own);
            if (lone)
                a[i][2] = a[i][3] = 0;
        }
#pragma unroll
        for (int j = 0; j < (COLUMNS + 1) / 2; j++)
            if (j * 2 + 1 < COLUMNS)
                load_matrix_4(b[j], weights + (2 * d * BLOCK_K + j * 16) * 16);
            else
                load_matrix_2(b[j], weights + (2 * d * BLOCK_K + j * 16) * 16);
    }
};

/* The channel of a column: 8 * j + 2 * t + e is 2 * JOINED * t + 2 * j + e of each 8 * JOINED. */
static __device__ __forceinline__ int channel_of(int column)
{
    int o = column % (8 * JOINED);
    return column - o + o % 8 / 2 * NEIGHBOURS + o / 8 * 2 + o % 2;
}

struct mma_sums {
    float sum[FRAGMENTS][COLUMNS][4];
    unsigned own_pixel[FRAGMENTS], own_weight;
    int lane, m0, k0;
    __device__ __forceinline__ mma_sums(int warp_m, int warp_n)
    {
        lane = threadIdx.x % 32;
        m0 = warp_m * FRAGMENTS * 16;
        k0 = warp_n * COLUMNS * 8;
        own_weight = (lane / 8 % 2 * BLOCK_K + k0 + lane / 16 * 8 + lane % 8) * 16;
#pragma unroll
        for (int i = 0; i < FRAGMENTS; i++) {
            int m = m0 + i * 16 + lane % 16;
            own_pixel[i] = OUTPUT_AT(m);
        }
#pragma unroll
        for (int i = 0; i < FRAGMENTS * COLUMNS * 4; i++)
            sum[i / 4 / COLUMNS][i / 4 % COLUMNS][i % 4] = 0.0f;
    }

    /* The next product's operands are on their way while one is made. */
    template <int FIRST> __device__ __forceinline__ void multiply(unsigned halo, unsigned weights)
    {
        if (FIRST >= PRODUCTS)
            return;
        operands of[2];
        of[0].load(FIRST, own_pixel, halo, weights + own_weight, lane / 16);
#pragma unroll
        for (int d = FIRST, at = 0; d < PRODUCTS; d += WARPS_D, at ^= 1) {
            if (d + WARPS_D < PRODUCTS)
                of[at ^ 1].load(d + WARPS_D, own_pixel, halo, weights + own_weight, lane / 16);
#pragma unroll
            for (int i = 0; i < FRAGMENTS; i++)
#pragma unroll
                for (int j = 0; j < COLUMNS; j++)
                    ::multiply<TYPE>(sum[i][j], of[at].a[i], &of[at].b[j / 2][j % 2 * 2]);
        }
    }

    __device__ __forceinline__ void stage(float *to) const
    {
#pragma unroll
        for (int i = 0; i < FRAGMENTS; i++)
#pragma unroll
            for (int j = 0; j < COLUMNS; j++)
#pragma unroll
                for (int half = 0; half < 2; half++) {
                    int m = m0 + i * 16 + half * 8 + lane / 4, k = k0 + j * 8 + lane % 4 * 2;
                    if (NHWC)
                        *reinterpret_cast<float2 *>(to + m * SUMS_PITCH + k) = make_float2(sum[i][j][half * 2], sum[i][j][half * 2 + 1]);
                    else {
                        to[k * SUMS_PITCH + m] = sum[i][j][half * 2];
                        to[(k + 1) * SUMS_PITCH + m] = sum[i][j][half * 2 + 1];
                    }
                }
    }

    __device__ __forceinline__ void store(unsigned biases, const TYPE *residual, TYPE *output, int p0, int q0, int block_k, int K, int P, int Q) const
    {
#pragma unroll
        for (int g = 0; g < COLUMNS / JOINED; g++) {
            int k = block_k + k0 + g * 8 * JOINED + lane % 4 * NEIGHBOURS;
            if (k >= K)
                continue;
            float own_bias[NEIGHBOURS];
#pragma unroll
            for (int e = 0; e < NEIGHBOURS; e++)
                own_bias[e] = EPI_BIAS ? __uint_as_float(load_shared(biases + (k - block_k + e) * 4)) : 0.0f;
#pragma unroll
            for (int i = 0; i < FRAGMENTS * 2; i++) {
                int m = m0 + i * 8 + lane / 4, p = p0 + m / TILE_W, q = q0 + m % TILE_W;
                if (p >= P || q >= Q)
                    continue;
                float x[NEIGHBOURS];
#pragma unroll
                for (int e = 0; e < NEIGHBOURS; e++)
                    x[e] = sum[i / 2][g * JOINED + e / 2][i % 2 * 2 + e % 2];
                finish_pixel(x, own_bias, residual, output, p, q, k, K, Q);
            }
        }
    }
};

extern "C" __global__ void __launch_bounds__(256) arrange_weights(const TYPE *filter, TYPE *weights, int K, int pieces)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i >= pieces)
        return;
    for (int e = 0; e < PIECE; e++) {
        TYPE v = weight_of(filter, i / BLOCK_K, channel_of(i % BLOCK_K), e, K);
        if constexpr (SIZE == 4)
            v = __uint_as_float(round_tf32(v));
        weights[(size_t)i * PIECE + e] = v;
    }
}

extern "C" __global__ void __launch_bounds__(THREADS)
conv_mma_any(const TYPE *input, const TYPE *weights, const float *bias, const TYPE *residual, TYPE *output, int images, int H, int W, int K, int P, int Q, int pad,
             int tiles_x, int tiles_y)
{
    convolve_any<mma_sums>(input, weights, bias, residual, output, images, H, W, K, P, Q, pad, tiles_x, tiles_y);
}
