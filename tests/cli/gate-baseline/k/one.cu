/* bench 1
op: conv2d
what: a pixel a thread, 32 channels in registers, pixels through shared memory
needs: r == 1 and c == 16 and k == 32 and groups == 1 and stride == 1 and n * p * q % 128 == 0
layout: {input: NHWC, filter: RSCK, output: NHWC}
dtype: {input: f32, output: same, accumulate: f32}
steps:
  - kernel: one
    grid: n * p * q / 128
    block: 128
    args: input, filter, output
*/
#include "one.h"
#include "two.h"
#define PAD 17

extern "C" __global__ void __launch_bounds__(128)
one(const float *input, const float *filter, float *output)
{
    __shared__ float pixels[128][PAD];
    int t = threadIdx.x;
    size_t first = (size_t)blockIdx.x * 128;
    for (int i = 0; i < ONE_C; i++)
        pixels[(i * 128 + t) / ONE_C][(i * 128 + t) % ONE_C] = input[first * ONE_C + i * 128 + t];
    __syncthreads();
    float sums[TWO_K] = {0};
#pragma unroll 1
    for (int c = 0; c < ONE_C; c++) {
        float pixel = pixels[t][c];
#pragma unroll
        for (int k = 0; k < TWO_K; k++)
            sums[k] += pixel * filter[c * TWO_K + k];
    }
#pragma unroll
    for (int k = 0; k < TWO_K; k += 4)
        *(float4 *)&output[(first + t) * TWO_K + k] = make_float4(sums[k], sums[k + 1], sums[k + 2], sums[k + 3]);
}
