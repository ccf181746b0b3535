/* bench 1
op: conv2d
what: depthwise on tensor cores, NHWC, sm_90 - a product has 16 pairs of outputs, four channels and four pixels of depth; lines come and leave by TMA
from: depthwise_mma
needs: groups == c and k == c and c % 8 == 0 and c * h * w < 2147483648 and k * p * q < 2147483648 and live <= 16
layout: {input: NHWC, filter: RSCK, output: NHWC}
dtype: {input: [f16, bf16], output: same, bias: f32, accumulate: f32}
epilogue: [bias, relu, leaky_relu, prelu]
params:
  EIGHTS: {values: [auto, 1, 2], default: auto}                # of channels, a warp
  CHANNELS: {values: [auto, 16, 32, 64], default: auto}        # of a block
  TILES: {values: [auto, 1, 2, 4], default: auto}              # of 32 outputs side by side, a block
  ROWS: {values: [auto, 4, 6, 8, 12, 16, 20, 24, 32, 48, 64], default: auto}         # lines of outputs a block goes down
  RING: {values: [3, 4, 6, 8], default: 6}                     # lines of input in shared memory
  RESIDENT: {values: [auto, 1, 2, 3, 4, 5, 6, 8], default: auto}   # blocks of an SM, at least: bounds the registers
let:
  live: floor((r - 1) * dilation_y, stride_y) + 1              # lines of outputs that one line of the input belongs to
  reach: stride_x + (s - 1) * dilation_x + 1                   # pixels under two outputs
  fours: floor(reach + 1, 4)
  two: reach % 4 == 1 or reach % 4 == 2
  held: r * 2 * (2 * fours + two) + live * 8                   # registers of eight channels: weights and sums
  eights: select(EIGHTS == 'auto', select(c > 8 and 2 * held <= 100, 2, 1), EIGHTS)
  channels: select(CHANNELS == 'auto', select(c <= 16 or 32 * ceil(c, 32) * 5 > 6 * c, 16, 32), CHANNELS)
  tiles: select(TILES == 'auto', max(1, min(4 * 8 * eights / channels, ceil(q, 32))), TILES)
  warps: channels / (8 * eights) * tiles
  resident: select(RESIDENT == 'auto', max(1, floor(4 * floor(512, 8 * ceil(50 + eights * held, 8)), warps)), RESIDENT)   # a quarter of an SM has 512 registers for a lane
  box_w: (tiles * 16 - 1) * 2 * stride_x + 4 * fours + 2 * two
  slot: 1024 * ceil(box_w * channels * 2, 1024)
  parts_k: ceil(c, channels)
  tiles_x: ceil(q, 32 * tiles)
  all: parts_k * tiles_x * n
  fitting: ceil(p, max(1, min(p, floor(fit_waves * sm_count * resident, all))))   # lines, if blocks are to fill so many waves
  rows: select(ROWS != 'auto', ROWS, fitting)
  parts: ceil(p, rows)
  smem: 1024 + RING * slot + 2 * tiles * 64 * channels + 8 * RING
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
  - eights * held <= 190
  - channels % (8 * eights) == 0
  - warps <= 16
  - box_w <= 256
  - resident * 32 * warps <= 2048
  - smem <= smem_per_block_optin
define:
  INPUT_T: type(input)
  EIGHTS_FIT: eights
  BLOCK_CHANNELS: channels
  TILES_FIT: tiles
  FOURS: fours
  TWO: two
  BOX_W: box_w
  SLOT: slot
  BLOCKS: resident
  EPI_BIAS: has(bias)
  EPI_SLOPE: slope(epilogue)
  EPI_PRELU: select(has(prelu), k, 0)
specialise: [c, r, s, stride_y, stride_x, dilation_y, dilation_x]
tensor_maps:
  input_map: {of: input, box: "channels, box_w, 1, 1", swizzle: 2 * channels, l2: 256}
  output_map: {of: output, box: "channels, 32 * tiles, 1, 1", swizzle: 2 * channels}
prepare:
  - symbol: epi_slopes = slopes
    when: has(prelu)
steps:
  - kernel: conv_depthwise_bulk
    grid: all * parts
    block: 32 * warps
    smem: smem
    args: input_map, output_map, filter, bias, p, pad_top, pad_left, parts_k, tiles_x, rows, parts
*/

