/* bench 1
op: pool_global
what: the mean of each channel - a block sums a plane (NCHW), or 32 channels of all pixels (NHWC)
needs: c * h * w < 2147483648
dtype: {input: [f32, f16, bf16], output: same}
let:
  nhwc: layout(input) == NHWC
define:
  NHWC: nhwc
  ELEMENT_T: type(input)
steps:
  - kernel: mean_of_channels
    grid: select(nhwc, ceil(c, 32), c), n
    block: 256
    args: input, output, c, h * w
*/

/* Adjacent lanes read adjacent elements in both layouts: pixels of a plane, or channels of a pixel. Eight warps add up parts of the image, and shared memory
 * joins them. */
#include "element/element.cuh"

extern "C" __global__ void __launch_bounds__(256) mean_of_channels(const ELEMENT_T *input, ELEMENT_T *output, int C, int pixels)
{
    __shared__ float parts[8][32];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32, c = NHWC ? blockIdx.x * 32 + lane : blockIdx.x;
    float sum = 0.0f;
    input += (size_t)blockIdx.y * C * pixels;
    if (NHWC) {
        for (int i = warp; i < pixels && c < C; i += 8)
            sum += to_f32(input[(size_t)i * C + c]);
    } else {
        for (int i = threadIdx.x; i < pixels; i += 256)
            sum += to_f32(input[(size_t)c * pixels + i]);
    }
    parts[warp][lane] = sum;
    __syncthreads();
    if (warp)
        return;
    for (int i = 1; i < 8; i++)
        sum += parts[i][lane];
    for (int step = 16; !NHWC && step; step /= 2)
        sum += __shfl_xor_sync(~0u, sum, step);
    if (NHWC ? c < C : lane == 0)
        output[blockIdx.y * C + c] = from_f32<ELEMENT_T>(sum / (float)pixels);
}
