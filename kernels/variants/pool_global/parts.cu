/* bench 1
op: pool_global
what: the mean of each channel in two steps - blocks add up parts of the image, then one warp per channel their sums
from: element
needs: c * h * w < 2147483648
dtype: {input: [f32, f16, bf16], output: same}
let:
  nhwc: layout(input) == NHWC
  pixels: h * w
  v: select(select(nhwc, c, pixels) % (16 / size(input)) == 0, 16 / size(input), 1)
  vectors: c / v
  lanes: select(not nhwc, 1, select(vectors > 16, 32, select(vectors > 8, 16, select(vectors > 4, 8, select(vectors > 2, 4, vectors)))))   # of a warp, for the channels of a pixel
  slabs: select(nhwc, ceil(vectors, lanes), c)           # of channels that a block takes
  least: select(nhwc, 2048 / lanes, 2048 * v)            # pixels of a part, eight loads per thread
  parts: max(1, min(128, min(ceil(pixels, least), ceil(4 * sm_count, n * slabs))))
define:
  NHWC: nhwc
  ELEMENT_T: type(input)
  VEC: v
  LANES: lanes
scratch:
  sums: f32[n * c * parts]
steps:
  - kernel: sum_parts
    grid: slabs * parts, n
    block: 256
    args: input, sums, c, pixels, parts
  - kernel: mean_of_parts
    grid: ceil(n * c, 8)
    block: 256
    args: sums, output, n * c, parts, pixels
*/

/* What changed from element: there a block has 32 channels of a whole image, so 64 channels at 128x128 use only two SMs. Here a block has a part of the pixels. In
 * NHWC a warp's lanes take vectors of the channels of one pixel, or of several if the channels are few. */
#include "element/element.cuh"

static __device__ __forceinline__ void add_vector(const ELEMENT_T *from, float sum[VEC])
{
    pack<ELEMENT_T, VEC> x = load_pack<ELEMENT_T, VEC>(from);
#pragma unroll
    for (int j = 0; j < VEC; j++)
        sum[j] += to_f32(x.item[j]);
}

extern "C" __global__ void __launch_bounds__(256) sum_parts(const ELEMENT_T *input, float *sums, int C, int pixels, int parts)
{
    __shared__ float of_thread[256 / LANES][LANES * VEC];
    int part = blockIdx.x % parts, slab = blockIdx.x / parts, lane = threadIdx.x % LANES, row = threadIdx.x / LANES;
    int each = (pixels + parts * VEC - 1) / (parts * VEC) * VEC, end = min(pixels, (part + 1) * each);
    float sum[VEC] = {};
    input += (size_t)blockIdx.y * C * pixels;
    if (NHWC) {
        int c = (slab * LANES + lane) * VEC;
#pragma unroll 4
        for (int i = part * each + row; i < end && c < C; i += 256 / LANES)
            add_vector(input + (size_t)i * C + c, sum);
    } else {
#pragma unroll 4
        for (int i = part * each + row * VEC; i < end; i += 256 * VEC)
            add_vector(input + (size_t)slab * pixels + i, sum);
        for (int j = 1; j < VEC; j++)
            sum[0] += sum[j];
    }
    for (int j = 0; j < (NHWC ? VEC : 1); j++)
        of_thread[row][lane * VEC + j] = sum[j];
    for (int half = 128 / LANES; half; half /= 2) {
        __syncthreads();
        if (row < half)
            for (int j = 0; j < (NHWC ? VEC : 1); j++)
                of_thread[row][lane * VEC + j] += of_thread[row + half][lane * VEC + j];
    }
    __syncthreads();
    int c = NHWC ? slab * LANES * VEC + threadIdx.x : slab;
    if (threadIdx.x < (NHWC ? LANES * VEC : 1) && c < C)
        sums[((size_t)blockIdx.y * C + c) * parts + part] = of_thread[0][threadIdx.x];
}

extern "C" __global__ void __launch_bounds__(256) mean_of_parts(const float *sums, ELEMENT_T *output, int channels, int parts, int pixels)
{
    int channel = blockIdx.x * 8 + threadIdx.x / 32, lane = threadIdx.x % 32;
    float sum = 0.0f;
    for (int i = lane; i < parts && channel < channels; i += 32)
        sum += sums[(size_t)channel * parts + i];
    for (int step = 16; step; step /= 2)
        sum += __shfl_xor_sync(~0u, sum, step);
    if (lane == 0 && channel < channels)
        output[channel] = from_f32<ELEMENT_T>(sum / (float)pixels);
}
