/* bench 1
op: centre
what: one thread a row
steps:
  - kernel: centre
    grid: ceil(rows, 32)
    block: 32
    args: x, y, rows
*/
extern "C" __global__ void centre(const float *x, float *y, int rows)
{
    int row = blockIdx.x * 32 + threadIdx.x;
    if (row >= rows)
        return;
    float mean = 0, apart = 0;
    for (int i = 0; i < 2; i++)
        mean += x[row * 2 + i];
    mean /= 2;
    for (int i = 0; i < 2; i++)
        apart += fabsf(x[row * 2 + i] - mean);
    for (int i = 0; i < 2; i++)
        y[row * 2 + i] = (x[row * 2 + i] - mean) / (apart / 2 + 1e-3f);
}
