/* bench 1
op: conv2d
what: skips inputs that are 0
needs: [stride == 1 and dilation == 1 and groups == 1]
layout: {input: NCHW, filter: KCRS, output: NCHW}
dtype: {input: f32, output: f32, accumulate: f32}
algorithm: direct
epilogue: []
steps:
  - kernel: skips
    grid: ceil(q, 32), p, n * k
    block: 32
    args: input, filter, output, c, h, w, k, p, q, pad, r, s
*/
extern "C" __global__ void skips(const float *input, const float *filter, float *output, int C, int H, int W, int K, int P, int Q, int pad, int R, int S)
{
    int q = blockIdx.x * 32 + threadIdx.x, p = blockIdx.y, k = blockIdx.z % K, n = blockIdx.z / K;
    if (q >= Q)
        return;
    float sum = 0;
    for (int c = 0; c < C; c++)
        for (int r = 0; r < R; r++)
            for (int s = 0; s < S; s++) {
                int y = p - pad + r, x = q - pad + s;
                if (y < 0 || y >= H || x < 0 || x >= W)
                    continue;
                float v = input[((n * C + c) * H + y) * W + x];
                if (v != 0)
                    sum += v * filter[((k * C + c) * R + r) * S + s];
            }
    output[((n * K + k) * P + p) * Q + q] = sum;
}
