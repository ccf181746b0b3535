// Keeps inputs in L2 by a cache policy, so that the cache is not cold. The result is right. Its time must equal that of `right` within the noise, which only a GPU shows.
// emu: ok
// cuda: ok
/* bench 1
what: asks the L2 to keep its input for the next launch
like: right
*/
#include "conv.cuh"
struct kept {
    const float *x;
    unsigned long long policy;
    __device__ float operator[](long i) const
    {
        float v;
        asm volatile("ld.global.L2::cache_hint.f32 %0, [%1], %2;" : "=f"(v) : "l"(x + i), "l"(policy));
        return v;
    }
};
extern "C" __global__ void conv(CONV_ARGS)
{
    long i = CONV_INDEX;
    unsigned long long policy;
    asm volatile("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
    kept held = {x, policy};
    if (i >= CONV_SIZE)
        return;
    int q = i % W, p = i / W % H, k = i / ((long)W * H) % K, n = i / ((long)W * H * K);
    float sum = 0;
    for (int c = 0; c < C; c++)
        for (int t = 0; t < 9; t++) {
            int a = p + t / 3 - 1, b = q + t % 3 - 1;
            if (a >= 0 && a < H && b >= 0 && b < W)
                sum += held[(((long)n * C + c) * H + a) * W + b] * f[((long)k * C + c) * 9 + t];
        }
    y[i] = sum;
}
