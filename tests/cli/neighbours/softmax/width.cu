/* bench 1
op: softmax
what: one thread a row, whose width is written in
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
    x += row * 96;
    y += row * 96;
    for (int i = 0; i < 96; i++)
        most = fmaxf(most, x[i]);
    for (int i = 0; i < 96; i++)
        sum += expf(x[i] - most);
    for (int i = 0; i < 96; i++)
        y[i] = expf(x[i] - most) / sum;
}
