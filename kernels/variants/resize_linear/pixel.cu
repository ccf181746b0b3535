/* bench 1
op: resize_linear
what: positions and weights once a pixel - lanes take vectors of its channels (NHWC), or a thread takes eight planes (NCHW)
like: resize_linear/element
from: element
let:
  nhwc: select(layout(input) == NHWC, 1, 0)
  v_max: 16 / size(input)
  v: select(nhwc == 0, 1, select(c % v_max == 0, v_max, select(c % 2 == 0, 2, 1)))
  lanes: select(nhwc == 1, min(32, pow2(ceil(c, v))), 1)
  parts: select(nhwc == 1, 1, ceil(c, 8))
  items: n * p * q * lanes * parts
define:
  VEC: v
  LANES: lanes
steps:
  - kernel: gather_pixels
    grid: ceil(items, 256)
    block: 256
    args: input, output, items, c, h, w, p, q, mul_y, add_y, div_y, mul_x, add_x, div_x, 0.0
*/

/* What changed from element: divisions and weights are paid once for a vector of channels or for eight planes, and the loads of NHWC are whole vectors. */
#include "movement/gather.cuh"

extern "C" __global__ void __launch_bounds__(256)
gather_pixels(const ELEMENT_T *input, ELEMENT_T *output, long long items, int C, int H, int W, int P, int Q, long long mul_y, long long add_y,
              long long div_y, long long mul_x, long long add_x, long long div_x, float value)
{
    const axis rows = {H, (whole)mul_y, (whole)add_y, (whole)div_y}, columns = {W, (whole)mul_x, (whole)add_x, (whole)div_x};
    long long at = (long long)blockIdx.x * 256 + threadIdx.x;
    if (at >= items)
        return;
    whole i = (whole)at / LANES, pixels = (whole)P * Q, pixel = i % pixels, group = i / pixels; /* an image, or eight of its planes */
    int lane = (int)(at % LANES), parts = NHWC ? 1 : (C + 7) / 8, first = NHWC ? lane * VEC : (int)(group % parts) * 8;
    size_t image = (size_t)(group / parts);
    place y = place_of((int)(pixel / Q), rows), x = place_of((int)(pixel % Q), columns);
    input += image * C * H * W;
    output += image * C * pixels;
    for (int c = first; c < (NHWC ? C : min(C, first + 8)); c += NHWC ? LANES * VEC : 1) {
        pack<ELEMENT_T, VEC> v = gathered(input + (NHWC ? (size_t)c : (size_t)c * H * W), y, x, H, W, NHWC ? C : 1, value);
        store_pack<ELEMENT_T, VEC>(output + (NHWC ? (size_t)pixel * C + c : (size_t)c * pixels + pixel), v);
    }
}
