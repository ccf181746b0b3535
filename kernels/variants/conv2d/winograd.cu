/* bench 1
op: conv2d
what: Winograd F(2x2, 3x3) in fp32, all three steps in one kernel - 16 multiplications instead of 36
from: halo_regs
needs:
  - r == 3 and s == 3 and stride == 1 and dilation == 1 and groups == 1
  - c * h * w < 2147483648 and k * p * q < 2147483648
layout: {input: [NHWC, NCHW], filter: [KCRS, KRSC], output: same, residual: same}
dtype: {input: f32, output: f32, bias: f32, accumulate: f32}
algorithm: winograd
epilogue: [bias, residual, relu, leaky_relu]
claims: cc == 90 and c >= 16 and (layout == NHWC and n * p * q >= 16384 or k > 32 and n * p * q >= 65536)
let:
  cp: 8 * ceil(c, 8)
  kp: 64 * ceil(k, 64)
  pitch: select(smem_per_block_optin >= 102400, 36, 32)   # GeForce has 1 KiB too little for the wider one
  smem: 2 * 4 * (16 * 8 * pitch + 16 * 8 * 64)
where:
  - smem <= smem_per_block_optin
  - cc >= 80
define:
  PAD_MORE: pad_left - pad_top                     # of columns, beside that of rows
  TILE_PITCH: pitch
  NHWC: layout(input) == NHWC
  FILTER: layout(filter)
  EPI_BIAS: has(bias)
  EPI_RESIDUAL: has(residual)
  EPI_SLOPE: slope(epilogue)
  EPI_SCALE: scale(epilogue)
scratch:
  transformed: f32[cp * 16 * kp]
prepare:
  - kernel: transform_filter
    grid: ceil(cp * kp, 256)
    block: 256
    args: filter, transformed, c, k, cp, kp
steps:
  - kernel: conv_winograd
    grid: ceil(q, 16), ceil(p, 8), n * (kp / 64)
    block: 256
    smem: smem
    args: input, transformed, bias, residual, output, c, h, w, k, p, q, pad_top, cp, kp
*/

/* What changed from halo_regs: the number of multiplications. Two by two outputs of a 3x3 convolution need 36 of them; after a linear transform of the 4x4 inputs
 * and of the filter they need 16, one for each point of the transformed tile, and a transform of the 16 sums gives the 4 outputs:
 *
 *     output = A' [ (G filter G') * (B' input B) ] A        B' and A' hold 0, 1 and -1 only, G also 1/2
 *
 * For each of the 16 points it is a matrix product over the channels, so a block is 16 products of 32 tiles by 64 channels. Each of 8 warps computes two points,
 * and a thread 8 x 8 of each.
 *
 *  - The filter is transformed once, in a step of its own that is timed separately (`prepare`): 16/9 of its size.
 *  - Inputs are transformed on the way to shared memory: a thread loads the 4x4 values of one tile and channel: 32 additions, 16 stores. The values of the next 8
 *    channels are loaded while these are multiplied.
 *  - The 16 sums of an output are in 8 warps; they are combined in shared memory, where the operands were.
 *
 * Cost: 2.25 times fewer multiply-adds, but 128 sums a thread (one block per SM), inputs loaded four times (from L1), and different rounding: the transforms add
 * values that the direct sum never adds, so the error is a few times larger (`algorithm: winograd` sets that bound). */
#include "element/element.cuh"
#include "element/epilogue.cuh"
#include "tensor_core/mma.cuh"
#include "element/tensor.cuh"

/* TILE_PITCH floats from channel to channel: with 36 the 8 channels by 4 tiles that a warp writes are in 32 banks; with 32 they would be if the tiles of a
 * channel had another order. */
constexpr int SUM_PITCH = 36;
constexpr int INPUT_FLOATS = 16 * 8 * TILE_PITCH; /* [point][channel][tile] */
constexpr int WEIGHT_FLOATS = 16 * 8 * 64;        /* [channel][point][output channel] */

extern __shared__ __align__(16) float shared[]; /* two stages of both; at the end [point][..] of 32 tiles and 32 channels */

static __device__ __forceinline__ int place(int channel, int tile)
{
    return channel * TILE_PITCH + (TILE_PITCH == 32 ? tile ^ channel * 4 : tile);
}

/* transformed[c][point][k] = G g G', zero past the last channels. */
extern "C" __global__ void __launch_bounds__(256) transform_filter(const float *filter, float *transformed, int C, int K, int CP, int KP)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i >= CP * KP)
        return;
    int k = i % KP, c = i / KP;
    float g[3][3], rows[4][3];
#pragma unroll
    for (int j = 0; j < 9; j++)
        g[j / 3][j % 3] = c < C && k < K ? filter[filter_at(k, c, j / 3, j % 3, K, C, 3, 3)] : 0.0f;
