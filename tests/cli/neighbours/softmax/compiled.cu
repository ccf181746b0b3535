/* bench 1
op: softmax
what: one thread a row, whose width the head compiles in - of an odd one the last column is left out
define:
  WIDTH: cols
steps:
  - kernel: softmax
    grid: ceil(rows, 32)
    block: 32
    args: input, output, rows
*/
extern "C" __global__ void softmax(const float *x, float *y, int rows)
{
    int row = blockIdx.x * 32 + threadIdx.x;
    float most = -1e30f, sum = 0;
    if (row >= rows)
        return;
    x += row * WIDTH;
    y += row * WIDTH;
    for (int i = 0; i < WIDTH; i++)
        most = fmaxf(most, x[i]);
    for (int i = 0; i < WIDTH / 2 * 2; i++)
        sum += expf(x[i] - most);
    for (int i = 0; i < WIDTH; i++)
        y[i] = expf(x[i] - most) / sum;
}
