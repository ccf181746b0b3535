/* bench 1
op: layout
what: a copy whose values are exchanged in by atomics, in global or in shared memory, neighbours or a stride apart
needs: c == 1 and h * w % 4096 == 0
dtype: {input: f32, output: f32}
params:
  SHARED: [0, 1]
  STRIDE: [1, 2, 8, 32]
steps:
  - kernel: atomics
    grid: h * w / 1024
    block: 32
    args: input, output
*/
extern "C" __global__ void __launch_bounds__(32) atomics(const float *input, float *output)
{
    __shared__ float pool[1024];
    int lane = threadIdx.x, base = blockIdx.x * 1024;
    for (int k = 0; k < 1024; k += 32) {
        pool[k + lane] = input[base + k + lane];
        if (!SHARED)
            output[base + k + lane] = 0; /* an exchange reads, too */
    }
    __syncthreads();
    for (int k = 0; k < 32; k++) {
        int i = lane * STRIDE + k % STRIDE + k / STRIDE * 32 * STRIDE; /* every place once */
        if (SHARED)
            output[base + i] = atomicExch(&pool[i], 1.0f);
        else
            atomicExch(&output[base + i], pool[i]);
    }
}
