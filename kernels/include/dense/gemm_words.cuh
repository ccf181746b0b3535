/* dense/gemm_words: the matrix product of gemm_tile with words of 4 bytes as they are in memory: f32 for TF32, or four
 * channels of 8 bits. A step is 16 words deep. Its pieces go to one of two stages in shared memory, so that one barrier
 * a step is enough. ldmatrix loads a row of four words as if it were eight halves. Each warp multiplies 32 x 32.
 *
 * WORD defines a word: `sum` is the type of sums, put(to, v) stores a piece, multiply(d, a, b) is the product of 16 rows, 8 columns and 8 words. The including file defines
 * PITCH, bytes from one row of a stage to the next, and the constants of gemm_tile. */
#pragma once
#include "dense/gemm_tile.cuh"
#include "tensor_core/mma.cuh"

template <typename WORD>
static __device__ __forceinline__ void convolve_words(const float *input, const float *filter, const float *bias, float *output, int N, int C, int H, int W, int K, int P, int Q,
                                                      int pad)
{
    __shared__ __align__(16) unsigned char left[2][TILE_M * PITCH], right[2][TILE_N * PITCH];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    int m0 = blockIdx.x * TILE_M, k0 = blockIdx.y * TILE_N, warp_m = warp / (TILE_N / 32) * 32, warp_n = warp % (TILE_N / 32) * 32;
    tiles t;
    tiles_begin(&t, input, filter, m0, k0, N, C, H, W, K, P, Q, pad);
    int steps = R * S * t.steps_per_tap;

    typename WORD::sum sum[2][4][4];
#pragma unroll
    for (int i = 0; i < 32; i++)
        sum[i / 16][i / 4 % 4][i % 4] = 0;
    float4 a[AHEAD][A_PIECES], b[AHEAD][B_PIECES];
#pragma unroll
    for (int i = 0; i < AHEAD; i++)
        tiles_read(&t, i, steps, a[i], b[i]);
    auto one_step = [&](int step, float4 *left_pieces, float4 *right_pieces) {
        int stage = step % 2;
        unsigned own = shared_address(left[stage]) + threadIdx.x / 4 * PITCH + threadIdx.x % 4 * 16, own_right = shared_address(right[stage]) + own - shared_address(left[stage]);
#pragma unroll
        for (int i = 0; i < A_PIECES; i++)
            WORD::put(own + i * (THREADS / 4) * PITCH, left_pieces[i]);
#pragma unroll
        for (int i = 0; i < B_PIECES; i++)
            WORD::put(own_right + i * (THREADS / 4) * PITCH, right_pieces[i]);
        __syncthreads();
        tiles_read(&t, step + AHEAD, steps, left_pieces, right_pieces);
        /* Matrices of ldmatrix: (rows 0-7, 4 deep), (rows 8-15), then the next 4 deep; on the right (columns 0-7), its next 4 deep, (columns 8-15) ... */
        unsigned x = shared_address(left[stage]) + (warp_m + lane % 16) * PITCH + lane / 16 * 16;
        unsigned w = shared_address(right[stage]) + (warp_n + lane / 16 * 8 + lane % 8) * PITCH + lane / 8 % 2 * 16;
#pragma unroll
        for (int deep = 0; deep < 64; deep += 32) { /* bytes: 8 words */
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
                    WORD::multiply(sum[i][j], rows[i], &columns[j / 2][j % 2 * 2]);
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
            store_two(output + (size_t)m * K, (float)sum[i / 8][i / 2 % 4][i % 2 * 2], (float)sum[i / 8][i / 2 % 4][i % 2 * 2 + 1], bias, k, K);
    }
}
