// A correct kernel with f16 sums.
// emu: ok
// cuda: ok
/* bench 1
what: right; sums of f16
like: right
dtype: {input: f16, accumulate: f16}
*/
#include <cuda_fp16.h>
#ifndef LESS
#define LESS(v) (v)
#endif
extern "C" __global__ void conv(const __half *x, const __half *f, __half *y, int N, int C, int H, int W, int K)
{
    long i = blockIdx.x * 128L + threadIdx.x;
    if (i >= (long)N * K * H * W)
        return;
    int q = i % W, p = i / W % H, k = i / ((long)W * H) % K, n = i / ((long)W * H * K);
    __half sum = __float2half(0);
    for (int c = 0; c < C; c++)
        for (int t = 0; t < 9; t++) {
            int a = p + t / 3 - 1, b = q + t % 3 - 1;
            if (a >= 0 && a < H && b >= 0 && b < W)
                sum = __hfma(LESS(x[(((long)n * C + c) * H + a) * W + b]), LESS(f[((long)k * C + c) * 9 + t]), sum);
        }
    y[i] = sum;
}
