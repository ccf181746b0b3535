// Does not compile.
// emu: broken
// cuda: broken
/* bench 1
what: does not compile
like: right
*/
#include "conv.cuh"
extern "C" __global__ void conv(CONV_ARGS) { this is no code }
