/* bench 1
op: layout
what: a copy through shared memory by cp.async.cg of 16 bytes a lane; some lanes bring zeros instead, from their own address or from the first
needs: c == 1 and h * w % 4096 == 0 and cc >= 80
dtype: {input: f32, output: f32}
params:
  ZERO: [0, 1, 2, 3]
  PADDED: [0, 1]
  BASE: [0, 1]
steps:
  - kernel: copies
    grid: h * w / 128
    block: 32
    args: input, output
*/
/* ZERO: no lane, every other, the upper half, all. PADDED: 16 bytes are left out behind each eight lanes. BASE: lanes that bring zeros name the first address. */
extern "C" __global__ void __launch_bounds__(32) copies(const float4 *input, float4 *output)
{
    __shared__ float4 pool[36];
    int lane = threadIdx.x, i = blockIdx.x * 32 + lane, at = PADDED ? lane + lane / 8 : lane;
    bool zero = ZERO == 3 || (ZERO == 2 && lane >= 16) || (ZERO == 1 && lane & 1);
    unsigned to = (unsigned)__cvta_generic_to_shared(pool + at);
    const float4 *from = zero && BASE ? input : input + i;
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(zero ? 0 : 16) : "memory");
    asm volatile("cp.async.commit_group;\n\tcp.async.wait_group 0;" ::: "memory");
    __syncthreads();
    float4 v = pool[at];
    if (zero) {
        float4 w = input[i];
        v = make_float4(v.x + w.x, v.y + w.y, v.z + w.z, v.w + w.w); /* zeros, or the result is wrong */
    }
    output[i] = v;
}
