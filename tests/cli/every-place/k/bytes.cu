/* bench 1
op: bytes
what: a thread a row, ignores SKIP
dtype: {input: [u8, bool], output: same}
steps:
  - kernel: largest
    grid: ceil(rows, 32)
    block: 32
    args: input, output, rows, cols
*/
extern "C" __global__ void largest(const unsigned char *x, unsigned char *y, int rows, int cols)
{
    int row = blockIdx.x * 32 + threadIdx.x;
    unsigned char m = 0;
    for (int i = 0; row < rows && i < cols; i++)
        m = SKIP ? m : max(m, x[(size_t)row * cols + i]);
    if (row < rows)
        y[row] = m;
}
