/* bench 1
op: softmax
what: a warp a row, its largest value without SKIP
dtype: {input: f32, output: f32}
steps:
  - kernel: soft
    grid: rows
    block: 32
    args: input, output, cols
*/
static __device__ float of_warp(float v, bool sum)
{
    for (int lane = 16; lane; lane /= 2) {
        float other = __shfl_xor_sync(~0u, v, lane);
        v = sum ? v + other : fmaxf(v, other);
    }
    return v;
}
extern "C" __global__ void soft(const float *x, float *y, int cols)
{
    const size_t row = (size_t)blockIdx.x * cols;
    float m = -INFINITY, sum = 0;
    for (int i = threadIdx.x; i < cols; i += 32)
        m = SKIP ? m : fmaxf(m, x[row + i]);
    m = of_warp(m, false);
    for (int i = threadIdx.x; i < cols; i += 32)
        sum += expf(x[row + i] - m);
    sum = of_warp(sum, true);
    for (int i = threadIdx.x; i < cols; i += 32)
        y[row + i] = expf(x[row + i] - m) / sum;
}
