/* bench 1
op: conv2d
what: mma.sync for any number of channels - pixels and weights stream through shared memory, a tap and 32 channels at a time
from: mma_sync
needs:
  - groups == 1 and c % 8 == 0 and k % 8 == 0 and r * s <= 32 and c * h * w < 2147483648 and k * p * q < 2147483648
layout: {input: NHWC, filter: KRSC, output: NHWC, residual: NHWC}
dtype: {input: [f16, bf16], output: same, bias: f32, accumulate: f32}
algorithm: implicit_gemm
epilogue: [bias, residual, relu, leaky_relu, prelu]
params:
  KB: {values: [auto, 64, 128], default: auto}     # output channels a block
  STAGES: {values: [2, 3, 4], default: 3}
let:
  kb: select(KB == 'auto', select(k > 64, 128, 64), KB)
  depth: select(c <= 16, 16, 32)                    # channels of a step
  smem: STAGES * (128 + kb) * (2 * depth + 16) + 512
where:
  - smem <= smem_per_block_optin
  - cc >= 80
define:
  PAD_MORE: pad_left - pad_top                     # of columns, beside that of rows
  TYPE: type(input)
  BLOCK_K: kb
  DEPTH: depth
  MASKED: has(mask)
  EPI_BIAS: has(bias)
  EPI_RESIDUAL: has(residual)
  EPI_SLOPE: slope(epilogue)
  EPI_SCALE: scale(epilogue)
  EPI_PRELU: select(has(prelu), k, 0)
specialise: [c, r, s, stride_y, stride_x, dilation_y, dilation_x]
prepare:
  - symbol: epi_slopes = slopes
    when: has(prelu)
steps:
  - kernel: conv_mma_stages
    grid: ceil(q, 16), ceil(p, 8), n * ceil(k, kb)
    block: 256
    smem: smem
    args: input, filter, bias, residual, 0, 0, output, h, w, k, p, q, pad_top
*/

/* What changed from mma_sync: no weights stay. There a block keeps the weights of its output channels, which at 128 channels are more than an SM of a GeForce
 * holds. Here the depth of the product, taps times channels, is cut into steps of one tap and 32 channels; STAGES of them are in flight at a time. A block computes
 * 8 x 16 pixels by BLOCK_K channels, and its eight warps 32 pixels by half of the channels each.
 *
 *  - A tap's pixels are loaded for that tap alone, 16 bytes each, zeros outside the image: nine times from L2 for a 3x3, which pays while BLOCK_K channels use
 *    them. A thread knows for its two pixels which taps are inside (one bit a tap).
 *  - With a mask that bit also says whether the input is marked: an unmarked one is a zero that is not read. A tile without any bit ends before its first load
 *    (sparse_stages is this file with a mask).
 *  - Output channels are permuted as in mma_sync, so that a lane stores eight adjacent ones at once.
 *
 * Cost: the taps are loaded from L2 instead of shared memory. If the weights fit there, mma_sync is faster. */
#include "element/element.cuh"
#include "element/epilogue.cuh"
#include "tensor_core/mma.cuh"

constexpr int PITCH = 2 * DEPTH + 16; /* bytes of a pixel or output channel in a stage: an odd number of 16-byte pieces, so eight rows fall into all banks */
constexpr int PIECES = DEPTH / 8;
constexpr int STAGE_BYTES = (128 + BLOCK_K) * PITCH;
constexpr int CHUNKS = (C + DEPTH - 1) / DEPTH;
constexpr int STEPS = R * S * CHUNKS;
constexpr int GROUPS = BLOCK_K / 64; /* of 32 channels, for a warp */
constexpr int PIXEL_PIECES = (128 * PIECES + 255) / 256, WEIGHT_PIECES = (BLOCK_K * PIECES + 255) / 256;

extern __shared__ __align__(128) unsigned char shared[]; /* stages; behind them a word for each pixel: its taps */

