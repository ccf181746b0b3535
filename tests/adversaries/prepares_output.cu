// Does the work before bench times it: `prepare` writes the output.
// emu: broken prepare has the argument `output`
// cuda: broken prepare has the argument `output`
/* bench 1
what: clears its output in prepare
like: right
prepare:
  - fill: output = 0
*/
#include "conv.cuh"
extern "C" __global__ void conv(CONV_ARGS)
{
    long i = CONV_INDEX;
    if (i < CONV_SIZE)
        y[i] += conv_at(CONV_OF, i);
}
