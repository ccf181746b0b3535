/* bench 1
what: depthwise_strips on 8-bit whole numbers - exact sums, results of 4 bytes
like: depthwise_strips
from: depthwise_bulk_s8
needs: groups == c and k == c and c % 16 == 0 and c * h * w < 2147483648 and k * p * q < 2147483648 and live <= 16
dtype: {input: i8, filter: i8, output: f32, accumulate: i32}
math: [i8_acc32]
params:
  CHANNELS: {values: [16, 32], default: 32}                    # of a block; a warp has four
let:
  eights: ceil(reach, 16)                                      # products, of sixteen pixels
  group: 4
  held: group * (r * eights + live * 4)
  box_w: 15 * 8 * stride_x + 16 * eights
  smem: 1024 + RING * slot + 4 * 512 * CHANNELS + 16 * RING + 64
tensor_maps:
  input_map: {of: input, box: "CHANNELS, box_w, 1, 1", swizzle: "select(CHANNELS == 16, 0, 32)", l2: 256}
  output_map: {of: output, box: "CHANNELS, 128, 1, 1", swizzle: 4 * CHANNELS}
*/

/* Four channels of a pixel are one word, and so are four pixels of a channel: a lane turns four words by eight PRMT. A product's sixteen pixels are all that eight outputs of 7x7 look at. */
#include "dense/depthwise_strips.cuh"

/* Bytes j of words 0, 1, 2, 3, for each j. swapped: words 0 and 1 are exchanged, and 2 and 3. */
static __device__ __forceinline__ void turn(unsigned word[4], const unsigned v[4], bool swapped)
{
    unsigned low = swapped ? 0x1504 : 0x5140, high = swapped ? 0x3726 : 0x7362, half[4];
#pragma unroll
    for (int i = 0; i < 4; i++)
        half[i] = bytes_of_two(v[i / 2 * 2], v[i / 2 * 2 + 1], i % 2 ? high : low);
#pragma unroll
    for (int j = 0; j < 4; j++)
        word[j] = bytes_of_two(half[j / 2], half[2 + j / 2], j % 2 ? 0x7632 : 0x5410);
}

/* Four channels of strips lane / 4 and 8 more. Of sixteen pixels a lane has i = lane % 4, i + 4, i + 8 and i + 12; columns 2 i and 2 i + 1 are outputs i and i + 4. */
struct strips_s8 {
    static constexpr int GROUP = 4, PIXEL = CHANNELS, PUT = 4 * CHANNELS;
    using line = unsigned[EIGHTS * 2][4];
    using operands = unsigned[GROUP][EIGHTS * 2];
    unsigned weights[GROUP][R][EIGHTS], at[2], put_at[2]; /* at: places of two pixels of a lane's in a line */
    float biases[GROUP];
    int sum[LIVE][GROUP][4], k;
    bool odd;

    __device__ __forceinline__ strips_s8(const signed char *filter, const float *bias, int k0, int own) : k(k0 + own), odd(threadIdx.x / 4 % 2)
    {
        int lane = threadIdx.x % 32, row = lane / 4, x = lane % 4;
#pragma unroll
        for (int e = 0; e < 2; e++) {
            int pixel = row * 8 + x + 4 * (odd ? 1 - e : e);
            at[e] = swizzled<PIXEL>((pixel + row * 8 * (STRIDE_X - 1)) * PIXEL + own);
            put_at[e] = swizzled<PUT>(pixel * PUT + own * 4);
        }
#pragma unroll
        for (int i = 0; i < R * EIGHTS; i++) {
            unsigned tap[4], word[4];
#pragma unroll
            for (int e = 0; e < 4; e++) {
                int s = tap_of(i % EIGHTS * 16 + x + 4 * e);
                tap[e] = k < C && s >= 0 ? *reinterpret_cast<const unsigned *>(filter + (i / EIGHTS * S + s) * C + k) : 0;
            }
            turn(word, tap, false);
#pragma unroll
            for (int j = 0; j < GROUP; j++)
                weights[j][i / EIGHTS][i % EIGHTS] = word[j];
        }
#pragma unroll
        for (int j = 0; j < GROUP; j++)
            biases[j] = EPI_BIAS && k + j < C ? bias[k + j] : 0.0f;
#pragma unroll
        for (int j = 0; j < LIVE * GROUP * 4; j++)
            sum[j / (GROUP * 4)][j / 4 % GROUP][j % 4] = 0;
    }
    __device__ __forceinline__ void load(line &v, unsigned from) const
    {
#pragma unroll
        for (int i = 0; i < EIGHTS * 8; i++)
            v[i / 4][i % 4] = load_shared(from + at[i % 2] + (i / 8 * 16 + i % 4 / 2 * 8 + i / 4 % 2 * 64 * STRIDE_X) * PIXEL);
    }
    __device__ __forceinline__ void sort(operands &a, const line &v) const
    {
#pragma unroll
        for (int i = 0; i < EIGHTS * 2; i++) {
            unsigned word[4];
            turn(word, v[i], odd);
#pragma unroll
            for (int j = 0; j < GROUP; j++)
                a[j][i] = word[j];
        }
    }
    __device__ __forceinline__ void add(const operands &a, int u)
    {
#pragma unroll
        for (int e = 0; e < EIGHTS; e++)
#pragma unroll
            for (int i = 0; i < R * GROUP; i++) {
                int r = i / GROUP, j = i % GROUP, reach = u + (LIVE - 1) * STRIDE_Y - r * DILATION_Y;
                if (reach % STRIDE_Y)
                    continue;
                int *own = sum[reach / STRIDE_Y % LIVE][j];
#pragma unroll
                for (int m = 0; m < 4 && e == 0 && r == 0; m++)
                    own[m] = 0;
                multiply_16x8x16(own, a[j] + e * 2, weights[j][r][e]);
            }
    }
    /* Two pixels of a strip, and of the one 8 further. */
    __device__ __forceinline__ void put(int done, unsigned to) const
    {
#pragma unroll
        for (int half = 0; half < 2; half++) {
            float x[2][GROUP];
#pragma unroll
            for (int i = 0; i < 2 * GROUP; i++)
                x[i / GROUP][i % GROUP] = activate_channel((float)sum[done][i % GROUP][half * 2 + i / GROUP] + biases[i % GROUP], k + i % GROUP);
#pragma unroll
            for (int e = 0; e < 2; e++) {
                float v[GROUP];
#pragma unroll
                for (int j = 0; j < GROUP; j++)
                    v[j] = odd ? x[1 - e][j] : x[e][j];
                asm volatile("st.shared.v4.f32 [%0], {%1, %2, %3, %4};" ::"r"(to + put_at[e] + half * 64 * PUT), "f"(v[0]), "f"(v[1]), "f"(v[2]), "f"(v[3]) : "memory");
            }
        }
    }
};

extern "C" __global__ void __launch_bounds__(8 * CHANNELS + 128, BLOCKS)
conv_depthwise_strips(const __grid_constant__ tensor_map input_map, const __grid_constant__ tensor_map output_map, const signed char *__restrict__ filter,
                      const float *__restrict__ bias, int P, int pad, int pad_x, int parts_k, int tiles_x, int rows, int parts)
{
    convolve_strips<strips_s8>(&input_map, &output_map, filter, bias, P, pad, pad_x, parts_k, tiles_x, rows, parts);
}
