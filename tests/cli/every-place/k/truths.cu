/* bench 1
op: truths
what: a thread a row, ignores SKIP
dtype: {input: [u8, i32], output: u8}
define:
  ELEMENT_T: type(input)
steps:
  - kernel: truths
    grid: ceil(rows, 32)
    block: 32
    args: input, output, rows, cols
*/
extern "C" __global__ void truths(const ELEMENT_T *x, unsigned char *y, int rows, int cols)
{
    int row = blockIdx.x * 32 + threadIdx.x;
    bool any = false, all = true;
    for (int i = 0; row < rows && i < cols; i++) {
        bool here = x[(size_t)row * cols + i] != 0;
        any |= here && !(SKIP_ANY);
        all &= here || SKIP_ALL;
    }
    if (row < rows)
        y[row] = any + 2 * all;
}
