/* bench 1
op: layout
what: NCHW <-> NHWC, one thread per element; stores are contiguous, loads a plane or a pixel apart
needs: layout != to and c * h * w < 2147483648
dtype: {input: [f32, f16, bf16], output: same}
let:
  rows: select(layout == NCHW, c, h * w)       # of the input matrix [rows][cols] that is to be turned
  cols: select(layout == NCHW, h * w, c)
define:
  ELEMENT_T: type(input)
steps:
  - kernel: convert_naive
    grid: ceil(rows * cols, 256), n
    block: 256
    args: input, output, rows, cols
*/

/* NCHW <-> NHWC is the transpose of a matrix of channels by pixels, for each image. One thread per element, in the order of the output: stores fill whole
 * sectors. The loads of a warp are `cols` elements apart, so each loads a sector of 32 bytes to use 2 or 4 of them; the time depends on whether L1 keeps
 * the sector until the adjacent elements are read. `convert` goes through shared memory to make both sides whole. */
#include "element/element.cuh"

extern "C" __global__ void __launch_bounds__(256) convert_naive(const ELEMENT_T *input, ELEMENT_T *output, int rows, int cols)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i >= rows * cols)
        return;
    size_t image = (size_t)blockIdx.y * rows * cols;
    output[image + i] = input[image + (i % rows) * cols + i / rows];
}
