/* bench 1
what: depthwise_bulk_nchw in f32 - a lane has PX adjacent outputs of a line, without tensor cores
like: depthwise_bulk_nchw
from: depthwise_rows
needs: groups == c and k == c and w % 4 == 0 and c * h * w < 2147483648 and n * k * p * q < 2147483648 and live <= 16
dtype: {input: f32, filter: f32, output: f32}
math: [f32, tf32]
params:
  PX: {values: [auto, 4, 8], default: auto}                    # neighbouring outputs of a lane
let:
  px: select(PX == 'auto', 4, PX)
  shift: before - pad_left                         # columns before the first one that counts
  vectors: ceil(shift + (px - 1) * stride_x + (s - 1) * dilation_x + 1, 4)     # of a lane's line
  held: r * s + live * px + 4 * vectors            # registers: weights, sums, a line
  registers: 22 + held
  across: 32 * px
  before: 4 * ceil(pad_left, 4)
  strip: 4 * vectors                               # columns under a lane's outputs
  group: px
  margin: 0
  tail: 0
where:
  - cc >= 90
  - held <= 200 and vectors <= 32
  - resident * 32 * warps <= 2048
  - smem <= smem_per_block_optin
define:
  DEEP: null
  HALF: null
  PAIRS: null
  PIXELS: px
  VECTORS: vectors
  FOURS: q % 4 == 0
*/

/* What changed from depthwise_rows: how lines are loaded. There a thread loads the next line into registers, which limit the bytes in
 * flight. Here TMA loads whole lines, a period at a time (dense/depthwise_planes.cuh), and all registers are free for weights and sums.
 * Adjacent lanes read their columns as adjacent vectors of 16 bytes, and store four outputs at once.
 *
 * It computes tf32 layers in f32, as depthwise_rows does. Cost: lines of whole 16 bytes, TMA, and 128 adjacent outputs per warp: for wide
 * images. */
#include "dense/depthwise_planes.cuh"

static __device__ __forceinline__ void load_shared_4_if(float v[4], unsigned address, unsigned there)
{
    asm volatile("{\n.reg .pred p;\nsetp.ne.u32 p, %5, 0;\nmov.b32 %0, 0;\nmov.b32 %1, 0;\nmov.b32 %2, 0;\nmov.b32 %3, 0;\n"
                 "@p ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];\n}"
                 : "=f"(v[0]), "=f"(v[1]), "=f"(v[2]), "=f"(v[3])
                 : "r"(address), "r"(there)
                 : "memory");
}

struct outputs {
    static constexpr int ACROSS = 32 * PIXELS, STRIP = 4 * VECTORS;
    static constexpr bool ZEROS = false;
    float weights[R][S], sum[LIVE][PIXELS], own_bias;
    int left;
    unsigned at, there; /* there: a bit for each vector of the lane's that is of the image */
    __device__ __forceinline__ outputs(const float *filter, const float *bias, int k, int K, int q, int x0)
        : own_bias(EPI_BIAS ? bias[k] : 0.0f)
    {
        int column = (q + (int)threadIdx.x % 32 * PIXELS) * STRIDE_X - PAD_LEFT - SHIFT;
        at = (column - x0) * 4;
        left = COLUMNS - q - threadIdx.x % 32 * PIXELS;
        there = 0;
#pragma unroll
        for (int v = 0; v < VECTORS; v++)
            there |= (unsigned)((unsigned)(column + 4 * v) < WIDTH) << v;
#pragma unroll
        for (int t = 0; t < R * S; t++)
            weights[t / S][t % S] = filter[t * K + k];
#pragma unroll
        for (int j = 0; j < LIVE * PIXELS; j++)
            sum[j / PIXELS][j % PIXELS] = 0.0f;
    }
    __device__ __forceinline__ void add(unsigned from, int u)
    {
        float line[STRIP];
#pragma unroll
        for (int v = 0; v < VECTORS; v++)
            load_shared_4_if(line + 4 * v, from + at + v * 16, there & 1 << v);
#pragma unroll
        for (int i = 0; i < R * S; i++) { /* a branch for each row that no output needs would cost more than the row does */
            int r = i / S, s = i % S, reach = u + (LIVE - 1) * STRIDE_Y - r * DILATION_Y;
            if (reach % STRIDE_Y)
                continue;
#pragma unroll
            for (int x = 0; x < PIXELS; x++) {
                float &own = sum[reach / STRIDE_Y % LIVE][x];
                own = line[SHIFT + x * STRIDE_X + s * DILATION_X] * weights[r][s] + (i == 0 ? own_bias : own);
            }
        }
    }
    /* As for a line of zeros. */
    __device__ __forceinline__ void begin(int u)
    {
        int reach = u + (LIVE - 1) * STRIDE_Y;
        if (reach % STRIDE_Y == 0)
#pragma unroll
            for (int x = 0; x < PIXELS; x++)
                sum[reach / STRIDE_Y % LIVE][x] = own_bias;
    }
    static __device__ __forceinline__ int first() { return threadIdx.x % 32 * PIXELS; }
    __device__ __forceinline__ void put(int done, float *to, int k) const
    {
#pragma unroll
        for (int x = 0; x < PIXELS; x += 4) {
            float v[4];
#pragma unroll
            for (int e = 0; e < 4; e++) {
                v[e] = activated(sum[done][x + e], k);
                if (!FOURS && x + e < left)
                    to[x + e] = v[e];
            }
            if (FOURS && x < left)
                *reinterpret_cast<float4 *>(to + x) = make_float4(v[0], v[1], v[2], v[3]);
        }
    }
};

extern "C" __global__ void __launch_bounds__(32 * WARPS, BLOCKS)
conv_depthwise_lines(const float *__restrict__ input, const float *__restrict__ filter, const float *__restrict__ bias,
                     float *__restrict__ output, int K, int H, int P, int pad, int tiles_x, int all, int each)
{
    convolve_planes<outputs>(input, filter, bias, output, K, H, P, pad, tiles_x, all, each);
}
