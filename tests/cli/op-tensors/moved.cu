/* bench 1
op: moved
what: a thread an element
steps:
  - {kernel: moved, grid: "ceil(rows * cols, 64)", block: 64, args: [x, y, rows, cols]}
*/
extern "C" __global__ void moved(const double *x, double *y, int rows, int cols)
{
    int i = blockIdx.x * 64 + threadIdx.x;
    if (i < rows * cols)
        y[i] = x[(rows - 1 - i / cols) * cols + i % cols];
}
