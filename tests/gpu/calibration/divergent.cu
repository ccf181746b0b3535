/* bench 1
op: layout
what: a copy with a branch that splits warps in lanes, pairs, halves or not at all, too long to be predicated
needs: c == 1 and h * w % 4096 == 0
dtype: {input: f32, output: f32}
params:
  SPLIT: [1, 2, 16, 32]
steps:
  - kernel: divergent
    grid: h * w / 256
    block: 256
    args: input, output, 0, 7, 5
*/
extern "C" __global__ void __launch_bounds__(256) divergent(const float *input, float *output, float zero, int left, int right)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    float x = input[i];
    if (threadIdx.x / SPLIT & 1) {
#pragma unroll 1
        for (int k = 0; k < left; k++)
            x += zero * x;
    } else {
#pragma unroll 1
        for (int k = 0; k < right; k++)
            x -= zero * (x + 1);
    }
    output[i] = x;
}
