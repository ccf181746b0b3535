/* bench 1
op: conv2d
what: depthwise on tensor cores, NHWC, sm_90 - a product has 16 strips of eight outputs of one channel; warps wait for lines, not for each other
from: depthwise_bulk
needs: groups == c and k == c and c % 8 == 0 and c * h * w < 2147483648 and k * p * q < 2147483648 and live <= 16
layout: {input: NHWC, filter: RSCK, output: NHWC}
dtype: {input: [f16, bf16], output: same, bias: f32, accumulate: f32}
epilogue: [bias, relu, leaky_relu, prelu]
params:
  CHANNELS: {values: [16, 32, 64], default: 32}                # of a block; a warp has four
  ROWS: {values: [auto, 4, 6, 8, 12, 16, 20, 24, 32, 48, 64], default: auto}         # lines of outputs a block goes down
  RING: {values: [4, 6, 8], default: 6}                        # lines of input in shared memory
  RESIDENT: {values: [auto, 1, 2, 3, 4], default: auto}        # blocks of an SM, at least: bounds the registers
let:
  live: floor((r - 1) * dilation_y, stride_y) + 1              # lines of outputs that one line of the input belongs to
  reach: 7 * stride_x + (s - 1) * dilation_x + 1               # pixels under eight outputs
  eights: ceil(reach, 8)
  group: 8 / size(input)                                       # channels of a warp
  held: group * (r * eights * size(input) / 2 + live * 4)      # registers: weights and sums
  warps: CHANNELS / group
  resident: select(RESIDENT == 'auto', max(1, floor(2016 - 128, warps * 8 * ceil(44 + held, 8))), RESIDENT)   # an SM has 2048 registers for a lane
  entry: 8 * floor(2048, 8 * resident * (warps + 4))           # registers of all warps at first; the four that compute nothing keep 24
  taken: min(240, 8 * floor(entry * (warps + 4) - 96, 8 * warps))
  box_w: 15 * 8 * stride_x + 8 * eights
  slot: 1024 * ceil(box_w * CHANNELS * size(input), 1024)
  parts_k: ceil(c, CHANNELS)
  tiles_x: ceil(q, 128)
  all: parts_k * tiles_x * n
  fitting: ceil(p, max(1, min(p, floor(fit_waves * sm_count * resident, all))))   # lines, if blocks are to fill so many waves
  rows: select(ROWS != 'auto', ROWS, fitting)
  parts: ceil(p, rows)
  smem: 1024 + RING * slot + 4 * 128 * CHANNELS * size(input) + 16 * RING + 64
candidates:
  waves:
    rows:
      w1:  {fit_waves: 1}
      w2:  {fit_waves: 2}
      w3:  {fit_waves: 3}
      w4:  {fit_waves: 4}
      w5:  {fit_waves: 5}
      w6:  {fit_waves: 6}
      w8:  {fit_waves: 8}
      w12: {fit_waves: 12}
      w16: {fit_waves: 16}
      w32: {fit_waves: 32}
    least: ceil(all * ceil(p, fitting), sm_count * resident) * ((fitting - 1) * stride_y + (r - 1) * dilation_y + 5)   # waves; lines, and a start that is worth four
where:
  - cc >= 90 and cc < 120                          # where registers move between warps, or 7x7 spills
  - held <= 190
  - box_w <= 256
  - resident * (32 * warps + 128) <= 2048
  - entry >= 32 and taken >= 40 + held
  - smem <= smem_per_block_optin
define:
  INPUT_T: type(input)
  EIGHTS: eights
  BOX_W: box_w
  SLOT: slot
  BLOCKS: resident
  TAKEN: taken
  EPI_BIAS: has(bias)
  EPI_SLOPE: slope(epilogue)
  EPI_PRELU: select(has(prelu), k, 0)
specialise: [c, r, s, stride_y, stride_x, dilation_y, dilation_x]
tensor_maps:
  input_map: {of: input, box: "CHANNELS, box_w, 1, 1", swizzle: size(input) * CHANNELS, l2: 256}
  output_map: {of: output, box: "CHANNELS, 128, 1, 1", swizzle: size(input) * CHANNELS}
prepare:
  - symbol: epi_slopes = slopes
    when: has(prelu)
steps:
  - kernel: conv_depthwise_strips
    grid: all * parts
    block: 32 * warps + 128
    smem: smem
    args: input_map, output_map, filter, bias, p, pad_top, pad_left, parts_k, tiles_x, rows, parts
*/

