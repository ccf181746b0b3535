// As middle_unread, for a single row whose maximum lies elsewhere: only a list of the elements that no thread reads shows the fault.
// emu: wrong elements of input are never read
// cuda: wrong
/* bench 1
op: reduce
what: 'of the middle of a row one part of 2 is left out'
needs: what == 'max' and rows == 1
dtype: {input: f32}
steps:
  - kernel: red
    grid: rows
    block: 32
    args: input, output, rows, cols
*/
extern "C" __global__ void red(const float *input, float *output, int rows, int cols)
{
    const float *x = input + (size_t)blockIdx.x * cols; int lane = threadIdx.x; float most = -3.4e38f;
    int hole = cols >= 300 ? cols / 2 : 0, from = (cols - hole) / 2;
    for (int i = lane; i < cols; i += 32) if (i < from || i >= from + hole) most = fmaxf(most, x[i]);
    for (int d = 16; d; d /= 2) most = fmaxf(most, __shfl_xor_sync(~0u, most, d));
    if (!lane) output[blockIdx.x] = most;
}
