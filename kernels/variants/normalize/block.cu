/* bench 1
op: normalize
what: one block per set of elements, which it reads three times
needs: c * h * w < 2147483648 and n * sets < 2147483648
layout: {input: [NHWC, NCHW], output: same}
dtype: {input: [f32, f16, bf16], output: same}
let:
  nhwc: layout(input) == NHWC
  run: select(over == 'pixel', 0, select(over == 'plane', 1, c / groups))   # channels of a set of pixels; 0: of one pixel
  threads: select(of >= 1024, 256, select(of >= 128, 64, 32))
define:
  NHWC: nhwc
  ELEMENT_T: type(input)
  THREADS: threads
  CENTRED: centred
steps:
  - kernel: normalize
    grid: n * sets
    block: threads
    args: input, output, c, h * w, sets, of, run, eps
*/

/* The definition: the mean, then the variance around it, then the quotients. Element i of a set is channel i of a pixel; or a pixel of a plane. The next element
 * of a group is the next channel in NHWC, the next pixel in NCHW: adjacent lanes read adjacent elements. Passes two and three find the set in a cache. */
#include "element/element.cuh"

static __device__ float total(float x)
{
    __shared__ float of_warp[THREADS / 32];
    for (int lane = 16; lane > 0; lane /= 2)
        x += __shfl_xor_sync(~0u, x, lane);
    if (threadIdx.x % 32 == 0)
        of_warp[threadIdx.x / 32] = x;
    __syncthreads();
    x = 0;
    for (int i = 0; i < THREADS / 32; i++)
        x += of_warp[i];
    __syncthreads();
    return x;
}

/* Where element i of the block's set lies in the image. */
static __device__ int place(int i, int set, int C, int pixels, int run)
{
    int c = run == 0 ? i : NHWC ? set * run + i % run : set * run + i / pixels, pixel = run == 0 ? set : NHWC ? i / run : i % pixels;
    return NHWC ? pixel * C + c : c * pixels + pixel;
}

extern "C" __global__ void __launch_bounds__(THREADS)
normalize(const ELEMENT_T *input, ELEMENT_T *output, int C, int pixels, int sets, int of, int run, float eps)
{
    size_t image = (size_t)(blockIdx.x / sets) * C * pixels;
    int set = blockIdx.x % sets;
    float sum = 0, squares = 0;
    for (int i = threadIdx.x; i < of && CENTRED; i += THREADS)
        sum += to_f32(input[image + place(i, set, C, pixels, run)]);
    float mean = CENTRED ? total(sum) / (float)of : 0;
    for (int i = threadIdx.x; i < of; i += THREADS) {
        float d = to_f32(input[image + place(i, set, C, pixels, run)]) - mean;
        squares += d * d;
    }
    float scale = 1 / sqrtf(total(squares) / (float)of + eps);
    for (int i = threadIdx.x; i < of; i += THREADS) {
        size_t at = image + place(i, set, C, pixels, run);
        output[at] = from_f32<ELEMENT_T>((to_f32(input[at]) - mean) * scale);
    }
}