/* What changed from depthwise_bulk: a product belongs to one channel, as in NCHW. There its depth is pixels by four channels, and three elements of four are zeros; here it is the 16
 * pixels under eight outputs, so 7x7 takes one product for a row of the filter and 128 outputs, where it took two.
 *
 *  - Two pixels of a channel make a register. In memory two channels of a pixel are adjacent, so a lane loads four channels of two pixels and reorders them by PRMT: one for each word.
 *  - Lanes of odd rows load the two pixels in the other order, and use another selector: half of the bank conflicts.
 *  - A line is loaded while the one before is multiplied. There is no block barrier: warps arrive at mbarriers when they have read a line and when they have written one, and a thread of
 *    one more warp loads and stores lines.
 *
 * Cost: 128 adjacent outputs, and so many registers that an SM has 8 warps for 7x7. Zero weights times an infinity are NaN, also in adjacent outputs. */
#include "dense/depthwise_strips.cuh"

constexpr int SIZE = sizeof(INPUT_T), WORDS = SIZE / 2; /* WORDS: of eight pixels of a channel */

/* A TF32 instruction cuts 13 bits off; the error stays below 2^-11 of the number (dense/depthwise_line.cuh). */
static __device__ __forceinline__ unsigned rounded_tf32(unsigned word)
{
    float x = __uint_as_float(word);
    return __float_as_uint(fmaf(x, 0x1p-11f, x));
}

/* A product of eight pixels, or of sixteen where PAIRED. */
template <typename T> struct product_of {
    static constexpr bool PAIRED = true;
    static __device__ __forceinline__ void eight(float sum[4], const unsigned *a, const unsigned *b) { multiply_16x8x8<T>(sum, a, b[0]); }
    static __device__ __forceinline__ void two(float sum[4], const unsigned *a, const unsigned *b) { multiply_16x8x16<T>(sum, a, b); }
};
template <> struct product_of<float> {
    static constexpr bool PAIRED = false;
    static __device__ __forceinline__ void eight(float sum[4], const unsigned *a, const unsigned *b) { multiply_16x8x8_tf32(sum, a, b); }
    static __device__ __forceinline__ void two(float *, const unsigned *, const unsigned *) {}
};

/* Pixels x and x + 4 of a warp's channels as words of a product's operand, by channel. swapped: x + 4 comes first. */
template <typename T> static __device__ __forceinline__ void sort_two(unsigned word[8 / SIZE][WORDS], const float2 v[2], bool swapped)
{
    unsigned x[2] = {__float_as_uint(v[0].x), __float_as_uint(v[1].x)}, y[2] = {__float_as_uint(v[0].y), __float_as_uint(v[1].y)};
    if constexpr (sizeof(T) == 4) {
#pragma unroll
        for (int e = 0; e < 2; e++) {
            word[0][e] = rounded_tf32(swapped ? x[1 - e] : x[e]);
            word[1][e] = rounded_tf32(swapped ? y[1 - e] : y[e]);
        }
    } else {
        unsigned low = swapped ? 0x1054 : 0x5410, high = swapped ? 0x3276 : 0x7632;
        word[0][0] = bytes_of_two(x[0], x[1], low);
        word[1][0] = bytes_of_two(x[0], x[1], high);
        word[2][0] = bytes_of_two(y[0], y[1], low);
        word[3][0] = bytes_of_two(y[0], y[1], high);
    }
}

/* A warp's channels of strips lane / 4 and 8 more. Of eight pixels a lane has i = lane % 4 and i + 4; columns 2 i and 2 i + 1 are outputs i and i + 4. */
struct strips {
    using PRODUCT = product_of<INPUT_T>;
    static constexpr int GROUP = 8 / SIZE, PIXEL = SIZE * CHANNELS, PUT = PIXEL;
    using line = float2[EIGHTS * 2][2];                /* of strip lane / 4 and of the one 8 further: pixels i and i + 4 of each eight */
    using operands = unsigned[GROUP][EIGHTS * WORDS * 2]; /* in the order of a product's registers */
    unsigned weights[GROUP][R][EIGHTS * WORDS], at[2], put_at[2]; /* at: places of a lane's two pixels in a line */
    float biases[GROUP], sum[LIVE][GROUP][4];
    bool odd;
    int k;

