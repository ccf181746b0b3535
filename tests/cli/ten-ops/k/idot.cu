/* bench 1
op: idot
what: a warp a row
dtype: {a: i8, b: u8, y: i32}
steps:
  - kernel: idot
    grid: rows
    block: 32
    args: a, b, y, cols
*/
extern "C" __global__ void idot(const signed char *a, const unsigned char *b, int *y, int cols)
{
    int sum = 0;
    for (int i = threadIdx.x; i < cols; i += 32)
        sum += a[blockIdx.x * cols + i] * b[blockIdx.x * cols + i];
    for (int o = 16; o; o /= 2)
        sum += __shfl_xor_sync(~0u, sum, o);
    if (!threadIdx.x)
        y[blockIdx.x] = sum;
}
