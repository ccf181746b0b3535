/* bench 1
op: conv2d
what: tensor cores on f32 data by mma.sync in TF32 - an implicit matrix product over any filter, stride and dilation, sm_80 and later
from: mma_sync
needs: groups == 1 and c % 4 == 0 and n * p * q < 2147483648 and h * w < 268435456
layout: {input: NHWC, filter: KRSC, output: NHWC}
dtype: {input: f32, output: f32, bias: f32, accumulate: f32}
math: [tf32]
algorithm: implicit_gemm
epilogue: [bias, relu, leaky_relu]
params:
  TILE_M: {values: [64, 128], default: 128}        # pixels a block
  TILE_N: {values: [32, 64], default: 64}          # output channels a block
  AHEAD: {values: [1, 2, 3, 4], default: 1}        # steps whose pieces are on their way in registers
let:
  warps: TILE_M / 32 * (TILE_N / 32)               # each 32 x 32
  pitch: 80                                        # bytes of 16 channels and a gap: eight rows fall into eight different bank groups
where:
  - cc >= 80
  - warps >= 2
define:
  EPI_BIAS: has(bias)
  EPI_SLOPE: slope(epilogue)
  PITCH: pitch
  THREADS: warps * 32
specialise: [r, s, stride, dilation]
steps:
  - kernel: conv_mma_tf32
    grid: ceil(n * p * q, TILE_M), ceil(k, TILE_N)
    block: warps * 32
    args: input, filter, bias, output, n, c, h, w, k, p, q, pad
*/

/* What changed from mma_sync: f32 tensors, and no shape that the tile must fit. TF32 keeps the exponent of f32 and 10 bits of the fraction; mma.m16n8k8 multiplies such numbers exactly
 * and sums in f32, at half the rate of f16. It is another arithmetic than f32, so only a case that says `math: tf32` takes it.
 *
 * Rows of the left matrix are output pixels of the whole batch, counted through; its depth is every tap of every channel, 16 channels a step. Nothing of the image stays in
 * shared memory from one tap to the next: the caches do that, and in return any filter, stride and dilation is the same code. While a step is multiplied, the pieces of the
 * next AHEAD steps are on their way into registers. They are rounded (to nearest, ties away) when they are put into shared memory, once, instead of at every use.
 *
 * ldmatrix knows 16-bit elements only, but moves 16 bytes a row: four f32 are as good as eight halves, and a lane ends up with exactly the one element of a row that the
 * TF32 fragments want there.
 *
 * What it costs: every input is read from L1 or L2 once a tap. wgmma_rs_tf32 keeps it, where its shape fits. */
#include "epilogue.cuh"
#include "gemm_tile.cuh"
#include "mma.cuh"

static __device__ __forceinline__ unsigned to_tf32(float x)
{
    unsigned v;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(v) : "f"(x));
    return v;
}
static __device__ __forceinline__ void put(unsigned to, float4 v)
{
    asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(to), "r"(to_tf32(v.x)), "r"(to_tf32(v.y)), "r"(to_tf32(v.z)), "r"(to_tf32(v.w)) : "memory");
}
/* d += a * b: 16 rows, 8 columns, 8 deep. */
static __device__ __forceinline__ void multiply_16x8x8(float d[4], const unsigned a[4], const unsigned b[2])
{
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

extern "C" __global__ void __launch_bounds__(THREADS)
conv_mma_tf32(const float *input, const float *filter, const float *bias, float *output, int N, int C, int H, int W, int K, int P, int Q, int pad)
{
    __shared__ __align__(16) unsigned char left[2][TILE_M * PITCH], right[2][TILE_N * PITCH];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    int m0 = blockIdx.x * TILE_M, k0 = blockIdx.y * TILE_N, warp_m = warp / (TILE_N / 32) * 32, warp_n = warp % (TILE_N / 32) * 32;
    tiles t;
    tiles_begin(&t, input, filter, m0, k0, N, C, H, W, K, P, Q, pad);
    int steps = R * S * t.steps_per_tap;

    float sum[2][4][4];
#pragma unroll
    for (int i = 0; i < 32; i++)
        sum[i / 16][i / 4 % 4][i % 4] = 0.0f;
    float4 a[AHEAD][A_PIECES], b[AHEAD][B_PIECES];
#pragma unroll
    for (int i = 0; i < AHEAD; i++)
        tiles_read(&t, i, steps, a[i], b[i]);
    auto one_step = [&](int step, float4 *left_pieces, float4 *right_pieces) {
        int stage = step % 2; /* two stages: one barrier a step is enough */
        unsigned own = shared_address(left[stage]) + threadIdx.x / 4 * PITCH + threadIdx.x % 4 * 16, own_right = shared_address(right[stage]) + own - shared_address(left[stage]);
#pragma unroll
        for (int i = 0; i < A_PIECES; i++)
            put(own + i * (THREADS / 4) * PITCH, left_pieces[i]);
#pragma unroll
        for (int i = 0; i < B_PIECES; i++)
            put(own_right + i * (THREADS / 4) * PITCH, right_pieces[i]);
        __syncthreads();
        tiles_read(&t, step + AHEAD, steps, left_pieces, right_pieces);
        /* Matrices of ldmatrix: (rows 0-7, 4 deep), (rows 8-15), then the next 4 deep; on the right (columns 0-7), its next 4 deep, (columns 8-15) ... */
        unsigned x = shared_address(left[stage]) + (warp_m + lane % 16) * PITCH + lane / 16 * 16;
        unsigned w = shared_address(right[stage]) + (warp_n + lane / 16 * 8 + lane % 8) * PITCH + lane / 8 % 2 * 16;
#pragma unroll
        for (int deep = 0; deep < 64; deep += 32) { /* bytes: 8 elements */
            unsigned rows[2][4], columns[2][4];
#pragma unroll
            for (int i = 0; i < 2; i++) {
                load_matrix_4(rows[i], x + i * 16 * PITCH + deep);
                load_matrix_4(columns[i], w + i * 16 * PITCH + deep);
            }
#pragma unroll
            for (int i = 0; i < 2; i++)
#pragma unroll
                for (int j = 0; j < 4; j++)
                    multiply_16x8x8(sum[i][j], rows[i], &columns[j / 2][j % 2 * 2]);
        }
    };
    for (int first = 0; first < steps; first += AHEAD)
#pragma unroll
        for (int i = 0; i < AHEAD; i++) /* unrolled, so that the pieces stay in registers */
            if (first + i < steps)
                one_step(first + i, a[i], b[i]);
#pragma unroll
    for (int i = 0; i < 16; i++) { /* lane l: rows l / 4 and + 8, columns 2 (l % 4) and the next, of each 16 x 8 */
        int m = m0 + warp_m + i / 8 * 16 + i % 2 * 8 + lane / 4, k = k0 + warp_n + i / 2 % 4 * 8 + lane % 4 * 2;
        if (m < N * P * Q)
            store_two(output + (size_t)m * K, sum[i / 8][i / 2 % 4][i % 2 * 2], sum[i / 8][i / 2 % 4][i % 2 * 2 + 1], bias, k, K);
    }
}
