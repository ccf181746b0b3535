// Reads the nearest pixel at the border, where padding is 0.
// emu: wrong
// cuda: wrong
/* bench 1
what: the border reads the pixel beside it in place of zero
like: right
*/
#include "conv.cuh"
extern "C" __global__ void conv(CONV_ARGS)
{
    long i = CONV_INDEX;
    if (i >= CONV_SIZE)
        return;
    int q = i % W, p = i / W % H, k = i / ((long)W * H) % K, n = i / ((long)W * H * K);
    float sum = 0;
    for (int c = 0; c < C; c++)
        for (int t = 0; t < 9; t++) {
            int a = min(max(p + t / 3 - 1, 0), H - 1), b = min(max(q + t % 3 - 1, 0), W - 1);
            sum += x[(((long)n * C + c) * H + a) * W + b] * f[((long)k * C + c) * 9 + t];
        }
    y[i] = sum;
}
