/* bench 1
op: spread
what: one thread an element
steps:
  - kernel: own
    grid: ceil(rows * cols, 64)
    block: 64
    args: x, y, rows, cols, kind
*/
extern "C" __global__ void own(const float *x, float *y, int rows, int cols, int kind)
{
    int i = blockIdx.x * 64 + threadIdx.x, r = i / cols, c = i % cols;
    float infinite = __int_as_float(0x7f800000), v;
    if (i >= rows * cols)
        return;
    v = SCORE;
    if (kind == 0)
        v = c == 3 ? -1e9f : v;
    if (kind == 1)
        v = c > r ? -3.4028234663852886e38f : v;
    if (kind == 2)
        v = c > r ? MASKED : v;
    if (kind == 3)
        v = c == 5 ? 1e38f : c == 6 ? 1e15f : v;
    if (kind == 4)
        v = POWER;
    y[i] = v;
}
