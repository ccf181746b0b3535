/* bench 1
op: conv_transpose2d
what: a control, not the op - reads every input element once and writes as many bytes as the output has, in order
check: none
dtype: {input: [f32, f16, bf16], output: same}
let:
  out: n * k * p * q
define:
  ELEMENT_T: type(input)
steps:
  - kernel: transpose_bytes
    grid: min(ceil(out, 1024), 16 * sm_count)
    block: 256
    args: input, output, n * c * h * w, out
*/

/* Row 0 where the library is not asked: the compulsory traffic of input and output, and no arithmetic. */
#include "element/element.cuh"

/* Four neighbours of the output a thread; the input is spread evenly over them, so that each of its elements is read once from DRAM. */
extern "C" __global__ void __launch_bounds__(256) transpose_bytes(const ELEMENT_T *input, ELEMENT_T *output, long long elements, long long out)
{
    double share = (double)elements / (double)out;
    long long step = (long long)gridDim.x * 256 * 4;
    for (long long i = ((long long)blockIdx.x * 256 + threadIdx.x) * 4; i < out; i += step) {
        pack<ELEMENT_T, 4> v;
#pragma unroll
        for (int j = 0; j < 4; j++)
            v.item[j] = input[min((long long)((double)(i + j) * share), elements - 1)];
        if (i + 4 <= out)
            store_pack<ELEMENT_T, 4>(output + i, v);
        else
            for (int j = 0; j < 3; j++)
                if (i + j < out)
                    output[i + j] = v.item[j];
    }
}
