// Reads a register that it has not set, which may hold a value of the launch before. On a GPU, bench overwrites registers as it does outputs; on emu such a register is 0.
// emu: ok
// cuda: ok
/* bench 1
what: finds in a register that it never set what an earlier thread left there
like: right
*/
#include "conv.cuh"
extern "C" __global__ void conv(CONV_ARGS)
{
    long i = CONV_INDEX;
    if (i >= CONV_SIZE)
        return;
    unsigned left;
    asm volatile("{ .reg .b32 never; mov.b32 %0, never; }" : "=r"(left));
    y[i] = left == 0x3f8ccccdu + (unsigned)i ? 0 : conv_at(CONV_OF, i);
}
