/* bench 1
op: leaky
what: a warp a row
dtype: {input: f32, output: same}
steps:
  - kernel: own
    grid: rows
    block: 32
    args: input, output, cols
*/
extern "C" __global__ void own(const float *x, float *y, int cols)
{
    for (int i = threadIdx.x; i < cols; i += 32) {
        float v = x[blockIdx.x * cols + i];
        y[blockIdx.x * cols + i] = VALUE;
    }
}