#pragma unroll
    for (int s = 0; s < 3; s++) {
        rows[0][s] = g[0][s];
        rows[1][s] = 0.5f * (g[0][s] + g[1][s] + g[2][s]);
        rows[2][s] = 0.5f * (g[0][s] - g[1][s] + g[2][s]);
        rows[3][s] = g[2][s];
    }
#pragma unroll
    for (int r = 0; r < 4; r++) {
        float *to = transformed + ((size_t)c * 16 + r * 4) * KP + k;
        to[0] = rows[r][0];
        to[KP] = 0.5f * (rows[r][0] + rows[r][1] + rows[r][2]);
        to[2 * KP] = 0.5f * (rows[r][0] - rows[r][1] + rows[r][2]);
        to[3 * KP] = rows[r][2];
    }
}

/* The 4x4 inputs of one tile and channel, zeros outside. (y, x): the first of them. */
static __device__ __forceinline__ void fetch(float v[16], const float *image, int c, int y, int x, int C, int H, int W)
{
#pragma unroll
    for (int i = 0; i < 16; i++) {
        int yy = y + i / 4, xx = x + i % 4;
        v[i] = c < C && yy >= 0 && yy < H && xx >= 0 && xx < W ? image[at(c, yy, xx, C, H, W)] : 0.0f;
    }
}

/* B' d B to [point][channel][tile]. */
static __device__ __forceinline__ void put(float *to, const float v[16])
{
    float t[16];
#pragma unroll
    for (int x = 0; x < 4; x++) {
        t[x] = v[x] - v[8 + x];
        t[4 + x] = v[4 + x] + v[8 + x];
        t[8 + x] = v[8 + x] - v[4 + x];
        t[12 + x] = v[4 + x] - v[12 + x];
    }
#pragma unroll
    for (int y = 0; y < 4; y++) {
        const float *row = t + 4 * y;
        const float point[4] = {row[0] - row[2], row[1] + row[2], row[2] - row[1], row[1] - row[3]};
#pragma unroll
        for (int x = 0; x < 4; x++)
            to[(4 * y + x) * (8 * TILE_PITCH)] = point[x];
    }
}

static __device__ __forceinline__ void load_weights(float *to, const float *transformed, int c0, int k0, int KP)
{
    for (int i = threadIdx.x; i < WEIGHT_FLOATS / 4; i += 256)
        copy_async_16(shared_address(to) + 16 * i, transformed + ((size_t)c0 * 16 + i / 16) * KP + k0 + i % 16 * 4, true);
    copy_async_commit();
}

/* Two points (the warp's) of 8 channels: sum[point][channel][tile]. Channels 4 g .. and 32 + 4 g .., tiles 4 h .. and 16 + 4 h ... */
static __device__ __forceinline__ void multiply(float sum[2][8][8], unsigned inputs, unsigned weights, int h)
{
#pragma unroll 2
    for (int c = 0; c < 8; c++)
#pragma unroll
        for (int point = 0; point < 2; point++) {
            float tile[8], channel[8];
            unsigned from = inputs + 4 * (point * (8 * TILE_PITCH) + c * TILE_PITCH), filter = weights + 4 * (c * (16 * 64) + point * 64);
            int swapped = TILE_PITCH == 32 && c & 4; /* the two halves of a channel's tiles */
            if (TILE_PITCH == 32)
                from += 4 * ((4 * h ^ 4 * c) - 4 * h);
            load_shared_4(tile, from);
            load_shared_4(tile + 4, swapped ? from - 64 : from + 64);
            load_shared_4(channel, filter);
            load_shared_4(channel + 4, filter + 128);
#pragma unroll
            for (int i = 0; i < 8; i++)
#pragma unroll
                for (int j = 0; j < 8; j++)
                    sum[point][i][j] += channel[i] * tile[j];
        }
}

/* Half of the sums, 32 channels, meet in shared memory: NHWC [point][tile][channel], NCHW [point][channel][tile]. */
static __device__ __forceinline__ void exchange(const float sum[2][8][8], int half, int point0, int g, int h)
{
#pragma unroll
    for (int point = 0; point < 2; point++)
#pragma unroll
        for (int i = 0; i < (NHWC ? 8 : 4); i++) { /* a tile, or a channel; four neighbours of the other at a time */
#pragma unroll
            for (int j = 0; j < (NHWC ? 1 : 2); j++) {
                const float(*own)[8] = &sum[point][half * 4];
                int tile = NHWC ? i / 4 * 16 + h * 4 + i % 4 : j * 16 + h * 4, channel = NHWC ? g * 4 : g * 4 + i;
                float *to = shared + (point0 + point) * (32 * SUM_PITCH) + (NHWC ? tile * SUM_PITCH + channel : channel * SUM_PITCH + tile);
                *reinterpret_cast<float4 *>(to) = NHWC ? make_float4(own[0][i], own[1][i], own[2][i], own[3][i])
                                                       : make_float4(own[i][j * 4], own[i][j * 4 + 1], own[i][j * 4 + 2], own[i][j * 4 + 3]);
            }
        }
}

