// The result depends on the number of the launch: as many launches in a row as bench checks are right.
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
