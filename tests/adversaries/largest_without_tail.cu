// Searches for the maximum in full groups of 32 columns only.
// emu: wrong NaN
// cuda: wrong NaN
/* bench 1
op: softmax
what: 'largest of whole groups of 32'
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
    for (int i = lane; i < cols / 32 * 32 || i < 32 && i < cols; i += 32) most = fmaxf(most, x[i]);
    for (int d = 16; d; d /= 2) most = fmaxf(most, __shfl_xor_sync(~0u, most, d));
    for (int i = lane; i < cols; i += 32) sum += expf(x[i] - most);
    for (int d = 16; d; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
    for (int i = lane; i < cols; i += 32) y[i] = expf(x[i] - most) / sum;
}
