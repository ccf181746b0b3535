/* bench 1
op: layout
what: a copy whose values come out of shared memory by ldmatrix, rows packed or padded
needs: c == 1 and h * w % 4096 == 0 and cc >= 75
dtype: {input: f32, output: f32}
params:
  COUNT: [1, 2, 4]       # matrices of 8 rows of 16 bytes
  PITCH: [4, 8, 16, 20]  # words from row to row
steps:
  - kernel: matrices
    grid: h * w / (32 * COUNT)
    block: 32
    args: input, output
*/
extern "C" __global__ void __launch_bounds__(32) matrices(const unsigned *input, unsigned *output)
{
    __shared__ __align__(16) unsigned tile[8 * COUNT * PITCH];
    int lane = threadIdx.x, base = blockIdx.x * 32 * COUNT;
    for (int k = 0; k < COUNT; k++) /* word (row, column) = 4 * row + column of the input */
        tile[(k * 8 + lane / 4) * PITCH + lane % 4] = input[base + k * 32 + lane];
    __syncthreads();
    unsigned r[4], at = (unsigned)__cvta_generic_to_shared(tile + lane % (8 * COUNT) * PITCH);
#if COUNT == 1
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(r[0]) : "r"(at));
#elif COUNT == 2
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];" : "=r"(r[0]), "=r"(r[1]) : "r"(at));
#else
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(at));
#endif
    for (int k = 0; k < COUNT; k++)
        output[base + k * 32 + lane] = r[k];
}
