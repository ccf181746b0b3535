/* bench 1
op: conv2d
what: one thread an output; its tensors may be slices
needs: stride == 1 and dilation == 1 and groups == 1
layout: {input: NHWC, filter: KCRS, output: NHWC, residual: NHWC}
dtype: {input: f16, output: same, bias: f32, accumulate: f32}
slices: [input, residual, output]
epilogue: [bias, residual, leaky_relu]
params:
  BEYOND: {values: [0, 1], default: 0}
  PACKED: {values: [0, 1], default: 0}
  EAGER: {values: [0, 1], default: 0}
define:
  RESIDUAL: has(residual)
  SLOPE: slope(epilogue)
specialise: [r, s]
steps:
  - kernel: direct
    grid: ceil(n * p * q * k, 128)
    block: 128
    attributes: {pdl: follows}
    args: input, filter, bias, residual, output, n, c, h, w, k, p, q, pad, pitch(input), pitch(residual),
          select(PACKED == 1, k, pitch(output))
*/
#include <cuda_fp16.h>

/* BEYOND writes a channel too many, PACKED takes no notice of the pitch, EAGER does not wait for the layer before. */
extern "C" __global__ void direct(const __half *input, const __half *filter, const float *bias, const __half *residual, __half *output,
                                  int N, int C, int H, int W, int K, int P, int Q, int pad, int in, int other, int out)
{
    if (!EAGER)
        asm volatile("griddepcontrol.wait;" ::: "memory");
    int i = blockIdx.x * 128 + threadIdx.x, k = i % K, pixel = i / K, q = pixel % Q, p = pixel / Q % P, n = pixel / Q / P;
    if (n >= N)
        return;
    float sum = bias[k];
    for (int r = 0; r < R; r++)
        for (int s = 0; s < S; s++)
            for (int c = 0; c < C; c++) {
                int y = p + r - pad, x = q + s - pad;
                if (y >= 0 && y < H && x >= 0 && x < W)
                    sum += __half2float(input[(size_t)((n * H + y) * W + x) * in + c]) *
                           __half2float(filter[((k * C + c) * R + r) * S + s]);
            }
    if (RESIDUAL)
        sum += __half2float(residual[(size_t)pixel * other + k]);
    output[(size_t)pixel * out + k] = __float2half(sum < 0 ? sum * SLOPE : sum);
    if (BEYOND && k == K - 1 && out > K)
        output[(size_t)pixel * out + K] = __float2half(1000.0f);
}
