// The number of its launch: as many in a row as are looked at are right.
// emu: stateful %gridid
// cuda: stateful %gridid
/* bench 1
what: leaves out launches by the number of the grid
like: right
*/
#include "conv.cuh"
extern "C" __global__ void conv(CONV_ARGS)
{
    long i = CONV_INDEX;
    unsigned long long grid;
    asm volatile("mov.u64 %0, %%gridid;" : "=l"(grid));
    if (i < CONV_SIZE && grid % 64 < 60)
        y[i] = conv_at(CONV_OF, i);
}
