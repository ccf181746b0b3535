/* bench 1
op: upsample
what: a control, not the op - reads every input element once and writes as many bytes as the output has, in order
check: none
dtype: {input: [f32, f16, bf16], output: same}
let:
  elements: n * c * h * w
  v: 16 / size(input)
define:
  ELEMENT_T: type(input)
steps:
  - kernel: upsample_bytes
    grid: floor(elements, v * 256) + 1
    block: 256
    args: input, output, floor(elements, v), block * block, elements % v
*/

/* Row 0 of upsampling, where input and output differ in size: only the
 * compulsory traffic, one read of the input and one write of the output. */
#include "movement/foil.cuh"

/* Writes the input `copies` times, one after another: not the op, but its bytes. */
extern "C" __global__ void __launch_bounds__(256) upsample_bytes(const ELEMENT_T *input, ELEMENT_T *output, long long vectors, int copies, int rest)
{
    repeat_bytes<ELEMENT_T, 16 / sizeof(ELEMENT_T)>(input, output, vectors, copies, rest);
}
