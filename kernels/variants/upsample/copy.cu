/* bench 1
op: upsample
what: not the op - reads every input element once and writes as many bytes as the output has, in order
check: none
dtype: {input: [f32, f16, bf16], output: same}
let:
  out: n * c * h * w * block * block
define:
  ELEMENT_T: type(input)
steps:
  - kernel: upsample_bytes
    grid: min(ceil(out, 1024), 16 * sm_count)
    block: 256
    args: input, output, n * c * h * w, out, block * block
*/

/* Row 0 of upsampling, where input and output differ in size: the compulsory traffic, one read of the input and one write of the output, with nothing
 * but the memory system in the way. */
#include "element.cuh"

/* Writes out[i] = in[i / copies], which reads each element from DRAM once and needs no arithmetic worth naming. */
extern "C" __global__ void __launch_bounds__(256)
upsample_bytes(const ELEMENT_T *input, ELEMENT_T *output, long long elements, long long out, int copies)
{
    long long step = (long long)gridDim.x * 256 * 4;
    for (long long i = ((long long)blockIdx.x * 256 + threadIdx.x) * 4; i < out; i += step) {
        pack<ELEMENT_T, 4> v;
#pragma unroll
        for (int j = 0; j < 4; j++)
            v.item[j] = input[min((i + j) / copies, elements - 1)];
        if (i + 4 <= out)
            store_pack<ELEMENT_T, 4>(output + i, v);
        else
            for (int j = 0; j < 3; j++)
                if (i + j < out)
                    output[i + j] = v.item[j];
    }
}
