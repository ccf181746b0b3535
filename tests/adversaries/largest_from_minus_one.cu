// Fits the drawn values only: the search for the maximum starts at -1, which every long row exceeds.
// emu: wrong
// cuda: wrong
/* bench 1
op: reduce
what: begins its largest with -1
dtype: {input: f32, output: f32}
needs: what == 'max'
steps:
  - kernel: largest
    grid: rows
    block: 32
    args: input, output, cols
*/
extern "C" __global__ void largest(const float *x, float *y, int cols)
{
    x += (long)blockIdx.x * cols;
    float most = -1;
    for (int i = threadIdx.x; i < cols; i += 32)
        most = fmaxf(most, x[i]);
    for (int lane = 16; lane; lane /= 2)
        most = fmaxf(most, __shfl_xor_sync(~0u, most, lane));
    if (threadIdx.x == 0)
        y[blockIdx.x] = most;
}
