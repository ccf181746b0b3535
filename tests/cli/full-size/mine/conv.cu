/* bench 1
op: conv2d
what: one thread an output; FAULT makes it wrong where an image is large
needs: [stride == 1 and dilation == 1 and groups == 1]
layout: {input: NHWC, filter: KCRS, output: NHWC}
dtype: {input: f16, output: f16, bias: f32, accumulate: f32}
algorithm: direct
epilogue: [bias]
params:
  FAULT: {values: [0, 1, 2, 3, 4, 5, 6, 7], default: 0}
steps:
  - kernel: conv
    grid: ceil(q * k, 128), p, n
    block: 128
    args: input, filter, bias, output, c, h, w, k, p, q, pad, r, s
*/
#include <cuda_fp16.h>

__device__ unsigned long long at(int y, int x, int c, int W, int C)
{
    if (FAULT == 1) /* the pixel's number in 16 bits: right up to 65,535 pixels */
        return (unsigned long long)(unsigned short)(y * W + x) * C + c;
    if (FAULT == 2) /* a float holds whole numbers up to 2^24 */
        return (unsigned long long)((float)(y * W + x) * (float)C + (float)c);
    if (FAULT == 3) /* bytes in 32 bits: right up to 4 GiB */
        return (unsigned)(((y * W + x) * C + c) * 2u) / 2u;
    if (FAULT == 4) /* a line buffer of 512 pixels */
        return (unsigned long long)(y * W + (x & 511)) * C + c;
    if (FAULT == 7) /* lines of at most 1,024 pixels */
        return (unsigned long long)(y * min(W, 1024) + x) * C + c;
    return ((unsigned long long)y * W + x) * C + c;
}

extern "C" __global__ void conv(const __half *input, const __half *filter, const float *bias, __half *output, int C, int H, int W, int K,
                                int P, int Q, int pad, int R, int S)
{
    int i = blockIdx.x * 128 + threadIdx.x, q = i / K, k = i % K, p = blockIdx.y, n = blockIdx.z;
    if (q >= Q)
        return;
    input += (unsigned long long)n * H * W * C;
    float sum = bias[k];
    for (int r = 0; r < R; r++)
        for (int s = 0; s < S; s++) {
            int y = p - pad + r, x = q - pad + s;
            if (y < 0 || y >= H || x < 0 || x >= W)
                continue;
            if (FAULT == 5 && blockIdx.x == gridDim.x - 1 && gridDim.x > 64 && s == S - 1)
                continue;
            if (FAULT == 6 && p >= P - 2 && P > 512 && q >= Q - 4)
                continue;
            for (int c = 0; c < C; c++)
                sum += __half2float(input[at(y, x, c, W, C)]) * __half2float(filter[((k * C + c) * R + r) * S + s]);
        }
    output[(((unsigned long long)n * P + p) * Q + q) * K + k] = __float2half(sum);
}
