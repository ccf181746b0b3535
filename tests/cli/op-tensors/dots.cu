/* bench 1
op: dots
what: a warp a row
dtype: {a: [f32, f64], b: same, y: same}
define: {ELEMENT: type(a)}
steps:
  - {kernel: dots, grid: rows, block: 32, args: [a, b, y, cols]}
*/
extern "C" __global__ void dots(const ELEMENT *a, const ELEMENT *b, ELEMENT *y, int cols)
{
    ELEMENT sum = 0;
    for (int i = threadIdx.x; i < cols; i += 32)
        sum += a[blockIdx.x * cols + i] * b[i];
    for (int apart = 16; apart; apart /= 2)
        sum += __shfl_down_sync(~0u, sum, apart);
    if (threadIdx.x == 0)
        y[blockIdx.x] = sum;
}
