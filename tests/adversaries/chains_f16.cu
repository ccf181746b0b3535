// Under f16_acc32 it sums four products at a time in f16.
// emu: wrong
// cuda: wrong
/* bench 1
what: chains of 4 products summed in f16, chains in f32
like: right
dtype: {input: f16, accumulate: f32}
*/
#include <cuda_fp16.h>
extern "C" __global__ void conv(const __half *x, const __half *f, __half *y, int N, int C, int H, int W, int K)
{
    long i = blockIdx.x * 128L + threadIdx.x;
    if (i >= (long)N * K * H * W)
        return;
    int q = i % W, p = i / W % H, k = i / ((long)W * H) % K, n = i / ((long)W * H * K);
    float sum = 0;
    __half part = __float2half(0);
    int m = 0;
    for (int c = 0; c < C; c++)
        for (int t = 0; t < 9; t++) {
            int a = p + t / 3 - 1, b = q + t % 3 - 1;
            if (a >= 0 && a < H && b >= 0 && b < W) {
                part = __hfma(x[(((long)n * C + c) * H + a) * W + b], f[((long)k * C + c) * 9 + t], part);
                if (++m == 4) { sum += __half2float(part); part = __float2half(0); m = 0; }
            }
        }
    y[i] = __float2half(sum + __half2float(part));
}