/* Bit r * S + s: the input that tap (r, s) of output pixel (p, q) reads lies inside the image and, where there is a mask, is marked. */
static __device__ unsigned taps_of(int p, int q, const unsigned *mask, int H, int W, int P, int Q, int pad)
{
    unsigned taps = 0;
    for (int r = 0; r < R && p < P && q < Q; r++)
        for (int s = 0; s < S; s++) {
            int y = p * STRIDE_Y - pad + r * DILATION_Y, x = q * STRIDE_X - pad - PAD_MORE + s * DILATION_X;
            bool there = y >= 0 && y < H && x >= 0 && x < W;
            if (MASKED && there)
                there = mask[y * ((W + 31) / 32) + x / 32] >> (x % 32) & 1;
            taps |= (unsigned)there << (r * S + s);
        }
    return taps;
}

/* The word of the tile's taps, one a pixel, and the output's mask. Is any output of the tile active? */
static __device__ bool look(unsigned *taps, const unsigned *mask, unsigned *mask_out, int p0, int q0, int H, int W, int P, int Q, int pad, bool writes)
{
    unsigned own = 0;
    int row = threadIdx.x / 16;
    if (threadIdx.x < 128) {
        own = taps_of(p0 + row, q0 + threadIdx.x % 16, mask, H, W, P, Q, pad);
        taps[threadIdx.x] = own;
        unsigned two = __ballot_sync(~0u, own != 0), half = threadIdx.x % 32 / 16 ? two >> 16 : two & 0xffff;
        if (MASKED && writes && threadIdx.x % 16 == 0 && p0 + row < P) {
            unsigned short *to = reinterpret_cast<unsigned short *>(mask_out + (size_t)(p0 + row) * ((Q + 31) / 32)) + q0 / 16;
            to[0] = (unsigned short)half;
            if (q0 + 16 >= Q && q0 % 32 == 0)
                to[1] = 0; /* no tile of its own */
        }
    }
    return __syncthreads_or(own != 0);
}

/* Copies step `step` to a stage: its tap and channels of 128 pixels, then of the block's output channels. */
static __device__ __forceinline__ void load_step(unsigned stage, int step, const TYPE *input, const TYPE *filter, const unsigned *taps, int p0, int q0, int k0,
                                                 int H, int W, int K, int pad)
{
    int tap = step / CHUNKS, c0 = step % CHUNKS * DEPTH, r = tap / S, s = tap % S;
#pragma unroll
    for (int j = 0; j < PIXEL_PIECES; j++) {
        int i = threadIdx.x + j * 256, pixel = i / PIECES, c = c0 + i % PIECES * 8;
        if (128 * PIECES % 256 && pixel >= 128)
            break;
        bool valid = c < C && (taps[pixel] >> tap & 1);
        int y = (p0 + pixel / 16) * STRIDE_Y - pad + r * DILATION_Y, x = (q0 + pixel % 16) * STRIDE_X - pad - PAD_MORE + s * DILATION_X;
        copy_async_16(stage + pixel * PITCH + i % PIECES * 16, input + (valid ? ((size_t)y * W + x) * C + c : 0), valid);
    }
#pragma unroll
    for (int j = 0; j < WEIGHT_PIECES; j++) {
        int i = threadIdx.x + j * 256, k = i / PIECES, c = c0 + i % PIECES * 8;
        if (BLOCK_K * PIECES % 256 && k >= BLOCK_K)
            break;
        int o = k % 32, column = k - o + o % 8 / 2 * 8 + o / 8 * 2 + o % 2; /* channel 8 t + 2 j + e goes to column 8 j + 2 t + e */
        bool valid = c < C && k0 + k < K;
        copy_async_16(stage + (128 + column) * PITCH + i % PIECES * 16, filter + (valid ? ((size_t)(k0 + k) * (R * S) + tap) * C + c : 0), valid);
    }
}

/* sum[i][j]: rows are the 16 pixels of the warp's output row i, columns 8 j .. 8 j + 7 of its channels. */
static __device__ __forceinline__ void multiply_step(float sum[2][4 * GROUPS][4], unsigned pixels, unsigned weights)
{
#pragma unroll
    for (int c = 0; c < DEPTH; c += 16) {
        unsigned a[2][4];
#pragma unroll
        for (int i = 0; i < 2; i++)
            load_matrix_4(a[i], pixels + i * 16 * PITCH + c * 2);
#pragma unroll
        for (int j = 0; j < 2 * GROUPS; j++) {
            unsigned b[4];
            load_matrix_4(b, weights + j * 16 * PITCH + c * 2);
#pragma unroll
            for (int i = 0; i < 2; i++) {
                multiply_16x8x16<TYPE>(sum[i][2 * j], a[i], b);
                multiply_16x8x16<TYPE>(sum[i][2 * j + 1], a[i], b + 2);
            }
        }
    }
}

