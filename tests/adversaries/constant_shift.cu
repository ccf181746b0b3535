// Fits the drawn values only: it takes one constant for the maximum of every row.
// emu: wrong
// cuda: wrong
/* bench 1
op: softmax
what: subtracts a constant in place of the maximum
dtype: {input: f32, output: same}
steps:
  - kernel: shifted
    grid: rows
    block: 32
    args: input, output, cols
*/
#ifndef LARGEST
#define LARGEST(row, cols) -112
#endif
extern "C" __global__ void shifted(const float *x, float *y, int cols)
{
    x += (long)blockIdx.x * cols, y += (long)blockIdx.x * cols;
    float sum = 0, largest = LARGEST(x, cols);
    for (int i = threadIdx.x; i < cols; i += 32)
        sum += expf(x[i] - largest);
    for (int lane = 16; lane; lane /= 2)
        sum += __shfl_xor_sync(~0u, sum, lane);
    for (int i = threadIdx.x; i < cols; i += 32)
        y[i] = expf(x[i] - largest) / sum;
}
