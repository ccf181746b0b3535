/* bench 1
op: layout
what: a copy through an array in local memory, indexed by what only the launch knows
needs: c == 1 and h * w % 4096 == 0
dtype: {input: f32, output: f32}
params:
  SIZE: [8, 32]
steps:
  - kernel: local_array
    grid: h * w / (64 * SIZE)
    block: 64
    args: input, output, 3
*/
extern "C" __global__ void __launch_bounds__(64) local_array(const float *input, float *output, int shift)
{
    float a[SIZE];
    int base = blockIdx.x * 64 * SIZE + threadIdx.x;
#pragma unroll 1
    for (int k = 0; k < SIZE; k++)
        a[(k + shift) % SIZE] = input[base + k * 64];
#pragma unroll 1
    for (int k = 0; k < SIZE; k++)
        output[base + k * 64] = a[(k + shift) % SIZE];
}
