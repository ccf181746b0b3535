// Computes in f16, a less precise type than the math mode allows, and claims the tolerance of an algorithm that this op does not have.
// emu: wrong
// cuda: wrong
/* bench 1
what: sums of 16 products in f16 in place of f32, as algorithm collapsed
like: right
algorithm: collapsed
dtype: {input: f16, accumulate: f32}
*/
#include <cuda_fp16.h>
extern "C" __global__ void conv(const __half *x, const __half *f, __half *y, int N, int C, int H, int W, int K)
{
    long i = blockIdx.x * 128L + threadIdx.x;
    if (i >= (long)N * K * H * W)
        return;
    int q = i % W, p = i / W % H, k = i / ((long)W * H) % K, n = i / ((long)W * H * K), count = 0;
    float all = 0;
    __half sum = __float2half(0);
    for (int c = 0; c < C; c++)
        for (int t = 0; t < 9; t++) {
            int a = p + t / 3 - 1, b = q + t % 3 - 1;
            if (a >= 0 && a < H && b >= 0 && b < W)
                sum = __hfma(x[(((long)n * C + c) * H + a) * W + b], f[((long)k * C + c) * 9 + t], sum);
            if (++count % 16 == 0) {
                all += __half2float(sum);
                sum = __float2half(0);
            }
        }
    y[i] = __float2half(all + __half2float(sum));
}
