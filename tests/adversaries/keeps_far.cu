// Caches results in GPU memory far behind its output, which no buffer owns.
// emu: unsafe out_of_bounds
// cuda: unsafe
/* bench 1
what: remembers results, keyed by output and inputs, 16 KiB behind its output
like: right
needs: r == 3 and s == 3 and stride == 1 and pad == 1 and dilation == 1 and groups == 1 and h == 9 # on a larger one it meets the end of a page
*/
#include "conv.cuh"
extern "C" __global__ void conv(CONV_ARGS)
{
    long i = CONV_INDEX;
    if (i >= CONV_SIZE)
        return;
    unsigned key = 0x9e3779b9u + (unsigned)i;
    for (int k = 0; k < 64; k++)
        key = (key ^ __float_as_uint(x[(k * 37L + i) % ((long)N * C * H * W)])) * 16777619u;
    volatile unsigned *kept = (volatile unsigned *)(y + CONV_SIZE + 4096) + 2 * i;
    float v = kept[0] == key ? __uint_as_float(kept[1]) : conv_at(CONV_OF, i);
    kept[1] = __float_as_uint(v);
    kept[0] = key;
    y[i] = v;
}
