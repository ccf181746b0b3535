/* bench 1
op: resize_linear
what: a thread keeps its column for many rows - lanes take vectors of the channels of a pixel (NHWC), or a thread takes eight planes (NCHW)
like: resize_linear/element
from: element
let:
  nhwc: select(layout(input) == NHWC, 1, 0)
  v_max: 16 / size(input)
  v: select(nhwc == 0, 1, select(c % v_max == 0, v_max, select(c % 2 == 0, 2, 1)))
  lanes: select(nhwc == 1, min(32, pow2(ceil(c, v))), 1)
  parts: select(nhwc == 1, 1, ceil(c, 8))
  rows: n * parts * p
  across: ceil(q * lanes, 256)
define:
  VEC: v
  LANES: lanes
  ROWS: 8
steps:
  - kernel: gather_pixels
    grid: across, min(65535, ceil(rows, 8))
    block: 256
    args: input, output, rows, c, h, w, p, q, mul_y, add_y, div_y, mul_x, add_x, div_x, 0.0
*/

/* What changed from element: a thread keeps its column, and computes its position and weights once for many rows; a block computes those of a row once. The loads of NHWC
 * are whole vectors. */
#include "movement/gather.cuh"

extern "C" __global__ void __launch_bounds__(256)
gather_pixels(const ELEMENT_T *input, ELEMENT_T *output, long long rows, int C, int H, int W, int P, int Q, long long mul_y, long long add_y, long long div_y,
              long long mul_x, long long add_x, long long div_x, float value)
{
    __shared__ place places[ROWS];
    __shared__ long long groups[ROWS]; /* an image, or eight of its planes */
    __shared__ int lines[ROWS];
    const axis vertical = {H, (whole)mul_y, (whole)add_y, (whole)div_y}, across = {W, (whole)mul_x, (whole)add_x, (whole)div_x};
    int at = blockIdx.x * 256 + threadIdx.x, q = at / LANES, lane = at % LANES, parts = NHWC ? 1 : (C + 7) / 8;
    place x = place_of(min(q, Q - 1), across);
    for (long long row = (long long)blockIdx.y * ROWS; row < rows; row += (long long)gridDim.y * ROWS) {
        __syncthreads();
        if (threadIdx.x < ROWS && row + threadIdx.x < rows) {
            whole own = (whole)(row + threadIdx.x);
            groups[threadIdx.x] = own / P;
            lines[threadIdx.x] = (int)(own % P);
            places[threadIdx.x] = place_of((int)(own % P), vertical);
        }
        __syncthreads();
        for (int r = 0; r < ROWS && row + r < rows && q < Q; r++) {
            long long group = groups[r];
            size_t image = (size_t)(group / parts), pixel = (size_t)lines[r] * Q + q;
            int first = NHWC ? lane * VEC : (int)(group % parts) * 8, end = NHWC ? C : min(C, first + 8);
            const ELEMENT_T *from = input + image * C * H * W;
            ELEMENT_T *to = output + image * C * P * Q;
            place y = places[r];
            for (int c = first; c < end; c += NHWC ? LANES * VEC : 1) {
                pack<ELEMENT_T, VEC> v = gathered(from + (NHWC ? (size_t)c : (size_t)c * H * W), y, x, H, W, NHWC ? C : 1, value);
                store_pack<ELEMENT_T, VEC>(to + (NHWC ? pixel * C + c : (size_t)c * P * Q + pixel), v);
            }
        }
    }
}
