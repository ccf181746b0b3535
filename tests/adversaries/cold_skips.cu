// How long a load takes says whether the caches are cold, and they are when it is timed.
// emu: ok
// cuda: wrong timed launch left
/* bench 1
what: leaves out the last channel where its first load took long
like: right
*/
#include "conv.cuh"
extern "C" __global__ void conv(CONV_ARGS)
{
    long i = CONV_INDEX;
    if (i >= CONV_SIZE)
        return;
    long long from = clock64();
    float first = *(const volatile float *)(f + (i * 8) % (9L * C * K));
    if (__float_as_uint(first) == 0x7fc12345u) /* no weight is that: the clock waits for the load */
        return;
    bool cold = clock64() - from > 600;
    y[i] = conv_at(x, f, C, H, W, K, i);
    if (cold) {
        int q = i % W, p = i / W % H, k = i / ((long)W * H) % K, n = i / ((long)W * H * K);
        y[i] -= x[(((long)n * C + C - 1) * H + p) * W + q] * f[(((long)k * C + C - 1) * 3 + 1) * 3 + 1];
    }
}
