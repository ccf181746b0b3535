// Takes the maximum of the first 32 columns for that of the row. A much larger value in another column overflows.
// emu: wrong NaN
// cuda: wrong NaN
/* bench 1
op: softmax
what: 'largest of the first 32 elements'
dtype: {input: f32, output: same}
steps:
  - kernel: softmax
    grid: rows
    block: 32
    args: input, output, rows, cols
*/
extern "C" __global__ void softmax(const float *input, float *output, int rows, int cols)
{
    const float *x = input + (size_t)blockIdx.x * cols; float *y = output + (size_t)blockIdx.x * cols;
    int lane = threadIdx.x; float most = -3.4e38f, sum = 0;
    if (lane < cols) most = x[lane];
    for (int d = 16; d; d /= 2) most = fmaxf(most, __shfl_xor_sync(~0u, most, d));
    for (int i = lane; i < cols; i += 32) sum += expf(x[i] - most);
    for (int d = 16; d; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
    for (int i = lane; i < cols; i += 32) y[i] = expf(x[i] - most) / sum;
}
