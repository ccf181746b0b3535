/* bench 1
what: f32 by tensor cores in f16 - each f32 split into two halves, three products for one; about 22 bits of each operand, not IEEE f32
like: mma_sync_tf32
math: [f32]
algorithm: split3
params:
  TILE_M: {values: [64, 128], default: 64}         # pixels a block
let:
  pitch: 48                                        # bytes of 16 channels and a gap: eight rows fall into eight different bank groups
*/

/* What changed from mma_sync_tf32: how a number is stored in shared memory, and three products instead of one.
 *
 * x = high + low / 2048: high is x rounded to f16 (11 bits); low is the rounding error times 2048, so that f16 can hold it (another 11 bits). So
 *     x w = high high' + (high low' + low high') / 2048 + low low' / 2^22,
 * and the last term is dropped: it is below 2^-22 of the product. Every product of two halves is exact in f32; the two kinds of sums are kept apart, in f32, and meet at the end, so
 * that the small ones are not lost one by one.
 *
 * The result is not IEEE f32. An operand has 22 bits instead of 24, and |x| must stay below 65504, the end of f16 (above, it becomes infinite, and the check fails); below 6e-5 bits
 * are lost, as in f16. bench checks it with the bound of f32 times the factor 2 of `split3`, and its row says split3.
 *
 * Cost: three times the products of f16, so at best a third of its rate: by the data
 * sheet of an H200 five times that of its f32 pipe. Twice the sums in registers. */
#include "element/epilogue.cuh"
#include "dense/gemm_tile.cuh"
#include "tensor_core/mma.cuh"

/* Four channels, as high halves at `to` and low ones at `to_low`. */
static __device__ __forceinline__ void put(unsigned to, unsigned to_low, float4 v)
{
    const float x[4] = {v.x, v.y, v.z, v.w};
    unsigned high[2], low[2];
#pragma unroll
    for (int i = 0; i < 2; i++) {
        __half2 h = __floats2half2_rn(x[2 * i], x[2 * i + 1]);
        __half2 l = __floats2half2_rn((x[2 * i] - __low2float(h)) * 2048.0f, (x[2 * i + 1] - __high2float(h)) * 2048.0f);
        high[i] = *reinterpret_cast<unsigned *>(&h);
        low[i] = *reinterpret_cast<unsigned *>(&l);
    }
    asm volatile("st.shared.v2.b32 [%0], {%1, %2};" ::"r"(to), "r"(high[0]), "r"(high[1]) : "memory");
    asm volatile("st.shared.v2.b32 [%0], {%1, %2};" ::"r"(to_low), "r"(low[0]), "r"(low[1]) : "memory");
}

extern "C" __global__ void __launch_bounds__(THREADS)
conv_mma_words(const float *input, const float *filter, const float *bias, float *output, int N, int C, int H, int W, int K, int P, int Q, int pad)
{
    constexpr int LEFT = TILE_M * PITCH, RIGHT = TILE_N * PITCH, STAGE = 2 * (LEFT + RIGHT); /* high and low of each */
    __shared__ __align__(16) unsigned char shared[2 * STAGE];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    int m0 = blockIdx.x * TILE_M, k0 = blockIdx.y * TILE_N, warp_m = warp / (TILE_N / 32) * 32, warp_n = warp % (TILE_N / 32) * 32;
    tiles t;
    tiles_begin(&t, input, filter, m0, k0, N, C, H, W, K, P, Q, pad);
    int steps = R * S * t.steps_per_tap;

    float sum[2][4][4], small[2][4][4]; /* of the high products; of the mixed ones, times 2048 */
#pragma unroll
    for (int i = 0; i < 32; i++)
        sum[i / 16][i / 4 % 4][i % 4] = small[i / 16][i / 4 % 4][i % 4] = 0.0f;
    float4 a[AHEAD][A_PIECES], b[AHEAD][B_PIECES];
#pragma unroll
    for (int i = 0; i < AHEAD; i++)
        tiles_read(&t, i, steps, a[i], b[i]);
    auto one_step = [&](int step, float4 *left_pieces, float4 *right_pieces) {
        unsigned stage = shared_address(shared) + step % 2 * STAGE, own = stage + threadIdx.x / 4 * PITCH + threadIdx.x % 4 * 8;
#pragma unroll
        for (int i = 0; i < A_PIECES; i++)
            put(own + i * (THREADS / 4) * PITCH, own + i * (THREADS / 4) * PITCH + LEFT, left_pieces[i]);
#pragma unroll
        for (int i = 0; i < B_PIECES; i++)
            put(own + i * (THREADS / 4) * PITCH + 2 * LEFT, own + i * (THREADS / 4) * PITCH + 2 * LEFT + RIGHT, right_pieces[i]);
        __syncthreads();
        tiles_read(&t, step + AHEAD, steps, left_pieces, right_pieces);
        unsigned x = stage + (warp_m + lane % 16) * PITCH + lane / 16 * 16;
        unsigned w = stage + 2 * LEFT + (warp_n + lane / 16 * 8 + lane % 8) * PITCH + lane / 8 % 2 * 16;
        unsigned rows[2][2][4], columns[2][2][4]; /* [high, low][which 16] */
#pragma unroll
        for (int i = 0; i < 4; i++) {
            load_matrix_4(rows[i / 2][i % 2], x + i % 2 * 16 * PITCH + i / 2 * LEFT);
            load_matrix_4(columns[i / 2][i % 2], w + i % 2 * 16 * PITCH + i / 2 * RIGHT);
        }
#pragma unroll
        for (int i = 0; i < 2; i++)
#pragma unroll
            for (int j = 0; j < 4; j++) {
                const unsigned *high = &columns[0][j / 2][j % 2 * 2], *low = &columns[1][j / 2][j % 2 * 2];
                multiply_16x8x16<__half>(sum[i][j], rows[0][i], high);
                multiply_16x8x16<__half>(small[i][j], rows[0][i], low);
                multiply_16x8x16<__half>(small[i][j], rows[1][i], high);
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
        const float *high = &sum[i / 8][i / 2 % 4][i % 2 * 2], *low = &small[i / 8][i / 2 % 4][i % 2 * 2];
        if (m < N * P * Q)
            store_two(output + (size_t)m * K, high[0] + low[0] * (1.0f / 2048), high[1] + low[1] * (1.0f / 2048), bias, k, K);
    }
}