    __device__ __forceinline__ strips(const INPUT_T *filter, const float *bias, int k0, int own) : odd(threadIdx.x / 4 % 2), k(k0 + own)
    {
        int lane = threadIdx.x % 32, row = lane / 4, x = lane % 4;
#pragma unroll
        for (int e = 0; e < 2; e++) {
            int pixel = x + 4 * (odd ? 1 - e : e);
            at[e] = swizzled<PIXEL>((row * 8 * STRIDE_X + pixel) * PIXEL + own * SIZE);
            put_at[e] = swizzled<PIXEL>((row * 8 + pixel) * PIXEL + own * SIZE);
        }
#pragma unroll
        for (int i = 0; i < R * EIGHTS; i++) {
            float2 two[2];
#pragma unroll
            for (int e = 0; e < 2; e++) {
                int s = tap_of(i % EIGHTS * 8 + x + 4 * e);
                two[e] = make_float2(0.0f, 0.0f);
                if (k < C && s >= 0)
                    two[e] = *reinterpret_cast<const float2 *>(filter + (i / EIGHTS * S + s) * C + k);
            }
            unsigned word[GROUP][WORDS];
            sort_two<INPUT_T>(word, two, false);
#pragma unroll
            for (int j = 0; j < GROUP * WORDS; j++)
                weights[j / WORDS][i / EIGHTS][i % EIGHTS * WORDS + j % WORDS] = word[j / WORDS][j % WORDS];
        }
#pragma unroll
        for (int j = 0; j < GROUP; j++)
            biases[j] = EPI_BIAS && k + j < C ? bias[k + j] : 0.0f;
#pragma unroll
        for (int j = 0; j < LIVE * GROUP * 4; j++)
            sum[j / (GROUP * 4)][j / 4 % GROUP][j % 4] = 0.0f;
    }
    __device__ __forceinline__ void load(line &v, unsigned from) const
    {
#pragma unroll
        for (int i = 0; i < EIGHTS * 4; i++)
            v[i / 2][i % 2] = load_shared_2(from + at[i % 2] + (i / 4 * 8 + i / 2 % 2 * 64 * STRIDE_X) * PIXEL);
    }
    __device__ __forceinline__ void sort(operands &a, const line &v) const
    {
#pragma unroll
        for (int i = 0; i < EIGHTS * 2; i++) {
            unsigned word[GROUP][WORDS];
            sort_two<INPUT_T>(word, v[i], odd);
#pragma unroll
            for (int j = 0; j < GROUP * WORDS; j++)
                a[j / WORDS][i / 2 * 2 * WORDS + j % WORDS * 2 + i % 2] = word[j / WORDS][j % WORDS];
        }
    }
    __device__ __forceinline__ void add(const operands &a, int u)
    {
#pragma unroll
        for (int e = 0; e < EIGHTS; e++)
#pragma unroll
            for (int i = 0; i < R * GROUP; i++) {
                int r = i / GROUP, j = i % GROUP, reach = u + (LIVE - 1) * STRIDE_Y - r * DILATION_Y;
                if (reach % STRIDE_Y || PRODUCT::PAIRED && e % 2)
                    continue;
                float *own = sum[reach / STRIDE_Y % LIVE][j];
#pragma unroll
                for (int m = 0; m < 4 && e == 0 && r == 0; m++)
                    own[m] = 0.0f;
                if (PRODUCT::PAIRED && e + 1 < EIGHTS)
                    PRODUCT::two(own, a[j] + e * WORDS * 2, weights[j][r] + e * WORDS);
                else
                    PRODUCT::eight(own, a[j] + e * WORDS * 2, weights[j][r] + e * WORDS);
            }
    }
    /* Two pixels of a strip, and of the one 8 further. */
    __device__ __forceinline__ void put(int done, unsigned to) const
    {
#pragma unroll
        for (int half = 0; half < 2; half++) {
            unsigned two[2][2];
#pragma unroll
            for (int i = 0; i < 4; i++)
                two[i / 2][i % 2] = result<INPUT_T>(done, i % 2, half * 2 + i / 2);
#pragma unroll
            for (int e = 0; e < 2; e++) {
                unsigned x = odd ? two[1 - e][0] : two[e][0], y = odd ? two[1 - e][1] : two[e][1];
                asm volatile("st.shared.v2.u32 [%0], {%1, %2};" ::"r"(to + put_at[e] + half * 64 * PIXEL), "r"(x), "r"(y) : "memory");
            }
        }
    }
    /* Word `word` of a pixel's results. */
    template <typename T> __device__ __forceinline__ unsigned result(int done, int word, int m) const
    {
        if constexpr (sizeof(T) == 4) {
            return __float_as_uint(activate_channel(sum[done][word][m] + biases[word], k + word));
        } else {
            int j = word * 2;
            float first = sum[done][j][m] + biases[j], second = sum[done][j + 1][m] + biases[j + 1];
            return EPI_SLOPE == 0 && !EPI_PRELU ? relu_of<T>(two_of<T>(first, second))
                                                : two_of<T>(activate_channel(first, k + j), activate_channel(second, k + j + 1));
        }
    }
};

extern "C" __global__ void __launch_bounds__(4 * CHANNELS * SIZE + 128, BLOCKS)
conv_depthwise_strips(const __grid_constant__ tensor_map input_map, const __grid_constant__ tensor_map output_map, const INPUT_T *__restrict__ filter,
                      const float *__restrict__ bias, int P, int pad, int pad_x, int parts_k, int tiles_x, int rows, int parts)
{
    convolve_strips<strips>(&input_map, &output_map, filter, bias, P, pad, pad_x, parts_k, tiles_x, rows, parts);
}
