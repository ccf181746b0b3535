// A lesser type than the math mode says, behind the slack of an algorithm.
// emu: wrong
// cuda: wrong
/* bench 1
what: rounds operands to TF32, and calls itself winograd
like: right
algorithm: winograd
exact: no
*/
#include "conv.cuh"
static __device__ float less(float v)
{
    return __uint_as_float((__float_as_uint(v) + 0x1000) & 0xffffe000u);
}
extern "C" __global__ void conv(CONV_ARGS)
{
    long i = CONV_INDEX;
    if (i >= CONV_SIZE)
        return;
    int q = i % W, p = i / W % H, k = i / ((long)W * H) % K, n = i / ((long)W * H * K);
    float sum = 0;
    for (int c = 0; c < C; c++)
        for (int t = 0; t < 9; t++) {
            int a = p + t / 3 - 1, b = q + t % 3 - 1;
            if (a >= 0 && a < H && b >= 0 && b < W)
                sum += less(x[(((long)n * C + c) * H + a) * W + b]) * less(f[((long)k * C + c) * 9 + t]);
        }
    y[i] = sum;
}
