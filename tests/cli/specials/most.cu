/* bench 1
op: most
what: one thread a row
steps:
  - kernel: most
    grid: ceil(rows, 32)
    block: 32
    args: input, output, rows, cols
*/
extern "C" __global__ void most(const float *x, float *y, int rows, int cols)
{
    int row = blockIdx.x * 32 + threadIdx.x;
    if (row >= rows)
        return;
    float m = START;
    for (int i = 0; i < cols; i++) {
        float v = x[row * cols + i];
        m = m != m || m > v ? m : v;
    }
    y[row] = m;
}
