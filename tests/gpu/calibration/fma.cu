/* bench 1
op: layout
what: a copy with a known number of multiply-adds a thread, whose product is zero
needs: c == 1 and h * w % 4096 == 0
dtype: {input: f32, output: f32}
params:
  COUNT: [64, 1024]
steps:
  - kernel: multiply_add
    grid: h * w / 256
    block: 256
    args: input, output, 0
*/
extern "C" __global__ void __launch_bounds__(256) multiply_add(const float *input, float *output, float zero)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    float x = input[i];
#pragma unroll 1
    for (int k = 0; k < COUNT / 16; k++)
#pragma unroll
        for (int j = 0; j < 16; j++)
            x = fmaf(x, zero, x);
    output[i] = x;
}
