// Caches results in local memory and finds them by its arguments. The results are right. On a GPU, bench overwrites local memory as it does outputs, so the kernel computes.
// emu: unsafe uninitialised
// cuda: unsafe uninitialised
/* bench 1
what: remembers in local memory, keyed by output and inputs, the result of an earlier launch
like: right
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
    unsigned memory[64], *slot = memory + 2 * (key & 31);
    asm volatile("" : "+l"(slot)::"memory"); /* where it points to is nobody's business */
    float v = slot[0] == key ? __uint_as_float(slot[1]) : conv_at(CONV_OF, i);
    slot[0] = key;
    slot[1] = __float_as_uint(v);
    asm volatile("" : "+l"(slot)::"memory");
    y[i] = v;
}
