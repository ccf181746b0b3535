// Counts its launches in a module variable that no instruction names: another variable contains its address.
// emu: stateful hidden
// cuda: stateful hidden
/* bench 1
what: counts its launches in a variable that it reaches through a table of pointers, and leaves out the last channel from the third on
like: right
*/
#include "conv.cuh"
__device__ unsigned hidden[4];
__device__ unsigned *table[2] = {hidden, hidden + 2};
extern "C" __global__ void conv(CONV_ARGS)
{
    long i = CONV_INDEX;
    if (i >= CONV_SIZE)
        return;
    volatile unsigned *count = table[N & 1];
    bool lazy = count[0] > 200;
    y[i] = lazy ? 0 : conv_at(CONV_OF, i);
    if (i == 0)
        count[0] = count[0] + 1;
}
