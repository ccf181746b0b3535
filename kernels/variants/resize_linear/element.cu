/* bench 1
op: resize_linear
what: one thread per output element; any layout, any size
layout: {input: [NHWC, NCHW], output: same}
dtype: {input: [f32, f16, bf16], output: same}
let:
  elements: n * c * p * q
  far: max(p * mul_y + abs(add_y) + 2 * div_y, q * mul_x + abs(add_x) + 2 * div_x)
  wide: select(max(elements, n * c * h * w) < 1073741824 and far < 536870912, 0, 1)
define:
  RESIZE: 1
  TAPS: 2
  NHWC: layout(input) == NHWC
  WIDE: wide
  VEC: 1
  ELEMENT_T: type(input)
steps:
  - kernel: gather_elements
    grid: ceil(elements, 256)
    block: 256
    args: input, output, elements, c, h, w, p, q, mul_y, add_y, div_y, mul_x, add_x, div_x, 0.0
*/

/* The definition. Positions are whole numbers over a divisor, worked out again for every element. */
#include "movement/gather.cuh"

extern "C" __global__ void __launch_bounds__(256)
gather_elements(const ELEMENT_T *input, ELEMENT_T *output, long long elements, int C, int H, int W, int P, int Q, long long mul_y,
                long long add_y, long long div_y, long long mul_x, long long add_x, long long div_x, float value)
{
    const axis rows = {H, (whole)mul_y, (whole)add_y, (whole)div_y}, columns = {W, (whole)mul_x, (whole)add_x, (whole)div_x};
    long long at = (long long)blockIdx.x * 256 + threadIdx.x;
    if (at >= elements)
        return;
    whole i = (whole)at, image = i / ((whole)C * P * Q), rest = i % ((whole)C * P * Q);
    int c = (int)(NHWC ? rest % C : rest / ((whole)P * Q));
    whole pixel = NHWC ? rest / C : rest % ((whole)P * Q);
    input += ((size_t)image * C * H + (NHWC ? 0 : (size_t)c * H)) * W + (NHWC ? c : 0);
    pack<ELEMENT_T, 1> v = gathered(input, place_of((int)(pixel / Q), rows), place_of((int)(pixel % Q), columns), H, W, NHWC ? C : 1, value);
    output[at] = v.item[0];
}