/* What changed from depthwise_mma: the shape of a product, and the copies of lines. There a product has the 8 channels of two taps, and one element in eight of the weights' matrix
 * counts. Here its depth is four pixels by four channels, and its columns are two adjacent outputs by the same four channels: an element counts if its channel is the column's, and
 * nearly always its pixel is under the output's filter. So 7x7 takes 2 products for a row of the filter, where it took 3.5.
 *
 *  - A lane has all eight channels of one pixel: 16 bytes of shared memory are two registers of the left operand for channels 0, 1, 4, 5 and two for 2, 3, 6, 7. So its results are four
 *    adjacent channels of one pixel.
 *  - The block's warps have adjacent channels, so that TMA loads and stores lines as whole sectors (dense/depthwise_bulk.cuh): no thread computes addresses.
 *
 * Cost: c must be a multiple of 8, and the chip must have TMA. Zero weights times an infinity are NaN, also in adjacent outputs and channels. */
#include "dense/depthwise_bulk.cuh"

constexpr int WORDS = 2 * FOURS + TWO, WARPS = BLOCK_CHANNELS / (8 * EIGHTS_FIT) * TILES_FIT; /* words of weights, for a row of the filter and four channels */

struct sixteen_bits {
    static constexpr int UNIT = 8 * EIGHTS_FIT, PIXEL = 2 * BLOCK_CHANNELS, PUT = PIXEL;
    unsigned weights[EIGHTS_FIT][2][R][WORDS], four_at, two_at, put_at; /* places in a line of the ring, and in one of results */
    float biases[EIGHTS_FIT][2][2], sum[LIVE][EIGHTS_FIT][2][4];
    int k; /* first channel of a lane's results */

