/* bench 1
op: conv2d
what: sums in scratch, then bias and rounding; FAULT makes it wrong where an image is large
needs: [stride == 1 and dilation == 1 and groups == 1]
layout: {input: NHWC, filter: KCRS, output: NHWC}
dtype: {input: f16, output: f16, bias: f32, accumulate: f32}
algorithm: direct
epilogue: [bias]
params:
  FAULT: {values: [0, 1, 2, 3, 4, 5, 6], default: 0}
scratch:
  sums: f32[n * p * q * k]
steps:
  - kernel: sums_of
    grid: ceil(q * k, 128), p, n
    block: 128
    args: input, filter, sums, c, h, w, k, p, q, pad, r, s
  - kernel: finish
    grid: ceil(n * p * q * k, 256)
    block: 256
    args: sums, bias, output, n * p * q * k, k
*/
#include <cuda_fp16.h>

extern "C" __global__ void sums_of(const __half *input, const __half *filter, float *sums, int C, int H, int W, int K, int P, int Q, int pad,
                                   int R, int S)
{
    int i = blockIdx.x * 128 + threadIdx.x, q = i / K, k = i % K, p = blockIdx.y, n = blockIdx.z;
    if (q >= Q)
        return;
    input += (unsigned long long)n * H * W * C;
    float sum = 0;
    for (int r = 0; r < R; r++)
        for (int s = 0; s < S; s++) {
            int y = p - pad + r, x = q - pad + s;
            if (y < 0 || y >= H || x < 0 || x >= W)
                continue;
            unsigned pixel = y * W + x;
            if (FAULT == 1) /* the pixel's number in 16 bits */
                pixel = (unsigned short)pixel;
            if (FAULT == 2 && p >= P - 2 && P > 512) /* the last lines of a large image */
                continue;
            for (int c = 0; c < C; c++)
                sum += __half2float(input[(unsigned long long)pixel * C + c]) * __half2float(filter[((k * C + c) * R + r) * S + s]);
        }
    unsigned at = ((n * P + p) * Q + q) * K + k;
    if (FAULT == 3 && at >= 1u << 20) /* all that is behind the first million lies one channel beside its place */
        at ^= 1;
    sums[at] = sum;
}

extern "C" __global__ void finish(const float *sums, const float *bias, __half *output, int count, int K)
{
    int i = blockIdx.x * 256 + threadIdx.x, from = i;
    if (i >= count)
        return;
    if (FAULT == 4) /* a float holds whole numbers up to 2^22, with a half */
        from = (int)((float)i + 0.25f) & ~(i >> 22 ? 1 : 0);
    if (FAULT == 5 && blockIdx.x == gridDim.x - 1 && gridDim.x > 4096) /* the last block of a large grid */
        from = i - 1;
    if (FAULT == 6 && i >= 1 << 20) /* the bias of another channel */
        output[i] = __float2half(sums[from] + bias[(i + 1) % K]);
    else
        output[i] = __float2half(sums[from] + bias[i % K]);
}
