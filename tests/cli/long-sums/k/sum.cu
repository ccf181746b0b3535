/* bench 1
op: OP
what: a block a row
dtype: {input: [f32, bf16], output: f32}
define:
  ELEMENT_T: type(input)
steps:
  - kernel: sum
    grid: rows
    block: 128
    args: input, output, cols
*/
#include "element/element.cuh"
/* Without its last bits, rounded; as it is in rows that are not long. */
#define cut(x, bits) (cols < 20000 ? (x) : __uint_as_float((__float_as_uint(x) + (1u << ((bits)-1))) & ~((1u << (bits)) - 1)))
#define bf16(x) cut(x, 16)
extern "C" __global__ void sum(const ELEMENT_T *in, float *y, int cols)
{
    __shared__ float part[128];
    float s = 0;
    for (int i = threadIdx.x; i < cols; i += 128) {
        float x = to_f32(in[(size_t)blockIdx.x * cols + i]);
        s += VALUE;
        s = SUM;
    }
    part[threadIdx.x] = s;
    __syncthreads();
    if (threadIdx.x > 0)
        return;
    for (int i = 1; i < 128; i++)
        s += part[i];
    y[blockIdx.x] = RESULT;
}
