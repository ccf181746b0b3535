/* bench 1
op: upsample_conv2d
what: four convolutions 2x2 of the small image, one for each phase of the output - taps on the same pixel are added beforehand, the store interleaves
like: conv_transpose2d/wgmma_phases
from: two_step
needs:
  - block == 2 and r == 3 and s == 3 and pad == 1 and c <= 64 and c % 8 == 0 and k % 8 == 0
  - c * h * w < 2147483648 and k * p * q < 2147483648
algorithm: collapsed
define:
  R: null
  S: null
specialise: [r, s]
scratch:
  summed: input[4 * k * side * side * c]
  phases: null
tensor_maps:
  filter_map: {of: summed}
prepare:
  - kernel: sum_filters
    grid: ceil(4 * k * side * side * c, 256)
    block: 256
    args: filter, summed, k, c
steps:
  - kernel: conv_collapsed
    grid: ceil(rows_all, rows_block), blocks_k
    block: 384
    smem: smem
    args: input_map, filter_map, output_map, bias, 4 * k, h, pad, strips, rows_all, rows_block
*/

/* What changed from two_step: the work. Of the nine pixels of the large image under a 3x3 filter only four are different, so along each axis
 *
 *     an even output sees   f0           on pixel y - 1,   f1 + f2   on pixel y
 *     an odd one            f0 + f1      on pixel y,       f2        on pixel y + 1
 *
 * and the filters of the four phases (dy, dx) are 2x2: 4 / 9 of the products, and no large image. The phases are 4 k channels of a convolution of the small image, whose
 * pixels the store interleaves: depth_to_space, DCR. That is wgmma_rs_d2s, except that each phase reads its own 2x2 of the 3x3 pixels in reach: another row of the ring
 * and another first pixel. The sums of taps are computed once, in `prepare`.
 *
 * Cost: a sum of taps is rounded to the type of the filter, which `algorithm: collapsed` permits. If k is no multiple of 64, 64 rows of a product belong to two phases
 * or more; then the filters stay 3x3 and five of nine taps are zeros. */
#include "element/element.cuh"
#define WEIGHTS_SHARED 0
#include "dense/wgmma_rows.cuh"

/* summed[phase * K + k][a][b][c]. Tap a of phase dy adds rows first .. last - 1 of the filter. */
extern "C" __global__ void __launch_bounds__(256) sum_filters(const TYPE *filter, TYPE *summed, int K, int C)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i >= 4 * K * TAPS * C)
        return;
    int c = i % C, tap = i / C % TAPS, k = i / C / TAPS % K, phase = i / C / TAPS / K, begin[2], end[2];
    for (int axis = 0; axis < 2; axis++) {
        int d = axis ? phase % 2 : phase / 2, a = axis ? tap % TAP_COLUMNS : tap / TAP_COLUMNS;
        int at = a - (TAP_ROWS == 3 ? d : 0); /* which of the two; in 3x3 a phase begins at its own pixel */
        begin[axis] = at == 0 ? 0 : 1 + d;
        end[axis] = at == 0 ? 1 + d : at == 1 ? 3 : 0;
    }
    float sum = 0;
    for (int r = begin[0]; r < end[0]; r++)
        for (int s = begin[1]; s < end[1]; s++)
            sum += to_f32(filter[((k * 3 + r) * 3 + s) * C + c]);
    summed[i] = from_f32<TYPE>(sum);
}

extern "C" __global__ void __launch_bounds__(384, 1)
conv_collapsed(const __grid_constant__ tensor_map input_map, const __grid_constant__ tensor_map filter_map, const __grid_constant__ tensor_map output_map,
               const float *bias, int K, int P, int pad, int strips, int rows_all, int rows_block)
{
    convolve_rows(&input_map, &filter_map, &output_map, nullptr, bias, K, P, pad, strips, rows_all, rows_block);
}
