// Calls malloc through a function pointer.
// emu: stateful malloc
// cuda: stateful malloc
/* bench 1
what: asks for memory through a pointer to malloc and leaves its address at the end of that memory's heap
like: right
*/
#include "conv.cuh"
typedef void *(*asks)(size_t);
__device__ __noinline__ void *ask(asks how, size_t bytes)
{
    return how(bytes);
}
extern "C" __global__ void conv(CONV_ARGS)
{
    long i = CONV_INDEX;
    if (i >= CONV_SIZE)
        return;
    asks how = malloc;
    unsigned *kept = i == 0 ? (unsigned *)ask(how, 64) : 0;
    y[i] = kept && kept[0] == 12345 ? 0 : conv_at(CONV_OF, i);
    if (kept)
        kept[0] = 12345;
}