extern "C" __global__ void __launch_bounds__(256)
conv_mma_stages(const TYPE *input, const TYPE *filter, const float *bias, const TYPE *residual, const unsigned *mask_in, unsigned *mask_out, TYPE *output,
                int H, int W, int K, int P, int Q, int pad)
{
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32, blocks_k = (K + BLOCK_K - 1) / BLOCK_K;
    int q0 = blockIdx.x * 16, p0 = blockIdx.y * 8, n = blockIdx.z / blocks_k, k0 = blockIdx.z % blocks_k * BLOCK_K;
    unsigned *taps = reinterpret_cast<unsigned *>(shared + STAGES * STAGE_BYTES);
    if (!look(taps, MASKED ? mask_in + (size_t)n * H * ((W + 31) / 32) : nullptr, MASKED ? mask_out + (size_t)n * P * ((Q + 31) / 32) : nullptr, p0, q0, H, W, P,
              Q, pad, k0 == 0) &&
        MASKED)
        return;
    input += (size_t)n * C * H * W;
    size_t image = (size_t)n * K * P * Q;

    unsigned first = shared_address(shared);
    unsigned own_pixel = (warp / 2 * 32 + lane % 16) * PITCH + lane / 16 * 16;
    unsigned own_weight = (128 + warp % 2 * (BLOCK_K / 2) + lane / 16 * 8 + lane % 8) * PITCH + lane / 8 % 2 * 16;
    float sum[2][4 * GROUPS][4];
#pragma unroll
    for (int i = 0; i < 32 * GROUPS; i++)
        sum[i / (16 * GROUPS)][i / 4 % (4 * GROUPS)][i % 4] = 0.0f;

#pragma unroll
    for (int step = 0; step < STAGES - 1; step++) {
        if (step < STEPS)
            load_step(first + step * STAGE_BYTES, step, input, filter, taps, p0, q0, k0, H, W, K, pad);
        copy_async_commit(); /* perhaps empty, so that the wait below always means this step */
    }
    for (int step = 0; step < STEPS; step++) {
        copy_async_wait<STAGES - 2>();
        __syncthreads(); /* this step has come for all, and all have left the stage that is filled next */
        int next = step + STAGES - 1;
        if (next < STEPS)
            load_step(first + next % STAGES * STAGE_BYTES, next, input, filter, taps, p0, q0, k0, H, W, K, pad);
        copy_async_commit();
        unsigned stage = first + step % STAGES * STAGE_BYTES;
        multiply_step(sum, stage + own_pixel, stage + own_weight);
    }

#pragma unroll
    for (int g = 0; g < GROUPS; g++) {
        int k = k0 + warp % 2 * (BLOCK_K / 2) + g * 32 + lane % 4 * 8; /* the eight channels that this lane stores */
        if (k >= K)
            continue;
#pragma unroll
        for (int i = 0; i < 4; i++) {
            int row = warp / 2 * 2 + i / 2, column = lane / 4 + i % 2 * 8, p = p0 + row, q = q0 + column;
            if (p >= P || q >= Q || (MASKED && !taps[row * 16 + column]))
                continue;
            size_t at = image + ((size_t)p * Q + q) * K + k;
            pack<TYPE, 8> out, add;
            if (EPI_RESIDUAL)
                add = load_pack<TYPE, 8>(residual + at);
#pragma unroll
            for (int j = 0; j < 8; j++) {
                float x = sum[i / 2][g * 4 + j / 2][i % 2 * 2 + j % 2] + bias_of(bias, k + j);
                out.item[j] = from_f32<TYPE>(activate_channel(EPI_RESIDUAL ? branch(x) + to_f32(add.item[j]) : x, k + j));
            }
            store_pack<TYPE, 8>(output + at, out);
        }
    }
}
