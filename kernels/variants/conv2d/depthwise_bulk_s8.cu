/* bench 1
op: conv2d
what: depthwise_bulk on 8-bit whole numbers - a product has eight pixels by four channels of depth; exact sums, results of 4 bytes
from: depthwise_bulk
needs: groups == c and k == c and c % 16 == 0 and c * h * w < 2147483648 and k * p * q < 2147483648 and live <= 16
layout: {input: NHWC, filter: RSCK, output: NHWC}
dtype: {input: i8, filter: i8, output: f32, bias: f32, accumulate: i32}
math: [i8_acc32]
epilogue: [bias, relu, leaky_relu, prelu]
params:
  CHANNELS: {values: [auto, 16, 32], default: auto}            # of a block
  TILES: {values: [auto, 1, 2, 4], default: auto}              # of 32 outputs side by side, a block
  ROWS: {values: [auto, 4, 6, 8, 12, 16, 20, 24, 32, 48, 64], default: auto}         # lines of outputs a block goes down
  RING: {values: [3, 4, 6, 8], default: 6}                     # lines of input in shared memory
  RESIDENT: {values: [auto, 1, 2, 3, 4, 5, 6, 8], default: auto}   # blocks of an SM, at least: bounds the registers
let:
  live: floor((r - 1) * dilation_y, stride_y) + 1              # lines of outputs that one line of the input belongs to
  reach: stride_x + (s - 1) * dilation_x + 1                   # pixels under two outputs
  eights: floor(reach + 3, 8)                                  # of pixels, whole products
  four: reach % 8 >= 1 and reach % 8 <= 4
  held: r * 2 * (2 * eights + four) + live * 8                 # registers of eight channels: weights and sums
  channels: select(CHANNELS == 'auto', select(c <= 16 or 32 * ceil(c, 32) * 5 > select(r * s >= 49, 5, 6) * c, 16, 32), CHANNELS)
  tiles: select(TILES == 'auto', max(1, min(32 / channels, ceil(q, 32))), TILES)
  warps: channels / 8 * tiles
  resident: select(RESIDENT == 'auto', max(1, floor(4 * floor(512, 8 * ceil(48 + held, 8)), warps)), RESIDENT)   # a quarter of an SM has 512 registers for a lane
  box_w: (tiles * 16 - 1) * 2 * stride_x + 8 * eights + 4 * four
  slot: 1024 * ceil(box_w * channels, 1024)
  parts_k: ceil(c, channels)
  tiles_x: ceil(q, 32 * tiles)
  all: parts_k * tiles_x * n
  fitting: ceil(p, max(1, min(p, floor(fit_waves * sm_count * resident, all))))   # lines, if blocks are to fill so many waves
  rows: select(ROWS != 'auto', ROWS, fitting)
  parts: ceil(p, rows)
  smem: 1024 + RING * slot + 2 * tiles * 128 * channels + 8 * RING
candidates:
  waves:
    rows:
      w1:  {fit_waves: 1}
      w2:  {fit_waves: 2}
      w3:  {fit_waves: 3}
      w4:  {fit_waves: 4}
      w5:  {fit_waves: 5}
      w6:  {fit_waves: 6}
      w7:  {fit_waves: 7}
      w8:  {fit_waves: 8}
      w10: {fit_waves: 10}
      w12: {fit_waves: 12}
      w16: {fit_waves: 16}
      w24: {fit_waves: 24}
      w32: {fit_waves: 32}
      w64: {fit_waves: 64}
    least: ceil(all * ceil(p, fitting), sm_count * resident) * ((fitting - 1) * stride_y + (r - 1) * dilation_y + 5)   # waves; lines, and a start that is worth four
where:
  - cc >= 90
  - held <= 190
  - warps <= 16
  - box_w <= 256
  - resident * 32 * warps <= 2048
  - smem <= smem_per_block_optin
define:
  INPUT_T: type(input)
  BLOCK_CHANNELS: channels
  TILES_FIT: tiles
  EIGHTS: eights
  FOUR: four
  BOX_W: box_w
  SLOT: slot
  BLOCKS: resident
  EPI_BIAS: has(bias)
  EPI_SLOPE: slope(epilogue)
  EPI_PRELU: select(has(prelu), k, 0)
specialise: [c, r, s, stride_y, stride_x, dilation_y, dilation_x]
tensor_maps:
  input_map: {of: input, box: "channels, box_w, 1, 1", swizzle: "select(channels == 16, 0, 32)", l2: 256}
  output_map: {of: output, box: "channels, 32 * tiles, 1, 1", swizzle: 4 * channels}
prepare:
  - symbol: epi_slopes = slopes
    when: has(prelu)
steps:
  - kernel: conv_depthwise_bulk_s8
    grid: all * parts
    block: 32 * warps
    smem: smem
    args: input_map, output_map, filter, bias, p, pad_top, pad_left, parts_k, tiles_x, rows, parts
*/

/* What changed from depthwise_bulk: the instruction. Its depth of 32 is eight pixels by four channels of 8 bits, the whole window of two outputs of 7x7; 3x3 uses the instruction that is
 * 16 deep. Sums are exact in 32 bits.
 *
 * The results have 4 bytes, four fifths of all bytes moved: they take most of the time. */
