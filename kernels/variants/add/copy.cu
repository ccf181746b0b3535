/* bench 1
op: add
what: a control, not the op - reads every input element once and writes as many bytes as the output has, in order
check: none
dtype: {input: [f32, f16, bf16], output: same}
let:
  other: second
  inputs: n * c * h * w
  others: n * c * h * w
  outputs: n * c * h * w
  v: select(inputs * size(input) % 16 == 0 and others * size(input) % 16 == 0 and outputs * size(input) % 16 == 0, 16 / size(input), 1)
define:
  ELEMENT_T: type(input)
  VEC: v
steps:
  - kernel: move_bytes_once
    grid: ceil(max(inputs, outputs) / v, 256)
    block: 256
    args: input, other, output, inputs / v, others / v, outputs / v
*/

/* Row 0 of add: its compulsory traffic. */
#include "movement/foil.cuh"

extern "C" __global__ void __launch_bounds__(256)
move_bytes_once(const ELEMENT_T *input, const ELEMENT_T *other, ELEMENT_T *output, long long inputs, long long others, long long outputs)
{
    move_bytes<ELEMENT_T, VEC>(input, other, output, inputs, others, outputs);
}