    __device__ __forceinline__ sixteen_bits(const INPUT_T *filter, const float *bias, int k0, int own, int tile) : k(k0 + own + threadIdx.x % 2 * 4)
    {
        int lane = threadIdx.x % 32, x = (tile * 16 + lane / 4) * 2 * STRIDE_X;
        four_at = swizzled<PIXEL>((x + lane % 4) * PIXEL + own * 2);
        two_at = swizzled<PIXEL>((x + 4 * FOURS + lane % 4 / 2) * PIXEL + own * 2) + lane % 2 * 8;
        put_at = swizzled<PIXEL>((tile * 32 + lane / 4 * 2 + lane % 4 / 2) * PIXEL + own * 2) + lane % 2 * 8;
#pragma unroll
        for (int j = 0; j < EIGHTS_FIT * 2; j++) {
            load_weights(weights[j / 2][j % 2], reinterpret_cast<const unsigned short *>(filter), k0 + own + j / 2 * 8 + j % 2 * 2);
#pragma unroll
            for (int e = 0; e < 2; e++) {
                int channel = k + j / 2 * 8 + j % 2 * 2 + e;
                biases[j / 2][j % 2][e] = EPI_BIAS && channel < C ? bias[channel] : 0.0f;
            }
        }
#pragma unroll
        for (int j = 0; j < LIVE * EIGHTS_FIT * 8; j++)
            sum[j / (EIGHTS_FIT * 8)][j / 8 % EIGHTS_FIT][j / 4 % 2][j % 4] = 0.0f;
    }
    /* Of channels first, first + 1, first + 4, first + 5. */
    static __device__ __forceinline__ void load_weights(unsigned weights[R][WORDS], const unsigned short *filter, int first)
    {
        int lane = threadIdx.x % 32, column = lane / 4, k = first + column / 2 % 2 * 4 + column % 2;
#pragma unroll
        for (int i = 0; i < R * WORDS; i++) {
            int word = i % WORDS, x = word < 2 * FOURS ? word / 2 * 4 + lane % 4 : 4 * FOURS + lane % 4 / 2;
            int high = word < 2 * FOURS ? word % 2 : lane % 2; /* whose channels these are: the first or the last two */
            weights[i / WORDS][word] = weight_of(filter, i / WORDS, x, column / 4, k, high == column / 2 % 2 && k < C, column % 2);
        }
    }
    /* Products that add to the same sums follow each other only after those that add to all others. */
    __device__ __forceinline__ void add(unsigned line, int u)
    {
#pragma unroll
        for (int j = 0; j < EIGHTS_FIT; j++) {
#pragma unroll
            for (int i = 0; i < FOURS; i++) {
                float v[2][4]; /* of pixel pairs lane / 4 and 8 more: eight channels of a pixel */
#pragma unroll
                for (int half = 0; half < 2; half++)
                    load_shared_4(v[half], line + (four_at ^ j * 16 ^ (i % 2 ? 4 * PIXEL >> 3 : 0)) + i * 4 * PIXEL + half * 16 * STRIDE_X * PIXEL);
                each_sum(u, [&](float *sum, int r, int odd) {
                    unsigned a[4];
#pragma unroll
                    for (int e = 0; e < 4; e++)
                        a[e] = __float_as_uint(v[e % 2][odd + e / 2 * 2]);
                    if (r == 0 && i == 0)
                        multiply_16x8x16_from<INPUT_T>(sum, a, weights[j][odd][r], biases[j][odd]);
                    else
                        multiply_16x8x16<INPUT_T>(sum, a, weights[j][odd][r] + 2 * i);
                }, j);
            }
            if (TWO) {
                float2 v[2]; /* four channels */
#pragma unroll
                for (int half = 0; half < 2; half++)
                    v[half] = load_shared_2(line + (two_at ^ j * 16) + half * 16 * STRIDE_X * PIXEL);
                each_sum(u, [&](float *sum, int r, int odd) {
                    unsigned a[2] = {__float_as_uint(odd ? v[0].y : v[0].x), __float_as_uint(odd ? v[1].y : v[1].x)};
                    for (int e = 0; e < 4 && r == 0 && FOURS == 0; e++)
                        sum[e] = biases[j][odd][e % 2];
                    multiply_16x8x8<INPUT_T>(sum, a, weights[j][odd][r][2 * FOURS]);
                }, j);
            }
        }
    }
    /* Those of eight channels that line u of a period belongs to, by row of the filter, four channels after four. */
    template <typename DO> __device__ __forceinline__ void each_sum(int u, DO what, int j)
    {
#pragma unroll
        for (int i = 0; i < 2 * R; i++) {
            int reach = u + (LIVE - 1) * STRIDE_Y - i / 2 * DILATION_Y;
            if (reach % STRIDE_Y == 0)
                what(sum[reach / STRIDE_Y % LIVE][j][i % 2], i / 2, i % 2);
        }
    }
    /* For every eight channels, four of pixel 2 * (lane / 4) + lane % 4 / 2, and of the one 16 further. */
    __device__ __forceinline__ void put(int done, unsigned line) const
    {
#pragma unroll
        for (int i = 0; i < EIGHTS_FIT * 2; i++) {
            int j = i / 2, half = i % 2;
            unsigned two[2];
#pragma unroll
            for (int odd = 0; odd < 2; odd++) {
                float low = sum[done][j][odd][half * 2], high = sum[done][j][odd][half * 2 + 1];
                int channel = k + j * 8 + odd * 2;
                two[odd] = EPI_SLOPE == 0 && !EPI_PRELU ? relu_of<INPUT_T>(two_of<INPUT_T>(low, high))
                                                        : two_of<INPUT_T>(activate_channel(low, channel), activate_channel(high, channel + 1));
            }
            asm volatile("st.shared.v2.u32 [%0], {%1, %2};" ::"r"(line + (put_at ^ j * 16) + half * 16 * PIXEL), "r"(two[0]), "r"(two[1]) : "memory");
        }
    }
};

extern "C" __global__ void __launch_bounds__(32 * WARPS, BLOCKS)
conv_depthwise_bulk(const __grid_constant__ tensor_map input_map, const __grid_constant__ tensor_map output_map, const INPUT_T *__restrict__ filter,
                    const float *__restrict__ bias, int P, int pad, int pad_x, int parts_k, int tiles_x, int rows, int parts)
{
    convolve_lines<sixteen_bits>(&input_map, &output_map, filter, bias, P, pad, pad_x, parts_k, tiles_x, rows, parts);
}