/* A' m A of one tile and channel: four outputs. */
static __device__ __forceinline__ void finish(float out[4], const float *from)
{
    float t[8];
#pragma unroll
    for (int x = 0; x < 4; x++) {
        float m[4];
#pragma unroll
        for (int y = 0; y < 4; y++)
            m[y] = from[(4 * y + x) * (32 * SUM_PITCH)];
        t[x] = m[0] + m[1] + m[2];
        t[4 + x] = m[1] - m[2] - m[3];
    }
#pragma unroll
    for (int y = 0; y < 2; y++) {
        out[2 * y] = t[4 * y] + t[4 * y + 1] + t[4 * y + 2];
        out[2 * y + 1] = t[4 * y + 1] - t[4 * y + 2] - t[4 * y + 3];
    }
}

extern "C" __global__ void __launch_bounds__(256)
conv_winograd(const float *input, const float *transformed, const float *bias, const float *residual, float *output, int C, int H, int W, int K, int P, int Q,
              int pad, int CP, int KP)
{
    int blocks_k = KP / 64, k0 = blockIdx.z % blocks_k * 64, n = blockIdx.z / blocks_k;
    int p0 = blockIdx.y * 8, q0 = blockIdx.x * 16; /* 4 x 8 tiles of 2 x 2 outputs */
    input += (size_t)n * C * H * W;

    /* Whose inputs this thread transforms: neighbouring threads load neighbouring addresses. */
    int own_c = NHWC ? threadIdx.x % 8 : threadIdx.x / 32, own_tile = NHWC ? threadIdx.x / 8 : threadIdx.x % 32;
    int y = p0 + own_tile / 8 * 2 - pad, x = q0 + own_tile % 8 * 2 - pad - PAD_MORE;
    int own_place = place(own_c, own_tile);
    /* What it multiplies. */
    int point0 = threadIdx.x / 32 * 2, g = threadIdx.x % 8, h = threadIdx.x % 32 / 8;

    float *inputs = shared, *weights = shared + 2 * INPUT_FLOATS;
    float next[16];
    load_weights(weights, transformed, 0, k0, KP);
    fetch(next, input, own_c, y, x, C, H, W);
    put(inputs + own_place, next);
    float sum[2][8][8];
#pragma unroll
    for (int i = 0; i < 128; i++)
        sum[i / 64][i / 8 % 8][i % 8] = 0.0f;
    for (int c0 = 0, stage = 0; c0 < CP; c0 += 8, stage ^= 1) {
        copy_async_wait<0>();
        __syncthreads(); /* this stage has come for all, and all have left the other */
        bool more = c0 + 8 < CP;
        if (more) {
            load_weights(weights + (stage ^ 1) * WEIGHT_FLOATS, transformed, c0 + 8, k0, KP);
            fetch(next, input, c0 + 8 + own_c, y, x, C, H, W);
        }
        multiply(sum, shared_address(inputs + stage * INPUT_FLOATS + point0 * (8 * TILE_PITCH) + h * 4),
                 shared_address(weights + stage * WEIGHT_FLOATS + point0 * 64 + g * 4), h);
        if (more)
            put(inputs + (stage ^ 1) * INPUT_FLOATS + own_place, next);
    }

    size_t image = (size_t)n * K * P * Q;
#pragma unroll
    for (int half = 0; half < 2; half++) {
        __syncthreads();
        exchange(sum, half, point0, g, h);
        __syncthreads();
        for (int i = threadIdx.x; i < 32 * 32; i += 256) {
            int channel = NHWC ? i % 32 : i / 32, tile = NHWC ? i / 32 : i % 32, k = k0 + half * 32 + channel;
            if (k >= K)
                continue;
            float out[4];
            finish(out, shared + (NHWC ? tile * SUM_PITCH + channel : channel * SUM_PITCH + tile));
#pragma unroll
            for (int j = 0; j < 4; j++) {
                int p = p0 + tile / 8 * 2 + j / 2, q = q0 + tile % 8 * 2 + j % 2;
                if (p >= P || q >= Q)
                    continue;
                size_t e = image + at(k, p, q, K, P, Q);
                float sum_k = out[j] + bias_of(bias, k);
                output[e] = activate(EPI_RESIDUAL ? branch(sum_k) + residual[e] : sum_k);
            }
        }
    }
}
