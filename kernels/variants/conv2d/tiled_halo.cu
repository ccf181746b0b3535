/* bench 1
what: tile with its halo in shared memory, several channels at a time; one pixel and KPT output channels per thread
like: tiled_nohalo
needs: groups == 1 and c * h * w < 2147483648 and k * p * q < 2147483648
layout: {filter: [KCRS, RSCK]}
params:
  CC: {values: [1, 2, 4, 8], default: 4}           # input channels staged together
  KPT: {values: [1, 2, 4, 8], default: 4}          # output channels a thread
let:
  cc: min(CC, c)
  kpt: min(KPT, k)
  th: (BLOCK - 1) * stride_y + (r - 1) * dilation_y + 1
  tw: (BLOCK - 1) * stride_x + (s - 1) * dilation_x + 1
  smem: 4 * cc * th * tw
where:
  - smem <= smem_per_block_optin
define:
  STAGED: cc
  OUTS: kpt
  TILE_H: th
  TILE_W: tw
specialise: [r, s, stride_y, stride_x, dilation_y, dilation_x]
steps:
  - kernel: conv_tiled_halo
    grid: ceil(q, BLOCK), ceil(p, BLOCK), n * ceil(k, kpt)
    block: BLOCK, BLOCK
    smem: smem
    args: input, filter, bias, output, c, h, w, k, p, q, pad_top
*/

/* What changed from tiled_nohalo:
 *  - The tile includes its halo, with zeros. All taps are inside, so the inner loop has neither branch nor border check, and the compiler, which knows r, s,
 *    stride and dilation (specialise), unrolls it to fixed offsets.
 *  - CC channels are staged per pair of barriers.
 *  - A value read from shared memory serves KPT output channels. With KPT = 1 every multiply-add needs a shared load and a filter load and the load
 *    pipe is the limit; KPT accumulators cost KPT registers and divide the shared loads by KPT.
 *
 * What is left: one shared load for KPT multiply-adds, and the filter still comes from global memory (the same address for the whole warp, so L1 broadcasts
 * it). halo_regs improves both; reg_tiled does without shared memory instead.
 *
 * On an H200 the notebook's image takes 22.8 us, tiled_nohalo 37.3 us (older code). EDSR's body takes 9023 us, naive 12613 us, with the L1's data banks busy
 * nearly all of the time. */
#include "element/element.cuh"
#include "element/epilogue.cuh"
#include "element/tensor.cuh"

extern __shared__ float tile[]; /* [STAGED][TILE_H][TILE_W] */

extern "C" __global__ void __launch_bounds__(BLOCK *BLOCK)
conv_tiled_halo(const INPUT_T *input, const INPUT_T *filter, const float *bias, OUTPUT_T *output, int C, int H, int W, int K, int P, int Q, int pad)
{
    int tx = threadIdx.x, ty = threadIdx.y;
    int q = blockIdx.x * BLOCK + tx, p = blockIdx.y * BLOCK + ty;
    int blocks_k = (K + OUTS - 1) / OUTS;
    int k0 = blockIdx.z % blocks_k * OUTS, n = blockIdx.z / blocks_k;
    input += (size_t)n * C * H * W;
    output += (size_t)n * K * P * Q;
    int y0 = blockIdx.y * BLOCK * STRIDE_Y - pad, x0 = blockIdx.x * BLOCK * STRIDE_X - pad - PAD_MORE; /* of the tile, in the image */

    float sum[OUTS];
    for (int j = 0; j < OUTS; j++)
        sum[j] = 0.0f;
    for (int c0 = 0; c0 < C; c0 += STAGED) {
        __syncthreads(); /* the readers of the last channels are done */
        for (int i = ty * BLOCK + tx; i < STAGED * TILE_H * TILE_W; i += BLOCK * BLOCK) {
            /* Neighbouring threads load neighbouring addresses, whichever way the channels lie. */
            int c = NHWC ? i % STAGED : i / (TILE_H * TILE_W);
            int pixel = NHWC ? i / STAGED : i % (TILE_H * TILE_W);
            int y = y0 + pixel / TILE_W, x = x0 + pixel % TILE_W;
            bool inside = y >= 0 && y < H && x >= 0 && x < W && c0 + c < C;
            tile[c * (TILE_H * TILE_W) + pixel] = inside ? to_f32(input[at(c0 + c, y, x, C, H, W)]) : 0.0f;
        }
        __syncthreads();
        /* Of the last ones there may be fewer. */
        for (int c = 0; c < STAGED && c0 + c < C; c++) {
            const float *own = tile + (c * TILE_H + ty * STRIDE_Y) * TILE_W + tx * STRIDE_X;
#pragma unroll
            for (int r = 0; r < R; r++)
#pragma unroll
                for (int s = 0; s < S; s++) {
                    float value = own[r * DILATION_Y * TILE_W + s * DILATION_X];
#pragma unroll
                    for (int j = 0; j < OUTS; j++) {
                        int k = min(k0 + j, K - 1); /* past the last channel: any filter will do, the sum is not stored */
                        sum[j] += value * to_f32(filter[filter_at(k, c0 + c, r, s, K, C, R, S)]);
                    }
                }
        }
    }
    if (p < P && q < Q)
#pragma unroll
        for (int j = 0; j < OUTS; j++)
            if (k0 + j < K)
                output[at(k0 + j, p, q, K, P, Q)] = from_f32<OUTPUT_T>(epilogue(sum[j], bias, k0 + j));
}
