/* bench 1
op: conv2d
what: Boda's ipconv - filters as large as the image (fully connected layers) as inner products, a block for NT channels of MT images
from: k1conv
needs:
  - p == 1 and q == 1 and r == h and s == w and pad_top == 0 and pad_left == 0 and groups == 1 and dilation_y == 1 and dilation_x == 1
  - n * c * h * w < 2147483648
layout: {input: NCHW, filter: KCRS, output: NCHW}
dtype: {input: f32, output: f32, bias: f32, accumulate: f32}
epilogue: [bias, relu, leaky_relu]
claims: cc == 90 and c * h * w >= 2048 and k >= 512 and n <= 20
params:
  MT: {values: [1, 4, 8], default: 4}         # images
  NT: {values: [1, 2, 4], default: 4}         # output channels
  TB: {values: [64, 128, 256], default: 128}  # threads, which share the depth
  VW: {values: [auto, 1, 4], default: auto}   # floats in a load
let:
  depth: c * h * w
  vw: select(VW == 'auto', select(depth % 4 == 0, 4, 1), VW)
  smem: 4 * (TB / 32) * MT * NT
  registers: MT * NT + (MT + NT) * vw
where:
  - depth % vw == 0
predict: {threads: TB, smem: smem, registers: registers}
define:
  VECTOR: vw
  EPI_BIAS: has(bias)
  EPI_SLOPE: slope(epilogue)
steps:
  - kernel: inner_products
    grid: ceil(k, NT), ceil(n, MT)
    block: TB
    args: input, filter, bias, output, n, k, depth
*/

/* What changed from k1conv: one output pixel an image is no work for a tile, and the filter is read once: its bytes are the limit. So a block has few channels, its threads read
 * filters and images consecutively from end to end, and their sums are added at the end. */
#include "element/element.cuh"
#include "element/epilogue.cuh"

/* VECTOR floats. */
struct part {
    float v[VECTOR];
};
static __device__ __forceinline__ part load_part(const float *from)
{
    part p;
    if constexpr (VECTOR == 4) {
        float4 f = __ldg((const float4 *)from);
        p.v[0] = f.x, p.v[1] = f.y, p.v[2] = f.z, p.v[3] = f.w;
    } else
        p.v[0] = __ldg(from);
    return p;
}

extern "C" __global__ void __launch_bounds__(TB) inner_products(const float *input, const float *filter, const float *bias, float *output, int images, int K, int depth)
{
    __shared__ float sums[TB / 32][MT * NT];
    int k0 = blockIdx.x * NT, image0 = blockIdx.y * MT;
    float sum[MT][NT];
#pragma unroll
    for (int i = 0; i < MT * NT; i++)
        sum[i / NT][i % NT] = 0.0f;
    for (int d = threadIdx.x * VECTOR; d < depth; d += TB * VECTOR) {
        part a[MT], b[NT];
#pragma unroll
        for (int i = 0; i < MT; i++)
            a[i] = load_part(input + (size_t)min(image0 + i, images - 1) * depth + d);
#pragma unroll
        for (int j = 0; j < NT; j++)
            b[j] = load_part(filter + (size_t)min(k0 + j, K - 1) * depth + d);
#pragma unroll
        for (int i = 0; i < MT; i++)
#pragma unroll
            for (int j = 0; j < NT; j++)
#pragma unroll
                for (int v = 0; v < VECTOR; v++)
                    sum[i][j] += a[i].v[v] * b[j].v[v];
    }
#pragma unroll
    for (int i = 0; i < MT * NT; i++) {
        float x = sum[i / NT][i % NT];
#pragma unroll
        for (int step = 16; step; step /= 2)
            x += __shfl_xor_sync(~0u, x, step);
        if (threadIdx.x % 32 == 0)
            sums[threadIdx.x / 32][i] = x;
    }
    __syncthreads();
    int i = threadIdx.x, image = image0 + i / NT, k = k0 + i % NT;
    if (i >= MT * NT || image >= images || k >= K)
        return;
    float x = 0.0f;
#pragma unroll
    for (int warp = 0; warp < TB / 32; warp++)
        x += sums[warp][i];
    output[(size_t)image * K + k] = epilogue(x, bias, k);
}
