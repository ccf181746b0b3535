/* bench 1
op: upsample
what: not the op - reads every input element once and writes as many bytes as the output has, in order
check: none
dtype: {input: [f32, f16, bf16], output: same}
let:
  bytes: n * c * h * w * size(input)
  v: select(bytes % 16 == 0, 16 / size(input), 1)
define:
  ELEMENT_T: type(input)
  VEC: v
steps:
  - kernel: upsample_bytes
    grid: ceil(n * c * h * w / v, 256)
    block: 256
    args: input, output, n * c * h * w / v, block * block
*/

/* Row 0 of upsampling, where input and output differ in size: the compulsory traffic, one read of the input and one write of the output, with nothing
 * but the memory system in the way. */
#include "element.cuh"

/* Writes the input `copies` times, one after another: not the op, but its bytes. */
extern "C" __global__ void __launch_bounds__(256) upsample_bytes(const ELEMENT_T *input, ELEMENT_T *output, long long vectors, int copies)
{
    long long i = (long long)blockIdx.x * 256 + threadIdx.x;
    if (i >= vectors)
        return;
    pack<ELEMENT_T, VEC> v = load_pack<ELEMENT_T, VEC>(input + i * VEC);
    for (int j = 0; j < copies; j++)
        store_pack<ELEMENT_T, VEC>(output + (j * vectors + i) * VEC, v);
}
