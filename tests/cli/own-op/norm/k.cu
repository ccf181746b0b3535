/* bench 1
op: layernorm
what: a warp a row, two passes
dtype: {input: [f32], output: same}
steps:
  - kernel: k
    grid: rows
    block: 32
    args: input, output, cols
*/
extern "C" __global__ void k(const float *x, float *y, long long cols)
{
    x += blockIdx.x * cols; y += blockIdx.x * cols;
    float s = 0;
    for (int i = threadIdx.x; i < cols; i += 32) s += x[i];
    for (int d = 16; d; d >>= 1) s += __shfl_xor_sync(~0u, s, d);
    float m = s / cols, v = 0;
    for (int i = threadIdx.x; i < cols; i += 32) v += (x[i] - m) * (x[i] - m);
    for (int d = 16; d; d >>= 1) v += __shfl_xor_sync(~0u, v, d);
    float r = rsqrtf(v / cols + 1e-5f);
    for (int i = threadIdx.x; i < cols; i += 32) y[i] = (x[i] - m) * r;
}
