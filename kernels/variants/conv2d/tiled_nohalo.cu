/* bench 1
what: a tile of exactly the block's own pixels in shared memory, no halo; taps outside it fall back to global memory
like: naive
needs: stride == 1 and groups == 1 and c * h * w < 2147483648 and k * p * q < 2147483648
layout: {filter: KCRS}
steps:
  - kernel: conv_tiled_nohalo
    grid: ceil(q, BLOCK), ceil(p, BLOCK), n * k
    block: BLOCK, BLOCK
    args: input, filter, bias, output, c, h, w, k, r, s, p, q, pad_top, dilation
*/

/* What changed from naive: a block first copies, channel by channel, the pixels under its own outputs to shared memory, and reads its taps from there. The notebook
 * found this shared-memory version slower than naive, and the reasons can be counted.
 *
 *  - The tile has no halo, so the outer threads miss it. For 16x16 and 3x3 that is 8 % of the taps but 23 % of the threads, and since a warp is two
 *    rows of 16, every warp holds some of them: every warp runs both sides of the branch.
 *  - Two barriers a channel, where naive has none.
 *  - With one channel and a 3x3 filter there is little to save: L1 already held those nine taps.
 *
 * In NHWC, too, consecutive threads are pixels, so there their loads and stores are a pixel's channels apart; in NCHW they are contiguous.
 *
 * On an H200 the notebook's image takes 37.3 us, naive 46.4 us (older code): here the tile saves a little, and most cycles issue instructions. EDSR's body in NHWC
 * takes several times naive's time, because of the stride. */
#include "element/element.cuh"
#include "element/epilogue.cuh"
#include "element/tensor.cuh"

extern "C" __global__ void __launch_bounds__(BLOCK *BLOCK)
conv_tiled_nohalo(const INPUT_T *input, const INPUT_T *filter, const float *bias, OUTPUT_T *output, int C, int H, int W, int K, int R, int S, int P,
                  int Q, int pad, int dilation)
{
    __shared__ float tile[BLOCK][BLOCK];
    int tx = threadIdx.x, ty = threadIdx.y;
    int q = blockIdx.x * BLOCK + tx, p = blockIdx.y * BLOCK + ty;
    int k = blockIdx.z % K, n = blockIdx.z / K;
    input += (size_t)n * C * H * W;
    output += (size_t)n * K * P * Q;

    /* The tap in the middle of the filter reads the thread's own pixel of the tile. */
    int r_mid = (R - 1) / 2, s_mid = (S - 1) / 2;
    int y_own = p - pad + r_mid * dilation, x_own = q - pad - PAD_MORE + s_mid * dilation;
    float sum = 0.0f;
    for (int c = 0; c < C; c++) {
        __syncthreads(); /* the last channel's readers are done */
        bool inside = y_own >= 0 && y_own < H && x_own >= 0 && x_own < W;
        tile[ty][tx] = inside ? to_f32(input[at(c, y_own, x_own, C, H, W)]) : 0.0f;
        __syncthreads();
        for (int r = 0; r < R; r++)
#pragma unroll 1 /* two sides of a branch in every tap: unrolled, the addresses of both do not fit the registers */
            for (int s = 0; s < S; s++) {
                int ly = ty + (r - r_mid) * dilation, lx = tx + (s - s_mid) * dilation;
                float value = 0.0f;
                if (ly >= 0 && ly < BLOCK && lx >= 0 && lx < BLOCK) {
                    value = tile[ly][lx];
                } else { /* a neighbour's pixel */
                    int y = y_own + (r - r_mid) * dilation, x = x_own + (s - s_mid) * dilation;
                    if (y >= 0 && y < H && x >= 0 && x < W)
                        value = to_f32(input[at(c, y, x, C, H, W)]);
                }
                sum += value * to_f32(filter[filter_at(k, c, r, s, K, C, R, S)]);
            }
    }
    if (p < P && q < Q)
        output[at(k, p, q, K, P, Q)] = from_f32<OUTPUT_T>(epilogue(sum, bias, k));
}
