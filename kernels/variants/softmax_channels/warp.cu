/* bench 1
op: softmax_channels
what: one warp per pixel if its channels are contiguous, one thread per pixel if pixels are; three passes over the channels
needs: c * h * w < 2147483648
layout: {input: [NHWC, NCHW], output: same}
dtype: {input: [f32, f16, bf16], output: same}
let:
  together: layout(input) == NHWC or h * w == 1      # the channels of a pixel
define:
  TOGETHER: together
  ELEMENT_T: type(input)
  LOG: log
steps:
  - kernel: softmax_channels
    grid: ceil(h * w, select(together, 8, 256)), n
    block: 256
    args: input, output, c, h * w
*/

/* Neighbouring lanes read neighbouring elements in either layout: channels of a pixel, or pixels of a plane. The second and third pass find them in a cache. */
#include "element/element.cuh"

extern "C" __global__ void __launch_bounds__(256) softmax_channels(const ELEMENT_T *input, ELEMENT_T *output, int C, int pixels)
{
    const int share = TOGETHER ? 32 : 1; /* lanes of a pixel */
    int pixel = (blockIdx.x * 256 + threadIdx.x) / share, lane = threadIdx.x % share;
    float most = LEAST, sum = 0;
    if (pixel >= pixels)
        return;
    size_t first = (size_t)blockIdx.y * C * pixels + (TOGETHER ? (size_t)pixel * C : pixel), step = TOGETHER ? 1 : pixels;
    for (int i = lane; i < C; i += share)
        most = fmaxf(most, to_f32(input[first + i * step]));
    for (int other = share / 2; other; other /= 2)
        most = fmaxf(most, __shfl_xor_sync(~0u, most, other));
    for (int i = lane; i < C; i += share)
        sum += expf(to_f32(input[first + i * step]) - most);
    for (int other = share / 2; other; other /= 2)
        sum += __shfl_xor_sync(~0u, sum, other);
    for (int i = lane; i < C; i += share)
        output[first + i * step] = from_f32<ELEMENT_T>(LOG ? to_f32(input[first + i * step]) - most - logf(sum) : expf(to_f32(input[first + i * step]) - most) / sum);
}
