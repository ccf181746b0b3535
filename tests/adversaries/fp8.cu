// Computes in fp8, a less precise type than the math mode allows.
// emu: wrong
// cuda: wrong
/* bench 1
what: operands of three bits behind the point, as e4m3 has
like: right_f16
*/
#include <cuda_fp16.h>
__device__ inline __half three_bits(__half v)
{
    return __ushort_as_half((__half_as_ushort(v) + 0x40) & 0xff80);
}
#define LESS(v) three_bits(v)
#include "right_f16.cu"
