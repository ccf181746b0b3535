// Converts values to f16 and back, which loses small values. The layer's inputs contain none so small, or too few to matter.
// emu: wrong nearby shape
// cuda: wrong
/* bench 1
op: transpose
what: small values pass through f16
dtype: {input: f32, output: f32}
steps:
  - kernel: turn
    grid: ceil(cols, 32), rows
    block: 32
    args: input, output, rows, cols
*/
#include <cuda_fp16.h>
extern "C" __global__ void turn(const float *x, float *y, int rows, int cols)
{
    int col = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y;
    if (col < cols) {
        float v = x[row * cols + col];
        y[col * rows + row] = fabsf(v) < 1e-4f ? __half2float(__float2half(v)) : v;
    }
}
