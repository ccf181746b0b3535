/* bench 1
op: conv2d
what: right; the other one differs from it in TIMES
needs: r == 3 and s == 3 and stride == 1 and pad == 1 and dilation == 1 and groups == 1
layout: {input: NCHW, filter: KCRS, output: same}
dtype: {input: f32, accumulate: f32}
steps:
  - kernel: conv
    grid: ceil(n * k * p * q, 128)
    block: 128
    args: input, filter, output, n, c, h, w, k
*/
#ifndef TIMES
#define TIMES 1.0f
#endif
extern "C" __global__ void conv(const float *x, const float *f, float *y, int N, int C, int H, int W, int K)
{
    long i = blockIdx.x * 128L + threadIdx.x;
    if (i >= (long)N * K * H * W)
        return;
    int q = i % W, p = i / W % H, k = i / ((long)W * H) % K, n = i / ((long)W * H * K);
    float sum = 0;
    for (int c = 0; c < C; c++)
        for (int r = 0; r < 3; r++)
            for (int s = 0; s < 3; s++) {
                int a = p + r - 1, b = q + s - 1;
                if (a >= 0 && a < H && b >= 0 && b < W)
                    sum += x[(((long)n * C + c) * H + a) * W + b] * f[(((long)k * C + c) * 3 + r) * 3 + s];
            }
    y[i] = sum * TIMES;
}
