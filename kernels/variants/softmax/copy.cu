/* bench 1
op: softmax
what: a control, not the op - reads every element once and writes as many bytes as the output has, in order
check: none
dtype: {input: [f32, f16, bf16]}
let:
  inputs: rows * cols
  outputs: rows * cols
  v: select(inputs * size(input) % 16 == 0 and outputs * size(output) % 16 == 0, 16 / size(input), 1)
define:
  ELEMENT_T: type(input)
  VEC: v
steps:
  - kernel: move_bytes_once
    grid: ceil(max(inputs, outputs * size(output) / size(input)) / v, 256)
    block: 256
    args: input, output, inputs / v, floor(outputs * size(output), size(input) * v)
*/

/* Row 0 of softmax: its compulsory traffic. */
#include "movement/foil.cuh"

extern "C" __global__ void __launch_bounds__(256) move_bytes_once(const ELEMENT_T *input, void *output, long long inputs, long long outputs)
{
    move_bytes<ELEMENT_T, VEC>(input, input, (ELEMENT_T *)output, inputs, 0, outputs);
}