#include "dense/depthwise_bulk.cuh"
#include "tensor_core/mma_s8.cuh"

constexpr int WORDS = 2 * EIGHTS + FOUR, WARPS = BLOCK_CHANNELS / 8 * TILES_FIT; /* words of weights, for a row of the filter and four channels */

struct eight_bits {
    static constexpr int UNIT = 8, PIXEL = BLOCK_CHANNELS, PUT = 4 * BLOCK_CHANNELS;
    unsigned weights[2][R][WORDS], at, put_at; /* at: places in a line of the ring, and in one of results */
    float biases[2][2];
    int sum[LIVE][2][4], k; /* k: first channel of a lane's results */

    __device__ __forceinline__ eight_bits(const signed char *filter, const float *bias, int k0, int own, int tile) : k(k0 + own + threadIdx.x % 2 * 2)
    {
        int lane = threadIdx.x % 32;
        at = swizzled<PIXEL>(((tile * 16 + lane / 4) * 2 * STRIDE_X + lane % 4) * PIXEL + own);
        put_at = swizzled<PUT>((tile * 32 + lane / 4 * 2 + lane % 4 / 2) * PUT + own * 4) + lane % 2 * 8;
#pragma unroll
        for (int j = 0; j < 2; j++) {
            int column = lane / 4, channel = k0 + own + j * 4 + column % 4;
#pragma unroll
            for (int i = 0; i < R * WORDS; i++)
                weights[j][i / WORDS][i % WORDS] =
                    weight_of(reinterpret_cast<const unsigned char *>(filter), i / WORDS, i % WORDS * 4 + lane % 4, column / 4, channel, channel < C, column % 4);
#pragma unroll
            for (int e = 0; e < 2; e++)
                biases[j][e] = EPI_BIAS && k + j * 4 + e < C ? bias[k + j * 4 + e] : 0.0f;
        }
#pragma unroll
        for (int j = 0; j < LIVE * 8; j++)
            sum[j / 8][j / 4 % 2][j % 4] = 0;
    }
    __device__ __forceinline__ void add(unsigned line, int u)
    {
        unsigned word[WORDS][2][2]; /* pixel of a four; of pixel pair lane / 4 or 8 more; four channels */
#pragma unroll
        for (int i = 0; i < WORDS * 2; i++) {
            float2 v = load_shared_2(line + (at ^ (i / 2 % 2 ? 4 * PIXEL >> 3 & PIXEL - 16 : 0)) + i / 2 * 4 * PIXEL + i % 2 * 16 * STRIDE_X * PIXEL);
            word[i / 2][i % 2][0] = __float_as_uint(v.x);
            word[i / 2][i % 2][1] = __float_as_uint(v.y);
        }
#pragma unroll
        for (int i = 0; i < R * 2; i++) {
            int r = i / 2, j = i % 2, reach = u + (LIVE - 1) * STRIDE_Y - r * DILATION_Y, own = reach / STRIDE_Y % LIVE;
            if (reach % STRIDE_Y)
                continue;
            if (r == 0)
#pragma unroll
                for (int e = 0; e < 4; e++)
                    sum[own][j][e] = 0;
#pragma unroll
            for (int w = 0; w < 2 * EIGHTS; w += 2) {
                const unsigned a[4] = {word[w][0][j], word[w][1][j], word[w + 1][0][j], word[w + 1][1][j]};
                multiply_16x8x32(sum[own][j], a, weights[j][r] + w);
            }
            if (FOUR) {
                const unsigned a[2] = {word[2 * EIGHTS][0][j], word[2 * EIGHTS][1][j]};
                multiply_16x8x16(sum[own][j], a, weights[j][r][2 * EIGHTS]);
            }
        }
    }
    /* For every four channels, two of pixel 2 * (lane / 4) + lane % 4 / 2, and of the one 16 further. */
    __device__ __forceinline__ void put(int done, unsigned line) const
    {
#pragma unroll
        for (int i = 0; i < 4; i++) {
            int j = i / 2, half = i % 2;
            float x[2];
#pragma unroll
            for (int e = 0; e < 2; e++)
                x[e] = activate_channel((float)sum[done][j][half * 2 + e] + biases[j][e], k + j * 4 + e);
            asm volatile("st.shared.v2.f32 [%0], {%1, %2};" ::"r"(line + (put_at ^ j * 16) + half * 16 * PUT), "f"(x[0]), "f"(x[1]) : "memory");
        }
    }
};

extern "C" __global__ void __launch_bounds__(32 * WARPS, BLOCKS)
conv_depthwise_bulk_s8(const __grid_constant__ tensor_map input_map, const __grid_constant__ tensor_map output_map, const signed char *__restrict__ filter,
                       const float *__restrict__ bias, int P, int pad, int pad_x, int parts_k, int tiles_x, int rows, int parts)
{
    convolve_lines<eight_bits>(&input_map, &output_map, filter, bias, P, pad, pad_x, parts_k, tiles_x, rows, parts);
}
